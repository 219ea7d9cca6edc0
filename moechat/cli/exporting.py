"""``moechat export pairs``: training pairs for a learned word expander."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from moechat.agent import Agent
from moechat.ai.expansion_pairs import export_pairs, sentences, write_pairs
from moechat.cli.session import open_house, print_json
from moechat.errors import ModelError


def write(args: argparse.Namespace) -> int:
    with open_house(args, looks=True) as house:
        count = write_pairs(args.file, pairs(house.agent(args.character, args.user), args.mark, args.limit))
    print_json({"pairs": count, "file": str(args.file)}) if args.json else print(f"{count} pairs → {args.file}")
    return 0


def pairs(agent: Agent, mark: float = 6.0, limit: int = 0) -> Iterator[dict[str, Any]]:
    """Sentences that the user said and nobody took back, with their expansion, as the model rates them (seed 004, ten).

    Raises ModelError where no model is connected that could rate them.
    """
    recipes, entities, store = agent.layers.recipes, agent.layers.entities, agent.store
    model = recipes.model()
    if not model.understands:
        raise ModelError("other", "rating needs a language model; set chat.base_url and chat.model in config.yaml")
    hidden = {row.row for row in store.cache.by_ids(sorted(store.hidden())).values()}
    spoken = (side.user for side in store.cache.sides() if side.row not in hidden)

    def expand(sentence: str) -> tuple[Sequence[str], Sequence[tuple[str, int]]]:
        expansion = entities.expansion(sentence)
        return expansion.base, expansion.expanded

    return export_pairs(sentences(spoken), expand, model, prompts=recipes.prompts, mark=mark, limit=limit)
