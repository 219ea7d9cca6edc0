"""The talks of a memory, as faces list them."""

from __future__ import annotations

from moechat.curation.talks import talk_as_json, talks
from moechat.store.files import FileStore
from tests.houses import Home, moment


def spoken(home: Home, store: FileStore, text: str, talk: str = "") -> str:
    """One settled exchange of a talk; an hour passes."""
    id_ = store.log.begin(text, home.clock.now(), talk=talk)
    store.log.finish(id_, "嗯", "done")
    home.clock.advance(hours=1)
    store.log.settle(talk)
    return id_


def test_a_memory_in_which_nothing_was_said_has_its_first_talk(store: FileStore) -> None:
    [first] = talks(store)
    assert talk_as_json(first) == {
        "name": "", "title": "", "pinned": False, "first": "", "exchanges": 0, "last": None, "imports": [],
    }  # fmt: skip


def test_talks_stand_by_the_time_of_their_last_exchange_with_their_first_line(home: Home, store: FileStore) -> None:
    for text in ("\n 早上好 \n今天去海边", "带伞了吗", "带了"):
        spoken(home, store, text)
    spoken(home, store, "去哪里好", "旅行")
    rows = [talk_as_json(one) for one in talks(store)]
    assert [(row["name"], row["first"], row["exchanges"]) for row in rows] == [
        ("", "早上好", 3),
        ("旅行", "去哪里好", 1),
    ]
    assert [row["last"] for row in rows] == [moment(f"2025-05-20T{hour}:00:00").isoformat() for hour in (17, 18)]
    spoken(home, store, "回来了")
    assert [one.name for one in talks(store)] == ["旅行", ""]


def test_a_talk_of_which_all_was_taken_back_is_not_listed_and_the_first_always_is(home: Home, store: FileStore) -> None:
    ids = [spoken(home, store, text) for text in ("早上好", "带伞了吗")]
    store.log.retract(spoken(home, store, "去哪里好", "旅行"))
    store.log.retract(ids[0])
    [first] = talks(store)
    assert (first.name, first.first, first.exchanges) == ("", "带伞了吗", 1)
    store.log.retract(ids[1])
    [first] = talks(store)
    assert (first.name, first.exchanges, first.last) == ("", 0, None)


def test_a_greeting_that_nobody_asked_for_is_the_first_line(home: Home, store: FileStore) -> None:
    spoken(home, store, "")
    assert talks(store)[0].first == "嗯"
