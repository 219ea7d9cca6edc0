"""Follow-ups: what a message leans on is searched with it, and nothing is where it stands by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from moechat.recall.layers import Layers
from moechat.recall.touch import parts, together
from moechat.store.files import FileStore
from tests.follow_ups import EN, ZH, FollowUp, follow_ups
from tests.houses import Home, moment, told
from tests.recall.test_layers import over

NOW = moment("2025-05-21T15:00:00")
NAMES = ("阿明", "小满")


@pytest.fixture
def layers(home: Home, store: FileStore) -> Iterator[Layers]:
    opened = over(home, store)
    yield opened
    opened.close()


@pytest.mark.parametrize(("lines", "least"), [(ZH, 27), (EN, 27)])
def test_a_follow_up_finds_what_the_reply_before_it_named(
    home: Home, store: FileStore, layers: Layers, lines: str, least: int
) -> None:
    cases = list(follow_ups(lines))
    for case in cases:
        told(store, home.clock, case.told, settle=True, hours=30)
    layers.sync()

    def finds(case: FollowUp, reply: str) -> bool:
        found = layers.recall(layers.cue(case.text, layers.now(), reply), ())
        return any(case.told in hit.text for hit in found.hits)

    missed = [case.text for case in cases if not finds(case, case.reply)]
    assert len(cases) - len(missed) >= least, missed
    assert sum(finds(case, "") for case in cases) < 18, "these messages alone do not say what they are about"


@pytest.mark.parametrize(
    "text",
    [
        "嗯嗯", "哈哈", "今天天气怎么样", "500号面条呢", "你吃饭了吗", "我周末去了动物园看熊猫", "thanks!",
        "how are you?", "I'm hungry", "我弟家那只叫什么名字", "What is Tim allergic to",
        "that time with mo and gumbo, where was it", "The walk with Dave and a hare, what was it called",
    ],
)  # fmt: skip
def test_what_stands_by_itself_borrows_nothing(text: str) -> None:
    assert together(text, NOW, ["小夏最近好吗", "Marlow is fine"], NAMES, bool) == text


def test_who_talks_and_when_is_no_matter() -> None:
    reply = "阿明，上周五小夏的医院有饼干吗"
    assert together("后来她怎么样了？", NOW, [reply], NAMES, lambda word: word != "饼干") == "小夏 医院"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("小夏的医院在哪？另外，堂哥的婚礼什么时候", ["小夏的医院在哪？", "堂哥的婚礼什么时候"]),
        ("谁织的围巾？琴房的密码是什么？", ["谁织的围巾？", "琴房的密码是什么？"]),
        ("Who knitted the scarf? And also, what is the code of the piano room?",
         ["Who knitted the scarf?", "what is the code of the piano room?"]),
        ("我最近去看了谁的演唱会？我最喜欢他的什么歌？", []),  # the second leans on the first
        ("小夏住院了。堂哥的婚礼在哪？谁织的围巾？", []),  # it tells, too
        ("围巾是谁织的", []),
        ("另外，围巾是谁织的？", []),
        ("？" * 100_000, []),
        ("，" * 100_000, []),
    ],
)  # fmt: skip
def test_a_message_that_asks_several_things_has_parts(text: str, pieces: list[str]) -> None:
    assert parts(text) == pieces


def test_each_of_several_questions_brings_its_own_answer(home: Home, store: FileStore, layers: Layers) -> None:
    """Each is asked with words of its own, and one of them has many more memories that are like it."""
    told(store, home.clock, "琴房的密码改成了校庆日", settle=True, hours=30)
    for number in range(30):
        told(store, home.clock, f"围巾织到第{number}行了，围巾是蓝色的", settle=True, hours=30)
    layers.sync()

    def first(text: str) -> list[str]:
        return [hit.text for hit in layers.recall(layers.cue(text, layers.now(), ""), ()).ranked][:2]

    one, other = first("蓝色的围巾织到第几行了？琴房的密码是什么？")
    assert "围巾" in one
    assert "琴房" in other
