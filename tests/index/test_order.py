"""What stands beside a document in its talk, against a slow and plain oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moechat.index.hybrid import Order

GAP_S = 100.0
rows = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 2)), max_size=25)


def beside(rows: list[tuple[int, int]], doc: int, distance: int) -> int:
    """The neighbour by a walk over the documents of the same talk."""
    talk = rows[doc][1]
    mine = sorted((time, other) for other, (time, of) in enumerate(rows) if of == talk)
    place = mine.index((rows[doc][0], doc))
    step = 1 if distance > 0 else -1
    for _ in range(abs(distance)):
        if not 0 <= place + step < len(mine) or abs(mine[place + step][0] - mine[place][0]) > GAP_S:
            return -1
        place += step
    return mine[place][1]


def reached(rows: list[tuple[int, int]], doc: int) -> list[int]:
    """The documents that lead to one another without a long pause."""
    steps = [beside(rows, doc, sign * distance) for sign in (-1, 1) for distance in range(1, len(rows))]
    return [doc, *(one for one in steps if one >= 0)]


@given(rows, st.integers(0, 25))
def test_neighbours_are_those_of_the_same_talk_whether_added_one_by_one_or_at_once(
    rows: list[tuple[int, int]], first: int
) -> None:
    rows = sorted(rows)
    times = np.array([float(time) for time, _ in rows] or [0.0])
    talks = np.array([talk for _, talk in rows] or [0], np.int32)
    order = Order(np.arange(min(first, len(rows))), times, talks, GAP_S)
    for doc in range(min(first, len(rows)), len(rows)):
        assert order.append(doc, float(rows[doc][0]), rows[doc][1])
    assert order.docs.tolist() == list(range(len(rows)))
    for distance in (-2, -1, 0, 1, 2):
        expected = [beside(rows, doc, distance) for doc in range(len(rows))]
        assert order.beside(np.arange(len(rows)), distance).tolist() == expected
    runs = [frozenset(reached(rows, doc)) for doc in range(len(rows))]
    numbers, sizes = order.runs(np.arange(len(rows)))
    assert sizes.tolist() == [len(run) for run in runs]
    assert len({*zip(runs, numbers.tolist(), strict=True)}) == len(set(runs)) == len(set(numbers.tolist()))


def test_a_document_that_belongs_elsewhere_is_not_put_at_the_end() -> None:
    order = Order(np.array([0, 1]), np.array([10.0, 20.0]), np.array([0, 0], np.int32), GAP_S)
    assert not order.append(2, 15.0, 0)
    assert order.append(2, 20.0, 1)
