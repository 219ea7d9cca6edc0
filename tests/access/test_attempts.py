"""How often one may try: so many wrong tries from an address, so many from all, and each for a while."""

from __future__ import annotations

from moechat.access.login import Attempts


class Seconds:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def wrong(attempts: Attempts, address: str, times: int) -> None:
    for _ in range(times):
        assert attempts.wait_s(address) == 0
        attempts.count(address)


def test_an_address_waits_after_its_wrong_tries_and_others_do_not() -> None:
    seconds = Seconds()
    attempts = Attempts(each=3, all_=10, window_s=60, seconds=seconds)
    wrong(attempts, "10.0.0.1", 2)
    seconds.now = 20
    wrong(attempts, "10.0.0.1", 1)
    assert (attempts.wait_s("10.0.0.1"), attempts.wait_s("10.0.0.2")) == (40, 0)
    seconds.now = 59.5
    assert attempts.wait_s("10.0.0.1") == 1
    seconds.now = 60
    assert attempts.wait_s("10.0.0.1") == 0


def test_all_addresses_together_have_a_bound() -> None:
    attempts = Attempts(each=3, all_=10, window_s=60, seconds=Seconds())
    for n in range(10):
        wrong(attempts, f"10.0.0.{n}", 1)
    assert attempts.wait_s("10.0.0.99") == 60


def test_a_right_try_does_not_count() -> None:
    attempts = Attempts(each=3, all_=10, window_s=60, seconds=Seconds())
    wrong(attempts, "10.0.0.2", 1)
    for _ in range(20):
        wrong(attempts, "10.0.0.1", 1)
        attempts.forgive("10.0.0.1")
    wrong(attempts, "10.0.0.2", 2)
    assert attempts.wait_s("10.0.0.2") == 60


def test_a_household_is_one_address() -> None:
    attempts = Attempts(each=2, all_=10, window_s=60, seconds=Seconds())
    wrong(attempts, "2001:db8::1", 1)
    wrong(attempts, "2001:db8::ffff:2", 1)
    assert attempts.wait_s("2001:db8::3") == 60
    assert attempts.wait_s("2001:db8:0:1::3") == 0
