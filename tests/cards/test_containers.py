"""Cards in their containers: what comes out is what went in, and what strangers make of a file does no harm."""

from __future__ import annotations

import base64
import io
import json
import struct
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from moechat.cards import card, container, png
from moechat.errors import DataError
from moechat.store import zips
from tests.cards.cards import CARDS, V2, V3

PICTURE = png.plain("test", 4, 4)


@pytest.mark.parametrize("kind", container.KINDS)
@pytest.mark.parametrize("version", CARDS)
def test_a_card_comes_back_equal_from_every_container(kind: container.Kind, version: str) -> None:
    data = container.written(kind, CARDS[version], picture=PICTURE)
    read = container.read(data, "a file")
    assert read is not None and (read.kind, read.card) == (kind, CARDS[version])
    assert read.picture == {"json": b"", "png": PICTURE, "charx": PICTURE if version == "v3" else b""}[kind]
    again = container.written(kind, read.card, picture=read.picture, charx=read.charx)
    assert container.read(again, "a file").card == CARDS[version]  # type: ignore[union-attr]


def test_a_card_in_json_has_a_line_for_each_field() -> None:
    lines = container.written("json", V2).decode().splitlines()
    assert f'  "spec": "{V2["spec"]}",' in lines and len(lines) > len(V2["data"])


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def picture_with(*texts: tuple[str, Any], kind: bytes = b"tEXt") -> bytes:
    """A picture with other chunks around those of a card."""
    pieces = PICTURE[:-12] + chunk(b"tEXt", b"Comment\0made elsewhere") + chunk(b"prVt", b"\1\2")
    for keyword, value in texts:
        pieces += chunk(kind, keyword.encode() + b"\0" + base64.b64encode(json.dumps(value).encode()))
    return pieces + PICTURE[-12:]


def test_a_picture_keeps_every_other_chunk() -> None:
    read = container.read(picture_with(("Chara", V2)), "a.png")
    assert read is not None and read.card == V2
    assert read.picture == picture_with()
    assert container.read(picture_with(), "a.png") is None


def test_of_two_cards_in_a_picture_the_newer_form_counts_unless_one_was_made_of_the_other() -> None:
    other = V3 | {"data": V3["data"] | {"name": "Other"}}
    assert container.read(picture_with(("chara", V2), ("ccv3", other)), "a.png").card == other  # type: ignore[union-attr]
    made_of_it = V2 | {"spec": "chara_card_v3", "spec_version": "3.0"}
    made_of_it["data"] = V2["data"] | {"group_only_greetings": []}
    assert container.read(picture_with(("chara", V2), ("ccv3", made_of_it)), "a.png").card == V2  # type: ignore[union-attr]


def test_older_readers_get_the_card_without_decorators() -> None:
    chunks = png.texts(container.written("png", V3), ("chara", "ccv3"), "a.png")
    older, newer = json.loads(chunks["chara"]), json.loads(chunks["ccv3"])
    assert newer == V3 and older["spec"] == "chara_card_v2"
    assert older["data"]["character_book"]["entries"][1]["content"] == "The bell is cracked."


def test_a_charx_keeps_all_that_it_holds_and_gives_its_icon() -> None:
    files = {"card.json": json.dumps(V3).encode(), "assets/icon/images/main.png": PICTURE, "risu.bin": b"\0own"}
    read = container.read(b"before it" + zips.zipped(files), "a.charx")
    assert read is not None and (read.card, read.picture) == (V3, PICTURE)
    changed = V3 | {"data": V3["data"] | {"name": "New"}}
    again = zips.Zip(container.written("charx", changed, charx=read.charx), "b.charx")
    assert {name: again.read(name, 1 << 20) for name in again.names if name != "card.json"} == {
        name: content for name, content in files.items() if name != "card.json"
    }


def test_a_charx_made_anew_has_the_picture_as_its_icon() -> None:
    for picture, names in ((PICTURE, ["assets/icon/images/main.png", "card.json"]), (b"", ["card.json"])):
        assert sorted(zips.Zip(container.written("charx", V2, picture=picture), "a.charx").names) == names


