# ruff: noqa: T201
"""Random kills of the program as people start it, while five clients talk with it: what was lost, doubled or crossed.

    python -m benchmarks.kills web      [--kills 150] [--seed 1]     five tabs of the page, over files
    python -m benchmarks.kills serve    [--kills 150]                five users of /v1, over PostgreSQL

Each client says one numbered thing after another. Of the page a message counts as told once the talk shows its whole reply; of
/v1 once the stream has ended, and what broke off is sent again with the same key to the program that is started next. The
process is killed after a random time of its own CPU since it listens, so that a busy machine kills at the same moments; at the
end every memory is opened and counted. Each is forked from one that has imported the program and nothing else, which saves half
of a start; a long run may go in parts, each with its seed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import psutil

from moechat.cli.main import main as command
from moechat.house import House
from tests.houses import CHARACTER, Home
from tests.model_server import ModelServer, Say
from tests.pg_server import served

CLIENTS, PATIENCE_S, LOOK_S, LONGEST_CPU_S = 5, 60.0, 0.4, 8.0
FORKS = multiprocessing.get_context("forkserver")
THINGS = ("去爬了山", "买了一盆薄荷", "看完一部老电影", "学会了做豆腐", "和邻居下了棋", "把自行车修好了")


def reply(body: dict[str, Any]) -> Say:
    """A reply that names the message, in many pieces."""
    numbers = re.findall(r"\d+号", json.dumps(body["messages"][-1], ensure_ascii=False))
    return Say(f"听见了，{'嗯，' * 30}{numbers[-1] if numbers else ''}记住了。", piece_chars=2)


@dataclass
class Client:
    """One who talks: what was told, and what had been begun when the program was killed."""

    number: int
    said: int = 0
    told: list[str] = field(default_factory=list)
    open_ends: list[str] = field(default_factory=list)

    def next_text(self) -> str:
        self.said += 1
        number = self.said * CLIENTS + self.number
        return f"{number}号：今天{THINGS[number % len(THINGS)]}"


def by_page(client: Client, url: str, over: threading.Event) -> None:
    place = {"character": CHARACTER, "talk": f"tab {client.number}", "tab": f"tab{client.number}", "language": "zh"}
    headers = {"origin": url, "content-type": "application/json"}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as http:

        def ask(verb: str, **more: Any) -> dict[str, Any]:
            answer = http.post(f"/page/do/{verb}", json={**place, **more})
            answer.raise_for_status()
            return dict(answer.json())

        while not over.is_set():
            text = client.next_text()
            client.open_ends.append(text)
            if ask("say", text=text).get("bad"):  # The one before it is still answered.
                client.open_ends.remove(text)
                time.sleep(LOOK_S)
                continue
            whole = f"{text.partition('号')[0]}号记住了。"
            while whole not in json.dumps(ask("open"), ensure_ascii=False):
                time.sleep(LOOK_S)
            client.told.append(text)
            client.open_ends.remove(text)


def over_http(client: Client, url: str, over: threading.Event) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as http:
        while not over.is_set():
            text = client.open_ends[-1] if client.open_ends else client.next_text()
            client.open_ends = [text]
            body = {"model": CHARACTER, "stream": True, "user": f"u{client.number}"}
            headers = {"x-moechat-chat": "kills", "idempotency-key": text.partition("号")[0]}
            messages = [{"role": "user", "content": text}]
            path = "/v1/chat/completions"
            with http.stream("POST", path, json={**body, "messages": messages}, headers=headers) as answer:
                answer.raise_for_status()
                whole = any("[DONE]" in line for line in answer.iter_lines())
            if whole:
                client.told.append(text)
                client.open_ends = []


DOORS = {"web": by_page, "serve": over_http}


def program(words: list[str], out: Connection) -> None:
    """Be the program, in a process and a group of its own."""
    os.setsid()
    sys.stdout = sys.stderr = os.fdopen(os.dup(out.fileno()), "w", buffering=1, encoding="utf-8")
    sys.exit(command(words))


@contextmanager
def started(door: str, home: Home) -> Iterator[tuple[int, str]]:
    """(process, address) of the program; killed when the block is left."""
    words = [door, "--port", "0", *(["--no-browser"] if door == "web" else [])]
    lines, out = FORKS.Pipe(duplex=False)
    words += ["--data", str(home.data), "--config", str(home.config)]
    process = FORKS.Process(target=program, args=(words, out), daemon=True)
    process.start()
    out.close()
    output = os.fdopen(os.dup(lines.fileno()), encoding="utf-8", errors="replace")
    told = []
    try:
        for line in output:
            told.append(line)
            if address := re.search(r"http://[\w.:]+", line):
                threading.Thread(target=output.read, daemon=True).start()
                assert process.pid is not None
                yield process.pid, address[0]
                return
        raise SystemExit(f"it did not start: {''.join(told)}")
    finally:
        process.kill()
        process.join(PATIENCE_S)


def spent(pid: int) -> float:
    """Seconds of CPU that a process has taken."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def killed(door: str, home: Home, clients: list[Client], chance: random.Random) -> None:
    with started(door, home) as (pid, url):
        over = threading.Event()

        def talk(client: Client) -> None:
            with suppress(httpx.HTTPError):  # It was killed.
                DOORS[door](client, url, over)

        threads = [threading.Thread(target=talk, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        until = spent(pid) + chance.uniform(0.05, LONGEST_CPU_S)
        while spent(pid) < until:
            time.sleep(0.01)
        os.killpg(pid, signal.SIGKILL)
        over.set()
        for thread in threads:
            thread.join(PATIENCE_S)


def counted(door: str, home: Home, clients: list[Client]) -> dict[str, Any]:
    """What stands, beside what was told."""
    users = [f"u{client.number}" for client in clients] if door == "serve" else [""]
    standing, replies, crossed, problems = Counter[str](), Counter[str](), 0, 0
    with House(home.data, home.config, looks=True) as house:
        for user in users:
            with house.lent(CHARACTER, user) as agent:
                for node in agent.store.tree.nodes.values():
                    number = node.user.partition("号")[0]
                    standing[node.user] += 1
                    replies[node.user] += any(f"{number}号记住了。" in variant.char for variant in node.variants)
                    client = int(number) % CLIENTS
                    owner = f"u{client}" if door == "serve" else f"tab {client}"
                    crossed += owner != (user if door == "serve" else node.talk)
                problems += len(agent.verify()["problems"])
    told = [text for client in clients for text in client.told]
    return {
        "told": len(told),
        "lost": sum(not standing[text] or not replies[text] for text in told),
        "doubled": sum(count > 1 for count in standing.values()),
        "crossed": crossed,
        "problems": problems,
        "broken_off_and_kept": sum(standing[text] for client in clients for text in client.open_ends),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("door", choices=DOORS)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    FORKS.set_forkserver_preload(["gradio", "moechat.agent", "moechat.serve.server", "moechat.web.page_server"])
    chance, clients = random.Random(args.seed), [Client(number) for number in range(CLIENTS)]
    with tempfile.TemporaryDirectory(prefix="moechat-kills-") as place, ModelServer(reply) as model:
        home = Home.build(Path(place))
        talk_with_model = {"base_url": model.url, "model": "tiny"}
        if args.door == "web":
            home.configure(chat=talk_with_model)
            print(json.dumps(run(args, home, clients, chance)))
            return
        with served(Path(tempfile.mkdtemp(prefix="moechat-kills-pg-"))) as (address, _):
            home.configure(chat=talk_with_model, store={"kind": "postgres", "address": address})
            print(json.dumps(run(args, home, clients, chance)))


def run(args: argparse.Namespace, home: Home, clients: list[Client], chance: random.Random) -> dict[str, Any]:
    for number in range(1, args.kills + 1):
        killed(args.door, home, clients, chance)
        if number % 10 == 0:
            print(f"{number} kills, {sum(len(client.told) for client in clients)} told", file=sys.stderr, flush=True)
    return {"door": args.door, "kills": args.kills, "seed": args.seed} | counted(args.door, home, clients)


if __name__ == "__main__":
    main()
