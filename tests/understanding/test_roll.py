"""Rolling: what leaves the context is understood, and nothing leaves before."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.agent import Agent
from moechat.errors import DiskError, ModelError
from moechat.memory import context
from moechat.model import Message
from moechat.settings.schema import RollSettings
from moechat.turn import Sent
from moechat.understanding.roll import due
from tests.houses import Home, answer, day_files, edit, fact, say, silent, understanding

SETTINGS = RollSettings()

# Golden `rolling` of seed 004: rounds, the round that changes the scene, what is understood together, what is left.
GOLDEN: list[tuple[int, int | None, list[list[int]], list[int]]] = [
    (19, None, [], list(range(1, 20))),
    (20, None, [list(range(1, 11))], list(range(11, 21))),
    (35, None, [list(range(1, 11)), list(range(11, 21))], list(range(21, 36))),
    (15, 15, [list(range(1, 16))], []),
]


def ids(numbers: Any) -> tuple[str, ...]:
    return tuple(str(n) for n in numbers)


# ---- what is due, from counts alone


@pytest.mark.parametrize(("rounds", "scene_at", "understood", "left"), GOLDEN)
def test_the_golden_of_seed_004_from_counts_alone(
    rounds: int, scene_at: int | None, understood: list[list[int]], left: list[int]
) -> None:
    inside: list[str] = []
    pending: list[str] = []
    batches = []
    for number in range(1, rounds + 1):
        inside.append(str(number))
        pending.append(str(number))
        work = due(inside, pending, SETTINGS, scene_changed=number == scene_at)
        if work.understand:
            batches.append([int(i) for i in work.understand])
            pending = [i for i in pending if i not in work.understand]
        if work.cut_after:
            inside = inside[inside.index(work.cut_after) + 1 :]
    assert batches == understood
    assert inside == list(ids(left))


def test_the_golden_table_is_that_of_the_shared_file(goldens: Path) -> None:
    told = json.loads((goldens / "seed004_worked.json").read_text(encoding="utf-8"))["rolling"]
    assert [(r["rounds"], r["scene_at"], [e[2] for e in r["extracted"]], r["left"]) for r in told] == [
        list(g) and g for g in GOLDEN
    ]


def test_at_thirty_rounds_the_cut_is_made_even_if_understanding_fails() -> None:
    rounds = ids(range(1, 30))
    assert not due(rounds, rounds, SETTINGS).must_cut
    thirty = due((*rounds, "30"), (*rounds, "30"), SETTINGS)
    assert (thirty.understand, thirty.cut_after, thirty.must_cut) == (ids(range(1, 11)), "10", True)


def test_twelve_idle_hours_cut_all_judged_at_now() -> None:
    rounds = ids(range(1, 6))
    assert due(rounds, rounds, SETTINGS, idle_h=11.9).cut_after is None
    work = due(rounds, rounds, SETTINGS, idle_h=12)
    assert (work.understand, work.cut_after, work.must_cut) == (rounds, "5", True)


def test_an_idle_hour_a_close_and_a_full_batch_understand_and_cut_nothing() -> None:
    rounds = ids(range(1, 6))
    for more in ({"idle_h": 1.0}, {"closing": True}, {"batch_size": 5}, {"batch_size": 1}):
        assert due(rounds, rounds, SETTINGS, **more) == due(rounds, rounds, SETTINGS, closing=True)  # type: ignore[arg-type]
        assert due(rounds, rounds, SETTINGS, **more).cut_after is None  # type: ignore[arg-type]
    assert not due(rounds, rounds, SETTINGS, idle_h=0.9).understand
    assert not due(rounds, rounds, SETTINGS, batch_size=6).understand


@given(
    st.integers(0, 40), st.sets(st.integers(1, 45)), st.floats(0, 30), st.booleans(), st.booleans(), st.integers(0, 3)
)
def test_what_leaves_was_understood_or_is_in_the_work(
    rounds: int, waiting: set[int], idle_h: float, scene: bool, closing: bool, batch: int
) -> None:
    inside = ids(range(1, rounds + 1))
    pending = ids(sorted(waiting))
    work = due(inside, pending, SETTINGS, idle_h=idle_h, scene_changed=scene, closing=closing, batch_size=batch)
    assert set(work.understand) <= set(pending)
    if work.cut_after:
        leaving = inside[: inside.index(work.cut_after) + 1]
        assert set(leaving) & set(pending) <= set(work.understand)


# ---- through the agent


def batches(model: Any) -> list[list[str]]:
    """What each call was shown, by the user's words."""
    found = []
    for messages, _ in model.questions:
        found.append(
            [line.partition("用户> ")[2] for line in messages[-1].content.splitlines() if line.startswith("用户> ")]
        )
    return found


