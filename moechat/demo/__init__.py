"""A month of sample memory for ``moechat web --demo``: invented talk, written through the product's own path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from moechat.agent import Agent
from moechat.house import House
from moechat.store import yaml_file

CHARACTERS = {"青禾": "zh", "Wren": "en"}


@dataclass(frozen=True)
class Line:
    """One exchange of the month, so many days before the present."""

    at: datetime
    user: str
    char: str


def month(language: str, now: datetime) -> list[Line]:
    """The sample month that ends yesterday, in order of time."""
    rows = yaml_file.read(Path(__file__).with_name(f"{language}.yaml"), as_text=True)
    lines = []
    for row in rows:
        day = now.date() - timedelta(days=int(row["days_ago"]))
        lines.append(Line(datetime.combine(day, time.fromisoformat(row["at"]), now.tzinfo), row["user"], row["char"]))
    return sorted(lines, key=lambda line: line.at)


def fill(agent: Agent, lines: list[Line]) -> list[str]:
    """Write the lines as settled exchanges that the rules have understood. Returns their ids."""
    ids = []
    for line in lines:
        ids.append(agent.store.begin(line.user, line.at))
        agent.store.finish(ids[-1], line.char, "done")
    agent.finish()
    return ids


@contextmanager
def house(config_path: Path, now: str | None = None) -> Iterator[House]:
    """A house on a throw-away folder, with the sample characters and their month; the folder goes when it closes."""
    with (
        TemporaryDirectory(prefix="moechat-demo-") as folder,
        House(Path(folder) / "data", config_path, now=now) as made,
    ):
        moment = made.clock.now()
        for name, language in CHARACTERS.items():
            fill(made.agent(name), month(language, moment))
        yield made
