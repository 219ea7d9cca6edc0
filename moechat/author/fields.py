"""The fields of the author's records: the keys of ``events.yaml``, ``facts.yaml`` and the world book, and their forms."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moechat.clock import moment_of
from moechat.errors import FieldError
from moechat.lore import CHOICES
from moechat.model import OFFICIAL_FIELDS, OfficialKind
from moechat.store.plain import storable

Values = Mapping[str, object]
_YES_NO = ("true", "false")
_LONGEST_NAME = 200
_FILE_NAME = re.compile(r"""[^/\\:*?"<>|.\x00-\x1f][^/\\:*?"<>|\x00-\x1f]{0,60}\.ya?ml""")

REMEDIES: Mapping[str, str] = {
    "words": "write it in words",
    "text": "expects text",
    "list": "expects a list of words, such as [one, two]",
    "time": "write it as 2025-05-20T15:03",
    "span": "write it as 2025-05-20T15:03/2025-05-20T16:00",
    "share": "expects a number from 0 to 1",
    "sign": "expects 1 or -1",
    "switch": "expects true or false",
    "kind": "expects attribute, relation or picture",
    **{form: f"expects {', '.join(choices)}" for form, choices in CHOICES.items()},
    "count": "expects a whole number, 0 or more",
    "number": "expects a whole number",
    "percent": "expects a number from 0 to 100",
    "name": f"write it in words, in one line of at most {_LONGEST_NAME} characters",
    "file": "expects the name of a file of data_base, such as places.yaml",
}
_NEEDED: Mapping[OfficialKind, Sequence[str]] = {"event": ("text",), "fact": ("text",), "lore": ("keyword", "text")}
_MISSING: Mapping[str, str] = {
    "keyword": "is missing; write what the entry is about, in a word or two",
    "text": "is missing; write what is to be remembered, in words",
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
        form = forms[key]
        if not (_listed(item) if form == "list" else isinstance(item, str) and _fits(form, item)):
            raise FieldError(key, item, REMEDIES[form], kind)
    for key in _NEEDED[kind]:
        if key not in value:
            raise FieldError(key, None, _MISSING[key], kind)


def _listed(item: object) -> bool:
    return isinstance(item, str) or (isinstance(item, list) and all(isinstance(one, str) for one in item))


def _fits(form: str, text: str) -> bool:
    match form:
        case "words":
            return bool(text.strip())
        case "time":
            return _is_time(text)
        case "span":
            return text.count("/") <= 1 and all(_is_time(end) for end in text.split("/"))
        case "share":
            return bool(re.fullmatch(r"0|1|1\.0*|0?\.\d+|\d(\.\d+)?e-\d+", text))
        case "sign":
            return text in ("1", "-1")
        case "switch":
            return text in _YES_NO
        case "kind":
            return text in ("attribute", "relation", "picture")
        case "logic" | "position" | "role":
            return text in CHOICES[form]
        case "count":
            return re.fullmatch(r"\d{1,6}", text) is not None
        case "number":
            return re.fullmatch(r"-?\d{1,6}", text) is not None
        case "percent":
            return re.fullmatch(r"100(\.0+)?|\d{1,2}(\.\d+)?", text) is not None
        case "name":
            return 0 < len(text.strip()) <= _LONGEST_NAME and len(text.splitlines()) == 1
        case "file":
            return _FILE_NAME.fullmatch(text) is not None
    return True


def fits(key: str, item: Any) -> str:
    """A rule of an entry as its file has it. Raises ValueError that says what is expected."""
    form = OFFICIAL_FIELDS["lore"][key]
    if not isinstance(item, str) or not _fits(form, item):
        raise ValueError(f"{key} {REMEDIES[form]}")
    return item


def typed(key: str, item: Any) -> Any:
    """The value of a field of an entry, from the text of its file."""
    match OFFICIAL_FIELDS["lore"][key]:
        case "switch":
            return item == "true"
        case "count" | "number":
            return int(item)
        case "percent":
            return float(item)
    return item


def written_as(value: object) -> object:
    """A value of an entry as its file has it."""
    return [] if value == () else None if value is None else _text(value)


def _is_time(text: str) -> bool:
    try:
        return bool(moment_of(text, None))
    except ValueError:
        return False


def written(kind: OfficialKind, values: Values) -> dict[str, Any]:
    """A record's values as its file holds them, text and lists of text, without those that are None. Raises FieldError where
    it could not be read again."""
    record = {key: _text(item) for key, item in values.items() if item is not None}
    check(kind, record)
    return record


def _text(item: object) -> object:
    if isinstance(item, bool):
        return _YES_NO[not item]
    if isinstance(item, int | float):
        return str(item)
    if isinstance(item, list | tuple):
        return [_clean(one) for one in item]
    return _clean(item)


def _clean(item: object) -> object:
    return storable(item) if isinstance(item, str) else item
