"""moechat serve, over real HTTP: the seed's requests, the memories of both stores, and whoever should not come in."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import patient
import pytest
from starlette.testclient import TestClient

from moechat.access.guard import MAX_BODY, Door, Guard, is_loopback
from moechat.access.keys import EVERYTHING, PASS
from moechat.errors import MoeChatError
from moechat.house.owners import Busy
from moechat.serve import server
from moechat.serve.agents import Agents
from moechat.settings.character import encode_user
from tests.houses import CHARACTER, Home, say
from tests.shell import Shell

SAMPLE = "江砚"
JSON = {"content-type": "application/json"}
NOWHERE = "0.0.0.0"


def furnished(folder: Path, root: Path, **sections: Any) -> Home:
    """A house with the demonstration character beside the tests' own."""
    home = Home.build(folder, **sections)
    shutil.copytree(root / "data/agents" / SAMPLE, home.data / "agents" / SAMPLE)
    return home


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose memory nobody changes."""
    root = Path(__file__).resolve().parents[2]
    home = furnished(tmp_path_factory.mktemp("served"), root, Agent={"char": SAMPLE})
    with home.open() as house, server.running(house) as address:
        yield address


@pytest.fixture
def client(tmp_path: Path, root: Path) -> Iterator[TestClient]:
    """A server of one's own."""
    home = furnished(tmp_path, root)
    with home.open() as house:
        say(house.agent(), "我住在杭州，养了一只叫团子的猫")
        house.agent().finish()
        yield TestClient(server.make_app(house), base_url="http://127.0.0.1:8012")


def ask(url: str, path: str = "/query", **values: Any) -> Any:
    answer = patient.post(url + path, json=values)
    assert answer.status_code == 200, answer.text
    return answer.json()


# ---- the seed's requests


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"query": "你觉得你擅长啥", "limit": 5}, "e024"),
        ({"query": "红色"}, "e003"),
        ({"query": "室友失恋了，我们陪她吃了一晚上火锅", "limit": 5, "score_threshold": 0.3}, "e010"),
    ],
)
def test_the_sample_requests_of_the_seed_are_answered_in_its_shape(url: str, asked: dict[str, Any], found: str) -> None:
    told = ask(url, **asked)
    assert told.keys() == {"memory_events", "memory_entities", "additional_info"}
    assert told["memory_events"][0]["index"] == found
    for row in told["memory_events"]:
        assert row.keys() == {"id", "score", "index", "description", "deepinsight", "updatetime", "keyword", "log"}
        assert row["log"].startswith(
            f"[记忆事件]--score={row['score']:.4f},index={row['index']}.在{row['updatetime']}左右"
        )
        assert "{{" not in row["log"]
    assert 0 < len(told["memory_entities"]) <= 5
    for row in told["memory_entities"]:
        assert row.keys() == {
            "id", "kind", "score", "index", "description", "updatetime", "matched_keywords", "keyword", "log",
        }  # fmt: skip
        assert row["matched_keywords"] and row["log"].endswith(f"数据库关键词: {row['keyword']}")
    info = told["additional_info"]
    assert info["query"] == asked["query"] and info["检索耗时"].keys() == {
        "向量+embedding检索", "mysql检索", "扩词算法", "重排算法",
    }  # fmt: skip


@pytest.mark.parametrize("version", ["v18", "v22", "v23", "v23_es"])
def test_every_version_answers_with_its_labels(url: str, version: str) -> None:
    labels = {
        "v18": {"用户属性", "用户关系", "其他属性", "其他关系"},
        "v22": {"用户属性", "与主体和客体的关系", "属性", "记忆画面"},
        "v23": {"用户属性", "与主体和客体的关系", "特殊实体属性", "与其它实体的关系"},
    }
    kinds = {
        row["kind"]
        for row in ask(url, query="小夏和闻伯，约定，蜡烛，口味", limit=50, version=version)["memory_entities"]
    }
    assert len(kinds) >= 2 and kinds <= labels.get(version, kinds)


