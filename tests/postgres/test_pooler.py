"""PgBouncer by transaction before the database: the locks of a worker's life go past it, and nothing is prepared behind it."""

from __future__ import annotations

import contextlib
import getpass
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from moechat.clock import SetClock
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.houses import START, ZONE, moment, told
from tests.pg_server import ROLE, fresh_name

PORT = 6432
SETTINGS = """[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = 1
logfile = {folder}/log.txt
"""


@pytest.fixture
def pooler(address: str) -> Iterator[str]:
    """The address of one with a single connection to the server: whoever comes next gets what the last one left."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    folder = Path(tempfile.mkdtemp(prefix="moechat-pooler-"))  # Whoever runs the server can enter it.
    folder.chmod(0o777)
    parts = conninfo_to_dict(address)
    (folder / "users.txt").write_text(f'"{ROLE}" ""\n', encoding="utf-8")
    text = SETTINGS.format(host=parts["host"], port=parts.get("port", 5432), own_port=PORT, folder=folder)
    (folder / "pgbouncer.ini").write_text(text, encoding="utf-8")
    place = Path(str(parts["host"]))
    as_another = ["-u", place.owner()] if getpass.getuser() == "root" else []  # It refuses to run as root.
    process = subprocess.Popen([program, "-q", *as_another, str(folder / "pgbouncer.ini")])
    where, until = make_conninfo(address, host=str(folder), port=PORT), time.monotonic() + 30
    while time.monotonic() < until:
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(where):
            break
    yield where
    process.terminate()
    process.wait(20)
    shutil.rmtree(folder)


@pytest.mark.slow  # Beside other tests it once waited for its one connection until PgBouncer gave up.
def test_workers_talk_through_a_pooler_and_live_past_it(address: str, pooler: str) -> None:
    one, other = (Postgres(pooler, size=2, each_time=True, direct=address) for _ in range(2))
    clock, name, neighbour = SetClock(moment(START)), OwnerName("pooled", fresh_name()), OwnerName("p", fresh_name())
    store, rival, third = (
        PostgresStore(database, owner, clock=clock, zone=ZONE)
        for database, owner in ((one, name), (other, name), (other, neighbour))
    )
    for number in range(8):  # so often that the driver would prepare what it says
        told(store, clock, f"第{number}句", settle=True)
        told(third, clock, f"别人的第{number}句", settle=True)
    id_ = store.log.begin("你在吗", clock.now())
    store.log.rest(id_, [])
    store.log.stream(id_, "我在")
    rival.follow()
    assert rival.log.is_streaming(id_)
    with store.claimed() as is_ours, rival.claimed() as is_theirs:
        assert (is_ours, is_theirs) == (True, False)
    assert [node.user for node in rival.tree.nodes.values()] == [*(f"第{n}句" for n in range(8)), "你在吗"]
    assert [row.exchange.user for row in third.exchanges.before(clock.now().timestamp() + 1, 20)] == [
        f"别人的第{n}句" for n in range(8)
    ]
    with psycopg.connect(pooler, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
    one.close()  # The worker is gone, and with it the lock that it held past the pooler.
    with psycopg.connect(address, options="-c lock_timeout=20s") as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (one.worker,))
    rival.follow()
    assert rival.log.settle() == [id_]
    assert rival.exchanges.get(id_).char == "我在"
    other.close()
