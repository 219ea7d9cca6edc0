"""The prompt of one turn: what never changes first, then the history, then what was recalled and the time, then the message.

A provider's prompt cache keeps the long prefix that way. Recalled text is only ever placed, never rendered as a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from moechat.character import Character
from moechat.memory import context
from moechat.model import Exchange, Hit, Message, Recollection
from moechat.prompts import Prompts

WEEKDAYS = {
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
BLOCKS = (("lore", "lore"), ("core", "core"), ("diary", "diary"))


def assemble(
    character: Character,
    prompts: Prompts,
    history: Sequence[Message],
    recollection: Recollection,
    text: str,
    now: datetime,
    *,
    recalled_position: Literal["after_history", "before_history"] = "after_history",
) -> list[Message]:
    """All messages of a request. ``before_history`` is the order of the original (CONTRACTS, A: one turn)."""
    recalled = [Message("system", block) for block in _recalled(character, prompts, recollection, now)]
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


def _recalled(character: Character, prompts: Prompts, recollection: Recollection, now: datetime) -> list[str]:
    names = {"char": character.name, "user": character.user_name}
    blocks = []
    for layer, template in BLOCKS:
        hits = [hit for hit in recollection.hits if hit.layer == layer]
        if layer == "diary":
            hits.sort(key=lambda hit: hit.time.timestamp() if hit.time else 0.0)
        if hits:
            entries = "\n".join(_shown(hit, character.language) for hit in hits)
            blocks.append(prompts.fill(template, **names, entries=entries))
    for span in recollection.empty_spans:
        ends = {"from": _minute(span.start), "to": _minute(span.end)}
        blocks.append(prompts.fill("empty", phrase=span.phrase, **ends))
    weekday = WEEKDAYS[character.language][now.weekday()]
    blocks.append(prompts.fill("time", now=_minute(now), weekday=weekday))
    return ["\n\n".join(blocks)]


def _shown(hit: Hit, language: Literal["zh", "en"]) -> str:
    if hit.layer == "diary" and hit.time:
        return f"[{_minute(hit.time)} {WEEKDAYS[language][hit.time.weekday()]}]\n{hit.text}"
    if hit.layer == "core" and hit.time and hit.time.year > 1970:
        return f"- {hit.text}（{hit.time:%Y-%m-%d}）"
    return f"- {hit.text}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def history(exchanges: Sequence[Exchange], greeting: str, *, from_the_start: bool) -> list[Message]:
    """The talk as messages; a conversation that is seen from its start begins with the character's greeting."""
    said = context.messages(exchanges)
    return [Message("assistant", greeting), *said] if greeting and from_the_start else said
