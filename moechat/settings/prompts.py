"""The prompts: text files that anyone may edit, filled in a single pass.

No template engine: ``{{key}}`` is replaced by its value once, and a value is never looked into again, so that what a
user or a card says cannot become a placeholder. A paragraph in which a placeholder has a line to itself is left out,
with its heading, where that value is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from moechat.errors import DataError
from moechat.store import yaml_file

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_ALONE = re.compile(r"^[ \t]*\{\{\s*(\w+)\s*\}\}[ \t]*$", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n+")

# What each template is given; any of them may be left out of an edited one.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "persona": ("char", "user", "persona", "personality", "scenario", "user_persona", "prompt"),
    "examples": ("char", "user", "examples"),
    "diary": ("char", "user", "entries"),
    "core": ("char", "user", "entries"),
    "lore": ("char", "user", "entries"),
    "overview": ("char", "user", "entries"),
    "reflected": ("char", "user", "entries"),
    "remembered": ("char", "user", "entries"),
    "time": ("now", "weekday"),
    "empty": ("phrase", "from", "to"),
    "extraction": ("char", "user", "now", "known", "topics", "exchanges", "problem"),
    "consolidate": ("char", "user", "facts"),
    "topic_cues": ("now", "topics", "message"),
    "topic_evaluate": ("message", "slices"),
    "score_expansion": ("pairs",),
    "rate_importance": ("input_text",),
    "reflect_questions": ("recent_memory_prompt",),
    "reflect_insights": ("relevant_memories", "question"),
    "reflect_condense": ("insight_list",),
    "reflect_rate": ("insight_list",),
}


class Prompts:
    """The prompts of one language, from several folders: the first that has a file wins (the user's, then ours).

    A file is read again when it has changed. Not locked: two threads that both read a changed file agree.
    """

    def __init__(self, folders: Sequence[Path], language: str) -> None:
        self.folders, self.language = tuple(folders), language
        self._read: dict[Path, tuple[yaml_file.Stamp, str]] = {}

    def fill(self, name: str, /, **values: str) -> str:
        """The prompt ``name`` with its placeholders replaced. Raises DataError naming file and unknown placeholder."""
        path, template = self._template(name)
        paragraphs = []
        for paragraph in _BLANK_LINE.split(template.strip()):
            for key in PLACEHOLDER.findall(paragraph):
                if key not in values:
                    known = ", ".join(f"{{{{{one}}}}}" for one in values)
                    raise DataError(path, f"unknown placeholder {{{{{key}}}}}; known here: {known}")
            if all(values[match[1]].strip() for match in _ALONE.finditer(paragraph)):
                paragraphs.append(PLACEHOLDER.sub(lambda match: values[match[1]], paragraph))
        return "\n\n".join(paragraphs)

    def _template(self, name: str) -> tuple[Path, str]:
        for folder in self.folders:
            path = folder / self.language / f"{name}.txt"
            stamp = yaml_file.stamp(path)
            if stamp is None:
                continue
            known = self._read.get(path)
            if known is None or known[0] != stamp:
                known = self._read[path] = (stamp, yaml_file.text(path))
            return path, known[1]
        raise DataError(self.folders[-1] / self.language / f"{name}.txt", "this prompt is missing")
