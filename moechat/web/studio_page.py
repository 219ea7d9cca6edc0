"""The studio as the page shows it: a character with its parts as forms and files, the bin, what was dropped on the page, and a
message that is tried. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from moechat.cards.container import KINDS
from moechat.compat.foreign_talk import form_words
from moechat.errors import MoeChatError
from moechat.house import source_files
from moechat.house.arrivals import Row, Wishes
from moechat.house.studio import UnknownForm
from moechat.model import Lore
from moechat.web import author_room, fault_words
from moechat.web.clicks import Visit
from moechat.web.drawing import macros
from moechat.web.studio_room import GREETING, MORE_KEYS, PARTS, PLAIN_KEYS, Goals, StudioLook, plan, texts_of, tray_of
from moechat.web.tray import GUESTS, DroppedFile
from moechat.web.words import Words

MAX_SHOWN_WHOLE = 30  # More files that were dropped are shown by name.
MAX_PROBLEM_LINES = 5
MAX_NAMED = 3  # Files of a folder that are left out for one reason.


def drawn(here: Visit, look: StudioLook) -> str:
    draw, house, names = macros("studio", here.words), here.house, here.house.characters()
    above = [draw.head(here.name, names, len(house.studio.binned()), look.doing)]
    above += [draw.new_form()] if look.doing == "new" else []
    above += [_bin(here, look)] if look.doing in ("bin", "erase") else []
    above += [_tray(here, look)]
    if here.name not in names:
        return "".join(above)
    inside = {"persona": _persona, "book": _book, "files": _files, "you": _you, "along": _along}[look.part](here, look)
    who = draw.who(here.name, house.gallery.portrait(here.name), look.doing, "" if here.agent else _why_shut(here))
    return "".join((*above, who, draw.bench(PARTS, look.part, inside, _trial(here, look))))


def _bin(here: Visit, look: StudioLook) -> Markup:
    rows = []
    for kept in here.house.studio.binned():
        name, _, time = kept.rpartition("@")
        rows.append((kept, name, f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[9:11]}:{time[11:13]}"))
    return Markup(macros("studio", here.words).bin(rows, look.opened if look.doing == "erase" else ""))


# ---- the character


def _why_shut(here: Visit) -> str:
    """Why the character cannot be opened."""
    try:
        here.house.agent(here.name)
    except (MoeChatError, OSError) as failure:
        return here.words("cannot_open", why=fault_words.said(failure, here.words))
    return ""


def _persona(here: Visit, look: StudioLook) -> Markup:
    texts = texts_of(here.house, here.name, here.words)
    plain = [(key, texts[key], lines) for key, lines in PLAIN_KEYS.items()]
    more = [(key, texts[key], lines) for key, lines in MORE_KEYS.items() if key != "language"]
    greetings = [(key, text) for key, text in texts.items() if key.startswith(GREETING)]
    return Markup(macros("studio", here.words).persona(here.name, plain, greetings, more, texts["language"]))


def _book(here: Visit, look: StudioLook) -> Markup:
    words, agent, book = here.words, here.agent, look.book
    if agent is None:
        return Markup()
    new = author_room.record_form("lore", words) if book.doing == "lore" and not book.opened else Markup()
    records = author_room.listed(agent, "lore", book.search)
    fired = {row["id"]: row for row in agent.fired()} if book.opened else {}
    entries = author_room.entries(
        here, records[: book.count], book.opened, book.doing, _last_fired(fired.get(book.opened), words)
    )
    faults = [fault_words.said(one, words) for one in agent.official.lore.problems]
    return Markup(macros("studio", words).book(book, new, faults, entries, len(records) - book.count))


def _last_fired(row: dict[str, str] | None, words: Words) -> str:
    if row is None:
        return words("fired_never")
    return f"{words('fired_last')} {row['time'][:16].replace('T', ' ')} · {why_fired(row['why'], words)}"


def why_fired(why: str, words: Words) -> str:
    """Why an entry fired, in words."""
    kind, _, what = why.partition(": ")
    name = f"fired_{kind or 'near'}"
    return words(name, what=what) if name in words else why


def _files(here: Visit, look: StudioLook) -> Markup:
    words, folder = here.words, here.house.studio.folder(here.name)
    names = source_files.listed(folder)
    shown = look.file if look.file in names else names[0]
    text, edition = None, ""
    try:
        text = source_files.text(folder, shown)
    except (MoeChatError, OSError) as failure:
        faults: Sequence[MoeChatError | OSError] = [failure]
    else:
        edition, faults = source_files.edition(text), source_files.checked(folder / shown, text)
    remarks = [fault_words.said(one, words) for one in faults]
    return Markup(macros("studio", words).files(names, shown, text, edition, remarks))


def _you(here: Visit, look: StudioLook) -> Markup:
    draw, studio = macros("studio", here.words), here.house.studio
    return Markup(draw.you(here.name, "all", studio.you("")) + draw.you(here.name, "one", studio.you(here.name)))


def _along(here: Visit, look: StudioLook) -> Markup:
    words, agent = here.words, here.agent
    cards = [
        *((kind.upper(), _address(here, kind)) for kind in KINDS),
        (words("along_book"), _address(here, "lorebook")),
    ]
    archives = [(words(f"along_{kind}"), _address(here, kind)) for kind in ("all", "bare", "memory")]
    left = len(agent.store.tree.unread()) if agent else 0
    return Markup(
        macros("studio", words).along(
            cards, archives, _imports(here), look.opened if look.doing == "take-back" else "", left
        )
    )


def _address(here: Visit, kind: str) -> str:
    values = {"character": here.name, "language": here.words.language}
    return f"/page/along/{kind}?{urlencode(values, quote_via=quote)}"


def _imports(here: Visit) -> list[tuple[str, str]] | None:
    """(batch, what it was) of all that was brought to this memory."""
    words, agent = here.words, here.agent
    if agent is None:
        return None
    tree = agent.store.tree
    rows = {
        id_: words(
            "import_talks" if (talks := len(set(map(tree.talk_of, batch.ids)))) > 1 else "import_told",
            talk=batch.talk or words("talk_first"),
            n=len(batch.ids),
            time=batch.at[:10],
            talks=talks,
        )
        for id_, batch in list(tree.batches.items())
        if not tree.is_forgotten(id_)
    }
    rows |= {id_: words.count("n_memories", n) for id_, n in agent.brought.batches().items()}
    return list(rows.items())


def _trial(here: Visit, look: StudioLook) -> Markup:
    if here.agent is None:
        return Markup()
    titles = {one.id: one.keyword for one in author_room.listed(here.agent, "lore", "") if isinstance(one, Lore)}
    hits = look.trial.fired if look.trial else ()
    fired = [(titles.get(hit.id, hit.id), why_fired(hit.why, here.words)) for hit in hits]
    return Markup(macros("studio", here.words).trial(here.name, look.sentence, look.trial, fired))


# ---- what was dropped


def _tray(here: Visit, look: StudioLook) -> Markup:
    files = tray_of(here).in_order()
    if not files:
        return Markup()
    goals = plan(here, look)
    rows = [_dropped(one, here, look, goals if n < MAX_SHOWN_WHOLE else None) for n, one in enumerate(files)]
    return Markup(macros("studio", here.words).tray(rows))


def _dropped(one: DroppedFile, here: Visit, look: StudioLook, goals: Goals | None) -> dict[str, Any]:
    """A file with its picture, what it ``holds`` and where it goes."""
    words = here.words
    faults = [fault_words.said(one.fault, words)] if one.fault else []
    faults += [
        words(f"left_{why}", n=len(names), names=words.row(names[:MAX_NAMED]) + ("…" if len(names) > MAX_NAMED else ""))
        for why, names in one.left.items()
    ]
    row: dict[str, Any] = {
        "file": one, "ticked": one.number not in look.unticked, "faults": faults, "picture": "", "holds": None,
        "forms": form_words().values() if isinstance(one.fault, UnknownForm) else (),
    }  # fmt: skip
    if one.kind is None or goals is None:
        return row
    wishes = goals.wishes[one.number]
    is_new = wishes.character not in here.house.characters()  # Whoever comes along with it knows nothing yet.
    goal = replace(wishes, character=here.name) if is_new else wishes
    try:
        holds = one.preview(here.house, goal if one.kind in GUESTS else Wishes())
    except (MoeChatError, OSError) as failure:
        faults.append(fault_words.said(failure, here.words))
        return row
    if holds.get("has_picture"):
        row["picture"] = f"/page/brought/{one.number}?{urlencode({'tab': tray_of(here).tab})}"
    holds = holds | {"doubled": 0} if is_new else holds
    is_guest = one.kind in GUESTS or holds.get("of") == "memory"
    names = [(name, name) for name in goals.names] if is_guest else None
    speakers = [(name, name) for name in holds.get("named") or ()] or None
    talk = _talk(holds, here.words) if one.kind == "talk" else {}
    return row | {"holds": holds | talk, "wishes": wishes, "names": names, "speakers": speakers}


def _talk(row: Row, words: Words) -> dict[str, object]:
    """The ``lines`` that say what talk holds, and those of the file that are ``unread``."""
    lines = []
    if row["first"]:
        lines.append(words("talk_dates", first=row["first"][:10], last=row["last"][:10]))
        lines.append(f"{words.count('talk_count', row['exchanges'])} · {words.count('n_messages', row['messages'])}")
        if row["talks"] > 1:
            titles = words.row(row["titles"]) + ("…" if row["talks"] > len(row["titles"]) else "")
            lines.append(words("n_talks", n=row["talks"], titles=titles))
        lines.append(words.row([words("speaker", name=name, n=n) for name, n in row["speakers"].items()]))
        lines.append(words("doubled_n", n=row["doubled"]) if row["doubled"] else words("doubled_none"))
    reasons = [f"{_why(reason, words)} × {n}" for reason, n in row["left_out"].items() if n]
    lines += [words("left_out_n", what=words.row(reasons))] if reasons else []
    return {"lines": lines, "unread": [fault_words.said(one, words) for one in row["problems"][:MAX_PROBLEM_LINES]]}


def _why(reason: str, words: Words) -> str:
    return words(f"why_{reason}") if f"why_{reason}" in words else reason
