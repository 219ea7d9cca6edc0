"""Killed at any moment, nothing is lost: every exchange that was reported done is there exactly once, with its words.

A talker (``talker.py``) talks, regenerates, corrects, rolls and rebuilds on a real folder and is killed with SIGKILL. The
folder is then opened and held against what the talker had reported, and the next one goes on with the same folder.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.store import records
from tests.houses import Home, day_files, say
from tests.talker import CAT, Run, understand

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
ROLL = {"understand_at_rounds": 6, "oldest": 3, "cut_at_rounds": 9, "retry_s": 0.001}
NAME = re.compile(r"雪球([a-z0-9]+)")
LOOK_S = 0.002
PATIENCE_S = 60.0


# ---- what was reported


@dataclass
class Change:
    """Words that one side of an exchange was to have; ``done`` once that was reported. A reply that was only announced may
    have been broken off anywhere."""

    text: str
    begun: float
    ended: float = float("inf")
    first: bool = False

    @property
    def done(self) -> bool:
        return self.ended < float("inf")


@dataclass
class Told:
    """What the ledger knows of one exchange."""

    user: list[Change] = field(default_factory=list)
    char: list[Change] = field(default_factory=list)
    retracted: bool | None = False  # None: perhaps

    def accepts(self, side: str, text: str) -> bool:
        changes: list[Change] = getattr(self, side)
        for change in changes:
            late = any(other.done and other.begun > change.ended for other in changes)
            if not late and (
                text == change.text or (change.first and not change.done and change.text.startswith(text))
            ):
                return True
        return False


class Ledger:
    """Everything that talkers reported, by exchange; ``hold`` checks a folder against it."""

    def __init__(self) -> None:
        self.told: dict[str, Told] = {}
        self.entering: dict[str, tuple[float, str, str]] = {}  # by talker: a message that may have entered unreported
        self.again: dict[str, tuple[float, str]] = {}  # by talker: a regenerated reply that may stand unreported
        self.reported = self.refused = 0

    def read(self, lines: list[dict[str, Any]]) -> None:
        for line in sorted(lines, key=lambda line: line["t"]):
            match line:
                case {"will": "talk"}:
                    self.entering[line["who"]] = (line["t"], line["user"], line["char"])
                case {"did": "begin"}:
                    self._enter(line["id"], line["who"])
                case {"did": "end"}:
                    self.reported += 1
                    if (
                        line["id"] not in self.told
                    ):  # killed before it reported the message, which another answers again
                        self._enter(line["id"], next(w for w, one in self.entering.items() if one[1] == line["user"]))
                    self._again(line["id"], line["who"])
                    self._done(self.told[line["id"]].char, line["char"], line["t"])
                case {"will": "regenerate"}:
                    self.again[line["who"]] = (line["t"], line["char"])
                case {"did": "refused"}:
                    self.refused += 1
                    self.again.pop(line["who"], None)
                case {"will": "correct"}:
                    for side in line.keys() & {"user", "char"}:
                        getattr(self.told[line["id"]], side).append(Change(line[side], line["t"]))
                case {"did": "correct"}:
                    for side in line.keys() & {"user", "char"}:
                        self._done(getattr(self.told[line["id"]], side), line[side], line["t"])
                case {"will": "retract"}:
                    self.told[line["id"]].retracted = None
                case {"did": "retract"}:
                    self.told[line["id"]].retracted = True

    def _enter(self, id_: str, who: str) -> None:
        begun, user, char = self.entering.pop(who)
        assert id_ not in self.told, f"two messages have the id {id_}"
        self.told[id_] = Told([Change(user, begun, begun)], [Change(char, begun, first=True)])

    def _again(self, id_: str, who: str) -> None:
        if who in self.again:
            begun, char = self.again.pop(who)
            self.told[id_].char.append(Change(char, begun))

    @staticmethod
    def _done(changes: list[Change], text: str, at: float) -> None:
        """A reply that ended as it was announced, or shorter, or (a regeneration that brought nothing) as it was before."""
        change = next((c for c in reversed(changes) if c.text == text and not c.done), None)
        if change is None:
            change = next(c for c in reversed(changes) if not c.done)
            change.text = text
        change.ended = at

    def hold(self, agent: Agent) -> None:
        """The words of every exchange, as the program gives them back; what it gives back counts from now on."""
        store = agent.store
        for id_ in [id_ for id_ in store.tree.parents if id_ not in self.told]:  # entered, but killed before the report
            who = next(name for name, (_, user, _) in self.entering.items() if user == store.exchanges.get(id_).user)
            self._enter(id_, who)
        assert store.tree.parents.keys() == self.told.keys(), "an exchange is lost"
        for id_, told in self.told.items():
            found = store.exchanges.get(id_)
            for who in [who for who, (_, char) in self.again.items() if char == found.char]:
                self._again(id_, who)
            assert told.accepts("user", found.user), (id_, found.user, told.user)
            assert told.accepts("char", found.char), (id_, found.char, told.char)
            retracted = id_ in store.tree.retracted
            assert told.retracted is None or told.retracted == retracted, id_
            now = time.monotonic()
            self.told[id_] = Told([Change(found.user, now, now)], [Change(found.char, now, now)], retracted)


# ---- the folder


def parsed(path: Path) -> Any:
    return yaml.load(path.read_bytes(), yaml.BaseLoader)  # noqa: S506 - a base loader: text only


def records_of(home: Home) -> dict[str, dict[str, str]]:
    """What all day files hold, read by a parser that is not ours; an id that stands twice fails."""
    found: dict[str, dict[str, str]] = {}
    for path in day_files(home.folder):
        for key, record in (parsed(path) or {}).items():
            assert key not in found, f"{key} stands twice"
            found[key] = record["msg"]
    keys = [
        line for path in day_files(home.folder) for line in path.read_text("utf-8").splitlines() if line[:2] == "20"
    ]
    assert len(keys) == len(found), "an id stands twice in one file"
    texts = Counter(record["user"] for record in found.values())
    assert max(texts.values(), default=1) == 1, "an exchange is there twice"
    return found


def facts_of(home: Home) -> list[str]:
    path = home.folder / "core_mem.yml"
    return (
        [line.partition(": ")[2] for line in path.read_text("utf-8").splitlines() if line[:7] == "  text:"]
        if path.exists()
        else []
    )


def check(home: Home, ledger: Ledger, dim: int, *, finish: bool) -> None:
    """Open the folder after a kill and hold it against what was reported; ``finish``: understand all that waits."""
    home.embedder = HashEmbedder(dim)
    with home.open(ScriptedModel(lambda _: "好。", understand)) as house:
        agent = house.agent()
        agent.settle_indexes()
        assert agent.verify()["problems"] == []
        ledger.hold(agent)
        found = records_of(home)
        assert all(id_ in ledger.told for id_ in found)
        if finish:
            agent.finish()
            check_finished(home, agent, ledger)


def check_finished(home: Home, agent: Agent, ledger: Ledger) -> None:
    tree, found = agent.store.tree, records_of(home)
    assert (tree.open(), tree.unfiled(), tree.pending()) == ([], [], [])
    for id_, told in ledger.told.items():
        if not told.retracted:
            assert (found[id_]["user"], found[id_]["char"]) == (told.user[0].text, told.char[0].text), id_
    standing = [told.user[0].text for told in ledger.told.values() if not told.retracted]
    cats = sorted(named[1] for text in standing if (named := CAT.search(text)))
    about = sorted({name for text in facts_of(home) for name in NAME.findall(text)})
    assert about == cats, "each by the model, by the rules or by both"
    report = agent.verify()
    assert (report["problems"], report["without_vector"]) == ([], 0)
    for path in home.folder.rglob("*.notes.yaml"):
        parsed(path)
    for line in (home.folder / "log.jsonl").read_bytes().splitlines():
        json.loads(line)


# ---- the killing


@dataclass
class Zoo:
    """The process that forks talkers."""

    process: subprocess.Popen[str]

    def ask(self, **told: object) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, run: Run) -> int:
        return self.ask(start=asdict(run))

    def kill(self, pid: int) -> int:
        """The exit status: that of a talker that was still alive is -9."""
        os.kill(pid, signal.SIGKILL)
        return self.ask(reap=pid)


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    root = Path(__file__).resolve().parents[1]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}", "PYTHONUTF8": "1"}
    process = subprocess.Popen(
        [sys.executable, str(root / "tests" / "talker.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        yield Zoo(process)
        assert process.stdin
        process.stdin.close()


def lines_of(path: Path) -> list[dict[str, Any]]:
    """What a talker reported; a line that was cut short was not reported."""
    text = path.read_text("utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def await_line(path: Path, **wanted: str) -> None:
    """Until a talker has reported this."""
    limit = time.monotonic() + PATIENCE_S
    while not any(wanted.items() <= line.items() for line in lines_of(path)):
        assert time.monotonic() < limit, f"never reported: {wanted}"
        time.sleep(LOOK_S)


MOMENTS = [  # (after which report, at most so many seconds later, what the talker does beside talking)
    ({}, 0.3, ""),
    ({"did": "open"}, 0.1, ""),
    ({"did": "open"}, 1.5, ""),
    ({"did": "open"}, 4.0, ""),
    ({"did": "open"}, 4.0, ""),
    ({"will": "rebuild"}, 0.4, "rebuild"),
    ({"will": "finish"}, 0.1, "finish"),
    ({"will": "regenerate"}, 0.1, "regenerate"),
    ({"will": "correct"}, 0.1, "correct"),
    ({"will": "close"}, 0.2, "reopen"),
]


def soak(zoo: Zoo, folder: Path, *, kills: int, seed: int, talkers: int = 1, progress: bool = False) -> Ledger:
    """Kill so often; hold the folder against the reports each time, and let all be understood every other time."""
    chance = random.Random(seed)
    home, ledger = Home.build(folder, roll=ROLL, embedding={"provider": "hash"}), Ledger()
    for kill in range(kills):
        wanted, at_most, only = chance.choice(MOMENTS)
        dim = 64 if kill % 20 < 10 else 96  # now and then with another embedding model
        runs = [
            Run(str(home.data), str(home.config), str(folder / f"{name}{kill}.jsonl"), f"{name}{kill}", chance.randrange(1 << 30),
                home.clock.now().isoformat(), dim, only=only if not i else "")
            for i, name in enumerate("abc"[:talkers])
        ]  # fmt: skip
        pids = [zoo.start(run) for run in runs]
        if wanted:
            await_line(Path(runs[0].lines), **wanted)
        time.sleep(chance.random() * at_most)
        for pid in pids:
            assert zoo.kill(pid) == -signal.SIGKILL, "the talker failed by itself"
            time.sleep(chance.random() * 0.2 * (talkers > 1))
        ledger.read([line for run in runs for line in lines_of(Path(run.lines))])
        move_on(home, chance)
        check(home, ledger, dim, finish=kill % 2 == 1 or kill == kills - 1)
    return ledger


def move_on(home: Home, chance: random.Random) -> None:
    """The clock stands a little after the newest message, sometimes a night."""
    store = home.store()
    newest = [datetime.fromisoformat(node.at) for node in store.tree.nodes.values() if node.at]
    store.close()
    home.clock.at = max([home.clock.at, *newest]) + timedelta(minutes=chance.choice([1, 5, 90, 900]))


def test_corrected_words_are_understood_only_once_they_stand_in_their_file(home: Home) -> None:
    with home.open(ScriptedModel(lambda _: "好。", understand)) as house:
        agent = house.agent()
        id_ = say(agent, "我养了一只叫雪球一号的猫").exchange.id
        agent.finish()
        (path,) = day_files(home.folder)
        whole = path.read_bytes()
        path.write_bytes(whole + b"broken: [\n")  # as after a kill: the correction is in the log alone
        agent.conversation.correct(id_, user="我养了一只叫雪球二号的猫")
        agent.finish()
        assert (facts_of(home), agent.store.tree.pending()) == ([], [id_])
        records.replace(
            path, whole
        )  # at once: the background looks at the file meanwhile, and half of it is a hand edit
        agent.finish()
        # What the rules read stays beside the model's reading, which says nothing of it.
        assert facts_of(home) == ["用户的猫叫雪球二号"]
        assert agent.store.tree.pending() == []


def test_words_taken_back_when_the_process_was_killed_leave_nothing_behind(home: Home) -> None:
    with home.open(ScriptedModel(lambda _: "好。", understand)) as house:
        id_ = say(house.agent(), "我养了一只叫雪球一号的猫").exchange.id
        house.agent().finish()
    assert facts_of(home) == ["用户的猫叫雪球一号"]
    with open(home.folder / "log.jsonl", "a", encoding="utf-8") as log:  # what stands there if it dies just after
        log.write(json.dumps({"op": "retract", "id": id_}) + "\n")
    with home.open(ScriptedModel(lambda _: "好。", understand)) as house:
        assert house.agent().layers.core.history() == [] and facts_of(home) == []


def test_nothing_is_lost_when_the_process_is_killed(zoo: Zoo, tmp_path: Path) -> None:
    soak(zoo, tmp_path, kills=4, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_nothing_is_lost_when_the_process_is_killed_a_hundred_times(zoo: Zoo, tmp_path: Path, seed: int) -> None:
    ledger = soak(zoo, tmp_path, kills=100, seed=seed)
    print(f"100 kills, {ledger.reported} replies reported done, {len(ledger.told)} exchanges")
    assert ledger.reported > 100


@pytest.mark.soak
def test_two_processes_on_one_owner_lose_nothing_when_they_are_killed(zoo: Zoo, tmp_path: Path) -> None:
    ledger = soak(zoo, tmp_path, kills=40, seed=4, talkers=2)
    assert ledger.reported > 100
