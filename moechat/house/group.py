"""A talk of several characters and people: who is in it, and who speaks next."""

from __future__ import annotations

import random
import re
import secrets
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.errors import MoeChatError, NotFound
from moechat.house.group_memories import GroupMemories, LinePlace, Listener, reply_id
from moechat.model import Recollection
from moechat.settings.character import USER_NAMES
from moechat.store.entries import Cast, Member, Order
from moechat.turn import Ended, Recalled, Shown, TurnEvent, TurnTrace

PREFIX = "group:"  # How such talks are called.
MAX_LINES = 10_000  # The newest lines, which are searched.
NAMELESS_HOST = {"zh": "群主", "en": "Host"}


class GroupLines:
    """The lines of a talk of several as one of its users has heard them."""

    def __init__(self, memories: GroupMemories, user: str) -> None:
        self._memories, self.user = memories, user

    def agents(self) -> dict[str, Agent]:
        return {one.character: agent for one, agent in self._memories.agents(self.user).items()}

    def lead(self) -> str:
        """The character whose memory has most of the talk."""
        agents = self.agents()
        return max(agents, key=lambda one: sum(1 for _ in agents[one].store.tree.path(self._memories.name)))

    def _talk(self, character: str) -> Conversation:
        return self._memories.talk(Listener(character, self.user))

    def _answered(self, character: str, line: str) -> str:
        return self._memories.answered(Listener(character, self.user), line)

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
        lead = self.lead()
        path, own = self._talk(lead).path, self._answered(lead, before or "")
        lines = [line for row in path.recent(count, own or before) for line in self._lines(lead, row)]
        lines += self._lines(lead, path.shown([own])[0])[:1] if own else []
        speaking = self._memories.speaking
        if before is None and speaking and speaking[1] not in [one.exchange.id for one in lines]:
            lines += self.shown([speaking[1]])
        return lines[-count:]

    def _lines(self, lead: str, row: Shown) -> list[Shown]:
        """An exchange in a character's memory as one line or two."""
        exchange = row.exchange
        authors = [
            one.character for one in self._memories.cast.members if one.name == exchange.speaker and one.character
        ]
        own = [self.reply(one, hers) for one in authors if (id_ := self._answered(one, exchange.id))
               for hers in self._talk(one).path.shown([id_])]  # fmt: skip
        heard = Shown(replace(exchange, char="", status="done"), (), row.spans)
        return [*(own or [heard]), *([self.reply(lead, row)] if exchange.heard or row.error else [])]

    def reply(self, character: str, row: Shown) -> Shown:
        id_, name = (
            reply_id(row.exchange.id, character),
            self._memories.agent(Listener(character, self.user)).character.name,
        )
        return replace(row, exchange=replace(row.exchange, id=id_, user="", speaker=name), spans=(), by=character)

    def shown(self, lines: Sequence[str]) -> list[Shown]:
        """These lines as faces show them. Raises NotFound."""
        rows = list[Shown]()
        for place in (self._memories.place(line, self.user) for line in lines):
            for row in self._memories.talk(place.listener).path.shown([place.id]):
                is_hers, who = place.is_reply, place.listener.character
                rows.append(self.reply(who, row) if is_hers else self._lines(who, row)[0])
        return rows


