"""What a message touches: food, medicine or animals (for care), pain (for what is delicate), what held before, the question what
is known, or nothing at all; and what it leans on: 后来她怎么样了？ and “and then?” are searched together with that."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from moechat import when
from moechat.cue import ASKING, Cue
from moechat.language import words
from moechat.memory.contradiction import entity, keyword_class
from moechat.memory.core import ASKED, Former
from moechat.model import Candidates, Fact, Hit
from moechat.reading.examples import LIFE, LOW, asked
from moechat.reading.patterns import patterns
from moechat.reading.saying import DANGER, asks, asks_by_form, mark, saying
from moechat.rules.reading import asks_of_user, is_chit_chat
from moechat.when.names import has_han, tongue_of

MOST_FORMER = 4
MATTERS, MOST_MATTERS = "matters", 3
SURELY = 0.075  # A fact whose cosine is this share of the way from the floor to 1 is near by more than chance.
FIRST = 100.0  # The weight of what comes whatever the ranking says.
BEHIND = 0.9  # The weight of what comes as well, behind the seven or eight that rank best.
_TABLES = patterns(Path(__file__).with_name("touch.ini"))
_CALLS, _FORMS = _TABLES["touch"], _TABLES["follows"]


_FORMER = {"zh": "{text}（早先说的，{day}说的是：{newer}）", "en": "{text} (said earlier; on {day}: {newer})"}
_OVER = {"zh": "以前：{text}（{end}{quote}）", "en": "Formerly: {text} ({end}{quote})"}
_UNTIL = {"zh": "到{day}为止，现在不是了", "en": "until {day}; no longer so"}
_TOLD_OVER = {"zh": "现在不是了，{day}说起", "en": "no longer so, as told on {day}"}
_SAID = {"zh": "：“{words}”", "en": ": “{words}”"}
STATES = ("partner", "home", "job", "employer", "health", "pet", "name")  # Classes whose values begin and end.
FORMER = "former"


def touches_facts(cue: Cue, near: Sequence[Hit], associated: Sequence[Hit], floor: float) -> bool:
    """Whether any fact belongs to the message: some are named or brought to mind by its words, it asks about the user, or one
    is surely near. Something is always a little nearer than the rest."""
    if associated or any(hit.words for hit in near) or asks_of_user(cue.text):
        return True
    return any(hit.score >= floor + SURELY * (1 - floor) for hit in near)


def asks_all(text: str) -> bool:
    """Whether a message asks what is known of the user, as a whole."""
    return bool(_CALLS["asks_all"].search(text))


def is_low(cue: Cue) -> bool:
    """Whether the message says that the user's mood is low: what only lies near to danger says that, too."""
    meaning = saying(cue.text)
    is_hinted = meaning.kind == DANGER and not (meaning.is_outright or meaning.is_faint)
    return is_hinted or LOW in asked(cue.text)


def asks_of_life(cue: Cue) -> bool:
    """Whether the message asks what happened in the user's own life, how it stands, or why they are as they are."""
    return LIFE in asked(cue.text) and not asks_all(cue.text)


def care(cue: Cue, current: Callable[[], Sequence[Fact]]) -> Candidates:
    """Facts of health and safety, where the talk touches them, and the user's own illnesses where a life is in danger; the newest
    first."""
    touches, danger = _CALLS["touches_care"].search(cue.text) is not None, saying(cue.text).is_danger
    if not (touches or danger):
        return []
    facts = [
        fact
        for fact in current()
        if fact.draft.polarity > 0
        and (
            (touches and fact.draft.mark == "care")
            or (danger and keyword_class(fact.draft) == "health" and entity(fact.draft) == "user")
        )
    ]
    return [(_hit(fact, "care"), "") for fact in reversed(facts)]


def about_user(cue: Cue, current: Callable[[], Sequence[Fact]]) -> Candidates:
    """All that is known of the user, or all tastes, where that is asked for; without what is delicate."""
    tastes = bool(_CALLS["asks_tastes"].search(cue.text))
    if not (tastes or asks_all(cue.text)):
        return []
    facts = [f for f in current() if f.by != "author" and f.draft.mark != "delicate" and f.confirmed is not False]
    facts = [fact for fact in facts if keyword_class(fact.draft) == "taste"] if tastes else facts
    facts.sort(key=lambda fact: entity(fact.draft) != "user")
    return [(_hit(fact, "about_user"), "") for fact in facts]


def former(cue: Cue, held: Callable[[], Sequence[Former]], near: Callable[[], Sequence[Hit]]) -> Candidates:
    """What held before that is ``near`` to a message or named in it, the nearest first, with how it ended. What nobody called
    over comes where it is asked what was before, with what was said since."""
    asks_before = _CALLS["asks_former"].search(cue.text) is not None
    folded = words.fold(cue.text)
    there = {one.fact.id: one for one in held() if one.is_over or asks_before}
    names = {id_: (one.fact.draft.target, one.fact.draft.entity) for id_, one in there.items()}
    named = [id_ for id_, both in names.items() if any(len(one) > 1 and words.fold(one) in folded for one in both)]
    ids = dict.fromkeys([*(hit.id for hit in near()), *reversed(named)])
    return [(replace(_hit(there[id_].fact, FORMER), text=formerly(there[id_])), "") for id_ in ids if id_ in there]


