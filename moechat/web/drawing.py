"""What the page is drawn with: the macros of ``templates``, and memories as they are told to the person whom they are about.

Everything that was said, remembered or written by others is a value there, and is escaped; nothing of it is ever a template.
"""

from __future__ import annotations

import re
import zlib
from datetime import datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.ext import Extension
from jinja2.runtime import Context
from markupsafe import Markup

from moechat.curation.letter import to_you
from moechat.house.gallery import Portrait
from moechat.web import markdown
from moechat.web.words import Words
from moechat.when.names import has_han, tongue_of

_OF_USER = re.compile(r"(?:用户|[Tt]he user)")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DATED = re.compile(
    r"(?:[今昨前]天|[今昨]晚|今早|\b(?:[Tt]oday|[Yy]esterday|[Tt]onight|[Ll]ast night)\b)?(?<!\s)\s*[（(](\d{4}-\d\d-\d\d)[)）]"
)
_INSIDE = re.compile(r"([，。；：！？、（「“])用户(?=[的在和把被将说想要喜讨怕会是有没不也还去来])")
_BREAK = re.compile(r"(?<=[>}])\s*\n\s*|\s*\n\s*(?=[<{])|\s*\n\s*\Z")
HUES = (14, 36, 88, 150, 178, 205, 262, 330)  # The colours of avatars go well with warm paper.


# ---- the templates


@cache
def macros(name: str, words: Words) -> Any:
    """The macros of a template, in a language. Each gives markup."""
    return _environment().get_template(f"{name}.html").make_module({"words": words})


@cache
def _environment() -> Environment:
    """Whatever a macro is given and is no markup, is escaped; what it does not know, is an error."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates"), encoding="utf-8"), autoescape=True,
        undefined=StrictUndefined, auto_reload=False, extensions=[_Tight],
        finalize=lambda value: value if hasattr(value, "__html__") else Markup(escape(str(value))),
    )  # fmt: skip
    made.globals |= {"picture_of": picture_of, "hue": hue}
    made.filters |= {
        "to_person": _to_person,
        "px": "{:.1f}".format,
        "prose": lambda text: Markup(markdown.html(text)),
    }  # It is sanitised there.
    return made


class _Tight(Extension):
    """The lines of a template are for its reader: beside a tag or a block, a line break is nothing in the page."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"\s*\n\s*", " ", _BREAK.sub("", source))


# ---- characters


def picture_of(portrait: Portrait) -> str:
    """Where the page has the picture of a character; "" where there is none."""
    return f"/page/picture/{quote(portrait.folder, safe='')}?{portrait.picture}" if portrait.picture else ""


def hue(name: str) -> int:
    """The colour of a character without a picture."""
    return HUES[zlib.crc32(name.encode()) % len(HUES)]


# ---- memories


def to_person(text: str, user_name: str = "", year: int = 0) -> str:
    """A memory as it is told to the person whom it is about: 用户讨厌香菜 → 你讨厌香菜, "The user's dog" → "Your dog"."""
    return with_short_days(_INSIDE.sub(r"\1你", to_you(text, user_name) if _OF_USER.match(text) else text), year)


@pass_context
def _to_person(context: Context, text: str, user_name: str = "") -> str:
    return to_person(text, user_name, context["words"].year)


def with_short_days(text: str, year: int = 0) -> str:
    """昨天（2025-05-19）吃了火锅 → 5月19日吃了火锅: what 昨天 meant stands in its place, and other days are short; one of another
    ``year`` has it."""
    words = Words(tongue_of(text), year)

    def day(date: str) -> str:
        return words.near_day(datetime.fromisoformat(date))

    def instead(match: re.Match[str]) -> str:
        if match[0].strip()[0] in "（(":
            return match[0].replace(match[1], day(match[1]))
        return day(match[1]) if words.language == "zh" else f"on {day(match[1])}"

    return _DAY.sub(lambda match: day(match[0]), _DATED.sub(instead, text))


def in_first_person(text: str) -> str:
    """A memory in the person's own words, to be corrected: 用户讨厌香菜 → 我讨厌香菜."""
    return _OF_USER.sub("我", text) if has_han(text) else text
