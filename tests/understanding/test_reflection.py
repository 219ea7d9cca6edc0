"""Reflection in the product: when, about what, what is stored, what goes, and what happens when things go wrong."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.ai.scripted import Line, ScriptedModel
from moechat.errors import ModelError
from moechat.index.dense import Dense
from moechat.memory.episodes import Episodes
from moechat.model import Episode, Event, Message, Understanding
from moechat.settings.prompts import Prompts
from moechat.store import formats
from moechat.store.disk import REFLECTIONS
from moechat.understanding.reflection import NEEDS_MODEL, ReflectionSettings, Reflector
from tests.houses import Home, edit, told

SETTINGS = ReflectionSettings(counter=15.0, llm_timeout_s=5.0)


def thinking(messages: Sequence[Message]) -> str:
    """A model that reflects: three questions; two insights about all it is shown; ratings of 7."""
    asked = messages[-1].content
    numbers = re.findall(r"^(\d+)\. ", asked, re.MULTILINE)
    if "高层次问题" in asked:
        return "1. 小林在意什么？\n2. 小林怕什么？\n3. 小林想要什么？"
    if "编号. 评分" in asked:
        return "\n".join(f"{number}. 7" for number in numbers)
    about = f"{asked.strip().splitlines()[-1]}（看了{len(numbers)}件事）"
    return f"1. 洞察一：{about} [{', '.join(numbers)}]\n2. 洞察二：{about} [{numbers[0]}]"


class Mind:
    """An owner's memory with a reflector over it; ``happens`` is one exchange, understood as one event."""

    def __init__(self, home: Home, model: ScriptedModel, settings: ReflectionSettings = SETTINGS) -> None:
        self.home, self.model, self.settings = home, model, settings
        self.open()

    def open(self) -> None:
        self.store = self.home.store()
        self.dense = Dense(self.home.folder / ".index", self.home.embedder)
        self.episodes = Episodes(self.store, self.dense)
        prompts = Prompts([Path(__file__).resolve().parents[2] / "prompts"], "zh")
        self.reflector = Reflector(
            self.store, self.episodes, self.dense, prompts, lambda: self.model, lambda: self.settings
        )
        self.sync()

    def close(self) -> None:
        self.dense.close()
        self.store.close()

    def again(self) -> None:
        self.close()
        self.open()

    def sync(self) -> None:
        self.store.follow(all_files=True)
        self.episodes.sync()
        self.episodes.vectors.embed_missing(threading.Event())

    def says(self, text: str) -> str:
        return told(self.store, self.home.clock, text, settle=True)

    def understand(self, id_: str, *events: Event) -> None:
        self.store.findings.merge([id_], Understanding({id_: "说了话"}, {}, (), events, trusted=True), [], {})
        self.sync()

    def happens(self, text: str, importance: float = 0.5) -> str:
        id_ = self.says(f"我{text}")
        self.understand(id_, Event(f"小林{text}", (id_,), importance=importance))
        return id_

    def days(self, count: int = 3) -> list[str]:
        """As many events as make a reflection due at .5 each."""
        return [self.happens(f"做了第{i}件事") for i in range(count)]

    @property
    def now(self) -> Any:
        return self.home.clock.now()

    def run(self) -> Any:
        report = self.reflector.run(self.now)
        self.sync()
        return report

    def reflections(self) -> list[Episode]:
        view = self.episodes.view(self.now)
        return [episode for episode in view.episodes(range(len(view))) if episode.kind == "reflection"]

    def events(self) -> list[Episode]:
        view = self.episodes.view(self.now)
        return [episode for episode in view.episodes(range(len(view))) if episode.kind == "event"]


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    made = Mind(Home.build(tmp_path), ScriptedModel(answers=thinking))
    yield made
    made.close()


def calls(mind: Mind) -> int:
    return len(mind.model.questions)


# ---- when


def test_at_zero_it_is_due_whatever_the_last_bit_says(mind: Mind) -> None:
    mind.settings = ReflectionSettings(counter=7.0)
    for i in range(6):
        mind.happens(f"做了{i}", 0.1)
    assert not mind.reflector.due(mind.now)
    mind.happens("又做了", 0.1)
    assert mind.reflector.due(mind.now)


