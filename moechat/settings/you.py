"""You as a card: ``you.yaml`` says what you are called and who you are, for all characters or for one.

``name``, ``address`` (how a character is to address you; without it by name) and ``about`` (a few lines about yourself). The one
in the data folder is for all characters, one beside a memory is for that character; each key of the nearer one holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moechat.errors import DataError, FieldError
from moechat.store import plain, records

FILE = "you.yaml"
KEYS = ("name", "address", "about")
_MOST = {"name": 200, "address": 200, "about": 20_000}
_NAMED: Mapping[str, str] = {"zh": "{called}的名字是{name}。", "en": "{called}'s name is {name}."}


@dataclass(frozen=True)
class You:
    """Who the user is. ``of_one`` are the keys that were written for this character."""

    name: str = ""
    address: str = ""
    about: str = ""
    of_one: frozenset[str] = frozenset()

    def called(self, user: str, of_character: str) -> str:
        """How the user is addressed: as was written for this character, as the program was told (``user``), as the character's
        file says, as was written for all; "" where nobody says."""
        own = self.address or self.name
        if self.of_one & {"name", "address"}:
            return own
        return user or of_character or own

    def persona(self, of_character: str, called: str, language: str) -> str:
        """What a prompt says of the user: what the character's file has, and what they say of themselves."""
        named = _NAMED[language].format(called=called, name=self.name) if self.name and self.name != called else ""
        return "\n".join(filter(None, [of_character, named, self.about]))


def paths(owner: Path, character: Path) -> tuple[Path, Path]:
    """(for all characters, for this one); a user who is not the folder's owner has the second alone."""
    return character.parent.parent / FILE, owner / FILE


def read(owner: Path, character: Path) -> You:
    """Raises DataError."""
    for_all, for_one = paths(owner, character)
    one = values(for_one)
    everyone = values(for_all) if owner == character else {}
    return You(**{**everyone, **one}, of_one=frozenset(one))


def write(path: Path, changes: Mapping[str, str]) -> dict[str, str]:
    """Change some keys of a file ("" takes one out). Returns what it says then. Raises FieldError, DataError."""
    kept = values(path)
    for key, text in changes.items():
        if key not in KEYS:
            raise FieldError(key, None, f"unknown key; known: {', '.join(KEYS)}")
        if len(text) > _MOST[key] or (key != "about" and "\n" in text.strip()):
            raise FieldError(
                key, text, f"expects at most {_MOST[key]} characters" + ("" if key == "about" else " in one line")
            )
        kept[key] = text.strip()
    kept = {key: kept[key] for key in KEYS if kept.get(key)}
    records.replace(path, b"".join(records.entry(key, text) for key, text in kept.items()))
    return kept


def values(path: Path) -> dict[str, str]:
    """What a file says. Raises DataError."""
    if not path.is_file():
        return {}
    kept = plain.read_yaml(path, as_text=True)
    if kept in (None, ""):
        return {}
    if not isinstance(kept, dict) or not kept.keys() <= set(KEYS) or not all(isinstance(v, str) for v in kept.values()):
        raise DataError(path, f"expects lines of text: {', '.join(f'`{key}: …`' for key in KEYS)}")
    return {key: text.strip() for key, text in kept.items() if text.strip()}
