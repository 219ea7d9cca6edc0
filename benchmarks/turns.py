"""Thousands of turns through the server in one process: what a turn costs at the end against the beginning, and what grows.

    python benchmarks/turns.py [--turns 3000] [--trace]

The talk and the model are those of ``year_talk``, the clock is injected. Prints for each tenth of the run the CPU and the wait
of a turn (medians, ms), memory (MB), threads and open files. ``--trace`` says which lines of the code hold what was taken between
the second tenth and the last (slower, and the figures above are then of no use).
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter, process_time
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx
import yaml

from benchmarks.year_talk import Asked, Said, Talk
from moechat.ai.embedding import HashEmbedder
from moechat.bench.speed import rss_mb
from moechat.clock import SetClock
from moechat.house import House
from moechat.serve import server

ZONE = ZoneInfo("Asia/Shanghai")
FIRST = date(2025, 1, 1)
CHARACTER = "小满"
FRAMES = 6  # of the code that called


def messages() -> Iterator[Said]:
    talk, day = Talk(1, 40, ZONE), FIRST
    while True:
        yield from talk.day(day)
        day += timedelta(days=1)


def grown(before: tracemalloc.Snapshot, after: tracemalloc.Snapshot, turns: int, most: int = 30) -> None:
    """Print which lines hold more than before, in bytes a turn, each with those that called it."""
    for row in after.compare_to(before, "traceback")[:most]:
        places = ["/".join(frame.filename.split("/")[-2:]) + f":{frame.lineno}" for frame in row.traceback]
        print(f"{row.size_diff / turns:8.0f} B {row.count_diff / turns:7.1f} objects a turn  {' > '.join(places)}")


def build(folder: Path) -> Path:
    """A data folder with one character, and its config.yaml."""
    owner, config = folder / "data" / "agents" / CHARACTER, folder / "config.yaml"
    owner.mkdir(parents=True)
    who = {"name": CHARACTER, "user_name": "阿明", "language": "zh", "persona": "你是小满，爱听人说话。"}
    (owner / "character.yaml").write_text(yaml.safe_dump(who, allow_unicode=True), encoding="utf-8")
    settings = {"Agent": {"char": CHARACTER}, "time": {"zone": str(ZONE)}, "forgetting": {"cap": 800}}
    config.write_text(
        yaml.safe_dump(settings | {"recall": {"deadline_ms": 60_000}}, allow_unicode=True), encoding="utf-8"
    )
    return config


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3000)
    parser.add_argument("--trace", action="store_true", help="say which lines of the code hold what grows")
    args = parser.parse_args()
    asked, talk, part = Asked(), messages(), args.turns // 10
    with tempfile.TemporaryDirectory(prefix="moechat-turns-") as name:
        config, clock = build(Path(name)), SetClock(next(talk).at)
        with (
            House(Path(name) / "data", config, clock=clock, model=asked.model, embedder=HashEmbedder(256)) as house,
            server.running(house) as url,
            httpx.Client(base_url=url, timeout=120) as client,
        ):
            print("turns | CPU ms | wait ms | MB | threads | files", flush=True)
            before = None
            for number in range(1, 11):
                cpu, wait = list[float](), list[float]()
                for said, _ in zip(talk, range(part), strict=False):
                    clock.at = max(said.at, clock.at + timedelta(seconds=30))
                    body = {"model": CHARACTER, "messages": [{"role": "user", "content": said.text}]}
                    begun, used = perf_counter(), process_time()
                    client.post(
                        "/v1/chat/completions", json=body, headers={"x-moechat-chat": "long"}
                    ).raise_for_status()
                    wait.append((perf_counter() - begun) * 1000)
                    house.agent(CHARACTER).settle_indexes()
                    cpu.append((process_time() - used) * 1000)
                    if said.ends:
                        clock.advance(minutes=70)
                        house.agent(CHARACTER).jobs.tick()
                    asked.take()
                gc.collect()
                files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
                told = (statistics.median(cpu), statistics.median(wait), rss_mb())
                print(
                    number * part,
                    *(f"{value:.1f}" for value in told),
                    threading.active_count(),
                    files,
                    sep=" | ",
                    flush=True,
                )
                if args.trace and number == 2:
                    tracemalloc.start(FRAMES)
                    before = tracemalloc.take_snapshot()
            if before is not None:
                grown(before, tracemalloc.take_snapshot(), 8 * part)


if __name__ == "__main__":
    main()
