"""An exchange as the page draws it: the message, the reply, what can be done with either, and what the reply rests on. Knows no
Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from moechat.turn import Shown
from moechat.web import markdown, why
from moechat.web.draw import avatar, button, escape
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
    if not face.greeting.strip():
        return ""
    side = _char_side(face, markdown.html(face.greeting.strip()), "")
    return f'<article class="exchange greeting">{side}</article>'


def exchange(shown: Shown, face: Face, spans: Sequence[Span] = (), branches: Branches | None = None) -> str:
    """One exchange that is not being answered right now."""
    one, words = shown.exchange, face.words
    below = [_status(shown, words), _notice(shown), _replies(shown, words), why.thoughts(shown.thoughts, words)]
    below += [why.memories(shown.grounds, words, spans), _acts_on_reply(shown, words)]
    reply = _char_side(face, markdown.html(one.char) if one.char else "", "".join(below))
    fork = _fork(branches, words) if branches else ""
    return _article(shown, face, spans, one.status, reply + fork)


def live(shown: Shown, turn: Turn, face: Face) -> str:
    """The exchange that is being answered right now."""
    words, recalled = face.words, len(turn.recollection.hits)
    body = markdown.html(turn.reply) if turn.reply else ""
    waiting = words.count("thinking_of", recalled) if recalled else words("thinking")
    below = "" if body else f'<span class="note thinking">{escape(waiting)}</span>'
    return _article(shown, face, turn.recollection.spans, "streaming", _char_side(face, body, below))


def _article(shown: Shown, face: Face, spans: Sequence[Span], status: str, rest: str) -> str:
    one = shown.exchange
    busy = ' aria-busy="true"' if status == "streaming" else ""
    return (
        f'<article class="exchange {escape(status)}" data-id="{escape(one.id)}" data-day="{one.at.date()}" '
        f'data-day-words="{escape(face.words.day(one.at))}" tabindex="-1"{busy}>{_user_side(shown, face, spans)}{rest}</article>'
    )


def _user_side(shown: Shown, face: Face, spans: Sequence[Span]) -> str:
    one, words = shown.exchange, face.words
    if not one.user:  # a day file may hold a reply to nothing
        return ""
    acts = button("edit", words("edit_mine"), kind="quiet", side="user") + _copy("user", words)
    acts += "" if face.held else button("remember", words("remember"), kind="quiet")
    return (
        f'<div class="side user"><div class="said"><div class="bubble" role="group" aria-label="{escape(words("you_said"))}">'
        f'{escape(one.user)}</div><div class="below">{understood(spans, words)}{_acts(acts, words("with_message"))}'
        f'<time class="at">{one.at:%H:%M}</time></div></div></div>'
    )


def _char_side(face: Face, body: str, below: str) -> str:
    who = escape(face.words("said_by", name=face.character))
    bubble = f'<div class="bubble words" role="group" aria-label="{who}">{body}</div>' if body else ""
    return (
        f'<div class="side char">{avatar(face.character, face.picture)}<div class="said">{bubble}'
        f'<div class="below">{below}</div></div></div>'
    )


# ---- what can be done


def _acts(buttons: str, label: str) -> str:
    return f'<span class="acts" role="group" aria-label="{escape(label)}">{buttons}</span>'


def _copy(side: str, words: Words) -> str:
    return button("copy", words("copy"), kind="quiet", side=side)


def _acts_on_reply(shown: Shown, words: Words) -> str:
    failed = shown.exchange.status == "failed"
    acts = button("again", words("try_again" if failed else "again"), kind="quiet again")
    if shown.exchange.char:
        acts += button("edit", words("edit_theirs"), kind="quiet", side="char") + _copy("char", words)
    acts += button("branch", words("branch"), kind="quiet") + button(
        "delete", words("delete_from"), kind="quiet danger"
    )
    return _acts(acts, words("with_reply"))


def _replies(shown: Shown, words: Words) -> str:
    """‹ 1/3 › where there are several replies."""
    if shown.variants < 2:
        return ""
    return _flip("choose", shown.chosen, shown.variants, words("replies"), words)


def _fork(branches: Branches, words: Words) -> str:
    """Where several branches go on from here: which one the path takes, and the way to the others."""
    if branches.taken < 0:
        backs = "".join(button("branch-to", words("back_to_branch", n=n + 1), id=id_)
                        for n, id_ in enumerate(branches.ids))  # fmt: skip
        return f'<div class="fork"><span class="note">{escape(words("branched"))}</span>{backs}</div>'
    ids = " ".join(branches.ids)
    flip = _flip("flip-branch", branches.taken, len(branches.ids), words("branches"), words)
    return f'<div class="fork" data-ids="{escape(ids)}">{flip}</div>'


def _flip(do: str, at: int, count: int, label: str, words: Words) -> str:
    def way(sign: str, name: str, to: int) -> str:
        off = "" if 0 <= to < count else " disabled"
        title = escape(words(name))
        label = f'aria-label="{title}" title="{title}"{off}'
        return f'<button type="button" data-do="{do}" data-variant="{to}" {label}>{sign}</button>'

    return (
        f'<span class="flip" role="group" aria-label="{escape(label)}">{way("‹", "flip_back", at - 1)}'
        f'<span class="variant">{at + 1}/{count}</span>{way("›", "flip_on", at + 1)}</span>'
    )


# ---- what became of it


def _notice(shown: Shown) -> str:
    return f'<span class="note">{escape(shown.notice)}</span>' if shown.notice else ""


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
    """昨天 → 5月20日: the time that was understood, on demand."""
    if not spans:
        return ""
    text = "; ".join(why.span_in_words(span, words) for span in spans)
    return f'<details class="note span"><summary>{escape(words("understood"))}</summary>{escape(text)}</details>'
