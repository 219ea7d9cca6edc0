"""Many owners over HTTP: requests a second, and what an open owner costs.

    python benchmarks/owners.py [--owners 10 16 32 200 1000] [--open 256] [--requests 200] [--json]

A server in a child process on the loopback address; each owner is a user of one character with two exchanges. Queries go to
the owners in turn, over four connections; a first round that opens them is not counted. The embedding is a stand-in without
weights. CPU is the server's own.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx
import yaml

from moechat.house import House
from moechat.serve import server

CHARACTER = "bench"
CONNECTIONS = 4
TALK = ("我住在杭州，喜欢喝龙井", "昨天和小李去爬山了")


def build(folder: Path, owners: int, most_open: int) -> House:
    """A house with so many owners, each with two exchanges."""
    character = folder / "data" / "agents" / CHARACTER
    if not character.exists():
        character.mkdir(parents=True)
        (character / "character.yaml").write_text(yaml.safe_dump({"name": CHARACTER, "language": "zh"}), "utf-8")
    settings = {"Agent": {"char": CHARACTER}, "embedding": {"provider": "hash"}, "owners": {"open": most_open}}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), "utf-8")
    house = House(folder / "data", folder / "config.yaml")
    for user in map(str, range(owners)):
        if not house.has_memory_of(CHARACTER, user):
            with house.lent(CHARACTER, user) as agent:
                for text in TALK:
                    agent.record(text, "嗯。", agent.now())
                agent.finish()
    return house


def serve(folder: Path) -> None:
    """The child: it serves, and says what it costs for each line that it reads."""
    with House(folder / "data", folder / "config.yaml") as house, server.running(house) as url:
        print(json.dumps({"url": url}), flush=True)
        for _ in sys.stdin:
            print(json.dumps(costs()), flush=True)


def costs() -> dict[str, float]:
    """Of this process: CPU so far, threads, and on Linux open descriptors and resident memory."""
    row: dict[str, float] = {"cpu_s": time.process_time(), "threads": threading.active_count()}
    proc = Path("/proc/self")
    if proc.exists():
        row["descriptors"] = len(list((proc / "fd").iterdir()))
        row["rss_mb"] = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return row


@contextmanager
def child(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, __file__, "--serve", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            assert process.stdin
            process.stdin.close()


def line(process: subprocess.Popen[str], ask: bool = True) -> dict[str, float]:
    assert process.stdin and process.stdout
    if ask:
        process.stdin.write("costs\n")
        process.stdin.flush()
    row: dict[str, float] = json.loads(process.stdout.readline())
    return row


def measure(folder: Path, owners: int, requests: int) -> dict[str, float]:
    with child(folder) as process:
        url = str(line(process, ask=False)["url"])
        with httpx.Client(base_url=url, timeout=120.0) as client, ThreadPoolExecutor(CONNECTIONS) as pool:

            def query(i: int) -> None:
                client.post("/query", json={"query": "在哪里喝茶", "user": str(i % owners)}).raise_for_status()

            query(0)
            empty = line(process)
            list(pool.map(query, range(owners)))
            before, begun = line(process), time.perf_counter()
            list(pool.map(query, range(requests)))
            wall_s, after = time.perf_counter() - begun, line(process)
    row = {
        "owners": owners,
        "requests_a_s": round(requests / wall_s, 1),
        "cpu_ms_a_request": round((after["cpu_s"] - before["cpu_s"]) * 1000 / requests, 2),
        "threads": after["threads"],
    }
    if "rss_mb" in after:
        row |= {
            "descriptors": after["descriptors"],
            "rss_mb": round(after["rss_mb"], 1),
            "kb_an_owner": round((before["rss_mb"] - empty["rss_mb"]) * 1024 / max(owners - 1, 1), 1),
        }
    return row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--owners", type=int, nargs="+", default=[10, 16, 32, 200, 1000])
    options.add_argument("--open", type=int, default=256, help="owners.open of the configuration")
    options.add_argument("--requests", type=int, default=200)
    options.add_argument("--json", action="store_true")
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.serve:
        serve(args.serve)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), max(args.owners), args.open).close()
        for owners in args.owners:
            row = measure(Path(folder), owners, max(args.requests, owners))
            print(
                json.dumps(row) if args.json else "  ".join(f"{name}: {value}" for name, value in row.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
