"""The embedding model changes, the process is killed half-way through the new vectors, and the talk goes on.

An agent is opened with its own surroundings: embedders that count what they are asked and stop where a test wants them to.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from moechat.agent import Agent, Surroundings
from moechat.ai.embedding import HashEmbedder
from moechat.ai.precedence import Precedence
from moechat.clock import SetClock
from moechat.curation import upkeep
from moechat.errors import EmbeddingError
from moechat.jobs import EMBEDDED_AT_ONCE
from moechat.memory.diary_vectors import BATCH
from moechat.model import Exchange, Kind, Thresholds
from moechat.settings import config as settings
from moechat.settings.character import CharacterFile
from moechat.settings.home import defaults_folder
from moechat.store.files import FileStore
from moechat.worker import Crew
from tests.houses import SELDOM_S, ZONE, Home, moment, recalled, say, shown, silent

OLD, NEW = 64, 96
FIRST_DAY = "2024-01-01T08:00:00"
PATIENCE_S = 120.0


class CountingEmbedder(HashEmbedder):
    """Knows every text that it was asked for; ``calls`` to embed passages are let through, the next one waits.

    ``report`` is a file that gets a line for each text, for a process that is going to be killed.
    """

    def __init__(self, dim: int, *, calls: int = 1 << 30, report: Path | None = None) -> None:
        super().__init__(dim)
        self.thresholds = Thresholds(diary=dim / 1000, core=dim / 1000, lore=dim / 1000)
        self.passages: Counter[str] = Counter()
        self.queries: Counter[str] = Counter()
        self.report, self._calls = report, calls
        self._changed = threading.Condition()

    def let(self, calls: int) -> None:
        """Let so many further calls through."""
        with self._changed:
            self._calls += calls
            self._changed.notify_all()

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        with self._changed:
            if kind == "passage":
                assert self._changed.wait_for(lambda: self._calls > 0, PATIENCE_S)
                self._calls -= 1
            (self.queries if kind == "query" else self.passages).update(texts)
        if self.report is not None and kind == "passage":
            with open(self.report, "ab") as file:
                file.write("".join(f"{json.dumps(text, ensure_ascii=False)}\n" for text in texts).encode())
        return super().embed(texts, kind)


def gone(_: object) -> CountingEmbedder:
    raise EmbeddingError("the old model's files are gone")


@contextmanager
def opened(home: Home, new: CountingEmbedder, old: CountingEmbedder | None = None) -> Iterator[Agent]:
    """The agent with the embedder ``new``; ``old`` is what the manifest's settings load (None: they no longer do)."""
    config = settings.load(home.config)

    def load(told: dict[str, str]) -> CountingEmbedder:
        assert told == {"dim": str(OLD)}
        return old or gone(told)

    model = silent()
    with ThreadPoolExecutor(4) as pool, contextlib.closing(Crew(1, SELDOM_S)) as crew:
        around = Surroundings(
            home.clock, pool, crew, new, {"dim": str(new.dim)}, load, lambda: model, lambda: model, Precedence(),
            lambda: None, [defaults_folder() / "prompts"],
        )  # fmt: skip
        open_store = partial(FileStore, home.folder, clock=home.clock, zone=ZONE)
        agent = Agent(CharacterFile(home.folder, lambda: config, ""), open_store, around)
        try:
            yield agent
        finally:
            new.let(1 << 30)
            agent.close()


