"""The studio as the page shows it: a character with its parts as forms and files, the bin, and a message that is tried. Knows no
Gradio.

Every text of a character is escaped here; nothing of it is ever markup.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from moechat.errors import MoeChatError
from moechat.house import source_files
from moechat.house.trial import Trial
from moechat.model import Lore
from moechat.web import author_room, draw, fault_words, memory_page, memory_room, tray_page
from moechat.web.draw import avatar, button, escape
from moechat.web.memory_page import choice, field, form, question
from moechat.web.studio_room import GREETING, MORE_KEYS, PARTS, PLAIN_KEYS, StudioLook, StudioVisit, texts_of
from moechat.web.words import Words

REFRESH_S = 3  # While what was brought is understood, the room is drawn so often.
CARDS = ("png", "json", "charx")


def drawn(here: StudioVisit, look: StudioLook) -> str:
    words = here.words
    above = _head(here, look) + (_new(words) if look.doing == "new" else "") + _bin(here, look)
    above += tray_page.drawn(here, look)
    if here.name not in here.house.characters():
        return above
    parts = "".join(
        f'<button type="button" class="chip" data-do="part" data-value="{part}" aria-pressed="{str(part == look.part).lower()}">'
        f"{escape(words(f'part_{part}'))}</button>"
        for part in PARTS
    )
    chips = f'<div class="chips" role="group" aria-label="{escape(words("parts"))}">{parts}</div>'
    inside = {"persona": _persona, "book": _book, "files": _files, "you": _you, "along": _along}[look.part](here, look)
    left = f'<div class="made-of">{chips}{inside}</div>'
    return f'{above}{_who(here, look)}<div class="bench">{left}{_trial(here, look)}</div>'


def _head(here: StudioVisit, look: StudioLook) -> str:
    words, studio = here.words, here.house.studio
    shelf = "".join(
        f'<button type="button" class="chip" data-name="{escape(name)}" aria-pressed="{str(name == here.name).lower()}">'
        f"{escape(name)}</button>"
        for name in here.house.characters()
    )
    picks = "".join(
        f'<button type="button" class="act" data-pick="{pick}">{escape(words(name))}</button>'
        for pick, name in (("files", "bring"), ("folder", "bring_folder"))
    )
    kept = studio.binned()
    bin_ = button("bin", words("bin", n=len(kept)), pressed=str(look.doing == "bin").lower()) if kept else ""
    return (
        f'<header class="room-head"><div class="chips shelf" role="group" aria-label="{escape(words("shelf"))}">{shelf}</div>'
        f'<div class="line write">{button("new-character", words("new_character"), kind="primary")}{picks}{bin_}</div>'
        f'<p class="hint">{escape(words("drop_told"))}</p></header>'
    )


def _new(words: Words) -> str:
    fields = field("name", words("name"), first=True) + "".join(
        field(key, words(f"key_{key}"), rows=lines) for key, lines in (("persona", 4), ("greeting", 2))
    )
    return f'<section class="card">{form("create", "new character", fields, words)}</section>'


def _bin(here: StudioVisit, look: StudioLook) -> str:
    if look.doing not in ("bin", "erase"):
        return ""
    words, items = here.words, []
    for kept in here.house.studio.binned():
        name, _, time = kept.rpartition("@")
        acts = button("bring-back", words("bring_back"), kind="primary", id=kept)
        acts += button("erase", words("erase"), kind="danger", id=kept)
        if (look.doing, look.opened) == ("erase", kept):
            sure = button("erase-now", words("erase_yes"), kind="danger strong", id=kept)
            acts = question(words("erase_ask", name=name), sure, words)
        day = f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[9:11]}:{time[11:13]}"
        items.append(f'<li><b>{escape(name)}</b> <span class="hint">{day}</span><div class="actions">{acts}</div></li>')
    inside = "".join(items) or f'<li class="hint">{escape(words("bin_empty"))}</li>'
    return f'<section class="card"><ul class="kept">{inside}</ul></section>'


# ---- the character


def _who(here: StudioVisit, look: StudioLook) -> str:
    """Its name, and what can be done with it as a whole."""
    words, name = here.words, here.name
    acts = f'<button type="button" class="act primary" data-talk="{escape(name)}">{escape(words("talk_with"))}</button>'
    acts += button("name-new", words("rename_it")) + button("copy", words("duplicate"))
    acts += f'<button type="button" class="act" data-pick="picture">{escape(words("picture"))}</button>'
    acts += button("delete", words("delete_it"), kind="danger")
    below = ""
    if look.doing in ("rename", "duplicate"):
        title = words("name")
        below = form(look.doing, f"{look.doing} {name}", field("name", title, name, first=True), words)
    elif look.doing == "delete":
        sure = button("delete-now", words("bin_yes"), kind="danger strong")
        below = question(words("bin_ask", name=name), sure, words)
    portrait = here.house.gallery.portrait(name)
    folder = f" <small>{escape(name)}</small>" if portrait.name != name else ""
    fault = f'<p class="wrong">{escape(_why_shut(here))}</p>' if here.agent is None else ""
    return (
        f'<section class="card who-is"><div class="line">{avatar(portrait.name, draw.picture_of(portrait))}'
        f'<h2>{escape(portrait.name)}{folder}</h2><div class="actions">{acts}</div></div>{fault}{below}</section>'
    )


def _why_shut(here: StudioVisit) -> str:
    """Why the character cannot be opened."""
    try:
        here.house.agent(here.name)
    except (MoeChatError, OSError) as failure:
        return here.words("cannot_open", why=fault_words.said(failure, here.words))
    return ""


def _persona(here: StudioVisit, look: StudioLook) -> str:
    words = here.words
    texts = texts_of(here.house, here.name)
    plain = "".join(_key(key, texts[key], lines, words) for key, lines in PLAIN_KEYS.items())
    greetings = [key for key in texts if key.startswith(GREETING)]
    for number, key in enumerate(greetings, 1):
        first = button("greet-first", words("greet_first"), kind="quiet", id=number)
        label = f"{words('another_greeting')} {number}"
        plain += f'<div class="greeting-choice">{field(key, label, texts[key], rows=2)}{first}</div>'
    plain += field(f"{GREETING}{len(greetings) + 1}", words("new_greeting"), rows=1)
    used = sum(bool(texts[key].strip()) for key in MORE_KEYS)
    further = "".join(_key(key, texts[key], lines, words) for key, lines in MORE_KEYS.items() if key != "language")
    languages = [(value, words(f"language_{value or 'auto'}")) for value in ("", "zh", "en")]
    further += choice("language", words("key_language"), languages, texts["language"])
    inside = plain + memory_page.further(further, used, words)
    save = f'<div class="actions"><button type="submit" class="act primary">{escape(words("save"))}</button></div>'
    return (
        f'<section class="card"><form class="form" data-do="save-persona" data-form="persona {escape(here.name)}">'
        f"{inside}{save}</form></section>"
    )


def _key(key: str, text: str, lines: int, words: Words) -> str:
    note = f"note_{key}"
    return field(key, words(f"key_{key}"), text, rows=lines, note=words(note) if note in words else "")


# ---- the world book


def _book(here: StudioVisit, look: StudioLook) -> str:
    words, agent, book = here.words, here.agent, look.book
    if agent is None:
        return ""
    label = escape(words("search_book"))
    head = (
        f'<div class="line"><input type="search" name="q" data-live="search" value="{escape(book.search)}" '
        f'placeholder="{label}" aria-label="{label}" autocomplete="off" maxlength="200">'
        f"{button('new', words('new_lore'), kind='primary', value='new_lore')}</div>"
    )
    if book.doing == "lore" and not book.opened:
        head += author_room.record_form("lore", author_room.defaults("lore"), words)
    records = author_room.listed(agent, "lore", book.search)
    speakers = memory_room.speakers_of(agent, words)
    fired = {row["id"]: row for row in agent.fired()} if book.opened else {}
    entries = ""
    for one in records[: book.count]:
        opened = one.id == book.opened
        remark = _last_fired(fired.get(one.id), words) if opened else ""
        entries += author_room.entry(one, speakers, words, opened=opened, doing=book.doing, remark=remark)
    left = len(records) - book.count
    more = button("more", words("more", n=left), kind="more") if left > 0 else ""
    empty = "" if entries else f'<p class="empty">{escape(words("no_entries"))}</p>'
    problems = draw.problems([fault_words.said(one, words) for one in agent.official.lore.problems], words)
    return f'{head}{problems}<div class="list">{entries}{empty}</div>{more}'


def _last_fired(row: dict[str, str] | None, words: Words) -> str:
    if row is None:
        return words("fired_never")
    return f"{words('fired_last')} {row['time'][:16].replace('T', ' ')} · {why_fired(row['why'], words)}"


def why_fired(why: str, words: Words) -> str:
    """Why an entry fired, in words."""
    kind, _, what = why.partition(": ")
    name = f"fired_{kind or 'near'}"
    return words(name, what=what) if name in words else why


# ---- its files


def _files(here: StudioVisit, look: StudioLook) -> str:
    words, folder = here.words, here.house.studio.folder(here.name)
    names = source_files.listed(folder)
    shown = look.file if look.file in names else names[0]
    chips = "".join(
        f'<button type="button" class="chip" data-do="file" data-id="{escape(name)}" '
        f'aria-pressed="{str(name == shown).lower()}">{escape(name)}</button>'
        for name in names
    )
    try:
        text = source_files.text(folder, shown)
    except (MoeChatError, OSError) as failure:
        editor = f'<p class="wrong">{escape(fault_words.said(failure, words))}</p>'
    else:
        label = words("file_shown", name=shown)
        wrong = source_files.checked(folder / shown, text)
        remark = "".join(f'<p class="wrong">{escape(fault_words.said(one, words))}</p>' for one in wrong)
        editor = (
            f'{remark}<form class="form" data-do="save-file" data-form="file {escape(shown)} {source_files.edition(text)}">'
            f'<input type="hidden" name="edition" value="{source_files.edition(text)}">'
            f'<textarea name="text" class="source" rows="18" spellcheck="false" aria-label="{escape(label)}">\n{escape(text)}'
            f'</textarea><div class="actions"><button type="submit" class="act primary">{escape(words("save"))}</button></div>'
            "</form>"
        )
    return (
        f'<section class="card"><p class="hint">{escape(words("files_told"))}</p>'
        f'<div class="chips files">{chips}</div>{editor}</section>'
    )


# ---- you


def _you(here: StudioVisit, look: StudioLook) -> str:
    words, parts = here.words, []
    for scope, character in (("all", ""), ("one", here.name)):
        values = here.house.studio.you(character)
        inside = "".join(
            field(key, words(f"you_{key}"), values.get(key, ""), rows=3 if key == "about" else 0)
            for key in ("name", "address", "about")
        )
        save = f'<div class="actions"><button type="submit" class="act primary">{escape(words("save"))}</button></div>'
        remark = f'<p class="hint">{escape(words("you_told"))}</p>' if character else ""
        parts.append(
            f'<section class="card"><h2>{escape(words(f"you_{scope}", name=here.name))}</h2>{remark}'
            f'<form class="form" data-do="save-you" data-scope="{scope}" data-form="you {scope} {escape(here.name)}">'
            f"{inside}{save}</form></section>"
        )
    return "".join(parts)


# ---- taking it along


def _along(here: StudioVisit, look: StudioLook) -> str:
    words = here.words
    cards = "".join(_save(kind, kind.upper(), here) for kind in CARDS) + _save("lorebook", words("along_book"), here)
    archives = "".join(_save(kind, words(f"along_{kind}"), here) for kind in ("all", "bare", "memory"))
    return (
        f'<section class="card"><h2>{escape(words("along_card"))}</h2><p class="hint">{escape(words("along_card_told"))}</p>'
        f'<div class="actions">{cards}</div></section>'
        f'<section class="card"><h2>{escape(words("along_archive"))}</h2>'
        f'<p class="hint">{escape(words("along_archive_told"))}</p><div class="actions">{archives}</div></section>'
        f"{_imports(here, look)}"
    )


def _save(kind: str, label: str, here: StudioVisit) -> str:
    address = (
        f"/page/along/{kind}?{urlencode({'character': here.name, 'language': here.words.language}, quote_via=quote)}"
    )
    return f'<button type="button" class="act" data-save="{escape(address)}">{escape(label)}</button>'


def _imports(here: StudioVisit, look: StudioLook) -> str:
    """What was brought to this memory, each as a whole."""
    words, agent = here.words, here.agent
    if agent is None:
        return ""
    tree = agent.store.tree
    rows = {
        id_: words("import_told", talk=batch.talk or words("talk_first"), n=len(batch.ids), time=batch.at[:10])
        for id_, batch in list(tree.batches.items())
        if not tree.is_forgotten(id_)
    }
    rows |= {id_: words.count("n_memories", n) for id_, n in agent.brought.batches().items()}
    items = ""
    for id_, remark in rows.items():
        acts = button("take-back", words("take_back"), kind="danger", id=id_)
        if (look.doing, look.opened) == ("take-back", id_):
            sure = button("take-back-now", words("take_back_yes"), kind="danger strong", id=id_)
            acts = question(words("take_back_ask"), sure, words)
        items += f'<li>{escape(remark)}<div class="actions">{acts}</div></li>'
    inside = items or f'<li class="hint">{escape(words("no_imports"))}</li>'
    return f'<section class="card"><h2>{escape(words("imports"))}</h2>{reading(here)}<ul class="kept">{inside}</ul></section>'


def reading(here: StudioVisit) -> str:
    """How much of what was brought is still to be understood; "" where all of it is."""
    left = len(here.agent.store.tree.unread()) if here.agent else 0
    if not left:
        return ""
    return f'<p class="hint" data-refresh="{REFRESH_S}">{escape(here.words("being_understood", n=left))}</p>'


# ---- trying


def _trial(here: StudioVisit, look: StudioLook) -> str:
    words = here.words
    if here.agent is None:
        return ""
    titles = {one.id: one.keyword for one in author_room.listed(here.agent, "lore", "") if isinstance(one, Lore)}
    sentence = field("sentence", words("try_say"), look.sentence, rows=2)
    sure = (
        f'<form class="form" data-do="try" data-form="try {escape(here.name)}">{sentence}<div class="actions">'
        f'<button type="submit" class="act primary">{escape(words("try_go"))}</button></div></form>'
    )
    return (
        f'<aside class="card trial" aria-label="{escape(words("try_talk"))}"><h2>{escape(words("try_talk"))}</h2>'
        f'<p class="hint">{escape(words("try_told"))}</p>{sure}{_came_of_it(look.trial, titles, words)}</aside>'
    )


def _came_of_it(trial: Trial | None, titles: dict[str, str], words: Words) -> str:
    if trial is None:
        return ""
    fired = "".join(
        f"<li><b>{escape(titles.get(hit.id, hit.id))}</b> · {escape(why_fired(hit.why, words))}</li>"
        for hit in trial.fired
    )
    prompt = "".join(
        f"<dt>{escape(words(f'role_{one.role}'))}</dt><dd>{escape(one.content)}</dd>" for one in trial.prompt
    )
    fault = f'<p class="wrong">{escape(trial.error)}</p>' if trial.error else ""
    return (
        f'<h3>{escape(words("try_fired"))}</h3><ul class="brought fires">{fired or escape(words("try_none"))}</ul>{fault}'
        f'<h3>{escape(words("try_reply"))}</h3><p class="said-so">{escape(trial.reply) or "–"}</p>'
        f'<details class="trace"><summary>{escape(words("try_prompt", n=len(trial.prompt)))}</summary><dl>{prompt}</dl></details>'
    )
