"""A program that names its chat: what it shows is what stands in memory, and nothing is taken back on a guess."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from served import Served

from moechat.settings.character import begin_character, safe_folder

GREETING = "你来啦，我等你好久了。"


@dataclass
class Named:
    """A chat with a name, as SillyTavern and Open WebUI send it: all of it each time, from its greeting on."""

    served: Served
    greeting: str = GREETING
    chat: str = "chat-1"
    window: int = 0
    room: int = 0
    turns: list[list[str]] = field(default_factory=list)

    def say(self, text: str, **more: Any) -> None:
        self.turns.append([text, ""])
        sent = [{"role": "system", "content": "你是青禾。"}]
        sent += [{"role": "assistant", "content": self.greeting}] if self.greeting and not self.window else []
        while (
            self.room
            and sum(map(len, itertools.chain(*self.turns[-self.window - 1 if self.window else 0 :]))) > self.room
        ):
            self.window = (self.window or len(self.turns) - 1) - 1
        for user, reply in self.turns[-self.window - 1 if self.window else 0 :]:
            sent += [{"role": "user", "content": user}] if user else []
            sent += [{"role": "assistant", "content": reply}] if reply else []
        body = {"moechat_chat": self.chat, **more} if self.chat else more
        self.turns[-1][1] = self.served.say(*sent, extra_body=body)

    def several(self, *names: str) -> Named:
        for name in names:
            self.say(f"我养了一只叫{name}的猫")
        return self

    def delete(self, first: int, count: int = 1) -> None:
        del self.turns[first : first + count]

    @property
    def shown(self) -> list[tuple[str, str]]:
        return [(user, reply) for user, reply in self.turns]


def edit(place: int, user: str = "", reply: str = "") -> Callable[[Named], None]:
    def change(chat: Named) -> None:
        old = chat.turns[place]
        chat.turns[place] = [user or old[0], reply or old[1]]

    return change


CHANGES: dict[str, Callable[[Named], object]] = {
    "an old message": edit(1, "我养了一只叫雪球的猫"),
    "an old reply": edit(1, reply="我当时说的是别的。"),
    "the last reply": edit(-1, reply="我刚才说的是别的。"),
    "more at the end of a reply": lambda chat: edit(1, reply=chat.turns[1][1] + "还有一句。")(chat),
    "both sides of an old turn": edit(1, "我养了一只叫雪球的猫", "我当时说的是别的。"),
    "a turn out of the middle": lambda chat: chat.delete(1),
    "two turns out of the middle": lambda chat: chat.delete(1, 2),
    "the last turn": lambda chat: chat.delete(3),
    "the last two turns": lambda chat: chat.delete(2, 2),
    "a reply alone": lambda chat: chat.turns[1].__setitem__(1, ""),
    "three old replies": lambda chat: [edit(at, reply=f"当时说的第{at}句是别的。")(chat) for at in range(3)],
    "three old messages": lambda chat: [
        edit(at, f"我养了一只叫{name}的猫")(chat) for at, name in enumerate(("雪球", "花卷", "旺财"))
    ],
}


@pytest.mark.parametrize("greeting", [GREETING, ""])
def test_what_its_user_changes_is_followed_with_the_next_message(served: Served, greeting: str) -> None:
    wrong = []
    for number, (name, change) in enumerate(CHANGES.items()):
        user = f"user{number}"
        chat = Named(served, greeting)
        for pet in ("团子", "豆豆", "年糕", "汤圆"):
            chat.say(f"我养了一只叫{pet}的猫", moechat_user=user)
        change(chat)
        chat.say("今天天气不错", moechat_user=user)
        agent = served.house.agent(user=user)
        agent.conversation.follow(reads=True)
        facts = " ".join(memory.text for memory in agent.memories.listed(("fact",)).memories)
        pets = [one for one in ("团子", "豆豆", "年糕", "汤圆", "雪球") if (one in facts) != (one in str(chat.turns))]
        wrong += [(name, served.kept(user), pets)] if served.kept(user) != chat.shown or pets else []
    assert wrong == []


def test_a_script_that_is_switched_on_changes_the_newest_reply_too_and_is_no_edit(served: Served) -> None:
    chat = Named(served).several("团子", "豆豆", "年糕", "汤圆")
    as_given = list(chat.shown)
    for place in range(4):
        edit(place, reply=f"<i>{chat.turns[place][1]}</i>")(chat)
    chat.say("今天天气不错")
    assert served.kept()[:4] == as_given
    chat.say("明天呢")  # It did not change the newest: whoever edited the last reply with three others is known by now.
    assert served.kept() == chat.shown


def test_what_is_shown_again_is_back_but_not_what_was_taken_back_here(served: Served) -> None:
    chat = Named(served).several("团子", "豆豆", "年糕", "汤圆")
    agent = served.house.agent()
    (by_hand,) = [row["id"] for row in agent.log() if "豆豆" in str(row["text"])]
    agent.in_talk("chat:chat-1").retract(str(by_hand))
    hidden = chat.turns.pop(2)
    chat.say("今天天气不错")
    assert [text for text, _ in served.kept()] == ["我养了一只叫团子的猫", "我养了一只叫汤圆的猫", "今天天气不错"]
    chat.turns.insert(2, hidden)
    chat.say("明天呢")
    assert served.kept() == [turn for turn in chat.shown if "豆豆" not in turn[0]]
    assert agent.store.tree.unshown == set()


def test_a_first_turn_that_was_deleted_is_told_from_one_that_was_cut_off(served: Served) -> None:
    chat = Named(served).several("团子", "豆豆", "年糕")
    chat.delete(0)
    chat.say("今天天气不错")
    chat.say("明天呢")
    assert served.kept() == chat.shown
    short = Named(served, chat="chat-2").several("雪球", "旺财", "汤圆", "花卷")
    short.window = 2
    for text in ("后天呢", "大后天呢", "下周呢"):
        short.say(text)
        short.window += 1  # the messages are short, and more of them find room
    assert served.kept()[len(chat.turns) :] == short.shown


def test_without_a_greeting_it_is_told_once_a_request_is_larger_than_that_turn_had_needed(served: Served) -> None:
    chat = Named(served, greeting="").several("团子", "豆豆", "年糕")
    chat.delete(0)
    for count in range(12):
        chat.say(f"今天天气不错，第{count}次")
        if served.kept() == chat.shown:
            break
    assert served.kept() == chat.shown and count > 1


@pytest.mark.parametrize("seed", range(3))
def test_of_a_history_that_is_cut_for_room_nothing_is_taken_back(served: Served, seed: int) -> None:
    chance, chat = random.Random(seed), Named(served, greeting="", room=150)
    for number in range(25):
        chat.window = 0  # As many of the newest as there is room for.
        chat.say(f"{number}、" + "啦la"[chance.random() < 0.5 :] * chance.randint(1, 20))
    assert served.kept() == chat.shown


def test_without_a_name_nothing_is_taken_back(served: Served) -> None:
    chat = Named(served, chat="").several("团子", "豆豆", "年糕", "汤圆")
    chat.delete(1)
    chat.say("今天天气不错")
    assert [text for text, _ in served.kept()].count("我养了一只叫豆豆的猫") == 1


def test_what_was_said_while_nobody_answered_is_heard_unless_it_is_off_the_record(served: Served) -> None:
    chat = Named(served).several("团子")
    chat.turns.append(["我住在杭州", ""])
    chat.say("今天天气不错")
    assert served.kept() == chat.shown
    chat.say("我住在成都", store=False)
    chat.turns[-1][1] = ""
    chat.say("明天呢")
    chat.say("我住在重庆", store=False)
    chat.delete(1)
    chat.say("后天呢")
    chat.say("大后天呢")
    assert served.kept() == [turn for turn in chat.shown if turn[0] not in ("我住在成都", "我住在重庆")]


def test_after_a_restart_nobody_knows_what_was_off_the_record_and_nothing_old_is_heard(served: Served) -> None:
    chat = Named(served).several("团子")
    chat.say("我住在成都", store=False)
    chat.turns[-1][1] = ""
    served.__exit__()
    served.__enter__()
    for text in ("明天呢", "后天呢"):
        chat.say(text)
    chat.turns.append(["我住在杭州", ""])
    chat.say("今天天气不错")
    assert served.kept() == [turn for turn in chat.shown if turn[0] != "我住在成都"]


def test_the_same_words_after_a_deletion_are_said_once_more(served: Served) -> None:
    chat = Named(served).several("团子", "豆豆", "年糕")
    chat.delete(1)
    chat.say("今天天气不错")
    chat.delete(1, 2)
    chat.several("豆豆")
    assert served.kept() == chat.shown
    agent = served.house.agent()
    agent.in_talk("chat:chat-1").retract(str(agent.store.tree.leaf("chat:chat-1")))
    chat.delete(1)
    chat.several("豆豆")
    assert served.kept() == chat.shown


def test_the_reply_of_another_character_does_not_become_hers(served: Served) -> None:
    """As Open WebUI sends a chat in which several models answered."""
    begin_character(safe_folder(served.house.data, "阿澈"), "阿澈")
    chat = Named(served).several("团子", "豆豆")
    hers = chat.turns[1][1]
    sent = [text for turn in chat.turns for text in turn][:-1]
    chat.turns[1][1] = served.say(*sent, model="阿澈", extra_body={"moechat_chat": "chat-1"})
    chat.say("今天天气不错")
    assert served.kept()[1] == ("我养了一只叫豆豆的猫", hers)


def test_a_question_beside_the_chat_is_no_part_of_it(served: Served) -> None:
    chat = Named(served).several("团子", "豆豆")
    served.say("给这段对话起个名字", extra_body={"moechat_chat": "chat-1"})
    chat.say("今天天气不错")
    assert served.kept() == chat.shown


def test_a_chat_that_the_program_does_not_keep_is_off_the_record(served: Served) -> None:
    for name in ("temporary:1f2e", "local:1f2e"):
        served.say("我住在杭州", extra_headers={"X-OpenWebUI-Chat-Id": name})
    assert served.kept() == []
