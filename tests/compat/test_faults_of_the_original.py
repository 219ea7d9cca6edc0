"""Every fault of the original that CONTRACTS.md (A) lists, one test each, which would fail on that fault."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from moechat.errors import ModelError, MoeChatError
from moechat.index.hybrid import TimeIndex
from moechat.language.words import count_tokens
from moechat.memory.world_book import WorldBook
from tests.houses import (
    Home,
    answer,
    day_files,
    edit,
    fact,
    imported,
    moment,
    recalled,
    say,
    shown,
    told,
    understanding,
)


def question(home: Home, text: str, **model: Any) -> str:
    """What one question brings into the prompt, a day on."""
    with home.open(**model) as house:
        return shown(house.agent().recall(text))


def test_the_first_record_of_a_span_is_not_lost(home: Home) -> None:
    store = home.store()
    imported(store, ("2025-05-19T08:00:00", "第一句", "嗯"), ("2025-05-19T09:00:00", "第二句", "嗯"))
    store.close()
    found = question(home, "昨天我们聊了什么")
    assert "第一句" in found
    assert "第二句" in found


def test_a_day_is_found_after_a_reload_however_the_records_came(home: Home) -> None:
    keys = [i * 7919 % 10_000 for i in range(10_000)]
    index = TimeIndex([(key, float(key)) for key in keys])
    assert index.between(4000, 4049).tolist() == list(range(4000, 4050))
    days = [f"2025-05-{1 + (i * 7) % 19:02}T{i % 24:02}:{i % 60:02}:00" for i in range(300)]
    store = home.store()
    imported(store, *((at, f"说了{at}", "") for at in dict.fromkeys(days)))
    store.close()
    reopened = home.store()
    times = [t for _, t in reopened.exchanges.times()]
    assert times == sorted(times)
    reopened.close()
    with home.open() as house:
        found = house.agent().recall("昨天我们聊了什么")
        yesterday = {hit.id for hit in found.ranked if hit.time and hit.time.date().isoformat() == "2025-05-19"}
        assert yesterday == {moment(at).strftime("%Y%m%d-%H%M%S") for at in days if at.startswith("2025-05-19")}
        assert {hit.time.date().isoformat() for hit in found.hits if hit.time} == {"2025-05-19"}


def test_every_time_expression_counts_not_only_the_first(home: Home) -> None:
    store = home.store()
    imported(store, ("2025-05-19T08:00:00", "吃了面", "嗯"), ("2025-05-12T09:00:00", "吃了粉", "嗯"))
    store.close()
    found = question(home, "昨天和5月12日我们聊了什么")
    assert "吃了面" in found
    assert "吃了粉" in found


def test_two_turns_in_one_second_do_not_overwrite_each_other(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        assert say(agent, "第一句").exchange.id != say(agent, "第二句").exchange.id
        agent.finish()
        assert agent.verify()["exchanges"] == 2


def test_a_half_written_record_does_not_lose_the_whole_day(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, "早上吃了面")
        say(agent, "中午吃了粉")
        agent.finish()
        path = day_files(home.folder)[0]
        path.write_bytes(path.read_bytes()[:-40] + b'\n"half')
        home.clock.advance(days=1)
        assert "早上吃了面" in shown(recalled(agent, "昨天我们聊了什么"))
        assert any(str(path) in problem for problem in agent.problems())


def test_vectors_belong_to_texts_not_to_positions(home: Home) -> None:
    """A record that is put in front of the others must not shift everybody's vectors."""
    with home.open() as house:
        agent = house.agent()
        for text in ("我养了一只鹦鹉", "我在学吉他", "我想去冰岛"):
            say(agent, text)
        agent.finish()
        path = day_files(home.folder)[0]
        path.write_text(
            "new:\n  time: 2025-05-20T08:00:00+08:00\n  msg: {user: 清晨下雨了, char: 嗯}\n" + path.read_text("utf-8"),
            "utf-8",
        )
        home.clock.advance(days=1)
        for asked, expected in (
            ("鹦鹉", "我养了一只鹦鹉"),
            ("吉他", "我在学吉他"),
            ("冰岛", "我想去冰岛"),
            ("清晨下雨", "清晨下雨了"),
        ):
            agent.recall(asked)
            agent.jobs.embed_some()
            vector = home.embedder.embed([expected])[0]
            row = next(row for row in agent.store.exchanges.filed() if row.exchange.user == expected)
            table = agent.dense.table("diary")
            assert table is not None
            import numpy as np

            assert np.allclose(table.get(np.array([2 * row.row]))[0], vector, atol=1e-6)
            assert expected in shown(agent.recall(f"{asked}怎么样"), "diary").split("\n")[0]


def test_a_year_of_talk_stays_within_the_budget(home: Home) -> None:
    store = home.store()
    imported(
        store,
        *(
            (
                f"2025-{1 + i // 28:02}-{1 + i % 28:02}T10:00:00",
                f"第{i}天，" + "今天发生了很多很多事情，" * 40,
                "嗯" * 50,
            )
            for i in range(130)
        ),
    )
    store.close()
    with home.open() as house:
        found = house.agent().recall("今年我们聊了什么")
        assert found.hits
        assert sum(hit.tokens for hit in found.hits) <= 1500
        assert count_tokens(shown(found)) <= 1700


def test_two_processes_on_one_folder_are_kept_apart_by_a_lock(home: Home) -> None:
    script = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from tests.houses import Home, SetClock, moment, told
home = Home(Path({str(home.data)!r}), Path({str(home.config)!r}), SetClock(moment("2025-05-20T15:00:00")))
store = home.store()
for i in range(15):
    told(store, home.clock, sys.argv[1] + str(i), settle=True, seconds=7)
