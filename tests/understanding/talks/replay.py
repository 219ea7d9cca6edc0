"""The talks of twelve days, lived through with a model that reads them (or none), and what is remembered of them.

    python -m tests.understanding.talks.replay [GGUF]

prints the table for the rules alone, for first-class answers, and for the model in the file.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from moechat.agent import Agent
from moechat.ai.chat_model import ChatModel, ChatRequest
from moechat.ai.embedding import BuiltinEmbedder
from moechat.ai.local import LocalChatModel
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.scripted import ScriptedModel
from moechat.ai.window import Window
from moechat.clock import SetClock, moment_of
from moechat.house import House
from moechat.model import Fact, Message
from moechat.turn import Ended

HERE = Path(__file__).parent
AGENTS = Path(__file__).resolve().parents[3] / "data" / "agents"
_SHOWN = re.compile(r"^\[(\d+)\] \d{4}-\d\d-\d\d .*\n(?:user|用户)> (.*)$", re.MULTILINE)
_EARLIER = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)
Row = Mapping[str, Any]
MOST_TOKENS = 300  # A small model that does not end is cut here.
NUMBERS = {"activation": 0.5, "diffusion": 0.4, "context_independence": 0.7}
USUAL: Mapping[str, Sequence[Any]] = {
    "entity": ("user",), "kind": ("attribute",), "polarity": (1,), "single": (False,), "generic": (False,), "status": ("done",),
    "precision": (None, "day", "month", "year"),
}  # fmt: skip


@dataclass
class Talk:
    """One of the two talks, as it lies in ``talk.<language>.yaml``, with the answers of a first-class model."""

    language: str
    character: str
    zone: str
    turns: Sequence[Row]
    questions: Sequence[Row]
    truth: Sequence[Row]
    false: Sequence[Row]
    answers: Mapping[str, Row]

    @classmethod
    def read(cls, language: str) -> Talk:
        talk = yaml.safe_load((HERE / f"talk.{language}.yaml").read_text(encoding="utf-8"))
        answers = yaml.safe_load((HERE / f"answers.{language}.yaml").read_text(encoding="utf-8"))
        return cls(language, answers=answers, **talk)


@dataclass
class Outcome:
    """What is remembered in the end. ``right`` and ``lost`` are of ``truth``, ``wrong`` are texts that ``false`` names."""

    facts: list[str]
    right: int
    lost: list[str]
    wrong: list[str]
    doubled: list[str]
    accepted: int
    refused: list[str]
    answered: int
    unanswered: list[str] = field(default_factory=list)

    def row(self) -> dict[str, int]:
        return {
            "facts": len(self.facts), "right": self.right, "lost": len(self.lost), "wrong": len(self.wrong),
            "doubled": len(self.doubled), "accepted": self.accepted, "refused": len(self.refused),
            "answered": self.answered,
        }  # fmt: skip


def first_class(talk: Talk) -> ScriptedModel:
    """Answers about the exchanges that it is shown as a first-class model did, turn by turn."""
    by_words = {" ".join(turn["user"].split())[:40]: turn["id"] for turn in talk.turns}
    replies = iter([turn["char"] for turn in talk.turns])
    answers = _Answers(talk.answers)

    def complete(messages: Sequence[Message]) -> str:
        text = "\n".join(message.content for message in messages)
        shown = {by_words[" ".join(words.split())[:40]]: int(number) for number, words in _SHOWN.findall(text)}
        return answers.about(shown, _EARLIER.findall(text))

    return ScriptedModel(lambda _: next(replies, "……"), complete)


class _Answers:
    """The answers by turn in the form that the prompt asks for. They were written turn by turn, without numbers: what says the
    same as an earlier finding confirms it, and what rests on a turn that is not shown closes the plan that was told there.
    """

    def __init__(self, answers: Mapping[str, Row]) -> None:
        self._answers = answers
        self._plans: dict[str, str] = {}  # text → turn

    def about(self, shown: Mapping[str, int], earlier: Sequence[tuple[str, str]]) -> str:
        """The answer, as JSON, about turns by their numbers; ``earlier`` is (number, text)."""
        facts: list[Row] = []
        events: list[Row] = []
        tags = [{"id": number, "tag": self._answers[turn]["tag"]} for turn, number in shown.items() if self._bare(turn)]
        for turn in shown:
            facts += [_short(item, shown) for item in self._answers[turn].get("facts") or []]
            for item in self._answers[turn].get("events") or []:
                events.append(_short(item, shown) | self._closing(item, shown, earlier))
                self._plans[item["text"]] = turn
        texts = [item["text"] for item in (*facts, *events)]
        verdicts = [
            {"finding": int(number), "verdict": "keep"}
            for number, text in earlier
            if text in texts or any(fact["target"] in text and fact.get("entity", "user") == "user" for fact in facts)
        ] + [{"finding": event["refines"], "verdict": "refine"} for event in events if "refines" in event]
        whole = {"verdicts": verdicts, "facts": facts, "events": events, "exchanges": tags}
        return json.dumps(whole, ensure_ascii=False)

    def _bare(self, turn: str) -> bool:
        return not (self._answers[turn].get("facts") or self._answers[turn].get("events"))

    def _closing(self, item: Row, shown: Mapping[str, int], earlier: Sequence[tuple[str, str]]) -> dict[str, int]:
        before = [turn for turn in item["sources"] if turn not in shown]
        plans = [(number, text) for number, text in earlier if self._plans.get(text) in before]
        if not plans or item["status"] not in ("done", "cancelled"):
            return {}
        number, _ = max(plans, key=lambda plan: len(set(plan[1]) & set(item["text"])))
        return {"refines": int(number)}


def _numbered(item: Row, shown: Mapping[str, int]) -> dict[str, Any]:
    return {**item, "sources": [shown[turn] for turn in item["sources"] if turn in shown]}


def _short(item: Row, shown: Mapping[str, int]) -> dict[str, Any]:
    """An item without what is usual and may be left out."""
    usual = {key for key, value in item.items() if value in USUAL.get(key, ("", [], None))}
    return {key: value for key, value in _numbered(item, shown).items() if key not in usual | {"keywords"}}


def answers_long_and_short(talk: Talk) -> tuple[str, str]:
    """All answers as JSON: with every key that was once asked for, and without those that may be left out."""
    answers = _Answers(talk.answers)
    long, short = [], []
    for number, turn in enumerate(talk.turns, 1):
        given, shown = talk.answers[turn["id"]], {turn["id"]: number}
        whole: dict[str, Any] = {
            "exchanges": [{"id": number, "tag": given["tag"], "keywords": given["keywords"]}],
            "facts": [_numbered(item, shown) | {"refines": 0} for item in given.get("facts") or []],
            "events": [_numbered(item, shown) | NUMBERS | {"refines": 0} for item in given.get("events") or []],
        }
        long.append(json.dumps(whole | {"verdicts": [], "scene_changed": False}, ensure_ascii=False))
        short.append(answers.about(shown, ()))
    return "\n".join(long), "\n".join(short)


def live(talk: Talk, model: ChatModel, folder: Path) -> Outcome:
    """Speak the whole talk, let it be understood, and ask the questions afterwards."""
    shutil.copytree(AGENTS / talk.character, folder / "data" / "agents" / talk.character)
    settings = {"Agent": {"char": talk.character}, "time": {"zone": talk.zone}, "reflection": {"enabled": False}}
    settings["recall"] = {"deadline_ms": 20_000}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    clock = SetClock(_at(talk.turns[0], talk))
    with House(folder / "data", config, clock=clock, model=model, embedder=BuiltinEmbedder()) as house:
        agent = house.agent()
        for turn in talk.turns:
            _idle(agent, clock, _at(turn, talk))
            spoken = list(agent.talk(turn["user"].strip()))[-1]
            assert isinstance(spoken, Ended), spoken
            agent.settle_indexes()
        _idle(agent, clock, _at(talk.questions[0], talk))
        agent.finish()
        outcome = judged(talk, agent)
        for question in talk.questions:
            clock.at = _at(question, talk)
            prompt = _prompt(agent, question["ask"])
            if any(answer.casefold() in prompt.casefold() for answer in question["answer"]):
                outcome.answered += 1
            else:
                outcome.unanswered.append(question["ask"])
        return outcome


def _at(row: Row, talk: Talk) -> datetime:
    return moment_of(row["at"], ZoneInfo(talk.zone))


def _idle(agent: Agent, clock: SetClock, until: datetime) -> None:
    """An hour after the last words the program looks for work, then waits for the next."""
    if until - clock.at > timedelta(hours=1):
        clock.advance(hours=1)
        agent.jobs.tick()
        agent.settle_indexes()
    clock.at = until


def _prompt(agent: Agent, text: str) -> str:
    """What the character's model is shown with this message, the message itself apart: a talk off the record, of its own."""
    spoken = agent.hold()
    ended = list(spoken.talk(text))[-1]
    assert isinstance(ended, Ended), ended
    trace = spoken.trace(ended.exchange.id)
    assert trace is not None
    return "\n".join(message.content for message in trace.messages[:-1])


