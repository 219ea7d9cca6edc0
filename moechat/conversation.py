"""The conversation: one turn in numbered steps, and the changes of mind (select, correct, retract, restore)."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from moechat.ai.chat_model import ChatModel, ChatRequest
from moechat.ai.failure import Failure, in_words
from moechat.ai.offline.lines import NOTICES
from moechat.ai.offline.model import OfflineModel
from moechat.errors import MoeChatError, NotFound, Withheld
from moechat.memory.context import Context, Contexts
from moechat.model import Exchange, Message, Recollection, Status
from moechat.recall import assembly
from moechat.recall.grounds import shown
from moechat.recall.layers import Layers
from moechat.settings.character import CharacterFile
from moechat.store import disk
from moechat.store.in_memory import MemoryStore
from moechat.turn import Delta, Ended, Recalled, Shown, TurnEvent, TurnTrace, hit_rows, span_row

MOST_HELD = 8  # So many talks off the record go on at once.
MOST_EXCHANGES = 1000  # One of them holds so many exchanges.
TOO_LONG = "too_long"  # How the failure of a reply is called that was cut.
TRACES = 50  # So many turns can be looked at as they went.


class Conversation:
    """One talk of a character with a user; ``context`` says which, and in which store it is recorded.

    The context's lock is held while a turn or a change of mind runs. ``read`` finds the plain facts in what has settled, and
    ``behind`` starts what happens behind a turn. ``model`` is asked anew for each reply. ``looks``: nothing is understood by
    looking.

    It has more than twenty methods because each change of mind is one of its own.
    """

    def __init__(
        self,
        file: CharacterFile,
        layers: Layers,
        context: Context,
        *,
        now: Callable[[], datetime],
        model: Callable[[], ChatModel],
        read: Callable[[], object],
        behind: Callable[[], None],
        looks: bool = False,
    ) -> None:
        self._file, self._store, self._layers, self._context = file, context.store, layers, context
        self._lock, self._now, self._model, self._looks = context.lock, now, model, looks
        self.name = context.talk_name
        self._read, self._behind = read, behind
        self._turns: weakref.WeakSet[Generator[TurnEvent, None, None]] = weakref.WeakSet()
        self._stopping = threading.Event()
        self._stream: Iterator[str] | None = None
        self._traces: deque[TurnTrace] = deque(maxlen=TRACES)

    # ---- one turn

    def talk(self, text: str) -> Iterator[TurnEvent]:
        """One turn. Closing the iterator, or ``stop``, ends the reply; what was shown is what is stored."""
        return self._held(self._talk(text))

    def regenerate(self, id_: str = "") -> Iterator[TurnEvent]:
        """Another reply to the last message, or to an older one, which keeps what follows. Raises NotFound where there is
        none."""
        return self._held(self._regenerate(id_))

    def _held(self, turn: Generator[TurnEvent, None, None]) -> Iterator[TurnEvent]:
        """Remember a turn while it is in use, so that ``close`` can end one that nobody reads to its end."""
        self._turns.add(turn)
        return turn

    def _talk(self, text: str) -> Generator[TurnEvent, None, None]:
        text = clean(text)
        if not text.strip():
            raise MoeChatError("the message is empty; write something first")
        with self._lock, disk.in_words():
            self.follow(reads=True)
            now = self._now()
            self._context.cut_if_idle(now)
            id_ = self._store.log.begin(
                text, now, talk=self.name
            )  # 1. the message is in the log; what came before has settled
            self._read()
            yield from self._reply(id_, text, now)

    def _regenerate(self, id_: str) -> Generator[TurnEvent, None, None]:
        with self._lock, disk.in_words():
            self.follow(reads=True)
            leaf = id_ or self._store.tree.leaf(self.name)
            if leaf is None or leaf in self._store.tree.retracted:
                raise NotFound("there is no message to answer again")
            if self._store.log.is_streaming(leaf):
                raise MoeChatError("the last message is being answered right now")
            exchange = self._store.exchanges.get(leaf)
            self._store.log.answer_again(leaf)
            yield from self._reply(leaf, exchange.user, exchange.at)

    def _reply(self, id_: str, text: str, now: datetime) -> Iterator[TurnEvent]:
        pieces: list[str] = []
        notice = ""
        status: Status = "stopped"
        error = ""
        recollection = Recollection()
        messages: Sequence[Message] = ()
        self._stopping.clear()
        try:
            with disk.in_words():
                self._layers.sync()
            recollection, request = self._prepared(id_, text, now)  # 2. to 4. recall, and the prompt
            yield Recalled(id_, recollection)
            messages = request.messages
            for piece in self._pieces(request):  # 5. the reply streams
                self._store.log.stream(id_, piece)
                pieces.append(piece)
                yield Delta(piece)
            status = "stopped" if self._stopping.is_set() else "done"
            notice = self._notice(request.context)
        except MoeChatError as failure:
            status = "stopped" if isinstance(failure, Failure) and failure.saying == TOO_LONG else "failed"
            error = in_words(failure, self._file.character.language)
            if isinstance(failure, Withheld):
                pieces.clear()
                recollection, messages = Recollection(), ()
        finally:
            self._stream = None
            spans = [span_row(span) for span in recollection.spans]
            reply = clean("".join(pieces))
            hits = hit_rows(recollection)
            self._traces.append(TurnTrace(id_, messages, recollection))
            exchange, error = self._finish(  # 6. stored; it settles later
                id_, reply, status, error, hits=hits, spans=spans, notice=notice
            )
            self._behind()  # 7. embedding, the roll and the rest, in the background
        yield Ended(exchange, error, notice)

    def _finish(self, id_: str, reply: str, status: Status, error: str, **details: Any) -> tuple[Exchange, str]:
        """The exchange as it is stored, and what went wrong."""
        try:
            return self._store.log.finish(id_, reply, status, error=error, **details), error
        except Withheld as failure:
            error = in_words(failure, self._file.character.language)
            return self._store.log.finish(id_, "", "failed", error=error), error

    def _prepared(self, id_: str, text: str, now: datetime) -> tuple[Recollection, ChatRequest]:
        """What is recalled for a reply, and its prompt. The ids of all that the prompt holds are on disk when this returns, and
        none of it was forgotten meanwhile."""
        memory = self._layers.store
        while True:
            before = memory.tree.forgettings
            before_it = itertools.takewhile(lambda exchange: exchange.id != id_, self._context.exchanges(now))
            context = self._context.kept(list(before_it))
            # 2. The cue is made, and all recipes run side by side. 3. What they found is fused and merged within the budget.
            recollection = self._recall(text, now, context, own=id_)
            request = assembly.request(  # 4. the prompt
                self._layers, self._context, context, recollection, text, now, own=id_
            )
            self._store.log.rest(id_, request.rests_on)
            memory.follow_log()
            if memory.tree.forgettings == before:
                return recollection, request
            self._layers.sync()

    def _recall(self, text: str, now: datetime, context: Sequence[Exchange], *, own: str = "") -> Recollection:
        """``context`` is what the model is shown of the talk. ``own`` is the exchange that is being answered (again): it is
        not a memory of itself."""
        cue = self._layers.cue(text, now, context[-1].char if context else "", self.name)
        in_context = {own, *(exchange.id for exchange in context)}
        recollection = self._layers.recall(cue, in_context)
        return replace(recollection, dropped=[one for one in recollection.dropped if one.hit.id != own])

    def _pieces(self, request: ChatRequest) -> Iterator[str]:
        """Raises ModelError, and Failure where the reply is cut because it does not end."""
        stream = self._stream = self._model().stream(request)
        most = left = self._file.config.chat.reply_chars
        try:
            if self._stopping.is_set():
                return
            for piece in stream:
                if self._stopping.is_set():
                    return
                yield piece[:left]
                left -= len(piece)
                if left < 0:
                    raise Failure(TOO_LONG, self._file.character.language, chars=most)
        finally:
            _close(stream)

    def _notice(self, context: Sequence[Exchange]) -> str:
        """That no language model is connected, once in what the model sees of the talk; "" where one is."""
        if not isinstance(self._model(), OfflineModel):
            return ""
        nodes = (self._store.tree.nodes.get(exchange.id) for exchange in context)
        if any(node.variant.notice for node in nodes if node and node.variant):
            return ""
        return NOTICES[self._file.character.language]

    def stop(self) -> None:
        """End the reply that is streaming, from any thread."""
        self._stopping.set()
        if self._stream is not None:
            _close(self._stream)

    def close(self) -> None:
        """End every turn that somebody holds."""
        self.stop()
        for turn in list(self._turns):
            with contextlib.suppress(ValueError):  # it runs in another thread, and has been told to stop
                turn.close()

    # ---- recall

    @disk.in_words()
    def recall(self, text: str) -> Recollection:
        """The recall for this message, with its reasons. Writes and touches nothing."""
        self.follow(reads=True)
        now = self._now()
        return self._recall(clean(text), now, self._context.kept(self._context.exchanges(now)))

    @disk.in_words()
    def follow(self, *, reads: bool = False) -> None:
        """Take in the changes of people and other processes, in the author's files as well.

        ``reads``: the plain facts of what has settled are written, too. Otherwise nothing is.
        """
        self._file.refresh()
        forgettings = self._layers.store.tree.forgettings
        self._layers.store.follow()
        if self._layers.store.tree.forgettings != forgettings:
            self._traces.clear()  # they may hold words that another process forgot
        if reads and not self._looks:
            self._read()
        self._layers.refresh()
        self._layers.sync()

    # ---- changes of mind

    def select(self, id_: str, variant: int | None = None) -> None:
        """Branch here, go back to a branch, or choose another reply."""
        self.change(lambda: self._store.log.select(id_, variant))

    def correct(self, id_: str, **words: str) -> None:
        """Change the ``user`` or ``char`` words of an exchange; the exchanges after it stay, and records derived from
        it are understood anew.
        """
        self.change(lambda: self._store.log.correct(id_, **{side: clean(text) for side, text in words.items()}))

    def retract(self, id_: str) -> None:
        self.change(lambda: self._store.log.retract(id_))

    def restore(self, id_: str) -> None:
        self.change(lambda: self._store.log.restore(id_))

    @disk.in_words()
    def change(self, change: Callable[[], None]) -> None:
        """Run a change of the files that this memory rests on, and follow it."""
        with self._lock:
            self._store.read_all()
            self.follow(reads=True)
            change()
            self._traces.clear()  # they may hold words that were just forgotten
            self._read()
            self._layers.sync()
            if len(self._layers.together):  # else nothing of it is known yet
                self._layers.associate(self._now())
        self._behind()

    # ---- what faces show

    def log(self) -> list[dict[str, object]]:
        """Every logged exchange in the order of the log. ``mark``: * on the selected path, - retracted, else another branch."""
        tree, off = self._store.tree, self._store.tree.off_path()
        out = tree.taken_out() | self._store.state.missing.keys()
        texts = self._store.exchanges.of([id_ for id_ in tree.numbered() if id_ not in out])
        rows: list[dict[str, object]] = []
        for id_, exchange in texts.items():
            node = tree.nodes.get(id_)
            mark = "-" if id_ in tree.retracted else " " if id_ in off else "*"
            status = "retracted" if id_ in tree.retracted else exchange.status
            rows.append({
                "id": id_, "parent": tree.parents[id_], "status": status, "text": exchange.user, "reply": exchange.char,
                "mark": mark, "settled": node is None or node.settled, "variants": len(node.variants) if node else 1,
                "talk": exchange.talk,
            })  # fmt: skip
        return rows

    def recent(self, count: int, before: str | None = None) -> list[Shown]:
        """The newest ``count`` exchanges on the path, or those before an exchange, oldest first; cuts hide nothing here."""
        tree = self._store.tree
        start = tree.leaf(self.name) if before is None else tree.parents.get(before)
        out = tree.retracted | tree.taken_out() | self._store.state.missing.keys()
        ids = list(itertools.islice((id_ for id_ in tree.ancestors(start) if id_ not in out), count))
        ids.reverse()
        rows = shown(self._layers, self._store.tree.nodes, list(self._store.exchanges.of(ids).values()))
        if len(rows) < count and not self.name:
            first = rows[0].exchange.at if rows else (self._store.exchanges.get(before).at if before else None)
            rows = [Shown(e, ()) for e in self._layers.diary.unlogged(first, count - len(rows))] + rows
        return rows

    def trace(self, id_: str) -> TurnTrace | None:
        """The exact prompt and the whole recall of the newest reply to an exchange. In memory alone, for the last ``TRACES``
        turns of this run and until the next change of mind; None where it is not kept (any more).
        """
        return next((trace for trace in reversed(list(self._traces)) if trace.exchange_id == id_), None)

    def last_reply(self) -> str:
        """What the character said last in the talk that is still in the context, "" where there is none."""
        context = self._context.exchanges(self._now())
        return context[-1].char if context else ""


class Talks:
    """The conversations of one owner: one for each talk over the memory, and those off the record.

    ``converse`` and ``off_the_record`` make one for a context.
    """

    def __init__(
        self,
        contexts: Contexts,
        converse: Callable[[Context], Conversation],
        off_the_record: Callable[[Context], Conversation],
    ) -> None:
        self._contexts, self._converse, self._off_the_record = contexts, converse, off_the_record
        self._lock = threading.Lock()
        self._talks: dict[str, Conversation] = {}
        self._held: list[Conversation] = []

    def of(self, name: str) -> Conversation:
        """The conversation in a talk; it begins with its first message."""
        context = self._contexts.of(name)
        with self._lock:
            if name not in self._talks:
                self._talks[name] = self._converse(context)
            return self._talks[name]

    def hold(self) -> Conversation:
        """Another one off the record. Of ``MOST_HELD``, the one that began first ends when another begins."""
        first = self._contexts.of("")
        store = MemoryStore(clock=first.store.clock, zone=first.store.zone, most=MOST_EXCHANGES)
        held = self._off_the_record(Context(store, first.config))
        with self._lock:
            self._held.append(held)
            ending = self._held[:-MOST_HELD]
            del self._held[:-MOST_HELD]
        for conversation in ending:
            conversation.close()
        return held

    def stop(self) -> None:
        """End every reply that is streaming."""
        for conversation in [*self._talks.values(), *self._held]:
            conversation.stop()

    def close(self) -> None:
        for conversation in [*self._talks.values(), *self._held]:
            conversation.close()


def clean(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes U+FFFD. Nothing else of what was said is changed."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _close(stream: Iterator[str]) -> None:
    """Close the stream. A plain generator that runs in another thread ends at its next piece instead."""
    close = getattr(stream, "close", None)
    if close is not None:
        with contextlib.suppress(ValueError):
            close()
