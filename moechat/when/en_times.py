"""English time words and patterns: tables that a reader can extend. ``en`` says what each pattern means."""

from __future__ import annotations

from collections.abc import Sequence

from moechat.when import names, shapes

# Letters that a pattern takes for others, whatever their case, are read as these, and a curly apostrophe as a straight one.
PLAIN = str.maketrans("ſKıİ’", "skii'")


def _table(lines: str) -> dict[str, str]:
    """Words by meaning, from lines of ``meaning: word | other words``."""
    pairs = (line.split(":") for line in lines.strip().splitlines())
    return {word.strip(): meaning.strip() for meaning, words in pairs for word in words.split("|")}


def _short_too(names: Sequence[str], first: int) -> dict[str, int]:
    """Names and their first three letters by number, in small letters."""
    return {short: i for i, name in enumerate(names, first) for short in (name.lower(), name[:3].lower())}


MONTHS = _short_too(names.MONTHS, 1) | {"sept": 9}
WEEKDAYS = _short_too(names.WEEKDAYS["en"], 0) | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
ORDINALS = {
    name: i + 1
    for i, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split()
    )
} | {"last": -1, "thirtieth": 30}

# Hours of the parts of the day, from and to; past 24 is the next morning.
PARTS = {
    "morning": (6, 12), "noon": (12, 14), "midday": (12, 14), "lunchtime": (12, 14), "afternoon": (12, 18), "evening": (17, 21),
    "night": (18, 24), "midnight": (23, 25), "small hours": (0, 5), "wee hours": (0, 5), "dawn": (4, 7), "dusk": (17, 19),
}  # fmt: skip
SEASONS = {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
THIRDS = {
    "early": (1, 10),
    "mid": (11, 20),
    "middle": (11, 20),
    "late": (21, 31),
    "beginning": (1, 10),
    "start": (1, 10),
    "end": (21, 31),
}
YEAR_THIRDS = {
    "early": (1, 3),
    "beginning": (1, 3),
    "start": (1, 3),
    "mid": (6, 2),
    "middle": (6, 2),
    "late": (11, 2),
    "end": (11, 2),
}

# How people call the festivals of ``calendar.FESTIVALS``.
FESTIVAL_NAMES = _table("""
跨年: new year's eve | new years eve
元旦: new year's day | new years day | new year's | new year
情人节: valentine's day | valentines day | valentine's
妇女节: women's day
圣帕特里克节: st. patrick's day | st patrick's day | saint patrick's day
愚人节: april fools' day | april fool's day | april fools
地球日: earth day
复活节: easter sunday | easter
劳动节: may day | labour day
母亲节: mother's day | mothers day
父亲节: father's day | fathers day
儿童节: children's day
阵亡将士纪念日: memorial day
独立日: independence day | the fourth of july
美国劳动节: labor day
教师节: teachers' day
国庆: national day
万圣夜: halloween
双十一: singles' day
感恩节: thanksgiving day | thanksgiving
黑色星期五: black friday
平安夜: christmas eve
圣诞: christmas day | christmas | xmas
除夕: chinese new year's eve | lunar new year's eve
春节: chinese new year | lunar new year | spring festival
元宵: lantern festival
端午: dragon boat festival
七夕: qixi festival | qixi
中秋: mid-autumn festival | mid autumn festival | moon festival
重阳: double ninth festival
清明: qingming festival | qingming | tomb-sweeping day | tomb sweeping day
冬至: winter solstice
夏至: summer solstice
""")

# Vague words by their key in ``WIDTHS``: those that reach to the present (今天, 这周, 这个月 and 今年 are that unit so far), and
# those that end with yesterday.
VAGUE_TILL_NOW = _table("""
最近: recently | lately | of late | not long ago
刚才: just now | a moment ago | a minute ago | moments ago | a little while ago
这阵子: these days
这几天: these past days | these past few days
上次: last time | the last time
之前: previously
今天: earlier today
这周: earlier this week
这个月: earlier this month
今年: earlier this year
""")
VAGUE_PAST = _table("""
前几天: the other day | the other night
前阵子: a while ago | a while back | some time ago | sometime ago
""")

_FESTIVAL_WORDS = "|".join(sorted(FESTIVAL_NAMES, key=len, reverse=True))

# Words that look like times. What they cover is read no further.
# fmt: off
NOT_TIMES = "|".join((
    r"(?:wednesday addams|sunday times|monday\.com|black friday sale|friday the 13th|saturday night (?:live|fever))",
    rf"every (?:{_FESTIVAL_WORDS})\b",
    r"(?:every|each|any|some|one|all) (?:(?:single|other) )?(?:day|night|morning|evening|afternoon|week|"
    r"weekend|month|year|spring|summer|fall|autumn|winter|mon|tues|wednes|thurs|fri|satur|"
    r"sun)(?:day)?s?(?: (?:morning|afternoon|evening|night)s?)?\b",
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    r"(?:good|goodnight) ?(?:morning|evening|afternoon|night)\b",
    r"(?:happy|merry) [a-z']+(?: [a-z']+)?(?: day| year| eve)?\b",
    r"years? old (?:this|last|next) year\b",
    r"day (?:by|after) day",
    r"second (?:thought|option|chance|hand|time|one)s?",
    r"(?:one|a|just a|wait a|in a|for a) (?:second|sec|minute|moment)(?! ago)\b",
    r"(?:for|about|nearly|almost|over|took|takes|lasted|spent) (?:the )?(?:\d+|a|an|one|two|three|four|five|"
    r"six|seven|eight|nine|ten|several|many|a few|half an?) (?:more )?(?:minutes?|hours?|days?|weeks?|months?|"
    r"years?)(?! (?:ago|before|earlier|back))\b",
    r"(?:how) (?:long ago|long|old|often)",
    r"as of (?=now)",
    r"(?:sunday school|monday blues)",
))

_ONES = "|".join(names.ONES[1:10])
_N = (
    rf"(?:\d{{1,4}}(?:\.\d)?|a hundred|(?:{'|'.join(names.ONES[10:])}|(?:{'|'.join(names.TENS)})(?:[- ](?:{_ONES}))?|"
    rf"{_ONES}|an?)\b)"
)
_UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|fortnights?|weekends?|months?|years?|"
    r"decades?)"
)
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b(?:\.(?=\s*\d))?"
_WEEKDAY = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b"
_DAYNUM = r"(?:3[01]|[12]\d|0?[1-9])"
_DAY_WORD = "(?:" + "|".join(word for word in ORDINALS if word != "last") + r")\b"
_ORDINAL = "(?:" + "|".join(ORDINALS) + r"|\d{1,2}(?:st|nd|rd|th))"
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_QUANTITY = (
    rf"(?:(?:{_N})(?: and a half)?(?: (?:or|to) {_N})?|half an?|a couple(?: of)?|couple of|a few|few|several|"
    rf"some)(?: and a half)?"
)
_VAGUE_WORDS = "|".join(sorted([*VAGUE_TILL_NOW, *VAGUE_PAST], key=len, reverse=True)).replace(" ", r"\s+")

