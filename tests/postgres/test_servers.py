"""Several servers: every worker finds an owner, one moves while others go on, and a server that is away hurts its own alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from starlette.testclient import TestClient

from moechat.cli.main import main
from moechat.clock import SetClock
from moechat.errors import ConfigError, DiskError, Locked, MoeChatError
from moechat.model import Exchange
from moechat.serve.server import make_app
from moechat.settings import config as settings
from moechat.store.postgres.connections import OwnerName
from moechat.store.postgres.moving import OF_OWNER, move
from moechat.store.postgres.servers import HOME, Servers
from moechat.store.postgres.store import PostgresStore
from tests.houses import ZONE, Home, say, told
from tests.pg_server import Door, beside, fresh_name, owned, restart, served
from tests.table_twins import database_at, walked
from tests.views import view

STEPS, SOAK_STEPS = 60, 20_000
MANY = 2000  # exchanges, so that a move takes its time
PATIENCE_S = 60.0
# It ends the connection that shows that a worker lives.
END_OF = """SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
    WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = %s"""


@pytest.fixture(scope="module")
def addresses(address: str) -> Iterator[list[str]]:
    """Of three databases, each as a server of its own has them."""
    with beside(address, 2) as others:
        yield [address, *others]


@pytest.fixture
def reach(addresses: list[str]) -> Iterator[Callable[..., Servers]]:
    """Another worker's view of them."""
    with ExitStack() as last:

        def reached(where: Sequence[str] = addresses, *, new: str = HOME) -> Servers:
            return last.enter_context(closing(Servers.of(database_at(" ".join(where), size=3, new=new))))

        yield reached


@pytest.fixture
def mover(addresses: list[str], reach: Callable[..., Servers]) -> Servers:
    return reach([owned(address) for address in addresses])


def opened(servers: Servers, name: OwnerName, clock: SetClock) -> PostgresStore:
    return PostgresStore(servers.home, name, clock=clock, zone=ZONE)


def users(store: PostgresStore) -> list[str]:
    store.follow()
    assert store.verify()[1] == []
    return [node.user for node in store.tree.nodes.values()]


def rows(mover: Servers, name: OwnerName) -> dict[str, int]:
    """How many rows each server has of an owner."""
    counts = {table: f"SELECT count(*) FROM {table} WHERE owner_id = %(owner)s" for table in OF_OWNER}
    return {
        server: sum(one.asked(name.id, [statement])[0][0] for statement in counts.values())
        for server, one in mover.by_name.items()
    }


def test_a_new_owner_comes_to_the_server_that_is_set_and_is_found_by_every_worker(
    reach: Callable[..., Servers], mover: Servers, name: OwnerName, clock: SetClock
) -> None:
    early = opened(reach(), name, clock)
    told(opened(reach(new="b"), name, clock), clock, "第一句", settle=True)
    told(opened(reach(new="c"), name, clock), clock, "第二句", settle=True)
    told(early, clock, "第三句", settle=True)
    assert users(early) == ["第一句", "第二句", "第三句"]
    assert [server for server, count in rows(mover, name).items() if count] == ["b"]
    assert name.user in {user for _, user, _ in mover.owners()}
    emptiest = reach(new="emptiest").for_new()
    assert emptiest.name in ("b", "c")


def test_an_owner_moves_while_it_is_open_and_is_written_at_its_new_place_alone(
    reach: Callable[..., Servers], mover: Servers, name: OwnerName, clock: SetClock
) -> None:
    writer, reader = (opened(reach(), name, clock) for _ in range(2))
    neighbour = opened(reach(), OwnerName("moving", fresh_name()), clock)
    told(writer, clock, "第一句", settle=True)
    reader.follow()
    for number, to in enumerate(("b", "c", HOME, HOME, "c", "b")):
        is_moved, _ = move(mover, name.id, to)
        assert is_moved == (number != 3)
        assert [one for one, count in rows(mover, name).items() if count] == [to]
        assert reader.exchanges.before(clock.now().timestamp() + 1, 99)[0].exchange.user == "第一句"
        told((writer, reader)[number % 2], clock, f"{number} {to}", settle=True)
        told(neighbour, clock, "别人的", settle=True)
        assert [one for one, count in rows(mover, name).items() if count] == [to]
    assert users(writer) == users(reader) == ["第一句", "0 b", "1 c", "2 home", "3 home", "4 c", "5 b"]
    assert view(opened(reach(), name, clock)) == view(writer)
    assert set(users(neighbour)) == {"别人的"}


