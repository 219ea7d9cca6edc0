"""The verbs over a talk of several characters and people."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import PositiveInt

from moechat.turn import Ended, TurnEvent
from moechat.verbs import Fields, Values, Verb, value

if TYPE_CHECKING:
    from moechat.access.keys import Pass
    from moechat.house.group import GroupTalk, GroupTalks

Act = Literal["add", "remove", "mute", "unmute", "person", "user", "natural", "list", "manual"]


@dataclass(frozen=True)
class Company:
    """Who does it: a character (folder) of a user, in a world, who is in the talk. ``folder`` finds another by name; whom else
    one can bring in is limited by ``passed`` (None: whoever uses this machine)."""

    talks: GroupTalks
    folder: Callable[[str], str]
    character: str
    user: str = ""
    world: str = ""
    passed: Pass | None = None


class Begin(Values):
    characters: list[str] = value("who is in it beside the character that is asked", "NAME")


class OneGroup(Values):
    talk: str = value("the talk, by the name that `begin` gave it", "NAME", is_option=True)


class SayAloud(OneGroup):
    text: str = value("what you say", "TEXT")
    by: str = value("who says it, where that is not you", "NAME", "")


class Speak(OneGroup):
    name: str = value("which character", "NAME")


class Show(OneGroup):
    limit: PositiveInt = value("how many of the newest lines (default: 10)", "N", 10)


class ChangeCompany(OneGroup):
    act: Act = value(
        "a character joins, leaves, is silent or not; a person joins, or a user with memories of their own; who answers where "
        "nobody is named"
    )
    name: str = value("who (not for natural, list and manual)", "NAME", "", is_option=False)


def _talk(company: Company, wish: OneGroup) -> GroupTalk:
    return company.talks.of(wish.talk, company.character, company.user, company.world)


def _row(group: GroupTalk) -> Fields:
    return {"talk": group.name} | group.cast.row()


def _begun(company: Company, wish: Begin) -> Fields:
    names = [company.character, *map(company.folder, wish.characters)]
    return _row(company.talks.begin(names, company.user, company.world))


def _replies(events: Generator[TurnEvent, None, None]) -> Iterator[Fields]:
    """Each reply as it ends."""
    for event in events:
        if isinstance(event, Ended):
            one = event.exchange
            yield {"id": one.id, "speaker": one.speaker, "text": one.char, "error": event.error}


def _shown(company: Company, wish: Show) -> Fields:
    group = _talk(company, wish)
    lines = [
        {"id": row.exchange.id, "at": row.exchange.at.isoformat(), "speaker": row.exchange.speaker,
         "text": row.exchange.char or row.exchange.user}
        for row in group.recent(wish.limit)
    ]  # fmt: skip
    return _row(group) | {"lines": lines}


def _changed(company: Company, wish: ChangeCompany) -> Fields:
    from moechat.house.group import recast

    group, name = _talk(company, wish), company.folder(wish.name) if wish.act == "add" else wish.name
    if wish.act == "add" and company.passed:
        company.passed.require_character(name)
    if wish.act == "user" and company.passed:
        company.passed.user(name)
    recast(group, wish.act, name)
    return _row(group)


VERBS: Mapping[str, Verb] = {
    "begin": Verb("begin one; its name is printed, by which the others are called", Begin, _begun),
    "say": Verb("say something in it; whose turn it is answer", SayAloud,
                lambda company, wish: _replies(_talk(company, wish).talk(wish.text, wish.by)), replies=True),
    "speak": Verb("let a character answer what was said last", Speak,
                  lambda company, wish: _replies(_talk(company, wish).speak(wish.name)), replies=True),
    "show": Verb("who is in it, and what was said last", Show, _shown, reads=True),
    "change": Verb("who is in it, and who answers", ChangeCompany, _changed),
}  # fmt: skip
