"""The past read anew: talk that the rules alone have read is read by a model once one has come and the owner wishes it.

Who read an exchange stands in its notes; the wish, and how far back it has come, in the log. A few exchanges at a time are
queued like any other, the newest first, so that a kill costs nothing and nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from math import inf
from typing import Literal

from moechat.clock import local
from moechat.language.words import count_tokens
from moechat.store.entries import Reread
from moechat.understanding import extraction
from moechat.understanding.roll import STANDING_TOKENS, TOPIC_TOKENS, Due, Roller

SAMPLE = 50  # The newest exchanges, which stand for the length of all.
ANSWER_TOKENS = 60  # An estimate of what a model says of one exchange.
MOST_DAYS = 100_000
Standing = Literal["nothing", "no_model", "offered", "going", "failing", "budget"]


@dataclass(frozen=True)
class PastWork:
    """What is left of the past to read: ``exchanges`` of ``days``, at the cost of about ``calls`` and ``tokens``.

    ``spent`` tokens of understanding are counted today, of ``budget`` (0: no limit). ``standing`` says why it waits.
    """

    standing: Standing
    exchanges: int
    days: int
    calls: int
    tokens: int
    spent: int
    budget: int


class Past:
    """The past of one owner, as ``roller`` reads it."""

    def __init__(self, roller: Roller) -> None:
        self._roller, self._layers, self._store = roller, roller.layers, roller.layers.store

    def begin(self, days: int = 0, *, again: bool = False) -> None:
        """Wish that the last ``days`` (0: all of it) are read anew; ``again``: also what a model has read, a lesser one say."""
        first = local(self._layers.now(), self._store.zone).date() - timedelta(days=min(days, MOST_DAYS) - 1)
        self._store.log.reread(Reread(first.isoformat() if days else "", again))

    def stop(self) -> None:
        """Wish it no more. What is being read is read to its end."""
        self._store.log.reread(None)

    def work(self) -> PastWork:
        """What there is to read, and why it waits."""
        rows = self._left(self._store.tree.reread or Reread())
        calls = -(-len(rows) // self._roller.batch)
        budget = self._layers.config().understanding.past_tokens_a_day
        tokens = self._tokens([id_ for _, id_ in rows], calls)
        days = len({local(datetime.fromtimestamp(t, UTC), self._store.zone).date() for t, _ in rows})
        return PastWork(self._standing(len(rows)), len(rows), days, calls, tokens, self._spent(), budget)

    def read_some(self, now: datetime) -> bool:
        """Queue as much as one call is asked about, and let the model read it. False where nothing was read."""
        wish = self._store.tree.reread
        if wish is None or not self._may_read(now):
            return False
        rows = self._left(wish)
        if not rows:
            self.stop()
            return False
        talk_of = self._store.tree.talk_of
        newest = list(takewhile(lambda row: talk_of(row[1]) == talk_of(rows[0][1]), rows[: self._roller.batch]))
        ids = [id_ for _, id_ in reversed(newest)]
        self._store.log.reread(replace(wish, until=newest[-1]), ids)
        has_read = self._roller.run(Due(tuple(ids)), now)
        self._store.usage.write()
        return has_read

    def _standing(self, count: int) -> Standing:
        now, is_wished = self._layers.now(), self._store.tree.reread is not None
        if not count:
            return "nothing"
        if not self._roller.model().understands:
            return "no_model"
        if not is_wished or self._may_read(now):
            return "going" if is_wished else "offered"
        return "failing" if self._roller.retry.waits(now) else "budget"

    def _may_read(self, now: datetime) -> bool:
        budget = self._layers.config().understanding.past_tokens_a_day
        within = not budget or self._spent() < budget
        return within and self._roller.model().understands and not self._roller.retry.waits(now)

    def _spent(self) -> int:
        today = self._layers.now().date().isoformat()
        days = self._store.usage.days()
        return sum(one.prompt + one.reply for one in days if (one.day, one.use) == (today, "understanding"))

    def _left(self, wish: Reread) -> list[tuple[float, str]]:
        """(epoch seconds, id) of what is left to read for a wish, the newest first; not what is queued already."""
        tree, first = self._store.tree, 0.0
        if wish.since:
            first = local(datetime.fromisoformat(wish.since), self._store.zone).timestamp()
        out = {*self._store.hidden(), *tree.pending(), *tree.unread(), *self._store.contained.ids("model")}
        rows = self._store.exchanges.read_by(("rules", "model") if wish.again else ("rules",))
        until = wish.until or (inf, "")
        return [row for row in rows if first <= row[0] and row < until and row[1] in tree and row[1] not in out]

    def _tokens(self, ids: Sequence[str], calls: int) -> int:
        """About what it takes to read these: the talk and the answers, and all that stands in each prompt beside them."""
        if not ids:
            return 0
        layers = self._layers
        newest = list(self._store.exchanges.of(ids[:SAMPLE]).values())
        talk = count_tokens(extraction.shown(newest, layers.prompts.language)) / len(newest)
        facts = sum(count_tokens(fact.text) for fact in layers.core.current()[-STANDING_TOKENS:])
        beside = [extraction.instructions(layers.prompts), layers.topics.tree_text(TOPIC_TOKENS)]
        each = sum(map(count_tokens, beside)) + min(facts, STANDING_TOKENS)
        return round(len(ids) * (talk + ANSWER_TOKENS)) + calls * each
