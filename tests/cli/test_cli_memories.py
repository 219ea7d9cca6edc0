"""Looking after the memory from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from moechat.model import Fact, FactDraft, RefusedItem
from moechat.store.formats import derived_id
from tests.houses import CHARACTER, Home, told
from tests.shell import Shell

WORDS, NOW = "我丢了铜钥匙", "2025-05-20T16:00"


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


def run(moechat: Shell, *args: str) -> tuple[int, list[str], list[str]]:
    return moechat("memories", *args, "-c", CHARACTER, now=NOW)


def rows(moechat: Shell, *args: str) -> list[dict[str, Any]]:
    return moechat.rows("memories", *args, "-c", CHARACTER, now=NOW)


def lines_of(moechat: Shell, *args: str) -> list[str]:
    status, lines, _ = run(moechat, *args)
    assert status == 0
    return lines


def listed(moechat: Shell, *args: str) -> list[dict[str, Any]]:
    return rows(moechat, "list", *args)


def test_what_was_refused_is_listed_and_counted_by_reason(home: Home, moechat: Shell) -> None:
    assert lines_of(moechat, "list", "--refused") == ["nothing was refused"]
    store = home.store()
    (source,) = store.tree.parents
    texts = ("用户住在火星", "用户住在月亮上")
    store.findings.refuse([RefusedItem("fact", text, "evidence", (source,)) for text in texts])
    store.findings.refuse([RefusedItem("event", "甲不去丁了", "example", (source,))])
    store.close()
    newest, *_ = listed(moechat, "--refused")
    assert (newest["kind"], newest["text"], newest["why"], newest["sources"]) == (
        "event", "甲不去丁了", "example", [source],
    )  # fmt: skip
    *_, counted = lines_of(moechat, "list", "--refused")
    assert counted == "not borne out: 2; copied from the prompt: 1"


def test_list_shows_what_is_remembered(moechat: Shell) -> None:
    (known,) = listed(moechat)
    assert (known["kind"], known["text"], known["strength"], known["archived"]) == ("fact", "用户住在苏州", 1, False)
    assert [one["text"] for one in listed(moechat, "--kind", "exchange")] == [WORDS]
    assert len(listed(moechat, "--kind", "all")) == 2
    assert [one["kind"] for one in listed(moechat, "--kind", "all", "--search", "铜钥匙")] == ["exchange"]
    assert "… 1 more (--offset 1)" in lines_of(moechat, "list", "--kind", "all", "--limit", "1")


def test_show_tells_the_history_the_sources_and_when_it_fades(moechat: Shell) -> None:
    (known,) = listed(moechat)
    out = "\n".join(lines_of(moechat, "show", known["id"]))
    assert "大约 7 天后淡忘" in out
    assert "replaced:" in out and "用户住在杭州" in out
    assert "rests on:" in out and WORDS in out
    (shown,) = rows(moechat, "show", known["id"])
    assert [one["text"] for one in shown["replaced"]] == ["用户住在杭州"]
    assert [one["text"] for one in shown["sources"]] == [WORDS]
    assert shown["forecast"]["fades"] == "2025-05-27T15:01:00+08:00"


def test_an_exchange_is_shown_with_its_reply_and_with_what_was_understood_of_it(moechat: Shell) -> None:
    (known,), (exchange,) = listed(moechat), listed(moechat, "--kind", "exchange")
    lines = lines_of(moechat, "show", exchange["id"])
    assert WORDS in lines[0] and "  reply: 哎呀" in lines
    assert [line for line in lines if line.startswith("  understood of it: ") and known["text"] in line]


def test_a_memory_that_is_not_there_is_an_error_in_one_line(moechat: Shell) -> None:
    missing = "moechat: there is no memory 'nothing'; `moechat memories list` shows them"
    assert run(moechat, "show", "nothing") == (1, [], [missing])


def test_edit_archive_restore_pin_and_unpin(moechat: Shell) -> None:
    (known,) = listed(moechat)
    (edited,) = rows(moechat, "edit", known["id"], "用户住在苏州园区")
    assert (edited["id"], edited["text"], edited["by"]) == (known["id"], "用户住在苏州园区", "owner")
    assert lines_of(moechat, "pin", known["id"])[0].startswith("*")
    lines_of(moechat, "unpin", known["id"])
    lines_of(moechat, "archive", known["id"])
    assert listed(moechat) == []
    assert [one["text"] for one in listed(moechat, "--archived")][:1] == ["用户住在苏州园区"]
    lines_of(moechat, "restore", known["id"])
    assert len(listed(moechat)) == 1


def test_add_writes_a_fact_or_an_event(moechat: Shell) -> None:
    keys = ["happened=2019-07-15", "place=海边", "keywords=风筝，海", "importance=0.8", "topic=生活->风筝"]
    (made,) = rows(moechat, "add", "event", "放风筝，线断了", "--set", *keys)
    assert (made["kind"], made["by"], made["time"]) == ("event", "owner", "2019-07-15T12:00:00+08:00")
    (told,) = rows(moechat, "show", made["id"])
    assert (told["place"], told["keywords"], told["importance"]) == ("海边", ["风筝", "海"], 0.8)
    assert (told["topic"], told["sources"]) == ("生活->风筝", [])
    afraid = lines_of(moechat, "add", "fact", "用户怕打雷", "--set", "keyword=胆量", "single=true")
    assert "用户怕打雷" in "\n".join(afraid)
    assert {one["text"] for one in listed(moechat)} == {"放风筝，线断了", "用户怕打雷", "用户住在苏州"}
    lines_of(moechat, "add", "fact", "用户不怕打雷", "--set", "keyword=胆量", "single=true", "polarity=-1")


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
def test_add_says_which_key_is_wrong(moechat: Shell, args: list[str], told: str) -> None:
    status, _, errors = run(moechat, "add", *args)
    assert status == 1 and told in "\n".join(errors)
    assert [one["text"] for one in listed(moechat)] == ["用户住在苏州"]


def test_forget_asks_first(moechat: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (said,) = listed(moechat, "--kind", "exchange")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    status, _, errors = run(moechat, "forget", said["id"])
    assert status == 1 and "nothing was forgotten" in errors[-1]
    assert len(listed(moechat, "--kind", "exchange")) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    status, _, errors = run(moechat, "forget", said["id"])
    assert status == 0 and "Erase these 3 for good?" in errors[-1]
    assert listed(moechat, "--kind", "all") == []


def test_forget_yes_does_not_ask_and_leaves_no_byte(home: Home, moechat: Shell) -> None:
    (said,) = listed(moechat, "--kind", "exchange")
    gone = rows(moechat, "forget", "--yes", said["id"])
    assert {one["text"] for one in gone} == {WORDS, "用户住在杭州", "用户住在苏州"}
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    assert [path for path in files if "铜钥匙".encode() in path.read_bytes()] == []


def test_forgetting_what_was_understood_tells_that_the_words_stay(moechat: Shell) -> None:
    (said,), (known,) = listed(moechat, "--kind", "exchange"), listed(moechat)
    status, _, (told,) = run(moechat, "forget", "--yes", known["id"])
    assert status == 0 and told.startswith("what was said stays") and said["id"] in told and WORDS in told
    assert len(listed(moechat, "--kind", "exchange")) == 1


def test_a_dry_run_tells_what_goes_what_repeats_it_and_what_stays(home: Home, moechat: Shell) -> None:
    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in [*home.folder.rglob("*.y*ml"), home.folder / "log.jsonl"]}

    store = home.store()
    again = told(store, home.clock, "我在找东西", "你的铜钥匙找到了吗", settle=True)
    store.mark_understood([again], "model")
    store.close()
    said = next(one for one in listed(moechat, "--kind", "exchange") if one["text"] == WORDS)
    (known,) = listed(moechat)
    lines_of(moechat, "edit", known["id"], "用户住在绍兴")
    before = files()
    status, (line,), errors = run(moechat, "forget", "--dry-run", "--json", said["id"])
    row = json.loads(line)
    assert (status, errors, row.pop("files")) == (0, [], [])
    assert {name: [one["text"] for one in row[name]] for name in row} == {
        "goes": [WORDS, "用户住在杭州"], "repeats": ["我在找东西"], "stays": ["用户住在绍兴"], "beside": [],
    }  # fmt: skip
    status, lines, (repeats, stays) = run(moechat, "forget", "--dry-run", said["id"])
    assert status == 0 and [line.split("] ")[-1] for line in lines] == [WORDS, "用户住在杭州"]
    assert repeats.startswith("this repeats some of the words") and again in repeats
    assert stays.startswith("your own words stay") and known["id"] in stays
    assert files() == before


def test_a_dry_run_of_a_fact_names_the_exchange_that_holds_it_once(moechat: Shell) -> None:
    (known,) = listed(moechat)
    status, _, (line,) = run(moechat, "forget", "--dry-run", known["id"])
    assert status == 0 and line.startswith("what was said stays") and WORDS in line
    assert listed(moechat) == [known]


def test_clean_tells_what_would_go(moechat: Shell) -> None:
    would = "0 of 2 would go into the archive (memory is full at 20000)"
    assert lines_of(moechat, "clean", "--dry-run") == [would]
    assert rows(moechat, "clean") == []


def test_clean_archives_what_is_weakest_beyond_the_configured_cap(home: Home, moechat: Shell) -> None:
    home.configure(embedding={"provider": "hash"}, forgetting={"cap": 2, "share": 0.5})
    would = "1 of 2 would go into the archive (memory is full at 2)"
    assert would in lines_of(moechat, "clean", "--dry-run")
    assert listed(moechat, "--archived") == []
    assert "1 of 2 went into the archive" in "\n".join(lines_of(moechat, "clean"))
