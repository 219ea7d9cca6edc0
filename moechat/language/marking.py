"""Words of others, set apart from the blocks of a prompt."""

from __future__ import annotations

import re

_POSES = re.compile(r"[ \t]*(?:[【\[(（<#]|[—-]{3,}|(?:system|assistant|user|角色|用户|系统)[ \t]*[:：>])", re.I)


def marked(text: str) -> str:
    """The text with a bar before each line that begins as a block of a prompt does, or as somebody's words."""
    return "\n".join(f"｜{line}" if _POSES.match(line) else line for line in text.splitlines())
