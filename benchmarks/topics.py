"""What topics cost at a size: a made-up diary of slices in a tree of topics, measured in a fresh process.

    python benchmarks/topics.py [--slices 100000] [--topics 5000] [--json]

*index* is ``index.topic.TopicTable`` alone: one topic path to its slices (``collect``), on topics of the usual size, and on the
one great topic that a twentieth of all slices stand in. *recall* is ``memory.topics.Topics.recall`` with all of a message: its
words, the table of domains, and the slices that it resembles; the message names a topic. Medians of CPU milliseconds. *start*
is making the table from the episodes, *mb* the resident memory that it adds. No embedding model takes part.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.bench.speed import _median, rss_mb
from moechat.clock import SetClock
from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.index.topic import TopicTable
from moechat.memory.episodes import Episodes
from moechat.memory.topics import Topics
from moechat.model import ActivationProfile, Episode, Event
from moechat.store.files import FileStore
from moechat.store.finding_records import Noted

NOW = datetime(2025, 5, 21, 15, tzinfo=UTC)
GREAT = "日常->琐事"
PER_DAY = 30
QUERIES = 300


def paths(topics: int) -> list[str]:
    """``topics`` paths with made-up names of two characters, three deep: fifty broad ones, each with as many as it takes."""
    chance = random.Random(5)
    letters = [chr(code) for code in range(0x5000, 0x5400)]
    names = [
        one + other
        for one, other in zip(chance.choices(letters, k=topics), chance.choices(letters, k=topics), strict=True)
    ]
    broad = names[: min(50, topics)]
    middle = [f"{broad[i % len(broad)]}->{name}" for i, name in enumerate(names[50 : 50 + topics // 10])]
    narrow = [f"{middle[i % len(middle)]}->{name}" for i, name in enumerate(names[50 + len(middle) :])]
    return broad + middle + narrow


def episodes(slices: int, topics: int) -> Iterator[Episode]:
    chance = random.Random(7)
    known = paths(topics)
    for i in range(slices):
        path = GREAT if i % 20 == 0 else known[i % len(known)]
        related = (chance.choice(known),) if chance.random() < 0.3 else ()
        profile = ActivationProfile(*(round(chance.random(), 1) for _ in range(3)))
        event = Event(
            f"用户提到了{path.rpartition('>')[2]}的第{i}件事",
            (f"x{i:07}",),
            topic=path,
            related=related,
            profile=profile,
        )
        yield Episode(f"e{i:07}", NOW - timedelta(minutes=48 * (slices - i)), event)


def opened(folder: Path) -> tuple[FileStore, Episodes, Topics]:
    store = FileStore(folder, clock=SetClock(NOW), zone=UTC)
    dense = Dense(folder / ".index", None)
    known = Episodes(store, dense)
    return store, known, Topics(store, known, dense)


def write(folder: Path, slices: int, topics: int) -> None:
    store, *_ = opened(folder)
    days: dict[str, list[Episode]] = {}
    for episode in episodes(slices, topics):
        days.setdefault(f"memorys/{episode.at.date().isoformat()}.notes.yaml", []).append(episode)
    with store.cache.transaction():
        for file, told in days.items():
            store.findings.set_notes(file, [Noted(one.event.sources[0], episodes=(one,)) for one in told])
    store.close()


def timed(run: Callable[[int], object], count: int) -> float:
    run(0)
    return _median(run, count)


def measure(folder: Path, topics: int) -> dict[str, object]:
    names = paths(topics)
    return whole(folder, names)


def index(tree: TopicTable, names: list[str]) -> dict[str, object]:
    now = NOW.timestamp()
    return {
        "slices_of_a_topic": statistics.median(tree.keys(path).size for path in names),
        "index_ms": timed(lambda i: tree.collect(names[-1 - i * 7 % len(names)], now), QUERIES),
        "slices_of_the_great": tree.keys(GREAT).size,
        "index_great_ms": timed(lambda i: tree.collect(GREAT, now), 50),
    }


def whole(folder: Path, names: list[str]) -> dict[str, object]:
    store, known, made = opened(folder)
    known.sync()
    known.view(NOW)
    begun, before = time.process_time(), rss_mb()
    made.sync()
    start_s, mb = time.process_time() - begun, rss_mb() - before
    cues = [Cue(f"还记得{names[-1 - i * 7 % len(names)].rpartition('>')[2]}吗", NOW) for i in range(QUERIES)]
    great = [Cue("那些琐事", NOW) for _ in range(50)]
    begun = time.process_time()
    made.recall(Cue("你好", NOW), NOW)
    first_s = time.process_time() - begun
    left = reversed(names)
    found = {
        **index(made.table, names),
        "mb": round(mb, 1),
        "start_s": round(start_s, 3),
        "first_recall_ms": round(first_s * 1000, 1),
        "recall_ms": timed(lambda i: made.recall(cues[i], NOW), QUERIES),
        "recall_great_ms": timed(lambda i: made.recall(great[i], NOW), 50),
        "tree_text_ms": timed(lambda i: made.tree_text(600), 5),
        "overview_ms": timed(lambda i: made.overview(NOW), 5),
        "rename_ms": timed(lambda i: made.move(next(left), f"别处->{i}"), 5),
    }
    store.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.measure:
        print(json.dumps(measure(Path(told.measure), told.topics)))
        return
    with tempfile.TemporaryDirectory(prefix="moechat-topics-") as name:
        write(Path(name), told.slices, told.topics)
        command = [
            sys.executable,
            __file__,
            "--measure",
            name,
            "--slices",
            str(told.slices),
            "--topics",
            str(told.topics),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"the measuring process failed:\n{done.stderr}")
    found = {"slices": told.slices, "topics": told.topics, **json.loads(done.stdout)}
    print(json.dumps(found) if told.json else "\n".join(f"{key:>22}  {value}" for key, value in found.items()))


if __name__ == "__main__":
    main()
