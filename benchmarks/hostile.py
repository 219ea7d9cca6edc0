"""What ten who send hostile texts cost another who talks with the same server.

    python benchmarks/hostile.py [--others 10] [--turns 100] [--kb 64]

The texts are those of ``tests.fuzz.growth``: pieces that make a pattern begin everywhere and end nowhere. They come from a
process of their own, each sender one after the other without a pause. Prints a turn of the other without them, and with them.
"""

# ruff: noqa: T201, E402  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import httpx

from benchmarks.serving import CHARACTER, Pause, SlowAfter, say, serving, tail
from tests.fuzz.growth import KB, texts


def flood(url: str, others: int, kb: int, begun: Any, over: Any, answers: Any) -> None:
    """Send hostile texts until it is ``over``; puts how many were answered, by status."""
    statuses, chosen = Counter[int](), itertools.cycle([*texts(60)])

    def send(number: int) -> None:
        with httpx.Client(timeout=300) as client:
            while not over.is_set():
                message = {"role": "user", "content": next(chosen).of(kb * KB).replace("\0", "")}
                body = {"model": CHARACTER, "user": f"hostile{number}", "messages": [message]}
                answer = client.post(f"{url}/v1/chat/completions", json=body, headers={"x-moechat-chat": "load"})
                statuses[answer.status_code] += 1

    begun.set()
    with ThreadPoolExecutor(others) as pool:
        list(pool.map(send, range(others)))
    answers.put(dict(statuses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", type=int, default=10)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--kb", type=int, default=64)
    args = parser.parse_args()
    own = multiprocessing.get_context("spawn")
    begun, over, answers = own.Event(), own.Event(), own.Queue()
    with serving(SlowAfter(Pause())) as (_, url), httpx.Client(timeout=300) as client:

        def turns(count: int, what: str) -> list[float]:
            return [say(client, url, "owner0", f"第{at}天去{what}") for at in range(count)]

        turns(10, "散步")
        print(f"a turn alone: {tail(turns(args.turns, '跑步'))}", flush=True)
        others = own.Process(target=flood, args=(url, args.others, args.kb, begun, over, answers), daemon=True)
        others.start()
        begun.wait(120)
        turns(10, "游泳")
        print(f"beside {args.others} who send {args.kb} KB: {tail(turns(args.turns, '爬山'))}", flush=True)
        over.set()
        print(f"their answers: {answers.get(timeout=300)}")


if __name__ == "__main__":
    main()
