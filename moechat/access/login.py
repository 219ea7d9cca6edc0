"""The login page, and the cookie that a right word gives. It asks nothing of anybody else."""

from __future__ import annotations

import base64
import hashlib
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
