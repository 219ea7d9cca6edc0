"""Places of index files: what stands there and is none of ours makes way, since an index is made anew."""

from __future__ import annotations

import shutil
from pathlib import Path


def clear(path: Path) -> None:
    """Remove a file, or a folder that stands in its place; nothing happens where neither is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path) -> None:
    """Remove a folder that stands where a file belongs."""
    if path.is_dir():
        clear(path)
