"""Who the user is, as a file says it: what may stand there, and what an error says."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import DataError, FieldError
from moechat.settings import you


def test_a_name_is_one_line_and_what_one_says_of_oneself_may_be_many(tmp_path: Path) -> None:
    file = tmp_path / "you.yaml"
    assert you.write(file, {"name": " 阿明 ", "about": "I paint.\nI swim."}) == {
        "name": "阿明",
        "about": "I paint.\nI swim.",
    }
    assert you.write(file, {"name": "", "address": "Ming"}) == {"address": "Ming", "about": "I paint.\nI swim."}
    cases = {
        ("name", "a\nb"): "expects at most 200 characters in one line",
        ("address", "x" * 201): "expects at most 200 characters in one line",
        ("about", "x" * 20_001): "expects at most 20000 characters",
        ("age", "30"): "unknown key; known: name, address, about",
    }
    for (key, text), words in cases.items():
        with pytest.raises(FieldError) as refusal:
            you.write(file, {key: text})
        assert refusal.value.remedy == words
    assert you.values(file) == {"address": "Ming", "about": "I paint.\nI swim."}


def test_the_nearer_file_holds_key_by_key_and_what_is_said_for_all_is_the_owners_alone(tmp_path: Path) -> None:
    character = tmp_path / "agents" / "Tide"
    guest = character / "users" / "Ann"
    for_all, for_one = you.paths(character, character)
    assert (for_all, for_one, you.paths(guest, character)[1]) == (
        tmp_path / "you.yaml", character / "you.yaml", guest / "you.yaml",
    )  # fmt: skip
    guest.mkdir(parents=True)
    assert you.read(character, character) == you.You()
    you.write(for_all, {"name": "阿明", "about": "I paint."})
    you.write(for_one, {"address": "Ming"})
    own = you.read(character, character)
    assert (own.name, own.address, own.about, own.of_one) == ("阿明", "Ming", "I paint.", {"address"})
    assert you.read(guest, character) == you.You()


def test_one_is_called_as_was_written_nearest(tmp_path: Path) -> None:
    for_one = you.You(name="阿明", address="Ming", of_one=frozenset({"address"}))
    for_all = you.You(name="阿明", address="Ming")
    assert for_one.called("guest", "character") == "Ming"
    assert [for_all.called(*names) for names in (("guest", "file"), ("", "file"), ("", ""))] == [
        "guest",
        "file",
        "Ming",
    ]
    assert you.You(name="阿明").called("", "") == "阿明" and you.You().called("", "") == ""
    about_alone = you.You(about="I paint.", of_one=frozenset({"about"}))
    assert about_alone.called("guest", "file") == "guest"


def test_a_prompt_says_the_name_where_one_is_called_otherwise() -> None:
    ming = you.You(name="阿明", about="I paint.")
    assert ming.persona("a neighbour", "Ming", "en") == "a neighbour\nMing's name is 阿明.\nI paint."
    assert ming.persona("", "Ming", "zh") == "Ming的名字是阿明。\nI paint."
    assert ming.persona("", "阿明", "zh") == "I paint." and you.You().persona("", "x", "en") == ""


@pytest.mark.parametrize("text", ["[a]", "age: 3", "name: [a]", "just words"])
def test_a_file_that_says_something_else_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "you.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="expects lines of text: `name: …`, `address: …`, `about: …`"):
        you.values(file)
    file.write_text("name: ' '\n", encoding="utf-8")
    assert you.values(file) == {}
    file.write_text("# nothing\n", encoding="utf-8")
    assert you.values(file) == {}
