"""The page in a real browser, against the real server, as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Browser, expect

from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError
from moechat.house import House
from moechat.web import running
from tests.browser import ask, open_tab, say, tab, unfold
from tests.houses import SELDOM_S
from tests.model_server import ModelServer

pytestmark = pytest.mark.browser

DAY = "2025-05-21T15:00:00+08:00"
PATIENT = "recall: {deadline_ms: 20000}\n"  # a busy machine is no fault
EVIL = (
    '<img src=x onerror="window.pwned=1"> [点我](javascript:window.pwned=1) $\\latex$ <script>window.pwned=1</script>'
)


@contextmanager
def served(data: Path, *, now: str = DAY, **house: object) -> Iterator[str]:
    """The address of the page over this data folder; the house is closed, whatever happens."""
    config = data.parent / "config.yaml"
    if not config.exists():
        config.write_text(PATIENT, encoding="utf-8")
    with House(data, config, now=now, tick_s=SELDOM_S, **house) as opened, running(opened) as url:  # type: ignore[arg-type]
        yield url


@contextmanager
def scripted(data: Path, *replies: str | Line | ModelError) -> Iterator[str]:
    write(data, "青禾", "name: 青禾\nlanguage: zh\ngreeting: 来啦。\n")
    model = ScriptedModel(replies, answers=lambda _: "{}", understands=False)
    with served(data, model=model, embedder=HashEmbedder()) as url:
        yield url


def write(data: Path, character: str, text: str) -> None:
    folder = data / "agents" / character
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "character.yaml").write_text(text, encoding="utf-8")


def test_what_was_said_is_found_again_after_a_reload_and_after_a_month(tmp_path: Path, browser: Browser) -> None:
    data = tmp_path / "data"  # not there yet: the packaged characters are copied
    with served(data) as url, tab(browser, url) as page:
        expect(page.locator("#said .greeting")).to_be_visible()
        ask(page, "我住在杭州，昨天和室友吃了火锅，我讨厌香菜")
        expect(page.locator("#said .exchange:last-of-type .note.span")).to_contain_text("昨天 → 2025年5月20日 周二")

        open_tab(page, url)
        expect(page.locator("#said .exchange:last-of-type .side.user .bubble")).to_have_text(
            "我住在杭州，昨天和室友吃了火锅，我讨厌香菜"
        )
        assert "火锅" in ask(page, "昨天我们吃了什么")
        grounds = unfold(page)
        assert "对话中" in grounds
        assert "昨天和室友吃了火锅" in grounds
        assert "香菜" in ask(page, "我讨厌吃什么")
        assert "香菜" in unfold(page)

    with served(data, now="2025-06-21T15:00:00+08:00") as url, tab(browser, url) as page:
        assert "火锅" in ask(page, "5月20日我们吃了什么")
        expect(page.locator("#said .exchange:last-of-type .note.span")).to_contain_text("5月20日 → 2025年5月20日 周二")
        unfold(page)
        expect(page.locator("#said .exchange:last-of-type .kind.diary")).to_contain_text("昨天和室友吃了火锅")
        expect(page.locator("#said .exchange:last-of-type .kind.diary")).to_contain_text("5月20日")
        assert "香菜" in ask(page, "我讨厌吃什么")
        unfold(page)
        expect(page.locator("#said .exchange:last-of-type .kind.core")).to_contain_text("香菜")
        ask(page, "半舟是什么地方")
        unfold(page)
        expect(page.locator("#said .exchange:last-of-type .kind.lore")).to_contain_text("半舟")


def test_nothing_that_was_written_becomes_markup(data: Path, browser: Browser) -> None:
    write(data, "歹", f"name: '<b>歹</b>'\nlanguage: zh\ngreeting: '{EVIL}'\n")
    (data / "agents" / "歹" / "data_base").mkdir()
    (data / "agents" / "歹" / "data_base" / "a.yaml").write_text(f"陷阱: '{EVIL}'\n", encoding="utf-8")
    model = ScriptedModel([f"好：{EVIL}", f"看：{EVIL}"], understands=False)
    with served(data, model=model, embedder=HashEmbedder()) as url, tab(browser, url) as page:
        for text in (EVIL, f"陷阱 {EVIL}"):
            assert EVIL in ask(page, text)
        assert EVIL in unfold(page)
        open_tab(page, url)
        expect(page.locator("#title h1")).to_have_text("<b>歹</b>")
        expect(page.locator("#said .exchange:last-of-type .side.user .bubble")).to_have_text(f"陷阱 {EVIL}")
        assert page.locator("#main img, #main script, #main a, #main .katex, #main b").count() == 0
        assert page.evaluate("window.pwned") is None


def test_a_stopped_reply_stays_and_another_can_be_had(data: Path, browser: Browser) -> None:
    held, broken = Line("我想想，说到这里", hold=Event()), ModelError("broken_off", "连接中途断开")
    with scripted(data, held, "换一种说法。", broken, Line("从前", fails=broken)) as url, tab(browser, url) as page:
        say(page, "讲个故事")
        expect(page.locator("#said .streaming:last-of-type .char .bubble")).to_contain_text("说到这里")
        page.locator("#stop").click()
        expect(page.locator("#said .exchange.stopped:last-of-type .char .bubble")).to_have_text("我想想，说到这里")
        expect(page.locator("#said .exchange:last-of-type .note.stopped")).to_contain_text("已停止")

        page.locator("#said .exchange:last-of-type .acts [data-do=again]").click()
        expect(page.locator("#said .exchange.done:last-of-type .side.char .bubble")).to_have_text("换一种说法。")
        expect(page.locator("#said .exchange:last-of-type .variant")).to_have_text("2/2")
        page.locator(
            "#said .exchange:last-of-type .acts [data-do=again]"
        ).click()  # fails: the reply that was there stays
        expect(page.locator("#notice .notice")).to_contain_text("连接中途断开")
        expect(page.locator("#said .exchange:last-of-type .side.char .bubble")).to_have_text("换一种说法。")

        say(page, "再讲一个")
        expect(page.locator("#said .exchange.failed:last-of-type .bubble")).to_have_text(["再讲一个", "从前"])
        expect(page.locator("#said .exchange:last-of-type .note.failed")).to_contain_text("没有说完 · 连接中途断开")
        expect(page.locator("#send")).to_be_visible()


def test_a_reply_goes_on_through_reloads_and_tabs_follow_each_other(data: Path, browser: Browser) -> None:
    held = Line("慢慢", hold=Event(), then="说完了。")
    write(data, "Wren", "name: Wren\nlanguage: en\ngreeting: Come in.\n")
    with scripted(data, held, "第二句。", "第三句。") as url, tab(browser, url) as one:
        two = open_tab(one.context.new_page(), url)
        one.locator("#box").fill("你好")
        two.locator("#box").fill("插一句")
        one.locator("#box").press("Enter")
        for page in (one, two):
            expect(page.locator("#said .streaming .char .bubble")).to_contain_text("慢慢")
        two.locator("#box").press("Enter")
        expect(two.locator("#note")).to_contain_text("还在回答")
        expect(two.locator("#box")).to_have_value("插一句")

        open_tab(one, url)
        expect(one.locator("#said .streaming .char .bubble")).to_contain_text("慢慢")
        one.locator("#characters button", has_text="Wren").click()
        expect(one.locator("#said .greeting")).to_contain_text("Come in.")
        expect(one.locator("#said .exchange[data-id]")).to_have_count(0)
        one.locator("#characters button", has_text="青禾").click()
        expect(one.locator("#said .streaming .char .bubble")).to_contain_text("慢慢")
        assert held.hold is not None
        held.hold.set()
        for page in (one, two):
            expect(page.locator("#said .exchange.done .side.char .bubble").last).to_have_text("慢慢说完了。")

        two.locator("#box").press("Enter")
        for page in (one, two):
            expect(page.locator("#said .exchange.done .side.char .bubble").last).to_have_text("第二句。")
            expect(page.locator("#said .side.user .bubble")).to_have_text(["你好", "插一句"])
        assert ask(one, "再来") == "第三句。"
        expect(two.locator("#said .side.user .bubble")).to_have_text(["你好", "插一句", "再来"])


def test_earlier_talk_comes_on_the_way_up_and_words_are_found_in_it(data: Path, browser: Browser) -> None:
    (data.parent / "config.yaml").write_text(PATIENT + "web: {shown_messages: 4}\n", encoding="utf-8")
    small = {"width": 900, "height": 420}
    with scripted(data, *(f"回{n}\n\n" * 4 for n in range(9))) as url, tab(browser, url, viewport=small) as page:
        for n in range(9):
            ask(page, f"问{n}")
        open_tab(page, url)
        said = page.locator("#said .side.user .bubble")
        expect(said).to_have_text(["问7", "问8"])
        page.locator("#talk").evaluate("talk => talk.scrollTo(0, 0)")
        expect(said).to_have_text(["问5", "问6", "问7", "问8"])
        assert page.locator("#talk").evaluate("talk => talk.scrollTop") > 0  # what was in view stays there
        page.locator("#title [data-do=find]").click()
        page.locator("#sheet input").fill("问1")
        page.locator("#sheet .hit", has_text="问1").click()
        expect(page.locator("#said .exchange:focus .side.user .bubble")).to_have_text("问1")
        page.locator("#newest").click()
        expect(said).to_have_text(["问7", "问8"])


def test_the_connection_panel_says_what_is_wrong_and_keeps_the_key_to_itself(data: Path, browser: Browser) -> None:
    write(data, "青禾", "name: 青禾\nlanguage: zh\n")
    key = "sk-only-for-this-run"
    with (
        ModelServer(["ok", "我连上了。"], key=key, models=("tiny",)) as server,
        served(data, embedder=HashEmbedder()) as url,
        tab(browser, url) as page,
    ):
        page.get_by_role("button", name="未连接模型").click()
        outcome = page.locator("#room .standing")
        expect(outcome).to_contain_text("还没试过")
        page.get_by_label("接口地址").fill("http://127.0.0.1:9/v1")
        page.get_by_label("模型", exact=True).fill("tiny")
        page.get_by_role("button", name="测试").click()
        expect(outcome).to_contain_text("没连上。 连不上 http://127.0.0.1:9/v1")
        page.get_by_label("接口地址").fill(server.url)
        page.get_by_role("button", name="测试").click()
        expect(outcome).to_contain_text("不接受这个密钥")
        page.get_by_label("密钥").fill(key)
        page.locator("#connection").get_by_role("button", name="保存").click()  # saving tests
        expect(outcome).to_contain_text("连接正常")
        expect(page.get_by_label("密钥")).to_have_value("")
        page.locator("#doors [data-room=chat]").click()
        expect(page.locator("#title .badge.online")).to_contain_text("tiny")
        assert ask(page, "在吗") == "我连上了。"
        open_tab(page, url, at="#settings")
        expect(page.get_by_label("接口地址")).to_have_value(server.url)
        assert key not in page.content()
        assert key not in page.request.get(f"{url}/config").text()
    assert key not in (data.parent / "config.yaml").read_text(encoding="utf-8")


def test_the_page_speaks_english_follows_the_system_and_fits_a_phone(data: Path, browser: Browser) -> None:
    write(data, "Moss", "name: Moss\nlanguage: en\ngreeting: Hello there.\n")
    write(data, "Wren", "name: Wren\nlanguage: en\ngreeting: Come in.\n")
    phone = {"width": 390, "height": 780}
    with (
        served(data, embedder=HashEmbedder()) as url,
        tab(browser, url, locale="en-GB", color_scheme="dark", viewport=phone) as page,
    ):
        expect(page.locator("#send")).to_have_text("Send")
        assert page.evaluate("document.body.classList.contains('dark')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.locator(".which-talk").click()
        page.locator("#sheet button", has_text="Wren").click()
        expect(page.locator("#title h1")).to_have_text("Wren")
        expect(page.locator("#said .greeting")).to_contain_text("Come in.")
        page.locator("#doors [data-room=settings]").click()
        page.locator("#room [data-do=theme]").click()
        assert not page.evaluate("document.body.classList.contains('dark')")
        page.locator("#room [data-do=language]").click()
        expect(page.locator("#send")).to_have_text("发送")
        open_tab(page, url)  # the choices are kept by the browser
        expect(page.locator("#title h1")).to_have_text("Wren")
        expect(page.locator("#send")).to_have_text("发送")
        assert not page.evaluate("document.body.classList.contains('dark')")


def test_a_broken_file_is_named_and_the_talk_goes_on(data: Path, browser: Browser) -> None:
    book = data / "agents" / "青禾" / "data_base"
    book.mkdir(parents=True)
    (book / "broken.yaml").write_text("茶馆: 半舟\n  歪: 了\n", encoding="utf-8")
    with scripted(data, "在的。", "又一句。") as url, tab(browser, url) as page:
        expect(page.locator(".problems")).to_contain_text("broken.yaml 第 2 行")
        page.locator("#box").fill("在吗")
        page.locator("#box").press("Enter")
        page.locator("#box").press("Enter")  # twice in haste: once is enough
        expect(page.locator("#said .exchange.done:last-of-type .side.char .bubble")).to_have_text("在的。")
