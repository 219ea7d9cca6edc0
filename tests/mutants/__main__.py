"""Do the tests bite? ``python -m tests.mutants --count 100 --seed 1``: small faults, drawn evenly from all rooms, are tried one
by one, and the room's own tests run on each, or with ``--all-tests`` those of every room. A fault that no test sees has survived.
``--room rules --count 12`` asks one room.

First a room's tests run once without a fault, those first whose file names what is changed, and it is taken down which lines
each of them reaches. A mutant then meets those that pass and reach its line, the quickest first, until one fails or its time is
up. One that none of them reaches may still keep its module, or what imports it, from being read.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants.operators import Mutant, mutants
from tests.mutants.sessions import OUTCOMES, ROOT, TO_BE_IMPORTED, Session, in_session, measured

# The tests of a room lie in the folder of its name; these have others, or others as well.
TESTS = {
    "author": ["tests/author", "tests/cards", "tests/cli/test_cli_cards.py", "tests/web/test_studio_room.py"],
    "cards": ["tests/cards", "tests/author", "tests/cli/test_cli_cards.py"],
    "settings": ["tests/settings", "tests/cli/test_cli_cards.py", "tests/web/test_settings_room.py"],
    "curation": ["tests/curation", "tests/cli/test_cli_memories.py", "tests/compat/test_foreign_past.py"],
    "index": ["tests/index", "tests/memory/test_entities.py"],
    "bench": ["tests/bench", "tests/rules/test_blind.py"],
    "demo": ["tests/demo", "tests/cli", "tests/web/test_web.py"],
    "encoder": ["tests/ai"],
    "house": [
        "tests/house", "tests/agent", "tests/web/test_studio_room.py", "tests/cli/test_cli_cards.py",
        "tests/cli/test_cli_talks.py", "tests/postgres/test_migration.py",
    ],
    "cli": ["tests/cli", "tests/test_docs.py"],
    "verbs": ["tests/verbs", "tests/curation", "tests/cli", "tests/test_docs.py"],
    "turn": [
        "tests/test_public.py", "tests/agent", "tests/test_containment.py", "tests/test_moechat_folder.py",
        "tests/recall",
    ],
}  # fmt: skip
TURN = "turn"  # The modules that lie in no room: a turn, and what happens behind it.
Row = dict[str, str]


def rooms() -> dict[str, list[str]]:
    """The modules of each room, by name. The stores over tables are a room of their own: their tests need a server."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "moechat").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        found.setdefault(room_of(name), []).append(name)
    return found


def room_of(name: str) -> str:
    """The room of a module."""
    _, *folders, _ = name.split("/")
    return "postgres" if "postgres" in folders else folders[0] if folders else TURN


def tests_of(room: str) -> list[str]:
    return [path for path in TESTS.get(room, [f"tests/{room}"]) if (ROOT / path).exists()]


def compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.source, mutant.module, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def sample(modules: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of some modules. What stands elsewhere in a module does not change which they are."""
    every = [one for name in modules for one in mutants(name, (ROOT / name).read_text(encoding="utf-8"))]
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


def tried(chosen: list[Mutant], tests: Sequence[str], folder: Path, within: float = math.inf) -> Iterator[Row]:
    """One row a mutant."""
    baseline = measured(chosen, tests, folder, within)
    print(f"{' '.join(tests)}: {len(baseline.seconds)} tests pass", file=sys.stderr, flush=True)
    reached = {one.key: one for one in chosen if one.place.function and baseline.tests_for(one)}
    to_be_imported = [one for one in chosen if one.key not in reached]

    def job(session: Session) -> Iterator[tuple[str, int]]:
        yield from ((one.key, session.outcome(one, baseline)) for one in reached.values())

    for key, status in in_session(tests, folder, job):
        if status == TO_BE_IMPORTED:
            to_be_imported.append(reached[key])
        else:
            yield row_of(reached[key], OUTCOMES[status])
    for mutant in to_be_imported:
        statuses = list(in_session(tests, folder, lambda session, one=mutant: [session.outcome(one, baseline)], mutant))
        killed = not statuses or OUTCOMES[statuses[0]] == "killed"  # Without one it cannot be imported.
        yield row_of(mutant, "killed" if killed else "survived" if baseline.tests_for(mutant) else "not reached")


def run(arguments: argparse.Namespace) -> Iterator[Row]:
    """One row a mutant, those of an earlier run first."""
    file = Path(arguments.resume) if arguments.resume else None
    earlier = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    rows = {row["key"]: row for row in map(json.loads, earlier)}
    asked = {
        room: [name for name in modules if arguments.module in name]
        for room, modules in rooms().items()
        if arguments.room in ("", room) and tests_of(room)
    }
    asked = {room: modules for room, modules in asked.items() if modules}
    drawn = [
        (tests_of(room), sample(modules, -(-arguments.count // len(asked)), arguments.seed))
        for room, modules in asked.items()
    ]
    if arguments.all_tests:
        drawn = [(["tests"], [mutant for _, chosen in drawn for mutant in chosen])]
    for tests, chosen in drawn:
        yield from (rows[mutant.key] for mutant in chosen if mutant.key in rows)
        left = [mutant for mutant in chosen if mutant.key not in rows]
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            for row in tried(left, tests, Path(folder), arguments.within) if left else ():
                if file:
                    with file.open("a", encoding="utf-8") as lines:
                        print(json.dumps(row, ensure_ascii=False), file=lines)
                yield row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument(
        "--room", default="", choices=["", *rooms()], metavar="ROOM", help="of this room alone: rules, when …"
    )
    parser.add_argument("--module", default="", help="of this module alone: moechat/store/log.py")
    parser.add_argument(
        "--within",
        type=float,
        default=math.inf,
        metavar="S",
        help="of tests for one mutant, and for each of finding them: so many seconds",
    )
    parser.add_argument(
        "--all-tests",
        action="store_true",
        help="each meets the tests of every room that reach it; to find them all tests run once",
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
    outcomes: dict[str, list[bool]] = {}
    for row in rows:
        outcomes.setdefault(room_of(row["at"]), []).append(row["outcome"] == "killed")
    for room, killed in [*outcomes.items(), ("all rooms", [one for each in outcomes.values() for one in each])]:
        print(f"{room}: {sum(killed)} of {len(killed)} killed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
