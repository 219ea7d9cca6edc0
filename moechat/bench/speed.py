"""The cost of memory at a size: ``moechat bench speed``. A made-up diary, a stand-in embedding, each figure beside its
floor.

Times are CPU time of all threads in milliseconds (start: seconds), medians; imports and embedding are not counted. The figures
are taken in a fresh process, on a diary that another one wrote.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import numpy as np

from moechat import when
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.model import Exchange

DIM = 384
PER_YEAR = 18_000
NOW = datetime(2025, 5, 21, 15, tzinfo=UTC)
CHARACTER = "bench"
WHO = ("我", "我妈妈", "室友", "同事小林", "我弟弟", "楼下的猫", "老师", "邻居")
DID = ("吃了", "看了", "买了", "聊到", "想起", "弄丢了", "修好了", "喜欢上", "讨厌", "画了", "拍了", "读完了")
WHAT = tuple(
    "火锅 一场电影 雨伞 香菜 旧照片 自行车 一本小说 桂花糕 吉他 露营的帐篷 键盘 海边的石头 围巾 咖啡豆".split()
)
WHERE = ("在公司", "在江边", "在图书馆", "回家路上", "在菜市场", "在车站", "在山顶", "下班以后", "周末的时候")
QUESTIONS = ("我们聊过火锅吗", "室友在江边买了什么", "谁弄丢了雨伞", "读完的那本小说怎么样", "妈妈喜欢吃什么")


def speed(entries: int) -> dict[str, object]:
    """Write a diary of ``entries`` exchanges into a throw-away folder and measure it in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as name:
        folder = Path(name)
        begun = time.perf_counter()
        _write(folder, entries)
        written_s = time.perf_counter() - begun
        command = [sys.executable, "-m", "moechat.bench.speed", str(folder), str(entries)]
        process = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
        if process.returncode:
            raise RuntimeError(f"the measuring process failed:\n{process.stderr}")
        figures: dict[str, object] = json.loads(process.stdout)
        return figures | {"written_s": round(written_s, 1)}


def exchanges(entries: int) -> list[Exchange]:
    """A made-up diary of ``PER_YEAR`` exchanges a year that ends at ``NOW``; the same one every time."""
    chance = random.Random(7)
    step = timedelta(days=365) / PER_YEAR
    made = []
    for i in range(entries):
        sentence = "，".join(
            f"{chance.choice(WHO)}{chance.choice(WHERE)}{chance.choice(DID)}{chance.choice(WHAT)}" for _ in range(2)
        )
        at = (NOW - step * (entries - i)).replace(microsecond=0)
        reply = f"听起来{chance.choice(WHAT)}不错，{sentence[:6]}。"
        made.append(Exchange(f"b{i:07d}", at, f"{sentence}，第{i}次", reply))
    return made


def _house(folder: Path) -> House:
    (folder / "data" / "agents" / CHARACTER).mkdir(parents=True, exist_ok=True)
    config = folder / "config.yaml"
    if not config.exists():
        config.write_text("time: {zone: UTC}\n", encoding="utf-8")
    return House(
        folder / "data", config, clock=SetClock(NOW), model=ScriptedModel(["好的。"] * 1000, understands=False),
        embedder=HashEmbedder(DIM),
    )  # fmt: skip


def _write(folder: Path, entries: int) -> None:
    with _house(folder) as house:
        agent = house.agent(CHARACTER)
        agent.store.imports.add(exchanges(entries), talk="past", by="rules")
        agent.finish()
        agent.settle_indexes()


# ---- the measuring process


def _measure(folder: Path, entries: int) -> dict[str, object]:
    house = _house(folder)
    house.ready()
    before_mb = _rss_mb()
    begun = time.process_time()
    agent = house.agent(CHARACTER)
    start_s = time.process_time() - begun
    agent.settle_indexes()
    year_rows = min(entries, PER_YEAR)
    figures: dict[str, object] = {
        "entries": entries,
        "start_s": round(start_s, 3),
        "by_time_ms": _by_time(agent),
        "filter_year_ms": _filter_year(agent),
        "follow_ms": _median(lambda _: agent.store.follow(), 40),
        "recall_ms": _recall(agent),
        "recall_stages_ms": _stages(agent),
        "append_ms": _append(agent),
        "rss_mb": round(_rss_mb() - before_mb, 1),
        "floors": _floors(folder, entries, year_rows),
    }
    house.close()
    return figures


