"""What a turn costs: what users wait for, and the work behind it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moechat.agent import Agent
from moechat.ai.chat_model import ChatRequest
from moechat.ai.embedding import HashEmbedder
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.window import Window
from moechat.bench import corpus
from moechat.clock import SetClock
from moechat.errors import ModelError
from moechat.model import Kind, Message
from moechat.turn import Recalled

STEPS = ("prompt", "ended", "behind")
IO = Path("/proc/self/io")


class ApartEmbedder(HashEmbedder):
    """The stand-in embedding, which counts the time that it takes (CPU and wall seconds), so that it can be left out."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.spent = np.zeros(2)

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        begun = np.array([time.thread_time(), time.perf_counter()])
        vectors = super().embed(texts, kind)
        self.spent += np.array([time.thread_time(), time.perf_counter()]) - begun
        return vectors


class QuickModel:
    """A chat model that takes no time: it always says the same, a few characters at a time."""

    name, understands, has_one_slot = "quick", False, False
    window = Window()

    def stream(self, request: ChatRequest) -> Iterator[str]:
        return iter([corpus.REPLY[at : at + 4] for at in range(0, len(corpus.REPLY), 4)])

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        raise ModelError("other", "this model only replies")

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        raise ModelError("other", "this model only replies")


@dataclass
class TurnCosts:
    """Of every turn: (CPU, wall) seconds from the message's arrival to its prompt and to its end, and of the work behind it,
    without the embedding; (CPU, wall) seconds of that; bytes (read, written)."""

    kinds: list[str] = field(default_factory=list)
    spent: dict[str, list[np.ndarray]] = field(default_factory=lambda: {name: [] for name in (*STEPS, "embedding")})
    moved: list[np.ndarray] = field(default_factory=list)

    def milliseconds(self) -> dict[str, dict[str, list[float]]]:
        """Step → cpu, wall → [p50, p95, p99]."""
        return {
            name: {clock: quantiles(1000 * np.array(rows)[:, i]) for i, clock in enumerate(("cpu", "wall"))}
            for name, rows in self.spent.items()
        }

    def by_kind(self) -> dict[str, list[float]]:
        """Kind of message → median CPU milliseconds of a turn, and of the work behind it."""
        rows: dict[str, list[list[float]]] = {}
        for kind, ended, behind in zip(self.kinds, self.spent["ended"], self.spent["behind"], strict=True):
            rows.setdefault(kind, []).append([float(ended[0]), float(behind[0])])
        return {kind: np.round(1000 * np.median(each, axis=0), 2).tolist() for kind, each in rows.items()}

    def kilobytes(self) -> dict[str, float] | None:
        """Medians, read and written; None where the system does not say."""
        if not self.moved:
            return None
        return dict(zip(("read", "written"), np.round(np.median(self.moved, axis=0) / 1000, 1).tolist(), strict=True))


def taken(agent: Agent, clock: SetClock, embedder: ApartEmbedder, count: int) -> TurnCosts:
    """Talk for ``count`` turns, two minutes apart; what is behind one is over before the next begins."""
    costs = TurnCosts()
    for (kind, text), _ in zip(corpus.talk(), range(count), strict=False):
        clock.advance(minutes=2)
        costs.kinds.append(kind)
        moved, begun = _moved(), _clocks(embedder)
        embedded = embedder.spent.copy()
        for event in agent.talk(text):
            if isinstance(event, Recalled):
                costs.spent["prompt"].append(_clocks(embedder) - begun)
        ended = _clocks(embedder)
        agent.settle_indexes()
        costs.spent["ended"].append(ended - begun)
        costs.spent["behind"].append(_clocks(embedder) - ended)
        costs.spent["embedding"].append(embedder.spent - embedded)
        if moved is not None and (after := _moved()) is not None:
            costs.moved.append(after - moved)
    return costs


def quantiles(values: Sequence[float] | np.ndarray) -> list[float]:
    """[p50, p95, p99], each a value that occurs."""
    ordered = sorted(map(float, values))
    return [round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) for share in (0.5, 0.95, 0.99)]


def _clocks(embedder: ApartEmbedder) -> np.ndarray:
    """(CPU of the process, wall) in seconds, without what the embedding took."""
    now: np.ndarray = np.array([time.process_time(), time.perf_counter()]) - embedder.spent
    return now


def _moved() -> np.ndarray | None:
    """Bytes that this process has read and written so far, from the system's memory too."""
    if not IO.exists():
        return None
    fields = dict(line.split(": ") for line in IO.read_text(encoding="ascii").splitlines())
    return np.array([int(fields["rchar"]), int(fields["wchar"])])


def rss_mb() -> float:
    """Resident memory of this process without mapped files, which the system takes back at will; elsewhere the peak."""
    status = Path("/proc/self/statm")
    if status.exists():
        resident, mapped = map(int, status.read_text().split()[1:3])
        return (resident - mapped) * 4096 / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
