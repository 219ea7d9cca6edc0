"""Walks through a memory that changes its mind: what is recalled, what profile and page say, and what no byte holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.agent import Agent
from moechat.ai.scripted import ScriptedModel
from moechat.model import Message
from moechat.turn import Ended, Recalled, hit_rows
from tests.houses import Home, again, answer, day_files, fact, quoted, say, silent
from tests.oblivion import findings, nowhere, page, profile, prompt, recalled_text

ASKED = re.compile(r"^\[(\d+)\] 20.*\n用户> (.*)(?:\n角色> (.*))?$", re.MULTILINE)
Batch = Sequence[tuple[int, str, str]]
SETTINGS: dict[str, Any] = {"reflection": {"enabled": False}, "forgetting": {"merges": False}}


def asked(messages: Sequence[Message]) -> Batch:
    """(number, user, reply) of the exchanges that a model is asked to understand."""
    return [(int(number), user, reply) for number, user, reply in ASKED.findall(messages[-1].content)]


def number_of(batch: Batch, word: str) -> list[int]:
    return [number for number, user, reply in batch if word in user + reply]


def event(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {
        "text": text, "subject": "用户", "predicate": "", "object": "", "importance": 5, "sources": list(sources),
        **more,
    }  # fmt: skip


def days_text(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in day_files(folder))


# ---- two replies, another choice, and a change of an older message while a model thinks

OLD, NEW = "昨天我和栒沨去了旧槲桥看日出", "昨天我和妹妹去了新港看日出"
CAT, FIRST, SECOND = "我养了一只叫雪球的猫", "真好，周五我带它去极燚谷玩。", "雪球这个名字很可爱。"
OLD_WORDS, FIRST_WORDS, SECOND_WORDS = ("栒沨", "旧槲桥"), ("极燚谷",), ("这个名字很可爱",)


class Reader:
    """Understands what it is shown; ``while_it_thinks`` is run once, in the midst of it. Each answer has a number of its own."""

    def __init__(self) -> None:
        self.while_it_thinks: Callable[[], object] | None = None
        self.batches: list[Batch] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        batch = asked(messages)
        self.batches.append(batch)
        work, self.while_it_thinks = self.while_it_thinks, None
        if work is not None:
            work()
        number = len(self.batches)
        facts, events = [], []
        whole = " ".join(user + reply for _, user, reply in batch)
        old = "栒沨" if "栒沨" in whole else ""
        companion = old or ("妹妹" if "妹妹" in whole else "")
        for cat in number_of(batch, "雪球的猫"):
            facts.append(fact("用户养了一只叫雪球的猫", cat, keyword="宠物", target="雪球"))
            if companion:  # told of this exchange alone, in words of another one
                events.append(event(f"用户养猫，常带它去见{companion}", cat, keywords=[companion]))
            if number_of(batch, "极燚谷"):
                events.append(
                    event("小满答应周五带雪球去极燚谷", cat, subject="小满", place="极燚谷", status="planned")
                )
        for trip in number_of(batch, "看日出"):
            events.append(event(f"用户和{companion}看了日出", trip, object="日出", insight=f"用户和{companion}亲近"))
            facts.append(
                fact(f"用户有一个常一起出门的人叫{companion}", trip, kind="relation", keyword="同伴", target=companion)
            )
        made = json.loads(answer(len(batch), facts=facts, events=events, tag=f"第{number}答，{old}"))
        return json.dumps(made, ensure_ascii=False)


def test_another_reply_is_chosen_and_an_older_message_changed_while_a_model_thinks(tmp_path: Path) -> None:
    home, reader = Home.build(tmp_path, **SETTINGS), Reader()
    replies = iter(["日出一定很美。", FIRST, SECOND, "四月快乐。", "晚安。"])
    model = ScriptedModel(lambda _: next(replies, "嗯。"), quoted(reader))
    with home.agent(model) as agent:
        trip = say(agent, OLD).exchange.id
        home.clock.advance(minutes=1)
        cat = say(agent, CAT).exchange.id
        assert again(agent).exchange.char == SECOND
        agent.conversation.select(cat, 0)
        home.clock.advance(minutes=1)
        after = [say(agent, "四月快到了").exchange.id]
        home.clock.advance(minutes=1)
        after.append(say(agent, "我先去睡了").exchange.id)
        changed: list[str] = []

        def change() -> None:
            agent.conversation.correct(trip, user=NEW)
            changed.append(trip)

        reader.while_it_thinks = change
        agent.finish()
        agent.finish()
        agent.settle_indexes()
        first, *later = reader.batches
        assert changed
        assert [user for _, user, _ in first][:2] == [OLD, CAT]
        understood_again = [user for batch in later for _, user, _ in batch]
        assert sorted(understood_again) == sorted([NEW, *(user for _, user, _ in first[1:])])
        assert not agent.store.tree.pending()
        assert "第1答" not in findings(agent)
        assert "极燚谷" in findings(agent) and "妹妹" in findings(agent)
        old_words_are_gone(agent)

        agent.conversation.select(cat, 1)
        assert FIRST not in days_text(home.folder) and SECOND in days_text(home.folder)
        assert "极燚谷" not in findings(agent)
        assert cat in agent.store.tree.pending() or reader.batches[-1] == [(1, CAT, SECOND)]
        agent.finish()
        assert (1, CAT, SECOND) in reader.batches[-1]
        path_is(agent, [trip, cat, *after])

    home.clock.advance(weeks=6)
    with home.open(model) as house:  # a start compacts a longer log by itself
        assert house.agent().store.rewrite_log(home.clock.now() - timedelta(days=7))
    log = (home.folder / "log.jsonl").read_text(encoding="utf-8")
    assert OLD not in log and NEW not in log
    assert FIRST in log and SECOND in log
    with home.agent(model) as agent:
        path_is(agent, [trip, cat, *after])
        assert (row_of(agent, cat)["reply"], row_of(agent, cat)["variants"]) == (SECOND, 2)
        assert "极燚谷" not in findings(agent) and "雪球" in findings(agent)
        old_words_are_gone(agent)
        assert not any(word in recalled_text(agent, "周五小满要带雪球去哪") for word in FIRST_WORDS)
        assert not any(word in page(agent) for word in (*OLD_WORDS, *FIRST_WORDS))
        assert "用户养了一只叫雪球的猫" in profile(agent)
        shown = prompt(agent, model, "我养的猫还好吗")
        assert not any(word in shown for word in (*OLD_WORDS, *FIRST_WORDS)) and "雪球" in shown
        agent.finish()
        assert agent.verify()["problems"] == []
    nowhere(home.folder, ["第1答"])

    with home.agent(model) as agent:
        agent.conversation.select(cat, 0)
        assert row_of(agent, cat)["reply"] == FIRST
        assert FIRST in days_text(home.folder) and SECOND not in days_text(home.folder)
        agent.memories.forget([cat, trip])
        agent.settle_indexes()
        assert "雪球" not in "".join(profile(agent)) and "妹妹" not in findings(agent)
    nowhere(home.folder, [*OLD_WORDS, *FIRST_WORDS, *SECOND_WORDS, "雪球", "妹妹"], [OLD, NEW, CAT, FIRST, SECOND])


def row_of(agent: Agent, id_: str) -> dict[str, object]:
    return next(row for row in agent.log() if row["id"] == id_)


def path_is(agent: Agent, ids: Sequence[str]) -> None:
    """The talk runs through these, and the day files hold each of them once."""
    assert [one.exchange.id for one in agent.recent(100)] == ids
    assert [row["id"] for row in agent.log() if row["talk"] == "" and row["mark"] == "*"] == ids
    held = [str(key) for path in day_files(agent.store.folder) for key in yaml.safe_load(path.read_text("utf-8")) or {}]
    assert [key for key in held if key in ids] == ids


def old_words_are_gone(agent: Agent) -> None:
    for word in OLD_WORDS:
        assert word not in findings(agent)
        assert word not in "\n".join(profile(agent))
        assert word not in recalled_text(agent, "昨天我和谁去看了日出")
        assert word not in recalled_text(agent, f"我和{word}做了什么")
        assert word not in page(agent)
        assert word not in str(agent.log())


# ---- a fact that rules read, a model refined and its owner corrected, and then its exchange is forgotten


SAID, PLACE, QUARTER, MINE = "我住在杺州", "杺州", "滨涣区", "用户现在住在绍兴"
EARLIER = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)


def refining(messages: Sequence[Message]) -> str:
    """Knows the quarter, and says of every finding about the place that it can be told better."""
    batch, text = asked(messages), messages[-1].content
    facts, verdicts = [], []
    for number, earlier in EARLIER.findall(text):
        refined = PLACE in earlier and QUARTER not in earlier
        verdicts.append({"finding": int(number), "verdict": "refine" if refined else "keep", "words": ""})
        if refined:
            source = number_of(batch, SAID)[0]
            facts.append(
                fact(
                    f"用户住在{PLACE}{QUARTER}", source, keyword="住址", target=PLACE, single=True, refines=int(number)
                )
            )
    made = json.loads(answer(len(batch), facts=facts, tag="用户聊到家常"))
    return json.dumps(made | {"verdicts": verdicts}, ensure_ascii=False)


def test_a_fact_of_a_rule_and_of_a_model_that_its_owner_corrected_stays_when_its_exchange_is_forgotten(
    tmp_path: Path,
) -> None:
    home = Home.build(tmp_path, **SETTINGS)
    model = ScriptedModel(
        lambda messages: f"{PLACE}呀，真好。" if SAID in messages[-1].content else "嗯嗯。", quoted(refining)
    )
    with home.agent(model) as agent:
        neighbours = [say(agent, "今天下班真晚").exchange.id]
        home.clock.advance(minutes=1)
        spoken = say(agent, SAID).exchange
        home.clock.advance(minutes=1)
        neighbours.append(say(agent, "周末想去爬山").exchange.id)
        agent.jobs.settle()
        (read,) = [one for one in agent.store.findings.facts() if PLACE in one.text]
        assert (read.by, read.draft.sources) == ("rules", (spoken.id,))
        agent.finish()
        (refined,) = [one for one in agent.layers.core.current() if PLACE in one.text]
        assert (refined.by, refined.draft.sources, refined.supersedes) == ("model", (spoken.id,), (read.id,))
        assert QUARTER in refined.text and refined.text in profile(agent) and read.text not in profile(agent)

        agent.memories.edit(refined.id, MINE)
        agent.settle_indexes()
        assert MINE in profile(agent) and refined.text not in profile(agent)
        home.clock.advance(hours=1)
        preview = agent.memories.forgets([spoken.id])
        assert [one.text for one in preview.stays] == [MINE]
        assert {spoken.id, read.id} <= {one.id for one in preview.goes} and MINE not in str(preview.goes)
        assert [one.id for one in preview.repeats] == []
        agent.memories.forget([spoken.id])
        agent.settle_indexes()
        owners_words_stand(agent, model, neighbours)
        assert not {read.id, refined.id}.intersection(one.id for one in agent.store.findings.facts())
    nowhere(home.folder, [PLACE, QUARTER, read.id, refined.id], [spoken.user, spoken.char, read.text, refined.text])

    home.clock.advance(days=1)
    with home.agent(model) as agent:
        before = len(model.questions)
        agent.store.requeue(neighbours)
        agent.finish()
        agent.settle_indexes()
        questions = "\n".join(message.content for messages, _ in model.questions[before:] for message in messages)
        assert "周末想去爬山" in questions and PLACE not in questions and QUARTER not in questions
        owners_words_stand(agent, model, neighbours)
        assert agent.verify()["problems"] == []
    nowhere(home.folder, [PLACE, QUARTER, read.id, refined.id], [spoken.user, spoken.char, read.text, refined.text])


def owners_words_stand(agent: Agent, model: ScriptedModel, neighbours: Sequence[str]) -> None:
    """What the owner wrote is the one fact, without a source; of what was forgotten nothing is shown anywhere."""
    (mine,) = agent.store.findings.facts()
    assert (mine.text, mine.by, mine.draft.sources) == (MINE, "owner", ())
    assert profile(agent) == [MINE]
    assert [row["id"] for row in agent.log()][:2] == list(neighbours)
    assert MINE in recalled_text(agent, "我住在哪里")
    assert MINE.replace("用户", "你") in page(agent) and MINE.removeprefix("用户") in prompt(
        agent, model, "你还记得我住在哪里吗"
    )
    for shown in (findings(agent), recalled_text(agent, "我住在哪里"), page(agent), page(agent, archived=True)):
        assert PLACE not in shown and QUARTER not in shown


# ---- a reply on its way, and what its prompt holds beside what was recalled


@pytest.mark.parametrize("place", ["overview", "context"])
def test_a_reply_whose_prompt_held_a_forgotten_exchange_is_not_stored(tmp_path: Path, place: str) -> None:
    home = Home.build(tmp_path, **SETTINGS)
    model = silent()
    with home.open(model) as house, home.open(silent()) as elsewhere:
        agent = house.agent()
        for number in range(8):
            say(agent, f"昨天我和同学{number}去了{number}号湖")
            home.clock.advance(minutes=1)
        agent.finish()
        if place == "overview":
            home.clock.advance(days=2)  # all of it has left the context
        turn = agent.talk("昨天我做了什么" if place == "overview" else "嗯")
        recalled, _ = next(turn), next(turn)
        assert isinstance(recalled, Recalled)
        rows = [row["id"] for row in hit_rows(recalled.recollection)]
        rests_on = {*rows, *(source for hit in recalled.recollection.hits for source in hit.sources)}
        shown = "\n".join(message.content for message in model.requests[-1].messages)
        lost = next(
            row["id"]
            for row in agent.log()
            if row["id"] not in rests_on and (word := re.search(r"同学\d", str(row["text"]))) and word[0] in shown
        )
        elsewhere.agent().memories.forget([str(lost)])
        *_, ended = turn
        assert isinstance(ended, Ended)
        assert (ended.exchange.char, ended.exchange.status) == ("", "failed")
        assert "再问" in ended.error
