"""axe-core over all rooms and sheets: no violation that is serious or critical, light and dark, wide and narrow, zh and en.

``make axe`` fetches axe-core from npm and runs this; without it there is nothing to test with. A picture of each is kept in
``build/rooms``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from moechat.web import running
from tests.browser import ask, first_start, tab
from tests.houses import Home, silent
from tests.model_server import ModelServer
from tests.rooms import lived

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".doors" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = ROOT / "build" / "rooms"
BAD = ("serious", "critical")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: run `make axe`"),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Home.build(tmp_path_factory.mktemp("axe")).open(silent()) as house:
        lived(house.agent())
        with running(house) as address:
            yield address


def violations(page: Page) -> list[str]:
    """What axe finds wrong within our part of the page, and how badly."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run('#frame', { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']][:3], ensure_ascii=False)} {one['help']}"
        for one in found["violations"]
        if one["impact"] in BAD
    ]


@pytest.mark.parametrize("locale", ["zh-CN", "en-GB"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_room_is_closed_to_anybody(url: str, browser: Browser, locale: str, scheme: Any, width: int) -> None:
    faults: dict[str, list[str]] = {}
    size: Any = {"width": width, "height": 860}
    with tab(browser, url, locale=locale, color_scheme=scheme, viewport=size) as page:

        def look(room: str) -> None:
            faults[room] = violations(page)
            page.screenshot(path=PICTURES / f"{room}-{locale}-{scheme}-{width}.png")

        ask(page, "我讨厌吃什么")
        page.locator("details.memories > summary").last.click()
        look("chat")
        for room in page.locator("#doors [data-room]").evaluate_all("all => all.map(one => one.dataset.room)"):
            if room == "chat":
                continue
            page.locator(f"#doors [data-room={room}]").click()
            page.locator(f"#room .room.{room}").wait_for()
            look(room)
            for opener in page.locator("#room .chip[data-do=kind]:not([aria-pressed=true]), #room .one-day").all()[:1]:
                opener.click()
                page.locator("#room:not([aria-busy])").wait_for()
                look(f"{room}-opened")
    assert {room: wrong for room, wrong in faults.items() if wrong} == {}


@pytest.mark.parametrize("locale", ["zh-CN", "en-GB"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_sheet_is_closed_to_anybody(tmp_path: Path, browser: Browser, locale: str, scheme: Any, width: int) -> None:
    faults: dict[str, list[str]] = {}
    size: Any = {"width": width, "height": 860}
    with (
        ModelServer(["ok", *["嗯。"] * 9], models=("tiny", "large")) as server,
        first_start(tmp_path) as (_, url),
        tab(browser, url, locale=locale, color_scheme=scheme, viewport=size, guided=False) as page,
    ):
        guide, sheet = page.locator("#guide"), page.locator("#sheet")

        def look(name: str) -> None:
            faults[name] = violations(page)
            page.screenshot(path=PICTURES / f"sheet-{name}-{locale}-{scheme}-{width}.png")

        guide.locator("h1").wait_for()
        look("guide-language")
        guide.locator("[data-do=guide-language]").first.click()
        guide.locator("[name=called]").fill("小雨")
        look("guide-name")
        guide.locator("[data-name]").first.click()
        guide.locator("[name=base_url]").fill(server.url)
        guide.locator("[name=base_url]").press("Enter")
        guide.locator(".offered .chip").first.wait_for()
        look("guide-models")
        guide.locator(".offered .chip").first.click()
        guide.locator(".note-line").wait_for()
        look("guide-kept")
        page.keyboard.press("Escape")
        ask(page, "我讨厌香菜")
        for name, opener in (
            ("talks", ".which-talk"), ("find", "#title [data-do=find]"), ("one-talk", "#title [data-do=one-talk]"),
        ):  # fmt: skip
            page.locator(opener).click()
            sheet.locator("button, input").first.wait_for()
            if name == "find":
                sheet.locator("input").fill("香菜")
                sheet.locator(".hit").first.wait_for()
            look(name)
            page.keyboard.press("Escape")
            sheet.wait_for(state="hidden")
        if width < 760:
            page.locator(".which-talk").click()
        page.locator("[data-do=new-talk]:visible").click()
        sheet.locator("[name=with]").first.check()
        look("new-talk")
        sheet.locator("[type=submit]").click()
        sheet.wait_for(state="hidden")
        ask(page, "你们好")
        page.locator("#title [data-do=one-talk]").click()
        sheet.locator(".company").wait_for()
        look("company")
        page.keyboard.press("Escape")
        page.locator("#doors [data-room=memories]").click()
        sentence = page.locator("#room .sentence").first
        for name, button in (("edit", ""), ("forget", "[data-do=forget]"), ("surely", "[data-do=surely]")):
            (page.locator(f"#room {button}").first if button else sentence).click()
            page.locator("#room:not([aria-busy]) [data-do=cancel]").first.wait_for()
            look(f"letter-{name}")
    assert {name: wrong for name, wrong in faults.items() if wrong} == {}