def test_what_is_on_its_way_holds_a_move_up(
    reach: Callable[..., Servers], mover: Servers, name: OwnerName, clock: SetClock
) -> None:
    store = opened(reach(), name, clock)
    id_ = store.log.begin("你在吗", clock.now())
    store.log.rest(id_, [])
    with pytest.raises(Locked, match="a reply is on its way"):
        move(mover, name.id, "b")
    store.log.finish(id_, "我在", "done")
    with store.claimed(), pytest.raises(Locked, match="being understood"):
        move(mover, name.id, "b")
    with pytest.raises(MoeChatError, match="no server 'd'"):
        move(mover, name.id, "d")
    assert move(mover, OwnerName("moving", "nobody").id, "b")[0] is False
    assert move(mover, name.id, "b")[0]
    assert users(store) == ["你在吗"]


def test_a_reply_whose_worker_is_taken_for_dead_loses_nothing_when_its_memory_moves_meanwhile(
    addresses: list[str], reach: Callable[..., Servers], mover: Servers, name: OwnerName, clock: SetClock
) -> None:
    worker = reach()
    store = opened(worker, name, clock)
    id_ = store.log.begin("你在吗", clock.now())
    store.log.rest(id_, [])
    with psycopg.connect(owned(addresses[0])) as connection:
        assert connection.execute(END_OF, (worker.home.worker,)).fetchall() == [(True,)]
    pieces: list[str] = []
    has_moved = threading.Event()

    def stream() -> None:
        while not has_moved.is_set():
            pieces.append(f"{len(pieces)} ")
            store.replies.write(id_, pieces[-1])

    thread = threading.Thread(target=stream)
    thread.start()
    for to in ("b", "c", HOME) * 3:
        assert move(mover, name.id, to)[0]
    has_moved.set()
    thread.join()
    assert [one for one, count in rows(mover, name).items() if count] == [HOME]
    other = opened(reach(), name, clock)
    assert other.log.settle() == [id_]
    assert other.exchanges.get(id_).char == "".join(pieces)


