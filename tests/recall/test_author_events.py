"""The author's events come to mind by their keywords, whole words of an everyday message, and stay away from small talk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from moechat.recall.layers import Layers
from moechat.store.files import FileStore
from tests.houses import Home, moment
from tests.recall.test_layers import over

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "agents" / "江砚" / "events.yaml"
SENTENCES = (
    "今天在路上看到{}，一下子想了好多", "刚才同事一直在说{}的事", "我昨晚又梦见{}了", "你说{}是不是也挺有意思的",
    "下班的时候听人聊起{}，我没插上话", "妈妈打电话来，也提到了{}",
)  # fmt: skip
SMALL_TALK = (
    "早 晚安 哈哈哈 在吗 好呀 嗯嗯 谢谢你 我下班了 吃了吗 好累啊 今天天气真好 你在干嘛 想你了 困了 加油 哦 真的吗 没事 拜拜 "
    "我回来了"
).split()


@pytest.fixture
def layers(home: Home, store: FileStore) -> Iterator[Layers]:
    shutil.copy(SHIPPED, home.folder / "events.yaml")
    opened = over(home, store)
    opened.refresh()
    opened.sync()
    yield opened
    opened.close()


def events(layers: Layers, text: str) -> list[str]:
    found = layers.recall(layers.cue(text, layers.now(), ""), ())
    return [hit.id for hit in found.hits if hit.episode == "event"]


def test_an_event_of_the_author_is_found_by_each_of_its_keywords_in_an_everyday_sentence(layers: Layers) -> None:
    wanted = [
        (id_, word) for id_, one in yaml.safe_load(SHIPPED.read_text("utf-8")).items() for word in one["keywords"]
    ]
    found = {
        (id_, word): events(layers, SENTENCES[n % len(SENTENCES)].format(word)) for n, (id_, word) in enumerate(wanted)
    }
    missed = [pair for pair, ids in found.items() if pair[0] not in ids]
    assert len(wanted) == 109
    assert len(missed) <= 11, missed
    assert sum(map(len, found.values())) <= 1.5 * len(found)


def test_small_talk_brings_no_event_of_the_author(layers: Layers) -> None:
    assert sum(len(events(layers, text)) for text in SMALL_TALK) <= 0.1 * len(SMALL_TALK)


def test_a_part_of_a_word_calls_nothing_to_mind(home: Home, store: FileStore) -> None:
    (home.folder / "events.yaml").write_text(
        "a: {text: 一起去吃片儿川, keywords: [片儿川, 川, 片儿, 吃]}\n", encoding="utf-8"
    )
    layers = over(home, store)
    layers.refresh()
    layers.sync()
    assert [bool(events(layers, text)) for text in ("中午想来碗片儿川", "四川的火锅", "这片儿我熟", "好吃的都给你")] == [
        True, False, True, False,
    ]  # fmt: skip
    layers.close()


def test_an_event_that_is_dated_by_a_day_is_the_whole_day(home: Home, store: FileStore) -> None:
    (home.folder / "events.yaml").write_text(
        'a: {text: 一起看了海, time: "2025-05-03"}\nb: {text: 一起看了山, time: "2025-05-04T09:30:00"}\n',
        encoding="utf-8",
    )
    layers = over(home, store)
    layers.refresh()
    day, hour = layers.official.episodes()
    assert day.event.happened == (moment("2025-05-03T00:00:00"), moment("2025-05-03T23:59:59"))
    assert (day.event.precision, hour.event.happened) == ("day", None)
    layers.sync()
    assert events(layers, "2025年5月3日晚上我们做了什么") == ["a"]
    layers.close()
