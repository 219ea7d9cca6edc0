"""A talk of several characters on the page, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from moechat.web import running
from tests.browser import tab
from tests.groups import NAMES, build, facts, nth
from tests.houses import silent

pytestmark = pytest.mark.browser
A, B, C = NAMES


def test_a_talk_of_two_characters_begins_in_three_clicks(tmp_path: Path, browser: Browser) -> None:
    with build(tmp_path).open(silent(nth)) as house, running(house) as url, tab(browser, url) as page:
        page.locator(f'#characters [data-name="{A}"]').click()
        page.get_by_role("button", name="＋ 新对话").click()  # 1
        page.locator("#sheet").get_by_label(B).check()  # 2
        page.locator("#sheet").get_by_role("button", name="开始").click()  # 3
        expect(page.locator("#title h1")).to_have_text(f"{A}、{B}")

        page.locator("#box").fill(f"{A}，{B}，我住在杭州")
        page.keyboard.press("Enter")
        replies = page.locator("#said .exchange.done .side.char .bubble")
        expect(replies).to_have_text([f"{A}第1句", f"{B}第2句"])
        expect(page.locator("#said .side.char .speaker")).to_have_text([A, B])
        expect(page.locator("#said .side.user .bubble")).to_have_count(1)

        page.locator(".talk-row", has=page.locator("[aria-current=true]")).locator(".talk-more").first.click()
        company = page.locator("#sheet .company")
        company.get_by_role("button", name=C).click()
        company.get_by_role("button", name="轮流").click()
        expect(company.get_by_role("button", name="轮流")).to_have_attribute("aria-pressed", "true")
        company.locator(".actions", has_text=B).first.get_by_role("button", name="静音").click()
        expect(company.get_by_role("button", name="取消静音")).to_be_visible()
        company.get_by_label("再加一个人的名字").fill("安妮")
        company.get_by_role("button", name="加入", exact=True).click()
        expect(company).to_contain_text("安妮")
        page.keyboard.press("Escape")

        page.locator("#box").fill("安妮：我住在上海")
        page.keyboard.press("Enter")
        expect(replies).to_have_count(4)
        expect(page.locator("#said .side.char .speaker")).to_have_text([A, B, A, C])
        expect(page.locator("#said .side.user .speaker")).to_have_text("安妮")
        page.reload()
        expect(replies).to_have_count(4)
        page.locator("#box").fill("我住在哪里？")
        page.keyboard.press("Enter")
        expect(replies).to_have_count(6)
        expect(page.locator("#said .exchange.done .side.char .memories").last).to_be_attached()  # with its reasons
        group = house.groups.of(next(talk for talk in house.agent(B).store.tree.talks if talk), B)
        assert [(one.name, one.muted) for one in group.cast.members] == [(A, False), (B, True), (C, False)]
        assert {("user", "用户住在杭州"), ("安妮", "安妮住在上海")} == {*facts(house.agent(A))}

        page.locator("#title [data-do=one-talk]").click()
        company.get_by_label("再加一个人的名字").fill("小周")
        company.get_by_role("button", name="带着自己的记忆加入").click()
        expect(company.locator(".actions", has_text="小周").get_by_role("button", name="请出去")).to_be_visible()
        assert house.groups.of(group.name, B, "小周").cast.users == {"阿明": "", "小周": "小周"}
        company.locator(".actions", has_text="小周").get_by_role("button", name="请出去").click()
        expect(company).not_to_contain_text("小周")
        page.keyboard.press("Escape")

        last = page.locator("#said .exchange").last
        last.hover()
        last.get_by_role("button", name="换个回答", exact=True).click()
        expect(last.locator(".variant")).to_have_text("2/2")
        third = page.locator("#said .exchange", has_text="我住在上海").first
        third.hover()
        third.get_by_role("button", name="从这里删去", exact=True).click()
        expect(page.locator("#said .exchange")).to_have_count(3)
        assert len(group.recent(99)) == 3 and ("安妮", "安妮住在上海") not in facts(house.agent(B))
