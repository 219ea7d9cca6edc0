"""An owner of a store with one talk, and what is understood of it, without an agent around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from moechat.ai.embedding import HashEmbedder
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes, EpisodeView
from moechat.model import Episode, Event, Understanding
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from tests.houses import Home, moment, told

NOW = moment("2025-06-01T12:00:00")


@dataclass
class Owner:
    """A store with one talk, its episodes and what follows them."""

    home: Home
    embedder: HashEmbedder | None
    store: FileStore = field(init=False)
    dense: Dense = field(init=False)
    episodes: Episodes = field(init=False)

    def __post_init__(self) -> None:
        self.store, self.dense, self.episodes = self.another()

    def another(self) -> tuple[FileStore, Dense, Episodes]:
        """As another process opens it."""
        store = self.home.store()
        dense = Dense(store.folder / ".index", self.embedder)
        return store, dense, Episodes(store, dense)

    def say(self, text: str) -> str:
        return told(self.store, self.home.clock, text, settle=True)

    def understand(self, *events: Event, by: str = "model", replaces: Mapping[Event, str] | None = None) -> list[str]:
        """As a roll does. Returns the ids of the events."""
        ids = list(dict.fromkeys(source for event in events for source in event.sources))
        tags = dict.fromkeys(ids, "说了话")
        understanding = Understanding(
            tags, {}, (), events, by=by, replaces={e: (old,) for e, old in (replaces or {}).items()}
        )  # type: ignore[arg-type]
        self.store.findings.merge(ids, understanding, [], {})
        return [derived_id(event.text, event.sources) for event in events]

    def tell(self, text: str, **more: object) -> tuple[str, str]:
        """(exchange, event) of something that was said and understood."""
        exchange = self.say(text)
        (event,) = self.understand(Event(text, (exchange,), **more))  # type: ignore[arg-type]
        return exchange, event

    def reflect(self, text: str, evidence: Sequence[str], sources: Sequence[str], expires: datetime | None) -> str:
        event = Event(text, tuple(sources))
        id_ = derived_id(text, event.sources)
        at = self.home.clock.now()
        self.store.findings.put([Episode(id_, at, event, "reflection", "model", tuple(evidence), 1, expires)])
        return id_

    def mark(self, op: str, *ids: str) -> None:
        with self.store.writing():
            self.store.state.write([{"op": op, "ids": list(ids)}])

    def view(self, now: datetime = NOW) -> EpisodeView:
        self.episodes.sync()
        return self.episodes.view(now)

    def texts(self, now: datetime = NOW) -> list[str]:
        view = self.view(now)
        return [episode.event.text for episode in view.episodes(range(len(view)))]

    def close(self) -> None:
        self.dense.close()
        self.store.close()
