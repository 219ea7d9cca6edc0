"""``moechat memories …``: look after the memory by hand."""
# ruff: noqa: T201  (commands print)

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from moechat.cli.official import count, values_of
from moechat.errors import MoeChatError

if TYPE_CHECKING:
    from moechat.curation.catalogue import Details, Memory
    from moechat.curation.keeper import Keeper
    from moechat.house import House

KIND_NAMES = ("fact", "event", "reflection", "exchange", "all")
FURTHER = (
    "further keys: of an event happened, place, keywords, topic, importance (happened=2019-07-15 or happened=去年夏天); of a "
    "fact entity, kind, keyword, target, polarity, single"
)
MARKS = {"pinned": "*", "archived": "-"}
Open = Callable[..., "House"]
Command = Callable[..., argparse.ArgumentParser]


def add(commands: Any, command: Command, open_house: Open) -> None:
    """The group's commands; ``command`` makes one with the usual options, ``open_house`` opens what they name."""
    told = "look after the memory by hand"
    group = commands.add_parser("memories", help=told, description=told)
    actions = group.add_subparsers(dest="action", required=True, metavar="ACTION")

    def one(name: str, run: Callable[[argparse.Namespace, Keeper], int], words: str, **more: bool) -> Any:
        def opened(args: argparse.Namespace) -> int:
            with _keeping(args, open_house, **more) as keeping:
                return run(args, keeping)

        return command(actions, name, opened, words, talk=True)

    listed = one("list", _list, "what is remembered, newest first", looks=True)
    listed.add_argument("--kind", choices=KIND_NAMES, help="one kind, or all (default: all but exchanges)")
    listed.add_argument("--search", default="", metavar="TEXT", help="only what has all these words")
    listed.add_argument("--archived", action="store_true", help="the archive instead")
    listed.add_argument("--limit", type=count, default=50, metavar="N", help="how many (default: 50; 0: all)")
    listed.add_argument("--offset", type=count, default=0, metavar="N", help="how many to pass over")
    _ids(one("show", _show, "all that is known of a memory, and when it fades", looks=True))
    made = one("add", _add, "write a memory; it is yours, and no understanding replaces it")
    made.add_argument("type", choices=["fact", "event"], help="what is known, or what happened")
    made.add_argument("text", metavar="TEXT", help="in words")
    made.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help=FURTHER)
    edit = one("edit", _edit, "give a memory other words; it is yours then and no understanding replaces it")
    edit.add_argument("id", metavar="ID", help="an id, as `memories list` shows it")
    edit.add_argument("text", metavar="TEXT", help="the words that are meant")
    _ids(one("archive", _archive, "hide memories, and keep them"))
    _ids(one("restore", _restore, "bring archived memories back"))
    _ids(one("pin", _pin, "never archive these by themselves"))
    _ids(one("unpin", _unpin, "treat these as all others"))
    forget = one("forget", _forget, "erase memories and what was made of them from every file, for good")
    _ids(forget)
    forget.add_argument("--yes", action="store_true", help="do not ask")
    clean = one("clean", _clean, "archive what is weakest, where memory is full")
    clean.add_argument("--dry-run", action="store_true", help="only tell what would go")


def _ids(command: argparse.ArgumentParser) -> None:
    command.add_argument("ids", nargs="+", metavar="ID", help="ids, as `memories list` shows them")


@contextmanager
def _keeping(args: argparse.Namespace, open_house: Open, *, looks: bool = False) -> Iterator[Keeper]:
    with open_house(args, looks=looks or getattr(args, "dry_run", False)) as house:
        agent = house.agent(args.character, args.user)
        yield agent.keeping
        for problem in agent.problems():
            print(f"moechat: {problem}", file=sys.stderr)


# ---- looking


def _list(args: argparse.Namespace, keeping: Keeper) -> int:
    from moechat.curation.catalogue import KINDS, UNDERSTOOD

    kinds = {None: UNDERSTOOD, "all": KINDS}.get(args.kind, (args.kind,))
    page = keeping.listed(kinds, search=args.search, limit=args.limit, offset=args.offset, archived=args.archived)
    _print(args, page.memories)
    shown = args.offset + len(page.memories)
    if not args.json and shown < page.total:
        print(f"… {page.total - shown} more (--offset {shown})")
    return 0


