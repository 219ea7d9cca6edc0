"""The commands. ``moechat`` (also ``python -m moechat``); every command prints for people, or one JSON object a line.

This module is the table of commands and their options. What a command does is a function of a module beside this one,
which is imported only when the command runs: `moechat --help` must not wait for what a chat needs.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from moechat import __version__
from moechat.errors import MoeChatError
from moechat.settings.home import find_home

SERVERS = ("web", "serve")
FACT_AND_EVENT_KEYS = (
    "further keys: of an event happened, place, keywords, topic, importance (happened=2019-07-15 or happened=去年夏天); of a "
    "fact entity, kind, keyword, target, polarity, single"
)
TALK = "which talk; a new name begins one (default: the first)"
OFFICIAL_KEYS = (
    "further keys of the file, e.g. place=海边 keywords=风筝,海; an entry of the world book needs keyword=渡口"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: what was asked for failed; 2: wrong use."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 whatever the terminal
            stream.reconfigure(encoding="utf-8", errors="replace")
    args = parser().parse_args(argv)
    home = find_home(args.data, args.config)
    args.data, args.config, args.home_notice = home.data, home.config, home.notice
    is_server = args.command in SERVERS
    level = logging.WARNING if is_server else logging.ERROR  # The other commands print their problems themselves.
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    try:
        return _function(args.run)(args)
    except MoeChatError as error:
        print(f"moechat: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"moechat: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if is_server else 1  # Ctrl+C is how a server ends.


def _function(name: str) -> Callable[[argparse.Namespace], int]:
    """The function ``module.function`` of this package."""
    module, _, function = name.partition(".")
    command: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(f"moechat.cli.{module}"), function)
    return command


# ---- the table


def parser() -> argparse.ArgumentParser:
    """Every command with its options; ``docs/commands.md`` is written from it."""
    whole = argparse.ArgumentParser(prog="moechat", description="A chat companion that remembers.")
    whole.add_argument("--version", action="version", version=f"moechat {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _serving(commands)
    _talking(commands)
    _memories(commands)
    _official(commands)
    _import(commands)
    _upkeep(commands)
    _measuring(commands)
    return whole


def _serving(commands: Any) -> None:
    web = _command(commands, "web", "run.web", "the chat in the browser", json_output=False)
    web.add_argument("--host", help="address to listen on (default: web.host of the configuration, this machine alone)")
    web.add_argument("--port", type=_port, help="port (default: web.port of the configuration)")
    web.add_argument(
        "--phone", action="store_true", help="for a phone in the local network, too: by a code, shown as a QR code"
    )
    web.add_argument("--demo", action="store_true", help="a throw-away folder with a month of sample memory")

    serve = _command(commands, "serve", "run.serve", "memory over HTTP: queries and management", json_output=False)
    serve.add_argument("--host", help="address to listen on (default: serve.host of the configuration)")
    serve.add_argument("--port", type=_port, help="port (default: serve.port of the configuration)")

    actions = _group(commands, "access", "who may come in to the page from elsewhere", "action")
    _command(actions, "list", "access.listing", "the sessions that are open")
    revoke = _command(
        actions, "revoke", "access.revoke", "end sessions, at once, and codes that nobody used", json_output=False
    )
    revoke.add_argument("ids", nargs="*", metavar="ID", help="ids, as `access list` shows them")
    revoke.add_argument("--all", action="store_true", help="every session")
    _command(actions, "code", "access.code", "a code that opens one session of the page, within ten minutes")
    purpose = "set the password that the page asks for, on every address; all sessions end"
    password = _command(actions, "password", "access.password", purpose, json_output=False)
    password.add_argument("--remove", action="store_true", help="no password any more")


def _talking(commands: Any) -> None:
    purpose = "one whole turn, settled and understood before it returns"
    say = _command(commands, "say", "talk.say", purpose, owner=True, talk=TALK)
    say.add_argument("text", help="what you say")

    purpose = "what would be recalled and why; writes nothing"
    recall = _command(commands, "recall", "talk.recall", purpose, owner=True, talk=TALK)
    recall.add_argument("text", help="a message, as you would say it")

    when = _command(commands, "when", "when.resolve", "time expressions → spans", now=True)
    when.add_argument("text", nargs="*", help="texts; none: one a line from standard input")

    log = _command(commands, "log", "talk.log", "the conversation's tree", owner=True, talk="with list: only this talk")
    log.add_argument(
        "action",
        choices=["list", "talks", "select", "correct", "branch", "retract", "restore"],
        help="list all; list the talks; go on from an exchange (select, branch); change its words; take it back; undo that",
    )
    log.add_argument("id", nargs="?", help="an exchange, as `log list` names it (all but list and talks)")
    log.add_argument("text", nargs="?", help="with correct: the words that were meant")
    log.add_argument("--reply", action="store_true", help="correct the reply, not the message")
    log.add_argument("--variant", type=int, help="with select: which of the replies, from 0")


def _memories(commands: Any) -> None:
    actions = _group(commands, "memories", "look after the memory by hand", "action")

    def action(name: str, help_text: str) -> argparse.ArgumentParser:
        return _command(actions, name, "memories.run", help_text, owner=True)

    listing = action("list", "what is remembered, newest first")
    listing.add_argument(
        "--kind",
        choices=["fact", "event", "reflection", "exchange", "all"],
        help="one kind, or all (default: all but exchanges)",
    )
    listing.add_argument("--search", default="", metavar="TEXT", help="only what has all these words")
    listing.add_argument("--archived", action="store_true", help="the archive instead")
    listing.add_argument("--limit", type=_count, default=50, metavar="N", help="how many (default: 50; 0: all)")
    listing.add_argument("--offset", type=_count, default=0, metavar="N", help="how many to pass over")

    _ids(action("show", "all that is known of a memory, and when it fades"), "memories")

    add = action("add", "write a memory; it is yours, and no understanding replaces it")
    add.add_argument("type", choices=["fact", "event"], help="what is known, or what happened")
    add.add_argument("text", metavar="TEXT", help="in words")
    _keys(add, FACT_AND_EVENT_KEYS)

    edit = action("edit", "give a memory other words; it is yours then and no understanding replaces it")
    edit.add_argument("id", metavar="ID", help="an id, as `memories list` shows it")
    edit.add_argument("text", metavar="TEXT", help="the words that are meant")

    _ids(action("archive", "hide memories, and keep them"), "memories")
    _ids(action("restore", "bring archived memories back"), "memories")
    _ids(action("pin", "never archive these by themselves"), "memories")
    _ids(action("unpin", "treat these as all others"), "memories")

    forget = action("forget", "erase memories and what was made of them from every file, for good")
    _ids(forget, "memories")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    forget.add_argument(
        "--dry-run", action="store_true", help="only tell what would go, what repeats it and what stays"
    )

    clean = action("clean", "archive what is weakest, where memory is full")
    clean.add_argument("--dry-run", action="store_true", help="only tell what would go")


def _official(commands: Any) -> None:
    purpose = "look after the memories that the author of a character wrote for all its users"
    actions = _group(commands, "official", purpose, "action")

    def action(name: str, help_text: str) -> argparse.ArgumentParser:
        command = _command(actions, name, "official.run", help_text)
        command.add_argument("-c", "--character", help="whose memory (default: the configured character)")
        return command

    listing = action("list", "the author's memories, in the order of their files")
    listing.add_argument("--type", choices=["event", "fact", "lore"], help="one sort of them")
    listing.add_argument("--search", default="", metavar="TEXT", help="what has these words, best first")
    listing.add_argument("--limit", type=_count, default=50, metavar="N", help="how many (default: 50; 0: all)")

    _ids(action("show", "every key of a memory"), "official")

    add = action("add", "write a memory")
    add.add_argument(
        "type", choices=["event", "fact", "lore"], help="what happened, what is known, or an entry of the world book"
    )
    add.add_argument("text", metavar="TEXT", help="in words; {{user}} and {{char}} stand for the names")
    add.add_argument(
        "--id", metavar="ID", help="the record's key (default: one is made; an entry's is its file and keyword)"
    )
    _keys(add, OFFICIAL_KEYS)

    edit = action("edit", "change keys of a memory")
    edit.add_argument("id", metavar="ID", help="an id, as `official list` shows it")
    _keys(edit, "what changes, e.g. text=… place=…; KEY= takes one out")

    _ids(action("delete", "take memories out of their file"), "official")


def _import(commands: Any) -> None:
    kinds = _group(commands, "import", "take over a character and its memories, or talk, from elsewhere", "what")
    persona = _command(kinds, "persona", "importing.persona", "a saved persona of generative agents (its folder)")
    persona.add_argument("folder", type=Path, metavar="DIR", help="the folder that holds nodes.json")
    persona.add_argument("-c", "--character", required=True, metavar="NAME", help="the new character's name")
    persona.add_argument("--language", choices=["zh", "en"], help="what it speaks (default: as its memories)")
    persona.add_argument("--expire", action="store_true", help="its thoughts expire when the persona's would (30 days)")

    purpose = "talk from elsewhere: JSON lines of time (ISO), who (user, char or a name) and text"
    name = "the name of the talk that it becomes (default: the file's, without its ending)"
    talk = _command(kinds, "talk", "importing.talk", purpose, owner=True, talk=name)
    talk.add_argument("file", type=Path, metavar="FILE", help="UTF-8; lines of one side in a row are one message")

    purpose = "erase an import as a whole, with what was understood of it, for good"
    take_back = _command(kinds, "take-back", "importing.take_back", purpose, owner=True)
    take_back.add_argument("batch", metavar="BATCH", help="its name, as `log talks` shows it")
    take_back.add_argument("--yes", action="store_true", help="do not ask")


def _upkeep(commands: Any) -> None:
    verify = _command(commands, "verify", "run.verify", "check the files against the indexes", owner=True)
    verify.add_argument(
        "--repair", action="store_true", help="first put back what day files have lost and the log still has"
    )
    rebuild = _command(commands, "rebuild", "run.rebuild", "make the indexes anew", owner=True)
    rebuild.add_argument("--vectors", action="store_true", help="embed everything anew, too")


def _measuring(commands: Any) -> None:
    purpose = "fit thresholds and weights to the embedding model"
    fit = _command(commands, "calibrate", "measure.calibrate", purpose, owner=True)
    fit.add_argument("--pairs", type=Path, metavar="FILE", help="labelled pairs (JSON lines); else from the own memory")
    fit.add_argument("--write", action="store_true", help="save what was fitted into the settings")

    kinds = _group(commands, "bench", "measure", "what")
    speed = _command(kinds, "speed", "measure.speed", "what memory costs at a size")
    speed.add_argument("--entries", type=int, default=10_000, help="how many exchanges (default: 10000)")
    purpose = "how well memory is found again, on files of memories and questions"
    recall = _command(kinds, "recall", "measure.recall", purpose)
    recall.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON lines: memories and questions")
    recall.add_argument(
        "--embedding", metavar="PROVIDER", help="another embedding than the configured one (hash, off, …)"
    )


# ---- what the rows of the table have in common


def _group(commands: Any, name: str, help_text: str, dest: str) -> Any:
    """The commands below a command: ``moechat NAME ACTION``."""
    group = commands.add_parser(name, help=help_text, description=help_text)
    return group.add_subparsers(dest=dest, required=True, metavar=dest.upper())


def _command(
    commands: Any,
    name: str,
    run: str,
    help_text: str,
    *,
    owner: bool = False,
    talk: str = "",
    now: bool = False,
    json_output: bool = True,
) -> argparse.ArgumentParser:
    """A command that calls ``run`` (``module.function``), with the usual options."""
    command: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    command.set_defaults(run=run)
    command.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default: data, or your own folder)")
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="the settings (default: config.yaml, or that of your own folder)"
    )
    if owner:
        command.add_argument("-c", "--character", help="whose memory (default: the configured character)")
        command.add_argument("--user", help="which user (default: the owner of the character's folder)")
        command.add_argument(
            "--world", metavar="NAME", help="another plot, with a memory of its own (default: the first)"
        )
    if talk:
        command.add_argument("--talk", metavar="NAME", help=talk)
    if owner or now:
        command.add_argument("--now", metavar="ISO", help="hold the clock at this time")
    if json_output:
        command.add_argument("--json", action="store_true", help="one JSON object a line")
    return command


def _ids(command: argparse.ArgumentParser, group: str) -> None:
    command.add_argument("ids", nargs="+", metavar="ID", help=f"ids, as `{group} list` shows them")


def _keys(command: argparse.ArgumentParser, help_text: str) -> None:
    command.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help=help_text)


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r}: expects a number from 0 (any free one) to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expects a whole number, 0 or more")
    return int(text)
