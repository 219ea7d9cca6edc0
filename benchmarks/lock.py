"""Four processes at once on one owner: how long is the owner's lock held, and is anything lost?

    python benchmarks/lock.py [--seconds 20] [--exchanges 2000] [--batch 200] [--json]

Two talkers (the offline model replies), one importer, one forgetter, on an owner with so many exchanges. Each hold is measured
from outside, between the messages that the package ``filelock`` logs when the lock is taken and let go, by the clock and by
the CPU of its thread, which says more on a busy machine; its verb is what the journal calls it, and the outermost method of
the store that runs then. Afterwards every reply that a talker saw must be in the log, in its words, unless the forgetter has
erased it: exits with 1 where one is not, or where a process failed. Errors that a user would be told are counted.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import logging
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.record_size import CHARACTER, build
from benchmarks.year_talk import Talk
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.clock import SystemClock
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.model import Exchange
from moechat.turn import Ended

ZONE = ZoneInfo("Asia/Shanghai")
ROLES = ("talker", "talker", "importer", "forgetter")
PAUSE_S = 0.05  # Between two verbs of a process, so that the others have their turn.
LIMIT_MS = 50.0


@dataclass
class Hold:
    """One time that the owner's lock was held. ``what`` is the verb, ``by`` the process; ``logged_ms`` says the journal."""

    ms: float
    cpu_ms: float
    what: str
    by: str
    logged_ms: float | None = None


class Holds(logging.Handler):
    """Listens to the locks of one process."""

    def __init__(self, owner: Path, by: str) -> None:
        super().__init__(logging.DEBUG)
        self._lock_file, self._by = str(owner / ".lock"), by
        self._since: tuple[float, float, str] | None = None
        self.holds: list[Hold] = []

    def listen(self) -> None:
        for name in ("filelock", "moechat.store.journal"):
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.setLevel(logging.DEBUG)
            logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        values = record.args if isinstance(record.args, tuple) else ()
        if record.name == "moechat.store.journal":
            if record.msg.startswith("the owner's lock was held") and self.holds:
                ms, what = values
                last = self.holds[-1]  # It has just been let go, by this thread.
                last.logged_ms, last.what = float(str(ms)), f"{what or '?'}: {last.what}"
        elif len(values) == 2 and values[1] == self._lock_file:
            now, cpu = time.perf_counter(), time.thread_time()
            if record.msg == "Lock %s acquired on %s":
                self._since = now, cpu, _verb(sys._getframe())
            elif record.msg == "Lock %s released on %s" and self._since:
                since, cpu_since, what = self._since
                self._since = None
                self.holds.append(Hold(1000 * (now - since), 1000 * (cpu - cpu_since), what, self._by))


def _verb(frame: FrameType | None) -> str:
    """The outermost function of the store on the stack, with the one that calls it."""
    names: list[str] = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("moechat."):
            names.append(f"{module.removeprefix('moechat.')}.{frame.f_code.co_name}")
        frame = frame.f_back
    place = max((i for i, name in enumerate(names) if name.startswith("store.")), default=0)
    return " < ".join(names[place : place + 2])


# ---- the processes


@dataclass
class Part:
    """One process: what it does until its time is over, and what it reports at its end."""

    agent: Agent
    name: str
    seconds: float
    batch: int
    random: random.Random
    seen: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def run(self, step: Callable[[], None]) -> None:
        ends = time.monotonic() + self.seconds
        while time.monotonic() < ends:
            try:
                step()
            except MoeChatError as refusal:  # a user would be told so
                self.refused[f"{type(refusal).__name__}: {str(refusal)[:80]}"] += 1
            time.sleep(PAUSE_S)

    def talker(self) -> None:
        day = date(2025, 1, 1) + timedelta(days=self.random.randrange(3000))
        line = self.random.choice(Talk(1, 20, ZONE).day(day)).text
        serial = f"{self.name}{self.done['turns']}"
        *_, ended = self.agent.talk(f"{line}（{serial}）")
        assert isinstance(ended, Ended)
        self.seen[ended.exchange.id] = ended.exchange.char
        self.done["turns"] += 1

    def importer(self) -> None:
        first = datetime(2015, 1, 1, tzinfo=ZONE) + timedelta(days=self.random.randrange(3000))
        self.agent.store.imports.add(
            list(past(first, self.batch, f"i{self.done['imports']}x")), talk=f"旧聊天{self.done['imports']}"
        )
        self.agent.conversation.follow()
        self.done["imports"] += 1

    def forgetter(self) -> None:
        page = self.agent.memories.listed(("exchange",), limit=40)
        if len(page.memories) > 10:
            id_ = self.random.choice(page.memories[6:]).id
            self.gone.append(id_)  # perhaps it goes in part before an error
            self.agent.memories.forget([id_])
            self.done["forgotten"] += 1


def past(first: datetime, count: int, mark: str) -> Iterator[Exchange]:
    """Exchanges of one day, three minutes apart."""
    for number in range(count):
        at = first + timedelta(minutes=3 * number)
        text = f"{mark}{number}，那天我和小林在河堤散步"
        yield Exchange(f"{at:%Y%m%d-%H%M%S}-{mark}{number}", at, text, "听起来不错。")


def opened(folder: Path) -> House:
    return House(folder / "data", folder / "config.yaml", clock=SystemClock(ZONE), embedder=HashEmbedder(64))


def part(role: str, name: str, folder: Path, seconds: float, batch: int) -> None:
    """Be one of the processes: ready, then wait for a line, then work, then report."""
    holds = Holds(folder / "data" / "agents" / CHARACTER, name)
    with opened(folder) as house:
        agent = house.agent()
        agent.settle_indexes()
        print("ready", flush=True)
        sys.stdin.readline()
        holds.listen()
        one = Part(agent, name, seconds, batch, random.Random(name))
        one.run(getattr(one, role))
    report = {"seen": one.seen, "gone": one.gone, "done": one.done, "refused": one.refused}
    print(json.dumps(report | {"holds": [asdict(hold) for hold in holds.holds]}), flush=True)


