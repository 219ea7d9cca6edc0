# ruff: noqa: T201
"""Many users over several PostgreSQL servers with ``fsync`` on, each behind a PgBouncer by transaction; one server is killed in
the middle (SIGKILL, all its processes) and brought back.

    python -m benchmarks.many_servers --users 200 --turns 100

Whole turns over HTTP by two workers, with a scripted model. A client who gets an error asks again with the same
``Idempotency-Key``, after its other users. At the end the memories are read and counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import httpx
import psutil
import psycopg

from benchmarks.workers import TEXTS, counted
from moechat.clock import SystemClock
from moechat.serve import server
from moechat.settings import config as settings
from tests.houses import CHARACTER, Home, silent
from tests.pg_server import kill, pooled, served

NAMES = ("home", "b", "c")
HURT = 1  # This one of them is killed.
OUTAGE_S = 10.0
TIMEOUT_S = 2.0
PATIENCE_S = 120.0  # A request.
POLL_S = 0.2
POOL, WAITS_S = 8, 3  # Of each PgBouncer.
OWNERS = 'SELECT "user" FROM owners'
Answer = dict[str, Any]


def work(folder: Path) -> None:
    """A worker: it tells its address, and serves until its input ends."""
    home = Home(folder / "data", folder / "config.yaml", SystemClock(None))  # type: ignore[arg-type]
    with home.open(silent()) as house, server.running(house) as url:
        print(url, flush=True)
        sys.stdin.read()


@contextmanager
def worker(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    program = [sys.executable, "-m", "benchmarks.many_servers", "--work", str(folder)]
    with Popen(
        program, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True
    ) as process:  # The pools complain of what is away.
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url, "the worker did not start"
        yield url, psutil.Process(process.pid)
        process.communicate(timeout=PATIENCE_S)


class Spent:
    """CPU seconds of processes and of all below them, looked at now and then: who has ended counts as last seen."""

    def __init__(self, *roots: psutil.Process) -> None:
        self.roots, self._seen = list(roots), dict[int, float]()

    def look(self) -> float:
        for root in self.roots:
            try:
                for one in (root, *root.children(recursive=True)):
                    times = one.cpu_times()
                    self._seen[one.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return sum(self._seen.values())


class Clients(threading.Thread):
    """Some of the users, who take turns; each waits for an answer before it says the next thing."""

    def __init__(
        self, urls: Sequence[str], users: Sequence[int], count: int, turns: int, answers: list[Answer]
    ) -> None:
        super().__init__()
        self._urls, self._count, self._turns, self._answers = urls, count, turns, answers
        self._next = deque((user, 0) for user in users)
        self.is_over = False

    def run(self) -> None:
        with httpx.Client(timeout=PATIENCE_S) as client:
            while self._next and not self.is_over:
                user, turn = self._next.popleft()
                number = turn * self._count + user
                begun = time.perf_counter()
                status, words = self._ask(client, user, number)
                took_ms = 1000 * (time.perf_counter() - begun)
                answer = {
                    "user": f"u{user}",
                    "number": number,
                    "at": time.perf_counter(),
                    "ms": took_ms,
                    "status": status,
                }
                self._answers.append(answer | {"words": words})
                turn += status == 200
                if turn < self._turns:
                    self._next.append((user, turn))

    def _ask(self, client: httpx.Client, user: int, number: int) -> tuple[int, str]:
        body = {
            "model": CHARACTER,
            "messages": [{"role": "user", "content": f"{number}号：{TEXTS[number % len(TEXTS)]}"}],
        }
        headers = {"X-MoeChat-User": f"u{user}", "Idempotency-Key": str(number)}
        try:
            url = self._urls[user % len(self._urls)]
            answer = client.post(f"{url}/v1/chat/completions", json=body, headers=headers)
        except httpx.HTTPError as error:
            return 0, repr(error)
        return answer.status_code, "" if answer.status_code == 200 else answer.text


def trips(poolers: Sequence[str]) -> int:
    """Whoever goes to the server, by PgBouncer's own count."""
    total = 0
    for where in poolers:
        with psycopg.connect(where, dbname="pgbouncer", autocommit=True) as connection:
            cursor = connection.execute("SHOW STATS")
            columns = [column.name for column in cursor.description or ()]
            total += sum(int(dict(zip(columns, row, strict=True))["total_query_count"]) for row in cursor)
    return total


