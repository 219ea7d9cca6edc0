"""Understanding by a model: one call for a batch of exchanges yields what every layer needs.

The model sees the exchanges, with the user's lines marked apart from the character's, and the facts that are known
already. It never sees what was recalled. Its answer is checked: sources must exist, a fact about the user must rest on the
user's own words in earnest (``evidence``), and days are made absolute.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Literal

from moechat import when
from moechat.ai.chat_model import ChatModel
from moechat.errors import ModelError
from moechat.model import Episode, Event, Exchange, Fact, FactDraft, Message, RefusedItem, Understanding, Verdict
from moechat.rules import events as happening
from moechat.rules import reading as rules
from moechat.rules.activation import corrected
from moechat.settings.prompts import Prompts
from moechat.topic_path import topic_path
from moechat.understanding import answer, evidence
from moechat.when import precision_of
from moechat.when.names import WEEKDAYS

TRIES = 2
PROBLEM_CHARS = 300
_LABELS = {"zh": ("用户", "角色", "（没有）"), "en": ("user", "character", "(none)")}
_USER = frozenset({"", "user", "用户", "the user", "{{user}}", "我", "me"})
_CHARACTER = frozenset({"character", "角色", "the character", "{{char}}", "char", "assistant"})
_YEARS = re.compile(r"\s*(\d{4})年?(?:\s*/\s*(\d{4})年?)?\s*")
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?(?:日|号)?(?:[T ]\d{1,2}:\d{2}\S*)?")


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

    A second call follows if the first answer cannot be used; its prompt says what was wrong. ``known_facts`` are shown so that
    they are not repeated, ``earlier`` is what was found in these exchanges before, for a verdict on each. ``names`` are the
    user's and the character's. ``topics`` is the topic tree as text. ``timeout_s`` is per call. Raises ModelError as the model
    does, or of kind ``nonsense`` after two answers that cannot be used.
    """
    if not exchanges:
        return Understanding()
    tongue = "en" if prompts.language == "en" else "zh"
    values = {
        "user": names[0],
        "char": names[1],
        "now": _moment(now, tongue),
        "known": "\n".join(f"- {' '.join(fact.text.split())}" for fact in known_facts) or _LABELS[tongue][2],
        "before": "\n".join(f"({n}) {_said_by(finding)[0]}" for n, finding in enumerate(earlier, 1)),
        "topics": topics.strip(),
        "exchanges": shown(exchanges, tongue),
    }
    problem = ""
    for attempt in range(TRIES):
        prompt = prompts.fill("extraction", **values, problem=problem)
        text = model.complete([Message("user", prompt)], schema=answer.schema(), timeout_s=timeout_s)
        last, unreadable = attempt == TRIES - 1, list[answer.Unreadable]()
        try:
            extracted = answer.read(text, leaving_out=unreadable if last else None)
            _check_tags(extracted, exchanges, last=last)
        except ValueError as error:
            problem = str(error)[:PROBLEM_CHARS]
            continue
        return _Checked(exchanges, names, earlier).understanding(extracted, unreadable)
    raise ModelError("nonsense", f"{model.name} did not answer in the form that was asked for: {problem}")


def shown(exchanges: Sequence[Exchange], language: str) -> str:
    """The exchanges as the model sees them: numbered from 1, dated, every line marked with whose it is."""
    user, char, _ = _LABELS[language]
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


def _check_tags(extracted: answer.Answer, exchanges: Sequence[Exchange], *, last: bool) -> None:
    """Raise ValueError if an exchange has no tag. The last try may leave some out, but not all."""
    tagged = {_cited(entry.id, exchanges) for entry in extracted.exchanges if entry.tag}
    missing = [number for number, exchange in enumerate(exchanges, 1) if exchange.id not in tagged]
    if missing and (not last or len(missing) == len(exchanges)):
        raise ValueError(f"exchanges: there is no tag for {', '.join(map(str, missing))}")


