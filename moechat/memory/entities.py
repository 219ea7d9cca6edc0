"""Entity search (seed 004, section 十二): facts found by expanded words, as a table of stages per version.

v18 to v23 look through their stages in turn; a fact is returned once, at its first stage, newest first within it.
v23_es scores all facts: every hit weighs level / 12 (a base word 1) times the boost of its field, the sum x is saturated to
x / (x + 1), and that counts .8, the age exp(-days / 30) the other .2.

Chinese is searched by substring, other words by their stems (cat is not in education). The names of the user and the
character are in half of all facts and are never searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Literal, get_args

import numpy as np

from moechat.cue import Cue
from moechat.index.vectors import TOLERANCE
from moechat.language import association, words
from moechat.language.association import LEVELS, Association, Source, Strategy
from moechat.memory.contradiction import FactView, Field
from moechat.model import Fact, Hit
from moechat.settings.schema import AssociationSettings

Version = Literal["v18", "v22", "v23", "v23_es"]
Asked = tuple[str, int | None]  # a word and its level; None for a base word

TEXT_SHARE, AGE_SHARE, AGE_DAYS = 0.8, 0.2, 30.0


@dataclass(frozen=True)
class Stage:
    """Facts of these groups (see :func:`group`), where a word is in one of these fields."""

    groups: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Plan:
    """How a version searches. ``labels`` are by group. Words shorter than ``description_chars`` do not search descriptions.
    ``boosts``: no stages, fields of this weight. ``named``: groups whose text needs the name before it."""

    stages: tuple[Stage, ...]
    labels: Mapping[str, str]
    description_chars: int = 1
    boosts: Mapping[Field, float] | None = None
    named: tuple[str, ...] = ()


def _labels(table: Mapping[str, str]) -> dict[str, str]:
    return {name: label for label, names in table.items() for name in names.split()}


_USERS = tuple("user.attribute user.relation".split())
_OTHERS = tuple(
    "character.attribute particular.attribute generic.attribute "
    "character.relation particular.bound particular.relation generic.bound generic.relation".split()
)
_OF_THE_TWO = tuple("user.relation character.relation particular.bound generic.bound".split())
_V23_LABELS = {
    "用户属性": "user.attribute",
    "与主体和客体的关系": "user.relation character.relation particular.bound generic.bound",
    "特殊实体属性": "particular.attribute",
    "与其它实体的关系": "particular.relation generic.relation",
}

PLANS: Mapping[Version, Plan] = {
    "v18": Plan(
        (Stage(_USERS, ("keyword", "description")), Stage(_OTHERS, ("keyword", "entity_name"))),
        _labels({
            "用户属性": "user.attribute", "用户关系": "user.relation",
            "其他属性": "character.attribute particular.attribute generic.attribute",
            "其他关系": "character.relation particular.bound particular.relation generic.bound generic.relation",
        }),
    ),
    "v22": Plan(
        (
            Stage(("user.attribute",), ("keyword", "description")),
            Stage(_OF_THE_TWO, ("keyword",)),
            Stage(("particular.attribute",), ("entity_name",)),
            Stage(("picture",), ("keyword",)),
        ),
        _labels({
            "用户属性": "user.attribute", "与主体和客体的关系": " ".join(_OF_THE_TWO),
            "属性": "particular.attribute", "记忆画面": "picture",
        }),
        named=("particular.attribute",),
    ),
    "v23": Plan(
        (
            Stage(_OF_THE_TWO, ("keyword",)),
            Stage(("user.attribute",), ("keyword", "description")),
            Stage(("particular.attribute", "particular.relation"), ("keyword",)),
        ),
        _labels(_V23_LABELS),
        description_chars=2,
    ),
    "v23_es": Plan(
        (),
        _labels({**_V23_LABELS, "主体属性": "character.attribute", "泛化实体属性": "generic.attribute", "记忆画面": "picture"}),
        description_chars=2,
        boosts={"keyword": 3.0, "entity_name": 2.0, "description": 1.0},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class FactMatch:
    """A fact, what the version calls it, and the words that hit, in the order in which they were searched.

    ``score`` is 0 but for v23_es. ``stage`` counts from 1, and is 0 for v23_es. ``text`` is the fact's, with the entity's name
    before it where it needs one.
    """

    fact: Fact
    label: str
    score: float
    matched: tuple[str, ...]
    stage: int
    text: str


class EntityIndex:
    """What the versions search in the facts of a view: their order by age, and what others are to the user."""

    def __init__(self, view: FactView) -> None:
        self.view, self._files = view, view.files
        filed = sorted(view.entries, key=attrgetter("since", "fact.id"))
        self.facts = [entry.fact for entry in filed]
        self._people: dict[str, dict[str, None]] = {}  # what others are to the user → their names
        for bond, name in filter(None, (entry.bond for entry in filed)):
            self._people.setdefault(bond, {})[name] = None
        self._rows = {entry.number: row for row, entry in enumerate(filed)}
        self._groups = [entry.group for entry in filed]
        self._since = np.array([entry.since for entry in filed], dtype=np.float64)

    def people(self, text: str) -> list[str]:
        """The names of those whom a text names by what they are to the user (我弟, my daughter)."""
        folded = words.fold(text)
        stems = set(map(words.stem, _LATIN.findall(folded)))
        people: list[str] = []
        for word, names in self._people.items():
            if word.isascii():
                is_named = stems.issuperset(map(words.stem, word.split()))
            else:  # 弟 stands for 弟弟 after 我 or 我家.
                is_short = len(word) == 2 and word[0] == word[1]
                is_named = word in folded or (is_short and re.search(rf"我家?的?{word[0]}", folded) is not None)
            people += names if is_named else ()
        return people

    def search(
        self,
        search_words: Sequence[Asked],
        *,
        now: datetime,
        version: Version = "v23_es",
        limit: int | None = None,
        threshold: float = 0.0,
    ) -> list[FactMatch]:
        """The facts that the words hit, best first, at most ``limit``. ``threshold`` holds for v23_es only. Raises ValueError
        for an unknown version."""
        if version not in PLANS:
            raise ValueError(f"version: {version!r} is none of {', '.join(get_args(Version))}")
        plan, weights = PLANS[version], dict[str, float]()
        # What a level gained by coming up again must not outweigh a word that was said.
        for word, level in search_words:
            word, weight = words.fold(word.strip()), 1.0 if level is None else min(level, LEVELS) / LEVELS
            if word and word not in self._files.never and weight > weights.get(word, 0.0):
                weights[word] = weight
        if not self.facts or not weights:
            return []
        if plan.boosts:
            return self._by_weight(plan, plan.boosts, weights, now, limit, threshold)
        return self._by_stage(plan, weights, limit)

    def _hits(self, search_words: Sequence[str], field: Field, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        """(fact rows, word numbers) of every hit in a field."""
        shortest = plan.description_chars if field == "description" else 1
        numbers_of, row_of = self._files.fields[field].numbers, self._rows
        rows_by_word = [
            [row_of[number] for number in numbers_of(word) if number in row_of] if len(word) >= shortest else ()
            for word in search_words
        ]
        counts = [len(rows) for rows in rows_by_word]
        rows = np.fromiter(chain.from_iterable(rows_by_word), dtype=np.int64, count=sum(counts))
        return rows, np.repeat(np.arange(len(counts)), counts)

    def _by_stage(self, plan: Plan, weights: Mapping[str, float], limit: int | None) -> list[FactMatch]:
        search_words = list(weights)
        hits = {
            name: self._hits(search_words, name, plan)
            for name in {name for stage in plan.stages for name in stage.fields}
        }
        left = np.ones(len(self.facts), dtype=bool)
        matches: list[FactMatch] = []
        for number, stage in enumerate(plan.stages, 1):
            rows = np.concatenate([hits[name][0] for name in stage.fields])
            numbers = np.concatenate([hits[name][1] for name in stage.fields])
            here = np.zeros(len(self.facts), dtype=bool)
            here[rows] = True
            here &= left & np.array([whose in stage.groups for whose in self._groups], dtype=bool)
            left &= ~here
            room = None if limit is None else max(limit - len(matches), 0)
            chosen = np.flatnonzero(here)[::-1][:room]
            matched = _matched(chosen, rows, numbers, search_words)
            matches += [self._match(int(row), plan, 0.0, matched[int(row)], number) for row in chosen]
        return matches

    def _by_weight(
        self,
        plan: Plan,
        boosts: Mapping[Field, float],
        weights: Mapping[str, float],
        now: datetime,
        limit: int | None,
        threshold: float,
    ) -> list[FactMatch]:
        search_words, weight_of = list(weights), np.fromiter(weights.values(), dtype=np.float64)
        hits = {name: self._hits(search_words, name, plan) for name in boosts}
        total = np.zeros(len(self.facts))
        for name, boost in boosts.items():
            rows, numbers = hits[name]
            total += boost * np.bincount(rows, weight_of[numbers], minlength=len(total))
        days = np.maximum(now.timestamp() - self._since, 0.0) / 86400
        scores = TEXT_SHARE * total / (total + 1) + AGE_SHARE * np.exp(-days / AGE_DAYS)
        here = np.flatnonzero(total > 0)[::-1]
        order = here[np.argsort(-scores[here], kind="stable")]
        chosen = order[scores[order] >= threshold - TOLERANCE]
        chosen = chosen[: None if limit is None else max(limit, 0)]
        every = [np.concatenate(parts) for parts in zip(*hits.values(), strict=True)]
        matched = _matched(chosen, every[0], every[1], search_words)
        return [self._match(int(row), plan, float(scores[row]), matched[int(row)], 0) for row in chosen]

    def _match(self, row: int, plan: Plan, score: float, matched: tuple[str, ...], stage: int) -> FactMatch:
        fact, whose = self.facts[row], self._groups[row]
        name = fact.draft.entity
        text = name + fact.text if whose in plan.named and name not in fact.text else fact.text
        return FactMatch(fact, plan.labels[whose], score, matched, stage, text)


_LATIN = re.compile(r"[a-z]+")


def _matched(
    chosen: np.ndarray, rows: np.ndarray, numbers: np.ndarray, search_words: Sequence[str]
) -> dict[int, tuple[str, ...]]:
    """Fact row → the words that hit it, in the order in which they were searched."""
    numbers_by_row: dict[int, set[int]] = {int(row): set() for row in chosen}
    of_chosen = np.isin(rows, chosen)
    for row, number in zip(rows[of_chosen].tolist(), numbers[of_chosen].tolist(), strict=True):
        numbers_by_row[row].add(number)
    return {row: tuple(search_words[number] for number in sorted(hit)) for row, hit in numbers_by_row.items()}


@dataclass(frozen=True)
class Expansion:
    """The words of a recall text, its base words, and what those of the message bring to mind.

    Facts are searched by ``search_words``.
    """

    segments: Sequence[str]
    base: Sequence[str]
    expanded: Sequence[Association]
    search_words: Sequence[Asked]


class Entities:
    """The recipe ``entities``: recall text → base words → expansion → facts.

    ``view`` gives the facts that may be recalled (the owner's current ones and the author's), ``sources`` the associations.
    """

    def __init__(self, view: Callable[[], FactView], sources: Sequence[Source]) -> None:
        self._view, self._sources = view, sources
        self._index: EntityIndex | None = None

    def index(self) -> EntityIndex:
        """The index of the facts as they are now."""
        view, index = self._view(), self._index
        if index is None or index.view is not view:
            index = self._index = EntityIndex(view)
        return index

    def expansion(
        self,
        text: str,
        previous_reply: str = "",
        *,
        count: int = association.COUNT,
        strategy: Strategy = "first",
        filter_values: Sequence[int] = (),
    ) -> Expansion:
        """The words of the message and of the reply before it. The user's own come first: a long reply must not push them
        out of the ten.

        Facts are searched by the message's words, what they bring to mind, those whom it names by what they are to the user
        (我弟), and who or what the reply names. Its other words
        are not the user's: 忙归忙，饭要吃 would bring everybody's job and tastes to the next message (docs/recall.md has
        the figures).
        """
        index = self.index()
        files = index.view.files
        segments, base = association.base_words(text, names=files.both, vocabulary=files.words)
        expanded = association.expand(base, self._sources, count=count, strategy=strategy, filter_values=filter_values)
        search_words = base
        if previous_reply and len(base) < association.BASE_WORDS:
            before, further = association.base_words(previous_reply, names=files.both, vocabulary=files.words)
            segments, base = before + segments, list(dict.fromkeys([*base, *further]))[: association.BASE_WORDS]
            search_words = [word for word in base if word in search_words or word in files.names]
        search_words = list(dict.fromkeys([*search_words, *index.people(text)]))
        return Expansion(segments, base, expanded, [*((word, None) for word in search_words), *expanded])

    def search(
        self,
        cue: Cue,
        how: AssociationSettings,
        *,
        limit: int | None = 5,
        threshold: float = 0.0,
    ) -> list[Hit]:
        """Facts for the cue, best first."""
        search_words = self.expansion(
            cue.text, cue.previous_reply, count=how.count, strategy=how.strategy, filter_values=how.filter_values
        ).search_words
        matches = self.index().search(search_words, now=cue.now, version=how.version, limit=limit, threshold=threshold)
        return [
            Hit(
                "core", "entities", one.fact.id, one.text, one.score, one.fact.at, one.fact.draft.sources,
                {"stage": float(one.stage)} if one.stage else {"words": one.score}, one.matched,
            )
            for one in matches
        ]  # fmt: skip
