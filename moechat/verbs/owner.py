"""The verbs over the memories of one owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import NonNegativeInt

from moechat.verbs import MANY, Fields, Values, Verb, value

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.curation.catalogue import Memory, Page


class OwnListing(Values):
    """Which memories. ``kind`` None is all but exchanges."""

    kind: Literal["fact", "event", "reflection", "exchange", "all"] | None = value(
        "one kind, or all (default: all but exchanges)", default=None
    )
    search: str = value("only what has all these words", "TEXT", "")
    archived: bool = value("the archive instead", default=False)
    refused: bool = value("what a model said and was not believed, and why", default=False)
    limit: NonNegativeInt = value(MANY, "N", 50)
    offset: NonNegativeInt = value("how many to pass over", "N", 0)


class Ids(Values):
    ids: list[str] = value("ids, as `memories list` shows them", "ID")


class New(Values):
    """``fields`` are further keys, as ``curation.by_hand`` has them; the words may be one of them."""

    type: Literal["fact", "event"] = value("what is known, or what happened")
    text: str | None = value("in words", "TEXT", None, is_option=False)
    fields: Fields = value(
        "further keys: of an event happened, place, keywords, topic, importance (happened=2019-07-15 or happened=去年夏天); of "
        "a fact entity, kind, keyword, target, polarity, single", "KEY=VALUE", {},
    )  # fmt: skip


class Edit(Values):
    """Other words; with ``fields`` every other key of an event, too: one that is not among them is emptied."""

    id: str = value("an id, as `memories list` shows it", "ID")
    text: str = value("the words that are meant", "TEXT")


class EditAll(Edit):
    fields: Fields


class Copy(Ids):
    """``to`` is the agent of the other character, opened by who asks."""

    to: Any = value("which character", "NAME", is_option=True)


class Forget(Ids):
    files: list[str] = value("files in the folder that are none of MoeChat's, to be erased as well", "FILE", [])
    yes: bool = value("do not ask", default=False)
    dry_run: bool = value("only tell what would go, what repeats or holds it, and what stays", default=False)


class Clean(Values):
    dry_run: bool = value("only tell what would go", default=False)


class Merge(Ids):
    text: str


class OneBatch(Values):
    batch: str


# ---- what does it


def _listed(agent: Agent, wish: OwnListing) -> Page:
    from moechat.curation.catalogue import KINDS, UNDERSTOOD

    kinds: Any = {None: UNDERSTOOD, "all": KINDS}.get(wish.kind, (wish.kind,))
    return agent.memories.listed(
        kinds, search=wish.search, archived=wish.archived, limit=wish.limit, offset=wish.offset
    )


def _added(agent: Agent, new: New) -> list[Memory]:
    from moechat.curation import by_hand

    add = agent.memories.add_event if new.type == "event" else agent.memories.add_fact
    return [
        add(
            **by_hand.arguments(
                new.type, new.fields if new.text is None else {"text": new.text, **new.fields}, agent.now()
            )
        )
    ]


def _edited(agent: Agent, edit: EditAll) -> list[Memory]:
    from moechat.curation import by_hand

    blank = {"happened": None, "place": "", "keywords": (), "topic": ""}
    fields = by_hand.arguments("event", {"text": edit.text, **edit.fields}, agent.now())
    return [agent.memories.edit_event(edit.id, **blank | fields)]


def _copied(agent: Agent, values: Copy) -> list[Memory]:
    from moechat.curation.brought import copied

    return copied(agent.memories, values.ids, values.to.memories)


def _greeted(agent: Agent, _: Values) -> dict[str, Any]:
    agent.look()
    word = agent.greeting()
    return {"greeting": word and asdict(word)}


def _taken_back(agent: Agent, values: OneBatch) -> dict[str, int]:
    """How many of each sort were erased."""
    from moechat.curation.brought import MARK

    if values.batch.startswith(MARK):
        return {"memories": agent.brought.take_back(values.batch)}
    gone = agent.memories.take_back(values.batch)
    return {"exchanges": len(gone.exchanges), "facts": len(gone.facts), "episodes": len(gone.episodes)}


VERBS: Mapping[str, Verb] = {
    "list": Verb("what is remembered, newest first", OwnListing, _listed, reads=True),
    "show": Verb("all that is known of a memory, and when it fades", Ids,
                 lambda agent, v: list(map(agent.memories.get, v.ids)), reads=True),
    "add": Verb("write a memory; it is yours, and no understanding replaces it", New, _added, waits=True),
    "edit": Verb("give a memory other words; it is yours then and no understanding replaces it", Edit,
                 lambda agent, v: [agent.memories.edit(v.id, v.text)], waits=True),
    "copy": Verb("copy facts and events to another character; there they are the owner's", Copy, _copied),
    "end": Verb("say that these hold no longer: they are told as what was", Ids, lambda agent, v: agent.memories.end(v.ids),
                waits=True),
    "archive": Verb("hide memories, and keep them", Ids, lambda agent, v: agent.memories.archive(v.ids)),
    "restore": Verb("bring archived memories back", Ids, lambda agent, v: agent.memories.restore(v.ids)),
    "confirm": Verb("say that findings in doubt are true", Ids, lambda agent, v: agent.memories.confirm(v.ids), waits=True),
    "pin": Verb("never archive these by themselves", Ids, lambda agent, v: agent.memories.pin(v.ids)),
    "unpin": Verb("treat these as all others", Ids, lambda agent, v: agent.memories.pin(v.ids, on=False)),
    "forget": Verb("erase memories and what was made of them from every file, for good", Forget,
                   lambda agent, v: agent.memories.forget(v.ids, v.files), waits=True),
    "let-in": Verb("let in what you had forgotten and what came back with a file", Values,
                   lambda agent, _: agent.brought.let_in(), waits=True),
    "erase-again": Verb("erase once more what you had forgotten and what came back with a file", Values,
                        lambda agent, _: agent.brought.erase_again(), waits=True),
    "clean": Verb("archive what is weakest, where memory is full", Clean,
                  lambda agent, v: agent.memories.clean(dry_run=v.dry_run)),
    "greet": Verb("her word to you after an absence, if there is one to say", Values, _greeted, has_command=False),
    "edit-all": Verb("", EditAll, _edited, waits=True, has_command=False),
    "merge": Verb("", Merge, lambda agent, v: [agent.memories.merge(v.ids, v.text)], waits=True, has_command=False),
    "undo": Verb("", Values, lambda agent, v: agent.memories.take_back_change(), waits=True, has_command=False),
    "think": Verb("", Values, lambda agent, v: agent.jobs.reflect(), has_command=False),
    "past": Verb("", Values, lambda agent, v: agent.past.begin(), has_command=False),
    "past-stop": Verb("", Values, lambda agent, v: agent.past.stop(), has_command=False),
    "take-back": Verb("", OneBatch, _taken_back, has_command=False),
}  # fmt: skip
