"""The memory room: what a tab looks at, what a click does, and how the room is drawn. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote

from markupsafe import Markup

from moechat.agent import Agent
from moechat.curation import brought, by_hand, forgetting
from moechat.curation.catalogue import UNDERSTOOD, Details, Memory, Page, Sort
from moechat.errors import FieldError, NotFound
from moechat.topic_path import EVERYDAY
from moechat.verbs import owner
from moechat.web import author_room, fault_words, topic_charts
from moechat.web.clicks import Action, Note, Visit
from moechat.web.drawing import in_first_person, macros
from moechat.web.memory_parts import MemoryRow, ending, parts_of, speakers_of
from moechat.web.words import Words

MINE, AUTHOR = "mine", "author"
KINDS: Mapping[str, Sequence[str]] = {
    MINE: ("letter", "", "fact", "event", "reflection", "exchange"),
    AUTHOR: ("", "fact", "event", "lore"),
}
NEW: Mapping[str, Sequence[str]] = {MINE: ("new_event", "new_fact"), AUTHOR: ("new_event", "new_fact", "new_lore")}
PAGE = 30
SORTS = ("newest", "oldest", "near")
FILLING = 0.8  # From this share of the room for memories on, the page says what becomes of a memory.
MAX_LEVELS_OPENED = 4  # Of reflections on reflections.
FORM: Mapping[str, Mapping[str, str]] = {  # The fields of what an owner writes, each with the text of its hint.
    "fact": {"text": "", "entity": "", "keyword": "", "target": ""},
    "event": {
        "text": "", "happened": "form_when", "place": "", "keywords": "form_list", "topic": "", "importance": "form_share",
    },
}  # fmt: skip


@dataclass(frozen=True)
class MemoryLook:
    """What a tab shows of the memories. ``kind`` "" is everything that was understood, "letter" what one would write of it.

    ``when`` is a time in words, ``topic`` a path; a search that is sorted by "near" is one by meaning. ``doing`` is what is
    being done with the memory that is ``opened``: "", edit, forget or surely. With none opened it is the kind of a new one
    (fact, event or lore), or merge: of those that are ``chosen``. The calendar is of the year ``back`` years ago.
    """

    store: str = MINE
    kind: str = "letter"
    search: str = ""
    archived: bool = False
    sort: Sort | Literal["near"] = "newest"
    when: str = ""
    topic: str = ""
    ticks: bool = False
    count: int = PAGE
    opened: str = ""
    doing: str = ""
    chosen: Sequence[str] = ()
    back: int = 0


def listing(look: MemoryLook, **changes: object) -> MemoryLook:
    """Another list: from its beginning, nothing opened."""
    return replace(look, **({"count": PAGE, "opened": "", "doing": ""} | changes))  # type: ignore[arg-type]


def _filtered(look: MemoryLook, **changes: object) -> MemoryLook:
    """A list that is filtered in another way; a letter is none, and becomes one."""
    return listing(look, **({"kind": "" if look.kind == "letter" else look.kind} | changes))


def _stored(look: MemoryLook, action: Action) -> MemoryLook:
    store = AUTHOR if action.get("value") == AUTHOR else MINE
    kind = look.kind if look.kind in KINDS[store] else KINDS[store][0]
    return listing(look, store=store, kind=kind, archived=False)


def _of_kind(look: MemoryLook, action: Action) -> MemoryLook:
    return listing(look, kind=action["value"]) if action.get("value") in KINDS[look.store] else look


def _toggled(look: MemoryLook, action: Action) -> MemoryLook:
    id_ = action.get("id", "")
    again = id_ == look.opened and not look.doing
    return replace(look, opened="" if again else id_, doing="")


MemoryOutcome = tuple[MemoryLook, Note]
LOOKS: Mapping[str, Callable[[MemoryLook, Action], MemoryLook]] = {
    "store": _stored,
    "kind": _of_kind,
    "search": lambda look, action: _filtered(look, search=action.get("q", "")[:200]),
    "when": lambda look, action: _filtered(look, when=action.get("q", "")[:100]),
    "day": lambda look, action: _filtered(look, when=action.get("day", "")),
    "back": lambda look, action: replace(look, back=max(0, look.back + (1 if action.get("value") == "1" else -1))),
    "of-topic": lambda look, action: _filtered(look, topic=action.get("q", "")),
    "archived": lambda look, action: _filtered(look, archived=not look.archived),
    "ticks": lambda look, action: listing(look, ticks=not look.ticks),
    "sort": lambda look, action: _filtered(look, sort=action["q"]) if action.get("q") in SORTS else look,
    "more": lambda look, action: replace(look, count=look.count + PAGE),
    "open": _toggled,
    "edit": lambda look, action: replace(look, opened=action.get("id", ""), doing="edit"),
    "forget": lambda look, action: replace(look, opened=action.get("id", ""), doing="forget"),
    "surely": lambda look, action: replace(look, opened=action.get("id", ""), doing="surely"),
    "cancel": lambda look, action: replace(look, doing=""),
    "new": lambda look, action: replace(
        look, opened="", doing=author_room.kind_named(action.get("value", "").removeprefix("new_")) or "fact"
    ),
}


def showing(agent: Agent, id_: str) -> MemoryLook:
    """The look at one memory, whichever store has it."""
    authored = any(one.id == id_ for one in author_room.listed(agent, "", ""))
    return MemoryLook(AUTHOR if authored else MINE, "", opened=id_)


# ---- what a click does


def act(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    do = action.get("do", "")
    if do in LOOKS:
        return LOOKS[do](look, action), Note()
    if do == "forget-now" and (look.opened, look.doing) != (action.get("id"), "surely"):
        return LOOKS["forget"](look, action), Note()  # It is asked twice, whatever the page sends.
    if do in TEXTS and not action.get("text", "").strip() and look.store == MINE:
        return look, Note(here.words("needs_words"), bad=True)
    deed = DEEDS[look.store].get(do)
    return deed(here, look, {"id": "", **action}) if deed else (look, Note())


def _done(here: Visit, verb: str, **values: object) -> Any:
    return here.perform(owner.VERBS[verb], **values)


def _written(action: Action, kind: by_hand.Kind) -> dict[str, object]:
    """The fields of a form as the verbs take them."""
    fields: dict[str, object] = {key: action.get(key, "").strip() or None for key in by_hand.KEYS[kind]}
    return fields | ({"keywords": author_room.several(action.get("keywords", "")) or None} if kind == "event" else {})


def _saved(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    if "happened" in action:
        [memory] = _done(here, "edit-all", id=action["id"], text=action["text"], fields=_written(action, "event"))
    else:
        [memory] = _done(here, "edit", id=action["id"], text=action["text"])
    return replace(look, opened=memory.id, doing=""), Note(here.words("done_edit"))


def _added(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    kind: by_hand.Kind = "event" if look.doing == "event" else "fact"
    fields = _written(action, kind)
    if kind == "fact":
        fields["entity"] = _whose(here, action.get("entity", "").strip())
    [memory] = _done(here, "add", type=kind, fields=fields)
    return replace(look, opened=memory.id, doing=""), Note(here.words("done_add"))


def _whose(here: Visit, name: str) -> str:
    """The entity that a name stands for: 我 and the user's own name are the user."""
    character = here.own.character
    if name.casefold() in ("", "我", "me", "i", character.user_name.casefold()):
        return "user"
    return "character" if name == character.name else name


