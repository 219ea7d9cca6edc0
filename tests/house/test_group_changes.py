"""Changes of mind in a talk of several: a reply is stopped, made anew, and another of its replies chosen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from moechat.errors import NotFound
from moechat.house import House
from moechat.house.group import GroupTalk
from moechat.model import Message
from moechat.turn import Delta, Ended
from tests.groups import NAMES, agreed, build
from tests.houses import silent

A, B, C = NAMES


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    numbers = count(1)

    def numbered(_: list[Message]) -> str:
        return f"这是第{next(numbers)}句话，说得很长很长，长到可以在中间停下来。"

    with build(tmp_path).open(silent(numbered)) as opened:
        yield opened


def texts(group: GroupTalk) -> list[str]:
    return [row.exchange.char[:4] for row in group.recent(9) if row.by]


def test_who_is_stopped_ends_in_the_middle_and_nobody_answers_after_her(house: House) -> None:
    group = house.groups.begin(NAMES, order="list")
    ended = []
    for event in group.talk("大家好"):
        if isinstance(event, Delta) and not ended:
            group.stop()
        ended += [event] if isinstance(event, Ended) else []
    assert [(one.exchange.speaker, one.exchange.status) for one in ended] == [(A, "stopped")]
    assert 0 < len(ended[0].exchange.char) < len("这是第1句话，说得很长很长，长到可以在中间停下来。")
    assert [row.by for row in group.recent(9)] == ["", A]
    group.stop()
    assert [one.exchange.speaker for one in group.talk("再来") if isinstance(one, Ended)] == [A, B, C], (
        "the next begin anew"
    )


def test_a_reply_is_made_anew_and_the_first_is_chosen_again_in_every_memory(house: House) -> None:
    group = house.groups.begin(NAMES, order="list")
    list(group.talk("大家好"))
    assert texts(group) == ["这是第1", "这是第2", "这是第3"]
    list(group.regenerate())
    assert texts(group) == ["这是第1", "这是第2", "这是第4"]
    line = group.recent(1)[0]
    assert (line.variants, line.chosen) == (2, 1)
    for variant, text in ((0, "这是第3"), (1, "这是第4"), (None, "这是第3")):
        group.select(line.exchange.id, variant)
        assert texts(group)[-1] == text
        agreed(house, group)
    with pytest.raises(NotFound):
        group.select("20000101-000000", 0)
    said = group.recent(9)[0].exchange.id
    with pytest.raises(NotFound, match="that is no reply"):
        list(group.regenerate(said))
