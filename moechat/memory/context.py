"""The context: the path to the selected leaf after its last cut, as the chat model is shown it;
after idle hours it begins anew.
"""

from __future__ import annotations

import itertools
import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from moechat.errors import DataError
from moechat.language.words import count_tokens
from moechat.model import Exchange, Message
from moechat.settings.config import Config
from moechat.store import disk
from moechat.store.days import HistoryFile
from moechat.store.kinds import Store
from moechat.turn import named

MAX_IMPORTED = 10  # Exchanges of an imported talk that its continuation is shown.


def path(store: Store, talk: str = "") -> list[Exchange]:
    """The exchanges of a talk's context, oldest first, in the words that stand now (corrections and hand edits included)."""
    missing = store.state.missing
    ids = [id_ for id_ in store.tree.context(talk) if id_ not in missing]
    return list(store.exchanges.of(ids).values())


def messages(exchanges: Sequence[Exchange], owner: str = "") -> list[Message]:
    """The words of the exchanges as messages, never an assembled prompt. A failed reply gives no message. Who is not the user
    is named before their words, and so is the ``owner`` in a talk of several."""
    talk = []
    for exchange in exchanges:
        if exchange.sent or exchange.speaker:  # else she spoke first
            talk.append(Message("user", named(exchange.speaker or owner, exchange.sent)))
        if exchange.heard:
            talk.append(Message("assistant", exchange.heard))
    return talk


