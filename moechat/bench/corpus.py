"""A made-up life to measure with: a diary, the events and facts that were understood of it, a world book, and a talk over it.

The same every time. Nobody in it exists.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from moechat.model import Episode, Event, Exchange, Fact
from moechat.rules import reading
from moechat.store.formats import derived_id

PER_DAY = 40
NOW = datetime(2025, 5, 21, 15, tzinfo=UTC)
FACTS, LORE = 1000, 200
WHO = ("我", "我妈妈", "室友", "同事小林", "我弟弟", "楼下的猫", "老师", "邻居")
DID = ("吃了", "看了", "买了", "聊到", "想起", "弄丢了", "修好了", "喜欢上", "讨厌", "画了", "拍了", "读完了")
WHAT = tuple(
    "火锅 一场电影 雨伞 香菜 旧照片 自行车 一本小说 桂花糕 吉他 露营的帐篷 键盘 海边的石头 围巾 咖啡豆".split()
)
WHERE = ("在公司", "在江边", "在图书馆", "回家路上", "在菜市场", "在车站", "在山顶", "下班以后", "周末的时候")
QUESTIONS = ("我们聊过火锅吗", "室友在江边买了什么", "谁弄丢了雨伞", "读完的那本小说怎么样", "妈妈喜欢吃什么")
LOOKS = "红色 蓝色 木头 纸质 玻璃 老式 小巧 银色 会响 手工 复古 透明 发光 折叠 陶瓷 竹编 毛线 金属 大号 便宜".split()
THINGS = (
    "风筝 花灯 木雕 陶杯 拼图 围巾 风铃 模型 书签 香薰 网球 滑板 飞盘 跳绳 台灯 闹钟 相框 水壶 背包 雨靴 "
    "手套 帽子 毛毯 抱枕 花瓶 茶壶 餐盘 筷子 钥匙扣 明信片 日历 贴纸 胶带 钢笔 本子 尺子 书架 椅子 地毯 窗帘 "
    "耳机 音箱 画册 手电 望远镜 罗盘 口琴 鼓 笛子 铃铛"
).split()
CHAT = ("嗯嗯", "哈哈哈", "今天有点累", "在干嘛呢", "好呀", "外面下雨了", "困了", "让我想想")
REPLY = "我在听呢。你说的这些我都记得，后来怎么样了？慢慢讲，不着急。"


def exchanges(entries: int) -> list[Exchange]:
    """A diary of ``PER_DAY`` exchanges a day that ends at ``NOW``."""
    chance = random.Random(7)
    step = timedelta(days=1) / PER_DAY
    made = []
    for i in range(entries):
        sentence = "，".join(
            f"{chance.choice(WHO)}{chance.choice(WHERE)}{chance.choice(DID)}{chance.choice(WHAT)}" for _ in range(2)
        )
        at = (NOW - step * (entries - i)).replace(microsecond=0)
        reply = f"听起来{chance.choice(WHAT)}不错，{sentence[:6]}。"
        made.append(Exchange(f"b{i:07d}", at, f"{sentence}，第{i}次", reply))
    return made


def episodes(diary: list[Exchange], most: int) -> list[Episode]:
    """What a model may have understood of every third exchange, the newest ``most`` of them."""
    chance = random.Random(8)
    made = []
    for exchange in diary[2::3][-most:]:
        who, where, did, what = (chance.choice(words) for words in (WHO, WHERE, DID, WHAT))
        text = f"{exchange.at:%Y年%m月%d日}，{who}{where}{did}{what}"
        event = Event(
            text, (exchange.id,), who, did, what, chance.randrange(1, 11) / 10, (who, what), where, f"生活->{what}",
            (exchange.at.replace(hour=0, minute=0, second=0), exchange.at.replace(hour=23, minute=59, second=59)),
            precision="day",
        )  # fmt: skip
        made.append(Episode(derived_id(text, event.sources), exchange.at, event))
    return made


def likings() -> list[str]:
    """``FACTS`` messages, each of which tells one fact."""
    things = [f"{look}{thing}" for look, thing in itertools.product(LOOKS, THINGS)]
    return [f"我喜欢{thing}" for thing in things][:FACTS]


def facts(diary: list[Exchange], count: int = FACTS) -> list[Fact]:
    """What the rules read in ``likings``, told somewhere in the diary."""
    made = []
    for i, text in enumerate(likings()[:count]):
        exchange = diary[i * len(diary) // count]
        for draft in reading.understand(replace(exchange, user=text)).facts:
            made.append(Fact(derived_id(draft.text, draft.sources), exchange.at, draft, by="rules"))
    return made


def world_book() -> str:
    """A file of ``LORE`` entries."""
    return "".join(
        f"{name}: {name}是城里的一处地方，建于{1500 + i}年，夜里总有灯。\n" for i, name in enumerate(_names())
    )


def _names() -> list[str]:
    ends = ("塔", "桥", "巷", "井", "寺", "湖", "坊", "渡", "亭", "门")
    return [f"{look[0]}{thing[0]}{end}" for look, thing, end in itertools.product(LOOKS, THINGS[:1], ends)][:LORE]


def talk() -> Iterator[tuple[str, str]]:
    """(kind, message) without end: what people say to a companion of years, a fifth of it small talk."""
    chance, liked, names = random.Random(9), likings(), _names()
    for i in itertools.count():
        who, where, did, what = (chance.choice(words) for words in (WHO, WHERE, DID, WHAT))
        yield "event", f"今天{who}{where}{did}{what}，一共花了{i + 20}块钱"
        yield "question", chance.choice(QUESTIONS)
        yield "known fact", chance.choice(liked)
        yield "chat", chance.choice(CHAT)
        yield (
            "dated",
            chance.choice(("昨天我们聊了什么", "上周三我做了什么", "去年五月我们聊过什么", "前天室友说了什么")),
        )
        yield "new fact", f"我喜欢{i + 1}寸{chance.choice(THINGS)}"
        yield "lore", f"我们哪天去{chance.choice(names)}看看吧"
        yield "chat", chance.choice(CHAT)
        yield "fact", f"我喜欢{chance.choice(LOOKS)}{chance.choice(THINGS)}吗"
        yield (
            "story",
            "，".join(f"{chance.choice(WHO)}{chance.choice(WHERE)}{chance.choice(DID)}{what}" for _ in range(6)),
        )
