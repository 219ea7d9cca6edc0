"""Upkeep: check an owner's files against the indexes, and make the indexes anew. The files are the truth."""

from __future__ import annotations

import contextlib
import shutil
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from moechat.errors import DataError
from moechat.memory.diary_index import ROWS_LOCK
from moechat.model import Exchange
from moechat.recall.layers import Layers
from moechat.store import formats, records
from moechat.store.files import FileStore

Report = dict[str, Any]
Progress = Callable[[int, int], None]


def verify(store: FileStore, layers: Layers, known: Sequence[str] = ()) -> Report:
    """Counts, and every difference in words under ``problems``, with those that are ``known`` already.

    Reads all files and changes nothing.
    """
    on_disk, problems = _read_all(store)
    problems += known
    problems += _log_against_files(store, on_disk)
    problems += _cache_against_files(store, on_disk)
    problems += _understood_against_files(store)
    problems += layers.diary.index.differences()
    space = layers.dense.spaces[-1] if layers.dense.spaces else None
    return {
        "exchanges": len(on_disk),
        "in_log": len(store.tree.parents),
        "unsettled": len(store.tree.open()),
        "waiting_for_their_day_file": len(store.tree.unfiled()),
        "waiting_to_be_understood": len(store.tree.pending()),
        "facts": len(store.cache.facts()),
        "without_vector": layers.diary.vectors.missing(space) if space else 0,
        "problems": list(dict.fromkeys(problems)),
    }


def _read_all(store: FileStore) -> tuple[dict[str, Exchange], list[str]]:
    """Every record of every day file, read from the disk."""
    found: dict[str, Exchange] = {}
    problems = []
    for path in sorted((store.folder / "memorys").glob("*.y*ml")):
        if path.name.endswith(formats.NOTES) or path.name.startswith("."):
            continue
        _, parsed = records.read(path)
        problems += [str(problem) for problem in parsed.problems]
        for record in parsed.records:
            try:
                exchange, _ = formats.exchange_from(record, path, store.zone)
            except DataError as error:
                problems.append(str(error))
                continue
            if exchange.id in found:
                problems.append(f"{path}: the id {exchange.id!r} stands in another day file as well")
            found[exchange.id] = exchange
    return found, problems


def _log_against_files(store: FileStore, on_disk: dict[str, Exchange]) -> list[str]:
    """What was filed must be there, or be known to be missing; what was settled must be there or wait in the log."""
    problems = []
    for id_ in list(store.tree.parents):  # the background may add some
        node = store.tree.nodes.get(id_)
        filed = node.filed if node else store.tree.past_sha.get(id_, "")
        if not filed or id_ in store.tree.retracted:
            continue
        if id_ not in on_disk:
            problems.append(
                f"exchange {id_} was deleted from its day file; `moechat log retract {id_}` forgets what cites it"
            )
        elif formats.text_hash(on_disk[id_].user, on_disk[id_].char) != filed:
            problems.append(f"exchange {id_} has other words in its day file than the log says were filed")
    return problems


def _cache_against_files(store: FileStore, on_disk: dict[str, Exchange]) -> list[str]:
    cached = {row.exchange.id: row.sha for name in store.days.names() for row in store.cache.of_file(name).values()}
    problems = [
        f"exchange {id_} is not in the cache; `moechat rebuild` mends it" for id_ in on_disk.keys() - cached.keys()
    ]
    problems += [
        f"exchange {id_} is in the cache alone; `moechat rebuild` mends it" for id_ in cached.keys() - on_disk.keys()
    ]
    problems += [
        f"exchange {id_} differs from the cache; `moechat rebuild` mends it"
        for id_ in cached.keys() & on_disk.keys()
        if cached[id_] != formats.text_hash(on_disk[id_].user, on_disk[id_].char)
    ]
    return problems


def _understood_against_files(store: FileStore) -> list[str]:
    """Facts and episodes of the cache, and those of the files; what cannot be read is told already."""
    cached = {(formats.CORE, fact.id): fact.text for fact in store.cache.facts()}
    rows = store.cache.all("SELECT row, file FROM episodes WHERE alive = 1")
    episodes = store.cache.episodes_by_row([row for row, _ in rows])
    cached |= {(file, episodes[row].id): episodes[row].event.text for row, file in rows if row in episodes}
    told: dict[tuple[str, str], str] = {}
    names = [f"memorys/{path.name}" for path in sorted((store.folder / "memorys").glob(f"*{formats.NOTES}"))]
    for name in [formats.CORE, *names]:
        path = store.folder / name
        for record in records.read(path)[1].records:
            with contextlib.suppress(DataError):
                if name == formats.CORE:
                    told[name, record.key] = formats.fact_from(record, path, store.zone).text
                else:
                    for one in formats.notes_from(record, path, store.zone)[1]:
                        told.setdefault((name, one.id), one.event.text)
    wrong = sorted(
        {name for name, id_ in cached.keys() | told.keys() if cached.get((name, id_)) != told.get((name, id_))}
    )
    return [f"{name}: the cache holds something else; `moechat rebuild` mends it" for name in wrong]


def drop_indexes(folder: Path, *, vectors: bool) -> None:
    """Delete what can be made anew. Vectors are kept to be looked up by their text, unless they are to be made anew too."""
    index = folder / ".index"
    index.mkdir(parents=True, exist_ok=True)
    with FileLock(index / ROWS_LOCK):  # another process may be writing: it finds that its rows are gone, and follows
        for path in list(index.glob("*")):
            if path.name.startswith("vectors-") and not vectors:
                continue
            if path.is_dir():
                gone = path.rename(index / f"gone-{uuid.uuid4().hex}")
                shutil.rmtree(gone, ignore_errors=True)
            elif path.suffix != ".lock":  # somebody may hold it
                path.unlink(missing_ok=True)


def fill(layers: Layers, progress: Progress) -> int:
    """Embed whatever has no vector, in the foreground. Returns how many exchanges were."""
    space = layers.dense.spaces[-1] if layers.dense.spaces else None
    total = layers.diary.vectors.missing(space) if space else 0
    done = layers.diary.vectors.embed_missing(threading.Event(), progress=lambda count: progress(count, total))
    layers.sync()
    layers.embed(threading.Event())
    if layers.dense.changing():
        layers.switch()
    return done
