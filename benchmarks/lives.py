"""Lives with one grave matter each: told once, then sixty everyday messages over weeks. Is it recalled when the mood is low and
when it is asked about, and not when the talk is small? Does the overview of the next prompt hold it, and no line twice?

    python -m benchmarks.lives [FILE.jsonl] [--grammar 88]

A line of the file has ``lang``, and lists of messages: ``grave`` (what is told), ``everyday``, ``low``, ``ask`` and ``small``.
It is recalled where an exchange that told it is, or what was understood of one, or where a text has what the regular expression
``answer`` looks for. The lives of the grammar are drawn from the lists in lives.toml. Of the overviews is told how many of them
hold the matter, themselves or in the profile above, how many lines stand there twice, how many are of everyday messages, and how
many of those are in doubt. Nothing is kept.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from moechat.agent import Agent
from moechat.clock import SetClock, moment_of
from moechat.house import House
from moechat.recall import profile
from moechat.settings.config import Config
from moechat.turn import Ended

EVERYDAY = 60
BEGIN = "2025-03-03T20:00"
ASKED = ("low", "ask", "small")
OF = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def drawn(sentences: Sequence[str], language: str, chance: random.Random) -> str:
    """One of the sentences, with words for its blanks."""
    return chance.choice(sentences).format(**words(language, chance))


def words(language: str, chance: random.Random) -> dict[str, str]:
    """A word for each blank."""
    return {name: chance.choice(several) for name, several in OF[language]["words"].items()}


def of_grammar(count: int, seed: int = 1) -> Iterator[Mapping[str, Any]]:
    """``count`` lives, Chinese and English in turn."""
    for number in range(count):
        chance, language = random.Random(f"{seed}/{number}"), ("zh", "en")[number % 2]
        of, blanks = OF[language], words(language, chance)
        told, question = chance.choice(of["grave"])
        yield {
            "lang": language, "grave": [told.format(**blanks)], "ask": [question.format(**blanks)],
            "low": [drawn(of["low"], language, chance)], "small": [drawn(of["days"], language, chance)],
            "everyday": [drawn(of["days"], language, random.Random(f"{seed}/{number}/{day}")) for day in range(EVERYDAY)],
        }  # fmt: skip


def overview_of(agent: Agent, grave: set[str], answer: str | None) -> Mapping[str, int]:
    """What the overview of a context that begins now holds: the grave matter (1 or 0), lines that stand there twice, lines of
    everyday messages, and those of them that are in doubt."""
    agent.layers.sync()
    now = agent.now()
    stable = profile.chosen(agent.layers, now, (), now)
    texts = [one.event.text.casefold() for one in stable.overview]
    lines = [(one.event.text, one.event.sources) for one in stable.overview]
    lines += [(fact.text, fact.draft.sources) for fact in stable.facts]
    holds = any(
        not grave.isdisjoint(sources) or bool(answer and re.search(answer, text, re.IGNORECASE))
        for text, sources in lines
    )
    everyday = [one for one in stable.overview if grave.isdisjoint(one.event.sources)]
    in_doubt = sum(one.confirmed is False for one in everyday)
    return {"held": holds, "twice": len(texts) - len({*texts}), "everyday": len(everyday), "in doubt": in_doubt}


def lived(
    house: House, clock: SetClock, life: Mapping[str, Any], chance: random.Random
) -> tuple[Mapping[str, Mapping[str, bool]], Mapping[str, int]]:
    """Of each message that asks, by kind, whether the grave matter was recalled; and what the overview holds."""
    agent = house.agent({"zh": "青禾", "en": "Wren"}[life["lang"]])

    def says(text: str) -> str:
        (ended,) = (event for event in agent.talk(text) if isinstance(event, Ended))
        return ended.exchange.id

    grave = {says(text) for text in life["grave"]}
    first = list(life["everyday"][:EVERYDAY])
    for number, text in enumerate(first + [chance.choice(life["everyday"]) for _ in range(EVERYDAY - len(first))]):
        clock.advance(hours=23 if number % 4 == 3 else 0, minutes=2)
        says(text)
        if number % 4 == 3:
            agent.finish()
    clock.advance(hours=23)

    def is_recalled(text: str) -> bool:
        hits = agent.conversation.recall(text).hits
        answer = life.get("answer")
        return any(not grave.isdisjoint((hit.id, *hit.sources)) for hit in hits) or bool(
            answer and re.search(answer, "\n".join(hit.text for hit in hits), re.IGNORECASE)
        )

    overview = overview_of(agent, grave, life.get("answer"))
    return {kind: {text: is_recalled(text) for text in life[kind]} for kind in ASKED}, overview


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--grammar", type=int, default=88)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    written = [json.loads(line) for line in asked.file.read_text("utf-8").splitlines()] if asked.file else []
    for origin, lives in (("written", written), ("grammar", list(of_grammar(asked.grammar)))):
        counts: Counter[tuple[str, str]] = Counter()
        for number, life in enumerate(lives):
            clock = SetClock(moment_of(BEGIN, Config().time.tzinfo))
            with (
                TemporaryDirectory() as folder,
                House(Path(folder) / "data", Path(folder) / "config.yaml", clock=clock) as house,
            ):
                found, overview = lived(house, clock, life, random.Random(number))
            for name, count in overview.items():
                counts[life["lang"], name] += count
            if asked.misses and not overview["held"]:
                print(f"  {life['grave']}  overview")
            for kind, by_text in found.items():
                counts[life["lang"], kind] += sum(by_text.values())
                if asked.misses and (
                    wrong := [text for text, is_there in by_text.items() if is_there == (kind == "small")]
                ):
                    print(f"  {life['grave']}  {kind} {wrong}")
        for language in sorted({life["lang"] for life in lives}, reverse=True):
            own = [life for life in lives if life["lang"] == language]
            of = {kind: sum(len(life[kind]) for life in own) for kind in ASKED} | {"held": len(own)}
            print(f"{origin} {language}: " + ", ".join(f"{kind} {counts[language, kind]} of {of[kind]}" for kind in of))
            rest = ("twice", "everyday", "in doubt")
            print("  overviews: " + ", ".join(f"{kind} {counts[language, kind]}" for kind in rest))


if __name__ == "__main__":
    main()
