"""The one guard of page and HTTP: whence a request comes, who it is, what it brings."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from moechat.access.guard import NOSNIFF, Door, Guard
from moechat.access.keys import PASS, Keyring
from moechat.access.listening import address
from moechat.access.login import Attempts, browser_name
from moechat.access.register import FILE, OWNER, Register

HERE, LAN = "http://127.0.0.1:7860", "http://192.168.1.5:7860"
PASSWORD = "correct horse"
HTML = {"accept": "text/html"}


async def whose(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says whose a request is."""
    users = PASS.get().users
    await JSONResponse({"whose": OWNER if users is None else ", ".join(sorted(users))})(scope, receive, send)


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path)


def client(door: Door, url: str = HERE, address: str = "192.168.1.7", attempts: Attempts | None = None) -> TestClient:
    return TestClient(Guard(whose, door, attempts), url, client=(address, 50000), follow_redirects=False)


def entered(at: TestClient, word: str) -> Any:
    return at.post("/login", data={"word": word}, headers={"origin": str(at.base_url).rstrip("/")})


# ---- whence


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5:7860", "", "[::", "localhost\x00"]
)
def test_on_this_machine_it_answers_to_this_machines_names_alone(host: str) -> None:
    assert client(Door()).get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost:7860", "LOCALHOST", "[::1]:7860"])
def test_on_this_machine_nothing_else_is_asked(host: str) -> None:
    assert client(Door()).get("/", headers={"host": host}).json() == {"whose": OWNER}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:8000"}, {"origin": "http://localhost:7860"}, {"origin": "null"}, {"origin": "http://["},
        {"origin": "https://evil.example"}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_pages_of_other_sites_and_ports_are_refused(headers: dict[str, str], method: str) -> None:
    answer = client(Door()).request(method, "/", headers=headers)
    assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers


def test_the_own_page_and_a_link_from_elsewhere_are_let_in() -> None:
    own = {"origin": HERE, "sec-fetch-site": "same-origin", "content-type": "application/json"}
    assert client(Door()).post("/", headers=own, content=b"{}").status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client(Door()).get("/", headers=link).status_code == 200
    assert client(Door()).post("/", headers=link | own | link, content=b"{}").status_code == 403


def test_others_call_it_by_the_address_that_was_told_them(register: Register) -> None:
    door = Door(names=frozenset({"192.168.1.5"}), register=register)
    assert client(door, LAN).get("/login", headers=HTML).status_code == 200
    for host in ("evil.example", "127.0.0.1:7860", "localhost"):
        assert client(door, LAN).get("/login", headers={"host": host}).status_code == 403


def test_there_are_no_websockets() -> None:
    with pytest.raises(WebSocketDisconnect), client(Door()).websocket_connect("/"):
        pass


# ---- who


def test_whoever_comes_from_elsewhere_is_led_to_the_login(register: Register) -> None:
    at = client(Door(register=register), LAN)
    answer = at.get("/anything", headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    for method in ("GET", "POST"):
        answer = at.request(method, "/gradio_api/queue/join", json={})
        assert answer.status_code == 401 and "/login" in answer.json()["error"]["message"]


def test_a_session_opens_until_it_is_revoked(register: Register) -> None:
    at = client(Door(register=register), LAN)
    answer = entered(at, register.new_code())
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    set_cookie = answer.headers["set-cookie"]
    assert set_cookie.startswith("moechat-7860=") and "HttpOnly" in set_cookie and "SameSite=lax" in set_cookie
    assert at.get("/").json() == {"whose": OWNER}
    assert [session.address for session in register.sessions()] == ["192.168.1.7"]
    register.revoke()
    assert at.get("/").status_code == 401


def test_a_session_names_its_principal(register: Register) -> None:
    at = client(Door(register=register), LAN)
    entered(at, register.new_code("安妮"))
    assert at.get("/").json() == {"whose": "安妮"}


def test_a_browser_is_named_in_short() -> None:
    agents = {
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36": "Chrome on Linux",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1 Safari/604.1": "Safari on iPhone",
        "Mozilla/5.0 (Windows NT 10.0; rv:120.0) Gecko/20100101 Firefox/120.0": "Firefox on Windows",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Chrome/120.0 Edg/120.0": "Edge on macOS", "curl/8\x07.0": "curl/8.0",
    }  # fmt: skip
    assert {agent: browser_name(agent) for agent in agents} == agents


def test_the_address_to_open_is_this_machines_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        shown = {host: address(host, listening) for host in ("0.0.0.0", "::", "::1", "192.168.1.5")}
    hosts = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]", "192.168.1.5": "192.168.1.5"}
    assert shown == {host: f"http://{own}:{port}" for host, own in hosts.items()}


def test_where_a_password_is_set_this_machine_is_asked_too(register: Register) -> None:
    at = client(Door(names=frozenset({"192.168.1.5"}), register=register), HERE, "127.0.0.1")
    assert at.get("/").status_code == 200
    register.set_password(PASSWORD)  # while the server runs
    assert at.get("/").status_code == 401
    assert entered(at, PASSWORD).status_code == 303
    assert at.get("/").status_code == 200


