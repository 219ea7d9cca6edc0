"""A house over tables talks, recalls, forgets and starts again as one over files does."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from moechat.agent import Agent
from moechat.errors import ConfigError, MoeChatError
from moechat.house import House
from moechat.house.studio import look
from moechat.model import Recollection
from moechat.serve.server import make_app
from tests.houses import CHARACTER, Home, answer, say, understanding
from tests.pg_server import Door, fresh_name

TALK = (
    "我叫阿明，住在杭州", "我喜欢绿茶", "昨天去了西湖", "我不喜欢吃香菜", "我养了一只猫叫团子", "明天要去北京开会", "今天下雨了",
    "我妹妹叫小雨", "上周三看了一场电影", "I like jazz", "团子今天吐了", "我搬到上海了", "晚上吃了面", "我在学吉他",
)  # fmt: skip
QUESTIONS = (
    "我住在哪里？", "团子怎么了？", "昨天做了什么？", "我喜欢喝什么？", "What music do I like?", "上周三呢？",
    "今天天气",
)  # fmt: skip
STEPS = 24


@pytest.fixture
def homes(tmp_path: Path, address: str) -> list[Home]:
    """One over files, one over tables."""
    over_files, over_tables = (Home.build(tmp_path / kind) for kind in ("files", "tables"))
    over_tables.configure(store={"kind": "postgres", "address": address})
    return [over_files, over_tables]


@pytest.fixture
def houses(homes: list[Home]) -> Iterator[list[House]]:
    with homes[0].open() as over_files, homes[1].open() as over_tables:
        yield [over_files, over_tables]


def plain(recollection: Recollection) -> list[tuple[object, ...]]:
    """What came to mind, in order, ties included."""
    return [(hit.layer, hit.recipe, hit.id, hit.text, round(hit.score, 9)) for hit in recollection.hits]


def same(agents: list[Agent], steps: list[str]) -> int:
    """Compare what comes to mind, and what is shown. Returns how many hits there were."""
    count = 0
    for agent in agents:
        agent.finish()
        agent.settle_indexes()
    for question in QUESTIONS:
        over_files, over_tables = (plain(agent.recall(question)) for agent in agents)
        assert over_tables == over_files, (question, steps)
        count += len(over_files)
    lists = [
        [replace(one, exchange=replace(one.exchange, stamp="")) for one in agent.recent(50)] for agent in agents
    ]  # each kind of store draws its own stamps
    assert lists[0] == lists[1], steps
    return count


def test_files_and_tables_recall_the_same(houses: list[House], homes: list[Home]) -> None:
    user = fresh_name()
    agents = [house.agent(user=user) for house in houses]
    draw, steps = random.Random(7), list[str]()
    for number in range(STEPS):
        step = draw.choice(["say", "say", "say", "correct", "retract", "restore", "branch", "forget", "archive"])
        ids = list(agents[0].store.tree.parents)
        id_, text = draw.choice(ids or [""]), draw.choice(TALK)
        steps.append(f"{number} {step} {id_} {text}")
        for agent in agents:
            try:
                if step == "say" or not ids:
                    say(agent, text)
                elif step == "correct":
                    agent.conversation.correct(id_, user=text + "！")
                elif step == "branch":
                    agent.conversation.select(id_)
                elif step == "forget":
                    agent.memories.forget([id_])
                elif step == "archive":
                    agent.memories.archive([id_])
                else:
                    getattr(agent.conversation, step)(id_)
            except MoeChatError as error:
                steps.append(type(error).__name__)
        for agent, home in zip(agents, homes, strict=True):
            agent.settle_indexes()
            home.clock.advance(hours=7)
        if number % 8 == 7:
            for home in homes:
                home.clock.advance(hours=13)
            assert same(agents, steps)


def test_another_worker_goes_on_where_one_ended(homes: list[Home]) -> None:
    user, home = fresh_name(), homes[1]
    with home.open() as first, home.open() as second:
        one, other = first.agent(user=user), second.agent(user=user)
        say(one, "我把铜钥匙丢在灯塔下了")
        home.clock.advance(minutes=5)
        say(other, "我喜欢绿茶")
        one.conversation.follow()
        assert list(one.store.tree.parents) == list(other.store.tree.parents)
        for agent in (one, other):
            agent.finish()
        home.clock.advance(days=1)
        assert "铜钥匙" in str(plain(other.recall("铜钥匙丢在哪里？")))
        assert second.has_memory_of(CHARACTER, user)
        assert not second.has_memory_of(CHARACTER, "nobody")
    with home.open() as third:
        report = third.agent(user=user).verify()
        assert (report["exchanges"], report["problems"]) == (2, [])
        assert third.rebuild(None, user, vectors=True, progress=lambda *_: None)["without_vector"] == 0
    assert not (home.folder / "users").exists()


def test_talk_is_understood_by_one_worker_while_others_look(homes: list[Home]) -> None:
    user, asked = fresh_name(), list[str]()
    with contextlib.ExitStack() as last:

        def answered_by(worker: str) -> Callable[[int], str]:
            def complete(count: int) -> str:
                asked.append(worker)
                if worker == "first":
                    other.store.follow()
                    other.jobs.roll(closing=True)
                return answer(count)

            return complete

        first, second = (
            last.enter_context(homes[1].open(understanding(answered_by(worker)))) for worker in ("first", "second")
        )
        one, other = first.agent(user=user), second.agent(user=user)
        say(one, "我住在杭州")
        one.finish()
        other.finish()
        assert asked == ["first"]
        assert not one.store.tree.pending()


def test_a_database_that_is_away_is_told_and_what_was_said_is_there_when_it_is_back(
    homes: list[Home], door: Door
) -> None:
    user = fresh_name()
    homes[1].configure(store={"kind": "postgres", "address": door.address, "timeout_s": 60})
    with homes[1].open() as house:
        client = TestClient(make_app(house), base_url="http://127.0.0.1:8012")
        house.ready()
        agent = house.agent(user=user)
        say(agent, "我住在杭州")
        assert client.get("/readyz").status_code == 200
        door.shut()
        assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (503, 200)
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(say, agent, "你在吗？")
            door.open()
            assert turn.result().exchange.user == "你在吗？"
        assert client.get("/readyz").status_code == 200
        assert [node.user for node in agent.store.tree.nodes.values()] == ["我住在杭州", "你在吗？"]


def test_a_memory_and_a_world_leave_the_database_as_an_archive_and_come_back(homes: list[Home]) -> None:
    user, home = fresh_name(), homes[1]
    with home.open() as house:
        for world in ("", "古代"):
            agent = house.agent(user=user, world=world)
            say(agent, f"我把铜钥匙丢在灯塔下了{world}")
            agent.finish()
        assert house.worlds(CHARACTER, user) == ["古代"]
        file = home.data / "memory.zip"
        with file.open("wb") as target:
            house.studio.export_memory(CHARACTER, target, user, "古代")
        with pytest.raises(MoeChatError, match="another memory"):
            house.studio.take_archive(look(file), CHARACTER, user)
        new = fresh_name()
        house.studio.take_archive(look(file), CHARACTER, new)
        agent = house.agent(user=new)
        assert [one.exchange.user for one in agent.recent(9)] == ["我把铜钥匙丢在灯塔下了古代"]
        for refused in (
            lambda: house.studio.export_archive(CHARACTER, io.BytesIO(), memory=True),
            lambda: house.studio.rename(CHARACTER, "大满"),
        ):
            with pytest.raises(MoeChatError, match="moechat migrate"):
                refused()


@pytest.mark.parametrize("address", ["postgresql://me:secret@localhost/x", "host=x password = secret"])
def test_a_password_is_not_kept_in_the_settings(tmp_path: Path, address: str) -> None:
    home = Home.build(tmp_path, store={"kind": "postgres", "address": address})
    with pytest.raises(ConfigError, match="PGPASSWORD") as refused:
        home.open()
    assert "secret" not in str(refused.value)
