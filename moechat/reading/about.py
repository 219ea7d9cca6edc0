"""What a remark is about, by nearness to the examples in ``about``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from moechat.reading import nearness
from moechat.reading.saying import EVERYDAY

ABOUT = Path(__file__).with_name("about")
FLOOR = 0.35  # Of what was left out, six in seven of those heard from this score on are about that.


@lru_cache(maxsize=512)
def about(text: str) -> str:
    """The name of the nearest examples: food, health, pet and so on; "" for none of them."""
    near = nearness.fitted(ABOUT) if text.strip() else None
    if near is None:
        return ""
    (scores,) = near.by_kind([text])
    kind = max(scores, key=scores.__getitem__)
    return kind if kind != EVERYDAY and scores[kind] >= FLOOR else ""
