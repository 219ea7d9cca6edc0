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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from moechat import __version__
from moechat.errors import MoeChatError
from moechat.settings.home import find_home

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from moechat.verbs import Verb

IMPORTED = ("file", "talk", "persona", "take-back")  # What `import` calls by name.
SERVERS = ("web", "serve")


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
    module, _, function = args.run.partition(".")
    try:
        return getattr(importlib.import_module(f"moechat.cli.{module}"), function)(args) or 0
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


# ---- what the rows of the table are made of


class Arg(NamedTuple):
    """An argument, or an option by its ``names`` ("-c --character"); ``shape`` is what argparse takes besides."""

    names: str
    about: str
    shape: Mapping[str, Any]


class Command(NamedTuple):
    """``run`` is ``module.function`` of this package, ``usual`` names what it takes of ``USUAL``. With ``verbs``, a module of
    ``moechat.verbs``, it is one command for each verb there, with its values as arguments and options."""

    name: str
    run: str
    about: str = ""
    usual: Sequence[str] = ("json",)
    own: Sequence[Arg] = ()
    verbs: str = ""

    @property
    def arguments(self) -> Sequence[Arg]:
        return (*PLACES, *(one for name in self.usual for one in USUAL[name]), *self.own)


def arg(names: str, about: str, **shape: Any) -> Arg:
    return Arg(names, about, shape)


def flag(name: str, about: str) -> Arg:
    return Arg(name, about, {"action": "store_true"})


def file(about: str, name: str = "file", metavar: str = "FILE", **shape: Any) -> Arg:
    return Arg(name, about, {"type": Path, "metavar": metavar, **shape})


def keys(about: str) -> Arg:
    return Arg("--set", about, {"nargs": "+", "default": [], "metavar": "KEY=VALUE"})


def port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r}: expects a number from 0 (any free one) to 65535")
    return int(text)


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expects a whole number, 0 or more")
    return int(text)


# ---- the table

NAME = arg("name", "which character", metavar="NAME")
YES = flag("--yes", "do not ask")
TEXT = arg("text", "what you say")
WHOSE = arg("-c --character", "whose memory (default: the configured character)")
USER = arg("--user", "which user (default: the owner of the character's folder)")
CARD_OF = arg("-c --character", "which character (default: the configured one)")
FORCE = flag("--force", "write over a file that is there")
ME = arg("--me", "who you are in the talk; everybody else is the character", metavar="NAME")
KEYS = keys("keys of character.yaml, e.g. persona=… greeting=…; KEY= takes one out, @FILE reads a text")

PLACES = (
    file("the data folder (default: data, or your own folder)", "--data", "DIR"),
    file("the settings (default: config.yaml, or that of your own folder)", "--config"),
)
WORLD = arg("--world", "another plot, with a memory of its own (default: the first)", metavar="NAME")
USUAL: Mapping[str, Sequence[Arg]] = {
    "owner": (WHOSE, USER, WORLD),
    "talk": (arg("--talk", "which talk; a new name begins one (default: the first)", metavar="NAME"),),
    "one talk": (arg("--talk", "with list: only this talk", metavar="NAME"),),
    "new talk": (
        arg("--talk", "the name of the talk that it becomes (default: the file's, without its ending)", metavar="NAME"),
    ),
    "now": (arg("--now", "hold the clock at this time", metavar="ISO"),),
    "json": (flag("--json", "one JSON object a line"),),
}
OWNER, NOW, LONE = ("owner", "now", "json"), ("now", "json"), ()
TALKING, BROUGHT = ("owner", "talk", "now", "json"), ("owner", "new talk", "now", "json")

