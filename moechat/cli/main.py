"""The commands. ``moechat`` (also ``python -m moechat``); every command prints for people, or one JSON object a line."""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moechat import __version__
from moechat.cli import exporting as cli_export
from moechat.cli import importing as cli_import
from moechat.cli import memories as cli_memories
from moechat.cli import official as cli_official
from moechat.errors import MoeChatError
from moechat.settings.home import find_home

if TYPE_CHECKING:
    from moechat.house import House
    from moechat.model import Hit, Recollection
    from moechat.when import Span

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: what was asked for failed; 2: wrong use."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # UTF-8 whatever the terminal
            stream.reconfigure(encoding="utf-8", errors="replace")
    args = parser().parse_args(argv)
    home = find_home(args.data, args.config)
    args.data, args.config, args.home_notice = home.data, home.config, home.notice
    level = (
        logging.WARNING if args.command in ("web", "serve") else logging.ERROR
    )  # the others tell their problems themselves
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    try:
        return args.run(args)
    except MoeChatError as error:
        print(f"moechat: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"moechat: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0 if args.command in ("web", "serve") else 1  # Ctrl+C is how they end


def parser() -> argparse.ArgumentParser:
    """Every command with its options; ``docs/commands.md`` is written from it."""
    whole = argparse.ArgumentParser(prog="moechat", description="A chat companion that remembers.")
    whole.add_argument("--version", action="version", version=f"moechat {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    web = _command(commands, "web", _web, "the chat in the browser", json_output=False)
    web.add_argument("--host", help="address to listen on (default: web.host of the configuration, this machine alone)")
    web.add_argument("--port", type=_port, help="port (default: web.port of the configuration)")
    web.add_argument("--demo", action="store_true", help="a throw-away folder with a month of sample memory")

    serve = _command(commands, "serve", _serve, "memory over HTTP: queries and management", json_output=False)
    serve.add_argument("--host", help="address to listen on (default: serve.host of the configuration)")
    serve.add_argument("--port", type=_port, help="port (default: serve.port of the configuration)")

    say = _command(commands, "say", _say, "one whole turn, settled and understood before it returns", talk=True)
    say.add_argument("text", help="what you say")
    ask = _command(commands, "recall", _recall, "what would be recalled and why; writes nothing", talk=True)
    ask.add_argument("text", help="a message, as you would say it")
    when = _command(commands, "when", _when, "time expressions → spans", now=True)
    when.add_argument("text", nargs="*", help="texts; none: one a line from standard input")

    tree = _command(commands, "log", _log, "the conversation's tree", talk=True)
    tree.add_argument(
        "action",
        choices=["list", "select", "correct", "branch", "retract", "restore"],
        help="list all; go on from an exchange (select, branch); change its words; take it back; undo that",
    )
    tree.add_argument("id", nargs="?", help="an exchange, as `log list` names it (all but list)")
    tree.add_argument("text", nargs="?", help="with correct: the words that were meant")
    tree.add_argument("--reply", action="store_true", help="correct the reply, not the message")
    tree.add_argument("--variant", type=int, help="with select: which of the replies, from 0")

    cli_memories.add(commands, _command, _house)
    cli_official.add(commands, _command, _house)
    cli_import.add(commands, _command, _house)
    cli_export.add(commands, _command, _house)

    _command(commands, "verify", _verify, "check the files against the indexes", talk=True)
    rebuild = _command(commands, "rebuild", _rebuild, "make the indexes anew", talk=True)
    rebuild.add_argument("--vectors", action="store_true", help="embed everything anew, too")

    fit = _command(commands, "calibrate", _calibrate, "fit thresholds and weights to the embedding model", talk=True)
    fit.add_argument("--pairs", type=Path, metavar="FILE", help="labelled pairs (JSON lines); else from the own memory")
    fit.add_argument("--write", action="store_true", help="save what was fitted into the settings")

    bench = commands.add_parser("bench", help="measure", description="measure")
    kinds = bench.add_subparsers(dest="what", required=True, metavar="WHAT")
    speed = _command(kinds, "speed", _bench_speed, "what memory costs at a size")
    speed.add_argument("--entries", type=int, default=10_000, help="how many exchanges (default: 10000)")
    recall = _command(
        kinds, "recall", _bench_recall, "how well memory is found again, on files of memories and questions"
    )
    recall.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON lines: memories and questions")
    recall.add_argument("--ablate", action="store_true", help="beside plain search, and with one part off at a time")
    recall.add_argument(
        "--embedding", metavar="PROVIDER", help="another embedding than the configured one (hash, off, …)"
    )
    return whole


def _command(
    commands: Any,
    name: str,
    run: Command,
    told: str,
    *,
    talk: bool = False,
    now: bool = False,
    json_output: bool = True,
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=told, description=told)
    command.set_defaults(run=run)
    command.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default: data, or your own folder)")
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="the settings (default: config.yaml, or that of your own folder)"
    )
    if talk:
        command.add_argument("-c", "--character", help="whose memory (default: the configured character)")
        command.add_argument("--user", help="which user (default: the owner of the character's folder)")
    if talk or now:
        command.add_argument("--now", metavar="ISO", help="hold the clock at this time")
    if json_output:
        command.add_argument("--json", action="store_true", help="one JSON object a line")
    return command


