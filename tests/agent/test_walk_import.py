"""A walk through years that are imported, while programs are killed and talk, and then taken back whole."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import pytest

from moechat.agent import Agent
from moechat.ai.scripted import Line, ScriptedModel
from moechat.clock import SetClock
from moechat.model import Exchange, Message
from moechat.turn import Delta, Ended, Recalled
from tests.houses import Home, moment, say, silent
from tests.oblivion import findings, nowhere, page, profile, recalled_text, vectors_of

SPAWN = multiprocessing.get_context("spawn")
PATIENCE_S = 600.0  # So long a busy machine may take; nothing waits for it otherwise.
KILLED = 137
WRITES = os.O_WRONLY | os.O_RDWR
SETTINGS: dict[str, Any] = {
    "reflection": {"enabled": False},
    "forgetting": {"merges": False},
    "roll": {"overview": 0},  # what a reply rests on is what it recalled, and nothing else
}

# ---- three years of talk, with words of their own in every sentence

MARKERS = ("zqimport", "Zqimport", "栒", "槲", "杺")
COMPANIONS, SPOTS = ("栒岚", "栒砚", "栒老师"), ("槲桥", "槲湖", "槲山")
FRIENDS, TOWNS = ("Zqimportnora", "Zqimporttobias"), ("Zqimportham", "Zqimportford")


def years(messages: int, seed: int = 12) -> list[Exchange]:
    """So many messages over three years, half of the exchanges in each language; some tell what the rules read as facts or
    events. The same from call to call."""
    dice, count = random.Random(seed), messages // 2
    begun, step = moment("2022-03-01T08:00:00"), timedelta(days=3 * 365) / count
    makers = (_zh, _en)
    return [Exchange("", begun + step * n, *makers[n % 2](n, dice)) for n in range(count)]


def _zh(n: int, dice: random.Random) -> tuple[str, str]:
    who, where = dice.choice(COMPANIONS), dice.choice(SPOTS)
    if n % 50 == 0:
        return f"我讨厌吃杺菜{n}号", f"杺菜{n}号我记下了"
    if n % 10 == 0:
        return f"昨天我和{who}去了{where}，走了{n}步", f"{where}的风一定很舒服，{n}"
    return f"今天加班的时候想起{who}说的话，第{n}回", f"{who}很会说话，第{n}回"


def _en(n: int, dice: random.Random) -> tuple[str, str]:
    who, where = dice.choice(FRIENDS), dice.choice(TOWNS)
    if n % 50 == 1:
        return f"I hate zqimportfood{n}", f"No zqimportfood{n} for you then"
    if n % 10 == 1:
        return f"Yesterday I went to {where} with {who}, mile {n}", f"{where} is lovely, mile {n}"
    return f"I kept thinking of what {who} told me, part {n}", f"{who} means well, part {n}"


def sentences(rows: Sequence[Exchange]) -> Iterator[str]:
    for row in rows:
        yield from (row.user, row.char)


# ---- the programs that are killed, and that talk


def open_home(data: Path, config: Path, at: datetime) -> Home:
    return Home(data, config, SetClock(at))


def import_and_die(data: Path, config: Path, at: datetime, messages: int, days: int) -> None:
    """A process that is gone when it has written so many day files of an import."""
    with open_home(data, config, at).open() as house:
        agent, written = house.agent(), set[str]()

        def follow(event: str, values: tuple[Any, ...]) -> None:
            if event == "open" and values[2] & WRITES and f"{os.sep}memorys{os.sep}" in str(values[0]):
                written.add(str(values[0]))
                if len(written) > days:
                    os._exit(KILLED)

        sys.addaudithook(follow)
        agent.store.imports.add(years(messages), talk="旧谈")


@dataclass(frozen=True)
class Answered:
    """How a turn of the other process went: what its reply rests on, what was shown, what is stored."""

    id: str
    rests_on: Sequence[str]
    shown: str
    stored: str
    status: str
    error: str
    prompt: str


RESTING, FREE = "我讨厌吃什么菜", "昨天雪球做了什么"
RESTING_REPLY, FREE_REPLY = ("你讨厌吃杺菜，", "还有zqimportfood。"), ("雪球早就睡了，", "睡得很香。")


def talk_twice(
    data: Path, config: Path, at: datetime, begun: Queue[list[str]], go_on: Any, ended: Queue[list[Answered]]
) -> None:
    """A process that answers in two talks at once: it says when both replies are being shown, and ends them when it may."""
    bound = threading.Timer(PATIENCE_S, go_on.set)  # Whatever becomes of the test, this process ends.
    bound.daemon = True
    bound.start()

    def reply(messages: Sequence[Message]) -> Line:
        first, then = RESTING_REPLY if messages[-1].content == RESTING else FREE_REPLY
        return Line(first, hold=go_on, then=then)

    model = ScriptedModel(reply, understands=False, piece_chars=100)
    with open_home(data, config, at).open(model) as house:
        agent = house.agent()
        turns = [agent.talk(RESTING), agent.in_talk("夜谈").talk(FREE)]
        heads: list[tuple[Recalled, Delta]] = []
        for turn in turns:
            recalled, piece = next(turn), next(turn)
            assert isinstance(recalled, Recalled)
            assert isinstance(piece, Delta)
            heads.append((recalled, piece))
        begun.put([recalled.exchange_id for recalled, _ in heads])
        assert go_on.wait(PATIENCE_S)
        answers = []
        for (recalled, piece), turn, request in zip(heads, turns, model.requests, strict=True):
            rest = list(turn)
            last = rest[-1]
            assert isinstance(last, Ended)
            shown = piece.text + "".join(event.text for event in rest if isinstance(event, Delta))
            sources = [source for hit in recalled.recollection.hits for source in (hit.id, *hit.sources)]
            prompt = "\n".join(message.content for message in request.messages[:-1])
            answers.append(
                Answered(
                    recalled.exchange_id, sources, shown, last.exchange.char, last.exchange.status, last.error, prompt
                )
            )
        ended.put(answers)


# ---- what is there of what

OWN = ("我养了一只叫雪球的猫", "昨天我和妹妹去了莫干山", "我住在绍兴", "雪球昨天打翻了花瓶")


def own_words(agent: Agent) -> list[tuple[object, object]]:
    """The first talk as it was said."""
    return [(row["text"], row["reply"]) for row in agent.log() if row["talk"] == ""]


def shows_none_of(agent: Agent, batch: str) -> None:
    """Neither recall, nor profile, nor page, nor log, nor what was understood has a word or an id of the import."""
    shown = [
        *profile(agent), findings(agent), page(agent), page(agent, archived=True), str(agent.log()),
        *(recalled_text(agent, question) for question in ("昨天我和谁去了哪座桥", "who did I go with", "我讨厌吃什么菜")),
    ]  # fmt: skip
    for text in shown:
        assert batch not in text
        assert not any(marker in text for marker in MARKERS)


def walked(tmp_path: Path, messages: int) -> None:
    rows = years(messages)
    home = Home.build(tmp_path, **SETTINGS)
    with home.agent(silent()) as agent:
        for text in OWN:
            say(agent, text)
            home.clock.advance(minutes=1)
        agent.finish()
        said, learned = own_words(agent), agent.store.findings.facts()
        happened = agent.store.findings.citing([str(row["id"]) for row in agent.log()])
        assert len(said) == len(OWN) and learned and happened
    home.clock.advance(days=1)

    at = home.clock.now()
    importer = SPAWN.Process(target=import_and_die, args=(home.data, home.config, at, messages, 40), daemon=True)
    importer.start()
    importer.join(PATIENCE_S)
    assert importer.exitcode == KILLED
    with home.open(silent(), looks=True) as house:  # it shows all or nothing
        agent = house.agent()
        assert own_words(agent) == said
        shows_none_of(agent, "no batch")

    with home.open(silent()) as house:  # it goes on
        agent = house.agent()
        (batch,) = agent.store.tree.batches
        agent.jobs.read_imports(lambda done, of: None)
        agent.settle_indexes()
        assert not agent.store.tree.unread()
        imported = [row for row in agent.log() if row["talk"] == "旧谈"]
        assert [(row["text"], row["reply"]) for row in imported] == [(row.user, row.char) for row in rows]
        agent.layers.embed(threading.Event())
        assert any("杺菜" in text for text in profile(agent)) and any("zqimportfood" in text for text in profile(agent))
        assert "槲桥" in recalled_text(agent, "昨天我和谁去了槲桥")
        assert "杺菜" in page(agent) and "栒" in findings(agent)
        assert vectors_of(home.folder, rows[1].user) and vectors_of(home.folder, rows[0].char)
        derived = [one.text for one in agent.memories.listed(("fact", "event"), limit=0).memories]
        lost_texts = [text for text in derived if any(marker in text for marker in MARKERS)]
        assert len(lost_texts) > messages / 50

        begun, ended, go_on = SPAWN.Queue(), SPAWN.Queue(), SPAWN.Event()
        talker = SPAWN.Process(target=talk_twice, args=(home.data, home.config, at, begun, go_on, ended), daemon=True)
        talker.start()
        resting_id, free_id = begun.get(timeout=PATIENCE_S)
        try:
            agent.memories.take_back(batch)
        finally:
            go_on.set()
        resting, free = ended.get(timeout=PATIENCE_S)
        talker.join(PATIENCE_S)
        assert talker.exitcode == 0

        assert resting.id == resting_id and any(batch in id_ for id_ in resting.rests_on)
        assert (resting.stored, resting.status) == ("", "failed")
        assert "再问" in resting.error
        assert resting.shown.startswith(RESTING_REPLY[0])
        assert free.id == free_id and not any(batch in id_ for id_ in free.rests_on)
        assert not any(marker in free.prompt for marker in MARKERS)
        assert (free.stored, free.status, free.error) == ("".join(FREE_REPLY), "done", "")

        agent.conversation.follow()
        agent.settle_indexes()
        shows_none_of(agent, batch)
    for _ in range(2):
        lost = [*sentences(rows), *lost_texts, "".join(RESTING_REPLY), *RESTING_REPLY]
        nowhere(home.folder, MARKERS, lost)
        for name in ("log.jsonl", "state.jsonl", "core_mem.yml", "history.yaml"):
            assert batch not in (home.folder / name).read_text(encoding="utf-8"), name
        home.clock.advance(days=20)
        with home.agent(silent()) as agent:
            shows_none_of(agent, batch)
            assert own_words(agent)[: len(said)] == said
            assert own_words(agent)[len(said) :] == [(RESTING, "")]
            assert [fact for fact in agent.store.findings.facts() if fact in learned] == learned
            assert all(one in agent.store.findings.citing([one.event.sources[0]]) for one in happened)
            assert [row["reply"] for row in agent.log() if row["talk"] == "夜谈"] == ["".join(FREE_REPLY)]
            assert "雪球" in recalled_text(agent, "我的猫叫什么")
            assert "旧谈" not in agent.store.tree.talks
            assert agent.verify()["problems"] == []


def test_three_years_are_imported_and_taken_back_while_another_process_answers(tmp_path: Path) -> None:
    walked(tmp_path, 400)


@pytest.mark.soak
def test_three_years_of_twenty_thousand_messages_are_imported_and_taken_back(tmp_path: Path) -> None:
    walked(tmp_path, 20_000)
