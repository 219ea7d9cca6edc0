"""What is said about food: that one's own body does not take it, or somebody else's, that it is a matter of taste, that it is
over, that somebody asks leave to have it, or is about to. By nearness to the examples in ``eating``, where ○ stands for whatever
food or drug it is, and ● for an illness, a diet or a medicine that rules some out: the table of foods says which those are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from moechat.reading import nearness

EATING = Path(__file__).with_name("eating")
OWN: Final = "own"
MAY: Final = "may"
WILL: Final = "will"
EVERYDAY: Final = "everyday"
FOOD, STATE = "○", "●"
_SEVERAL = re.compile(rf"([{FOOD}{STATE}])(?:\W?\1)+")


def weighed(texts: Sequence[str]) -> list[dict[str, float]]:
    """For each text, its foods as ``FOOD`` and ``STATE``, how near it lies to each kind; empty where nothing can be weighed."""
    near = nearness.fitted(EATING) if texts else None
    if near is None:
        return []
    return near.by_kind([_SEVERAL.sub(r"\1", text) for text in texts])


@lru_cache(maxsize=512)
def eating(text: str) -> str:
    """The kind that a text lies nearest to, or "" where nothing can be weighed."""
    scores = next(iter(weighed([text])), {})
    return max(scores, key=scores.__getitem__, default="")
