"""The parts that all commands share: opening the house, printing lines, reporting problems."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator

from moechat.agent import Agent
from moechat.errors import MoeChatError
from moechat.house import House


def open_house(args: argparse.Namespace, *, looks: bool = False) -> House:
    """The house that the options name. ``looks``: the command only shows, and nothing happens by itself meanwhile."""
    house = House(args.data, args.config, now=getattr(args, "now", None), looks=looks)
    warn([*([args.home_notice] if args.home_notice else []), *house.config.notices])
    return house


def agent_of(house: House, args: argparse.Namespace) -> Agent:
    """The agent whose memory the options name."""
    return house.agent(args.character, args.user, args.world)


def pairs_of(settings: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each KEY=VALUE of ``--set`` as (key, value). Raises MoeChatError for what is none."""
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign:
            raise MoeChatError(f"--set {setting}: write it as KEY=VALUE")
        yield key, value


def confirm(question: str) -> bool:
    """Ask on standard error; y, yes and 是 are yes."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes", "是")


def progress(*, quiet: bool) -> Callable[[int, int], None]:
    """Tells on standard error how far a work is."""

    def show(done: int, of: int) -> None:
        if not quiet:
            print(f"\r{done} of {of}", end="\n" if done >= of else "", file=sys.stderr)

    return show


def tell(args: argparse.Namespace, row: object, *lines: str) -> None:
    """What a command gives: one JSON object, or lines for people, if there are any."""
    if args.json:
        print_json(row)
    elif lines:
        print(*lines, sep="\n", flush=True)


def print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)


def warn(problems: Iterable[object]) -> None:
    """Problems on standard error, a line each."""
    for problem in problems:
        print(f"moechat: {problem}", file=sys.stderr)