def test_over_https_the_cookie_stays_there(register: Register) -> None:
    at = client(Door(open_here=False, register=register), "https://chat.example", "127.0.0.1")
    assert "Secure" in entered(at, register.new_code()).headers["set-cookie"]


def test_logging_out_ends_the_session_and_no_other(register: Register) -> None:
    door = Door(register=register)
    one, two = client(door, LAN), client(door, LAN)
    for at in (one, two):
        entered(at, register.new_code())
    cookie = one.cookies["moechat-7860"]
    answer = one.post("/logout", data={"out": "1"}, headers={"origin": LAN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "httponly" in answer.headers["set-cookie"].lower() and "max-age=0" in answer.headers["set-cookie"].lower()
    assert one.get("/", headers={"cookie": f"moechat-7860={cookie}"}).status_code == 401
    assert two.get("/").status_code == 200


def test_another_page_cannot_log_in_or_out(register: Register) -> None:
    at = client(Door(register=register), LAN)
    entered(at, register.new_code())
    for path in ("/login", "/logout"):
        answer = at.post(path, data={"word": "x"}, headers={"origin": "http://192.168.1.5:8000"})
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert at.get("/").status_code == 200


def test_after_too_many_wrong_words_one_waits_and_sessions_stay(register: Register) -> None:
    attempts = Attempts(each=3, all_=4, window_s=60)
    door = Door(register=register)
    inside = client(door, LAN, "192.168.1.8", attempts)
    entered(inside, register.new_code())
    at = client(door, LAN, attempts=attempts)
    code = register.new_code()
    assert [entered(at, "wrong").status_code for _ in range(5)] == [403, 403, 403, 429, 429]
    answer = entered(at, code)
    assert answer.status_code == 429 and 0 < int(answer.headers["retry-after"]) <= 60
    assert "试错太多次了" in answer.text and "set-cookie" not in answer.headers
    assert entered(client(door, LAN, "192.168.1.9", attempts), code).status_code == 303
    assert inside.get("/").status_code == 200


def test_on_this_machine_the_key_of_another_service_is_no_matter_but_a_wrong_one_of_ours_is(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    _, anne = ring.add("phone", users=["安妮"])
    at = client(Door(keyring=ring), attempts=Attempts(each=2, all_=2, window_s=60))
    for _ in range(5):
        assert at.get("/", headers={"authorization": "Bearer sk-of-another"}).json() == {"whose": OWNER}
    assert at.get("/", headers={"authorization": f"bearer {anne}"}).json() == {"whose": "安妮"}
    assert at.get("/", headers={"x-api-key": "mk-wrong"}).status_code == 401
    assert at.get("/", headers={"authorization": f"Basic {anne}"}).json() == {"whose": OWNER}


def test_after_too_many_wrong_keys_the_right_one_waits_too(tmp_path: Path) -> None:
    ring = Keyring(tmp_path, whole="right")
    at = client(Door(open_here=False, keyring=ring), LAN, attempts=Attempts(each=3, all_=4, window_s=60))
    for _ in range(20):
        assert at.get("/", headers={"x-api-key": "right"}).json() == {"whose": OWNER}
        assert at.get("/").status_code == 401
    assert {at.get("/", headers={"x-api-key": "wrong"}).status_code for _ in range(3)} == {401}
    answer = at.get("/", headers={"authorization": "Bearer right"})
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 0


def test_a_session_that_began_with_a_key_opens_what_the_key_does_and_as_long(
    register: Register, tmp_path: Path
) -> None:
    ring = Keyring(tmp_path)
    key, anne = ring.add("phone", users=["安妮"], per_minute=2)
    at = client(Door(open_here=False, register=register, keyring=ring), LAN)
    assert "Key, password or one-time code" in at.get("/login", headers={"accept-language": "en"}).text
    assert entered(at, anne).status_code == 303
    assert {at.get("/").json()["whose"] for _ in range(5)} == {"安妮"}
    assert [at.post("/", json={}).status_code for _ in range(3)] == [200, 200, 429]
    assert anne not in (tmp_path / FILE).read_text(encoding="utf-8")
    assert (
        client(Door(register=register), LAN)
        .get("/", headers={"cookie": f"moechat-7860={at.cookies['moechat-7860']}"})
        .status_code
        == 401
    )
    ring.revoke([key.id])
    assert at.get("/").status_code == 401


def test_a_key_that_does_not_say_whose_page_begins_no_session(register: Register, tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    at = client(Door(open_here=False, register=register, keyring=ring), LAN)
    for word in (ring.add("bot", many=True)[1], ring.add("two", users=["a", "b"])[1], "mk-wrong"):
        answer = entered(at, word)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
        assert ("--user" in answer.text) is (word != "mk-wrong")


def test_a_damaged_record_lets_nobody_in_and_is_told_in_words(
    register: Register, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at = client(Door(register=register), LAN)
    entered(at, register.new_code())
    (tmp_path / FILE).write_bytes(b"{")
    answer = at.get("/")
    assert answer.status_code == 503 and str(tmp_path) not in answer.text
    assert FILE in caplog.text


# ---- pages of the sites that may call


def test_the_page_of_an_allowed_site_calls_and_reads_the_answer_while_others_do_not() -> None:
    site = "https://chat.example"
    at = client(Door(origins=frozenset({site})))
    wish = {"origin": site, "access-control-request-headers": "authorization, x-title\x7f"}
    before = at.options("/v1/models", headers=wish)
    assert before.status_code == 204 and before.headers["access-control-allow-origin"] == site
    assert before.headers["access-control-allow-headers"] == "authorization, x-title"
    assert {"GET", "POST", "PATCH", "DELETE"} <= set(before.headers["access-control-allow-methods"].split(", "))
    plain = at.options("/v1/models", headers={"origin": site})
    assert plain.headers["access-control-allow-headers"] == "authorization, content-type"
    answer = at.post("/", headers={"origin": site, "sec-fetch-site": "cross-site"}, json={})
    assert answer.json() == {"whose": OWNER} and answer.headers["access-control-allow-origin"] == site
    assert answer.headers["vary"] == "Origin" and "retry-after" in answer.headers["access-control-expose-headers"]
    assert at.options("/", headers={"origin": "https://evil.example"}).status_code == 403
    assert "access-control-allow-origin" not in at.get("/").headers


# ---- what it brings


async def telling_back(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads twice and says what it was given."""
    read = [await receive() for _ in range(2)]
    await JSONResponse([message.get("body", message["type"].encode()).decode() for message in read])(
        scope, receive, send
    )


def passed_on(door: Door, *messages: Message) -> tuple[int, Any]:
    """What comes of a request that arrives in ``messages``: status and body."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json; charset=utf-8")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "server": ("127.0.0.1", 7860)}
    arriving, answers = iter(messages), list[Message]()

    async def receive() -> Message:
        return next(arriving)

    async def send(message: Message) -> None:
        answers.append(message)

    asyncio.run(Guard(telling_back, door)(scope, receive, send))
    return answers[0]["status"], json.loads(answers[1]["body"])


def test_the_application_reads_the_whole_body_once_and_then_what_follows() -> None:
    first, last = (
        {"type": "http.request", "body": part, "more_body": more} for part, more in ((b"one ", True), (b"two", False))
    )
    end = {"type": "http.disconnect"}
    assert passed_on(Door(max_body=7), first, last, end) == (200, ["one two", "http.disconnect"])
    status, answer = passed_on(Door(max_body=6), first, last, end)
    assert (status, answer["error"]["code"]) == (413, "request_too_large")
    assert passed_on(Door(), first, end)[0] == 400


def test_what_is_closed_is_not_there_and_every_answer_has_the_headers() -> None:
    at = client(Door(closed=("/upload",), headers=(NOSNIFF,)))
    answers = [at.get("/upload/x"), at.get("/"), at.get("/", headers={"host": "evil.example"})]
    assert [answer.status_code for answer in answers] == [404, 200, 403]
    assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}


@pytest.mark.parametrize("form", [b"", b"word", b"word=%ff%fe", b"&" * 99, b"x=1" * 999, b"word=" + b"x" * 3000])
def test_a_strange_form_is_a_wrong_word(register: Register, form: bytes) -> None:
    at = client(Door(register=register), LAN)
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": LAN}
    assert at.post("/login", content=form, headers=headers).status_code == 403
    sizes = (4096, 4097)
    assert [at.post("/login", content=b"x" * size, headers=headers).status_code for size in sizes] == [403, 413]
    assert at.post("/login", json={"word": "x"}, headers={"origin": LAN}).status_code == 415


def test_a_body_that_is_too_large_is_refused_in_the_browsers_language(register: Register) -> None:
    at = client(Door(register=register), LAN)
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": LAN}
    english = at.post("/login", content=b"x" * 5000, headers=headers | {"accept-language": "en-GB"})
    chinese = at.post("/login", content=b"x" * 5000, headers=headers | {"accept-language": "zh-CN"})
    assert (english.status_code, chinese.status_code) == (413, 413)
    assert english.text.isascii() and not chinese.text.isascii()


@pytest.mark.parametrize(("path", "status"), [("/v1/large", 200), ("/v1/large/", 200), ("/v1/small", 413)])
def test_some_addresses_take_more_than_others(path: str, status: int) -> None:
    at = client(Door(bodies={"/large": 10_000}, max_body=100))
    assert at.post(path, json={"text": "x" * 5000}).status_code == status


def test_the_login_page_speaks_the_browsers_language_and_asks_nobody_else(register: Register) -> None:
    at = client(Door(register=register), LAN)
    chinese = at.get("/login", headers={"accept-language": "zh-CN"})
    english = at.get("/login", headers={"accept-language": "en-GB"})
    assert "一次性代码" in chinese.text and 'lang="zh"' in chinese.text
    assert "One-time code" in english.text and "Password" not in english.text
    register.set_password(PASSWORD)
    assert "Password or one-time code" in at.get("/login", headers={"accept-language": "en"}).text
    assert "default-src 'none'" in english.headers["content-security-policy"]
    assert "http" not in english.text and english.headers["cache-control"] == "no-store"
