"""``moechat memories …`` and ``moechat official …``: the verbs over the owner's memories and over the author's, by hand; and
``moechat group …``, those over a talk of several."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from moechat.agent import Agent
from moechat.cli.session import agent_of, confirm, open_house, pairs_of, print_json, tell, warn
from moechat.curation.catalogue import Details, Memory, Page, as_json, details_as_json
from moechat.errors import MoeChatError
from moechat.model import Lore, OfficialMemory, Reason
from moechat.settings.character import default_character, folder_for
from moechat.verbs import Fields, Verb, author, groups, owner, perform

MARKS = {"pinned": "*", "archived": "-"}
LISTS = ("keywords", "related", "keys")  # These fields of the author's hold lists, written with commas.
HEAD = ("store", "by", "id", "type", "text", "time")  # A line shows these, or leaves them to `--json`.
REASONS: Mapping[Reason, str] = {
    "sources": "names no exchange",
    "evidence": "not borne out",
    "example": "copied from the prompt",
    "unreadable": "cannot be read",
    "verdict": "no words bear it out",
}


def run(args: argparse.Namespace) -> None:
    """The verb that the command names, on the memories of one agent."""
    verb = owner.VERBS[args.action]
    with open_house(args, looks=verb.reads or getattr(args, "dry_run", False)) as house:
        agent = agent_of(house, args)
        agent.store.read_all()
        values = values_in(args, verb)
        if args.action == "list" and args.refused:
            _refused(args, agent)
        elif args.action == "forget" and not _asked(args, agent):
            pass
        elif args.action == "copy":  # The other is in a house of its own, so that neither waits for the other.
            with open_house(args) as other:
                _print(args, perform(verb, agent, values | {"to": other.agent(args.to, args.user)}), agent)
        else:
            SHOWN.get(args.action, _print)(args, perform(verb, agent, values), agent)
        warn(agent.problems())


def greet(args: argparse.Namespace) -> None:
    """Her word after an absence; nothing where there is none to say."""
    with open_house(args) as house:
        row = perform(owner.VERBS["greet"], agent_of(house, args), {})
        tell(args, row, *([row["greeting"]["text"]] if row["greeting"] else []))


def official(args: argparse.Namespace) -> None:
    """The verb that the command names, on the official store of one character."""
    verb = author.VERBS[args.action]
    with open_house(args, looks=verb.reads) as house:
        agent = house.agent(args.character)
        for memory in perform(verb, agent, values_in(args, verb)):
            row = agent.official.as_row(memory)
            tell(args, row, _author_line(memory, row, in_full=args.action == "show"))
        warn((*agent.official.problems, *agent.official.lore.problems))


def values_in(args: argparse.Namespace, verb: Verb) -> dict[str, Any]:
    """The values of a verb, as the command line has them."""
    values = {name: getattr(args, name) for name in verb.values.model_fields}
    return values | ({"fields": values_of(values["fields"])} if "fields" in values else {})


def values_of(pairs: Iterable[str]) -> dict[str, Any]:
    """KEY=VALUE as a record has them; lists at their commas, None for an empty value."""
    values: dict[str, Any] = {}
    for key, value in pairs_of(pairs):
        parts = [part.strip() for part in value.replace("，", ",").split(",") if part.strip()]
        values[key.strip()] = (parts if key.strip() in LISTS else value) or None
    return values


# ---- what a verb gives, as lines


def _list(args: argparse.Namespace, page: Page, agent: Agent) -> None:
    _print(args, page.memories, agent)
    shown = args.offset + len(page.memories)
    if not args.json and shown < page.total:
        print(f"… {page.total - shown} more (--offset {shown})")


def _refused(args: argparse.Namespace, agent: Agent) -> None:
    """What was not believed of models' answers, newest first, and how often for which reason."""
    refused = agent.memories.refused()
    for one in refused[: args.limit or None]:
        row = {**asdict(one), "at": one.at and one.at.isoformat()}
        tell(args, row, f"{one.at:%Y-%m-%d %H:%M} [{one.kind}] {REASONS[one.why]}: {one.text}")
    if not args.json:
        counts = Counter(REASONS[one.why] for one in refused)
        print("; ".join(f"{reason}: {count}" for reason, count in counts.most_common()) or "nothing was refused")
        for model, (true, count) in sorted(agent.store.state.trust.items()):
            print(f"{model}: {true} of {count} findings bore a true quote")


