"""Whether what the user said bears out a fact about the user: the rules' check on a model's findings.

A fact stays unless something speaks against it: no word of it was the user's, or it was asked, supposed, joked, quoted or
said of somebody else wherever it was said. What only the character said is nobody's word about the user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from moechat.language import words
from moechat.model import Exchange, FactDraft
from moechat.rules import facts_en, facts_zh
from moechat.rules import reading as rules
from moechat.rules.clause import UNKNOWN, USER, Clause

_NEVER = frozenset({"question", "hypothetical", "joke", "role", "hearsay", "uncertain"})
# Moods that a fact may keep if it says so itself (用户以前住在杭州, "The user wants to move").
_IF_SAID_SO = {
    "wish": re.compile(r"想|希望|愿|梦|期待|want|wish|hope|would|dream|like to", re.I),
    "plan": re.compile(
        r"要|打算|计划|准备|将|想|决定|明|下|约|will|plan|going to|intend|next|tomorrow|decided|about to", re.I
    ),
    "past": re.compile(
        r"以前|曾|过|原|小时|从前|当年|之前|不再|used to|once|former|previous|was|were|had|ago|as a|"
        r"did|lived|worked|"
        r"no longer",
        re.I,
    ),
}
_BOILERPLATE = re.compile(r"用户|角色|自己|\bthe user(?:'s)?\b|\bthe character(?:'s)?\b|\bis called\b", re.I)
_NUMERAL = re.compile(r"[一二两三四五六七八九十百]{1,4}|\b[a-z]+(?:[- ][a-z]+)?\b", re.I)


@dataclass(frozen=True)
class Said:
    """What the user said in one batch, read once: clauses with their words, and the facts that the rules find, by exchange."""

    clauses: dict[str, list[tuple[Clause, frozenset[str]]]]
    facts: dict[str, list[FactDraft]]


def read(exchanges: Sequence[Exchange]) -> Said:
    """The user's side of ``exchanges``, clause by clause."""
    clauses: dict[str, list[tuple[Clause, frozenset[str]]]] = {}
    facts: dict[str, list[FactDraft]] = {}
    for exchange in exchanges:
        tongue = rules.language_of(exchange.user)
        parts = rules.clauses(exchange.user, tongue)
        clauses[exchange.id] = [(part, _words(part.text)) for part in parts]
        facts[exchange.id] = [fact for _, drafts in rules.stated_facts(parts, exchange, tongue) for fact in drafts]
    return Said(clauses, facts)


def supports(said: Said, draft: FactDraft) -> bool:
    """Whether the user's words in ``draft.sources`` bear out a fact about the user."""
    parts = [part for source in draft.sources for part in said.clauses.get(source, ())]
    if any(
        _alike(fact, draft) and fact.polarity == draft.polarity
        for source in draft.sources
        for fact in said.facts.get(source, ())
    ):
        return True
    target, text = _words(draft.target), _words(draft.text)
    whole = draft.target.strip().casefold()
    overlap = [
        len(target) + 1 if whole and whole in clause.text.casefold() else len(spoken & target)
        for clause, spoken in parts
    ]
    if best := max(overlap, default=0):
        where = [clause for (clause, _), shared in zip(parts, overlap, strict=True) if shared == best]
    elif target:  # what the fact is about was never said: 住在杭州 made of 我住在苏州
        return False
    else:
        where = [clause for clause, spoken in parts if spoken & text]
    return any(_in_earnest(clause, draft) for clause in where)


def corrected(said: Said, draft: FactDraft) -> FactDraft:
    """``draft``, or the rules' own finding where that says the opposite of the same thing (喜欢 heard for 不喜欢)."""
    for source in draft.sources:
        for fact in said.facts.get(source, ()):
            if _alike(fact, draft) and fact.polarity != draft.polarity:
                return fact
    return draft


def mentions(exchanges: Sequence[Exchange], text: str, *, user_only: bool = False) -> bool:
    """Whether any content word of ``text`` is in the exchanges."""
    wanted = _words(text)
    return any(
        wanted & _words(exchange.user if user_only else f"{exchange.user}\n{exchange.char}") for exchange in exchanges
    )


def _alike(fact: FactDraft, draft: FactDraft) -> bool:
    return fact.entity == draft.entity and fact.target.casefold() == draft.target.casefold()


def _in_earnest(clause: Clause, draft: FactDraft) -> bool:
    if clause.mood in _NEVER:
        return False
    if clause.whose not in (USER, UNKNOWN):
        return _is_relation(clause, draft)
    allowed = _IF_SAID_SO.get(clause.mood)
    bare = _BOILERPLATE.sub("", draft.text).replace(draft.target or "\0", "")
    return allowed is None or bool(allowed.search(f"{bare} {draft.keyword}"))


def _is_relation(clause: Clause, draft: FactDraft) -> bool:
    """A relation is told with the other as the subject too: 小雨是我妹妹, "my sister lives in Rome" (the user has one)."""
    about = f"{draft.keyword} {draft.target}".casefold()
    if clause.whose:
        has = draft.kind == "relation" or re.search(r"有|\bha(?:s|ve)\b", draft.text) is not None
        return has and clause.whose.casefold() in about
    return draft.kind == "relation" and re.search(r"我|\bmy\b", clause.text, re.I) is not None


def _words(text: str) -> frozenset[str]:
    plain = _BOILERPLATE.sub(" ", text)
    numbers = {
        str(value) for found in _NUMERAL.findall(plain) if (value := facts_zh.number(found) or facts_en.number(found))
    }
    spoken = {token for token in words.tokens(plain) if not words.is_stop_word(token)}
    return frozenset(spoken | numbers)
