"""``moechat export …``: what a memory can give to other programs."""
# ruff: noqa: T201  (commands print)

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moechat.errors import ModelError

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.house import House

Open = Callable[..., "House"]
Command = Callable[..., argparse.ArgumentParser]


def add(commands: Any, command: Command, open_house: Open) -> None:
    """The group's commands; ``command`` makes one with the usual options, ``open_house`` opens what they name."""
    told = "give what memory holds to other programs"
    group = commands.add_parser("export", help=told, description=told)
    kinds = group.add_subparsers(dest="what", required=True, metavar="WHAT")
    pairs = command(
        kinds, "pairs", lambda args: _pairs(args, open_house),
        "training pairs for a learned word expander: your sentences and what they bring to mind, rated by the model",
        talk=True,
    )  # fmt: skip
    pairs.add_argument("file", type=Path, metavar="FILE", help="where the JSON lines go")
    pairs.add_argument("--mark", type=float, default=6.0, help="least rating that is kept, 1 to 10 (default: 6)")
    pairs.add_argument("--limit", type=int, default=0, metavar="N", help="how many at most (default: 0, all)")


def _pairs(args: argparse.Namespace, open_house: Open) -> int:
    from moechat.ai.expansion_pairs import write_pairs

    with open_house(args, looks=True) as house:
        count = write_pairs(args.file, pairs(house.agent(args.character, args.user), args.mark, args.limit))
    print(json.dumps({"pairs": count, "file": str(args.file)}) if args.json else f"{count} pairs → {args.file}")
    return 0


def pairs(agent: Agent, mark: float = 6.0, limit: int = 0) -> Iterator[dict[str, Any]]:
    """Sentences that the user said and nobody took back, with their expansion, as the model rates them (seed 004, ten).

    Raises ModelError where no model is connected that could rate them.
    """
    from moechat.ai.expansion_pairs import export_pairs, sentences

    recipes, entities, store = agent.layers.recipes, agent.entities, agent.store
    model = recipes.model()
    if not model.understands:
        raise ModelError("other", "rating needs a language model; set chat.base_url and chat.model in config.yaml")
    hidden = {row.row for row in store.cache.by_ids(sorted(store.hidden())).values()}
    spoken = (side.user for side in store.cache.sides() if side.row not in hidden)

    def expand(sentence: str) -> tuple[Sequence[str], Sequence[tuple[str, int]]]:
        found = entities.expansion(sentence)
        return found.base, found.expanded

    return export_pairs(sentences(spoken), expand, model, prompts=recipes.prompts, mark=mark, limit=limit)
