"""Saved personas of generative agents (seed 000), and how one becomes a character that can be talked to.

Its events become events of the diary, its thoughts reflections with their evidence, its conversations exchanges. A persona's
times have no zone: whoever imports it says which one they are in.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Literal

from moechat.clock import SetClock
from moechat.compat.associative import AssociativeMemory
from moechat.compat.concept_nodes import NODES, TIME, ConceptNode, read_object
from moechat.errors import DataError
from moechat.memory.stream import GENERATIVE_AGENTS
from moechat.model import Episode, Event, Exchange
from moechat.settings.character import FILE
from moechat.store import formats, records
from moechat.store.files import FileStore

Language = Literal["zh", "en"]

SCRATCH = "scratch.json"
BLANK = "this is blank"  # what the original stores where it could not read the model's insights
PRESENT = "%B %d, %Y, %H:%M:%S"  # February 14, 2023, 00:02:20
# Where the three files lie, seen from the folder that was named.
PLACES = ("associative_memory", "bootstrap_memory/associative_memory", ".")
# (what scratch.json calls it, how the persona text begins its line)
TRAITS: Mapping[Language, tuple[tuple[str, str], ...]] = {
    "zh": (
        ("age", "年龄："), ("innate", "性格："), ("learned", "经历："), ("currently", "近况："), ("lifestyle", "作息："),
    ),
    "en": (
        ("age", "Age: "), ("innate", "Character: "), ("learned", "Background: "), ("currently", "At present: "),
        ("lifestyle", "Daily life: "),
    ),
}  # fmt: skip
_HAN = re.compile(r"[\u3400-\u9fff]")
_ADDRESS = re.compile(r":(?! )")  # the Ville:cafe:counter, but not "plan: get up"


@dataclass
class Scratch:
    """The part of a persona's short-term memory that we read; usual values as in the original."""

    name: str = ""
    age: int | None = None
    innate: str = ""
    learned: str = ""
    currently: str = ""
    lifestyle: str = ""
    curr_time: datetime | None = None
    recency_decay: float = 0.99
    recency_w: float = 1.0
    relevance_w: float = 1.0
    importance_w: float = 1.0


@dataclass
class Persona:
    """A saved persona; ``moechat.associative.retrieve`` and ``new_retrieve`` work on it as it is."""

    name: str
    a_mem: AssociativeMemory
    scratch: Scratch = field(default_factory=Scratch)

    @property
    def language(self) -> Language:
        told = "".join((self.scratch.innate, self.scratch.learned, self.scratch.currently, self.scratch.lifestyle))
        told = told or "".join(node.description for node in self.a_mem.id_to_node.values())
        return "zh" if _HAN.search(told) else "en"


@dataclass(frozen=True)
class Report:
    """What an import made, and what it left out: {node id: why}."""

    name: str
    folder: Path
    events: int
    reflections: int
    exchanges: int
    left_out: Mapping[str, str]
    notices: tuple[str, ...] = ()


# --- reading ---------------------------------------------------------------------------------------------------------


def read_persona(folder: Path | str) -> Persona:
    """The persona saved in ``folder``: that of the persona, its ``bootstrap_memory`` or its ``associative_memory``.

    Without a ``scratch.json`` it has the folder's name and the usual weights. Raises DataError naming file, key, value and
    what to do.
    """
    given = Path(folder)
    memory = next((given / place for place in PLACES if (given / place / NODES).is_file()), None)
    if memory is None:
        where = "name the folder of a saved persona, such as storage/<simulation>/personas/<name>"
        raise DataError(given, f"holds no associative_memory/{NODES}; {where}")
    memory = memory.resolve()
    home = memory.parent if memory.name == "associative_memory" else memory
    beside = next((place / SCRATCH for place in (home, given) if (place / SCRATCH).is_file()), None)
    scratch = _scratch(beside) if beside else Scratch()
    usual = home.parent if home.name == "bootstrap_memory" else home
    return Persona(scratch.name or usual.name, AssociativeMemory(memory), scratch)


