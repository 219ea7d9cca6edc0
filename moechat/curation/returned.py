"""What was forgotten and came back with a file: it is hidden, told, and let in or erased again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from moechat.curation.keeper import Keeper
from moechat.sentences import sentence
from moechat.store.kinds import Store


def told(store: Store, language: str) -> Iterator[str]:
    """What came back, in words, by the day of the forgetting and the file."""
    counts = Counter((at[:10], file or "log.jsonl") for at, file in store.state.returned.values())
    for (day, file), n in counts.items():
        yield sentence("memory", "returned", language, day=day, file=file, n=n)


def let_in(store: Store, keeper: Keeper) -> list[str]:
    """All of it holds again as any other memory. Returns the ids."""
    ids = list(store.state.returned)

    def admit() -> None:
        with store.writing("let in"):
            store.tombstones.lift(store.exchanges.of(ids).values(), ids, store.clock.now())
            store.state.write([{"op": "found", "ids": ids, "lets_in": True}] if ids else [])

    keeper.change(admit)
    return ids


def erase_again(store: Store, keeper: Keeper) -> list[str]:
    """All of it is forgotten once more, with what was made of it. Returns the ids."""
    store.read_all()
    ids = list(store.state.returned)
    if ids:
        keeper.erase(ids)
    return ids
