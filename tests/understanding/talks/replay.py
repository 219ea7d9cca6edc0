"""Talks that somebody wrote who had not read the code, lived through with a model that reads them (or none), and what each prompt
says a week and a year later.

    python -m tests.understanding.talks.replay [--model first-class|none|adversarial] [TALK …]
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from moechat.agent import Agent
from moechat.ai.chat_model import ChatModel
from moechat.ai.embedding import BuiltinEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.model import Message
from moechat.turn import Ended

HERE = Path(__file__).parent
ZONE = ZoneInfo("Asia/Shanghai")
WEEK, YEAR = timedelta(days=7), timedelta(days=365)
PAUSE = timedelta(hours=1)
FITS, SURELY = 0.5, 0.75  # share of a description's pairs of letters that a finding has
_SHOWN = re.compile(r"^\[(\d+)\] \d{4}-\d\d-\d\d [^\n]*\n((?:(?:user|用户|character|角色)> [^\n]*\n?)+)", re.MULTILINE)
_LINE = re.compile(r"^(?:user|用户)> (.*)$", re.MULTILINE)
_STANDING = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)
_LITTLE = frozenset("user the a an to was is are of in on at with s her his their and for has".split())
_THE_USER = re.compile(r"用户|\b(?:the )?user\b", re.IGNORECASE)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Talk:
    """One talk as it lies in ``<name>.json``."""

    name: str
    language: str
    user: str
    character: str
    turns: Sequence[Row]
    questions: Sequence[Row]
    never: Sequence[Row]

    @classmethod
    def read(cls, name: str) -> Talk:
        return cls(name, **json.loads((HERE / f"{name}.json").read_text(encoding="utf-8")))

    def is_known_false(self, never: Row, turn: str) -> bool:
        """Whether a statement is known to be false by a turn: what a lie said is believed until it is taken back, in a talk that
        has been read since."""
        back = [
            turn for turn in self.turns for verb in (turn.get("understood") or {}).get("verbs", ())
            if verb["verb"] in ("never_true", "ended") and _alike(never["text"], verb["what"]) >= SURELY
        ]  # fmt: skip
        at = {one["id"]: _at(one) for one in self.turns}
        if not back:
            return at[turn] >= at[never["from"]]
        times = [_at(back[0]), *(time for time in at.values() if _at(back[0]) < time <= at[turn])]
        return any(later - earlier > PAUSE for earlier, later in pairwise(times))

    @property
    def replies(self) -> Iterator[str]:
        return iter([turn["reply"] for turn in self.turns if "edit" not in turn])


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.json"))


@dataclass
class Outcome:
    """Which questions found their answers in the prompt, (question, "week" or "year"); what was stated that is false or over."""

    answered: set[tuple[str, str]] = field(default_factory=set)
    unanswered: set[tuple[str, str]] = field(default_factory=set)
    false: list[str] = field(default_factory=list)
    unfitting: list[str] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    prompts: dict[tuple[str, str], str] = field(default_factory=dict)

    def share(self, after: str) -> str:
        right = sum(when == after for _, when in self.answered)
        return f"{right}/{right + sum(when == after for _, when in self.unanswered)}"


# ---- the models


class FirstClass:
    """Answers about the exchanges that it is shown as they were recorded, turn by turn, with the numbers that the prompt has."""

    def __init__(self, talk: Talk) -> None:
        self._by_words = {_bare(turn["say"]): turn for turn in talk.turns if not turn.get("regenerate")}
        self.unfitting: list[str] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        text = messages[-1].content
        facts: list[dict[str, Any]] = []
        events: list[dict[str, Any]] = []
        verbs: list[dict[str, Any]] = []
        for number, lines in _SHOWN.findall(text):
            turn = self._by_words.get(_bare("\n".join(_LINE.findall(lines))))
            if turn is None:
                self.unfitting.append(f"no turn says {lines!r}")
                continue
            made = turn.get("understood") or {}
            facts += [dict(one) | {"sources": [int(number)]} for one in made.get("facts", ())]
            events += [
                dict(one) | {"sources": [int(number)], "subject": one["subject"].replace("'s", "")}
                for one in made.get("events", ())
            ]
            for verb in made.get("verbs", ()):
                verbs += self._numbered(verb, _STANDING.findall(text), facts, events)
        return json.dumps({"facts": facts, "events": events, "verbs": verbs}, ensure_ascii=False)

    def _numbered(
        self, verb: Row, standing: Sequence[tuple[str, str]], facts: list[dict[str, Any]], events: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The verb over each finding that it means. What this very answer said before is said as it is now, instead."""
        alike = sorted(((_alike(verb["what"], line), number) for number, line in standing), reverse=True)
        meant = [number for share, number in alike if share >= SURELY] or [n for share, n in alike[:1] if share >= FITS]
        here = [one for one in (*facts, *events) if _alike(verb["what"], one["text"]) >= (SURELY if meant else FITS)]
        for one in here:
            if verb["verb"] == "moved":
                one["happened"] = verb["to"]
            elif verb["verb"] == "done":
                one["status"] = "done"
            else:
                (facts if one in facts else events).remove(one)
        if not meant and not here:
            self.unfitting.append(f"{verb['verb']} fits nothing: {verb['what']} among {[line for _, line in standing]}")
        return [{**{k: v for k, v in verb.items() if k != "what"}, "number": int(number)} for number in meant]


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _alike(what: str, text: str) -> float:
    """The share of a description's words (of Chinese, pairs of characters) that a finding has."""
    one, other = set(_matter(what)), set(_matter(text))
    return len(one & other) / max(len(one), 1)


