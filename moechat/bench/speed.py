"""The cost of memory at a size: ``moechat bench speed``. A made-up life (``corpus``), a stand-in embedding, each figure beside
its floor.

Times are CPU time of all threads in milliseconds (start: seconds), medians or [p50, p95, p99]; imports, embedding and model
are not counted. The figures are taken in a fresh process, on a memory that another one wrote.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from moechat import when
from moechat.agent import Agent
from moechat.ai.chat_model import ChatRequest
from moechat.ai.embedding import HashEmbedder
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.window import Window
from moechat.bench import corpus
from moechat.clock import SetClock
from moechat.errors import ModelError
from moechat.house import House
from moechat.model import Kind, Message
from moechat.turn import Recalled

DIM = 384
CHARACTER = "bench"
TURNS = 200


def speed(entries: int) -> dict[str, object]:
    """Write a memory of ``entries`` exchanges into a throw-away folder and measure it in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as name:
        folder = Path(name)
        begun = time.perf_counter()
        write(folder, entries)
        written_s = time.perf_counter() - begun
        command = [sys.executable, "-m", "moechat.bench.speed", str(folder), str(entries)]
        process = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
        if process.returncode:
            raise RuntimeError(f"the measuring process failed:\n{process.stderr}")
        figures: dict[str, object] = json.loads(process.stdout)
        return figures | {"written_s": round(written_s, 1)}


def house(folder: Path, clock: SetClock, embedder: HashEmbedder) -> House:
    """The house over a folder, which gets its settings and its world book where it has none."""
    lore = folder / "data" / "agents" / CHARACTER / "data_base" / "city.yaml"
    lore.parent.mkdir(parents=True, exist_ok=True)
    config = folder / "config.yaml"
    if not config.exists():
        config.write_text("time: {zone: UTC}\n", encoding="utf-8")
        lore.write_text(corpus.world_book(), encoding="utf-8")
    return House(folder / "data", config, clock=clock, model=QuickModel(), embedder=embedder)


def write(folder: Path, entries: int, facts: int = corpus.FACTS) -> None:
    """A memory of ``entries`` exchanges, with what was understood of them."""
    with house(folder, SetClock(corpus.NOW), HashEmbedder(DIM)) as opened:
        agent, diary = opened.agent(CHARACTER), corpus.exchanges(entries)
        agent.store.imports.add(diary, talk="past", by="rules")
        agent.store.findings.put(corpus.episodes(diary, agent.config.forgetting.cap))
        agent.store.findings.put(corpus.facts(diary, facts))
        agent.finish()
        agent.layers.read_all()
        agent.layers.embed(threading.Event())


# ---- the measuring process


def measure(folder: Path, entries: int, turns: int = TURNS) -> dict[str, object]:
    """What the memory in ``folder`` costs, in this process."""
    clock, embedder = SetClock(corpus.NOW), ApartEmbedder(DIM)
    opened = house(folder, clock, embedder)
    opened.ready()
    before_mb = rss_mb()
    begun = time.process_time()
    agent = opened.agent(CHARACTER)
    start_s = time.process_time() - begun
    agent.settle_indexes()
    figures: dict[str, object] = {
        "entries": entries,
        "start_s": round(start_s, 3),
        "by_time_ms": _by_time(agent),
        "follow_ms": _median(lambda _: agent.store.follow(), 40),
        "recall_ms": _recall(agent, embedder),
        "recall_stages_ms": _stages(agent),
        "append_ms": _append(agent),
    }
    costs = taken(agent, clock, embedder, turns)
    figures |= {
        "turn_ms": costs.milliseconds(),
        "turn_by_kind_ms": costs.by_kind(),
        "turn_kb": costs.kilobytes(),
        "tick_ms": _median(lambda _: agent.jobs.tick(), 20),
        "rss_mb": round(rss_mb() - before_mb, 1),
        "floors": _floors(agent, folder, entries),
    }
    opened.close()
    return figures


