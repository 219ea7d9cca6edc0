"""How a server listens, says where it is, and ends. The page and HTTP both use it."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from moechat.errors import MoeChatError

ELSEWHERE = "192.0.2.1"  # An address that nobody has (RFC 5737).
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # To listen on every address, and this machine's own of them.
SWITCH_S = 0.0005  # Threads take turns ten times as often as by default: a short message waits less behind long ones.
STOP_S = 5  # Requests that are under way get this long to end.


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises MoeChatError with what to do where the port cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # Without the protocol asyncio sets no TCP_NODELAY.
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as failure:
        listening.close()
        raise MoeChatError(
            f"cannot listen on {host}:{port} ({failure.strerror or failure}): choose another port with --port, "
            "or 0 for any free one"
        ) from failure
    return listening


def address(host: str, listening: socket.socket) -> str:
    """The address to open: this machine's own where every one is listened on."""
    shown = EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{listening.getsockname()[1]}"


def announce(url: str, *_: str) -> None:
    """Where the server is, on the standard output."""
    sys.stdout.write(f"MoeChat: {url}  (Ctrl+C ends it)\n")
    sys.stdout.flush()


def local_address() -> str:
    """This machine's address in the local network. Raises MoeChatError where there is none, or where it is the internet's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((ELSEWHERE, 9))  # It sends nothing: it only asks which way it would go.
            own = str(asking.getsockname()[0])
        except OSError:
            raise MoeChatError("this machine is in no network; connect it, or name an address with --host") from None
    if ipaddress.ip_address(own).is_global:
        raise MoeChatError(f"{own} is no local network but the internet; if it is to be, name it with --host")
    return own


class Server(uvicorn.Server):
    """A server that sets ``ending`` before it waits for its requests to end. ``most`` of them may be under way at once."""

    def __init__(self, app: ASGIApp, ending: asyncio.Event, most: int | None = None) -> None:
        super().__init__(uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, ws="none", proxy_headers=False,
            timeout_graceful_shutdown=STOP_S, limit_concurrency=most,
        ))  # fmt: skip
        self._ending = ending
        sys.setswitchinterval(SWITCH_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending.set()
        await super().shutdown(sockets)


def until_told(server: uvicorn.Server, listening: Sequence[socket.socket]) -> None:
    """Serve until the program is told to end (Ctrl+C, SIGTERM). For the main thread."""
    before = signal.signal(signal.SIGTERM, _interrupt)  # When it has ended, uvicorn raises the signal once more.
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=list(listening))
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def in_thread(server: uvicorn.Server, listening: Sequence[socket.socket], name: str) -> Iterator[None]:
    """Serve in a thread while the block runs."""
    thread = threading.Thread(target=lambda: server.run(sockets=list(listening)), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(2 * STOP_S)
