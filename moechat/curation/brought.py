"""Memories that were brought from elsewhere without the talk behind them: written as the owner's, and taken back as one. And what
was forgotten and came back with a file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moechat.curation.catalogue import Kind, Memory
from moechat.curation.keeper import Keeper
from moechat.errors import FieldError, MoeChatError, NotFound
from moechat.sentences import sentence
from moechat.store import disk, plain, records
from moechat.store.kinds import Store

MARK = "m-"
EVENTS: Sequence[Kind] = ("event",)
_YES = ("true", "yes", "1")


@dataclass(frozen=True)
class Brought:
    """What was written as ``batch``; ``doubled`` of them were there already."""

    batch: str
    ids: Sequence[str]
    doubled: int


class MemoryBatches:
    """The batches of one owner, and what came back to them."""

    def __init__(self, store: Store, keeper: Keeper) -> None:
        self._store, self._keeper = store, keeper

    def new_of(self, rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
        """Those that say something that no memory says yet."""
        self._store.read_all()
        there = {fact.text.strip() for fact in self._store.findings.facts()}
        there |= {one.text.strip() for one in self._keeper.listed(EVENTS, limit=0).memories}
        return [row for row in {row["text"]: row for row in rows}.values() if row["text"] not in there]

    def add(self, rows: Sequence[Mapping[str, str]], progress: Callable[[int, int], None]) -> Brought:
        """Write memories. One with ``happened`` is an event, unless its ``type`` says otherwise. Cut short, the
        same file goes on. Raises MoeChatError, FieldError."""
        new = self.new_of(rows)
        batch = MARK + hashlib.blake2b("\0".join(row["text"] for row in rows).encode(), digest_size=4).hexdigest()
        ids = list(self.ids(batch)) if self._path(batch).exists() else []
        if not new and not ids:
            raise MoeChatError("all of this is there already; nothing was imported")
        for number, row in enumerate(new, 1):
            ids.append(self._add(row))
            if number % 20 == 0 or number == len(new):
                records.replace(self._path(batch), json.dumps(ids).encode())
                progress(number, len(new))
        return Brought(batch, ids, len(rows) - len(new))

    def _add(self, row: Mapping[str, str]) -> str:
        kind = row.get("type") or ("event" if row.get("happened") else "fact")
        try:
            if kind == "event":
                event = {key: row[key] for key in ("happened", "place", "topic") if key in row}
                words = [one.strip() for one in row.get("keywords", "").replace("，", ",").split(",") if one.strip()]
                weight = float(row["importance"]) if "importance" in row else None
                return self._keeper.add_event(row["text"], keywords=words, importance=weight, **event).id
            fact = {key: row[key] for key in ("entity", "keyword", "target", "kind") if key in row}
            sign = -1 if row.get("polarity", "1").startswith("-") else 1
            single = row.get("single", "").casefold() in _YES
            return self._keeper.add_fact(row["text"], polarity=sign, single=single, **fact).id  # type: ignore[arg-type]
        except ValueError as error:
            raise FieldError("importance", row.get("importance"), f"expects a number from 0 to 1 ({error})") from None

    def ids(self, batch: str) -> Sequence[str]:
        """The memories of a batch. Raises NotFound."""
        path = self._path(batch)
        if not path.exists():
            raise NotFound(f"nothing was imported as {batch!r}")
        ids: list[str] = plain.json_value(plain.data_of(path))
        return ids

    def batches(self) -> dict[str, int]:
        """How many memories each batch was that is not taken back, by its name."""
        folder = self._store.folder / disk.IMPORTS if self._store.folder else None
        names = sorted(path.stem for path in folder.glob(f"{MARK}*.json")) if folder and folder.is_dir() else []
        return {name: len(self.ids(name)) for name in names}

    def take_back(self, batch: str) -> int:
        """Erase a batch, for good. Returns how many memories it was. Raises NotFound."""
        ids = [one.id for one in self._keeper.memories(self.ids(batch))]
        if ids:
            self._keeper.forget(ids)
        self._path(batch).unlink()
        return len(ids)

    def _path(self, batch: str) -> Path:
        name = "".join(one for one in batch if one.isalnum() or one == "-")
        folder = self._store.folder
        assert folder is not None
        return folder / disk.IMPORTS / f"{name}.json"

    # ---- what was forgotten and came back with a file: it is hidden, told, and let in or erased again

    def let_in(self) -> list[str]:
        """All that came back holds again as any other memory. Returns the ids."""
        store, ids = self._store, list(self._store.state.returned)

        def admit() -> None:
            with store.writing("let in"):
                store.tombstones.lift(store.exchanges.of(ids).values(), ids, store.clock.now())
                store.state.write([{"op": "found", "ids": ids, "lets_in": True}] if ids else [])

        self._keeper.change(admit)
        return ids

    def erase_again(self) -> list[str]:
        """All that came back is forgotten once more, with what was made of it. Returns the ids."""
        self._store.read_all()
        ids = list(self._store.state.returned)
        if ids:
            self._keeper.erase(ids)
        return ids


def copied(source: Keeper, ids: Sequence[str], target: Keeper) -> list[Memory]:
    """Copy facts and events to another memory, where they are the owner's. Raises NotFound, MoeChatError for other memories."""
    facts = {fact.id: fact.draft for fact in source.facts(ids)}
    events = {episode.id: episode.event for episode in source.events(ids)}
    made = []
    for id_ in ids:
        source.get(id_)  # raises NotFound
        if draft := facts.get(id_):
            made.append(target.add_fact(
                draft.text, entity=draft.entity, keyword=draft.keyword, target=draft.target, kind=draft.kind,
                polarity=draft.polarity, single=draft.single,
            ))  # fmt: skip
        elif event := events.get(id_):
            made.append(target.add_event(
                event.text, happened=event.happened, place=event.place, keywords=event.keywords, topic=event.topic,
                importance=event.importance,
            ))  # fmt: skip
        else:
            raise MoeChatError(f"{id_} is neither a fact nor an event; only those can be copied")
    return made


def came_back(store: Store, language: str) -> Iterator[str]:
    """What was forgotten and came back, in words, by the day of the forgetting and the file."""
    counts = Counter((at[:10], file or "log.jsonl") for at, file in store.state.returned.values())
    for (day, file), n in counts.items():
        yield sentence("memory", "returned", language, day=day, file=file, n=n)
