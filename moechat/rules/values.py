"""The forms that values are kept in: an age in digits, a day of the year; and the sentences that facts are kept as."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from moechat.model import FactDraft
from moechat.rules.clause import USER
from moechat.rules.table import PatternTable
from moechat.when.en_times import ORDINALS
from moechat.when.names import MONTHS, chinese_number, english_number

OWN = 0.7  # What is so likely the user's own is.
OLDEST, YOUNGEST_USER = 120, 5
_DAYS_OFF = {
    "今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2, "今儿": 0, "明儿": 1, "today": 0, "yesterday": -1, "tomorrow": 1,
    "day after tomorrow": 2, "the day after tomorrow": 2,
}  # fmt: skip
_ONE = re.compile(r"^(?:an?|one) |^一[只条个头匹位]", re.I)
_NO_ARTICLE = re.compile(r"[a-z]+[^su]s$")


@dataclass
class Speech:
    """What one message tells besides its clauses: when it was said, and what the people and animals in it are called, by what
    they are to the user (dog → Rex, Bo)."""

    patterns: PatternTable
    at: datetime
    names: dict[str, list[str]] = field(default_factory=dict)

    def nameless(self, who: str) -> bool:
        """Whether nothing tells what somebody is called who is told of as one (a cat, 一只猫)."""
        who = _ONE.sub("", who)
        return who not in self.names and who.removesuffix("s") not in self.names

    def name_of(self, whose: str) -> str:
        """What somebody is called; of several the last. Empty where nothing tells."""
        return self.names.get(whose, [""])[-1]

    def is_name(self, word: str) -> bool:
        return any(word in names for names in self.names.values())

    def subject(self, whose: str) -> str:
        """Whose a fact is, as a sentence begins: 用户的妹妹小雨, "The user's dog Rex"."""
        name = self.name_of(whose)
        if self.patterns.language == "zh":
            return "用户" if whose == USER else f"用户的{whose}{name}"
        return "The user" if whose == USER else f"The user's {whose}{' ' if name else ''}{name}"

    def fact(self, kind: str, value: str, whose: str = USER, what: str = "") -> FactDraft:
        """The fact that a value of a kind of the table's [frames] states; ``what`` is a favourite's: colour, 电影."""
        row = self.patterns.frames[kind]
        is_nobody_else = whose in self.names or not self.patterns["OTHERS"].fullmatch(whose)  # One has many friends.
        sentence = re.sub(" +", " ", row.text.format(value=value, a=article(value), what=what))
        return FactDraft(
            text=f"{self.subject(whose)}{'' if self.patterns.language == 'zh' else ' '}{sentence}",
            sources=(),
            kind="relation" if "named" in row.marks else "attribute",
            entity="user" if whose == USER else self.name_of(whose) or whose,
            keyword=row.what.format(what=what),
            target=value,
            polarity=-1 if "minus" in row.marks else 1,
            single="one" in row.marks and is_nobody_else,
        )

    def named(self, whose: str, name: str) -> FactDraft:
        """The name of a person or an animal of the user's."""
        self.names.setdefault(whose, []).append(name)
        zh = self.patterns.language == "zh"
        text = f"用户的{whose}叫{name}" if zh else f"The user has {article(whose)} {whose} called {name}"
        single = bool(self.patterns["PARTNER"].fullmatch(whose))
        return FactDraft(text, (), "relation", "user", self.relation(whose), name, 1, single)

    def relation(self, who: str) -> str:
        """The keyword of what somebody is to the user: mother, pet."""
        zh = self.patterns.language == "zh"
        if self.patterns["CHILD"].fullmatch(who):
            return "孩子" if zh else "children"
        who = who.replace("é", "e")
        return who if self.patterns["PERSON"].fullmatch(who) else "宠物" if zh else "pet"


def age_of(text: str, *, is_user: bool) -> str:
    """An age in digits; empty where nobody is that old."""
    number = re.sub(r"周?岁.*|[周虚满整]|多$| ?years?.*| ?yo$", "", text.replace("-", " ")).strip()
    number = "二" if number == "两" else number
    age = int((chinese_number(number) if not number.isascii() or number.isdecimal() else english_number(number)) or 0)
    return str(age) if (YOUNGEST_USER if is_user else 1) <= age <= OLDEST else ""


def day_of(text: str, message: Speech) -> str:
    """A day of the year, or what it is called (Boxing Day, 腊八); empty for one that there is not."""
    if (days := _DAYS_OFF.get(text.casefold())) is not None:
        day = message.at + timedelta(days=days)
        return (
            f"{day.month}月{day.day}日" if message.patterns.language == "zh" else f"{MONTHS[day.month - 1]} {day.day}"
        )
    match = message.patterns["DAY"].search(text)
    return _day(match, message) if match else text


def _day(match: re.Match[str], message: Speech) -> str:
    groups = match.groupdict("")
    month, date = groups["month"] or groups.get("month2", ""), groups["date"] or groups.get("date2", "")
    if message.patterns.language == "zh":
        of_moon = {"正": 1, "冬": 11, "腊": 12}.get(month, 0)
        number, day = of_moon or int(chinese_number(month) or 0), int(chinese_number(date) or 0)
        if not (1 <= number <= 12 and 1 <= day <= 31):
            return ""
        lunar, named = "农历" if groups["lunar"] or groups["lunarday"] or of_moon else "", groups["lunarday"]
        return f"农历{month}月{named}{date}" if of_moon else f"{lunar}{number}月{named}{day}{'' if named else '日'}"
    full = next(name for name in MONTHS if name[:3].lower() == month[:3].lower())
    tens, _, ones = date.lower().replace("-", " ").rpartition(" ")
    number = int(english_number(tens) or 0) + ORDINALS.get(ones, 0) or int(date.rstrip("stndrh"))
    return f"{full} {number}" if 1 <= number <= 31 else ""


def article(noun: str) -> str:
    if not noun or _NO_ARTICLE.search(noun):
        return ""
    return "an" if noun[:1].lower() in "aeiou" else "a"
