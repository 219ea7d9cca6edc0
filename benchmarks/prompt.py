"""What a provider can keep of a prompt from turn to turn, and what a hundred turns cost, with 青禾 as she ships.

    python benchmarks/prompt.py [--embedding builtin] [--seed 1] [--blocks] [--json]

The talk is scripted (``year_talk``): a hundred turns in one session, then ten days of ten turns in three sittings. The model
answers like a companion and understands as it does there. ``whole`` is the share of the prompts' tokens that equals the prompt
before from its start, ``stable`` the same of what stands before the history; the first prompt is compared with none. Tokens are
ours. ``--blocks`` adds how many tokens a prompt each block behind the history takes.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from benchmarks.year_talk import NIGHT, Said, Talk, understood
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.language.words import count_tokens
from moechat.model import Message
from moechat.turn import cost_of, size

CHARACTER, TURNS, DAYS = "青禾", 100, 10
FIRST = date(2025, 5, 20)
ZONE = ZoneInfo("Asia/Shanghai")
REPLIES = (
    "真好。我这边刚烧上水，芝麻趴在柜台上看雨。你慢慢说，我听着。",
    "我想想……上回你说起的时候还没有这样高兴。后来呢，是谁先开的口？",
    "那就先歇一歇。茶凉了可以再续，事情放到明天也不会长脚跑掉。",
    "这个我记下了，写在手背上。等你下回来，我拿给你看。",
)
_HEADING = re.compile(r"【.*?】|（")


def session(talk: Talk) -> Iterator[Said]:
    """A hundred turns without a pause and without a goodbye."""
    days = (talk.day(FIRST + timedelta(days=n)) for n in itertools.count())
    texts = (said.text for day in days for said in day if said.text != NIGHT)
    start = datetime.combine(FIRST, datetime.min.time(), ZONE).replace(hour=9)
    for n, text in enumerate(itertools.islice(texts, TURNS)):
        yield Said(start + timedelta(minutes=3 * n), text)


def days(talk: Talk) -> Iterator[Said]:
    for n in range(DAYS):
        yield from talk.day(FIRST + timedelta(days=n))


def spoken(folder: Path, said: Iterator[Said], embedding: str) -> ScriptedModel:
    """The model after the talk."""
    shutil.copytree(
        Path(__file__).resolve().parents[1] / "data" / "agents" / CHARACTER, folder / "data/agents" / CHARACTER
    )
    settings = {
        "Agent": {"char": CHARACTER}, "time": {"zone": str(ZONE)}, "recall": {"deadline_ms": 60_000},
        "embedding": {"provider": embedding},
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    clock = SetClock(datetime.combine(FIRST, datetime.min.time(), ZONE))
    replies = itertools.cycle(REPLIES)
    model = ScriptedModel(lambda _: next(replies), understood)
    with House(folder / "data", folder / "config.yaml", clock=clock, model=model) as house:
        house.ready()
        agent = house.agent()
        for one in said:
            clock.at = max(clock.at, one.at)
            agent.jobs.tick()
            agent.settle_indexes()
            for _ in agent.talk(one.text):
                pass
            agent.settle_indexes()
            if one.ends:
                clock.advance(hours=1, minutes=30)
                agent.jobs.tick()
                agent.settle_indexes()
    return model


def lead(messages: Sequence[Message]) -> list[Message]:
    """What stands before the history."""
    return list(itertools.takewhile(lambda message: message.role == "system", messages[:-2]))


def share(prompts: Sequence[Sequence[Message]]) -> float:
    costs = [cost_of(prompt, before, "", None) for before, prompt in itertools.pairwise(prompts)]
    return sum(cost.same for cost in costs) / sum(cost.compared for cost in costs)


def figures(model: ScriptedModel) -> dict[str, float]:
    """Per prompt or per hundred turns."""
    prompts = [request.messages for request in model.requests]
    count, asked = len(prompts), [messages for messages, _ in model.questions]
    return {
        "turns": count,
        "stable": round(share([lead(prompt) for prompt in prompts]), 4),
        "whole": round(share(prompts), 4),
        "tokens a prompt": round(sum(map(size, prompts)) / count),
        "of them stable": round(sum(size(lead(prompt)) for prompt in prompts) / count),
        "of them tail": round(sum(size(prompt[-2:]) for prompt in prompts) / count),
        "calls per 100 turns": round((count + len(asked)) * 100 / count),
        "of them understanding": round(len(asked) * 100 / count),
        "tokens read per 100 turns": round(sum(map(size, [*prompts, *asked])) * 100 / count),
    }


def blocks(prompts: Sequence[Sequence[Message]]) -> dict[str, float]:
    """Tokens a prompt of each block of the tail."""
    totals: Counter[str] = Counter()
    for prompt in prompts:
        for block in prompt[-2].content.split("\n\n"):
            heading = _HEADING.match(block)
            totals[heading[0] if heading else "other"] += count_tokens(block)
    return {name: round(total / len(prompts), 1) for name, total in totals.most_common()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--embedding", default="builtin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    talk = Talk(options.seed, TURNS // DAYS, ZONE)
    for name, said in (("one session", session(talk)), ("ten days", days(talk))):
        with tempfile.TemporaryDirectory() as folder:
            model = spoken(Path(folder), said, options.embedding)
        row: dict[str, object] = {"talk": name, **figures(model)}
        if options.blocks:
            row["blocks"] = blocks([request.messages for request in model.requests])
        print(
            json.dumps(row, ensure_ascii=False) if options.json else "\n".join(f"{k}: {v}" for k, v in row.items()),
            flush=True,
        )


if __name__ == "__main__":
    main()
