"""Whatever a stranger's card or book has in its fields: it is read, or refused in words, and goes out again."""

from __future__ import annotations

import contextlib
import json
import random
from copy import deepcopy
from typing import Any

from moechat.author import character_folder
from moechat.cards import book, card, container
from moechat.errors import MoeChatError
from tests.cards.cards import V1, V2, V3, WORLD

JUNK = (
    None, True, 0, -1, 1e308, 10**30, "", "x" * 50, "{{user}}", "@@depth 9\n@@@role x\nq", [], {}, [None, {}], {"a": [1]}, "/(/",
)  # fmt: skip

CHANGES = {"text": "n", "keys": ["a"], "enabled": False, "logic": "all", "position": "depth"}


def changed(value: Any, chance: random.Random) -> Any:
    """A value with some of it replaced by junk, and some left out."""
    if chance.random() < 0.06:
        return deepcopy(chance.choice(JUNK))
    if isinstance(value, dict):
        return {key: changed(one, chance) for key, one in value.items() if chance.random() > 0.03}
    return [changed(one, chance) for one in value] if isinstance(value, list) else value


def test_a_card_with_junk_in_it_is_kept_as_it_is() -> None:
    for seed in range(120):
        value = changed((V1, V2, V3)[seed % 3], random.Random(seed))
        read = None
        with contextlib.suppress(MoeChatError):
            read = container.read(json.dumps(value).encode(), "a.json")
        if read is None:
            continue
        character_folder.preview(read)
        for kind in container.KINDS:
            again = container.read(container.written(kind, read.card), "a")
            assert again is not None and again.card == value, seed
        card.with_keys(read.card, {"persona": "z", "tags": ["q"]})


def test_a_book_with_junk_in_it_is_kept_as_it_is() -> None:
    for seed in range(60):
        value = changed(WORLD if seed % 2 else V3["data"]["character_book"], random.Random(seed))
        dialect = book.dialect_of(value)
        if dialect is None:
            assert book.entries_of(value, "w") == [], seed
            continue
        before = deepcopy(value)
        book.unheeded(value)
        assert all(0 <= entry.probability <= 100 for entry in book.entries_of(value, "w")), seed
        for _, entry in book.raw_entries(value):
            with contextlib.suppress(MoeChatError):
                book.changed(entry, dialect, CHANGES)
        assert value == before, seed