def test_the_simple_answer_and_the_words(url: str) -> None:
    simple = ask(url, "/query_simple", query="红色")
    assert simple.keys() == {"memory_events", "memory_entities"} and "红色围巾" in simple["memory_events"][0]
    words = ask(url, "/expand_words", sentence="红色的玫瑰", chinese_rd_count=3, logic_type="second", filter_values=[1])
    assert words.keys() == {"原始关键词列表", "输入的单词列表", "扩展的联想词列表"}
    assert words["输入的单词列表"] == ["玫瑰", "红色"] or set(words["输入的单词列表"]) == {"玫瑰", "红色"}
    assert len(words["扩展的联想词列表"]) == 3


def test_asking_changes_no_file(tmp_path: Path, root: Path) -> None:
    home = furnished(tmp_path, root)
    with home.open() as house:
        say(house.agent(), "室友小夏失恋了")
        house.agent().finish()
        app = TestClient(server.make_app(house), base_url="http://localhost")
        before = {p: p.read_bytes() for p in home.data.rglob("*") if p.is_file() and ".index" not in p.parts}
        for path, body in (("/query", {"query": "失恋"}), ("/expand_words", {"sentence": "失恋"})):
            assert app.post(path, json=body).status_code == 200
        after = {p: p.read_bytes() for p in home.data.rglob("*") if p.is_file() and ".index" not in p.parts}
        assert after == before


def test_the_owners_memory_and_the_authors_answer_together(client: TestClient) -> None:
    folder = client.app.state.house.data / "agents" / CHARACTER  # type: ignore[attr-defined]
    (folder / "facts.yaml").write_text("f1: {text: 团子其实怕水, entity: 团子, keyword: 胆量}\n", encoding="utf-8")
    rows = client.post("/query", json={"query": "团子最近怎么样"}).json()["memory_entities"]
    assert {"f1"} < {row["index"]["index"] for row in rows}


# ---- memories


def test_the_official_store_is_created_read_changed_searched_and_deleted(client: TestClient) -> None:
    made = client.post(
        f"/memories?character={SAMPLE}",
        json={"store": "official", "type": "event", "id": "kite", "text": "{{char}}放了一次风筝", "keywords": ["风筝"],
              "importance": 0.4, "time": "2024-05-01T10:00:00", "place": "海边"},
    )  # fmt: skip
    assert made.status_code == 201 and made.json()["text"] == "江砚放了一次风筝"
    assert (
        client.post("/query", json={"query": "风筝", "character": SAMPLE}).json()["memory_events"][0]["index"] == "kite"
    )
    found = client.get("/memories", params={"character": SAMPLE, "store": "official", "q": "风筝"}).json()
    assert found["total"] == 1 and found["memories"][0]["id"] == "kite"
    changed = client.patch(f"/memories/official/kite?character={SAMPLE}", json={"place": "屋顶"}).json()
    assert changed["place"] == "屋顶" and changed["keywords"] == ["风筝"] and changed["importance"] == 0.4
    assert client.get(f"/memories/official/kite?character={SAMPLE}").json() == changed
    assert client.delete(f"/memories/official/kite?character={SAMPLE}").json()["gone"] == [changed]
    assert client.get(f"/memories/official/kite?character={SAMPLE}").status_code == 404
    assert client.delete(f"/memories/official/kite?character={SAMPLE}").status_code == 404


