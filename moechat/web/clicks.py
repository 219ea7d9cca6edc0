"""Where a tab is, what the page reports of a click there, and what a room says of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from moechat.access.keys import EVERYTHING, Pass
from moechat.agent import Agent
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.verbs import Verb, perform
from moechat.web.tray import Tray
from moechat.web.words import Words

Action = Mapping[str, str]
"""What the page reports of a click or a form: ``do``, what it is done to, and the fields of the form."""


@dataclass(frozen=True)
class Whereabouts:
    """A character ("": none), a world of its own, a talk by name, or one off the record by number (0: none)."""

    character: str = ""
    world: str = ""
    talk: str = ""
    held: int = 0

    @property
    def memory(self) -> Whereabouts:
        """Whose memory it is, whatever the talk."""
        return replace(self, talk="", held=0)


@dataclass(frozen=True)
class Note:
    """The outcome of an action, in words."""

    text: str = ""
    bad: bool = False


class Waiting(MoeChatError):
    """A change that is not done while a reply is on its way."""

    note = "wait_reply"


@dataclass(frozen=True)
class Visit:
    """Where a click comes from: the character by ``name`` ("": none), opened as ``agent`` if it can be, and the ``tray`` of the
    tab, whose room is ``width`` pixels wide. ``passed`` is what it may reach. ``busy``: a reply is on its way, and some changes
    have to wait."""

    house: House
    agent: Agent | None
    words: Words
    name: str = ""
    tray: Tray | None = None
    passed: Pass = EVERYTHING
    busy: bool = False
    width: int = 900

    @property
    def own(self) -> Agent:
        """The agent, in the rooms that are there for an open character alone."""
        assert self.agent is not None
        return self.agent

    def perform(self, verb: Verb, /, **values: object) -> Any:
        """What a verb gives, to whom comes here. Raises MoeChatError, as Waiting where it is not to be done now."""
        if verb.waits and self.busy:
            raise Waiting
        return perform(verb, self.own, values, self.passed)
