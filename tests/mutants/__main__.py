"""Do the tests bite? ``python -m tests.mutants --count 100 --seed 1``: small faults, drawn evenly from the rooms below, are
tried one by one, and the room's own tests run on each. A fault that no test sees has survived.

First each room's tests run once without a fault, and it is taken down which lines each of them reaches. A mutant then meets
those that pass and reach its line, the quickest first, until one fails or its time is up.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.operators import Mutant, mutants
from tests.mutants.sessions import OUTCOMES, ROOT, TO_BE_IMPORTED, Session, in_session, measured

ROOMS = {
    "moechat/recall": "tests/recall",
    "moechat/store": "tests/store",
    "moechat/curation": "tests/curation",
    "moechat/memory/contradiction.py": "tests/memory/test_contradiction.py",
}
Row = dict[str, str]


def compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.source, mutant.module, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def sample(room: str, only: str, count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of a room. What stands elsewhere in a module does not change which they are."""
    modules = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).glob("*.py"))
    names = [name for path in modules if only in (name := path.relative_to(ROOT).as_posix())]
    every = [one for name in names for one in mutants(name, (ROOT / name).read_text(encoding="utf-8"))]
    every.sort(key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest(), reverse=True)
    chosen: list[Mutant] = []
    while every and len(chosen) < count:
        mutant = every.pop()
        if compiles(mutant):
            chosen.append(mutant)
    return chosen


def row_of(mutant: Mutant, outcome: str) -> Row:
    diff = difflib.unified_diff(
        mutant.original.splitlines(), mutant.source.splitlines(), mutant.module, mutant.module, lineterm="", n=2
    )
    at = f"{mutant.module}:{mutant.place.node.lineno}"  # type: ignore[attr-defined]
    return {"key": mutant.key, "outcome": outcome, "operator": mutant.operator, "at": at, "diff": "\n".join(diff)}


def tried(chosen: list[Mutant], room: str, tests: str, folder: Path, within: float = math.inf) -> Iterator[Row]:
    """One row a mutant."""
    baseline = measured(room, tests, folder, within)
    print(f"{tests}: {len(baseline.seconds)} tests pass", file=sys.stderr, flush=True)
    to_be_imported = [one for one in chosen if one.place.function is None]
    reached = {one.key: one for one in chosen if one.place.function and baseline.tests_for(one)}
    for mutant in chosen:
        if mutant.place.function and mutant.key not in reached:
            yield row_of(mutant, "not reached")

    def job(session: Session) -> Iterator[tuple[str, int]]:
        yield from ((one.key, session.outcome(one, baseline)) for one in reached.values())

    for key, status in in_session(tests, folder, job):
        if status == TO_BE_IMPORTED:
            to_be_imported.append(reached[key])
        else:
            yield row_of(reached[key], OUTCOMES[status])
    for mutant in to_be_imported:
        statuses = list(in_session(tests, folder, lambda session, one=mutant: [session.outcome(one, baseline)], mutant))
        yield row_of(mutant, OUTCOMES[statuses[0]] if statuses else "killed")  # None: it cannot be imported.


def run(arguments: argparse.Namespace) -> Iterator[Row]:
    """One row a mutant, those of an earlier run first."""
    file = Path(arguments.resume) if arguments.resume else None
    earlier = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    rows = {row["key"]: row for row in map(json.loads, earlier)}
    rooms = {room: tests for room, tests in ROOMS.items() if arguments.module in room or room in arguments.module}
    for room, tests in rooms.items():
        chosen = sample(room, arguments.module, -(-arguments.count // len(rooms)), arguments.seed)
        yield from (rows[mutant.key] for mutant in chosen if mutant.key in rows)
        left = [mutant for mutant in chosen if mutant.key not in rows]
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            for row in tried(left, room, tests, Path(folder), arguments.within) if left else ():
                if file:
                    with file.open("a", encoding="utf-8") as lines:
                        print(json.dumps(row, ensure_ascii=False), file=lines)
                yield row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--module", default="", help="of this module or room alone: moechat/store/log.py")
    parser.add_argument(
        "--within", type=float, default=math.inf, metavar="S", help="of tests for one mutant: so many seconds"
    )
    parser.add_argument("--json", action="store_true", help="one object a mutant")
    parser.add_argument("--resume", metavar="FILE", help="write the rows here, and go on where they end")
    arguments = parser.parse_args()
    rows = []
    for row in run(arguments):
        rows.append(row)
        line = (
            json.dumps(row, ensure_ascii=False)
            if arguments.json
            else f"{row['outcome']:11} {row['operator']:17} {row['at']}"
        )
        print(line, flush=True)
    survivors = [row for row in rows if row["outcome"] != "killed"]
    for row in survivors:
        print(f"\n{row['outcome']}\n{row['diff']}", file=sys.stderr)
    killed = len(rows) - len(survivors)
    print(f"{killed} of {len(rows)} killed ({killed / max(1, len(rows)):.0%})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
