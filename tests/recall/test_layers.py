"""The layers of one owner together: what the author writes, embedding, deadlines, and what recall is given of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event as Signal
from typing import Any

import faiss
import numpy as np
import pytest

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.index.dense import Dense
from moechat.index.vectors import VectorTable
from moechat.model import Event, Fact, FactDraft, Recollection, Understanding
from moechat.recall.layers import Layers
from moechat.settings.prompts import Prompts
from moechat.store.files import FileStore
from moechat.when import LONGEST_READ
from tests.houses import Home, say, shown, silent, told

EMBEDDER = HashEmbedder(32)


@pytest.fixture
def layers(home: Home, store: FileStore) -> Iterator[Layers]:
    (home.folder / "data_base").mkdir()
    opened = over(home, store)
    yield opened
    opened.close()


def over(home: Home, store: FileStore, *, embedder: HashEmbedder | None = EMBEDDER, **sections: Any) -> Layers:
    home.configure(**sections)
    with home.agent() as agent:
        character, config, prompts = agent.character, agent.config, agent.layers.prompts
    pool = ThreadPoolExecutor(4)
    dense = Dense(home.folder / ".index", embedder)
    assert isinstance(prompts, Prompts)
    return Layers(store, dense, lambda: character, lambda: config, model=silent, prompts=prompts, pool=lambda: pool)


def recalled(layers: Layers, text: str, in_context: tuple[str, ...] = ()) -> str:
    layers.sync()
    return shown(layers.recall(layers.cue(text, layers.now(), ""), in_context))


def test_what_the_author_writes_is_taken_in_at_the_next_look(home: Home, layers: Layers) -> None:
    assert "茶馆" not in recalled(layers, "半舟在哪里")
    (home.folder / "data_base" / "book.yaml").write_text('半舟: "{{char}}常去的茶馆"\n', encoding="utf-8")
    (home.folder / "events.yaml").write_text("pier: {text: 小满捡到一只旧船铃, keywords: [船铃]}\n", encoding="utf-8")
    (home.folder / "facts.yaml").write_text("f1: {text: 小满怕打雷, entity: character}\n", encoding="utf-8")
    layers.refresh()
    assert "半舟：小满常去的茶馆" in recalled(layers, "半舟在哪里")
    layers.sync()
    assert [hit.id for hit in layers.recall(layers.cue("船铃是谁捡的", layers.now(), ""), ()).ranked] == ["pier"]
    assert "小满怕打雷" in {fact.text for fact in layers.core.current()}


def test_what_is_broken_in_the_authors_files_is_told(home: Home, layers: Layers) -> None:
    assert layers.problems() == []
    (home.folder / "data_base" / "book.yaml").write_text("半舟: [\n", encoding="utf-8")
    (home.folder / "events.yaml").write_text("pier: [\n", encoding="utf-8")
    layers.refresh()
    problems = layers.problems()
    assert [any(name in problem for problem in problems) for name in ("book.yaml", "events.yaml")] == [True, True]


def test_everything_without_a_vector_is_embedded_so_many_at_a_time(
    home: Home, store: FileStore, layers: Layers
) -> None:
    ids = [told(store, home.clock, f"第{n}句话", settle=True) for n in range(3)]
    event = Event("用户放了风筝", (ids[0],), keywords=("风筝",), topic="生活->风筝")
    store.findings.merge(ids[:1], Understanding({ids[0]: "风筝"}, {}, (), (event,)), [], {})
    layers.sync()
    [space] = layers.dense.spaces
    assert layers.missing(space) == 3 + 1 + 2, "exchanges, an event, two topics"
    assert layers.embed(Signal(), 1) == 3, "one of each kind"
    assert layers.missing(space) == 3
    stopped = Signal()
    stopped.set()
    assert layers.embed(stopped) == 0
    assert layers.embed(Signal()) == 3 and layers.missing(space) == 0


def test_what_stands_in_the_context_is_not_recalled(home: Home, store: FileStore, layers: Layers) -> None:
    id_ = told(store, home.clock, "我把铜钥匙丢在灯塔下了", settle=True)
    assert "铜钥匙" in recalled(layers, "铜钥匙丢在哪里了？")
    assert "铜钥匙" not in recalled(layers, "铜钥匙丢在哪里了？", (id_,))


@pytest.mark.parametrize(("on", "spans"), [(True, 1), (False, 0)])
def test_a_time_without_a_record_is_told_only_where_the_diary_is_on(
    home: Home, store: FileStore, on: bool, spans: int
) -> None:
    layers = over(home, store, Agent={"long_memory": on})
    told(store, home.clock, "今天下雨", settle=True, days=10)
    layers.sync()
    found = layers.recall(layers.cue("2025年5月25日我说了什么？", layers.now(), ""), ())
    assert len(found.empty_spans) == spans
    layers.close()


def test_a_named_day_that_holds_no_answer_shuts_out_no_other(home: Home, store: FileStore, layers: Layers) -> None:
    rain = f"{home.clock.at:%Y年%m月%d日}"
    told(store, home.clock, "今天下雨了", settle=True, days=7)
    told(store, home.clock, "我把铜钥匙丢在灯塔下了", settle=True)
    home.clock.at += timedelta(days=5)
    layers.sync()

    def of(text: str) -> Recollection:
        return layers.recall(layers.cue(text, layers.now(), ""), ())

    found = of(f"{rain}铜钥匙丢在哪里了？")
    assert any("铜钥匙" in hit.text for hit in found.hits)
    assert [span.phrase for span in found.elsewhere_spans] == [rain]
    assert not of(f"{rain}下雨了吗？").elsewhere_spans, "the day answers"
    assert not any("铜钥匙" in hit.text for hit in of(f"{rain}我们聊了什么？").hits), "the whole day is asked for"
    nothing = of("2025年1月2日宇航员住在哪里？")
    assert ([*nothing.elsewhere_spans], [span.phrase for span in nothing.empty_spans]) == ([], ["2025年1月2日"])


def test_words_that_were_told_together_go_together_once_they_are_learned(
    home: Home, store: FileStore, layers: Layers
) -> None:
    ids = [told(store, home.clock, "小林今天带了口琴", settle=True) for _ in range(6)]
    for number, id_ in enumerate(ids):
        event = Event(f"小林第{number}次吹口琴", (id_,), keywords=("小林", "口琴"))
        store.findings.merge([id_], Understanding({id_: "口琴"}, {}, (), (event,)), [], {})
    layers.sync()
    assert len(layers.together) == 0
    layers.associate(layers.now())
    assert len(layers.together) > 0


def test_a_broken_table_of_associations_in_the_characters_folder_is_told(home: Home, store: FileStore) -> None:
    (home.folder / "associations.tsv").write_text("只有一栏\n", encoding="utf-8")
    layers = over(home, store)
    layers.entities.index()
    layers.recall(layers.cue("猫", layers.now(), ""), ())
    assert [problem for problem in layers.problems() if "associations.tsv" in problem]
    layers.close()


def test_a_pasted_text_is_asked_by_its_beginning_and_its_end(home: Home, agent: Agent) -> None:
    say(agent, "我住在杭州")
    text = f"你看：{'很长的一段文字。' * 4000}我住在哪里？"
    cue = agent.layers.cue(text, home.clock.now(), "")
    assert len(cue.text) <= LONGEST_READ and cue.text.startswith("你看：") and cue.text.endswith("我住在哪里？")
    say(agent, text)
    assert agent.log()[-1]["text"] == text


def turned_around(table: VectorTable) -> None:
    """Put another FAISS index in the place of a table's own: each of its vectors points the other way."""
    assert isinstance(table.index, faiss.IndexFlatIP)
    assert table.index.ntotal == len(table)
    vectors = table.get(np.arange(len(table)))
    table.index = faiss.IndexFlatIP(table.dim)
    table.index.add(-vectors)


