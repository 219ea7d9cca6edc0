"""moechat official: the author's memories by command."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from moechat.cli.main import main
from tests.houses import Home
from tests.shell import Shell

SAMPLE = "江砚"


@pytest.fixture
def home(tmp_path: Path, root: Path) -> Home:
    made = Home.build(tmp_path, embedding={"provider": "hash"})
    shutil.copytree(root / "data/agents" / SAMPLE, made.data / "agents" / SAMPLE)
    return made


def run(moechat: Shell, *words: str) -> list[dict[str, Any]]:
    return moechat.rows("official", *words, "-c", SAMPLE, now=None)


def test_the_store_is_listed_and_searched(moechat: Shell) -> None:
    assert len(run(moechat, "list", "--limit", "0")) == 24 + 35 + 6
    assert len(run(moechat, "list", "--type", "fact", "--limit", "5")) == 5
    assert run(moechat, "list", "--search", "六下回声")[0]["id"] == "e006"


def test_a_memory_is_written_changed_and_taken_out(home: Home, moechat: Shell) -> None:
    (made,) = run(
        moechat, "add", "event", "{{char}}放了一次风筝", "--id", "kite", "--set", "place=海边", "keywords=风筝，海"
    )
    assert (made["id"], made["text"], made["keywords"]) == ("kite", "江砚放了一次风筝", ["风筝", "海"])
    (changed,) = run(moechat, "edit", "kite", "--set", "place=", "importance=.9")
    assert "place" not in changed and changed["importance"] == 0.9
    assert run(moechat, "show", "kite") == [changed]
    assert run(moechat, "delete", "kite") == [changed]
    path = home.data / "agents" / SAMPLE / "events.yaml"
    assert path.read_bytes() == (Path(__file__).parents[2] / "data/agents" / SAMPLE / "events.yaml").read_bytes()


def test_the_world_book_is_written_changed_and_taken_out(home: Home, moechat: Shell) -> None:
    path = home.data / "agents" / SAMPLE / "data_base" / "雾港.yaml"
    before = path.read_bytes()
    (made,) = run(moechat, "add", "lore", "鱼市四点开门", "--set", "keyword=鱼市", "keys=海鲜，鱼", "file=雾港.yaml")
    assert (made["id"], made["keys"], made["constant"]) == ("雾港.yaml#鱼市", ["海鲜", "鱼"], False)
    assert made in run(moechat, "list", "--type", "lore") and path.read_bytes().startswith(before)
    (changed,) = run(moechat, "edit", "雾港.yaml#鱼市", "--set", "keys=", "constant=true", "text=五点开门")
    assert (changed["keys"], changed["constant"], changed["text"]) == ([], True, "五点开门")
    assert run(moechat, "show", "雾港.yaml#鱼市") == [changed]
    assert run(moechat, "list", "--search", "五点开门")[0] == changed
    assert run(moechat, "delete", "雾港.yaml#鱼市") == [changed]
    assert path.read_bytes() == before


def test_a_broken_file_of_the_world_book_is_told(home: Home, moechat: Shell) -> None:
    path = home.data / "agents" / SAMPLE / "data_base" / "broken.yaml"
    path.write_text("鱼市: 'oh\n", encoding="utf-8")
    status, lines, errors = moechat("official", "list", "-c", SAMPLE, "--type", "lore", now=None)
    assert status == 0 and "雾港.yaml#雾港 [lore] 雾港是" in "\n".join(lines) and "broken.yaml" in "\n".join(errors)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "fact", "x", "--set", "kind"), "KEY=VALUE"),
        (("add", "fact", "x", "--set", "kinds=y"), "did you mean kind"),
        (("add", "lore", "x"), "keyword"),
        (("add", "lore", "x", "--id", "y", "--set", "keyword=y"), "leave it out"),
        (("edit", "nobody", "--set", "text=x"), "nobody"),
        (("edit", "f001"), "nothing to change"),
        (("delete", "f001", "nobody"), "nobody"),
    ],
)
def test_wrong_use_is_told_and_changes_nothing(home: Home, moechat: Shell, words: tuple[str, ...], told: str) -> None:
    before = (home.data / "agents" / SAMPLE / "facts.yaml").read_bytes()
    status, _, errors = moechat("official", *words, "-c", SAMPLE, now=None)
    assert status == 1 and told in "\n".join(errors)
    assert (home.data / "agents" / SAMPLE / "facts.yaml").read_bytes() == before


def test_a_count_below_nothing_is_wrong_use(moechat: Shell) -> None:
    assert moechat("official", "list", "--limit", "-2", now=None)[0] == 2


def test_what_is_written_in_an_empty_home_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = ["-c", "江砚", "--data", str(tmp_path / "d"), "--config", str(tmp_path / "c.yaml")]
    assert main(["official", "add", "fact", "江砚怕打雷", "--id", "thunder", *place]) == 0
    assert main(["official", "show", "thunder", *place]) == 0
    assert "江砚怕打雷" in capsys.readouterr().out.splitlines()[-1]
