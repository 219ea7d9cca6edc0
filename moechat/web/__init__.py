"""The chat in the browser. Gradio is imported only in here, and only when a page is built: it takes seconds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before gradio is imported: no request leaves this machine

from moechat.web.server import running, serve

if TYPE_CHECKING:
    import gradio as gr

    from moechat.house import House

__all__ = ["build", "running", "serve"]


def build(house: House) -> gr.Blocks:
    """The page over a house, as Blocks."""
    from moechat.web.page import build as blocks

    return blocks(house)
