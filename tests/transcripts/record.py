"""What a long talk leaves behind, step by step: a record is a few parts of text by name.

``turn`` (what was recalled and replied, or answered over HTTP), ``prompt`` (all that the model was asked), ``read`` (the
answers of routes that only read) and ``page`` (what a tab shows) are the same over every kind of store; ``log`` and ``files``
are what the folders hold. What is drawn at random is called by the order in which it comes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.transcripts.script import ASKED, SAID, Step
from tests.transcripts.stage import CHARACTERS, LOOKS, READ, Stage

Record = dict[str, str]
DERIVED = {".index", "backups"}
PASSING = (".lock", "-wal", "-shm")
_TAKEN = re.compile(r"\d+\.\d+(?= 毫秒)|(?<=\"created\": )[1-9]\d{9}")
_RANDOM = {
    "key": re.compile(r'(?<="key":")[0-9a-f]{8}(?=")'),
    "stamp": re.compile(r"""(?<=")[0-9a-f]{16}(?=")|(?<=stamp: )'?[0-9a-f]{16}\b'?"""),
    "mark": re.compile(r'(?<=")[0-9a-f]{24}(?=")'),
    "completion": re.compile(r"chatcmpl-[0-9a-f]{32}"),
    "chat": re.compile(r"(?<=\d\d:\d\d )[0-9a-f]{6}\b"),
}
_BETWEEN_TAGS = re.compile(r"\s*([<>])\s*")
_SPACES = re.compile(r"(?:\\n|\s)+")


class Recorder:
    """Takes the steps of a stage and tells what each of them left."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._files: dict[str, bytes] = {}
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._changed()

    def records(self, steps: list[Step]) -> Iterator[tuple[Step, Record]]:
        for step in steps:
            yield step, self.record(step)

    def record(self, step: Step) -> Record:
        stage, model = self.stage, self.stage.model
        model.requests.clear()
        model.questions.clear()
        stage.take(step)
        parts = {"turn": "\n".join([f"{step.number} {step.kind} {step.character} {step.talk}".strip(), *stage.notes])}
        asked = (*(one.messages for one in model.requests), *(messages for messages, _ in model.questions))
        parts["prompt"] = "\n\n".join("\n".join(f"[{one.role}] {one.content}" for one in each) for each in asked)
        parts["read"] = self._read(step)
        parts["page"] = self._page(step)
        if stage.kind == "files":
            parts |= self._changed()
        return {name: self._named(text) for name, text in parts.items()}

    def _named(self, text: str) -> str:
        """The text without what is random in it, and without what the machine's own clock says."""
        for kind, pattern in _RANDOM.items():
            text = pattern.sub(lambda match, kind=kind: self._name(kind, match[0]), text)
        return _TAKEN.sub("0", text)

    def _name(self, kind: str, drawn: str) -> str:
        if drawn not in self._names:
            self._counts[kind] += 1
            self._names[drawn] = f"{kind}-{self._counts[kind]}"
        return self._names[drawn]

    def _read(self, step: Step) -> str:
        said, asked = step.words(SAID), step.words(ASKED)
        values = {"character": step.character, "talk": step.talk, "said": said, "asked": asked, "word": said[-2:]}
        self.stage.notes.clear()
        for number in (step.number * 2, step.number * 2 + 1):
            method, path, body = READ[number % len(READ)]
            filled = {
                key: value.format(**values) if isinstance(value, str) else value for key, value in (body or {}).items()
            }
            self.stage.http(method, path.format(**values), filled or None)
        return "\n".join(self.stage.notes)

    def _page(self, step: Step) -> str:
        verb, action = LOOKS[step.number % len(LOOKS)]
        rows = self.stage.exchanges(step.character)
        about = {"id": rows[-1]["id"]} if rows and verb in ("trace", "earlier") else {}
        words = {"text": step.words(SAID)[-2:]} if verb == "search" else {}
        language = "zh" if step.number // len(LOOKS) % 2 else "en"
        shown = self.stage.look(step.character, step.talk, verb, language, action=action, **about, **words)
        shown.pop("edition", None)  # how often anything has changed since the program began
        return _of_page(shown)

    def _changed(self) -> Record:
        """What the step changed in the folders of the owners."""
        changed: dict[str, list[str]] = {"log": [], "files": []}
        root = self.stage.house.data / "agents"
        now = {
            path.relative_to(root).as_posix(): path.read_bytes()
            for name in CHARACTERS
            for path in (root / name).rglob("*")
            if path.is_file() and not path.name.endswith(PASSING) and DERIVED.isdisjoint(path.parts)
        }
        for name in sorted(now.keys() | self._files.keys()):
            before, after = self._files.get(name, b""), now.get(name)
            into = changed["log" if name.endswith(".jsonl") else "files"]
            if after is None:
                into.append(f"--- {name} is gone")
            elif before and after != before and after.startswith(before):
                into.append(f"--- {name} goes on\n{after[len(before) :].decode()}")
            elif after != before:
                into.append(f"--- {name}\n{after.decode(errors='replace')}")
        self._files = now
        return {name: "\n".join(texts) for name, texts in changed.items()}


def _of_page(shown: dict[str, Any]) -> str:
    """What a tab is shown, however its HTML is spaced; a line for each tag."""
    lines: list[str] = []
    for key, value in shown.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = _SPACES.sub(" ", _BETWEEN_TAGS.sub(r"\1", text))
        lines.append(f"{key}: {text}".replace("><", ">\n<"))
    return "\n".join(lines)
