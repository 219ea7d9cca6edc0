"""Commands that serve the house: the page, and memory over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from functools import partial

import segno

from moechat.access.guard import is_loopback
from moechat.access.listening import EVERYWHERE, local_address
from moechat.access.register import CODE_LASTS, Register
from moechat.cli.session import open_house
from moechat.house import House


def web(args: argparse.Namespace) -> None:
    from moechat import demo, web

    with demo.house(args.config) if args.demo else open_house(args) as house:
        settings = house.config.web
        host = args.host or settings.host
        phone = "" if not args.phone else local_address() if is_loopback(host) or host in EVERYWHERE else host
        web.serve(
            house,
            host="127.0.0.1" if phone else host,
            port=settings.port if args.port is None else args.port,
            phone=phone,
            password=os.environ.get(settings.password_env),
            ready=lambda *urls: announce_page(house, *urls, opens=not args.no_browser and has_screen()),
        )


def has_screen() -> bool:
    """Whether somebody sits before this machine who sees a browser open."""
    is_drawn = sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return sys.stdout.isatty() and is_drawn and "SSH_CONNECTION" not in os.environ


def announce_page(house: House, url: str, phone_url: str = "", *, opens: bool = False) -> None:
    """Where the page is, and it ``opens`` in a browser; for a phone, with a code to come in by."""
    print(f"MoeChat: {url} (Ctrl+C ends it)", flush=True)
    if opens:
        webbrowser.open(url)
    if phone_url:
        code = Register(house.data, house.clock).new_code()
        minutes = int(CODE_LASTS.total_seconds() / 60)
        segno.make(f"{phone_url}/login#{code}", micro=False).terminal(out=sys.stdout, compact=True)
        print(f"MoeChat: {phone_url}  code {code}  ({minutes} min, once; another: moechat access code)", flush=True)


def serve(args: argparse.Namespace) -> None:
    from moechat.serve import server
    from moechat.web import beside

    with open_house(args) as house:
        settings = house.config.serve
        server.serve(
            house,
            host=args.host or settings.host,
            port=settings.port if args.port is None else args.port,
            key=os.environ.get(settings.key_env, ""),
            page=partial(beside, password=os.environ.get(house.config.web.password_env)) if settings.page else None,
        )


def mcp(args: argparse.Namespace) -> None:
    from moechat.serve.mcp import make_server

    with open_house(args) as house:
        make_server(house, args.character, args.user).run("stdio")
