"""What can be looked at under some settings: each look gives a plain value, the same each time."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pytest_httpserver import HTTPServer

from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.bench import calibrate
from moechat.errors import ModelError, MoeChatError
from moechat.house import House
from moechat.house.stores import database_of
from moechat.model import Episode, Event, Fact, FactDraft, Kind
from moechat.settings.config import Config
from moechat.store.formats import derived_id
from moechat.store.postgres.servers import Servers
from tests.agent.test_agent_reflection import reflections, thinker
from tests.houses import CHARACTER, DIM, START, Home, answer, polite, say, silent, understanding
from tests.model_server import Hang, ModelServer

Settings = Mapping[str, Any]
OTHER = "阿宁"
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


class Place(NamedTuple):
    """A folder for one look, and the settings that hold there, by dotted key. ``life`` is a memory to be recalled from."""

    folder: Path
    settings: Settings
    life: Path

    def under(self, settings: Settings) -> Place:
        """The same, where nothing else is set."""
        return self._replace(settings={**settings, **self.settings})

    def home(self, **character: Any) -> Home:
        return Home.build(self.folder, character=character, **self.nested())

    def nested(self) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        for key, value in self.settings.items():
            *sections, last = key.split(".")
            part = whole
            for name in sections:
                part = part.setdefault(name, {})
            part[last] = value
        return whole


Look = Callable[[Place], object]


def opened(place: Place) -> object:
    """Which character opens, and how it calls the user."""
    home = place.home(user_name="")
    (home.data / "agents" / OTHER).mkdir()
    with home.open() as house:
        who = house.agent().character
        return who.folder.name, who.user_name


def persona(place: Place) -> object:
    """What a character without a file of its own says first, and is told."""
    home, model = place.home(), silent()
    (home.folder / "character.yaml").unlink()
    with home.open(model) as house:
        say(house.agent(), "你好")
    return [(one.role, one.content) for one in model.requests[0].messages]


def recalled(place: Place, text: str = "室友和我吃的那家火锅", model: ScriptedModel | None = None) -> object:
    """What one message brings to mind out of a life, in which order, and what is left out why."""
    shutil.copytree(place.life, place.folder)
    home = Home(place.folder / "data", place.folder / "config.yaml", Home.build(place.folder / "x").clock)
    home.clock.advance(hours=20)
    home.configure(**place.nested())
    with home.open(model or silent()) as house:
        agent = house.agent()
        agent.settle_indexes()
        agent.recall(text)  # The first one may take longer.
        brought = agent.recall(text)
    hits = [(hit.id, hit.tokens, round(hit.score, 3), hit.features.get("recency")) for hit in brought.hits]
    dropped = sorted((one.hit.recipe, one.hit.id, one.why) for one in brought.dropped)
    days = [f"{span.start:%m-%d}" for span in brought.spans]
    late = [notice.partition(":")[2] for notice in brought.notices][:1]
    return hits, dropped, [hit.key for hit in brought.ranked], days, late


def grieved(place: Place) -> object:
    """What a low mood brings to mind, weeks after a loss."""
    home = place.home()
    with home.open(silent()) as house:
        agent = house.agent()
        say(agent, "我爷爷上周去世了")
        agent.finish()
        home.clock.advance(hours=500)
        return [hit.recipe for hit in agent.recall("今天心情不太好").hits]


def came_back(place: Place) -> object:
    """What a prompt has at heart on the eve of a birthday after a sad talk, and what she says to who comes back, by the hour."""
    home = place.home()
    with home.open(silent()) as house:
        agent = house.agent()
        for text in (
            "以后我们管加班叫打怪吧",
            "我姐姐的生日是5月22日",
            "我今天终于拿到驾照了",
            "下雨了",
            "今天好开心呀",
        ):
            say(agent, text)
        agent.finish()
        words = []
        for hours in (8, 6, 4, 4, 10, 4, 4, 2):  # 23:00, 5:00, 9:00, 13:00, 23:00, 3:00, 7:00, 9:00
            home.clock.advance(hours=hours)
            words.append(agent.greeting() is not None)
        return [hit.recipe for hit in agent.recall("今晚加班").plans], words


def a_day_later(place: Place) -> object:
    """What a model was asked by the next day."""
    home, model = place.home(), ScriptedModel(polite, lambda _: "今天很好。")
    with home.open(model) as house:
        agent = house.agent()
        say(agent, "下雨了")
        agent.finish()
        home.clock.advance(hours=20)
        agent.finish()
        return [messages[-1].content[:20] for messages, _ in model.questions]


def prompt(place: Place) -> object:
    """The prompt of a fourth message, and the reply to it."""
    model = silent("嗯，我记住了。慢慢说。" for _ in range(4))
    home = place.home()
    with home.open(model) as house:
        agent = house.agent()
        for text in ("我住在杭州", "我养了一只猫", "我喜欢爬山"):
            say(agent, text)
            home.clock.advance(minutes=1)
        lived_texts = say(agent, "我住在哪里").exchange.char
    return [(one.role, one.content) for one in model.requests[-1].messages], lived_texts


def asked(place: Place, *, understands: bool = False) -> object:
    """The last request for a reply, or for understanding, as the server got it."""
    with ModelServer() as one, ModelServer() as other:
        urls = {"one": one.url, "other": other.url}
        settings = {"chat.base_url": "one", "chat.model": "tiny"} | dict(place.settings)
        settings |= {key: urls[value] for key, value in settings.items() if key.endswith("base_url")}
        home = place._replace(settings=settings).home()
        with home.connected() as house:
            agent = house.agent()
            say(agent, "我住在杭州")
            say(agent, "我养猫")
            agent.finish()
        bodies = [(n, r) for n, server in enumerate((one, other)) for r in server.requests if "messages" in r.body]
        mine = [(n, r) for n, r in bodies if ("response_format" in r.body) == understands]
    n, last = mine[-1]
    body = last.body | {"messages": [message["role"] for message in last.body["messages"]]}
    return n, body, last.headers.get("authorization")


def model_of(place: Place) -> object:
    """The chat model that replies, and how much it reads."""
    with place.home().connected() as house:
        model = house.model_for("chat")
        return model.name, model.window.tokens, getattr(model, "_timeout_s", None)


def silence(place: Place) -> object:
    """What is said of a server that says nothing."""
    with ModelServer(otherwise=Hang()) as hangs:
        home = place.under({"chat.base_url": hangs.url, "chat.model": "tiny"}).home()
        with home.connected() as house:
            return say(house.agent(), "在吗").error


class Patience(ScriptedModel):
    """Notes how long it is waited for."""

    waits: frozenset[float] = frozenset()

    def ask(self, messages: Any, *, schema: Any = None, silence_s: float) -> Any:
        self.waits |= {silence_s}
        return super().ask(messages, schema=schema, silence_s=silence_s)


def patience(place: Place) -> object:
    """How long the answers to each kind of question are waited for."""
    think = thinker()
    model = Patience(think.replies, think.answers)
    leaps(place, model)
    return sorted(model.waits)


def vectors(place: Place) -> object:
    """Which embedding model serves."""
    with House(place.home().data, place.folder / "config.yaml", model=silent()) as house:
        return house.embedder and house.embedder.fingerprint


def embedded(place: Place) -> object:
    """The request for vectors as the endpoint got it."""
    with HTTPServer() as one, HTTPServer() as other:
        urls = {"one": one.url_for("/v1"), "other": other.url_for("/v1")}
        settings = {"embedding.provider": "endpoint", "embedding.base_url": "one", "embedding.model": "m"}
        settings |= place.settings
        settings["embedding.base_url"] = urls[settings["embedding.base_url"]]
        vector = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}
        for endpoint in (one, other):
            endpoint.expect_request("/v1/embeddings").respond_with_json(vector)
        home = place._replace(settings=settings).home()
        with House(home.data, home.config, model=silent()) as house:
            assert house.embedder is not None
            house.embedder.embed(["字"])
        requests = [(n, r) for n, endpoint in enumerate((one, other)) for r, _ in endpoint.log]
        return {(n, r.json["model"], r.headers.get("Authorization")) for n, r in requests}


def tick(agent: Agent) -> None:
    """Whatever is due behind the talk is done."""
    agent.jobs.tick()
    agent.settle_indexes()


def batches(place: Place, rounds: int = 6, hours: float = 0, *, fails: bool = False) -> object:
    """How many exchanges each question about them holds, after some rounds and idle hours; what has settled; what the
    context holds, and the overview."""

    def understood(n: int) -> Any:
        told = [{"text": "用户去了北山", "importance": 5, "sources": [n]}]
        return ModelError("other", "no") if fails else answer(n, events=told)

    model = understanding(understood)
    home = place.home()
    with home.open(model) as house:
        agent = house.agent()
        for i in range(rounds):
            say(agent, f"第{i}件事，我去了北山")
            home.clock.advance(seconds=200)
            tick(agent)
        settled = len(agent.store.tree.open())
        home.clock.advance(hours=hours)
        tick(agent)
        say(agent, "说到哪了")
        sizes = [len(re.findall(r"^\[\d+\] 20", q[-1].content, re.MULTILINE)) for q, _ in model.questions]
        stable = [one.content for one in model.requests[-1].messages if one.role == "system"]
        return sizes, settled, len(model.requests[-1].messages), stable


def known_facts(place: Place) -> object:
    """What a question about an exchange tells of known facts."""
    model = understanding()
    with place.home().open(model) as house:
        agent = house.agent()
        for i in range(40):
            agent.memories.add_fact(f"用户去过{i}号山")
        say(agent, "今天下雨了")
        agent.finish()
    return [message.content for message in model.questions[-1][0]]


def past(place: Place) -> object:
    """How much of a day's tokens reading the past may take."""
    with place.home().open(understanding()) as house:
        return house.agent().past.work().budget


