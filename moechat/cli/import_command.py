"""``moechat import …``: take over what was kept elsewhere, and take it back; and ``moechat export …``: take a character,
its world book or its memory along."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from moechat.agent import Agent
from moechat.cards.container import KINDS
from moechat.cli.session import agent_of, confirm, open_house, progress, tell, warn
from moechat.compat.foreign_talk import form_words
from moechat.curation.brought import MARK
from moechat.errors import MoeChatError
from moechat.house import House
from moechat.house.arrivals import Coming, Wishes
from moechat.house.bundle import WHY, Bundle
from moechat.house.studio import Arrival, UnknownForm, folder_name, look
from moechat.settings.character import default_character
from moechat.verbs import owner, perform

MAX_PROBLEM_LINES = 20
MAX_NAMED = 5  # Files that are left out for one reason.


def file(args: argparse.Namespace) -> int | None:
    """Import whatever a file is, or show what it holds (``--dry-run``)."""
    try:
        arrival = look(args.file)
    except UnknownForm:
        print(*_forms(), sep="\n", file=sys.stderr)
        raise
    with open_house(args, looks=args.dry_run) as house:
        if arrival.kind == "bundle":
            return _bundle(args, house, arrival.path)
        _bring(args, house, arrival, args.character or "")
    return None


def _forms() -> Iterator[str]:
    """The forms of talk that can be read, with a sample of each."""
    for form in form_words().values():
        yield (
            f"{form['zh']} · {form['en']}\n" + "".join(f"    {line}\n" for line in form["sample"].splitlines()).rstrip()
        )


def talk(args: argparse.Namespace) -> None:
    args.dry_run = False
    with open_house(args) as house:
        _bring(args, house, Arrival("talk", args.file), args.character or "")


def _bring(args: argparse.Namespace, house: House, arrival: Arrival, character: str) -> None:
    """Show it, or take it in."""
    wishes = Wishes(character, args.user or "", args.world or "", args.me or "", args.talk)
    coming = Coming(house, arrival, wishes)
    if coming.is_talk and (problems := coming.past_of_file.problems):
        warn(problems[:MAX_PROBLEM_LINES])
        raise MoeChatError(f"{arrival.path}: nothing was imported; {len(problems)} of its lines cannot be read")
    if args.dry_run:
        row = coming.preview()
        tell(args, row, *_lines(arrival, row))
        return
    row = coming.take(progress(quiet=args.json))
    if name := row.get("character"):
        tell(args, row, *_lines(arrival, row), f"→ {name}; talk: moechat say -c {name} …, or choose {name} in the page")
    else:  # It went to a memory.
        warn(coming.agent.problems())
        tell(args, row, _line(row))


def _line(row: Mapping[str, Any]) -> str:
    """What became of talk or memories."""
    if "went_on" in row:
        return f"all of it is there; {row['went_on']} exchanges were still to be understood"
    doubled = f" ({row['doubled']} were there already)" if row["doubled"] else ""
    if row["kind"] == "memories":
        line = f"{row['batch']}: {row['memories']} memories{doubled}"
    else:
        first, last = (row[name][:16].replace("T", " ") for name in ("first", "last"))
        to = f"talk {row['talk']!r}" if row["talks"] < 2 else f"{row['talks']} talks"
        line = f"{row['batch']} → {to}: {row['exchanges']} exchanges, {first} – {last}{doubled}"
    return f"{line}\nto erase it again: moechat import take-back {row['batch']}"


def _bundle(args: argparse.Namespace, house: House, path: Path) -> int:
    """All that a folder or a zip holds: characters, then what goes to one, each to that whose folder it lies in."""
    status, owners = 0, dict[str, str]()
    with Bundle(path) as bundle, tempfile.TemporaryDirectory(prefix="moechat-") as folder:
        for name in bundle.takes:
            place = Path(folder) / bundle.name_of(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            holder = place.parent.name
            try:
                place.write_bytes(bundle.read(name))
                one = look(place)
                if one.preview:  # its talk goes to whoever is called so, also where they are there already
                    owners[place.stem] = folder_name(one.preview.name)
                goal = args.character or owners.get(holder) or (holder if holder in house.characters() else "")
                _bring(
                    args,
                    house,
                    one,
                    "" if one.kind == "card" or (args.dry_run and goal not in house.characters()) else goal,
                )
            except (MoeChatError, OSError) as error:
                warn([str(error).replace(f"{folder}/", "")])
                status = 1
        for why, names in bundle.left.items():
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            warn([f"left out ({WHY[why]}): {', '.join(names[:MAX_NAMED])}{more}"])
    return status


def persona(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        report = house.import_persona(args.folder, args.character, language=args.language, expires=args.expire)
    warn(report.notices)
    counts = {"events": report.events, "reflections": report.reflections, "exchanges": report.exchanges}
    row = {"name": args.character, "folder": str(report.folder), **counts, "left_out": dict(report.left_out)}
    tell(
        args, row,
        f"{report.name} → {report.folder}: " + ", ".join(f"{count} {name}" for name, count in counts.items()),
        *(f"left out {node}: {why}" for node, why in report.left_out.items()),
        f"talk: moechat say -c {args.character} …, or choose {args.character} in the page",
    )  # fmt: skip


def take_back(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        agent = agent_of(house, args)
        stays = _asked_whether_to_take_back(args, agent)
        counts = perform(owner.VERBS["take-back"], agent, {"batch": args.batch})
    erased = ", ".join(f"{count} {name}" for name, count in counts.items())
    tell(args, {"batch": args.batch, **counts, **stays}, f"{args.batch}: erased {erased}")


def _asked_whether_to_take_back(args: argparse.Namespace, agent: Agent) -> dict[str, list[str]]:
    """What of the person's own stays, after it was told what goes. Raises MoeChatError for a no, NotFound."""
    if args.batch.startswith(MARK):
        stays: dict[str, list[str]] = {}
        question = f"{args.batch}: {len(agent.brought.ids(args.batch))} memories. Erase all of them for good?"
    else:
        lost = agent.memories.takes_back(args.batch)
        stays, question = {"stays": list(lost.kept)}, "Erase all of it for good?"
        for memory in agent.memories.memories(lost.kept):
            print(f"your own words stay, without their source: {memory.id} {memory.text}", file=sys.stderr)
        if not args.yes:
            understood = f"{len(lost.facts)} facts, {len(lost.episodes)} events and reflections"
            exchanges = f"{len(lost.exchanges)} exchanges"
            print(f"{args.batch}: {exchanges}, and understood of them {understood}", file=sys.stderr)
    if not args.yes and not confirm(question):
        raise MoeChatError("nothing was taken back (--yes does not ask)")
    return stays


