"""The kept key is for the configured address alone, whatever address is tried or saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moechat.errors import ConfigError
from moechat.house import House
from moechat.settings.config import save_setting
from tests.houses import Home, say
from tests.model_server import ModelServer

KEY = "sk-of-the-environment"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **chat: Any) -> House:
    monkeypatch.setenv("MOECHAT_API_KEY", KEY)
    home = Home.build(tmp_path, chat=chat)
    return home.connected()


def keys_at(server: ModelServer) -> set[str]:
    return {request.headers.get("authorization", "") for request in server.requests}


@pytest.mark.parametrize("configured", ["", "http://127.0.0.1:9/v1"])
def test_a_test_of_another_address_does_not_send_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer, configured: str
) -> None:
    with house(tmp_path, monkeypatch, base_url=configured) as opened:
        assert opened.keeps_key_from(server.url)
        opened.try_connection(server.url, "tiny")
        assert server.requests and KEY not in str(server.requests)
        opened.try_connection(server.url, "tiny", "sk-typed")
        assert "Bearer sk-typed" in keys_at(server)


def test_a_test_of_the_configured_address_sends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer
) -> None:
    with house(tmp_path, monkeypatch, base_url=server.url) as opened:
        opened.try_connection(server.url.upper().replace("HTTP", "http").replace("/V1", "/v1/"), "tiny")
        assert keys_at(server) == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    "trick",
    ["http://127.0.0.1:9@{host}/v1", "http://{host}\\@127.0.0.1:9/v1", "http://127.0.0.1:9\t.{host}/v1",
     "https://127.0.0.1:9/v1", "http://127.0.0.1:91/v1", "http://127.0.0.1/v1", "http://localhost:9/v1", "http://["],
)  # fmt: skip
def test_what_only_looks_like_the_configured_address_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer, trick: str
) -> None:
    with house(tmp_path, monkeypatch, base_url="http://127.0.0.1:9/v1") as opened:
        assert opened.keeps_key_from(trick.format(host=server.url.split("/")[2]))


@pytest.mark.parametrize("configured", ["", "http://127.0.0.1:9/v1"])
def test_saving_another_address_asks_for_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer, configured: str
) -> None:
    with house(tmp_path, monkeypatch, base_url=configured) as opened:
        with pytest.raises(ConfigError, match="key") as refused:
            opened.connect(server.url, "tiny")
        assert KEY not in str(refused.value) and opened.config.chat.base_url == configured
        opened.connect(server.url, "tiny", "sk-typed")
        list(opened.agent().talk("你好"))
        assert keys_at(server) == {"Bearer sk-typed"}
        opened.connect("", "")
        assert opened.keeps_key_from("http://127.0.0.1:9/v1")


def test_without_a_kept_key_any_address_is_saved(home: Home, server: ModelServer) -> None:
    with home.connected() as opened:
        opened.connect(server.url, "tiny")
        assert opened.config.chat.base_url == server.url


def test_what_is_set_of_a_model_holds_at_the_next_message(tmp_path: Path, server: ModelServer) -> None:
    home = Home.build(tmp_path, chat={"base_url": server.url, "model": "tiny", "temperature": 0.5})
    with home.connected() as opened:
        for temperature in (0.5, 0.9):
            save_setting(opened.settings.path, "chat", "temperature", temperature)
            say(opened.agent(), "你好")
    assert [one.body["temperature"] for one in server.requests if "temperature" in one.body] == [0.5, 0.9]