def _port(told: str) -> int:
    if not (told.isdecimal() and int(told) <= 65535):
        raise argparse.ArgumentTypeError(f"{told!r}: expects a number from 0 (any free one) to 65535")
    return int(told)


def _house(args: argparse.Namespace, *, looks: bool = False) -> House:
    from moechat.house import House

    house = House(args.data, args.config, now=getattr(args, "now", None), looks=looks)
    _warn([*([args.home_notice] if args.home_notice else []), *house.config.notices])
    return house


def _out(told: object) -> None:
    print(json.dumps(told, ensure_ascii=False))


# ---- talking


def _web(args: argparse.Namespace) -> int:
    from moechat import demo, web

    with demo.house(args.config) if args.demo else _house(args) as house:
        settings = house.config.web
        host = args.host or settings.host
        web.serve(
            house,
            host=host,
            port=settings.port if args.port is None else args.port,
            ready=lambda url: _tell_page(host, url),
        )
    return 0


def _tell_page(host: str, url: str) -> None:
    from moechat.access.guard import is_loopback

    print(f"MoeChat: {url} (Ctrl+C ends it)", flush=True)
    if not is_loopback(host):
        told = "the page asks for no password; whoever reaches this address reads and changes the memory"
        _warn([f"host = {host!r}: {told}"])


def _serve(args: argparse.Namespace) -> int:
    import os

    from moechat.serve import server

    with _house(args) as house:
        settings = house.config.serve
        server.serve(
            house,
            host=args.host or settings.host,
            port=settings.port if args.port is None else args.port,
            key=os.environ.get(settings.key_env),
            key_env=settings.key_env,
        )
    return 0


def _say(args: argparse.Namespace) -> int:
    from moechat.turn import Delta, Ended, Recalled

    with _house(args) as house:
        agent = house.agent(args.character, args.user)
        found: Recollection | None = None
        for event in agent.talk(args.text):
            if isinstance(event, Recalled):
                found = event.recollection
            elif isinstance(event, Delta) and not args.json:
                print(event.text, end="", flush=True)
            elif isinstance(event, Ended):
                ended = event
        agent.finish()
        if args.json:
            recalled = [_hit(hit) for hit in found.hits] if found else []
            timing = dict(found.timing_ms) if found else {}
            _out({"reply": ended.exchange.char, "exchange_id": ended.exchange.id, "recalled": recalled, "timing_ms": timing}
                 | ({"error": ended.error} if ended.error else {}))  # fmt: skip
        else:
            print()
        _warn(agent.problems())
    if ended.error:
        print(f"moechat: {ended.error}", file=sys.stderr)
    return 1 if ended.error else 0


def _recall(args: argparse.Namespace) -> int:
    if not args.text.strip():
        raise MoeChatError("the message is empty; write something first")
    with _house(args, looks=True) as house:
        agent = house.agent(args.character, args.user)
        found = agent.recall(args.text)
        _warn([*agent.problems(), *found.notices])
    if args.json:
        _out(_recollection(found))
        return 0
    for span in found.spans:
        print(f"{span.phrase}: {span.start:%Y-%m-%d %H:%M} – {span.end:%Y-%m-%d %H:%M}")
    for span in found.empty_spans:
        print(f"{span.phrase}: no record")
    for hit in found.hits:
        moment = f"{hit.time:%Y-%m-%d %H:%M} " if hit.time else ""
        print(f"[{hit.layer} {hit.recipe} {hit.score:.3f}] {moment}{hit.text}")
    for dropped in found.dropped:
        if dropped.why == "in_context":
            print(f"[{dropped.why}] {dropped.hit.text}")
    return 0


def _when(args: argparse.Namespace) -> int:
    from datetime import datetime

    from moechat import when
    from moechat.clock import SystemClock
    from moechat.errors import ConfigError
    from moechat.settings import config
    from moechat.store.formats import local

    settings = config.load(args.config).time if args.config.exists() else config.Config().time
    try:
        now = (
            local(datetime.fromisoformat(args.now), settings.tzinfo) if args.now else SystemClock(settings.tzinfo).now()
        )
    except ValueError:
        raise ConfigError("command line", "--now", args.now, "write a time as 2025-05-21T15:00") from None
    texts = args.text or (line.rstrip("\r\n") for line in sys.stdin)
    for text in texts:
        spans = when.resolve(text, now, widths={**when.WIDTHS, **settings.widths})
        if args.json:
            _out({"text": text, "spans": [_span(span) for span in spans]})
        else:
            told = "; ".join(f"{s.phrase}: {s.start:%Y-%m-%d %H:%M:%S} – {s.end:%Y-%m-%d %H:%M:%S}" for s in spans)
            print(f"{text}  →  {told or '–'}")
        sys.stdout.flush()
    return 0


