"""The facts that a message's clauses state, by the tables. Whatever a pattern takes for a name, a place or a thing must look
like one: a Chinese thing holds no pronoun, particle or adverb (by the kinds of jieba's dictionary), an English one no word of
the language's small words but those that join nouns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import takewhile

from moechat.language import words
from moechat.model import FactDraft
from moechat.reading.saying import mark
from moechat.rules import foods
from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause
from moechat.rules.table import Language, PatternTable, Row, table
from moechat.when.en_times import ORDINALS
from moechat.when.names import MONTHS, chinese_number, english_number, has_han

OLDEST, YOUNGEST_USER = 120, 5
LONGEST_THING = {"zh": 12, "en": 5}  # characters, words
_DAYS_OFF = {
    "今天": 0, "昨天": -1, "前天": -2, "明天": 1, "后天": 2, "今儿": 0, "明儿": 1, "today": 0, "yesterday": -1, "tomorrow": 1,
    "day after tomorrow": 2, "the day after tomorrow": 2,
}  # fmt: skip
_ABOUT_ME = re.compile(r"我|本人|\b(?:I|me|my)\b", re.I)
_FACES = re.compile(r"(?<![^\w\s)）》”\"'○])\s*(?:[:;]-?[)(DP]+|[^\w\s)）》”\"'○])++$")
_PRESUMING = ("said", "plan", "question", "wish", "uncertain")  # Even a question presumes that my dog Rex is mine.
_BODY = ("allergy", "过敏")
_NO_ARTICLE = re.compile(r"[a-z]+[^su]s$")


@dataclass
class _Speech:
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


def stated(
    parts: Sequence[Clause], source: str, at: datetime, language: Language
) -> list[tuple[Clause, list[FactDraft]]]:
    """Each clause with the facts that it states, in order. ``at`` is when it was said, ``source`` the exchange's id."""
    patterns = table(language)
    laughs = any(patterns["laughs"].search(part.text) for part in parts)
    message = _Speech(patterns, at, ", ".join(part.text for part in parts), laughs)
    drafts = [
        (part, [*_mentioned(part, message), *(_facts(part, message) or _facts(_going_on(part), message))])
        for part in parts
    ]
    if not any(draft.keyword in _BODY for _, each in drafts for draft in each):
        drafts += _not_taken(parts, message)
    every = [draft for _, each in drafts for draft in each]
    return [  # Who is named in a later clause is no nameless one, and what belongs to another thing is told by that.
        (
            part,
            [
                _finished(one, source)
                for one in dict.fromkeys(each)
                if message.nameless(one.target) and not any(_covers(other, one) for other in every)
            ],
        )
        for part, each in drafts
    ]


def _not_taken(parts: Sequence[Clause], message: _Speech) -> Iterator[tuple[Clause, list[FactDraft]]]:
    """What the user's own body does not take, where the table of foods knows the thing and the message says what it does to them,
    however it is said; nothing where anybody else is named, or where it was once."""
    patterns = message.patterns
    told = [part for part in parts if part.mood in ("said", "past", "hypothetical")]
    if patterns.language == "zh":  # A Chinese clause about anybody names them first, and 要是 only supposes.
        told = [one for one in told if one.mood != "hypothetical" and (one.whose != OTHER or _ABOUT_ME.search(one.text))]
    whole = " ".join(part.text for part in parts)
    of_others = any(patterns[name].search(whole) for name in ("another", "moment", "over"))
    if patterns.language == "zh":
        of_others = of_others or bool(patterns["PERSON"].search(whole))
    else:
        of_others = of_others or any(map(patterns["PERSON"].fullmatch, re.findall(r"[\w-]+", whole)))
    if len(told) < len(parts) or message.laughs or of_others:
        return
    thing: tuple[Clause, list[str]] | None = None
    for part in told:
        things = [word for word in foods.words(part.text) if not patterns["ILL"].fullmatch(word)]
        says_so = patterns["CANNOT"].search(part.text) or patterns["BODY"].search(part.text)
        if says_so and (things or thing):
            zh = patterns.language == "zh"
            clause, names = (part, things) if things else thing or (part, [])
            yield clause, [
                FactDraft(
                    f"用户不能碰{name}" if zh else f"The user cannot have {name}", (), "attribute", "user",
                    "过敏" if zh else "allergy", name,
                )
                for name in names
            ]  # fmt: skip
        thing = None if says_so else (part, things) if things else thing


