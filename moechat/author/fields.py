"""The fields of the author's records: the keys of ``events.yaml``, ``facts.yaml`` and the world book, and their forms."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from moechat.clock import moment_of
from moechat.errors import FieldError
from moechat.lore import CHOICES
from moechat.model import OFFICIAL_FIELDS, OfficialKind
from moechat.store.plain import storable

Values = Mapping[str, object]
MAX_NAME = 200
_NEEDED: Mapping[OfficialKind, Sequence[str]] = {"event": ("text",), "fact": ("text",), "lore": ("keyword", "text")}
_MISSING: Mapping[str, str] = {
    "keyword": "is missing; write what the entry is about, in a word or two",
    "text": "is missing; write what is to be remembered, in words",
}


def _is_time(text: str) -> bool:
    try:
        return bool(moment_of(text, None))
    except ValueError:
        return False


class Notation(NamedTuple):
    """What a value is written as: what to do about one that does not fit, whether a text fits, and what it then means."""

    remedy: str
    fits: Callable[[str], object] = lambda text: True
    meaning: Callable[[str], Any] = str


FORMS: Mapping[str, Notation] = {
    "words": Notation("write it in words", str.strip),
    "text": Notation("expects text"),
    "list": Notation("expects a list of words, such as [one, two]"),
    "time": Notation("write it as 2025-05-20T15:03", _is_time),
    "span": Notation(
        "write it as 2025-05-20T15:03/2025-05-20T16:00",
        lambda text: text.count("/") <= 1 and all(_is_time(end) for end in text.split("/")),
    ),
    "share": Notation("expects a number from 0 to 1", re.compile(r"0|1|1\.0*|0?\.\d+|\d(\.\d+)?e-\d+").fullmatch),
    "sign": Notation("expects 1 or -1", ("1", "-1").__contains__),
    "switch": Notation("expects true or false", ("true", "false").__contains__, "true".__eq__),
    "kind": Notation("expects attribute, relation or picture", ("attribute", "relation", "picture").__contains__),
    **{form: Notation(f"expects {', '.join(choices)}", choices.__contains__) for form, choices in CHOICES.items()},
    "count": Notation("expects a whole number, 0 or more", re.compile(r"\d{1,6}").fullmatch, int),
    "number": Notation("expects a whole number", re.compile(r"-?\d{1,6}").fullmatch, int),
    "percent": Notation("expects a number from 0 to 100", re.compile(r"100(\.0+)?|\d{1,2}(\.\d+)?").fullmatch, float),
    "name": Notation(
        f"write it in words, in one line of at most {MAX_NAME} characters",
        lambda text: 0 < len(text.strip()) <= MAX_NAME and len(text.splitlines()) == 1,
    ),
    "file": Notation(
        "expects the name of a file of data_base, such as places.yaml",
        re.compile(r"""[^/\\:*?"<>|.\x00-\x1f][^/\\:*?"<>|\x00-\x1f]{0,60}\.ya?ml""").fullmatch,
    ),
}


def near_or_all(key: str, keys: Iterable[str]) -> str:
    """A hint beside an unknown key: the one that is probably meant, or all."""
    near = difflib.get_close_matches(key, list(keys), n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"


def check(kind: OfficialKind, value: Values) -> None:
    """Raises FieldError for the first key that is unknown or has an impossible value."""
    forms = OFFICIAL_FIELDS[kind]
    for key, item in value.items():
        if key not in forms:
            raise FieldError(str(key), None, f"unknown key; {near_or_all(str(key), forms)}", kind)
        is_list = forms[key] == "list" and isinstance(item, list) and all(isinstance(one, str) for one in item)
        if not is_list and not (isinstance(item, str) and FORMS[forms[key]].fits(item)):
            raise FieldError(key, item, FORMS[forms[key]].remedy, kind)
    for key in _NEEDED[kind]:
        if key not in value:
            raise FieldError(key, None, _MISSING[key], kind)


def written(kind: OfficialKind, values: Values) -> dict[str, Any]:
    """A record's values as its file holds them, text and lists of text, without those that are None. Raises FieldError where
    it could not be read again."""
    record = {key: written_as(item) for key, item in values.items() if item is not None}
    check(kind, record)
    return record


def written_as(item: object) -> object:
    """A value as a file has it."""
    match item:
        case bool():
            return str(item).lower()
        case int() | float():
            return str(item)
        case list() | tuple():
            return [storable(one) if isinstance(one, str) else one for one in item]
        case str():
            return storable(item)
    return item
