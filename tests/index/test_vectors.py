"""The vector table against slow oracles, interrupted, shared, damaged, and beyond the size of a flat scan."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.ai.embedding import HashEmbedder
from moechat.index.dense import embed_kept
from moechat.index.vector_rows import pack_keys, text_key
from moechat.index.vectors import MISSING, VectorTable, having, meets, tables_under

DIM = 24


def unit_rows(n: int, dim: int = DIM, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def clustered(n: int, clusters: int, dim: int = DIM, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dim)).astype(np.float32)
    rows = centres[rng.integers(0, clusters, n)] + 0.4 * rng.standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def numbered_keys(n: int, start: int = 0) -> list[bytes]:
    return [text_key(f"text {start + number}") for number in range(n)]


def filled_table(folder: Path | None, vectors: np.ndarray, **options: int) -> VectorTable:
    table = VectorTable(folder, vectors.shape[1], **options)
    table.put(np.arange(len(vectors)), numbered_keys(len(vectors)), vectors)
    return table


def sweep_out(table: VectorTable, positions: np.ndarray) -> None:
    """Everything lives but what stands at these positions."""
    table.sweep(lambda each: np.setdiff1d(np.arange(len(each)), positions))


class SlowTable:
    """The oracle: a dict of rows and a loop."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[bytes, np.ndarray]] = {}

    def dot(self, positions: list[int], query: np.ndarray) -> list[float]:
        return [float(self.rows[p][1] @ query) if p in self.rows else MISSING for p in positions]

    def top(self, query: np.ndarray, k: int, allowed: np.ndarray | None) -> list[tuple[float, int]]:
        ok = [p for p in self.rows if allowed is None or (p < len(allowed) and allowed[p])]
        return sorted((-float(self.rows[p][1] @ query), p) for p in ok)[:k]


# ---- one table


