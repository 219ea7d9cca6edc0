"""Whether the user's own words bear out a fact about the user: the check by rules on what a model extracted.

A fact stays unless something speaks against it: none of its words was the user's; or wherever the user said it, it was a
question, a supposition, a joke, a quotation, about somebody else, or the opposite (``sense``). The character's words are no
evidence about the user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from moechat.language import words
from moechat.model import Exchange, FactDraft
from moechat.rules import reading as rules
from moechat.rules.clause import UNKNOWN, USER, Clause
from moechat.understanding import sense
from moechat.when.names import chinese_number, english_number

_NEVER = frozenset({"question", "hypothetical", "joke", "role", "hearsay", "uncertain"})
# A clause in one of these moods bears out a fact that says so itself (用户以前住在杭州, "The user wants to move").
_IF_FACT_SAYS_SO = {
    "wish": re.compile(r"想|希望|愿|梦|期待|want|wish|hope|would|dream|like to|look(?:s|ing)? forward|wait", re.I),
    "plan": re.compile(
        r"要|打算|计划|准备|将|想|决定|明|下|约|will|plan|going to|intend|next|tomorrow|decided|about to", re.I
    ),
    "past": re.compile(
        r"以前|曾|过|原|小时|从前|当年|之前|不再|used to|once|former|previous|was|were|had|ago|as a|did|lived|worked|no longer",
        re.I,
    ),
}
_DENIAL = re.compile(
    r"不|没|别|无|未|非|错|假|骗|玩笑|讨厌|戒|\b(?:no|not|never|nobody|none|wrong|joke|joking|kidding|hate|hates|stopped|quit)\b|n't",
    re.I,
)
LEAST_QUOTED = 2  # So many letters are words that can speak against something.
_THIRD = re.compile(r"他|她|它|\b(?:he|she|it|they|him|her|them|his|its|their)\b", re.I)
_BOILERPLATE = re.compile(r"用户|角色|自己|\bthe user(?:'s)?\b|\bthe character(?:'s)?\b|\bis called\b", re.I)
_NUMERAL = re.compile(r"[一二两三四五六七八九十百]{1,4}|\b[a-z]+(?:[- ][a-z]+)?\b", re.I)


@dataclass(frozen=True)
class UserWords:
    """What the user said in one batch, by exchange: the clauses with their words, and the facts that the rules find."""

    clauses: dict[str, list[tuple[Clause, frozenset[str]]]]
    facts: dict[str, list[FactDraft]]

    def facts_of(self, sources: Sequence[str]) -> list[FactDraft]:
        return [fact for source in sources for fact in self.facts.get(source, ())]


def read(exchanges: Sequence[Exchange]) -> UserWords:
    """The user's side of ``exchanges``, clause by clause."""
    clauses: dict[str, list[tuple[Clause, frozenset[str]]]] = {}
    facts: dict[str, list[FactDraft]] = {}
    for exchange in exchanges:
        tongue = rules.language_of(exchange.user)
        parts = rules.clauses(exchange.user, tongue)
        clauses[exchange.id] = [(part, _words(part.text)) for part in parts]
        facts[exchange.id] = [fact for _, drafts in rules.stated_facts(parts, exchange, tongue) for fact in drafts]
    return UserWords(clauses, facts)


def borne_out(draft: FactDraft, exchanges: Sequence[Exchange], user: UserWords) -> FactDraft | None:
    """The draft, corrected where the rules read the opposite; None if what was said does not bear it out."""
    if draft.entity == "user":
        return corrected(user, draft) if supports(user, draft) else None
    cited = [exchange for exchange in exchanges if exchange.id in draft.sources]
    if not mentions(cited, f"{draft.text} {draft.target}"):
        return None
    return draft if draft.entity == "character" or allows(user, draft) else None


def supports(user: UserWords, draft: FactDraft) -> bool:
    """Whether the user's words in ``draft.sources`` bear out a fact about the user."""
    facts = (fact for fact in user.facts_of(draft.sources) if _alike(fact, draft))
    if any(fact.polarity == draft.polarity and not _opposes(fact.text, draft) for fact in facts):
        return True
    clauses = (clause for clause in _clauses_about(user, draft) if _in_earnest(clause, draft))
    return any(not _opposes(clause.text, draft) for clause in clauses) or corrected(user, draft) is not draft


def allows(user: UserWords, draft: FactDraft) -> bool:
    """Whether the user's words in ``draft.sources`` leave room for a fact about somebody else: where they name its target, one
    clause is about another than the user, and does not say the opposite."""
    clauses = _clauses_about(user, draft)
    return not clauses or any(
        _is_about(clause, draft.entity) and not _opposes(clause.text, draft) for clause in clauses
    )


