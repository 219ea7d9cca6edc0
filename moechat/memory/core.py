"""Core memory: what is known about the user, the character and their world; learned, shown or superseded,
and searched.

A fact that contradicts a known one supersedes it: a link on the new fact, resolved when read, so that taking the new one
back brings the old one up again. A fact is visible where any exchange that states it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from moechat.containment import NamedText
from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.index.vector_rows import Ints, Keys, text_key
from moechat.index.vectors import VectorTable, meets
from moechat.language import words
from moechat.memory.contradiction import NEVER_SEARCHED, FactView, FiledFacts, entity, keyword_class, relation
from moechat.model import Fact, FactDraft, Hit, Understanding
from moechat.reading.patterns import patterns
from moechat.rules.boundaries import concerns
from moechat.store.finding_records import APART, visible
from moechat.store.formats import derived_id
from moechat.store.kinds import Store

# What a question asks for, by the class of fact that answers it (contradiction.CLASSES), in whatever words.
ASKED = patterns(Path(__file__).with_name("asked.ini"))["asked"]
TABLE = "core"  # This table has their vectors, by text.
COMMON = 100  # A word that more facts have does not distinguish them.


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


def held_before(history: Sequence[Fact], current: Mapping[str, Fact], hidden: frozenset[str]) -> list[Former]:
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


@dataclass(frozen=True)
class FoundFacts(FactView):
    """Facts under one mask, and where their vectors stand."""

    table: VectorTable | None  # of the embedding model that serves
    kept_since: object  # the table, and how often it had lost a vector: what stood there since then stands there
    vectors: Ints  # by place, -1 for a fact that has none


@dataclass
class _Snapshot:
    """Some facts as they were last looked at, under a key that says whether they still are."""

    files: FiledFacts
    view: FoundFacts | None = None
    key: tuple[object, ...] = ()


class CoreMemory:
    """The facts of one owner, and the official ones of the character's author beside them.

    Reads are lock-free on a snapshot; a change of facts, mask or model makes a new one.
    """

    def __init__(
        self,
        store: Store,
        dense: Dense,
        official: Callable[[], Sequence[Fact]] = tuple,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        """``names`` are the user's and the character's."""
        self._store, self._dense, self._official = store, dense, official
        self._lock = threading.Lock()
        self._current, self._over = (_Snapshot(FiledFacts(*names, store.contained)) for _ in range(2))
        self._former: tuple[object, Sequence[Former]] | None = None

    def current(self) -> list[Fact]:
        """Visible facts that nothing visible supersedes, oldest first, the author's before them."""
        return list(self.view().facts)

    def off_limits(self, text: str) -> list[str]:
        """What is not to be raised, in all its names, unless ``text`` touches it."""
        now, targets = self.view(), list[str]()
        for target in filter(None, (fact.draft.target for fact in now.boundaries)):
            others = (now.facts[place].draft for word in target.split() for place in now.by_word(words.fold(word)))
            bonds = (one for one in others if one.kind == "relation" or keyword_class(one) == "partner")
            names = {name for one in bonds for name in (one.target, one.entity, one.keyword)} - NEVER_SEARCHED - {""}
            targets.append(" ".join([target, *sorted(names)]))
        return [target for target in targets if not concerns([target], text)]

    def history(self) -> list[Fact]:
        """All facts, superseded ones too, oldest first."""
        return self._store.findings.facts()

    def get(self, ids: Collection[str]) -> dict[str, Fact]:
        """Facts by id, superseded ones and the author's too, without what is hidden."""
        hidden = self._store.hidden()
        official = {fact.id: fact for fact in self._official() if fact.id in ids}
        facts = official | self._store.findings.fact_book().of(ids)
        return {id_: fact for id_, fact in facts.items() if visible([fact], hidden)}

    def former(self) -> Sequence[Former]:
        """What held before, the oldest first."""
        key = (self._store.findings.facts_generation(), self._store.hidden())
        if self._former is None or self._former[0] != key:
            self._former = key, held_before(self.history(), self.view().by_id, key[1])
        return self._former[1]

    def keys(self) -> Keys:
        """Those of the vectors of all facts, superseded ones too."""
        return [text_key(fact.text) for fact in (*self._official(), *self.history())]

    def search(self, cue: Cue, *, top_k: int, threshold: float, former: bool = False) -> list[Hit]:
        """Facts near the text: the ``top_k`` nearest with a score of at least ``threshold`` (seed 003), and those that
        share a content word with it, the same number at most. Best first. ``former``: of those that held before."""
        over = self.former() if former else ()
        now = self._seen(self._over, (over,), lambda: [one.fact for one in over]) if former else self.view()
        if not now.facts:
            return []
        scores: dict[int, float] = {}
        vector = cue.vector if now.table is not None else None
        if now.table is not None and vector is not None:
            places, cosines = now.table.nearest(vector, now.vectors, top_k)
            scores = {int(i): float(s) for i, s in zip(places, cosines, strict=True) if meets(s, threshold)}
        near = set(scores)
        shared = self._sharing(now, cue)
        if now.table is not None and vector is not None:
            places = np.array([i for i in sorted(shared.keys() - near) if now.vectors[i] >= 0], dtype=np.int64)
            cosines = now.table.dot(now.vectors[places], vector)
            scores |= dict(zip(places.tolist(), cosines.tolist(), strict=True))
        literal = sorted(shared, key=lambda i: (-len(shared[i]), -scores.get(i, 0.0), i))[:top_k]
        chosen = sorted(near | set(literal), key=lambda i: (-(scores.get(i, 0.0) + 0.2 * len(shared.get(i, ()))), i))
        hits = []
        for i in chosen:
            fact, score = now.facts[i], scores.get(i, 0.0)
            rests_on, parts, named = fact.draft.sources, {"relevance": score}, tuple(shared.get(i, ()))
            hits.append(Hit("core", "profile", fact.id, fact.text, score, fact.at, rests_on, parts, named))
        return hits

    def _sharing(self, now: FoundFacts, cue: Cue) -> dict[int, list[str]]:
        """Facts that have content words of the text, and which."""
        shared: dict[int, list[str]] = {}
        for word in sorted(set(cue.keywords)):
            having = now.by_word(word)
            for i in having if len(having) <= COMMON else ():
                shared.setdefault(i, []).append(word)
        for name, pattern in ASKED.items():
            if question := pattern.search(cue.text):
                for i in now.by_class(name)[-COMMON:]:
                    shared.setdefault(i, []).append(question[0])
        return shared

    def view(self) -> FoundFacts:
        """The current facts, and what finds them."""
        hidden, official, findings = self._store.hidden(), self._official(), self._store.findings
        return self._seen(
            self._current, (findings.facts_generation(), hidden, official),
            lambda: [one for one in visible([*official, *findings.facts()], hidden) if one.draft.kind not in APART],
        )  # fmt: skip

    def _seen(self, last: _Snapshot, of: tuple[object, ...], facts_of: Callable[[], list[Fact]]) -> FoundFacts:
        """Facts as they are, and what finds them; what was there before stays as it was. They are those ``of`` a key."""
        table = self._dense.table(TABLE)
        kept_since = (table, table and table.losses)
        key = (*of, kept_since)
        with self._lock:
            before = last.view
            if before is None or last.key != key:
                unswept, is_kept = self._dense.unswept(), before is not None and before.kept_since == kept_since
                facts = facts_of()
                if before is None or not is_kept or before.facts != facts:
                    places = dict[str, int]()
                    if before is not None and is_kept:
                        places = dict(zip((fact.text for fact in before.facts), before.vectors.tolist(), strict=False))
                    vectors = self._embedded(facts, places, unswept)
                    serves = table if len(vectors) else None
                    before = FoundFacts(last.files, last.files.filed(facts), serves, kept_since, vectors)
                last.view, last.key = before, key if unswept() else ()
            return before

    def _embedded(self, facts: Sequence[Fact], places: Mapping[str, int], unswept: Callable[[], bool]) -> Ints:
        """(n,) where the vectors of these facts stand, -1 for one that the model raises over; (0,) without a model. Those of
        texts that have ``places`` stay there."""
        vectors = np.array([places.get(fact.text, -1) for fact in facts], dtype=np.int64)

        def kept(part: Sequence[int]) -> tuple[list[int], Ints | None]:
            return list(part), self._dense.kept(TABLE, [facts[i].text for i in part], may_keep=unswept)

        lacking = np.flatnonzero(vectors < 0).tolist()
        for part, stand in self._store.contained.each(
            "vectors", lacking, lambda i: NamedText(facts[i].id, facts[i].text), kept
        ):
            if stand is None:
                return np.zeros(0, dtype=np.int64)
            vectors[part] = stand
        return vectors

    def learn(
        self, understanding: Understanding, at: Mapping[str, datetime], replacing: Collection[str]
    ) -> tuple[list[Fact], dict[str, list[str]]]:
        """The facts that an understanding makes or changes, and the known facts that were stated again (id → further sources).

        ``at`` gives each source exchange its time; the exchanges in ``replacing`` are being understood anew.
        """
        now, is_model = self.view(), understanding.by != "rules"
        citing = self._store.findings.fact_book().citing(replacing) if is_model else []
        earlier = {f.id: f for f in citing if f.draft.kind not in APART and not is_known(f, replacing)}
        return _Learning(  # what the rules read there before gives way to them
            lambda draft: [one for one in now.rivals(draft) if is_model or is_known(one, replacing)],
            earlier, now.by_id, understanding, at,
        ).result()  # fmt: skip