store.close()
"""
    running = [subprocess.Popen([sys.executable, "-c", script, name]) for name in "ab"]
    assert [process.wait(60) for process in running] == [0, 0]
    with home.open() as house:
        report = house.agent().verify()
        assert (report["exchanges"], report["problems"]) == (30, [])


def test_a_tag_that_failed_once_is_not_small_talk_for_ever(home: Home) -> None:
    answers: list[Any] = [ModelError("timeout", "too slow")]

    def make(count: int) -> Any:
        return answers.pop() if answers else answer(count, tag="用户说住在杭州")

    with home.open(understanding(make)) as house:
        agent = house.agent()
        id_ = say(agent, "我住在杭州").exchange.id
        agent.finish()
        assert agent.store.exchanges.by_ids([id_])[id_].tag != "日常闲聊"
        assert agent.store.tree.pending() == [id_]
        home.clock.advance(minutes=5)
        agent.finish()
        assert agent.store.exchanges.by_ids([id_])[id_].tag == "用户说住在杭州1"


def test_facts_are_not_lost_while_the_model_is_down(home: Home) -> None:
    down = [True]

    def make(count: int) -> Any:
        return (
            ModelError("no_route", "nobody there")
            if down
            else answer(count, facts=[fact("用户讨厌香菜", 1, keyword="喜好", target="香菜", polarity=-1)])
        )

    with home.open(understanding(make)) as house:
        agent = house.agent()
        say(agent, "我讨厌香菜")
        agent.finish()
        assert [f.draft.target for f in agent.layers.core.current()] == ["香菜"], "the rules found it at once"
        assert agent.store.tree.pending()
        down.clear()
        home.clock.advance(hours=1)
        agent.finish()
        assert [(f.draft.target, f.by) for f in agent.layers.core.current()] == [("香菜", "model")]


def test_pickles_in_a_shared_folder_are_never_loaded(home: Home, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "boom",))

    for name in ("memorys/2025-05-20.pkl", "memorys/2025-5-20.pkl", "core_mem.pkl", "data_base/tmp/x.pkl", "log.pkl"):
        path = home.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(Bomb()))
    with home.open() as house:
        agent = house.agent()
        say(agent, "昨天我们聊了什么")
        agent.finish()
        agent.verify()
    assert not (tmp_path / "boom").exists()


def test_no_module_of_the_package_can_unpickle_or_evaluate(root: Path) -> None:
    import ast

    for path in (root / "moechat").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "marshal", "shelve", "dill", "joblib"}, path
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", "")
                assert called not in ("eval", "exec"), path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


def test_spaces_stay_in_facts(home: Home) -> None:
    def make(count: int) -> str:
        return answer(count, facts=[fact("The user likes New York", 1, keyword="likes", target="New York")])

    with home.open(understanding(make)) as house:
        agent = house.agent()
        say(agent, "I like New York")
        agent.finish()
        assert any("New York" in f.text for f in agent.layers.core.current())
    assert "New York" in (home.folder / "core_mem.yml").read_text(encoding="utf-8")


def test_a_deleted_world_book_file_is_answered_no_more(home: Home) -> None:
    folder = home.folder / "data_base"
    folder.mkdir()
    (folder / "a.yaml").write_text("断桥: 西湖上的桥\n", encoding="utf-8")
    with home.open() as house:
        agent = house.agent()
        assert "西湖上的桥" in shown(recalled(agent, "断桥在哪"))
        (folder / "a.yaml").unlink()
        assert "西湖上的桥" not in shown(recalled(agent, "断桥在哪"))
    assert not WorldBook(folder, None).entries


def test_an_empty_message_is_refused_in_words(home: Home) -> None:
    with home.open() as house:
        for text in ("", "  \n"):
            with pytest.raises(MoeChatError, match="empty"):
                say(house.agent(), text)
            assert house.agent().recall(text).hits == []


def test_what_is_stored_is_what_was_typed_never_the_assembled_prompt(home: Home) -> None:
    """The original's record of one question, asked six times, grew from 532 to 16,838 characters."""
    with home.open() as house:
        agent = house.agent()
        for _ in range(6):
            say(agent, "昨天我们聊了什么？")
            agent.finish()
            home.clock.advance(days=1)
        sizes = {len(row.exchange.user) for row in agent.store.exchanges.filed()}
        assert sizes == {len("昨天我们聊了什么？")}
    assert {path.stat().st_size for path in day_files(home.folder)} == {day_files(home.folder)[0].stat().st_size}
    assert "你想起的往事" not in (home.folder / "log.jsonl").read_text(encoding="utf-8")


def test_a_correction_replaces_the_fact_that_it_contradicts(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        for text in ("我住在杭州", "我搬家了，我住在苏州"):
            say(agent, text)
            agent.finish()
            home.clock.advance(days=1)
        assert [f.draft.target for f in agent.layers.core.current() if f.draft.keyword == "住址"] == ["苏州"]
        assert [f.draft.target for f in agent.layers.core.history() if f.draft.keyword == "住址"] == ["杭州", "苏州"]


def test_a_record_that_is_read_keeps_every_other_record_of_its_day_while_one_is_edited(home: Home) -> None:
    store = home.store()
    ids = [told(store, home.clock, f"第{i}句", settle=True) for i in range(3)]
    edit(day_files(home.folder)[0], "第1句", "第1句，改过了")
    store.follow()
    assert [store.exchanges.get(id_).user for id_ in ids] == ["第0句", "第1句，改过了", "第2句"]
    store.close()
