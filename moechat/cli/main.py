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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from moechat import __version__
from moechat.errors import MoeChatError
from moechat.settings.home import find_home

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from moechat.verbs import Verb

IMPORTED = ("file", "talk", "persona", "take-back")  # What `import` calls by name.
SERVERS = ("web", "serve")
TALK = "which talk; a new name begins one (default: the first)"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: what was asked for failed; 2: wrong use."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 whatever the terminal
            stream.reconfigure(encoding="utf-8", errors="replace")
    words = with_kind(sys.argv[1:] if argv is None else argv)
    args = parser(words).parse_args(words)
    home = find_home(args.data, args.config)
    args.data, args.config, args.home_notice = home.data, home.config, home.notice
    is_server = args.command in SERVERS
    level = logging.WARNING if is_server else logging.ERROR  # The other commands print their problems themselves.
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    try:
        return _function(args.run)(args) or 0
    except MoeChatError as error:
        print(*(f"moechat: {fault}" for fault in error.parts), sep="\n", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"moechat: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if is_server else 1  # Ctrl+C is how a server ends.


def with_kind(argv: Sequence[str]) -> list[str]:
    """``import FILE`` is ``import file FILE``: what it is, is recognised."""
    words = list(argv)
    if words[:1] == ["import"] and len(words) > 1 and words[1] not in (*IMPORTED, "-h", "--help"):
        words.insert(1, "file")
    return words


def _function(name: str) -> Callable[[argparse.Namespace], int | None]:
    """The function ``module.function`` of this package."""
    module, _, function = name.partition(".")
    command: Callable[[argparse.Namespace], int | None] = getattr(
        importlib.import_module(f"moechat.cli.{module}"), function
    )
    return command


# ---- the table


def parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Every command with its options; ``docs/commands.md`` is written from it. Verbs over memories are drawn only where ``words``
    name such a command (None: all of them), since their table loads pydantic."""
    whole = argparse.ArgumentParser(prog="moechat", description="A chat companion that remembers.")
    whole.add_argument("--version", action="version", version=f"moechat {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _serving(commands)
    _talking(commands)
    _talks(commands, words is None or "talks" in words)
    _memories(commands, words is None or "memories" in words)
    _official(commands, words is None or "official" in words)
    _import(commands)
    _export(commands)
    _studio(commands)
    _upkeep(commands)
    _measuring(commands)
    return whole


def _serving(commands: Any) -> None:
    web = _command(commands, "web", "serve_commands.web", "the chat in the browser", json_output=False)
    web.add_argument("--host", help="address to listen on (default: web.host of the configuration, this machine alone)")
    web.add_argument("--port", type=_port, help="port (default: web.port of the configuration)")
    web.add_argument(
        "--phone", action="store_true", help="for a phone in the local network, too: by a code, shown as a QR code"
    )
    web.add_argument("--no-browser", action="store_true", help="open no browser (without a screen none is opened)")
    web.add_argument("--demo", action="store_true", help="a throw-away folder with a month of sample memory")

    serve = _command(commands, "serve", "serve_commands.serve", "memory over HTTP, and the page", json_output=False)
    serve.add_argument("--host", help="address to listen on (default: serve.host of the configuration)")
    serve.add_argument("--port", type=_port, help="port (default: serve.port of the configuration)")

    purpose = "memory for assistants and editors that speak MCP, over stdio (extra `mcp`)"
    mcp = _command(commands, "mcp", "serve_commands.mcp", purpose, json_output=False)
    mcp.add_argument("-c", "--character", help="whose memory (default: the configured character)")
    mcp.add_argument("--user", help="which user (default: the owner of the character's folder)")

    actions = _group(commands, "keys", "the keys of programs that ask over HTTP", "action")
    add = _command(actions, "add", "key_commands.add", "make a key; it is shown once")
    add.add_argument("name", metavar="NAME", help="who gets it")
    whom = "a user whose memory it reaches, more than once for several (default: all)"
    add.add_argument("--user", dest="key_user", action="append", default=[], metavar="USER", help=whom)
    whom = "a character that it reaches, more than once for several (default: all)"
    add.add_argument("--character", dest="key_character", action="append", default=[], metavar="NAME", help=whom)
    add.add_argument(
        "--many", action="store_true", help="it speaks for many people: every request has to name its user"
    )
    add.add_argument("--rate", type=_count, default=120, metavar="N", help="so many requests a minute (default: 120)")
    add.add_argument("--new", type=_count, default=50, metavar="N", help="it may begin so many memories (default: 50)")
    _command(actions, "list", "key_commands.listing", "the keys, and what each reaches")
    end = _command(actions, "revoke", "key_commands.revoke", "take keys back, at once", json_output=False)
    end.add_argument("ids", nargs="+", metavar="ID", help="ids or names, as `keys list` shows them")

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
    purpose = "one whole turn, settled before it returns; what a language model is to understand is queued"
    say = _command(commands, "say", "talk.say", purpose, owner=True, talk=TALK)
    say.add_argument("text", help="what you say")
    say.add_argument("--understand", action="store_true", help="wait until the model has understood all that is queued")

    purpose = "what would be recalled and why; writes nothing"
    recall = _command(commands, "recall", "talk.recall", purpose, owner=True, talk=TALK)
    recall.add_argument("text", help="a message, as you would say it")

    purpose = "what the models cost, by day: calls, tokens, what the provider had cached, what equals the prompt before"
    _command(commands, "usage", "talk.usage", purpose, owner=True)

    purpose = "what waits to be understood by a model, and why; talk that rules alone have read can be read anew"
    understand = _command(commands, "understand", "talk.understand", purpose, owner=True)
    understand.add_argument(
        "--past",
        action="store_true",
        help="have it read what the rules alone have read, in the background, newest first",
    )
    understand.add_argument("--days", type=_count, default=0, metavar="N", help="with --past: the last N days (0: all)")
    understand.add_argument(
        "--again", action="store_true", help="with --past: also what a model has read, a lesser one say"
    )
    understand.add_argument("--wait", action="store_true", help="wait until all is read, or today's budget is spent")
    understand.add_argument("--stop", action="store_true", help="read no more of the past")

    when = _command(commands, "when", "when.resolve", "time expressions → spans", now=True)
    when.add_argument("text", nargs="*", help="texts; none: one a line from standard input")

    log = _command(commands, "log", "talk.log", "the conversation's tree", owner=True, talk="with list: only this talk")
    log.add_argument(
        "action",
        choices=["list", "select", "correct", "branch", "retract", "restore"],
        help="list all; go on from an exchange (select, branch); change its words; take it back; undo that",
    )
    log.add_argument("id", nargs="?", help="an exchange, as `log list` names it (all but list)")
    log.add_argument("text", nargs="?", help="with correct: the words that were meant")
    log.add_argument("--reply", action="store_true", help="correct the reply, not the message")
    log.add_argument("--variant", type=int, help="with select: which of the replies, from 0")


def _talks(commands: Any, is_drawn: bool) -> None:
    actions = _group(commands, "talks", "the talks over a memory: titles, order, export, and an end", "action")
    if is_drawn:
        from moechat.verbs import whole_talks

        _verbs(actions, whole_talks.VERBS, "talk.talks", owner=True)


def _memories(commands: Any, is_drawn: bool) -> None:
    actions = _group(commands, "memories", "look after the memory by hand", "action")
    if is_drawn:
        from moechat.verbs import owner

        _verbs(actions, owner.VERBS, "memory_commands.run", owner=True)


def _official(commands: Any, is_drawn: bool) -> None:
    purpose = "look after the memories that the author of a character wrote for all its users"
    actions = _group(commands, "official", purpose, "action")
    if is_drawn:
        from moechat.verbs import author

        _verbs(actions, author.VERBS, "memory_commands.official", owner=False)


def _verbs(actions: Any, verbs: Mapping[str, Verb], run: str, *, owner: bool) -> None:
    """A command for each verb, with its values as arguments and options."""
    for name, verb in verbs.items():
        if verb.has_command:
            command = _command(actions, name, run, verb.about, owner=owner)
            if not owner:
                command.add_argument("-c", "--character", help="whose memory (default: the configured character)")
            for key, field in verb.values.model_fields.items():
                _value(command, key, field)


def _value(command: argparse.ArgumentParser, key: str, field: FieldInfo) -> None:
    look: Any = field.json_schema_extra
    types = [one for one in get_args(field.annotation) if one is not NoneType] or [field.annotation]
    shape: dict[str, Any] = {"help": field.description}
    shape |= {"metavar": look["metavar"]} if look["metavar"] else {}
    if look["is_option"]:
        shape |= {"dest": key, "required": True} if field.is_required() else {"dest": key, "default": field.default}
    if field.annotation is bool:
        shape["action"] = "store_true"
    elif field.annotation is int:
        shape["type"] = _count
    elif get_origin(field.annotation) in (list, dict):
        shape["nargs"] = "+"
    elif choices := [
        choice for one in (field.annotation, *types) for choice in get_args(one) if isinstance(choice, str)
    ]:
        shape["choices"] = list(dict.fromkeys(choices))
    option = "--set" if key == "fields" else f"--{key.replace('_', '-')}"
    command.add_argument(option if look["is_option"] else key, **shape)


def _import(commands: Any) -> None:
    kinds = _group(commands, "import", "take over a character and its memories, or talk, from elsewhere", "what")
    purpose = (
        "whatever a file is: a card, a lorebook, talk, memories, an archive, a folder; `import FILE` does it as well"
    )
    name = "the name of the talk that it becomes (default: the file's, without its ending)"
    brought = _command(kinds, "file", "import_command.file", purpose, owner=True, talk=name)
    brought.add_argument(
        "file", type=Path, metavar="FILE", help="a file, or a folder (a character, SillyTavern's data)"
    )
    brought.add_argument("--dry-run", action="store_true", help="only show what it holds; nothing is written")
    brought.add_argument("--me", metavar="NAME", help="who you are in the talk; everybody else is the character")

    persona = _command(kinds, "persona", "import_command.persona", "a saved persona of generative agents (its folder)")
    persona.add_argument("folder", type=Path, metavar="DIR", help="the folder that holds nodes.json")
    persona.add_argument("-c", "--character", required=True, metavar="NAME", help="the new character's name")
    persona.add_argument("--language", choices=["zh", "en"], help="what it speaks (default: as its memories)")
    persona.add_argument("--expire", action="store_true", help="its thoughts expire when the persona's would (30 days)")

    purpose = "talk from elsewhere: JSON lines or CSV of time (ISO), who, text; chats of SillyTavern and ChatGPT"
    talk = _command(kinds, "talk", "import_command.talk", purpose, owner=True, talk=name)
    talk.add_argument("file", type=Path, metavar="FILE", help="UTF-8; lines of one side in a row are one message")
    talk.add_argument("--me", metavar="NAME", help="who you are in the talk; everybody else is the character")

    purpose = "erase an import as a whole, with what was understood of it, for good"
    take_back = _command(kinds, "take-back", "import_command.take_back", purpose, owner=True)
    take_back.add_argument("batch", metavar="BATCH", help="its name, as `talks list` shows it")
    take_back.add_argument("--yes", action="store_true", help="do not ask")


def _export(commands: Any) -> None:
    kinds = _group(commands, "export", "take a character, its world book or its memory along", "what")

    def kind(name: str, help_text: str, file_help: str, *, owner: bool = False) -> argparse.ArgumentParser:
        command = _command(kinds, name, f"export_command.{name}", help_text, owner=owner, now=True)
        command.add_argument("file", type=Path, metavar="FILE", help=file_help)
        if not owner:
            command.add_argument("-c", "--character", help="which character (default: the configured one)")
        command.add_argument("--force", action="store_true", help="write over a file that is there")
        return command

    kind(
        "card", "a character as a card, equal to the one that came but for what was changed", "as .png, .json or .charx"
    )
    kind("lorebook", "all entries of the world book, as world info", "a .json file")
    archive = kind("archive", "a whole character in one file that reads back in equal", "a .zip file")
    archive.add_argument("--without-memory", action="store_true", help="only what its author wrote")
    kind("memory", "the memory of one user alone, in one file that reads back in equal", "a .zip file", owner=True)


def _studio(commands: Any) -> None:
    actions = _group(commands, "character", "make characters, change them, and put them into the bin", "action")

    def action(name: str, help_text: str, *, named: bool = True) -> argparse.ArgumentParser:
        shows = name in ("list", "show", "test")
        command = _command(actions, name, f"character_commands.{name if shows else 'run'}", help_text, now=True)
        if named:
            command.add_argument("name", metavar="NAME", help="which character")
        return command

    keys = "keys of character.yaml, e.g. persona=… greeting=…; KEY= takes one out, @FILE reads a text"
    action("list", "all characters, and what is in the bin", named=False)
    action("show", "what file and card say of a character")
    _keys(action("create", "a new character"), keys)
    _keys(action("set", "change keys of a character"), keys)
    action("duplicate", "a copy of a character, without its memory").add_argument("new", metavar="NEW", help="its name")
    rename = action("rename", "give a character another name; its memory goes along")
    rename.add_argument("new", metavar="NEW", help="the new name")
    greeting = action("greeting", "choose its first words among its greetings")
    greeting.add_argument("number", type=_count, metavar="N", help="which one, from 1")
    action("picture", "its picture").add_argument("file", type=Path, metavar="FILE", help="a PNG")
    action("delete", "put a character with its memory into the bin")
    action("restore", "bring a character back from the bin").add_argument(
        "--as", dest="new", metavar="NEW", help="another name"
    )
    empty = action("empty-bin", "erase characters in the bin for good")
    empty.add_argument("--yes", action="store_true", help="do not ask")
    test = action("test", "a message off the record: the prompt, the entries that fire, and the reply")
    test.add_argument("text", help="what you say")

    lore = _group(commands, "lore", "look at a world book", "action")
    purpose = "which entries of a file fire in a talk, and why, or why not"
    tested = _command(lore, "test", "character_commands.lore_test", purpose, now=True)
    tested.add_argument("file", type=Path, metavar="FILE", help="a lorebook, a card, or a file of data_base")
    tested.add_argument("text", nargs="+", metavar="TEXT", help="the messages of the talk, the newest last")
    purpose = "when entries of the world book fired in the talk, and why"
    _command(lore, "fired", "character_commands.lore_fired", purpose, owner=True)

    you = _command(
        commands, "you", "character_commands.you", "who you are: for all characters, or (-c) for one", now=True
    )
    you.add_argument("-c", "--character", help="for this character alone")
    you.add_argument("--user", help="which user (default: the owner of the character's folder)")
    _keys(
        you, "name=… (yours), address=… (what you are called), about=… (a few lines about yourself); KEY= takes one out"
    )


def _upkeep(commands: Any) -> None:
    verify = _command(commands, "verify", "check_commands.verify", "check the files against the indexes", owner=True)
    verify.add_argument(
        "--repair", action="store_true", help="first put back what day files have lost and the log still has"
    )
    rebuild = _command(commands, "rebuild", "check_commands.rebuild", "make the indexes anew", owner=True)
    rebuild.add_argument("--vectors", action="store_true", help="embed everything anew, too")

    purpose = "copy memories between folders and the database of store.address, each compared by count and hash"
    move = _command(commands, "migrate", "migrate_command.migrate", purpose)
    move.add_argument("way", choices=("schema", "to-postgres", "to-files"), help="schema: bring the tables up to date")
    move.add_argument("-c", "--character", help="of this character alone (default: of all)")
    move.add_argument("--user", help="of this user alone (default: of all)")


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
    recall.add_argument("--embedding", metavar="PROVIDER", help="another than the configured one (hash, off, …)")
    recall.add_argument("--against", type=Path, metavar="RUN", help="compare with what --json printed, with intervals")
    recall.add_argument("--keep", type=Path, metavar="DIR", help="keep there what is written, for the next run")


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