def talk(home: Home, agent: Agent, numbers: Any, *, scene_at: int | None = None) -> None:
    for number in numbers:
        say(agent, f"第{number}句话，晚安" if number == scene_at else f"第{number}句话")
        home.clock.advance(seconds=30)
        agent.jobs.settle()
        agent.settle_indexes()


def test_a_model_reads_each_speakers_words_apart(home: Home) -> None:
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        for speaker, text in (("", "第1句话"), ("小李", "第2句话"), ("阿明", "第3句话")):
            list(agent.conversation.talk(text, Sent(Message("user", text), speaker=speaker)))
            agent.jobs.settle()
        agent.finish()
        assert batches(model) == [["第1句话", "第3句话"], ["第2句话"]] and not agent.store.tree.pending()


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("zh", "说过的话还没有读懂，稍后再试：scripted 没有按要求的格式回答"),
        ("en", "what was said waits to be understood: scripted did"),
    ],
)
def test_why_understanding_waits_is_told_in_the_language_of_the_page(tmp_path: Path, language: str, told: str) -> None:
    home = Home.build(tmp_path, character={"language": language})
    with home.open(understanding(lambda _: "这不是答案")) as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        agent.finish()
        assert [one for one in agent.problems() if one.startswith(told)], agent.problems()


def left(agent: Agent) -> list[int]:
    return [int(e.user.removeprefix("第").partition("句")[0]) for e in context.path(agent.store)]


def numbers(batch: list[str]) -> list[int]:
    return [int(text.removeprefix("第").partition("句")[0]) for text in batch]


def roll(agent: Agent) -> None:
    """The background work that a pause brings."""
    agent.jobs.tick()


@pytest.mark.parametrize(("rounds", "scene_at", "understood", "remaining"), GOLDEN)
def test_the_golden_of_seed_004_through_the_agent(
    home: Home, rounds: int, scene_at: int | None, understood: list[list[int]], remaining: list[int]
) -> None:
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        for number in range(1, rounds + 1):
            talk(home, agent, [number], scene_at=scene_at)
            roll(agent)
        assert [numbers(batch) for batch in batches(model)] == understood
        assert left(agent) == remaining


