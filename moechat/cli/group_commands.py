"""Commands for a talk of several, by the verbs over them."""

from __future__ import annotations

import argparse

from moechat.cli.memory_commands import values_in
from moechat.cli.session import agent_of, open_house, tell, warn
from moechat.settings.character import default_character, folder_for
from moechat.verbs import Fields, groups, perform


def run(args: argparse.Namespace) -> int:
    """The verb that the command names."""
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
            tell(args, done, *([done["talk"]] if args.action == "begin" else _lines(done)))
            return 0
        house.warm()
        is_failed = False
        for reply in done:
            tell(args, reply, f"{reply['speaker']}: {reply['text']}")
            warn([reply["error"]] if reply["error"] else [])
            is_failed |= bool(reply["error"])
        agent_of(house, args).finish()
        return int(is_failed)


def _lines(row: Fields) -> list[str]:
    """Who is in a talk, and what was said there."""
    who = [f"{one['name']}{' (silent)' if one['muted'] else ''}" for one in row["members"]]
    newest = [
        f"{one['speaker']}: {one['text']}" if one["speaker"] else f"> {one['text']}" for one in row.get("lines", ())
    ]
    return [f"{', '.join([*who, *row['people']])} ({row['order']})", *newest]
