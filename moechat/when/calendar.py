"""The Chinese and the common calendar: lunar dates, solar terms, festivals and public holidays.

All dates are those of China Standard Time. Lunar dates are known for 1900-2100; outside, a lunar day has no date (None).
The lunar table was computed from new moons and solar terms (GB/T 33661) and agrees with published almanacs for 1990-2060.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache

FIRST_LUNAR_YEAR = 1900

# Six hexadecimal digits a year. From the lowest bit: 13 bits that say which months have 30 days (a leap month counts in
# its place), 4 bits the number of the leap month (0: none), 5 bits New Year's distance from 20 January in days.
_LUNAR = (
    "1716d23c0752260ea512b64a36064b1e0a9b0a955630056a1a0b590457522a075214db253a0b25220a4b0cb4ab3202ad1c056b064b69"
    "2c0da918fd923e0e92260d2510ba4d360a562002b60895b53006d41a0ea9065e922a0e9214cd2638052b220a570cb2b6320b5a1e06d4"
    "086ec92c074916f6933c0a9326052b0eca5b340aad20056a0a9b55300ba41a0b49045a932a0a9512f52d380536220aad0eb5aa3205b2"
    "1c0da5087d4a2e0d4a170a953a0a9726055610cab5340ad52006d20a8ea5300ea51a064a026c97280a9b14f55a38056a220b690eb752"
    "340b521c0b2506964b2c0a4b1714ab3a02ad24056d10cb69360da9200d920a9d25300d251b5a4d3e0a562802b612c5b53806d5220ea9"
    "0ebe92340e921e0d26066a562a0a571714d63c035a2406d510b6c936074920069308952b2e052b180a5b04555a28056a12fb553a0ba4"
    "240b490cba93320a951c052d068aad2a0ab51735aa3c05d2260da510dd4a360d4a200c950a952e2e0556180ab50455b22a06d212cea5"
    "38072522064b0cac97300cab1c055a066ad62c0b691777523c0b52260b2510da4b340a4b1e04ab08a55b2e05ad180b6a045b522a0d92"
    "14fd25380d25220a550cb4ad3204b61a05b5066daa2c0ec9191e923c0e92260d2610ca56340a571e05560886d52e07551a0749026e93"
    "28069312f52b38052b200a5b0cb55a32056a1c0b6506974a2c0b4a171a953c0a9524052d0ecaad340ab52005aa088ba52e0da51a0d4a"
    "047c95280c9612f94e380556220ab50cb5b23206d21c0ea5088e4a2a068b150c973a04ab24055b0ecad6340b6a2007520a97252e0b45"
    "180a8b02549b2804ab"
)

# First and last day of the holidays as the State Council gave them, month and day; other years follow the default.
_SPRING = """2004:0122-0128 2005:0209-0215 2006:0129-0204 2007:0218-0224 2008:0206-0212 2009:0125-0131 2010:0213-0219
2011:0202-0208 2012:0122-0128 2013:0209-0215 2014:0131-0206 2015:0218-0224 2016:0207-0213 2017:0127-0202 2018:0215-0221
2019:0204-0210 2020:0124-0202 2021:0211-0217 2022:0131-0206 2023:0121-0127 2024:0210-0217 2025:0128-0204 2026:0215-0223"""
_LABOUR = """2008:0501-0503 2009:0501-0503 2010:0501-0503 2011:0430-0502 2012:0429-0501 2013:0429-0501 2014:0501-0503
2015:0501-0503 2016:0430-0502 2017:0429-0501 2018:0429-0501 2019:0501-0504 2022:0430-0504 2023:0429-0503"""
_NATIONAL = "2008:0929-1005 2009:1001-1008 2012:0930-1007 2017:1001-1008 2020:1001-1008 2023:0929-1006 2025:1001-1008"

SOLAR_TERMS = (
    "春分 清明 谷雨 立夏 小满 芒种 夏至 小暑 大暑 立秋 处暑 白露 秋分 寒露 霜降 立冬 小雪 大雪 冬至 小寒 大寒 立春 雨水 惊蛰"
).split()

# Where the series below (good to a quarter of an hour) lands on the wrong side of midnight, 1901-2099.
_TERM_CORRECTION = {
    (int(entry[:4]), entry[4:6]): int(entry[6:])
    for entry in (
        "1912寒露+1 1917大雪+1 1923雨水-1 1950谷雨-1 1951冬至+1 1978小雪+1 2008小满+1 2014惊蛰+1 "
        "2016小暑+1 2045小暑+1 2047惊蛰+1 2051春分-1 2082大寒+1 2084芒种+1 2097立夏+1"
    ).split()
}

DayOf = Callable[[int], date | None]


def lunar_year(year: int) -> tuple[date, int, list[int]] | None:
    """New Year's day, the number of the leap month (0: none) and the months' lengths in order; None outside 1900-2100."""
    place = (year - FIRST_LUNAR_YEAR) * 6
    if not 0 <= place < len(_LUNAR):
        return None
    code = int(_LUNAR[place : place + 6], 16)
    leap = code >> 13 & 15
    return (
        date(year, 1, 20) + timedelta(days=code >> 17),
        leap,
        [29 + (code >> i & 1) for i in range(13 if leap else 12)],
    )


def lunar_month(year: int, month: int, *, leap: bool = False) -> tuple[date, int] | None:
    """First day and length of a lunar month; None where there is none."""
    months = lunar_year(year)
    if not months or not 1 <= month <= 12 or (leap and months[1] != month):
        return None
    first, leap_month, lengths = months
    index = month - 1 + (leap or 0 < leap_month < month)
    return first + timedelta(days=sum(lengths[:index])), lengths[index]


def lunar_day(year: int, month: int, day: int, *, leap: bool = False) -> date | None:
    """The date of a lunar day; the thirtieth of the twelfth month is the year's last day, 29th or 30th (除夕)."""
    whole = lunar_month(year, month, leap=leap)
    if not whole or day < 1:
        return None
    first, length = whole
    if day > length:
        return first + timedelta(days=length - 1) if (month, day) == (12, 30) else None
    return first + timedelta(days=day - 1)