def _show(args: argparse.Namespace, several: Sequence[Details], agent: Agent) -> None:
    for details in several:
        if not args.json:
            print("\n".join(_lines(details)))
            continue
        row = details_as_json(details)
        if details.memory.kind == "fact":  # A fact has a kind of its own; ``kind`` says what `memories list` says.
            row |= {"kind": "fact", "fact_kind": row["kind"]}
        print_json(row)


def _lines(details: Details) -> Iterator[str]:
    """A memory with everything known of it."""
    memory = details.memory
    yield _line(memory)
    if memory.reply:
        yield f"  reply: {memory.reply}"
    if memory.by:
        yield f"  by: {memory.by}"
    for name, value in details.fields.items():
        if name != "by" and value != memory.kind:
            yield f"  {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
    if memory.recalled:
        yield f"  recalled: {memory.recalls} times, last {memory.recalled:%Y-%m-%d %H:%M}"
    if details.forecast_text:
        yield f"  {details.forecast_text}"
    links = {
        "rests on": [*details.sources, *details.evidence],
        "replaced": details.replaced,
        "replaced by": details.replaced_by,
        "understood of it": details.derived,
    }
    for name, others in links.items():
        yield from (f"  {name}: {_line(other)}" for other in others)


def _moved(args: argparse.Namespace, moved: Sequence[Memory], agent: Agent) -> None:
    _print(args, moved, agent)
    if not moved and not args.json:
        print(f"nothing to do: {'already' if args.action == 'archive' else 'not'} in the archive")


def _cleaned(args: argparse.Namespace, done: tuple[Any, Sequence[Memory]], agent: Agent) -> None:
    cleaning, goes = done
    _print(args, goes, agent)
    if not args.json:
        would = "would go into the archive" if args.dry_run else "went into the archive"
        print(f"{len(goes)} of {cleaning.count} {would} (memory is full at {agent.memories.limits().cap})")


def _come_back(args: argparse.Namespace, ids: Sequence[str], _: Agent) -> None:
    tell(args, {"ids": list(ids)}, f"{len(ids)} {'let in' if args.action == 'let-in' else 'erased'}")


def _forgotten(args: argparse.Namespace, gone: Sequence[Memory], agent: Agent) -> None:
    _print(args, gone, agent)
    for name in agent.memories.exports.listed():
        print(f"an export may still hold it: {name}", file=sys.stderr)


# ---- asking first


def _asked(args: argparse.Namespace, agent: Agent) -> bool:
    """Whether to erase, after all that would go was told. Raises MoeChatError for a no."""
    memories = agent.memories
    sources = {exchange.id: exchange for id_ in args.ids for exchange in memories.get(id_).sources}
    holding = {id_: exchange for id_, exchange in sources.items() if id_ not in args.ids}
    preview = None if args.yes and not args.dry_run else memories.forgets(args.ids)
    if args.json and args.dry_run and preview:
        rows = {
            name: [as_json(one) for one in getattr(preview, name)] for name in ("goes", "repeats", "stays", "beside")
        }
        print_json({**rows, "files": list(preview.files)})
        return False
    _tell("what was said stays (to be forgotten by its own id)", holding.values())
    if preview:
        others = [one for one in preview.repeats if one.id not in holding]
        _tell("this repeats some of the words (to be forgotten by its own id)", others)
        _tell("your own words stay, without their source (to be forgotten by their own id)", preview.stays)
        _tell("understood anew: what was understood of these may hold words of what goes", preview.anew)
        _tell("a model made this that was shown some of it (to be forgotten by its own id)", preview.beside)
        for name in preview.files:
            print(f"no file of MoeChat's, and holds some of it (--files erases it): {name}", file=sys.stderr)
    if preview and args.dry_run:
        _print(args, preview.goes, agent)
        return False
    if preview:
        for memory in preview.goes:
            print(_line(memory), file=sys.stderr)
        if not confirm(f"Erase these {len(preview.goes)} for good?"):
            raise MoeChatError("nothing was forgotten (--yes does not ask)")
    return True


