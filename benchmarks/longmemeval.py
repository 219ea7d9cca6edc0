"""The retrieval part of LongMemEval: which sessions of a long history come first for a question about them.

    python -m benchmarks.longmemeval FOLDER [--limit N] [--embedding PROVIDER] [--json]

FOLDER holds ``longmemeval_s.json`` (or ``longmemeval_s_cleaned.json``, ``longmemeval_oracle.json``) of
https://github.com/xiaowu0162/LongMemEval (MIT), whose page leads to the data; nothing of it is here. Each instance is a history
of its own, written as the talk it was, without a language model. Questions whose id ends with ``_abs`` have no evidence and are
skipped, as there. A session is as good as its best message. Beside ours the plain ways of ``ablate``.

``recall_any@k``: one of the sessions with evidence is among the first k; ``recall_all@k``: all are; ``ndcg@k`` with the discount
that their script uses (1, 1, 1/log2 3, …). No judge and no model is asked.
"""

# ruff: noqa: T201  (a script that prints)
from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.ablate import plain_ways
from moechat.bench.dataset import Haystack, Question, Utterance
from moechat.bench.recall import Bench
from moechat.errors import DataError

NAMES = ("longmemeval_s.json", "longmemeval_s_cleaned.json", "longmemeval_oracle.json")
DEPTHS = (5, 10)


def instances(folder: Path) -> Iterator[Haystack]:
    """Each instance that has evidence, with its one question. Raises DataError."""
    path = next((folder / name for name in NAMES if (folder / name).exists()), None)
    if path is None:
        raise DataError(folder, f"holds none of {', '.join(NAMES)}; see the top of benchmarks/longmemeval.py")
    for row in json.loads(path.read_text(encoding="utf-8")):
        if not row["question_id"].endswith("_abs"):
            try:
                yield _haystack(row)
            except (KeyError, TypeError, ValueError) as error:
                raise DataError(path, f"{row['question_id']} is not of the form: {error!r}") from error


def _haystack(row: Mapping[str, Any]) -> Haystack:
    haystack = Haystack(row["question_id"], "longmemeval en")
    sessions = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
    ids: dict[str, set[str]] = {}
    for name, date, messages in sorted(sessions, key=lambda session: moment(session[1])):
        for number, message in enumerate(messages):
            id_ = f"{name}#{number}"
            ids.setdefault(name, set()).add(id_)
            haystack.utterances.append(Utterance(id_, moment(date), message["role"], message["content"]))
    evidence = tuple(frozenset(ids[name]) for name in row["answer_session_ids"])
    asked_at, kind = moment(row["question_date"]), row["question_type"]
    haystack.questions.append(Question(haystack.name, row["question"], asked_at, kind, False, True, evidence))
    return haystack


def moment(text: str) -> datetime:
    """2023/05/30 (Tue) 23:40."""
    day, _, clock = text.split()
    return datetime.strptime(f"{day} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def scores(ids: Sequence[str], evidence: Collection[str]) -> dict[str, float]:
    """The figures of one question: ``ids`` are messages, best first, ``evidence`` sessions."""
    sessions = list(dict.fromkeys(id_.rpartition("#")[0] for id_ in ids))
    figures: dict[str, float] = {}
    for depth in DEPTHS:
        first = sessions[:depth]
        ideal = gain([True] * min(len(evidence), depth))
        figures[f"recall_any@{depth}"] = float(any(one in first for one in evidence))
        figures[f"recall_all@{depth}"] = float(all(one in first for one in evidence))
        figures[f"ndcg@{depth}"] = gain([one in evidence for one in first]) / ideal
    return figures


def gain(relevant: Sequence[bool]) -> float:
    return sum(is_so / math.log2(max(2, place)) for place, is_so in enumerate(relevant, 1))


def measure(folder: Path, limit: int | None, provider: str | None) -> dict[str, dict[str, list[dict[str, float]]]]:
    """Way → type of question → figures of each."""
    rows: dict[str, dict[str, list[dict[str, float]]]] = {}
    for haystack in islice(instances(folder), limit):
        (question,) = haystack.questions
        evidence = {next(iter(unit)).rpartition("#")[0] for unit in question.evidence}
        with tempfile.TemporaryDirectory(prefix="moechat-bench-") as scratch:
            bench = Bench.of(Path(scratch), None, provider)
            (outcome,) = bench.run(haystack)
            ways = {"ours": outcome.ranked}
            ways |= {name: find(question.text) for name, find in plain_ways(haystack, bench.embedder)}
        for name, ids in ways.items():
            rows.setdefault(name, {}).setdefault(question.category, []).append(scores(ids, evidence))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, help="so many instances, the first ones")
    parser.add_argument("--embedding", metavar="PROVIDER", help="another than the built-in one")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    for way, kinds in measure(options.folder, options.limit, options.embedding).items():
        for kind, rows in {**kinds, "all": [row for each in kinds.values() for row in each]}.items():
            means = {name: round(statistics.mean(row[name] for row in rows), 4) for name in rows[0]}
            row = {"way": way, "type": kind, "questions": len(rows), **means}
            print(json.dumps(row) if options.json else "  ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
