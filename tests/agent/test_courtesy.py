"""Who sends pages waits for who sends a line."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from moechat.reading.saying import Saying
from moechat.worker import COURTESY, LONG, Courtesy

PAGES, LINE = "长" * (LONG + 1), "在吗"


def test_a_long_message_gives_way_to_a_short_one_until_that_is_prepared() -> None:
    courtesy, begun, order = Courtesy(patience_s=600), Event(), list[str]()

    def prepare() -> None:
        with courtesy.preparing(PAGES):
            begun.set()
            courtesy.give_way()
            order.append("long")

    with courtesy.preparing(LINE):
        courtesy.give_way()  # Short ones wait for nobody.
        thread = Thread(target=prepare, daemon=True)
        thread.start()
        assert begun.wait(60)
        thread.join(0.1)
        order.append("short")
    thread.join(60)
    assert order == ["short", "long"]


def test_however_many_short_ones_come_a_long_one_goes_on() -> None:
    courtesy = Courtesy(patience_s=0.01)
    thread = Thread(target=lambda: (courtesy.preparing(LINE).__enter__(), Event().wait()), daemon=True)
    thread.start()
    with courtesy.preparing(PAGES):
        courtesy.give_way()


def test_two_long_ones_are_never_prepared_at_once() -> None:
    courtesy, order = Courtesy(), list[str]()

    def prepare() -> None:
        with courtesy.preparing(PAGES):
            order.append("second")

    thread = Thread(target=prepare, daemon=True)
    with courtesy.preparing(PAGES):
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def test_what_is_read_of_a_long_message_takes_no_thread_from_the_others() -> None:
    courtesy = Courtesy()
    with ThreadPoolExecutor(1) as usual:
        with courtesy.preparing(LINE):
            assert courtesy.pool(usual) is usual
        with courtesy.preparing(PAGES):
            assert courtesy.pool(usual) is not usual


def test_a_page_that_gives_way_holds_nothing_that_a_line_waits_for() -> None:
    begun, order = Event(), list[str]()

    def sentences() -> Iterator[str]:
        for number in range(12):
            yield f"这一页的第{number}句，谁也没有读过"
            begun.set()

    def prepare() -> None:
        with COURTESY.preparing(PAGES):
            order.append(f"long {len(Saying('none', sentences()).kinds) > 0}")  # type: ignore[arg-type]

    thread = Thread(target=prepare, daemon=True)
    with COURTESY.preparing(LINE):
        thread.start()
        assert begun.wait(60)
        order.append(f"short {len(Saying('none', ('这一句也没有读过',)).kinds) > 0}")
    thread.join(60)
    assert order == ["short True", "long True"]
