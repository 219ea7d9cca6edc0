"""When to ask a model again after it failed, and how much at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_DOUBLINGS = 8


@dataclass
class Retry:
    """The wait after failures in a row. It doubles with each of them, eight times at most."""

    failures: int = 0
    not_before: datetime | None = None

    def waits(self, now: datetime) -> bool:
        return self.not_before is not None and now < self.not_before

    def failed(self, now: datetime, wait_s: float) -> datetime:
        """Count a failure; ``wait_s`` is the wait after the first. Returns the time of the next try."""
        self.not_before = now + timedelta(seconds=wait_s * 2 ** min(self.failures, MOST_DOUBLINGS))
        self.failures += 1
        return self.not_before

    def succeeded(self) -> None:
        self.failures, self.not_before = 0, None


@dataclass
class BatchSize:
    """How many exchanges a model is shown at once: as many as it has shown that it can answer, ``most`` at first."""

    most: int
    size: int = 0

    def __post_init__(self) -> None:
        self.size = self.size or self.most

    def failed(self, size: int) -> None:
        """An answer about this many was cut, too slow or of no use."""
        self.size = max(1, min(self.size, size) // 2)

    def succeeded(self, size: int) -> None:
        if size >= self.size:
            self.size = min(self.most, self.size + max(1, self.size // 4))
