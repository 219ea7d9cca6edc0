"""Whether a sentence tells of something that it names as over: given up, left, replaced, lost. By nearness to the examples in
``ended``, in which ``MASK`` stands for what is named: of "from A to B" the one is over, and the other is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from moechat.reading import nearness
from moechat.when.names import has_han

ENDED, OVER, MASK = Path(__file__).with_name("ended"), "over", "◇"
LONGEST = 160  # characters of a sentence that are weighed
# From here on something is over, by the sentence's language; chosen by hand on a set of an unseen hand that had been looked at.
FLOORS: Mapping[bool, float] = {True: 0.38, False: 0.42}
_CUTS: Mapping[bool, re.Pattern[str]] = {
    True: re.compile(r"[,，\s]+"), False: re.compile(r",+|\s(?:and|but|so|because|since)\s", re.IGNORECASE)
}  # fmt: skip


@lru_cache(maxsize=512)
def is_over(sentence: str, start: int, end: int) -> bool:
    """Whether what stands at ``start`` … ``end`` is told as over, by the sentence and the part of it that names that, both alike;
    False where nothing can be weighed."""
    near = nearness.fitted(ENDED)
    if near is None:
        return False
    is_chinese, first = has_han(sentence), max(0, start - LONGEST // 2)
    cuts = list(_CUTS[is_chinese].finditer(sentence))
    begins = max((cut.end() for cut in cuts if cut.end() <= start), default=0)
    ends = min((cut.start() for cut in cuts if cut.start() >= end), default=len(sentence))
    texts = [f"{sentence[a:start]}{MASK}{sentence[end:z]}" for a, z in ((first, first + LONGEST), (begins, ends))]
    scores = near.scores([text.strip().lower() for text in texts])[:, near.kinds.index(OVER)]
    return bool(scores.mean() >= FLOORS[is_chinese])
