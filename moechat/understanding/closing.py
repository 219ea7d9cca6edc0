"""Plans that later talk closes, by rules: given up (云南不去了, "we cancelled the trip"), moved (体检改到二十二号) or carried out
(终于去了云南, or the rules read on its day that it was done).

A plan is meant where a clause has a word of its matter; what asks, supposes, is said of somebody else, or is of another day
closes nothing.

And what is known of the user that a later message tells as over: a home that was left, a job, a taste, a pet that died. A fact is
meant where a sentence in earnest names it: by its value, or by what somebody is to the user. Whether it is told as over is
weighed (``reading.examples``). What moves a life ends what it is about without its name: a break-up, work that was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from moechat import when
from moechat.language import words
from moechat.memory.contradiction import ENDING, entity, keyword_class, target
from moechat.model import Episode, Event, EventStatus, Exchange, Fact, FactDraft, Understanding
from moechat.reading.examples import is_over
from moechat.reading.matter import matter
from moechat.rules import message
from moechat.rules.clause import IN_DOUBT, OTHER, SENTENCE, UNKNOWN, USER, Clause
from moechat.understanding.gate import WEEKDAY
from moechat.when.names import has_han, tongue_of

DAY = timedelta(days=1)
_GENERAL = frozenset("trip travel journey plan holiday visit 旅行 旅游 旅程 计划 打算 行程".split())
_GIVEN_UP = re.compile(
    r"取消|泡汤|作罢|告吹|黄了|放弃|退了?(?:票|房|酒店|机票|车票)|(?:票|房|酒店)都?退了|不.{0,3}(?:了|成)$|[去来看见做买办搬]不[了成]|没(?:能|有)?.{0,2}成|"
    r"\bcancel\w*|\bcalled (?:it |that )?off\b|\b(?:is|are|was|it's|that's) off\b|\bgave up\b|\bgiven up\b|"
    r"\bfell through\b|\bcalling (?:it )?off\b|"
    r"\b(?:not|never|n['’]t|no longer)\b.{0,30}\b(?:going|go|went|doing|do|after all|any ?more|make it)\b",
    re.I,
)
_STILL_ON = re.compile(
    r"没(?:有)?(?:取消|放弃|退)|不(?:会|想|能)?(?:取消|放弃)|\b(?:not|never) (?:been )?(?:cancel|called off|giv|gave)",
    re.I,
)
_SOMEBODY = re.compile(r"[他她它]|\b(?:he|she|they)\b", re.I)
_AT_LAST = re.compile(r"终于|总算|到底还是|\bat last\b|\bfinally\b|\bin the end\b", re.I)
MAX_BESIDE = 4  # clauses of a message that moves a plan which another of them names
_MOVING = frozenset(
    "改到 推迟 延期 延后 提前 顺延 时间 move push postpone delay reschedule put bring forward back".split()
)
_USER = frozenset(("", "用户", "user", "the user", "我", "i"))
SAID = {"zh": "用户说“{quote}”", "en": "The user said “{quote}”"}
ENDED = {"zh": "不再如此", "en": "No longer so"}


def closing(understanding: Understanding, exchange: Exchange, plans: Sequence[Episode]) -> Understanding:
    """What the rules read in one exchange, with the plans that it closes: each by what they read of its day, or by an event of
    its own in the user's words. ``plans`` are those of other exchanges."""
    events, closes = list(understanding.events), dict[FactDraft | Event, tuple[str, ...]]()
    clauses, made = message.read(exchange.user).clauses if plans else (), list[Event]()
    own = [one for one in plans if one.event.subject.casefold() in _USER]
    for plan in own:
        if (moving := _moving(plan.event, clauses, exchange, is_last=plan is own[-1])) is not None:
            matter = _content(exchange.user, exchange.at)
            events = [one for one in events if not _content(one.text, exchange.at) <= matter]
            closes[moving] = (plan.id,)
            made.append(moving)
            continue
        clause, status = _closed(plan.event, clauses, exchange.at)
        by = next((one for one in events if one.status == "done" and _carries_out(one, plan.event)), None)
        if clause:
            events = [one for one in events if clause not in one.text]
            quoted = next((one for one in made if f"“{clause}”" in one.text), None)
            by = quoted or _event(clause, plan.event, exchange, status)
        if by is not None:
            made.append(by)
            closes[by] = (*closes.get(by, ()), plan.id)
    return replace(
        understanding, events=tuple(dict.fromkeys([*events, *made])), replaces={**understanding.replaces, **closes}
    )


