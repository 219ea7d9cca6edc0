"""The official store: read by all users, written by its author alone, one record at a time."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.author.official import Official
from moechat.errors import DataError, FieldError, NotFound
from moechat.model import Episode, Fact
from moechat.store import records

ZONE = ZoneInfo("Asia/Shanghai")
EVENTS = """\
# 我们写的事件
lighthouse:
  text: "{{char}}和{{user}}爬上了旧灯塔"
  time: 2023-04-02T19:30
  place: 旧灯塔
  keywords: [灯塔, 楼梯]   # 两个
  insight: "{{user}}不怕高"

# 下面是冬天的事
snow:
  text: 下了第一场雪
  importance: .8
"""
FACTS = """\
violin:
  text: "{{char}}是修小提琴的"
  entity: character
  keyword: 工作
tea: 小巷尽头的茶不苦
aning:
  text: 阿宁欠{{user}}一幅画
  entity: 阿宁
  kind: relation
  keyword: 约定
  target: user
  time: 2024-01-05T10:00:00
"""


def build(folder: Path, events: str = EVENTS, facts: str = FACTS) -> Official:
    (folder / "events.yaml").write_text(events, encoding="utf-8")
    (folder / "facts.yaml").write_text(facts, encoding="utf-8")
    return Official(folder, zone=ZONE, names=lambda: {"user": "小棠", "char": "江砚"})


def test_events_and_facts_are_read_with_the_names_filled_in(tmp_path: Path) -> None:
    store = build(tmp_path)
    lighthouse, snow = store.episodes()
    assert (lighthouse.id, lighthouse.by, lighthouse.event.text) == ("lighthouse", "author", "江砚和小棠爬上了旧灯塔")
    assert lighthouse.at == datetime(2023, 4, 2, 19, 30, tzinfo=ZONE)
    assert lighthouse.event.keywords == ("灯塔", "楼梯") and lighthouse.event.insight == "小棠不怕高"
    assert lighthouse.event.sources == () and snow.event.importance == 0.8
    violin, tea, aning = store.facts()
    assert (violin.text, violin.draft.entity, violin.by) == ("江砚是修小提琴的", "character", "author")
    assert (tea.id, tea.text, tea.draft.entity) == ("tea", "小巷尽头的茶不苦", "user")
    assert (aning.draft.kind, aning.draft.target, aning.text) == ("relation", "user", "阿宁欠小棠一幅画")
    assert store.problems == []


def test_a_memory_is_given_with_the_keys_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "data_base").mkdir()
    (tmp_path / "data_base" / "a.yaml").write_text(
        "quay: {text: stone, keys: [pier], secondary: [rain], order: 3}\n", "utf-8"
    )
    store = build(tmp_path)
    rows = {row["id"]: row for row in map(store.as_row, store.listed())}
    assert rows["aning"] == {
        "store": "official", "id": "aning", "by": "author", "time": "2024-01-05T10:00:00+08:00", "type": "fact",
        "text": "阿宁欠小棠一幅画", "kind": "relation", "entity": "阿宁", "keyword": "约定", "target": "user", "polarity": 1,
        "single": False, "generic": False,
    }  # fmt: skip
    assert rows["a.yaml#quay"] == {
        "store": "official", "id": "a.yaml#quay", "by": "author", "type": "lore", "keyword": "quay", "text": "stone",
        "keys": ["pier"], "constant": False, "enabled": True, "file": "a.yaml", "secondary": ["rain"], "order": 3,
    }  # fmt: skip
    lighthouse = rows["lighthouse"]
    assert (lighthouse["type"], lighthouse["time"], lighthouse["place"]) == (
        "event",
        "2023-04-02T19:30:00+08:00",
        "旧灯塔",
    )
    assert (lighthouse["keywords"], lighthouse["insight"], lighthouse["importance"]) == (
        ["灯塔", "楼梯"],
        "小棠不怕高",
        0.5,
    )


def test_a_character_without_the_files_has_an_empty_store(tmp_path: Path) -> None:
    store = Official(tmp_path)
    assert store.listed() == [] and store.problems == [] and not store.refresh()


@pytest.mark.parametrize(
    ("record", "line", "why"),
    [
        ("bad:\n  text: x\n  plaec: y\n", 13, "did you mean place"),
        ("bad:\n  text: x\n  time: 昨天\n", 13, "write it as 2025-05-20T15:03"),
        ("bad:\n  text: x\n  importance: 很高\n", 13, "from 0 to 1"),
        ("bad:\n  text: x\n  happened: 2024-01-01/../x\n", 13, "2025-05-20T15:03/"),
        ("bad:\n  text: x\n  keywords: {a: b}\n", 13, "list of words"),
        ("bad:\n  place: 家\n", 13, "is missing"),
        ("bad: [1, 2]\n", 13, "write it in words"),
        ("bad:\n  text: 'x\n", 14, "not valid YAML"),
        ("bad:\n", 13, "write it in words"),
    ],
)
def test_a_broken_record_is_told_by_file_and_line_and_the_others_serve(
    tmp_path: Path, record: str, line: int, why: str
) -> None:
    store = build(tmp_path, EVENTS + record)
    assert [one.id for one in store.episodes()] == ["lighthouse", "snow"]
    (problem,) = store.problems
    assert "events.yaml" in str(problem) and why in str(problem)
    assert problem.line is not None and problem.line >= line


def test_an_id_that_stands_in_both_files_is_told(tmp_path: Path) -> None:
    store = build(tmp_path, facts=FACTS + "snow: 雪是白的\n")
    assert "snow" not in {fact.id for fact in store.facts()}
    assert "events.yaml as well" in str(store.problems[0])
    assert isinstance(store.get("snow"), Episode)
    assert not store.refresh()


def test_a_hand_edit_is_noticed_and_counted_once(tmp_path: Path) -> None:
    store = build(tmp_path)
    before = store.generation
    path = tmp_path / "events.yaml"
    path.write_text(EVENTS.replace("第一场雪", "今年的第一场雪"), encoding="utf-8")
    assert store.refresh()
    assert store.episodes()[1].event.text == "下了今年的第一场雪"
    assert store.generation == before + 1
    assert not store.refresh()
    path.write_text(path.read_text(encoding="utf-8") + "\n# 没有新的事\n", encoding="utf-8")
    assert not store.refresh() and store.generation == before + 1


def test_a_new_name_of_the_user_is_filled_in(tmp_path: Path) -> None:
    build(tmp_path)
    names = {"user": "小棠", "char": "江砚"}
    store = Official(tmp_path, zone=ZONE, names=lambda: names)
    names["user"] = "阿明"
    assert store.refresh()
    assert store.episodes()[0].event.text == "江砚和阿明爬上了旧灯塔"


def test_adding_leaves_every_byte_that_was_there(tmp_path: Path) -> None:
    store = build(tmp_path)
    event = store.add(
        "event", {"text": "{{user}}学会了骑车", "keywords": ["骑车"], "importance": 0.5, "time": "2024-05-01"}
    )
    fact = store.add("fact", {"text": "猫怕水", "entity": "猫", "generic": True}, "cats")
    assert (tmp_path / "events.yaml").read_bytes().startswith(EVENTS.encode())
    assert (tmp_path / "facts.yaml").read_bytes().startswith(FACTS.encode())
    assert event.event.text == "小棠学会了骑车" and fact.draft.generic and fact.id == "cats"
    again = Official(tmp_path, zone=ZONE, names=lambda: {"user": "小棠", "char": "江砚"})
    assert again.listed() == store.listed() and again.problems == []


def test_changing_a_record_leaves_the_others_and_every_comment(tmp_path: Path) -> None:
    store = build(tmp_path)
    changed = store.update("lighthouse", {"place": "灯塔顶", "insight": None})
    assert isinstance(changed, Episode) and changed.event.place == "灯塔顶" and changed.event.insight == ""
    text = (tmp_path / "events.yaml").read_text(encoding="utf-8")
    assert text.startswith("# 我们写的事件\nlighthouse:\n")
    assert text.endswith(EVENTS[EVENTS.index("\n# 下面是冬天的事") :])
    assert "{{user}}" in text, "the placeholder stays in the file"


def test_taking_a_record_out_leaves_the_others_and_every_comment(tmp_path: Path) -> None:
    store = build(tmp_path)
    store.delete("lighthouse")
    assert (tmp_path / "events.yaml").read_text(encoding="utf-8") == (
        "# 我们写的事件\n" + EVENTS[EVENTS.index("\n# 下面是冬天的事") :]
    )
    with pytest.raises(NotFound, match="lighthouse"):
        store.get("lighthouse")


def test_a_plain_line_becomes_a_record_when_it_is_changed(tmp_path: Path) -> None:
    store = build(tmp_path)
    fact = store.update("tea", {"keyword": "茶"})
    assert isinstance(fact, Fact) and (fact.text, fact.draft.keyword) == ("小巷尽头的茶不苦", "茶")


def test_broken_records_survive_a_write_beside_them(tmp_path: Path) -> None:
    broken = "torn:\n  text: 'oh\n"
    store = build(tmp_path, EVENTS + broken)
    store.update("snow", {"place": "山上"})
    store.delete("lighthouse")
    assert broken in (tmp_path / "events.yaml").read_text(encoding="utf-8")
    assert [one.event.place for one in store.episodes()] == ["山上"]


def test_a_file_that_is_not_text_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "events.yaml").write_bytes("旧:\n  text: 编码\n".encode("gbk"))
    store = Official(tmp_path)
    with pytest.raises(DataError, match=r"events\.yaml"):
        store.add("event", {"text": "新的"})
    assert (tmp_path / "events.yaml").read_bytes() == "旧:\n  text: 编码\n".encode("gbk")


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_line_ends_of_the_file_are_kept(tmp_path: Path, end: str) -> None:
    text = EVENTS.rstrip("\n").replace("\n", "\r\n") + end
    (tmp_path / "events.yaml").write_bytes(text.encode())
    store = Official(tmp_path, zone=ZONE)
    store.update("lighthouse", {"place": "顶层"})
    store.add("event", {"text": "又一件事"})
    data = (tmp_path / "events.yaml").read_bytes()
    assert [one.event.text for one in store.episodes()][1:] == ["下了第一场雪", "又一件事"]
    assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize(
    ("values", "field", "remedy"),
    [
        ({}, "text", "is missing"),
        ({"text": "  "}, "text", "in words"),
        ({"text": "x", "time": "soon"}, "time", "2025-05-20"),
        ({"text": "x", "time": "0001-01-01T00:00"}, "time", "2025-05-20"),
        ({"text": "x", "importance": 3}, "importance", "from 0 to 1"),
        ({"text": "x", "importance": float("nan")}, "importance", "from 0 to 1"),
        ({"text": "x", "keywords": [1]}, "keywords", "list of words"),
        ({"text": "x", "sources": ["e1"]}, "sources", "unknown key"),
        ({"text": {"a": 1}}, "text", "in words"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_field_and_nothing_is_written(
    tmp_path: Path, values: dict[str, object], field: str, remedy: str
) -> None:
    store = build(tmp_path)
    with pytest.raises(FieldError, match=remedy) as error:
        store.add("event", values)
    assert error.value.field == field
    assert (tmp_path / "events.yaml").read_text(encoding="utf-8") == EVENTS


@pytest.mark.parametrize("id_", ["", "a b", "a: b", "x" * 65, "-x", "../x", "violin"])
def test_an_id_must_be_new_and_a_plain_word(tmp_path: Path, id_: str) -> None:
    with pytest.raises(FieldError, match="is taken" if id_ == "violin" else "1 to 64 letters, digits") as refused:
        build(tmp_path).add("event", {"text": "x"}, id_)
    assert (refused.value.field, refused.value.value) == ("id", id_)


def test_search_finds_the_phrase_first_and_then_shared_words(tmp_path: Path) -> None:
    store = build(tmp_path)
    assert next(one.id for one in store.search("旧灯塔")) == "lighthouse"
    assert [one.id for one in store.search("小提琴", "event")] == []
    assert [one.id for one in store.search("小提琴")] == ["violin"]
    assert [one.id for one in store.search("灯塔的楼梯有多高", limit=1)] == ["lighthouse"]
    assert store.search("完全没有的东西吧") == []
    (tmp_path / "data_base").mkdir()
    (tmp_path / "data_base" / "a.yaml").write_text("渡口: {text: 船, keys: [码头]}\n", "utf-8")
    assert [one.id for one in store.search("码头")] == [one.id for one in store.search("渡口")] == ["a.yaml#渡口"]
    assert store.search("口码") == [], "no two of its words make one"
    assert [one.id for one in store.search("约定")] == ["aning"], "a fact is found by its keyword"


def test_writers_side_by_side_lose_nothing(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "data_base").mkdir()
    (tmp_path / "data_base" / "places.yaml").write_text("渡口: 船\n", "utf-8")

    def write(store: Official, n: int) -> None:
        for i in range(5):
            store.add("fact", {"text": f"{n}的第{i}件"})
            store.add("lore", {"keyword": f"{n}-{i}", "text": "x", "file": "places.yaml"})

    threads = [threading.Thread(target=write, args=(Official(tmp_path, zone=ZONE), n)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Official(tmp_path).facts()) == 3 + 15 and len(Official(tmp_path).listed("lore")) == 1 + 15


TEXT = st.text(max_size=60).filter(lambda text: text.strip() and "\r" not in text)


@settings(max_examples=60)
@given(text=TEXT, place=st.text(max_size=20), words=st.lists(st.text(max_size=8), max_size=3))
def test_any_text_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, text: str, place: str, words: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("official")
    store = build(folder)
    made = store.add("event", {"text": text, "place": place, "keywords": words})
    store.update("snow", {"text": text})
    _, parsed = records.read(folder / "events.yaml")
    held = {record.key: record.value for record in parsed.records}
    assert held[made.id] == {"text": text, "place": place, "keywords": words}
    assert held["snow"] == {"text": text, "importance": ".8"}
    store.delete(made.id)
    store.update("snow", {"text": "下了第一场雪"})
    assert [one.id for one in store.episodes()] == ["lighthouse", "snow"]
