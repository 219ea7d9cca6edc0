"""Where others wait while an embedder works, and a model that is loaded once."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from moechat.encoder.base import LazyModel, in_turns
from moechat.errors import EmbeddingError


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
