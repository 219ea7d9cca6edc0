"""The diary: what was said, word for word, found again by its time and by its meaning."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.index.lexical import rarity
from moechat.language import words
from moechat.memory.diary_index import DiaryIndex
from moechat.memory.diary_vectors import DiaryVectors
from moechat.memory.relevance import LITERAL_SHARE, Floor
from moechat.model import Candidates, Episode, Exchange, Hit
from moechat.store.protocols import Store
from moechat.turn import exchange_text
from moechat.when import Span

MINUTE = timedelta(minutes=1)
SEARCH_DEPTH = 120  # A benchmark reads at least 100 of them.
SIDES = ("user", "char")
RARE = 6  # A word that so many sides of exchanges have tells of a matter.
WRITTEN_FIRST = 3  # So many events of an asked time that no exchange tells of stand before what was said then.
IDLE = ("is", "idle")  # An event with this predicate and object is none (generative agents).


@dataclass(frozen=True)
class DiaryMatch:
    """One side of an exchange that a search found."""

    hit: Hit
    inside: Span | None
    """The asked span that it was said or happened in."""
    relevant: bool
    """Whether it passes the floor under what enters a prompt unasked."""
    near: bool
    """Whether it is about the same by meaning, or has the words."""


class Diary:
    """The exchanges of one owner. Searches see what the last ``DiaryIndex.sync`` saw."""

    def __init__(self, store: Store, dense: Dense, *, user_name: str, character_name: str) -> None:
        self._store = store
        self._speakers = (user_name, character_name)
        self.index = DiaryIndex(store, dense, self._speakers)
        self.vectors = DiaryVectors(store, dense, self.index)

    def by_time(self, cue: Cue, *, threshold: float, check: bool) -> Candidates:
        """What was said in the spans that are asked for, or happened in them; a span that dates a remark recalls nothing.

        Ranked by relevance, so that a long span gives its best; the prompt shows it in order of time. ``check`` filters by
        meaning as well (``is_check_memorys``, ``mem_thresholds``).
        """
        if not asked_spans(cue):
            return []
        matches = [match for match in self._matches(cue, threshold) if match.inside is not None]
        spoken: Candidates = [
            (
                replace(match.hit, recipe="by_time", span=match.inside),
                "below_threshold" if check and not match.near else "",
            )
            for match in matches
        ]
        written = self._written(cue, check=check)
        return [*written[:WRITTEN_FIRST], *spoken, *written[WRITTEN_FIRST:]]

    def _written(self, cue: Cue, *, check: bool) -> Candidates:
        """Events in the asked spans that no exchange tells of (written by hand, imported), the most important first."""
        events: dict[str, tuple[Episode, Span]] = {}
        for span, episodes in self._happening(cue).items():
            happened = [e for e in episodes if e.kind == "event" and (e.event.predicate, e.event.object) != IDLE]
            exchanges = self._store.exchanges.of(
                list({source for episode in happened for source in episode.event.sources})
            )
            for episode in happened:
                if exchanges.keys().isdisjoint(episode.event.sources):
                    events.setdefault(episode.id, (episode, span))
        best = sorted(events.values(), key=lambda pair: -pair[0].event.importance)[:SEARCH_DEPTH]
        candidates: Candidates = []
        for episode, span in best:
            shared = sorted(set(cue.words).intersection(words.tokens(episode.event.text)))
            hit = Hit(
                "diary", "by_time", episode.id, episode.event.text, 0.0, episode.at,
                words=tuple(shared), span=span, episode="event",
            )  # fmt: skip
            candidates.append((hit, "below_threshold" if check and not shared else ""))
        return candidates

    def events(self, cue: Cue, *, threshold: float) -> Candidates:
        """The diary by meaning and words. What lies outside an asked span stays in the ranking and enters no prompt."""
        candidates: Candidates = []
        restricted = bool(asked_spans(cue))
        for match in self._matches(cue, threshold):
            outside = restricted and match.inside is None
            candidates.append((match.hit, "outside_span" if outside else "" if match.relevant else "below_threshold"))
        return candidates

    def _matches(self, cue: Cue, threshold: float) -> list[DiaryMatch]:
        """One search a cue, shared by the recipes of the diary."""
        return cue.once(f"diary {threshold}", lambda: self._search(cue, threshold))

    def _search(self, cue: Cue, threshold: float) -> list[DiaryMatch]:
        spans = asked_spans(cue)
        happened = self._tellers(self._happening(cue))
        hints = [span for span in cue.spans if span not in spans]
        ranks = list(self.index.search(cue.text, self._vector(cue), k=SEARCH_DEPTH, spans=spans, hints=hints).each())
        unranked = {2 * row for row in happened}.difference(doc for doc, *_ in ranks)
        ranks += [(doc, 0.0, {}, []) for doc in sorted(unranked)]
        rows = {row.row: row for row in self._store.exchanges.rows(list(dict.fromkeys(doc // 2 for doc, *_ in ranks)))}
        matches = self._unfiled(cue, spans)
        floor = Floor.of(cue.text, self.index.words, threshold)
        hidden = self._store.hidden()
        corrected = {node.id for node in self._store.tree.unfiled()}  # the day file cannot be written: it has old words
        for doc, score, features, shared in ranks:
            row = rows.get(doc // 2)
            if row is None or row.exchange.id in hidden or row.exchange.id in corrected:
                continue
            hit = _hit(row.exchange, doc % 2, score, features, shared)
            inside = next((s for s in spans if s.covers(row.exchange.at)), None) or happened.get(doc // 2)
            if inside is None and features.get("inside"):
                inside = spans[0]  # its words tell of that time
            matches.append(DiaryMatch(hit, inside, floor.passes(features), floor.near(features)))
        return sorted(matches, key=lambda match: match.inside is None)

    def _vector(self, cue: Cue) -> np.ndarray | None:
        """The vector of the question without the names of user and character.

        In a short text, a name outweighs the meaning.
        """
        bare = self.index.words.without_names(cue.text)
        if bare == cue.text or cue.embed is None:
            return cue.vector
        vectors = cue.once("vector without names", lambda: cue.embed([bare]))  # type: ignore[misc]
        return None if vectors is None else vectors[0]

    def _tellers(self, happening: Mapping[Span, Sequence[Episode]]) -> dict[int, Span]:
        """Rows of the exchanges about something that happened in a span."""
        rows: dict[int, Span] = {}
        for span, happened in happening.items():
            ids = list(dict.fromkeys(source for episode in happened for source in episode.event.sources))
            for row in self._store.exchanges.by_ids(ids).values():
                rows.setdefault(row.row, span)
        return rows

    def _happening(self, cue: Cue) -> Mapping[Span, Sequence[Episode]]:
        """What happened in the spans that are asked for."""
        return cue.once("happening", lambda: {span: self.index.episodes_during(span) for span in asked_spans(cue)})

    def _unfiled(self, cue: Cue, spans: Sequence[Span]) -> list[DiaryMatch]:
        """Hits for exchanges that stand in the log alone, because they have not settled or their day file is broken.

        What another talk has not settled is its own.
        """
        tree, hidden = self._store.tree, self._store.hidden()
        cue_words = set(cue.words)
        matches = []
        for node in {node.id: node for node in [*tree.open(cue.talk), *tree.unfiled()]}.values():
            exchange = node.exchange()
            if node.id in hidden or not node.variants:
                continue
            for side, text in enumerate((exchange.sent, exchange.char)):
                shared = sorted(cue_words.intersection(words.tokens(text)))
                share = len(shared) / len(cue_words) if cue_words else 0.0
                inside = next((span for span in spans if span.covers(exchange.at)), None)
                if share or inside:
                    hit = _hit(exchange, side, share, {"share": share}, shared)
                    matches.append(DiaryMatch(hit, inside, share >= LITERAL_SHARE, share >= LITERAL_SHARE))
        return sorted(matches, key=lambda match: -match.hit.score)

    def day(self, span: Span) -> list[Exchange]:
        """Everything that was said in a span, in order of time."""
        hidden = self.index.hidden_documents()
        rows = [row for row in self.index.rows_during(span).tolist() if 2 * row not in hidden]
        return [row.exchange for row in self._store.exchanges.rows(rows)]

    def empty_spans(self, cue: Cue) -> list[Span]:
        """Spans that are asked for and hold no record."""
        if not cue.asks_time:
            return []
        nodes, hidden = [*self._store.tree.open(cue.talk), *self._store.tree.unfiled()], self._store.hidden()
        unfiled = [node.exchange().at for node in nodes if node.variants and node.id not in hidden]
        return [span for span in cue.spans if not self._has(span) and not any(map(span.covers, unfiled))]

    def _has(self, span: Span) -> bool:
        hidden = self.index.hidden_documents()
        if any(2 * row not in hidden for row in self.index.rows_during(span).tolist()):
            return True
        return bool(self._tellers({span: self.index.episodes_during(span)}))

    def widen(self, hits: Sequence[Hit]) -> list[Hit]:
        """Diary hits with the text of their whole exchange; episodes and others as they are."""
        exchanges = self._store.exchanges.of([hit.id for hit in hits if hit.is_exchange])
        user, char = self._speakers
        return [
            replace(hit, text=exchange_text(exchanges[hit.id], user, char)) if hit.id in exchanges else hit
            for hit in hits
        ]

    def with_words(self, text: str, count: int) -> list[Exchange]:
        """The exchanges that have the most words in common with a text, best first."""
        ranked = self.index.search(text, None, k=count, spans=(), hints=())
        rows = dict.fromkeys(doc // 2 for doc, *_ in ranked.each())
        return [row.exchange for row in self._store.exchanges.rows(list(rows))]

    def rare_words(self, stems: Collection[str]) -> dict[str, float]:
        """Those of the words that few sides of exchanges have (``RARE``, or the cube root of all if that is more; in a young
        diary a tenth), with how rare each is."""
        lexical = self.index.words.lexical
        count = lexical.count
        most = min(max(RARE, count ** (1 / 3)), max(2.0, count / 10))
        rarest_common = float(rarity(most, count))
        ordered = sorted(stems)
        worth = zip(ordered, lexical.idf(ordered).tolist(), strict=True)
        return {stem: value for stem, value in worth if value >= rarest_common}

    def unlogged(self, before: datetime | None, count: int) -> list[Exchange]:
        """The last exchanges of the day files before a moment (None: of all) that have no log entry, oldest first."""
        moment = before.timestamp() if before else math.inf
        rows = self._store.exchanges.before(moment, count)
        return [row.exchange for row in rows if row.exchange.id not in self._store.tree]


def asked_spans(cue: Cue) -> list[Span]:
    """The spans that memories must lie in to be recalled.

    A time that only dates a remark is not among them. Nor is a vague stretch up to now (最近, recently) in a question
    about some matter; there it is only a hint.
    """
    if not cue.asks_time:
        return []
    vague = [span for span in cue.spans if span.granularity == "range" and abs(span.end - cue.now) < MINUTE]
    if not vague or len(cue.spans) > len(vague):
        return [span for span in cue.spans if span not in vague]
    rest = cue.text
    for span in vague:
        rest = rest.replace(span.phrase, " ")
    return [] if len(set(words.keywords(rest))) > 1 else vague


def _hit(exchange: Exchange, side: int, score: float, features: dict[str, float], shared: Sequence[str]) -> Hit:
    text = (exchange.sent, exchange.char)[side]
    return Hit(
        "diary", "events", exchange.id, text, score, exchange.at, (exchange.id,), features, tuple(shared),
        side=SIDES[side],  # type: ignore[arg-type]
    )  # fmt: skip
