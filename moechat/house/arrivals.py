"""What somebody brings: shown before anything is written, then taken in. The commands and the page do it alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from moechat.agent import Agent
from moechat.author import character_folder
from moechat.compat import foreign_talk
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.studio import Arrival
from moechat.model import Exchange

MAX_PREVIEWED = 5  # Entries or memories that a preview names.
MAX_SPEAKERS = 20
NOBODY = "\0"  # A name that nobody has: with it everybody in a file of talk is the character.
Row = dict[str, Any]
"""JSON that shows a file, or what became of it; ``kind`` is that of its arrival."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Wishes:
    """Where it shall go: to a ``character`` ("": as the file says, else the default one), a ``user`` of theirs and a ``world``.
    ``me`` names the user where a file of talk calls them otherwise, ``talk`` the talk that it becomes (None: as its file)."""

    character: str = ""
    user: str = ""
    world: str = ""
    me: str = ""
    talk: str | None = None


@dataclass(frozen=True)
class PastTalk:
    """The talk of a file, and what a memory does not hold of it yet (``new``)."""

    past: foreign_talk.Past
    new: Sequence[Exchange]

    def row(self) -> Row:
        times = [one.at.isoformat() for one in self.past.exchanges]
        return {
            "kind": "talk", "form": self.past.kind, "exchanges": len(times), "doubled": len(times) - len(self.new),
            "speakers": dict(self.past.speakers.most_common(MAX_SPEAKERS)), "left_out": dict(self.past.left_out),
            "first": times[0] if times else None, "last": times[-1] if times else None,
        }  # fmt: skip


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
        return self.talk().row() if self.is_talk else self._shown()

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
        raise MoeChatError(f"{arrival.path} is a saved persona: moechat import persona {arrival.path} -c NAME")

    def talk(self) -> PastTalk:
        return PastTalk(self.past_of_file, foreign_talk.not_there_yet(self.agent.store, self.past_of_file.exchanges))

    @cached_property
    def past_of_file(self) -> foreign_talk.Past:
        """The talk of a file or a folder; lines of it that cannot be read are among its ``problems``."""
        if self.arrival.kind == "folder":
            return foreign_talk.of_folder(self.arrival.path, self.agent.config.time.tzinfo)
        return self._read(self.wishes.me)

    def _read(self, me: str) -> foreign_talk.Past:
        agent = self.agent
        names = foreign_talk.Names(agent.character.user_name, agent.character.name, me)
        return foreign_talk.read(self.arrival.path, agent.config.time.tzinfo, names)

    def speakers(self) -> Sequence[str]:
        """Everybody who speaks in a file of talk, the most talkative first, whoever is the user."""
        return [name for name, _ in self._read(NOBODY).speakers.most_common(MAX_SPEAKERS)]

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
        path, agent = self.arrival.path, self.agent
        if problems := self.past_of_file.problems:
            raise MoeChatError(f"{path}: nothing was imported; {len(problems)} of its lines cannot be read")
        agent.store.imports.finish()  # one that was cut short
        talk = self.talk()
        exchanges, new = talk.past.exchanges, talk.new
        if exchanges and not new:
            if waiting := len(agent.store.tree.unread()):
                _understand(agent, progress)
                return {"kind": "talk", "went_on": waiting}
            agent.store.imports.require_new(exchanges)
            raise MoeChatError(f"{path}: all of it is there already; nothing was imported")
        name = path.stem if self.wishes.talk is None else self.wishes.talk
        batch = agent.store.imports.add(new, talk=name)
        _understand(agent, progress)
        return talk.row() | {
            "batch": batch, "talk": name, "exchanges": len(new),
            "first": new[0].at.isoformat(), "last": new[-1].at.isoformat(),
        }  # fmt: skip


def free_name(name: str, taken: Sequence[str]) -> str:
    """A folder's name made of a card's, one that no character has."""
    base, folded = character_folder.folder_name(name), {one.casefold() for one in taken}
    names = (f"{base} {n + 1}" if n else base for n in range(len(taken) + 1))
    return next(one for one in names if one.casefold() not in folded)


def _understand(agent: Agent, progress: Progress | None) -> None:
    if progress is not None:
        agent.jobs.read_imports(progress)
