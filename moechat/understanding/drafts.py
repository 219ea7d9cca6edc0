"""What an answer becomes: drafts of facts and events, and the rulings over findings that stand.

It is checked item by item, as far as that can be done exactly (``gate``): what cites no exchange or is copied from the prompt is
refused; what bears no true quote, was not said in earnest, or comes from a model whose quotes are seldom true, is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Literal

from moechat import when
from moechat.language import words
from moechat.memory.contradiction import is_single, keyword_class
from moechat.model import (
    Episode,
    Event,
    EventStatus,
    Exchange,
    Fact,
    FactDraft,
    Reason,
    RefusedItem,
    Understanding,
)
from moechat.reading.bearing import Telling, is_borne_out
from moechat.reading.saying import mark as mark_of
from moechat.rules import message
from moechat.rules import reading as rules
from moechat.rules.activation import corrected
from moechat.rules.boundaries import sentence_of
from moechat.topic_path import topic_path
from moechat.understanding import answer, gate
from moechat.understanding.answer import Verb
from moechat.understanding.closing import ENDED, SAID, ruled
from moechat.when import precision_of
from moechat.when.names import tongue_of
from moechat.when.span import undated

DAY = timedelta(hours=23)
KEYWORDS = 6
TALK_BEFORE = 3  # messages that a finding is weighed with
_USER = frozenset({"", "user", "用户", "the user", "{{user}}", "我", "me"})
_CHARACTER = frozenset({"character", "角色", "the character", "{{char}}", "char", "assistant"})
_RANGE = re.compile(r"\s*(?:/(?=\s*\d{4}\b)|至|到|~|–| to )\s*")  # 2025/05/20 is a day
_RULED: dict[str, dict[Verb, str]] = {
    "zh": {"never_true": "并非真事", "not_worth": "不必记"}, "en": {"never_true": "Never true", "not_worth": "Not worth keeping"},
}  # fmt: skip
_CLOSING: dict[Verb, EventStatus] = {"done": "done", "given_up": "cancelled", "moved": "planned"}


class CheckedAnswer:
    """An answer as it is checked against the exchanges; what is not believed is in ``refused``. ``without_talk`` is the prompt
    that the model was given, without anything of this talk."""

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        names: tuple[str, str],
        standing: Sequence[Fact | Episode],
        without_talk: str,
        record: tuple[int, int],
        around: Callable[[Exchange], tuple[Sequence[str], str]],
    ) -> None:
        self._around = {exchange.id: around(exchange) for exchange in exchanges}
        self._readings = {
            exchange.id: message.read(exchange.user, *self._around[exchange.id]) for exchange in exchanges
        }
        self._exchanges, self._names, self._standing, self._without_talk = exchanges, names, standing, without_talk
        self._record, self._trusted = record, False
        self._facts: dict[FactDraft, None] = {}
        self._events: dict[Event, None] = {}
        self._replaces: dict[FactDraft | Event, tuple[str, ...]] = {}
        self._doubtful: set[FactDraft | Event] = set()
        self._refused: list[RefusedItem] = []

    def understanding(self, extracted: answer.Answer, unreadable: Sequence[answer.Unreadable]) -> Understanding:
        items: list[answer.ExtractedFinding] = [*extracted.facts, *extracted.events]
        true = sum(bool(self._found(one.quote)) and not self._is_copied(one.text) for one in items)
        self._trusted = gate.is_trusted(true + self._record[0], len(items) + self._record[1])
        for fact in extracted.facts:
            self._fact(fact)
        for event in extracted.events:
            self._event(event)
        kept = {old.id for old in map(self._verb, extracted.verbs) if old}
        for kind, text in unreadable:
            self._refuse(kind, text, "unreadable")
        tags, keywords = self._tags(extracted)
        return Understanding(
            tags, keywords, tuple(self._facts), tuple(self._events), extracted.scene_changed,
            replaces=self._replaces, kept=frozenset(kept), doubtful=frozenset(self._doubtful), trusted=self._trusted,
            quotes=(true, len(items)), refused=tuple(self._refused),
        )  # fmt: skip

    def _tags(self, extracted: answer.Answer) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """An exchange's tag is the model's, else what the exchange gave, else by rules; its keywords are always by rules."""
        tags: dict[str, str] = {}
        keywords: dict[str, tuple[str, ...]] = {}
        drafts = [fact for fact in self._facts if fact.kind != "ruling"]
        sure: list[FactDraft | Event] = [event for event in self._events if event not in self._doubtful]
        sure += [fact for fact in drafts if fact not in self._doubtful]
        for exchange in self._exchanges:
            by_rules = rules.understand(exchange, user_name=self._names[0], character_name=self._names[1])
            own = [entry.tag for entry in extracted.exchanges if _cited([entry.id], self._exchanges) == [exchange]]
            texts = [tag for tag in own if tag and not self._is_copied(tag)]
            texts += [draft.text for draft in sure if exchange.id in draft.sources]
            tags[exchange.id] = texts[0] if texts else by_rules.tags[exchange.id]
            keywords[exchange.id] = by_rules.keywords[exchange.id]
        return tags, keywords

    def _found(self, quote: str, cited: Sequence[Exchange] = (), *, users_only: bool = False) -> gate.Quote | None:
        return gate.found(quote, cited or self._exchanges, self._readings, users_only=users_only)

    def _is_copied(self, text: str) -> bool:
        """Whether a text stands in the prompt beside the talk, and in no exchange."""
        spoken = (side for exchange in self._exchanges for side in (exchange.user, exchange.char))
        return text in self._without_talk and not any(text in side for side in spoken)

    def _refuse(self, kind: answer.ItemKind, text: str, why: Reason, sources: Sequence[str] = ()) -> None:
        """What names no exchange may rest on each of them."""
        everything = [exchange.id for exchange in self._exchanges]
        self._refused.append(RefusedItem(kind, text, why, tuple(sources or everything)))

    def _cited(
        self, kind: Literal["fact", "event"], item: answer.ExtractedFinding
    ) -> tuple[list[Exchange], gate.Quote | None]:
        """The exchanges that an item cites (the only one need not be named) and where its quote stands, which counts more; no
        exchange for an item that says nothing of any, or is copied."""
        alone = len(self._exchanges) == 1 and not item.sources
        cited = list(self._exchanges) if alone else _cited(item.sources, self._exchanges)
        quote = self._found(item.quote, cited) or self._found(item.quote)
        if quote is not None and quote.exchange not in cited:
            cited = [quote.exchange]
        why: Reason | None = (
            "unreadable" if not item.text
            else "sources" if not cited
            else "example" if self._is_copied(item.text) else None
        )  # fmt: skip
        if why:
            self._refuse(kind, item.text, why, [exchange.id for exchange in cited])
        return [] if why else cited, quote

    def _fact(self, fact: answer.ExtractedFact) -> None:
        cited, quote = self._cited("fact", fact)
        if not cited:
            return
        entity = _entity(fact.entity, self._names)
        if fact.kind == "relation" and fact.target and (fact.target in entity or entity in fact.target):
            entity = "user"  # Nobody is related to themselves: it is what they are to the user.
        values = fact.model_dump(exclude={"replaces", "manner"}) | {
            "sources": tuple(exchange.id for exchange in cited), "entity": entity, "quote": fact.quote if quote else "",
            "mark": (fact.mark if self._trusted else "") or mark_of(fact.text, fact.keyword),
            "start": self._dated(fact.start, cited), "until": self._dated(fact.until, cited) or ("past" if fact.until else ""),
        }  # fmt: skip
        if fact.kind == "boundary":  # It is kept word for word, and holds, whichever way its matter is put.
            text = sentence_of(quote.exchange.user, fact.quote) if quote else fact.text
            values |= {"text": text, "entity": "user", "polarity": 1}
        draft = FactDraft(**values)
        self._facts[draft] = None
        self._stand(draft, quote, entity, fact)

    def _event(self, event: answer.ExtractedEvent) -> None:
        cited, quote = self._cited("event", event)
        if not cited:
            return
        draft = replace(_event(event, cited), quote=event.quote if quote else "")
        if not self._trusted:
            draft = replace(draft, mark=mark_of(event.text))
        earlier = [finding.event for finding in self._standing if isinstance(finding, Episode)]
        is_dated = draft.happened is None or gate.dates_stand(draft.happened, cited, earlier)
        if not is_dated:
            draft = replace(draft, happened=None, precision="unknown")
        self._events[draft] = None
        self._stand(draft, quote, _entity(event.subject, self._names), event)
        if not is_dated:
            self._doubtful.add(draft)

    def _stand(
        self, draft: FactDraft | Event, quote: gate.Quote | None, whose: str, item: answer.ExtractedFinding
    ) -> None:
        """Whether a draft is told as what is so: not where the model itself says that it was not meant in earnest. The
        character's words bear out what the character is and does, nothing else; a doubtful draft takes the place of nothing."""
        if item.manner not in ("", "earnest") or not (
            self._trusted and quote is not None and self._is_borne_out(draft, quote, whose)
        ):
            self._doubtful.add(draft)
        elif (old := self._finding(item.replaces)) and isinstance(old, Fact) == isinstance(draft, FactDraft):
            self._replaces[draft] = (old.id,)

    def _is_borne_out(self, draft: FactDraft | Event, quote: gate.Quote, whose: str) -> bool:
        if quote.side == "char":
            return whose == "character"
        if isinstance(draft, FactDraft) and draft.kind == "boundary":
            return not quote.play  # It may be asked on a condition.
        exchange = quote.exchange
        before = " ".join(self._around[exchange.id][0][-TALK_BEFORE:])
        return quote.in_earnest and is_borne_out(
            Telling(exchange.user, draft.quote, draft.text, exchange.heard, before)
        )

    def _dated(self, text: str, cited: Sequence[Exchange]) -> str:
        """A day, month or year if the exchanges name it, else "" (nobody said when)."""
        days = days_of(text, cited[-1].at)
        return text if days and gate.dates_stand(days, cited, ()) else ""

    def _finding(self, number: int | str) -> Fact | Episode | None:
        place = _number(number)
        return self._standing[place - 1] if 1 <= place <= len(self._standing) else None

    # ---- verbs over what stands

    def _verb(self, one: answer.ExtractedVerb) -> Fact | Episode | None:
        """Do what the model says of a finding, if words bear it out. Returns the finding if it is called right."""
        old = self._finding(one.number)
        if old is None:
            self._refuse("verdict", f"{one.verb} {one.number}: {one.quote}", "sources")
            return None
        if one.verb == "keep":
            return old
        whose = old.draft.entity if isinstance(old, Fact) else _entity(old.event.subject, self._names)
        quote = self._found(one.quote, users_only=whose != "character")
        if quote is None or not self._trusted or (quote.play and one.verb != "never_true"):
            self._refuse("verdict", f"{one.verb}: {old.text}: {one.quote}", "verdict", old.sources)
        elif isinstance(old, Episode) and one.verb in _CLOSING:
            self._close(one, old, quote.exchange)
        elif not (one.verb == "replaced" and self._put_instead(one, old, quote.exchange)):
            self._rule(one, old, quote.exchange)
        return None

    def _close(self, one: answer.ExtractedVerb, plan: Episode, exchange: Exchange) -> None:
        """A plan carried out, given up or moved: by an event of this answer that tells of it, else by one made of the plan."""
        status = _CLOSING[one.verb]
        days = days_of(one.to if status == "planned" else one.until, exchange.at)
        days = days if days and gate.dates_stand(days, [exchange], [plan.event]) else None
        matter, is_moved = f"{plan.event.text} {plan.event.object}", bool(days) and status == "planned"
        telling = [
            event for event in self._events
            if event.status == status and event not in self._doubtful
            and (event.happened == days if is_moved else _shares(event.text, matter))
        ]  # fmt: skip
        if any(plan.id in ids for ids in self._replaces.values()):
            return
        sentence = SAID[tongue_of(one.quote)].format(quote=one.quote)
        made = replace(
            plan.event, text=sentence if status == "done" else _undated(plan.event.text, plan.since), sources=(exchange.id,),
            status=status, insight="", quote=one.quote,
        )  # fmt: skip
        if status != "cancelled":
            made = replace(made, happened=days, precision=precision_of(*days) if days else "unknown")
        event = telling[0] if telling else made
        self._events[event] = None
        self._replaces[event] = (*self._replaces.get(event, ()), plan.id)

    def _put_instead(self, one: answer.ExtractedVerb, old: Fact | Episode, exchange: Exchange) -> bool:
        """Put another finding in the place of one: that of this answer which says so, else one made of it with the new value."""
        if any(old.id in ids for ids in self._replaces.values()):
            return True
        if isinstance(old, Episode):
            return False
        draft = old.draft
        alike = [
            fact for fact in self._facts
            if fact not in self._doubtful and fact.entity == draft.entity and keyword_class(fact) == keyword_class(draft)
        ]  # fmt: skip
        is_value = draft.kind == "attribute" and is_single(keyword_class(draft)) and draft.target in draft.text
        if not alike and not (one.to and draft.target and is_value):
            return False
        text = draft.text.replace(draft.target, one.to)
        new = alike[0] if alike else replace(draft, text=text, target=one.to, sources=(exchange.id,), quote=one.quote)
        self._facts[new] = None
        self._replaces[new] = (*self._replaces.get(new, ()), old.id)
        return True

    def _rule(self, one: answer.ExtractedVerb, old: Fact | Episode, exchange: Exchange) -> None:
        """Record that a finding holds no longer, or never did. The record has words of its own source alone, so that it goes with
        that."""
        tongue: Literal["zh", "en"] = tongue_of(one.quote)
        until = self._dated(one.until, [exchange]) if one.until else ""
        label, beside = _RULED[tongue].get(one.verb, ENDED[tongue]), [part for part in (until, one.reason) if part]
        if beside:
            label += f"（{'，'.join(beside)}）" if tongue == "zh" else f" ({', '.join(beside)})"
        mark, entity = (old.draft.mark, old.draft.entity) if isinstance(old, Fact) else (old.event.mark, "user")
        ruling = FactDraft(
            ruled(label, one.quote), (exchange.id,), "ruling", entity, one.verb, one.reason, mark=mark, quote=one.quote,
            until=until,
        )  # fmt: skip
        self._facts[ruling] = None
        self._replaces[ruling] = (*self._replaces.get(ruling, ()), old.id)


