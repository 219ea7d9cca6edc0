"""Commands for the house as a whole: check it, make its indexes anew, move memories between folders and a database, or its
servers."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator

from moechat.cli.session import agent_of, open_house, progress, tell, warn
from moechat.clock import SystemClock
from moechat.errors import MoeChatError
from moechat.house.migration import Move, Outcome
from moechat.house.owners import Owner
from moechat.house.stores import database_of, update_tables
from moechat.settings import config as settings


def verify(args: argparse.Namespace) -> int:
    with open_house(args, looks=not args.repair) as house:
        agent = agent_of(house, args)
        repaired = {"repaired": agent.store.repair()} if args.repair else {}
        report = agent.verify() | repaired
    if not args.json:
        warn([*repaired.get("repaired", []), *report["problems"]])
        warn(f"{name}: no file of MoeChat's; it is in no backup" for name in report["unknown"])
    counts = (f"{name}: {value}" for name, value in report.items() if isinstance(value, int))
    tell(args, report, ", ".join(counts))
    return 1 if report["problems"] else 0


def rebuild(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        report = house.rebuild(
            args.character, args.user, args.world, vectors=args.vectors, progress=progress(quiet=args.json)
        )
    tell(args, report, ", ".join(f"{name}: {value}" for name, value in report.items() if name != "unknown"))


def migrate(args: argparse.Namespace) -> int:
    config = settings.load(args.config)
    if args.way == "schema":
        applied = update_tables(config, args.config)
        tell(args, {"applied": applied}, ", ".join(applied) or "the tables are up to date")
        return 0
    database, zone = database_of(config.store, args.config), config.time.tzinfo
    with contextlib.closing(Move(args.data, database, SystemClock(zone), zone)) as move:
        if args.way == "to-postgres":
            return _each(args, move.owners_in_folders(), move.to_tables)
        if args.way == "move":
            if not args.to:
                raise MoeChatError("`migrate move` needs --to SERVER: home, or a name of store.servers")
            return _each(args, move.owners_in_tables(), lambda owner: move.to_server(owner, args.to))
        return _each(args, move.owners_in_tables(), move.to_folders)


def _each(args: argparse.Namespace, owners: Iterator[Owner], move: Callable[[Owner], tuple[Outcome, object]]) -> int:
    """One owner after another. One that cannot be moved is told, and the others go on."""
    failed = False
    for owner in owners:
        if args.character not in (None, owner.character) or args.user not in (None, owner.user):
            continue
        try:
            outcome, moved = move(owner)
        except MoeChatError as error:
            warn([f"{owner.character} {owner.user} {owner.world}: {error}"])
            failed = True
            continue
        row = {**owner._asdict(), "outcome": outcome, **vars(moved)}
        tell(args, row, ", ".join(f"{key}: {value}" for key, value in row.items() if value != ""))
    return int(failed)
