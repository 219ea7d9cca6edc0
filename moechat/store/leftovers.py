"""What processes that were killed have left in an owner's folder, and how it goes."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from filelock import FileLock, Timeout

from moechat.store import disk, paths
from moechat.store.journal import Journal
from moechat.store.replies import ReplyFiles


def sweep(store: Journal, replies: ReplyFiles) -> None:
    """Remove copies that were being written, locks of the dead, indexes on their way out, and stages that nobody waits for."""
    with store.writing("sweep"):
        for path in paths.unfinished_copies(store.folder):
            path.unlink(missing_ok=True)
        replies.alive()
    for path in store.index_folder.glob("gone-*"):
        shutil.rmtree(path, ignore_errors=True)
    sweep_stages(store)


@disk.in_words()
def sweep_stages(store: Journal) -> None:
    """Remove staged imports that nobody waits for: a process died before the log knew of it, all of it is filed, or it is taken
    back."""
    folder = store.folder / paths.IMPORTS
    for name in {path.stem for path in folder.glob("*") if path.suffix in (".yaml", ".lock")}:
        batch, stage = store.tree.batches.get(name), paths.stage(store.folder, name)
        if batch and not batch.done and not store.tree.is_forgotten(name) and stage.exists():
            continue
        lock = FileLock(stage.with_suffix(".lock"))
        with contextlib.suppress(Timeout), lock.acquire(timeout=0):
            for path in (stage, *folder.glob(f".{name}.yaml.*"), Path(lock.lock_file)):
                path.unlink(missing_ok=True)
