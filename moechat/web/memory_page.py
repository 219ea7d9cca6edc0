"""The memories as the page shows them: the list, one memory opened with what it rests on, and the forms. Knows no Gradio.

Every text of a memory is escaped here; nothing of it is ever markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from moechat.curation.by_hand import Kind
from moechat.curation.catalogue import Details, Memory
from moechat.curation.forgetting import Forecast
from moechat.curation.keeper import Preview
from moechat.curation.letter import Letter, Sentence
from moechat.settings.character import USER_NAMES
from moechat.topic_path import EVERYDAY
from moechat.web.draw import button, dated, escape, in_first_person, tag, to_person
from moechat.web.topic_charts import crumbs
from moechat.web.words import Words

OWN: Mapping[Kind, Mapping[str, str]] = {  # The fields of what an owner writes, each with the text of its hint.
    "fact": {"text": "", "entity": "", "keyword": "", "target": ""},
    "event": {
        "text": "", "happened": "form_when", "place": "", "keywords": "form_list", "topic": "", "importance": "form_share",
    },
}  # fmt: skip
SHOWN = 12  # A question lists so many memories.
UNSHOWN = ("by", "keywords")  # These fields of an exchange are the understanding's own and not shown.
PLAIN_VALUES = (
    ("polarity", 1),
    ("kind", "attribute"),
    *(("topic", name) for name in EVERYDAY.values()),
)  # They say nothing.
NAMED = (
    "kind", "status", "polarity", "single", "generic", "entity", "consolidated", "constant", "enabled", "regex", "case",
    "whole_words", "logic", "position", "role",
)  # fmt: skip
DEEPEST = 4  # So many levels of reflections on reflections are opened.
LABEL = 40  # A memory is named by this many of its first characters.
PREVIEW = 400  # A memory that is not opened shows this many characters.
LookUp = Callable[[Memory], Details | None]
"""All that is known of a memory; None where it is gone."""


@dataclass(frozen=True)
class Speakers:
    """The names of the two who talk."""

    user: str
    character: str


@dataclass(frozen=True)
class MemoryRow:
    """A memory of the list. ``forecast`` is None where it does not fade; ``fades`` is the forecast in words. ``file`` takes the
    place of a date; ``user`` is the name that it may call the person by."""

    memory: Memory
    forecast: Forecast | None = None
    fades: str = ""
    file: str = ""
    user: str = ""


# ---- the list


def entry(row: MemoryRow, words: Words, inside: str = "", *, ticks: bool = False) -> str:
    """One memory; ``inside`` is what it opens to. ``ticks``: it can be chosen among others."""
    memory, opened = row.memory, bool(inside)
    whole = memory.text if memory.kind == "exchange" else to_person(memory.text, row.user)
    text = whole if opened or len(whole) <= PREVIEW else f"{whole[:PREVIEW]}…"
    kind = " ".join(name for name, on in (("archived", memory.archived), ("old", not memory.current)) if on)
    return (
        f'<article class="memory {escape(memory.kind)} {kind}">{_tick(memory, words) if ticks else ""}'
        f'<button type="button" class="memory-head" data-do="open" '
        f'data-id="{escape(memory.id)}" aria-expanded="{str(opened).lower()}">{tag(memory.kind, words)}'
        f'<span class="text">{escape(text) or "…"}</span>{_below(row, words)}</button>'
        f'<div class="memory-open">{inside}</div></article>'
    )


def _tick(memory: Memory, words: Words) -> str:
    label = escape(words("choose_it", text=memory.text[:LABEL]))
    return f'<input type="checkbox" name="chosen" value="{escape(memory.id)}" aria-label="{label}">'


def several_form(entries: str, words: Words, *, archived: bool) -> str:
    """A list whose ticked entries are archived (or brought back), pinned or made one together."""
    names = {"restore": "restore"} if archived else {"archive": "archive", "pin": "pin", "merge": "merge_several"}
    acts = "".join(
        f'<button type="submit" class="act" name="act" value="{name}">{escape(words(text))}</button>'
        for name, text in names.items()
    )
    return f'<form data-do="several" class="several"><div class="actions">{acts}</div>{entries}</form>'


def _below(row: MemoryRow, words: Words) -> str:
    memory, parts = row.memory, [escape(row.file) or dated(row.memory.at, words)]
    if memory.by != "author" and memory.kind != "exchange":
        parts.append(f'<span class="tinker">{escape(words("strength", n=memory.strength))}</span>')
        parts.append(f"<span>{escape(_uses(memory, words))}</span>" if memory.recalls else "")
    if row.fades:
        parts.append(f'<span class="fades">{_meter(row.forecast, words)}{escape(row.fades)}</span>')
    marks = (("pinned", memory.pinned), ("archived", memory.archived), ("replaced_tag", not memory.current))
    parts += [f'<span class="mark">{escape(words(name))}</span>' for name, on in marks if on]
    return f'<span class="meta">{"".join(parts)}</span>'


def _uses(memory: Memory, words: Words) -> str:
    if memory.recalls < 2:
        return words("recalled_once" if memory.recalls else "recalled_never")
    return words("recalled_times", n=memory.recalls)


def _meter(forecast: Forecast | None, words: Words) -> str:
    if forecast is None or forecast.kept:
        return ""
    percent = round(100 * forecast.retention)
    title = escape(words("left", percent=percent))
    return f'<span class="meter" title="{title}"><i style="width:{percent}%"></i></span>'


# ---- one memory, opened


def opened(details: Details, look_up: LookUp, speakers: Speakers, words: Words) -> str:
    """Everything known about a memory, with its actions. ``look_up`` opens its evidence in turn."""
    fields = _fields(details, speakers, words)
    return fields + _actions(details.memory, words) + _rests(details, look_up, speakers, words)


def _fields(details: Details, speakers: Speakers, words: Words) -> str:
    memory = details.memory
    parts = [(words("by"), words(f"by_{memory.by}"))] if memory.by else []
    for name, value in details.fields.items():
        if memory.kind == "exchange" and (name in UNSHOWN or (name, value) == ("status", "done")):
            continue
        if f"field_{name}" in words and (name, value) not in PLAIN_VALUES:
            parts.append((words(f"field_{name}"), value_in_words(name, value, speakers, words)))
    reply = quote(memory, speakers, words) if memory.kind == "exchange" else ""
    return f"{reply}{definitions(parts)}"


def definitions(parts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in parts if value)
    return f'<dl class="fields">{rows}</dl>' if rows else ""


def value_in_words(name: str, value: object, speakers: Speakers, words: Words) -> str:
    """A part of a memory in words."""
    if name == "happened" and isinstance(value, Sequence) and len(value) == 2:
        return words.stretch(datetime.fromisoformat(str(value[0])), datetime.fromisoformat(str(value[1])))
    if name == "expires":
        return words.moment(datetime.fromisoformat(str(value)))
    if name in NAMED and f"value_{str(value).lower()}" in words:
        return words(f"value_{str(value).lower()}", name=speakers.character)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "、".join(crumbs(str(one)) for one in value)
    if isinstance(value, float):
        return f"{value:.2f}"
    if name in ("subject", "object") and value in (*USER_NAMES.values(), "user"):
        return speakers.user
    return crumbs(str(value)) if name == "topic" else str(value)


def _actions(memory: Memory, words: Words) -> str:
    acts = ["edit"]
    if memory.kind != "exchange":
        acts.append("unpin" if memory.pinned else "pin")
    acts.append("restore" if memory.archived else "archive")
    buttons = "".join(button(do, words(do), id=memory.id) for do in acts)
    return f'<div class="actions">{buttons}{button("forget", words("forget"), kind="danger", id=memory.id)}</div>'


def _rests(details: Details, look_up: LookUp, speakers: Speakers, words: Words, depth: int = 0) -> str:
    """The memories that it rests on, that it replaced and that were made from it."""
    evidence = [one for one in map(look_up, details.evidence) if one is not None] if depth < DEEPEST else []
    nested = "".join(_nested(one, look_up, speakers, words, depth + 1) for one in evidence)
    parts = [_section(words("evidence"), nested)]
    if details.memory.kind != "exchange" and not evidence:
        talk = "".join(quote(source, speakers, words) for source in details.sources)
        missing = "" if details.memory.by == "owner" else f'<p class="hint">{escape(words("no_sources"))}</p>'
        parts.append(_section(words("sources"), talk or missing))
    parts += [
        _section(words(title), "".join(_jump(other, words) for other in others))
        for title, others in (
            ("history", details.replaced), ("replaced_by", details.replaced_by), ("derived", details.derived),
        )
    ]  # fmt: skip
    return "".join(parts)


def _section(title: str, inside: str) -> str:
    return f'<section class="rests"><h4>{escape(title)}</h4>{inside}</section>' if inside else ""


def _nested(details: Details, look_up: LookUp, speakers: Speakers, words: Words, depth: int) -> str:
    inside = _rests(details, look_up, speakers, words, depth)
    return f'<details class="evidence"><summary>{_brief(details.memory, words)}</summary>{inside}</details>'


def _jump(memory: Memory, words: Words) -> str:
    """Another memory, which opens with a click."""
    brief = _brief(memory, words)
    return f'<button type="button" class="jump" data-do="open" data-id="{escape(memory.id)}">{brief}</button>'


def _brief(memory: Memory, words: Words) -> str:
    text, date = f'<span class="text">{escape(memory.text)}</span>', dated(memory.at, words)
    return f'{tag(memory.kind, words)}{text}<span class="meta">{date}</span>'


def quote(exchange: Memory, speakers: Speakers, words: Words, *, is_of_day: bool = False) -> str:
    """An exchange, word for word; ``is_of_day``: among others of its day, so that the hour says when."""
    sides = ((speakers.user, exchange.text, "you"), (speakers.character, exchange.reply, "them"))
    lines = "".join(
        f'<p class="{side}"><b>{escape(name)}</b><span>{escape(text)}</span></p>' for name, text, side in sides if text
    )
    hour = f"<time>{exchange.at:%H:%M}</time>" if is_of_day and exchange.at else dated(exchange.at, words)
    return f'<blockquote class="was-said">{hour}{lines}</blockquote>'


# ---- forms


def form(do: str, key: str, inside: str, words: Words, *, more: str = "", **data: object) -> str:
    """A form whose fields reach Python with ``do``; another ``key`` is another form. ``more`` are further buttons."""
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    return (
        f'<form class="form" data-do="{do}" data-form="{escape(key)}"{attributes}>{inside}<div class="actions">'
        f'<button type="submit" class="act primary">{escape(words("save"))}</button>'
        f"{button('cancel', words('cancel'))}{more}</div></form>"
    )


def further(fields: str, used: int, words: Words) -> str:
    """Fields that unfold; ``used`` of them say something."""
    label = words("further_used", n=used) if used else words("further")
    return f'<details class="further"><summary>{escape(label)}</summary><div class="form">{fields}</div></details>'


def field(
    name: str, label: str, value: str = "", *, rows: int = 0, hint: str = "", first: bool = False, note: str = "",
    secret: bool = False, live: str = "",
) -> str:  # fmt: skip
    """A field of a form. ``hint`` stands in it while it is empty, ``note`` below it; what is ``secret`` is not shown. One that is
    ``live`` is an action by itself."""
    attributes = f'name="{escape(name)}" aria-label="{escape(label)}" placeholder="{escape(hint)}"'
    attributes += " data-first" if first else ""
    attributes += f' data-live="{live}"' if live else ""
    if rows:
        control = f'<textarea {attributes} rows="{rows}">{escape(value)}</textarea>'
    else:
        kind = "password" if secret else "text"
        control = f'<input type="{kind}" {attributes} value="{escape(value)}" autocomplete="off">'
    below = f"<small>{escape(note)}</small>" if note else ""
    return f'<label class="field {"wide" if rows else ""}"><span>{escape(label)}</span>{control}{below}</label>'


def choice(name: str, label: str, options: Sequence[tuple[str, str]], value: str = "", *, live: str = "") -> str:
    items = "".join(
        f'<option value="{escape(key)}"{" selected" if key == value else ""}>{escape(text)}</option>'
        for key, text in options
    )
    attributes = f'name="{escape(name)}" aria-label="{escape(label)}"' + (f' data-live="{live}"' if live else "")
    control = f"<select {attributes}>{items}</select>"
    return f'<label class="field"><span>{escape(label)}</span>{control}</label>'


def letter(letter: Letter, name: str, opened: str, inside: str, words: Words) -> str:
    """The letter; the sentence of the memory that is ``opened`` has its form or its details below it."""

    def sentences(several: Sequence[Sentence], *, dates: bool = False) -> str:
        parts = []
        for one in several:
            day = f"<time>{escape(words.short_day(one.at))}</time> " if dates and one.at else ""
            below = f'<div class="memory-open">{inside}</div>' if one.id == opened else ""
            do = "open" if one.id == opened else "edit"
            parts.append(
                f'<li><button type="button" class="sentence" data-do="{do}" data-id="{escape(one.id)}" '
                f'title="{escape(words("tap_to_correct"))}">{day}{escape(one.text)}</button>{below}</li>'
            )
        return f"<ul>{''.join(parts)}</ul>"

    def part(title: str, html: str) -> str:
        return f'<section class="card letter"><h2>{escape(title)}</h2>{html}</section>'

    parts = [part(words("letter_you", name=name), sentences(letter.of_you))] if letter.of_you else []
    if letter.people:
        people = "".join(f"<h3>{escape(who)}</h3>{sentences(several)}" for who, several in letter.people)
        parts.append(part(words("letter_people"), people))
    if letter.happened:
        parts.append(part(words("letter_happened"), sentences(letter.happened, dates=True)))
    if letter.thoughts:
        parts.append(part(words("letter_thought", name=name), sentences(letter.thoughts)))
    return "".join(parts) or f'<p class="empty">{escape(words("nothing_yet"))}</p>'


def edit_form(details: Details, words: Words) -> str:
    """The form that changes a memory: of an event every field, of all else its words."""
    memory = details.memory
    more = button("open", words("look_closer"), id=memory.id)
    more += button("forget", words("forget"), kind="danger", id=memory.id)
    if memory.kind == "event":
        return form("save", f"edit {memory.id}", _event_fields(details, words), words, more=more, id=memory.id)
    hint = words("edit_exchange_hint" if memory.kind == "exchange" else "edit_hint")
    inside = field("text", words("field_text"), in_first_person(memory.text), rows=3, first=True)
    return form(
        "save", f"edit {memory.id}", f'{inside}<p class="hint">{escape(hint)}</p>', words, more=more, id=memory.id
    )


def _event_fields(details: Details, words: Words) -> str:
    values = {key: details.fields.get(key, "") for key in OWN["event"]} | {"text": details.memory.text}
    span = values["happened"]
    texts = {
        key: "、".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for key, value in values.items()
    }
    texts["happened"] = "/".join(str(moment)[:16] for moment in span) if isinstance(span, Sequence) else ""
    return "".join(
        field(
            name, words(f"field_{name}"), texts[name], rows=2 if name == "text" else 0, hint=words(hint) if hint else "",
            first=name == "text",
        )
        for name, hint in OWN["event"].items()
    )  # fmt: skip


def merge_form(text: str, words: Words) -> str:
    """Where several memories become one; it begins with the words of all."""
    inside = field("text", words("merge_words"), text, rows=3, first=True)
    return form("merge", "merge", f'{inside}<p class="hint">{escape(words("merge_hint"))}</p>', words)


def own_form(kind: Kind, words: Words) -> str:
    """A fact or an event that the owner writes; what is left empty is found by rules."""
    usual = {"entity": words("value_user")}
    inside = "".join(
        field(
            name, words(f"field_{name}"), usual.get(name, ""), rows=2 if name == "text" else 0,
            hint=words(hint) if hint else "", first=name == "text",
        )
        for name, hint in OWN[kind].items()
    )  # fmt: skip
    return form("add", f"new {kind}", inside, words)


def forget_form(memory: Memory, preview: Preview, words: Words, *, sure: bool) -> str:
    """The form that asks twice before it erases: what goes, what repeats it and what stays."""
    inside = _some(preview.goes, words)
    inside += f"<p>{escape(words('forget_repeats'))}</p>{_some(preview.repeats, words)}" if preview.repeats else ""
    inside += f"<p>{escape(words('forget_stays'))}</p>{_some(preview.stays, words)}" if preview.stays else ""
    inside += f"<p>{escape(words('forget_anew'))}</p>{_some(preview.anew, words)}" if preview.anew else ""
    if sure:
        acts = button("forget-now", words("forget_now"), kind="danger strong", id=memory.id)
    else:
        acts = "" if memory.archived else button("archive", words("archive"), id=memory.id)
        acts += button("surely", words("forget_yes"), kind="danger", id=memory.id)
    return question(words("forget_sure" if sure else "forget_ask"), acts, words, inside)


def _some(memories: Sequence[Memory], words: Words) -> str:
    items = "".join(f"<li>{tag(one.kind, words)} {escape(one.text)}</li>" for one in memories[:SHOWN])
    items += f"<li>… +{len(memories) - SHOWN}</li>" if len(memories) > SHOWN else ""
    return f"<ul>{items}</ul>"


def question(text: str, acts: str, words: Words, inside: str = "") -> str:
    """What is asked before something is erased."""
    return (
        f'<div class="ask" role="alertdialog" aria-label="{escape(text)}"><p>{escape(text)}</p>{inside}'
        f'<div class="actions">{button("cancel", words("cancel"), kind="primary")}{acts}</div></div>'
    )
