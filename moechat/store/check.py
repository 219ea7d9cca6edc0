"""The check of an owner's files against the log and the cache. The files are the truth; nothing is changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from moechat.model import Exchange
from moechat.store import disk, formats, records
from moechat.store.finding_files import notes_from
from moechat.store.finding_records import FACTS
from moechat.store.journal import Journal

HASHES_IN = "SELECT id, sha FROM exchanges WHERE owner_id = %(owner)s AND alive AND file = %(file)s"
TEXTS_IN = "SELECT id, words FROM episodes WHERE owner_id = %(owner)s AND alive AND note = %(file)s"
_OUR_ID = re.compile(r"\d{8}-\d{6}(-\d+)?\Z")
REMEDY = "`moechat verify --repair` takes them in again, `moechat memories forget` erases them"
_MENDED = "`moechat rebuild` mends it"


def differences(store: Journal) -> tuple[int, list[str]]:
    """(how many exchanges the day files hold, every difference in words). Reads all files.

    A write that goes on meanwhile may look like a difference, so only what two looks see is reported. No lock is held meanwhile.
    """
    count, problems = _compared(store)
    if problems:
        count, again = _compared(store)
        problems = [problem for problem in problems if problem in again]
    return count, problems


def _compared(store: Journal) -> tuple[int, list[str]]:
    """One file after another, so that no more than that is held at a time."""
    ids, problems = _days(store)
    problems += _deleted(store, ids)
    problems += _findings(store)
    problems += _left_over(store)
    return len(ids), problems


def _days(store: Journal) -> tuple[set[str], list[str]]:
    """The ids of every exchange in the day files, and what is wrong with those files."""
    ids: set[str] = set()
    problems: list[str] = []
    log_end = max(
        (datetime.fromisoformat(node.at) for node in list(store.tree.nodes.values()) if node.at), default=None
    )
    for name in _names(store, disk.is_day_file):
        path = store.folder / name
        tagged, unreadable = formats.each(records.read(path)[1], path, store.zone, formats.exchange_from)
        problems += map(str, unreadable)
        hashes = {exchange.id: formats.text_hash(exchange) for exchange, _ in tagged}
        problems += [f"{path}: the id {id_!r} stands in another day file as well" for id_ in hashes if id_ in ids]
        ids |= hashes.keys()
        problems += _log_against(store, hashes)
        problems += _later_than_the_log(store, [exchange for exchange, _ in tagged], path, log_end)
        problems += _cache_against(store, name, hashes)
    return ids, problems


def _names(store: Journal, is_one: Callable[[str], bool]) -> list[str]:
    """The files of a kind that lie there, or that the cache knows, by date."""
    return sorted(filter(is_one, {*disk.record_files(store.folder), *list(store.cache.signatures())}))


def _log_against(store: Journal, hashes: Mapping[str, str]) -> Iterator[str]:
    """What was filed must be there as it was filed. ``hashes`` are those of a file's exchanges, by id."""
    for id_, sha in hashes.items():
        filed = store.tree.filed_hash(id_)
        if filed not in ("", sha) and id_ not in store.tree.retracted:
            yield f"exchange {id_} has other words in its day file than the log says were filed"


def _later_than_the_log(
    store: Journal, exchanges: Sequence[Exchange], path: Path, end: datetime | None
) -> Iterator[str]:
    """Whatever the program filed, the log had first: where it ends before that, it has lost its end."""
    unlogged = [one for one in exchanges if one.id not in store.tree and one.id not in store.state.missing]
    late = [one.id for one in unlogged if one.stamp or (end and one.at > end and _OUR_ID.match(one.id))]
    if late:
        why = "it was cut, or is older, and"
        yield f"{path}: log.jsonl ends before {late[0]}; {why} {len(late)} exchanges are no part of the talk now; {REMEDY}"


def _deleted(store: Journal, ids: Collection[str]) -> Iterator[str]:
    for id_ in list(store.tree.parents):  # the background may add some
        if store.tree.filed_hash(id_) and id_ not in store.tree.retracted and id_ not in ids:
            remedy = f"`moechat verify --repair` may put it back, `moechat log retract {id_}` forgets what cites it"
            yield f"exchange {id_} was deleted from its day file; {remedy}"


def _left_over(store: Journal) -> list[str]:
    """What a kill may have left of an import before the log named it."""
    waiting = {name for name, batch in list(store.tree.batches.items()) if not batch.done}
    staged = sorted((store.folder / disk.IMPORTS).glob("*.yaml"))
    return [
        f"{path}: it belongs to no import; if none is running, delete it" for path in staged if path.stem not in waiting
    ]


def _cache_against(store: Journal, name: str, hashes: Mapping[str, str]) -> Iterator[str]:
    cached = dict(store.cache.all(HASHES_IN, {"file": name}))
    yield from (f"exchange {id_} is not in the cache; {_MENDED}" for id_ in hashes.keys() - cached.keys())
    yield from (f"exchange {id_} is in the cache alone; {_MENDED}" for id_ in cached.keys() - hashes.keys())
    both = cached.keys() & hashes.keys()
    yield from (f"exchange {id_} differs from the cache; {_MENDED}" for id_ in both if cached[id_] != hashes[id_])


def _findings(store: Journal) -> Iterator[str]:
    """Facts and episodes of the cache, against those of the files; what cannot be read is told already."""
    for name in [disk.CORE, *_names(store, disk.is_notes)]:
        path = store.folder / name
        _, parsed = records.read(path)
        if name == disk.CORE:
            facts, _ = formats.each(parsed, path, store.zone, formats.fact_from)
            texts = {fact.id: fact.text for fact in facts}
            cached = {id_: json.loads(data)["text"] for id_, data in store.cache.all(FACTS)}
        else:
            notes, _ = formats.each(parsed, path, store.zone, notes_from)
            episodes = [episode for noted in notes for episode in noted.episodes]
            texts = {one.id: one.event.text for one in episodes[::-1]}  # Of two with one id the first counts.
            cached = dict(store.cache.all(TEXTS_IN, {"file": name}))
        if texts != cached:
            yield f"{name}: the cache holds something else; {_MENDED}"
