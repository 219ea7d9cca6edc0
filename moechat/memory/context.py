"""The context: the path to the selected leaf after its last cut, as the chat model is shown it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moechat.errors import DataError
from moechat.language.words import count_tokens
from moechat.model import Exchange, Message
from moechat.store import records, yaml_file
from moechat.store.files import FileStore
from moechat.store.formats import without_notice

HISTORY = "history.yaml"


def path(store: FileStore) -> list[Exchange]:
    """The exchanges of the context, oldest first, in the words that stand now (corrections and hand edits included)."""
    known = store.state.missing
    ids = [id_ for id_ in store.tree.context() if id_ not in known]
    return list(store.exchanges(ids).values())


def messages(exchanges: Sequence[Exchange]) -> list[Message]:
    """What was said, as it was said: never an assembled prompt. A reply that failed leaves no message."""
    said = []
    for exchange in exchanges:
        said.append(Message("user", exchange.user))
        if exchange.char:
            said.append(Message("assistant", without_notice(exchange.char)))
    return said


def newest(exchanges: Sequence[Exchange], *, length: int = 0, tokens: int = 0) -> list[Exchange]:
    """The newest exchanges within ``length`` messages and ``tokens`` (0: no limit; seed 003, ``context_length``).

    An exchange is two messages; one that is under way counts one and is always kept.
    """
    kept: list[Exchange] = []
    count = size = 0
    for exchange in reversed(exchanges):
        count += 2 if exchange.char else 1
        size += count_tokens(exchange.user) + count_tokens(exchange.char)
        if kept and ((length and count > length) or (tokens and size > tokens)):
            break
        kept.append(exchange)
    return kept[::-1]


def saved(folder: Path) -> list[Message]:
    """What history.yaml holds. Raises DataError where it is broken."""
    path = folder / HISTORY
    told = yaml_file.read(path, as_text=True) if path.exists() else None
    if not told:
        return []
    if not isinstance(told, list) or not all(
        isinstance(one, dict) and {"role", "content"} <= one.keys() for one in told
    ):
        raise DataError(path, "expects a list of `- role: user` with `content: …` below it")
    said = [(one["role"], one["content"]) for one in told]
    return [
        Message(role, content) for role, content in said if role in ("user", "assistant") and isinstance(content, str)
    ]


def save(folder: Path, said: Sequence[Message]) -> None:
    """Write history.yaml for people to read. Raises DataError where it is broken: then it is left as it is."""
    path = folder / HISTORY
    if path.exists() and saved(folder) == list(said):
        return
    told = "".join(f"- role: {one.role}\n  content: {records.scalar(one.content, 4)}\n" for one in said)
    records.replace(path, (told or "[]\n").encode("utf-8"))
