"""OpenAI's language: what front ends send, what they get, and what memory keeps of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import openai
import patient
import pytest
from served import Served

from moechat.ai.offline.model import OfflineModel
from moechat.ai.scripted import Line
from moechat.errors import ModelError
from moechat.model import Usage
from moechat.serve import server
from moechat.serve.history import NOTICE
from moechat.settings.character import begin_character, folder_for
from tests.houses import CHARACTER, Home, say

ANNE, BEN = {"x-moechat-user": "anne"}, {"x-moechat-user": "ben"}


# ---- known at once


def test_a_program_that_sends_one_message_a_request_is_remembered_at_once(served: Served) -> None:
    served.say("我住在杭州，养了一只叫豆豆的猫")
    served.say("你还记得我的猫叫什么名字吗")
    assert "豆豆" in "\n".join(message.content for message in served.model.requests[-1].messages)


# ---- the form


def test_a_character_has_three_names(served: Served) -> None:
    names = [model.id for model in served.client.models.list()]
    assert names == [CHARACTER, f"{CHARACTER}:memory", f"{CHARACTER}:raw"]
    assert served.client.models.retrieve(f"{CHARACTER}:memory").owned_by == "moechat"
    with pytest.raises(openai.NotFoundError) as refused:
        served.say("你好", model="nobody")
    assert refused.value.code == "model_not_found" and CHARACTER in str(refused.value)


def test_a_reply_comes_whole_or_as_it_is_made(tmp_path: Path) -> None:
    lines = [Line("你好呀。", usage=Usage(30, 20, 5))] * 2
    with Served(tmp_path, lines) as served:
        whole = served.client.chat.completions.create(model=CHARACTER, messages=[{"role": "user", "content": "你好"}])
        assert whole.choices[0].message.content == "你好呀。" and whole.choices[0].finish_reason == "stop"
        assert whole.usage and (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (30, 5)
        stream = served.client.chat.completions.create(
            model=CHARACTER, messages=[{"role": "user", "content": "再见"}], stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        chunks = list(stream)
    first, *middle, end, cost = chunks
    assert first.choices[0].delta.role == "assistant" and first.choices[0].delta.content == ""
    assert "".join(chunk.choices[0].delta.content or "" for chunk in middle) == "你好呀。"
    assert end.choices[0].finish_reason == "stop" and cost.choices == [] and cost.usage
    assert cost.usage.total_tokens == 35
    assert {(chunk.id, chunk.model, chunk.object) for chunk in chunks} == {
        (first.id, CHARACTER, "chat.completion.chunk")
    }


def test_addresses_and_fields_are_taken_as_they_come(served: Served) -> None:
    body = {"model": CHARACTER, "messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "在吗"}],
            "unknown": {"a": 1}, "logprobs": None}  # fmt: skip
    for path in ("/v1/chat/completions", "/v1/chat/completions/", "/chat/completions", "/v1/u/anne/chat/completions"):
        assert patient.post(served.url + path, json=body).status_code == 200
    assert patient.get(served.url + "/models/").json()["data"]
    assert served.kept("anne") == [("在吗", "这是第4个回答。")]


def test_pictures_calls_of_tools_and_wishes_reach_the_model(tmp_path: Path) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    said = {"role": "user", "content": [{"type": "text", "text": "看看窗外"}, picture]}
    with Served(tmp_path, [Line("", calls=[call]), "在下雨。"]) as served:
        first = served.client.chat.completions.create(
            model=CHARACTER, messages=[said], tools=tools, temperature=0.2, extra_headers=ANNE,
        )  # type: ignore[call-overload]  # fmt: skip
        assert first.choices[0].finish_reason == "tool_calls"
        asked = first.choices[0].message
        assert asked.tool_calls[0].function.name == "look"
        result = {"role": "tool", "tool_call_id": "c1", "content": "雨"}
        served.say(said, asked.model_dump(exclude_none=True), result, tools=tools, extra_headers=ANNE)
        assert served.kept("anne") == [("看看窗外", "在下雨。")]
        exchange = served.house.agent(CHARACTER, "anne").store.exchanges.get(
            str(served.house.agent(CHARACTER, "anne").log()[0]["id"])
        )
    assert served.model.requests[0].wishes == {"temperature": 0.2, "tools": tools}
    assert served.model.requests[0].messages[-1].wire == said
    assert [message.role for message in served.model.requests[1].messages[-3:]] == ["user", "assistant", "tool"]
    assert [(one.kind, one.line) for one in exchange.attachments] == [("image", "[图片]")]


def test_embeddings_are_those_of_the_built_in_model(served: Served) -> None:
    rows = served.client.embeddings.create(model="any", input=["猫", "狗"]).data
    assert np.allclose([row.embedding for row in rows], served.home.embedder.embed(["猫", "狗"]))
    raw = patient.post(served.url + "/v1/embeddings", json={"input": "猫", "encoding_format": "base64"}).json()
    assert np.frombuffer(base64.b64decode(raw["data"][0]["embedding"]), "float32").shape == (64,)
    assert patient.post(served.url + "/v1/embeddings", json={"input": [[1, 2]]}).status_code == 422


def test_errors_have_a_status_before_the_first_letter_and_a_place_in_the_stream_after_it(tmp_path: Path) -> None:
    full = ModelError("context_full", "the prompt is too long")
    with Served(tmp_path, [full, full, Line("说到一半", fails=ModelError("broken_off", "gone"))]) as served:
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as refused:
                served.say("你好", stream=stream)
            assert refused.value.code == "context_length_exceeded"
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": "说吧"}], "stream": True}
        events = [
            line for line in patient.post(served.url + "/v1/chat/completions", json=body).text.split("\n\n") if line
        ]
        assert "error" not in events[1] and events[-1] == "data: [DONE]"
        assert served.kept()[-1] == ("说吧", "说到一半")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (422, {"messages": []}),
        (422, {"messages": "hello"}),
        (422, {"messages": [{"role": "user", "content": "x"}], "n": 99}),
        (404, {"model": "nobody", "messages": [{"role": "user", "content": "x"}]}),
        (422, {"model": 5, "messages": [{"role": "user", "content": "x"}]}),
    ],
)
def test_a_wrong_request_is_answered_in_openais_form(served: Served, status: int, body: dict[str, Any]) -> None:
    answer = patient.post(served.url + "/v1/chat/completions", json=body)
    assert answer.status_code == status, answer.text
    assert {"message", "type", "param", "code"} <= answer.json()["error"].keys()


# ---- what memory keeps


def test_three_turns_a_swipe_an_edit_and_a_title_leave_each_exchange_once(served: Served) -> None:
    one = served.say("早上好")
    two = served.say("早上好", one, "今天好累")
    other = served.say("早上好", one, "今天好累")  # another reply
    title = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: 早上好\n</chat_history>"
    served.say(title)
    three = served.say("早上好", one, "今天好累", two, "晚安")  # the first reply stands after all
    last = served.say("早上好", one, "今天好累", two, "明天见")  # other words for the last message
    assert served.kept() == [("早上好", one), ("今天好累", two), ("明天见", last)]
    assert other != two and three != last


def test_with_a_name_for_the_chat_an_edited_message_is_corrected_at_once(served: Served) -> None:
    named = {"extra_headers": {"x-openwebui-chat-id": "c-1"}}
    one = served.say("我住在杭州", **named)
    two = served.say("我住在杭州", one, "今天下雨", **named)
    served.say("我住在苏州", one, "今天下雨", two, "晚安", **named)
    assert [text for text, _ in served.kept()] == ["我住在苏州", "今天下雨", "晚安"]


def test_other_words_for_the_first_message_take_its_place_where_the_front_end_sends_its_history(served: Served) -> None:
    def in_chat(name: str) -> dict[str, Any]:
        return {"extra_headers": {"x-openwebui-chat-id": name}}

    one = served.say("我住在杭州", **in_chat("a"))
    served.say("我住在杭州", one, "今天下雨", **in_chat("a"))
    for text in ("早上好", "中午好", "早上好", "晚安"):
        served.say(text, **in_chat("alone"))  # a program that sends no history, whatever others do
    assert [text for text, _ in served.kept()] == ["我住在杭州", "今天下雨", "早上好", "中午好", "早上好", "晚安"]
    other = served.say("我去看海", **in_chat("a"))
    served.say("我去看海", other, "明天回来", **in_chat("a"))
    assert [text for text, _ in served.kept()][-2:] == ["我去看海", "明天回来"]


def test_without_one_it_is_corrected_when_it_is_seen_again(served: Served) -> None:
    one = served.say("我住在杭州")
    two = served.say("我住在杭州", one, "今天下雨")
    three = served.say("我住在苏州", one, "今天下雨", two, "晚安")
    assert served.kept()[0][0] == "我住在杭州"
    served.say("我住在苏州", one, "今天下雨", two, "晚安", three, "早")
    assert served.kept()[0][0] == "我住在苏州"


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


STANDING = system("Stay in character.")


@pytest.mark.parametrize(
    "orders", [[], [system("[Continue your last message without repeating its original content.]"), STANDING]]
)
def test_a_reply_that_is_to_go_on_is_kept_as_one(served: Served, orders: list[dict[str, str]]) -> None:
    one = served.say("讲个故事")
    more = served.say("讲个故事", one, *orders)
    assert served.kept() == [("讲个故事", one + more)]


@pytest.mark.parametrize("model", [CHARACTER, f"{CHARACTER}:memory"])
@pytest.mark.parametrize(
    "nudge", ["[Write the next reply only as 小满.]", "[只以小满的身份写下一条回复。]"], ids=["english", "chinese"]
)
def test_in_a_group_each_reply_of_a_character_is_kept(served: Served, model: str, nudge: str) -> None:
    more: dict[str, Any] = {"model": model, "extra_body": {"moechat_character": CHARACTER}}
    noodles = "小林: 吃面吧，我来煮"
    one = served.say("晚饭吃什么", noodles, system(nudge), STANDING, **more)
    assert served.kept() == [("晚饭吃什么", ""), ("吃面吧，我来煮", one)]
    assert any(nudge in message.content for message in served.model.requests[-1].messages)
    two = served.say("晚饭吃什么", f"{noodles}\n小满: {one}", system(nudge), **more)
    assert served.kept() == [("晚饭吃什么", ""), ("吃面吧，我来煮", f"{one}\n{two}")]
    talk = ["晚饭吃什么", f"{noodles}\n小满: {one}\n小满: {two}"]
    three = served.say(*talk, "那我去买菜", "小林: 好", system(nudge), **more)
    four = served.say(*talk, "那我去买菜", f"小林: 好\n小满: {three}", "路上小心", "小林: 嗯", system(nudge), **more)
    kept = [
        ("晚饭吃什么", ""),
        ("吃面吧，我来煮", f"{one}\n{two}"),
        ("那我去买菜", ""),
        ("好", three),
        ("路上小心", ""),
        ("嗯", four),
    ]
    store = served.house.agent().store
    assert served.kept() == kept and len(store.tree.talks) == 2  # the first one is that of the page
    speakers = [one.speaker for one in store.exchanges.of(store.tree.numbered()).values()]
    assert speakers == ["", "小林", "", "小林", "", "小林"]
    served.say(
        *talk, "那我去买菜", f"小林: 好\n小满: {three}", system(nudge), system("[Summarize the story so far.]"), **more
    )
    assert served.kept() == kept


@pytest.mark.parametrize("chat", ["", "group-1"])
def test_the_characters_of_a_group_each_keep_all_that_was_said(tmp_path: Path, chat: str) -> None:
    """SillyTavern: one request for each reply, the lines of others with their names, whose turn it is at the end."""
    with Served(tmp_path) as served:
        lines: list[tuple[str, str]] = []

        def sent(name: str) -> str:
            messages: list[dict[str, str]] = [
                system(f"You are {name}."),
                system("[Start a new group chat. Group members: 小满, 小林]"),
            ]
            for who, words in lines:
                role, text = ("user", words) if who == "" else ("assistant", f"{who}: {words}")
                messages.append({"role": role, "content": text})
            extra = {"moechat_character": name} | ({"moechat_chat": chat} if chat else {})
            messages.append(system(f"[Write the next reply only as {name}.]"))
            return served.say(*messages, model=f"{CHARACTER}:memory", extra_body=extra)

        for message in ("我住在杭州", "我养了一只叫豆豆的猫", "今天下雨了", "我不吃香菜"):
            lines.append(("", message))
            for name in ("小满", "小林"):
                lines.append((name, sent(name)))
            served.home.clock.advance(minutes=1)
        lines.pop()
        lines.append(("小林", sent("小林")))  # a swipe
        for name in ("小满", "小林"):
            agent = served.house.agent(name)
            agent.look()
            heard = [(who, words) for who, words in lines if who != name]
            store = agent.store
            path = [id_ for id_ in store.tree.numbered() if id_ not in store.tree.hidden()]
            exchanges = list(store.exchanges.of(path).values())
            hears_all = chat or name == "小林"  # Without a name for the chat nobody hears who speaks after her.
            assert [(one.speaker, one.user) for one in exchanges] == (heard if hears_all else heard[:-1])
            assert [one.char for one in exchanges if one.char] == [words for who, words in lines if who == name]
            facts = {(fact.draft.entity, fact.text) for fact in agent.layers.core.current()}
            assert facts == {("user", "用户住在杭州"), ("user", "用户的猫叫豆豆"), ("user", "用户不吃香菜")}


def test_the_names_that_a_bot_puts_before_messages_keep_speakers_apart(served: Served) -> None:
    """AstrBot's groups."""
    served.say("\n[User ID: 10001, Nickname: 小周]\n我住在杭州，养了一只叫豆豆的猫")
    served.say(
        "<system_reminder>User ID: 10002, Nickname: 小吴, Role: admin\nGroup name: 茶馆</system_reminder>我住在上海",
        extra_body={"moechat_chat": "b"},
    )
    agent = served.house.agent()
    agent.look()
    exchanges = agent.store.exchanges.of(agent.store.tree.numbered()).values()
    assert [(one.speaker, one.user) for one in exchanges] == [
        ("小周", "我住在杭州，养了一只叫豆豆的猫"),
        ("小吴", "我住在上海"),
    ]
    known = {(fact.draft.entity, fact.text) for fact in agent.layers.core.current()}
    assert known == {("小周", "小周住在杭州"), ("小周", "小周的猫叫豆豆"), ("小吴", "小吴住在上海")}


