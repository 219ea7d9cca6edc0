"""Filters that callers write: comparisons of columns and numbers, joined as in Python. Parsed, never evaluated.

A statement is made of columns, numbers, ``< <= > >= == !=``, ``and or not`` in any case, ``&`` and ``|`` (which bind like ``and``
and ``or``, as in ``DataFrame.query``) and brackets. Python's parser finds its structure; there are no calls, attributes,
strings or arithmetic. Values within 1e-6 of each other count as equal, so that a float32 .5 is ``>= 0.5``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moechat.errors import FilterError

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Columns = Mapping[str, ArrayLike]
Filter = Callable[[Columns], Mask]
"""(n,) bool for columns of n numbers each; those that were named when it was parsed must be there."""

TOLERANCE = 1e-6
MAX_CHARS = 1000  # A longer statement is refused.
MAX_BRACKETS = 50  # More inside one another are refused.
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[<>]=?|[=!]=|[()&|]))")
_JOINTS = {"and": "and", "&": "and", "or": "or", "|": "or", "not": "not"}


def _near(left: Floats, right: Floats) -> Mask:
    return np.abs(left - right) <= TOLERANCE


_SIGNS: Mapping[type[ast.cmpop], Callable[[Floats, Floats], Mask]] = {
    ast.Lt: lambda left, right: (left < right) & ~_near(left, right),
    ast.LtE: lambda left, right: (left <= right) | _near(left, right),
    ast.Gt: lambda left, right: (left > right) & ~_near(left, right),
    ast.GtE: lambda left, right: (left >= right) | _near(left, right),
    ast.Eq: _near,
    ast.NotEq: lambda left, right: ~_near(left, right),
}


def parse(statement: str, columns: Collection[str]) -> Filter:
    """The filter that ``statement`` writes over these columns. Raises FilterError for anything else, saying where."""
    if not isinstance(statement, str):
        raise FilterError(f"a filter is text such as 'relevance > 0.5', not {type(statement).__name__}")
    if len(statement) > MAX_CHARS:
        raise FilterError(f"a filter of {len(statement)} characters is too long; {MAX_CHARS} are allowed")
    words: list[str] = []
    at, depth = 0, 0
    while at < len(statement.rstrip()):
        match = _TOKEN.match(statement, at)
        text = match[match.lastgroup or 0] if match else ""
        depth += (text == "(") - (text == ")")
        if match is None or depth > MAX_BRACKETS:
            why = (
                f"more than {MAX_BRACKETS} brackets inside one another"
                if match
                else "is no column, number or comparison"
            )
            raise FilterError(f"filter {statement!r}: {statement[at:].lstrip()[:12]!r}: {why}")
        joint = _JOINTS.get(text.lower())
        if match["word"] and not joint and text not in columns:
            place = f"{text!r} (character {match.start('word') + 1})"
            raise FilterError(
                f"filter {statement!r}: at {place}: there is no such column; there are {', '.join(columns)}"
            )
        words.append(joint or (repr(float(text)) if match["number"] else text))
        at = match.end()
    try:
        part = ast.parse(" ".join(words), mode="eval").body
        _holds(part, dict.fromkeys(columns, np.zeros(0)))
    except (SyntaxError, TypeError) as error:
        remedy = "write comparisons such as relevance > 0.5, joined by and, or, not and brackets"
        raise FilterError(f"filter {statement!r}: cannot be read; {remedy}") from error
    return partial(_holds, part)


def _holds(part: ast.expr, columns: Columns) -> Mask:
    """Raises TypeError for what is no comparison of a column."""
    match part:
        case ast.BoolOp(op, values):
            join = np.logical_and if isinstance(op, ast.And) else np.logical_or
            mask: Mask = join.reduce([_holds(value, columns) for value in values])
            return mask
        case ast.UnaryOp(ast.Not(), operand):
            return ~_holds(operand, columns)
        case ast.Compare(left, [sign], [right]) if isinstance(left, ast.Name) or isinstance(right, ast.Name):
            return _SIGNS[type(sign)](_values(left, columns), _values(right, columns))
    raise TypeError(ast.dump(part))


def _values(operand: ast.expr, columns: Columns) -> Floats:
    match operand:
        case ast.Name(name) if name in columns:
            return np.asarray(columns[name], dtype=np.float64)
        case ast.Constant(float(number)) | ast.UnaryOp(ast.USub(), ast.Constant(float(number))):
            return np.asarray(-number if isinstance(operand, ast.UnaryOp) else number)
    raise TypeError(ast.dump(operand))
