"""Talk of other programs in text: tables, chats of WhatsApp, WeChat and QQ, and lines that begin with a time and a name.

Which way a file writes its headers, and in which order its dates, is decided by all of it and not line by line.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from moechat.clock import moment_at, moment_of
from moechat.compat.past import Line, Past, Talk, Who
from moechat.compat.past_json import named_line, said_in, timed
from moechat.errors import DataError

_DATE = r"(?P<a>\d{1,4})[-/.年](?P<b>\d{1,2})[-/.月](?P<c>\d{1,4})日?"
_HALF = r"[AaPp]\.?\s?[Mm]\b\.?"
_CLOCK = (
    rf"(?P<part>[上下]午|凌晨|清晨|早上|中午|傍晚|晚上|{_HALF})?\s?(?P<h>\d{{1,2}})[:：.](?P<m>\d\d)(?:[:：.](?P<s>\d\d))?"
    rf"(?:[.,]\d{{1,6}})?(?:\s?(?P<half>{_HALF}))?"
)
_STAMP = rf"{_DATE}[\s,，T]*{_CLOCK}"
_NAME = r"(?P<name>\S(?:.{0,58}?\S)?)"
HEADERS: Mapping[str, re.Pattern[str]] = {
    "inline": re.compile(rf"\[?{_STAMP}\]?\s*(?:[-–]\s*)?(?P<name>[^:：\n]{{1,60}})[:：](?:\s|(?=\S))(?P<text>.*)"),
    "time first": re.compile(rf"{_STAMP}\s+{_NAME}\s*$"),
    "name first": re.compile(rf"{_NAME}[\s:：(（]+{_STAMP}[)）:：]*\s*$"),
    "time alone": re.compile(rf"\s*{_STAMP}\s*$"),
    "day above": re.compile(rf"{_NAME}\s+{_CLOCK}\s*$"),
}
"""The ways in which a file may write who says something and when; of "day above" the date stands in a line of its own, of "time
alone" the name stands in the line before."""
_BEGINS = re.compile(rf"\[?{_STAMP}")
_DAY = re.compile(rf"[\s—–=\-]*{_DATE}[\s—–=\-]*$")
_NUMBER = re.compile(r"\s*(?:\(\d{5,12}\)|<[^<>\s]+@[^<>\s]+>)$")  # QQ tells the number or address of a member.
_UNSEEN = str.maketrans(
    dict.fromkeys("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff\r") | {"\u202f": " ", "\xa0": " "}
)
_NOTICE = re.compile(r"end-to-end encrypted|端到端加密|端對端加密")
_HEAD_LINES = 400
_ORDERS = ("dmy", "mdy")
COLUMNS: Mapping[str, Sequence[str]] = {
    "time": ("time", "strtime", "date", "datetime", "timestamp", "createtime", "时间", "日期", "发送时间"),
    "who": (
        "who",
        "sender",
        "name",
        "nickname",
        "remark",
        "speaker",
        "from",
        "author",
        "发送者",
        "发送人",
        "昵称",
        "发言人",
    ),
    "text": ("text", "strcontent", "content", "message", "内容", "消息", "消息内容"),
    "mine": ("issender", "is_sender", "is_send"),
    "type": ("type",),
}
_TYPES = {"3": "图片", "34": "语音", "43": "视频", "47": "表情", "49": "链接或文件", "50": "通话"}
"""What WeChat's numbers for kinds of messages mean; 1 is text, 10000 a notice."""


# ---- tables


def columns(first: str) -> dict[str, str]:
    """The columns that a first line names, by what they are here."""
    there = [name.strip().strip('"').casefold() for name in re.split(r"[,;\t]", first.lstrip("\ufeff"))]
    there_as = {key: next((name for name in names if name in there), "") for key, names in COLUMNS.items()}
    return {key: name for key, name in there_as.items() if name}


