"""The login page, and the cookie that a right word gives; how often one may try a password, a code or a key. The page asks
nothing of anybody else.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Literal

from starlette.responses import HTMLResponse, RedirectResponse, Response

from moechat.access.register import SESSION_LASTS
from moechat.sentences import sentence
from moechat.settings.character import Language

Asks = Literal["code", "password", "key"]
"""What opens, beside a one-time code, which always does: nothing, a password, or also a key."""
LOGIN, LOGOUT = "/login", "/logout"
HERE = Path(__file__).parent
MOST_LETTERS = 60  # of what a browser calls itself


def page(language: Language, asks: Asks, *, fault: str = "", status: int = 200) -> Response:
    """The login page; ``fault`` says in words why the last try did not open."""
    script = (HERE / "login.js").read_text(encoding="utf-8")
    is_code = asks == "code"
    kind = 'type="text" autocomplete="one-time-code"' if is_code else 'type="password" autocomplete="current-password"'
    words = {name: escape(sentence("login", name, language)) for name in ("title", "tagline", "enter", "hint")}
    html = _template().substitute(
        words,
        lang=language,
        label=escape(sentence("login", asks, language)),
        input=kind,
        fault=escape(fault),
        script=script,
    )
    return HTMLResponse(html, status, {
        "content-security-policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src '{_hash(script)}'; "
        "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        "cache-control": "no-store",
    })  # fmt: skip


@cache
def _template() -> Template:
    return Template((HERE / "login.html").read_text(encoding="utf-8"))


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def entered(cookie_name: str, cookie: str, *, secure: bool) -> Response:
    """The way in, with the cookie. ``secure``: the browser came by HTTPS."""
    response = RedirectResponse("/", 303)
    lasts = int(SESSION_LASTS.total_seconds())
    response.set_cookie(cookie_name, cookie, max_age=lasts, httponly=True, samesite="lax", secure=secure)
    return response


def left(cookie_name: str) -> Response:
    """The way out: the cookie is gone."""
    response = RedirectResponse(LOGIN, 303)
    response.delete_cookie(cookie_name, httponly=True, samesite="lax")
    return response


def browser_name(agent: str) -> str:
    """What a browser calls itself, in short: ``Chrome on Android``, as far as it can be told."""
    names = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
    systems = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
               ("Linux", "Linux"))  # fmt: skip
    name = next((shown for mark, shown in names if mark in agent), "")
    system = next((shown for mark, shown in systems if mark in agent), "")
    return (
        " on ".join(part for part in (name, system) if part) or "".join(filter(str.isprintable, agent))[:MOST_LETTERS]
    )


def language_of(accepted: str | None) -> Language:
    """A page's language from a browser's Accept-Language header; Chinese comes first here."""
    for part in (accepted or "").lower().split(","):
        tag = part.split(";")[0].strip()
        if tag.startswith("zh"):
            return "zh"
        if tag.startswith("en"):
            return "en"
    return "en" if accepted else "zh"


EACH, ALL, WINDOW_S = 10, 100, 300.0


class Attempts:
    """The wrong tries of the last ``window_s`` seconds: ``each`` from one address, ``all_`` together. ``seconds`` is a clock
    that only runs forward."""

    def __init__(
        self,
        each: int = EACH,
        all_: int = ALL,
        window_s: float = WINDOW_S,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._each, self._all, self._window_s, self._seconds = each, all_, window_s, seconds
        self._tries: deque[tuple[float, str]] = deque()

    def wait_s(self, address: str) -> int:
        """How many seconds this address has to wait, 0 where it may try now."""
        now = self._seconds()
        while self._tries and self._tries[0][0] <= now - self._window_s:
            self._tries.popleft()
        own = [at for at, other in self._tries if other == _network(address)]
        full = [times[-most] for times, most in ((own, self._each), ([at for at, _ in self._tries], self._all))
                if len(times) >= most]  # fmt: skip
        return math.ceil(max(full) + self._window_s - now) if full else 0

    def count(self, address: str) -> None:
        """One more try. It counts as wrong until it is forgiven: many at once are no way around."""
        self._tries.append((self._seconds(), _network(address)))

    def forgive(self, address: str) -> None:
        """The last try of this address was right."""
        last = max(at for at, other in self._tries if other == _network(address))
        self._tries.remove((last, _network(address)))


def _network(address: str) -> str:
    """What counts as one address: in IPv6 a whole /64, which one household has."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)
