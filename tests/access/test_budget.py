"""What a key may send and cost in a minute, and that the page is none of its addresses."""

from __future__ import annotations

from pathlib import Path

from moechat.access.keys import BUDGETS, Keyring
from moechat.clock import SystemClock


class Seconds:
    """A clock that stands until it is moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_that_has_sent_or_cost_too_much_waits_until_that_is_made_up_for(tmp_path: Path) -> None:
    seconds = Seconds()
    ring = Keyring(tmp_path, SystemClock(), seconds)
    for spent in ({"sent": int(2 * BUDGETS["bytes"])}, {"cpu_s": 2 * BUDGETS["cpu_s"]}):
        key, _ = ring.add("front end")
        other, _ = ring.add("another")
        ring.spend(key.id, **spent)  # type: ignore[arg-type]
        assert ring.wait_s(key) == 60 and ring.wait_s(other) == 0
        seconds.now += 61
        assert ring.wait_s(key) == 0


def test_who_needs_no_key_has_no_bounds(tmp_path: Path) -> None:
    ring = Keyring(tmp_path, SystemClock(), Seconds(), whole="a word of one's own")
    key = ring.of("a word of one's own")
    assert key is not None
    ring.spend(key.id, sent=1 << 40, cpu_s=1e6)
    assert ring.wait_s(key) == 0
