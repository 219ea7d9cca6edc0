"""The memory room: what a tab looks at, what a click does, and how the room is drawn. Knows no Gradio.

``act`` takes an action (what a click or a form reports, as text) and returns the look after it, with a ``Note`` in words on
what became of the action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from moechat.agent import Agent
from moechat.curation import by_hand, forgetting
from moechat.curation.catalogue import UNDERSTOOD, Details, Kind, Memory, Page
from moechat.errors import NotFound
from moechat.model import official_kind
from moechat.settings.character import USER_NAMES
from moechat.web import author_room, draw, memory_head, memory_page
from moechat.web.draw import button
from moechat.web.memory_look import AUTHOR, LOOKS, MINE, MemoryLook, listing
from moechat.web.memory_page import MemoryRow, Speakers
from moechat.web.notes import Action, Note
from moechat.web.words import Words

FILLING = 0.8  # What becomes of a memory is told once so much of the room for memories is taken.
MemoryOutcome = tuple[MemoryLook, Note]


def act(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    do = action.get("do", "")
    if do in LOOKS:
        return LOOKS[do](look, action), Note()
    if do == "forget-now" and (look.opened, look.doing) != (action.get("id"), "surely"):
        return LOOKS["forget"](look, action), Note()  # It is asked twice, whatever the page sends.
    if do in DEEDS[look.store]:
        return DEEDS[look.store][do](agent, look, {"id": "", **action}, words)
    return look, Note()


# ---- looking


def showing(agent: Agent, id_: str) -> MemoryLook:
    """The look at one memory, whichever store has it."""
    authored = any(one.id == id_ for one in author_room.listed(agent, "", ""))
    return MemoryLook(AUTHOR if authored else MINE, "", opened=id_)


# ---- the owner's


def _saved(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    if not action.get("text", "").strip():
        return look, Note(words("needs_words"), bad=True)
    if "happened" in action:
        values: dict[str, object] = {key: action.get(key, "").strip() or None for key in by_hand.KEYS["event"]}
        values["keywords"] = author_room.several(action.get("keywords", "")) or None
        fields = by_hand.arguments("event", values, agent.now())
        blank = {"happened": None, "place": "", "keywords": (), "topic": ""}
        memory = agent.memories.edit_event(action["id"], **{**blank, **fields})
    else:
        memory = agent.memories.edit(action["id"], action["text"])
    return replace(look, opened=memory.id, doing=""), Note(words("done_edit"))


def _added(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    if not action.get("text", "").strip():
        return look, Note(words("needs_words"), bad=True)
    kind: by_hand.Kind = "event" if look.doing == "event" else "fact"
    values: dict[str, object] = {key: action.get(key, "").strip() or None for key in by_hand.KEYS[kind]}
    if kind == "event":
        values["keywords"] = author_room.several(action.get("keywords", "")) or None
    else:
        values["entity"] = _whose(agent, action.get("entity", ""))
    add = agent.memories.add_event if kind == "event" else agent.memories.add_fact
    memory = add(**by_hand.arguments(kind, values, agent.now()))
    return replace(look, opened=memory.id, doing=""), Note(words("done_add"))


def _whose(agent: Agent, name: str) -> str:
    """The entity that a name stands for: 我 and the user's own name are the user."""
    name, character = name.strip(), agent.character
    if name.casefold() in ("", "我", "me", "i", character.user_name.casefold()):
        return "user"
    return "character" if name == character.name else name