def lunar_date(day: date) -> tuple[int, int, bool] | None:
    """(month, day of the month, is it in a leap month) in the lunar calendar; None outside 1900-2100."""
    for year in (day.year, day.year - 1):
        whole = lunar_year(year)
        if whole and day >= whole[0]:
            first, leap, lengths = whole
            left = (day - first).days
            for index, length in enumerate(lengths):
                if left < length:
                    return index + 1 - (0 < leap <= index), left + 1, 0 < leap == index
                left -= length
    return None


def comes_round(first: date, day: date, *, lunar: bool = False) -> bool:
    """Whether ``first`` comes round on a day, by sun or moon. 29 February is kept on the 28th, the thirtieth of a lunar month
    on its last day, where there is none; nothing is kept in a leap month."""
    if not lunar:
        is_leap_day = (first.month, first.day) == (2, 29) and (day + timedelta(days=1)).day == 1
        return (first.month, first.day) == (day.month, day.day) or (is_leap_day and day.month == 2)
    kept, there, next_day = lunar_date(first), lunar_date(day), lunar_date(day + timedelta(days=1))
    if not kept or not there or there[2]:
        return False
    is_last = next_day is not None and next_day[1] == 1
    return kept[0] == there[0] and (kept[1] == there[1] or (is_last and kept[1] == 30))


@lru_cache(maxsize=64)
def festivals_on(day: date) -> tuple[str, ...]:
    """The festivals that fall on a day, by their names in ``FESTIVALS``."""
    return tuple(name for name in FESTIVALS if any(festival_days(name, day, day)))


def _sun_longitude(days: float) -> float:
    """Apparent longitude of the sun in degrees, ``days`` after noon of 1 January 2000, dynamical time (Meeus, chapter 25)."""
    t = days / 36525
    anomaly = math.radians(357.52911 + 35999.05029 * t)
    centre = (1.914602 - 0.004817 * t) * math.sin(anomaly) + 0.019993 * math.sin(2 * anomaly)
    centre += 0.000289 * math.sin(3 * anomaly)
    node = math.radians(125.04 - 1934.136 * t)
    return (280.46646 + 36000.76983 * t + centre - 0.00569 - 0.00478 * math.sin(node)) % 360


