"""``moechat import …``: take over what was kept elsewhere, and take it back."""

from __future__ import annotations

import argparse
import sys

from moechat.cli.session import agent_of, confirm, open_house, print_json, progress, warn
from moechat.compat import talk_file
from moechat.errors import MoeChatError

MOST_PROBLEMS = 20  # So many lines that cannot be read are named.


def talk(args: argparse.Namespace) -> int:
    name = args.file.stem if args.talk is None else args.talk
    with open_house(args) as house:
        agent = agent_of(house, args)
        who, zone = agent.character, agent.config.time.tzinfo
        exchanges, problems = talk_file.read(args.file, zone, user_name=who.user_name, character_name=who.name)
        if problems:
            warn(problems[:MOST_PROBLEMS])
            raise MoeChatError(f"{args.file}: nothing was imported; {len(problems)} of its lines cannot be read")
        batch = agent.store.imports.add(exchanges, talk=name)
        agent.jobs.read_imports(progress(quiet=args.json))
        warn(agent.problems())
    first, last = exchanges[0].at, exchanges[-1].at
    if args.json:
        row = {"batch": batch, "talk": name, "exchanges": len(exchanges)}
        print_json(row | {"first": first.isoformat(), "last": last.isoformat()})
        return 0
    span = f"{first:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M}"
    print(f"{batch} → talk {name!r}: {len(exchanges)} exchanges, {span}")
    print(f"to erase it again: moechat import take-back {batch}")
    return 0


def take_back(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        memories = agent_of(house, args).memories
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