def leaps(place: Place, model: ScriptedModel | None = None) -> object:
    """What is thought about after four leaps, out of how many memories; until when that holds."""
    model = model or thinker()
    home = place.under({"reflection.counter": 20}).home()
    with home.open(model) as house:
        agent = house.agent()
        for i in range(4):
            say(agent, f"我今天第{i}次去跳伞了")
            home.clock.advance(minutes=5)
        agent.finish()
        thoughts = [(one.event.text, one.expires and one.expires - one.since) for one in reflections(agent)]
        return len(thoughts), thoughts and thoughts[0][1], [q[-1].content for q, _ in model.questions]


def retries(place: Place, kind: str) -> object:
    """Whether a question that failed is asked again within eight minutes."""
    think = thinker()

    def fails(messages: Any) -> Any:
        understands = "高层次问题" not in messages[-1].content
        return think.answers(messages) if understands == (kind == "reflection") else ModelError("other", "no")

    model = ScriptedModel(think.replies, fails)
    home = place.under({"reflection.counter": 20, "reflection.enabled": kind == "reflection"}).home()
    with home.open(model) as house:
        agent = house.agent()
        for i in range(4):
            say(agent, f"我今天第{i}次去跳伞了")
        agent.finish()
        before = len(model.questions)
        home.clock.advance(minutes=8)
        tick(agent)
        return len(model.questions) > before


