"""What happened to the user, by their own account: a statement of theirs that names a time or a finished act, or a plan that
names a day, kept in their words with the day. The words for it stand in ``zh.txt`` and ``en.txt``; ``importance`` rates it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from moechat import when
from moechat.model import Event, Exchange
from moechat.reading.matter import FAINT, IN_PART, KINDS, LIKELY, STATED, matter
from moechat.reading.saying import mark
from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause
from moechat.rules.importance import rate
from moechat.rules.message import Reading
from moechat.rules.table import Language, PatternTable, table
from moechat.when import Span
from moechat.when.names import has_han
from moechat.when.span import undated
from moechat.when.tense import forward_en, forward_zh

Told = TypeVar("Told", Event, Clause)
BY_WORDS = frozenset({"hearsay", "uncertain"})
# Sayings of these kinds tell nothing as true.
AS_IF = frozenset("quote suppose joke figure role question other record".split())
SHORTEST = {"zh": 4, "en": 8}  # characters of a clause that tells something
_THIRD_PERSON_EN = (
    (r"\bI(?: a|['’])m\b", "the user is"), (r"\bI(?: ha|['’])ve\b", "the user has"), (r"\b[Ww]e\b", "the user and others"),
    (r"\bI\b", "the user"), (r"^[Mm]y\b", "the user's"), (r"\bmy\b", "their"), (r"\bme\b", "them"),
    (r"\bmyself\b", "themselves"), (r"\b(the user and others) (?:is|am)\b", r"\1 are"), (r"\bthe user do\b", "the user does"),
)  # fmt: skip
# The verb after "the user": not one that is the same for all persons, nor one in the past (promised).
_BARE_VERB_EN = re.compile(
    r"\b(the user (?:(?:also|just|still|then|probably|really|finally|usually) )*)"
    r"(?!(?:will|shall|can|could|may|might|must|should|would|was|is|has|had|does|did|and|not)\b)([a-z]+)(?<!ed)(?=\s|$)",
    re.IGNORECASE,
)
_OF_MINE_ZH = re.compile(r"我(?=的|家|们)")
_SHORT_KIN_ZH = re.compile(r"(?<=用户的)([爸妈哥姐弟妹])(?!\1|[夫妹弟姐])")


def events(
    clauses: Sequence[Clause], stating: Sequence[Clause], exchange: Exchange, language: Language
) -> tuple[Event, ...]:
    """The events that the user's clauses tell of, each with the absolute days that its words meant.

    ``stating`` are the clauses that state facts. Such a clause is an event too if it names a day and something done, or tells
    of a change (搬到北京了).
    """
    patterns = table(language)
    spans: list[Span] = when.resolve(exchange.user, exchange.at, use="writing") if clauses else []
    result: list[Event] = []
    for clause in clauses:
        span = next((span for span in spans if span.phrase and span.phrase in clause.text), None)
        is_ahead = span is not None and _is_to_come(span, clause.text, exchange.at, language)
        if not _happens(clause, span, clause in stating, patterns, is_ahead=is_ahead):
            continue
        # Subject, predicate and object, simple: who, the verb, the rest.
        user, triple = "用户" if patterns.language == "zh" else "user", patterns["triple"].search(clause.body)
        planned = clause.mood == "plan" or is_ahead
        event = Event(
            _sentence(clause, patterns),
            (exchange.id,),
            subject=user if clause.whose in (USER, OTHER, UNKNOWN) else clause.whose,
            predicate=triple["verb"].lower() if triple else clause.body,
            object=triple["thing"].strip() if triple else "",
            importance=rate(clause.text, planned=planned),
            status="planned" if planned else "done",
            mark=mark(clause.text),
        )
        result.append(_dated(event, span))
    return tuple(result)


def weighty(
    happenings: tuple[Event, ...], reading: Reading, stating: Sequence[Clause], exchange: Exchange
) -> tuple[tuple[Event, ...], frozenset[Event]]:
    """The events with what moves a life, where the user's clauses in earnest tell of that, and those of them that are in doubt.
    The nearest event weighs as much as its kind, less where that is not sure; where there is no event, the clause that tells it
    most likely is one: in doubt where it only may be, and where it is another's or ``stating`` a fact and only likely a matter.
    What is in doubt by its words alone (they say, I guess) counts where it surely is one."""
    clauses, least_score, language = reading.in_earnest, FAINT, reading.language
    if not clauses and not (reading.saying.kind in AS_IF and reading.saying.is_sure):
        clauses, least_score = tuple(clause for clause in reading.clauses if clause.mood in BY_WORDS), LIKELY
    if not clauses or (about := matter(exchange.user)).score < least_score:
        return happenings, frozenset()
    least = round(KINDS[about.kind].importance * min(about.score / LIKELY, 1), 2)
    if happenings:
        nearest = _weightiest(happenings)
        weighed = replace(nearest, importance=max(nearest.importance, least))
        return tuple(weighed if event is nearest else event for event in happenings), frozenset()
    telling = _weightiest(clauses)
    is_likely = about.score >= LIKELY or matter(telling.text).score >= IN_PART
    if not (is_likely or about.is_heard):
        return happenings, frozenset()
    subject, says = ("用户", "用户说：") if language == "zh" else ("user", "The user says: ")
    is_others = telling.owner == OTHER
    text = says + telling.text if is_others else _sentence(telling, table(language))
    spans = when.resolve(exchange.user, exchange.at, use="writing")
    event = Event(
        text, (exchange.id,), "" if is_others else subject, telling.body, importance=least, mark=mark(exchange.user)
    )
    event = _dated(event, next((span for span in spans if span.phrase and span.phrase in telling.text), None))
    is_sure = is_likely and not ((is_others or telling in stating) and about.score < STATED)
    return (event,), frozenset() if is_sure else frozenset((event,))


def _weightiest(of: Sequence[Told]) -> Told:
    """That which most likely tells of a matter; of one alone that is not asked."""
    return max(of, key=lambda one: matter(one.text).score) if len(of) > 1 else of[0]


def _happens(clause: Clause, span: Span | None, states_fact: bool, patterns: PatternTable, *, is_ahead: bool) -> bool:
    """Whether the clause tells of something that happened to the user or theirs, or that is planned for a day."""
    is_coming = is_ahead and clause.mood in ("said", "plan") and bool(patterns["coming"].search(clause.text))
    theirs = clause.whose not in (OTHER, UNKNOWN) or bool(patterns["of_theirs"].match(clause.text))
    if not (theirs or is_coming) or len(clause.text) < SHORTEST[patterns.language]:
        return False
    if patterns["no_event"].search(clause.body) or patterns["habit"].search(clause.text):
        return False
    if is_coming:
        return True
    acts = bool(patterns["act"].search(clause.body))
    if clause.mood == "plan":
        return span is not None and acts
    tells_done = any(patterns["done"].search(part) for part in (clause.text, clause.body))
    done = tells_done or (span is not None and acts and patterns.language == "zh")
    if clause.mood not in ("said", "past") or not done or patterns["not_done"].search(clause.text):
        return False
    is_told_as_fact = states_fact and clause.whose in (USER, UNKNOWN)
    return not is_told_as_fact or span is not None or bool(patterns["change"].search(clause.body))


def _is_to_come(span: Span, text: str, at: datetime, language: Language) -> bool:
    """Whether a span lies ahead, or goes on while its clause speaks of what is to come (下午三点要开会, said at three); of a
    whole day that is today nobody can tell."""
    is_today = span.precision in ("day", "part") and span.start.date() == span.end.date()
    if span.start > at or span.end <= at or is_today:
        return span.start > at
    return bool((forward_zh if language == "zh" else forward_en)(text, "writing"))


def about_user(text: str) -> str:
    """A clause of the user's in the third person: 我对花生过敏 → 用户对花生过敏, "I moved" → "The user moved"."""
    if has_han(text):
        if theirs := table("zh")["mine"].match(text):
            text = _SHORT_KIN_ZH.sub(r"\1\1", f"{theirs[0][:-1]}用户的{text[theirs.end() :]}")
        elif re.match(rf"[^我]{{0,6}}{_OF_MINE_ZH.pattern}", text):
            text = _OF_MINE_ZH.sub("用户", text, count=1)
        elif "我" in text:
            text = f"用户{text.replace('我', '', 1)}"
        return text.replace("用户们", "用户和别人").replace("我们", "自己").replace("我", "自己")
    for pattern, instead in _THIRD_PERSON_EN:
        text = re.sub(pattern, instead, text)
    return text[0].upper() + text[1:]


