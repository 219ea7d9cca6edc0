"""A disk that is full: what was stored before is safe, nothing is doubled afterwards, and the user reads why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from moechat.ai.failure import in_words
from moechat.errors import DiskError
from moechat.model import Understanding
from moechat.store import records
from moechat.store.files import FileStore
from tests.houses import Home, day_files, told

resource = pytest.importorskip("resource")


@contextlib.contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """No file of this process grows beyond ``size`` bytes: the system takes what fits, then refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def times_there(home: Home, id_: str) -> int:
    """How often an exchange stands in the day files, read as text."""
    return sum(path.read_text("utf-8").count(f"{id_}:") for path in day_files(home.folder))


def test_a_record_is_there_once_after_a_commit_of_the_cache_that_failed(home: Home, store: FileStore) -> None:
    told(store, home.clock, "第一轮", settle=True)
    id_ = told(store, home.clock, "第二轮")
    cache_log = store.cache.path.with_name("cache.db-wal")
    others = max(path.stat().st_size for path in home.folder.rglob("*.*") if ".index" not in path.parts)
    assert cache_log.stat().st_size > 2 * others  # so that the limit stops nothing but the cache
    with files_limited_to(cache_log.stat().st_size):
        store.log.settle()
    assert times_there(home, id_) == 1  # the day file was written, and the cache does not know
    store.log.settle()
    assert times_there(home, id_) == 1
    assert store.exchanges.by_ids([id_])[id_].exchange.user == "第二轮"
    store.log.correct(id_, user="第二轮，改过")
    assert times_there(home, id_) == 1
    assert store.verify() == (2, [])


def test_what_was_noted_is_dropped_though_the_cache_could_not_follow_the_file(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "我昨天去了西湖划船", settle=True)
    store.findings.merge([id_], Understanding({id_: "划船"}, {id_: ()}, (), (), False, "model"), [], {})
    (notes,) = home.folder.glob("memorys/*.notes.yaml")
    notes.unlink()  # so far came the first attempt; the cache, whose commit failed, does not know
    assert store.findings.notes_of([id_]) != {}
    store.findings.drop([id_])
    assert store.findings.notes_of([id_]) == {}


def test_what_a_full_disk_took_of_a_record_goes_again(home: Home, store: FileStore) -> None:
    told(store, home.clock, "第一轮", settle=True)
    (day,) = day_files(home.folder)
    before = day.read_bytes()
    with files_limited_to(len(before) + 10), pytest.raises(DiskError):
        records_append(store, day)
    assert day.read_bytes() == before


def records_append(store: FileStore, path: Path) -> None:
    with store.writing():
        records.append(path, b"x: {msg: {user: a, char: b}}\n" * 10)


def test_what_a_full_disk_took_of_a_line_goes_again(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "第一轮", settle=True)
    path = home.folder / "log.jsonl"
    before = path.read_bytes()
    with files_limited_to(len(before) + 5), pytest.raises(DiskError):
        store.log.cut(id_)
    assert path.read_bytes() == before
    assert not store.tree.cuts


def test_a_reply_that_no_longer_fits_keeps_what_was_shown_of_it(home: Home, store: FileStore) -> None:
    id_ = store.log.begin("说来话长", home.clock.now())
    store.log.rest(id_, [])
    store.replies.write(id_, "从前")
    (part,) = (home.folder / "replies").glob("*.jsonl")
    with files_limited_to(part.stat().st_size + 3):
        with pytest.raises(DiskError):
            store.replies.write(id_, "有一座很高的山")  # not shown: it is stored nowhere
        with pytest.raises(DiskError):
            store.log.finish(id_, "从前", "failed")
    with store.writing():
        pass  # whoever takes the lock next stores it
    assert (store.exchanges.get(id_).char, store.exchanges.get(id_).status) == ("从前", "stopped")


def test_a_full_disk_is_told_in_both_languages(home: Home, store: FileStore) -> None:
    with files_limited_to(0), pytest.raises(DiskError) as raised:
        store.log.begin("装不下", home.clock.now())
    assert "the disk is full: free some space, then try again" in str(raised.value)
    assert "磁盘已满：请先腾出一些空间" in in_words(raised.value, "zh")
    assert store.tree.parents == {}
