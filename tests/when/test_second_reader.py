"""The second reader: what it is asked, what becomes of its answers, and what a text that breaks it costs."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

from moechat.when import resolve, second_reader
from moechat.when.reader import Jionlp

NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))


class Extract:
    """What jionlp is called by, with a scripted answer."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows, self.texts, self.inside, self.most = list(rows), list[str](), 0, 0

    def __call__(self, text: str, time_base: dict[str, int], with_parsing: bool) -> list[dict[str, Any]]:
        assert (time_base["month"], time_base["hour"], with_parsing) == (5, 15, True)
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.texts.append(text)
        self.inside -= 1
        return self.rows


def row(text: str, first: str, last: str, kind: str = "time_point") -> dict[str, Any]:
    return {"text": text, "type": kind, "detail": {"time": [first, last]}}


def test_it_is_asked_for_what_is_left_and_only_where_that_has_digits_or_a_unit() -> None:
    extract = Extract()
    second = Jionlp(extract)
    for text in ("昨天我们聊了什么", "三月兔真可爱", "what did we do on the 5th", "你好吗"):
        resolve(text, NOW, second=second)
    assert extract.texts == []
    resolve("昨天说的民国十二年的事", NOW, second=second)
    assert extract.texts == ["  说的民国十二年的事"]


def test_what_it_finds_stands_beside_what_the_rules_found_in_the_order_of_the_text() -> None:
    second = Jionlp(Extract(row("民国十二年", "1923-01-01 00:00:00", "1923-12-31 23:59:59")))
    spans = resolve("民国十二年的旧报纸，昨天找到的", NOW, second=second)
    assert [(span.phrase, span.start.year, span.at[0]) for span in spans] == [
        ("民国十二年", 1923, 0),
        ("昨天", 2025, 10),
    ]
    assert spans[0].start.tzinfo is NOW.tzinfo


def test_a_whole_day_is_a_day_and_all_else_a_range_and_none_ends_before_it_begins() -> None:
    def units(first: str, last: str) -> list[tuple[str, tuple[int, int]]]:
        second = Jionlp(Extract(row("民国十二年", first, last, "time_span")))
        return [(span.granularity, span.at) for span in resolve("说的民国十二年的事", NOW, second=second)]

    place = (2, 7)
    assert units("1923-01-01 00:00:00", "1923-01-01 23:59:59") == [("day", place)]
    assert units("1923-01-01 00:00:00", "1923-01-01 23:00:00") == [("range", place)]
    assert units("1923-01-01 00:00:00", "1923-01-02 00:00:00") == [("range", place)]
    assert units("1923-01-01 08:00:00", "1923-01-01 08:00:00") == [("range", place)]
    assert units("1923-01-02 00:00:00", "1923-01-01 00:00:00") == []
    elsewhere = Jionlp(Extract(row("另一句", "1923-01-01 00:00:00", "1923-01-01 23:59:59")))
    assert resolve("民国十二年的事", NOW, second=elsewhere) == []


def test_what_has_no_bounds_is_no_point_of_time_or_breaks_it_is_no_time() -> None:
    for answer in (
        row("民国", "-inf", "1923-12-31 23:59:59"),
        row("民国", "x", "y", "time_delta"),
        row("民国", "x", "y"),
        {},
    ):
        assert resolve("民国十二年的事", NOW, second=Jionlp(Extract(answer))) == []


def test_one_text_at_a_time() -> None:
    extract = Extract()
    second = Jionlp(extract)
    threads = [threading.Thread(target=resolve, args=("民国十二年", NOW), kwargs={"second": second}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(extract.texts), extract.most) == (8, 1)


def test_none_is_none() -> None:
    assert second_reader("none") is None
