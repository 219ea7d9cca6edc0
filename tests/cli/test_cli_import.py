"""``moechat import persona``: a saved persona of generative agents is talked to, its memories are recalled."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from moechat.cli.main import main

SHARED = Path(os.environ.get("MOECHAT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
KLAUS = SHARED / "data" / "generative_agents" / "en_klaus_mueller_step-3-20_no_embeddings"
needs_data = pytest.mark.skipif(not KLAUS.exists(), reason=f"the saved personas are not at {KLAUS}")


def moechat(tmp_path: Path, *words: str) -> int:
    return main([*words, "--data", str(tmp_path / "data"), "--config", str(tmp_path / "config.yaml"), "--json"])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "data" / "agents").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("embedding: {provider: hash}\ntime: {zone: UTC}\n", encoding="utf-8")
    return tmp_path


@needs_data
def test_a_persona_becomes_a_character_whose_days_and_thoughts_are_recalled(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert moechat(home, "import", "persona", str(KLAUS), "-c", "Klaus") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["name"], report["left_out"]) == ("Klaus", {})
    assert report["events"] > 100
    assert report["reflections"] > 10
    assert (
        moechat(home, "recall", "What do you talk about with Maria Lopez", "-c", "Klaus", "--now", "2023-02-14T10:00")
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert any("Maria Lopez" in hit["text"] for hit in found["hits"])
    assert found["timing_ms"]["stream"] > 0
    assert moechat(home, "say", "Hello Klaus", "-c", "Klaus") == 0
    assert json.loads(capsys.readouterr().out)["reply"]
    assert moechat(home, "verify", "-c", "Klaus") == 0


@needs_data
def test_nobody_is_overwritten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert moechat(home, "import", "persona", str(KLAUS), "-c", "Klaus") == 0
    before = sorted((home / "data" / "agents" / "Klaus").rglob("*"))
    assert moechat(home, "import", "persona", str(KLAUS), "-c", "Klaus") == 1
    assert "import under another name" in capsys.readouterr().err
    assert sorted((home / "data" / "agents" / "Klaus").rglob("*")) == before


def test_a_folder_without_a_persona_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert moechat(home, "import", "persona", str(home / "nothing"), "-c", "Nobody") == 1
    told = capsys.readouterr().err
    assert "nodes.json" in told
    assert not (home / "data" / "agents" / "Nobody").exists()
