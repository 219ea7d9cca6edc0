"""``moechat import …``: take over what was kept elsewhere, and take it back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from moechat.agent import Agent
from moechat.cli.session import agent_of, confirm, open_house, print_json, progress, warn
from moechat.compat import past
from moechat.curation.brought import MARK
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.studio import Arrival, CardPreview, in_tavern, look

MOST_PROBLEMS = 20  # So many lines that cannot be read are named.


def file(args: argparse.Namespace) -> int:
    """Import whatever a file is, or show what it holds (``--dry-run``)."""
    arrival = look(args.file)
    with open_house(args, looks=args.dry_run) as house:
        return _KINDS[arrival.kind](args, house, arrival)


# ---- characters


def _card(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    assert arrival.preview is not None and arrival.card is not None
    shown = _card_row(arrival.preview)
    if args.dry_run:
        _show(args, shown)
        return 0
    name = house.studio.take_card(arrival.card, args.character or "")
    return _came(args, shown, name)


def _card_row(preview: CardPreview) -> dict[str, Any]:
    return {**vars(preview), "kind": "card", "container": preview.kind}


def _tavern(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    """A whole SillyTavern folder: one preview, then every card of it that is not there yet."""
    status = 0
    for path in in_tavern(arrival.path):
        try:
            one = look(path)
            if one.card is None or one.preview is None:
                continue
            shown = _card_row(one.preview) | {"file": path.name}
            if args.dry_run:
                _show(args, shown)
            else:
                _came(args, shown, house.studio.take_card(one.card))
        except MoeChatError as error:
            warn([error])
            status = 1
    return status


def _folder(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    name = args.character or arrival.path.resolve().name
    if name in house.characters():  # its talk goes to a character that is there
        return _talk(args, house, arrival)
    if args.dry_run:
        _show(args, {"kind": "folder", "name": name})
        return 0
    return _came(args, {"kind": "folder"}, house.studio.take_folder(arrival.path, name))


def _archive(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    assert arrival.archive is not None
    archive = vars(arrival.archive)
    shown = {**archive, "kind": "archive", "of": arrival.archive.kind}
    if args.dry_run:
        _show(args, shown)
        return 0
    return _came(args, shown, house.studio.take_archive(arrival, args.character or "", args.user or ""))


def _lorebook(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    entries = [one.keyword for one in arrival.entries]
    shown = {
        "kind": "lorebook",
        "entries": len(entries),
        "first": entries[:5],
        "unheeded": dict(arrival.unheeded or {}),
    }
    if args.dry_run:
        _show(args, shown)
        return 0
    name = agent_of(house, args).character.folder.name
    file_name = house.studio.take_book(arrival.path, arrival.data, name)
    return _came(args, shown | {"file": file_name}, name)


def persona(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        report = house.import_persona(args.folder, args.character, language=args.language, expires=args.expire)
    warn(report.notices)
    counts = {"events": report.events, "reflections": report.reflections, "exchanges": report.exchanges}
    if args.json:
        row = {"name": args.character, "folder": str(report.folder), **counts, "left_out": dict(report.left_out)}
        print_json(row)
        return 0
    print(f"{report.name} → {report.folder}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for node, why in report.left_out.items():
        print(f"left out {node}: {why}")
    print(f"talk: moechat say -c {args.character} …, or choose {args.character} in the page")
    return 0


def _persona(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    raise MoeChatError(f"{arrival.path} is a saved persona: moechat import persona {arrival.path} -c NAME")


# ---- talk and memories


def talk(args: argparse.Namespace) -> int:
    args.dry_run = False
    with open_house(args) as house:
        return _talk(args, house, Arrival("talk", args.file))


def _talk(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    name = arrival.path.stem if args.talk is None else args.talk
    agent = agent_of(house, args)
    read = _past(args, agent, arrival)
    if read.problems:
        warn(read.problems[:MOST_PROBLEMS])
        raise MoeChatError(f"{arrival.path}: nothing was imported; {len(read.problems)} of its lines cannot be read")
    if not args.dry_run:
        agent.store.imports.finish()  # one that was cut short
    new = past.not_there_yet(agent.store, read.exchanges)
    shown = _talk_row(read, new)
    if args.dry_run:
        _show(args, shown)
        return 0
    if read.exchanges and not new and agent.store.tree.unread():
        return _goes_on(args, agent)
    if read.exchanges and not new:
        agent.store.imports.require_new(read.exchanges)
        raise MoeChatError(f"{arrival.path}: all of it is there already; nothing was imported")
    batch = agent.store.imports.add(new, talk=name)
    agent.jobs.read_imports(progress(quiet=args.json))
    warn(agent.problems())
    first, last = new[0].at, new[-1].at
    if args.json:
        row = {"batch": batch, "talk": name, "exchanges": len(new), "doubled": len(read.exchanges) - len(new)}
        print_json(row | {"first": first.isoformat(), "last": last.isoformat()})
        return 0
    doubled = f" ({len(read.exchanges) - len(new)} were there already)" if len(new) < len(read.exchanges) else ""
    print(f"{batch} → talk {name!r}: {len(new)} exchanges, {first:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M}{doubled}")
    print(f"to erase it again: moechat import take-back {batch}")
    return 0


def _goes_on(args: argparse.Namespace, agent: Agent) -> int:
    """All of it is there, and some of it is not understood yet: an import was cut short."""
    waiting = len(agent.store.tree.unread())
    agent.jobs.read_imports(progress(quiet=args.json))
    if args.json:
        print_json({"went_on": waiting})
    else:
        print(f"all of it is there; {waiting} exchanges were still to be understood")
    return 0


def _past(args: argparse.Namespace, agent: Agent, arrival: Arrival) -> past.Past:
    who, zone = agent.character, agent.config.time.tzinfo
    if arrival.kind == "folder":
        return past.of_folder(arrival.path, zone)
    return past.read(arrival.path, zone, past.Names(who.user_name, who.name, args.me or ""))


def _talk_row(read: past.Past, new: list[Any]) -> dict[str, Any]:
    times = [one.at for one in read.exchanges]
    return {
        "kind": "talk", "form": read.kind, "exchanges": len(read.exchanges), "doubled": len(read.exchanges) - len(new),
        "speakers": dict(read.speakers.most_common(20)), "left_out": dict(read.left_out),
        "first": times[0].isoformat() if times else None, "last": times[-1].isoformat() if times else None,
    }  # fmt: skip


def _memories(args: argparse.Namespace, house: House, arrival: Arrival) -> int:
    agent = agent_of(house, args)
    rows = past.memories(arrival.path)
    if args.dry_run:
        doubled = len(rows) - len(agent.brought.new_of(rows))
        _show(
            args,
            {"kind": "memories", "memories": len(rows), "doubled": doubled, "first": [row["text"] for row in rows[:5]]},
        )
        return 0
    done = agent.brought.add(rows, progress(quiet=args.json))
    warn(agent.problems())
    if args.json:
        print_json({"batch": done.batch, "memories": len(done.ids), "doubled": done.doubled})
    else:
        print(f"{done.batch}: {len(done.ids)} memories ({done.doubled} were there already)")
        print(f"to erase them again: moechat import take-back {done.batch}")
    return 0


def take_back(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        agent = agent_of(house, args)
        if args.batch.startswith(MARK):
            return _take_back_memories(args, agent)
        memories = agent.memories
        lost = memories.takes_back(args.batch)
        understood = f"{len(lost.facts)} facts, {len(lost.episodes)} events and reflections"
        for memory in memories.memories(lost.kept):
            print(f"your own words stay, without their source: {memory.id} {memory.text}", file=sys.stderr)
        if not args.yes:
            print(
                f"{args.batch}: {len(lost.exchanges)} exchanges, and understood of them {understood}", file=sys.stderr
            )
            if not confirm("Erase all of it for good?"):
                raise MoeChatError("nothing was taken back (--yes does not ask)")
        lost = memories.take_back(args.batch)
    counts = {"exchanges": len(lost.exchanges), "facts": len(lost.facts), "episodes": len(lost.episodes)}
    if args.json:
        print_json({"batch": args.batch, **counts, "stays": list(lost.kept)})
    else:
        print(f"{args.batch}: erased " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def _take_back_memories(args: argparse.Namespace, agent: Agent) -> int:
    count = len(agent.brought.ids(args.batch))
    if not args.yes and not confirm(f"{args.batch}: {count} memories. Erase all of them for good?"):
        raise MoeChatError("nothing was taken back (--yes does not ask)")
    gone = agent.brought.take_back(args.batch)
    if args.json:
        print_json({"batch": args.batch, "memories": gone})
    else:
        print(f"{args.batch}: erased {gone} memories")
    return 0


# ---- showing


def _show(args: argparse.Namespace, row: Mapping[str, Any]) -> None:
    """A preview, before anything is written."""
    if args.json:
        print_json(row)
        return
    print(f"{args.file}: {row['kind']}")
    for key, value in row.items():
        if key == "kind" or value in ("", None, [], {}, ()):
            continue
        label = "kept, not obeyed" if key == "unheeded" else key.replace("_", " ")
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} × {count}" if count != 1 else name for name, count in value.items())
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        print(f"  {label}: {value}")


def _came(args: argparse.Namespace, row: Mapping[str, Any], name: str) -> int:
    if args.json:
        print_json({**row, "character": name})
        return 0
    _show(args, row)
    print(f"→ {name}; talk: moechat say -c {name} …, or choose {name} in the page")
    return 0


_KINDS: Mapping[str, Callable[[argparse.Namespace, House, Arrival], int]] = {
    "card": _card, "tavern": _tavern, "folder": _folder, "archive": _archive, "lorebook": _lorebook, "persona": _persona,
    "talk": _talk, "memories": _memories,
}  # fmt: skip
