"""The keys of programs: what each reaches, how often it may come and what it may cost, and that the file gives none away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from moechat.access.guard import Door, Guard
from moechat.access.keys import BUDGETS, FILE, PASS, Denied, Keyring, Nameless, Pass, pass_of
from moechat.access.login import EACH
from moechat.cli import main as cli
from moechat.clock import SetClock
from moechat.errors import DataError, FieldError, NotFound
from moechat.serve.server import serve
from tests.houses import START, moment

LAN = "http://192.168.1.5:8012"


async def reach(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says what a request may reach."""
    users = PASS.get().users
    await JSONResponse({"users": sorted(users) if users is not None else None})(scope, receive, send)


def ring_at(clock: SetClock, data: Path, **more: Any) -> Keyring:
    return Keyring(data, clock, lambda: clock.at.timestamp(), **more)


def client(ring: Keyring, **more: Any) -> TestClient:
    return TestClient(Guard(reach, Door(open_here=False, keyring=ring, **more)), LAN, client=("192.168.1.7", 5000))


def test_a_key_opens_what_it_is_for_and_nothing_when_it_is_revoked(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    key, word = ring.add("phone", users=["安妮"], characters=["青禾"])
    assert re.fullmatch("mk-[0-9a-z]{32}", word)
    at = client(ring)
    headers = {"authorization": f"Bearer {word}"}
    assert at.get("/", headers=headers).json() == {"users": ["安妮"]}
    assert at.get("/", headers={"x-api-key": word}).status_code == 200
    refused = at.get("/")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert ring.revoke([key.id]) == [key]
    assert at.get("/", headers=headers).json()["error"]["code"] == "invalid_api_key"
    with pytest.raises(NotFound):
        ring.revoke([key.id])


def test_the_file_holds_no_key_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    _, word = Keyring(tmp_path).add("phone")
    file = tmp_path / FILE
    assert word not in file.read_text(encoding="utf-8") and word[3:11] not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"keys\.json"):
        Keyring(tmp_path).of(word)


def test_who_is_meant_is_within_what_the_key_is_for() -> None:
    one, two = Pass(users=frozenset({"a"})), Pass(users=frozenset({"a", "b"}))
    many = Pass(many=True)
    assert (Pass().user(""), Pass().user("x"), one.user(""), one.user("a"), many.user("x")) == ("", "x", "a", "a", "x")
    for passed in (two, many):
        with pytest.raises(Nameless):
            passed.user("")
    for passed in (one, two):
        with pytest.raises(Denied):
            passed.user("x")
    for passed in (one, many):
        with pytest.raises(Denied):
            passed.require_all_users()
    with pytest.raises(Denied):
        Pass(characters=frozenset({"青禾"})).require_character("江砚")


@pytest.fixture
def clock() -> SetClock:
    return SetClock(moment(START))


def test_a_key_that_comes_too_often_waits(tmp_path: Path, clock: SetClock) -> None:
    ring = ring_at(clock, tmp_path)
    key, word = ring.add("phone", per_minute=3)
    at, headers = client(ring), {"authorization": f"Bearer {word}"}
    assert [at.get("/", headers=headers).status_code for _ in range(4)] == [200, 200, 200, 429]
    late = at.get("/", headers=headers)
    assert late.headers["retry-after"] == "20" and late.json()["error"]["type"] == "rate_limit_error"
    clock.advance(seconds=20)
    assert [at.get("/", headers=headers).status_code for _ in range(2)] == [200, 429]
    assert pass_of(key).key == key.id


def test_a_key_that_has_sent_or_cost_too_much_waits_until_that_is_made_up_for(tmp_path: Path, clock: SetClock) -> None:
    ring = ring_at(clock, tmp_path)
    for spent in ({"sent": int(2 * BUDGETS["bytes"])}, {"cpu_s": 2 * BUDGETS["cpu_s"]}):
        key, _ = ring.add("front end")
        other, _ = ring.add("another")
        ring.spend(key.id, **spent)  # type: ignore[arg-type]
        assert ring.wait_s(key) == 60 and ring.wait_s(other) == 0
        clock.advance(seconds=61)
        assert ring.wait_s(key) == 0


def test_who_needs_no_key_has_no_bounds(tmp_path: Path, clock: SetClock) -> None:
    ring = ring_at(clock, tmp_path, whole="a word of one's own")
    key = ring.of("a word of one's own")
    assert key is not None
    ring.spend(key.id, sent=1 << 40, cpu_s=1e6)
    assert ring.wait_s(key) == 0


def test_wrong_keys_are_counted(tmp_path: Path) -> None:
    at = client(Keyring(tmp_path))
    wrong = {"authorization": "Bearer mk-nothing"}
    assert [at.get("/", headers=wrong).status_code for _ in range(EACH + 1)] == [401] * EACH + [429]


def test_a_key_begins_so_many_memories_and_no_more(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    key, _ = ring.add("bot", many=True, new=2)
    ring.begin_memory(key.id)
    ring.begin_memory(key.id)
    with pytest.raises(Denied, match="new memories"):
        Keyring(tmp_path).begin_memory(key.id)


@pytest.mark.parametrize(
    "wrong", [{"name": " "}, {"name": "x", "many": True, "users": ["a"]}, {"name": "x", "per_minute": 0}]
)
def test_a_key_that_makes_no_sense_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        Keyring(tmp_path).add(**wrong)


def test_the_commands_make_list_and_revoke_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path)]
    assert cli.main(["keys", "add", "bot", "--many", "--rate", "10", *data]) == 0
    word = capsys.readouterr().out.split()[0]
    assert Keyring(tmp_path).of(word) is not None
    assert cli.main(["keys", "list", *data]) == 0
    shown = capsys.readouterr().out
    assert "many users" in shown and "10/min" in shown and word not in shown
    assert cli.main(["keys", "revoke", "bot", *data]) == 0
    assert Keyring(tmp_path).of(word) is None
    assert cli.main(["keys", "revoke", "bot", *data]) == 1


def test_an_address_for_others_needs_a_key(home: Any) -> None:
    with home.open() as house, pytest.raises(Exception, match="moechat keys add"):
        serve(house, host="0.0.0.0", port=0)