GROUPS: Mapping[str, tuple[str, str]] = {  # The name of what comes next, and what the group is for.
    "keys": ("action", "the keys of programs that ask over HTTP"),
    "access": ("action", "who may come in to the page from elsewhere"),
    "talks": ("action", "the talks over a memory: titles, order, export, and an end"),
    "group": ("action", "a talk of several characters and people"),
    "memories": ("action", "look after the memory by hand"),
    "official": ("action", "look after the memories that the author of a character wrote for all its users"),
    "import": ("what", "take over a character and its memories, or talk, from elsewhere"),
    "export": ("what", "take a character, its world book or its memory along"),
    "character": ("action", "make characters, change them, and put them into the bin"),
    "lore": ("action", "look at a world book"),
    "bench": ("what", "measure"),
}
COMMANDS: Sequence[Command] = (
    Command("web", "serve_commands.web", "the chat in the browser", LONE, (
        arg("--host", "address to listen on (default: web.host of the configuration, this machine alone)"),
        arg("--port", "port (default: web.port of the configuration)", type=port),
        flag("--phone", "for a phone in the local network, too: by a code, shown as a QR code"),
        flag("--no-browser", "open no browser (without a screen none is opened)"),
        flag("--demo", "a throw-away folder with a month of sample memory"),
    )),
    Command("serve", "serve_commands.serve", "memory over HTTP, and the page", LONE, (
        arg("--host", "address to listen on (default: serve.host of the configuration)"),
        arg("--port", "port (default: serve.port of the configuration)", type=port),
    )),
    Command("mcp", "serve_commands.mcp", "memory for assistants and editors that speak MCP, over stdio (extra `mcp`)", LONE,
            (WHOSE, USER)),
    Command("keys add", "access.add_key", "make a key; it is shown once", own=(
        arg("name", "who gets it", metavar="NAME"),
        arg("--user", "a user whose memory it reaches, more than once for several (default: all)", dest="key_user",
            action="append", default=[], metavar="USER"),
        arg("--character", "a character that it reaches, more than once for several (default: all)", dest="key_character",
            action="append", default=[], metavar="NAME"),
        flag("--many", "it speaks for many people: every request has to name its user"),
        arg("--rate", "so many requests a minute (default: 120)", type=count, default=120, metavar="N"),
        arg("--new", "it may begin so many memories (default: 50)", type=count, default=50, metavar="N"),
    )),
    Command("keys list", "access.keys", "the keys, and what each reaches"),
    Command("keys revoke", "access.revoke_keys", "take keys back, at once", LONE, (
        arg("ids", "ids or names, as `keys list` shows them", nargs="+", metavar="ID"),
    )),
    Command("access list", "access.listing", "the sessions that are open"),
    Command("access revoke", "access.revoke", "end sessions, at once, and codes that nobody used", LONE, (
        arg("ids", "ids, as `access list` shows them", nargs="*", metavar="ID"), flag("--all", "every session"),
    )),
    Command("access code", "access.code", "a code that opens one session of the page, within ten minutes"),
    Command("access password", "access.password", "set the password that the page asks for, on every address; all sessions end",
            LONE, (flag("--remove", "no password any more"),)),

    Command("say", "talk.say", "one whole turn, settled before it returns; what a language model is to understand is queued",
            TALKING, (TEXT, flag("--understand", "wait until the model has understood all that is queued"))),
    Command("recall", "talk.recall", "what would be recalled and why; writes nothing", TALKING, (
        arg("text", "a message, as you would say it"),
    )),
    Command("greet", "memory_commands.greet",
            "her word to you after an absence, if there is one to say; it counts as asked", OWNER),
    Command("usage", "talk.usage",
            "what the models cost, by day: calls, tokens, what the provider had cached, what equals the prompt before", OWNER),
    Command("understand", "talk.understand",
            "what waits to be understood by a model, and why; talk that rules alone have read can be read anew", OWNER, (
        flag("--past", "have it read what the rules alone have read, in the background, newest first"),
        arg("--days", "with --past: the last N days (0: all)", type=count, default=0, metavar="N"),
        flag("--again", "with --past: also what a model has read, a lesser one say"),
        flag("--wait", "wait until all is read, or today's budget is spent"),
        flag("--stop", "read no more of the past"),
    )),
    Command("when", "when.resolve", "time expressions → spans", NOW, (
        arg("text", "texts; none: one a line from standard input", nargs="*"),
    )),
    Command("log", "talk.log", "the conversation's tree", ("owner", "one talk", "now", "json"), (
        arg("action", "list all; go on from an exchange (select, branch); change its words; take it back; undo that",
            choices=["list", "select", "correct", "branch", "retract", "restore"]),
        arg("id", "an exchange, as `log list` names it (all but list)", nargs="?"),
        arg("text", "with correct: the words that were meant", nargs="?"),
        flag("--reply", "correct the reply, not the message"),
        arg("--variant", "with select: which of the replies, from 0", type=int),
    )),
    Command("talks", "talk.talks", usual=OWNER, verbs="whole_talks"),
    Command("group", "memory_commands.group", usual=OWNER, verbs="groups"),
    Command("memories", "memory_commands.run", usual=OWNER, verbs="owner"),
    Command("official", "memory_commands.official", own=(WHOSE,), verbs="author"),

    Command("import file", "import_command.file",
            "whatever a file is: a card, a lorebook, talk, memories, an archive, a folder; `import FILE` does it as well",
            BROUGHT, (
        file("a file, or a folder (a character, SillyTavern's data)"),
        flag("--dry-run", "only show what it holds; nothing is written"), ME,
    )),
    Command("import persona", "import_command.persona", "a saved persona of generative agents (its folder)", own=(
        file("the folder that holds nodes.json", "folder", "DIR"),
        arg("-c --character", "the new character's name", required=True, metavar="NAME"),
        arg("--language", "what it speaks (default: as its memories)", choices=["zh", "en"]),
        flag("--expire", "its thoughts expire when the persona's would (30 days)"),
    )),
    Command("import talk", "import_command.talk",
            "talk from elsewhere: JSON lines or CSV of time (ISO), who, text; chats of SillyTavern and ChatGPT", BROUGHT, (
        file("UTF-8; lines of one side in a row are one message"), ME,
    )),
    Command("import take-back", "import_command.take_back",
            "erase an import as a whole, with what was understood of it, for good", OWNER, (
        arg("batch", "its name, as `talks list` shows it", metavar="BATCH"), YES,
    )),
    Command("export card", "import_command.export_card",
            "a character as a card, equal to the one that came but for what was changed", NOW, (
        file("as .png, .json or .charx"), CARD_OF, FORCE,
    )),
    Command("export lorebook", "import_command.export_lorebook", "all entries of the world book, as world info", NOW, (
        file("a .json file"), CARD_OF, FORCE,
    )),
    Command("export archive", "import_command.export_archive", "a whole character in one file that reads back in equal", NOW, (
        file("a .zip file"), CARD_OF, FORCE, flag("--without-memory", "only what its author wrote"),
    )),
    Command("export memory", "import_command.export_memory", "the memory of one user alone, in one file that reads back in equal",
            OWNER, (file("a .zip file"), FORCE)),

    Command("character list", "character_commands.list", "all characters, and what is in the bin", NOW),
    Command("character show", "character_commands.show", "what file and card say of a character", NOW, (NAME,)),
    Command("character create", "character_commands.run", "a new character", NOW, (NAME, KEYS)),
    Command("character set", "character_commands.run", "change keys of a character", NOW, (NAME, KEYS)),
    Command("character duplicate", "character_commands.run", "a copy of a character, without its memory", NOW, (
        NAME, arg("new", "its name", metavar="NEW"),
    )),
    Command("character rename", "character_commands.run", "give a character another name; its memory goes along", NOW, (
        NAME, arg("new", "the new name", metavar="NEW"),
    )),
    Command("character greeting", "character_commands.run", "choose its first words among its greetings", NOW, (
        NAME, arg("number", "which one, from 1", type=count, metavar="N"),
    )),
    Command("character picture", "character_commands.run", "its picture", NOW, (NAME, file("a PNG"))),
    Command("character delete", "character_commands.run", "put a character with its memory into the bin", NOW, (NAME,)),
    Command("character restore", "character_commands.run", "bring a character back from the bin", NOW, (
        NAME, arg("--as", "another name", dest="new", metavar="NEW"),
    )),
    Command("character empty-bin", "character_commands.run", "erase characters in the bin for good", NOW, (NAME, YES)),
    Command("character test", "character_commands.test",
            "a message off the record: the prompt, the entries that fire, and the reply", NOW, (NAME, TEXT)),
    Command("lore test", "character_commands.lore_test", "which entries of a file fire in a talk, and why, or why not", NOW, (
        file("a lorebook, a card, or a file of data_base"),
        arg("text", "the messages of the talk, the newest last", nargs="+", metavar="TEXT"),
    )),
    Command("lore fired", "character_commands.lore_fired", "when entries of the world book fired in the talk, and why", OWNER),
    Command("you", "character_commands.you", "who you are: for all characters, or (-c) for one", NOW, (
        arg("-c --character", "for this character alone"), USER,
        keys("name=… (yours), address=… (what you are called), about=… (a few lines about yourself); KEY= takes one out"),
    )),

    Command("verify", "house_commands.verify", "check the files against the indexes", OWNER, (
        flag("--repair", "first put back what day files have lost and the log still has"),
    )),
    Command("rebuild", "house_commands.rebuild", "make the indexes anew", OWNER, (
        flag("--vectors", "embed everything anew, too"),
    )),
    Command("migrate", "house_commands.migrate",
            "copy memories between folders and the database of store.address, or move them to another of its servers, each "
            "compared by count and hash", own=(
        arg("way", "schema: bring the tables up to date", choices=("schema", "to-postgres", "to-files", "move")),
        arg("-c --character", "of this character alone (default: of all)"),
        arg("--user", "of this user alone (default: of all)"),
        arg("--to", "with move: home, or a name of store.servers", metavar="SERVER"),
    )),
    Command("calibrate", "measure.calibrate", "fit thresholds and weights to the embedding model", OWNER, (
        file("labelled pairs (JSON lines); else from the own memory", "--pairs"),
        flag("--write", "save what was fitted into the settings"),
    )),
    Command("bench speed", "measure.speed", "what memory costs at a size", own=(
        arg("--entries", "how many exchanges (default: 10000)", type=int, default=10_000),
    )),
    Command("bench recall", "measure.recall", "how well memory is found again, on files of memories and questions", own=(
        file("JSON lines: memories and questions", "files", nargs="+"),
        arg("--embedding", "another than the configured one (hash, off, …)", metavar="PROVIDER"),
        file("compare with what --json printed, with intervals", "--against", "RUN"),
        file("keep there what is written, for the next run", "--keep", "DIR"),
    )),
    Command("bench years", "measure.years", "whether memory stays right over years of made-up talk, without a model", own=(
        arg("--language", "of the talk (default: zh)", choices=("zh", "en"), default="zh"),
        arg("--seed", "of the life (default: 1)", type=int, default=1),
        arg("--days", "how long it lasts (default: 30)", type=int, default=30),
        arg("--per-day", "messages a day (default: 12)", type=int, default=12),
        arg("--door", "by which it comes (default: python)", choices=("python", "page", "front_end", "all"), default="python"),
        arg("--embedding", "another than the built-in one (hash, off, …)", default="builtin", metavar="PROVIDER"),
        file("add there what goes wrong, a line each, and the figures so far each month", "--wrong", "FILE"),
        file("measure nothing, write the life there for bench recall and other ways of finding", "--write", "FILE"),
    )),
)  # fmt: skip


