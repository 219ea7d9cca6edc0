"""Small houses for tests: a data folder with one character, a clock that stands, an embedder without weights, a script.

home = Home.build(tmp_path)
with home.open() as house:
    say(house.agent(), "我住在杭州")
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from moechat.agent import Agent
from moechat.ai.chat_model import ChatModel
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.containment import Containment
from moechat.errors import ModelError
from moechat.house import House
from moechat.index.dense import Dense
from moechat.memory.diary import Diary
from moechat.memory.episodes import Episodes
from moechat.model import Exchange, Recollection
from moechat.store.disk import INDEX
from moechat.store.files import FileStore
from moechat.store.kinds import Store
from moechat.turn import Ended, Recalled

ZONE = ZoneInfo("Asia/Shanghai")
CHARACTER = "小满"
START = "2025-05-20T15:00:00"
DIM = 64
ANOTHER_PROCESS = """
import os, sys
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from moechat.clock import SetClock
from moechat.store.files import FileStore
zone = ZoneInfo("Asia/Shanghai")
clock = SetClock(datetime(2025, 5, 20, 15, tzinfo=zone))
store = FileStore(Path(sys.argv[1]), clock=clock, zone=zone)
"""
"""How a program begins that opens a memory, whose folder it is told."""
SELDOM_S = 3600.0  # Idle work is looked for when a test says so, not in the middle of one that takes its time.


def moment(text: str) -> datetime:
    """A time in the zone of the tests."""
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


def polite(_: object) -> str:
    return "嗯，我记住了。"


def silent(replies: Any = polite) -> ScriptedModel:
    """A chat model that talks and understands nothing: the rules stand in."""
    return ScriptedModel(replies, understands=False)


def diary_of(store: Store, dense: Dense) -> Diary:
    return Diary(store, dense, Episodes(store, dense), user_name="阿明", character_name="小满")


@dataclass
class Home:
    """A data folder and its configuration on the disk; ``open`` it as often as a test restarts the program."""

    data: Path
    config: Path
    clock: SetClock
    embedder: HashEmbedder = field(default_factory=lambda: HashEmbedder(DIM))
    stores: list[FileStore] = field(default_factory=list)  # The fixture ``home`` closes them with the test.

    @classmethod
    def build(cls, folder: Path, *, character: dict[str, Any] | None = None, now: str = START, **sections: Any) -> Home:
        """``sections`` are those of config.yaml; ``character`` the keys of character.yaml."""
        owner = folder / "data" / "agents" / CHARACTER
        owner.mkdir(parents=True)
        keys = {"name": CHARACTER, "user_name": "阿明", "language": "zh", "persona": "你是小满，爱听人说话。"} | (
            character or {}
        )
        (owner / "character.yaml").write_text(yaml.safe_dump(keys, allow_unicode=True), encoding="utf-8")
        home = cls(folder / "data", folder / "config.yaml", SetClock(moment(now)))
        home.configure(**sections)
        return home

    def configure(self, **sections: Any) -> None:
        settings: dict[str, Any] = {"Agent": {"char": CHARACTER}, "time": {"zone": "Asia/Shanghai"}}
        for name, values in sections.items():
            settings[name] = {**settings.get(name, {}), **values}
        settings.setdefault("recall", {}).setdefault("deadline_ms", 20_000)  # a busy machine is no fault
        self.config.write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")

    @property
    def folder(self) -> Path:
        """The default owner's folder."""
        return self.data / "agents" / CHARACTER

    def open(
        self,
        model: ChatModel | None = None,
        *,
        looks: bool = False,
        containment: Callable[[], Containment] = Containment,
    ) -> House:
        return self.connected(model=model or silent(), looks=looks, containment=containment)

    @contextmanager
    def agent(self, model: ChatModel | None = None, **options: Any) -> Iterator[Agent]:
        """The agent of its default user, as long as the block lasts."""
        with self.open(model, **options) as house:
            yield house.agent()

    def connected(self, **options: Any) -> House:
        """With the chat model of the configuration, unless ``options`` say otherwise."""
        own: dict[str, Any] = {"clock": self.clock, "embedder": self.embedder, "tick_s": SELDOM_S}
        return House(self.data, self.config, **(own | options))

    def store(self) -> FileStore:
        self.stores.append(FileStore(self.folder, clock=self.clock, zone=ZONE))
        return self.stores[-1]

    def store_anew(self) -> FileStore:
        """All stores are closed, and another one reads the files alone."""
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder / INDEX)
        return self.store()


@contextmanager
def waiting(agent: Agent) -> Iterator[None]:
    """The background waits meanwhile."""
    go_on = threading.Event()
    agent.jobs.worker.submit(go_on.wait)
    try:
        yield
    finally:
        go_on.set()


def say(agent: Agent, text: str) -> Ended:
    """One whole turn."""
    *_, ended = agent.talk(text)
    assert isinstance(ended, Ended)
    return ended


