"""What was said in one talk is known in the next at once, whoever asks, and only as long as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.model import Kind
from moechat.turn import Ended
from tests.houses import DIM, Home, again, say, shown, silent, waiting

TOLD = {"zh": "我住在杭州，养了一只叫豆豆的猫", "en": "I live in Bristol and I have a cat called Pickle"}
ASKED = {"zh": "你还记得我的猫叫什么名字吗", "en": "Do you remember what my cat is called?"}
NAME, OTHER = {"zh": "豆豆", "en": "Pickle"}, {"zh": "年糕", "en": "Mochi"}

REPLY = {"zh": "去西湖边散散步吧", "en": "Try a walk along the harbour"}
IN_OTHER_WORDS = {"zh": "你上次出了什么主意？", "en": "What was that idea of yours?"}


class Likening(HashEmbedder):
    """The question in other words lies where the reply lies."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        replies = {IN_OTHER_WORDS[language]: reply for language, reply in REPLY.items()}
        return super().embed([replies.get(text, text) for text in texts], kind)


@pytest.fixture
def home(tmp_path: Path, language: str) -> Home:
    return Home.build(tmp_path, character={"language": language})


def recalled(agent: Agent, language: str, talk: str = "next") -> str:
    """The recall for the question in another talk; nothing was waited for."""
    home_talk = agent.in_talk(talk)
    return shown(home_talk.recall(ASKED[language]))


def test_another_talk_knows_it_with_its_next_message(agent: Agent, language: str) -> None:
    say(agent, TOLD[language])
    assert NAME[language] in recalled(agent, language)
    assert any(NAME[language] in memory.text for memory in agent.memories.listed(("fact",)).memories)


def test_a_talk_off_the_record_knows_it_and_leaves_nothing(agent: Agent, language: str) -> None:
    say(agent, TOLD[language])
    held = agent.hold()
    assert NAME[language] in shown(held.recall(ASKED[language]))
    for _ in held.talk(TOLD[language].replace(NAME[language], OTHER[language])):
        pass
    assert OTHER[language] not in recalled(agent, language)


def test_another_process_knows_it(home: Home, language: str) -> None:
    with home.open() as first, home.open() as second:
        say(first.agent(), TOLD[language])
        assert NAME[language] in recalled(second.agent(), language)


def test_whoever_looks_at_the_memory_sees_it(agent: Agent, language: str) -> None:
    say(agent, TOLD[language])
    agent.look()
    assert any(NAME[language] in memory.text for memory in agent.memories.listed(("fact",)).memories)


def test_corrected_words_take_the_place_of_the_old_at_once(agent: Agent, language: str) -> None:
    exchange = say(agent, TOLD[language]).exchange
    recalled(agent, language)
    agent.conversation.correct(exchange.id, user=TOLD[language].replace(NAME[language], OTHER[language]))
    known = recalled(agent, language)
    assert OTHER[language] in known
    assert NAME[language] not in known


def test_what_was_taken_back_is_known_nowhere(agent: Agent, language: str) -> None:
    exchange = say(agent, TOLD[language]).exchange
    recalled(agent, language)
    agent.conversation.retract(exchange.id)
    assert NAME[language] not in recalled(agent, language)


def test_another_reply_takes_the_place_of_the_first(home: Home, language: str) -> None:
    with home.agent(silent(["first answer", "second answer"])) as agent:
        say(agent, TOLD[language])
        assert "first answer" in recalled(agent, language)
        again(agent)
        known = recalled(agent, language)
        assert "second answer" in known
        assert "first answer" not in known


def test_it_does_so_with_its_vectors_made_before_it_is_asked_for(home: Home, language: str) -> None:
    with home.agent(silent(["first answer", "second answer"])) as agent:
        say(agent, TOLD[language])
        recalled(agent, language)
        again(agent)
        agent.settle_indexes()
        agent.layers.sync()
        assert [agent.layers.missing(space) for space in agent.dense.spaces] == [0]
        known = recalled(agent, language)
        assert "second answer" in known
        assert "first answer" not in known


def test_another_reply_is_found_in_other_words_before_the_work_behind_its_turn(home: Home, language: str) -> None:
    home.embedder = Likening(DIM)
    with home.agent(silent(["first answer", REPLY[language]])) as agent:
        say(agent, TOLD[language])
        assert REPLY[language] not in shown(agent.in_talk("next").recall(IN_OTHER_WORDS[language]))
        with waiting(agent):
            again(agent)
            assert REPLY[language] in shown(agent.in_talk("next").recall(IN_OTHER_WORDS[language]))


def test_the_prompt_says_that_it_was_said_a_moment_ago_elsewhere(home: Home, agent: Agent, language: str) -> None:
    mark = {"zh": "刚才，在另一段对话里", "en": "a moment ago, in another talk"}[language]
    say(agent, TOLD[language])
    home.clock.advance(minutes=2)
    assert mark in prompt(agent, language, "soon")
    home.clock.advance(hours=2)
    assert mark not in prompt(agent, language, "later")


def prompt(agent: Agent, language: str, talk: str) -> str:
    """What the model is sent when the question is asked in a new talk."""
    conversation = agent.in_talk(talk)
    *_, ended = conversation.talk(ASKED[language])
    assert isinstance(ended, Ended)
    trace = conversation.trace(ended.exchange.id)
    assert trace is not None
    return "\n".join(message.content for message in trace.messages)
