"""The verbs that are attacked, one function each.

A verb is called with an open ``Scene`` and reports through it what was shown. Another one is added by writing its function
and its row in ``VERBS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from moechat.agent import Agent
from moechat.clock import SetClock
from moechat.house import House
from moechat.model import Exchange
from moechat.turn import Delta, Ended, Recalled
from tests.attack.operations import First
from tests.attack.owner import CORRECTED, LATEST, MARKERS, NAME, OLD, SECRET, TOWN, Place, by_text
from tests.houses import day_files, edit, moment, say

Report = Callable[..., None]
CAT_FACT = f"用户养了一只叫{NAME}zqcat的猫"
WALK_EVENT = f"用户和{SECRET}zqa去了{SECRET}桥散心"
SPOKEN, BEFORE = "第13句，昨天我和小林去了玉带桥", "第12句，昨天我和表姐去了风雨桥"
IMPORTED = [
    Exchange(
        "", moment(f"2024-03-{day:02}T09:{minute:02}:00"),
        f"第{100 * day + minute}句，昨天我和{TOWN}zqi{day}x{minute}去了{TOWN}桥", f"听到了zqj{day}x{minute}。",
    )
    for day in range(1, 4) for minute in range(3)
]  # fmt: skip
"""Three days of talk in another program."""
OF_IMPORT = (TOWN, "zqi1x0", "zqj3x2", "tag102x")


@dataclass
class Scene:
    """An open owner. ``shows`` reports what was shown: it is not to be lost. ``turns`` are replies that stay on their way."""

    place: Place
    house: House
    shows: Report
    turns: list[Any] = field(default_factory=list)

    @property
    def agent(self) -> Agent:
        return self.house.agent()

    @property
    def clock(self) -> SetClock:
        assert isinstance(self.house.clock, SetClock)
        return self.house.clock


Step = Callable[[Scene], None]


def nothing(scene: Scene) -> None:
    pass


# ---- talking


def talk(scene: Scene) -> None:
    """One turn, and what follows it."""
    _follow_turn(scene, scene.agent.talk(SPOKEN))


def regenerate(scene: Scene) -> None:
    _follow_turn(scene, scene.agent.conversation.regenerate())


def _follow_turn(scene: Scene, turn: Any) -> None:
    for event in turn:
        match event:
            case Recalled(id_, _):
                scene.shows(id=id_, begun=True)
            case Delta(text):
                scene.shows(piece=text)
            case Ended(exchange, error):
                scene.shows(id=exchange.id, reply=exchange.char, error=error)


def one_open(scene: Scene) -> None:
    """The last message is answered and not settled."""
    say(scene.agent, BEFORE)


def two_replies(scene: Scene) -> None:
    one_open(scene)
    list(scene.agent.conversation.regenerate())


def settle(scene: Scene) -> None:
    scene.agent.jobs.settle()


def roll(scene: Scene) -> None:
    scene.agent.finish()


def close(scene: Scene) -> None:
    scene.house.close()


# ---- changes of mind


def correct(scene: Scene) -> None:
    scene.agent.conversation.correct(LATEST, user="第11句，昨天我和教练去了新桥", char="哦，是新桥。")


def correct_old(scene: Scene) -> None:
    scene.agent.conversation.correct(OLD, user="第3句，昨天我和别人去了别的桥")


def select(scene: Scene) -> None:
    """The first of two replies, of an exchange that has not settled."""
    scene.agent.conversation.select(_last(scene), 0)


def two_replies_filed(scene: Scene) -> None:
    two_replies(scene)
    scene.agent.finish()


def branch(scene: Scene) -> None:
    scene.agent.conversation.select(CORRECTED)


def retract(scene: Scene) -> None:
    scene.agent.conversation.retract(LATEST)


def retracted(scene: Scene) -> None:
    scene.agent.conversation.retract(LATEST)
    scene.agent.finish()


def restore(scene: Scene) -> None:
    scene.agent.conversation.restore(LATEST)


# ---- other talks, imports


def talk_elsewhere(scene: Scene) -> None:
    """The first message of another talk over the same memory."""
    _follow_turn(scene, scene.agent.in_talk("另一场").talk(SPOKEN))


def one_open_elsewhere(scene: Scene) -> None:
    list(scene.agent.in_talk("另一场").talk(BEFORE))


def settle_all(scene: Scene) -> None:
    scene.agent.jobs.settle()


def import_talk(scene: Scene) -> None:
    scene.agent.store.imports.add(IMPORTED, talk="旧聊天")


def imported(scene: Scene) -> None:
    import_talk(scene)
    scene.agent.finish()


def take_back(scene: Scene) -> None:
    (batch,) = scene.agent.store.tree.batches
    scene.agent.memories.take_back(batch)


def _last(scene: Scene) -> str:
    return str(scene.agent.log()[-1]["id"])


# ---- looking after memories


def forget_old(scene: Scene) -> None:
    """An exchange of an earlier day, which later replies rest on."""
    scene.agent.memories.forget([OLD])


def reply_on_its_way(scene: Scene) -> None:
    """A reply streams in another talk; it rests on all that was ever said."""
    turn = scene.agent.in_talk("另一场").talk("第14句，还记得前几天我去的那座桥吗")
    scene.turns.append(turn)
    next(event for event in turn if isinstance(event, Delta))


def forget_meanwhile(scene: Scene) -> None:
    """The reply is not stored: it rests on what is forgotten. It is read to its end also where nothing could be forgotten:
    a turn that is held holds up the background."""
    try:
        forget_old(scene)
    finally:
        list(scene.turns.pop())


def forget_corrected(scene: Scene) -> None:
    """An exchange of the context that had other words and other replies before."""
    scene.agent.memories.forget([CORRECTED])


def forget_fact(scene: Scene) -> None:
    scene.agent.memories.forget([by_text(scene.agent, "fact", "zqcat")])


def forget_event(scene: Scene) -> None:
    scene.agent.memories.forget([by_text(scene.agent, "event", "zqa 散心")])


def archive(scene: Scene) -> None:
    scene.agent.memories.archive([by_text(scene.agent, "fact", "煤球"), by_text(scene.agent, "event", "石板桥 散心")])


def unarchive(scene: Scene) -> None:
    page = scene.agent.memories.listed(["fact", "event"], archived=True, limit=0)
    scene.agent.memories.restore([one.id for one in page.memories])


def pin(scene: Scene) -> None:
    scene.agent.memories.pin([by_text(scene.agent, "fact", "煤球")])


def add_fact(scene: Scene) -> None:
    scene.agent.memories.add_fact("用户养了一只叫豆包的猫", keyword="宠物", target="豆包")


def add_event(scene: Scene) -> None:
    scene.agent.memories.add_event("用户在五月三日去了海边", happened="2025-05-03")


def edit_fact(scene: Scene) -> None:
    scene.agent.memories.edit(by_text(scene.agent, "fact", "煤球"), "用户养了一只叫煤球二号的猫")


def edit_event(scene: Scene) -> None:
    scene.agent.memories.edit(by_text(scene.agent, "event", "石板桥 散心"), "用户和师兄去了石板桥钓鱼")


# ---- hands, and upkeep


def edit_by_hand(scene: Scene) -> None:
    edit(day_files(scene.place.owner)[1], "去了石板桥", "去了很长的石板桥")


def delete_by_hand(scene: Scene) -> None:
    day_files(scene.place.owner)[1].unlink()


def make_old(scene: Scene) -> None:
    """The folder is as format 1 left it: nothing says its number."""
    (scene.place.owner / "format").unlink()


def follow(scene: Scene) -> None:
    scene.agent.conversation.follow()
    scene.agent.finish()


def much_talk(scene: Scene) -> None:
    """So much talk that the log is worth folding, once a week has gone by."""
    store, first = scene.agent.store, datetime.fromisoformat(scene.place.now) - timedelta(days=2)
    for number in range(510):
        id_ = store.log.begin(f"很多话里的第{number}句话", first + timedelta(minutes=number))
        store.log.finish(id_, f"很多话里的第{number}句答话", "done")
    store.log.settle()
    store.mark_understood(store.tree.pending(), "rules")


def compact(scene: Scene) -> None:
    scene.clock.advance(days=30)
    scene.agent.store.compact()


def rebuild(scene: Scene) -> None:
    scene.house.rebuild(None, None, vectors=False, progress=lambda *_: None)


# ---- the table


@dataclass(frozen=True)
class Cut:
    """A verb that the process before was killed in."""

    act: Step
    at: First


DECIDED, ALMOST, STAGED = First("fsync", "log.jsonl"), First("open", ".log.jsonl.*"), First("replace", "imports/*")


@dataclass(frozen=True)
class Verb:
    """``arrange`` makes the folder that the verb begins with, ``cut`` kills the process that does so in another verb;
    ``by_hand`` is done to it before each attack, unwatched.
    ``forgets`` are marker words of which nothing may be left once it is done. ``turns``: its reply may be broken off by the
    kill. ``opens``: it is watched from the opening of the owner on. ``closes``:
    nothing is left open. ``large``: it takes long to arrange."""

    name: str
    act: Step
    arrange: Step = nothing
    cut: Cut | None = None
    by_hand: Step = nothing
    forgets: tuple[str, ...] = ()
    turns: bool = False
    opens: bool = False
    closes: bool = False
    large: bool = False

    @property
    def begins_with(self) -> tuple[Step, Cut | None]:
        return self.arrange, self.cut


BASE = Verb("", nothing).begins_with


VERBS = {
    verb.name: verb
    for verb in (
        Verb("talk", talk, turns=True),
        Verb("talk after an open one", talk, one_open, turns=True),
        Verb("regenerate", regenerate, one_open, turns=True),
        Verb("regenerate one that is filed", regenerate, turns=True),
        Verb("settle", settle, one_open),
        Verb("roll", roll, one_open),
        Verb("close", close, one_open, closes=True),
        Verb("open", nothing, one_open, opens=True),
        Verb("correct", correct),
        Verb("correct an old one", correct_old),
        Verb("select a reply", select, two_replies),
        Verb("select a reply of a filed one", select, two_replies_filed),
        Verb("branch", branch),
        Verb("retract", retract),
        Verb("restore", restore, retracted),
        Verb("forget an exchange", forget_old, forgets=MARKERS[OLD]),
        Verb("forget a corrected exchange", forget_corrected, forgets=MARKERS[CORRECTED]),
        Verb("forget what a reply rests on", forget_meanwhile, by_hand=reply_on_its_way, forgets=MARKERS[OLD]),
        Verb("forget a fact", forget_fact, forgets=(CAT_FACT,)),
        Verb("forget an event", forget_event, forgets=(WALK_EVENT,)),
        Verb("talk elsewhere", talk_elsewhere, turns=True),
        Verb("talk after an open one elsewhere", talk, one_open_elsewhere, turns=True),
        Verb("settle two talks", settle_all, one_open_elsewhere),
        Verb("import", import_talk),
        Verb("take an import back", take_back, imported, forgets=OF_IMPORT),
        Verb(
            "open after a forgetting was decided",
            nothing,
            opens=True,
            cut=Cut(forget_corrected, DECIDED),
            forgets=MARKERS[CORRECTED],
        ),
        Verb(
            "open after a forgetting was almost done",
            nothing,
            opens=True,
            cut=Cut(forget_old, ALMOST),
            forgets=MARKERS[OLD],
        ),
        Verb("open after an import was staged", nothing, opens=True, cut=Cut(import_talk, STAGED)),
        Verb("open after an import was decided", nothing, opens=True, cut=Cut(import_talk, DECIDED)),
        Verb(
            "open after taking back was decided",
            nothing,
            imported,
            opens=True,
            cut=Cut(take_back, DECIDED),
            forgets=OF_IMPORT,
        ),
        Verb("archive", archive),
        Verb("restore from the archive", unarchive, archive),
        Verb("pin", pin),
        Verb("add a fact", add_fact),
        Verb("add an event", add_event),
        Verb("edit a fact", edit_fact),
        Verb("edit an event", edit_event),
        Verb("follow an edited day file", follow, by_hand=edit_by_hand),
        Verb("follow a deleted day file", follow, by_hand=delete_by_hand),
        Verb("upgrade", nothing, by_hand=make_old, opens=True),
        Verb("compact", compact, much_talk, large=True),
        Verb("rebuild", rebuild),
    )
}
