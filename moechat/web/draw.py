"""The page drawn as HTML.

Everything that was said, remembered or written by others is text and is escaped here, at one place; nothing of it is ever
markup. Knows no Gradio.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

from moechat.settings.config import LAYERS
from moechat.turn import Shown
from moechat.web.words import Words
from moechat.when import Span

UNDERSTOOD = ("event", "reflection")
LABEL = 40  # A memory is named by this many of its first characters.
GROUPS = ("context", "diary", "core", "lore")
HUES = (14, 36, 88, 150, 178, 205, 262, 330)  # The colours of avatars go well with warm paper.

_BLOCK = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_STRONG = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*")
_ASIDE = re.compile(r"(?<![*\w])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![*\w])")
_CODE = re.compile(r"`([^`\n]+)`")

Ground = Mapping[str, object]


@dataclass(frozen=True)
class Face:
    """Who is on the page: the character's name and greeting, and the words of the page."""

    words: Words
    character: str
    greeting: str = ""


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def rich(text: str) -> str:
    """A reply: escaped first, then emphasis, asides in asterisks and code, and no other markup."""
    parts = []
    for at, part in enumerate(_BLOCK.split(text)):
        safe = escape(part)
        if at % 2:
            parts.append(f"<pre><code>{safe}</code></pre>")
            continue
        safe = _CODE.sub(r"<code>\1</code>", safe)
        safe = _STRONG.sub(r"<strong>\1</strong>", safe)
        parts.append(_ASIDE.sub(r"<em>\1</em>", safe))
    return "".join(parts)


def avatar(name: str, kind: str = "char") -> str:
    """The first character of a name on a colour of its own; no image is fetched from anywhere."""
    hue = HUES[zlib.crc32(name.encode()) % len(HUES)]
    first = next((sign for sign in name if not sign.isspace()), "·")
    return f'<span class="avatar {kind}" style="--hue:{hue}" aria-hidden="true">{escape(first.upper())}</span>'


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


# ---- the conversation


def conversation(
    shown: Sequence[Shown],
    face: Face,
    spans: Mapping[str, Sequence[Span]] | None = None,
    *,
    after: date | None = None,
    from_the_start: bool = False,
) -> str:
    """Exchanges, oldest first, with a line where a new day begins.

    ``spans`` are the times understood, by exchange id. ``after`` is the day of what stands above, whose line is there
    already.
    """
    parts = [_greeting(face)] if from_the_start and face.greeting.strip() else []
    for day, exchanges in groupby(shown, key=lambda one: one.exchange.at.date()):
        several = list(exchanges)
        if day != after:
            parts.append(_day(several[0].exchange.at, face.words))
        parts += [exchange(one, face, (spans or {}).get(one.exchange.id, ())) for one in several]
    return "".join(parts)


def _day(moment: datetime, words: Words) -> str:
    return f'<div class="day"><time datetime="{moment.date()}">{escape(words.day(moment))}</time></div>'


def _greeting(face: Face) -> str:
    return f'<article class="exchange greeting">{_char_side(face, rich(face.greeting.strip()), "")}</article>'


def exchange(shown: Shown, face: Face, spans: Sequence[Span] = ()) -> str:
    """One exchange: the message, the reply, what went wrong and what the reply rests on."""
    one, words = shown.exchange, face.words
    below = [_status(shown, words)]
    if shown.notice:
        below.append(f'<span class="note">{escape(shown.notice)}</span>')
    if shown.variants > 1:
        below.append(f'<span class="note variant">{escape(words("variant", n=shown.chosen + 1))}</span>')
    below.append(memories(shown.grounds, words, spans))
    reply = _char_side(face, rich(one.char), "".join(below)) if one.char or any(below) else ""
    return (
        f'<article class="exchange {escape(one.status)}" data-id="{escape(one.id)}">'
        f"{_user_side(face, one.user, one.at, spans)}{reply}</article>"
    )


