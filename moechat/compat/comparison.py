"""Filters that callers write: comparisons of columns and numbers, joined by ``and`` and ``or``. Parsed, never evaluated.

    filter     = all { "or" all }
    all        = comparison { "and" comparison }
    comparison = operand ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) operand
    operand    = column | number

One side of a comparison, at least, is a column. ``and`` binds tighter than ``or``; there are no brackets, calls,
attributes, strings or arithmetic. Values within 1e-6 of each other count as equal, so that a float32 .5 is ``>= 0.5``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moechat.errors import FilterError

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

TOLERANCE = 1e-6
LONGEST = 1000  # characters of a statement
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|<|>))")
_JOINS = ("and", "or")


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
class Comparison:
    """``left sign right``; a string names a column, a float is a number."""

    left: str | float
    sign: str
    right: str | float

    def holds(self, columns: Mapping[str, ArrayLike]) -> Mask:
        return SIGNS[self.sign](_values(self.left, columns), _values(self.right, columns))


@dataclass(frozen=True, slots=True)
class Filter:
    """Holds where all comparisons of any one of ``alternatives`` hold."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    def holds(self, columns: Mapping[str, ArrayLike]) -> Mask:
        """(n,) bool for columns of n numbers each; those that were named when it was parsed must be there."""
        every = [np.logical_and.reduce([one.holds(columns) for one in group]) for group in self.alternatives]
        return np.logical_or.reduce(every)


def parse(statement: str, columns: Collection[str]) -> Filter:
    """The filter that ``statement`` writes over these columns. Raises FilterError for anything else, saying where."""
    if not isinstance(statement, str):
        raise FilterError(f"a filter is text such as 'relevance > 0.5', not {type(statement).__name__}")
    if len(statement) > LONGEST:
        raise FilterError(f"a filter of {len(statement)} characters is too long; {LONGEST} are allowed")
    return _Reader(statement, columns).filter()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, word, sign or end
    text: str
    at: int


class _Reader:
    """Reads the tokens of one statement from left to right; no rule calls itself, so depth is bounded."""

    def __init__(self, statement: str, columns: Collection[str]) -> None:
        self._statement, self._columns = statement, columns
        self._tokens = _tokens(statement)
        self._next = 0

    def filter(self) -> Filter:
        alternatives = [self._all()]
        while self._joined("or"):
            alternatives.append(self._all())
        if self._peek().kind != "end":
            raise self._wrong(self._peek(), "expected 'and', 'or' or the end")
        return Filter(tuple(alternatives))

    def _all(self) -> tuple[Comparison, ...]:
        comparisons = [self._comparison()]
        while self._joined("and"):
            comparisons.append(self._comparison())
        return tuple(comparisons)

    def _comparison(self) -> Comparison:
        first = self._peek()
        left = self._operand()
        sign = self._take()
        if sign.kind != "sign":
            raise self._wrong(sign, f"expected one of {' '.join(SIGNS)}")
        right = self._operand()
        if not isinstance(left, str) and not isinstance(right, str):
            raise self._wrong(first, "a comparison names a column")
        return Comparison(left, sign.text, right)

    def _operand(self) -> str | float:
        token = self._take()
        if token.kind == "number":
            number = float(token.text)
            if not math.isfinite(number):
                raise self._wrong(token, "a number that large is none")
            return number
        if token.kind != "word" or token.text.lower() in _JOINS:
            raise self._wrong(token, "expected a column or a number")
        if token.text not in self._columns:
            raise self._wrong(token, f"there is no such column; there are {', '.join(self._columns)}")
        return token.text

    def _joined(self, word: str) -> bool:
        token = self._peek()
        if token.kind != "word" or token.text.lower() != word:
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
    found, at, end = [], 0, len(statement.rstrip())
    while at < end:
        match = _TOKEN.match(statement, at)
        if match is None or match.lastgroup is None:
            rest = statement[at:].lstrip()
            raise FilterError(f"filter {statement!r}: {rest[:12]!r} is no column, number or comparison")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*found, _Token("end", "", end)]


def _values(operand: str | float, columns: Mapping[str, ArrayLike]) -> Floats:
    return np.asarray(columns[operand] if isinstance(operand, str) else operand, dtype=np.float64)
