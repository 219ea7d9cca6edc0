"""Recall, one pipeline for all layers: recipes side by side, fused into one order, merged, within a token budget.

A recipe is data: which layer, which search, which weight, limit and threshold. It gives candidates, best first; one that may
not enter the prompt comes with the reason. Whatever is left out on the way is listed as dropped, with its reason.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, field, replace

from moechat.cue import Cue
from moechat.language.words import count_tokens
from moechat.model import Candidates, Dropped, Hit, Layer, Recollection
from moechat.when import Span

log = logging.getLogger(__name__)
Key = tuple[str, str, str]  # layer, id and side of a memory
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
    """Tokens that recalled memory may take, and the share of them that each layer can count on."""

    tokens: int = 1500
    shares: Mapping[str, float] = field(default_factory=dict)
    longest: float = 0.4  # A memory that takes a larger share of the budget is shortened.


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
) -> Recollection:
    """Run the recipes and decide what enters the prompt.

    ``widen`` gives diary hits the text of their whole exchange. ``in_context`` are exchanges that the model sees anyway.
    """
    clock = _Timing()
    lists, notices = _run(cue, recipes, pool, deadline_s, clock)
    ranked = fused(recipes, lists)
    clock.lap("fuse")
    dropped = [Dropped(hit, why) for hits in lists.values() for hit, why in hits if why]
    passed = _limited(recipes, lists, dropped)
    merged = _merged([hit for hit in ranked if _key(hit) in passed], in_context, dropped)
    wide = [_sized(hit, budget) for hit in widen(merged)]
    clock.lap("merge")
    kept = _within(wide, budget, dropped)
    # An event that no exchange tells of is a record of its time too; a reflection is none.
    recorded = {hit.span for hit in ranked if hit.episode != "reflection"}
    empty = [span for span in empty_spans(cue) if span not in recorded]
    return Recollection(list(cue.spans), kept, dropped, empty, notices, clock.total(), ranked)


class _Timing:
    """Milliseconds by stage and by recipe."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self.ms: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.ms[name] = round((now - self._last) * 1000, 3)
        self._last = now

    def total(self) -> dict[str, float]:
        return self.ms | {"total": round((time.perf_counter() - self._start) * 1000, 3)}


def _run(
    cue: Cue, recipes: Sequence[Recipe], pool: Executor, deadline_s: float, clock: _Timing
) -> tuple[dict[str, Candidates], list[str]]:
    """All recipes side by side; one that fails or is late is reported and left out."""

    def timed(recipe: Recipe) -> Candidates:
        start = time.perf_counter()
        try:
            return recipe.run(cue)
        finally:
            clock.ms[recipe.name] = round((time.perf_counter() - start) * 1000, 3)

    futures: dict[Future[Candidates], Recipe] = {pool.submit(timed, recipe): recipe for recipe in recipes}
    wait(futures, timeout=deadline_s)
    lists: dict[str, Candidates] = {}
    notices: list[str] = []
    for future, recipe in futures.items():
        if not future.done():
            future.cancel()
            notices.append(f"{recipe.name}: later than {deadline_s * 1000:.0f} ms, left out")
        elif (error := future.exception()) is not None:
            log.error("recipe %s failed", recipe.name, exc_info=error)
            notices.append(f"{recipe.name}: failed ({error}), left out")
        else:
            lists[recipe.name] = future.result()
    clock.lap("recipes")
    return lists, notices


def _key(hit: Hit) -> Key:
    return hit.layer, hit.id, hit.side


def fused(recipes: Sequence[Recipe], lists: Mapping[str, Candidates]) -> list[Hit]:
    """One order by weighted reciprocal rank. A memory that several recipes found keeps the first recipe's hit, with the
    features of all."""
    scores: dict[Key, float] = {}
    hits: dict[Key, Hit] = {}
    for recipe in recipes:
        for rank, (hit, _) in enumerate(lists.get(recipe.name, ()), 1):
            key = _key(hit)
            scores[key] = scores.get(key, 0.0) + recipe.weight / (RRF_K + rank)
            first = hits.get(key)
            hits[key] = hit if first is None else _joined(first, hit)
    order = sorted(hits, key=lambda key: -scores[key])
    return [hits[key] for key in order]


def _joined(first: Hit, other: Hit) -> Hit:
    """Two hits on one memory: the first, with what it lacks from the other."""
    return replace(
        first,
        features={**other.features, **first.features},
        words=first.words or other.words,
        span=first.span or other.span,
        shorter=first.shorter or other.shorter,
    )


def _limited(recipes: Sequence[Recipe], lists: Mapping[str, Candidates], dropped: list[Dropped]) -> set[Key]:
    """The memories that some recipe lets pass, at most ``limit`` of each recipe."""
    passed: set[Key] = set()
    refused: dict[Key, Hit] = {}
    for recipe in recipes:
        taken: set[str] = set()
        for hit, why in lists.get(recipe.name, ()):
            if why:
                continue
            if recipe.limit and hit.id not in taken and len(taken) >= recipe.limit:
                refused[_key(hit)] = hit
                continue
            taken.add(hit.id)
            passed.add(_key(hit))
    dropped[:] = [d for d in dropped if _key(d.hit) not in passed]
    dropped += [Dropped(hit, "limit") for key, hit in refused.items() if key not in passed]
    return passed


def _merged(hits: Sequence[Hit], in_context: Collection[str], dropped: list[Dropped]) -> list[Hit]:
    """The hits with one diary hit per exchange, and without those whose exchanges stand in the context. Facts and lore
    stay as they are.

    An event of several exchanges gives way where all of them are shown; a reflection says something of its own.
    """
    exchanges = {hit.id for hit in hits if hit.is_exchange}
    shown: set[str] = set()
    order: list[Hit] = []
    for hit in hits:
        if hit.layer != "diary":
            order.append(hit)
        elif hit.id in in_context or (
            hit.episode == "event" and hit.sources and not set(hit.sources) - set(in_context)
        ):
            dropped.append(Dropped(hit, "in_context"))
        elif hit.id in shown or (hit.episode == "event" and hit.sources and exchanges.issuperset(hit.sources)):
            dropped.append(Dropped(hit, "merged"))
        else:
            shown.add(hit.id)
            order.append(hit)
    return order


def _sized(hit: Hit, budget: Budget) -> Hit:
    """The hit with its tokens counted, told in fewer words, or cut, where it alone would fill the budget."""
    longest = int(budget.tokens * budget.longest)
    fitting = _fitting(replace(hit, tokens=count_tokens(hit.text)), longest or budget.tokens)
    if fitting is not None or not longest:
        return fitting or replace(hit, tokens=count_tokens(hit.text))
    end = bisect_right(range(1, len(hit.text)), longest, key=lambda end: count_tokens(hit.text[:end] + "…"))
    text = hit.text[: max(1, end)] + "…"
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
    for layer, share in budget.shares.items():
        left = int(budget.tokens * share)
        for i, hit in enumerate(hits):
            if _shares(hit) == layer and hit.tokens <= left:
                chosen[i] = hit
                left -= hit.tokens
                used += hit.tokens
    for i, hit in enumerate(hits):
        if i not in chosen and (fitting := _fitting(hit, budget.tokens - used)) is not None:
            chosen[i] = fitting
            used += fitting.tokens
    dropped += [Dropped(hit, "budget") for i, hit in enumerate(hits) if i not in chosen]
    return [chosen[i] for i in sorted(chosen)]


def _shares(hit: Hit) -> str:
    """The name of the hit's share of the budget: its layer, except that reflections have a share of their own."""
    return "reflections" if hit.episode == "reflection" else hit.layer
