"""The memories of a talk of several, and how what is said reaches all of them.

A character keeps the talk in her memory of each user who is in it, under one name. A line, which is what somebody says, has one
id everywhere: it is an exchange in the memories of all who hear it, and a reply to the line before it in hers who says it.
Whatever changes one waits in the log of the memory that it was changed in (``Talk.waiting``) until the others say the same: each
step can be repeated, and whoever opens the talk next goes on after a crash.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import chain, takewhile
from typing import NamedTuple

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.errors import MoeChatError, NotFound
from moechat.model import LONG_AGO
from moechat.store.entries import GONE, Cast


class Listener(NamedTuple):
    """Whose memory it is: a character's (her folder) of a user."""

    character: str
    user: str


class LinePlace(NamedTuple):
    """Where a line stands: in a memory, as the character's reply to this exchange (``is_reply``), or as what she heard."""

    listener: Listener
    id: str
    is_reply: bool


class LineWords(NamedTuple):
    """What a line says, "" where it is gone, and the name of whoever says it ("": a user who is alone in the talk)."""

    text: str = ""
    speaker: str = ""
    at: datetime = LONG_AGO


class GroupMemories:
    """``agents`` opens the memory of a character and a user. ``host`` is the user who began the talk, ``cast`` who is in it now.
    People without a memory of their own are speakers of the host's."""

    def __init__(self, name: str, host: str, agents: Callable[[str, str], Agent]) -> None:
        self.name, self.host, self._agents, self.cast = name, host, agents, Cast()
        self.turn, self.stopping = threading.Lock(), threading.Event()
        self.speaking: tuple[Conversation, str] | None = None  # Who answers right now, and with which line.
        self._passing = threading.Lock()
        self._replies: dict[Listener, dict[str, str]] = {}  # The exchange that each line of hers answers.

    @property
    def users(self) -> tuple[str, ...]:
        return tuple(self.cast.users.values()) or (self.host,)

    def label(self, user: str) -> str:
        """The name of a user in the memories of the others."""
        return next((name for name, one in self.cast.users.items() if one == user), "")

    def require_host(self, user: str) -> None:
        """Raises MoeChatError for another user than the one who began the talk."""
        if user != self.host:
            raise MoeChatError(f"this talk is {self.label(self.host)}'s, who alone can do that")

    def agent(self, listener: Listener) -> Agent:
        return self._agents(*listener)

    def talk(self, listener: Listener) -> Conversation:
        return self.agent(listener).in_talk(self.name)

    def agents(self, *users: str) -> dict[Listener, Agent]:
        """The memories of these users, of none: of all in it, the host's last."""
        members = [one.character for one in self.cast.members if one.character]
        there = (Listener(one, user) for user in users or self.users[::-1] for one in members)
        return {one: self.agent(one) for one in there}

    # ---- how it reaches every memory

    def pass_on(self) -> None:
        """Bring what was changed in one memory of this talk to all others, until nothing waits. What is gone goes first."""
        with self._passing:
            agents = self.agents()
            for listener in agents:
                self.talk(listener).follow()
            while waiting := [
                (op not in GONE, id_, op, one)
                for one, agent in agents.items()
                for id_, op in agent.store.tree.talks[self.name].waiting.items()
            ]:
                # Of one second in the order of their log.
                _, id_, op, source = min(waiting, key=lambda one: (one[0], one[1][:15]))
                for target in agents.keys() - {source}:
                    if self._may_change(target, source, id_):
                        self._bring_exchange(op, target, source, id_)
                agents[source].store.log.tell_talk(self.name, passed=[id_])

    def _may_change(self, target: Listener, source: Listener, id_: str) -> bool:
        """The host's changes hold for all, another user's those of what was said in their own turn: else they stay theirs."""
        there = self.answered(target, id_) or id_
        is_there = there in self.agent(target).store.tree
        judge = (target, there) if is_there else (source, id_)
        return source.user == self.host or self.user_of(*judge) == source.user

    def user_of(self, listener: Listener, id_: str) -> str:
        """In whose turn it was said: the user's who spoke last then; a person without a memory speaks for the host."""
        store = self.agent(listener).store
        for one in store.tree.ancestors(id_):
            exchange = store.exchanges.of([one]).get(one)
            if exchange and not store.tree.is_character(self.name, exchange.speaker):
                return self.cast.users.get(exchange.speaker, self.host) if exchange.speaker else listener.user
        return self.host

    def _bring_exchange(self, op: str, target: Listener, source: Listener, id_: str) -> None:
        """An exchange is two lines. What is gone is so from its end on: whose it was is known as long as its first is there."""
        store, path = self.agent(source).store, self.talk(source).path
        rows = path.shown([id_]) if path.stands(id_) else []
        line, reply = LineWords(), LineWords()
        for one in (row.exchange for row in rows):
            line = LineWords(one.user, one.speaker or self.label(source.user), one.at)
            reply = LineWords(one.heard, self.agent(source).character.name, one.at)
        is_new = op == "exchange"
        is_heard = is_new or (self.answered(target, id_) or id_) in self.agent(target).store.tree
        unshown = id_ in store.tree.unshown
        steps = (
            partial(self._bring, op, target, id_, line, is_new=is_new, unshown=unshown),
            partial(self._bring, op, target, reply_id(id_, source.character), reply,
                    is_new=is_heard and op in ("exchange", "variant", "choose"), unshown=unshown),
        )  # fmt: skip
        for step in steps[::-1] if op in GONE else steps:
            step()

    def _bring(self, op: str, target: Listener, line: str, new: LineWords, *, is_new: bool, unshown: bool) -> None:
        """Let a memory say of a line what another says after an operation."""
        words, agent, talk = new.text, self.agent(target), self.talk(target)
        own = self.answered(target, line)
        if not own and line not in agent.store.tree:
            if words and is_new and new.speaker != agent.character.name:
                speaker = "" if new.speaker == self.label(target.user) else new.speaker
                talk.hear(line, words, speaker, at=new.at)
            return
        id_, side, stands = own or line, "char" if own else "user", talk.path.stands(own or line)
        row = talk.path.shown([id_])
        there = (row[0].exchange.heard if own else row[0].exchange.user) if row and stands else ""
        if op == "forget":
            agent.memories.forget([id_])
        elif there and not words:
            self.take_back(talk, id_, own=bool(own), unshown=unshown)
        elif words and not there and not own and op in ("restore", "variant", "choose", "edit"):
            talk.restore(line)
            stands, there = True, agent.store.exchanges.get(line).user
        if not (words and stands) or there == words:
            return
        if there or op == "restore":
            talk.correct(id_, **{side: words})
        elif own and is_new:  # She said it to another user.
            talk.change(lambda: agent.store.log.finish(id_, words, "done"))

    def answered(self, listener: Listener, line: str) -> str:
        """The exchange to which a character's reply is this line, "" where it is none of hers."""
        replies, tree = self._replies.setdefault(listener, {}), self.agent(listener).store.tree
        her = listener.character
        fresh = takewhile(lambda one: reply_id(one, her) not in replies, tree.path(self.name))
        replies |= {reply_id(id_, her): id_ for id_ in fresh}
        return id_ if (id_ := replies.get(line, "")) in tree else ""

    def place(self, line: str, user: str) -> LinePlace:
        """Where a line was said in the memories of a user, or for a person's where it was heard. Raises NotFound."""
        agents = self.agents(user)
        spoken = (LinePlace(one, id_, True) for one in agents if (id_ := self.answered(one, line)))
        heard = (LinePlace(one, line, False) for one, agent in agents.items() if line in agent.store.tree)
        for place in chain(spoken, heard):
            return place
        raise NotFound(f"there is no line {line[:60]!r} in this talk")

    def take_back(self, talk: Conversation, id_: str, *, own: bool, unshown: bool = False) -> None:
        """A line that was heard, with the reply to it; or a reply alone, which others have heard and can give back."""
        if not talk.path.stands(id_):
            return
        if own and len(self.cast.members) > 1:
            talk.correct(id_, char="")
        else:
            talk.retract(id_, unshown=unshown)


def reply_id(id_: str, character: str) -> str:
    """The id of the line with which a character answers another."""
    return f"{id_[:15]}-{hashlib.sha256(f'{id_}/{character}'.encode()).hexdigest()[:10]}"
