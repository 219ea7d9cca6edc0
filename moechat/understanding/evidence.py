"""Whether the user's own words bear out a fact about the user: the check by rules on what a model extracted.

A finding stays unless something speaks against it: nobody named what it is about, nor anything that it follows from (吃素 for
素食者); or wherever the user said it, it was a question, a supposition, a joke, a quotation, about somebody else, or the
opposite (``sense``). The character's words are no evidence about the user. The day of an event is one that was told, or the
day of telling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from moechat import when
from moechat.language import words
from moechat.memory import contradiction
from moechat.model import Event, Exchange, FactDraft
from moechat.rules import message
from moechat.rules import reading as rules
from moechat.rules.clause import IN_DOUBT, OTHER, UNKNOWN, USER, Clause
from moechat.understanding import sense
from moechat.when.names import chinese_number, english_number, has_han

# A clause in one of these moods bears out a fact that says so itself (用户以前住在杭州, "The user wants to move").
_IF_FACT_SAYS_SO = {
    "wish": re.compile(r"想|希望|愿|梦|期待|want|wish|hope|would|dream|like to|look(?:s|ing)? forward|wait", re.I),
    "uncertain": re.compile(r"想|希望|愿|要|让|want|wish|would like|prefer", re.I),  # a request: 叫阿袁吧
    "plan": re.compile(
        r"要|打算|计划|准备|将|想|决定|明|下|约|生日|will|plan|going to|intend|next|tomorrow|decided|about to|birthday",
        re.I,
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
LEAST_QUOTED = 2  # Letters of the shortest words that can speak against something.
_FIRST = re.compile(r"我|咱|\b(?:i|me|my|mine|we|us|our)\b", re.I)
_PARTICLES = re.compile(r"现在|如今|已经|早就|[我咱不没别再了啦的呢也都就却倒可但是]")
_FEW = 3  # An English clause of so few words may be a name alone.
_NEAR = timedelta(days=1)
_TURNS = (timedelta(), timedelta(days=7), timedelta(days=365))
"""A weekday may mean this week's or the next, a day of the year this year's or the next."""
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


def _with_their_subject(parts: Sequence[Clause]) -> list[Clause]:
    """The clauses, where one about another goes on in those without a subject behind it (my boss is old, calls me a boy)."""
    result: list[Clause] = []
    about: Clause | None = None
    for part in parts:
        if part.whose == UNKNOWN and about is not None:
            result[result.index(about)] = about = replace(about, text=f"{about.text}, {part.text}")
        else:
            about = part if part.whose == OTHER else None
        result.append(part)
    return result


def read(exchanges: Sequence[Exchange]) -> UserWords:
    """The user's side of ``exchanges``, clause by clause."""
    clauses: dict[str, list[tuple[Clause, frozenset[str]]]] = {}
    facts: dict[str, list[FactDraft]] = {}
    for exchange in exchanges:
        reading = message.read(exchange.user)
        clauses[exchange.id] = [(part, _words(part.text)) for part in _with_their_subject(reading.clauses)]
        facts[exchange.id] = [fact for _, drafts in rules.stated_facts(reading, exchange) for fact in drafts]
    return UserWords(clauses, facts)


def borne_out(draft: FactDraft, exchanges: Sequence[Exchange], user: UserWords) -> FactDraft | None:
    """The draft, corrected where the rules read the opposite; None if what was said does not bear it out."""
    if draft.entity == "user":
        return corrected(user, draft) if supports(user, draft) else None
    cited = [exchange for exchange in exchanges if exchange.id in draft.sources]
    if draft.entity == "character":
        return draft if mentions(cited, f"{draft.text} {draft.target}") else None
    is_of_somebody = names_somebody(draft.entity) and _names(cited, draft.entity)
    is_told = mentions(cited, f"{draft.text} {draft.target}".replace(draft.entity, " "))
    return draft if is_of_somebody and is_told and allows(user, draft, cited) else None