def _shares(one: str, other: str) -> bool:
    """Whether two texts have a content word in common; a year or a day is none."""
    return any(not word[0].isdigit() for word in {*words.keywords(one, 20)} & {*words.keywords(other, 20)})


def _undated(text: str, told_at: datetime) -> str:
    """The words of a plan without the days that it was made for."""
    for span in when.resolve(text, told_at, use="writing"):
        text = undated(text, span.phrase)
    return text


def _entity(name: str, names: tuple[str, str]) -> str:
    folded = name.casefold()
    if folded in _USER or folded == names[0].casefold():
        return "user"
    if folded in _CHARACTER or folded == names[1].casefold():
        return "character"
    return re.sub(r"^(?:用户的?|我的?|the user'?s |user'?s |my )(?=.)", "", name, flags=re.I)


def _event(event: answer.ExtractedEvent, cited: Sequence[Exchange]) -> Event:
    """The draft of an episode, its days absolute. Without a usable day from the model, the time words of its text count, as
    meant when they were said."""
    messages = sum(bool(text) for exchange in cited for text in (exchange.user, exchange.char))
    happened = days_of(event.happened or "", cited[-1].at)
    draft = Event(
        **event.model_dump(include={"text", "subject", "predicate", "object", "place", "insight", "emotion", "status"}),
        mark=event.mark or mark_of(event.text),
        sources=tuple(exchange.id for exchange in cited),
        importance=round(event.importance / 10, 2),
        keywords=_keywords(event),
        topic=topic_path(event.topic),
        happened=happened,
        precision=(event.precision or precision_of(*happened)) if happened else "unknown",
        related=tuple(dict.fromkeys(path for related in event.related if (path := topic_path(related)))),
        profile=corrected(None, event.related, messages),
    )
    return draft if draft.happened is not None else _dated(draft, cited[-1].at)


