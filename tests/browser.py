"""A real headless Chromium for tests of the page; what it asks of any other machine is a failure."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio  # noqa: F401  # Python 3.11 cannot parse files inside the greenlets of Playwright: imported before them.
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)

from moechat.ai.embedding import HashEmbedder
from moechat.house import House
from moechat.web import running
from tests.houses import SELDOM_S

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--process-per-site",
)  # fmt: skip
WAIT_MS = 60_000  # a busy machine is no fault
_kept: dict[tuple[Browser, str], BrowserContext] = {}

expect.set_options(timeout=WAIT_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no chromium on this machine; on Debian: apt-get install chromium fonts-noto-cjk")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            yield browser
        finally:
            _kept.clear()
            browser.close()


@contextmanager
def first_start(folder: Path) -> Iterator[tuple[House, str]]:
    """A house in a folder that holds nothing yet, and the address of its page."""
    with (
        House(folder / "data", folder / "config.yaml", embedder=HashEmbedder(), tick_s=SELDOM_S) as house,
        running(house) as url,
    ):
        yield house, url


@contextmanager
def _context(browser: Browser, url: str, guided: bool, **options: Any) -> Iterator[BrowserContext]:
    """One with these options, which an earlier tab may have left: empty but for a page that stays open, and with it the process
    that has compiled what Gradio needs to draw a page. To do so anew costs three times what our page does."""
    key = browser, repr((guided, sorted(options.items())))
    context = _kept.pop(key, None)
    if context is None:
        context = browser.new_context(**options)
        context.set_default_timeout(WAIT_MS)
        if guided:
            context.add_init_script("if (location.protocol !== 'about:') localStorage['moechat.guided'] = 'true'")
        context.new_page().goto(f"{url}/page/manifest.webmanifest")
    first = context.pages[0]
    try:
        yield context
    except BaseException:
        context.close()
        raise
    for page in context.pages[1:]:
        page.close()
    context.clear_cookies()
    context.new_cdp_session(first).send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": "all"})
    if _kept.setdefault(key, context) is not context:
        context.close()


@contextmanager
def tab(
    browser: Browser,
    url: str,
    *,
    at: str = "",
    locale: str = "zh-CN",
    guided: bool = True,
    refused: Sequence[int] = (),
    **context: Any,
) -> Iterator[Page]:
    """A page in an empty context, opened (``at``: on which path) and drawn; ``guided``: it has seen the guide of the first
    start. On leaving: no error in it, in a tab beside it or in their console (but of a request that is ``refused`` with
    one of these), no request to anyone else."""
    errors: list[str] = []
    elsewhere: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            elsewhere.append(request.url)

    def noted(line: ConsoleMessage) -> None:
        if line.type == "error" and not any(f"status of {one}" in line.text for one in refused):
            errors.append(line.text)

    def failed(fault: WebError) -> None:
        errors.append(str(fault.error))

    heard: dict[Any, Any] = {"request": asked, "console": noted, "weberror": failed}
    with _context(browser, url, guided, locale=locale, **context) as opened:
        for event, hear in heard.items():
            opened.on(event, hear)
        yield open_tab(opened.new_page(), url + at)
        assert errors == []
        assert elsewhere == []
        for event, hear in heard.items():
            opened.remove_listener(event, hear)


def open_tab(page: Page, url: str, *, at: str = "") -> Page:
    """Go to the page and wait until the conversation is drawn."""
    page.goto("about:blank")  # An address that differs in its # alone would load nothing.
    page.goto(url + at)
    page.locator("#title h1").wait_for(state="attached")
    return page


class Counted:
    """A person who acts: ``actions`` counts taps, and fields that are filled in."""

    def __init__(self) -> None:
        self.actions = 0

    def tap(self, place: Locator) -> None:
        self.actions += 1
        place.click()

    def write(self, place: Locator, text: str) -> None:
        self.actions += 1
        place.fill(text)


LAST = "#said .exchange:last-of-type"


def say(page: Page, text: str) -> None:
    """Type a message and send it, as a person does."""
    page.locator("#box").fill(text)
    page.locator("#box").press("Enter")


def ask(page: Page, text: str) -> str:
    """Send a message, wait until its reply stands, and give the reply."""
    there = page.locator("#said .exchange[data-id]")
    before = there.last.get_attribute("data-id") if there.count() else ""
    say(page, text)
    page.locator(f'{LAST}[data-id]:not([data-id="{before}"]):not([aria-busy])').wait_for()
    return page.locator(f"{LAST} .side.char .bubble").inner_text()


def unfold(page: Page) -> str:
    """Unfold what the last reply rests on, and give its words."""
    page.locator(f"{LAST} details.memories > summary").click()
    return page.locator(f"{LAST} details.memories .groups").inner_text()