def may_close(understanding: Understanding, exchange: Exchange) -> bool:
    """Whether an exchange may close a plan at all: it has a word of that, or tells of something done on a day."""
    done = any(event.status == "done" and event.happened for event in understanding.events)
    text = exchange.user[: when.LONGEST_READ]
    return done or when.moves(text) or bool(_GIVEN_UP.search(text) or _AT_LAST.search(text))


def instead(understanding: Understanding, earlier: Sequence[Fact | Episode]) -> Understanding:
    """A model's understanding, where what closes a plan stands in place of what the rules closed it by in the same exchanges."""
    by_rules = [one for one in earlier if isinstance(one, Episode) and one.by == "rules" and one.supersedes]
    replaces = {
        draft: tuple(dict.fromkeys([*ids, *(one.id for one in by_rules if not set(ids).isdisjoint(one.supersedes))]))
        for draft, ids in understanding.replaces.items()
    }
    return replace(understanding, replaces=replaces)


def _closed(plan: Event, clauses: Sequence[Clause], at: datetime) -> tuple[str, EventStatus]:
    """(the clause that closes a plan of the user's, how), or ("", …)."""
    for clause in clauses:
        text = clause.text
        done = _AT_LAST.search(text) is not None
        if clause.mood in IN_DOUBT or _STILL_ON.search(text) or not (done or _GIVEN_UP.search(text)):
            continue
        somebody = _SOMEBODY.search(text)
        other = somebody[0] if somebody else "" if clause.whose in (USER, UNKNOWN) else clause.whose
        if other not in plan.text or not _names(text, plan, at):
            continue
        day = plan.happened
        if not day or (_meets(text, day, at) and not (done and at < day[0])):
            return text, "done" if done else "cancelled"
    return "", "open"


def _moving(plan: Event, clauses: Sequence[Clause], exchange: Exchange, *, is_last: bool) -> Event | None:
    """The plan at its new time, where a clause moves it: one with a word of it, or with none of any where this was told last."""
    at = exchange.at
    for clause in clauses:
        if plan.happened is None or clause.mood in IN_DOUBT or not when.moves(clause.text):
            continue
        named = _is_told(plan, clause.text, at) or (_is_told(plan, exchange.user, at) and len(clauses) < MAX_BESIDE)
        is_long = plan.happened[1] - plan.happened[0] > timedelta(days=1)  # Its beginning and its end may move apart.
        words = exchange.user if is_long and len(clauses) < MAX_BESIDE else clause.text
        span = when.moved(words, at, plan.happened)
        if span and span.end > at and (named or (is_last and not _content(clause.text, at) - _MOVING)):
            moved = _event(clause.text, plan, exchange, "planned")
            text = moved.text if when.resolve(plan.text, at, use="writing") else plan.text
            return replace(moved, text=text, happened=(span.start, span.end), precision=span.precision)
    return None


def _is_told(plan: Event, text: str, at: datetime) -> bool:
    return _names(text, plan, at) or not _content(plan.text, at).isdisjoint(_content(text, at))


def _names(clause: str, plan: Event, at: datetime) -> bool:
    """Whether a clause has a word of what is planned. A thing of one character counts where it begins or is pointed at."""
    matter = _content(plan.object, at) or _content(" ".join(plan.keywords), at)
    thing = target(plan.object)
    if len(thing) == 1 and re.search(rf"(?:^|[的那这]){re.escape(thing)}", clause):
        return True
    return not matter.isdisjoint(_content(clause, at))


