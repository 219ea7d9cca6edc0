"""Memory over a store that keeps no indexes: all of them live in memory, and no file is left by any."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event as Signal

import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.index.dense import Dense
from moechat.model import Event, Understanding
from moechat.recall.layers import Layers
from moechat.store.table_store import MemoryStore
from tests.houses import ZONE, Home, shown, silent, told


@pytest.fixture
def layers(home: Home) -> Iterator[Layers]:
    store = MemoryStore(clock=home.clock, zone=ZONE)
    with home.open() as house, ThreadPoolExecutor(4) as pool:
        agent = house.agent()
        layers = Layers(
            store, Dense(None, HashEmbedder(32)), lambda: agent.character, lambda: agent.config,
            model=lambda: silent(), prompts=agent.layers.prompts, pool=lambda: pool,
        )  # fmt: skip
        yield layers
        layers.close()
    store.close()


def recalled(layers: Layers, text: str) -> str:
    layers.sync()
    return shown(layers.recall(layers.cue(text, layers.now(), ""), ()))


def test_what_was_said_and_understood_is_recalled_from_memory_alone(home: Home, layers: Layers, tmp_path: Path) -> None:
    store = layers.store
    ids = [told(store, home.clock, text, settle=True, days=1) for text in ("我把铜钥匙丢在灯塔下了", "今天吃了面")]
    event = Event("用户丢了铜钥匙", (ids[0],), "用户", "丢", "铜钥匙", keywords=("铜钥匙",), topic="生活->铜钥匙")
    store.findings.merge(ids[:1], Understanding({ids[0]: "丢了钥匙"}, {}, (), (event,)), [], {})
    assert "铜钥匙丢在灯塔下" in recalled(layers, "铜钥匙丢在哪里了？")
    assert layers.embed(Signal()) == 2 + 1 + 2, "exchanges, an event, topics"
    assert layers.embed(Signal()) == 0
    assert "铜钥匙丢在灯塔下" in recalled(layers, "前天我说了什么？")
    assert [one.event.text for one in layers.topics.slices("生活->铜钥匙", layers.now())] == ["用户丢了铜钥匙"]
    assert layers.diary.index.differences() == []
    store.log.correct(ids[0], user="我把银钥匙丢在灯塔下了")
    layers.diary.index.erase_dead()
    assert layers.sweep() == 2 + 1 + 2, "both sides of what was corrected, its event and its topics"
    layers.embed(Signal())
    assert "银钥匙" in recalled(layers, "钥匙丢在哪里了？")
    layers.diary.index.flush()
    assert set(tmp_path.iterdir()) == {home.data, home.config}
