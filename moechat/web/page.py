"""The chat page: Gradio Blocks with handlers of our own. ``draw`` draws what it shows, ``turns`` runs the replies.

Handlers return ``{component: value}``. A handler that follows a running turn only watches it: when the tab closes, the
watching ends and the turn goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from moechat.access.words import LANGUAGES, Language, language_of
from moechat.agent import Agent
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.web import draw, rooms
from moechat.web.layout import Parts, lay_out
from moechat.web.rooms import Look
from moechat.web.screen import ChatView, Screen, Updates, live
from moechat.web.turns import Turn, Turns

FRAME_S = 0.08  # While a reply streams, the page is drawn at most this often.
PAGES_DRAWN = 3  # "Earlier" lets the page grow to this many pages, then moves the window back.


class ChatPage:
    """The handlers over one house. ``close`` stops the replies that are still on their way."""

    def __init__(self, house: House, parts: Parts) -> None:
        self.house = house
        self.parts = parts
        self.turns = Turns()
        self.screen = Screen(house, parts, self.turns)
        self.page = max(1, house.config.web.shown_messages // 2)  # The length of a page, in exchanges.

    def close(self) -> None:
        self.turns.close()

    # ---- opening, switching, looking back

    def load(self, prefs: Mapping[str, str] | None, request: gr.Request) -> Iterator[Updates]:
        prefs = prefs or {}
        configured = self.house.config.web.language
        language = prefs.get("language") or configured
        if language not in LANGUAGES:
            language = language_of(request.headers.get("accept-language"))
        names = self.house.characters()
        chosen = prefs.get("character", "")
        view = ChatView(chosen if chosen in names else self._default(names), language, "", self.page)
        yield self.screen.labels(view, connection=True) | self.screen.draw(view)
        yield from self._follow(view)

    def _default(self, names: list[str]) -> str:
        try:
            return self.house.agent().character.folder.name if names else ""
        except (MoeChatError, OSError):
            return names[0]

    def switch(self, view: ChatView, look: Look, click: gr.EventData) -> Iterator[Updates]:
        name = str(getattr(click, "name", ""))
        if name in self.house.characters():
            view, look = replace(view, character=name, before="", count=self.page), look.elsewhere()
        yield self.screen.draw(view) | self._remember(view) | self._room(view, look)
        yield from self._follow(view)

    def translate(self, view: ChatView, look: Look) -> Iterator[Updates]:
        other: Language = "en" if view.language == "zh" else "zh"
        view = replace(view, language=other)
        yield self.screen.labels(view) | self.screen.draw(view) | self._remember(view) | self._room(view, look)
        yield from self._follow(view)

    def earlier(self, view: ChatView) -> Iterator[Updates]:
        """Show one page more. Beyond ``PAGES_DRAWN`` pages the window moves back, and its newest page is left out."""
        if view.count < PAGES_DRAWN * self.page:
            view = replace(view, count=view.count + self.page)
        elif agent := self.screen.agent(view):
            exchanges = agent.recent(view.count, view.before or None)
            if len(exchanges) > self.page:
                view = replace(view, before=exchanges[-self.page].exchange.id)
        yield self.screen.draw(view)
        yield from self._follow(view)

    def newest(self, view: ChatView) -> Iterator[Updates]:
        view = replace(view, before="", count=self.page)
        yield self.screen.draw(view)
        yield from self._follow(view)

    # ---- the rooms beside the chat

    def visit(self, view: ChatView, look: Look, event: gr.EventData) -> Iterator[Updates]:
        """Go to a room, or do what was clicked in it. The chat, entered again, shows what has changed."""
        agent = self.screen.agent(view)
        if agent is None:
            yield self._room(view, look)
            return
        action = rooms.action_of(getattr(event, "action", None))
        if waiting := rooms.waiting(look, action, view.words):
            yield self._room(view, waiting)
        look = rooms.act(agent, look, action, view.words, busy=self.turns.current(agent) is not None)
        yield self.screen.draw(view) | {self.parts.look: look} if look.room == rooms.CHAT else self._room(view, look)

    def _room(self, view: ChatView, look: Look) -> Updates:
        if look.room == rooms.CHAT:
            return {self.parts.look: look}
        if agent := self.screen.agent(view):
            html = rooms.drawn(agent, look, view.words)
        else:
            html = draw.problems(self.screen.why_not(view), view.words)
        return {self.parts.look: look, self.parts.room: html}

    # ---- talking

    def send(self, view: ChatView, text: str) -> Iterator[Updates]:
        agent = self.screen.agent(view)
        if agent is None or not text.strip():
            yield {self.parts.box: gr.skip()}
            return
        last = _last_id(agent)
        turn = self.turns.talk(agent, text)
        if turn is None:
            gr.Info(view.words("busy"))
            yield {self.parts.box: gr.skip()}
            return
        view = replace(view, before="", count=self.page)
        yield self.screen.draw(view, turn) | {self.parts.box: ""}
        yield from self._follow(view, turn)
        if (turn.error or turn.crash) and _last_id(agent) == last:  # Nothing was recorded: give the words back.
            yield {self.parts.box: text}

    def regenerate(self, view: ChatView) -> Iterator[Updates]:
        agent = self.screen.agent(view)
        turn = self.turns.regenerate(agent) if agent else None
        if turn is None:
            gr.Info(view.words("busy"))
            yield {self.parts.again: gr.skip()}
            return
        yield self.screen.draw(view, turn)
        yield from self._follow(view, turn)

    def stop(self, view: ChatView) -> None:
        if agent := self.screen.agent(view):
            self.turns.stop(agent)

    def _follow(self, view: ChatView, turn: Turn | None = None) -> Iterator[Updates]:
        """Draw a running turn as it grows, then everything as it was stored."""
        agent = self.screen.agent(view)
        turn = turn or (self.turns.current(agent) if agent else None)
        if agent is None or turn is None or view.before:
            return
        face = self.screen.face(view, agent)
        version = None
        while not turn.over.wait(FRAME_S):
            if turn.version != version:
                version = turn.version
                yield {self.parts.tail: live(turn, face)}
        yield self.screen.draw(view) | self._notice(view, agent, turn)

    def _notice(self, view: ChatView, agent: Agent, turn: Turn) -> Updates:
        """What went wrong, under the last exchange, unless that says so itself.

        A regeneration that failed leaves the reply that was there.
        """
        words = view.words
        last = agent.recent(1)
        error = turn.error or (words("unexpected", kind=turn.crash) if turn.crash else turn.failure)
        if not error or (last and last[-1].error == error):
            return {}
        tail = self.screen.drawn(last, self.screen.face(view, agent), agent)
        return {self.parts.tail: tail + draw.notice(words("went_wrong", error=error))}

    # ---- the connection

    def test(self, view: ChatView, base_url: str, model: str, key: str) -> Iterator[Updates]:
        if not base_url.strip():
            yield self._outcome(view.words("needs_url"), good=False)
        elif self._keeps_key(base_url, key):
            yield self._outcome(view.words("key_stays"), good=False)
        else:
            yield self._outcome(view.words("testing"), good=None)
            diagnosis = self.house.try_connection(base_url.strip(), model.strip(), key.strip())
            message = diagnosis.message_zh if view.language == "zh" else diagnosis.message_en
            yield self._outcome(message, good=diagnosis.ok)

    def save(self, view: ChatView, base_url: str, model: str, key: str) -> Updates:
        words = view.words
        if self._keeps_key(base_url, key):
            return self._outcome(words("key_stays"), good=False)
        try:
            self.house.connect(base_url.strip(), model.strip(), key.strip() or None)
        except (MoeChatError, OSError) as failure:
            return self._outcome(words("went_wrong", error=failure), good=False)
        message = words("saved" if self.house.connected else "saved_offline")
        title = self.screen.title(view, self.screen.agent(view))
        return self._outcome(message, good=True) | {self.parts.key: "", self.parts.title: title}

    def _keeps_key(self, base_url: str, key: str) -> bool:
        """Whether the key has to be entered again, because the known one would go to a new address."""
        return bool(base_url.strip()) and not key.strip() and self.house.keeps_key_from(base_url.strip())

    def _outcome(self, text: str, *, good: bool | None) -> Updates:
        return {self.parts.outcome: draw.outcome(text, good=good)}

    def _remember(self, view: ChatView) -> Updates:
        return {self.parts.prefs: {"character": view.character, "language": view.language}}


def _last_id(agent: Agent) -> str:
    last = agent.recent(1)
    return last[-1].exchange.id if last else ""


def build(house: House) -> gr.Blocks:
    """The page over a house. Its ``page`` attribute has ``close``."""
    with gr.Blocks(title="MoeChat", fill_height=True, fill_width=True, analytics_enabled=False) as blocks:
        parts = lay_out(house.config.web.language, ChatView(), Look())
        page = ChatPage(house, parts)
        _wire(blocks, page, parts)
    blocks.page = page
    return blocks


def _wire(blocks: gr.Blocks, page: ChatPage, parts: Parts) -> None:
    """Which click calls which handler. Going elsewhere ends the following of a turn, not the turn."""
    hidden: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": None}
    quiet, everywhere = hidden | {"outputs": parts.talk()}, hidden | {"outputs": parts.all()}
    view, panel = parts.view, [parts.view, parts.base_url, parts.model, parts.key]
    following = [
        blocks.load(page.load, [parts.prefs], **everywhere),
        gr.on([parts.send.click, parts.box.submit], page.send, [view, parts.box], trigger_mode="multiple", **quiet),
        parts.again.click(page.regenerate, [view], trigger_mode="multiple", **quiet),
    ]
    for go, handler in ((parts.earlier.click, page.earlier), (parts.newest.click, page.newest)):
        following.append(go(handler, [view], cancels=following, **quiet))
    for go, elsewhere in ((parts.characters.click, page.switch), (parts.language.click, page.translate)):
        following.append(go(elsewhere, [view, parts.look], cancels=following, **everywhere))
    happenings = [parts.doors.click, parts.room.click]
    gr.on(happenings, page.visit, [view, parts.look], trigger_mode="multiple", **everywhere)
    parts.stop.click(page.stop, [view], None, **hidden)
    parts.theme.click(None, js="() => { window.moechat.toggleTheme(); }", api_visibility="private")
    parts.test.click(page.test, panel, [parts.outcome], **hidden)
    parts.save.click(page.save, panel, [parts.outcome, parts.key, parts.title], **hidden)
