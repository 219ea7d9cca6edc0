"""Which embedding model serves while another one's vectors are being made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.errors import EmbeddingError
from moechat.index.dense import Dense, TextVectors
from moechat.index.vector_rows import text_key
from moechat.index.vectors import having, tables_under
from tests.houses import Home, diary_of, imported, shown, silent

OLD, NEW = HashEmbedder(16), HashEmbedder(32)


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def filled(folder: Path, embedder: HashEmbedder = OLD) -> None:
    dense = Dense(folder, embedder, settings={"provider": "hash"})
    assert dense.kept("core", ["一", "二"]) is not None
    dense.close()


def test_the_first_model_serves_at_once_and_the_manifest_names_it(tmp_path: Path) -> None:
    dense = Dense(tmp_path, OLD, settings={"provider": "hash"})
    assert dense.serving is OLD
    assert dense.thresholds == OLD.thresholds
    assert (dense.changing(), dense.problem) == (None, None)
    assert manifest(tmp_path)["fingerprint"] == OLD.fingerprint
    assert manifest(tmp_path)["settings"] == {"provider": "hash"}


def test_without_a_model_nothing_serves_and_nothing_fails(tmp_path: Path) -> None:
    dense = Dense(tmp_path, None)
    assert (dense.serving, dense.query(["一"]), dense.kept("core", ["一"]), dense.table("diary")) == (
        None,
        None,
        None,
        None,
    )


def test_while_the_old_model_loads_it_serves_until_the_switch(tmp_path: Path) -> None:
    filled(tmp_path)
    asked: list[Any] = []

    def load(settings: Any) -> HashEmbedder:
        asked.append(settings)
        return OLD

    dense = Dense(tmp_path, NEW, settings={"provider": "new"}, load=load)
    assert asked == [{"provider": "hash"}]
    assert dense.serving is OLD
    changing = dense.changing()
    assert changing is not None
    assert changing.embedder is NEW
    assert dense.query(["一"]).shape == (1, 16)  # type: ignore[union-attr]
    assert manifest(tmp_path)["fingerprint"] == OLD.fingerprint, "not before the new vectors are made"
    dense.switch()
    assert dense.serving is NEW
    assert (dense.changing(), dense.problem) == (None, None)
    assert manifest(tmp_path)["fingerprint"] == NEW.fingerprint
    assert manifest(tmp_path)["settings"] == {"provider": "new"}
    dense.close()


@pytest.mark.parametrize(
    "load", [lambda _: None, lambda _: HashEmbedder(8), lambda _: (_ for _ in ()).throw(EmbeddingError("gone"))]
)
def test_where_the_old_model_no_longer_loads_words_and_time_serve_which_is_announced(tmp_path: Path, load: Any) -> None:
    filled(tmp_path)
    dense = Dense(tmp_path, NEW, load=load)
    assert dense.serving is None
    assert OLD.fingerprint in str(dense.problem)
    assert NEW.fingerprint in str(dense.problem)
    assert dense.query(["一"]) is None
    dense.switch()
    assert (dense.serving, dense.problem) == (NEW, None)


def test_a_switch_back_finds_the_old_vectors(tmp_path: Path) -> None:
    filled(tmp_path)
    dense = Dense(tmp_path, NEW, load=lambda _: OLD)
    dense.switch()
    dense.kept("core", ["三"])
    dense.close()
    back = Dense(tmp_path, OLD, load=lambda _: NEW)
    space = back.changing()
    assert space is not None
    assert len(space.table("core")) == 2
    back.close()


@pytest.mark.parametrize("damage", ["", "[]", "{", "null", "[" * 50_000], ids=["empty", "list", "torn", "null", "deep"])
def test_a_damaged_manifest_is_as_none(tmp_path: Path, damage: str) -> None:
    (tmp_path / "manifest.json").write_text(damage, encoding="utf-8")
    assert Dense(tmp_path, OLD).serving is OLD


class Broken(HashEmbedder):
    def embed(self, texts: Any, kind: Any = "passage") -> np.ndarray:
        raise EmbeddingError("the endpoint is down")


def test_a_model_that_fails_is_told_and_words_serve(tmp_path: Path) -> None:
    dense = Dense(tmp_path, Broken(16))
    assert dense.query(["一"]) is None
    assert str(dense.problem) == "the endpoint is down"


def test_a_text_is_embedded_once_and_kept_by_its_hash(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Any, kind: Any = "passage") -> np.ndarray:
            asked.extend(texts)
            return super().embed(texts, kind)

    dense = Dense(tmp_path, Counting(16))
    first = dense.kept("core", ["一", "二", "一"])
    second = dense.kept("core", ["二", "三", "一"])
    assert asked == ["一", "二", "三"]
    assert first is not None
    assert second is not None
    assert first[0] == first[2] == second[2]


def test_the_diary_is_embedded_for_both_models_and_resumes_by_what_is_missing(home: Home) -> None:
    store = home.store()
    imported(store, *((f"2025-05-{1 + i // 24:02}T{i % 24:02}:00:00", f"第{i}句", "嗯") for i in range(100)))
    index = home.folder / ".index"
    first = Dense(index, OLD)
    diary = diary_of(store, first)
    assert diary.vectors.embed_missing(Event()) == 100
    assert diary.vectors.embed_missing(Event()) == 0
    diary.index.flush()
    first.close()
    dense = Dense(index, NEW, load=lambda _: OLD)
    diary = diary_of(store, dense)
    assert diary.vectors.embed_missing(Event(), 40) == 40
    diary.index.flush()
    dense.close()
    dense = Dense(index, NEW, load=lambda _: OLD)
    diary = diary_of(store, dense)
    space = dense.changing()
    assert space is not None
    assert diary.vectors.missing(space) == 60
    imported(store, ("2025-05-19T09:00:00", "换模型时说的", "嗯"))
    diary.index.sync()
    assert diary.vectors.embed_missing(Event()) == 60 + 1 + 1, "the new memory goes into both"
    assert diary.vectors.missing(space) == 0
    dense.switch()
    assert diary.index.differences() == []
    diary.index.flush()
    dense.close()
    store.close()


class Interrupted(HashEmbedder):
    """Something happens while it embeds for the first time."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(16)
        self.acts = [act]

    def embed(self, texts: Any, kind: Any = "passage") -> np.ndarray:
        if self.acts:
            self.acts.pop()()
        return super().embed(texts, kind)


