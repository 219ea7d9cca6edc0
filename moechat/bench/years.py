"""Does memory stay right over years? ``moechat bench years``.

A life (``life``) is lived day by day without a model: every message is a turn, said to the agent itself, through the page, or as
the body of a front end that sends its whole history. What each question's prompt holds is compared with what was planted:

* ``evidence``: what was asked for stands in the prompt, of what happened on a day under a right date (the day on which it was
  said, or the day that the words meant); ``wrong_date``: it stands there under another;
* ``old_as_present``: a fact that is known as so says what was so before, by its whole name or the beginning of it, and does not
  deny it; ``old_alone``: the prompt has only that;
* ``another_as_yours``: what is so of somebody else is known of the user, or of whom has nearly that name;
* ``small_talk``: messages that need nothing, to which anything was recalled; ``tokens`` of what was recalled;
* ``bytes_left``: places on the disk that still hold what was forgotten;
* ``cpu_ms`` of a turn with all that follows it, median by year, the embedding with it.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time as clocks
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from moechat.agent import Agent
from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline.model import OfflineModel
from moechat.bench import recall
from moechat.bench.life import FIRST, PAUSE, Language, Life, LifeLine, PlantedMatter, PlantedValue
from moechat.bench.recall import BY_RULE, NO_DEADLINE_MS
from moechat.bench.speed import rss_mb
from moechat.clock import SetClock
from moechat.house import House
from moechat.index.vector_rows import text_key
from moechat.memory.contradiction import entity, polarity, target
from moechat.model import Fact

ZONE = ZoneInfo("Asia/Shanghai")
FLAWS = ("wrong_date", "old_as_present", "old_alone", "another_as_yours")
DOORS = ("python", "page", "front_end")
MONTH = 30  # days
_HEADER = re.compile(r"^\[.*?(\d{4}-\d{2}-\d{2}).*\]$")
_LINE = re.compile(r"^(?:- )?(?:told )?(\d{4}-\d{2}-\d{2})(?:(?:至| to | – |–)(\d{4}-\d{2}-\d{2}))?")
_BLOCK = re.compile(r"^(?:【.*】|\[[A-Z][^\]]*\].*)$")
Say = Callable[[str], object]
Under = tuple[date, date] | Literal["talk", ""]
"""What a line of a prompt stands under: the first and the last day, or the talk as it is, or nothing."""


class Overheard(OfflineModel):
    """The model without language, which keeps the request that it was asked last, and its reply."""

    request: ChatRequest
    reply = ""

    def stream(self, request: ChatRequest) -> Iterator[str]:
        self.request, self.reply = request, ""
        for piece in super().stream(request):
            self.reply += piece
            yield piece


@dataclass
class LifeOutcome:
    """What came of one life through one door. ``questions`` has a row each; ``memory`` is what there is at its end."""

    questions: list[dict[str, Any]] = field(default_factory=list)
    small: list[int] = field(default_factory=list)
    cpu_ms: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    forgotten: list[str] = field(default_factory=list)
    bytes_left: list[str] = field(default_factory=list)
    memory: dict[str, list[str]] = field(default_factory=dict)
    mb: dict[int, float] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        by_kind = defaultdict(list)
        for row in self.questions:
            by_kind[row["kind"]].append(row["evidence"])
        tokens = sorted(row["tokens"] for row in self.questions) or [0]
        return {
            "questions": len(self.questions),
            **{name: share(row[name] for row in self.questions) for name in ("evidence", *FLAWS)},
            "evidence_by_kind": {kind: [share(rows), len(rows)] for kind, rows in sorted(by_kind.items())},
            "small_talk": share(tokens > 0 for tokens in self.small),
            "small_talks": len(self.small),
            "tokens": [statistics.median(tokens), tokens[int(0.95 * (len(tokens) - 1))]],
            "forgotten": len(self.forgotten),
            "bytes_left": len(self.bytes_left),
            "cpu_ms": {year: round(statistics.median(ms), 2) for year, ms in self.cpu_ms.items()},
            "mb": self.mb,
            **{name: len(rows) for name, rows in self.memory.items()},
        }  # fmt: skip


def share(values: Any) -> float:
    flags = [bool(value) for value in values]
    return round(sum(flags) / max(1, len(flags)), 4)


def lived(
    language: Language,
    seed: int,
    *,
    days: int,
    per_day: int,
    door: str,
    folder: Path,
    embedding: str = "builtin",
    forgets_on: int = -1,
    wrong: Path | None = None,
) -> LifeOutcome:
    """Live one life in a new house in ``folder``. On the day ``forgets_on`` all that was told until then is forgotten. What goes
    wrong is added to the file ``wrong`` as it does, and the figures so far after each ``MONTH``."""
    life, outcome = Life(language, seed, per_day, ZONE), LifeOutcome()
    clock, model = SetClock(datetime.combine(FIRST, datetime.min.time(), ZONE)), Overheard()
    config = furnish(folder, life.of["char"], life.of["user"], language, embedding)
    sources: dict[int, list[str]] = defaultdict(list)  # id of a matter → the exchanges that told it so far
    spoken: list[tuple[date, str]] = []  # each exchange of its day, in small letters
    with House(folder / "data", config, clock=clock, model=model, tick_s=3600) as house:
        house.ready()
        agent = house.agent(life.of["char"])
        with opened(door, house, agent, life.of["char"]) as say:
            for number, day in enumerate(life.days(days)):
                year = number // 365 + 1
                for one in day:
                    clock.at = max(one.at, clock.at)
                    if one.matter and one.kind == "forget":
                        outcome.forgotten += _forget(agent, one.matter, sources[id(one.matter)])
                        continue
                    begun = clocks.process_time()
                    say(one.text)
                    agent.settle_indexes()
                    if one.ends:
                        clock.at += PAUSE
                        agent.jobs.tick()
                        agent.settle_indexes()
                    outcome.cpu_ms[year].append((clocks.process_time() - begun) * 1000)
                    hits = _hits(model.request)
                    spoken.append((one.at.date(), f"{one.text}\n{model.reply}".casefold()))
                    if one.kind == "small":
                        outcome.small.append(sum(tokens for recipe, tokens in hits if recipe not in BY_RULE))
                    elif one.matter:
                        mine = id(one.matter)
                        if one.kind == "tell":
                            sources[mine].append(next(reversed(agent.store.tree.numbered())))
                        else:
                            now = one.matter.tellings[: len(sources[mine])]
                            right = {day for day, words in spoken if now[-1].value.casefold() in words}
                            row = judged(agent, model.request, one.matter, now, right | {each.happened for each in now})
                            row |= {"text": one.text, "day": number, "tokens": sum(tokens for _, tokens in hits)}
                            outcome.questions.append(row)
                            if wrong and (not row["evidence"] or any(row[name] for name in FLAWS)):
                                added(wrong, row)
                if number == forgets_on:
                    for matter in life.matters:
                        outcome.forgotten += _forget(agent, matter, sources[id(matter)])
                outcome.mb[year] = round(rss_mb(), 1)
                if wrong and (number + 1) % MONTH == 0:
                    added(wrong, {"until_day": number, **outcome.figures()})
            agent.finish()
            agent.settle_indexes()
            outcome.memory = remembered(agent)
    outcome.bytes_left = remains(folder, outcome.forgotten)
    if wrong:
        added(wrong, *outcome.bytes_left)
    return outcome


def added(path: Path, *rows: Any) -> None:
    """Write further rows into a file, a line each."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def furnish(folder: Path, char: str, user: str, language: str, embedding: str = "builtin") -> Path:
    """A data folder with one character, and its settings: those of everybody but for the zone, and no deadline."""
    settings = {
        "Agent": {"char": char}, "time": {"zone": str(ZONE)}, "recall": {"deadline_ms": NO_DEADLINE_MS},
        "embedding": {"provider": embedding},
    }  # fmt: skip
    return recall.furnish(folder, char, {"name": char, "user_name": user, "language": language}, settings)