class _Checked:
    """An answer as it is checked against the exchanges; what is not believed is in ``refused``."""

    def __init__(
        self, exchanges: Sequence[Exchange], names: tuple[str, str], earlier: Sequence[Fact | Episode]
    ) -> None:
        self._exchanges, self._names, self._earlier = exchanges, names, earlier
        self._user = evidence.read(exchanges)
        self._refines: dict[FactDraft | Event, str] = {}
        self._refused: list[RefusedItem] = []

    def understanding(self, extracted: answer.Answer, unreadable: Sequence[answer.Unreadable]) -> Understanding:
        tags, keywords = _tags(extracted, self._exchanges, self._names)
        facts = [draft for draft in map(self._fact, extracted.facts) if draft]
        events = [draft for draft in map(self._event, extracted.events) if draft]
        verdicts = self._verdicts(extracted.verdicts)
        for kind, text in unreadable:
            self._refuse(kind, text, "unreadable")
        return Understanding(
            tags, keywords, tuple(dict.fromkeys(facts)), tuple(events), extracted.scene_changed,
            verdicts=verdicts, refines=self._refines, refused=tuple(self._refused),
        )  # fmt: skip

    def _refuse(
        self,
        kind: Literal["fact", "event", "verdict"],
        text: str,
        why: Literal["sources", "evidence", "unreadable", "verdict"],
        sources: Sequence[str] = (),
    ) -> None:
        """What names no exchange may rest on each of them."""
        everything = [exchange.id for exchange in self._exchanges]
        self._refused.append(RefusedItem(kind, text, why, tuple(sources or everything)))

    def _fact(self, fact: answer.ExtractedFact) -> FactDraft | None:
        """The draft of a fact; None for one that cites no exchange, says nothing, or is not borne out."""
        sources = _sources(fact.sources, self._exchanges)
        if not sources or not fact.text:
            self._refuse("fact", fact.text, "sources" if fact.text else "unreadable", sources)
            return None
        values = fact.model_dump(exclude={"refines"})
        draft = FactDraft(**values | {"sources": sources, "entity": _entity(fact.entity, self._names)})
        if (borne_out := evidence.borne_out(draft, self._exchanges, self._user)) is None:
            self._refuse("fact", fact.text, "evidence", sources)
            return None
        self._note(borne_out, fact.refines)
        return borne_out

    def _event(self, event: answer.ExtractedEvent) -> Event | None:
        """The draft of an episode; None for one that cites no exchange or says nothing that was mentioned."""
        sources = _sources(event.sources, self._exchanges)
        cited = [exchange for exchange in self._exchanges if exchange.id in sources]
        if not cited or not event.text:
            self._refuse("event", event.text, "sources" if event.text else "unreadable", sources)
            return None
        is_denied = event.status == "done" and evidence.denies(self._user, sources, event.text, event.object)
        if is_denied or not evidence.mentions(cited, f"{event.text} {event.object}"):
            self._refuse("event", event.text, "evidence", sources)
            return None
        draft = _event(event, cited)
        self._note(draft, event.refines)
        return draft

    def _note(self, draft: FactDraft | Event, number: int | str) -> None:
        """Remember which earlier finding of the same kind the draft says better."""
        finding = self._finding(number)
        if finding is not None and isinstance(finding, Fact) == isinstance(draft, FactDraft):
            self._refines[draft] = finding.id

    def _finding(self, number: int | str) -> Fact | Episode | None:
        place = _number(number)
        return self._earlier[place - 1] if 1 <= place <= len(self._earlier) else None

    def _verdicts(self, verdicts: Sequence[answer.ExtractedVerdict]) -> dict[str, Verdict]:
        """By finding; ``wrong`` counts only with words of the user's that speak against it, ``refine`` only with a draft."""
        judged: dict[str, Verdict] = {}
        for one in verdicts:
            if (finding := self._finding(one.finding)) is None:
                self._refuse("verdict", f"{one.verdict} {one.finding}: {one.words}", "sources")
                continue
            text, sources = _said_by(finding)
            if one.verdict == "wrong" and not evidence.contradicts(self._exchanges, one.words, text):
                self._refuse("verdict", f"{text}: {one.words}", "verdict", sources)
            elif one.verdict != "refine" or finding.id in self._refines.values():
                judged.setdefault(finding.id, one.verdict)
        return judged


