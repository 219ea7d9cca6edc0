"""The head of the memory room: whose memories, of which kind, searched and filtered, and what can be written. Knows no Gradio."""

from __future__ import annotations

from datetime import datetime

from moechat.agent import Agent
from moechat.curation import by_hand
from moechat.errors import FieldError
from moechat.topic_path import EVERYDAY
from moechat.web.draw import button, escape
from moechat.web.memory_look import AUTHOR, KINDS, MINE, NEW, SORTS, MemoryLook
from moechat.web.memory_page import choice, field
from moechat.web.topic_charts import crumbs, every, foremost
from moechat.web.words import Words

REFRESH_S = 10  # While old talk is read, the room is drawn so often.


def drawn(agent: Agent, look: MemoryLook, total: int, words: Words) -> str:
    """The switches, the search and what can be written."""
    stores = "".join(_chip("store", words(f"store_{one}"), one, one == look.store) for one in KINDS)
    kinds = "".join(_chip("kind", words(f"kind_{one or 'all'}"), one, one == look.kind) for one in KINDS[look.store])
    is_list = look.store == MINE and look.kind != "letter"
    ticks = _chip("ticks", words("several"), "", look.ticks) if is_list else ""
    archive = _chip("archived", words("in_archive"), "", look.archived) if look.store == MINE else ""
    write = "".join(button("new", words(one), kind="primary", value=one) for one in NEW[look.store])
    hint = f'<p class="hint">{escape(words("author_told"))}</p>' if look.store == AUTHOR else ""
    label = escape(words("search"))
    count = (
        "" if look.kind == "letter" else f'<span class="total" role="status">{escape(words("found", n=total))}</span>'
    )
    undo = button("undo", words("undo")) if look.store == MINE and len(agent.memories.undo) else ""
    return (
        f'<header class="room-head"><div class="line"><div class="chips" role="group" aria-label="{escape(words("whose"))}">'
        f'{stores}</div><input type="search" name="q" data-live="search" value="{escape(look.search)}" '
        f'placeholder="{label}" aria-label="{label}" autocomplete="off" maxlength="200"></div>'
        f'<div class="line"><div class="chips" role="group" aria-label="{escape(words("kinds"))}">{kinds}{archive}{ticks}</div>'
        f"{count}</div>{_filters(agent, look, words) if is_list else ''}{hint}"
        f'<div class="line write">{write}{undo}{_thinking(agent, look, words)}</div>'
        f"{_past(agent, look, words)}</header>"
    )


def span_of(agent: Agent, look: MemoryLook) -> tuple[datetime, datetime] | None:
    """The time that the list is of; None for all of it, and where nobody understands it."""
    try:
        return by_hand.span_of(look.when, agent.now())
    except FieldError:
        return None


def _filters(agent: Agent, look: MemoryLook, words: Words) -> str:
    """By time, by topic, and in which order."""
    span = span_of(agent, look)
    meant = words.stretch(*span) if span else words("when_unread") if look.when.strip() else ""
    nodes = agent.topics.overview(agent.now())["topics"]
    paths = foremost(every(node for node in nodes if node["path"] not in EVERYDAY.values()))
    topics = [("", words("any_topic")), *((path, crumbs(path)) for path in paths)]
    sorts = [(one, words(f"sort_{one}")) for one in SORTS]
    return (
        f'<div class="filters">{field("when", words("filter_when"), look.when, hint=words("form_when"), note=meant, live="when")}'
        f"{choice('topic', words('field_topic'), topics, look.topic, live='of-topic')}"
        f"{choice('sort', words('sort'), sorts, look.sort, live='sort')}</div>"
    )


def _chip(do: str, label: str, value: str, pressed: bool) -> str:
    return (
        f'<button type="button" class="chip" data-do="{do}" data-value="{escape(value)}" '
        f'aria-pressed="{str(pressed).lower()}">{escape(label)}</button>'
    )


def _thinking(agent: Agent, look: MemoryLook, words: Words) -> str:
    """Among the reflections: how much must happen yet until the next, or that nobody is there to think."""
    if look.store == AUTHOR or look.kind != "reflection" or look.archived:
        return ""
    reflection = agent.reflection
    if not reflection.model().understands:
        return f'<p class="hint">{escape(words("think_needs_model"))}</p>'
    whole = reflection.settings().counter
    done = min(max(1 - reflection.counter(agent.now()) / whole, 0.0), 1.0) if whole > 0 else 1.0
    text = words("think_ready" if done >= 1 else "think_filling", percent=round(100 * done))
    return button("think", words("think_now")) + f'<span class="hint">{escape(text)}</span>'


def _past(agent: Agent, look: MemoryLook, words: Words) -> str:
    """Over the letter: what the rules alone have read, and what it costs to have a model read it."""
    if look.store == AUTHOR or look.kind != "letter":
        return ""
    work = agent.past.work()
    if work.standing in ("nothing", "no_model"):
        return ""
    cost = words("past_cost", calls=words.count("n_calls", work.calls), tokens=f"{work.tokens:,}")
    days, exchanges = words.count("n_days", work.days), words.count("n_exchanges", work.exchanges)
    text = words(f"past_{work.standing}", exchanges=exchanges, days=days, cost=cost)
    offered = work.standing == "offered"
    act = button("past", words("past_begin")) if offered else button("past-stop", words("past_stop"))
    refresh = "" if offered else f' data-refresh="{REFRESH_S}"'
    return f'<div class="line past"{refresh}><span class="hint">{escape(text)}</span>{act}</div>'