def _scratch(path: Path) -> Scratch:
    told, known = read_object(path), Scratch()
    for one in fields(Scratch):
        value = told.get(one.name)
        if value is None:
            continue
        usual = getattr(known, one.name)
        if one.name == "curr_time":
            setattr(known, one.name, _present(value, path))
        elif isinstance(usual, str) and isinstance(value, str):
            setattr(known, one.name, value.strip())
        elif not isinstance(usual, str) and isinstance(value, int | float) and not isinstance(value, bool):
            setattr(known, one.name, value)
        else:
            expected = "text" if isinstance(usual, str) else "a number"
            raise DataError(path, f"{one.name} = {value!r}: expects {expected}")
    return known


def _present(text: Any, path: Path) -> datetime:
    for form in (PRESENT, TIME):
        try:
            return datetime.strptime(text, form)
        except (TypeError, ValueError):
            continue
    raise DataError(path, f"curr_time = {text!r}: expects a time such as February 14, 2023, 00:02:20")


# --- importing -------------------------------------------------------------------------------------------------------


def import_persona(
    folder: Path | str,
    character_folder: Path,
    zone: tzinfo | None,
    *,
    language: Language | None = None,
    expires: bool = True,
) -> Report:
    """Make a character of the persona saved in ``folder``; ``character_folder`` must not be there yet.

    ``zone`` is that of the persona's times (None: the system's). ``expires`` False keeps thoughts for good: the original
    gives each thirty days. The character appears whole or not at all. Raises DataError.
    """
    persona = read_persona(folder)
    if character_folder.exists():
        raise DataError(character_folder, "is already there and is left as it is; import under another name (-c NAME)")
    character_folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".import-", dir=character_folder.parent))
    try:
        report = _write(persona, making, zone, language or persona.language, expires)
        making.chmod(0o755)  # a temporary folder is its owner's alone
        making.rename(character_folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return Report(persona.name, character_folder, *report)


def _write(
    persona: Persona, folder: Path, zone: tzinfo | None, language: Language, expires: bool
) -> tuple[int, int, int, Mapping[str, str], tuple[str, ...]]:
    imported = _Imported(persona, zone, expires)
    present = max((node.created for node in persona.a_mem.id_to_node.values()), default=datetime(2023, 2, 13))
    store = FileStore(folder, clock=SetClock(formats.local(present, zone)), zone=zone)
    try:
        store.days.add_all(imported.exchanges)
        if imported.episodes:
            store.derived.put_episodes(imported.episodes)
    finally:
        store.close()
    shutil.rmtree(folder / ".index", ignore_errors=True)  # it is made anew where the character will lie
    (folder / ".lock").unlink(missing_ok=True)
    (folder / FILE).write_bytes(character_yaml(persona, language))
    events = sum(episode.kind == "event" for episode in imported.episodes)
    thoughts = len(imported.episodes) - events
    return events, thoughts, len(imported.exchanges), imported.left_out, tuple(imported.notices())


def character_yaml(persona: Persona, language: Language) -> bytes:
    """character.yaml: who the persona is, and its own weights and decay (by rank of use, as the original counts)."""
    scratch = persona.scratch
    traits = [f"{label}{getattr(scratch, key)}" for key, label in TRAITS[language] if getattr(scratch, key)]
    texts = {"name": persona.name, "language": language, "persona": "\n".join(traits)}
    head = "".join(f"{key}: {records.scalar(text, 2)}\n" for key, text in texts.items() if text)
    weights = {
        part: round(getattr(scratch, f"{part}_w") * getattr(GENERATIVE_AGENTS, part), 6)
        for part in ("recency", "relevance", "importance")
    }
    stream = {"decay": scratch.recency_decay, "recency_unit": "rank", "weights": weights}
    return head.encode() + records.entry("overrides", {"recall": {"stream": stream}})


class _Imported:
    """The nodes as episodes and exchanges, oldest first."""

    def __init__(self, persona: Persona, zone: tzinfo | None, expires: bool) -> None:
        self._name, self._zone, self._expires = persona.name, zone, expires
        self._of_node: dict[str, Episode] = {}
        self._heard: set[str] = set()  # ids of exchanges
        self._lost: dict[str, list[str]] = {}  # node id → evidence that is not there
        self.exchanges: list[Exchange] = []
        self.left_out: dict[str, str] = {}
        for node in sorted(persona.a_mem.id_to_node.values(), key=lambda node: node.node_count):
            if BLANK in node.description.lower() or not node.description.strip():
                self.left_out[node.node_id] = f"it says nothing: {node.description.strip() or 'no text'}"
            else:
                self._of_node[node.node_id] = self._episode(node)

    @property
    def episodes(self) -> list[Episode]:
        return list(self._of_node.values())

    def _episode(self, node: ConceptNode) -> Episode:
        at = formats.local(node.created, self._zone)
        said = list(_exchanges(node, at, _lines(node), self._name))
        self.exchanges += said
        self._heard |= {exchange.id for exchange in said}
        cited = [id_ for id_ in node.filling or () if isinstance(id_, str)] if isinstance(node.filling, list) else []
        if lost := [id_ for id_ in cited if id_ not in self._of_node]:
            self._lost[node.node_id] = lost
        evidence = [id_ for id_ in cited if id_ in self._of_node]
        event = self._event(node, at, tuple(exchange.id for exchange in said), evidence)
        id_ = formats.derived_id(event.text, event.sources)
        if node.type != "thought":
            return Episode(id_, at, event)
        rests_on = tuple(self._of_node[id_].id for id_ in evidence)
        end = formats.local(node.expiration, self._zone) if node.expiration and self._expires else None
        return Episode(id_, at, event, "reflection", evidence=rests_on, depth=node.depth, expires=end)

    def _event(self, node: ConceptNode, at: datetime, own: tuple[str, ...], evidence: list[str]) -> Event:
        """``own``: what was said in it. Anything but a conversation rests on itself, and on the conversations it cites."""
        further = (source for id_ in evidence for source in self._of_node[id_].event.sources)
        sources = own or (node.node_id, *dict.fromkeys(source for source in further if source in self._heard))
        parts = _ADDRESS.split(node.subject or "")
        text = node.description.strip()
        if isinstance(node.filling, str) and node.filling.strip() not in text:
            text = f"{text}: {node.filling.strip()}"
        return Event(
            text, sources, parts[-1], node.predicate or "", node.object or "",
            min(1.0, max(0.0, node.poignancy / 10)), tuple(dict.fromkeys(node.keywords)),
            place=parts[-2] if len(parts) > 1 else "",
            happened=None if node.type == "thought" else (at, at),
        )  # fmt: skip

    def notices(self) -> Iterator[str]:
        """What the reader of the import should know."""
        for id_, lost in self._lost.items():
            yield f"{id_} rests on {', '.join(lost)} as well, which is not there or was left out"
        ends = [episode.expires for episode in self.episodes if episode.expires]
        if ends:
            yield (
                f"{len(ends)} thoughts are recalled until they expire, the last on {max(ends).date()}; "
                "import with their expiration left out to keep them"
            )


def _lines(node: ConceptNode) -> list[tuple[str, str]]:
    """The lines of a chat as (speaker, line); none where it has none of that form."""
    if node.type != "chat" or not isinstance(node.filling, list):
        return []
    pairs = [line for line in node.filling if isinstance(line, list | tuple) and len(line) == 2]
    return [(str(who), str(said)) for who, said in pairs]


def _exchanges(node: ConceptNode, at: datetime, lines: list[tuple[str, str]], name: str) -> Iterator[Exchange]:
    """What others said, by name, and the persona's answer; a second apart, so that they keep their order."""
    own = {name, name.split()[0]}
    turns: list[tuple[list[str], list[str]]] = []
    for who, said in lines:
        answers = who in own
        if not turns or (turns[-1][1] and not answers):
            turns.append(([], []))
        turns[-1][answers].append(said if answers else f"{who}: {said}")
    for i, (heard, answered) in enumerate(turns):
        id_, moment = f"{node.node_id}-{i + 1}", at + timedelta(seconds=i)
        yield Exchange(id_, moment, "\n".join(heard), "\n".join(answered))
