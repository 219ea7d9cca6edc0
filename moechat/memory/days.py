"""Days that come round: birthdays, weddings, deaths, the first talk, festivals that were talked of before, and what was said on
this day of another year. Each follows from a fact, an event or an exchange that is there, and is gone with it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Literal

import numpy as np

from moechat import when
from moechat.containment import NamedText
from moechat.language import words
from moechat.memory.contradiction import entity, keyword_class
from moechat.memory.core import CoreMemory
from moechat.memory.episodes import Episodes
from moechat.model import Episode, Event, Fact, Hit
from moechat.reading.matter import matter
from moechat.store.kinds import Store
from moechat.when.calendar import comes_round, festivals_on
from moechat.when.names import has_han
from moechat.when.words import table

RECIPE = "days"
MOST, MOST_PROMPTS = 4, 3  # Days that a prompt names, and the prompts of one day in which one may stand unnamed.
WORTH, FESTIVE = 0.6, 0.4  # The least importance of what is remembered of this day, and of a festival.
AN_AGE = timedelta(days=300)  # What is younger has not come round yet.
FRESH_GRIEF = timedelta(days=30)
YEARS_BACK = 10
Kind = Literal["birthday", "wedding", "death", "first", "festival", "year"]
_BIRTHDAY = re.compile(r"生日|birthday", re.I)
_WEDDING = re.compile(r"结婚|领证|纪念日|\bmarried\b|\banniversary\b", re.I)
_DEATH_DAY = re.compile(r"忌日|祭日|忌辰|anniversary of .{0,40}death", re.I)
_LUNAR = re.compile(r"农历|阴历|旧历|[正冬腊]月|月初[一二三四五六七八九十\d]|廿|\blunar\b", re.I)
_LINES: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "first": "{day}：角色和用户第一次说话", "festival": "{name}，{day}说起过：{text}",
        "year": "{years}年前的今天说起：{text}", "dated": "{day}：{text}",
        "today": "今天——{line}", "tomorrow": "明天——{line}", "grave": "（轻声）",
    },
    "en": {
        "first": "{day}: The character and the user first talked", "festival": "{name}; on {day}: {text}",
        "year": "This day {years} ago the user told of it: {text}", "dated": "{day}: {text}", "today": "Today - {line}",
        "tomorrow": "Tomorrow - {line}", "grave": "(softly) ",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Day:
    """``first`` is the day that comes round. A ``grave`` one is never raised merrily."""

    kind: Kind
    id: str
    text: str
    first: date
    sources: Sequence[str]
    at: datetime | None = None
    lunar: bool = False
    is_grave: bool = False
    is_prepared: bool = False
    is_eve: bool = False
    is_fact: bool = False

    def hit(self, language: str) -> Hit:
        lines = _LINES[language]
        line = (
            lines["tomorrow" if self.is_eve else "today"].format(line=self.text) if self.kind != "year" else self.text
        )
        bare = (self.text,) * (self.kind == "birthday" and not (self.is_grave or self.is_eve))
        return Hit(
            "core" if self.is_fact else "diary", RECIPE, self.id, f"{lines['grave'] * self.is_grave}{line}", 1.0, self.at,
            tuple(self.sources), shorter=bare,
        )  # fmt: skip


class DaysThatComeRound:
    """Those of one owner. They are looked for once a day, and when what is known changes; each fact and event is read once."""

    def __init__(self, core: CoreMemory, episodes: Episodes, store: Store, language: str) -> None:
        self._core, self._episodes, self._store, self._lines = core, episodes, store, _LINES[language]
        self._language, self._lock = language, threading.Lock()
        self._known: tuple[object, list[Day]] = ((), [])
        self._facts: dict[str, tuple[Fact, Day | None]] = {}
        self._events: dict[int, tuple[Event, Day | None]] = {}

    def of(self, now: datetime) -> list[Day]:
        """Those of today, and of tomorrow what is prepared for, the grave ones first. On a day of grief nothing light is."""
        store, today = self._store, now.date()
        key = (today, store.findings.facts_generation(), self._episodes.changes, store.hidden(), store.moment)
        with self._lock:
            if self._known[0] != key:
                self._known = key, self._found(now)
            return self._known[1]

    def all_of(self, now: datetime) -> list[Day]:
        """Those that are known, whenever they come, from today's on through the year as the sun has it."""
        today = (now.month, now.day)
        with self._lock:
            days, _ = self._kept(now)
        return sorted(days, key=lambda one: ((one.first.month, one.first.day) < today, one.first.month, one.first.day))

    def _kept(self, now: datetime) -> tuple[list[Day], list[Event]]:
        """The days that facts, events and the first talk make, and what was grave."""
        grave, days = self._of_events(now)
        return [*self._of_facts(" ".join(event.text for event in grave)), *days, *self._first(now)], grave

    def _found(self, now: datetime) -> list[Day]:
        today, tomorrow = now.date(), now.date() + timedelta(days=1)
        days, grave = self._kept(now)
        due = [one for one in days if comes_round(one.first, today, lunar=one.lunar)]
        due += [
            replace(one, is_eve=True) for one in days
            if one.is_prepared and not one.is_grave and comes_round(one.first, tomorrow, lunar=one.lunar)
        ]  # fmt: skip
        grief = [event.happened[0] for event in grave if event.happened]
        if any(one.is_grave for one in due) or any(timedelta(0) <= now - at < FRESH_GRIEF for at in grief):
            due = [one for one in due if one.kind != "first"]
        else:
            due += [*self._festivals(now), *self._years(now, {one.id for one in due})]
        unique: dict[object, Day] = {}
        for one in due:
            unique.setdefault((one.kind, one.is_eve, frozenset(one.sources) or one.id), one)
        return sorted(unique.values(), key=lambda one: (not one.is_grave, one.is_eve))

    def _of_facts(self, dead: str) -> Iterator[Day]:
        """Birthdays, and days that facts call so. That of somebody who has died is a grave one."""
        before, self._facts = self._facts, {}
        for fact in self._core.current():
            last, day = before.get(fact.id, (None, None))
            day = day if last is fact else self._of_fact(fact)
            self._facts[fact.id] = fact, day
            if day:
                whose = entity(fact.draft)
                is_over = whose not in ("user", "character") and whose in dead
                yield replace(day, is_grave=True) if is_over else day

    def _of_fact(self, fact: Fact) -> Day | None:
        draft, of = fact.draft, keyword_class(fact.draft)
        if of not in ("birthday", "anniversary", "death_day") or draft.polarity < 0 or draft.until:
            return None
        if fact.confirmed is False or (draft.mark == "delicate" and of != "death_day"):
            return None
        for text in filter(None, (draft.target, fact.text)):
            if spans := self._spans(fact.id, text, fact.since):
                kind: Kind = "birthday" if of == "birthday" else "death" if of == "death_day" else "wedding"
                return Day(
                    kind, fact.id, fact.text, spans[0].start.date(), draft.sources, fact.at,
                    lunar=bool(_LUNAR.search(f"{text} {draft.quote}")), is_grave=kind == "death",
                    is_prepared=kind == "wedding" or entity(draft) != "user", is_fact=True,
                )  # fmt: skip
        return None

    def _of_events(self, now: datetime) -> tuple[list[Event], list[Day]]:
        """(the deaths of all times, the events that come round)"""
        view, before = self._episodes.view(now), self._events
        weighty = np.flatnonzero(~view.reflection & (view.importance >= WORTH))
        positions = dict(zip(weighty.tolist(), view.positions[weighty].tolist(), strict=True))
        self._events = {at: before[at] for at in positions.values() if at in before}
        for place, episode in view.each([place for place, at in positions.items() if at not in before]):
            self._events[positions[place]] = episode.event, self._of_event(episode)
        deaths = [event for event, day in self._events.values() if _kind(event) == "death"]
        days = [day for _, day in self._events.values() if day]
        return deaths, [day for day in days if day.kind == "birthday" or now.date() - day.first > AN_AGE]

    def _of_event(self, episode: Episode) -> Day | None:
        event, kind = episode.event, _kind(episode.event)
        stands = episode.confirmed is not False and event.status != "cancelled" and event.precision == "day"
        if not kind or not stands or event.happened is None or (event.status == "planned" and kind != "birthday"):
            return None
        first = event.happened[0].date()
        text = event.text if kind == "birthday" else self._lines["dated"].format(day=first, text=event.text)
        return Day(
            kind, episode.id, text, first, event.sources, episode.at, self._is_lunar(event), kind == "death",
            is_prepared=kind != "death",
        )  # fmt: skip

    def _is_lunar(self, event: Event) -> bool:
        """Whether the day of an event was named by the moon."""
        spoken = [exchange.user for exchange in self._store.exchanges.of(event.sources).values()]
        for text in (event.quote, event.text, *spoken):
            if _LUNAR.search(text):
                spans = self._spans(event.text, text, event.happened[0] if event.happened else None)
                if any(_LUNAR.search(span.phrase) for span in spans):
                    return True
        return False

    def _spans(self, id_: str, text: str, at: datetime | None) -> list[when.Span]:
        record, moment = NamedText(id_, text), at or self._store.clock.now()
        spans: list[when.Span] = self._store.contained.run(
            "times", record, lambda: when.resolve(text, moment, use="writing"), []
        )
        return [span for span in spans if span.precision == "day"]

    def _first(self, now: datetime) -> Iterator[Day]:
        moment = self._store.exchanges.time_said("", math.inf, last=False, hidden=self._store.hidden())
        for row in self._store.exchanges.before(moment + 1e-3, 1) if moment is not None else ():
            at = row.exchange.at.astimezone(now.tzinfo)
            if now - at > AN_AGE:
                text = self._lines["first"].format(day=at.date())
                yield Day("first", row.exchange.id, text, at.date(), [row.exchange.id], at)

    def _festivals(self, now: datetime) -> Iterator[Day]:
        """A festival of today that was talked of in another year, with what was said then."""
        view = self._episodes.view(now)
        for name in festivals_on(now.date()):
            named = {name, *_called(name)}
            places = [p for word in named for p in view.with_keyword(word).tolist() if not view.reflection[p]]
            events = [e for e in view.episodes(sorted(set(places))) if is_light(e, FESTIVE) and now - e.since > AN_AGE]
            if best := max(events, key=lambda e: e.event.importance, default=None):
                day = best.since.astimezone(now.tzinfo).date()
                shown = name if self._language == "zh" else next(iter(_called(name, "en")), name).capitalize()
                text = self._lines["festival"].format(name=shown, day=day, text=best.event.text)
                yield Day("festival", best.id, text, now.date(), best.event.sources, best.at)

    def _years(self, now: datetime, besides: Collection[str]) -> Iterator[Day]:
        """What was told on this day of the latest year that has something worth it."""
        view = self._episodes.view(now)
        for years in range(1, YEARS_BACK + 1):
            today = now.date()
            day = 28 if (today.month, today.day) == (2, 29) else today.day
            start = datetime.combine(today.replace(year=today.year - years, day=day), time(), now.tzinfo)
            ends = start.timestamp(), (start + timedelta(days=1)).timestamp()
            is_then = (view.since >= ends[0]) & (view.since < ends[1]) & ~view.reflection & (view.importance >= WORTH)
            events = [e for e in view.episodes(np.flatnonzero(is_then).tolist()) if is_light(e, WORTH)]
            events = [e for e in events if e.id not in besides]
            if best := max(events, key=lambda e: e.event.importance, default=None):
                en = "a year" if years == 1 else f"{years} years"
                number = en if self._language == "en" else "一" if years == 1 else str(years)
                text = self._lines["year"].format(years=number, text=best.event.text)
                yield Day("year", best.id, text, start.date(), best.event.sources, best.at)
                return


