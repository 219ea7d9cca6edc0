"""The commands: what they print, write and return."""

from __future__ import annotations

import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import segno

from moechat.access.register import Register
from moechat.cli.main import commands, main
from moechat.cli.serve_commands import announce_page
from moechat.house import House
from moechat.model import Message
from tests.houses import CHARACTER, START, Home, day_files, edit, understanding
from tests.model_server import ModelServer, Say
from tests.shell import Shell


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path, embedding={"provider": "hash"})


def texts(found: dict[str, Any]) -> str:
    return "\n".join(hit["text"] for hit in found["hits"])


def test_say_answers_stores_and_understands_before_it_returns(moechat: Shell) -> None:
    told = moechat.json("say", "我住在杭州，昨天和室友吃了火锅，我讨厌香菜")
    assert set(told) == {"reply", "exchange_id", "recalled", "timing_ms", "notice"}
    assert told["reply"]
    assert told["exchange_id"] == "20250520-150000"
    assert told["recalled"] == []
    assert "total" in told["timing_ms"]
    assert told["exchange_id"] in day_files(moechat.home.folder)[0].read_text(encoding="utf-8")
    assert "香菜" in (moechat.home.folder / "core_mem.yml").read_text(encoding="utf-8")
    log = (moechat.home.folder / "log.jsonl").read_text(encoding="utf-8")
    assert '"op":"understood"' in log


def test_what_was_said_is_recalled_a_day_a_week_and_a_month_later_by_date_and_by_meaning(moechat: Shell) -> None:
    moechat.json("say", "昨天和室友吃了火锅，我讨厌香菜")
    for now, dated in (
        ("2025-05-21T09:00", "昨天我说了什么"),
        ("2025-05-27T09:00", "上周二我说了什么"),
        ("2025-06-20T09:00", "上个月20号我说了什么"),
    ):
        by_date = moechat.json("recall", dated, now=now)
        assert "火锅" in texts(by_date), now
        assert by_date["hits"][0]["layer"] in ("diary", "core")
        assert [span["start"][:10] for span in by_date["spans"]] == ["2025-05-20"]
        assert "火锅" in texts(moechat.json("recall", "和室友吃了什么火锅", now=now))
        assert "香菜" in texts(moechat.json("recall", "我讨厌香菜吗", now=now))
        assert "火锅" in texts(moechat.json("recall", "5月19日我吃了什么", now=now)), "the day that 昨天 meant"


def test_recall_names_its_fields_and_writes_nothing(moechat: Shell) -> None:
    moechat.json("say", "昨天和室友吃了火锅")
    moechat.json("say", "今天下雨了", now="2025-05-20T15:01:00")
    files = {p: p.read_bytes() for p in moechat.home.folder.rglob("*") if p.is_file() and ".index" not in p.parts}
    found = moechat.json("recall", "昨天我说了什么，5月1日呢", now="2025-05-21T09:00")
    assert set(found) >= {"spans", "hits", "dropped", "timing_ms"}
    assert all(set(span) == {"phrase", "start", "end"} for span in found["spans"])
    assert found["spans"][0] == {"phrase": "昨天", "start": "2025-05-20T00:00:00", "end": "2025-05-20T23:59:59"}
    for hit in found["hits"]:
        assert set(hit) == {"layer", "recipe", "id", "time", "text", "score", "features", "tokens"}
    assert all(set(one) == {"id", "text", "why"} for one in found["dropped"])
    assert [span["phrase"] for span in found["empty_spans"]] == ["5月1日"]
    after = {p: p.read_bytes() for p in moechat.home.folder.rglob("*") if p.is_file() and ".index" not in p.parts}
    assert after == files


def test_recall_prints_for_people_too(moechat: Shell) -> None:
    moechat.json("say", "昨天和室友吃了火锅")
    status, lines, errors = moechat("recall", "昨天我说了什么，5月1日呢", now="2025-05-21T09:00")
    assert (status, errors) == (0, []) and "5月1日: no record" in lines
    assert "昨天: 2025-05-20 00:00 – 2025-05-20 23:59" in lines and any("火锅" in line for line in lines)


