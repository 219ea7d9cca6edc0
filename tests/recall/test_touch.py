"""What a message touches: a low mood, what held before and how that is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moechat.cue import Cue
from moechat.memory.core import Former
from moechat.model import Fact, FactDraft
from moechat.reading.saying import saying
from moechat.recall import profile, touch
from tests.houses import Home

NOW = datetime(2025, 5, 20, 15, tzinfo=UTC)
ENDED = datetime(2025, 4, 1, tzinfo=UTC)


def fact(text: str, at: datetime = NOW, **parts: object) -> Fact:
    return Fact(text, at, FactDraft(text, ("e",), **parts))  # type: ignore[arg-type]


def test_a_mood_is_low_where_it_is_told_or_danger_is_only_near_and_not_where_it_is_said_outright() -> None:
    def is_low(text: str) -> bool:
        return touch.is_low(Cue(text, NOW))

    assert [
        text for text in ("我撑不下去了", "消失就好了", "我今天好难过", "I feel so low today") if not is_low(text)
    ] == []
    assert [text for text in ("我不想活了", "我要自杀", "笑死我了", "what's the point", "你好") if is_low(text)] == []
    assert saying("我不想活了").is_danger and not saying("笑死我了").is_danger


FORMS = [
    ({"kind": "ruling", "until": "2025-03", "quote": "我搬走了"}, "以前：用户住在杭州（到2025-03为止，现在不是了：“我搬走了”）",
     "Formerly: lives in Leeds (until 2025-03; no longer so: “我搬走了”)"),
    ({"kind": "ruling", "quote": "我搬走了"}, "以前：用户住在杭州（现在不是了，2025-04-01说起：“我搬走了”）",
     "Formerly: lives in Leeds (no longer so, as told on 2025-04-01: “我搬走了”)"),
    ({"until": "past", "quote": "我搬走了"}, "以前：用户住在杭州（现在不是了，2025-04-01说起）",
     "Formerly: lives in Leeds (no longer so, as told on 2025-04-01)"),
    ({}, "用户住在杭州（早先说的，2025-04-01说的是：搬走了）", "lives in Leeds (said earlier; on 2025-04-01: 搬走了)"),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "zh", "en"), FORMS)
def test_what_held_before_is_told_with_how_it_ended(parts: dict[str, str], zh: str, en: str) -> None:
    by = fact("搬走了", ENDED, **parts)
    old = (fact("用户住在杭州", keyword="住址", target="杭州"), fact("lives in Leeds", keyword="home", target="Leeds"))
    formers = [Former(one, by) for one in old]
    assert [touch.formerly(one) for one in formers] == [zh, en]
    if formers[0].is_over:
        brief = [touch.formerly(one, at_length=False) for one in formers]
        assert brief[0].startswith("以前：住址：杭州（") and brief[1].startswith("Formerly: home: Leeds (")
        assert not any("“" in one for one in brief)
        bare = replace(formers[1], fact=fact("lives in Leeds"))
        assert touch.formerly(bare, at_length=False).startswith("Formerly: lives in Leeds (")


def test_a_limit_stands_above_the_profile_and_not_in_it(tmp_path: Path) -> None:
    with Home.build(tmp_path).agent() as agent:
        limits = [fact("别提李强", kind="boundary", target="李强"), fact("说话短一点", kind="boundary")]
        facts = [
            fact("用户住在杭州", keyword="住址", target="杭州"),
            fact("用户的朋友李强养猫", keyword="宠物", entity="李强"),
        ]
        delicate = fact("用户有抑郁症", keyword="健康", mark="delicate")
        agent.store.findings.put([*limits, *facts, delicate])
        ids = [one.id for one in (*limits, *facts, delicate, facts[0])]
        stable = profile.drawn(agent.layers, ids, NOW, agent.now())
        assert [one.text for one in stable.boundaries] == ["别提李强", "说话短一点"]
        assert [one.text for one in stable.facts] == ["用户住在杭州"]
        assert [one.text for one in profile.known(agent.layers.core)] == ["用户住在杭州"]
