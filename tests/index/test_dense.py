"""Which embedding model serves while another one's vectors are being made."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from moechat.ai.embedding import HashEmbedder
from moechat.errors import EmbeddingError
from moechat.index.dense import Dense
from moechat.memory.diary import Diary
from tests.houses import Home, imported, shown, silent

OLD, NEW = HashEmbedder(16), HashEmbedder(32)


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def filled(folder: Path, embedder: HashEmbedder = OLD) -> None:
    dense = Dense(folder, embedder, settings={"provider": "hash"})
    assert dense.cached("core", ["一", "二"]) is not None
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
    assert (dense.serving, dense.query(["一"]), dense.cached("core", ["一"]), dense.table("diary")) == (
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
    dense.cached("core", ["三"])
    dense.close()
    back = Dense(tmp_path, OLD, load=lambda _: NEW)
    space = back.changing()
    assert space is not None
    assert len(space.table("core")) == 2
    back.close()


@pytest.mark.parametrize("damage", ["", "[]", "{", "null"])
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
    first = dense.cached("core", ["一", "二", "一"])
    second = dense.cached("core", ["二", "三", "一"])
    assert asked == ["一", "二", "三"]
    assert first is not None
    assert second is not None
    assert np.array_equal(first[0], second[2])
    assert np.array_equal(first[0], first[2])


def test_the_diary_is_embedded_for_both_models_and_resumes_by_what_is_missing(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    store = home.store()
    imported(store, *((f"2025-05-{1 + i // 24:02}T{i % 24:02}:00:00", f"第{i}句", "嗯") for i in range(100)))
    index = home.folder / ".index"
    first = Dense(index, OLD)
    diary = Diary(store, first, user_name="阿明", character_name="小满")
    assert diary.vectors.embed_missing(Event()) == 100
    assert diary.vectors.embed_missing(Event()) == 0
    diary.index.flush()
    first.close()
    dense = Dense(index, NEW, load=lambda _: OLD)
    diary = Diary(store, dense, user_name="阿明", character_name="小满")
    assert diary.vectors.embed_missing(Event(), 40) == 40
    diary.index.flush()
    dense.close()
    dense = Dense(index, NEW, load=lambda _: OLD)
    diary = Diary(store, dense, user_name="阿明", character_name="小满")
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


def test_a_changed_model_serves_once_its_vectors_are_made_and_the_talk_goes_on(tmp_path: Path) -> None:
    home = Home.build(tmp_path, now="2025-05-21T15:00:00")
    home.embedder = HashEmbedder(48)
    store = home.store()
    imported(store, ("2025-05-20T09:00:00", "我养了一只鹦鹉", "真好"))
    store.close()
    with home.open() as house:
        house.agent().settle_indexes()
    home.embedder = HashEmbedder(64)
    with home.open(silent()) as house:
        agent = house.agent()
        assert "鹦鹉" in shown(agent.recall("昨天我们聊了什么"))
        agent.settle_indexes()
        assert agent.dense.serving is home.embedder
        assert "鹦鹉" in shown(agent.recall("鹦鹉吃什么"))
    assert manifest(home.folder / ".index")["fingerprint"] == home.embedder.fingerprint
