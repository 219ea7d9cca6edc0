"""Recalled facts and events as text, for the chat model and for logs (seed 004, section 七 and its samples).

Facts stand in groups: the user's attributes and relations, the character's relations, then those of others. An attribute
holds whenever it was learned and carries no date; a relation does. Memories speak of 用户 and 角色 (the user, the character);
``Names`` draws those whose names are known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from moechat import when
from moechat.language.words import count_tokens, fold
from moechat.memory.contradiction import keyword_class
from moechat.model import Episode, Event, Fact, FactKind
from moechat.when import Precision, shown
from moechat.when.names import MONTHS
from moechat.when.span import WHOLE_DAY, away, in_zone, told

LEAST_TOKENS = 100
"""No memory is cut to fewer tokens so that another finds room."""
ELLIPSIS = 2  # Tokens of the marks for what is left out before and after a sentence.
_SENTENCE = re.compile(r"[^.!?。！？；]+(?:[.!?。！？；]+[”」』\"')）]*\s*)?|[.!?。！？；]+\s*")
_LABEL = re.compile(r"[^:：\n]{1,40}(?:: |：)")  # who says a line, see moechat.turn.exchange_text


def fair_length(tokens: Iterable[int], room: int) -> int:
    """The length to cut longer memories to, so that all of them fit into ``room`` tokens; at least ``LEAST_TOKENS``."""
    ordered = sorted(tokens)
    for i, length in enumerate(ordered):
        if length * (len(ordered) - i) > room:
            return max(LEAST_TOKENS, room // (len(ordered) - i))
        room -= length
    return max(ordered, default=LEAST_TOKENS)


def passage(text: str, tokens: int, words: Sequence[str]) -> str:
    """``text`` in at most ``tokens``: the sentences with most of ``words``, in their order, and as many of the first as fit.

    Every line keeps the name before it. Where something is left out stands an ellipsis.
    """
    labels = [(match[0] if (match := _LABEL.match(line)) else "", line) for line in text.splitlines()]
    lines = [(label, _SENTENCE.findall(line[len(label) :])) for label, line in labels]
    folded = {(i, j): fold(sentence) for i, (_, own) in enumerate(lines) for j, sentence in enumerate(own)}
    worth = {place: sum(word in sentence for word in words) for place, sentence in folded.items()}
    chosen: set[tuple[int, int]] = set()
    room = tokens
    for i, j in sorted(worth, key=lambda place: (-worth[place], place)):
        label, sentences = lines[i]
        size = count_tokens(sentences[j]) + ELLIPSIS
        size += 0 if any((i, other) in chosen for other in range(len(sentences))) else count_tokens(label)
        if size <= room:
            chosen.add((i, j))
            room -= size
    if chosen:
        return _joined(lines, chosen)
    end = bisect_right(range(1, len(text)), tokens, key=lambda end: count_tokens(text[:end] + "…"))
    return text[: max(1, end)] + "…"


def _joined(lines: Sequence[tuple[str, list[str]]], chosen: set[tuple[int, int]]) -> str:
    shown = []
    for i, (label, sentences) in enumerate(lines):
        kept = [j for j in range(len(sentences)) if (i, j) in chosen]
        if kept:
            parts = [("…" if j and j - 1 not in kept else "") + sentences[j] for j in kept]
            end = "" if kept[-1] == len(sentences) - 1 else "…"
            shown.append(label + "".join(parts).rstrip() + end)
    return "\n".join(shown)


Language = Literal["zh", "en"]
Owner = Literal["user", "character", "particular", "generic"]


@dataclass(frozen=True)
class Names:
    """What the two are called, "" where nobody knows, and the language that is written around it."""

    user: str = ""
    char: str = ""
    language: Language = "zh"

    def line(self, text: str) -> str:
        """A memory is a line of its block: no second line of it may pass for another block."""
        text = " ".join(text.split()) if "\n" in text or "\r" in text else text
        for pattern, name in ((_USER, self.user), (_CHARACTER, self.char)):
            text = pattern.sub(lambda _, name=name: name, text) if name else text  # type: ignore[misc]
        return text

    def is_name(self, fact: Fact) -> bool:
        """Whether a fact says no more than how the user is called."""
        return bool(self.user) and keyword_class(fact.draft) == "name" and fact.draft.target == self.user


NAMELESS = Names()


@dataclass(frozen=True)
class FactGroup:
    """Facts of one kind about one sort of entity, under a heading in two languages.

    ``per`` says whose name ``{about}`` in the heading is. What stands in brackets is left out where there is no such name.
    """

    owner: Owner
    kind: FactKind
    per: Literal["", "target", "entity"]
    zh: str
    en: str


# The order is the seed's (用户-属性, 用户-关系-关联对象名, 主体-关系-关联对象名, 具体实体-属性, 具体实体-关系); the labels are
# words that one would think in. The seed names no place for the character's attributes, kinds of things, and scenes remembered as
# seen: each stands beside its like.
GROUPS = (
    FactGroup("user", "attribute", "", "关于{user}", "About {user}"),
    FactGroup("user", "relation", "target", "{user}的人和事[：{about}]", "{user}[ and {about}]"),
    FactGroup("character", "relation", "target", "{char}[和{about}]", "{char}[ and {about}]"),
    FactGroup("character", "attribute", "", "关于{char}自己", "About {char}"),
    FactGroup("particular", "attribute", "entity", "[关于{about}]", "[About {about}]"),
    FactGroup("particular", "relation", "entity", "[{about}身边的人和事]", "[{about} and others]"),
    FactGroup("generic", "attribute", "entity", "[说到{about}]", "[{about}, in general]"),
    FactGroup("generic", "relation", "entity", "[说到{about}，还有]", "[{about} and others, in general]"),
    FactGroup("user", "boundary", "", "{user}希望的", "What {user} asks for"),
    FactGroup("user", "picture", "", "记得的画面", "Scenes remembered"),
)
_USER = re.compile(
    r"(?<!新)(?<!老)用户(?![群名量数]|体验|增长|研究|画像|需求|反馈|界面|运营|调研|访谈|行为|数据|协议|隐私|测试|端)|"
    r"\b(?:[Tt]he user|User)\b(?! (?:interface|experience|research|interview|data|test|group|base)s?\b)"
)
_CHARACTER = re.compile(r"(?<![主配反男女的])角色(?!扮演|设[定置]|塑造|卡)|\b[Tt]he character\b")
_DATE = re.compile(r" ?[（(](\d{4}-\d{2}-\d{2}(?:(?:至| to )\d{4}-\d{2}-\d{2})?)[）)]")
_OPTIONAL = re.compile(r"\[(.*?)\]")
_NAME = re.compile(r"\{(user|char|about)\}")
_STATUS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "planned": "（打算）",
        "ahead": "（还没到）",
        "was_planned": "（当时的打算）",
        "cancelled": "（取消了）",
        "open": "（还没完）",
    },
    "en": {
        "planned": " (a plan)",
        "ahead": " (still to come)",
        "was_planned": " (the plan then)",
        "cancelled": " (cancelled)",
        "open": " (not over yet)",
    },
}
_DOUBTED: Mapping[str, Mapping[str, str]] = {
    "care": {"zh": "可能：{text}——拿不准，先问一声", "en": "Perhaps: {text} - not certain; ask first"},
    "fact": {"zh": "{text}（拿不准）", "en": "{text} (not certain)"},
}

# The time before the line is that of the last of them.
_TIMES = {"zh": "（说过{times}次，这是最近一次）", "en": " (told {times} times, this the latest)"}
_SOFTLY = {"zh": "（轻声，不主动提）", "en": " (softly; not raised unasked)"}


def fragments(facts: Iterable[Fact], names: Names = NAMELESS) -> str:
    """The facts as lines under their headings, in the order given within each; "" where there are none."""
    called = {"user": names.user, "character": names.char}
    gathered: dict[tuple[int, str], list[str]] = {}
    for fact in facts:
        draft = fact.draft
        owner = draft.entity if draft.entity in ("user", "character") else "generic" if draft.generic else "particular"
        owner = "user" if draft.kind in ("picture", "boundary") else owner
        place = next(i for i, group in enumerate(GROUPS) if (group.owner, group.kind) == (owner, draft.kind))
        about = {"target": draft.target, "entity": draft.entity, "": ""}[GROUPS[place].per]
        # A name is written as the fact's words have it within a sentence: joel is Joel.
        spelling = re.search(rf"(?<=\S ){re.escape(about)}(?!\w)", fact.text, re.IGNORECASE) if about else None
        about = called.get(about) or (spelling[0] if spelling else about)
        day = (
            f"{fact.at:%Y-%m-%d}{'：' if names.language == 'zh' else ': '}"
            if draft.kind == "relation" and fact.at
            else ""
        )
        gathered.setdefault((place, about), []).append(f"- {day}{stated(fact, names)}")
    lines: list[str] = []
    for (place, about), facts_of_group in sorted(
        gathered.items(), key=lambda item: item[0][0]
    ):  # best first within one
        lines += [_heading(GROUPS[place], about, names), *facts_of_group]
    return "\n".join(lines)


def event_line(episode: Episode, now: datetime, names: Names = NAMELESS, *, aged: bool = True, times: int = 1) -> str:
    """An event as one line ``{time}{place}:{event}``. ``aged``: how long ago it is stands beside its time. Without it the line
    says the same on another day, and of what is delicate, that it is not to be raised. ``times``: on how many days it was told.
    """
    event, language = episode.event, names.language
    time = dated(episode, now, language)
    goes_on = event.happened is not None and event.happened[0] <= now < event.happened[1] - WHOLE_DAY
    if time and aged and not goes_on:  # What has begun and lasts longer than today has no age.
        age = away(event.happened[0] if event.happened else episode.since, now, language)
        time = f"{time}（{age}）" if language == "zh" else f"{time} ({age})"
    parts = [part for part in (time, names.line(event.place)) if part]
    before = (", " if language == "en" else "，" if time.endswith("说起") else "").join(parts)
    status = _STATUS[language].get(_status(event, now), "")
    text = f"{names.line(_without_its_day(episode))}{status}"
    text = _DOUBTED["fact"][language].format(text=text) if episode.confirmed is False else text
    text = f"{text}{_SOFTLY[language]}" if event.mark == "delicate" and not aged else text
    text = f"{text}{_TIMES[language].format(times=times)}" if times > 1 else text
    return f"{before}{':' if language == 'zh' else ': '}{text}" if before else text


def _status(event: Event, now: datetime) -> str:
    """How an event stands: a plan for a day that is to come, or that is over, is told as that."""
    if event.status != "planned" or event.happened is None:
        return event.status
    start, end = event.happened
    return "ahead" if start > now else "was_planned" if end < now else "planned"


def dated(episode: Episode, now: datetime, language: Language = "zh") -> str:
    """When an event happened, as precisely as it is known. Where nobody knows, when it was told, and that it is that."""
    event = episode.event
    if event.happened is None:
        if episode.at is None:
            return ""
        return f"{shown(episode.at, now)}说起" if language == "zh" else f"told {shown(episode.at, now, language)}"
    return told(*event.happened, event.precision, now, language)


def _without_its_day(episode: Episode) -> str:
    """The event's words without the day that stands before them anyway, nor the time words that meant it. Older records have the
    day within their words: 昨天（2025-05-20）."""
    text, happened = episode.event.text, episode.event.happened
    if happened:
        days = _told_days(happened[0].date(), happened[1].date(), episode.event.precision)
        text = re.sub(rf"(?:{days})(?!前后|左右|之?前)的?", "", text).strip().lstrip("，, ")
        text = text[:1].upper() + text[1:]
    for dates in _DATE.finditer(text) if happened else ():
        first, last = dates[1][:10], dates[1][-10:]
        if happened and (first, last) == tuple(f"{in_zone(one, episode.since.tzinfo):%Y-%m-%d}" for one in happened):
            spans = when.resolve(text[: dates.start()], episode.since, use="writing")
            start = next((span.at[0] for span in spans if span.at[1] == dates.start()), dates.start())
            return f"{text[:start].rstrip()}{text[dates.end() :]}" if start else text[dates.end() :].lstrip()
    return text


def _told_days(first: date, last: date, precision: Precision) -> str:
    """A pattern of the words for these days, as precise as they are known."""
    month = MONTHS[first.month - 1]
    if precision == "month":
        return rf"{first.year}年{first.month}月(?!\d)|,? ?\b[Ii]n {month} {first.year}\b,?"
    if precision == "year":
        return rf"{first.year}年(?!\d)|,? ?\b[Ii]n {first.year}\b,?"
    if first == last:
        return rf"{first.year}年{first.month}月{first.day}日| ?\b[Oo]n {first.day} {month} {first.year}\b,?"
    start, end = (f"{day.day} {MONTHS[day.month - 1]}" for day in (first, last))
    begins = f"(?:{start}|{first.day})" if first.month == last.month else start
    until = f"{last.month}月{last.day}日|{last.day}日" if first.month == last.month else f"{last.month}月{last.day}日"
    return (
        rf"{first.year}年{first.month}月{first.day}日[至到—-](?:{until})"
        rf"|,? ?\b(?:[Ff]rom )?{begins} (?:to|and|until) {end} {last.year}\b,?"
    )


def _heading(group: FactGroup, about: str, names: Names) -> str:
    template = group.zh if names.language == "zh" else group.en
    kept = _OPTIONAL.sub(r"\1" if about else "", template)
    filled = {"user": names.user or "User", "char": names.char or "Character", "about": names.line(about)}
    return _NAME.sub(lambda match: filled[match[1]], kept) or ("别的事" if names.language == "zh" else "Other things")


def stated(fact: Fact, names: Names) -> str:
    """A fact in words: as what is so, or in doubt; what a body may not stand is to be asked after then."""
    text = names.line(fact.text)
    if fact.confirmed is not False:
        return text
    return _DOUBTED["care" if fact.draft.mark == "care" else "fact"][names.language].format(text=text)
