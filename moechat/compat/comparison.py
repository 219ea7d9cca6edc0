"""Filters that callers write: comparisons of columns and numbers, joined as in Python. Parsed, never evaluated.

    filter     = all { ( "or" | "|" ) all }
    all        = part { ( "and" | "&" ) part }
    part       = { "not" } ( "(" filter ")" | comparison )
    comparison = operand ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) operand
    operand    = column | number

At least one side of a comparison is a column. ``&`` and ``|`` bind like ``and`` and ``or``, as in ``DataFrame.query``.
There are no calls, attributes, strings or arithmetic. Values within 1e-6 of each other count as equal, so that a float32
.5 is ``>= 0.5``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moechat.errors import FilterError

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Columns = Mapping[str, ArrayLike]
Holds = Callable[[Columns], Mask]

TOLERANCE = 1e-6
LONGEST = 1000  # A longer statement (in characters) is refused.
DEEPEST = 50  # More brackets inside one another are refused.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|<|>)|(?P<mark>[()&|]))"
)
_OR, _AND, _NOT = ("or", "|"), ("and", "&"), ("not",)
_RESERVED = (*_OR, *_AND, *_NOT)


def _near(left: Floats, right: Floats) -> Mask:
    return np.abs(left - right) <= TOLERANCE


SIGNS: Mapping[str, Callable[[Floats, Floats], Mask]] = {
    "<": lambda left, right: (left < right) & ~_near(left, right),
    "<=": lambda left, right: (left <= right) | _near(left, right),
    ">": lambda left, right: (left > right) & ~_near(left, right),
    ">=": lambda left, right: (left >= right) | _near(left, right),
    "==": _near,
    "!=": lambda left, right: ~_near(left, right),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """What a statement asks of columns. ``holds`` gives (n,) bool for columns of n numbers each; those that were named when
    it was parsed must be there."""

    holds: Holds


def parse(statement: str, columns: Collection[str]) -> Filter:
    """The filter that ``statement`` writes over these columns. Raises FilterError for anything else, saying where."""
    if not isinstance(statement, str):
        raise FilterError(f"a filter is text such as 'relevance > 0.5', not {type(statement).__name__}")
    if len(statement) > LONGEST:
        raise FilterError(f"a filter of {len(statement)} characters is too long; {LONGEST} are allowed")
    return Filter(_Reader(statement, columns).read())


class _Token(NamedTuple):
    kind: str  # number, word, sign, mark or end
    text: str
    at: int


class _Reader:
    """Reads the tokens of one statement from left to right; brackets nest ``DEEPEST`` deep."""

    def __init__(self, statement: str, columns: Collection[str]) -> None:
        self._statement, self._columns = statement, columns
        self._tokens = _tokens(statement)
        self._next = 0
        self._depth = 0

    def read(self) -> Holds:
        whole = self._any()
        if self._peek().kind != "end":
            raise self._wrong(self._peek(), "expected 'and', 'or' or the end")
        return whole

    def _any(self) -> Holds:
        return self._joined(_OR, np.logical_or, self._all)

    def _all(self) -> Holds:
        return self._joined(_AND, np.logical_and, self._part)

    def _joined(self, words: Sequence[str], join: np.ufunc, part: Callable[[], Holds]) -> Holds:
        parts = [part()]
        while self._skip(words):
            parts.append(part())
        return lambda columns: join.reduce([holds(columns) for holds in parts])

    def _part(self) -> Holds:
        if self._skip(_NOT):
            denied = self._part()
            return lambda columns: ~denied(columns)
        opening = self._peek()
        if not self._skip(("(",)):
            return self._comparison()
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._wrong(opening, f"more than {DEEPEST} brackets inside one another")
        inner = self._any()
        if not self._skip((")",)):
            raise self._wrong(self._peek(), "expected 'and', 'or' or ')'")
        self._depth -= 1
        return inner

    def _comparison(self) -> Holds:
        first = self._peek()
        left = self._operand()
        sign = self._take()
        if sign.kind != "sign":
            raise self._wrong(sign, f"expected one of {' '.join(SIGNS)}")
        right = self._operand()
        if not isinstance(left, str) and not isinstance(right, str):
            raise self._wrong(first, "a comparison names a column")
        return lambda columns: SIGNS[sign.text](_values(left, columns), _values(right, columns))

    def _operand(self) -> str | float:
        token = self._take()
        if token.kind == "number":
            number = float(token.text)
            if not math.isfinite(number):
                raise self._wrong(token, "a number that large is none")
            return number
        if token.kind != "word" or token.text.lower() in _RESERVED:
            raise self._wrong(token, "expected a column or a number")
        if token.text not in self._columns:
            raise self._wrong(token, f"there is no such column; there are {', '.join(self._columns)}")
        return token.text

    def _skip(self, texts: Sequence[str]) -> bool:
        """Pass over the next token where it is one of these, in any case."""
        if self._peek().text.lower() not in texts:
            return False
        self._next += 1
        return True

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek()
        self._next += token.kind != "end"
        return token

    def _wrong(self, token: _Token, why: str) -> FilterError:
        place = "at the end" if token.kind == "end" else f"at {token.text!r} (character {token.at + 1})"
        return FilterError(f"filter {self._statement!r}: {place}: {why}")


def _tokens(statement: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(statement.rstrip())
    while at < end:
        match = _TOKEN.match(statement, at)
        if match is None or match.lastgroup is None:
            rest = statement[at:].lstrip()
            raise FilterError(f"filter {statement!r}: {rest[:12]!r} is no column, number or comparison")
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*tokens, _Token("end", "", end)]


def _values(operand: str | float, columns: Columns) -> Floats:
    return np.asarray(columns[operand] if isinstance(operand, str) else operand, dtype=np.float64)