def _covers(wider: FactDraft, draft: FactDraft) -> bool:
    """Whether what a body does not take is part of another thing of that kind, or follows from an illness: 海鲜过敏，不能吃虾."""
    if draft.keyword not in _BODY or wider.entity != draft.entity or "allerg" in draft.text or "过敏" in draft.text:
        return False
    things, wide = foods.named(draft.target), foods.named(wider.target)
    part = bool(wide) and wide <= foods.held(draft.target)
    return (
        part
        and wider.text != draft.text
        and (wide != things or ("cannot" not in wider.text and "不能" not in wider.text))
    )


def _going_on(clause: Clause) -> Clause:
    return replace(clause, whose=clause.goes_on) if clause.whose == UNKNOWN else clause


def _finished(draft: FactDraft, source: str) -> FactDraft:
    return replace(draft, sources=(source,), mark=mark(draft.text, draft.keyword) if draft.polarity > 0 else "")


def _mentioned(clause: Clause, message: _Speech) -> list[FactDraft]:
    """Those of the user's whom a clause in earnest only mentions: my tortoise Gerald is awake, my wife is late."""
    if clause.mood != "said" or clause.whose in (USER, OTHER, UNKNOWN) or clause.whose in message.names:
        return []
    zh = message.patterns.language == "zh"
    if zh and clause.name and not message.patterns["OTHERS"].fullmatch(clause.whose) and _is_name(clause.name):
        return [_named(clause.whose, clause.name, message)]
    if message.patterns["OWN"].fullmatch(clause.whose):
        text = f"用户有{clause.whose}" if zh else f"The user has {_article(clause.whose)} {clause.whose}"
        return [FactDraft(text, (), "relation", "user", "家人" if zh else "family", clause.whose)]
    return []


def _facts(clause: Clause, message: _Speech) -> list[FactDraft]:
    """The facts of the lines that fit the clause, if their values are what they should be."""
    if clause.mood not in _PRESUMING and not (clause.mood == "hearsay" and clause.whose not in (USER, OTHER, UNKNOWN)):
        return []
    patterns = message.patterns
    body = _trimmed(clause.body, patterns)
    if clause.whose not in (USER, OTHER, UNKNOWN):
        if patterns["OTHERS"].fullmatch(clause.whose):
            return []
        if clause.mood == "said" and (naming := patterns["naming"].fullmatch(body)):
            return [_named(clause.whose, name, message) for name in _names(naming, message)]
    drafts: list[FactDraft] = []
    fitted: set[int] = set()  # Of the lines below one @ the first that fits counts.
    lead = patterns["lead"].match(clause.text)
    whole = clause.text[lead.end() :] if lead else clause.text
    forms = [(_bare(whole), _bare(clause.body)), (_trimmed(whole, patterns), body)]
    if patterns.language == "zh":
        forms.append((_thinned(forms[1][0], patterns), _thinned(body, patterns)))
    cued: dict[int, bool] = {}
    for row in patterns.rows["facts"]:
        if row.group not in cued:
            cued[row.group] = row.cue.search(clause.text) is not None
        if not cued[row.group] or row.group in fitted or not _applies(row, clause, message):
            continue
        mine = "mine" in row.marks
        owned = replace(clause, whose=USER) if mine else clause
        open_slot = "things" in row.pattern.groupindex  # A thing may itself begin with an adverb.
        for spoken in dict.fromkeys(
            form[not mine and "text" not in row.marks] for form in forms[: 2 if open_slot else 3]
        ):
            if (match := row.pattern.fullmatch(spoken)) and (made := list(_made(row, match, owned, message))):
                fitted.add(row.group)
                drafts += made
                break
    return drafts