def supports(user: UserWords, draft: FactDraft) -> bool:
    """Whether the user's words in ``draft.sources`` bear out a fact about the user."""
    facts = (fact for fact in user.facts_of(draft.sources) if _alike(fact, draft))
    if any(fact.polarity == draft.polarity and not _opposes(fact.text, draft) for fact in facts):
        return True
    clauses = (clause for clause in _clauses_about(user, draft) if _in_earnest(clause, draft))
    return any(not _opposes(clause.text, draft) for clause in clauses) or corrected(user, draft) is not draft


def allows(user: UserWords, draft: FactDraft, cited: Sequence[Exchange]) -> bool:
    """Whether the user's words in ``draft.sources`` leave room for a fact about somebody else: where they name its target, one
    clause is about another than the user, and does not say the opposite; else the character named it."""
    clauses = _clauses_about(user, draft)
    if not clauses:
        return not draft.target or mentions(cited, draft.target)
    return any(_is_about(clause, draft.entity) and not _opposes(clause.text, draft) for clause in clauses)


def names_somebody(entity: str) -> bool:
    """Whether anything in an entity is a name: pronouns (我们, they) mean whoever was named before them."""
    return any(
        not words.is_stop_word(word) and not any(kind.startswith("r") for _, kind in words.kinds(word))
        for word in words.words(entity)
    )


def denies(user: UserWords, sources: Sequence[str], text: str, target: str) -> bool:
    """Whether every clause of the sources that names ``target`` says the opposite of ``text``."""
    clauses = [clause for source in sources for clause, _ in user.clauses.get(source, ()) if target in clause.text]
    return bool(target and clauses) and all(sense.opposed(clause.text, text, target) for clause in clauses)


def dates_stand(happened: tuple[datetime, datetime], cited: Sequence[Exchange], others: Sequence[Event]) -> bool:
    """Whether days are those of telling, of a time that the exchanges name, or of another event that is told of."""
    days = [(exchange.at - _NEAR, exchange.at + _NEAR) for exchange in cited]
    for exchange in cited:
        for text in (exchange.user, exchange.char):
            for span in when.resolve(text, exchange.at, use="writing"):
                days += [(span.start + sign * turn, span.end + sign * turn) for turn in _TURNS for sign in (1, -1)]
            plans = (other.happened for other in others if other.happened and when.moves(text))
            days += [(to.start, to.end) for plan in plans if (to := when.moved(text, exchange.at, plan))]
    days += [other.happened for other in others if other.happened]
    return any(first <= happened[1] and happened[0] <= last for first, last in days)


def _opposes(text: str, draft: FactDraft) -> bool:
    return sense.opposed(text, draft.text, draft.target) and not (
        sense.is_plain(text) and sense.dislikes(draft.text)  # a conclusion: 看见香菜就想跑
    )


def _names(cited: Sequence[Exchange], entity: str) -> bool:
    """Whether somebody is named, or what they are to the user (我妈 for 妈妈, Priya for "Priya's brother"), or meant by he
    or she. A letter alone is nobody: the prompt's examples have such."""
    spoken = " ".join(f"{exchange.user} {exchange.char}" for exchange in cited)
    if len(entity) < LEAST_QUOTED:
        return has_han(entity) and entity in spoken
    letters = _folded(spoken)
    parts = _folded(entity) if has_han(entity) else map(_folded, entity.split())
    return _THIRD.search(spoken) is not None or any(part in letters for part in parts)


def _is_about(clause: Clause, entity: str) -> bool:
    """Whether a clause may be about somebody else: it says so, names them, has a pronoun for them, or names nobody and does not
    go on with what was told of the user."""
    whose = clause.goes_on if clause.whose == UNKNOWN else clause.whose
    return whose != USER or entity.casefold() in clause.text.casefold() or _THIRD.search(clause.text) is not None


def _clauses_about(user: UserWords, draft: FactDraft) -> list[Clause]:
    """The clauses of the sources that share most with the fact's target, or any word with a fact that has no target."""
    parts = [part for source in draft.sources for part in user.clauses.get(source, ())]
    target, whole = _words(draft.target), _folded(draft.target)
    overlap = [
        len(target) + 1 if whole and whole in _folded(clause.text) else len(clause_words & target)
        for clause, clause_words in parts
    ]
    if best := max(overlap, default=0):
        clauses = [clause for clause, _ in parts]
        places = [place for place, shared in enumerate(overlap) if shared == best]
        behind = [place + 1 for place in places if _goes_on(*clauses[place : place + 2])]
        return [clauses[place] for place in (*places, *behind)]
    if target:  # The user never named it (住在杭州 made of 我住在苏州), or it follows from another word.
        return [clause for clause, _ in parts if any(_leads_to(word, whole) for word in words.words(clause.text))]
    text = _words(draft.text)
    return [clause for clause, clause_words in parts if clause_words & text]


