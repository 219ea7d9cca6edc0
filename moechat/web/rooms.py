"""The rooms beside the chat: which one a tab is in, and what its clicks do. Knows no Gradio.

A room is drawn when somebody goes there, never before.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from moechat.access.keys import EVERYTHING, Pass
from moechat.agent import Agent
from moechat.errors import FieldError, MoeChatError, NotFound
from moechat.house import House
from moechat.web import author_room, memory_room, settings_room, studio_page, studio_room, topic_room
from moechat.web.draw import escape
from moechat.web.memory_look import AUTHOR, MINE, MemoryLook
from moechat.web.memory_room import DEEDS
from moechat.web.notes import Action, Note
from moechat.web.settings_room import SettingsLook
from moechat.web.studio_room import StudioLook, StudioVisit
from moechat.web.topic_room import TopicLook
from moechat.web.tray import Tray
from moechat.web.whereabouts import Whereabouts
from moechat.web.words import Words

log = logging.getLogger(__name__)

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
    """What one tab looks at beside the chat; ``width`` in pixels, ``note`` is what became of the last action. ``tray`` has what
    was dropped there, ``place`` is whose memory it is."""

    room: str = CHAT
    width: int = 900
    memories: MemoryLook = field(default_factory=MemoryLook)
    topics: TopicLook = field(default_factory=TopicLook)
    settings: SettingsLook = field(default_factory=SettingsLook)
    studio: StudioLook = field(default_factory=StudioLook)
    note: Note = field(default_factory=Note)
    tray: Tray | None = None
    place: Whereabouts | None = None

    def of(self, place: Whereabouts) -> Look:
        """This look where it is of this memory; else the same room of another."""
        if place in (self.place, None):
            return self
        memories, studio = replace(MemoryLook(), store=self.memories.store), self.studio.elsewhere()
        return Look(self.room, self.width, memories, studio=studio, note=self.note, tray=self.tray, place=place)

    def in_studio(self, house: House, agent: Agent | None, words: Words, *, busy: bool = False) -> StudioVisit:
        """Raises AssertionError for a look without a tray: only the page's own have one."""
        assert self.tray is not None
        return StudioVisit(house, self.place.character if self.place else "", agent, self.tray, words, busy)


def open_to(passed: Pass) -> Sequence[str]:
    """The rooms that one may enter: only who reaches everything changes what the whole program shares."""
    return ROOMS if passed.is_whole else OWN_ROOMS


def act(
    house: House,
    agent: Agent | None,
    look: Look,
    action: Action,
    words: Words,
    passed: Pass = EVERYTHING,
    *,
    busy: bool = False,
) -> Look:
    """What is looked at after an action; ``busy``: the agent is answering, and changes have to wait."""
    before, do = look, action.get("do", "")
    look = replace(look, note=Note(), width=_width(action.get("width", ""), look.width))
    if any(len(value) > LONGEST for value in action.values()):  # It is refused, not cut: the rest would be lost.
        return replace(look, note=Note(words("too_long", n=LONGEST), bad=True))
    if do == "room" and action.get("room") in open_to(passed):
        has_moved = look.studio.go is not None  # Then it still says what became of the click that led here.
        note = before.note if has_moved else Note()
        return replace(look, room=action["room"], note=note, studio=replace(look.studio, go=None))
    if do == "room":
        return look
    if look.room == SETTINGS and do != "show":
        return _in_settings(house, agent, look, action, words)
    if look.room == STUDIO and do != "show":
        studio, note = studio_room.act(look.in_studio(house, agent, words, busy=busy), look.studio, action)
        return replace(look, studio=studio, note=note)
    if agent is None:
        return look
    if do == "show":
        return replace(look, room=MEMORIES, memories=memory_room.showing(agent, action.get("id", "")))
    if busy and do in memory_room.WAITING and look.memories.store == MINE:
        return replace(look, note=Note(words("wait_reply"), bad=True))
    try:
        if look.memories.store == AUTHOR and do in DEEDS[AUTHOR]:
            passed.require_all_users()
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


def _in_settings(house: House, agent: Agent | None, look: Look, action: Action, words: Words) -> Look:
    try:
        settings, note = settings_room.act(house, agent, look.settings, action, words)
    except (MoeChatError, OSError) as failure:
        return replace(look, note=Note(words("went_wrong", error=failure), bad=True))
    return replace(look, settings=settings, note=note)


def _width(text: str, before: int) -> int:
    return int(text) if text.isdecimal() and 0 < int(text) < 10_000 else before


def drawn(house: House, agent: Agent | None, look: Look, words: Words) -> str:
    """The room as HTML; "" for the chat, which draws itself."""
    if look.room == CHAT:
        return ""
    try:
        inside = _inside(house, agent, look, words)
    except (MoeChatError, OSError) as failure:
        inside = f'<p class="empty">{escape(words("went_wrong", error=failure))}</p>'
    kind = "bad" if look.note.bad else "good"
    role = "alert" if look.note.bad else "status"
    note = f'<div class="note-line {kind}" role="{role}">{escape(look.note.text)}</div>'
    title = f'<h1 class="unseen">{escape(words(f"room_{look.room}"))}</h1>'
    return f'{title}{note}<div class="room {look.room}">{inside}</div>'


def _inside(house: House, agent: Agent | None, look: Look, words: Words) -> str:
    if look.room == SETTINGS:
        return settings_room.drawn(house, agent, look.settings, words)
    if agent is not None:
        agent.follow()
    if look.room == STUDIO:
        return studio_page.drawn(look.in_studio(house, agent, words), look.studio)
    if agent is None:
        return f'<p class="empty">{escape(words("no_characters"))}</p>'
    if look.room == TOPICS:
        return topic_room.drawn(agent, look.topics, words, look.width)
    return memory_room.drawn(agent, look.memories, words)


def switch(words: Words, passed: Pass) -> str:
    """The doors to the rooms; which one is open is marked by the page's script."""
    doors = "".join(
        f'<button type="button" data-room="{room}"><svg class="sign" viewBox="0 0 24 24" aria-hidden="true">'
        f'<path d="{SIGNS[room]}"/></svg>'
        f"<span>{escape(words(f'room_{room}'))}</span></button>"
        for room in open_to(passed)
    )
    return f'<nav class="rooms" aria-label="{escape(words("rooms"))}">{doors}</nav>'
