"""What days, months and numbers are called in Chinese and English, and what a Chinese character is.

They stand here once, for the reader of times and for everything else that writes or reads a date, a count or an age.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Language = Literal["zh", "en"]

# Chinese characters as the inside of a character class: rf"[{HAN}]{{2,4}}".
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々〇"
HAN_CHARACTER = re.compile(f"[{HAN}]")

_TRADITIONAL = (
    "週個這禮幾剛時間點鐘國慶節陣兩後號從歲麼們說裡裏農曆歷陽陰臘閏聖誕勞動開內過來還記會將準備計劃學"
    "當現於給談講問嗎誰為纔經離連長閒親婦兒愛雙億萬滿穀種處霜驚蟄頭齡聯歡話餅樓線員階層課難總習慣買賣"
    "寫讀見與"
)
_SIMPLIFIED = (
    "周个这礼几刚时间点钟国庆节阵两后号从岁么们说里里农历历阳阴腊闰圣诞劳动开内过来还记会将准备计划学"
    "当现于给谈讲问吗谁为才经离连长闲亲妇儿爱双亿万满谷种处霜惊蛰头龄联欢话饼楼线员阶层课难总习惯买卖"
    "写读见与"
)
PLAIN = str.maketrans(_TRADITIONAL + "０１２３４５６７８９：－～／．　", _SIMPLIFIED + "0123456789:-~/. ")
"""What a Chinese text is read as: simplified characters, and figures of one width."""

# Monday first, as ``datetime.weekday`` counts.
WEEKDAYS: Mapping[str, tuple[str, ...]] = {
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
MONTHS = tuple("January February March April May June July August September October November December".split())

# English number words by their value.
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2, "仨": 3}
_PLACES = {"十": 10, "百": 100, "千": 1000}


def has_han(text: str) -> bool:
    """Whether a Chinese character stands anywhere in ``text``."""
    return HAN_CHARACTER.search(text) is not None


def tongue_of(text: str) -> Language:
    """The language of a text: Chinese where a Chinese character stands in it."""
    return "zh" if has_han(text) else "en"


def chinese_number(text: str) -> float | None:
    """The value of digits or Chinese numerals (二十一, 两百, 二〇二三), None where something else stands among them."""
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    text = text.replace("廿", "二十")
    if not text or any(char not in _DIGITS and char not in _PLACES for char in text):
        return None
    if not any(char in _PLACES for char in text):
        return float("".join(str(_DIGITS[char]) for char in text))
    total, digit = 0, 0
    for char in text:
        if char in _PLACES:
            total += (digit or 1) * _PLACES[char]
            digit = 0
        else:
            digit = _DIGITS[char]
    return float(total + digit)


def english_number(text: str) -> float | None:
    """The value of digits or English number words (12, 2.5, seven, thirty-one, a hundred), None for anything else."""
    text = text.strip().lower()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    if text in ("hundred", "a hundred", "one hundred"):
        return 100.0
    first, _, second = text.replace("-", " ").partition(" ")
    if first in TENS and (not second or second in ONES[1:10]):
        return float(TENS[first] + (ONES.index(second) if second else 0))
    return float(ONES.index(text)) if text in ONES else None
