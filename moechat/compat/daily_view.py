"""How a persona of generative agents sees its day (seed 000: reflect, plan, converse): what it asks its memory by name, and the
status that it writes of itself from what comes. Functions alone: no talk of ours calls them. A chat model or an embedder that
is left out is that of ``memory_stream.configure``.
"""

from __future__ import annotations

import re

from moechat.compat import generative_agents, insights
from moechat.compat.generative_agents import *  # noqa: F403
from moechat.compat.generative_agents import AssociativeMemory, Persona, Scratch, candidates, new_retrieve, present
from moechat.memory.stream import GENERATIVE_AGENTS
from moechat.model import Embedder
from moechat.recall.layers import Layers
from moechat.sentences import sentence
from moechat.understanding.consultation import QUESTIONS, Consultation

__all__ = [
    *generative_agents.__all__, "daily_focal_points", "generate_focal_points", "persona_of", "revise_identity",
    "talk_focal_points",
]  # fmt: skip

READ = 30  # Questions are made of the nodes that were used last, this many at most.
_STATUS = re.compile(r"^\W*(?:status|近况)\W*[:：]\W*", re.I | re.M)


def persona_of(layers: Layers) -> Persona:
    """A character with its memory of one user as a persona: its events and reflections are nodes, without vectors as yet. It is a
    copy: whatever is asked of it, the memory stays as it is."""
    who, own, now = layers.character(), layers.config().recall.stream, layers.now()
    memory, node_of, view = AssociativeMemory(), dict[str, str](), layers.episodes.view(now)
    for place, episode in view.each(range(len(view))):
        event = episode.event
        node = (memory.add_thought if episode.kind == "reflection" else memory.add_event)(
            episode.since, episode.expires, event.subject, event.predicate, event.object, event.text, event.keywords,
            event.importance * 10, (event.text, None), [node_of[id_] for id_ in episode.evidence if id_ in node_of],
        )  # fmt: skip
        node.last_accessed = now.fromtimestamp(view.accessed[place], now.tzinfo)
        node_of[episode.id] = node.node_id
    names = ("recency", "relevance", "importance")
    weights = {f"{name}_w": getattr(own.weights, name) / getattr(GENERATIVE_AGENTS, name) for name in names}
    return Persona(who.name, memory, Scratch(who.name, curr_time=now, recency_decay=own.decay, **weights))


def generate_focal_points(
    persona: Persona, n: int = QUESTIONS, *, consultation: Consultation | None = None
) -> list[str]:
    """At most ``n`` questions that the nodes used last raise, by one call; none where nothing has happened. Raises ModelError."""
    nodes = sorted(candidates(persona.a_mem, persona.scratch.curr_time), key=lambda node: node.last_accessed)[-READ:]
    if not nodes:
        return []
    return (consultation or insights.consultation()).questions([(one.node_count, one.description) for one in nodes])[:n]


def daily_focal_points(persona: Persona, language: str = "en") -> list[str]:
    """What a persona asks its memory for at the beginning of a day."""
    values = {"who": persona.scratch.name, "day": f"{present(persona):%Y-%m-%d}"}
    return [sentence("focal_points", one, language, **values) for one in ("plans", "events")]


def talk_focal_points(persona: Persona, other: str, text: str = "", language: str = "en") -> list[str]:
    """What a persona asks its memory for in a talk: whom it talks with, how the two stand, and what was said last."""
    return [
        other,
        sentence("focal_points", "bond", language, who=persona.scratch.name, other=other),
        *filter(None, [text]),
    ]


def revise_identity(
    persona: Persona,
    *,
    consultation: Consultation | None = None,
    embedder: Embedder | None = None,
    language: str = "en",
) -> str:
    """How the persona is today and what it keeps in mind, from what comes for its daily focal points, by one call. It is its
    ``scratch.currently`` from then on, which stays as it was where nothing comes or the answer is empty. Raises ModelError."""
    memory, scratch, points = persona.a_mem, persona.scratch, daily_focal_points(persona, language)
    if memory.lacking() or not memory.embeddings.keys() >= set(points):
        memory.embed(embedder := embedder or insights.embedder())
    retrieved = new_retrieve(persona, points, embedder=embedder)
    nodes = {node.node_id: node for several in retrieved.values() for node in several}
    if statements := [f"{node.created:%Y-%m-%d %H:%M}: {node.description}" for node in nodes.values()]:
        adviser = consultation or insights.consultation()
        answer = adviser.status(scratch.name, f"{present(persona):%Y-%m-%d}", scratch.currently, statements)
        scratch.currently = _STATUS.sub("", answer, count=1).strip() or scratch.currently
    return scratch.currently
