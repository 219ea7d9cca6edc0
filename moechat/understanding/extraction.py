"""Understanding by a model: one call for a batch of exchanges yields what every layer needs.

The model sees the exchanges, with the user's lines marked apart from the character's, the facts that are known already, and
by number what was found in these exchanges before, with the plans that are still to come. It never sees what was recalled.
Its answer is checked item by item: sources must exist, what it says must stand on the words of its sources (``evidence``),
and nothing may be copied from the prompt. An answer that says nothing of talk in which something was found before is none.
Of two tries the better is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Literal

from moechat import when
from moechat.ai.chat_model import ChatModel
from moechat.ai.failure import Failure
from moechat.language import words
from moechat.memory.contradiction import matters
from moechat.model import (
    Episode,
    Event,
    Exchange,
    Fact,
    FactDraft,
    Message,
    Reason,
    RefusedItem,
    Understanding,
    Verdict,
)
from moechat.reading.saying import mark as mark_of
from moechat.rules import message
from moechat.rules import reading as rules
from moechat.rules.activation import corrected
from moechat.settings.prompts import Prompts
from moechat.topic_path import topic_path
from moechat.understanding import answer, evidence
from moechat.when import precision_of
from moechat.when.names import WEEKDAYS
from moechat.when.span import undated

TRIES = 2
DAY = timedelta(hours=23)
PROBLEM_CHARS = 300
KEYWORDS = 6
VALUES = ("user", "char", "now", "known", "before", "topics", "exchanges", "problem")
_LABELS = {"zh": ("用户", "角色"), "en": ("user", "character")}
_USER = frozenset({"", "user", "用户", "the user", "{{user}}", "我", "me"})
_CHARACTER = frozenset({"character", "角色", "the character", "{{char}}", "char", "assistant"})
_RANGE = re.compile(r"\s*(?:/(?=\s*\d{4}\b)|至|到|~|–| to )\s*")  # 2025/05/20 is a day


class NoAnswer(Failure):
    """Nothing of two answers can be used, though there was something to say. ``refused`` is what they said instead.

    ``is_empty``: the last one kept to the form, and noted nothing that stands.
    """

    def __init__(self, model: str, problem: str, refused: Sequence[RefusedItem], *, is_empty: bool) -> None:
        super().__init__("unformed", "en", model=model, detail=problem)
        self.refused, self.is_empty = refused, is_empty


def understand(
    model: ChatModel,
    exchanges: Sequence[Exchange],
    *,
    known_facts: Sequence[Fact],
    earlier: Sequence[Fact | Episode] = (),
    names: tuple[str, str],
    now: datetime,
    prompts: Prompts,
    topics: str = "",
    timeout_s: float = 15,
) -> Understanding:
    """What the exchanges say, by one call of the model.

    A second call follows if the first answer cannot be used as it is; its prompt says what was wrong. ``known_facts`` are shown
    so that they are not repeated, ``earlier`` is what was found in these exchanges before and what is still planned, for a
    verdict on each. ``names`` are the user's and the character's. ``topics`` is the topic tree as text. ``timeout_s`` is per
    call. Raises ModelError as the model does, and NoAnswer after two answers of which nothing can be used.
    """
    if not exchanges:
        return Understanding()
    tongue = "en" if prompts.language == "en" else "zh"
    values = {
        "user": names[0],
        "char": names[1],
        "now": _moment(now, tongue),
        "known": "\n".join(f"- {' '.join(fact.text.split())}" for fact in known_facts),
        "before": "\n".join(f"({n}) {_said_by(finding)[0]}" for n, finding in enumerate(earlier, 1)),
        "topics": topics.strip(),
        "exchanges": shown(exchanges, tongue),
    }
    best: Understanding | None = None
    problem, refused, is_empty = "", tuple[RefusedItem, ...](), False
    for _ in range(TRIES):
        prompt = prompts.fill("extraction", **values, problem=problem)
        text = model.complete([Message("user", prompt)], schema=answer.schema(), timeout_s=timeout_s)
        unreadable = list[answer.Unreadable]()
        try:
            extracted = answer.read(text, leaving_out=unreadable)
        except ValueError as error:
            problem, is_empty = str(error)[:PROBLEM_CHARS], False
            continue
        checked = _Checked(exchanges, names, earlier, instructions(prompts)).understanding(extracted, unreadable)
        is_answer = _size(checked) > 0 or not _is_found_in(exchanges, earlier)
        if is_answer and not unreadable:
            return checked
        if is_answer and (best is None or _size(checked) > _size(best)):
            best = checked
        refused, is_empty = checked.refused, not unreadable
        problem = "; ".join(f"{kind}: {text}" for kind, text in unreadable)[:PROBLEM_CHARS] or "nothing was noted"
    if best is None:
        raise NoAnswer(model.name, problem, refused, is_empty=is_empty)
    return best


def instructions(prompts: Prompts) -> str:
    """The prompt without anything of a talk."""
    return prompts.fill("extraction", **dict.fromkeys(VALUES, ""))


def _size(understanding: Understanding) -> int:
    return len(understanding.facts) + len(understanding.events) + len(understanding.verdicts)


def _is_found_in(exchanges: Sequence[Exchange], earlier: Sequence[Fact | Episode]) -> bool:
    """Whether any of the earlier findings is of these exchanges."""
    ids = {exchange.id for exchange in exchanges}
    return any(ids.issuperset(_said_by(finding)[1]) for finding in earlier)


def shown(exchanges: Sequence[Exchange], language: str) -> str:
    """The exchanges as the model sees them: numbered from 1, dated, every line marked with whose it is."""
    user, char = _LABELS[language]
    blocks = []
    for number, exchange in enumerate(exchanges, 1):
        head = f"[{number}] {_moment(exchange.at, language)}"
        blocks.append("\n".join([head, *_marked(user, exchange.sent), *_marked(char, exchange.char)]))
    return "\n\n".join(blocks)


def _moment(at: datetime, language: str) -> str:
    return f"{at:%Y-%m-%d %H:%M} {WEEKDAYS[language][at.weekday()]}"


def _marked(whose: str, text: str) -> Iterator[str]:
    """Every line is marked, so that no line of a message passes for another's."""
    return (f"{whose}> {line}" for line in text.strip().splitlines() if line.strip())


