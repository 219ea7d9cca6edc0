"""One owner's files: turns, changes of mind, hand edits, crashes, two processes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from moechat.errors import DataError
from moechat.memory import context
from moechat.model import Event, Fact, FactDraft, Understanding
from moechat.store import formats, records
from moechat.store.entries import edit_entry
from moechat.store.files import FileStore
from moechat.store.finding_records import visible
from moechat.store.formats import text_hash
from tests.houses import ANOTHER_PROCESS, ZONE, Home, day_files, edit, imported, moment, told

DAY = "memorys/2025-05-20.yaml"
NOTES = "memorys/2025-05-20.notes.yaml"


def log_of(store: FileStore) -> list[dict]:
    return [json.loads(line) for line in (store.folder / "log.jsonl").read_bytes().splitlines()]


def words(store: FileStore) -> list[tuple[str, str]]:
    """The context as people read it."""
    return [(e.user, e.char) for e in context.path(store)]


def known(store: FileStore, *ids: str) -> dict[str, str]:
    return {id_: row.exchange.user for id_, row in store.exchanges.by_ids(ids).items() if id_ not in store.hidden()}


def understood(
    store: FileStore,
    *ids: str,
    facts: dict[str, tuple[str, ...]] | None = None,
    events: dict[str, tuple[str, ...]] | None = None,
    by: str = "model",
) -> None:
    """Understand exchanges as a model would: fact or event → its sources."""
    drafts = [FactDraft(text, sources) for text, sources in (facts or {}).items()]
    at = {id_: store.exchanges.get(id_).at for id_ in ids}
    new = [Fact(formats.derived_id(d.text, d.sources), at[d.sources[0]], d, (), by) for d in drafts]  # type: ignore[arg-type]
    happened = tuple(Event(text, sources) for text, sources in (events or {}).items())
    tags = {id_: f"标签 {store.exchanges.get(id_).user}" for id_ in ids}
    understanding = Understanding(tags, {}, tuple(drafts), happened, by=by)  # type: ignore[arg-type]
    store.findings.merge(list(ids), understanding, new, {})


def facts(store: FileStore) -> list[str]:
    return [fact.text for fact in visible(store.findings.facts(), store.hidden())]


def episodes(store: FileStore, *ids: str) -> list[str]:
    return [episode.event.text for episode in store.findings.citing(ids)]


def stated_once(folder: Path) -> dict[str, int]:
    """How often each id stands in the day files."""
    count: dict[str, int] = {}
    for path in day_files(folder):
        _, parsed = records.read(path)
        assert not parsed.problems, parsed.problems
        for record in parsed.records:
            count[record.key] = count.get(record.key, 0) + 1
    return count


# ---- the plain life of an exchange


def test_an_exchange_is_durable_before_its_reply_and_filed_once_it_settles(home: Home, store: FileStore) -> None:
    id_ = store.log.begin("你好", home.clock.now())
    assert [(e["op"], e["at"]) for e in log_of(store)] == [("exchange", "2025-05-20T15:00:00+08:00")]
    store.log.finish(id_, "嗨", "done")
    assert not day_files(home.folder)
    assert store.log.settle() == [id_]
    record, stamp = (home.folder / DAY).read_text(encoding="utf-8"), store.exchanges.get(id_).stamp
    assert len(stamp) == 16 and record == (
        f"{id_}:\n  time: 2025-05-20T15:00:00+08:00\n  stamp: {stamp}\n  msg:\n    user: |-\n      你好\n    char: |-\n      嗨\n"
    )
    assert store.log.settle() == []


@pytest.mark.parametrize("status", ["stopped", "failed"])
def test_a_reply_that_did_not_end_well_is_stored_as_such(home: Home, store: FileStore, status: str) -> None:
    id_ = store.log.begin("你好", home.clock.now())
    store.log.finish(id_, "说到一", status, error="broken off")  # type: ignore[arg-type]
    store.log.settle()
    fresh = home.store()
    assert (fresh.exchanges.get(id_).char, fresh.exchanges.get(id_).status) == ("说到一", status)


def test_a_streaming_exchange_never_settles_before_its_reply_ends(home: Home, store: FileStore) -> None:
    id_ = store.log.begin("在吗", home.clock.now())
    assert store.log.settle() == []
    other = home.store()
    assert other.log.settle() == []
    other.close()
    store.log.finish(id_, "在", "done")
    assert store.log.settle() == [id_]


def test_messages_of_one_second_get_ids_of_their_own(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, str(i), seconds=0) for i in range(3)]
    store.log.settle()
    assert len(set(ids)) == 3
    assert stated_once(home.folder) == dict.fromkeys(ids, 1)


def test_a_day_in_the_configured_zone_has_its_own_file(home: Home, store: FileStore) -> None:
    home.clock.at = moment("2025-05-20T23:59:59")
    told(store, home.clock, "今天", seconds=2)
    told(store, home.clock, "明天", settle=True)
    assert [p.name for p in day_files(home.folder)] == ["2025-05-20.yaml", "2025-05-21.yaml"]


AWKWARD = [
    "你好\r\n在吗", "  两个空格\n\n", "{{user}}：你\n{{char}}：我", "\x00\x85\u2028\ufeff", "key: - value #",
    "时间：2025-5-20 15:00:00\n",
]  # fmt: skip


@pytest.mark.parametrize("text", AWKWARD, ids=repr)
def test_words_are_stored_as_they_were_said(home: Home, store: FileStore, text: str) -> None:
    id_ = told(store, home.clock, text, text, settle=True)
    fresh = home.store_anew()
    assert (fresh.exchanges.get(id_).user, fresh.exchanges.get(id_).char) == (text, text)
    assert (fresh.exchanges.by_ids([id_])[id_].exchange.user, fresh.problems) == (text, [])


def test_the_index_folder_can_be_deleted_and_is_made_anew_the_same(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, f"第{i}句", settle=True, hours=13) for i in range(5)]
    understood(store, ids[0], ids[1], facts={"住杭州": (ids[0],)}, events={"吃火锅": (ids[0], ids[1])})
    fresh = home.store_anew()
    assert list(known(fresh, *ids)) == ids
    assert facts(fresh) == ["住杭州"]
    assert episodes(fresh, ids[1]) == ["吃火锅"]
    assert fresh.exchanges.by_ids(ids)[ids[0]].tag == "标签 第0句"


def test_a_damaged_cache_is_thrown_away(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "你好", settle=True)
    store.close()
    for suffix in ("-wal", "-shm"):
        (home.folder / ".index" / f"cache.db{suffix}").unlink(missing_ok=True)
    (home.folder / ".index" / "cache.db").write_bytes(b"rubbish" * 1000)
    fresh = home.store()
    assert known(fresh, id_) == {id_: "你好"}


# ---- hard case 1: regenerate, correct, branch


def test_a_reply_regenerated_three_times_leaves_one_settled_exchange_and_one_touch(
    home: Home, store: FileStore
) -> None:
    old = told(store, home.clock, "我讨厌香菜", settle=True)
    hits = [{"id": old, "layer": "diary"}]
    id_ = store.log.begin("我讨厌吃什么", home.clock.now())
    store.log.finish(id_, "不知道", "done", hits=hits)
    for reply in ("猪肉", "鱼", "香菜"):
        store.log.answer_again(id_)
        store.log.finish(id_, reply, "done", hits=hits)
    assert [v.char for v in store.tree.nodes[id_].variants] == ["不知道", "猪肉", "鱼", "香菜"]
    store.log.settle()
    store.log.settle()
    assert stated_once(home.folder) == {old: 1, id_: 1}
    assert store.exchanges.get(id_).char == "香菜"
    assert store.state.access[old][1] == 1
    fresh = home.store()
    assert (fresh.exchanges.get(id_).char, fresh.state.access[old][1], words(fresh)[-1]) == (
        "香菜",
        1,
        ("我讨厌吃什么", "香菜"),
    )


def test_only_the_reply_that_stands_touches(home: Home, store: FileStore) -> None:
    id_ = store.log.begin("嗯", home.clock.now())
    store.log.finish(id_, "好", "done", hits=[{"id": "first"}])
    store.log.finish(id_, "很好", "done", hits=[{"id": "second"}])
    store.log.settle()
    assert set(store.state.access) == {"second"}


def test_regenerating_that_fails_keeps_the_reply_that_stood(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "你好", "嗨")
    store.log.answer_again(id_)
    store.log.finish(id_, "", "failed", error="no route")
    assert store.exchanges.get(id_).char == "嗨"
    store.log.settle()
    store.log.answer_again(id_)
    store.log.finish(id_, "", "failed", error="no route")
    assert store.exchanges.get(id_).char == "嗨"
    assert "      嗨\n" in (home.folder / DAY).read_text(encoding="utf-8")


def test_regenerating_a_settled_reply_is_a_correction_of_it(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "你好", "嗨", settle=True)
    understood(store, id_, facts={"打过招呼": (id_,)})
    store.log.answer_again(id_)
    store.log.finish(id_, "早上好", "done")
    assert words(store) == [("你好", "早上好")]
    assert stated_once(home.folder) == {id_: 1}
    assert facts(store) == []
    assert store.tree.pending() == [id_]


def test_choosing_another_reply_after_it_settled_changes_the_day_file(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "你好", "嗨")
    store.log.answer_again(id_)
    store.log.finish(id_, "早", "done")
    store.log.settle()
    store.log.select(id_, 0)
    assert words(store) == [("你好", "嗨")]
    assert "      嗨\n" in (home.folder / DAY).read_text(encoding="utf-8")


def test_correcting_an_older_message_keeps_what_follows_and_drops_what_rested_on_it(
    home: Home, store: FileStore
) -> None:
    a, b, c = (told(store, home.clock, text, settle=True) for text in ("我住在杭州", "我喜欢猫", "今天下雨"))
    understood(
        store, a, b, c,
        facts={"住在杭州": (a,), "喜欢猫": (b,)},
        events={"下雨了": (c,), "住杭州又喜欢猫": (a, b)},
    )  # fmt: skip
    assert store.tree.pending() == []
    store.log.correct(a, user="我住在苏州")
    assert [user for user, _ in words(store)] == ["我住在苏州", "我喜欢猫", "今天下雨"]
    assert facts(store) == ["喜欢猫"]
    assert episodes(store, a, b, c) == ["下雨了"]
    assert set(store.tree.pending()) == {a, b}, "its other sources and itself are understood again"
    everything = b"".join(p.read_bytes() for p in home.folder.rglob("*.y*ml")).decode()
    assert "住在杭州" not in everything, "nothing keeps words that were taken back"
    assert store.exchanges.by_ids([c])[c].tag == "标签 今天下雨"


def test_correcting_before_settling_and_correcting_a_reply(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "打错字", "嗯")
    store.log.correct(id_, user="打对字")
    store.log.settle()
    store.log.correct(id_, char="好")
    assert words(store) == [("打对字", "好")]
    assert stated_once(home.folder) == {id_: 1}


def test_each_branch_sees_its_own_path_and_what_was_remembered_before_the_fork(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我叫阿明")
    b = told(store, home.clock, "我住在杭州", settle=True)
    understood(store, a, b, facts={"叫阿明": (a,), "住在杭州": (b,)})
    store.log.select(a)
    c = told(store, home.clock, "我住在苏州", settle=True)
    understood(store, c, facts={"住在苏州": (c,)})
    assert [u for u, _ in words(store)] == ["我叫阿明", "我住在苏州"]
    assert sorted(facts(store)) == ["住在苏州", "叫阿明"]
    assert set(known(store, a, b, c)) == {a, c}
    store.log.select(b)
    assert [u for u, _ in words(store)] == ["我叫阿明", "我住在杭州"]
    assert sorted(facts(store)) == ["住在杭州", "叫阿明"]
    assert set(known(store, a, b, c)) == {a, b}


def test_a_fact_superseded_on_one_branch_stands_on_the_other(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    understood(store, a, facts={"住在杭州": (a,)})
    (old,) = store.findings.facts()
    b = told(store, home.clock, "我搬到苏州了", settle=True)
    draft = FactDraft("住在苏州", (b,))
    store.findings.merge(
        [b],
        Understanding({b: ""}),
        [Fact(formats.derived_id(draft.text, (b,)), home.clock.now(), draft, (old.id,))],
        {},
    )
    assert facts(store) == ["住在苏州"]
    store.log.select(a)
    assert facts(store) == ["住在杭州"]
    store.log.select(b)
    store.log.retract(b)
    assert facts(store) == ["住在杭州"], "taking the new one back brings the old one up again"


def test_a_fact_that_two_exchanges_state_outlives_understanding_one_of_them_anew(home: Home, store: FileStore) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("我讨厌香菜", "说过了，我讨厌香菜"))
    understood(store, a, facts={"讨厌香菜": (a,)})
    (fact,) = store.findings.facts()
    store.findings.merge([b], Understanding({b: ""}, by="rules"), [], {fact.id: [b]}, understood=False)
    assert store.findings.facts()[0].draft.sources == (a, b)
    understood(store, b)  # the model was told what is known, and repeats nothing
    assert facts(store) == ["讨厌香菜"]


def test_what_the_owner_wrote_is_never_replaced(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    understood(store, a, facts={"住在杭州": (a,)}, events={"搬家": (a,)})
    edit(home.folder / "core_mem.yml", "住在杭州", "住在杭州西湖边")
    edit(home.folder / NOTES, "text: 搬家", "text: 从苏州搬来")
    store.follow()
    understood(store, a, facts={"别的": (a,)}, events={"别的事": (a,)})
    assert sorted(facts(store)) == ["住在杭州西湖边", "别的"]
    assert sorted(episodes(store, a)) == ["从苏州搬来", "别的事"]
    (event,) = [e for e in store.findings.citing([a]) if e.by == "owner"]
    store.log.correct(a, user="我住在苏州")
    (fact,) = store.findings.facts()
    assert (fact.text, fact.draft.sources) == ("住在杭州西湖边", ())
    assert episodes(store, a) == []
    (mine,) = store.findings.by_ids([event.id]).values()
    assert mine.event.text == "从苏州搬来" and a not in mine.event.sources


def test_retracting_hides_the_exchange_and_restoring_brings_it_back_to_be_understood(
    home: Home, store: FileStore
) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("秘密", "别的"))
    understood(store, a, b, facts={"有秘密": (a,)}, events={"两件事": (a, b)})
    store.log.retract(a)
    assert [u for u, _ in words(store)] == ["别的"]
    assert (facts(store), episodes(store, a, b), known(store, a)) == ([], [], {})
    assert store.tree.pending() == [b]
    store.log.restore(a)
    assert [u for u, _ in words(store)] == ["秘密", "别的"]
    assert set(store.tree.pending()) == {a, b}


# ---- hard case 2: the day file edited by hand between two turns


def broken(path: Path) -> bytes:
    edit(path, "  msg:\n", "  msg: [\n")
    return path.read_bytes()


def test_a_right_edit_is_a_correction(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    understood(store, a, facts={"住在杭州": (a,)})
    edit(home.folder / DAY, "我住在杭州", "我住在苏州市")
    home.clock.advance(minutes=1)
    b = told(store, home.clock, "第二轮")
    store.follow()
    assert [u for u, _ in words(store)] == ["我住在苏州市", "第二轮"]
    assert facts(store) == []
    assert store.tree.pending() == [a]
    store.log.settle()
    assert stated_once(home.folder) == {a: 1, b: 1}


def test_what_was_understood_while_an_edit_was_cut_short_is_dropped(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    new = replace(store.exchanges.get(a), user="我住在苏州市")
    store.record([edit_entry(new), {"op": "filed", "id": a, "sha": text_hash(new)}])
    understood(store, a, facts={"住在杭州": (a,)})  # The cache has the old words still.
    edit(home.folder / DAY, "我住在杭州", "我住在苏州市")
    store.follow()
    assert facts(store) == []
    assert store.tree.pending() == [a]


def test_a_wrong_edit_is_named_never_overwritten_and_new_records_wait_until_it_parses(
    home: Home, store: FileStore
) -> None:
    a = told(store, home.clock, "第一轮", settle=True)
    b = told(store, home.clock, "第二轮", settle=True)
    path = home.folder / DAY
    whole = path.read_text(encoding="utf-8")
    wrong = broken(path)
    c, d = told(store, home.clock, "第三轮"), told(store, home.clock, "第四轮", settle=True)
    assert path.read_bytes() == wrong
    (problem,) = store.problems
    assert (problem.file, problem.line in (3, 4, 5)) == (str(path), True)
    assert {n.id for n in store.tree.unfiled()} == {c, d}
    assert [u for u, _ in words(store)] == ["第一轮", "第二轮", "第三轮", "第四轮"]
    fresh = home.store()
    assert ([u for u, _ in words(fresh)][-1], path.read_bytes()) == ("第四轮", wrong)
    fresh.close()
    path.write_text(whole.replace("第一轮", "第一轮，改过"), encoding="utf-8")
    store.follow()
    store.log.settle()
    assert store.problems == []
    assert stated_once(home.folder) == dict.fromkeys([a, b, c, d], 1)
    assert [u for u, _ in words(store)] == ["第一轮，改过", "第二轮", "第三轮", "第四轮"]


def test_a_correction_while_the_day_file_is_broken_waits_in_the_log(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "第一轮", settle=True)
    path = home.folder / DAY
    whole = path.read_text(encoding="utf-8")
    wrong = broken(path)
    store.follow()
    store.log.correct(a, user="改好的第一轮")
    assert path.read_bytes() == wrong
    assert words(store) == [("改好的第一轮", "好。")]
    path.write_text(whole, encoding="utf-8")
    store.follow()
    store.log.settle()
    assert words(store) == [("改好的第一轮", "好。")]
    assert "改好的第一轮" in path.read_text(encoding="utf-8")
    assert stated_once(home.folder) == {a: 1}


def test_another_days_file_is_not_held_up_by_a_broken_one(home: Home, store: FileStore) -> None:
    told(store, home.clock, "第一天", settle=True)
    broken(home.folder / DAY)
    home.clock.advance(days=1)
    b = told(store, home.clock, "第二天", settle=True)
    assert b in (home.folder / "memorys" / "2025-05-21.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "wrong",
    ["a: [\n", "\ufffd\n", "just words\n", "x: {msg: {user: 好}, time: 昨天}\n", "x: {time: 2025-05-20T10:00:00}\n"],
)
def test_a_broken_record_costs_itself_alone_and_is_named_by_line(home: Home, store: FileStore, wrong: str) -> None:
    a = told(store, home.clock, "第一轮", settle=True)
    path = home.folder / DAY
    with open(path, "a", encoding="utf-8") as file:
        file.write(wrong)
    store.follow()
    assert known(store, a) == {a: "第一轮"}
    assert [(p.file, p.line is not None and p.line >= 6) for p in store.problems] == [(str(path), True)]


def test_a_broken_core_memory_is_named_never_overwritten_and_stops_no_talk(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    understood(store, a, facts={"住在杭州": (a,)})
    path = home.folder / "core_mem.yml"
    with open(path, "a", encoding="utf-8") as file:
        file.write("x: [\n")
    wrong = path.read_bytes()
    store.follow()
    b = told(store, home.clock, "我喜欢猫", settle=True)
    with pytest.raises(DataError, match=r"core_mem\.yml"):
        understood(store, b, facts={"喜欢猫": (b,)})
    assert store.tree.pending() == [b], "it stays queued"
    assert path.read_bytes() == wrong
    edit(path, "x: [\n", "")
    store.follow()
    understood(store, b, facts={"喜欢猫": (b,)})
    assert facts(store) == ["住在杭州", "喜欢猫"]


def test_a_day_file_can_be_edited_while_core_memory_is_broken(home: Home, store: FileStore) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("我住在杭州", "我喜欢猫"))
    understood(store, a, b, facts={"住在杭州": (a,), "喜欢猫": (b,)})
    core = home.folder / "core_mem.yml"
    with open(core, "a", encoding="utf-8") as file:
        file.write("x: [\n")
    edit(home.folder / DAY, "我住在杭州", "我住在苏州市")
    store.follow()
    assert [u for u, _ in words(store)] == ["我住在苏州市", "我喜欢猫"]
    store.log.retract(b)
    assert [u for u, _ in words(store)] == ["我住在苏州市"]
    edit(core, "x: [\n", "")
    store.follow()
    understood(store, a)
    assert facts(store) == [], "nothing keeps words that were taken back"


# ---- records that hands add, move and delete


def test_a_record_added_by_hand_may_use_any_key(home: Home, store: FileStore) -> None:
    told(store, home.clock, "第一轮", settle=True)
    with open(home.folder / DAY, "a", encoding="utf-8") as file:
        file.write(
            "奶奶的话:\n  msg: {user: 奶奶说要多穿衣, char: ''}\nno:\n  time: 2025-05-20 09:30\n  msg: {user: 早, char: 早}\n"
        )
    store.follow()
    rows = store.exchanges.by_ids(["奶奶的话", "no"])
    assert (rows["奶奶的话"].exchange.user, rows["奶奶的话"].exchange.at) == (
        "奶奶说要多穿衣",
        moment("2025-05-20T12:00:00"),
    )
    assert rows["no"].exchange.at == moment("2025-05-20T09:30:00")
    assert store.problems == []


def test_a_record_by_hand_can_be_edited_and_what_cites_it_is_dropped(home: Home, store: FileStore) -> None:
    (home.folder / "memorys").mkdir()
    (home.folder / DAY).write_text("x: {msg: {user: 我住在杭州, char: 嗯}}\n", encoding="utf-8")
    store.follow()
    understood(store, "x", facts={"住在杭州": ("x",)})
    assert facts(store) == ["住在杭州"]
    edit(home.folder / DAY, "我住在杭州", "我住在苏州市")
    store.follow()
    assert known(store, "x") == {"x": "我住在苏州市"}
    assert facts(store) == []


def test_a_record_deleted_by_hand_is_not_recalled_what_cites_it_is_hidden_and_it_may_come_back(
    home: Home, store: FileStore
) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("秘密", "别的"))
    understood(store, a, b, facts={"有秘密": (a,), "有别的": (b,)})
    path = home.folder / DAY
    whole = path.read_text(encoding="utf-8")
    _, parsed = records.read(path)
    path.write_bytes(records.spliced(path.read_bytes(), parsed.bounds, {a: None}))
    store.follow()
    assert known(store, a, b) == {b: "别的"}
    assert facts(store) == ["有别的"]
    assert a in store.state.missing
    assert [u for u, _ in words(store)] == ["别的"]
    fresh = home.store()
    assert (known(fresh, a, b), facts(fresh)) == ({b: "别的"}, ["有别的"])
    fresh.close()
    path.write_text(whole, encoding="utf-8")
    store.follow()
    assert known(store, a, b) == {a: "秘密", b: "别的"}
    assert facts(store) == ["有秘密", "有别的"]
    assert not store.state.missing


def test_a_deleted_day_file_is_noticed_and_its_day_can_be_written_again(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "第一轮", settle=True)
    (home.folder / DAY).unlink()
    store.follow()
    assert known(store, a) == {}
    b = told(store, home.clock, "第二轮", settle=True)
    assert stated_once(home.folder) == {b: 1}


@pytest.mark.parametrize("other", ["2025-05-19.yaml", "2025-05-21.yaml", "2025-5-20.yaml", "from my phone.yaml"])
def test_a_record_moved_to_another_file_by_hand_is_still_there(home: Home, store: FileStore, other: str) -> None:
    a = told(store, home.clock, "第一轮", settle=True)
    (home.folder / DAY).rename(home.folder / "memorys" / other)
    store.follow()
    assert known(store, a) == {a: "第一轮"}
    assert not store.state.missing
    home.clock.advance(days=2)
    told(store, home.clock, "后来", settle=True)
    assert stated_once(home.folder)[a] == 1


def test_other_bytes_of_a_day_file_stay_when_a_record_is_corrected(home: Home, store: FileStore) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("第一轮", "第二轮"))
    path = home.folder / DAY
    text = path.read_text(encoding="utf-8")
    path.write_text("# 我的日记\n" + text.replace(f"{b}:", f"# 下午\n{b}:   # 重要"), encoding="utf-8")
    store.follow()
    store.log.correct(a, user="改")
    after = path.read_text(encoding="utf-8")
    assert after.startswith("# 我的日记\n")
    assert f"{b}:   # 重要" in after
    assert [u for u, _ in words(store)] == ["改", "第二轮"]


def test_archived_exchanges_are_hidden_until_they_are_restored(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "秘密", settle=True)
    with store.writing():
        store.state.write([{"op": "archive", "ids": [a]}])
    assert known(store, a) == {}
    with store.writing():
        store.state.write([{"op": "restore", "ids": [a]}])
    assert known(store, a) == {a: "秘密"}


def test_imported_exchanges_are_on_every_path(home: Home, store: FileStore) -> None:
    imported(store, ("2025-05-01T10:00:00", "劳动节", "放假啦"))
    a = told(store, home.clock, "一")
    told(store, home.clock, "二", settle=True)
    store.log.select(a)
    told(store, home.clock, "三")
    assert known(store, "20250501-100000") == {"20250501-100000": "劳动节"}


# ---- long logs


def test_a_long_log_is_folded_and_says_the_same(home: Home, store: FileStore) -> None:
    ids, entries, parent = [], [], None
    for i in range(510):  # written at once: 510 turns would sync the disk 2,000 times
        at = home.clock.now()
        id_ = at.strftime("%Y%m%d-%H%M%S")
        entries += [
            {"op": "exchange", "id": id_, "parent": parent, "at": at.isoformat(), "user": f"旧{i}"},
            {"op": "variant", "id": id_, "char": "嗯", "status": "done", "hits": []},
            {"op": "settle", "id": id_},
        ]
        ids.append(id_)
        parent = id_
        home.clock.advance(minutes=10)
    with store.writing():
        store.record(entries)
        store.days.add([store.tree.nodes[id_].exchange() for id_ in ids])
        store.record([{"op": "filed", "id": e.id, "sha": formats.text_hash(e)} for e in map(store.exchanges.get, ids)])
    store.mark_understood(ids, "rules")
    home.clock.advance(days=10)
    last = told(store, home.clock, "新", settle=True)
    before = words(store)
    size = (home.folder / "log.jsonl").stat().st_size
    assert store.compact()
    assert (home.folder / "log.jsonl").stat().st_size < size / 3
    assert words(store) == before
    other = home.store()
    assert (words(other), other.tree.pending()) == (before, [last])
    store.log.correct(ids[3], user="改了的旧话")
    store.log.retract(ids[4])
    other.follow()
    texts = [u for u, _ in words(other)]
    assert "改了的旧话" in texts
    assert "旧3" not in texts
    assert "旧4" not in texts
    assert set(other.tree.pending()) == {ids[3], last}
    store.log.restore(ids[4])
    other.follow()
    assert set(other.tree.pending()) == {ids[3], ids[4], last}
    (home.folder / DAY).unlink()  # words that were folded are in the day file alone: gone with it, and nothing else is
    fresh = home.store_anew()
    assert [u for u, _ in words(fresh)][-1] == "新"


# ---- crashes: what was reported done is there exactly once


def state_after(home: Home, **files: bytes) -> tuple[dict[str, int], list[tuple[str, str]], FileStore]:
    """What a copy of the memory says in which these files are otherwise."""
    folder = home.data.parent / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home.folder, folder, ignore=shutil.ignore_patterns(".index", ".lock"))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    store = FileStore(folder, clock=home.clock, zone=ZONE)
    store.log.settle()
    return stated_once(folder), words(store), store


def test_a_log_torn_at_any_byte_of_its_last_append_keeps_every_finished_exchange(home: Home, store: FileStore) -> None:
    done = told(store, home.clock, "第一轮", settle=True)
    log = home.folder / "log.jsonl"
    start = log.stat().st_size
    id_ = store.log.begin("第二轮", home.clock.now())
    begun = log.stat().st_size
    store.log.finish(id_, "好呀", "done")
    store.close()
    data = log.read_bytes()
    for cut in range(start, len(data) + 1):
        count, said, after = state_after(home, **{"log.jsonl": data[:cut]})
        expected = [("第一轮", "好。")]
        if cut >= begun:
            expected.append(("第二轮", "好呀" if cut == len(data) else ""))
        assert said == expected, cut
        assert count == ({done: 1} if cut < begun else {done: 1, id_: 1}), cut
        assert not after.problems
        after.close()


@pytest.mark.parametrize("name", [DAY, "memorys/2025-05-20.2.yaml"])
def test_a_day_file_torn_at_any_byte_of_its_last_append_is_mended_from_the_log(home: Home, name: str) -> None:
    if name != DAY:  # MoeChat's own file of the day is there: ours stands beside it
        (home.folder / "memorys").mkdir()
        (home.folder / DAY).write_text(
            "1747710000: {text_tag: '', msg: '时间：2025-5-20 11:00:00\n\n  {{user}}：早\n\n  {{char}}：早'}\n"
        )
    store = home.store()
    done = told(store, home.clock, "第一轮", settle=True)
    path = home.folder / name
    start = path.stat().st_size
    id_ = told(store, home.clock, "第二轮\n两行", settle=True)
    store.close()
    data = path.read_bytes()
    log = (home.folder / "log.jsonl").read_bytes().splitlines(keepends=True)
    assert json.loads(log[-1])["op"] == "filed"
    for cut in range(start, len(data) + 1):
        count, said, after = state_after(home, **{name: data[:cut], "log.jsonl": b"".join(log[:-1])})
        assert {k: v for k, v in count.items() if not k.startswith("17")} == {done: 1, id_: 1}, cut
        assert said[-1] == ("第二轮\n两行", "好。"), cut
        assert not after.problems, cut
        assert not after.tree.unfiled()
        after.close()


def test_a_process_that_died_in_its_reply_leaves_a_marked_exchange(home: Home) -> None:
    script = f"""{ANOTHER_PROCESS}
