"""What may happen to an exchange, and what a forgetting takes along: the same in files and in memory."""

from __future__ import annotations

import pytest

from moechat.errors import MoeChatError, NotFound
from moechat.model import Episode, Event, Exchange, Fact, FactDraft
from moechat.store import erasure
from moechat.store.formats import derived_id
from moechat.store.kinds import Store
from tests.houses import Home, moment, told


def event(text: str, *sources: str, by: str = "model", kind: str = "event", evidence: tuple[str, ...] = ()) -> Episode:
    id_ = derived_id(text, sources)
    return Episode(id_, moment("2025-05-20T15:00:00"), Event(text, sources), kind, by, evidence)  # type: ignore[arg-type]


def fact(text: str, *sources: str, by: str = "model", supersedes: tuple[str, ...] = (), is_sum: bool = False) -> Fact:
    draft = FactDraft(text, sources)
    return Fact(derived_id(text, sources), moment("2025-05-20T15:00:00"), draft, supersedes, by, is_sum)  # type: ignore[arg-type]


# ---- replies


def test_a_message_is_there_before_its_reply_and_settles_what_came_before_in_its_talk_alone(
    home: Home, any_store: Store
) -> None:
    first = told(any_store, home.clock, "一")
    other = any_store.log.begin("二", home.clock.now(), talk="旅行")
    assert [node.id for node in any_store.tree.open()] == [first, other]
    any_store.log.finish(other, "好", "done")
    home.clock.advance(minutes=1)
    third = any_store.log.begin("三", home.clock.now())
    assert [node.id for node in any_store.tree.open()] == [other, third]
    assert any_store.exchanges.get(third).status == "streaming"
    assert any_store.replies.is_alive(third) and not any_store.replies.is_alive(other)
    assert any_store.tree.parents == {first: None, other: None, third: first}


def test_a_reply_is_given_back_with_all_that_was_told_of_it(home: Home, any_store: Store) -> None:
    id_ = any_store.log.begin("一", home.clock.now())
    hits = [{"id": "m", "layer": "diary"}]
    exchange = any_store.log.finish(
        id_, "半句", "failed", error="断了", hits=hits, spans=[["昨天", "x", "y"]], notice="慢"
    )
    assert (exchange.id, exchange.user, exchange.char, exchange.status) == (id_, "一", "半句", "failed")
    variant = any_store.tree.nodes[id_].variant
    assert variant is not None
    assert (variant.error, variant.notice, [list(span) for span in variant.spans]) == (
        "断了",
        "慢",
        [["昨天", "x", "y"]],
    )
    assert list(variant.hits) == hits


def test_settling_names_what_settled_and_a_reply_that_never_came_has_failed(home: Home, any_store: Store) -> None:
    first = told(any_store, home.clock, "一")
    assert any_store.log.settle("旅行") == []
    assert any_store.log.settle() == [first]
    assert any_store.log.settle() == []
    lost = any_store.log.begin("二", home.clock.now())
    any_store.replies.release(lost, keep=False)  # type: ignore[attr-defined] - its process died
    assert any_store.log.settle("") == [lost]
    node = any_store.tree.nodes[lost]
    assert (node.status, node.variant.error if node.variant else "") == (
        "failed", "broken off: the program ended before the reply did",
    )  # fmt: skip


def test_only_what_entered_the_prompt_of_a_reply_that_stands_counts_as_used_with_its_events(
    home: Home, any_store: Store
) -> None:
    known = told(any_store, home.clock, "昨天放了风筝", settle=True)
    kite, thought = event("放了风筝", known), event("爱户外", known, kind="reflection", evidence=("x",))
    any_store.findings.put([kite, thought])
    id_ = any_store.log.begin("还记得吗", home.clock.now())
    nameless = {"layer": "diary"}  # A line that was damaged, or written by another hand.
    hits = [{"id": known}, {"id": known}, {"id": "lore"}, {"id": "out", "dropped": "budget"}, nameless]
    any_store.log.finish(id_, "记得", "done", hits=hits)
    assert any_store.state.recalls(known) == 0
    any_store.log.settle()
    counts = {one: any_store.state.recalls(one) for one in (known, "lore", "out", kite.id, thought.id)}
    assert counts == {known: 1, "lore": 1, "out": 0, kite.id: 1, thought.id: 0}
    assert any_store.state.recalled(known) == home.clock.now()


