"""The characters as a list shows them: name, language, a line about each, and its picture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moechat.cards.container import CARD
from moechat.errors import MoeChatError, NotFound
from moechat.settings.character import FILE, PICTURE, Language, list_characters, load_character, safe_folder
from moechat.settings.config import Config
from moechat.settings.schema import AgentSettings
from moechat.store import plain
from moechat.store.disk import LOG

LINE_CHARS = 90  # Of the line about a character.
MAX_PICTURE_BYTES = 8 << 20  # A larger one is not shown.
KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"GIF8": "image/gif"}
_SENTENCE = re.compile(r".+?(?:[。！？]|[.!?](?=\s|$)|$)")


@dataclass(frozen=True)
class Portrait:
    """A character of the list. ``folder`` is the name that it goes by; ``picture`` changes with the file, "" where there is
    none. Where its file is broken, its name alone is known."""

    folder: str
    name: str
    language: Language | None = None
    line: str = ""
    picture: str = ""


class Gallery:
    """The characters of ``data``. A file is read again when it has changed."""

    def __init__(self, data: Path, config: Callable[[], Config]) -> None:
        self._data, self._config = data, config
        self._read: dict[str, tuple[object, Portrait]] = {}

    def portraits(self) -> list[Portrait]:
        return [self.portrait(name) for name in list_characters(self._data)]

    def first_for(self, language: str, names: Sequence[str]) -> str:
        """Which of ``names`` somebody of this language meets first: the configured one, else the first that speaks it, "" where
        there is none at all."""
        configured = self._config().Agent.char
        speaking = [name for name in names if self.portrait(name).language == language]
        is_chosen = configured != AgentSettings.model_fields["char"].default
        if configured in (names if is_chosen else speaking):
            return configured
        return next(iter([*speaking, *names]), "")

    def is_untouched(self) -> bool:
        """Whether nobody has talked to any of them yet, as far as their folders tell."""
        return not any((self._data / "agents" / name / LOG).exists() for name in list_characters(self._data))

    def portrait(self, name: str) -> Portrait:
        """Of the character in a folder."""
        folder, config = self._data / "agents" / name, self._config()
        stamps = (*(plain.stamp(folder / file) for file in (FILE, CARD, PICTURE)), id(config))
        if name not in self._read or self._read[name][0] != stamps:
            self._read[name] = (stamps, _read(folder, config))
        return self._read[name][1]

    def picture(self, name: str) -> tuple[bytes, str]:
        """(the bytes of a character's picture, their kind). Raises NotFound where it has none that can be shown, PathError."""
        folder = safe_folder(self._data, name)
        try:
            path = folder / load_character(folder, self._config()).picture
            data = plain.data_of(path) if path != folder and path.stat().st_size <= MAX_PICTURE_BYTES else b""
        except (MoeChatError, OSError) as error:
            raise NotFound(f"{name} has no picture that can be shown") from error
        kind = next((kind for start, kind in KINDS.items() if data.startswith(start)), "")
        if not kind:
            raise NotFound(f"{name} has no picture that can be shown")
        return data, kind


def _read(folder: Path, config: Config) -> Portrait:
    try:
        one = load_character(folder, config)
    except MoeChatError:
        return Portrait(folder.name, folder.name)
    stamp = plain.stamp(folder / one.picture) if one.picture else None
    line = one.creator_notes or one.persona
    first = _SENTENCE.match(line.strip().partition("\n")[0])
    return Portrait(
        folder.name, one.name, one.language, first[0][:LINE_CHARS] if first else "", f"{stamp[0]:x}" if stamp else ""
    )