def held(folder: Path, *texts: str) -> list[bool]:
    """Of each text, whether some table below a folder has its vector."""
    tables = tables_under(folder)
    found = [any(len(table.having([text_key(text)])) for table in tables) for text in texts]
    for table in tables:
        table.close()
    return found


def test_words_that_are_forgotten_while_they_are_embedded_get_no_vector(home: Home) -> None:
    store = home.store()
    imported(store, ("2025-05-01T10:00:00", "第一次这么说", "嗯"), ("2025-05-02T10:00:00", "别的", "好"))

    def sweep() -> None:  # as another process does
        old = store.exchanges.get("20250501-100000")
        store.days.write(replace(old, user="后来这么说"))
        other = Dense(home.folder / ".index", OLD)
        beside = diary_of(store, other)
        other.sweep({"diary": beside.vectors.alive})
        other.close()

    dense = Dense(home.folder / ".index", Interrupted(sweep))
    diary = diary_of(store, dense)
    assert diary.vectors.embed_missing(Event()) == 2
    assert held(home.folder, "第一次这么说", "别的", "后来这么说") == [False, True, False]
    diary.index.sync()
    assert diary.vectors.embed_missing(Event()) == 1
    assert held(home.folder, "第一次这么说", "别的", "后来这么说") == [False, True, True]
    dense.close()
    store.close()


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_text_that_was_read_before_a_sweep_is_not_kept_after_it(tmp_path: Path, on_disk: bool) -> None:
    dense = Dense(tmp_path if on_disk else None, Interrupted(lambda: dense.sweep({"episodes": having(list)})))
    words = TextVectors(dense, "episodes", lambda table: [] if table.lookup([text_key("一")])[0] >= 0 else ["一"], list)
    assert words.missing(dense.spaces[0]) == 1
    words.embed_missing(Event())
    assert words.missing(dense.spaces[0]) == 1
    words.embed_missing(Event())
    assert words.missing(dense.spaces[0]) == 0
    unswept = dense.unswept()
    dense.sweep({"episodes": having(lambda: [text_key("一")])})
    assert dense.kept("episodes", ["二"], may_keep=unswept).tolist() == [-1]  # type: ignore[union-attr]
    assert len(dense.spaces[0].table("episodes")) == 1
    dense.close()


def test_a_changed_model_serves_once_its_vectors_are_made_and_the_talk_goes_on(tmp_path: Path) -> None:
    home = Home.build(tmp_path, now="2025-05-21T15:00:00")
    home.embedder = HashEmbedder(48)
    store = home.store()
    imported(store, ("2025-05-20T09:00:00", "我养了一只鹦鹉", "真好"))
    store.close()
    with home.agent() as agent:
        agent.settle_indexes()
    home.embedder = HashEmbedder(64)
    with home.agent(silent()) as agent:
        assert "鹦鹉" in shown(agent.recall("昨天我们聊了什么"))
        agent.settle_indexes()
        assert agent.dense.serving is home.embedder
        assert "鹦鹉" in shown(agent.recall("鹦鹉吃什么"))
    assert manifest(home.folder / ".index")["fingerprint"] == home.embedder.fingerprint


class Picky(HashEmbedder):
    """It cannot take one text, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(16)
        self.asked: list[str] = []

    def embed(self, texts: Any, kind: Any = "passage") -> np.ndarray:
        self.asked += texts
        if "坏" in texts:
            raise ValueError("no such text")
        return super().embed(texts, kind)


def test_a_text_that_a_model_raises_over_is_left_out_and_not_asked_again(tmp_path: Path) -> None:
    dense, texts = Dense(tmp_path, model := Picky()), ["好", "坏", "也好"]

    def lacking(table: Any) -> list[str]:
        return [text for text in texts if table.lookup([text_key(text)])[0] < 0]

    notes = TextVectors(dense, "notes", lacking, list)
    assert (notes.missing(dense.spaces[0]), notes.embed_missing(Event()), notes.missing(dense.spaces[0])) == (3, 2, 0)
    model.asked.clear()
    texts.append("更好")
    assert notes.embed_missing(Event()) == 1 and model.asked == ["更好"]
    dense.close()
