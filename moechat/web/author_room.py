"""The author's store in the page: what a form changes in the file's own keys, and how a record is shown. Knows no Gradio.

Only what was changed in a form is written: a placeholder of a name stays, and so does a key that the form does not show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from moechat.agent import Agent
from moechat.curation.catalogue import Memory
from moechat.errors import FieldError, NameTaken
from moechat.lore import CHOICES as LORE_CHOICES
from moechat.lore import FIELDS as LORE_FIELDS
from moechat.lore import USUAL as USUAL_ENTRY
from moechat.model import (
    NEW_LORE_FILE,
    OFFICIAL_FIELDS,
    ActivationProfile,
    Event,
    Fact,
    Lore,
    OfficialKind,
    OfficialMemory,
    official_kind,
)
from moechat.verbs import author
from moechat.web.clicks import Action, Visit
from moechat.web.drawing import macros
from moechat.web.memory_parts import MemoryRow, speakers_of, value_in_words
from moechat.web.words import Words

MOST = 10_000
PLAIN: Mapping[OfficialKind, Sequence[str]] = {  # Writing begins in the first of these fields; the others unfold.
    "event": ("text", "time", "place", "keywords", "insight", "topic", "importance"),
    "fact": ("text", "entity", "kind", "keyword", "target", "time"),
    "lore": ("keyword", "text", "keys", "constant"),
}
HEAD: Mapping[OfficialKind, Sequence[str]] = {  # The head of an opened record shows these.
    "event": ("text", "time"),
    "fact": ("text", "time"),
    "lore": ("keyword", "text", "file"),
}
USUAL = frozenset(
    {("polarity", "1"), ("single", "false"), ("generic", "false"), ("constant", "false"), ("enabled", "true")}
    | {("logic", "any"), ("role", "system"), ("regex", "false"), ("case", "false"), ("whole_words", "true")}
)
LINES_OF_LONG_FIELDS: Mapping[
    OfficialKind, Mapping[str, int]
] = {  # The height of a field, where it is more than one line.
    "event": {"text": 2, "insight": 2},
    "fact": {"text": 2},
    "lore": {"text": 6},
}
CHOICES: Mapping[str, Sequence[str]] = {
    "kind": ("attribute", "relation", "picture"), "sign": ("1", "-1"), "switch": ("false", "true"),
    **LORE_CHOICES, "position": ("", *LORE_CHOICES["position"]),
}  # fmt: skip
_BETWEEN = re.compile(r"\s*[,，、;；\n]\s*")


def listed(agent: Agent, kind: str, search: str) -> list[OfficialMemory]:
    """What the author wrote of a kind ("": all), or what the search finds of it."""
    store = agent.official.unfilled()
    sort = kind_named(kind)
    return store.search(search, sort, MOST) if search.strip() else store.listed(sort)


def kind_named(name: str) -> OfficialKind | None:
    return next((kind for kind in OFFICIAL_FIELDS if kind == name), None)


# ---- a record's values, as its file writes them


def values_of(one: OfficialMemory, words: Words) -> dict[str, str]:
    """Every key of a record as text; what is as it is by default is left empty."""
    if isinstance(one, Lore):
        return {key: _value(one, key, words) for key in LORE_FIELDS}
    at = one.at.strftime("%Y-%m-%dT%H:%M") if one.at else ""
    if isinstance(one, Fact):
        d = one.draft
        return {
            "text": d.text, "time": at, "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target,
            "polarity": str(d.polarity), "single": str(d.single).lower(), "generic": str(d.generic).lower(),
        }  # fmt: skip
    event, profile, usual = one.event, one.event.profile, ActivationProfile()
    texts = {
        name: getattr(event, name) for name in ("text", "place", "insight", "scene", "subject", "predicate", "object")
    }
    shares = {
        "importance": (event.importance, Event("", ()).importance),
        "activation": (profile.activation, usual.activation),
        "diffusion": (profile.diffusion, usual.diffusion),
        "context_independence": (profile.context_independence, usual.context_independence),
    }
    span = "/".join(f"{moment:%Y-%m-%dT%H:%M}" for moment in event.happened or ())
    return texts | {name: "" if value == plain else f"{value:g}" for name, (value, plain) in shares.items()} | {
        "time": at, "happened": span, "topic": event.topic, "keywords": words.row(event.keywords),
        "related": words.row(event.related),
    }  # fmt: skip


def _value(entry: Lore, key: str, words: Words) -> str:
    """A field of an entry as text; numbers that are as usual are left empty."""
    value, style = getattr(entry, key), LORE_FIELDS[key]
    if style in CHOICES:
        return str(value).lower()
    if style == "list":
        return words.row(value)
    if isinstance(value, str):
        return value
    return "" if value == getattr(USUAL_ENTRY, key) else f"{value:g}"


def changed(kind: OfficialKind, form_values: Mapping[str, str], before: Mapping[str, str]) -> dict[str, object]:
    """What a form changes, in the file's keys: None for a field that was emptied."""
    changes: dict[str, object] = {}
    for key, style in OFFICIAL_FIELDS[kind].items():
        text = form_values.get(key, "").strip()
        if key in form_values and text != before.get(key, "").strip():
            changes[key] = several(text) if style == "list" and text else text or None
    return changes


