"""What an ordinary talk costs: bytes on the disk an exchange, by what they hold, and milliseconds a turn.

    python benchmarks/record_size.py [--turns 300] [--per-day 20] [--folder DIR] [--json]

The talk is scripted (``year_talk``), the offline model replies, the rules understand, the embedding is the deterministic
stand-in of 256 dimensions. A turn is measured from its beginning to ``Ended``, wall and CPU of the whole process; what is made
behind it is awaited before the next one begins, and measured apart. Bytes are counted when the talk ends, and once more
after the program has been opened again a year later, when the log has been folded. ``disk`` is what the file system
has allocated.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from benchmarks.year_talk import Said, Talk
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.house import House
from moechat.turn import Ended

ZONE = ZoneInfo("Asia/Shanghai")
FIRST = date(2025, 1, 1)
CHARACTER = "小满"
KINDS = ("log", "days", "notes", "facts", "history", "state", "cache", "vectors", "indexes", "other")


def kind_of(path: Path, owner: Path) -> str:
    """What a file of the owner's holds."""
    top, *rest = path.relative_to(owner).parts
    if top == ".index":
        name = rest[0]
        return "cache" if name.startswith("cache.db") else "vectors" if name.startswith("vectors-") else "indexes"
    if top == "memorys":
        return "notes" if path.name.endswith(".notes.yaml") else "days"
    names = {"log": "log", "core_mem": "facts", "history": "history", "state": "state", "reflection": "state"}
    return names.get(top.partition(".")[0], "other")


def sizes(owner: Path) -> dict[str, tuple[int, int]]:
    """(bytes, allocated bytes) by kind. ``character.yaml`` and locks hold no memory."""
    totals = {kind: [0, 0] for kind in KINDS}
    for path in owner.rglob("*"):
        if path.is_file() and path.name != "character.yaml" and not path.name.endswith(".lock"):
            stat = path.stat()
            total = totals[kind_of(path, owner)]
            total[0] += stat.st_size
            total[1] += getattr(stat, "st_blocks", 0) * 512
    return {kind: (size, disk) for kind, (size, disk) in totals.items()}


@dataclass
class Costs:
    """Milliseconds of every turn: wall and CPU, and of the work behind it."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)

    def turn(self, agent: Agent, clock: SetClock, said: Said) -> None:
        clock.at = max(said.at, clock.at + timedelta(seconds=30))
        wall, cpu = time.perf_counter(), time.process_time()
        for event in agent.talk(said.text):
            if isinstance(event, Ended):
                break
        after = time.perf_counter()
        self.cpu.append(1000 * (time.process_time() - cpu))
        self.wall.append(1000 * (after - wall))
        agent.settle_indexes()
        if said.ends:
            clock.advance(minutes=70)
            agent.jobs.tick()
            agent.settle_indexes()
        self.behind.append(1000 * (time.perf_counter() - after))

    def medians(self) -> dict[str, float]:
        """Of the whole, of its first and its last sixth: a turn must not cost more because there were others."""
        sixth = max(1, len(self.wall) // 6)
        rows: dict[str, float] = {}
        for name in ("wall", "cpu", "behind"):
            values = getattr(self, name)
            parts = {"": values, "_first": values[:sixth], "_last": values[-sixth:]}
            rows |= {f"{name}_ms{part}": round(statistics.median(chosen), 2) for part, chosen in parts.items()}
        return rows


def build(folder: Path) -> Path:
    """A data folder with one character and its configuration beside it; returns the owner's folder."""
    owner = folder / "data" / "agents" / CHARACTER
    owner.mkdir(parents=True)
    character = {"name": CHARACTER, "user_name": "阿明", "language": "zh", "persona": "你是小满，爱听人说话。"}
    (owner / "character.yaml").write_text(yaml.safe_dump(character, allow_unicode=True), encoding="utf-8")
    settings = {
        "Agent": {"char": CHARACTER}, "time": {"zone": str(ZONE)}, "embedding": {"provider": "hash"},
        "recall": {"deadline_ms": 60_000},
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    return owner


def measure(folder: Path, turns: int, per_day: int) -> tuple[Costs, dict[str, dict[str, tuple[int, int]]]]:
    """(what the turns cost, sizes when the talk has ended and a year later)."""
    owner = build(folder)
    clock = SetClock(datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=ZONE))
    talk, costs = Talk(1, per_day, ZONE), Costs()
    lines = [said for number in range(-(-turns // per_day)) for said in talk.day(FIRST + timedelta(days=number))]
    with House(folder / "data", folder / "config.yaml", clock=clock, embedder=HashEmbedder(256)) as house:
        agent = house.agent()
        for said in lines[:turns]:
            costs.turn(agent, clock, said)
    ended = sizes(owner)
    clock.advance(days=365)
    with House(folder / "data", folder / "config.yaml", clock=clock, embedder=HashEmbedder(256)) as house:
        house.agent().settle_indexes()
    return costs, {"talked": ended, "folded": sizes(owner)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--per-day", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where the memory is kept; else it is thrown away")
    parser.add_argument("--json", action="store_true", help="one object")
    options = parser.parse_args()
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as scratch:
        costs, bytes_by_state = measure(options.folder or Path(scratch), options.turns, options.per_day)
    each = {
        state: {kind: [round(size / options.turns) for size in pair] for kind, pair in by_kind.items()}
        for state, by_kind in bytes_by_state.items()
    }
    ms = costs.medians()
    if options.json:
        print(json.dumps({"turns": options.turns, "bytes": each, "load": load, **ms}, ensure_ascii=False))
        return
    print(f"{options.turns} turns, load before {load[0]:.2f}; bytes an exchange:")
    print(f"{'':10}{'talked':>10}{'on disk':>10}{'folded':>10}{'on disk':>10}")
    rows = {kind: each["talked"][kind] + each["folded"][kind] for kind in KINDS}
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    for kind, row in rows.items():
        print(f"{kind:10}" + "".join(f"{value:10}" for value in row))
    print(f"{'ms a turn':10}{'median':>10}{'first 1/6':>10}{'last 1/6':>10}")
    for name in ("wall", "cpu", "behind"):
        print(f"{name:10}" + "".join(f"{ms[f'{name}_ms{part}']:10.2f}" for part in ("", "_first", "_last")))


if __name__ == "__main__":
    main()
