"""The author's store in the page: what is shown of a record, the form that writes it, and what a form says in the file's own
keys. Knows no Gradio.

A form tells only what was changed in it: a name's placeholder, or a key that the form has no words for, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from moechat.agent import Agent
from moechat.memory.catalogue import Memory
from moechat.model import ActivationProfile, Episode, Event, Fact, Lore
from moechat.store.official import KEYS, FieldError, Kind, Official
from moechat.web import memory_page
from moechat.web.draw import escape
from moechat.web.memory_page import DATED_FROM, Names, Row, button, choice, definitions, field, field_told, form
from moechat.web.words import TEXTS, Words

Item = Episode | Fact | Lore
MOST = 10_000
NEVER = datetime.fromtimestamp(0, UTC)
PLAIN: Mapping[Kind, Sequence[str]] = {  # the fields that stand first; the others unfold
    "event": ("text", "time", "place", "keywords", "insight", "topic", "importance"),
    "fact": ("text", "entity", "kind", "keyword", "target", "time"),
}
LONG = ("text", "insight")
CHOICES: Mapping[str, Sequence[str]] = {
    "kind": ("attribute", "relation", "picture"), "sign": ("1", "-1"), "switch": ("false", "true"),
}  # fmt: skip
_BETWEEN = re.compile(r"\s*[,，、;；\n]\s*")


def store_of(agent: Agent) -> Official:
    """The author's store with the placeholders of the names as they stand in the files, so that they outlive an edit."""
    return Official(agent.character.folder, zone=agent.config.time.tzinfo)


def listed(agent: Agent, kind: str, search: str) -> list[Item]:
    """What the author wrote of a kind ("": all), or what the search finds of it; the world book last."""
    store, found = store_of(agent), list[Item]()
    if kind != "lore":
        wanted: Kind | None = "event" if kind == "event" else "fact" if kind == "fact" else None
        found += store.search(search, wanted, MOST) if search.strip() else store.listed(wanted)
    if kind in ("", "lore"):
        asked = search.casefold().split()
        found += [one for one in agent.book.entries if all(word in _told(one).casefold() for word in asked)]
    return found


def _told(one: Lore) -> str:
    return "\n".join((one.keyword, *one.keys, one.text))


def kind_of(one: Episode | Fact) -> Kind:
    return "fact" if isinstance(one, Fact) else "event"


def _row(one: Item) -> Row:
    if isinstance(one, Lore):
        text = f"{one.keyword}：{one.text}"
        return Row(Memory(one.id, "lore", NEVER, text, "author"), file=one.file)  # type: ignore[arg-type]
    return Row(Memory(one.id, kind_of(one), one.at, one.text if isinstance(one, Fact) else one.event.text, "author"))


# ---- a record's values, as its file writes them


def values_of(one: Episode | Fact) -> dict[str, str]:
    """Every key of a record as text; what is as it is by default is left empty."""
    at = one.at.strftime("%Y-%m-%dT%H:%M") if one.at.year >= DATED_FROM else ""
    if isinstance(one, Fact):
        d = one.draft
        return {
            "text": d.text, "time": at, "kind": d.kind, "entity": d.entity, "keyword": d.keyword, "target": d.target,
            "polarity": str(d.polarity), "single": str(d.single).lower(), "generic": str(d.generic).lower(),
        }  # fmt: skip
    event, profile, usual = one.event, one.event.profile, ActivationProfile()
    told = {
        name: getattr(event, name) for name in ("text", "place", "insight", "scene", "subject", "predicate", "object")
    }
    shares = {
        "importance": (event.importance, Event("", ()).importance),
        "activation": (profile.activation, usual.activation),
        "diffusion": (profile.diffusion, usual.diffusion),
        "context_independence": (profile.context_independence, usual.context_independence),
    }
    span = "/".join(f"{moment:%Y-%m-%dT%H:%M}" for moment in event.happened or ())
    return told | {name: "" if value == plain else f"{value:g}" for name, (value, plain) in shares.items()} | {
        "time": at, "happened": span, "topic": event.topic, "keywords": "、".join(event.keywords),
        "related": "、".join(event.related),
    }  # fmt: skip


