"""The facts of an owner, filed: what is worked out of each once, by which core memory and entity search find it."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Literal, get_args

from moechat.containment import Containment, NamedText
from moechat.index.lexical import Postings, Substrings
from moechat.language import association, words
from moechat.memory import contradiction
from moechat.memory.contradiction import Matter
from moechat.model import Fact, FactDraft
from moechat.worker import lazy

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
    """What is worked out once of a fact, under a number of its own."""

    number: int
    fact: Fact
    group: str
    since: float  # epoch seconds
    words: frozenset[str]
    names: frozenset[str]
    keywords: frozenset[str]
    classes: tuple[str, ...]
    matters: frozenset[Matter]
    bond: tuple[str, str] | None
    """What somebody is to the user, folded (弟弟, daughter), and the name."""


class FiledFacts:
    """The facts of an owner by the words in their fields (``fields``), by what they are filed under (``words``) and about
    (``names``), by their content words, by their class where they are the user's, and by their matters. A fact joins and leaves
    by itself, so that a change costs what changed. One thread changes it at a time; readers need no lock."""

    def __init__(self, user_name: str = "", character_name: str = "", contained: Containment | None = None) -> None:
        self.both = (user_name, character_name)
        self._contained = contained or Containment()
        names = tuple(filter(None, (user_name.strip(), character_name.strip())))
        self.never = NEVER_SEARCHED | frozenset(map(words.fold, names))
        self._pattern = names_pattern(names)
        self._next = count()
        self._by_id: dict[str, FiledFact] = {}
        self.fields: dict[Field, Substrings] = {name: Substrings() for name in get_args(Field)}
        self.words: Postings[str] = Postings()
        self.names: Postings[str] = Postings()
        self.keywords: Postings[str] = Postings()
        self.classes: Postings[str] = Postings()
        self.matters: Postings[Matter] = Postings()

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
        draft, text, number = fact.draft, fact.text, next(self._next)
        others = owner(draft, *self.both) in ("particular", "generic")
        texts: dict[Field, str] = {
            "keyword": draft.keyword,
            "entity_name": draft.entity if others else "",
            "description": self._pattern.sub(" ", text),
        }
        filed_under = frozenset(map(words.fold, (draft.entity, draft.keyword, draft.target)))
        names = {draft.entity, draft.target} if draft.kind == "relation" else {draft.entity}
        record, none = NamedText(fact.id, text), list[str]()
        is_bond = draft.kind == "relation" and draft.keyword and draft.target and draft.polarity > 0
        is_own = is_bond and contradiction.entity(draft) == "user" and contradiction.keyword_class(draft) in BONDS
        entry = FiledFact(
            number, fact, group(draft, *self.both), fact.since.timestamp(),
            filed_under - self.never - {""}, frozenset(map(words.fold, names)) - self.never - {"", *OWNERS},
            frozenset(self._contained.run("words", record, lambda: words.keywords(text, top_k=20), none)),
            (contradiction.keyword_class(draft),) if draft.entity == "user" else (),
            frozenset(contradiction.matters(draft)),
            (words.fold(draft.keyword).replace("_", " "), draft.target) if is_own else None,
        )  # fmt: skip
        for name, field_text in texts.items():
            self.fields[name].add(number, field_text)
        for postings, keys in self._postings(entry):
            postings.add(number, keys)
        self._by_id[fact.id] = entry
        return entry

    def _remove(self, id_: str) -> None:
        entry = self._by_id.pop(id_)
        for texts in self.fields.values():
            texts.remove(entry.number)
        for postings, keys in self._postings(entry):
            postings.remove(entry.number, keys)

    def _postings(self, entry: FiledFact) -> Sequence[tuple[Postings[Any], Collection[Hashable]]]:
        return (
            (self.words, entry.words), (self.names, entry.names), (self.keywords, entry.keywords),
            (self.classes, entry.classes), (self.matters, entry.matters),
        )  # fmt: skip


@dataclass(frozen=True)
class FactView:
    """Facts as they were at one moment. What has left the files since is found no more."""

    files: FiledFacts
    entries: Sequence[FiledFact]

    @lazy
    def facts(self) -> Sequence[Fact]:
        return [entry.fact for entry in self.entries]

    @lazy
    def by_id(self) -> Mapping[str, Fact]:
        return {fact.id: fact for fact in self.facts}

    @lazy
    def delicate(self) -> Sequence[tuple[str, Sequence[str], str]]:
        """(id, sources, text) of those that are delicate."""
        return [(f.id, f.draft.sources, f.text) for f in self.facts if f.draft.mark == "delicate"]

    @lazy
    def boundaries(self) -> list[Fact]:
        """What the user asks to be kept to, in order."""
        return [fact for fact in self.facts if fact.draft.kind == "boundary"]

    def by_word(self, word: str) -> list[int]:
        """Places of the facts with a content word, ascending."""
        return self._at(self.files.keywords.of(word))

    def by_class(self, name: str) -> list[int]:
        """Places of what is known of the user in a class, ascending."""
        return self._at(self.files.classes.of(name))

    def newest(self, name: str, most: int) -> list[Fact]:
        """What was last known of the user in a class, ``most`` at most, the newest first."""
        return [self.facts[place] for place in self.by_class(name)[: -most - 1 : -1]]

    def rivals(self, draft: FactDraft) -> list[Fact]:
        """The facts that a draft may restate or contradict, in order."""
        numbers = {n for matter in contradiction.rivals(draft) for n in self.files.matters.of(matter)}
        return [self.facts[i] for i in self._at(numbers)]

    @lazy
    def _places(self) -> Mapping[int, int]:
        return {entry.number: place for place, entry in enumerate(self.entries)}

    def _at(self, numbers: Collection[int]) -> list[int]:
        return sorted(self._places[number] for number in numbers if number in self._places)
