"""Who may call the page: on this machine by its own names and from its own page; from elsewhere, who has a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

import httpx
import pytest

from moechat import web
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.encoder.base import Vectors
from moechat.errors import ConfigError
from moechat.house import House
from moechat.model import Kind
from moechat.web.page_server import door_of
from tests import patient
from tests.houses import DIM, Home, polite


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = Home.build(tmp_path_factory.mktemp("page"))
    with home.open(ScriptedModel(polite)) as house, web.running(house) as address:
        yield address


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/info"])
def test_a_page_that_leads_its_name_here_gets_nothing(url: str, path: str) -> None:
    answer = patient.get(url + path, headers={"Host": "evil.example"})
    assert (answer.status_code, "localhost" in answer.text) == (403, True)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_by_any_of_its_names_gets_the_page(url: str, name: str) -> None:
    port = url.rsplit(":", 1)[1]
    assert patient.get(url, headers={"Host": f"{name}:{port}"}).status_code == 200


def test_a_phone_can_keep_the_page_beside_its_programs(url: str) -> None:
    manifest = patient.get(f"{url}/page/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    assert manifest.json()["display"] == "standalone"
    icon = patient.get(url + manifest.json()["icons"][0]["src"])
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
    assert "/page/manifest.webmanifest" in patient.get(url).text


def test_what_the_page_does_not_use_is_closed(url: str) -> None:
    assert patient.post(f"{url}/gradio_api/upload").status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:8000"},
        {"origin": "http://localhost"},
        {"origin": "null"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/queue/join", "/gradio_api/queue/data"])
def test_a_page_on_another_port_gets_nothing(url: str, path: str, headers: dict[str, str]) -> None:
    for method in ("GET", "POST"):
        assert patient.request(method, url + path, headers=headers).status_code == 403


def test_where_a_password_is_set_every_path_asks_for_it(home: Home) -> None:
    with home.open(ScriptedModel(polite)) as house, web.running(house, password="correct horse") as address:
        with httpx.Client(base_url=address) as client:
            for path in (
                "/",
                "/config",
                "/theme.css",
                "/gradio_api/queue/data?session_hash=x",
                "/assets/x.js",
                "/gradio_api/info",
            ):
                assert client.get(path).status_code == 401
            assert client.post("/gradio_api/queue/join", json={}).status_code == 401
            answer = client.post("/login", data={"word": "correct horse"}, headers={"origin": address})
            assert answer.status_code == 303
            assert "gradio" in client.get("/").text
        assert "correct horse" not in "".join(path.read_text("utf-8") for path in home.data.glob("*.json"))


def test_beyond_this_machine_it_does_not_start_without_a_lock(house: House) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5"):
        with pytest.raises(ConfigError, match="moechat access password"):
            web.serve(house, host=host, port=0)
        register = door_of(house, host, "", "correct horse").register
        assert register is not None and register.has_password


def test_the_embedding_is_loaded_before_the_first_message(home: Home) -> None:
    loaded = Event()

    class Loading(HashEmbedder):
        """It tells when it is first used."""

        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
            loaded.set()
            return super().embed(texts, kind)

    home.embedder = Loading(DIM)
    with home.open() as house:
        assert not loaded.is_set()
        with web.running(house):
            assert loaded.wait(30)