def test_what_the_rules_found_counts_once_a_model_has_understood_it(mind: Mind) -> None:
    id_ = mind.says("我考上研究生了")
    found = Understanding({id_: "x"}, {}, (), (Event("用户考上研究生了", (id_,), importance=0.8),), by="rules")
    mind.store.findings.merge([id_], found, [], {}, understood=False)
    mind.sync()
    assert mind.reflector.counter(mind.now) == 15
    mind.understand(id_, Event("小林考上了研究生", (id_,), importance=0.9))
    assert mind.reflector.counter(mind.now) == pytest.approx(6)


def test_a_run_resets_the_counter_and_no_event_counts_twice(mind: Mind) -> None:
    mind.days()
    assert mind.run() is not None
    spent = calls(mind)
    assert mind.reflector.counter(mind.now) == 15
    assert mind.run() is None
    mind.again()
    assert mind.run() is None
    mind.close()
    shutil.rmtree(mind.home.folder / ".index")
    mind.open()
    assert mind.reflector.counter(mind.now) == 15
    assert mind.run() is None
    assert calls(mind) == spent
    mind.happens("散步", 0.4)
    assert mind.reflector.counter(mind.now) == pytest.approx(11)


def test_what_is_understood_after_a_run_counts_though_it_was_told_before(mind: Mind) -> None:
    late = mind.says("我还说过一件事")
    mind.days()
    assert mind.run() is not None
    assert mind.reflector.counter(mind.now) == 15
    mind.understand(late, Event("小林还做过一件事", (late,), importance=0.6))
    assert mind.reflector.counter(mind.now) == pytest.approx(9)
    mind.again()
    assert mind.reflector.counter(mind.now) == pytest.approx(9)


