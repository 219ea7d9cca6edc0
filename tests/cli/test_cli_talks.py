"""``--talk`` and ``--world``: several talks over one memory, and plots that share nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.shell import Shell

LATER = "2025-05-21T09:00"


def texts(moechat: Shell, *args: str) -> str:
    return "\n".join(hit["text"] for hit in moechat.json("recall", *args, now=LATER)["hits"])


def rows(moechat: Shell, *args: str) -> list[dict[str, object]]:
    return moechat.rows("log", *args, now=LATER)


def listed(moechat: Shell) -> list[dict[str, object]]:
    return moechat.rows("talks", "list", now=LATER)


# ---- talks


def test_a_message_goes_into_the_talk_that_is_named_and_each_talk_has_its_own_path(moechat: Shell) -> None:
    first = moechat.json("say", "我住在杭州")["exchange_id"]
    plan = moechat.json("say", "我们去青岛坐高铁", "--talk", "计划", now="2025-05-20T15:01")["exchange_id"]
    after = moechat.json("say", "我喜欢猫", now="2025-05-20T15:02")["exchange_id"]
    assert {row["id"]: (row["talk"], row["parent"], row["mark"]) for row in rows(moechat, "list")} == {
        first: ("", None, "*"), plan: ("计划", None, "*"), after: ("", first, "*"),
    }  # fmt: skip
    assert [row["id"] for row in rows(moechat, "list", "--talk", "计划")] == [plan]
    assert [row["id"] for row in rows(moechat, "list", "--talk", "")] == [first, after]
    _, lines, _ = moechat("log", "list", now=LATER)
    assert [" (计划) " in line for line in lines] == [False, True, False]


def test_a_talk_is_recalled_in_another_one_and_not_in_itself_while_it_stands_there(moechat: Shell) -> None:
    moechat.json("say", "我们去青岛坐高铁", "--talk", "计划")
    now = "2025-05-20T15:05"
    for talk, is_recalled in (([], True), (["--talk", "海边"], True), (["--talk", "计划"], False)):
        found = moechat.json("recall", "我们怎么去青岛", *talk, now=now)
        assert ("高铁" in "\n".join(hit["text"] for hit in found["hits"])) == is_recalled, talk


def test_talks_are_listed_with_their_first_line_their_number_and_their_last_time(moechat: Shell) -> None:
    moechat.json("say", "我们去青岛坐高铁\n住三天", "--talk", "计划")
    moechat.json("say", "还是坐船", "--talk", "计划", now="2025-05-20T15:01")
    moechat.json("say", "我住在杭州", now="2025-05-20T15:02")
    plan, first = listed(moechat)
    assert plan == {
        "name": "计划", "title": "计划", "pinned": False, "first": "我们去青岛坐高铁", "exchanges": 2,
        "last": "2025-05-20T15:01:00+08:00", "imports": [],
    }  # fmt: skip
    assert (first["name"], first["first"], first["exchanges"]) == ("", "我住在杭州", 1)
    _, lines, _ = moechat("talks", "list", now=LATER)
    assert lines == [
        "计划 [2 exchanges, last 2025-05-20 15:01] 我们去青岛坐高铁",
        "(first) [1 exchanges, last 2025-05-20 15:02] 我住在杭州",
    ]


def test_a_memory_without_talk_lists_the_first_one_alone(moechat: Shell) -> None:
    assert [(one["name"], one["exchanges"], one["last"]) for one in listed(moechat)] == [("", 0, None)]
    assert moechat("talks", "list", now=LATER)[1] == ["(first) [0 exchanges, nothing said] "]


def test_a_talk_gets_another_title_a_place_at_the_head_and_an_end(moechat: Shell) -> None:
    moechat.json("say", "我们去青岛坐高铁", "--talk", "计划")
    moechat.json("say", "我住在杭州", now="2025-05-20T15:02")
    moechat("talks", "title", "计划", "青岛之行", now=LATER)
    moechat("talks", "pin", "计划", now=LATER)
    assert [(one["name"], one["title"], one["pinned"]) for one in listed(moechat)] == [
        ("", "", False), ("计划", "青岛之行", True),
    ]  # fmt: skip
    moechat("talks", "unpin", "计划", now=LATER)
    assert [one["name"] for one in listed(moechat)] == ["计划", ""]
    assert "80 at most" in moechat("talks", "title", "计划", "长" * 81, now=LATER)[2][0]
    moechat("talks", "delete", "计划", now=LATER)
    assert [one["name"] for one in listed(moechat)] == [""]
    assert "青岛" in texts(moechat, "我们怎么去青岛")  # its words stay in memory
    moechat.json("say", "还是坐船", "--talk", "计划", now=LATER)
    assert [one["title"] for one in listed(moechat)] == ["", "青岛之行"]  # spoken in again, it is there again


def test_a_talk_is_deleted_with_all_that_was_said_in_it(moechat: Shell) -> None:
    moechat.json("say", "我们去青岛坐高铁", "--talk", "计划")
    moechat("talks", "delete", "计划", "--forget", "--yes", now=LATER)
    assert [one["name"] for one in listed(moechat)] == [""]
    assert "青岛" not in texts(moechat, "我们怎么去青岛")
    assert "stays" in moechat("talks", "delete", "", now=LATER)[2][0]
    assert "no talk" in moechat("talks", "delete", "没有这个", now=LATER)[2][0]


def test_a_talk_is_erased_only_where_one_says_yes(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    moechat.json("say", "我们去青岛坐高铁", "--talk", "计划")
    for line, status, names in (("n\n", 1, ["计划"]), ("y\n", 0, [""])):
        monkeypatch.setattr("sys.stdin", io.StringIO(line))
        left, _, errors = moechat("talks", "delete", "计划", "--forget", now=LATER)
        assert left == status and "erase all that was said in '计划', for good? [y/N]" in errors[0]
        assert [one["name"] for one in listed(moechat)][-1:] == names


def test_a_talk_is_written_in_four_forms(moechat: Shell, tmp_path: Path) -> None:
    moechat.json("say", "我们去青岛坐高铁", "--talk", "计划")
    moechat.json("say", "我们怎么去青岛来着", now="2025-05-20T15:02")
    for form in ("markdown", "text", "sillytavern", "json"):
        lines = moechat("talks", "export", "计划", "--form", form, now=LATER)[1]
        assert "我们去青岛坐高铁" in "\n".join(lines), form
    assert any("← " in line and "高铁" in line for line in
               moechat("talks", "export", "", "--form", "text", "--reasons", now=LATER)[1])  # fmt: skip
    for form in ("sillytavern", "json"):
        file = tmp_path / f"{form}.jsonl"
        file.write_text("\n".join(moechat("talks", "export", "计划", "--form", form, now=LATER)[1]), encoding="utf-8")
        assert moechat("import", "talk", str(file), "--me", "阿明", "--world", form, now=LATER)[0] == 0
        _, lines, _ = moechat("talks", "list", "--json", "--world", form, now=LATER)
        assert [json.loads(line)["exchanges"] for line in lines if form in line] == [1]


def test_a_branch_of_one_talk_leaves_the_others(moechat: Shell) -> None:
    first = moechat.json("say", "去青岛", "--talk", "计划")["exchange_id"]
    moechat.json("say", "坐高铁", "--talk", "计划", now="2025-05-20T15:01")
    other = moechat.json("say", "我住在杭州", now="2025-05-20T15:02")["exchange_id"]
    assert moechat.json("log", "select", first, now="2025-05-20T15:03")["talk"] == "计划"
    ship = moechat.json("say", "坐船", "--talk", "计划", now="2025-05-20T15:04")
    assert {row["text"]: row["mark"] for row in rows(moechat, "list")} == {
        "去青岛": "*", "坐高铁": " ", "坐船": "*", "我住在杭州": "*",
    }  # fmt: skip
    assert {row["id"]: row["parent"] for row in rows(moechat, "list")}[ship["exchange_id"]] == first
    assert {row["id"]: row["parent"] for row in rows(moechat, "list")}[other] is None


# ---- worlds


def test_a_world_is_a_memory_of_its_own_for_every_user(moechat: Shell) -> None:
    moechat.json("say", "我的秘密是榴莲", "--world", "海上", "--user", "甲")
    assert "榴莲" in texts(moechat, "我的秘密是什么", "--world", "海上", "--user", "甲")
    for other in (["--user", "甲"], ["--world", "海上"], [], ["--world", "山里", "--user", "甲"]):
        assert "榴莲" not in texts(moechat, "我的秘密是什么", *other)
        assert rows(moechat, "list", *other) == []
    assert (moechat.home.folder / "users" / "甲" / "worlds" / "海上" / "log.jsonl").exists()


def test_a_world_shares_what_the_author_wrote(moechat: Shell) -> None:
    (moechat.home.folder / "facts.yaml").write_text("渡口:\n  text: 小满在渡口卖过三年船票\n", encoding="utf-8")
    assert "船票" in texts(moechat, "小满在渡口做过什么", "--world", "海上")


@pytest.mark.parametrize("name", ["../..", "/etc", "a/b", "CON", "Bob", ".."])
def test_no_name_of_a_world_leads_out_of_the_folder(moechat: Shell, name: str) -> None:
    moechat.json("say", "我在海上", "--world", name)
    (folder,) = (moechat.home.folder / "worlds").iterdir()
    assert (folder / "log.jsonl").exists()
    assert {path.name for path in moechat.home.data.iterdir()} == {"agents"}


def test_a_name_that_is_too_long_for_a_world_is_refused(moechat: Shell) -> None:
    status, _, errors = moechat("say", "你好", "--world", "海" * 100)
    assert (status, len(errors)) == (1, 1)
    assert "world's name" in errors[0]


def test_a_world_is_checked_made_anew_and_looked_after_like_any_memory(moechat: Shell) -> None:
    said = moechat.json("say", "我讨厌香菜", "--world", "海上")["exchange_id"]
    moechat.json("say", "我住在杭州", now="2025-05-20T15:01")
    for command in ("verify", "rebuild"):
        assert moechat.json(command, "--world", "海上")["exchanges"] == 1
        assert moechat.json(command)["exchanges"] == 1
    assert [row["text"] for row in moechat.rows("memories", "list", "--world", "海上")] == ["用户不喜欢香菜"]
    moechat("memories", "forget", said, "--yes", "--world", "海上")
    assert moechat.json("verify", "--world", "海上")["exchanges"] == 0
    assert moechat.json("verify")["exchanges"] == 1


def test_who_talks_by_command_alone_has_a_backup_a_day(moechat: Shell) -> None:
    for now in ("2025-05-20T15:00", "2025-05-20T18:00", "2025-05-21T09:00"):
        moechat.json("say", "我住在杭州", now=now)
    backups = sorted(path.name for path in (moechat.home.folder / "backups").iterdir())
    assert backups == ["auto-2025-05-20.zip", "auto-2025-05-21.zip"]
