"""An error over one record stays with that record: readers alone, and a whole folder whose readers raise over every tenth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import numpy as np
import pytest

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.containment import Containment, NamedText, Reader
from moechat.errors import DataError, EmbeddingError, TextRefused
from moechat.house import House
from moechat.model import Exchange, Kind
from tests.houses import DIM, Home, answer, edit, fact, say, silent, told, understanding

R = TypeVar("R")
FOODS = (
    "苹果 香蕉 西瓜 葡萄 草莓 芒果 榴莲 荔枝 樱桃 菠萝 豆腐 蘑菇 番茄 黄瓜 茄子 土豆 玉米 南瓜 菠菜 芹菜 "
    "寿司 披萨 火锅 饺子 馄饨 汤圆 月饼 粽子 烧卖 煎饼"
).split()
BROKEN = FOODS[9::10]


class Faulty(Containment):
    """Every reader raises over a text that names every tenth food."""

    def attempt(self, reader: Reader, records: Sequence[NamedText], work: Callable[[], R]) -> R:
        if any(food in record.text for record in records for food in BROKEN):
            raise KeyError(f"{reader} cannot")
        return super().attempt(reader, records, work)


class FaultyEmbedder(HashEmbedder):
    """It raises over a text that names every tenth food, and gives vectors of all others."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__(DIM)
        self.error = error

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        if any(food in text for text in texts for food in BROKEN):
            raise self.error("cannot embed")
        return super().embed(texts, kind)


# ---- by itself


def texts(*names: str) -> list[NamedText]:
    return [NamedText(name, f"text of {name}") for name in names]


def read(part: Sequence[NamedText]) -> list[str]:
    if any(one.id == "bad" for one in part):
        raise KeyError("months before")
    return [one.id for one in part]


def whole(one: NamedText) -> NamedText:
    return one


def test_one_record_that_raises_is_left_out_and_the_others_are_read() -> None:
    contained = Containment()
    results = contained.each("rules", texts(*"abcdefg", "bad", *"hi"), whole, read)
    assert [name for part in results for name in part] == list("abcdefghi")
    assert contained.ids("rules") == ["bad"]


def test_what_raises_is_logged_with_its_traceback_and_not_read_again(caplog: pytest.LogCaptureFixture) -> None:
    contained, calls = Containment(), list[str]()

    def raising(part: Sequence[NamedText]) -> None:
        calls.extend(one.id for one in part)
        raise KeyError("months before")

    for _ in range(3):
        assert contained.each("times", texts("bad"), whole, raising) == []
    assert calls == ["bad"]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR and record.exc_info and record.exc_info[0] is KeyError


def test_the_same_fault_over_many_records_is_one_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def raising(part: Sequence[NamedText]) -> None:
        raise KeyError("months before")

    Containment().each("times", texts(*"abcd"), whole, raising)
    assert sorted(record.levelno for record in caplog.records) == [logging.WARNING] * 3 + [logging.ERROR]


def test_another_text_under_the_same_id_is_read_and_then_nothing_is_told() -> None:
    contained = Containment()
    contained.each("rules", texts("bad"), whole, read)
    mended = NamedText("bad", "corrected")
    assert contained.run("rules", mended, lambda: "read", "") == "read"
    assert contained.problems("en") == []


@pytest.mark.parametrize("error", [DataError("file", "is broken"), EmbeddingError("no model"), OSError(28, "full")])
def test_an_error_that_is_about_more_than_one_record_passes(error: Exception) -> None:
    def raising() -> None:
        raise error

    with pytest.raises(type(error)):
        Containment().run("rules", NamedText("a", "a"), raising, None)


def test_what_could_not_be_read_is_told_in_both_languages() -> None:
    contained = Containment()

    def raising(part: Sequence[NamedText]) -> None:
        raise KeyError("months before")

    contained.each("times", texts(*"abcdefghijkl"), whole, raising)
    assert contained.problems("en") == [
        "its times cannot be read: a, b, c, d, e, f, g, h, i, j and 2 more (KeyError). "
        "Nothing else is touched, and it is tried again at the next start"
    ]
    assert contained.problems("zh") == [
        "读不出里面的时间：a、b、c、d、e、f、g、h、i、j 等 12 处（KeyError）。别的都不受影响，下次打开时会再试"
    ]