def newest(exchanges: Sequence[Exchange], *, length: int = 0, tokens: int = 0) -> list[Exchange]:
    """The newest exchanges within ``length`` messages and ``tokens`` (0: no limit; seed 003, ``context_length``).

    An exchange is two messages; one that is under way counts one and is always kept. What is over the tokens leaves a quarter
    of them at a time, so that the rest stays the same for long.
    """
    sizes = (count_tokens(one.sent) + count_tokens(one.heard) for one in exchanges if tokens)
    ends = list(itertools.accumulate(sizes))
    if ends and ends[-1] > tokens:
        quarter = max(1, tokens // 4)
        first = bisect_left(ends, math.ceil((ends[-1] - tokens) / quarter) * quarter) + 1
        exchanges = exchanges[min(first, len(exchanges) - 1) :]
    kept: list[Exchange] = []
    count = 0
    for exchange in reversed(exchanges):
        count += 2 if exchange.heard else 1
        if kept and length and count > length:
            break
        kept.append(exchange)
    return kept[::-1]


def oldest(exchanges: Sequence[Exchange], excess: int) -> str:
    """The last exchange to leave out, so that what is left has that many tokens less. They go a quarter at a time, so that the
    rest stays the same for long."""
    quarter = math.ceil(len(exchanges) / 4)
    end = size = 0
    while end < len(exchanges) and (not end or size < excess):
        size += sum(count_tokens(one.sent) + count_tokens(one.heard) for one in exchanges[end : end + quarter])
        end += quarter
    return exchanges[min(end, len(exchanges)) - 1].id


@dataclass
class Context:
    """The context of one talk. ``config`` is asked anew each time. ``lock`` is held while a turn or a change of mind runs.

    If an older program left a talk in history.yaml, the first context begins with it. The settled part of the talk that was
    last spoken in is written to that file. ``problem`` says what is wrong with that file. ``leading`` gives what was said before
    in the talk that this one leaves, off the record.
    """

    store: Store
    config: Callable[[], Config]
    talk_name: str = ""
    problem: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    leading: Callable[[], list[Exchange]] = list
    _before: list[Message] = field(default_factory=list)
    _file: HistoryFile | None = None

    def __post_init__(self) -> None:
        folder = self.store.folder
        if folder is None:
            return
        self._file = HistoryFile(folder)
        if not self.store.tree.parents:
            with self._history():
                self._before.extend(self._file.read())

    def path(self) -> list[Exchange]:
        return path(self.store, self.talk_name)

    def exchanges(self, now: datetime) -> list[Exchange]:
        """The exchanges in the context at ``now``.

        After the idle hours there are none, even if the cut is not written yet. What goes on with an imported talk follows the
        end of that, however long ago it was.
        """
        path, tree = self.path(), self.store.tree
        exchanges = [*self.leading(), *path]
        own = [] if self._is_over(exchanges, now) else exchanges
        end = tree.parents.get(path[0].id) if path else tree.leaf(self.talk_name)
        if end not in tree.gone_on or (path and not own):
            return own
        gone = tree.hidden() | self.store.state.missing.keys()
        ids = list(itertools.islice((id_ for id_ in tree.ancestors(end) if id_ not in gone), MAX_IMPORTED))
        return [*self.store.exchanges.of(ids[::-1]).values(), *own]

    def cut_if_idle(self, now: datetime) -> None:
        """After the idle hours, settle the answered exchanges and begin the context anew."""
        exchanges = self.path()
        if self._is_over(exchanges or self.leading(), now):
            self.leading = list
            if exchanges:
                self.store.log.settle(self.talk_name)
                self.store.log.cut(exchanges[-1].id)

    def _is_over(self, exchanges: Sequence[Exchange], now: datetime) -> bool:
        return bool(exchanges) and idle_h(exchanges, now) >= self.config().roll.idle_cut_h

    def before(self, id_: str) -> datetime | None:
        """When the exchange before this one was, whether or not it is in the context; None where there is none."""
        parent = self.store.tree.parents.get(id_)
        exchange = self.store.exchanges.of([parent]).get(parent) if parent else None
        return exchange.at if exchange else None

    def kept(self, exchanges: Sequence[Exchange]) -> list[Exchange]:
        """The newest exchanges that the model is shown."""
        config = self.config()
        return newest(exchanges, length=config.Agent.context_length, tokens=config.chat.context_tokens)

    def until(self, id_: str, now: datetime) -> list[Exchange]:
        """Those that the model is shown of what came before this exchange."""
        exchanges = self.exchanges(now)
        places = [place for place, exchange in enumerate(exchanges) if exchange.id == id_]
        return self.kept(exchanges[: places[-1]] if places else exchanges)  # one that leads may have the same id

    def talk(self, kept: Sequence[Exchange], greeting: str = "", owner: str = "") -> list[Message]:
        """The talk as messages. One that is seen from its start begins with what history.yaml held, which
        ``context_length`` counts, else with the character's greeting."""
        talk = messages(kept, owner)
        if not self.from_the_start(kept):
            return talk
        if not self._before:
            return [Message("assistant", greeting), *talk] if greeting else talk
        length = self.config().Agent.context_length
        whole = [*self._before, *talk]
        return whole[-max(length, len(talk)) :] if length else whole

    def greeting(self, words: str) -> str:
        """The greeting where this talk began with it: not where history.yaml held what came before, nor among several."""
        return "" if self._before or self.store.tree.cast(self.talk_name) else words

    def from_the_start(self, kept: Sequence[Exchange]) -> bool:
        tree = self.store.tree
        if not kept:
            leaf = tree.leaf(self.talk_name)
            return leaf is None or tree.parents.get(leaf) is None
        return kept[0].id in tree and tree.parents[kept[0].id] is None

    def save(self) -> None:
        """The settled talk of the context, in history.yaml, if it is the one last spoken in."""
        file = self._file
        if not self.store.tree.parents or self.store.tree.spoken != self.talk_name or file is None:
            return
        with self._history():
            if not file.stands(self._settled()):
                with self.store.writing("history"):  # words that another process forgets meanwhile must not be written
                    file.write(self._settled())

    def _settled(self) -> list[Message]:
        open_ids = {node.id for node in self.store.tree.open()}
        return self.talk([exchange for exchange in self.path() if exchange.id not in open_ids])

    @contextmanager
    def _history(self) -> Iterator[None]:
        try:
            with disk.in_words():
                yield
            self.problem = ""
        except DataError as problem:
            self.problem = str(problem)


class Contexts:
    """The contexts of one owner's talks, each made when it is first asked for."""

    def __init__(self, store: Store, config: Callable[[], Config]) -> None:
        self._store, self._config = store, config
        self._lock = threading.Lock()
        self._contexts: dict[str, Context] = {}

    def of(self, talk: str) -> Context:
        with self._lock:
            if talk not in self._contexts:
                self._contexts[talk] = Context(self._store, self._config, talk)
            return self._contexts[talk]

    def aside(self, store: Store, talk: str | None, now: datetime) -> Context:
        """A context off the record, in ``store``. It goes on from a talk: from what stands now of its words in present words."""
        ids = [one.id for one in self.of(talk).exchanges(now)] if talk is not None else []

        def leading() -> list[Exchange]:
            gone = self._store.hidden()
            return [one for one in self._store.exchanges.of(ids).values() if one.id not in gone]

        return Context(store, self._config, leading=leading)

    def all(self) -> list[Context]:
        """Those of all talks that the log knows."""
        return [self.of(talk) for talk in list(self._store.tree.talks)]

    def save(self) -> None:
        """Write history.yaml."""
        for context in self.all():
            context.save()

    def problems(self) -> list[str]:
        """What is wrong with that file, in words."""
        return list(dict.fromkeys(context.problem for context in self.all() if context.problem))


def idle_h(exchanges: Sequence[Exchange], now: datetime) -> float:
    """Hours since the last of the exchanges."""
    return (now - exchanges[-1].at).total_seconds() / 3600 if exchanges else 0.0
