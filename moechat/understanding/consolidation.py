"""Consolidation: attributes that were told in several ways at several times become one fact (seed 004, eight).

Facts are appended as they are told. Now and then, what is known of one entity under one keyword, about the same thing and
in the same sense, is summed up: by a model where there is one, in batches, and by rules where there is none or where its
answer adds or loses something. The sum supersedes its parts, which stay readable; it is as old as the newest of them and
rests on all that they rested on, so that where one of those is hidden or taken back, the parts hold again.

Facts about different things are not summed up (likes tea, likes coffee): each may be contradicted by itself. Nor are
single values, which replace each other, nor what is pinned or was written by the owner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from threading import Event
from typing import Any

import json_repair

from moechat.ai.chat_model import ChatModel
from moechat.errors import DataError, ModelError
from moechat.language import words
from moechat.memory import contradiction
from moechat.memory.core import CoreMemory
from moechat.model import Fact, FactDraft, Message
from moechat.settings.prompts import Prompts
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from moechat.store.log import Entry
from moechat.store.state import restated

log = logging.getLogger(__name__)
MOST = 8  # facts in one
LONGEST = 200  # characters of a sum; what would be longer stays apart
AT_ONCE = 10  # groups in one call of a model
GROUPS = 50  # in one pass; the others wait for the next
KEPT_SHARE = 0.5  # of the content words of each part that a model's sentence must have

_SUBJECTS = {"user": ("用户", "The user", "User"), "character": ("角色", "The character")}
_ENDS = " .。!！;；,，"
_NEGATION = re.compile(
    r"不|没|未|别|无法|讨厌|(?:\b(?:not|no|never|neither|without|hates?|dislikes?)\b|n't)", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}

Group = Sequence[Fact]


def groups(facts: Sequence[Fact], pinned: Collection[str] = ()) -> list[Group]:
    """What may be summed up among the facts that hold: two or more of one group, oldest first, none too long."""
    found: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        if (key := _key(fact)) is not None and fact.id not in pinned:
            found.setdefault(key, []).append(fact)
    return [group for one in found.values() if len(group := _fitting(one)) > 1][:GROUPS]


def _key(fact: Fact) -> tuple[object, ...] | None:
    """Facts with one key tell of the same thing in the same sense; None for what stays as it is."""
    draft = fact.draft
    name = contradiction.keyword_class(draft)
    if draft.kind != "attribute" or not draft.keyword or draft.single or contradiction.is_single(name):
        return None
    if fact.by not in ("rules", "model"):
        return None
    target = contradiction.target(draft.target) if draft.target else ""
    return contradiction.entity(draft), name, contradiction.polarity(draft), target, draft.generic


def _fitting(facts: Group) -> Group:
    """As many of the oldest as make one sentence: a sum that is full is left as it is."""
    chosen: list[Fact] = []
    length = 0
    for fact in facts:
        if len(chosen) < MOST and length + len(fact.text) <= LONGEST:
            chosen.append(fact)
            length += len(fact.text)
    return chosen


# ---- by rules


def joined(texts: Sequence[str], subjects: Sequence[str] = ()) -> str:
    """One text that says what all say: whatever another one says already is left out, a subject is named once."""
    bare = [text.strip().rstrip(_ENDS) for text in texts]
    said = [
        one for i, one in enumerate(bare)
        if not any(_says(other, one) and (not _says(one, other) or j < i) for j, other in enumerate(bare) if j != i)
    ]  # fmt: skip
    if len(said) == 1:
        return texts[bare.index(said[0])].strip()
    subject = next((name for name in subjects if name and all(one.startswith(name) for one in said)), "")
    rest = [said[0], *(one.removeprefix(subject).lstrip() for one in said[1:])]
    return ("; " if all(one.isascii() for one in rest) else "；").join(rest)


def _says(one: str, other: str) -> bool:
    return words.fold(other) in words.fold(one)


# ---- by a model


def by_model(
    model: ChatModel, found: Sequence[Group], prompts: Prompts, names: tuple[str, str], timeout_s: float
) -> dict[int, str]:
    """Sentences for some of the groups, by their places; those that add or lose something are left out. Raises ModelError
    and DataError."""
    shown = "\n\n".join(
        f"[{number}] {group[-1].draft.keyword}\n" + "\n".join(f"- {' '.join(fact.text.split())}" for fact in group)
        for number, group in enumerate(found, 1)
    )
    prompt = prompts.fill("consolidate", user=names[0], char=names[1], facts=shown)
    answer = model.complete([Message("user", prompt)], schema=_SCHEMA, timeout_s=timeout_s)
    made = {}
    for number, text in _read(answer).items():
        if 1 <= number <= len(found) and sound(text, [fact.text for fact in found[number - 1]], names):
            made[number - 1] = text
    return made


def _read(answer: str) -> dict[int, str]:
    bare = _THOUGHT.sub("", answer)
    told = json_repair.loads(bare[bare.find("{") :]) if "{" in bare else None
    facts = told.get("facts") if isinstance(told, dict) else None
    if not isinstance(facts, list):
        raise ModelError("nonsense", "the facts were not summed up in the form that was asked for")
    return {
        one["id"]: " ".join(one["text"].split()) for one in facts
        if isinstance(one, dict) and isinstance(one.get("id"), int) and isinstance(one.get("text"), str)
    }  # fmt: skip


def sound(text: str, parts: Sequence[str], names: Sequence[str] = ()) -> bool:
    """Whether a sentence says what its parts say and nothing else: every content word and number stems from them, most of
    the words of each and all numbers are there, and it denies where all do."""
    if not text or len(text) > sum(map(len, parts)) + 20:
        return False
    whole = words.fold("\n".join([*parts, *names]))
    stems = set(words.tokens(whole))
    content = [word for word in words.words(text) if not words.is_stop_word(word)]
    if any(word not in whole and not stems.issuperset(words.tokens(word)) for word in content):
        return False
    if sorted(set(_NUMBER.findall(text))) != sorted(set(_NUMBER.findall(whole))):
        return False
    denials = {bool(_NEGATION.search(one)) for one in parts}
    if denials != {bool(_NEGATION.search(text))}:  # of parts that differ, nobody knows which is denied in the sentence
        return False
    said = set(words.tokens(text))
    return all(_kept(part, said) >= KEPT_SHARE for part in parts)


def _kept(part: str, said: set[str]) -> float:
    wanted = {token for token in words.tokens(part, bigrams=False) if not words.is_stop_word(token)}
    return len(wanted & said) / len(wanted) if wanted else 1.0


# ---- one pass


def consolidate(
    store: FileStore,
    core: CoreMemory,
    *,
    model: ChatModel | None,
    prompts: Prompts,
    names: tuple[str, str],
    timeout_s: float = 15,
    stopping: Event | None = None,
) -> list[Fact]:
    """Sum up what may be, and return the new facts. ``names`` are the user's and the character's; ``model`` None, or one that
    does not understand: the rules alone. ``stopping`` ends it between two calls; then nothing is stored."""
    # A sum rests on all that its parts rest on: it would be hidden with the least of it, or be understood anew with it.
    apart = store.hidden().union(store.tree.pending())
    found = groups([f for f in core.current() if apart.isdisjoint(f.draft.sources)], store.state.pinned)
    texts: dict[int, str] = {}
    if found and model is not None and model.understands:
        for start in range(0, len(found), AT_ONCE):
            if stopping is not None and stopping.is_set():
                return []
            try:
                made = by_model(model, found[start : start + AT_ONCE], prompts, names, timeout_s)
            except (ModelError, DataError) as error:
                log.warning("facts are summed up by rules: %s", error)
                break
            texts |= {start + place: text for place, text in made.items()}
    done: dict[str, Group] = {}
    sums: list[Fact] = []
    with store.writing():
        holding = {fact.id: fact for fact in core.current()}
        for place, group in enumerate(found):
            if all(holding.get(fact.id) == fact for fact in group):  # nothing has changed while the model was thinking
                text = texts.get(place) or joined([fact.text for fact in group], _subjects(group[0].draft, names))
                sums.append(_sum(group, text, "model" if place in texts else "rules"))
                done[sums[-1].id] = group
        store.derived.put_facts(sums)
        store.state.write([entry for id_, group in done.items() for entry in _strengthened(store, id_, group)])
    return sums


def _strengthened(store: FileStore, whole: str, parts: Group) -> list[Entry]:
    """A sum has the strength of its parts, and what it gains by each that was told after the first."""
    carried = [entry for part in parts for entry in store.state.carried(part.id, whole)]
    first, *later = sorted(part.since for part in parts)
    return carried + [restated({whole: first}, at) for at in later]


def _subjects(draft: FactDraft, names: tuple[str, str]) -> Sequence[str]:
    whose = contradiction.entity(draft)
    own: Mapping[str, str] = {"user": names[0], "character": names[1]}
    return (*_SUBJECTS.get(whose, ()), own.get(whose, draft.entity))


def _sum(group: Group, text: str, by: str) -> Fact:
    """The fact that stands for a group; the part that says it all already becomes it."""
    same = next((fact for fact in group if fact.text == text), None)
    order = [same, *(fact for fact in group if fact is not same)] if same else list(group)
    sources = tuple(dict.fromkeys(source for fact in order for source in fact.draft.sources))
    newest = max(group, key=lambda fact: fact.since)
    one = newest.draft
    draft = FactDraft(
        text, sources, one.kind, one.entity, one.keyword, one.target, one.polarity, one.single, one.generic
    )
    id_ = derived_id(text, sources)
    replaced = [fact.id for fact in group if fact.id != id_]
    replaced += [old for fact in group if fact.id == id_ for old in fact.supersedes]
    return Fact(id_, newest.at, draft, tuple(replaced), by, consolidated=True)  # type: ignore[arg-type]
