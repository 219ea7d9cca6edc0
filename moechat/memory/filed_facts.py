"""The facts of an owner, filed for entity search: whose each is, and the words in its fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, get_args

from moechat.index.postings import Postings, Substrings
from moechat.language import association, words
from moechat.memory import contradiction
from moechat.model import Fact, FactDraft

Field = Literal["keyword", "entity_name", "description"]

OWNERS = ("user", "character", "particular", "generic")  # 客体, 主体, 具体实体 (特殊实体), 泛化实体
BONDS = frozenset({"family", "friend", "partner", "pet"})
NEVER_SEARCHED = frozenset({"用户", "角色", "user", "the user", "character"})


def owner(draft: FactDraft, user_name: str = "", character_name: str = "") -> str:
    """Whose fact it is: ``user``, ``character``, else ``particular`` (named) or ``generic`` (a kind of thing)."""
    folded = contradiction.entity(draft)
    if folded in ("user", words.fold(user_name)):
        return "user"
    if folded in ("character", words.fold(character_name)):
        return "character"
    return "generic" if draft.generic else "particular"


def group(draft: FactDraft, user_name: str = "", character_name: str = "") -> str:
    """``<owner>.attribute`` (a boundary, too), ``<owner>.relation``, or ``picture``. A relation of someone else with the user or
    the character is ``<owner>.bound``."""
    if draft.kind == "picture":
        return "picture"
    whose = owner(draft, user_name, character_name)
    if draft.kind == "relation" and whose in ("particular", "generic") and draft.target:
        other = owner(replace(draft, entity=draft.target), user_name, character_name)
        return f"{whose}.bound" if other in ("user", "character") else f"{whose}.relation"
    return f"{whose}.{'attribute' if draft.kind == 'boundary' else draft.kind}"


def names_pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Finds what a description is not searched by: the two names, and the "the user" that it begins with."""
    parts = [association.name_pattern(name) for name in names if len(name) > 1]
    return re.compile("|".join([r"^\s*(?:用户|the user\b)", *parts]), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FiledFact:
    """The parts of a fact that are worked out once, under a number of its own."""

    number: int
    fact: Fact
    group: str
    since: float  # epoch seconds
    words: frozenset[str]
    names: frozenset[str]
    bond: tuple[str, str] | None
    """What somebody is to the user, folded (弟弟, daughter), and the name."""


class FiledFacts:
    """The facts of an owner by the words in their fields. A fact joins and leaves by itself, so that a change costs what
    changed. One thread changes it at a time; readers need no lock."""

    def __init__(self, user_name: str, character_name: str) -> None:
        self.both = (user_name, character_name)
        names = tuple(filter(None, (user_name.strip(), character_name.strip())))
        self.never = NEVER_SEARCHED | frozenset(map(words.fold, names))
        self._pattern = names_pattern(names)
        self._next = count()
        self._by_id: dict[str, FiledFact] = {}
        self.fields: dict[Field, Substrings] = {name: Substrings() for name in get_args(Field)}
        self.words: Postings[str] = Postings()
        self.names: Postings[str] = Postings()

    def filed(self, facts: Sequence[Fact]) -> list[FiledFact]:
        """These facts as they are filed, in their order; from now on there are no others."""
        filed = []
        for fact in facts:
            entry = self._by_id.get(fact.id)
            if entry is None or (entry.fact is not fact and entry.fact != fact):
                entry = self._put(fact)
            filed.append(entry)
        if len(self._by_id) > len(filed):
            for id_ in self._by_id.keys() - {fact.id for fact in facts}:
                self._remove(id_)
        return filed

    def _put(self, fact: Fact) -> FiledFact:
        if fact.id in self._by_id:
            self._remove(fact.id)
        draft, number = fact.draft, next(self._next)
        others = owner(draft, *self.both) in ("particular", "generic")
        texts: dict[Field, str] = {
            "keyword": draft.keyword,
            "entity_name": draft.entity if others else "",
            "description": self._pattern.sub(" ", fact.text),
        }
        filed_under = frozenset(map(words.fold, (draft.entity, draft.keyword, draft.target)))
        names = {draft.entity, draft.target} if draft.kind == "relation" else {draft.entity}
        is_bond = draft.kind == "relation" and draft.keyword and draft.target and draft.polarity > 0
        is_own = is_bond and contradiction.entity(draft) == "user" and contradiction.keyword_class(draft) in BONDS
        entry = FiledFact(
            number, fact, group(draft, *self.both), fact.since.timestamp(),
            filed_under - self.never - {""}, frozenset(map(words.fold, names)) - self.never - {"", *OWNERS},
            (words.fold(draft.keyword).replace("_", " "), draft.target) if is_own else None,
        )  # fmt: skip
        for name, text in texts.items():
            self.fields[name].add(number, text)
        self.words.add(number, entry.words)
        self.names.add(number, entry.names)
        self._by_id[fact.id] = entry
        return entry

    def _remove(self, id_: str) -> None:
        entry = self._by_id.pop(id_)
        for texts in self.fields.values():
            texts.remove(entry.number)
        self.words.remove(entry.number, entry.words)
        self.names.remove(entry.number, entry.names)
