"""A reply that was cut or ended short goes on: the same reply grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError, MoeChatError, NotFound
from moechat.turn import Delta, Ended
from moechat.verbs import perform
from moechat.verbs.whole_talks import VERBS
from tests.houses import Home, again, say, silent


def go_on(agent: Agent, id_: str = "") -> Ended:
    *_, ended = agent.conversation.regenerate(id_, goes_on=True)
    assert isinstance(ended, Ended)
    return ended


def standing(agent: Agent) -> list[tuple[str, str, int]]:
    """(reply, status, how many there are to choose from) of each exchange."""
    return [(row.exchange.char, row.exchange.status, row.variants) for row in agent.recent(9)]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    home = Home.build(tmp_path)
    houses: list[Any] = []

    def open_(*replies: Any) -> Agent:
        while houses:
            houses.pop().close()
        houses.append(home.open(silent(list(replies))).__enter__())
        return houses[-1].agent()

    yield open_
    while houses:
        houses.pop().close()


def test_the_same_reply_grows_and_is_so_after_a_restart(opened: Callable[..., Agent]) -> None:
    agent = opened("从前有座山，", "山里有座庙，", "庙里有口钟。", "换一个。")
    say(agent, "讲个故事")
    events = list(agent.conversation.regenerate(goes_on=True))
    assert "".join(event.text for event in events if isinstance(event, Delta)) == "山里有座庙，"
    assert go_on(agent).exchange.char == "从前有座山，山里有座庙，庙里有口钟。"
    assert standing(agent) == [("从前有座山，山里有座庙，庙里有口钟。", "done", 1)]
    again(agent)
    agent.conversation.select(agent.recent(1)[0].exchange.id, 0)
    agent = opened("尾声。")
    assert standing(agent) == [("从前有座山，山里有座庙，庙里有口钟。", "done", 2)]
    say(agent, "晚安")  # The first one is filed with that, and goes on all the same.
    agent = opened("当当响。")
    assert go_on(agent, agent.recent(2)[0].exchange.id).exchange.char.endswith("庙里有口钟。当当响。")
    assert [variants for _, _, variants in standing(agent)] == [2, 1]
    agent.finish()
    assert "当当响" in "".join(path.read_text("utf-8") for path in agent.store.folder.glob("memorys/*.yaml"))


def test_the_model_sees_how_far_it_came(tmp_path: Path) -> None:
    model = silent(["说到一半", "，说完了。"])
    with Home.build(tmp_path).agent(model) as agent:
        say(agent, "讲个故事")
        go_on(agent)
    told = model.requests[-1].messages
    assert [one.role for one in told[-3:]] == ["user", "assistant", "system"]
    assert [one.content for one in told[-3:-1]] == ["讲个故事", "说到一半"] and "接着" in told[-1].content


def test_what_is_said_again_is_left_out_and_what_was_recalled_is_kept(tmp_path: Path) -> None:
    said = "You live in Hangzhou, by the lake, as you told me"
    model = silent(["Noted.", said, f"{said} last spring."])
    with Home.build(tmp_path, character={"language": "en"}).agent(model) as agent:
        say(agent, "I live in Hangzhou")
        [*_] = agent.in_talk("other").talk("Where do I live?")
        before = agent.store.tree.nodes[agent.store.tree.leaf("other") or ""].variants[0].hits
        [*_, ended] = agent.in_talk("other").regenerate(goes_on=True)
        assert isinstance(ended, Ended) and ended.exchange.char == f"{said} last spring."
        after = agent.store.tree.nodes[ended.exchange.id].variants[0].hits
        assert before and {hit["id"] for hit in before} <= {hit["id"] for hit in after}


def test_one_that_fails_or_is_stopped_before_it_says_anything_leaves_the_reply(opened: Callable[..., Agent]) -> None:
    agent = opened("说到一半", ModelError("unreachable", "nobody there"), ModelError("unreachable", "nobody there"))
    say(agent, "讲个故事")
    assert go_on(agent).error
    assert standing(agent) == [("说到一半", "done", 1)]
    with pytest.raises(MoeChatError):
        perform(VERBS["go-on"], agent, {"talk": ""})
    assert standing(opened("，说完了。")) == [("说到一半", "done", 1)]


def test_what_a_kill_interrupts_is_the_same_reply_as_far_as_it_was_shown(opened: Callable[..., Agent]) -> None:
    agent = opened("说到一半", Line("，又说了一点，还有很多很多"))
    id_ = say(agent, "讲个故事").exchange.id
    log = agent.store.log
    log.answer_again(id_, goes_on=True)
    log.rest(id_, ())
    agent.store.replies.write(id_, "说到一半，又说了")
    agent.store.replies.release_all()  # as a dying program leaves it
    agent = opened("。")
    agent.look()
    assert standing(agent) == [("说到一半，又说了", "stopped", 1)]


def test_what_cannot_go_on_says_why(home: Home) -> None:
    with home.agent(silent([ModelError("unreachable", "nobody there")] * 2)) as agent:
        with pytest.raises(NotFound):
            go_on(agent)
        say(agent, "讲个故事")
        with pytest.raises(MoeChatError, match="no reply to go on with"):
            go_on(agent)
    with home.connected() as house:
        say(house.agent(), "你好")
        with pytest.raises(MoeChatError, match="only a language model"):
            go_on(house.agent())


def test_off_the_record_a_reply_goes_on_too(tmp_path: Path) -> None:
    model = ScriptedModel(["一", "二"], understands=False)
    with Home.build(tmp_path).agent(model) as agent:
        held = agent.hold()
        [*_] = held.talk("数数")
        [*_, ended] = held.regenerate(goes_on=True)
        assert isinstance(ended, Ended) and ended.exchange.char == "一二"
