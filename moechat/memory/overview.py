"""The overview (前情提要): the newest events that have left the context, in order of time.

A queue that is never written: events come in as their exchanges leave the context, and beyond its capacity the oldest
leave, so it follows from the episodes and the context alone, on every branch and after every change of mind.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import numpy as np

from moechat.memory.episodes import Episodes
from moechat.model import Episode


def overview(
    episodes: Episodes, now: datetime, in_context: Collection[str], capacity: int, recalled: Collection[str] = ()
) -> list[Episode]:
    """The ``capacity`` newest events of which no exchange is ``in_context``, oldest first (seed 004, 1.2 and 四 a); without
    those that are ``recalled`` (ids of events, and of exchanges that are told word for word)."""
    view = episodes.view(now)
    if not capacity or not len(view):
        return []
    left = np.flatnonzero(~view.reflection & ~view.citing(in_context))[::-1]
    queue: list[Episode] = []
    for start in range(0, len(left), capacity):  # as a rule the first are all that is wanted
        some = view.episodes(left[start : start + capacity].tolist())
        queue += [episode for episode in some if episode.by != "author"]
        if len(queue) >= capacity:
            break
    told = set(recalled)
    return [e for e in queue[capacity - 1 :: -1] if told.isdisjoint({e.id, *e.event.sources})]
