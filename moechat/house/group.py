"""A talk of several characters and people: who is in it, who speaks next, and how what is said reaches every memory.

Each character keeps the talk in her own memory, under one name. A line, which is what somebody says, has one id everywhere: it is
an exchange in the memories of all who hear it, and a reply to the line before it in hers who says it. Whatever changes one
waits in the log of the memory that it was changed in (``Talk.waiting``) until the others say the same: each step can be
repeated, and whoever opens the talk next goes on after a crash.
"""

from __future__ import annotations

import hashlib
import random
import re
import secrets
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import chain, takewhile
from typing import Any, NamedTuple

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.errors import MoeChatError, NotFound
from moechat.model import LONG_AGO
from moechat.store.entries import GONE, Cast, Member, Order
from moechat.turn import Ended, Recalled, Shown, TurnEvent, TurnTrace

PREFIX = "group:"  # How such talks are called.
MAX_LINES = 10_000  # The newest lines, which are searched.
GONE_LINE = ("", "", LONG_AGO)


class LinePlace(NamedTuple):
    """Where a line stands: in the memory of a character, as her reply to this exchange (``is_reply``), or as what she heard."""

    character: str
    id: str
    is_reply: bool


class GroupLines:
    """The lines of a talk of several in the memories of all characters in it. ``agents`` opens one by the character's folder,
    ``cast`` is who is in it now."""

    def __init__(self, name: str, agents: Callable[[str], Agent]) -> None:
        self.name, self.agent, self.cast = name, agents, Cast()
        self.speaking: tuple[Conversation, str] | None = None  # Who answers right now, and with which line.
        self._passing = threading.Lock()
        self._replies: dict[str, dict[str, str]] = {}  # By character: the exchange that each line of hers answers.

    def agents(self) -> dict[str, Agent]:
        return {one.character: self.agent(one.character) for one in self.cast.members}

    def talks(self) -> dict[str, Conversation]:
        return {one: agent.in_talk(self.name) for one, agent in self.agents().items()}

    # ---- how it reaches every memory

    def pass_on(self) -> None:
        """Bring what was changed in one memory of this talk to all others, until nothing waits. What is gone goes first."""
        with self._passing:
            talks, agents = self.talks(), self.agents()
            for talk in talks.values():
                talk.follow()
            while waiting := [
                (op not in GONE, id_, op, one)
                for one, agent in agents.items()
                for id_, op in agent.store.tree.talks[self.name].waiting.items()
            ]:
                _, id_, op, source = min(waiting)
                rows = talks[source].path.shown([id_]) if talks[source].path.stands(id_) else []
                heard = [(one.user, one.speaker, one.at) for one in (row.exchange for row in rows)]
                reply = [(row.exchange.heard, agents[source].character.name, row.exchange.at) for row in rows]
                is_last, is_new = agents[source].store.tree.leaf(self.name) == id_, op == "exchange"
                is_newly_answered = is_last and (is_new or op in ("variant", "choose"))
                for target in talks.keys() - {source}:
                    self._bring(op, target, id_, *heard, is_new=is_last and is_new)
                    self._bring(op, target, reply_id(id_, source), *reply, is_new=is_newly_answered)
                agents[source].store.log.tell_talk(self.name, passed=[id_])

    def _bring(
        self, op: str, target: str, line: str, content: tuple[str, str, datetime] = GONE_LINE, *, is_new: bool
    ) -> None:
        """Let a memory say of a line what another says after an operation: (the words, who says them, when)."""
        agent, (words, speaker, at) = self.agent(target), content
        talk, own = agent.in_talk(self.name), self._answered(target, line)
        if not own and line not in agent.store.tree:
            if words and is_new:
                talk.hear(line, words, speaker, at=at)
            return
        id_, side, stands = own or line, "char" if own else "user", talk.path.stands(own or line)
        row = talk.path.shown([id_])
        there = (row[0].exchange.heard if own else row[0].exchange.user) if row and stands else ""
        if op == "forget":
            agent.memories.forget([id_])
        elif there and not words:
            self.take_back(talk, id_, own=bool(own))
        elif words and not there and not own and op in ("restore", "variant", "choose", "edit"):
            talk.restore(line)
        if words and stands and there != words and (there or op == "restore"):
            talk.correct(id_, **{side: words})

    def _answered(self, character: str, line: str) -> str:
        """The exchange to which a character's reply is this line, "" where it is none of hers."""
        replies, tree = self._replies.setdefault(character, {}), self.agent(character).store.tree
        fresh = takewhile(lambda one: reply_id(one, character) not in replies, tree.path(self.name))
        replies |= {reply_id(id_, character): id_ for id_ in fresh}
        return id_ if (id_ := replies.get(line, "")) in tree else ""

    def place(self, line: str) -> LinePlace:
        """Where a line was said, or for a person's where it was heard. Raises NotFound."""
        agents = self.agents()
        spoken = (LinePlace(one, id_, True) for one in agents if (id_ := self._answered(one, line)))
        heard = (LinePlace(one, line, False) for one, agent in agents.items() if line in agent.store.tree)
        for place in chain(spoken, heard):
            return place
        raise NotFound(f"there is no line {line[:60]!r} in this talk")

    def take_back(self, talk: Conversation, id_: str, *, own: bool) -> None:
        """A line that was heard, with the reply to it; or a reply alone, which others have heard and can give back."""
        if not talk.path.stands(id_):
            return
        if own and len(self.cast.members) > 1:
            talk.correct(id_, char="")
        else:
            talk.retract(id_)

    # ---- what is shown

    def forks(self) -> dict[str, list[str]]:
        """A talk of several has no branches."""
        return {}

    def from_here(self, line: str) -> list[str]:
        """A line and all after it, newest first; none where it is not there."""
        ids = [row.exchange.id for row in self.recent(MAX_LINES)]
        return ids[ids.index(line) :][::-1] if line in ids else []

    def search(self, text: str) -> list[str]:
        """The lines that have all these words (case aside), newest first."""
        rows, words = self.recent(MAX_LINES)[::-1], text.casefold().split()
        there = [(row.exchange.id, f"{row.exchange.user}{row.exchange.char}".casefold()) for row in rows if words]
        return [id_ for id_, whole in there if all(word in whole for word in words)]

    def recent(self, count: int, before: str | None = None) -> list[Shown]:
        """The newest lines, or those before one, oldest first, as exchanges of one side: ``Shown.by`` is the character who said
        it, "" a person. They come from the memory that has most of the talk."""
        agents = self.agents()
        lead = max(agents, key=lambda one: sum(1 for _ in agents[one].store.tree.path(self.name)))
        path, own = agents[lead].in_talk(self.name).path, self._answered(lead, before or "")
        lines = [line for row in path.recent(count, own or before) for line in self._lines(lead, row)]
        lines += self._lines(lead, path.shown([own])[0])[:1] if own else []
        if before is None and self.speaking and self.speaking[1] not in [one.exchange.id for one in lines]:
            lines += self.shown([self.speaking[1]])
        return lines[-count:]

    def _lines(self, lead: str, row: Shown) -> list[Shown]:
        """An exchange in a character's memory as one line or two."""
        exchange = row.exchange
        authors = [one.character for one in self.cast.members if one.name == exchange.speaker]
        own = [self.reply(one, hers) for one in authors if (id_ := self._answered(one, exchange.id))
               for hers in self.talks()[one].path.shown([id_])]  # fmt: skip
        heard = Shown(replace(exchange, char="", status="done"), (), row.spans)
        return [*(own or [heard]), *([self.reply(lead, row)] if exchange.heard or row.error else [])]

    def reply(self, character: str, row: Shown) -> Shown:
        id_, name = reply_id(row.exchange.id, character), self.agent(character).character.name
        return replace(row, exchange=replace(row.exchange, id=id_, user="", speaker=name), spans=(), by=character)

    def shown(self, lines: Sequence[str]) -> list[Shown]:
        """These lines as faces show them. Raises NotFound."""
        rows = list[Shown]()
        for place in map(self.place, lines):
            for row in self.talks()[place.character].path.shown([place.id]):
                is_hers, who = place.is_reply, place.character
                rows.append(self.reply(who, row) if is_hers else self._lines(who, row)[0])
        return rows


