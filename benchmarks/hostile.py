"""What ten who send hostile texts cost another who talks with the same server.

    python benchmarks/hostile.py [--others 10] [--turns 100] [--kb 64]

The texts are those of ``tests.fuzz.growth``: pieces that make a pattern begin everywhere and end nowhere. They come from a
process of their own, each sender one after the other without a pause. Prints a turn of the other without them, and with them.
"""

# ruff: noqa: T201, E402  (a script that finds the checkout first, and prints)
from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import httpx

from benchmarks.serving import CHARACTER, Pause, SlowAfter, say, serving, tail
from tests.fuzz.growth import KB, texts


def flood(url: str, others: int, kb: int) -> None:
    """Send hostile texts until the standard input ends; prints how many were answered, by status."""
    over, statuses, chosen = threading.Event(), list[int](), itertools.cycle(texts(60))
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()

    def send(number: int) -> None:
        with httpx.Client(timeout=300) as client:
            while not over.is_set():
                message = {"role": "user", "content": next(chosen).of(kb * KB).replace("\0", "")}
                body = {"model": CHARACTER, "user": f"hostile{number}", "messages": [message]}
                answer = client.post(f"{url}/v1/chat/completions", json=body, headers={"x-moechat-chat": "load"})
                statuses.append(answer.status_code)

    with ThreadPoolExecutor(others) as pool:
        list(pool.map(send, range(others)))
    print(json.dumps({status: statuses.count(status) for status in set(statuses)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", type=int, default=10)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--kb", type=int, default=64)
    parser.add_argument("--flood", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.flood:
        flood(args.flood, args.others, args.kb)
        return
    command = [sys.executable, __file__, "--others", str(args.others), "--kb", str(args.kb), "--flood"]
    with serving(SlowAfter(Pause())) as (_, url), httpx.Client(timeout=300) as client:
        for number in range(10):
            say(client, url, "owner0", f"第{number}天去散步")
        print(
            f"a turn alone: {tail([say(client, url, 'owner0', f'第{at}天去散步') for at in range(args.turns)])}",
            flush=True,
        )
        with subprocess.Popen(
            [*command, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        ) as others:
            for number in range(10):  # Meanwhile they begin.
                say(client, url, "owner0", f"第{number}天去游泳")
            beside = [say(client, url, "owner0", f"第{at}天去爬山") for at in range(args.turns)]
            print(f"beside {args.others} who send {args.kb} KB: {tail(beside)}", flush=True)
            print(f"their answers: {others.communicate('')[0]}")


if __name__ == "__main__":
    main()
