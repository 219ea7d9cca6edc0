"""English patterns of time, made of the words in ``en.toml``. ``en`` says what each pattern means."""

from __future__ import annotations

from moechat.when import names, shapes
from moechat.when.names import english_number
from moechat.when.shapes import Amount
from moechat.when.words import alternatives, numbered, patterns, ranges, table

WORDS = table("en")
# Letters that a pattern takes for others, whatever their case, are read as these, and a curly apostrophe as a straight one.
PLAIN = str.maketrans("ſKıİ’", "skii'")

WEEKDAYS = numbered(WORDS["weekdays"])
MONTHS = numbered(WORDS["months"])
RELATIVE_DAYS = numbered(WORDS["relative_days"])
DECADES = numbered(WORDS["decades"])
PARTS = ranges(WORDS["parts"])
SEASONS = ranges(WORDS["seasons"])
THIRDS = ranges(WORDS["thirds"])
YEAR_THIRDS = ranges(WORDS["year_thirds"])
FESTIVAL_NAMES, VAGUE_TILL_NOW, VAGUE_PAST = WORDS["festivals"], WORDS["vague_till_now"], WORDS["vague_past"]
ORDINALS = {
    name: i + 1
    for i, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split()
    )
} | {"last": -1, "thirtieth": 30}

_FESTIVAL_WORDS = alternatives(FESTIVAL_NAMES)
_ONES = "|".join(names.ONES[1:10])
_N = (
    rf"(?:\d{{1,4}}(?:\.\d)?|a hundred|(?:{'|'.join(names.ONES[10:])}|(?:{'|'.join(names.TENS)})(?:[- ](?:{_ONES}))?|"
    rf"{_ONES}|an?)\b)"
)
UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|fortnights?|weekends?|months?|years?|"
    r"decades?)"
)
_MONTH = rf"(?:{alternatives(MONTHS)})\b(?:\.(?=\s*\d))?"
_WEEKDAY = rf"(?:{alternatives(WEEKDAYS)})\b"
# Those that are no other word: sun and sat are.
_CLEAR_WEEKDAY = rf"(?:{alternatives(word for word in WEEKDAYS if len(word) > 3)}|tue|thu)\b"
_DAYNUM = r"(?:3[01]|[12]\d|0?[1-9])"
_DAY_WORD = "(?:" + "|".join(word for word in ORDINALS if word != "last") + r")\b"
_ORDINAL = "(?:" + "|".join(ORDINALS) + r"|\d{1,2}(?:st|nd|rd|th))"
_SEASON = rf"(?:{alternatives(SEASONS)})"
QUANTITY = (
    rf"(?:(?:{_N})(?: and a half)?(?: (?:or|to) {_N})?|half an?|a couple(?: of)?|couple of|a few|few|several|"
    rf"some)(?: and a half)?"
)
_VAGUE_WORDS = alternatives([*VAGUE_TILL_NOW, *VAGUE_PAST]).replace(" ", r"\s+")
_HOUR_WORD = rf"(?:1[0-2]|0?[1-9]|{'|'.join(names.ONES[1:13])})"
# Weeks on from a day: Tuesday week, a week on Friday, a fortnight today.
_WEEKS_ON = r"(?:a week|one week|two weeks|three weeks|four weeks|a fortnight|\d weeks)"
_AGO_LENGTH = r"(?:a week|a fortnight|two weeks|three weeks)"

# What may stand before a year.
BEFORE_YEAR = (
    {word for name in FESTIVAL_NAMES for word in name.split()[-1:]}
    | {*MONTHS, *SEASONS}
    | {*"in of since during before after until from to late early mid between and year half quarter".split()}
)

