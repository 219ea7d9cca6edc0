"""The Chinese calendar: lunar dates, solar terms, festivals and public holidays."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.when.calendar import (
    FESTIVALS,
    SOLAR_TERMS,
    easter,
    festival_days,
    holiday,
    lunar_day,
    lunar_month,
    lunar_year,
    nth_weekday,
    solar_term,
)  # fmt: skip

# As published almanacs give them.
NEW_YEARS = {
    1990: (1, 27), 1995: (1, 31), 2000: (2, 5), 2005: (2, 9), 2010: (2, 14), 2014: (1, 31),
    2015: (2, 19), 2016: (2, 8), 2017: (1, 28), 2018: (2, 16), 2019: (2, 5), 2020: (1, 25),
    2021: (2, 12), 2022: (2, 1), 2023: (1, 22), 2024: (2, 10), 2025: (1, 29), 2026: (2, 17),
    2027: (2, 6), 2028: (1, 26), 2029: (2, 13), 2030: (2, 3), 2033: (1, 31), 2034: (2, 19),
    2040: (2, 12), 2050: (1, 23), 2060: (2, 2),
}  # fmt: skip
LEAP_MONTHS = {
    2001: 4, 2004: 2, 2006: 7, 2009: 5, 2012: 4, 2014: 9, 2017: 6, 2020: 4, 2023: 2, 2025: 6, 2028: 5, 2031: 3,
    2033: 11,
}  # fmt: skip


@pytest.mark.parametrize("year", NEW_YEARS)
def test_the_new_year_is_where_the_almanac_has_it(year: int) -> None:
    assert lunar_day(year, 1, 1) == date(year, *NEW_YEARS[year])


def test_leap_months_are_those_of_the_almanac() -> None:
    found = {year: lunar_year(year)[1] for year in range(2000, 2035) if lunar_year(year)[1]}  # type: ignore[index]
    assert found == LEAP_MONTHS


def test_lunar_years_follow_each_other_without_a_gap() -> None:
    for year in range(1900, 2100):
        first, _, lengths = lunar_year(year)  # type: ignore[misc]
        assert first + timedelta(days=sum(lengths)) == lunar_day(year + 1, 1, 1)
        assert date(year, 1, 21) <= first <= date(year, 2, 21)
        assert set(lengths) <= {29, 30}


@given(year=st.integers(1900, 2100), month=st.integers(1, 12), day=st.integers(1, 30))
def test_a_lunar_day_lies_in_its_month(year: int, month: int, day: int) -> None:
    first, length = lunar_month(year, month)  # type: ignore[misc]
    found = lunar_day(year, month, day)
    if day <= length:
        assert found == first + timedelta(days=day - 1)
    else:
        assert found == (first + timedelta(days=length - 1) if month == 12 else None)


def test_there_is_no_lunar_date_outside_the_table() -> None:
    assert lunar_day(1899, 1, 1) is None
    assert lunar_day(2101, 1, 1) is None
    assert lunar_day(2024, 6, 1, leap=True) is None


def test_a_leap_month_follows_the_month_of_its_number() -> None:
    assert lunar_day(2025, 6, 1, leap=True) == date(2025, 7, 25)
    assert lunar_day(2025, 7, 7) == date(2025, 8, 29)


# One festival a line: day in 2023, 2024, 2025, 2026.
DAYS = """
除夕 2023-01-21 2024-02-09 2025-01-28 2026-02-16
元宵 2023-02-05 2024-02-24 2025-02-12 2026-03-03
清明 2023-04-05 2024-04-04 2025-04-04 2026-04-05
母亲节 2023-05-14 2024-05-12 2025-05-11 2026-05-10
端午 2023-06-22 2024-06-10 2025-05-31 2026-06-19
父亲节 2023-06-18 2024-06-16 2025-06-15 2026-06-21
七夕 2023-08-22 2024-08-10 2025-08-29 2026-08-19
中秋 2023-09-29 2024-09-17 2025-10-06 2026-09-25
重阳 2023-10-23 2024-10-11 2025-10-29 2026-10-18
感恩节 2023-11-23 2024-11-28 2025-11-27 2026-11-26
冬至 2023-12-22 2024-12-21 2025-12-21 2026-12-22
复活节 2023-04-09 2024-03-31 2025-04-20 2026-04-05
"""


@pytest.mark.parametrize("line", DAYS.strip().splitlines())
def test_festivals_fall_on_their_day(line: str) -> None:
    name, *days = line.split()
    assert [day.isoformat() for day in festival_days(name, date(2023, 1, 1), date(2026, 12, 31))] == days


def test_every_festival_comes_once_or_twice_a_year() -> None:
    for name in FESTIVALS:
        count = len(list(festival_days(name, date(1990, 1, 1), date(2060, 12, 31))))
        assert count in (70, 71, 72), name


def test_solar_terms_follow_each_other_by_half_a_month() -> None:
    for year in range(1990, 2061):
        days = sorted(solar_term(year, name) for name in SOLAR_TERMS)
        gaps = {(later - earlier).days for earlier, later in pairwise(days)}
        assert gaps <= {14, 15, 16}
        assert days[0].month == 1
        assert days[-1].month == 12


def test_solar_terms_near_midnight_fall_on_the_right_day() -> None:
    assert solar_term(2008, "小满") == date(2008, 5, 21)
    assert solar_term(2014, "惊蛰") == date(2014, 3, 6)
    assert solar_term(2051, "春分") == date(2051, 3, 20)


@pytest.mark.parametrize(
    ("name", "year", "first", "last"),
    [
        ("国庆", 2024, "2024-10-01", "2024-10-07"), ("国庆", 2023, "2023-09-29", "2023-10-06"),
        ("国庆", 2040, "2040-10-01", "2040-10-07"), ("春节", 2024, "2024-02-10", "2024-02-17"),
        ("春节", 2025, "2025-01-28", "2025-02-04"), ("春节", 2040, "2040-02-11", "2040-02-18"),
        ("劳动节", 2019, "2019-05-01", "2019-05-04"), ("劳动节", 2025, "2025-05-01", "2025-05-05"),
        ("清明", 2023, "2023-04-05", "2023-04-05"), ("端午", 2024, "2024-06-08", "2024-06-10"),
        ("中秋", 2024, "2024-09-15", "2024-09-17"), ("元旦", 2019, "2018-12-30", "2019-01-01"),
        ("七夕", 2024, "2024-08-09", "2024-08-11"),
    ],
)  # fmt: skip
def test_public_holidays_have_their_length(name: str, year: int, first: str, last: str) -> None:
    day = next(festival_days(name, date(year, 1, 1), date(year, 12, 31)))
    assert [found.isoformat() for found in holiday(name, day)] == [first, last]


def test_the_nth_weekday_and_easter() -> None:
    assert nth_weekday(2025, 5, 6, 2) == date(2025, 5, 11)
    assert nth_weekday(2025, 12, 4, -1) == date(2025, 12, 26)
    assert [easter(year) for year in (2000, 2008, 2038)] == [date(2000, 4, 23), date(2008, 3, 23), date(2038, 4, 25)]
