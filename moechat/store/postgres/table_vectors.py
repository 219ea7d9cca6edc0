"""The vectors of one owner in a table (``protocols.Vectors``)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb

from moechat.store.database import putting
from moechat.store.postgres.session import OwnerSession
from moechat.store.protocols import Floats, Ints, PackedKeys
from moechat.store.state import Writing

_IN_LAYER = "FROM vectors WHERE owner_id = %(owner)s AND space = %(space)s AND layer = %(layer)s"
VECTORS = f"SELECT position, key, vector {_IN_LAYER} AND gen > %(since)s ORDER BY position"
VECTOR_KEYS = f"SELECT position, key, NULL {_IN_LAYER} AND gen > %(since)s ORDER BY position"
VECTORS_AT = f"SELECT position, vector {_IN_LAYER} AND position = ANY(%(positions)s) AND vector IS NOT NULL"
PRODUCTS = f"""SELECT position, -(vector <#> %(query)s) {_IN_LAYER} AND position = ANY(%(positions)s) AND vector IS NOT NULL
    ORDER BY position"""
CLEAR_VECTORS = """UPDATE vectors SET key = '', vector = NULL, gen = %(gen)s
    WHERE owner_id = %(owner)s AND space = %(space)s AND layer = %(layer)s AND position = ANY(%(positions)s)"""
SPACES = "SELECT DISTINCT space FROM vectors WHERE owner_id = %(owner)s"
DROP_SPACES = "DELETE FROM vectors WHERE owner_id = %(owner)s AND NOT space = ANY(%(spaces)s)"
MANIFEST = "SELECT manifest, swept FROM owners WHERE owner_id = %(owner)s"
WRITE_MANIFEST = "UPDATE owners SET manifest = %(manifest)s WHERE owner_id = %(owner)s"
SWEEP = "UPDATE owners SET swept = %(swept)s WHERE owner_id = %(owner)s"
PUT = putting("vectors", ("space", "layer", "position", "key", "vector", "gen"), ("space", "layer", "position"), ())
SEARCHED = "diary"
"""The layer that grows with all that is said: the one that an approximate index is for."""


def nearest(dim: int) -> str:
    """The statement that this index serves; without the index it compares all vectors of the owner."""
    return f"""SELECT position, -(vector::vector({dim:d}) <#> %(query)s) FROM vectors
        WHERE owner_id = %(owner)s AND space = %(space)s AND layer = '{SEARCHED}' AND vector_dims(vector) = {dim:d}
        AND NOT position = ANY(%(without)s) ORDER BY vector::vector({dim:d}) <#> %(query)s LIMIT %(k)s"""


class TableVectors:
    """``writing`` is the owner's lock."""

    def __init__(self, session: OwnerSession, writing: Writing) -> None:
        self._session, self._writing = session, writing
        self.searched_layer = SEARCHED if session.database.searches else ""

    @property
    def generation(self) -> int:
        return self._session.pulse.vectors

    def alone(self) -> AbstractContextManager[None]:
        return self._writing("vectors")

    def since(self, space: str, layer: str, generation: int, dim: int) -> tuple[int, Ints, PackedKeys, Floats]:
        now = self.generation
        statement = VECTORS if dim else VECTOR_KEYS
        rows = self._session.all(statement, {"space": space, "layer": layer, "since": generation}, binary=True)
        positions = np.array([position for position, *_ in rows], dtype=np.int64)
        keys, vectors = np.zeros((len(rows), 2), dtype=np.uint64), np.zeros((len(rows), dim), dtype=np.float32)
        for i, (_, key, vector) in enumerate(rows):
            if key and (not dim or vector.dimensions() == dim):
                keys[i] = np.frombuffer(key, dtype="<u8")
                if dim:
                    vectors[i] = vector.to_numpy()
        return now, positions, keys, vectors

    def get(self, space: str, layer: str, positions: Ints, dim: int) -> Floats:
        values = {"space": space, "layer": layer, "positions": positions.tolist()}
        held = {position: vector.to_numpy() for position, vector in self._session.all(VECTORS_AT, values, binary=True)}
        nothing = np.zeros(dim, np.float32)
        rows = [held.get(position, nothing) for position in positions.tolist()]
        return np.array(rows, np.float32).reshape(len(positions), dim)

    def dot(self, space: str, layer: str, positions: Ints, query: Floats) -> tuple[Ints, Floats]:
        values = {"space": space, "layer": layer, "positions": positions.tolist(), "query": query}
        return _scored(self._session.all(PRODUCTS, values, binary=True))

    def nearest(self, space: str, query: Floats, k: int, without: Ints) -> tuple[Ints, Floats]:
        values = {"space": space, "query": query, "k": k, "without": without.tolist()}
        return _scored(self._session.all(nearest(len(query)), values, binary=True))

    def put(self, space: str, layer: str, positions: Ints, keys: PackedKeys, vectors: Floats) -> int:
        with self._writing("put vectors"):
            generation = self._next()
            rows = [
                {"space": space, "layer": layer, "position": int(position), "key": key.tobytes(), "vector": vector,
                 "gen": generation}
                for position, key, vector in zip(positions, keys, vectors.astype(np.float32, copy=False), strict=True)
            ]  # fmt: skip
            self._session.many(PUT, rows)
        return generation

    def clear(self, space: str, layer: str, positions: Ints) -> None:
        if len(positions):
            with self._writing("clear vectors"):
                values = {"space": space, "layer": layer, "positions": positions.tolist(), "gen": self._next()}
                self._session.do(CLEAR_VECTORS, values)

    def _next(self) -> int:
        """Whoever follows the records need not look at vectors, and the other way round."""
        self._session.pulse.vectors += 1
        return self._session.pulse.vectors

    def spaces(self) -> list[str]:
        return [space for (space,) in self._session.all(SPACES, {})]

    def manifest(self) -> dict[str, Any]:
        rows = self._session.all(MANIFEST, {})
        return rows[0][0] if rows else {}

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        with self._writing("manifest"):
            self._next()
            self._session.do(WRITE_MANIFEST, {"manifest": Jsonb(dict(manifest))})

    def last_sweep(self) -> bytes:
        rows = self._session.all(MANIFEST, {})
        return rows[0][1].encode() if rows else b""

    def begin_sweep(self, spaces: Sequence[str]) -> None:
        with self._writing("sweep"):
            self._next()
            self._session.do(SWEEP, {"swept": uuid.uuid4().hex})
            self._session.do(DROP_SPACES, {"spaces": list(spaces)})


def _scored(rows: Sequence[tuple[int, float]]) -> tuple[Ints, Floats]:
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float32)
