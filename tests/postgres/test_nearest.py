"""Vectors that stay in the database and are searched there (``store.nearest: hnsw``), beside the same vectors in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psycopg
import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.house.stores import update_tables
from moechat.index.shelf import ServedTable, StoreShelf
from moechat.index.vector_rows import text_key
from moechat.index.vectors import VectorTable
from moechat.settings.config import Config
from moechat.store.postgres import tables
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from moechat.store.postgres.table_vectors import SEARCHED
from tests.houses import CHARACTER, START, ZONE, Home, moment, say
from tests.pg_server import fresh_name, owned

DIM = 16
SPACE = "made-up"
FEW, MANY = 200, 600


@pytest.fixture(scope="module")
def indexed(address: str) -> str:
    """The address of tables that have the index."""
    tables.apply(owned(address), DIM)
    return address


@pytest.fixture
def databases(indexed: str) -> Iterator[tuple[Postgres, Postgres]]:
    """One that searches, and one that reads all vectors."""
    searching, reading = Postgres(indexed, size=4, searches=True), Postgres(indexed, size=4)
    yield searching, reading
    searching.close()
    reading.close()


def opened(database: Postgres, name: OwnerName) -> PostgresStore:
    return PostgresStore(database, name, clock=SetClock(moment(START)), zone=ZONE)


def table_of(store: PostgresStore) -> VectorTable:
    assert store.vectors is not None
    return StoreShelf(store.vectors).table(SPACE, SEARCHED, DIM)


def unit(chance: np.random.Generator, rows: int) -> np.ndarray:
    vectors = chance.normal(size=(rows, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def filled(table: VectorTable, vectors: np.ndarray, *, first: int = 0) -> None:
    positions = first + np.arange(len(vectors))
    table.put(positions, [text_key(str(position)) for position in positions], vectors)


def test_the_index_is_made_once_for_the_dimensions_of_the_model(address: str) -> None:
    store = {"kind": "postgres", "address": owned(address), "nearest": "hnsw"}
    config = Config(store=store, embedding={"provider": "hash"})
    name = f"vectors_near_{HashEmbedder().dim}"
    assert [update_tables(config, "config.yaml") for _ in range(2)] == [[name], []]


def test_two_that_make_the_same_index_at_once_make_one(address: str) -> None:
    with ThreadPoolExecutor() as threads:
        made = list(threads.map(lambda _: tables.apply(owned(address), 24), range(2)))
    assert sorted(made) == [[], ["vectors_near_24"]]


def test_a_few_are_compared_exactly(databases: tuple[Postgres, Postgres]) -> None:
    name, chance = OwnerName("nearest", fresh_name()), np.random.default_rng(1)
    stores = [opened(database, name) for database in databases]
    served = table_of(stores[0])
    filled(served, unit(chance, 300))
    served.put(np.array([7]), [text_key("7, corrected")], unit(chance, 1))
    stores[1].follow()
    read, query = table_of(stores[1]), unit(chance, 1)[0]
    assert isinstance(served, ServedTable) and not isinstance(read, ServedTable)
    positions = np.array([299, 7, 7, 1000, 0])
    np.testing.assert_allclose(served.dot(positions, query), read.dot(positions, query), atol=1e-6)
    np.testing.assert_array_equal(served.get(positions), read.get(positions))
    assert served.lookup([text_key("7"), text_key("7, corrected")]).tolist() == [-1, 7]
    allowed = np.arange(300) % 3 == 0
    for mask in (None, allowed, allowed[:100], np.zeros(300, bool)):
        np.testing.assert_array_equal(served.top(query, 20, mask)[0], read.top(query, 20, mask)[0])
    for store in stores:
        store.close()


def test_of_many_the_index_brings_the_owners_own(indexed: str, databases: tuple[Postgres, Postgres]) -> None:
    chance = np.random.default_rng(2)
    names = [OwnerName("nearest", fresh_name()) for _ in range(3)]
    vectors = [unit(chance, MANY) for _ in names]
    for name, its in zip(names, vectors, strict=True):
        store = opened(databases[0], name)
        filled(table_of(store), its)
        store.close()
    with psycopg.connect(owned(indexed), autocommit=True) as connection:
        connection.execute("ANALYZE vectors")
    store = opened(databases[0], names[1])
    assert store.vectors is not None
    served = ServedTable(store.vectors, SPACE, SEARCHED, DIM, compared=FEW)
    allowed = np.arange(MANY) % 10 > 0
    shares = []
    for query in unit(chance, 20):
        exact = vectors[1] @ query
        for mask in (np.full(MANY, True), allowed):
            found, scores = served.top(query, 50, mask)
            assert len(found) == 50 and mask[found].all()
            np.testing.assert_allclose(scores, exact[found], atol=1e-5)
            assert (np.diff(scores) <= 0).all()
            best = np.argsort(-np.where(mask, exact, -2))[:50]
            shares.append(len(set(best.tolist()) & set(found.tolist())) / 50)
    assert np.mean(shares) > 0.9
    store.close()


def test_what_is_swept_is_found_no_more(databases: tuple[Postgres, Postgres]) -> None:
    name, chance = OwnerName("nearest", fresh_name()), np.random.default_rng(3)
    store = opened(databases[0], name)
    served, vectors = table_of(store), unit(chance, 50)
    filled(served, vectors)
    assert served.sweep(lambda _: np.arange(1, 50)) == 1
    assert served.top(vectors[0], 1)[0].tolist() != [0]
    assert served.held(np.array([0, 1])).tolist() == [False, True]
    store.close()


def test_a_house_recalls_the_same_either_way(indexed: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    told = ("我的猫叫团子", "昨天去了西湖", "我对芒果过敏", "妹妹在成都读大学")
    asked = ("团子最近怎么样", "我去过哪里玩", "妹妹在哪里")
    user, recalled = fresh_name(), []
    for nearest in ("exact", "hnsw"):
        home = Home.build(
            tmp_path_factory.mktemp(nearest), store={"kind": "postgres", "address": indexed, "nearest": nearest}
        )
        with home.open() as house, house.lent(CHARACTER, user) as agent:
            if not recalled:
                for text in told:
                    say(agent, text)
                agent.finish()
            home.clock.advance(days=2)
            recalled.append([[hit.id for hit in agent.recall(question).hits] for question in asked])
    assert recalled[0] == recalled[1] and any(recalled[0])
