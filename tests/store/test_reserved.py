"""Who spoke and what came with a message: kept in log and day file, shown and found by its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.model import Attachment
from moechat.store.archive import pack, unpack
from moechat.store.files import FileStore
from moechat.turn import exchange_text
from tests.houses import ZONE, Home

PHOTO = Attachment("image", "cat.jpg", "b2:0f3a", "一张橘猫趴在窗台上的照片")


def sent(store: FileStore, home: Home) -> str:
    id_ = store.log.begin("看这个", home.clock.now(), speaker="小林", attachments=[PHOTO])
    store.log.finish(id_, "好可爱！", "done")
    return id_


def test_it_is_the_same_in_the_log_in_the_day_file_and_in_a_new_cache(home: Home, store: FileStore) -> None:
    id_ = sent(store, home)
    logged = store.exchanges.get(id_)
    assert (logged.speaker, logged.attachments) == ("小林", (PHOTO,))
    store.log.settle()
    assert store.exchanges.get(id_) == logged
    fresh = home.store_anew()
    assert fresh.exchanges.get(id_) == logged
    assert fresh.problems == []


@pytest.mark.parametrize("is_filed", [True, False])
def test_it_is_the_same_in_an_archive(home: Home, store: FileStore, tmp_path: Path, is_filed: bool) -> None:
    id_ = sent(store, home)
    if is_filed:
        store.log.settle()
    before = store.exchanges.get(id_)
    store.close()
    packed = tmp_path / "a.zip"
    with packed.open("wb") as file:
        pack(file, home.folder, "memory", "澪", home.clock.now(), memory=True)
    unpack(packed, tmp_path / "again")
    again = FileStore(tmp_path / "again", clock=home.clock, zone=ZONE)
    assert again.exchanges.get(id_) == before and before.attachments == (PHOTO,)
    again.close()


def test_it_is_shown_and_found_by_its_line(home: Home, store: FileStore) -> None:
    id_ = sent(store, home)
    assert store.search.listed(["exchange"], ["橘猫"]) == [id_], "before it is filed"
    store.log.settle()
    assert store.search.listed(["exchange"], ["橘猫"]) == [id_]
    assert [side.user for side in store.exchanges.sides()] == ["看这个\n一张橘猫趴在窗台上的照片"]
    assert exchange_text(store.exchanges.get(id_), "用户", "澪") == (
        "小林：看这个\n小林：一张橘猫趴在窗台上的照片\n澪：好可爱！"
    )
