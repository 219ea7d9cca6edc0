"""Characters: who is talking, from character.yaml, a card or an old configuration, and the names of their folders.

A folder of ``data/agents`` is a character. What its ``card.json`` says holds where ``character.yaml`` says nothing. The file is
read as text only (``no`` stays ``no``); ``{{user}}`` and ``{{char}}`` in it are replaced once, when it is read. Who the user is,
``you.yaml`` says (``you``).
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import unquote

import yaml

from moechat.cards import card as cards
from moechat.cards.container import CARD
from moechat.cards.macros import Macros
from moechat.errors import DataError, MoeChatError, NotFound, PathError, shown, together
from moechat.lore import LORE_ROLES, LoreRole
from moechat.model import Message
from moechat.settings import you
from moechat.settings.config import Config
from moechat.settings.schema import AgentSettings
from moechat.store import plain
from moechat.store.disk import WORLDS
from moechat.when.names import tongue_of

FILE = "character.yaml"
USER_NAMES = {"zh": "用户", "en": "User"}
Language = Literal["zh", "en"]

PICTURE = "avatar.png"
# Device names that Windows takes for itself, whatever the extension.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_MAX_NAME_BYTES = 200  # File systems allow 255; the rest is for suffixes.


@dataclass(frozen=True)
class Character:
    """A character as its file has it, with the names filled in.

    ``examples`` is a list of messages, or text where an old configuration has text. ``user_persona`` says who the user
    is (MoeChat's ``mask``). ``prompt`` holds further instructions, ``system_prompt`` takes the place of ours
    (``{{original}}``), ``after_history`` stands behind the talk, ``note`` within it, ``note_depth`` messages before its end.
    A ``nickname`` is what it is called in the talk, and then its ``name`` here. ``greetings`` are others to choose from.
    ``picture`` is the name of a file of its folder, "" where there is none; ``creator_notes`` are for the user's eyes and in
    no prompt. ``overrides`` are settings, by section.
    ``source`` is what the files say, the names not filled in.
    """

    folder: Path
    name: str
    user_name: str
    language: Language = "zh"
    persona: str = ""
    personality: str = ""
    scenario: str = ""
    greeting: str = ""
    examples: list[Message] | str = field(default_factory=list)
    user_persona: str = ""
    prompt: str = ""
    nickname: str = ""
    greetings: Sequence[str] = ()
    system_prompt: str = ""
    after_history: str = ""
    note: str = ""
    note_depth: int = 4
    note_role: LoreRole = "system"
    picture: str = ""
    creator_notes: str = ""
    tags: Sequence[str] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> dict[str, str]:
        """What ``{{user}}`` and ``{{char}}`` stand for."""
        return {"user": self.user_name, "char": self.name}

    def with_user(self, name: str) -> Character:
        """The same character with another name for the user in all its texts."""
        return replace(self, user_name=name, **_filled_texts(self.source, Macros({"char": self.name, "user": name})))


KEYS = tuple(key.name for key in fields(Character) if key.name not in ("folder", "source"))
_TEXTS = (
    "persona", "personality", "scenario", "greeting", "user_persona", "prompt", "system_prompt", "after_history",
    "note", "creator_notes",
)  # fmt: skip
_LISTS = cards.LISTS.keys()
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.I)  # Nobody is called so.
_DEPTH = re.compile(r"[0-9]{1,6}")
_PLAIN_NAME = re.compile(r"[^/\\:\x00-\x1f.][^/\\:\x00-\x1f]{0,100}")


def load_character(folder: Path, config: Config, user: str = "") -> Character:
    """The character in ``folder``: from character.yaml and its card, else from an old ``Agent:`` section that names it, else a
    name.

    ``user`` is who is talking, where that is not the folder's owner. Raises DataError, which names the file, the line or
    key, and what to do.
    """
    agent = config.Agent
    data = said_of(folder)
    if not data and not (folder / FILE).exists() and agent.char == folder.name:
        data = _from_agent(agent)
    return _filled(folder, data, user, agent.user)


def said_of(folder: Path) -> dict[str, Any]:
    """What card and character.yaml of a folder say together, names not filled in. Raises DataError."""
    own, card = read_keys(folder / FILE), card_in(folder)
    return cards.keys_of(card or {}) | own


def card_in(folder: Path) -> cards.Card | None:
    """The card of a folder, None where it has none. Raises DataError."""
    path = folder / CARD
    try:
        value: cards.Card = cards.decoded(plain.data_of(path), path)
    except FileNotFoundError:
        return None
    if not cards.is_card(value):
        raise DataError(path, "is no character card; take it away, or put a card there")
    return value


def _stamps(folder: Path, owner: Path) -> tuple[plain.Stamp | None, ...]:
    return tuple(plain.stamp(path) for path in (folder / FILE, folder / CARD, *you.paths(owner, folder)))


class CharacterFile:
    """A character that follows its file: ``refresh`` reads it again when it has changed.

    While the file is broken, the last good version stays in use and ``problem`` says what is wrong. ``config`` has the
    character's overrides in place; ``base`` is asked for what they override.
    """

    def __init__(self, folder: Path, base: Callable[[], Config], user: str = "") -> None:
        self.folder = folder
        self._ask, self._base = base, base()
        self._user = user
        self._owner = owner_folder(folder, user)
        self._stamp = _stamps(folder, self._owner)
        self.problem: MoeChatError | None = None
        self.character, self.config = self._load()

    def refresh(self) -> Character:
        """The character as the file has it now, or as it last had it."""
        now, base = _stamps(self.folder, self._owner), self._ask()
        if now != self._stamp or base is not self._base:
            self._stamp, self._base = now, base
            try:
                self.character, self.config = self._load()
                self.problem = None
            except MoeChatError as error:
                self.problem = error
        return self.character

    def _load(self) -> tuple[Character, Config]:
        character = load_character(self.folder, self._base, self._user)
        return character, self._base.for_character(character.overrides, self.folder / FILE)


def read_keys(path: Path) -> dict[str, Any]:
    """What a character.yaml says, where there is one, its names not filled in. Raises DataError."""
    return keys_in(plain.text(path), path) if path.exists() else {}


def keys_in(source: str, path: Path) -> dict[str, Any]:
    """What the text of a character.yaml says. Raises DataError."""
    data = plain.parse_yaml(source, path, as_text=True)
    if not isinstance(data, dict):
        raise DataError(path, "expects `key: value` lines such as `name:` and `persona:`")
    faults = [_fault(str(key), value) for key, value in data.items()]
    if wrong := [DataError(path, fault) for fault in faults if fault]:
        raise together(wrong)
    for key in _LISTS & data.keys():
        data[key] = _texts(key, data[key], path)
    if "overrides" in data:  # settings are numbers and yes/no, so they are read as such
        data["overrides"] = plain.parse_yaml(source, path)["overrides"] or {}
        if not isinstance(data["overrides"], dict):
            raise DataError(path, "overrides expects sections of config.yaml such as `recall:`")
    if "examples" in data:
        data["examples"] = _examples(data["examples"], path)
    return data


def _fault(key: str, value: Any) -> str:
    """What is wrong with a key of a character.yaml and its value; "" where nothing is."""
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.6)
        return f"unknown key {key}; " + (f"did you mean {near[0]}?" if near else f"known here: {', '.join(KEYS)}")
    if key not in ("examples", "overrides", *_LISTS) and not isinstance(value, str):
        return f"{key} expects text; write it after `{key}: |-`, indented"
    if key == "language" and value not in USER_NAMES:
        return f"language = {shown(value)}: expects zh or en"
    if key == "note_role" and value not in LORE_ROLES:
        return f"note_role = {shown(value)}: expects {', '.join(LORE_ROLES)}"
    if key == "note_depth" and not _DEPTH.fullmatch(value):
        return f"note_depth = {shown(value)}: expects a whole number, 0 or more"
    if key == "picture" and value and not _PLAIN_NAME.fullmatch(value):
        return f"picture = {shown(value)}: expects the name of a file beside it"
    return ""


def _texts(key: str, value: Any, path: Path) -> list[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise DataError(path, f"{key} expects a list of texts: `- …`")
    return [item for item in items if item.strip()]


def _examples(value: Any, path: Path) -> list[Message] | str:
    if isinstance(value, str):
        return value
    messages: list[Message] = []
    for turn in value if isinstance(value, list) else [value]:
        is_turn = isinstance(turn, dict) and turn.keys() <= {"user", "char"}
        if not is_turn or not all(isinstance(text, str) for text in turn.values()):
            raise DataError(path, "examples expects a list of `- user: …` with `char: …` below it")
        messages += [Message("user" if who == "user" else "assistant", text) for who, text in turn.items()]
    return messages


def _from_agent(agent: AgentSettings) -> dict[str, Any]:
    """The persona that an old configuration keeps under ``Agent:``."""
    return {
        "persona": _flat(agent.char_settings),
        "personality": _flat(agent.char_personalities),
        "user_persona": _flat(agent.mask),
        "examples": _flat(agent.message_example),
        "prompt": _flat(agent.prompt),
        "greeting": _flat(agent.start_with[:1] if isinstance(agent.start_with, list) else agent.start_with),
    }


def _flat(value: Any) -> str:
    """Text of what an old configuration holds: text, a list of lines, or messages with role and content."""
    if isinstance(value, list):
        return "\n".join(_flat(part) for part in value)
    if isinstance(value, dict):
        return (
            _flat(value["content"]) if "content" in value else "\n".join(f"{k}：{_flat(v)}" for k, v in value.items())
        )
    return "" if value is None else str(value)


def _filled(folder: Path, data: Mapping[str, Any], user: str, agent_user: str) -> Character:
    name = data.get("name", "").strip() or folder.name
    texts = "".join(data.get(key, "") for key in _TEXTS) or name
    language = cast(Language, data.get("language") or tongue_of(texts))
    name = data.get("nickname", "").strip() or name
    who = you.read(owner_folder(folder, user), folder)
    own_name = data.get("user_name", "").strip()
    called = USER_NAMES[language] if _UUID.fullmatch(user) else user
    user_name = who.called(called, own_name) or agent_user or USER_NAMES[language]
    data = {**data, "user_persona": who.persona(data.get("user_persona", ""), user_name, language)}
    picture = data.get("picture", "") or (PICTURE if (folder / PICTURE).is_file() else "")
    return Character(
        folder=folder,
        name=name,
        user_name=user_name,
        language=language,
        overrides=data.get("overrides", {}),
        nickname=data.get("nickname", "").strip(),
        picture=picture,
        note_depth=int(data.get("note_depth", 4)),
        note_role=data.get("note_role", "system"),
        tags=data.get("tags", ()),
        source=data,
        **_filled_texts(data, Macros({"char": name, "user": user_name})),
    )


def _filled_texts(data: Mapping[str, Any], macros: Macros) -> dict[str, Any]:
    """The texts of a character that ``data`` has, with the names filled in."""

    def fill(text: str) -> str:
        return macros.fill(text).strip()

    texts: dict[str, Any] = {key: fill(data[key]) for key in _TEXTS if key in data}
    if isinstance(examples := data.get("examples", []), str):
        texts["examples"] = fill(examples)
    elif examples:
        texts["examples"] = [Message(m.role, fill(m.content)) for m in examples]
    if "greetings" in data:
        texts["greetings"] = [fill(text) for text in data["greetings"]]
    return texts


# --- folders ---------------------------------------------------------------------------------------------------------


def list_characters(data: Path) -> list[str]:
    """The folder names of all characters, sorted."""
    agents = data / "agents"
    if not agents.is_dir():
        return []
    folders = (path for path in agents.iterdir() if path.is_dir())
    return sorted(path.name for path in folders if not path.name.startswith((".", "_")))


def default_character(data: Path, config: Config) -> str:
    """The configured character, else the first by name. Raises NotFound where there is none."""
    names = list_characters(data)
    name = config.Agent.char
    if name in names:
        return name
    if not names or name != AgentSettings.model_fields["char"].default:
        missing = name if names else "any character"
        raise NotFound(f"{data / 'agents'} does not hold {missing}; it has: {', '.join(names) or 'nothing'}")
    return names[0]


def folder_for(names: Collection[str], name: str) -> str:
    """The folder of the character that a program calls by this name, whether it is among ``names`` or is to be made.

    No two names have the same one, also where a file system ignores case or forms of letters. Raises PathError.
    """
    if name in names and "%" not in name:
        return name
    taken = {alike(one) for one in names}
    encoded = encode_user(name, "character")
    if encoded.startswith("_") or (encoded not in names and alike(encoded) in taken):
        encoded = f"%{ord(encoded[0]):02x}{encoded[1:]}"
    is_free = encoded not in names and alike(name) not in taken
    return name if is_free and "%" not in name and not name.startswith("_") and not _unsafe(name) else encoded


def alike(name: str) -> str:
    """The same for names that a file system may take for one."""
    return unicodedata.normalize("NFKC", name).casefold()


def safe_folder(data: Path, name: str) -> Path:
    """``data``/agents/``name``, for a name that stays inside on every system. Raises PathError for any other."""
    why = _unsafe(name)
    if why:
        raise PathError(f"{name!r} cannot be a character's folder: {why}")
    return data / "agents" / name


def _unsafe(name: str) -> str:
    if not name or name != name.strip() or name.startswith(".") or name.endswith("."):
        return "it is empty, starts with a dot, or ends in a dot or a space"
    if _FORBIDDEN.search(name):
        return 'it has one of / \\ : * ? " < > | or a control character'
    if _RESERVED.fullmatch(name):
        return "Windows keeps that name for a device"
    try:
        long = len(name.encode()) > _MAX_NAME_BYTES
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return f"it is longer than {_MAX_NAME_BYTES} bytes" if long else ""


def begin_character(folder: Path, name: str) -> None:
    """Make the folder of a character of which nothing is known but the name."""
    folder.mkdir(parents=True)
    words = yaml.safe_dump({"name": name}, allow_unicode=True)
    (folder / FILE).write_text(words, encoding="utf-8")


def owner_folder(character: Path, user: str = "", world: str = "") -> Path:
    """Where the memory of a character's folder with a user, in a world, lies. Raises PathError."""
    owner = character / "users" / encode_user(user) if user else character
    return owner / WORLDS / encode_user(world, "world") if world else owner


def list_worlds(data: Path, character: str, user: str = "") -> list[str]:
    """The worlds that a user has with a character, by name."""
    folder = owner_folder(safe_folder(data, character), user) / WORLDS
    return sorted(unquote(one.name) for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []


def encode_user(user: str, what: str = "user") -> str:
    """A user's (or a world's) name as a folder name: reversible (``%xx``), and distinct where a file system ignores case.

    a–z, 0–9, ``-``, ``_`` and common Han stay; every other byte of the UTF-8 becomes ``%xx``. Raises PathError where
    the name is empty or too long.
    """
    kept = re.compile(r"[a-z0-9_\-\u4e00-\u9fff]")
    safe = "".join(
        c if kept.match(c) else "".join(f"%{b:02x}" for b in c.encode("utf-8", "surrogatepass"))
        for c in user[: _MAX_NAME_BYTES + 1]
    )
    if _RESERVED.fullmatch(safe):
        safe = f"%{ord(safe[0]):02x}{safe[1:]}"
    if not safe or len(safe.encode()) > _MAX_NAME_BYTES:
        raise PathError(f"{user[:40]!r} cannot be a {what}'s name: it is empty or too long")
    return safe
