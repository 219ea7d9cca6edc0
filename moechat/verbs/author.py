"""The verbs over what the author of a character wrote for all its users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeInt

from moechat.errors import MoeChatError
from moechat.verbs import MANY, Fields, Values, Verb, value

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.model import OfficialMemory


class AuthorListing(Values):
    type: Literal["event", "fact", "lore"] | None = value("one sort of them", default=None)
    search: str = value("what has these words, best first", "TEXT", "")
    limit: NonNegativeInt = value(MANY, "N", 50)


class AuthorIds(Values):
    ids: list[str] = value("ids, as `official list` shows them", "ID")


class AuthorNew(Values):
    type: Literal["event", "fact", "lore"] = value("what happened, what is known, or an entry of the world book")
    text: str | None = value("in words; {{user}} and {{char}} stand for the names", "TEXT", None, is_option=False)
    id: str | None = value("the record's key (default: one is made; an entry's is its file and keyword)", "ID", None)
    fields: Fields = value(
        "further keys of the file, e.g. place=海边 keywords=风筝,海; an entry of the world book needs keyword=渡口",
        "KEY=VALUE", {},
    )  # fmt: skip


class AuthorEdit(Values):
    id: str = value("an id, as `official list` shows it", "ID")
    fields: Fields = value("what changes, e.g. text=… place=…; KEY= takes one out", "KEY=VALUE", {})


# ---- what does it


def _added(agent: Agent, new: AuthorNew) -> list[OfficialMemory]:
    fields = new.fields if new.text is None else {"text": new.text, **new.fields}
    return [agent.official.add(new.type, fields, new.id)]


def _deleted(agent: Agent, values: AuthorIds) -> list[OfficialMemory]:
    gone = [agent.official.get(id_) for id_ in values.ids]
    for id_ in values.ids:
        agent.official.delete(id_)
    return gone


def _authored(agent: Agent, wish: AuthorListing) -> list[OfficialMemory]:
    store = agent.official
    listed = store.search(wish.search, wish.type, 10**9) if wish.search.strip() else store.listed(wish.type)
    return listed[: wish.limit or None]


def _author_changed(agent: Agent, edit: AuthorEdit) -> list[OfficialMemory]:
    if not edit.fields:
        raise MoeChatError("there is nothing to change: say what with --set KEY=VALUE")
    return [agent.official.update(edit.id, edit.fields)]


VERBS: Mapping[str, Verb] = {
    "list": Verb("the author's memories, in the order of their files", AuthorListing, _authored, reads=True),
    "show": Verb("every key of a memory", AuthorIds, lambda agent, v: list(map(agent.official.get, v.ids)), reads=True),
    "add": Verb("write a memory", AuthorNew,
                _added, is_shared=True),
    "edit": Verb("change keys of a memory", AuthorEdit, _author_changed, is_shared=True),
    "delete": Verb("take memories out of their file", AuthorIds, _deleted, is_shared=True),
}  # fmt: skip