def _matter(text: str) -> Iterator[str]:
    for run in re.findall(r"[a-z0-9]+|[一-鿿]+", text.casefold()):
        if run.isascii():
            yield from [run] if run not in _LITTLE else []
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))


class Adversarial:
    """Says nothing, copies the prompt, unsays whatever stands or calls everything delicate, in turn."""

    def __init__(self, talk: Talk) -> None:
        self._talk, self._calls = talk, 0
        self.unfitting: list[str] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        text, self._calls = messages[-1].content, self._calls + 1
        numbers = [int(number) for number, _ in _SHOWN.findall(text)]
        lines = _LINE.findall(text)
        standing = [int(number) for number, _ in _STANDING.findall(text)]
        copied = [line for line in text.splitlines() if len(line) > 20 and not re.match(r"[\[(【]|user>|用户>", line)]
        facts = [{"text": line[:80], "sources": numbers, "quote": line[:20]} for line in copied[:6]]
        match self._calls % 4:
            case 0:
                facts = []
            case 1:
                verbs = [{"number": n, "verb": "never_true", "reason": "lie", "quote": lines[0]} for n in standing]
                return json.dumps({"facts": facts, "events": [], "verbs": verbs}, ensure_ascii=False)
            case 2:
                words = "用户从来没有说过这些" if self._talk.language == "zh" else "The user never said any of this"
                facts = [{"text": f"{words} {n}", "mark": "delicate", "sources": [n]} for n in numbers]
        return json.dumps({"facts": facts, "events": []}, ensure_ascii=False)


# ---- the talk


def live(talk: Talk, kind: str, folder: Path) -> Outcome:
    """Speak the whole talk, let it be understood, and ask the questions a week and a year later."""
    own = folder / "data" / "agents" / talk.character
    own.mkdir(parents=True)
    persona = {"name": talk.character, "user_name": talk.user, "language": talk.language}
    (own / "character.yaml").write_text(yaml.safe_dump(persona, allow_unicode=True), encoding="utf-8")
    settings = {
        "Agent": {"char": talk.character}, "time": {"zone": "Asia/Shanghai"}, "reflection": {"enabled": False},
        "recall": {"deadline_ms": 20_000},
    }  # fmt: skip
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    replies = talk.replies
    reader = {"first-class": FirstClass, "adversarial": Adversarial}.get(kind)
    answers = reader(talk) if reader else None
    model: ChatModel = ScriptedModel(lambda _: next(replies, "……"), answers or (), understands=answers is not None)
    clock, outcome, said = SetClock(_at(talk.turns[0])), Outcome(), dict[str, str]()
    with House(folder / "data", config, clock=clock, model=model, embedder=BuiltinEmbedder()) as house:
        agent = house.agent()
        for turn in talk.turns:
            _idle(agent, clock, _at(turn))
            said[turn["id"]] = _spoken(agent, turn, said)
            agent.settle_indexes()
            trace = agent.conversation.trace(said[turn["id"]])
            if trace is not None:
                outcome.false += stated(talk, trace.messages, turn["id"])
        _idle(agent, clock, clock.at + timedelta(hours=2))
        agent.finish()
        end = clock.at
        for after, span in (("week", WEEK), ("year", YEAR)):
            clock.at = end + span
            agent.jobs.tick()
            agent.settle_indexes()
            for question in talk.questions:
                if question["after"] in (after, "both"):
                    _ask(talk, agent, question, after, outcome)
        outcome.remembered = _remembered(agent)
    outcome.unfitting = answers.unfitting if answers else []
    return outcome