def _median(run: Callable[[int], object], times: int, clock: Callable[[], float] = time.process_time) -> float:
    """Median milliseconds, of CPU time or of another clock's."""
    taken = []
    for i in range(times):
        begun = clock()
        run(i)
        taken.append(clock() - begun)
    return round(statistics.median(taken) * 1000, 3)


def _recall(agent: Agent, embedder: ApartEmbedder) -> list[float]:
    """[p50, p95, p99] CPU milliseconds of a whole recall, without what the stand-in embedding takes. One before them is not
    counted: it reads what the recipes need."""
    taken = []
    agent.recall(corpus.QUESTIONS[0])
    for (_, text), _ in zip(corpus.talk(), range(100), strict=False):
        begun = time.process_time() - embedder.spent[0]
        agent.recall(text)
        taken.append(1000 * (time.process_time() - embedder.spent[0] - begun))
    return quantiles(taken)


def _stages(agent: Agent) -> dict[str, float]:
    """Wall milliseconds of each stage and recipe of recall, medians; the stand-in embedding is in them (about .1 ms)."""
    taken: dict[str, list[float]] = {}
    for i in range(40):
        for name, spent in agent.recall(corpus.QUESTIONS[i % len(corpus.QUESTIONS)]).timing_ms.items():
            taken.setdefault(name, []).append(spent)
    return {name: round(statistics.median(values), 3) for name, values in taken.items()}


def _by_time(agent: Agent) -> float:
    """The cost of recalling a named day without reading the time words: the index, and the words of its exchanges."""
    span = when.resolve("昨天", corpus.NOW)[0]
    return _median(lambda _: agent.layers.diary.day(span), 200)


def _append(agent: Agent) -> dict[str, float]:
    """One whole exchange made durable: message and reply in the log, the one before settled and in its day file."""

    def append(i: int) -> None:
        id_ = agent.store.log.begin(f"今天第{i}件事", corpus.NOW + timedelta(minutes=i))
        agent.store.log.finish(id_, "好的。", "done")

    costs = {"cpu": _median(append, 60), "wall": _median(append, 60, time.perf_counter)}
    agent.layers.diary.index.sync()
    return costs


def _floors(agent: Agent, folder: Path, entries: int) -> dict[str, float]:
    """What the bare work costs on this machine: to parse the log, to scan vectors, to write durably. That of a turn: one scan
    and three such writes, in CPU time."""
    rng = np.random.default_rng(7)
    query = rng.standard_normal(DIM).astype(np.float32)
    everything = np.full((entries, DIM), 0.01, dtype=np.float32)  # A vector for each exchange, for a flat scan.
    moments = np.sort(rng.random(entries))
    assert agent.store.folder is not None  # It measures files.
    lines = (agent.store.folder / "log.jsonl").read_bytes().splitlines()
    with open(folder / "floor", "ab") as file:
        append = _median(lambda _: _durable(file), 60, time.perf_counter)
        append_cpu = _median(lambda _: _durable(file), 60)
    scan = _median(lambda _: everything @ query, 5)
    return {
        "start_s": round(_median(lambda _: list(map(json.loads, lines)), 3) / 1000, 3),
        "by_time_ms": _median(lambda _: np.searchsorted(moments, [0.5, 0.51]), 200),
        "append_ms": append,
        "recall_ms": scan,
        "turn_ms": round(scan + 3 * append_cpu, 3),
    }


def _durable(file: BinaryIO) -> None:
    file.write(b"x" * 400)
    file.flush()
    os.fsync(file.fileno())


# ---- what a turn costs: what users wait for, and the work behind it


STEPS = ("prompt", "ended", "behind")
IO = Path("/proc/self/io")


