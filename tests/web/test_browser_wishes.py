"""Talks in a real browser: each wish in as few actions as docs/memory.md counts, by keyboard alone, and in two tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from moechat.access.login import Language
from moechat.house import House
from moechat.web import running
from moechat.web.words import Words
from tests.browser import LAST, Counted, ask, open_tab, say, tab
from tests.houses import Home, silent

LOCALES: dict[Language, str] = {"zh": "zh-CN", "en": "en-GB"}
BOTH = pytest.mark.parametrize("language", ["zh", pytest.param("en", marks=pytest.mark.slow)])
SLOW = pytest.mark.slow


def screen(width: int, height: int = 860, scale: int = 1) -> dict[str, Any]:
    return {"viewport": {"width": width, "height": height}, "device_scale_factor": scale}


TWICE = screen(720, 430, 2)  # a window of 1440 points at 200 %
SIZES = pytest.mark.parametrize(
    "size",
    [screen(1440), pytest.param(screen(390), marks=SLOW), pytest.param(TWICE, marks=SLOW)],
    ids=lambda size: f"{size['viewport']['width']}",
)
DOC = Path(__file__).resolve().parents[2] / "docs" / "memory.md"
TRIP = "page 2025-05-20T12:00:00"
pytestmark = pytest.mark.browser


@contextmanager
def lived(folder: Path) -> Iterator[tuple[House, str]]:
    """A first talk, and one about a trip with a branch that was left."""
    home = Home.build(folder)
    with (
        home.open(silent(lambda asked: "还有呢。" if asked[-1].role == "system" else "慢慢说。")) as house,
        running(house) as url,
    ):
        agent = house.agent()
        for talk, text in (("", "我住在杭州"), (TRIP, "下个月想去青岛看海"), (TRIP, "坐船去怎么样")):
            [*_] = agent.in_talk(talk).talk(text)
            home.clock.advance(minutes=1)
        agent.in_talk(TRIP).select(agent.store.tree.parents[agent.store.tree.leaf(TRIP) or ""] or "")
        [*_] = agent.in_talk(TRIP).talk("坐高铁去吧")
        home.clock.advance(minutes=1)
        yield house, url


def counted() -> dict[str, int]:
    """The table of docs/memory.md: what is wished for, and in how many actions."""
    rows = re.findall(r"^\| [^|]+ · ([^|]+) \| (\d+) \|", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: int(number) for name, number in rows}


class Person(Counted):
    """Somebody in front of a page, in words of its language."""

    def __init__(self, page: Page, words: Words) -> None:
        super().__init__()
        self.page, self.words = page, words
        self.table: dict[str, int] = {}

    def button(self, key: str, within: str = "#sheet") -> Locator:
        return self.page.locator(within).get_by_role("button", name=self.words(key), exact=True).last

    def has(self, wish: str) -> None:
        self.table[wish], self.actions = self.actions, 0


@BOTH
@SIZES
def test_each_wish_takes_three_actions_at_most(
    tmp_path: Path, browser: Browser, language: Language, size: dict[str, Any]
) -> None:
    width = size["viewport"]["width"]
    with lived(tmp_path) as (house, url), tab(browser, url, locale=LOCALES[language], **size) as page:
        me, words = Person(page, Words(language)), Words(language)
        more, note, mine = page.locator("#title [data-do=one-talk]"), page.locator("#note"), "#said .side.user .bubble"
        place = page.locator("#title .which-talk")

        me.tap(page.locator("#title [data-do=find]"))
        me.write(page.locator("#sheet input"), "坐船")
        me.tap(page.locator(".hit", has_text=words("on_other_branch")))
        expect(page.locator(mine)).to_have_text(["下个月想去青岛看海", "坐船去怎么样"])
        expect(page.locator("#said article", has_text="坐船")).to_be_focused()
        expect(place).to_contain_text("下个月想去青岛看海")
        me.has("find what was said")

        me.tap(more)
        me.write(page.locator("#sheet input[name=title]"), "看海")
        me.tap(me.button("save"))
        expect(place).to_contain_text("看海")
        me.has("another title")

        me.tap(more)
        me.tap(me.button("talk_pin"))
        expect(note).to_have_text(words("talk_pin_done"))
        me.has("pin")

        for wish, key, also in (
            ("export", "talk_as_markdown", ""),
            ("export with reasons", "talk_as_sillytavern", "reasons"),
        ):
            me.tap(more)
            if also:
                me.tap(page.locator(f"#sheet [name={also}]"))
            with page.expect_download() as download:
                me.tap(me.button(key))
            assert "坐船去怎么样" in download.value.path().read_text("utf-8")
            me.has(wish)
            page.keyboard.press("Escape")
            expect(page.locator("#sheet")).to_be_hidden()

        me.tap(page.locator(LAST).get_by_role("button", name=words("go_on")))
        expect(page.locator(f"{LAST}.done .side.char .bubble")).to_have_text("慢慢说。还有呢。")
        me.has("go on")
        me.tap(page.locator(LAST).get_by_role("button", name=words("flip_past")))
        expect(page.locator(f"{LAST}.done .variant")).to_have_text("2/2")
        me.has("another reply")

        me.tap(more)
        me.tap(me.button("talk_end_keep"))
        expect(page.locator(mine)).to_have_text(["我住在杭州"])
        me.has("delete, keep the memories")
        me.tap(note.get_by_role("button", name=words("undo")))
        expect(page.locator(mine).first).to_have_text("下个月想去青岛看海")
        me.has("have it back")
        me.tap(more)
        me.tap(me.button("talk_end_forget"))
        me.tap(page.locator("#sheet [data-act=delete][data-asked]"))
        expect(page.locator(mine)).to_have_text(["我住在杭州"])
        assert "青岛" not in "".join(path.read_text("utf-8") for path in house.data.rglob("*.jsonl"))
        me.has("delete and forget")

        for number in (1, 2):
            me.actions = 0
            if width < 760:
                place.click()  # The list is behind the name there.
            me.tap(page.locator("[data-do=new-talk]:visible"))
            me.tap(page.locator("#sheet input[value=held]"))
            me.tap(me.button("talk_begin"))
            expect(place).to_contain_text(f"{words('held_name')} {number}")
            ask(page, f"第 {number} 个秘密计划")
            expect(place).to_contain_text(f"{words('held_name')} {number} · 第 {number} 个秘密计划")
        me.table["off the record"] = 3
        if width > 760:
            assert me.actions == 3
        wanted = counted()
        assert {wish: (n, wanted.get(wish)) for wish, n in me.table.items() if wanted.get(wish) != n} == {}
        assert max(me.table.values()) <= 3


def reach(page: Page, place: Locator, key: str = "Tab") -> None:
    """Go to something with the tab key alone, or back to it."""
    for _ in range(80):
        if place.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError("the tab key does not lead there")


def test_the_keyboard_alone_renames_finds_flips_and_goes_on(tmp_path: Path, browser: Browser) -> None:
    with lived(tmp_path) as (_, url), tab(browser, url) as page:
        reach(page, page.locator("#title [data-do=find]"))
        page.keyboard.press("Enter")
        expect(page.locator("#sheet input")).to_be_focused()
        page.keyboard.type("坐船")
        hit = page.locator(".hit")
        expect(hit).to_have_count(1)
        reach(page, hit)
        page.keyboard.press("Enter")
        there = page.locator("#said article", has_text="坐船")
        expect(there).to_be_focused()
        page.keyboard.press("ArrowRight")
        expect(there.locator(".variant")).to_have_text("2/2")
        expect(page.locator(f"{LAST}.done")).to_be_focused()
        reach(page, there.get_by_role("button", name="接着说"))
        page.keyboard.press("Enter")
        expect(there.locator(".side.char .bubble")).to_have_text("慢慢说。还有呢。")
        page.locator("#talk").focus()
        reach(page, page.locator("#title [data-do=one-talk]"), "Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#sheet input[name=title]")).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.type("看海去")
        page.keyboard.press("Enter")
        expect(page.locator(".which-talk")).to_contain_text("看海去")


LATE_NEWS = """const hear = EventSource.prototype.addEventListener;
window.late = [];
EventSource.prototype.addEventListener = function (name, use) {
  hear.call(this, name, (event) => window.late.push(() => use(event)));
};"""


def test_news_of_the_branch_that_was_left_comes_too_late_to_take_the_focus(tmp_path: Path, browser: Browser) -> None:
    with lived(tmp_path) as (_, url), tab(browser, url) as page:
        page.add_init_script(LATE_NEWS)
        page.reload()
        asked: list[Route] = []
        page.route("**/page/do/branch", lambda route: asked.append(route))
        page.locator("#title [data-do=find]").click()
        page.keyboard.type("坐船")
        page.evaluate("late.length = 0")
        with page.expect_request("**/page/do/branch"):
            page.locator(".hit").click()
        page.wait_for_function("late.length > 0")  # The branch as it is before the other is chosen.
        asked[0].continue_()
        there = page.locator("#said article", has_text="坐船")
        expect(there).to_be_focused()
        page.evaluate("late.forEach((tell) => tell())")
        expect(there).to_be_focused()
        expect(page.locator("#said")).not_to_contain_text("坐高铁")


def test_a_page_that_could_not_be_drawn_is_asked_for_again(tmp_path: Path, browser: Browser) -> None:
    with lived(tmp_path) as (_, url), tab(browser, url, refused=(500,)) as page:
        page.route("**/page/do/open", lambda route: route.fulfill(status=500), times=1)
        page.locator("#talks .talk-name", has_text="青岛").click()
        expect(page.locator("#away")).to_be_visible()
        expect(page.locator("#said .side.user .bubble").first).to_have_text("下个月想去青岛看海")
        expect(page.locator("#away")).to_be_hidden()


def test_bad_titles_are_told_in_a_line_and_cost_nothing(tmp_path: Path, browser: Browser) -> None:
    with lived(tmp_path) as (house, url), tab(browser, url) as page:
        page.locator("#talks .talk-name", has_text="青岛").click()
        cases = [
            ("长" * 10_000, "标题最多 80 个字。"),
            ("\x00\x1b\u202e ", "标题空着：又照开头的话来叫了。"),
            ("看\x07海\n去", "改好了。"),
        ]
        for typed, line in cases:
            page.locator("#title [data-do=one-talk]").click()
            page.locator("#sheet input[name=title]").evaluate("(one, text) => { one.value = text; }", typed)
            page.locator("#sheet [type=submit]").click()
            expect(page.locator("#note")).to_have_text(line)
            page.keyboard.press("Escape")
        expect(page.locator(".which-talk")).to_contain_text("看 海去")
        assert [one.title for one in house.agent().store.tree.talks.values()] == ["", "看 海去"]


def test_a_talk_that_another_tab_deletes_is_told_and_comes_back_with_a_word(tmp_path: Path, browser: Browser) -> None:
    with lived(tmp_path) as (house, url), tab(browser, url) as page:
        page.locator("#talks .talk-name", has_text="青岛").click()
        expect(page.locator("#said .side.user .bubble").first).to_have_text("下个月想去青岛看海")
        other = open_tab(page.context.new_page(), url)
        other.locator("#talks .talk-name", has_text="青岛").click()
        expect(other.locator("#said .side.user .bubble").first).to_have_text("下个月想去青岛看海")
        other.locator("#box").fill("还没说完的话")
        page.bring_to_front()
        page.locator("#title [data-do=one-talk]").click()
        page.get_by_role("button", name="删掉，记忆留着").click()
        expect(page.locator("#talks")).not_to_contain_text("青岛")
        other.bring_to_front()
        expect(other.locator("#kept")).to_contain_text("已经删掉")
        expect(other.locator("#said .side.user .bubble").first).to_have_text("下个月想去青岛看海")
        expect(other.locator("#box")).to_have_value("还没说完的话")
        other.locator("#box").press("Enter")
        expect(other.locator(f"{LAST}.done .side.user .bubble")).to_have_text("还没说完的话")
        expect(other.locator("#kept")).to_be_hidden()
        page.bring_to_front()
        expect(page.locator("#talks")).to_contain_text("青岛")
        other.bring_to_front()
        other.locator("#title [data-do=one-talk]").click()
        other.get_by_role("button", name="删掉，并且彻底忘掉").click()
        other.get_by_role("button", name="再按一次").click()
        expect(other.locator("#said .side.user .bubble")).to_have_text(["我住在杭州"])
        say(other, "再见")
        expect(other.locator(f"{LAST}.done .side.user .bubble")).to_have_text("再见")
        assert not any("青岛" in str(row["text"]) for row in house.agent().log())


def test_a_finger_asks_for_another_reply(tmp_path: Path, browser: Browser) -> None:
    phone: Any = {"width": 390, "height": 780}
    swipe = """(one, by) => {
      const [x, y] = [200, one.getBoundingClientRect().y + 5];
      const at = (x) => new Touch({ identifier: 1, target: one, clientX: x, clientY: y });
      one.dispatchEvent(new TouchEvent('touchstart', { touches: [at(x)], changedTouches: [at(x)], bubbles: true }));
      one.dispatchEvent(new TouchEvent('touchend', { touches: [], changedTouches: [at(x + by)], bubbles: true }));
    }"""
    with lived(tmp_path) as (_, url), tab(browser, url, viewport=phone, has_touch=True, is_mobile=True) as page:
        bubble, variant = (
            page.locator(f"{LAST}:not([aria-busy]) .side.char .bubble"),
            page.locator(f"{LAST}.done .variant"),
        )
        bubble.evaluate(swipe, 20)
        bubble.evaluate(swipe, 90)  # There is none before it.
        bubble.evaluate(swipe, -90)
        expect(variant).to_have_text("2/2")
        bubble.evaluate(swipe, 90)
        expect(variant).to_have_text("1/2")
        bubble.evaluate(swipe, -90)
        expect(variant).to_have_text("2/2")


def test_a_long_talk_puts_no_stops_before_the_box(home: Home, browser: Browser) -> None:
    with home.open(silent()) as house, running(house) as url, tab(browser, url) as page:
        for number in range(150):
            house.agent().record(f"第{number}句话", "嗯。", home.clock.advance(minutes=1))
        house.agent().finish()
        box, said = page.locator("#box"), page.locator("#said article")
        page.reload()
        expect(box).to_be_focused()
        for _ in range(4):  # Four pages more of it.
            there = said.count()
            page.locator("#talk").evaluate("one => { one.scrollTop = 0; }")
            expect(said.nth(there)).to_be_attached()
        stops = """() => [...document.querySelectorAll("#talk :is(button, summary, a, pre, [tabindex])")]
            .filter((one) => one.tabIndex >= 0 && one.offsetParent).length"""
        assert said.count() > 60 and page.evaluate(stops) < 12
        page.locator("#skip").evaluate("one => one.focus()")
        expect(page.locator("#skip")).to_be_visible()
        page.keyboard.press("Enter")
        expect(box).to_be_focused()
        page.locator("#talk").focus()
        reach(page, box)
        page.keyboard.press("Shift+Tab")
        expect(said.last.locator(":focus")).to_have_count(1)
