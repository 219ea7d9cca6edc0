"""What kind of saying a message is, and whether it says that a life is in danger.

The kinds are those of the examples in ``sayings``; ``everyday`` is of no kind, and no other kind is heard near it. Danger is
decided twice, and either suffices: by plain words, and by nearness to those examples and the many in ``dangers`` that lie close
to danger, where all kinds that a text is near to, and its words, have their weight. Words that are only told, sung or laughed at
decide nothing by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from moechat.model import Mark
from moechat.reading import nearness
from moechat.reading.patterns import Patterns, patterns
from moechat.when import both_ends
from moechat.worker import COURTESY

NEAR_DANGER = 2.5  # Where the whole lacks no more than these log odds of danger each sentence is weighed.
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
        others = (_kind(near, scores) for scores in near.by_kind(self.sentences)) if near else ()
        return frozenset([self.kind, *others])


def saying(text: str) -> Saying:
    """The kind of saying that a message is. Danger in one sentence is danger, whatever the others say: they are weighed one by
    one where the whole lies near it."""
    return _saying(both_ends(text).replace("’", "'"))


@lru_cache(maxsize=512)
def weighed(text: str) -> Mapping[str, float]:
    """How near a message lies to each kind of saying; nothing where nothing can be weighed. Raises EmbeddingError."""
    near = nearness.fitted(SAYINGS) if text.strip() else None
    return near.by_kind([both_ends(text).replace("’", "'").strip()])[0] if near else {}


@lru_cache(maxsize=512)
def _saying(text: str) -> Saying:
    plain = cues(text)
    by_words = _by_words(plain)
    near, dangers = (nearness.fitted(folder) if text.strip() else None for folder in (SAYINGS, DANGERS))
    if near is None or dangers is None:
        kind = DANGER_OTHER if by_words and plain["of another"] else by_words
        return Saying(kind, is_outright=by_words != UNKNOWN, is_near_danger=by_words != UNKNOWN)
    sentences = _sentences(text)
    whole, (closely,) = weighed(text), dangers.by_kind([text.strip()])
    weights = _weights(dangers, closely | plain)
    danger = _danger(weights) if max(weights) >= TOLD * plain["told"] or by_words else UNKNOWN
    if sentences and danger == UNKNOWN and max(weights) >= -NEAR_DANGER:
        each = zip(dangers.by_kind(sentences), map(cues, sentences), strict=True)
        parts = {_danger(odds) for scores, own in each if max(odds := _weights(dangers, scores | own)) >= TOLD}
        danger = next((name for name in (DANGER, DANGER_OTHER) if name in parts), UNKNOWN)
    kind = danger or _kind(near, whole)
    is_faint = any(scores[EVERYDAY] > scores.get(kind, 0.0) for scores in (whole, closely))
    return Saying(kind, sentences, by_words != UNKNOWN, is_faint, max(weights) >= -NEAR_DANGER / 2)


def _weights(near: nearness.Nearness, seen: Mapping[str, float]) -> tuple[float, float]:
    """How much the scores and the cues of one text say that the user's own life is in danger, and that another's is: log odds
    above those from which on it is heard."""
    own, other = (
        sum(near.numbers[f"{whose} {name}"] * value for name, value in seen.items()) - near.numbers[whose]
        for whose in (DANGER, DANGER_OTHER)
    )
    return own, other


def _danger(weights: tuple[float, float]) -> str:
    return DANGER_OTHER if weights[1] > weights[0] else DANGER


@lru_cache(maxsize=512)
def cues(text: str) -> dict[str, float]:
    """What the plain words of a text say of danger, 1 or 0 for each of ``CUES``: of the user's own and of another's (not within
    quotation marks), whether it tells a film, a song, work or a joke, and whether another is named first. The last is 1."""
    COURTESY.give_way()
    meant = _QUOTED.sub(" ", text)
    own, other = (any(words["danger"][name].search(meant) for words in _words()) for name in ("own", "other"))
    is_told = any(words["danger"]["told"].search(text) for words in _words())
    return dict(zip(CUES, map(float, (own, other, is_told, _is_of_another(text), True)), strict=True))


def _by_words(plain: Mapping[str, float]) -> str:
    """The danger that the cues of a text say outright."""
    if plain["told"]:
        return UNKNOWN
    return DANGER if plain["own words"] else DANGER_OTHER if plain["other words"] else UNKNOWN


def _kind(near: nearness.Nearness, scores: Mapping[str, float]) -> str:
    """The kind but danger that one text lies nearest to, by its scores; "none" where none is near enough."""
    kind = max((name for name in near.kinds if name not in (DANGER, DANGER_OTHER, EVERYDAY)), key=scores.__getitem__)
    return kind if scores[kind] >= near.numbers["kind"] else "none"


def _sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message of several, the first and the last of many."""
    parts = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    half = MOST_SENTENCES // 2
    return (
        tuple(dict.fromkeys(parts if len(parts) <= MOST_SENTENCES else parts[:half] + parts[-half:]))
        if len(parts) > 1
        else ()
    )


def _is_of_another(text: str) -> bool:
    """Whether a text names another first, and nothing behind that is the speaker's own: 我室友割腕了, but not 我爸拿刀砍我."""
    for words in _words():
        if subject := words["danger"]["subject"].match(text):
            return not words["danger"]["mine"].search(text, subject.end())
    return False


def earnest(text: str) -> str:
    """The message without what only sounds like pain."""
    text = both_ends(text)
    for words in _words():
        text = words["mark"]["figure"].sub("", text)
    return text


@lru_cache(maxsize=2048)
def mark(text: str, keyword: str = "") -> Mark:
    """The mark of what was said, by its words alone: ``delicate`` for pain and intimate matters, ``care`` for health and safety.
    ``keyword`` is that of a fact. A reader in doubt takes it for pain: a memory that is kept for the right moment costs less
    than one that is brought up at the wrong one."""
    text = both_ends(text)
    meant = earnest(text)
    if _by_words(cues(text)) or any(words["mark"]["delicate"].search(meant) for words in _words()):
        return "delicate"
    is_care = keyword in _CARE_KEYWORDS or any(words["mark"]["care"].search(text) for words in _words())
    return "care" if is_care else ""