def test_several_models_of_one_chat_each_keep_their_own_replies(tmp_path: Path) -> None:
    """Open WebUI asks each model with the branch of the talk that is shown, whose replies may be another's."""
    with Served(tmp_path) as served:
        begin_character(served.home.data / "agents" / "小林", "小林")
        headers = {"x-openwebui-chat-id": "c1"}
        first = [served.say("我住在杭州", model=name, extra_headers=headers) for name in ("小满", "小林")]
        second = [
            served.say("我住在杭州", first[0], "今天下雨", model=name, extra_headers=headers)
            for name in ("小满", "小林")
        ]
        for at, name in enumerate(("小满", "小林")):
            assert served.kept(character=name) == [("我住在杭州", first[at]), ("今天下雨", second[at])]


def test_two_chats_that_begin_with_the_same_words_are_two(served: Served) -> None:
    one, other = served.say("你好"), served.say("你好")
    two = served.say("你好", other, "我去看海")
    three = served.say("你好", one, "我去爬山")
    four = served.say("你好", other, "我去看海", two, "明天回来")
    five = served.say("你好", one, "我去爬山", three, "今晚回来")
    sea, hill = [("我去看海", two), ("明天回来", four)], [("我去爬山", three), ("今晚回来", five)]
    assert sorted(served.kept()) == sorted([("你好", one), ("你好", other), *sea, *hill])


