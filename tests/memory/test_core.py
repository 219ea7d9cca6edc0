"""Core memory: what is known, replaced with its history, and found again."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.memory.core import CoreMemory, Former
from moechat.model import Fact, FactDraft, Thresholds, Understanding
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from tests.houses import Home, moment, told


@dataclass
class Planted:
    """An embedder whose texts lie at a given cosine from every question."""

    cosines: dict[str, float]
    fingerprint: str = "planted-1"
    dim: int = 2
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(0.5, 0.5, 0.5))

    def embed(self, texts, kind="passage"):
        rows = [[1.0, 0.0] if kind == "query" else [c := self.cosines.get(t, 0.0), np.sqrt(1 - c * c)] for t in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 2)


def memory(home: Home, store: FileStore, cosines: dict[str, float] | None = None) -> CoreMemory:
    embedder = Planted(cosines) if cosines is not None else home.embedder
    return CoreMemory(store, Dense(home.folder / ".index", embedder))


@pytest.fixture
def core(home: Home, store: FileStore) -> CoreMemory:
    return memory(home, store)


def cue(core: CoreMemory, text: str) -> Cue:
    return Cue(text, moment("2025-05-21T15:00:00"), "", core._dense.query)


def draft(text: str, source: str, **more) -> FactDraft:
    return FactDraft(text, (source,), **more)


def learn(store: FileStore, core: CoreMemory, source: str, *drafts: FactDraft, by: str = "model") -> None:
    understanding = Understanding({source: ""}, {}, drafts, by=by)  # type: ignore[arg-type]
    learned = core.learn(understanding, {source: store.exchanges.get(source).at}, [source])
    store.findings.merge([source], understanding, *learned)


def texts(core: CoreMemory) -> list[str]:
    return [fact.text for fact in core.current()]


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_golden_of_seed_003_top_five_then_the_threshold(
    home: Home, store: FileStore, goldens: Path, name: str
) -> None:
    golden = json.loads((goldens / "seed003_worked.json").read_text(encoding="utf-8"))["core_memory"]
    facts = [f"事实{i}" for i in range(len(golden[f"scores_{name}"]))]
    (home.folder / "core_mem.yml").write_text(
        "".join(f"f{i}: {text}\n" for i, text in enumerate(facts)), encoding="utf-8"
    )
    store.follow()
    core = memory(home, store, dict(zip(facts, golden[f"scores_{name}"], strict=True)))
    found = core.search(cue(core, "?"), top_k=5, threshold=0.5)
    assert [round(hit.score, 4) for hit in found] == golden[f"returned_{name}"]


def test_a_threshold_that_float32_just_misses_is_met(home: Home, store: FileStore) -> None:
    (home.folder / "core_mem.yml").write_text("x: 事实\n", encoding="utf-8")
    store.follow()
    core = memory(home, store, {"事实": 0.38})
    assert len(core.search(cue(core, "?"), top_k=5, threshold=0.38)) == 1
    assert not core.search(cue(core, "?"), top_k=5, threshold=0.3801)


def test_moechats_own_and_hand_written_facts_are_read_and_never_changed(home: Home, store: FileStore) -> None:
    text = "abc:\n  text: likes New York\n  time: '2025-05-02 11:00:00'\nno: 我喜欢  两个空格\n"
    (home.folder / "core_mem.yml").write_text(text, encoding="utf-8")
    store.follow()
    core = memory(home, store)
    assert set(texts(core)) == {"likes New York", "我喜欢  两个空格"}
    assert [f.at for f in core.current() if f.id == "abc"] == [moment("2025-05-02T11:00:00")]
    a = told(store, home.clock, "我住在杭州", settle=True)
    learn(store, core, a, draft("用户住在杭州", a, keyword="住址", target="杭州", single=True))
    assert (home.folder / "core_mem.yml").read_text(encoding="utf-8").startswith(text)
    assert "用户住在杭州" in texts(core)


def test_a_contradiction_replaces_the_old_fact_which_stays_readable_with_both_times(
    home: Home, store: FileStore, core: CoreMemory
) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True, days=1)
    learn(store, core, a, draft("用户住在杭州", a, keyword="住址", target="杭州", single=True))
    b = told(store, home.clock, "我搬到苏州了", settle=True)
    learn(store, core, b, draft("用户住在苏州", b, keyword="住址", target="苏州", single=True))
    assert texts(core) == ["用户住在苏州"]
    old, new = core.history()
    assert (old.text, new.supersedes) == ("用户住在杭州", (old.id,))
    assert (old.at.date().isoformat(), new.at.date().isoformat()) == ("2025-05-20", "2025-05-21")
    store.log.retract(b)
    assert texts(core) == ["用户住在杭州"]
    store.log.restore(b)
    assert texts(core) == ["用户住在杭州"], "what was derived is understood anew"


def test_a_fact_that_is_stated_again_gains_a_source_and_is_not_doubled(
    home: Home, store: FileStore, core: CoreMemory
) -> None:
    a, b = (told(store, home.clock, "我讨厌香菜", settle=True) for _ in range(2))
    learn(store, core, a, draft("用户讨厌香菜", a, keyword="喜好", target="香菜", polarity=-1))
    learn(store, core, b, draft("用户讨厌香菜", b, keyword="喜好", target="香菜", polarity=-1))
    (known,) = core.current()
    assert known.draft.sources == (a, b)
    store.log.retract(a)
    fresh = home.store()
    assert {s for f in fresh.findings.facts() for s in f.draft.sources} <= {b}, "nothing cites what was taken back"
    assert b in fresh.tree.pending(), "what else stated it is understood again"
    fresh.close()


def test_an_older_exchange_understood_late_does_not_replace_a_newer_fact(
    home: Home, store: FileStore, core: CoreMemory
) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True, days=1)
    b = told(store, home.clock, "我搬到苏州了", settle=True)
    learn(store, core, b, draft("用户住在苏州", b, keyword="住址", target="苏州", single=True))
    learn(store, core, a, draft("用户住在杭州", a, keyword="住址", target="杭州", single=True))
    assert texts(core) == ["用户住在苏州"]
    old, new = core.history()
    assert (old.supersedes, new.supersedes) == ((), (old.id,))


def test_facts_are_found_by_words_without_any_embedding_model(home: Home, store: FileStore) -> None:
    (home.folder / "core_mem.yml").write_text("x: 用户讨厌香菜\ny: 用户住在杭州\n", encoding="utf-8")
    store.follow()
    core = CoreMemory(store, Dense(home.folder / ".index", None))
    assert [h.text for h in core.search(Cue("香菜好吃吗", moment("2025-05-21T15:00:00")), top_k=5, threshold=0.5)] == [
        "用户讨厌香菜"
    ]


def test_a_question_finds_what_answers_it_by_its_kind(home: Home, store: FileStore) -> None:
    core = memory(home, store, {})
    kinds = {
        "宠物": "我养的猫叫什么", "住址": "我住在哪里", "姓名": "我叫什么", "年龄": "how old am I", "职业": "what is my job",
        "过敏": "am i allergic to nuts", "生日": "我生日是哪天", "喜好": "我的口味怎么样",
    }  # fmt: skip
    source = told(store, home.clock, "说了很多", settle=True)
    learn(store, core, source, *(draft(f"〔{kind}〕", source, keyword=kind, target=kind) for kind in kinds))
    found = {
        kind: [hit.text for hit in core.search(cue(core, text), top_k=1, threshold=0.5)] for kind, text in kinds.items()
    }
    assert found == {kind: [f"〔{kind}〕"] for kind in kinds}


def test_what_is_hidden_is_not_searched(home: Home, store: FileStore, core: CoreMemory) -> None:
    a, b = told(store, home.clock, "我讨厌香菜", settle=True), told(store, home.clock, "我讨厌香菜和芹菜", settle=True)
    learn(store, core, a, draft("用户讨厌香菜", a, keyword="喜好", target="香菜", polarity=-1))
    learn(store, core, b, draft("用户讨厌芹菜", b, keyword="喜好", target="芹菜", polarity=-1))

    def found() -> set[str]:
        return {h.text for h in core.search(cue(core, "用户讨厌香菜和芹菜"), top_k=5, threshold=-1)}

    assert found() == {"用户讨厌香菜", "用户讨厌芹菜"}
    with store.writing():
        store.state.write([{"op": "archive", "ids": [core.current()[0].id]}])
    assert found() == {"用户讨厌芹菜"}
    store.log.select(a)
    assert found() == set()


def test_facts_survive_as_they_are_written(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "嗯", settle=True)
    awkward = FactDraft("likes: New York #1\n'quoted' ", (a,), "relation", "妈妈", "关系: x", "- 香菜", -1, True)
    fact = Fact(derived_id(awkward.text, (a,)), home.clock.now(), awkward, ("x1", "y2"), "model")
    store.findings.put([fact])
    fresh = home.store()
    (read,) = fresh.findings.facts()
    assert read.draft.text == awkward.text.strip()
    assert (read.draft.kind, read.draft.entity, read.draft.keyword, read.draft.target) == (
        "relation",
        "妈妈",
        "关系: x",
        "- 香菜",
    )
    assert (read.draft.polarity, read.draft.single, read.supersedes, read.draft.sources) == (
        -1,
        True,
        ("x1", "y2"),
        (a,),
    )
    fresh.close()


def test_facts_that_come_change_and_go_are_found_as_by_one_who_reads_them_anew(home: Home, store: FileStore) -> None:
    core, chance = memory(home, store), random.Random(7)
    words = ("绿茶", "西湖", "灯塔", "green tea", "lighthouse")
    id_ = told(store, home.clock, "说说我喜欢什么")
    for step in range(40):
        word, place = chance.choice(words), chance.randrange(12)
        if step % 4 == 3:
            store.findings.take_out([chance.choice(core.current()).id])
        else:
            at = moment("2025-05-01T10:00:00") + timedelta(days=place)
            new = FactDraft(f"用户第{place}次说起{word}", (id_,), keyword=chance.choice(("爱好", "住址")))
            store.findings.put([Fact(f"f{place}", at, new, (), "owner")])
        fresh = memory(home, store)
        assert core.current() == fresh.current()
        for text in (*words, "我喜欢什么", "我住在哪里"):
            kept, anew = (one.search(cue(one, text), top_k=3, threshold=0.2) for one in (core, fresh))
            assert [(hit.id, hit.words) for hit in kept] == [(hit.id, hit.words) for hit in anew]
            np.testing.assert_allclose([hit.score for hit in kept], [hit.score for hit in anew], rtol=1e-6)
        rival = FactDraft("用户喜欢红茶", (id_,), keyword="爱好")
        assert core.view().rivals(rival) == fresh.view().rivals(rival)
    store.findings.take_out([fact.id for fact in core.current()])
    files = core.view().files
    assert core.current() == [] and not any(map(len, (files.keywords, files.classes, files.matters)))


def test_what_held_before_ended_when_it_was_said_to_and_is_over_by_a_ruling_too() -> None:
    def former(**parts: Any) -> Former:
        return Former(Fact("old", None, FactDraft("t", ())), Fact("new", None, FactDraft("t", (), **parts)))

    assert [former(until=until).until for until in ("2025-03", "past", "")] == ["2025-03", "", ""]
    assert former(until="past").is_over and former(kind="ruling").is_over and not former().is_over
