"""``moechat official …``: what the author of a character wrote for all its users, looked after by command."""
# ruff: noqa: T201  (commands print)

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moechat.errors import MoeChatError
from moechat.model import Lore, OfficialMemory

if TYPE_CHECKING:
    from moechat.author.official import Official
    from moechat.house import House

Open = Callable[..., "House"]
Command = Callable[..., argparse.ArgumentParser]
KINDS = ("event", "fact", "lore")
LISTS = ("keywords", "related", "keys")  # keys whose value is a list, written with commas


def add(commands: Any, command: Command, open_house: Open) -> None:
    """The group's commands; ``command`` makes one with the usual options, ``open_house`` opens what they name."""
    told = "look after the memories that the author of a character wrote for all its users"
    group = commands.add_parser("official", help=told, description=told)
    actions = group.add_subparsers(dest="action", required=True, metavar="ACTION")

    def one(name: str, run: Callable[[argparse.Namespace, Official], Iterable[OfficialMemory]], words: str) -> Any:
        def opened(args: argparse.Namespace) -> int:
            with _official(args, open_house) as official:
                _print(args, official, run(args, official))
            return 0

        made = command(actions, name, opened, words)
        made.add_argument("-c", "--character", help="whose memory (default: the configured character)")
        return made

    listed = one("list", _list, "the author's memories, in the order of their files")
    listed.add_argument("--type", choices=KINDS, help="one sort of them")
    listed.add_argument("--search", default="", metavar="TEXT", help="what has these words, best first")
    listed.add_argument("--limit", type=count, default=50, metavar="N", help="how many (default: 50; 0: all)")
    show = one("show", lambda args, official: [official.get(id_) for id_ in args.ids], "every key of a memory")
    show.add_argument("ids", nargs="+", metavar="ID", help="ids, as `official list` shows them")
    made = one("add", _add, "write a memory")
    made.add_argument("type", choices=KINDS, help="what happened, what is known, or an entry of the world book")
    made.add_argument("text", metavar="TEXT", help="in words; {{user}} and {{char}} stand for the names")
    made.add_argument(
        "--id", metavar="ID", help="the record's key (default: one is made; an entry's is its file and keyword)"
    )
    _keys(
        made,
        "further keys of the file, e.g. place=海边 keywords=风筝,海; an entry of the world book needs keyword=渡口",
    )
    edit = one("edit", _edit, "change keys of a memory")
    edit.add_argument("id", metavar="ID", help="an id, as `official list` shows it")
    _keys(edit, "what changes, e.g. text=… place=…; KEY= takes one out")
    delete = one("delete", _delete, "take memories out of their file")
    delete.add_argument("ids", nargs="+", metavar="ID", help="ids, as `official list` shows them")


def _keys(command: argparse.ArgumentParser, told: str) -> None:
    command.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help=told)


def count(told: str) -> int:
    """An argument that says how many."""
    if not told.isdecimal():
        raise argparse.ArgumentTypeError(f"{told!r}: expects a whole number, 0 or more")
    return int(told)


@contextmanager
def _official(args: argparse.Namespace, open_house: Open) -> Iterator[Official]:
    with open_house(args, looks=True) as house:
        official = house.agent(args.character).official
        yield official
        for problem in (*official.problems, *official.lore.problems):
            print(f"moechat: {problem}", file=sys.stderr)


def _list(args: argparse.Namespace, official: Official) -> Iterable[OfficialMemory]:
    found = official.search(args.search, args.type, sys.maxsize) if args.search else official.listed(args.type)
    return found[: args.limit or None]


def _add(args: argparse.Namespace, official: Official) -> Iterable[OfficialMemory]:
    return [official.add(args.type, {"text": args.text, **values_of(args.set)}, args.id)]


def _edit(args: argparse.Namespace, official: Official) -> Iterable[OfficialMemory]:
    if not args.set:
        raise MoeChatError("there is nothing to change: say what with --set KEY=VALUE")
    return [official.update(args.id, values_of(args.set))]


def _delete(args: argparse.Namespace, official: Official) -> Iterable[OfficialMemory]:
    gone = [official.get(id_) for id_ in args.ids]
    for id_ in args.ids:
        official.delete(id_)
    return gone


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


def _print(args: argparse.Namespace, official: Official, memories: Iterable[OfficialMemory]) -> None:
    for memory in memories:
        row = official.as_row(memory)
        if args.json:
            print(json.dumps(row, ensure_ascii=False))
        else:
            rest = {
                key: value for key, value in row.items() if key not in ("store", "by", "id", "type", "text", "time")
            }
            about = " ".join(
                f"{key}={','.join(value) if isinstance(value, list) else value}"
                for key, value in rest.items()
                if args.action == "show" and value not in ("", False, [])
            )
            text = " ".join(row["text"].split())
            print(f"{row['id']} [{row['type']}{_mark(memory)}] {text}{f'  ({about})' if about else ''}")


def _mark(memory: OfficialMemory) -> str:
    """The day of a memory; of an entry of the world book whether it is switched off."""
    if isinstance(memory, Lore):
        return "" if memory.enabled else " off"
    return f" {memory.at:%Y-%m-%d}" if memory.at else ""
