"""Days that come round: birthdays, weddings, deaths, the first talk, festivals that were talked of before, and what was said on
this day of another year; and those that a message names though only memory knows them (``Anchors``). Each follows from a fact,
an event or an exchange that is there, and is gone with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from moechat import when
from moechat.clock import local
from moechat.containment import NamedText
from moechat.cue import Cue
from moechat.language import words
from moechat.memory.contradiction import entity, keyword_class
from moechat.memory.core import CoreMemory
from moechat.memory.episodes import Episodes
from moechat.memory.unranked import shown_lately
from moechat.model import Episode, Event, Fact, FactDraft, Hit
from moechat.reading.matter import matter
from moechat.sentences import sentence
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
_OF_FACT: dict[str, Kind] = {"birthday": "birthday", "anniversary": "wedding", "death_day": "death"}
_OF_EVENT: dict[Kind, re.Pattern[str]] = {
    "birthday": re.compile(r"生日|birthday", re.I),
    "death": re.compile(r"忌日|祭日|忌辰|anniversary of .{0,40}death", re.I),
    "wedding": re.compile(r"结婚|领证|纪念日|\bmarried\b|\banniversary\b", re.I),
}
_LUNAR = re.compile(r"农历|阴历|旧历|[正冬腊]月|月初[一二三四五六七八九十\d]|廿|\blunar\b", re.I)


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
        frame = "tomorrow" if self.is_eve else "grave" if self.is_grave else "today"
        line = self.text if self.kind == "year" else sentence("days", frame, language, line=self.text)
        bare = (self.text,) * (self.kind == "birthday" and frame == "today")
        layer: Literal["core", "diary"] = "core" if self.is_fact else "diary"
        return Hit(layer, RECIPE, self.id, line, 1.0, self.at, tuple(self.sources), shorter=bare)


@lru_cache(maxsize=1024)
def _named_by(keyword: str) -> Kind | None:
    """Which days the keyword of a fact names. Every fact is asked every turn."""
    return _OF_FACT.get(keyword_class(FactDraft("", (), keyword=keyword)))


class DaysThatComeRound:
    """Those of one owner. Each event is read once."""

    def __init__(self, core: CoreMemory, episodes: Episodes, store: Store, language: str) -> None:
        self._core, self._episodes, self._store, self._language = core, episodes, store, language
        self._spans = lru_cache(maxsize=1024)(self._read)
        self._events: dict[int, tuple[Event, Day | None]] = {}

    def of(self, now: datetime) -> list[Day]:
        """Those of today, and of tomorrow what is prepared for, the grave ones first. On a day of grief nothing light is."""
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

    def all_of(self, now: datetime) -> list[Day]:
        """Those that are known, whenever they come, from today's on through the year as the sun has it."""
        dates = [((one.first.month, one.first.day), one) for one in self._kept(now)[0]]
        return [one for _, one in sorted(dates, key=lambda of: (of[0] < (now.month, now.day), of[0]))]

    def hits(self, cue: Cue, in_context: Collection[str], *, low: bool) -> list[Hit]:
        """Those that a prompt names: none that only the context tells of, nor one that a reply of today has named, or that
        ``MOST_PROMPTS`` held in vain; a grave one stands all day. In a low mood the merry ones wait."""
        replies: dict[str, list[str]] = {}
        midnight = cue.now.replace(hour=0, minute=0, second=0, microsecond=0)
        days = [day for day in self.of(cue.now) if not set(day.sources or [day.id]) <= set(in_context)]
        for node, id_ in shown_lately(self._store, RECIPE, cue.talk, since=midnight) if days else ():
            replies.setdefault(id_, []).append(node.variant.char if node.variant else "")
        there = [day for day in days if day.is_grave or (not low and _may_stand(day, replies.get(day.id, ())))]
        return [day.hit(self._language) for day in there[:MOST]]

    def _kept(self, now: datetime) -> tuple[list[Day], list[Event]]:
        """The days that facts, events and the first talk make, and what was grave."""
        grave, days = self._of_events(now)
        return [*self._of_facts(" ".join(event.text for event in grave)), *days, *self._first(now)], grave

    def _of_facts(self, dead: str) -> Iterator[Day]:
        """Birthdays, and days that facts call so. That of somebody who has died is a grave one."""
        for fact in self._core.current():
            draft, kind = fact.draft, _named_by(fact.draft.keyword)
            if kind is None or draft.polarity < 0 or draft.until or fact.confirmed is False:
                continue
            if draft.mark == "delicate" and kind != "death":
                continue
            whose = entity(draft)
            spoken = ((text, self._spans(fact.id, text, fact.since)) for text in (draft.target, fact.text) if text)
            for text, spans in spoken:
                if spans:
                    yield Day(
                        kind, fact.id, fact.text, spans[0].start.date(), draft.sources, fact.at,
                        lunar=bool(_LUNAR.search(f"{text} {draft.quote}")), is_fact=True,
                        is_grave=kind == "death" or (whose not in ("user", "character") and whose in dead),
                        is_prepared=kind == "wedding" or whose != "user",
                    )  # fmt: skip
                    break

    def _of_events(self, now: datetime) -> tuple[list[Event], list[Day]]:
        """(the deaths of all times, the events that come round)"""
        view = self._episodes.view(now)
        weighty = np.flatnonzero(~view.reflection & (view.importance >= WORTH))
        there, positions = dict(self._events), view.positions[weighty].tolist()
        for place, episode in view.each(
            [place for place in weighty.tolist() if int(view.positions[place]) not in there]
        ):
            there[int(view.positions[place])] = episode.event, self._of_event(episode)
        self._events = {at: there[at] for at in positions if at in there}
        deaths = [event for event, _ in self._events.values() if _kind(event) == "death"]
        days = [day for _, day in self._events.values() if day]
        return deaths, [day for day in days if day.kind == "birthday" or now.date() - day.first > AN_AGE]

    def _of_event(self, episode: Episode) -> Day | None:
        event, kind = episode.event, _kind(episode.event)
        stands = episode.confirmed is not False and event.status != "cancelled" and event.precision == "day"
        if not kind or not stands or event.happened is None or (event.status == "planned" and kind != "birthday"):
            return None
        # Whether its day was named by the moon.
        spoken = [exchange.user for exchange in self._store.exchanges.of(event.sources).values()]
        texts = [text for text in (event.quote, event.text, *spoken) if _LUNAR.search(text)]
        spans = [span for text in texts for span in self._spans(event.text, text, event.happened[0])]
        first = event.happened[0].date()
        text = event.text if kind == "birthday" else self._line("dated", day=first, text=event.text)
        return Day(
            kind, episode.id, text, first, event.sources, episode.at, any(_LUNAR.search(one.phrase) for one in spans),
            is_grave=kind == "death", is_prepared=kind != "death",
        )  # fmt: skip

    def _read(self, id_: str, text: str, at: datetime) -> list[when.Span]:
        """The days that a text names."""
        spans: list[when.Span] = self._store.contained.run(
            "times", NamedText(id_, text), lambda: when.resolve(text, at, use="writing"), []
        )
        return [span for span in spans if span.precision == "day"]

    def _first(self, now: datetime) -> Iterator[Day]:
        moment = self._store.exchanges.time_said("", math.inf, last=False, hidden=self._store.hidden())
        for row in self._store.exchanges.before(moment + 1e-3, 1) if moment is not None else ():
            id_, at = row.exchange.id, row.exchange.at.astimezone(now.tzinfo)
            if now - at > AN_AGE:
                yield Day("first", id_, self._line("first", day=at.date()), at.date(), [id_], at)

    def _festivals(self, now: datetime) -> Iterator[Day]:
        """A festival of today that was talked of in another year, with what was said then."""
        view = self._episodes.view(now)
        for name in festivals_on(now.date()):
            places = {
                p for word in {name, *_called(name)} for p in view.with_keyword(word).tolist() if not view.reflection[p]
            }
            if best := _best((one for one in view.episodes(sorted(places)) if now - one.since > AN_AGE), FESTIVE):
                day = best.since.astimezone(now.tzinfo).date()
                shown = name if self._language == "zh" else next(iter(_called(name, "en")), name).capitalize()
                text = self._line("festival", called=shown, day=day, text=best.event.text)
                yield Day("festival", best.id, text, now.date(), best.event.sources, best.at)

    def _years(self, now: datetime, besides: Collection[str]) -> Iterator[Day]:
        """What was told on this day of the latest year that has something worth it."""
        view, today = self._episodes.view(now), now.date()
        for years in range(1, YEARS_BACK + 1):
            day = 28 if (today.month, today.day) == (2, 29) else today.day
            start = datetime.combine(today.replace(year=today.year - years, day=day), time(), now.tzinfo)
            is_then = (view.since >= start.timestamp()) & (view.since < (start + timedelta(days=1)).timestamp())
            places = np.flatnonzero(is_then & ~view.reflection & (view.importance >= WORTH)).tolist()
            if best := _best((one for one in view.episodes(places) if one.id not in besides), WORTH):
                text = self._line("a_year" if years == 1 else "years", years=years, text=best.event.text)
                yield Day("year", best.id, text, start.date(), best.event.sources, best.at)
                return

    def _line(self, name: str, **values: object) -> str:
        return sentence("days", name, self._language, **values)