def due(
    days: Sequence[Day], store: Store, now: datetime, in_context: Collection[str], talk: str, *, low: bool
) -> list[Day]:
    """Those that a prompt names: none that only the context tells of, nor one that a reply of today has named, or that
    ``MOST_PROMPTS`` held in vain; a grave one stands all day. In a low mood the merry ones wait."""
    held: dict[str, list[str]] = {}
    midnight, answered_now = now.replace(hour=0, minute=0, second=0, microsecond=0), store.tree.leaf(talk)
    for node in reversed(store.tree.nodes.values()) if days else ():
        if not node.at or datetime.fromisoformat(node.at) < midnight:
            break
        for hit in node.hits if node.id != answered_now else ():
            if hit.get("recipe") == RECIPE:
                held.setdefault(str(hit["id"]), []).append(node.variant.char if node.variant else "")
    there = [
        one for one in days
        if not set(one.sources or [one.id]) <= set(in_context) and not (low and not one.is_grave)
        and (one.is_grave or _may_stand(one, held.get(one.id, ())))
    ]  # fmt: skip
    return there[:MOST]


def _may_stand(day: Day, replies: Sequence[str]) -> bool:
    """Whether a prompt names a day, after the replies of today whose prompts named it."""
    matter_of_day = set(words.keywords(day.text, 12))
    return len(replies) < MOST_PROMPTS and all(matter_of_day.isdisjoint(words.keywords(one, 200)) for one in replies)


def _kind(event: Event) -> Kind | None:
    text = f"{event.text} {event.quote}"
    if _BIRTHDAY.search(text):
        return "birthday"
    if _DEATH_DAY.search(text):
        return "death"
    if _WEDDING.search(text):
        return "wedding"
    about = matter(event.quote or event.text)
    return "death" if about.kind == "death" and about.is_heard else None


def is_light(episode: Episode, least: float) -> bool:
    """Whether an event may be told by itself, without weighing on anybody."""
    event = episode.event
    is_told = episode.confirmed is not False and event.status != "cancelled" and event.importance >= least
    if not is_told or event.mark or episode.by == "author":
        return False
    about = matter(event.quote or event.text)
    return not (about.is_heard and about.kind in ("death", "illness", "work_lost", "break_up", "trouble", "medicine"))


def _called(festival: str, *languages: str) -> Iterable[str]:
    """What a festival is called."""
    for language in languages or ("zh", "en"):
        for word, meaning in table(language)["festivals"].items():
            if meaning == festival:
                yield word
                if has_han(word):
                    yield f"{word}节"
