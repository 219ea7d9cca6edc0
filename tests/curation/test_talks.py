"""The talks of a memory, as faces list them."""

from __future__ import annotations

from moechat.curation.talks import found, own_title, talk_as_json, talks
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


def test_a_talk_is_called_by_its_first_question_or_by_its_most_telling_words() -> None:
    cases = {
        ("下个月想去青岛看海，坐高铁去，住三天再回来，你说好不好",): "下个月想去青岛看海",
        ("你好", "在吗", "我今天面试没过，有点难过"): "我今天面试没过",
        ("What should I cook tonight? I have eggs and rice.",): "What should I cook tonight?",
        ("我室友昨天晚上两点还在打游戏，吵得我睡不着，该怎么跟他说？",): "我室友昨天晚上两点还在打游戏",
        ("Do you remember? We talked about the lighthouse in Brittany last year.",): "We talked about the lighthouse…",
        ("hello",): "hello",
        (): "",
        ("   ",): "",
    }
    assert {said: own_title(said) for said in cases} == cases
    assert len(own_title(("长" * 10_000,))) < 20 and len(own_title(("a" * 10_000,))) < 40


def test_what_was_said_is_found_in_every_talk_and_on_every_branch(home: Home, store: FileStore) -> None:
    first = spoken(home, store, "西湖边有只猫")
    trip = spoken(home, store, "去西湖划船", "旅行")
    store.log.select(first)
    other = spoken(home, store, "西湖的桥")  # it follows the first
    store.log.select(first)
    newest = spoken(home, store, "别的桥")
    spoken(home, store, "西湖的秘密", "秘密")
    store.log.tell_talk("秘密", away=True)
    store.log.retract(spoken(home, store, "西湖没有了"))
    assert [(one.id, one.talk, one.on_path) for one in found(store, "西湖", 0).places] == [
        (other, "", False), (trip, "旅行", True), (first, "", True),
    ]  # fmt: skip
    assert [one.id for one in found(store, "桥", 0).places] == [newest, other]
    assert [one.text for one in found(store, "西湖 猫", 0).places] == ["西湖边有只猫"]
    assert [(one.side, one.text) for one in found(store, "嗯", 1).places] == [("char", "嗯")]
    assert (found(store, "西湖", 1).total, len(found(store, "西湖", 1).places)) == (3, 1)
    assert found(store, "  ", 0).total == found(store, "火星", 0).total == 0
