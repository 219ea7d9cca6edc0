"""What kind of saying a message is, whether it says that a life is in danger, and whether it asks.

The kinds are those of the examples in ``sayings``; ``everyday`` is of no kind, and no other kind is heard near it. They are read
twice, and each reading hears what the other does not: by nearness, and word by word (``kinds.npz``, read by ``network``). Danger
is decided twice, and either suffices: by plain words, and by how likely the gravest sentence says it. Words that are only told,
sung or laughed at decide nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.model import Mark
from moechat.reading import nearness
from moechat.reading.nearness import Scores
from moechat.reading.network import Network
from moechat.reading.patterns import Patterns, patterns
from moechat.when import LONGEST_READ, both_ends
from moechat.worker import COURTESY, lazy

T = TypeVar("T")
SAYINGS, FITTED, LIMITS, MATTERS = (
    Path(__file__).with_name(name) for name in ("sayings", "kinds.npz", "limits", "matters")
)
DANGER, DANGER_OTHER, EVERYDAY, UNKNOWN = "danger", "danger_other", "everyday", ""
LONGEST = 300  # Of a longer text so many characters are read, the first and the last.
# How much each reading counts, chosen on a hand that was left out; no chance counts as less than ``LEAST``.
READ, NEAR, LEAST = 0.5, 7.0, 1e-4
# From these log odds on danger is heard, of the user or of another, and from the last on a message is near it; so much of them
# comes of a sentence with its neighbours.
HEARD, NEAR_DANGER, AROUND = {DANGER: -0.85, DANGER_OTHER: 0.3}, -3.2, 0.3
# From this chance on a saying is surely of its kind; what ends the matter that was talked of is heard only then.
ENDING, SURE = frozenset({"limit", "takeback"}), 0.5
MOST_SENTENCES = 12  # These of a message are weighed one by one, the first and the last.
MOST_READ = 4  # So many of all, those nearest to danger, are read word by word for it.
# These kinds of saying are of pain: they are met with care.
HARM = frozenset({"hurt", "quarrel", DANGER, DANGER_OTHER})
_STOPS = r".!?。！？\n…;；"
# Whoever goes on without a stop is weighed part by part, each of whole words where there are any.
_SENTENCE = re.compile(rf"[^{_STOPS}]{{1,120}}(?![^\s,，、{_STOPS}])|[^{_STOPS}]{{1,120}}")
_QUOTED = re.compile(r"[“「『\"《][^“”「」『』\"《》]{0,500}[”」』\"》]")  # the innermost marks
_CARE_KEYWORDS = frozenset("过敏 健康 疾病 allergy health".split())
_FORMS = patterns(Path(__file__).with_name("asking.ini"))["asking"]
_ASKING = frozenset({"record", "advice", "question"})  # These kinds of saying ask.
_MARK = re.compile(r"[?？]")
_PART = re.compile(r"[^，。！；,.!;\n]+")
_BETWEEN = re.compile(r"(?<=[一-龥])[ \u3000]+(?=[一-龥])")  # In a short message it stands for a comma.


@cache
def _words() -> list[Patterns]:
    """The plain words of both languages, compiled at first use: that takes longer than an import may."""
    return [patterns(Path(__file__).with_name(f"words.{language}.ini"), language) for language in ("zh", "en")]


class Kinds(Network):
    """``arrays`` has these layers too: ``looks`` (networks, 2 h, looks), how much each look at the words takes of each, and
    ``kinds`` (networks, (looks + 1) 2 h, kinds) of the most of every word and of all looks."""

    def chances(self, text: str) -> Scores:
        """(kinds,) float32, one in sum. Raises EmbeddingError."""
        with builtin().one_thread():
            words = self.read(text)
            looks = _shares(self.scores(words, "looks"), 1).transpose(0, 2, 1) @ words
            seen = np.concatenate([words.max(axis=1, keepdims=True), looks], axis=1).reshape(len(words), 1, -1)
            chances: Scores = _shares(self.scores(seen, "kinds"), 2).mean(axis=(0, 1))
        return chances


def _shares(scores: Scores, axis: int) -> Scores:
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    shares: Scores = powers / powers.sum(axis=axis, keepdims=True)
    return shares


@lru_cache(maxsize=512)
def chances(text: str) -> Mapping[str, float]:
    """The chance of each kind, one in sum; nothing where nothing can be weighed."""
    if not (scores := weighed(text)):
        return {}
    of = Kinds.load(FITTED)
    near = np.array([scores[kind] for kind in of.kinds], np.float32)
    both = _shares(READ * np.log(of.chances(both_ends(text, LONGEST)) + LEAST) + NEAR * near, 0)
    return dict(zip(of.kinds, both.tolist(), strict=True))


def of_another(text: str) -> float:
    """How likely a sentence tells of somebody else."""
    likely = chances(text.strip())
    return likely.get("other", 0.0) + likely.get(DANGER_OTHER, 0.0)


@dataclass(frozen=True)
class Saying:
    """``kind`` is the name of the nearest examples (``reading/sayings``), "none", or "" where nothing could be weighed.
    ``is_outright``: danger is said in plain words, and not only near to examples of it. ``is_faint``: it lies nearer to everyday
    messages than to its kind. ``is_sure``: it is likelier of its kind than of all others. ``is_near_danger``: it says that a
    life is in danger, or little less than that."""

    kind: str
    sentences: tuple[str, ...] = ()
    is_outright: bool = False
    is_faint: bool = False
    is_sure: bool = False
    is_near_danger: bool = False

    @property
    def is_danger(self) -> bool:
        """Whether somebody's life is in danger, the user's or another's."""
        return self.kind in (DANGER, DANGER_OTHER)

    @lazy
    def kinds(self) -> frozenset[str]:
        """Its kind and those of its sentences, weighed when they are first asked for."""
        return frozenset([self.kind, *(_kind(chances(one)) for one in self.sentences)])


