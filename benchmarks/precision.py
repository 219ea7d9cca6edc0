"""PrecisionMemBench: is what comes to mind all that belongs there, and nothing else?

    python -m benchmarks.precision FOLDER [--embedding PROVIDER] [--misses] [--json]

FOLDER holds ``beliefs.seed.json`` and ``retrieval.cases.json``, the ``fixtures`` of https://github.com/tenurehq/precisionMemBench
(its package.json says MIT; it has no file of a licence); nothing of it is here. Every belief is told, its names before its
words, as a message by the user whom it is of, in the order in which it was written, and each case's query is asked of recall
without a language model. What enters the prompt counts, but for beliefs that are pinned, which stand in every prompt there.
Precision and recall are theirs: of what came, which share belongs there, and of what belongs there, which share came; a case in
which nothing belongs there is right if nothing comes.

It is our script and not their harness: scopes are no notion of ours and are not used, nor are the tiers of pinned facts, open
questions and the prelude, and cases with a ``budget`` and those of whole sessions are left out.
"""

# ruff: noqa: T201  (a script that prints)
from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moechat.bench.dataset import Haystack, Question, Utterance
from moechat.bench.recall import Bench
from moechat.errors import DataError

USER = "test-user"
Rows = list[dict[str, Any]]


def read(folder: Path) -> tuple[Rows, Rows]:
    """Beliefs and cases. Raises DataError."""
    found = []
    for name in ("beliefs.seed.json", "retrieval.cases.json"):
        path = folder / name
        if not path.exists():
            raise DataError(path, "is not there; see the top of benchmarks/precision.py")
        found.append(json.loads(path.read_text(encoding="utf-8")))
    return found[0], found[1]


def haystack_of(user: str, beliefs: Rows, cases: Rows) -> Haystack:
    """What a user told, and the queries as questions."""
    told = sorted((one for one in beliefs if one["user_id"] == user), key=lambda one: (one["created_at"], one["_id"]))
    haystack = Haystack(user, "precisionmembench en")
    for one in told:
        at = datetime.fromisoformat(one["created_at"]).astimezone(UTC)
        names = ", ".join([one["canonical_name"], *one["aliases"]])
        haystack.utterances.append(Utterance(one["_id"], at, user, f"{names}: {one['content']}"))
    after = max((one.at for one in haystack.utterances), default=datetime(2025, 1, 1, tzinfo=UTC)) + timedelta(days=1)
    for case in cases:
        haystack.questions.append(Question(case["caseId"], case["query"], after, case["category"], False, True, ()))
    return haystack


def judged(case: Mapping[str, Any], ids: set[str], pinned: set[str]) -> dict[str, Any]:
    """Precision and recall of a case, None where they do not apply, and whether it is right as a whole."""
    expect = case["expect"].get("relevantBeliefs", {})
    only = expect.get("shouldOnlyInclude")
    wanted = set(only if only is not None else expect.get("mustInclude", ())) - (set() if only is not None else pinned)
    came = ids - pinned
    hits = len(wanted & came)
    precision = None if not came and not wanted else hits / len(came) if came else 0.0
    is_right = wanted <= came and not came & set(expect.get("mustExclude", ())) and (only is None or came == wanted)
    return {
        "case": case["caseId"], "category": case["category"], "precision": precision,
        "recall": hits / len(wanted) if wanted else None, "is_right": is_right, "asks": bool(wanted), "came": sorted(came),
    }  # fmt: skip


def measure(folder: Path, provider: str | None) -> Rows:
    """A row a case."""
    beliefs, cases = read(folder)
    cases = [case for case in cases if "budget" not in case and case["query"].strip()]
    pinned = {one["_id"] for one in beliefs if one.get("pinned")}
    rows: Rows = []
    for user in dict.fromkeys(case.get("userId") or USER for case in cases):
        theirs = [case for case in cases if (case.get("userId") or USER) == user]
        with tempfile.TemporaryDirectory(prefix="moechat-bench-") as scratch:
            outcomes = list(Bench.of(Path(scratch), None, provider).run(haystack_of(user, beliefs, theirs)))
        for case, outcome in zip(theirs, outcomes, strict=True):
            rows.append(judged(case, set(outcome.injected), pinned))
    return rows


def summary(rows: Rows) -> dict[str, Any]:
    def mean(name: str) -> float | None:
        values = [row[name] for row in rows if row[name] is not None]
        return round(statistics.mean(values), 4) if values else None

    asks, empty = [row for row in rows if row["asks"]], [row for row in rows if not row["asks"]]
    return {
        "cases": len(rows), "precision": mean("precision"), "recall": mean("recall"),
        "right": f"{sum(row['is_right'] for row in asks)} of {len(asks)} in which something belongs there",
        "empty": f"{sum(row['is_right'] for row in empty)} of {len(empty)} in which nothing is asked for",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedding", metavar="PROVIDER", help="another than the built-in one")
    parser.add_argument("--misses", action="store_true", help="show the cases that are not right")
    parser.add_argument("--json", action="store_true", help="one object a case")
    options = parser.parse_args()
    rows = measure(options.folder, options.embedding)
    for row in rows if options.json else [row for row in rows if options.misses and not row["is_right"]]:
        print(json.dumps(row))
    print("  ".join(f"{name} {value}" for name, value in summary(rows).items()))


if __name__ == "__main__":
    main()
