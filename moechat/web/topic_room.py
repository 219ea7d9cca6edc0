"""The topic room: what a tab looks at, what a click does, and how the room is drawn. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from moechat.agent import Agent
from moechat.curation.catalogue import Memory
from moechat.model import Episode
from moechat.topic_path import ARROW, EVERYDAY, is_within, moved, parent_of
from moechat.web import memory_page, topic_charts
from moechat.web.draw import button, dated, escape, tag, to_person
from moechat.web.memory_page import Speakers, choice, field
from moechat.web.memory_room import speakers_of
from moechat.web.notes import Action, Note
from moechat.web.topic_charts import Canvas, TopicNode, crumbs, every, foremost
from moechat.web.words import Words

SLICES = 20  # A page of slices.
NARROWEST, WIDEST = 260, 1100


@dataclass(frozen=True)
class TopicLook:
    """``topic`` or ``day`` (ISO) is what is chosen, ``top`` the topic whose inside the map shows ("": all of them); ``back`` how
    many screens of the calendar ago; ``count`` slices shown."""

    topic: str = ""
    top: str = ""
    day: str = ""
    back: int = 0
    count: int = SLICES


TopicOutcome = tuple[TopicLook, Note]


def act(agent: Agent, look: TopicLook, action: Action, words: Words) -> TopicOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    match action.get("do", ""):
        case "topic":
            top = action.get("top", look.top)
            return TopicLook(topic=action.get("topic", ""), top=top, back=look.back), Note()
        case "day":
            day = action.get("day", "")
            chosen = day if day != look.day and _is_day(day) else ""
            return TopicLook(day=chosen, top=look.top, back=look.back), Note()
        case "back":
            return replace(look, back=max(0, look.back + (1 if action.get("value") == "1" else -1))), Note()
        case "more-slices":
            return replace(look, count=look.count + SLICES), Note()
        case "rename" | "merge" | "move" as do:
            return _ordered(agent, look, do, action.get("value", ""), words)
    return look, Note()


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _ordered(agent: Agent, look: TopicLook, do: str, value: str, words: Words) -> TopicOutcome:
    """Rename, merge or move the chosen topic; its slices follow. ``value`` is the name, or the other topic."""
    topics, path = agent.topics, look.topic
    try:
        if do == "rename" and value.strip():
            path = topics.rename(path, value)
        elif do == "merge" and value:
            path = topics.merge(path, value)
        elif do == "move":
            name = path.rpartition(ARROW)[2]
            path = topics.move(path, f"{value}{ARROW}{name}" if value else name)
        else:
            return look, Note(words("needs_words"), bad=True)
    except ValueError:
        return look, Note(words("topic_bad"), bad=True)
    top = moved(look.top, [(look.topic, path)]) if look.topic else look.top
    return TopicLook(topic=path, top=top, back=look.back), Note(words("done_move", path=crumbs(path)))


# ---- drawing


def drawn(agent: Agent, look: TopicLook, words: Words, width: int) -> str:
    """The room, for so many pixels. Raises MoeChatError where the memories cannot be read."""
    now, width = agent.now(), min(max(width, NARROWEST), WIDEST)
    overview = agent.topics.overview(now)
    named = [node for node in overview["topics"] if node["path"] not in EVERYDAY.values()]
    untold = (
        overview["untold"] + sum(node["total"] for node in overview["topics"]) - sum(node["total"] for node in named)
    )
    talks = agent.memories.days()
    days = {
        day: max(talks.get(day, 0), overview["days"].get(day, 0))
        for day in sorted(talks.keys() | overview["days"].keys())
    }
    if not days:
        return _empty(words, "no_topics")
    canvas = Canvas(words, now, look.topic)
    chosen = _day(agent, look, words) if look.day else _slices(agent, look, words, list(every(named)))
    return _map(named, untold, look, canvas, width) + _calendar(days, look, words, now.date(), width) + chosen


def _around(nodes: Sequence[TopicNode], path: str) -> tuple[str, Sequence[TopicNode]]:
    """(topic, its children): the nearest topic at or above ``path`` that others lie below; all of them for none."""
    nearest: tuple[str, Sequence[TopicNode]] = ("", nodes)
    for node in every(nodes):
        if node["children"] and is_within(path, node["path"]):
            nearest = (node["path"], node["children"])
    return nearest


def _map(topics: Sequence[TopicNode], untold: int, look: TopicLook, canvas: Canvas, width: int) -> str:
    """The topics as a map; a single one is a line. ``untold``: so many memories have no topic."""
    words = canvas.words
    top, nodes = _around(topics, look.top)
    rest = f'<p class="hint">{escape(words("untold", n=untold))}</p>' if untold else ""
    if len(list(every(topics))) < 2:
        alone = "".join(
            button("topic", f"{node['name']} · {words('slices', n=node['total'])}", topic=node["path"])
            for node in topics
        )
        return _chart("topic_map", "", "no_topics" if not topics else "one_topic", alone + rest, words)
    drawing = topic_charts.treemap(nodes, canvas, width)
    scale = _scale("long_ago", '<i class="warmths"></i>', "lately", words)
    return _chart("topic_map", _trail(top, words) + scale, "topic_map_told", drawing + rest, words)


def _scale(low: str, colours: str, high: str, words: Words) -> str:
    return f'<span class="scale" aria-hidden="true">{escape(words(low))}{colours}{escape(words(high))}</span>'


def _chart(name: str, beside: str, hint: str, drawing: str, words: Words) -> str:
    return (
        f'<section class="chart"><div class="chart-head"><h2>{escape(words(name))}</h2>{beside}</div>'
        f'<p class="hint">{escape(words(hint))}</p>{drawing}</section>'
    )


def _trail(path: str, words: Words) -> str:
    """Where in the tree the map stands, and the way back up."""
    if not path:
        return ""
    steps = [("", words("all_topics"))]
    for name in path.split(ARROW):
        steps.append((f"{steps[-1][0]}{ARROW}{name}" if steps[-1][0] else name, name))
    return (
        '<nav class="trail">'
        + "<i>›</i>".join(button("topic", name, topic=step, top=step) for step, name in steps)
        + "</nav>"
    )


def _calendar(days: Mapping[str, int], look: TopicLook, words: Words, today: date, width: int) -> str:
    shown = topic_charts.weeks(days, today, width, look.back)
    drawing = topic_charts.calendar(days, shown, words, today, look.day)
    older = button("back", f"‹ {words('before')}", value=1) if min(days) < shown.first.isoformat() else ""
    newer = button("back", f"{words('after')} ›", value=-1) if look.back else ""
    depths = "".join(f'<i class="depth" style="--depth:{depth}%"></i>' for depth in (0, 40, 60, 80, 100))
    beside = f'<span class="turn">{older}{newer}</span>{_scale("little", depths, "much", words)}'
    return _chart("calendar", beside, "calendar_told", drawing, words)


# ---- the slices of what is chosen


def _day(agent: Agent, look: TopicLook, words: Words) -> str:
    """A day as a page to read: what is remembered of it, then what was said, from morning to night."""
    day, zone, speakers = date.fromisoformat(look.day), agent.now().tzinfo, speakers_of(agent, words)
    span = (datetime.combine(day, time.min, zone), datetime.combine(day, time.max, zone))
    exchanges = agent.memories.listed(["exchange"], span=span, sort="oldest", limit=0).memories
    kept = "".join(
        f'<li><button type="button" class="sentence" data-do="show" data-id="{escape(one.id)}">'
        f"{escape(to_person(one.event.text, speakers.user))}</button></li>"
        for one in reversed(agent.topics.slices(day, agent.now()))
    )
    quotes = "".join(memory_page.quote(one, speakers, words, is_of_day=True) for one in exchanges)
    return (
        f'<section class="slices card day-page" data-arrive="{escape(look.day)}">'
        f'<h2 tabindex="-1">{escape(words.day(span[0]))}</h2>'
        f'<ul class="kept">{kept}</ul>{quotes or _empty(words, "nothing_said")}</section>'
    )


def _empty(words: Words, name: str) -> str:
    return f'<p class="empty">{escape(words(name))}</p>'


def _slices(agent: Agent, look: TopicLook, words: Words, nodes: Sequence[TopicNode]) -> str:
    if not look.topic:
        return f'<section class="slices">{_empty(words, "slices_hint")}</section>'
    episodes = agent.topics.slices(look.topic, agent.now())
    shown = episodes[: look.count]
    exchanges = {
        one.id: one for one in agent.memories.memories(id_ for episode in shown for id_ in episode.event.sources)
    }
    speakers = speakers_of(agent, words)
    listed = "".join(
        _slice(episode, [exchanges[id_] for id_ in episode.event.sources if id_ in exchanges], speakers, words)
        for episode in shown
    )
    left = len(episodes) - len(shown)
    more = button("more-slices", words("more", n=left), kind="more") if left > 0 else ""
    order = _order(look.topic, nodes, words) if episodes else ""
    gone = "" if episodes else _empty(words, "topic_gone")
    return (
        f'<section class="slices" data-arrive="{escape(look.topic)}"><div class="chart-head">'
        f'<h2 tabindex="-1">{escape(crumbs(look.topic))}</h2>'
        f'<span class="total">{escape(words("slices", n=len(episodes)))}</span></div>'
        f"{order}{listed}{gone}{more}</section>"
    )


def _slice(episode: Episode, exchanges: Sequence[Memory], speakers: Speakers, words: Words) -> str:
    event = episode.event
    topic = f'<span class="path">{escape(crumbs(event.topic))}</span>' if event.topic else ""
    then = ""
    if exchanges:
        quotes = "".join(memory_page.quote(exchange, speakers, words) for exchange in exchanges)
        then = f"<details><summary>{escape(words('said_then', n=len(exchanges)))}</summary>{quotes}</details>"
    own = "" if episode.by == "author" else button("show", words("in_memories"), id=episode.id)
    return (
        f'<article class="slice {escape(episode.kind)}"><p class="meta">{tag(episode.kind, words)}'
        f"{dated(episode.at, words)}{topic}</p>"
        f'<p class="text">{escape(to_person(event.text, speakers.user))}</p><div class="below-slice">{then}{own}</div></article>'
    )


def _order(path: str, nodes: Sequence[TopicNode], words: Words) -> str:
    """The forms that rename, merge and move the chosen topic."""
    outside = [one for one in nodes if not is_within(one["path"], path)]
    offered = foremost(outside)
    above, name = parent_of(path), path.rpartition(ARROW)[2]
    under = [("", words("top_level")), *((one, crumbs(one)) for one in sorted({*offered, *([above] if above else [])}))]
    into = [("", "—"), *((one, crumbs(one)) for one in offered)]
    forms = _one_line("rename", path, field("value", words("new_name"), name), words)
    if outside:
        forms += _one_line("merge", path, choice("value", words("merge_into"), into), words)
    if outside or above:
        forms += _one_line("move", path, choice("value", words("move_under"), under, above), words)
    return (
        f'<details class="order" data-key="{escape(path)}"><summary>{escape(words("order"))}</summary>'
        f'<p class="hint">{escape(words("order_told"))}</p>{forms}</details>'
    )


def _one_line(do: str, path: str, inside: str, words: Words) -> str:
    return (
        f'<form class="form one-line" data-do="{do}" data-form="{do} {escape(path)}">{inside}'
        f'<button type="submit" class="act">{escape(words(do))}</button></form>'
    )
