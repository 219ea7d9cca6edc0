"""Time expressions side by side: MoeChat's rules, jionlp, dateparser, recognizers-text and parsedatetime, on one table.

    python benchmarks/when.py [--json] [--everyday | --unseen]

The tables are those of ``tests/when_tables/``; with ``--everyday``, its three hundred cases of everyday talk alone, with
``--unseen``, the five hundred of ``tests/when_unseen/``.
*right* has the same bounds to the second, a bare moment of another library being widened to the day, month or year that
is expected; *near* overlaps what is expected (for no time: nothing was found in either). Libraries that are not installed
are left out: ``pip install dateparser parsedatetime``, and for the recognizers
``pip install --no-deps recognizers-text recognizers-text-number recognizers-text-number-with-unit
recognizers-text-date-time datatypes-timex-expression datedelta multipledispatch grapheme emoji==1.7.0``.
"""

# ruff: noqa: E402, T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from moechat.when import asks, resolve, second_reader
from moechat.when.names import has_han
from tests.when_table import UNSEEN, Row, rows, unseen

Found = list[tuple[datetime, datetime]]
Reader = Callable[[Row], Found]
ZONE = timezone(timedelta(hours=8))
CLASSES = {"zh": "Chinese", "en": "English", "not": "no time"}


def moechat() -> Reader:
    def read(row: Row) -> Found:
        found = resolve(row.text, row.now.replace(tzinfo=ZONE), use="writing" if row.use == "writing" else "recall")
        return [(span.start.replace(tzinfo=None), span.end.replace(tzinfo=None)) for span in found]

    return read


def both() -> Reader:
    """Ours, with jionlp for what ours leaves unread."""
    second = second_reader("jionlp")
    if second is None:
        raise ImportError("jionlp is not installed")

    def read(row: Row) -> Found:
        use = "writing" if row.use == "writing" else "recall"
        found = resolve(row.text, row.now.replace(tzinfo=ZONE), use=use, second=second)
        return [(span.start.replace(tzinfo=None), span.end.replace(tzinfo=None)) for span in found]

    return read


def jionlp() -> Reader:
    with contextlib.redirect_stdout(io.StringIO()):
        import jionlp as jio

    def read(row: Row) -> Found:
        found = jio.ner.extract_time(row.text, time_base=row.now.timestamp(), with_parsing=True)
        times = [one["detail"]["time"] for one in found if one["type"] in ("time_point", "time_span")]
        return [(_moment(first), _moment(last)) for first, last in times]

    return read


def _moment(text: str) -> datetime:
    return datetime.min if text == "-inf" else datetime.max if text == "inf" else datetime.fromisoformat(text)


def dateparser() -> Reader:
    from dateparser.search import search_dates

    def read(row: Row) -> Found:
        prefer = "future" if row.use == "writing" else "past"
        settings = {"RELATIVE_BASE": row.now, "PREFER_DATES_FROM": prefer}
        language = "zh" if has_han(row.text) else "en"
        return [(moment, moment) for _, moment in search_dates(row.text, languages=[language], settings=settings) or ()]

    return read


def recognizers() -> Reader:
    from recognizers_date_time import Culture, recognize_datetime

    def read(row: Row) -> Found:
        culture = Culture.Chinese if has_han(row.text) else Culture.English
        found: Found = []
        for one in recognize_datetime(row.text, culture, reference=row.now):
            values = [_value(value) for value in (one.resolution or {}).get("values", ())]
            past = [value for value in values if value and value[0] <= row.now] or [value for value in values if value]
            found += past[-1:]
        return found

    return read


def _value(value: dict[str, str]) -> tuple[datetime, datetime] | None:
    with contextlib.suppress(KeyError, ValueError):
        if value["type"] in ("daterange", "datetimerange"):
            return datetime.fromisoformat(value["start"]), datetime.fromisoformat(value["end"]) - timedelta(seconds=1)
        if value["type"] in ("date", "datetime"):
            moment = datetime.fromisoformat(value["value"])
            return moment, moment
    return None


def parsedatetime() -> Reader:
    from parsedatetime import Calendar

    calendar = Calendar()

    def read(row: Row) -> Found:
        return [(one[0], one[0]) for one in calendar.nlp(row.text, sourceTime=row.now) or ()]

    return read


READERS = (moechat, both, jionlp, dateparser, recognizers, parsedatetime)


