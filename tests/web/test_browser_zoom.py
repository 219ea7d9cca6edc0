"""At 200 %: a window of 1440 points has room for 720 there. Nothing is cut off or covered, and everything can be tapped."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from moechat.web import running
from tests.browser import ask, tab
from tests.groups import NAMES, build, nth
from tests.houses import silent
from tests.rooms import lived
from tests.web.test_browser_wishes import TWICE

pytestmark = pytest.mark.browser
FAULTS = """() => {
  const tapped = 'button, a[href], input, select, textarea, summary', read = 'h1, h2, h3, label, .bubble, .hint';
  const name = (one) => one ? `${one.tagName} ${one.dataset.do || one.name || one.className} ${one.textContent.trim()}` : '-';
  const wrong = [], say = (one, what) => wrong.push(`${name(one).slice(0, 60)}: ${what}`);
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('the page is wider than the window');
  const open = document.querySelector('#sheet:not([hidden])') || document.querySelector('#frame');
  for (const one of open.querySelectorAll(`${tapped}, ${read}`)) {
    if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || one.disabled || one.id === 'skip') continue;
    one.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    if (box.width < 2 || box.height < 2) continue;
    if (box.left < -1 || box.right > innerWidth + 1) say(one, 'beyond the side');
    if (style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis' && one.scrollWidth > one.clientWidth + 1)
      say(one, 'cut off');
    if (!one.matches(tapped)) continue;
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (!top || !(one.contains(top) || top.contains(one) || one.closest('label')?.contains(top)))
      say(one, `covered by ${name(top).slice(0, 60)}`);
  }
  return wrong;
}"""


@pytest.mark.parametrize("locale", ["zh-CN", pytest.param("en-GB", marks=pytest.mark.slow)])
def test_at_twice_the_size_nothing_is_cut_off_or_covered(tmp_path: Path, browser: Browser, locale: str) -> None:
    faults: dict[str, list[str]] = {}
    with (
        build(tmp_path).open(silent(nth)) as house,
        running(house) as url,
        tab(browser, url, locale=locale, **TWICE) as page,
    ):
        lived(house.agent(NAMES[0]))
        page.locator(f'#characters [data-name="{NAMES[0]}"]').evaluate("one => one.click()")

        def look(name: str, there: Page = page) -> None:
            faults[name] = there.evaluate(FAULTS)

        ask(page, "我讨厌吃什么")
        page.locator("details.memories > summary").last.click()
        look("chat")
        sheet = page.locator("#sheet")
        openers = {"talks": ".which-talk", "find": "#title [data-do=find]", "one-talk": "#title [data-do=one-talk]"}
        for name, opener in openers.items():
            page.locator(opener).click()
            sheet.locator("button, input").first.wait_for()
            look(name)
            page.keyboard.press("Escape")
            expect(sheet).to_be_hidden()
        for room in page.locator("#doors [data-room]").evaluate_all("all => all.map(one => one.dataset.room)"):
            page.locator(f"#doors [data-room={room}]").click()
            page.locator("#talk" if room == "chat" else f"#room .room.{room}").wait_for()
            look(room)
        page.locator("#doors [data-room=chat]").click()
        page.locator(".which-talk").click()
        page.locator("[data-do=new-talk]:visible").click()
        sheet.get_by_label(NAMES[1]).check()
        look("new-talk")
        sheet.locator("[type=submit]").click()
        expect(page.locator("#title h1")).to_contain_text(NAMES[1])
        page.locator("#title [data-do=one-talk]").click()
        sheet.locator("[name=person]").fill("小周")
        sheet.locator("[name=act][value=user], [data-act=user]").first.click()
        expect(sheet.locator(".company")).to_contain_text("小周")
        look("company")
    assert {name: wrong for name, wrong in faults.items() if wrong} == {}
