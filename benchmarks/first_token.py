"""How long a turn is silent before its first word, with so many exchanges behind it.

    python benchmarks/first_token.py [--entries 0 1000 10000] [--turns 20] [GGUF]

The life behind it is made up (``moechat.bench.corpus``), the talk goes on from it. Without a file the model takes no time, and
the figures are our own part; with one, llama.cpp reads the prompt in process. Milliseconds, wall clock and CPU of all threads,
medians and the longest; ``first`` is the first turn after the start, whose prompt nothing is kept of.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.local import LocalChatModel
from moechat.bench import corpus, speed
from moechat.bench.speed import QuickModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.turn import Delta


def silence_ms(agent: Agent, text: str) -> tuple[float, float]:
    """(wall, CPU) until the first word; the rest of the turn is not counted."""
    wall, cpu = time.perf_counter(), time.process_time()
    silence = (0.0, 0.0)
    for event in agent.talk(text):
        if isinstance(event, Delta) and silence == (0.0, 0.0):
            silence = (time.perf_counter() - wall, time.process_time() - cpu)
    return silence[0] * 1000, silence[1] * 1000


def figures(entries: int, turns: int, weights: str) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder, clock, embedder = Path(name), SetClock(corpus.NOW), HashEmbedder(speed.DIM)
        if entries:
            speed.write(folder, entries)
        else:
            speed.house(folder, clock, embedder).close()
        model = (
            LocalChatModel(weights, threads=1, temperature=0.0, extra={"max_tokens": 8}) if weights else QuickModel()
        )
        with House(folder / "data", folder / "config.yaml", clock=clock, model=model, embedder=embedder) as house:
            house.ready()
            agent = house.agent(speed.CHARACTER)
            agent.settle_indexes()
            silences = []
            for _, text in itertools.islice(corpus.talk(), turns):
                clock.advance(minutes=2)
                silences.append(silence_ms(agent, text))
                agent.settle_indexes()
    first, rest = silences[0], silences[1:]
    medians = [f"{statistics.median(each):.0f} (longest {max(each):.0f})" for each in zip(*rest, strict=True)]
    return (
        f"{entries:6} exchanges: first {first[0]:.0f} wall {first[1]:.0f} CPU; then wall {medians[0]}, CPU {medians[1]}"
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("weights", nargs="?", default="")
    parser.add_argument("--entries", type=int, nargs="+", default=[0, 1000, 10_000])
    parser.add_argument("--turns", type=int, default=20)
    options = parser.parse_args(argv)
    for entries in options.entries:
        print(figures(entries, options.turns, options.weights), flush=True)


if __name__ == "__main__":
    main()
