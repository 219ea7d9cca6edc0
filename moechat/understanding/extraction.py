"""Understanding by a model: one call for a batch of exchanges yields what every layer needs.

The model sees the exchanges, the user's lines and the character's apart, and what is known already; never what was
recalled. What it answers is checked: sources must exist, a fact about the user must rest on the user's own words, said in
earnest (``evidence``), and days are absolute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from moechat.errors import ModelError
from moechat.model import Event, Exchange, Fact, FactDraft, Message, Understanding
from moechat.rules import events as happening
from moechat.rules import reading as rules
from moechat.rules.activation import corrected, topic_path
from moechat.understanding import answer, evidence

if TYPE_CHECKING:
    from moechat.ai.chat_model import ChatModel
    from moechat.settings.prompts import Prompts

TRIES = 2
PROBLEM_CHARS = 300
_WEEKDAYS = {
    "zh": tuple(f"星期{day}" for day in "一二三四五六日"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_LABELS = {"zh": ("用户", "角色", "（没有）"), "en": ("user", "character", "(none)")}
_USER = frozenset({"", "user", "用户", "the user", "{{user}}", "我", "me"})
_CHARACTER = frozenset({"character", "角色", "the character", "{{char}}", "char", "assistant"})
_DATE = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?(?:日|号)?(?:[T ]\d{1,2}:\d{2}\S*)?")


def understand(
    model: ChatModel,
    exchanges: Sequence[Exchange],
    *,
    known_facts: Sequence[Fact],
    character_name: str,
    user_name: str,
    now: datetime,
    language: str,
    prompts: Prompts,
    topics: str = "",
    timeout_s: float = 15,
) -> Understanding:
    """What the exchanges say, by one call (and one more, told what was wrong, where the answer cannot be used).

    ``known_facts`` are shown so that they are not repeated; ``topics`` is the topic tree as text. ``timeout_s`` is per call.
    Raises ModelError as the model does, or of kind ``nonsense`` after two answers that cannot be used.
    """
    if not exchanges:
        return Understanding()
    tongue = "en" if language == "en" else "zh"
    values = {
        "user": user_name,
        "char": character_name,
        "now": _moment(now, tongue),
        "known": "\n".join(f"- {_line(fact.text)}" for fact in known_facts) or _LABELS[tongue][2],
        "topics": topics.strip(),
        "exchanges": shown(exchanges, tongue),
    }
    problem = ""
    for attempt in range(TRIES):
        prompt = prompts.fill("extraction", **values, problem=problem)
        text = model.complete([Message("user", prompt)], schema=answer.schema(), timeout_s=timeout_s)
        try:
            said = answer.read(text)
            _complete(said, exchanges, last=attempt == TRIES - 1)
        except ValueError as error:
            problem = str(error)[:PROBLEM_CHARS]
            continue
        return _understanding(said, exchanges, user_name=user_name, character_name=character_name)
    raise ModelError("nonsense", f"{model.name} did not answer in the form that was asked for: {problem}")


def shown(exchanges: Sequence[Exchange], language: str) -> str:
    """The exchanges as the model sees them: numbered from 1, dated, every line marked with whose it is."""
    user, char, _ = _LABELS[language]
    return "\n\n".join(
        "\n".join(
            [
                f"[{number}] {_moment(exchange.at, language)}",
                *_marked(user, exchange.user),
                *_marked(char, exchange.char),
            ]
        )
        for number, exchange in enumerate(exchanges, 1)
    )


def _moment(at: datetime, language: str) -> str:
    return f"{at:%Y-%m-%d %H:%M} {_WEEKDAYS[language][at.weekday()]}"


def _marked(whose: str, text: str) -> Iterator[str]:
    """Every line is marked, so that no line of a message passes for another's."""
    return (f"{whose}> {line}" for line in text.strip().splitlines() if line.strip())


def _line(text: str) -> str:
    return " ".join(text.split())


def _complete(said: answer.Answer, exchanges: Sequence[Exchange], *, last: bool) -> None:
    """Every exchange needs its tag; the last try may leave some out, but not all. Raises ValueError."""
    tagged = {_cited(one.id, exchanges) for one in said.exchanges if one.tag}
    missing = [number for number, exchange in enumerate(exchanges, 1) if exchange.id not in tagged]
    if missing and (not last or len(missing) == len(exchanges)):
        raise ValueError(f"exchanges: there is no tag for {', '.join(map(str, missing))}")


