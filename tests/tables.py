"""Tables of cases that are text files: a heading ``## one | two`` over the lines that it holds for; ``# `` begins a remark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def lines(table: Path) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """(the parts of the heading, what stands before the last ``=>`` of the line, what stands after it)."""
    heading: tuple[str, ...] = ()
    for line in table.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = tuple(part.strip() for part in line[3:].split("|"))
        elif line and not line.startswith("# "):
            text, _, meaning = line.rpartition(" => ")
            yield heading, text, meaning
