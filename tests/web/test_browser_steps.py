"""The first start and everyday wishes in a real browser, each in as few actions as docs/memory.md counts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moechat.access.login_words import Language
from moechat.ai.embedding import HashEmbedder
from moechat.house import House
from moechat.web import running
from moechat.web.words import Words
from tests.browser import LAST, Counted, say, tab
from tests.houses import SELDOM_S, Home, silent

LOCALES: dict[Language, str] = {"zh": "zh-CN", "en": "en-GB"}
BOTH = pytest.mark.parametrize("language", ["zh", pytest.param("en", marks=pytest.mark.slow)])
PHONE = {"width": 390, "height": 780}
pytestmark = pytest.mark.browser


@BOTH
def test_the_first_start_is_three_steps_to_a_first_reply(tmp_path: Path, browser: Browser, language: Language) -> None:
    words, other = Words(language), "en" if language == "zh" else "zh"
    first, name = ("青禾", "江砚") if language == "zh" else ("Wren", "Wren")
    with (
        House(tmp_path / "data", tmp_path / "config.yaml", embedder=HashEmbedder(), tick_s=SELDOM_S) as house,
        running(house) as url,
        tab(browser, url, locale=LOCALES[other], guided=False, viewport=PHONE) as page,
    ):
        guide, person = page.locator("#guide"), Counted()
        person.tap(guide.get_by_role("button", name={"zh": "中文", "en": "English"}[language]))
        expect(guide.locator("[aria-pressed=true]")).to_contain_text(first)
        person.tap(guide.locator(f"[data-name={name}]"))
        expect(guide.get_by_label(words("base_url"))).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        person.tap(guide.get_by_role("button", name=words("guide_begin")))
        say(page, "你好" if language == "zh" else "Hello there")
        expect(page.locator(f"{LAST} .side.char .bubble")).not_to_be_empty()
        assert person.actions + 1 <= 4
        expect(page.locator("#title h1")).to_have_text(name)
        page.reload()
        page.locator("#title h1").wait_for()
        expect(guide).to_be_hidden()


def test_the_guide_is_skipped_with_a_key_and_stays_away(tmp_path: Path, browser: Browser) -> None:
    with (
        House(tmp_path / "data", tmp_path / "config.yaml", embedder=HashEmbedder(), tick_s=SELDOM_S) as house,
        running(house) as url,
        tab(browser, url, locale="en-GB", guided=False) as page,
    ):
        expect(page.locator("#title h1")).to_have_text("Wren")  # the browser's language chooses
        expect(page.locator("#characters img")).to_have_count(3)
        expect(page.locator("#guide h1")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#box")).to_be_focused()
        page.reload()
        page.locator("#title h1").wait_for()
        expect(page.locator("#guide")).to_be_hidden()


@BOTH
def test_everyday_wishes_take_four_actions_at_most(tmp_path: Path, browser: Browser, language: Language) -> None:
    words = Words(language)
    with ExitStack() as stack:
        house = stack.enter_context(Home.build(tmp_path).open(silent(["一", "二", "三", "四", "五"])))
        page: Page = stack.enter_context(tab(browser, stack.enter_context(running(house)), locale=LOCALES[language]))

        def named(key: str) -> Locator:
            return page.get_by_role("button", name=words(key), exact=True).last

        def wish() -> Counted:
            nonlocal person
            assert person.actions <= 4
            person = Counted()
            return person

        person = Counted()
        say(page, "我讨厌香菜")
        expect(page.locator(f"{LAST}[data-id] .side.char .bubble")).to_have_text("一")
        page.locator(LAST).hover()
        wish().tap(named("again"))
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("二")
        wish().tap(named("flip_back"))  # back to the first reply
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("一")

        wish().tap(named("edit_mine"))  # correct my own message, and have it answered anew
        person.write(page.locator("#said textarea"), "我讨厌葱")
        person.tap(named("save"))
        person.tap(page.locator("#note").get_by_role("button", name=words("again")))
        expect(page.locator(f"{LAST}.done .side.char .bubble")).to_have_text("三")

        say(page, "我讨厌吃什么")
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("四")
        wish().tap(page.locator(f"{LAST} details.memories > summary"))  # find out why
        expect(page.locator(f"{LAST} .groups")).to_contain_text("葱")
        expect(page.locator(f"{LAST} .groups")).not_to_contain_text("用户")

        wish().tap(named("delete_from"))
        expect(page.locator("#said .side.user .bubble")).to_have_text(["我讨厌葱"])
        house.agent().finish()

        wish().tap(page.locator("#doors [data-room=memories]"))  # correct a memory
        person.tap(page.locator(".sentence", has_text="葱"))
        person.write(page.locator("#room textarea"), "我讨厌蒜")
        person.tap(named("save"))
        expect(page.locator(".letter")).to_contain_text("讨厌蒜")

        page.locator(".sentence", has_text="蒜").click()  # it is closed again
        expect(page.locator(".letter .memory-open")).to_have_count(0)
        wish().tap(page.locator("#doors [data-room=memories]"))  # put one away
        person.tap(page.locator(".sentence", has_text="蒜"))
        person.tap(named("forget"))
        person.tap(page.get_by_role("alertdialog").get_by_role("button", name=words("archive"), exact=True))
        expect(page.locator("#room")).not_to_contain_text("讨厌蒜")

        wish().tap(page.locator("#doors [data-room=settings]"))  # change the model
        person.write(page.get_by_label(words("model"), exact=True), "tiny")
        person.tap(page.locator("#connection").get_by_role("button", name=words("save")))
        expect(page.locator("#room .note-line")).to_contain_text(words("saved_offline"))
        assert house.config.chat.model == "tiny"
        wish()
