"""A simulated year of talk through rolling, extraction, overview, strength, reflection and cleaning: does it stay bounded?

    python benchmarks/year.py [--days 365] [--per-day 20] [--cap 800] [--embedding hash|off|builtin] [--folder DIR] [--json]

The talk and the chat model are scripted (``year_talk``), the clock is injected: three sittings a day, a pause after each, at
night the background looks once more, each week the program is closed and opened again. ``--cap`` is the number of events and
facts at which the weakest go, lowered so that cleaning happens. Prints for each month what stands on the disk and in memory at
its end, and what a turn cost in it: tokens of the prompt, calls of the model beside the reply, milliseconds of the turn and of
what follows it in the background. At the end says for each whether it is bounded: its last quarter against its second.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from benchmarks.year_talk import Asked, Said, Talk
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.curation import forgetting
from moechat.house import House
from moechat.language.words import count_tokens
from moechat.model import Embedder

ZONE = ZoneInfo("Asia/Shanghai")
FIRST = date(2025, 1, 1)
CHARACTER, USER = "小满", "阿明"
NIGHT = 2  # o'clock
RUN_DAYS = 7  # then the program is closed and opened again
GROWTH = 1.15  # of the last quarter over the second: more is not bounded
FILES = {  # what stands on the disk, by the ends of names
    "days": (".yaml",), "notes": (".notes.yaml",), "facts": ("core_mem.yml",), "log": ("log.jsonl",),
    "state": ("state.jsonl",), "history": ("history.yaml",),
}  # fmt: skip


@dataclass
class Turn:
    """What one turn cost."""

    tokens: int
    recalled: int
    ms: float
    after_ms: float
    calls: Counter[str] = field(default_factory=Counter)


@dataclass
class Month:
    """The end of a month, and its turns (medians unless said otherwise)."""

    month: str
    exchanges: int
    events: int
    reflections: int
    facts: int
    archived: int
    active: int
    cleaned: int
    kb: dict[str, int]
    tokens: float
    tokens_max: int
    recalled: float
    calls: float
    by_kind: dict[str, float]
    ms: float
    ms_p95: float
    after_ms: float

    @property
    def kb_per_exchange(self) -> float:
        return sum(self.kb.values()) / max(1, self.exchanges)


def build(folder: Path, cap: int, embedding: str) -> Path:
    """A data folder with one character and its configuration beside it; returns config.yaml."""
    owner = folder / "data" / "agents" / CHARACTER
    owner.mkdir(parents=True)
    told = {"name": CHARACTER, "user_name": USER, "language": "zh", "persona": "你是小满，爱听人说话。"}
    (owner / "character.yaml").write_text(yaml.safe_dump(told, allow_unicode=True), encoding="utf-8")
    settings = {
        "Agent": {"char": CHARACTER}, "time": {"zone": str(ZONE)}, "forgetting": {"cap": cap},
        "embedding": {"provider": embedding}, "recall": {"deadline_ms": 60_000},
    }  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    return folder / "config.yaml"


def year(folder: Path, *, days: int, per_day: int, cap: int, embedding: str = "hash", seed: int = 1) -> Iterator[Month]:
    """Live through the days; each month as it ends."""
    config, asked = build(folder, cap, embedding), Asked()
    clock = SetClock(datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=ZONE))
    embedder: Embedder | None = HashEmbedder() if embedding == "hash" else None
    talk, turns, cleaned = Talk(seed, per_day, ZONE), list[Turn](), 0
    for start in range(0, days, RUN_DAYS):
        with House(folder / "data", config, clock=clock, model=asked.model, embedder=embedder) as house:
            agent = house.agent()
            for number in range(start, min(days, start + RUN_DAYS)):
                today = FIRST + timedelta(days=number)
                for said in talk.day(today):
                    turns.append(_turn(agent, clock, asked, said))
                night = datetime(today.year, today.month, today.day, NIGHT, 15, tzinfo=ZONE)
                clock.at = night + timedelta(days=1)
                _pause(agent, asked, turns[-1])
                cleaned += agent.store.state.cleaned is not None and agent.store.state.cleaned.date() == today
                if (today + timedelta(days=1)).day == 1 or number == days - 1:
                    yield _month(agent, today, turns, cleaned)
                    turns, cleaned = [], 0


def _turn(agent: Agent, clock: SetClock, asked: Asked, said: Said) -> Turn:
    clock.at = max(said.at, clock.at + timedelta(seconds=30))
    begun = time.perf_counter()
    recalled = 0
    for event in agent.talk(said.text):
        recalled = len(getattr(getattr(event, "recollection", None), "hits", ())) or recalled
    answered = time.perf_counter()
    agent.settle_indexes()
    turn = Turn(0, recalled, 1000 * (answered - begun), 1000 * (time.perf_counter() - answered))
    (prompt,) = _counted(asked, turn)
    turn.tokens = sum(count_tokens(message.content) for message in prompt)
    if said.ends:
        clock.advance(minutes=70)
        _pause(agent, asked, turn)
    return turn


def _pause(agent: Agent, asked: Asked, turn: Turn) -> None:
    """The background looks: what was said settles, and after an idle hour it is understood."""
    begun = time.perf_counter()
    agent.jobs.tick()
    agent.settle_indexes()
    turn.after_ms += 1000 * (time.perf_counter() - begun)
    _counted(asked, turn)


def _counted(asked: Asked, turn: Turn) -> list[Sequence[Any]]:
    prompts, kinds = asked.take()
    turn.calls.update(kinds)
    return prompts


def _month(agent: Agent, last: date, turns: Sequence[Turn], cleaned: int) -> Month:
    store = agent.store
    rows = Counter(episode.kind for _, _, episode in store.changes(-1).episodes if episode is not None)
    calls: Counter[str] = Counter()
    for turn in turns:
        calls.update(turn.calls)
    times = sorted(turn.ms for turn in turns)
    return Month(
        f"{last:%Y-%m}", len(store.exchanges.times()), rows["event"],
        rows["reflection"], len(store.findings.facts()), len(store.state.archived), len(forgetting.traces(store)),
        cleaned, sizes(store.folder), statistics.median(turn.tokens for turn in turns), max(turn.tokens for turn in turns),
        statistics.median(turn.recalled for turn in turns), sum(calls.values()) / len(turns),
        {kind: count / len(turns) for kind, count in sorted(calls.items())}, statistics.median(times),
        times[int(0.95 * (len(times) - 1))], statistics.mean(turn.after_ms for turn in turns),
    )  # fmt: skip


def sizes(folder: Path) -> dict[str, int]:
    """Kilobytes by what they hold; ``index`` is what can be made anew."""
    found = dict.fromkeys([*FILES, "index"], 0.0)
    for path in folder.rglob("*"):
        if path.is_file():
            names = [name for name, ends in FILES.items() if path.name.endswith(ends)]
            found["index" if ".index" in path.parts else names[-1] if names else "state"] += path.stat().st_size / 1000
    return {name: round(kb) for name, kb in found.items()}


WATCHED = {
    "prompt tokens a turn (median)": "tokens", "prompt tokens a turn (max)": "tokens_max", "calls a turn": "calls",
    "active events and facts": "active", "ms a turn": "ms", "background ms a turn": "after_ms",
    "kB on disk an exchange": "kb_per_exchange",
}  # fmt: skip


def verdicts(months: Sequence[Month]) -> dict[str, tuple[float, float, float]]:
    """(second quarter, last quarter, their ratio) of everything that is to stay bounded; of short runs, of halves."""
    quarter = max(1, len(months) // 4)
    found = {}
    for what, name in WATCHED.items():
        values = [float(getattr(month, name)) for month in months]
        before, after = values[quarter : 2 * quarter] or values[:quarter], values[-quarter:]
        first, last = statistics.mean(before), statistics.mean(after)
        found[what] = (first, last, last / first if first else 1.0)
    return found


HEAD = (
    "month    exch  events refl facts archiv active clean |  days notes facts   log state index kB |"
    " tokens   max hits calls |  ms   p95 after"
)


def row(m: Month) -> str:
    kb = " ".join(f"{m.kb[name]:5}" for name in ("days", "notes", "facts", "log", "state", "index"))
    return (
        f"{m.month} {m.exchanges:5} {m.events:7} {m.reflections:4} {m.facts:5} {m.archived:6} {m.active:6} {m.cleaned:5} |"
        f" {kb}    | {m.tokens:6.0f} {m.tokens_max:5} {m.recalled:4.0f} {m.calls:5.2f} |"
        f" {m.ms:3.0f} {m.ms_p95:5.0f} {m.after_ms:5.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--per-day", type=int, default=20)
    parser.add_argument("--cap", type=int, default=800)
    parser.add_argument("--embedding", choices=("hash", "off", "builtin"), default="hash")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the memory is kept; else it is thrown away")
    parser.add_argument("--json", action="store_true", help="one object a month")
    given = parser.parse_args()
    begun, months = time.perf_counter(), list[Month]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        if not given.json:
            print(HEAD)
        for month in year(
            folder, days=given.days, per_day=given.per_day, cap=given.cap, embedding=given.embedding, seed=given.seed
        ):
            months.append(month)
            print(json.dumps(asdict(month), ensure_ascii=False) if given.json else row(month), flush=True)
    if not given.json:
        kinds = ", ".join(f"{kind} {share:.3f}" for kind, share in months[-1].by_kind.items())
        print(f"calls a turn in the last month: {kinds}")
        for what, (first, last, ratio) in verdicts(months).items():
            told = "bounded" if ratio <= GROWTH else "GROWS"
            print(f"{what:32} {first:9.2f} → {last:9.2f}  × {ratio:.2f}  {told}")
        print(f"{given.days} days in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
