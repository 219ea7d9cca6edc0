"""Simulated years of talk through rolling, extraction, overview, strength, reflection and cleaning: does it stay flat?

    python benchmarks/years.py [--days 365] [--per-day 20] [--cap 800] [--embedding hash|off|builtin] [--folder DIR] [--json]

The talk and the chat model are scripted (``year_talk``), the clock is injected: three sittings a day, a pause after each, at
night the background looks once more, each quarter the program is closed and opened again. ``--cap`` is the number of events
and facts at which the weakest go, lowered so that cleaning happens.

Prints for each month what a turn cost in it: CPU milliseconds of the process from the message to the end of its reply, and
of what follows in the background, without the embedding; tokens of the prompt, calls of the model beside the reply; and what
there is at its end: memory, threads, open files, bytes on the disk. At the end says for each whether it is bounded: its last
quarter against its second.

With ``--folder`` it may be killed at any time: called again, it goes on with the message after the last one that it stored,
and prints the months that were before. The month that was cut is measured from there.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from zoneinfo import ZoneInfo

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from benchmarks.year_talk import Asked, Said, Talk
from moechat.agent import Agent
from moechat.bench.turn_cost import ApartEmbedder, rss_mb
from moechat.clock import SetClock
from moechat.curation import forgetting
from moechat.house import House
from moechat.language.words import count_tokens

ZONE = ZoneInfo("Asia/Shanghai")
FIRST = date(2025, 1, 1)
CHARACTER, USER = "小满", "阿明"
NIGHT = 2  # o'clock
RUN_DAYS = 91  # then the program is closed and opened again
GROWTH = 1.15  # of the last quarter over the second: more is not bounded
FILES = {  # what stands on the disk, by the ends of names
    "days": (".yaml",), "notes": (".notes.yaml",), "facts": ("core_mem.yml",), "log": ("log.jsonl",),
    "state": ("state.jsonl",), "history": ("history.yaml",),
}  # fmt: skip


@dataclass
class Turn:
    """What one turn cost, in CPU milliseconds and otherwise."""

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
    rss_mb: float
    threads: int
    descriptors: int
    tokens: float
    tokens_max: int
    recalled: float
    calls: float
    by_kind: dict[str, float]
    ms: float
    ms_p95: float
    after_ms: float
    after_ms_p95: float

    @property
    def kb_per_exchange(self) -> float:
        return sum(self.kb.values()) / max(1, self.exchanges)


@dataclass(frozen=True)
class Progress:
    """How far a folder has come: its months, and how many messages were said in all."""

    folder: Path

    def months(self) -> list[Month]:
        path = self.folder / "months.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [Month(**json.loads(line)) for line in lines]

    def ended(self, month: Month) -> None:
        with open(self.folder / "months.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(month), ensure_ascii=False) + "\n")

    def messages(self) -> int:
        path = self.folder / "messages"
        return path.stat().st_size if path.exists() else 0

    def answered(self) -> None:
        with open(self.folder / "messages", "ab") as file:
            file.write(b".")


def build(folder: Path, cap: int, embedding: str) -> Path:
    """A data folder with one character and its configuration beside it, where there is none; returns config.yaml."""
    owner, config = folder / "data" / "agents" / CHARACTER, folder / "config.yaml"
    if config.exists():
        return config
    owner.mkdir(parents=True, exist_ok=True)
    persona = {"name": CHARACTER, "user_name": USER, "language": "zh", "persona": "你是小满，爱听人说话。"}
    (owner / "character.yaml").write_text(yaml.safe_dump(persona, allow_unicode=True), encoding="utf-8")
    settings = {
        "Agent": {"char": CHARACTER}, "time": {"zone": str(ZONE)}, "forgetting": {"cap": cap},
        "embedding": {"provider": embedding}, "recall": {"deadline_ms": 60_000},
    }  # fmt: skip
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    return config


def years(
    folder: Path, *, days: int, per_day: int, cap: int, embedding: str = "hash", seed: int = 1
) -> Iterator[Month]:
    """Live through the days, from where the folder stands; each month as it ends, those of earlier calls first."""
    config, asked, progress = build(folder, cap, embedding), Asked(), Progress(folder)
    yield from progress.months()
    embedder = ApartEmbedder(256)
    talk, turns, cleaned = Talk(seed, per_day, ZONE), list[Turn](), 0
    day, said_before = place(talk, progress.messages())
    clock = SetClock(datetime.combine(day, time(), ZONE))
    for start in range((day - FIRST).days, days, RUN_DAYS):
        own = embedder if embedding == "hash" else None
        with House(folder / "data", config, clock=clock, model=asked.model, embedder=own) as house:
            agent = house.agent()
            for number in range(start, min(days, start + RUN_DAYS)):
                today = FIRST + timedelta(days=number)
                for said in talk.day(today)[said_before:]:
                    turns.append(_turn(agent, clock, asked, embedder, said))
                    progress.answered()
                said_before = 0
                night = datetime(today.year, today.month, today.day, NIGHT, 15, tzinfo=ZONE)
                clock.at = night + timedelta(days=1)
                if turns:
                    _pause(agent, asked, embedder, turns[-1])
                cleaned += agent.store.state.cleaned is not None and agent.store.state.cleaned.date() == today
                if turns and ((today + timedelta(days=1)).day == 1 or number == days - 1):
                    month = _month(agent, today, turns, cleaned)
                    progress.ended(month)
                    yield month
                    turns, cleaned = [], 0


def _turn(agent: Agent, clock: SetClock, asked: Asked, embedder: ApartEmbedder, said: Said) -> Turn:
    clock.at = max(said.at, clock.at + timedelta(seconds=30))
    begun = _cpu_ms(embedder)
    recalled = 0
    for event in agent.talk(said.text):
        recalled = len(getattr(getattr(event, "recollection", None), "hits", ())) or recalled
    answered = _cpu_ms(embedder)
    agent.settle_indexes()
    turn = Turn(0, recalled, answered - begun, _cpu_ms(embedder) - answered)
    (prompt,) = _counted(asked, turn)
    turn.tokens = sum(count_tokens(message.content) for message in prompt)
    if said.ends:
        clock.advance(minutes=70)
        _pause(agent, asked, embedder, turn)
    return turn


def _pause(agent: Agent, asked: Asked, embedder: ApartEmbedder, turn: Turn) -> None:
    """The background looks: what was said settles, and after an idle hour it is understood."""
    begun = _cpu_ms(embedder)
    agent.jobs.tick()
    agent.settle_indexes()
    turn.after_ms += _cpu_ms(embedder) - begun
    _counted(asked, turn)


def _cpu_ms(embedder: ApartEmbedder) -> float:
    """CPU milliseconds of this process so far, without the stand-in embedding."""
    return 1000 * (process_time() - float(embedder.spent[0]))


def place(talk: Talk, messages: int) -> tuple[date, int]:
    """The day that so many messages reach into, and how many of them are of that day."""
    day = FIRST
    while messages > (count := len(talk.day(day))):
        messages -= count
        day += timedelta(days=1)
    return day, messages


def _counted(asked: Asked, turn: Turn) -> list[Sequence[Any]]:
    prompts, kinds = asked.take()
    turn.calls.update(kinds)
    return prompts


def _month(agent: Agent, last: date, turns: Sequence[Turn], cleaned: int) -> Month:
    store = agent.store
    rows = Counter(episode.kind for _, _, episode in store.findings.changed(-1) if episode is not None)
    calls: Counter[str] = Counter()
    for turn in turns:
        calls.update(turn.calls)
    times, behind = sorted(turn.ms for turn in turns), sorted(turn.after_ms for turn in turns)
    return Month(
        f"{last:%Y-%m}", len(store.exchanges.times()), rows["event"],
        rows["reflection"], len(store.findings.facts()), len(store.state.archived), len(forgetting.traces(store)),
        cleaned, sizes(store.folder), round(rss_mb(), 1), threading.active_count(), _descriptors(),
        statistics.median(turn.tokens for turn in turns), max(turn.tokens for turn in turns),
        statistics.median(turn.recalled for turn in turns), sum(calls.values()) / len(turns),
        {kind: count / len(turns) for kind, count in sorted(calls.items())}, statistics.median(times),
        times[int(0.95 * (len(times) - 1))], statistics.median(behind), behind[int(0.95 * (len(behind) - 1))],
    )  # fmt: skip


def _descriptors() -> int:
    """Open files of this process; 0 where the system does not list them."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def sizes(folder: Path) -> dict[str, int]:
    """Kilobytes by what they hold; ``index`` is what can be made anew. Of a file with holes, what is allocated."""
    found = dict.fromkeys([*FILES, "index"], 0.0)
    for path in folder.rglob("*"):
        if path.is_file():
            names = [name for name, ends in FILES.items() if path.name.endswith(ends)]
            found["index" if ".index" in path.parts else names[-1] if names else "state"] += _size(path) / 1000
    return {name: round(kb) for name, kb in found.items()}


