"""A character's folder and its card: one becomes the other and back, and one key of character.yaml changes alone."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from moechat.author import character_folder
from moechat.author.official import Official
from moechat.cards import container, png
from moechat.cards.container import CardFile
from moechat.errors import DataError, FieldError
from moechat.settings.character import FILE, PICTURE
from tests.cards.cards import V1, V3, WORLD

NOW = datetime(2025, 6, 1, tzinfo=UTC)
YAML = """\
# who she is
name: Tide   # as on the card
tags: [sea, slow]
persona: |
  dry

  and kind
"""


def export(folder: Path) -> Any:
    return json.loads(character_folder.exported(folder, "json", lambda: NOW))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a card of version 3."""
    made = tmp_path / "Tide"
    character_folder.write(made, CardFile("png", V3, png.plain("Tide", 4, 4)))
    return made


def test_a_card_goes_out_as_it_came_in_every_container(folder: Path) -> None:
    for kind in container.KINDS:
        read = container.read(character_folder.exported(folder, kind, lambda: NOW), "a file")
        assert read is not None and read.card == V3
    assert (
        container.read(character_folder.exported(folder, "png", lambda: NOW), "a.png").picture
        == (  # type: ignore[union-attr]
            folder / PICTURE
        ).read_bytes()
    )


def test_a_card_that_cannot_be_written_whole_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_pictures(path: Path, data: bytes) -> None:
        if path.name != PICTURE:
            raise OSError("the disk is full")
        path.write_bytes(data)

    monkeypatch.setattr(character_folder.records, "replace", only_pictures)
    with pytest.raises(OSError, match="disk is full"):
        character_folder.write(tmp_path / "Tide", CardFile("png", V3, png.plain("Tide", 4, 4)))
    assert list(tmp_path.iterdir()) == []


def test_what_is_said_otherwise_here_goes_out_with_the_day_of_the_change(folder: Path) -> None:
    (folder / FILE).write_text("persona: kind\nexamples:\n- user: hi\n  char: ho\n", encoding="utf-8")
    wished = deepcopy(V3)
    wished["data"] |= {"description": "kind", "mes_example": "<START>\n{{user}}: hi\n{{char}}: ho"}
    assert export(folder) == wished | {"data": wished["data"] | {"modification_date": int(NOW.timestamp())}}


def test_the_note_of_a_card_goes_out_as_it_came_but_for_what_was_changed(folder: Path, tmp_path: Path) -> None:
    (folder / FILE).write_text("note_depth: 2\n", encoding="utf-8")
    assert export(folder)["data"]["extensions"] == V3["data"]["extensions"] | {
        "depth_prompt": {"prompt": "p", "depth": 2, "role": "system"}
    }
    character_folder.write(tmp_path / "old", CardFile("json", V1))
    (tmp_path / "old" / FILE).write_text("note: hush\nnote_role: user\n", encoding="utf-8")
    data = export(tmp_path / "old")["data"]
    assert data["extensions"] == {"depth_prompt": {"prompt": "hush", "depth": 4, "role": "user"}}
    odd = deepcopy(V3)
    odd["data"]["extensions"]["depth_prompt"] = {"prompt": ["p"], "depth": "far", "role": "boss"}
    assert character_folder.preview(CardFile("json", odd)).unheeded["extensions.depth_prompt"] == 1


def test_the_world_book_goes_out_in_the_card_and_as_a_book(folder: Path) -> None:
    (folder / "data_base").mkdir()
    (folder / "data_base" / "a.yaml").write_text("quay: {text: stone, keys: [pier], order: 3}\n", encoding="utf-8")
    (folder / "data_base" / "sea.json").write_text(json.dumps(WORLD), encoding="utf-8")
    own = V3["data"]["character_book"]["entries"]
    entries = export(folder)["data"]["character_book"]["entries"]
    assert entries[:2] == own and [one["id"] for one in entries[2:]] == [2, 3, 4]
    assert (entries[2]["keys"], entries[2]["content"], entries[2]["insertion_order"]) == (["quay", "pier"], "stone", 3)
    book = character_folder.exported_book(folder)
    assert [one["uid"] for one in book["entries"].values()] == list(range(5)) and "originalData" not in book
    (folder / "data_base" / "a.yaml").unlink()
    (folder / "data_base" / "sea.json").unlink()
    assert character_folder.exported_book(folder)["originalData"] == V3["data"]["character_book"]


def test_a_book_that_is_alone_goes_out_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data_base").mkdir()
    (tmp_path / "data_base" / "sea.json").write_text(json.dumps(WORLD), encoding="utf-8")
    assert character_folder.exported_book(tmp_path) == WORLD


