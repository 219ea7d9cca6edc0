"""Forgotten means gone, in sixty situations: after each, no byte of the folder holds the words, in whatever usual encoding,
in zips, free pages or vectors, and no later prompt does; or whoever forgot was told before, or is asked where it came back."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.clock import SetClock
from moechat.curation import keeper
from moechat.curation.brought import came_back
from moechat.errors import DataError
from moechat.house import House
from moechat.model import Episode, Event, Exchange, Fact, FactDraft, RefusedItem, Understanding
from moechat.store import archive, backups, erasure, transfer
from moechat.store.files import FileStore
from moechat.store.formats import derived_id
from moechat.store.postgres.connections import OwnerName, Postgres
from moechat.store.postgres.store import PostgresStore
from tests.attack.checks import remains
from tests.houses import ZONE, Home, answer, day_files, moment, polite, say
from tests.pg_server import fresh_name

THING, ENGLISH, JAPANESE = "翡翠平安扣", "jadeite amulet", "ヒスイのお守り"
WORDS = (THING, ENGLISH, JAPANESE)
SECRET, PRONOUN, PLAIN = f"我有一块{THING}，是秘密", "昨天我把它送给妈妈了", "今天吃了面"
IDS = dict[str, str]


@dataclass
class Scene:
    """A memory in which a secret was said, then something that a model resolves by it, then something else."""

    home: Home
    house: House
    address: str
    agent: Agent
    model: ScriptedModel
    ids: dict[str, str] = field(default_factory=dict)
    first: str = ""
    told: set[str] = field(default_factory=set)
    """Names of files, or words of the preview, that were told before."""

    def say(self, text: str) -> str:
        id_ = say(self.agent, text).exchange.id
        self.home.clock.advance(minutes=3)
        return id_

    def understood(self, of: Sequence[str], shown: Sequence[str] = (), **found: Any) -> None:
        """What a model made of exchanges, by a call that was ``shown`` others."""
        store = self.agent.store
        facts = [Fact(derived_id(one.text, one.sources), self.home.clock.now(), one) for one in found.get("facts", ())]
        with suppress(AttributeError):  # as an older version kept nothing of its calls
            store.note_calls([(list(of), [*of, *shown])])
        understanding = Understanding(
            {id_: found.get("tag", "说了些什么") for id_ in of}, {id_: found.get("keywords", ()) for id_ in of},
            tuple(found.get("facts", ())), tuple(found.get("events", ())), refused=tuple(found.get("refused", ())),
        )  # fmt: skip
        store.findings.merge(list(of), understanding, facts, {})
        self.agent.look()

    @property
    def event(self) -> str:
        return next(e.id for e in self.agent.store.findings.citing(list(self.ids.values())) if e.kind == "event")

    def later(self, count: int = 45) -> str:
        for number in range(count):
            id_ = self.agent.record(f"第{number}句闲话", "嗯。", self.home.clock.now())
            self.home.clock.advance(minutes=1)
        self.agent.finish(asks_model=False)
        return id_


def opened(home: Home, address: str, ids: IDS) -> Scene:
    model = ScriptedModel(polite, lambda messages: answer(0))
    house = home.open(model)
    return Scene(home, house, address, house.agent(), model, dict(ids), ids.get("secret", ""))


def beginning(folder: Path, address: str) -> Scene:
    """What all scenes begin with, closed."""
    home = Home.build(folder, understanding={"batch_size": 100})
    home.configure(store={"address": address})
    scene = opened(home, address, {})
    for name, text in (("secret", SECRET), ("pronoun", PRONOUN), ("plain", PLAIN)):
        scene.ids[name] = scene.say(text)
    scene.agent.finish(asks_model=False)
    scene.agent.store.mark_understood(list(scene.ids.values()), "model")
    scene.house.close()
    return scene


def begun(first: Scene, folder: Path) -> Scene:
    shutil.copytree(first.home.data.parent, folder)
    home = Home(folder / "data", folder / "config.yaml", SetClock(first.home.clock.at))
    return opened(home, first.address, first.ids)


def finding(**found: Any) -> Callable[[Scene], None]:
    """A model read the first two exchanges in one call, and says of the second what the first tells."""

    def make(scene: Scene) -> None:
        of = scene.ids["pronoun"]
        events = [replace(one, sources=(of,)) for one in found.get("events", ())]
        facts = [replace(one, sources=(of,)) for one in found.get("facts", ())]
        refused = [replace(one, sources=(of,)) for one in found.get("refused", ())]
        scene.understood([of], [scene.ids["secret"]], **found | {"events": events, "facts": facts, "refused": refused})

    return make


def event(**more: Any) -> Callable[[Scene], None]:
    return finding(events=[Event(**{"text": "用户把它送给了妈妈", "sources": ()} | more)])


def fact(text: str = "用户把它送给了妈妈", **more: Any) -> Callable[[Scene], None]:
    return finding(facts=[FactDraft(text, (), **more)])


def standing(kind: str, steps: int = 1) -> Callable[[Scene], None]:
    """Long after, a call is shown a fact about the secret, and says of another exchange what it tells."""

    def make(scene: Scene) -> None:
        scene.understood([scene.ids["secret"]], facts=[FactDraft(f"用户有一块{THING}", (scene.ids["secret"],))])
        shown = next(one.id for one in scene.agent.store.findings.facts() if THING in one.text)
        for step in range(steps):
            scene.later()
            of = scene.agent.record(f"它真好看{step}", "嗯。", scene.home.clock.now())
            scene.agent.finish(asks_model=False)
            draft = {"events": [Event(f"用户觉得{THING}好看{step}", (of,))]}
            draft = draft if kind == "event" else {"facts": [FactDraft(f"用户觉得{THING}好看{step}", (of,))]}
            scene.understood([of], [shown], **draft)
            findings = [*scene.agent.store.findings.facts(), *scene.agent.store.findings.citing([of])]
            shown = next(one.id for one in findings if f"好看{step}" in str(one))

    return make


def topic_tree(scene: Scene) -> None:
    of = scene.later()
    own = Event("用户收好了一样东西", (scene.ids["secret"],), topic=f"物品->{THING}")
    scene.understood([scene.ids["secret"]], events=[own])
    scene.understood([of], events=[Event("用户擦了擦它", (of,), topic=f"物品->{THING}")])


def _thought(text: str, scene: Scene, evidence: Sequence[str], depth: int) -> Episode:
    sources = (scene.ids["plain"],)
    at = scene.home.clock.now()
    return Episode(derived_id(text, sources), at, Event(text, sources), "reflection", "model", tuple(evidence), depth)


def reflection(cited: bool, deep: bool = False) -> Callable[[Scene], None]:
    def make(scene: Scene) -> None:
        events = [Event(f"用户有{THING}", (scene.ids["secret"],)), Event("用户吃了面", (scene.ids["plain"],))]
        for one in events:
            scene.understood(list(one.sources), events=[one])
        ids = {one.text: derived_id(one.text, one.sources) for one in events}
        rests = list(ids.values()) if cited else [ids["用户吃了面"]]
        thought = _thought(f"用户看重{THING}", scene, rests, 1)
        thoughts = [thought, *([_thought(f"{THING}是牵挂", scene, [thought.id], 2)] if deep else [])]
        with suppress(AttributeError):
            for one in thoughts:
                scene.agent.store.note_calls([([one.id], [*ids.values(), *one.evidence])])
        scene.agent.store.findings.put(thoughts)
        scene.agent.look()

    return make


def summary(scene: Scene) -> None:
    secret, plain = scene.ids["secret"], scene.ids["plain"]
    parts = [FactDraft(f"用户有{THING}", (secret,), keyword="有"), FactDraft("用户有面", (plain,), keyword="有")]
    for one in parts:
        scene.understood(list(one.sources), facts=[one])
    whole = FactDraft(f"用户有{THING}和面", (secret, plain), keyword="有")
    replaced = tuple(derived_id(one.text, one.sources) for one in parts)
    scene.agent.store.findings.put(
        [
            Fact(
                derived_id(whole.text, whole.sources),
                scene.home.clock.now(),
                whole,
                replaced,
                "model",
                consolidated=True,
            )
        ]
    )


def marked(verb: str, make: Callable[[Scene], None]) -> Callable[[Scene], None]:
    def then(scene: Scene) -> None:
        make(scene)
        getattr(scene.agent.memories, verb)([scene.event])

    return then


def variant(own: str, text: str) -> Callable[[Scene], None]:
    """The secret was understood in another language than it was told in, and so was what tells of it."""

    def make(scene: Scene) -> None:
        scene.understood([scene.ids["secret"]], facts=[FactDraft(own, (scene.ids["secret"],))])
        scene.understood([scene.ids["pronoun"]], [scene.ids["secret"]], events=[Event(text, (scene.ids["pronoun"],))])

    return make


# ---- talk


def corrected(scene: Scene) -> None:
    scene.agent.conversation.correct(scene.ids["secret"], user="我有一样东西，是秘密")


def another_reply(scene: Scene) -> None:
    scene.ids["secret"] = scene.say("我有一样东西")
    scene.model._next_reply = lambda _: f"是{THING}吗"
    list(scene.agent.conversation.regenerate())
    scene.model._next_reply = polite
    scene.agent.finish(asks_model=False)


def branch(scene: Scene) -> None:
    scene.agent.conversation.select(scene.ids["secret"])
    scene.say("换个话题")


def in_another_talk(scene: Scene) -> None:
    scene.ids["secret"] = next(
        e.exchange.id for e in list(scene.agent.in_talk("二").talk(SECRET)) if hasattr(e, "exchange")
    )
    scene.agent.jobs.settle("二")


def talk_title(scene: Scene) -> None:
    in_another_talk(scene)
    scene.agent.store.log.tell_talk("二", title=f"说{THING}")
    scene.told.add("title")


def taken_back(scene: Scene) -> None:
    scene.agent.conversation.retract(scene.ids["secret"])


def unsettled(scene: Scene) -> None:
    scene.ids["secret"] = scene.say(SECRET + "！")


def recalled(scene: Scene) -> None:
    scene.say("还记得我的秘密吗")
    scene.agent.finish(asks_model=False)


def frozen(scene: Scene) -> None:
    scene.understood(
        [scene.ids["secret"]], facts=[FactDraft(f"用户叫{THING}", (scene.ids["secret"],), keyword="名字", single=True)]
    )
    scene.agent.store.log.cut(scene.ids["plain"])
    scene.say("你好")


def topic_renamed(scene: Scene) -> None:
    event(text="用户送礼", topic="物品->礼物")(scene)
    scene.agent.topics.rename("物品->礼物", f"物品->{THING}")
    scene.told.add("rename")


def pinned_plan(scene: Scene) -> None:
    event(
        status="planned",
        text=f"用户要送{THING}",
        happened=(moment("2025-05-22T00:00:00"), moment("2025-05-22T23:00:00")),
    )(scene)
    scene.home.clock.advance(days=2)
    scene.say("早")


# ---- what comes and goes


def imported(scene: Scene) -> None:
    rows = [
        Exchange("", moment("2024-01-01T09:00:00"), SECRET, "好"),
        Exchange("", moment("2024-01-01T09:05:00"), PRONOUN, "好"),
    ]
    scene.agent.store.imports.add(rows, talk="旧")
    scene.ids["secret"], scene.ids["pronoun"] = [
        row for row in scene.agent.store.tree.numbered() if row.startswith("2024")
    ]
    event(text=f"用户送出{THING}")(scene)


def copied_to_another(scene: Scene) -> None:
    event(text=f"用户送出{THING}")(scene)
    other = scene.home.folder.parent / "阿岚"
    shutil.copytree(scene.home.folder, other, ignore=lambda _, names: {n for n in names if n != "character.yaml"})
    from moechat.curation.brought import copied

    copied(scene.agent.memories, [scene.event], scene.house.agent("阿岚").memories)


def exported(kind: str) -> Callable[[Scene], None]:
    def make(scene: Scene) -> None:
        path = scene.home.data.parent / "export.zip"
        with path.open("wb") as target:
            if kind == "character":
                scene.house.studio.export_archive("小满", target, memory=True)
            else:
                scene.house.studio.export_memory("小满", target)
        scene.agent = scene.house.agent()
        scene.agent.memories.exports.note(path)

    return make


def card(scene: Scene) -> None:
    """A card holds no memory."""
    assert THING.encode() not in scene.house.studio.export_card("小满", "json")


def backed_up(scene: Scene) -> None:
    backups.back_up(scene.agent.store, scene.home.clock.now(), 3)


def upgraded(scene: Scene) -> None:
    shutil.copytree(scene.home.folder / "memorys", scene.home.folder / "backups" / "format-2" / "memorys")


def left(*names: str, form: Callable[[bytes], bytes] = bytes) -> Callable[[Scene], None]:
    def make(scene: Scene) -> None:
        (day,) = day_files(scene.home.folder)
        for name in names:
            path = scene.home.folder / name.replace("DAY", day.name)
            path.write_bytes(form(day.read_bytes()))

    return make


def zipped(data: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as into:
        into.writestr("day.yaml", data)
    return target.getvalue()


PLACES: dict[str, Callable[[Scene], None]] = {
    "an event": event(text=f"用户把{THING}送给了妈妈"), "a fact": fact(f"用户的{THING}给了妈妈"),
    "a tag": finding(tag=f"送出{THING}"), "keywords": finding(keywords=(THING,)),
    "a topic": event(topic=f"物品->{THING}"), "a related topic": event(related=(f"物品->{THING}",)),
    "a place": event(place=f"{THING}店"), "an object": event(object=THING), "an insight": event(insight=f"他看重{THING}"),
    "a scene": event(scene=f"递出{THING}"), "a feeling": event(emotion="舍不得", object=THING),
    "a plan": pinned_plan, "a promise": event(subject="角色", text=f"角色答应保管{THING}", status="planned"),
    "a state": fact(f"用户戴着{THING}", start="2025-05"), "a boundary": fact(f"别提{THING}", kind="boundary", target=THING),
    "a quote": event(quote=f"把{THING}送给妈妈"), "a ruling": fact(f"{THING}不在了", kind="ruling", keyword="ended"),
    "a refused answer": finding(refused=[RefusedItem("fact", f"用户有{THING}", "verdict", ())]),
    "an event by a standing fact": standing("event"), "a fact by a standing fact": standing("fact"),
    "an event by an event by a standing fact": standing("event", 2), "the topic tree": topic_tree,
    "a reflection on it": reflection(True), "a reflection beside it": reflection(False),
    "a thought on that": reflection(False, True),
    "a summary": summary, "an archived event": marked("archive", event(text=f"送出{THING}")),
    "a pinned event": marked("pin", event(text=f"送出{THING}")),
    "English": variant(f"The user has a {ENGLISH}", f"The user gave the {ENGLISH} to their mother"),
    "Japanese": variant(f"ユーザーは{JAPANESE}を持つ", f"ユーザーは{JAPANESE}を母に贈った"),
    "English of Chinese alone": event(text=f"The user gave the {ENGLISH} away"),
    "words before a correction": corrected, "a reply that was not chosen": another_reply, "a branch": branch,
    "another talk": in_another_talk, "the title of a talk": talk_title, "what was taken back": taken_back,
    "what has not settled": unsettled, "a reply that recalled it": recalled, "the frozen profile": frozen,
    "the name of a topic": topic_renamed, "an import": imported, "a copy to another character": copied_to_another,
    "a card": card, "an export of the character": exported("character"), "an export of the memory": exported("memory"),
    "backups": backed_up, "the copy of an upgrade": upgraded,
    "editors' leftovers": left(
        "memorys/DAY~", "memorys/DAY.bak", "memorys/DAY.orig", "memorys/#DAY#", "memorys/.DAY.swp", "log (1).jsonl",
    ),
    "a leftover in UTF-16": left("memorys/DAY~", form=lambda data: data.decode().encode("utf-16")),
    "a leftover in a zip": left("day.zip", form=zipped),
}  # fmt: skip


def forgotten(scene: Scene) -> None:
    """As an owner does: told before, with what is offered ticked."""
    if scene.first not in scene.agent.store.tree:  # a kill is survived
        return
    ids, memories = list(dict.fromkeys([scene.first, scene.ids["secret"]])), scene.agent.memories
    preview = memories.forgets(ids)
    also = [one.id for one in getattr(preview, "beside", ()) if any(word in one.text for word in WORDS)]
    files = getattr(preview, "files", ())
    memories.forget([*ids, *also], *([files] if files else []))


def killed(scene: Scene, *, half_way: bool) -> None:
    """The program ends after the decision, or in the middle of erasing; the next one goes on."""
    event(text=f"用户把{THING}送给了妈妈")(scene)
    store = scene.agent.store
    erasure.forget(store, keeper._gone(store, [scene.first]))

    def stop() -> None:
        raise DataError("x", "killed")

    if half_way:
        with suppress(DataError):
            erasure.erase(store, stop)
    scene.house.close()
    scene.house = scene.home.open(scene.model)
    scene.agent = scene.house.agent()
    scene.agent.settle_indexes()
    scene.agent.jobs.tick()
    scene.agent.settle_indexes()


def into_tables(scene: Scene, before: Path) -> None:
    """The older folder moves into a database, where it is looked through as well; the folder itself is erased."""
    older = FileStore(before, clock=scene.home.clock, zone=ZONE)
    with closing(Postgres(scene.address)) as database, closing(older):
        there = PostgresStore(database, OwnerName(fresh_name(), ""), clock=scene.home.clock, zone=ZONE)
        transfer.copy(older, there)
        assert any(came_back(there, "en"))
        assert scene.first in there.hidden()
        erasure.forget(there, erasure.gone(there, exchanges=list(there.state.returned), episodes=(), facts=()))
        assert erasure.erase(there, lambda: None)
        rows = there._session.all("SELECT sent, heard FROM exchanges WHERE owner_id = %(owner)s")
        assert THING not in str([rows, there.findings.facts(), list(there.calls()), there.log])


def left_over(scene: Scene) -> list[str]:
    """Where the words still are, untold."""
    scene.agent.look()
    asked = len(scene.model.requests), len(scene.model.questions)
    for text in ("我有什么秘密", "妈妈收到了什么", "早"):
        say(scene.agent, text)
    scene.agent.finish()
    prompts = [str(one.messages) for one in scene.model.requests[asked[0] :]]
    prompts += [str(messages) for messages, _ in scene.model.questions[asked[1] :]]
    there = [f"a prompt: {word}" for word in WORDS for prompt in prompts if word in prompt]
    scene.house.close()
    there += remains(scene.home.folder, WORDS)
    other = scene.home.folder.parent / "阿岚"
    exports = scene.agent.memories.exports.listed()
    told = any("阿岚" in one for one in exports) if other.exists() else True
    there += [] if told else remains(other, WORDS)
    export = scene.home.data.parent / "export.zip"
    return there + ([] if not export.exists() or str(export.resolve()) in exports else ["an export"])


# ---- what comes back


def back(*names: str) -> Callable[[Scene], None]:
    """Older files are laid in the place of those that stand there."""

    def then(scene: Scene, before: Path) -> None:
        for pattern in names:
            for path in before.glob(pattern):
                shutil.copy(path, scene.home.folder / path.relative_to(before))
        erase_again(scene)

    return then


def erase_again(scene: Scene) -> None:
    """What came back was told, and is erased once more."""
    scene.agent.look()
    assert any(came_back(scene.agent.store, "zh")), "it is told that it came back"
    scene.agent.brought.erase_again()


def restored(scene: Scene, before: Path) -> None:
    scene.house.close()
    with (before.parent / "older.zip").open("wb") as target:
        archive.pack(target, before, "memory", "小满", scene.home.clock.now(), memory=True)
    for path in scene.home.folder.iterdir():
        if path.name != "character.yaml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    archive.unpack(before.parent / "older.zip", scene.home.folder)
    scene.house = scene.home.open(scene.model)
    scene.agent = scene.house.agent()
    erase_again(scene)


def imported_again(scene: Scene, before: Path) -> None:
    rows = [Exchange("", moment("2025-05-20T15:00:00"), SECRET, "嗯，我记住了。")]
    scene.agent.store.imports.add(rows, talk="旧")
    erase_again(scene)


PLACES |= {
    "a kill after the decision": partial(killed, half_way=False), "a kill half-way": partial(killed, half_way=True),
}  # fmt: skip
RETURNS: dict[str, Callable[[Scene, Path], None]] = {
    "an older day": back("memorys/*.yaml"), "an older day without its notes": back("memorys/????-??-??.yaml"),
    "older notes": back("memorys/*.notes.yaml"), "an older log": back("log.jsonl"), "older facts": back("core_mem.yml"),
    "an older log and day": back("log.jsonl", "memorys/*.yaml"), "an older backup": restored, "imported again": imported_again,
    "moved into a database": into_tables,
}  # fmt: skip


def test_in_sixty_situations_it_is_gone_or_told(tmp_path: Path, address: str) -> None:
    failures: dict[str, object] = {}
    first = beginning(tmp_path / "first", address)
    for number, (name, make) in enumerate(PLACES.items()):
        scene = begun(first, tmp_path / str(number))
        try:
            make(scene)
            forgotten(scene)
            if there := left_over(scene):
                failures[name] = there
        except Exception as error:  # noqa: BLE001 - the table tells all of them
            failures[name] = repr(error)
        finally:
            scene.house.close()
    for number, (name, come_back) in enumerate(RETURNS.items(), len(PLACES)):
        scene = begun(first, tmp_path / str(number))
        try:
            scene.understood(
                [scene.ids["secret"]], facts=[FactDraft(f"用户有{THING}", (scene.ids["secret"],))], tag=f"有{THING}"
            )
            before = tmp_path / f"before{number}"
            shutil.copytree(scene.home.folder, before)
            forgotten(scene)
            come_back(scene, before)
            if there := left_over(scene):
                failures[name] = there
        except Exception as error:  # noqa: BLE001
            failures[name] = repr(error)
        finally:
            scene.house.close()
    count = len(PLACES) + len(RETURNS)
    print(f"{count - len(failures)} of {count}", *(f"{name}: {why}" for name, why in failures.items()), sep="\n")
    assert failures == {}