def _may_stand(day: Day, replies: Sequence[str]) -> bool:
    """Whether a prompt names a day, after the replies of today whose prompts named it."""
    matter_of_day = set(words.keywords(day.text, 12))
    return len(replies) < MOST_PROMPTS and all(matter_of_day.isdisjoint(words.keywords(one, 200)) for one in replies)


def _kind(event: Event) -> Kind | None:
    named = (kind for kind, pattern in _OF_EVENT.items() if pattern.search(f"{event.text} {event.quote}"))
    about = matter(event.quote or event.text)
    return next(named, "death" if about.kind == "death" and about.is_heard else None)


def is_light(episode: Episode, least: float) -> bool:
    """Whether an event may be told by itself, without weighing on anybody."""
    event = episode.event
    is_told = episode.confirmed is not False and event.status != "cancelled" and event.importance >= least
    if not is_told or event.mark or episode.by == "author":
        return False
    about = matter(event.quote or event.text)
    return not (about.is_heard and about.kind in ("death", "illness", "work_lost", "break_up", "trouble", "medicine"))


def _best(episodes: Iterable[Episode], least: float) -> Episode | None:
    """The most important of those that may be told by themselves."""
    light = (one for one in episodes if is_light(one, least))
    return max(light, key=lambda one: one.event.importance, default=None)


