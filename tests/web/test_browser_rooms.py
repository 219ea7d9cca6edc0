"""The rooms beside the chat in a real browser, as a person uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moechat.web import running
from tests.browser import ask, tab
from tests.houses import Home, silent
from tests.rooms import INSIGHT, TALK, lived

pytestmark = pytest.mark.browser

EVIL = '<img src=x onerror="window.pwned=1"> ${window.pwned=1} {{pwned}}'


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A lived memory, served."""
    with Home.build(folder).open(silent()) as house:
        lived(house.agent())
        with running(house) as url:
            yield url


def enter(page: Page, room: str) -> Locator:
    page.locator(f"#doors [data-room={room}]").click()
    page.locator(f"#room .room.{room}").wait_for()
    return page.locator("#room")


def memory(page: Page, text: str) -> Locator:
    return page.locator("#room .memory", has_text=text)


def test_another_room_begins_at_its_top(tmp_path: Path, browser: Browser) -> None:
    small = {"width": 390, "height": 500}
    with served(tmp_path) as url, tab(browser, url, viewport=small) as page:
        scrolled = page.locator("#remembered")
        enter(page, "topics")
        scrolled.evaluate("room => room.scrollTo(0, 300)")
        assert scrolled.evaluate("room => room.scrollTop") > 0
        enter(page, "settings")
        assert scrolled.evaluate("room => room.scrollTop") == 0


