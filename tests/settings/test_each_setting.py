"""Each setting of config.yaml changes what it says: one row a key, with another value and what is seen to change by it.

What is seen is a plain value: a request as a model's server got it, the hits of a recall, the words of an error. A row
holds where that is the same each time without the setting, and another with it.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic import BaseModel

from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.ai.window import Window
from moechat.settings.config import Config
from tests.houses import DIM, Home
from tests.rooms import lived
from tests.settings.looks import (
    NOWHERE,
    OTHER,
    Look,
    Place,
    Settings,
    a_day_later,
    asked,
    batches,
    came_back,
    clock,
    copies,
    database,
    embedded,
    forgotten,
    grieved,
    known_facts,
    late,
    leaps,
    model_of,
    opened,
    owners,
    past,
    patience,
    persona,
    prompt,
    recalled,
    retries,
    second_reader,
    silence,
    target,
    threads,
    topics,
    vectors,
)  # fmt: skip
from tests.settings.served_looks import at_once, command, front, language, let_in, page


class Row(NamedTuple):
    """Another ``value``, what is looked at, and what is set in either case."""

    value: Any
    look: Look
    base: Settings = MappingProxyType({})


def recipe(name: str, look: Look = recalled, base: Settings = MappingProxyType({}), **values: Any) -> dict[str, Row]:
    """The rows of a way of recalling."""
    rows = {"enabled": False, "weight": 60, "limit": 1, "threshold": 1.0} | values
    return {f"recall.recipes.{name}.{key}": Row(value, look, base) for key, value in rows.items() if value is not None}


def alike(section: str, look: Look, base: Settings = MappingProxyType({}), **values: Any) -> dict[str, Row]:
    """Rows of a section that are looked at in the same way."""
    return {f"{section}.{key}": Row(value, look, base) for key, value in values.items()}


OLD = ("char_settings", "char_personalities", "mask", "message_example", "prompt", "start_with")
YESTERDAY = partial(recalled, text="昨天我和室友吃了什么火锅")
UNDERSTANDS = partial(asked, understands=True)
LOCAL = {"chat.local_gguf": "none.gguf"}
NEAR = {"Agent.books_thresholds": -1.0}
FEW = {"roll.understand_at_rounds": 4, "roll.oldest": 2, "roll.cut_at_rounds": 5}
LATER = partial(batches, rounds=2, hours=13)
FULL = {"forgetting.cap": 8}
TABLES = {"store.kind": "postgres", "store.address": "real", "store.connections": 3, "store.timeout_s": 0.3}
WEB, SERVE = partial(command, name="web"), partial(command, name="serve")
SCARCE = {
    "recall.token_budget": 90,
    "Agent.mem_thresholds": -1.0,
    **NEAR,
    "recall.recipes.profile.weight": 0,
    "recall.recipes.entities.weight": 0,
}
ALONE = {f"recall.recipes.{name}.enabled": False for name in ("events", "stream")}
TOPICS = ALONE | {"recall.recipes.by_topic.enabled": True, "recall.recipes.association.enabled": False}
WORDS_ALONE = {"recall.recipes.profile.enabled": False, "Agent.long_memory": False}
SLOW = ScriptedModel(understands=False, window=Window(token_s=1.0))
ROWS: dict[str, Row] = {
    **alike("Agent", opened, char=OTHER, user="阿木"),
    **alike("Agent", persona, **dict.fromkeys(OLD, "他住在灯塔里")),
    **alike(
        "Agent", recalled, long_memory=False, mem_thresholds=1.0, is_core_mem=False, core_top_k=1, lore_books=False
    ),
    **alike("Agent", recalled, NEAR, books_thresholds=1.0, scan_depth=1),
    **alike("Agent", YESTERDAY, {"Agent.mem_thresholds": 0.9}, is_check_memorys=True),
    **alike("Agent", recalled, {"recall.recipes.profile.enabled": False}, core_threshold=1.0),
    **alike("Agent", known_facts, core_dedupe_window=0),
    **alike("Agent", prompt, context_length=2),
    **alike("chat", asked, base_url="other", model="small", key_env="OTHER_KEY", temperature=0.3),
    **alike("chat", asked, extra={"top_k": 3}, single_system=True),
    **alike("chat", silence, {"chat.timeout_s": 0.2}, timeout_s=0.3),
    **alike("chat", model_of, local_gguf="none.gguf"),
    **alike("chat", model_of, LOCAL, local_timeout_s=7.0),
    **alike("chat", model_of, {"chat.base_url": "http://127.0.0.1:9/v1"}, context_window=2000),
    **alike("chat", prompt, recalled_position="before_history", context_tokens=20, reply_chars=8),
    **alike(
        "understanding", UNDERSTANDS, base_url="other", model="small", temperature=0.7, max_tokens=9, extra={"k": 3}
    ),
    **alike("understanding", UNDERSTANDS, {"understanding.base_url": "other"}, key_env="OTHER_KEY"),
    **alike("understanding", patience, silence_s=7.0),
    **alike("understanding", past, past_tokens_a_day=7),
    **alike("understanding", partial(batches, rounds=2), batch_size=1),
    **alike("embedding", vectors, provider="off"),
    **alike("embedding", embedded, model="n", base_url="other", key_env="OTHER_KEY"),
    **alike("embedding", recalled, fitted={HashEmbedder(DIM).fingerprint: {"diary": 1.0, "core": 1.0, "lore": 1.0}}),
    **alike("recall", recalled, brings_up="rarely", token_budget=60),
    **alike("recall", recalled, {"recall.token_budget": 0}, book_tokens=0),
    **alike("recall", grieved, what_matters=False),
    **alike("recall", came_back, days=False, mood=False, ours=False),
    **alike("greeting", came_back, enabled=True),
    **alike("greeting", came_back, {"greeting.enabled": True}, after_h=9.0, quiet_from=9, quiet_until=6),
    **alike("daybook", a_day_later, enabled=True),
    **alike("recall", late, deadline_ms=1),
    **alike("recall", partial(recalled, model=SLOW), reading_s=0.0),
    **alike("recall", partial(threads, prefix="recall"), threads=1),
    **alike("recall", target, false_recall_target=0.1),
    **alike("recall.min_share", recalled, SCARCE, diary=0.0, core=0.4, lore=0.4, reflections=0.4),
    **alike("recall.stream.weights", recalled, recency=90, relevance=0, importance=90),
    **alike("recall.stream", recalled, decay=0.5, recency_unit="days"),
    **alike("recall.topics", topics, {"recall.topics.evaluator": True}, evaluator=False, timeout_s=7.0),
    **alike("recall.topics", topics, cues_by_model=True),
    **recipe("by_time", YESTERDAY, ALONE | {"Agent.is_check_memorys": True, "Agent.mem_thresholds": -1.0}),
    **recipe("by_topic", partial(recalled, text="莫干山好玩吗"), TOPICS),
    **recipe("association", base=ALONE, threshold=None, all_events=True),
    **recipe("lore", base=NEAR),
    **{key: row for name in ("events", "stream", "profile", "entities") for key, row in recipe(name).items()},
    **alike("association", recalled, version="v18", count=0, filter_values=list(range(1, 13))),
    **alike("association", partial(recalled, text="猫和狗"), WORDS_ALONE, strategy="second"),
    **alike("reflection", leaps, enabled=False, counter=100, recent=2, retrieved=2, expires_days=5),
    **alike("reflection", partial(retries, kind="reflection"), retry_s=3600),
    **alike("reflection", patience, llm_timeout_s=7.0),
    **alike("forgetting", forgotten, cap=5),
    **alike("forgetting", forgotten, FULL, share=0.5, every_days=30),
    **alike("forgetting", partial(forgotten, days=60), {"forgetting.minimum": 2}, inactive_days=30),
    **alike("forgetting", partial(forgotten, days=100), minimum=2),
    **alike("forgetting", forgotten, merges=False),
    **alike("roll", batches, FEW | {"roll.cut_at_rounds": 30}, understand_at_rounds=5),
    **alike("roll", batches, FEW, oldest=3),
    **alike("roll", partial(batches, fails=True), FEW, cut_at_rounds=30),
    **alike("roll", batches, pause_s=86_400),
    **alike("roll", partial(batches, rounds=2, hours=2), idle_understand_h=5),
    **alike("roll", LATER, idle_cut_h=20, overview=0),
    **alike("roll", partial(retries, kind="understanding"), {"roll.idle_understand_h": 0.1}, retry_s=3600),
    **alike("time", clock, {"time.zone": "Asia/Tokyo"}, zone="America/New_York"),
    **alike("time", partial(recalled, text="最近我们聊了什么"), widths={"最近": 30}),
    **alike("time", second_reader, second_reader="jionlp"),
    **alike("web", WEB, {"web.port": "taken"}, host="0.0.0.0", port="taken too"),
    **alike("web", WEB, {"web.host": "0.0.0.0"}, password_env="OTHER_WORD"),
    **alike("web", language, language="en"),
    **alike("web", page, shown_messages=4),
    **alike("serve", SERVE, {"serve.port": "taken"}, host="0.0.0.0", port="taken too"),
    **alike("serve", SERVE, {"serve.host": "0.0.0.0"}, key_env="OTHER_WORD"),
    **alike("serve", let_in, origins=["https://chat.example"], body_kb=16),
    **alike("serve", at_once, replies=1),
    **alike("serve", front, {"serve.port": 0}, page=False),
    **alike("backups", copies, keep=2),
    **alike("owners", owners, open=1, idle_min=60),
    **alike("owners", partial(threads, prefix="memory"), threads=1),
    **alike("store", database, kind="postgres"),
    **alike("store", database, {"store.kind": "postgres", "store.timeout_s": 0.3}, address=NOWHERE),
    **alike("store", database, TABLES, connections=2, timeout_s=0.4, name_each_time=True, nearest="hnsw"),
    **alike("store", database, TABLES, direct=NOWHERE, servers={"b": {"address": NOWHERE}}),
    **alike("store", database, TABLES | {"store.servers": {"b": {"address": NOWHERE}}}, new_owners="b"),
}


def keys(section: BaseModel, prefix: str = "") -> Iterator[str]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        yield from keys(value, f"{prefix}{name}.") if isinstance(value, BaseModel) else [f"{prefix}{name}"]


def test_every_setting_has_a_row() -> None:
    assert set(ROWS) == set(keys(Config()))


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with something of everything."""
    home = Home.build(tmp_path_factory.mktemp("life"))
    book = {f"{word}锅": f"{word}的火锅是小镇的招牌，汤底要熬一夜。" for word in ("店", "节", "街")}
    book |= {"红油": {"text": "辣得人跳起来。" * 3, "keys": ["火锅"]}}
    events = {
        f"pot{i}": {"text": f"小满第{i}次打翻火锅", "keywords": ["火锅"], "topic": "饮食->火锅"} for i in (1, 2, 3)
    }
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "book.yaml").write_text(yaml.safe_dump(book, allow_unicode=True), "utf-8")
    (home.folder / "events.yaml").write_text(yaml.safe_dump(events, allow_unicode=True), "utf-8")
    with home.open() as house:
        agent, now = house.agent(), home.clock.now()
        lived(agent)
        for fact in (
            "用户喜欢吃火锅",
            "用户和室友常吃火锅",
            "用户讨厌清汤火锅",
            "用户的室友叫小林",
            "用户的宠物怕打雷",
        ):
            agent.memories.add_fact(fact)
        agent.memories.add_event("和室友吃了鸳鸯火锅", happened="昨天")
        for i in range(4):
            text = f"第{i}家火锅店的室友聚会，" + "吃得很热闹。" * 5
            agent.record(text, "下次再去。", now - timedelta(days=i, hours=3))
        agent.finish()
    return home.data.parent


