"""What examples tell of a text: by nearness what a remark is about, what a message asks for, which plain fact a question wants
and what is said about food; word by word, what is told as over. The examples of each stand in a folder of its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError
from moechat.language.words import is_stop_word, tokens
from moechat.reading import answers, frames, nearness
from moechat.reading.nearness import near
from moechat.reading.saying import EVERYDAY, Kinds, weighed
from moechat.when.names import has_han

ABOUT, ASKED, WANTED, EATING, ENDED = (
    Path(__file__).with_name(name) for name in ("about", "asked", "wanted", "eating", "ended")
)


def _nearest(folder: Path, text: str, floor: float) -> tuple[str, float]:
    """The name of the nearest examples and how near they are; ("", 0) for everyday ones, and below the floor."""
    scores = near(folder, text)
    kind = max(scores, key=scores.__getitem__, default=EVERYDAY)
    return (kind, scores[kind]) if kind != EVERYDAY and scores[kind] >= floor else ("", 0.0)


# ---- what a remark is about

ABOUT_FLOOR = 0.35  # Of what was left out, six in seven of those heard from this score on are about that.


def about(text: str) -> str:
    """What a remark is about: food, health, pet and so on; "" for none of them."""
    return _nearest(ABOUT, text, ABOUT_FLOOR)[0]


# ---- what a message asks for, in words or not

HER_DAY: Final = "her_day"
LIFE: Final = "life"
LOW: Final = "low"
# Whether a mood is low is told by how near a message lies to each kind of saying, too.
SAYING: Final = "saying"


def asked(text: str) -> frozenset[str]:
    """What a message asks for: the character's own day, the user's own life (what happened, how it stands, why they are as they
    are), or, where the mood is ``low``, what moves that life. Nothing where nothing can be weighed."""
    fitted, meant = nearness.fitted(ASKED), weighed(text)
    if fitted is None or not meant:
        return frozenset()
    numbers, scores = fitted.numbers, near(ASKED, text)
    seen = {**scores, **{f"{SAYING} {kind}": score for kind, score in meant.items()}}
    low = sum(numbers[f"{LOW} {name}"] * score for name, score in seen.items())
    return frozenset(
        kind for kind, score in {**scores, LOW: low}.items() if kind != EVERYDAY and score >= numbers[kind]
    )


# ---- which plain fact a question wants

WANTED_FLOOR = 0.3
NAMED: Final = "named"
TASTES: Final = ("like", "dislike")
# What the network of ``frames`` calls that which answers.
STATED = {
    "name": ("name",), "named": ("kname", "pname"), "who": ("kin", "kname", "pname"),
    "have": ("kin", "pet", "kname", "pname", "status"), "age": ("age",), "birthday": ("birthday",), "home": ("home",),
    "hometown": ("origin",), "job": ("job", "trade"), "employer": ("employer",), "school": ("school",),
    "major": ("study", "learns"), "language": ("language", "learns"), "allergy": ("cannot", "diet"), "health": ("ill",),
    "like": ("like",), "dislike": ("dislike",),
}  # fmt: skip


def wanted(question: str) -> tuple[str, float]:
    """Which plain fact a question asks for, and how surely, 0 … 1; ("", 0) for none. The kinds are named as the classes of facts
    are (``contradiction.keyword_class``); ``TASTES`` ask for tastes, ``named``, ``have`` and ``who`` for people, animals and
    things."""
    kind, score = _nearest(WANTED, question, WANTED_FLOOR)
    return kind, min(1.0, score)


def stated(text: str, kind: str) -> tuple[float, float]:
    """How likely a text states what a question of a kind asks for, and how likely that is the user's own, 0 … 1 each."""
    best = (0.0, 0.0)
    if not kind or not nearness.can_weigh():
        return best
    columns = [at for at, name in enumerate(frames.Frames.load(frames.FITTED).kinds) if name in STATED[kind]]
    for chances, own in map(frames.weighed, frames.passages(text)):
        if len(own):
            likely = chances[:, columns].sum(axis=1)
            best = max(best, (float(likely.max()), float(own[likely.argmax()])))
    return best


