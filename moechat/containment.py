"""An error over one record stays with that record.

Whatever reads one exchange, one text or one finding (times, words, rules, a model's answer, an embedding model) is run here.
If it raises, that record alone does without its reading: the error is logged with its traceback, told once, and the
record is read again at the next start, hence after every update. Errors that are raised on purpose, and those of files and
memory, are about more than one record and pass through.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

from moechat.errors import MoeChatError, TextRefused
from moechat.sentences import sentence
from moechat.worker import COURTESY

log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
Reader = Literal["times", "words", "rules", "model", "vectors", "topics", "links"]
PASSING = (MoeChatError, OSError, MemoryError)
MAX_RECORDS_NAMED = 10

_MESSAGE = {"zh": "一条消息", "en": "a message"}
_MORE = {"zh": "等 {count} 处", "en": "and {count} more"}


class NamedText(NamedTuple):
    """What is read: its id, "" for a message that is not recorded, and the text."""

    id: str
    text: str


class _Raised(NamedTuple):
    text: int
    """The hash of the text: another text under the same id is read again."""
    error: str


class Containment:
    """The records of one owner that a reader could not read since this start. Safe for several threads."""

    def __init__(self) -> None:
        self._failures: dict[tuple[Reader, str], _Raised] = {}
        self._shown: set[tuple[str, int | None]] = set()

    def run(self, reader: Reader, record: NamedText, read: Callable[[], T], instead: T) -> T:
        """What ``read`` gives, or ``instead`` where it raises, or has raised over this very text."""
        results = self.each(reader, [record], lambda one: one, lambda _: read())
        return results[0] if results else instead

    def each(
        self, reader: Reader, items: Sequence[T], record: Callable[[T], NamedText], work: Callable[[Sequence[T]], R]
    ) -> list[R]:
        """What ``work`` gives for all the items at once. Where it raises, they are halved until one alone raises: that one is
        left out, as is one that has raised before. [] where nothing is left."""
        left = [item for item in items if not self.failed(reader, record(item))]
        if not left:
            return []
        COURTESY.give_way()
        try:
            result = self.attempt(reader, [record(item) for item in left], lambda: work(left))
        except Exception as error:
            if isinstance(error, PASSING) and not isinstance(error, TextRefused):
                raise
            if len(left) == 1:
                self._keep(reader, record(left[0]), error)
                return []
        else:
            for item in left:
                if id_ := record(item).id:
                    self._failures.pop((reader, id_), None)
            return [result]
        half = len(left) // 2
        return [*self.each(reader, left[:half], record, work), *self.each(reader, left[half:], record, work)]

    def attempt(self, reader: Reader, records: Sequence[NamedText], work: Callable[[], R]) -> R:
        """Every reading goes through here: a subclass can let some of them fail."""
        return work()

    def _keep(self, reader: Reader, record: NamedText, error: Exception) -> None:
        """Remember a failure. The first at a place of the code is logged as an error, its repeats over other records as warnings:
        the commands show errors alone."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        level = logging.WARNING if (frame.filename, frame.lineno) in self._shown else logging.ERROR
        self._shown.add((frame.filename, frame.lineno))
        self._failures[reader, record.id] = _Raised(hash(record.text), type(error).__name__)
        log.log(level, "%s of %s cannot be read", reader, record.id or "a message", exc_info=error)

    def failed(self, reader: Reader, record: NamedText) -> bool:
        """Whether a reader raised over this record as it is now."""
        failure = self._failures.get((reader, record.id))
        return failure is not None and failure.text == hash(record.text)

    def ids(self, reader: Reader) -> list[str]:
        """Of the records that a reader raised over."""
        return [id_ for name, id_ in list(self._failures) if name == reader]

    def problems(self, language: Literal["zh", "en"]) -> list[str]:
        """What could not be read, in words for people: a line for each reader and kind of error."""
        lines: dict[tuple[Reader, str], list[str]] = {}
        for (reader, id_), failure in list(self._failures.items()):
            lines.setdefault((reader, failure.error), []).append(id_ or _MESSAGE[language])
        return [
            sentence(
                "memory",
                "unreadable",
                language,
                lost=sentence("lost", reader, language),
                ids=_listed(ids, language),
                error=error,
            )
            for (reader, error), ids in lines.items()
        ]


def _listed(ids: Sequence[str], language: Literal["zh", "en"]) -> str:
    names = ("、" if language == "zh" else ", ").join(ids[:MAX_RECORDS_NAMED])
    more = len(ids) - MAX_RECORDS_NAMED
    return names if more <= 0 else f"{names} {_MORE[language].format(count=more if language == 'en' else len(ids))}"
