"""The file of what models cost: numbers by day, summed up as it grows, the same for every process."""

from __future__ import annotations

import json

from moechat.store.disk import USAGE
from moechat.store.usage import MIN_LINES_SUMMED, Spent
from tests.houses import Home

ONE = Spent("2025-05-20", "reply", 1, 100, 10, 60, 100, 80, 90)


def test_calls_are_summed_up_by_day_and_use(home: Home) -> None:
    store, other = home.store(), home.store()
    for spent in (ONE, ONE, Spent("2025-05-21", "reply", 1, 5), Spent("2025-05-20", "understanding", 1, 7)):
        store.usage.add(spent)
        assert spent.day in {one.day for one in store.usage.days()}, "before it is written"
    store.usage.write()
    other.usage.add(ONE)
    other.usage.write()
    expected = [
        Spent("2025-05-20", "reply", 3, 300, 30, 180, 300, 240, 270),
        Spent("2025-05-20", "understanding", 1, 7),
        Spent("2025-05-21", "reply", 1, 5),
    ]
    assert store.usage.days() == other.usage.days() == home.store().usage.days() == expected


def test_the_file_stays_small_and_holds_numbers_and_days_alone(home: Home) -> None:
    store = home.store()
    for _ in range(MIN_LINES_SUMMED + 50):
        store.usage.add(ONE)
        store.usage.write()
    lines = (home.folder / USAGE).read_text(encoding="utf-8").splitlines()
    assert len(lines) < MIN_LINES_SUMMED
    assert all(set(json.loads(line)) <= set(vars(ONE)) for line in lines)
    assert home.store().usage.days()[0].calls == MIN_LINES_SUMMED + 50


def test_a_damaged_line_costs_itself_alone(home: Home) -> None:
    store = home.store()
    store.usage.add(ONE)
    store.usage.write()
    with (home.folder / USAGE).open("a", encoding="utf-8") as file:
        file.write('{"day": "soon", "use": "reply"}\n[]\n{"day": "2025-05-20", "use": "reply", "calls": -1}\n')
    again = home.store().usage
    assert again.days() == [ONE] and len(again._lines.problems) == 3