# Words that look like times. What they cover is read no further.
# fmt: off
NOT_TIMES = "|".join((
    rf"(?:{patterns('en', 'not_times')['names']})\b",
    rf"every (?:{_FESTIVAL_WORDS})\b",
    rf"(?:called|named) (?:{_WEEKDAY}|{_SEASON}|{_MONTH}|{_FESTIVAL_WORDS})\b",
    r"(?:every|each|any|some|one|all) (?:(?:single|other) )?(?:day|night|morning|evening|afternoon|week|"
    r"weekend|month|year|spring|summer|fall|autumn|winter|mon|tues|wednes|thurs|fri|satur|"
    r"sun)(?:day)?s?(?: (?:morning|afternoon|evening|night)s?)?\b",
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    r"(?:good|goodnight) ?(?:morning|evening|afternoon|night)\b",
    r"(?:happy|merry) [a-z']+(?: [a-z']+)?(?: day| year| eve)?\b",
    r"years? old (?:this|last|next) year\b",
    rf"(?:love|hate|adore|prefer|enjoy|like)s? (?:{_SEASON}|{_FESTIVAL_WORDS})\b(?! (?:this|last|next))",
    r"second (?:thought|option|chance|hand|time|one)s?",
    r"(?:one|a|just a|wait a|in a|for a) (?:second|sec|minute|moment)(?! ago)\b",
    r"(?:for|about|nearly|almost|over|took|takes|lasted|spent) (?:the )?(?:\d+|a|an|one|two|three|four|five|"
    r"six|seven|eight|nine|ten|several|many|a few|half an?) (?:more )?(?:minutes?|hours?|days?|weeks?|months?|"
    r"years?)(?! (?:ago|before|earlier|back))\b",
    r"(?:how) (?:long ago|long|old|often)",
    r"as of (?=now)",
))