def test_without_a_model_what_the_rules_have_read_leaves_as_well(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        talk(home, agent, range(1, 21))
        roll(agent)
        assert left(agent) == list(range(11, 21))


def test_no_exchange_is_understood_twice(home: Home) -> None:
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        for number in range(1, 24):
            talk(home, agent, [number])
        agent.finish()
        agent.finish()
        seen = [number for batch in batches(model) for number in numbers(batch)]
        assert sorted(seen) == list(range(1, 24))
        assert agent.store.tree.pending() == []


def test_a_batch_size_of_one_understands_every_exchange_by_itself(home: Home) -> None:
    home.configure(understanding={"batch_size": 1})
    model = understanding()
    with home.open(model) as house:
        talk(home, house.agent(), range(1, 4))
        roll(house.agent())
    assert [numbers(batch) for batch in batches(model)] == [[1], [2], [3]]


def test_failed_understanding_keeps_the_work_queued_and_the_talk_in_the_context(home: Home) -> None:
    answers: list[Any] = [ModelError("no_route", "nobody there"), ModelError("no_route", "nobody there")]

    def make(count: int) -> Any:
        return answers.pop(0) if answers else answer(count)

    model = understanding(make)
    with home.open(model) as house:
        agent = house.agent()
        talk(home, agent, range(1, 21))
        roll(agent)
        assert len(model.questions) == 1
        assert left(agent) == list(range(1, 21)), "nothing leaves before it is understood"
        assert len(agent.store.tree.pending()) == 20
        assert any("nobody there" in problem for problem in agent.problems())
        roll(agent)
        assert len(model.questions) == 1, "not at once again"
        home.clock.advance(seconds=61)
        roll(agent)
        assert len(model.questions) == 2
        home.clock.advance(seconds=61)
        roll(agent)
        assert len(model.questions) == 2, "each time it waits longer"
        home.clock.advance(seconds=61)
        roll(agent)
        assert left(agent) == list(range(11, 21))
        assert [numbers(batch) for batch in batches(model)][-1] == list(range(1, 11))
        assert not agent.problems()


def test_at_thirty_rounds_the_talk_leaves_and_the_failed_work_stays_queued(home: Home) -> None:
    down = [True]

    def make(count: int) -> Any:
        return ModelError("no_route", "nobody there") if down else answer(count)

    with home.open(understanding(make)) as house:
        agent = house.agent()
        talk(home, agent, range(1, 31))
        roll(agent)
        assert left(agent) == list(range(11, 31))
        assert len(agent.store.tree.pending()) == 30
        down.clear()
        home.clock.advance(hours=1)
        for _ in range(4):
            roll(agent)
        assert agent.store.tree.pending() == []
        assert "日常闲聊" not in {row.tag for row in agent.store.exchanges.filed()}


def test_nonsense_is_asked_again_once_with_the_error_and_then_stays_queued(home: Home) -> None:
    model = understanding(lambda _: "我不会写 JSON")
    with home.open(model) as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        agent.finish()
        assert len(model.questions) == 2
        assert len(agent.store.tree.pending()) == 1


def test_a_model_that_has_nothing_to_say_twice_leaves_the_talk_to_the_rules(home: Home) -> None:
    model = understanding(lambda _: '{"facts": [], "events": [], "verbs": []}')
    with home.open(model) as house:
        agent = house.agent()
        say(agent, "我讨厌香菜")
        agent.finish()
        agent.finish()
        assert len(model.questions) == 2, "it is not asked for ever"
        assert agent.store.tree.pending() == []
        (kept,) = agent.layers.core.current()
        assert (kept.draft.target, kept.by) == ("香菜", "rules")


def test_what_is_corrected_while_the_model_thinks_stays_queued_and_nothing_cites_the_old_words(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        first = say(agent, "我住在杭州").exchange.id
        say(agent, "我喜欢猫")

        def make(count: int) -> str:
            if corrected:
                return answer(count, facts=[fact("用户住在苏州", 1, keyword="住址", target="苏州")])
            corrected.append(True)
            agent.store.log.correct(first, user="我住在苏州")
            home_and_cat = [("用户住在杭州", 1, "住址", "杭州"), ("用户喜欢猫", 2, "喜好", "猫")]
            return answer(count, facts=[fact(t, n, keyword=k, target=o) for t, n, k, o in home_and_cat])

        corrected: list[bool] = []
        house.model = understanding(make)
        agent.jobs.settle()
        agent.jobs.roll(closing=True)
        assert len(agent.store.tree.pending()) == 2, "the whole answer is thrown away"
        agent.jobs.roll(closing=True)
        assert {f.text for f in agent.layers.core.current()} == {"用户住在苏州", "用户喜欢猫"}
        assert agent.store.tree.pending() == []
        everything = (home.folder / "core_mem.yml").read_text(encoding="utf-8")
        assert "杭州" not in everything


def test_a_crash_between_understanding_and_the_cut_resumes_with_the_cut(home: Home) -> None:
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        talk(home, agent, range(1, 20))
        say(agent, "第20句话")
        agent.jobs.settle()
        agent.settle_indexes()
        agent.store.findings.merge(agent.store.tree.context()[:10], understood(agent, 10), [], {})
    # the cut was not written; the next start makes it
    log = home.folder / "log.jsonl"
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if b'"op":"cut"' not in line]
    log.write_bytes(b"".join(lines))
    with home.open(model) as house:
        agent = house.agent()
        agent.settle_indexes()
        roll(agent)
        assert left(agent) == list(range(11, 21))
        assert len([n for batch in batches(model) for n in numbers(batch) if n <= 10]) <= 10


def understood(agent: Agent, count: int) -> Any:
    from moechat.model import Understanding

    return Understanding(dict.fromkeys(agent.store.tree.context()[:count], "说了话"))


def test_unfinished_understanding_resumes_at_the_next_start(home: Home) -> None:
    with home.open(understanding(lambda _: ModelError("no_route", "nobody there"))) as house:
        talk(home, house.agent(), range(1, 21))
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        agent.settle_indexes()
        assert numbers(batches(model)[0]) == list(range(1, 11))
        assert left(agent) == list(range(11, 21))


def test_after_twelve_idle_hours_the_next_turn_begins_anew(home: Home) -> None:
    model = silent()
    with home.open(model) as house:
        agent = house.agent()
        talk(home, agent, range(1, 4))
        home.clock.advance(hours=12)
        assert agent.recall("第几句").hits is not None
        say(agent, "又来了")
        assert [m.content for m in model.requests[-1].messages if m.role == "user"] == ["又来了"]


def test_a_roll_that_waits_for_a_broken_day_file_neither_cuts_nor_loses_nor_doubles(home: Home) -> None:
    """Hard case 2, with a roll waiting: the file edited wrongly between two turns, then mended."""
    model = understanding()
    with home.open(model) as house:
        agent = house.agent()
        talk(home, agent, range(1, 15))
        path = day_files(home.folder)[0]
        good = path.read_text(encoding="utf-8")
        edit(path, "第3句话", "第3句话，改过")
        talk(home, agent, [15])
        assert "第3句话，改过" in [e.user for e in context.path(agent.store)]
        right = path.read_text(encoding="utf-8")
        edit(path, "  msg:\n", "  msg: [\n")
        wrong = path.read_bytes()
        talk(home, agent, range(16, 23))
        roll(agent)
        assert path.read_bytes() == wrong
        assert any(str(path) in problem and "line" in problem for problem in agent.problems())
        assert len(left(agent)) in (12, 22)
        path.write_text(right, encoding="utf-8")
        talk(home, agent, [23])
        agent.finish()
        agent.finish()
        assert agent.verify()["problems"] == []
        assert agent.verify()["exchanges"] == 23
        assert agent.store.tree.pending() == []
        seen = [n for batch in batches(model) for n in numbers(batch)]
        assert sorted(seen) == list(range(1, 24))
        assert good != right


def test_the_clock_going_backwards_breaks_nothing(home: Home) -> None:
    with home.open() as house:
        agent = house.agent()
        talk(home, agent, range(1, 3))
        home.clock.at -= timedelta(days=1)
        talk(home, agent, range(3, 5))
        agent.finish()
        assert left(agent) == [1, 2, 3, 4]
        assert agent.verify()["problems"] == []


# ---- the rules read again


def test_what_two_exchanges_say_stays_known_by_rules_when_one_is_taken_back(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        for text in ("我喜欢茶", "我很喜欢茶"):
            say(agent, text)
            agent.jobs.settle()
        first, second = agent.store.tree.parents
        assert [fact.draft.sources for fact in agent.layers.core.current()] == [(first, second)]
        agent.conversation.retract(first)
        assert [fact.draft.sources for fact in agent.layers.core.current()] == [(second,)]


def test_a_corrected_exchange_with_an_event_of_the_owners_is_read_again(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        say(agent, "我昨天去了西湖划船")
        agent.jobs.settle()
        (id_,) = agent.store.tree.parents
        (event,) = [episode.event.text for episode in agent.store.findings.citing([id_])]
        (notes,) = (agent.store.folder / "memorys").glob("*.notes.yaml")
        edit(notes, event, "我在西湖上划了一下午的船")
        agent.conversation.correct(id_, user="我住在杭州，昨天去了西湖划船")
        assert len(agent.layers.core.current()) == 1
        agent.finish()
        assert agent.store.tree.pending() == []
        mine = [episode.event.text for episode in agent.store.findings.episodes(range(99)) if episode.by == "owner"]
        assert mine == ["我在西湖上划了一下午的船"]


TALK = (
    "我养了一只猫，叫小黑", "我昨天带小黑去了医院", "我昨天在公园遇到了王芳", "我和王芳一起吃了火锅", "我又和王芳吃了火锅",
)  # fmt: skip


def read_by_rules(folder: Path, every: int) -> list[tuple[str, float, str]]:
    """The events of a talk (object, importance, topic) that the rules read whenever so many exchanges are there."""
    home = Home.build(folder)
    with home.open(silent()) as house:
        agent = house.agent()
        for number, text in enumerate(TALK, 1):
            agent.record(text, "好。", home.clock.now())
            home.clock.advance(minutes=1)
            if number % every == 0:
                agent.jobs.settle()
        events = [episode.event for episode in agent.store.findings.episodes(range(99))]
    return [(event.object, event.importance, event.topic) for event in events]


def test_what_the_rules_make_of_a_talk_does_not_depend_on_when_they_read_it(tmp_path: Path) -> None:
    one_by_one = read_by_rules(tmp_path / "one", 1)
    assert read_by_rules(tmp_path / "all", len(TALK)) == one_by_one


def test_what_is_told_again_in_other_words_is_as_new_as_it_was(home: Home) -> None:
    with home.open(silent()) as house:
        agent = house.agent()
        say(agent, "我昨天去了西湖划船")
        agent.jobs.settle()
        (id_,) = agent.store.tree.parents
        before = [episode.event.importance for episode in agent.store.findings.citing([id_])]
        agent.conversation.correct(id_, user="我昨天去了西湖划船！")
        assert [episode.event.importance for episode in agent.store.findings.citing([id_])] == before


def test_where_the_rules_could_not_read_at_once_they_read_before_the_model(home: Home) -> None:
    with home.open(understanding()) as house:
        agent = house.agent()
        say(agent, "我昨天去了西湖划船")
        agent.store.log.settle()  # the disk was full then: no rule has read it
        agent.jobs.roll(closing=True)
        assert {one.by for one in agent.store.findings.citing(list(agent.store.tree.parents))} == {"rules"}
        assert not agent.store.tree.pending()


@pytest.mark.parametrize("change", ["retract", "correct"])
def test_what_another_exchange_says_as_well_outlives_a_change_of_mind_that_broke_off(
    tmp_path: Path, change: str
) -> None:
    home = Home.build(tmp_path)
    with home.open(silent()) as house:
        agent = house.agent()
        for text in ("我喜欢茶，昨天去划船了", "我很喜欢茶"):
            say(agent, text)
            agent.jobs.settle()
            home.clock.advance(hours=10)
        agent.finish()
        first, second = agent.store.tree.parents
    store = home.store()
    notes = min((home.folder / "memorys").glob("*.notes.yaml"))
    aside = notes.rename(tmp_path / "aside")
    notes.symlink_to(notes)  # the facts are dropped; then the disk fails
    with pytest.raises(DiskError):
        store.log.retract(first) if change == "retract" else store.log.correct(first, user="我在等车")
    assert store.findings.facts() == []
    store.close()
    notes.unlink()
    aside.rename(notes)
    with home.open(silent()) as house:
        agent = house.agent()
        agent.finish()
        assert [fact.draft.sources for fact in agent.layers.core.current()] == [(second,)]
        assert not any("划船" in episode.event.text for episode in agent.store.findings.citing([first]))
