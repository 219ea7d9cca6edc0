# ruff: noqa: T201
"""Several workers on one database: whole turns of many users with a scripted model, one worker killed in the middle, the
database restarted once; then everything is counted. Files with one worker for comparison.

    python benchmarks/workers.py --users 200 --turns 20000

A client that got no answer asks again, as clients do: such a turn may stand twice (the first one unanswered or unheard), and
is counted apart. What was answered stands once. After ``--minutes`` for each kind of store no more turns are given out, and
what was done until then is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

from moechat.errors import MoeChatError
from tests.houses import CHARACTER, Home, say
from tests.pg_server import restart, served

TEXTS = ("我喜欢绿茶", "今天去了西湖", "我的猫叫团子", "昨天我说了什么？", "明天要开会", "我住在杭州", "团子怎么样了？")


def work(folder: Path) -> None:
    """A worker: one line in, one turn, one line out."""
    home = Home(folder / "data", folder / "config.yaml", Home.build(folder / str(os.getpid())).clock)
    with home.open() as house:
        print("ready", flush=True)
        for line in sys.stdin:
            user, number = line.split()
            begun, cpu = time.perf_counter(), time.process_time()
            try:
                with house.lent(CHARACTER, user) as agent:
                    home.clock.advance(minutes=1)
                    agent.conversation.follow()
                    say(agent, f"{number}号：{TEXTS[int(number) % len(TEXTS)]}")
                answer: dict[str, Any] = {"ms": 1000 * (time.perf_counter() - begun), "cpu": time.process_time() - cpu}
            except (MoeChatError, OSError) as error:
                answer = {"error": str(error)[:200]}
            print(json.dumps({"user": user, "number": int(number)} | answer, ensure_ascii=False), flush=True)


class Worker:
    """A process, and the thread that gives it turns, one after another."""

    def __init__(self, folder: Path, turns: deque[tuple[str, int]], answers: list[dict[str, Any]]) -> None:
        program = [sys.executable, __file__, "--work", str(folder)]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._turns, self._answers = turns, answers
        self.thread = threading.Thread(target=self._run)
        self.lost: list[tuple[str, int]] = []

    def _run(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdout.readline()
        while self._turns:
            turn = self._turns.popleft()
            try:
                self.process.stdin.write(f"{turn[0]} {turn[1]}\n")
                answer = json.loads(self.process.stdout.readline())
            except (OSError, ValueError):  # it was killed
                self.lost.append(turn)
                return
            if "error" in answer:
                self.lost.append(turn)
                self._turns.appendleft(turn)
            self._answers.append(answer)
        self.process.stdin.close()


def run(
    folder: Path, workers: int, users: int, turns: int, most_s: float, server: Any
) -> tuple[dict[str, Any], list[Any], Counter[Any]]:
    queues = [deque[tuple[str, int]]() for _ in range(workers)]  # a user is routed to one worker
    for number in range(turns):
        queues[number % users % workers].append((f"u{number % users}", number))
    answers: list[dict[str, Any]] = []
    crew = [Worker(folder, queue, answers) for queue in queues]
    begun = time.perf_counter()
    for worker in crew:
        worker.thread.start()

    def wait(share: float) -> None:
        """Until so much of all turns is done, or of the time."""
        while sum("ms" in one for one in answers) < share * turns and time.perf_counter() - begun < share * most_s:
            if not any(worker.thread.is_alive() for worker in crew):
                break
            time.sleep(0.2)

    all_alive = {}
    if server is not None:
        wait(1 / 3)
        all_alive["per_s_before_the_kill"] = round(len(answers) / (time.perf_counter() - begun), 1)
        crew[0].process.kill()
        crew[0].thread.join()
        queues[1].extend([*crew[0].lost, *queues[0]])
        queues[0].clear()
        wait(2 / 3)
        restart(server)
    wait(1)
    for queue in queues:
        queue.clear()
    for worker in crew:
        worker.thread.join()
        worker.process.wait()
    seconds = time.perf_counter() - begun
    told_again = Counter(turn for worker in crew for turn in worker.lost)
    done = [one for one in answers if "ms" in one]
    times = statistics.quantiles([one["ms"] for one in done], n=100)
    report = {
        "workers": workers, "turns": len(done), "errors": len(answers) - len(done), "per_s": round(len(done) / seconds, 1),
        "p50_ms": round(times[49], 1), "p95_ms": round(times[94], 1), "p99_ms": round(times[98], 1),
        "cpu_ms": round(1000 * statistics.mean(one["cpu"] for one in done), 1),
    }  # fmt: skip
    return report | all_alive, done, told_again


def counted(folder: Path, users: int, done: list[Any], told_again: Counter[Any]) -> dict[str, int]:
    """What stands of it, beside what was answered."""
    home = Home(folder / "data", folder / "config.yaml", Home.build(folder / "count").clock)
    answered = Counter((one["user"], one["number"]) for one in done)
    standing: Counter[Any] = Counter()
    foreign = problems = 0
    with home.open(looks=True) as house:
        for user in (f"u{number}" for number in range(users)):
            with house.lent(CHARACTER, user) as agent:
                for node in agent.store.tree.nodes.values():
                    number = int(node.user.partition("号")[0])
                    standing[user, number] += 1
                    foreign += number % users != int(user[1:])
                problems += len(agent.verify()["problems"])
    lost = sum(1 for turn in answered if not standing[turn])
    doubled = sum(1 for turn, count in standing.items() if count > 1 and not told_again[turn])
    asked_again = sum(1 for turn in told_again if standing[turn] > 1)
    return {
        "lost": lost,
        "doubled": doubled,
        "asked_again_and_twice": asked_again,
        "foreign": foreign,
        "problems": problems,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--work", type=Path)
    args = parser.parse_args()
    if args.work:
        work(args.work)
        return
    with (
        tempfile.TemporaryDirectory() as name,
        served(Path(tempfile.mkdtemp(prefix="moechat-pg-"))) as (address, server),
    ):
        for kind, workers in (("files", 1), ("postgres", 2)):
            home = Home.build(Path(name) / kind)
            if kind == "postgres":
                home.configure(store={"kind": kind, "address": address})
            hurt = server if kind == "postgres" else None
            report, done, told_again = run(home.data.parent, workers, args.users, args.turns, 60 * args.minutes, hurt)
            report |= counted(home.data.parent, args.users, done, told_again)
            print(json.dumps({"store": kind} | report), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
