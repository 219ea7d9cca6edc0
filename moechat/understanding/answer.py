"""The form of an extraction answer: its schema, and how a model's text is read into it.

What is empty or usual may be left out. Reading is lenient where the meaning is plain ("7/10", "是", one number for a list)
and strict elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from moechat.ai.cleaner import json_object
from moechat.model import EventStatus, Mark
from moechat.when import Precision

Verb = Literal["ended", "replaced", "moved", "done", "given_up", "never_true", "not_worth", "keep"]
"""What a model may say of a finding that it is shown."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
TEXT_CHARS = 400  # A record is a sentence; longer texts are cut.
MOST_NUMBERS = 20  # A small model would go on counting sources until it is cut.


def _text(value: Any) -> Any:
    if value is None:
        return ""
    if not isinstance(value, (str, int, float)):
        return value
    return " ".join(str(value).split())[:TEXT_CHARS].encode("utf-8", "replace").decode()  # no half of a character


def _list(value: Any) -> Any:
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [part.strip() for part in re.split(r"[,，、;；]", value) if part.strip()]
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> Any:
    return [text for item in _list(value) if (text := _text(item))]


def _one_of(words: Mapping[str, str], usual: str) -> BeforeValidator:
    """What a word means, in any case; what is none of them is as usual."""
    return BeforeValidator(lambda value: words.get(str(value).strip().lower(), usual))


def _within(value: float, least: float, most: float) -> float:
    """A number held to bounds before it is made a float: JSON has numbers of any length, and NaN."""
    return float(min(most, max(least, value)))


def _importance(value: Any) -> Any:
    if isinstance(value, str) and (number := _NUMBER.search(value)):
        value = float(number.group())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return _within(value, 1, 10)


_SENSES = {
    "positive": 1, "+": 1, "+1": 1, "1": 1, "肯定": 1,
    "negative": -1, "-": -1, "-1": -1, "−1": -1, "否定": -1,
}  # fmt: skip


def _polarity(value: Any) -> Any:
    if isinstance(value, str):
        value = _SENSES.get(value.strip().lower(), value)
    if value is None or value is True:
        return 1
    if value is False:
        return -1
    return (-1 if value < 0 else 1) if isinstance(value, (int, float)) else value


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().lower().startswith(("true", "yes", "是", "1"))
    return False if value is None else value


_KINDS = {
    "relation": "relation", "relationship": "relation", "关系": "relation",
    "picture": "picture", "记忆画面": "picture", "boundary": "boundary", "界限": "boundary",
}  # fmt: skip


_STATUSES = {
    "done": "done", "planned": "planned", "plan": "planned", "cancelled": "cancelled", "canceled": "cancelled",
    "open": "open", "ongoing": "open", "完成": "done", "已发生": "done", "计划": "planned", "打算": "planned",
    "取消": "cancelled", "进行中": "open",
}  # fmt: skip


_VERBS = {
    "refine": "replaced", "replace": "replaced", "wrong": "never_true", "false": "never_true", "end": "ended",
    "finished": "done", "cancelled": "given_up", "postponed": "moved", "保留": "keep", "错误": "never_true", "结束": "ended",
    "替换": "replaced", "改期": "moved", "完成": "done", "取消": "given_up",
}  # fmt: skip


def _verb(value: Any) -> Any:
    folded = re.sub(r"[\s-]+", "_", str(value).strip().lower())
    return _VERBS.get(folded, folded)


_PARTIAL_DATE = re.compile(r"(\d{4})(?:[-/.年](\d{1,2}))?(?:[-/.月](\d{1,2}))?")


def _partial_date(value: Any) -> Any:
    """A date as exactly as it is known (2022, 2022-05, 2022-05-24); ``past`` for another word, "" for none."""
    text = str(value or "").strip()
    if date := _PARTIAL_DATE.match(text):
        return "-".join(part.zfill(2) for part in date.groups() if part)
    return "past" if text and text.lower() not in ("null", "none", "无") else ""


