"""Commands for the house as a whole: serve it, check it, make its indexes anew."""

from __future__ import annotations

import argparse
import os

from moechat.access.guard import is_loopback
from moechat.cli.session import agent_of, open_house, print_json, progress, warn


def web(args: argparse.Namespace) -> int:
    from moechat import demo, web

    with demo.house(args.config) if args.demo else open_house(args) as house:
        settings = house.config.web
        host = args.host or settings.host
        web.serve(
            house,
            host=host,
            port=settings.port if args.port is None else args.port,
            ready=lambda url: announce_page(host, url),
        )
    return 0


def announce_page(host: str, url: str) -> None:
    """Where the page is, with a warning where others reach it."""
    print(f"MoeChat: {url} (Ctrl+C ends it)", flush=True)
    if not is_loopback(host):
        danger = "the page asks for no password; whoever reaches this address reads and changes the memory"
        warn([f"host = {host!r}: {danger}"])


def serve(args: argparse.Namespace) -> int:
    from moechat.serve import server

    with open_house(args) as house:
        settings = house.config.serve
        server.serve(
            house,
            host=args.host or settings.host,
            port=settings.port if args.port is None else args.port,
            key=os.environ.get(settings.key_env),
            key_env=settings.key_env,
        )
    return 0


def verify(args: argparse.Namespace) -> int:
    with open_house(args, looks=True) as house:
        report = agent_of(house, args).verify()
    if args.json:
        print_json(report)
    else:
        warn(report["problems"])
        print(", ".join(f"{name}: {value}" for name, value in report.items() if name != "problems"))
    return 1 if report["problems"] else 0


def rebuild(args: argparse.Namespace) -> int:
    with open_house(args) as house:
        report = house.rebuild(
            args.character, args.user, args.world, vectors=args.vectors, progress=progress(quiet=args.json)
        )
    print_json(report) if args.json else print(", ".join(f"{name}: {value}" for name, value in report.items()))
    return 0
