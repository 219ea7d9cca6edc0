"""Every file operation of every verb killed once before and once after; what is found then is held against what was shown.

    python -m tests.attack.kill [--verb NAME ...] [--each N --seed S] [--every N] [--list] [--json]

Prints the operations of each verb, as a run without a kill does them, and beside them what a kill there does wrong. This
process loads everything once and has no threads; for each attack it forks a child that runs the verb on a copy of a prepared
owner and ends at the operation, and another that opens what is left (``checks``). ``--each`` N draws N operations of each verb
by the seed. ``--every`` N takes each N-th operation of a verb, before one and after the next, and leaves out the verbs that take
long to arrange. Exits with 3 where a problem was found.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from moechat.errors import MoeChatError
from moechat.house import House
from tests.attack import owner
from tests.attack.checks import CUE, Finding, Goal, difference, look, settled
from tests.attack.faults import FAULT_KINDS, Fault, FaultKind
from tests.attack.operations import KILLED, Kill, LastWords, Never, Operation, Target, Watch, When
from tests.attack.owner import Place
from tests.attack.verbs import BASE, SPOKEN, VERBS, Report, Scene, Verb, nothing
from tests.houses import say

Lines = list[dict[str, Any]]
Strike = When | FaultKind
KILLS: tuple[When, ...] = ("before", "after")
FAILED, NO_WORDS, APART = "failed by itself", "not told in words", "sees something else"
FAULTS = 3  # The exit status where a kill does something wrong; 1 is that of a failure here.
AGAIN_M = 10  # So many minutes later, what failed to be understood is tried again.
TRIES = 3  # A verb whose own threads get into each other's way now and then has its operations listed all the same.
ROLES = ("main", "worker", "pool", "other")  # A spread sample leaves out the last two, which do little but compute.
MEMORY = Path("/dev/shm")  # Files that are copied for each kill need no disk.


@dataclass
class Outcome:
    """What one strike came to. ``reached`` is the operation that it really fell on; None: it was not reached. ``refused`` is what
    the verb said to its user."""

    verb: str
    operation: Operation
    when: Strike
    reached: Operation | None = None
    refused: str = ""
    problems: list[tuple[str, str]] = field(default_factory=list)


def forked(task: Callable[[Report], None]) -> tuple[int, Lines]:
    """(exit status, what it reported) of a child that runs the task. Where that raises, its last report is ``failed``."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()

        def report(**line: Any) -> None:
            theirs.sendall(json.dumps(line, ensure_ascii=False).encode() + b"\n")

        try:
            task(report)
        except BaseException:  # noqa: BLE001 - the border of the process
            report(failed=traceback.format_exc())
            os._exit(1)
        os._exit(0)
    theirs.close()
    with ours, ours.makefile("rb") as stream:
        data = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, [json.loads(line) for line in data.splitlines()]


def done(task: Callable[[Report], None]) -> dict[str, Any]:
    """The last report of a child that runs the task. Raises RuntimeError where that raises."""
    status, lines = forked(task)
    if status:
        raise RuntimeError(f"the child ended with {status}: {lines[-1:]}")
    return lines[-1]


