"""A message that is tried on a character, off the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from moechat.agent import Agent
from moechat.model import Hit, Message
from moechat.turn import Delta, Ended, Recalled


@dataclass(frozen=True)
class Trial:
    """The exact ``prompt``, the world book entries that ``fired``, and the reply; ``error`` says what went wrong with it."""

    prompt: Sequence[Message]
    fired: Sequence[Hit]
    reply: str
    error: str


def tried(agent: Agent, text: str) -> Trial:
    """One turn that leaves nothing behind. Raises MoeChatError."""
    conversation = agent.aside()
    fired: Sequence[Hit] = ()
    id_ = reply = error = ""
    for event in conversation.talk(text):
        match event:
            case Recalled():
                id_, fired = event.exchange_id, [hit for hit in event.recollection.hits if hit.layer == "lore"]
            case Delta():
                reply = event.text if event.instead else reply + event.text
            case Ended():
                error = event.error
    trace = conversation.trace(id_)
    return Trial(trace.messages if trace else (), fired, reply, error)
