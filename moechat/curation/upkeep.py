"""Upkeep: check an owner's files against the indexes, and make the indexes anew; and work off what is being forgotten.
The files are the truth."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from moechat.memory.diary_index import ROWS_LOCK
from moechat.recall.layers import Layers
from moechat.store import backups, disk, erasure
from moechat.store.disk import index_folder
from moechat.store.kinds import Store
from moechat.store.unknown import unknown

Report = dict[str, Any]
Progress = Callable[[int, int], None]


def verify(store: Store, layers: Layers, other_problems: Sequence[str] = ()) -> Report:
    """Counts, every difference in words under ``problems``, with ``other_problems``, and what in the folder is none of ours by
    name under ``unknown``.

    Reads all files and changes nothing.
    """
    layers.read_all()
    exchanges, problems = store.verify()
    problems += [*other_problems, *layers.diary.index.differences()]
    space = layers.dense.spaces[-1] if layers.dense.spaces else None
    return {
        "exchanges": exchanges,
        "in_log": len(store.tree.parents),
        "unsettled": len(store.tree.open()),
        "waiting_for_their_day_file": len(store.tree.unfiled()),
        "waiting_to_be_understood": len(store.tree.pending()) + len(store.tree.unread()),
        "facts": len(store.findings.facts()),
        "without_vector": layers.diary.vectors.missing(space) if space else 0,
        "problems": list(dict.fromkeys(problems)),
        "unknown": unknown(store.folder),
    }


def drop_indexes(folder: Path, *, vectors: bool) -> None:
    """Delete the indexes.

    Vectors are kept, so that they can be found by their text, unless they are to be made anew, too.
    """
    index = index_folder(folder)
    index.mkdir(parents=True, exist_ok=True)
    with FileLock(index / ROWS_LOCK):  # another process may be writing: it finds that its rows are gone, and follows
        for path in sorted(index.glob("*"), reverse=True):  # the log of a database goes before it
            if path.name.startswith("vectors-") and not vectors:
                continue
            if path.is_dir():
                aside = path.rename(index / f"gone-{uuid.uuid4().hex}")
                shutil.rmtree(aside, ignore_errors=True)
            elif path.suffix != ".lock":  # somebody may hold it
                path.unlink(missing_ok=True)


def fill(layers: Layers, progress: Progress) -> int:
    """Embed whatever has no vector, in the foreground. Returns how many exchanges were."""
    layers.read_all()
    layers.dense.admit(patient=True)
    space = layers.dense.spaces[-1] if layers.dense.spaces else None
    total = layers.diary.vectors.missing(space) if space else 0
    done = layers.diary.vectors.embed_missing(threading.Event(), progress=lambda count: progress(count, total))
    layers.sync()
    layers.embed(threading.Event())
    if layers.dense.changing():
        layers.dense.switch()
    return done


class Eraser:
    """Works off what one owner wants forgotten, in the store first, then in indexes, vectors and history.yaml. It begins where an
    earlier one was cut short. Nobody sees any of it meanwhile: it is hidden from the moment it was decided. ``save`` writes
    history.yaml anew from the talk that is left, ``keep`` says how many backups are kept."""

    def __init__(self, layers: Layers, save: Callable[[], None], keep: Callable[[], int]) -> None:
        self._layers, self._save, self._keep = layers, save, keep
        self._lock = threading.Lock()

    def run(self) -> bool:
        """Remove the bytes of whatever is being forgotten. False where nothing is.

        Raises DataError where a file or the cache cannot be written now; the rest waits for the next call.
        """
        store = self._layers.store
        with self._lock, disk.in_words(store.index_folder):
            had_backups = store.folder is not None and bool(backups.listed(store.folder))
            has_erased = erasure.erase(store, self._sweep)
        if has_erased and had_backups:
            self.back_up()
        return has_erased

    def back_up(self) -> None:
        """Make today's backup, where there is none yet. Raises DataError."""
        store = self._layers.store
        with disk.in_words(store.index_folder):
            backups.back_up(store, self._layers.now(), self._keep())

    def _sweep(self) -> None:
        self._layers.sync()
        self._layers.diary.index.erase_dead()
        self._layers.sweep()
        self._save()
