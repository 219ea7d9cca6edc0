"""Everything that a caller can see of a store, as plain values that can be compared with those of another store."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence

from moechat.model import Exchange
from moechat.store.kinds import Store
from moechat.store.search import KINDS
from moechat.store.tree import Tree

WORDS: Sequence[Sequence[str]] = (
    (), ("茶",), ("tea",), ("éclair",), ("茶", "绿"), ("жук",), ("line",), ("杭州",), ("计划",),
)  # fmt: skip


def view(store: Store) -> dict[str, object]:
    """Name → what is seen. Rows are told by the ids of what stands in them: numbers begin anew with every index."""
    numbers = {number: id_ for id_, number in _exchange_rows(store).items()}
    ids = [*sorted(store.tree.parents), *sorted(set(numbers.values()) - set(store.tree.parents))]
    seen: dict[str, object] = {}
    for part in (
        _exchanges(store, ids, numbers),
        _findings(store, ids),
        _search(store),
        _tree(store.tree),
        _state(store),
    ):
        seen |= dict(part)
    return seen


def _exchange_rows(store: Store) -> dict[str, int]:
    return {row.exchange.id: row.row for row in store.exchanges.filed()}


def _exchanges(store: Store, ids: Sequence[str], numbers: Mapping[int, str]) -> Iterator[tuple[str, object]]:
    exchanges = store.exchanges
    yield "exchanges.of", {id_: _plain(exchange) for id_, exchange in exchanges.of(ids).items()}
    rows = exchanges.by_ids(ids)
    yield "exchanges.by_ids", {id_: (_plain(rows[id_].exchange), rows[id_].tag, rows[id_].sha) for id_ in sorted(rows)}
    yield "exchanges.times", [(numbers[row], t) for row, t in exchanges.times()]
    yield "exchanges.sides", [(numbers[side.row], side.t, side.user, side.char) for side in exchanges.sides()]
    half = [row for row, id_ in numbers.items() if id_ in ids[::2]]
    yield "exchanges.sides_of", [(numbers[side.row], side.talk) for side in exchanges.sides_of(half)]
    yield "exchanges.read_by", {by: exchanges.read_by([by]) for by in ("rules", "model", "owner")}
    moments = sorted({t for _, t in exchanges.times()})[:: max(1, len(numbers) // 3)]
    for t, count in itertools.product([*moments, 4e9], (1, 3, 100)):
        yield f"exchanges.before {t} {count}", [row.exchange.id for row in exchanges.before(t, count)]
        hidden = store.hidden()
        for word, last in itertools.product(("", "茶", "éclair", "TEA"), (True, False)):
            yield f"time_said {word} {t} {last}", exchanges.time_said(word, t, last=last, hidden=hidden)
    live = [(row, t) for row, t, alive in store.exchanges.changed(0) if alive]
    yield "changes.exchanges", [(numbers[row], t) for row, t in live]
    count, problems = store.verify()
    missing = list(store.state.missing)  # what a hand has taken out is missed where it was
    yield "verify", (count, [problem for problem in problems if not any(id_ in problem for id_ in missing)])
    yield "problems", list(map(str, store.problems))


def _plain(one: Exchange) -> tuple[object, ...]:
    return one.id, one.at.timestamp(), one.user, one.char, one.status, one.talk, one.speaker, one.attachments


def _findings(store: Store, ids: Sequence[str]) -> Iterator[tuple[str, object]]:
    findings = store.findings
    births = findings.births()
    episodes = findings.by_ids([id_ for id_, *_ in births])
    yield "facts", findings.facts()
    yield (
        "notes",
        dict(sorted(findings.notes_of([*ids, *(s for e in episodes.values() for s in e.event.sources)]).items())),
    )
    yield "births", births
    yield "episodes", list(episodes.values())
    for id_ in ids:
        yield f"citing {id_}", [episode.id for episode in findings.citing([id_])]
    for word in ("", "茶", "éclair", "TEA"):
        yield f"time_happened {word}", findings.time_happened(word, 4e9, hidden=store.hidden())
    yield "reflections", [episode.id for episode in findings.reflections()]
    yield "refused", findings.refused()
    yield "superseding", [episode.id for episode in findings.superseding()]
    yield "superseded", findings.superseded(store.hidden())
    yield "links", dict(sorted(findings.links().items()))
    yield "changes.episodes", [(id_, episode) for _, id_, episode in store.findings.changed(0) if episode]


def _search(store: Store) -> Iterator[tuple[str, object]]:
    search = store.search
    times = sorted(t for _, t in store.exchanges.times())
    spans = [None, *([(times[len(times) // 3], times[2 * len(times) // 3])] if times else [])]
    for words, span in itertools.product(WORDS, spans):
        yield f"listed {words} {span}", search.listed(KINDS, words, span=span)
    for kinds, archived in itertools.product([KINDS, *((kind,) for kind in KINDS)], (False, True)):
        ids = search.listed(kinds, archived=archived)
        yield f"listed {kinds}{' archived' if archived else ''}", ids
        assert search.listed(kinds, archived=archived, sort="oldest") == ids[::-1]
        assert search.listed(kinds, archived=archived, limit=2, offset=1) == ids[1:3]
        assert search.count(kinds, archived=archived) == len(ids)
    yield "search.facts", [fact.id for fact in search.facts()]
    yield "search.replaced", search.replaced()


def _tree(tree: Tree) -> Iterator[tuple[str, object]]:
    yield "parents", dict(tree.parents)
    yield "numbered", tree.numbered()
    yield "talks", {name: (talk.leaf, talk.newest) for name, talk in sorted(tree.talks.items()) if talk.newest}
    yield "spoken", tree.spoken
    for name in sorted(tree.talks):
        yield f"path {name}", list(tree.path(name))
        yield f"context {name}", tree.context(name)
        yield f"open {name}", [node.id for node in tree.open(name)]
        yield f"pending {name}", tree.pending(name)
    yield "unfiled", [node.id for node in tree.unfiled()]
    yield "pending", tree.pending()
    yield "unread", tree.unread()
    yield "tree.hidden", sorted(tree.hidden())
    yield "off_path", sorted(tree.off_path())
    yield "taken_out", sorted(tree.taken_out())
    yield ("retracted", sorted(tree.retracted))
    yield "undropped", sorted(tree.undropped)
    yield "cuts", sorted(tree.cuts)
    yield "batches", {name: (b.talk, b.at, b.by, b.ids, b.done) for name, b in sorted(tree.batches.items())}
    yield "forgets", {number: sorted(ids) for number, ids in tree.forgets.items()}
    yield "forgettings", tree.forgettings
    for id_ in sorted(tree.parents):
        yield f"filed {id_}", tree.filed_hash(id_)
        yield f"talk of {id_}", tree.talk_of(id_)
    for id_ in sorted(id_ for id_, node in tree.nodes.items() if not node.folded):
        node = tree.nodes[id_]
        variants = [(v.char, v.status, v.error, _json(list(v.hits)), _json(v.spans), v.notice) for v in node.variants]
        yield (
            f"node {id_}",
            (node.parent, node.settled, node.understood, node.folded, node.status, node.chosen, variants),
        )


def _json(value: object) -> object:
    return json.loads(json.dumps(value))


def _state(store: Store) -> Iterator[tuple[str, object]]:
    state = store.state
    yield "hidden", sorted(store.hidden())
    yield "archived", sorted(state.archived)
    yield "pinned", sorted(state.pinned)
    yield "missing", {id_: at.timestamp() for id_, at in sorted(state.missing.items())}
    yield "strength", {id_: state.strength(id_) for id_ in sorted(state.access.keys() | state.gains.keys())}
    yield "recalled", {id_: state.recalled(id_) for id_ in sorted(state.access)}
    yield "updated", {id_: state.updated(id_) for id_ in sorted(state.gains)}
    yield "topics", state.topics
    yield "forgotten", sorted(state.forgotten)