# By name, in the order in which they are tried; the first that fits wins.
PATTERNS = {
    "weeks_on": (
        rf"(?:on )?(?P<wday>{_WEEKDAY}|today|tomorrow) (?P<wlong>week|fortnight)\b(?! (?:of|after|before|off|away|one|two|\d))|"
        rf"(?<!for )(?<!past )(?<!last )(?P<wlong2>{_WEEKS_ON})(?: (?:on|from|this|come))? "
        rf"(?P<wday2>{_WEEKDAY}|today|tomorrow)"
    ),
    "weeks_back": (
        rf"(?P<wlong3>{_AGO_LENGTH}) (?:ago )?(?:last |past |this past )?"
        rf"(?P<wday3>yesterday|(?<=last ){_WEEKDAY}|(?<=ago ){_WEEKDAY})"
    ),
    "day_gone": (
        rf"(?:on )?(?:this |last )?(?P<gone>{_WEEKDAY}|weekend) "
        r"(?:just gone|gone(?! \w+ing)|just past|last(?! (?:week|month|year|night|time|of)))\b"
    ),
    "second_one": (
        rf"(?:the )?last (?P<lbo>{_WEEKDAY}|week|weekend|month|year) but one|"
        rf"(?:the |on )?(?P<afternext>{_WEEKDAY}|week|weekend|month|year) after next"
    ),
    "later": (
        r"(?:later(?: on)? (?P<later>today|this (?:week|month|year|morning|afternoon|evening))|"
        r"(?:for )?the rest of (?:the |this )?(?P<restof>day|week|month|year))\b"
    ),
    "trailing": (
        rf"(?:in|over|during|within|for|throughout)?\s*(?:the|this(?= past)) (?P<tword>last|past|next|"
        rf"coming) (?:(?P<tcount>{QUANTITY}) )?(?P<tunit>{UNIT})\b(?<!weekend)(?! of\b)"
    ),
    "past_counted": rf"(?:the )?(?P<pword>last|past) (?:(?P<pcount>{QUANTITY}) (?P<punit>{UNIT})|(?P<pfortnight>fortnight))\b",
    "vague": rf"(?:{_VAGUE_WORDS})\b",
    "distance": (
        rf"(?:(?P<more>over|more than|about|around|nearly|almost|roughly|"
        rf"some) )?(?P<dist>{QUANTITY}) (?P<dunit>{UNIT})(?P<dhalf> and a half)? (?P<dside>ago|back\b(?! to)|"
        rf"earlier|from now|from today|later)\b"
    ),
    "weekdays_ago": rf"(?P<wcount>{QUANTITY}) (?P<wplural>{_WEEKDAY[:-2]}s|weekends) (?:ago|back)\b",
    "names_ago": rf"(?P<ncount>{_N}) (?P<nplural>(?:{_SEASON}|{_FESTIVAL_WORDS})s|christmases) ago",
    "week_of": r"(?:in |on |over |during )?the (?P<cunit>week|weekend) of(?=\s)",
    "in_future": (
        rf"in (?!an? (?:second|sec|minute|moment)\b)(?:about )?(?P<fdist>{QUANTITY}) (?P<funit>{UNIT})\b"
        r"(?:'s?)?(?: time)?(?! of)"
    ),
    "beside": (
        rf"(?:the |on the )?(?:(?P<bcount>{_N}) )?(?P<bwhat>{_WEEKDAY}|days?|weeks?|weekends?|nights?|evening|"
        rf"months?|years?) (?P<side>before|after|prior to|following|preceding)\s(?!last\b|yesterday|tomorrow)"
    ),
    "relative_day": (
        rf"(?:the )?(?P<relday>{alternatives(RELATIVE_DAYS)})\b"
    ),
    "this_time": (
        r"(?:at |on |around )?this (?:time|day|same day|date)(?= (?:last|in|of|two|three|next|yesterday|tomorrow)\b)|"
        r"the same (?:day|time)(?= last)"
    ),
    "nots": NOT_TIMES,
    "this_part": r"(?:earlier )?this (?P<tpart>morning|afternoon|evening|noon)",
    "relative_unit": (
        r"(?:the )?(?P<bunit>week|weekend|month|year) before last|(?:the )?(?P<rel>last|previous|"
        r"past(?= weekend)|this|next|following|coming|upcoming|current) (?P<runit>week|weekend|month|year|"
        r"quarter|semester)(?!\w|\s+of\b)"
    ),
    "weekday_before_last": rf"(?:the )?(?P<wbl>{_WEEKDAY}|{_SEASON}|{_MONTH}|{_FESTIVAL_WORDS}) before last",
    "this_unit": (
        r"(?<=of )the (?P<thunit>year|month|week)"
        r"(?= *[,.?!]| *$| (?:i|we|you|he|she|they|it|is|was|and|so|but|if|when)\b)"
    ),
    "relative_weekday": (
        rf"(?:on )?(?P<rwrel>last|past|this|next|coming|this coming) (?P<rwday>{_WEEKDAY})(?! (?:week|fortnight)\b)"
    ),
    "relative_name": rf"(?P<nrel>last|past|this|next) (?P<nname>{_SEASON}|{_MONTH}|{_FESTIVAL_WORDS})(?!\s+\d)\b",
    "third": (
        rf"(?:in |at |by |around |towards? )?(?:the )?(?:very )?(?P<third>{alternatives(THIRDS)})(?:[ -]of| in|-|"
        rf"\s)(?=\s*(?:the |this |last |next )?(?:{_MONTH}|month|year|week|{_SEASON}|{alternatives(DECADES)}|"
        rf"[2-9]0'?s|(?:19|20)\d\d))"
    ),
    "part_of_year": (
        r"(?:in |during )?(?:the )?(?P<qname>first|second|third|fourth|last|final) quarter\b"
        r"(?! (?:mile|final|pounder|note|past|to\b))|"
        r"(?:the )?(?P<halfno>first|second) half(?= of (?:the |this |last |next )?(?:year|(?:19|20)\d\d))"
    ),
    "nth": rf"(?:the |on the )?(?P<nth>{_ORDINAL}) (?P<what>{_WEEKDAY}|day|week|weekend)(?= (?:of|in)\b)",
    "side": (
        r"(?P<lead>since|around(?! \d{1,2}(?:[: ]|[ap]m|$))|before|after|prior to)\b(?=\s)|"
        r"(?:in )?(?:the )?(?P<runup>run[- ]?up|lead[- ]?up) to\b(?=\s)"
    ),
    "festival": (
        rf"(?:on |over |during |at |around )?(?P<fname>{_FESTIVAL_WORDS})\b(?!\s+(?:tree|card|song|party|movie|"
        rf"cake|costume|gift|present|resolution)s?)(?P<fwhole> (?:holidays?|break|vacation|period|season|weekend))?"
    ),
    "iso": shapes.ISO,
    "quarter": rf"{shapes.QUARTER}\b",
    "slashed": r"(?<![\d./])(?P<sm>[0-3]?\d)[/](?P<sd>[0-3]?\d)[/](?P<sy>(?:20|19)?\d\d)(?![\d/])|"
    r"(?<![\d./])(?P<bm>1[0-2]|0?[1-9])/(?P<bd>3[01]|2\d|1[3-9])(?![\d/%]|\.\d| (?:of|inch|cups?)\b)|"
    r"(?<![\d./])(?!24/7)(?P<dd>3[01]|2\d|1[3-9])/(?P<dmth>1[0-2]|0?[1-9])(?![\d/%]|\.\d| (?:of|inch|cups?)\b)|"
    r"(?:(?<=\bon )|(?<=\bby )|(?<=\bsince )|(?<=\buntil )|(?<=\btill )|(?<=\bbefore )|(?<=\bafter )|(?<=\bfrom )|(?<=\bdated ))"
    r"(?P<one>1[0-2]|0?[1-9])/(?P<two>1[0-2]|0?[1-9])(?![\d/%]|\.\d| (?:of|inch|cups?)\b)",
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
        rf"(?<=\buntil )|(?<=\bbefore )|(?<=\bafter )|(?<=\bfrom )|(?<=\bfor )|(?<=\bto )|(?<=\bthrough )|(?<=\bearly )|"
        rf"(?<=\blate )|(?<=\bmid-)|(?<=\bbetween )|(?<=\baround )|(?<=\band )|"
        rf"(?<=\bback in ))(?P<lonemonth>{_MONTH})"
    ),
    "bare_day": (
        rf"(?:on |since |by )?the (?P<bday>{_DAYNUM}(?:st|nd|rd|th)|"
        rf"{_DAY_WORD}(?= of (?:last|this|next|the) (?:month|week)))(?!\s+(?:time|one|century|floor|place|"
        rf"birthday|grade|option|quarter|person|book|chapter|episode|anniversary|street|avenue))\b|"
        rf"(?<=[\dhtd][-–—~])\s*(?P<rday>{_DAYNUM})(?:st|nd|rd|th)?(?![\d-])|"
        rf"(?P<fromday>{_DAYNUM})(?:st|nd|rd|th)?(?=\s?[-–—]\s?{_DAYNUM}(?:st|nd|rd|th)?(?: of)? {_MONTH})"
    ),
    "decade": (
        r"(?:(?:the )?(?P<decade>(?:19|20)\d0)|(?:the |(?<=early )|(?<=late )|(?<=mid )|(?<=mid-))'?(?P<decade2>[2-9]0))'?s\b|"
        rf"(?:the |(?<=early )|(?<=late )|(?<=mid )|(?<=mid-))(?P<decade3>{alternatives(DECADES)})\b"
    ),
    "year": (
        r"(?:\b(?:in|of|since|during|before|after|until|from|to|late|early|mid|between|and|back in|year)[ -]|"
        r"(?<=, )|(?<=,)|(?<=\d )|(?<=[a-z] ))(?P<year>(?:19|20)\d\d)\b(?![-/:.]\d|\s*(?:people|dollars|words|"
        r"times|points|steps|calories|km|miles|meters|yuan|%))|(?<![\w'])'(?P<yshort>\d\d)(?![\w'%])"
    ),
    "season": (
        rf"(?:in |during |over )?the (?P<season>{_SEASON})\b(?!\s+(?:palace|camp|school|olympics|job|dress|clothes|"
        rf"of\s+[a-z]))|(?:(?<=\bin )|(?<=\btill )|(?<=\buntil )|(?<=oved to )|(?<=ushed to )|(?<=poned to ))"
        rf"(?P<season2>spring|summer|autumn|winter)\b|"
        rf"(?:(?<=\bof )|(?<=\bearly )|(?<=\blate )|(?<=\bmid )|(?<=\bmid-)|(?<=\bthrough ))(?P<season4>{_SEASON})\b|"
        rf"(?P<season3>{_SEASON})(?=,? (?:of )?(?:19|20)\d\d\b)|"
        rf"(?:over |in |during )?(?P<season5>{alternatives(s for s in SEASONS if ' ' in s)})\b"
    ),
    "weekday": (
        rf"(?:on )?(?P<weekday>{_CLEAR_WEEKDAY})|(?:\bon |(?<=\bby )|(?<=\btil )|(?<=\btill )|"
        rf"(?<=\buntil )|(?<=\bsince )|(?<=\bfrom )|(?<=\bfor ))(?P<wshort>{_WEEKDAY})"
    ),
    "weekend": r"(?:over |on |at |during )?the weekend\b(?! (?:of|before|after))",
    "part": (
        rf"in the (?P<inpart>morning|afternoon|evening|night|small hours|wee hours|early hours)\b|"
        rf"(?:at |around |about )?(?P<part>{alternatives(w for w in PARTS if w != 'eve' and 'hours' not in w)})\b"
        r"(?! (?:sickness|shift|bus|out\b))"
    ),
    "clock_words": (
        r"(?:at |around |about |by )?\b(?P<cpast>half|a?\s?quarter|five|ten|twenty[- ]five|twenty|5|10|20|25)"
        r"(?: mins?| minutes)? "
        rf"(?P<cside>past|to) (?P<cwhour>{_HOUR_WORD})\b(?! (?:times|people|percent|days|weeks|years))|"
        rf"(?:at |around |about )half (?P<chalf>{_HOUR_WORD})\b(?! (?:an?|of|the)\b)|"
        rf"(?:at |around |about |by )?\b(?P<ish>{_HOUR_WORD})(?:-|\s)?ish\b|"
        rf"(?:at |around |about |by )?(?P<wordhour>{'|'.join(names.ONES[1:13])}) o'?clock\b|"
        r"(?:(?<=night )|(?<=day )|(?<=morning )|(?<=noon )|(?<=evening )|(?<=tomorrow ))(?:at|around|by) "
        rf"(?P<wordhour2>{'|'.join(names.ONES[1:13])})\b"
    ),
    "clock": (
        r"(?:at |around |by )?\b(?P<hour>1[0-2]|0?\d)(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?)|"
        r"(?:at |around |by )?(?<![\d:.])(?P<chour>[01]?\d|2[0-3]):(?P<cminute>[0-5]\d)(?![\d:])|(?:at |"
        r"around |by )?\b(?P<ohour>1[0-2]|0?[1-9])(?: o'?clock|(?= (?:in the (?:morning|afternoon|evening)|"
        r"at night)\b))|(?:(?<=night )|(?<=day )|(?<=morning )|(?<=noon )|(?<=evening )|(?<=tomorrow ))(?:at|around|by) "
        r"(?P<nhour>1[0-2]|[1-9])(?![\w:%/.-]| (?:percent|people))"
    ),
}
# fmt: on


