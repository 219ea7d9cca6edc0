"""``moechat memories …``: look after the memory by hand."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from moechat.cli.official import values_of
from moechat.cli.session import agent_of, confirm, open_house, print_json, warn
from moechat.curation import by_hand
from moechat.curation.brought import copied
from moechat.curation.catalogue import KINDS, UNDERSTOOD, Details, Memory, as_json, details_as_json
from moechat.curation.keeper import Keeper
from moechat.errors import MoeChatError
from moechat.model import Reason

LOOKS = ("list", "show")
MARKS = {"pinned": "*", "archived": "-"}
REASONS: Mapping[Reason, str] = {
    "sources": "names no exchange",
    "evidence": "not borne out",
    "example": "copied from the prompt",
    "unreadable": "cannot be read",
    "verdict": "no words contradict",
}


def run(args: argparse.Namespace) -> int:
    """The action that the command names, on the memories of one agent."""
    looks = args.action in LOOKS or getattr(args, "dry_run", False)
    with open_house(args, looks=looks) as house:
        agent = agent_of(house, args)
        agent.store.read_all()
        ACTIONS[args.action](args, agent.memories)
        warn(agent.problems())
    return 0


# ---- looking


def _list(args: argparse.Namespace, memories: Keeper) -> None:
    if args.refused:
        _refused(args, memories)
        return
    kinds = {None: UNDERSTOOD, "all": KINDS}.get(args.kind, (args.kind,))
    page = memories.listed(kinds, search=args.search, limit=args.limit, offset=args.offset, archived=args.archived)
    _print(args, page.memories)
    shown = args.offset + len(page.memories)
    if not args.json and shown < page.total:
        print(f"… {page.total - shown} more (--offset {shown})")


def _refused(args: argparse.Namespace, memories: Keeper) -> None:
    """What was not believed of models' answers, newest first, and how often for which reason."""
    refused = memories.refused()
    for one in refused[: args.limit or None]:
        if args.json:
            print_json({**asdict(one), "at": one.at and one.at.isoformat()})
        else:
            print(f"{one.at:%Y-%m-%d %H:%M} [{one.kind}] {REASONS[one.why]}: {one.text}")
    if not args.json:
        counts = Counter(REASONS[one.why] for one in refused)
        print("; ".join(f"{reason}: {count}" for reason, count in counts.most_common()) or "nothing was refused")


def _show(args: argparse.Namespace, memories: Keeper) -> None:
    for id_ in args.ids:
        details = memories.get(id_)
        if not args.json:
            print("\n".join(_lines(details)))
            continue
        row = details_as_json(details)
        if details.memory.kind == "fact":  # A fact has a kind of its own; ``kind`` says what `memories list` says.
            row |= {"kind": "fact", "fact_kind": row["kind"]}
        print_json(row)


def _lines(details: Details) -> Iterator[str]:
    """A memory with everything known of it."""
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
    links = {
        "rests on": [*details.sources, *details.evidence],
        "replaced": details.replaced,
        "replaced by": details.replaced_by,
        "understood of it": details.derived,
    }
    for name, others in links.items():
        yield from (f"  {name}: {_line(other)}" for other in others)


# ---- changing


def _add(args: argparse.Namespace, memories: Keeper) -> None:
    write = memories.add_event if args.type == "event" else memories.add_fact
    values = {"text": args.text, **values_of(args.set)}
    _print(args, [write(**by_hand.arguments(args.type, values, memories.now()))])


def _edit(args: argparse.Namespace, memories: Keeper) -> None:
    _print(args, [memories.edit(args.id, args.text)])


def _move(args: argparse.Namespace, memories: Keeper) -> None:
    """Into the archive, or out of it."""
    archives = args.action == "archive"
    moved = memories.archive(args.ids) if archives else memories.restore(args.ids)
    _print(args, moved)
    if not moved and not args.json:
        print(f"nothing to do: {'already' if archives else 'not'} in the archive")


def _copy(args: argparse.Namespace, memories: Keeper) -> None:
    """To another character, in a house of its own, so that neither waits for the other."""
    with open_house(args) as house:
        _print(args, copied(memories, args.ids, house.agent(args.to, args.user).memories))


def _pin(args: argparse.Namespace, memories: Keeper) -> None:
    _print(args, memories.pin(args.ids, on=args.action == "pin"))


def _forget(args: argparse.Namespace, memories: Keeper) -> None:
    sources = {exchange.id: exchange for id_ in args.ids for exchange in memories.get(id_).sources}
    holding = {id_: exchange for id_, exchange in sources.items() if id_ not in args.ids}
    preview = None if args.yes and not args.dry_run else memories.forgets(args.ids)
    if args.json and args.dry_run and preview:
        print_json({name: [as_json(one) for one in getattr(preview, name)] for name in ("goes", "repeats", "stays")})
        return
    _tell("what was said stays (to be forgotten by its own id)", holding.values())
    if preview:
        others = [one for one in preview.repeats if one.id not in holding]
        _tell("this repeats some of the words (to be forgotten by its own id)", others)
        _tell("your own words stay, without their source (to be forgotten by their own id)", preview.stays)
    if preview and args.dry_run:
        _print(args, preview.goes)
        return
    if preview:
        for memory in preview.goes:
            print(_line(memory), file=sys.stderr)
        if not confirm(f"Erase these {len(preview.goes)} for good?"):
            raise MoeChatError("nothing was forgotten (--yes does not ask)")
    _print(args, memories.forget(args.ids))
    for name in memories.exports.listed():
        print(f"an export may still hold it: {name}", file=sys.stderr)


def _tell(what: str, memories: Iterable[Memory]) -> None:
    for memory in memories:
        print(f"{what}: {_line(memory)}", file=sys.stderr)


def _clean(args: argparse.Namespace, memories: Keeper) -> None:
    cleaning, goes = memories.clean(dry_run=args.dry_run)
    _print(args, goes)
    if not args.json:
        would = "would go into the archive" if args.dry_run else "went into the archive"
        print(f"{len(goes)} of {cleaning.count} {would} (memory is full at {memories.limits().cap})")


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Keeper], None]] = {
    "list": _list,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "archive": _move,
    "restore": _move,
    "pin": _pin,
    "unpin": _pin,
    "copy": _copy,
    "forget": _forget,
    "clean": _clean,
}


# ---- shapes


def _print(args: argparse.Namespace, memories: Sequence[Memory]) -> None:
    for memory in memories:
        print_json(as_json(memory)) if args.json else print(_line(memory))


def _line(memory: Memory) -> str:
    marks = "".join(mark for name, mark in MARKS.items() if getattr(memory, name)) or " "
    use = "" if memory.kind == "exchange" else f" strength {memory.strength}, recalled {memory.recalls}×"
    time = f" {memory.at:%Y-%m-%d %H:%M}" if memory.at else ""
    return f"{marks} {memory.id} [{memory.kind}{time}{use}] {' '.join(memory.text.split())}"
