"""The eraser: works off what is being forgotten, in the store first, then in indexes, vectors and history.yaml.

It begins where an earlier one was cut short. Nobody sees any of it meanwhile: it is hidden from the moment it was decided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from moechat.recall.layers import Layers
from moechat.store import backups, disk, erasure


class Eraser:
    """Of one owner. ``save`` writes history.yaml anew from the talk that is left, ``keep`` says how many backups are kept."""

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
