"""A month of sample memory for ``moechat web --demo``: invented talk, written through the product's own path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from moechat.agent import Agent
from moechat.house import House

CHARACTERS = {"青禾": "zh", "Wren": "en"}


@dataclass(frozen=True)
class SampleExchange:
    """One exchange of the month."""

    at: datetime
    user: str
    char: str


def month(language: str, now: datetime) -> list[SampleExchange]:
    """The sample month that ends yesterday, in order of time."""
    text = Path(__file__).with_name(f"{language}.yaml").read_text(encoding="utf-8")
    exchanges = []
    for row in yaml.load(text, Loader=yaml.BaseLoader):  # noqa: S506  It builds text alone: 20:15 is no number.
        day = now.date() - timedelta(days=int(row["days_ago"]))
        at = datetime.combine(day, time.fromisoformat(row["at"]), now.tzinfo)
        exchanges.append(SampleExchange(at, row["user"], row["char"]))
    return exchanges


def fill(agent: Agent, exchanges: list[SampleExchange]) -> list[str]:
    """Write the exchanges, settled, and let the rules understand them. Returns their ids."""
    ids = [agent.record(exchange.user, exchange.char, exchange.at) for exchange in exchanges]
    agent.finish()
    return ids


@contextmanager
def house(config_path: Path, now: str | None = None) -> Iterator[House]:
    """A house on a throw-away folder, with the sample characters and their month; the folder goes when it closes."""
    with (
        TemporaryDirectory(prefix="moechat-demo-") as folder,
        House(Path(folder) / "data", config_path, now=now) as opened,
    ):
        for name, language in CHARACTERS.items():
            fill(opened.agent(name), month(language, opened.clock.now()))
        yield opened
