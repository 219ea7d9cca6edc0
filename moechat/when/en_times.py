"""English patterns of time, made of what ``en.toml`` has. ``en`` says what each pattern means."""

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

_BITS = {
    name: alternatives(WORDS[name])
    for name in ("months", "weekdays", "seasons", "festivals", "relative_days", "thirds", "decades")
}
_BITS |= {
    "ones": "|".join(names.ONES[1:10]),
    "teens": "|".join(names.ONES[10:]),
    "tens": "|".join(names.TENS),
    "hours": "|".join(names.ONES[1:13]),
    "ordinals": "|".join(ORDINALS),
    "day_words": "|".join(word for word in ORDINALS if word != "last"),
    "clear_weekdays": alternatives(word for word in WEEKDAYS if len(word) > 3),  # sun and sat are other words, too
    "long_seasons": alternatives(word for word in SEASONS if " " in word),
    "day_parts": alternatives(word for word in PARTS if word != "eve" and "hours" not in word),
    "vague": alternatives([*VAGUE_TILL_NOW, *VAGUE_PAST]).replace(" ", r"\s+"),
    "iso": shapes.ISO,
    "quarter": shapes.QUARTER,
}
_BITS |= patterns("en", "bits", _BITS)
UNIT, QUANTITY = _BITS["unit"], _BITS["quantity"]
PATTERNS = patterns("en", "times", {**_BITS, "not_times": patterns("en", "not_times", _BITS)["rows"]})

# What may stand before a year.
BEFORE_YEAR = (
    {word for name in FESTIVAL_NAMES for word in name.split()[-1:]}
    | {*MONTHS, *SEASONS}
    | {*"in of since during before after until from to late early mid between and year half quarter".split()}
)


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
