"""Word expansion and entity search at the size of an owner's full memory, beside a plain loop over the facts.

    python benchmarks/entities.py [--events 20000] [--facts 3000] [--queries 200] [--json]

The memory is made up, deterministic, and of the words of our own association table. Each query is a message of some twenty
characters and a reply of some forty; it is expanded over the shipped table and the words told together in all events and
facts. *cold* forgets before each query what was asked before. The plain loop is seed 004's: every word against every field
of every fact, ``in``. Seed 004 measured 4-6 ms for expansion and 191-365 ms for entities (its own machine and data).
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.language.association import base_words, expand, read_table, shipped
from moechat.memory.contradiction import FactView, FiledFacts, group
from moechat.memory.cooccurrence import Cooccurrence
from moechat.memory.entities import PLANS, Asked, EntityIndex
from moechat.model import Fact, FactDraft

NOW = datetime(2025, 5, 20, 15, tzinfo=timezone(timedelta(hours=8)))
USER, CHARACTER = "朵朵", "沈砚"
NAMED = ("小林", "老周", "阿澈", "妈妈", "室友", "蓝玫瑰画廊")
PLAIN_QUERIES = 10  # of the plain loop: it is slow
FACT_FORMS = ("{0}喜欢{1}，也常常提到{2}", "{0}因为{1}想起了{2}", "{0}不喜欢{1}和{2}", "{0}打算在{1}之后去{2}")
SAID = ("今天聊到{0}，我突然想起{1}，你还记得吗", "{0}的时候总想着{1}，好累", "周末想去{0}，顺便{1}怎么样")
REPLIED = ("我当然记得，{0}和{1}都是你说过的事，还有{2}。要不要再和我讲讲？我一直想听{3}的后来。",)


def vocabulary() -> list[str]:
    path = shipped().path
    entries, _ = read_table(path.read_text(encoding="utf-8"), path)
    chinese = {word for word in entries if not word.isascii()}
    return sorted(chinese | {near for word in chinese for near, _ in entries[word]})


def events(count: int, words: Sequence[str], rng: random.Random) -> list[tuple[str, ...]]:
    """Keywords of events; what stands close in the vocabulary is told of together."""
    found = []
    for _ in range(count):
        about = rng.randrange(len(words))
        near = [words[(about + rng.randrange(-20, 21)) % len(words)] for _ in range(4)]
        found.append((words[about], *near, rng.choice(words)))
    return found


def facts(count: int, words: Sequence[str], rng: random.Random) -> list[Fact]:
    found = []
    for number in range(count):
        entity = rng.choice(["user", "user", "user", "character", *NAMED])
        target = rng.choice(["user", *rng.sample(words, 3)])
        draft = FactDraft(
            rng.choice(FACT_FORMS).format("用户" if entity == "user" else entity, *rng.sample(words, 2)),
            (f"x{number}",),
            rng.choices(["attribute", "relation", "picture"], [6, 3, 1])[0],  # type: ignore[arg-type]
            entity,
            rng.choice(words),
            target,
        )
        found.append(Fact(f"f{number:05}", NOW - timedelta(hours=3 * number), draft))
    return found


def queries(count: int, words: Sequence[str], rng: random.Random) -> list[str]:
    return [
        rng.choice(REPLIED).format(*rng.sample(words, 4)) + rng.choice(SAID).format(*rng.sample(words, 2))
        for _ in range(count)
    ]


def plain(known: Sequence[Fact], groups: Sequence[str], asked: Sequence[Asked], version: str) -> int:
    """How many facts the version finds, by the plain loop."""
    plan = PLANS[version]  # type: ignore[index]
    stages = [(set(stage.groups), stage.fields) for stage in plan.stages]
    stages = stages or [(set(plan.labels), tuple(plan.boosts or ()))]
    found = set()
    for members, fields in stages:
        for fact, whose in zip(known, groups, strict=True):
            draft = fact.draft
            if fact.id in found or whose not in members:
                continue
            texts = {"keyword": draft.keyword, "entity_name": draft.entity, "description": draft.text}
            if [word for word, _ in asked for name in fields if word in texts[name]]:
                found.add(fact.id)
    return len(found)


def p50_p95(run: Callable[[int], object], count: int) -> tuple[float, float]:
    took = []
    for i in range(count):
        start = time.perf_counter()
        run(i)
        took.append((time.perf_counter() - start) * 1000)
    return round(statistics.median(took), 3), round(sorted(took)[int(0.95 * len(took))], 3)


def measured(make: Callable[[], object]) -> tuple[object, float, float]:
    """(what was made, ms, MB that it holds); the time is of a run of its own."""
    start = time.perf_counter()
    make()
    took = (time.perf_counter() - start) * 1000
    tracemalloc.start()
    made = make()
    held = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return made, round(took, 1), round(held, 1)


def indexed(files: FiledFacts, known: Sequence[Fact]) -> EntityIndex:
    return EntityIndex(FactView(files, files.filed(known)))


def run(event_count: int, fact_count: int, query_count: int) -> list[dict[str, object]]:
    rng = random.Random(4)
    words = vocabulary()
    told, known = events(event_count, words, rng), facts(fact_count, words, rng)
    texts = queries(query_count, words, rng)
    base_words(texts[0])  # reads jieba's dictionary

    def gather() -> Cooccurrence:
        source = Cooccurrence(names=(USER, CHARACTER))
        records = {fact.id: (fact.draft.keyword, fact.draft.target, fact.draft.entity) for fact in known} | dict(
            enumerate(told)
        )
        source.follow(0, lambda: records, lambda new: [records[key] for key in new])
        return source

    together, gather_ms, gather_mb = measured(gather)
    index, index_ms, index_mb = measured(lambda: indexed(FiledFacts(USER, CHARACTER), known))
    assert isinstance(together, Cooccurrence) and isinstance(index, EntityIndex)
    newer = facts(1, words, random.Random(5))
    start = time.perf_counter()
    indexed(index.view.files, [*known, *newer])
    again_ms = round((time.perf_counter() - start) * 1000, 1)
    rows: list[dict[str, object]] = [
        {"stage": "words told together: built", "ms": gather_ms, "mb": gather_mb},
        {"stage": "entity index: built", "ms": index_ms, "mb": index_mb},
        {"stage": "entity index: one fact more", "ms": again_ms},
    ]
    sources = [shipped(), together]
    base = [base_words(text, names=(USER, CHARACTER)) for text in texts]
    rows.append(_row("base words (segmentation)", p50_p95(lambda i: base_words(texts[i]), query_count)))
    expanded = [expand(asked, sources) for _, asked in base]
    rows.append(_row("expansion to 100", p50_p95(lambda i: expand(base[i][1], sources), query_count)))
    groups = [group(fact.draft, USER, CHARACTER) for fact in known]
    for count in (100, 500):  # what the sources give, filled up at random to what the seed allows
        asked_words = [
            [*((word, None) for word in of), *found, *((word, 3) for word in rng.sample(words, count - len(found)))]
            for (_, of), found in zip(base, expanded, strict=True)
        ]
        for version in PLANS:
            fast = p50_p95(
                lambda i, v=version, a=asked_words: index.search(a[i], now=NOW, version=v, limit=5), query_count
            )
            slow = p50_p95(
                lambda i, v=version, a=asked_words: plain(known, groups, a[i], v), min(PLAIN_QUERIES, query_count)
            )
            row = _row(f"entities {version}, {len(asked_words[0])} words", fast)
            rows.append({**row, "plain_p50": slow[0], "ratio": round(slow[0] / fast[0], 1)})
    return rows


def _row(stage: str, took: tuple[float, float]) -> dict[str, object]:
    return {"stage": stage, "p50": took[0], "p95": took[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--facts", type=int, default=3_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = run(args.events, args.facts, args.queries)
    for row in rows:
        told = "  ".join(f"{name} {value}" for name, value in row.items() if name != "stage")
        print(json.dumps(row, ensure_ascii=False) if args.json else f"{row['stage']:<36} {told}")


if __name__ == "__main__":
    main()