@lru_cache(maxsize=512)
def solar_term(year: int, name: str) -> date:
    """The day on which the sun reaches a solar term."""
    index = SOLAR_TERMS.index(name)
    days = (date(year, 3, 20) - date(2000, 1, 1)).days + index * 15.2184
    if index >= 19:
        days -= 365.2422
    for _ in range(6):
        away = (index * 15 - _sun_longitude(days) + 180) % 360 - 180
        days += away * 365.2422 / 360
    # 69 s is the present difference of dynamical from universal time; noon is half a day, China is eight hours ahead.
    whole = math.floor(days - 69 / 86400 + 0.5 + 8 / 24) + _TERM_CORRECTION.get((year, name), 0)
    return date(2000, 1, 1) + timedelta(days=whole)


def easter(year: int) -> date:
    """Western Easter Sunday (the anonymous Gregorian algorithm)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """The nth (from 1) Monday (0) to Sunday (6) of a month; -1 is the last."""
    if nth < 0:
        last = date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
        return last - timedelta(days=(last.weekday() - weekday) % 7)
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))


def _solar(month: int, day: int) -> DayOf:
    return lambda year: date(year, month, day)


def _lunar(month: int, day: int) -> DayOf:
    return lambda year: lunar_day(year, month, day)


def _weekday(month: int, weekday: int, nth: int) -> DayOf:
    return lambda year: nth_weekday(year, month, weekday, nth)


def _before(day_of: DayOf, days: int) -> DayOf:
    def day(year: int) -> date | None:
        base = day_of(year)
        return base - timedelta(days=days) if base else None

    return day


def _term(name: str) -> DayOf:
    return lambda year: solar_term(year, name)


# A festival's day by (lunar) year. A lunar year's last days fall into the next common year.
FESTIVALS: dict[str, DayOf] = {
    "元旦": _solar(1, 1),
    "情人节": _solar(2, 14),
    "妇女节": _solar(3, 8),
    "植树节": _solar(3, 12),
    "白色情人节": _solar(3, 14),
    "圣帕特里克节": _solar(3, 17),
    "愚人节": _solar(4, 1),
    "地球日": _solar(4, 22),
    "劳动节": _solar(5, 1),
    "青年节": _solar(5, 4),
    "520": _solar(5, 20),
    "儿童节": _solar(6, 1),
    "高考": _solar(6, 7),
    "618": _solar(6, 18),
    "建党节": _solar(7, 1),
    "独立日": _solar(7, 4),
    "建军节": _solar(8, 1),
    "教师节": _solar(9, 10),
    "国庆": _solar(10, 1),
    "万圣夜": _solar(10, 31),
    "万圣节": _solar(11, 1),
    "双十一": _solar(11, 11),
    "双十二": _solar(12, 12),
    "平安夜": _solar(12, 24),
    "圣诞": _solar(12, 25),
    "跨年": _solar(12, 31),
    "母亲节": _weekday(5, 6, 2),
    "父亲节": _weekday(6, 6, 3),
    "感恩节": _weekday(11, 3, 4),
    "美国劳动节": _weekday(9, 0, 1),
    "阵亡将士纪念日": _weekday(5, 0, -1),
    "黑色星期五": lambda year: nth_weekday(year, 11, 3, 4) + timedelta(days=1),
    "网络星期一": lambda year: nth_weekday(year, 11, 3, 4) + timedelta(days=4),
    "复活节": easter,
    "忏悔星期二": _before(easter, 47),
    "圣灰星期三": _before(easter, 46),
    "英国母亲节": _before(easter, 21),
    "棕枝主日": _before(easter, 7),
    "受难日": _before(easter, 2),
    "复活节星期一": _before(easter, -1),
    "主显节": _solar(1, 6),
    "马丁路德金日": _weekday(1, 0, 3),
    "彭斯之夜": _solar(1, 25),
    "澳大利亚日": _solar(1, 26),
    "土拨鼠日": _solar(2, 2),
    "总统日": _weekday(2, 0, 3),
    "圣大卫日": _solar(3, 1),
    "圣乔治日": _solar(4, 23),
    "澳新军团日": _solar(4, 25),
    "五月假": _weekday(5, 0, 1),
    "五五节": _solar(5, 5),
    "春季银行假": _weekday(5, 0, -1),
    "六月节": _solar(6, 19),
    "加拿大日": _solar(7, 1),
    "夏季银行假": _weekday(8, 0, -1),
    "哥伦布日": _weekday(10, 0, 2),
    "篝火之夜": _solar(11, 5),
    "停战日": _solar(11, 11),
    "阵亡星期日": _weekday(11, 6, 2),
    "圣安德鲁日": _solar(11, 30),
    "节礼日": _solar(12, 26),
    "除夕": _before(_lunar(1, 1), 1),
    "春节": _lunar(1, 1),
    "元宵": _lunar(1, 15),
    "龙抬头": _lunar(2, 2),
    "端午": _lunar(5, 5),
    "七夕": _lunar(7, 7),
    "中元": _lunar(7, 15),
    "中秋": _lunar(8, 15),
    "重阳": _lunar(9, 9),
    "腊八": _lunar(12, 8),
    "小年": _lunar(12, 23),
    **{name: _term(name) for name in SOLAR_TERMS},
}


def festival_days(name: str, first: date, last: date) -> Iterator[date]:
    """Every day from ``first`` to ``last`` (inclusive) on which the festival falls, in order."""
    day_of = FESTIVALS[name]
    for year in range(max(first.year - 1, 1), min(last.year, 9998) + 1):
        day = day_of(year)
        if day and first <= day <= last:
            yield day


def _official(table: str) -> dict[int, tuple[date, date]]:
    spans = {}
    for entry in table.split():
        year, _, days = entry.partition(":")
        first, last = (date(int(year), int(day[:2]), int(day[2:])) for day in days.split("-"))
        spans[int(year)] = (first, last)
    return spans


_OFFICIAL = {"春节": _official(_SPRING), "劳动节": _official(_LABOUR), "国庆": _official(_NATIONAL)}

# Days off around a one-day holiday, by its weekday: joined with the weekend, as the yearly notices do.
_BRIDGE = {0: (-2, 0), 1: (-2, 0), 2: (0, 0), 3: (0, 2), 4: (0, 2), 5: (0, 2), 6: (-1, 1)}
_BRIDGED = {"元旦", "清明", "端午", "中秋"}


def holiday(name: str, day: date) -> tuple[date, date]:
    """First and last day off around the festival that falls on ``day`` (春节, 国庆, 五一 by the official notice if known).

    A festival that is no public holiday in China has its own day and the days beside it; 圣诞 lasts until New Year.
    """
    official = _OFFICIAL.get("春节" if name == "除夕" else name, {}).get(day.year)
    if official:
        return official
    national = _OFFICIAL["国庆"].get(day.year)
    if name == "中秋" and national and national[0] <= day <= national[1]:
        return national
    if name in ("春节", "除夕"):
        new_year = day + timedelta(days=name == "除夕")
        return new_year - timedelta(days=1), new_year + timedelta(days=6 if day.year > 2024 else 5)
    if name == "劳动节":
        return day, day + timedelta(days=2 if day.year < 1999 else 6 if day.year < 2008 else 4)
    if name == "国庆":
        return day, day + timedelta(days=6 if day.year >= 1999 else 1)
    if name == "高考":
        return day, day + timedelta(days=2)
    if name == "复活节":
        return day - timedelta(days=2), day + timedelta(days=1)
    if name == "圣诞":
        return day - timedelta(days=1), day + timedelta(days=7)
    before, after = _BRIDGE[day.weekday()] if name in _BRIDGED else (-1, 1)
    return day + timedelta(days=before), day + timedelta(days=after)
