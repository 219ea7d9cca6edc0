"""The page as a server: an ASGI application of our own around Gradio's, on uvicorn, so that it stops as cleanly as it starts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moechat.access.guard import is_loopback, names_this_machine
from moechat.access.listening import STOP_S, address, announce, in_thread, listen, until_told
from moechat.house import House

STATIC = Path(__file__).parent / "static"
SCRIPTS, STYLES = ("page.js", "rooms.js"), ("page.css", "rooms.css")

# The page does not use these parts of Gradio: files in and out, requests made for others, development tools.
CLOSED = (
    "/gradio_api/file", "/gradio_api/upload", "/gradio_api/proxy", "/gradio_api/stream", "/gradio_api/component_server",
    "/gradio_api/custom_component", "/gradio_api/process_recording", "/gradio_api/deep_link", "/gradio_api/run",
    "/gradio_api/api", "/gradio_api/call", "/gradio_api/vibe", "/gradio_api/undo-vibe", "/gradio_api/profiling",
    "/gradio_api/dev", "/monitoring", "/svelte",
)  # fmt: skip
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'self'; base-uri 'self'; "
    "form-action 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
FONTS = (
    "system-ui", "-apple-system", "Segoe UI", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei UI", "Microsoft YaHei",
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "sans-serif",
)  # fmt: skip


class PageGuard:
    """Closes the endpoints that the page does not use and forbids the browser every request elsewhere. ``local``: it answers
    to this machine's own names alone.

    ``ending`` set hangs up on every tab that listens for news, so that the server need not wait for them.
    """

    def __init__(self, app: ASGIApp, ending: asyncio.Event, local: bool) -> None:
        self.app, self.ending, self.local = app, ending, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif self.local and not names_this_machine(scope):
            await _refuse(send, 403, b"this page answers to localhost and 127.0.0.1 alone; open it by that name")
        elif scope["path"].startswith(CLOSED):
            await _refuse(send, 404, b"not here")
        else:
            await self._pass(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        unfinished = False

        async def receive_or_end() -> Message:
            waits: list[asyncio.Future[Any]] = [
                asyncio.ensure_future(receive()),
                asyncio.ensure_future(self.ending.wait()),
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                return waits[0].result() if waits[0].done() else {"type": "http.disconnect"}
            finally:
                for one in waits:
                    one.cancel()

        async def send_with_headers(message: Message) -> None:
            nonlocal unfinished
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *HEADERS]}
            unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        await self.app(scope, receive_or_end, send_with_headers)
        if unfinished and self.ending.is_set():
            await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, status: int, why: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(HEADERS)})
    await send({"type": "http.response.body", "body": why})


def make_app(house: House, ending: asyncio.Event, *, local: bool) -> tuple[FastAPI, Callable[[], None]]:
    """The application, which hangs up at ``ending``, and what stops the turns that are under way."""
    house.warm()
    import gradio as gr

    from moechat.web.page import build

    blocks = build(house)
    script, style = (
        "".join((STATIC / name).read_text(encoding="utf-8") for name in names) for names in (SCRIPTS, STYLES)
    )
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        theme=gr.themes.Base(font=list(FONTS), font_mono=["ui-monospace", "SFMono-Regular", "Consolas", "monospace"]),
        css=style,
        head=f'<meta name="viewport" content="width=device-width, initial-scale=1"><script>{script}</script>',
        favicon_path=str(STATIC / "icon.svg"),
        footer_links=[],
        run_history=False,
        allowed_paths=[],
        blocked_paths=[str(house.data)],
        max_file_size=1,
        ssr_mode=False,
        mcp_server=False,
        pwa=False,
    )
    app.add_middleware(PageGuard, ending=ending, local=local)
    return app, blocks.page.close


@contextlib.contextmanager
def _server(house: House, host: str, port: int) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    """(server, its socket, the address to open)."""
    ending = asyncio.Event()

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            ending.set()
            await super().shutdown(sockets)

    with listen(host, port) as listening:
        app, stop = make_app(house, ending, local=is_loopback(host))
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=STOP_S, ws="none")
        try:
            yield Server(config), listening, address(host, listening)
        finally:
            stop()


def serve(
    house: House,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    ready: Callable[[str], None] = announce,
) -> None:
    """Serve the page until the program is told to end (Ctrl+C). ``ready`` is told the address; port 0 is any free one.

    For the main thread. Raises MoeChatError where the port cannot be had. The house stays open: it is its maker who closes it.
    """
    with _server(house, host, port) as (server, listening, url):
        ready(url)
        until_told(server, listening)


@contextlib.contextmanager
def running(house: House, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """The page served in a thread while the block runs; gives its address."""
    with _server(house, host, port) as (server, listening, url), in_thread(server, listening, "web"):
        yield url
