"""Commands for a talk of several: ``group begin``, ``say``, ``speak``, ``show``, ``change``."""

from __future__ import annotations

import argparse
from collections.abc import Generator

from moechat.cli.session import agent_of, open_house, tell, warn
from moechat.house import House
from moechat.house.group import GroupTalk, recast
from moechat.settings.character import default_character, folder_for
from moechat.turn import Ended, TurnEvent

LAST = 10  # Lines that are shown.


def begin(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        names = [_first(house, args), *(folder_for(house.characters(), name) for name in args.characters)]
        group = house.groups.begin(names, args.user or "", args.world or "")
        tell(args, _as_json(group), group.name)


def say(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        group = _group(house, args)
        return _told(house, args, group.talk(args.text, args.by))


def speak(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        return _told(house, args, _group(house, args).speak(args.name))


def show(args: argparse.Namespace) -> None:
    with open_house(args, looks=True) as house:
        group = _group(house, args)
        lines = [(row.exchange.speaker, row.exchange.char or row.exchange.user) for row in group.recent(LAST)]
        who = [f"{one.name}{' (silent)' if one.muted else ''}" for one in group.cast.members]
        newest = [f"{speaker}: {text}" if speaker else f"> {text}" for speaker, text in lines]
        tell(args, _as_json(group), f"{', '.join([*who, *group.cast.people])} ({group.cast.order})", *newest)


def change(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        group = _group(house, args)
        recast(group, args.act, folder_for(house.characters(), args.name) if args.act == "add" else args.name)
        tell(args, _as_json(group), ", ".join(one.name for one in group.cast.members))


def _first(house: House, args: argparse.Namespace) -> str:
    return args.character or default_character(house.data, house.config)


def _group(house: House, args: argparse.Namespace) -> GroupTalk:
    return house.groups.of(args.talk or "", _first(house, args), args.user or "", args.world or "")


def _told(house: House, args: argparse.Namespace, events: Generator[TurnEvent, None, None]) -> int:
    """What each who answers says, a line or an object each."""
    house.warm()
    is_failed = False
    for event in events:
        if isinstance(event, Ended):
            speaker, text = event.exchange.speaker, event.exchange.char
            tell(args, {"speaker": speaker, "text": text, "error": event.error}, f"{speaker}: {text}")
            warn([event.error] if event.error else [])
            is_failed |= bool(event.error)
    agent_of(house, args).finish()
    return int(is_failed)


def _as_json(group: GroupTalk) -> dict[str, object]:
    return {"talk": group.name} | dict(group.cast.row())
