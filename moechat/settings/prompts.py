"""The prompts: text files that anyone may edit, filled in a single pass.

There is no template engine: ``{{key}}`` is replaced by its value once. A value is never searched for placeholders, so
what a user or a card says cannot become one. Where a placeholder has a line to itself and its value is empty, the whole
paragraph is left out, heading and all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from moechat.errors import DataError, NotFound
from moechat.store import plain, records

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ALONE = re.compile(r"^[ \t]*\{\{\s*(\w+)\s*\}\}[ \t]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n+")

ENTRIES = ("char", "user", "entries")
# What each template is given; any of them may be left out of an edited one.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "persona": ("char", "user", "persona", "personality", "scenario", "user_persona", "prompt"),
    "company": ("char", "user", "others"),
    "examples": ("char", "user", "examples"),
    **dict.fromkeys(("diary", "core", "lore", "boundaries"), ENTRIES),
    "profile": ("char", "user", "entries", "promises", "over"),
    **dict.fromkeys(("news", "overview", "reflected", "remembered", "plans"), ENTRIES),
    **dict.fromkeys(("ours", "mood", "days", "daybook"), ENTRIES),
    "danger": ("char", "user", "help"),
    "time": ("now", "weekday", "last"),
    "empty": ("phrase", "from", "to"),
    "elsewhere": ("phrase", "from", "to"),
    "unread": ("until",),
    "spoken": (),
    "go_on": (),
    "extraction": ("char", "user", "now", "before", "topics", "exchanges", "problem"),
    "consolidate": ("char", "user", "facts"),
    "topic_cues": ("now", "topics", "message"),
    "topic_evaluate": ("message", "slices"),
    "score_expansion": ("pairs",),
    "rate_importance": ("input_text",),
    "people": ("char", "user", "persona"),
    "reflect_questions": ("recent_memory_prompt",),
    "reflect_insights": ("relevant_memories", "question"),
    "reflect_condense": ("insight_list",),
    "reflect_rate": ("insight_list",),
    "revise_identity": ("char", "day", "currently", "statements"),
    "daybook_write": ("char", "user", "persona", "day", "exchanges"),
}


class Prompts:
    """The prompts of one language from several folders; the first folder that has a file wins (the user's, then ours).

    A file is read again when it has changed. Not locked: two threads that both read a changed file agree.
    """

    def __init__(self, folders: Sequence[Path], language: str) -> None:
        self.folders = tuple(folders)
        self.language = language
        self._cache: dict[Path, tuple[plain.Stamp, str]] = {}
        self._places: dict[str, list[Path]] = {}

    def fill(self, name: str, /, **values: str) -> str:
        """The prompt ``name`` with its placeholders replaced. Raises DataError naming file and unknown placeholder."""
        return filled(*self.template(name), values)

    def template(self, name: str) -> tuple[Path, str]:
        """The file of the prompt ``name`` and its text as it is now. Raises DataError."""
        if name not in self._places:
            self._places[name] = [folder / self.language / f"{name}.txt" for folder in self.folders]
        for path in self._places[name]:
            stamp = plain.stamp(path)
            if stamp is None:
                continue
            entry = self._cache.get(path)
            if entry is None or entry[0] != stamp:
                entry = self._cache[path] = (stamp, plain.text(path, may_lead_out=True))
            return path, entry[1]
        raise DataError(self._places[name][-1], "this prompt is missing")


class OwnPrompts:
    """The prompts that somebody changes in the page: files of ``folder``, which come before those of ``below``."""

    def __init__(self, folder: Path, below: Sequence[Path]) -> None:
        self._folder, self._below = folder, tuple(below)

    def text(self, language: str, name: str) -> str:
        """The prompt as it is now. Raises DataError."""
        return Prompts([self._folder, *self._below], language).template(name)[1]

    def is_changed(self, language: str, name: str) -> bool:
        return self._path(language, name).exists()

    def save(self, language: str, name: str, text: str) -> None:
        """Raises DataError where it is none that there is, or has a placeholder that nothing fills."""
        path = self._path(language, name)
        filled(path, text, dict.fromkeys(TEMPLATES[name], ""))
        path.parent.mkdir(parents=True, exist_ok=True)
        records.replace(path, f"{plain.storable(text).strip()}\n".encode())

    def restore(self, language: str, name: str) -> None:
        """Let the default hold again."""
        self._path(language, name).unlink(missing_ok=True)

    def _path(self, language: str, name: str) -> Path:
        if name not in TEMPLATES or language not in ("zh", "en"):
            raise NotFound(f"there is no prompt {name!r}")
        return self._folder / language / f"{name}.txt"


def filled(path: Path, template: str, values: Mapping[str, str]) -> str:
    """The text of a prompt with its placeholders replaced. Raises DataError naming file and unknown placeholder."""
    paragraphs = []
    for paragraph in _BLANK_LINE.split(template.strip()):
        for key in PLACEHOLDER.findall(paragraph):
            if key not in values:
                names = ", ".join(f"{{{{{name}}}}}" for name in values)
                raise DataError(path, f"unknown placeholder {{{{{key}}}}}; known here: {names}")
        if all(values[match[1]].strip() for match in _ALONE.finditer(paragraph)):
            paragraphs.append(PLACEHOLDER.sub(lambda match: values[match[1]], paragraph))
    return "\n\n".join(paragraphs)