class _Checked:
    """An answer as it is checked against the exchanges; what is not believed is in ``refused``. ``instructions`` is the
    prompt without anything of this talk."""

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        names: tuple[str, str],
        earlier: Sequence[Fact | Episode],
        instructions: str,
    ) -> None:
        self._exchanges, self._names, self._earlier, self._instructions = exchanges, names, earlier, instructions
        self._user = evidence.read(exchanges)
        self._links: dict[FactDraft | Event, Fact | Episode] = {}
        self._refused: list[RefusedItem] = []

    def understanding(self, extracted: answer.Answer, unreadable: Sequence[answer.Unreadable]) -> Understanding:
        facts = tuple(dict.fromkeys(draft for draft in map(self._fact, extracted.facts) if draft))
        events = tuple(draft for draft in map(self._event, extracted.events) if draft)
        ids = {exchange.id for exchange in self._exchanges}
        refines = {draft: old.id for draft, old in self._links.items() if ids.issuperset(_said_by(old)[1])}
        closes = {
            draft: (old.id,)
            for draft, old in self._links.items()
            if isinstance(draft, Event) and isinstance(old, Episode) and draft not in refines
        }
        verdicts = self._verdicts(extracted.verdicts)
        for kind, text in unreadable:
            self._refuse(kind, text, "unreadable")
        tags, keywords = self._tags(extracted, facts, events)
        return Understanding(
            tags, keywords, facts, events, extracted.scene_changed,
            verdicts=verdicts, refines=refines, closes=closes, refused=tuple(self._refused),
        )  # fmt: skip

    def _tags(
        self, extracted: answer.Answer, facts: Sequence[FactDraft], events: Sequence[Event]
    ) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """An exchange's tag is the model's, else what the exchange gave, else by rules; its keywords are always by rules."""
        tags: dict[str, str] = {}
        keywords: dict[str, tuple[str, ...]] = {}
        drafts: Sequence[FactDraft | Event] = [*events, *facts]
        for exchange in self._exchanges:
            by_rules = rules.understand(exchange, user_name=self._names[0], character_name=self._names[1])
            own = [entry.tag for entry in extracted.exchanges if _cited([entry.id], self._exchanges) == [exchange]]
            texts = [tag for tag in own if tag and not self._is_copied(tag)]
            texts += [draft.text for draft in drafts if exchange.id in draft.sources]
            tags[exchange.id] = texts[0] if texts else by_rules.tags[exchange.id]
            keywords[exchange.id] = by_rules.keywords[exchange.id]
        return tags, keywords

    def _is_copied(self, text: str) -> bool:
        """Whether a text stands in the prompt's instructions, and in no exchange."""
        spoken = (side for exchange in self._exchanges for side in (exchange.user, exchange.char))
        return text in self._instructions and not any(text in side for side in spoken)

    def _refuse(
        self,
        kind: Literal["fact", "event", "verdict"],
        text: str,
        why: Reason,
        sources: Sequence[str] = (),
    ) -> None:
        """What names no exchange may rest on each of them."""
        everything = [exchange.id for exchange in self._exchanges]
        self._refused.append(RefusedItem(kind, text, why, tuple(sources or everything)))

    def _fact(self, fact: answer.ExtractedFact) -> FactDraft | None:
        """The draft of a fact; None for one that cites no exchange, says nothing, or is not borne out."""
        cited = self._sources("fact", fact)
        if cited is None:
            return None
        sources = tuple(exchange.id for exchange in cited)
        values = fact.model_dump(exclude={"refines"})
        values["mark"] = fact.mark or mark_of(fact.text, fact.keyword)
        draft = FactDraft(**values | {"sources": sources, "entity": _entity(fact.entity, self._names)})
        if (borne_out := evidence.borne_out(draft, self._exchanges, self._user)) is None:
            self._refuse("fact", fact.text, "evidence", sources)
            return None
        self._link(borne_out, fact.refines)
        return borne_out

    def _event(self, event: answer.ExtractedEvent) -> Event | None:
        """The draft of an episode; None for one that cites no exchange or says nothing that was mentioned."""
        cited = self._sources("event", event)
        if cited is None:
            return None
        sources = [exchange.id for exchange in cited]
        is_denied = event.status == "done" and evidence.denies(self._user, sources, event.text, event.object)
        draft = self._days_checked(_event(event, cited), cited)
        if draft is None or is_denied or not evidence.mentions(cited, f"{event.text} {event.object}"):
            self._refuse("event", event.text, "evidence", sources)
            return None
        self._link(draft, event.refines)
        return draft

    def _days_checked(self, draft: Event, cited: Sequence[Exchange]) -> Event | None:
        """The event without days that nobody named; None where its text names them as well."""
        earlier = [finding.event for finding in self._earlier if isinstance(finding, Episode)]
        if draft.happened is None or evidence.dates_stand(draft.happened, cited, earlier):
            return draft
        in_text = [(span.start, span.end) for span in when.resolve(draft.text, cited[-1].at, use="writing")]
        if all(evidence.dates_stand(days, cited, earlier) for days in in_text):
            return replace(draft, happened=None, precision="unknown")
        return None

    def _sources(
        self, kind: Literal["fact", "event"], item: answer.ExtractedFact | answer.ExtractedEvent
    ) -> list[Exchange] | None:
        """The exchanges that an item cites (the only one need not be named); None for one that says nothing of any, or is
        copied."""
        cited = (
            self._exchanges if len(self._exchanges) == 1 and not item.sources else _cited(item.sources, self._exchanges)
        )
        why: Reason | None = (
            "unreadable" if not item.text
            else "sources" if not cited
            else "example" if self._is_copied(item.text) else None
        )  # fmt: skip
        if why:
            self._refuse(kind, item.text, why, [exchange.id for exchange in cited])
        return None if why else list(cited)

    def _link(self, draft: FactDraft | Event, number: int | str) -> None:
        """Remember which earlier finding of the same kind and matter the draft says better, or which plan it closes."""
        old = self._finding(number)
        if old is None or isinstance(old, Fact) != isinstance(draft, FactDraft):
            return
        same = (
            isinstance(old, Fact) and isinstance(draft, FactDraft) and not matters(draft).isdisjoint(matters(old.draft))
        )
        if same or evidence.shares(draft.text, _said_by(old)[0]):
            self._links[draft] = old

    def _finding(self, number: int | str) -> Fact | Episode | None:
        place = _number(number)
        return self._earlier[place - 1] if 1 <= place <= len(self._earlier) else None

    def _verdicts(self, verdicts: Sequence[answer.ExtractedVerdict]) -> dict[str, Verdict]:
        """By finding; ``wrong`` counts only with words of the user's that speak against it, ``refine`` only with a draft."""
        judged: dict[str, Verdict] = {}
        refined = {finding.id for finding in self._links.values()}
        for one in verdicts:
            if (finding := self._finding(one.finding)) is None:
                self._refuse("verdict", f"{one.verdict} {one.finding}: {one.words}", "sources")
                continue
            text, sources = _said_by(finding)
            if one.verdict == "wrong" and not evidence.contradicts(self._exchanges, one.words, text):
                self._refuse("verdict", f"{text}: {one.words}", "verdict", sources)
            elif one.verdict != "refine" or finding.id in refined:
                judged.setdefault(finding.id, one.verdict)
        return judged


def _said_by(finding: Fact | Episode) -> tuple[str, tuple[str, ...]]:
    """(its words, the exchanges it rests on)"""
    return (
        (finding.text, finding.draft.sources)
        if isinstance(finding, Fact)
        else (finding.event.text, finding.event.sources)
    )


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
    happened = _days(event.happened or "", cited[-1].at)
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


def _days(text: str, at: datetime) -> tuple[datetime, datetime] | None:
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