def _median(run: Callable[[int], object], times: int, clock: Callable[[], float] = time.process_time) -> float:
    """Median milliseconds, of CPU time or of another clock's."""
    taken = []
    for i in range(times):
        begun = clock()
        run(i)
        taken.append(clock() - begun)
    return round(statistics.median(taken) * 1000, 3)


def _recall(agent: Agent) -> float:
    """The cost of recall without what the stand-in embedding takes."""
    embedder = HashEmbedder(DIM)
    whole = _median(lambda i: agent.recall(QUESTIONS[i % len(QUESTIONS)]), 40)
    return round(whole - _median(lambda i: embedder.embed([QUESTIONS[i % len(QUESTIONS)]], "query"), 40), 3)


def _stages(agent: Agent) -> dict[str, float]:
    """Wall milliseconds of each stage and recipe of recall, medians; the stand-in embedding is in them (about .1 ms)."""
    taken: dict[str, list[float]] = {}
    for i in range(40):
        for name, spent in agent.recall(QUESTIONS[i % len(QUESTIONS)]).timing_ms.items():
            taken.setdefault(name, []).append(spent)
    return {name: round(statistics.median(values), 3) for name, values in taken.items()}


def _by_time(agent: Agent) -> float:
    """The cost of recalling a named day without reading the time words: the index, and the words of its exchanges."""
    span = when.resolve("昨天", NOW)[0]
    return _median(lambda _: agent.layers.diary.day(span), 200)


def _filter_year(agent: Agent) -> float:
    """A year, filtered by meaning (``is_check_memorys``): every exchange of it is compared."""
    span = when.resolve("去年6月到今年5月", NOW)[0]
    vector = HashEmbedder(DIM).embed([QUESTIONS[0]], "query")[0]
    return _median(lambda _: agent.layers.diary.index.filtered(span, vector, 0.3), 40)


def _append(agent: Agent) -> float:
    """One whole exchange made durable: message and reply in the log, the one before settled and in its day file. Wall time."""

    def append(i: int) -> None:
        id_ = agent.store.log.begin(f"今天第{i}件事", NOW + timedelta(minutes=i))
        agent.store.log.finish(id_, "好的。", "done")

    spent_ms = _median(append, 60, time.perf_counter)
    agent.layers.diary.index.sync()
    return spent_ms


def _floors(folder: Path, entries: int, year_rows: int) -> dict[str, float]:
    """The cost of the bare work on this machine: a scan, a write with fsync."""
    rng = np.random.default_rng(7)
    query = rng.standard_normal(DIM).astype(np.float32)
    year = rng.standard_normal((year_rows, DIM), dtype=np.float32)
    everything = np.full((entries, DIM), 0.01, dtype=np.float32)  # A vector for each exchange, for a flat scan.
    moments = np.sort(rng.random(entries))
    with open(folder / "floor", "ab") as file:
        append = _median(lambda _: _durable(file), 60, time.perf_counter)
    return {
        "by_time_ms": _median(lambda _: np.searchsorted(moments, [0.5, 0.51]), 200),
        "filter_year_ms": _median(lambda _: year @ query, 40),
        "append_ms": append,
        "recall_ms": _median(lambda _: everything @ query, 5),
    }


def _durable(file: BinaryIO) -> None:
    file.write(b"x" * 400)
    file.flush()
    os.fsync(file.fileno())


def _rss_mb() -> float:
    """Resident memory of this process without mapped files, which the system takes back at will; elsewhere the peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        resident, mapped = map(int, status.read_text().split()[1:3])
        return (resident - mapped) * 4096 / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measure(Path(sys.argv[1]), int(sys.argv[2]))))
