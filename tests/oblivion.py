"""What an owner's memory shows of some words, and whether its files still hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.index.vector_rows import text_key
from moechat.index.vectors import VectorTable
from moechat.web import memory_room
from moechat.web.clicks import Visit
from moechat.web.memory_room import MemoryLook
from moechat.web.words import Words
from tests.attack.checks import remains
from tests.houses import say
from tests.web.test_web import Reader


def nowhere(folder: Path, words: Sequence[str], sentences: Iterable[str] = ()) -> None:
    """No byte of the owner's folder holds one of the words, as UTF-8 or escaped as in JSON, and no table holds the vector of
    a word or a sentence, nor a vector that belongs to no text at all.
    """
    there = remains(folder, words)
    assert there == [], there
    keys = {text_key(text): text for text in (*words, *sentences) if text.strip()}
    for path, held in vectors_under(folder):
        left = sorted({keys[key] for key in held & keys.keys()})
        assert left == [], (path, left)


def vectors_under(folder: Path) -> Iterator[tuple[Path, set[bytes]]]:
    """(folder, keys) of every vector table below a folder. A vector without a key fails the test: it is left of something."""
    for path in sorted(folder.rglob("keys.bin")):
        head, body = path.read_bytes()[:16], path.read_bytes()[16:]
        table = VectorTable(path.parent, int.from_bytes(head[8:12], "little"))
        keys = [body[start : start + 16] for start in range(0, len(body), 16)]
        vectors = (path.parent / "vectors.f32").read_bytes()
        size = table.dim * 4
        for place, key in enumerate(keys):
            assert any(key) or not any(vectors[place * size : (place + 1) * size]), (
                f"{path.parent}: {place} is nobody's"
            )
        table.close()
        yield path.parent, {key for key in keys if any(key)}


def vectors_of(folder: Path, sentence: str) -> list[str]:
    """The names of the tables that hold the vector of a sentence."""
    return [path.name for path, keys in vectors_under(folder) if text_key(sentence) in keys]


def profile(agent: Agent) -> list[str]:
    """What holds of everybody and everything now, oldest first."""
    return [fact.text for fact in agent.layers.core.current()]


def findings(agent: Agent) -> str:
    """All that was understood, superseded and archived findings too: facts, events with every part of theirs, tags."""
    ids = [str(row["id"]) for row in agent.log()]
    known = agent.store.findings
    return f"{known.facts()}\n{known.citing(ids)}\n{known.notes_of(ids)}"


def page(agent: Agent, *, archived: bool = False) -> str:
    """The words of the memory room: the letter, the whole list, one memory after another opened."""
    everything = MemoryLook(kind="", count=10_000, archived=archived)
    opened = [one.id for one in agent.memories.listed(limit=0, archived=archived).memories]
    here = Visit(None, agent, Words("zh"))  # type: ignore[arg-type]  # It asks nothing of the house.
    looks = [MemoryLook(), everything, *(replace(everything, count=1, opened=id_) for id_ in opened)]
    return "\n".join(Reader(memory_room.drawn(here, look)).text for look in looks)


def recalled_text(agent: Agent, question: str) -> str:
    """Everything that recall brings up for a question, whether it enters the prompt or not."""
    recollection = agent.recall(question)
    return f"{recollection.hits}\n{recollection.dropped}\n{recollection.ranked}"


def prompt(agent: Agent, model: ScriptedModel, text: str) -> str:
    """What the model is shown for a message, the message itself apart. It is said, and answered."""
    say(agent, text)
    return "\n".join(message.content for message in model.requests[-1].messages[:-1])
