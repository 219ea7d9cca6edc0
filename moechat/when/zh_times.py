"""Chinese patterns of time, made of the words in ``zh.toml``. ``zh`` says what each pattern means."""

from __future__ import annotations

from moechat.when import shapes
from moechat.when.calendar import SOLAR_TERMS
from moechat.when.words import alternatives, numbered, patterns, ranges, table

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


WORDS = table("zh")
REL_DAYS, REL_YEARS = numbered(WORDS["relative_days"]), numbered(WORDS["relative_years"])
WEEKDAYS = {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6} | {str(i + 1): i for i in range(7)}
PARTS, SEASONS = ranges(WORDS["parts"]), ranges(WORDS["seasons"])
YEAR_PARTS, MONTH_PARTS = ranges(WORDS["year_parts"]), ranges(WORDS["month_parts"])
FESTIVAL_NAMES = {**WORDS["festivals"], **{term: term for term in SOLAR_TERMS}}
VAGUE_TILL_NOW, VAGUE_PAST = WORDS["vague_till_now"], WORDS["vague_past"]
UNITS, SHIFT_NAMES = WORDS["units"], WORDS["shifts"]
# These are other things too, unless it is plain that a day is meant.
_ALSO_WORDS = ("小雪", "大雪", "雨水", "小满", "白露", "大寒", "十一", "高考")

# Numerals; a rule that begins with one begins at its first.
NUMERAL = "0-9零〇一二两俩三四五六七八九十百千万廿"
# The first of two neighbouring numbers (三四点, 周四五, 二三月).
_PAIR = "(?:" + "|".join(f"{a}(?={b})" for a, b in zip("一二三四五六七八九", "二三四五六七八九十", strict=True)) + ")"
_BITS = {
    "numeral": NUMERAL,
    "pair": _PAIR,
    "festivals": alternatives(set(FESTIVAL_NAMES) - set(_ALSO_WORDS)),
    "also_words": alternatives(_ALSO_WORDS),
    "terms": alternatives(_ALSO_WORDS[:6]),
    "vague": alternatives([*VAGUE_TILL_NOW, *VAGUE_PAST]),
    "long_parts": alternatives(word for word in PARTS if len(word) > 1),
    "shifts": alternatives(SHIFT_NAMES),
    "iso": shapes.ISO,
    "latin_quarter": shapes.QUARTER,
}
_BITS |= patterns("zh", "bits", _BITS)
_BITS |= {f"{prefix}_oclock": _BITS["oclock"].replace("(?P<", f"(?P<{prefix}") for prefix in "bc"}
PATTERNS = patterns("zh", "times", {**_BITS, "not_times": patterns("zh", "not_times", _BITS)["rows"]})
