"""The conversation: one turn in numbered steps, and the changes of mind (select, correct, retract, restore)."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

from moechat.ai.chat_model import ChatModel, ChatRequest
from moechat.ai.cleaner import Instead, continued
from moechat.ai.failure import Failure, in_words, sentence
from moechat.ai.guard import AGAIN, guarded
from moechat.ai.offline.model import OfflineModel
from moechat.ai.reply_stream import ReplyOutcome, ReplyStream
from moechat.ai.spoken import spoken
from moechat.errors import ModelError, MoeChatError, NotFound, Withheld
from moechat.memory import world_book
from moechat.memory.context import Context, oldest
from moechat.model import Exchange, Message, Recollection, Status
from moechat.recall import assembly, greeting
from moechat.recall.layers import Layers
from moechat.recall.talk_path import TalkPath
from moechat.settings.character import CharacterFile
from moechat.store import disk
from moechat.store.plain import storable
from moechat.store.usage import TurnCost
from moechat.turn import Delta, Ended, Recalled, Sent, TurnEvent, TurnTrace, cost_of, hit_rows, size, span_row
from moechat.worker import COURTESY

TOO_LONG = "too_long"  # How the failure of a reply is called that was cut.
MAX_TRACES = 50  # Turns that can be looked at as they went.


class Conversation:
    """One talk of a character with a user; ``context`` says which, and in which store it is recorded.

    The context's lock is held while a turn or a change of mind runs. ``read`` takes into memory what was answered in other
    talks than the named one, and finds the plain facts in it. ``behind`` starts what happens behind a turn, and while ``first``
    lasts nothing of that stands in a turn's way; ``spend`` counts what a turn cost. ``model`` is asked anew for each reply.

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
        read: Callable[[str | None], object],
        behind: Callable[[], None],
        first: Callable[[], AbstractContextManager[None]],
        spend: Callable[[TurnCost], None],
    ) -> None:
        self._file, self._store, self._layers, self._context = file, context.store, layers, context
        self._lock, self._now, self._model = context.lock, now, model
        self.name = context.talk_name
        self._own = self.name if self._store is layers.store else None  # the talk that may still be answered anew
        self._read, self._behind, self._first, self._spend = read, behind, first, spend
        self._turns: weakref.WeakSet[Generator[TurnEvent, None, None]] = weakref.WeakSet()  # ``close`` ends them
        self._stopping = threading.Event()
        self._stream: Iterator[str] | None = None
        self._left_out = ""  # The last exchange of the context that the model had no room for.
        self._traces: deque[TurnTrace] = deque(maxlen=MAX_TRACES)
        self.path = TalkPath(self._store, layers, self.name, self._traces)

    # ---- one turn

    def talk(self, text: str, sent: Sent | None = None) -> Generator[TurnEvent, None, None]:
        """One turn. Closing the iterator, or ``stop``, ends the reply; what was shown is what is stored. ``sent``: the message
        came from a front end, with a history of its own."""
        self._turns.add(turn := self._talk(text, sent))
        return turn

    def regenerate(
        self, id_: str = "", sent: Sent | None = None, *, goes_on: bool = False
    ) -> Generator[TurnEvent, None, None]:
        """Another reply to the last message, or to an older one, which keeps what follows; ``goes_on``: more of the reply that is
        there. Raises NotFound where there is none."""
        self._turns.add(turn := self._regenerate(id_, sent, goes_on=goes_on))
        return turn

    def hear(self, id_: str, text: str, speaker: str = "", *, at: datetime | None = None, passes: bool = False) -> None:
        """Record what somebody says in this talk of several, who is the user ("") or another; ``regenerate`` answers it. See
        ``Log.begin``."""
        with self._first(), self._lock, disk.in_words():
            self.follow(reads=True)
            if id_ not in self._store.tree:
                at = at or self._now()
                self._context.cut_if_idle(at)
                self._store.log.begin(storable(text), at, talk=self.name, speaker=speaker, heard=id_, passes=passes)
                self._read(self._own)
        self._behind()

    def _talk(self, text: str, sent: Sent | None) -> Generator[TurnEvent, None, None]:
        text = storable(text)
        if not (text.strip() or (sent and sent.attachments)):
            raise MoeChatError("the message is empty; write something first")
        with self._first(), self._lock, disk.in_words():
            self.follow(reads=True)
            now = self._now()
            self._context.cut_if_idle(now)
            if sent is None and self._own == "":
                greeting.record(self._store)
            with COURTESY.preparing(text):
                id_ = self._store.log.begin(  # 1. the message is in the log; what came before has settled
                    text,
                    now,
                    talk=self.name,
                    speaker=sent.speaker if sent else "",
                    attachments=sent.attachments if sent else (),
                    begins=bool(sent and sent.begins),
                    key=sent.key if sent else "",
                )
                self._read(self._own)
            yield from self._reply(id_, text, now, sent)

    def _regenerate(self, id_: str, sent: Sent | None, *, goes_on: bool) -> Generator[TurnEvent, None, None]:
        with self._first(), self._lock, disk.in_words():
            self.follow(reads=True)
            leaf = id_ or self._store.tree.leaf(self.name)
            if leaf is None or leaf in self._store.tree.retracted:
                raise NotFound("there is no message to answer again")
            if self._store.replies.is_alive(leaf):
                raise MoeChatError("the last message is being answered right now")
            exchange = self._store.exchanges.get(leaf)
            if goes_on and not exchange.char.strip():
                raise MoeChatError("there is no reply to go on with; ask for another")
            if goes_on and isinstance(self._model(), OfflineModel):
                raise MoeChatError("only a language model can go on with a reply; connect one in the settings")
            self._store.log.answer_again(leaf, goes_on=goes_on)
            yield from self._reply(leaf, exchange.user, exchange.at, sent, exchange.char if goes_on else "")

    def _reply(self, id_: str, text: str, now: datetime, sent: Sent | None, own: str = "") -> Iterator[TurnEvent]:
        """``own`` is the reply that goes on."""
        begun = [own or (sent.begun if sent else "")]  # The page, or the front end, has this much of the reply already.
        pieces: list[str] = []
        notice = ""
        status: Status = "stopped"
        error = kind = ""
        recollection = Recollection()
        messages: Sequence[Message] = ()
        outcome = ReplyOutcome()
        self._stopping.clear()
        try:
            with disk.in_words(), COURTESY.preparing(text):
                self._layers.sync()
            while True:
                with COURTESY.preparing(text):
                    recollection, request = self._prepared(id_, text, now, sent, own)  # 2. to 4. recall, and the prompt
                yield Recalled(id_, recollection)
                messages = request.messages
                try:
                    stream = self._guarded(request, outcome)
                    stream = continued(own, stream) if own else stream
                    for piece in spoken(stream) if sent and sent.spoken else stream:  # 5. the reply streams
                        if instead := isinstance(piece, Instead):
                            pieces.clear()
                        whole = piece if pieces else "".join([*begun, piece])
                        self._store.replies.write(id_, whole, instead=instead)
                        pieces.append(whole)
                        yield Delta(piece, instead)
                    break
                except ModelError as problem:
                    if problem.kind != "context_full" or pieces or not request.context or sent:
                        raise
                    self._model().window.overflowed(size(messages), str(problem))
                    self._left_out = oldest(request.context, 0)
            status = "stopped" if self._stopping.is_set() else "done"
            notice = self._notice(request.context, is_cut=outcome.is_cut)
        except MoeChatError as failure:
            status = "stopped" if isinstance(failure, Failure) and failure.saying == TOO_LONG else "failed"
            error = in_words(failure, self._file.character.language)
            kind = failure.kind if isinstance(failure, ModelError) else "other"
            if isinstance(failure, Withheld):
                pieces.clear()
                recollection, messages = Recollection(), ()
        finally:
            self._stream = None
            spans = [span_row(span) for span in recollection.spans]
            reply = storable("".join(pieces or begun))
            hits = hit_rows(recollection)
            before = self._traces[-1].messages if self._traces else ()
            with COURTESY.preparing(text):
                cost = counted(self._model(), messages, before, reply, outcome)
                self._traces.append(TurnTrace(id_, messages, recollection, outcome.thoughts, cost))
                exchange, error = self._finish(  # 6. stored; it settles later
                    id_, reply if pieces or not own else "", status, error, hits=hits, spans=spans, notice=notice
                )
            if cost:
                self._spend(cost)
            self._behind()  # 7. embedding, the roll and the rest, in the background
        yield Ended(exchange, error, notice, outcome.is_cut, cost, kind, tuple(outcome.calls))

    def _finish(self, id_: str, reply: str, status: Status, error: str, **details: Any) -> tuple[Exchange, str]:
        """The exchange as it is stored, and what went wrong."""
        try:
            return self._store.log.finish(id_, reply, status, error=error, **details), error
        except Withheld as failure:
            error = in_words(failure, self._file.character.language)
            return self._store.log.finish(id_, "", "failed", error=error), error

    def _prepared(
        self, id_: str, text: str, now: datetime, sent: Sent | None, own_reply: str
    ) -> tuple[Recollection, ChatRequest]:
        """What is recalled for a reply, and its prompt. The ids of all that the prompt holds are on disk when this returns, and
        none of it was forgotten meanwhile."""
        memory = self._layers.store
        while True:
            before = memory.tree.forgettings
            context = self._context.until(id_, now) if sent is None else list(memory.exchanges.of(sent.ids).values())
            if self._left_out in (ids := [exchange.id for exchange in context]):
                context = context[ids.index(self._left_out) + 1 :]
            # 2. The cue is made, and all recipes run side by side. 3. What they found is fused and merged within the budget.
            recollection = self._recall(text, now, context, own=id_, sent=sent, goes_on=bool(own_reply))
            request = assembly.request(  # 4. the prompt
                self._layers, self._context, context, recollection, text, now, own=id_, sent=sent, going_on=own_reply
            )
            room = self._model().window.room
            if room and context and not sent and (excess := size(request.messages) - room) > 0:
                self._left_out = oldest(context, excess)
                continue
            if isinstance(self._model(), OfflineModel):
                request = assembly.with_record(self._store, self._layers, id_, request, recollection, now)
            self._store.log.rest(id_, request.rests_on)
            memory.follow_log()
            if memory.tree.forgettings == before:
                return recollection, request
            self._layers.sync()

    def _recall(
        self,
        text: str,
        now: datetime,
        context: Sequence[Exchange],
        *,
        own: str = "",
        brings_up: str = "",
        sent: Sent | None = None,
        goes_on: bool = False,
    ) -> Recollection:
        """``context`` is what the model is shown of the talk. ``own`` is the exchange that is being answered (again): it is
        not a memory of itself."""
        last, character = context[-1].char if context else "", self._file.character
        greeting = self._context.greeting(character.greeting) if sent is None else sent.greeting
        scene = world_book.scene(
            self._store, character, own, self.name, context, greets=bool(greeting), goes_on=goes_on,
            greeting=greeting if sent or self._context.from_the_start(context) else "",
        )  # fmt: skip
        cue = self._layers.cue(text, now, last, self.name, scene)
        in_context = {own, *(exchange.id for exchange in context)}
        recollection = self._layers.recall(cue, in_context, brings_up)
        return replace(recollection, dropped=[one for one in recollection.dropped if one.memory.id != own])

    def _guarded(self, request: ChatRequest, outcome: ReplyOutcome) -> Iterator[str]:
        """The reply as it may be shown. What is none is asked for once more, in silence. Raises as ``_pieces`` does."""
        model = self._model()
        if isinstance(model, OfflineModel):
            yield from self._pieces(request, outcome)
            return
        for is_last in (False, True):
            with contextlib.closing(self._pieces(request, outcome)) as pieces:
                try:
                    yield from guarded(pieces, request, outcome, model=model.name, is_last=is_last)
                    return
                except Failure as failure:
                    if self._stopping.is_set():
                        return
                    if is_last or failure.saying not in AGAIN:
                        raise

    def _pieces(self, request: ChatRequest, outcome: ReplyOutcome) -> Generator[str, None, None]:
        """Raises ModelError, and Failure where the reply is cut because it does not end. Fills in the outcome."""
        stream = self._stream = self._model().stream(request)
        most = left = self._file.config.chat.reply_chars
        try:
            if self._stopping.is_set():
                return
            for piece in stream:
                if self._stopping.is_set():
                    return
                if isinstance(piece, Instead):
                    left = most
                    yield piece
                else:
                    yield piece[:left]
                left -= len(piece)
                if left < 0:
                    raise Failure(TOO_LONG, self._file.character.language, chars=most)
        finally:
            _close(stream)
            vars(outcome).update(vars(stream.outcome if isinstance(stream, ReplyStream) else ReplyOutcome()))

    def _notice(self, context: Sequence[Exchange], *, is_cut: bool) -> str:
        """That the reply was cut; that no language model is connected, once in what the model sees of the talk; else ""."""
        if is_cut:
            return sentence("cut", self._file.character.language, model=self._model().name)
        model = self._model()
        if not isinstance(model, OfflineModel):
            return ""
        nodes = (self._store.tree.nodes.get(exchange.id) for exchange in context)
        notice = model.notice(self._file.character.language)
        if any(node.variant.notice == notice for node in nodes if node and node.variant):
            return ""
        return notice

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
    def recall(self, text: str, brings_up: str = "") -> Recollection:
        """The recall for this message, with its reasons; ``brings_up`` tries that setting out. Writes and touches nothing."""
        self.follow(reads=True)
        now = self._now()
        return self._recall(storable(text), now, self._context.kept(self._context.exchanges(now)), brings_up=brings_up)

    @disk.in_words()
    def follow(self, *, reads: bool = False) -> None:
        """Take in the changes of people and other processes, in the author's files as well.

        ``reads``: what was answered in other talks is memory from now on, with its plain facts. Otherwise nothing is written.
        """
        self._file.refresh()
        forgettings = self._layers.store.tree.forgettings
        self._layers.store.follow()
        if self._layers.store.tree.forgettings != forgettings:
            self._traces.clear()  # they may hold words that another process forgot
        if reads:
            self._read(self._own)
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
        self.change(lambda: self._store.log.correct(id_, **{side: storable(text) for side, text in words.items()}))

    def retract(self, *ids: str, unshown: bool = False) -> None:
        """Take exchanges back: they are no longer recalled, and everything that was derived from them is removed.
        ``unshown``: a program shows them no more, and may show them again."""

        def retract() -> None:
            for id_ in ids:
                self._store.log.retract(id_, unshown=unshown)

        self.change(retract)

    def restore(self, *ids: str) -> None:
        """Bring back exchanges that were taken back."""

        def restore() -> None:
            for id_ in ids:
                self._store.log.restore(id_)

        self.change(restore)

    @disk.in_words()
    def change(self, change: Callable[[], object], then: Callable[[], object] = lambda: None) -> None:
        """Run a change of the files that this memory rests on, and follow it; ``then`` goes before the work behind it."""
        with self._lock:
            self._store.read_all()
            self.follow(reads=True)
            change()
            self._traces.clear()  # they may hold words that were just forgotten
            self._read(self._own)
            self._layers.sync()
            if len(self._layers.together):  # else nothing of it is known yet
                self._layers.associate(self._now())
        try:
            then()
        finally:
            self._behind()

    # ---- what faces show

    def trace(self, id_: str) -> TurnTrace | None:
        """The exact prompt and the whole recall of the newest reply to an exchange. In memory alone, for the last ``MAX_TRACES``
        turns of this run and until the next change of mind; None where it is not kept (any more).
        """
        return next((trace for trace in reversed(list(self._traces)) if trace.exchange_id == id_), None)

    def last_reply(self) -> str:
        """What the character said last in the talk that is still in the context, "" where there is none."""
        context = self._context.exchanges(self._now())
        return context[-1].char if context else ""


def counted(
    model: ChatModel, messages: Sequence[Message], before: Sequence[Message], reply: str, outcome: ReplyOutcome
) -> TurnCost | None:
    """What a turn cost, the prompt ``before`` it being the last one; None where there was no prompt or no language model."""
    if not messages or isinstance(model, OfflineModel):
        return None
    if outcome.usage:
        model.window.counted(size(messages), outcome.usage)
    return cost_of(messages, before, reply, outcome.usage)


def _close(stream: Iterator[str]) -> None:
    """Close the stream. A plain generator that runs in another thread ends at its next piece instead."""
    close = getattr(stream, "close", None)
    if close is not None:
        with contextlib.suppress(ValueError):
            close()
