"""The keys of model services: each for its address alone, in the system's keyring or in a file that is its owner's alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from moechat.settings.service_keys import FILE, ServiceKeys, origin

KEY, HERE, THERE = "sk-very-secret", "https://api.example.org/v1", "http://127.0.0.1:9/v1"


class Ring(KeyringBackend):
    """A keyring of a desktop; one that ``refuses`` stays locked."""

    priority = 5  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.refuses = False

    def _open(self) -> dict[tuple[str, str], str]:
        if self.refuses:
            raise KeyringLocked(f"no way to {KEY}")
        return self.held

    def get_password(self, service: str, username: str) -> str | None:
        return self._open().get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self._open().pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


@pytest.fixture
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    keyring.set_keyring(made := Ring())
    yield made
    keyring.set_keyring(before)


def test_a_key_goes_into_the_keyring_and_no_file_has_it(tmp_path: Path, ring: Ring) -> None:
    keys = ServiceKeys(tmp_path)
    assert (keys.of(HERE), keys.place(HERE)) == (None, "")
    keys.keep(HERE, KEY)
    assert (keys.of(HERE.upper().replace("HTTPS", "https")), keys.place(HERE), keys.refusal) == (KEY, "keyring", "")
    assert keys.of(THERE) is None and keys.of("https://api.example.org@127.0.0.1:9/v1") is None
    assert KEY not in (tmp_path / FILE).read_text() and list(ring.held.values()) == [KEY]
    assert ServiceKeys(tmp_path).of(HERE) == KEY  # another run
    assert ServiceKeys(tmp_path / "another").of(HERE) is None
    keys.drop(HERE)
    assert (keys.of(HERE), keys.place(HERE), ring.held) == (None, "", {})


def test_without_a_keyring_it_is_in_a_file_for_the_owner_s_eyes_alone(tmp_path: Path) -> None:
    keys = ServiceKeys(tmp_path)
    (tmp_path / FILE).write_text("{}")
    (tmp_path / FILE).chmod(0o644)
    keys.keep(HERE, KEY)
    assert (keys.of(HERE), keys.place(HERE)) == (KEY, "file")
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    other = ServiceKeys(tmp_path)
    other.keep(THERE, "sk-other")
    assert [keys.of(HERE), keys.of(THERE)] == [KEY, "sk-other"]  # what another process kept is seen
    keys.drop(HERE)
    assert [other.of(HERE), other.of(THERE)] == [None, "sk-other"]


def test_a_keyring_that_refuses_costs_no_key_and_is_told(
    tmp_path: Path, ring: Ring, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ring.refuses = True
    keys = ServiceKeys(tmp_path)
    keys.keep(HERE, KEY)
    assert (keys.of(HERE), keys.place(HERE), keys.refusal) == (KEY, "file", "KeyringLocked")
    ring.refuses = False
    keys.keep(HERE, KEY)
    ring.refuses = True
    locked = ServiceKeys(tmp_path)
    assert locked.of(HERE) is None and "unlock it, or enter the key again" in locked.problem
    assert KEY not in locked.problem + caplog.text
    ring.refuses = False
    assert (locked.of(HERE), locked.problem) == (KEY, "")


@pytest.mark.parametrize("damage", ["{", "[]", "\x00"])
def test_a_damaged_file_is_told_and_one_can_begin_anew(tmp_path: Path, damage: str) -> None:
    (tmp_path / FILE).write_text(damage)
    keys = ServiceKeys(tmp_path)
    assert keys.of(HERE) is None and "is damaged; delete it" in keys.problem
    keys.keep(HERE, KEY)
    assert (keys.of(HERE), keys.problem) == (KEY, "")


def test_an_address_is_known_by_scheme_host_and_port_and_a_strange_one_by_itself() -> None:
    for url in (HERE, "https://API.example.org", "https://api.example.org/other?x=1#y"):
        assert origin(url) == "https://api.example.org"
    apart = [
        "http://api.example.org", "https://api.example.org:8443", "https://example.org",
        "https://me@api.example.org", "https://api.example.org\\@evil.example", "https://[::1]/v1",
        "https://api.example.org /v1", "https://a\u200b.org/v1",
    ]  # fmt: skip
    assert len({origin(url) for url in [HERE, *apart]}) == 1 + len(apart)
    assert [origin(url) for url in apart[3:]] == apart[3:]


def test_a_ring_that_is_no_safe_place_is_not_used_and_one_that_lost_the_key_is_told(tmp_path: Path, ring: Ring) -> None:
    keys = ServiceKeys(tmp_path)
    ring.priority = 0.5  # type: ignore[assignment, misc]
    keys.keep(HERE, KEY)
    assert (keys.place(HERE), keys.refusal, ring.held) == ("file", "none", {})
    ring.priority = 1  # type: ignore[assignment, misc]
    keys.keep(HERE, KEY)
    assert (keys.place(HERE), keys.refusal) == ("keyring", "")
    ring.held.clear()
    assert keys.of(HERE) is None and "(it has none): unlock it, or enter the key again" in keys.problem
    keys.drop(HERE)
    assert (keys.place(HERE), keys.refusal) == ("", "PasswordDeleteError")
    keys.drop(THERE)
    assert keys.refusal == "PasswordDeleteError", "nothing was asked of the ring"
