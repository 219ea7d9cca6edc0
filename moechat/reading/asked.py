"""What a message asks for, said or not: after the character's own day, after the user's own life (what happened, how it stands,
why they are as they are), or, where the mood is ``low``, for what moves that life. By nearness to the examples in ``asked``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from moechat.reading import nearness
from moechat.reading.saying import weighed

ASKED = Path(__file__).with_name("asked")
HER_DAY: Final = "her_day"
LIFE: Final = "life"
LOW: Final = "low"
# Whether a mood is low is told by how near a message lies to each kind of saying, too.
SAYING: Final = "saying"


@lru_cache(maxsize=512)
def asked(text: str) -> frozenset[str]:
    """Nothing where nothing can be weighed."""
    near, meant = nearness.fitted(ASKED) if text.strip() else None, weighed(text)
    if near is None or not meant:
        return frozenset()
    (scores,) = near.by_kind([text])
    seen = scores | {f"{SAYING} {kind}": score for kind, score in meant.items()}
    scores[LOW] = sum(near.numbers[f"{LOW} {name}"] * score for name, score in seen.items())
    return frozenset(kind for kind in (HER_DAY, LIFE, LOW) if scores[kind] >= near.numbers[kind])
