"""What fades, and what goes when memory is full."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.curation import forgetting
from moechat.curation.forgetting import Trace
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.settings.schema import ForgettingSettings
from moechat.store.files import FileStore
from moechat.store.finding_records import visible
from moechat.store.formats import derived_id
from tests.houses import Home, moment, told

NOW = moment("2025-05-20T15:00:00")
DAY = timedelta(days=1)

# Golden `cleanup` of seed 004: (id, strength, last access); at a cap of 10 the weakest fifth goes.
RECORDS = [
    ("a", 1, 5), ("b", 16, 1), ("c", 1, 2), ("d", 31, 9), ("e", 1, 2), ("f", 4, 3), ("g", 8, 4), ("h", 2, 7), ("i", 3, 6),
    ("j", 100, 0),
]  # fmt: skip


def records(**kept: str) -> list[Trace]:
    return [Trace(id_, strength, used, kept.get(id_, "")) for id_, strength, used in RECORDS]  # type: ignore[arg-type]


def test_the_golden_the_weakest_fifth_goes_the_least_recently_used_first_and_below_the_cap_nothing(
    goldens: Path,
) -> None:
    golden = json.loads((goldens / "seed004_worked.json").read_text(encoding="utf-8"))["cleanup"]
    assert [(one["id"], one["strength"], one["last_access"]) for one in golden["items"]] == RECORDS
    assert forgetting.over_cap(records(), golden["cap"], golden["frac"]) == golden["deleted"] == ["c", "e"]
    assert forgetting.over_cap(records(), 11, 0.2) == []


def test_what_is_kept_never_goes_however_weak() -> None:
    kept = {"a": "pinned", "c": "owner", "e": "author"}
    assert forgetting.over_cap(records(**kept), 10, 0.2) == ["h"]
    assert forgetting.over_minimum(records(**kept), 4) == ["h", "i", "f", "g", "b", "d"]
    assert set(forgetting.over_minimum(records(**kept), 0)) == set("bdfghij")


def test_one_who_was_away_keeps_the_strongest() -> None:
    assert forgetting.over_minimum(records(), 3) == ["c", "e", "a", "h", "i", "f", "g"]
    assert forgetting.over_minimum(records(), 10) == []


# ---- fading

strengths = st.integers(1, 100_000)
days = st.floats(0, 20_000)


@given(days, strengths, strengths)
def test_a_stronger_memory_fades_more_slowly(since: float, one: int, other: int) -> None:
    weak, strong = sorted((one, other))
    used = NOW.timestamp() - since * 86_400
    assert forgetting.fades_at(Trace("a", weak, used)) <= forgetting.fades_at(Trace("a", strong, used))
    assert forgetting.retention(since, weak) <= forgetting.retention(since, strong)
    if weak < strong:
        assert forgetting.fades_at(Trace("a", weak, used)) < forgetting.fades_at(Trace("a", strong, used))


@given(days, strengths)
def test_a_recall_puts_fading_off(since: float, strength: int) -> None:
    before = Trace("a", strength, NOW.timestamp() - since * 86_400)
    after = Trace("a", strength + 15, NOW.timestamp())
    assert forgetting.fades_at(after) > forgetting.fades_at(before)


@given(days, days, strengths)
def test_less_is_left_with_every_day(one: float, other: float, strength: int) -> None:
    early, late = sorted((one, other))
    assert 1 >= forgetting.retention(early, strength) >= forgetting.retention(late, strength) >= 0


@given(st.lists(st.builds(Trace, st.text(max_size=3), st.integers(1, 50), st.floats(0, 100)), unique_by=lambda t: t.id))
def test_nothing_goes_before_something_that_is_weaker(found: list[Trace]) -> None:
    goes = set(forgetting.over_cap(found, 1, 0.3))
    stays = [t.strength for t in found if t.id not in goes]
    assert all(t.strength <= min(stays, default=t.strength) for t in found if t.id in goes)


def test_what_was_learned_once_fades_in_a_week_as_the_curve_of_the_seed_has_it() -> None:
    assert forgetting.retention(0, 1) == 1
    assert forgetting.retention(7, 1) == pytest.approx(0.21)
    told = forgetting.forecast(Trace("a", 1, NOW.timestamp()), NOW)
    assert (told.fades, told.kept) == (NOW + 7 * DAY, "")
    assert forgetting.forecast(Trace("a", 16, NOW.timestamp()), NOW).fades == NOW + 112 * DAY


# ---- an owner's memory


LIMITS = ForgettingSettings(cap=5, share=0.4, every_days=3, inactive_days=90, minimum=2)


def fact(text: str, *sources: str, supersedes: tuple[str, ...] = (), by: str = "model", **more: object) -> Fact:
    return Fact(derived_id(text, sources), NOW, FactDraft(text, sources, **more), supersedes, by)  # type: ignore[arg-type]


def episode(text: str, source: str, by: str = "model") -> Episode:
    return Episode(derived_id(text, (source,)), NOW, Event(text, (source,)), "event", by)  # type: ignore[arg-type]


def filled(home: Home, store: FileStore, facts: int = 4, episodes: int = 2) -> dict[str, str]:
    """One exchange with so many facts and episodes. Returns text → id."""
    source = told(store, home.clock, "你好", settle=True)
    known = [fact(f"事实{i}", source) for i in range(facts)]
    happened = [episode(f"经历{i}", source) for i in range(episodes)]
    store.findings.put(known)
    store.findings.put(happened)
    return {one.text: one.id for one in known} | {one.event.text: one.id for one in happened}


def test_facts_and_episodes_are_cleaned_the_weakest_first_and_exchanges_are_not(home: Home, store: FileStore) -> None:
    ids = filled(home, store)
    with store.writing():
        store.state.touch([ids[text] for text in ("事实0", "事实2", "经历0", "经历1")], NOW)
    done = forgetting.clean(store, NOW, LIMITS)
    assert (done.why, done.count, set(done.goes)) == ("full", 6, {ids["事实1"], ids["事实3"]})
    assert store.state.archived == set(done.goes)
    assert [e.user for e in store.exchanges.of(list(store.tree.parents)).values()] == ["你好"]
    assert forgetting.restore(store, done.goes) == list(done.goes)
    assert store.state.archived == set()


def test_looking_at_what_would_go_changes_nothing(home: Home, store: FileStore) -> None:
    filled(home, store)
    before = {path: path.read_bytes() for path in home.folder.rglob("*.jsonl")}
    would = forgetting.cleaning(store, NOW, LIMITS)
    assert len(would.goes) == 2
    assert {path: path.read_bytes() for path in home.folder.rglob("*.jsonl")} == before
    assert forgetting.clean(store, NOW, LIMITS).goes == would.goes


def test_what_is_pinned_or_written_by_the_owner_stays(home: Home, store: FileStore) -> None:
    source = told(store, home.clock, "你好", settle=True)
    store.findings.put([fact("我写的", by="owner"), *(fact(f"事实{i}", source) for i in range(5))])
    pinned = derived_id("事实0", (source,))
    with store.writing():
        store.state.write([{"op": "pin", "ids": [pinned]}])
    limits = ForgettingSettings(cap=1, share=1.0)
    goes = forgetting.clean(store, NOW, limits).goes
    assert len(goes) == 4
    assert {derived_id("我写的", ()), pinned}.isdisjoint(goes)


def test_a_fact_that_goes_does_not_bring_back_the_one_that_it_replaced(home: Home, store: FileStore) -> None:
    source = told(store, home.clock, "你好", settle=True)
    old = fact("用户住在杭州", source)
    new = fact("用户住在苏州", source, supersedes=(old.id,))
    store.findings.put([old, new])
    assert set(forgetting.archive(store, [new.id])) == {old.id, new.id}
    assert visible(store.findings.facts(), store.hidden()) == []
    forgetting.restore(store, [new.id])
    assert visible(store.findings.facts(), store.hidden()) == [new]


def test_only_who_talked_today_is_cleaned_and_only_every_few_days(home: Home, store: FileStore) -> None:
    filled(home, store)
    assert forgetting.clean(store, NOW + DAY, LIMITS).why == "not_active"
    assert forgetting.clean(store, NOW + DAY, LIMITS, by_hand=True).why == "full"
    home.clock.advance(days=2)
    filled(home, store, facts=5)
    assert forgetting.clean(store, home.clock.now(), LIMITS).why == "recent"
    home.clock.advance(days=3)
    told(store, home.clock, "又见面了")
    assert forgetting.clean(store, home.clock.now(), LIMITS).why == "full"


def test_a_clock_that_was_put_back_does_not_stop_cleaning(home: Home, store: FileStore) -> None:
    filled(home, store)
    with store.writing():
        store.state.write([{"op": "cleaned", "at": (NOW + 400 * DAY).isoformat()}])
    assert forgetting.clean(store, NOW, LIMITS).why == "full"


def test_one_who_was_away_for_long_is_cut_to_the_minimum(home: Home, store: FileStore) -> None:
    ids = filled(home, store, facts=3, episodes=1)
    with store.writing():
        store.state.touch([ids["事实1"], ids["经历0"]], NOW)
    away = NOW + 91 * DAY
    assert forgetting.clean(store, NOW + 89 * DAY, LIMITS).why == "not_active"
    done = forgetting.clean(store, away, LIMITS)
    assert (done.why, set(done.goes)) == ("inactive", {ids["事实0"], ids["事实2"]})
    assert forgetting.clean(store, away + 4 * DAY, LIMITS).why == "room"


def test_an_empty_memory_has_nothing_to_clean(store: FileStore) -> None:
    assert forgetting.clean(store, NOW, LIMITS).goes == ()
    assert forgetting.clean(store, NOW, LIMITS, by_hand=True).why == "room"
