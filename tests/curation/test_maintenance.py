"""What is done to a memory now and then."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from moechat.curation.forgetting import Maintenance
from moechat.index.dense import Dense
from moechat.memory.core import CoreMemory
from moechat.model import Fact, FactDraft
from moechat.settings.character import Character
from moechat.settings.prompts import Prompts
from moechat.settings.schema import ForgettingSettings
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from tests.houses import Home, moment, silent, told

AT = moment("2025-05-20T15:00:00")


@pytest.fixture
def core(home: Home, store: FileStore) -> CoreMemory:
    return CoreMemory(store, Dense(home.folder / ".index", None))


def known(text: str, source: str, keyword: str = "兴趣") -> Fact:
    return Fact(derived_id(text, (source,)), AT, FactDraft(text, (source,), keyword=keyword))


def maintenance(store: FileStore, core: CoreMemory, limits: ForgettingSettings) -> Callable[[], str]:
    one = Maintenance(
        store, core, Prompts([], "zh"), lambda: Character(store.folder, "小满", "阿明"), lambda: silent(),
        lambda: limits,
    )  # fmt: skip
    return lambda: one.run(store.clock.now()).why


def test_it_sums_up_and_cleans_where_somebody_talked_every_few_days(
    home: Home, store: FileStore, core: CoreMemory
) -> None:
    run = maintenance(store, core, ForgettingSettings(cap=4, share=0.5))
    store.findings.put([known("用户爱画画", "a"), known("用户爱星座", "b"), known("用户怕高", "c", "性格")])
    assert run() == "not_active"
    assert len(core.current()) == 3
    told(store, home.clock, "你好")
    assert run() == "full", "the sum counts as a record, and so do its parts"
    assert len(core.history()) == 4
    assert run() == "recent"
    home.clock.advance(days=4)
    told(store, home.clock, "又见面了")
    assert run() == "room"


def test_it_does_not_run_all_the_time_whatever_is_configured(home: Home, store: FileStore, core: CoreMemory) -> None:
    run = maintenance(store, core, ForgettingSettings(every_days=0))
    told(store, home.clock, "你好")
    assert [run(), run()] == ["room", "recent"]
    home.clock.advance(hours=2)
    assert run() == "room"


def test_one_who_is_back_after_long_is_not_cut_in_that_moment(home: Home, store: FileStore, core: CoreMemory) -> None:
    limits = ForgettingSettings(inactive_days=90, minimum=1)
    told(store, home.clock, "再见", settle=True)
    store.findings.put([known("用户爱画画", "a"), known("用户怕高", "b", "性格")])
    home.clock.advance(days=100)
    run = maintenance(store, core, limits)
    assert run() == "not_active"
    home.clock.advance(hours=23)
    told(store, home.clock, "我回来了")
    assert run() == "room"
    home.clock.advance(days=100)
    assert run() == "inactive", "it was left open, and nobody came"
    assert len(store.state.archived) == 1


def test_a_broken_file_is_left_alone_and_does_not_stop_the_cleaning(
    home: Home, store: FileStore, core: CoreMemory
) -> None:
    told(store, home.clock, "你好", settle=True)
    store.findings.put([known("用户爱画画", "a"), known("用户爱星座", "b")])
    path = home.folder / "core_mem.yml"
    path.write_text(path.read_text(encoding="utf-8") + "x: [\n", encoding="utf-8")
    store.follow()
    before = path.read_bytes()
    assert maintenance(store, core, ForgettingSettings())() == "room"
    assert path.read_bytes() == before


def test_no_cleaning_follows_another_within_an_hour(home: Home, store: FileStore, core: CoreMemory) -> None:
    run = maintenance(store, core, ForgettingSettings(every_days=0))
    told(store, home.clock, "你好")
    assert run() == "room"
    home.clock.advance(minutes=59)
    assert run() == "recent"
    home.clock.advance(minutes=1)
    assert run() == "room"


def test_one_that_is_stopped_cleans_nothing(home: Home, store: FileStore, core: CoreMemory) -> None:
    told(store, home.clock, "你好")
    store.findings.put([known(f"用户爱{n}", f"x{n}") for n in range(4)])
    stopping = Event()
    stopping.set()
    limits = ForgettingSettings(cap=1, share=1.0, merges=False)
    one = Maintenance(
        store, core, Prompts([], "zh"), lambda: Character(store.folder, "小满", "阿明"), silent, lambda: limits
    )
    done = one.run(store.clock.now(), stopping)
    assert (done.why, store.state.archived, store.state.cleaned) == ("not_active", set(), None)
    done = one.run(store.clock.now(), Event())
    assert (done.why, len(store.state.archived)) == ("full", 4)