@given(st.lists(st.sampled_from(["understood", "later", "catch up", "again", "run", "restart"]), max_size=14))
@settings(max_examples=15)
def test_the_counter_is_that_of_a_plain_count_of_exchanges(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        mind = Mind(Home.build(Path(folder)), ScriptedModel(answers=thinking))
        new, counted, waiting = list[str](), list[str](), list[str]()
        for number, step in enumerate(steps):
            if step == "understood":
                new.append(mind.happens(f"做了{number}"))
            elif step == "later":
                waiting.append(mind.says(f"我说了{number}"))
            elif step == "catch up" and waiting:
                new.append(waiting.pop())
                mind.understand(new[-1], Event(f"小林说了{number}", (new[-1],)))
            elif step == "again" and counted:
                mind.understand(counted[0], Event(f"小林又说了{number}", (counted[0],)))
            elif step == "run" and 5 * len(new) >= 15 and mind.run() is not None:
                new, counted = [], counted + new
            elif step == "restart":
                mind.again()
            assert mind.reflector.counter(mind.now) == pytest.approx(15 - 5 * len(new)), (steps, number)
        mind.close()


def test_events_of_another_branch_do_not_count(mind: Mind) -> None:
    first, *_ = mind.days()
    mind.store.log.select(first)
    assert mind.reflector.counter(mind.now) == pytest.approx(10)


def test_switched_off_it_does_nothing(mind: Mind) -> None:
    mind.days()
    mind.settings = ReflectionSettings(enabled=False, counter=15.0)
    assert mind.run() is None
    assert mind.reflector.problem == ""


# ---- without a model that understands


def test_without_a_model_it_says_that_it_needs_one_and_does_nothing(mind: Mind) -> None:
    mind.model = ScriptedModel(answers=thinking, understands=False)
    assert mind.run() is None
    assert mind.reflector.problem == ""  # nothing to think about yet
    mind.days()
    assert not mind.reflector.due(mind.now)
    assert mind.run() is None
    assert mind.reflector.problem == NEEDS_MODEL
    assert calls(mind) == 0
    mind.model = ScriptedModel(answers=thinking)
    assert mind.run() is not None
    assert mind.reflector.problem == ""


# ---- what is asked and stored


def test_three_questions_an_answer_to_each_and_one_call_for_all_ratings(mind: Mind) -> None:
    ids = mind.days()
    report = mind.run()
    assert report.questions == ("小林在意什么？", "小林怕什么？", "小林想要什么？")
    assert report.cost.calls == calls(mind) == 5
    assert report.cost.tokens_in > report.cost.tokens_out > 0
    asked = [messages[-1].content for messages, _ in mind.model.questions]
    assert "1. 2025-05-20 小林做了第0件事\n2. 2025-05-20 小林做了第1件事\n3. 2025-05-20 小林做了第2件事" in asked[0]
    assert all(question in text for question, text in zip(report.questions, asked[1:4], strict=True))
    stored = mind.reflections()
    assert [e.event.text for e in stored] == [e.event.text for e in report.made]
    assert len(stored) == 6
    whole = stored[0]
    assert set(whole.evidence) == {episode.id for episode in mind.events()}
    assert set(whole.event.sources) == set(ids)
    assert (whole.kind, whole.by, whole.depth) == ("reflection", "model", 1)
    assert whole.event.importance == 0.7
    assert whole.expires == mind.now + timedelta(days=30)
    assert whole.at == mind.now
    assert whole.event.keywords


def test_reflections_come_back_from_the_files_as_they_were_made(mind: Mind) -> None:
    mind.days()
    made = mind.run().made
    mind.close()
    shutil.rmtree(mind.home.folder / ".index")
    mind.open()
    assert {e.id: e for e in mind.reflections()} == {e.id: e for e in made}


def test_reflections_may_be_evidence_of_later_ones_which_are_deeper(mind: Mind) -> None:
    mind.days()
    mind.run()
    mind.home.clock.advance(hours=1)
    mind.days()
    report = mind.run()
    assert any("洞察" in messages[-1].content.split("陈述")[-1] for messages, _ in mind.model.questions[5:9])
    assert max(episode.depth for episode in report.made) == 2
    first = {episode.id for episode in mind.reflections() if episode.depth == 1}
    assert all(first & set(episode.evidence) for episode in report.made if episode.depth == 2)


def test_an_expired_reflection_is_neither_recalled_nor_thought_about(mind: Mind) -> None:
    mind.days()
    made = mind.run().made
    mind.home.clock.advance(days=31)
    assert mind.reflections() == []
    mind.days()
    report = mind.run()
    assert not {e.id for e in made} & {id_ for e in report.made for id_ in e.evidence}


def test_evidence_that_does_not_exist_is_left_out_and_more_than_five_insights_are_condensed(mind: Mind) -> None:
    many = "\n".join(f"{i}. 第{i}条 [{i}, 99]" for i in range(1, 8))
    answers = iter(["1. 为什么？", many, "1. 都在一起 [1, 2]\n2. 只有一个 [3, 77]\n3. 没有 [50]", "1. 9\n2. 无"])
    mind.model = ScriptedModel(answers=answers)
    mind.days()
    made = mind.run().made
    assert [(e.event.text, len(e.evidence), e.event.importance) for e in made] == [
        ("都在一起", 2, 0.9), ("只有一个", 1, 0.5),
    ]  # fmt: skip


def test_a_rating_that_fails_costs_no_insight(mind: Mind) -> None:
    said = iter(["1. 为什么？", "1. 想念 [1]", ModelError("timeout", "late")])
    mind.model = ScriptedModel(answers=said)
    mind.days()
    assert [e.event.importance for e in mind.run().made] == [0.5]


def test_the_authors_events_are_neither_counted_nor_evidence(mind: Mind) -> None:
    authored = Episode("official", mind.now, Event("茶馆开张", (), importance=1.0), by="author")
    mind.episodes = Episodes(mind.store, mind.dense, lambda: (1, [authored]))
    mind.reflector.episodes = mind.episodes
    mind.sync()
    assert mind.reflector.counter(mind.now) == 15
    mind.days()
    assert all("official" not in e.evidence for e in mind.run().made)
    assert all("茶馆开张" not in messages[-1].content for messages, _ in mind.model.questions)


def test_insights_that_are_known_already_are_not_stored_twice_and_the_counter_begins_anew(mind: Mind) -> None:
    said = ["1. 为什么？", "1. 想念 [1]", "1. 7"]
    mind.model = ScriptedModel(answers=iter(said * 2))
    mind.days()
    first = mind.run()
    mind.days()
    second = mind.run()
    assert (len(first.made), second.made) == (1, ())
    assert len(mind.reflections()) == 1
    assert mind.reflector.counter(mind.now) == 15


def test_thinking_is_no_use_of_a_memory(mind: Mind) -> None:
    mind.days()
    mind.run()
    assert mind.store.state.access == {}


# ---- when things go wrong


def test_an_answer_that_cannot_be_used_stores_nothing_and_is_tried_again_later(mind: Mind) -> None:
    answers: list[Any] = ["我不知道。", *["没有证据的话"] * 3]
    mind.model = ScriptedModel(answers=iter(answers))
    mind.days()
    assert mind.run() is None
    assert mind.reflections() == []
    assert mind.reflector.counter(mind.now) <= 0
    assert "没有一条感悟写明依据" in mind.reflector.problem
    asked = calls(mind)
    assert not mind.reflector.due(mind.now)
    assert mind.run() is None
    assert calls(mind) == asked
    mind.home.clock.advance(seconds=SETTINGS.retry_s)
    mind.model = ScriptedModel(answers=thinking)
    assert mind.run() is not None
    assert mind.reflector.problem == ""


def test_each_failure_doubles_the_wait(mind: Mind) -> None:
    mind.model = ScriptedModel(answers=lambda _: ModelError("timeout", "late"))
    mind.days()
    waits = []
    for _ in range(3):
        assert mind.run() is None
        waits.append((mind.reflector.retry.not_before - mind.now).total_seconds())  # type: ignore[operator]
        mind.home.clock.at = mind.reflector.retry.not_before  # type: ignore[assignment]
    assert waits == [300, 600, 1200]
    assert mind.reflector.spent.calls == 3


@pytest.mark.parametrize("after", range(1, 5))
def test_a_failure_at_any_call_stores_nothing_and_moves_no_mark(mind: Mind, after: int) -> None:
    said = 0

    def failing(messages: Sequence[Message]) -> str | ModelError:
        nonlocal said
        said += 1
        return thinking(messages) if said < after else ModelError("broken_off", "gone")

    mind.model = ScriptedModel(answers=failing)
    mind.days()
    assert mind.run() is None
    assert mind.reflections() == []
    mind.again()
    mind.model = ScriptedModel(answers=thinking)
    assert len(mind.run().made) == 6


def test_told_to_stop_it_stores_nothing_and_does_not_wait_longer(mind: Mind) -> None:
    stopping = threading.Event()

    def stop(messages: Sequence[Message]) -> str:
        stopping.set()
        return thinking(messages)

    mind.model = ScriptedModel(answers=stop)
    mind.days()
    assert mind.reflector.run(mind.now, stopping) is None
    assert calls(mind) == 1
    assert mind.reflections() == []
    mind.model = ScriptedModel(answers=thinking)
    assert mind.run() is not None


@pytest.mark.parametrize("stood", [False, True])
def test_killed_while_its_reflections_are_stored_it_has_each_of_them_once_at_the_next_start(
    mind: Mind, stood: bool
) -> None:
    mind.days()
    put = mind.store.findings.put

    def killed(episodes: Sequence[Episode]) -> None:
        if stood:
            put(episodes)
        raise KeyboardInterrupt

    mind.store.findings.put = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        mind.run()
    mind.again()
    assert len(mind.reflections()) == (6 if stood else 0)
    asked = calls(mind)
    mind.reflector.tidy(mind.now)
    mind.sync()
    assert len(mind.reflections()) == 6
    assert mind.run() is None
    assert calls(mind) == asked
    assert "洞察" not in (mind.home.folder / REFLECTIONS).read_text(encoding="utf-8")


def test_a_broken_notes_file_keeps_what_was_found_until_it_is_mended(mind: Mind) -> None:
    mind.days()
    notes = mind.home.folder / "memorys/2025-05-20.notes.yaml"
    whole = notes.read_bytes()
    answered = ScriptedModel(answers=thinking)

    def breaking(messages: Sequence[Message]) -> str:
        notes.write_bytes(whole + b"oops: [\n")
        return thinking(messages)

    mind.model = ScriptedModel(answers=breaking)
    assert mind.reflector.run(mind.now) is None
    assert "notes.yaml" in mind.reflector.problem
    notes.write_bytes(whole)
    mind.model = answered
    mind.sync()
    mind.reflector.tidy(mind.now)
    mind.sync()
    assert len(mind.reflections()) == 6
    assert not answered.questions


def test_two_at_once_reflect_once(mind: Mind) -> None:
    hold = threading.Event()
    begun = threading.Event()

    def slow(messages: Sequence[Message]) -> str | Line:
        begun.set()
        return Line("", hold, then=thinking(messages))

    mind.days()
    mind.model = ScriptedModel(answers=slow)
    other = Mind(mind.home, ScriptedModel(answers=thinking))
    reports: list[Any] = []
    thread = threading.Thread(target=lambda: reports.append(mind.reflector.run(mind.now)))
    thread.start()
    assert begun.wait(60)
    assert other.run() is None  # another process
    assert mind.reflector.run(mind.now) is None  # another thread
    hold.set()
    thread.join()
    assert len(reports[0].made) == 6
    other.sync()
    assert other.run() is None
    assert calls(other) == 0
    other.close()


def test_what_is_taken_back_while_the_model_thinks_is_no_evidence(mind: Mind) -> None:
    ids = mind.days()

    def retracting(messages: Sequence[Message]) -> str:
        if "评分" in messages[-1].content:
            mind.store.log.retract(ids[0])
        return thinking(messages)

    mind.model = ScriptedModel(answers=retracting)
    mind.run()
    assert all(ids[0] not in episode.event.sources for episode in mind.reflections())


def test_a_record_that_cannot_be_read_begins_anew(mind: Mind) -> None:
    mind.days()
    mind.run()
    mind.close()
    (mind.home.folder / REFLECTIONS).write_text('{"until": "gone"}\n', encoding="utf-8")
    mind.open()
    assert mind.reflector.counter(mind.now) <= 0
    (problem,) = mind.store.problems
    assert REFLECTIONS in str(problem) and problem.line == 1


# ---- what is lost


def lose(mind: Mind, change: Callable[[str], object], *, at: int = 0) -> list[Episode]:
    """Three events reflected on, then a change of mind about one of them; returns the reflections before it."""
    ids = mind.days()
    mind.run()
    before = mind.reflections()
    change(ids[at])
    mind.sync()
    return before


def test_a_reflection_whose_evidence_is_taken_back_goes_and_the_rest_is_thought_about_anew(mind: Mind) -> None:
    before = lose(mind, mind.store.log.retract)
    mind.reflector.tidy(mind.now)
    left = mind.reflections()
    assert left == [] or all(len(e.evidence) == 1 for e in left)
    for id_ in mind.store.tree.pending():  # understood again, by the roll
        mind.understand(id_, Event(f"小林做的事{id_[-2:]}", (id_,), importance=0.5))
    asked = calls(mind)
    report = mind.run()
    assert calls(mind) == asked + 2  # insights over what is left, ratings
    assert report.questions == ()
    gone = {id_ for e in before for id_ in e.evidence} - {e.id for e in mind.events()}
    assert gone
    for episode in mind.reflections():
        assert not gone & set(episode.evidence)
    assert {e.id for e in report.made} <= {e.id for e in mind.reflections()}
    assert mind.run() is None
    assert mind.reflector.counter(mind.now) == 15


def test_the_rest_is_thought_about_only_when_it_is_understood_again(mind: Mind) -> None:
    lose(mind, lambda id_: mind.store.log.correct(id_, user="我没有做"))
    asked = calls(mind)
    assert mind.store.tree.pending()
    assert mind.run() is None
    assert calls(mind) == asked


def test_a_corrected_exchange_takes_its_reflections_with_it(mind: Mind) -> None:
    before = lose(mind, lambda id_: mind.store.log.correct(id_, user="我没有做"))
    cited = {id_ for e in before for id_ in e.event.sources}
    corrected = min(cited)
    mind.reflector.tidy(mind.now)
    mind.sync()
    assert all(corrected not in e.event.sources for e in mind.reflections())


def test_evidence_that_the_owner_edits_takes_its_reflections_with_it_and_all_that_rests_on_them(mind: Mind) -> None:
    mind.days()
    mind.run()
    mind.home.clock.advance(hours=1)
    mind.days()
    deep = [e for e in mind.run().made if e.depth == 2]
    assert deep
    notes = mind.home.folder / "memorys/2025-05-20.notes.yaml"
    edit(notes, "text: 小林做了第0件事", "text: 小林没有做第0件事情")
    mind.sync()
    gone = mind.reflector.tidy(mind.now)
    assert {e.id for e in deep} & set(gone)
    live = {e.id for e in [*mind.events(), *mind.reflections()]}
    assert all(set(e.evidence) <= live for e in mind.reflections())
    edited = next(e.id for e in mind.events() if "没有做" in e.event.text)
    assert all(edited not in e.evidence for e in mind.reflections())
    report = mind.run()
    assert report.questions == ()
    assert any(edited in e.evidence for e in report.made)


def test_a_reflection_that_the_owner_took_out_is_not_made_again(mind: Mind) -> None:
    mind.days()
    first = mind.run().made[0]
    mind.store.findings.take_out([first.id])
    mind.sync()
    asked = calls(mind)
    assert mind.run() is None
    assert calls(mind) == asked
    assert first.id not in {e.id for e in mind.reflections()}


def test_a_reflection_that_the_owner_edited_is_theirs_and_stays(mind: Mind) -> None:
    mind.days()
    mind.run()
    notes = mind.home.folder / "memorys/2025-05-20.notes.yaml"
    edit(notes, "text: 洞察一：小林在意什么？（看了3件事）", "text: 小林在意的是朋友")
    mind.sync()
    edit(notes, "text: 小林做了第0件事", "text: 小林没有做第0件事情")
    mind.sync()
    mind.reflector.tidy(mind.now)
    assert "小林在意的是朋友" in {e.event.text for e in mind.reflections()}


def test_archived_evidence_keeps_its_reflection(mind: Mind) -> None:
    mind.days()
    mind.run()
    event = mind.events()[0]
    mind.store.state.write([{"op": "archive", "ids": [event.id]}])
    mind.sync()
    assert mind.reflector.tidy(mind.now) == []
    assert len(mind.reflections()) == 6


def test_the_record_holds_ids_and_no_words(mind: Mind) -> None:
    mind.days()
    made = mind.run().made
    text = (mind.home.folder / REFLECTIONS).read_text(encoding="utf-8")
    told_ = json.loads(text)
    assert len(text.splitlines()) == 1
    assert {m["id"] for m in told_["made"]} == {e.id for e in made}
    assert "小林" not in text
    assert [m["id"] for m in told_["made"]] == [formats.derived_id(e.event.text, e.event.sources) for e in made]


def test_an_old_exchange_that_is_queued_anew_keeps_no_run_from_being_stored(mind: Mind) -> None:
    old = mind.happens("做了一件旧事", 0.1)
    with mind.store.writing():  # as the log is folded after a week
        sha = mind.store.tree.node(old).filed
        mind.store._log.rewrite([{"op": "past", "rows": [[old, None, sha]]}])
    mind.again()
    mind.store.requeue([old])
    mind.home.clock.advance(days=9)
    mind.days(4)
    assert mind.run().made
    assert mind.reflector._record.value.open == (old,)