def several(text: str) -> list[str]:
    """The words of a list as a form has them."""
    return [one for one in _BETWEEN.split(text.strip()) if one]


def wrong(error: FieldError, words: Words) -> str:
    """What a field expects, in the page's language; "" where the field is none of a form of the room."""
    kind = kind_named(error.kind or "")
    if isinstance(error, NameTaken) and kind == "lore":
        return words("keyword_taken", keyword=error.value)
    if kind is None and error.field == "happened":  # Only the owner's events have it in words.
        return words("field_wrong", field=words("field_happened"), remedy=words("form_when"))
    style = OFFICIAL_FIELDS[kind].get(error.field, "") if kind else ""
    if kind is None or f"form_{style}" not in words:
        return ""
    return words("field_wrong", field=_label(kind, error.field, words), remedy=words(f"form_{style}"))


def _label(kind: OfficialKind, key: str, words: Words) -> str:
    own = f"field_{kind}_{key}"
    return words(own if own in words else f"field_{key}")


# ---- what is done with one


def performed(here: Visit, verb: str, doing: str, action: Action) -> str:
    """The id of the record that was edited, added (``doing`` is its sort) or deleted, as a form says."""
    id_ = action.get("id", "")
    if verb == "delete":
        values: dict[str, object] = {"ids": [id_]}
    elif verb == "add":
        kind = kind_named(doing) or "fact"
        values = {"type": kind, "fields": changed(kind, action, defaults(kind))}
    else:
        one = here.own.official.unfilled().get(id_)
        values = {"id": id_, "fields": changed(official_kind(one), action, values_of(one, here.words))}
        if not values["fields"]:
            return one.id
    [made] = here.perform(author.VERBS[verb], **values)
    return str(made.id)


# ---- how it is drawn


def entries(here: Visit, records: Sequence[OfficialMemory], opened: str, doing: str, remark: str = "") -> Markup:
    """Records as a list; where one is ``opened``, the ``remark`` stands there, too."""
    draw = macros("memories", here.words)
    return Markup().join(
        draw.entry(_row(one, here.words), _opened(here, one, doing, remark) if one.id == opened else "")
        for one in records
    )


def _opened(here: Visit, one: OfficialMemory, doing: str, remark: str) -> Markup:
    draw, words, kind = macros("memories", here.words), here.words, official_kind(one)
    if doing == "edit":
        return record_form(kind, words, one)
    if doing in ("forget", "surely"):
        return Markup(draw.delete_form(one.id, doing == "surely"))
    speakers = speakers_of(here.own, words)
    parts = [
        (_label(kind, name, words), value_in_words(name, value, speakers, words))
        for name, value in values_of(one, words).items()
        if name not in HEAD[kind] and value and (name, value) not in USUAL
    ]
    return Markup(draw.record_opened(one.id, parts, one.file if isinstance(one, Lore) else "", remark))


def _row(one: OfficialMemory, words: Words) -> MemoryRow:
    if isinstance(one, Lore):
        text = words("entry_told", name=one.keyword, text=one.text)
        file = one.file if one.enabled else f"{one.file} · {words('switched_off')}"
        return MemoryRow(Memory(one.id, "lore", None, text, "author"), file=file)  # type: ignore[arg-type]
    if isinstance(one, Fact):
        return MemoryRow(Memory(one.id, "fact", one.at, one.text, "author"))
    return MemoryRow(Memory(one.id, "event", one.at, one.event.text, "author"))


def record_form(kind: OfficialKind, words: Words, one: OfficialMemory | None = None) -> Markup:
    """The form of a record; without one it makes a new one."""
    values = values_of(one, words) if one else defaults(kind)
    plain, rest = PLAIN[kind], [key for key in OFFICIAL_FIELDS[kind] if key not in PLAIN[kind]]
    used = sum(bool(values.get(key)) and (key, values[key]) not in USUAL for key in rest if key != "file")
    more = [_field(kind, key, values, words) for key in rest if not (one and key == "file")]
    fields = [_field(kind, key, values, words) for key in plain]
    return Markup(macros("memories", words).record_form(kind, one.id if one else "", fields, more, used))


def _field(kind: OfficialKind, key: str, values: Mapping[str, str], words: Words) -> dict[str, object]:
    style, text = OFFICIAL_FIELDS[kind][key], values.get(key, "")
    options = [(one, words(f"value_{one}", name="")) for one in CHOICES.get(style, ())]
    return {
        "name": key, "label": _label(kind, key, words), "options": options,
        "value": text or CHOICES[style][0] if options else text, "rows": LINES_OF_LONG_FIELDS[kind].get(key, 0),
        "hint": words(f"form_{style}") if style not in ("words", "text", "name") else "", "first": key == PLAIN[kind][0],
    }  # fmt: skip


def defaults(kind: OfficialKind) -> dict[str, str]:
    """What the form of a new record begins with; what stays like this is not written."""
    usual: Mapping[OfficialKind, dict[str, str]] = {
        "event": {},
        "fact": {"kind": "attribute", "entity": "user", "polarity": "1", "single": "false", "generic": "false"},
        "lore": {
            "file": NEW_LORE_FILE,
            **{key: value for key, value in sorted(USUAL) if key in OFFICIAL_FIELDS["lore"]},
        },
    }
    return usual[kind]
