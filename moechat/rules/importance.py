"""How much something matters, 0.1 … 1: read from a model's words, or rated by rules where no model is asked.

A plain remark has .3. Each row of this table that the text meets adds its value once, and the sum is held to .1 … 1. The
scale is the one of the prompt for a model (seed 001, first prompt), divided by ten: brushing one's teeth .1, a break-up .9.

    row          adds   the text tells of
    farewell     +.6    a death, a break-up, a grave illness
    turn         +.5    wedding, birth, graduation, a job won or lost, an operation
    first        +.3    a first time, a beginning
    loss         +.3    lost, stolen, broken, failed, missed, a quarrel, an injury
    change       +.2    a move, a new pet, a prize, an exam passed, at last
    promise      +.2    promised, agreed, sworn
    feeling      +.2    a strong feeling, good or bad
    secret       +.2    told to nobody else, asked to be remembered
    planned      +.1    a plan with a day (the caller says so)
    everyday     −.2    meals, sleep, chores, commuting, weather: only if no row above is met
    novelty      ±.1    matters that are all new to this memory, or all known (only with ``known``)

A word after a negation counts for nothing (没分手, "never cried"). A text may mix Chinese and English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass

from moechat.model import Event
from moechat.when.names import has_han

LOWEST, HIGHEST = 0.1, 1.0
BASE = 0.3
PLANNED = 0.1
EVERYDAY = -0.2
NOVELTY = 0.1

_RATING = re.compile(r"(\d+(?:\.\d+)?)(?:\s*(?:/|out\s+of)\s*(\d+(?:\.\d+)?))?", re.I)


def read_rating(text: str) -> float | None:
    """The importance (.1 … 1) that a model's answer states, None if it states no number.

    The first number counts, of ten: ``8``, ``Rating: 8``, ``8/10``, ``4 out of 5``, full-width digits; held to 1 … 10, a
    sign ignored (golden ``seed001_worked.json``, column ``sane``).
    """
    match = _RATING.search(unicodedata.normalize("NFKC", text))
    if match is None:
        return None
    rating, of = float(match[1]), float(match[2] or 0)
    if of > 0:
        rating *= 10 / of
    return min(10.0, max(1.0, rating)) / 10


@dataclass(frozen=True, slots=True)
class Mark:
    """A row of the table: what it adds, and its words (Chinese as written, English as whole words in lower case)."""

    name: str
    adds: float
    zh: tuple[str, ...]
    en: tuple[str, ...]


def _mark(name: str, adds: float, zh: str, en: str) -> Mark:
    """``zh`` is separated by blanks, ``en`` by commas."""
    return Mark(name, adds, tuple(zh.split()), tuple(f" {' '.join(phrase.split())} " for phrase in en.split(",")))


MARKS = (
    _mark(
        "farewell", 0.6,
        "去世 过世 离世 病逝 逝世 去逝 葬礼 送终 遗体 分手 离婚 失恋 被甩了 甩了我 癌 绝症 病危 抢救 白血病 晚期 "
        "自杀 流产",
        "died, dies, dying, passed away, funeral, dead, death, killed, broke up, break up, breaking up, broken "
        "up, breakup, split up, dumped me, divorce, divorced, divorcing, cancer, terminal, leukemia, suicide, "
        "miscarriage, stillborn",
    ),
    _mark(
        "turn", 0.5,
        "结婚 求婚 订婚 领证 怀孕 出生了 生了个 生了孩子 生了宝宝 生了女儿 生了儿子 当爸爸 当妈妈 毕业了 要毕业 "
        "录取 考上 上岸 offer 升职 失业 被裁 裁员 被开除 被辞退 辞职 离职 破产 手术 住院 车祸 确诊 出柜 在一起了 "
        "表白 复婚 移民",
        "married, marry, wedding, proposed, engaged, engagement, pregnant, was born, gave birth, had a baby, "
        "having a baby, newborn, graduated, graduation, got accepted, admitted to, got into university, got into "
        "college, got the job, new job, job offer, promoted, promotion, laid off, fired, lost my job, quit my "
        "job, resigned, bankrupt, surgery, hospital, car accident, accident, diagnosed, diagnosis, came out, "
        "asked me out, emigrated, evicted",
    ),
    _mark(
        "first", 0.3,
        "第一次 首次 头一回 头一次 生平 从来没有过 初恋 初次 平生第一",
        "first time, for the first, first ever, my first, our first, never before, never done, never been",
    ),
    _mark(
        "loss", 0.3,
        "丢了 弄丢 不见了 被偷 被抢 坏了 摔坏 摔碎 打碎 摔伤 受伤 骨折 吵架 吵了 冷战 绝交 失去 错过 失败 没考 "
        "挂科 落榜 被骗 走丢 被拒 拒绝了我 骂了我 被骂 欠债 撞了",
        "lost, lose, stolen, robbed, broke my, broke the, broke his, broke her, it broke, is broken, was broken, "
        "smashed, missing, missed, failed, failure, quarrel, quarrelled, argued, argument, fight with, fought, "
        "ran away, injured, injury, rejected, turned me down, cheated, scammed, betrayed, crashed, burned down",
    ),
    _mark(
        "change", 0.2,
        "搬家 搬到 搬进 搬去 领养 养了 获奖 得奖 拿奖 一等奖 冠军 中奖 通过了 终于 学会了 买房 买了房 开店 和好 "
        "升学 转学 换工作 新工作 入职 面试 生日 纪念日 戒烟 戒酒",
        "moved to, moved in, moving to, adopted, rescued, won, award, prize, passed my, passed the, finally, at "
        "last, learned to, learnt to, bought a house, opened a, made up, reconciled, interview, birthday, "
        "anniversary, sober",
    ),
    _mark(
        "promise", 0.2,
        "答应 约定 约好 说好 保证 承诺 发誓 一言为定 拉钩 许诺",
        "promise, promised, promises, swear, swore, agreed to, gave my word, a deal, vow, vowed",
    ),
    _mark(
        "feeling", 0.2,
        "开心 不开心 高兴 不高兴 不快乐 不幸福 快乐 幸福 感动 激动 兴奋 惊喜 自豪 骄傲 难过 伤心 痛苦 绝望 崩溃 "
        "抑郁 焦虑 害怕 恐惧 生气 愤怒 气死 后悔 内疚 委屈 孤独 寂寞 想念 心碎 哭 流泪 我爱你 爱上 讨厌死 丢脸 "
        "尴尬死 压力好大 压力很大 睡不着",
        "happy, not happy, unhappy, happiest, overjoyed, thrilled, excited, proud, delighted, in love, love you, "
        "moved me, sad, heartbroken, devastated, miserable, hopeless, depressed, anxious, scared, afraid, "
        "terrified, angry, furious, upset, regret, guilty, ashamed, lonely, miss him, miss her, miss them, miss "
        "you, cried, crying, cry, tears, feel sick, panicked, overwhelmed, hate myself, embarrassed",
    ),
    _mark(
        "secret", 0.2,
        "没告诉过 没跟别人说 没和别人说 秘密 别告诉 只告诉你 你要记住 记住这 别忘了 一定要记得",
        "never told, nobody knows, no one knows, secret, only told you, don't tell, remember this, don't forget",
    ),
)  # fmt: skip
ROUTINE = _mark(
    "everyday", EVERYDAY,
    "吃了 吃饭 早饭 午饭 晚饭 早餐 午餐 晚餐 宵夜 外卖 喝了 奶茶 咖啡 睡觉 睡了 起床 午睡 刷牙 洗脸 洗澡 洗碗 "
    "洗衣 做饭 打扫 扫地 上班 下班 上课 下课 放学 通勤 地铁 公交 堵车 逛超市 买菜 下雨 天气 出太阳 刷手机 "
    "看电视 散步 遛狗 倒垃圾",
    "ate, eat, eating, breakfast, lunch, dinner, supper, snack, coffee, tea, drank, slept, nap, woke, woke "
    "up, got up, shower, brushed, teeth, laundry, dishes, cooked, cooking, cleaned, chores, groceries, "
    "shopping, commute, commuted, bus, train, traffic, weather, rain, rained, raining, sunny, tv, scrolled, "
    "walked the dog, went to work, went to bed",
)  # fmt: skip

_WORDS = re.compile(r"[a-z]+(?:'[a-z]+)?|[.,;:!?]")
_STOPS = re.compile(r"[.,;:!?]")
_NOT_ZH = re.compile(r"(?:没有?|未|无|(?<![特分个区])别|不(?:再|是|会|太|用)?)$")
_NOT_EN = frozenset(
    "not no never without hardly don't didn't doesn't isn't wasn't aren't weren't won't can't couldn't".split()
)
_EITHER_WAY = frozenset({"first", "secret"})  # never before, 没告诉过: the negation is part of the phrase
_SELF = frozenset({"", "user", "用户", "我", "i", "me", "the user", "character", "角色"})


def rate(what: Event | str, *, known_matters: Container[str] | None = None, planned: bool = False) -> float:
    """The importance (.1 … 1) of an event or a text, by the table above. Deterministic; it takes some microseconds.

    ``known_matters`` are those that this memory knows (see ``matters``). None leaves novelty out, as a mere text does.
    """
    text = what if isinstance(what, str) else what.text
    chinese, english = _readings(text)
    adds = [mark.adds for mark in MARKS if _meets(mark, chinese, english)]
    if not adds and _meets(ROUTINE, chinese, english):
        adds = [EVERYDAY]
    total = BASE + sum(adds) + (PLANNED if planned else 0)
    if known_matters is not None and not isinstance(what, str):
        total += novelty(what, known_matters)
    return round(min(HIGHEST, max(LOWEST, total)), 2)


def marks(text: str) -> tuple[str, ...]:
    """The names of the rows that the text meets, in the order of the table."""
    chinese, english = _readings(text)
    return tuple(mark.name for mark in (*MARKS, ROUTINE) if _meets(mark, chinese, english))


def matters(event: Event) -> frozenset[str]:
    """What the event is about, case-folded: its keywords, its subject and its object, without user and character."""
    names = (*event.keywords, event.subject, event.object)
    return frozenset(name.strip().casefold() for name in names) - _SELF


def novelty(event: Event, known_matters: Container[str]) -> float:
    """+.1 if all matters of the event are new, −.1 if all are known, else 0 (also for an event without any)."""
    are_known = {matter in known_matters for matter in matters(event)}
    if are_known == {True}:
        return -NOVELTY
    return NOVELTY if are_known == {False} else 0


def _readings(text: str) -> tuple[str, str]:
    """The text to look for Chinese words in, and its Latin words and stops in lower case between single blanks."""
    chinese = text if has_han(text) else ""
    words = _WORDS.findall(text.lower().replace("’", "'"))
    return chinese, f" {' '.join(words)} " if words else ""


def _meets(mark: Mark, chinese: str, english: str) -> bool:
    either_way = mark.name in _EITHER_WAY
    for word in mark.zh if chinese else ():
        if word in chinese and (either_way or not _NOT_ZH.search(chinese[: chinese.index(word)])):
            return True
    for phrase in mark.en if english else ():
        if phrase in english and (either_way or not _denied(english, english.index(phrase))):
            return True
    return False


def _denied(english: str, at: int) -> bool:
    """Whether one of the three words before ``at``, in the same clause, is a negation."""
    before = _STOPS.split(english[:at])[-1].split()
    return not _NOT_EN.isdisjoint(before[-3:])
