"""A server as others meet it: who it takes a caller for, and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from moechat.access.guard import Door, Guard
from moechat.access.listening import Server, address, in_thread, listen
from moechat.access.register import Register

FORWARDED = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "forwarded": "for=203.0.113.9"}


async def caller(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says whence a request comes."""
    await PlainTextResponse(f"{scope['scheme']} {scope['client'][0]}")(scope, receive, send)


def test_nobody_says_by_a_header_whence_he_comes() -> None:
    with listen("127.0.0.1", 0) as listening, in_thread(Server(caller, asyncio.Event()), [listening], "test"):
        assert httpx.get(address("127.0.0.1", listening), headers=FORWARDED).text == "http 127.0.0.1"


def test_who_guesses_waits_whatever_address_he_says_he_has(tmp_path: Path) -> None:
    guard = Guard(caller, Door(open_here=False, register=Register(tmp_path)))
    with listen("127.0.0.1", 0) as listening, in_thread(Server(guard, asyncio.Event()), [listening], "test"):
        url = address("127.0.0.1", listening)
        with httpx.Client(base_url=url, headers={"origin": url}) as http:
            answers = [
                http.post(
                    "/login", data={"word": "guess"}, headers={"x-forwarded-for": f"203.0.113.{number}"}
                ).status_code
                for number in range(11)
            ]
    assert answers == [403] * 10 + [429]


def test_a_server_that_is_asked_to_end_tells_those_who_wait() -> None:
    ending = asyncio.Event()
    with listen("127.0.0.1", 0) as listening, in_thread(Server(caller, ending), [listening], "test"):
        httpx.get(address("127.0.0.1", listening))
        assert not ending.is_set()
    assert ending.is_set()