def _applies(row: Row, clause: Clause, message: _Speech) -> bool:
    marks, patterns = row.marks, message.patterns
    if "mine" not in marks and ("other" in marks) != (clause.whose in (OTHER, UNKNOWN)):
        return False
    if ("own" in marks and clause.whose != USER) or ("theirs" in marks and clause.whose == USER):
        return False
    if clause.mood != "said" and "presumed" not in marks and not (clause.mood == "plan" and "planned" in marks):
        return False
    if ("lasting" in marks and patterns["moment"].search(clause.text)) or ("care" in marks and message.laughs):
        return False
    if "told" in marks and not _ABOUT_ME.search(clause.text):
        return False
    return all(message.holds(word) for word in ("hello", "actually") if word in marks)


def _made(row: Row, match: re.Match[str], clause: Clause, message: _Speech) -> Iterator[FactDraft]:
    patterns, language = message.patterns, message.patterns.language
    groups = {name: text or "" for name, text in match.groupdict().items()}
    kind = next((kind for kind in _VALUES if groups.get(kind)), "")
    values = _VALUES[kind](match, message) if kind else []
    denied = match.groupdict().get("no") is not None
    whose = clause.whose if clause.whose not in (OTHER, UNKNOWN) else groups.get("whose", "")
    whose = re.sub(r"^(?:我家?的?|my \w+ (?=[A-Z]))", "", whose)
    for value in values:
        if kind == "age" and clause.whose == USER and int(value) < YOUNGEST_USER:
            return
        filled = {
            **groups,
            kind: value,
            "day": value,
            "full": value,
            "a": _article(value),
            "a2": _article(groups.get("was", "")),
        }
        if "verb" in groups:
            verb = groups["verb"].lower()
            filled["verb"] = verb if verb.endswith(("y", "est", "d")) else f"{verb}e"
        if "who" in groups:
            filled |= {"who": groups["who"].lower(), "a": _article(groups.get("size") or groups["who"])}
            if groups.get("name") or groups.get("names"):
                message.names[filled["who"]] = value
        if groups.get("pet") and groups.get("name"):
            message.names[groups["pet"].lower()] = value
        text = (row.denied if denied and row.denied else row.text).format(
            **{**dict.fromkeys(("count", "do", "size"), ""), **filled}
        )
        text = re.sub(r" {2,}", " ", text)
        keyword = row.what.format(**filled).replace("é", "e")
        if row.what == "{who}":
            keyword = _relation(keyword, patterns)
        yield FactDraft(
            text=f"{_subject(clause, whose, message)}{' ' if language == 'en' else ''}{text}",
            sources=(),
            kind="relation" if "named" in row.marks else "attribute",
            entity=whose if clause.whose in (OTHER, UNKNOWN) else message.entity(clause),
            keyword=keyword,
            target=value,
            polarity=(-1 if denied else 1) * (-1 if "minus" in row.marks else 1),
            single="one" in row.marks or bool(patterns["PARTNER"].fullmatch(keyword)),
        )


def _subject(clause: Clause, whose: str, message: _Speech) -> str:
    if clause.whose in (OTHER, UNKNOWN):
        return whose
    name = message.name_of(clause)
    if message.patterns.language == "zh":
        return "用户" if clause.whose == USER else f"用户的{clause.whose}{name}"
    return "The user" if clause.whose == USER else f"The user's {clause.whose}{' ' if name else ''}{name}"


