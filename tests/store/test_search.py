"""What stands above the store: exchanges, lists, and what changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from moechat.errors import NotFound
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from moechat.store.search import KINDS
from tests.houses import Home, imported, moment, told

NOON = moment("2025-05-20T12:00:00")


@pytest.fixture
def filled(home: Home, store: FileStore) -> dict[str, str]:
    """What → id: an exchange that is filed, one that still stands in the log alone, an event, a reflection and a fact."""
    imported(store, ("2025-05-20T12:00:00", "中午吃了 Ramen", "真香"))
    event = Event("用户吃了ramen", ("20250520-120000",), "用户", "吃", "ramen")
    store.findings.put([
        Episode("e", NOON, event, "event"),
        Episode("r", NOON, replace(event, text="用户爱面食"), "reflection"),
    ])  # fmt: skip
    store.findings.put([Fact("f", NOON, FactDraft("用户爱吃面", ("20250520-120000",), target="RAMEN"))])
    waits = store.log.begin("晚上还吃ramen吗", moment("2025-05-20T18:00:00"))
    return {"filed": "20250520-120000", "waits": waits, "event": "e", "reflection": "r", "fact": "f"}


def test_a_list_has_the_newest_first_and_ties_by_kind_then_id(store: FileStore, filled: dict[str, str]) -> None:
    newest_first = [filled["waits"], "r", "f", filled["filed"], "e"]
    assert store.search.listed(KINDS) == newest_first
    assert store.search.listed(KINDS, sort="oldest") == newest_first[::-1]
    assert store.search.listed(KINDS, limit=2, offset=1) == newest_first[1:3]
    assert store.search.listed(["fact", "event"]) == ["f", "e"]
    assert (store.search.count(KINDS), store.search.count(["exchange"])) == (5, 2)


def test_words_and_times_narrow_a_list(store: FileStore, filled: dict[str, str]) -> None:
    assert set(store.search.listed(KINDS, ["ramen"])) == {filled["waits"], "f", filled["filed"], "e"}
    assert store.search.listed(KINDS, ["ramen", "真香"]) == [filled["filed"]]
    noon = NOON.timestamp()
    assert filled["waits"] not in store.search.listed(KINDS, span=(noon, noon))
    assert store.search.listed(KINDS, ["ramen"], span=(noon + 1, noon + 1e6)) == [filled["waits"]]
    assert store.search.count(KINDS, ["ramen"]) == 4


def test_what_was_taken_back_is_not_listed_and_what_is_archived_is_listed_apart(home: Home, store: FileStore) -> None:
    first, second = (told(store, home.clock, text) for text in ("第一句", "第二句"))
    id_ = derived_id("只有第一句这么说", (first,))
    store.findings.put([Fact(id_, NOON, FactDraft("只有第一句这么说", (first,)))])
    store.state.write([{"op": "archive", "ids": [second]}])
    assert set(store.search.listed(KINDS)) == {first, id_}
    assert store.search.listed(KINDS, archived=True) == [second]
    store.log.retract(first)
    assert (store.search.listed(KINDS), store.search.facts()) == ([], [])


def test_an_exchange_is_read_by_id_wherever_it_stands(store: FileStore, filled: dict[str, str]) -> None:
    ids = [filled["waits"], filled["filed"], "none"]
    assert [exchange.user for exchange in store.exchanges.of(ids).values()] == ["晚上还吃ramen吗", "中午吃了 Ramen"]
    assert list(store.exchanges.by_ids(ids)) == [filled["filed"]], "only what is filed has a row"
    with pytest.raises(NotFound):
        store.exchanges.get("none")


def test_changes_are_complete_and_in_row_order(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, f"第{i}句") for i in range(3)]
    store.log.settle()
    _, start = store.moment
    before = store.exchanges.by_ids(ids)
    store.log.correct(ids[0], user="改过了")
    store.findings.put([Episode("e", NOON, Event("用户改口", (ids[1],)))])
    (new,) = store.exchanges.by_ids(ids[:1]).values()
    assert [(row, alive) for row, _, alive in store.exchanges.changed(start)] == [
        (before[ids[0]].row, False),
        (new.row, True),
    ]
    assert [(id_, e and e.event.text) for _, id_, e in store.findings.changed(start)] == [("e", "用户改口")]
    _, between = store.moment
    store.findings.take_out(["e"])
    assert store.exchanges.changed(between) == []
    assert [(id_, e) for _, id_, e in store.findings.changed(between)] == [("e", None)]
    assert [side.row for side in store.exchanges.sides()] == [*(before[id_].row for id_ in ids[1:]), new.row]
    assert list(store.findings.changed(store.moment[1])) == []