def _remembered(agent: Agent) -> list[str]:
    """Every finding that is kept, with who found it and whether it is in doubt, and what was refused."""
    findings = agent.store.findings
    held = {fact.id for fact in agent.layers.core.current()} | set(agent.layers.episodes.view(agent.layers.now()).ids)
    rows = [
        (f.id, f"{f.draft.kind} {f.text} [{f.draft.keyword}] {f.draft.mark}", f.by, f.confirmed)
        for f in findings.facts()
    ]
    rows += [
        (e.id, f"{e.event.status} {e.event.text} {e.event.mark}", e.by, e.confirmed)
        for noted in findings.all_notes([]) for e in noted.episodes
    ]  # fmt: skip
    lines = [
        f"{'+' if id_ in held else '-'} {by} {'' if sure is None else sure} {text}" for id_, text, by, sure in rows
    ]
    return [
        *lines,
        *(f"refused {one.why}: {one.text}" for one in findings.refused()),
        f"trust {agent.store.state.trust}",
    ]


def _spoken(agent: Agent, turn: Row, said: Mapping[str, str]) -> str:
    """The exchange of a turn: another, an earlier one in other words, or the last one answered anew."""
    if before := turn.get("edit"):
        agent.conversation.correct(said[before], user=turn["say"])
        return said[before]
    events = agent.conversation.regenerate() if turn.get("regenerate") else agent.talk(turn["say"])
    ended = list(events)[-1]
    assert isinstance(ended, Ended), ended
    return ended.exchange.id


def _ask(talk: Talk, agent: Agent, question: Row, after: str, outcome: Outcome) -> None:
    """What the character's model is shown with a question, the question itself apart: a talk off the record, of its own."""
    spoken = agent.hold()
    ended = list(spoken.talk(question["ask"]))[-1]
    assert isinstance(ended, Ended), ended
    trace = spoken.trace(ended.exchange.id)
    assert trace is not None
    prompt = "\n".join(message.content for message in trace.messages[:-1])
    key = (question["ask"], after)
    folded = prompt.casefold()
    is_there = all(any(word.casefold() in folded for word in group) for group in question["needs"])
    (outcome.answered if is_there else outcome.unanswered).add(key)
    outcome.prompts[key] = prompt
    outcome.false += stated(talk, trace.messages, talk.turns[-1]["id"], question.get("never", ()))


def stated(talk: Talk, messages: Sequence[Message], turn: str, never: Sequence[str] = ()) -> list[str]:
    """What a prompt states that must not be stated by then: not what somebody is quoted with, word for word and dated."""
    false = [*never, *(one["text"] for one in talk.never if talk.is_known_false(one, turn))]
    lines = [line for message in messages if message.role == "system" for line in message.content.splitlines()]
    quoted = tuple(f"{who}{colon}" for who in (talk.user, talk.character) for colon in ("：", ": "))
    own = [
        line
        for line in lines
        if not line.startswith((*quoted, "["))  # The day of a quotation stands in brackets over it.
        and not re.search("以前：|Formerly: |^- 可能：|^- Perhaps: |拿不准|not certain", line)
    ]
    found = []
    for text in false:
        wordings = {text.casefold(), _THE_USER.sub(talk.user, text).casefold()}
        found += [f"{text}: {line}" for line in own if any(one in line.casefold() for one in wordings)]
    return found


def _at(row: Row) -> datetime:
    return datetime.fromisoformat(row["at"]).replace(tzinfo=ZONE)


def _idle(agent: Agent, clock: SetClock, until: datetime) -> None:
    """An hour after the last words the program looks for work, then waits for the next."""
    if until - clock.at > PAUSE:
        clock.advance(hours=1)
        agent.jobs.tick()
        agent.settle_indexes()
    clock.at = max(until, clock.at)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("talks", nargs="*", default=names())
    parser.add_argument("--model", action="append", choices=("first-class", "none", "adversarial"))
    parser.add_argument("--prompts", action="store_true", help="show the prompts of unanswered questions")
    parser.add_argument("--remembered", action="store_true", help="show what is kept in the end")
    args = parser.parse_args()
    for name in args.talks:
        talk, without = Talk.read(name), set[tuple[str, str]]()
        for kind in args.model or ("none", "first-class", "adversarial"):
            with tempfile.TemporaryDirectory() as folder:
                outcome = live(talk, kind, Path(folder))
            without = outcome.answered if kind == "none" else without
            less = sorted(without - outcome.answered)
            row = [f"week {outcome.share('week')} year {outcome.share('year')} false {len(set(outcome.false))}"]
            row += [f"below none {len(less)} unfitting {len(outcome.unfitting)}"]
            print(name, kind.ljust(12), *row, flush=True)
            for line in [*map(str, sorted(outcome.unanswered)), *dict.fromkeys(outcome.false), *outcome.unfitting]:
                print("   ", line)
            for line in outcome.remembered if args.remembered else ():
                print("       ", line)
            print("    below none:", less) if less else None
            for key in sorted(outcome.unanswered) if args.prompts else ():
                print("=====", key, outcome.prompts[key], sep="\n")


if __name__ == "__main__":
    main()
