"""The prompt of one turn: first the parts that never change, then the history, then the recalled memories and the time,
then the message.

A provider's prompt cache keeps the long prefix that way. Recalled text is only ever placed, never rendered as a template.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from moechat.ai.chat_model import ChatRequest
from moechat.memory.context import Context
from moechat.memory.episodes import overview
from moechat.model import Episode, Exchange, Fact, Hit, Message, Recollection
from moechat.recall import fragments
from moechat.recall.layers import Layers
from moechat.settings.character import Character
from moechat.settings.prompts import Prompts
from moechat.when.names import WEEKDAYS

BLOCKS = ("lore", "core", "reflected", "remembered", "diary")


@dataclass(frozen=True)
class Background:
    """The memories behind the hits, by id, and the events of the overview, oldest first."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    episodes: Mapping[str, Episode] = field(default_factory=dict)
    overview: Sequence[Episode] = ()


NOTHING = Background()


def request(
    layers: Layers,
    context: Context,
    kept: Sequence[Exchange],
    recollection: Recollection,
    text: str,
    now: datetime,
    *,
    own: str,
) -> ChatRequest:
    """The request for a reply to ``text``.

    ``kept`` are those before it that the model is shown, ``own`` is the id of its own exchange.
    """
    character, config = layers.character(), layers.config()
    in_context = {own, *(exchange.id for exchange in kept)}
    background = _background(layers, recollection, in_context, now)
    messages = assemble(
        character, layers.prompts, context.talk(kept, character.greeting), recollection, text, now,
        background=background, recalled_position=config.chat.recalled_position,
    )  # fmt: skip
    # What the user said in the context may answer as well; it is there anyway.
    in_view = [d.hit for d in recollection.dropped if d.why == "in_context" and d.hit.side != "char"]
    hits = [*recollection.hits, *in_view]
    rests_on = in_context - {own}
    rests_on.update(*((hit.id, *hit.sources) for hit in hits), *((e.id, *e.event.sources) for e in background.overview))
    return ChatRequest(
        messages, character, text, now, recollection.spans, recollection.empty_spans, recollection.unread_until,
        hits, kept, frozenset(rests_on),
    )  # fmt: skip


def _background(layers: Layers, recollection: Recollection, in_context: Collection[str], now: datetime) -> Background:
    """The memories behind the hits, and the overview without events that the context or recalled exchanges tell in
    full.
    """
    facts = {fact.id: fact for fact in layers.core.current()}
    hits = [hit for hit in recollection.hits if hit.layer == "diary"]
    episodes = layers.episodes.get([hit.id for hit in hits if hit.episode])
    recalled = {hit.id for hit in hits}
    for hit in hits:
        if hit.episode == "event" and hit.id in episodes and hit.text != episodes[hit.id].event.text:
            recalled.update(hit.sources)  # word for word, below the event
    capacity = layers.config().roll.overview
    return Background(facts, episodes, overview(layers.episodes, now, in_context, capacity, recalled))


def assemble(
    character: Character,
    prompts: Prompts,
    history: Sequence[Message],
    recollection: Recollection,
    text: str,
    now: datetime,
    *,
    background: Background = NOTHING,
    recalled_position: Literal["after_history", "before_history"] = "after_history",
) -> list[Message]:
    """All messages of a request. ``before_history`` is the order of the original (CONTRACTS, A: one turn)."""
    recalled = [Message("system", block) for block in _recalled(character, prompts, recollection, background, now)]
    persona = _persona(character, prompts)
    if recalled_position == "before_history":
        return [*persona, *recalled, *history, Message("user", text)]
    return [*persona, *history, *recalled, Message("user", text)]


def _persona(character: Character, prompts: Prompts) -> list[Message]:
    names = {"char": character.name, "user": character.user_name}
    blocks = [
        prompts.fill(
            "persona", **names, persona=character.persona, personality=character.personality,
            scenario=character.scenario, user_persona=character.user_persona, prompt=character.prompt,
        )
    ]  # fmt: skip
    if character.examples:
        blocks.append(prompts.fill("examples", **names, examples=_examples(character)))
    return [Message("system", block) for block in blocks if block.strip()]


def _examples(character: Character) -> str:
    if isinstance(character.examples, str):
        return character.examples
    names = {"user": character.user_name, "assistant": character.name, "system": ""}
    return "\n".join(f"{names[message.role]}：{message.content}" for message in character.examples)


def _recalled(
    character: Character, prompts: Prompts, recollection: Recollection, background: Background, now: datetime
) -> list[str]:
    names = {"char": character.name, "user": character.user_name}
    blocks = []
    if background.overview:
        events = fragments.remembered(background.overview, now, character.language)
        blocks.append(prompts.fill("overview", **names, entries=events))
    for block in BLOCKS:
        hits = [hit for hit in recollection.hits if _block(hit) == block]
        if block == "diary":
            hits.sort(key=lambda hit: hit.time.timestamp() if hit.time else 0.0)
        if hits:
            blocks.append(prompts.fill(block, **names, entries=_entries(hits, block, character, background, now)))
    for span in recollection.empty_spans:
        ends = {"from": _minute(span.start), "to": _minute(span.end)}
        blocks.append(prompts.fill("empty", phrase=span.phrase, **ends))
    if recollection.unread_until is not None:
        blocks.append(prompts.fill("unread", until=_minute(recollection.unread_until)))
    weekday = WEEKDAYS[character.language][now.weekday()]
    blocks.append(prompts.fill("time", now=_minute(now), weekday=weekday))
    return ["\n\n".join(blocks)]


def _block(hit: Hit) -> str:
    if hit.episode is None:
        return hit.layer
    return "remembered" if hit.episode == "event" else "reflected"


def _entries(hits: Sequence[Hit], block: str, character: Character, background: Background, now: datetime) -> str:
    language = character.language
    if block == "core":
        facts = [background.facts[hit.id] for hit in hits if hit.id in background.facts]
        grouped = fragments.fragments(facts, language, user_name=character.user_name, character_name=character.name)
        others = [f"- {hit.text}" for hit in hits if hit.id not in background.facts]
        return "\n".join(filter(None, [grouped, *others]))
    if block == "diary":
        return "\n".join(_dated(hit, language) for hit in hits)
    if block == "remembered":
        return "\n".join(_event(hit, background.episodes.get(hit.id), now, language) for hit in hits)
    return "\n".join(f"- {hit.text}" for hit in hits)


def _dated(hit: Hit, language: Literal["zh", "en"]) -> str:
    if hit.time is None:
        return hit.text
    return f"[{_minute(hit.time)} {WEEKDAYS[language][hit.time.weekday()]}]\n{hit.text}"


def _event(hit: Hit, episode: Episode | None, now: datetime, language: Literal["zh", "en"]) -> str:
    """The event as seed 004 has it; what was said of it stands below where the budget had room for it."""
    if episode is None:
        return hit.text
    line = fragments.remembered([episode], now, language)
    return "\n".join([line, *hit.text.splitlines()[1:]])


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
