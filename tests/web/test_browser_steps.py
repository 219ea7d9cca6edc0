"""The first start and everyday wishes in a real browser, each in as few actions as docs/memory.md counts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moechat.access.login import Language
from moechat.ai.embedding import HashEmbedder
from moechat.house import House
from moechat.settings.service_keys import FILE
from moechat.web import running
from moechat.web.words import Words
from tests.browser import LAST, Counted, ask, first_start, say, tab
from tests.houses import SELDOM_S, Home, silent
from tests.model_server import ModelServer
from tests.web.test_browser_wishes import BOTH, LOCALES

PHONE = {"width": 390, "height": 780}
pytestmark = pytest.mark.browser


@BOTH
def test_the_first_start_is_three_steps_to_a_first_reply(tmp_path: Path, browser: Browser, language: Language) -> None:
    words, other = Words(language), "en" if language == "zh" else "zh"
    first, name = ("青禾", "江砚") if language == "zh" else ("Wren", "Wren")
    with (
        first_start(tmp_path) as (_, url),
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
    with first_start(tmp_path) as (_, url), tab(browser, url, locale="en-GB", guided=False) as page:
        expect(page.locator("#title h1")).to_have_text("Wren")  # the browser's language chooses
        expect(page.locator("#characters img")).to_have_count(3)
        expect(page.locator("#guide h1")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#box")).to_be_focused()
        page.reload()
        page.locator("#title h1").wait_for()
        expect(page.locator("#guide")).to_be_hidden()


def test_the_guide_keeps_a_name_offers_models_and_never_shows_a_key(tmp_path: Path, browser: Browser) -> None:
    key = "sk-of-the-first-day"
    with (
        ModelServer(["ok", "我是江砚，你好。"], key=key, models=("tiny", "large")) as server,
        first_start(tmp_path) as (house, url),
        tab(browser, url, guided=False) as page,
    ):
        guide = page.locator("#guide")
        guide.get_by_role("button", name="中文").click()
        expect(guide.get_by_label("怎么称呼你？")).to_be_focused()
        guide.get_by_label("怎么称呼你？").fill("小雨" * 200)
        guide.locator("[data-name=江砚]").click()
        expect(guide.get_by_role("alert")).to_contain_text("最多 200 个字")
        guide.get_by_label("怎么称呼你？").fill("小雨")
        guide.locator("[data-name=江砚]").click()
        expect(page.locator("#title h1")).to_have_text("江砚")
        assert "小雨" in house.agent("江砚").character.user_name
        guide.get_by_label("接口地址").fill("http://127.0.0.1:9/v1")
        guide.get_by_label("接口地址").press("Enter")
        expect(guide.locator(".standing")).to_contain_text("没连上。 连不上 http://127.0.0.1:9/v1")
        guide.get_by_label("接口地址").fill(server.url)
        guide.get_by_role("button", name="有哪些模型").click()
        expect(guide.locator(".standing")).to_contain_text("不接受这个密钥")
        guide.get_by_label("密钥").fill(key)
        guide.get_by_role("button", name="有哪些模型").click()
        expect(guide.locator(".offered .chip")).to_have_text(["tiny", "large"])
        assert not house.connected
        guide.locator(".offered .chip", has_text="tiny").click()
        expect(guide.locator(".standing")).to_contain_text("连接正常")
        expect(guide.locator(".note-line")).to_contain_text(f"密钥存进了 {FILE}，只有你能读")
        expect(guide.get_by_label("密钥")).to_have_value("")
        assert key not in page.content()
        guide.get_by_role("button", name="开始聊天").click()
        expect(page.locator("#box")).to_be_focused()
        assert ask(page, "在吗") == "我是江砚，你好。"
        assert "小雨" in str([one.body for one in server.requests])
    with House(tmp_path / "data", tmp_path / "config.yaml", embedder=HashEmbedder(), tick_s=SELDOM_S) as house:
        assert house.try_connection(server.url, "tiny").kind == "no_route"
        assert house.keys.of(server.url) == key  # for the next run, too
    holders = [path.name for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert holders == [FILE]


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
