"""The keeper: looking after memories by hand, for every face (commands, page, HTTP).

What the owner edits becomes theirs: no understanding replaces it. A memory takes what it replaced along into the archive
and into oblivion; otherwise the older one would hold again. ``forget`` removes the bytes (``store.erasure``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import count
from typing import Any

from moechat.curation import by_hand, forgetting
from moechat.curation.catalogue import Catalogue, Memory
from moechat.curation.forgetting import Cleaning
from moechat.curation.letter import Letter, letter
from moechat.curation.read_beside import with_read_beside
from moechat.curation.repeats import repeats
from moechat.curation.undo import Undo
from moechat.errors import MoeChatError, NotFound
from moechat.memory.contradiction import relation
from moechat.model import Episode, Exchange, Fact, FactDraft, FactKind, RefusedItem
from moechat.recall.layers import Layers
from moechat.rules import reading as rules
from moechat.settings.schema import ForgettingSettings
from moechat.store import erasure, unknown
from moechat.store.backups import Exports
from moechat.store.formats import OWN, derived_id
from moechat.store.kinds import Store
from moechat.store.plain import storable
from moechat.understanding.consolidation import joined
from moechat.when import precision_of

_THIRD_PERSON = re.compile(r"^(?:用户|[Tt]he user)")


@dataclass(frozen=True)
class Preview:
    """What a forgetting would do: what ``goes``, which other exchanges ``repeat`` some of its words, and what the owner wrote
    or corrected of it and ``stays``, without its source. ``anew`` stay and are understood anew, since what was understood of them
    holds words of what goes. What is ``beside`` stays; a model made it that was shown some of it. ``files`` are unknown ones that
    hold some of it."""

    goes: Sequence[Memory]
    repeats: Sequence[Memory]
    stays: Sequence[Memory]
    anew: Sequence[Memory] = ()
    beside: Sequence[Memory] = ()
    files: Sequence[str] = ()


class Keeper(Catalogue):
    """A catalogue whose memories can be changed, hidden, brought back and erased; it has more than twenty methods because each
    of that is one of its own.

    ``change`` runs a change of the owner's files and makes all layers follow it, ``erase`` works off what is being forgotten.
    """

    def __init__(
        self,
        layers: Layers,
        limits: Callable[[], ForgettingSettings],
        change: Callable[..., None],
        erase: Callable[[], object],
    ) -> None:
        super().__init__(layers, limits)
        self.change, self._erase = change, erase
        self.exports = Exports(self._store.folder)
        self.undo = Undo(self._store)

    def letter(self) -> Letter:
        """What is known, as one would write it to the person it is about."""
        self._store.follow()
        return letter(self._layers)

    def take_back_change(self) -> list[str]:
        """Undo the last change by hand of this run. Returns the ids of what it touched, none where there is none."""
        touched: list[str] = []
        self.change(lambda: touched.extend(self.undo.take_back()))
        return touched

    def refused(self) -> list[RefusedItem]:
        """What was not believed of models' answers, newest first."""
        return self._store.findings.refused()[::-1]

    # ---- changing

    def _put(self, *findings: Fact | Episode) -> None:
        self.change(lambda: self._store.findings.put(findings))

    def edit(self, id_: str, text: str) -> Memory:
        """Give a memory other words. It becomes the owner's, with the id that it has; an exchange is corrected."""
        if not text.strip():
            raise MoeChatError("a memory needs words; to be rid of it, archive or forget it")
        text = text.strip()
        details = self.get(id_)
        self.undo.note([id_])
        finding = next(iter(self._store.findings.with_ids([id_])), None)
        if details.memory.kind == "exchange":
            words = storable(text)
            self.change(lambda: self._store.log.correct(id_, user=words))
        elif isinstance(finding, Fact):
            self._put(replace(finding, draft=self._said(finding.draft, text), by="owner", consolidated=False))
        elif finding is not None:
            self._put(replace(finding, event=replace(finding.event, text=text), by="owner"))
        return self.get(id_).memory

    def edit_event(self, id_: str, **details: Any) -> Memory:
        """Give an event another ``text``, ``happened`` (a span, or None: no time), ``place``, ``keywords``, ``topic`` or
        ``importance``; what is not named stays. It becomes the owner's. Raises NotFound."""
        episode = self._store.findings.by_ids([id_]).get(id_)
        if episode is None:
            raise NotFound(f"there is no event {id_!r}; `moechat memories list` shows them")
        span = details.get("happened", episode.event.happened)
        details["precision"] = precision_of(*span) if span else "unknown"
        if "keywords" in details:
            details["keywords"] = tuple(details["keywords"])
        self.undo.note([id_])
        self._put(replace(episode, event=replace(episode.event, **details), by="owner"))
        return self.get(id_).memory

    def together(self, ids: Sequence[str]) -> str:
        """What several memories say, in one text."""
        return joined([one.text for one in self.memories(ids)])

    def merge(self, ids: Sequence[str], text: str) -> Memory:
        """Make one of several facts, or of several events: it says ``text``, is the owner's and replaces them. Raises
        MoeChatError where they are not two or more of one kind."""
        self._require(ids)
        facts, events = self.facts(ids), self.events(ids)
        if len(set(ids)) < 2 or len(set(ids)) not in (len(facts), len(events)) or not text.strip():
            raise MoeChatError("choose two or more facts, or two or more events, and say them in words of yours")
        made = (
            _one_fact(facts, self._said(facts[-1].draft, text.strip())) if facts else _one_event(events, text.strip())
        )
        self.undo.note([*ids, made.id])
        self._put(made)
        return self.get(made.id).memory

    def _said(self, draft: FactDraft, text: str) -> FactDraft:
        """A fact in other words: what it is about, and whether it affirms or denies it, as far as the rules read them."""
        if draft.entity == "user":
            text = by_hand.of_user(text)
            spoken = _THIRD_PERSON.sub(lambda match: "I" if match[0][0].isascii() else "我", text)
            facts = rules.understand(Exchange("", self.now(), spoken, "")).facts
            if len(facts) == 1:
                kept = {name: getattr(draft, name) for name in ("sources", "kind", "entity", "generic")}
                return replace(facts[0], text=text, **kept)
        return replace(draft, text=text, target=draft.target if draft.target in text else "")

    def add_fact(
        self,
        text: str,
        *,
        entity: str = "user",
        keyword: str = "",
        target: str = "",
        kind: FactKind = "attribute",
        polarity: int = 1,
        single: bool = False,
    ) -> Memory:
        """A fact that the owner writes. It replaces what it contradicts, and what says the same."""
        if not text.strip():
            raise MoeChatError("a fact needs words")
        whose = entity.strip() or "user"
        words = by_hand.of_user(text.strip()) if whose == "user" else text.strip()
        draft = FactDraft(words, (), kind, whose, keyword.strip(), target.strip(), polarity, single)
        self._store.follow()
        id_ = derived_id(draft.text, ())
        meets = [f for f in self._store.search.facts() if f.id != id_ and relation(draft, f.draft) != "other"]
        self.undo.note([id_])
        self._put(Fact(id_, self.now(), draft, tuple(f.id for f in meets), "owner"))
        return self.get(id_).memory

    def add_event(
        self,
        text: str,
        *,
        happened: str | date | tuple[datetime, datetime] | None = None,
        place: str = "",
        keywords: Sequence[str] = (),
        topic: str = "",
        importance: float | None = None,
    ) -> Memory:
        """An event that the owner writes: no exchange tells of it, it stands for itself in the notes of its day.

        ``happened`` as ``by_hand.span_of`` reads it, else what the words say. Keywords, topic and importance are found by
        rules where they are not given. Written twice, of the same time, it is one event. Raises FieldError.
        """
        if not text.strip():
            raise MoeChatError("an event needs words")
        text, now = text.strip(), self.now()
        span = happened if isinstance(happened, tuple) else by_hand.span_of(happened or "", now)
        self._store.follow()
        key, id_ = self._own_record(text, span)
        event = by_hand.event(
            text, key, now, span, self._layers.topics,
            place=place.strip(), keywords=keywords, topic=topic.strip(), importance=importance,
        )  # fmt: skip
        self.undo.note([id_])
        self._put(Episode(id_, by_hand.dated(span, now), event, "event", "owner"))
        forgetting.restore(self._store, [id_])  # where it lay in the archive
        return self.get(id_).memory

    def _own_record(self, text: str, span: tuple[datetime, datetime] | None) -> tuple[str, str]:
        """(record key, id) of an event of the owner's; another where that one has other words by now."""
        about = "/".join(moment.isoformat() for moment in span or ())
        for number in count():
            key = OWN + derived_id(text, (f"{about}{number or ''}",))
            id_ = derived_id(text, (key,))
            if (there := self._store.findings.by_ids([id_]).get(id_)) is None or there.event.text == text:
                return key, id_
        raise AssertionError

    def pin(self, ids: Sequence[str], on: bool = True) -> list[Memory]:
        """Pinned memories are never archived by themselves."""
        self._require(ids)
        self.undo.note(ids)
        with self._store.writing("pin"):
            self._store.state.write([{"op": "pin" if on else "unpin", "ids": list(ids)}])
        return self.memories(ids)

    def confirm(self, ids: Sequence[str]) -> list[Memory]:
        """Say that findings in doubt are true: they stand as confirmed from now on. Returns those that were in doubt."""
        self._require(ids)
        findings: list[Fact | Episode] = [*self.facts(ids), *self.events(ids)]
        doubted = [replace(one, confirmed=True) for one in findings if one.confirmed is False]
        if doubted:
            self.undo.note([one.id for one in doubted])
            self._put(*doubted)
        return self.memories(one.id for one in doubted)

    def end(self, ids: Sequence[str]) -> list[Memory]:
        """Say that these hold no longer: facts are told as what was, plans not any more; boundaries and pages of her
        daybook go into the archive."""
        self._require(ids)
        lifted = [one.id for one in self.facts(ids) if one.draft.kind in ("boundary", "daybook")]
        day, is_zh = f"{self.now():%Y-%m-%d}", self._layers.character().language == "zh"
        rulings = []
        for id_ in dict.fromkeys(id_ for id_ in ids if id_ not in lifted):
            # It has no word of what it ends: that may be forgotten.
            text = f"不再如此（{day}）" if is_zh else f"No longer so ({day})"
            draft = FactDraft(text, (), "ruling", keyword="ended", until=day)
            rulings.append(Fact(derived_id(text, (id_,)), self.now(), draft, (id_,), "owner"))
        self.undo.note([*ids, *(one.id for one in rulings)])
        if rulings:
            self._put(*rulings)
        forgetting.archive(self._store, lifted)
        return self.memories(ids)

    def archive(self, ids: Sequence[str]) -> list[Memory]:
        """Hide, and keep. Returns what is archived with them."""
        self._require(ids)
        self.undo.note(ids)
        return self.memories(forgetting.archive(self._store, ids))

    def restore(self, ids: Sequence[str]) -> list[Memory]:
        """Bring back. Returns what came back."""
        self._require(ids)
        self.undo.note(ids)
        return self.memories(forgetting.restore(self._store, ids))

    def _require(self, ids: Sequence[str]) -> None:
        """Raises NotFound where one is not there."""
        self._store.read_all()
        if missing := sorted(set(ids) - {one.id for one in self.memories(ids)}):
            raise NotFound(f"there is no memory {missing[0]!r}; `moechat memories list` shows them")

    def clean(self, *, dry_run: bool = False) -> tuple[Cleaning, list[Memory]]:
        """Archive what goes now, or (``dry_run``) only tell."""
        work = forgetting.cleaning if dry_run else forgetting.clean
        self._store.read_all()
        done = work(self._store, self.now(), self.limits(), by_hand=True)
        return done, self.memories(done.goes)

    # ---- forgetting

    def forgets(self, ids: Sequence[str]) -> Preview:
        """What ``forget`` would do, before it is done."""
        self._require(ids)
        lost = _gone(self._store, ids)
        goes, stays = self.memories(lost.ids), self.memories(lost.kept)
        files = unknown.holding(self._store.folder, erasure.words_of(self._store, lost))
        anew, beside = self.memories(lost.anew), self.memories(lost.beside)
        return Preview(goes, self.memories(repeats(self._layers, lost)), stays, anew, beside, files)

    def forget(self, ids: Sequence[str], files: Sequence[str] = ()) -> list[Memory]:
        """Erase these and what was made of them, for good, and unknown ``files`` by name. Returns what they were.

        What the owner wrote or corrected stays unless it is among them. Raises MoeChatError where one of them is being
        answered, DataError where a file that holds some of it is broken, NotFound.
        """
        self._require(ids)
        return self.erase(ids, files)

    def erase(self, ids: Sequence[str], files: Sequence[str] = ()) -> list[Memory]:
        """The same, also of what is hidden."""
        forgotten: list[Memory] = []

        def hide() -> None:
            lost = _gone(self._store, ids)
            forgotten.extend(self.memories(lost.ids))
            unknown.erase(self._store.folder, files)
            erasure.forget(self._store, lost)
            self.undo.clear()

        self.change(hide, self._erase)
        return forgotten

    def takes_back(self, batch: str) -> erasure.Gone:
        """What ``take_back`` would erase, by id. Raises NotFound."""
        self._store.follow()
        return erasure.imported(self._store, batch)

    def take_back(self, batch: str) -> erasure.Gone:
        """Erase an import as a whole, with what was understood of it. Returns what it was, by id. Raises NotFound."""
        lost: list[erasure.Gone] = []
        self.change(lambda: lost.append(erasure.take_back(self._store, batch)), self._erase)
        return lost[0]