def _widened(found: tuple[datetime, datetime], expected: tuple[datetime, datetime]) -> tuple[datetime, datetime]:
    """A bare moment counts as the day, month or year that holds it, where that is what is expected."""
    first, last = found
    length = expected[1] - expected[0]
    if (
        first == last
        and length >= timedelta(hours=23)
        and expected[0] <= first <= expected[1]
        and length < timedelta(days=367)
    ):
        starts_whole = length < timedelta(days=1) or (
            expected[0].day == 1 and (expected[1] + timedelta(seconds=1)).day == 1
        )
        return expected if starts_whole else found
    return found


def is_right(found: Found, row: Row) -> bool:
    if len(found) != len(row.spans):
        return False
    return all(_widened(one, span) == span for one, span in zip(sorted(found), sorted(row.spans), strict=True))


def is_near(found: Found, row: Row) -> bool:
    if not row.spans:
        return not found
    return all(any(first <= span[1] and last >= span[0] for first, last in found) for span in row.spans)


def measure(read: Reader, table: Iterable[Row]) -> dict[str, object]:
    right = dict.fromkeys(CLASSES, 0)
    near, total, failed, times = dict.fromkeys(CLASSES, 0), dict.fromkeys(CLASSES, 0), 0, []
    for row in table:
        kind = row.kind.split()[0]
        started = time.perf_counter()
        try:
            found = read(row)
        except Exception as error:  # noqa: BLE001  (what another library raises is its result)
            found, failed = [(datetime.min, datetime.min)], failed + 1
            print(f"{row.text}: {error!r}"[:110], file=sys.stderr)
        times.append((time.perf_counter() - started) * 1e3)
        total[kind] += 1
        right[kind] += is_right(found, row)
        near[kind] += is_near(found, row)
    return {
        "right": right,
        "near": near,
        "total": total,
        "raised": failed,
        "p50_ms": round(statistics.median(times), 3),
        "per_second": round(len(times) / sum(times) * 1e3),
    }


def speed(seconds: float = 3) -> dict[str, object]:
    """Our own rules warm, every message new (no repeat is answered from the cache), and the cache alone."""
    table = list(rows())
    for row in table:
        moechat()(row)
    times, asking, step = [], [], 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        step += 1
        for row in table:
            now = row.now.replace(tzinfo=ZONE) + timedelta(seconds=step)
            started = time.perf_counter()
            found = resolve(row.text, now)
            between = time.perf_counter()
            asks(row.text, found)
            times.append((between - started) * 1e3)
            asking.append((time.perf_counter() - between) * 1e3)
    now = datetime(2025, 5, 21, 15, tzinfo=ZONE)
    resolve("昨天我们聊了什么", now)
    started = time.perf_counter()
    for _ in range(10_000):
        resolve("昨天我们聊了什么", now)
    repeat = (time.perf_counter() - started) / 10_000 * 1e3
    ordered = sorted(times)
    return {
        "messages": len(times),
        "p50_ms": round(ordered[len(ordered) // 2], 4),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)], 4),
        "per_second": round(len(times) / sum(times) * 1e3),
        "asks_p50_ms": round(statistics.median(asking), 4),
        "repeat_ms": round(repeat, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--unseen", action="store_true", help="the cases by a hand that saw neither rules nor table")
    parser.add_argument("--everyday", action="store_true", help="the cases of everyday talk alone")
    arguments = parser.parse_args()
    as_json = arguments.json
    table = list(rows("everyday") if arguments.everyday else rows())
    if arguments.unseen:
        table = [row for file in sorted(UNSEEN.iterdir()) for row in unseen(file.stem)]
    warnings.filterwarnings("ignore")
    for reader in READERS:
        try:
            read = reader()
        except ImportError as error:
            print(f"{reader.__name__}: left out, {error}", file=sys.stderr)
            continue
        with contextlib.redirect_stderr(io.StringIO()):
            result = measure(read, table)
        if as_json:
            print(json.dumps({"library": reader.__name__, **result}, ensure_ascii=False))
            continue
        cells = []
        for kind, name in CLASSES.items():
            right, near, total = (result[key][kind] for key in ("right", "near", "total"))  # type: ignore[index]
            cells.append(f"{name} {right}/{total} right, {near} near")
        tail = f"{result['raised']} raised; p50 {result['p50_ms']} ms, {result['per_second']} a second, first calls included"
        print(f"{reader.__name__:14} {'; '.join(cells)}; {tail}")
    warm = speed()
    print(json.dumps({"warm": warm}) if as_json else f"moechat warm: {warm}")


if __name__ == "__main__":
    main()
