"""What must hold of an owner's folder after a kill: it is opened as the product opens it, and held against what was shown.

A state of the memory is what an owner can see of it once everything is understood: the talk, the day files, history.yaml,
facts and events with what they rest on. After a kill it is the state from before the verb or the one after it, and the
latter if the verb had returned; only a reply may be broken off.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from moechat.agent import Agent
from moechat.index.vector_rows import text_key
from tests.attack.owner import Place
from tests.attack.verbs import Verb
from tests.houses import day_files

State = Mapping[str, Any]
LOST, PIECES, DOUBLED, HALF, LEFT, DIFFERS = (
    "lost", "pieces of a reply lost", "doubled", "half done", "left behind", "not mended",
)  # fmt: skip
PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # Text only, and none of ours.
CUE = "我养了什么猫，昨天又去了哪座桥"


@dataclass
class Finding:
    """What one look at a folder came to. ``problems`` are (kind, words), ``verified`` what ``verify`` says of it."""

    state: State = field(default_factory=dict)
    verified: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Goal:
    """The states from before a verb and after it, as they are seen without a kill; ``verified`` is what ``verify`` says after
    it (a day file that was deleted by hand is a difference that stays)."""

    before: State
    after: State
    verified: frozenset[str] = frozenset()


def state_of(agent: Agent, owner: Path) -> State:
    """What the owner can see, in a form that can be compared and sent."""
    memories = []
    for archived in (False, True):
        for one in agent.memories.listed(("fact", "event", "reflection"), limit=0, archived=archived).memories:
            sources = sorted(source.id for source in agent.memories.get(one.id).sources)
            memories.append([one.kind, one.text, one.by, sources, one.archived, one.pinned, one.current])
    return {
        "talk": [[row[key] for key in ("id", "parent", "status", "text", "reply", "mark")] for row in agent.log()],
        "variants": {row["id"]: row["variants"] for row in agent.log()},
        "days": {id_: [message.get("user"), message.get("char")] for _, id_, message in records(owner)},
        "memories": sorted(memories, key=json.dumps),
        "context": context(owner / "history.yaml"),
    }


def context(path: Path) -> Any:
    """What history.yaml holds, its bytes where it is broken."""
    if not path.is_file():
        return None
    try:
        return yaml.load(path.read_bytes(), PARSER)  # noqa: S506 - text only
    except yaml.YAMLError:
        return path.read_bytes().hex()


def records(owner: Path) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """(file, id, words) of everything in the day files, read by a parser that is not ours. A damaged file has nothing for it."""
    for path in day_files(owner):
        try:
            entries = yaml.load(path.read_bytes(), PARSER) or {}  # noqa: S506 - text only
        except (OSError, yaml.YAMLError):
            continue
        yield from ((path.name, id_, record["msg"]) for id_, record in entries.items())


def settled(agent: Agent, owner: Path) -> State:
    """The state once everything is understood, what is being forgotten is gone and the background is done."""
    agent.settle_indexes()
    agent.finish()
    agent.jobs.tick()
    agent.settle_indexes()
    return state_of(agent, owner)


def look(place: Place, verb: Verb, goal: Goal | None, lines: Sequence[Mapping[str, Any]]) -> Finding:
    """Open the folder after a kill. ``goal`` None: nothing was killed, its state is only taken down."""
    finding = Finding()
    house = place.open("c")
    agent = house.agent()
    agent.settle_indexes()
    agent.jobs.tick()
    agent.settle_indexes()
    if goal:
        left = remains(place.owner, verb.forgets)
        finding.problems += lost(agent, lines)
        finding.problems += [(DOUBLED, words) for words in doubled(agent, place.owner)]
    finding.state = settled(agent, place.owner)
    if goal:
        finding.problems += judged(verb, goal, finding.state, lines)
        if left and (_returned(lines) or finding.state != goal.before):
            finding.problems.append((LEFT, ", ".join(left)))
    finding.verified = agent.verify()["problems"]
    if goal and (differences := set(finding.verified) - goal.verified):
        report = house.rebuild(None, None, vectors=False, progress=lambda *_: None)
        if stays := set(report["problems"]) - goal.verified:
            finding.problems.append((DIFFERS, f"{sorted(differences)}, after rebuild {sorted(stays)}"))
    return finding


def _returned(lines: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the verb did what it was to do: not where it said that it failed."""
    return any("returned" in line for line in lines) and not any(line.get("error") for line in lines)