def _tell(what: str, memories: Iterable[Memory]) -> None:
    for memory in memories:
        print(f"{what}: {_line(memory)}", file=sys.stderr)


# ---- shapes


def _print(args: argparse.Namespace, memories: Sequence[Memory], agent: Agent) -> None:
    for memory in memories:
        tell(args, as_json(memory), _line(memory))


def _line(memory: Memory) -> str:
    marks = "".join(mark for name, mark in MARKS.items() if getattr(memory, name)) or " "
    use = "" if memory.kind == "exchange" else f" strength {memory.strength}, recalled {memory.recalls}×"
    time = f" {memory.at:%Y-%m-%d %H:%M}" if memory.at else ""
    return f"{marks} {memory.id} [{memory.kind}{time}{use}] {' '.join(memory.text.split())}"


def _author_line(memory: OfficialMemory, row: Mapping[str, Any], *, in_full: bool) -> str:
    further = {key: value for key, value in row.items() if in_full and key not in HEAD and value not in ("", False, [])}
    about = " ".join(f"{key}={','.join(value) if isinstance(value, list) else value}" for key, value in further.items())
    text = " ".join(row["text"].split())
    return f"{row['id']} [{row['type']}{_mark(memory)}] {text}{f'  ({about})' if about else ''}"


def _mark(memory: OfficialMemory) -> str:
    """The day of a memory; of an entry of the world book whether it is switched off."""
    if isinstance(memory, Lore):
        return "" if memory.enabled else " off"
    return f" {memory.at:%Y-%m-%d}" if memory.at else ""


SHOWN: Mapping[str, Callable[[argparse.Namespace, Any, Agent], None]] = {
    "list": _list, "show": _show, "archive": _moved, "restore": _moved, "clean": _cleaned, "forget": _forgotten,
    "let-in": _come_back, "erase-again": _come_back,
}  # fmt: skip


# ---- talks of several


def group(args: argparse.Namespace) -> int:
    """The verb that the command names, in a talk of several."""
    verb = groups.VERBS[args.action]
    with open_house(args, looks=verb.reads) as house:
        character = args.character or default_character(house.data, house.config)
        company = groups.Company(
            house.groups,
            lambda name: folder_for(house.characters(), name),
            character,
            args.user or "",
            args.world or "",
        )
        done = perform(verb, company, values_in(args, verb))
        if not verb.replies:
            tell(args, done, *([done["talk"]] if args.action == "begin" else _in_talk(done)))
            return 0
        house.warm()
        is_failed = False
        for reply in done:
            tell(args, reply, f"{reply['speaker']}: {reply['text']}")
            warn([reply["error"]] if reply["error"] else [])
            is_failed |= bool(reply["error"])
        agent_of(house, args).finish()
        return int(is_failed)


def _in_talk(row: Fields) -> list[str]:
    """Who is in a talk, and what was said there."""
    who = [f"{one['name']}{' (silent)' if one['muted'] else ''}" for one in row["members"]]
    newest = [
        f"{one['speaker']}: {one['text']}" if one["speaker"] else f"> {one['text']}" for one in row.get("lines", ())
    ]
    return [f"{', '.join([*who, *row['people']])} ({row['order']})", *newest]
