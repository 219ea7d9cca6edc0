"""The talks at the side of the page: which there are, what can be done with one, and where something was said.
Knows no Gradio."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.curation.talks import ENDINGS, found, imports_by_talk, own_titles, title, titles
from moechat.errors import NotFound
from moechat.house.gallery import Portrait
from moechat.verbs import perform
from moechat.verbs.whole_talks import VERBS
from moechat.web.clicks import Whereabouts
from moechat.web.drawing import macros
from moechat.web.words import Words

DOINGS = (
    "title",
    "pin",
    "unpin",
    "delete",
    "restore",
    "export",
)  # The verbs that the page does with a talk as a whole.
MAX_LISTED = 20  # Talks at the side; all of them are in the sheet that finds.
MAX_FOUND = 50
_FILE_SIGNS = re.compile(r"[^\w .-]+")  # What no name of a file has.


@dataclass(frozen=True)
class TalkEntry:
    """A talk in the list: where it is and what it is called. ``is_here``: it can be changed from here."""

    place: Whereabouts
    title: str = ""
    pinned: bool = False
    is_here: bool = False


@dataclass(frozen=True)
class TalkList:
    """The talks of a memory, and those off the record and the worlds beside it; ``more`` are only in the sheet that finds."""

    entries: Sequence[TalkEntry]
    more: int = 0


def listed(
    place: Whereabouts,
    agent: Agent,
    held: Mapping[Whereabouts, Conversation],
    worlds: Iterable[str],
    words: Words,
    *,
    every: bool = False,
) -> TalkList:
    """The talks that one can go to from ``place``: the pinned ones, the first, then the newest, as many as stand at the side or
    ``every`` one."""
    store = agent.store
    talks = [talk for talk in list(store.tree.talks.values()) if not talk.away or talk.name == place.talk]
    newest = sorted(talks, key=lambda talk: talk.newest or "", reverse=True)
    ordered = sorted(newest, key=lambda talk: (not talk.pinned, bool(talk.name)))
    names = [one.name for one in (ordered if every else ordered[:MAX_LISTED])]
    if place.talk and place.talk not in names:
        names.append(place.talk)
    title_of = called(agent, names, words)
    here = [
        TalkEntry(
            replace(place, talk=name, held=0), title_of[name], bool(talk and talk.pinned), bool(talk and not talk.away)
        )
        for name in names
        for talk in [store.tree.talks.get(name)]
    ]
    first = [TalkEntry(Whereabouts(place.character))] if place.world else []
    aside = [TalkEntry(one, own_titles(its.path.store, [""])[""]) for one, its in held.items()]
    elsewhere = [TalkEntry(Whereabouts(place.character, world)) for world in worlds if world != place.world]
    return TalkList([*first, *here, *aside, *elsewhere], max(0, len(ordered) - len(here)))


def called(agent: Agent, names: Iterable[str], words: Words) -> dict[str, str]:
    """What talks are called; one of several, until somebody says something, by who is in it."""
    casts = {name: agent.store.tree.cast(name) for name in names}
    company = {name: words.row(one.name for one in cast.members) if cast else "" for name, cast in casts.items()}
    return {name: text or company[name] for name, text in titles(agent.store, casts).items()}


def kept(place: Whereabouts, agent: Agent, words: Words) -> str:
    """What becomes of what is said here, where that is not as usual."""
    if place.held:
        return words("held_note")
    talk = agent.store.tree.talks.get(place.talk)
    notes = [words("talk_away_note")] if talk and talk.away else []
    return " ".join([*notes, words("world_note", name=place.world)] if place.world else notes)


def one(place: Whereabouts, agent: Agent, words: Words, others: Sequence[Portrait]) -> str:
    """What can be done with a talk; ``others`` may be asked in."""
    store = agent.store
    store.tree.require_talk(place.talk)
    talk = store.tree.talks[place.talk]
    days = [words.day(one.at.date()) for one in imports_by_talk(store).get(place.talk, ())]
    return str(macros("talk", words).one_talk(place, title(store, place.talk), talk.pinned, days, talk.cast, others))


def do(
    place: Whereabouts, agent: Agent, words: Words, action: Mapping[str, str], busy: Callable[[], object]
) -> dict[str, Any]:
    """Do it: ``note`` says so, ``gone`` that the talk is in no list any more, ``offers`` what takes that back; ``file`` and
    ``text`` are an export. Raises NotFound, FieldError."""
    act = action.get("act", "")
    if act not in DOINGS:
        raise NotFound("there is no such thing to do with a talk")
    verb = VERBS[act]
    if verb.waits and busy():
        return {"note": words("wait_reply"), "bad": True}
    values = {key: action[key] for key in verb.values.model_fields if key in action}
    done = perform(verb, agent, values | {"talk": place.talk})
    if act == "export":
        name = title(agent.store, place.talk) or agent.character.name
        form: Any = values.get("form", "markdown")
        return {"file": f"{_FILE_SIGNS.sub(' ', name).strip()}.{ENDINGS[form]}", "text": done}
    gone = act == "delete" and bool(place.talk)
    is_own = act == "title" and not agent.store.tree.talks[place.talk].title
    note = words("talk_own_title" if is_own else f"talk_{act}_done")
    return {"note": note, "gone": gone} | ({"offers": "restore"} if gone and values.get("forget") != "true" else {})


def hits(
    text: str, agent: Agent, held: Conversation | None, entries: Iterable[TalkEntry], here: Whereabouts, words: Words
) -> str:
    """The talks that are called so, and where it was said: in all of them, and in the talk off the record that one is in."""
    draw = macros("talk", words)
    sought = text.casefold().split()
    named = [
        one for one in entries if all(word in str(draw.talk_name(one.place, one.title)).casefold() for word in sought)
    ]
    if not sought:
        return str(draw.rows(named, here))
    places = perform(VERBS["find"], agent, {"words": text, "limit": MAX_FOUND})
    aside = found(held.path.store, text, MAX_FOUND) if held else None
    rows = [(one, here) for one in (aside.places if aside else ())]
    rows += [(one, replace(here, talk=one.talk, held=0)) for one in places.places]
    return str(draw.found(named, here, rows, places.total + (aside.total if aside else 0)))
