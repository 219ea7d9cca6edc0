"""The filter grammar: comparisons of columns, joined by and, or, not and brackets, and nothing else."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moechat.compat.comparison import MAX_BRACKETS, MAX_CHARS, parse
from moechat.errors import FilterError, MoeChatError

COLUMNS = ("importance", "recency", "relevance", "pointer", "score")
TABLE = {
    "importance": [0.2, 0.9, 0.5],
    "recency": [1.0, 0.0, 0.25],
    "relevance": [0.5, 0.6, 0.0],
    "pointer": [0, 1, 2],
    "score": [1.7, 1.5, 0.75],
}


def kept(statement: str) -> list[int]:
    return np.flatnonzero(parse(statement, COLUMNS)(TABLE)).tolist()


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("relevance > 0.5", [1]), ("relevance >= 0.5", [0, 1]), ("relevance<.5", [2]), ("relevance <= 5e-1", [0, 2]),
        ("pointer == 2", [2]), ("pointer != 2", [0, 1]), ("0.5 < importance", [1]), ("recency > relevance", [0, 2]),
        ("importance > -1", [0, 1, 2]), ("pointer < +1.", [0]), ("  relevance > 0.1 \n and\timportance < 0.5  ", [0]),
        ("relevance > 0.55 or importance == 0.5", [1, 2]),
        ("relevance > 0.55 OR importance == 0.5 AND pointer == 0", [1]),
        ("pointer == 0 and pointer == 1 or pointer == 2", [2]), ("relevance > 0.5 & score > 1", [1]),
        ("pointer == 0 & pointer == 1 | pointer == 2", [2]), ("(relevance > 0.5)", [1]), ("(relevance) > (0.5)", [1]),
        ("(relevance > 0.55) | (importance == 0.5)", [1, 2]),
        ("(pointer == 0 or pointer == 1) and relevance > 0.5", [1]), ("not relevance > 0.5", [0, 2]),
        ("NOT pointer == 0 and pointer == 1", [1]), ("not (pointer == 0 or pointer == 1)", [2]),
        ("not not(pointer==0)", [0]), ("((pointer == 0)) or not (pointer != 2 | score > 9)", [0, 2]),
        ("(" * MAX_BRACKETS + "pointer == 0" + ")" * MAX_BRACKETS, [0]),
    ],
)  # fmt: skip
def test_comparisons_keep_the_rows_that_meet_them(statement: str, rows: list[int]) -> None:
    assert kept(statement) == rows


@pytest.mark.parametrize(
    "statement",
    [
        "", "   ", "relevance", "0.5", "relevance >", "> 0.5", "relevance > 0.5 and", "and relevance > 0.5",
        "relevance > 0.5 relevance > 0.1", "relevance > 0.5 or or score > 1", "relevance = 0.5", "relevance => 0.5",
        "relevance <> 0.5", "0.1 < relevance < 0.9", "1 < 2", "relevance > 1e999", "relevance > nan", "relevance > inf",
        "relevance > 0x10", "relevance > 1_000", "relevance > 1.2.3", "relevance > 0.5abc", "relevance > ٣",
        "description == 'x'", "unknown > 1", "Relevance > 0.5", "relevance not > 0.5", "relevance > not 0.5", "not",
        "(relevance > 0.5", "relevance > 0.5)", "()", "(relevance > 0.5) score > 1",
        "relevance > 0.5 && score > 1", "relevance > 0.5 || score > 1", "& score > 1", "~ relevance > 0.5",
        "(" * (MAX_BRACKETS + 1) + "score > 1" + ")" * (MAX_BRACKETS + 1), "relevance + 1 > 1", "relevance > 0.5; score > 1",
        "relevance > 0.5 # comment",
        "relevance > 0.5 if True else score > 1", "lambda: 1", "score.__class__ > 1", "score[0] > 1", "@score > 1",
        "__import__('os').system('true') > 1", "open('x') > 1", "relevance > score()", "relevance > `score`",
        "relevance > 0.5 and exec('1')", "relevance > 0.5\x00", "relevance > ‘0.5’", "ｒelevance > 0.5", "and > or",
    ],
)  # fmt: skip
def test_anything_else_is_refused(statement: str) -> None:
    with pytest.raises(FilterError):
        parse(statement, COLUMNS)


def test_the_refusal_says_where_and_what_is_allowed_and_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"'relevanz' \(character 1\).*importance, recency, relevance") as told:
        parse("relevanz > 0.5", COLUMNS)
    assert isinstance(told.value, MoeChatError)
    with pytest.raises(FilterError, match="not NoneType"):
        parse(None, COLUMNS)  # type: ignore[arg-type]
    with pytest.raises(FilterError, match="too long"):
        parse("score > 1 and " * MAX_CHARS + "score > 1", COLUMNS)


def test_values_within_a_millionth_are_equal() -> None:
    narrow = {"relevance": np.asarray([0.38], dtype=np.float32)}  # a float32 .38 is a little more, .3 a little less
    assert float(narrow["relevance"][0]) != 0.38
    for sign, holds in {">=": True, "<=": True, "==": True, ">": False, "<": False, "!=": False}.items():
        assert parse(f"relevance {sign} 0.38", COLUMNS)(narrow).tolist() == [holds]


def test_columns_of_no_rows_keep_none() -> None:
    assert parse("relevance > 0.5 or score > 1", COLUMNS)({column: [] for column in COLUMNS}).tolist() == []


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
Row = tuple[int, ...]
Meaning = Callable[[Row], bool]


def compared(parts: tuple[str, str, int]) -> tuple[str, Meaning]:
    column, sign, number = parts
    return f"{column} {sign} {number}", lambda row: SIGNS[sign](row[COLUMNS.index(column)], number)


def joined(parts: tuple[tuple[str, Meaning], str, tuple[str, Meaning]]) -> tuple[str, Meaning]:
    (left, holds), word, (right, holds_too) = parts
    if word in ("and", "&"):
        return f"({left}) {word} ({right})", lambda row: holds(row) and holds_too(row)
    return f"({left}) {word} ({right})", lambda row: holds(row) or holds_too(row)


def denied(part: tuple[str, Meaning]) -> tuple[str, Meaning]:
    text, holds = part
    return f"not ({text})", lambda row: not holds(row)


comparisons = st.tuples(st.sampled_from(COLUMNS), st.sampled_from(sorted(SIGNS)), st.integers(-3, 3))
alternatives = st.lists(st.lists(comparisons, min_size=1, max_size=3), min_size=1, max_size=3)
bracketed = st.recursive(
    comparisons.map(compared),
    lambda inner: inner.map(denied) | st.tuples(inner, st.sampled_from(["and", "&", "or", "|"]), inner).map(joined),
    max_leaves=6,
)
tables = st.lists(st.tuples(*[st.integers(-3, 3)] * len(COLUMNS)), max_size=8)


def filtered(statement: str, rows: list[Row]) -> list[bool]:
    return parse(statement, COLUMNS)({column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}).tolist()


@given(alternatives, st.sampled_from([("and", "or"), ("&", "|"), ("AND", "|")]), tables)
def test_what_is_parsed_means_what_python_means(
    groups: list[list[tuple[str, str, int]]], words: tuple[str, str], rows: list[Row]
) -> None:
    both, either = words
    statement = f" {either} ".join(f" {both} ".join(f"{c} {s} {n}" for c, s, n in group) for group in groups)
    meant = [any(all(SIGNS[s](row[COLUMNS.index(c)], n) for c, s, n in group) for group in groups) for row in rows]
    assert filtered(statement, rows) == meant


@given(bracketed, tables)
def test_brackets_and_not_mean_what_python_means(part: tuple[str, Meaning], rows: list[Row]) -> None:
    statement, holds = part
    assert filtered(statement, rows) == [holds(row) for row in rows]


HOSTILE = st.sampled_from(
    ["__", "(", ")", ".", "[", "]", "'", '"', "@", "`", ";", ":", "=", "lambda", "import", "eval", "os", "\\", "\n", "{", "}",
     "not", "in", "is", "if", "*", "/", "+", "-", "%", "&", "|", "~", "^", "!", "$", "#", "\x00", "，", "True", "None"]
)  # fmt: skip
PIECE = r"[()&|]|[<>=!]+|[^\s()&|<>=!]+"
pieces = st.one_of(HOSTILE, st.sampled_from([*COLUMNS, *SIGNS, "and", "or", "0.5", "1", " "]), st.text(max_size=4))


@given(st.lists(pieces, max_size=12).map(" ".join))
@example("relevance > 0.5 and __import__('os')")
@example("score" + " and score" * 50)
def test_hostile_text_is_refused_or_is_a_plain_comparison(statement: str) -> None:
    try:
        read = parse(statement, COLUMNS)
    except FilterError:
        return
    plain = {"(", ")", "&", "|", "not", "and", "or", *SIGNS, *COLUMNS}
    numbers = [piece for piece in re.findall(PIECE, statement) if piece.casefold() not in plain]
    assert all(np.isfinite(float(number)) for number in numbers)
    assert read(TABLE).shape == (3,)


@given(alternatives, HOSTILE.filter(lambda piece: piece.strip() not in ("", "+", "-", "not")), st.integers(0, 200))
def test_one_foreign_piece_spoils_a_filter(groups: list[list[tuple[str, str, int]]], piece: str, at: int) -> None:
    tokens = " or ".join(" and ".join(f"{c} {s} {n}" for c, s, n in group) for group in groups).split(" ")
    place = at % (len(tokens) + 1)
    with pytest.raises(FilterError):
        parse(" ".join([*tokens[:place], piece, *tokens[place:]]), COLUMNS)
