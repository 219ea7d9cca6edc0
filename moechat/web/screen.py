"""The screen of one tab: the chat, its head and its buttons, as updates of the page's components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gradio as gr

from moechat.access.words import Language
from moechat.agent import Agent
from moechat.cue import Cue
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.turn import Shown
from moechat.web import draw, rooms
from moechat.web.draw import Face
from moechat.web.layout import Parts
from moechat.web.turns import Turn, Turns
from moechat.web.words import Words
from moechat.when import Span

Updates = dict[Any, Any]


@dataclass(frozen=True)
class ChatView:
    """What one tab looks at: the newest ``count`` exchanges, or those before the exchange ``before``."""

    character: str = ""
    language: Language = "zh"
    before: str = ""
    count: int = 0

    @property
    def words(self) -> Words:
        return Words(self.language)


class Screen:
    """What a tab shows of a house: ``{component: value}``, drawn anew from what is stored and what is running."""

    def __init__(self, house: House, parts: Parts, turns: Turns) -> None:
        self.house = house
        self.parts = parts
        self._turns = turns

    def agent(self, view: ChatView) -> Agent | None:
        try:
            return self.house.agent(view.character) if view.character else None
        except (MoeChatError, OSError):
            return None

    def face(self, view: ChatView, agent: Agent) -> Face:
        character = agent.character
        return Face(view.words, character.name, character.greeting)

    def draw(self, view: ChatView, turn: Turn | None = None) -> Updates:
        """Everything that depends on the character and on what was said."""
        parts, words = self.parts, view.words
        agent = self.agent(view)
        updates: Updates = {
            parts.view: view,
            parts.characters: draw.characters(self.house.characters(), view.character, words),
            parts.title: self.title(view, agent),
        }
        if agent is None:
            return updates | self._empty(view)
        turn = turn or self._turns.current(agent)
        if turn is not None and turn.over.is_set():
            turn = None
        shown = agent.recent(view.count + 1, view.before or None)
        more, shown = len(shown) > view.count, shown[-view.count :]
        past, tail = self._past_and_tail(view, agent, shown, turn, from_the_start=not more)
        return updates | {
            parts.problems: draw.problems(agent.problems(), words),
            parts.past: past,
            parts.tail: tail,
            parts.earlier: gr.update(value=words("earlier"), visible=more),
            parts.newest: gr.update(value=words("newest"), visible=bool(view.before)),
            parts.again: gr.update(value=words("regenerate"), visible=bool(shown and not view.before and turn is None)),
            parts.send: gr.update(value=words("send"), visible=turn is None),
            parts.stop: gr.update(value=words("stop"), visible=turn is not None),
            parts.box: gr.update(
                label=words("message"), placeholder=words("write", name=agent.character.name), interactive=True
            ),
        }

    def _past_and_tail(
        self, view: ChatView, agent: Agent, shown: list[Shown], turn: Turn | None, *, from_the_start: bool
    ) -> tuple[str, str]:
        """The last exchange stands apart, so that a growing reply redraws itself alone."""
        face = self.face(view, agent)
        past, last = (shown, []) if view.before else (shown[:-1], shown[-1:])
        if turn is None or view.before:
            tail = self.drawn(last, face, agent, after=past)
        else:
            tail = live(turn, face)
            if last and last[0].exchange.status != "streaming" and last[0].exchange.id != turn.exchange_id:
                past = shown
        return self.drawn(past, face, agent, from_the_start=from_the_start), tail

    def _empty(self, view: ChatView) -> Updates:
        parts, hidden = self.parts, gr.update(visible=False)
        return {
            parts.problems: draw.problems(self.why_not(view), view.words),
            parts.past: "", parts.tail: "", parts.earlier: hidden, parts.newest: hidden, parts.again: hidden,
            parts.send: gr.update(visible=True), parts.stop: hidden, parts.box: gr.update(interactive=False),
        }  # fmt: skip

    def why_not(self, view: ChatView) -> list[str]:
        """Why the chosen character cannot be opened, in words; empty where it can, or where none is chosen."""
        try:
            if view.character:
                self.house.agent(view.character)
        except (MoeChatError, OSError) as failure:
            return [str(failure)]
        return []

    def drawn(
        self, shown: list[Shown], face: Face, agent: Agent, *, after: Sequence[Shown] = (), from_the_start: bool = False
    ) -> str:
        spans = {one.exchange.id: _spans(agent, one) for one in shown}
        day = after[-1].exchange.at.date() if after else None
        return draw.conversation(shown, face, spans, after=day, from_the_start=from_the_start)

    def title(self, view: ChatView, agent: Agent | None) -> str:
        if agent is None:
            return ""
        chat = self.house.config.chat
        model = Path(chat.local_gguf).stem if chat.local_gguf else chat.model or urlsplit(chat.base_url).netloc
        return draw.header(agent.character.name, view.words, connected=self.house.connected, model=model)

    def labels(self, view: ChatView, *, connection: bool = False) -> Updates:
        """The words of the page, and with ``connection`` the saved one, never a key.

        What is not set is left alone: somebody may be typing already.
        """
        parts, words, chat = self.parts, view.words, self.house.config.chat
        url, model = ({"value": saved} if saved and connection else {} for saved in (chat.base_url, chat.model))
        return {
            parts.brand: draw.brand(words), parts.doors: rooms.switch(words, loaded=True),
            parts.language: words("other_language"), parts.theme: words("theme"),
            parts.connection: gr.update(label=words("connection")),
            parts.base_url: gr.update(label=words("base_url"), info=words("base_url_hint"), **url),
            parts.model: gr.update(label=words("model"), **model),
            parts.key: gr.update(label=words("key"), info=words("key_hint", key_env=chat.key_env)),
            parts.test: words("test"), parts.save: words("save"), parts.outcome: "",
        }  # fmt: skip


def live(turn: Turn, face: Face) -> str:
    spans, recalled = turn.recollection.spans, len(turn.recollection.hits)
    return draw.live(turn.text, turn.reply, face, turn.at, after=turn.after, spans=spans, recalled=recalled)


def _spans(agent: Agent, shown: Shown) -> Sequence[Span]:
    """The times that the message named, as they were understood then; of an old one, as they would be."""
    exchange = shown.exchange
    if shown.spans:
        return shown.spans
    return Cue(exchange.user, exchange.at, widths=agent.config.time.widths).spans if exchange.user else ()
