"""The page over a long talk beside a short one, in a real Chromium: first paint, a streamed reply, a flip, scrolling back.

    python benchmarks/long_talk.py [--messages 50 10000]

Milliseconds as a person waits for them (wall clock, medians of ``TIMES``). The talk is made up, the model a script.
"""

# ruff: noqa: T201  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, Page, expect

from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.house import House
from moechat.web import running
from tests.browser import LAST, ask, chromium, open_tab, tab

TIMES = 5
CHARACTER = "青禾"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
REPLY = "好啊，慢慢说，我在听呢。" * 3


def talk(folder: Path, messages: int) -> House:
    """A house with a talk of so many messages, half of them replies."""
    character = folder / "data" / "agents" / CHARACTER
    character.mkdir(parents=True)
    (character / "character.yaml").write_text(f"name: {CHARACTER}\nlanguage: zh\n", encoding="utf-8")
    (folder / "config.yaml").write_text(f"Agent: {{char: {CHARACTER}}}\nweb: {{shown_messages: 8}}\n", encoding="utf-8")
    clock = SetClock(BEGIN)
    house = House(
        folder / "data", folder / "config.yaml", clock=clock, embedder=HashEmbedder(),
        model=ScriptedModel(lambda _: REPLY, understands=False),
    )  # fmt: skip
    agent = house.agent()
    for number in range(messages // 2):
        clock.at = BEGIN + timedelta(minutes=20 * number)
        id_ = agent.store.log.begin(f"第{number}件事：今天路过桥头，买了一袋橘子。", clock.at)
        agent.store.log.finish(id_, REPLY, "done")
    agent.finish()
    agent.settle_indexes()
    return house


def median_ms(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return 1000 * statistics.median(taken)


def measured(browser: Browser, url: str) -> dict[str, float]:
    with tab(browser, url) as page:
        shown = page.locator("#said .exchange")

        def paint() -> None:
            open_tab(page, url)
            shown.last.wait_for()

        def flip() -> None:
            last = page.locator(f"{LAST} .variant")
            before = last.inner_text()
            page.get_by_role("button", name="上一个" if before.startswith("2") else "下一个").click()
            expect(last).not_to_have_text(before)

        def back() -> None:
            there = shown.count()
            page.locator("#talk").evaluate("talk => talk.scrollTo(0, 0)")
            page.wait_for_function(f"document.querySelectorAll('#said .exchange').length > {there}")

        figures = {"first paint": median_ms(paint), "a reply": median_ms(lambda: ask(page, "今天过得怎么样？"))}
        again(page)
        return figures | {"a flip": median_ms(flip), "scrolling back": median_ms(back)}


def again(page: Page) -> None:
    """A second reply to the last message."""
    page.locator(LAST).hover()
    page.locator(LAST).get_by_role("button", name="换个回答", exact=True).click()
    expect(page.locator(f"{LAST} .variant")).to_have_text("2/2")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--messages", type=int, nargs="+", default=[50, 10_000])
    with chromium() as browser:
        for messages in parser.parse_args().messages:
            with tempfile.TemporaryDirectory() as folder, talk(Path(folder), messages) as house, running(house) as url:
                print(
                    f"{messages:6} messages:", ", ".join(f"{n} {ms:.0f} ms" for n, ms in measured(browser, url).items())
                )


if __name__ == "__main__":
    main()
