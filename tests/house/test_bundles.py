"""Folders and zips of several files: each is taken in or told why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moechat.cards import container, png
from moechat.errors import DataError
from moechat.house.bundle import Bundle, sorted_out
from moechat.house.studio import look
from moechat.store.zips import zipped
from moechat.web.tray import Trays
from tests.cards.cards import V3, WORLD
from tests.houses import CHARACTER
from tests.shell import Shell

CHAT = "\n".join(
    json.dumps(row)
    for row in (
        {"user_name": "Ann", "character_name": "Tide"},
        {"name": "Ann", "is_user": True, "send_date": "2021-03-04T20:15:00", "mes": "My cat is called Nori."},
        {"name": "Tide", "is_user": False, "send_date": "2021-03-04T20:16:00", "mes": "Like seaweed."},
    )
).encode()
WHATSAPP = b"31/12/2023, 21:16 - Zoe: hi\n31/12/2023, 21:17 - Bob: hello\n"
TAVERN = {
    "default-user/characters/Tide.png": container.written("png", V3, picture=png.plain("Tide")),
    "default-user/worlds/sea.json": json.dumps(WORLD).encode(),
    "default-user/chats/Tide/2021.jsonl": CHAT,
    "default-user/group chats/g.jsonl": CHAT.replace(b"Nori", b"Mochi").replace(b"2021-03", b"2021-04"),
    "default-user/groups/1.json": b"{}",
    "default-user/User Avatars/me.png": b"",
    "default-user/settings.json": b"{}",
    "default-user/backups/old.zip": b"PK",
    "default-user/thumbnails/avatar/Tide.png": b"",
}


@pytest.mark.parametrize("is_zip", [False, True])
def test_of_a_tavern_folder_and_its_zip_everything_is_taken_or_told(moechat: Shell, *, is_zip: bool) -> None:
    path = moechat.home.data.parent / ("st.zip" if is_zip else "st")
    if is_zip:
        path.write_bytes(zipped(TAVERN))
    for name, data in {} if is_zip else TAVERN.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    status, lines, errors = moechat("import", str(path), "--dry-run", "--json")
    assert (status, [json.loads(line)["kind"] for line in lines]) == (0, ["card", "talk", "talk", "lorebook"])
    assert moechat.home.data.joinpath("agents", "Tide").exists() is False
    left = "\n".join(errors)
    for why in ("a group of SillyTavern's", "who you are", "a zip within it", "no card, world book"):
        assert why in left, why
    assert moechat("import", str(path))[0] == 0
    names = {json.loads(row)["name"] for row in moechat("talks", "list", "-c", "Tide", "--json")[1]}
    assert "2021" in names
    assert {json.loads(row)["name"] for row in moechat("talks", "list", "--json")[1]} >= {"g"}
    assert (moechat.home.data / "agents" / "Tide" / "data_base" / "sea.json").exists() is not (
        moechat.home.folder / "data_base" / "sea.json"
    ).exists()


def test_of_chatgpts_zip_the_conversations_are_taken(moechat: Shell) -> None:
    nodes = {
        "a": {
            "parent": None,
            "message": {"author": {"role": "user"}, "create_time": 1.7e9, "content": {"parts": ["hi"]}},
        }
    }
    talk = json.dumps([{"title": "Cats", "current_node": "a", "mapping": nodes}]).encode()
    path = moechat.home.data.parent / "export.zip"
    path.write_bytes(
        zipped({"conversations.json": talk, "chat.html": b"<html>", "user.json": b"{}", "file-1.png": b""})
    )
    status, (line,), errors = moechat("import", str(path), "--json")
    done = json.loads(line)
    assert (status, done["talk"], done["exchanges"]) == (0, "Cats", 1)
    assert "chat.html, file-1.png, user.json" in errors[0]


def test_the_chat_in_whatsapps_zip_is_called_as_that(moechat: Shell) -> None:
    path = moechat.home.data.parent / "WhatsApp Chat - Bob.zip"
    path.write_bytes(zipped({"_chat.txt": WHATSAPP, "photo.jpg": b""}))
    status, _, errors = moechat("import", str(path))
    assert status == 1 and "perhaps Zoe" in errors[0]
    assert moechat("import", str(path), "--me", "Zoe")[0] == 0
    assert json.loads(moechat("talks", "list", "--json")[1][-1])["name"] == "WhatsApp Chat - Bob"


def test_a_zip_is_bounded_and_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    for files, why in (
        ({"../out.jsonl": CHAT}, "leads out of it"), ({"/etc/x.txt": b""}, "leads out of it"),
        ({f"{n}.txt": b"" for n in range(20_001)}, "at most 20,000"),
    ):  # fmt: skip
        path.write_bytes(zipped(files))
        with pytest.raises(DataError, match=why):
            look(path)
    whole = zipped({"a.txt": WHATSAPP})
    for damaged in (whole[:-10], whole[:30], b"PK\x03\x04" + bytes(200)):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            look(path)
    inner = {"a.zip": zipped({"b.txt": WHATSAPP}), "b.txt": WHATSAPP, "c.txt": zipped({"d.txt": WHATSAPP})}
    path.write_bytes(zipped(inner))
    with Bundle(path) as bundle:
        assert (bundle.takes, bundle.left) == (["b.txt", "c.txt"], {"zip": ["a.zip"]})


def test_a_zip_on_the_page_is_its_files_and_a_zip_in_it_is_told(tmp_path: Path) -> None:
    trays = Trays()
    try:
        tray = trays.of("tab")
        tray.put("both.zip", zipped({"a.zip": b"PK", "b.txt": WHATSAPP, "c.txt": zipped({"d.txt": WHATSAPP})}))
        rows = {one.name: (one.kind, dict(one.left)) for one in tray.files.values()}
        assert rows == {
            "both.zip": (None, {"zip": ["a.zip"]}), "both/b.txt": ("talk", {}), "both/c.txt": (None, {"zip": ["c.txt"]}),
        }  # fmt: skip
        assert tray.put_folder(["x/characters/a.png", "x/groups/1.json"]) == ["x/characters/a.png"]
        assert list(tray.files.values())[-1].left == {"group": ["x/groups/1.json"]}
    finally:
        trays.close()


def test_cards_come_before_what_goes_to_them() -> None:
    takes, left = sorted_out(TAVERN)
    assert takes[0].endswith("Tide.png") and len(takes) == 4 and {*left} == {"group", "persona", "zip", "other"}


def test_a_file_that_cannot_be_read_says_which_can_with_samples(moechat: Shell) -> None:
    path = moechat.home.data.parent / "x.bin"
    path.write_bytes(b"\x00\x01nothing")
    status, _, errors = moechat("import", str(path))
    told = "\n".join(errors)
    assert status == 1 and "is none of what can be imported" in errors[-1]
    for words in ("微信", "WhatsApp", "31/12/2023, 21:16 - Ann: Hello", "ChatGPT", "conversations.json", "QQ"):
        assert words in told, words
    assert CHARACTER in {one.name for one in (moechat.home.data / "agents").iterdir()}