def test_a_memory_is_found_changed_archived_brought_back_and_forgotten(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as url, tab(browser, url) as page:
        room = enter(page, "memories")
        expect(page.locator("#main")).to_be_hidden()
        expect(room.locator(".letter").first).to_contain_text("你不喜欢香菜")
        expect(room).not_to_contain_text("淡忘")  # memory is far from full
        room.get_by_label("搜索记忆").fill("毛肚")
        expect(room.locator(".memory")).to_have_count(1)
        memory(page, "毛肚").locator(".memory-head").click()
        expect(room.locator(".was-said")).to_contain_text(TALK[0])

        room.get_by_role("button", name="编辑").click()
        expect(room.locator("textarea")).to_be_focused()
        room.locator("textarea").fill("")
        room.get_by_role("button", name="保存").click()
        expect(room.get_by_role("alert")).to_have_text("请写点内容。")
        room.locator("textarea").fill(f"毛肚涮得正好 {EVIL}")
        room.get_by_role("button", name="保存").click()
        expect(memory(page, f"毛肚涮得正好 {EVIL}")).to_have_count(1)
        assert page.locator("#room img").count() == 0
        assert page.evaluate("window.pwned") is None

        room.get_by_role("button", name="归档", exact=True).click()
        expect(room.get_by_text("没有符合的记忆")).to_be_visible()
        room.get_by_role("button", name="归档箱").click()
        memory(page, "毛肚").locator(".memory-head").click()
        room.get_by_role("button", name="恢复").click()
        expect(room.locator(".note-line")).to_contain_text("已恢复 1 条")
        room.get_by_role("button", name="归档箱").click()
        memory(page, "毛肚").locator(".memory-head").click()
        room.get_by_role("button", name="忘掉…").click()
        expect(room.get_by_role("alertdialog")).to_contain_text("找不回来")
        page.keyboard.press("Escape")
        expect(room.get_by_role("alertdialog")).to_have_count(0)
        room.get_by_role("button", name="忘掉…").click()
        room.get_by_role("button", name="我要忘掉").click()
        room.get_by_role("button", name="永远忘掉").click()
        expect(room.locator(".note-line")).to_contain_text("已彻底忘掉 2 条")  # and the reflection that rested on it
        expect(memory(page, "毛肚")).to_have_count(0)


def test_the_map_and_the_calendar_lead_to_slices_and_a_topic_is_renamed(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as url, tab(browser, url) as page:
        room = enter(page, "topics")
        hotpot = room.get_by_role("button", name="饮食 › 火锅")
        hotpot.click()
        expect(room.locator(".slice")).to_have_count(3)
        room.locator(".slice summary").first.click()
        expect(room.locator(".slice .was-said").first).to_contain_text(TALK[0])
        room.get_by_text("整理这个话题").click()
        room.get_by_label("新名字").fill("涮锅")
        room.get_by_role("button", name="改名").click()
        expect(room.locator(".note-line")).to_contain_text("饮食 › 涮锅")
        expect(room.locator(".slice")).to_have_count(3)
        expect(hotpot).to_have_count(0)

        day = room.locator(".calendar .one-day").nth(-2)
        day.click()
        expect(room.locator(".slices h2")).to_contain_text("2025年5月19日")
        day.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(room.locator(".slices h2")).not_to_contain_text("2025年5月19日")
        room.locator(".day-page .sentence").first.click()
        expect(page.locator("#room .memory [aria-expanded=true]")).to_have_count(1)
        expect(page.locator("#doors [aria-current=page]")).to_have_text("记忆")
        page.go_back()
        expect(page.locator("#room .treemap")).to_be_visible()
        page.go_back()
        expect(page.locator("#box")).to_be_visible()


def test_the_author_writes_in_english_on_a_phone(tmp_path: Path, browser: Browser) -> None:
    phone = {"width": 390, "height": 780}
    with served(tmp_path) as url, tab(browser, url, locale="en-GB", color_scheme="dark", viewport=phone) as page:
        room = enter(page, "memories")
        expect(room.locator(".letter").last).to_contain_text(INSIGHT[2:])
        room.get_by_role("button", name="The author's").click()
        room.get_by_role("button", name="Write a fact").click()
        room.get_by_label("Words", exact=True).fill("{{char}} repairs violins")
        room.get_by_label("Time", exact=True).fill("long ago")
        room.get_by_role("button", name="Save").click()
        expect(room.get_by_role("alert")).to_contain_text("“Time” is not right")
        expect(room.get_by_label("Words", exact=True)).to_have_value("{{char}} repairs violins")
        room.get_by_label("Time", exact=True).fill("")
        room.get_by_role("button", name="Save").click()
        expect(memory(page, "{{char}} repairs violins")).to_have_count(1)
        room.get_by_role("button", name="Edit").click()
        room.get_by_label("Words", exact=True).fill("{{char}} repairs cellos")
        room.get_by_role("button", name="Save").click()
        expect(memory(page, "{{char}} repairs cellos")).to_have_count(1)
        room.get_by_role("button", name="Delete…").click()
        room.get_by_role("button", name="Delete it").click()
        room.get_by_role("button", name="Delete for ever").click()
        expect(room.get_by_text("The author has not written anything yet.")).to_be_visible()
        room.get_by_role("button", name="Write a world book entry").click()
        room.get_by_label("Keyword", exact=True).fill("半舟")
        room.get_by_label("Description", exact=True).fill("a tea house")
        room.get_by_role("button", name="Save").click()
        room.get_by_role("button", name="Edit").click()
        room.get_by_label("Keyword", exact=True).fill("the half boat")
        room.get_by_role("button", name="Save").click()
        expect(memory(page, "the half boat: a tea house")).to_contain_text("world_book.yaml")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        enter(page, "topics")
        expect(room.locator(".treemap .tile").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.reload()  # the address leads back there
        expect(room.locator(".treemap .tile").first).to_be_visible()
        page.evaluate("localStorage['moechat.language'] = sessionStorage['moechat.language'] = '\"zh\"'")
        page.reload()
        expect(room.locator("h2").first).to_have_text("话题地图")


def test_what_a_reply_rests_on_leads_to_the_memory(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path) as url, tab(browser, url) as page:
        ask(page, "我讨厌吃什么")
        page.locator("#said .exchange:last-of-type details.memories > summary").click()
        page.locator("#said .exchange:last-of-type .kind.core .look").first.click()
        expect(page.locator("#room .memory.fact [aria-expanded=true]")).to_contain_text("香菜")
        enter(page, "memories").get_by_role("button", name="原话", exact=True).click()
        memory(page, TALK[1]).locator(".memory-head").click()
        page.locator("#room").get_by_role("button", name="编辑").click()
        page.locator("#room textarea").fill("我养了一只黑猫")
        page.locator("#room").get_by_role("button", name="保存").click()
        expect(page.locator("#room .note-line")).to_have_text("已改好。")
        page.locator("#doors [data-room=chat]").click()
        expect(page.locator("#said .side.user .bubble").nth(-2)).to_have_text("我养了一只黑猫")
