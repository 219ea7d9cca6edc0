"""An exchange as the page draws it: the message, the reply, what can be done with either, and what the reply rests on. Knows no
Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from moechat.turn import Shown
from moechat.web import markdown, why
from moechat.web.drawing import macros
from moechat.web.turns import Turn
from moechat.web.words import Words
from moechat.when import Span


@dataclass(frozen=True)
class Face:
    """Who is on the page: the character's name, greeting and picture, and the page's words. ``held``: nothing of this talk is
    kept."""

    words: Words
    character: str
    greeting: str = ""
    held: bool = False
    picture: str = ""


@dataclass(frozen=True)
class Branches:
    """Where a talk forks: the exchanges that follow one, of which the path takes number ``taken`` (-1: it ends before them)."""

    ids: Sequence[str] = field(default_factory=tuple)
    taken: int = -1


def greeting(face: Face) -> str:
    """What the character says first; "" where it says nothing."""
    return str(macros("talk", face.words).greeting(face)) if face.greeting.strip() else ""


def exchange(shown: Shown, face: Face, spans: Sequence[Span] = (), branches: Branches | None = None) -> str:
    """One exchange that is not being answered right now."""
    draw = macros("talk", face.words)
    below = draw.below(shown, Markup(why.memories(shown.grounds, face.words, spans)))
    fork = draw.fork(branches) if branches else ""
    return _article(shown, face, spans, shown.exchange.status, shown.exchange.char, below, fork)


def live(shown: Shown, turn: Turn, face: Face) -> str:
    """The exchange that is being answered right now."""
    recollection = turn.recollection
    below = "" if turn.reply else macros("talk", face.words).waiting(len(recollection.hits))
    return _article(shown, face, recollection.spans, "streaming", turn.reply, below)


def _article(
    shown: Shown, face: Face, spans: Sequence[Span], status: str, reply: str, below: str, fork: str = ""
) -> str:
    texts = [why.span_in_words(span, face.words) for span in spans]
    body = Markup(markdown.html(reply)) if reply else ""
    return str(macros("talk", face.words).article(shown, face, texts, status, body, below, fork))