def memories(count: int) -> list[Exchange]:
    """So many exchanges, sixty a day, no two alike."""
    first = moment(FIRST_DAY)
    times = [first + timedelta(days=i // 60, minutes=i % 60) for i in range(count)]
    return [
        Exchange(at.strftime("%Y%m%d-%H%M%S"), at, f"第{i}天我吃了{i % 97}号店的{i}号面条", f"{i}号面条好吃吗？")
        for i, at in enumerate(times)
    ]


def home_with(folder: Path, count: int) -> Home:
    """A home whose ``count`` memories have the old model's vectors."""
    home = Home.build(folder, now="2026-06-01T12:00:00", recall={"deadline_ms": 60_000})
    store = home.store()
    store.days.add(memories(count))
    store.close()
    old = CountingEmbedder(OLD)
    with opened(home, old) as agent:
        agent.settle_indexes()
        assert agent.layers.diary.vectors.missing(agent.dense.spaces[-1]) == 0
        assert old.passages.total() == 2 * count
    return home


def texts_of(path: Path) -> Counter[str]:
    """The texts of a report that may be cut anywhere, even within a character, as another process is writing it."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return Counter(json.loads(line) for line in lines if line.endswith(b"\n"))


def fill_and_talk(data: Path, config: Path, at: datetime, loads: bool, said: Path, report: Path, calls: int) -> None:
    """The process that is killed: so many batches of the new model's vectors are made while somebody talks."""
    home = Home(data, config, SetClock(at))
    with opened(
        home, CountingEmbedder(NEW, report=report, calls=calls), CountingEmbedder(OLD) if loads else None
    ) as agent:
        for number in range(1_000_000):
            ended = say(agent, f"边等边说第{number}句")
            with open(said, "a", encoding="utf-8") as file:
                file.write(f"{ended.exchange.id}\n")
            home.clock.advance(minutes=1)
            time.sleep(0.05)


def kill_half_way(home: Home, folder: Path, half: int, *, loads: bool) -> list[str]:
    """Change the model, kill the process once ``half`` of the texts are embedded. Returns the exchanges it reported."""
    said, report = folder / "said", folder / "report"
    child = multiprocessing.get_context("spawn").Process(
        target=fill_and_talk,
        args=(home.data, home.config, home.clock.now(), loads, said, report, half // (2 * BATCH) + 6),
        daemon=True,
    )
    child.start()
    limit = time.monotonic() + 10 * PATIENCE_S
    while texts_of(report).total() < half or not said.exists():
        assert child.is_alive() and time.monotonic() < limit
        time.sleep(0.02)
    child.kill()
    child.join()
    home.clock.advance(hours=1)
    return said.read_text("utf-8").splitlines()


def change_kill_and_go_on(folder: Path, count: int) -> None:
    """The whole case with an old model that still loads."""
    home = home_with(folder, count)
    reported = kill_half_way(home, folder, count, loads=True)
    before = texts_of(folder / "report")

    new, old = CountingEmbedder(NEW, calls=0), CountingEmbedder(OLD)
    with opened(home, new, old) as agent:
        assert agent.dense.serving is old and agent.layers.recipes.threshold("events") == OLD / 1000
        found = recalled(agent, "500号面条是哪天吃的")  # the talk goes on while the new model is at work
        assert "500号面条" in shown(found)
        assert "500号面条是哪天吃的" in old.queries and not new.queries
        say(agent, "换模型的时候我买了一把蓝雨伞")
        say(agent, "然后回家了")
        new.let(2 * EMBEDDED_AT_ONCE // BATCH)
        assert [agent.store.exchanges.get(id_).status for id_ in reported] == ["done"] * len(reported)
        new.let(1 << 30)
        agent.settle_indexes()

        assert (
            agent.dense.serving is new
            and agent.layers.recipes.threshold("events") == NEW / 1000
            and agent.dense.changing() is None
        )
        assert "换模型的时候我买了一把蓝雨伞" in old.passages and "换模型的时候我买了一把蓝雨伞" in new.passages
        assert "500号面条" in shown(recalled(agent, "500号面条呢")) and "500号面条呢" in new.queries
        assert "500号面条呢" not in old.queries
        agent.finish()
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0)
        assert report["exchanges"] >= count + len(reported) + 4

    twice = before + new.passages
    assert sum(n - 1 for n in twice.values()) <= 2 * BATCH, "more than the batch that the kill cut short"
    assert all(twice[text] for exchange in memories(count) for text in (exchange.user, exchange.char))
    assert json.loads((home.folder / ".index" / "manifest.json").read_text("utf-8"))["fingerprint"] == new.fingerprint


def change_with_the_old_model_gone(folder: Path, count: int) -> None:
    home = home_with(folder, count)
    reported = kill_half_way(home, folder, count, loads=False)
    before = texts_of(folder / "report")

    new = CountingEmbedder(NEW, calls=0)
    with opened(home, new) as agent:
        assert agent.dense.serving is None
        assert any("words and time serve" in problem for problem in agent.problems())
        assert "500号面条" in shown(recalled(agent, "500号面条是哪天吃的"))  # by its words
        on_a_day = recalled(agent, "2024年1月9日我吃了什么？")
        assert "480号面条" in "\n".join(hit.text for hit in on_a_day.ranked) and not on_a_day.empty_spans
        assert not new.queries
        new.let(1 << 30)
        agent.settle_indexes()
        assert agent.dense.serving is new and agent.problems() == []
        assert "500号面条" in shown(recalled(agent, "500号面条呢")) and "500号面条呢" in new.queries
        agent.finish()
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0)
        assert report["exchanges"] >= count + len(reported)
    assert sum(n - 1 for n in (before + new.passages).values()) <= 2 * BATCH


FEW = 4 * EMBEDDED_AT_ONCE


def test_a_changed_model_killed_half_way_is_finished_later_while_the_old_one_answers(tmp_path: Path) -> None:
    change_kill_and_go_on(tmp_path, FEW)


def test_while_no_model_serves_words_and_time_do(tmp_path: Path) -> None:
    change_with_the_old_model_gone(tmp_path, FEW)


def test_indexes_made_anew_keep_the_vectors_by_their_text(tmp_path: Path) -> None:
    home = home_with(tmp_path, 100)
    for _ in range(2):  # the second time while the first was not ended
        upkeep.drop_indexes(home.folder, vectors=False)
        idle = CountingEmbedder(OLD, calls=0)
        with opened(home, idle) as agent:
            agent.stop()
    kept = CountingEmbedder(OLD)
    with opened(home, kept) as agent:
        agent.settle_indexes()
        report = agent.verify()
        assert (report["problems"], report["without_vector"], report["exchanges"]) == ([], 0, 100)
        assert kept.passages.total() == 0
        assert "50号面条" in shown(recalled(agent, "50号面条是哪天吃的"))

    upkeep.drop_indexes(home.folder, vectors=True)
    anew = CountingEmbedder(OLD)
    with opened(home, anew) as agent:
        agent.settle_indexes()
        assert anew.passages.total() >= 200 and agent.verify()["without_vector"] == 0


def test_the_index_folder_may_be_deleted_while_somebody_talks(tmp_path: Path) -> None:
    home = home_with(tmp_path, 100)
    new, old = CountingEmbedder(NEW), CountingEmbedder(OLD)
    with opened(home, new, old) as agent:
        first = say(agent, "删之前我买了一把蓝雨伞").exchange.id
        agent.settle_indexes()  # else what is being written comes back while it is deleted
        shutil.rmtree(home.folder / ".index")
        second = say(agent, "删之后我喝了一杯酸梅汤").exchange.id
        assert "50号面条" in shown(recalled(agent, "50号面条是哪天吃的"))
        agent.finish()
        assert "蓝雨伞" in "\n".join(hit.text for hit in agent.recall("蓝雨伞").ranked)
        assert agent.verify()["problems"] == []
    with opened(home, CountingEmbedder(NEW)) as agent:
        agent.settle_indexes()
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0)
        assert [agent.store.exchanges.get(id_).user[:3] for id_ in (first, second)] == ["删之前", "删之后"]


def test_a_process_follows_a_rebuild_by_another(tmp_path: Path) -> None:
    home = home_with(tmp_path, 100)
    with opened(home, CountingEmbedder(OLD)) as open_one:
        said = say(open_one, "我买了一把蓝雨伞").exchange.id
        open_one.settle_indexes()
        upkeep.drop_indexes(home.folder, vectors=False)
        with opened(home, CountingEmbedder(OLD)) as other:
            other.conversation.correct(memories(1)[0].id, user="第0天我其实喝了粥")
            other.settle_indexes()
            assert "50号面条" in shown(recalled(open_one, "50号面条是哪天吃的"))
            assert "蓝雨伞" in "\n".join(hit.text for hit in other.recall("蓝雨伞").ranked)
        open_one.finish()
        assert open_one.verify()["problems"] == []
    with opened(home, CountingEmbedder(OLD)) as agent:
        agent.settle_indexes()
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0)
        assert agent.store.exchanges.get(said).user == "我买了一把蓝雨伞"
        assert "其实喝了粥" in "\n".join(hit.text for hit in agent.recall("我其实喝了粥").ranked[:1])


