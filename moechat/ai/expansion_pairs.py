"""Training pairs for a learned expander (seed 004, section 十): a sentence, its expansion by table, and a model's mark for it.

The network itself is a vision of the seed; its training set is what an owner's own talk makes possible.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import json_repair

from moechat.errors import ModelError
from moechat.language.association import COUNT, Association
from moechat.model import Message

if TYPE_CHECKING:
    from moechat.ai.chat_model import ChatModel
    from moechat.settings.prompts import Prompts

log = logging.getLogger(__name__)

MARK = 6.0  # of 10
BATCH = 8  # sentences that one call rates
TIMEOUT_S = 60.0
SHORTEST, LONGEST = 4, 120  # characters of a sentence
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
    expanded = ((sentence, base, found[:COUNT]) for sentence in spoken for base, found in [expand(sentence)] if found)
    while batch := list(islice(expanded, BATCH)):
        shown = "\n\n".join(
            f"[{number}] {sentence}\n→ {' '.join(word for word, _ in found)}"
            for number, (sentence, _, found) in enumerate(batch, 1)
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
        for number, (sentence, base, found) in enumerate(batch, 1):
            if number in scores:
                yield Pair(sentence, list(base), list(found), scores[number])


def read_scores(answer: str) -> dict[int, float]:
    """Number of a sentence → score 1..10, as far as the answer can be read ("7/10" and 70/100 are 7)."""
    told = json_repair.loads(answer)
    listed = told.get("scores") if isinstance(told, dict) else told
    scores = {}
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict) or not str(one.get("id", "")).strip().isdecimal():
            continue
        numbers = [float(number) for number in _NUMBER.findall(str(one.get("score", "")))]
        if numbers:
            score = numbers[0] * 10 / numbers[1] if len(numbers) > 1 and numbers[1] else numbers[0]
            scores[int(one["id"])] = min(10.0, max(1.0, score))
    return scores
