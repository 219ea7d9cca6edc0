"""The stage of the long talk: a house over one kind of store, with everything that answers in it, and how each step is taken.

What a step does goes over HTTP where HTTP can do it: its routes outlive what is behind them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any

import yaml
from starlette.testclient import TestClient

from moechat.access.keys import Keyring
from moechat.agent import Agent
from moechat.ai.embedding import HashEmbedder
from moechat.ai.scripted import ScriptedModel
from moechat.clock import Clock, SetClock
from moechat.house import House
from moechat.house.stores import FolderStores, Stores
from moechat.model import Fact, FactDraft
from moechat.serve.server import make_app
from moechat.store.table_store import MemoryStore
from moechat.turn import Delta, Ended, Recalled, TurnEvent
from moechat.web import page_server
from tests.houses import ZONE, moment
from tests.transcripts import script
from tests.transcripts.script import ASKED, BROUGHT, EN, OTHER_WORDS, SAID, ZH, Step

START = "2025-03-03T08:00:00"
NO_TICK_S = 3600.0
CHARACTERS = {
    ZH: {"name": ZH, "user_name": "小默", "language": "zh", "persona": "你是{{char}}，住在海边的{{user}}的老朋友。",
         "greeting": "来啦，{{user}}。", "examples": "<START>\n{{user}}: 在吗\n{{char}}: 在呢。"},
    EN: {"name": EN, "user_name": "Nora", "language": "en", "persona": "You are {{char}}, who keeps a lighthouse.",
         "greeting": "There you are, {{user}}."},
}  # fmt: skip
LORE = {
    ZH: {
        "灯塔": "灯塔下面埋着一只旧箱子，{{char}}从不提它。",
        "西湖": {"keys": ["断桥"], "text": "断桥边的茶馆只卖绿茶。"},
    },
    EN: {"old mill": "Under the old mill lies a tin box that {{char}} never mentions."},
}
OFFICIAL = {
    "e1": {"text": "{{char}}小时候在灯塔过夜", "keywords": ["灯塔"], "importance": 0.6, "time": "2010-08-01T21:00:00"}
}
_ENTRY = {"enabled": True, "insertion_order": 5, "extensions": {}, "use_regex": False}
BOOK = {
    "spec": "chara_card_v3", "spec_version": "3.0",
    "data": {"name": EN, "first_mes": "Hm?", "character_book": {"extensions": {}, "entries": [
        {**_ENTRY, "keys": ["tea"], "content": "@@depth 1\nTea is kept in a blue tin."},
        {**_ENTRY, "keys": ["/bisc\\w+/i"], "content": "Dogs may come in.", "use_regex": True},
    ]}},
}  # fmt: skip
READ = (
    ("GET", "/memories?character={character}&limit=20", None),
    ("GET", "/memories?character={character}&type=exchange&q={word}", None),
    ("POST", "/recall", {"character": "{character}", "text": "{asked}", "talk": "{talk}"}),
    ("GET", "/exchanges?character={character}&talk={talk}&limit=4", None),
    ("POST", "/query", {"character": "{character}", "query": "{asked}"}),
    ("GET", "/memories?character={character}&archived=true", None),
    ("POST", "/query_simple", {"character": "{character}", "query": "{said}", "version": "v22"}),
    ("GET", "/memories?character={character}&store=official", None),
    ("POST", "/expand_words", {"character": "{character}", "sentence": "{said}", "chinese_rd_count": 5}),
    ("GET", "/v1/models", None),
    ("GET", "/export?character={character}", None),
    ("GET", "/memories/user/nothing-there?character={character}", None),
)
LOOKS = (
    ("open", {}), ("room", {"do": "room", "room": "memories"}), ("trace", {}), ("room", {"do": "room", "room": "topics"}),
    ("search", {}), ("room", {"do": "room", "room": "studio"}), ("earlier", {}), ("room", {"do": "room", "room": "settings"}),
)  # fmt: skip
CLICKS = (
    {"do": "kind", "value": "fact"}, {"do": "search", "q": "团子"}, {"do": "kind", "value": "event"},
    {"do": "new", "value": "new_fact"}, {"do": "archived"}, {"do": "store", "value": "author"}, {"do": "store", "value": "mine"},
    {"do": "when", "q": "上周三"}, {"do": "ticks"}, {"do": "sort", "q": "oldest"},
)  # fmt: skip


class KeptInMemory(FolderStores):
    """The stores of all owners in this process; they outlive the house that closes."""

    def __init__(self, data: Path, clock: Clock, zone: tzinfo) -> None:
        super().__init__(data, clock, zone)
        self._make = lambda: MemoryStore(clock=clock, zone=zone)
        self._kept: dict[Any, MemoryStore] = {}

    def of(self, owner: Any) -> Callable[..., MemoryStore]:
        def opened(contained: object = None) -> MemoryStore:
            return self._kept.setdefault(owner, self._make())

        return opened

    def has(self, owner: Any) -> bool:
        return owner in self._kept


def furnish(folder: Path, store: dict[str, str]) -> None:
    settings = {
        "Agent": {"char": ZH}, "time": {"zone": str(ZONE)}, "recall": {"deadline_ms": 600_000}, "store": store,
        "roll": {"understand_at_rounds": 8, "oldest": 4, "cut_at_rounds": 12}, "reflection": {"counter": 12.0},
        "backups": {"keep": 0}, "web": {"language": "zh"},
    }  # fmt: skip
    settings["recall"]["recipes"] = {"by_topic": {"enabled": True}}  # type: ignore[index]
    (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
    for name, keys in CHARACTERS.items():
        owner = folder / "data" / "agents" / name
        (owner / "data_base").mkdir(parents=True)
        files = {"character.yaml": keys, "data_base/world.yaml": LORE[name]} | (
            {"events.yaml": OFFICIAL} if name == ZH else {}
        )
        for file, values in files.items():
            (owner / file).write_text(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), encoding="utf-8")
    (folder / "data" / "agents" / EN / "card.json").write_text(json.dumps(BOOK), encoding="utf-8")


class Stage:
    """A house over ``kind`` (files, memory or tables) whose steps are taken one by one. ``notes`` are what the last one said."""

    def __init__(self, folder: Path, kind: str, address: str = "") -> None:
        self.folder, self.kind = folder, kind
        furnish(folder, {"kind": "postgres", "address": address} if kind == "tables" else {"kind": "files"})
        self.clock = SetClock(moment(START))
        self.model = ScriptedModel(script.reply, script.answer, piece_chars=9)
        self.stores: Stores | None = None
        if kind == "memory":
            self.stores = KeptInMemory(folder / "data", self.clock, ZONE)
        self.batches: dict[str, list[str]] = {ZH: [], EN: []}
        self.notes: list[str] = []
        self._last = contextlib.ExitStack()
        self.open()

    def open(self) -> None:
        self.house = self._last.enter_context(
            House(
                self.folder / "data", self.folder / "config.yaml", clock=self.clock, model=self.model,
                embedder=HashEmbedder(64), tick_s=NO_TICK_S, stores=self.stores,
            )
        )  # fmt: skip
        self.house.ready()
        app = make_app(self.house)
        page, stop = page_server.beside(
            self.house, asyncio.Event(), Keyring(self.house.data, self.clock), open_here=True
        )
        self._last.callback(stop)
        self.api, self.page = (TestClient(one, base_url="http://127.0.0.1:8012") for one in (app, page))

    def close(self) -> None:
        self._last.close()

    def agent(self, character: str) -> Agent:
        return self.house.agent(character)

    # ---- asking

    def http(self, method: str, path: str, body: Any = None) -> Any:
        """Over HTTP; noted with its answer."""
        answer = self.api.request(method, path, json=body) if body is not None else self.api.request(method, path)
        self.notes.append(
            f"{method} {path} {json.dumps(body, ensure_ascii=False) if body else ''}\n{answer.status_code}"
        )
        with contextlib.suppress(ValueError):
            self.notes.append(json.dumps(answer.json(), ensure_ascii=False, indent=1))
            return answer.json()
        self.notes.append(answer.text)
        return None

    def look(self, character: str, talk: str, verb: str, language: str = "zh", **wish: Any) -> dict[str, Any]:
        body = {"character": character, "talk": talk, "tab": "t", "language": language, **wish}
        return self.page.post(f"/page/do/{verb}", json=body).json()  # type: ignore[no-any-return]

    def exchanges(self, character: str, mark: str = "*") -> list[dict[str, Any]]:
        """The rows of the log that have this mark: * on the path, - taken back."""
        rows = self.api.get("/export", params={"character": character}).json()["exchanges"]
        return [row for row in rows if row["mark"] == mark]

    def memories(self, character: str) -> list[dict[str, Any]]:
        listing = self.api.get("/memories", params={"character": character, "store": "user", "limit": 200}).json()
        return sorted(listing["memories"], key=lambda row: row["id"])

    def settle(self) -> None:
        """Until nothing happens behind the turns."""
        for character in CHARACTERS:
            self.agent(character).settle_indexes()

    # ---- steps

    def take(self, step: Step) -> None:
        self.notes.clear()
        getattr(self, step.kind)(step)
        self.settle()
        self.clock.advance(**step.draw().choice([{"minutes": 2}, {"minutes": 1}, {"minutes": 7}, {"hours": 2}]))

    def _turn(self, events: Iterator[TurnEvent]) -> None:
        for event in events:
            match event:
                case Recalled(id_, recollection):
                    hits = [(h.layer, h.recipe, h.id, round(h.score, 3), h.text) for h in recollection.hits]
                    dropped = [(one.hit.id, one.why) for one in recollection.dropped]
                    spans = [(one.phrase, one.start.isoformat(), one.end.isoformat()) for one in recollection.spans]
                    self.notes += [id_, *map(repr, (*spans, *hits, *dropped))]
                case Delta(text, instead):
                    self.notes.append(f"{'~' if instead else '>'} {text}")
                case Ended():
                    shown = (event.exchange.status, event.error, event.notice, event.is_cut, event.kind, event.cost)
                    self.notes.append(repr(shown))

    def say(self, step: Step) -> None:
        self._turn(self.agent(step.character).in_talk(step.talk).talk(step.words(SAID)))

    def ask(self, step: Step) -> None:
        self._turn(self.agent(step.character).in_talk(step.talk).talk(step.words(ASKED)))

    def again(self, step: Step) -> None:
        if self.exchanges(step.character):
            self._turn(self.agent(step.character).in_talk("").regenerate())

    def _some(self, step: Step, mark: str = "*", back: int = 25) -> dict[str, Any] | None:
        rows = self.exchanges(step.character, mark)[-back:]
        return step.draw().choice(rows) if rows else None

    def _change(self, step: Step, mark: str = "*", **change: Any) -> None:
        if row := self._some(step, mark):
            texts = {key: value(row) if callable(value) else value for key, value in change.items()}
            self.http("PATCH", f"/exchanges/{row['id']}", {"character": step.character, **texts})

    def correct(self, step: Step) -> None:
        self._change(step, user_text=step.words(SAID) + OTHER_WORDS[step.character])

    def correct_reply(self, step: Step) -> None:
        self._change(step, reply_text="……" + script.REPLIES[step.character][0])

    def choose(self, step: Step) -> None:
        self._change(step, variant=0)

    def branch(self, step: Step) -> None:
        self._change(step, action="branch")

    def retract(self, step: Step) -> None:
        self._change(step, action="retract")

    def restore(self, step: Step) -> None:
        self._change(step, mark="-", action="restore")

    def forget(self, step: Step) -> None:
        if row := self._some(step):
            self.http("DELETE", f"/memories/user/{row['id']}?character={step.character}")

    def _memory(self, step: Step, method: str, body: Any = None) -> None:
        if rows := self.memories(step.character):
            id_ = step.draw().choice(rows)["id"]
            self.http(method, f"/memories/user/{id_}?character={step.character}", body)

    def forget_memory(self, step: Step) -> None:
        self._memory(step, "DELETE")

    def edit_memory(self, step: Step) -> None:
        self._memory(step, "PATCH", {"text": step.words(SAID) + OTHER_WORDS[step.character]})

    def archive(self, step: Step) -> None:
        self._memory(step, "PATCH", {"archived": True})

    def pin(self, step: Step) -> None:
        self._memory(step, "PATCH", {"pinned": True})

    def add_fact(self, step: Step) -> None:
        body = {"store": "user", "type": "fact", "text": step.words(SAID)}
        self.http("POST", f"/memories?character={step.character}", body)

    def add_event(self, step: Step) -> None:
        body = {"store": "user", "type": "event", "text": step.words(SAID), "happened": "2025-02-14", "place": "西湖"}
        self.http("POST", f"/memories?character={step.character}", body)

    def bring(self, step: Step) -> None:
        rows = [
            {"at": at, "text": f"{text} {step.number}", "reply": reply} for at, text, reply in BROUGHT[step.character]
        ]
        body = {"character": step.character, "talk": f"旧 {step.number}", "exchanges": rows}
        self.batches[step.character].append(self.http("POST", "/ingest", body)["batch"])

    def take_back(self, step: Step) -> None:
        if self.batches[step.character]:
            self.http("DELETE", f"/ingest/{self.batches[step.character].pop()}?character={step.character}")

    def pause(self, step: Step) -> None:
        self.clock.advance(minutes=70)
        for character in CHARACTERS:
            self.agent(character).jobs.tick()

    def sleep(self, step: Step) -> None:
        self.clock.advance(hours=13)
        self.say(step)

    def finish(self, step: Step) -> None:
        self.agent(step.character).finish()

    def aside(self, step: Step) -> None:
        held = self.agent(step.character).hold()
        for words in (SAID, ASKED):
            self._turn(held.talk(step.words(words)))
        self._turn(held.regenerate())

    def front_end(self, step: Step) -> None:
        said, asked = step.words(SAID), step.words(ASKED)
        messages = [
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": said},
            {"role": "assistant", "content": "…"}, {"role": "user", "content": asked},
        ]  # fmt: skip
        body = {"model": step.character, "messages": messages, "moechat_chat": f"st {step.number // 60}"}
        self.http("POST", "/v1/chat/completions", body)

    def restart(self, step: Step) -> None:
        """The program ends and begins anew. Only what is in memory alone has no vectors then, and they are made first."""
        self.close()
        self.open()
        for character in CHARACTERS if self.kind == "memory" else ():
            agent = self.agent(character)
            agent.settle_indexes()
            agent.conversation.follow()
            agent.jobs.embed_some()

    def click(self, step: Step) -> None:
        action = step.draw().choice(CLICKS)
        for one in ({"do": "room", "room": "memories"}, action):
            shown = self.look(step.character, step.talk, "room", action=one)
        self.notes.append(json.dumps(shown, ensure_ascii=False))

    # ---- by hand

    def edit_day(self, step: Step) -> None:
        """Somebody changes what a day file says. Where there are no files, the owner corrects it."""
        agent = self.agent(step.character)
        agent.jobs.settle()
        row = self._some(step)
        if row is None:
            return
        new = f"{row['text']}{OTHER_WORDS[step.character]}{step.number}"
        if self.kind == "files":
            for path in sorted((self.house.data / "agents" / step.character / "memorys").glob("????-??-??.yaml")):
                text = path.read_text(encoding="utf-8")
                if f"{row['id']}:" in text:
                    head, id_, tail = text.partition(f"{row['id']}:")
                    path.write_text(head + id_ + tail.replace(str(row["text"]), new, 1), encoding="utf-8")
        else:
            agent.store.log.correct(row["id"], user=new)
        agent.conversation.follow()

    def edit_facts(self, step: Step) -> None:
        """Somebody writes a line into core memory."""
        agent, text = self.agent(step.character), step.words(SAID).replace("我", "用户")
        agent.jobs.settle()
        if self.kind == "files":
            with (self.house.data / "agents" / step.character / "core_mem.yml").open("a", encoding="utf-8") as file:
                file.write(f"hand-{step.number}: {json.dumps(text, ensure_ascii=False)}\n")
        else:
            fact = Fact(f"hand-{step.number}", None, FactDraft(text, ()), by="owner")
            agent.store.findings.put([fact])
        agent.conversation.follow()

    def edit_lore(self, step: Step) -> None:
        path = self.house.data / "agents" / step.character / "data_base" / "world.yaml"
        words = json.dumps(step.words(SAID), ensure_ascii=False)
        path.write_text(path.read_text(encoding="utf-8") + f"团子{step.number}: {words}\n", encoding="utf-8")