# ---- the whole


def at_once(folder: Path, seconds: float, batch: int) -> list[dict[str, Any]]:
    """What the four processes report. Raises RuntimeError where one failed."""
    command = [sys.executable, __file__, "--folder", str(folder), "--seconds", str(seconds), "--batch", str(batch)]
    names = [f"{role}-{number}" for number, role in enumerate(ROLES)]
    processes = [
        subprocess.Popen([*command, "--part", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = [process.communicate()[0] for process in processes]
    if failed := [name for name, process in zip(names, processes, strict=True) if process.returncode]:
        raise RuntimeError(f"failed: {', '.join(failed)}")
    return [json.loads(report) for report in reports]


def lost(folder: Path, reports: Sequence[dict[str, Any]]) -> list[str]:
    """Replies that were seen and are not there, though nobody forgot them."""
    gone = {id_ for report in reports for id_ in report["gone"]}
    with opened(folder) as house:
        agent = house.agent()
        agent.settle_indexes()
        replies = {row["id"]: row["reply"] for row in agent.log()}
        problems = [f"verify: {problem}" for problem in agent.verify()["problems"]]
    for report in reports:
        for id_, char in report["seen"].items():
            if id_ not in gone and replies.get(id_) != char:
                problems.append(f"{id_}: {char!r} was shown, {replies.get(id_)!r} is there")
    return problems


def running() -> int:
    """How many other processes are running at this moment."""
    states = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            states.append(path.read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return max(0, states.count("R") - 1)


def summary(holds: Sequence[Hold]) -> dict[str, Any]:
    """Milliseconds: median, p99, longest and its verb, how many were too long; ``cpu_ms`` is the most CPU of any."""
    ms = sorted(hold.ms for hold in holds)
    longest = max(holds, key=lambda hold: hold.ms)
    return {
        "count": len(ms), "median_ms": round(ms[len(ms) // 2], 2), "p99_ms": round(ms[math.ceil(0.99 * len(ms)) - 1], 2),
        "longest_ms": round(longest.ms, 1), "longest": f"{longest.what} ({longest.by})",
        "over_limit": sum(one > LIMIT_MS for one in ms), "cpu_ms": round(max(hold.cpu_ms for hold in holds), 1),
    }  # fmt: skip


def measure(folder: Path, seconds: float, exchanges: int, batch: int) -> dict[str, Any]:
    build(folder)
    with opened(folder) as house:
        store = house.agent().store
        for start in range(0, exchanges, 200):
            first = datetime(2020, 1, 1, tzinfo=ZONE) + timedelta(days=start // 200)
            store.imports.add(past(first, min(200, exchanges - start), f"p{start}x"), talk=f"p{start}", by="rules")
        house.agent().settle_indexes()
    load, others = os.getloadavg(), running()
    reports = at_once(folder, seconds, batch)
    done, refused = Counter[str](), Counter[str]()
    holds = [Hold(**row) for report in reports for row in report["holds"]]
    for report in reports:
        done.update(report["done"])
        refused.update(report["refused"])
    verbs = defaultdict(list)
    for hold in holds:
        verbs[hold.what].append(hold)
    said = [abs(hold.ms - hold.logged_ms) for hold in holds if hold.logged_ms is not None]
    return {
        "load_before": load, "load_after": os.getloadavg(), "others_running": others, "done": done, "refused": refused,
        "held": summary(holds), "logged": {"count": len(said), "apart_ms": round(max(said, default=0.0), 2)},
        "verbs": {what: summary(some) for what, some in sorted(verbs.items(), key=lambda item: -_longest(item[1]))},
        "problems": lost(folder, reports),
    }  # fmt: skip


def _longest(holds: Sequence[Hold]) -> float:
    return max(hold.ms for hold in holds)


def show(result: dict[str, Any]) -> None:
    load, after = result["load_before"], result["load_after"]
    print(f"load {load[0]:.2f} before, {after[0]:.2f} after; {result['others_running']} other processes running before")
    print("done: " + ", ".join(f"{count} {what}" for what, count in result["done"].items()))
    for what, count in result["refused"].items():
        print(f"refused {count} times: {what}")
    held, logged = result["held"], result["logged"]
    print(
        f"held {held['count']} times: median {held['median_ms']} ms, p99 {held['p99_ms']} ms, longest {held['longest_ms']} ms"
        f" by {held['longest']}; {held['over_limit']} over {LIMIT_MS:.0f} ms; at most {held['cpu_ms']} ms of CPU"
    )
    print(f"the journal logged {logged['count']} of them, at most {logged['apart_ms']} ms apart")
    print(f"{'count':>7}{'median':>9}{'p99':>9}{'longest':>9}{'CPU':>9}  verb")
    for what, row in result["verbs"].items():
        print(
            f"{row['count']:7}{row['median_ms']:9.1f}{row['p99_ms']:9.1f}{row['longest_ms']:9.1f}{row['cpu_ms']:9.1f}  {what}"
        )
    for problem in result["problems"]:
        print(f"LOST {problem}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--exchanges", type=int, default=2000, help="in the owner's memory before")
    parser.add_argument("--batch", type=int, default=200, help="exchanges of one import")
    parser.add_argument("--json", action="store_true", help="one object")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part(options.part.partition("-")[0], options.part, options.folder, options.seconds, options.batch)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        result = measure(Path(scratch), options.seconds, options.exchanges, options.batch)
    print(json.dumps(result, ensure_ascii=False)) if options.json else show(result)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
