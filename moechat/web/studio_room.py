"""The studio: what a tab looks at there, and what a click does. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from moechat.cards.container import CARD
from moechat.errors import MoeChatError
from moechat.house import House, source_files
from moechat.house.arrivals import Wishes, free_name
from moechat.house.studio import Trial, as_text, tried
from moechat.verbs import owner
from moechat.web import author_room, memory_room
from moechat.web.clicks import Action, Note, Visit
from moechat.web.memory_room import AUTHOR, MemoryLook
from moechat.web.tray import Tray
from moechat.web.words import Words

PARTS = ("persona", "book", "files", "you", "along")
PLAIN_KEYS: Mapping[str, int] = {"name": 0, "persona": 8, "greeting": 4, "examples": 6}
"""Keys of character.yaml that the form shows at once, each with its lines (0: one field)."""
MORE_KEYS: Mapping[str, int] = {
    "personality": 2, "scenario": 2, "nickname": 0, "user_name": 0, "user_persona": 2, "prompt": 3, "system_prompt": 4,
    "after_history": 3, "note": 3, "note_depth": 0, "note_role": 0, "creator_notes": 3, "tags": 0, "language": 0,
}  # fmt: skip
GREETING = "greeting-"  # The other greetings are fields of this name with a number.
NAMING = ("create", "duplicate", "rename")
WAITING = ("rename", "delete-now")  # These wait for a reply that is on its way.


@dataclass(frozen=True)
class StudioLook:
    """What a tab shows of the studio. ``doing`` is what is being done: new, bin, rename, duplicate, delete, erase, take-back;
    ``opened`` what it is done with. ``file`` is the one that is shown. ``wishes`` say where the files that were brought go, by
    number; those that are ``unticked`` stay where they are. ``go`` is the character that the tab goes to now (None: it stays),
    ``talks``: to
    the chat, where ``talk`` was brought."""

    part: str = PARTS[0]
    doing: str = ""
    opened: str = ""
    file: str = ""
    book: MemoryLook = field(default_factory=lambda: MemoryLook(AUTHOR, "lore"))
    wishes: Mapping[int, Wishes] = field(default_factory=dict)
    unticked: frozenset[int] = frozenset()
    sentence: str = ""
    trial: Trial | None = None
    go: str | None = None
    talks: bool = False
    talk: str = ""

    def elsewhere(self) -> StudioLook:
        """The same part of another character."""
        return StudioLook(self.part, wishes=self.wishes, unticked=self.unticked, go=self.go)


StudioOutcome = tuple[StudioLook, Note]


def act(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    do = action.get("do", "")
    look = replace(look, go=None, talks=False)
    if here.busy and do in WAITING:
        return look, Note(here.words("wait_reply"), bad=True)
    if do in NAMING and not action.get("name", "").strip():
        return look, Note(here.words("needs_name"), bad=True)
    if do in LOOKS:
        return LOOKS[do](look, action), Note()
    if do in DEEDS:
        return DEEDS[do](here, look, action)
    if here.agent is None:
        return look, Note()
    book, note = memory_room.act(here, look.book, action)
    return replace(look, book=book, doing=""), note


# ---- looking


def _doing(name: str) -> Callable[[StudioLook, Action], StudioLook]:
    def does(look: StudioLook, action: Action) -> StudioLook:
        id_ = action.get("id", "")
        again = (look.doing, look.opened) == (name, id_)
        return replace(look, doing="" if again else name, opened=id_)

    return does


def _part(look: StudioLook, action: Action) -> StudioLook:
    part = action.get("value", "")
    return replace(look, part=part if part in PARTS else look.part, doing="", file="")


def _aimed(look: StudioLook, action: Action) -> StudioLook:
    """Where the files that were brought go, as their form says."""
    numbers = {int(key.partition("-")[2]) for key in action if key.startswith(("file-", "to-", "me-", "name-"))}
    chosen = {
        n: Wishes(action.get(f"to-{n}", "") or action.get(f"name-{n}", "").strip(), me=action.get(f"me-{n}", ""))
        for n in numbers
    }
    ticked = {int(n) for n in action.get("chosen", "").split() if n.isdecimal()}
    return replace(look, wishes={**look.wishes, **chosen}, unticked=frozenset(numbers - ticked))


LOOKS: Mapping[str, Callable[[StudioLook, Action], StudioLook]] = {
    "part": _part,
    "new-character": _doing("new"),
    "bin": _doing("bin"),
    "name-new": _doing("rename"),
    "copy": _doing("duplicate"),
    "delete": _doing("delete"),
    "erase": lambda look, action: replace(look, doing="erase", opened=action.get("id", "")),
    "take-back": lambda look, action: replace(look, doing="take-back", opened=action.get("id", "")),
    "cancel": lambda look, _: replace(look, doing="", book=replace(look.book, doing="")),
    "aim": _aimed,
    "file": lambda look, action: replace(look, file=action.get("id", "")),
}


def tray_of(here: Visit) -> Tray:
    assert here.tray is not None, "only the page's own tabs have a tray"
    return here.tray


@dataclass(frozen=True)
class Goals:
    """Where every file that was brought goes, by number, and the ``names`` of all characters that it may go to."""

    wishes: Mapping[int, Wishes]
    names: Sequence[str]


def plan(here: Visit, look: StudioLook) -> Goals:
    """As was chosen; else a card gets a name that is free, talk goes to the character whose folder it lay in, a lorebook to the
    card that names it, all else to the character that is shown."""
    names, owners = here.house.characters(), dict[str, str]()
    goals: dict[int, Wishes] = {}
    for one in tray_of(here).in_order():
        chosen = look.wishes.get(one.number)
        row = one.preview(here.house, Wishes()) if one.kind in ("card", "archive") else {}
        if one.kind == "card" or row.get("of") == "character":
            name = (chosen and chosen.character) or free_name(str(row["name"]), names)
            owners |= {row.get("world") or name: name, PurePosixPath(one.name).stem: name}
            names = names if one.number in look.unticked else [*names, name]
            goals[one.number] = Wishes(name)
        elif one.kind is not None:
            hints = (row.get("name"), owners.get(one.holder), one.holder, owners.get(one.path.stem))
            goals[one.number] = chosen or Wishes(next((one for one in hints if one in names), here.name))
    return Goals(goals, names)


# ---- a character


def _created(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    name = action["name"].strip()
    keys = {key: text for key in ("persona", "greeting") if (text := action.get(key, "").strip())}
    here.house.studio.create(name, keys)
    return replace(look, part="persona", doing="", go=name), Note(here.words("made", name=name))


def _duplicated(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    name = here.house.studio.duplicate(here.name, action["name"].strip())
    return replace(look, doing="", go=name), Note(here.words("made", name=name))


def _renamed(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    name = here.house.studio.rename(here.name, action["name"].strip())
    return replace(look, doing="", go=name), Note(here.words("renamed", name=name))


def _deleted(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    if look.doing != "delete":  # It is asked first, whatever the page sends.
        return replace(look, doing="delete"), Note()
    here.house.studio.delete(here.name)
    return replace(look, doing="bin", opened="", go=""), Note(here.words("binned", name=here.name))


def _brought_back(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    name = here.house.studio.restore(action.get("id", ""))
    return replace(look, doing="", go=name), Note(here.words("back_again_it", name=name))


def _erased(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    kept = action.get("id", "")
    if (look.doing, look.opened) != ("erase", kept):
        return replace(look, doing="erase", opened=kept), Note()
    here.house.studio.empty_bin([kept])
    return replace(look, doing="bin", opened=""), Note(here.words("erased"))


# ---- what it is made of


def texts_of(house: House, name: str, words: Words) -> dict[str, str]:
    """Every key of the form as text, as file and card have them."""
    values = house.studio.values(name)
    greetings = {f"{GREETING}{n}": text for n, text in enumerate(values.get("greetings", ()), 1)}
    texts = {key: as_text(key, values.get(key, "")) for key in (*PLAIN_KEYS, *MORE_KEYS) if key != "tags"}
    return texts | greetings | {"tags": words.row(values.get("tags", ()))}


def _persona_saved(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    before = texts_of(here.house, here.name, here.words)
    has_card = (
        here.house.studio.folder(here.name) / CARD
    ).exists()  # What is only taken out would be the card's again.
    changes: dict[str, object] = {
        key: action[key].strip() or ("" if has_card and key != "language" else None)
        for key in (*PLAIN_KEYS, *MORE_KEYS)
        if key in action and action[key].strip() != before[key].strip()
    }
    if "tags" in changes:
        changes["tags"] = author_room.several(action["tags"]) or ([] if has_card else None)
    fields = sorted(
        (key for key in action if key.startswith(GREETING)), key=lambda key: int(key.removeprefix(GREETING))
    )
    greetings = [text for key in fields if (text := action[key].strip())]
    if greetings != [before[key].strip() for key in before if key.startswith(GREETING)]:
        changes["greetings"] = greetings or ([] if has_card else None)
    if not changes:
        return look, Note(here.words("nothing_changed"))
    here.house.studio.change(here.name, changes)
    return look, Note(here.words("saved_it"))


def _greets_first(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    here.house.studio.choose_greeting(here.name, int(action.get("id", "0")))
    return look, Note(here.words("saved_it"))


def _file_saved(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    folder = here.house.studio.folder(here.name)
    source_files.write(folder, look.file, action.get("text", ""), action.get("edition", ""))
    return look, Note(here.words("saved_it"))


def _you_saved(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    character = here.name if action.get("scope") == "one" else ""
    here.house.studio.you(character, changes={key: action.get(key, "") for key in ("name", "address", "about")})
    return look, Note(here.words("saved_it"))


def _tried(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    sentence = action.get("sentence", "").strip()
    if here.agent is None or not sentence:
        return look, Note(here.words("needs_words"), bad=True)
    return replace(look, sentence=sentence, trial=tried(here.agent, sentence)), Note()


# ---- what comes, and what was taken in


def _taken(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    look = _aimed(look, action)
    chosen = {int(n) for n in action.get("chosen", "").split() if n.isdecimal()}
    came: list[str] = []
    to: list[str] = []
    brought_to: dict[str, str] = {}
    failed = 0
    goals = plan(here, look).wishes
    for brought in tray_of(here).in_order():
        if brought.number not in chosen or brought.number not in goals:
            continue
        try:
            row = brought.coming(here.house, goals[brought.number]).take()
        except (MoeChatError, OSError) as failure:
            brought.fault = failure
            failed += 1
            continue
        tray_of(here).away([brought.number])
        came.append(row.get("character") or brought.path.stem)
        to.append(row.get("character") or goals[brought.number].character)
        if "talk" in row:
            brought_to.setdefault(to[-1], row["talk"])
    if not came:
        return look, Note(here.words("came_not", n=failed) if failed else here.words("none_chosen"), bad=True)
    sentence = here.words("came", names=here.words.row(dict.fromkeys(came)))
    sentence += f" {here.words('came_not', n=failed)}" if failed else ""
    talks = action.get("act") == "talk" and not failed
    talk = brought_to.get(to[0], "") if talks else ""
    return replace(look, go=to[0], talks=talks, talk=talk), Note(sentence, bad=bool(failed))


def _put_away(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    chosen = action.get("id", "")
    tray_of(here).away([int(chosen)] if chosen.isdecimal() else tray_of(here).files)
    return look, Note()


def _taken_back(here: Visit, look: StudioLook, action: Action) -> StudioOutcome:
    batch = action.get("id", "")
    if here.agent is None or (look.doing, look.opened) != ("take-back", batch):
        return replace(look, doing="take-back", opened=batch), Note()
    here.perform(owner.VERBS["take-back"], batch=batch)
    return replace(look, doing=""), Note(here.words("taken_back"))


DEEDS: Mapping[str, Callable[[Visit, StudioLook, Action], StudioOutcome]] = {
    "create": _created, "duplicate": _duplicated, "rename": _renamed, "delete-now": _deleted, "bring-back": _brought_back,
    "erase-now": _erased, "save-persona": _persona_saved, "greet-first": _greets_first, "save-file": _file_saved,
    "save-you": _you_saved, "try": _tried, "take": _taken, "away": _put_away, "take-back-now": _taken_back,
}  # fmt: skip
