"""Damage to files that people may edit, told from a hand's edit by evidence.

A hand leaves whole lines. Where the last record of a file ends in the middle of a line, or lacks a part that every record has,
and is otherwise just how we wrote it, the file was cut: by a disk, a copy or an editor that did not come to its end. Zeros at the
end of a file are damage in any case. Then that record, and those that stood after it, are put back from whatever still has them
as they were written. All else is a hand's edit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from moechat.errors import DataError
from moechat.store import records

STILL_S = 5.0  # A file that was written less long ago may be on its way to the disk: an editor is saving it.
Blocks = Mapping[str, bytes]
"""Records as they were written, by key, in the order of their file."""


class Cut(NamedTuple):
    """A file without its damaged end, and the records that stood there."""

    rest: bytes
    lost: Blocks

    @property
    def mended(self) -> bytes:
        return b"".join([records.ended(self.rest), *self.lost.values()])


def cut_of(data: bytes, blocks: Callable[[], Blocks], parts: Collection[bytes] = ()) -> Cut | None:
    """What a file lost at its end, None where nothing shows that it was cut. ``blocks`` are the records that it should hold;
    each has all of ``parts``."""
    text = data.rstrip(b"\0")
    rest, tail = _last(text)
    is_whole = tail.endswith(b"\n") and not tail.endswith(b"|-\n") and all(part in tail for part in parts)
    if text == data and (not data or is_whole):
        return None
    there = set(records.keys(rest))
    lost = {key: block for key, block in blocks().items() if key not in there}
    if any(_is_cut(tail, block) for block in lost.values()):
        return Cut(rest, lost)
    if text == data:
        return None
    there.update(records.keys(tail))
    return Cut(text, {key: block for key, block in lost.items() if key not in there})


def _last(data: bytes) -> tuple[bytes, bytes]:
    """A file in two: what stands before its last record, and that."""
    start = len(data)
    while start:
        start = data.rfind(b"\n", 0, start - 1) + 1
        if records.KEY_LINE.match(data, start):
            break
    return data[:start], data[start:]


def _is_cut(tail: bytes, block: bytes) -> bool:
    return bool(tail) and block.startswith(tail) and tail.rstrip() != block.rstrip()


def mend_end(
    path: Path,
    blocks: Callable[[], Blocks],
    parts: Collection[bytes],
    tell: Callable[[Path, Sequence[str]], object],
    untold: Collection[str] = (),
) -> bool:
    """Put back what a file that was cut has lost, and tell it but for ``untold``, which are new. False where somebody may be
    writing the file at this moment. ``blocks`` and ``parts`` are those of ``cut_of``."""
    try:
        cut = cut_of(records.bytes_of(path), blocks, parts)
    except DataError:  # No file of records: whoever reads it says so.
        return True
    if cut is None:
        return True
    lost = sorted(cut.lost.keys() - set(untold))
    if lost and 0 <= time.time() - path.stat().st_mtime < STILL_S:  # by the clock of the file system
        return False
    records.replace(path, cut.mended)
    if lost:
        tell(path, lost)
    return True


def repaired(data: bytes, path: Path, blocks: Blocks) -> tuple[bytes, list[str]]:
    """A file with these records in place of what cannot be read of them, or at its end, and the keys of those that came back.
    Zeros go; whatever else cannot be read stays as it is."""
    good = {record.start: record.key for record in records.parse(data, path).records}
    lost = {key: block for key, block in blocks.items() if key not in good.values()}
    back: list[str] = []
    segments = records.segments(data)
    pieces = [data[: segments[0][0] if segments else len(data)].replace(b"\0", b"")]
    for start, end in segments:
        piece = data[start:end]
        key = next(iter(records.keys(piece)), "")
        if start in good:
            pieces.append(piece)
        elif key in lost:
            back.append(key)
            pieces.append(lost.pop(key))
        else:
            pieces.append(piece.replace(b"\0", b""))
    return b"".join([records.ended(b"".join(pieces)), *lost.values()]), [*back, *lost]
