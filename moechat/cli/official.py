"""``moechat official …``: what the author of a character wrote for all its users, looked after by command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moechat.agent import Agent
from moechat.cli.session import open_house, print_json, warn
from moechat.errors import MoeChatError
from moechat.model import Lore, OfficialMemory

LISTS = ("keywords", "related", "keys")  # These fields hold lists, written with commas.
HEAD = ("store", "by", "id", "type", "text", "time")  # A line shows these, or leaves them to `--json`.


def run(args: argparse.Namespace) -> int:
    """The action that the command names, on the official store of one character."""
    with open_house(args, looks=args.action in ("list", "show")) as house:
        agent = house.agent(args.character)
        for memory in ACTIONS[args.action](args, agent):
            row = agent.official.as_row(memory)
            print_json(row) if args.json else print(_line(memory, row, in_full=args.action == "show"))
        warn((*agent.official.problems, *agent.official.lore.problems))
    return 0


def _list(args: argparse.Namespace, agent: Agent) -> Iterable[OfficialMemory]:
    official = agent.official
    memories = official.search(args.search, args.type, sys.maxsize) if args.search else official.listed(args.type)
    return memories[: args.limit or None]


def _show(args: argparse.Namespace, agent: Agent) -> Iterable[OfficialMemory]:
    return [agent.official.get(id_) for id_ in args.ids]


def _add(args: argparse.Namespace, agent: Agent) -> Iterable[OfficialMemory]:
    return [agent.official.add(args.type, {"text": args.text, **values_of(args.set)}, args.id)]


def _edit(args: argparse.Namespace, agent: Agent) -> Iterable[OfficialMemory]:
    if not args.set:
        raise MoeChatError("there is nothing to change: say what with --set KEY=VALUE")
    return [agent.official.update(args.id, values_of(args.set))]


def _delete(args: argparse.Namespace, agent: Agent) -> Iterable[OfficialMemory]:
    gone = [agent.official.get(id_) for id_ in args.ids]
    for id_ in args.ids:
        agent.official.delete(id_)
    return gone


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Agent], Iterable[OfficialMemory]]] = {
    "list": _list,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "delete": _delete,
}


def values_of(pairs: Iterable[str]) -> dict[str, Any]:
    """KEY=VALUE as a record has them; lists at their commas, None for an empty value."""
    values: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise MoeChatError(f"--set {pair}: write it as KEY=VALUE")
        parts = [part.strip() for part in value.replace("，", ",").split(",") if part.strip()]
        values[key.strip()] = (parts if key.strip() in LISTS else value) or None
    return values


def _line(memory: OfficialMemory, row: Mapping[str, Any], *, in_full: bool) -> str:
    further = {key: value for key, value in row.items() if in_full and key not in HEAD and value not in ("", False, [])}
    about = " ".join(f"{key}={','.join(value) if isinstance(value, list) else value}" for key, value in further.items())
    text = " ".join(row["text"].split())
    return f"{row['id']} [{row['type']}{_mark(memory)}] {text}{f'  ({about})' if about else ''}"


def _mark(memory: OfficialMemory) -> str:
    """The day of a memory; of an entry of the world book whether it is switched off."""
    if isinstance(memory, Lore):
        return "" if memory.enabled else " off"
    return f" {memory.at:%Y-%m-%d}" if memory.at else ""
