"""A talk of several characters and people: who speaks, what each remembers, and that every memory says the same."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.errors import MoeChatError, NotFound
from moechat.house import House
from moechat.house.group import GroupTalk, recast
from moechat.turn import Ended
from tests.groups import NAMES, Lines, agreed, build, facts, killed, lines_of, nth
from tests.houses import Home, say, silent
from tests.oblivion import nowhere

A, B, C = NAMES


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return build(tmp_path)


def round_of(group: GroupTalk, text: str, speaker: str = "") -> list[str]:
    """Who answered, in order."""
    return [event.exchange.speaker for event in group.talk(text, speaker) if isinstance(event, Ended)]


def test_each_hears_all_and_answers_with_her_own_memory(home: Home) -> None:
    model = silent(nth)
    with home.open(model) as house:
        group = house.groups.begin(NAMES, order="list")
        assert round_of(group, "大家好") == [A, B, C]
        assert agreed(house, group) == [("阿明", "大家好"), (A, f"{A}第1句"), (B, f"{B}第2句"), (C, f"{C}第3句")]
        talk = [message.content for message in model.requests[-1].messages if message.role != "system"]
        assert talk == ["阿明：大家好", f"{A}：{A}第1句", f"{B}：{B}第2句"]
        assert any("【这里不止两个人】" in message.content for message in model.requests[-1].messages)
        assert [row.by for row in group.recent(9)] == ["", A, B, C]


def test_who_speaks_next(home: Home) -> None:
    with home.open(silent(nth)) as house:
        group = house.groups.begin(NAMES)
        assert round_of(group, f"{C}，{A}，你们说呢？") == [C, A]
        group.change_member(C, muted=True)
        group.change_member(B, talkativeness=0.0)
        group.change_member(A, talkativeness=1.0)
        assert [round_of(group, f"今天天气不错{n}") for n in range(5)] == [[A]] * 5
        assert round_of(group, f"{C}你说") == [A], "who is muted is not brought in by her name"
        assert [event.exchange.speaker for event in group.speak(C) if isinstance(event, Ended)] == [C]
        with pytest.raises(MoeChatError, match="the last word"):
            list(group.speak(C))
        group.change_cast(order="manual")
        assert round_of(group, f"{A}在吗") == []
        group.change_cast(order="list")
        assert round_of(group, "都说说") == [A, B]
        with pytest.raises(NotFound):
            list(group.speak("没有的人"))


def test_what_somebody_says_is_theirs(home: Home) -> None:
    with home.open() as house:
        group = house.groups.begin(NAMES, people=["安妮"])
        for text, speaker in (
            ("我住在杭州，我的猫叫豆豆", ""), ("我住在上海，我的猫叫豆豆，我妹妹叫小红", "安妮"),
            ("我妹妹叫小红，她住在北京", ""),
            ("我不吃香菜", "安妮"), ("我搬到广州了", "安妮"), ("别再提我前任了", "安妮"),
        ):  # fmt: skip
            home.clock.advance(minutes=1)
            round_of(group, text, speaker)
        for name in NAMES:
            known = facts(house.agent(name))
            assert {
                ("user", "用户住在杭州"),
                ("user", "用户的猫叫豆豆"),
                ("安妮", "安妮的猫叫豆豆"),
                ("安妮", "安妮不吃香菜"),
            } <= {*known}
            assert ("安妮", "安妮住在广州") in known and ("安妮", "安妮住在上海") not in known
            assert [text for _, text in known if "用户" in text and ("上海" in text or "香菜" in text)] == []
            assert not house.agent(name).layers.core.view().boundaries
        with pytest.raises(MoeChatError, match="speaks for herself"):
            group.hear("我是谁", A)


def test_a_model_reads_each_speaker_apart(home: Home) -> None:
    from tests.houses import answer, fact, understanding

    model = understanding(lambda n: answer(n, facts=[fact(f"用户有{n}件事", 1, keyword="事", target=str(n))]))
    with home.open(model) as house:
        group = house.groups.begin([A, B], people=["安妮"], order="manual")
        for text, speaker in (("我说一件", ""), ("我说一件别的", "安妮"), ("我再说一件", "安妮")):
            home.clock.advance(minutes=1)
            group.hear(text, speaker)
        agent = house.agent(A)
        agent.finish()
        assert {("user", "用户有1件事"), ("安妮", "安妮有2件事")} <= {*facts(agent)}


def test_what_one_was_told_alone_is_in_no_other_prompt(home: Home) -> None:
    model = silent(nth)
    with home.open(model) as house:
        say(house.agent(B), "告诉你一个秘密：保险箱密码是7291，我的银行卡藏在钢琴里")
        group = house.groups.begin(NAMES, order="list")
        for text in ("保险箱密码是多少？", "我的银行卡藏在哪里？", "钢琴怎么了？"):
            home.clock.advance(minutes=1)
            round_of(group, text)
        for request in model.requests[1:]:
            prompt = "\n".join(message.content for message in request.messages if "你" not in message.content[:1])
            is_hers = f"你是{B}，" in request.messages[0].content
            assert is_hers or ("7291" not in prompt and "藏在钢琴" not in prompt)


def test_a_correction_reaches_every_memory(home: Home) -> None:
    with home.open(silent(nth)) as house:
        group = house.groups.begin(NAMES, order="list")
        round_of(group, "我住在杭州")
        first, reply, *_ = (row.exchange.id for row in group.recent(9))
        group.correct(first, user="我住在苏州")
        group.correct(reply, char="苏州好啊")
        assert agreed(house, group)[:2] == [("阿明", "我住在苏州"), (A, "苏州好啊")]
        assert {("user", "用户住在苏州")} == {*facts(house.agent(B))} == {*facts(house.agent(C))}
        list(group.regenerate(group.recent(9)[1].exchange.id))
        assert agreed(house, group)[1] == (A, f"{A}第1句"), "another reply takes the place of the first in all of them"
        house.agent(C).in_talk(group.name).correct(first, user="我住在无锡")  # by another door
        group.pass_on()
        assert agreed(house, group)[0] == ("阿明", "我住在无锡")


def test_taking_back_and_bringing_back(home: Home) -> None:
    with home.open(silent(nth)) as house:
        group = house.groups.begin(NAMES, order="list")
        round_of(group, "我住在杭州")
        whole = agreed(house, group)
        ids = [row.exchange.id for row in group.recent(9)]
        group.retract(ids[2])
        assert agreed(house, group) == whole[:2], "a reply goes with those that follow it"
        group.restore(ids[2])
        assert agreed(house, group) == whole
        group.retract(ids[0])
        assert agreed(house, group) == [] and facts(house.agent(C)) == []
        group.restore(ids[0])
        assert agreed(house, group) == whole and facts(house.agent(C)) == [("user", "用户住在杭州")]


def test_forgetting_leaves_no_byte_in_any_memory(home: Home) -> None:
    with home.open(silent(lambda m: "钥匙在花盆底下吗" if "花盆" in m[-1].content else "嗯嗯")) as house:
        group = house.groups.begin(NAMES, order="list")
        round_of(group, "早上好")
        round_of(group, "钥匙藏在花盆底下")
        house.agent(B).memories.forget([group.recent(4)[0].exchange.id])
        group.pass_on()
        assert [words for _, words in agreed(house, group)] == ["早上好", "嗯嗯", "嗯嗯", "嗯嗯"]
    for name in NAMES:
        nowhere(home.data / "agents" / name, ["花盆"])


def test_who_joins_hears_from_then_on_and_who_leaves_keeps_what_was(home: Home) -> None:
    with home.open(silent(nth)) as house:
        group = house.groups.begin([A, B], order="list")
        round_of(group, "只有两个人听见")
        group.add(C)
        round_of(group, "现在三个人")
        group.remove(B)
        round_of(group, "又是两个人")
        assert next(words for _, words in lines_of(house.agent(C), group.name)) == "现在三个人"
        assert "又是两个人" not in str(lines_of(house.agent(B), group.name))
        name = group.name
    with home.open() as house:
        assert [one.name for one in house.groups.of(name, B).cast.members] == [A, C]
        with pytest.raises(NotFound):
            house.groups.of("page 1", A)


def test_each_word_for_a_change_of_a_talk_changes_that(home: Home) -> None:
    with home.open() as house:
        group = house.groups.begin([A, B])
        casts = []
        for act, name in (
            ("add", C),
            ("remove", B),
            ("mute", C),
            ("person", " 安妮 "),
            ("person", "安妮"),
            ("list", ""),
        ):
            recast(group, act, name)
            recast(group, "person", " ")
            cast = group.cast
            casts.append(([(one.name, one.muted) for one in cast.members], cast.people, cast.order))
        recast(group, "unmute", C)
        assert not any(one.muted for one in group.cast.members)
    own, three = (A, False), [(A, False), (B, False), (C, False)]
    muted = [own, (C, True)]
    assert casts == [
        (three, (), "natural"), ([own, (C, False)], (), "natural"), (muted, (), "natural"),
        (muted, ("安妮",), "natural"), (muted, ("安妮",), "natural"), (muted, ("安妮",), "list"),
    ]  # fmt: skip


# ---- two hundred messages


@pytest.mark.parametrize("messages", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("has_memory", [False, True])
def test_a_long_talk_of_two_people_and_three_characters(home: Home, has_memory: bool, messages: int) -> None:
    """Every fact under its person, none crossed; what was told to one alone, in no other's prompt. ``has_memory``: the second
    person has memories of her own, too."""
    cities, things = ("杭州", "上海", "广州", "成都", "西安"), ("香菜", "芹菜", "苦瓜", "榴莲", "羊肉")
    chance, model = random.Random(7), silent(nth)
    people = ("阿明", "安妮")
    lives, dislikes = dict.fromkeys(people, ""), {one: set[str]() for one in people}
    with home.open(model) as house:
        for name, secret in zip(NAMES, ("红宝石", "绿松石", "黑珍珠"), strict=True):
            say(house.agent(name), f"只告诉你：我把{secret}埋在院子里")
        if has_memory:
            say(house.agent(B, "安妮"), "只告诉你：我把夜明珠埋在院子里")
        group, count = house.groups.begin(NAMES), 0
        if has_memory:
            group.add_user("安妮")
        while count < messages:
            home.clock.advance(minutes=1)
            speaker, kind = chance.choice(people), chance.randrange(4)
            if kind == 0:
                lives[speaker] = chance.choice(cities)
                text = f"我住在{lives[speaker]}"
            elif kind == 1:
                thing = chance.choice(things)
                dislikes[speaker].add(thing)
                text = f"我不吃{thing}"
            else:
                text = chance.choice(
                    ("院子里埋了什么？", "今天真热", "你们在忙什么", f"{chance.choice(NAMES)}，你说呢？")
                )
            if speaker == "安妮" and has_memory:
                count += 1 + len(round_of(house.groups.of(group.name, A, "安妮"), text))
            else:
                count += 1 + len(round_of(group, text, speaker))
        assert len(agreed(house, group)) == count
        for name, user in itertools.product(NAMES, people if has_memory else people[:1]):
            known = facts(house.agent(name, user if user == "安妮" else ""))
            for who in people:
                entity, called = ("user", "用户") if who == user else (who, who)
                mine = {text for whose, text in known if whose == entity and ("住在" in text or "不吃" in text)}
                city = {f"{called}住在{lives[who]}"} if lives[who] else set()
                assert mine == city | {f"{called}不吃{one}" for one in dislikes[who]}
            assert {whose for whose, _ in known} == {"user", *people} - {user}
        own = dict(zip(NAMES, ("红宝石", "绿松石", "黑珍珠"), strict=True)) | (
            {f"{B} 安妮": "夜明珠"} if has_memory else {}
        )
        for request in model.requests:
            prompt = "\n".join(message.content for message in request.messages)
            is_hers = "埋在院子里" in prompt and "夜明珠" in prompt
            there = [name.split()[0] for name, one in own.items() if one in prompt]
            assert all(f"你是{name}，" in request.messages[0].content for name in there)
            assert not (is_hers and own[B] in prompt), "what either told her alone is not in the other's turn"


# ---- kills


KINDS = ("say", "retract", "correct", "forget")


def _everywhere(house: House, talk: str, user: str) -> Lines:
    """What all memories say of a talk after whoever opens it has passed on what waited."""
    lines = agreed(house, house.groups.of(talk, B))
    assert all(lines_of(house.agent(one, user), talk, user) == lines for one in NAMES if user)
    return lines


@pytest.mark.parametrize(
    ("kind", "user"),
    [
        (KINDS[0], ""),
        *(pytest.param(kind, "", marks=pytest.mark.slow) for kind in KINDS[1:]),
        *(pytest.param(kind, "安妮", marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_a_kill_between_two_steps_loses_and_doubles_nothing(tmp_path: Path, kind: str, user: str) -> None:
    """``user``: by whom, one who has memories of her own there, or the one who began the talk."""
    template = build(tmp_path / "template")
    me = user or "阿明"
    with template.open(silent(nth)) as house:
        group = house.groups.begin(NAMES, order="list")
        if user:
            group.add_user(user)
            group = house.groups.of(group.name, A, user)
        round_of(group, "我住在杭州")
        name, whole, first = group.name, _everywhere(house, group.name, user), group.recent(9)[0].exchange.id
    left, deaths, torn = 2, 0, 0
    while True:
        folder = tmp_path / f"{left}"
        shutil.copytree(tmp_path / "template", folder)
        home = Home(folder / "data", folder / "config.yaml", SetClock(template.clock.at + timedelta(minutes=1)))

        def doing(house: House, name: str = name, first: str = first) -> None:
            there = house.groups.of(name, A, user)
            if kind == "say":
                list(there.talk("我养了一只叫豆豆的猫"))
            elif kind == "correct":
                there.correct(first, user="我住在苏州")
            else:
                getattr(there, kind)(first)

        has_died = killed(home, left, doing)
        deaths += has_died
        with home.open(silent(nth)) as house:
            torn += len({tuple(lines_of(house.agent(one, whose), name, whose or "阿明")) for one in NAMES
                         for whose in {"", user}}) > 1  # fmt: skip
            now = _everywhere(house, name, user)
            before, after = whole, {"correct": [(me, "我住在苏州"), *whole[1:]]}.get(kind, [])
            if kind == "say":
                assert now[:4] == whole and now[4:5] in ([], [(me, "我养了一只叫豆豆的猫")])
                assert len(now) == len(set(now)) <= 8
            else:
                assert now in (before, after)
        if not has_died:
            assert kind == "say" or now == after
            break
        left += random.Random(left).choice((5, 7, 11, 13)) * (1 if deaths < 6 else 3)
    assert deaths > 5 and torn > 0


# ---- people with memories of their own


@pytest.fixture
def both(home: Home) -> Iterator[Both]:
    model = silent(nth)
    with home.open(model) as house:
        mine = house.groups.begin(NAMES, order="list")
        round_of(mine, "安妮来之前的话")
        mine.add_user("安妮")
        yield Both(house, model, mine, house.groups.of(mine.name, B, "安妮"))


@dataclass
class Both:
    """阿明 and 安妮 in one talk, each with memories of their own."""

    house: House
    model: ScriptedModel
    mine: GroupTalk
    hers: GroupTalk

    def agreed(self) -> list[tuple[str, str]]:
        """What everybody remembers since she came, the same in all memories."""
        lines = agreed(self.house, self.mine)[4:]
        for name in NAMES:
            agent = self.house.agent(name, "安妮")
            assert agent.store.tree.talks[self.mine.name].waiting == {}
            heard = lines_of(agent, self.mine.name, "安妮")
            assert heard == lines, (name, heard, lines)
        shown = [
            (row.exchange.speaker or "安妮", row.exchange.user or row.exchange.char) for row in self.hers.recent(99)
        ]
        assert shown == lines
        return lines

    def known(self, name: str, user: str = "") -> set[tuple[str, str]]:
        return {*facts(self.house.agent(name, user))}


def test_each_person_keeps_what_was_said_while_they_were_there(both: Both) -> None:
    round_of(both.mine, "我住在杭州")
    assert round_of(both.hers, "我住在上海") == [A, B, C]
    assert both.agreed()[:6] == [
        ("阿明", "我住在杭州"), (A, f"{A}第5句"), (B, f"{B}第6句"), (C, f"{C}第7句"), ("安妮", "我住在上海"), (A, f"{A}第5句"),
    ]  # fmt: skip
    for name in NAMES:
        assert both.known(name) == {("user", "用户住在杭州"), ("安妮", "安妮住在上海")}
        assert both.known(name, "安妮") == {("user", "用户住在上海"), ("阿明", "阿明住在杭州")}
    with pytest.raises(MoeChatError, match="say it as yourself"):
        both.mine.hear("我是安妮", "安妮")
    with pytest.raises(MoeChatError, match="阿明's"):
        both.hers.hear("我是别人", "小红")


def test_she_answers_out_of_her_memory_of_whoever_speaks(both: Both) -> None:
    say(both.house.agent(A), "告诉你一个秘密：保险箱密码是7291")
    say(both.house.agent(A, "安妮"), "告诉你一个秘密：日记藏在钢琴里")
    for group, own, other in ((both.mine, "7291", "钢琴"), (both.hers, "钢琴", "7291")):
        before = len(both.model.requests)
        for text in ("保险箱密码是多少？", "日记藏在哪里？"):
            round_of(group, text)
        prompts = ["\n".join(one.content for one in request.messages) for request in both.model.requests[before:]]
        assert len(prompts) == 6 and any(own in prompt for prompt in prompts)
        assert [prompt for prompt in prompts if other in prompt.replace("日记藏在哪里", "")] == []
    both.agreed()


def test_changes_of_mind_reach_the_memories_of_both_people(both: Both) -> None:
    round_of(both.mine, "我住在杭州")
    round_of(both.hers, "我住在上海")
    ids = [row.exchange.id for row in both.hers.recent(8)]
    both.hers.correct(ids[4], user="我住在苏州")
    both.mine.correct(ids[0], user="我住在无锡")
    list(both.hers.regenerate(ids[7]))
    assert [line for line in both.agreed() if line[0] in ("阿明", "安妮")] == [
        ("阿明", "我住在无锡"),
        ("安妮", "我住在苏州"),
    ]
    assert both.known(C) == {("user", "用户住在无锡"), ("安妮", "安妮住在苏州")}
    for change in (both.hers.correct, both.hers.retract, both.hers.forget):
        with pytest.raises(MoeChatError, match="阿明's"):
            change(ids[0], **({"user": "我住在火星"} if change == both.hers.correct else {}))
    both.hers.retract(ids[4])
    assert len(both.agreed()) == 4 and both.known(B) == {("user", "用户住在无锡")}
    both.hers.restore(ids[4])
    assert len(both.agreed()) == 8 and ("安妮", "安妮住在苏州") in both.known(B)
    both.hers.forget(ids[4])
    assert [text for _, text in both.agreed()] == ["我住在无锡", f"{A}第5句", f"{B}第6句", f"{C}第7句"]
    both.house.agent(A, "安妮").in_talk(both.mine.name).correct(
        ids[0], user="我住在火星"
    )  # by another door: hers alone
    both.mine.pass_on()
    assert both.known(A) == {("user", "用户住在无锡")}


def test_who_leaves_keeps_what_she_heard(both: Both) -> None:
    round_of(both.hers, "我住在上海")
    both.mine.remove("安妮")
    round_of(both.mine, "她走了吗")
    assert "她走了吗" not in str(lines_of(both.house.agent(A, "安妮"), both.mine.name, "安妮"))
    assert ("user", "用户住在上海") in both.known(A, "安妮")
    with pytest.raises(NotFound, match="without you"):
        both.house.groups.of(both.mine.name, A, "安妮")
