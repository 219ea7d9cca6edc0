"""Associations out of the owner's own memory: what was told of together, how strongly, and following the memory."""

from __future__ import annotations

import random
import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.clock import SetClock
from moechat.index.dense import Dense
from moechat.language.association import LEVELS, expand, shipped
from moechat.memory.cooccurrence import Cooccurrence, follow
from moechat.memory.episodes import Episodes
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.store.files import FileStore
from tests.houses import Home, say

TOLD = {
    "e1": ("室友", "失恋", "火锅"), "e2": ("闺蜜", "失恋", "火锅"), "e3": ("项目", "加班"),
    "e4": ("项目", "加班", "火锅"), "e5": ("项目", "周报"), "e6": ("爬山", "日出"),
}  # fmt: skip


def memory(told: dict[str, tuple[str, ...]] = TOLD, **more: int) -> Cooccurrence:
    source = Cooccurrence(names=["朵朵", "沈砚"], **more)
    take(source, None, told)
    return source


def take(source: Cooccurrence, state: object, told: Mapping[Any, Sequence[str]]) -> None:
    source.follow(state, lambda: told, lambda new: [told[key] for key in new])


def test_what_this_user_told_of_together_is_associated() -> None:
    found = memory().associations("失恋")
    assert found[0][0] == "火锅"
    assert {word for word, _ in found} == {"火锅", "室友", "闺蜜"}
    assert memory().associations("没有的词") == []


def test_words_that_never_come_apart_stand_nearer_than_words_that_meet_by_chance() -> None:
    levels = dict(memory({**TOLD, "e7": ("爬山", "日出"), "e8": ("爬山", "日出")}).associations("日出"))
    assert levels["爬山"] > dict(memory().associations("加班")).get("火锅", 0)


def test_what_was_told_often_stands_nearer_than_what_was_told_once() -> None:
    often = {**TOLD, **{f"o{i}": ("失恋", "火锅") for i in range(5)}}
    assert dict(memory(often).associations("失恋"))["火锅"] > dict(memory().associations("失恋"))["火锅"]


def test_a_word_that_goes_with_everything_is_no_association() -> None:
    told = {f"e{i}": ("今天", f"事{i}") for i in range(50)} | {
        "x": ("今天", "失恋"),
        "y": ("失恋", "火锅"),
        "z": ("散步",),
    }
    levels = dict(memory(told).associations("失恋"))
    assert "今天" not in levels and levels["火锅"] >= 5


def test_single_characters_are_left_out() -> None:
    assert dict(memory({"e": ("莫干山", "住", "周末")}).associations("周末")).keys() == {"莫干山"}


def test_names_of_user_and_character_are_left_out() -> None:
    assert memory({"e": ("朵朵", "沈砚", "用户", "海边", "贝壳")}).associations("海边") == memory(
        {"e": ("海边", "贝壳")}
    ).associations("海边")


def test_what_was_taken_back_is_no_longer_associated() -> None:
    source = memory()
    take(source, "after", {id_: told for id_, told in TOLD.items() if id_ not in ("e1", "e2")})
    assert source.associations("失恋") == []


def test_a_record_told_anew_counts_once() -> None:
    source = memory()
    anew = {("e1", "edited"): ("室友", "失恋", "啤酒"), **{id_: told for id_, told in TOLD.items() if id_ != "e1"}}
    take(source, "after", anew)
    assert "啤酒" in dict(source.associations("失恋"))
    assert "火锅" not in dict(source.associations("室友"))


def test_the_same_state_is_not_read_again() -> None:
    source = Cooccurrence()
    take(source, 7, TOLD)
    take(source, 7, {})
    assert len(source) == len(TOLD)
    take(source, 8, {})
    assert len(source) == 0


def test_beyond_the_bound_the_oldest_records_go() -> None:
    source = memory(records=4)
    assert len(source) == 4
    assert source.associations("室友") == []
    assert source.associations("日出")


WORDS = ["甲甲", "乙乙", "丙丙", "丁丁", "戊戊"]
_RECORDS = st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(st.sampled_from(WORDS), max_size=4)), max_size=20)


@given(_RECORDS, st.sets(st.sampled_from("abcdef")))
def test_following_step_by_step_is_the_same_as_reading_anew(steps: list[tuple[str, list[str]]], gone: set[str]) -> None:
    source = Cooccurrence()
    kept: dict[str, list[str]] = {}
    versions: dict[str, int] = {}
    for step, (id_, told) in enumerate(steps):
        kept[id_] = told
        versions[id_] = step
        take(source, step, {(id_, versions[id_]): told for id_, told in kept.items()})
    take(source, "gone", {(id_, versions[id_]): told for id_, told in kept.items() if id_ not in gone})
    anew = Cooccurrence()
    take(anew, None, {id_: told for id_, told in kept.items() if id_ not in gone})
    for word in WORDS:
        assert source.associations(word) == anew.associations(word)
        assert all(1 <= level <= LEVELS for _, level in source.associations(word))