def _show(args: argparse.Namespace, keeping: Keeper) -> int:
    from moechat.curation.catalogue import details_as_json

    for id_ in args.ids:
        details = keeping.get(id_)
        if args.json:
            told = details_as_json(details)
            if details.memory.kind == "fact":  # of which there are kinds; ``kind`` says what `memories list` says
                told |= {"kind": "fact", "fact_kind": told["kind"]}
            _out(told)
        else:
            print("\n".join(_told(details)))
    return 0


def _told(details: Details) -> Iterator[str]:
    memory = details.memory
    yield _line(memory)
    if memory.reply:
        yield f"  reply: {memory.reply}"
    if memory.by:
        yield f"  by: {memory.by}"
    for name, value in details.fields.items():
        if name != "by" and value != memory.kind:
            yield f"  {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
    if memory.recalled:
        yield f"  recalled: {memory.recalls} times, last {memory.recalled:%Y-%m-%d %H:%M}"
    if details.forecast_text:
        yield f"  {details.forecast_text}"
    links = {"rests on": [*details.sources, *details.evidence], "replaced": details.replaced,
             "replaced by": details.replaced_by, "understood of it": details.derived}  # fmt: skip
    for name, found in links.items():
        yield from (f"  {name}: {_line(one)}" for one in found)


# ---- changing


def _add(args: argparse.Namespace, keeping: Keeper) -> int:
    from moechat.curation import by_hand

    write = keeping.add_event if args.type == "event" else keeping.add_fact
    given = {"text": args.text, **values_of(args.set)}
    _print(args, [write(**by_hand.told(args.type, given, keeping.now()))])
    return 0


def _edit(args: argparse.Namespace, keeping: Keeper) -> int:
    _print(args, [keeping.edit(args.id, args.text)])
    return 0


def _archive(args: argparse.Namespace, keeping: Keeper) -> int:
    return _moved(args, keeping.archive(args.ids), "already in the archive")


def _restore(args: argparse.Namespace, keeping: Keeper) -> int:
    return _moved(args, keeping.restore(args.ids), "not in the archive")


def _moved(args: argparse.Namespace, memories: Sequence[Memory], otherwise: str) -> int:
    _print(args, memories)
    if not memories and not args.json:
        print(f"nothing to do: {otherwise}")
    return 0


def _pin(args: argparse.Namespace, keeping: Keeper) -> int:
    _print(args, keeping.pin(args.ids))
    return 0


def _unpin(args: argparse.Namespace, keeping: Keeper) -> int:
    _print(args, keeping.pin(args.ids, on=False))
    return 0


def _forget(args: argparse.Namespace, keeping: Keeper) -> int:
    grounds = {ground.id: ground for id_ in args.ids for ground in keeping.get(id_).sources}
    for ground in grounds.values():
        if ground.id not in args.ids:
            print(f"what was said stays (to be forgotten by its own id): {_line(ground)}", file=sys.stderr)
    if not args.yes:
        goes = keeping.forgets(args.ids)
        for memory in goes:
            print(_line(memory), file=sys.stderr)
        print(f"Erase these {len(goes)} for good? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() not in ("y", "yes", "是"):
            raise MoeChatError("nothing was forgotten (--yes does not ask)")
    _print(args, keeping.forget(args.ids))
    return 0


def _clean(args: argparse.Namespace, keeping: Keeper) -> int:
    done, goes = keeping.clean(dry_run=args.dry_run)
    _print(args, goes)
    if not args.json:
        would = "would go into the archive" if args.dry_run else "went into the archive"
        print(f"{len(goes)} of {done.count} {would} (memory is full at {keeping.limits.cap})")
    return 0


# ---- shapes


def _print(args: argparse.Namespace, memories: Sequence[Memory]) -> None:
    from moechat.curation.catalogue import as_json

    for memory in memories:
        _out(as_json(memory)) if args.json else print(_line(memory))


def _line(memory: Memory) -> str:
    marks = "".join(mark for name, mark in MARKS.items() if getattr(memory, name)) or " "
    use = "" if memory.kind == "exchange" else f" strength {memory.strength}, recalled {memory.recalls}×"
    time = f" {memory.at:%Y-%m-%d %H:%M}" if memory.at else ""
    return f"{marks} {memory.id} [{memory.kind}{time}{use}] {' '.join(memory.text.split())}"


def _out(told: object) -> None:
    print(json.dumps(told, ensure_ascii=False))