def judged(talk: Talk, agent: Agent) -> Outcome:
    facts = agent.layers.core.current()
    texts = [fact.text for fact in facts]
    lost = [row for row in talk.truth if not any(_holds(row, fact) for fact in facts)]
    claimed = [fact.text for fact in facts if fact.draft.polarity > 0]  # that she does not is no claim that she does
    wrong = [text for text in claimed for row in talk.false if _all(row["words"], text)]
    seen = Counter((fact.draft.entity, fact.draft.keyword, fact.draft.target, fact.draft.polarity) for fact in facts)
    doubled = [str(key) for key, count in seen.items() if count > 1 and key[2]]
    refused = agent.store.findings.refused()
    return Outcome(
        texts, len(talk.truth) - len(lost), [f"{row['about']}: {row['words']}" for row in lost], wrong, doubled,
        sum(fact.by == "model" for fact in facts), [f"{one.why}: {one.text}" for one in refused], 0,
    )  # fmt: skip


def _holds(row: Row, fact: Fact) -> bool:
    about = row["about"].casefold() == fact.draft.entity.casefold() or row["about"].casefold() in fact.text.casefold()
    return about and _all(row["words"], fact.text) and not any(w.casefold() in fact.text.casefold() for w in row["not"])


def _all(words: Sequence[str], text: str) -> bool:
    return all(word.casefold() in text.casefold() for word in words)