def run(home: Home, places: Sequence[tuple[str, Any]], poolers: Sequence[str], args: argparse.Namespace) -> Answer:
    """The load, and what it came to."""
    answers: list[Answer] = []
    with ExitStack() as last:
        each = [last.enter_context(worker(home.data.parent)) for _ in range(args.workers)]
        database = Spent(*(psutil.Process(one.get_pid()) for _, one in places))
        workers = Spent(*(process for _, process in each))
        before, cpu, worker_cpu = trips(poolers), database.look(), workers.look()
        users = [range(args.users)[number :: args.clients] for number in range(args.clients)]
        crew = [Clients([url for url, _ in each], some, args.users, args.turns, answers) for some in users]
        begun = time.perf_counter()

        def wait(share: float, least_s: float = 0.0) -> None:
            least = time.perf_counter() + least_s
            while any(one.is_alive() for one in crew):
                done, now = sum(one["status"] == 200 for one in answers), time.perf_counter()
                if now > least and (done >= share * args.users * args.turns or now - begun > share * 60 * args.minutes):
                    break
                time.sleep(POLL_S)
                database.look()
                workers.look()

        for one in crew:
            one.start()
        wait(1 / 2)
        hurt = places[HURT][1]
        with psycopg.connect(hurt.get_uri()) as connection:
            hers = {user for (user,) in connection.execute(OWNERS).fetchall()}
        killed_at = time.perf_counter()
        kill(hurt)
        wait(0, OUTAGE_S)
        hurt.ensure_postgres_running()
        database.roots.append(psutil.Process(hurt.get_pid()))
        back_at = time.perf_counter()
        wait(1)
        for one in crew:
            one.is_over = True
        for one in crew:
            one.join()
        seconds = time.perf_counter() - begun
        done = [one for one in answers if one["status"] == 200]
        costs = {"trips": trips(poolers) - before, "cpu_ms_of_the_database": 1000 * (database.look() - cpu),
                 "cpu_ms_of_the_workers": 1000 * (workers.look() - worker_cpu)}  # fmt: skip
    away = [one for one in answers if killed_at < one["at"] < back_at]
    others = [one for one in away if one["user"] not in hers]
    usual = [one["ms"] for one in done if not killed_at < one["at"] < back_at + TIMEOUT_S]
    failed = [one for one in answers if one["status"] != 200]
    report: Answer = {
        "turns": len(done), "per_s": len(done) / seconds, **times(usual, "usual"), "owners_of_the_killed": len(hers),
        "while_away_s": back_at - killed_at, "others_while_away": len(others), **times([one["ms"] for one in others], "others"),
        "errors": Counter((one["status"], "hers" if one["user"] in hers else "others") for one in failed).most_common(),
        "words": Counter(one["words"][:160] for one in failed).most_common(4),
        **{f"{name}_a_turn": value / max(1, len(done)) for name, value in costs.items()},
    }  # fmt: skip
    told_again = Counter[Any]()  # By its key what is asked again is the same turn.
    report |= counted(home.data.parent, args.users, done, told_again)
    report["unanswered_and_twice"] = report.pop("asked_again_and_twice")
    return report


def times(all_ms: Sequence[float], name: str) -> Answer:
    if len(all_ms) < 2:
        return {}
    parts = statistics.quantiles(all_ms, n=100)
    return {f"{name}_p{share}_ms": round(parts[share - 1], 1) for share in (50, 95, 99)}


def measured(args: argparse.Namespace) -> Answer:
    with ExitStack() as last:
        base = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="moechat-load-")))
        base.chmod(0o755)
        places = [last.enter_context(served(base / name, is_quick=False)) for name in NAMES]
        poolers = [last.enter_context(pooled(address, size=POOL, waits_s=WAITS_S)) for address, _ in places]
        home = Home.build(base / "house")
        where = [{"address": pooler, "direct": direct} for pooler, (direct, _) in zip(poolers, places, strict=True)]
        store = {"kind": "postgres", **where[0], "servers": dict(zip(NAMES[1:], where[1:], strict=True))}
        options = {"name_each_time": True, "new_owners": "emptiest", "timeout_s": TIMEOUT_S, "connections": POOL}
        home.configure(store=store | options, owners={"open": 1000})
        settings.load(home.config)
        report = run(home, places, poolers, args)
        spread = {}
        for name, (_, one) in zip(NAMES, places, strict=True):
            with psycopg.connect(one.get_uri()) as connection:
                spread[name] = connection.execute(OWNERS).rowcount
                [(report["fsync"],)] = connection.execute("SHOW fsync").fetchall()
        return report | {"owners": spread}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=8, help="so many ask at once")
    parser.add_argument("--minutes", type=float, default=30.0, help="no turn is begun after these")
    parser.add_argument("--work", type=Path, help="what the program starts itself with")
    args = parser.parse_args()
    if args.work:
        work(args.work)
        return
    report = measured(args)
    print(
        json.dumps(
            {name: round(one, 1) if isinstance(one, float) else one for name, one in report.items()}, ensure_ascii=False
        )
    )


if __name__ == "__main__":
    main()