def live(
    text: str,
    reply: str,
    face: Face,
    at: datetime,
    *,
    after: date | None = None,
    spans: Sequence[Span] = (),
    recalled: int = 0,
) -> str:
    """The exchange that is being answered right now; ``recalled`` is how many memories its reply rests on."""
    words = face.words
    waiting = words("thinking_of", n=recalled) if recalled else words("thinking")
    body = rich(reply) + '<span class="caret" aria-hidden="true"></span>' if reply else ""
    below = "" if reply else f'<span class="note thinking">{escape(waiting)}</span>'
    day = _day(at, words) if at.date() != after else ""
    return (
        f'{day}<article class="exchange streaming" aria-busy="true">'
        f"{_user_side(face, text, at, spans)}{_char_side(face, body, below)}</article>"
    )


def _user_side(face: Face, text: str, at: datetime, spans: Sequence[Span]) -> str:
    if not text:  # a day file may hold a reply to nothing
        return ""
    time = f'<time class="at">{at:%H:%M}</time>'
    who = escape(face.words("you_said"))
    return (
        f'<div class="side user"><div class="said"><div class="bubble" role="group" aria-label="{who}">{escape(text)}</div>'
        f'<div class="below">{understood(spans, face.words)}{time}</div></div></div>'
    )


def _char_side(face: Face, body: str, below: str) -> str:
    who = escape(face.words("said_by", name=face.character))
    bubble = f'<div class="bubble" role="group" aria-label="{who}">{body}</div>' if body else ""
    return (
        f'<div class="side char">{avatar(face.character)}<div class="said">{bubble}'
        f'<div class="below">{below}</div></div></div>'
    )


def _status(shown: Shown, words: Words) -> str:
    status = shown.exchange.status
    if status == "failed":
        text = words("failed") + (f" · {shown.error}" if shown.error else "")
        return f'<span class="note failed" role="alert">⚠ {escape(text)}</span>'
    if status == "stopped":
        text = words("stopped") + (f" · {shown.error}" if shown.error else "")
        return f'<span class="note stopped">■ {escape(text)}</span>'
    if status == "streaming":
        return f'<span class="note">{escape(words("unfinished"))}</span>'
    return ""


def understood(spans: Sequence[Span], words: Words) -> str:
    """昨天 → 2025-05-20 周二: the time that was understood, under the message."""
    if not spans:
        return ""
    text = "; ".join(span_in_words(span, words) for span in spans)
    return f'<span class="note span">{escape(words("understood", spans=text))}</span>'


def span_in_words(span: Span, words: Words) -> str:
    return f"{span.phrase} → {words.stretch(span.start, span.end)}"


# ---- what a reply rests on


def memories(grounds: Sequence[Ground], words: Words, spans: Sequence[Span] = ()) -> str:
    """The recalled memories to unfold, by kind, each with its reason; ``spans`` date the phrases in the reasons."""
    if not grounds:
        return ""
    kinds: dict[str, list[Ground]] = {kind: [] for kind in GROUPS}
    for ground in grounds:
        kind = "context" if ground.get("dropped") == "in_context" else str(ground.get("layer"))
        kinds.setdefault(kind, []).append(ground)
    groups = "".join(_group(kind, several, words, spans) for kind, several in kinds.items() if several)
    title = escape(words("memories", n=len(grounds)))
    return f'<details class="memories"><summary>{title}</summary><div class="groups">{groups}</div></details>'


def _group(kind: str, grounds: Sequence[Ground], words: Words, spans: Sequence[Span]) -> str:
    items = "".join(_memory(ground, words, spans) for ground in grounds)
    name = words(kind) if kind in GROUPS else kind
    return f'<section class="kind {escape(kind)}"><h4>{escape(name)}</h4><ul>{items}</ul></section>'


