"""The diary: what was said, word for word, found again by its time and by its meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from moechat.cue import Cue
from moechat.index import traits
from moechat.index.dense import Dense
from moechat.index.lexical import rarity
from moechat.index.ranking import LITERAL_SHARE, Floor, Ranked, in_turns
from moechat.language import words
from moechat.memory.diary_index import DiaryIndex
from moechat.memory.diary_vectors import DiaryVectors
from moechat.memory.episodes import Episodes
from moechat.model import Candidates, Episode, Exchange, Hit, LateHit
from moechat.store.kinds import Store
from moechat.turn import exchange_text
from moechat.when import Span

MINUTE = timedelta(minutes=1)
SEARCH_DEPTH = 120  # A benchmark reads at least 100 of them.
Side = Literal["user", "char"]
SIDES: tuple[Side, Side] = ("user", "char")
Reasons = tuple[float, Mapping[str, float], Sequence[str]]
"""The score of a hit, its parts, and the words of the question that it has."""
RARE = 6  # A word that no more sides of exchanges have tells of a matter.
ELSEWHERE = 3  # Exchanges of other days that come where a named time holds no answer.
WRITTEN_FIRST = 3  # Events of an asked time that no exchange tells of; they stand before what was said then.


class DiaryMatch(NamedTuple):
    """One side of an exchange that a search found."""

    hit: LateHit
    inside: Span | None
    """The asked span that it was said or happened in."""
    relevant: bool
    """Whether it passes the floor under what enters a prompt unasked."""
    near: bool
    """Whether it is about the same by meaning, or has the words."""


class _Judged(NamedTuple):
    """A search of the diary: for each hit whether it passes the floor under what enters a prompt unasked, and whether it is about
    the same; and whether anything of the past belongs to the cue."""

    ranked: Ranked
    relevant: Sequence[bool]
    near: Sequence[bool]
    belongs: bool


@dataclass(frozen=True, slots=True)
class _FoundSides:
    """The sides of exchanges that a search came upon, by number, and what makes hits of them."""

    exchanges: Sequence[Exchange]
    sides: Sequence[int]
    reasons: Callable[[int], Reasons]

    def hit(self, number: int, changes: Mapping[str, Any]) -> Hit:
        exchange, side, (score, features, shared) = self.exchanges[number], self.sides[number], self.reasons(number)
        hit = Hit(
            "diary", "events", exchange.id, (exchange.sent, exchange.heard)[side], score, exchange.at, (exchange.id,),
            features, tuple(shared), side=SIDES[side],
        )  # fmt: skip
        return replace(hit, **changes) if changes else hit


class Diary:
    """The exchanges of one owner. Searches see what the last ``DiaryIndex.sync`` saw. Of the ``episodes`` those of an asked time
    are found by it."""

    def __init__(
        self,
        store: Store,
        dense: Dense,
        episodes: Episodes,
        *,
        user_name: str,
        character_name: str,
    ) -> None:
        self._store, self._dense, self.episodes = store, dense, episodes
        self._speakers = (user_name, character_name)
        self.index = DiaryIndex(store, dense, self._speakers)
        self.vectors = DiaryVectors(store, dense, self.index)

    def by_time(self, cue: Cue, *, threshold: float, check: bool) -> Candidates:
        """What was said in the spans that are asked for, or happened in them; a span that dates a remark recalls nothing.

        Ranked by relevance, so that a long span gives its best; the prompt shows it in order of time. ``check`` filters by
        meaning as well (``is_check_memorys``, ``mem_thresholds``), where more than the time is asked about.
        """
        check = check and bool(cue.matter)
        if not asked_spans(cue):
            return []
        matches = [match for match in self._matches(cue, threshold) if match.inside is not None]
        spoken: Candidates = [
            (
                replace(match.hit, changes={"recipe": "by_time", "span": match.inside}),
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
            happened = [e for e in episodes if e.kind == "event"]
            exchanges = self._store.exchanges.of(
                list({source for episode in happened for source in episode.event.sources})
            )
            for episode in happened:
                if exchanges.keys().isdisjoint(episode.event.sources):
                    events.setdefault(episode.id, (episode, span))
        best = sorted(events.values(), key=lambda pair: -pair[0].event.importance)[:SEARCH_DEPTH]
        candidates: Candidates = []
        for episode, span in best:
            shared = sorted(set(words.tokens(cue.matter)).intersection(words.tokens(episode.event.text)))
            hit = Hit(
                "diary", "by_time", episode.id, episode.event.text, 0.0, episode.at,
                words=tuple(shared), span=span, episode="event",
            )  # fmt: skip
            candidates.append((hit, "below_threshold" if check and not shared else ""))
        return candidates

    def events(self, cue: Cue, *, threshold: float) -> Candidates:
        """The diary by meaning and words. What lies outside an asked span that holds an answer stays in the ranking and enters
        no prompt."""
        candidates: Candidates = []
        spans = self.required_spans(cue, threshold)
        elsewhere = set() if spans or not asked_spans(cue) else self._elsewhere(cue, threshold)
        for match in self._matches(cue, threshold):
            outside = match.inside is None and (bool(spans) or (bool(elsewhere) and match.hit.id not in elsewhere))
            candidates.append((match.hit, "outside_span" if outside else "" if match.relevant else "below_threshold"))
        return candidates

    def required_spans(self, cue: Cue, threshold: float) -> list[Span]:
        """The spans that memories must lie in to be recalled: those that are asked for, unless they hold nothing of the matter
        that is asked about, while another day does."""
        spans = asked_spans(cue)
        return [] if spans and self._elsewhere(cue, threshold) else spans

    def _elsewhere(self, cue: Cue, threshold: float) -> set[str]:
        """The best exchanges of other days, where the asked spans hold nothing about the matter; empty where they do."""

        def find() -> set[str]:
            matches = [match for match in self._matches(cue, threshold) if match.relevant]
            if not cue.matter or any(match.inside for match in matches):
                return set()
            return set(list(dict.fromkeys(match.hit.id for match in matches))[:ELSEWHERE])

        return cue.once(f"elsewhere {threshold}", find)

    def _matches(self, cue: Cue, threshold: float) -> list[DiaryMatch]:
        """One search a cue, shared by the recipes of the diary."""
        return cue.once(f"diary {threshold}", lambda: self._search(cue, threshold))

    def _search(self, cue: Cue, threshold: float) -> list[DiaryMatch]:
        spans = asked_spans(cue)
        happened = self._tellers(self._happening(cue))
        ranked, relevant, near, _ = self.judged(cue, threshold)
        tells = ranked.features["inside"].tolist()
        docs = ranked.docs.tolist()
        docs += sorted({2 * row for row in happened}.difference(docs))
        rows = {
            row.row: row.exchange for row in self._store.exchanges.rows(list(dict.fromkeys(doc // 2 for doc in docs)))
        }
        matches = self._unfiled(cue, spans)
        # What is not to be seen, and what was corrected where the day file cannot be written: it has old words.
        hidden, unfiled = self._store.hidden(), {node.id for node in self._store.tree.unfiled()}
        exchanges, sides, places = list[Exchange](), list[int](), list[int]()

        def reasons(number: int) -> Reasons:
            return ranked.reasons(places[number]) if places[number] < len(ranked) else (0.0, {}, ())

        make = _FoundSides(exchanges, sides, reasons).hit
        for i, doc in enumerate(docs):
            exchange = rows.get(doc // 2)
            if exchange is None or exchange.id in hidden or exchange.id in unfiled:
                continue
            inside = happened.get(doc // 2)
            if spans:
                inside = next((s for s in spans if s.covers(exchange.at)), None) or inside
            is_ranked, side = i < len(ranked), doc % 2
            if inside is None and is_ranked and tells[i]:
                inside = spans[0]  # its words tell of that time
            judged = (relevant[i], near[i]) if is_ranked else (False, False)
            hit = LateHit(("diary", exchange.id, SIDES[side]), make, len(places))
            matches.append(DiaryMatch(hit, inside, *judged))
            exchanges.append(exchange)
            sides.append(side)
            places.append(i)
        return sorted(matches, key=lambda match: match.inside is None)

    def judged(self, cue: Cue, threshold: float) -> _Judged:
        """The best sides of exchanges for a cue, and which of them are relevant to it."""
        return cue.once(f"judged {threshold}", lambda: _judge(self, cue, threshold))

    def ranked(self, cue: Cue, text: str, depth: int) -> Ranked:
        """The best ``depth`` sides of exchanges for a text of a cue's, whether they are relevant or not."""
        spans = asked_spans(cue)
        hints = [span for span in cue.spans if span not in spans]
        for span in hints:
            text = text.replace(span.phrase, " ") if span.is_vague else text  # "These days" is no word of the matter.
        bare = traits.without_names(text, self.index.words.speakers)
        if bare == cue.query or cue.embed is None:
            vectors = None if cue.vector is None else cue.vector[None]
        else:  # In a short text, a name outweighs the meaning.
            vectors = cue.once(f"vector of {bare}", lambda: cue.embed([bare]))  # type: ignore[misc]
        vector = None if vectors is None else self._dense.as_told(vectors)[0]
        return self.index.search(text, vector, k=depth, spans=spans, hints=hints)

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
        view = self.episodes.view
        return cue.once(
            "happening", lambda: {span: view(cue.now).during(span.start, span.end) for span in asked_spans(cue)}
        )

    def _unfiled(self, cue: Cue, spans: Sequence[Span]) -> list[DiaryMatch]:
        """Hits for exchanges that stand in the log alone."""
        cue_words = set(cue.words)
        matches = []
        for exchange in self._in_log_alone(cue):
            for side, text in enumerate((exchange.sent, exchange.heard)):
                own = set(words.tokens(text))
                shared = sorted(cue_words & own)
                share = len(shared) / len(cue_words) if cue_words else 0.0
                inside = next((span for span in spans if span.covers(exchange.at)), None)
                is_repeat = own <= cue_words and (not traits.asks(cue.query) or bool(traits.of(text) & traits.ASKS))
                if inside or (share and not is_repeat):
                    make = _FoundSides([exchange], [side], partial(_literal, share, shared)).hit
                    has_words = share >= LITERAL_SHARE
                    hit = LateHit(("diary", exchange.id, SIDES[side]), make, 0)
                    matches.append((share, DiaryMatch(hit, inside, has_words, has_words)))
        return [match for _, match in sorted(matches, key=lambda scored: -scored[0])]

    def _in_log_alone(self, cue: Cue) -> list[Exchange]:
        """The exchanges that have not settled, or whose day file is broken. What another talk has not settled is its own."""
        tree, hidden = self._store.tree, self._store.hidden()
        nodes = {node.id: node for node in [*tree.open(cue.talk), *tree.unfiled()]}
        return [node.exchange() for id_, node in nodes.items() if node.variants and id_ not in hidden]

    def day(self, span: Span) -> list[Exchange]:
        """Everything that was said in a span, in order of time."""
        hidden = self.index.hidden_documents()
        rows = [row for row in self.index.rows_during(span).tolist() if 2 * row not in hidden]
        return [row.exchange for row in self._store.exchanges.rows(rows)]

    def empty_spans(self, cue: Cue) -> list[Span]:
        """Spans that are asked for and hold no record, of those that have begun."""
        if not cue.asks_time:
            return []
        unfiled = [exchange.at for exchange in self._in_log_alone(cue)]
        begun = [span for span in cue.spans if span.start <= cue.now]
        documents, view = self.index.hidden_documents(), self.episodes.view(cue.now)
        return [
            span for span in begun
            if all(2 * row in documents for row in self.index.rows_during(span).tolist())
            and not self._tellers({span: view.during(span.start, span.end)}) and not any(map(span.covers, unfiled))
        ]  # fmt: skip

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
        rows = dict.fromkeys(doc // 2 for doc in ranked.docs.tolist())
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


def _judge(diary: Diary, cue: Cue, threshold: float) -> _Judged:
    """A message that asks several things is searched in its parts, which take turns; not where it names a time as well."""
    spans = asked_spans(cue)
    parts = (not spans and cue.parts) or [cue.query]
    rankings, relevant, near, belong = list[Ranked](), list[np.ndarray](), list[np.ndarray](), False
    for part in parts:
        ranked = diary.ranked(cue, part, SEARCH_DEPTH)
        # The words of a time that is asked for are no matter that the diary never heard of.
        floor = Floor.of((spans and cue.matter) or part, diary.index.words, threshold)
        belongs = bool(spans) or floor.belongs(ranked.features)
        rankings.append(ranked)
        relevant.append(np.broadcast_to(floor.passes(ranked.features), len(ranked)) & belongs)
        near.append(np.broadcast_to(floor.near(ranked.features), len(ranked)))
        belong = belong or belongs
    ranked, places = in_turns(rankings, SEARCH_DEPTH) if len(parts) > 1 else (rankings[0], slice(None))
    return _Judged(ranked, np.concatenate(relevant)[places].tolist(), np.concatenate(near)[places].tolist(), belong)


def asked_spans(cue: Cue) -> list[Span]:
    """The spans that memories should lie in to be recalled.

    A time that only dates a remark is not among them. Nor is a vague stretch up to now (最近, recently) in a question
    about some matter; there it is only a hint.
    """
    if not cue.asks_time:
        return []
    vague = [span for span in cue.spans if span.granularity == "range" and abs(span.end - cue.now) < MINUTE]
    if not vague or len(cue.spans) > len(vague):
        return [span for span in cue.spans if span not in vague]
    return [] if cue.matter else vague


def _literal(share: float, shared: Sequence[str], _: int) -> Reasons:
    return share, {"share": share}, shared
