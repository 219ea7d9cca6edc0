"""The memory of a process that lives for months: what is walked over, and what is given back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from functools import cache

COLLECTED = (10_000, 20, 10)
ARENA_MAX = -8  # The number of this parameter of ``mallopt``, by malloc.h of glibc.
ARENAS = 2


@cache
def use_few_arenas() -> None:
    """glibc keeps what is freed for the thread that had it: with an arena for each of ten threads, a memory of 100,000 exchanges
    that was opened five times took 290 MB, with two, trimmed at each closing, 211 MB and no more from time to time."""
    if libc := _libc():
        libc.mallopt(ARENA_MAX, ARENAS)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection: what is opened stays, and to walk over it again and again is a third of a start.

    What the process holds before its first opening (the program itself) is never walked over again, and all else less often:
    a turn makes some thousand objects, nearly all of which go by themselves. What an owner holds is walked over, since an owner
    that is closed must be found.
    """
    was_on = gc.isenabled()
    gc.disable()
    if gc.get_threshold() != COLLECTED:  # To count what is set aside would walk over it.
        gc.freeze()
        gc.set_threshold(*COLLECTED)
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def give_back() -> None:
    """Let go what nothing holds any more. The parts of an owner know each other, so that they do not go by themselves."""
    gc.collect()
    if libc := _libc():
        libc.malloc_trim(0)


@cache
def _libc() -> ctypes.CDLL | None:
    """glibc, where it is the C library of this process."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows
        return None
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