class GroupTalk:
    """One talk of several for one of its users; ``cast`` is who is in it, and what is newer in one of the memories is taken in.
    Safe to use from several threads.

    ``talk``, ``regenerate``, ``correct``, ``retract``, ``restore`` and ``path`` are as in a ``Conversation``, with lines in the
    place of exchanges. It has more than twenty methods because each thing to do with such a talk is one of its own.
    """

    def __init__(self, memories: GroupMemories, user: str) -> None:
        self.name, self.user, self.path = memories.name, user, GroupLines(memories, user)
        self._memories, self._turn, self._stopping = memories, memories.turn, memories.stopping
        self.pass_on, self.recent = memories.pass_on, self.path.recent

    @property
    def cast(self) -> Cast:
        return self._memories.cast

    # ---- who is in it

    def recast(self, cast: Cast) -> None:
        """The newest cast that any of their memories knows, in all of them; then what waits is passed on."""
        before, memories = self._memories.agents(), self._memories
        while cast != self.cast:
            memories.cast = cast
            there = [agent.store.tree.cast(self.name) for agent in memories.agents().values()]
            cast = max([cast, *filter(None, there)], key=lambda one: one.edition)
        for agent in (before | memories.agents()).values():
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
        """Other ``members``, ``people``, ``users`` or ``order``. Who joins hears what is said from then on; who leaves keeps what
        was. Raises MoeChatError for a user who did not begin the talk."""
        self._memories.require_host(self.user)
        with self._turn:
            self._change_cast(**changes)

    def _change_cast(self, **changes: Any) -> None:
        self.pass_on()
        self.recast(replace(self.cast, **changes, edition=self.cast.edition + 1))

    def change_member(self, name: str, **changes: Any) -> None:
        """Mute a character or not, or give her another ``talkativeness``. Raises NotFound."""
        there = self.member(name)
        self.change_cast(members=tuple(replace(one, **changes) if one is there else one for one in self.cast.members))

    def add(self, character: str, heard: int = 0) -> None:
        """A character joins, by her folder, who has ``heard`` so many of the newest lines."""
        if character in self.path.agents():
            return
        self._memories.require_host(self.user)
        name = self._memories.agent(Listener(character, self.user)).character.name
        members = (*(one for one in self.cast.members if one.name != name), Member(name, character))
        with self._turn:
            self.pass_on()
            store = self.path.agents()[self.path.lead()].store
            newest = [id_ for id_ in islice(store.tree.path(self.name), heard) if id_ not in store.tree.hidden()]
            cast = replace(self.cast, members=members, edition=self.cast.edition + 1)
            store.log.tell_talk(self.name, cast=cast.row(), waiting=dict.fromkeys(newest[::-1], "exchange"))
            self.recast(cast)

    def add_user(self, user: str) -> None:
        """A user with memories of their own joins. What is said from then on stands in each character's memory of them, too: what
        they say as their own, what all others say under their names. Raises MoeChatError for a name that is taken."""
        if user in self._memories.users:
            return
        mine, theirs = (self._memories.agent(Listener(self.cast.members[0].character, one)).character
                        for one in (self.user, user))  # fmt: skip
        own = NAMELESS_HOST[mine.language] if mine.user_name in USER_NAMES.values() else mine.user_name
        name = user if theirs.user_name in USER_NAMES.values() else theirs.user_name
        users = self.cast.users or {own: self.user}
        taken = [*users, *(one.name for one in self.cast.members), *(one for one in self.cast.people if one != name)]
        if name.casefold() in [one.casefold() for one in taken]:
            raise MoeChatError(f"there is a {name} in this talk already; let one of them be called otherwise")
        people = tuple(dict.fromkeys([*self.cast.people, own, name]))
        self.change_cast(users={**users, name: user}, people=people)

    def remove(self, name: str) -> None:
        """A character or a person leaves. Raises NotFound, MoeChatError for who has to stay."""
        if name in self.cast.people and self.cast.users.get(name) != self._memories.host:
            users = {one: user for one, user in self.cast.users.items() if one != name}
            self.change_cast(users=users, people=tuple(one for one in self.cast.people if one != name))
            return
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
        """Somebody says something: the user (""), or for the host another person, who is in the talk from then on. All characters
        have heard it when this returns its id; nobody answers."""
        if not text.strip():
            raise MoeChatError("the message is empty; write something first")
        lead = next(iter(self.path.agents().values()))
        own = {lead.character.user_name.casefold(), self._memories.label(self.user).casefold()}
        speaker = "" if speaker.casefold() in own else speaker
        if speaker:
            self._memories.require_host(self.user)
        if speaker in [*self.cast.users, *(one.name for one in self.cast.members)]:
            raise MoeChatError(f"{speaker} speaks for herself, or himself; say it as yourself")
        people = tuple(dict.fromkeys([*self.cast.people, *filter(None, [speaker])]))
        if people != self.cast.people:
            self._change_cast(people=people)
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
            last = self._memories.talk(Listener(member.character, self.user)).path.recent(1)
            if not last or last[0].exchange.heard:
                raise MoeChatError(f"{member.name} has said the last word; let somebody else speak first")
            yield from self._answer(member.character)

    def regenerate(self, id_: str = "") -> Generator[TurnEvent, None, None]:
        """Another reply in the place of one, "": of the last. Raises NotFound for a line that is none."""
        self._stopping.clear()
        with self._turn:
            last = self.recent(1)
            place = self._place(id_ or (last[0].exchange.id if last else ""))
            if not place.is_reply:
                raise NotFound("that is no reply; let a character speak")
            yield from self._answer(place.listener.character, place.id)

    def _answer(self, character: str, id_: str = "") -> Iterator[TurnEvent]:
        """A character answers out of her memory of the user in whose turn it is: what another told her alone is not in it."""
        own = Listener(character, self.user)
        id_ = id_ or next(iter(self._memories.agent(own).store.tree.path(self.name)), "")
        hers = Listener(character, self._memories.user_of(own, id_))
        hers = hers if id_ in self._memories.agent(hers).store.tree else own
        talk = self._memories.talk(hers)
        try:
            with closing(talk.regenerate(id_)) as events:
                for event in events:
                    if isinstance(event, Recalled):
                        self._memories.speaking = talk, (line := reply_id(event.exchange_id, character))
                        event = Recalled(line, event.recollection if hers == own else Recollection())
                    elif isinstance(event, Ended):
                        event = replace(event, exchange=self.path.reply(character, Shown(event.exchange, ())).exchange)
                    yield event
        finally:
            self._memories.speaking = None
            self.pass_on()

    def stop(self) -> None:
        """End the reply that is streaming, and let nobody answer after it."""
        self._stopping.set()
        if self._memories.speaking is not None:
            self._memories.speaking[0].stop()

    # ---- changes of mind

    def _place(self, line: str) -> LinePlace:
        """Where a line stands for who may change it: the host, or the user in whose turn it was said. Raises NotFound."""
        place = self._memories.place(line, self.user)
        if self._memories.user_of(place.listener, place.id) != self.user:
            self._memories.require_host(self.user)
        return place

    def _change(self, line: str, change: Callable[[LinePlace, Conversation], object]) -> None:
        """Change a line where it was said, and pass that on. Raises NotFound."""
        with self._turn:
            self.pass_on()
            place = self._place(line)
            change(place, self._memories.talk(place.listener))
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
        place = self._memories.place(line, self.user)
        return self._memories.talk(place.listener).trace(place.id)

    def retract(self, *lines: str) -> None:
        """Take lines back everywhere, each with the replies that follow it up to the next message of a person."""
        for line in lines:
            self._change(line, lambda place, talk: self._memories.take_back(talk, place.id, own=place.is_reply))

    def restore(self, *lines: str) -> None:
        """Bring lines back in every memory; whoever heard one has it still."""
        with self._turn:
            for line in reversed(lines):
                for listener, agent in self._memories.agents(self.user).items():
                    if line in agent.store.tree.retracted:
                        self._memories.talk(listener).restore(line)
                        break
                self.pass_on()

    def forget(self, *lines: str) -> None:
        """Erase lines from every memory for good, each with what it answers and the replies that follow it."""
        for line in lines:
            self._change(line, lambda place, _: self._memories.agent(place.listener).memories.forget([place.id]))


