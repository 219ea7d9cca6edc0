"""One thread for what may happen after the reply: jobs in order, and a tick in between."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, Queue

log = logging.getLogger(__name__)

Job = Callable[[], object]


class Worker:
    """Jobs run one after another; ``tick`` runs every ``tick_s`` seconds of quiet. The thread starts with the first job.

    A job that fails is logged with its traceback and costs nothing else. ``stopping`` is set once the worker closes: long jobs
    look at it.
    """

    def __init__(self, name: str, tick: Job, tick_s: float) -> None:
        self._name, self._tick, self._tick_s = name, tick, tick_s
        self._jobs: Queue[Job | None] = Queue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.stopping = threading.Event()

    def submit(self, job: Job) -> None:
        with self._lock:
            if self.stopping.is_set():
                return
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Until every job that was submitted is done."""
        self._jobs.join()

    def close(self) -> None:
        """No further jobs; wait for the one that runs."""
        with self._lock:
            self.stopping.set()
            self._jobs.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._tick_s)
            except Empty:
                self.guarded(self._tick)
                continue
            if job is None:
                self._jobs.task_done()
                return
            self.guarded(job)
            self._jobs.task_done()

    def guarded(self, job: Job) -> None:
        """Run a job, unless the worker closes; one that fails is logged and keeps no other from running."""
        try:
            if not self.stopping.is_set():
                job()
        except Exception:
            log.exception("%s: a background job failed", self._name)
