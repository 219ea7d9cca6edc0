"""Saved personas of generative agents (seed 000), and how one becomes a character that can be talked to.

Its events become events of the diary, its thoughts reflections with their evidence, its conversations exchanges. A persona's
times have no zone: whoever imports it says which one they are in.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from moechat.clock import SetClock, local
from moechat.compat.concept_nodes import NODES, TIME, ConceptNode, is_number, read_object
from moechat.compat.generative_agents import AssociativeMemory, Persona, Scratch
from moechat.errors import DataError, shown
from moechat.memory.stream import GENERATIVE_AGENTS
from moechat.model import Episode, Event, Exchange
from moechat.settings.character import FILE, Language
from moechat.store import formats, records
from moechat.store.disk import index_folder
from moechat.store.files import FileStore
from moechat.when.names import tongue_of

SCRATCH = "scratch.json"
BLANK = "this is blank"  # The original stores this where it could not read the model's insights.
PRESENT = "%B %d, %Y, %H:%M:%S"  # February 14, 2023, 00:02:20
# The three files lie in one of these, seen from the named folder.
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
_ADDRESS = re.compile(r":(?! )")  # It splits the Ville:cafe:counter, but not "plan: get up".


@dataclass(frozen=True)
class ImportReport:
    """The result of an import: what it made, and the nodes that it left out: {node id: why}."""

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
    named = Path(folder)
    memory = next((named / place for place in PLACES if (named / place / NODES).is_file()), None)
    if memory is None:
        remedy = "name the folder of a saved persona, such as storage/<simulation>/personas/<name>"
        raise DataError(named, f"holds no associative_memory/{NODES}; {remedy}")
    memory = memory.resolve()
    home = memory.parent if memory.name == "associative_memory" else memory
    scratch_file = next((place / SCRATCH for place in (home, named) if (place / SCRATCH).is_file()), None)
    scratch = _scratch(scratch_file) if scratch_file else Scratch()
    own_folder = home.parent if home.name == "bootstrap_memory" else home
    return Persona(scratch.name or own_folder.name, AssociativeMemory(memory), scratch)


def _scratch(path: Path) -> Scratch:
    saved = read_object(path)
    scratch = Scratch()
    for name in (field.name for field in fields(Scratch)):
        value = saved.get(name)
        is_text = isinstance(getattr(scratch, name), str)
        if value is None:
            continue
        if name == "curr_time":
            scratch.curr_time = _present(value, path)
        elif is_text and isinstance(value, str):
            setattr(scratch, name, value.strip())
        elif not is_text and is_number(value):
            setattr(scratch, name, value)
        else:
            raise DataError(path, f"{name} = {shown(value)}: expects {'text' if is_text else 'a number'}")
    return scratch


def _present(text: Any, path: Path) -> datetime:
    for form in (PRESENT, TIME):
        try:
            return datetime.strptime(text, form)
        except (TypeError, ValueError):
            continue
    raise DataError(path, f"curr_time = {shown(text)}: expects a time such as February 14, 2023, 00:02:20")


def language_of(persona: Persona) -> Language:
    """The language that its short-term memory, or else its nodes, are written in."""
    scratch = persona.scratch
    text = "".join((scratch.innate, scratch.learned, scratch.currently, scratch.lifestyle))
    text = text or "".join(node.description for node in persona.a_mem.id_to_node.values())
    return tongue_of(text)


# --- importing -------------------------------------------------------------------------------------------------------


def import_persona(
    folder: Path | str,
    character_folder: Path,
    zone: tzinfo | None,
    *,
    language: Language | None = None,
    expires: bool = True,
) -> ImportReport:
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
        report = _write(persona, making, zone, language or language_of(persona), expires)
        making.chmod(0o755)  # a temporary folder is its owner's alone
        making.rename(character_folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return replace(report, folder=character_folder)


def _write(persona: Persona, folder: Path, zone: tzinfo | None, language: Language, expires: bool) -> ImportReport:
    imported = _Imported(persona, zone, expires)
    present = max((node.created for node in persona.a_mem.id_to_node.values()), default=datetime(2023, 2, 13))
    store = FileStore(folder, clock=SetClock(local(present, zone)), zone=zone)
    try:
        if imported.exchanges:
            store.imports.add(imported.exchanges, talk="import", by="author")
        if imported.episodes:
            store.findings.put(imported.episodes)
    finally:
        store.close()
    shutil.rmtree(index_folder(folder), ignore_errors=True)  # it is made anew where the character will lie
    (folder / ".lock").unlink(missing_ok=True)
    (folder / FILE).write_bytes(character_yaml(persona, language))
    events = sum(episode.kind == "event" for episode in imported.episodes)
    counts = (events, len(imported.episodes) - events, len(imported.exchanges))
    return ImportReport(persona.name, folder, *counts, imported.left_out, tuple(imported.notices()))


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
        self._exchange_ids: set[str] = set()
        self._lost: dict[str, list[str]] = {}  # Node id → evidence that is missing.
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
        at = local(node.created, self._zone)
        exchanges = list(_exchanges(node, at, _lines(node), self._name))
        self.exchanges += exchanges
        self._exchange_ids |= {exchange.id for exchange in exchanges}
        cited = [id_ for id_ in node.filling or () if isinstance(id_, str)] if isinstance(node.filling, list) else []
        if lost := [id_ for id_ in cited if id_ not in self._of_node]:
            self._lost[node.node_id] = lost
        evidence = [id_ for id_ in cited if id_ in self._of_node]
        event = self._event(node, at, tuple(exchange.id for exchange in exchanges), evidence)
        id_ = formats.derived_id(event.text, event.sources)
        if node.type != "thought":
            return Episode(id_, at, event)
        rests_on = tuple(self._of_node[id_].id for id_ in evidence)
        end = local(node.expiration, self._zone) if node.expiration and self._expires else None
        return Episode(id_, at, event, "reflection", evidence=rests_on, depth=node.depth, expires=end)

    def _event(self, node: ConceptNode, at: datetime, own: tuple[str, ...], evidence: list[str]) -> Event:
        """``own`` are the exchanges of a conversation. Any other node rests on itself and on the conversations it cites."""
        cited = (source for id_ in evidence for source in self._of_node[id_].event.sources)
        sources = own or (node.node_id, *dict.fromkeys(id_ for id_ in cited if id_ in self._exchange_ids))
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
        """Notices for the person who imports."""
        for id_, lost in self._lost.items():
            yield f"{id_} rests on {', '.join(lost)} as well, which is not there or was left out"
        ends = [episode.expires for episode in self.episodes if episode.expires]
        if ends:
            yield (
                f"{len(ends)} thoughts are recalled until they expire, the last on {max(ends).date()}; "
                "import with their expiration left out to keep them"
            )


def _lines(node: ConceptNode) -> list[tuple[str, str]]:
    """The lines of a chat as (speaker, line); [] where it has none of that form."""
    if node.type != "chat" or not isinstance(node.filling, list):
        return []
    pairs = [line for line in node.filling if isinstance(line, list | tuple) and len(line) == 2]
    return [(str(who), str(line)) for who, line in pairs]


def _exchanges(node: ConceptNode, at: datetime, lines: list[tuple[str, str]], name: str) -> Iterator[Exchange]:
    """The lines of others, by name, each with the persona's answer.

    They are a second apart, so that they keep their order.
    """
    own_names = {name, name.split()[0]}
    turns: list[tuple[list[str], list[str]]] = []  # (lines of others, own lines)
    for who, line in lines:
        is_own = who in own_names
        if not turns or (turns[-1][1] and not is_own):
            turns.append(([], []))
        turns[-1][is_own].append(line if is_own else f"{who}: {line}")
    for number, (others, own) in enumerate(turns, 1):
        moment = at + timedelta(seconds=number - 1)
        yield Exchange(f"{node.node_id}-{number}", moment, "\n".join(others), "\n".join(own))
