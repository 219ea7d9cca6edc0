"""Where the vectors of an owner are kept: beside files, in memory, or in the store that keeps all else."""

from __future__ import annotations

import contextlib
import json
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.index.vector_rows import Ints, PackedKeys, VectorRows
from moechat.index.vectors import MISSING, Lives, VectorTable, as_query, best, tables_under
from moechat.store import disk
from moechat.store.plain import json_value
from moechat.store.protocols import Vectors
from moechat.store.records import replace

COMPARED = 4096  # vectors in the store that are compared one by one
SWEPT = "swept"  # This file of the index folder changes with every sweep.


class Shelf:
    """The tables of all models that ever served an owner, the manifest that says which does, and a mark of the last sweep: in
    memory, where nothing stays."""

    def __init__(self) -> None:
        self._swept = b""

    def folder(self, fingerprint: str) -> Path | None:
        """Where a model's tables lie, None where that is no folder."""
        return None

    def table(self, fingerprint: str, layer: str, dim: int) -> VectorTable:
        return VectorTable(None, dim)

    def has(self, fingerprint: str) -> bool:
        """Whether there are vectors of a model."""
        return False

    def manifest(self) -> dict[str, Any]:
        return {}

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """In memory, the process knows which model serves."""

    def last_sweep(self) -> bytes:
        return self._swept

    def sweep(self, spaces: Mapping[str, Mapping[str, VectorTable]], lives: Mapping[str, Lives]) -> int:
        """Overwrite every vector but those that ``lives`` gives for a layer; ``spaces`` are the tables that are open, by model
        and layer. Returns how many were."""
        self._swept = uuid.uuid4().bytes
        return sum(table.sweep(lives[layer]) for tables in spaces.values() for layer, table in list(tables.items()))


class FolderShelf(Shelf):
    """``manifest.json`` and a folder for each model, in the index folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def folder(self, fingerprint: str) -> Path:
        return self._folder / f"vectors-{fingerprint}"

    def table(self, fingerprint: str, layer: str, dim: int) -> VectorTable:
        return VectorTable(self.folder(fingerprint) / layer, dim)

    def has(self, fingerprint: str) -> bool:
        return self.folder(fingerprint).is_dir()

    def manifest(self) -> dict[str, Any]:
        try:
            manifest = json_value((self._folder / "manifest.json").read_text(encoding="utf-8"))
            return manifest if isinstance(manifest, dict) else {}
        except (OSError, ValueError):
            return {}

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        disk.make_way(self._folder / "manifest.json")
        replace(self._folder / "manifest.json", json.dumps(manifest, ensure_ascii=False).encode())

    def last_sweep(self) -> bytes:
        with contextlib.suppress(OSError):
            return (self._folder / SWEPT).read_bytes()
        return b""

    def sweep(self, spaces: Mapping[str, Mapping[str, VectorTable]], lives: Mapping[str, Lives]) -> int:
        """Tables of earlier caches (``.old``) are swept as well."""
        for folder in self._folder.glob("gone-*"):  # a deletion that was cut short
            shutil.rmtree(folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        disk.make_way(self._folder / SWEPT)
        replace(self._folder / SWEPT, uuid.uuid4().bytes)
        count = 0
        for table in tables_under(self._folder):
            name, _, old = table.folder.name.partition(".old") if table.folder else ("", "", "")
            count += table.sweep(lives.get(name, lambda _: np.zeros(0, dtype=np.int64)))
            left = len(table)
            table.close()
            if old and not left and table.folder:
                shutil.rmtree(table.folder, ignore_errors=True)
        for tables in spaces.values():
            for open_table in list(tables.values()):  # Another thread may open one more.
                open_table.refresh()
        return count


class StoreShelf(Shelf):
    """Arrays in memory over what the store keeps: every process writes through, and reads what others wrote."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors

    def table(self, fingerprint: str, layer: str, dim: int) -> VectorTable:
        if layer == self._vectors.searched_layer:
            return ServedTable(self._vectors, fingerprint, layer, dim)
        return VectorTable(None, dim, rows=StoredRows(self._vectors, fingerprint, layer, dim))

    def has(self, fingerprint: str) -> bool:
        return fingerprint in self._vectors.spaces()

    def manifest(self) -> dict[str, Any]:
        return self._vectors.manifest()

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        self._vectors.write_manifest(manifest)

    def last_sweep(self) -> bytes:
        return self._vectors.last_sweep()

    def sweep(self, spaces: Mapping[str, Mapping[str, VectorTable]], lives: Mapping[str, Lives]) -> int:
        """The vectors of models that serve no more go as a whole: they are made anew where one serves again."""
        self._vectors.begin_sweep(list(spaces))
        return super().sweep(spaces, lives)


