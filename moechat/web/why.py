"""Why a reply is as it is: one quiet line in words, the memories that came to mind with a sentence each, and, for tinkerers, the
turn as it went. Knows no Gradio.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from moechat.model import Hit, Recollection
from moechat.turn import TurnTrace
from moechat.web import markdown
from moechat.web.draw import button, dated, escape, moment, tag, to_person
from moechat.web.words import Words
from moechat.when import Span

UNDERSTOOD = ("event", "reflection")
_NAMELESS = re.compile(r"^(?:用户|User)(?=[：:])", re.MULTILINE)  # Who speaks, where the person gave no name.
LABEL = 40  # A memory is named by this many of its first characters.
GROUPS = ("context", "diary", "core", "lore")
DAYS = 2  # The line names so many days.
WORDS = 3  # A sentence names so many words.

Ground = Mapping[str, object]


def thoughts(text: str, words: Words) -> str:
    """What the model thought before it spoke, to unfold."""
    if not text:
        return ""
    return (
        f'<details class="memories thoughts"><summary>{escape(words("thoughts"))}</summary>'
        f'<div class="groups words">{markdown.html(text)}</div></details>'
    )


def memories(grounds: Sequence[Ground], words: Words, spans: Sequence[Span] = ()) -> str:
    """The line, which unfolds to the recalled memories by kind; ``spans`` date the phrases in the sentences."""
    trace = button("trace", words("how_it_went"), kind="tinker")
    if not grounds:
        return f'<p class="memories tinker">{escape(words("brought_nothing"))} {trace}</p>'
    kinds: dict[str, list[Ground]] = {kind: [] for kind in GROUPS}
    for ground in grounds:
        kinds.setdefault(_kind(ground), []).append(ground)
    groups = "".join(_group(kind, several, words, spans) for kind, several in kinds.items() if several)
    return (
        f'<details class="memories"><summary>{escape(line(grounds, words))}</summary>'
        f'<div class="groups">{groups}{trace}</div></details>'
    )


def line(grounds: Sequence[Ground], words: Words) -> str:
    """想起了 5月19日 和关于你的 2 件事."""
    there = [ground for ground in grounds if not ground.get("gone")]
    kinds = [_kind(ground) for ground in there]
    days = sorted({at.date() for ground in there if _kind(ground) == "diary" and (at := moment(ground.get("time")))})
    parts = [words("brought_days", days="、".join(map(words.short_day, days[-DAYS:])))] if days else []
    for kind in ("core", "lore"):
        if n := kinds.count(kind):
            parts.append(words.count(f"brought_{kind}", n))
    if parts:
        return words("brought", what=words("and").join(parts))
    return words("brought_context" if "context" in kinds else "brought_gone")


def _kind(ground: Ground) -> str:
    return "context" if ground.get("dropped") == "in_context" else str(ground.get("layer"))


def _group(kind: str, grounds: Sequence[Ground], words: Words, spans: Sequence[Span]) -> str:
    items = "".join(_memory(ground, words, spans) for ground in grounds)
    name = words(kind) if kind in GROUPS else kind
    return f'<section class="kind {escape(kind)}"><h2>{escape(name)}</h2><ul>{items}</ul></section>'


def _memory(ground: Ground, words: Words, spans: Sequence[Span]) -> str:
    if ground.get("gone"):
        return f'<li><div class="text gone">{escape(words("no_longer_there"))}</div></li>'
    time = moment(ground.get("time"))
    date_text = f"{dated(time, words, 'learned' if ground.get('layer') == 'core' else '')} · " if time else ""
    kind, id_ = str(ground.get("kind") or ""), ground.get("id")
    text = str(ground.get("text", ""))
    is_told = kind in UNDERSTOOD or ground.get("layer") == "core"
    text = to_person(text) if is_told else _NAMELESS.sub(words("value_user"), text)
    label = escape(words("look_at_it", text=text[:LABEL]))
    look = (
        f'<button type="button" class="look" data-memory="{escape(id_)}" aria-label="{label}">'
        f"{escape(words('look_at'))}</button>"
    )
    return (
        f'<li><div class="text">{tag(kind, words) if kind in UNDERSTOOD else ""}{escape(text)}</div>'
        f'<div class="why">{date_text}{escape(reason(ground, words, spans))}{look if id_ else ""}{_score(ground, words)}</div>'
        "</li>"
    )


def reason(ground: Ground, words: Words, spans: Sequence[Span] = ()) -> str:
    """A sentence that says why a memory came to mind."""
    recipe, shared = str(ground.get("recipe", "")), ground.get("words")
    if _kind(ground) == "context":
        return words("because_context")
    if phrase := str(ground.get("span") or ""):
        dated_phrase = next((span_in_words(span, words) for span in spans if span.phrase == phrase), phrase)
        return words("because_time", span=dated_phrase)
    if isinstance(shared, Sequence) and not isinstance(shared, str) and shared:
        return words("because_words", words=words.listed([str(word) for word in shared[:WORDS]]))
    name = f"because_{recipe}"
    return words(name if name in words else "because_meaning")


def _score(ground: Ground, words: Words) -> str:
    """For tinkerers: the recipe, the score and its parts, and how many exchanges it rests on."""
    features, score, sources = ground.get("features"), ground.get("score"), ground.get("sources")
    parts = [str(ground.get("recipe", ""))]
    if isinstance(score, int | float):
        parts.append(words("score", score=f"{score:.2f}"))
    parts += [f"{name} {value}" for name, value in features.items()] if isinstance(features, Mapping) else []
    if (
        isinstance(sources, Sequence)
        and not isinstance(sources, str)
        and len(sources)
        and ground.get("id") not in sources
    ):
        parts.append(words.count("rests_on", len(sources)))
    return f'<span class="tinker"> · {escape(" · ".join(part for part in parts if part))}</span>'


def span_in_words(span: Span, words: Words) -> str:
    return f"{span.phrase} → {words.stretch(span.start, span.end)}"


# ---- for tinkerers


def trace(turn: TurnTrace | None, words: Words) -> str:
    """A turn as it went: what was dropped and why, the tokens, the exact prompt."""
    if turn is None:
        return f'<p class="hint">{escape(words("trace_gone"))}</p>'
    cost = turn.cost
    tokens = words("trace_tokens", prompt=cost.prompt, reply=cost.reply) if cost else ""
    silent = f"<p>{escape(words('brought_nothing'))}</p>" if turn.recollection.is_silent else ""
    prompt = "".join(f"<dt>{escape(one.role)}</dt><dd>{escape(one.content)}</dd>" for one in turn.messages)
    return (
        f'<div class="trace">{silent}<p>{escape(tokens)}</p>{left_out(turn.recollection, words)}'
        f"<h2>{escape(words('trace_prompt'))}</h2><dl>{prompt}</dl></div>"
    )


def scored(hit: Hit) -> str:
    """A hit with its recipe, score and the parts of it."""
    parts = "".join(f" · {escape(name)} {value:.2f}" for name, value in hit.features.items())
    return f"{escape(hit.recipe)} {hit.score:.2f}{parts} · {escape(hit.text[:200])}"


def left_out(recollection: Recollection, words: Words) -> str:
    """What came to mind and did not enter the prompt, with the reasons."""
    drops = "".join(f"<li>{escape(one.why)} · {scored(one.hit)}</li>" for one in recollection.dropped)
    return f"<h2>{escape(words('trace_dropped'))}</h2><ul>{drops or '–'}</ul>"