def recast(group: GroupTalk, act: str, name: str = "") -> None:
    """Change who is in a talk, or how the next to speak is found; ``name`` is whom it is about. Raises NotFound, MoeChatError."""
    match act:
        case "mute" | "unmute":
            group.change_member(name, muted=act == "mute")
        case "add":
            group.add(name)
        case "user":
            group.add_user(name)
        case "remove":
            group.remove(name)
        case "person" if name.strip():
            group.change_cast(people=tuple(dict.fromkeys([*group.cast.people, name.strip()])))
        case "natural" | "list" | "manual" as order:
            group.change_cast(order=order)


def introduce(agent: Agent, talk: str, names: Iterable[str], group: GroupTalk | None) -> None:
    """Note in a talk of an agent, which ``group`` may be, that these are characters there, of whom only a front end knows."""
    cast = agent.store.tree.cast(talk) or Cast()
    new = dict.fromkeys(one for one in names if one not in [member.name for member in cast.members])
    members = (*cast.members, *map(Member, new))
    if new and group:
        group.change_cast(members=members)
    elif new:
        agent.store.log.tell_talk(talk, cast=replace(cast, members=members).row())


class GroupTalks:
    """The talks of several of a house, which ``open_agent`` opens the memories of."""

    def __init__(self, open_agent: Callable[..., Agent]) -> None:
        self._open, self._lock = open_agent, threading.Lock()
        self._memories: dict[tuple[str, str, str], GroupMemories] = {}
        self._groups: dict[tuple[str, str, str], GroupTalk] = {}

    def of(self, talk: str, character: str, user: str = "", world: str = "") -> GroupTalk:
        """One that a character is in with a user, by its name. Raises NotFound."""
        cast = self._open(character, user, world).store.tree.cast(talk)
        if not (cast and cast.is_shared):
            raise NotFound(f"{talk[:60]!r} is no talk of several")
        return self._of(talk, user, world, cast)

    def joined(self, talk: str, character: str, user: str, others: Iterable[str], heard: int) -> GroupTalk | None:
        """A front end's group, by its name there. A character who has nothing of it yet joins those of the ``others`` who are
        in it, and has ``heard`` so many of its newest lines; else she begins it. None where she had it to herself before."""
        mine = self._open(character, user, "")
        places: Iterable[Agent] = (
            [mine] if talk in mine.store.tree.talks else (self._open(one, user, "") for one in others)
        )
        casts = (cast for agent in places if (cast := agent.store.tree.cast(talk)) and cast.is_shared)
        if (cast := next(casts, None)) is None and talk in mine.store.tree.talks:
            return None
        group = self._of(talk, user, "", cast or Cast((Member(mine.character.name, character),), edition=1))
        group.add(character, heard)
        return group

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
        """The talk for a user. Raises NotFound for one who has left."""
        host = next(iter(cast.users.values()), user)
        with self._lock:
            if (memories := self._memories.get((talk, host, world))) is None:
                memories = GroupMemories(talk, host, lambda one, whose: self._open(one, whose, world))
                self._memories[talk, host, world] = memories
            group = self._groups.setdefault((talk, user, world), GroupTalk(memories, user))
        if cast.edition > group.cast.edition:
            group.recast(cast)
        if user not in memories.users:
            raise NotFound(f"{talk[:60]!r} goes on without you; what you heard there is in your memory")
        return group


def _place_of(name: str, text: str) -> int:
    """Where a name stands in a text, -1 where it does not."""
    name_alone = rf"(?<![^\W\d_]){re.escape(name)}(?![^\W\d_])" if name.isascii() else re.escape(name)
    match = re.search(name_alone, text, re.IGNORECASE)
    return match.start() if match else -1
