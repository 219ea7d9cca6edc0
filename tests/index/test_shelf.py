"""Where vectors are kept: in memory, in a folder, or in a store that compares them itself, with the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moechat.index.shelf import SWEPT, FolderShelf, ServedTable, Shelf, StoreShelf, shelf_at
from moechat.index.vector_rows import text_key
from moechat.index.vectors import MISSING, VectorTable

DIM, SPACE = 8, "made-up"


class KeptVectors:
    """A store of vectors as the database keeps them: rows by space, layer and position, numbered by generation."""

    def __init__(self, searched_layer: str = "") -> None:
        self.searched_layer, self.generation = searched_layer, 0
        self.rows: dict[tuple[str, str, int], tuple[int, Any, Any]] = {}
        self.own_manifest: dict[str, Any] = {}
        self.sweeps: list[list[str]] = []
        self.searches = self.misses = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        yield

    def _of(self, space: str, layer: str) -> dict[int, tuple[int, Any, Any]]:
        return {key[2]: row for key, row in sorted(self.rows.items()) if key[:2] == (space, layer)}

    def since(self, space: str, layer: str, generation: int, dim: int) -> tuple[int, Any, Any, Any]:
        rows = {position: row for position, row in self._of(space, layer).items() if row[0] > generation}
        keys = np.array([row[1] for row in rows.values()], np.uint64).reshape(-1, 2)
        vectors = np.array([row[2][:dim] for row in rows.values()], np.float32).reshape(len(rows), dim)
        return self.generation, np.array([*rows], np.int64), keys, vectors

    def get(self, space: str, layer: str, positions: Any, dim: int) -> Any:
        rows = self._of(space, layer)
        return np.array([rows[int(position)][2] for position in positions], np.float32).reshape(-1, dim)

    def dot(self, space: str, layer: str, positions: Any, query: Any) -> tuple[Any, Any]:
        rows = self._of(space, layer)
        holders = np.array([position for position in positions if int(position) in rows], np.int64)
        return holders, np.array([rows[int(position)][2] @ query for position in holders], np.float32)

    def nearest(self, space: str, query: Any, k: int, without: Any) -> tuple[Any, Any]:
        self.searches += 1
        wanted = np.array([one for one in self._of(space, self.searched_layer) if one not in without], np.int64)
        positions, scores = self.dot(space, self.searched_layer, wanted, query)
        order = np.argsort(-scores)[: max(k - self.misses, 0)]
        return positions[order], scores[order]

    def put(self, space: str, layer: str, positions: Any, keys: Any, vectors: Any) -> int:
        self.generation += 1
        for position, key, vector in zip(positions, keys, vectors, strict=True):
            self.rows[space, layer, int(position)] = (self.generation, key.copy(), vector.copy())
        return self.generation

    def clear(self, space: str, layer: str, positions: Any) -> None:
        self.generation += 1
        for position in positions:
            self.rows.pop((space, layer, int(position)), None)

    def spaces(self) -> list[str]:
        return sorted({space for space, _, _ in self.rows})

    def manifest(self) -> dict[str, Any]:
        return self.own_manifest

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        self.own_manifest = dict(manifest)

    def last_sweep(self) -> bytes:
        return str(len(self.sweeps)).encode()

    def begin_sweep(self, spaces: Sequence[str]) -> None:
        self.sweeps.append(list(spaces))
        self.rows = {key: row for key, row in self.rows.items() if key[0] in spaces}


def unit(rows: int, seed: int = 1) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(rows, DIM)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fill(table: VectorTable, positions: Sequence[int], vectors: Any) -> None:
    table.put(np.array(positions), [text_key(str(position)) for position in positions], vectors)


def equal(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return one[0].tolist() == other[0].tolist() and bool(np.allclose(one[1], other[1], atol=1e-5))


@pytest.mark.parametrize("layer", ["served", "read"])
def test_a_table_over_a_store_answers_as_one_in_memory_and_knows_what_others_write(layer: str) -> None:
    kept, vectors, query = KeptVectors("served"), unit(12), unit(1, 2)[0]
    ours, theirs = (StoreShelf(kept).table(SPACE, layer, DIM) for _ in range(2))
    assert isinstance(ours, ServedTable) is (layer == "served")
    memory = Shelf().table(SPACE, layer, DIM)
    for table in (ours, memory):
        fill(table, [0, 2, 3, 7], vectors[:4])
    theirs.refresh()
    fill(theirs, [2, 9], vectors[4:6])
    fill(memory, [2, 9], vectors[4:6])
    for table in (ours, theirs):
        table.refresh()
        positions = np.array([9, 1, 2, 0, 99, -1])
        assert len(table) == 10 and table.contents()[0].tolist() == [0, 2, 3, 7, 9]
        assert np.allclose(table.get(positions), memory.get(positions), atol=1e-6)
        assert np.allclose(table.dot(positions, query), memory.dot(positions, query), atol=1e-5)
        assert table.dot(positions, query)[[1, 4, 5]].tolist() == [MISSING] * 3
        assert not table.get(np.array([1, 99])).any() and not table.dot(np.array([1]), query)[0] > MISSING
        allowed = np.array([True] * 4 + [False] * 4 + [True])
        assert equal(table.top(query, 3), memory.top(query, 3))
        assert equal(table.top(query, 3, allowed), memory.top(query, 3, allowed))
        assert equal(table.top(query, 0), memory.top(query, 0))
    assert ours.sweep(lambda _: np.array([0, 9])) == 3
    theirs.refresh()
    assert sorted(position for *_, position in kept.rows) == [0, 9]
    ours.close()
    ours.refresh()
    assert ours.contents()[0].tolist() == [0, 9]


def test_of_many_the_stores_own_search_is_asked_and_checked() -> None:
    kept, query = KeptVectors("served"), unit(1, 2)[0]
    few = ServedTable(kept, SPACE, "served", DIM, compared=40)
    many = ServedTable(kept, SPACE, "served", DIM, compared=39)
    fill(few, range(40), unit(40))
    many.refresh()
    many.prepare()
    exact = few.top(query, 5)
    assert kept.searches == 0 and equal(many.top(query, 5), exact) and kept.searches == 1
    assert many.top(query, 5, np.arange(40) < 39)[0].tolist() == few.top(query, 5, np.arange(40) < 39)[0].tolist()
    assert kept.searches == 1, "so few as may be compared are"
    kept.misses = 2
    assert equal(many.top(query, 5), exact) and kept.searches == 2, "where it brings up too few, each is compared"
    with pytest.raises(ValueError, match="shape"):
        many.top(query[:4], 5)


def test_a_store_keeps_manifest_and_models_and_lets_go_of_those_that_serve_no_more() -> None:
    kept = KeptVectors()
    shelf = shelf_at(kept)  # type: ignore[arg-type]
    assert isinstance(shelf, StoreShelf) and shelf.folder(SPACE) is None and not shelf.has(SPACE)
    tables = {space: {"diary": shelf.table(space, "diary", DIM)} for space in (SPACE, "older")}
    for layers in tables.values():
        fill(layers["diary"], [0, 1], unit(2))
    shelf.write_manifest({"serving": SPACE})
    assert shelf.manifest() == {"serving": SPACE} and shelf.has(SPACE) and shelf.has("older")
    before = shelf.last_sweep()
    assert shelf.sweep({SPACE: tables[SPACE]}, {"diary": lambda _: np.array([1])}) == 1
    assert kept.sweeps == [[SPACE]] and shelf.last_sweep() != before
    assert [*kept.rows] == [(SPACE, "diary", 1)] and not shelf.has("older")


def test_a_folder_keeps_them_over_a_restart_and_a_damaged_manifest_is_an_empty_one(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path / ".index")
    assert isinstance(shelf, FolderShelf) and shelf.manifest() == {} and shelf.last_sweep() == b""
    table = shelf.table(SPACE, "diary", DIM)
    fill(table, [0, 1, 2], unit(3))
    table.close()
    shelf.write_manifest({"serving": "模型"})
    again = FolderShelf(tmp_path / ".index")
    assert again.manifest() == {"serving": "模型"} and again.has(SPACE) and not again.has("another")
    assert again.folder(SPACE) == tmp_path / ".index" / f"vectors-{SPACE}"
    assert again.table(SPACE, "diary", DIM).contents()[0].tolist() == [0, 1, 2]
    for text in ("[]", "{", "\xff"):
        (tmp_path / ".index" / "manifest.json").write_text(text, encoding="latin-1")
        assert again.manifest() == {}


def test_a_sweep_of_a_folder_reaches_every_model_and_leaves_nothing_of_what_was_put_aside(tmp_path: Path) -> None:
    shelf = FolderShelf(tmp_path)
    layers = {SPACE: "diary", "another": "core", "older": "diary.old1", "kept": "diary.old2", "odd": "strange"}
    tables = {name: shelf.table(name, layer, DIM) for name, layer in layers.items()}
    for name, table in tables.items():
        fill(table, [0, 1, 2] if name != "older" else [2], unit(3 if name != "older" else 1))
        table.flush()
    (tmp_path / "gone-1" / "diary").mkdir(parents=True)
    open_table = tables[SPACE]
    lives = {"diary": lambda _: np.array([0, 1]), "core": lambda _: np.array([0])}
    assert shelf.sweep({SPACE: {"diary": open_table}}, lives) == 1 + 2 + 1 + 1 + 3
    assert open_table.contents()[0].tolist() == [0, 1]
    assert not (tmp_path / "gone-1").exists() and not (tmp_path / "vectors-older" / "diary.old1").exists()
    assert shelf.table("kept", "diary.old2", DIM).contents()[0].tolist() == [0, 1]
    assert shelf.table("odd", "strange", DIM).contents()[0].tolist() == []
    first = shelf.last_sweep()
    assert first == (tmp_path / SWEPT).read_bytes() and len(first) == 16
    shelf.sweep({}, lives)
    assert shelf.last_sweep() != first


def test_in_memory_a_sweep_leaves_what_lives_and_nothing_is_there_for_another_process() -> None:
    shelf = shelf_at(None)
    table = shelf.table(SPACE, "core", DIM)
    fill(table, [0, 1], unit(2))
    shelf.write_manifest({"serving": SPACE})
    assert (shelf.folder(SPACE), shelf.has(SPACE), shelf.manifest(), shelf.last_sweep()) == (None, False, {}, b"")
    assert shelf.sweep({SPACE: {"core": table}}, {"core": lambda _: np.array([1])}) == 1
    assert table.contents()[0].tolist() == [1] and len(shelf.last_sweep()) == 16