# ---- showing


def _lines(arrival: Arrival, row: Mapping[str, Any]) -> Iterator[str]:
    """A preview, before anything is written."""
    yield f"{arrival.path}: {row['kind']}"
    for key, value in row.items():
        if key == "kind" or value in ("", None, [], {}, ()):
            continue
        label = "kept, not obeyed" if key == "unheeded" else key.replace("_", " ")
        if isinstance(value, Mapping):
            value = ", ".join(f"{name} × {count}" if count != 1 else name for name, count in value.items())
        elif isinstance(value, list | tuple):
            value = ", ".join(map(str, value))
        yield f"  {label}: {value}"


# ---- taking along


def export_card(args: argparse.Namespace) -> None:
    kind = next((one for one in KINDS if args.file.suffix.lower() == f".{one}"), None)
    if kind is None:
        raise MoeChatError(f"{args.file}: a card is written as .png, .json or .charx")
    with open_house(args) as house:
        data = house.studio.export_card(_name(args, house), kind)
    _written(args, lambda file: file.write(data))


def export_lorebook(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        book = house.studio.export_book(_name(args, house))
    _written(args, lambda file: file.write(book))


def export_archive(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        name, memory = _name(args, house), not args.without_memory
        _written(args, lambda file: house.studio.export_archive(name, file, memory=memory))
        if memory:
            house.agent(name).memories.exports.note(args.file)


def export_memory(args: argparse.Namespace) -> None:
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