def denies(user: UserWords, sources: Sequence[str], text: str, target: str) -> bool:
    """Whether every clause of the sources that names ``target`` says the opposite of ``text``."""
    clauses = [clause for source in sources for clause, _ in user.clauses.get(source, ()) if target in clause.text]
    return bool(target and clauses) and all(sense.opposed(clause.text, text, target) for clause in clauses)


def _opposes(text: str, draft: FactDraft) -> bool:
    return sense.opposed(text, draft.text, draft.target)


def _is_about(clause: Clause, entity: str) -> bool:
    """Whether a clause may be about somebody else: it says so, names them, or has a pronoun for them."""
    return clause.whose != USER or entity.casefold() in clause.text.casefold() or bool(_THIRD.search(clause.text))


def _clauses_about(user: UserWords, draft: FactDraft) -> list[Clause]:
    """The clauses of the sources that share most with the fact's target, or any word with a fact that has no target."""
    parts = [part for source in draft.sources for part in user.clauses.get(source, ())]
    target, whole = _words(draft.target), draft.target.strip().casefold()
    overlap = [
        len(target) + 1 if whole and whole in clause.text.casefold() else len(clause_words & target)
        for clause, clause_words in parts
    ]
    if best := max(overlap, default=0):
        return [clause for (clause, _), shared in zip(parts, overlap, strict=True) if shared == best]
    if target:  # The user never named it: 住在杭州 made of 我住在苏州.
        return []
    text = _words(draft.text)
    return [clause for clause, clause_words in parts if clause_words & text]


def corrected(user: UserWords, draft: FactDraft) -> FactDraft:
    """``draft``, or a fact of the rules' that says the opposite about the same thing (the model took 不喜欢 for 喜欢)."""
    opposites = (fact for fact in user.facts_of(draft.sources) if _alike(fact, draft) and _opposes(fact.text, draft))
    return next(opposites, draft)


def mentions(exchanges: Sequence[Exchange], text: str) -> bool:
    """Whether any content word of ``text`` is in the exchanges, on either side."""
    content = _words(text)
    return any(content & _words(f"{exchange.user}\n{exchange.char}") for exchange in exchanges)


def contradicts(exchanges: Sequence[Exchange], quoted: str, text: str) -> bool:
    """Whether words of the user's speak against a finding: they stand in these exchanges, and are not what bears it out.

    What bears it out is a clause in earnest that shares a content word with it, and denies or affirms as it does.
    """
    folded = _folded(quoted)
    if len(folded) < LEAST_QUOTED:
        return False
    parts = [
        clause
        for exchange in exchanges
        if folded in _folded(exchange.user)
        for clause in rules.clauses(exchange.user, rules.language_of(exchange.user))
        if (own := _folded(clause.text)) and (own in folded or folded in own)
    ]
    content, denies = _words(text), bool(_DENIAL.search(text))
    return any(folded in _folded(exchange.user) for exchange in exchanges) and not any(
        clause.mood not in _NEVER and content & _words(clause.text) and bool(_DENIAL.search(clause.text)) == denies
        for clause in parts
    )


def _folded(text: str) -> str:
    """Letters and digits alone, case folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _alike(fact: FactDraft, draft: FactDraft) -> bool:
    return fact.entity == draft.entity and fact.target.casefold() == draft.target.casefold()


def _in_earnest(clause: Clause, draft: FactDraft) -> bool:
    if clause.mood in _NEVER:
        return False
    if clause.whose not in (USER, UNKNOWN):
        return _is_relation(clause, draft)
    says_so = _IF_FACT_SAYS_SO.get(clause.mood)
    bare = _BOILERPLATE.sub("", draft.text).replace(draft.target or "\0", "")
    return says_so is None or bool(says_so.search(f"{bare} {draft.keyword}"))


def _is_relation(clause: Clause, draft: FactDraft) -> bool:
    """Whether a clause about somebody else states a relation of the user's: 小雨是我妹妹, "my sister lives in Rome"."""
    about = f"{draft.keyword} {draft.target}".casefold()
    if clause.whose:
        has = draft.kind == "relation" or re.search(r"有|\bha(?:s|ve)\b", draft.text) is not None
        return has and clause.whose.casefold() in about
    return draft.kind == "relation" and re.search(r"我|\bmy\b", clause.text, re.I) is not None


def _words(text: str) -> frozenset[str]:
    """The content words of a text, and its numbers in digits."""
    bare = _BOILERPLATE.sub(" ", text)
    numbers = (chinese_number(numeral) or english_number(numeral) for numeral in _NUMERAL.findall(bare))
    tokens = (token for token in words.tokens(bare) if not words.is_stop_word(token))
    return frozenset(tokens).union(f"{number:g}" for number in numbers if number)
