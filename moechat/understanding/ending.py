"""What is known of the user that a later message tells as over, by rules: a home that was left, a job, a taste, a pet that died.

A fact is meant where a sentence in earnest names it: by its value, or by what somebody is to the user. Whether it is told as over
is weighed (``reading.ended``). What moves a life ends what it is about without its name: a break-up, work that was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from moechat.language import words
from moechat.memory.contradiction import ENDING, entity, keyword_class, target
from moechat.model import Exchange, Fact, FactDraft, Understanding
from moechat.reading.ended import is_over
from moechat.reading.matter import matter
from moechat.rules import message
from moechat.rules.clause import OTHER, SENTENCE, UNKNOWN, USER, Clause
from moechat.when.names import has_han, tongue_of

_SELF = re.compile(r"我|俺|咱|阿拉|\b(?:i|i['’]?(?:m|ve|d|ll)|my|me|we|us|our)\b", re.IGNORECASE)
_ENDS = {"work_lost": ("job", "employer"), "break_up": ("partner",)}
"""Which classes of facts a matter ends whose value the message does not name."""
_TEXT = {"zh": "不再如此：“{quote}”", "en": "No longer so: “{quote}”"}
NEAR_BEGINNING = 6  # What stands so near to the beginning of a clause is what that is about.
LONGEST_QUOTE = 160


def ending(
    understanding: Understanding, exchange: Exchange, before: Sequence[str], standing: Iterable[Fact]
) -> Understanding:
    """What the rules read in one exchange, with the facts that it ends. ``standing`` are those that hold, ``before`` the messages
    before it in the same talk."""
    text = exchange.user
    folded = text.casefold()
    mine = [
        fact for fact in standing
        if fact.by not in ("owner", "author") and fact.since < exchange.at and not fact.draft.until and fact.draft.polarity > 0
        and exchange.id not in fact.draft.sources and classes(fact.draft)
    ]  # fmt: skip
    named = [fact for fact in mine if any(name in folded for name in names(fact.draft))]
    about = matter(text)
    moved = _ENDS.get(about.kind, ()) if about.is_heard else ()
    lost = [
        fact
        for fact in mine
        if fact not in named and entity(fact.draft) == "user" and not classes(fact.draft).isdisjoint(moved)
    ]
    if not named and not lost:
        return understanding
    clauses = [clause for clause in message.read(text, before).in_earnest if clause.mood in ("said", "past")]
    rulings, replaces = dict[FactDraft, None](), dict(understanding.replaces)
    bygone = list[FactDraft]()
    for sentence in SENTENCE.finditer(text):
        quote = sentence[0].strip(" ,，")[:LONGEST_QUOTE]
        over = [
            one for one in named if any(_ends(one, place, sentence[0], clauses) for place in _places(one, sentence[0]))
        ]
        if matter(quote).kind == about.kind and any(one.owner == USER for one in clauses):
            over += lost
        for fact in over:
            draft = FactDraft(
                _TEXT[tongue_of(quote)].format(quote=quote), (exchange.id,), "ruling", fact.draft.entity, "ended",
                mark=fact.draft.mark, quote=quote,
            )  # fmt: skip
            rulings[draft], replaces[draft] = None, (*replaces.get(draft, ()), fact.id)
            bygone.append(fact.draft)
    stated = tuple(one for one in understanding.facts if not any(_says_again(one, draft) for draft in bygone))
    return replace(understanding, facts=(*stated, *rulings), replaces=replaces)


def _says_again(draft: FactDraft, over: FactDraft) -> bool:
    """Whether a fact of the same message says no more of what is over, or that it is not so."""
    same = entity(draft) == entity(over) and keyword_class(draft) == keyword_class(over)
    return same and draft.kind == over.kind and target(draft.target) == target(over.target)


@lru_cache(maxsize=4096)
def classes(draft: FactDraft) -> frozenset[str]:
    """The classes of a fact that may end: its own, and that of what somebody is to the user."""
    other = keyword_class(replace(draft, keyword=draft.target))
    return frozenset((keyword_class(draft).partition(":")[0], other)) & ENDING


@lru_cache(maxsize=4096)
def names(draft: FactDraft) -> tuple[str, ...]:
    """The words by which a message may name a fact, the longest first."""
    texts = [draft.target, *([draft.keyword] if draft.kind == "relation" else [])]
    parts = [word for text in texts for word in words.keywords(text, 20)] + [target(text) for text in texts]
    fitting = {part.casefold() for part in (*texts, *parts) if len(part) > (1 if has_han(part) else 2)}
    return tuple(sorted(fitting, key=len, reverse=True))


def _places(fact: Fact, sentence: str) -> Iterator[tuple[int, int]]:
    """Where a sentence names a fact: by the longest of its names that stands there."""
    for name in names(fact.draft):
        pattern = re.escape(name) if has_han(name) else rf"\b{re.escape(name)}"
        if matches := list(re.finditer(pattern, sentence, re.IGNORECASE)):
            yield from (match.span() for match in matches)
            return


def _ends(fact: Fact, place: tuple[int, int], sentence: str, clauses: Sequence[Clause]) -> bool:
    own = sentence[slice(*place)]
    return any(own in one.text and _is_of(fact, own, one) for one in clauses) and is_over(sentence, *place)


def _is_of(fact: Fact, own: str, clause: Clause) -> bool:
    """Whether a clause is about whose a fact is, or about the thing itself."""
    whose = entity(fact.draft)
    if clause.owner in (USER, UNKNOWN) or clause.owner == whose:
        return whose == "user" or clause.owner != USER or whose in clause.text
    is_subject = clause.text.casefold().find(own.casefold()) <= NEAR_BEGINNING
    return (is_subject or bool(_SELF.search(clause.text))) and (clause.owner == OTHER or clause.owner in fact.text)
