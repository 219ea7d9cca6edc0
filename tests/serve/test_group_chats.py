"""A front end's group: one talk in the memories of all its characters, as the front end shows it."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from served import client_of

from moechat.access.keys import EVERYTHING, PASS
from moechat.clock import SetClock
from moechat.house import House
from moechat.model import Message
from moechat.web.clicks import Whereabouts
from moechat.web.desk import Desk
from tests.groups import facts, killed, lines_of
from tests.houses import Home, silent

NAMES = ("小满", "小林", "阿澈")
A, B, C = NAMES
TALK = "chat:chat-1"
Lines = list[tuple[str, str]]


def numbered(which: str = "") -> Callable[[Sequence[Message]], str]:
    """Replies of which no two are the same, each of whoever is asked."""
    numbers = itertools.count(1)

    def reply(messages: Sequence[Message]) -> str:
        who = next(name for name in NAMES if any(f"only as {name}." in one.content for one in messages))
        return f"{who}{which}说的第{next(numbers)}句"

    return reply


class Tavern:
    """A group of SillyTavern's: one request for each reply, the lines of others with their names, whose turn it is at the end."""

    def __init__(self, house: House, lines: Sequence[tuple[str, str]] = ()) -> None:
        self.house, self.lines = house, list(lines)
        self.client = client_of(house)

    def ask(self, name: str, chat: str = "chat-1") -> None:
        """Let a character answer what is shown."""
        start = f"[Start a new group chat. Group members: {', '.join(NAMES)}]"
        messages = [{"role": "system", "content": text} for text in (f"You are {name}.", start)]
        for who, words in self.lines:
            is_reply = who.startswith("小") or who in NAMES
            message = (
                {"role": "assistant", "content": f"{who}: {words}"} if is_reply else {"role": "user", "content": words}
            )
            messages.append(message | ({"name": who} if who and not is_reply else {}))
        messages.append({"role": "system", "content": f"[Write the next reply only as {name}.]"})
        body = {"model": f"{A}:memory", "messages": messages, "moechat_character": name, "moechat_chat": chat}
        answer = self.client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        self.lines.append((name, answer.json()["choices"][0]["message"]["content"]))

    def say(self, text: str, *names: str, by: str = "") -> None:
        self.lines.append((by, text))
        for name in names:
            self.ask(name)

    def swipe(self) -> None:
        """Another reply in the place of the last."""
        self.ask(self.lines.pop()[0])

    def agreed(self, *names: str) -> Lines:
        """What all of these remember, which is the same; nothing waits."""
        agents = [self.house.agent(name) for name in names or NAMES]
        for agent in agents:
            agent.look()
        assert [agent.store.tree.talks[TALK].waiting for agent in agents] == [{} for _ in agents]
        memories = [lines_of(agent, TALK, "") for agent in agents]
        assert all(one == memories[0] for one in memories), memories
        return memories[0]

    def is_remembered(self, *names: str) -> None:
        """What is shown stands in all memories; two replies in a row are one there."""
        shown = Lines()
        for who, words in self.lines:
            goes_on = who in NAMES and bool(shown) and shown[-1][0] == who
            shown.append((who, f"{shown.pop()[1]}\n{words}" if goes_on else words))
        assert self.agreed(*names) == shown


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(tmp_path)


@pytest.fixture
def tavern(home: Home) -> Iterator[Tavern]:
    with home.open(silent(numbered("慢慢地"))) as house:
        yield Tavern(house)


def known(tavern: Tavern, *names: str) -> set[tuple[str, str]]:
    """All that is known, which is the same to all of them."""
    of_each = [{*facts(tavern.house.agent(name))} for name in names or NAMES]
    assert all(one == of_each[0] for one in of_each)
    return of_each[0]


def users(*what: str) -> set[tuple[str, str]]:
    return {("user", f"用户{one}") for one in what}


def test_what_one_is_asked_all_remember_and_who_is_asked_later_has_heard_it(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A)
    tavern.say("我养了一只叫豆豆的猫", A, B)
    tavern.is_remembered(A, B)
    tavern.say("我不吃香菜", C, A)
    tavern.say("今天真热")  # nobody is asked
    tavern.ask(B)
    tavern.is_remembered()
    assert known(tavern) == users("住在杭州", "的猫叫豆豆", "不吃香菜")


def test_swipes_edits_and_deletions_reach_all_of_them(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B, C)
    tavern.say("今天真热", A, B)
    first = tavern.lines[-1]
    tavern.swipe()
    tavern.is_remembered()
    tavern.lines[-1] = first  # back to the reply before, and another is asked
    tavern.ask(C)
    tavern.is_remembered()
    tavern.lines[0], tavern.lines[2] = ("", "我住在苏州"), (B, "这是改过的一句话")
    tavern.say("晚上吃什么", B)
    tavern.is_remembered()
    del tavern.lines[-3:]
    tavern.say("我不吃香菜", C)
    tavern.is_remembered()
    tavern.lines[-1] = (C, "改过的最后一句")
    tavern.say("好的", A)
    tavern.is_remembered()
    del tavern.lines[3:6]
    tavern.say("嗯嗯", B)
    tavern.is_remembered()
    assert known(tavern) == users("住在苏州", "不吃香菜")


