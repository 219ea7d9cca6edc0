"""What somebody brings: shown before anything is written, then taken in. The commands and the page do it alike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from moechat.agent import Agent
from moechat.author import character_folder
from moechat.compat import foreign_talk
from moechat.compat.past import MAX_TITLE_CHARS, Names, Past, TalkExchanges
from moechat.curation.talks import UNNAMED
from moechat.curation.upkeep import Progress
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.bundle import WHY
from moechat.house.studio import Arrival
from moechat.model import Exchange
from moechat.settings.character import alike
from moechat.store.kinds import Store
from moechat.worker import lazy

MAX_PREVIEWED = 5  # Entries or memories that a preview names.
MAX_SPEAKERS = 20
Row = dict[str, Any]
"""JSON that shows a file, or what became of it; ``kind`` is that of its arrival."""


@dataclass(frozen=True)
class Wishes:
    """Where it shall go: to a ``character`` ("": as the file says, else the default one), a ``user`` of theirs and a ``world``.
    ``me`` names the user where a file of talk calls them otherwise, ``talk`` the talk that it becomes (None: as its file)."""

    character: str = ""
    user: str = ""
    world: str = ""
    me: str = ""
    talk: str | None = None


class Coming:
    """One arrival on its way into a house. Everything here raises MoeChatError."""

    def __init__(self, house: House, arrival: Arrival, wishes: Wishes) -> None:
        self.house, self.arrival, self.wishes = house, arrival, wishes
        name = wishes.character or arrival.path.resolve().name
        self.is_talk = arrival.kind == "talk" or (arrival.kind == "folder" and name in house.characters())
        self._folder_name = name

    @property
    def agent(self) -> Agent:
        """Whose memory it goes to."""
        return self.house.agent(self.wishes.character or None, self.wishes.user or None, self.wishes.world or None)

    def preview(self) -> Row:
        """What it holds. Writes nothing."""
        return self._talk_row() if self.is_talk else self._shown()

    def _shown(self) -> Row:
        arrival = self.arrival
        match arrival.kind:
            case "card":
                assert arrival.preview is not None
                return {**vars(arrival.preview), "kind": "card", "container": arrival.preview.kind}
            case "archive":
                assert arrival.archive is not None
                return {**vars(arrival.archive), "kind": "archive", "of": arrival.archive.kind}
            case "lorebook":
                names = [one.keyword for one in arrival.entries]
                unheeded = dict(arrival.unheeded or {})
                return {"kind": "lorebook", "entries": len(names), "first": names[:MAX_PREVIEWED], "unheeded": unheeded}
            case "memories":
                rows = foreign_talk.memories(arrival.path)
                doubled = len(rows) - len(self.agent.brought.new_of(rows))
                first = [row["text"] for row in rows[:MAX_PREVIEWED]]
                return {"kind": "memories", "memories": len(rows), "doubled": doubled, "first": first}
            case "folder":
                return {"kind": "folder", "name": self._folder_name}
            case "bundle":
                raise MoeChatError(f"{arrival.path}: {WHY['zip']}")
        raise MoeChatError(f"{arrival.path} is a saved persona: moechat import persona {arrival.path} -c NAME")

    def _talk_row(self) -> Row:
        past = self.past_of_file
        exchanges = past.exchanges
        there = foreign_talk.there_already(self.agent.store, exchanges)
        return {
            "kind": "talk", "form": past.kind, "exchanges": len(exchanges), "doubled": len(exchanges) - there.count(None),
            "speakers": dict(past.speakers.most_common(MAX_SPEAKERS)),
            "left_out": {why: n for why, n in past.left_out.items() if n},
            "first": exchanges[0].at.isoformat() if exchanges else None,
            "last": exchanges[-1].at.isoformat() if exchanges else None,
            "talks": len(past.talks), "titles": [talk.title for talk in past.talks if talk.title][:MAX_PREVIEWED],
            "messages": past.speakers.total(), "me": past.me, "named": past.named[:MAX_SPEAKERS],
            "guessed": past.unclear is not None,
        }  # fmt: skip

    @lazy
    def past_of_file(self) -> Past:
        """The talk of a file or a folder; lines of it that cannot be read are among its ``problems``."""
        if self.arrival.kind == "folder":
            return foreign_talk.of_folder(self.arrival.path, self.agent.config.time.tzinfo)
        agent = self.agent
        names = Names(agent.character.user_name, agent.character.name, self.wishes.me)
        return foreign_talk.read(self.arrival.path, agent.config.time.tzinfo, names)

    # ---- taking it in

    def take(self, progress: Progress | None = None) -> Row:
        """Take it in. Talk is understood before this returns, and ``progress`` told how far that is; without it, in the
        background."""
        if self.is_talk:
            return self._take_talk(progress)
        arrival, studio, name = self.arrival, self.house.studio, self.wishes.character
        match arrival.kind:
            case "card":
                assert arrival.card is not None
                return self._shown() | {"character": studio.take_card(arrival.card, name)}
            case "archive":
                return self._shown() | {"character": studio.take_archive(arrival, name, self.wishes.user)}
            case "lorebook":
                character = self.agent.character.folder.name
                file = studio.take_book(arrival.path, arrival.data, character)
                return self._shown() | {"file": file, "character": character}
            case "memories":
                done = self.agent.brought.add(foreign_talk.memories(arrival.path), progress or (lambda done, of: None))
                return {"kind": "memories", "batch": done.batch, "memories": len(done.ids), "doubled": done.doubled}
        return self._shown() | {"character": studio.take_folder(arrival.path, self._folder_name)}

    def _take_talk(self, progress: Progress | None) -> Row:
        path, agent, past = self.arrival.path, self.agent, self.past_of_file
        if past.unclear:
            raise past.unclear
        if past.problems:
            raise MoeChatError(f"{path}: nothing was imported; {len(past.problems)} of its lines cannot be read")
        agent.store.imports.finish()  # one that was cut short
        row = self._talk_row()
        new = _NewTalk(agent.store, past, self.wishes.talk)
        if past.talks and not new.exchanges:
            if waiting := len(agent.store.tree.unread()):
                _understand(agent, progress)
                return {"kind": "talk", "went_on": waiting}
            agent.store.imports.require_new(past.exchanges)
            raise MoeChatError(f"{path}: all of it is there already; nothing was imported")
        batch = agent.store.imports.add_talks(new.exchanges, new.follows)
        _understand(agent, progress)
        times = sorted(one.at for one in new.exchanges)
        return row | {
            "batch": batch, "talk": new.exchanges[-1].talk, "exchanges": len(times),
            "first": times[0].isoformat(), "last": times[-1].isoformat(),
        }  # fmt: skip


class _NewTalk:
    """The exchanges of a past that a memory does not hold, in the talks that they go to, and what each follows."""

    def __init__(self, store: Store, past: Past, wish: str | None) -> None:
        self.exchanges: list[Exchange] = []
        self.follows: list[int | str | None] = []
        self._tree, self._path, self._wish, self._is_one = store.tree, past.path, wish, len(past.talks) == 1
        self._names: set[str] = set()
        ids = iter(foreign_talk.there_already(store, [one for talk in past.talks for one in talk.exchanges]))
        for talk in past.talks:
            self._add(talk, list(itertools.islice(ids, len(talk.exchanges))))

    def _add(self, talk: TalkExchanges, ids: Sequence[str | None]) -> None:
        """What is new of a talk goes on with the one that holds the rest of it. Of branches that were left nothing comes later
        than the chosen one, so that no talk turns to them."""
        chosen, place = dict[int, None](), len(ids) - 1 if ids else None
        while place is not None:
            chosen[place], place = None, talk.follows[place]
        there = next((id_ for id_ in reversed(ids) if id_ in self._tree), None)
        name = self._tree.talk_of(there) if there else self._name(talk.title)
        self._names.add(name)
        places: dict[int | None, int | str] = {n: id_ for n, id_ in enumerate(ids) if id_}
        before: int | None = None
        for n, exchange in enumerate(talk.exchanges):
            if n in places or (n not in chosen and ids[-1]):
                continue
            self.follows.append(before if n in chosen else places.get(talk.follows[n]))
            places[n] = len(self.exchanges)
            before = len(self.exchanges) if n in chosen else before
            self.exchanges.append(replace(exchange, talk=name))

    def _name(self, title: str) -> str:
        """What a new talk is called: as is wished, as it was called, as its file; with a number where that is taken."""
        if self._wish is not None and self._is_one:
            return self._wish
        base = " ".join(title.split())[:MAX_TITLE_CHARS].strip() or self._path.stem
        base = f"{self._wish} · {base}" if self._wish else f"“{base}”" if base.startswith(UNNAMED) else base
        taken = {*self._tree.talks, *self._names}
        return next(one for n in itertools.count(1) if (one := f"{base} {n}" if n > 1 else base) not in taken)


def free_name(name: str, taken: Sequence[str]) -> str:
    """A folder's name made of a card's, one that no character has."""
    base, folded = character_folder.folder_name(name), {alike(one) for one in taken}
    names = (f"{base} {n + 1}" if n else base for n in range(len(taken) + 1))
    return next(one for one in names if alike(one) not in folded)


def _understand(agent: Agent, progress: Progress | None) -> None:
    if progress is not None:
        agent.jobs.read_imports(progress)
