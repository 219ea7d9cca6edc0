"""What was dropped on the page, as it is shown before anything is written. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from moechat.errors import MoeChatError
from moechat.house.coming import Row, Wishes
from moechat.web import fault_words
from moechat.web.draw import button, escape
from moechat.web.memory_page import choice, field
from moechat.web.studio_room import Goals, StudioLook, StudioVisit, plan
from moechat.web.tray import GUESTS, DroppedFile
from moechat.web.words import Words

SHOWN = 30  # So many files are shown whole, the others by name.
PROBLEMS = 5  # So many lines that cannot be read are shown.
NAMED = ("lines", "csv", "text")  # In talk of these kinds the speakers are names, and one of them is the user.


def drawn(here: StudioVisit, look: StudioLook) -> str:
    files = here.tray.in_order()
    if not files:
        return ""
    words = here.words
    goals = plan(here, look)
    items = "".join(_file(one, here, look, goals if n < SHOWN else None) for n, one in enumerate(files))
    good = [one for one in files if one.kind is not None]
    acts = _submit("talk", words("take_and_talk"), "primary") + _submit("take", words("take"), "") if good else ""
    acts += button("away", words("away_all"), kind="quiet")
    return (
        f'<section class="card tray" aria-label="{escape(words("brought_n", n=len(files)))}">'
        f'<h2>{escape(words("brought_n", n=len(files)))}</h2><p class="hint">{escape(words("brought_told"))}</p>'
        f'<form class="form" data-do="take" data-form="tray">{items}<div class="actions">{acts}</div></form></section>'
    )


def _submit(value: str, label: str, kind: str) -> str:
    return f'<button type="submit" class="act {kind}" name="act" value="{value}">{escape(label)}</button>'


def _file(one: DroppedFile, here: StudioVisit, look: StudioLook, goals: Goals | None) -> str:
    words = here.words
    tick = ""
    picture = inside = ""
    if one.kind is not None:
        label = escape(words("choose_it", text=one.name))
        checked = "" if one.number in look.unticked else " checked"
        tick = f'<input type="hidden" name="file-{one.number}" value=""><input type="checkbox" name="chosen" '
        tick += f'value="{one.number}"{checked} aria-label="{label}">'
        if goals is not None:
            picture, inside = _preview(one, here, goals)
    fault = f'<p class="wrong">{escape(fault_words.said(one.fault, words))}</p>' if one.fault else ""
    kind = words(f"kind_of_{one.kind or 'none'}")
    label = escape(words("put_away"))
    away = (
        f'<button type="button" class="act quiet" data-do="away" data-id="{one.number}" aria-label="{label}" title="{label}">'
        "×</button>"
    )
    head = f'<span class="tag lore">{escape(kind)}</span>'
    return (
        f'<div class="brought-file">{tick}{picture}<div class="what"><div class="line">{head}'
        f'<b class="file-name">{escape(one.name)}</b>{away}</div>{fault}{inside}</div></div>'
    )


def _preview(one: DroppedFile, here: StudioVisit, goals: Goals) -> tuple[str, str]:
    """(its picture, what it holds and where it goes)."""
    words, wishes, names = here.words, goals.wishes[one.number], here.house.characters()
    is_new = wishes.character not in names  # Whoever comes along with it knows nothing yet.
    goal = replace(wishes, character=here.name) if is_new else wishes
    try:
        row = one.preview(here.house, goal if one.kind in GUESTS else Wishes())
    except (MoeChatError, OSError) as failure:
        return "", f'<p class="wrong">{escape(fault_words.said(failure, words))}</p>'
    draw_row = {"card": _card, "lorebook": _lorebook, "talk": _talk, "memories": _memories, "archive": _archive}[
        str(one.kind)
    ]
    picture = ""
    if row.get("has_picture"):
        address = f"/page/brought/{one.number}?{urlencode({'tab': here.tray.tab})}"
        picture = f'<img class="brought-picture" src="{escape(address)}" alt="" loading="lazy" decoding="async">'
    row = row | {"doubled": 0} if is_new else row
    return picture, draw_row(row, words) + _goal(one, row, wishes, goals.names, words)


def _card(row: Row, words: Words) -> str:
    parts = [f"<h3>{escape(row['name'])}</h3>"]
    if row["greeting"]:
        parts.append(f'<blockquote class="was-said">{escape(row["greeting"])}</blockquote>')
    counts = [words.count("more_greetings", row["greetings"])] if row["greetings"] else []
    if row["entries"]:
        counts.append(_entries(row, row["titles"], words))
    counts += [words.row(row["tags"])] if row["tags"] else []
    parts += [f"<p>{escape(text)}</p>" for text in counts]
    if row["creator_notes"]:
        parts.append(f"<p><b>{escape(words('creator_says'))}</b> {escape(row['creator_notes'])}</p>")
    return "".join(parts) + _unheeded(row, words)


def _entries(row: Row, first: Sequence[str], words: Words) -> str:
    names = words.row(first) + ("…" if row["entries"] > len(first) else "")
    return words("at", place=words.count("n_entries", row["entries"]), what=names)


def _lorebook(row: Row, words: Words) -> str:
    return f"<p>{escape(_entries(row, row['first'], words))}</p>{_unheeded(row, words)}"


def _unheeded(row: Row, words: Words) -> str:
    if not row["unheeded"]:
        return f'<p class="hint">{escape(words("all_heeded"))}</p>'
    names = " ".join(
        f"<code>{escape(name)}</code>{f' × {count}' if count > 1 else ''}" for name, count in row["unheeded"].items()
    )
    return f'<p class="hint">{escape(words("unheeded"))}: {names}</p>'


def _talk(row: Row, words: Words) -> str:
    parts = []
    if row["first"]:
        parts.append(words("talk_dates", first=row["first"][:10], last=row["last"][:10]))
        parts.append(words.count("talk_count", row["exchanges"]))
        speakers = [words("speaker", name=name, n=n) for name, n in row["speakers"].items()]
        parts.append(words.row(speakers))
        parts.append(words("doubled_n", n=row["doubled"]) if row["doubled"] else words("doubled_none"))
    reasons = [f"{_why(reason, words)} × {n}" for reason, n in row["left_out"].items() if n]
    parts += [words("left_out_n", what=words.row(reasons))] if reasons else []
    problems = row["problems"]
    lines = "".join(f"<li>{escape(fault_words.said(one, words))}</li>" for one in problems[:PROBLEMS])
    wrong = f'<p class="wrong">{escape(words("unreadable", n=len(problems)))}</p><ul class="hint">{lines}</ul>'
    return "".join(f"<p>{escape(part)}</p>" for part in parts) + (wrong if problems else "")


def _why(reason: str, words: Words) -> str:
    return words(f"why_{reason}") if f"why_{reason}" in words else reason


def _memories(row: Row, words: Words) -> str:
    doubled = words("doubled_n", n=row["doubled"]) if row["doubled"] else words("doubled_none")
    first = "".join(f"<li>{escape(text)}</li>" for text in row["first"])
    count = words.count("n_memories", row["memories"])
    return f'<p>{escape(count)} · {escape(doubled)}</p><ul class="brought">{first}</ul>'


def _archive(row: Row, words: Words) -> str:
    parts = [words(f"archive_of_{row['of']}"), words("with_memory" if row["memory"] else "without_memory")]
    parts.append(words("archive_files", n=row["files"], made=row["made"][:16].replace("T", " ")))
    return f"<h3>{escape(row['name'])}</h3><p>{escape(' · '.join(parts))}</p>"


def _goal(one: DroppedFile, row: Row, wishes: Wishes, names: Sequence[str], words: Words) -> str:
    """Where it goes: under which name, or to whom; and which speaker of a talk is the user."""
    if one.kind not in GUESTS and row.get("of") != "memory":
        return field(f"name-{one.number}", words("name_here"), wishes.character)
    parts = choice(f"to-{one.number}", words("goes_to"), [(name, name) for name in names], wishes.character)
    if row.get("form") in NAMED and (wishes.me or len(one.speakers) > 2 or row["problems"]):
        whose = [("", words("me_auto")), *((name, name) for name in one.speakers)]
        parts += choice(f"me-{one.number}", words("which_me"), whose, wishes.me)
    return f'<div class="goal">{parts}</div>'
