"""Recall, one pipeline for all layers: recipes side by side, fused into one order, merged, within a token budget.

A recipe is data: which layer, which search, which weight, limit and threshold. It gives candidates, best first; one that may
not enter the prompt comes with the reason. Whatever is left out on the way is listed as dropped, with its reason.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, wait
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from moechat.cue import Cue
from moechat.index import traits
from moechat.language.words import count_tokens
from moechat.model import Candidates, Dropped, Hit, Key, LateHit, Layer, Recollection
from moechat.recall.fragments import fair_length, passage
from moechat.when import Span
from moechat.worker import COURTESY, lazy

log = logging.getLogger(__name__)
DATES_TOKENS = 30  # The other days on which the same was told.
Found = Sequence[Hit | LateHit]
"""What the recipes came upon of one memory, the first recipe's first."""
RRF_K = 60  # A memory at this rank of a list counts half of what the first counts (Cormack et al. 2009).


@dataclass(frozen=True)
class Recipe:
    """``run`` gives (hit, why it is dropped or ""), best first. ``limit`` 0: as many as the search itself gives."""

    name: str
    layer: Layer
    run: Callable[[Cue], Candidates]
    weight: float = 1.0
    limit: int = 0


@dataclass(frozen=True)
class Budget:
    """Tokens that recalled memory may take, and the share of them that each layer can count on; ``book`` are those for what an
    author's rules have brought."""

    tokens: int = 1500
    shares: Mapping[str, float] = field(default_factory=dict)
    book: int = 2000
    longest: float = 0.4  # A memory that takes a larger share of the budget is shortened, however few there are.


def recall(
    cue: Cue,
    recipes: Sequence[Recipe],
    *,
    pool: Executor,
    deadline_s: float,
    budget: Budget,
    widen: Callable[[Sequence[Hit]], Sequence[Hit]],
    in_context: Collection[str] = (),
    empty_spans: Callable[[Cue], Sequence[Span]] = lambda _: (),
    unanswered: Callable[[Cue], Sequence[Span]] = lambda _: (),
    withheld: Callable[[Hit], bool] = lambda _: False,
) -> Recollection:
    """Run the recipes and decide what enters the prompt.

    ``unanswered`` are asked spans that hold no answer, so that other days may give it. ``widen`` gives diary hits the text of
    their whole exchange. ``in_context`` are exchanges that the model sees anyway. ``withheld``: a hit is delicate, and the talk
    does not touch it.
    """
    laps, ms = [time.perf_counter()], dict[str, float]()
    lists, notices = _run(cue, recipes, pool, deadline_s, ms)
    laps.append(time.perf_counter())
    ranked = fused(recipes, lists)
    laps.append(time.perf_counter())
    passed, dropped = _limited(recipes, lists)
    merged = _merged([_joined(hits) for hits in ranked if hits[0].key in passed], in_context, dropped)
    kept_back = [withheld(hit) for hit in merged]
    dropped += [Dropped(hit, "delicate") for hit, is_kept_back in zip(merged, kept_back, strict=True) if is_kept_back]
    shown = [hit for hit, is_kept_back in zip(merged, kept_back, strict=True) if not is_kept_back]
    # One that alone would fill the budget, or leave others no room, is told in fewer words; an author's words are not.
    wide = [replace(hit, tokens=count_tokens(hit.text) + DATES_TOKENS * bool(hit.again)) for hit in widen(shown)]
    longest = fair_length((hit.tokens for hit in wide if not hit.why), budget.tokens)
    longest = min(longest, int(budget.tokens * budget.longest) or budget.tokens)
    wide = [hit if hit.why else _fitting(hit, longest) or _shortened(hit, longest) for hit in wide]
    laps.append(time.perf_counter())
    kept = _within(wide, budget, dropped)
    everything = _WholeHits(ranked)
    if empty := list(empty_spans(cue)):
        # An event that no exchange tells of is a record of its time too; a reflection is none.
        recorded = {hit.span for hit in everything if hit.episode != "reflection"}
        empty = [span for span in empty if span not in recorded]
    away = any(hit.layer == "diary" and hit.span is None for hit in kept)
    others = list(unanswered(cue)) if away else []
    taken_s = [end - begun for begun, end in pairwise(laps)] + [time.perf_counter() - laps[0]]
    ms = ms | {name: round(s * 1000, 3) for name, s in zip(("recipes", "fuse", "merge", "total"), taken_s, strict=True)}
    return Recollection(
        list(cue.spans), kept, dropped, empty, notices, ms, everything, elsewhere_spans=others, withheld=withheld
    )  # fmt: skip