ROWS = st.lists(st.tuples(st.integers(0, 700), st.integers(0, 40)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(
    puts=st.lists(st.tuples(st.sampled_from(["put", "erase", "reopen"]), ROWS), min_size=1, max_size=6),
    asked=st.lists(st.integers(0, 800), max_size=60),
    k=st.integers(0, 30),
    mask=st.none() | st.integers(0, 2**32 - 1),
    on_disk=st.booleans(),
)
def test_it_agrees_with_a_slow_table_whatever_is_done_to_it(tmp_path_factory, puts, asked, k, mask, on_disk):
    folder = tmp_path_factory.mktemp("table") / "diary" if on_disk else None
    pool, slow = unit_rows(41, seed=7), SlowTable()
    table = VectorTable(folder, DIM)
    for action, rows in puts:
        rows = list(dict(rows).items())
        positions = np.array([position for position, _ in rows])
        if action == "put":
            table.put(positions, [text_key(str(text)) for _, text in rows], pool[[text for _, text in rows]])
            slow.rows.update({position: (text_key(str(text)), pool[text]) for position, text in rows})
        elif action == "erase":
            sweep_out(table, positions)
            slow.rows = {position: row for position, row in slow.rows.items() if position not in positions}
        elif folder is not None:
            table.close()
            table = VectorTable(folder, DIM)
    query = unit_rows(1, seed=9)[0]
    allowed = None if mask is None else np.random.default_rng(mask).random(600) < 0.5
    np.testing.assert_allclose(table.dot(np.array(asked, dtype=int), query), slow.dot(asked, query), atol=1e-6)
    positions, scores = table.top(query, k, allowed)
    expected = slow.top(query, k, allowed)
    np.testing.assert_allclose(scores, [-score for score, _ in expected], atol=1e-6)
    assert sorted(np.round(table.dot(positions, query), 5)) == sorted(np.round(scores, 5))
    assert len(table) == max(slow.rows, default=-1) + 1
    keys = [text_key(str(text)) for text in range(41)]
    held = {row[0] for row in slow.rows.values()}
    for key, position in zip(keys, table.lookup(keys), strict=True):
        assert (position >= 0) == (key in held)
        assert position < 0 or slow.rows[int(position)][0] == key
    wanted = np.arange(800)
    left = table.missing(wanted, [slow.rows[p][0] if p in slow.rows else text_key("none") for p in wanted])
    assert set(left.tolist()) == set(range(800)) - set(slow.rows)
    table.close()


def test_equal_scores_come_in_order_of_position_wherever_they_stand():
    rows = unit_rows(300)
    rows[[250, 17, 101, 40]] = rows[5]
    table = filled_table(None, rows)
    positions, scores = table.top(rows[5], 3)
    assert positions.tolist() == [5, 17, 40]
    assert len(set(scores.tolist())) == 1
    positions, _ = table.top(rows[5], 3, np.arange(300) > 17)
    assert positions.tolist() == [40, 101, 250]


def test_a_run_and_the_same_rows_shuffled_score_the_same():
    table = filled_table(None, unit_rows(5000))
    query, run = unit_rows(1, seed=3)[0], np.arange(1000, 3000)
    shuffled = np.random.default_rng(1).permutation(run)
    scattered = np.random.default_rng(2).choice(5000, 60, replace=False)
    by_position = dict(zip(run.tolist(), table.dot(run, query).tolist(), strict=True))
    assert [by_position[p] for p in shuffled.tolist()] == table.dot(shuffled, query).tolist()
    np.testing.assert_allclose(table.dot(scattered, query), table.get(scattered) @ query, atol=1e-6)


def test_positions_that_hold_nothing_score_as_missing_and_are_never_found():
    table = VectorTable(None, DIM)
    table.put(np.array([3, 900]), numbered_keys(2), unit_rows(2))
    assert table.dot(np.array([0, 3, 901, 5000, -1]), unit_rows(1)[0])[[0, 2, 3, 4]].tolist() == [MISSING] * 4
    assert sorted(table.top(unit_rows(1)[0], 10)[0].tolist()) == [3, 900]
    assert not table.get(np.array([0, 4000])).any()
    assert table.held(np.array([0, 3, 900, 901, 5000, -1])).tolist() == [False, True, True, False, False, False]


def test_an_empty_table_finds_nothing(tmp_path):
    for folder in (None, tmp_path / "none"):
        table = VectorTable(folder, DIM)
        positions, scores = table.top(unit_rows(1)[0], 5)
        assert len(positions) == len(scores) == len(table) == 0
        assert table.lookup([text_key("a")]).tolist() == [-1]
        assert table.missing(np.array([2, 0]), numbered_keys(2)).tolist() == [2, 0]
        table.close()
    assert not (tmp_path / "none").exists()


def test_wrong_shapes_are_refused():
    table = VectorTable(None, DIM)
    with pytest.raises(ValueError, match="1 positions"):
        table.put(np.array([0]), numbered_keys(1), unit_rows(1, DIM + 1))
    for positions, keys, rows in (([0], 2, 1), ([-1], 1, 1), ([0, 1], 2, 1)):
        with pytest.raises(ValueError, match=f"{len(positions)} positions"):
            table.put(np.array(positions), numbered_keys(keys), unit_rows(rows))
    assert not len(table)
    with pytest.raises(ValueError, match="query"):
        table.top(np.zeros(DIM + 1, dtype=np.float32), 3)


# ---- fills, processes, forgetting


def test_an_interrupted_fill_goes_on_from_what_is_missing(tmp_path):
    vectors, keys, positions = unit_rows(1000), numbered_keys(1000), np.arange(1000)
    first = VectorTable(tmp_path / "diary", DIM)
    for start in (0, 640):  # newest first, or in any order: not only a prefix
        rows = positions[start : start + 160]
        first.put(rows, [keys[row] for row in rows], vectors[rows])
    del first  # never closed: the process was killed
    second = VectorTable(tmp_path / "diary", DIM)
    left = second.missing(positions, keys)
    assert left.tolist() == [p for p in range(1000) if not (p < 160 or 640 <= p < 800)]
    second.put(left, [keys[row] for row in left], vectors[left])
    assert not len(second.missing(positions, keys))
    np.testing.assert_array_equal(second.get(positions), vectors)
    second.close()


def test_a_row_caught_between_key_and_vector_is_missing(tmp_path):
    """What a kill inside ``put`` leaves: the key zeroed, the vector changed or not."""
    table = filled_table(tmp_path / "diary", unit_rows(10))
    table.close()
    keys = tmp_path / "diary" / "keys.bin"
    data = bytearray(keys.read_bytes())
    data[16 + 4 * 16 : 16 + 5 * 16] = bytes(16)
    keys.write_bytes(data)
    again = VectorTable(tmp_path / "diary", DIM)
    assert again.missing(np.arange(10), numbered_keys(10)).tolist() == [4]
    again.close()


WRITER = """
import sys, numpy as np
from pathlib import Path
from moechat.index.vectors import VectorTable
from moechat.index.vector_rows import text_key
table = VectorTable(Path(sys.argv[1]), 256)
for turn in range(10**9):
    rows = (np.arange(40) * 7 + turn) % 3000
    vectors = np.zeros((40, 256), np.float32)
    vectors[np.arange(40), (rows + turn) % 256] = 1
    table.put(rows, [text_key(str((row + turn) % 256)) for row in rows], vectors)
    print(turn, flush=True)
"""


@pytest.mark.parametrize("turns", [1, 40, 300])
def test_a_process_killed_while_it_overwrites_rows_leaves_them_right_or_missing(tmp_path, turns):
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", WRITER, str(tmp_path / "diary")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdout is not None
        for _ in range(turns):
            process.stdout.readline()
        process.kill()
    table = VectorTable(tmp_path / "diary", 256)
    held = np.flatnonzero(table.held(np.arange(3000)))
    assert len(held)
    meant = np.argmax(table.get(held), axis=1)
    assert not len(table.missing(held, [text_key(str(text)) for text in meant]))
    np.testing.assert_allclose(np.linalg.norm(table.get(held), axis=1), 1, atol=1e-3)
    table.close()


def test_a_changed_text_is_missing_at_its_position_until_it_is_put_again():
    table = filled_table(None, unit_rows(5))
    keys = numbered_keys(5)
    keys[2] = text_key("as corrected")
    assert table.missing(np.arange(5), keys).tolist() == [2]
    table.put(np.array([2]), [keys[2]], unit_rows(1, seed=8))
    assert not len(table.missing(np.arange(5), keys))
    assert table.lookup([text_key("text 2"), keys[2]]).tolist() == [-1, 2]


def test_two_tables_on_one_folder_see_each_other(tmp_path):
    vectors, keys = unit_rows(2000), numbered_keys(2000)
    one, two = VectorTable(tmp_path / "diary", DIM), VectorTable(tmp_path / "diary", DIM)
    one.put(np.arange(300), keys[:300], vectors[:300])
    two.refresh()
    assert len(two) == 300
    two.put(np.arange(300, 2000), keys[300:], vectors[300:])  # grows the files under the other
    one.put(np.arange(299, 310), keys[299:310], vectors[299:310])  # the same bytes again, within its old mapping
    one.refresh()
    for table in (one, two):
        assert len(table) == 2000
        np.testing.assert_array_equal(table.get(np.arange(2000)), vectors)
        assert table.lookup(keys).tolist() == list(range(2000))
        table.close()


def test_both_of_two_processes_may_grow_the_files(tmp_path):
    vectors, keys = unit_rows(900), numbered_keys(900)
    one, two = VectorTable(tmp_path / "diary", DIM), VectorTable(tmp_path / "diary", DIM)
    one.put(np.arange(600), keys[:600], vectors[:600])
    two.put(np.array([10]), keys[10:11], vectors[10:11])  # knows of no rows yet, and cuts nothing off
    two.put(np.arange(600, 900), keys[600:], vectors[600:])
    one.refresh()
    assert not len(one.missing(np.arange(900), keys))
    one.close()
    two.close()


def test_what_is_forgotten_leaves_no_bytes(tmp_path):
    vectors = unit_rows(50)
    table = filled_table(tmp_path / "diary", vectors)
    sweep_out(table, np.array([7, 4000]))
    table.close()
    assert vectors[7].tobytes() not in (tmp_path / "diary" / "vectors.f32").read_bytes()
    assert text_key("text 7") not in (tmp_path / "diary" / "keys.bin").read_bytes()
    again = VectorTable(tmp_path / "diary", DIM)
    assert again.missing(np.arange(50), numbered_keys(50)).tolist() == [7]
    again.close()


# ---- damage


@pytest.mark.parametrize("name", ["vectors.f32", "keys.bin"])
@pytest.mark.parametrize("left", [0, 7, 16, 1000, 4001])
def test_a_truncated_file_costs_only_the_rows_cut_off(tmp_path, name, left):
    vectors, keys = unit_rows(200), numbered_keys(200)
    filled_table(tmp_path / "diary", vectors).close()
    path = tmp_path / "diary" / name
    path.write_bytes(path.read_bytes()[:left])
    table = VectorTable(tmp_path / "diary", DIM)
    whole = max(0, left // (DIM * 4) if name == "vectors.f32" else (left - 16) // 16)
    lost = table.missing(np.arange(200), keys)
    assert lost.tolist() == list(range(min(whole, 200), 200))
    table.put(lost, [keys[row] for row in lost], vectors[lost])
    np.testing.assert_array_equal(table.get(np.arange(200)), vectors)
    assert table.lookup(keys).tolist() == list(range(200))
    table.close()


@pytest.mark.parametrize("name", ["vectors.f32", "keys.bin"])
def test_a_file_that_is_gone_makes_all_rows_missing(tmp_path, name):
    filled_table(tmp_path / "diary", unit_rows(20)).close()
    (tmp_path / "diary" / name).unlink()
    table = VectorTable(tmp_path / "diary", DIM)
    assert len(table.missing(np.arange(20), numbered_keys(20))) == 20
    table.put(np.array([1]), numbered_keys(1, 1), unit_rows(1))
    assert len(table.missing(np.arange(20), numbered_keys(20))) == 19
    table.close()


def test_vectors_of_another_length_are_not_taken_for_ours(tmp_path):
    filled_table(tmp_path / "diary", unit_rows(20, 32)).close()
    table = VectorTable(tmp_path / "diary", DIM)
    assert len(table) == 0
    table.put(np.arange(20), numbered_keys(20), unit_rows(20))
    np.testing.assert_array_equal(table.get(np.arange(20)), unit_rows(20))
    table.close()


def test_garbage_among_the_numbers_never_wins(tmp_path):
    vectors = unit_rows(100)
    filled_table(tmp_path / "diary", vectors).close()
    path = tmp_path / "diary" / "vectors.f32"
    rows = np.fromfile(path, dtype="<f4").reshape(-1, DIM)
    rows[3], rows[4, 0], rows[5] = np.nan, np.inf, 3 * rows[5]
    rows.tofile(path)
    table = VectorTable(tmp_path / "diary", DIM)
    assert table.dot(np.array([3, 4]), vectors[0]).tolist() == [MISSING, MISSING]
    assert not {3, 4} & set(table.top(vectors[9], 100)[0].tolist())
    table.close()


def test_a_folder_deleted_while_open_is_noticed_at_the_next_refresh(tmp_path):
    table = filled_table(tmp_path / "diary", unit_rows(20))
    for path in (tmp_path / "diary").iterdir():
        path.unlink()
    (tmp_path / "diary").rmdir()
    table.refresh()
    assert len(table) == 0
    table.put(np.array([0]), numbered_keys(1), unit_rows(1))
    table.close()
    again = VectorTable(tmp_path / "diary", DIM)
    assert len(again) == 1
    again.close()


# ---- beyond the flat scan

SMALL = 4000 * DIM  # rows * dim from which the tables of these tests ask the coarse index


def recall_at(k: int, table: VectorTable, vectors: np.ndarray, queries: np.ndarray) -> float:
    near = [set(table.top(query, k)[0].tolist()) for query in queries]
    truth = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]
    return float(np.mean([len(rows & set(best.tolist())) / k for rows, best in zip(near, truth, strict=True)]))


def test_the_coarse_index_finds_nearly_what_the_flat_one_finds_and_scores_it_the_same(tmp_path):
    vectors = clustered(12000, 200, dim=128)
    queries = vectors[:60] + 0.05 * unit_rows(60, 128, seed=5)
    flat, table = filled_table(None, vectors), filled_table(tmp_path / "diary", vectors, flat_floats=SMALL)
    assert recall_at(10, table, vectors, queries) >= 0.98
    assert recall_at(50, table, vectors, queries) >= 0.95
    positions, scores = table.top(queries[0], 20)
    np.testing.assert_array_equal(scores, flat.dot(positions, queries[0]))
    few = np.zeros(12000, dtype=bool)
    few[::40] = True
    np.testing.assert_array_equal(table.top(queries[0], 50, few)[0], flat.top(queries[0], 50, few)[0])
    half = np.arange(12000) % 3 > 0
    assert half[table.top(queries[0], 30, half)[0]].all()
    assert len(table.top(queries[0], 12000)[0]) == 12000
    table.close()


def test_the_coarse_index_serves_vectors_that_are_sparse_and_ones_that_all_point_one_way():
    rng = np.random.default_rng(1)
    chars = np.repeat(rng.integers(0x4E00, 0x4E00 + 300, (600, 12)), 10, axis=0)  # ten texts about each of 600 things
    chars[np.arange(6000), rng.integers(0, 12, 6000)] = 0x6D77
    sparse = HashEmbedder(256).embed(["".join(map(chr, row)) for row in chars])
    assert recall_at(10, filled_table(None, sparse, flat_floats=SMALL), sparse, sparse[::100]) >= 0.98
    leaning = clustered(6000, 100, dim=128) + 3 * unit_rows(1, 128, seed=2)
    leaning /= np.linalg.norm(leaning, axis=1, keepdims=True)
    assert recall_at(10, filled_table(None, leaning, flat_floats=SMALL), leaning, leaning[::100]) >= 0.98


def test_rows_put_after_the_first_search_are_found_at_once_and_erased_ones_never():
    vectors = clustered(9000, 100)
    table = filled_table(None, vectors, flat_floats=SMALL)
    table.prepare()
    new = unit_rows(3, seed=77)
    table.put(np.array([9000, 9001, 20]), numbered_keys(3, 9000), new)
    for row, position in enumerate([9000, 9001, 20]):
        assert table.top(new[row], 1)[0].tolist() == [position]
    sweep_out(table, np.array([9001, 30]))
    assert 9001 not in table.top(new[1], 50)[0]
    assert 30 not in table.top(vectors[30], 50)[0]
    table.close()
    assert len(table.top(new[0], 5)[0]) == 0


def test_a_search_follows_what_another_table_on_the_folder_changed(tmp_path):
    vectors = clustered(9000, 100)
    one = filled_table(tmp_path / "diary", vectors, flat_floats=SMALL)
    two = VectorTable(tmp_path / "diary", DIM, flat_floats=SMALL)
    two.prepare()
    new = unit_rows(3001, seed=6)
    one.put(np.arange(9000, 12000), numbered_keys(3000, 9000), new[:3000])
    one.put(np.array([5]), [text_key("corrected")], new[3000:])
    two.refresh()
    assert two.top(new[7], 1)[0].tolist() == [9007]
    assert two.top(new[3000], 1)[0].tolist() == [5]
    one.close()
    two.close()


def test_damaged_vectors_in_a_large_table_cost_only_themselves(tmp_path):
    vectors = clustered(6000, 50)
    filled_table(tmp_path / "diary", vectors).close()
    path = tmp_path / "diary" / "vectors.f32"
    rows = np.fromfile(path, dtype="<f4").reshape(-1, DIM)
    rows[3], rows[4, 0] = np.nan, np.inf
    rows.tofile(path)
    table = VectorTable(tmp_path / "diary", DIM, flat_floats=SMALL)
    assert table.top(vectors[9], 1)[0].tolist() == [9]
    assert not {3, 4} & set(table.top(vectors[4], 500)[0].tolist())
    table.close()


# ---- keys, thresholds, the small index, the cache


def test_a_score_meets_its_threshold_in_spite_of_float32():
    assert float(np.float32(0.38)) < 0.38 or float(np.float32(0.7)) < 0.7  # why there is a tolerance
    assert meets(np.float32(0.38), 0.38)
    assert not meets(np.float32(0.3799), 0.38)
    assert meets(np.array([0.5, 0.499], dtype=np.float32), 0.5).tolist() == [True, False]


def test_keys_tell_texts_apart_and_take_any_text():
    keys = {text_key(text) for text in ("", "你好", "你好 ", "\ud800", "a\x00b")}
    assert len(keys) == 5
    assert all(len(key) == 16 for key in keys)
    assert pack_keys([text_key("a"), text_key("b")]).shape == (2, 2)


@settings(max_examples=60)
@given(
    stand=st.lists(st.integers(-1, 60), max_size=70), k=st.integers(0, 70), seed=st.integers(0, 99),
    put_anew=st.sets(st.integers(0, 59), max_size=20), forgotten=st.sets(st.integers(0, 59), max_size=20),
)  # fmt: skip
def test_the_nearest_of_a_list_are_those_of_a_full_sort_whatever_came_and_went(stand, k, seed, put_anew, forgotten):
    """Several of a list may have one vector, or equal ones, or none."""
    rows, query = unit_rows(60, seed=seed), unit_rows(1, seed=100)[0]
    rows[[3, 15, 9, 30]] = rows[1]
    table = filled_table(None, rows)
    anew = sorted(put_anew)
    rows[anew] = rows[[(row + 7) % 60 for row in anew]]
    table.put(np.array(anew, dtype=int), numbered_keys(len(anew), 500), rows[anew])
    sweep_out(table, np.array(sorted(forgotten), dtype=int))
    places, scores = table.nearest(query, np.array(stand, dtype=np.int64), k)
    held = [place for place, position in enumerate(stand) if 0 <= position < 60 and position not in forgotten]
    alike = {position: next(i for i in range(60) if (rows[i] == rows[position]).all()) for position in range(60)}
    slow = {place: round(float(rows[alike[stand[place]]].astype(np.float64) @ query), 9) for place in held}
    assert places.tolist() == sorted(held, key=lambda place: (-slow[place], place))[:k]
    np.testing.assert_allclose(scores, [slow[place] for place in places.tolist()], atol=1e-6)


class CountingEmbedder(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(64)
        self.seen: list[str] = []

    def embed(self, texts, kind="passage"):
        self.seen.extend(texts)
        return super().embed(texts, kind)


def test_only_new_texts_are_embedded_and_the_cache_outlives_the_process(tmp_path):
    embedder, texts = CountingEmbedder(), ["西湖", "龙井茶", "西湖", "", "Wren's lamp"]
    table = VectorTable(tmp_path / "lore", 64)
    first = table.get(embed_kept(embedder, table, texts))
    assert sorted(embedder.seen) == sorted(["西湖", "龙井茶", "", "Wren's lamp"])
    np.testing.assert_array_equal(first, HashEmbedder(64).embed(texts))
    table.close()
    table = VectorTable(tmp_path / "lore", 64)
    again = table.get(embed_kept(embedder, table, [*texts, "新的"]))
    assert embedder.seen[4:] == ["新的"]
    np.testing.assert_array_equal(again[:5], first)
    assert embed_kept(embedder, table, []).tolist() == []
    table.close()


def test_two_processes_that_append_do_not_write_over_each_other(tmp_path):
    embedder = HashEmbedder(64)
    one, two = VectorTable(tmp_path / "lore", 64), VectorTable(tmp_path / "lore", 64)
    for number in range(40):
        embed_kept(embedder, (one, two)[number % 2], [f"entry {number}"])
    one.refresh()
    keys = [text_key(f"entry {number}") for number in range(40)]
    assert sorted(one.lookup(keys).tolist()) == list(range(40))
    np.testing.assert_array_equal(
        one.get(one.lookup(keys)), embedder.embed([f"entry {number}" for number in range(40)])
    )
    one.close()
    two.close()


def test_a_sweep_overwrites_what_does_not_live_in_every_table_below_a_folder(tmp_path: Path) -> None:
    keys = [text_key(text) for text in ("好", "一", "好", "二", "好")]
    for name in ("a/diary", "b/core"):
        table = VectorTable(tmp_path / name, DIM)
        table.put(np.arange(5), keys, unit_rows(5))
        table.close()
    tables = tables_under(tmp_path)
    assert [table.folder for table in tables] == [tmp_path / "a/diary", tmp_path / "b/core"]
    for table in tables:
        assert table.having([text_key("好"), text_key("二")]).tolist() == [0, 2, 3, 4]
        assert table.sweep(having(lambda: [text_key("一"), text_key("二")])) == 3
        assert table.having([text_key("好")]).tolist() == []
        assert table.held(np.arange(5)).tolist() == [False, True, False, True, False]
        assert not table.get(np.array([0, 2, 4])).any()
        assert table.sweep(having(lambda: [text_key("一"), text_key("二")])) == 0
        table.close()


@pytest.mark.parametrize("folder", [True, False])
def test_a_sweep_may_leave_nothing_and_the_table_goes_on(tmp_path: Path, folder: bool) -> None:
    embedder, table = HashEmbedder(DIM), VectorTable(tmp_path / "core" if folder else None, DIM)
    embed_kept(embedder, table, ["一", "二"])
    assert table.sweep(having(list)) == 2
    assert len(table) == 0
    embed_kept(embedder, table, ["三"])
    assert table.lookup([text_key("一"), text_key("三")]).tolist() == [-1, 0]
    table.close()


def test_a_sweep_overwrites_a_vector_that_a_killed_process_left_without_its_key(tmp_path: Path) -> None:
    table = VectorTable(tmp_path / "core", DIM)
    table.put(np.arange(3), [text_key(text) for text in "一二三"], unit_rows(3))
    table.close()
    vectors = (tmp_path / "core" / "vectors.f32").read_bytes()
    keys = tmp_path / "core" / "keys.bin"
    keys.write_bytes(keys.read_bytes()[:32] + bytes(len(keys.read_bytes()) - 32))
    table = VectorTable(tmp_path / "core", DIM)
    assert table.sweep(having(lambda: [text_key("一")])) == 0
    table.close()
    left = (tmp_path / "core" / "vectors.f32").read_bytes()
    assert (left[: 4 * DIM], any(left[4 * DIM :])) == (vectors[: 4 * DIM], False)


def a_folder_of_vectors(folder: Path) -> None:
    (folder / "vectors.f32").unlink()
    (folder / "vectors.f32").mkdir()


def another_header(folder: Path) -> None:
    data = (folder / "keys.bin").read_bytes()
    (folder / "keys.bin").write_bytes(b"X" + data[1:])


def no_vectors(folder: Path) -> None:
    (folder / "vectors.f32").unlink()


@pytest.mark.parametrize("damage", [a_folder_of_vectors, another_header, no_vectors])
def test_a_sweep_leaves_no_key_in_files_that_cannot_be_read(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    embedder, table = HashEmbedder(DIM), VectorTable(tmp_path / "core", DIM)
    embed_kept(embedder, table, ["一", "二"])
    table.close()
    assert text_key("一") in (tmp_path / "core" / "keys.bin").read_bytes()
    damage(tmp_path / "core")
    for table in tables_under(tmp_path):
        table.sweep(having(lambda: [text_key("二")]))
        table.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(text_key("一") in path.read_bytes() for path in files)
    table = VectorTable(tmp_path / "core", DIM)
    embed_kept(embedder, table, ["三"])
    assert table.lookup([text_key("三")]).tolist() == [0]
    table.close()


def test_what_a_sweep_overtook_is_embedded_and_not_kept(tmp_path: Path) -> None:
    table = VectorTable(tmp_path / "core", DIM)
    assert embed_kept(HashEmbedder(DIM), table, ["一"], may_keep=lambda: False).tolist() == [-1]
    assert len(table) == 0


def test_files_that_earlier_versions_kept_beside_the_vectors_are_deleted(tmp_path: Path) -> None:
    for name in ("lists.npy", "centroids.npy"):
        (tmp_path / name).write_bytes(b"old")
    VectorTable(tmp_path, DIM).close()
    assert list(tmp_path.iterdir()) == []
