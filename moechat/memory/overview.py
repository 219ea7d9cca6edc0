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

LOOKED_AT = 4  # times the capacity: events beside those still in the context


def overview(episodes: Episodes, now: datetime, in_context: Collection[str], capacity: int) -> list[Episode]:
    """The ``capacity`` newest events of which no exchange is in the context, oldest first (seed 004, 1.2 and 四 a)."""
    view = episodes.view(now)
    if not capacity or not len(view):
        return []
    here = set(in_context)
    depth = LOOKED_AT * capacity + len(here)
    newest = np.argsort(-view.told, kind="stable")[:depth]
    found = [
        episode for episode in view.episodes(newest.tolist())
        if episode.kind == "event" and episode.by != "author" and here.isdisjoint(episode.event.sources)
    ]  # fmt: skip
    return sorted(found[:capacity], key=lambda episode: episode.at)
