"""Memories move from folders into the database and back, and are the same."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from moechat.cli.main import main
from moechat.errors import MoeChatError
from moechat.house.migration import STAGE, Move
from moechat.house.owners import Owner
from moechat.store import transfer
from moechat.store.postgres.connections import Postgres
from tests.houses import CHARACTER, ZONE, Home, say
from tests.pg_server import fresh_name


@pytest.fixture
def home(tmp_path: Path, address: str) -> Home:
    home = Home.build(tmp_path)
    home.configure(store={"address": address})
    return home


@pytest.fixture
def user(home: Home) -> str:
    """With a memory in folders: branches, what was taken back, findings, and use."""
    user = fresh_name()
    with home.open() as house:
        agent = house.agent(user=user)
        for text in ("我叫阿明，住在杭州", "我喜欢绿茶", "昨天去了西湖", "我养了一只猫叫团子", "以后别提李强"):
            say(agent, text)
            home.clock.advance(hours=5)
        ids = list(agent.store.tree.parents)
        agent.conversation.correct(ids[1], user="我喜欢红茶")
        agent.conversation.retract(ids[2])
        agent.conversation.select(ids[1])
        say(agent, "团子今天吐了")
        agent.finish()
        agent.memories.archive([ids[0]])
        [doubted, *_] = agent.store.findings.facts()
        agent.store.findings.put([replace(doubted, confirmed=False)])
        agent.store.state.write([{"op": "trust", "model": "m", "quotes": [3, 4]}])
    return user


def held(home: Home, user: str) -> tuple[object, ...]:
    """What was understood, what is in doubt or off limits, what is archived, and how far a model is trusted."""
    with home.open(looks=True) as house:
        agent = house.agent(user=user)
        findings, state = agent.store.findings, agent.store.state
        facts = sorted(findings.facts(), key=lambda one: one.id)
        episodes = sorted((e for noted in findings.all_notes([]) for e in noted.episodes), key=lambda one: one.id)
        assert (
            any(one.draft.kind == "boundary" for one in facts)
            and any(one.confirmed is False for one in facts)
            and state.trust
        )
        return facts, episodes, findings.refused(), dict(state.trust), set(state.archived)


def moved(home: Home, address: str, do: Callable[[Move], object]) -> object:
    database = Postgres(address, size=3)
    try:
        return do(Move(home.data, database, home.clock, ZONE))
    finally:
        database.close()


def test_a_memory_moves_there_and_back(home: Home, address: str, user: str) -> None:
    owner, folder, before = Owner(CHARACTER, user, ""), home.folder / "users" / user, held(home, user)

    def there_and_back(move: Move) -> None:
        assert owner in list(move.owners_in_folders())
        outcome, first = move.to_tables(owner)
        assert (outcome, first.exchanges) == ("moved", 6)
        assert move.to_tables(owner) == ("there already", first)
        assert move.to_folders(owner) == ("there already", first)
        shutil.rmtree(folder)
        assert move.to_folders(owner) == ("moved", first)
        assert not (folder / STAGE).exists()
        assert move.to_folders(owner) == ("there already", first)

    moved(home, address, there_and_back)
    assert held(home, user) == before
    with home.open() as house:
        assert house.agent(user=user).verify()["problems"] == []
        say(house.agent(user=user), "又来了")
    with pytest.raises(MoeChatError, match="not the same"):
        moved(home, address, lambda move: move.to_tables(owner))


def without_vector(home: Home, user: str) -> int:
    """How many texts would be embedded anew."""
    with home.open(looks=True) as house:
        agent = house.agent(user=user)
        (space,) = agent.dense.spaces
        return agent.layers.missing(space)


def recalled_of(home: Home, user: str) -> list[str]:
    with home.open(looks=True) as house:
        return [hit.text for hit in house.agent(user=user).recall("团子怎么样了？").hits]


def test_vectors_move_along(home: Home, address: str, user: str) -> None:
    owner = Owner(CHARACTER, user, "")
    home.clock.advance(days=1)
    with home.open() as house:
        house.rebuild(None, user, vectors=True, progress=lambda *_: None)
    before = recalled_of(home, user)
    moved(home, address, lambda move: move.to_tables(owner))
    shutil.rmtree(home.folder / "users" / user)
    home.configure(store={"kind": "postgres", "address": address})
    assert without_vector(home, user) == 0
    assert recalled_of(home, user) == before
    home.configure(store={"kind": "files", "address": address})
    moved(home, address, lambda move: move.to_folders(owner))
    kept = (home.folder / "users" / user / ".index").rglob("diary.old/keys.bin")
    assert len(list(kept)) == 1


def test_a_copy_that_was_cut_short_is_finished(home: Home, address: str, user: str) -> None:
    owner, folder = Owner(CHARACTER, user, ""), home.folder / "users" / user

    def cut_short(move: Move) -> None:
        _, there = move.to_tables(owner)
        shutil.rmtree(folder)
        (folder / STAGE / "memorys").mkdir(parents=True)
        (folder / STAGE / "memorys" / "2025-05-20.yaml").write_text("half: {", encoding="utf-8")
        assert move.to_folders(owner) == ("moved", there)

    moved(home, address, cut_short)


def test_what_is_on_its_way_is_not_copied(home: Home, address: str, user: str) -> None:
    owner = Owner(CHARACTER, user, "")
    with contextlib.closing(Postgres(address)) as database:
        store = Move(home.data, database, home.clock, ZONE)._folders.of(owner)()
        store.log.begin("在吗", home.clock.now())
        with pytest.raises(MoeChatError, match="on its way"):
            moved(home, address, lambda move: move.to_tables(owner))
        store.close()


def test_the_command_moves_one_owner_after_another(home: Home, user: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--data", str(home.data), "--config", str(home.config), "--user", user]
    assert main(["migrate", "to-postgres", *options]) == 0
    assert "outcome: moved, exchanges: 6" in capsys.readouterr().out
    assert main(["migrate", "to-postgres", *options]) == 0
    assert "outcome: there already" in capsys.readouterr().out


def test_an_empty_memory_is_nothing_to_move(home: Home, address: str) -> None:
    owner = Owner(CHARACTER, fresh_name(), "")
    outcome, contents = moved(home, address, lambda move: move.to_tables(owner))  # type: ignore[misc]
    assert (outcome, contents.is_empty) == ("nothing to move", True)
    assert isinstance(contents, transfer.Contents)
