"""Which facts a message brings to mind: the recipes ``profile`` and ``entities``, alone and together.

    python benchmarks/facts.py [--split dev|held|all] [--variants NAME] [--replying] [--details] [--json]
        [FILE]

FILE (default: facts_probe.yaml beside this script) holds facts and messages by language. The facts are written into a
throw-away character as the owner's, told on days spread over four months; each message is asked of the agent's own
``recall``, without any talk before it or (--replying) after small talk of the character. What counts is what enters the
prompt. Odd messages of a language are ``dev``, even ones ``held``: choose on the one, report the other.

*recall* is the share of the facts that should come, *precision* the share of those that came and should (a fact that may
come counts neither way), *false* the share of messages without any fact that got one.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.bench.recall import Bench
from moechat.curation import upkeep
from moechat.model import Fact, FactDraft, Recollection
from moechat.settings.config import merged
from moechat.store import plain

PROBE = Path(__file__).with_name("facts_probe.yaml")
NOW = datetime(2025, 5, 20, 15, tzinfo=UTC)
DAYS, STEP = 120, 7  # facts are told over so many days, so far apart
RECIPES = ("profile", "entities")
Split = Literal["dev", "held", "all"]
Changed = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A message: ``facts`` should come, those in ``also`` may."""

    number: int  # from 1
    kind: str  # direct, indirect, none
    text: str
    facts: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()

    def of(self, split: Split) -> bool:
        return split == "all" or (split == "dev") == bool(self.number % 2)


@dataclass(frozen=True)
class Probe:
    """The facts and messages of one language."""

    language: str
    user_name: str
    character_name: str
    facts: Sequence[Fact]
    messages: Sequence[Said]
    replies: Sequence[str] = ()


@dataclass(frozen=True)
class Came:
    """What entered the prompt for a message: fact ids, and the milliseconds of each recipe that ran."""

    said: Said
    facts: Sequence[str]
    ms: Mapping[str, float]


def read(path: Path = PROBE) -> list[Probe]:
    """The probes of a file, a language each. Raises DataError where it is broken."""
    found = []
    for language, told in (plain.read_yaml(path) or {}).items():
        facts = [_fact(number, entry) for number, entry in enumerate(told["facts"])]
        messages = [
            Said(number, one["kind"], one["text"], frozenset(one.get("facts", ())), frozenset(one.get("also", ())))
            for number, one in enumerate(told["messages"], 1)
        ]
        found.append(
            Probe(language, told["user_name"], told["character_name"], facts, messages, told.get("replies", ()))
        )
    return found


def _fact(number: int, entry: Mapping[str, Any]) -> Fact:
    given = dict(entry)
    return Fact(given.pop("id"), NOW - timedelta(days=number * STEP % DAYS), FactDraft(sources=(), **given), by="owner")


# ---- variants


def only(name: str, *, floor: float | None = None, **association: Any) -> Changed:
    """One recipe runs (``both``: both). ``threshold`` and ``limit`` are those of ``entities``, ``floor`` is ``profile``'s
    (None: the embedding model's own)."""
    recipes = {recipe: {"enabled": name in ("both", recipe)} for recipe in RECIPES}
    own = {key: association.pop(key) for key in ("threshold", "limit") if key in association}
    told = {"entities": own} if floor is None else {"entities": own, "profile": {"threshold": floor}}
    return {"recall": {"recipes": merged(recipes, told)}, "association": association}


def floors() -> dict[str, Changed]:
    """``profile`` with several floors (1: words and question classes alone), by itself and with ``entities`` as configured."""
    return {
        f"{name} floor {floor}": only(name, floor=floor)
        for name in ("profile", "both")
        for floor in (0.18, 0.22, 0.26, 0.3, 0.34, 0.38, 0.42, 1.0)
    }


def defaults() -> dict[str, Changed]:
    """Each recipe and both, as they are configured."""
    return {name: only(name) for name in (*RECIPES, "both")}


def chosen() -> dict[str, Changed]:
    """What was chosen among on ``dev``, and is reported of ``held``."""
    return defaults() | {
        "entities, no association": only("entities", count=0),
        "both, entities from 0.4": only("both", threshold=0.4),
        "both, profile from 0.20": only("both", floor=0.2),
        "both, profile from 0.22": only("both", floor=0.22),
        "profile from 0.22": only("profile", floor=0.22),
    }


VARIANTS = {"chosen": chosen, "defaults": defaults, "floors": floors}


# ---- a measurement


