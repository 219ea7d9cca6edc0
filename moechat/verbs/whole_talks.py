"""The verbs over whole talks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeInt

from moechat.errors import FieldError, MoeChatError
from moechat.turn import Ended
from moechat.verbs import MANY, Values, Verb, value

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.curation.talks import FoundWords, TalkSummary

MAX_TITLE_CHARS = 80


class One(Values):
    talk: str = value('a talk by its name, as `talks list` shows it; "" is the first', "TALK")


class Title(One):
    title: str = value('what it is called from now on; "" for what it is called by itself', "TITLE")


class Delete(One):
    forget: bool = value("erase what was said in it, and all that was made of that, for good", default=False)
    yes: bool = value("do not ask", default=False)


class Export(One):
    form: Literal["markdown", "text", "sillytavern", "json"] = value("what it is written as", default="markdown")
    reasons: bool = value("with the memories that each reply rests on", default=False)


class Find(Values):
    words: str = value("what has all these words, on any branch of any talk", "WORDS")
    limit: NonNegativeInt = value(MANY, "N", 50)


class OneReply(One):
    id: str = value("which message it answers, as `log list` shows it (default: the last)", "ID", "")


def _listed(agent: Agent, _: Values) -> list[TalkSummary]:
    from moechat.curation.talks import talks

    return talks(agent.store)


def _found(agent: Agent, wish: Find) -> FoundWords:
    from moechat.curation.talks import found

    return found(agent.store, wish.words, wish.limit)


def _titled(agent: Agent, wish: Title) -> str:
    """What the talk is called now. Raises FieldError, NotFound."""
    from moechat.curation.talks import title

    words = " ".join("".join(char if char.isprintable() else " " for char in wish.title).split())
    if len(words) > MAX_TITLE_CHARS:
        raise FieldError("title", words[:40], f"has {len(words)} letters; use {MAX_TITLE_CHARS} at most")
    agent.store.log.tell_talk(wish.talk, title=words)
    return title(agent.store, wish.talk)


def _deleted(agent: Agent, wish: Delete) -> int:
    """How many exchanges were in the talk. Raises NotFound, FieldError for the first talk, which can only be emptied."""
    tree = agent.store.tree
    if not wish.talk and not wish.forget:
        raise FieldError("talk", "", "is the first one, which stays; forget what was said in it, or begin another")
    if wish.talk or wish.forget:  # what it was called goes with its words
        title: dict[str, str | bool] = {"title": "", "pinned": False} if wish.forget else {}
        agent.store.log.tell_talk(wish.talk, away=bool(wish.talk), **title)
    ids = [id_ for id_ in list(tree.parents) if tree.talk_of(id_) == wish.talk and id_ not in tree.taken_out()]
    if wish.forget and ids:
        agent.memories.forget(ids)
    return len(ids)


def _exported(agent: Agent, wish: Export) -> str:
    from moechat.curation.talks import title, written

    agent.store.tree.require_talk(wish.talk)
    path, character = agent.in_talk(wish.talk).path, agent.character
    heading = title(agent.store, wish.talk) or character.name
    rows = path.shown(path.on_path())
    return written(rows, heading, character.user_name, character.name, wish.form, reasons=wish.reasons)


def _told(**change: bool) -> Callable[[Agent, One], None]:
    return lambda agent, wish: agent.store.log.tell_talk(wish.talk, **change)


def _replied(agent: Agent, wish: OneReply, *, goes_on: bool) -> str:
    """The whole reply. Raises NotFound, MoeChatError where it failed."""
    agent.store.tree.require_talk(wish.talk)
    *_, ended = agent.in_talk(wish.talk).regenerate(wish.id, goes_on=goes_on)
    if isinstance(ended, Ended) and not ended.error:
        return ended.exchange.char
    raise MoeChatError(ended.error if isinstance(ended, Ended) else "the reply did not end")


VERBS: Mapping[str, Verb] = {
    "list": Verb("every talk, the one last spoken in last", Values, _listed, reads=True),
    "find": Verb("where something was said, the newest first", Find, _found, reads=True),
    "title": Verb("call a talk by another title", Title, _titled),
    "pin": Verb("keep a talk at the head of the list", One, _told(pinned=True)),
    "unpin": Verb("treat a talk as all others", One, _told(pinned=False)),
    "delete": Verb("take a talk out of the lists; what was said in it stays in memory unless you say otherwise", Delete,
                   _deleted, waits=True),
    "restore": Verb("put a deleted talk back into the lists", One, _told(away=False)),
    "export": Verb("write a talk to the screen, or with > into a file", Export, _exported, reads=True),
    "again": Verb("another reply to a message; those before it stay, to choose from", OneReply,
                  lambda agent, wish: _replied(agent, wish, goes_on=False), replies=True),
    "go-on": Verb("go on with a reply that was cut or ended short", OneReply,
                  lambda agent, wish: _replied(agent, wish, goes_on=True), replies=True),
}  # fmt: skip