def _gone(store: Store, ids: Sequence[str]) -> erasure.Gone:
    facts, links = store.findings.fact_book().of(ids), store.findings.links()
    episodes = set(store.findings.by_ids(ids))
    exchanges = [id_ for id_ in ids if id_ not in facts and id_ not in episodes]
    lost = erasure.gone(
        store,
        exchanges=exchanges,
        episodes=forgetting.with_replaced(sorted(episodes), links),
        facts=forgetting.with_replaced(list(facts), links),
    )
    return with_read_beside(store, lost)


def _sources(several: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for sources in several for id_ in sources))


def _one_fact(facts: Sequence[Fact], draft: FactDraft) -> Fact:
    sources = _sources(fact.draft.sources for fact in facts)
    newest = max(facts, key=lambda fact: fact.since)
    id_ = derived_id(draft.text, sources)
    older = tuple(fact.id for fact in facts if fact.id != id_)
    return Fact(id_, newest.at, replace(draft, sources=sources), older, "owner", consolidated=True)


def _one_event(events: Sequence[Episode], text: str) -> Episode:
    sources = _sources(one.event.sources for one in events)
    newest = max(events, key=lambda one: one.since)
    spans = [one.event.happened for one in events if one.event.happened]
    span = (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None
    event = replace(
        newest.event, text=text, sources=sources, keywords=_sources(one.event.keywords for one in events), happened=span,
        precision=precision_of(*span) if span else "unknown", importance=max(one.event.importance for one in events),
    )  # fmt: skip
    id_ = derived_id(text, sources)
    return Episode(id_, newest.at, event, by="owner", supersedes=tuple(one.id for one in events if one.id != id_))
