"""The small parts that the page is drawn of, as HTML.

Everything that was said, remembered or written by others is text and is escaped here, at one place; nothing of it is ever
markup. Knows no Gradio.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from moechat.curation.letter import to_you
from moechat.house.gallery import Portrait
from moechat.model import Exchange
from moechat.web.whereabouts import Whereabouts
from moechat.web.words import Words
from moechat.when.names import has_han

USAGE_COLUMNS = (
    "usage_day", "usage_use", "usage_calls", "usage_prompt", "usage_written", "usage_cached", "usage_same",
)  # fmt: skip
SHARES = (("cached", "reported"), ("same", "compared"))
_OF_USER = re.compile(r"(?:用户|[Tt]he user)")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DATED = re.compile(
    r"(?:[今昨前]天|[今昨]晚|今早|\b(?:[Tt]oday|[Yy]esterday|[Tt]onight|[Ll]ast night)\b)?(?<!\s)\s*[（(](\d{4}-\d\d-\d\d)[)）]"
)
_INSIDE = re.compile(r"([，。；：！？、（「“])用户(?=[的在和把被将说想要喜讨怕会是有没不也还去来])")
HUES = (14, 36, 88, 150, 178, 205, 262, 330)  # The colours of avatars go well with warm paper.


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def picture_of(portrait: Portrait) -> str:
    """Where the page has the picture of a character; "" where there is none."""
    return f"/page/picture/{quote(portrait.folder, safe='')}?{portrait.picture}" if portrait.picture else ""


def avatar(name: str, picture: str = "") -> str:
    """The picture of a character, else the first sign of its name on a colour of its own."""
    if picture:
        return f'<img class="avatar" src="{escape(picture)}" alt="" decoding="async">'
    hue = HUES[zlib.crc32(name.encode()) % len(HUES)]
    first = next((sign for sign in name if not sign.isspace()), "·")
    return f'<span class="avatar" style="--hue:{hue}" aria-hidden="true">{escape(first.upper())}</span>'


def to_person(text: str, user_name: str = "") -> str:
    """A memory as it is told to the person whom it is about: 用户讨厌香菜 → 你讨厌香菜, "The user's dog" → "Your dog"."""
    return with_short_days(_INSIDE.sub(r"\1你", to_you(text, user_name) if _OF_USER.match(text) else text))


def with_short_days(text: str) -> str:
    """昨天（2025-05-19）吃了火锅 → 5月19日吃了火锅: what 昨天 meant stands in its place, and other days are short."""
    words = Words("zh" if has_han(text) else "en")

    def day(date: str) -> str:
        return words.short_day(datetime.fromisoformat(date))

    def instead(match: re.Match[str]) -> str:
        if match[0].strip()[0] in "（(":
            return match[0].replace(match[1], day(match[1]))
        return day(match[1]) if words.language == "zh" else f"on {day(match[1])}"

    return _DAY.sub(lambda match: day(match[0]), _DATED.sub(instead, text))


def in_first_person(text: str) -> str:
    """A memory in the person's own words, to be corrected: 用户讨厌香菜 → 我讨厌香菜."""
    return _OF_USER.sub("我", text) if has_han(text) else text


# ---- small parts


def button(do: str, label: str, *, kind: str = "", **data: object) -> str:
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    return f'<button type="button" class="act {kind}" data-do="{do}"{attributes}>{escape(label)}</button>'


def tag(kind: str, words: Words) -> str:
    return f'<span class="tag {escape(kind)}">{escape(words(f"one_{kind}"))}</span>'


def dated(moment: datetime | None, words: Words, name: str = "") -> str:
    """A time; ``name`` is the text of the page that it stands in."""
    if moment is None:
        return f"<span>{escape(words('undated'))}</span>"
    text = words(name, time=words.moment(moment)) if name else words.moment(moment)
    return f'<time datetime="{moment.isoformat()}">{escape(text)}</time>'


def moment(text: object) -> datetime | None:
    """An ISO time of a ground; None where there is none."""
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


# ---- around the conversation


def brand(words: Words) -> str:
    name, tagline = escape(words("title")), escape(words("tagline"))
    switches = button("language", words("other_language"), kind="quiet") + button("theme", words("theme"), kind="quiet")
    return (
        f'<div class="brand"><strong>{name}</strong><span>{tagline}</span></div><div class="switches">{switches}</div>'
    )


def notice(text: str) -> str:
    return f'<p class="notice" role="alert">⚠ {escape(text)}</p>'


def characters(portraits: Sequence[Portrait], chosen: str, words: Words) -> str:
    """The list at the side. A click reports the ``data-name`` of its button."""
    if not portraits:
        return f'<p class="empty">{escape(words("no_characters"))}</p>'
    items = "".join(
        f'<button type="button" class="character" data-name="{escape(one.folder)}" '
        f'aria-pressed="{str(one.folder == chosen).lower()}">{avatar(one.name, picture_of(one))}<span class="name">'
        f"{escape(one.name)}{f'<small>{escape(one.line)}</small>' if one.line else ''}</span></button>"
        for one in portraits
    )
    return f'<nav class="characters" aria-label="{escape(words("characters"))}">{items}</nav>'


