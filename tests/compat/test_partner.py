"""The names of seed 002, and what stands behind them."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.errors import DataError, ModelError
from moechat.language.words import count_tokens
from moechat.model import Message
from moechat.settings.prompts import Prompts
from moechat.topics import (
    ActivatedMemorySlice,
    ActivationProfile,
    AfterRollingRegistry,
    DialogRolling,
    ExtractorResult,
    Match,
    MemoryRecallCueExtractor,
    MemoryRecallEvaluator,
    MemoryRecallProfileExtractor,
    MemoryRuntime,
    MemoryRuntimeStateCodec,
    MemorySelector,
    MemorySlice,
    MemoryUnit,
    RollingResult,
    SliceRef,
    TopicBinding,
    TopicMemoryIndex,
    TopicRecallCollector,
    TopicRecallScorer,
    activated_memory_slices,
)
from tests.houses import answer, moment

NOW = moment("2025-05-21T15:00:00")


@pytest.fixture
def prompts(root: Path) -> Prompts:
    return Prompts([root / "prompts"], "zh")


@pytest.fixture
def runtime() -> MemoryRuntime:
    return MemoryRuntime(clock=SetClock(NOW), zone=NOW.tzinfo)


def put(
    runtime: MemoryRuntime, id_: str, path: str = "", age_h: float = 1, related: tuple[str, ...] = (), **more: object
) -> SliceRef:
    slice_ = MemorySlice(id_, f"关于{id_}", NOW - timedelta(hours=age_h), 0, 2)
    unit = MemoryUnit(f"u-{id_}", (Message("user", f"说{id_}"), Message("assistant", "嗯")), (slice_,))
    return runtime.record_memory(unit, slice_, path, related, **more)  # type: ignore[arg-type]


def ids(slices: list[ActivatedMemorySlice]) -> list[str]:
    return [one.ref.slice_id for one in slices]


# ---- goldens through the seed's own names


def test_scores_of_the_golden(goldens: Path) -> None:
    golden = json.loads((goldens / "partner.json").read_text(encoding="utf-8"))
    for row in golden["scores"]:
        profile = ActivationProfile(row["activation"], row["diffusion"], row["context_independence"])
        found = TopicRecallScorer().score(row["source"], row["age_hours"], profile)
        assert found == pytest.approx(row["decimal"], abs=1e-6)


@pytest.mark.parametrize("name", list("ABCDEF"))
def test_scenarios_of_the_golden(goldens: Path, runtime: MemoryRuntime, name: str) -> None:
    golden = json.loads((goldens / "partner.json").read_text(encoding="utf-8"))
    scenario = golden["scenarios"][name]
    for path, slice_, age_h, related, profile in scenario["bindings"]:
        put(runtime, slice_, path, age_h, tuple(related), profile=ActivationProfile(*profile))
    for path, expected in scenario["queries"].items():
        assert ids(runtime.query_by_topic_path(path)) == (expected or [])
    if "tree" in scenario:
        assert runtime.get_topic_tree().splitlines() == scenario["tree"]


# ---- indexes and runtime


def test_a_slice_is_activated_with_its_words(runtime: MemoryRuntime) -> None:
    put(runtime, "s", "饮食 -> 火锅")
    [found] = runtime.query_by_topic_path("饮食->火锅->毛肚")
    assert (found.summary, found.date, found.timestamp) == ("关于s", date(2025, 5, 21), NOW - timedelta(hours=1))
    assert [message.content for message in found.messages] == ["说s", "嗯"]


def test_a_day_gives_all_its_slices_each_once(runtime: MemoryRuntime) -> None:
    put(runtime, "a", "饮食", 20)
    put(runtime, "b", "", 19)
    put(runtime, "a", "工作", 20)
    put(runtime, "c", "饮食", 1)
    assert ids(runtime.query_by_date("2025-05-20")) == ["a", "b"]
    assert ids(runtime.query_by_date(date(2025, 5, 21))) == ["c"]
    with pytest.raises(ValueError, match="not a date"):
        runtime.query_by_date("yesterday")


def test_the_compat_collector_answers_no_unknown_path() -> None:
    index = TopicMemoryIndex()
    index.record_binding("a->b", TopicBinding(SliceRef("u", "s"), NOW))
    assert TopicRecallCollector(index).collect("a->b->c", NOW) == [SliceRef("u", "s")]
    assert TopicRecallCollector(index, exact=True).collect("a->b->c", NOW) == []
    assert TopicRecallCollector(index, limit=0).collect("a->b", NOW) == []


def test_paths_are_ensured_without_a_slice_and_stay() -> None:
    index, ref = TopicMemoryIndex(), SliceRef("u", "s")
    index.ensure_topic_paths(["a -> b", "a->b", " ", "c"])
    index.ensure_topic_paths(["c"])
    assert index.topic_tree() == ["a [root]", "a->b {slices: 0}", "c [root]"]
    index.record_binding("c", TopicBinding(ref, NOW))
    assert index.topic_tree() == ["c [root] {slices: 1}", "a [root]", "a->b {slices: 0}"]


def test_a_slice_that_is_in_the_index_and_nowhere_else_is_passed_over(runtime: MemoryRuntime) -> None:
    ref = put(runtime, "a", "饮食")
    del runtime.units[ref.unit_id]
    assert runtime.query_by_topic_path("饮食") == []


def test_the_state_is_saved_and_restored(runtime: MemoryRuntime, tmp_path: Path) -> None:
    put(runtime, "a", "饮食->火锅", 5, ("朋友",), profile=ActivationProfile(0.1, 0.2, 0.3))
    put(runtime, "b", "", 30)
    runtime.topics.ensure_topic_paths(["工作->面试"])
    codec, file = MemoryRuntimeStateCodec(), tmp_path / "state.json"
    codec.save(runtime, file)
    other = codec.restore(file, MemoryRuntime(runtime.units, clock=SetClock(NOW), zone=NOW.tzinfo))
    assert codec.encode(other) == codec.encode(runtime)
    assert other.get_topic_tree() == runtime.get_topic_tree()
    assert ids(other.query_by_topic_path("饮食->火锅")) == ["a"]
    assert ids(other.query_by_date("2025-05-20")) == ["b"]
    late = {"path": "x", "slice": ["u", "s"], "time": 2**63, "related": [], "profile": [0.5, 0.5, 0.5]}
    for damage in (
        {"topics": [{}], "dates": {}},
        {"topics": [late], "dates": {}},
        {"topics": [late | {"time": "x"}], "dates": {}},
    ):
        file.write_text(json.dumps(damage), encoding="utf-8")
        with pytest.raises(DataError, match=r"state\.json"):
            codec.restore(file, other)
    assert ids(other.query_by_topic_path("饮食->火锅")) == ["a"]


# ---- rolling


def talked(rolling: DialogRolling, rounds: int, scene_at: int = 0) -> list[RollingResult]:
    results = [
        rolling.add(f"第{i}句", "嗯", NOW + timedelta(minutes=i), scene_changed=i == scene_at)
        for i in range(1, rounds + 1)
    ]
    return [result for result in results if result]


@pytest.mark.parametrize(
    ("rounds", "scene_at", "rolled", "left"),
    [
        (19, 0, [], list(range(1, 20))),
        (20, 0, [(1, 10)], list(range(11, 21))),
        (35, 0, [(1, 10), (11, 20)], list(range(21, 36))),
        (15, 15, [(1, 15)], []),
    ],
)
def test_rolling_as_in_the_golden(rounds: int, scene_at: int, rolled: list, left: list[int]) -> None:
    rolling = DialogRolling(AfterRollingRegistry())
    results = talked(rolling, rounds, scene_at)
    assert [(result.first, result.last) for result in results] == rolled
    assert rolling.rounds == left


def test_an_idle_hour_rolls_everything() -> None:
    rolling = DialogRolling(AfterRollingRegistry())
    assert rolling.tick(NOW) is None
    talked(rolling, 3)
    assert rolling.tick(NOW + timedelta(minutes=30)) is None
    result = rolling.tick(NOW + timedelta(hours=2))
    assert result and (result.first, result.last) == (1, 3)
    assert [message.content for message in result.unit.messages][::2] == ["第1句", "第2句", "第3句"]


def test_equal_texts_are_rounds_of_their_own() -> None:
    rolling = DialogRolling(AfterRollingRegistry())
    for i in range(20):
        rolling.add("嗯", "嗯", NOW + timedelta(minutes=i))
    assert rolling.rounds == list(range(11, 21))


def test_consumers_fail_alone(caplog: pytest.LogCaptureFixture) -> None:
    registry, seen = AfterRollingRegistry(), list[int]()
    registry.register("broken", lambda result: 1 / 0)
    registry.register("well", lambda result: seen.append(result.last))
    rolling = DialogRolling(registry)
    talked(rolling, 20)
    assert seen == [10]
    failed = registry.run(RollingResult(MemoryUnit("u", ()), 1, 1))
    assert list(failed) == ["broken"] and isinstance(failed["broken"], ZeroDivisionError)
    assert "broken" in caplog.text


def test_a_conversation_becomes_slices_where_its_topic_turns(runtime: MemoryRuntime) -> None:
    registry = AfterRollingRegistry()
    registry.register("recall", MemoryRecallProfileExtractor(runtime))
    rolling = DialogRolling(registry)
    said = ["昨天和室友去吃了火锅", "毛肚特别好吃", "嗯嗯", "对了公司又加班", "老板真烦"]
    for i, text in enumerate(said):
        rolling.add(text, "嗯", NOW - timedelta(hours=3) + timedelta(minutes=i), scene_changed=i == 4)
    [unit] = runtime.units.values()
    assert [(slice_.start, slice_.end) for slice_ in unit.slices] == [(0, 6), (6, 10)]
    assert unit.of(unit.slices[1])[0].content == "对了公司又加班"
    assert "饮食->火锅 {slices: 1}" in runtime.get_topic_tree()
    assert "工作->加班 {slices: 1}" in runtime.get_topic_tree()
    [found] = MemorySelector(runtime).select("还想吃火锅")
    assert [message.content for message in found.messages][::2] == said[:3]
    assert ids(runtime.query_by_date("2025-05-21")) == [slice_.id for slice_ in unit.slices]


# ---- profiles


def sliced(text: str, reply: str = "嗯") -> tuple[MemoryUnit, MemorySlice]:
    messages = (Message("user", text), Message("assistant", reply)) if reply else (Message("user", text),)
    slice_ = MemorySlice("s", text, NOW, 0, len(messages))
    return MemoryUnit("u", messages, (slice_,)), slice_


def test_a_profile_by_rules_is_corrected(runtime: MemoryRuntime) -> None:
    extractor = MemoryRecallProfileExtractor(runtime)
    found = extractor.extract(*sliced("昨天吃了火锅", ""))
    assert found and found.topic_path == "饮食->火锅"
    assert found.profile == ActivationProfile(0.5, 0.35, 0.5)
    related = extractor.extract(*sliced("和妈妈去吃了火锅，火锅店还放着老歌"))
    assert related and related.topic_path == "饮食->火锅" and "家人->妈妈" in related.related_topic_paths


def test_a_profile_by_the_one_extraction_call(runtime: MemoryRuntime, prompts: Prompts) -> None:
    put(runtime, "old", "生活->饮食")
    event = {
        "text": "用户吃了火锅", "subject": "用户", "predicate": "吃", "object": "火锅", "importance": 3, "keywords": [],
        "place": "", "topic": " 生活 -> 饮食 ", "happened": None, "sources": [1],
    }  # fmt: skip
    model = ScriptedModel(answers=[answer(1, events=[event])])
    extractor = MemoryRecallProfileExtractor(runtime, model, prompts)
    found = extractor.extract(*sliced("昨天吃了火锅"))
    assert found and found.topic_path == "生活->饮食"
    [(messages, _)] = model.questions
    assert "生活->饮食 {slices: 1}" in messages[0].content


def test_where_the_model_fails_the_date_remains(runtime: MemoryRuntime, prompts: Prompts) -> None:
    unit, _ = sliced("昨天吃了火锅")
    model = ScriptedModel(answers=[ModelError("timeout", "late")])
    MemoryRecallProfileExtractor(runtime, model, prompts)(RollingResult(unit, 1, 1))
    assert runtime.get_topic_tree() == ""
    assert ids(runtime.query_by_date("2025-05-21")) == ["s"]


# ---- selecting


def test_cues_by_words_and_times(runtime: MemoryRuntime) -> None:
    put(runtime, "a", "饮食->火锅")
    found = MemoryRecallCueExtractor(runtime).extract("昨天那顿火锅怎么样", NOW)
    assert found.matches == (Match("TOPIC", "饮食->火锅"), Match("DATE", "2025-05-20"))
    assert MemoryRecallCueExtractor(runtime).extract("嗯嗯", NOW) == ExtractorResult()


def test_cues_by_a_model_and_by_words_where_it_fails(runtime: MemoryRuntime, prompts: Prompts) -> None:
    put(runtime, "a", "饮食->火锅")
    said = '{"topics": [" 饮食 → 火锅 "], "dates": ["2025-05-20", "昨天", "2025年5月19日", "2025-13-40"]}'
    model = ScriptedModel(answers=[said, "不知道", ModelError("timeout", "late")])
    extractor = MemoryRecallCueExtractor(runtime, model, prompts)
    first = extractor.extract("那次的毛肚", NOW).matches
    assert first == (Match("TOPIC", "饮食->火锅"), Match("DATE", "2025-05-20"), Match("DATE", "2025-05-19"))
    by_words = (Match("TOPIC", "饮食->火锅"),)
    assert extractor.extract("说说火锅", NOW).matches == by_words
    assert extractor.extract("说说火锅", NOW).matches == by_words
    assert "饮食->火锅" in model.questions[0][0][0].content and "那次的毛肚" in model.questions[0][0][0].content


def test_a_malformed_date_skips_that_cue_only(runtime: MemoryRuntime) -> None:
    put(runtime, "a", "饮食", 1)
    put(runtime, "b", "", 24)
    cues = ExtractorResult(
        (Match("DATE", "soon"), Match("TOPIC", "饮食"), Match("DATE", "2025-05-20"), Match("TOPIC", " "))
    )
    assert ids(MemorySelector(runtime).recall(cues)) == ["a", "b"]


def test_the_evaluator_drops_keeps_order_and_asks_once(runtime: MemoryRuntime, prompts: Prompts) -> None:
    for i in range(4):
        put(runtime, f"s{i}", "饮食", i + 1)
    slices = runtime.query_by_topic_path("饮食")
    model = ScriptedModel(answers=['{"helpful": [3, "1", 9]}', '{"helpful": []}'])
    evaluator = MemoryRecallEvaluator(model, prompts)
    assert evaluator.evaluate("火锅", slices) == [slices[0], slices[2]]
    assert evaluator.evaluate("火锅", slices) == []
    assert len(model.questions) == 2
    assert all(one.summary in model.questions[0][0][0].content for one in slices)


def test_the_evaluator_fails_open(runtime: MemoryRuntime, prompts: Prompts) -> None:
    put(runtime, "a", "饮食")
    slices = runtime.query_by_topic_path("饮食")
    model = ScriptedModel(answers=["no json here", '{"other": 1}', ModelError("timeout", "late")])
    for _ in range(3):
        assert MemoryRecallEvaluator(model, prompts).evaluate("火锅", slices) == slices
    assert MemoryRecallEvaluator().evaluate("火锅", slices) == slices
    assert MemoryRecallEvaluator(model, prompts).evaluate("火锅", []) == []


# ---- the block


def shown(number: int, length: int) -> ActivatedMemorySlice:
    messages = (Message("user", "话" * length), Message("assistant", "嗯"))
    at = datetime.fromisoformat("2025-05-20T12:00:00+08:00")
    return ActivatedMemorySlice(SliceRef("u", str(number)), f"第{number}段", at.date(), at, messages)


def test_the_block_shows_date_summary_and_messages(runtime: MemoryRuntime) -> None:
    put(runtime, "a", "饮食->火锅")
    block = MemorySelector(runtime).block("说说火锅")
    assert (
        block == "<activated_memory_slices>\n[2025-05-21] 关于a\nuser: 说a\nassistant: 嗯\n</activated_memory_slices>"
    )
    assert activated_memory_slices([]) == ""


def test_slices_are_shown_in_three_lengths_by_budget() -> None:
    slices = [shown(1, 300), shown(2, 300), shown(3, 300)]
    whole = activated_memory_slices(slices, 5000)
    assert whole.count("话" * 300) == 3
    mixed = activated_memory_slices(slices, 400)
    assert "话" * 300 in mixed and "话" * 60 + "…" in mixed
    assert all(f"第{i}段" in mixed for i in (1, 2, 3))
    heads = activated_memory_slices(slices, 45)
    assert "话" not in heads and heads.count("[2025-05-20]") == 3
    assert count_tokens(activated_memory_slices(slices, 15)) < 40
    assert activated_memory_slices(slices, 0) == ""
