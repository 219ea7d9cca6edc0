"""The time index: bisect over sorted times, against a plain scan and the golden of seed 003."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.index.hybrid import TimeIndex

# Golden `range_search` of seed 003: keys 100..500; the published code lost the first of every span.
GOLDEN = [
    ((150, 350), [200, 300]), ((100, 100), [100]), ((210, 290), []), ((0, 50), []), ((600, 700), []),
    ((100, 500), [100, 200, 300, 400, 500]), ((500, 900), [500]), ((200, 300), [200, 300]),
]  # fmt: skip
KEYS = [100, 200, 300, 400, 500]


@pytest.mark.parametrize(("asked", "found"), GOLDEN)
def test_the_golden_of_seed_003(asked: tuple[int, int], found: list[int]) -> None:
    assert TimeIndex([(key, float(key)) for key in KEYS]).between(*asked).tolist() == found


def test_the_table_is_that_of_the_shared_file(goldens: Path) -> None:
    told = json.loads((goldens / "seed003_worked.json").read_text(encoding="utf-8"))
    assert [(tuple(row["range"]), row["sane"]) for row in told["range_search"]] == GOLDEN
    unsorted = told["unsorted_keys_example"]
    index = TimeIndex([(key, float(key)) for key in unsorted["keys"]])
    assert index.between(*unsorted["range"]).tolist() == unsorted["sane_after_sort"]


times = st.integers(0, 50).map(float)
steps = st.lists(st.tuples(st.booleans(), st.integers(0, 20), times), max_size=60)


@given(st.lists(times), steps, times, times)
def test_grown_equals_a_scan_of_what_is_there(
    first: list[float], changes: list[tuple[bool, int, float]], start: float, end: float
) -> None:
    plain = [(100 + i, at) for i, at in enumerate(first)]
    index = TimeIndex(plain)
    for add, key, at in changes:
        if add:
            index.add(key, at)
            plain.append((key, at))
        else:
            index.remove(key, at)
            if (key, at) in plain:
                plain.remove((key, at))
    assert sorted(index.between(start, end).tolist()) == sorted(key for key, at in plain if start <= at <= end)
    assert len(index) == len(plain)
    assert sorted(index.keys()) == sorted(key for key, _ in plain)


def test_equal_times_keep_the_order_in_which_they_came() -> None:
    index = TimeIndex([(1, 5.0), (2, 5.0)])
    index.add(3, 5.0)
    assert index.between(5, 5).tolist() == [1, 2, 3]
