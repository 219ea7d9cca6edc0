"""What a character knows of me, and since when, in a real browser: each wish in as few actions as docs/memory.md counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from moechat.access.login import Language
from moechat.model import Fact, FactDraft
from moechat.store.formats import derived_id
from moechat.web import running
from moechat.web.words import Words
from tests.browser import ask, first_start, tab
from tests.houses import Home, silent
from tests.web.test_browser_wishes import BOTH, LOCALES, SIZES, Person, counted, reach

SAID: dict[Language, tuple[str, ...]] = {
    "zh": (
        "我住在杭州", "我讨厌香菜", "6月3日要去里斯本", "别再提我前夫", "2019年7月15日我在青岛看海", "以后我们管加班叫打怪吧",
        "我的生日是8月3日", "我爷爷上周去世了",
    ),
    "en": (
        "I live in Porto", "I hate coriander", "I'm flying to Lisbon on June 3rd", "Never mention my ex",
        "I saw the sea in Brest on 15 July 2019", "Let's call Mondays swamp days from now on", "My birthday is August 3rd",
        "My grandad died last week",
    ),
}  # fmt: skip
PARTS: dict[Language, tuple[str, ...]] = {
    "zh": ("杭州", "香菜", "里斯本", "前夫", "青岛", "打怪", "8月3日"),
    "en": ("Porto", "coriander", "Lisbon", "my ex", "Brest", "swamp days", "3"),
}
MATTER: dict[Language, str] = {"zh": "爷爷", "en": "grandad"}
PAGE: dict[Language, str] = {"zh": "今天聊到了海。", "en": "We spoke of the sea today."}
LIGHTS = pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
pytestmark = pytest.mark.browser


@BOTH
@SIZES
@LIGHTS
def test_what_is_known_of_me_is_ended_or_corrected_in_three_actions(
    tmp_path: Path, browser: Browser, language: Language, size: dict[str, Any], scheme: Any
) -> None:
    home, words = Home.build(tmp_path, character={"language": language}), Words(language)
    home_of, food, trip, ex, sea, shared, birthday = PARTS[language]
    with (
        home.open(silent()) as house,
        running(house) as url,
        tab(browser, url, locale=LOCALES[language], color_scheme=scheme, **size) as page,
    ):
        for text in SAID[language]:
            ask(page, text)
        agent = house.agent()
        agent.finish()
        with agent.store.writing():  # A page of her diary.
            page_of = FactDraft(
                PAGE[language], (agent.recent(1)[0].exchange.id,), "daybook", "character", "daybook", "2025-05-20"
            )
            agent.store.findings.put([Fact(derived_id(page_of.text, page_of.sources), agent.now(), page_of)])
        me, note = Person(page, words), page.locator("#room .note-line")
        sentence = page.locator("#room .sentence")

        me.tap(page.locator("#doors [data-room=memories]"))
        for part in PARTS[language]:  # What was said a moment ago is there.
            expect(sentence.filter(has_text=part).first).to_be_visible()
        since = {"zh": "5月20日起", "en": "since 20 May"}[language]
        expect(sentence.filter(has_text=food)).to_contain_text(since)
        year = {"zh": "2019年7月15日", "en": "15 Jul 2019"}[language]
        expect(sentence.filter(has_text=sea)).to_contain_text(year)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["viewport"]["width"]
        me.has("what is known of me")

        me.tap(sentence.filter(has_text=food))
        me.write(page.locator("#room textarea"), {"zh": "我讨厌大葱", "en": "I hate leeks"}[language])
        me.tap(me.button("save", "#room"))
        expect(sentence.filter(has_text={"zh": "大葱", "en": "leeks"}[language])).to_be_visible()
        me.has("correct what is known")

        me.tap(sentence.filter(has_text=home_of).first)
        expect(page.locator("#room textarea")).to_have_value(re.compile(home_of))
        me.tap(me.button("end_fact", "#room"))
        expect(note).to_have_text(words("done_end"))
        me.has("say that it holds no longer")
        expect(sentence.filter(has_text={"zh": "不再如此", "en": "No longer so"}[language])).to_have_count(0)
        before = page.locator("details.letter", has_text=words("letter_ended"))
        me.tap(before.locator("summary"))
        expect(before.locator(".sentence", has_text=home_of)).to_be_visible()
        me.has("how it was before")

        me.tap(sentence.filter(has_text=trip).first)
        me.tap(me.button("end_plan", "#room"))
        expect(sentence.filter(has_text=trip)).to_have_count(0)
        me.has("settle a plan")

        me.tap(sentence.filter(has_text=ex))
        me.tap(me.button("end_boundary", "#room"))
        expect(sentence.filter(has_text=ex)).to_have_count(0)
        assert house.agent().layers.core.view().boundaries == []
        me.has("lift a boundary")
        page.locator("#room [data-do=undo]").click()
        expect(sentence.filter(has_text=ex)).to_have_count(1)

        ours = page.locator("section.letter", has_text=words("letter_ours", name=house.agent().character.name))
        days = page.locator("section.letter", has_text=words("letter_days"))
        expect(days.locator(".sentence", has_text=birthday)).to_be_visible()
        diary = page.locator("details.letter", has_text=words("letter_daybook", name=agent.character.name))
        weighs = page.locator("details.letter", has_text=words("letter_matters"))
        for part, text, seen, changed, ended, ending in (
            (days, birthday, "", "correct a day", "end a day", ["end_fact"]),
            (ours, shared, "", "correct what only the two have", "end what only the two have", ["end_fact"]),
            (weighs, MATTER[language], "what weighs on me", "correct what weighs", "say that it is over", ["end_matter"]),
            (diary, PAGE[language], "her diary", "correct a page", "put a page away", ["forget", "archive"]),
        ):  # fmt: skip
            if seen:
                me.tap(part.locator("summary"))
                me.has(seen)
            me.tap(part.locator(".sentence", has_text=text))
            expect(part.locator("textarea")).to_be_visible()
            me.write(part.locator("textarea"), f"{part.locator('textarea').input_value()} ☆")
            me.tap(me.button("save", "#room"))
            expect(page.locator("#room textarea")).to_have_count(0)
            expect(part.locator(".sentence", has_text="☆")).to_be_visible()
            me.has(changed)
            again = part.locator(".sentence", has_text="☆")
            again.click()  # It stays open when it is saved; from here on it is ended as if it had not been.
            expect(page.locator("#room .memory-open")).to_have_count(0)
            if not again.is_visible():
                part.locator("summary").click()
            me.tap(again)
            expect(part.locator("textarea")).to_be_visible()
            for key in ending:  # Among the chips of the room stands another "Archive".
                me.tap(me.button(key, "#room .memory-open"))
            expect(part).to_have_count(0)
            me.has(ended)

        me.tap(page.locator("#room .one-day").last)
        expect(page.locator("#room input[name=when]")).to_have_value("2025-05-20")
        me.has("what there is of a day")
        page.locator("#room .chip[data-value=letter]").click()

        me.tap(sentence.filter(has_text={"zh": "大葱", "en": "leeks"}[language]))
        me.tap(me.button("forget", "#room"))
        me.tap(me.button("forget_yes", "#room"))
        expect(me.button("forget_now", "#room")).to_be_visible()
        me.has("forget for good")
        me.button("forget_now", "#room").click()
        expect(sentence.filter(has_text={"zh": "大葱", "en": "leeks"}[language])).to_have_count(0)
        wanted = counted()
        assert {wish: (n, wanted.get(wish)) for wish, n in me.table.items() if wanted.get(wish) != n} == {}
        assert max(me.table.values()) <= 3


@BOTH
def test_the_first_thing_is_remembered_in_another_talk_after_five_actions(
    tmp_path: Path, browser: Browser, language: Language
) -> None:
    words = Words(language)
    with first_start(tmp_path) as (_, url), tab(browser, url, locale=LOCALES[language], guided=False) as page:
        me = Person(page, words)
        expect(page.locator("#guide h1")).to_be_visible()
        me.tap(page.locator("#guide [data-do=guide-end]"))
        me.actions += 1
        ask(page, {"zh": "我讨厌香菜", "en": "I hate coriander"}[language])
        me.tap(page.locator("#talks [data-do=new-talk]"))
        me.tap(me.button("talk_begin"))
        expect(page.locator("#said .side.user")).to_have_count(0)
        me.actions += 1
        reply = ask(page, {"zh": "我讨厌吃什么？", "en": "What do I hate?"}[language])
        assert {"zh": "香菜", "en": "coriander"}[language] in reply
        assert me.actions == counted()["from an empty folder to the first thing remembered in another talk"] <= 5


def test_the_keyboard_alone_leads_from_the_guide_to_a_corrected_memory(tmp_path: Path, browser: Browser) -> None:
    with first_start(tmp_path) as (house, url), tab(browser, url, guided=False) as page:
        guide, keys = page.locator("#guide"), page.keyboard
        expect(guide.get_by_role("button", name="中文")).to_be_focused()
        keys.press("Enter")
        expect(guide.locator("[name=called]")).to_be_focused()
        keys.type("小雨")
        keys.press("Enter")  # to the characters
        expect(guide.locator(".character[aria-pressed=true]")).to_be_focused()
        keys.press("Enter")
        expect(guide.locator("[name=base_url]")).to_be_focused()
        reach(page, guide.locator("[data-do=guide-end]"))
        keys.press("Enter")
        expect(page.locator("#box")).to_be_focused()
        keys.type("我讨厌香菜")
        keys.press("Enter")
        expect(page.locator("#said .exchange.done .side.char .bubble")).to_be_visible()
        reach(page, page.locator("#doors [data-room=memories]"))
        keys.press("Enter")
        sentence = page.locator("#room .sentence", has_text="香菜")
        sentence.wait_for()
        reach(page, sentence)
        keys.press("Enter")
        expect(page.locator("#room textarea")).to_be_focused()
        keys.press("Control+A")
        keys.type("我讨厌大葱")
        reach(page, page.locator("#room .memory-open [type=submit]"))
        keys.press("Enter")
        expect(page.locator("#room .sentence", has_text="大葱")).to_be_visible()
        assert house.agent().character.user_name == "小雨"