def test_the_world_book_is_created_read_changed_searched_and_deleted(client: TestClient) -> None:
    path, folder = {"character": SAMPLE}, client.app.state.house.data / "agents" / SAMPLE / "data_base"  # type: ignore[attr-defined]
    before = (folder / "雾港.yaml").read_bytes()
    entry = {"keyword": "鱼市/码头", "text": "鱼市四点开门", "keys": ["鱼市"], "file": "雾港.yaml"}
    made = client.post("/memories", params=path, json={"store": "official", "type": "lore", **entry})
    assert made.status_code == 201
    assert made.json() == {
        "store": "official", "id": "雾港.yaml#鱼市/码头", "by": "author", "type": "lore", **entry, "constant": False,
        "enabled": True,
    }  # fmt: skip
    assert (folder / "雾港.yaml").read_bytes().startswith(before)
    found = client.get("/memories", params={**path, "type": "lore", "q": "鱼市"}).json()
    book = client.app.state.house.agent(SAMPLE).layers.book  # type: ignore[attr-defined]
    assert "鱼市/码头" in [one.keyword for one in book.entries], "the agent that runs has it"
    assert [row["id"] for row in found["memories"]] == ["雾港.yaml#鱼市/码头"]
    assert client.get("/memories", params={**path, "store": "user", "type": "lore"}).json()["total"] == 0
    url = "/memories/official/" + quote("雾港.yaml#鱼市/码头")
    changed = client.patch(url, params=path, json={"keyword": "鱼市", "enabled": False}).json()
    assert (changed["id"], changed["enabled"]) == ("雾港.yaml#鱼市", False)
    url = "/memories/official/" + quote("雾港.yaml#鱼市")
    assert client.get(url, params=path).json() == changed
    assert client.delete(url, params=path).json() == {"gone": [changed]}
    assert (folder / "雾港.yaml").read_bytes() == before
    assert client.get(url, params=path).status_code == 404


def test_the_users_store_is_created_read_changed_hidden_and_erased(client: TestClient) -> None:
    made = client.post("/memories", json={"store": "user", "type": "fact", "text": "用户怕打雷", "keyword": "胆量"})
    assert made.status_code == 201
    id_ = made.json()["id"]
    listed = client.get("/memories", params={"store": "user", "q": "打雷"}).json()
    assert [row["id"] for row in listed["memories"]] == [id_] and listed["memories"][0]["type"] == "fact"
    assert client.post("/query", json={"query": "我的胆量"}).json()["memory_entities"][0]["description"] == "用户怕打雷"
    changed = client.patch(f"/memories/user/{id_}", json={"text": "用户不怕打雷了", "pinned": True}).json()
    assert (changed["text"], changed["pinned"], changed["kind"], changed["by"]) == (
        "用户不怕打雷了", True, "attribute", "owner",
    )  # fmt: skip
    assert client.patch(f"/memories/user/{id_}", json={"confirmed": False}).status_code == 422
    assert client.patch(f"/memories/user/{id_}", json={"confirmed": True}).json()["text"] == "用户不怕打雷了"
    client.patch(f"/memories/user/{id_}", json={"pinned": False, "archived": True})
    assert client.get("/memories", params={"store": "user", "q": "打雷"}).json()["total"] == 0
    assert client.get("/memories", params={"archived": "true"}).json()["total"] == 1
    assert client.delete(f"/memories/user/{id_}").status_code == 200
    assert client.get(f"/memories/user/{id_}").status_code == 404


def test_an_event_of_the_users_own_is_written_read_recalled_and_erased(client: TestClient) -> None:
    body = {
        "happened": "2019-07-15", "place": "海边", "keywords": ["风筝"], "importance": 0.9, "text": "放风筝，线断了",
    }  # fmt: skip
    made = client.post("/memories", json={"store": "user", "type": "event", **body})
    assert made.status_code == 201
    row = made.json()
    assert (row["type"], row["by"], row["text"]) == ("event", "owner", "放风筝，线断了")
    told = client.get(f"/memories/user/{row['id']}").json()
    assert (told["place"], told["keywords"], told["importance"], told["sources"]) == ("海边", ["风筝"], 0.9, [])
    assert client.get("/memories", params={"store": "user", "type": "event"}).json()["total"] == 1
    assert client.patch(f"/memories/user/{row['id']}", json={"text": "放风筝"}).json()["text"] == "放风筝"
    assert [one["id"] for one in client.delete(f"/memories/user/{row['id']}").json()["gone"]] == [row["id"]]
    assert client.get(f"/memories/user/{row['id']}").status_code == 404


