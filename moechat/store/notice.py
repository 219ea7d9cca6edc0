"""The note that no language model is connected, as earlier versions stored it at the end of a reply.

It is no word of the character's and nothing to remember, so whatever reads a stored reply takes it off here.
"""

from __future__ import annotations

STORED = (
    "（现在没有连接语言模型，我只能从记忆里找话回答。要连接：在网页的「连接模型」里填写，"
    "或在 config.yaml 写 chat.base_url 和 chat.model，密钥放在环境变量 MOECHAT_API_KEY。）",
    "(No language model is connected: I can only answer from memory. To connect one, use “Connect a model” "
    "on the page, or set chat.base_url and chat.model in config.yaml, with the key in MOECHAT_API_KEY.)",
)


def split(reply: str) -> tuple[str, str]:
    """A stored reply as (the reply, the note in it or "")."""
    for notice in STORED if "MOECHAT_API_KEY" in reply else ():
        if notice in reply:
            return reply.replace(notice, "").rstrip(), notice
    return reply, ""
