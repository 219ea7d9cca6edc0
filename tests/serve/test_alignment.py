"""The history of a front end beside ours: what is new, what is the same again, and what is only told otherwise."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from front_end import FrontEnd

from moechat.serve.alignment import Alignment, SentTurn, TalkLine, TalkLines, align, choose
from moechat.serve.history import read

A, B, C = SentTurn("第一句话", "第一句回答"), SentTurn("第二句话", "第二句回答"), SentTurn("第三句话", "第三句回答")
OURS = [
    TalkLine("a", None, "第一句话", ("第一句回答",), 0),
    TalkLine("b", "a", "第二句话", ("旧的回答", "第二句回答"), 1),
    TalkLine("c", "b", "第三句话", ("第三句回答",), 0),
]


def test_what_a_history_means() -> None:
    cases = [
        ([A, B, C], "新的话", Alignment(ids=("a", "b", "c"))),
        ([A, B], "第三句话", Alignment(again="c", ids=("a", "b"))),
        ([A, SentTurn("第二句话", "旧的回答"), C], "新的话", Alignment(choices=(("b", 0),), ids=("a", "b", "c"))),
        ([A, SentTurn("改过的话", "第二句回答"), C], "新的话", Alignment(corrections={"b": "改过的话"}, ids=("a", "b", "c"))),
        ([A, B], "另一句话", Alignment(leaf="b", ids=("a", "b"))),
        ([A], "第二句话", Alignment(leaf="b", again="b", ids=("a",))), ([A], "别的话", Alignment(leaf="a", ids=("a",))),
        ([A, C], "新的话", Alignment(ids=("a", "c"))), ([B, C], "新的话", Alignment(ids=("b", "c"))),
        ([A, B, C, SentTurn("在别处说的话", "在别处的回答")], "新的话", Alignment(ids=("a", "b", "c"))),
        ([SentTurn("〔x〕", "〔1〕"), SentTurn("〔y〕", "〔2〕"), SentTurn("〔z〕", "〔3〕")], "新的话", Alignment()),
        ([], "第一句话", Alignment(leaf="a", again="a")),
        ([SentTurn(" 第一句话 ", "第一句回答\n"), B, C], "新的话", Alignment(ids=("a", "b", "c"))),
        ([A, SentTurn("第二句话", "第二句回答，还有很多很多"), C], "新的话", Alignment(ids=("a", "b", "c"))),
    ]  # fmt: skip
    assert [(turns, message, plan) for turns, message, plan in cases if align(turns, message, OURS, "c") != plan] == []


def test_a_front_end_that_rewrites_text_corrects_nothing() -> None:
    turns = [replace(turn, user=f"[阿明] {turn.user}") for turn in (A, B, C)]
    plan = align(turns, "新的话", OURS, "c")
    assert plan.corrections == {} and plan.ids == ("a", "b", "c") and not plan.leaf


def test_another_branch_of_ours_is_recognised() -> None:
    lines = [*OURS, TalkLine("d", "a", "岔开的话", ("岔开的回答",), 0)]
    assert align([A, B, C], "新的话", lines, "d") == Alignment(leaf="c", ids=("a", "b", "c"))
    assert align([A, SentTurn("岔开的话", "岔开的回答")], "新的话", lines, "c") == Alignment(leaf="d", ids=("a", "d"))


def test_the_same_words_again_are_another_message() -> None:
    lines = [TalkLine("a", None, "嗯", ("好。",), 0), TalkLine("b", "a", "嗯", ("好。",), 0)]
    again = SentTurn("嗯", "好。")
    assert align([again, again], "嗯", lines, "b") == Alignment(ids=("a", "b"))
    assert align([again], "嗯", lines[:1], "a") == Alignment(ids=("a",))
    assert align([again], "嗯", lines, "b") in (Alignment(again="b", ids=("a",)), Alignment(ids=("b",)))


def test_without_a_name_one_turn_alike_is_no_talk_of_ours() -> None:
    talks = [TalkLines("chat", OURS, "c")]
    assert choose([A, B], "新的话", talks) is not None
    assert choose([A], "第二句话", talks) is not None  # the first, on both sides
    assert choose([B], "新的话", talks) is None
    assert choose([A, SentTurn("x", "y"), SentTurn("z", "w")], "新的话", talks) is None
    assert choose([], "第一句话", talks) is None
    first = [TalkLine("a", None, "你好", ("你好呀",), 0, is_over=False)]
    assert choose([], "你好", [TalkLines("chat", first, "a")]) == ("chat", Alignment(again="a"))


def test_one_long_line_that_one_talk_alone_has_joins_it() -> None:
    told = "我养了一只叫豆豆的三花猫，它很怕打雷"
    ours = TalkLines("cat", [TalkLine("a", None, told, ("真可爱，下雨天要多陪陪它呀",), 0)], "a")
    dog = TalkLines("dog", [TalkLine("b", None, "我养了一只叫旺财的大黄狗", ("真可爱，下雨天要多陪陪它呀",), 0)], "b")
    cases: list[tuple[SentTurn, list[TalkLines], str]] = [
        (SentTurn(f"[12:03] 阿明: {told}", "（笑）"), [dog, ours], "cat"),
        (SentTurn("我养了一只叫豆豆的三花猫，它怕打雷！", "好可爱"), [dog, ours], "cat"),
        (SentTurn("说了点别的", "<i>真可爱，下雨天要多陪陪它呀</i>"), [ours], "cat"),
        (SentTurn("说了点别的", "<i>真可爱，下雨天要多陪陪它呀</i>"), [dog, ours], ""),  # both have it
        (SentTurn("猫", "真可爱"), [dog, ours], ""),  # too short
    ]
    wrong = []
    for turn, talks, name in cases:
        chosen = choose([turn], "新的话", talks)
        wrong += [] if (chosen[0] if chosen else "") == name else [(turn, chosen)]
    assert wrong == []


def test_what_may_be_of_two_talks_begins_another_until_that_tells_them_apart() -> None:
    twins = [TalkLines(name, OURS, "c") for name in ("one", "two")]
    assert choose([A, B, C], "新的话", twins) is None
    third = TalkLines("three", [TalkLine("d", None, "新的话说长一点", ("新的回答说长一点",), 0)], "d")
    chosen = choose([A, B, C, SentTurn("新的话说长一点", "新的回答说长一点")], "接着说", [third, *twins])
    assert chosen == ("three", Alignment(ids=("d",)))


# ---- many histories


@dataclass
class Ours:
    """Our side of a front end: talks that do what a plan says. ``begun`` counts how often each message was begun."""

    named: bool
    front: FrontEnd
    talks: dict[str, TalkLines] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)
    corrections: list[tuple[str, str]] = field(default_factory=list)
    asks: dict[str, str] = field(default_factory=dict)  # our exchange → the message of theirs
    gone: set[str] = field(default_factory=set)
    guesses: int = 0
    replies: int = 0
    sends_history: bool = False

    def ask(self, messages: Sequence[dict[str, str]]) -> str:
        history = read(messages)
        assert history.words is not None
        name, plan = self.place(history.turns, history.words)
        self.sends_history |= bool(history.turns)
        talk = self.talks.get(name, TalkLines(name, [], None))
        lines = {line.id: line for line in talk.lines}
        for id_, at in plan.choices:
            lines[id_] = replace(lines[id_], chosen=at)
        for id_, words in plan.corrections.items():
            lines[id_] = replace(lines[id_], user=words)
            self.corrections.append((id_, words))
        if self.named:
            standing = {turn[0] for turn in self.front.turns}
            self.guesses += sum(self.asks[id_] in standing for id_ in plan.gone)
            self.gone = self.gone.union(plan.gone).difference(plan.ids)
        leaf = plan.leaf or talk.leaf
        if not plan.again:
            id_ = f"x{sum(self.begun.values())}"
            self.asks[id_] = self.front.turns[-1][0]
            self.begun[self.front.turns[-1][0]] += 1
            lines = {key: replace(line, is_over=True) for key, line in lines.items()}
            begins = plan.begins and self.named and self.sends_history
            lines[id_] = TalkLine(id_, None if begins else leaf, history.words, is_over=False)
            leaf = id_
        self.replies += 1
        reply = "好。" if self.front.chance.random() < 0.05 else f"这是第{self.replies}个回答"
        line = lines[plan.again or leaf or ""]
        lines[line.id] = replace(line, replies=(*line.replies, history.begun + reply), chosen=len(line.replies))
        self.talks.pop(name, None)
        self.talks = {name: TalkLines(name, list(lines.values()), leaf), **self.talks}
        return reply

    def place(self, turns: Sequence[SentTurn], message: str) -> tuple[str, Alignment]:
        if self.named:
            talk = self.talks.get("chat", TalkLines("chat", [], None))
            return "chat", align(turns, message, talk.lines, talk.leaf)
        return choose(turns, message, list(self.talks.values())) or (f"chat{len(self.talks)}", Alignment())


def simulated(seed: int, *, named: bool) -> Ours:
    chance = random.Random(seed)
    front = FrontEnd(chance, window=chance.choice([0, 0, 0, 4, 8]), rewrites=chance.random() < 0.08)
    ours = Ours(named, front)
    for _ in range(chance.randint(4, 30)):
        front.step(ours.ask)
    return ours


@pytest.mark.parametrize("histories", [120, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("named", "most_doubles"), [(True, 0.0), (False, 0.01)])
def test_of_many_histories_hardly_a_message_is_begun_twice(named: bool, most_doubles: float, histories: int) -> None:
    messages = doubles = losses = wrong = guesses = missed = 0
    for seed in range(histories):
        ours = simulated(seed, named=named)
        messages += len(ours.front.asks)
        doubles += sum(count - 1 for count in ours.begun.values())
        losses += sum(ours.begun[id_] == 0 for id_ in ours.front.asks)
        wrong += sum("〔" in words for _, words in ours.corrections)
        guesses += ours.guesses
        missed += len(ours.front.removed.difference(ours.asks[id_] for id_ in ours.gone)) if named else 0
    print(f"{messages} messages, {doubles} doubles, {losses} losses, {wrong} wrong corrections")
    print(f"{guesses} taken back that stand, {missed} that were deleted and not taken back")
    assert guesses == 0
    assert doubles <= most_doubles * messages
    assert losses <= 0.01 * messages
    assert wrong == 0
