"""How a topic path is written: ``旅行->杭州->西湖``. It works on strings alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

ARROW = "->"
EVERYDAY: Mapping[str, str] = {"zh": "日常", "en": "everyday"}  # What has no topic stands under these.
MAX_SEGMENTS = 12
MAX_SEGMENT_CHARS = 60

# Models and people write the arrow -> in many ways. A bare > counts as one, a slash does not (TCP/IP, 24/7).
_SHAFTS = " -－−–—=＝"
_ARROWS = re.compile(r"[-－−–—=＝]*[>＞]+|[→⟶➔➜⇒]")


@lru_cache(maxsize=16_384)
def topic_path(text: str) -> str:
    """``text`` as a normalised topic path: ``a->b->c``, every segment trimmed, empty ones dropped.

    ``→``, ``>`` and full-width forms count as the arrow. A run of blanks inside a segment becomes one blank. At most
    ``MAX_SEGMENTS`` segments of ``MAX_SEGMENT_CHARS`` characters are kept. The path is "" for a text that names no topic.
    """
    segments = (" ".join(part.split())[:MAX_SEGMENT_CHARS].rstrip(_SHAFTS) for part in _ARROWS.split(text))
    return ARROW.join([segment for segment in segments if segment][:MAX_SEGMENTS])


def parent_of(path: str) -> str:
    """The path above a normalised one, "" above a root."""
    return path.rpartition(ARROW)[0]


def is_within(path: str, top: str) -> bool:
    """Whether a normalised path is ``top`` or lies below it."""
    return path == top or path.startswith(top + ARROW)


def moved(path: str, moves: Iterable[tuple[str, str]]) -> str:
    """Where a normalised path stands after the owner's moves (from, to), applied in their order."""
    for old, new in moves:
        if is_within(path, old):
            path = new + path[len(old) :]
    return path