class GroupTalk:
    """One talk of several, by its name; ``cast`` is who is in it, and what is newer in one of their memories is taken in. Safe to
    use from several threads.

    ``talk``, ``regenerate``, ``correct``, ``retract``, ``restore`` and ``path`` are as in a ``Conversation``, with lines in the
    place of exchanges. It has more than twenty methods because each thing to do with such a talk is one of its own.
    """

    def __init__(self, name: str, agents: Callable[[str], Agent], cast: Cast) -> None:
        self.name, self.path = name, GroupLines(name, agents)
        self.pass_on, self.recent = self.path.pass_on, self.path.recent
        self._turn, self._stopping = threading.Lock(), threading.Event()
        self._recast(cast)

    @property
    def cast(self) -> Cast:
        return self.path.cast

    # ---- who is in it

    def _recast(self, cast: Cast) -> None:
        """The newest cast that any of their memories knows, in all of them; then what waits is passed on."""
        before = self.path.agents()
        while cast != self.cast:
            self.path.cast = cast
            there = [agent.store.tree.cast(self.name) for agent in self.path.agents().values()]
            cast = max([cast, *filter(None, there)], key=lambda one: one.edition)
        for agent in (before | self.path.agents()).values():
            if agent.store.tree.cast(self.name) != cast:
                agent.store.log.tell_talk(self.name, cast=cast.row())
        self.pass_on()

    def member(self, name: str) -> Member:
        """A character in it, by name or folder. Raises NotFound."""
        for one in self.cast.members:
            if name in (one.name, one.character):
                return one
        raise NotFound(f"{name[:60]!r} is not in this talk; there are: {', '.join(m.name for m in self.cast.members)}")

    def change_cast(self, **changes: Any) -> None:
        """Other ``members``, ``people`` or ``order``. Who joins hears what is said from then on; who leaves keeps what was."""
        with self._turn:
            self.pass_on()
            self._recast(replace(self.cast, **changes, edition=self.cast.edition + 1))

    def change_member(self, name: str, **changes: Any) -> None:
        """Mute a character or not, or give her another ``talkativeness``. Raises NotFound."""
        there = self.member(name)
        self.change_cast(members=tuple(replace(one, **changes) if one is there else one for one in self.cast.members))

    def add(self, character: str) -> None:
        """A character joins, by her folder."""
        if character not in self.path.agents():
            self.change_cast(members=(*self.cast.members, Member(self.path.agent(character).character.name, character)))

    def remove(self, name: str) -> None:
        """A character leaves. Raises NotFound, MoeChatError for the last one."""
        there = self.member(name)
        if len(self.cast.members) == 1:
            raise MoeChatError(f"{name} is the last in this talk; let somebody join first")
        self.change_cast(members=tuple(one for one in self.cast.members if one is not there))

    # ---- who speaks

    def next(self, text: str, seed: str) -> list[Member]:
        """Who answers a message: those whom it names, else all in turn (``list``) or those whom talkativeness brings in, one
        at least (``natural``); nobody where the user chooses (``manual``). The ``seed`` is the chance."""
        awake, chance = [one for one in self.cast.members if not one.muted], random.Random(seed)
        if self.cast.order == "manual" or not awake:
            return []
        places = {one: at for one in awake if (at := _place_of(one.name, text)) >= 0}
        if places or self.cast.order == "list":
            return sorted(places, key=places.__getitem__) or awake
        shuffled = chance.sample(awake, len(awake))
        weights = [max(one.talkativeness, 1e-9) for one in shuffled]
        return [one for one in shuffled if chance.random() < one.talkativeness] or chance.choices(shuffled, weights)

    def hear(self, text: str, speaker: str = "") -> str:
        """Somebody says something: the owner (""), or another person, who is in the talk from then on. All characters have heard
        it when this returns its id; nobody answers."""
        if not text.strip():
            raise MoeChatError("the message is empty; write something first")
        lead = next(iter(self.path.agents().values()))
        speaker = "" if speaker.casefold() == lead.character.user_name.casefold() else speaker
        if speaker in [one.name for one in self.cast.members]:
            raise MoeChatError(f"{speaker} is a character; she speaks for herself")
        people = tuple(dict.fromkeys([*self.cast.people, *filter(None, [speaker])]))
        if people != self.cast.people:
            self._recast(replace(self.cast, people=people, edition=self.cast.edition + 1))
        self.pass_on()
        id_ = f"{lead.now():%Y%m%d-%H%M%S}-{secrets.token_hex(5)}"
        lead.in_talk(self.name).hear(id_, text, speaker, passes=True)
        self.pass_on()
        return id_

    def talk(self, text: str, speaker: str = "") -> Generator[TurnEvent, None, None]:
        """Somebody says something, and whose turn it is answer one after another; each hears those before her. Every event is of
        a line."""
        self._stopping.clear()
        with self._turn:
            id_ = self.hear(text, speaker)
            for member in self.next(text, id_):
                if not self._stopping.is_set():
                    yield from self._answer(member.character)

    def speak(self, name: str) -> Generator[TurnEvent, None, None]:
        """A character answers what was said last. Raises NotFound, MoeChatError where that was herself."""
        self._stopping.clear()
        with self._turn:
            member = self.member(name)
            last = self.path.talks()[member.character].recent(1)
            if not last or last[0].exchange.heard:
                raise MoeChatError(f"{member.name} has said the last word; let somebody else speak first")
            yield from self._answer(member.character)

    def regenerate(self, id_: str = "") -> Generator[TurnEvent, None, None]:
        """Another reply in the place of one, "": of the last. Raises NotFound for a line that is none."""
        self._stopping.clear()
        with self._turn:
            last = self.recent(1)
            place = self.path.place(id_ or (last[0].exchange.id if last else ""))
            if not place.is_reply:
                raise NotFound("that is no reply; let a character speak")
            yield from self._answer(place.character, place.id)

    def _answer(self, character: str, id_: str = "") -> Iterator[TurnEvent]:
        talk = self.path.talks()[character]
        try:
            with closing(talk.regenerate(id_)) as events:
                for event in events:
                    if isinstance(event, Recalled):
                        self.path.speaking = talk, reply_id(event.exchange_id, character)
                        event = replace(event, exchange_id=self.path.speaking[1])
                    elif isinstance(event, Ended):
                        event = replace(event, exchange=self.path.reply(character, Shown(event.exchange, ())).exchange)
                    yield event
        finally:
            self.path.speaking = None
            self.pass_on()

    def stop(self) -> None:
        """End the reply that is streaming, and let nobody answer after it."""
        self._stopping.set()
        if self.path.speaking is not None:
            self.path.speaking[0].stop()

    # ---- changes of mind

    def _change(self, line: str, change: Callable[[LinePlace, Conversation], object]) -> None:
        """Change a line where it was said, and pass that on. Raises NotFound."""
        with self._turn:
            self.pass_on()
            place = self.path.place(line)
            change(place, self.path.talks()[place.character])
            self.pass_on()

    def correct(self, line: str, *, user: str = "", char: str = "") -> None:
        """Give a line other words, in every memory."""
        self._change(line, lambda place, talk: talk.correct(
            place.id, **{"char" if place.is_reply else "user": user or char}))  # fmt: skip

    def select(self, line: str, variant: int | None = None) -> None:
        """Choose another of the replies in the place of this one."""
        self._change(line, lambda place, talk: talk.select(place.id, variant or 0))

    def trace(self, line: str) -> TurnTrace | None:
        """As in a ``Conversation``."""
        place = self.path.place(line)
        return self.path.talks()[place.character].trace(place.id)

    def retract(self, *lines: str) -> None:
        """Take lines back everywhere, each with the replies that follow it up to the next message of a person."""
        for line in lines:
            self._change(line, lambda place, talk: self.path.take_back(talk, place.id, own=place.is_reply))

    def restore(self, *lines: str) -> None:
        """Bring lines back in every memory; whoever heard one has it still."""
        with self._turn:
            for line in reversed(lines):
                for talk, agent in zip(self.path.talks().values(), self.path.agents().values(), strict=True):
                    if line in agent.store.tree.retracted:
                        talk.restore(line)
                        break
                self.pass_on()

    def forget(self, *lines: str) -> None:
        """Erase lines from every memory for good, each with what it answers and the replies that follow it."""
        for line in lines:
            self._change(line, lambda place, _: self.path.agent(place.character).memories.forget([place.id]))