@pytest.mark.parametrize(
    "asked",
    [
        {"messages": ["你好"], "max_tokens": 1},
        {"messages": ["### Task:\nTags.\n<chat_history>\n</chat_history>"]},
        {"messages": ["随便什么"], "extra_headers": {"x-moechat-task": "title_generation"}},
        {"messages": ["你好", "你好呀", {"role": "system", "content": "[Pause your roleplay. Summarize the story.]"}]},
        {"messages": [{"role": "system", "content": "Write a title."}]},
        {"messages": ["你好"], "store": False},
        {"messages": ["你好"], "model": f"{CHARACTER}:raw"},
    ],
    ids=["ping", "task", "header", "summary", "no message", "off the record", "raw"],
)
def test_what_is_no_talk_leaves_no_trace(served: Served, asked: dict[str, Any]) -> None:
    assert served.say(*asked.pop("messages"), **asked)
    assert served.kept() == [] and served.house.agent().store.tree.talks.keys() <= {""}


def test_a_message_that_tells_the_talk_is_for_a_title(served: Served) -> None:
    one = served.say("我明天去北京出差")
    served.say(f"user: 我明天去北京出差\nassistant: {one}\n\n请总结上述对话为10个字以内的标题")
    assert len(served.kept()) == 1


def test_several_replies_at_once_are_replies_to_one_message(served: Served) -> None:
    answer = served.client.chat.completions.create(model=CHARACTER, messages=[{"role": "user", "content": "你好"}], n=3)
    texts = [choice.message.content for choice in answer.choices]
    assert len(set(texts)) == 3 and served.kept() == [("你好", texts[-1])]
    assert served.house.agent().log()[0]["variants"] == 3