def test_another_reply_can_be_chosen_and_one_that_is_not_there_is_named(home: Home, any_store: Store) -> None:
    id_ = told(any_store, home.clock, "一", "答一")
    any_store.log.answer_again(id_)
    any_store.log.finish(id_, "答二", "done")
    any_store.log.select(id_, 0)
    assert any_store.exchanges.get(id_).char == "答一"
    any_store.log.settle()
    any_store.findings.put([fact("住在杭州", id_)])
    any_store.log.select(id_, 0)
    assert len(any_store.findings.facts()) == 1, "it is chosen already"
    any_store.log.select(id_, 1)
    assert (any_store.exchanges.get(id_).char, any_store.findings.facts()) == ("答二", [])
    for number in (-1, 2):
        with pytest.raises(NotFound, match=f"exchange {id_} has 2 replies; variant {number} is not there"):
            any_store.log.select(id_, number)


def test_what_is_not_in_the_log_is_named_with_what_to_do(home: Home, any_store: Store) -> None:
    any_store.days.add([Exchange("by-hand", moment("2025-05-01T12:00:00"), "早", "早")])  # type: ignore[attr-defined]
    for act in (any_store.log.select, any_store.log.retract, any_store.log.restore, any_store.log.answer_again):
        with pytest.raises(NotFound, match=r"there is no exchange 'nobody'; `moechat log list` shows them"):
            act("nobody")
        with pytest.raises(NotFound, match="stands in a day file without a log entry; edit the day file instead"):
            act("by-hand")
    any_store.log.correct("by-hand", user="晚")
    assert any_store.exchanges.get("by-hand").user == "晚"


def test_a_correction_changes_one_side_and_drops_what_rested_on_the_words(home: Home, any_store: Store) -> None:
    id_ = told(any_store, home.clock, "我住在杭州", "好", settle=True)
    any_store.findings.put([fact("住在杭州", id_), fact("住在西湖边", id_, by="owner")])
    any_store.log.correct(id_, char="真好")
    exchange = any_store.exchanges.get(id_)
    assert (exchange.user, exchange.char, exchange.status) == ("我住在杭州", "真好", "done")
    assert [(one.text, one.draft.sources) for one in any_store.findings.facts()] == [("住在西湖边", ())]
    any_store.log.correct(id_, user="我住在苏州")
    assert (any_store.exchanges.get(id_).user, any_store.tree.pending()) == ("我住在苏州", [id_])


def test_a_cut_is_made_once_and_only_after_what_is_there(home: Home, any_store: Store) -> None:
    first, second = told(any_store, home.clock, "一"), told(any_store, home.clock, "二")
    any_store.log.cut("nobody")
    assert any_store.tree.context() == [first, second]
    any_store.log.cut(first)
    before = any_store.moment
    any_store.log.cut(first)
    assert (any_store.tree.context(), any_store.moment) == ([second], before)


# ---- what goes with a forgetting


def gone(store: Store, *ids: str, episodes: tuple[str, ...] = (), facts: tuple[str, ...] = ()) -> erasure.Gone:
    return erasure.gone(store, exchanges=ids, episodes=episodes, facts=facts)  # type: ignore[arg-type]


def test_all_that_was_made_from_an_exchange_goes_and_what_the_owner_wrote_stays(home: Home, any_store: Store) -> None:
    a, b = (told(any_store, home.clock, text, settle=True) for text in ("一", "二"))
    kite, mine = event("放了风筝", a, b), event("亲手写的", a, by="owner")
    thought = event("爱户外", a, b, kind="reflection", evidence=(kite.id,))
    deeper = event("爱自由", a, b, kind="reflection", evidence=(thought.id,))
    other = event("搬了家", b)
    told_once, own = fact("住在杭州", a), fact("住在西湖边", a, by="owner")
    whole = fact("住在江南", b, supersedes=(told_once.id,), is_sum=True)
    newer = fact("住在苏州", b, supersedes=(told_once.id,))
    any_store.findings.put([kite, mine, thought, deeper, other])
    any_store.findings.put([told_once, own, whole, newer])
    lost = gone(any_store, a, a)
    assert lost.exchanges == [a]
    assert {one.id for one in lost.episodes} == {kite.id, thought.id, deeper.id}
    assert {one.id for one in lost.facts} == {told_once.id, whole.id}
    assert sorted(lost.kept) == sorted([own.id, mine.id])
    assert set(lost.ids) == {a, kite.id, thought.id, deeper.id, told_once.id, whole.id}
    assert set(erasure.could_come_back(lost)) == {kite.id, thought.id, deeper.id, whole.id}
    named = gone(any_store, a, episodes=(mine.id,), facts=(own.id,))
    assert {mine.id, own.id} <= set(named.ids) and named.kept == []


