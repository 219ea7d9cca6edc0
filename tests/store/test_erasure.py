"""Erasure leaves no byte of what is forgotten, and everything else as it was."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.curation.read_beside import with_read_beside
from moechat.errors import DataError
from moechat.model import Episode, Event, Fact, FactDraft, Understanding
from moechat.store import erasure
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from tests.houses import ANOTHER_PROCESS, Home, day_files, told

steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["branch", "cut", "retract", "correct", "archive", "understand"]), st.integers(0, 9)),
        st.tuples(st.just("forget"), st.integers(0, 9)),
    ),
    min_size=3,
    max_size=18,
)


def word(number: int) -> str:
    """A word of its own for each exchange, so that a search for it finds nothing else."""
    return f"词{number:04d}条"


def understand(store: FileStore, home: Home, id_: str) -> None:
    text = store.exchanges.get(id_).user
    fact = Fact(derived_id(f"事实{text}", (id_,)), home.clock.now(), FactDraft(f"事实{text}", (id_,)))
    event = Event(f"经过{text}", (id_,))
    store.findings.merge([id_], Understanding({id_: f"标签{text}"}, {}, (fact.draft,), (event,)), [fact], {})


def forget(store: FileStore, *ids: str) -> None:
    erasure.forget(store, erasure.gone(store, exchanges=ids, episodes=(), facts=()))
    assert erasure.erase(store, lambda: None)


def path_of(store: FileStore) -> list[str]:
    return list(store.tree.ancestors(store.tree.leaf()))


def holding(home: Home, mark: str) -> list[str]:
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    return [path.name for path in files if mark.encode() in path.read_bytes()]


def known(store: FileStore) -> tuple[object, ...]:
    tree, state = store.tree, store.state
    facts = {fact.text for fact in store.findings.facts()}
    words = {id_: one.user for id_, one in store.exchanges.of(list(tree.parents)).items()}
    return dict(tree.parents), tree.leaf(), set(tree.cuts), set(tree.retracted), words, facts, set(state.archived)


@given(steps)
@settings(max_examples=15)
def test_whatever_was_done_before_the_rest_stays_and_a_restart_sees_the_same(
    tmp_path_factory: pytest.TempPathFactory, work: list[tuple[str, int]]
) -> None:
    home = Home.build(tmp_path_factory.mktemp("house"))
    store, witness = home.store(), home.store()
    marks: dict[str, str] = {}
    for number, (step, which) in enumerate(work):
        ids = list(store.tree.parents)
        one = ids[which % len(ids)] if ids else ""
        if step == "say":
            marks[told(store, home.clock, word(number), f"回{word(number)}", settle=True)] = word(number)
        elif not ids:
            continue
        elif step == "branch":
            store.log.select(one)
        elif step == "cut":
            store.log.cut(one)
        elif step == "retract":
            store.log.retract(one)
        elif step == "correct":
            store.log.correct(one, user=f"改{marks[one]}")
        elif step == "understand" and one not in store.tree.retracted:
            understand(store, home, one)
        elif step == "archive":
            with store.writing():
                store.state.write([{"op": "archive", "ids": [one]}])
        elif step == "forget":
            before, words = path_of(store), known(store)[4]
            forget(store, one)
            left = [id_ for id_ in before if id_ != one]
            assert path_of(store) == left or not left, "where nothing of the path is left, the newest talk is selected"
            assert known(store)[4] == {id_: text for id_, text in words.items() if id_ != one}  # type: ignore[attr-defined]
            assert [name for name in holding(home, marks[one]) if not name.startswith("terms-")] == []
    witness.follow(all_files=True)
    fresh = home.store()
    assert known(store) == known(fresh) == known(witness)
    assert store.problems == fresh.problems == []
    for each in (store, witness, fresh):
        each.close()


def test_other_sources_of_what_went_are_understood_anew(home: Home, store: FileStore) -> None:
    a, b = (told(store, home.clock, text, settle=True) for text in ("一", "二"))
    for id_ in (a, b):
        understand(store, home, id_)
    both = Fact(derived_id("两次都说过", (a, b)), home.clock.now(), FactDraft("两次都说过", (a, b)))
    store.findings.put([both])
    assert store.tree.pending() == []
    forget(store, a)
    assert ({fact.text for fact in store.findings.facts()}, store.tree.pending()) == ({"事实二"}, [b])


def test_a_broken_file_stops_it_before_anything_is_written(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "一", settle=True)
    understand(store, home, a)
    (home.folder / "core_mem.yml").write_text("x: [\n", encoding="utf-8")
    store.follow()
    store.findings.reread("core_mem.yml")
    before = {path: path.read_bytes() for path in home.folder.rglob("*.*l") if path.is_file()}
    fact = Fact("x", home.clock.now(), FactDraft("一", (a,)))
    with pytest.raises(DataError, match="core_mem"):
        erasure.forget(store, erasure.Gone(exchanges=[a], facts=[fact]))
    assert {path: path.read_bytes() for path in home.folder.rglob("*.*l") if path.is_file()} == before


def test_replies_that_were_not_chosen_and_words_before_a_correction_go_as_well(home: Home, store: FileStore) -> None:
    id_ = store.log.begin("先说的话", home.clock.now())
    for reply in ("第一个回答", "第二个回答"):
        store.log.finish(id_, reply, "done")
    store.log.settle()
    store.log.correct(id_, user="后来的话")
    forget(store, id_)
    store.close()
    for mark in ("先说的话", "后来的话", "第一个回答", "第二个回答"):
        assert holding(home, mark) == []


def test_what_replies_rested_on_is_no_longer_named(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "一件往事", settle=True)
    b = store.log.begin("想起了吗", home.clock.now())
    store.log.finish(b, "想起了", "done", hits=[{"id": a, "score": 1.0}, {"id": "other", "score": 0.5}])
    forget(store, a)
    assert [hit["id"] for hit in store.tree.nodes[b].variant.hits] == ["other"]  # type: ignore[union-attr]
    assert store.exchanges.get(b).char == "想起了"


def test_the_folded_past_of_the_log_forgets_too(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, word(number), settle=True) for number in range(600)]
    store.mark_understood(ids, "model")
    home.clock.advance(days=10)
    assert store.compact()
    forget(store, *ids[10:20], ids[-1])
    assert path_of(store) == [*reversed(ids[20:-1]), *reversed(ids[:10])]
    assert store.tree.off_path() == set()
    fresh = home.store()
    assert path_of(fresh) == path_of(store)
    assert fresh.exchanges.get(ids[300]).user == word(300)


def test_a_reflection_is_gone_with_its_evidence_and_an_owners_event_stays_with_its_other_source(home: Home) -> None:
    store = home.store()
    a, b = (told(store, home.clock, text, settle=True) for text in ("一", "二"))
    for id_ in (a, b):
        understand(store, home, id_)
    events = {e.event.sources[0]: e.id for e in store.findings.citing([a, b])}
    thought = Episode(
        derived_id("感悟", (a, b)),
        home.clock.now(),
        Event("感悟", (a, b)),
        "reflection",
        evidence=(events[a], events[b]),
    )
    mine = Episode("m", home.clock.now(), Event("我的", (a, b)), by="owner")
    store.findings.put([thought, mine])
    lost = erasure.gone(store, exchanges=[a], episodes=(), facts=())
    assert {one.id for one in lost.episodes} == {events[a], thought.id}
    assert lost.kept == ["m"]
    forget(store, a)
    assert {e.id: e.event.sources for e in store.findings.citing([b])} == {events[b]: (b,), "m": (b,)}


# ---- a record that stands twice


def in_another_file(home: Home) -> None:
    (path,) = day_files(home.folder)
    shutil.copy(path, path.with_name("2025-05-21.yaml"))


def in_one_file(home: Home) -> None:
    (path,) = day_files(home.folder)
    path.write_bytes(path.read_bytes() * 2)


def in_one_file_with_other_words(home: Home) -> None:
    (path,) = day_files(home.folder)
    path.write_text(path.read_text("utf-8") + path.read_text("utf-8").replace(word(1), f"又一个{word(1)}"), "utf-8")


def in_the_log(home: Home) -> None:
    path = home.folder / "log.jsonl"
    path.write_bytes(path.read_bytes() * 2)


@pytest.mark.parametrize("twice", [in_another_file, in_one_file, in_one_file_with_other_words, in_the_log])
@pytest.mark.parametrize("anew", [False, True])
def test_a_record_that_stands_twice_goes_from_both_places(
    home: Home, twice: Callable[[Home], None], anew: bool
) -> None:
    store = home.store()
    lost, kept = (told(store, home.clock, word(number), settle=True) for number in (1, 2))
    understand(store, home, lost)
    if anew:
        store.close()
    twice(home)
    store = home.store() if anew else store
    store.follow()
    forget(store, lost)
    assert holding(home, word(1)) == []
    store.follow()
    assert store.exchanges.get(kept).user == word(2)
    store.close()
    fresh = home.store()
    assert lost not in fresh.tree and not fresh.exchanges.by_ids([lost])
    assert fresh.exchanges.get(kept).user == word(2)


# ---- a reply that streams in another process

TALKER = f"""{ANOTHER_PROCESS}
from moechat.errors import Withheld
clock.advance(hours=1)
id_ = store.log.begin("还记得吗", clock.now())
store.log.rest(id_, [sys.argv[2]])
store.replies.write(id_, sys.argv[3])
print(id_, flush=True)
sys.stdin.readline()
if sys.argv[4] == "killed":
    os._exit(9)