def forgotten(place: Place, days: float = 4) -> object:
    """How many of ten events are archived some days later, and what is left of two facts of one matter."""
    home = place.home()
    with home.open() as house:
        agent, now = house.agent(), home.clock.now()
        source = (say(agent, "你好").exchange.id,)
        agent.finish()
        events = [Event(f"第{i}件事", source, importance=0.1 + i / 100) for i in range(10)]
        facts = [FactDraft(text, source, keyword="兴趣") for text in ("用户对星座感兴趣", "用户对绘画有研究")]
        with agent.store.writing():
            agent.store.findings.put([Episode(derived_id(one.text, source), now, one, by="rules") for one in events])
            agent.store.findings.put([Fact(derived_id(one.text, source), now, one, by="model") for one in facts])
        home.clock.advance(days=days)
        if days < 30:
            say(agent, "又来了")
        agent.finish()
        home.clock.advance(hours=2)
        tick(agent)
        return len(agent.store.state.archived), [fact.text for fact in agent.layers.core.current()]


def clock(place: Place) -> object:
    """The time that it is, in the zone of the settings."""
    with House(place.home().data, place.folder / "config.yaml", now=START, embedder=None, model=silent()) as house:
        return house.clock.now().utcoffset()


def second_reader(place: Place) -> object:
    """What is wrong, and how a time that only jionlp reads is read."""
    with place.home().open() as house:
        agent = house.agent()
        return agent.problems(), [span.phrase for span in agent.recall("本世纪末").spans]


