"""Lives with one grave matter each: told once, then sixty everyday messages over weeks. Is it recalled when the mood is low and
when it is asked about, and not when the talk is small?

    python -m benchmarks.lives [FILE.jsonl] [--grammar 88]

A line of the file has ``lang``, ``told``, ``low``, ``question`` and ``smalltalk``. The lives of the grammar are drawn from the
lists in lives.toml. Nothing is kept.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from moechat.clock import SetClock, moment_of
from moechat.house import House
from moechat.settings.config import Config
from moechat.turn import Ended

EVERYDAY = 60
BEGIN = "2025-03-03T20:00"
ASKED = ("low", "question", "smalltalk")
OF = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def drawn(sentences: Sequence[str], language: str, chance: random.Random) -> str:
    """One of the sentences, with words for its blanks."""
    return chance.choice(sentences).format(**words(language, chance))


def words(language: str, chance: random.Random) -> dict[str, str]:
    """A word for each blank."""
    return {name: chance.choice(several) for name, several in OF[language]["words"].items()}


def of_grammar(count: int, seed: int = 1) -> Iterator[dict[str, str]]:
    """``count`` lives, Chinese and English in turn."""
    for number in range(count):
        chance, language = random.Random(f"{seed}/{number}"), ("zh", "en")[number % 2]
        of, blanks = OF[language], words(language, chance)
        told, question = chance.choice(of["grave"])
        yield {
            "lang": language, "told": told.format(**blanks), "question": question.format(**blanks),
            "low": drawn(of["low"], language, chance), "smalltalk": drawn(of["days"], language, chance),
        }  # fmt: skip


def lived(house: House, clock: SetClock, life: Mapping[str, str], chance: random.Random) -> dict[str, bool]:
    """Whether the grave matter was recalled, by what was said."""
    language = life["lang"]
    agent = house.agent({"zh": "青禾", "en": "Wren"}[language])

    def says(text: str) -> str:
        (ended,) = (event for event in agent.talk(text) if isinstance(event, Ended))
        return ended.exchange.id

    grave = says(life["told"])
    for number in range(EVERYDAY):
        clock.advance(hours=23 if number % 4 == 3 else 0, minutes=2)
        says(drawn(OF[language]["days"], language, chance))
        if number % 4 == 3:
            agent.finish()
    clock.advance(hours=23)
    found = {}
    for asked in ASKED:
        hits = agent.conversation.recall(life[asked]).hits
        found[asked] = any(grave in (hit.id, *hit.sources) for hit in hits)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--grammar", type=int, default=88)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    written = [json.loads(line) for line in asked.file.read_text("utf-8").splitlines()] if asked.file else []
    for name, lives in (("written", written), ("grammar", list(of_grammar(asked.grammar)))):
        counts: Counter[tuple[str, str]] = Counter()
        for number, life in enumerate(lives):
            clock = SetClock(moment_of(BEGIN, Config().time.tzinfo))
            with (
                TemporaryDirectory() as folder,
                House(Path(folder) / "data", Path(folder) / "config.yaml", clock=clock) as house,
            ):
                found = lived(house, clock, life, random.Random(number))
            counts.update((life["lang"], kind) for kind, is_there in found.items() if is_there)
            if asked.misses and (wrong := [k for k in ASKED if found[k] == (k == "smalltalk")]):
                print(f"  {life['told']}  {[(kind, life[kind]) for kind in wrong]}")
        for language in ("zh", "en"):
            of = sum(life["lang"] == language for life in lives)
            if of:
                shares = ", ".join(f"{kind} {counts[language, kind]}" for kind in ASKED)
                print(f"{name} {language}, of {of}: {shares}")


if __name__ == "__main__":
    main()
