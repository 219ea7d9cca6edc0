"""The doors of the page in a real browser: a page on another port of this machine, and a phone with a code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

from moechat.access.listening import local_address
from moechat.access.register import Register
from moechat.ai.scripted import ScriptedModel
from moechat.errors import MoeChatError
from moechat.web import running
from tests import patient
from tests.browser import ask, say, tab
from tests.houses import Home, polite
from tests.model_server import LocalServer, ModelServer

pytestmark = pytest.mark.browser

KEY = "sk-of-the-environment"
# Everything a page can send to another port without asking first, and what needs asking; each says what came of it.
ATTACK = """async ([url, talk]) => {
  const tried = {};
  const attempt = async (name, go) => { try { tried[name] = String(await go()); } catch (error) { tried[name] = 'refused'; } };
  const join = url + '/page/do/room';
  const json = {'Content-Type': 'application/json'};
  await attempt('read the page', async () => (await fetch(url + '/config')).status);
  await attempt('json', async () => (await fetch(join, {method: 'POST', headers: json, body: talk})).status);
  for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    await fetch(join, {method: 'POST', mode: 'no-cors', credentials: 'include', headers: {'Content-Type': kind}, body: talk})
      .catch(() => {});
  navigator.sendBeacon(join, talk);
  for (const kind of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const frame = document.createElement('iframe');
    frame.name = 'frame' + document.forms.length;
    document.body.appendChild(frame);
    const form = document.body.appendChild(document.createElement('form'));
    Object.assign(form, {action: join, method: 'post', enctype: kind, target: frame.name});
    const field = form.appendChild(document.createElement('input'));
    Object.assign(field, {name: talk.slice(0, -1) + ', "x": "', value: '"}'});
    const loaded = new Promise((done) => { frame.onload = done; });
    form.submit();
    await loaded;
  }
  await attempt('websocket', () => new Promise((open, fail) => {
    const socket = new WebSocket(url.replace('http', 'ws') + '/page/news');
    socket.onopen = () => open('open');
    socket.onerror = fail;
  }));
  await attempt('event source', () => new Promise((open, fail) => {
    const source = new EventSource(url + '/page/news?', {withCredentials: true});
    source.onopen = () => open('open');
    source.onerror = fail;
  }));
  return tried;
}"""


@contextmanager
def another_page() -> Iterator[str]:
    """A web page on another port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

    with LocalServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_page_on_another_port_can_neither_talk_nor_have_a_key_sent_somewhere(
    home: Home, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOECHAT_API_KEY", KEY)
    with (
        ModelServer() as server,
        home.open(ScriptedModel(polite)) as house,
        running(house) as url,
        another_page() as elsewhere,
    ):
        for room in (
            {"do": "room", "room": "settings"},
            {"do": "connect", "act": "test", "base_url": server.url, "model": "any", "key": "typed"},
        ):
            test = json.dumps({"character": "小满", "tab": "x", "action": room})
            if room["do"] == "room":
                patient.post(f"{url}/page/do/room", content=test, headers={"content-type": "application/json"})
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(elsewhere)
            tried = page.evaluate(ATTACK, [url, test])
            assert set(tried.values()) == {"refused"}, tried
            page.evaluate(ATTACK, [url.replace("127.0.0.1", "localhost"), test])
        assert server.requests == []
        own = {"origin": url, "content-type": "application/json"}
        assert patient.post(f"{url}/page/do/room", content=test, headers=own).status_code == 200
        assert server.arrived.wait(30)  # From the page itself the very same is done.
        assert KEY not in str(server.requests)
        assert house.agent().recent(1) == []


@pytest.fixture
def phone() -> str:
    try:
        return local_address()
    except MoeChatError as none:
        pytest.skip(str(none))


def test_a_phone_comes_in_by_the_code_of_the_terminal_until_it_is_shown_out(
    home: Home, browser: Browser, phone: str
) -> None:
    with home.open(ScriptedModel(polite)) as house, running(house, phone=phone) as url:
        there = f"http://{phone}:{url.rsplit(':', 1)[1]}"
        code = Register(house.data, house.clock).new_code()
        with tab(browser, url) as desk:  # On this machine nothing is asked for.
            expect(desk.locator("#title h1")).to_have_text("小满")
        size = {"width": 390, "height": 844}
        with tab(browser, there, at=f"/login#{code}", viewport=size, has_touch=True, refused=[401, 403]) as page:
            assert page.url == f"{there}/"
            assert ask(page, "我住在杭州") == "嗯，我记住了。"
            cookie = next(one for one in page.context.cookies() if one["name"].startswith("moechat"))
            assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
            assert Register(house.data, house.clock).revoke() != []
            say(page, "还在吗")
            expect(page.locator("label")).to_have_text("一次性代码")
            page.locator("#word").fill(code)  # It has been used.
            page.get_by_role("button", name="进入").click()
            expect(page.get_by_role("alert")).to_contain_text("不对")
    assert "还在吗" not in (home.folder / "log.jsonl").read_text(encoding="utf-8")
    assert "我住在杭州" in (home.folder / "log.jsonl").read_text(encoding="utf-8")