def changed(kind: Kind, told: Mapping[str, str], before: Mapping[str, str]) -> dict[str, object]:
    """What a form changes, in the file's keys: None for a field that was emptied."""
    found: dict[str, object] = {}
    for key, style in KEYS[kind].items():
        text = told.get(key, "").strip()
        if key in told and text != before.get(key, "").strip():
            found[key] = [one for one in _BETWEEN.split(text) if one] if style == "list" and text else text or None
    return found


def wrong(error: FieldError, words: Words) -> str:
    """What a field expects, in the page's language."""
    style = next((keys[error.field] for keys in KEYS.values() if error.field in keys), "")
    if f"field_{error.field}" not in TEXTS or f"form_{style}" not in TEXTS:
        return str(error)
    return words("field_wrong", field=words(f"field_{error.field}"), remedy=words(f"form_{style}"))


# ---- drawing


def entry(one: Item, names: Names, words: Words, *, opened: bool, doing: str = "") -> str:
    inside = ""
    if isinstance(one, Lore):
        inside = _lore(one, words) if opened else ""
    elif opened and doing == "edit":
        inside = record_form(kind_of(one), values_of(one), words, one.id)
    elif opened and doing in ("forget", "surely"):
        inside = _ask(one.id, words, sure=doing == "surely")
    elif opened:
        inside = _fields(one, names, words) + _actions(one.id, words)
    return memory_page.entry(_row(one), words, inside)


def _lore(one: Lore, words: Words) -> str:
    """An entry of the world book, which people write in an editor: often a page of text."""
    told = [(words("field_keys"), "、".join(one.keys)), (words("field_constant"), words("yes") if one.constant else "")]
    return f'{definitions(told)}<p class="hint">{escape(words("lore_told", file=one.file))}</p>'


def _fields(one: Episode | Fact, names: Names, words: Words) -> str:
    told = [
        (words(f"field_{name}"), field_told(name, value, names, words))
        for name, value in values_of(one).items()
        if name not in ("text", "time") and value not in ("", "false") and (name, value) != ("polarity", "1")
    ]
    return definitions(told)


def _actions(id_: str, words: Words) -> str:
    return (
        f'<div class="actions">{button("edit", words("edit"), id=id_)}'
        f"{button('forget', words('delete'), kind='danger', id=id_)}</div>"
    )


def _ask(id_: str, words: Words, *, sure: bool) -> str:
    asked = words("delete_sure" if sure else "delete_ask")
    do, label, kind = ("forget-now", "delete_now", "danger strong") if sure else ("surely", "delete_yes", "danger")
    return (
        f'<div class="ask" role="alertdialog" aria-label="{escape(asked)}"><p>{escape(asked)}</p><div class="actions">'
        f"{button('cancel', words('cancel'), kind='primary')}{button(do, words(label), kind=kind, id=id_)}</div></div>"
    )


def record_form(kind: Kind, values: Mapping[str, str], words: Words, id_: str = "") -> str:
    """The form of a record; without an id it makes a new one."""
    plain = "".join(_field(kind, key, values, words) for key in PLAIN[kind])
    further = "".join(_field(kind, key, values, words) for key in KEYS[kind] if key not in PLAIN[kind])
    inside = f'{plain}<details class="further"><summary>{escape(words("further"))}</summary>{further}</details>'
    return form("save" if id_ else "add", f"{id_ or 'new'} {kind}", inside, words, id=id_, sort=kind)


def _field(kind: Kind, key: str, values: Mapping[str, str], words: Words) -> str:
    style, label, value = KEYS[kind][key], words(f"field_{key}"), values.get(key, "")
    if style in CHOICES:
        options = [(one, words(f"value_{one}", name="")) for one in CHOICES[style]]
        return choice(key, label, options, value or CHOICES[style][0])
    hint = words(f"form_{style}") if style not in ("words", "text") else ""
    return field(key, label, value, rows=2 if key in LONG else 0, hint=hint, first=key == "text")


def defaults(kind: Kind) -> dict[str, str]:
    """What the form of a new record begins with; what stays like this is not written."""
    fact = {"kind": "attribute", "entity": "user", "polarity": "1", "single": "false", "generic": "false"}
    return fact if kind == "fact" else {}
