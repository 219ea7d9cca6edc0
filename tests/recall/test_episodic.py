"""Recall over episodes: the memory stream and association, as recipes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.cue import Cue
from moechat.language.words import count_tokens
from moechat.memory.episodes import Episodes
from moechat.memory.topic_cues import COMMON
from moechat.model import Episode, Event, Hit, Recollection
from moechat.recall.episodic import DEPTH
from moechat.recall.pipeline import Budget, Recipe, recall
from moechat.settings.schema import StreamSettings
from tests.houses import Home, moment
from tests.minds import EMBEDDER, Mind, embed
from tests.owners import NOW


def texts(found: Sequence[tuple[Hit, str]]) -> list[str]:
    return [hit.text for hit, _ in found]


# ---- the memory stream


def test_by_hand_three_memories_by_rank(mind: Mind) -> None:
    """CONTRACTS B: decay 0.99, raw .99 .9801 .970299 → normalised 1, .49749, 0, the most recently used first."""
    for number in range(3):
        mind.tell(f"第{number}件事")
    found = {hit.text: hit.features["recency"] for hit, _ in mind.stream("别的", floor=0)}
    assert found == pytest.approx({"第2件事": 1, "第1件事": 0.49749, "第0件事": 0}, abs=5e-6)


def test_by_hand_the_whole_score(mind: Mind) -> None:
    """0.5 · recency + 3 · relevance + 2 · importance, each scaled to 0..1."""
    for text, importance in (("猫", 0.9), ("狗", 0.1), ("鸟", 0.5)):
        mind.tell(text, importance=importance)
    found = {hit.text: hit.score for hit, _ in mind.stream("狗", floor=0)}
    cosine = np.maximum(EMBEDDER.embed(["猫", "狗", "鸟"]) @ embed(["狗"])[0], 0)
    scaled = (cosine - cosine.min()) / (cosine.max() - cosine.min())
    expected = {
        "猫": 0.5 * 0 + 3 * scaled[0] + 2 * 1,
        "狗": 0.5 * 0.49749 + 3 * scaled[1] + 2 * 0,
        "鸟": 0.5 * 1 + 3 * scaled[2] + 2 * 0.5,
    }
    assert found == pytest.approx(expected, abs=1e-5)


def test_by_hours_what_is_used_is_recent_again(mind: Mind) -> None:
    _, old = mind.tell("旧事")
    mind.home.clock.advance(days=10)
    mind.tell("新事")
    now = mind.home.clock.now()
    hours = StreamSettings(weights={"recency": 1, "relevance": 0, "importance": 0})  # type: ignore[arg-type]
    assert texts(mind.stream("别的", hours, now=now, floor=0)) == ["新事", "旧事"]
    mind.use(now, old)
    assert texts(mind.stream("别的", hours, now=now, floor=0)) == ["旧事", "新事"]


@pytest.mark.parametrize(("unit", "step"), [("seconds", 1), ("hours", 3600), ("days", 86_400)])
def test_what_was_used_fades_by_the_configured_unit(mind: Mind, unit: Any, step: int) -> None:
    how = StreamSettings(recency_unit=unit, decay=0.5)
    first, second, third = (mind.tell(text)[1] for text in ("风筝", "花灯", "渔船"))
    for units, id_ in enumerate((first, second, third)):
        mind.use(NOW - timedelta(seconds=units * step), id_)
    shares = {hit.text: hit.features["recency"] for hit, _ in mind.stream("风筝", how, floor=0)}
    assert [shares[text] for text in ("风筝", "花灯", "渔船")] == [pytest.approx(x) for x in (1.0, 1 / 3, 0.0)]


def test_what_is_not_near_in_meaning_stays_in_the_ranking_and_enters_no_prompt(mind: Mind) -> None:
    mind.tell("养了一只猫")
    mind.tell("股票大跌", importance=1.0)
    why = {hit.text: why for hit, why in mind.stream("养了一只猫", floor=0.5)}
    assert why == {"养了一只猫": "", "股票大跌": "below_threshold"}


def test_thirty_candidates_at_most(mind: Mind) -> None:
    one, other = mind.say("一"), mind.say("二")
    mind.understand(*(Event(f"第{n}件事", (one, other), keywords=("事",)) for n in range(DEPTH + 5)))
    assert len(mind.stream("别的", floor=0)) == len(mind.associated("事")) == DEPTH


MEMORIES = st.lists(
    st.tuples(st.sampled_from("猫狗鸟鱼"), st.integers(0, 10), st.one_of(st.none(), st.integers(0, 300)), st.booleans()),
    min_size=1, max_size=8,
)  # fmt: skip


@given(MEMORIES, st.sampled_from(["rank", "hours", "days"]), st.sampled_from("猫狗"))
@settings(max_examples=30)
def test_the_ranking_equals_plain_python(
    memories: list[tuple[str, int, int | None, bool]], unit: str, asked: str
) -> None:
    with TemporaryDirectory() as folder:
        mind = Mind(Home.build(Path(folder)), EMBEDDER)
        for number, (word, importance, used, thought) in enumerate(memories):
            exchange, event = mind.tell(f"{word}的第{number}件事", importance=importance / 10)
            if thought:
                event = mind.reflect(f"{word}的想法{number}", [event], [exchange], None)
            if used is not None:
                mind.use(NOW - timedelta(hours=used), event)
        how = StreamSettings(recency_unit=unit)  # type: ignore[arg-type]
        found = mind.stream(f"{asked}怎么样", how, floor=0)
        expected = oracle(mind, f"{asked}怎么样", unit)
        scores = [hit.score for hit, _ in found]
        assert {hit.id: hit.score for hit, _ in found} == pytest.approx(expected, abs=1e-5)
        assert scores == sorted(scores, reverse=True)
        mind.close()


def oracle(mind: Mind, text: str, unit: str) -> dict[str, float]:
    """Hit id → score, best first, one hit an exchange."""
    changed = mind.store.findings.changed(-1)
    all_ = sorted((episode for _, _, episode in changed if episode is not None), key=lambda one: one.since)
    vector = embed([text])[0]
    raw = []
    for place, episode in enumerate(all_):
        used = max(episode.at, mind.store.state.recalled(episode.id) or episode.at)
        cosine = max(0.0, float(EMBEDDER.embed([episode.event.text])[0] @ vector))
        raw.append([used, episode.at, place, cosine, episode.event.importance])
    if unit == "rank":
        order = sorted(range(len(raw)), key=lambda i: raw[i][:3], reverse=True)
        recency = {i: 0.99 ** (rank + 1) for rank, i in enumerate(order)}
    else:
        seconds = {"hours": 3600, "days": 86400}[unit]
        recency = {i: 0.99 ** ((NOW - row[0]).total_seconds() / seconds) for i, row in enumerate(raw)}
    parts = [
        scaled([recency[i] for i in range(len(raw))]),
        scaled([row[3] for row in raw]),
        scaled([row[4] for row in raw]),
    ]
    scores = [0.5 * a + 3 * b + 2 * c for a, b, c in zip(*parts, strict=True)]
    best: dict[str, float] = {}
    for i in sorted(range(len(raw)), key=lambda i: -scores[i]):
        id_ = all_[i].id if all_[i].kind == "reflection" else all_[i].event.sources[0]
        best.setdefault(id_, scores[i])
    return best


def scaled(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    if math.isclose(low, high, rel_tol=1e-12):
        return [0.5] * len(values)
    return [(value - low) / (high - low) for value in values]


# ---- association


def test_a_memory_comes_to_mind_by_who_what_and_where_whatever_their_case(mind: Mind) -> None:
    mind.tell("Ana had coffee", subject="Ana", object="coffee")
    mind.tell("坐了火车", keywords=("BERLIN",))
    mind.tell("下雨了", keywords=("雨",))
    assert set(texts(mind.associated("Have you seen ANA in berlin?"))) == {"Ana had coffee", "坐了火车"}


def test_those_that_share_most_come_first_then_the_newest(mind: Mind) -> None:
    mind.tell("甲", keywords=("火锅", "柏林"))
    mind.tell("乙", keywords=("火锅",))
    mind.tell("丙", keywords=("柏林",))
    found = mind.associated("在柏林吃火锅")
    assert texts(found) == ["甲", "丙", "乙"]
    assert [hit.words for hit, _ in found] == [("柏林", "火锅"), ("柏林",), ("火锅",)]
    assert [hit.score for hit, _ in found] == [2, 1, 1]


def test_that_the_speakers_took_part_tells_no_memory_from_another(mind: Mind) -> None:
    mind.tell("甲", subject="用户", keywords=("阿明", "小满", "user"))
    mind.tell("乙", subject="小林", keywords=("阿明",))
    assert texts(mind.associated("阿明和小满去看小林")) == ["乙"]
    assert texts(mind.associated("小满，用户阿明是谁")) == []


def test_what_one_does_with_a_thing_calls_the_thing_to_mind(mind: Mind) -> None:
    mind.tell("甲", keywords=("火锅",))
    ((hit, _),) = mind.associated("想吃火锅")
    assert hit.words == ("火锅",), "吃火锅 is one word to the segmenter"


def test_a_word_that_everything_has_associates_nothing(mind: Mind) -> None:
    one, other = mind.say("又吃火锅"), mind.say("还吃火锅")
    mind.understand(*(Event(f"吃了第{n}顿", (one,), keywords=("火锅",)) for n in range(2)))
    mind.understand(*(Event(f"吃了第{n}顿", (other,), keywords=("火锅",)) for n in range(2, COMMON + 1)))
    assert mind.associated("火锅") == []
    mind.store.log.retract(one)
    assert [hit.id for hit, _ in mind.associated("火锅")] == [other]


@pytest.mark.parametrize("name", ["用户", "user", "User", "角色", "character", "阿明", "小满"])
def test_nobody_who_talks_is_a_word_to_associate_by(mind: Mind, name: str) -> None:
    mind.tell("放了风筝", keywords=(name,))
    assert mind.associated(name) == []


def test_a_word_that_only_its_ending_is_known_of_is_met_by_it(mind: Mind) -> None:
    mind.tell("吃了火锅", keywords=("火锅",))
    [(hit, why)] = mind.associated("毛肚火锅")
    assert (hit.words, hit.features, hit.score, why) == (("火锅",), {"shared": 1.0}, 1.0, "")


def test_what_is_hidden_comes_to_no_ones_mind(mind: Mind) -> None:
    exchange, _ = mind.tell("吃了火锅", keywords=("火锅",))
    _, archived = mind.tell("又吃了火锅", keywords=("火锅",))
    mind.store.log.retract(exchange)
    mind.mark("archive", archived)
    assert mind.associated("火锅") == mind.stream("火锅", floor=0) == []


# ---- which hits they give


def test_an_event_of_one_exchange_is_a_hit_on_the_exchange(mind: Mind) -> None:
    exchange = mind.say("我昨天在柏林丢了钥匙")
    mind.understand(Event("用户在柏林丢了钥匙", (exchange,), keywords=("钥匙",)))
    ((hit, why),) = mind.associated("钥匙呢")
    assert (hit.id, hit.episode, hit.side, hit.text, why) == (exchange, None, "user", "我昨天在柏林丢了钥匙", "")
    assert hit.shorter == ("用户在柏林丢了钥匙",)
    assert (hit.layer, hit.recipe, hit.sources) == ("diary", "association", (exchange,))


def test_reflections_and_events_of_several_exchanges_are_hits_of_their_own(mind: Mind) -> None:
    one, two = mind.say("丢了钥匙"), mind.say("找到了")
    (event,) = mind.understand(Event("丢了钥匙又找到了", (one, two), keywords=("钥匙",)))
    thought = mind.reflect("阿明粗心", [event], [one, two], None)
    hits = {hit.id: hit for hit, _ in mind.stream("钥匙", floor=0)}
    assert {id_: (hit.episode, hit.sources) for id_, hit in hits.items()} == {
        event: ("event", (one, two)),
        thought: ("reflection", (one, two)),
    }


def test_an_exchange_with_several_events_counts_once_at_its_best(mind: Mind) -> None:
    exchange = mind.say("吃了火锅，丢了钥匙")
    mind.understand(
        Event("吃了火锅", (exchange,), importance=1.0, keywords=("火锅",)),
        Event("丢了钥匙", (exchange,), importance=0.1, keywords=("火锅", "钥匙")),
    )
    ((hit, _),) = mind.associated("火锅和钥匙")
    assert hit.words == ("火锅", "钥匙")
    ((_, why),) = mind.stream("丢了钥匙", floor=0.9)
    assert why == "", "one of them is near enough, though the other has the better score"


def test_what_the_author_wrote_rests_on_no_exchange_and_is_found(tmp_path: Path) -> None:
    mind = Mind(Home.build(tmp_path), EMBEDDER)
    written = [Episode("o1", moment("2025-01-01T00:00:00"), Event("画廊开张", (), keywords=("画廊",)), by="author")]
    mind.episodes = Episodes(mind.store, mind.dense, lambda: (1, written))
    ((hit, _),) = mind.associated("画廊")
    assert (hit.id, hit.episode, hit.text, hit.sources) == ("o1", "event", "画廊开张", ())
    assert mind.recipes().widen([hit]) == [hit]
    mind.close()


def test_a_time_that_is_asked_for_keeps_the_others_out_of_the_prompt(mind: Mind) -> None:
    mind.tell("吃了火锅", keywords=("火锅",))  # on 2025-05-20
    mind.home.clock.at = moment("2025-05-31T10:00:00")
    mind.tell("又吃了火锅", keywords=("火锅",))
    day = (moment("2025-05-31T00:00:00"), moment("2025-05-31T23:59:59"))
    exchange = mind.say("说说昨天")
    mind.understand(Event("约好去吃火锅", (exchange,), keywords=("火锅",), happened=day))
    mind.home.clock.at = moment("2025-05-20T10:00:00")
    mind.tell("打算去吃火锅", keywords=("火锅",), happened=day)
    why = {hit.text: why for hit, why in mind.associated("昨天吃火锅了吗")}
    assert why == {"吃了火锅": "outside_span", "又吃了火锅": "", "说说昨天": "", "打算去吃火锅": ""}
    assert {hit.text: why for hit, why in mind.stream("昨天吃火锅了吗", floor=0)} == why
    inside = next(hit for hit, _ in mind.associated("昨天吃火锅了吗") if hit.text == "打算去吃火锅")
    assert inside.span and inside.span.phrase == "昨天"


def test_a_time_that_only_dates_a_remark_restricts_nothing(mind: Mind) -> None:
    mind.tell("吃了火锅", keywords=("火锅",))
    assert [why for _, why in mind.associated("我昨天没睡好，想吃火锅")] == [""]


# ---- within the budget


def recalled(mind: Mind, budget: Budget, *found: tuple[Hit, str], in_context: Sequence[str] = ()) -> Recollection:
    recipes = mind.recipes()
    with ThreadPoolExecutor(1) as pool:
        return recall(
            Cue("", NOW), [Recipe("stream", "diary", lambda _: list(found))], pool=pool, deadline_s=20, budget=budget,
            widen=lambda hits: recipes.widen(hits, in_context), in_context=in_context,
        )  # fmt: skip


@pytest.fixture
def lost(mind: Mind) -> tuple[Mind, list[str], str]:
    """A mind with an event of three exchanges."""
    said = [mind.say(text) for text in ("早上丢了钥匙", "到处都找过了", "原来在冰箱里")]
    (event,) = mind.understand(Event("阿明丢了钥匙，后来在冰箱里找到了", tuple(said), keywords=("钥匙",)))
    return mind, said, event


def test_an_event_of_several_exchanges_is_told_in_the_longest_of_its_lengths_that_fits(
    lost: tuple[Mind, list[str], str],
) -> None:
    mind, _, _ = lost
    summary = "阿明丢了钥匙，后来在冰箱里找到了"
    asked = f"{summary}\n阿明：早上丢了钥匙\n阿明：到处都找过了\n阿明：原来在冰箱里"
    whole = f"{summary}\n阿明：早上丢了钥匙\n小满：好。\n阿明：到处都找过了\n小满：好。\n阿明：原来在冰箱里\n小满：好。"
    (candidate,) = mind.associated("钥匙")
    sizes = [count_tokens(text) for text in (whole, asked, summary)]
    for room, expected in ((1000, whole), (sizes[0], whole), (sizes[0] - 1, asked), (sizes[1] - 1, summary)):
        found = recalled(mind, Budget(room, longest=1.0), candidate)
        assert [hit.text for hit in found.hits] == [expected], room
    (cut,) = recalled(mind, Budget(sizes[2] - 1, longest=1.0), candidate).hits
    assert cut.text.endswith("…") and summary.startswith(cut.text[:-1]) and cut.tokens < sizes[2]


def test_what_is_in_the_context_or_a_hit_of_its_own_is_not_told_again_below_an_event(
    lost: tuple[Mind, list[str], str],
) -> None:
    mind, (first, second, third), _ = lost
    (candidate,) = mind.associated("钥匙")
    hit = Hit("diary", "stream", second, "到处都找过了", 1.0, NOW, (second,), side="user")
    found = recalled(mind, Budget(1000), (hit, ""), candidate, in_context=[first])
    assert [h.text for h in found.hits if h.episode] == [
        "阿明丢了钥匙，后来在冰箱里找到了\n阿明：原来在冰箱里\n小满：好。"
    ]
    found = recalled(mind, Budget(1000), candidate, in_context=[first, second, third])
    assert [d.why for d in found.dropped] == ["in_context"]


def test_two_events_of_the_same_exchanges_tell_them_once(lost: tuple[Mind, list[str], str]) -> None:
    mind, said, _ = lost
    more = Event("阿明的冰箱里什么都有", tuple(said), keywords=("冰箱",))
    mind.understand(Event("阿明丢了钥匙，后来在冰箱里找到了", tuple(said), keywords=("钥匙",)), more)
    found = recalled(mind, Budget(1000), *mind.associated("钥匙在冰箱里"))
    assert len(found.hits) == 2
    told = "\n".join(hit.text for hit in found.hits)
    assert [told.count(text) for text in ("早上丢了钥匙", "到处都找过了", "原来在冰箱里")] == [1, 1, 1]


def test_an_event_gives_way_where_all_its_exchanges_are_shown(lost: tuple[Mind, list[str], str]) -> None:
    mind, said, event = lost
    (candidate,) = mind.associated("钥匙")
    hits = [(Hit("diary", "stream", id_, "…", 1.0, NOW, (id_,), side="user"), "") for id_ in said]
    found = recalled(mind, Budget(1000), *hits, candidate)  # type: ignore[arg-type]
    assert [hit.id for hit in found.hits] == said
    assert [(d.hit.id, d.why) for d in found.dropped] == [(event, "merged")]


def test_reflections_have_their_share_of_the_budget_beside_what_was_said(lost: tuple[Mind, list[str], str]) -> None:
    mind, said, event = lost
    mind.reflect("阿明总在找东西", [event], said, None)
    (thought,) = [(hit, why) for hit, why in mind.stream("找东西", floor=0) if hit.episode == "reflection"]
    diary = [
        (Hit("diary", "stream", f"x{n}", f"{n}" + "长" * 39, 1.0, NOW, (f"x{n}",), side="user"), "") for n in range(9)
    ]
    alone = [hit.id for hit in recalled(mind, Budget(200), *diary, thought).hits]  # type: ignore[arg-type]
    assert thought[0].id not in alone, "without a share what was said fills the budget"
    shared = recalled(mind, Budget(200, {"diary": 0.3, "reflections": 0.1}), *diary, thought)  # type: ignore[arg-type]
    assert thought[0].id in [hit.id for hit in shared.hits]
    assert sum(hit.tokens for hit in shared.hits) <= 200
