"""How sayings are heard without a model: danger heard and false alarms by kind, and receipts of the offline reply.

    python -m benchmarks.sayings FILE.jsonl ...      (--show prints what went wrong)

A line of a file is an object with ``text``, ``who`` (self, other, none), ``kind`` (outright, hint, third, feeling, plain …) and
``danger`` (whether the user's own life is in danger). A false alarm is the user's own danger heard where there is none.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline import lines
from moechat.ai.offline.model import OfflineModel
from moechat.reading.saying import DANGER, saying
from moechat.settings.character import Character
from moechat.when.names import has_han

CHARACTERS = {"zh": Character(Path("青禾"), "青禾", "用户", "zh"), "en": Character(Path("Wren"), "Wren", "User", "en")}
PLAIN = ("plain", "fact", "plan")  # A receipt is right for these alone.


def is_receipt(reply: str, language: str) -> bool:
    """Whether a reply says that it will remember, or says back what was told."""
    heads = (line.partition("{")[0] for line in lines.says([], language)["noted"])
    return any(head in reply for head in heads)


def heard(row: Mapping[str, Any]) -> tuple[bool, bool, str]:
    """(the user's own danger was heard, a receipt was given, the reply) of one saying."""
    language = "zh" if has_han(row["text"]) else "en"
    reply = "".join(OfflineModel().stream(ChatRequest([], CHARACTERS[language], row["text"])))
    return saying(row["text"]).kind == DANGER, is_receipt(reply, language), reply


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for file in options.files:
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        wrong: list[str] = []
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            is_heard, receipt, reply = heard(row)
            count = counts[row["kind"]]
            for place, value in enumerate((True, is_heard, receipt)):
                count[place] += value
            if is_heard != row["danger"] or (receipt and row["kind"] not in PLAIN):
                wrong.append(f"  {row['kind']:9} {saying(row['text']).kind:13} {row['text']} → {reply}")
        print(f"{file.name}: kind, sayings, danger heard, receipts")
        for kind, (total, alarms, receipts) in sorted(counts.items()):
            print(f"  {kind:9}{total:5}{alarms / total:8.3f}{receipts:5}")
        calm = [count for kind, count in counts.items() if kind not in ("outright", "hint")]
        total, alarms = sum(count[0] for count in calm), sum(count[1] for count in calm)
        print(
            f"  false alarms {alarms} of {total} ({alarms / max(1, total):.3f}), receipts where none belongs "
            f"{sum(count[2] for kind, count in counts.items() if kind not in PLAIN)}"
        )
        print(*(wrong if options.show else ()), sep="\n", end="\n" if options.show else "")


if __name__ == "__main__":
    main()