def talk_name(place: Whereabouts, words: Words) -> str:
    """What a talk is called: by its own name, that of its world, or that nothing of it is kept."""
    if place.held:
        return words("held_name")
    world = words("in_world", name=place.world) if place.world else ""
    return " · ".join(part for part in (world, place.talk) if part) or words("talk_first")


def talks(places: Sequence[Whereabouts], here: Whereabouts, words: Words) -> str:
    """The talks with a character, and what begins another one."""
    items = "".join(
        f'<button type="button" class="talk-name" data-do="go" data-talk="{escape(one.talk)}" data-world="{escape(one.world)}" '
        f'data-held="{one.held}" aria-current="{str(one == here).lower()}">{escape(talk_name(one, words))}</button>'
        for one in places
    )
    return f'{items}<button type="button" class="talk-name new" data-do="new-talk">{escape(words("talk_new"))}</button>'


def new_talk(words: Words) -> str:
    """The form that begins a talk."""
    kinds = "".join(
        f'<label class="choice"><input type="radio" name="kind" value="{kind}"{" checked" if kind == "same" else ""}>'
        f"<span>{escape(words(f'talk_{kind}'))}</span></label>"
        for kind in ("same", "world", "held")
    )
    name, example = escape(words("talk_name")), escape(words("talk_name_example"))
    return (
        f'<form class="new-talk" data-do="begin-talk"><label class="field"><span>{name}</span><input type="text" name="name" '
        f'maxlength="60" placeholder="{example}" autocomplete="off"></label><fieldset>'
        f"<legend>{escape(words('talk_kind'))}</legend>"
        f'{kinds}</fieldset><div class="actions"><button type="submit" class="act primary">{escape(words("talk_begin"))}</button>'
        f"{button('close', words('cancel'))}</div></form>"
    )


def found(rows: Sequence[tuple[Exchange, str, str]], total: int, words: Words) -> str:
    """What a search of the talk gave: each exchange with the side that said it and some of its words."""
    if not rows:
        return f'<p class="hint" role="status">{escape(words("search_none"))}</p>'
    items = "".join(
        f'<button type="button" class="hit" data-do="around" data-id="{escape(one.id)}"><time>{escape(words.day(one.at))}</time>'
        f'<span class="{side}">{escape(text)}</span></button>'
        for one, side, text in rows
    )
    return f'<p class="hint" role="status">{escape(words.count("search_n", total))}</p>{items}'


def header(name: str, talk: str, words: Words, *, connected: bool, model: str, picture: str = "") -> str:
    if connected:
        badge = f'<span class="badge online">{escape(words("online", model=model))}</span>'
    else:
        why = escape(words("offline_why"))
        label = escape(words("offline"))
        badge = f'<button type="button" class="badge offline" data-do="settings" title="{why}">{label}</button>'
    search = escape(words("search_talk"))
    return (
        f'<header class="who">{avatar(name, picture)}<div class="names"><h1>{escape(name)}</h1>'
        f'<button type="button" class="which-talk" data-do="talks" aria-expanded="false">{escape(talk)} ▾</button></div>'
        f'<button type="button" class="tool" data-do="find" aria-label="{search}" title="{search}">⌕</button>{badge}</header>'
    )


def problems(texts: Sequence[str], words: Words) -> str:
    """What is wrong with files and models, each in its own words; empty where nothing is."""
    if not texts:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    title = escape(words("problems", n=len(texts)))
    return f'<details class="problems" role="status" open><summary>⚠ {title}</summary><ul>{items}</ul></details>'


def outcome(text: str, *, good: bool | None) -> str:
    """The line under the connection panel; ``good`` None while it is not known yet."""
    kind = {True: "good", False: "bad", None: "pending"}[good]
    return f'<p class="outcome {kind}" role="status">{escape(text)}</p>' if text else ""


def usage(days: Sequence[Mapping[str, Any]], words: Words) -> str:
    """What the models cost on the newest days, as a table."""
    if not days:
        return ""
    head = "".join(f"<th>{escape(words(name))}</th>" for name in USAGE_COLUMNS)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _spent(one, words))}</tr>" for one in days)
    title = escape(words("usage"))
    return f'<details class="usage"><summary>{title}</summary><table><tr>{head}</tr>{rows}</table></details>'


def _spent(one: Mapping[str, Any], words: Words) -> list[str]:
    shares = [f"{one[part] / one[of]:.0%}" if one[of] else "–" for part, of in SHARES]
    return [
        one["day"],
        words(f"usage_{one['use']}"),
        *(str(one[name]) for name in ("calls", "prompt", "reply")),
        *shares,
    ]
