"""Reflection over the month of sample memory: the questions, the insights, what they rest on, and what a run costs.

    python benchmarks/reflection.py [--language zh|en] [--counter N]

The month is that of ``moechat web --demo``, told into a throw-away folder and understood: an exchange is one event, its
importance that of the rules. The model is a script below: it asks what is written there, and cites whichever of the
statements that it is shown hold the words of an insight. So calls, tokens in (the prompts as they ship, with the
statements that retrieval chose) and evidence are the mechanism's; the wording is the script's, and tokens out with it.
``--counter`` is what must have happened (default 150, the product's); the month alone has less, then a half is taken.
Afterwards one exchange that an insight rests on is taken back, and what is left is thought about anew.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import re
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat import demo
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes
from moechat.model import Event, Message, Understanding
from moechat.rules import importance
from moechat.rules import reading as rules
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.store.files import FileStore
from moechat.understanding.reflection import ReflectionRun, ReflectionSettings, Reflector

NOW = datetime(2025, 5, 21, 20, tzinfo=timezone(timedelta(hours=8)))


@dataclass(frozen=True)
class Script:
    """``insights``: question → (insight, words by which it knows its evidence, rating)."""

    insights: dict[str, list[tuple[str, str, int]]]


SCRIPTS = {
    "zh": Script({
        "陈屿为什么总担心自己画得不够好，又靠什么坚持下来？": [
            ("陈屿把画不会游泳的水獭当成自己的处境，压力越大越在意它能不能下水", "水獭 压力 草图 慌", 8),
            ("对陈屿来说，答应别人的交稿日期比自己的身体更优先", "编辑 熬夜 答应 交全部", 7),
        ],
        "家人和朋友在陈屿的生活里意味着什么？": [
            ("陈屿用画画来表达对林晚和家人的感情", "林晚 请柬 弟弟", 7),
            ("外婆家的河是陈屿怀念外婆的方式", "外婆 绍兴 河", 9),
        ],
        "陈屿的身体在提醒陈屿改变什么习惯？": [
            ("陈屿因为身体的信号一点点改变习惯，从咖啡到茶，从熬夜到晨跑", "咖啡 茶 胃 晨跑 熬夜", 6),
        ],
    }),
    "en": Script({
        "What does the pocket watch mean to Maren?": [
            ("To Maren, a watch that runs again keeps her grandfather's mornings", "watch grandfather mainspring", 8),
        ],
        "How does Maren deal with the pressure of applying for the head of department job?": [
            ("Maren prepares by asking what she would mend first", "interview application job head sick", 8),
            ("Maren recovers from bad days at school by laughing about them within hours", "nine laughing bad day", 6),
        ],
        "What of her past does Maren carry with her?": [
            ("Maren's dreams keep the language of Porto, where she was small", "Porto dream Portuguese", 7),
        ],
    }),
}  # fmt: skip


def scripted(script: Script) -> ScriptedModel:
    """Answers the prompts of reflection from a script."""

    def answer(messages: Sequence[Message]) -> str:
        asked = messages[-1].content
        statements = re.findall(r"^(\d+)\. (.*)$", asked, re.MULTILINE)
        if "3 most salient" in asked or "3 个高层次问题" in asked:
            return "\n".join(f"{number}. {question}" for number, question in enumerate(script.insights, 1))
        if "number. rating" in asked or "编号. 评分" in asked:
            known = {text: rating for found in script.insights.values() for text, _, rating in found}
            return "\n".join(f"{number}. {known[text]}" for number, text in statements)
        question = asked.strip().splitlines()[-1]
        found = script.insights.get(question) or [one for more in script.insights.values() for one in more]
        lines = [
            (text, [number for number, told in statements if any(word in told for word in words.split())])
            for text, words, _ in found
        ]
        cited = [f"{text} [{', '.join(numbers)}]" for text, numbers in lines if numbers]
        return "\n".join(f"{number}. {line}" for number, line in enumerate(cited, 1))

    return ScriptedModel(answers=answer)


@dataclass
class Mind:
    """The month in a folder of its own, understood, with a reflector over it."""

    store: FileStore
    episodes: Episodes
    reflector: Reflector

    def understand(self, ids: Sequence[str]) -> None:
        """One event an exchange, as a model would give it."""
        for id_, exchange in self.store.exchanges.of(ids).items():
            tag = rules.understand(exchange).tags[id_]
            event = Event(tag, (id_,), importance=importance.rate(exchange.user))
            self.store.findings.merge([id_], Understanding({id_: tag}, {}, (), (event,)), [], {})
        self.episodes.sync()
        self.episodes.vectors.embed_missing(threading.Event())


def month(folder: Path, language: str, counter: float) -> Mind:
    clock = SetClock(NOW)
    store = FileStore(folder, clock=clock, zone=NOW.tzinfo)
    for line in demo.month(language, NOW):
        clock.at = line.at
        store.log.finish(store.log.begin(line.user, line.at), line.char, "done")
    store.log.settle()
    clock.at = NOW
    dense = Dense(folder / ".index", HashEmbedder())
    episodes = Episodes(store, dense)
    model = scripted(SCRIPTS[language])
    prompts = Prompts([defaults_folder() / "prompts"], language)
    settings = ReflectionSettings(counter=counter)
    mind = Mind(store, episodes, Reflector(store, episodes, dense, prompts, lambda: model, lambda: settings))
    mind.understand(store.tree.pending())
    return mind


def show(report: ReflectionRun, mind: Mind, taken_ms: float) -> None:
    """What a run asked, found and cost."""
    for number, question in enumerate(report.questions, 1):
        print(f"  question {number}: {question}")
    for episode in report.made:
        print(f"  insight ({episode.event.importance:.1f}, depth {episode.depth}): {episode.event.text}")
        for one in mind.episodes.get(episode.evidence).values():
            print(f"      {one.at:%m-%d} {one.event.text}")
    print(f"  cost: {report.cost}; {taken_ms:.0f} ms beside the model")


def run(mind: Mind) -> ReflectionRun | None:
    begun = time.perf_counter()
    report = mind.reflector.run(NOW)
    taken_ms = (time.perf_counter() - begun) * 1000
    mind.episodes.sync()
    if report is None:
        print(f"  no reflection; {mind.reflector.problem or 'it is not due'}")
    else:
        show(report, mind, taken_ms)
    return report


def demonstrate(language: str, counter: float) -> None:
    with TemporaryDirectory(prefix="moechat-reflection-") as folder:
        mind = month(Path(folder), language, counter)
        poignancy = counter - mind.reflector.counter(NOW)
        if poignancy < counter:
            mind.store.close()
            print(
                f"{language}: the month's events weigh {poignancy:.0f}, less than {counter:.0f}; {poignancy / 2:.0f} are taken"
            )
            demonstrate(language, poignancy / 2)
            return
        print(f"{language}: {len(mind.episodes.view(NOW))} events that weigh {poignancy:.0f}; due at {counter:.0f}")
        report = run(mind)
        print("again at once:")
        run(mind)
        if report is not None and report.made:
            taken_back(mind, report)
        print(f"in all: {mind.reflector.spent}\n")
        mind.store.close()


def taken_back(mind: Mind, report: ReflectionRun) -> None:
    lost = report.made[0].event.sources[0]
    print(f"taken back: {mind.store.exchanges.get(lost).user}")
    mind.store.log.retract(lost)
    mind.episodes.sync()
    mind.reflector.tidy(NOW)
    print(f"  reflections left: {sum(e.id in mind.episodes.get([e.id]) for e in report.made)} of {len(report.made)}")
    mind.understand(mind.store.tree.pending())
    run(mind)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--language", choices=sorted(SCRIPTS), action="append")
    parser.add_argument("--counter", type=float, default=ReflectionSettings().counter)
    told = parser.parse_args()
    for tongue in told.language or SCRIPTS:
        demonstrate(tongue, told.counter)