def _pinned(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    agent.memories.pin([action["id"]], action["do"] == "pin")
    return look, Note(words(f"done_{action['do']}"))


def _archived(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    move = agent.memories.archive if action["do"] == "archive" else agent.memories.restore
    moved = move([action["id"]])
    return replace(look, opened="", doing=""), Note(words(f"done_{action['do']}", n=len(moved)))


def _undone(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    ids = agent.memories.take_back_change()
    return replace(look, opened="", doing=""), Note(words("done_undo" if ids else "nothing_to_undo"), bad=not ids)


def _several(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    """The same for all that were ticked."""
    memories, name = agent.memories, action.get("act", "")
    deeds = {"pin": memories.pin, "archive": memories.archive, "restore": memories.restore}
    ids = action.get("chosen", "").split()
    if len(ids) < (2 if name == "merge" else 1):
        return look, Note(words("two_ticked" if name == "merge" else "none_ticked"), bad=True)
    if name == "merge":
        alike = len(memories.facts(ids)) == len(ids) or len(memories.events(ids)) == len(ids)
        changed = replace(look, opened="", doing="merge", chosen=ids)
        return (changed, Note()) if alike else (look, Note(words("merge_alike"), bad=True))
    done = deeds[name](ids) if name in deeds else ()
    return look, Note(words(f"done_{name}", n=len(done)) if done else "")


def _merged(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    if not action.get("text", "").strip():
        return look, Note(words("needs_words"), bad=True)
    memory = agent.memories.merge(look.chosen, action["text"])
    return replace(look, opened=memory.id, doing="", ticks=False, chosen=()), Note(
        words("done_merge", n=len(look.chosen))
    )


def _thought(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    """Reflect now. It takes as long as the model does."""
    report = agent.reflect()
    if report is None:
        problem = agent.reflection.problem
        return look, Note(problem or words("thought_nothing"), bad=bool(problem))
    return listing(look, kind="reflection", search=""), Note(words("thought", n=len(report.made)))


def _past_begun(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    agent.past.begin()
    return look, Note(words("past_begun"))


def _past_stopped(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    agent.past.stop()
    return look, Note(words("past_stopped"))


def _forgotten(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    gone, exports = agent.memories.forget([action["id"]]), agent.memories.exports.listed()
    rest = f" {words('exports_hold', names=words.row(exports))}" if exports else ""
    return replace(look, opened="", doing=""), Note(words("done_forget", n=len(gone)) + rest)


# ---- the author's


def _record_saved(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    store = agent.official.unfilled()
    one = store.get(action["id"])
    changes = author_room.changed(official_kind(one), action, author_room.values_of(one))
    if changes:
        one = store.update(one.id, changes)
    return replace(look, opened=one.id, doing=""), Note(words("done_edit"))


def _record_added(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    store = agent.official.unfilled()
    kind = author_room.kind_named(look.doing) or "fact"
    made = store.add(kind, author_room.changed(kind, action, author_room.defaults(kind)))
    return replace(look, opened=made.id, doing=""), Note(words("done_add"))


def _record_deleted(agent: Agent, look: MemoryLook, action: Action, words: Words) -> MemoryOutcome:
    agent.official.unfilled().delete(action["id"])
    return replace(look, opened="", doing=""), Note(words("done_forget", n=1))


DEEDS: Mapping[str, Mapping[str, Callable[[Agent, MemoryLook, Action, Words], MemoryOutcome]]] = {
    MINE: {
        "save": _saved, "add": _added, "pin": _pinned, "unpin": _pinned, "archive": _archived, "restore": _archived,
        "undo": _undone, "several": _several, "merge": _merged, "forget-now": _forgotten, "think": _thought,
        "past": _past_begun, "past-stop": _past_stopped,
    },
    AUTHOR: {"save": _record_saved, "add": _record_added, "forget-now": _record_deleted},
}  # fmt: skip
WAITING = ("save", "add", "merge", "undo", "forget-now")
"""Deeds on the owner's memories that wait for a reply that is on its way."""


# ---- drawing


def drawn(agent: Agent, look: MemoryLook, words: Words) -> str:
    """The room. Raises MoeChatError where the memories cannot be read."""
    return _of_author(agent, look, words) if look.store == AUTHOR else _of_owner(agent, look, words)


def speakers_of(agent: Agent, words: Words) -> Speakers:
    character = agent.character
    is_named = character.user_name and character.user_name not in USER_NAMES.values()
    return Speakers(character.user_name if is_named else words("value_user"), character.name)


def _of_owner(agent: Agent, look: MemoryLook, words: Words) -> str:
    if look.kind == "letter":
        return _letter(agent, look, words)
    kinds: Sequence[Kind] = [look.kind] if look.kind else UNDERSTOOD  # type: ignore[list-item]
    page = _page(agent, look, kinds)
    new = _new_form(agent, look, words)
    opened = _details(agent, look.opened)
    rows = {row.memory.id: row for row in rows_of(agent, page.memories, words)}
    if opened is not None and look.opened not in rows:  # it was opened from elsewhere, or has just moved
        rows = {look.opened: rows_of(agent, [opened.memory], words)[0]} | rows
    inside = _inside(agent, look, opened, words) if opened is not None else ""
    listed = "".join(
        memory_page.entry(row, words, inside if id_ == look.opened else "", ticks=look.ticks)
        for id_, row in rows.items()
    )
    return _framed(agent, look, page.total, new, listed, words)


def _new_form(agent: Agent, look: MemoryLook, words: Words) -> str:
    if look.opened:
        return ""
    if look.doing == "merge":
        return memory_page.merge_form(agent.memories.together(look.chosen), words)
    return memory_page.own_form(look.doing, words) if look.doing in memory_page.OWN else ""  # type: ignore[arg-type]


def _page(agent: Agent, look: MemoryLook, kinds: Sequence[Kind]) -> Page:
    """What is listed: by meaning, or by words, time and topic."""
    if look.sort == "near" and look.search.strip():
        return agent.memories.alike(look.search, kinds, limit=look.count)
    return agent.memories.listed(
        kinds, search=look.search, limit=look.count, archived=look.archived, span=memory_head.span_of(agent, look),
        sort="oldest" if look.sort == "oldest" else "newest", topic=look.topic,
    )  # fmt: skip


def _letter(agent: Agent, look: MemoryLook, words: Words) -> str:
    """The room as it opens. A sentence that is tapped can be corrected in its place."""
    letter = agent.memories.letter()
    new = _new_form(agent, look, words)
    opened = _details(agent, look.opened)
    inside = _inside(agent, look, opened, words) if opened is not None else ""
    body = memory_page.letter(letter, agent.character.name, look.opened, inside, words)
    return f"{memory_head.drawn(agent, look, 0, words)}{new}{body}"


def _framed(agent: Agent, look: MemoryLook, total: int, above: str, entries: str, words: Words) -> str:
    """The room around its entries, of which there are ``total`` in all. ``above`` stands before them."""
    empty = "" if entries else f'<p class="empty">{words(_empty(look))}</p>'
    left = total - look.count
    more = button("more", words("more", n=left), kind="more") if left > 0 else ""
    listed = f'<div class="list">{entries}{empty}</div>'
    if look.ticks and entries:
        listed = memory_page.several_form(listed, words, archived=look.archived)
    return f"{memory_head.drawn(agent, look, total, words)}{above}{listed}{more}"


def _empty(look: MemoryLook) -> str:
    if look.search or look.kind:
        return "nothing_found"
    if look.store == AUTHOR:
        return "nothing_authored"
    return "nothing_archived" if look.archived else "nothing_yet"


def _details(agent: Agent, id_: str) -> Details | None:
    try:
        return agent.memories.get(id_) if id_ else None
    except NotFound:
        return None


def _inside(agent: Agent, look: MemoryLook, details: Details, words: Words) -> str:
    memory = details.memory
    if look.doing == "edit":
        return memory_page.edit_form(details, words)
    if look.doing in ("forget", "surely"):
        preview = agent.memories.forgets([memory.id])
        return memory_page.forget_form(memory, preview, words, sure=look.doing == "surely")
    return memory_page.opened(details, lambda one: _details(agent, one.id), speakers_of(agent, words), words)


def rows_of(agent: Agent, memories: Sequence[Memory], words: Words) -> list[MemoryRow]:
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


def _of_author(agent: Agent, look: MemoryLook, words: Words) -> str:
    speakers, records = speakers_of(agent, words), author_room.listed(agent, look.kind, look.search)
    new, kind = "", author_room.kind_named(look.doing)
    if kind and not look.opened:
        new = author_room.record_form(kind, author_room.defaults(kind), words)
    shown = records[: look.count]
    if look.opened and look.opened not in {record.id for record in shown}:
        shown = [*(record for record in author_room.listed(agent, "", "") if record.id == look.opened), *shown]
    entries = "".join(
        author_room.entry(record, speakers, words, opened=record.id == look.opened, doing=look.doing)
        for record in shown
    )
    faults = (*agent.official.problems, *agent.official.lore.problems)
    problems = draw.problems([str(problem) for problem in faults], words)
    return _framed(agent, look, len(records), problems + new, entries, words)
