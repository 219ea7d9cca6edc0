"""An exchange as the page draws it: the message, the reply, what can be done with either, and what the reply rests on. Knows no
Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from moechat.turn import Shown
from moechat.web import why
from moechat.web.drawing import macros
from moechat.web.turns import Turn
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


def greeting(face: Face) -> str:
    """What the character says first; "" where it says nothing."""
    return str(macros("talk", face.words).greeting(face)) if face.greeting.strip() else ""


def her_word(face: Face, text: str) -> str:
    """What she says to somebody who comes back, of no record as long as nobody answers."""
    return str(macros("talk", face.words).her_word(face, text))


def exchange(shown: Shown, face: Face, spans: Sequence[Span] = (), branches: Branches | None = None) -> str:
    """One exchange that is not being answered right now."""
    memories = Markup(why.memories(shown.grounds, face.words, spans))
    return str(macros("talk", face.words).exchange(shown, face, spans, memories, branches))


def live(shown: Shown, turn: Turn, face: Face) -> str:
    """The exchange that is being answered right now."""
    return str(macros("talk", face.words).live(shown, face, turn.recollection, turn.reply))
