"""The OpenAPI document: every address of ours has a version, every example in it runs, and all keys are of one language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from moechat.house import House
from tests.houses import CHARACTER, Home, silent

BARE = {"/healthz", "/readyz"}


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    with home.open(silent(lambda _: "好的。")) as opened:
        yield opened


def operations(client: TestClient) -> dict[tuple[str, str], dict[str, Any]]:
    paths = client.get("/openapi.json").json()["paths"]
    return {(method, path): operation for path, methods in paths.items() for method, operation in methods.items()}


def keys(value: object) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()


def test_every_address_of_ours_has_a_version_and_the_old_ones_stay(client: TestClient) -> None:
    found = operations(client)
    current = {pair for pair, operation in found.items() if not operation.get("deprecated")}
    seed = {("post", "/query"), ("post", "/query_simple"), ("post", "/expand_words")}
    assert {path for _, path in current - seed if not path.startswith("/v1/")} == BARE
    old = {(method, path) for method, path in found if not path.startswith("/v1/") and path not in BARE}
    assert len(old) > 10 and [pair for pair in old if (pair[0], "/v1" + pair[1]) not in found] == []


def test_every_example_of_the_document_runs(client: TestClient) -> None:
    """In the order of the file of examples; an id in an address stands for what the last request of that address made."""
    known = operations(client)
    takes = {
        pair
        for pair, one in known.items()
        if pair[1].startswith("/v1/") and (one.get("parameters") or "requestBody" in one)
    }
    made: dict[str, str] = {}
    wrong = []
    for route in examples():
        method, path = route.split()
        takes.discard((method.lower(), path))
        operation = known[method.lower(), path]
        parameters = {one["name"]: one["example"] for one in operation.get("parameters", ()) if "example" in one}
        group = path.split("/")[2]
        for name in re.findall(r"{(\w+)}", path):
            value = (
                made.get(group, "") if name in ("id_", "batch") else CHARACTER if name == "name" else parameters[name]
            )
            parameters.pop(name)
            path = path.replace(f"{{{name}}}", quote(str(value)))
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        body = json.loads(json.dumps(body, ensure_ascii=False).replace("青禾", CHARACTER))
        talk = {"talk": made["groups"]} if group == "groups" and "talk" in body else {}
        answer = client.request(method, path, params=parameters, json=body if body is None else body | talk)
        told = answer.json()
        wrong += [] if answer.status_code in (200, 201) else [(route, answer.text)]
        wrong += [(route, key) for key in keys(told) if not key.isascii()]
        if method == "POST" and not talk:
            made["exchanges" if group == "say" else group] = next(
                filter(None, map(told.get, ("id", "batch", "talk"))), ""
            )
    assert wrong == []
    assert takes == set()  # every address that takes something has its example


def examples() -> list[str]:
    from importlib import resources

    return list(json.loads(resources.files("moechat.serve").joinpath("examples.json").read_text("utf-8")))


def test_the_keys_of_an_answer_are_english_where_the_address_has_a_version(client: TestClient) -> None:
    asked = {"query": "猫", "previous_reply": ""}
    assert "检索耗时" in client.post("/query", json=asked).json()["additional_info"]
    assert client.post("/v1/query", json=asked).json()["additional_info"].keys() == {
        "took", "query", "words", "base_words", "associations",
    }  # fmt: skip
    words = client.post("/v1/expand_words", json={"sentence": "红色的玫瑰"}).json()
    assert words.keys() == {"words", "base_words", "associations"}
    made = client.post("/v1/say", json={"text": "早上好"}).json()
    assert (made["text"], made["reply"]) == ("早上好", "好的。")
    assert client.patch(f"/v1/exchanges/{made['id']}", json={"text": "晚上好", "reply": "晚安。"}).status_code == 200
    assert [(row["text"], row["reply"]) for row in client.get("/v1/exchanges").json()["exchanges"]] == [
        ("晚上好", "晚安。")
    ]