def test_documents_that_a_front_end_adds_are_not_what_the_user_said(served: Served) -> None:
    served.say("### Task:\nRespond using the context.\n<context>机密文件</context>\n\n明天放假吗", extra_headers=ANNE)
    assert [text for text, _ in served.kept("anne")] == ["明天放假吗"]
    assert "机密文件" in served.model.requests[-1].messages[-1].content


def test_a_client_that_leaves_stops_the_reply(tmp_path: Path) -> None:

    hold = Event()
    with Served(tmp_path, [Line("说到一半", hold=hold)]) as served:
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": "说吧"}], "stream": True}
        with patient.stream("POST", served.url + "/v1/chat/completions", json=body) as answer:
            text = ""
            for piece in answer.iter_text():
                text += piece
                if "一半" in text:
                    break
        log = served.house.agent().in_talk(list(served.house.agent().store.tree.talks)[-1])
        for _ in range(3000):
            if log.path.recent(1)[0].exchange.status == "stopped":
                break
            Event().wait(0.02)
        assert log.path.recent(1)[0].exchange.char == "说到一半"


# ---- who it is


def test_a_card_without_a_name_gets_words_and_no_memory(served: Served) -> None:
    card = {"role": "system", "content": "你是一只猫。"}
    text = served.say(card, "我叫阿明", model=f"{CHARACTER}:memory")
    assert text.startswith(NOTICE) and "moechat_character" in text and served.kept() == []
    served.say(card, "我叫阿明", text, "我叫阿明", model=f"{CHARACTER}:memory", extra_body={"moechat_character": "猫"})
    request = served.model.requests[-1]
    assert NOTICE not in str(request.messages) and request.messages[0].content == "你是一只猫。"
    assert served.kept(character="猫")[0][0] == "我叫阿明" and served.kept() == []