def test_a_list_pages_through_both_stores(client: TestClient) -> None:
    path = {"character": SAMPLE}
    client.post("/memories", params=path, json={"store": "user", "type": "fact", "text": "用户怕打雷"})
    whole = client.get("/memories", params={**path, "limit": 200}).json()
    assert whole["total"] == len(whole["memories"]) == 24 + 35 + 6 + 1
    parts = [client.get("/memories", params={**path, "limit": 7, "offset": n}).json() for n in range(0, 70, 7)]
    assert [row for part in parts for row in part["memories"]] == whole["memories"]
    assert {part["total"] for part in parts} == {66}
    facts = client.get("/memories", params={**path, "type": "fact", "store": "official", "limit": 200}).json()
    assert facts["total"] == 35 and {row["kind"] for row in facts["memories"]} == {"attribute", "relation", "picture"}


def test_every_user_reads_the_official_store_and_has_a_memory_of_their_own(client: TestClient) -> None:
    body = {"store": "user", "type": "fact", "text": "用户最爱吃桃子", "keyword": "口味"}
    assert client.post("/memories", params={"user": "安妮", "character": SAMPLE}, json=body).status_code == 201
    asked = {"query": "口味如何，红色的围巾呢", "character": SAMPLE, "limit": 20}
    annes = client.post("/query", json={**asked, "user": "安妮"}).json()
    owners = client.post("/query", json=asked).json()
    assert annes["memory_events"][0]["index"] == owners["memory_events"][0]["index"] == "e003"
    assert "安妮" in annes["memory_events"][0]["description"]
    assert "用户最爱吃桃子" in {row["description"] for row in annes["memory_entities"]}
    assert "用户最爱吃桃子" not in {row["description"] for row in owners["memory_entities"]}


def test_many_requests_at_once_are_all_answered(url: str) -> None:
    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(lambda n: ask(url, query=f"红色{'和火锅' * (n % 3)}"), range(36)))
    assert all(answer["memory_events"] for answer in told)


