"""Plans and promises whose day has come: each is asked after once, or three times in vain; and what became of those that an
exchange tells of.

A plan is due on its day (the last one where it lasts), or in the first talk after it, however late that is; a promise without a
day when they next talk. From then it stands in the tail of the prompt until her reply asks after it. What was shown, asked and
answered is kept in the owner's state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError
from moechat.language import words
from moechat.memory.episodes import EpisodeView
from moechat.model import Episode, Event, Exchange, Hit
from moechat.reading.saying import asks_by_form
from moechat.store.kinds import Store
from moechat.when.span import in_zone

RECIPE = "plans"
OVERDUE = timedelta(days=14)  # How long a plan that the talks since have passed over counts as due.
MOST_PLANS = 4
MEANT = 0.25  # A question whose cosine with a plan is this much asks after it, whatever its words.
CHARACTER = ("character", "角色")
_SENTENCE = re.compile(r"[^。！？!?\n]*(?:[。！？!?\n]+|\Z)")


def due(view: EpisodeView, store: Store, now: datetime, in_context: Collection[str], character: str) -> list[Hit]:
    """The plans that are due and were not asked after yet, the earliest first. None is delicate, and none stands in the context
    anyway. ``character`` is the name of who promises."""
    # When the last exchange was that is not in the context.
    tree = store.tree
    last = [next((id_ for id_ in tree.path(talk) if id_ not in in_context), "") for talk in list(tree.talks)]
    before = [exchange.at for exchange in store.exchanges.of(list(filter(None, last))).values()]
    since = min(now - OVERDUE, max(before, default=now))
    plans = [
        plan for plan in view.plans(since, now + timedelta(days=1), store.state.spent)
        if is_due(plan.event, now, character) and plan.event.mark != "delicate" and not was_asked(store, plan)
        and set(plan.event.sources).isdisjoint(in_context)
    ]  # fmt: skip
    plans.sort(key=lambda plan: plan.event.happened[0] if plan.event.happened else plan.since)
    by_rules = {source for plan in plans if plan.by == "rules" for source in plan.event.sources}
    beside = store.findings.citing(sorted(by_rules)) if by_rules else []
    others = [one.event for one in beside if one.by == "model"]  # closed by now, it may be
    kept: list[Episode] = []
    for plan in plans:
        said_better = plan.by == "rules" and any(is_same(plan.event, one) for one in others)
        if not said_better and not any(is_same(plan.event, one.event) for one in kept):
            kept.append(plan)
    return [
        Hit("diary", RECIPE, e.id, e.event.text, 1.0, e.at, e.event.sources, episode="event") for e in kept[:MOST_PLANS]
    ]


def is_due(event: Event, now: datetime, character: str) -> bool:
    """Whether the day of a plan, or its last, has come; a promise without a day is due at once."""
    if event.happened is None:
        return is_promise(event, character)
    return in_zone(event.happened[1], now.tzinfo).date() <= now.date()


def is_promise(event: Event, character: str) -> bool:
    """Whether the character, who has this name, has promised it and nothing is heard of it yet."""
    is_own = event.subject.casefold() in (*CHARACTER, character.casefold())
    return event.is_ahead and is_own and event.mark != "delicate"


def was_asked(store: Store, plan: Episode) -> bool:
    """Whether a prompt need not ask after a plan any more. One of a memory that is older than this record counts as asked after
    where it was in a prompt since its day."""
    if plan.id in store.state.spent:
        return True
    used, happened = store.state.recalled(plan.id), plan.event.happened
    return used is not None and happened is not None and used > happened[1] and plan.id not in store.state.plans


def is_same(one: Event, other: Event) -> bool:
    """Whether two plans are one: for the same days, in the same exchange or with a word in common."""
    return one.happened == other.happened and (
        not set(one.sources).isdisjoint(other.sources) or not _matter(one).isdisjoint(_matter(other))
    )


def _matter(event: Event) -> set[str]:
    """The telling words of an event."""
    text = f"{event.text} {event.object}"
    return {words.stem(word) for word in words.keywords(text, 20) if len(word) > 1} - {
        "用户",
        "角色",
        "user",
        "charact",
    }


# ---- what became of them


def asks_after(reply: str, event: Event, message: str, character: str) -> bool:
    """Whether a reply asks after a plan: with a question that has, or follows on, a word of it, or that means it; with
    any word of a promise, which she keeps or owns up to. ``message`` is what the reply answers."""
    sentences = [one for one in _SENTENCE.findall(reply) if one.strip()]
    matter, before = _matter(event), ""
    for sentence in sentences:
        near = _words(f"{before} {sentence}")
        if (is_promise(event, character) or asks_by_form(sentence)) and not matter.isdisjoint(near):
            return True
        before = sentence
    questions = [one for one in sentences if asks_by_form(one)]
    return bool(questions) and _means(questions, event.text, message)


def _words(text: str) -> set[str]:
    return {words.stem(word) for word in words.tokens(text)}


def _means(questions: Sequence[str], plan: str, message: str) -> bool:
    """Whether a question lies near to the plan, and nearer than to what was just said."""
    try:
        vectors = builtin().embed([plan, message or plan, *questions])
    except EmbeddingError:
        return False
    near = vectors[2:] @ vectors[:2].T
    return bool(((near[:, 0] >= MEANT) & ((near[:, 0] > near[:, 1]) | (not message))).any())


def keep(store: Store, exchanges: Iterable[Exchange], character: str) -> None:
    """Keep in the state what settled exchanges tell of plans that were due: that they stood in the prompt, that the reply asks
    after them, and that the user answers."""
    for exchange in exchanges:
        node = store.tree.nodes.get(exchange.id)
        hits = node.hits if node else ()
        at, state = exchange.at.isoformat(), store.state
        lately = (exchange.at - OVERDUE).isoformat()
        open_ = [id_ for id_, (_, asked_at, answered) in state.plans.items() if asked_at > lately and not answered]
        shown = [str(hit["id"]) for hit in hits if hit.get("recipe") == RECIPE]
        plans = {e.id: e.event for e in store.findings.by_ids([*open_, *shown]).values()} if open_ or shown else {}
        spoken, rows = _words(exchange.user) if plans else set[str](), dict[str, list[object]]()
        for id_, event in plans.items():
            turns, asked_at, answered = state.plans.get(id_, (0, "", ""))
            if asked_at and not answered and not _matter(event).isdisjoint(spoken):
                answered = at
            if id_ in shown:
                turns += 1
                asked_at = asked_at or (at if asks_after(exchange.heard, event, exchange.user, character) else "")
            rows[id_] = [turns, asked_at, answered]
        changed = {id_: row for id_, row in rows.items() if tuple(row) != state.plans.get(id_)}
        if changed:
            with store.writing("plans"):
                state.write([{"op": "plans", "rows": changed}])


def became(store: Store, exchanges: set[str], now: datetime) -> dict[str, list[Episode]]:
    """The plans of these exchanges that are to come, and the later events that closed one, by exchange."""
    plans = [e for e in store.findings.citing(sorted(exchanges)) if e.event.is_ahead]
    if not plans:
        return {}
    hidden = store.hidden()
    replaced = store.findings.superseded(hidden)
    later: dict[str, list[Episode]] = {}
    for plan in plans:
        ahead = plan.event.happened is not None and plan.event.happened[0] > now and plan.confirmed is not False
        if ahead and plan.id not in replaced and hidden.isdisjoint({plan.id, *plan.event.sources}):
            for source in exchanges.intersection(plan.event.sources):
                later.setdefault(source, []).append(plan)
    for closing in store.findings.superseding():
        for plan in plans:
            if (
                plan.id in closing.supersedes
                and closing.id not in replaced
                and hidden.isdisjoint({closing.id, *closing.event.sources})
            ):
                for source in exchanges.intersection(plan.event.sources):
                    later.setdefault(source, []).append(closing)
    return later