class _WholeHits(Sequence[Hit]):
    """All hits of a recall in the fused order; few ever ask for them."""

    def __init__(self, memories: Sequence[Found]) -> None:
        self._memories = memories

    @lazy
    def _hits(self) -> list[Hit]:
        return [_joined(hits) for hits in self._memories]

    def __getitem__(self, i: Any) -> Any:
        return self._hits[i]

    def __len__(self) -> int:
        return len(self._memories)

    def __repr__(self) -> str:
        return repr(self._hits)


def _run(
    cue: Cue, recipes: Sequence[Recipe], pool: Executor, deadline_s: float, ms: dict[str, float]
) -> tuple[dict[str, Candidates], list[str]]:
    """All recipes, side by side, each with its ``ms``; one that fails or is late is reported and left out.

    One thread for all of them would take as much CPU time (11 ms at 100 exchanges, 14 at 1,000, 17 at 10,000, 22 at 100,000)
    and keep a message waiting longer at each size (on a busy machine 35, 66, 59, 92 ms against 15, 40, 38, 79).
    """

    def timed(recipe: Recipe) -> Candidates:
        start = time.perf_counter()
        try:
            return recipe.run(cue)
        finally:
            ms[recipe.name] = round((time.perf_counter() - start) * 1000, 3)

    pool = COURTESY.pool(pool)
    futures = [pool.submit(timed, recipe) for recipe in recipes]
    wait(futures, timeout=deadline_s)
    lists: dict[str, Candidates] = {}
    notices: list[str] = []
    for recipe, future in zip(recipes, futures, strict=True):
        if future.cancel() or not future.done():
            notices.append(f"{recipe.name}: later than {deadline_s * 1000:.0f} ms, left out")
        elif (error := future.exception()) is not None:
            log.error("recipe %s failed", recipe.name, exc_info=error)
            notices.append(f"{recipe.name}: failed ({error}), left out")
        else:
            lists[recipe.name] = future.result()
    return lists, notices


def fused(recipes: Sequence[Recipe], lists: Mapping[str, Candidates]) -> list[Found]:
    """One order by weighted reciprocal rank."""
    scores: dict[Key, float] = {}
    hits: dict[Key, Found] = {}
    for recipe in recipes:
        for rank, (hit, _) in enumerate(lists.get(recipe.name, ()), 1):
            key = hit.key
            score = recipe.weight / (RRF_K + rank)
            if key in hits:
                scores[key] += score
                hits[key] = (*hits[key], hit)
            else:
                scores[key], hits[key] = score, (hit,)
    order = sorted(hits, key=scores.__getitem__, reverse=True)
    return [hits[key] for key in order]


def _joined(hits: Found) -> Hit:
    """The first of the hits on one memory, with what it lacks from the others."""
    hit, *others = (one.whole() for one in hits)
    for other in others:
        hit = replace(
            hit,
            features={**other.features, **hit.features},
            words=hit.words or other.words,
            why=hit.why or other.why,
            span=hit.span or other.span,
            shorter=hit.shorter or other.shorter,
        )
    return hit


