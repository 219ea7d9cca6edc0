"""Her daybook: what she wrote of each day. It is a record that nothing is made from, and it comes up only where her day is asked
after, by how near that is to the examples in ``reading/asked``.
"""

from __future__ import annotations

from typing import Final

from moechat.clock import local
from moechat.cue import Cue
from moechat.model import Fact, Hit
from moechat.reading.asked import HER_DAY, asked
from moechat.store.kinds import Store

RECIPE: Final = "daybook"
MOST = 2


def pages(store: Store) -> list[Fact]:
    """Those whose every source may be seen, the oldest first."""
    hidden = store.hidden()
    return [
        fact for fact in store.findings.facts()
        if fact.draft.kind == RECIPE and hidden.isdisjoint((fact.id, *fact.draft.sources))
    ]  # fmt: skip


def for_message(store: Store, cue: Cue) -> list[Hit]:
    """The pages of the days that a message names and asks her after, the newest ones; the last page where it names no day."""
    if HER_DAY not in asked(cue.text):
        return []
    written = pages(store)
    if cue.spans:
        written = [one for one in written if any(span.start <= one.since < span.end for span in cue.spans)][-MOST:]
    line = "{day:%Y-%m-%d}: {text}"
    return [
        Hit("core", RECIPE, one.id, line.format(day=local(one.since, store.zone), text=one.text), 1.0, one.at, one.draft.sources)
        for one in written[-1 if not cue.spans else 0 :]
    ]  # fmt: skip
