"""``moechat export …``: take a character, its world book or its memory along."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from moechat.cli.session import open_house, tell
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.settings.character import default_character

ENDINGS = {".png": "png", ".json": "json", ".charx": "charx"}


def card(args: argparse.Namespace) -> None:
    kind = ENDINGS.get(args.file.suffix.lower())
    if kind is None:
        raise MoeChatError(f"{args.file}: a card is written as .png, .json or .charx")
    with open_house(args) as house:
        data = house.studio.export_card(_name(args, house), kind)  # type: ignore[arg-type]
    _written(args, lambda file: file.write(data))


def lorebook(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        book = house.studio.export_book(_name(args, house))
    _written(args, lambda file: file.write(book))


def archive(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        name, memory = _name(args, house), not args.without_memory
        _written(args, lambda file: house.studio.export_archive(name, file, memory=memory))
        if memory:
            house.agent(name).memories.exports.note(args.file)


def memory(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        name = _name(args, house)
        _written(args, lambda file: house.studio.export_memory(name, file, args.user or "", args.world or ""))
        house.agent(name, args.user, args.world).memories.exports.note(args.file)


def _name(args: argparse.Namespace, house: House) -> str:
    return args.character or default_character(house.data, house.config)


def _written(args: argparse.Namespace, write: Callable[[BinaryIO], object]) -> None:
    path: Path = args.file
    if path.exists() and not args.force:
        raise MoeChatError(f"{path} is there already; choose another name, or --force")
    with path.open("wb") as file:
        write(file)
    size = path.stat().st_size
    tell(args, {"file": str(path), "bytes": size}, f"{path}: {size:,} bytes")
