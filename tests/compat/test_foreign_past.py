"""Talk and memories of other programs: read by their form, on their own dates, each exchange once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moechat.compat import foreign_talk
from moechat.compat.past import Names, Past
from moechat.errors import DataError
from tests.houses import ZONE, imported
from tests.shell import Shell

WHO = Names("阿明", "小满")


def saved(folder: Path, name: str, *rows: Any) -> Path:
    path = folder / name
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def told(read: Past) -> list[tuple[str, str, str]]:
    return [(f"{one.at.astimezone(ZONE):%Y-%m-%dT%H:%M}", one.user, one.char) for one in read.exchanges]


def chosen(read: Past) -> list[tuple[str, str, str]]:
    """The path to where the only talk goes on, oldest first."""
    talk = read.talks[0]
    place: int | None = len(talk.exchanges) - 1
    path = []
    while place is not None:
        path.append(talk.exchanges[place])
        place = talk.follows[place]
    return [(f"{one.at.astimezone(ZONE):%Y-%m-%dT%H:%M}", one.user, one.char) for one in path[::-1]]


HEAD = {"user_name": "me", "character_name": "小满", "create_date": "2023-7-1 @12h 00m 00s 000ms"}


@pytest.mark.parametrize(
    ("time", "at"),
    [
        ("2023-07-01T12:34:00.000Z", "2023-07-01T20:34"),
        ("July 1, 2023 2:34pm", "2023-07-01T14:34"),
        ("Jul 1, 2023 2:34pm", "2023-07-01T14:34"),
        ("2023-07-01@12h34m56s", "2023-07-01T12:34"),
        ("2023-7-1 @12h 34m 56s 789ms", "2023-07-01T12:34"),
        (1688186096789, "2023-07-01T12:34"),
        ("1688186096789", "2023-07-01T12:34"),
        (1688186096, "2023-07-01T12:34"),
    ],
)
def test_a_chat_of_sillytavern_has_its_own_times(tmp_path: Path, time: Any, at: str) -> None:
    path = saved(tmp_path, "c.jsonl", HEAD, {"name": "me", "is_user": True, "send_date": time, "mes": "hi"})
    assert told(foreign_talk.read(path, ZONE, WHO)) == [(at, "hi", "")]


def test_of_a_chat_of_sillytavern_the_chosen_words_go_on_and_hidden_lines_are_no_talk(tmp_path: Path) -> None:
    at = "2023-07-01T12:00:00Z"
    rows = [
        HEAD,
        {"name": "小满", "is_user": False, "send_date": at, "mes": "你来了"},
        {"name": "me", "is_user": True, "send_date": at, "mes": "来了"},
        {
            "name": "小满",
            "is_user": False,
            "send_date": at,
            "mes": "第二个",
            "swipes": ["第一个", "第二个"],
            "swipe_id": 1,
        },
        {"name": "sys", "is_user": False, "is_system": True, "send_date": at, "mes": "hidden"},
        {"name": "Bea", "is_user": False, "send_date": at, "mes": "我也在"},
    ]
    read = foreign_talk.read(saved(tmp_path, "c.jsonl", *rows), ZONE, WHO)
    assert chosen(read) == [("2023-07-01T20:00", "", "你来了"), ("2023-07-01T20:00", "来了", "第二个\nBea: 我也在")]
    assert [one.char for one in read.exchanges] == ["你来了", "第一个", "第二个\nBea: 我也在"]
    assert +read.left_out == {"hidden or of the system": 1} and read.speakers["me"] == 1


def test_of_chatgpts_export_the_path_to_the_current_node_is_talk(tmp_path: Path) -> None:
    def node(id_: str, parent: str | None, role: str, text: str, at: float | None) -> dict[str, Any]:
        message = {"author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": [text]}}
        return {"id": id_, "parent": parent, "message": message}

    nodes = [
        node("a", None, "system", "", None),
        node("b", "a", "user", "我养了猫", 1688186096.5),
        node("c", "b", "assistant", "旧的", 1.0),
        node("d", "b", "assistant", "叫什么", None),
        node("e", "d", "tool", "x", None),
        node("f", "e", "user", "年糕", 1688186200.0),
    ]
    talk = {"title": "t", "create_time": 1.0, "current_node": "f", "mapping": {one["id"]: one for one in nodes}}
    loop = {"current_node": "x", "mapping": {"x": {"parent": "y"}, "y": {"parent": "x"}}}
    read = foreign_talk.read(saved(tmp_path, "conversations.json", json.dumps([talk, loop, 3])), ZONE, WHO)
    assert chosen(read) == [("2023-07-01T12:34", "我养了猫", "叫什么"), ("2023-07-01T12:36", "年糕", "")]
    assert [one.char for one in read.exchanges] == ["旧的", "叫什么", ""]
    assert +read.left_out == {"tools, system, empty": 4, "no talk": 1}


def test_csv_and_plain_text_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path, "t.csv", "time,who,text", '2021-03-04T20:15,user,"你好, 在吗"', "2021-03-04T20:16,小满,在")
    assert told(foreign_talk.read(path, ZONE, WHO)) == [("2021-03-04T20:15", "你好, 在吗", "在")]
    text = saved(
        tmp_path, "t.txt", "Chat of Ann", "2021-03-04 20:15 - Ann: hi", "second line", "[2021/3/4 20:16:05] Bea: hello"
    )
    read = foreign_talk.read(text, ZONE, Names("阿明", "小满", me="ann"))
    assert told(read) == [("2021-03-04T20:15", "hi\nsecond line", "hello")]
    assert +read.left_out == {"before the first time": 1}
    assert "--me NAME" in str(foreign_talk.read(text, ZONE, WHO).unclear)


def test_what_is_there_already_is_left_out_and_the_rest_comes(moechat: Shell) -> None:
    folder = moechat.home.data.parent
    rows = [
        {"time": f"2021-03-0{day}T20:15:00", "who": who, "text": f"{who}{day}"}
        for day in (1, 2, 3)
        for who in ("user", "char")
    ]
    moechat.json("import", str(saved(folder, "a.jsonl", *rows[:4])))
    shown = moechat.json("import", str(saved(folder, "b.jsonl", *rows)), "--dry-run")
    assert (shown["exchanges"], shown["doubled"], shown["speakers"]) == (3, 2, {"user": 3, "char": 3})
    done = moechat.json("import", str(folder / "b.jsonl"))
    assert (done["exchanges"], done["doubled"], done["first"]) == (1, 2, "2021-03-03T20:15:00+08:00")


def test_a_moechat_folder_comes_as_a_character_or_as_talk_of_one_that_is_there(moechat: Shell) -> None:
    store = moechat.home.store()
    imported(store, ("2021-03-04T20:15:00", "我养了猫", "叫什么"))
    store.close()
    folder = moechat.home.folder
    elsewhere = folder.rename(moechat.home.data.parent / "old")
    moechat.json("character", "create", "小满")
    before = sorted(path.name for path in elsewhere.rglob("*"))
    assert moechat.json("import", str(elsewhere), "-c", "小满")["exchanges"] == 1
    assert sorted(path.name for path in elsewhere.rglob("*")) == before
    moechat.json("import", str(elsewhere), "-c", "again")
    hits = moechat.json("recall", "我养了什么", "-c", "again")["hits"]
    assert any("猫" in hit["text"] for hit in hits)


def test_memories_alone_are_the_owners_and_go_again_as_one(moechat: Shell) -> None:
    rows = ["用户住在杭州", {"text": "和小林去了植物园", "happened": "2021-03-04", "place": "植物园"}]
    path = str(saved(moechat.home.data.parent, "m.json", json.dumps(rows, ensure_ascii=False)))
    assert moechat.json("import", path, "--dry-run")["memories"] == 2
    done = moechat.json("import", path)
    assert (done["memories"], done["doubled"]) == (2, 0)
    assert "植物园" in json.dumps(moechat.json("recall", "2021年3月4日我做了什么"), ensure_ascii=False)
    assert "杭州" in json.dumps(moechat.json("recall", "我住在哪里"), ensure_ascii=False)
    assert moechat.json("import", path, "--dry-run")["doubled"] == 2
    assert moechat.json("import", "take-back", done["batch"], "--yes")["memories"] == 2
    assert moechat("memories", "list", "--json")[1] == []
    csv = saved(moechat.home.data.parent, "m.csv", "text,keyword", "用户喜欢爬山,喜好")
    assert moechat.json("import", str(csv))["memories"] == 1


def test_a_chosen_memory_is_copied_to_another_character(moechat: Shell) -> None:
    moechat.json("character", "create", "other")
    id_ = moechat.json("memories", "add", "fact", "用户住在杭州")["id"]
    moechat.json("memories", "copy", id_, "--to", "other")
    assert "杭州" in json.dumps(moechat.json("recall", "我住在哪里", "-c", "other"), ensure_ascii=False)
    assert moechat("memories", "copy", "nothing", "--to", "other")[0] == 1


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("2021-03-04 20:15 我: 您好".encode("gb18030"))
    with pytest.raises(DataError, match="UTF-8"):
        foreign_talk.read(path, ZONE, WHO)
