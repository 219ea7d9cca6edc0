"""The studio in a real browser, tried as a new user would: what is dropped on the page, talk with it, and what is taken along."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from moechat.cards import container, png
from moechat.house import House
from moechat.house.studio import MAX_FILE_BYTES
from moechat.web import running
from tests.browser import LAST, ask, first_start, tab, unfold
from tests.cards.cards import V2, V3, world
from tests.houses import Home, silent

pytestmark = pytest.mark.browser

EVIL = '<img src=x onerror="window.pwned=1">'
ENTRY = {"key": ["渡口"], "content": "渡口在东岸，夜里有灯。", "comment": "渡口"}
DROP = """async (files) => {
  const transfer = new DataTransfer();
  for (const [name, data] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name));
  }
  for (const kind of ["dragover", "drop"]) {
    document.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""

DROP_EMPTY = """([name, size]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([new Uint8Array(size)], name));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with Home.build(tmp_path_factory.mktemp("studio")).open(silent()) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(house: House) -> Iterator[str]:
    with running(house) as address:
        yield address


def drop(page: Page, *files: tuple[str, bytes]) -> Locator:
    """Drop files anywhere on the page; what they hold is shown."""
    page.evaluate(DROP, [[name, base64.b64encode(data).decode()] for name, data in files])
    page.locator("#room .tray").wait_for()
    return page.locator("#room .tray")


def kept(page: Page, button: str) -> bytes:
    """The file that a button gives."""
    with page.expect_download() as download:
        page.locator("#room").get_by_role("button", name=button, exact=True).click()
    return Path(download.value.path()).read_bytes()


@contextmanager
def at_most(steps: int) -> Iterator[list[str]]:
    """The steps of a person, each named as it is taken; they are as many as the document says."""
    taken: list[str] = []
    yield taken
    assert len(taken) == steps, taken


def test_a_press_that_is_under_way_while_the_room_is_drawn_is_heard(browser: Browser, url: str) -> None:
    held: list[Route] = []
    with tab(browser, url) as page:
        room, doors = page.locator("#room"), page.locator("#doors")
        doors.locator("[data-room=studio]").click()
        along = room.get_by_role("button", name="带走")
        along.wait_for()
        doors.locator("[data-room=chat]").click()
        page.route("**/page/do/room", lambda route: held.append(route), times=1)
        with page.expect_request("**/page/do/room"):
            doors.locator("[data-room=studio]").click()
        along.hover()
        page.mouse.down()
        with page.expect_response("**/page/do/room"):
            held[0].continue_()
        page.evaluate(
            "fetch('/page/manifest.webmanifest').then((answer) => answer.text())"
        )  # Then that answer was used.
        page.mouse.up()
        room.get_by_role("button", name="角色和记忆", exact=True).wait_for()


def test_a_dropped_card_is_talked_with_its_world_book_fires_and_its_archive_brings_it_back(
    browser: Browser, house: House, url: str
) -> None:
    card = json.loads(json.dumps(V2))
    card["data"] |= {"name": "潮", "first_mes": f"你来了，{{{{user}}}}。{EVIL}", "character_book": None}
    with tab(browser, url, accept_downloads=True) as page:
        with at_most(3) as steps:
            tray = drop(page, ("潮.png", container.written("png", card, picture=png.plain("潮"))))
            steps.append("drop the card")
            expect(tray).to_contain_text(f"你来了，{{{{user}}}}。{EVIL}")
            expect(tray.locator("img")).to_have_js_property("naturalWidth", 256)
            assert house.characters() == ["小满"], "nothing is written yet"
            tray.get_by_role("button", name="带进来，开聊").click()
            steps.append("bring it in and talk")
            expect(page.locator("#said .greeting")).to_contain_text("你来了，用户。")
            ask(page, "我住在杭州，养了一只橘猫叫团子")
            steps.append("say something")
        assert page.evaluate("window.pwned") is None

        with at_most(3) as steps:
            drop(page, ("设定.json", json.dumps(world(ENTRY)).encode()))
            steps.append("drop the world book")
            page.locator("#room .tray").get_by_role("button", name="带进来，开聊").click()
            steps.append("bring it in and talk")
            ask(page, "我们去渡口吧")
            steps.append("name one of its keys")
        assert "夜里有灯" in unfold(page)

        room = page.locator("#room")
        with at_most(7) as steps:
            page.locator("#doors [data-room=studio]").click()
            room.get_by_role("button", name="带走").click()
            archive = kept(page, "角色和记忆")
            steps += ["studio", "take along", "character and memory"]
            room.get_by_role("button", name="删除…").click()
            room.get_by_role("button", name="放进回收站").click()
            expect(page.locator("#characters")).not_to_contain_text("潮")
            steps += ["delete", "to the bin"]
            tray = drop(page, ("潮.zip", archive))
            steps.append("drop the archive")
            expect(tray).to_contain_text("带着记忆")
            tray.get_by_role("button", name="带进来，开聊").click()
            steps.append("bring it in and talk")
        expect(page.locator(f"{LAST} .side.user")).to_contain_text("我们去渡口吧")
        assert "团子" in ask(page, "我的猫叫什么") or "团子" in unfold(page)
        page.locator("#doors [data-room=studio]").click()
        room.get_by_role("button", name="回收站（1）").click()
        room.get_by_role("button", name="彻底抹去…").click()
        room.get_by_role("button", name="永远抹去").click()
        expect(room.locator(".note-line")).to_have_text("抹去了。")
        assert house.characters() == ["小满", "潮"]


def test_at_the_first_start_a_dropped_card_takes_the_place_of_the_guide(tmp_path: Path, browser: Browser) -> None:
    card = container.written("png", V2, picture=png.plain("潮"))
    with (
        first_start(tmp_path) as (_, url),
        tab(browser, url, locale="en-GB", guided=False) as page,
        at_most(3) as steps,
    ):
        expect(page.locator("#guide h1")).to_be_visible()
        tray = drop(page, ("card.png", card))
        steps.append("drop the card")
        tray.get_by_role("button", name="Bring it in and talk").click()
        steps.append("bring it in and talk")
        expect(page.locator("#title h1")).to_have_text(V2["data"]["name"])
        assert ask(page, "Hello there")
        steps.append("say something")


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("zh-CN", "潮.zip 太大了，最多 64 MB。更大的存档用命令带进来（moechat import 文件），聊天记录请分成几份。"),
        (
            "en-GB",
            "潮.zip is too large: 64 MB at most. A larger archive comes by command (moechat import FILE); split talk into parts.",
        ),
    ],
)
def test_a_file_that_is_too_large_is_refused_with_the_command_that_takes_it(
    browser: Browser, url: str, locale: str, said: str
) -> None:
    with tab(browser, url, locale=locale, refused=[413]) as page:
        page.evaluate(DROP_EMPTY, ["潮.zip", MAX_FILE_BYTES + 1])
        expect(page.locator("#drop")).to_have_text(said)


def test_a_tavern_folder_is_mended_on_a_phone_in_english(browser: Browser, house: House, url: str) -> None:
    phone = {"width": 390, "height": 780}
    talk = b'{"user_name":"Ann","character_name":"Tide"}\n{"name":"Ann","is_user":true,"send_date":1700000000000,"mes":"Hi."}\n'
    with tab(browser, url, locale="en-GB", color_scheme="dark", viewport=phone) as page:
        room = page.locator("#room")
        tray = drop(
            page, ("d/characters/Tide.png", container.written("png", V3, picture=png.plain("Tide"))), ("d/settings.json", b"{}"),
            ("d/chats/Tide/1.jsonl", talk), ("d/characters/broken.png", png.plain("x")[:60]),
        )  # fmt: skip
        expect(tray.locator(".brought-file")).to_have_count(4)
        expect(tray).to_contain_text("Left: who you are (1: d/settings.json)")
        expect(tray).to_contain_text("broken.png: the picture is cut off")
        expect(tray).to_contain_text("Kept, but not obeyed")
        tray.get_by_role("button", name="Bring it in", exact=True).click()
        expect(room.locator(".note-line")).to_have_text("Brought in: Tide, 1.")
        expect(room.locator(".who-is h2")).to_contain_text("Ti")
        expect(room.get_by_label("Scenario")).to_be_hidden()
        room.get_by_label("Persona", exact=True).fill("{{char}} mends lamps.")
        room.get_by_role("button", name="Save").click()
        expect(room.locator(".note-line")).to_contain_text("Saved")
        assert house.studio.values("Tide")["persona"] == "{{char}} mends lamps."
        room.get_by_role("button", name="World book", exact=True).click()
        room.locator(".memory-head", has_text="lamp").click()
        room.get_by_role("button", name="Edit").click()
        expect(room.locator(".further .field").first).to_be_hidden()
        room.get_by_text("More (5 in use)").click()
        room.get_by_label("Probability, %").fill("lots")
        room.get_by_role("button", name="Save").click()
        expect(room.get_by_role("alert")).to_contain_text("“Probability, %” is not right: 0 to 100")
        page.keyboard.press("Escape")
        room.get_by_role("button", name="Files").click()
        room.get_by_role("button", name="character.yaml").click()
        page.locator("#room:not([aria-busy])").wait_for()
        room.get_by_label("The file character.yaml").fill("persona: [")
        room.get_by_role("button", name="Save").click()
        expect(room.get_by_role("alert")).to_contain_text("character.yaml, line 2")
        expect(room.get_by_label("The file character.yaml")).to_have_value("persona: [")
        room.get_by_label("Say something").fill("the bell")
        room.get_by_role("button", name="Try", exact=True).click()
        expect(room.locator(".fires")).to_contain_text("bell · “bell” was said")
        expect(room.locator(".trace summary")).to_contain_text("The exact prompt")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_past_that_is_dropped_is_opened_and_gone_on_with(browser: Browser, house: House, url: str) -> None:
    chat = "31/12/2023, 21:16 - Zoe: 我在厦门\n31/12/2023, 21:17 - Bob: 那里暖和\n"
    with tab(browser, url) as page:
        with at_most(3) as steps:
            tray = drop(page, ("Chat with Bob.txt", chat.encode()), ("x.bin", b"\x00\x01"))
            steps.append("drop the files")
            expect(tray).to_contain_text("2023-12-31 到 2023-12-31")
            expect(tray).to_contain_text("看起来你是「Zoe」")
            expect(tray.locator(".forms")).to_contain_text("微信聊天的文字")
            tray.get_by_role("button", name="带进来，开聊").click()
            steps.append("accept the guess: bring it in and talk")
            expect(page.locator("#said")).to_contain_text("那里暖和")
            expect(page.locator("#said")).to_contain_text("2023年12月31日")
            ask(page, "后来呢")
            steps.append("go on")
        assert [one.exchange.user for one in house.agent("小满").in_talk("Chat with Bob").path.recent(9)] == [
            "我在厦门",
            "后来呢",
        ]
