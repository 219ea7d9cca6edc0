"""The script of a long talk: which step comes next, and the words of everybody in it. A number decides each of them, so that
a step is the same however many follow."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from moechat.model import Message

TURNS = 300
ZH, EN = "阿澄", "Juno"
TALKS = {ZH: ("", "", "", "计划"), EN: ("", "", "work")}
STRETCH = 12  # After so many steps the other character is spoken to.

SAID = {
    ZH: (
        "我叫林默，大家叫我小默", "我住在杭州西湖边", "我养了一只猫叫团子", "团子今天吐了两次", "我对花生过敏",
        "我不吃香菜", "昨天和妹妹小雨去划船了", "上周三看了一场老电影，看到一半停电了", "下周五要去北京开会",
        "北京的会取消了", "我搬到苏州了", "我在一家书店上班", "我换工作了，现在在博物馆做讲解",
        "我最近在学吉他，手指有点疼", "我喜欢绿茶，不喜欢咖啡", "其实我现在更爱喝咖啡", "今天下雨，什么也没做",
        "晚上吃了妈妈做的面", "我奶奶上个月走了，我很难受", "明天早上八点提醒我去体检", "前天晚上又失眠了",
        "去年夏天我们去过青岛", "我生日是三月七号", "国庆那几天我想去爬山", "我朋友阿杰说他住在广州", "哈哈，好的",
        "晚安", "早上好", "你觉得我该怎么办", "我有点想放弃了", "小雨考上大学了！", "我们从今天开始叫你小澄吧",
        "我膝盖的手术定在六月三号",
    ),
    EN: (
        "My name is Nora Lind", "I live in Leeds, near the river", "I have a dog called Biscuit",
        "Biscuit ran away this morning", "Biscuit is back!", "I'm allergic to penicillin", "I don't eat meat",
        "Yesterday I went rowing with my brother Tom", "Last Wednesday I saw an old film and the power went out",
        "Next Friday I'm flying to Oslo", "The Oslo trip is off", "I moved to York", "I work in a bookshop",
        "I quit the bookshop, I teach at a school now", "I'm learning the cello", "I love green tea",
        "Actually I prefer coffee these days", "It's raining and I did nothing all day",
        "My grandmother died in March", "Remind me to call the dentist tomorrow at nine",
        "I couldn't sleep again last night", "Last summer we went to Crete", "My birthday is on the seventh of May",
        "My friend Ada says she lives in Bristol", "Ha, fine", "Good night", "Good morning", "What should I do?",
        "I feel like giving up", "Tom got into medical school!", "Call me Nor from now on",
        "My knee surgery is on June 3rd",
    ),
}  # fmt: skip
ASKED = {
    ZH: (
        "我住在哪里？我的猫叫什么？", "上周三我做了什么？", "昨天我去了哪里？和谁去的？",
        "我喜欢喝什么？我不能吃什么？", "我什么时候去北京？", "团子最近怎么样？", "去年夏天呢？",
        "我妹妹叫什么名字？", "我在哪里上班？", "灯塔下面有什么？", "你还记得我奶奶吗？", "我们第一次聊天聊了什么？",
    ),
    EN: (
        "Where do I live? What is my dog called?", "What did I do last Wednesday?",
        "Where did I go yesterday, and with whom?", "What do I like to drink? What can't I eat?",
        "When do I fly to Oslo?", "How is Biscuit?", "And last summer?", "What is my brother called?",
        "Where do I work?", "What lies under the old mill?", "Do you remember my grandmother?",
    ),
}  # fmt: skip
REPLIES = {
    ZH: (
        "嗯，我记住了。", "听起来不错，后来呢？", "我在呢，慢慢说。", "*点点头* 那今天就早点睡。",
        "好呀，下次一起去。", "这件事我替你记着。",
    ),
    EN: (
        "I'll keep that in mind.", "That sounds good. And then?", "I'm here, take your time.",
        "*nods* Then rest early today.", "Next time we go together.",
    ),
}  # fmt: skip
OTHER_WORDS = {ZH: "（我说错了，是另一天）", EN: " (I mixed that up, it was another day)"}
BROUGHT = {
    ZH: (
        ("2024-05-01T10:00:00", "五一那天我第一次来杭州", "欢迎呀。"),
        ("2024-05-01T10:05:00", "我把铜钥匙丢在灯塔下面了", "哎呀。"),
        ("2024-05-03T21:00:00", "今天买了一把旧吉他", "弹给我听。"),
    ),
    EN: (
        ("2024-05-01T10:00:00", "On the first of May I came to Leeds", "Welcome."),
        ("2024-05-01T10:05:00", "I lost my brass key under the old mill", "Oh no."),
        ("2024-05-03T21:00:00", "I bought an old cello today", "Play it for me."),
    ),
}  # fmt: skip
WEIGHTS = {
    "say": 40, "ask": 22, "again": 6, "correct": 5, "correct_reply": 2, "choose": 2, "branch": 4, "retract": 3, "restore": 2,
    "forget": 3, "forget_memory": 2, "edit_memory": 3, "archive": 2, "pin": 1, "add_fact": 2, "add_event": 1, "bring": 2,
    "take_back": 1, "pause": 5, "sleep": 3, "aside": 2, "edit_day": 3, "edit_facts": 2, "edit_lore": 1, "front_end": 4,
    "finish": 2, "restart": 3, "click": 4,
}  # fmt: skip
FIRST = (
    "say", "say", "ask", "again", "say", "correct", "correct_reply", "bring", "ask", "choose", "say", "edit_memory", "say",
    "say", "pause", "ask", "add_fact", "add_event", "edit_day", "branch", "say", "retract", "restore", "front_end",
    "aside", "say", "edit_facts", "sleep", "ask", "forget", "restart", "forget_memory", "ask", "pin", "archive",
    "take_back", "edit_lore", "click", "finish", "ask",
)  # fmt: skip
"""Every kind of step comes once at the beginning, so that a short part has them all."""


@dataclass(frozen=True)
class Step:
    number: int
    kind: str
    character: str
    talk: str

    def draw(self) -> random.Random:
        return random.Random(f"talk {self.number}")

    def words(self, of: dict[str, tuple[str, ...]]) -> str:
        """One of the character's texts, which all get their turn."""
        texts = of[self.character]
        return texts[self.number * 7 % len(texts)]


