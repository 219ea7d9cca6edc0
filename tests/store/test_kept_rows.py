"""Rows that were read lately are not read again, until they die."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from moechat.store.database import Pulse
from moechat.store.exchanges import MAX_KEPT_ROWS, KeptRows


class Table:
    """A table in memory: what stands in each row, the generation in which a row died, and what was read so far."""

    def __init__(self, count: int) -> None:
        self.rows = {number: f"row {number}" for number in range(count)}
        self.deaths: list[tuple[int, int]] = []
        self.reads: list[int] = []
        self.epoch, self.pulse = 0, Pulse()
        self.kept: KeptRows[str] = KeptRows(self, "", self._read)  # type: ignore[arg-type]

    def kill(self, number: int) -> None:
        self.pulse.generation += 1
        self.rows.pop(number, None)
        self.deaths.append((self.pulse.generation, number))

    def of(self, numbers: Sequence[int]) -> dict[int, str]:
        return self.kept.of(numbers)

    def all(self, _: str, values: dict[str, int]) -> list[tuple[int]]:
        return [(number,) for generation, number in self.deaths if generation > values["since"]]

    def _read(self, numbers: Sequence[int]) -> dict[int, str]:
        self.reads += numbers
        return {number: self.rows[number] for number in numbers if number in self.rows}


def test_a_row_is_read_once() -> None:
    table = Table(3)
    assert table.of([2, 0]) == {2: "row 2", 0: "row 0"}
    assert list(table.of([0, 1, 2])) == [0, 1, 2]
    assert table.reads == [2, 0, 1]


def test_a_row_that_died_is_not_there() -> None:
    table = Table(3)
    table.of([0, 1])
    table.kill(1)
    assert table.of([1, 0]) == {0: "row 0"}


def test_so_many_are_kept_those_that_were_asked_for_last() -> None:
    table = Table(MAX_KEPT_ROWS + 2)
    table.of(range(MAX_KEPT_ROWS))
    table.of([0, MAX_KEPT_ROWS])
    table.reads.clear()
    table.of([0, 1, MAX_KEPT_ROWS])
    assert table.reads == [1]


@given(st.lists(st.one_of(st.integers(0, 5), st.lists(st.integers(0, 5), unique=True)), max_size=20))
def test_what_is_kept_says_what_the_table_says(steps: list[int | list[int]]) -> None:
    table = Table(6)
    for step in steps:
        if isinstance(step, int):
            table.kill(step)
        else:
            assert table.of(step) == {number: table.rows[number] for number in step if number in table.rows}
