"""Background work of many owners on few threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from moechat.errors import DataError
from moechat.worker import Crew, Worker

PATIENCE_S = 60.0
NEVER_S = 3600.0


@pytest.fixture
def crew() -> Iterator[Crew]:
    crew = Crew(2, NEVER_S)
    yield crew
    crew.close()


def idle() -> None:
    """A tick that does nothing."""


class Held:
    """A job that waits to be let go."""

    def __init__(self) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.goes_on.wait(PATIENCE_S)


def test_the_jobs_of_one_owner_keep_their_order_and_never_run_side_by_side(crew: Crew) -> None:
    worker, order, running = Worker(crew, "a", idle), [], []

    def job(number: int) -> Callable[[], None]:
        def run() -> None:
            running.append(number)
            assert len(running) == 1
            order.append(running.pop())

        return run

    for number in range(200):
        worker.submit(job(number))
    worker.wait()
    assert order == list(range(200))


def test_a_long_job_of_one_owner_holds_up_no_other(crew: Crew) -> None:
    slow, quick, held, done = Worker(crew, "a", idle), Worker(crew, "b", idle), Held(), []
    slow.submit(held)
    assert held.begun.wait(PATIENCE_S)
    quick.submit(lambda: done.append("b"))
    quick.wait()
    assert done == ["b"]
    held.goes_on.set()


def test_many_jobs_of_one_owner_wait_behind_one_of_another(crew: Crew) -> None:
    held, greedy, modest, order = [Held(), Held()], Worker(crew, "a", idle), Worker(crew, "b", idle), list[str]()
    for job in held:  # both threads are taken
        Worker(crew, "held", idle).submit(job)
        assert job.begun.wait(PATIENCE_S)
    for _ in range(50):
        greedy.submit(lambda: order.append("a"))
    modest.submit(lambda: order.append("b"))
    held[0].goes_on.set()
    greedy.wait()
    modest.wait()
    assert order.index("b") == 1
    held[1].goes_on.set()


def test_a_thousand_owners_share_two_threads_and_one_that_ticks(crew: Crew) -> None:
    before = threading.active_count()
    workers = [Worker(crew, str(i), idle) for i in range(1000)]
    for worker in workers:
        worker.submit(idle)
    for worker in workers:
        worker.wait()
    assert threading.active_count() - before <= 3


def test_whoever_has_work_does_not_tick_and_all_others_do(crew: Crew) -> None:
    ticks: list[str] = []
    busy, held = Worker(crew, "busy", lambda: ticks.append("busy")), Held()
    free = Worker(crew, "free", lambda: ticks.append("free"))
    busy.submit(held)
    assert held.begun.wait(PATIENCE_S)
    crew.tick()
    assert ticks == ["free"]
    held.goes_on.set()
    busy.wait()
    free.close()
    crew.tick()
    assert ticks == ["free", "busy"]


def test_a_tick_comes_by_itself() -> None:
    ticked = threading.Event()
    crew = Crew(1, 0.001)
    worker = Worker(crew, "a", ticked.set)
    assert ticked.wait(PATIENCE_S)
    worker.close()
    crew.close()


def test_closing_waits_for_the_job_that_runs_and_drops_the_others(crew: Crew) -> None:
    worker, held, done = Worker(crew, "a", idle), Held(), []
    worker.submit(held)
    worker.submit(lambda: done.append("never"))
    assert held.begun.wait(PATIENCE_S)
    closing = threading.Thread(target=worker.close)
    closing.start()
    assert worker.stopping.wait(PATIENCE_S) and closing.is_alive()
    held.goes_on.set()
    closing.join(PATIENCE_S)
    worker.submit(lambda: done.append("never"))
    worker.wait()
    assert not closing.is_alive() and not done


def test_a_job_may_close_its_own_worker(crew: Crew) -> None:
    worker = Worker(crew, "a", idle)
    worker.submit(worker.close)
    worker.wait(PATIENCE_S)
    assert worker.stopping.is_set()


def test_a_job_that_fails_is_logged_and_the_next_one_runs(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    worker, done = Worker(crew, "the memory of a", idle), []
    worker.submit(lambda: 1 // 0)
    worker.submit(lambda: done.append(1))
    worker.wait()
    assert done == [1]
    assert "the memory of a" in caplog.text and "ZeroDivisionError" in caplog.text


def test_what_a_job_says_in_words_is_logged_without_a_traceback(crew: Crew, caplog: pytest.LogCaptureFixture) -> None:
    def busy() -> None:
        raise DataError("log.jsonl", "it changes all the time")

    worker = Worker(crew, "the memory of a", idle)
    worker.submit(busy)
    worker.wait()
    assert "log.jsonl: it changes all the time" in caplog.text and "Traceback" not in caplog.text