@given(_RECORDS)
def test_nothing_is_associated_with_itself(steps: list[tuple[str, list[str]]]) -> None:
    source = Cooccurrence()
    take(source, None, dict(steps))
    assert all(word not in dict(source.associations(word)) for word in WORDS)


def test_a_common_word_is_answered_from_its_newest_records() -> None:
    rng = random.Random(5)
    told = {f"e{i}": ("日常", f"旧{rng.randrange(2000)}") for i in range(3000)}
    told |= {f"n{i}": ("日常", "新事") for i in range(20)} | {f"s{i}": (f"别{i}",) for i in range(3000)}
    assert memory(told).associations("日常")[0][0] == "新事"


def test_records_may_come_while_others_ask() -> None:
    source = memory()
    answered: list[int] = []

    def ask() -> None:
        answered.append(sum(bool(source.associations("火锅")) for _ in range(300)))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        newest = {f"n{j}": ("火锅", f"菜{j % 7}") for j in range(max(i - 2, 0), i + 1)}
        take(source, i, {**TOLD, **newest})
    for thread in threads:
        thread.join()
    assert answered == [300] * 3


def test_an_expansion_follows_the_memory() -> None:
    source = memory()
    assert "烟花" not in dict(expand(["失恋"], [source, shipped()]))
    take(source, "after", {**TOLD, "e9": ("失恋", "烟花")})
    assert {"火锅", "烟花", "分手"} <= set(dict(expand(["失恋"], [source, shipped()])))


def test_the_source_follows_what_may_be_recalled_now(tmp_path: Path) -> None:
    now = datetime(2025, 5, 20, tzinfo=UTC)
    with closing(FileStore(tmp_path / "owner", clock=SetClock(now))) as store:
        authored = [
            Episode(f"a{i}", now, Event(" ".join(told), (), keywords=told), by="author", expires=expires)
            for i, (told, expires) in enumerate([
                (("失恋", "火锅"), None), (("日出", "爬山"), None), (("失恋", "啤酒"), now + timedelta(days=1)),
            ])
        ]  # fmt: skip
        episodes = Episodes(store, Dense(tmp_path / "index", None), lambda: (1, authored))
        episodes.sync()
        source = Cooccurrence()
        liked = Fact("f", now, FactDraft("小林爱吃香菜", (), entity="小林", keyword="喜好", target="香菜"))
        follow(source, episodes, episodes.view(now), [liked])
        assert {word for word, _ in source.associations("失恋")} == {"火锅", "啤酒"}
        assert {word for word, _ in source.associations("小林")} == {"香菜", "喜好"}
        follow(source, episodes, episodes.view(now + timedelta(days=2)), [])
        assert {word for word, _ in source.associations("失恋")} == {"火锅"}
        assert source.associations("小林") == []
        renamed = replace(liked, draft=replace(liked.draft, target="芫荽"))
        other, later = replace(liked, id="other"), now + timedelta(days=2)
        for moment, facts in ((now, [liked]), (now, [liked, other]), (later, [renamed, other]), (now, [])):
            follow(source, episodes, episodes.view(moment), facts)
            afresh = Cooccurrence()
            follow(afresh, episodes, episodes.view(moment), facts)
            for word in ("失恋", "火锅", "啤酒", "小林", "香菜", "芫荽"):
                assert source.associations(word) == afresh.associations(word)


def test_beyond_the_limit_the_newest_stay_however_often_it_follows() -> None:
    source = Cooccurrence(records=3)
    read: list[object] = []

    def words_of(keys: Sequence[Hashable]) -> list[tuple[str, ...]]:
        read.extend(keys)
        return [(f"词语{key}", f"同伴{key}") for key in keys]

    source.follow("five", lambda: range(5), words_of)
    source.follow("six", lambda: range(6), words_of)
    assert read == [2, 3, 4, 5]
    assert [bool(source.associations(f"词语{key}")) for key in range(6)] == [False] * 3 + [True] * 3


@pytest.mark.parametrize("change", ["retract", "select"])
def test_words_that_were_taken_back_go_with_nothing_from_that_moment(tmp_path: Path, change: str) -> None:
    home, busy = Home.build(tmp_path), threading.Event()
    with home.agent() as agent:
        for text in ("你好", "我昨天去了玄武湖划船"):
            say(agent, text)
            agent.jobs.settle()
        agent.finish()
        first, second = agent.store.tree.parents
        assert agent.layers.together.associations("玄武湖")
        agent.settle_indexes()
        agent.jobs.worker.submit(lambda: busy.wait(10))  # a model is being asked, say
        try:
            agent.conversation.retract(second) if change == "retract" else agent.conversation.select(first)
            assert not agent.layers.together.associations("玄武湖")
        finally:
            busy.set()
