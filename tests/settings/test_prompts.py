"""Prompts: filled once, checked, the user's before ours, read again when edited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from moechat.errors import DataError, NotFound
from moechat.settings.prompts import PLACEHOLDER, TEMPLATES, OwnPrompts, Prompts


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    for folder in ("mine", "ours"):
        (tmp_path / folder / "zh").mkdir(parents=True)
    return Prompts([tmp_path / "mine", tmp_path / "ours"], "zh")


def write(prompts: Prompts, folder: int, name: str, text: str) -> Path:
    path = prompts.folders[folder] / "zh" / f"{name}.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_values_are_filled_in_and_never_looked_into_again(prompts: Prompts) -> None:
    write(prompts, 1, "core", "{{char}} 记得：{{ entries }}")
    assert (
        prompts.fill("core", char="{{entries}}", entries=r"{{char}} \1 {x} %s")
        == r"{{entries}} 记得：{{char}} \1 {x} %s"
    )


def test_an_unknown_placeholder_names_file_and_key(prompts: Prompts) -> None:
    path = write(prompts, 0, "core", "{{entriez}}")
    with pytest.raises(DataError, match="entriez") as caught:
        prompts.fill("core", entries="x")
    assert caught.value.file == str(path)


def test_a_paragraph_whose_text_is_empty_is_left_out_with_its_heading(prompts: Prompts) -> None:
    write(prompts, 1, "persona", "你是{{char}}。\n\n【情景】\n{{scenario}}\n\n\n【人设】\n{{persona}}\n\n完。\n")
    assert prompts.fill("persona", char="禾", scenario=" ", persona="茶客") == "你是禾。\n\n【人设】\n茶客\n\n完。"


def test_the_users_own_file_comes_before_ours_file_by_file(prompts: Prompts) -> None:
    write(prompts, 1, "core", "ours")
    write(prompts, 1, "lore", "ours")
    mine = write(prompts, 0, "core", "mine")
    assert (prompts.fill("core"), prompts.fill("lore")) == ("mine", "ours")
    mine.unlink()
    assert prompts.fill("core") == "ours"


def test_an_edit_shows_at_the_next_use(prompts: Prompts) -> None:
    write(prompts, 1, "core", "before")
    assert prompts.fill("core") == "before"
    write(prompts, 1, "core", "afterwards")
    assert prompts.fill("core") == "afterwards"


def test_a_file_saved_on_windows_reads_the_same(prompts: Prompts) -> None:
    write(prompts, 1, "core", "").write_bytes("\ufeff一\r\n{{entries}}\r\n\r\n二\r\n".encode())
    assert prompts.fill("core", entries="x") == "一\nx\n\n二"


def test_a_missing_prompt_is_named(prompts: Prompts) -> None:
    with pytest.raises(DataError) as caught:
        prompts.fill("nothing")
    assert caught.value.file == str(prompts.folders[-1] / "zh" / "nothing.txt"), "where it would be among ours"


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_prompt_ships_in_both_languages_and_uses_what_it_is_given(root: Path, language: str, name: str) -> None:
    text = (root / "prompts" / language / f"{name}.txt").read_text(encoding="utf-8")
    assert set(PLACEHOLDER.findall(text)) <= set(TEMPLATES[name])
    filled = Prompts([root / "prompts"], language).fill(name, **dict.fromkeys(TEMPLATES[name], "值"))
    assert "{{" not in filled
    assert ("值" in filled) == bool(PLACEHOLDER.search(text))


def test_a_bare_persona_leaves_no_empty_heading(root: Path) -> None:
    values = dict.fromkeys(TEMPLATES["persona"], "")
    filled = Prompts([root / "prompts"], "zh").fill(
        "persona", **{**values, "char": "青禾", "user": "小林", "persona": "茶馆主人"}
    )
    assert "茶馆主人" in filled
    assert "性格" not in filled
    assert re.findall("【.+?】", filled) == ["【青禾是谁】"]


def test_a_prompt_is_changed_in_the_page_and_the_default_comes_back(tmp_path: Path, prompts: Prompts) -> None:
    write(prompts, 1, "core", "{{entries}}")
    own = OwnPrompts(tmp_path / "own", prompts.folders)
    assert own.text("zh", "core") == "{{entries}}" and not own.is_changed("zh", "core")
    own.save("zh", "core", "  {{char}}: {{entries}}\r\n ")
    assert own.text("zh", "core").strip() == "{{char}}: {{entries}}" and own.is_changed("zh", "core")
    assert (tmp_path / "own" / "zh" / "core.txt").read_bytes().endswith(b"}}\n")
    with pytest.raises(DataError, match="entriez"):
        own.save("zh", "core", "{{entriez}}")
    assert own.text("zh", "core").strip() == "{{char}}: {{entries}}"
    for _ in range(2):
        own.restore("zh", "core")
        assert own.text("zh", "core") == "{{entries}}" and not own.is_changed("zh", "core")
    for language, name in (("fr", "core"), ("zh", "../core"), ("zh", "nothing")):
        with pytest.raises(NotFound, match=re.escape(repr(name))):
            own.save(language, name, "x")
