"""The time index: bisect over sorted times, against a plain scan and the golden of seed 003."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from moechat.index.hybrid import TimeIndex


def test_the_golden_of_seed_003(goldens: Path) -> None:
    """The published code lost the first of every span."""
    told = json.loads((goldens / "seed003_worked.json").read_text(encoding="utf-8"))
    index = TimeIndex([(key, float(key)) for key in (100, 200, 300, 400, 500)])
    found = [index.between(*row["range"]).tolist() for row in told["range_search"]]
    assert found == [row["sane"] for row in told["range_search"]] and len(found) == 8
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