def test_a_name_is_taken_from_what_is_sent_beside_the_talk(served: Served) -> None:
    ways: list[dict[str, Any]] = [
        {"extra_headers": {"x-moechat-user": "%E5%AE%89%E5%A6%AE"}},
        {"user": "安妮"},
        {"extra_body": {"user": {"id": "安妮", "name": "x"}}},
        {"extra_body": {"moechat_user": "安妮"}},
        {"extra_headers": {"x-openwebui-user-id": "%E5%AE%89%E5%A6%AE", "x-openwebui-user-name": "Anne"}},
    ]
    for at, way in enumerate(ways):
        served.say(f"第{at}次", **way)
    assert [text for text, _ in served.kept("安妮")] == [f"第{at}次" for at in range(len(ways))]
    served.say("我是谁", extra_body={"moechat_user": "{{user}}"})
    assert [text for text, _ in served.kept()] == ["我是谁"]


def test_the_same_words_of_50_cards_and_30_people_never_meet(served: Served) -> None:
    secrets = {}
    for at in range(50):
        card, user = f"Card {at}", f"user{at % 30}"
        secrets[card, user] = f"暗号{at:02d}是枫叶"
        who = {"moechat_user": user, "moechat_character": card}
        served.say(secrets[card, user], model=f"{CHARACTER}:memory", extra_body=who)
    for (card, user), secret in list(secrets.items())[::5]:
        who = {"moechat_user": user, "moechat_character": card}
        served.say("暗号是什么枫叶", model=f"{CHARACTER}:memory", extra_body=who)
        prompt = str(served.model.requests[-1].messages)
        assert not [other for other in secrets.values() if other != secret and other in prompt]
        folder = folder_for(served.house.characters(), card)
        assert [text for text, _ in served.kept(user, folder)] == [secret, "暗号是什么枫叶"]


def test_a_page_of_an_allowed_site_may_call_and_no_other(tmp_path: Path) -> None:
    with Served(tmp_path, serve={"origins": ["https://chat.example"]}) as served:
        ask = {"origin": "https://chat.example", "access-control-request-method": "POST",
               "access-control-request-headers": "authorization, content-type, x-moechat-user"}  # fmt: skip
        early = patient.options(served.url + "/v1/chat/completions", headers=ask)
        assert early.status_code == 204 and "x-moechat-user" in early.headers["access-control-allow-headers"]
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": "你好"}]}
        good = patient.post(served.url + "/v1/chat/completions", json=body, headers={"origin": "https://chat.example"})
        assert good.headers["access-control-allow-origin"] == "https://chat.example"
        bad = patient.post(served.url + "/v1/chat/completions", json=body, headers={"origin": "https://evil.example"})
        assert bad.status_code == 403 and "access-control-allow-origin" not in bad.headers
        assert json.loads(bad.text)["error"]["type"] == "permission_error"