def test_a_branch_is_left_and_come_back_to(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B)
    stem = list(tavern.lines)
    tavern.say("我养了一只叫豆豆的猫", A, B, C)
    main, tavern.lines = tavern.lines, stem
    tavern.say("我不吃香菜", C, B, A)
    tavern.is_remembered()
    assert known(tavern) == users("住在杭州", "不吃香菜")
    tavern.lines = main
    tavern.say("今天真热", B, A)
    tavern.say("嗯", C)
    tavern.is_remembered()
    assert known(tavern) == users("住在杭州", "的猫叫豆豆")


def test_a_reply_outlives_the_line_that_it_answered(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B, C)
    tavern.say("我养了一只叫豆豆的猫", C, A, B)
    del tavern.lines[2]  # what B said, to which C replied
    tavern.say("今天真热", B)
    tavern.is_remembered()
    del tavern.lines[3]  # a message, to which C replied, who has said the line before as well
    tavern.say("我不吃香菜", A)
    tavern.is_remembered()
    assert known(tavern) == users("住在杭州", "不吃香菜")


def test_lines_that_come_back_together_are_back_in_all_memories(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B, C)
    whole = list(tavern.lines)
    del tavern.lines[2:]
    tavern.say("今天真热", A, B, C)
    tavern.lines = whole
    tavern.say("我不吃香菜", B)
    tavern.is_remembered()


@pytest.mark.slow
def test_random_changes_are_followed(tmp_path: Path) -> None:
    wrong = []
    for seed in range(8):
        chance, number, branches = random.Random(seed), itertools.count(1), list[Lines]()
        with Home.build(tmp_path / f"{seed}").open(silent(numbered())) as house:
            tavern = Tavern(house)
            for name in NAMES:
                tavern.say(f"第{next(number)}件事是这样的", name)
            for _ in range(14):
                kind = change(tavern, chance, branches, f"这是改过的第{next(number)}件事")
                tavern.say(f"第{next(number)}件事是这样的", *chance.sample(NAMES, chance.randint(1, 3)))
                try:
                    tavern.is_remembered()
                except AssertionError:
                    wrong.append((seed, kind))
    assert wrong == []


def change(tavern: Tavern, chance: random.Random, branches: list[Lines], words: str) -> str:
    """Something that its user does between two messages."""
    lines = tavern.lines
    kind = chance.choice(("swipe", "edit", "edit a reply", "delete the last", "delete", "branch", "come back", ""))
    if kind == "swipe" and lines[-1][0] in NAMES:
        tavern.swipe()
    elif kind.startswith("edit"):
        at = chance.choice([at for at, (who, _) in enumerate(lines) if bool(who) == (kind != "edit")])
        lines[at] = (lines[at][0], words)
    elif kind == "delete the last" and len(lines) > 5:
        del lines[-chance.randint(1, 3) :]
    elif kind == "delete" and len(lines) > 8:
        at = chance.randint(1, len(lines) - 5)
        del lines[at : at + chance.randint(1, 2)]
    elif kind == "branch":
        branches.append(list(lines))
        del lines[len(lines) - chance.randint(0, 2) :]
    elif kind == "come back" and branches:
        tavern.lines = branches.pop()
    return kind


def test_the_names_of_messages_keep_people_apart(tavern: Tavern) -> None:
    tavern.say("我住在上海", by="安妮")
    tavern.say("我住在杭州", A, by="老周")
    tavern.say("我不吃香菜", B, by="安妮")
    assert known(tavern, A, B) == {("安妮", "安妮住在上海"), ("老周", "老周住在杭州"), ("安妮", "安妮不吃香菜")}


def test_a_line_that_the_front_end_puts_into_a_mouth_is_hers(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B)
    tavern.lines.append((A, "这句话不是模型说的"))
    tavern.ask(B)
    tavern.is_remembered(A, B)
    tavern.lines.append(("小明", "我是谁？"))  # a character who is asked nothing here
    tavern.say("我不吃香菜", A)
    tavern.is_remembered(A, B)
    assert ("user", "用户不吃香菜") in facts(tavern.house.agent(B))


