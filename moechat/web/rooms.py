"""The rooms beside the chat: which one a tab is in, and what its clicks do. Knows no Gradio.

A room is drawn when somebody goes there, never before.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from moechat.agent import Agent
from moechat.errors import FieldError, MoeChatError, NotFound
from moechat.web import author_room, memory_room, topic_room
from moechat.web.draw import escape
from moechat.web.memory_room import MINE, Action, MemoryLook, Note
from moechat.web.topic_room import TopicLook
from moechat.web.words import Words

log = logging.getLogger(__name__)

CHAT, MEMORIES, TOPICS = "chat", "memories", "topics"
ROOMS = (CHAT, MEMORIES, TOPICS)
LONGEST = 100_000  # A field may hold this many characters.


@dataclass(frozen=True)
class Look:
    """What one tab looks at beside the chat; ``width`` in pixels, ``note`` is what became of the last action."""

    room: str = CHAT
    width: int = 900
    memories: MemoryLook = field(default_factory=MemoryLook)
    topics: TopicLook = field(default_factory=TopicLook)
    note: Note = field(default_factory=Note)

    def elsewhere(self) -> Look:
        """The same room of another character."""
        return Look(self.room, self.width, replace(MemoryLook(), store=self.memories.store))


def action_of(data: object) -> Action:
    """What the page reports of a click or a form, as text; anything else is left out."""
    if not isinstance(data, Mapping):
        return {}
    return {str(key)[:40]: str(value) for key, value in data.items() if isinstance(value, str | int | float)}


def waiting(look: Look, action: Action, words: Words) -> Look | None:
    """The look while an action takes long; None for an action that does not."""
    return replace(look, note=Note(words("think_begun"))) if action.get("do") == "think" else None


def act(agent: Agent, look: Look, action: Action, words: Words, *, busy: bool = False) -> Look:
    """What is looked at after an action; ``busy``: the agent is answering, and changes have to wait."""
    look = replace(look, note=Note(), width=_width(action.get("width", ""), look.width))
    do = action.get("do", "")
    if any(len(value) > LONGEST for value in action.values()):  # It is refused, not cut: the rest would be lost.
        return replace(look, note=Note(words("too_long", n=LONGEST), bad=True))
    if do == "room":
        return replace(look, room=action["room"]) if action.get("room") in ROOMS else look
    if do == "show":
        return replace(look, room=MEMORIES, memories=memory_room.showing(agent, action.get("id", "")))
    if busy and do in memory_room.WAITING and look.memories.store == MINE:
        return replace(look, note=Note(words("wait_reply"), bad=True))
    try:
        if look.room == TOPICS:
            topics, note = topic_room.act(agent, look.topics, action, words)
            return replace(look, topics=topics, note=note)
        memories, note = memory_room.act(agent, look.memories, action, words)
        return replace(look, memories=memories, note=note)
    except FieldError as wrong:
        return replace(look, note=Note(author_room.wrong(wrong, words), bad=True))
    except NotFound:
        gone = words("topic_gone" if look.room == TOPICS else "gone")
        memories = replace(look.memories, opened="", doing="")
        return replace(look, memories=memories, note=Note(gone, bad=True))
    except (MoeChatError, OSError) as failure:
        return replace(look, note=Note(words("went_wrong", error=failure), bad=True))


def _width(text: str, before: int) -> int:
    return int(text) if text.isdecimal() and 0 < int(text) < 10_000 else before


def drawn(agent: Agent, look: Look, words: Words) -> str:
    """The room as HTML; "" for the chat, which draws itself."""
    if look.room == CHAT:
        return ""
    try:
        agent.follow()
        inside = (
            topic_room.drawn(agent, look.topics, words, look.width)
            if look.room == TOPICS
            else memory_room.drawn(agent, look.memories, words)
        )
    except (MoeChatError, OSError) as failure:
        inside = f'<p class="empty">{escape(words("went_wrong", error=failure))}</p>'
    kind = "bad" if look.note.bad else "good"
    role = "alert" if look.note.bad else "status"
    note = f'<div class="note-line {kind}" role="{role}">{escape(look.note.text)}</div>'
    return f'{note}<div class="room {look.room}">{inside}</div>'


def switch(words: Words, *, loaded: bool = False) -> str:
    """The doors to the rooms; which one is open is marked by the page itself."""
    doors = "".join(
        f'<button type="button" data-room="{room}">{escape(words(f"room_{room}"))}</button>' for room in ROOMS
    )
    return f'<nav class="rooms" aria-label="{escape(words("rooms"))}" data-loaded="{int(loaded)}">{doors}</nav>'
