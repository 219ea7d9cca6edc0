"""A turn in numbers, in the log and in words: what it cost, what its reply rests on, and how an exchange is told."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from moechat.language.words import count_tokens
from moechat.model import Attachment, Dropped, Exchange, Hit, Message, Recollection, Usage
from moechat.store.usage import TurnCost
from moechat.turn import (
    MAX_GROUNDS_IN_VIEW,
    TOKENS_AROUND_MESSAGE,
    Sent,
    cost_of,
    exchange_text,
    hit_rows,
    named,
    size,
    span_of,
    span_row,
)  # fmt: skip
from moechat.when import Span

NOON = datetime(2025, 5, 20, 12, tzinfo=ZoneInfo("Asia/Shanghai"))
FRAME, ASKS = Message("system", "你是小满。"), Message("user", "你好呀，今天怎么样")


def test_a_turn_costs_what_the_provider_counts_or_else_what_we_do() -> None:
    ours = size([FRAME, ASKS])
    assert ours == count_tokens("你是小满。") + count_tokens("你好呀，今天怎么样") + 2 * TOKENS_AROUND_MESSAGE
    assert cost_of([FRAME, ASKS], [], "好", None) == TurnCost(ours, 1, None, 0, 0)
    assert cost_of([FRAME, ASKS], [], "好", Usage(90, 30, 7)) == TurnCost(90, 7, 30, 0, 0)


def test_what_equals_the_prompt_before_is_counted_into_the_message_where_they_part() -> None:
    def same(*before: Message) -> int:
        return cost_of([FRAME, ASKS], before, "", None).same

    assert cost_of([FRAME, ASKS], [FRAME], "", None).compared == size([FRAME, ASKS])
    assert same(FRAME) == size([FRAME]) and same(FRAME, ASKS) == size([FRAME, ASKS])
    assert same(FRAME, ASKS, FRAME) == size([FRAME, ASKS]) and same(ASKS) == 0
    assert same(FRAME, Message("user", "你好呀，明天")) == size([FRAME]) + count_tokens("你好呀，")
    assert same(FRAME, Message("assistant", "你好呀，明天")) == size([FRAME])


def test_a_span_comes_back_from_the_log() -> None:
    span = Span("昨天", NOON - timedelta(days=1), NOON, "part", (3, 5))
    assert span_row(span) == ["昨天", "2025-05-19T12:00:00+08:00", "2025-05-20T12:00:00+08:00", "part"]
    assert span_of(span_row(span)) == Span("昨天", span.start, span.end, "part")


def test_the_log_keeps_of_a_hit_what_is_not_usual_and_of_what_stood_there_anyway_three() -> None:
    span = Span("昨天", NOON, NOON)
    usual = Hit("diary", "events", "a", "words", 0.123456, features={"recency": 0.1234567, "same": 0.123, "none": 0.0})
    other = Hit(
        "core", "profile", "b", "words", 2.0, features={"x": 0.2, "y": -0.9, "z": 0.5}, span=span, side="user", episode="event",
        why="key: a",
    )  # fmt: skip
    anyway = [Dropped(Hit("diary", "events", f"c{n}", "words", 1.0, side="char"), "in_context") for n in range(4)]
    plan = Hit("diary", "plans", "d", "words", 1.0)
    away = Dropped(Hit("diary", "events", "e", "words", 1.0), "limit")
    rows = hit_rows(Recollection([span], [usual, other], [away, *anyway], plans=[plan]))
    assert rows[0] == {"id": "a", "score": 0.1235}
    assert rows[1] == {
        "id": "b", "layer": "core", "recipe": "profile", "score": 2.0, "features": {"y": -0.9, "z": 0.5}, "kind": "event",
        "why": "key: a", "span": 0,
    }  # fmt: skip
    assert rows[2] == {"id": "d", "recipe": "plans", "score": 1.0}
    in_view = [
        {"id": f"c{n}", "score": 1.0, "side": "char", "dropped": "in_context"} for n in range(MAX_GROUNDS_IN_VIEW)
    ]
    assert rows[3:] == in_view and MAX_GROUNDS_IN_VIEW == 3
    assert "words" not in str(rows)


def test_an_exchange_is_told_line_by_line_with_who_spoke() -> None:
    seen = (Attachment("image", line="[一张猫的照片]"),)
    one = Exchange("e", NOON, "看\n\n这只", "好看", attachments=seen)
    assert exchange_text(one, "阿明", "小满") == "阿明：看\n阿明：这只\n阿明：[一张猫的照片]\n小满：好看"
    assert exchange_text(Exchange("e", NOON, "Hi", "Ho"), "Ann", "Wren") == "Ann: Hi\nWren: Ho"
    assert exchange_text(Exchange("e", NOON, "Hi", "Ho", speaker="Bea"), "阿明", "Wren") == "Bea: Hi\nWren: Ho"
    assert exchange_text(Exchange("e", NOON, "Hi", "broken", "failed"), "Ann", "Wren") == "Ann: Hi"
    assert (named("Ann", "Hi"), named("小满", "好"), named("", "Hi")) == ("Ann: Hi", "小满：好", "Hi")


def test_a_greeting_is_what_a_front_end_shows_before_the_first_message_of_the_users() -> None:
    greets = Message("assistant", "你来啦")
    assert Sent(ASKS, [FRAME, greets, ASKS]).greeting == "你来啦"
    assert Sent(ASKS, [FRAME, ASKS, greets]).greeting == Sent(ASKS, [FRAME]).greeting == Sent(ASKS).greeting == ""