# ---- which of several texts answers a question: by what it means, and by whether it states what is asked for

# How near it lies as a whole and by its nearest clause, and whether it states something of the kind that is asked for, of whom it
# is asked for. They come of a regression over the 608 questions of 38 evenings by unseen hands, each a choice among all that was
# told and nothing; words that are shared add nothing to them.
NEAR, NEAR_CLAUSE, STATES, ALWAYS = 10.9, 6.2, 3.5, -4.6


def nearness_of(question: str, texts: Sequence[str]) -> list[float]:
    """The cosine of each text to a question where its answer would lie; 0 without the embedding."""
    try:
        vectors, (query,) = builtin().embed(texts), answers.load().as_told(builtin().embed([question]))
    except EmbeddingError:
        return [0.0] * len(texts)
    cosines: list[float] = (vectors @ query).tolist()
    return cosines


class Asking:
    """A question beside the texts that may answer it."""

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        self._question, (_, self._sure) = question, wanted(question)
        self._near = np.array(self._nearness(texts))

    def _nearness(self, texts: Sequence[str]) -> list[float]:
        """The cosines of texts, and where nothing can be weighed which part of the question's telling words stand in each."""
        if nearness.can_weigh():
            return nearness_of(self._question, texts)
        words = {word for word in tokens(self._question, bigrams=False) if not is_stop_word(word)}
        rows = ((text, {*tokens(text)}) for text in texts)
        counts = (sum(word in row or (has_han(word) and word in text) for word in words) for text, row in rows)
        return [count / max(len(words), 1) for count in counts]

    def nearest(self, count: int) -> list[int]:
        """The places of the texts that are most like it."""
        places: list[int] = np.argsort(-self._near, kind="stable")[:count].tolist()
        return places

    def log_odds(self, at: int, clauses: Sequence[str], states: float) -> float:
        """How likely the text at a place answers, which ``states`` that likely what is asked for, of whom it is asked for."""
        near_clause = max(self._nearness([clause[:LONGEST] for clause in clauses]))
        return float(NEAR * self._near[at] + NEAR_CLAUSE * near_clause + STATES * self._sure * states + ALWAYS)


# ---- what is said about food

OWN: Final = "own"
MAY: Final = "may"
WILL: Final = "will"
FOOD, STATE = "○", "●"
"""Any food or drug, and an illness, a diet or a medicine that rules some out: the table of foods says which those are."""
_SEVERAL = re.compile(rf"([{FOOD}{STATE}])(?:\W?\1)+")


def of_food(text: str) -> Mapping[str, float]:
    """How near a text, its foods as ``FOOD`` and ``STATE``, lies to each kind: that one's own body does not take it, or somebody
    else's, that it is a matter of taste, that it is over, that somebody asks leave to have it, or is about to. Nothing where
    nothing can be weighed."""
    return near(EATING, _SEVERAL.sub(r"\1", text))


def eating(text: str) -> str:
    """The kind that a text lies nearest to, or "" where nothing can be weighed."""
    scores = of_food(text)
    return max(scores, key=scores.__getitem__, default="")


# ---- what is told as over: given up, left, replaced, lost

OVER, MASK = "over", "◇"  # ``MASK`` stands for what is named: of "from A to B" the one is over, and the other is not.
LONGEST = 160  # characters of a sentence that are read
# From this chance on something is over: of an unseen hand's, .68 and .75 of what was over and .20 of what only seemed so.
OVER_FLOOR = 0.2


def is_over(sentence: str, start: int, end: int, least: float = OVER_FLOOR) -> bool:
    """Whether what stands at ``start`` … ``end`` is told as over, by the words around it (``ended.npz``, read by ``network``), at
    ``least`` so likely; False where nothing can be weighed."""
    if not nearness.can_weigh():
        return False
    first, of = max(0, start - LONGEST // 2), Kinds.load(ENDED.with_suffix(".npz"))
    chances = of.chances(f"{sentence[first:start]}{MASK}{sentence[end : first + LONGEST]}")
    return bool(chances[of.kinds.index(OVER)] >= least)