# By name, in the order in which they are tried; the first that fits wins.
PATTERNS = {
    "trailing": (
        rf"(?:in|over|during|within|for|throughout)?\s*(?:the|this(?= past)) (?P<tword>last|past|next|"
        rf"coming) (?:(?P<tcount>{_QUANTITY}) )?(?P<tunit>{_UNIT})\b(?<!weekend)(?! of\b)"
    ),
    "past_counted": rf"(?P<pword>last|past) (?P<pcount>{_QUANTITY}) (?P<punit>{_UNIT})\b",
    "vague": rf"(?:{_VAGUE_WORDS})\b",
    "distance": (
        rf"(?:(?P<more>over|more than|about|around|nearly|almost|roughly|"
        rf"some) )?(?P<dist>{_QUANTITY}) (?P<dunit>{_UNIT})(?P<dhalf> and a half)? (?P<dside>ago|back\b(?! to)|"
        rf"earlier|from now|from today|later)\b"
    ),
    "fridays_ago": rf"(?P<wcount>{_N}) (?P<wplural>(?:mon|tues|wednes|thurs|fri|satur|sun)days) ago",
    "names_ago": rf"(?P<ncount>{_N}) (?P<nplural>(?:{_SEASON}|{_FESTIVAL_WORDS})s|christmases) ago",
    "week_of": r"(?:in |on |over |during )?the (?P<cunit>week|weekend) of(?=\s)",
    "in_future": (
        rf"in (?!an? (?:second|sec|minute|moment)\b)(?:about )?(?P<fdist>{_QUANTITY}) (?P<funit>{_UNIT})\b(?! of)"
    ),
    "beside": (
        rf"(?:the |on the )?(?:(?P<bcount>{_N}) )?(?P<bwhat>{_WEEKDAY}|days?|weeks?|weekends?|nights?|evening|"
        rf"months?|years?) (?P<side>before|after|prior to|following|preceding)\s(?!last\b|yesterday|tomorrow)"
    ),
    "relative_day": (
        r"(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|tomorrow|tmrw?\b|today\b|"
        r"tonight\b|last night\b"
    ),
    "night_before_last": r"(?:the )?night before last",
    "this_time": (
        r"(?:at |on |around )?this (?:time|day|same day|date)(?= (?:last|in|of|two|three)\b)|the same (?:day|"
        r"time)(?= last)"
    ),
    "nots": NOT_TIMES,
    "this_part": r"(?:earlier )?this (?P<tpart>morning|afternoon|evening|noon)",
    "relative_unit": (
        r"(?:the )?(?P<bunit>week|weekend|month|year) before last|(?:the )?(?P<rel>last|previous|"
        r"past(?= weekend)|this|next|following|coming|upcoming|current) (?P<runit>week|weekend|month|year|"
        r"quarter|semester)(?!\w|\s+of\b)"
    ),
    "weekday_before_last": rf"(?:the )?(?P<wbl>{_WEEKDAY}) before last",
    "this_unit": r"(?<=of )the (?P<thunit>year|month|week)(?= *[,.?!]| *$)",
    "relative_weekday": rf"(?:on )?(?P<rwrel>last|past|this|next|coming) (?P<rwday>{_WEEKDAY})",
    "relative_name": rf"(?P<nrel>last|past|this|next) (?P<nname>{_SEASON}|{_MONTH}|{_FESTIVAL_WORDS})(?!\s+\d)\b",
    "third": (
        r"(?:in |at |by )?(?:the )?(?P<third>early|mid|late|beginning|start|middle|end)(?:[ -]of| in|-|"
        r"\s)(?=\s*(?:the |this |last |next )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|month|year|"
        r"week|spring|summer|autumn|fall|winter|(?:19|20)\d\d))"
    ),
    "half_of": r"(?:the )?(?P<halfno>first|second) half(?= of (?:the |this |last |next )?(?:year|(?:19|20)\d\d))",
    "nth": rf"(?:the |on the )?(?P<nth>{_ORDINAL}) (?P<what>{_WEEKDAY}|day|week|weekend)(?= (?:of|in)\b)",
    "side": r"(?P<lead>since|around(?! \d{1,2}(?:[: ]|[ap]m|$))|before|after|prior to)\b(?=\s)",
    "festival": (
        rf"(?:on |over |during |at |around )?(?P<fname>{_FESTIVAL_WORDS})\b(?!\s+(?:tree|card|song|party|movie|"
        rf"cake|costume|gift|present|resolution)s?)(?P<fwhole> (?:holidays?|break|vacation|period|season))?"
    ),
    "iso": shapes.ISO,
    "quarter": rf"{shapes.QUARTER}\b",
    "slashed": r"(?<![\d./])(?P<sm>[0-3]?\d)[/](?P<sd>[0-3]?\d)[/](?P<sy>(?:20|19)?\d\d)(?![\d/])|"
    r"(?<![\d./])(?P<bm>1[0-2]|0?[1-9])/(?P<bd>3[01]|2\d|1[3-9])(?![\d/%]|\.\d| (?:of|inch|cups?)\b)",
    "month_day": (
        rf"(?:on )?(?P<mda>{_MONTH})\s*(?:the )?(?P<dma>{_DAYNUM}|{_DAY_WORD})(?:st|nd|rd|th)?(?![\d:%]|"
        rf"\s*(?:am|pm|%|"
        rf"people|times|days|years))|(?:on )?(?:the )?(?P<dmb>{_DAYNUM}|{_DAY_WORD})(?:st|nd|rd|"
        rf"th)?(?: day)?(?: of)? (?P<mdb>{_MONTH})"
    ),
    "month": (
        rf"(?P<month>{_MONTH})(?=\s*(?:to|through|until|-|–|and)\s*{_MONTH}|,? ?(?:of )?(?:19|20)\d\d\b|"
        rf",?(?: of)? (?:last|this|next) year)|(?:(?<=\bin )|"
        rf"(?<=\blast )|(?<=\bthis )|(?<=\bnext )|(?<=\bsince )|(?<=\bof )|(?<=\bby )|(?<=\bduring )|"
        rf"(?<=\buntil )|(?<=\bbefore )|(?<=\bafter )|(?<=\bfrom )|(?<=\bto )|(?<=\bthrough )|(?<=\bearly )|"
        rf"(?<=\blate )|(?<=\bmid-)|(?<=\bbetween )|(?<=\baround )|(?<=\band )|"
        rf"(?<=\bback in ))(?P<lonemonth>{_MONTH})"
    ),
    "bare_day": (
        rf"(?:on |since |by )?the (?P<bday>{_DAYNUM}(?:st|nd|rd|th))(?!\s+(?:time|one|century|floor|place|"
        rf"birthday|grade|option|quarter|person|book|chapter|episode|anniversary|street|avenue))\b|"
        rf"(?<=[-–—~])\s*(?P<rday>{_DAYNUM})(?:st|nd|rd|th)?(?![\d-])"
    ),
    "decade": r"(?:(?:the )?(?P<decade>(?:19|20)\d0)|(?:the |(?<=early )|(?<=late ))(?P<decade2>[2-9]0))'?s\b",
    "year": (
        r"(?:\b(?:in|of|since|during|before|after|until|from|to|late|early|mid|between|and|back in|year)[ -]|"
        r"(?<=, )|(?<=,)|(?<=\d )|(?<=[a-z] ))(?P<year>(?:19|20)\d\d)\b(?![-/:.]\d|\s*(?:people|dollars|words|"
        r"times|points|steps|calories|km|miles|meters|yuan|%))|(?<![\w'])'(?P<yshort>\d\d)(?![\w'%])"
    ),
    "season": (
        rf"(?:in |during |over )?the (?P<season>{_SEASON})\b(?!\s+(?:palace|camp|school|olympics|job|dress|clothes|"
        rf"of\s+[a-z]))|(?<=\bin )(?P<season2>spring|summer|autumn|winter)\b|"
        rf"(?P<season3>{_SEASON})(?=,? (?:of )?(?:19|20)\d\d\b)"
    ),
    "weekday": (
        r"(?:on )?(?P<weekday>mon|tues|wednes|thurs|fri|satur|sun)day\b|\bon (?P<wshort>mon|tues?|wed|thu|"
        r"thurs?|fri|sat|sun)\b"
    ),
    "weekend": r"(?:over |on |at |during )?the weekend\b(?! (?:of|before|after))",
    "part": (
        r"in the (?P<inpart>morning|afternoon|evening|night|small hours|wee hours)\b|(?:at |around )?(?P<part>morning|noon|"
        r"midday|lunchtime|afternoon|evening|night|midnight|dawn|dusk)\b"
    ),
    "clock": (
        r"(?:at |around |by )?\b(?P<hour>1[0-2]|0?\d)(?::(?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?)|"
        r"(?:at |around |by )?(?<![\d:.])(?P<chour>[01]?\d|2[0-3]):(?P<cminute>[0-5]\d)(?![\d:])|(?:at |"
        r"around |by )?\b(?P<ohour>1[0-2]|0?[1-9])(?: o'?clock|(?= (?:in the (?:morning|afternoon|evening)|"
        r"at night)\b))|(?:(?<=night )|(?<=day )|(?<=morning )|(?<=noon )|(?<=evening )|(?<=tomorrow ))(?:at|around|by) "
        r"(?P<nhour>1[0-2]|[1-9])(?![\w:%/.-]| (?:percent|people))"
    ),
}
# fmt: on