@dataclass
class Room:
    """A throw-away character that knows the facts of a probe; opened anew under each variant."""

    probe: Probe
    bench: Bench
    home: Path

    def ask(self, changed: Changed, split: Split = "all", *, replying: bool = False) -> list[Came]:
        """What each message of the split brings to mind; ``replying``: to the character's small talk, one of the replies in
        turn, which the room remembers: ask it one way or the other. Asked twice: the times are without embedding."""
        probe = self.probe
        who = {"name": probe.character_name, "user_name": probe.user_name, "language": probe.language}
        with self.bench.opened(self.home, who, NOW, changed) as (agent, _):
            if not agent.store.findings.facts():
                agent.store.findings.put(probe.facts)
                upkeep.fill(agent.layers, lambda done, of: None)
            came = []
            for said in probe.messages:
                if said.of(split):
                    if replying:
                        reply = probe.replies[said.number // 2 % len(probe.replies)]
                        agent.store.log.finish(agent.store.log.begin("…", NOW), reply, "done")
                    agent.recall(said.text)
                    came.append(_came(said, agent.recall(said.text)))
            return came


def _came(said: Said, found: Recollection) -> Came:
    ms = {name: found.timing_ms[name] for name in RECIPES if name in found.timing_ms}
    return Came(said, [hit.id for hit in found.hits if hit.layer == "core"], ms)


def figures(came: Sequence[Came]) -> dict[str, float | None]:
    """recall (all, direct, indirect), precision, false, facts a message (all, without any), p50 ms of each recipe."""

    def recall(*kinds: str) -> float | None:
        there = [(one.said.facts, set(one.facts)) for one in came if one.said.kind in kinds]
        return _share(sum(len(wanted & got) for wanted, got in there), sum(len(wanted) for wanted, _ in there))

    none = [one for one in came if not one.said.facts]
    good = sum(len(one.said.facts.intersection(one.facts)) for one in came)
    counted = sum(len(set(one.facts) - one.said.also) for one in came)
    row = {
        "recall": recall("direct", "indirect"),
        "direct": recall("direct"),
        "indirect": recall("indirect"),
        "precision": _share(good, counted),
        "false": _share(sum(bool(one.facts) for one in none), len(none)),
        "facts": _share(sum(len(one.facts) for one in came), len(came)),
        "facts_none": _share(sum(len(one.facts) for one in none), len(none)),
    }
    for name in RECIPES:
        times = [one.ms[name] for one in came if name in one.ms]
        row[f"{name}_ms"] = round(statistics.median(times), 2) if times else None
    return row


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None


def rooms(probes: Sequence[Probe], folder: Path, provider: str | None = None) -> list[Room]:
    """A room for each probe, all with one embedder (``provider``: another than the default)."""
    bench = Bench.of(folder, None, provider)
    return [Room(probe, bench, folder / probe.language) for probe in probes]


def told(came: Came) -> str:
    """A message and its facts: + should have and did, - should have and did not, ! came though it should not."""
    said, got = came.said, set(came.facts)
    marks = [("+", said.facts & got), ("-", said.facts - got), ("!", got - said.facts - said.also)]
    return f"  {said.number:>2} {said.text}  " + " ".join(f"{mark}{id_}" for mark, ids in marks for id_ in sorted(ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=PROBE)
    parser.add_argument("--split", choices=["dev", "held", "all"], default="dev")
    parser.add_argument("--variants", choices=sorted(VARIANTS), default="defaults")
    parser.add_argument("--embedding", metavar="PROVIDER")
    parser.add_argument("--replying", action="store_true", help="each message answers small talk of the character")
    parser.add_argument("--details", action="store_true", help="every message, of dev only")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.details and args.split != "dev":
        parser.error("--details: only dev is to be looked at")
    with tempfile.TemporaryDirectory(prefix="moechat-facts-") as folder:
        made = rooms(read(args.file), Path(folder), args.embedding)
        for name, changed in VARIANTS[args.variants]().items():
            for room in made:
                came = room.ask(changed, args.split, replying=args.replying)
                row = figures(came)
                shown = "  ".join(f"{key} {'–' if value is None else value}" for key, value in row.items())
                known = {"variant": name, "language": room.probe.language, "split": args.split}
                print(
                    json.dumps(known | row) if args.json else f"{name:<34} {room.probe.language}  {shown}", flush=True
                )
                if args.details:
                    print(*map(told, came), sep="\n")


if __name__ == "__main__":
    main()
