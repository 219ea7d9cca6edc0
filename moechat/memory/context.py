"""The context: the path to the selected leaf after its last cut, as the chat model is shown it."""

from __future__ import annotations

from collections.abc import Sequence

from moechat.language.words import count_tokens
from moechat.model import Exchange, Message
from moechat.store.files import FileStore


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
            said.append(Message("assistant", exchange.char))
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