def test_a_preview_shows_what_a_card_holds_and_what_is_not_obeyed(folder: Path) -> None:
    shown = character_folder.preview(CardFile("png", V3, b"a picture"))
    assert (shown.name, shown.form, shown.kind, shown.has_picture) == ("Tide", "v3", "png", True)
    assert (shown.greeting, shown.greetings, shown.entries) == ("You came, {{user}}.", 2, 2)
    assert (shown.titles, shown.tags, shown.creator_notes) == (["about the lamp", "bell"], ["sea", "Slow"], "Show me.")
    assert shown.unheeded == {
        "group_only_greetings": 1, "creator_notes_multilingual": 1, "extensions.x_own": 1, "assets": 1, "@@scan_depth": 1,
    }  # fmt: skip
    odd = character_folder.preview(CardFile("json", V1 | {"scenario": "{{idle}} and {{idle}} {{char}}"}))
    assert (odd.form, odd.entries, odd.has_picture, odd.unheeded) == ("v1", 0, False, {"{{idle}}": 1})
    liked = deepcopy(V3)
    liked["data"]["extensions"] |= {"fav": True, "talkativeness": "0.5"}
    assert character_folder.preview(CardFile("png", liked, b"a picture")).unheeded == shown.unheeded


def test_a_card_without_a_book_that_holds_entries_is_named(folder: Path) -> None:
    (folder / "data_base").mkdir()
    (folder / "data_base" / "a.yaml").write_text("quay: stone\n", encoding="utf-8")
    broken = V3 | {"data": V3["data"] | {"character_book": {"entries": 5}}}
    (folder / "card.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(DataError, match="no list of entries"):
        export(folder)


def test_a_folder_without_a_card_gets_a_new_one_and_what_is_no_card_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Ann").mkdir()
    data = export(tmp_path / "Ann")["data"]
    assert {key: value for key, value in data.items() if value} == {"name": "Ann"}
    assert [data[key] for key in ("alternate_greetings", "tags", "group_only_greetings", "extensions")] == [
        [],
        [],
        [],
        {},
    ]
    (tmp_path / "Ann" / "card.json").write_text('{"entries": []}', encoding="utf-8")
    with pytest.raises(DataError, match="is no character card"):
        export(tmp_path / "Ann")


def test_a_card_of_version_1_that_gets_a_book_becomes_one_of_version_2(tmp_path: Path) -> None:
    (tmp_path / "data_base").mkdir()
    (tmp_path / "data_base" / "a.yaml").write_text("quay: stone\n", encoding="utf-8")
    (tmp_path / "card.json").write_text(json.dumps(V1), encoding="utf-8")
    assert export(tmp_path)["spec"] == "chara_card_v2"


def test_names_of_folders_are_made_of_what_a_folder_may_be_called() -> None:
    assert [character_folder.folder_name(name) for name in ("a/b:c", " .x. ", "...", "海" * 50)] == [
        "a_b_c", "x", "character", "海" * 40,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": "Ann"}, YAML.replace("name: Tide   # as on the card", "name: Ann")),
        ({"tags": ["a"]}, YAML.replace("[sea, slow]", '["a"]')),
        ({"persona": None}, YAML[: YAML.index("persona")]),
        ({"persona": " wry\n"}, YAML[: YAML.index("persona")] + "persona: wry\n"),
        ({"greeting": "Hm.", "scenario": None}, YAML + "greeting: Hm.\n"),
    ],
)
def test_one_key_of_a_character_changes_alone(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    for end in ("\n", "\r\n"):
        (tmp_path / FILE).write_bytes(YAML.replace("\n", end).encode())
        character_folder.change(tmp_path, changes)
        assert (tmp_path / FILE).read_bytes().decode() == text.replace("\n", end)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"persna": "x"}, "cannot be written here"),
        ({"overrides": {}}, "cannot be written here"),
        ({"tags": "x"}, "a list of texts"),
        ({"persona": ["x"]}, "expects text"),
        ({"name": "x", "language": "fr"}, "expects zh or en"),
    ],
)
def test_a_key_that_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    (tmp_path / FILE).write_text(YAML, encoding="utf-8")
    with pytest.raises((FieldError, DataError), match=reason):
        character_folder.change(tmp_path, changes)
    assert (tmp_path / FILE).read_text(encoding="utf-8") == YAML


def test_the_cards_entries_are_the_authors_too(folder: Path) -> None:
    store = Official(folder, now=lambda: NOW)
    assert [one.id for one in store.listed("lore")] == ["card.json#11", "card.json#bell"]
    store.delete("card.json#11")
    wished = deepcopy(V3)
    del wished["data"]["character_book"]["entries"][0]
    wished["data"]["modification_date"] = int(NOW.timestamp())
    assert json.loads((folder / "card.json").read_text(encoding="utf-8")) == wished
