"""The keys of programs, and whose memory a request may reach: a key is kept as its hash, for some users and characters.

A key is shown once, when it is made. What a request may reach is its ``Pass``, whoever brings it.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime

from moechat.access.ledger import Kept, LedgerFile
from moechat.access.register import LETTERS, OWNER
from moechat.clock import Clock, SystemClock
from moechat.errors import FieldError, MoeChatError, NotFound

FILE = "keys.json"
KEY_LETTERS, ID_LETTERS = 32, 8
MOST_KEYS = 1000
PER_MINUTE, NEW, ANY_RATE = 120, 50, 1_000_000
Spent = Literal["requests", "bytes", "cpu_s"]
BUDGETS: Mapping[Spent, float] = {"bytes": 32 << 20, "cpu_s": 30.0}
"""What a key may send in a minute, and what its requests may cost, before it has to wait."""


class Key(Kept):
    """A key. ``users`` and ``characters`` are those that it reaches, none: all. ``many``: it speaks for several people, so that
    every request has to say for whom. ``per_minute`` requests are answered; it may begin ``new`` memories, and has begun
    ``begun``."""

    id: str
    name: str
    mark: str
    since: AwareDatetime
    users: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()
    many: bool = False
    per_minute: int = PER_MINUTE
    new: int = NEW
    begun: int = 0


class _Keys(Kept):
    """The file as a whole."""

    format: int = 1
    keys: tuple[Key, ...] = ()


class Denied(MoeChatError):
    """What a pass does not reach, in words."""

    status = 403


class Nameless(Denied):
    """A request for one of several people that does not say for whom."""

    def __init__(self) -> None:
        super().__init__("this key speaks for several people: say for whom, as `user`")


@dataclass(frozen=True)
class Pass:
    """What a request may reach: ``users`` and ``characters``, None for all. ``key`` is the id of the key that it came with."""

    key: str = ""
    users: frozenset[str] | None = None
    characters: frozenset[str] | None = None
    many: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it reaches everything, and so what the whole program shares: its settings."""
        return self.users is None and self.characters is None and not self.many

    def user(self, name: str) -> str:
        """Whose memory is meant by a name, "" for none. Raises Denied, and Nameless where one has to be named."""
        if not name:
            if self.many or (self.users is not None and len(self.users) > 1):
                raise Nameless
            return next(iter(self.users)) if self.users else OWNER
        if self.users is not None and name not in self.users:
            raise Denied("this key is for other users; leave `user` out, or name one of its own")
        return name

    def among(self, characters: Sequence[str]) -> list[str]:
        """Those of some characters that it reaches."""
        return [name for name in characters if self.characters is None or name in self.characters]

    def require_character(self, name: str) -> None:
        """Raises Denied."""
        if not self.among([name]):
            raise Denied("this key is for other characters")

    def require_all_users(self) -> None:
        """For what all users share. Raises Denied."""
        if self.users is not None or self.many:
            raise Denied("this key is for the memory of single users; what all share needs one for all")


EVERYTHING = Pass()
PASS: ContextVar[Pass] = ContextVar("pass")
"""The pass of the request that is being answered. Without one nothing is reached."""


