"""The check of an owner's files against the log and the cache. The files are the truth; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping

from moechat.model import Exchange
from moechat.store import formats, paths, records
from moechat.store.journal import Journal

_MENDED = "`moechat rebuild` mends it"


def differences(store: Journal) -> tuple[int, list[str]]:
    """(how many exchanges the day files hold, every difference in words). Reads all files.

    A write that goes on meanwhile may look like a difference: told is what is seen at two looks. No lock is held for so long.
    """
    count, problems = _compared(store)
    if problems:
        count, again = _compared(store)
        problems = [problem for problem in problems if problem in again]
    return count, problems


def _compared(store: Journal) -> tuple[int, list[str]]:
    exchanges, problems = _read_days(store)
    problems += _log_against_files(store, exchanges)
    problems += _cache_against_files(store, exchanges)
    problems += _understood_against_files(store)
    problems += _left_over(store)
    return len(exchanges), problems


def _read_days(store: Journal) -> tuple[dict[str, Exchange], list[str]]:
    """Every exchange of every day file by id, and what cannot be read."""
    exchanges: dict[str, Exchange] = {}
    problems: list[str] = []
    for name in filter(paths.is_day_file, paths.record_files(store.folder)):
        path = store.folder / name
        tagged, unreadable = formats.each(records.read(path)[1], path, store.zone, formats.exchange_from)
        problems += map(str, unreadable)
        for exchange, _ in tagged:
            if exchange.id in exchanges:
                problems.append(f"{path}: the id {exchange.id!r} stands in another day file as well")
            exchanges[exchange.id] = exchange
    return exchanges, problems


def _log_against_files(store: Journal, exchanges: Mapping[str, Exchange]) -> list[str]:
    """What was filed must be there, or be known to be missing; what was settled must be there or wait in the log."""
    problems = []
    for id_ in list(store.tree.parents):  # the background may add some
        filed = store.tree.filed_hash(id_)
        if not filed or id_ in store.tree.retracted:
            continue
        if id_ not in exchanges:
            problems.append(
                f"exchange {id_} was deleted from its day file; `moechat log retract {id_}` forgets what cites it"
            )
        elif formats.text_hash(exchanges[id_]) != filed:
            problems.append(f"exchange {id_} has other words in its day file than the log says were filed")
    return problems


def _left_over(store: Journal) -> list[str]:
    """What a kill may have left of an import before the log named it."""
    waiting = {name for name, batch in store.tree.batches.items() if not batch.done}
    staged = sorted((store.folder / paths.IMPORTS).glob("*.yaml"))
    return [
        f"{path}: it belongs to no import; if none is running, delete it" for path in staged if path.stem not in waiting
    ]


def _cache_against_files(store: Journal, exchanges: Mapping[str, Exchange]) -> list[str]:
    names = filter(paths.is_day_file, list(store.signatures))
    cached = {row.exchange.id: row.sha for name in names for row in store.cache.of_file(name).values()}
    problems = [f"exchange {id_} is not in the cache; {_MENDED}" for id_ in exchanges.keys() - cached.keys()]
    problems += [f"exchange {id_} is in the cache alone; {_MENDED}" for id_ in cached.keys() - exchanges.keys()]
    problems += [
        f"exchange {id_} differs from the cache; {_MENDED}"
        for id_ in cached.keys() & exchanges.keys()
        if cached[id_] != formats.text_hash(exchanges[id_])
    ]
    return problems


def _understood_against_files(store: Journal) -> list[str]:
    """Facts and episodes of the cache, and those of the files; what cannot be read is told already."""
    cached = {(paths.CORE, fact.id): fact.text for fact in store.cache.facts().all()}
    cached |= {(file, episode.id): episode.event.text for file, episode in store.cache.all_episodes()}
    texts: dict[tuple[str, str], str] = {}
    for name in [paths.CORE, *filter(paths.is_notes, paths.record_files(store.folder))]:
        path = store.folder / name
        _, parsed = records.read(path)
        if name == paths.CORE:
            facts, _ = formats.each(parsed, path, store.zone, formats.fact_from)
            texts |= {(name, fact.id): fact.text for fact in facts}
            continue
        for _, episodes in formats.each(parsed, path, store.zone, formats.notes_from)[0]:
            for episode in episodes:
                texts.setdefault((name, episode.id), episode.event.text)
    both = cached.keys() | texts.keys()
    wrong = sorted({name for name, id_ in both if cached.get((name, id_)) != texts.get((name, id_))})
    return [f"{name}: the cache holds something else; {_MENDED}" for name in wrong]
