"""The associative memory of generative agents (seed 000): nodes, two ways of retrieving them, saved personas.

``retrieve`` asks by keyword what an event brings to mind, ``new_retrieve`` asks by recency, relevance and importance what
belongs to a topic. Both do the right thing by default; where the original has a fault, a named option repeats it.

This module knows no chat and no store. A persona's times are its own, naive or aware as its files have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partialmethod
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from moechat.compat import concept_nodes
from moechat.compat.concept_nodes import EMBEDDINGS, NODES, STRENGTH, ConceptNode, NodeType, Vector
from moechat.errors import EmbeddingError
from moechat.memory import stream
from moechat.model import Embedder

__all__ = [
    "AssociativeMemory", "ConceptNode", "Persona", "Scratch", "candidates", "extract_importance", "extract_recency",
    "extract_relevance", "new_retrieve", "ranked", "retrieve",
]  # fmt: skip

IDLE = "idle"  # A node with this in its embedding key is no candidate: nothing happens there.
Recency = Literal["newest_first", "rank_oldest_first"]
_OTHER_MODEL = (
    "the vector of {!r} has {} numbers where {} are expected, so it is of another model; "
    "AssociativeMemory.embed(embedder, anew=True) makes all of one"
)


class AssociativeMemory:
    """A persona's nodes: ``seq_*`` newest first, ``kw_to_*`` by lower-cased keyword (newest first), ``embeddings`` by key.

    ``f_saved`` is the folder of a saved memory (``nodes.json``, ``kw_strength.json``, ``embeddings.json``; the last two may
    be missing). Raises DataError naming file, key, value and what to do.
    """

    def __init__(self, f_saved: Path | str | None = None) -> None:
        self.id_to_node: dict[str, ConceptNode] = {}
        self.seq_event: list[ConceptNode] = []
        self.seq_thought: list[ConceptNode] = []
        self.seq_chat: list[ConceptNode] = []
        self.kw_to_event: dict[str, list[ConceptNode]] = {}
        self.kw_to_thought: dict[str, list[ConceptNode]] = {}
        self.kw_to_chat: dict[str, list[ConceptNode]] = {}
        self.kw_strength_event: dict[str, int] = {}
        self.kw_strength_thought: dict[str, int] = {}
        self.embeddings: dict[str, Vector] = {}
        self._last = 0
        if f_saved is not None:
            self._load(Path(f_saved))

    # ---- adding

    def add_event(
        self, created: datetime, expiration: datetime | None, s: str, p: str, o: str, description: str,
        keywords: Iterable[str], poignancy: float, embedding_pair: tuple[str, Vector | None], filling: Any = None,
        *, _type: NodeType = "event",
    ) -> ConceptNode:  # fmt: skip
        """Something that happened. ``embedding_pair`` is (embedding key, vector); for None, ``embed`` makes the vector."""
        key, vector = embedding_pair
        other = next(iter(self.embeddings.values()), vector)
        if vector is not None and other is not None and len(vector) != len(other):
            raise EmbeddingError(_OTHER_MODEL.format(key, len(vector), len(other)))
        evidence = filling if _type == "thought" and isinstance(filling, list | tuple | set) else ()
        deepest = max((self.id_to_node[id_].depth for id_ in evidence if id_ in self.id_to_node), default=0)
        sequence, _, _ = self._of(_type)
        count = self._last + 1
        words = sorted(keywords) if isinstance(keywords, set | frozenset) else list(keywords)
        node = ConceptNode(
            f"node_{count}", count, len(sequence) + 1, _type, deepest + (_type == "thought"), created, expiration, s, p, o,
            description, key, poignancy, words, filling,
        )  # fmt: skip
        self._enter(node)
        sequence.insert(0, node)
        self._count_strength(node)
        if vector is not None:
            self.embeddings[key] = vector
        return node

    add_thought = partialmethod(add_event, _type="thought")
    """Something thought; ``filling`` is the evidence it rests on (node ids; an unknown one adds no depth)."""
    add_chat = partialmethod(add_event, _type="chat")
    """A conversation; ``filling`` is its lines as (speaker, line) pairs, or a bare text."""

    def _enter(self, node: ConceptNode) -> None:
        """Make the node findable by id and by keyword."""
        self.id_to_node[node.node_id] = node
        self._last = max(self._last, node.node_count)
        _, by_keyword, _ = self._of(node.type)
        for word in _lowered(node.keywords):
            by_keyword.setdefault(word, []).insert(0, node)

    def _of(self, type_: NodeType) -> tuple[list[ConceptNode], dict[str, list[ConceptNode]], dict[str, int]]:
        return {
            "event": (self.seq_event, self.kw_to_event, self.kw_strength_event),
            "thought": (self.seq_thought, self.kw_to_thought, self.kw_strength_thought),
            "chat": (self.seq_chat, self.kw_to_chat, {}),  # the original counts no strength of chats
        }[type_]

    # ---- asking

    def retrieve_relevant_events(
        self, s_content: str, p_content: str, o_content: str, *, casefold: bool = True, _type: NodeType = "event"
    ) -> set[ConceptNode]:
        """Events one of whose keywords is the subject, the predicate or the object.

        Case is folded and of an address (``the Ville:cafe:counter``) the tail after the last ``:`` counts, on both sides.
        ``casefold`` False is the original (compat): the words as they are, against lower-cased keywords.
        """
        read = _tail if casefold else str
        sought = {read(word) for word in (s_content, p_content, o_content) if word}
        by_keyword = self._of(_type)[1]
        return {node for word, nodes in by_keyword.items() if read(word) in sought for node in nodes}

    retrieve_relevant_thoughts = partialmethod(retrieve_relevant_events, _type="thought")

    # ---- vectors

    def lacking(self) -> list[str]:
        """Embedding keys of nodes that have no vector."""
        keys = dict.fromkeys(node.embedding_key for node in self.id_to_node.values())
        return [key for key in keys if key not in self.embeddings]

    def embed(self, embedder: Embedder, *, anew: bool = False) -> int:
        """Embed what lacks a vector; with ``anew`` everything, so that all vectors are of this model. Returns how many."""
        if anew:
            self.embeddings.clear()
        keys = self.lacking()
        for key, vector in zip(keys, embedder.embed(keys, "passage") if keys else (), strict=True):
            self.embeddings[key] = [float(number) for number in vector]
        return len(keys)

    def relevance(self, nodes: Sequence[ConceptNode], vector: Vector) -> list[float]:
        """The cosine of each node with ``vector``; 0 for a node that has no vector.

        Raises EmbeddingError where ``vector`` is of another size than theirs.
        """
        keys = [key for key in {node.embedding_key: None for node in nodes} if key in self.embeddings]
        for key in keys:
            if len(self.embeddings[key]) != len(vector):
                raise EmbeddingError(_OTHER_MODEL.format(key, len(self.embeddings[key]), len(vector)))
        matrix = np.array([self.embeddings[key] for key in keys], dtype=np.float64)
        cosines = dict(zip(keys, stream.cosine(matrix, np.array(vector, dtype=np.float64)).tolist(), strict=True))
        return [cosines.get(node.embedding_key, 0.0) for node in nodes]

    # ---- files

    def save(self, folder: Path | str) -> None:
        """Write the three files, each whole or not at all.

        Nodes that were loaded and not changed are written as they were.
        """
        target = Path(folder)
        concept_nodes.write_nodes(target / NODES, self.id_to_node.values())
        strength = {"kw_strength_event": self.kw_strength_event, "kw_strength_thought": self.kw_strength_thought}
        concept_nodes.write_object(target / STRENGTH, strength)
        if self.embeddings or not self.id_to_node:
            vectors = {key: list(vector) for key, vector in self.embeddings.items()}
            concept_nodes.write_object(target / EMBEDDINGS, vectors)

    def _load(self, folder: Path) -> None:
        for node in concept_nodes.read_nodes(folder / NODES):
            self._enter(node)
            self._of(node.type)[0].append(node)
        for sequence in (self.seq_event, self.seq_thought, self.seq_chat):
            sequence.reverse()
        if (folder / STRENGTH).exists():
            self.kw_strength_event, self.kw_strength_thought = concept_nodes.read_strength(folder / STRENGTH)
        else:
            for node in (*self.seq_event, *self.seq_thought):
                self._count_strength(node)
        if (folder / EMBEDDINGS).exists():
            self.embeddings = concept_nodes.read_vectors(folder / EMBEDDINGS)

    def _count_strength(self, node: ConceptNode) -> None:
        if f"{node.predicate} {node.object}" != "is idle":
            strength = self._of(node.type)[2]
            for word in _lowered(node.keywords):
                strength[word] = strength.get(word, 0) + 1


# --- retrieving ------------------------------------------------------------------------------------------------------


@dataclass
class Scratch:
    """The part of a persona's short-term memory that retrieval reads; the defaults are the original's.

    ``curr_time`` is naive or aware as the nodes' times are; ``new_retrieve`` needs it.
    """

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
    """Who retrieves. Any object with an ``a_mem`` and a ``scratch`` will do; ``retrieve`` reads ``a_mem`` alone."""

    name: str
    a_mem: AssociativeMemory
    scratch: Scratch = field(default_factory=Scratch)


def retrieve(persona: Persona, perceived: Iterable[ConceptNode], *, casefold: bool = True) -> dict[str, dict[str, Any]]:
    """The nodes that each perceived event brings to mind: {description: {curr_event, events, thoughts}}, lists newest
    first.

    An event is not its own result. ``casefold`` False is the original (compat), which finds the event itself as well.
    """
    retrieved: dict[str, dict[str, Any]] = {}
    memory = persona.a_mem
    for event in perceived:
        words = (event.subject, event.predicate, event.object)
        events = memory.retrieve_relevant_events(*words, casefold=casefold)
        thoughts = memory.retrieve_relevant_thoughts(*words, casefold=casefold)
        if casefold:
            events.discard(event)
            thoughts.discard(event)
        retrieved[event.description] = {
            "curr_event": event, "events": _newest_first(events), "thoughts": _newest_first(thoughts),
        }  # fmt: skip
    return retrieved


def new_retrieve(
    persona: Persona,
    focal_points: Sequence[str],
    n_count: int = 30,
    *,
    embedder: Embedder | None = None,
    recency: Recency = "newest_first",
    sequential_touch: bool = False,
) -> dict[str, list[ConceptNode]]:
    """The ``n_count`` best nodes for each focal point (seed 000, 3): {focal point: [nodes]}, best first.

    Every node that is returned counts as accessed now (``persona.scratch.curr_time``, which must be set). A focal point
    that is itself an embedding key takes the stored vector; any other needs ``embedder`` (else EmbeddingError).
    ``recency`` and ``sequential_touch`` repeat the original (compat): the node that was used longest ago counts as the most
    recent, and each focal point moves the access times that the next one sees.
    """
    now = present(persona)
    retrieved: dict[str, list[ConceptNode]] = {}
    for focal_point in focal_points:
        best = [node for node, _ in ranked(persona, focal_point, n_count, embedder=embedder, recency=recency)]
        retrieved[focal_point] = best
        for node in best if sequential_touch else ():
            node.last_accessed = now
    for node in chain.from_iterable(retrieved.values()):
        node.last_accessed = now
    return retrieved


def present(persona: Persona) -> datetime:
    """The persona's present. Raises ValueError where it is not set."""
    if persona.scratch.curr_time is None:
        raise ValueError("persona.scratch.curr_time is None: set it to the persona's present")
    return persona.scratch.curr_time


