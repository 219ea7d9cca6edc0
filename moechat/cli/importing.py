"""``moechat import …``: characters and their memories from elsewhere."""
# ruff: noqa: T201  (commands print)

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moechat.house import House

Open = Callable[..., "House"]
Command = Callable[..., argparse.ArgumentParser]


def add(commands: Any, command: Command, open_house: Open) -> None:
    """The group's commands; ``command`` makes one with the usual options, ``open_house`` opens what they name."""
    told = "take over a character and its memories from elsewhere"
    group = commands.add_parser("import", help=told, description=told)
    kinds = group.add_subparsers(dest="what", required=True, metavar="WHAT")
    persona = command(
        kinds, "persona", lambda args: _persona(args, open_house), "a saved persona of generative agents (its folder)"
    )
    persona.add_argument("folder", type=Path, metavar="DIR", help="the folder that holds nodes.json")
    persona.add_argument("-c", "--character", required=True, metavar="NAME", help="the new character's name")
    persona.add_argument("--language", choices=["zh", "en"], help="what it speaks (default: as its memories)")
    persona.add_argument("--expire", action="store_true", help="its thoughts expire when the persona's would (30 days)")


def _persona(args: argparse.Namespace, open_house: Open) -> int:
    from moechat.compat.persona import import_persona
    from moechat.settings.character import safe_folder

    with open_house(args) as house:
        folder = safe_folder(house.data, args.character)
        zone = house.config.time.tzinfo
        report = import_persona(args.folder, folder, zone, language=args.language, expires=args.expire)
    for notice in report.notices:
        print(f"moechat: {notice}", file=sys.stderr)
    counts = {"events": report.events, "reflections": report.reflections, "exchanges": report.exchanges}
    if args.json:
        told = {"name": args.character, "folder": str(report.folder), **counts, "left_out": dict(report.left_out)}
        print(json.dumps(told, ensure_ascii=False))
        return 0
    print(f"{report.name} → {report.folder}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for node, why in report.left_out.items():
        print(f"left out {node}: {why}")
    print(f"talk: moechat say -c {args.character} …, or choose {args.character} in the page")
    return 0
