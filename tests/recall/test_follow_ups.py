"""Follow-ups: what a message leans on is searched with it, and nothing is where it stands by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from moechat.recall.follows import together
from moechat.recall.layers import Layers
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
        "嗯嗯",
        "哈哈",
        "今天天气怎么样",
        "500号面条呢",
        "你吃饭了吗",
        "我周末去了动物园看熊猫",
        "thanks!",
        "how are you?",
        "I'm hungry",
    ],
)
def test_what_stands_by_itself_borrows_nothing(text: str) -> None:
    assert together(text, NOW, ["小夏最近好吗", "Marlow is fine"], NAMES, bool) == text


def test_who_talks_and_when_is_no_matter() -> None:
    reply = "阿明，上周五小夏的医院有饼干吗"
    assert together("后来她怎么样了？", NOW, [reply], NAMES, lambda word: word != "饼干") == "小夏 医院"
