"""What was not believed of models' answers: one JSON object a line in ``refused.jsonl`` of an owner, machine-owned."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from moechat.model import RefusedItem
from moechat.store import records
from moechat.store.json_lines import encode

log = logging.getLogger(__name__)


def read(path: Path) -> list[RefusedItem]:
    """Oldest first. A line that cannot be read is passed over."""
    refused: list[RefusedItem] = []
    for line in records.bytes_of(path).splitlines():
        try:
            entry = json.loads(line)
            at, sources = datetime.fromisoformat(entry["at"]), tuple(map(str, entry["sources"]))
            refused.append(RefusedItem(entry["kind"], str(entry["text"]), entry["why"], sources, at))
        except (KeyError, TypeError, ValueError) as error:
            log.warning("a line of %s was passed over (%s: %s)", path.name, type(error).__name__, error)
    return refused


def write(path: Path, refused: Sequence[RefusedItem]) -> None:
    """Replace the file; it goes where nothing is left. Every refusal says ``at``. Needs the owner's lock."""
    if not refused:
        path.unlink(missing_ok=True)
        return
    entries = [
        {
            "at": one.at and one.at.isoformat(),
            "kind": one.kind,
            "text": one.text,
            "why": one.why,
            "sources": one.sources,
        }
        for one in refused
    ]
    records.replace(path, encode(entries))
