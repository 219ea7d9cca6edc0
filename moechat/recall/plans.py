"""Plans on their way: which are due or overdue at a moment, and what became of those that an exchange tells of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from moechat.memory.episodes import EpisodeView
from moechat.model import Episode, Event, Hit
from moechat.store.protocols import Store

DUE, OVERDUE = timedelta(days=7), timedelta(days=14)  # A plan is spoken of from so long before it to so long after it.
MOST_PLANS = 4


def due(view: EpisodeView, store: Store, now: datetime, in_context: Collection[str]) -> list[Hit]:
    """The plans that are due, the earliest first, and those that are overdue and were in no prompt since. None is delicate, and
    none stands in the context anyway."""
    plans = []
    for episode in view.plans(now - OVERDUE, now + DUE):
        event = episode.event
        if event.happened is None or event.mark == "delicate" or not set(event.sources).isdisjoint(in_context):
            continue
        used = store.state.recalled(episode.id)
        if event.happened[1] >= now or used is None or used <= event.happened[1]:
            plans.append((event.happened[0], episode))
    plans.sort(key=lambda plan: plan[0])
    read_by_rules = {source for _, e in plans if e.by == "rules" for source in e.event.sources}
    beside = store.findings.citing(sorted(read_by_rules)) if read_by_rules else []
    by_model = [e.event for e in beside if e.by == "model"]  # closed by now, it may be
    return [
        Hit("diary", "plans", e.id, e.event.text, 1.0, e.at, e.event.sources, episode="event")
        for _, e in [plan for plan in plans if not _is_said_better(plan[1], by_model)][-MOST_PLANS:]
    ]


def _is_said_better(plan: Episode, by_model: Sequence[Event]) -> bool:
    """Whether a model read the same plan where the rules did: for the same days, in the same exchange."""
    event = plan.event
    return plan.by == "rules" and any(
        one.happened == event.happened and not set(one.sources).isdisjoint(event.sources) for one in by_model
    )


def became(store: Store, exchanges: set[str]) -> dict[str, list[Episode]]:
    """The later events that closed the plans of these exchanges, by exchange."""
    plans = [e for e in store.findings.citing(sorted(exchanges)) if e.event.status in ("planned", "open")]
    if not plans:
        return {}
    hidden = store.hidden()
    replaced = store.findings.superseded(hidden)
    later: dict[str, list[Episode]] = {}
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
