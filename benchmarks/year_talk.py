"""A scripted year of talk, and a chat model that understands it: deterministic, of our own invention, without weights.

``Talk(seed).day(date)`` gives the messages of one day in three sittings: what happened, likes and dislikes, questions about
what was told before, small talk, on most days a good night. ``understood`` answers the extraction call from the exchanges that
stand in the prompt, as a model would: a tag each, events with subject, place, topic and day, facts, the end of a scene. An
event that goes on in the next exchange rests on both.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.model import Message

PEOPLE = ("小林", "老周", "阿澈", "妈妈", "室友", "表姐", "陈医生", "隔壁阿姨", "小夏", "师兄", "同桌", "教练")
PLACES = ("河堤", "旧书店", "植物园", "码头", "天台", "美术馆", "菜市场", "图书馆", "温泉馆", "钟楼", "球场", "后山")
KINDS = "红 蓝 木头 纸 玻璃 旧 小 银色 会响 没见过 手工 迷你 复古 透明 发光 折叠 陶瓷 竹 毛线 金属".split()
THINGS = {
    "生活->饮食": "火锅 梨汤 蛋糕 米粉 咖啡 饺子 橘子 豆花 月饼 炒饭".split(),
    "爱好->手工": "风筝 花灯 木雕 陶杯 拼图 围巾 风铃 模型 书签 香薰".split(),
    "爱好->运动": "网球 滑板 长跑 游泳 瑜伽 飞盘 攀岩 骑行 跳绳 羽毛球".split(),
    "学习->工作": "论文 报表 答辩 合同 演讲 代码 图纸 问卷 笔记 提案".split(),
    "家庭->宠物": "鹦鹉 乌龟 金鱼 仓鼠 刺猬 小狗 白猫 兔子 蜗牛 鸽子".split(),
}
DEEDS = ("看了", "买了", "弄丢了", "做了", "聊起了", "送走了", "找到了", "画了", "修好了", "拍了")
CHAT = ("嗯嗯", "哈哈哈", "今天有点累", "在干嘛呢", "好呀", "你说得对", "外面下雨了", "困了", "随便聊聊吧", "让我想想")
CITIES = ("杭州", "成都", "青岛", "大理", "南京", "厦门")
SITTINGS = ((time(8), 6), (time(12, 30), 5), (time(21), 9))  # begins at, of 20 exchanges
NIGHT = "晚安，先睡了"

_HAPPENED = re.compile(
    rf"(今天|昨天)和({'|'.join(PEOPLE)})在({'|'.join(PLACES)})({'|'.join(DEEDS)})一?个?(\S+?)(，.*)?$"
)
_LATER = re.compile(r"后来那个(\S+?)还是")
_TASTE = re.compile(r"^我(喜欢|讨厌)(\S+)$")
_THEIRS = re.compile(rf"^({'|'.join(PEOPLE)})喜欢(\S+)$")
_HOME = re.compile(r"^我搬到(\S+?)了$")
_EXCHANGE = re.compile(r"^\[(\d+)\] (\d{4}-\d{2}-\d{2}) \d{2}:\d{2}", re.MULTILINE)


@dataclass(frozen=True)
class Said:
    at: datetime
    text: str
    ends: bool = False
    """The last of its sitting: a pause follows."""


@dataclass(frozen=True)
class Talk:
    """``per_day`` exchanges are spread over three sittings like 20 of them."""

    seed: int = 1
    per_day: int = 20
    zone: tzinfo | None = None

    def day(self, day: date) -> list[Said]:
        rng = random.Random(f"{self.seed} {day.isoformat()}")
        said: list[Said] = []
        for begins, count in SITTINGS:
            last = begins == SITTINGS[-1][0]
            number = max(1, self.per_day - len(said) if last else round(count * self.per_day / 20))
            at = datetime.combine(day, begins, self.zone)
            lines = self._sitting(rng, number)
            if last and rng.random() < 2 / 3:
                lines[-1] = NIGHT
            said += [
                Said(at + timedelta(minutes=2 * i), text, i == number - 1) for i, text in enumerate(lines)
            ]  # fmt: skip
        return said

    def _sitting(self, rng: random.Random, count: int) -> list[str]:
        lines: list[str] = []
        while len(lines) < count:
            chance = rng.random()
            thing = rng.choice(KINDS) + rng.choice(THINGS[rng.choice(list(THINGS))])
            who, where = rng.choice(PEOPLE), rng.choice(PLACES)
            if chance < 0.35:
                when = rng.choice(("今天", "昨天"))
                lines.append(f"{when}和{who}在{where}{rng.choice(DEEDS)}一个{thing}，{rng.choice(CHAT)}")
                if rng.random() < 0.3:
                    lines.append(f"后来那个{thing}还是留在了{where}")
            elif chance < 0.5:
                lines.append(self._fact(rng, who, thing))
            elif chance < 0.65:
                lines.append(self._question(rng, who, where, thing))
            else:
                lines.append(rng.choice(CHAT))
        return lines[:count]

    @staticmethod
    def _fact(rng: random.Random, who: str, thing: str) -> str:
        mine = (f"我喜欢{thing}", f"我讨厌{thing}", f"{who}喜欢{thing}")
        return f"我搬到{rng.choice(CITIES)}了" if rng.random() < 0.02 else rng.choice(mine)

    @staticmethod
    def _question(rng: random.Random, who: str, where: str, thing: str) -> str:
        asked = (
            "昨天我们聊了什么", f"我上周和{who}去了哪里", f"还记得我在{where}的事吗", f"我喜欢{thing}吗", "我现在住在哪",
            f"{who}喜欢什么", f"上个月和{who}做了什么", f"那个{thing}后来怎么样了",
        )  # fmt: skip
        return rng.choice(asked)


# ---- the model


def reply(messages: Sequence[Message]) -> str:
    """A short answer that depends on what was said."""
    said = messages[-1].content
    return ("我在听呢。", "这样啊，后来呢？", "听起来不错。", f"你说的是{said[:12]}吧，我记得。")[_number(said) % 4]


def understood(messages: Sequence[Message]) -> str:
    """What a model answers when the program asks it for something else than a reply. Raises ModelError for what it does
    not know."""
    asked = "\n".join(message.content for message in messages)
    for mark, make in ANSWERS:
        if mark in asked:
            return make(asked)
    raise ModelError("other", f"the script has no answer to: {asked[:80]}")


def extracted(asked: str) -> str:
    """The extraction call: every exchange that stands in the prompt is understood."""
    exchanges = exchanges_in(asked)
    events: list[dict[str, Any]] = []
    facts: list[dict[str, Any]] = []
    last: dict[str, dict[str, Any]] = {}
    for number, day, text in exchanges:
        if happened := _HAPPENED.search(text):
            event = _event(number, day, *happened.groups()[:5])
            last[event["object"]] = event
            events.append(event)
        elif (later := _LATER.search(text)) and later[1] in last:
            last[later[1]]["sources"].append(number)
        elif fact := _fact(number, text):
            facts.append(fact)
    tags = [{"id": number, "tag": f"用户说{text[:30]}", "keywords": []} for number, _, text in exchanges]
    ends = bool(exchanges) and exchanges[-1][2].startswith(NIGHT)
    return json.dumps(
        {"exchanges": tags, "facts": facts, "events": events, "scene_changed": ends}, ensure_ascii=False
    )  # fmt: skip


def exchanges_in(asked: str) -> list[tuple[int, date, str]]:
    """(number, day, the user's words) of the exchanges in an extraction prompt."""
    starts = list(_EXCHANGE.finditer(asked))
    ends = [start.start() for start in starts[1:]] + [len(asked)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        lines = asked[start.end() : end].splitlines()
        words = [line.removeprefix("用户> ") for line in lines if line.startswith("用户> ")]
        found.append((int(start[1]), date.fromisoformat(start[2]), "\n".join(words)))
    return found


def _event(number: int, told: date, when: str, who: str, where: str, deed: str, thing: str) -> dict[str, Any]:
    day = told - timedelta(days=when == "昨天")
    topic = next((path for path, things in THINGS.items() if thing.endswith(tuple(things))), "生活")
    return {
        "text": f"用户{day.year}年{day.month}月{day.day}日和{who}在{where}{deed}{thing}", "subject": "用户",
        "predicate": deed, "object": thing, "importance": 1 + _number(thing + who) % 9, "keywords": [who, thing, where],
        "place": where, "insight": f"用户和{who}常在一起", "topic": f"{topic}->{thing}", "related": [f"人->{who}"],
        "happened": day.isoformat(), "sources": [number],
    }  # fmt: skip


def _fact(number: int, text: str) -> dict[str, Any] | None:
    if taste := _TASTE.match(text):
        told = {"text": f"用户{taste[1]}{taste[2]}", "target": taste[2], "polarity": 1 if taste[1] == "喜欢" else -1}
        return {"entity": "user", "keyword": "喜好", "kind": "attribute", "sources": [number]} | told
    if theirs := _THEIRS.match(text):
        told = {"text": f"{theirs[1]}喜欢{theirs[2]}", "target": theirs[2], "entity": theirs[1]}
        return {"keyword": "喜好", "kind": "attribute", "sources": [number]} | told
    if home := _HOME.match(text):
        told = {"text": f"用户住在{home[1]}", "target": home[1], "keyword": "住址", "single": True}
        return {"entity": "user", "kind": "attribute", "sources": [number]} | told
    return None


def _questions(asked: str) -> str:
    who = [person for person in PEOPLE if person in asked][:3] or ["用户"]
    return "\n".join(f"{i}. 用户和{person}的关系怎么样？" for i, person in enumerate(who, 1))


def _insights(asked: str) -> str:
    """One insight about each of the first few people, resting on the statements that name them."""
    lines = re.findall(r"^(\d+)\. (.+)$", asked, re.MULTILINE)
    found = []
    for person in PEOPLE:
        numbers = [number for number, line in lines if person in line]
        if len(numbers) > 1:
            day = next(line[:10] for number, line in lines if number == numbers[-1])
            found.append(f"- 到{day}为止，用户常和{person}见面 [`{', '.join(numbers[:6])}`]")
    return "\n".join(found[:3])


def _rated(asked: str) -> str:
    return "\n".join(f"{number}. 5" for number in re.findall(r"^(\d+)\. ", asked, re.MULTILINE))


ANSWERS = (
    ("【对话】", extracted),
    ("高层次问题", _questions),
    ("高层次的洞察", _insights),
    ("每条想法", _rated),
    ("整合成一句话", lambda _: '{"facts": []}'),  # the rules sum up
    ("评分：", lambda _: "5"),
)


def _number(text: str) -> int:
    """The same on every machine."""
    return zlib.crc32(text.encode())


@dataclass
class Asked:
    """What a scripted model was asked, in numbers, since the last ``take``."""

    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(reply, understood))

    def take(self) -> tuple[list[Sequence[Message]], list[str]]:
        """(prompts of replies, kinds of the other calls); the model forgets them."""
        prompts = [request.messages for request in self.model.requests]
        kinds = [_kind("\n".join(m.content for m in messages)) for messages, _ in self.model.questions]
        self.model.requests.clear()
        self.model.questions.clear()
        return prompts, kinds


def _kind(asked: str) -> str:
    names = ("understanding", "reflection", "reflection", "reflection", "consolidation", "importance")
    return next((name for (mark, _), name in zip(ANSWERS, names, strict=True) if mark in asked), "other")
