"""A whole ``/query`` at the size of an owner's full memory, stage by stage, and over HTTP on loopback.

    python benchmarks/query.py [--events 20000] [--facts 3000] [--queries 200] [--json]

The memory is made up, deterministic, in a throw-away folder as plain files. The embedding is a stand-in of 256 dimensions
(that of a real model is counted apart: it is the same for every system). Each query comes with a reply of some forty
characters. Seed 004 measured on its own machine and data: vector 9-11 ms, entities 191-365 ms, expansion 4-6 ms,
reranking 170-600 ms.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx
from entities import facts, queries, vocabulary

from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.compat.query import STAGES, query
from moechat.house import House
from moechat.model import Episode, Event, Exchange
from moechat.serve import server
from moechat.serve.agents import Agents

NOW = datetime(2025, 5, 20, 15, tzinfo=timezone(timedelta(hours=8)))
CHARACTER = "bench"
PER_DAY = 60
FORMS = (
    "用户说起{0}，角色想到了{1}",
    "两个人一起去{0}，后来又聊到{1}和{2}",
    "用户因为{0}有点难过，角色用{1}安慰了用户",
)


def episodes(count: int, words: list[str], rng: random.Random) -> tuple[list[Exchange], list[Episode]]:
    """Exchanges with an event each, ``PER_DAY`` a day until now."""
    said, told = [], []
    for number in range(count):
        at = NOW - timedelta(days=(count - number) / PER_DAY)
        exchange = Exchange(f"b{number:06d}", at.replace(microsecond=0), "嗯。", "好。")
        about = rng.randrange(len(words))
        near = [words[(about + rng.randrange(-20, 21)) % len(words)] for _ in range(3)]
        text = rng.choice(FORMS).format(words[about], *near) + f"（第{number}次）"
        event = Event(text, (exchange.id,), keywords=(words[about], *near), place=rng.choice(words), insight="用户在意")
        said.append(exchange)
        told.append(Episode(f"e{number:06d}", exchange.at, event))
    return said, told


def fill(house: House, events: int, known: int, words: list[str]) -> None:
    """Write the memory and make its vectors."""
    rng = random.Random(4)
    agent = house.agent(CHARACTER)
    said, told = episodes(events, words, rng)
    agent.store.days.add(said)
    for start in range(0, len(told), 2000):
        agent.store.findings.put(told[start : start + 2000])
    agent.store.findings.put(facts(known, words, rng))
    agent.finish()
    agent.settle_indexes()


def p50_p95(took: list[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(took), 2), "p95": round(sorted(took)[int(0.95 * len(took))], 2)}


def run(events: int, known: int, count: int) -> list[dict[str, Any]]:
    words = vocabulary()
    texts = queries(count, words, random.Random(9))
    with tempfile.TemporaryDirectory(prefix="moechat-bench-") as name:
        folder = Path(name)
        (folder / "data" / "agents" / CHARACTER).mkdir(parents=True)
        (folder / "config.yaml").write_text("time: {zone: Asia/Shanghai}\n", encoding="utf-8")
        model = ScriptedModel([], understands=False)
        with House(
            folder / "data", folder / "config.yaml", clock=SetClock(NOW), model=model, embedder=HashEmbedder(256)
        ) as house:
            fill(house, events, known, words)
            rows = [*_stages(house, texts), *_over_http(house, texts)]
    return rows


def _stages(house: House, texts: list[str]) -> list[dict[str, Any]]:
    by_stage: dict[str, list[float]] = {stage: [] for stage in (*STAGES, "whole query", "embedding (stand-in)")}
    with Agents(house).lent(CHARACTER, None) as agent:
        begun = time.perf_counter()
        answer = query(agent.layers, texts[0], score_threshold=0)
        first_ms = (time.perf_counter() - begun) * 1000
        found = {"events": len(agent.layers.episodes.view(NOW)), "facts": len(agent.layers.entities.index().facts)}
        for text in texts:
            reply, said = text[:40], text[40:]
            begun = time.perf_counter()
            agent.store.follow()
            agent.layers.refresh()
            agent.layers.sync()
            answer = query(agent.layers, said, previous_reply=reply, score_threshold=0)
            by_stage["whole query"].append((time.perf_counter() - begun) * 1000)
            for stage, told in answer["additional_info"]["检索耗时"].items():
                by_stage[stage].append(float(told.split()[0]))
            begun = time.perf_counter()
            agent.dense.query([text])
            by_stage["embedding (stand-in)"].append((time.perf_counter() - begun) * 1000)
    return [{"stage": "memory", **found, "first_ms": round(first_ms, 1)}] + [
        {"stage": stage} | p50_p95(took) for stage, took in by_stage.items()
    ]


def _over_http(house: House, texts: list[str]) -> list[dict[str, Any]]:
    rows = []
    with server.running(house) as url, httpx.Client(base_url=url, timeout=60) as client:
        for path, field in (("/query", "query"), ("/query_simple", "query"), ("/expand_words", "sentence")):
            took = []
            for text in texts:
                begun = time.perf_counter()
                client.post(path, json={field: text[40:] or text}).raise_for_status()
                took.append((time.perf_counter() - begun) * 1000)
            rows.append({"stage": f"POST {path}"} | p50_p95(took[1:]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--facts", type=int, default=3_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for row in run(args.events, args.facts, args.queries):
        told = "  ".join(f"{name} {value}" for name, value in row.items() if name != "stage")
        print(json.dumps(row, ensure_ascii=False) if args.json else f"{row['stage']:<24} {told}")


if __name__ == "__main__":
    main()
