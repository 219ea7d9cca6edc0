"""What kind of saying a message is, and whether it says that a life is in danger.

The kinds are those of the examples in ``sayings``; ``everyday`` is of no kind, and no other kind is heard near it. Danger is
decided twice, and either suffices: by plain words, and by nearness to those examples and the many in ``dangers`` that lie close
to danger, where all kinds that a text is near to, and its words, have their weight. Words that are only told, sung or laughed at
decide nothing by themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from moechat.model import Mark
from moechat.reading import nearness
from moechat.reading.patterns import Patterns, patterns
from moechat.when import LONGEST_READ
from moechat.worker import COURTESY

NEAR_DANGER = (
    2.5  # The sentences of a message are weighed for danger where the whole lacks no more than these log odds.
)
TOLD = 0.75  # Danger is heard from so much more in a part of a message, and in what is told, sung or laughed at.
MOST_SENTENCES = 12  # These of a message are weighed one by one, the first and the last.
DANGER, DANGER_OTHER, EVERYDAY, UNKNOWN = "danger", "danger_other", "everyday", ""
CUES = ("own words", "other words", "told", "of another", "always")  # What counts beside the kinds, see ``cues``.
SAYINGS, DANGERS, LIMITS, MATTERS = (
    Path(__file__).with_name(name) for name in ("sayings", "dangers", "limits", "matters")
)
_SENTENCE = re.compile(r"[^.!?。！？\n…;；]{1,120}")  # Whoever goes on without a stop is weighed part by part.
_QUOTED = re.compile(r"[“「『\"《][^“”「」『』\"《》]{0,500}[”」』\"》]")  # the innermost marks
_CARE_KEYWORDS = frozenset("过敏 健康 疾病 allergy health".split())


@cache
def _words() -> list[Patterns]:
    """The plain words of both languages, compiled at first use: that takes longer than an import may."""
    return [patterns(Path(__file__).with_name(f"words.{language}.ini"), language) for language in ("zh", "en")]


@dataclass(frozen=True)
class Saying:
    """``kind`` is the name of the nearest examples (``reading/sayings``), "none", or "" where nothing could be weighed.
    ``is_outright``: danger is said in plain words, and not only near to examples of it. ``is_faint``: it lies nearer to everyday
    messages than to its kind. ``is_near_danger``: it says that a life is in danger, or little less than that."""

    kind: str
    sentences: tuple[str, ...] = ()
    is_outright: bool = False
    is_faint: bool = False
    is_near_danger: bool = False

    @property
    def is_danger(self) -> bool:
        """Whether somebody's life is in danger, the user's or another's."""
        return self.kind in (DANGER, DANGER_OTHER)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Its kind and those of its sentences, weighed when they are first asked for."""
        near = nearness.fitted(SAYINGS) if self.sentences else None
        return (
            frozenset([self.kind, *(_kind(near, row) for row in near.scores(self.sentences))])
            if near
            else frozenset([self.kind])
        )


@lru_cache(maxsize=512)
def saying(text: str) -> Saying:
    """The kind of saying that a message is. Danger in one sentence is danger, whatever the others say: they are weighed one by
    one where the whole lies near it."""
    text = text[:LONGEST_READ].replace("’", "'")
    by_words = _danger_by_words(text)
    near, dangers = (nearness.fitted(folder) if text.strip() else None for folder in (SAYINGS, DANGERS))
    if near is None or dangers is None:
        return Saying(
            DANGER_OTHER if by_words and _is_of_another(text) else by_words,
            is_outright=by_words != UNKNOWN,
            is_near_danger=by_words != UNKNOWN,
        )
    whole = near.scores([text.strip()])[0]
    sentences = _sentences(text)
    closely = dangers.scores([text.strip()])[0]
    weights = _weights(dangers, closely, text)
    danger = _danger(weights) if max(weights) >= TOLD * _is_told(text) or by_words else UNKNOWN
    if sentences and danger == UNKNOWN and max(weights) >= -NEAR_DANGER:
        each = [_weights(dangers, *one) for one in zip(dangers.scores(sentences), sentences, strict=True)]
        parts = {_danger(one) for one in each if max(one) >= TOLD}
        danger = next((name for name in (DANGER, DANGER_OTHER) if name in parts), UNKNOWN)
    kind = danger or _kind(near, whole)
    by_kind = (dict(zip(one.kinds, row.tolist(), strict=True)) for one, row in ((near, whole), (dangers, closely)))
    is_faint = any(scores[EVERYDAY] > scores.get(kind, 0.0) for scores in by_kind)
    return Saying(kind, sentences, by_words != UNKNOWN, is_faint, max(weights) >= -NEAR_DANGER / 2)


def _weights(near: nearness.Nearness, scores: nearness.Scores, text: str) -> tuple[float, float]:
    """How much one text says, by its (kinds,) scores and its cues, that the user's own life is in danger, and that another's is:
    log odds above those from which on it is heard."""
    seen = dict(zip((*near.kinds, *CUES), (*scores.tolist(), *cues(text)), strict=True))
    own, other = (
        sum(near.numbers[f"{whose} {name}"] * value for name, value in seen.items()) - near.numbers[whose]
        for whose in (DANGER, DANGER_OTHER)
    )
    return own, other


def _danger(weights: tuple[float, float]) -> str:
    return DANGER_OTHER if weights[1] > weights[0] else DANGER


def cues(text: str) -> tuple[float, ...]:
    """What the plain words of a text say of danger, each 1 or 0: see ``CUES``; the last of them is 1."""
    meant = _QUOTED.sub(" ", text)
    own, other = (any(words["danger"][name].search(meant) for words in _words()) for name in ("own", "other"))
    return float(own), float(other), float(_is_told(text)), float(_is_of_another(text)), 1.0


def _kind(near: nearness.Nearness, scores: nearness.Scores) -> str:
    """The kind but danger that one text lies nearest to, by its (kinds,) scores; "none" where none is near enough."""
    by_kind = dict(zip(near.kinds, scores.tolist(), strict=True))
    kind = max((name for name in near.kinds if name not in (DANGER, DANGER_OTHER, EVERYDAY)), key=by_kind.__getitem__)
    return kind if by_kind[kind] >= near.numbers["kind"] else "none"


def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message of several, the first and the last of many."""
    parts = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    half = MOST_SENTENCES // 2
    return (
        tuple(dict.fromkeys(parts if len(parts) <= MOST_SENTENCES else parts[:half] + parts[-half:]))
        if len(parts) > 1
        else ()
    )