try:
    store.replies.write(id_, sys.argv[3])
    print("shown")
except Withheld:
    print("withheld")
    store.log.finish(id_, "", "failed", error="withheld")
store.close()
"""


@pytest.mark.parametrize("end", ["goes on", "killed"])
def test_a_reply_that_streams_elsewhere_keeps_nothing_of_what_is_forgotten_meanwhile(home: Home, end: str) -> None:
    store = home.store()
    lost, _ = (told(store, home.clock, word(number), settle=True) for number in (1, 2))
    talker = subprocess.Popen(
        [sys.executable, "-c", TALKER, str(home.folder), lost, word(1), end],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert talker.stdout is not None
    id_ = talker.stdout.readline().strip()
    assert holding(home, word(1)) != []
    store.follow()
    forget(store, lost)
    assert holding(home, word(1)) == [], "also while the other process goes on"
    left, _ = talker.communicate("go on\n", timeout=60)
    assert left.split() == ([] if end == "killed" else ["withheld"])
    store.follow()
    store.log.settle()
    assert (store.exchanges.get(id_).char, store.exchanges.get(id_).status) == ("", "failed")
    assert holding(home, word(1)) == []


EMPTYING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shared:  # of SQLite's shared memory the byte that whoever empties the write-ahead log locks
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a lock of one byte is taken in POSIX's way")
def test_another_process_that_empties_the_log_of_the_cache_is_waited_for(home: Home, store: FileStore) -> None:
    told(store, home.clock, word(1), settle=True)
    command = [sys.executable, "-c", EMPTYING, f"{store.cache.path}-shm"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    tries = threading.Semaphore(0)
    with store.cache.transaction() as db:
        db.set_trace_callback(lambda sql: tries.release() if "wal_checkpoint" in sql else None)
    with ThreadPoolExecutor(1) as pool:
        erased = pool.submit(store.cache.pack)
        for _ in range(2):
            assert tries.acquire(timeout=60)
        assert not erased.done()
        other.communicate("let go\n", timeout=60)
        assert erased.result()


def test_rows_that_moved_from_page_to_page_of_the_cache_leave_no_byte_behind(home: Home) -> None:
    store, dice = home.store(), random.Random(1)
    ids = [f"{dice.randrange(16**10):010x}" for _ in range(2000)]
    for i in range(0, len(ids), 50):
        with store.cache.transaction() as db:
            for id_ in ids[i : i + 50]:
                text = dice.choice(["忘词", "留词"]) * dice.randint(1, 30)
                db.execute("INSERT INTO notes (id, owner_id, keywords) VALUES (?, 0, ?)", (id_, text))
    with store.cache.transaction() as db:
        lost = [id_ for (id_,) in db.execute("SELECT id FROM notes WHERE keywords LIKE '忘词%'")]
        db.executemany("DELETE FROM notes WHERE id = ?", ((id_,) for id_ in lost))
    assert store.cache.pack()
    assert len(lost) > 500 and holding(home, "忘词") == []


@pytest.mark.parametrize("kept_by_hand", [False, True])
def test_what_a_model_took_a_pronoun_for_goes_with_the_words_that_named_it(home: Home, kept_by_hand: bool) -> None:
    store = home.store()
    said = ("我有一块翡翠平安扣，是秘密", "昨天我把它送给妈妈了", "妈妈很高兴")
    first, second, third = (told(store, home.clock, text, settle=True) for text in said)
    store.mark_understood([first, second, third], "model")
    event = Event("用户把翡翠平安扣送给了妈妈", (second,), object="翡翠平安扣", topic="物品->翡翠平安扣")
    happy = Event("用户的妈妈很高兴", (third,))
    tags = {second: "送出翡翠平安扣", third: "妈妈高兴"}
    store.findings.merge([second, third], Understanding(tags, {}, (), (event, happy)), [], {})
    if kept_by_hand:
        (mine,) = store.findings.citing([second])
        store.findings.put(
            [replace(mine, by="owner", event=replace(event, text="我送了妈妈一样东西", object="", topic=""))]
        )
    lost = erasure.gone(store, exchanges=[first], episodes=(), facts=())
    lost = with_read_beside(store, lost)
    assert lost.anew == [second]
    erasure.forget(store, lost)
    assert erasure.erase(store, lambda: None)
    assert holding(home, "翡翠") == [] and holding(home, "平安扣") == []
    assert store.tree.pending() == [second] and store.exchanges.get(second).user == "昨天我把它送给妈妈了"
    assert [one.event.text for one in store.findings.citing([third])] == ["用户的妈妈很高兴"]
    assert [one.event.sources for one in store.findings.citing([second])] == ([(second,)] if kept_by_hand else [])
