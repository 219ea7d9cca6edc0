"""What kind of saying a message is, and whether it says that a life is in danger.

The kinds are those of the examples in ``sayings``; ``everyday`` is of no kind, and no other kind is heard near it. Danger is
decided twice, by nearness to examples and by plain words, and either suffices. Words that are only told, sung or laughed at
decide nothing.
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

NEAR_DANGER = 0.1  # The sentences of a message are weighed for danger from this score of the whole.
MOST_SENTENCES = 12  # These of a message are weighed one by one, the first and the last.
DANGER, DANGER_OTHER, EVERYDAY, RECORD, UNKNOWN = "danger", "danger_other", "everyday", "record", ""
SAYINGS, LIMITS, MATTERS = (Path(__file__).with_name(name) for name in ("sayings", "limits", "matters"))
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
    messages than to its kind."""

    kind: str
    sentences: tuple[str, ...] = ()
    is_outright: bool = False
    is_faint: bool = False

    @property
    def is_danger(self) -> bool:
        """Whether somebody's life is in danger, the user's or another's."""
        return self.kind in (DANGER, DANGER_OTHER)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Its kind and those of its sentences, weighed when they are first asked for."""
        near = nearness.fitted(SAYINGS) if self.sentences else None
        others = (_kind(near, row) for row in near.scores(self.sentences)) if near else ()
        return frozenset([self.kind, *(kind for kind in others if kind not in (DANGER, DANGER_OTHER))])


@lru_cache(maxsize=512)
def saying(text: str) -> Saying:
    """The kind of saying that a message is. Danger in one sentence is danger, whatever the others say: they are weighed one by
    one where the whole lies near it."""
    text = text[:LONGEST_READ].replace("’", "'")
    kind = _danger_by_words(text)
    is_outright = kind != UNKNOWN
    near = nearness.fitted(SAYINGS) if text.strip() else None
    if near is None:
        return Saying(kind, is_outright=is_outright)
    whole = near.scores([text.strip()])[0]
    sentences = _sentences(text)
    nearest = _kind(near, whole)
    if kind == UNKNOWN and not _is_told(text):
        kind = nearest if nearest in (DANGER, DANGER_OTHER) else UNKNOWN
        of_danger = max(whole[near.kinds.index(name)] for name in (DANGER, DANGER_OTHER))
        if sentences and kind == UNKNOWN and of_danger >= NEAR_DANGER:
            parts = {_kind(near, row) for row in near.scores(sentences)}
            kind = next((name for name in (DANGER, DANGER_OTHER) if name in parts), UNKNOWN)
    if kind == DANGER and _is_of_another(text):
        kind = DANGER_OTHER
    kind = kind or (nearest if nearest not in (DANGER, DANGER_OTHER) else "none")
    by_kind = dict(zip(near.kinds, whole.tolist(), strict=True))
    return Saying(kind, sentences, is_outright, by_kind[EVERYDAY] > by_kind.get(kind, 0.0))


def _kind(near: nearness.Nearness, scores: nearness.Scores) -> str:
    """The kind that one text lies nearest to, by its (kinds,) scores; "none" where none is near enough."""
    by_kind = dict(zip(near.kinds, scores.tolist(), strict=True))
    if by_kind[DANGER] >= max(near.numbers[DANGER], by_kind[RECORD]):  # Who asks which pills they take is in none.
        return DANGER
    kind = max((name for name in near.kinds if name not in (DANGER, DANGER_OTHER, EVERYDAY)), key=by_kind.__getitem__)
    if by_kind[DANGER_OTHER] >= max(near.numbers[DANGER_OTHER], by_kind[kind]):
        return DANGER_OTHER
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