@pytest.fixture(scope="module")
def named(request: pytest.FixtureRequest) -> Iterator[Callable[[object], object]]:
    """What the words of a row stand for: two ports that are taken, and a real database."""
    with contextlib.ExitStack() as last:
        taken = {name: last.enter_context(socket.create_server(("127.0.0.1", 0))) for name in ("taken", "taken too")}
        ports = {name: listening.getsockname()[1] for name, listening in taken.items()}
        yield lambda value: request.getfixturevalue("address") if value == "real" else ports.get(str(value), value)


USUAL: dict[tuple[Look, str], object] = {}


@pytest.mark.parametrize("key", ROWS)
def test_another_value_is_seen(
    key: str, life: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: Callable[[object], object]
) -> None:
    for name in ("MOECHAT_API_KEY", "OTHER_KEY"):
        monkeypatch.setenv(name, f"sk-{name}")
    row = ROWS[key]

    def look(name: str, settings: Settings) -> object:
        return row.look(Place(tmp_path / name, {one: named(value) for one, value in settings.items()}, life))

    without = row.look, repr(sorted(row.base.items()))
    if without not in USUAL:
        USUAL[without] = look("usual", row.base)
        assert look("again", row.base) == USUAL[without]
    assert look("other", {**row.base, key: row.value}) != USUAL[without]
