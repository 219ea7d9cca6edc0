"""The page about the reader says what is so: its examples run, and its table is what the reader gives."""

from __future__ import annotations

import doctest
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from moechat.when import resolve
from tests.when_table import Row, rows

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/when.md").read_text(encoding="utf-8")
NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))
TABLE = re.findall(
    r"^\| (.+?) \| (\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))?(?: to (?:(\d{4}-\d\d-\d\d)|(\d\d:\d\d)))? \|$", TEXT, re.M
)


def test_the_examples_run() -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/when.md", None, None)
    assert len(examples.examples) > 15
    result = doctest.DocTestRunner(verbose=False).run(examples)
    assert result.failed == 0


@pytest.mark.parametrize(("said", "first", "at", "last", "until"), TABLE)
def test_the_table_of_the_page_is_what_is_read(said: str, first: str, at: str, last: str, until: str) -> None:
    (span,) = resolve(said, NOW)
    assert f"{span.start:%Y-%m-%d %H:%M}" == f"{first} {at or '00:00'}"
    assert f"{span.end:%Y-%m-%d %H:%M}" == f"{last or first} {until or '23:59'}"


def test_the_page_counts_what_the_benchmark_reads() -> None:
    def kind(row: Row) -> str:
        return row.kind.split()[0]

    table = list(rows())
    assert f"{len(table):,} expressions" in TEXT
    for name in ("zh", "en", "not"):
        count = sum(kind(row) == name for row in table)
        assert f"{count} of {count}" in TEXT
    assert len(TABLE) == 12
