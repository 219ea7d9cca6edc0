"""Boundaries by rules: what the user asks the character to keep to, word for word, and what lifts one again.

A request has a form: not to do something (别再提我前夫, "no spoilers please"), how to be called, how to be talked with; the forms
stand in ``boundaries.LANGUAGE.ini``. Of all else, and of what lifts a boundary, the meaning decides, by how near it lies to
examples (``reading/limits``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from moechat.encoder.builtin import builtin
from moechat.language import words
from moechat.model import Fact, FactDraft
from moechat.reading.nearness import near
from moechat.reading.patterns import Patterns, patterns
from moechat.reading.saying import DANGER, LIMITS, chances
from moechat.rules.clause import MAX_SENTENCES
from moechat.rules.message import Reading
from moechat.when.names import has_han, tongue_of

LONGEST = 160  # characters of a sentence that is kept
_SENTENCE = re.compile(r"[^。！？!?；;\n]+")
_CLAUSE = re.compile(r"[^，,、。！？!?；;\n]+")
_CLAUSE_ZH = re.compile(r"(?:[^，,、。！？!?；;\n ]|(?<![\u4e00-\u9fff]) | (?![\u4e00-\u9fff]))+")
_REPORTS = re.compile(r"(?<![不没])(?:说|喊|道|嘱咐|讲)[:：]?$")  # What follows is another's request.
# Scores of what lifts a boundary, chosen by hand where one of 1,000 pairs of a boundary and a message of everyday talk does.
LIFTS, SAME_MATTER, ALWAYS, ALLOWS, ASKS_ANEW = 1.4, 0.3, 9.0, 0.22, 0.2
LONGEST_WEIGHED = 300  # Who writes more than these characters asks in a set form or not at all.
NEAR = 0.55  # A sentence that lies this near to requests is one, whatever its form;
# one that lies farther, and is less likely of their kind, is none: of how to be called by its clause, of all else as a whole.
NAMED, FAR, UNLIKELY = 0.26, 0.35, 0.3
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
_INTRODUCES = re.compile(r"我叫|我是|名字|本人|\bmy name|\bi'm\b|\bi am\b|^hi\b|^hello", re.IGNORECASE)
_IDLE = re.compile(r"别问[，,\s]*问就是")
_HELPS = re.compile(r"劝|管|安慰|叫|call", re.IGNORECASE)
_HE = re.compile(r"[他她它](?!们)|\b(?:him|her|them|he|she)\b", re.IGNORECASE)
_KIN = re.compile(r"[爸妈哥姐弟妹]{1,2}|mum|mom|dad|mother|father|brother|sister", re.IGNORECASE)
_TELLS_ON = re.compile(r"(?<![，,、 ])[，,、 ]++(?=我|i\b)", re.IGNORECASE)
_FUNCTION = re.compile(
    r"[的了吧呢啊吗我你他她别不许要跟给再就都也还是在和对说话可以能来去这那个有没很太得着过把被让一]"
)
_GENERAL = frozenset(
    "round around ever 事 事情 时候 那个 这个 话 名字 please mention talk ask bring call remind stop don't never anymore thing "
    "stuff".split()
)


@cache
def _table(language: str) -> Patterns:
    return patterns(Path(__file__).with_name(f"boundaries.{language}.ini"), language)


def stated(reading: Reading, source: str, before: Sequence[str] = ()) -> list[FactDraft]:
    """The boundaries that a message sets, each a whole sentence, but for what the user tells of themselves behind a name to be
    called by; ``before`` are the messages before it, oldest first, which may say who is meant."""
    if reading.play:
        return []
    drafts: list[FactDraft] = []
    call = _table(reading.language)["asks"]["call"]
    for sentence in _SENTENCE.findall(reading.text)[:MAX_SENTENCES]:
        topic = _asked(sentence.replace("’", "'").strip(), reading, before)
        if topic is None:
            continue
        clauses = _clauses(sentence, reading.language)
        names = list(filter(call.match, clauses))
        text = (_TELLS_ON.split(sentence, maxsplit=1)[0] if names else sentence).strip()
        parts = clauses if len(text) > LONGEST else [text]
        if any(_is_meant(name, NAMED) for name in names) or any(_is_meant(part, FAR) for part in parts):
            drafts.append(FactDraft(text[:LONGEST], (source,), "boundary", target=topic))
    return drafts


def _is_meant(text: str, least: float) -> bool:
    """Whether what has the form of a request may be one by its meaning: 喊我用碘伏擦 tells of another's."""
    nearness, likely = near(LIMITS, text), chances(text)
    return not nearness or nearness["sets"] >= least or likely.get("limit", 0.0) >= UNLIKELY


