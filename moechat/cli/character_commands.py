"""``moechat character …``, ``lore …`` and ``you``: characters made and changed, world books looked at, and who you are."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from moechat.cli.session import agent_of, confirm, open_house, pairs_of, tell, warn
from moechat.errors import MoeChatError
from moechat.house.studio import Studio, tried
from moechat.house.studio import lore_test as tested

LISTS = ("greetings", "tags")


def list(args: argparse.Namespace) -> None:
    with open_house(args, looks=True) as house:
        characters, binned = house.characters(), house.studio.binned()
    tell(args, {"characters": characters, "bin": binned}, *characters, *(f"in the bin: {name}" for name in binned))


def show(args: argparse.Namespace) -> None:
    with open_house(args, looks=True) as house:
        values = {key: _plain(value) for key, value in house.studio.values(args.name).items()}
    tell(args, values, *(f"{key}: {value}" for key, value in values.items()))


def run(args: argparse.Namespace) -> None:
    """What the command names, done to a character; its name afterwards."""
    with open_house(args) as house:
        name = DEEDS[args.action](house.studio, args) or args.name
    in_bin = f"{name} is in the bin; moechat character restore {name}"
    tell(args, {"character": name}, in_bin if args.action == "delete" else name)


def _set(studio: Studio, args: argparse.Namespace) -> None:
    if not args.set:
        raise MoeChatError("there is nothing to change: say what with --set KEY=VALUE")
    studio.change(args.name, _keys(args.set))


def _empty_bin(studio: Studio, args: argparse.Namespace) -> None:
    if not args.yes and not confirm(f"Erase {args.name} and its memory for good?"):
        raise MoeChatError("nothing was erased (--yes does not ask)")
    studio.empty_bin([args.name])


DEEDS: Mapping[str, Callable[[Studio, argparse.Namespace], str | None]] = {
    "create": lambda studio, args: studio.create(args.name, _keys(args.set)) and args.name,
    "set": _set,
    "duplicate": lambda studio, args: studio.duplicate(args.name, args.new),
    "rename": lambda studio, args: studio.rename(args.name, args.new),
    "greeting": lambda studio, args: studio.choose_greeting(args.name, args.number),
    "picture": lambda studio, args: studio.set_picture(args.name, args.file),
    "delete": lambda studio, args: studio.delete(args.name),
    "restore": lambda studio, args: studio.restore(args.name, args.new or ""),
    "empty-bin": _empty_bin,
}


def test(args: argparse.Namespace) -> None:
    """One message off the record."""
    with open_house(args) as house:
        agent = house.agent(args.name)
        trial = tried(agent, args.text)
        warn([*([trial.error] if trial.error else []), *agent.problems()])
    rows = [{"id": hit.id, "why": hit.why or "near in meaning", "tokens": hit.tokens} for hit in trial.fired]
    prompt = [{"role": one.role, "content": one.content} for one in trial.prompt]
    lines = [f"--- {one.role}\n{one.content}" for one in trial.prompt]
    lines += [f"+++ {row['id']}: {row['why']} ({row['tokens']} tokens)" for row in rows]
    tell(args, {"prompt": prompt, "fired": rows, "reply": trial.reply}, *lines, f"=== {trial.reply}")


# ---- world books


def lore_test(args: argparse.Namespace) -> None:
    judgements, problems = tested(args.file, args.text)
    for one in judgements:
        entry, near = one.entry, not one.fires and one.may_be_near
        mark, meaning = "fires" if one.fires else "-    ", " (may come by meaning)" if near else ""
        row = {"id": entry.id, "title": entry.keyword, "fires": one.fires, "why": one.why, "by_meaning": near}
        tell(args, row, f"{mark} {entry.id} [{entry.keyword}] {one.why}{meaning}")
    warn(f"the key {pattern[:80]!r} {why}" for pattern, why in problems.items())


def lore_fired(args: argparse.Namespace) -> None:
    with open_house(args, looks=True) as house:
        agent = agent_of(house, args)
        rows = agent.fired()
    for row in rows:
        tell(args, row, f"{row['time'][:16].replace('T', ' ')} {row['id']}: {row['why']}")


# ---- you


def you(args: argparse.Namespace) -> None:
    with open_house(args) as house:
        changes = {key: value or "" for key, value in _keys(args.set).items()}
        values = house.studio.you(args.character or "", args.user or "", changes)
    tell(args, values, *(f"{key}: {value}" for key, value in values.items()))


# ---- what they share


def _keys(pairs: Iterable[str]) -> dict[str, Any]:
    """KEY=VALUE as character.yaml has them: ``@FILE`` is the text of a file, greetings and tags have ``|`` between them."""
    values: dict[str, Any] = {}
    for key, value in pairs_of(pairs):
        text = Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
        if key in LISTS:
            values[key] = [one.strip() for one in text.split("|") if one.strip()] or None
        else:
            values[key] = text or None
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | type([])):
        return [getattr(one, "content", one) for one in value]
    return value