def number(text: str) -> float:
    """The value of a number (two, thirty-one, a, 2.5); what is none is 0."""
    text = text.strip().lower()
    return 1.0 if text in ("a", "an") else 2.0 if "couple" in text else english_number(text) or 0.0


def ordinal(text: str) -> int:
    text = text.lower()
    return ORDINALS[text] if text in ORDINALS else int(text[:-2])


def day_number(text: str) -> int:
    """5, 5th and fifth."""
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) if digits else ORDINALS[text.lower()]


def weekday_of(text: str) -> int:
    return WEEKDAYS[text.lower().rstrip(".")]


def quantity(text: str, unit: str) -> Amount | None:
    """A counted distance: half an hour, two and a half years, a couple of days, three or four weeks."""
    text, unit = text.lower().strip(), unit.lower().rstrip("s")
    kind, scale = {
        "sec": ("second", 1), "min": ("minute", 1), "hr": ("hour", 1),
        "fortnight": ("week", 2), "night": ("day", 1), "weekend": ("week", 1), "decade": ("year", 10),
    }.get(unit, (unit, 1))  # fmt: skip
    half = 0.5 if "and a half" in text else 0
    text = text.replace(" and a half", "")
    if text.startswith("half"):
        return 0.5 * scale, 0.5 * scale, kind
    if "couple" in text:
        return 2 * scale, 3 * scale, kind
    if text in ("few", "a few", "several", "some"):
        return 2 * scale, (7 if kind == "day" else 6) * scale, kind
    first, _, last = text.partition(" or ") if " or " in text else text.partition(" to ")
    low = number(first) + half
    return (low * scale, (number(last) or low) * scale if last else low * scale, kind) if low else None
