"""The characters as a list shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import NotFound
from moechat.house import House
from tests.houses import edit

PNG = b"\x89PNG\r\n\x1a\n and so on"


def test_the_first_character_speaks_the_language_of_the_browser_unless_another_is_chosen(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    with House(tmp_path / "data", config) as house:
        names = house.characters()
        assert [house.gallery.first_for(language, names) for language in ("zh", "en")] == ["青禾", "Wren"]
        edit(config, 'char: "青禾"', 'char: "江砚"')
        assert [house.gallery.first_for(language, names) for language in ("zh", "en")] == ["江砚", "江砚"]
        assert (house.gallery.first_for("en", ["青禾"]), house.gallery.first_for("en", [])) == ("青禾", "")


def test_a_character_has_a_line_and_a_picture_that_follow_their_files(tmp_path: Path) -> None:
    with House(tmp_path / "data", tmp_path / "config.yaml") as house:
        wren = house.data / "agents" / "Wren"
        assert house.gallery.portrait("Wren").line.startswith("Mends clocks")
        edit(wren / "character.yaml", "Mends clocks", "She mends kites. And clocks")
        assert house.gallery.portrait("Wren").line == "She mends kites."
        (wren / "avatar.png").write_bytes(PNG)
        before = house.gallery.portrait("Wren").picture
        assert house.gallery.picture("Wren") == (PNG, "image/png")
        (wren / "avatar.png").write_bytes(b"<svg onload='alert(1)'/>")
        assert house.gallery.portrait("Wren").picture != before
        with pytest.raises(NotFound):
            house.gallery.picture("Wren")
        (wren / "character.yaml").write_text("a: [", encoding="utf-8")
        assert house.gallery.portrait("Wren").name == "Wren"