def copies(place: Place) -> object:
    """The backups after four days."""
    home = place.home()
    with home.open() as house:
        agent = house.agent()
        for i in range(4):
            say(agent, f"第{i}天")
            agent.finish()
            agent.back_up()
            home.clock.advance(days=1)
    return len(list((home.folder / "backups").glob("auto-*.zip")))


def owners(place: Place) -> object:
    """Whether a second user comes in, and whether the first is still open 40 minutes later."""
    home = place.home()
    with home.open() as house:
        with house.lent(CHARACTER, "a") as agent:
            try:
                with house.lent(CHARACTER, "b"):
                    second = True
            except MoeChatError:
                second = False
        home.clock.advance(minutes=40)
        house._owners.close_idle()
        with house.lent(CHARACTER, "a") as later:
            return second, later is agent


def threads(place: Place, prefix: str) -> object:
    """Whether more than one thread recalls, or works behind."""
    home, gate, others = place.home(), threading.Event(), set(threading.enumerate())
    with home.open() as house:
        agents = [house.agent(CHARACTER, user) for user in ("a", "b")]
        for agent in agents:
            agent.recall("你好")
            agent.jobs.worker.submit(gate.wait)
        count = sum(one.name.startswith(f"{prefix}_") for one in threading.enumerate() if one not in others)
        gate.set()
    return count > 1


def database(place: Place) -> object:
    """What a database is asked for, or why there is none."""
    settings = Config(**place.nested()).store
    try:
        database = database_of(settings, "config.yaml") if settings.kind == "postgres" else None
    except MoeChatError as error:
        return str(error)
    if database is None:
        return "files"
    taken = []
    with contextlib.suppress(MoeChatError):
        for _ in range(4):
            taken.append(database.take(lambda _: None))
    for connection in taken:
        database.give_back(connection)
    is_held = False
    with contextlib.suppress(MoeChatError):
        database.live()
        is_held = True
    servers = Servers.of(database)
    places = sorted(servers.by_name), servers.for_new().name
    servers.close()
    return len(taken), is_held, database.timeout_s, database.each_time, database.searches, places


class Slow(HashEmbedder):
    """Takes three tenths of a second over a question."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        threading.Event().wait(0.3 if kind == "query" else 0)
        return super().embed(texts, kind)


def late(place: Place) -> object:
    """Whether something that takes long is left out."""
    home = place.home()
    home.embedder = Slow(DIM)
    with home.open() as house:
        agent = house.agent()
        agent.memories.add_fact("用户喜欢爬山")
        agent.recall("你好")  # The first one may take longer.
        return bool(agent.recall("我喜欢什么").notices)


def topics(place: Place) -> object:
    """How long a model is waited for before the reply."""
    model = Patience(answers=lambda _: ModelError("other", "no"))
    recalled(place.under({"recall.recipes.by_topic.enabled": True}), model=model)
    return model.waits


def target(place: Place) -> object:
    """In how many turns false recall is allowed for, when thresholds are fitted."""
    with place.home().open() as house:
        return calibrate.calibrate(house.agent(), [calibrate.LabelledPair("谁", "我", True)]).target
