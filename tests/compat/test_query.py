"""What /query answers: the shape of the seed's samples, scores of events, and that asking changes nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.clock import SetClock
from moechat.compat.query import expand_words, keyword_scores, query, usual_threshold
from moechat.index.dense import Dense
from moechat.language.association import Table
from moechat.memory.contradiction import FactView, FiledFacts
from moechat.memory.entities import Entities
from moechat.memory.episodes import Episodes
from moechat.model import Episode, Event, Fact, FactDraft
from moechat.serve.questions import contents
from moechat.store.files import FileStore
from tests.houses import DIM

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2025, 5, 20, 15, tzinfo=ZONE)


def event(id_: str, text: str, *keywords: str, at: str = "2021-01-05T18:45:33", **more: Any) -> Episode:
    kind = more.pop("kind", "event")
    return Episode(
        id_, datetime.fromisoformat(at).replace(tzinfo=ZONE), Event(text, (), keywords=keywords, **more), kind, "author"
    )


def fact(id_: str, text: str, keyword: str = "", kind: Any = "attribute", at: str = "2024-09-24T13:00:00") -> Fact:
    draft = FactDraft(text, (), kind, keyword=keyword)
    return Fact(id_, datetime.fromisoformat(at).replace(tzinfo=ZONE), draft, by="author")


EVENTS = (
    event(
        "402",
        "小棠想找红衣模特，江砚提议借琴盒里的红丝绒。",
        "红色",
        "模特",
        "摄影",
        place="琴坊",
        insight="小棠在找灵感",
    ),
    event("403", "室友小夏失恋，小棠陪她吃了一晚上火锅。", "室友", "失恋", "火锅", at="2022-03-12T23:36:47"),
    event("404", "渡轮停航，打了一晚上扑克。", "台风", "扑克"),
    event("405", "小棠在乎朋友胜过自己。", "火锅", kind="reflection"),
)
FACTS = (
    fact("2947", "小棠对星座和蓝玫瑰感兴趣", "兴趣"),
    fact("2944", "小棠喜欢温柔的颜色", "审美", at="2024-09-24T09:05:12"),
    fact("f9", "小棠约好在七夕给小夏过生日", "约定", "relation"),
)


@dataclass
class Memory:
    """What a query asks of an agent, without one."""

    store: FileStore
    dense: Dense
    episodes: Episodes
    entities: Entities

    def now(self) -> datetime:
        return NOW


def build(folder: Path, events: Sequence[Episode] = EVENTS, embedder: HashEmbedder | None = None) -> Memory:
    store = FileStore(folder, clock=SetClock(NOW), zone=ZONE)
    dense = Dense(folder / ".index", embedder)
    episodes = Episodes(store, dense, lambda: (1, events))
    episodes.sync()
    episodes.vectors.embed_missing(threading.Event())
    (folder / "associations.tsv").write_text("红色\t玫瑰\t6\n红色\t颜色\t5\n红色\t红旗\t7\n", encoding="utf-8")
    sources = [Table(folder / "associations.tsv")]
    files = FiledFacts("小棠", "江砚")
    return Memory(store, dense, episodes, Entities(lambda: FactView(files, files.filed(FACTS)), sources))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = build(tmp_path, embedder=HashEmbedder(DIM))
    yield made
    made.dense.close()
    made.store.close()


def test_the_answer_has_the_shape_of_the_sample(memory: Memory) -> None:
    answer = query(memory, "红色")
    assert list(answer) == ["memory_events", "memory_entities", "additional_info"]
    first = answer["memory_events"][0]
    assert list(first) == ["id", "score", "index", "description", "deepinsight", "updatetime", "keyword", "log"]
    assert (first["id"], first["index"], first["updatetime"]) == (0, "402", "2021-01-05 18:45:33")
    assert first["keyword"] == ["红色", "模特", "摄影"] and first["deepinsight"] == "小棠在找灵感"
    assert first["log"] == (
        f"[记忆事件]--score={first['score']:.4f},index=402.在2021-01-05 18:45:33左右, 地点：琴坊。"
        "详细记忆事件为小棠想找红衣模特，江砚提议借琴盒里的红丝绒。这表明了小棠在找灵感。"
    )
    info = answer["additional_info"]
    assert list(info) == ["检索耗时", "query", "分词", "给联想的基词", "扩展后联想词"]
    assert (info["query"], info["分词"], info["给联想的基词"]) == ("红色", ["红色"], ["红色"])
    assert info["扩展后联想词"] == [{"红旗": 7}, {"玫瑰": 6}, {"颜色": 5}]
    assert list(info["检索耗时"]) == ["向量+embedding检索", "mysql检索", "扩词算法", "重排算法"]
    assert all(re.fullmatch(r"\d+\.\d\d 毫秒", told) for told in info["检索耗时"].values())


def test_entities_are_those_of_the_sample(memory: Memory) -> None:
    rows = query(memory, "红色", version="v18")["memory_entities"]
    assert rows == [
        {
            "id": 0, "kind": "用户属性", "score": 0.0, "index": {"index": 2947}, "description": "小棠对星座和蓝玫瑰感兴趣",
            "updatetime": "2024-09-24T13:00:00", "matched_keywords": ["玫瑰"], "keyword": "兴趣",
            "log": "用户属性--score=0.0000,index={'index': 2947}, 小棠对星座和蓝玫瑰感兴趣---命中['玫瑰']，数据库关键词: 兴趣",
        },
        {
            "id": 1, "kind": "用户属性", "score": 0.0, "index": {"index": 2944}, "description": "小棠喜欢温柔的颜色",
            "updatetime": "2024-09-24T09:05:12", "matched_keywords": ["颜色"], "keyword": "审美",
            "log": "用户属性--score=0.0000,index={'index': 2944}, 小棠喜欢温柔的颜色---命中['颜色']，数据库关键词: 审美",
        },
    ]  # fmt: skip


def test_a_birthday_told_only_in_a_relation_is_found_by_v23_es_and_not_by_v23(memory: Memory) -> None:
    assert query(memory, "生日", version="v23")["memory_entities"] == []
    (row,) = query(memory, "生日", version="v23_es")["memory_entities"]
    assert row["index"] == {"index": "f9"} and row["kind"] == "与主体和客体的关系" and 0 < row["score"] <= 1


def test_events_have_scores_from_0_to_1_best_first_and_no_reflection_is_one(memory: Memory) -> None:
    rows = query(memory, "室友失恋了，我们陪她吃了一晚上火锅", score_threshold=0)["memory_events"]
    assert rows[0]["index"] == "403" and "405" not in {row["index"] for row in rows}
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True) and all(0 < score <= 1 for score in scores)
    assert [row["id"] for row in rows] == list(range(len(rows)))


def test_the_threshold_and_the_limit_hold(memory: Memory) -> None:
    rows = query(memory, "火锅和扑克", score_threshold=0, limit=10)["memory_events"]
    floor = rows[0]["score"] - 1e-4
    assert len(query(memory, "火锅和扑克", score_threshold=floor)["memory_events"]) == 1
    assert len(query(memory, "火锅和扑克", score_threshold=0, limit=1)["memory_events"]) == 1
    assert query(memory, "火锅和扑克", score_threshold=1)["memory_events"] == []


def test_one_keyword_that_one_event_has_is_worth_half_whatever_else_is_said(memory: Memory) -> None:
    view = memory.episodes.view(NOW)
    place = view.ids.index("404")
    assert keyword_scores(view, ["台风"])[place] == pytest.approx(0.5)
    assert keyword_scores(view, ["台风", "从没听过", "别的"])[place] == pytest.approx(0.5)
    assert keyword_scores(view, ["台风", "扑克"])[place] == pytest.approx(2 / 3)
    assert keyword_scores(view, []).tolist() == [0.0] * len(view)


def test_a_word_that_many_events_have_tells_less(tmp_path: Path) -> None:
    memory = build(tmp_path, [event(f"e{i}", f"第{i}天去跑步", "跑步", *(["雨"] if i == 3 else [])) for i in range(40)])
    view = memory.episodes.view(NOW)
    assert keyword_scores(view, ["跑步"]).max() < 0.05
    assert int(np.argmax(keyword_scores(view, ["跑步", "雨"]))) == 3
    memory.store.close()


def test_without_an_embedding_model_keywords_serve(tmp_path: Path) -> None:
    memory = build(tmp_path)
    assert [row["index"] for row in query(memory, "那次台风")["memory_events"]] == ["404"]
    assert query(memory, "今天天气")["memory_events"] == []
    memory.store.close()


def test_the_usual_threshold_follows_the_embedding_model(memory: Memory) -> None:
    floor = memory.dense.thresholds
    assert floor is not None and usual_threshold(memory.dense) == pytest.approx(floor.diary / 2)
    assert usual_threshold(cast(Dense, SimpleNamespace(thresholds=None))) == 0.4


def test_the_last_reply_is_part_of_the_recall_text(memory: Memory) -> None:
    alone = query(memory, "嗯，记得", score_threshold=0.2)
    assert [row["index"] for row in alone["memory_events"]] == []
    both = query(memory, "嗯，记得", previous_reply="台风那晚你赢了好几盘扑克", score_threshold=0.2)
    assert both["memory_events"][0]["index"] == "404"
    assert "台风" in both["additional_info"]["给联想的基词"] and both["additional_info"]["query"] == "嗯，记得"


def test_the_simple_answer_is_the_contents_alone(memory: Memory) -> None:
    answer = query(memory, "红色", version="v18", score_threshold=0.2)
    assert contents(answer) == {
        "memory_events": ["小棠想找红衣模特，江砚提议借琴盒里的红丝绒。"],
        "memory_entities": ["小棠对星座和蓝玫瑰感兴趣", "小棠喜欢温柔的颜色"],
    }


def test_words_expand_in_the_shape_of_the_seed(memory: Memory) -> None:
    told = expand_words(memory.entities, "红色真好看", count=2, strategy="second", filter_values=[7])
    assert list(told) == ["原始关键词列表", "输入的单词列表", "扩展的联想词列表"]
    assert told["扩展的联想词列表"] == [{"玫瑰": 6}, {"颜色": 5}]
    assert "红色" in told["输入的单词列表"]


def test_an_empty_memory_answers_with_nothing(tmp_path: Path) -> None:
    memory = build(tmp_path, [])
    memory.entities = Entities(lambda: FactView(FiledFacts(), []), [])
    answer = query(memory, "你好")
    assert answer["memory_events"] == [] == answer["memory_entities"]
    memory.store.close()