def _said_by(finding: Fact | Episode) -> tuple[str, tuple[str, ...]]:
    """(its words, the exchanges it rests on)"""
    return (
        (finding.text, finding.draft.sources)
        if isinstance(finding, Fact)
        else (finding.event.text, finding.event.sources)
    )


def _tags(
    extracted: answer.Answer, exchanges: Sequence[Exchange], names: tuple[str, str]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    tags: dict[str, str] = {}
    keywords: dict[str, tuple[str, ...]] = {}
    for entry in extracted.exchanges:
        id_ = _cited(entry.id, exchanges)
        if id_ and entry.tag and id_ not in tags:
            tags[id_], keywords[id_] = entry.tag, tuple(dict.fromkeys(entry.keywords))
    for exchange in exchanges:
        if exchange.id not in tags:  # The model left it out twice; a tag by rules is better than small talk for ever.
            by_rules = rules.understand(exchange, user_name=names[0], character_name=names[1])
            tags[exchange.id], keywords[exchange.id] = by_rules.tags[exchange.id], by_rules.keywords[exchange.id]
    return tags, keywords


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
        **event.model_dump(include={"text", "subject", "predicate", "object", "place", "insight"}),
        sources=tuple(exchange.id for exchange in cited),
        importance=round(event.importance / 10, 2),
        keywords=tuple(dict.fromkeys(event.keywords)),
        topic=topic_path(event.topic),
        happened=happened,
        status=event.status,
        precision=(event.precision or precision_of(*happened)) if happened else "unknown",
        related=tuple(dict.fromkeys(path for related in event.related if (path := topic_path(related)))),
        profile=corrected((event.activation, event.diffusion, event.context_independence), event.related, messages),
    )
    return draft if draft.happened is not None else _dated(draft, cited[-1].at)


def _dated(event: Event, at: datetime) -> Event:
    """The event with the days that the first time words of its text mean, if it has any."""
    spans = when.resolve(event.text, at, use="writing")
    if not spans:
        return event
    span = spans[0]
    text = event.text
    if not re.search(r"\d", span.phrase):
        text = happening.dated(text, span, rules.language_of(text))
    return replace(event, text=text, happened=(span.start, span.end), precision=span.precision)


def _days(text: str, at: datetime) -> tuple[datetime, datetime] | None:
    """``2025-05-20`` or ``2025-05-20/2025-05-22`` as whole days in the zone of ``at``; a month or a year alone is the whole
    of it."""
    days: list[date] = []
    years = _YEARS.fullmatch(text)
    for year, month, day in [(y, "", "") for y in years.groups() if y] if years else _DATE.findall(text)[:2]:
        try:
            first = date(int(year) if year[0] in "12" else 0, int(month or 1), int(day or 1))  # no year 0001 or 9999
        except ValueError:
            return None
        last = first.replace(month=int(month or 12))
        days += [first, first if day else last.replace(day=monthrange(last.year, last.month)[1])]
    if not days:
        return None
    return (
        datetime.combine(min(days), time(), tzinfo=at.tzinfo),
        datetime.combine(max(days), time(23, 59, 59), tzinfo=at.tzinfo),
    )


def _sources(numbers: Sequence[int | str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """The exchanges that are cited, in order; numbers that do not exist are dropped."""
    cited = {_cited(number, exchanges) for number in numbers}
    return tuple(exchange.id for exchange in exchanges if exchange.id in cited)


def _cited(number: int | str, exchanges: Sequence[Exchange]) -> str:
    """The id that a batch number stands for, "" for none."""
    place = _number(number)
    return exchanges[place - 1].id if 1 <= place <= len(exchanges) else ""


def _number(number: int | str) -> int:
    """A number of the prompt as a model writes it; 0 where it is none."""
    if isinstance(number, str):
        digits = re.fullmatch(r"\D*(\d{1,9})\D*", number)
        return int(digits[1]) if digits else 0
    return number
