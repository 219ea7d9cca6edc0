"""The jobs behind a turn, one after another (embed, roll, reflect, forget), and those at the end of a command.

A tick looks for idle work.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from moechat.ai.failure import sentence
from moechat.curation.forgetting import Maintenance
from moechat.curation.upkeep import Eraser
from moechat.errors import DataError, DiskError, EmbeddingError
from moechat.memory.context import Context, Contexts, idle_h
from moechat.recall.layers import Layers
from moechat.settings.config import Config
from moechat.store import disk
from moechat.understanding.diarist import Diarist
from moechat.understanding.past import Past
from moechat.understanding.reflection import NEEDS_MODEL, ReflectionRun, Reflector
from moechat.understanding.roll import Due, Roller, due
from moechat.worker import Crew, Worker

log = logging.getLogger(__name__)
PAUSE = timedelta(seconds=10)  # A model that answers one at a time is not asked sooner after a turn: more may come.
AT_ONCE = 4  # Exchanges that a turn gives their vectors itself, since they were said elsewhere a moment ago.
EMBEDDED_AT_ONCE = 256  # Exchanges, before other background work has its turn.


class Jobs:
    """The background work of one owner. ``config`` is asked anew each time.

    The lock of a talk's context is held while a turn runs, so that nothing settles in the middle of one.
    ``looks``: nothing settles, is understood or embedded by itself. It has more than twenty methods because each kind of
    work, and each moment at which some is due, is one of its own.
    """

    def __init__(
        self,
        layers: Layers,
        contexts: Contexts,
        roller: Roller,
        past: Past,
        reflector: Reflector,
        diarist: Diarist,
        maintenance: Maintenance,
        eraser: Eraser,
        *,
        crew: Crew,
        config: Callable[[], Config],
        now: Callable[[], datetime],
        looks: bool,
    ) -> None:
        self._store, self._layers, self._contexts = layers.store, layers, contexts
        self._roller, self._past, self._reflector, self._diarist = roller, past, reflector, diarist
        self._maintenance, self._eraser = maintenance, eraser
        self._config, self._now, self._looks = config, now, looks
        self._rolling = threading.Lock()
        self._tending = threading.Lock()
        self._embedding = (0, 0.0)
        self._turn_ended: datetime | None = None
        self._stopped: list[str] = []
        self.worker = Worker(crew, f"memory of {layers.character().name}", self.tick)

    def start(self) -> None:
        """Take up the work that was left, and the vectors that are missing."""
        if not self._looks:
            with contextlib.suppress(DiskError):  # as below
                self._store.upgrade()
        if self._layers.unread_until:
            self.worker.submit(self._read_on)
        else:
            self._take_up()

    def _read_on(self) -> None:
        """Read some of what waits (a folder without indexes) and queue the rest behind other jobs. Half of the time is left
        free."""
        begun = time.monotonic()
        if self._layers.read_on():
            self.worker.stopping.wait(time.monotonic() - begun)
            self.worker.submit(self._read_on)
        else:
            self._take_up()

    def _take_up(self) -> None:
        """What needs to know all files: finish what a kill cut short, then do what waits."""
        if self._looks:
            return
        try:
            self._store.resume()
            self._go_on()
            self._store.compact()
        except DiskError as problem:  # to read goes on; who writes is told
            log.warning("%s", problem)
        self.worker.submit(self._catch_up)

    def _go_on(self) -> None:
        """Go on with what was imported and with what is being forgotten. Where something cannot be written now, it waits."""
        stopped = list[str]()
        for what, step in (("an import", self._store.imports.finish), ("a forgetting", self._eraser.run)):
            try:
                step()
            except DataError as problem:
                stopped.append(f"{what} does not go on: {problem}")
        for reason in set(stopped).difference(self._stopped):
            log.warning("%s", reason)
        self._stopped = stopped

    def _catch_up(self) -> None:
        self._roller.by_rules()
        self.roll()
        self.embed_some()
        self._read_imports()

    def after_turn(self) -> None:
        """Submit what follows a turn or a change of mind."""
        self._turn_ended = self._now()
        self.worker.submit(self._after_turn)

    def _after_turn(self) -> None:
        self._contexts.save()
        self._layers.sync()  # Another reply to what has settled is in its day file since the turn ended.
        self.embed_some()
        self.roll()
        self._tend()
        self._store.usage.write()

    def tick(self) -> None:
        """Look for idle work: after a pause, settle; after an idle hour, understand."""
        self._store.follow()
        self._layers.sync()
        if self._layers.unread_until:
            self.worker.submit(self._read_on)
            return
        admitted = self._layers.dense.admit()
        if self._looks:
            return
        if admitted:
            self.worker.submit(self.embed_some)
        self._go_on()
        for context in self._contexts.all():
            if context.lock.acquire(
                blocking=False
            ):  # a talk in which a turn runs is not quiet: others do not wait for it
                try:
                    if self._is_quiet(context.talk_name):
                        self.settle(context.talk_name)
                finally:
                    context.lock.release()
        if self.roll():
            self.read_past()
        self._tend()
        self.worker.guarded(self._eraser.back_up)
        self._read_imports()

    def _is_quiet(self, talk: str) -> bool:
        """Whether a talk has exchanges to settle, and has paused long enough for that."""
        opened, pause = self._store.tree.open(talk), self._config().roll.pause_s
        return bool(opened) and all(
            (self._now() - datetime.fromisoformat(node.at)).total_seconds() >= pause for node in opened
        )

    # ---- embedding

    def embed_some(self) -> None:
        """Make some of the missing vectors and queue the rest behind other jobs. Half of the time is left free."""
        begun = time.monotonic()
        dense = self._layers.dense
        try:
            done = self._layers.embed(self.worker.stopping, EMBEDDED_AT_ONCE)
        except EmbeddingError as error:
            log.warning("embedding stopped until the next turn: %s", error)
            dense.failure = error
            return
        taken_s = time.monotonic() - begun
        space = dense.spaces[-1] if dense.spaces else None
        left = self._layers.missing(space) if space else 0
        self._embedding = (left, taken_s / max(done, 1) * 2 * left)
        if done and left:
            self.worker.stopping.wait(taken_s)
            self.worker.submit(self.embed_some)
        elif not left and dense.changing() and not self._layers.unread_until:
            dense.switch()

    def embed_events(self, most: int) -> None:
        """Give vectors to ``most`` new events at most; the rest waits for the background. Raises EmbeddingError."""
        self._layers.episodes.vectors.embed_missing(threading.Event(), most)

    # ---- understanding, reflecting, forgetting

    def _read_imports(self) -> None:
        """Read some of what was imported, by another process perhaps, and queue the rest behind other jobs."""
        before = 0 if self._layers.unread_until else len(self._store.tree.unread())
        if before and self._roller.read_imports() < before:
            self._layers.sync()
            self.worker.submit(self._read_imports)

    def read_imports(self, progress: Callable[[int, int], None]) -> None:
        """Read all that was imported, before this returns."""
        self._layers.read_all()
        total = left = len(self._store.tree.unread())
        while left and (now_left := self._roller.read_imports()) < left:
            left = now_left
            self._layers.sync()
            progress(total - left, total)

    def roll(self, *, closing: bool = False) -> bool:
        """Understand one batch of each talk after another; each time it is decided anew what is due. False where the model is
        not to be asked now: the tick takes it up.

        ``closing``: until nothing waits.
        """
        if self._layers.unread_until:
            return False
        if not closing and self._turn_ended is not None and self._roller.model().has_one_slot:
            if self._now() - self._turn_ended < PAUSE:
                return False
        with self._rolling:
            for context in self._contexts.all():
                self._roll(context, closing=closing)
        return True

    def read_past(self) -> bool:
        """Let the model read some of what the rules alone have read, where that is wished for. False where nothing was read."""
        with self._rolling:
            has_read = self._past.read_some(self._now())
        if has_read:
            self._layers.sync()
        return has_read

    def _roll(self, context: Context, *, closing: bool) -> None:
        before, tree, config = Due(), self._store.tree, self._config()
        while True:
            exchanges = context.path()
            rounds = [e.id for e in exchanges if e.id in tree and tree.node(e.id).settled]
            work = due(
                rounds, tree.pending(context.talk_name), config.roll, idle_h=idle_h(exchanges, self._now()),
                scene_changed=self._roller.scene_changed(rounds), closing=closing,
                batch_size=config.understanding.batch_size,
            )  # fmt: skip
            if work == before or not self._roller.run(work, self._now()):
                return
            self._store.follow()
            self._layers.sync()
            if not closing:
                return
            before, tree = work, self._store.tree

    def _tend(self) -> None:
        """Associate, reflect, write of the day and forget. If one fails, the others still run. Another thread is waited for."""
        if self._layers.unread_until:
            return
        with self._tending:
            writes = partial(self._diarist.run, self._now())
            for step in (lambda: self._layers.associate(self._now()), self.reflect, writes, self._forget):
                self.worker.guarded(step)

    def reflect(self) -> ReflectionRun | None:
        """Think about what happened now, if enough has; None where not, and ``reflection.problem`` may say why."""
        report = self._reflector.run(self._now(), self.worker.stopping)
        if report is not None:
            self._layers.sync()
        return report

    def _forget(self) -> None:
        cleaning = self._maintenance.run(self._now(), self.worker.stopping)
        if cleaning.goes:
            self._layers.sync()
        if cleaning.is_done:
            self._store.compact()

    def problems(self) -> list[str]:
        """The reasons why work waits, in words for people."""
        problems = [self._roller.problem] if self._roller.problem else []
        problems += [*self._stopped, *self._layers.progress()]
        if (reason := self._reflector.problem) and reason != NEEDS_MODEL:  # without a model the page says so already
            problems.append(reason)
        left, seconds = self._embedding
        if left > EMBEDDED_AT_ONCE:
            language, minutes = self._layers.character().language, max(1, round(seconds / 60))
            problems.append(sentence("vectors", language, left=left, minutes=minutes))
        return problems

    # ---- the end of a talk

    def read(self, own: str | None) -> None:
        """What was answered in other talks than ``own`` (None: in all) settles, and the rules read it: it is known at once,
        wherever somebody asks. So is another reply to what has settled."""
        if self._looks:
            return
        store = self._store
        opened = [node for node in store.tree.open() if node.variants and not store.replies.is_alive(node.id)]
        answered = {node.talk for node in opened} - {own}
        for talk in sorted(answered):
            store.log.settle(talk)
        elsewhere = [one for one in self._roller.by_rules() if one.talk != own]
        if answered or elsewhere:
            self._layers.sync()
            self._layers.embed_in_time(self.worker.stopping, AT_ONCE)
            self.worker.submit(self.embed_some)

    @disk.in_words()
    def settle(self, talk: str | None = None) -> None:
        """Settle the answered exchanges, of one talk or of all; the rules read them at once."""
        self._store.log.settle(talk)
        self._contexts.save()
        self._roller.by_rules()
        self._layers.sync()

    @disk.in_words()
    def finish(self, *, asks_model: bool = True) -> None:
        """End a command: settle, understand and embed the new exchanges before this returns. Without ``asks_model``, what a
        language model is to read stays queued."""
        self.settle()
        if asks_model or not self._roller.model().understands:
            self.roll(closing=True)
            self._tend()
        self._store.usage.write()
        with contextlib.suppress(EmbeddingError):  # said when it was used
            self._layers.embed(self.worker.stopping, EMBEDDED_AT_ONCE)

    def close(self) -> None:
        """Settle, and stop what runs in the background. What is not understood yet stays queued."""
        try:
            for context in self._contexts.all() if not self._looks else ():
                with context.lock:
                    self.settle(context.talk_name)
        finally:
            self.worker.close()
            if not self._looks:
                self._store.usage.write()