# ---- the table


@dataclass
class Reading:
    """A model that says the character's lines of a talk, and reads with another."""

    lines: ScriptedModel
    reader: ChatModel
    understands: bool = True
    has_one_slot: bool = True

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def window(self) -> Window:
        return self.reader.window

    def stream(self, request: ChatRequest) -> Iterator[str]:
        return self.lines.stream(request)

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        return self.reader.ask(messages, schema=schema, silence_s=silence_s)

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        return self.reader.complete(messages, schema=schema, timeout_s=timeout_s)


def silent(talk: Talk) -> ScriptedModel:
    """Says the character's lines and reads nothing: the rules stand in."""
    replies = iter([turn["char"] for turn in talk.turns])
    return ScriptedModel(lambda _: next(replies, "……"), understands=False)


def small(talk: Talk, weights: Path) -> Reading:
    """A model in a file, which is not let wander."""
    reader = LocalChatModel(weights, threads=1).with_settings(temperature=0.0, extra={"max_tokens": MOST_TOKENS})
    return Reading(silent(talk), reader)


def main(weights: str = "", *details: str) -> None:
    for language in ("zh", "en"):
        talk = Talk.read(language)
        models: dict[str, ChatModel] = {"rules": silent(talk), "first-class": first_class(talk)}
        if weights:
            models[Path(weights).stem] = small(talk, Path(weights))
        for name, model in models.items():
            with tempfile.TemporaryDirectory() as folder:
                outcome = live(talk, model, Path(folder))
            print(language, name.ljust(20), *(f"{key} {value:<4}" for key, value in outcome.row().items()), flush=True)
            for what in details:
                for line in getattr(outcome, what):
                    print("   ", what, line)


if __name__ == "__main__":
    main(*sys.argv[1:])
