"""Boundaries by rules: what the user asks the character to keep to, word for word, and what lifts one again.

Plain forms alone are heard: a request to the character not to do what a character does (别再提我前夫, "no spoilers please"),
how to be called, how to be talked with. Words for that stand in ``boundaries.LANGUAGE.ini``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from moechat.language import words
from moechat.model import FactDraft
from moechat.reading.patterns import Patterns, patterns
from moechat.reading.saying import DANGER
from moechat.rules.message import Reading
from moechat.when.names import has_han

LONGEST = 160  # characters of a sentence that is kept
_SENTENCE = re.compile(r"[^。！？!?；;\n]+")
_CLAUSE = re.compile(r"[^，,、。！？!?；;\n]+")
_SPEAKS = re.compile(
    r"提醒?|说(?!话)|讲|聊|谈|问|打听|mention|bring|talk|speak|ask|discuss|remind|refer|name|joke|spoil|politic|say",
    re.IGNORECASE,
)
_FOR_A_WHILE = re.compile(
    r"今[天晚](?!起|开始)|现在(?!起|开始)|这会儿|\b(?:today|tonight|right now|for now)\b", re.IGNORECASE
)
_WHO = re.compile(  # whom a pronoun may mean
    r"(前?(?:男|女)(?:朋)?友|前任|前[夫妻]|对象|老[公婆板]|[室舍]友|同[学事]|闺蜜|[爸妈哥姐弟妹]{2}|我[爸妈哥姐弟妹])(?:叫|是)?|"
    r"\b[Mm]y ((?:ex|boss|girl|boy|room|best |step)?-?(?:friend|mate|ex|boss|husband|wife|partner|mum|mom|dad|mother|father|"
    r"brother|sister))\b|(?<=[a-z,] )([A-Z][a-z]+)\b"
)
_CONTRAST = re.compile(
    r"[别不]|讨厌|以后|\b(?:not|n't|never|instead|hate|from now on|rather)\b", re.IGNORECASE
)  # no introduction
_IDLE = re.compile(r"别问[，,\s]*问就")
_HELPS = re.compile(r"劝|管|安慰|叫|问|说|call|tell|ask|talk", re.IGNORECASE)
_HE = re.compile(r"[他她它](?!们)|\b(?:him|her|them|he|she)\b", re.IGNORECASE)
_KIN = re.compile(r"[爸妈哥姐弟妹]{1,2}|mum|mom|dad|mother|father|brother|sister", re.IGNORECASE)
_FUNCTION = re.compile(
    r"[的了吧呢啊吗我你他她别不许要跟给再就都也还是在和对说话可以能来去这那个有没很太得着过把被让一]"
)
_GENERAL = frozenset(
    "round around ever 事 事情 时候 那个 这个 话 名字 please mention talk ask bring call remind stop don't never anymore thing "
    "stuff".split()
)


def _table(language: str) -> Patterns:
    return patterns(Path(__file__).with_name(f"boundaries.{language}.ini"), language)


def stated(reading: Reading, source: str, before: Sequence[str] = ()) -> list[FactDraft]:
    """The boundaries that a message sets, each a whole sentence; ``before`` are the messages before it, oldest first, which may
    say who is meant."""
    if reading.play:
        return []
    return [
        FactDraft(sentence[:LONGEST], (source,), "boundary", target=target)
        for sentence in map(str.strip, _SENTENCE.findall(reading.text.replace("’", "'")))
        if (target := _asked(sentence, reading, before)) is not None
    ]


def _asked(sentence: str, reading: Reading, before: Sequence[str]) -> str | None:
    """What a sentence asks not to be spoken of, "" where it asks for something else, None where it asks nothing. Who is in
    danger and wants no help asks nothing that holds."""
    if _FOR_A_WHILE.search(sentence) or _IDLE.search(sentence):
        return None
    asks, previous = _table(reading.language)["asks"], ""
    for clause in map(str.strip, _CLAUSE.findall(sentence)):
        whole, previous = previous, clause
        if asks["passing"].search(clause):
            continue
        if (request := asks["not"].match(clause)) is not None:
            act = next(name for name, value in request.groupdict().items() if name.startswith("act") and value)
            if _HELPS.match(request[act]) and reading.saying.kind == DANGER:
                return None
            own = f"{clause[: request.start(act)]} {clause[request.end(act) :]}"
            return _topic(own, whole, reading, before) if _SPEAKS.match(request[act]) else ""
        way = asks["way"].search(clause) if reading.language == "zh" else asks["way"].match(clause)
        if way or (asks["call"].match(clause) and _CONTRAST.search(sentence)):
            return ""
    return None


def _topic(own: str, whole: str, reading: Reading, before: Sequence[str]) -> str:
    """The telling words of what is not to be spoken of, or of what was said right before it; or whom a pronoun in it means, who
    was spoken of last."""
    telling = _telling(own) or _telling(whole)
    if _HE.search(own) and not telling:
        spoken = [who for text in (*before, reading.text) for who in _WHO.findall(text)]
        telling = [one for one in spoken[-1] if one] if spoken else []
    return " ".join(telling)


def _telling(text: str) -> list[str]:
    bare = re.sub(r"我的?(?=.)|(?:别|不要|不许|不准|少)(?:再|老是?|总是?|跟我|给我)*|你|以后|今天起?", " ", text)
    return [
        word for word in words.keywords(bare, 6) if word not in _GENERAL and (len(word) > 1 or _KIN.fullmatch(word))
    ]


def lifts(reading: Reading, boundary: FactDraft) -> bool:
    """Whether a message lifts a boundary: it allows something with a word of it, or says anew how to be called."""
    text, new = reading.text, stated(reading, "")
    calls = [_table("zh" if has_han(one) else "en")["asks"]["call"] for one in (boundary.text, text)]
    if all(
        any(call.match(part.strip()) for part in _CLAUSE.findall(one))
        for call, one in zip(calls, (boundary.text, text), strict=True)
    ):
        return True
    lifting, way = _table(reading.language)["lifts"], _table("zh" if has_han(boundary.text) else "en")["asks"]["way"]
    same = not _matter(boundary.text).isdisjoint(_matter(text))
    same = same or bool(way.search(boundary.text) and lifting["manner"].search(text))
    return same and not new and lifting["allows"].search(text) is not None


def _matter(text: str) -> set[str]:
    """The telling words of a text, in Chinese pairs of characters too; what is asked of her is often one character."""
    matter = {words.stem(word) for word in words.keywords(text, 30)}
    matter |= {pair for pair in words.tokens(text) if len(pair) == 2 and has_han(pair) and not _FUNCTION.search(pair)}
    return (matter | set(re.findall(r"[催夸劝哄撩骂列夹逗]", text))) - _GENERAL


def concerns(targets: Sequence[str], text: str) -> bool:
    """Whether a text speaks of something that is not to be spoken of."""
    folded = words.fold(text)
    for target in map(str.split, targets):
        telling = [word for word in target if not _KIN.fullmatch(word)] or target
        if any(word in folded for word in telling):
            return True
    return False
