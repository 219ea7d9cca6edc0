"""The topic room: what a tab looks at, what a click does, and how the room is drawn. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from markupsafe import Markup

from moechat.agent import Agent
from moechat.errors import NotFound
from moechat.topic_path import ARROW, EVERYDAY, is_within, moved, parent_of
from moechat.web import topic_charts
from moechat.web.clicks import Action, Note, Visit
from moechat.web.drawing import macros
from moechat.web.memory_parts import speakers_of
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


def act(here: Visit, look: TopicLook, action: Action) -> TopicOutcome:
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
            return _ordered(here, look, do, action.get("value", ""))
    return look, Note()


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _ordered(here: Visit, look: TopicLook, do: str, value: str) -> TopicOutcome:
    """Rename, merge or move the chosen topic; its slices follow. ``value`` is the name, or the other topic."""
    topics, path, words = here.own.topics, look.topic, here.words
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
    except NotFound:
        return look, Note(words("topic_gone"), bad=True)
    top = moved(look.top, [(look.topic, path)]) if look.topic else look.top
    return TopicLook(topic=path, top=top, back=look.back), Note(words("done_move", path=crumbs(path)))


# ---- drawing


def drawn(here: Visit, look: TopicLook) -> str:
    """The room. Raises MoeChatError where the memories cannot be read."""
    agent, words, draw = here.own, here.words, macros("topics", here.words)
    now, width = agent.now(), min(max(here.width, NARROWEST), WIDEST)
    overview = agent.topics.overview(now)
    named = [node for node in overview["topics"] if node["path"] not in EVERYDAY.values()]
    untold = (
        overview["untold"] + sum(node["total"] for node in overview["topics"]) - sum(node["total"] for node in named)
    )
    days = topic_charts.busy(agent.memories.days(), overview["days"])
    if not days:
        return str(macros("parts", words).empty("no_topics"))
    top, nodes = _around(named, look.top)
    is_map = len(list(every(named))) > 1
    tiles, size = topic_charts.treemap(nodes, Canvas(words, now, look.topic), width) if is_map else (None, ())
    shown = topic_charts.weeks(days, now.date(), width, look.back)
    calendar = topic_charts.calendar(days, shown, words, now.date())
    return "".join((
        draw.map(_trail(top, words), tiles, size, named, untold),
        draw.calendar(
            **calendar, chosen=look.day, has_older=min(days) < shown.first.isoformat(), has_newer=look.back > 0
        ),
        _day(agent, look, words) if look.day else _slices(agent, look, words, list(every(named))),
    ))  # fmt: skip


def _around(nodes: Sequence[TopicNode], path: str) -> tuple[str, Sequence[TopicNode]]:
    """(topic, its children): the nearest topic at or above ``path`` that others lie below; all of them for none."""
    nearest: tuple[str, Sequence[TopicNode]] = ("", nodes)
    for node in every(nodes):
        if node["children"] and is_within(path, node["path"]):
            nearest = (node["path"], node["children"])
    return nearest


def _trail(path: str, words: Words) -> list[tuple[str, str]]:
    """(path, name) of the steps from all topics down to the one whose inside the map shows."""
    steps = [("", words("all_topics"))]
    for name in path.split(ARROW):
        steps.append((f"{steps[-1][0]}{ARROW}{name}" if steps[-1][0] else name, name))
    return steps if path else []


# ---- the slices of what is chosen


def _day(agent: Agent, look: TopicLook, words: Words) -> str:
    """A day as a page to read."""
    day, zone = date.fromisoformat(look.day), agent.now().tzinfo
    span = (datetime.combine(day, time.min, zone), datetime.combine(day, time.max, zone))
    exchanges = agent.memories.listed(["exchange"], span=span, sort="oldest", limit=0).memories
    kept = list(reversed(agent.topics.slices(day, agent.now())))
    return str(macros("topics", words).day(look.day, span[0], kept, exchanges, speakers_of(agent, words)))


def _slices(agent: Agent, look: TopicLook, words: Words, nodes: Sequence[TopicNode]) -> str:
    draw = macros("topics", words)
    if not look.topic:
        return str(draw.no_slices())
    episodes = agent.topics.slices(look.topic, agent.now())
    shown = episodes[: look.count]
    ids = (id_ for episode in shown for id_ in episode.event.sources)
    talk = {one.id: one for one in agent.memories.memories(ids)}
    rows = [
        {
            "episode": one,
            "topic": crumbs(one.event.topic),
            "talk": [talk[id_] for id_ in one.event.sources if id_ in talk],
        }
        for one in shown
    ]
    order, left = _order(look.topic, nodes, words), len(episodes) - len(shown)
    speakers = speakers_of(agent, words)
    return str(draw.slices(look.topic, crumbs(look.topic), len(episodes), rows, order, left, speakers))


def _order(path: str, nodes: Sequence[TopicNode], words: Words) -> Markup:
    """The forms that rename, merge and move the chosen topic."""
    offered = foremost(one for one in nodes if not is_within(one["path"], path))
    above, name = parent_of(path), path.rpartition(ARROW)[2]
    under = [("", words("top_level")), *((one, crumbs(one)) for one in sorted({*offered, *([above] if above else [])}))]
    into = [("", "—"), *((one, crumbs(one)) for one in offered)] if offered else []
    return Markup(macros("topics", words).order(path, name, above, into, under))