def ranked(
    persona: Persona,
    focal_point: str,
    n_count: int = 30,
    *,
    embedder: Embedder | None = None,
    recency: Recency = "newest_first",
) -> list[tuple[ConceptNode, float]]:
    """``new_retrieve`` for one focal point, with scores, touching nothing."""
    scratch = persona.scratch
    nodes = candidates(persona.a_mem, scratch.curr_time)
    if not nodes:
        return []
    used = [(_seconds(node.last_accessed), _seconds(node.created), node.node_count) for node in nodes]
    order = stream.access_order(*zip(*used, strict=True), oldest_first=recency == "rank_oldest_first")
    nodes = [nodes[i] for i in order]
    own = stream.ScoreWeights(scratch.recency_w, scratch.relevance_w, scratch.importance_w)
    scored = stream.scores(
        list(extract_recency(persona, nodes).values()),
        list(extract_relevance(persona, nodes, focal_point, embedder=embedder).values()),
        list(extract_importance(persona, nodes).values()),
        own * stream.GENERATIVE_AGENTS,
    )
    return [(nodes[i], float(scored.score[i])) for i in stream.order(scored.score, n_count)]


def extract_recency(persona: Persona, nodes: Sequence[ConceptNode]) -> dict[str, float]:
    """decay^i for the i-th of the nodes, i from 1, by node id (seed 000, 3.3). ``new_retrieve`` orders them by last use."""
    decayed = float(persona.scratch.recency_decay) ** np.arange(1, len(nodes) + 1)
    return dict(zip([node.node_id for node in nodes], decayed.tolist(), strict=True))