def test_asking_while_the_author_writes_is_always_answered(client: TestClient) -> None:
    def write(number: int) -> int:
        row = {
            "store": "official", "type": "event", "text": f"第{number}只风筝", "keywords": ["风筝"], "id": f"k{number}",
        }  # fmt: skip
        made = client.post("/memories", params={"character": SAMPLE}, json=row)
        gone = client.delete(f"/memories/official/k{number}", params={"character": SAMPLE}) if number % 2 else made
        return max(made.status_code, gone.status_code)

    def read(_: int) -> int:
        return client.post("/query", json={"query": "风筝和红色", "character": SAMPLE, "limit": 50}).status_code

    with ThreadPoolExecutor(4) as pool:
        told = [*pool.map(lambda n: write(n // 2) if n % 2 else read(n), range(48))]
    assert set(told) <= {200, 201}
    assert client.get("/memories", params={"character": SAMPLE, "q": "风筝"}).json()["total"] == 12


def test_a_hand_edit_of_the_official_store_holds_from_the_next_question(client: TestClient, root: Path) -> None:
    path = client.app.state.house.data / "agents" / SAMPLE / "events.yaml"  # type: ignore[attr-defined]
    asked = {"query": "你最擅长什么", "character": SAMPLE}
    assert client.post("/query", json=asked).json()["memory_events"][0]["index"] == "e024"
    path.write_text(path.read_text(encoding="utf-8").replace("说擅长等：", "说擅长发呆和等："), encoding="utf-8")
    assert "发呆" in client.post("/query", json=asked).json()["memory_events"][0]["description"]
    path.unlink()
    assert client.post("/query", json=asked).json()["memory_events"] == []


# ---- bad input

EVENT = {"store": "official", "type": "event", "text": "x"}
LORE = EVENT | {"type": "lore", "keyword": "y"}


@pytest.mark.parametrize(
    ("path", "body", "field", "remedy"),
    [
        ("/query", {}, "query", "is missing"),
        ("/query", {"query": ""}, "query", "is empty"),
        ("/query", {"query": " \n "}, "query", "is empty"),
        ("/query", {"query": 5}, "query", "string"),
        ("/query", {"query": "长" * 4001}, "query", "4000"),
        ("/query", {"query": "x", "limit": 0}, "limit", "greater than or equal to 1"),
        ("/query", {"query": "x", "limit": 101}, "limit", "100"),
        ("/query", {"query": "x", "limit": True}, "limit", "integer"),
        ("/query", {"query": "x", "limit": "5"}, "limit", "integer"),
        ("/query", {"query": "x", "score_threshold": 1.01}, "score_threshold", "less than or equal to 1"),
        ("/query", {"query": "x", "version": "v99"}, "version", "'v18', 'v22', 'v23' or 'v23_es'"),
        ("/query", {"query": "x", "qury": 1}, "qury", "unknown field"),
        ("/query", [1], "body", "one JSON object"),
        ("/expand_words", {"sentence": "x", "logic_type": "third"}, "logic_type", "'first' or 'second'"),
        ("/expand_words", {"sentence": "x", "chinese_rd_count": 501}, "chinese_rd_count", "500"),
        ("/expand_words", {"sentence": "x", "filter_values": [13]}, "filter_values.0", "12"),
        ("/expand_words", {"sentence": "x", "filter_values": [1] * 14}, "filter_values", "13"),
        ("/memories", {"type": "fact", "text": "x"}, "store", "user or official"),
        ("/memories", {"store": "official", "text": "x"}, "type", "event, fact or lore"),
        ("/memories", {"store": "official", "type": "event"}, "text", "is missing"),
        ("/memories", {"store": "official", "type": "event", "text": "x", "plaec": "y"}, "plaec", "did you mean place"),
        ("/memories", {"store": "official", "type": "event", "text": "x", "time": "soon"}, "time", "2025-05-20T15:03"),
        ("/memories", {"store": "official", "type": "event", "text": "x", "id": "../x"}, "id", "letters"),
        ("/memories", EVENT | {"importance": 10**400}, "importance", "0 to 1"),
        ("/memories", {"store": "official", "type": "fact", "text": "长" * 4001}, "text", "4000"),
        ("/memories", {"store": "official", "type": "lore", "text": "x"}, "keyword", "is missing"),
        ("/memories", LORE | {"id": "z"}, "id", "leave it out"),
        ("/memories", LORE | {"file": "../y.yaml"}, "file", "data_base"),
        ("/memories", {"store": "user", "type": "lore", "text": "x", "keyword": "y"}, "type", "official"),
        ("/memories", {"store": "official", "type": "event", "text": "x", "keywords": ["a"] * 65}, "keywords", "64"),
        ("/memories", {"store": "user", "type": "event", "text": "x", "happened": "soonish"}, "happened", "2025-05-20"),
        ("/memories", {"store": "user", "type": "event", "text": "x", "happened": 2019}, "happened", "2025-05-20"),
        ("/memories", {"store": "user", "type": "event", "text": "x", "time": "2024-01-01"}, "time", "official"),
        ("/memories", {"store": "user", "type": "event", "text": "x", "palce": "y"}, "palce", "did you mean place"),
        ("/memories", {"store": "user", "type": "event", "text": " "}, "text", "in words"),
        ("/memories", {"store": "user", "type": "lore", "text": "x"}, "type", "official"),
        ("/memories", {"store": "user", "type": "fact", "text": "x", "time": "2024-01-01"}, "time", "official"),
        ("/memories", {"store": "user", "type": "fact", "text": "x", "kind": "rumour"}, "kind", "attribute"),
    ],
)
def test_bad_input_is_answered_by_field_value_and_remedy(
    url: str, path: str, body: Any, field: str, remedy: str
) -> None:
    answer = patient.post(url + path, content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error["field"] == field and remedy in error["remedy"] and remedy in error["message"]
    if isinstance(body, dict) and field in body and field != "qury":
        assert "value" in error and len(str(error["value"])) <= 60


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 60_000, 400),
        (b'{"query": "\\ud800"}', 422),
        (b'{"query": "x", "score_threshold": NaN}', 422),
        (b'{"query": "x", "score_threshold": 1e999}', 422),
        (b'{"query": "x", "limit": ' + b"9" * 5000 + b"}", 400),
        (b'{"query": "' + b"x" * MAX_BODY + b'"}', 413),
    ],
)
def test_bodies_that_are_no_request_are_refused_in_words(url: str, content: bytes, status: int) -> None:
    answer = patient.post(url + "/query", content=content, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]


def test_a_body_that_never_says_how_long_it_is_ends_at_the_bound(url: str) -> None:
    pieces = (b"x" * 65_536 for _ in range(64))
    try:
        answer = patient.post(url + "/query", content=pieces, headers=JSON)
    except httpx.TransportError:  # it hung up in the middle
        return
    assert answer.status_code == 413


def test_a_body_that_never_ends_is_given_up() -> None:
    async def app(*_: Any) -> None:
        raise AssertionError("it must not get here")

    async def receive() -> Any:
        if not sent:
            sent.append({})
            return {"type": "http.request", "body": b"{", "more_body": True}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        answers.append(message)

    sent: list[Any] = []
    answers: list[Any] = []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/query", "headers": headers, "server": ("127.0.0.1", 8012)}
    asyncio.run(Guard(app, Door(body_s=0.01))(scope, receive, send))
    assert answers[0]["status"] == 408 and "0.01 s" in answers[1]["body"].decode()


def test_unknown_addresses_methods_characters_and_users_are_told(url: str) -> None:
    assert patient.get(url + "/nothing").status_code == 404
    assert patient.get(url + "/query").status_code == 405
    there = patient.post(url + "/query", json={"query": "x", "character": "无人"})
    assert there.status_code == 404 and SAMPLE in there.json()["error"]["message"]
    assert patient.post(url + "/query", json={"query": "x", "character": "../江砚"}).status_code == 404
    nobody = patient.post(url + "/query", json={"query": "x", "user": "没有来过"})
    assert nobody.status_code == 404 and "没有来过" in nobody.json()["error"]["message"]
    assert patient.post(url + "/query", json={"query": "x", "user": "长" * 150}).status_code == 422
    assert patient.get(url + "/memories/elsewhere/x").status_code == 422
    assert patient.get(url + "/memories", params={"limit": 1000}).json()["error"]["field"] == "limit"
    assert patient.get(url + "/memories/official/%2e%2e%2f%2e%2e%2fconfig.yaml").status_code == 404


def test_a_question_about_somebody_unknown_leaves_no_folder(tmp_path: Path, root: Path) -> None:
    home = furnished(tmp_path, root)
    with home.open() as house:
        app = TestClient(server.make_app(house), base_url="http://localhost")
        assert app.post("/query", json={"query": "x", "user": "某人"}).status_code == 404
        bad = {"store": "user", "type": "fact", "text": "x", "kind": "rumour"}
        assert app.post("/memories", params={"user": "某人"}, json=bad).status_code == 422
        assert not (home.folder / "users" / encode_user("某人")).exists()


def test_what_was_not_foreseen_is_answered_without_its_insides(client: TestClient) -> None:
    @client.app.get("/broken")  # type: ignore[attr-defined]
    def broken() -> None:
        raise RuntimeError("the secret insides")

    answer = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False).get("/broken")
    assert answer.status_code == 500 and "secret" not in answer.text and answer.json()["error"]


