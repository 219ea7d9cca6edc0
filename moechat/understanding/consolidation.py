"""Consolidation: facts that say the same in several ways become one fact (seed 004, eight).

Facts are appended as they are told. Now and then, those of one entity under one keyword, about the same target and of the
same polarity, are summed up. A model does it in batches; the rules do it if there is no model or its sentence adds or loses
something. The sum supersedes its parts, which stay readable. It is as old as the newest part and has the sources of all
parts; if one source is hidden or taken back, the parts hold again.

Facts about different targets are not summed up (likes tea, likes coffee), because each may be contradicted by itself. Facts
with a single value are not either, because they replace each other, nor are facts that are pinned or were written by the
owner.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from threading import Event
from typing import Literal

from moechat.ai.chat_model import ChatModel
from moechat.ai.cleaner import json_object
from moechat.errors import DataError, ModelError
from moechat.language import words
from moechat.memory import contradiction
from moechat.memory.core import CoreMemory
from moechat.model import Fact, FactDraft, Mark, Message
from moechat.settings.prompts import Prompts
from moechat.store.entries import Entry
from moechat.store.formats import derived_id
from moechat.store.kinds import Store
from moechat.store.state import restatement
from moechat.understanding.answer import strict_object

log = logging.getLogger(__name__)
MOST = 8  # A sum has at most this many parts.
LONGEST = 200  # A sum has at most this many characters; facts that would make it longer stay apart.
AT_ONCE = 10  # One call of a model sums up this many groups.
GROUPS = 50  # One pass takes this many groups; the others wait for the next.
KEPT_SHARE = 0.5  # A model's sentence must have this share of the content words of each part.

_SUBJECTS = {"user": ("用户", "The user", "User"), "character": ("角色", "The character")}
_ENDS = " .。!！;；,，"
_NEGATION = re.compile(
    r"不|没|未|别|无法|讨厌|(?:\b(?:not|no|never|neither|without|hates?|dislikes?)\b|n't)", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SUM = strict_object({"id": {"type": "integer"}, "text": {"type": "string"}})
_SCHEMA = strict_object({"facts": {"type": "array", "items": _SUM}})


def groups(facts: Sequence[Fact], pinned: Collection[str] = ()) -> list[Sequence[Fact]]:
    """The groups of two or more current facts that may be summed up, each oldest first."""
    by_key: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        if (key := _key(fact)) is not None and fact.id not in pinned:
            by_key.setdefault(key, []).append(fact)
    fitting = map(_fitting, by_key.values())
    return [group for group in fitting if len(group) > 1][:GROUPS]


def _key(fact: Fact) -> tuple[object, ...] | None:
    """Facts with the same key say the same of the same target; None for a fact that is never summed up."""
    draft = fact.draft
    name = contradiction.keyword_class(draft)
    if draft.kind != "attribute" or not draft.keyword or draft.single or contradiction.is_single(name):
        return None
    if fact.by not in ("rules", "model"):
        return None
    target = contradiction.target(draft.target) if draft.target else ""
    return contradiction.entity(draft), name, contradiction.polarity(draft), target, draft.generic


def _fitting(facts: Sequence[Fact]) -> Sequence[Fact]:
    """As many of the oldest facts as one sum may have. A sum that is full stays as it is."""
    chosen: list[Fact] = []
    length = 0
    for fact in facts:
        if len(chosen) < MOST and length + len(fact.text) <= LONGEST:
            chosen.append(fact)
            length += len(fact.text)
    return chosen


# ---- sums by rules


def joined(texts: Sequence[str], subjects: Sequence[str] = ()) -> str:
    """One text that says what all texts say: a text that another one contains is left out, a subject is named once."""
    bare = [text.strip().rstrip(_ENDS) for text in texts]
    parts = [text for place, text in enumerate(bare) if not _is_contained(place, bare)]
    if len(parts) == 1:
        return texts[bare.index(parts[0])].strip()
    subject = next((name for name in subjects if name and all(part.startswith(name) for part in parts)), "")
    rest = [parts[0], *(part.removeprefix(subject).lstrip() for part in parts[1:])]
    return ("; " if all(part.isascii() for part in rest) else "；").join(rest)


def _is_contained(place: int, texts: Sequence[str]) -> bool:
    """Whether another text contains the one at ``place``. Of equal texts, the first is contained in none."""
    folded = [words.fold(text) for text in texts]
    text = folded[place]
    return any(text in other and (text != other or i < place) for i, other in enumerate(folded) if i != place)


# ---- sums by a model


def by_model(
    model: ChatModel, groups: Sequence[Sequence[Fact]], prompts: Prompts, names: tuple[str, str], timeout_s: float
) -> dict[int, str]:
    """The model's sentences by the place of their group; those that add or lose something are left out.

    Raises ModelError and DataError.
    """
    shown = "\n\n".join(
        f"[{number}] {group[-1].draft.keyword}\n" + "\n".join(f"- {' '.join(fact.text.split())}" for fact in group)
        for number, group in enumerate(groups, 1)
    )
    prompt = prompts.fill("consolidate", user=names[0], char=names[1], facts=shown)
    answer = model.complete([Message("user", prompt)], schema=_SCHEMA, timeout_s=timeout_s)
    return {
        number - 1: text
        for number, text in _read(answer).items()
        if 1 <= number <= len(groups) and sound(text, [fact.text for fact in groups[number - 1]], names)
    }


def _read(answer: str) -> dict[int, str]:
    try:
        facts = json_object(answer).get("facts")
    except ValueError:
        facts = None
    if not isinstance(facts, list):
        raise ModelError("nonsense", "the facts were not summed up in the form that was asked for")
    return {
        fact["id"]: " ".join(fact["text"].split())
        for fact in facts
        if isinstance(fact, dict) and isinstance(fact.get("id"), int) and isinstance(fact.get("text"), str)
    }


def sound(text: str, parts: Sequence[str], names: Sequence[str] = ()) -> bool:
    """Whether a sentence says what its parts say and nothing else.

    All its content words come from the parts, its numbers are those of the parts, it has most of the words of each part, and it
    denies if and only if all parts do.
    """
    if not text or len(text) > sum(map(len, parts)) + 20:
        return False
    whole = words.fold("\n".join([*parts, *names]))
    stems = set(words.tokens(whole))
    content = [word for word in words.words(text) if not words.is_stop_word(word)]
    if any(word not in whole and not stems.issuperset(words.tokens(word)) for word in content):
        return False
    if sorted(set(_NUMBER.findall(text))) != sorted(set(_NUMBER.findall(whole))):
        return False
    denials = {bool(_NEGATION.search(part)) for part in parts}
    if denials != {bool(_NEGATION.search(text))}:  # If the parts differ, it is unclear what the sentence denies.
        return False
    tokens = set(words.tokens(text))
    return all(_kept(part, tokens) >= KEPT_SHARE for part in parts)


def _kept(part: str, tokens: set[str]) -> float:
    """The share of the content words of ``part`` that are among ``tokens``."""
    content = {token for token in words.tokens(part, bigrams=False) if not words.is_stop_word(token)}
    return len(content & tokens) / len(content) if content else 1.0


# ---- one pass


def consolidate(
    store: Store,
    core: CoreMemory,
    *,
    model: ChatModel | None,
    prompts: Prompts,
    names: tuple[str, str],
    timeout_s: float = 15,
    stopping: Event | None = None,
) -> list[Fact]:
    """Sum up what may be summed up, and return the new facts.

    ``names`` are the user's and the character's. If ``model`` is None or does not understand, the rules do it alone.
    ``stopping`` ends it between two calls of the model; then nothing is stored.
    """
    # A sum has the sources of all its parts. With a source that is hidden or waits to be understood, all of it would be
    # hidden or understood anew.
    apart = store.hidden().union(store.tree.pending())
    chosen = groups([fact for fact in core.current() if apart.isdisjoint(fact.draft.sources)], store.state.pinned)
    texts: dict[int, str] = {}
    if model is not None and model.understands:
        for start in range(0, len(chosen), AT_ONCE):
            if stopping is not None and stopping.is_set():
                return []
            try:
                sentences = by_model(model, chosen[start : start + AT_ONCE], prompts, names, timeout_s)
            except (ModelError, DataError) as error:
                log.warning("facts are summed up by rules: %s", error)
                break
            texts |= {start + place: text for place, text in sentences.items()}
    with store.writing("sum up"):
        current = {fact.id: fact for fact in core.current()}
        parts: dict[str, Sequence[Fact]] = {}
        sums: list[Fact] = []
        for place, group in enumerate(chosen):
            if any(current.get(fact.id) != fact for fact in group):
                continue  # It changed while the model was thinking.
            text = texts.get(place) or joined([fact.text for fact in group], _subjects(group[0].draft, names))
            sums.append(_sum(group, text, "model" if place in texts else "rules"))
            parts[sums[-1].id] = group
        store.findings.put(sums)
        store.state.write([entry for id_, group in parts.items() for entry in _strengthened(store, id_, group)])
    return sums


def _strengthened(store: Store, whole: str, parts: Sequence[Fact]) -> list[Entry]:
    """The entries that give a sum the strength of its parts, and a restatement for each part after the first."""
    carried = [entry for part in parts for entry in store.state.carried(part.id, whole)]
    first, *later = sorted(part.since for part in parts)
    return carried + [entry for at in later for entry in restatement({whole: first}, at)]


def _subjects(draft: FactDraft, names: tuple[str, str]) -> Sequence[str]:
    whose = contradiction.entity(draft)
    own: Mapping[str, str] = {"user": names[0], "character": names[1]}
    return (*_SUBJECTS.get(whose, ()), own.get(whose, draft.entity))


def _sum(group: Sequence[Fact], text: str, by: Literal["rules", "model"]) -> Fact:
    """The fact that stands for a group. A part with the same text becomes it, with its id."""
    same = next((fact for fact in group if fact.text == text), None)
    parts = sorted(group, key=lambda fact: fact is not same)
    sources = tuple(dict.fromkeys(source for fact in parts for source in fact.draft.sources))
    newest = max(group, key=lambda fact: fact.since)
    id_ = derived_id(text, sources)
    replaced = [fact.id for fact in group if fact.id != id_]
    replaced += [old for fact in group if fact.id == id_ for old in fact.supersedes]
    marks = {fact.draft.mark for fact in group}
    mark: Mark = "delicate" if "delicate" in marks else "care" if "care" in marks else ""
    draft = replace(newest.draft, text=text, sources=sources, mark=mark)
    return Fact(id_, newest.at, draft, tuple(replaced), by, consolidated=True)
