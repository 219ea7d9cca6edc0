"""Facts and events that an owner writes by hand, made from the keys and values of commands, the page and HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from moechat import when
from moechat.author import fields
from moechat.author.fields import Values, near_or_all
from moechat.clock import local
from moechat.errors import FieldError
from moechat.language import words
from moechat.model import LONG_AGO, OFFICIAL_FIELDS, Event, Exchange
from moechat.rules import reading as rules
from moechat.rules import topics as topic_rules
from moechat.rules.events import about_user
from moechat.rules.importance import rate
from moechat.when import precision_of
from moechat.when.names import has_han

Kind = Literal["fact", "event"]
KEYS: Mapping[Kind, tuple[str, ...]] = {
    "fact": ("text", "kind", "entity", "keyword", "target", "polarity", "single"),
    "event": ("text", "happened", "place", "keywords", "topic", "importance"),
}
MOST_KEYWORDS = 6  # Found in the words where the owner names none.
WHEN = (
    "write it as 2025-05-20, 2025-05-20T15:03, two of them with / between, or in words such as 去年夏天 or last Friday"
)
_SECOND = timedelta(seconds=1)
_FIRST_PERSON = re.compile(r"我|(?:I|[Mm]y)\b")


def arguments(kind: Kind, values: Values, now: datetime) -> dict[str, Any]:
    """Values by key as ``Keeper.add_fact`` and ``add_event`` take them. Raises FieldError for the first that cannot be."""
    for key in values:
        if key not in KEYS[kind]:
            raise FieldError(str(key), None, _refusal(kind, str(key)))
    rest = {key: value for key, value in values.items() if key != "happened"}
    values_by_key: dict[str, Any] = fields.written(kind, rest)
    if "single" in values_by_key:
        values_by_key["single"] = values_by_key["single"] == "true"
    for key, form in (("polarity", int), ("importance", float)):
        if key in values_by_key:
            values_by_key[key] = form(values_by_key[key])
    if isinstance(values_by_key.get("keywords"), str):
        values_by_key["keywords"] = [values_by_key["keywords"]]
    happened = values.get("happened")
    if happened is not None:
        if not isinstance(happened, str):
            raise FieldError("happened", happened, WHEN)
        values_by_key["happened"] = span_of(happened, now)
    return values_by_key


def _refusal(kind: Kind, key: str) -> str:
    if key == "id" or key in OFFICIAL_FIELDS[kind]:
        return "is for the official store alone; leave it out"
    return f"unknown key; {near_or_all(key, KEYS[kind])}"


def event(
    text: str,
    source: str,
    now: datetime,
    happened: tuple[datetime, datetime] | None,
    tree: topic_rules.Named,
    **details: Any,
) -> Event:
    """An event with a record key of its own. The rules fill in what is not given, from its words."""
    if happened is None:  # the words may say
        named = when.resolve(text, now, use="writing")
        happened = (named[0].start, named[0].end) if len(named) == 1 else None
    keywords = tuple(dict.fromkeys(details.get("keywords") or words.keywords(text, MOST_KEYWORDS)))
    planned = happened is not None and happened[0] > now
    made = Event(
        text, (source,), keywords=keywords, place=details.get("place") or "", happened=happened,
        status="planned" if planned else "done", precision=precision_of(*happened) if happened else "unknown",
    )  # fmt: skip
    importance = details.get("importance")
    if importance is None:
        importance = rate(made, planned=planned)
    return replace(made, importance=importance, topic=details.get("topic") or topic_rules.path_for(made, tree))


def of_user(text: str) -> str:
    """A fact about the user in the third person (我对花生过敏 → 用户对花生过敏): no model may take 我 for the character."""
    if not _FIRST_PERSON.match(text):
        return text
    stated = () if has_han(text) else rules.understand(Exchange("", LONG_AGO, text, "")).facts
    whole = len(stated) == 1 and len(stated[0].text) >= len(
        text
    )  # The rules know English verbs, but drop what they do not read.
    return stated[0].text if whole else about_user(text)


# ---- when it happened


def span_of(time: str | date, now: datetime) -> tuple[datetime, datetime] | None:
    """A day, a moment, a span with ``/``, or a time in words, as seen from ``now`` and in its zone; "" is None.

    Raises FieldError where it is no time.
    """
    if not isinstance(time, str):
        return _ends(time, time, now)
    if not (text := time.strip()):
        return None
    try:
        ends = [_moment(end) for end in text.split("/")]
    except ValueError:
        spans = when.resolve(text, now)
        if not spans:
            raise FieldError("happened", time, WHEN) from None
        return spans[0].start, spans[0].end
    if len(ends) > 2:
        raise FieldError("happened", time, WHEN)
    return _ends(ends[0], ends[-1], now)


def _moment(text: str) -> date:
    """A datetime where the text has a time of day, else a date."""
    text = text.strip()
    return date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text)


def _ends(first: date, last: date, now: datetime) -> tuple[datetime, datetime]:
    def whole(one: date, end: bool) -> datetime:
        if isinstance(one, datetime):
            return local(one, now.tzinfo)
        day = local(datetime.combine(one, time()), now.tzinfo)
        return day + timedelta(days=1) - _SECOND if end else day

    if first.year <= 1 or last.year >= 9999:
        raise FieldError("happened", f"{first}/{last}", WHEN)
    start, end = whole(first, False), whole(last, True)
    if start > end:
        raise FieldError("happened", f"{first}/{last}", "ends before it begins; write the earlier one first")
    return start, end


def dated(happened: tuple[datetime, datetime] | None, now: datetime) -> datetime:
    """The moment under which an event of the owner's is filed: when it happened (noon if only the day is known), or
    ``now`` if that is unknown or still to come.
    """
    if happened is None or happened[0] > now:
        return now
    start, end = happened
    if start.time() == time() and end - start >= timedelta(days=1) - _SECOND:
        start = start.replace(hour=12)
    return min(start, now)
