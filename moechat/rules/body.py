"""What the user's own body does not take, by nearness to the examples of ``reading/examples``: foods and drugs that the message
names, and illnesses, diets and medicines that rule some out.

A message is weighed in parts: from words that name foods up to the next that do, beside the words that name them alone.
Where somebody else, a taste or what is over lies nearer, nothing of it is the user's, and nothing where ``reading/frames``
does not hear the thing stated, either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from moechat.model import FactDraft
from moechat.reading import examples, frames
from moechat.reading.examples import FOOD, STATE
from moechat.reading.saying import of_another
from moechat.rules import foods
from moechat.rules.clause import Clause, letters_of
from moechat.rules.values import OWN, Speech

NEAR = 0.25  # A part is of the user's own body where it lies so near to the examples,
APART = 0.2  # and so much nearer than to any other kind,
STATED, STATING = 0.05, ("cannot", "diet", "ill", "illadj")  # and is so likely stated as one of these kinds,
SURE = 0.5  # or so much nearer.
TOLD_OF_ANOTHER = 0.5  # Nothing is that is so likely told of somebody else.
REFUTED = -0.1  # What the patterns heard is not the user's where it lies so much nearer to another kind.
_CUT = re.compile(r"[.!?。！？\n…;；，,]+|(?<=[一-龥])\s+|\s+(?=[一-龥])|\s(?=but\b|tho\b)|(?=但是?|不过)")
_BARE = re.compile(rf"[{FOOD}{STATE}\W]*(?:(?:and|or|any|no|[和跟与或])[{FOOD}\W]*)*")


@dataclass(frozen=True)
class FoodPart:
    """What of a message tells of some foods.

    ``head`` is the words that name them. ``own``: how much nearer to the user's own body than to any other kind they and all
    up to the next that name some lie, about 0 … 1.
    """

    head: str
    own: float


def not_taken(text: str, clauses: Sequence[Clause], message: Speech) -> Iterator[tuple[Clause, FactDraft]]:
    """Each thing that the user's body does not take or that rules some out, with the clause that says it."""
    for part in parts_of(text) if clauses else ():
        clause = next((one for one in clauses if letters_of(part.head) in letters_of(one.text)), clauses[0])
        if part.own < APART or clause.mood in ("question", "role", "joke") or of_another(part.head) >= TOLD_OF_ANOTHER:
            continue
        states = {} if clause.mood == "hypothetical" else foods.states(part.head)
        cannot = "allergic" if message.patterns["allergic"].search(part.head) else "cannot"
        for how, thing in [
            *((cannot, word) for word in foods.words(part.head)),
            *((how, one) for one, how in states.items()),
        ]:
            if how == "takes" or _is_stated(text, thing, part):
                yield clause, message.fact(how, thing)


def _is_stated(text: str, thing: str, part: FoodPart) -> bool:
    """Whether a thing of a part is told as what the user's body does not take, or as what rules some out.

    One that was typed with a slip stands under another name: then by all that the head says.
    """
    likely, own = frames.chance(text, thing, STATING) or frames.chance(text, part.head.strip(), STATING) or (0.0, 0.0)
    return own >= OWN if likely >= STATED else part.own >= SURE


def refuted(draft: FactDraft, text: str) -> bool:
    """Whether what a draft says of the user's body lies nearer to what is somebody else's, a taste or over."""
    things = foods.named(draft.target)
    parts = [part for part in parts_of(text) if not things.isdisjoint(foods.named(part.head))]
    return bool(parts) and max(part.own for part in parts) < REFUTED


@lru_cache(maxsize=512)
def parts_of(text: str) -> tuple[FoodPart, ...]:
    """The parts of a message that name foods or what rules some out, in order."""
    pairs = list(_cut(text))
    masks = [foods.besides(one, FOOD, STATE).strip() for pair in pairs for one in pair]
    every, parts = [examples.of_food(mask) for mask in masks], list[FoodPart]()
    for at, (head, _) in enumerate(pairs):
        if not every[2 * at + 1] or _is_bare(masks[2 * at + 1]):
            continue
        # A part by what it and its head are near to, both alike; a head of mere names tells nothing.
        scores = every[2 * at + _is_bare(masks[2 * at]) : 2 * at + 2]
        others = [max(score for kind, score in one.items() if kind != examples.OWN) for one in scores]
        own = fmean(one[examples.OWN] - other for one, other in zip(scores, others, strict=True))
        is_near = max(one[examples.OWN] for one in scores) >= NEAR
        parts.append(FoodPart(head, own if is_near else min(own, -0.01)))
    return tuple(parts)


def _is_bare(mask: str) -> bool:
    return _BARE.fullmatch(mask) is not None


def _cut(text: str) -> Iterator[tuple[str, str]]:
    """(the words that name foods, all words up to the next that do) of each part; mere names go with what stands behind them."""
    ends = [match.span() for match in _CUT.finditer(text)]
    rows: list[list[int]] = []
    is_bare = False
    for (_, start), (end, _) in zip([(0, 0), *ends], [*ends, (len(text), 0)], strict=True):
        piece = text[start:end]
        names = bool(foods.words(piece) or foods.states(piece))
        if names and is_bare:
            rows[-1][1] = end
        elif names:
            rows.append([start, end, start if rows else 0, end])
        if rows:
            rows[-1][3] = end
        if piece.strip():
            is_bare = names and _is_bare(foods.besides(piece, FOOD, STATE))
    for first, last, begin, end in rows:
        yield text[first:last], text[begin:end]