def judged(verb: Verb, goal: Goal, state: State, lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Whether the verb was done or not, and nothing in between."""
    if state == goal.after or (state == goal.before and not _returned(lines)):
        return []
    if verb.turns and not _returned(lines) and _but_for_one_reply(state) == _but_for_one_reply(goal.after):
        return []
    kind = LOST if _returned(lines) and state == goal.before else HALF
    return [(kind, f"beside the state after it: {difference(state, goal.after)}")]


def _but_for_one_reply(state: State) -> State:
    """A state without the reply of the exchange that was being answered, which is the last one."""
    *talk, last = state["talk"]
    id_, parent, _, text, _, mark = last
    days = {key: words if key != id_ else words[:1] for key, words in state["days"].items()}
    variants = {key: count for key, count in state["variants"].items() if key != id_}
    context = state["context"][:-2] if state["context"][-1]["role"] == "assistant" else state["context"][:-1]
    return {
        **state, "talk": [*talk, [id_, parent, text, mark]], "days": days, "variants": variants, "context": context,
    }  # fmt: skip


def difference(state: State, other: State) -> str:
    """The first few values that only one of two states has, in words."""
    differences = []
    for key in state:
        ours, theirs = (
            {json.dumps(row, ensure_ascii=False) for row in (part.items() if isinstance(part, dict) else part)}
            for part in (state[key], other[key])
        )
        differences += [f"+{key} {row}" for row in sorted(ours - theirs)[:3]]
        differences += [f"-{key} {row}" for row in sorted(theirs - ours)[:3]]
    return "; ".join(differences)[:1500]


def lost(agent: Agent, lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What was shown and is no longer there, as (kind, words)."""
    talk = {row["id"]: row for row in agent.log()}
    pieces = "".join(line["piece"] for line in lines if "piece" in line)
    problems = []
    for line in lines:
        id_ = line.get("id")
        if id_ is not None and id_ not in talk:
            problems.append((LOST, f"the message {id_}"))
        elif "reply" in line and talk[id_]["reply"] != line["reply"]:
            problems.append((LOST, f"the reply of {id_}: {talk[id_]['reply']!r} instead of {line['reply']!r}"))
        elif "begun" in line and not str(talk[id_]["reply"]).startswith(pieces):
            problems.append((PIECES, f"of {id_}, {pieces!r}: {talk[id_]['reply']!r}"))
    return problems


def doubled(agent: Agent, owner: Path) -> list[str]:
    """What is there twice: in the talk, in the day files, in what is recalled."""
    rows = agent.log()
    places: dict[str, Counter[object]] = {
        "the talk": Counter(row["id"] for row in rows),
        "the words of the talk": Counter(row["text"] for row in rows),
        "the replies": Counter(row["reply"] for row in rows if row["reply"]),
        "the day files": Counter(id_ for _, id_, _ in records(owner)),
        "the words of the day files": Counter(message["user"] for _, _, message in records(owner)),
        "lines of the day files": Counter(
            line for path in day_files(owner) for line in path.read_text("utf-8").splitlines() if line[:2] == "20"
        ),
        "the log": Counter(
            (entry["op"], entry["id"], entry.get("char"))
            for entry in entries(owner)
            if entry.get("op") in ("exchange", "variant")
        ),
        "the facts": Counter(one.text for one in agent.memories.listed(("fact",), limit=0).memories),
        "what is recalled": Counter((hit.layer, hit.id) for hit in agent.recall(CUE).hits),
        "the events": Counter(one.text for one in agent.memories.listed(("event",), limit=0).memories),
    }
    return [
        f"{str(one)[:80]} in {place}" for place, counts in places.items() for one, count in counts.items() if count > 1
    ]


def entries(owner: Path) -> list[dict[str, Any]]:
    path = owner / "log.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def remains(owner: Path, words: Sequence[str]) -> list[str]:
    """Which of the words stand in which files: in UTF-8, UTF-16, escaped as in JSON or an address, or as the key of a vector;
    also in the files of a zip. A single character in UTF-16 is two bytes, which any table has by chance: it is not looked for."""
    marks = {}
    for word in words:
        encodings = ["utf-8", *(["utf-16-le", "utf-16-be"] if len(word) > 1 else [])]
        marks |= dict.fromkeys(map(word.encode, encodings), word)
        marks |= dict.fromkeys(
            [json.dumps(word)[1:-1].encode(), quote(word).encode(), quote(word).lower().encode()], word
        )
        marks[text_key(word)] = f"the vector of {word}"
    left = []
    for path in sorted(owner.rglob("*")):
        for data in _contents(path) if path.is_file() else ():
            left += [f"{word} in {path.relative_to(owner)}" for mark, word in marks.items() if mark in data]
    return sorted(set(left))


def _contents(path: Path) -> Iterator[bytes]:
    yield path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from map(archive.read, archive.namelist())
