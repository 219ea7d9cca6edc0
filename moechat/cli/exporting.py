"""``moechat export …``: take a character, its world book or its memory along."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from moechat.cli.session import open_house, print_json
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.settings.character import default_character

ENDINGS = {".png": "png", ".json": "json", ".charx": "charx"}


def card(args: argparse.Namespace) -> int:
    kind = ENDINGS.get(args.file.suffix.lower())
    if kind is None:
        raise MoeChatError(f"{args.file}: a card is written as .png, .json or .charx")
    with open_house(args) as house:
        return _write(args, house.studio.export_card(_name(args, house), kind))  # type: ignore[arg-type]


def lorebook(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        book = house.studio.export_book(_name(args, house))
    return _write(args, json.dumps(book, ensure_ascii=False, indent=2).encode())


def archive(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        name = _name(args, house)
        data = house.studio.export_archive(name, memory=not args.without_memory)
        status = _write(args, data)
        if not args.without_memory:
            house.agent(name).memories.exports.note(args.file)
        return status


def memory(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        name = _name(args, house)
        status = _write(args, house.studio.export_memory(name, args.user or "", args.world or ""))
        house.agent(name, args.user, args.world).memories.exports.note(args.file)
        return status


def _name(args: argparse.Namespace, house: House) -> str:
    return args.character or default_character(house.data, house.config)


def _write(args: argparse.Namespace, data: bytes) -> int:
    path: Path = args.file
    if path.exists() and not args.force:
        raise MoeChatError(f"{path} is there already; choose another name, or --force")
    path.write_bytes(data)
    if args.json:
        print_json({"file": str(path), "bytes": len(data)})
    else:
        print(f"{path}: {len(data):,} bytes")
    return 0
