"""What was understood, on disk: notes beside the day files, and core memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from moechat.curation.undo import Undo
from moechat.errors import DataError
from moechat.model import Episode, Event, Fact, FactDraft, Understanding
from moechat.store import disk, formats
from moechat.store.check import TEXTS_IN
from moechat.store.files import FileStore
from tests.houses import Home, edit, moment, say, told

NOTES = "memorys/2025-05-20.notes.yaml"


def put(
    store: FileStore,
    ids: list[str],
    *,
    facts: tuple[FactDraft, ...] = (),
    events: tuple[Event, ...] = (),
    tag: str = "说了话",
    understood: bool = True,
) -> None:
    new = [Fact(formats.derived_id(d.text, d.sources), moment("2025-05-20T15:00:00"), d) for d in facts]
    told = Understanding(dict.fromkeys(ids, tag), dict.fromkeys(ids, ("词", "a b")), facts, events)
    store.findings.merge(ids, told, new, {}, understood=understood)


def events(store: FileStore, *ids: str) -> list[Event]:
    return [episode.event for episode in store.findings.citing(ids)]


AWKWARD = ["- item: x", "a\nb\n", " 'quoted' \"double\"", "{{user}}", "no", "\x85\u2028", "emoji 🐱", "12:30"]
NOT_TEXT_TO_OTHERS = ("no", "12:30")  # YAML 1.1; ours reads all as text


@pytest.mark.parametrize("text", AWKWARD, ids=repr)
def test_an_event_comes_back_as_it_went(home: Home, store: FileStore, text: str) -> None:
    a, b = told(store, home.clock, "一"), told(store, home.clock, "二", settle=True)
    event = Event(
        text, (a, b), "我", "吃", text, 0.25, ("火锅", "a, b"), text, "生活->饮食",
        (moment("2025-05-19T00:00:00"), moment("2025-05-19T23:59:59")),
    )  # fmt: skip
    put(store, [a, b], events=(event,), tag=text)
    fresh = home.store_anew()
    assert events(fresh, b) == [event]
    assert fresh.findings.notes_of([a])[a] == (text, ("词", "a b"), "model")
    assert fresh.problems == []
    plain = yaml.safe_load((home.folder / NOTES).read_bytes())
    assert text in NOT_TEXT_TO_OTHERS or plain[a]["events"][0]["text"] == text


def test_a_batch_over_midnight_is_written_beside_each_day(home: Home, store: FileStore) -> None:
    home.clock.at = moment("2025-05-20T23:59:30")
    a, b = told(store, home.clock, "一"), told(store, home.clock, "二", settle=True)
    put(store, [a, b], events=(Event("守到零点", (a, b)),))
    names = sorted(p.name for p in (home.folder / "memorys").iterdir() if "notes" in p.name)
    assert names == ["2025-05-20.notes.yaml", "2025-05-21.notes.yaml"]
    assert [e.text for e in events(store, a)] == [e.text for e in events(store, b)] == ["守到零点"]
    store.log.retract(b)
    assert events(store, a, b) == []
    assert "守到零点" not in (home.folder / NOTES).read_text(encoding="utf-8")
    assert store.tree.pending() == [a]


def test_what_an_edited_event_says_stays_and_the_machines_other_notes_go_with_a_correction(
    home: Home, store: FileStore
) -> None:
    a = told(store, home.clock, "我在杭州", settle=True)
    put(store, [a], events=(Event("在杭州", (a,)), Event("在西湖", (a,))), tag="说在杭州城里")
    edit(home.folder / NOTES, "text: 在西湖", "text: 在西湖边散步")
    store.follow()
    store.log.correct(a, user="我在苏州")
    (mine,) = store.findings.episodes(range(1, 9))
    assert (mine.event.text, mine.by, a in mine.event.sources) == ("在西湖边散步", "owner", False)
    assert "说在杭州城里" not in (home.folder / NOTES).read_text(encoding="utf-8"), (
        "the tag told words that were taken back"
    )


def test_taking_back_a_record_that_was_deleted_by_hand_leaves_no_notes_of_it(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "秘密", settle=True)
    b = told(store, home.clock, "别的", settle=True)
    put(store, [a, b], tag="说了秘密")
    path = home.folder / "memorys/2025-05-20.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[text.index(f"{b}:") :], encoding="utf-8")
    store.follow()
    store.log.retract(a)
    assert a not in store.findings.notes_of([a, b])


@pytest.mark.parametrize(
    "wrong", ["x: [\n", "x: just text\n", "x:\n  events:\n    - id: y\n", "x:\n  text_tag: t\n  events: nonsense\n"]
)
def test_a_broken_note_is_named_costs_itself_alone_and_is_not_written_over(
    home: Home, store: FileStore, wrong: str
) -> None:
    a = told(store, home.clock, "一", settle=True)
    put(store, [a], events=(Event("一件事", (a,)),))
    path = home.folder / NOTES
    with open(path, "a", encoding="utf-8") as file:
        file.write(wrong)
    before = path.read_bytes()
    store.follow()
    assert [(p.file, bool(p.line)) for p in store.problems] == [(str(path), True)]
    assert [e.text for e in events(store, a)] == ["一件事"]
    with pytest.raises(DataError, match="notes"):
        put(store, [a])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "wrong",
    ["x: [\n", "x: {time: 2025-05-20}\n", "x: {text: 事实, time: someday}\n", "x:\n", "x: {text: 事实, by: mod}\n"],
)
def test_a_broken_fact_is_named_and_costs_itself_alone(home: Home, store: FileStore, wrong: str) -> None:
    (home.folder / "core_mem.yml").write_text(f"good: 好的事实\n{wrong}", encoding="utf-8")
    store.follow()
    assert [f.text for f in store.findings.facts()] == ["好的事实"]
    assert [(Path(p.file).name, p.line) for p in store.problems] in ([("core_mem.yml", 2)], [("core_mem.yml", 3)])


def test_facts_that_were_not_finished_stay_queued(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我住在杭州", settle=True)
    put(store, [a], facts=(FactDraft("住在杭州", (a,)),), understood=False)
    assert store.tree.pending() == [a]
    assert len(store.findings.facts()) == 1


def test_writing_one_note_leaves_every_other_byte_as_it_was(home: Home, store: FileStore) -> None:
    a, b = told(store, home.clock, "一", settle=True), told(store, home.clock, "二", settle=True)
    put(store, [a, b])
    path = home.folder / NOTES
    path.write_text("# 我的笔记\n" + path.read_text("utf-8").replace(f"{b}:", f"# 重要\n{b}:"), "utf-8")
    store.follow()
    put(store, [b], tag="新的标签")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# 我的笔记\n")
    assert "# 重要\n" in text
    assert store.findings.notes_of([b])[b][0] == "新的标签"


steps = st.lists(
    st.tuples(
        st.sampled_from(["say", "put", "put2", "fact", "retract", "restore", "correct", "select", "edit"]),
        st.integers(0, 99),
    ),
    max_size=10,
)


@example([("retract", 9), ("correct", 95), ("restore", 25)])
@given(steps)
@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate], report_multiple_bugs=False)
def test_rebuilt_equals_grown(tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[str, int]]) -> None:
    home = Home.build(tmp_path_factory.mktemp("house"))
    store = home.store()
    ids = [told(store, home.clock, f"开头{i}", settle=True) for i in range(2)]
    for n, (step, number) in enumerate(chosen):
        id_ = ids[number % len(ids)]
        other = ids[(number + 1) % len(ids)]
        match step:
            case "say":
                ids.append(told(store, home.clock, f"第{n}句", settle=True, hours=7))
            case "put" | "put2" | "fact" if store.tree.retracted.intersection([id_, other]):
                pass  # the roll understands nothing that was taken back
            case "put":
                put(store, [id_], events=(Event(f"事{n}", (id_,)),), tag=f"签{n}")
            case "put2":
                pair = list(dict.fromkeys([id_, other]))
                put(store, pair, facts=(FactDraft(f"实{n}", tuple(pair)),), events=(Event(f"双{n}", tuple(pair)),))
            case "fact":
                put(store, [id_], facts=(FactDraft(f"实{number % 3}", (id_,)),), understood=False)
            case "retract":
                store.log.retract(id_)
            case "restore":
                store.log.restore(id_)
            case "correct":
                store.log.correct(id_, user=f"改{n}")
            case "select":
                store.log.select(id_)
            case "edit":
                row = store.exchanges.by_ids([id_])[id_]  # a correction of what was taken back is not in the file
                edit(home.folder / row.file, row.exchange.user, f"手写的很长的一句话{n}" * 3)
                store.follow()
    grown = everything(store, ids)
    retracted = store.tree.retracted
    for fact in store.findings.facts():
        assert not retracted.intersection(fact.draft.sources), "nothing rests on what was taken back"
    fresh = home.store_anew()
    assert everything(fresh, ids) == grown
    assert fresh.problems == []
    assert fresh.tree.unfiled() == []
    fresh.close()


def everything(store: FileStore, ids: list[str]) -> tuple[object, ...]:
    rows = store.exchanges.by_ids(ids)
    episodes = sorted(
        (file, e.id, e.event)
        for file in store.cache.signatures()
        for e in store.findings.by_ids([id_ for id_, _ in store.cache.all(TEXTS_IN, {"file": file})]).values()
        if set(ids) & set(e.event.sources)
    )
    return (
        {id_: (row.exchange, row.tag, row.file) for id_, row in rows.items()},
        store.findings.notes_of(ids),
        episodes,
        store.findings.facts(),
        store.tree.pending(),
        store.hidden(),
    )


# ---- the same twice


def test_an_event_that_a_model_tells_twice_is_one_and_goes_as_one(home: Home, store: FileStore) -> None:
    a, b = told(store, home.clock, "去划船了"), told(store, home.clock, "还下雨了", settle=True)
    put(store, [a, b], events=(Event("他们去划船了", (a,)), Event("他们去划船了", (a, b))))
    assert [event.text for event in events(store, a)] == ["他们去划船了"]
    put(store, [b], events=(Event("下雨了", (b,)),))  # the file is written anew
    assert [event.text for event in events(store, a)] == ["他们去划船了"]
    store.log.correct(a, user="没去划船")
    assert events(store, a) == []


def test_an_event_that_a_hand_copied_counts_once_and_goes_as_one(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "去划船了", settle=True)
    put(store, [a], events=(Event("他们去划船了", (a,)),))
    path = store.folder / NOTES
    written = path.read_text(encoding="utf-8")
    first = written[written.index("  - id:") :]
    path.write_text(written + first, encoding="utf-8")
    store.follow(all_files=True)
    assert len(events(store, a)) == 1
    store.log.retract(a)
    assert events(store, a) == []


def test_what_the_owner_edited_is_not_replaced_by_what_the_same_words_give_again(home: Home, store: FileStore) -> None:
    a = told(store, home.clock, "我爱喝茶，今天去划船了", settle=True)
    tea, boat = FactDraft("用户爱喝茶", (a,)), Event("用户去划船了", (a,))
    put(store, [a], facts=(tea,), events=(boat,))
    edit(store.folder / disk.CORE, "用户爱喝茶", "用户只喝龙井和碧螺春")
    edit(store.folder / NOTES, "用户去划船了", "用户和同学去西湖划船了")
    store.follow(all_files=True)
    put(store, [a], facts=(tea,), events=(boat,))
    assert [fact.text for fact in store.findings.facts()] == ["用户只喝龙井和碧螺春"]
    assert [event.text for event in events(store, a)] == ["用户和同学去西湖划船了"]


def test_a_check_of_the_files_sees_what_the_cache_made_of_their_facts_and_events(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        say(agent, "我喜欢喝茶，昨天去划船了")
        agent.finish()
        assert agent.verify()["problems"] == []
        agent.store.findings.set_notes(NOTES, [])
        agent.store.findings.set_facts([])
        told = "\n".join(agent.verify()["problems"])
        assert NOTES in told and disk.CORE in told and "moechat rebuild" in told


def test_an_event_that_the_owner_wrote_stays_where_it_stands_whatever_it_rests_on(home: Home, store: FileStore) -> None:
    a, b = told(store, home.clock, "一"), told(store, home.clock, "二", settle=True)
    put(store, [a, b], events=(Event("甲事", (a,)), Event("乙事", (b,))))
    path = store.folder / NOTES
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    value[b]["events"].append({"text": "我自己写的", "sources": [a]})
    path.write_text(yaml.safe_dump(value, allow_unicode=True), encoding="utf-8")
    store.follow(all_files=True)
    put(store, [b], events=(Event("乙事另说", (b,)),))
    assert "我自己写的" in {event.text for event in events(store, a)}
    store.log.correct(b, user="三")
    assert {event.text for event in events(store, a)} == {"甲事", "我自己写的"}
    assert events(store, b) == []


@pytest.mark.parametrize(
    "written", ["", "  time: 1970-01-01T00:00:00+00:00\n"], ids=["without", "as older versions had it"]
)
def test_a_fact_without_a_time_has_none_and_is_written_without_one(home: Home, written: str) -> None:
    home.folder.mkdir(parents=True, exist_ok=True)
    path = home.folder / disk.CORE
    path.write_text(f"tea:\n  text: 用户爱喝茶\n{written}", encoding="utf-8")
    store = home.store()
    (fact,) = store.findings.facts()
    assert fact.at is None
    store.findings.put([replace(fact, draft=replace(fact.draft, keyword="喜好"))])
    assert "time" not in path.read_text(encoding="utf-8")
    assert [(one.at, one.draft.keyword) for one in store.findings.facts()] == [(None, "喜好")]


# ---- one record of many


BY_HAND = {
    "plain": "甲:\n  text: 用户爱喝茶\n乙: 用户怕高\n# 丙在后面\n丙: {text: 用户住在杭州, by: owner}\n",
    "quoted keys": '\'甲\': 用户爱喝茶\n"乙":   用户怕高\n"\\u4e19": 用户住在杭州\n',
    "BOM and CRLF": "\ufeff甲:\r\n  text: 用户爱喝茶\r\n乙: 用户怕高\r\n丙: 用户住在杭州\r\n",
    "an alias": "甲: &tea 用户爱喝茶\n乙: *tea\n丙: 用户住在杭州",
    "a key within a text": "甲:\n  text: |-\n    用户说\n    乙: 不对\n乙: 用户怕高\n甲x: 用户爱画画\n丙: 用户住在杭州\n",
}


@pytest.mark.parametrize("text", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("key", ["甲", "乙", "丙"])
@pytest.mark.parametrize("step", ["replace", "drop"])
def test_changing_one_fact_of_a_file_written_by_hand_is_as_reading_it_all_again(
    home: Home, text: str, key: str, step: str
) -> None:
    home.folder.mkdir(parents=True, exist_ok=True)
    path = home.folder / disk.CORE
    path.write_bytes(text.encode())
    store = home.store()
    (fact,) = [fact for fact in store.findings.facts() if fact.id == key]
    if step == "drop":
        store.findings.take_out([key])
    else:
        store.findings.put([replace(fact, draft=replace(fact.draft, text="用户爱\n下雨"))])
    store.follow(all_files=True)
    grown = store.findings.facts(), [str(problem) for problem in store.problems]
    assert (key in {fact.id for fact in grown[0]}) == (step == "replace")
    fresh = home.store_anew()
    assert (fresh.findings.facts(), [str(problem) for problem in fresh.problems]) == grown


def test_changing_one_event_leaves_those_of_other_exchanges_and_their_rows(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, f"第{n}句", settle=True) for n in range(3)]
    put(store, ids, events=tuple(Event(f"第{n}件事", (id_,)) for n, id_ in enumerate(ids)))
    before = store.findings.rows_of([e.id for e in store.findings.citing(ids)])
    (middle,) = store.findings.citing([ids[1]])
    store.findings.put([replace(middle, event=replace(middle.event, text="第一件事，改过"), by="owner")])
    after = store.findings.rows_of(list(before))
    assert {id_ for id_ in before if after[id_] != before[id_]} == {middle.id}
    assert [e.event.text for e in store.findings.citing(ids)] == ["第0件事", "第2件事", "第一件事，改过"]
    store.findings.take_out([middle.id])
    assert [e.event.text for e in store.findings.citing(ids)] == ["第0件事", "第2件事"]
    assert store.findings.notes_of([ids[1]])[ids[1]].tag == "说了话"


def test_a_fact_and_an_event_of_the_same_words_are_taken_out_apart(home: Home, store: FileStore) -> None:
    id_ = told(store, home.clock, "我住在杭州", settle=True)
    event = Event("用户住在杭州", (id_,))
    key = formats.derived_id(event.text, event.sources)
    fact = Fact(key, home.clock.now(), FactDraft(event.text, event.sources))
    put(store, [id_], events=(event,))
    store.findings.put([fact])
    (episode,) = store.findings.citing([id_])
    assert store.findings.with_ids([key]) == [fact, episode]
    store.findings.take_out([key], Fact)
    assert store.findings.with_ids([key]) == [episode]
    store.findings.put([fact])
    store.findings.take_out([key], Episode)
    assert store.findings.with_ids([key]) == [fact]
    undo = Undo(store)
    undo.note([key])
    store.findings.put([replace(fact, draft=replace(fact.draft, text="用户住在苏州"), by="owner"), episode])
    undo.take_back()
    assert store.findings.with_ids([key]) == [fact]


# ---- what replaced one another, when the middle one goes


@pytest.mark.parametrize("way", ["forget", "retract", "correct"])
def test_what_a_lost_fact_had_replaced_does_not_hold_again_beside_its_successor(home: Home, way: str) -> None:
    with home.open() as house:
        agent = house.agent()
        ids = []
        for city in ("杭州", "绍兴", "宁波"):
            ids.append(say(agent, f"我住在{city}").exchange.id)
            home.clock.advance(minutes=5)
            agent.finish()
        middle = agent.store.findings.facts()[1]
        if way == "forget":
            agent.memories.forget([ids[1]])
        elif way == "retract":
            agent.conversation.retract(ids[1])
        else:
            agent.conversation.correct(ids[1], user="今天下雨了")
        agent.finish()
        assert [fact.text for fact in agent.layers.core.current()] == ["用户住在宁波"]
        if way == "forget":  # not even by its id, which is made of its words
            assert not any(middle.id in fact.supersedes for fact in agent.store.findings.facts())
        if way == "retract":
            agent.conversation.restore(ids[1])
            agent.finish()
            assert [fact.text for fact in agent.layers.core.current()] == ["用户住在宁波"]


def test_what_a_lost_event_had_replaced_does_not_hold_again_beside_its_successor(home: Home, store: FileStore) -> None:
    ids = [told(store, home.clock, text, settle=True) for text in ("一", "二", "三")]
    episodes: list[Episode] = []
    for id_, text in zip(ids, ("约好周五见", "改到周六见", "见过了"), strict=True):
        older = tuple(one.id for one in episodes[-1:])
        event = Event(text, (id_,))
        episodes.append(Episode(formats.derived_id(text, (id_,)), home.clock.now(), event, supersedes=older))
    store.findings.put(episodes)
    planned, moved, done = (one.id for one in episodes)
    assert store.findings.superseded(frozenset()) == {planned, moved}
    store.findings.drop([ids[1]])
    assert store.findings.superseded(frozenset()) >= {planned}
    store.findings.unlink([moved])
    assert store.findings.by_ids([done])[done].supersedes == (planned,)
