"""Whether memory obeys what was said: what the gate lets pass, and what stands once something has ended.

    python benchmarks/obeys.py gate FILE      findings, right and wrong: confirmed, doubtful, refused (JSONL)
    python benchmarks/obeys.py ends FILE      what was said and what ended it: what the prompt says a week later (JSONL)
    python -m tests.understanding.talks.replay      whole talks, with a model, without, and with a malicious one

A line of ``gate``: lang, before (user, char), exchange (user, char, at), kind, finding, right, why. A line of ``ends``: lang,
said (at, say), end (at, say), present, ask, answer (words, alternatives with | between).
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.model import Exchange
from moechat.understanding import answer
from moechat.understanding.drafts import CheckedAnswer
from tests.understanding.talks import replay

Row = Mapping[str, Any]
TRUSTED = (20, 20)  # the record of a model whose quotes are true


def rows(path: Path) -> Iterator[Row]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def gate(path: Path, *, shows: bool) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows(path):
        verdict = judged(row)
        counts[row["lang"], "right" if row["right"] else "wrong", verdict] += 1
        if shows and (row["right"] == (verdict != "confirmed")):
            print(
                f"{verdict:<10} {row['why']:<14} {row['exchange']['user']} → {json.dumps(row['finding'], ensure_ascii=False)}"
            )
    for language in ("zh", "en"):
        for truth in ("right", "wrong"):
            of = {verdict: n for (one, other, verdict), n in counts.items() if (one, other) == (language, truth)}
            total = sum(of.values())
            print(language, truth, total, *(f"{verdict} {n / total:.2f}" for verdict, n in sorted(of.items())))


def judged(row: Row) -> str:
    """What becomes of one finding, given by a trusted model of the last exchange of a few."""
    at = datetime.fromisoformat(row["exchange"]["at"]).replace(tzinfo=replay.ZONE)
    said = [*row["before"], row["exchange"]]
    exchanges = [
        Exchange(str(number), at - timedelta(minutes=2 * (len(said) - number)), one["user"], one["char"])
        for number, one in enumerate(said, 1)
    ]
    before = [one.user for one in exchanges]
    item = dict(row["finding"]) | {"sources": [len(said)]}
    extracted = answer.read(json.dumps({f"{row['kind']}s": [item]}))
    checked = CheckedAnswer(
        exchanges, ("Lu", "Wren"), (), "", TRUSTED,
        lambda one: (before[: exchanges.index(one)], next(iter(before[exchanges.index(one) + 1 :]), "")),
    ).understanding(extracted, [])  # fmt: skip
    drafts = [*checked.facts, *checked.events]
    return "refused" if not drafts else "doubtful" if drafts[0] in checked.doubtful else "confirmed"


def ends(path: Path, *, shows: bool) -> None:
    stands: Counter[tuple[str, str]] = Counter()
    for row in rows(path):
        for kind, outcome in lived(row).items():
            stands[kind, "said"] += len(outcome.answered)
            stands[kind, "present"] += bool(outcome.false)
            stands[kind, "of"] += 1
            if shows and (outcome.false or outcome.unanswered or outcome.unfitting):
                print(kind, row["ask"], outcome.unanswered, set(outcome.false), outcome.unfitting, sep="\n    ")
    for kind in ("none", "first-class"):
        print(kind, *(f"{name} {n}" for (one, name), n in stands.items() if one == kind))


def lived(row: Row) -> dict[str, replay.Outcome]:
    """What a prompt says a week after something has ended, without a model and with one that understands."""
    talk, outcomes = _talk(row), dict[str, replay.Outcome]()
    for kind in ("none", "first-class"):
        with tempfile.TemporaryDirectory() as folder:
            outcomes[kind] = replay.live(talk, kind, Path(folder))
    return outcomes


def _talk(row: Row) -> replay.Talk:
    """What was said and its end as a talk; a first-class model takes ``present`` for facts, and the end for their end."""
    user = "用户" if row["lang"] == "zh" else "The user"
    facts = [
        {"text": f"{user}{'' if row['lang'] == 'zh' else ' '}{text.removeprefix('用户')}", "quote": row["said"][-1]["say"]}
        for text in row["present"]
    ]  # fmt: skip
    verbs = [{"verb": "ended", "what": fact["text"], "quote": row["end"]["say"]} for fact in facts]
    turns = [{"id": f"t{n}", "reply": "……", **one} for n, one in enumerate([*row["said"], row["end"]], 1)]
    turns[-2]["understood"], turns[-1]["understood"] = {"facts": facts}, {"verbs": verbs}
    needs = [words.split("|") for words in row["answer"]]
    never = [{"text": fact["text"], "from": turns[-1]["id"]} for fact in facts]
    ask = {"ask": row["ask"], "after": "week", "needs": needs, "never": [fact["text"] for fact in facts]}
    return replay.Talk("ends", row["lang"], "Lu", "Wren", turns, [ask], never)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("gate", "ends"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true", help="show what went wrong")
    args = parser.parse_args(arguments)
    {"gate": gate, "ends": ends}[args.what](args.file, shows=args.show)


if __name__ == "__main__":
    main()
