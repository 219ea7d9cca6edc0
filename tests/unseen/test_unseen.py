"""Sayings by hands that had seen neither code nor earlier sets. They have been looked at since: what they show is a floor."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import obeys, sayings
from moechat import when
from moechat.model import Fact
from moechat.reading.matter import LIKELY, matter
from moechat.reading.saying import DANGER, saying
from moechat.rules import boundaries, message
from moechat.understanding.drafts import days_of
from tests.houses import ZONE

HERE = Path(__file__).parent
FLOORS: Mapping[str, Mapping[str, float]] = tomllib.loads((HERE / "floors.toml").read_text("utf-8"))
Rows = Sequence[Mapping[str, Any]]
Counted = Iterator[tuple[str, bool, str]]
"""What is counted, whether it is right, and what to show where it is not."""


def findings(rows: Rows) -> Counted:
    for row in rows:
        verdict = obeys.judged(row)
        name = f"{row['lang']} {'right' if row['right'] else 'wrong'}"
        yield f"{name} ones", (verdict == "confirmed") == row["right"], f"{verdict}: {row['exchange']['user']}"
        if row["right"]:
            yield f"{name} ones not refused", verdict != "refused", row["exchange"]["user"]


def long(rows: Rows) -> Counted:
    """Danger said somewhere in a long message, or none."""
    for row in rows:
        name = f"{row['lang']} {row['kind'] if row['heard'] else 'none'}"
        yield name, (saying(row["say"]).kind == DANGER) == row["heard"], f"{row['kind']}: {row['say']}"


def matters(rows: Rows) -> Counted:
    """What moves a life, a good half of it dropped in passing, and everyday messages."""
    for row in rows:
        is_heard = matter(row["say"]).score >= LIKELY
        yield f"{row['lang']} {'grave' if row['grave'] else 'everyday'}", is_heard == row["grave"], row["say"]


def limits(rows: Rows) -> Counted:
    for row in rows:
        kept = boundaries.stated(message.read(row["say"]), "x")
        if not row["keep"]:
            yield "none", not kept, row["say"]
            continue
        yield "kept", any(row["keep"] in one.text for one in kept), row["say"]
        end = message.read(row["end"])
        yield "lifted", bool(kept) and all(boundaries.lifted(end, [Fact("", None, one)]) for one in kept), row["end"]


def moves(rows: Rows) -> Counted:
    for row in rows:
        at = datetime.fromisoformat(row["move"]["at"]).replace(tzinfo=ZONE)
        span, expected = days_of(row["plan"]["date"], at), days_of(row["date"], at)
        moved = when.moved(row["move"]["say"], at, span) if span else None
        is_right = moved is not None and expected is not None and _dates(moved.start, moved.end) == _dates(*expected)
        yield "moved", is_right, f"{row['plan']['say']} → {row['move']['say']}"


def ends(rows: Rows) -> Counted:
    for row in rows:
        without, read = obeys.lived(row).values()
        yield "told where it is asked for", not read.unanswered, row["ask"]
        yield "not told as what is so", not read.false, f"{read.false}"
        yield "told with a model where without", without.answered <= read.answered, row["ask"]


def _dates(start: datetime, end: datetime) -> tuple[object, object]:
    return start.date(), end.date()


MEASURES = {
    "danger": sayings.sayings, "class": sayings.classes, "facts": sayings.facts, "events": sayings.events,
    "eat": sayings.eating, "findings": findings, "boundaries": limits, "moved": moves, "ends": ends,
    "long": long, "asides": sayings.facts, "matters": matters,
}  # fmt: skip
SLOW = frozenset({"ends", "long", "asides"})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MEASURES]
)
def test_no_unseen_set_falls_below_what_it_showed(name: str) -> None:
    rows = list(map(json.loads, (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()))
    counts: dict[str, list[bool]] = defaultdict(list)
    wrong: dict[str, list[str]] = defaultdict(list)
    for counted, is_right, shown in MEASURES[name](rows):
        counts[counted].append(is_right)
        wrong[counted] += [] if is_right else [shown]
    shares = {counted: round(sum(rights) / len(rights), 3) for counted, rights in counts.items()}
    assert shares.keys() == FLOORS[name].keys()
    below = {counted: (share, wrong[counted]) for counted, share in shares.items() if share < FLOORS[name][counted]}
    assert below == {}