# ---- who may come in


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.1.1", "", "localhost.", "[::1"])
def test_another_name_than_this_machines_is_refused(url: str, host: str) -> None:
    answer = patient.post(url + "/query", json={"query": "红色"}, headers={"host": host})
    assert answer.status_code in (400, 403)
    assert "e003" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8012", "127.0.0.1:1", "[::1]:8012", "127.8.8.8"])
def test_every_name_of_this_machine_is_taken(url: str, host: str) -> None:
    assert patient.post(url + "/query", json={"query": "红色"}, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "moz-extension://abc"]
)
def test_pages_of_other_sites_are_refused(url: str, origin: str) -> None:
    answer = patient.post(url + "/query", json={"query": "红色"}, headers={"origin": origin})
    assert answer.status_code == 403 and "Origin" in answer.json()["error"]["message"]
    assert "access-control-allow-origin" not in answer.headers


def test_a_page_of_this_very_server_may_call_it(url: str) -> None:
    assert patient.post(url + "/query", json={"query": "红色"}, headers={"origin": url}).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_is_no_request(url: str, kind: str) -> None:
    answer = patient.post(url + "/query", content=b'{"query": "x"}', headers={"content-type": kind})
    assert answer.status_code == 415


def test_a_header_that_is_there_twice_is_refused(url: str) -> None:
    headers = [("content-type", "application/json"), ("origin", url), ("origin", "https://evil.example")]
    assert patient.post(url + "/query", content=b'{"query": "x"}', headers=headers).status_code == 400