def test_facts_the_world_book_and_the_diary_each_search_a_faiss_index(
    home: Home, store: FileStore, layers: Layers
) -> None:
    (home.folder / "data_base" / "book.yaml").write_text("半舟: 一家河边的茶馆\n", encoding="utf-8")
    for text in ("我喜欢下雨天", "周末去河边喝茶", "今天加班很晚"):
        told(store, home.clock, text, settle=True)
    drafts = tuple(FactDraft(text, ()) for text in ("用户喜欢喝茶", "用户怕打雷"))
    store.findings.put([Fact(draft.text, home.clock.now(), draft) for draft in drafts])
    layers.refresh()
    layers.sync()
    layers.embed(Signal())
    layers.dense.switch()
    question = layers.dense.query(["河边喝茶"])
    assert question is not None
    [vector] = question

    def near() -> list[dict[str, float]]:
        """Fact, entry or side of an exchange → its cosine, by each layer."""
        cue, judged = layers.cue("河边喝茶", layers.now(), ""), layers.book.judged("?")
        facts = {hit.text: hit.score for hit in layers.core.search(cue, top_k=5, threshold=-1.0)}
        lore = {hit.id: hit.score for hit in layers.book.near(judged, question, scan_depth=5, threshold=-1.0)}
        ranked = layers.diary.index.search("河边喝茶", vector, k=9, spans=(), hints=())
        said = {str(doc): float(c) for doc, c in zip(ranked.docs, ranked.features["cosine"], strict=True)}
        return [facts, lore, said]

    before = near()
    assert all(before)
    tables = [layers.dense.table("core"), layers.book.table, layers.dense.table("diary")]
    for table in tables:
        assert table is not None
        turned_around(table)
    layers.diary.index.words.vectors = layers.dense.table("diary")
    for layer, (were, are) in enumerate(zip(before, near(), strict=True)):
        assert {name: -score for name, score in were.items()} == pytest.approx(are), layer


def test_what_she_says_of_herself_is_hers_and_her_authors_word_stands_above_it(home: Home) -> None:
    (home.folder / "facts.yaml").write_text(
        "f1: {text: 小满住在灯塔, entity: character, keyword: 住址, target: 灯塔}\n", encoding="utf-8"
    )
    with home.agent() as agent:
        drafts = [
            FactDraft("小满住在北京", ("x",), entity="character", keyword="住址", target="北京"),
            FactDraft("小满养了一只猫叫糯米", ("x",), entity="character", keyword="宠物", target="糯米"),
        ]
        learnt, _ = agent.layers.core.learn(Understanding(facts=tuple(drafts)), {"x": home.clock.now()}, ["x"])
        assert [fact.text for fact in learnt] == ["小满养了一只猫叫糯米"]
