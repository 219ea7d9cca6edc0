"""Which plain fact a question asks for, a name, an age, a job, by nearness to the examples in ``wanted``, and whether a text
states one. The examples are named as the classes of facts are (``contradiction.keyword_class``); ``like`` and ``dislike`` ask for
tastes, ``named``, ``have`` and ``who`` for people, animals and things."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from moechat.reading import frames, nearness
from moechat.reading.saying import EVERYDAY

WANTED = Path(__file__).with_name("wanted")
FLOOR = 0.3
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


@lru_cache(maxsize=512)
def wanted(question: str) -> tuple[str, float]:
    """The name of the nearest examples and how near they are, 0 … 1; ("", 0) for none of them, and where nothing is weighed."""
    near = nearness.fitted(WANTED) if question.strip() else None
    if near is None:
        return "", 0.0
    (scores,) = near.by_kind([question])
    kind = max(scores, key=scores.__getitem__)
    return (kind, min(1.0, scores[kind])) if kind != EVERYDAY and scores[kind] >= FLOOR else ("", 0.0)


def stated(text: str, kind: str) -> tuple[float, float]:
    """How likely a text states what a question of a kind asks for, and how likely that is the user's own, 0 … 1 each."""
    best = (0.0, 0.0)
    if not kind or not nearness.can_weigh():
        return best
    columns = [at for at, name in enumerate(frames.load().kinds) if name in STATED[kind]]
    for chances, own in map(frames.weighed, frames.passages(text)):
        if len(own):
            likely = chances[:, columns].sum(axis=1)
            best = max(best, (float(likely.max()), float(own[likely.argmax()])))
    return best