def _content(text: str, at: datetime) -> set[str]:
    """The telling words of a text, without the days that it names."""
    for span in when.resolve(text, at, use="writing"):
        text = text.replace(span.phrase, " ") if span.phrase else text
    content = {words.stem(word) if word.isascii() else word for word in words.keywords(text, top_k=20)}
    return {word for word in content if len(word) > 1} - _GENERAL - _USER


def _meets(clause: str, day: tuple[datetime, datetime], at: datetime) -> bool:
    """Whether a clause names no time, or one near that day. A weekday alone may be that of any week."""
    spans = when.resolve(clause, at, use="writing")
    return not spans or any(
        (span.start < day[1] + DAY and span.end > day[0] - DAY)
        or (WEEKDAY.fullmatch(span.phrase.strip()) and span.start.weekday() == day[0].weekday())
        for span in spans
    )


def _carries_out(event: Event, plan: Event) -> bool:
    """Whether something done is what was planned: on its day, by the same one, with a word of its matter."""
    if event.happened is None or plan.happened is None:
        return False
    (start, end), at = event.happened, event.happened[0]
    return start <= plan.happened[1] and end >= plan.happened[0] and _names(event.text, plan, at)


def _event(clause: str, plan: Event, exchange: Exchange, status: EventStatus) -> Event:
    return replace(
        plan,
        text=SAID[tongue_of(clause)].format(quote=clause),
        sources=(exchange.id,),
        status=status,
        insight="",
        emotion="",
        importance=max(plan.importance, 0.5),
    )


# ---- facts that end


_SELF = re.compile(r"我|俺|咱|阿拉|\b(?:i|i['’]?(?:m|ve|d|ll)|my|me|we|us|our)\b", re.IGNORECASE)
_ENDS = {"work_lost": ("job", "employer"), "break_up": ("partner",)}
"""Which classes of facts a matter ends whose value the message does not name."""
_MORTAL = frozenset({"pet", "partner", "friend"})
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
                ruled(ENDED[tongue_of(quote)], quote), (exchange.id,), "ruling", fact.draft.entity, "ended",
                mark=fact.draft.mark, quote=quote,
            )  # fmt: skip
            rulings[draft], replaces[draft] = None, (*replaces.get(draft, ()), fact.id)
            bygone.append(fact.draft)
    stated = tuple(one for one in understanding.facts if not any(_says_again(one, draft) for draft in bygone))
    return replace(understanding, facts=(*stated, *rulings), replaces=replaces)


def ruled(label: str, quote: str) -> str:
    """The text of a ruling: what it says, and the words that say so."""
    return f"{label}{'：' if has_han(quote) else ': '}“{quote}”"


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
    of = [one for one in clauses if own in one.text and _is_of(fact, own, one)]
    return bool(of) and (is_over(sentence, *place) or any(_dies(fact, one) for one in of))


def _dies(fact: Fact, clause: Clause) -> bool:
    """Whether a clause that names a fact of somebody tells a death."""
    if classes(fact.draft).isdisjoint(_MORTAL):
        return False
    of_life = matter(clause.text)
    return of_life.kind == "death" and of_life.is_heard


def _is_of(fact: Fact, own: str, clause: Clause) -> bool:
    """Whether a clause is about whose a fact is, or about the thing itself."""
    whose = entity(fact.draft)
    if clause.owner in (USER, UNKNOWN) or clause.owner == whose:
        return whose == "user" or clause.owner != USER or whose in clause.text
    is_subject = clause.text.casefold().find(own.casefold()) <= NEAR_BEGINNING
    return (is_subject or bool(_SELF.search(clause.text))) and (clause.owner == OTHER or clause.owner in fact.text)