def _precision(value: Any) -> Any:
    return value if value in get_args(Precision) else None


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Numbers = Annotated[list[int | str], BeforeValidator(_list), Field(json_schema_extra={"maxItems": MOST_NUMBERS})]
Number = Annotated[int | str, BeforeValidator(lambda value: value or 0)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Delicacy = Annotated[Mark, _one_of({mark: mark for mark in get_args(Mark)}, "")]
PartialDate = Annotated[str, BeforeValidator(_partial_date)]
Replaced = Annotated[Number, Field(validation_alias=AliasChoices("replaces", "refines"))]


class ExtractedExchange(BaseModel):
    id: int | str
    tag: Text = ""


class ExtractedFinding(BaseModel):
    text: Text
    quote: Text = ""
    mark: Delicacy = ""
    manner: Text = Field(
        default="", json_schema_extra={"enum": ["earnest", "play", "irony", "quoted", "supposed", "guessed"]}
    )
    sources: Numbers = []
    replaces: Replaced = 0


class ExtractedFact(ExtractedFinding):
    kind: Annotated[Literal["attribute", "relation", "picture", "boundary"], _one_of(_KINDS, "attribute")] = "attribute"
    entity: Text = "user"
    keyword: Text = ""
    target: Text = ""
    polarity: Annotated[Literal[1, -1], BeforeValidator(_polarity)] = 1
    single: Flag = False
    generic: Flag = False
    start: PartialDate = ""
    until: PartialDate = ""


class ExtractedEvent(ExtractedFinding):
    subject: Text = ""
    predicate: Text = ""
    object: Text = ""
    importance: Annotated[float, BeforeValidator(_importance)] = Field(default=5, description="1 to 10")
    place: Text = ""
    insight: Text = ""
    emotion: Text = ""
    topic: Text = Field(default="", description="a->b->c")
    related: Texts = []
    status: Annotated[EventStatus, _one_of(_STATUSES, "done")] = "done"
    happened: Text | None = Field(
        default=None, description="YYYY-MM-DD, YYYY-MM, YYYY, two of them with / between, or null"
    )
    precision: Annotated[Precision | None, BeforeValidator(_precision)] = None


class ExtractedVerb(BaseModel):  # also in the words of earlier prompts: a verdict on a finding
    number: int | str = Field(validation_alias=AliasChoices("number", "finding"))
    verb: Annotated[Verb, BeforeValidator(_verb)] = Field(validation_alias=AliasChoices("verb", "verdict"))
    until: PartialDate = ""
    to: Text = ""
    reason: Text = ""
    quote: Text = Field(default="", validation_alias=AliasChoices("quote", "words"))


class Answer(BaseModel):
    verbs: list[ExtractedVerb] = Field(default=[], validation_alias=AliasChoices("verbs", "verdicts"))
    facts: list[ExtractedFact] = []
    events: list[ExtractedEvent] = []
    exchanges: list[ExtractedExchange] = []
    scene_changed: Flag = False


ItemKind = Literal["fact", "event", "verdict"]
Unreadable = tuple[ItemKind, str]
"""What an item was to be, and its JSON."""
_ITEMS: Mapping[str, tuple[ItemKind, type[BaseModel]]] = {
    "facts": ("fact", ExtractedFact), "events": ("event", ExtractedEvent), "verbs": ("verdict", ExtractedVerb),
    "verdicts": ("verdict", ExtractedVerb),
}  # fmt: skip


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of an answer. Nothing is referenced, since some endpoints follow no reference; only what must be there
    is required, since an answer takes as long as what is written of it."""
    whole = Answer.model_json_schema(by_alias=False)
    definitions = whole.pop("$defs")
    whole["required"] = ["facts", "events"]
    return _plain(whole, definitions)  # type: ignore[no-any-return]


def strict_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these keys and no other."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read(text: str, *, leaving_out: list[Unreadable] | None = None) -> Answer:
    """The answer in ``text``, repaired where it can be.

    Raises ValueError; its text tells the model what is wrong. With ``leaving_out``, facts, events and verdicts that cannot
    be read are put there, and cost themselves alone.
    """
    value = json_object(text)
    if not value.keys() & {*_ITEMS, *Answer.model_fields}:
        raise ValueError(f"it has none of the keys {', '.join(Answer.model_fields)}")
    if leaving_out is not None:
        for key, (kind, item) in _ITEMS.items():
            if key not in value:
                continue
            there = value[key] or []
            items = there if isinstance(there, list) else [there]
            value[key] = [one for one in items if _is_readable(item, one)]
            bad = [one for one in items if not _is_readable(item, one)]
            leaving_out += [(kind, json.dumps(one, ensure_ascii=False)[:TEXT_CHARS]) for one in bad]
    try:
        return Answer.model_validate(value)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()[:5]]
        raise ValueError("; ".join(lines)) from error


def _is_readable(item: type[BaseModel], value: Any) -> bool:
    try:
        item.model_validate(value)
    except ValidationError:
        return False
    return True


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    if node.get("anyOf") == [{"type": "integer"}, {"type": "string"}]:
        return {"type": "integer"}  # Reading also takes strings.
    return {key: _plain(value, definitions) for key, value in node.items() if key not in ("title", "default")}