def _goes_on(clause: Clause, after: Clause | None = None) -> bool:
    """Whether the clause behind one denies what that says, and names nothing else: 我不喜欢, 现在不喝了, "I don't"."""
    if after is None or not _DENIAL.search(after.text):
        return False
    if has_han(after.text):
        return set(_folded(_PARTICLES.sub("", after.text))) <= set(_folded(clause.text))
    return _words(after.text) <= _words(clause.text)


def _leads_to(word: str, target: str) -> bool:
    """Whether what a word is about is part of a target: 吃素 and 素食者."""
    bare = contradiction.target(word)
    return len(bare) >= (1 if has_han(bare) else 4) and bare != word and bare in target


def corrected(user: UserWords, draft: FactDraft) -> FactDraft:
    """``draft``, or a fact of the rules' that says the opposite about the same thing (the model took 不喜欢 for 喜欢)."""
    opposites = (fact for fact in user.facts_of(draft.sources) if _alike(fact, draft) and _opposes(fact.text, draft))
    return next(opposites, draft)


def mentions(exchanges: Sequence[Exchange], text: str) -> bool:
    """Whether any content word of ``text`` is in the exchanges, on either side."""
    content = _words(text)
    return any(content & _words(f"{exchange.user}\n{exchange.char}") for exchange in exchanges)


def contradicts(exchanges: Sequence[Exchange], quoted: str, text: str) -> bool:
    """Whether words of the user's speak against a finding: they stand in these exchanges, are about it or take something
    back, and are not what bears it out.

    What bears it out is a clause in earnest that shares a content word with it, and denies or affirms as it does.
    """
    folded = _folded(quoted)
    if len(folded) < LEAST_QUOTED:
        return False
    parts = [
        clause
        for exchange in exchanges
        if folded in _folded(exchange.user)
        for clause in message.read(exchange.user).holding(quoted)
    ]
    denies = bool(_DENIAL.search(text))
    about = [clause for clause in parts if shares(clause.text, text)]
    taken_back = any(clause.mood in IN_DOUBT or _DENIAL.search(clause.text) for clause in parts if clause not in about)
    return (bool(about) or taken_back) and not any(
        clause.mood not in IN_DOUBT and bool(_DENIAL.search(clause.text)) == denies for clause in about
    )


def shares(one: str, other: str) -> bool:
    """Whether two texts have a content word in common; a year or a day is none."""
    return any(not word[0].isdigit() for word in _words(one) & _words(other))


def _folded(text: str) -> str:
    """Letters and digits alone, case folded."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _alike(fact: FactDraft, draft: FactDraft) -> bool:
    return fact.entity == draft.entity and fact.target.casefold() == draft.target.casefold()


def _in_earnest(clause: Clause, draft: FactDraft) -> bool:
    says_so = _IF_FACT_SAYS_SO.get(clause.mood)
    if clause.mood in IN_DOUBT and says_so is None:
        return False
    if clause.whose not in (USER, UNKNOWN) and not _touches_user(clause, draft):
        return _is_relation(clause, draft)
    bare = _BOILERPLATE.sub("", draft.text).replace(draft.target or "\0", "")
    return says_so is None or bool(says_so.search(f"{bare} {draft.keyword}"))


def _touches_user(clause: Clause, draft: FactDraft) -> bool:
    """Whether a clause that is not the user's own bears out something of theirs: it speaks of them, or is a name alone. What
    is liked belongs to who likes it."""
    if clause.whose or sense.likes(draft.text):
        return False
    is_name = clause.text.isascii() and len(clause.text.split()) <= _FEW and not _THIRD.search(clause.text)
    return is_name or _FIRST.search(clause.text) is not None


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