# ---- a whole folder


def tell_all(home: Home, house: House) -> dict[str, str]:
    """Food → the id of the exchange that tells of it; two hours lie between two of them."""
    ids = {food: told(house.agent().store, home.clock, f"我喜欢{food}。", hours=2) for food in FOODS}
    house.agent().jobs.settle()
    return ids


def liked(agent: Agent) -> set[str]:
    return {one.draft.target for one in agent.layers.core.current()}


def found(agent: Agent, food: str) -> bool:
    """Whether a recipe finds the very words, wherever they end up."""
    recollection = agent.recall(f"还记得我说过{food}吗")
    hits = [*recollection.hits, *(one.hit for one in recollection.dropped)]
    return any(hit.words for hit in hits if f"我喜欢{food}" in hit.text)


def test_a_folder_whose_readers_raise_over_every_tenth_exchange_works(home: Home) -> None:
    with home.open(containment=Faulty) as house:
        ids = tell_all(home, house)
        agent = house.agent()
        agent.finish()
        assert liked(agent) == set(FOODS) - set(BROKEN)
        assert say(agent, "今天天气不错").error == ""
        assert say(agent, f"你记得{BROKEN[0]}吗").error == ""
        assert all(found(agent, food) for food in FOODS[:5])
    with home.open(containment=Faulty) as house:
        assert say(house.agent(), "晚上好").error == ""
        report = house.rebuild(None, None, vectors=True, progress=lambda done, total: None)
        assert report["exchanges"] >= len(FOODS)
        agent = house.agent()
        agent.settle_indexes()
        for reader in ("读不出里面的时间", "按词找不到", "没能按规则理解", "按意思找不到"):
            (line,) = [problem for problem in agent.verify()["problems"] if problem.startswith(reader)]
            assert all(line.count(ids[food]) == 1 for food in BROKEN), line
        assert not [problem for problem in agent.verify()["problems"] if "rebuild" in problem]
        agent.finish()
        agent.memories.forget([ids[FOODS[0]], ids[BROKEN[0]]])
        assert not found(agent, FOODS[0]) and found(agent, FOODS[1])
    with home.open() as house:
        agent = house.agent()
        agent.finish()
        assert liked(agent) == set(FOODS) - {FOODS[0], BROKEN[0]}
        assert all(found(agent, food) for food in BROKEN[1:])
        assert agent.verify()["problems"] == []


def test_a_time_that_could_not_be_read_is_read_at_the_next_start(home: Home) -> None:
    with home.open(containment=Faulty) as house:
        told(house.agent().store, home.clock, f"5月1日我第一次吃{BROKEN[0]}。", settle=True)
        house.agent().conversation.follow()
        assert len(house.agent().layers.diary.index.words.dated()) == 0
    with home.open() as house:
        assert len(house.agent().layers.diary.index.words.dated()) == 1


def test_what_is_imported_is_read_but_for_what_the_rules_raise_over(home: Home) -> None:
    with home.open(containment=Faulty) as house:
        agent = house.agent()
        years_ago = home.clock.now() - timedelta(days=800)
        agent.store.imports.add([Exchange("", years_ago, f"我讨厌{food}。", "好。") for food in FOODS], talk="从前")
        agent.conversation.follow()
        agent.jobs.read_imports(lambda done, total: None)
        unread = [agent.store.exchanges.get(id_).user for id_ in agent.store.tree.unread()]
        assert unread == [f"我讨厌{food}。" for food in BROKEN]


def test_a_model_s_reading_that_raises_costs_its_exchange_alone(home: Home) -> None:
    def about(count: int) -> str:
        return answer(count, facts=[fact(f"用户说过第{n}句", n) for n in range(1, count + 1)])

    with home.open(understanding(about), containment=Faulty) as house:
        ids = tell_all(home, house)
        agent = house.agent()
        agent.finish()
        waiting = {food for food in FOODS if ids[food] in agent.store.tree.pending()}
        assert waiting == set(BROKEN)
        (line,) = [problem for problem in agent.problems() if problem.startswith("模型")]
        assert all(ids[food] in line for food in BROKEN)
    with home.open(understanding(about)) as house:
        house.agent().finish()
        assert not house.agent().store.tree.pending()