class Attack:
    """Of one verb. ``base`` is the prepared owner; what is written lies under ``scratch``."""

    def __init__(
        self, verb: Verb, base: Place, scratch: Path, before: dict[Any, Finding], roles: Collection[str] = ROLES
    ) -> None:
        """``before`` keeps what is seen of an owner that several verbs begin with; operations are those of ``roles``."""
        self.verb, self._scratch, self._roles = verb, scratch, roles
        self._frozen = self._arranged(base) if verb.begins_with != BASE else base
        self.operations, struck = self._dry()
        after = self._looked(struck, None, [])  # before the copy is made anew
        self.goal = Goal(self._before(before).state, after.state, frozenset(after.verified))

    def _before(self, before: dict[Any, Finding]) -> Finding:
        """What is seen where the verb has not begun; what a hand did before it stands."""
        if self.verb.by_hand is not nothing:
            first = self.operations[0]
            place, _, lines = self._struck(partial(Kill, first.role, first.number, "before"))
            return self._looked(place, None, lines)
        if self.verb.begins_with not in before:
            before[self.verb.begins_with] = self._looked(self._copy(self._frozen), None, [])
        return before[self.verb.begins_with]

    def _copy(self, place: Place) -> Place:
        folder = self._scratch / "struck"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(place.folder, folder)
        return Place(folder, place.now)

    def _arranged(self, base: Place) -> Place:
        """A copy in which what the verb needs was done; its process ended without closing."""
        folder = self._scratch / "arranged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base.folder, folder)
        place = Place(folder, base.now)

        def task(report: Report) -> None:
            cut = self.verb.cut
            watch = Watch(place.owner, cut.at if cut else Never(()))
            watch.begin()
            house = place.open("a")
            house.agent().settle_indexes()
            scene = Scene(place, house, report)
            self.verb.arrange(scene)
            house.agent().settle_indexes()
            house.clock.advance(minutes=1)  # type: ignore[attr-defined]
            report(now=house.clock.now().isoformat())
            if cut:
                watch.start()
                cut.act(scene)

        status, lines = forked(task)
        if status != (KILLED if self.verb.cut else 0):
            raise RuntimeError(f"{self.verb.name} was not arranged: {status}, {lines[-1:]}")
        return Place(folder, lines[-1]["now"])

    def _struck(self, aim: Callable[[LastWords], Target]) -> tuple[Place, int, Lines]:
        """(the folder, exit status, reports) of one run of the verb."""
        place = self._copy(self._frozen)

        def task(report: Report) -> None:
            watch = Watch(place.owner, aim(lambda operation: report(reached=asdict(operation))))
            watch.begin()
            if self.verb.opens:
                watch.start()
            if isinstance(watch.target, Fault):
                self._suffer(watch, watch.target, place, report)
            else:
                self._run(watch, place.open("k"), place, report)
            watch.active = False
            report(operations=[asdict(operation) for operation in watch.operations])

        return place, *forked(task)

    def _run(self, watch: Watch, house: House, place: Place, report: Report) -> None:
        house.agent().settle_indexes()
        scene = Scene(place, house, report)
        self.verb.by_hand(scene)
        watch.start()
        self.verb.act(scene)
        report(returned=True)
        if not self.verb.closes:
            house.agent().settle_indexes()

    def _suffer(self, watch: Watch, fault: Fault, place: Place, report: Report) -> None:
        """Run the verb into a fault; when that is gone, the same process goes on."""
        house = place.open("k")
        try:
            self._run(watch, house, place, report)
        except MoeChatError as error:
            report(refused=str(error))
        except Exception:  # noqa: BLE001 - this is what is looked for
            report(raised=traceback.format_exc())
        fault.lift()
        watch.active = False
        sys.setprofile(None)
        if not self.verb.closes:
            house.clock.advance(minutes=AGAIN_M)  # type: ignore[attr-defined]
            report(state=settled(house.agent(), place.owner))

    def _dry(self) -> tuple[list[Operation], Place]:
        for _ in range(TRIES):
            place, status, lines = self._struck(lambda _: Never(self._roles))
            if not status:
                return [Operation(**row) for row in lines[-1]["operations"]], place
        raise RuntimeError(f"{self.verb.name} failed without a kill: {lines[-1]}")

    def _looked(self, place: Place, goal: Goal | None, lines: Lines) -> Finding:
        def task(report: Report) -> None:
            report(**asdict(look(place, self.verb, goal, lines)))

        row = done(task)
        return Finding(row["state"], row["verified"], [tuple(problem) for problem in row["problems"]])

    def strike(self, operation: Operation, strike: Strike) -> Outcome:
        """Strike at an operation, then look."""
        outcome = Outcome(self.verb.name, operation, strike)
        kind = partial(Fault, operation.role, operation.number, strike) if strike in FAULT_KINDS else partial(
            Kill, operation.role, operation.number, strike
        )  # fmt: skip
        place, status, lines = self._struck(kind)
        for line in lines:
            if "reached" in line:
                outcome.reached = Operation(**line["reached"])
            outcome.refused = line.get("refused", outcome.refused)
            if "raised" in line:
                outcome.problems.append((NO_WORDS, line["raised"]))
        if status not in (0, KILLED):
            outcome.problems.append((FAILED, lines[-1]["failed"]))
        looked = self._looked(place, self.goal, lines)
        outcome.problems += looked.problems
        for line in lines:
            if "state" in line and line["state"] != looked.state:
                outcome.problems.append((APART, difference(line["state"], looked.state)))
        return outcome


# ---- many kills


