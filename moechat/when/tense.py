"""Does a clause speak of what was or of what is to come? Rules by words, in Chinese and English."""

from __future__ import annotations

from moechat.when.periods import compiled
from moechat.when.zh_times import PLAIN

_FUTURE_ZH = (
    r"打算|准备|计划|想(?:去|要|在)|将|要(?!求|是|不是|命|紧|素|点)|(?<![的开聚年])会(?!议|员|儿|话|面|计|场)|快(?:要|到)了|"
    r"即将|预约|约好|安排|截止|到期|得(?:去|交|要|回|来|到|做)|应该(?:去|能)"
)
_PLANS_ZH = (
    r"(?i)[约订]了|有(?:个|一个|一场|场)?(?:考试|面试|会议?|约会?|课|比赛|演出|演唱会|聚会|手术|体检|答辩)|出差|提醒我|别忘|"
    r"记得(?:提醒|叫|去|要)|去(?!了|过|年)|deadline"
)
_ACTS_ZH = (
    r"考试|面试|预约|入职|离职|报到|复[诊查]|起飞|出发|开[会学庭]|出院|手术|体检|答辩|比赛|演出|演唱会|[聚年]会|团建|婚礼|"
    r"家长会|典礼|截止|到期|上课|结婚|搬家|加班|值.?班|聚餐|约会|考(?!虑|古)|打(?!车|算)|谈|[去来回见交陪带接吃飞跑看修搬]"
)
_DONE_ZH = r"[了过着完的]"
_ASKED_ZH = r"什么|谁|哪|几[点号个]|多少|怎么|啥|干嘛|为何|何时|有没有|是不是|[吗么][？?]?$"
_SAID_ZH = r"[我你他她们]说(?!不定)|答应|为什么|为啥"
_PROPOSED_ZH = (
    r"[要会]不[要会]|好不好|行不行|能不能|可不可以|可以吗|[行好]吗|有空|吧[？?]?$|(?<![值懂觉])得[去交回来到做]"
)
PAST_ZH = (
    r"来着|[说聊提做去吃看玩买写学讲谈见到来问过给送告诉推荐]+[过了]|记得|那天|那次|当时|没有?[去来说做吃看]|以前|"
    r"曾经|了什么|了哪|了谁"
)


def forward_zh(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? What was said or done (说过, 来着) outweighs a plan in it, and where memory
    is looked into a question or a word once given does (我说要去哪里), unless it proposes something (要不要) or names a duty
    (得回去)."""
    clause = clause.translate(PLAIN)
    if compiled(PAST_ZH).search(clause):
        return False
    if use == "recall" and (compiled(_SAID_ZH).search(clause) or compiled(_ASKED_ZH).search(clause)):
        return bool(compiled(_PROPOSED_ZH).search(clause))
    if use == "writing" and (compiled(_PLANS_ZH).search(clause) or _is_bare_zh(clause)):
        return True
    return bool(compiled(_FUTURE_ZH).search(clause))


def _is_bare_zh(clause: str) -> bool:
    """An act with no word that it is done: 周四考试."""
    return bool(compiled(_ACTS_ZH).search(clause)) and not compiled(_DONE_ZH).search(clause)


_FUTURE_EN = (
    r"(?i)\b(?:will|won't|shall|going to|gonna|plan(?:s|ned|ning)? (?:to|for|on)|about to|"
    r"want to|would like to|need to|have to|let's|"
    r"hope to|upcoming|due|"
    r"looking forward)\b|['’]ll\b"
)
_PLANS_EN = (
    r"(?i)\b(?:have|has|got) (?:an?|my|the) \w+|\b(?:am|is|are|['’]m|['’]re|['’]s) \w+ing\b|"
    r"^\W*(?:\w+ing|gonna)\b|\b(?:exam|final|midterm|quiz|party|flight|concert|defen[sc]e|surgery|rent|deadline|meeting|"
    r"appointment|interview)\b|\b(?:is|are) (?:on|in|at)\b|"
    r"\b(?:I|we) (?:also )?(?:start|begin|leave|fly|see|meet|go|get)\b|"
    r"\b(?:starts?|begins?|leaves?|gets?|opens?) (?:\w+ )?(?:on|at|this)\b"
)
PAST_EN = (
    r"(?i)\b(?:did|was|were|had|said|told|talked|went|met|remember|mentioned|"
    r"discussed|made|got|came|saw|ate|bought|took|won|fell|became|gave|lost|sold|left|found|ran|drove|flew|slept|"
    r"spent|built|felt|heard|paid|died|\w{3,}ed)\b(?<!need)(?<!planned)(?<!get married)(?<!gets married)(?<!getting married)"
)


def forward_en(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? A past tense outweighs a plan in it."""
    if compiled(PAST_EN).search(clause):
        return False
    return bool(compiled(_FUTURE_EN).search(clause) or (use == "writing" and compiled(_PLANS_EN).search(clause)))


_HABIT_ZH = r"一般(?!般)|平时|通常|往往|每[年次逢到]"
# 我周末都在家; 周末都做了什么 asks of one.
_ALWAYS_ZH = r"(?:周末|双休日|[周期拜][一二三四五六日天]|[早晚]上|[上下]午)[我你他她]?们?都(?!.*[了过])"
HABITS = {
    "zh": rf"{_HABIT_ZH}|{_ALWAYS_ZH}",
    "en": r"(?i)\b(?:usually|always|normally|generally)\b",
}
"""Of what is done again and again, a floating time (周末, on Friday) is no stretch of it."""
