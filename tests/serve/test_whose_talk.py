"""Programs that change what was said, put something around it, or name nothing: which talk it is, and whose words they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import Served

from moechat.serve.additions import Additions

SAID = {
    "zh": (
        "我住在杭州，养了一只叫豆豆的猫", "我在一家做地图的公司上班", "周末我打算去西湖边上走一走",
        "我对花生过敏，一点都不能吃",
    ),
    "en": (
        "I live in Bristol and I have a cat called Pickle", "I work for a company that makes maps",
        "At the weekend I want to walk along the river", "I am allergic to peanuts, so please never suggest them",
    ),
}  # fmt: skip
NAMES = {"zh": ("杭州", "豆豆"), "en": ("Bristol", "Pickle")}
REPLIES = {
    "zh": "*她笑了笑* 好的，这件事我记住了，第{}次跟你说话真开心。",
    "en": "*She smiles* Good, I keep that in mind, visit {} was lovely.",
}
ORDER = {"zh": "[请用不超过一百个字来回复]", "en": "[Write your reply in fewer than a hundred words]"}
PLAIN_ORDER = {"zh": "请用不超过一百个字来回复上面的话", "en": "Write your reply in fewer than a hundred words please"}
Change = Callable[[str, str, bool], str]  # (text, language, whether it is said now)


def same(text: str, _: str, __: bool) -> str:
    return text


def expression(text: str, _: str, is_new: bool) -> str:
    return text.replace("*", "") + ("" if is_new else " <img src=smile.png>")


def censored(text: str, _: str, is_new: bool) -> str:
    return text if is_new else text.replace("我", "咱").replace("I ", "i ") + "~"


def named(text: str, language: str, _: bool) -> str:
    return f"{'阿明' if language == 'zh' else 'Anne'}: {text}"


def speaking(text: str, language: str, _: bool) -> str:
    return f"{'青禾' if language == 'zh' else 'Wren'}: {text}"


def ordered(text: str, language: str, _: bool) -> str:
    return f"{text}\n\n{ORDER[language]}"


def ordered_last(text: str, language: str, is_new: bool) -> str:
    return f"{text}\n\n{PLAIN_ORDER[language]}" if is_new else text


PROGRAMS: dict[str, tuple[Change, Change]] = {
    "a script over replies": (same, expression),
    "a script over the user's words": (censored, same),
    "names before messages": (named, speaking),
    "an instruction in every message": (ordered, same),
    "an instruction in the last message": (ordered_last, same),
}


@pytest.fixture
def served(tmp_path: Path, language: str) -> Iterator[Served]:
    numbers = iter(range(1, 100))
    with Served(tmp_path, lambda _: REPLIES[language].format(next(numbers)), character={"language": language}) as one:
        yield one


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("chat", ["", "chat-1"])
def test_a_program_that_changes_past_text_has_one_talk_whose_facts_are_read(
    served: Served, language: str, program: str, chat: str
) -> None:
    mine, hers = PROGRAMS[program]
    turns: list[tuple[str, str]] = []
    for said in SAID[language]:
        past = [text for user, reply in turns for text in (mine(user, language, False), hers(reply, language, False))]
        more = {"extra_headers": {"x-moechat-chat": chat}} if chat else {}
        turns.append((said, served.say(*past, mine(said, language, True), **more)))
    agent = served.house.agent()
    assert len([name for name in agent.store.tree.talks if name]) == 1
    assert [text for text, _ in served.kept()] == list(SAID[language])
    facts = " ".join(memory.text for memory in agent.memories.listed(("fact",)).memories)
    assert [name for name in NAMES[language] if name not in facts] == []


def test_a_program_that_sends_one_message_a_request_adds_nothing_to_what_its_user_said(
    served: Served, language: str
) -> None:
    for said in SAID[language]:
        served.say(ordered(said, language, True))
    assert [text for text, _ in served.kept()][1:] == list(SAID[language][1:])


LONG = "明天早上我要坐火车去北京出差"


def test_what_is_put_around_a_message_is_told_from_what_is_said() -> None:
    order = ORDER["zh"]
    cases: list[tuple[str, list[str], list[str], str]] = [  # (message, messages before it, ours, what its user says)
        (f"早\n{order}", [f"晚安\n{order}"], [], "早"),
        (f"早 {order}", [f"晚安 {order}"], [], "早"),
        (f"{order}早", [f"{order}晚安"], [], "早"),
        (f"{order}\n早\n{order}", [], [f"{order}\n晚安\n{order}"], "早"),
        (f"早\n{LONG}", [f"晚安\n{LONG}"], [], f"早\n{LONG}"),  # said twice
        (f"早\n{LONG}", [f"晚安\n{LONG}", f"在吗\n{LONG}"], [], "早"),
        (f"早\n{LONG}", ["晚安"], [f"晚安\n{LONG}"], "早"),  # the program itself shows what was said without it
        (f"早\n{order}", [f"早\n{order}"], [], f"早\n{order}"),  # the same message again tells nothing
        ("早\n好呀", ["晚安\n好呀", "在吗\n好呀"], [], "早\n好呀"),  # too short to be sure
        (order, [order + order], [], order),  # nothing else is in it
    ]  # fmt: skip
    wrong = []
    for message, before, ours, said in cases:
        told = Additions().learnt(message, [(text, "") for text in before], ours).without(message)
        wrong += [] if told == said else [(message, told, said)]
    assert wrong == []


def test_a_name_before_a_message_is_no_part_of_it_where_both_sides_have_theirs() -> None:
    cases: list[tuple[list[tuple[str, str]], str, str]] = [
        ([("阿明：早", "青禾：早呀")], "阿明：我住在杭州", "我住在杭州"),
        ([("阿明：早", "早呀")], "阿明：我住在杭州", "阿明：我住在杭州"),  # a group, perhaps: the name is a speaker's
        ([("阿明：早", "青禾：早呀")], "小红：我住在杭州", "小红：我住在杭州"),
        ([], "提醒：我住在杭州", "提醒：我住在杭州"),
    ]
    wrong = []
    for turns, message, said in cases:
        told = Additions().learnt(message, turns, []).without(message)
        wrong += [] if told == said else [(message, told, said)]
    assert wrong == []


def test_the_name_of_the_user_before_a_message_is_no_part_of_it(served: Served) -> None:
    served.say("安妮: 早上好", extra_body={"moechat_user": "安妮"})
    served.say("小红: 早上好", extra_body={"moechat_user": "安妮"})
    assert [text for text, _ in served.kept("安妮")] == ["早上好", "小红: 早上好"]
