"""What is left of earlier findings when their exchanges are understood anew, by the rules or by a model; and imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from moechat.errors import MoeChatError
from moechat.model import Event, Exchange, Fact, FactDraft, RefusedItem, Understanding
from moechat.store import formats
from moechat.store.kinds import Store
from tests.houses import Home, moment, told


@pytest.fixture
def a(home: Home, any_store: Store) -> str:
    return told(any_store, home.clock, "我住在杭州，昨天放了风筝", settle=True)


def understood(
    store: Store, *ids: str, facts: Mapping[str, tuple[str, ...]] | None = None, events: Any = None, by: str = "model",
    restated: Any = None, waits: bool = False, **more: Any,
) -> None:  # fmt: skip
    """``facts`` and ``events`` by their text, with what they rest on."""
    drafts = [FactDraft(text, sources) for text, sources in (facts or {}).items()]
    new = [Fact(formats.derived_id(d.text, d.sources), store.clock.now(), d, (), by) for d in drafts]  # type: ignore[arg-type]
    happened = tuple(Event(text, sources) for text, sources in (events or {}).items())
    understanding = Understanding(dict.fromkeys(ids, "说了话"), {}, tuple(drafts), happened, by=by, **more)  # type: ignore[arg-type]
    store.findings.merge(ids, understanding, new, restated or {}, understood=not waits)


def facts(store: Store) -> dict[str, bool | None]:
    return {fact.text: fact.confirmed for fact in store.findings.facts()}


def events(store: Store, *ids: str) -> dict[str, bool | None]:
    return {episode.event.text: episode.confirmed for episode in store.findings.citing(ids)}


def fact_id(store: Store, text: str) -> str:
    return next(fact.id for fact in store.findings.facts() if fact.text == text)


def event_id(store: Store, text: str, *ids: str) -> str:
    return next(episode.id for episode in store.findings.citing(ids) if episode.event.text == text)


def test_what_the_rules_read_gives_way_to_what_they_read_now(any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, events={"放风筝": (a,)}, by="rules")
    understood(any_store, a, facts={"住杭州": (a,)}, events={"放了风筝": (a,)}, by="rules")
    assert (facts(any_store), events(any_store, a)) == ({"住杭州": None}, {"放了风筝": None})


def test_the_rules_do_not_undo_what_a_model_found(any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, events={"放风筝": (a,)})
    understood(any_store, a, facts={"住杭州": (a,)}, events={"放了风筝": (a,)}, by="rules")
    assert facts(any_store).keys() == {"住在杭州", "住杭州"}
    assert events(any_store, a).keys() == {"放风筝", "放了风筝"}


@pytest.mark.parametrize("by", ["rules", "model"])
def test_what_a_model_keeps_is_confirmed(any_store: Store, a: str, by: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, events={"放风筝": (a,)}, by=by)
    understood(any_store, a, kept=frozenset([fact_id(any_store, "住在杭州"), event_id(any_store, "放风筝", a)]))
    assert (facts(any_store), events(any_store, a)) == ({"住在杭州": True}, {"放风筝": True})


def test_what_a_trusted_model_passes_over_is_in_doubt_and_what_another_does_is_not(any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, events={"放风筝": (a,)}, by="rules")
    understood(any_store, a)
    assert (facts(any_store), events(any_store, a)) == ({"住在杭州": None}, {"放风筝": None})
    understood(any_store, a, trusted=True)
    assert (facts(any_store), events(any_store, a)) == ({"住在杭州": False}, {"放风筝": False})


def test_a_model_passes_over_what_another_model_found_without_harm(any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, events={"放风筝": (a,)})
    understood(any_store, a)
    assert (facts(any_store), events(any_store, a)) == ({"住在杭州": None}, {"放风筝": None})


def test_the_same_words_again_confirm_an_event_under_its_id_with_all_its_sources(
    home: Home, any_store: Store, a: str
) -> None:
    b = told(any_store, home.clock, "风筝断线了", settle=True)
    understood(any_store, a, b, events={"放风筝": (a,)}, by="rules")
    before = event_id(any_store, "放风筝", a)
    understood(any_store, a, b, events={"放风筝": (a, b)})
    [episode] = any_store.findings.citing([a, b])
    assert (episode.id, episode.event.sources, episode.by, episode.confirmed) == (before, (a, b), "model", True)


def test_an_event_that_says_it_better_takes_the_place_the_strength_and_the_pin_of_the_earlier_one(
    home: Home, any_store: Store, a: str
) -> None:
    understood(any_store, a, events={"放风筝": (a,)}, by="rules")
    old = event_id(any_store, "放风筝", a)
    any_store.state.touch([old], home.clock.now())
    any_store.state.write([{"op": "pin", "ids": [old]}])
    better = Event("用户昨天放了风筝", (a,))
    any_store.findings.merge([a], Understanding({a: ""}, {}, (), (better,), replaces={better: (old,)}), [], {})
    new = event_id(any_store, better.text, a)
    assert any_store.findings.links()[new] == (old,)
    assert (any_store.state.strength(new), any_store.state.strength(old)) == (16, 1)
    assert any_store.state.pinned == {new}
    assert events(any_store, a) == {"放风筝": None, better.text: None}, "what was refined is not called unconfirmed"


def test_a_fact_of_the_same_words_keeps_its_strength_under_another_id(home: Home, any_store: Store, a: str) -> None:
    b = told(any_store, home.clock, "我住在杭州", settle=True)
    understood(any_store, a, facts={"住在杭州": (a,)}, by="rules")
    old = fact_id(any_store, "住在杭州")
    any_store.state.touch([old], home.clock.now())
    understood(any_store, b, a, facts={"住在杭州": (b, a)}, by="rules")
    new = fact_id(any_store, "住在杭州")
    assert new != old and (any_store.state.strength(new), any_store.state.strength(old)) == (16, 1)


def test_a_fact_that_is_told_again_gains_a_source_and_strength(home: Home, any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)})
    id_ = fact_id(any_store, "住在杭州")
    home.clock.advance(days=10)
    b = told(any_store, home.clock, "我还住在杭州", settle=True)
    understood(any_store, b, restated={id_: [b, a]})
    [fact] = any_store.findings.facts()
    assert fact.draft.sources == (a, b)
    assert any_store.state.strength(id_) == 31, "thirty for a telling within a month"
    understood(any_store, b, restated={id_: [b]})
    assert any_store.state.strength(id_) == 31, "the same telling counts once"


def test_an_event_of_which_nobody_filed_what_it_rests_on_is_none(any_store: Store, a: str) -> None:
    understood(any_store, a, events={"放风筝": ("nobody",), "放花灯": ("nobody", a)})
    assert events(any_store, a).keys() == {"放花灯"}


def test_what_a_model_still_has_to_read_stays_queued(any_store: Store, a: str) -> None:
    understood(any_store, a, facts={"住在杭州": (a,)}, by="rules", waits=True)
    assert any_store.tree.pending() == [a]
    understood(any_store, a)
    assert any_store.tree.pending() == []


def test_what_is_refused_is_kept_with_the_understanding(any_store: Store, a: str) -> None:
    item = RefusedItem("fact", "用户恨茶", "evidence", (a,))
    understood(any_store, a, refused=(item,))
    [kept] = any_store.findings.refused()
    assert (kept.text, kept.at) == ("用户恨茶", any_store.clock.now())
    any_store.log.correct(a, user="我住在苏州")
    assert any_store.findings.refused() == []


# ---- imports


def spoken(*texts: str, id_: str = "", start: str = "2024-05-01T12:00:00") -> list[Exchange]:
    return [Exchange(id_, moment(start) + timedelta(days=n), text, "答") for n, text in enumerate(texts)]


def test_an_import_is_a_talk_in_order_of_time_with_ids_of_its_own(any_store: Store) -> None:
    rows = spoken("一", "二", "三")
    batch = any_store.imports.add(reversed(rows), talk="从前")
    ids = any_store.tree.batches[batch].ids
    assert ids == [f"202405{day:02}-120000-{batch}" for day in (1, 2, 3)]
    filed = any_store.exchanges.of(ids)
    assert [(filed[id_].user, filed[id_].talk) for id_ in ids] == [("一", "从前"), ("二", "从前"), ("三", "从前")]
    assert (any_store.tree.unread(), any_store.tree.pending(), any_store.tree.batches[batch].done) == (ids, [], True)
    assert any_store.tree.hidden() == set()


def test_what_was_said_in_one_second_is_numbered_and_a_given_id_stays(any_store: Store) -> None:
    at = moment("2024-05-01T12:00:00")
    rows = [
        Exchange("", at, "一", ""),
        Exchange("", at, "二", ""),
        Exchange("mine", at, "三", ""),
        Exchange("", at, "四", ""),
    ]
    batch = any_store.imports.add(rows, talk="从前")
    base = f"20240501-120000-{batch}"
    assert any_store.tree.batches[batch].ids == [base, f"{base}-2", "mine", f"{base}-4"]


def test_what_somebody_has_understood_is_not_read_again(any_store: Store) -> None:
    any_store.imports.add(spoken("一"), talk="从前", by="author")
    assert (any_store.tree.unread(), any_store.tree.pending()) == ([], [])


def test_the_same_is_imported_once_and_nothing_is_none(any_store: Store) -> None:
    batch = any_store.imports.add(spoken("一", "二"), talk="从前")
    with pytest.raises(MoeChatError, match=f"imported already, as {batch}; take that back first"):
        any_store.imports.add(spoken("一", "二"), talk="另一个")
    with pytest.raises(MoeChatError, match="nothing to import"):
        any_store.imports.add([], talk="从前")
    other = any_store.imports.add(spoken("一", "二", start="2024-06-01T12:00:00"), talk="从前")
    assert other != batch and len(any_store.exchanges.times()) == 4


def test_an_import_with_an_id_that_is_there_leaves_nothing_behind(any_store: Store) -> None:
    any_store.imports.add(spoken("一", id_="mine"), talk="从前")
    with pytest.raises(MoeChatError, match="some of this is there already"):
        any_store.imports.add(spoken("二", id_="mine"), talk="从前")
    assert [row.exchange.user for row in any_store.exchanges.before(4e9, 9)] == ["一"]
    assert len(any_store.tree.batches) == 1
    any_store.imports.finish()
    assert len(any_store.exchanges.times()) == 1


def test_two_imports_that_were_cut_short_go_on_and_one_that_was_taken_back_does_not(home: Home) -> None:
    store = home.store()
    for name, id_ in (("b1", "x"), ("b2", "y"), ("b3", "z")):
        rows = [Exchange(id_, moment("2024-05-01T12:00:00"), f"话{id_}", "答", talk="从前")]
        store.stage(name, rows)
        with store.writing():
            store.record([{
                "op": "import", "batch": name, "talk": "从前", "at": "2024-05-01T12:00:00+08:00", "by": "",
                "rows": [[row.id, formats.text_hash(row)] for row in rows],
            }])  # fmt: skip
    with store.writing():
        store.record([{"op": "forget", "n": 1, "batch": "b1", "ids": []}])
    store.imports.finish()
    assert [name for name, batch in store.tree.batches.items() if batch.done] == ["b2", "b3"]
    assert {row.exchange.user for row in store.exchanges.before(4e9, 9)} == {"话y", "话z"}


def test_whole_talks_are_imported_with_their_branches_and_no_context(any_store: Store) -> None:
    rows = [replace(one, talk=name) for name, words in (("甲", "一二三四"), ("乙", "五")) for one in spoken(*words)]
    batch = any_store.imports.add_talks(rows, [None, 0, 0, 2, None])
    one, two, three, four, five = any_store.tree.batches[batch].ids
    for _ in ("as it was", "from a shortened log"):
        tree = any_store.tree
        assert list(tree.path("甲")) == [four, three, one] and list(tree.path("乙")) == [five]
        assert (tree.off_path(), tree.context("甲"), tree.batches[batch].done) == ({two}, [], True)
        assert set(tree.unread()) == {one, two, three, four, five}
        any_store.rewrite_log(moment("2026-01-01T00:00:00"))
        any_store.follow()
    later = any_store.imports.add_talks([replace(spoken("六", start="2024-07-01T12:00:00")[0], talk="甲")], [None])
    assert any_store.tree.parents[any_store.tree.batches[later].ids[0]] == four, "what comes later follows the newest"