@pytest.mark.parametrize("kind", ["text", "retract", "forget"])
def test_what_is_changed_in_one_memory_is_changed_in_all(tavern: Tavern, kind: str) -> None:
    tavern.say("我住在杭州", A, B, C)
    tavern.say("我养了一只叫豆豆的猫", A, B, C)
    tree = tavern.house.agent(B).store.tree
    told = next(id_ for id_ in tree.path(TALK) if "豆豆" in tree.nodes[id_].user)
    if kind == "forget":
        done = tavern.client.delete(f"/v1/memories/user/{told}", params={"character": B})
    else:
        change = {"text": "我养了一只叫汤圆的猫"} if kind == "text" else {"action": "retract"}
        done = tavern.client.patch(f"/v1/exchanges/{told}", json={"character": B} | change)
    assert done.status_code == 200, done.text
    assert known(tavern) == users("住在杭州", *(["的猫叫汤圆"] if kind == "text" else []))
    assert "豆豆" not in str(tavern.agreed())


@pytest.mark.parametrize("messages", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_long_group_of_two_people_and_three_characters(home: Home, messages: int) -> None:
    """Every fact under its person, none crossed, in all memories; what was told to one alone, in no other's prompt."""
    cities, things = ("杭州", "上海", "广州", "成都", "西安"), ("香菜", "芹菜", "苦瓜", "榴莲", "羊肉")
    chance, people = random.Random(11), ("", "安妮")
    model = silent(numbered())
    secrets = dict(zip(NAMES, ("红宝石", "绿松石", "黑珍珠"), strict=True))
    lives, dislikes = dict.fromkeys(people, ""), {one: set[str]() for one in people}
    with home.open(model) as house:
        tavern = Tavern(house)
        for name, secret in secrets.items():
            tavern.lines = [("", f"只告诉你：我把{secret}埋在院子里")]
            tavern.ask(name, f"with {name}")
        tavern.lines = []
        while len(tavern.lines) < messages:
            home.clock.advance(minutes=1)
            by, kind, text = chance.choice(people), chance.randrange(5), chance.choice(("今天真热", "院子里埋了什么？"))
            if kind == 0:
                lives[by] = chance.choice(cities)
                text = f"我住在{lives[by]}"
            elif kind == 1:
                dislikes[by].add(thing := chance.choice(things))
                text = f"我不吃{thing}"
            elif kind == 2 and tavern.lines and tavern.lines[-1][0] in NAMES:
                tavern.swipe()
                continue
            tavern.say(text, *chance.sample(NAMES, chance.randint(0, 3)), by=by)
        for name in NAMES:
            tavern.say("嗯嗯", name)
        tavern.is_remembered()
        due = {(who or "user", f"{who or '用户'}住在{lives[who]}") for who in people if lives[who]}
        due |= {(who or "user", f"{who or '用户'}不吃{one}") for who in people for one in dislikes[who]}
        assert {one for one in known(tavern) if "住在" in one[1] or "不吃" in one[1]} == due
        for request in model.requests:
            prompt = "\n".join(message.content for message in request.messages)
            assert [name for name, one in secrets.items() if one in prompt and f"only as {name}." not in prompt] == []


@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_and_doubles_nothing(tmp_path: Path, stride: int) -> None:
    """The front end shows what it was told, and asks once more."""
    template = Home.build(tmp_path / "template")
    with template.open(silent(numbered())) as house:
        before = Tavern(house)
        before.say("我住在杭州", A, B)
        lines = before.lines
    left, deaths, torn = 2, 0, 0
    while True:
        shutil.copytree(tmp_path / "template", folder := tmp_path / f"{left}")
        home = Home(folder / "data", folder / "config.yaml", SetClock(template.clock.at + timedelta(minutes=1)))
        died = killed(home, left, lambda house: Tavern(house, lines).say("我养了一只叫豆豆的猫", A, C), numbered("又"))
        deaths += died
        with home.open(silent(numbered("再"))) as house:
            there = [lines_of(house.agent(name), TALK, "") for name in (A, B)]
            torn += there[0] != there[1]
            tavern = Tavern(house, lines)
            tavern.say("我养了一只叫豆豆的猫", A, C)
            tavern.is_remembered()
            assert known(tavern) == users("住在杭州", "的猫叫豆豆")
        if not died:
            break
        left += random.Random(left).choice((5, 7, 11, 13)) * (stride if deaths < 6 else 3 * stride)
    assert deaths * stride > 5 and (torn > 0 or stride > 1)


def test_the_page_shows_it_as_a_talk_of_several(tavern: Tavern) -> None:
    tavern.say("我住在杭州", A, B, C)
    PASS.set(EVERYTHING)
    desk = Desk(tavern.house)
    talk = desk.conversation(Whereabouts(A, talk=TALK))
    shown = talk.recent(9)
    assert [(row.by, row.exchange.user or row.exchange.char) for row in shown] == tavern.lines
    talk.correct(shown[0].exchange.id, user="我住在苏州")
    tavern.lines[0] = ("", "我住在苏州")
    tavern.is_remembered()
    assert known(tavern) == users("住在苏州")
    desk.close()
