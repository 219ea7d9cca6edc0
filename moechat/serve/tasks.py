"""What is no talk, though it comes as one: titles, tags, summaries, tests of a connection. Such a request leaves no trace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from moechat.serve.additions import folded
from moechat.serve.alignment import TalkLine
from moechat.serve.history import History

_TASK = re.compile(r"\A\s*### Task:")
_ITS_TALK = re.compile(r"<chat_history>|### Chat History:")
LEAST_QUOTE = 12  # A message that quotes less of a talk, and does not say who spoke, may be talk itself.


def is_task(history: History, task: str, body: Mapping[str, Any]) -> bool:
    """Whether a request asks for something about a talk, or tests whether there is a model. ``task`` is what it says itself."""
    if task or history.words is None or history.is_order:
        return True
    if body.get("max_tokens") == 1 or body.get("max_completion_tokens") == 1:
        return True
    text = history.message.content
    return not history.turns and bool(_TASK.search(text)) and bool(_ITS_TALK.search(text))


def quotes(words: str, lines: Sequence[TalkLine]) -> bool:
    """Whether a single message tells an exchange of ours, both sides of it: it is to be summed up, or given a title."""
    text = _plain(words)
    for line in lines:
        user, reply = _plain(line.user), _plain(line.replies[line.chosen]) if line.replies else ""
        is_labelled = f":{user}" in text and f":{reply}" in text
        is_long = len(user + reply) >= LEAST_QUOTE and user in text and reply in text
        if user and reply and (is_labelled or is_long):
            return True
    return False


def _plain(words: str) -> str:
    return folded(words).replace("：", ":")