def saying(text: str) -> Saying:
    """The kind of saying that a message is. Danger in one sentence is danger, whatever the others say."""
    return _saying(plain(text))


def weighed(text: str) -> Mapping[str, float]:
    """How near a message lies to each kind of saying; nothing where nothing can be weighed. Raises EmbeddingError."""
    return nearness.near(SAYINGS, both_ends(plain(text), LONGEST))


def plain(text: str) -> str:
    """As a message is read: its first and its last part, with one kind of apostrophe."""
    return both_ends(text).replace("’", "'").strip()


@lru_cache(maxsize=512)
def _saying(text: str) -> Saying:
    by_words, likely = _by_words(text), chances(text)
    if not likely:
        return Saying(by_words, is_outright=by_words != UNKNOWN, is_near_danger=by_words != UNKNOWN)
    parts = sentences(text)
    grave = _gravest(parts, likely)
    is_heard = by_words or any(grave[kind] >= bar for kind, bar in HEARD.items())
    kind = max(grave, key=grave.__getitem__) if is_heard else _kind(likely)
    scores = weighed(text)
    is_faint = scores[EVERYDAY] > scores[kind]
    is_near = max(grave.values()) >= NEAR_DANGER or bool(by_words)
    weighed_alone = tuple(first_and_last(parts, MOST_SENTENCES))
    return Saying(kind, weighed_alone, by_words != UNKNOWN, is_faint, likely[kind] >= SURE, is_near)


def _gravest(sentences: tuple[str, ...], whole: Mapping[str, float]) -> dict[str, float]:
    """The log odds that the gravest sentence is of each kind of danger, by itself and with its neighbours, less the more
    sentences there are: the gravest of many is grave by chance. ``whole`` are the chances of the message."""
    read = {at: chances(sentences[at]) for at in _nearest_danger(sentences)} or {0: whole}
    grave, by_chance = dict[str, float](), math.log(len(sentences) or 1) / 2
    for kind in HEARD:
        _, at = max((of[kind], at) for at, of in read.items())
        around = sentences[max(0, at - 1) : at + 2]
        beside = chances("\n".join(around)) if around != sentences else whole
        grave[kind] = (1 - AROUND) * log_odds(read[at][kind]) + AROUND * log_odds(beside[kind]) - by_chance
    return grave


def log_odds(chance: float) -> float:
    """Its natural logarithm of odds; neither it nor its opposite counts as less than ``LEAST``."""
    return math.log(max(chance, LEAST) / max(1 - chance, LEAST))


def _nearest_danger(sentences: tuple[str, ...]) -> list[int]:
    """The places of the few sentences that lie nearer to danger than to all else."""
    if len(sentences) <= MOST_READ:
        return list(range(len(sentences)))
    scores = nearness.each(SAYINGS, sentences)
    farther = [max(of[kind] for kind in of if kind not in HEARD) - max(of[kind] for kind in HEARD) for of in scores]
    return sorted(range(len(sentences)), key=farther.__getitem__)[:MOST_READ]


def _kind(likely: Mapping[str, float]) -> str:
    """The likeliest kind but danger, of those that may be heard so."""
    others = {name: chance for name, chance in likely.items() if name not in (DANGER, DANGER_OTHER)}
    return max(
        (name for name, chance in others.items() if name not in ENDING or chance >= SURE), key=others.__getitem__
    )


@lru_cache(maxsize=512)
def _by_words(text: str) -> str:
    """The danger that plain words say outright, of the user or of another who is named first; none where they are told, sung or
    laughed at, nor within quotation marks."""
    COURTESY.give_way()
    meant = _QUOTED.sub(" ", text)
    of = [words["danger"] for words in _words()]
    if any(one["told"].search(text) for one in of):
        return UNKNOWN
    if any(one["own"].search(meant) for one in of):
        return DANGER_OTHER if _is_of_another(text) else DANGER
    return DANGER_OTHER if any(one["other"].search(meant) for one in of) else UNKNOWN


@lru_cache(maxsize=512)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message of several."""
    parts = [part.strip() for part in _SENTENCE.findall(text) if part.strip()]
    return tuple(dict.fromkeys(parts)) if len(parts) > 1 else ()


def first_and_last(parts: Sequence[T], most: int) -> Sequence[T]:
    """All of them, or of more than ``most`` as many of the first as of the last."""
    return parts if len(parts) <= most else [*parts[: most // 2], *parts[-(most // 2) :]]


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
    if _by_words(text) or any(words["mark"]["delicate"].search(meant) for words in _words()):
        return "delicate"
    is_care = keyword in _CARE_KEYWORDS or any(words["mark"]["care"].search(text) for words in _words())
    return "care" if is_care else ""


def asks_by_form(text: str) -> bool:
    """Whether a sentence or a message asks by a mark, or by how it begins or ends."""
    parts = (part.strip() for part in _PART.findall(_BETWEEN.sub("，", text[:LONGEST_READ])))
    return _MARK.search(text) is not None or any(
        _FORMS["asks"].search(part) and not _FORMS["nothing"].search(part) for part in parts
    )


def asks(text: str) -> bool:
    """Whether a message asks for something: by its form, and where that does not say so, by nearness to sayings that ask."""
    return asks_by_form(text) or (saying(text).kind in _ASKING and not saying(text).is_faint)
