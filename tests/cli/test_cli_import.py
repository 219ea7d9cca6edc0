"""``moechat import persona``: a saved persona of generative agents is talked to, its memories are recalled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from moechat.clock import SetClock
from tests.houses import START, Home, moment
from tests.shell import Shell

SHARED = Path(os.environ.get("MOECHAT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
KLAUS = SHARED / "data" / "generative_agents" / "en_klaus_mueller_step-3-20_no_embeddings"
needs_data = pytest.mark.skipif(not KLAUS.exists(), reason=f"the saved personas are not at {KLAUS}")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Without any character."""
    (tmp_path / "data" / "agents").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("embedding: {provider: hash}\ntime: {zone: UTC}\n", encoding="utf-8")
    return Home(tmp_path / "data", tmp_path / "config.yaml", SetClock(moment(START)))


@pytest.fixture
def moechat(home: Home, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(home, capsys)


@needs_data
def test_a_persona_becomes_a_character_whose_days_and_thoughts_are_recalled(moechat: Shell) -> None:
    report = moechat.json("import", "persona", str(KLAUS), "-c", "Klaus", now=None)
    assert (report["name"], report["left_out"]) == ("Klaus", {})
    assert report["events"] > 100
    assert report["reflections"] > 10
    asked = "What do you talk about with Maria Lopez"
    found = moechat.json("recall", asked, "-c", "Klaus", now="2023-02-14T10:00")
    assert any("Maria Lopez" in hit["text"] for hit in found["hits"])
    assert found["timing_ms"]["stream"] > 0
    assert moechat.json("say", "Hello Klaus", "-c", "Klaus", now=None)["reply"]
    assert moechat("verify", "-c", "Klaus", now=None)[0] == 0


@needs_data
def test_nobody_is_overwritten(home: Home, moechat: Shell) -> None:
    command = ("import", "persona", str(KLAUS), "-c", "Klaus")
    assert moechat(*command, now=None)[0] == 0
    before = sorted((home.data / "agents" / "Klaus").rglob("*"))
    status, _, errors = moechat(*command, now=None)
    assert status == 1 and "import under another name" in "\n".join(errors)
    assert sorted((home.data / "agents" / "Klaus").rglob("*")) == before


def test_a_folder_without_a_persona_is_named(home: Home, moechat: Shell) -> None:
    status, _, errors = moechat("import", "persona", str(home.data / "nothing"), "-c", "Nobody", now=None)
    assert status == 1 and "nodes.json" in "\n".join(errors)
    assert not (home.data / "agents" / "Nobody").exists()
