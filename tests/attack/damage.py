"""Damage to every file of an owner's folder; then it is opened, repaired and held against what other files still have.

    python -m tests.attack.damage [--file NAME ...] [--each N --seed S] [--list] [--json]

Each case is a file and a kind of damage, at a place that the seed chooses: cut, flipped, zeroed in part or as a whole,
emptied, a folder in its place, deleted. ``--each`` N draws N cases. The folder must open, or say in words why not; nothing may
be lost that another file has; an index that is damaged is made anew and nothing else changes. Then ``verify --repair``, and a
turn. Exits with 3 where a problem was found.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from moechat.errors import MoeChatError
from moechat.store.records import segments
from tests.attack.checks import State, difference, settled
from tests.attack.kill import FAULTS, MEMORY, Lines, forked, prepared
from tests.attack.owner import Place
from tests.attack.verbs import Report
from tests.houses import say

LOST, NO_WORDS, SILENT, STAYS = "lost", "not told in words", "not told", "not mended"
OF_TALK = ("talk", "days", "variants")
TRUTH = ("log.jsonl", "memorys/", "core_mem.yml", "state.jsonl", "format", "character.yaml")
AGED_S = 3600


# ---- the kinds of damage


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))] if data else data


def cut_near_the_end(data: bytes, chance: random.Random) -> bytes:
    return data[: max(0, len(data) - chance.randint(1, 40))]


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for place in (chance.randrange(len(data)) for _ in range(3 if data else 0)):
        changed[place] ^= 1 << chance.randrange(8)
    return bytes(changed)


def zeros_inside(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data)) if data else 0
    return data[:start] + bytes(len(data[start : start + 200])) + data[start + 200 :]


def zeros_at_the_end(data: bytes, chance: random.Random) -> bytes:
    kept = chance.randrange(len(data)) if data else 0
    return data[:kept] + bytes(len(data) - kept)


def zeros(data: bytes, chance: random.Random) -> bytes:
    return bytes(len(data))


def emptied(data: bytes, chance: random.Random) -> bytes:
    return b""


CHANGES: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    change.__name__: change
    for change in (cut, cut_near_the_end, flipped, zeros_inside, zeros_at_the_end, zeros, emptied)
}
KINDS = (*CHANGES, "deleted", "a folder")


def strike(path: Path, kind: str, chance: random.Random) -> bool:
    """Damage one file, as it is found after a while. Whether it holds whole records then, fewer than before."""
    if kind in CHANGES:
        before = path.read_bytes()
        after = CHANGES[kind](before, chance)
        path.write_bytes(after)
        os.utime(path, (time.time() - AGED_S, time.time() - AGED_S))
        starts = {start for start, _ in segments(before)}
        return before.startswith(after) and not starts.isdisjoint({len(after), len(after) + 1})
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    return False


# ---- what must hold


@dataclass
class Case:
    """One file, one kind of damage, and what it came to. ``is_shorter``: by whole records, as a hand takes them out."""

    file: str
    kind: str
    seed: int
    is_shorter: bool = False
    refused: str = ""
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_index(self) -> bool:
        return self.file.startswith(".index")


def look(place: Place, before: State, case: Case, report: Report) -> None:
    """Open, look, repair, look again, and talk."""
    house = place.open("d")
    agent = house.agent()
    agent.settle_indexes()
    problems = agent.problems()
    state = settled(agent, place.owner)
    report(state=state, problems=problems)
    agent.store.repair()
    state = settled(agent, place.owner)
    verified = agent.verify()["problems"]
    report(repaired=state, verified=verified)
    if case.is_index and verified:
        report(stays=house.rebuild(None, None, vectors=False, progress=lambda *_: None)["problems"])
        agent = house.agent()
    say(agent, "第20句，外面放晴了")
    report(said=True)


def judged(case: Case, before: State, lines: Lines) -> None:
    """What is wrong after the damage, by what was reported."""
    seen: dict[str, Any] = {}
    for line in lines:
        seen |= line
    if "raised" in seen:
        case.problems.append((NO_WORDS, seen["raised"]))
    case.refused = seen.get("refused", "")
    if "repaired" not in seen:
        return
    state, verified = seen["repaired"], seen["verified"]
    kept = before if case.is_index else {key: before[key] for key in _untouched(case)}
    if (now := {key: state[key] for key in kept}) != kept:
        case.problems.append((LOST, difference(kept, now)))
    if seen.get("stays"):
        case.problems.append((STAYS, str(seen["stays"])))
    if not (seen["problems"] or verified or _is_gone(case) or _may_be_a_hand(case)) and state != before:
        case.problems.append((SILENT, difference(before, state)))


def _may_be_a_hand(case: Case) -> bool:
    """Whether nothing tells the damage from a hand's edit: a letter changed or a record taken out in a file that people edit,
    or, in notes, of which there is no second copy, a record that is shorter and still reads.
    """
    is_edited = case.file.startswith("memorys/") or case.file == "core_mem.yml"
    is_edit = case.kind == "flipped" or case.is_shorter
    return (is_edited and is_edit) or case.file.endswith(".notes.yaml")


def _untouched(case: Case) -> Sequence[str]:
    """The parts of the state that other files hold as well: the log has the words of these days, the day files all of them."""
    file = case.file
    if case.kind == "flipped" and file.startswith("memorys/") and not file.endswith(".notes.yaml"):
        return ()
    if file.startswith("memorys/") and not file.endswith(".notes.yaml"):
        return ("days",)
    if file == "log.jsonl":
        return ("days",)
    if file == "state.jsonl":
        return ("talk", "days")
    return OF_TALK


def _is_gone(case: Case) -> bool:
    """Who deletes or empties what was understood, history.yaml or the state need not be told."""
    return case.kind in ("deleted", "emptied", "zeros")


def files(owner: Path) -> list[str]:
    return sorted(
        path.relative_to(owner).as_posix() for path in owner.rglob("*")
        if path.is_file() and path.stat().st_size and path.suffix != ".lock" and path.name != ".lock"
    )  # fmt: skip


def attack(cases: Sequence[Case], base: Place, scratch: Path, outcome: Callable[[Case], object]) -> None:
    before = _reported(base, scratch, None)[-1]["state"]
    for case in cases:
        judged(case, before, _reported(base, scratch, case))
        outcome(case)


def _reported(base: Place, scratch: Path, case: Case | None) -> Lines:
    folder = scratch / "struck"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base.folder, folder)
    place = Place(folder, base.now)
    if case:
        chance = random.Random(f"{case.seed} {case.file} {case.kind}")
        case.is_shorter = strike(place.owner / case.file, case.kind, chance)

    def task(report: Report) -> None:
        if case is None:
            agent = place.open("d").agent()
            report(state=settled(agent, place.owner))
            return
        try:
            look(place, {}, case, report)
        except MoeChatError as error:
            report(refused=str(error))
        except Exception:  # noqa: BLE001 - this is what is looked for
            report(raised=traceback.format_exc())

    return forked(task)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--file", action="append", help="this one alone (may be given again)")
    parser.add_argument("--each", type=int, default=0, help="so many cases, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="what is drawn, and where the damage is, depends on it")
    parser.add_argument("--list", action="store_true", help="print the files and damage none")
    parser.add_argument("--json", action="store_true", help="one object for each case")
    options = parser.parse_args()
    count, faults = 0, 0

    def outcome(case: Case) -> None:
        nonlocal count, faults
        count, faults = count + 1, faults + bool(case.problems)
        if options.json:
            print(json.dumps(asdict(case), ensure_ascii=False), flush=True)
        elif case.problems:
            print(f"{case.file} {case.kind}", flush=True)
            for kind, text in case.problems:
                print(f"    {kind}: {text}", flush=True)

    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        base = prepared(Path(scratch) / "base")
        there = [name for name in files(base.owner) if not options.file or name in options.file]
        if options.list:
            print("\n".join(there))
            return 0
        cases = [Case(name, kind, options.seed) for name in there for kind in KINDS]
        if options.each:
            cases = random.Random(options.seed).sample(cases, min(options.each, len(cases)))
        attack(cases, base, Path(scratch), outcome)
    if not options.json:
        print(f"{count} cases, {faults} with a problem")
    return FAULTS if faults else 0


if __name__ == "__main__":
    sys.exit(main())
