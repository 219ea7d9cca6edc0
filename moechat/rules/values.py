"""What the groups of a pattern are worth in a message: names, days, places, things; none where they do not look like one.

A Chinese thing holds no pronoun, particle or adverb (by the kinds of jieba's dictionary), an English one no word of the
language's small words but those that join nouns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile

from moechat.language import words
from moechat.model import FactDraft
from moechat.rules.clause import USER, Clause
from moechat.rules.table import PatternTable, table
from moechat.when.en_times import ORDINALS
from moechat.when.names import MONTHS, chinese_number, english_number, has_han

OLDEST, YOUNGEST_USER = 120, 5
LONGEST_THING = {"zh": 12, "en": 5}  # characters, words
_DAYS_OFF = {
    "今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2, "今儿": 0, "明儿": 1, "today": 0, "yesterday": -1, "tomorrow": 1,
    "day after tomorrow": 2, "the day after tomorrow": 2,
}  # fmt: skip
_FACES = re.compile(r"(?<![^\w\s)）》”\"'○])\s*(?:[:;]-?[)(DP]+|[^\w\s)）》”\"'○])++$")
_NO_ARTICLE = re.compile(r"[a-z]+[^su]s$")


@dataclass
class Speech:
    """What one message tells besides the facts of a clause: its words, whether it laughs, and what the people and animals
    in it are called, by what they are to the user (dog → Rex)."""

    patterns: PatternTable
    at: datetime
    whole: str
    laughs: bool
    names: dict[str, str] = field(default_factory=dict)
    looked_for: dict[str, bool] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        """Whether the single pattern ``name`` is anywhere in the message."""
        if name not in self.looked_for:
            self.looked_for[name] = self.patterns[name].search(self.whole) is not None
        return self.looked_for[name]

    def entity(self, clause: Clause) -> str:
        return "user" if clause.whose == USER else self.name_of(clause) or clause.whose

    def nameless(self, who: str) -> bool:
        return who not in self.names and who.removesuffix("s") not in self.names

    def name_of(self, clause: Clause) -> str:
        return "" if clause.whose == USER else self.names.get(clause.whose, "")

    def subject(self, whose: str) -> str:
        """Whose a fact is, as a sentence begins: 用户的妹妹小雨, "The user's dog Rex"."""
        name = self.names.get(whose, "")
        if self.patterns.language == "zh":
            return "用户" if whose == USER else f"用户的{whose}{name}"
        return "The user" if whose == USER else f"The user's {whose}{' ' if name else ''}{name}"

    def named(self, whose: str, name: str) -> FactDraft:
        """The name of a person or an animal that is brought in elsewhere: 养了一只猫，叫咪咪."""
        self.names[whose] = name
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
        return who if self.patterns["KIN"].fullmatch(who) else "宠物" if zh else "pet"


def bare(text: str) -> str:
    return _FACES.sub("", text.strip(" 《》“”\"':：,，.!"))


def trimmed(text: str, patterns: PatternTable) -> str:
    text = bare(text)
    return re.sub(rf"(?:{patterns['ENDS'].pattern})$", "", text) if patterns.language == "zh" else text


def thinned(text: str, patterns: PatternTable) -> str:
    """A Chinese clause without the adverbs and times between its words; what denies stays."""
    light = (
        word if kind not in ("d", "t") or patterns["denies"].search(word) else "" for word, kind in words.kinds(text)
    )
    return "".join(light)


def _kinds(text: str) -> list[str]:
    return [kind for _, kind in words.kinds(text)]


def names(match: re.Match[str], message: Speech) -> list[str]:
    groups = match.groupdict("")
    if groups.get("names"):
        return [name.strip() for name in re.split(", | and | & |the baby", groups["names"]) if name.strip(" ,")]
    name = (groups.get("full") or groups["name"]).strip()
    is_beast = message.patterns["PET"].fullmatch(groups.get("who", "")) and len(name) > 1
    if not ((is_beast and len(_kinds(name)) == 1) or is_name(name)) or (
        has_han(name) and message.patterns["PERSON"].fullmatch(name)
    ):
        return []
    if groups.get("full") and has_han(name):
        kinds, shapes = _kinds(name), message.patterns
        looks = shapes["surname"].match(name) or shapes["called"].match(name) or len(set(name)) < len(name)
        rare = [kind[:2] in ("", "nr", "nz", "ns") for kind in kinds]
        is_one = all(rare) and not match[0].startswith("是")
        unlike = not 2 <= len(name) <= 4 or not (is_one or (looks and (len(kinds) > 1 or rare[0])))
        if "·" not in name and unlike:
            return []
    return [name[0].upper() + name[1:]]


def is_name(name: str) -> bool:
    if not has_han(name):
        return not words.is_stop_word(name.split()[0].lower()) and name[0] != "○"
    kinds = _kinds(name)
    if len(set(name)) < len(name) == 2 or (len(kinds) > 1 and table("zh")["surname"].match(name)):
        kinds = kinds[1:] or [""]
    return all(kind[:1] not in ("r", "u", "y", "p", "d", "c") for kind in kinds) and (
        kinds[-1] not in ("v", "a") or table("zh")["surname"].match(name) is not None
    )


def age_of(text: str, *, is_user: bool) -> str:
    """An age in digits; empty where nobody is that old."""
    number = re.sub(r"周?岁.*|[周虚满整]|多$| ?years?.*| ?yo$", "", text.replace("-", " ")).strip()
    age = int(_number("二" if number == "两" else number) or 0)
    return str(age) if (YOUNGEST_USER if is_user else 1) <= age <= OLDEST else ""


def day_of(text: str, message: Speech) -> str:
    """A day of the year, or what it is called (Boxing Day, 腊八); empty for one that there is not."""
    match = message.patterns["DAY"].search(text)
    return next(iter(_day(match, message)), "") if match else text


def _age(match: re.Match[str], _message: Speech) -> list[str]:
    age = int(_number(match["age"]) or 0)
    return [str(age)] if 0 < age <= OLDEST else []


def _number(text: str) -> float | None:
    return chinese_number(text) if not text.isascii() or text.isdecimal() else english_number(text)


def _day(match: re.Match[str], message: Speech) -> list[str]:
    groups = match.groupdict("")
    month, date = groups["month"] or groups.get("month2", ""), groups["date"] or groups.get("date2", "")
    if message.patterns.language == "zh":
        of_moon = {"正": 1, "冬": 11, "腊": 12}.get(month, 0)
        number, day = of_moon or int(chinese_number(month) or 0), int(chinese_number(date) or 0)
        if not (1 <= number <= 12 and 1 <= day <= 31):
            return []
        lunar, named = "农历" if groups["lunar"] or groups["lunarday"] or of_moon else "", groups["lunarday"]
        return [f"农历{month}月{named}{date}" if of_moon else f"{lunar}{number}月{named}{day}{'' if named else '日'}"]
    full = next(name for name in MONTHS if name[:3].lower() == month[:3].lower())
    tens, _, ones = date.lower().replace("-", " ").rpartition(" ")
    number = int(english_number(tens) or 0) + ORDINALS.get(ones, 0) or int(date.rstrip("stndrh"))
    return [f"{full} {number}"] if 1 <= number <= 31 else []


def _today(match: re.Match[str], message: Speech) -> list[str]:
    if message.holds("DAY"):  # "Tomorrow is my birthday, June 17": the day that is named is the surer one.
        return []
    day = message.at + timedelta(days=_DAYS_OFF[match["today"].lower()])
    return [f"{day.month}月{day.day}日" if message.patterns.language == "zh" else f"{MONTHS[day.month - 1]} {day.day}"]


def _place(match: re.Match[str], _message: Speech) -> list[str]:
    place = match["place"].strip(" ,.'")
    if not has_han(place):
        return [place] if not words.is_stop_word(place.split()[-1].lower()) else []
    kinds = _kinds(place)
    sure = (
        kinds[0][:2] in ("ns", "nz", "nr") or place[-1] in "区县镇村省市州路街巷" or (kinds == [""] and len(place) > 1)
    )
    return [place] if sure and not any(kind[:1] in ("r", "y", "v", "d", "c", "u") for kind in kinds) else []


def _work(match: re.Match[str], _message: Speech) -> list[str]:
    work = match["work"].strip()
    if not has_han(work):
        return [work]
    kinds = _kinds(re.sub(r"^一[家个所间]", "", work)) or ["m"]
    vague = all(kind == "ns" for kind in kinds) or any(
        kind[:1] in ("r", "d", "f", "s", "t", "m", "c", "p") for kind in kinds
    )
    return [work] if not vague and kinds[0] not in ("a", "ad", "v") and kinds[-1][:1] in ("n", "") else []


def _plain(group: str) -> Callable[[re.Match[str], Speech], list[str]]:
    def value(match: re.Match[str], _message: Speech) -> list[str]:
        text = match[group].strip()
        if text.isascii() and words.is_stop_word(text.split()[0].lower() if text else ""):
            return []
        kinds = _kinds(text) if has_han(text) and group not in ("grade", "ill") else []
        closed = any(kind[:1] in ("r", "p", "d", "c", "u") for kind in kinds)
        return [text] if text and not closed else []

    return value


def _field(match: re.Match[str], message: Speech) -> list[str]:
    """What is studied: a noun, or a single word."""
    kinds = _kinds(match["field"])
    is_noun = kinds[-1][:1] in ("n", "") or len(kinds) == 1 or kinds[0][:1] == "n"
    return _plain("field")(match, message) if is_noun and not any(kind[:1] in ("a", "d", "m") for kind in kinds) else []


def _things(match: re.Match[str], message: Speech) -> list[str]:
    """The things of a list (咖啡、茶和可乐), or none where one of them is not one."""
    if several := match.groupdict().get("pets") or match.groupdict().get("kins"):
        split = message.patterns["split"].split(several)
        return [one.strip() for one in ([kin[0] for kin in message.patterns["KINS"].finditer(several)] or split)]
    text = match["things"].strip(" \"'.,!《》")
    parts = [trimmed(part, message.patterns) for part in message.patterns["split"].split(text)]
    parts = parts if all(parts) or len(parts) == 1 else [text]
    if message.patterns.language == "zh":
        parts = list(takewhile(lambda part: part and _is_thing_zh(part), parts))
    else:
        things = [_thing_en(part, message.patterns) for part in parts]
        is_aside = message.patterns["lead"].fullmatch
        pairs = zip(things[1:], parts[1:], strict=True)
        whole = takewhile(lambda pair: pair[0] and pair[0] == pair[1] and not is_aside(pair[0]), pairs)
        parts = [things[0], *(thing for thing, _ in whole if things[0] == parts[0])] if things[0] else []
    return [re.sub(r"\bmy\b", "their", re.sub(r"^(?:eating|drinking) ", "", part)) for part in parts]


def _is_thing_zh(text: str) -> bool:
    if not has_han(text):
        return True
    text = re.sub("(?<=.)[那这][种股些个]", "", text)
    if text.startswith("别人"):
        text = text.replace("我", "")
    parts = [(word, kind) for word, kind in words.kinds(text) if word != "别人"]
    kinds = [kind for _, kind in parts]
    if not kinds or len(text) > LONGEST_THING["zh"] or any(kind[:1] in ("r", "y", "c") for kind in kinds):
        return False
    if text.startswith("一个人"):
        kinds = kinds[2:] or kinds
    if any(kind == "d" and (len(word) == 1 or words.is_stop_word(word)) for word, kind in parts):
        return False
    if "q" in kinds[:-1]:
        return False
    return kinds[0][:1] not in ("u", "f", "m") and (len(text) > 1 or kinds[0][:1] in ("n", "a"))


def _thing_en(text: str, patterns: PatternTable) -> str:
    """The thing at the beginning of ``text``: what stands before the first small word that joins no nouns. Empty where it is
    none, or where that word says which one is meant (people who whistle)."""
    text = re.sub(rf"(?:{patterns['END'].pattern})$", "", text)
    if not (prefix := patterns["things"].match(text)) or "○" in text:
        return ""
    parts: list[str] = []
    for word in text[prefix.end() :].split():
        if words.is_stop_word(word.lower()) and not patterns["small"].fullmatch(word):
            if patterns["narrows"].fullmatch(word):
                return ""
            break
        parts.append(word)
        if word.endswith((",", ":")):
            break
    place = next((at for at, word in enumerate(parts) if at and patterns["joins"].fullmatch(word)), 0)
    parts = parts[:place] if place and len(parts) > LONGEST_THING["en"] else parts
    while parts and patterns["small"].fullmatch(parts[-1]):
        parts.pop()
    is_cut = len(parts) < len(text[prefix.end() :].split())
    if not parts or len(parts) > LONGEST_THING["en"] or parts[0].lower() == "the":
        return ""
    if is_cut and len(parts) == 1 and parts[0].endswith("ing"):
        return ""  # Of "throwing on some music" the half is not liked.
    return f"{text[: prefix.end()]}{' '.join(parts)}".strip(" ,:")


def article(noun: str) -> str:
    if not noun or _NO_ARTICLE.search(noun):
        return ""
    return "an" if noun[:1].lower() in "aeiou" else "a"


VALUES: Mapping[str, Callable[[re.Match[str], Speech], list[str]]] = {
    "full": names, "names": names, "name": names, "age": _age, "month": _day, "month2": _day, "today": _today,
    "place": _place, "work": _work, "things": _things, "pets": _things, "kins": _things,
    "field": _field,
    **{group: _plain(group) for group in ("job", "school", "major", "plain", "grade", "ill", "pet", "who", "tongue")},
}  # fmt: skip
