"""A plan that is moved: read from its own date on, by an amount or to a time, and told no finer than it was said."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from moechat.when import moved, moves
from moechat.when.span import told

ZONE = timezone(timedelta(hours=8))
AT = datetime(2026, 11, 10, 20, tzinfo=ZONE)  # a Tuesday

# The plan's days, what is said of it, its days from then on.
TABLE = """
2026-12-20 | 体检改到二十二号了 | 2026-12-22
2026-12-20 | the dentist got pushed to the 22nd | 2026-12-22
2026-11-27 | 改到三号了 | 2026-12-03
2026-12-30 | postponed to the 4th | 2027-01-04
2026-11-20 | 改到周三 | 2026-11-25
2026-11-20 | 提前到周三 | 2026-11-18
2026-11-20 | brought forward to Tuesday | 2026-11-17
2026-11-20 | 提前到十五号了 | 2026-11-15
2026-12-28 | moved from Monday to Friday | 2027-01-01
2026-11-20 | pushed from the 20th to the 5th | 2026-12-05
2026-11-20 | 原来说二十号，现在改到二十五号 | 2026-11-25
2026-11-20 | 22号那个改到28号 | 2026-11-28
2026-11-20 | 改到下周三 | 2026-11-18
2026-11-20 | 改到明天 | 2026-11-11
2026-11-20 | 改到下个月 | 2026-12-01/2026-12-31
2026-11-20 | 推迟一周 | 2026-11-27
2026-11-20 | 往后推三天 | 2026-11-23
2026-11-20 | 提前两天 | 2026-11-18
2026-11-20 | it's been put off by a week | 2026-11-27
2026-11-20 | pushed back two weeks | 2026-12-04
2026-11-20 | postponed a month | 2026-12-20
2026-11-20 | 晚了三天 | 2026-11-23
2026-11-20 | moved to a week later | 2026-11-27
2026-02-28 | put back a whole month | 2026-03-28
2027-03-01/2027-03-31 | 推迟一个月 | 2027-04-01/2027-04-30
2027-03-01/2027-03-31 | 推到五月 | 2027-05-01/2027-05-31
2026-11-20/2026-11-22 | 顺延两天 | 2026-11-22/2026-11-24
2026-11-20/2026-11-22 | 晚一天出发，回来的日子不变 | 2026-11-21/2026-11-22
2026-11-20 | the trip's now the 22nd to the 25th | 2026-11-22/2026-11-25
2026-11-20 | 改到3月到5月 | 2027-03-01/2027-05-31
2026-11-20 | moved to March to May | 2027-03-01/2027-05-31
2026-11-20 | 改到春天 | 2027-03-01/2027-05-31
2026-11-20 | 延期到明年春天 | 2027-03-01/2027-05-31
2026-11-20 | 改到年底 | 2026-11-01/2026-12-31
2026-12-20 | 改到元旦 | 2027-01-01
2026-11-20 | 改成周末 | 2026-11-21/2026-11-22
2026-11-20 | the week after | 2026-11-23/2026-11-29
2026-11-20 | moved to the following Monday | 2026-11-23
2026-11-20 | 换成第二天下午 | 2026-11-21
2026-11-20 | 还是那天，改成晚上了 | 2026-11-20
2026-11-20 | delayed until Sunday evening | 2026-11-22
"""


def days(text: str) -> tuple[datetime, datetime]:
    first, _, last = text.partition("/")
    end = datetime.fromisoformat(last or first).replace(hour=23, minute=59, second=59, tzinfo=ZONE)
    return datetime.fromisoformat(first).replace(tzinfo=ZONE), end


def test_a_moved_plan_is_read_from_its_own_date_on() -> None:
    wrong = []
    for row in TABLE.strip().splitlines():
        plan, said, wanted = row.split(" | ")
        span = moved(said, AT, days(plan))
        found = span and (span.start.date(), span.end.date())
        if found != tuple(moment.date() for moment in days(wanted)):
            wrong.append((row, span))
    assert not wrong


def test_what_moves_a_plan_and_what_does_not() -> None:
    assert all(map(moves, ("改到周五", "推迟一周", "提前到三号", "it got pushed back", "they moved it to Friday")))
    assert not any(map(moves, ("周五去体检", "我周五有空", "see you on Friday", "I like the early morning")))


def test_a_time_is_told_at_the_grain_it_was_said_with() -> None:
    table = [
        ("改到春天", "zh", "2027年春天"), ("moved to spring", "en", "spring 2027"), ("改到周六晚上", "zh", "2026-11-21 晚上"),
        ("moved to Sunday evening", "en", "2026-11-22 evening"), ("改到下个月", "zh", "2026年12月"),
        ("改到下午三点", "zh", "2026-11-20"),
        ("moved to March to May", "en", "March 2027 to May 2027"), ("改成周末", "zh", "2026-11-21至2026-11-22"),
    ]  # fmt: skip
    for said, language, wanted in table:
        span = moved(said, AT, days("2026-11-20"))
        now = AT + timedelta(days=60)
        assert span and told(span.start, span.end, span.precision, now, "en" if language == "en" else "zh") == wanted, (
            said
        )