def _memory(ground: Ground, words: Words, spans: Sequence[Span]) -> str:
    if ground.get("gone"):
        return f'<li><div class="text gone">{escape(words("no_longer_there"))}</div></li>'
    time = moment(ground.get("time"))
    date_text = f"{dated(time, words, 'learned' if ground.get('layer') == 'core' else '')} " if time else ""
    why, kind, id_ = " · ".join(reasons(ground, words, spans)), str(ground.get("kind") or ""), ground.get("id")
    label = escape(words("look_at_it", text=str(ground.get("text", ""))[:LABEL]))
    look = (
        f'<button type="button" class="look" data-memory="{escape(id_)}" aria-label="{label}">'
        f"{escape(words('look_at'))}</button>"
    )
    features = ground.get("features")
    parts = ", ".join(f"{name} {value}" for name, value in features.items()) if isinstance(features, Mapping) else ""
    return (
        f'<li><div class="text">{tag(kind, words) if kind in UNDERSTOOD else ""}{escape(ground.get("text", ""))}</div>'
        f'<div class="why" title="{escape(parts)}">{date_text}{escape(why)}{look if id_ else ""}</div></li>'
    )


def reasons(ground: Ground, words: Words, spans: Sequence[Span] = ()) -> list[str]:
    """Why a memory was recalled, in words: the recipe, the time asked for, words in common, the score."""
    recipe = str(ground.get("recipe", ""))
    parts = [words({"lore": "found_lore"}.get(recipe, recipe)) if recipe in LAYERS else recipe]
    if phrase := str(ground.get("span") or ""):
        dated = next((span_in_words(span, words) for span in spans if span.phrase == phrase), phrase)
        parts.append(words("span", span=dated))
    matched = ground.get("words")
    if isinstance(matched, Sequence) and not isinstance(matched, str) and matched:
        parts.append(words("words", words="、".join(str(word) for word in matched)))
    score = ground.get("score")
    if isinstance(score, int | float) and recipe != "by_time":  # by time, everything in the span counts alike
        parts.append(words("score", score=f"{score:.2f}"))
    parts.append(_rests_on(ground, words))
    return [part for part in parts if part]


def _rests_on(ground: Ground, words: Words) -> str:
    """An event or a reflection stands for itself, beside the exchanges that it was understood from."""
    sources = ground.get("sources")
    several = isinstance(sources, Sequence) and not isinstance(sources, str) and ground.get("layer") == "diary"
    if not several or not sources or ground.get("id") in sources:  # type: ignore[operator]
        return ""
    n = len(sources)  # type: ignore[arg-type]
    return words("rests_on", n=n) if n > 1 else words("rests_on_one")


def moment(text: object) -> datetime | None:
    """An ISO time of a ground; None where there is none."""
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


# ---- around the conversation


def brand(words: Words) -> str:
    name, tagline = escape(words("title")), escape(words("tagline"))
    data = f'data-language="{words.language}" data-talk="{escape(words("conversation"))}"'
    return f'<div class="brand" {data}><strong>{name}</strong><span>{tagline}</span></div>'


def notice(text: str) -> str:
    return f'<p class="notice" role="alert">⚠ {escape(text)}</p>'


def characters(names: Sequence[str], chosen: str, words: Words) -> str:
    """The list at the side. A click reports the ``data-name`` of its button."""
    if not names:
        return f'<p class="empty">{escape(words("no_characters"))}</p>'
    items = "".join(
        f'<button type="button" class="character" data-name="{escape(name)}" aria-pressed="{str(name == chosen).lower()}">'
        f'{avatar(name)}<span class="name">{escape(name)}</span></button>'
        for name in names
    )
    return f'<nav class="characters" aria-label="{escape(words("characters"))}">{items}</nav>'


def header(name: str, words: Words, *, connected: bool, model: str) -> str:
    if connected:
        badge = f'<span class="badge online">{escape(words("online", model=model))}</span>'
    else:
        why = escape(words("offline_why"))
        label = escape(words("offline"))
        badge = f'<button type="button" class="badge offline" data-opens="connection" title="{why}">{label}</button>'
    return f'<header class="who">{avatar(name)}<h1>{escape(name)}</h1>{badge}</header>'


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
