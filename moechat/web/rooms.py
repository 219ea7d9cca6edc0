"""The rooms beside the chat: which one a tab is in, and what its clicks do. Knows no Gradio.

A room is drawn when somebody goes there, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from moechat.access.keys import Pass
from moechat.errors import MoeChatError, NotFound
from moechat.web import fault_words, memory_room, settings_room, studio_page, studio_room, topic_room
from moechat.web.clicks import Action, Note, Visit, Whereabouts
from moechat.web.drawing import macros
from moechat.web.memory_room import MemoryLook
from moechat.web.settings_room import SettingsLook
from moechat.web.studio_room import StudioLook
from moechat.web.topic_room import TopicLook
from moechat.web.words import Words

CHAT, MEMORIES, TOPICS, STUDIO, SETTINGS = "chat", "memories", "topics", "studio", "settings"
OWN_ROOMS = (CHAT, MEMORIES, TOPICS)
ROOMS = (*OWN_ROOMS, STUDIO, SETTINGS)
SIGNS = {  # Each is the path of a picture of 24 by 24.
    CHAT: "M4 5h16v11H9l-5 4z",
    MEMORIES: "M12 3l2.4 6.6L21 12l-6.6 2.4L12 21l-2.4-6.6L3 12l6.6-2.4z",
    TOPICS: "M4 4h9v9H4zM15 4h5v5h-5zM15 11h5v9h-5zM4 15h9v5H4z",
    STUDIO: "M4 20l4-1L20 7l-3-3L5 16zM14 7l3 3",
    SETTINGS: "M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4",
}
LONGEST = 100_000  # A field may hold this many characters.


@dataclass(frozen=True)
class Look:
    """What one tab looks at beside the chat; ``width`` in pixels, ``note`` is what became of the last action. ``place``
    is whose memory it is."""

    room: str = CHAT
    width: int = 900
    memories: MemoryLook = field(default_factory=MemoryLook)
    topics: TopicLook = field(default_factory=TopicLook)
    settings: SettingsLook = field(default_factory=SettingsLook)
    studio: StudioLook = field(default_factory=StudioLook)
    note: Note = field(default_factory=Note)
    place: Whereabouts | None = None

    def of(self, place: Whereabouts) -> Look:
        """This look where it is of this memory; else the same room of another."""
        if place in (self.place, None):
            return self
        memories, studio = replace(MemoryLook(), store=self.memories.store), self.studio.elsewhere()
        return Look(self.room, self.width, memories, studio=studio, note=self.note, place=place)


def open_to(passed: Pass) -> Sequence[str]:
    """The rooms that one may enter: only who reaches everything changes what the whole program shares."""
    return ROOMS if passed.is_whole else OWN_ROOMS


def act(here: Visit, look: Look, action: Action) -> Look:
    """What is looked at after an action, and what became of it."""
    before, do, words = look, action.get("do", ""), here.words
    look = replace(look, note=Note(), width=_width(action.get("width", ""), look.width))
    if any(len(value) > LONGEST for value in action.values()):  # It is refused, not cut: the rest would be lost.
        return replace(look, note=Note(words("too_long", n=LONGEST), bad=True))
    if do == "room":
        if action.get("room") not in open_to(here.passed):
            return look
        has_moved = look.studio.go is not None  # Then it still says what became of the click that led here.
        note = before.note if has_moved else Note()
        return replace(look, room=action["room"], note=note, studio=replace(look.studio, go=None))
    if here.agent is not None and do == "show":
        return replace(look, room=MEMORIES, memories=memory_room.showing(here.agent, action.get("id", "")))
    if look.room == CHAT or (here.agent is None and look.room in OWN_ROOMS):
        return look
    try:
        part, note = DOINGS[look.room][0](here, getattr(look, look.room), action)
    except (MoeChatError, OSError) as failure:
        memories = replace(look.memories, opened="", doing="") if isinstance(failure, NotFound) else look.memories
        return replace(look, memories=memories, note=Note(fault_words.said(failure, words), bad=True))
    return replace(look, note=note, **{look.room: part})


def _width(text: str, before: int) -> int:
    return int(text) if text.isdecimal() and 0 < int(text) < 10_000 else before


def drawn(here: Visit, look: Look) -> str:
    """The room as HTML; "" for the chat, which draws itself."""
    if look.room == CHAT:
        return ""
    draw, words = macros("rooms", here.words), here.words
    try:
        if here.agent is not None and look.room != SETTINGS:
            here.agent.look()
        if here.agent is None and look.room in OWN_ROOMS:
            inside = draw.closed(words("no_characters"))
        else:
            inside = DOINGS[look.room][1](replace(here, width=look.width), getattr(look, look.room))
    except (MoeChatError, OSError) as failure:
        inside = draw.closed(words("went_wrong", error=fault_words.said(failure, words)))
    return str(draw.room(look.room, look.note, Markup(inside)))


DOINGS: Mapping[str, tuple[Callable[[Visit, Any, Action], tuple[Any, Note]], Callable[[Visit, Any], str]]] = {
    MEMORIES: (memory_room.act, memory_room.drawn),
    TOPICS: (topic_room.act, topic_room.drawn),
    STUDIO: (studio_room.act, studio_page.drawn),
    SETTINGS: (settings_room.act, settings_room.drawn),
}
"""What a click in a room does, and how it is drawn."""


def switch(words: Words, passed: Pass) -> str:
    """The doors to the rooms that one may enter."""
    return str(macros("rooms", words).switch([(room, SIGNS[room]) for room in open_to(passed)]))