def test_when_gives_local_inclusive_spans_from_arguments_or_lines(
    moechat: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = moechat.json("when", "昨天晚上")
    assert set(told) == {"text", "spans"}
    assert told["text"] == "昨天晚上"
    assert told["spans"][0]["start"].startswith("2025-05-19T18")
    monkeypatch.setattr(sys, "stdin", io.StringIO("昨天\n没有时间\n"))
    status, lines, _ = moechat("when", "--json")
    assert status == 0
    assert [len(json.loads(line)["spans"]) for line in lines] == [1, 0]


def test_an_offset_in_now_is_honoured_and_none_is_the_configured_zone(moechat: Shell) -> None:
    assert moechat.json("when", "今天", now="2025-05-20T20:00:00+00:00")["spans"][0]["start"] == "2025-05-21T00:00:00"
    assert moechat.json("when", "今天", now="2025-05-20T20:00:00")["spans"][0]["start"] == "2025-05-20T00:00:00"


def test_the_tree_is_listed_corrected_branched_and_taken_back(moechat: Shell) -> None:
    first = moechat.json("say", "我住在杭州")["exchange_id"]
    second = moechat.json("say", "我喜欢猫", now="2025-05-20T15:01:00")["exchange_id"]
    row = moechat.json("log", "correct", first, "我住在苏州", now="2025-05-20T15:02:00")
    assert {"id", "parent", "status", "text"} <= set(row)
    assert (row["id"], row["parent"], row["status"], row["text"]) == (first, None, "done", "我住在苏州")
    moechat.json("log", "correct", first, "好地方", "--reply", now="2025-05-20T15:03:00")
    moechat.json("log", "branch", first, now="2025-05-20T15:04:00")
    third = moechat.json("say", "我养了狗", now="2025-05-20T15:05:00")["exchange_id"]
    rows = {row["id"]: row for row in moechat.rows("log", "list", now="2025-05-20T15:06:00")}
    assert {id_: row["parent"] for id_, row in rows.items()} == {first: None, second: first, third: first}
    assert {id_: row["mark"] for id_, row in rows.items()} == {first: "*", second: " ", third: "*"}
    assert rows[first]["reply"] == "好地方"
    assert moechat.json("log", "retract", first, now="2025-05-20T15:07:00")["status"] == "retracted"
    assert "苏州" not in texts(moechat.json("recall", "我住在哪里苏州", now="2025-05-21T09:00"))
    assert moechat.json("log", "restore", first, now="2025-05-20T15:08:00")["status"] == "done"
    assert "苏州" in texts(moechat.json("recall", "我住在哪里苏州", now="2025-05-21T09:00"))
    moechat.json("log", "select", second, now="2025-05-20T15:09:00")
    _, lines, _ = moechat("log", "list", now="2025-05-20T15:10:00")
    assert [line[0] for line in lines] == ["*", "*", " "]


def test_users_are_kept_apart(moechat: Shell) -> None:
    moechat.json("say", "我的秘密是榴莲", "--user", "甲")
    assert "榴莲" in texts(moechat.json("recall", "昨天我的秘密是什么", "--user", "甲", now="2025-05-21T09:00"))
    for other in (["--user", "乙"], []):
        assert "榴莲" not in texts(moechat.json("recall", "昨天我的秘密是什么", *other, now="2025-05-21T09:00"))


def test_verify_is_clean_and_tells_what_is_not(moechat: Shell) -> None:
    moechat.json("say", "我住在杭州")
    report = moechat.json("verify")
    assert (report["exchanges"], report["problems"]) == (1, [])
    path = day_files(moechat.home.folder)[0]
    edit(path, "  msg:\n", "  msg: [\n")
    status, lines, _ = moechat("verify", "--json")
    assert status == 1
    assert any(str(path) in problem and "line" in problem for problem in json.loads(lines[0])["problems"])
    status, _, errors = moechat("verify")
    assert status == 1
    assert any(error.startswith("moechat: ") and str(path) in error for error in errors)


@pytest.mark.parametrize("more", [[], ["--vectors"]])
def test_rebuild_makes_the_indexes_anew(moechat: Shell, more: list[str]) -> None:
    moechat.json("say", "我养了一只鹦鹉")
    before = moechat.json("recall", "我养了什么鹦鹉", now="2025-05-21T09:00")["hits"]
    status, lines, errors = moechat("rebuild", "--json", *more)
    assert (status, errors) == (0, [])
    report = json.loads(lines[-1])
    assert (report["exchanges"], report["problems"], report["without_vector"]) == (1, [], 0)
    assert moechat.json("recall", "我养了什么鹦鹉", now="2025-05-21T09:00")["hits"] == before


@pytest.mark.parametrize(
    ("args", "now", "tells"),
    [
        (["say", " "], START, "empty"),
        (["recall", " "], START, "empty"),
        (["log", "correct", "nobody", " "], START, "corrected words"),
        (["bench", "recall", "missing.jsonl"], None, "missing.jsonl: "),
        (["say", "你好", "-c", "没有这个人"], START, "没有这个人"),
        (["say", "你好", "-c", "../.."], START, "../.."),
        (["recall", "你好"], "someday", "someday"),
        (["say", "你好"], "2025-13-45", "2025-13-45"),
        (["when", "昨天"], "someday", "someday"),
        (["log", "select", "nobody"], START, "nobody"),
        (["log", "correct", "nobody", "x"], START, "nobody"),
    ],
)
def test_what_fails_says_so_in_one_line_and_returns_1(
    moechat: Shell, args: list[str], now: str | None, tells: str
) -> None:
    status, _, errors = moechat(*args, now=now)
    assert (status, len(errors)) == (1, 1), errors
    assert errors[0].startswith("moechat: ")
    assert tells in errors[0]


@pytest.mark.parametrize(
    "args",
    [
        [], ["sing"], ["say"], ["say", "a", "b"], ["log", "burn"], ["rebuild", "--vector", "x"], ["serve", "--port", "65536"],
        ["web", "--port", "-1"],
    ],
)  # fmt: skip
def test_wrong_use_returns_2(moechat: Shell, args: list[str]) -> None:
    assert moechat(*args, now=None)[0] == 2


def test_a_broken_configuration_is_named_with_its_line(moechat: Shell) -> None:
    moechat.home.config.write_text("Agent: [\n", encoding="utf-8")
    status, _, errors = moechat("say", "你好")
    assert (status, len(errors)) == (1, 1)
    assert f"{moechat.home.config}, line" in errors[0]


def test_a_model_that_cannot_be_reached_is_told_and_what_was_said_stays(moechat: Shell) -> None:
    from tests.model_server import closed_port

    with closed_port() as url:
        moechat.home.configure(embedding={"provider": "hash"}, chat={"base_url": url, "model": "tiny"})
        status, lines, errors = moechat("say", "我住在杭州", "--json")
    assert status == 1
    told = json.loads(lines[0])
    assert told["reply"] == ""
    assert told["error"]
    assert len([e for e in errors if e.startswith("moechat: ")]) >= 1
    assert [row["status"] for row in moechat.rows("log", "list")] == ["failed"]


def run(home: Home, *args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [
        sys.executable, "-m", "moechat", *args, "--data", str(home.data), "--config", str(home.config), "--now", START,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, timeout=60, check=False, **options)


def test_json_is_utf8_and_unescaped_whatever_the_terminal(home: Home, root: Path) -> None:
    terminal = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run(home, "when", "--json", env=terminal, cwd=root, input="昨天 caf\u00e9\n".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["text"] == "昨天 caf\u00e9"
    assert "昨天".encode() in done.stdout


def test_a_closed_pipe_ends_the_program(home: Home, root: Path) -> None:
    """`moechat say … | head -c 1` must not hang with a half-told reply."""
    command = [sys.executable, "-m", "moechat", "say", "你好", "--data", str(home.data), "--config", str(home.config)]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False, cwd=root)
    finally:
        os.close(writing)
    assert done.returncode in (0, 1, 120)
    assert b"Traceback" not in done.stderr


def test_the_first_run_brings_its_own_data_and_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, config = tmp_path / "d", tmp_path / "c.yaml"
    assert main(["say", "你好", "--data", str(data), "--config", str(config)]) == 0
    assert config.exists()
    assert len(list((data / "agents").iterdir())) == 3
    assert capsys.readouterr().err == ""


def test_a_character_is_chosen_by_name(moechat: Shell) -> None:
    assert moechat.json("say", "你好", "-c", CHARACTER)["exchange_id"]


def test_a_page_that_others_reach_does_not_start_without_a_password(
    moechat: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOECHAT_WEB_PASSWORD", raising=False)
    status, _, (error,) = moechat("web", "--host", "0.0.0.0", "--port", "0", now=None)
    assert status == 1
    assert "moechat access password" in error and "--phone" in error and "MOECHAT_WEB_PASSWORD" in error


def test_a_phone_is_shown_a_code_that_opens_one_session(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    announce_page(house, "http://127.0.0.1:7860", "http://192.168.1.5:7860")
    out = capsys.readouterr().out
    code = out.partition(" code ")[2].split()[0]
    assert "http://127.0.0.1:7860" in out and "http://192.168.1.5:7860" in out
    drawn = io.StringIO()
    segno.make(f"http://192.168.1.5:7860/login#{code}", micro=False).terminal(out=drawn, compact=True)
    assert drawn.getvalue() in out
    assert Register(house.data, house.clock).enter(code, "192.168.1.7", "") is not None


def test_sessions_are_listed_and_ended_by_command(moechat: Shell) -> None:
    def access(*args: str) -> tuple[int, list[str]]:
        status, lines, errors = moechat("access", *args, now=None)
        return status, lines + errors

    register = Register(moechat.home.data)
    _, (code,) = access("code")
    cookie = register.enter(code.split()[0], "192.168.1.7", "Safari on iPhone")
    assert cookie is not None
    _, (listing,) = access("list")
    assert "192.168.1.7" in listing and "Safari on iPhone" in listing and cookie not in listing
    row = moechat.json("access", "list", now=None)
    assert access("revoke", "nobody")[0] == 1 and access("revoke")[0] == 1
    assert register.session(cookie) is not None
    assert access("revoke", row["id"]) == (0, ["1 ended"])
    assert register.session(cookie) is None and access("list")[1] == []


def test_a_password_comes_from_a_pipe_and_goes_again(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, status in (("short\n", 1), ("\n", 1), ("correct horse\n", 0)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        left, lines, errors = moechat("access", "password", now=None)
        assert left == status and "horse" not in "".join(lines + errors)
    assert Register(moechat.home.data).enter("correct horse", "", "") is not None
    assert moechat("access", "password", "--remove", now=None)[0] == 0
    assert not Register(moechat.home.data).has_password


def test_every_command_of_the_table_has_its_function() -> None:
    for command in commands():
        module, _, function = command.run.partition(".")
        assert callable(getattr(importlib.import_module(f"moechat.cli.{module}"), function)), command.name


def understands(asked: list[int]) -> Callable[[dict[str, Any]], Say]:
    """An endpoint that answers when it is asked to understand, and counts that in ``asked``."""

    model = understanding()
    assert callable(model.answers)

    def act(body: dict[str, Any]) -> Say:
        prompt = body["messages"][-1]["content"]
        if "scene_changed" not in prompt:
            return Say("好的。")
        asked.append(1)
        return Say(str(model.answers([Message("user", prompt)])))

    return act


def test_say_queues_what_a_model_is_to_understand_and_waits_for_it_where_asked(moechat: Shell, home: Home) -> None:
    asked: list[int] = []
    with ModelServer(understands(asked)) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"}, embedding={"provider": "hash"})
        moechat.json("say", "我住在杭州")
        assert asked == [] and len(home.store().tree.pending()) == 1
        moechat.json("say", "我喜欢猫", "--understand", now="2025-05-20T15:01:00")
        assert asked and home.store().tree.pending() == []


def test_say_tells_that_a_reply_was_cut(moechat: Shell, home: Home) -> None:
    with ModelServer([Say("从前有座山，", reason="length")]) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"}, embedding={"provider": "hash"})
        told = moechat.json("say", "讲个故事")
    assert told["cut"] is True and "max_tokens" in told["notice"] and told["reply"] == "从前有座山，"


def test_usage_shows_what_the_models_cost_by_day(moechat: Shell, home: Home) -> None:
    more = {"usage": {"prompt_tokens": 400, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 300}}}
    with ModelServer(otherwise=Say("好的。", more=more)) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"}, embedding={"provider": "hash"})
        told = moechat.json("say", "你好")
        assert (told["usage"]["prompt"], told["usage"]["cached"]) == (400, 300)
        moechat.json("say", "在吗", now="2025-05-21T15:00:00")
    assert [(row["day"], row["use"], row["prompt"], row["cached"]) for row in moechat.rows("usage")] == [
        ("2025-05-20", "reply", 400, 300), ("2025-05-21", "reply", 400, 300),
    ]  # fmt: skip
    assert "75%" in "\n".join(moechat("usage")[1])


def test_understand_tells_what_waits_and_has_the_past_read(moechat: Shell, home: Home) -> None:
    moechat.json("say", "今天下雨了")
    moechat.json("say", "又下雨了", now="2025-05-21T15:00:00")
    then = "2025-05-22T15:00:00"
    waits = moechat.json("understand", now=then)
    assert (waits["queued"], waits["has_model"], waits["past"]["standing"]) == (0, False, "no_model")
    assert "connect a language model" in "\n".join(moechat("understand", now=then)[1])
    assert moechat("understand", "--past", "--wait", now=then)[0] == 1
    moechat("understand", "--stop", now=then)
    asked: list[int] = []
    with ModelServer(understands(asked)) as server:
        home.configure(chat={"base_url": server.url, "model": "tiny"}, embedding={"provider": "hash"})
        past = moechat.json("understand", now=then)["past"]
        assert (past["standing"], past["exchanges"], past["days"], past["calls"]) == ("offered", 2, 2, 1)
        assert moechat.json("understand", "--past", now=then)["past"]["standing"] == "going"
        assert moechat.json("understand", "--stop", now=then)["past"]["standing"] == "offered"
        assert asked == []
        done = moechat.json("understand", "--past", "--days", "2", "--wait", now=then)["past"]
        assert (asked, done["exchanges"], done["spent"] > 0) == ([1], 1, True), "two days are today and yesterday"
        moechat.json("understand", "--past", "--wait", now=then)
        assert asked == [1, 1]
        assert moechat.json("understand", now=then)["past"]["standing"] == "nothing"
