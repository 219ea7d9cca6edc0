"""What becomes of what a model writes around its reply, and of replies that were cut, refused or failed."""

from __future__ import annotations

import pytest

from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError
from moechat.turn import Delta
from tests.houses import Home, recalled, say, shown

DIRTY = [
    "<think>秘密是榴莲</think>小满：好呀。", "<thinking>秘密是榴莲</thinking>\n\n好呀。", "秘密是榴莲</think>好呀。",
    Line("好呀。", thoughts="秘密是榴莲"), "**小满：**好呀。", "【现在】2025-05-20 15:00，周二\n好呀。",
    "【你想起的往事】\n好呀。",
]  # fmt: skip


@pytest.mark.parametrize("dirty", DIRTY)
def test_what_is_not_the_reply_is_neither_shown_nor_stored_nor_recalled(home: Home, dirty: str | Line) -> None:
    with home.agent(ScriptedModel([dirty, "嗯。"])) as agent:
        seen: list[str] = []
        for event in agent.talk("今天过得怎么样"):
            if isinstance(event, Delta):
                seen = [event.text] if event.instead else [*seen, event.text]
        assert "".join(seen) == "好呀。"
        [one] = agent.recent(1)
        assert one.exchange.char == "好呀。"
        assert "榴莲" not in shown(recalled(agent, "榴莲是什么秘密"))
    for path in home.folder.rglob("*"):
        assert path.is_dir() or "秘密是榴莲".encode() not in path.read_bytes(), path


def test_thoughts_can_be_looked_at_as_long_as_the_program_runs(home: Home) -> None:
    with home.agent(ScriptedModel(["<think>他累了</think>早点睡。", Line("好。", thoughts="嗯")])) as agent:
        traces = [agent.conversation.trace(say(agent, text).exchange.id) for text in ("好累", "晚安")]
        assert [trace and trace.thoughts for trace in traces] == ["他累了", "嗯"]


def test_a_reply_that_was_cut_at_its_limit_carries_a_sign_and_stays(home: Home) -> None:
    with home.agent(ScriptedModel([Line("从前有座山，山里有", finish="length"), "完整的。"])) as agent:
        cut, whole = say(agent, "讲个故事"), say(agent, "再讲")
        assert (cut.exchange.char, cut.exchange.status, cut.is_cut) == ("从前有座山，山里有", "done", True)
        assert "max_tokens" in cut.notice and cut.error == ""
        assert (whole.is_cut, whole.notice) == (False, "")
        assert [one.notice for one in agent.recent(2)] == [cut.notice, ""]


@pytest.mark.parametrize(
    ("act", "kept"),
    [
        (Line("榴莲榴莲", finish="content_filter"), "榴莲榴莲"),
        (Line("榴莲榴莲", fails=ModelError("broken_off", "gone")), "榴莲榴莲"),
        (Line("<think>榴莲", finish="length"), ""),
    ],
)
def test_a_reply_that_failed_or_was_refused_is_no_memory(home: Home, act: str | Line, kept: str) -> None:
    model = ScriptedModel([act, "嗯。", "嗯。", "嗯。"], understands=False, piece_chars=2)
    with home.agent(model) as agent:
        failed = say(agent, "今天吃什么")
        assert (failed.exchange.status, failed.exchange.char) == ("failed", kept)
        assert failed.error
        say(agent, "那明天呢")
        assert "榴莲" not in str(model.requests[-1].messages)
        home.clock.advance(days=2)
        agent.finish()
        assert "榴莲" not in shown(recalled(agent, "榴莲"))
        assert "榴莲" not in str(model.requests[-1].messages[:-1])
        assert agent.verify()["problems"] == []
