"""Erasure: the bytes of what the owner wants forgotten go from every file of theirs.

``gone`` says what goes along: what was derived from an exchange, what rests on an event, what sums up a fact. ``erase``
removes it from day files, notes, core memory, the log (with what other entries quote), the state, the cache (with its free
pages), and copies that a crash left behind. The caller removes it from indexes, vectors and the saved context, and finds it
there by ``Gone.texts``. An erasure that was cut short can be repeated: an exchange is taken back first and leaves the log
last.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moechat.errors import DataError, MoeChatError
from moechat.model import Episode, Fact
from moechat.store import formats, paths, records
from moechat.store.files import FileStore
from moechat.store.finding_files import by_file
from moechat.store.log import Entry, encode
from moechat.store.records import Signature


@dataclass(frozen=True)
class Gone:
    """What is erased together, by id; ``texts`` are its words, as they stand and as they were embedded."""

    exchanges: Sequence[str] = ()
    episodes: Sequence[Episode] = ()
    facts: Sequence[Fact] = ()
    texts: Sequence[str] = ()

    @property
    def ids(self) -> list[str]:
        return [*self.exchanges, *(one.id for one in self.episodes), *(one.id for one in self.facts)]


# ---- what goes


def gone(store: FileStore, *, exchanges: Collection[str], episodes: Collection[str], facts: Collection[str]) -> Gone:
    """These, and all that was made from them.

    What the owner wrote or edited goes where nothing else that it rests on stays. ``facts`` are taken as they are: their
    history is the caller's to name.
    """
    lost_facts = _lost_facts(store, set(facts), exchanges)
    lost_episodes = _lost_episodes(store, set(episodes), exchanges)
    words = [text for e in store.exchanges.of(list(exchanges)).values() for text in (e.user, e.char) if text]
    words += [text for id_ in exchanges for text in _other_words(store, id_)]
    words += [e.event.text for e in lost_episodes] + [f.text for f in lost_facts]
    return Gone(list(dict.fromkeys(exchanges)), lost_episodes, lost_facts, list(dict.fromkeys(words)))


def _lost_facts(store: FileStore, ids: Collection[str], exchanges: Collection[str]) -> list[Fact]:
    """These, those that rest on the exchanges, and the sums of lost ones."""
    facts = store.findings.facts()
    lost = {fact.id for fact in facts if fact.id in ids or _rests(fact.by, fact.draft.sources, exchanges)}
    while sums := {f.id for f in facts if f.consolidated and f.id not in lost and lost.intersection(f.supersedes)}:
        lost |= sums
    return [fact for fact in facts if fact.id in lost]


def _lost_episodes(store: FileStore, ids: Collection[str], exchanges: Collection[str]) -> list[Episode]:
    """These, those that rest on the exchanges, and what was thought of lost ones."""
    episodes = _concerned(store, ids, exchanges)
    lost = {e.id for e in episodes if e.id in ids or _rests(e.by, e.event.sources, exchanges)}
    while thoughts := {e.id for e in episodes if e.id not in lost and _rests(e.by, e.evidence, lost)}:
        lost |= thoughts
    return [episode for episode in episodes if episode.id in lost]


def _rests(by: str, grounds: Sequence[str], lost: Collection[str]) -> bool:
    return all(g in lost for g in grounds) and bool(grounds) if by == "owner" else any(g in lost for g in grounds)


def _concerned(store: FileStore, ids: Collection[str], exchanges: Collection[str]) -> list[Episode]:
    """The episodes that may go: those that are asked for, that cite one of the exchanges, or that rest on others."""
    rows = set(store.findings.rows_of(list(ids)).values())
    rows.update(store.findings.rows_citing(list(exchanges)))
    rows |= set(store.cache.rows_with_evidence())
    return store.findings.episodes(sorted(rows))


def _other_words(store: FileStore, id_: str) -> list[str]:
    """Every reply to the exchange, and all words that the cache ever held of it, also from before a correction."""
    node = store.tree.nodes.get(id_)
    replies = [variant.char for variant in node.variants if variant.char] if node else []
    return replies + store.cache.every_text_of(id_)


# ---- how it goes


def erase(store: FileStore, lost: Gone) -> None:
    """Remove the bytes. Raises MoeChatError, before anything is written, where one of the exchanges is being answered or a
    file that holds some of it cannot be written."""
    with store.writing():
        check(store, lost)
        if back := [id_ for id_ in lost.exchanges if id_ in store.tree and id_ not in store.tree.retracted]:
            store.record([{"op": "retract", "id": id_} for id_ in back])
        _erase_derived(store, lost)
        _erase_said(store, lost.exchanges)
        if not store.cache.erase_dead():
            raise MoeChatError("another process reads the cache all the time: close it, then forget again")
        store.state.forget(lost.ids, refuse=_could_come_back(lost))
        _erase_entries(store, lost)
        _sweep(store)
        store.follow(all_files=True)


def check(store: FileStore, lost: Gone) -> None:
    """Raises MoeChatError where one of the exchanges is being answered, DataError where a file cannot be written."""
    for id_ in lost.exchanges:
        if store.is_streaming(id_):
            raise MoeChatError(f"exchange {id_} is being answered right now; wait for its end, then forget it")
    rows = store.cache.by_ids(lost.exchanges)
    names = {row.file for row in rows.values()} | set(store.cache.notes_files(lost.exchanges).values())
    names |= {file for _, file in store.cache.files_of_episodes([one.id for one in lost.episodes])}
    names |= {paths.CORE} if lost.facts else set()
    for name in sorted(names):
        for problem in store.problems_of(name):
            raise problem
    for name, ids in by_file((id_, row.file) for id_, row in rows.items()).items():
        _, parsed = records.read(store.folder / name)
        if any(record.key in ids and formats.is_moechat(record) for record in parsed.records):
            remedy = "it was written by MoeChat and is never written by us; take the record out by hand, then forget it"
            raise DataError(store.folder / name, remedy)


def _erase_derived(store: FileStore, lost: Gone) -> None:
    """The owner's own first; then what the exchanges gave, whose other sources are queued anew."""
    cited = set(lost.exchanges)
    store.findings.drop_episodes([episode.id for episode in lost.episodes if episode.by == "owner"])
    store.findings.drop_facts([fact.id for fact in lost.facts if fact.by == "owner"])
    _uncite(store, cited)
    store.findings.drop(lost.exchanges)
    store.findings.drop_episodes([episode.id for episode in lost.episodes])
    store.findings.drop_facts([fact.id for fact in lost.facts])