class ApartEmbedder(HashEmbedder):
    """The stand-in embedding, which counts the time that it takes (CPU and wall seconds), so that it can be left out."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.spent = np.zeros(2)

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        begun = np.array([time.thread_time(), time.perf_counter()])
        vectors = super().embed(texts, kind)
        self.spent += np.array([time.thread_time(), time.perf_counter()]) - begun
        return vectors


class QuickModel:
    """A chat model that takes no time: it always says the same, a few characters at a time."""

    name, understands, has_one_slot = "quick", False, False
    window = Window()

    def stream(self, request: ChatRequest) -> Iterator[str]:
        return iter([corpus.REPLY[at : at + 4] for at in range(0, len(corpus.REPLY), 4)])

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        raise ModelError("other", "this model only replies")

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        raise ModelError("other", "this model only replies")


@dataclass
class TurnCosts:
    """Of every turn: (CPU, wall) seconds from the message's arrival to its prompt and to its end, and of the work behind it,
    without the embedding; (CPU, wall) seconds of that; bytes (read, written)."""

    kinds: list[str] = field(default_factory=list)
    spent: dict[str, list[np.ndarray]] = field(default_factory=lambda: {name: [] for name in (*STEPS, "embedding")})
    moved: list[np.ndarray] = field(default_factory=list)

    def milliseconds(self) -> dict[str, dict[str, list[float]]]:
        """Step → cpu, wall → [p50, p95, p99]."""
        return {
            name: {clock: quantiles(1000 * np.array(rows)[:, i]) for i, clock in enumerate(("cpu", "wall"))}
            for name, rows in self.spent.items()
        }

    def by_kind(self) -> dict[str, list[float]]:
        """Kind of message → median CPU milliseconds of a turn, and of the work behind it."""
        rows: dict[str, list[list[float]]] = {}
        for kind, ended, behind in zip(self.kinds, self.spent["ended"], self.spent["behind"], strict=True):
            rows.setdefault(kind, []).append([float(ended[0]), float(behind[0])])
        return {kind: np.round(1000 * np.median(each, axis=0), 2).tolist() for kind, each in rows.items()}

    def kilobytes(self) -> dict[str, float] | None:
        """Medians, read and written; None where the system does not say."""
        if not self.moved:
            return None
        return dict(zip(("read", "written"), np.round(np.median(self.moved, axis=0) / 1000, 1).tolist(), strict=True))


def taken(agent: Agent, clock: SetClock, embedder: ApartEmbedder, count: int) -> TurnCosts:
    """Talk for ``count`` turns, two minutes apart; what is behind one is over before the next begins."""
    costs = TurnCosts()
    for (kind, text), _ in zip(corpus.talk(), range(count), strict=False):
        clock.advance(minutes=2)
        costs.kinds.append(kind)
        moved, begun = _moved(), _clocks(embedder)
        embedded = embedder.spent.copy()
        for event in agent.talk(text):
            if isinstance(event, Recalled):
                costs.spent["prompt"].append(_clocks(embedder) - begun)
        ended = _clocks(embedder)
        agent.settle_indexes()
        costs.spent["ended"].append(ended - begun)
        costs.spent["behind"].append(_clocks(embedder) - ended)
        costs.spent["embedding"].append(embedder.spent - embedded)
        if moved is not None and (after := _moved()) is not None:
            costs.moved.append(after - moved)
    return costs


def quantiles(values: Sequence[float] | np.ndarray) -> list[float]:
    """[p50, p95, p99], each a value that occurs."""
    ordered = sorted(map(float, values))
    return [round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) for share in (0.5, 0.95, 0.99)]


def _clocks(embedder: ApartEmbedder) -> np.ndarray:
    """(CPU of the process, wall) in seconds, without what the embedding took."""
    now: np.ndarray = np.array([time.process_time(), time.perf_counter()]) - embedder.spent
    return now


def _moved() -> np.ndarray | None:
    """Bytes that this process has read and written so far, from the system's memory too."""
    if not IO.exists():
        return None
    fields = dict(line.split(": ") for line in IO.read_text(encoding="ascii").splitlines())
    return np.array([int(fields["rchar"]), int(fields["wchar"])])


def rss_mb() -> float:
    """Resident memory of this process without mapped files, which the system takes back at will; elsewhere the peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        resident, mapped = map(int, status.read_text().split()[1:3])
        return (resident - mapped) * 4096 / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
