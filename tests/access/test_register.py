"""Who may come in: passwords, one-time codes and sessions, in one file that gives nothing away."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.access.register import FILE, OWNER, Register
from moechat.clock import SetClock
from moechat.errors import DataError, FieldError
from tests.houses import moment

PHONE = ("192.168.1.7", "Safari on iPhone")


@pytest.fixture
def clock() -> SetClock:
    return SetClock(moment("2025-05-20T15:00:00"))


@pytest.fixture
def register(tmp_path: Path, clock: SetClock) -> Register:
    return Register(tmp_path, clock)


def opened(register: Register) -> str:
    cookie = register.enter(register.new_code(), *PHONE)
    assert cookie is not None
    return cookie


def test_a_code_opens_one_session_however_it_is_typed(register: Register) -> None:
    code = register.new_code()
    assert len(code) == 9 and code[4] == "-"
    cookie = register.enter(f" {code.lower().replace('-', ' ').replace('0', 'o').replace('1', 'l')}", *PHONE)
    assert cookie is not None
    session = register.session(cookie)
    assert session is not None and (session.principal, session.address, session.browser) == (OWNER, *PHONE)
    assert register.enter(code, *PHONE) is None


def test_of_many_who_use_a_code_at_once_one_comes_in(register: Register) -> None:
    code = register.new_code()
    with ThreadPoolExecutor(8) as pool:
        cookies = list(pool.map(lambda _: register.enter(code, *PHONE), range(8)))
    assert len([cookie for cookie in cookies if cookie]) == len(register.sessions()) == 1


def test_a_code_and_a_session_end_with_their_time(register: Register, clock: SetClock) -> None:
    code, used = register.new_code(), opened(register)
    clock.advance(minutes=10)
    assert register.enter(code, *PHONE) is None
    clock.advance(days=29)
    assert register.session(used) is not None
    clock.advance(days=1)
    assert (register.session(used), register.sessions()) == (None, [])


def test_a_password_is_asked_for_word_by_word_and_ends_what_was_open(register: Register) -> None:
    before = opened(register)
    register.set_password("长长的口令 ﬁn")
    assert (register.has_password, register.session(before)) == (True, None)
    assert register.enter("长长的口令 fin", *PHONE) is not None  # another keyboard's way to write it
    for wrong in ("", "长长的口令", "长长的口令 FIN", "\ud800"):
        assert register.enter(wrong, *PHONE) is None
    register.set_password("")
    assert (register.has_password, register.enter("", *PHONE), register.sessions()) == (False, None, [])


def test_a_short_password_is_refused_without_being_repeated(register: Register) -> None:
    with pytest.raises(FieldError, match="8 characters") as refused:
        register.set_password("hunter2")
    assert "hunter2" not in str(refused.value)


def test_the_password_of_the_environment_stands_in_for_the_kept_one(tmp_path: Path, register: Register) -> None:
    register.set_password("the kept one")
    other = Register(tmp_path, password="the other one")
    assert other.enter("the kept one", *PHONE) is None
    assert other.enter("the other one", *PHONE) is not None


def test_another_process_shows_out_and_it_holds_at_once(tmp_path: Path, register: Register, clock: SetClock) -> None:
    first, second = opened(register), opened(register)
    code = register.new_code()
    ended = register.session(first)
    assert ended is not None
    Register(tmp_path, clock).revoke([ended.id])
    assert register.session(first) is None and register.session(second) is not None
    assert register.enter(code, *PHONE) is None  # Whoever held a code is out, too.
    Register(tmp_path, clock).revoke()
    assert register.session(second) is None


def test_a_session_in_use_is_noted_now_and_then(register: Register, clock: SetClock) -> None:
    cookie = opened(register)
    clock.advance(minutes=5)
    session = register.session(cookie)
    assert session is not None and not register.is_due(session)
    clock.advance(minutes=6)
    assert register.is_due(session)
    register.note(session)
    assert register.sessions()[0].seen == clock.now()


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda data: data.decode("latin-1")))
def test_no_cookie_is_guessed(tmp_path_factory: pytest.TempPathFactory, cookie: str) -> None:
    register = Register(tmp_path_factory.mktemp("cookies"))
    assert register.session(cookie) is None
    real = opened(register)
    id_, _, signature = real.partition(".")
    for forged in (cookie, id_, f"{id_}.", f"{id_}.{cookie}", f"{cookie}.{signature}"):
        assert forged == real or register.session(forged) is None


def test_a_cookie_of_another_folder_opens_nothing(tmp_path: Path, register: Register) -> None:
    elsewhere = Register(tmp_path / "other")
    cookie = opened(elsewhere)
    opened(register)
    assert register.session(cookie) is None
    files = [json.loads((folder / FILE).read_text("utf-8")) for folder in (tmp_path, tmp_path / "other")]
    assert len({file["secret"] for file in files if len(file["secret"]) >= 32}) == 2  # Each signs with its own.


def test_the_file_holds_neither_password_nor_code_nor_cookie_and_is_its_owners(
    tmp_path: Path, register: Register
) -> None:
    register.set_password("correct horse")
    code = register.new_code()
    cookie = opened(register)
    path = tmp_path / FILE
    text = path.read_text(encoding="utf-8")
    for secret in ("correct horse", code, code.replace("-", ""), cookie):
        assert secret not in text
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        register.new_code()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_written_before_somebody_may_come_in(tmp_path: Path, register: Register) -> None:
    assert (register.has_password, register.sessions(), register.session("x.y")) == (False, [], None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"format": 1, "later": 1}', b'{"secret": 5}'])
def test_a_damaged_file_is_named_lets_nobody_in_and_shows_nothing(
    tmp_path: Path, register: Register, damage: bytes
) -> None:
    cookie = opened(register)
    path = tmp_path / FILE
    secret = json.loads(path.read_text(encoding="utf-8"))["secret"]
    path.write_bytes(damage)
    for ask in (lambda: register.session(cookie), register.new_code, lambda: register.has_password):
        with pytest.raises(DataError, match=FILE) as told:
            ask()
        assert secret not in str(told.value) and told.value.file == str(path)
    assert path.read_bytes() == damage
