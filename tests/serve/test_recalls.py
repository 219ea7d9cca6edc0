"""What the commands do with talk, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.house import House
from moechat.serve import server


def rows(client: TestClient, **whose: Any) -> list[dict[str, Any]]:
    exchanges: list[dict[str, Any]] = client.get("/exchanges", params=whose).json()["exchanges"]
    return exchanges


def test_a_turn_is_said_recalled_corrected_taken_back_and_brought_back(client: TestClient) -> None:
    made = client.post("/say", json={"text": "我养了一只叫团子的猫", "user": "anne"}).json()
    assert made["char"] == "嗯，我记住了。" and made["error"] == ""
    (row,) = rows(client, user="anne")
    assert row["id"] == made["id"] and row["variants"] == 1
    whose = {"user": "anne"}
    assert (
        client.patch(f"/exchanges/{row['id']}", json=whose | {"user_text": "我养了一只叫汤圆的猫"}).status_code == 200
    )
    assert rows(client, user="anne")[0]["user"] == "我养了一只叫汤圆的猫"
    answer = client.post("/recall", json=whose | {"text": "汤圆最近怎么样"}).json()
    assert answer.keys() == {"spans", "hits", "dropped"} and "团子" not in str(answer)
    client.patch(f"/exchanges/{row['id']}", json=whose | {"action": "retract"})
    assert rows(client, user="anne") == []
    client.patch(f"/exchanges/{row['id']}", json=whose | {"action": "restore"})
    assert len(rows(client, user="anne")) == 1
    assert client.get("/export", params=whose).json()["exchanges"][0]["id"] == row["id"]


def test_talk_from_elsewhere_comes_in_with_its_times_and_speakers_and_goes_again(client: TestClient) -> None:
    batch = {
        "talk": "old", "user": "anne",
        "exchanges": [
            {"at": "2024-05-01T20:15:00", "text": "我去青岛看了海", "reply": "真好", "speaker": "小周"},
            {"at": "2024-05-02T08:00:00+08:00", "text": "今天回家", "reply": ""},
        ],
    }  # fmt: skip
    made = client.post("/ingest", json=batch)
    assert made.status_code == 201, made.text
    assert client.post("/ingest", json=batch).status_code == 409
    hits = client.post("/recall", json={"text": "去年五一我去哪里看海了", "user": "anne"}).json()["hits"]
    assert any("青岛" in hit["text"] and hit["features"] for hit in hits)
    gone = client.request("DELETE", f"/ingest/{made.json()['batch']}", params={"user": "anne"}).json()
    assert gone["exchanges"] == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ingest", {"talk": "x", "exchanges": []}),
        ("/ingest", {"talk": "x", "exchanges": [{"at": "yesterday"}]}),
        ("/ingest", {"talk": "x", "exchanges": [{"at": "2024-05-01T20:15:00"}]}),
        ("/say", {"text": " "}),
        ("/recall", {"text": "x", "what": 1}),
    ],
)
def test_what_cannot_be_taken_is_refused_in_words(client: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 422 and answer.json()["error"]["remedy"]


def test_whoever_runs_it_can_see_that_it_lives_without_a_key(house: House) -> None:
    app = server.make_app(house, Keyring(house.data, whole="secret"), open_here=False)
    client = TestClient(app, base_url="http://example.org")
    assert client.get("/healthz").json() == {"status": "ok"}
    house.ready()
    assert client.get("/readyz").status_code == 200
    assert client.get("/exchanges").status_code == 401
    paths = client.get("/openapi.json", headers={"x-api-key": "secret"}).json()["paths"]
    assert {"/v1/chat/completions", "/memories", "/recall", "/ingest", "/query"} <= paths.keys()
