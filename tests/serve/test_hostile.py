"""Hostile requests: whatever comes, the answer is in words, and never holds what belongs to somebody else."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import patient
import pytest
from served import client_of
from starlette.testclient import TestClient

from moechat.serve import server
from tests.houses import CHARACTER, Home, say

ANNE, SECRET = "安妮", "蓝莓松饼"
PATHS = (
    "/query", "/query_simple", "/expand_words", "/memories", "/memories/user/{id}", "/memories/official/{id}",
    "/memories/user/", "/openapi.json", "/docs", "/", "//query", "/query/", "/../query", "/%2e%2e/%2e%2e/etc/passwd",
    "/memories/user/..%2f..%2flog.jsonl",
    "/memories/user/%00", "/memories/other/{id}", "/QUERY", "/memories/official/x.yaml%23%0d%0aSet-Cookie:a=b", "/login",
)  # fmt: skip
METHODS = ("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "HEAD", "TRACE", "CONNECT", "X-ODD")
HOSTS = (
    "127.0.0.1:8012", "127.0.0.1:8012", "localhost", "evil.example", "", "127.0.0.1@evil.example", "[::", "a" * 3000,
)  # fmt: skip
NAMES = (
    None, "", CHARACTER, "../小满", f"{CHARACTER}/users/{ANNE}", "users/安妮", "..", ".", "小满\x00", "\ud800", 5, [],
    {}, True, "x" * 300,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, "", "口味", SECRET[:2], "x" * 5000, "\ud800", "\x00", -1, 0, 10**30, 1.5, True, [], {}, [[]] * 70, {"a": {"b": 1}},
    "user", "official", "fact", "event", "lore", "2019-99-99", "{{user}}", "$(id)", "' or 1=1 --", "\r\nSet-Cookie: a=b",
)  # fmt: skip
KEYS = (
    "query", "limit", "score_threshold", "version", "previous_reply", "sentence", "chinese_rd_count", "logic_type",
    "filter_values", "store", "type", "id", "text", "time", "happened", "keywords", "keyword", "importance",
    "archived", "pinned", "kind", "file",
    "__class__", "", "长" * 100,
)  # fmt: skip
BODIES = (
    b"", b"{", b"[" * 60_000, b'{"a":' * 20_000, b"\xff\xfe", b"null", b"[]", b'"x"', b"9" * 5000, b"NaN",
    b'{"query": "x"}\0',
)  # fmt: skip
KINDS = (
    "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "",
    "application/json\t",
)  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server over two users' memories. What the application raises is raised here."""
    with Home.build(tmp_path_factory.mktemp("hostile")).open() as house:
        for user, text in (("", "我住在杭州"), (ANNE, f"我最爱吃{SECRET}")):
            say(house.agent(user=user or None), text)
            house.agent(user=user or None).finish()
        yield client_of(house)


def request(chance: random.Random, ids: list[str]) -> dict[str, Any]:
    """A request that is wrong in some ways, never for Anne's memory by her own name."""
    values = {chance.choice(KEYS): chance.choice(VALUES) for _ in range(chance.randrange(5))}
    if chance.random() < 0.3:
        values = {"query": "松饼"}  # A good one: its answer may hold what is this user's.
    for name in ("character", "user"):
        if chance.random() < 0.4:
            values[name] = chance.choice(NAMES)
    content = json.dumps(values).encode() if chance.random() < 0.8 else chance.choice(BODIES)
    if chance.random() < 0.1:
        content = bytes(chance.randrange(256) for _ in range(40))
    address = {
        key: str(value).encode("utf-8", "replace") for key, value in values.items() if chance.random() < 0.5 and key
    }
    headers = {
        "host": chance.choice(HOSTS),
        "content-type": chance.choice(KINDS) if chance.random() < 0.3 else KINDS[0],
    }
    if chance.random() < 0.1:
        headers["origin"] = chance.choice(["null", "http://127.0.0.1:1", "http://127.0.0.1:8012", "http://["])
    path = chance.choice(PATHS).replace("{id}", chance.choice([*ids, "nothing", "x" * 3000, "%F0%9F"]))
    method = chance.choice(METHODS if chance.random() < 0.4 else METHODS[:4])
    return {"method": method, "url": path, "content": content, "params": address, "headers": headers}


@pytest.mark.parametrize("seed", range(3))
def test_no_request_breaks_the_server_or_reads_another_users_memory(client: TestClient, seed: int) -> None:
    chance = random.Random(seed)
    mine = client.get("/memories", params={"user": ANNE}).json()["memories"]
    assert any(SECRET in row["text"] for row in mine)
    statuses: dict[int, int] = {}
    for _ in range(400):
        asked = request(chance, [row["id"] for row in mine])
        answer = client.request(**asked)
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, asked
        assert "Traceback" not in answer.text and "site-packages" not in answer.text
        assert SECRET not in answer.text, asked
        assert "set-cookie" not in answer.headers and "access-control-allow-origin" not in answer.headers
        if answer.status_code >= 400 and asked["method"] != "HEAD":
            assert answer.json()["error"]["message"]
    assert {200, 403, 404, 405, 415, 422} <= statuses.keys()
    assert any(SECRET in row["text"] for row in client.get("/memories", params={"user": ANNE}).json()["memories"])


GET = b"GET /memories HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
RAW = (
    b"\r\n" * 2000, b"\x00" * 500, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET http://evil.example/memories HTTP/1.1\r\nHost: evil.example\r\n\r\n", GET + b"X: a\r\n\tb\r\n\r\n",
    GET + b"A: b\r\n" * 5000 + b"\r\n", b"GET /memories\r\nX-Evil: 1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    POST + b"Content-Length: -5\r\n\r\n", POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", POST + b"Content-Length: 999\r\n\r\n{",
    GET + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
)  # fmt: skip


def test_what_is_hardly_http_is_refused_and_the_next_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Home.build(tmp_path).open() as house, server.running(house) as url:
        host, port = url.removeprefix("http://").split(":")
        for raw in RAW:
            with socket.create_connection((host, int(port)), timeout=60) as connection:
                answer = b""
                with suppress(OSError):  # It may hang up in the middle.
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)
                    while piece := connection.recv(65536):
                        answer += piece
            status = answer.split(b" ")[1] if answer else b"none"
            assert status in (b"none", b"200", b"400", b"403", b"404", b"422"), (raw[:80], answer[:200])
            assert b"Traceback" not in answer and b"\nX-Evil" not in answer
        assert patient.post(f"{url}/query", json={"query": "家"}).status_code == 200
    assert "Traceback" not in caplog.text