def _danger_by_words(text: str) -> str:
    COURTESY.give_way()
    if _is_told(text):
        return UNKNOWN
    meant = _QUOTED.sub(" ", text)
    if any(words["danger"]["own"].search(meant) for words in _words()):
        return DANGER
    return DANGER_OTHER if any(words["danger"]["other"].search(meant) for words in _words()) else UNKNOWN


def _is_of_another(text: str) -> bool:
    """Whether a text names another first, and nothing behind that is the speaker's own: 我室友割腕了, but not 我爸拿刀砍我."""
    for words in _words():
        if subject := words["danger"]["subject"].match(text):
            return not words["danger"]["mine"].search(text, subject.end())
    return False


def _is_told(text: str) -> bool:
    """Whether a text tells a film, a song, work or a joke."""
    return any(words["danger"]["told"].search(text) for words in _words())


def earnest(text: str) -> str:
    """The message without what only sounds like pain."""
    text = text[:LONGEST_READ]
    for words in _words():
        text = words["mark"]["figure"].sub("", text)
    return text


@lru_cache(maxsize=2048)
def mark(text: str, keyword: str = "") -> Mark:
    """The mark of what was said, by its words alone: ``delicate`` for pain and intimate matters, ``care`` for health and safety.
    ``keyword`` is that of a fact. A reader in doubt takes it for pain: a memory that is kept for the right moment costs less
    than one that is brought up at the wrong one."""
    text = text[:LONGEST_READ]
    meant = earnest(text)
    if _danger_by_words(text) or any(words["mark"]["delicate"].search(meant) for words in _words()):
        return "delicate"
    is_care = keyword in _CARE_KEYWORDS or any(words["mark"]["care"].search(text) for words in _words())
    return "care" if is_care else ""
