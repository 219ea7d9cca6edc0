"""What ships is copied where there is none, once, without what has grown beside it."""

from __future__ import annotations

from pathlib import Path

from moechat.settings.character import list_characters
from moechat.settings.config import load
from moechat.settings.home import SAMPLES, defaults_folder, ensure


def test_a_first_use_gets_settings_and_samples(tmp_path: Path) -> None:
    data, config = tmp_path / "deep" / "data", tmp_path / "config.yaml"
    assert ensure(data, config) == [config, data / "agents"]
    assert load(config).notices == ()
    assert sorted(list_characters(data)) == sorted(SAMPLES)
    official = {"江砚": ["associations.tsv", "events.yaml", "facts.yaml"]}
    for name in SAMPLES:
        held = sorted(one.name for one in (data / "agents" / name).iterdir())
        assert held == sorted(["avatar.png", "character.yaml", "data_base", *official.get(name, [])])


def test_nothing_that_exists_is_touched(tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "config.yaml"
    config.write_text("web: {port: 7000}\n", encoding="utf-8")
    (data / "agents").mkdir(parents=True)
    assert ensure(data, config) == []
    assert list_characters(data) == []
    assert config.read_text(encoding="utf-8") == "web: {port: 7000}\n"


def test_the_defaults_of_a_checkout_are_the_checkout(root: Path) -> None:
    assert defaults_folder() == root
