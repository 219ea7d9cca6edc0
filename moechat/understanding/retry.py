"""When to ask a model again after it failed."""

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
