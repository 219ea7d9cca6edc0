"""What holds in every kind of store, and was once otherwise in one of them."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from moechat.clock import SetClock
from moechat.errors import NotFound
from moechat.model import Attachment, Event, Exchange, Understanding
from moechat.store import disk
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from moechat.store.kinds import Store
from tests.houses import ZONE, Home, moment, told

ONE = Attachment("image", "a.png", "h1", "一杯茶")


def folded(store: Store, home: Home) -> str:
    """An exchange whose words the log no longer has."""
    batch = store.imports.add([Exchange("", moment("2024-05-01T12:00:00"), "旧话", "旧答")], talk="旧", by="rules")
    (id_,) = store.tree.batches[batch].ids
    return id_


def test_words_of_every_script_are_found_whatever_their_case(home: Home, any_store: Store) -> None:
    id_ = told(any_store, home.clock, "Éclair и ЖУК", "TEA", settle=True)
    for word in ("éclair", "жук", "tea"):
        assert any_store.search.listed(["exchange"], [word]) == [id_]
        assert any_store.exchanges.time_said(word, 4e9, last=True) == (
            None if word == "tea" else pytest.approx(1747724400)
        )


@pytest.mark.parametrize("is_filed", [True, False])
def test_what_came_with_a_message_is_found_by_its_line_alone(home: Home, any_store: Store, is_filed: bool) -> None:
    id_ = any_store.log.begin("看", home.clock.now(), attachments=[ONE])
    any_store.log.finish(id_, "好", "done")
    if is_filed:
        any_store.log.settle()
    assert any_store.search.listed(["exchange"], ["一杯茶"]) == [id_]
    assert any_store.search.listed(["exchange"], ["kind"]) == []


def test_a_message_may_begin_a_talk_anew_and_hides_what_was_there(home: Home, any_store: Store) -> None:
    one, two = told(any_store, home.clock, "我去看戏"), told(any_store, home.clock, "好看")
    other = any_store.log.begin("我去看海", home.clock.now(), begins=True)
    any_store.log.finish(other, "好", "done")
    assert any_store.tree.hidden() == {one, two} and any_store.tree.context() == [other]
    any_store.log.select(two)
    assert any_store.tree.hidden() == {other}


def test_what_was_said_in_one_second_keeps_its_order_when_it_is_corrected(home: Home, any_store: Store) -> None:
    ids = [told(any_store, home.clock, f"第{n}句", settle=True, seconds=0) for n in range(11)]
    any_store.log.correct(ids[1], user="改了")
    assert [row.exchange.id for row in any_store.exchanges.before(4e9, 20)] == ids


def test_a_correction_keeps_who_spoke_and_what_came_with_the_words(home: Home, any_store: Store) -> None:
    id_ = any_store.log.begin("看", home.clock.now(), speaker="小红", attachments=[ONE])
    any_store.log.finish(id_, "好", "done")
    any_store.log.settle()
    any_store.mark_understood([id_], "model")
    assert any_store.rewrite_log(home.clock.now() + timedelta(days=1))
    any_store.log.correct(id_, user="看这里")
    one = any_store.exchanges.get(id_)
    assert (one.user, one.speaker, one.attachments) == ("看这里", "小红", (ONE,))


def test_another_reply_to_an_old_message_drops_what_the_first_one_gave(home: Home, any_store: Store) -> None:
    id_ = folded(any_store, home)
    understood = Understanding({id_: "说旧话"}, {}, (), (Event("说了旧话", (id_,)),))
    any_store.findings.merge([id_], understood, [], {})
    any_store.log.answer_again(id_)
    assert any_store.log.finish(id_, "", "failed").char == "旧答"
    assert any_store.findings.citing([id_])
    any_store.log.answer_again(id_)
    any_store.log.finish(id_, "新答", "done")
    assert (any_store.findings.citing([id_]), any_store.tree.pending()) == ([], [id_])
    assert any_store.exchanges.by_ids([id_])[id_].exchange.char == "新答"


def test_an_event_of_the_owners_is_not_replaced_by_one_of_the_same_words(home: Home, any_store: Store) -> None:
    id_ = told(any_store, home.clock, "去了杭州", settle=True)
    event = Event("用户去了杭州", (id_,))
    any_store.findings.merge([id_], Understanding({id_: "去杭州"}, {}, (), (event,)), [], {})
    (first_one,) = any_store.findings.citing([id_])
    any_store.findings.put([type(first_one)(first_one.id, first_one.at, event, by="owner")])
    any_store.log.correct(id_, user="真的去了杭州")  # the owner's event stays, without this source
    any_store.findings.merge([id_], Understanding({id_: "去杭州"}, {}, (), (event,)), [], {})
    assert any_store.findings.by_ids([derived_id(event.text, (id_,))])[first_one.id].by == "owner"


def test_a_message_that_a_hand_took_out_cannot_be_answered_and_stops_nothing(home: Home, store: FileStore) -> None:
    id_ = folded(store, home)
    store.log.answer_again(id_)
    (home.folder / store.exchanges.by_ids([id_])[id_].file).unlink()
    store.follow(all_files=True)
    with pytest.raises(NotFound):
        store.log.finish(id_, "新答", "done")
    with pytest.raises(NotFound):
        store.log.answer_again(id_)
    assert told(store, home.clock, "还能说话", settle=True) in store.exchanges.by_ids(list(store.tree.parents))


def test_what_a_hand_took_out_is_there_again_once_it_is_filed_again(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, text, settle=True) for text in ("第一句", "第二句")]
    name = store.exchanges.by_ids(ids)[ids[0]].file
    path = home.folder / name
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(ids[1].encode())])
    store.follow(all_files=True)
    assert ids[1] in store.hidden()
    store.log.correct(ids[1], user="又说一遍")
    assert ids[1] not in store.hidden()
    assert store.exchanges.by_ids(ids)[ids[1]].exchange.user == "又说一遍"


def test_a_reply_that_a_fresh_index_finds_in_its_part_file_is_stored_once(home: Home, store: FileStore) -> None:
    first = told(store, home.clock, "第一句", settle=True)
    store.log.answer_again(first)
    store.log.rest(first, [])
    store.replies.write(first, "另一个回答")
    store.close()
    shutil.rmtree(home.folder / disk.INDEX)
    reopened = FileStore(home.folder, clock=SetClock(home.clock.now()), zone=ZONE)
    reopened.resume()
    reopened.log.settle()
    assert [row.exchange.char for row in reopened.exchanges.filed()] == ["另一个回答"]
    assert (home.folder / reopened.exchanges.by_ids([first])[first].file).read_text(encoding="utf-8").count(first) == 1
    assert reopened.verify() == (1, [])
    reopened.close()
