"""Which exchanges lack a vector: kept up to date with what comes and goes, and always what a look at all of them gives."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Signal

import numpy as np
import pytest

from moechat.index.vectors import VectorTable
from moechat.memory.diary import Diary
from moechat.memory.diary_index import TABLE
from moechat.memory.diary_vectors import DiaryVectors
from tests.houses import diary_of, told
from tests.owners import Owner


@pytest.fixture
def diary(owner: Owner) -> Diary:
    return diary_of(owner.store, owner.dense)


def missing(owner: Owner, diary: Diary) -> int:
    """How many lack a vector; a look at all must give the same."""
    diary.index.sync()
    space = owner.dense.spaces[0]
    kept = diary.vectors.missing(space)
    assert kept == DiaryVectors(owner.store, owner.dense, diary.index).missing(space)
    return kept


def say(owner: Owner, text: str) -> str:
    return told(owner.store, owner.home.clock, text, settle=True)


def test_what_comes_lacks_one_until_it_is_embedded(owner: Owner, diary: Diary) -> None:
    say(owner, "一只猫")
    assert missing(owner, diary) == 1
    say(owner, "一条狗")
    assert missing(owner, diary) == 2
    assert diary.vectors.embed_missing(Signal(), limit=1) == 1
    assert missing(owner, diary) == 1
    diary.vectors.embed_missing(Signal())
    assert missing(owner, diary) == 0


def test_who_embeds_while_another_thread_does_has_all_embedded_afterwards(owner: Owner, diary: Diary) -> None:
    for text in ("一只猫", "一条狗"):
        say(owner, text)
    diary.index.sync()
    begun, go_on = Signal(), Signal()

    def hold(_: int) -> None:
        begun.set()
        go_on.wait()

    with ThreadPoolExecutor() as threads:
        background = threads.submit(diary.vectors.embed_missing, Signal(), 1, hold)
        begun.wait()
        command = threads.submit(diary.vectors.embed_missing, Signal(), 2)
        try:
            with pytest.raises(TimeoutError):
                command.result(timeout=0.1)
        finally:
            go_on.set()
        assert (background.result(), command.result()) == (1, 1)
    assert missing(owner, diary) == 0


def test_what_goes_lacks_none_and_what_is_corrected_lacks_one_again(owner: Owner, diary: Diary) -> None:
    first, second = say(owner, "一只猫"), say(owner, "一条狗")
    assert missing(owner, diary) == 2
    owner.store.days.remove([first])
    assert missing(owner, diary) == 1
    diary.vectors.embed_missing(Signal())
    owner.store.log.correct(second, user="一条大狗")
    assert missing(owner, diary) == 1


def test_a_vector_that_is_lost_is_made_again(owner: Owner, diary: Diary) -> None:
    for text in ("一只猫", "一条狗"):
        say(owner, text)
    diary.index.sync()
    diary.vectors.embed_missing(Signal())
    assert missing(owner, diary) == 0
    table = owner.dense.spaces[0].table(TABLE)
    table.sweep(lambda _: np.zeros(0, np.int64))
    assert missing(owner, diary) == 2
    diary.vectors.embed_missing(Signal())
    assert missing(owner, diary) == 0
    assert table.folder is not None
    shutil.rmtree(table.folder)
    table.refresh()
    assert missing(owner, diary) == 2


def test_a_vector_that_another_process_sweeps_is_made_again(owner: Owner, diary: Diary) -> None:
    say(owner, "一只猫")
    diary.index.sync()
    diary.vectors.embed_missing(Signal())
    assert missing(owner, diary) == 0
    table = owner.dense.spaces[0].table(TABLE)
    other = VectorTable(table.folder, table.dim)
    other.sweep(lambda _: np.zeros(0, np.int64))
    other.close()
    assert diary.vectors.embed_missing(Signal()) == 1


class Counted(VectorTable):
    """A table that counts the positions that are looked at."""

    looks = 0

    def held(self, positions: np.ndarray) -> np.ndarray:
        self.looks += len(positions)
        return super().held(positions)


def test_a_look_after_a_turn_is_about_what_came_and_not_about_all(owner: Owner, diary: Diary) -> None:
    space = owner.dense.spaces[0]
    table = space.tables[TABLE] = Counted(None, space.dim)
    for i in range(20):
        say(owner, f"第{i}只猫")
    diary.index.sync()
    diary.vectors.embed_missing(Signal())
    assert diary.vectors.missing(space) == 0
    say(owner, "一条狗")
    diary.index.sync()
    table.looks = 0
    assert diary.vectors.missing(space) == 1
    assert table.looks <= 4