class FailingEmbedder(CountingEmbedder):
    """One that does not answer as long as ``down``, as an endpoint may."""

    down = True

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        if self.down:
            raise EmbeddingError("the endpoint does not answer")
        return super().embed(texts, kind)


def test_an_embedding_model_that_fails_for_a_while_is_told_of_until_it_works(home: Home) -> None:
    embedder = FailingEmbedder(OLD)
    with opened(home, embedder) as agent:
        say(agent, "我买了一把蓝雨伞")
        agent.finish()
        agent.settle_indexes()
        assert "蓝雨伞" in "\n".join(hit.text for hit in agent.recall("蓝雨伞").ranked)
        assert [problem for problem in agent.problems() if "does not answer" in problem]
        embedder.down = False
        say(agent, "然后回家了")
        agent.finish()
        agent.settle_indexes()
        report = agent.verify()
        assert (report["problems"], report["without_vector"]) == ([], 0)


@pytest.mark.soak
def test_a_changed_model_with_fifty_thousand_memories(tmp_path: Path) -> None:
    change_kill_and_go_on(tmp_path, 50_000)


@pytest.mark.soak
def test_a_model_that_is_gone_with_fifty_thousand_memories(tmp_path: Path) -> None:
    change_with_the_old_model_gone(tmp_path, 50_000)
