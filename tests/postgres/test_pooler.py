"""PgBouncer by transaction before the database: the locks of a worker's life go past it, and nothing is prepared behind it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from moechat.clock import SetClock
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.houses import START, ZONE, moment, told
from tests.pg_server import fresh_name, pooled


@pytest.fixture
def pooler(address: str) -> Iterator[str]:
    """The address of one with a single connection to the server: whoever comes next gets what the last one left."""
    with pooled(address, size=1) as where:
        yield where


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
    store.replies.write(id_, "我在")
    rival.follow()
    assert rival.replies.is_alive(id_)
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