def formerly(former: Former, *, at_length: bool = True) -> str:
    """What held before, as it is told: that it is over, in the words that said so, or what was said since."""
    draft, tongue, by = former.fact.draft, tongue_of(former.fact.text), former.by
    day = f"{by.since:%Y-%m-%d}"
    if not former.is_over:
        return _FORMER[tongue].format(text=former.fact.text, day=day, newer=by.text)
    matter = former.fact.text
    if draft.keyword and draft.target and not at_length:
        matter = f"{draft.keyword}{'：' if tongue == 'zh' else ': '}{draft.target}"
    end = (_UNTIL if former.until else _TOLD_OVER)[tongue].format(day=former.until or day)
    quote = (
        _SAID[tongue].format(words=by.draft.quote) if at_length and by.draft.quote and by.draft.kind == "ruling" else ""
    )
    return _OVER[tongue].format(text=matter, end=end, quote=quote)


def is_withheld(cue: Cue, hit: Hit, sent: str, delicate: Mapping[str, str]) -> bool:
    """Whether a hit is delicate and the talk does not touch it: it is neither of pain itself, nor asks after a state of the
    user's, nor names the memory's time or a word of it or of what is understood of it. What was ``sent`` in an exchange may be
    of pain by itself, whichever side was found; of any other hit that is the text. Where a life is in danger, all is withheld but
    care and what told of danger before; what moves that life stands beside them where danger is not said outright."""
    meaning = saying(cue.text)
    if meaning.is_danger:
        stands = ("care",) if meaning.is_outright else ("care", MATTERS)
        return hit.recipe not in stands and not saying(hit.text).is_danger
    if hit.recipe == MATTERS:
        return False
    if hit.span is not None and not hit.span.is_vague:
        return False
    text = words.fold(sent)
    understood = delicate.get(hit.id, "")
    if not (understood or (hit.is_exchange and mark(sent) == "delicate")):
        return False
    if mark(cue.text) == "delicate" or (asks(cue.text) and any(ASKED[name].search(cue.text) for name in STATES)):
        return False
    return not any(word in text or word in understood for word in cue.keywords if len(word) > 1)


def _hit(fact: Fact, recipe: str) -> Hit:
    return Hit("core", recipe, fact.id, fact.text, 1.0, fact.at, fact.draft.sources)


# ---- what it leans on

MOST_PARTS = 4
MOST_READ = 500  # A longer message tells more than it asks.
MOST_OWN = 1  # A message with more words of a matter than this says itself what it is about.
MOST_SHARED = 3  # A part with more of them does, though it points back: what it points to stands in the part before it.
MOST_BORROWED = 4
SHORT = {"zh": 8, "en": 5}  # A question of no more characters, or words, leaves its subject out.


def together(
    text: str, now: datetime, before: Sequence[str], names: Sequence[str], is_heard: Callable[[str], bool]
) -> str:
    """``text``, behind the words of the matter that it leans on; as it is where it stands by itself.

    ``before`` is what was said last, the latest first. ``names`` are of those who talk, and no matter; nor is a word that memory
    never heard.
    """
    if not _leans(text, now):
        return text
    no_matter = {name.casefold() for name in names}
    borrowed: dict[str, None] = {}
    for line in before:
        for span in when.resolve(line, now):
            line = line.replace(span.phrase, " ")
        matter = (word for word in words.keywords(line) if word.casefold() not in no_matter | ASKING)
        borrowed.update(dict.fromkeys(word for word in matter if len(word) > 1 and is_heard(word)))
    chosen = [word for word in list(borrowed)[:MOST_BORROWED] if word not in text]
    # Between Chinese words stands nothing, so that what only leads on (后来她怎么样了) would be looked for as words.
    return " ".join([*chosen, *(_matter(text) if chosen and has_han(text) else [text])])


def parts(text: str) -> list[str]:
    """The questions of a message that asks several, each about something of its own; none where it asks one, or where one part
    leans on another or tells."""
    pieces = _FORMS["joins"].split(text) if len(text) <= MOST_READ else []
    pieces = [piece for part in pieces if re.search(r"\w", piece := part.strip(" ,，。."))]
    if not 2 <= len(pieces) <= MOST_PARTS or any(map(_FORMS["tells_on"].search, pieces)):
        return []
    stands = (len(_matter(piece)) > (MOST_SHARED if _points_back(piece) else 0) for piece in pieces)
    return pieces if all(map(asks_by_form, pieces)) and all(stands) else []


def _matter(text: str) -> list[str]:
    return [word for word in words.keywords(text) if word.casefold() not in ASKING]


def _points_back(text: str) -> bool:
    """Whether a message has a word for what went before it."""
    goes_on = any(_FORMS[name].search(text.strip()) for name in ("person", "goes_on"))
    return goes_on or (_FORMS["thing"].search(text) is not None and asks_by_form(text))


def _leans(text: str, now: datetime) -> bool:
    if is_chit_chat(text):
        return False
    matter = _matter(text)
    if _points_back(text):
        return len(matter) <= MOST_OWN
    length, most = (len(text.strip(" ?？。！")), SHORT["zh"]) if has_han(text) else (len(text.split()), SHORT["en"])
    names_something = len(matter) > 1 or re.search(r"\d", text)
    return (
        asks_by_form(text)
        and length <= most
        and not (names_something or _FORMS["to_you"].search(text) or when.resolve(text, now))
    )