def _sentence(clause: Clause, patterns: PatternTable) -> str:
    lead = patterns["lead"].match(clause.text)
    text = about_user(clause.text[lead.end() :] if lead and patterns.language == "zh" else clause.text)
    if patterns.language == "zh":
        if "用户" in text:
            return text
        return f"用户的{text}" if patterns["things"].match(text) else f"用户{text}"
    if (
        "he user" not in text
    ):  # It has no subject of its own: flying to Lisbon, biology exam tomorrow, lost my passport.
        text = f"{text[0].lower()}{text[1:]}"
        link = " is" if patterns["doing"].match(text) else "'s" if patterns["coming"].search(text) else ""
        return f"The user{link} {text}"
    return (
        _BARE_VERB_EN.sub(lambda match: match[1] + _third(match[2]), text, count=1) if clause.mood == "plan" else text
    )


def _third(verb: str) -> str:
    """The third person of an English verb: fly → flies, teach → teaches, have → has."""
    if verb == "have":
        return "has"
    if verb[-1] == "y" and verb[-2:-1] not in tuple("aeou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"


def _dated(event: Event, span: Span | None) -> Event:
    """An event with its time, which stands beside its words."""
    if span is None:
        return event
    text = event.text if span.is_vague else undated(event.text, span.phrase)
    return replace(event, text=text, happened=(span.start, span.end), precision=span.precision)
