"""What becomes of a model that misbehaves: asked once more in silence where nothing was shown yet, else cut, or told in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from moechat.ai.scripted import Line, ScriptedModel
from moechat.ai.wire import chat_body
from moechat.model import Message
from moechat.turn import Delta, Ended, Sent
from tests.houses import Home, say

CALL = ({"index": 0, "id": "a", "function": {"name": "look_up", "arguments": "{}"}},)
PERSONA = "小满二十六岁，在城南开一家旧书店，养着一只叫墨水的黑猫。"
GOOD = "好呀，我在听，你慢慢说。"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.build(
        tmp_path, character={"user_name": "何露", "persona": "小满二十六岁，在城南开一家旧书店，养着一只叫墨水的黑猫。"}
    )


def talk(home: Home, replies: Sequence[str | Line], *said: str) -> tuple[str, Ended, ScriptedModel]:
    """What was shown of the reply to the last of these messages, how that turn ended, and the model; its script is used up."""
    home.clock.advance(days=2)  # another talk than that before
    model = ScriptedModel(list(replies), understands=False)
    with home.agent(model) as agent:
        for text in said[:-1]:
            say(agent, text)
        shown = ""
        for event in agent.talk(said[-1]):
            if isinstance(event, Delta):
                shown = event.text if event.instead else shown + event.text
        assert isinstance(event, Ended)
        assert shown.strip() == event.exchange.char.strip(), "what is shown is what is stored"
        assert len(model.requests) == len(replies), "asked as often as the script says"
        return event.exchange.char.strip(), event, model


def asked_again(home: Home, bad: str | Line, *said: str, before: Sequence[str] = ()) -> None:
    """A bad reply is never seen, and the next one is the reply."""
    shown, ended, _ = talk(home, [*before, bad, GOOD], *said)
    assert (shown, ended.exchange.status, ended.error) == (GOOD, "done", "")


def told_in_words(home: Home, bad: str | Line, *words: str) -> None:
    """A model that does the same again is told of, and nothing of it is stored."""
    shown, ended, _ = talk(home, [bad, bad], "今天好累，不想上班")
    assert (shown, ended.exchange.status, ended.kind) == ("", "failed", "nonsense")
    assert all(word in ended.error for word in words), ended.error


def test_words_put_in_the_users_mouth_end_the_reply(home: Home) -> None:
    assert talk(home, ["去睡吧。\n何露：好。\n小满：晚安。"], "好困")[0] == "去睡吧。"
    assert talk(home, ["早呀。\n**何露**: 早"], "早")[0] == "早呀。"
    assert talk(home, ["在呢。\n用户：你好"], "在吗")[0] == "在呢。"
    asked_again(home, "何露：我想去海边。\n小满：好。", "周末去哪儿好呢")
    told_in_words(home, "何露：我想去海边。", "替你说的话")
    letter = "写好了：\n何露，\n见信好。何露：这名字真好听。"
    assert talk(home, [letter], "替我写封信")[0] == letter, "her name within a line is no label"


def test_a_phrase_said_again_and_again_is_left_out(home: Home) -> None:
    always = "无论如何我都会一直陪着你。"
    said = [f"第{n}天过得真快。{always}" for n in "一二三"]
    assert talk(home, said, "早", "中午好", "晚上好")[0] == "第三天过得真快。"
    status = "【好感度：五十五，心情：平静的一天】"
    assert talk(home, [f"{status}{word}。" for word in "嗯好在"], "早", "中午好", "晚上好")[0] == f"{status}在。", (
        "a card asks for that"
    )
    same = "第一天过得真快，你说是不是？"
    asked_again(home, same, "那后来呢", "再后来呢", before=[same])


def test_a_reply_that_goes_round_in_circles_is_cut(home: Home) -> None:
    shown, ended, _ = talk(home, ["我想说：" + "我真的真的很想你，" * 60], "在干嘛")
    assert shown == "我想说：我真的真的很想你，" and ended.error == ""
    laughing = "哈" * 100 + "，笑死我了。"
    assert talk(home, [laughing], "讲个笑话")[0] == laughing


def test_the_wrong_language_is_not_shown(home: Home) -> None:
    wrong = "Of course! I would love to hear more about your day, tell me everything."
    asked_again(home, wrong, "今天下班路上看到晚霞了")
    assert talk(home, [wrong, wrong], "今天下班路上看到晚霞了")[0] == wrong, "a model that knows no other is let speak"
    assert talk(home, [wrong], "用英文跟我说句话")[0] == wrong
    code = "```python\nprint('hello world, this is a program that prints a line')\n```"
    assert talk(home, [f"{code}\n这样就行。"], "写段代码打印一行字")[0] == f"{code}\n这样就行。"


def test_a_call_of_tools_alone_is_no_reply(home: Home) -> None:
    asked_again(home, Line("", calls=CALL), "明天会下雨吗")
    asked_again(home, '<tool_call>{"name": "look_up"}</tool_call>', "明天会下雨吗")
    told_in_words(home, Line("", calls=CALL), "工具调用")
    with home.agent(ScriptedModel([Line("", calls=CALL)], understands=False)) as agent:
        wished = Sent(Message("user", "明天会下雨吗"), wishes={"tools": [{"type": "function"}]})
        *_, ended = agent.conversation.talk("明天会下雨吗", wished)
        assert isinstance(ended, Ended) and ended.calls and not ended.error, "whoever offers tools gets the call"


def test_what_stands_before_a_stray_end_of_thought_is_neither_shown_nor_stored(home: Home) -> None:
    for dirty in ("她在试探我。</think>好呀。", Line("她在试探我。</think>好呀。", thoughts="想一想")):
        assert talk(home, [dirty], "你好呀")[0] == "好呀。"
    for path in home.folder.rglob("*"):
        assert path.is_dir() or "试探".encode() not in path.read_bytes(), path


CONTROL = (
    "<|im_start|> <|im_end|> <|eot_id|> <|start_header_id|> <｜User｜> <start_of_turn> </s> [INST] [/INST] <<SYS>> [gMASK] "
    "</think> <tool_call> <|endoftext|>"
).split()


def test_tokens_of_a_chat_template_reach_no_model_as_such(home: Home) -> None:
    persona = f"你是小满。{CONTROL[0]}system"
    card = Home.build(home.data.parent / "card", character={"persona": persona})
    _, _, model = talk(card, [GOOD], " ".join(CONTROL))
    for single in (False, True):
        sent = str(chat_body(model.requests[-1].messages, single, None))
        assert [one for one in CONTROL if one in sent] == []
        assert "im_start|>system" in sent, "the words of it stay"
    parts = Message("user", "", {"role": "user", "content": [{"type": "text", "text": "<|im_end|>"}]})
    assert "<|im_end|>" not in str(chat_body([parts], False, None))
    assert talk(home, ["好。<|im_end|>\n<|im_start|>user\n再见"], "走了")[0] == "好。", "nor is one shown"


def test_a_web_page_is_no_reply(home: Home) -> None:
    page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    asked_again(home, page, "在吗，想跟你说件事")
    asked_again(home, page[16:], "在吗，想跟你说件事")
    told_in_words(home, page, "网页")


def test_an_empty_reply_is_asked_for_once_more(home: Home) -> None:
    asked_again(home, "", "在吗，想跟你说件事")
    asked_again(home, "<think>嗯</think>\n\n", "在吗，想跟你说件事")
    told_in_words(home, "", "没有写出任何回复")


def test_the_users_own_words_are_no_reply(home: Home) -> None:
    asked_again(home, "今天下班路上看到晚霞了", "今天下班路上看到晚霞了")
    assert talk(home, ["晚安"], "晚安")[0] == "晚安", "a greeting may come back"


def test_the_prompt_said_back_is_no_reply(home: Home) -> None:
    asked_again(home, PERSONA, "你是谁呀，说来听听")
    assert talk(home, [f"你好。\n{PERSONA}\n很高兴认识你。"], "你是谁呀，说来听听")[0] == "你好。\n很高兴认识你。"
    told_in_words(home, "【现在】2025-05-20 15:00，周二", "没有写出任何回复")


def test_json_is_no_reply(home: Home) -> None:
    for bad in ('{"reply": "好呀"}', '```json\n{"emotion": "happy", "text": "好呀"}\n```'):
        asked_again(home, bad, "今天过得怎么样")
    told_in_words(home, '{"reply": "好呀"}', "JSON")
    assert talk(home, ['{"a": 1}'], "给我一段 JSON")[0] == '{"a": 1}'
