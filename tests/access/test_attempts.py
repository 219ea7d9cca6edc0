"""How often one may try: so many wrong tries from an address, so many from all, and each for a while."""

from __future__ import annotations

from collections.abc import Callable

from moechat.access.login import Attempts
from moechat.clock import SetClock
from tests.houses import START, moment


def three_each(seconds: Callable[[], float] = lambda: 0.0) -> Attempts:
    return Attempts(each=3, all_=10, window_s=60, seconds=seconds)


def wrong(attempts: Attempts, address: str, times: int) -> None:
    for _ in range(times):
        assert attempts.wait_s(address) == 0
        attempts.count(address)


def test_an_address_waits_after_its_wrong_tries_and_others_do_not() -> None:
    clock = SetClock(moment(START))
    attempts = three_each(lambda: clock.at.timestamp())
    wrong(attempts, "10.0.0.1", 2)
    clock.advance(seconds=20)
    wrong(attempts, "10.0.0.1", 1)
    assert (attempts.wait_s("10.0.0.1"), attempts.wait_s("10.0.0.2")) == (40, 0)
    clock.advance(seconds=39.5)
    assert attempts.wait_s("10.0.0.1") == 1
    clock.advance(seconds=0.5)
    assert attempts.wait_s("10.0.0.1") == 0


def test_all_addresses_together_have_a_bound() -> None:
    attempts = three_each()
    for n in range(10):
        wrong(attempts, f"10.0.0.{n}", 1)
    assert attempts.wait_s("10.0.0.99") == 60


def test_a_right_try_does_not_count() -> None:
    attempts = three_each()
    wrong(attempts, "10.0.0.2", 1)
    for _ in range(20):
        wrong(attempts, "10.0.0.1", 1)
        attempts.forgive("10.0.0.1")
    wrong(attempts, "10.0.0.2", 2)
    assert attempts.wait_s("10.0.0.2") == 60


def test_a_household_is_one_address() -> None:
    attempts = Attempts(each=2, all_=10, window_s=60, seconds=lambda: 0.0)
    wrong(attempts, "2001:db8::1", 1)
    wrong(attempts, "2001:db8::ffff:2", 1)
    assert attempts.wait_s("2001:db8::3") == 60
    assert attempts.wait_s("2001:db8:0:1::3") == 0
