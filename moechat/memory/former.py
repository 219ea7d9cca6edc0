"""What held before: facts that something stands in place of by now, and those that are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moechat.model import Fact
from moechat.store.finding_records import visible

UNSAID = ("never_true", "not_worth")  # What such a ruling is about did not hold before either.


@dataclass(frozen=True)
class Former:
    """A fact that held before, and ``by`` what that is known: the current fact in its place, the ruling that ended it, or the
    fact itself, which says so."""

    fact: Fact
    by: Fact

    @property
    def until(self) -> str:
        """When it ended, as exactly as it was said; "" where nobody said."""
        return self.by.draft.until if self.by.draft.until != "past" else ""

    @property
    def is_over(self) -> bool:
        """Whether it was said to be over; else something else was said since."""
        return self.by.draft.kind == "ruling" or bool(self.by.draft.until)


def read(history: Sequence[Fact], current: Mapping[str, Fact], hidden: frozenset[str]) -> list[Former]:
    """What held before, of all facts of an owner, in their order; ``current`` are those that hold. What is only said better, of
    the same exchanges, never held before, nor did what was unsaid."""
    there = [fact for fact in history if visible([fact], hidden)]
    newer = {id_: fact for fact in there if fact.confirmed is not False for id_ in fact.supersedes}
    unsaid = {
        id_ for fact in there if fact.draft.keyword in UNSAID for id_ in fact.supersedes if fact.draft.kind == "ruling"
    }
    former = []
    for old in there:
        last, steps = old, 0
        while last.id in newer and last.id not in current and steps < len(newer):
            last, steps = newer[last.id], steps + 1
        ends = last.id != old.id and (last.id in current or last.draft.kind == "ruling")
        is_better = old.id in newer and not set(old.draft.sources).isdisjoint(newer[old.id].draft.sources)
        if old.id in current and old.draft.until:
            former.append(Former(old, old))
        elif ends and not is_better and old.id not in unsaid and last.id not in unsaid and old.draft.kind != "ruling":
            former.append(Former(old, last))
    return former
