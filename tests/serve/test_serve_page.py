"""The page beside the API at one address: who comes in by a key sees what the key reaches, and nothing of anybody else."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import patient
import pytest
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.access.login import EACH, Attempts
from moechat.serve import server
from moechat.settings.character import begin_character
from moechat.web import beside
from moechat.web.page_server import MAX_BODY
from tests.houses import CHARACTER, Home, say

OTHER, ELSEWHERE = "阿青", "http://chat.example"
PAGES = (
    "/", "/config", "/theme.css", "/gradio_api/info", "/gradio_api/queue/data", "/gradio_api/queue/join",
    "/gradio_api/heartbeat/x", "/gradio_api/startup-events", "/page/do/open", "/page/do/room", "/page/news", "/page/picture/x",
    "/page/drop", "/page/brought/1", "/page/along/x",
)  # fmt: skip
SECRETS = {"": "蓝莓松饼", "anne": "红枣年糕", "ben": "黑芝麻糊"}


class Doors:
    """Two characters and three people behind the API and the page. ``ring`` has their keys."""

    def __init__(self, home: Home) -> None:
        begin_character(home.data / "agents" / OTHER, OTHER)
        self.house, self.ring = home.open(), Keyring(home.data)
        for user, secret in SECRETS.items():
            say(self.house.agent(CHARACTER, user), f"我最爱吃{secret}")
        attempts = Attempts()
        api = server.make_app(self.house, self.ring, open_here=False, attempts=attempts)
        page, self.stop = beside(self.house, asyncio.Event(), self.ring, open_here=False, attempts=attempts)
        self.app, self.page = server.WithPage(api, page), page

    def guest(self) -> TestClient:
        return TestClient(self.app, ELSEWHERE, follow_redirects=False)

    def entered(self, **scope: Any) -> TestClient:
        """A browser that came in with a key."""
        guest = self.guest()
        form = {"word": self.ring.add("key", **scope)[1]}
        assert guest.post("/login", data=form, headers={"origin": ELSEWHERE}).status_code == 303
        return guest


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    one = Doors(Home.build(tmp_path_factory.mktemp("doors")))
    yield one
    one.stop()
    one.house.close()


def do(tab: TestClient, verb: str, **wish: Any) -> Any:
    answer = tab.post(f"/page/do/{verb}", json={"character": CHARACTER, "tab": "tab", **wish})
    assert answer.status_code == 200, answer.text
    return answer.json()


def room(tab: TestClient, **action: str) -> Any:
    return do(tab, "room", action=action)


def test_a_person_is_led_to_the_login_and_a_program_is_asked_for_its_key(doors: Doors) -> None:
    guest = doors.guest()
    answer = guest.get("/", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    for path in ("/v1/models", "/models/", "/memories", "/u/anne/models"):
        refused = guest.get(path, headers={"accept": "text/html"})
        assert refused.status_code == 401 and "location" not in refused.headers
    assert guest.get("/healthz").json() == {"status": "ok"}
    assert guest.post("/page/do/open", json={}).status_code == 401


def test_wrong_tries_at_both_doors_count_together(doors: Doors) -> None:
    stranger = TestClient(doors.app, ELSEWHERE, client=("203.0.113.9", 1), follow_redirects=False)
    for _ in range(EACH // 2):
        assert stranger.get("/v1/models", headers={"x-api-key": "mk-wrong"}).status_code == 401
        assert stranger.post("/login", data={"word": "wrong"}, headers={"origin": ELSEWHERE}).status_code == 403
    assert stranger.get("/v1/models", headers={"x-api-key": "mk-wrong"}).status_code == 429
    assert stranger.post("/login", data={"word": "wrong"}, headers={"origin": ELSEWHERE}).status_code == 429


def test_no_route_of_the_page_opens_to_a_key_in_a_header_or_to_a_cookie_that_another_chose(doors: Doors) -> None:
    _, word = doors.ring.add("a program")
    chosen = {"cookie": "moechat-80=chosen-by-another", "accept": "application/json"}
    ways = {"none": {}, "bearer": {"authorization": f"Bearer {word}"}, "key": {"x-api-key": word}, "cookie": chosen}
    stranger, opened = TestClient(doors.app, ELSEWHERE, client=("203.0.113.7", 1), follow_redirects=False), {}
    for path in PAGES:
        for (way, headers), method in itertools.product(ways.items(), ("GET", "POST")):
            answer = stranger.request(method, path, headers=headers, json={} if method == "POST" else None)
            if answer.status_code not in (401, 303):
                opened[path, way, method] = answer.status_code
    assert opened == {}
    form = {"word": doors.ring.add("key")[1]}
    entered = doors.guest().post("/login", data=form, headers={"origin": ELSEWHERE, **chosen})
    assert entered.status_code == 303 and "chosen-by-another" not in entered.headers["set-cookie"]


@pytest.mark.parametrize("user", ["", "anne", "ben"])
def test_the_page_is_that_of_the_person_whose_key_it_is(doors: Doors, user: str) -> None:
    tab = doors.entered(users=[user] if user else [])
    assert "gradio" in tab.get("/").text
    seen = str(do(tab, "open")) + str(do(tab, "find", text="最爱吃"))
    for kind in ("", "fact", "event", "exchange"):
        seen += str(room(tab, do="room", room="memories")) + str(room(tab, do="kind", value=kind))
    assert SECRETS[user] in seen
    assert not [secret for other, secret in SECRETS.items() if other != user and secret in seen]


def test_what_all_share_is_not_for_the_key_of_one(doors: Doors) -> None:
    anne, whole = doors.entered(users=["anne"]), doors.entered()
    assert "settings" in do(whole, "open")["doors"] and "settings" not in do(anne, "open")["doors"]
    assert room(anne, do="room", room="settings")["room"] == "chat"
    room(anne, do="connect", base_url="http://127.0.0.1:1", model="m")
    assert doors.house.config.chat.base_url == ""
    for tab, is_written in ((anne, False), (whole, True)):
        room(tab, do="room", room="memories")
        room(tab, do="store", value="author")
        room(tab, do="new", value="new_fact")
        room(tab, do="add", text="小满怕黑", entity="character", keyword="怕")
        assert bool(doors.house.agent(CHARACTER).official.listed("fact")) is is_written


def test_a_key_for_one_character_shows_no_other(doors: Doors) -> None:
    tab = doors.entered(users=["anne"], characters=[OTHER])
    shown = do(tab, "open")
    assert shown["place"]["character"] == OTHER and CHARACTER not in shown["characters"]
    for verb in ("earlier", "find", "say", "hold", "trace"):
        refused = do(tab, verb, text="最爱吃", id="x")
        assert refused["bad"] and SECRETS["anne"] not in str(refused)
    assert [exchange["mark"] for exchange in doors.house.agent(CHARACTER, "anne").log()] == ["*"]


def test_a_talk_off_the_record_is_for_the_one_who_began_it(doors: Doors) -> None:
    anne, ben = doors.entered(users=["anne"]), doors.entered(users=["ben"])
    held = do(anne, "hold")["place"]
    assert do(anne, "open", **held)["place"] == held
    assert do(ben, "open", **held)["place"]["held"] == 0
    assert do(ben, "earlier", **held)["bad"]


def test_files_come_in_for_whoever_reaches_everything_and_what_the_page_does_not_use_is_closed(doors: Doors) -> None:
    anne, whole = doors.entered(users=["anne"]), doors.entered()
    card = json.dumps({"spec": "chara_card_v2", "data": {"name": "潮", "description": "潮" * MAX_BODY}}).encode()
    file = {
        "content": card,
        "headers": {"content-type": "application/octet-stream"},
        "params": {"tab": "t", "name": "潮.json"},
    }
    assert len(card) > MAX_BODY
    assert whole.post("/page/drop", **file).json()["kind"] == "card"
    assert anne.post("/page/drop", **file).status_code == 403
    assert whole.post("/gradio_api/upload", json={}).status_code == 404


def test_on_this_machine_page_and_api_ask_for_nothing_and_end_with_a_tab_open(home: Home) -> None:
    with contextlib.ExitStack() as tabs, home.open() as house:
        with server.running(house, page=beside) as url:
            assert "gradio" in patient.get(url).text
            assert patient.get(f"{url}/v1/models").json()["data"]
            params = {"character": CHARACTER}
            news = tabs.enter_context(patient.stream("GET", f"{url}/page/news", params=params)).iter_lines()
            assert next(news) == "event: talk"
        assert len(list(news)) >= 2  # It was told that this is the end: a connection that breaks off raises an error.
