"""``moechat import talk`` and ``import take-back``: talk from elsewhere comes in as a talk, and goes again."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.shell import Shell

Lines = list[tuple[str, str, str]]
TALK: Lines = [
    ("2021-03-04T20:15:00", "user", "我养了一只叫年糕的猫"),
    ("2021-03-04T20:15:30", "user", "它三个月大"),
    ("2021-03-04T20:16:00", "char", "年糕真可爱"),
    ("2021-03-05T08:00:00+00:00", "阿明", "今天去了灵隐寺"),
    ("2021-03-05T16:01:00", "小满", "人多吗"),
    ("2021-03-05T16:02:00", "char", "下次我也想去"),
]


def saved(moechat: Shell, lines: Lines, name: str = "旧聊天.jsonl") -> str:
    path = moechat.home.data.parent / name
    rows = [json.dumps({"time": time, "who": who, "text": text}, ensure_ascii=False) for time, who, text in lines]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def holders(moechat: Shell, word: str) -> list[str]:
    """The files of the memory that hold a word."""
    files = [path for path in moechat.home.folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if word.encode() in path.read_bytes()]


def test_lines_become_the_exchanges_of_a_talk_that_is_named_as_the_file(moechat: Shell) -> None:
    done = moechat.json("import", "talk", saved(moechat, TALK))
    assert (done["talk"], done["exchanges"]) == ("旧聊天", 2)
    assert (done["first"], done["last"]) == ("2021-03-04T20:15:00+08:00", "2021-03-05T16:00:00+08:00")
    (first, second) = moechat.rows("log", "list")
    assert (first["text"], first["reply"], first["parent"]) == ("我养了一只叫年糕的猫\n它三个月大", "年糕真可爱", None)
    assert (second["text"], second["reply"]) == ("今天去了灵隐寺", "人多吗\n下次我也想去")
    assert (second["parent"], second["talk"]) == (first["id"], "旧聊天")


def test_it_is_recalled_by_time_and_meaning_and_read_by_rules(moechat: Shell) -> None:
    moechat.json("import", "talk", saved(moechat, TALK))
    hits = moechat.json("recall", "2021年3月5日我去了哪里")["hits"]
    assert "灵隐寺" in "\n".join(hit["text"] for hit in hits)
    assert "年糕" in "\n".join(hit["text"] for hit in moechat.json("recall", "我的猫叫什么")["hits"])
    assert "年糕" in (moechat.home.folder / "core_mem.yml").read_text(encoding="utf-8")
    report = moechat.json("verify")
    assert (report["waiting_to_be_understood"], report["problems"], report["exchanges"]) == (0, [], 2)


def test_the_talk_may_have_another_name_and_is_listed_with_its_batch(moechat: Shell) -> None:
    batch = moechat.json("import", "talk", saved(moechat, TALK), "--talk", "从前")["batch"]
    (_, talk) = moechat.rows("talks", "list")
    assert (talk["name"], talk["exchanges"], talk["first"]) == ("从前", 2, "我养了一只叫年糕的猫")
    assert talk["imports"] == [{"batch": batch, "at": "2025-05-20T15:00:00+08:00"}]
    assert f"imported 2025-05-20 as {batch}" in moechat("talks", "list")[1][1]


def test_a_reply_before_any_message_answers_nothing_and_a_message_may_have_no_reply(moechat: Shell) -> None:
    lines = [("2021-03-04T20:15", "char", "在吗"), ("2021-03-04T20:16", "user", "在"), ("2021-03-04", "user", "早")]
    moechat.json("import", "talk", saved(moechat, lines))
    assert [(row["text"], row["reply"]) for row in moechat.rows("log", "list")] == [("早", "在吗"), ("在", "")]
    other = saved(moechat, [("2021-03-05T20:15", "char", "在吗"), ("2021-03-05T20:16", "user", "在")], "另一份.jsonl")
    moechat.json("import", "talk", other)
    assert [(row["text"], row["reply"]) for row in moechat.rows("log", "list", "--talk", "另一份")] == [
        ("", "在吗"), ("在", ""),
    ]  # fmt: skip


def test_bad_lines_are_named_and_nothing_is_imported(moechat: Shell) -> None:
    path = Path(saved(moechat, TALK))
    at = '{"time": "2021-03-04T20:15", '
    bad = [
        "{", "[]", at + '"who": "user"}', '{"time": "neulich", "who": "user", "text": "a"}',
        at + '"who": "user", "text": " "}',
    ]  # fmt: skip
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(bad), encoding="utf-8")
    status, _, errors = moechat("import", "talk", str(path))
    assert status == 1
    reasons = ["no JSON;", "no JSON object", "text is missing", "time = 'neulich'", "text is empty"]
    for number, (error, reason) in enumerate(zip(errors, reasons, strict=False), len(TALK) + 1):
        assert error.startswith(f"moechat: {path}, line {number}: ") and reason in error
    assert len(errors) == len(bad) + 1 and "nothing was imported; 5 of its lines" in errors[-1]
    assert moechat.rows("log", "list") == []
    assert not (moechat.home.folder / "memorys").exists()
    path = saved(moechat, [*TALK, ("2021-03-06T10:00:00", "bot", "a")])
    assert moechat("import", "talk", path)[0] == 1, "whoever bot is"
    assert moechat.rows("log", "list") == []


def test_a_file_that_is_missing_empty_or_no_text_is_refused(moechat: Shell) -> None:
    (moechat.home.data.parent / "kein.jsonl").write_bytes("您好".encode("gb18030"))
    for path, reason in ((saved(moechat, []), "nothing to import"), ("nirgends.jsonl", "nirgends.jsonl: "),
                         (str(moechat.home.data.parent / "kein.jsonl"), "UTF-8")):  # fmt: skip
        status, _, errors = moechat("import", "talk", path)
        assert (status, len(errors)) == (1, 1)
        assert reason in errors[0]


def test_the_same_file_twice_is_refused_in_words(moechat: Shell) -> None:
    batch = moechat.json("import", "talk", saved(moechat, TALK))["batch"]
    status, _, errors = moechat("import", "talk", saved(moechat, TALK, "kopie.jsonl"))
    assert (status, errors) == (1, [f"moechat: this was imported already, as {batch}; take that back first"])
    assert holders(moechat, "灵隐寺") != [] and list((moechat.home.folder / "imports").iterdir()) == []


def test_an_import_is_taken_back_whole(moechat: Shell) -> None:
    said = moechat.json("say", "我住在杭州")["exchange_id"]
    batch = moechat.json("import", "talk", saved(moechat, TALK))["batch"]
    moechat("say", "你还记得灵隐寺吗", now="2025-05-20T15:01")
    done = moechat.json("import", "take-back", batch, "--yes", now="2025-05-20T15:02")
    assert (done["batch"], done["exchanges"]) == (batch, 2) and done["facts"] >= 1
    assert moechat.rows("log", "list")[0]["id"] == said
    assert [talk["name"] for talk in moechat.rows("talks", "list")] == [""]
    assert holders(moechat, "它三个月大") == []
    assert moechat.json("verify")["problems"] == []
    assert moechat.json("import", "talk", saved(moechat, TALK))["batch"] == batch, "it may come again"


def test_taking_back_asks_and_says_what_would_go(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = moechat.json("import", "talk", saved(moechat, TALK))["batch"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    status, _, errors = moechat("import", "take-back", batch)
    assert status == 1
    assert errors[0].startswith(f"{batch}: 2 exchanges, and understood of them ") and "facts" in errors[0]
    assert errors[1] == "Erase all of it for good? [y/N] moechat: nothing was taken back (--yes does not ask)"
    assert len(moechat.rows("log", "list")) == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("是\n"))
    status, lines, _ = moechat("import", "take-back", batch)
    assert status == 0 and lines[0].startswith(f"{batch}: erased 2 exchanges")
    assert moechat.rows("log", "list") == []


def test_a_batch_that_is_not_there_is_refused(moechat: Shell) -> None:
    status, _, errors = moechat("import", "take-back", "niemand")
    assert (status, len(errors)) == (1, 1) and "talks list" in errors[0]


def test_a_world_has_its_own_imports(moechat: Shell) -> None:
    path = saved(moechat, TALK)
    moechat.json("import", "talk", path, "--world", "海上")
    assert moechat.rows("log", "list") == []
    assert len(moechat.rows("log", "list", "--world", "海上")) == 2
    moechat.json("import", "talk", path)