def test_beyond_loopback_every_request_needs_the_key(
    tmp_path: Path, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = furnished(tmp_path, root, Agent={"char": SAMPLE})
    with home.open() as house, server.running(house, host=NOWHERE, key="geheim-öffnet") as url:
        port = httpx.URL(url).port
        body = {"query": "红色"}
        wrong: list[dict[str, Any]] = [
            {}, {"Authorization": "Bearer nope"}, {"X-API-Key": "geheim"}, {"Authorization": "Basic geheim-öffnet".encode()},
        ]  # fmt: skip
        for headers in wrong:
            answer = patient.post(f"http://127.0.0.1:{port}/query", json=body, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert "geheim" not in answer.text
        for path in ("/openapi.json", "/memories", "/nothing"):
            assert patient.get(f"http://127.0.0.1:{port}{path}").status_code == 401
        right: list[dict[str, Any]] = [
            {"Authorization": "Bearer geheim-öffnet".encode()}, {"X-API-Key": "geheim-öffnet".encode()},
        ]  # fmt: skip
        for headers in right:
            assert patient.post(f"http://127.0.0.1:{port}/query", json=body, headers=headers).status_code == 200
        assert patient.post(
            f"http://127.0.0.1:{port}/query", json=body, headers={**right[0], "host": "memory.example"}
        ).status_code == 200  # fmt: skip
    assert "geheim" not in caplog.text


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken, Home.build(tmp_path).open() as house:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(MoeChatError, match="--port"):
            server.serve(house, port=taken.getsockname()[1])


def test_the_command_does_not_start_beyond_loopback_without_a_key(
    moechat: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOECHAT_SERVE_KEY", raising=False)
    status, _, errors = moechat("serve", "--host", NOWHERE, "--port", "0", now=None)
    assert status == 1 and "MOECHAT_SERVE_KEY" in "\n".join(errors)


@pytest.mark.parametrize(
    ("host", "inside"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("[::1]", True), ("localhost", True), ("0.0.0.0", False),
     ("::", False), ("192.168.1.2", False), ("localhost.evil.example", False), ("", False), ("::ffff:8.8.8.8", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, inside: bool) -> None:
    assert is_loopback(host) is inside


# ---- within bounds


def test_no_more_agents_are_open_than_allowed_and_the_idle_make_room(tmp_path: Path) -> None:
    home = Home.build(tmp_path, owners={"open": 2})
    with home.open() as house:
        agents = Agents(house)
        PASS.set(EVERYTHING)
        for user in ("a", "b", "c", "a"):
            with agents.lent(CHARACTER, user, new=True) as agent:
                agent.finish()
        with agents.lent(CHARACTER, "a"), agents.lent(CHARACTER, "b", new=True):
            with pytest.raises(Busy, match="try again"), agents.lent(CHARACTER, "c", new=True):
                pass
            with agents.lent(CHARACTER, "a") as agent:
                assert agent.store.folder.name == "a"
        with agents.lent(CHARACTER, "c", new=True):
            pass


def test_agents_that_come_and_go_leave_no_threads(tmp_path: Path) -> None:
    with Home.build(tmp_path, owners={"open": 1}).open() as house:
        agents = Agents(house)
        PASS.set(EVERYTHING)
        with agents.lent(CHARACTER, None):
            pass
        before, many = threading.active_count(), 24
        for user in range(many):
            with agents.lent(CHARACTER, f"user{user}", new=True):
                pass
        assert threading.active_count() < before + many / 2  # Those that all share may begin meanwhile.