def _named(whose: str, name: str, message: _Speech) -> FactDraft:
    """The name of a person or an animal that is brought in elsewhere: 养了一只猫，叫咪咪."""
    message.names[whose] = name
    patterns = message.patterns
    zh = patterns.language == "zh"
    keyword = _relation(whose, patterns)
    text = f"用户的{whose}叫{name}" if zh else f"The user has {_article(whose)} {whose} called {name}"
    return FactDraft(text, (), "relation", "user", keyword, name, 1, bool(patterns["PARTNER"].fullmatch(whose)))


def _relation(who: str, patterns: PatternTable) -> str:
    """The keyword of what somebody is to the user: mother, pet."""
    zh = patterns.language == "zh"
    if patterns["CHILD"].fullmatch(who):
        return "孩子" if zh else "children"
    who = who.replace("é", "e")
    return who if patterns["KIN"].fullmatch(who) else "宠物" if zh else "pet"


# ---- values


def _bare(text: str) -> str:
    return _FACES.sub("", text.strip(" 《》“”\"':：,，.!"))


def _trimmed(text: str, patterns: PatternTable) -> str:
    text = _bare(text)
    return re.sub(rf"(?:{patterns['ENDS'].pattern})$", "", text) if patterns.language == "zh" else text


def _thinned(text: str, patterns: PatternTable) -> str:
    """A Chinese clause without the adverbs and times between its words; what denies stays."""
    light = (
        word if kind not in ("d", "t") or patterns["denies"].search(word) else "" for word, kind in words.kinds(text)
    )
    return "".join(light)


def _kinds(text: str) -> list[str]:
    return [kind for _, kind in words.kinds(text)]