class StoredRows(VectorRows):
    """The rows of a table whose durable form lies in the store; with ``dim`` 0 their vectors stay there."""

    def __init__(self, vectors: Vectors, space: str, layer: str, dim: int) -> None:
        super().__init__(None, dim)
        self._stored, self._space, self._layer = vectors, space, layer
        self._seen = -1

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._stored.alone():
            yield

    def changed(self) -> bool:
        return self._stored.generation != self._seen

    def open(self) -> bool:
        """Take in what was written since the last look."""
        generation, positions, keys, vectors = self._stored.since(self._space, self._layer, self._seen, self.dim)
        if len(positions):
            if positions.max() >= len(self.keys):
                self.grow(int(positions.max()) + 1)
            self.vectors[positions] = vectors
            self.keys[positions] = keys
        self._seen = generation
        return True

    def write(self, positions: Ints, keys: PackedKeys, vectors: NDArray[Any]) -> None:
        generation = self._stored.put(self._space, self._layer, positions, keys, vectors)
        super().write(positions, keys, vectors[:, : self.dim])
        if generation == self._seen + 1:  # nobody else wrote meanwhile
            self._seen = generation

    def clear(self, positions: Ints) -> None:
        self._stored.clear(self._space, self._layer, positions)
        super().clear(positions)

    def close(self) -> None:
        super().close()
        self._seen = -1


class ServedTable(VectorTable):
    """A table whose vectors stay in the store, which compares them: up to ``compared`` exactly, more by an approximate index.
    Only the keys are here."""

    def __init__(self, vectors: Vectors, space: str, layer: str, dim: int, *, compared: int = COMPARED) -> None:
        self._stored, self._space, self._layer, self._compared = vectors, space, layer, compared
        super().__init__(None, dim, rows=StoredRows(vectors, space, layer, 0))

    def get(self, positions: NDArray[Any]) -> NDArray[np.float32]:
        positions = np.asarray(positions, dtype=np.int64)
        with self._lock:
            held = self.held(positions)
        vectors = np.zeros((len(positions), self.dim), dtype=np.float32)
        if held.any():
            vectors[held] = self._stored.get(self._space, self._layer, positions[held], self.dim)
        return vectors

    def dot(self, positions: NDArray[Any], query: NDArray[Any]) -> NDArray[np.float32]:
        positions = np.asarray(positions, dtype=np.int64)
        scores = np.full(len(positions), MISSING, dtype=np.float32)
        with self._lock:
            held = self.held(positions)
        if held.any():
            holders, products = self._stored.dot(
                self._space, self._layer, np.unique(positions[held]), as_query(query, self.dim)
            )
            there = np.flatnonzero(held & np.isin(positions, holders))
            scores[there] = products[np.searchsorted(holders, positions[there])]
        return scores

    def top(
        self, query: NDArray[Any], k: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[Ints, NDArray[np.float32]]:
        """As a table in memory gives them where few are allowed; of many, those that the store's index brings up, unless it
        brings up too few of them."""
        with self._lock:
            held = self._rows.filled[: self._rows.count]
        positions = np.flatnonzero(held if allowed is None else held[: len(allowed)] & allowed[: len(held)])
        if len(positions) > self._compared:
            unwanted = np.setdiff1d(np.flatnonzero(held), positions, assume_unique=True)
            near, scores = self._stored.nearest(self._space, as_query(query, self.dim), k, unwanted)
            is_ours = np.isin(near, positions)
            if is_ours.sum() >= k:
                return best(near[is_ours], scores[is_ours], k)
        return best(positions, self.dot(positions, query), k)

    def prepare(self) -> None:
        """The store has its index."""


def shelf_at(where: Path | Vectors | None) -> Shelf:
    """The shelf for an index folder, for a store that keeps vectors, or for neither."""
    if where is None:
        return Shelf()
    return FolderShelf(where) if isinstance(where, Path) else StoreShelf(where)
