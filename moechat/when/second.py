"""A second reader of Chinese times: jionlp, an extra (``moechat[jionlp]``), asked for what the rules leave unread.

jionlp is no dependency: it brings jiojio, which is under the GPL and weighs 148 MB.
"""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from typing import Any

from moechat.when.span import Span

SecondReader = Callable[[str, datetime], Sequence[Span]]
"""(a text without what is read already, an aware moment) -> the times in it."""
Extract = Callable[..., list[dict[str, Any]]]
_LOCK = threading.Lock()


@cache
def second_reader(name: str) -> SecondReader | None:
    """The reader of that name, loaded now; None for "none", and where its package is not installed."""
    if name == "none" or find_spec("jionlp") is None:
        return None
    with _LOCK, contextlib.redirect_stdout(io.StringIO()):
        import jionlp

    return Jionlp(jionlp.ner.extract_time)


class Jionlp:
    """jionlp's reading as spans; one text at a time, since nothing says that it may be more."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract

    def __call__(self, text: str, now: datetime) -> list[Span]:
        base = {unit: getattr(now, unit) for unit in ("year", "month", "day", "hour", "minute", "second")}
        try:
            with _LOCK:
                rows = self._extract(text, time_base=base, with_parsing=True)
            return [span for row in rows if (span := _span(text, row, now))]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return []  # It knows its own errors; a text it cannot read has no time.


def _span(text: str, row: dict[str, Any], now: datetime) -> Span | None:
    phrase = row["text"]
    at = text.find(phrase)
    if row["type"] not in ("time_point", "time_span") or at < 0 or {"-inf", "inf"} & set(row["detail"]["time"]):
        return None
    start, end = (datetime.fromisoformat(moment).replace(tzinfo=now.tzinfo) for moment in row["detail"]["time"])
    whole = timedelta(hours=23) < end - start < timedelta(days=1)
    return Span(phrase, start, end, "day" if whole else "range", (at, at + len(phrase))) if start <= end else None
