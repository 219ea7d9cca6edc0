"""Threads for what may happen after the reply, shared by all owners: the jobs of each in order, and a tick in between. And which
of the threads that prepare a reply gives way to which."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from moechat.errors import MoeChatError

log = logging.getLogger(__name__)
REST_FACTOR = 9  # Between two rounds of ticks the worker rests this many times the CPU that a round takes.
LONG = 1000  # Characters of a message.
PAGES_AT_ONCE = 2  # Readings of a long message that run side by side.
PATIENCE_S = 0.25  # One reading of a long message waits no longer for short ones, however many come.

Job = Callable[[], object]
T = TypeVar("T")


class lazy(Generic[T]):
    """As ``functools.cached_property``, which in Python 3.11 locks a class while it works for one of its objects: a line would
    wait for a page, and that gives way to the line. Two threads that ask at once may both work."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        value = instance.__dict__[self._make.__name__] = self._make(instance)
        return value


class Crew:
    """``threads`` for the jobs of all workers, and one more that lets them tick, one after another, every ``tick_s`` seconds.

    However many workers there are, their ticks take a tenth of one CPU at most. ``also`` is done once a round. Threads start
    when they are first needed.
    """

    def __init__(self, threads: int, tick_s: float, also: Job = lambda: None) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memory")
        self._tick_s, self._also = tick_s, also
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._ticker: threading.Thread | None = None
        self._closing = threading.Event()

    def join(self, worker: Worker) -> None:
        with self._lock:
            self._workers.append(worker)
            if self._ticker is None:
                self._ticker = threading.Thread(target=self._rounds, name="memory ticks", daemon=True)
                self._ticker.start()

    def leave(self, worker: Worker) -> None:
        with self._lock:
            if worker in self._workers:
                self._workers.remove(worker)

    def run(self, job: Job) -> None:
        """When a thread is free."""
        self._pool.submit(job)

    def _rounds(self) -> None:
        pause_s = self._tick_s
        while not self._closing.wait(pause_s):
            pause_s = max(self._tick_s, REST_FACTOR * self.tick())

    def tick(self) -> float:
        """Let every worker that has no work tick. Returns how many seconds of CPU that took."""
        with self._lock:
            workers = list(self._workers)
        self._pool.submit(self._also)
        cpu_s = 0.0
        for worker in workers:
            if not self._closing.is_set() and worker.tick_if_idle():
                worker.wait(self._tick_s)  # One that takes longer goes on by itself.
                cpu_s += worker.tick_cpu_s
        return cpu_s

    def close(self) -> None:
        """Stop the threads; each ends what it is doing. The workers are closed before."""
        self._closing.set()
        if self._ticker is not None:
            self._ticker.join()
        self._pool.shutdown(cancel_futures=True)


class Worker:
    """The background work of one owner: its jobs run one after another, in threads of the crew.

    A job that fails is logged with its traceback and costs nothing else. ``stopping`` is set once the worker closes: long jobs
    look at it.
    """

    def __init__(self, crew: Crew, name: str, tick: Job) -> None:
        self._crew, self._name, self._tick = crew, name, tick
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._is_due = False  # It is in a thread, or waits for one.
        self._thread: int | None = None  # The thread that a job runs in.
        self.tick_cpu_s = 0.0
        self.stopping = threading.Event()
        crew.join(self)

    def submit(self, job: Job) -> None:
        with self._changed:
            if self.stopping.is_set():
                return
            self._jobs.append(job)
            if not self._is_due:
                self._is_due = True
                self._crew.run(self._next)

    def tick_if_idle(self) -> bool:
        """Queue a tick where nothing else is to be done. Returns whether that was so."""
        with self._changed:
            is_idle = not self._is_due
        if is_idle:
            self.submit(self._timed_tick)
        return is_idle

    def _timed_tick(self) -> None:
        begun = time.thread_time()
        try:
            self._tick()
        finally:
            self.tick_cpu_s = time.thread_time() - begun

    def wait(self, timeout_s: float | None = None) -> None:
        """Until every job that was submitted is done."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_due or self.stopping.is_set(), timeout_s)

    def close(self) -> None:
        """No further jobs; wait for the one that runs."""
        with self._changed:
            self.stopping.set()
            self._jobs.clear()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._thread in (None, threading.get_ident()))
        self._crew.leave(self)

    def _next(self) -> None:
        """Run one job; the rest waits behind the jobs of others."""
        with self._changed:
            job = self._jobs.popleft() if self._jobs else None
            self._thread = threading.get_ident() if job else None
        if job:
            self.guarded(job)
        with self._changed:
            self._thread = None
            self._is_due = bool(self._jobs)
            if self._is_due:
                self._crew.run(self._next)
            self._changed.notify_all()

    def guarded(self, job: Job) -> None:
        """Run a job, unless the worker closes; one that fails is logged and keeps no other from running. What it says in words
        (the disk is full, files change while they are copied) is logged as that: the next tick tries again."""
        try:
            if not self.stopping.is_set():
                job()
        except MoeChatError as problem:
            log.warning("%s: %s", self._name, problem)
        except Exception:
            log.exception("%s: a background job failed", self._name)


class Courtesy:
    """The messages that are being worked for in this process. All threads share one interpreter, so who sends pages waits for who
    sends a line: long ones are worked for one at a time, and between two readings such a one gives way to the short
    ones."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._long, self._here = threading.Lock(), threading.local()
        self._short, self._changed = 0, threading.Condition()
        self._pages = ThreadPoolExecutor(PAGES_AT_ONCE, "pages")

    @contextmanager
    def preparing(self, text: str) -> Iterator[None]:
        """The block works for a message whose author waits: two long ones never do at once."""
        if len(text) > LONG:
            with self._long:
                self._here.is_long = True
                try:
                    yield
                finally:
                    self._here.is_long = False
            return
        with self._changed:
            self._short += 1
        try:
            yield
        finally:
            with self._changed:
                self._short -= 1
                self._changed.notify_all()

    def pool(self, usual: Executor) -> Executor:
        """Where what this thread reads may be read beside it: pages take no thread from a line."""
        return self._pages if getattr(self._here, "is_long", False) else usual

    def give_way(self) -> None:
        """In a thread that works for a long message: wait until no short one is being prepared."""
        if getattr(self._here, "is_long", False):
            with self._changed:
                self._changed.wait_for(lambda: not self._short, self._patience_s)


COURTESY = Courtesy()