def rows_of(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row by column) of a CSV, which may have tabs or semicolons."""
    first = text.split("\n", 1)[0]
    mark = next((one for one in "\t;," if one in first), ",")
    reader = csv.DictReader(io.StringIO(text), delimiter=mark)
    try:
        for row in reader:
            yield reader.line_num, {str(key).strip().casefold(): value for key, value in row.items()}
    except csv.Error:  # a field of more than 128 KB, mostly because a quote is never closed
        return


def table(text: str, past: Past) -> list[Talk]:
    names = columns(text.split("\n", 1)[0])

    def made(row: Mapping[str, Any]) -> Line | None:
        got = {key: row.get(name) for key, name in names.items()}
        if "mine" not in names:
            return named_line(got, past)
        kind = str(got.get("type") or "1")
        if kind == "10000" or not (words := str(got["text"] or "").strip()):
            past.left_out["tools, system, empty"] += 1
            return None
        time = str(got["time"] or "")
        at = moment_at(int(time), past.zone) if time.isdecimal() else moment_of(time, past.zone)
        is_mine = str(got["mine"]) == "1"
        who = past.names.user if is_mine else str(got.get("who") or "")
        return Line(at, who, words if kind == "1" else f"[{_TYPES.get(kind, kind)}]", "user" if is_mine else "char")

    return [timed(said_in(rows_of(text), past, made))]


# ---- headers and what is said below them


def style_of(lines: Sequence[str]) -> str:
    """How the headers of a file are written, "" where it has none."""
    head = [line.translate(_UNSEEN) for line in lines[:_HEAD_LINES]]
    counts = {style: sum(bool(form.match(line)) for line in head) for style, form in HEADERS.items()}
    if not any(map(_DAY.match, head)):
        counts["day above"] = 0
    counts["time first"] = max(0, counts["time first"] - counts["inline"])  # what is inline looks like it
    best = max(counts, key=lambda style: counts[style])
    return best if counts[best] else ""


def stamped(text: str, past: Past) -> list[Talk]:
    """Lines that are no header go on with the message before them; what has a time and no name is the program's."""
    lines = text.translate(_UNSEEN).split("\n")
    if not (style := style_of(lines)):
        raise DataError(
            past.path, "no line of it has a time and a name; write lines such as 2024-05-01 12:00 Ann: Hello"
        )
    heads: list[tuple[int, re.Match[str], re.Match[str], str]] = []
    bodies: list[list[str]] = []
    day: re.Match[str] | None = None
    for number, line in enumerate(lines, 1):
        match = HEADERS[style].match(line)
        if style == "day above" and (date := _DAY.match(line)):
            day = date
        elif match and (dated := day if style == "day above" else match):
            name = match["name"] if style != "time alone" else _last_line(bodies)
            heads.append((number, dated, match, _NUMBER.sub("", name.strip())))
            bodies.append([match["text"]] if style == "inline" else [])
        elif style == "inline" and _BEGINS.match(line):
            past.left_out["of the system"] += 1
        elif bodies:
            bodies[-1].append(line.rstrip())
        elif line.strip():
            if partner := re.match(r"消息对象[:：]\s*(.+)", line):
                past.partner = partner[1].strip()
            past.left_out["before the first time"] += style != "time alone"
            bodies += [[line]] if style == "time alone" else []
    bodies = bodies[len(bodies) - len(heads) :]
    return [timed(_said(heads, bodies, past))]


def _last_line(bodies: list[list[str]]) -> str:
    """The last line that says something, which is taken away: a name, and not what was said before."""
    for body in bodies[-1:]:
        while body:
            if name := body.pop().strip():
                return name
    return "?"


def _said(
    heads: Sequence[tuple[int, re.Match[str], re.Match[str], str]], bodies: Sequence[Sequence[str]], past: Past
) -> Iterator[Line]:
    order = _order([(number, dated) for number, dated, _, _ in heads], past)
    last = 0.0
    for (number, dated, clock, name), body in zip(heads, bodies, strict=True):
        words = "\n".join(body).strip()
        if not words or _NOTICE.search(words) or name == "系统消息":
            past.left_out["of the system" if words else "empty"] += 1
            continue
        try:
            at = moment_of(datetime(*_day(dated, order), *_clock(clock)).isoformat(), past.zone)
        except ValueError:
            past.problems.append(DataError(past.path, f"{dated[0].strip()[:40]!r} is no time", line=number))
            continue
        later = at.replace(fold=1)  # the hour that comes twice where summer ends
        at = later if at.timestamp() < last <= later.timestamp() else at
        last = at.timestamp()
        yield Line(at, name, words)