# ---- the parser


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Every command with its options. Verbs over memories are drawn only where ``words`` name such a command, since their table
    loads pydantic."""
    whole = argparse.ArgumentParser(prog="moechat", description="A chat companion that remembers.")
    whole.add_argument("--version", action="version", version=f"moechat {__version__}")
    groups = {"": whole.add_subparsers(dest="command", required=True, metavar="COMMAND")}
    for row in COMMANDS:
        name = row.name if row.verbs else row.name.rpartition(" ")[0]
        if name not in groups:
            dest, about = GROUPS[name]
            group = groups[""].add_parser(name, help=about, description=about)
            groups[name] = group.add_subparsers(dest=dest, required=True, metavar=dest.upper())
        for one in commands([row]) if not row.verbs or name in words else ():
            command = groups[name].add_parser(one.name.rpartition(" ")[2], help=one.about, description=one.about)
            command.set_defaults(run=one.run)
            for argument in one.arguments:
                command.add_argument(*argument.names.split(), help=argument.about, **argument.shape)
    return whole


def commands(rows: Sequence[Command] = COMMANDS) -> Iterator[Command]:
    """The commands that run: one for each verb where a row has some."""
    for row in rows:
        if not row.verbs:
            yield row
            continue
        verbs: Mapping[str, Verb] = importlib.import_module(f"moechat.verbs.{row.verbs}").VERBS
        for name, verb in verbs.items():
            if verb.has_command:
                values = (_value(key, field) for key, field in verb.values.model_fields.items())
                yield row._replace(name=f"{row.name} {name}", about=verb.about, own=(*row.own, *values))


def _value(key: str, field: FieldInfo) -> Arg:
    """A value of a verb as an argument or an option."""
    look: Any = field.json_schema_extra
    shape: dict[str, Any] = {"metavar": look["metavar"]} if look["metavar"] else {}
    if look["is_option"]:
        shape |= {"dest": key, "required": True} if field.is_required() else {"dest": key, "default": field.default}
    elif not field.is_required():
        shape |= {"nargs": "?", "default": field.default}
    inner = (field.annotation, *get_args(field.annotation))
    if field.annotation is bool:
        shape["action"] = "store_true"
    elif field.annotation is int:
        shape["type"] = count
    elif get_origin(field.annotation) in (list, dict):
        shape["nargs"] = "+"
    elif choices := [choice for one in inner for choice in get_args(one) if isinstance(choice, str)]:
        shape["choices"] = list(dict.fromkeys(choices))
    option = "--set" if key == "fields" else f"--{key.replace('_', '-')}"
    return Arg(option if look["is_option"] else key, field.description or "", shape)
