"""Does a clause speak of what was or of what is to come? Rules by words, in Chinese and English."""

from __future__ import annotations

from moechat.when.periods import compiled
from moechat.when.zh_times import PLAIN

_FUTURE_ZH = (
    r"打算|准备|计划|想(?:去|要|在)|将|要(?!求|是|不是|命|紧|素|点)|会(?!议|员|儿|话|面|计|场)|快(?:要|到)了|"
    r"即将|预约|约好|安排|截止|到期|得(?:去|交|要)|应该(?:去|能)"
)
_PLANS_ZH = (
    r"(?i)有(?:个|一个|一场|场)?(?:考试|面试|会议?|约会?|课|比赛|演出|演唱会|聚会|手术|体检|答辩)|出差|提醒我|别忘|"
    r"记得(?:提醒|叫|去|要)|去(?!了|过|年)|deadline"
)
PAST_ZH = (
    r"来着|[说聊提做去吃看玩买写学讲谈见到来问过给送告诉推荐]+[过了]|记得|那天|那次|当时|没有?[去来说做吃看]|以前|"
    r"曾经|了什么|了哪|了谁"
)


def forward_zh(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? What was said or done (说过, 来着) outweighs a plan in it."""
    clause = clause.translate(PLAIN)
    if compiled(PAST_ZH).search(clause):
        return False
    return bool(compiled(_FUTURE_ZH).search(clause) or (use == "writing" and compiled(_PLANS_ZH).search(clause)))


_FUTURE_EN = (
    r"(?i)\b(?:will|won't|shall|going to|gonna|plan(?:s|ned|ning)? (?:to|for|on)|about to|"
    r"want to|would like to|need to|have to|let's|"
    r"hope to|upcoming|due|"
    r"looking forward)\b|['’]ll\b"
)
_PLANS_EN = (
    r"(?i)\b(?:have|has|got) (?:an?|my|the) \w+|\b(?:am|is|are|['’]m|['’]re) \w+ing\b|"
    r"\b(?:exam|deadline|meeting|appointment|interview)\b"
)
PAST_EN = (
    r"(?i)\b(?:did|was|were|had|said|told|talked|went|met|remember|mentioned|"
    r"discussed|made|got|came|saw|ate|bought|took|\w{3,}ed)\b(?<!need)(?<!planned)"
)


def forward_en(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? A past tense outweighs a plan in it."""
    if compiled(PAST_EN).search(clause):
        return False
    return bool(compiled(_FUTURE_EN).search(clause) or (use == "writing" and compiled(_PLANS_EN).search(clause)))