def say_all(agent: Agent, *texts: str) -> None:
    """Messages one after another, and all that happens behind the last of them."""
    for text in texts:
        say(agent, text)
    agent.finish()


def again(agent: Agent) -> Ended:
    """Another reply to the last message."""
    *_, ended = agent.conversation.regenerate()
    assert isinstance(ended, Ended)
    return ended


def recalled(agent: Agent, text: str) -> Recollection:
    """What one turn recalled."""
    return next(event.recollection for event in list(agent.talk(text)) if isinstance(event, Recalled))


def shown(recollection: Recollection, layer: str = "") -> str:
    """The text of everything that entered the prompt."""
    return "\n".join(hit.text for hit in recollection.hits if not layer or hit.layer == layer)


def say_each(home: Home, agent: Agent, *texts: str) -> None:
    """Messages two minutes apart, and all that happens behind them."""
    for text in texts:
        say(agent, text)
        home.clock.advance(minutes=2)
    agent.finish()


def told(
    store: Store, clock: SetClock, user: str, char: str = "好。", *, settle: bool = False, **advance: float
) -> str:
    """One exchange, straight into the store; then the clock moves on by ``advance`` (a minute)."""
    id_ = store.log.begin(user, clock.now())
    store.log.finish(id_, char, "done")
    clock.advance(**(advance or {"minutes": 1}))
    if settle:
        store.log.settle()
    return id_


def imported(store: FileStore, *exchanges: tuple[str, str, str]) -> None:
    """(time, user, char), each without a log entry."""
    store.days.add(
        [Exchange(moment(at).strftime("%Y%m%d-%H%M%S"), moment(at), user, char) for at, user, char in exchanges]
    )


def day_files(folder: Path) -> list[Path]:
    return sorted(p for p in (folder / "memorys").glob("*.yaml") if not p.name.endswith(".notes.yaml"))


def edit(path: Path, old: str, new: str) -> None:
    """A hand edit. The size changes, so that it is seen whatever the file system's clock."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def answer(
    count: int,
    *,
    facts: Sequence[dict[str, Any]] = (),
    events: Sequence[dict[str, Any]] = (),
    tag: str = "用户说了些什么",
    scene_changed: bool = False,
) -> str:
    """What a model answers when it is asked to understand ``count`` exchanges."""
    return json.dumps(
        {
            "exchanges": [{"id": i, "tag": f"{tag}{i}", "keywords": []} for i in range(1, count + 1)],
            "facts": list(facts),
            "events": list(events),
            "scene_changed": scene_changed,
        },
        ensure_ascii=False,
    )


def fact(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {"text": text, "kind": "attribute", "entity": "user", "sources": list(sources), **more}


def quoting(prompt: str, answered: str) -> str:
    """A model's answer, each finding with the words of the exchange that it rests on, where it quotes none."""
    said = {
        int(number): words
        for number, words in re.findall(r"^\[(\d+)\] 20.*\n(?:用户|user)> (.*)$", prompt, re.MULTILINE)
    }
    try:
        whole = json.loads(answered)
    except ValueError:
        return answered
    for kind in ("facts", "events"):
        for one in whole.get(kind) or () if isinstance(whole.get(kind), list) else ():
            if isinstance(one, dict):
                cited = one.get("sources")
                source = (
                    next((n for n in cited if n in said), 0)
                    if isinstance(cited, list) and cited
                    else min(said, default=0)
                )
                one.setdefault("quote", said.get(source, ""))
    return json.dumps(whole, ensure_ascii=False)


def quoted(answers: Sequence[str] | Callable[[Sequence[Any]], str]) -> Callable[[Sequence[Any]], Any]:
    """A script of answers whose findings bear quotes, as a first-class model's do."""
    lines = iter(()) if callable(answers) else iter(answers)

    def answer_to(messages: Sequence[Any]) -> Any:
        answered = answers(messages) if callable(answers) else next(lines, ModelError("other", "no more answers"))
        is_answer = isinstance(answered, str) and answered.startswith("{")
        return quoting(messages[-1].content, answered) if is_answer else answered

    return answer_to


def understanding(make: Callable[[int], str] = answer, replies: Any = polite) -> ScriptedModel:
    """A model that understands: ``make(n)`` is its answer about n exchanges; it keeps all that was found before."""

    def complete(messages: Sequence[Any]) -> Any:
        lines = messages[-1].content.splitlines()
        numbers = [int(line[1:].partition("]")[0]) for line in lines if line[:1] == "[" and "] 20" in line[:8]]
        earlier = [int(line[1:].partition(")")[0]) for line in lines if re.match(r"\(\d+\) ", line)]
        answered = make(max(numbers, default=0))
        if not (isinstance(answered, str) and answered.startswith("{")):
            return answered
        keeps = {"verbs": [{"number": number, "verb": "keep"} for number in earlier]}
        return quoting(messages[-1].content, json.dumps(keeps | json.loads(answered), ensure_ascii=False))

    return ScriptedModel(replies, complete)