def _size(path: Path) -> int:
    stat = path.stat()
    return min(stat.st_size, getattr(stat, "st_blocks", math.inf) * 512)


WATCHED = {
    "prompt tokens a turn (median)": "tokens", "prompt tokens a turn (max)": "tokens_max", "calls a turn": "calls",
    "active events and facts": "active", "CPU ms a turn": "ms", "CPU ms a turn (p95)": "ms_p95",
    "CPU ms behind a turn": "after_ms", "CPU ms behind a turn (p95)": "after_ms_p95", "memory, MB": "rss_mb",
    "threads": "threads", "open files": "descriptors", "kB on disk an exchange": "kb_per_exchange",
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
    "month    exch  events refl facts archiv active clean |  days notes facts   log state index kB  each |"
    " tokens   max hits calls |  ms   p95 after  p95 |  MB thr files"
)


def row(m: Month) -> str:
    kb = " ".join(f"{m.kb[name]:5}" for name in ("days", "notes", "facts", "log", "state", "index"))
    return (
        f"{m.month} {m.exchanges:5} {m.events:7} {m.reflections:4} {m.facts:5} {m.archived:6} {m.active:6} {m.cleaned:5} |"
        f" {kb}  {m.kb_per_exchange:6.2f} | {m.tokens:6.0f} {m.tokens_max:5} {m.recalled:4.0f} {m.calls:5.2f} |"
        f" {m.ms:3.0f} {m.ms_p95:5.0f} {m.after_ms:5.0f} {m.after_ms_p95:4.0f} | {m.rss_mb:3.0f} {m.threads:3} {m.descriptors:5}"
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
    options = parser.parse_args()
    begun, months = perf_counter(), list[Month]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        if not options.json:
            print(HEAD)
        for month in years(
            folder,
            days=options.days,
            per_day=options.per_day,
            cap=options.cap,
            embedding=options.embedding,
            seed=options.seed,
        ):
            months.append(month)
            print(json.dumps(asdict(month), ensure_ascii=False) if options.json else row(month), flush=True)
    if not options.json:
        kinds = ", ".join(f"{kind} {share:.3f}" for kind, share in months[-1].by_kind.items())
        print(f"calls a turn in the last month: {kinds}")
        for what, (first, last, ratio) in verdicts(months).items():
            verdict = "bounded" if ratio <= GROWTH else "GROWS"
            print(f"{what:32} {first:9.2f} → {last:9.2f}  × {ratio:.2f}  {verdict}")
        print(f"{options.days} days in {perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