# ---- the doors


@contextmanager
def opened(door: str, house: House, agent: Agent, character: str) -> Iterator[Say]:
    """A way to say something, and wait for the whole reply."""
    if door == "python":
        yield lambda text: list(agent.talk(text))
    elif door == "page":
        from moechat.access.keys import EVERYTHING, PASS
        from moechat.web.desk import Desk
        from moechat.web.routes import Doings, Wish

        PASS.set(EVERYTHING)
        desk = Desk(house)
        doings = Doings(desk)

        def by_page(text: str) -> None:
            wish = Wish(character=character, language=agent.character.language, tab="bench", text=text)
            doings.verbs["say"](wish)
            turn = desk.turns.last(desk.conversation(wish.place))
            assert turn is not None
            turn.over.wait()

        yield by_page
        desk.close()
    else:
        from moechat.serve import server

        history: list[dict[str, str]] = []
        with server.running(house) as url:

            def by_front_end(text: str) -> None:
                history.append({"role": "user", "content": text})
                body = json.dumps({"model": character, "messages": history}).encode()
                sending = urllib.request.Request(
                    url + "/v1/chat/completions", body, {"Content-Type": "application/json"}
                )
                with urllib.request.urlopen(sending) as answer:
                    reply = json.load(answer)["choices"][0]["message"]["content"]
                history.append({"role": "assistant", "content": reply})

            yield by_front_end


