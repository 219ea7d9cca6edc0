"""What kind of saying a message is, and whether it says that a life is in danger.

Danger is decided twice, by nearness to examples and by plain words, and either suffices: being asked needlessly whether one is
safe costs less than not being heard. Words that are only told, sung or laughed at decide nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from moechat.model import Mark
from moechat.reading import nearness
from moechat.reading.patterns import Patterns, patterns

LONGEST = 10_000  # What lies further on in a pasted text is not looked at.
NEAR_DANGER = 0.1  # The sentences of a message are weighed for danger from this score of the whole.
MOST_SENTENCES = 12  # These of a message are weighed one by one, the first and the last.
DANGER, DANGER_OTHER, UNKNOWN = "danger", "danger_other", ""
_SENTENCE = re.compile(r"[^.!?。！？\n…;；]+")
_QUOTED = re.compile(r"[“「『\"《][^”」』\"》]*[”」』\"》]")
_CARE_KEYWORDS = frozenset("过敏 健康 疾病 allergy health".split())


@cache
def _words() -> list[Patterns]:
    """The plain words of both languages, compiled at first use: that takes longer than an import may."""
    return [patterns(Path(__file__).with_name(f"words.{language}.ini"), language) for language in ("zh", "en")]


@dataclass(frozen=True)
class Saying:
    """``kind`` is the name of the nearest examples (``reading/sayings``), "none", or "" where nothing could be weighed."""

    kind: str
    sentences: tuple[str, ...] = ()

    @property
    def is_danger(self) -> bool:
        """Whether somebody's life is in danger, the user's or another's."""
        return self.kind in (DANGER, DANGER_OTHER)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Its kind and those of its sentences, weighed when they are first asked for."""
        near, scores = nearness.fitted(), nearness.scores(self.sentences) if self.sentences else None
        others = () if near is None or scores is None else (near.kind(row) for row in scores)
        return frozenset([self.kind, *(kind for kind in others if kind != DANGER_OTHER)])


@lru_cache(maxsize=512)
def saying(text: str) -> Saying:
    """The kind of saying that a message is. Danger in one sentence is danger, whatever the others say: they are weighed one by
    one where the whole lies near it."""
    text = text[:LONGEST].replace("’", "'")
    by_words = _danger_by_words(text)
    near, scores = nearness.fitted(), nearness.scores([text.strip()]) if text.strip() else None
    if scores is None or near is None:
        return Saying(by_words)
    sentences = _sentences(text)
    kinds = [near.kind(scores[0])]
    if by_words == UNKNOWN:
        is_own = near.is_danger(scores[0])
        if sentences and not is_own and near.of_danger(scores[0]) >= NEAR_DANGER:
            parts = nearness.scores(sentences)
            kinds += [near.kind(row) for row in parts] if parts is not None else []
            # What is told of another is told of them in the next sentence, too.
            is_own = kinds[0] != DANGER_OTHER and parts is not None and any(map(near.is_danger, parts))
        by_words = DANGER if is_own else DANGER_OTHER if DANGER_OTHER in kinds and not _is_told(text) else UNKNOWN
    if by_words == DANGER and _is_of_another(text):
        by_words = DANGER_OTHER
    return Saying(by_words or next((kind for kind in kinds if kind != DANGER_OTHER), "none"), sentences)


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
    for words in _words():
        text = words["mark"]["figure"].sub("", text[:LONGEST])
    return text


@lru_cache(maxsize=2048)
def mark(text: str, keyword: str = "") -> Mark:
    """The mark of what was said, by its words alone: ``delicate`` for pain and intimate matters, ``care`` for health and safety.
    ``keyword`` is that of a fact. A reader in doubt takes it for pain: a memory that is kept for the right moment costs less
    than one that is brought up at the wrong one."""
    meant = earnest(text)
    if _danger_by_words(text) or any(words["mark"]["delicate"].search(meant) for words in _words()):
        return "delicate"
    is_care = keyword in _CARE_KEYWORDS or any(words["mark"]["care"].search(text) for words in _words())
    return "care" if is_care else ""
