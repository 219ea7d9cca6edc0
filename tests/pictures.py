"""The pictures of the READMEs, taken of the real page: ``python -m tests.pictures``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from moechat import demo
from moechat.house import House
from moechat.web import running
from tests.browser import ask, chromium, tab

DOCS = Path(__file__).resolve().parents[1] / "docs"
SIZE = {"width": 1120, "height": 1190}
COLOURS = 256


@dataclass(frozen=True)
class Scene:
    """What is said on the first day, and asked a month later with the memories unfolded. ``greetings`` go before each: where no
    language model is connected, the first reply of a talk says so at length."""

    file: str
    locale: str
    character: str
    greetings: tuple[str, str]
    told: str
    questions: tuple[str, ...]


SCENES = (
    Scene(
        "chat.png", "zh-CN", "青禾", ("晚上好", "好久不见"), "我住在杭州，昨天和室友吃了火锅，我讨厌香菜",
        ("5月19日我吃了什么？", "我讨厌吃什么？", "渡口几点有船？"),
    ),
    Scene(
        "chat-en.png", "en-GB", "Wren", ("Good evening", "It's been a while"),
        "I live in Leeds, I had ramen with my sister yesterday, and I can't stand coriander.",
        ("What did I eat on 19 May?", "What do I think of coriander?", "Tell me about the Grey Lady"),
    ),
)  # fmt: skip


def take(scene: Scene, browser: Browser) -> None:
    first, second = scene.greetings
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for now, said in (("2025-05-20T21:30", (first, scene.told)), ("2025-06-20T21:32", (second, *scene.questions))):
            with (
                House(folder / "data", folder / "config.yaml", now=now) as house,
                running(house) as url,
                tab(browser, url, locale=scene.locale, viewport=SIZE) as page,
            ):
                house.ready()
                page.locator(f'#characters button[data-name="{scene.character}"]').click()
                page.locator("#title h1", has_text=scene.character).wait_for()
                for text in said:
                    ask(page, text)
                if scene.questions[0] in said:
                    _save(page, DOCS / scene.file)


def take_topics(file: str, locale: str, character: str, browser: Browser) -> None:
    """The map and the calendar of the month of sample memory."""
    with demo.house(Path("config.yaml")) as house, running(house) as url:
        house.ready()
        with tab(browser, url, locale=locale, viewport={"width": 1120, "height": 960}) as page:
            page.locator(f'#characters button[data-name="{character}"]').click()
            page.locator("#title h1", has_text=character).wait_for()
            page.get_by_text("话题" if locale == "zh-CN" else "Topics", exact=True).click()
            page.wait_for_timeout(3000)
            _shot(page, DOCS / file)


def _save(page: Page, path: Path) -> None:
    page.evaluate("document.querySelectorAll('details.memories').forEach((memories) => { memories.open = true })")
    page.locator("#said .exchange:last-of-type details.memories .groups").scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # what unfolds has come to rest
    _shot(page, path)


def _shot(page: Page, path: Path) -> None:
    """As PNG with few colours, so that the repository stays small."""
    page.screenshot(path=path, animations="disabled")
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    with chromium() as opened:
        for one in SCENES:
            take(one, opened)
        take_topics("topics.png", "zh-CN", "青禾", opened)
        take_topics("topics-en.png", "en-GB", "Wren", opened)
