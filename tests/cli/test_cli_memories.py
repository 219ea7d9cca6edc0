"""Looking after the memory from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from moechat.cli import main as cli
from moechat.model import Fact, FactDraft, RefusedItem
from moechat.store.formats import derived_id
from tests.houses import CHARACTER, Home, told

WORDS = "我丢了铜钥匙"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """One exchange, and two facts of which the newer replaced the older."""
    home = Home.build(tmp_path, embedding={"provider": "hash"})
    store = home.store()
    source = told(store, home.clock, WORDS, "哎呀", settle=True)
    now = home.clock.now()
    old, new = (
        FactDraft(f"用户住在{city}", (source,), keyword="住址", target=city, single=True) for city in ("杭州", "苏州")
    )
    first = Fact(derived_id(old.text, (source,)), now, old)
    store.findings.put([first, Fact(derived_id(new.text, (source,)), now, new, (first.id,))])
    store.mark_understood([source], "model")
    store.close()
    return home


def run(home: Home, *args: str) -> int:
    where = ["--data", str(home.data), "--config", str(home.config), "-c", CHARACTER, "--now", "2025-05-20T16:00"]
    return cli.main(["memories", args[0], *where, *args[1:]])


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def listed(home: Home, capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(home, "list", "--json", *args) == 0
    return rows(capsys)


def test_what_was_refused_is_listed_and_counted_by_reason(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "list", "--refused") == 0
    assert capsys.readouterr().out == "nothing was refused\n"
    store = home.store()
    (source,) = store.tree.parents
    texts = ("用户住在火星", "用户住在月亮上")
    store.findings.refuse([RefusedItem("fact", text, "evidence", (source,)) for text in texts])
    store.findings.refuse([RefusedItem("event", "甲不去丁了", "example", (source,))])
    store.close()
    newest, *_ = listed(home, capsys, "--refused")
    assert (newest["kind"], newest["text"], newest["why"], newest["sources"]) == (
        "event", "甲不去丁了", "example", [source],
    )  # fmt: skip
    assert run(home, "list", "--refused") == 0
    *_, counted = capsys.readouterr().out.splitlines()
    assert counted == "not borne out: 2; copied from the prompt: 1"


def test_list_shows_what_is_remembered(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    (known,) = listed(home, capsys)
    assert (known["kind"], known["text"], known["strength"], known["archived"]) == ("fact", "用户住在苏州", 1, False)
    assert [one["text"] for one in listed(home, capsys, "--kind", "exchange")] == [WORDS]
    assert len(listed(home, capsys, "--kind", "all")) == 2
    assert [one["kind"] for one in listed(home, capsys, "--kind", "all", "--search", "铜钥匙")] == ["exchange"]
    assert run(home, "list", "--kind", "all", "--limit", "1") == 0
    out = capsys.readouterr().out
    assert "… 1 more (--offset 1)" in out


def test_show_tells_the_history_the_sources_and_when_it_fades(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    (known,) = listed(home, capsys)
    assert run(home, "show", known["id"]) == 0
    out = capsys.readouterr().out
    assert "大约 7 天后淡忘" in out
    assert "replaced:" in out and "用户住在杭州" in out
    assert "rests on:" in out and WORDS in out
    assert run(home, "show", "--json", known["id"]) == 0
    (shown,) = rows(capsys)
    assert [one["text"] for one in shown["replaced"]] == ["用户住在杭州"]
    assert [one["text"] for one in shown["sources"]] == [WORDS]
    assert shown["forecast"]["fades"] == "2025-05-27T15:01:00+08:00"


def test_an_exchange_is_shown_with_its_reply_and_with_what_was_understood_of_it(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (known,), (exchange,) = listed(home, capsys), listed(home, capsys, "--kind", "exchange")
    assert run(home, "show", exchange["id"]) == 0
    out = capsys.readouterr().out
    assert WORDS in out.splitlines()[0] and "\n  reply: 哎呀\n" in out
    assert [line for line in out.splitlines() if line.startswith("  understood of it: ") and known["text"] in line]


def test_a_memory_that_is_not_there_is_an_error_in_one_line(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "show", "nothing") == 1
    assert capsys.readouterr().err == "moechat: there is no memory 'nothing'; `moechat memories list` shows them\n"


def test_edit_archive_restore_pin_and_unpin(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    (known,) = listed(home, capsys)
    assert run(home, "edit", "--json", known["id"], "用户住在苏州园区") == 0
    (edited,) = rows(capsys)
    assert (edited["id"], edited["text"], edited["by"]) == (known["id"], "用户住在苏州园区", "owner")
    assert run(home, "pin", known["id"]) == 0
    assert capsys.readouterr().out.startswith("*")
    assert run(home, "unpin", known["id"]) == 0
    assert run(home, "archive", known["id"]) == 0
    assert listed(home, capsys) == []
    assert [one["text"] for one in listed(home, capsys, "--archived")][:1] == ["用户住在苏州园区"]
    assert run(home, "restore", known["id"]) == 0
    assert len(listed(home, capsys)) == 1


def test_add_writes_a_fact_or_an_event(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ["happened=2019-07-15", "place=海边", "keywords=风筝，海", "importance=0.8", "topic=生活->风筝"]
    assert run(home, "add", "event", "放风筝，线断了", "--json", "--set", *keys) == 0
    (made,) = rows(capsys)
    assert (made["kind"], made["by"], made["time"]) == ("event", "owner", "2019-07-15T12:00:00+08:00")
    assert run(home, "show", "--json", made["id"]) == 0
    (told,) = rows(capsys)
    assert (told["place"], told["keywords"], told["importance"]) == ("海边", ["风筝", "海"], 0.8)
    assert (told["topic"], told["sources"]) == ("生活->风筝", [])
    assert run(home, "add", "fact", "用户怕打雷", "--set", "keyword=胆量", "single=true") == 0
    assert "用户怕打雷" in capsys.readouterr().out
    assert {one["text"] for one in listed(home, capsys)} == {"放风筝，线断了", "用户怕打雷", "用户住在苏州"}
    assert run(home, "add", "fact", "用户不怕打雷", "--set", "keyword=胆量", "single=true", "polarity=-1") == 0


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["event", "x", "--set", "happened=soonish"], "happened = 'soonish': write it as 2025-05-20, 2025-05-20T15:03"),
        (["event", "x", "--set", "importance=9"], "importance = '9': expects a number from 0 to 1"),
        (["event", "x", "--set", "plaec=y"], "plaec: unknown key; did you mean place?"),
        (["event", "x", "--set", "time=2020-01-01"], "time: is for the official store alone"),
        (["fact", "x", "--set", "place=y"], "place: unknown key; known: text, kind, entity"),
        (["fact", "x", "--set", "polarity=no"], "polarity = 'no': expects 1 or -1"),
        (["fact", "x", "--set", "polarity"], "--set polarity: write it as KEY=VALUE"),
        (["event", " "], "text = ' ': write it in words"),
    ],
)
def test_add_says_which_key_is_wrong(
    home: Home, capsys: pytest.CaptureFixture[str], args: list[str], told: str
) -> None:
    assert run(home, "add", *args) == 1
    assert told in capsys.readouterr().err
    assert [one["text"] for one in listed(home, capsys)] == ["用户住在苏州"]


def test_forget_asks_first(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = listed(home, capsys, "--kind", "exchange")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert run(home, "forget", said["id"]) == 1
    assert "nothing was forgotten" in capsys.readouterr().err
    assert len(listed(home, capsys, "--kind", "exchange")) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run(home, "forget", said["id"]) == 0
    assert "Erase these 3 for good?" in capsys.readouterr().err
    assert listed(home, capsys, "--kind", "all") == []


def test_forget_yes_does_not_ask_and_leaves_no_byte(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    (said,) = listed(home, capsys, "--kind", "exchange")
    assert run(home, "forget", "--yes", "--json", said["id"]) == 0
    assert {one["text"] for one in rows(capsys)} == {WORDS, "用户住在杭州", "用户住在苏州"}
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    assert [path for path in files if "铜钥匙".encode() in path.read_bytes()] == []


def test_forgetting_what_was_understood_tells_that_the_words_stay(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (said,), (known,) = listed(home, capsys, "--kind", "exchange"), listed(home, capsys)
    assert run(home, "forget", "--yes", known["id"]) == 0
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("what was said stays") and said["id"] in told and WORDS in told
    assert len(listed(home, capsys, "--kind", "exchange")) == 1


def test_a_dry_run_tells_what_goes_what_repeats_it_and_what_stays(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    store = home.store()
    again = told(store, home.clock, "我在找东西", "你的铜钥匙找到了吗", settle=True)
    store.mark_understood([again], "model")
    store.close()
    said = next(one for one in listed(home, capsys, "--kind", "exchange") if one["text"] == WORDS)
    (known,) = listed(home, capsys)
    assert run(home, "edit", known["id"], "用户住在绍兴") == 0
    capsys.readouterr()
    before = {path: path.read_bytes() for path in home.folder.rglob("*.y*ml")} | {
        1: (home.folder / "log.jsonl").read_bytes()
    }
    assert run(home, "forget", "--dry-run", "--json", said["id"]) == 0
    out, err = capsys.readouterr()
    row = json.loads(out)
    assert err == ""
    assert row.pop("files") == []
    assert {name: [one["text"] for one in row[name]] for name in row} == {
        "goes": [WORDS, "用户住在杭州"], "repeats": ["我在找东西"], "stays": ["用户住在绍兴"], "beside": [],
    }  # fmt: skip
    assert run(home, "forget", "--dry-run", said["id"]) == 0
    out, err = capsys.readouterr()
    assert [line.split("] ")[-1] for line in out.splitlines()] == [WORDS, "用户住在杭州"]
    repeats, stays = err.splitlines()
    assert repeats.startswith("this repeats some of the words") and again in repeats
    assert stays.startswith("your own words stay") and known["id"] in stays
    after = {path: path.read_bytes() for path in home.folder.rglob("*.y*ml")} | {
        1: (home.folder / "log.jsonl").read_bytes()
    }
    assert after == before


def test_a_dry_run_of_a_fact_names_the_exchange_that_holds_it_once(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (known,) = listed(home, capsys)
    assert run(home, "forget", "--dry-run", known["id"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("what was said stays") and WORDS in line
    assert listed(home, capsys) == [known]


def test_clean_tells_what_would_go(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "clean", "--dry-run") == 0
    assert capsys.readouterr().out == "0 of 2 would go into the archive (memory is full at 20000)\n"
    assert run(home, "clean", "--json") == 0
    assert capsys.readouterr().out == ""


def test_clean_archives_what_is_weakest_beyond_the_configured_cap(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.configure(embedding={"provider": "hash"}, forgetting={"cap": 2, "share": 0.5})
    assert run(home, "clean", "--dry-run") == 0
    assert "1 of 2 would go into the archive (memory is full at 2)" in capsys.readouterr().out
    assert listed(home, capsys, "--archived") == []
    assert run(home, "clean") == 0
    assert "1 of 2 went into the archive" in capsys.readouterr().out
