"""Looking after memories by hand: list, show, edit, archive, forget."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.curation import upkeep
from moechat.curation.catalogue import KINDS, as_json, details_as_json
from moechat.curation.keeper import Keeper
from moechat.errors import DataError, FieldError, MoeChatError, NotFound
from moechat.house import House
from moechat.index.vector_rows import text_key
from moechat.index.vectors import tables_under
from moechat.model import Episode, Event, Fact, FactDraft, Message
from moechat.settings.schema import ForgettingSettings
from moechat.store.formats import derived_id
from tests.houses import Home, answer, edit, fact, imported, moment, quoted, recalled, say, say_all, shown

NOW = moment("2025-05-20T15:00:00")


def understood(messages: Sequence[Message]) -> str:
    """What a model makes of the talk about the key: a fact and an event; of anything else nothing."""
    if "弄丢了铜钥匙" not in messages[-1].content:
        return answer(messages[-1].content.count("用户> "))
    event = {"text": "用户2025年5月19日在灯塔下弄丢了铜钥匙", "subject": "用户", "predicate": "弄丢", "object": "铜钥匙",
             "importance": 6, "place": "灯塔", "topic": "生活->灯塔下的铜钥匙", "sources": [1],
             "refines": 2}  # fmt: skip
    return answer(1, facts=[fact("用户不喜欢榴莲", 1, keyword="喜好", target="榴莲", polarity=-1)], events=[event])


def reply(messages: object) -> str:
    return "嗯，榴莲我也记下了。"


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    with home.open(ScriptedModel(reply, quoted(understood))) as house:
        yield house


def talked(agent: Agent, *texts: str) -> Keeper:
    for text in texts or ("我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙",):
        say_all(agent, text)
    agent.settle_indexes()  # what goes on behind a turn is done: it sums facts up as well
    return agent.memories


@pytest.fixture
def keeping(agent: Agent) -> Keeper:
    """Of somebody who told of the durian and the key."""
    return talked(agent)


@pytest.fixture
def rainy(agent: Agent) -> Keeper:
    """Of somebody who spoke of the rain alone."""
    return talked(agent, "今天下雨")


def limited(agent: Agent, limits: ForgettingSettings) -> Keeper:
    return Keeper(agent.layers, lambda: limits, agent.conversation.change, lambda: None)


def only(keeping: Keeper, *kinds: str, **more: object):
    (memory,) = keeping.listed(kinds, **more).memories  # type: ignore[arg-type]
    return memory


# ---- looking


def test_everything_is_listed_by_kind_the_newest_first(home: Home, agent: Agent, keeping: Keeper) -> None:
    home.clock.advance(days=1)
    say(agent, "今天下雨")
    page = keeping.listed(KINDS)
    assert {(one.kind, one.text) for one in page.memories} == {
        ("fact", "用户不喜欢榴莲"),
        ("event", "用户2025年5月19日在灯塔下弄丢了铜钥匙"),
        ("exchange", "我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙"),
        ("exchange", "今天下雨"),
    }
    assert page.memories[0].text == "今天下雨"
    assert {one.kind for one in keeping.listed().memories} == {"fact", "event"}


def test_a_search_finds_what_has_all_the_words(agent: Agent) -> None:
    keeping = talked(agent, "我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙", "I saw a Lighthouse today")
    assert [one.kind for one in keeping.listed(KINDS, search="榴莲").memories].count("fact") == 1
    assert only(keeping, "exchange", search="lighthouse TODAY").text == "I saw a Lighthouse today"
    assert only(keeping, "event", search="铜钥匙 灯塔").kind == "event"
    assert keeping.listed(KINDS, search="铜钥匙 lighthouse").total == 0
    assert only(keeping, "exchange", search="记下了 铜钥匙").reply == "嗯，榴莲我也记下了。"


def test_a_memory_is_shown_with_all_that_it_rests_on(keeping: Keeper) -> None:
    known, happened = only(keeping, "fact"), only(keeping, "event")
    exchange = only(keeping, "exchange")
    told = keeping.get(known.id)
    assert ([one.id for one in told.sources], told.fields["target"]) == ([exchange.id], "榴莲")
    assert told.forecast_text == "如果不再想起，大约 7 天后淡忘"
    assert keeping.get(happened.id).fields["keywords"][:2] == ["铜钥匙", "灯塔"]
    read_by_rules = keeping.get(happened.id).replaced
    assert {one.id for one in keeping.get(exchange.id).derived} == {
        known.id,
        happened.id,
        *(e.id for e in read_by_rules),
    }
    assert [(one.text, one.current) for one in read_by_rules] == [("用户在灯塔下弄丢了铜钥匙", False)]
    assert keeping.get(exchange.id).forecast is None
    for one in (known, happened, exchange):
        assert {"id", "text", "sources", "forecast"} <= details_as_json(keeping.get(one.id)).keys()
        assert as_json(one)["id"] == one.id


def test_a_recall_makes_it_stronger_and_puts_fading_off(home: Home, agent: Agent, keeping: Keeper) -> None:
    before = only(keeping, "fact")
    home.clock.advance(hours=13)
    assert "用户不喜欢榴莲" in shown(recalled(agent, "我讨厌什么水果？榴莲吗"), "core")
    agent.jobs.settle()
    after = keeping.get(before.id)
    assert (before.strength, before.recalls, after.memory.strength, after.memory.recalls) == (1, 0, 16, 1)
    assert after.memory.recalled == home.clock.now()
    assert after.forecast_text == "如果不再想起，大约 112 天后淡忘"


def test_a_fact_is_shown_with_its_history(rainy: Keeper) -> None:
    first = rainy.add_fact("用户住在杭州", keyword="住址", target="杭州", single=True)
    then = rainy.add_fact("用户住在苏州", keyword="住址", target="苏州", single=True)
    assert [one.text for one in rainy.get(then.id).replaced] == ["用户住在杭州"]
    assert [one.text for one in rainy.get(first.id).replaced_by] == ["用户住在苏州"]
    assert (rainy.get(first.id).memory.current, then.current) == (False, True)
    assert [one.text for one in rainy.listed(["fact"], search="用户住在").memories] == ["用户住在苏州"]


def test_what_is_not_there_is_said(keeping: Keeper) -> None:
    for work in (keeping.get, lambda id_: keeping.edit(id_, "x"), lambda id_: keeping.forget([id_]),
                 lambda id_: keeping.archive([id_]), lambda id_: keeping.pin([id_])):  # fmt: skip
        with pytest.raises(NotFound, match="memories list"):
            work("nothing")


# ---- changing


def test_an_edited_memory_is_the_owners_and_no_understanding_replaces_it(
    home: Home, agent: Agent, keeping: Keeper
) -> None:
    known, happened, exchange = (only(keeping, kind) for kind in ("fact", "event", "exchange"))
    assert keeping.edit(known.id, "用户最讨厌榴莲").by == "owner"
    assert keeping.edit(happened.id, "用户在灯塔下弄丢了钥匙").text == "用户在灯塔下弄丢了钥匙"
    agent.conversation.correct(exchange.id, user="我讨厌榴莲，前天在灯塔下弄丢了铜钥匙")
    agent.finish()
    assert {known.id, happened.id} <= {one.id for one in keeping.listed(limit=0).memories}
    assert keeping.get(known.id).memory.text == "用户最讨厌榴莲"
    assert "用户最讨厌榴莲" in (home.folder / "core_mem.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("我对花生过敏", "用户对花生过敏"),
        ("我妈妈住在北京", "用户的妈妈住在北京"),
        ("I'm allergic to peanuts", "The user is allergic to peanuts"),
        ("I love black coffee", "The user likes black coffee"),
        ("用户住在杭州", "用户住在杭州"),
    ],
)
def test_a_fact_about_the_user_is_kept_in_the_third_person(agent: Agent, words: str, text: str) -> None:
    keeping = agent.memories

    assert keeping.add_fact(words).text == text
    assert keeping.add_fact(words, entity="小雨").text == words


def test_a_fact_in_other_words_says_what_they_say(agent: Agent) -> None:
    keeping = agent.memories
    known = keeping.add_fact("用户讨厌香菜", keyword="喜好", target="香菜", polarity=-1)
    keeping.edit(known.id, "用户爱吃香菜")
    fields = keeping.get(known.id).fields
    assert (fields["polarity"], fields["target"]) == (1, "香菜")
    assert keeping.edit(known.id, "用户什么都吃").text == "用户什么都吃"
    assert "target" not in keeping.get(known.id).fields


def test_an_edited_exchange_is_corrected(rainy: Keeper) -> None:
    assert rainy.edit(only(rainy, "exchange").id, "今天下雪").text == "今天下雪"
    with pytest.raises(MoeChatError, match="needs words"):
        rainy.edit(only(rainy, "exchange").id, "  ")


def test_archived_memories_are_hidden_and_come_back(agent: Agent, keeping: Keeper) -> None:
    known = only(keeping, "fact")
    assert [one.id for one in keeping.archive([known.id])] == [known.id]
    assert keeping.listed(["fact"]).total == 0
    assert only(keeping, "fact", archived=True).archived
    assert "榴莲" not in shown(agent.recall("我讨厌什么水果？榴莲吗"), "core")
    keeping.restore([known.id])
    assert "用户不喜欢榴莲" in shown(agent.recall("我讨厌什么水果？榴莲吗"), "core")


def test_pinned_memories_are_not_cleaned_and_the_dry_run_only_tells(agent: Agent) -> None:
    talked(agent)
    keeping = limited(agent, ForgettingSettings(cap=1, share=1.0))
    known, happened = only(keeping, "fact"), only(keeping, "event")
    assert keeping.pin([known.id])[0].pinned
    done, would = keeping.clean(dry_run=True)
    events = {happened.id, *(one.id for one in keeping.get(happened.id).replaced)}
    assert (done.why, {one.id for one in would}, keeping.listed(archived=True).total) == ("full", events, 0)
    assert keeping.get(known.id).forecast_text == "已固定，不会淡忘"
    assert {one.id for one in keeping.clean()[1]} == events
    assert not keeping.pin([known.id], on=False)[0].pinned
    assert only(keeping, "event", archived=True).id == happened.id


# ---- forgetting


def holding(folder: Path, *words: str) -> list[str]:
    """Files below a folder that hold one of the words, in any encoding that we write."""
    marks = [word.encode(form) for word in words for form in ("utf-8", "unicode_escape", "utf-32-le", "utf-16-le")]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if any(mark in path.read_bytes() for mark in marks))


def test_after_forgetting_an_exchange_no_file_holds_its_words(
    home: Home, house: House, agent: Agent, keeping: Keeper
) -> None:
    for text in ("今天下雨", "我讨厌什么水果，在哪里丢的钥匙"):  # recalls it: the log quotes what the reply rested on
        home.clock.advance(hours=1)
        say_all(agent, text)
    agent.settle_indexes()
    exchange = only(keeping, "exchange", search="铜钥匙")
    assert len(holding(home.folder, "铜钥匙")) >= 4, "log, day file, notes and cache"
    assert {one.kind for one in keeping.forgets([exchange.id]).goes} == {"exchange", "fact", "event"}
    gone = keeping.forget([exchange.id])
    assert {one.kind for one in gone} == {"exchange", "fact", "event"}
    agent.settle_indexes()
    assert keeping.listed(KINDS, search="铜钥匙").total == 0
    house.close()
    assert holding(home.folder, "铜钥匙", "用户不喜欢榴莲", "灯塔下") == []
    with home.agent() as agent:
        assert [row["text"] for row in agent.log()] == ["今天下雨", "我讨厌什么水果，在哪里丢的钥匙"]
        assert "铜钥匙" not in shown(agent.recall("铜钥匙丢在灯塔下了吗"))
        assert agent.problems() == []


def test_its_vectors_are_erased_too(home: Home, agent: Agent) -> None:
    keeping = talked(agent, "今天下雨", "我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙")
    agent.recall("铜钥匙")  # core memory is embedded when it is searched
    agent.settle_indexes()
    texts = [one.text for one in keeping.listed(KINDS, search="铜钥匙").memories] + [
        "用户不喜欢榴莲",
        "生活 灯塔下的铜钥匙",
    ]
    keys = [text_key(text) for text in texts]

    def held() -> int:
        tables = tables_under(home.folder / ".index")
        found = sum(len(table.having(keys)) for table in tables)
        for table in tables:
            table.close()
        return found

    assert held() >= 4
    keeping.forget([one.id for one in keeping.listed(KINDS, search="铜钥匙").memories])
    agent.settle_indexes()
    assert held() == 0
    home.clock.advance(hours=13)
    assert "今天下雨" in shown(agent.recall("下雨"))


def test_no_file_holds_the_vector_of_any_wording_that_a_forgotten_exchange_ever_had(home: Home, agent: Agent) -> None:
    first, then, stays = "我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙", "我讨厌榴莲，昨天在灯塔下弄丢了银钥匙", "今天下雨"
    keeping = talked(agent, stays, first)
    agent.recall("铜钥匙")
    texts = [
        first,
        "用户不喜欢榴莲",
        "生活 灯塔下的铜钥匙",
        *(one.text for one in keeping.listed(search="铜钥匙").memories),
    ]
    index = agent.store.index_folder
    (space,) = index.glob("vectors-*")
    for table in ("diary", "core"):  # of earlier caches, and of a deletion that was cut short
        shutil.copytree(space / table, space / f"{table}.old1")
    shutil.copytree(space, index / "vectors-of_a_model_that_no_longer_serves")
    shutil.copytree(space, index / "gone-1" / "vectors-0")
    exchange = only(keeping, "exchange", search="铜钥匙")
    keeping.edit(exchange.id, then)
    agent.finish()
    agent.settle_indexes()
    agent.recall("银钥匙")

    def holding_vectors(*words: str) -> list[str]:
        vectors = [vector.tobytes() for vector in home.embedder.embed(words)]
        files = [path for path in index.rglob("*") if path.is_file()]
        return [path.name for path in files if any(vector in path.read_bytes() for vector in vectors)]

    assert len(holding_vectors(*texts)) > 8, "a correction does not look for them"
    keeping.forget([exchange.id])
    assert holding_vectors(*texts, then) == []
    assert len(holding_vectors(stays)) == 3, "of both models, and of an earlier cache"
    assert agent.layers.sweep() == 0
    home.clock.advance(hours=13)
    assert stays in shown(agent.recall("下雨"))


def test_what_followed_a_forgotten_exchange_follows_what_was_before_it(agent: Agent) -> None:
    ids = [say(agent, text).exchange.id for text in ("一", "二", "三", "四")]
    agent.finish()
    agent.memories.forget(ids[1:3])
    assert [shown.exchange.id for shown in agent.recent(10)] == [ids[0], ids[3]]
    agent.memories.forget([ids[3]])
    assert [shown.exchange.id for shown in agent.recent(10)] == [ids[0]]
    say(agent, "五")
    assert [shown.exchange.user for shown in agent.recent(10)] == ["一", "五"]


def test_a_branch_and_a_cut_outlive_the_exchange_that_they_were_made_at(agent: Agent) -> None:
    first, second = (say(agent, text).exchange.id for text in ("一", "二"))
    agent.jobs.settle()
    agent.store.log.cut(second)
    third = say(agent, "三").exchange.id
    agent.conversation.select(second)
    fourth = say(agent, "四").exchange.id
    agent.finish()
    agent.memories.forget([second])
    tree = agent.store.tree
    assert (tree.parents, tree.leaf()) == ({first: None, third: first, fourth: first}, fourth)
    assert list(tree.context()) == [fourth]
    assert tree.off_path() == {third}


def test_everything_can_be_forgotten_and_the_talk_begins_anew(
    home: Home, house: House, agent: Agent, keeping: Keeper
) -> None:
    keeping.forget([one.id for one in keeping.listed(KINDS, limit=0).memories])
    house.close()
    assert holding(home.folder, "榴莲", "铜钥匙") == []
    with home.agent() as agent:
        assert agent.log() == []
        say(agent, "你好")
        assert [one.exchange.user for one in agent.recent(5)] == ["你好"]


def test_an_imported_exchange_is_forgotten_and_its_neighbours_stay_as_they_are(home: Home) -> None:
    store = home.store()
    imported(store, ("2025-05-01T10:00:00", "昨天丢了铜钥匙", "哎呀"), ("2025-05-01T11:00:00", "找到了", "真好"))
    store.close()
    path = home.folder / "memorys" / "2025-05-01.yaml"
    edit(path, "20250501-110000:", "# my note\n20250501-110000:")
    with home.agent() as agent:
        keeping = agent.memories
        keeping.forget([only(keeping, "exchange", search="铜钥匙").id])
        assert only(keeping, "exchange").text == "找到了"
    assert "铜钥匙" not in path.read_text(encoding="utf-8")
    assert holding(home.folder, "铜钥匙") == []


def test_moechats_own_day_files_are_not_written_and_nothing_is_half_done(home: Home) -> None:
    path = home.folder / "memorys" / "2025-5-01.yaml"
    path.parent.mkdir()
    said = "时间：2025-05-01 10:00:00\n  {{user}}：丢了铜钥匙\n  {{char}}：哎呀"
    path.write_text(
        f"'1746064800':\n  text_tag: 钥匙\n  msg: |-\n    {said.replace(chr(10), chr(10) + '  ')}\n", encoding="utf-8"
    )
    before = path.read_bytes()
    with home.agent() as agent:
        keeping = agent.memories
        with pytest.raises(DataError, match="by hand"):
            keeping.forget(["1746064800"])
        assert only(keeping, "exchange").text == "丢了铜钥匙"
    assert path.read_bytes() == before


def test_a_forgotten_fact_takes_its_history_along_and_leaves_what_was_said(
    home: Home, house: House, rainy: Keeper
) -> None:
    rainy.add_fact("用户住在杭州", keyword="住址", target="杭州", single=True)
    new = rainy.add_fact("用户住在苏州", keyword="住址", target="苏州", single=True)
    assert {one.text for one in rainy.forget([new.id])} == {"用户住在苏州", "用户住在杭州"}
    assert rainy.listed(["fact"], search="住在").total == 0
    assert only(rainy, "exchange").text == "今天下雨"
    house.close()
    assert holding(home.folder, "用户住在") == []


def test_what_is_forgotten_does_not_come_back_when_its_exchange_is_understood_anew(
    home: Home, agent: Agent, keeping: Keeper
) -> None:
    known, happened = only(keeping, "fact"), only(keeping, "event")
    keeping.forget([known.id, happened.id])
    agent.store.requeue(list(agent.store.tree.parents))
    agent.finish()
    assert keeping.listed(limit=0).total == 0
    home.clock.advance(days=1)
    say_all(agent, "我讨厌榴莲，昨天在灯塔下弄丢了铜钥匙")
    assert {one.kind for one in keeping.listed().memories} == {"fact", "event"}, "told again, it is remembered again"


def test_a_summary_goes_with_one_of_its_facts_and_the_others_hold_again(agent: Agent, rainy: Keeper) -> None:
    store = agent.store
    (source,) = store.tree.parents
    known = [
        Fact(derived_id(text, (source,)), NOW, FactDraft(text, (source,), keyword="兴趣"))
        for text in ("爱画画", "爱星座")
    ]
    sum_ = FactDraft("爱画画；爱星座", (source,), keyword="兴趣")
    whole = Fact(derived_id(sum_.text, (source,)), NOW, sum_, tuple(f.id for f in known), consolidated=True)
    store.findings.put([*known, whole])
    rainy.forget([known[0].id])
    assert [one.text for one in rainy.listed(["fact"], search="爱").memories] == ["爱星座"]


def test_a_reflection_goes_with_the_event_that_it_rests_on(agent: Agent, keeping: Keeper) -> None:
    happened, exchange = only(keeping, "event"), only(keeping, "exchange")
    thought = Episode(
        "r1", NOW, Event("用户容易丢东西", (exchange.id,)), "reflection", evidence=(happened.id,), depth=1
    )
    agent.store.findings.put([replace(thought, id=derived_id(thought.event.text, (exchange.id,)))])
    assert [one.text for one in keeping.get(only(keeping, "reflection").id).evidence] == [happened.text]
    assert {one.kind for one in keeping.forget([happened.id])} == {"event", "reflection"}
    assert only(keeping, "exchange").id == exchange.id


def test_what_the_owner_wrote_stays_without_what_it_rested_on(agent: Agent) -> None:
    keeping = talked(agent, "今天下雨", "明天也下雨")
    store = agent.store
    one, other = store.tree.parents
    both = FactDraft("我写的：雨季到了", (one, other))
    alone = FactDraft("我写的：下雨了", (one,))
    mine = [Fact(derived_id(draft.text, draft.sources), NOW, draft, by="owner") for draft in (both, alone)]
    happened = Episode("e1", NOW, Event("我写的：雨天", (one, other)), by="owner")
    store.findings.put(mine)
    store.findings.put([happened])
    assert {m.text for m in keeping.forgets([one]).stays} == {"我写的：雨季到了", "我写的：下雨了", "我写的：雨天"}
    keeping.forget([one])
    assert {m.text for m in keeping.listed(search="我写的").memories} == {
        "我写的：雨季到了",
        "我写的：下雨了",
        "我写的：雨天",
    }
    assert {f.text: f.draft.sources for f in store.findings.facts() if f.by == "owner"} == {
        "我写的：雨季到了": (other,),
        "我写的：下雨了": (),
    }
    assert keeping.get("e1").sources[0].id == other


def test_an_exchange_that_is_being_answered_is_not_forgotten(home: Home) -> None:
    with home.agent() as agent:
        id_ = agent.store.log.begin("还在说", home.clock.now())
        with pytest.raises(MoeChatError, match="being answered"):
            agent.memories.forget([id_])
        agent.store.log.finish(id_, "好", "done")
        agent.memories.forget([id_])
    assert holding(home.folder, "还在说") == []


def test_another_process_that_is_open_follows(home: Home) -> None:
    with home.open() as house, home.open() as other:
        say(house.agent(), "我丢了铜钥匙")
        house.agent().finish()
        other.agent().recall("铜钥匙")
        assert len(other.agent().log()) == 1
        house.agent().memories.forget([row["id"] for row in house.agent().log()])  # type: ignore[misc]
        assert "铜钥匙" not in shown(other.agent().recall("铜钥匙在哪里"))
        assert other.agent().log() == []
        say(other.agent(), "你好")
    assert holding(home.folder, "铜钥匙") == []


def test_what_a_kill_left_is_erased_when_it_is_forgotten_again(home: Home) -> None:
    with home.agent() as agent:
        kept, lost = (say(agent, text).exchange.id for text in ("今天下雨", "我丢了铜钥匙"))
        agent.finish()
        agent.store.log.retract(lost)  # the first step of forgetting
        (home.folder / ".core_mem.yml.ab12cd34").write_text("half a copy: 铜钥匙", encoding="utf-8")
        agent.memories.forget([lost])
        assert [row["id"] for row in agent.log()] == [kept]
    assert holding(home.folder, "铜钥匙") == []


def test_damaged_lines_of_the_log_go_with_a_forgetting_as_nobody_knows_what_they_hold(home: Home) -> None:
    with home.agent() as agent:
        id_ = say(agent, "我丢了铜钥匙").exchange.id
        agent.finish()
    with open(home.folder / "log.jsonl", "ab") as log:
        log.write(f'{{"op":"variant","id":"{id_}","char":"铜钥匙…\n{{"half":\n{{"user":"我丢了铜钥匙\n'.encode())
    with home.agent() as agent:
        agent.memories.forget([id_])
    text = (home.folder / "log.jsonl").read_text(encoding="utf-8")
    assert '{"half":' not in text
    assert "铜钥匙" not in text


# ---- events that the owner writes


def test_an_event_of_the_owners_stands_for_itself(home: Home, agent: Agent, rainy: Keeper) -> None:
    made = rainy.add_event("在海边放风筝，线断了", happened="2019-07-15", place="青岛海边", importance=0.8)
    assert (made.kind, made.by, made.at) == ("event", "owner", moment("2019-07-15T12:00:00"))
    told = rainy.get(made.id)
    assert (told.sources, told.fields["place"], told.fields["importance"]) == ([], "青岛海边", 0.8)
    assert told.fields["happened"] == ["2019-07-15T00:00:00+08:00", "2019-07-15T23:59:59+08:00"]
    assert "海边" in told.fields["keywords"] and told.fields["topic"]
    assert told.forecast_text == "你亲手写下的，不会淡忘"
    assert (home.folder / "memorys" / "2019-07-15.notes.yaml").exists()
    assert agent.verify()["problems"] == []


@pytest.mark.parametrize("asked", ["2019年7月15日我做了什么", "2019年7月我做了什么？"])
def test_it_is_found_by_the_time_that_it_happened(agent: Agent, asked: str, rainy: Keeper) -> None:
    made = rainy.add_event("在海边放风筝", happened="2019-07-15")
    agent.recall(asked)
    found = agent.recall(asked)
    (hit,) = [hit for hit in found.hits if hit.id == made.id]
    assert (hit.episode, hit.recipe, hit.sources) == ("event", "by_time", ())
    assert hit.span is not None and found.empty_spans == []
    assert [hit.id for hit in agent.recall("2019年8月15日我做了什么").hits if hit.id == made.id] == []
    rainy.archive([made.id])
    assert made.id not in [hit.id for hit in agent.recall(asked).hits]


def test_it_is_found_by_its_words_and_told_as_an_event_in_the_log(agent: Agent, rainy: Keeper) -> None:
    made = rainy.add_event("在青岛海边放风筝，风筝线断了", happened="2019-07-15")
    agent.finish()
    assert made.id in [hit.id for hit in recalled(agent, "在青岛海边放风筝，风筝线断了").hits]
    (ground,) = [one for one in agent.recent(1)[0].grounds if one["id"] == made.id]
    assert (ground["kind"], ground["sources"]) == ("event", [])


def test_a_time_that_is_none_and_an_event_without_words_are_refused(rainy: Keeper) -> None:
    for bad in ("很红", "2019-07-15/2019-07-16/2019-07-17", "2019-07-15/2019-07-01", "9999-12-31"):
        with pytest.raises(FieldError, match="happened"):
            rainy.add_event("放风筝", happened=bad)
    with pytest.raises(MoeChatError, match="needs words"):
        rainy.add_event("  ")


def test_what_is_written_twice_is_one_event_and_comes_back_from_the_archive(rainy: Keeper) -> None:
    first = rainy.add_event("在海边放风筝", happened="2019-07-15")
    rainy.archive([first.id])
    again = rainy.add_event("在海边放风筝", happened="2019-07-15", place="青岛")
    assert (again.id, again.archived, rainy.listed(["event"]).total) == (first.id, False, 1)
    assert rainy.get(first.id).fields["place"] == "青岛"
    other = rainy.add_event("在海边放风筝", happened="2020-07-15")
    assert other.id != first.id
    rainy.edit(first.id, "在山上放风筝")
    third = rainy.add_event("在海边放风筝", happened="2019-07-15")
    assert {one.text for one in rainy.memories([first.id, third.id])} == {"在山上放风筝", "在海边放风筝"}
    assert rainy.listed(["event"]).total == 3


def test_it_is_edited_pinned_and_outlives_another_start(home: Home, house: House, agent: Agent, rainy: Keeper) -> None:
    made = rainy.add_event("在海边放风筝", happened="2019-07-15")
    assert rainy.edit(made.id, "在山上放风筝").text == "在山上放风筝"
    assert rainy.pin([made.id])[0].pinned
    agent.finish()
    house.close()
    upkeep.drop_indexes(home.folder, vectors=True)
    with home.agent() as agent:
        (one,) = agent.memories.listed(["event"]).memories
        assert (one.id, one.text, one.pinned, one.at) == (made.id, "在山上放风筝", True, made.at)
        assert agent.verify()["problems"] == []


def test_a_forgotten_event_of_the_owners_leaves_no_byte(home: Home, house: House, agent: Agent, rainy: Keeper) -> None:
    made = rainy.add_event("在海边放风筝，丢了铜钥匙", happened="2019-07-15", topic="生活->放风筝的海边")
    kept = rainy.add_event("在山上野餐", happened="2019-07-15")
    recalled(agent, "2019年7月15日在海边放风筝了吗")  # the log quotes it
    agent.finish()
    agent.settle_indexes()
    assert len(holding(home.folder, "风筝")) >= 3
    assert [one.id for one in rainy.forget([made.id])] == [made.id]
    assert [one.id for one in rainy.listed(["event"]).memories] == [kept.id]
    rainy.forget([kept.id])
    assert not (home.folder / "memorys" / "2019-07-15.notes.yaml").exists()
    assert agent.verify()["problems"] == []
    agent.store.requeue(list(agent.store.tree.parents))
    agent.finish()
    house.close()
    assert holding(home.folder, "海边放风筝，", "铜钥匙", "野餐", "放风筝的海边") == []


def test_what_is_first_to_go_is_known_anew_when_a_memory_comes_or_is_used(agent: Agent) -> None:
    talked(agent)
    keeping = limited(agent, ForgettingSettings(cap=2, share=0.5))
    known, happened = only(keeping, "fact"), only(keeping, "event")
    agent.memories.forget([one.id for one in keeping.get(happened.id).replaced])

    def first() -> set[str]:
        told = keeping.forecasts(keeping.listed(KINDS).memories)
        assert told.keys() == {known.id, happened.id}, "exchanges do not fade"
        return {id_ for id_, one in told.items() if one.first}

    (weaker,) = first()
    agent.store.state.touch([weaker], NOW)
    assert first() == {known.id, happened.id} - {weaker}
    keeping.pin(list(first()))
    assert first() == set(), "half of one is none"
    assert keeping.get(weaker).forecast.fullness == 1.0  # type: ignore[union-attr]
    keeping.archive([weaker])
    assert keeping.get(weaker).forecast.fullness == 0.5  # type: ignore[union-attr]


def test_what_was_corrected_by_hand_goes_together_with_its_sources(agent: Agent) -> None:
    keeper = talked(agent)
    store = agent.store
    (hated,) = [one for one in store.findings.facts() if one.by == "model"]
    (event,) = [one for one in store.findings.citing(list(hated.draft.sources)) if one.by == "model"]
    ids = [keeper.edit(hated.id, "用户只讨厌冻榴莲").id, keeper.edit(event.id, "用户在塔楼下弄丢了钥匙").id]
    keeper.forget([*ids, *hated.draft.sources])
    assert [one.text for one in store.findings.facts()] == []
    assert store.findings.citing(list(hated.draft.sources)) == [] and not store.findings.by_ids(ids)
    for text in ("冻榴莲", "塔楼"):
        assert [path for path in store.folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()] == []
