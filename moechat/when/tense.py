"""How a clause speaks of its time: of what was, of what is to come, and whether it asks.

Rules by words, in Chinese and English. 昨天我们聊了什么 searches yesterday; 我昨天没睡好 does not.
A wrong no costs little, since the span still ranks what is recalled. The patterns are compiled at first use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from moechat.when.names import HAN, PLAIN, has_han
from moechat.when.periods import compiled
from moechat.when.span import Span
from moechat.when.words import patterns

_ZH, _EN = patterns("zh", "tense"), patterns("en", "tense")
PAST_ZH, PAST_EN = _ZH["past"], _EN["past_forms"]
HABITS = {"zh": _ZH["habit"], "en": _EN["habit"]}


def forward_zh(clause: str, use: str, at: tuple[int, int] | None = None) -> bool | None:
    """Does a clause speak of what is to come, at the time that stands ``at`` this place in it?

    Chinese has its past in what marks a thing as done (了, 过, 是…的, 来着); that outweighs a plan in the clause. Without such a
    mark, what is proposed or planned lies ahead, and a bare act (周四考试, 平安夜吃什么) does where it is written down. None
    where a bare act is searched for: the nearer time is meant. Where a word once given is asked for (我说要去哪里), only a
    proposal looks ahead.
    """
    clause = clause.translate(PLAIN)
    if at and compiled(_ZH["arranged"]).search(clause[: at[0]]):
        return True
    nearly = compiled(_ZH["nearly"]).search(clause)
    if not nearly and compiled(PAST_ZH).search(clause):
        return False
    if nearly or compiled(_ZH["proposed"]).search(clause):
        return True
    if use == "recall" and compiled(_ZH["said"]).search(clause):
        return False
    if compiled(_ZH["ahead"]).search(clause):
        return True
    if not compiled(_ZH["acts"]).search(clause) or compiled(_ZH["states"]).search(clause):
        return False
    return True if use == "writing" else False if compiled(_ZH["lasting"]).search(clause) else None


def forward_en(clause: str, use: str, at: tuple[int, int] | None = None) -> bool:
    """Does a clause speak of what is to come, at the time that stands ``at`` this place in it?

    The nearest verb before the time decides, or else the first behind it: English has its past in the verb. Where there is no
    verb, what is written down looks ahead (dentist Friday) unless it praises or blames (lovely walk on Sunday), and a search
    looks back.
    """
    before, after = (clause[: at[0]], clause[at[1] :]) if at else (clause, "")
    if compiled(_EN["for_then"]).search(before):
        return True
    if compiled(r"(?i)\bsince\s*$").search(before):
        return False
    verbs = [list(compiled(_EN["verbs"]).finditer(part)) for part in (before, after)]
    strong = [[verb.lastgroup for verb in part if verb.lastgroup not in ("neither", "weak")] for part in verbs]
    if any(strong):
        return (strong[0][-1] if strong[0] else strong[1][0]) == "ahead"
    if any(verb.lastgroup == "weak" for verb in verbs[0]):
        return True  # the exam's on Friday
    if compiled(r"(?i)\b(?:by|until|till?)\s*$").search(before):
        return True
    return use == "writing" and not compiled(rf"(?i)\b(?:{_EN['praise']})\b").search(clause)


# ---- whether a message asks about the time it names

_TRADITIONAL = str.maketrans(
    "麼誰幾嗎還記說聊們過來講問總結憶麽哪裡裏樣時候嘛為個這沒樣辦該應談憶寫買",
    "么谁几吗还记说聊们过来讲问总结忆么哪里里样时候嘛为个这没样办该应谈忆写买",
)
_ASKING_ZH, _ASKING_EN = patterns("zh", "asking", {"han": HAN}), patterns("en", "asking")
_IN_BOTH = {
    name: f"(?i){_ASKING_ZH[name]}|{_ASKING_EN[name]}" for name in ("memory", "errand", "planned", "filler", "back")
}
_BREAK = r"[，。！？；,!?;\n]+|\.(?=\s|$)"


def _clauses(text: str, spans: Sequence[Span]) -> list[tuple[int, str]]:
    """The clauses with their sign and the place where each begins; a comma inside a date parts nothing."""
    clauses: list[tuple[int, str]] = []
    start = 0
    for sign in compiled(_BREAK).finditer(text):
        if any(span.at[0] < sign.start() < span.at[1] for span in spans):
            continue
        clauses.append((start, text[start : sign.end()]))
        start = sign.end()
    if text[start:].strip():
        clauses.append((start, text[start:]))
    return clauses


def _without(text: str, start: int, spans: Sequence[Span]) -> str:
    """A clause with its time expressions taken out; in English ``zz`` keeps their place."""
    fill = "" if has_han(text) else "zz"
    for span in sorted(spans, key=lambda span: -span.at[0]):
        left, right = span.at[0] - start, span.at[1] - start
        if 0 <= left < len(text):
            text = text[:left] + fill + text[max(right, left) :]
    return text


def _is_bare(rest: str) -> bool:
    """Is there nothing beside the time: 昨天呢, 三天前的事?"""
    return not compiled(_IN_BOTH["filler"]).sub("", rest.replace("zz", ""))


def _interrogative(clause: str) -> bool:
    if not has_han(clause):
        return bool(compiled(_ASKING_EN["question"]).search(clause)) and not compiled(_ASKING_EN["now"]).search(clause)
    if not compiled(_ASKING_ZH["question"]).search(compiled(_ASKING_ZH["indefinite"]).sub("", clause)):
        return False
    if "我" not in clause and compiled(_ASKING_ZH["greeting"]).search(clause):
        return False
    return not compiled(_ASKING_ZH["now"]).search(clause)


def _refers(question: str, remark: str) -> bool:
    """Is a question about the remark before it: by a pronoun, or by a word of two characters or four letters that both have?"""
    if compiled(_IN_BOTH["back"]).search(question):
        return True
    words = {remark[i : i + 2] for i in range(len(remark) - 1) if compiled(rf"[{HAN}]{{2}}").match(remark, i)}
    words |= set(compiled(r"[a-z]{4,}").findall(remark.lower()))
    return any(
        word in question.lower()
        for word in words - {"今天", "昨天", "我们", "你们", "什么", "一个", "with", "have", "that"}
    )


def _asks_which(text: str, spans: Sequence[Span]) -> bool:
    """我的生日是哪天, when is my birthday: the time is what is asked for, not what happened then.

    Of 我们第一次聊天是哪天 the diary knows the answer, so that one asks.
    """
    if compiled(r"(?i)第一次|上次|first|last").search(spans[0].phrase):
        return False
    before, after = text[: spans[0].at[0]], text[spans[-1].at[1] :]
    return bool(
        compiled(_ASKING_ZH["which_day"]).search(after)
        or (not after.strip(" ?？") and compiled(_ASKING_EN["when_is"]).search(before))
    )


def asks(text: str, spans: Sequence[Span]) -> bool:
    """True where the message asks about or looks for the time that its ``spans`` name; ``spans`` are those of this text."""
    if not spans:
        return False
    plain = text.translate(_TRADITIONAL)
    if (
        compiled(_IN_BOTH["errand"]).search(plain)
        or compiled(_IN_BOTH["planned"]).search(plain)
        or _asks_which(plain, spans)
    ):
        return False
    if compiled(_IN_BOTH["memory"]).search(plain) or _is_bare(_without(plain, 0, spans)):
        return True
    clauses = _clauses(plain, spans)
    questions = [(index, clause) for index, (_, clause) in enumerate(clauses) if _interrogative(clause)]
    for index, (start, clause) in enumerate(clauses):
        if not any(start <= span.at[0] < start + len(clause) for span in spans):
            continue
        rest = _without(clause, start, spans)
        if _interrogative(rest):
            return True
        if len(clauses) == 1 and compiled(_ASKING_ZH["noun"]).search(rest.strip()):
            return True
        noun = bool(compiled(_ASKING_ZH["spoken"]).search(rest)) and not re.search(r"[了]", rest)
        following = clauses[index + 1][1] if index + 1 < len(clauses) else ""
        # 去年夏天，我们去了哪里 and 上周你说的那家店，叫什么: the question follows what it is about.
        if (_is_bare(rest) or noun) and (_interrogative(following) or (noun and not following)):
            return True
        if any(later > index and _refers(question, rest) for later, question in questions):
            return True
    return False