# ---- a voice, and who shares a talk


@pytest.mark.parametrize("model", [CHARACTER, f"{CHARACTER}:memory"])
def test_no_bare_macro_of_a_card_a_book_or_a_front_end_reaches_a_model(tmp_path: Path, model: str) -> None:
    bare = "{{getvar::hp}}{{outlet::x}}{{trim}}{{original}}"
    keys = ("persona", "scenario", "greeting", "system_prompt", "after_history")
    card = {key: f"{key}。{bare}" for key in keys} | {"examples": [{"user": f"在吗{bare}", "char": f"在{bare}"}]}
    with Served(tmp_path, character=card) as served:
        book = served.home.folder / "data_base"
        book.mkdir()
        (book / "world.yaml").write_text(f"灯塔: 灯塔在山上{bare}\n", encoding="utf-8")
        own = {"role": "user", "content": "灯塔在哪？我写了 {{title}}"}
        served.say(
            system(f"You are {{{{char}}}}.{bare}"), own, model=model, extra_body={"moechat_character": CHARACTER}
        )
        if model == CHARACTER:
            say(served.house.agent(), "灯塔在哪？我写了 {{title}}")
        for request in served.model.requests:
            prompt = "\n".join(message.content for message in request.messages)
            assert "灯塔在山上" in prompt and "{{title}}" in prompt and "{{" not in prompt.replace("{{title}}", "")


def test_a_program_that_speaks_gets_words_to_say(tmp_path: Path) -> None:
    with Served(tmp_path, ["（笑）好的，**明天**见。"]) as served:
        text = served.say("明天见吗", extra_headers={"x-moechat-style": "spoken"})
        assert text == "好的，明天见。" and served.kept() == [("明天见吗", text)]


def test_who_spoke_is_kept(served: Served) -> None:
    served.say({"role": "user", "name": "小周", "content": "我也来了"})
    (row,) = served.house.agent().log()
    assert served.house.agent().store.exchanges.get(str(row["id"])).speaker == "小周"


def test_what_another_speaker_says_is_kept_as_theirs_and_is_no_fact_about_the_user(home: Home) -> None:
    with home.open(OfflineModel()) as house, server.running(house) as url:

        def said(name: str, text: str, chat: str) -> str:
            message = {"role": "user", "content": text} | ({"name": name} if name else {})
            body = {"model": CHARACTER, "messages": [message], "moechat_chat": chat}
            return str(patient.post(url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"])

        said("阿明", "我养了一只叫豆豆的猫", "a")
        said("小李", "我住在杭州，下周三要去看牙医", "a")
        asked = [said(name, "我住在哪里？", chat) for name in ("小王", "阿明", "") for chat in ("a", "b")]
        assert not [reply for reply in asked if "杭州" in reply]
        assert "豆豆" in said("阿明", "我的猫叫什么？", "b") and "豆豆" not in said("小王", "我的猫叫什么？", "b")
        agent = house.agent()
        home.clock.advance(hours=1)
        agent.jobs.settle()
        known = {(fact.draft.entity, fact.text) for fact in agent.layers.core.current()}
        assert known == {("user", "用户的猫叫豆豆"), ("小李", "小李住在杭州")}
        view = agent.layers.episodes.view(home.clock.now())
        assert {event.event.subject for event in view.episodes(range(len(view)))} == {"小李"}
        assert "杭州" in said("阿明", "小李住在哪里？", "c")
        assert any(hit.text.startswith("小李：我住在杭州") for hit in agent.recall("我住在哪里？").hits)


def test_a_slow_reply_holds_up_no_recall(tmp_path: Path) -> None:
    hold = Event()
    with Served(tmp_path, [Line("从前", hold=hold, then="完。")]) as served:
        body = {"model": CHARACTER, "messages": [{"role": "user", "content": "讲个故事"}], "stream": True}
        with patient.stream("POST", served.url + "/v1/chat/completions", json=body) as answer:
            lines = answer.iter_lines()
            next(line for line in lines if "从前" in line)
            assert patient.post(served.url + "/recall", json={"text": "你好"}).status_code == 200
            hold.set()
            assert any("完。" in line for line in lines)