def steps(count: int = TURNS) -> list[Step]:
    drawn = []
    for number in range(count):
        draw = random.Random(f"step {number}")
        [kind] = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))
        character = EN if number // STRETCH % 3 == 2 else ZH
        talk = draw.choice(TALKS[character]) if number > len(FIRST) else ""
        drawn.append(Step(number, FIRST[number] if number < len(FIRST) else kind, character, talk))
    return drawn


# ---- the model


def _number(text: str) -> int:
    """A number that a text decides."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def reply(messages: Sequence[Message]) -> str:
    """What the character says: its words follow from the message alone."""
    text = messages[-1].content
    said = REPLIES[ZH if re.search(r"[一-鿿]", text) else EN]
    return f"{said[_number(text) % len(said)]} ({_number(''.join(one.content for one in messages)) % 1000})"


_TOLD = re.compile(r"^\[(\d+)\] 20.*\n(?:用户|user)> (.*)$", re.MULTILINE)
_EARLIER = re.compile(r"^\((\d+)\) ", re.MULTILINE)


def answer(messages: Sequence[Message]) -> str:
    """What the model makes of a batch of talk, or of whatever else it is asked behind a turn."""
    text = messages[-1].content
    told = [(int(number), said) for number, said in _TOLD.findall(text)]
    if not told:
        return _thought(text)
    facts, events = [], []
    for number, said in told:
        choice = _number(said) % 4
        if re.search(r"[？?]", said):
            continue
        third = re.sub(r"^I ", "The user ", said.replace("我", "用户"))
        if choice < 2:
            keyword = "喜好" if "喜欢" in said or "love" in said else ""
            facts.append({"text": third, "entity": "user", "keyword": keyword, "sources": [number]})
        else:
            events.append(
                {"text": third, "subject": "用户", "predicate": said[1:3], "object": said[-2:], "importance": 1 + choice * 2,
                 "topic": "生活->" + said[:2], "sources": [number]}
            )  # fmt: skip
    verdicts = [
        {"finding": int(number), "verdict": "keep" if _number(text + number) % 5 else "refine"}
        for number in _EARLIER.findall(text)
    ]
    tags = [{"id": number, "tag": said[:30]} for number, said in told]
    return json.dumps({"verdicts": verdicts, "facts": facts, "events": events, "exchanges": tags}, ensure_ascii=False)


def _thought(text: str) -> str:
    """Three numbered lines, each a thought with what it rests on; a form that is asked for is left empty."""
    if '"facts"' in text:
        return '{"facts": []}'
    if "1. 5" in text:
        return "\n".join(f"{number}. {3 + number}" for number in range(1, 6))
    names = ("小默很在意家里的人", "小默常常换主意", "小默睡得不好")
    return "\n".join(f"{number}. {name} [{number}, {number + 1}]" for number, name in enumerate(names, 1))