def _limited(recipes: Sequence[Recipe], lists: Mapping[str, Candidates]) -> tuple[set[Key], list[Dropped]]:
    """The memories that some recipe lets pass, at most ``limit`` of each recipe, and those that none does. The same telling again
    takes no place."""
    passed: set[Key] = set()
    refused: dict[Key, Hit | LateHit] = {}
    for recipe in recipes:
        taken: set[str] = set()
        tellings: set[str] = set()
        for hit, why in lists.get(recipe.name, ()):
            if why:
                continue
            telling = _telling(hit) if recipe.limit else ""
            if telling not in tellings:
                if recipe.limit and hit.id not in taken and len(taken) >= recipe.limit:
                    refused[hit.key] = hit
                    continue
                taken.add(hit.id)
            tellings |= {telling} - {""}
            passed.add(hit.key)
    dropped = [Dropped(hit, why) for hits in lists.values() for hit, why in hits if why and hit.key not in passed]
    dropped += [Dropped(hit, "limit") for key, hit in refused.items() if key not in passed]
    return passed, dropped


def _telling(hit: Hit | LateHit) -> str:
    """What a hit on words of the user's tells, whenever it was told; "" of others."""
    layer, _, side = hit.key
    return traits.telling_of(hit.whole().text) if (layer, side) == ("diary", "user") else ""


def _merged(hits: Sequence[Hit], in_context: Collection[str], dropped: list[Dropped]) -> list[Hit]:
    """The hits with one diary hit per exchange and per telling, its newest, and without those whose exchanges stand in the
    context. Facts and lore stay as they are.

    An event of several exchanges gives way where all of them are shown; a reflection says something of its own.
    """
    exchanges = {hit.id for hit in hits if hit.is_exchange}
    shown: set[str] = set()
    order: list[Hit] = []
    places: dict[str, int] = {}
    for hit in hits:
        telling = _telling(hit)
        if hit.layer != "diary":
            order.append(hit)
        elif hit.id in in_context or (
            hit.episode == "event" and hit.sources and not set(hit.sources) - set(in_context)
        ):
            dropped.append(Dropped(hit, "in_context"))
        elif hit.id in shown or (hit.episode == "event" and hit.sources and exchanges.issuperset(hit.sources)):
            dropped.append(Dropped(hit, "merged"))
        elif telling and telling in places:
            first = order[places[telling]]
            is_newer = hit.time and first.time and hit.time > first.time and (hit.span or not first.span)
            stands, goes = (hit, first) if is_newer else (first, hit)
            order[places[telling]] = replace(stands, again=(*first.again, *filter(None, [goes.time])))
            dropped.append(Dropped(goes, "merged"))
            shown.add(hit.id)  # What was replied to the same line goes with it.
        else:
            shown.add(hit.id)
            places[telling] = len(order)
            order.append(hit)
    return order


def _shortened(hit: Hit, tokens: int) -> Hit:
    text = passage(hit.shorter[-1] if hit.shorter else hit.text, tokens, hit.words)
    return replace(hit, text=text, tokens=count_tokens(text))


def _fitting(hit: Hit, tokens: int) -> Hit | None:
    """The hit in the longest of its lengths that takes ``tokens`` at most; None where none does."""
    if hit.tokens <= tokens:
        return hit
    for i, text in enumerate(hit.shorter):
        if (count := count_tokens(text)) <= tokens:
            return replace(hit, text=text, tokens=count, shorter=hit.shorter[i + 1 :])
    return None


def _within(hits: Sequence[Hit], budget: Budget, dropped: list[Dropped]) -> list[Hit]:
    """The best that fit: first each layer its share, then whatever is left in the fused order."""
    chosen: dict[int, Hit] = {}
    used = 0
    room = budget.book
    for i, hit in enumerate(hits):
        if hit.why and hit.tokens <= room:
            chosen[i] = hit
            room -= hit.tokens
    for layer, share in budget.shares.items():
        left = int(budget.tokens * share)
        for i, hit in enumerate(hits):
            # Reflections have a share of their own.
            own = "reflections" if hit.episode == "reflection" else hit.layer
            if i not in chosen and own == layer and hit.tokens <= left:
                chosen[i] = hit
                left -= hit.tokens
                used += hit.tokens
    for i, hit in enumerate(hits):
        if i not in chosen and (fitting := _fitting(hit, budget.tokens - used)) is not None:
            chosen[i] = fitting
            used += fitting.tokens
    dropped += [Dropped(hit, "budget") for i, hit in enumerate(hits) if i not in chosen]
    return [chosen[i] for i in sorted(chosen)]
