"""Who may call the page: on this machine alone, only those who call it by this machine's names."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from moechat import web
from moechat.ai.scripted import ScriptedModel
from tests.houses import Home, polite


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = Home.build(tmp_path_factory.mktemp("page"))
    with home.open(ScriptedModel(polite)) as house, web.running(house) as address:
        yield address


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/info"])
def test_a_page_that_leads_its_name_here_gets_nothing(url: str, path: str) -> None:
    answer = httpx.get(url + path, headers={"Host": "evil.example"})
    assert (answer.status_code, "localhost" in answer.text) == (403, True)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_by_any_of_its_names_gets_the_page(url: str, name: str) -> None:
    port = url.rsplit(":", 1)[1]
    assert httpx.get(url, headers={"Host": f"{name}:{port}"}).status_code == 200


def test_what_the_page_does_not_use_is_closed(url: str) -> None:
    assert httpx.post(f"{url}/gradio_api/upload").status_code == 404