def _understanding(
    said: answer.Answer, exchanges: Sequence[Exchange], *, user_name: str, character_name: str
) -> Understanding:
    spoken = evidence.read(exchanges)
    tags, keywords = dict[str, str](), dict[str, tuple[str, ...]]()
    for one in said.exchanges:
        if (id_ := _cited(one.id, exchanges)) and one.tag and id_ not in tags:
            tags[id_], keywords[id_] = one.tag, tuple(dict.fromkeys(one.keywords))
    for exchange in exchanges:
        if exchange.id not in tags:  # left out twice by the model: the rules' tag, never small talk for ever
            by_rules = rules.understand(exchange, user_name=user_name, character_name=character_name)
            tags[exchange.id], keywords[exchange.id] = by_rules.tags[exchange.id], by_rules.keywords[exchange.id]
    facts: list[FactDraft] = []
    for stated in said.facts:
        fact = _fact(stated, exchanges, spoken, {user_name.casefold()}, {character_name.casefold()})
        if fact is not None and fact not in facts:
            facts.append(fact)
    events = (_event(one, exchanges) for one in said.events)
    return Understanding(tags, keywords, tuple(facts), tuple(event for event in events if event), said.scene_changed)


def _fact(
    stated: answer.SaidFact, exchanges: Sequence[Exchange], spoken: evidence.Said, users: set[str], characters: set[str]
) -> FactDraft | None:
    """A fact that cites what was said and is borne out by it, else None."""
    sources = _sources(stated.sources, exchanges)
    if not sources or not stated.text:
        return None
    draft = FactDraft(
        text=stated.text,
        sources=sources,
        kind=stated.kind,
        entity=_entity(stated.entity, users, characters),
        keyword=stated.keyword,
        target=stated.target,
        polarity=stated.polarity,
        single=stated.single,
        generic=stated.generic,
    )
    if draft.entity == "user":
        return evidence.corrected(spoken, draft) if evidence.supports(spoken, draft) else None
    cited = [exchange for exchange in exchanges if exchange.id in sources]
    return draft if evidence.mentions(cited, f"{draft.text} {draft.target}") else None


def _entity(said: str, users: set[str], characters: set[str]) -> str:
    folded = said.casefold()
    if folded in _USER or folded in users:
        return "user"
    if folded in _CHARACTER or folded in characters:
        return "character"
    return re.sub(r"^(?:用户的?|我的?|the user'?s |user'?s |my )(?=.)", "", said, flags=re.I)


def _event(stated: answer.SaidEvent, exchanges: Sequence[Exchange]) -> Event | None:
    """An event that cites what was said, its day absolute: the model's, else what its words meant when they were said."""
    from moechat import when

    sources = _sources(stated.sources, exchanges)
    cited = [exchange for exchange in exchanges if exchange.id in sources]
    if not cited or not stated.text or not evidence.mentions(cited, f"{stated.text} {stated.object}"):
        return None
    event = Event(
        text=stated.text,
        sources=sources,
        subject=stated.subject,
        predicate=stated.predicate,
        object=stated.object,
        importance=round(stated.importance / 10, 2),
        keywords=tuple(dict.fromkeys(stated.keywords)),
        place=stated.place,
        topic=topic_path(stated.topic),
        happened=_days(stated.happened or "", cited[-1].at),
        insight=stated.insight,
        related=tuple(dict.fromkeys(path for one in stated.related if (path := topic_path(one)))),
        profile=corrected(
            (stated.activation, stated.diffusion, stated.context_independence), stated.related,
            sum(bool(text) for exchange in cited for text in (exchange.user, exchange.char)),
        ),
    )  # fmt: skip
    if event.happened is not None:
        return event
    spans = when.resolve(event.text, cited[-1].at, use="writing")
    if not spans:
        return event
    text = (
        event.text
        if re.search(r"\d", spans[0].phrase)
        else happening.dated(event.text, spans[0], rules.language_of(event.text))
    )
    return replace(event, text=text, happened=(spans[0].start, spans[0].end))


def _days(said: str, at: datetime) -> tuple[datetime, datetime] | None:
    """``2025-05-20`` or ``2025-05-20/2025-05-22`` (a month alone is the whole month) as whole days in the zone of ``at``."""
    found = []
    for year, month, day in _DATE.findall(said)[:2]:
        try:
            first = date(int(year), int(month), int(day or 1))
        except ValueError:
            return None
        last = first if day else (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        found.append((first, last))
    if not found:
        return None
    start, end = min(first for first, _ in found), max(last for _, last in found)
    return (
        datetime(start.year, start.month, start.day, tzinfo=at.tzinfo),
        datetime(end.year, end.month, end.day, 23, 59, 59, tzinfo=at.tzinfo),
    )


def _sources(numbers: Sequence[int | str], exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    """The exchanges that are cited, in order; numbers that do not exist are dropped."""
    cited = {_cited(number, exchanges) for number in numbers}
    return tuple(exchange.id for exchange in exchanges if exchange.id in cited)


def _cited(number: int | str, exchanges: Sequence[Exchange]) -> str:
    """The id that a batch number stands for, "" for none."""
    if isinstance(number, str):
        digits = re.fullmatch(r"\D*(\d+)\D*", number)
        number = int(digits[1]) if digits else 0
    return exchanges[number - 1].id if 1 <= number <= len(exchanges) else ""