# ---- what is looked at


def _hits(request: ChatRequest) -> list[tuple[str, int]]:
    """(recipe, tokens) of what was recalled beyond the talk that the model sees anyway."""
    in_view = {exchange.id for exchange in request.context}
    return [
        (hit.recipe, hit.tokens) for hit in request.hits if hit.layer in ("diary", "core") and hit.id not in in_view
    ]


def lines_of(request: ChatRequest) -> Iterator[tuple[Under, str]]:
    """Each line of a prompt, in small letters, with what it stands under."""
    *before, _ = request.messages
    for message in before:
        under: Under = "" if message.role == "system" else "talk"
        for line in message.content.splitlines():
            if message.role == "system":
                if header := _HEADER.match(line):
                    under = (date.fromisoformat(header[1]),) * 2
                elif _BLOCK.match(line) or not line.strip():
                    under = ""
            own = _LINE.match(line) if message.role == "system" else None
            span = (date.fromisoformat(own[1]), date.fromisoformat(own[2] or own[1])) if own else under
            yield span, line.casefold()


def judged(
    agent: Agent, request: ChatRequest, matter: PlantedMatter, tellings: Sequence[PlantedValue], right: set[date]
) -> dict[str, Any]:
    """What the prompt of a question and the facts that stand say of a matter, as it was told so far. Its value was spoken of,
    or happened, on the ``right`` days."""
    value = tellings[-1].value.casefold()
    is_over = matter.kind == "given_up" and len(tellings) > 1
    former = [one.value.casefold() for one in tellings[:-1] if is_over or one.value.casefold() != value]
    lines = list(lines_of(request))
    places = [under for under, line in lines if value in line]
    undated = [under for under in places if isinstance(under, str)]
    wrong = [
        span for span in places if not isinstance(span, str) and not any(span[0] <= day <= span[1] for day in right)
    ]
    dated = [span for span in places if not isinstance(span, str) and span not in wrong]
    if is_over:  # That it was begun answers nothing.
        dated = [span for span in dated if span[1] >= tellings[-1].day]
    facts = [fact for fact in agent.layers.core.current() if not fact.draft.until and fact.confirmed is not False]
    stands = [(entity(fact.draft), fact.text.casefold()) for fact in facts]
    old = [
        fact.text for fact in facts
        if entity(fact.draft) == "user" and any(says(fact, one) for one in former) and (is_over or not says(fact, value))
    ]  # fmt: skip
    about, others = matter.about.casefold(), {"user", matter.twin.casefold()}
    theirs = [text for who, text in stands if about and who in others and value in text and about not in text]
    has_old = any(one in line for one in former for _, line in lines)
    return {
        "kind": matter.kind, "evidence": bool(dated or "talk" in undated or (undated and matter.kind != "event")),
        "wrong_date": bool(wrong), "old_as_present": old, "old_alone": has_old and not places,
        "another_as_yours": theirs, "answer": tellings[-1].value, "told": tellings[-1].text,
    }  # fmt: skip


def says(fact: Fact, value: str) -> bool:
    """Whether a fact says that a value is so, by its whole name or the beginning of it: Thornley of Thornley Wharf."""
    begins = len(fact.draft.target) > 1 and value.startswith(target(fact.draft.target))
    return polarity(fact.draft) > 0 and (value in fact.text.casefold() or begins)


