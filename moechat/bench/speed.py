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
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import numpy as np

from moechat import when
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.bench import corpus
from moechat.bench.turn_cost import ApartEmbedder, QuickModel, quantiles, rss_mb, taken
from moechat.clock import SetClock
from moechat.house import House

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


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
