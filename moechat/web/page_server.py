"""The page as a server, and its door: who is let in without a password.

An ASGI application of our own stands around Gradio's, on uvicorn, so that it stops as cleanly as it starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moechat.access.guard import NOSNIFF, Door, Guard, is_loopback
from moechat.access.keys import Keyring
from moechat.access.listening import Server, address, announce, in_thread, listen, until_told
from moechat.access.login import Attempts
from moechat.access.register import Register
from moechat.errors import ConfigError
from moechat.house import House
from moechat.house.studio import MAX_FILE_BYTES
from moechat.web import page_files
from moechat.web.desk import Desk, language_words
from moechat.web.drawing import macros
from moechat.web.routes import STATIC, router

SCRIPTS = ("page.js", "talk.js", "rooms.js", "studio.js", "guide.js")
STYLES = ("page.css", "talk.css", "rooms.css", "studio.css")

# The page does not use these parts of Gradio: files in and out, requests made for others, development tools.
CLOSED = (
    "/gradio_api/file", "/gradio_api/upload", "/gradio_api/proxy", "/gradio_api/stream", "/gradio_api/component_server",
    "/gradio_api/custom_component", "/gradio_api/process_recording", "/gradio_api/deep_link", "/gradio_api/run",
    "/gradio_api/api", "/gradio_api/call", "/gradio_api/vibe", "/gradio_api/undo-vibe", "/gradio_api/profiling",
    "/gradio_api/dev", "/monitoring", "/svelte",
)  # fmt: skip
# Gradio evaluates the template of gr.HTML, and writes its settings into inline scripts: docs/trust.md says what was tried.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'self'; base-uri 'self'; "
    "form-action 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"same-origin"),  # Without any, a form would not say whose it is.
    NOSNIFF,
)
HEAD = (
    '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">'
    '<link rel="manifest" href="/page/manifest.webmanifest" crossorigin="use-credentials">'
    '<link rel="apple-touch-icon" href="/page/icon/icon-192.png"><meta name="theme-color" content="#efe7db">'
)
BODY_S = 300.0  # A card of many megabytes comes slowly from a phone.
MAX_BODY = 4 * 1024 * 1024  # A message, with what the tab remembers of the page.
PAGE_DOOR = Door(
    closed=CLOSED, headers=HEADERS, max_body=MAX_BODY, files=page_files.PATHS,
    bodies=dict.fromkeys(page_files.PATHS, MAX_FILE_BYTES), body_s=BODY_S,
)  # fmt: skip
FONTS = (
    "system-ui", "-apple-system", "Segoe UI", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei UI", "Microsoft YaHei",
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "sans-serif",
)  # fmt: skip


class HangUp:
    """Once ``ending`` is set, it hangs up on every tab that listens for news, so that the server need not wait for them."""

    def __init__(self, app: ASGIApp, ending: asyncio.Event) -> None:
        self.app, self.ending = app, ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

        async def send_and_see(message: Message) -> None:
            nonlocal unfinished
            unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await self.app(scope, receive_or_end, send_and_see)
        if unfinished and self.ending.is_set():
            await send({"type": "http.response.body", "body": b""})


def door_of(house: House, host: str, phone: str, password: str | None) -> Door:
    """The door of the page: open on this machine alone, unless a password is set; it is asked for everywhere then.

    ``phone`` is the address for others in the local network, "" for none; they come in by a code.
    Raises ConfigError for a host that others reach without a password.
    """
    register = Register(house.data, house.clock, password)
    if not (register.has_password or phone or is_loopback(host)):
        variable = house.config.web.password_env
        remedy = (
            f"others can reach this address: set a password (`moechat access password`, or the variable {variable}), "
            "use 127.0.0.1, or let a phone in with --phone"
        )
        raise ConfigError("web", "host", host, remedy)
    return replace(PAGE_DOOR, names=frozenset({phone}) if phone else None, register=register)


def beside(
    house: House,
    ending: asyncio.Event,
    keyring: Keyring,
    *,
    open_here: bool,
    attempts: Attempts | None = None,
    password: str | None = None,
) -> tuple[FastAPI, Callable[[], None]]:
    """``make_app`` for a server that has other addresses, too, and counts wrong ``attempts`` at all of them together. A session
    begins with one of its keys, the password or a code; ``open_here``: on this machine none is needed without a password."""
    register = Register(house.data, house.clock, password)
    return make_app(
        house, ending, replace(PAGE_DOOR, open_here=open_here, register=register, keyring=keyring), attempts
    )


def make_app(
    house: House, ending: asyncio.Event, door: Door, attempts: Attempts | None = None
) -> tuple[FastAPI, Callable[[], None]]:
    """The application behind its door, which hangs up at ``ending``, and what stops the turns that are under way."""
    house.warm()
    import gradio as gr

    language = house.config.web.language
    frame = macros("frame", language_words(language)).frame("" if language == "auto" else language)
    with gr.Blocks(title="MoeChat", fill_height=True, fill_width=True, analytics_enabled=False) as blocks:
        gr.HTML(str(frame), elem_id="moechat", apply_default_css=False)
    desk = Desk(house)
    script, style = (
        "".join((STATIC / name).read_text(encoding="utf-8") for name in names) for names in (SCRIPTS, STYLES)
    )
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(router(desk))
    gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        theme=gr.themes.Base(font=list(FONTS), font_mono=["ui-monospace", "SFMono-Regular", "Consolas", "monospace"]),
        css=style,
        head=f"{HEAD}<script>{script}</script>",
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
    app.add_middleware(HangUp, ending=ending)
    app.add_middleware(Guard, door=door, attempts=attempts)
    return app, desk.close


@contextlib.contextmanager
def _server(
    house: House, host: str, port: int, phone: str, password: str | None
) -> Iterator[tuple[uvicorn.Server, list[socket.socket], list[str]]]:
    """(server, its sockets, the addresses to open: this machine's own first, then the phone's)."""
    ending = asyncio.Event()
    door = door_of(house, host, phone, password)
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(listen(host, port))]
        if phone:
            sockets.append(open_sockets.enter_context(listen(phone, sockets[0].getsockname()[1])))
        app, stop = make_app(house, ending, door)
        try:
            yield Server(app, ending), sockets, [address(*one) for one in zip((host, phone), sockets, strict=False)]
        finally:
            stop()


def serve(
    house: House,
    *,
    host: str = "127.0.0.1",
    port: int,
    phone: str = "",
    password: str | None = None,
    ready: Callable[..., None] = announce,
) -> None:
    """Serve the page until the program is told to end (Ctrl+C). ``ready`` is told the addresses: this machine's own first, then
    the phone's; port 0 is any free one. ``phone`` is an address for others in the local network to come in by a code,
    ``password`` one that stands in for the one that is kept.

    For the main thread. Raises ConfigError for a host that others reach without a password, MoeChatError where the port
    cannot be had. The house stays open: it is its maker who closes it.
    """
    with _server(house, host, port, phone, password) as (server, sockets, urls):
        ready(*urls)
        until_told(server, sockets)


@contextlib.contextmanager
def running(
    house: House, *, host: str = "127.0.0.1", port: int = 0, phone: str = "", password: str | None = None
) -> Iterator[str]:
    """The page served in a thread while the block runs; gives its address."""
    with (
        _server(house, host, port, phone, password) as (server, sockets, urls),
        in_thread(server, sockets, "web"),
    ):
        yield urls[0]