@pytest.mark.parametrize("error", [ValueError, EmbeddingError])
def test_a_text_that_the_embedding_model_raises_over_keeps_no_other_from_its_vector(
    home: Home, error: type[Exception]
) -> None:
    home.embedder = FaultyEmbedder(error)
    with home.open() as house:
        ids = tell_all(home, house)
        agent = house.agent()
        agent.finish()
        agent.settle_indexes()
        index, table = agent.layers.diary.index, agent.dense.table("diary")
        assert table is not None
        users = 2 * index.rows()
        held = table.held(users)
        texts = [one.user for one in agent.store.exchanges.sides()]
        assert [text for text, has in zip(texts, held, strict=True) if not has] == [
            f"我喜欢{food}。" for food in BROKEN
        ]
        assert agent.verify()["without_vector"] == 0  # no use in trying again now
        (line,) = [problem for problem in agent.problems() if problem.startswith("按意思找不到")]
        assert all(ids[food] in line for food in BROKEN)
        assert agent.dense.problem is None
    home.embedder = HashEmbedder(DIM)
    with home.open() as house:
        house.agent().finish()
        house.agent().settle_indexes()
        assert house.agent().dense.table("diary").held(2 * house.agent().layers.diary.index.rows()).all()  # type: ignore[union-attr]


def test_a_model_that_serves_no_text_at_all_is_no_text_s_fault(home: Home) -> None:
    class Down(HashEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
            if len(texts) > 0 and texts != ["dim"]:
                raise EmbeddingError("nobody there")
            return super().embed(texts, kind)

    home.embedder = Down(DIM)
    with home.open(silent()) as house:
        told(house.agent().store, home.clock, "我喜欢茶。", settle=True)
        house.agent().finish()
        house.agent().jobs.embed_some()
        assert isinstance(house.agent().dense.problem, EmbeddingError)
        assert not isinstance(house.agent().dense.problem, TextRefused)
        assert house.agent().store.contained.ids("vectors") == []


@pytest.mark.parametrize("importance", [10**400, "9" * 400, float("nan"), -(10**400)])
def test_no_number_and_no_day_of_a_model_s_stops_a_turn_or_an_opening(home: Home, importance: object) -> None:
    def about(count: int) -> str:
        event = {
            "text": "用户搬家\ud800了", "subject": "用户", "object": "搬家", "importance": importance, "activation": importance,
            "happened": "0001-01-01/9999-12-31", "sources": [1, "9" * 5000], "refines": "9" * 5000,
        }  # fmt: skip
        return answer(count, events=[event])

    home.configure(time={"zone": "America/New_York"})
    with home.open(understanding(about)) as house:
        say(house.agent(), "我搬家了。")
        house.agent().finish()
        assert house.agent().problems() == []
        episodes = house.agent().store.findings.citing(list(house.agent().store.tree.parents))
        (event,) = [episode.event for episode in episodes if episode.by == "model"]
        assert 0.1 <= event.importance <= 1 and event.happened is None
    home.clock.advance(hours=30)  # it has left the context: the overview tells it
    home.configure(time={"zone": "Asia/Shanghai"})
    with home.open(understanding(about)) as house:
        assert say(house.agent(), "我昨天说了什么？").error == ""
        assert house.agent().verify()["problems"] == []


@pytest.mark.parametrize(("happened", "zone"), [("0001-01-01", "America/New_York"), ("9999-12-31", "Asia/Shanghai")])
def test_a_day_at_the_end_of_the_calendar_stops_no_turn_and_no_opening(home: Home, happened: str, zone: str) -> None:
    with home.open() as house:
        say(house.agent(), "我昨天搬家了。")
        house.agent().finish()
    (notes,) = (home.folder / "memorys").glob("*.notes.yaml")
    edit(notes, "2025-05-19", happened)
    home.clock.advance(hours=30)  # it has left the context: the overview tells it
    home.configure(time={"zone": zone})
    with home.open() as house:
        assert say(house.agent(), "我昨天说了什么？").error == ""
        (problem,) = house.agent().verify()["problems"]
        assert "is not a time" in problem and notes.name in problem
