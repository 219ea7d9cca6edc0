"""Time expressions: the table, what holds for any text, personal anchors, and what a question asks."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from math import log
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.when import WIDTHS, asks, resolve
from moechat.when.names import tongue_of
from moechat.when.periods import Period, TextContext, day
from moechat.when.reader import MOST_ASKED
from moechat.when.shapes import SHIFTS
from tests import tables
from tests.when_table import NOWS, TABLES, Row, rows, unseen

CHINA = timezone(timedelta(hours=8))
WEDNESDAY = datetime(2025, 5, 21, 15, 0, tzinfo=CHINA)
TABLE = list(rows())


def spans_of(row: Row) -> tuple[tuple[datetime, datetime], ...]:
    found = resolve(row.text, row.now.replace(tzinfo=CHINA), use="recall" if row.use == "recall" else "writing")
    return tuple((span.start.replace(tzinfo=None), span.end.replace(tzinfo=None)) for span in found)


@pytest.mark.parametrize("kind", sorted({row.kind for row in TABLE}))
def test_the_table_is_right(kind: str) -> None:
    wrong = [(row.text, row.spans, spans_of(row)) for row in TABLE if row.kind == kind and spans_of(row) != row.spans]
    assert not wrong


def test_of_everyday_talk_nineteen_in_twenty_are_right() -> None:
    cases = list(rows("everyday"))
    wrong = [(row.text, row.spans, spans_of(row)) for row in cases if spans_of(row) != row.spans]
    assert len(cases) == 300
    assert len(wrong) <= 15, wrong


@pytest.mark.parametrize(("kind", "share"), [("zh", 0.97), ("en", 0.97), ("none", 0.89)])
def test_of_cases_by_an_unseen_hand_nearly_all_are_right(kind: str, share: float) -> None:
    cases = [*unseen(f"{kind}.first"), *unseen(f"{kind}.last")]
    wrong = [(row.text, row.spans, spans_of(row)) for row in cases if sorted(spans_of(row)) != sorted(row.spans)]
    assert len(wrong) <= (1 - share) * len(cases), wrong


def test_the_table_is_wide_enough() -> None:
    count = Counter("not" if not row.spans else row.kind.split()[0] for row in TABLE)
    assert count["zh"] >= 200
    assert count["en"] >= 60
    assert count["not"] >= 40


def test_a_span_is_inclusive_local_and_knows_its_place() -> None:
    (span,) = resolve("嗯，上周三我说了什么", WEDNESDAY)
    assert span.phrase == "上周三"
    assert (span.start.isoformat(), span.end.isoformat()) == ("2025-05-14T00:00:00+08:00", "2025-05-14T23:59:59+08:00")
    assert span.granularity == "day"
    assert "嗯，上周三我说了什么"[span.at[0] : span.at[1]] == "上周三"


@pytest.mark.parametrize(
    ("text", "granularity"),
    [
        ("上周", "week"), ("上周末", "weekend"), ("上个月", "month"), ("去年", "year"), ("去年夏天", "season"),
        ("昨晚", "part"), ("昨天下午三点", "hour"), ("昨天15:30", "minute"), ("从周一到周三", "range"),
    ],
)  # fmt: skip
def test_the_granularity_is_the_unit_that_the_phrase_speaks_in(text: str, granularity: str) -> None:
    assert resolve(text, WEDNESDAY)[0].granularity == granularity


@pytest.mark.parametrize(("text", "year"), [("今年冬天", 2024), ("明年冬天", 2026), ("我去年说的明年冬天", 2026)])
def test_only_the_winter_of_a_year_that_has_begun_may_be_over(text: str, year: int) -> None:
    winter = resolve(text, WEDNESDAY)[-1]
    assert (winter.start.year, winter.start.month, winter.end.year) == (year, 12, year + 1)


def test_a_text_is_chinese_where_a_chinese_character_stands_in_it() -> None:
    for text, tongue in {"你好": "zh", "see you 周三": "zh", "ok": "en", "café, 3 pm。": "en", "": "en"}.items():
        assert tongue_of(text) == tongue, text


def test_offsets_hold_in_traditional_and_mixed_text() -> None:
    for text in ("我們上週三聊了什麼", "Caroline在6月去了哪里", "remember 上周三 and last Friday"):
        for span in resolve(text, WEDNESDAY):
            assert text[span.at[0] : span.at[1]].strip() == span.phrase


def test_widths_of_vague_words_are_configuration() -> None:
    (narrow,) = resolve("最近怎么样", WEDNESDAY, widths={"最近": 3})
    assert narrow.start == datetime(2025, 5, 18, tzinfo=CHINA)
    (english,) = resolve("how was I doing recently", WEDNESDAY, widths={"最近": 3})
    assert english.start == narrow.start
    (other,) = resolve("前几天", WEDNESDAY, widths={"最近": 3})
    assert other == resolve("前几天", WEDNESDAY)[0]
    with pytest.raises(TypeError):
        WIDTHS["最近"] = 1  # type: ignore[index]


def test_a_vague_count_is_as_many_days_as_it_may_mean() -> None:
    counts = {"几天前": (2, 7), "十几天前": (11, 19), "二十几天前": (21, 29), "几十天前": (20, 90)}
    seen = {}
    for text in counts:
        (span,) = resolve(text, WEDNESDAY)
        seen[text] = ((WEDNESDAY - span.end).days + 1, (WEDNESDAY - span.start).days)
    assert seen == counts


def test_a_naive_now_is_taken_in_the_zone_of_the_system() -> None:
    (span,) = resolve("昨天", datetime(2025, 5, 21, 15, 0))
    assert span.start.tzinfo is not None


def test_hours_are_counted_over_a_change_of_the_clocks() -> None:
    zone = ZoneInfo("Europe/Berlin")
    now = datetime(2025, 3, 30, 4, 0, tzinfo=zone)  # the clocks went from 2 to 3
    (span,) = resolve("两个小时前", now)
    middle = span.start.astimezone(UTC) + (span.end.astimezone(UTC) - span.start.astimezone(UTC)) / 2
    assert abs(middle - (now.astimezone(UTC) - timedelta(hours=2))) < timedelta(minutes=31)
    assert span.start.tzinfo is zone


def test_equal_instants_in_two_zones_have_their_own_days() -> None:
    late = datetime(2025, 5, 20, 23, 30, tzinfo=UTC)
    assert resolve("今天", late)[0].start.day == 20
    assert resolve("今天", late.astimezone(CHINA))[0].start.day == 21


# What holds for any text.

MAYBE_TIMES = st.lists(
    st.sampled_from(
        "昨天 上周 周三 五月 去年 三天前 晚上 到 和 的 最近 下 个月 15号 国庆 前后 第二 半 年 点 两 last Tuesday of May 5 ago "
        "yesterday before the in to - 2023 ， 我 9999年 千 百 上 前 后 初 农历 闰 三十 99 : / 除夕 weeks 以来".split()
    ),
    max_size=12,
).map("".join)


@given(text=st.one_of(st.text(max_size=60), MAYBE_TIMES), now=st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)))
def test_no_text_raises_and_no_span_is_turned_round(text: str, now: datetime) -> None:
    for use in ("recall", "writing"):
        found = resolve(text, now.replace(tzinfo=CHINA), use=use)  # type: ignore[arg-type]
        for span in found:
            assert span.start <= span.end
            assert span.start.utcoffset() == timedelta(hours=8)
        asks(text, found)


PAST = [
    *"昨天 前天 上周 上周三 上个月 去年 三天前 两个月前 前几天 前阵子 刚才 最近 昨晚 yesterday recently".split(),
    "last week",
    "two days ago",
    "last summer",
    "the other day",
    "a month ago",
]


@given(phrase=st.sampled_from(PAST), now=st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)))
def test_a_past_expression_never_ends_after_now(phrase: str, now: datetime) -> None:
    aware = now.replace(tzinfo=CHINA)
    (span,) = resolve(phrase, aware)
    assert span.end <= aware


FLOATING = "周三 周末 五月 三月 15号 31号 夏天 冬天 国庆 中秋 除夕 晚上 早上 月初 年底 上半年 正月初一 2月29日".split()


@given(phrase=st.sampled_from(FLOATING), now=st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)))
def test_what_could_be_past_or_future_is_past_unless_the_text_plans(phrase: str, now: datetime) -> None:
    aware = now.replace(tzinfo=CHINA)
    (back,) = resolve(f"{phrase}我们聊了什么", aware)
    assert back.start <= aware
    (ahead,) = resolve(f"我打算{phrase}再说", aware)
    assert ahead.end >= aware - timedelta(seconds=1)


def test_parsing_is_the_same_in_eight_threads_as_in_one() -> None:
    def look(seed: int) -> list[object]:
        mixed = random.Random(seed).sample(TABLE, len(TABLE))
        found = {(row.text, row.now): spans_of(row) for row in mixed}
        return sorted(found.items(), key=str)

    alone = look(0)
    with ThreadPoolExecutor(8) as pool:
        assert all(result == alone for result in pool.map(look, range(1, 9)))


def test_of_a_text_full_of_times_the_first_hundred_words_are_read() -> None:
    assert [span.phrase for span in resolve("前天，" + "明天，" * 150, WEDNESDAY)] == ["前天", *["明天"] * 99]


def test_what_lies_far_on_in_a_pasted_text_is_not_looked_at() -> None:
    assert resolve("，" * 20_000 + "昨天", WEDNESDAY) == []


def test_the_module_is_light_to_import() -> None:
    code = "import sys, moechat.when; print(int('jionlp' in sys.modules), int('numpy' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_about_three_days_is_some_days_more_and_about_four_is_four() -> None:
    ctx = TextContext(WEDNESDAY.replace(tzinfo=None), WIDTHS, "recall", CHINA)
    three, four = (day(ctx.now, count, "range") for count in (3, 4))
    slack = timedelta(days=WIDTHS["前后"])
    assert SHIFTS["around"](three, ctx) == Period(three.start - slack, three.stop + slack, "range")
    assert SHIFTS["around"](four, ctx) == four


# Personal anchors.

KNOWN = {
    "birthday:我": (datetime(1999, 11, 3, tzinfo=CHINA), datetime(1999, 11, 3, tzinfo=CHINA)),
    "birthday:妈妈": (datetime(1970, 2, 28, tzinfo=CHINA), datetime(1970, 2, 28, tzinfo=CHINA)),
    "first:聊天": (datetime(2025, 1, 2, 20, 0, tzinfo=CHINA), datetime(2025, 1, 2, 21, 0, tzinfo=CHINA)),
    "first:talked": (datetime(2025, 1, 2, 20, 0, tzinfo=CHINA), datetime(2025, 1, 2, 21, 0, tzinfo=CHINA)),
    "last:吵架": (datetime(2025, 4, 9, 20, 0, tzinfo=CHINA), datetime(2025, 4, 9, 21, 0, tzinfo=CHINA)),
    "event:毕业": (datetime(2021, 6, 20, tzinfo=CHINA), datetime(2021, 6, 20, tzinfo=CHINA)),
    "event:met": (datetime(2025, 1, 2, tzinfo=CHINA), datetime(2025, 1, 2, tzinfo=CHINA)),
}


@pytest.mark.parametrize(
    ("text", "phrase", "first", "last"),
    [
        ("我生日那天我们聊了什么", "我生日那天", "2024-11-03", "2024-11-03"),
        ("前年我生日那天晚上", "前年我生日那天晚上", "2023-11-03", "2023-11-03"),
        ("我生日前一天", "我生日前一天", "2024-11-02", "2024-11-02"),
        ("妈妈的生日", "妈妈的生日", "2025-02-28", "2025-02-28"),
        ("我们第一次聊天的时候说了什么", "我们第一次聊天的时候", "2025-01-02", "2025-01-02"),
        ("我们第一次聊天", "我们第一次聊天", "2025-01-02", "2025-01-02"),
        ("我们第一次聊天聊了什么", "我们第一次聊天", "2025-01-02", "2025-01-02"),
        ("还记得我们第一次聊天吗", "我们第一次聊天", "2025-01-02", "2025-01-02"),
        ("上次吵架那天", "上次吵架那天", "2025-04-09", "2025-04-09"),
        ("上次我们吵架是什么时候", "上次我们吵架", "2025-04-09", "2025-04-09"),
        ("我说的毕业那天", "我说的毕业那天", "2021-06-20", "2021-06-20"),
        ("what did I say on my birthday", "on my birthday", "2024-11-03", "2024-11-03"),
        ("on my birthday last year", "on my birthday last year", "2024-11-03", "2024-11-03"),
        ("the first time we talked", "the first time we talked", "2025-01-02", "2025-01-02"),
        ("the day we met", "the day we met", "2025-01-02", "2025-01-02"),
    ],
)
def test_anchors_resolve_through_what_memory_knows(text: str, phrase: str, first: str, last: str) -> None:
    (span,) = resolve(text, WEDNESDAY, anchors=KNOWN.get)
    assert span.phrase == phrase
    assert (span.start.date().isoformat(), span.end.date().isoformat()) == (first, last)


def test_an_anchor_that_memory_does_not_know_is_no_time() -> None:
    assert resolve("哥哥生日那天", WEDNESDAY, anchors=KNOWN.get) == []
    assert resolve("我生日那天", WEDNESDAY) == []
    assert resolve("生日快乐", WEDNESDAY, anchors=KNOWN.get) == []
    (span,) = resolve("上次见面", WEDNESDAY, anchors=KNOWN.get)
    assert span.phrase == "上次"


def test_of_a_text_of_names_memory_is_asked_for_the_first() -> None:
    asked_for: list[str] = []
    names = [f"{tens}{ones}墙" for tens in "赤橙黄绿青蓝紫白" for ones in "东西南北上下左右"]
    resolve("，".join(f"{name}那天" for name in names * 2), WEDNESDAY, anchors=asked_for.append)  # type: ignore[func-returns-value]
    assert len(asked_for) == len(set(asked_for)) == MOST_ASKED
    assert f"event:{names[0]}" in asked_for


@pytest.mark.parametrize(
    "text", ["国庆那天", "昨天那天", "你还记得那天吗", "上次说到哪了", "其实那天", "the day I was there"]
)
def test_memory_is_not_asked_for_what_the_calendar_knows_or_what_names_nothing(text: str) -> None:
    asked: list[str] = []
    resolve(text, WEDNESDAY, anchors=lambda anchor: asked.append(anchor))  # type: ignore[func-returns-value]
    assert not asked


def test_anchors_are_asked_each_time_since_memory_grows() -> None:
    known: dict[str, tuple[datetime, datetime]] = {}
    assert resolve("我生日那天", WEDNESDAY, anchors=known.get) == []
    known["birthday:我"] = KNOWN["birthday:我"]
    assert len(resolve("我生日那天", WEDNESDAY, anchors=known.get)) == 1


# Does the message ask about the time?


def test_a_question_asks_about_its_time_and_a_remark_is_only_dated_by_it() -> None:
    cases = [(kind, text) for (kind,), _, text in tables.lines(TABLES / "asking.txt")]
    wrong = [text for kind, text in cases if asks(text, resolve(text, WEDNESDAY)) is not (kind == "asks")]
    assert len(cases) > 110
    assert wrong == []


def test_without_a_time_nothing_is_asked_about_one() -> None:
    assert not asks("你叫什么名字？", [])


# The span finds what words alone do not, on the questions that name a date.

SHARED = Path(os.environ.get("MOECHAT_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "data"
FILES = ["locomo_en/conv-26.jsonl", "locomo_en/conv-43.jsonl", "locomo_en/conv-44.jsonl", "locomo_zh/conv-26.jsonl"]


def _tokens(text: str) -> list[str]:
    text = text.lower()
    han = re.findall(r"[\u4e00-\u9fff]+", text)
    return re.findall(r"[a-z]+", text) + [run[i : i + 2] for run in han for i in range(max(len(run) - 1, 1))]


def _bm25(documents: list[Counter[str]], query: list[str]) -> list[float]:
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths)
    frequency = Counter(word for document in documents for word in document)
    scores = [0.0] * len(documents)
    for word in set(query):
        weight = log(1 + (len(documents) - frequency[word] + 0.5) / (frequency[word] + 0.5))
        for i, document in enumerate(documents):
            if count := document[word]:
                scores[i] += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths[i] / mean))
    return scores


def _exchange(name: str) -> str:
    """An exchange of memorybank (d3.2.u and d3.2.a) counts once."""
    return re.sub(r"\.[ua]$", "", name)


def _recall_at_10(lines: list[dict], *, use_span: bool) -> tuple[float, int]:
    """Mean share of the evidence in the first ten over dated questions; a memory inside the span comes before one outside."""
    total, count = 0.0, 0
    for haystack in {line["haystack"] for line in lines if line["type"] == "memory"}:
        memories = [line for line in lines if line["type"] == "memory" and line["haystack"] == haystack]
        documents = [Counter(_tokens(f"{memory['speaker']}: {memory['text']}")) for memory in memories]
        times = [datetime.fromisoformat(memory["timestamp"]).replace(tzinfo=CHINA) for memory in memories]
        for line in lines:
            wanted = {_exchange(name) for name in line.get("evidence_ids") or ()}
            dated = line["type"] == "question" and line["haystack"] == haystack and line["names_date"]
            if not dated or line.get("unanswerable") or not wanted:
                continue
            scores = _bm25(documents, _tokens(line["question"]))
            asked = datetime.fromisoformat(line["asked_at"]).replace(tzinfo=CHINA)
            spans = resolve(line["question"], asked) if use_span else []
            inside = [any(span.covers(moment) for span in spans) for moment in times]
            order = sorted(range(len(memories)), key=lambda i: (-inside[i], -scores[i]))
            found = {_exchange(memories[i]["id"]) for i in order[:10]}
            total += len(wanted & found) / len(wanted)
            count += 1
    return total / count, count


@pytest.mark.parametrize("files", [FILES[:3], FILES[3:], ["memorybank_cn.jsonl"]], ids=["en", "zh", "memorybank"])
def test_the_span_raises_recall_on_questions_that_name_a_date(files: list[str]) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"the sample data is not at {SHARED}; set MOECHAT_SHARED")
    texts = [(SHARED / file).read_text(encoding="utf-8").splitlines() for file in files]
    lines = [json.loads(line) for text in texts for line in text]
    without, count = _recall_at_10(lines, use_span=False)
    with_span, _ = _recall_at_10(lines, use_span=True)
    print(f"{files}: {count} questions, recall@10 {without:.3f} -> {with_span:.3f}")
    assert with_span > without


def test_every_now_of_the_table_is_used() -> None:
    assert {row.now for row in [*TABLE, *rows("everyday")]} == set(NOWS.values())


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("明天下午三点", "moment"), ("昨天早上", "part"), ("上周五", "day"), ("上周末", "day"), ("去年五月", "month"),
        ("去年夏天", "season"), ("March to May", "month"), ("2019年", "year"), ("最近", "unknown"),
        ("5月3日到5月5日", "day"), ("last May", "month"),
        ("two hours ago", "moment"), ("lately", "unknown"),
    ],
)  # fmt: skip
def test_a_span_says_how_exactly_its_time_is_known(text: str, precision: str) -> None:
    at = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))
    spans = resolve(text, at)
    assert [span.precision for span in spans] == ([precision] if spans else []), spans
    assert spans or precision == "unknown"