def _names(match: re.Match[str], message: _Speech) -> list[str]:
    groups = match.groupdict("")
    if groups.get("names"):
        return [name.strip() for name in re.split(", | and | & |the baby", groups["names"]) if name.strip(" ,")]
    name = (groups.get("full") or groups["name"]).strip()
    is_beast = message.patterns["PET"].fullmatch(groups.get("who", "")) and len(name) > 1
    if not ((is_beast and len(_kinds(name)) == 1) or _is_name(name)) or (
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


def _is_name(name: str) -> bool:
    if not has_han(name):
        return not words.is_stop_word(name.split()[0].lower()) and name[0] != "○"
    kinds = _kinds(name)
    if len(set(name)) < len(name) == 2 or (len(kinds) > 1 and table("zh")["surname"].match(name)):
        kinds = kinds[1:] or [""]
    return all(kind[:1] not in ("r", "u", "y", "p", "d", "c") for kind in kinds) and (
        kinds[-1] not in ("v", "a") or table("zh")["surname"].match(name) is not None
    )


def _age(match: re.Match[str], _message: _Speech) -> list[str]:
    age = int(_number(match["age"]) or 0)
    return [str(age)] if 0 < age <= OLDEST else []


def _number(text: str) -> float | None:
    return chinese_number(text) if not text.isascii() or text.isdecimal() else english_number(text)


def _day(match: re.Match[str], message: _Speech) -> list[str]:
    groups = match.groupdict("")
    month, date = groups["month"] or groups.get("month2", ""), groups["date"] or groups.get("date2", "")
    if message.patterns.language == "zh":
        number, day = int(chinese_number(month) or 0), int(chinese_number(date) or 0)
        lunar, named = "农历" if groups["lunar"] or groups["lunarday"] else "", groups["lunarday"]
        return [f"{lunar}{number}月{named}{day}{'' if named else '日'}"] if 1 <= number <= 12 and 1 <= day <= 31 else []
    full = next(name for name in MONTHS if name[:3].lower() == month[:3].lower())
    tens, _, ones = date.lower().replace("-", " ").rpartition(" ")
    number = int(english_number(tens) or 0) + ORDINALS.get(ones, 0) or int(date.rstrip("stndrh"))
    return [f"{full} {number}"] if 1 <= number <= 31 else []


def _today(match: re.Match[str], message: _Speech) -> list[str]:
    if message.holds("DAY"):  # "Tomorrow is my birthday, June 17": the day that is named is the surer one.
        return []
    day = message.at + timedelta(days=_DAYS_OFF[match["today"].lower()])
    return [f"{day.month}月{day.day}日" if message.patterns.language == "zh" else f"{MONTHS[day.month - 1]} {day.day}"]


def _place(match: re.Match[str], _message: _Speech) -> list[str]:
    place = match["place"].strip(" ,.'")
    if not has_han(place):
        return [place] if not words.is_stop_word(place.split()[-1].lower()) else []
    kinds = _kinds(place)
    sure = (
        kinds[0][:2] in ("ns", "nz", "nr") or place[-1] in "区县镇村省市州路街巷" or (kinds == [""] and len(place) > 1)
    )
    return [place] if sure and not any(kind[:1] in ("r", "y", "v", "d", "c", "u") for kind in kinds) else []


def _work(match: re.Match[str], _message: _Speech) -> list[str]:
    work = match["work"].strip()
    if not has_han(work):
        return [work]
    kinds = _kinds(re.sub(r"^一[家个所间]", "", work)) or ["m"]
    vague = all(kind == "ns" for kind in kinds) or any(
        kind[:1] in ("r", "d", "f", "s", "t", "m", "c", "p") for kind in kinds
    )
    return [work] if not vague and kinds[0] not in ("a", "ad", "v") and kinds[-1][:1] in ("n", "") else []


def _plain(group: str) -> Callable[[re.Match[str], _Speech], list[str]]:
    def value(match: re.Match[str], _message: _Speech) -> list[str]:
        text = match[group].strip()
        if text.isascii() and words.is_stop_word(text.split()[0].lower() if text else ""):
            return []
        kinds = _kinds(text) if has_han(text) and group not in ("grade", "ill") else []
        closed = any(kind[:1] in ("r", "p", "d", "c", "u") for kind in kinds)
        return [text] if text and not closed else []

    return value


def _field(match: re.Match[str], message: _Speech) -> list[str]:
    """What is studied: a noun, or a single word."""
    kinds = _kinds(match["field"])
    is_noun = kinds[-1][:1] in ("n", "") or len(kinds) == 1 or kinds[0][:1] == "n"
    return _plain("field")(match, message) if is_noun and not any(kind[:1] in ("a", "d", "m") for kind in kinds) else []


def _things(match: re.Match[str], message: _Speech) -> list[str]:
    """The things of a list (咖啡、茶和可乐), or none where one of them is not one."""
    if several := match.groupdict().get("pets") or match.groupdict().get("kins"):
        split = message.patterns["split"].split(several)
        return [one.strip() for one in ([kin[0] for kin in message.patterns["KINS"].finditer(several)] or split)]
    text = match["things"].strip(" \"'.,!《》")
    parts = [_trimmed(part, message.patterns) for part in message.patterns["split"].split(text)]
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


def _food(match: re.Match[str], message: _Speech) -> list[str]:
    """What a body does not take, each thing of a list that the table of foods and drugs knows."""
    text = re.sub(r"^(?:eating|drinking|taking|having|any|the|too much) ", "", match["food"].strip())
    parts = [part.strip() for part in message.patterns["split"].split(text)]
    return [part for part in parts if part and foods.named(part)]


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


def _article(noun: str) -> str:
    if not noun or _NO_ARTICLE.search(noun):
        return ""
    return "an" if noun[:1].lower() in "aeiou" else "a"


_VALUES: Mapping[str, Callable[[re.Match[str], _Speech], list[str]]] = {
    "full": _names, "names": _names, "name": _names, "age": _age, "month": _day, "month2": _day, "today": _today,
    "place": _place, "work": _work, "food": _food, "things": _things, "pets": _things, "kins": _things,
    "field": _field,
    **{group: _plain(group) for group in ("job", "school", "major", "plain", "grade", "ill", "pet", "who", "tongue")},
}  # fmt: skip