def _keywords(event: answer.ExtractedEvent) -> tuple[str, ...]:
    """Whole words: what it is about, where and who, then those of its text."""
    own = [part for part in (event.object, event.place, event.subject) if part]
    others = [word for word in words.keywords(event.text, 2 * KEYWORDS) if len(word) > 1 and word not in "".join(own)]
    whose = _USER | _CHARACTER
    return tuple(word for word in dict.fromkeys([*own, *others]) if word.casefold() not in whose)[:KEYWORDS]


def _dated(event: Event, at: datetime) -> Event:
    """The event with the days that the first time words of its text mean, if it has any. An hour of long ago (小时候半夜送急诊)
    is of no day that anybody knows."""
    spans = when.resolve(event.text, at, use="writing")
    if not spans:
        return event
    span = spans[0]
    if span.end - span.start < DAY and any(clause.mood == "past" for clause in message.read(event.text).clauses):
        return event
    text = event.text if span.is_vague or re.search(r"\d", span.phrase) else undated(event.text, span.phrase)
    return replace(event, text=text, happened=(span.start, span.end), precision=span.precision)


def days_of(text: str, at: datetime) -> tuple[datetime, datetime] | None:
    """``2025-05-20``, ``2027-03`` or ``2025`` as whole days in the zone of ``at``, and two of them as a range:
    ``2027-03/2027-05`` is from March to May."""
    parts = [part.strip() for part in _RANGE.split(text.strip(), 1)]
    if not all(re.match(r"[12]\d{3}", part) for part in parts):
        return None  # no year 0001 or 9999
    spans = [when.resolve(f"{part}年" if len(part) == 4 else part, at)[:1] for part in parts]
    if not all(spans):
        return None
    days = sorted(moment.date() for [span] in spans for moment in (span.start, span.end))
    return (
        datetime.combine(days[0], time(), tzinfo=at.tzinfo),
        datetime.combine(days[-1], time(23, 59, 59), tzinfo=at.tzinfo),
    )


def _cited(numbers: Sequence[int | str], exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The exchanges that are cited, in order; numbers that do not exist are dropped."""
    places = {_number(number) for number in numbers}
    return [exchange for place, exchange in enumerate(exchanges, 1) if place in places]


def _number(number: int | str) -> int:
    """A number of the prompt as a model writes it; 0 where it is none."""
    if isinstance(number, str):
        digits = re.fullmatch(r"\D*(\d{1,9})\D*", number)
        return int(digits[1]) if digits else 0
    return number
