"""Plans that later talk closes, by rules: given up (云南不去了, "we cancelled the trip"), moved (体检改到二十二号) or carried out
(终于去了云南, or the rules read on its day that it was done).

A plan is meant where a clause has a word of its matter; what asks, supposes, is said of somebody else, or is of another day
closes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from moechat import when
from moechat.language import words
from moechat.memory.contradiction import target
from moechat.model import Episode, Event, EventStatus, Exchange, Fact, FactDraft, Understanding
from moechat.rules import message
from moechat.rules.clause import IN_DOUBT, UNKNOWN, USER, Clause
from moechat.when.names import tongue_of

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
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)[一二三四五六日天]|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.I)
MAX_BESIDE = 4  # clauses of a message that moves a plan which another of them names
_MOVING = frozenset(
    "改到 推迟 延期 延后 提前 顺延 时间 move push postpone delay reschedule put bring forward back".split()
)
_USER = frozenset(("", "用户", "user", "the user", "我", "i"))
_SAID = {"zh": "用户说“{words}”", "en": "The user said “{words}”"}


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
        or (_WEEKDAY.fullmatch(span.phrase) and span.start.weekday() == day[0].weekday())
        for span in spans
    )


def _carries_out(event: Event, plan: Event) -> bool:
    """Whether something done is what was planned: on its day, by the same one, with a word of its matter."""
    if event.happened is None or plan.happened is None:
        return False
    (start, end), at = event.happened, event.happened[0]
    return start <= plan.happened[1] and end >= plan.happened[0] and _names(event.text, plan, at)


def _event(clause: str, plan: Event, exchange: Exchange, status: EventStatus) -> Event:
    text = _SAID[tongue_of(clause)].format(words=clause)
    return replace(
        plan,
        text=text,
        sources=(exchange.id,),
        status=status,
        insight="",
        emotion="",
        importance=max(plan.importance, 0.5),
    )
