"""A moment as it stands before a memory in the prompt: the longer ago, the coarser (seed 004, section 七).

Days are calendar days of the clock's own zone, in either direction: what is to come in three days reads like what was
three days ago. The bounds are inclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Literal

HOURS_DAYS = 7
PARTS_DAYS = 30
# The part of the day by its first hour, half open; before the first and after the last it is night.
PARTS: Mapping[str, tuple[tuple[int, str], ...]] = {
    "zh": ((0, "晚上"), (6, "上午"), (12, "下午"), (18, "晚上")),
    "en": ((0, "night"), (6, "morning"), (12, "afternoon"), (18, "night")),
}


def shown(moment: datetime, now: datetime, language: Literal["zh", "en"] = "zh") -> str:
    """``moment`` as seen from ``now``, both aware: to the minute today, to the hour within a week, to the part of the day
    within thirty days, and to the day beyond."""
    moment = in_zone(moment, now.tzinfo)
    days = abs((now.date() - moment.date()).days)
    day = f"{moment:%Y-%m-%d}"
    if days == 0:
        return f"{day} {moment:%H:%M}"
    if days <= HOURS_DAYS:
        return f"{day} {_hour(moment.hour, language)}"
    if days <= PARTS_DAYS:
        return f"{day} {_part(moment.hour, language)}"
    return day


def in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """An aware moment in a zone; at the very ends of the calendar, where that day is none, its clock is left as it is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.replace(tzinfo=zone) if zone else moment


def _hour(hour: int, language: str) -> str:
    if language == "zh":
        return f"{hour}点"
    return f"{hour % 12 or 12} {'am' if hour < 12 else 'pm'}"


def _part(hour: int, language: str) -> str:
    return [name for start, name in PARTS[language] if start <= hour][-1]