def sentence_of(text: str, quote: str) -> str:
    """The sentence of a message that holds these words, as a boundary keeps it."""
    return next((one.strip()[:LONGEST] for one in _SENTENCE.findall(text) if quote in one), quote)


def _asked(sentence: str, reading: Reading, before: Sequence[str]) -> str | None:
    """What a sentence asks not to be spoken of, "" where it asks for something else, None where it asks nothing. Who is in
    danger and wants no help asks nothing that holds."""
    if _FOR_A_WHILE.search(sentence) or _IDLE.search(sentence):
        return None
    asks, previous = _table(reading.language)["asks"], ""
    for clause in _clauses(sentence, reading.language):
        whole, previous = previous, clause
        if asks["passing"].search(clause) or _REPORTS.search(whole):
            continue
        if (request := asks["not"].match(clause)) is not None:
            act = next(name for name, value in request.groupdict().items() if name.startswith("act") and value)
            if reading.saying.kind == DANGER and _HELPS.match(request[act]):
                return None
            own = f"{clause[: request.start(act)]} {clause[request.end(act) :]}"
            return _topic(own, whole, reading, before) if _SPEAKS.search(request[act]) else ""
        way = asks["way"].search(clause) if reading.language == "zh" else asks["way"].match(clause)
        if way or (asks["call"].match(clause) and not _INTRODUCES.search(reading.text)):
            return ""
        if len(reading.text) <= LONGEST_WEIGHED and not any(one.mood == "question" for one in reading.holding(clause)):
            if reading.saying.kind != DANGER and _near(clause, sentence) >= NEAR:
                return ""
    return None


def _clauses(sentence: str, language: str) -> list[str]:
    parts = (_CLAUSE_ZH if language == "zh" else _CLAUSE).findall(sentence)
    return [part for part in map(str.strip, parts) if part]


def _near(clause: str, sentence: str) -> float:
    """How near a clause lies to requests of the character, or its sentence; 0 where nothing can be weighed. Far from them no part
    of a sentence is weighed."""
    whole = near(LIMITS, sentence).get("sets", 0.0)
    return whole if whole < NEAR / 2 or clause == sentence else max(whole, near(LIMITS, clause)["sets"])


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


def lifted(reading: Reading, standing: Sequence[Fact]) -> list[Fact]:
    """Which of the boundaries that stand a message lifts: those that are nearest to what it allows, or all that say the same."""
    scores = [(_lifting(reading, one.draft.text), one) for one in standing]
    most = max((score for score, _ in scores), default=0.0)
    return [one for score, one in scores if score >= LIFTS and score >= most - SAME_MATTER]


def _lifting(reading: Reading, boundary: str) -> float:
    """How surely a message lifts a boundary: by its nearness to examples that lift one and to the boundary, and whether both name
    the same. Who asks for something anew lifts nothing but another name."""
    text, language = reading.text, tongue_of(boundary)
    parts = [(_table(language)["asks"], _clauses(boundary, language))]
    parts += [(_table(reading.language)["asks"], _clauses(text, reading.language))]
    if all(any(asks["call"].match(clause) for clause in clauses) for asks, clauses in parts):
        return ALWAYS
    nearest = [near(LIMITS, one) for one in (text, *parts[1][1])]
    allowing, asking = (max(one.get(kind, 0.0) for one in nearest) for kind in ("lifts", "sets"))
    if allowing < ALLOWS or asking > allowing + ASKS_ANEW:
        return 0.0
    alike = float(builtin().embed([text])[0] @ builtin().embed([boundary])[0])
    return allowing + 2 * alike + 0.5 * (not _matter(boundary).isdisjoint(_matter(text)))


def _matter(text: str) -> set[str]:
    """The telling words of a text, in Chinese pairs of characters too; what is asked of her is often one character."""
    matter = {words.stem(word) for word in words.keywords(text, 30)}
    matter |= {pair for pair in words.tokens(text) if len(pair) == 2 and has_han(pair) and not _FUNCTION.search(pair)}
    return (matter | set(re.findall(r"[催夸劝哄撩骂列夹逗]", text))) - _GENERAL


def concerns(targets: Sequence[str], text: str) -> bool:
    """Whether a text speaks of something that is not to be spoken of."""
    folded = words.fold(text)
    for target in map(str.split, map(words.fold, targets)):
        telling = [word for word in target if not _KIN.fullmatch(word)] or target
        if any(word in folded for word in telling):
            return True
    return False
