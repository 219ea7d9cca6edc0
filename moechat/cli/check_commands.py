"""Commands for the house as a whole: check it, make its indexes anew."""

from __future__ import annotations

import argparse

from moechat.cli.session import agent_of, open_house, progress, tell, warn


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