@dataclass(frozen=True)
class _Learning:
    """One understanding against the facts that are known: ``known_rivals`` gives those that a draft may restate or
    contradict. ``earlier`` are those that were found in the same exchanges, ``current`` all that hold, both by id."""

    known_rivals: Callable[[FactDraft], Sequence[Fact]]
    earlier: Mapping[str, Fact]
    current: Mapping[str, Fact]
    understanding: Understanding
    at: Mapping[str, datetime]
    changed: dict[str, Fact] = field(default_factory=dict)
    restated: dict[str, list[str]] = field(default_factory=dict)

    def result(self) -> tuple[list[Fact], dict[str, list[str]]]:
        for draft in self.understanding.facts:
            if draft.kind == "ruling":
                self._rule(draft)
            else:
                self._learn(draft)
        return list(self.changed.values()), self.restated

    def _rule(self, draft: FactDraft) -> None:
        """A ruling is about the facts that it names, and about what says the same."""
        ids = dict.fromkeys(self.understanding.replaces.get(draft, ()))
        ruled = [self.current[id_] for id_ in ids if id_ in self.current]
        others = [fact for old in ruled for fact in self.known_rivals(old.draft) if fact.by not in ("owner", "author")]
        ids |= {fact.id: None for fact in others if any(relation(fact.draft, old.draft) == "same" for old in ruled)}
        since = max((self.at[source] for source in draft.sources if source in self.at), default=None)
        if since is not None:
            id_ = derived_id(draft.text, draft.sources)
            if (there := self.changed.get(id_)) is not None:  # the same words end several
                ids |= dict.fromkeys(there.supersedes)
                draft = replace(draft, mark=draft.mark or there.draft.mark)
            self.changed[id_] = Fact(id_, since, draft, tuple(ids), self.understanding.by)

    def _learn(self, draft: FactDraft) -> None:
        same_words = {fact.text: fact for fact in self.earlier.values()}.get(draft.text)
        doubtful, replaced = draft in self.understanding.doubtful, self.understanding.replaces.get(draft, ())
        refined = next((self.earlier[id_] for id_ in replaced if id_ in self.earlier), None)
        apart = {*replaced, *([same_words.id] if same_words else [])}
        facts = {fact.id: fact for fact in self.known_rivals(draft)} | self.changed
        others = [(one, relation(draft, one.draft)) for one in reversed(facts.values()) if one.id not in apart]
        there = next((one for one, how in others if how == "same"), None)
        old, is_new = [there] if there else [one for one, how in others if how == "supersedes"], there is None
        if there and not same_words:
            if there.id in self.changed:
                return
            if there.id not in self.earlier:
                if not doubtful:
                    self.restated.setdefault(there.id, []).extend(draft.sources)
                return
            if there.by != "rules" or doubtful:  # Two who read the same confirm each other.
                self.changed[there.id] = replace(self.earlier[there.id], confirmed=True)
                return
            refined = refined or there  # the model says better what the rules read
        since = max((self.at[source] for source in draft.sources if source in self.at), default=None)
        if since is None or any(_stands_above(fact, draft, since) for fact in old):
            return
        links = [fact.id for fact in old if fact.since <= since] if is_new and not doubtful else []
        links += [id_ for id_ in replaced if not (same_words and same_words.id == id_)]
        links += [refined.id] if refined and refined is not same_words else []
        new = self._fact(draft, since, same_words, links)
        self.changed[new.id] = replace(new, confirmed=False) if doubtful and same_words is None else new
        # If an older exchange is understood late (it was corrected, say), what was said since then stands.
        for newer in old if is_new and not doubtful else ():
            if newer.since > since and newer.by not in ("owner", "author"):
                self.changed[newer.id] = replace(newer, supersedes=tuple(dict.fromkeys((*newer.supersedes, new.id))))

    def _fact(self, draft: FactDraft, since: datetime, same_words: Fact | None, links: Sequence[str]) -> Fact:
        by = self.understanding.by
        if same_words is None:
            return Fact(derived_id(draft.text, draft.sources), since, draft, tuple(dict.fromkeys(links)), by)
        same_words = self.changed.get(same_words.id, same_words)
        sources = tuple(dict.fromkeys((*same_words.draft.sources, *draft.sources)))
        links = tuple(dict.fromkeys((*same_words.supersedes, *links)))
        return replace(same_words, draft=replace(draft, sources=sources), by=by, confirmed=True, supersedes=links)


def _stands_above(fact: Fact, draft: FactDraft, since: datetime) -> bool:
    """Whether a draft must not touch a fact: the author wrote it of the character, or the owner of the same exchange or since."""
    if fact.by == "author":
        return entity(draft) == "character"
    return fact.by == "owner" and (fact.since >= since or not set(draft.sources).isdisjoint(fact.draft.sources))


def is_known(fact: Fact, replacing: Collection[str]) -> bool:
    """Whether a fact is known whatever is made of the exchanges in ``replacing``, which are being understood anew."""
    return fact.by == "owner" or not fact.draft.sources or not set(fact.draft.sources).issubset(replacing)