def _log(args: argparse.Namespace) -> int:
    from moechat.errors import NotFound

    with _house(args, looks=args.action == "list") as house:
        agent = house.agent(args.character, args.user)
        if args.action == "list":
            for row in agent.log():
                _out(row) if args.json else print(f"{row['mark']} {row['id']} [{row['status']}] {row['text']}")
            _warn(agent.problems())
            return 0
        if not args.id:
            raise NotFound(f"log {args.action} needs the id of an exchange; `moechat log list` shows them")
        match args.action:
            case "select" | "branch":
                agent.select(args.id, args.variant)
            case "correct":
                if not (args.text or "").strip():
                    raise NotFound("log correct needs the corrected words after the id")
                agent.correct(args.id, **({"char": args.text} if args.reply else {"user": args.text}))
            case "retract":
                agent.retract(args.id)
            case "restore":
                agent.restore(args.id)
        agent.finish()
        row = next((row for row in agent.log() if row["id"] == args.id), {"id": args.id})
        _out(row) if args.json else print(f"{args.action}: {args.id}")
    return 0


# ---- upkeep


def _verify(args: argparse.Namespace) -> int:
    with _house(args, looks=True) as house:
        report = house.agent(args.character, args.user).verify()
    if args.json:
        _out(report)
    else:
        _warn(report["problems"])
        print(", ".join(f"{name}: {value}" for name, value in report.items() if name != "problems"))
    return 1 if report["problems"] else 0


def _rebuild(args: argparse.Namespace) -> int:
    with _house(args) as house:
        report = house.rebuild(args.character, args.user, vectors=args.vectors, progress=_progress(args.json))
    _out(report) if args.json else print(", ".join(f"{name}: {value}" for name, value in report.items()))
    return 0


def _progress(quiet: bool) -> Callable[[int, int], None]:
    def tell(done: int, of: int) -> None:
        if not quiet:
            print(f"\r{done} of {of}", end="\n" if done >= of else "", file=sys.stderr, flush=True)

    return tell


def _calibrate(args: argparse.Namespace) -> int:
    from moechat.bench import calibrate

    with _house(args) as house:
        agent = house.agent(args.character, args.user)
        pairs = calibrate.read(args.pairs) if args.pairs else calibrate.own_pairs(agent)
        made = calibrate.calibrate(agent, pairs)
        if args.write:
            calibrate.write(args.config, agent, made)
    _out(calibrate.as_json(made)) if args.json else print(calibrate.report(made))
    if not made.fits:
        print("moechat: no threshold was fitted; talk more, or give labelled pairs with --pairs", file=sys.stderr)
    return 0 if made.fits else 1


def _bench_speed(args: argparse.Namespace) -> int:
    from moechat.bench import speed

    figures = speed.speed(args.entries)
    if args.json:
        _out(figures)
    else:
        for name, value in figures.items():
            print(f"{name:>16}  {value}")
    return 0


def _bench_recall(args: argparse.Namespace) -> int:
    from moechat.bench import recall

    config = args.config if args.config.exists() else None
    if args.ablate:
        for row in recall.ablate(args.files, config=config, provider=args.embedding):
            _out(row) if args.json else print(recall.line(row))
        return 0
    rows = recall.measure(
        args.files, config=config, provider=args.embedding, each=_out if args.json else lambda row: None
    )
    if not args.json:
        for row in rows:
            print(recall.told(row))
    return 0


# ---- shapes (DESIGN.md, commands)


def _span(span: Span) -> dict[str, str]:
    return {
        "phrase": span.phrase,
        "start": span.start.replace(tzinfo=None).isoformat(),
        "end": span.end.replace(tzinfo=None).isoformat(),
    }


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "layer": hit.layer, "recipe": hit.recipe, "id": hit.id, "time": hit.time.isoformat() if hit.time else None,
        "text": hit.text, "score": round(hit.score, 6), "features": {k: round(float(v), 6) for k, v in hit.features.items()},
        "tokens": hit.tokens,
    }  # fmt: skip


def _recollection(found: Recollection) -> dict[str, object]:
    return {
        "spans": [_span(span) for span in found.spans],
        "hits": [_hit(hit) for hit in found.hits],
        "dropped": [{"id": d.hit.id, "text": d.hit.text, "why": d.why} for d in found.dropped],
        "timing_ms": dict(found.timing_ms),
        "empty_spans": [_span(span) for span in found.empty_spans],
        "notices": list(found.notices),
    }


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        print(f"moechat: {problem}", file=sys.stderr)