def _called(festival: str, *languages: str) -> Iterable[str]:
    """What a festival is called."""
    tables = (table(language)["festivals"].items() for language in languages or ("zh", "en"))
    called = [word for words_of in tables for word, meaning in words_of if meaning == festival]
    return [one for word in called for one in (word, f"{word}节")[: 1 + has_han(word)]]


# ---- days that a message names: 我生日那天, 我们第一次聊天, 上次吵架那天 (see ``when.resolve``, anchors)

_SELF = ("我", "me", "my", "i")
_NAMING = {"birthday": ("生日", "birthday", "born"), "anniversary": ("纪念日", "anniversary")}
_TALKING = ("聊天", "聊", "说话", "见面", "认识", "相遇", "chat", "talk", "met", "meet", "spoke")
_SAME_TALK = timedelta(hours=1)  # 上次聊天 does not mean the talk that is going on.
Moments = tuple[datetime, datetime]


class Anchors:
    """What core memory and the diary know of times; None where they do not."""

    def __init__(self, core: CoreMemory, store: Store) -> None:
        self._core, self._store = core, store

    def resolve(self, anchor: str) -> Moments | None:
        """``kind:what`` → first and last moment, in the configured zone."""
        kind, _, what = anchor.partition(":")
        match kind:
            case "birthday" | "anniversary":
                return self._day_in_fact(_NAMING[kind], what)
            case "first" | "last":
                return self._day_said(what, last=kind == "last")
            case "event":
                return self._day_happened(what) or self._day_said(what, last=True)
        return None

    def _day_in_fact(self, named: Sequence[str], whose: str) -> Moments | None:
        now = self._store.clock.now()
        for fact in reversed(self._core.current()):
            text = f"{fact.draft.keyword} {fact.text}".casefold()
            if any(word in text for word in named) and _is_about(fact, whose):
                for dated in (fact.draft.target, fact.text):
                    read, none = partial(when.resolve, dated, now), list[when.Span]()
                    if spans := self._store.contained.run("times", NamedText(fact.id, dated), read, none):
                        return spans[0].start, spans[0].end
        return None

    def _day_said(self, what: str, *, last: bool) -> Moments | None:
        before = (self._store.clock.now() - _SAME_TALK).timestamp()
        word = "" if what.casefold() in _TALKING else what
        return self._day(self._store.exchanges.time_said(word, before, last=last, hidden=self._store.hidden()))

    def _day_happened(self, what: str) -> Moments | None:
        now, hidden = self._store.clock.now().timestamp(), self._store.hidden()
        unseen = hidden | self._store.findings.superseded(hidden)
        return self._day(self._store.findings.time_happened(what, now, hidden=unseen))

    def _day(self, moment: float | None) -> Moments | None:
        if moment is None:
            return None
        start = local(datetime.fromtimestamp(moment, UTC), self._store.zone)
        start = start.replace(hour=0, minute=0, second=0, microsecond=0)
        return start, start + timedelta(days=1, seconds=-1)


def _is_about(fact: Fact, whose: str) -> bool:
    if whose.casefold() in _SELF or not whose:
        return fact.draft.entity == "user"
    return whose.casefold() in f"{fact.draft.entity} {fact.text}".casefold()
