"""A reply that does not end is cut at the configured length, kept, and said to be cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.ai.scripted import ScriptedModel
from tests.houses import Home, again, say, silent


@pytest.mark.parametrize(("language", "words"), [("zh", "超过了 10 字"), ("en", "ran past 10 characters")])
def test_a_reply_is_cut_at_the_configured_length(tmp_path: Path, language: str, words: str) -> None:
    home = Home.build(tmp_path, character={"language": language}, chat={"reply_chars": 10})
    model = silent(["一" * 10_000, "二" * 10, "三" * 11])
    with home.agent(model) as agent:
        ended = say(agent, "讲个没完的故事")
        assert (ended.exchange.char, ended.exchange.status) == ("一" * 10, "stopped")
        assert words in ended.error
        assert [(ended.exchange.char, ended.exchange.status) for ended in (again(agent), again(agent))] == [
            ("二" * 10, "done"), ("三" * 10, "stopped"),
        ]  # fmt: skip
        agent.finish()
    with home.agent() as agent:
        (shown,) = agent.recent(1)
        assert (shown.exchange.char, shown.exchange.status) == ("三" * 10, "stopped")
        assert words in shown.error


def test_a_model_without_a_last_word_is_read_no_further(tmp_path: Path) -> None:
    class Endless(ScriptedModel):
        """It never stops."""

        def stream(self, request: object) -> object:  # type: ignore[override]
            while True:
                self.closed += 1
                yield "啊" * 4

    home = Home.build(tmp_path, chat={"reply_chars": 100})
    model = Endless(understands=False)
    with home.agent(model) as agent:
        assert len(say(agent, "说").exchange.char) == 100
    assert model.closed == 26
