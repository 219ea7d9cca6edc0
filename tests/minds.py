"""An owner whose episodes come to mind: recall over episodes, without an agent around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event as Signal

import numpy as np

from moechat.ai.embedding import HashEmbedder
from moechat.cue import Cue
from moechat.memory.diary import asked_spans
from moechat.memory.topics import Topics
from moechat.model import Hit
from moechat.recall.episodic import Episodic
from moechat.settings.schema import StreamSettings
from tests.owners import NOW, Owner

DIM = 32
SPEAKERS = ("阿明", "小满")
BY_RANK = StreamSettings(recency_unit="rank")
EMBEDDER = HashEmbedder(DIM)


def embed(texts: Sequence[str]) -> np.ndarray:
    return EMBEDDER.embed(texts, "query")


@dataclass
class Mind(Owner):
    """An owner's episodes and the recipes over them; everything has its vector."""

    def recipes(self) -> Episodic:
        self.episodes.sync()
        self.episodes.vectors.embed_missing(Signal())
        return Episodic(self.episodes, self.store, Topics(self.store, self.episodes, self.dense), SPEAKERS)

    def stream(
        self, text: str, how: StreamSettings = BY_RANK, *, now: datetime = NOW, floor: float = 0.2
    ) -> list[tuple[Hit, str]]:
        cue = Cue(text, now, embed=embed)
        return self.recipes().stream(cue, how, threshold=floor, spans=asked_spans(cue))

    def associated(self, text: str, now: datetime = NOW) -> list[tuple[Hit, str]]:
        cue = Cue(text, now, embed=embed)
        return self.recipes().association(cue, asked_spans(cue), all_events=True)

    def use(self, at: datetime, *ids: str) -> None:
        with self.store.writing():
            self.store.state.touch(list(ids), at)
