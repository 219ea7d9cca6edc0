"""What was not believed of models' answers: one JSON object a line in ``refused.jsonl`` of an owner, machine-owned."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from moechat.model import RefusedItem
from moechat.store import plain, records
from moechat.store.entries import REFUSED
from moechat.store.json_lines import Entry, encode

log = logging.getLogger(__name__)


def read(path: Path) -> list[RefusedItem]:
    """Oldest first. A line that cannot be read is passed over."""
    refused: list[RefusedItem] = []
    for number, line in enumerate(records.bytes_of(path).splitlines(), 1):
        try:
            entry = plain.json_value(line)
            if fault := "it is no object" if type(entry) is not dict else REFUSED.fault(entry):
                raise ValueError(fault)
        except ValueError as error:
            log.warning("%s, line %d: passed over: %s", path.name, number, error)
            continue
        refused.append(from_entry(entry))
    return refused


def write(path: Path, refused: Sequence[RefusedItem]) -> None:
    """Replace the file; it goes where nothing is left. Every refusal says ``at``. Needs the owner's lock."""
    if not refused:
        path.unlink(missing_ok=True)
        return
    records.replace(path, encode(map(entry_of, refused)))


def entry_of(one: RefusedItem) -> Entry:
    return {
        "at": one.at and one.at.isoformat(),
        "kind": one.kind,
        "text": one.text,
        "why": one.why,
        "sources": one.sources,
    }


def from_entry(entry: Entry) -> RefusedItem:
    at, sources = datetime.fromisoformat(entry["at"]), tuple(entry["sources"])
    return RefusedItem(entry["kind"], entry["text"], entry["why"], sources, at)
