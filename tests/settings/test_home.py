"""Where memory is kept: beside the current folder, else in the user's own folder; reading creates nothing, and what ships is
copied where there is none, once, without what has grown beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import platformdirs
import pytest

from moechat.cli.main import main
from moechat.settings.character import list_characters
from moechat.settings.config import load
from moechat.settings.home import SAMPLES, Home, defaults_folder, ensure, find_home, own_folder, read_only


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("made", ["data", "config.yaml"])
def test_a_folder_with_data_or_settings_is_a_home_and_needs_no_word(here: Path, made: str) -> None:
    (here / made).mkdir() if made == "data" else (here / made).write_text("", encoding="utf-8")
    assert find_home() == Home(Path("data"), Path("config.yaml"))


def test_elsewhere_the_users_own_folder_is_used_and_named(here: Path, own_folder: Path) -> None:
    home = find_home()
    assert (home.data, home.config) == (own_folder, own_folder / "config.yaml")
    assert str(own_folder) in home.notice
    assert not own_folder.exists()


def test_what_is_named_is_used_wherever_one_is(here: Path, own_folder: Path) -> None:
    data, config = here / "mine", here / "mine.yaml"
    assert find_home(data, config) == Home(data, config)
    assert find_home(data).config == own_folder / "config.yaml"
    (here / "data").mkdir()
    assert find_home(config=config) == Home(Path("data"), config)


def test_without_the_variable_the_system_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOECHAT_DATA")
    assert own_folder() == platformdirs.user_data_path("moechat", appauthor=False)
    monkeypatch.setenv("MOECHAT_DATA", "~/chat")
    assert own_folder() == Path.home() / "chat"


def test_reading_borrows_what_is_missing_and_gives_it_back(tmp_path: Path) -> None:
    with read_only(tmp_path / "data", tmp_path / "config.yaml") as (data, config):
        assert (data / "agents" / "Wren" / "character.yaml").is_file()
        assert config.is_file()
    assert not data.exists()
    assert list(tmp_path.iterdir()) == []


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


# ---- commands


READING = [
    ["recall", "你好"], ["log", "list"], ["memories", "list"], ["official", "list", "-c", "江砚"], ["verify"],
    ["when", "昨天"],
]  # fmt: skip


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_a_command_that_reads_creates_nothing(words: list[str], here: Path, own_folder: Path) -> None:
    assert main(words) == 0
    assert list(here.iterdir()) == []
    assert not own_folder.exists()


def test_a_command_that_reads_makes_no_settings_beside_a_data_folder(here: Path) -> None:
    (here / "data" / "agents" / "小满").mkdir(parents=True)
    assert main(["log", "list", "-c", "小满"]) == 0
    assert [path.name for path in here.iterdir()] == ["data"]


def test_talk_in_an_empty_folder_is_kept_in_the_users_own(
    here: Path, own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["say", "我住在杭州"]) == 0
    assert str(own_folder) in capsys.readouterr().err
    assert list(here.iterdir()) == []
    assert (own_folder / "config.yaml").is_file()
    assert main(["recall", "我住在哪里？"]) == 0
    assert "杭州" in capsys.readouterr().out


def test_talk_beside_a_data_folder_is_kept_there(
    here: Path, own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "data").mkdir()
    assert main(["say", "我住在杭州"]) == 0
    assert str(own_folder) not in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == ["config.yaml", "data"]
    assert not own_folder.exists()


# ---- installed without a checkout


@pytest.fixture
def installed(root: Path, tmp_path: Path) -> Path:
    """The package as the wheel has it, in a folder of its own."""
    folder = tmp_path / "site-packages"
    shutil.copytree(root / "moechat", folder / "moechat", ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for source, target in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items():
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(root / source, place) if (root / source).is_dir() else shutil.copyfile(root / source, place)
    return folder


def test_an_installed_package_talks_and_recalls_without_a_checkout(
    installed: Path, here: Path, own_folder: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONUTF8": "1"}
    commands = (
        ("say", "I live in Leeds.", "-c", "Wren"), ("recall", "Where do I live?", "-c", "Wren"),
        ("recall", "给我讲讲雾港的灯塔", "-c", "江砚"),
    )  # fmt: skip
    program = (
        f"from moechat.cli.main import main\nfor words in {commands!r}:\n    assert not main(words)\n    print('--')"
    )
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, cwd=here, env=environment, capture_output=True, encoding="utf-8", check=True)
    _, here_lives, lighthouse, _ = done.stdout.split("--\n")
    assert "Leeds" in here_lives and "灯" in lighthouse
    assert list(here.iterdir()) == []
    assert sorted(path.name for path in (own_folder / "agents").iterdir()) == ["Wren", "江砚", "青禾"]