def _moved(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    """Pinned, unpinned, archived or brought back; what went to another list is closed."""
    verb = action["do"]
    done = _done(here, verb, ids=[action["id"]])
    after = look if verb in ("confirm", "pin", "unpin") else replace(look, opened="", doing="")
    return after, Note(here.words(f"done_{verb}", n=len(done)))


def _undone(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    ids = _done(here, "undo")
    return replace(look, opened="", doing=""), Note(here.words("done_undo" if ids else "nothing_to_undo"), bad=not ids)


def _several(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    """The same for all that were ticked."""
    memories, verb, ids = here.own.memories, action.get("act", ""), action.get("chosen", "").split()
    if len(ids) < (2 if verb == "merge" else 1):
        return look, Note(here.words("two_ticked" if verb == "merge" else "none_ticked"), bad=True)
    if verb == "merge":
        alike = len(memories.facts(ids)) == len(ids) or len(memories.events(ids)) == len(ids)
        changed = replace(look, opened="", doing="merge", chosen=ids)
        return (changed, Note()) if alike else (look, Note(here.words("merge_alike"), bad=True))
    done = _done(here, verb, ids=ids) if verb in ("pin", "archive", "restore") else ()
    return look, Note(here.words(f"done_{verb}", n=len(done)) if done else "")


def _merged(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    [memory] = _done(here, "merge", ids=list(look.chosen), text=action["text"])
    note = Note(here.words("done_merge", n=len(look.chosen)))
    return replace(look, opened=memory.id, doing="", ticks=False, chosen=()), note


def _thought(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    """Reflect now. It takes as long as the model does."""
    report = _done(here, "think")
    if report is None:
        [problem] = fault_words.told([here.own.reflection.problem], (), here.words)
        return look, Note(problem or here.words("thought_nothing"), bad=bool(problem))
    return listing(look, kind="reflection", search=""), Note(here.words("thought", n=len(report.made)))


def _past(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    _done(here, action["do"])
    return look, Note(here.words("past_begun" if action["do"] == "past" else "past_stopped"))


def _came_back(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    return look, Note(here.words(f"done_{action['do']}", n=len(_done(here, action["do"]))))


def _forgotten(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    also, files = (list(map(unquote, action.get(name, "").split())) for name in ("also", "files"))
    gone, exports = _done(here, "forget", ids=[action["id"], *also], files=files), here.own.memories.exports.listed()
    rest = f" {here.words('exports_hold', names=here.words.row(exports))}" if exports else ""
    return replace(look, opened="", doing=""), Note(here.words("done_forget", n=len(gone)) + rest)


def _record(here: Visit, look: MemoryLook, action: Action) -> MemoryOutcome:
    """Something of the author's: saved, added or deleted."""
    do = action["do"]
    made = author_room.performed(here, {"save": "edit", "add": "add", "forget-now": "delete"}[do], look.doing, action)
    note = Note(here.words({"save": "done_edit", "add": "done_add", "forget-now": "done_forget"}[do], n=1))
    return replace(look, opened="" if do == "forget-now" else made, doing=""), note


DEEDS: Mapping[str, Mapping[str, Callable[[Visit, MemoryLook, Action], MemoryOutcome]]] = {
    MINE: {
        "save": _saved, "add": _added, "confirm": _moved, "end": _moved, "pin": _moved, "unpin": _moved,
        "archive": _moved, "restore": _moved,
        "undo": _undone, "several": _several, "merge": _merged, "forget-now": _forgotten, "think": _thought,
        "past": _past, "past-stop": _past, "let-in": _came_back, "erase-again": _came_back,
    },
    AUTHOR: {"save": _record, "add": _record, "forget-now": _record},
}  # fmt: skip
TEXTS = ("save", "add", "merge")


# ---- how it is drawn


def drawn(here: Visit, look: MemoryLook) -> str:
    """The room. Raises MoeChatError where the memories cannot be read."""
    draw, agent, words = macros("memories", here.words), here.own, here.words
    if look.store == AUTHOR:
        return _of_author(here, look)
    new = Markup() if look.opened else _new_form(agent, look, words)
    opened = _details(agent, look.opened)
    inside = _inside(agent, look, opened, words) if opened is not None else ""
    if look.kind == "letter":
        letter = draw.letter(agent.memories.letter(), agent.character.name, look.opened, inside)
        return f"{draw.head_of(look, _head(agent, look, 0, words))}{new}{letter}{_year(agent, look, here.width, words)}"
    page = _page(agent, look)
    rows = {row.memory.id: row for row in _rows(agent, page.memories, words)}
    if opened is not None and look.opened not in rows:  # it was opened from elsewhere, or has just moved
        rows = {look.opened: _rows(agent, [opened.memory], words)[0]} | rows
    entries = (draw.entry(row, inside if id_ == look.opened else "", look.ticks) for id_, row in rows.items())
    return _framed(agent, look, page.total, new, Markup().join(entries), words)


def _year(agent: Agent, look: MemoryLook, width: int, words: Words) -> str:
    """A year of days, where there is one."""
    today = agent.now().date()
    days = topic_charts.busy(agent.memories.days(), agent.topics.overview(agent.now())["days"])
    if not days:
        return ""
    year = max(today.year - look.back, int(min(days)[:4]))
    chart = topic_charts.year(days, year, words, today, width)
    older, newer = int(min(days)[:4]) < year, year < today.year
    return str(macros("topics", words).calendar(**chart, chosen="", has_older=older, has_newer=newer))


def _framed(agent: Agent, look: MemoryLook, total: int, above: Markup, entries: Markup, words: Words) -> str:
    """The room around its entries, of which there are ``total`` in all. ``above`` stands before them."""
    nothing = "nothing_authored" if look.store == AUTHOR else "nothing_archived" if look.archived else "nothing_yet"
    nothing = "nothing_found" if look.search or look.kind else nothing
    head = _head(agent, look, total, words)
    return str(macros("memories", words).room(look, head, above, entries, total - look.count, nothing))


def _head(agent: Agent, look: MemoryLook, total: int, words: Words) -> dict[str, object]:
    """What the head of the room shows beside the look itself."""
    is_mine = look.store == MINE
    filters = None
    if is_mine and look.kind != "letter":
        span = _span(agent, look)
        nodes = (node for node in agent.topics.overview(agent.now())["topics"] if node["path"] not in EVERYDAY.values())
        paths = topic_charts.foremost(topic_charts.every(nodes))
        filters = {
            "meant": words.stretch(*span) if span else words("when_unread") if look.when.strip() else "",
            "topics": [("", words("any_topic")), *((path, topic_charts.crumbs(path)) for path in paths)],
            "sorts": [(one, words(f"sort_{one}")) for one in SORTS],
        }
    work = agent.past.work() if is_mine and look.kind == "letter" else None
    return {
        "stores": list(KINDS), "kinds": KINDS[look.store], "new": NEW[look.store], "is_mine": is_mine, "total": total,
        "filters": filters, "can_undo": is_mine and bool(len(agent.memories.undo)), "thinking": _thinking(agent, look),
        "came_back": list(brought.came_back(agent.store, words.language)) if is_mine else (),
        "past": work if work and work.standing not in ("nothing", "no_model") else None,
    }  # fmt: skip


def _thinking(agent: Agent, look: MemoryLook) -> int | None:
    """How far, in percent, it is to the next reflection; None without a model, -1 where nobody asks."""
    if look.store == AUTHOR or look.kind != "reflection" or look.archived:
        return -1
    reflection = agent.reflection
    if not reflection.model().understands:
        return None
    whole = reflection.settings().counter
    done = min(max(1 - reflection.counter(agent.now()) / whole, 0.0), 1.0) if whole > 0 else 1.0
    return 100 if done >= 1 else min(round(100 * done), 99)


def _span(agent: Agent, look: MemoryLook) -> tuple[datetime, datetime] | None:
    """The time that the list is of; None for all of it, and where nobody understands it."""
    try:
        return by_hand.span_of(look.when, agent.now())
    except FieldError:
        return None


def _page(agent: Agent, look: MemoryLook) -> Page:
    """What is listed: by meaning, or by words, time and topic."""
    kinds: Any = [look.kind] if look.kind else UNDERSTOOD
    if look.sort == "near" and look.search.strip():
        return agent.memories.alike(look.search, kinds, limit=look.count)
    return agent.memories.listed(
        kinds, search=look.search, limit=look.count, archived=look.archived, span=_span(agent, look),
        sort="oldest" if look.sort == "oldest" else "newest", topic=look.topic,
    )  # fmt: skip


def _rows(agent: Agent, memories: Sequence[Memory], words: Words) -> list[MemoryRow]:
    """Memories with what will become of them."""
    now, forecasts = agent.now(), agent.memories.forecasts(memories)
    rows = []
    for memory in memories:
        forecast = forecasts.get(memory.id)
        fades = ""
        if forecast and not memory.archived and forecast.fullness >= FILLING and not forecast.kept:
            fades = forgetting.in_words(forecast, now, words.language)
        rows.append(MemoryRow(memory, forecast, fades, user=agent.character.user_name))
    return rows


def _of_author(here: Visit, look: MemoryLook) -> str:
    agent = here.own
    records, kind = author_room.listed(agent, look.kind, look.search), author_room.kind_named(look.doing)
    new = author_room.record_form(kind, here.words) if kind and not look.opened else Markup()
    shown = records[: look.count]
    if look.opened and look.opened not in {record.id for record in shown}:
        shown = [*(record for record in author_room.listed(agent, "", "") if record.id == look.opened), *shown]
    entries = author_room.entries(here, shown, look.opened, look.doing)
    problems = map(str, (*agent.official.problems, *agent.official.lore.problems))
    faults = fault_words.told(problems, (agent.character.folder,), here.words)
    problems = macros("parts", here.words).problems(faults)
    return _framed(agent, look, len(records), problems + new, entries, here.words)


# ---- one memory


def _details(agent: Agent, id_: str) -> Details | None:
    try:
        return agent.memories.get(id_) if id_ else None
    except NotFound:
        return None


def _inside(agent: Agent, look: MemoryLook, details: Details, words: Words) -> Markup:
    """What a memory opens to: its form, the question before it is forgotten, or all that is known of it."""
    draw, memory = macros("memories", words), details.memory
    if look.doing == "edit":
        hint = "edit_exchange_hint" if memory.kind == "exchange" else "edit_hint"
        is_event = memory.kind == "event"
        fields = _event_fields(details, words) if is_event else [("text", in_first_person(memory.text), 3, "")]
        return Markup(draw.edit_form(memory, fields, "" if is_event else words(hint), ending(details)))
    if look.doing in ("forget", "surely"):
        return Markup(draw.forget_form(memory, agent.memories.forgets([memory.id]), look.doing == "surely"))
    speakers = speakers_of(agent, words)
    return Markup(
        draw.opened(details, parts_of(details, speakers, words), _rests(agent, details), speakers, ending(details))
    )


def _rests(agent: Agent, details: Details, depth: int = 0) -> dict[str, object]:
    """The memories that one rests on, each with its own, that it replaced and that were made from it. ``sources``: the talk
    behind it, None where other memories are."""
    below = (_details(agent, one.id) for one in details.evidence) if depth < MAX_LEVELS_OPENED else ()
    evidence = [(one.memory, _rests(agent, one, depth + 1)) for one in below if one is not None]
    is_talk = details.memory.kind == "exchange"
    return {
        "evidence": evidence, "sources": None if is_talk or evidence else details.sources,
        "is_own": details.memory.by == "owner",
        "others": [("history", details.replaced), ("replaced_by", details.replaced_by), ("derived", details.derived)],
    }  # fmt: skip


# ---- forms


def _new_form(agent: Agent, look: MemoryLook, words: Words) -> Markup:
    draw = macros("memories", words)
    if look.doing == "merge":
        return Markup(draw.merge_form(agent.memories.together(look.chosen)))
    if look.doing not in FORM:
        return Markup()
    return Markup(draw.own_form(look.doing, _fields(look.doing, {"entity": words("value_user")}, words)))


def _fields(kind: str, values: Mapping[str, str], words: Words) -> list[tuple[str, str, int, str]]:
    """(name, value, lines, hint) of every field of a form."""
    return [
        (name, values.get(name, ""), 2 if name == "text" else 0, words(hint) if hint else "")
        for name, hint in FORM[kind].items()
    ]


def _event_fields(details: Details, words: Words) -> list[tuple[str, str, int, str]]:
    values = {key: details.fields.get(key, "") for key in FORM["event"]} | {"text": details.memory.text}
    span = values["happened"]
    texts = {
        key: words.row(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for key, value in values.items()
    }
    texts["happened"] = "/".join(str(moment)[:16] for moment in span) if isinstance(span, Sequence) else ""
    return _fields("event", texts, words)
