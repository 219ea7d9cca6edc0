"""What many talks cost the page: first paint, opening a talk, and a search over all, beside a memory of a few messages.

    python benchmarks/many_talks.py [--talks 200] [--messages 10000] [--runs 7]

Two houses, one with 50 messages in two talks, are opened by one Chromium in turn. Prints the medians in milliseconds and the
larger over the smaller. The wait of the search field (250 ms) is in both.
"""

# ruff: noqa: T201, E402  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page

from moechat.web import running
from tests.browser import chromium
from tests.houses import Home, silent

LINES = ("今天去公园走了走", "晚上做了番茄面", "看完一本旧书", "下班路上下雨了", "和同事聊了会儿天")
NEEDLE = "青岛的海"


@contextmanager
def served(folder: Path, talks: int, messages: int) -> Iterator[str]:
    home = Home.build(folder)
    with home.open(silent()) as house:
        agent, begun = house.agent(), time.perf_counter()
        for number in range(messages // 2):
            text = f"第{number}句：{LINES[number % len(LINES)]}" + (f"，想起{NEEDLE}" if number % 17 == 0 else "")
            id_ = agent.store.log.begin(
                text, home.clock.advance(minutes=7), talk=f"talk {number % talks}" if number % talks else ""
            )
            agent.store.log.finish(id_, "嗯，我在听。", "done")
        agent.finish()
        print(f"{messages} messages in {talks} talks: made in {time.perf_counter() - begun:.0f} s", flush=True)
        with running(house) as url:
            yield url


def timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - begun)


def visit(browser: Browser, url: str) -> dict[str, float]:
    """One visit by a browser that has seen nothing yet."""
    context = browser.new_context(locale="zh-CN", viewport={"width": 1440, "height": 860})
    context.add_init_script("if (location.protocol !== 'about:') localStorage['moechat.guided'] = 'true'")
    page: Page = context.new_page()
    page.set_default_timeout(60_000)

    def opened() -> None:
        page.goto(url)
        page.locator("#talks .talk-name").nth(1).wait_for()
        page.locator("#said article").first.wait_for()

    def talk() -> None:
        page.locator("#talks .talk-name[aria-current=false]:not(.new)").first.click()
        page.locator("#said article[data-id]").first.wait_for()

    def search() -> None:
        page.locator("#sheet input").fill(NEEDLE)
        page.locator("#sheet .hit").first.wait_for()

    times = {"first paint": timed(opened), "opening a talk": timed(talk)}
    page.locator("#title [data-do=find]").click()
    page.locator("#sheet .talk-name").first.wait_for()
    times["search over all"] = timed(search)
    context.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talks", type=int, default=200)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many, chromium() as browser,
        served(Path(few), 2, 50) as small, served(Path(many), args.talks, args.messages) as large,
    ):  # fmt: skip
        rows: dict[str, list[dict[str, float]]] = {small: [], large: []}
        for run in range(args.runs + 1):
            for url, times in rows.items():
                one = visit(browser, url)
                if run:  # The first warms up.
                    times.append(one)
        for name in rows[small][0]:
            medians = [statistics.median(one[name] for one in rows[url]) for url in (small, large)]
            print(f"{name}: {medians[0]:.0f} → {medians[1]:.0f} ms, {medians[1] / medians[0]:.2f} ×")


if __name__ == "__main__":
    main()