def moved_later(mover: Servers, name: OwnerName, to: str) -> None:
    """The servers hear a moment later that a mover is gone: until they do, they say that it is being moved."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            move(mover, name.id, to)
            return
        except Locked:
            if time.monotonic() > until:
                raise


class Dying(BaseException):
    """The program dies here."""


def killed_after(count: int, monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> bool:
    """Whether it died before its statement number ``count``, as the server sees that: what is open is rolled back."""
    left, execute, ours = [count], psycopg.Connection.execute, threading.get_ident()

    def dying(self: Any, *args: Any, **options: Any) -> Any:
        left[0] -= threading.get_ident() == ours
        if left[0] <= 0 and threading.get_ident() == ours:
            self.close()
            raise Dying
        return execute(self, *args, **options)

    with monkeypatch.context() as patch, suppress(Dying):
        patch.setattr(psycopg.Connection, "execute", dying)
        do()
        return False
    return True


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_move_that_is_killed_at_any_statement_loses_nothing_and_is_finished_later(
    step: int,
    addresses: list[str],
    reach: Callable[..., Servers],
    mover: Servers,
    name: OwnerName,
    clock: SetClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, words = opened(reach(), name, clock), ["第一句"]
    told(store, clock, words[0], settle=True)
    places, count, is_dead, places_after = [*mover.by_name], 1, True, set[str]()
    while is_dead:
        for server in mover.by_name.values():
            server.live()
        dying = Servers.of(database_at(" ".join(owned(address) for address in addresses), size=2))
        here = mover.find(name.id).name
        to = places[(places.index(here) + 1) % len(places)]
        is_dead = killed_after(count, monkeypatch, lambda to=to, dying=dying: move(dying, name.id, to))  # type: ignore[misc]
        dying.close()
        if count % 2:
            told(store, clock, f"第{count}刀", settle=True)
            words.append(f"第{count}刀")
        places_after.add("there" if mover.find(name.id).name == to else "here")
        moved_on = places[(places.index(to) + (count % 3 == 0)) % len(places)]
        moved_later(mover, name, moved_on)
        assert users(store) == words
        assert [one for one, rows_there in rows(mover, name).items() if rows_there] == [moved_on]
        assert not any(mark and mark.arrives for mark in (mover.mark(one, name.id) for one in mover.by_name.values()))
        count += step
    assert places_after == {"here", "there"}


@pytest.mark.slow
def test_a_mover_that_is_killed_at_any_moment_loses_nothing_and_a_later_one_leaves_nothing_behind(
    addresses: list[str], reach: Callable[..., Servers], mover: Servers, name: OwnerName, clock: SetClock
) -> None:
    chance, store, words = random.Random(int(os.environ.get("SEED", "1"))), opened(reach(), name, clock), list[str]()
    start = clock.now() - timedelta(days=400)
    store.imports.add(
        [Exchange("", start + timedelta(hours=n), f"第{n}件事", "嗯。") for n in range(MANY)], talk="", by="rules"
    )
    begun = time.perf_counter()
    move(mover, name.id, "b")
    whole_s, halves = time.perf_counter() - begun, 0
    for number in range(int(os.environ.get("KILLS", "8"))):
        here = mover.find(name.id).name
        to, moved_on = chance.choice([one for one in mover.by_name if one != here]), chance.choice([*mover.by_name])
        where = " ".join(owned(address) for address in addresses)
        options = [where, str(name.id), to, str(chance.uniform(0, 1.2 * whole_s))]
        assert (
            subprocess.run([sys.executable, "-m", "tests.postgres.test_servers", *options]).returncode
            == -signal.SIGKILL
        )
        halves += sum(map(bool, rows(mover, name).values())) > 1
        if number % 2:
            words.append(f"第{number}刀")
            told(store, clock, words[-1], settle=True)
        moved_later(mover, name, moved_on)
        assert users(store) == words
        assert store.verify() == (MANY + len(words), [])
        assert [one for one, count in rows(mover, name).items() if count] == [moved_on]
        assert not any(mark and mark.arrives for mark in (mover.mark(one, name.id) for one in mover.by_name.values()))
    print(f"{halves} of them left words at two places")


def moving(addresses: str, owner: str, to: str, lasts_s: str) -> None:
    """A mover who is killed after so long, or when it is done."""
    servers = Servers.of(database_at(addresses, size=2))
    threading.Timer(float(lasts_s), os.kill, (os.getpid(), signal.SIGKILL)).start()
    move(servers, uuid.UUID(owner), to)


def test_three_servers_and_memory_are_the_same_after_any_walk(addresses: list[str]) -> None:
    seed = steps = 0
    while steps < STEPS:
        steps += walked(" ".join(addresses), fresh_name(), seed, compared_every=20, is_told=not seed)
        seed += 1


@pytest.fixture
def real() -> Iterator[tuple[list[str], list[Any]]]:
    """(the addresses of four servers, the servers)."""
    with ExitStack() as last:
        folders = [Path("/dev/shm") / f"moechat-pg-{os.getpid()}-{number}" for number in range(4)]
        each = [last.enter_context(served(folder)) for folder in folders]
        yield [address for address, _ in each], [server for _, server in each]


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="four servers want a place in memory")
def test_one_of_three_servers_dies_and_comes_back_and_a_fourth_is_added(
    real: tuple[list[str], list[Any]], reach: Callable[..., Servers], clock: SetClock
) -> None:
    addresses, servers = real
    names = [OwnerName("moving", fresh_name()) for _ in range(9)]
    stores = []
    for number, name in enumerate(names):
        stores.append(opened(reach(addresses[:3], new=[HOME, "b", "c"][number % 3]), name, clock))
        told(stores[-1], clock, f"{name.user}一", settle=True)
    restart(servers[1], mode="immediate")
    for name, store in zip(names, stores, strict=True):
        told(store, clock, f"{name.user}二", settle=True)
    mover, fresh = reach([owned(address) for address in addresses]), reach(addresses)
    for name in names:
        assert move(mover, name.id, "d")[0]
        assert users(opened(fresh, name, clock)) == [f"{name.user}一", f"{name.user}二"]
        assert {server for server, count in rows(mover, name).items() if count} == {"d"}
    with pytest.raises(MoeChatError, match="no server 'd'"):
        told(stores[0], clock, "谁不知道第四台，就不写", settle=True)
    assert users(opened(fresh, names[0], clock)) == [f"{names[0].user}一", f"{names[0].user}二"]


@pytest.mark.soak
@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="four servers want a place in memory")
def test_three_real_servers_and_memory_are_the_same_after_thousands_of_steps(real: tuple[list[str], list[Any]]) -> None:
    seed, steps = int(os.environ.get("SEED", "1")) * 1000, 0
    while steps < int(os.environ.get("STEPS", SOAK_STEPS)):
        steps += walked(" ".join(real[0][:3]), fresh_name(), seed, compared_every=10, is_told=not seed % 40)
        seed += 1


def test_a_server_that_is_away_is_told_to_its_owners_and_others_go_on(
    tmp_path: Path, addresses: list[str], mover: Servers
) -> None:
    door, hers, others = Door(addresses[1], tmp_path), fresh_name(), fresh_name()
    home = Home.build(tmp_path / "home")
    store = {"kind": "postgres", "address": addresses[0], "servers": {"b": {"address": door.address}}, "timeout_s": 0.3}
    home.configure(store={**store, "new_owners": "b"})
    with home.open() as house:
        say(house.agent(user=hers), "我住在杭州")
    home.configure(store={**store, "new_owners": "home"})
    with home.open() as house:
        client = TestClient(make_app(house), base_url="http://127.0.0.1:8012")
        house.ready()
        agent, other = house.agent(user=hers), house.agent(user=others)
        say(other, "你好")
        door.shut()
        with pytest.raises(DiskError, match=r"\(b\): the database does not answer"):
            say(agent, "你在吗？")
        say(other, "再见")
        body = {"text": "你在吗？", "user": hers}
        for language, words in (("zh-CN", "数据库没有应答"), ("en", "the database does not answer")):
            answer = client.post("/say", json=body, headers={"accept-language": language})
            assert (answer.status_code, words in answer.json()["error"]["message"]) == (503, True)
        assert client.post("/say", json={**body, "user": others}).status_code == 200
        assert client.get("/readyz").status_code == 200
        door.open()
        agent = house.agent(user=hers)
        say(agent, "回来了")
        assert [node.user for node in agent.store.tree.nodes.values()] == ["我住在杭州", "回来了"]
    with home.open() as house:
        assert [node.user for node in house.agent(user=others).store.tree.nodes.values()][:2] == ["你好", "再见"]
    door.server_close()


def test_the_command_moves_whom_it_is_told_to(
    tmp_path: Path, addresses: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    user, home = fresh_name(), Home.build(tmp_path)
    where = [{"address": owned(address)} for address in addresses]
    home.configure(store={"kind": "postgres", **where[0], "servers": {"b": where[1]}, "new_owners": "home"})
    with home.open() as house:
        say(house.agent(user=user), "我住在杭州")
    options = ["--data", str(home.data), "--config", str(home.config), "--user", user]
    assert main(["migrate", "move", *options]) == 1
    assert "--to" in capsys.readouterr().err
    assert main(["migrate", "move", "--to", "b", *options]) == 0
    assert "outcome: moved" in capsys.readouterr().out
    assert main(["migrate", "move", "--to", "b", *options]) == 0
    assert "outcome: there already" in capsys.readouterr().out
    home.configure(store={"kind": "postgres", **where[0]})
    with home.open() as house, pytest.raises(MoeChatError, match="no server 'b'"):
        house.agent(user=user)


def test_names_of_servers_are_checked(home: Home) -> None:
    for store, key in (
        ({"servers": {"home": {"address": "x"}}}, "store.servers"), ({"servers": {"b": {}}}, "store.servers.b.address"),
        ({"new_owners": "nowhere"}, "store.new_owners"),
        ({"servers": {"b": {"address": "postgresql://me:secret@host/x"}}}, "store.servers.b.address"),
    ):  # fmt: skip
        home.configure(store=store)
        with pytest.raises(ConfigError, match=key) as caught:
            settings.load(home.config)
        assert "secret" not in str(caught.value)


if __name__ == "__main__":
    moving(*sys.argv[1:])