@dataclass(frozen=True)
class Sample:
    """Which strikes of a verb are made: those of ``kinds`` at each operation. ``every`` > 1 takes the kinds in turn, one at each
    so many operations of a role, whose order does not depend on the other roles; ``each`` draws so many by the seed."""

    kinds: Sequence[Strike] = KILLS
    every: int = 1
    each: int = 0
    seed: int = 0

    def of(self, verb: str, operations: Sequence[Operation]) -> list[tuple[Operation, Strike]]:
        """Of a run of equal operations on one file of the indexes (an archive of arrays is written in fifty pieces) the first
        and the last are taken."""
        worth = [one for place, one in enumerate(operations) if not _is_inside(operations, place)]
        if self.every > 1:
            by_role = ([one for one in worth if one.role == role] for role in ROLES)
            picked = [one for of_role in by_role for one in of_role[min(self.every, len(of_role)) // 2 :: self.every]]
            return [(one, self.kinds[turn % len(self.kinds)]) for turn, one in enumerate(picked)]
        strikes = [(one, kind) for one in worth for kind in self.kinds]
        if not self.each:
            return strikes
        return random.Random(f"{self.seed} {verb}").sample(strikes, min(self.each, len(strikes)))


def _is_inside(operations: Sequence[Operation], place: int) -> bool:
    one, *others = (replace(near, number=0) for near in operations[max(0, place - 1) : place + 2])
    return one.path.startswith(".index") and len(others) == 2 and others == [one, one]


def attack(
    verbs: Sequence[Verb],
    sample: Sample | None,
    *,
    tell: Callable[[Attack], object],
    outcome: Callable[[Outcome], object],
) -> None:
    """Attack each verb; ``tell`` is called with its operations, ``outcome`` with what each strike came to.

    Without a sample nothing is struck.
    """
    before: dict[Any, Finding] = {}
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        base = prepared(Path(scratch) / "base")
        for verb in verbs:
            is_spread = sample is not None and (sample.every > 1 or FAULT_KINDS[0] in sample.kinds)
            one = Attack(verb, base, Path(scratch), before, ROLES[:2] if is_spread else ROLES)
            tell(one)
            for operation, strike in sample.of(verb.name, one.operations) if sample else ():
                outcome(one.strike(operation, strike))


def prepared(folder: Path) -> Place:
    """The owner that all verbs begin with. It is made and used here once, so that every child finds loaded what it needs.

    Raises RuntimeError where a thread is left, which a child would lack.
    """
    place = owner.build(folder)
    used = Place(folder.with_name("used"), place.now)
    shutil.copytree(place.folder, used.folder)
    house = used.open("w")
    say(house.agent(), SPOKEN)
    settled(house.agent(), used.owner)
    house.agent().recall(CUE)
    house.agent().verify()
    house.close()
    shutil.rmtree(used.folder)
    if threading.active_count() > 1:
        raise RuntimeError(f"threads are left: {threading.enumerate()}")
    gc.collect()
    gc.freeze()
    return place


def main(purpose: str | None, kinds: Sequence[Strike]) -> int:
    """The command. ``purpose`` is its description."""
    parser = argparse.ArgumentParser(description=(purpose or "").split("\n", 1)[0])
    parser.add_argument("--verb", action="append", choices=sorted(VERBS), help="this one alone (may be given again)")
    parser.add_argument("--part", help="1/3: the first of three parts of the verbs, for processes side by side")
    parser.add_argument("--every", type=int, default=1, help="a spread sample")
    parser.add_argument("--each", type=int, default=0, help="so many of each verb, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="what is drawn depends on it")
    parser.add_argument("--list", action="store_true", help="print the operations and strike nothing")
    parser.add_argument("--json", action="store_true", help="one object for each strike")
    options = parser.parse_args()
    begun, strikes, faults = time.perf_counter(), 0, 0

    def tell(one: Attack) -> None:
        if not options.json:
            print(f"== {one.verb.name}: {len(one.operations)} operations", flush=True)
        if options.list:
            for operation in one.operations:
                print(f"{operation.role:7}{operation.number:5}  {operation.name:28} {operation.path}")

    def outcome(one: Outcome) -> None:
        nonlocal strikes, faults
        strikes, faults = strikes + 1, faults + bool(one.problems)
        if options.json:
            print(json.dumps(asdict(one), ensure_ascii=False), flush=True)
        elif one.problems:
            operation = one.reached or one.operation
            print(f"{one.when} {operation.role} {operation.number} {operation.name} {operation.path}", flush=True)
            for kind, text in one.problems:
                print(f"    {kind}: {text}", flush=True)

    verbs = [VERBS[name] for name in options.verb or VERBS]
    if options.part:
        number, of = map(int, options.part.split("/"))
        verbs = verbs[number - 1 :: of]
    if options.every > 1:
        verbs = [verb for verb in verbs if not verb.large]
    sample = None if options.list else Sample(kinds, options.every, options.each, options.seed)
    attack(verbs, sample, tell=tell, outcome=outcome)
    if not options.json:
        took = time.perf_counter() - begun
        print(f"{strikes} strikes at {len(verbs)} verbs in {took:.0f} s, {faults} with a problem")
    return FAULTS if faults else 0


if __name__ == "__main__":
    sys.exit(main(__doc__, KILLS))
