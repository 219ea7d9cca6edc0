"""Around a message, in a real browser: replies, corrections, branches, deleting, remembering, and several talks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from moechat.ai.scripted import Line
from moechat.house import House
from moechat.web import running
from tests.browser import LAST, ask, say, tab
from tests.houses import Home, silent
from tests.web.test_browser_wishes import reach

pytestmark = pytest.mark.browser


@contextmanager
def served(folder: Path, *replies: str | Line) -> Iterator[tuple[House, str]]:
    with Home.build(folder).open(silent(list(replies))) as house, running(house) as url:
        yield house, url


def messages(page: Page) -> Locator:
    return page.locator("#said .side.user .bubble")


def act(page: Page, text: str, name: str) -> None:
    """Do something with the exchange in which this was said."""
    one = page.locator("#said .exchange", has=page.locator(".bubble", has_text=text)).last
    one.hover()
    one.get_by_role("button", name=name, exact=True).click()


def test_replies_are_flipped_and_an_older_message_is_answered_anew(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path, "一", "二", "三", "尾") as (_, url), tab(browser, url) as page:
        ask(page, "数数")
        for reply in ("二", "三"):
            act(page, "数数", "换个回答")
            expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text(reply)
        expect(page.locator(f"{LAST} .variant")).to_have_text("3/3")
        page.get_by_role("button", name="上一个").click()
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("二")
        page.locator(LAST).focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("一")
        expect(page.locator(f"{LAST} .variant")).to_have_text("1/3")
    with served(tmp_path / "b", "一", "尾", "又一") as (_, url), tab(browser, url) as page:
        ask(page, "先说")
        ask(page, "后说")
        act(page, "先说", "换个回答")
        expect(page.locator("#said .side.char .bubble")).to_have_text(["又一", "尾"])


def test_a_message_is_corrected_by_touch_and_answered_anew(tmp_path: Path, browser: Browser) -> None:
    phone = {"width": 390, "height": 780}
    with (
        served(tmp_path, "你住北京？", "你住南京！") as (_, url),
        tab(browser, url, locale="en-GB", viewport=phone, has_touch=True, is_mobile=True) as page,
    ):
        ask(page, "我住北京")
        messages(page).tap()
        page.get_by_role("button", name="Edit mine").tap()
        page.locator("#said textarea").fill("我住南京")
        page.get_by_role("button", name="Save").tap()
        expect(messages(page)).to_have_text("我住南京")
        page.locator("#note").get_by_role("button", name="Answer again").tap()
        expect(page.locator(f"{LAST}.done .side.char .bubble")).to_have_text("你住南京！")
        sizes = page.locator("button:visible").evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
        assert min(sizes) >= 40
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_reply_is_corrected_by_keyboard_alone(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path, "错了") as (house, url), tab(browser, url) as page:
        ask(page, "一句")
        page.locator("#talk").focus()
        page.keyboard.press("ArrowUp")
        reach(page, page.get_by_role("button", name="改回答"))
        page.keyboard.press("Enter")
        expect(page.locator("#said textarea")).to_be_focused()
        page.locator("#said textarea").fill("对了")
        page.keyboard.press("Control+Enter")
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("对了")
        assert house.agent().conversation.last_reply() == "对了"


def test_a_branch_is_begun_left_and_found_again(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path, "甲", "乙", "丙", "丁") as (_, url), tab(browser, url) as page:
        for text in ("晴天", "阴天", "雨天"):
            ask(page, text)
        act(page, "晴天", "从这里分枝")
        expect(messages(page)).to_have_text(["晴天"])
        page.get_by_role("button", name="回到第 1 枝").click()
        expect(messages(page)).to_have_text(["晴天", "阴天", "雨天"])
        act(page, "晴天", "从这里分枝")
        expect(messages(page)).to_have_text(["晴天"])
        ask(page, "另一条路")
        expect(page.locator(".fork .variant")).to_have_text("2/2")
        page.locator(".fork").get_by_role("button", name="上一个").click()
        expect(messages(page)).to_have_text(["晴天", "阴天", "雨天"])


def test_what_is_deleted_from_here_can_be_had_back(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path, "甲", "乙", "丙") as (_, url), tab(browser, url) as page:
        for text in ("一", "二", "三"):
            ask(page, text)
        act(page, "二", "从这里删去")
        expect(messages(page)).to_have_text(["一"])
        expect(page.locator("#note")).to_contain_text("删去了 2 段")
        page.get_by_role("button", name="撤销").click()
        expect(messages(page)).to_have_text(["一", "二", "三"])


def test_this_is_remembered_and_copied(tmp_path: Path, browser: Browser) -> None:
    with (
        served(tmp_path, "好。```py\nprint(1)\n```") as (house, url),
        tab(browser, url, permissions=["clipboard-read", "clipboard-write"]) as page,
    ):
        ask(page, "我对芒果过敏")
        act(page, "我对芒果过敏", "记住这句")
        page.get_by_role("button", name="保存").click()
        expect(page.locator("#note")).to_contain_text("已记住")
        assert [one.by for one in house.agent().memories.listed(["fact"]).memories if "芒果" in one.text].count(
            "owner"
        ) == 1
        page.locator(f"{LAST} .side.user").get_by_role("button", name="复制").click()
        expect(page.locator("#note")).to_contain_text("已复制")
        assert page.evaluate("navigator.clipboard.readText()") == "我对芒果过敏"


def test_talks_share_a_memory_worlds_do_not_and_nothing_is_kept_off_the_record(
    tmp_path: Path, browser: Browser
) -> None:
    with served(tmp_path, *(f"回{n}" for n in range(9))) as (house, url), tab(browser, url) as page:

        def begin(kind: str, name: str = "") -> None:
            page.locator(".which-talk").click()
            page.locator("#sheet [data-do=new-talk]").click()
            page.locator("#sheet input[name=name]").fill(name)
            page.locator(f"#sheet input[value={kind}]").check()
            page.get_by_role("button", name="开始").click()
            expect(page.locator("#sheet")).to_be_hidden()

        ask(page, "我对芒果过敏")
        house.agent().jobs.settle()
        begin("same", "旅行")
        expect(page.locator(".which-talk")).to_contain_text("旅行")
        ask(page, "我能吃芒果吗")
        expect(page.locator(f"{LAST} details.memories summary")).to_contain_text("想起了")
        begin("world", "古代")
        expect(page.locator("#kept")).to_contain_text("「古代」")
        ask(page, "我能吃芒果吗")
        expect(page.locator(f"{LAST} details.memories")).to_have_count(0)
        page.locator("#talks button", has_text="主对话").first.click()
        expect(messages(page)).to_have_text(["我对芒果过敏"])
        begin("held")
        expect(page.locator("#kept")).to_contain_text("不会被记住")
        ask(page, "我偷偷告诉你")
        page.locator("#talks button", has_text="旅行").click()
        expect(messages(page)).to_have_text(["我能吃芒果吗"])
        page.locator("#talks button", has_text="不留记录").click()
        expect(messages(page)).to_have_text(["我偷偷告诉你"])
        assert "偷偷" not in "".join(path.read_text("utf-8") for path in house.data.rglob("*.jsonl"))
        assert house.worlds("小满") == ["古代"]


def test_a_talk_gets_a_title_by_itself_and_another_by_hand_is_kept_and_ends(tmp_path: Path, browser: Browser) -> None:
    with served(tmp_path, *(f"回{n}" for n in range(9))) as (house, url), tab(browser, url) as page:

        def more(title: str) -> None:
            page.locator("#talks .talk-row", has_text=title).locator(".talk-more").click()

        ask(page, "我住在杭州")
        page.locator("#talks [data-do=new-talk]").click()
        page.get_by_role("button", name="开始").click()
        expect(page.locator(".which-talk")).to_contain_text("新对话")
        ask(page, "下个月想去青岛看海，坐高铁去，住三天再回来，你说好不好")
        expect(page.locator(".which-talk")).to_contain_text("下个月想去青岛看海")
        more("青岛")
        page.locator("#sheet input[name=title]").fill("青岛之行")
        page.locator("#sheet [type=submit]").click()
        expect(page.locator(".which-talk")).to_contain_text("青岛之行")
        more("青岛之行")
        page.get_by_role("button", name="置顶").click()
        expect(page.locator("#talks .talk-row").first).to_contain_text("★ 青岛之行")
        more("青岛之行")
        with page.expect_download() as download:
            page.get_by_role("button", name="Markdown").click()
        assert "坐高铁去" in download.value.path().read_text("utf-8")
        assert download.value.suggested_filename == "青岛之行.md"
        page.get_by_role("button", name="删掉，并且彻底忘掉").click()
        page.get_by_role("button", name="再按一次").click()
        expect(messages(page)).to_have_text(["我住在杭州"])
        expect(page.locator("#talks")).not_to_contain_text("青岛")
        assert "青岛" not in "".join(path.read_text("utf-8") for path in house.data.rglob("*.jsonl"))


def test_a_long_line_of_code_scrolls_by_itself(tmp_path: Path, browser: Browser) -> None:
    reply = (
        "*笑了。*看：\n\n- 一\n- [二](http://example.com/x)\n\n```python\n"
        + "x = 1 + 2; " * 80
        + "\n```\n\n|甲|乙|\n|-|-|\n|"
        + "长" * 400
        + "|2|"
    )
    phone = {"width": 390, "height": 780}
    with served(tmp_path, reply) as (_, url), tab(browser, url, viewport=phone) as page:
        ask(page, "写段代码")
        bubble = page.locator(f"{LAST} .side.char .bubble")
        expect(bubble.locator("em")).to_have_text("笑了。")
        expect(bubble.locator("li")).to_have_count(2)
        expect(bubble.locator(".code-head span")).to_have_text("python")
        expect(bubble.locator("a + small")).to_have_text("(example.com)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert bubble.evaluate("one => one.getBoundingClientRect().right") <= 390
        assert page.locator("#talk").evaluate("talk => talk.scrollWidth <= talk.clientWidth")


def test_a_program_that_goes_away_is_told_in_our_words_and_nothing_is_lost(tmp_path: Path, browser: Browser) -> None:
    held = Line("说到一半", hold=Event(), then="，完了。")
    with (
        Home.build(tmp_path).open(silent(["在。", held, "又在。"])) as house,
        browser.new_context(locale="zh-CN") as context,
    ):
        page = context.new_page()
        with running(house) as url:
            page.goto(url)
            assert ask(page, "在吗") == "在。"
            say(page, "讲个故事")
            expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("说到一半")
            page.evaluate("window.isTheSame = true")
        expect(page.locator("#away")).to_contain_text("连不上程序了")
        page.locator("#box").fill("还没说出来")
        page.locator("#box").press("Enter")
        expect(page.locator("#note")).to_contain_text("没有送出去")
        expect(page.locator("#box")).to_have_value("还没说出来")
        expect(page.locator(f"{LAST} .side.char .bubble")).to_have_text("说到一半")
        with running(house, port=int(url.rsplit(":", 1)[1])):
            expect(page.locator("#away")).to_be_hidden()
            expect(page.locator(f"{LAST}.stopped .side.char .bubble")).to_have_text("说到一半")
            expect(page.locator("#box")).to_have_value("还没说出来")
            page.locator("#box").press("Enter")
            expect(page.locator(f"{LAST}.done .side.char .bubble")).to_have_text("又在。")
            expect(page.locator("#box")).to_have_value("")
            assert page.evaluate("window.isTheSame")  # it was not loaded anew
            expect(page.locator(".toast-body")).to_have_count(0)