def _day(match: re.Match[str], order: str) -> tuple[int, int, int]:
    parts = dict(zip(order, map(int, match.group("a", "b", "c")), strict=True))
    year = parts["y"]
    return year + (2000 if year < 100 else 0), parts["m"], parts["d"]


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    hour, part = int(match["h"]), (match["half"] or match["part"] or "").casefold()
    if part[:1] == "p" or part in ("下午", "傍晚", "晚上") or (part == "中午" and hour < 11):
        hour += 12 if hour < 12 else 0
    elif part and part != "中午" and hour == 12:
        hour = 0
    return hour, int(match["m"]), int(match["s"] or 0)


def _order(dates: Sequence[tuple[int, re.Match[str]]], past: Past) -> str:
    """The order of day, month and year by evidence: a part above 12 is no month; else the order in which time runs on; else as
    clocks of twelve hours have it (the month first), or of twenty-four. Raises DataError where two orders contradict."""
    years = [number for number, one in dates if int(one["a"]) > 31]
    firsts = [number for number, one in dates if 12 < int(one["a"]) <= 31]
    seconds = [number for number, one in dates if int(one["b"]) > 12]
    if len(years) == len(dates):
        return "ymd"
    for one, other in ((years, [number for number, one in dates if int(one["a"]) <= 31]), (firsts, seconds)):
        if one and other:
            lines = f"lines {one[0]} and {other[0]}"
            raise DataError(past.path, f"its dates are written in two orders ({lines}); split it into two files")
    if firsts or seconds:
        return "dmy" if firsts else "mdy"
    runs = {
        order: sum(one > other for one, other in pairwise([_day(match, order) for _, match in dates]))
        for order in _ORDERS
    }
    if runs["dmy"] != runs["mdy"]:
        return min(runs, key=lambda order: runs[order])
    return "mdy" if dates and dates[0][1].groupdict().get("half") else "dmy"


# ---- pages


_SCRIPT, _SCRIPT_END = re.compile(r"<(?:script|style)\b", re.I), re.compile(r"</(?:script|style)\s*>", re.I)
_BLOCK = re.compile(r"</?(?:div|p|br|li|tr|td|h\d|dt|dd)\b[^<>]*>", re.I)
_TAG = re.compile(r"<[^<>]*>")
_SENT = re.compile(
    r"\{\s*type:\s*(\d+),\s*text:\s*'((?:\\.|[^'\\])*)',\s*is_send:\s*(\d)[^{}]*?timestamp:\s*(\d{9,13})"
    r"[^{}]*?displayname:\s*'((?:\\.|[^'\\])*)'"
)


def page(text: str, past: Past) -> list[Talk]:
    """A page that WeChat's exporters make: messages in its script, or as lines that can be read."""
    messages = []
    for kind, words, mine, at, name in _SENT.findall(text):
        if kind == "10000" or not words:
            past.left_out["of the system"] += 1
            continue
        shown = _unescaped(words) if kind == "1" else f"[{_TYPES.get(kind, kind)}]"
        who: Who = "user" if mine == "1" else "char"
        messages.append(Line(moment_at(int(at[:10]), past.zone), _unescaped(name), shown, who))
    if messages:
        return [timed(iter(messages))]
    first, *scripts = _SCRIPT.split(text)
    text = first + "".join([*_SCRIPT_END.split(one, maxsplit=1), ""][1] for one in scripts)
    flat = html.unescape(_TAG.sub("", _BLOCK.sub("\n", text.replace("\n", " "))))
    return stamped("\n".join(line.strip() for line in flat.split("\n") if line.strip()), past)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text).replace("<br>", "\n")
