"""Recalled facts and events as text, for the chat model and for logs (seed 004, section 七 and its samples).

Facts stand in groups: the user's attributes and relations, the character's relations, then those of others. An attribute
holds whenever it was learned and carries no date; a relation does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from moechat.model import Episode, Fact
from moechat.when import shown
from moechat.when.display import in_zone

Language = Literal["zh", "en"]
Owner = Literal["user", "character", "particular", "generic"]


@dataclass(frozen=True)
class FactGroup:
    """Facts of one kind about one sort of entity, under a heading in two languages.

    ``per`` says whose name ``{about}`` in the heading is. What stands in brackets is left out where there is no such name.
    """

    owner: Owner
    kind: Literal["attribute", "relation", "picture"]
    per: Literal["", "target", "entity"]
    zh: str
    en: str


# The order is the seed's (用户-属性, 用户-关系-关联对象名, 主体-关系-关联对象名, 具体实体-属性, 具体实体-关系). The seed names no
# place for the character's attributes, kinds of things, and scenes remembered as seen: each stands beside its like.
GROUPS = (
    FactGroup("user", "attribute", "", "用户-属性", "{user}: attributes"),
    FactGroup("user", "relation", "target", "用户-关系[-{about}]", "{user}: relations[ with {about}]"),
    FactGroup("character", "relation", "target", "主体-关系[-{about}]", "{char}: relations[ with {about}]"),
    FactGroup("character", "attribute", "", "主体-属性", "{char}: attributes"),
    FactGroup("particular", "attribute", "entity", "具体实体[-{about}]-属性", "[{about}: ]attributes"),
    FactGroup("particular", "relation", "entity", "具体实体[-{about}]-关系", "[{about}: ]relations"),
    FactGroup("generic", "attribute", "entity", "泛化实体[-{about}]-属性", "[{about} (in general): ]attributes"),
    FactGroup("generic", "relation", "entity", "泛化实体[-{about}]-关系", "[{about} (in general): ]relations"),
    FactGroup("user", "picture", "", "记忆画面", "Pictures"),
)
_OPTIONAL = re.compile(r"\[(.*?)\]")
_NAME = re.compile(r"\{(user|char|about)\}")
WHOLE_DAY = timedelta(hours=12)  # A span as long as this names a day, not an hour of it.


def fragments(
    facts: Iterable[Fact], language: Language = "zh", *, user_name: str = "", character_name: str = ""
) -> str:
    """The facts as lines under their headings, in the order given within each; "" where there are none."""
    names = {"user": user_name, "character": character_name}
    gathered: dict[tuple[int, str], list[str]] = {}
    for fact in facts:
        place = _group(fact)
        group = GROUPS[place]
        about = {"target": fact.draft.target, "entity": fact.draft.entity, "": ""}[group.per]
        gathered.setdefault((place, names.get(about) or about), []).append(_fact_line(fact, group.kind, language))
    lines: list[str] = []
    for (place, about), facts_of_group in sorted(
        gathered.items(), key=lambda item: item[0][0]
    ):  # best first within one
        lines += [_heading(GROUPS[place], about, language, user_name, character_name), *facts_of_group]
    return "\n".join(lines)


def remembered(episodes: Iterable[Episode], now: datetime, language: Language = "zh") -> str:
    """The events as lines ``{time}{place}:{event}``, in the order given."""
    return "\n".join(_event_line(episode, now, language) for episode in episodes)


def dated(episode: Episode, now: datetime, language: Language = "zh") -> str:
    """When an event happened, as precisely as it is known: the span it names, else when it was told; "" where unknown."""
    if episode.event.happened is None:
        return shown(episode.at, now, language) if episode.at else ""
    start, end = (in_zone(moment, now.tzinfo) for moment in episode.event.happened)
    if end - start < WHOLE_DAY:
        return shown(start, now, language)
    if start.date() == end.date():
        return f"{start:%Y-%m-%d}"
    return f"{start:%Y-%m-%d}{'至' if language == 'zh' else ' to '}{end:%Y-%m-%d}"


def _group(fact: Fact) -> int:
    draft = fact.draft
    if draft.kind == "picture":
        return len(GROUPS) - 1
    owner = draft.entity if draft.entity in ("user", "character") else "generic" if draft.generic else "particular"
    return next(i for i, group in enumerate(GROUPS) if (group.owner, group.kind) == (owner, draft.kind))


def _heading(group: FactGroup, about: str, language: Language, user_name: str, character_name: str) -> str:
    template = group.zh if language == "zh" else group.en
    kept = _OPTIONAL.sub(r"\1" if about else "", template)
    names = {"user": user_name or "User", "char": character_name or "Character", "about": about}
    return _NAME.sub(lambda match: names[match[1]], kept)


def _fact_line(fact: Fact, kind: str, language: Language) -> str:
    if kind != "relation" or fact.at is None:
        return f"- {fact.text}"
    return f"- {fact.at:%Y-%m-%d}{'：' if language == 'zh' else ': '}{fact.text}"


def _event_line(episode: Episode, now: datetime, language: Language) -> str:
    parts = [part for part in (dated(episode, now, language), episode.event.place) if part]
    before = ("" if language == "zh" else ", ").join(parts)
    return f"{before}{':' if language == 'zh' else ': '}{episode.event.text}" if before else episode.event.text


# ---- logs


def event_log(episode: Episode, score: float, index: object, moment: str) -> str:
    """One recalled event in a line, as the seed's samples have it. ``moment`` is its time, written out."""
    event = episode.event
    place = f", 地点：{event.place}" if event.place else ""
    insight = f"这表明了{_sentence(event.insight)}" if event.insight else ""
    when = f"在{moment}左右{place}。" if moment else f"{place.removeprefix(', ')}。" if place else ""
    return f"[记忆事件]--score={score:.4f},index={index}.{when}详细记忆事件为{_sentence(event.text)}{insight}"


def fact_log(
    kind: str, score: float, index: Mapping[str, object], text: str, matched: Sequence[str], keyword: str
) -> str:
    """One recalled fact in a line, as the seed's samples have it."""
    return f"{kind}--score={score:.4f},index={dict(index)}, {text}---命中{list(matched)}，数据库关键词: {keyword}"


def _sentence(text: str) -> str:
    return text if text.endswith(tuple("。！？.!?…”")) else f"{text}。"
