"""An exchange as the page draws it: the message, the reply, what can be done with either, and what the reply rests on. Knows no
Gradio."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from markupsafe import Markup

from moechat.turn import Shown
from moechat.web.drawing import macros, to_person
from moechat.web.words import Words
from moechat.when import Span


@dataclass(frozen=True)
class Face:
    """Who is on the page: the character's name, greeting and picture, and the page's words. ``held``: nothing of this talk is
    kept. ``is_one_of_several``: each line has a name and no other side. ``speaks``: there is a language model, which can go on
    with a reply."""

    words: Words
    character: str
    greeting: str = ""
    held: bool = False
    picture: str = ""
    is_one_of_several: bool = False
    speaks: bool = False


@dataclass(frozen=True)
class Branches:
    """Where a talk forks: the exchanges that follow one, of which the path takes number ``taken`` (-1: it ends before them)."""

    ids: Sequence[str] = field(default_factory=tuple)
    taken: int = -1


def exchange(shown: Shown, face: Face, spans: Sequence[Span] = (), branches: Branches | None = None) -> str:
    """One exchange that is not being answered right now."""
    came = Markup(memories(shown.grounds, face.words, spans))
    return str(macros("talk", face.words).exchange(shown, face, spans, came, branches))


UNDERSTOOD = ("event", "reflection")
_NAMELESS = re.compile(r"^(?:用户|User)(?=[：:])", re.MULTILINE)  # Who speaks, where the person gave no name.
LABEL_CHARS = 40  # A memory is named by its first characters.
GROUPS = ("context", "diary", "core", "lore")
MAX_DAYS_NAMED = 2
MAX_WORDS_NAMED = 3

Ground = Mapping[str, Any]
Row = Mapping[str, Any]


def memories(grounds: Sequence[Ground], words: Words, spans: Sequence[Span] = ()) -> str:
    """The line, which unfolds to the recalled memories by kind; ``spans`` date the phrases in the sentences."""
    kinds: dict[str, list[Row]] = {kind: [] for kind in GROUPS}
    for ground in grounds:
        kinds.setdefault(_kind(ground), []).append(_row(ground, words, spans))
    groups = [(kind, words(kind) if kind in GROUPS else kind, rows) for kind, rows in kinds.items() if rows]
    return str(macros("why", words).memories(line(grounds, words) if grounds else "", groups))


def line(grounds: Sequence[Ground], words: Words) -> str:
    """想起了 5月19日 和关于你的 2 件事."""
    there = [ground for ground in grounds if not ground.get("gone")]
    kinds = [_kind(ground) for ground in there]
    days = sorted({at.date() for ground in there if _kind(ground) == "diary" and (at := moment(ground.get("time")))})
    parts = [words("brought_days", days=words.row(map(words.near_day, days[-MAX_DAYS_NAMED:])))] if days else []
    for kind in ("core", "lore"):
        if n := kinds.count(kind):
            parts.append(words.count(f"brought_{kind}", n))
    if parts:
        return words("brought", what=words("and").join(parts))
    return words("brought_context" if "context" in kinds else "brought_gone")


def _kind(ground: Ground) -> str:
    return "context" if ground.get("dropped") == "in_context" else str(ground.get("layer"))


def _row(ground: Ground, words: Words, spans: Sequence[Span]) -> Row:
    """What the page shows of a memory."""
    if ground.get("gone"):
        return {"gone": True}
    kind, text = str(ground.get("kind") or ""), str(ground.get("text", ""))
    is_core = ground.get("layer") == "core"
    shown = (
        to_person(text, year=words.year) if is_core or kind in UNDERSTOOD else _NAMELESS.sub(words("value_user"), text)
    )
    return {
        "gone": False, "id": ground.get("id"), "time": moment(ground.get("time")), "dated_by": "learned" if is_core else "",
        "kind": kind if kind in UNDERSTOOD else "", "text": shown, "label": shown[:LABEL_CHARS],
        "reason": reason(ground, words, spans), "score": _score(ground, words),
    }  # fmt: skip


def moment(text: object) -> datetime | None:
    """An ISO time of a ground; None where there is none."""
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None


def reason(ground: Ground, words: Words, spans: Sequence[Span] = ()) -> str:
    """A sentence that says why a memory came to mind."""
    recipe, shared = str(ground.get("recipe", "")), ground.get("words")
    if _kind(ground) == "context":
        return words("because_context")
    if phrase := str(ground.get("span") or ""):
        span = next((one for one in spans if one.phrase == phrase), None)
        return words("because_time", span=f"{phrase} → {words.stretch(span.start, span.end)}" if span else phrase)
    if shared:
        return words("because_words", words=words.listed(shared[:MAX_WORDS_NAMED]))
    name = f"because_{recipe}"
    return words(name if name in words else "because_meaning")


def _score(ground: Ground, words: Words) -> str:
    """For tinkerers: the recipe, the score and its parts, and how many exchanges it rests on."""
    score, sources = ground.get("score"), ground.get("sources")
    parts = [ground.get("recipe", ""), words("score", score=f"{score:.2f}") if score is not None else ""]
    parts += [f"{name} {value}" for name, value in (ground.get("features") or {}).items()]
    if sources and ground.get("id") not in sources:
        parts.append(words.count("rests_on", len(sources)))
    return " · ".join(part for part in parts if part)