def _forget(agent: Agent, matter: PlantedMatter, ids: Sequence[str]) -> list[str]:
    """Forget what was said of a matter, as its owner would: with those of the exchanges that are named as repeating it in which
    they see what it is about. What must be nowhere afterwards."""
    words = [word for one in matter.tellings for word in (one.text, one.value) if len(word) > 2]
    repeats = agent.memories.forgets(ids).repeats
    also = [one.id for one in repeats if any(word in f"{one.text}\n{one.reply}" for word in words)]
    agent.memories.forget([*ids, *also])
    return words


def remembered(agent: Agent) -> dict[str, list[str]]:
    """What is remembered, whichever door it came by."""
    return {
        "exchanges": sorted(str(row["text"]) for row in agent.log() if row["mark"] == "*"),
        "facts": sorted(fact.text for fact in agent.layers.core.current()),
        "events": sorted(
            one.event.text for _, _, one in agent.store.findings.changed(-1) if one and one.kind == "event"
        ),
    }


def remains(folder: Path, words: Sequence[str]) -> list[str]:
    """Which of the words stand in which files, in any case: as they are, in UTF-16, escaped as in JSON, or as a vector's key."""
    marks: dict[bytes, str] = {}
    for word in words:
        small = word.lower()
        forms = [small.encode(), json.dumps(small)[1:-1].encode(), word.encode("utf-16-le"), text_key(word)]
        marks |= dict.fromkeys(forms, word)
    left = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            data += data.lower()
            left += [f"{word} in {path.relative_to(folder)}" for mark, word in marks.items() if mark in data]
    return left


# ---- a whole measurement


def measure(
    language: Language, seed: int, *, days: int, per_day: int, doors: Sequence[str], embedding: str, wrong: Path | None
) -> Iterator[dict[str, Any]]:
    """A row of figures a door, and whether the doors gave equal memory. What went wrong is added to a file."""
    life = {"language": language, "seed": seed, "days": days, "per_day": per_day}
    memories = []
    for door in doors:
        with tempfile.TemporaryDirectory(prefix="moechat-years-") as folder:
            begun, place = clocks.perf_counter(), Path(folder)
            outcome = lived(
                language, seed, days=days, per_day=per_day, door=door, folder=place, embedding=embedding, wrong=wrong
            )
        memories.append(outcome.memory)
        yield {**life, "door": door, **outcome.figures(), "seconds": round(clocks.perf_counter() - begun)}
    if len(memories) > 1:
        yield {**life, "doors_equal": all(one == memories[0] for one in memories)}


def write_file(language: Language, seed: int, *, days: int, per_day: int, path: Path) -> None:
    """The same life as a file for ``bench recall`` and other ways of finding: every message, and at its end a question about
    each matter that was not forgotten."""
    life, haystack = Life(language, seed, per_day, ZONE), f"years-{language}-{seed}"
    memories, lines = list[Mapping[str, Any]](), dict[int, LifeLine]()
    ids: dict[tuple[date, str], str] = {}
    for number, day in enumerate(life.days(days)):
        for place, one in enumerate(day):
            if one.kind == "ask":
                lines[id(one.matter)] = one
            elif one.kind != "forget":
                ids[one.at.date(), one.text] = id_ = f"D{number}.{place}"
                row = {"id": id_, "timestamp": one.at.isoformat(), "speaker": life.of["user"], "text": one.text}
                memories.append({"type": "memory", "haystack": haystack, **row})
    questions = list[Mapping[str, Any]]()
    for number, one in enumerate(lines.values()):
        if one.matter and not one.matter.is_over:
            last = one.matter.tellings[-1]
            row = {"id": f"q{number}", "question": one.text, "category": one.matter.kind}
            row |= {"asked_at": memories[-1]["timestamp"], "evidence_ids": [ids[last.day, last.text]]}
            questions.append({"type": "question", "haystack": haystack, **row})
    meta = {"type": "meta", "dataset": "years", "language": language}
    rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in (meta, *memories, *questions))
    path.write_text("".join(rows), encoding="utf-8")