def test_what_is_forgotten_is_out_of_sight_at_once_and_gone_when_it_is_worked_off(home: Home, any_store: Store) -> None:
    a, b = (told(any_store, home.clock, text, settle=True) for text in ("秘密", "别的"))
    kite, known, old = event("秘密的事", a, b), fact("有秘密", a), fact("从前", b)
    newer = fact("现在", b, supersedes=(known.id, old.id))
    any_store.findings.put([kite])
    any_store.findings.put([known, old, newer])
    any_store.state.touch([a, b], home.clock.now())
    erasure.forget(any_store, gone(any_store, a))
    assert {a, kite.id, known.id} <= any_store.hidden()
    assert any_store.exchanges.get(a).user == "秘密"
    swept: list[str] = []
    assert erasure.erase(any_store, lambda: swept.append("x"))
    assert swept == ["x"] and not erasure.erase(any_store, lambda: swept.append("y")) and swept == ["x"]
    assert (any_store.exchanges.of([a]), list(any_store.tree.parents), any_store.tree.forgets) == ({}, [b], {})
    assert any_store.findings.citing([a, b]) == []
    assert {one.text: one.supersedes for one in any_store.findings.facts()} == {"从前": (), "现在": (old.id,)}
    assert (any_store.state.recalls(a), any_store.state.recalls(b)) == (0, 1)
    assert any_store.tree.pending() == [b], "what else it rested on is understood anew"
    assert kite.id in any_store.state.forgotten and known.id not in any_store.state.forgotten


def test_more_than_a_slice_is_forgotten_as_a_whole(home: Home, any_store: Store) -> None:
    ids = [told(any_store, home.clock, f"第{n}句", settle=True) for n in range(erasure.RECORDS_AT_ONCE + 3)]
    stays = told(any_store, home.clock, "别的", settle=True)
    any_store.findings.put([fact(f"事实{n}", ids[0]) for n in range(erasure.RECORDS_AT_ONCE + 1)])
    erasure.forget(any_store, gone(any_store, *ids))
    erasure.erase(any_store, lambda: None)
    assert [row.exchange.id for row in any_store.exchanges.before(4e9, 100)] == [stays]
    assert any_store.findings.facts() == [] and any_store.tree.parents == {stays: None}


def test_what_is_being_answered_is_not_forgotten(home: Home, any_store: Store) -> None:
    id_ = any_store.log.begin("一", home.clock.now())
    with pytest.raises(MoeChatError, match=f"exchange {id_} is being answered right now; wait for its end"):
        erasure.forget(any_store, gone(any_store, id_))
    assert any_store.tree.forgets == {}


def test_an_import_is_taken_back_once(home: Home, any_store: Store) -> None:
    rows = [Exchange("", moment(f"2024-05-0{day}T12:00:00"), f"话{day}", "答") for day in (1, 2)]
    batch = any_store.imports.add(rows, talk="从前")
    ids = any_store.tree.batches[batch].ids
    any_store.findings.put([fact("从前的事", ids[0])])
    assert erasure.imported(any_store, batch).exchanges == ids
    lost = erasure.take_back(any_store, batch)
    assert (lost.exchanges, [one.text for one in lost.facts]) == (ids, ["从前的事"])
    assert set(ids) <= any_store.hidden()
    for unknown in (batch, "nothing"):
        with pytest.raises(NotFound, match=f"nothing was imported as '{unknown}'; `moechat talks list`"):
            erasure.imported(any_store, unknown)
    erasure.erase(any_store, lambda: None)
    assert (any_store.exchanges.times(), any_store.findings.facts(), any_store.tree.batches) == ([], [], {})


def test_a_reply_that_goes_on_takes_its_own_place_and_rests_on_what_both_rest_on(home: Home, any_store: Store) -> None:
    id_ = any_store.log.begin("讲个故事", home.clock.now())
    any_store.log.finish(id_, "从前", "stopped", hits=[{"id": "a"}])
    any_store.log.answer_again(id_)
    any_store.log.finish(id_, "别的", "done")
    any_store.log.select(id_, 0)
    for hits, text, status in (([{"id": "a"}, {"id": "b"}], "从前有座山", "stopped"), ([], "从前有座山，完了", "done")):
        any_store.log.answer_again(id_, goes_on=True)
        any_store.log.rest(id_, ["b"])
        any_store.replies.write(id_, text)
        any_store.log.finish(id_, text, status, hits=hits)  # type: ignore[arg-type]
    node = any_store.tree.nodes[id_]
    assert [(one.char, one.status) for one in node.variants] == [("从前有座山，完了", "done"), ("别的", "done")]
    assert node.variant and [hit["id"] for hit in node.variant.hits] == ["a", "b"]
    any_store.log.settle()
    any_store.log.answer_again(id_, goes_on=True)
    assert any_store.log.finish(id_, "", "failed").char == "从前有座山，完了"
    assert not any_store.replies.is_alive(id_) and any_store.exchanges.get(id_).char == "从前有座山，完了"