class Keyring:
    """The file ``keys.json`` of a data folder, made with the first key. Raises DataError where it is damaged.

    ``whole`` is the word of one more key, "" for none: it opens everything, at any rate, and stands in no file.
    """

    def __init__(
        self, data: Path, clock: Clock | None = None, seconds: Callable[[], float] = time.monotonic, *, whole: str = ""
    ) -> None:
        self._file = LedgerFile(data / FILE, _Keys, "every key has to be made anew")
        self._clock, self._seconds = clock or SystemClock(), seconds
        self._lock = threading.Lock()
        self._spent: dict[tuple[str, Spent], tuple[float, float]] = {}  # (what is in hand, when that was)
        self._whole = (
            (Key(id="", name="", mark=_mark(whole), since=self._clock.now(), per_minute=ANY_RATE),) if whole else ()
        )

    def add(
        self,
        name: str,
        *,
        users: Collection[str] = (),
        characters: Collection[str] = (),
        many: bool = False,
        per_minute: int = PER_MINUTE,
        new: int = NEW,
    ) -> tuple[Key, str]:
        """(the key as it is kept, its word, which is shown once)."""
        if not name.strip():
            raise FieldError("name", name, "is empty; say who gets the key")
        if per_minute < 1:
            raise FieldError("rate", per_minute, "expects 1 or more")
        if many and users:
            raise FieldError("many", None, "goes with no users: such a key is for whomever a request names")
        word = "mk-" + "".join(secrets.choice(LETTERS) for _ in range(KEY_LETTERS)).lower()
        with self._file.changing() as entries:
            if len(entries.keys) >= MOST_KEYS:
                raise FieldError("name", name, f"is one too many: there are {MOST_KEYS} keys; revoke some")
            key = Key(
                id="".join(secrets.choice(LETTERS) for _ in range(ID_LETTERS)).lower(), name=name.strip()[:60],
                mark=_mark(word), since=self._clock.now(), users=tuple(users), characters=tuple(characters), many=many,
                per_minute=per_minute, new=new,
            )  # fmt: skip
            self._file.keep(entries, keys=(*entries.keys, key))
        return key, word

    def listed(self) -> tuple[Key, ...]:
        return self._file.entries().keys

    def revoke(self, ids: Collection[str]) -> list[Key]:
        """Take keys back, at once. Raises NotFound where there is none of that id or name."""
        with self._file.changing() as entries:
            ended = [key for key in entries.keys if key.id in ids or key.name in ids]
            if not ended:
                raise NotFound(f"there is no key {', '.join(ids)}; `moechat keys list` shows them")
            self._file.keep(entries, keys=tuple(key for key in entries.keys if key not in ended))
        return ended

    def of(self, word: str) -> Key | None:
        """The key whose word this is."""
        return self.marked(_mark(word))

    def marked(self, mark: str) -> Key | None:
        """The key with this mark: a session holds the mark of the key that it came with."""
        return next((key for key in (*self._whole, *self.listed()) if secrets.compare_digest(key.mark, mark)), None)

    def wait_s(self, key: Key) -> int:
        """How many seconds a key has to wait for its next request, 0 where it may come now, which counts."""
        with self._lock:
            wait = (1 - self._left(key.id, "requests", key.per_minute)) * 60 / key.per_minute
            for what, most in BUDGETS.items() if key.id else ():
                wait = max(wait, -self._left(key.id, what, most) * 60 / most)
            if wait <= 0:
                self._take(key.id, "requests", key.per_minute, 1)
            return math.ceil(max(wait, 0))

    def spend(self, key: str, *, sent: int = 0, cpu_s: float = 0.0) -> None:
        """A request of a key has this many bytes, or took so much CPU. One that needs no key has no bounds."""
        with self._lock:
            if key:
                self._take(key, "bytes", BUDGETS["bytes"], sent)
                self._take(key, "cpu_s", BUDGETS["cpu_s"], cpu_s)

    def _left(self, key: str, what: Spent, most: float) -> float:
        """What is in hand of ``most`` a minute."""
        now = self._seconds()
        left, at = self._spent.get((key, what), (most, now))
        return min(left + (now - at) * most / 60, most)

    def _take(self, key: str, what: Spent, most: float, taken: float) -> None:
        self._spent[key, what] = self._left(key, what, most) - taken, self._seconds()

    def begin_memory(self, id_: str) -> None:
        """Count a memory that a key begins. Raises Denied where it has begun as many as it may."""
        with self._file.changing() as entries:
            key = next((key for key in entries.keys if key.id == id_), None)
            if key is None or key.begun >= key.new:
                raise Denied(
                    "this key has begun as many new memories as it may; `moechat keys add --new` makes one for more"
                )
            others = (one.model_copy(update={"begun": one.begun + 1}) if one.id == id_ else one for one in entries.keys)
            self._file.keep(entries, keys=tuple(others))


def pass_of(key: Key) -> Pass:
    """What a key opens."""
    return Pass(
        key.id,
        frozenset(key.users) if key.users else None,
        frozenset(key.characters) if key.characters else None,
        key.many,
    )


def _mark(word: str) -> str:
    return hashlib.sha256(b"moechat.key " + word.encode("utf-8", "replace")).hexdigest()
