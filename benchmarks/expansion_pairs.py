"""Training pairs for a learned word expander (seed 004, section 十): sentences, their expansions, and a model's marks.

    python benchmarks/expansion_pairs.py FILE [-c NAME] [-u NAME] [--data DIR] [--config FILE] [--mark 6] [--limit N]

FILE gets JSON lines: what the user said and did not take back, what it brings to mind, and a mark of the connected
language model for that. The network itself is a vision of the seed; its training set is what an owner's own talk gives.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import json_repair

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.agent import Agent
from moechat.ai.chat_model import ChatModel
from moechat.errors import ModelError, MoeChatError
from moechat.house import House
from moechat.language.association import COUNT, Association
from moechat.model import Message
from moechat.settings.home import find_home
from moechat.settings.prompts import Prompts

log = logging.getLogger(__name__)

MARK = 6.0  # Pairs of at least this mark, of 10, are kept.
BATCH = 8  # One call rates so many sentences.
TIMEOUT_S = 60.0
SHORTEST, LONGEST = 4, 120  # Sentences have between so many characters.
HOPELESS = ("no_route", "bad_key", "unknown_model")  # the next call would end the same way

_SENTENCE_ENDS = re.compile(r"[。！？!?\n\r…]+|\.(?=\s|$)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
SCHEMA = {
    "type": "object",
    "properties": {
        "scores": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "score": {"type": "integer", "minimum": 1, "maximum": 10}},
                "required": ["id", "score"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["scores"],
    "additionalProperties": False,
}

Expand = Callable[[str], tuple[Sequence[str], Sequence[Association]]]
"""A sentence → (its base words, its expansion)."""


@dataclass(frozen=True)
class Pair:
    """One line of the training set. ``score`` is 1..10."""

    sentence: str
    base: Sequence[str]
    expanded: Sequence[Association]
    score: float


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """The sentences of the texts that are worth expanding, each once."""
    seen: set[str] = set()
    for text in texts:
        for part in _SENTENCE_ENDS.split(text):
            sentence = " ".join(part.split())
            if SHORTEST <= len(sentence) <= LONGEST and sentence not in seen:
                seen.add(sentence)
                yield sentence


def export_pairs(
    spoken: Iterable[str],
    expand: Expand,
    model: ChatModel,
    *,
    prompts: Prompts,
    mark: float = MARK,
    limit: int = 0,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[dict[str, Any]]:
    """Pairs of at least ``mark``, at most ``limit`` (0: all), as they are rated.

    A sentence that brings nothing to mind, or that the model does not rate, is left out. Raises ModelError where the model
    cannot be reached at all.
    """
    kept = (pair for pair in _rated(spoken, expand, model, prompts, timeout_s) if pair.score >= mark)
    for pair in islice(kept, limit or None):
        yield asdict(pair)


def write_pairs(path: Path, pairs: Iterable[dict[str, Any]]) -> int:
    """Write JSON lines as they come, so that what was rated is kept when it breaks off. Returns how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
            file.flush()
            count += 1
    return count


def _rated(
    spoken: Iterable[str], expand: Expand, model: ChatModel, prompts: Prompts, timeout_s: float
) -> Iterator[Pair]:
    expanded = ((sentence, *expand(sentence)) for sentence in spoken)
    worth_rating = ((sentence, base, words[:COUNT]) for sentence, base, words in expanded if words)
    while batch := list(islice(worth_rating, BATCH)):
        shown = "\n\n".join(
            f"[{number}] {sentence}\n→ {' '.join(word for word, _ in words)}"
            for number, (sentence, _, words) in enumerate(batch, 1)
        )
        prompt = Message("user", prompts.fill("score_expansion", pairs=shown))
        try:
            answer = model.complete([prompt], schema=SCHEMA, timeout_s=timeout_s)
        except ModelError as error:
            if error.kind in HOPELESS:
                raise
            log.warning("%d sentences were not rated: %s", len(batch), error)
            continue
        scores = read_scores(answer)
        for number, (sentence, base, words) in enumerate(batch, 1):
            if number in scores:
                yield Pair(sentence, list(base), list(words), scores[number])


def read_scores(answer: str) -> dict[int, float]:
    """Number of a sentence → score 1..10, as far as the answer can be read ("7/10" and 70/100 are 7)."""
    value = json_repair.loads(answer)
    listed = value.get("scores") if isinstance(value, dict) else value
    scores: dict[int, float] = {}
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict) or not str(one.get("id", "")).strip().isdecimal():
            continue
        numbers = [float(number) for number in _NUMBER.findall(str(one.get("score", "")))]
        if numbers:
            score = numbers[0] * 10 / numbers[1] if len(numbers) > 1 and numbers[1] else numbers[0]
            scores[int(one["id"])] = min(10.0, max(1.0, score))
    return scores


def pairs(agent: Agent, mark: float = MARK, limit: int = 0) -> Iterator[dict[str, Any]]:
    """The pairs of an owner's sentences. Raises ModelError where no model is connected that could rate them."""
    recipes, entities, store = agent.layers.recipes, agent.layers.entities, agent.store
    model = recipes.model()
    if not model.understands:
        raise ModelError("other", "rating needs a language model; set chat.base_url and chat.model in config.yaml")
    hidden = {row.row for row in store.exchanges.by_ids(sorted(store.hidden())).values()}
    spoken = (side.user for side in store.exchanges.sides() if side.row not in hidden)

    def expand(sentence: str) -> tuple[Sequence[str], Sequence[Association]]:
        expansion = entities.expansion(sentence)
        return expansion.base, expansion.expanded

    return export_pairs(sentences(spoken), expand, model, prompts=recipes.prompts, mark=mark, limit=limit)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Training pairs for a learned word expander")
    parser.add_argument("file", type=Path, metavar="FILE", help="where the JSON lines go")
    parser.add_argument("-c", "--character", metavar="NAME")
    parser.add_argument("-u", "--user", metavar="NAME")
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--mark", type=float, default=MARK, help="least mark that is kept, 1 to 10 (default: 6)")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="how many at most (default: 0, all)")
    args = parser.parse_args(argv)
    home = find_home(args.data, args.config)
    try:
        with House(home.data, home.config, looks=True) as house:
            count = write_pairs(args.file, pairs(house.agent(args.character, args.user), args.mark, args.limit))
    except MoeChatError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} pairs → {args.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