def _uncite(store: FileStore, cited: set[str]) -> None:
    """Remove these exchanges from the sources of the owner's records that rest on others as well."""
    facts = [f for f in store.findings.facts() if f.by == "owner" and cited.intersection(f.draft.sources)]
    store.findings.put_facts([replace(f, draft=replace(f.draft, sources=_left(f.draft.sources, cited))) for f in facts])
    episodes = [e for e in store.findings.citing(sorted(cited)) if e.by == "owner"]
    store.findings.drop_episodes([e.id for e in episodes])
    store.findings.put_episodes(
        [replace(e, event=replace(e.event, sources=_left(e.event.sources, cited))) for e in episodes]
    )


def _left(sources: Iterable[str], cited: set[str]) -> tuple[str, ...]:
    return tuple(source for source in sources if source not in cited)


def _erase_said(store: FileStore, ids: Sequence[str]) -> None:
    rows = store.cache.by_ids(ids)
    for name, gone_ in by_file((id_, row.file) for id_, row in rows.items()).items():
        path = store.folder / name
        data, parsed = records.read(path)
        left = records.spliced(data, parsed.bounds, dict.fromkeys(gone_))
        if left.strip():
            records.replace(path, left)
        else:
            path.unlink()
        with store.cache.transaction():
            store.cache.change_exchanges(name, dead=gone_, new=())
            store.sign(name, Signature.of(path))


def _could_come_back(lost: Gone) -> list[str]:
    """The facts and events that exchanges which stay would give again."""
    ids = set(lost.exchanges)
    facts = [fact.id for fact in lost.facts if not ids.issuperset(fact.draft.sources)]
    return facts + [episode.id for episode in lost.episodes if not ids.issuperset(episode.event.sources)]


def _erase_entries(store: FileStore, lost: Gone) -> None:
    """The log without these exchanges: what followed one of them follows what was before it now (where nothing of the
    selected path is left, the newest talk is selected). Replies no longer quote what they rested on."""
    path = store.folder / paths.LOG
    if not path.exists():
        return
    ids, exchanges = set(lost.ids), set(lost.exchanges)
    named = [_written(id_) for id_ in ids]
    marks = [*named, *map(_written, lost.texts)]

    def heir(id_: str | None) -> str | None:
        while id_ in exchanges:
            id_ = store.tree.parents.get(id_)
        return id_

    kept: list[bytes] = []
    before = path.read_bytes()
    for line in before.splitlines(keepends=True):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or "op" not in entry:  # damaged: as it is, where it says nothing of them
            kept += [] if any(mark in line for mark in marks) else [line]
        elif not any(id_ in line for id_ in named):
            kept.append(line)
        elif (left := _without(entry, exchanges, ids, heir)) is not None:
            kept.append(encode([left]))
    after = b"".join(kept)
    if after != before:
        records.replace(path, after)


def _written(text: str) -> bytes:
    """Text as it stands in a line of the log."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _without(entry: Entry, exchanges: set[str], ids: set[str], heir: Any) -> Entry | None:
    """A log entry without any mention of some exchanges; None if nothing is left of it."""
    left = dict(entry)
    if entry.get("id") in exchanges:
        follows = heir(entry["id"]) if entry["op"] in ("select", "cut") else None
        if follows is None:
            return None
        left.pop("variant", None)
        left["id"] = follows
    if "parent" in left:
        left["parent"] = heir(left["parent"])
    if isinstance(left.get("hits"), list):
        left["hits"] = [hit for hit in left["hits"] if not _quotes(hit, ids, exchanges)]
    if isinstance(left.get("ids"), list):
        left["ids"] = [id_ for id_ in left["ids"] if id_ not in exchanges]
        if not left["ids"]:
            return None
    if isinstance(left.get("rows"), list):
        left["rows"] = [[id_, heir(parent), *rest] for id_, parent, *rest in left["rows"] if id_ not in exchanges]
        if not left["rows"]:
            return None
    return left


def _quotes(hit: Any, ids: set[str], exchanges: set[str]) -> bool:
    return isinstance(hit, dict) and (hit.get("id") in ids or bool(exchanges.intersection(hit.get("sources") or ())))


def _sweep(store: FileStore) -> None:
    """Delete temporary files that a killed process left. The lock is held, so nobody else is writing."""
    for path in paths.unfinished_copies(store.folder):
        path.unlink(missing_ok=True)
