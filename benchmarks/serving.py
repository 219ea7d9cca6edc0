"""What a server costs: requests a second with one, fifty and five hundred owners, and two hundred replies at once.

    python benchmarks/serving.py            # some minutes
    python benchmarks/serving.py --seconds 3 --streams 50

The model is a script that answers at once, or takes as long as a slow one; so all of it is our own time, the embedding
(a deterministic stand-in) included. Figures are of this machine at this hour: compare them with each other.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import Line, ScriptedModel
from moechat.house import House
from moechat.model import Message
from moechat.serve import server

CHARACTER, WORKERS = "青禾", 8


class Pause(threading.Event):
    """An event that is looked at once a second: two hundred who look a hundred times a second would be all that is measured."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(1.0)


@dataclass
class SlowAfter:
    """A script: quick replies, and slow ones to those who ask for a story, which end when ``enough`` is set."""

    enough: threading.Event

    def __call__(self, messages: Sequence[Message]) -> str | Line:
        if "故事" in messages[-1].content:
            return Line("从前，" * 10, hold=self.enough, then="完。")
        return "好的。"


@contextmanager
def serving(script: SlowAfter) -> Iterator[tuple[House, str]]:
    with tempfile.TemporaryDirectory(prefix="moechat-serving-") as folder:
        data, config = Path(folder) / "data", Path(folder) / "config.yaml"
        model = ScriptedModel(script, understands=False)
        with House(data, config, model=model, embedder=HashEmbedder(64)) as house, server.running(house) as url:
            house.ready()
            yield house, url


def say(client: httpx.Client, url: str, user: str, text: str) -> float:
    """How long a turn takes, in ms."""
    body = {"model": CHARACTER, "user": user, "messages": [{"role": "user", "content": text}]}
    begun = time.perf_counter()
    client.post(f"{url}/v1/chat/completions", json=body, headers={"x-moechat-chat": "load"}).raise_for_status()
    return (time.perf_counter() - begun) * 1000


def recall(client: httpx.Client, url: str, user: str) -> float:
    body = {"text": "我的猫叫什么", "character": CHARACTER, "user": user}
    begun = time.perf_counter()
    client.post(f"{url}/recall", json=body).raise_for_status()
    return (time.perf_counter() - begun) * 1000


def tail(times: Sequence[float]) -> str:
    ordered = sorted(times)
    return f"p50 {statistics.median(ordered):.0f} ms, p99 {ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)]:.0f} ms"


def owners(url: str, count: int, seconds: float) -> str:
    """Turns and recalls in equal parts, by ``WORKERS`` clients, for a number of owners whose memory is there."""
    users = [f"owner{at}" for at in range(count)]
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda user: say(client, url, user, "我养了一只叫团子的猫"), users))
        turns, recalls = list[float](), list[float]()
        numbers, until = itertools.count(), time.perf_counter() + seconds

        def work(_: int) -> None:
            while time.perf_counter() < until:
                at = next(numbers)
                user = users[at // 2 % count]
                (recalls if at % 2 else turns).append(
                    recall(client, url, user) if at % 2 else say(client, url, user, f"第{at}件事是去散步")
                )

        begun = time.perf_counter()
        list(pool.map(work, range(WORKERS)))
        rate = (len(turns) + len(recalls)) / (time.perf_counter() - begun)
    return f"{count} owners: {rate:.1f} requests/s; turn {tail(turns)}; recall {tail(recalls)}"


def streams(script: SlowAfter, url: str, count: int, seconds: float) -> str:
    """So many replies under way at once, each for so many seconds, and recall meanwhile."""
    threads, before = threading.active_count(), memory_mb()
    begun = threading.Barrier(count + 1)

    def listen(at: int) -> bool:
        body = {
            "model": CHARACTER,
            "user": f"owner{at}",
            "stream": True,
            "messages": [{"role": "user", "content": "讲个故事"}],
        }
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=300) as answer:
            lines = answer.iter_lines()
            next(line for line in lines if "从前" in line)
            begun.wait(300)
            return any("[DONE]" in line for line in lines)

    with ThreadPoolExecutor(count) as pool, httpx.Client(timeout=60) as client:
        replies = [pool.submit(listen, at) for at in range(count)]
        begun.wait(300)
        at_once, used = threading.active_count() - threads - count, memory_mb() - before
        first, recalls = time.perf_counter(), list[float]()
        while time.perf_counter() < first + seconds:
            recalls.append(recall(client, url, "owner0"))
        script.enough.set()
        whole = sum(reply.result() for reply in replies)
        lasted = time.perf_counter() - first
    return (
        f"{count} replies at once for {lasted:.0f} s: {whole} ended well; {at_once} threads more, {used:.0f} MB more; "
        f"recall meanwhile {tail(recalls)} ({len(recalls)})"
    )


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--owners", type=int, nargs="+", default=[1, 50, 500])
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--reply-seconds", type=float, default=20, help="so long the replies are under way at once")
    args = parser.parse_args()
    script = SlowAfter(Pause())
    with serving(script) as (_, url):
        for count in args.owners:
            sys.stdout.write(owners(url, count, args.seconds) + "\n")
            sys.stdout.flush()
        sys.stdout.write(streams(script, url, args.streams, args.reply_seconds) + "\n")


if __name__ == "__main__":
    main()
