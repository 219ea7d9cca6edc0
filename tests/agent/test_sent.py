"""A turn with a history that a front end brings: it is the context, and memory takes the new message alone."""

from __future__ import annotations

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Attachment, Message
from moechat.turn import Ended, Sent
from tests.houses import Home, say_all

CARD = Message("system", "你是一只会说话的猫。")
THEIRS = [CARD, Message("user", "早"), Message("assistant", "早呀")]


def turn(agent: Agent, text: str, sent: Sent, talk: str = "chat-1") -> Ended:
    *_, ended = agent.in_talk(talk).talk(text, sent)
    assert isinstance(ended, Ended)
    return ended


def test_our_persona_leads_their_history(home: Home) -> None:
    model = ScriptedModel(["在的。"], understands=False)
    with home.agent(model) as agent:
        turn(agent, "在吗", Sent(Message("user", "在吗"), THEIRS[1:], wishes={"temperature": 0}))
    request = model.requests[-1]
    assert "你是小满" in request.messages[0].content
    assert [m.content for m in request.messages if m.role != "system"] == ["早", "早呀", "在吗"]
    assert request.wishes == {"temperature": 0}


def test_their_card_stays_and_what_is_known_stands_near_the_end(home: Home) -> None:
    model = ScriptedModel(["嗯。", "团子呀。"], understands=False)
    with home.agent(model) as agent:
        say_all(agent, "我养了一只叫团子的猫")
        turn(agent, "我的猫叫什么", Sent(Message("user", "我的猫叫什么"), THEIRS, keeps_card=True))
    card, *_, ours, question = model.requests[-1].messages
    assert card == CARD and question.content == "我的猫叫什么"
    assert "团子" in ours.content and "你是小满" not in str(model.requests[-1].messages)


def test_what_the_history_holds_is_not_recalled_again(home: Home) -> None:
    with home.agent() as agent:
        first = turn(agent, "我最爱喝乌龙茶", Sent(Message("user", "我最爱喝乌龙茶")))
        id_ = first.exchange.id
        agent.jobs.settle()
        sent = Sent(Message("user", "乌龙茶"), [], ids=[id_])
        recalled = next(iter(agent.in_talk("chat-1").talk("乌龙茶", sent))).recollection  # type: ignore[union-attr]
    assert id_ not in {source for hit in recalled.hits if hit.is_exchange for source in hit.sources}


def test_a_reply_that_goes_on_is_stored_as_a_whole(home: Home) -> None:
    with home.agent(ScriptedModel(["从前", "有一只猫。"], understands=False)) as agent:
        id_ = turn(agent, "讲个故事", Sent(Message("user", "讲个故事"))).exchange.id
        sent = Sent(Message("user", "讲个故事"), after=[Message("assistant", "从前")], begun="从前")
        events = list(agent.in_talk("chat-1").regenerate(id_, sent))
        assert "".join(event.text for event in events[1:-1]) == "有一只猫。"  # type: ignore[union-attr]
        assert agent.in_talk("chat-1").path.recent(1)[0].exchange.char == "从前有一只猫。"


def test_who_spoke_and_what_came_with_it_are_kept(home: Home) -> None:
    picture = Attachment("image", "cat.png", "ab12", "[图片] cat.png")
    with home.agent() as agent:
        turn(agent, "", Sent(Message("user", ""), speaker="小周", attachments=(picture,)))
        agent.jobs.settle()
    with home.agent() as agent:
        (shown,) = agent.in_talk("chat-1").path.recent(1)
    assert shown.exchange.speaker == "小周" and shown.exchange.attachments == (picture,)


def test_a_single_turn_off_the_record_recalls_and_leaves_nothing(home: Home) -> None:
    model = ScriptedModel(["好。", "团子。"], understands=False)
    with home.agent(model) as agent:
        say_all(agent, "我的猫叫团子")
        list(agent.aside().talk("我的猫叫什么", Sent(Message("user", "我的猫叫什么"))))
        assert "团子" in str(model.requests[-1].messages)
        assert len(agent.log()) == 1


def test_a_spoken_reply_is_stored_as_it_is_heard(home: Home) -> None:
    model = ScriptedModel(["（笑）好的**呀**。"], understands=False)
    with home.agent(model) as agent:
        ended = turn(agent, "好吗", Sent(Message("user", "好吗"), spoken=True))
    assert ended.exchange.char == "好的呀。"
    assert "念出来" in model.requests[-1].messages[-2].content