def recast(group: GroupTalk, act: str, name: str = "") -> None:
    """Change who is in a talk, or how the next to speak is found; ``name`` is whom it is about. Raises NotFound, MoeChatError."""
    match act:
        case "mute" | "unmute":
            group.change_member(name, muted=act == "mute")
        case "add":
            group.add(name)
        case "remove":
            group.remove(name)
        case "person" if name.strip():
            group.change_cast(people=tuple(dict.fromkeys([*group.cast.people, name.strip()])))
        case "natural" | "list" | "manual" as order:
            group.change_cast(order=order)


class GroupTalks:
    """The talks of several of a house, which ``open_agent`` opens the memories of."""

    def __init__(self, open_agent: Callable[..., Agent]) -> None:
        self._open, self._lock = open_agent, threading.Lock()
        self._groups: dict[tuple[str, str, str], GroupTalk] = {}

    def of(self, talk: str, character: str, user: str = "", world: str = "") -> GroupTalk:
        """One that a character is in, by its name. Raises NotFound."""
        cast = self._open(character, user, world).store.tree.cast(talk)
        if not (cast and cast.is_shared):
            raise NotFound(f"{talk[:60]!r} is no talk of several")
        return self._of(talk, user, world, cast)

    def begin(
        self,
        characters: Sequence[str],
        user: str = "",
        world: str = "",
        *,
        people: Sequence[str] = (),
        order: Order = "natural",
    ) -> GroupTalk:
        """A new one of these characters (folders) with a user, and with people who have no memory of their own here: what they
        say is kept for this user alone. Raises NotFound."""
        agents = [(one, self._open(one, user, world)) for one in dict.fromkeys(characters)]
        members = tuple(Member(agent.character.name, one) for one, agent in agents)
        name = f"{PREFIX}{agents[0][1].now():%Y-%m-%d %H:%M} {secrets.token_hex(3)}"
        return self._of(name, user, world, Cast(members, tuple(people), order, 1))

    def _of(self, talk: str, user: str, world: str, cast: Cast) -> GroupTalk:
        key = (talk, user, world)
        with self._lock:
            if key not in self._groups:
                self._groups[key] = GroupTalk(talk, lambda one: self._open(one, user, world), cast)
            return self._groups[key]


def reply_id(id_: str, character: str) -> str:
    """The id of the line with which a character answers another."""
    return f"{id_[:15]}-{hashlib.sha256(f'{id_}/{character}'.encode()).hexdigest()[:10]}"


def _place_of(name: str, text: str) -> int:
    """Where a name stands in a text, -1 where it does not."""
    name_alone = rf"(?<![^\W\d_]){re.escape(name)}(?![^\W\d_])" if name.isascii() else re.escape(name)
    match = re.search(name_alone, text, re.IGNORECASE)
    return match.start() if match else -1
