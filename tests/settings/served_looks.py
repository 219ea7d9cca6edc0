"""What can be looked at of servers: the page, and memory over HTTP. See ``looks``."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import signal
import threading

import httpx
import pytest
from starlette.testclient import TestClient

from moechat.ai.scripted import Line
from moechat.cli import serve_commands
from moechat.errors import MoeChatError
from moechat.serve import server
from moechat.web.desk import Desk
from tests.houses import CHARACTER, Home, say, silent
from tests.settings.looks import Place


def options(home: Home) -> argparse.Namespace:
    """Those of a command that serves, all at their defaults."""
    plain = {"home_notice": "", "host": None, "port": None, "demo": False, "phone": False, "no_browser": True}
    return argparse.Namespace(data=home.data, config=home.config, **plain)


def command(place: Place, name: str) -> object:
    """What a server says that cannot begin: its port is taken, or others could reach it."""
    home = place.home()
    with pytest.raises(MoeChatError) as refused:
        getattr(serve_commands, name)(options(home))
    return str(refused.value)


class Told(io.StringIO):
    """A standard output that is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = threading.Event()

    def flush(self) -> None:
        self.has_begun.set()


def front(place: Place) -> object:
    """What ``moechat serve`` answers at its first address."""
    home, told, answers = place.home(), Told(), list[int]()

    def look() -> None:
        told.has_begun.wait(60)
        url = re.findall(r"http://\S+", told.getvalue())[0]
        with contextlib.suppress(httpx.HTTPError):
            answers.append(httpx.get(url, timeout=60).status_code)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=look)
    thread.start()
    with contextlib.redirect_stdout(told):
        serve_commands.serve(options(home))
    thread.join()
    return answers


def post(client: TestClient, text: str = "你好") -> int:
    ask = {"model": CHARACTER, "messages": [{"role": "user", "content": text}]}
    return client.post("/v1/chat/completions", json=ask).status_code


def let_in(place: Place) -> object:
    """Whether a page of another site and a large body are let in."""
    with place.home().open() as house, TestClient(server.make_app(house), "http://127.0.0.1") as client:
        allowed = client.get("/healthz", headers={"origin": "https://chat.example"}).headers
        return allowed.get("access-control-allow-origin"), post(client, "！" * 6000)


def at_once(place: Place) -> object:
    """The answer to a second request while a first one is under way."""
    go_on, begun, lines = threading.Event(), threading.Event(), iter(("第一句", "第二句"))

    def reply(_: object) -> Line:
        begun.set()
        return Line(next(lines), hold=None if go_on.is_set() else go_on)

    with place.home().open(silent(reply)) as house, TestClient(server.make_app(house), "http://127.0.0.1") as client:
        first = threading.Thread(target=post, args=(client,))
        first.start()
        begun.wait(60)
        opener = threading.Timer(0, go_on.set) if house.config.serve.replies > 1 else None
        if opener:
            opener.start()
        second = post(client, "你好呀")
        go_on.set()
        first.join()
        return second


def page(place: Place) -> object:
    """How many messages a tab shows at first."""
    with place.home().open() as house:
        agent = house.agent()
        for i in range(4):
            say(agent, f"第{i}句")
        return Desk(house).page


def language(place: Place) -> object:
    from moechat.web import running

    with place.home().open() as house, running(house) as url:
        return re.findall(r"data-language=\W*(\w*)", httpx.get(url, timeout=60).text)