def test_a_new_card_has_every_field_of_its_version_and_says_nothing_else() -> None:
    new = card.fresh({"persona": "dry"})
    assert (new["spec"], new["spec_version"], card.keys_of(new)) == ("chara_card_v3", "3.0", {"persona": "dry"})
    assert set(V2["data"]) - {"character_book", "x_unknown"} | {"group_only_greetings"} == set(new["data"])
    assert {name: value for name, value in new["data"].items() if value} == {"description": "dry"}


def test_keys_of_character_yaml_change_their_fields_alone() -> None:
    now = card.keys_of(V2)
    assert card.with_keys(V2, now) == V2
    changed = card.with_keys(V2, now | {"persona": "other", "tags": ["new"]})
    assert changed == V2 | {"data": V2["data"] | {"description": "other", "tags": ["new"]}}
    grown = card.with_keys(CARDS["v1"], {"nickname": "T"})
    assert card.keys_of(grown) == card.keys_of(CARDS["v1"]) | {"nickname": "T"} and grown["mood"] == CARDS["v1"]["mood"]


def test_a_pygmalion_character_is_a_card_too() -> None:
    old = {"char_name": "A", "char_persona": "p", "world_scenario": "s", "char_greeting": "g", "example_dialogue": "e"}
    assert card.keys_of(old) == {"name": "A", "persona": "p", "scenario": "s", "greeting": "g", "examples": "e"}
    assert card.with_keys(old, {"persona": "q"}) == old | {"char_persona": "q"}


# ---- files that somebody made to do harm


def bomb() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("card.json", json.dumps(V2))
        for number in range(5):
            archive.writestr(f"assets/{number}.bin", bytes(64 << 20))
    return target.getvalue()


def zip_with(name: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("card.json", json.dumps(V2))
        archive.writestr(name, b"x")
    return target.getvalue()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (bomb, "would unpack to"),
        (lambda: zip_with("../../evil.yaml"), "leads out"),
        (lambda: zip_with("/etc/evil"), "leads out"),
        (lambda: zip_with("..\\evil"), "leads out"),
        (lambda: zip_with("ok")[:-30] + bytes(30), "no zip|no JSON|damaged|None"),
        (lambda: zips.zipped({"card.json": b"[" * 100_000}), "too deep|no JSON"),
        (lambda: zips.zipped({"card.json": b"[]"}), "no character card"),
        (lambda: zips.zipped({"card.json": b"{" + b'"a":[],' * 1_000_001}), "values"),
        (lambda: picture_with(("chara", V2), kind=b"zTXt"), "compressed"),
        (lambda: picture_with(("chara", V2))[:-40], "cut off"),
        (lambda: picture_with(("chara", [])), "no character card"),
        (lambda: damaged(), "checksum"),
        (lambda: png.SIGNATURE + b"\xff\xff\xff\xffIDAT", "cut off"),
        (lambda: PICTURE[:-12] + chunk(b"tEXt", b"chara\0x") + PICTURE[-12:], "no base64"),
        (lambda: PICTURE[:-12] + chunk(b"prVt", b"") * (png.MAX_CHUNKS + 1) + PICTURE[-12:], "chunks"),
    ],
)
def test_a_hostile_file_is_refused_in_words(make: Any, reason: str) -> None:
    data = make()
    begun = time.process_time()
    try:
        words = str(container.read(data, "x"))
    except DataError as error:
        words = str(error)
    assert any(part in words for part in reason.split("|")), words
    assert time.process_time() - begun < 5


def damaged() -> bytes:
    data = picture_with(("chara", V2))
    place = data.index(b"chara\0") + 20
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_a_chunk_of_four_megabytes_is_a_long_text_and_nothing_more() -> None:
    long = V2 | {"data": V2["data"] | {"description": "x" * (4 << 20)}}
    read = container.read(picture_with(("chara", long)), "a.png")
    assert read is not None and read.card == long


@pytest.mark.parametrize("name", ["a.png", "dir/b", "中文.json"])
def test_plain_names_stay_inside(name: str) -> None:
    assert zips.is_inside(name)
    assert not zips.is_inside(f"../{name}")


def test_other_files_are_no_cards(tmp_path: Path) -> None:
    assert container.read(b"", "x") is None
    assert container.read(b"hello", "x") is None
    assert container.read(b'{"entries": {}}', "x") is None
    assert container.read(zips.zipped({"a.txt": b"a"}), "x") is None