def extract_importance(persona: Persona, nodes: Sequence[ConceptNode]) -> dict[str, float]:
    """The poignancy of each node, by node id (seed 000, 3.3)."""
    return {node.node_id: node.poignancy for node in nodes}


def extract_relevance(
    persona: Persona, nodes: Sequence[ConceptNode], focal_pt: str, *, embedder: Embedder | None = None
) -> dict[str, float]:
    """The cosine of each node with the focal point, by node id (seed 000, 3.3). ``embedder`` as in ``new_retrieve``."""
    vector = persona.a_mem.embeddings.get(focal_pt)
    if vector is None and embedder is None:
        raise EmbeddingError(
            f"{focal_pt!r} has no stored vector; pass new_retrieve the embedder that made the memory's vectors"
        )
    if vector is None and embedder is not None:
        vector = embedder.embed([focal_pt], "query")[0].tolist()
    cosines = persona.a_mem.relevance(nodes, vector or ())
    return dict(zip([node.node_id for node in nodes], cosines, strict=True))


def candidates(memory: AssociativeMemory, now: datetime | None) -> list[ConceptNode]:
    """Events, then thoughts, each newest first: not idle, and not expired at ``now``."""
    return [
        node
        for node in (*memory.seq_event, *memory.seq_thought)
        if IDLE not in node.embedding_key
        and (node.expiration is None or now is None or _seconds(node.expiration) > _seconds(now))
    ]


def _newest_first(nodes: Iterable[ConceptNode]) -> list[ConceptNode]:
    return sorted(nodes, key=lambda node: node.node_count, reverse=True)


def _seconds(moment: datetime) -> float:
    """Epoch seconds; a naive time counts as UTC, since a persona's world has no summer time."""
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()


def _lowered(keywords: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word.lower() for word in keywords))


def _tail(word: str) -> str:
    """``the Ville:cafe:Counter`` → ``counter``."""
    return (word.rsplit(":", 1)[-1].strip() or word.strip()).casefold()