store.log.finish(store.log.begin("说完了", clock.now()), "嗯", "done")
clock.advance(minutes=1)
store.log.begin("说到一半", clock.now())
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", script, str(home.folder)], check=False).returncode == 9
    store = home.store()
    assert [e.user for e in context.path(store)] == ["说完了", "说到一半"]
    store.log.settle()
    statuses = [(e.user, e.status) for e in context.path(store)]
    assert statuses == [("说完了", "done"), ("说到一半", "failed")]
    assert len(stated_once(home.folder)) == 2


# ---- two on one folder


def test_two_stores_on_one_folder_see_each_others_turns(home: Home) -> None:
    one, two = home.store(), home.store()
    a = told(one, home.clock, "一说")
    two.follow()
    assert words(two) == [("一说", "好。")]
    b = told(two, home.clock, "二说")
    one.follow()
    c = told(one, home.clock, "三说", settle=True)
    two.follow()
    assert words(one) == words(two) == [("一说", "好。"), ("二说", "好。"), ("三说", "好。")]
    assert stated_once(home.folder) == {a: 1, b: 1, c: 1}
    understood(one, a, b, c, facts={"说过三次": (a, b, c)})
    two.follow()
    assert facts(two) == ["说过三次"]
    assert two.tree.pending() == []
    two.log.correct(b, user="改")
    one.follow()
    assert [u for u, _ in words(one)] == ["一说", "改", "三说"]
    assert facts(one) == []


WRITER = f"""{ANOTHER_PROCESS}
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[3])):
    id_ = store.log.begin(f"{{sys.argv[2]}}{{i}}", clock.now())
    store.log.finish(id_, "嗯", "done")
    print(id_, flush=True)
    clock.advance(seconds=20)
store.log.settle()
store.close()
"""


def test_two_processes_take_turns_and_nothing_is_lost_or_doubled(home: Home) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home.folder), name, "25"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )
        for name in ("甲", "乙")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ids = [line for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0]
    store = home.store()
    store.log.settle()
    assert len(set(ids)) == 50
    assert stated_once(home.folder) == dict.fromkeys(ids, 1)
    said = {e.user for e in store.exchanges.of(ids).values()}
    assert said == {f"{name}{i}" for name in "甲乙" for i in range(25)}
    assert set(store.tree.parents) == set(ids)
    assert not store.problems
