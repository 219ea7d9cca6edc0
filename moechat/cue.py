"""The cue of a recall: a message, and everything that is computed from it.

Everything that costs something is computed once, lazily, and shared by all recipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar, cast

import numpy as np

from moechat import when
from moechat.containment import Containment, NamedText, Reader
from moechat.language import words
from moechat.when import Span

T = TypeVar("T")
ASKING = frozenset(
    "后来 然后 聊 聊过 聊天 聊到 说 说过 讲 讲讲 讲过 谈 谈过 提 提到 发生 干嘛 干啥 事 事情 事儿 对话 内容 总结 回忆 回顾 "
    "记得 时候 有什么 talk talked talking tell told say said do did done discuss discussed happen happened mention mentioned "
    "remember remind recap conversation conversations chat chatted thing things".split()
)
"""Words that ask for memories and tell nothing of their matter."""
MANY_SPANS = 20  # A text that names more times is pasted, and asks about none of them.


@dataclass(frozen=True)
class SoFar:
    """What a talk was before a message: how many messages it has with this one, and the number of the message at which each
    entry of the world book fired last by its own rules, by its id."""

    messages: int = 1
    fired_at: Mapping[str, int] = field(default_factory=dict)


def drawn(seed: str) -> float:
    """Chance, from 0 to 1, the same for the same seed."""
    return int.from_bytes(blake2b(seed.encode(), digest_size=4).digest()) / 2**32


@dataclass(frozen=True)
class Scene:
    """What a message is said in, as a world book asks for it.

    ``before`` are the messages before it, the newest first, each with who said it; ``speaker`` says this one; the talk began with
    ``greeting`` ("": it does not begin here). ``about`` has what is told of the two beside the talk, by name; ``names`` are
    what ``{{user}}`` and ``{{char}}`` stand for; the character has the ``aliases``. ``reasons`` say why a reply is made.
    """

    before: Sequence[tuple[str, str]] = ()
    speaker: str = ""
    greeting: str = ""
    so_far: Callable[[], SoFar] = SoFar
    about: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    aliases: Collection[str] = ()
    reasons: Collection[str] = ("normal",)
    chance: Callable[[str], float] = drawn


@dataclass(frozen=True)
class Cue:
    """One message of a talk, and what recall needs to know of it: ``text`` as it was sent, for rules, and ``query`` to search by.

    ``embed`` gives the (n, dim) unit vectors of queries, or None where the model fails; it is None where no model serves.
    ``scene`` is what the world book is told of the talk. ``parts`` are the questions of a text that asks several.
    """

    text: str
    now: datetime
    previous_reply: str = ""
    embed: Callable[[Sequence[str]], np.ndarray | None] | None = None
    widths: Mapping[str, float] = field(default_factory=dict)
    anchors: when.Anchors | None = None
    talk: str = ""
    contained: Containment = field(default_factory=Containment)
    scene: Scene = Scene()
    sought: str = ""
    parts: Sequence[str] = ()
    second: when.SecondReader | None = None
    _memo: dict[str, Any] = field(default_factory=dict, repr=False)
    _locks: dict[str, threading.Lock] = field(default_factory=dict, repr=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """``make()``, called by the first recipe that asks; the others wait for it. An error is not kept."""
        lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._memo:
                self._memo[name] = make()
            return cast(T, self._memo[name])

    def _read(self, reader: Reader, name: str, read: Callable[[], T], instead: T) -> T:
        """Once, and contained: a message that a reader raises over is recalled for without that reading."""
        return self.once(name, lambda: self.contained.run(reader, NamedText("", f"{name} {self.text}"), read, instead))

    @property
    def vector(self) -> np.ndarray | None:
        """(dim,) float32, unit length; None without an embedding model."""
        embed = self.embed
        if embed is None:
            return None
        vectors = self._read("vectors", "vector", lambda: embed([self.query]), None)
        return None if vectors is None else vectors[0]

    @property
    def query(self) -> str:
        """What memories are searched for: the text, with the matter of what it follows where it leans on that (``sought``)."""
        return self.sought or self.text

    @property
    def spans(self) -> list[Span]:
        """The times that the text names, looking back."""
        widths = {**when.WIDTHS, **self.widths}
        resolve = partial(when.resolve, self.text, self.now, widths=widths, anchors=self.anchors, second=self.second)
        return self._read("times", "spans", resolve, [])

    @property
    def asks_time(self) -> bool:
        """Whether the text asks about the time it names; else the time only dates a remark."""
        if not 0 < len(self.spans) <= MANY_SPANS:
            return False
        return self._read("times", "asks", lambda: when.asks(self.text, self.spans), False)

    @property
    def matter(self) -> str:
        """The text without its times, "" where beside them it only asks: 5月20日我们聊了什么."""
        return self._read("words", "matter", self._matter, self.text)

    def _matter(self) -> str:
        rest = self.text
        for span in sorted(self.spans, key=lambda span: -span.at[0]):
            rest = f"{rest[: span.at[0]]} {rest[span.at[1] :]}"
        telling = (word for word in words.keywords(rest) if word.casefold() not in ASKING)
        return rest.strip() if any(len(word) > 1 for word in telling) else ""

    @property
    def words(self) -> list[str]:
        return self._read("words", "words", lambda: words.tokens(self.query), [])

    @property
    def keywords(self) -> list[str]:
        """The twenty telling words of the query."""
        return self.once("keywords", lambda: words.keywords(self.query, top_k=20))

    @property
    def clauses(self) -> list[str]:
        return self._read("words", "clauses", lambda: words.clauses(self.text), []) or [self.text]

    @property
    def clause_vectors(self) -> np.ndarray | None:
        """(clauses, dim) float32; a text of one clause shares its vector."""
        embed = self.embed
        if embed is None:
            return None
        if self.clauses == [self.text]:
            return None if self.vector is None else self.vector[None]
        return self._read("vectors", "clause_vectors", lambda: embed(self.clauses), None)
