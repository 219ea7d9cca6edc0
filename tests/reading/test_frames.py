"""What a sentence states by frames: values are heard in words that no example has, and none in words that only look so."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from moechat.model import Exchange
from moechat.reading import examples, frames, network
from moechat.rules.reading import understand

AT = datetime(2026, 5, 4, 20, tzinfo=UTC)


def facts(text: str) -> set[tuple[str, str, str]]:
    return {(one.entity, one.keyword, one.target) for one in understand(Exchange("x", AT, text, "")).facts}


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("hiya, i'm mara, 34, i live in bristol", {("user", "name", "Mara"), ("user", "age", "34"), ("user", "home", "Bristol")}),
        ("my daughter ivy is three", {("user", "daughter", "Ivy"), ("Ivy", "age", "3")}),
        ("my sister lives in leeds", {("sister", "home", "Leeds")}),
        ("im 34, accountant, live in leeds", {("user", "age", "34"), ("user", "job", "accountant"), ("user", "home", "Leeds")}),
        ("dairy goes right through me", {("user", "allergy", "dairy")}),
        ("我叫李雷今年34住杭州", {("user", "名字", "李雷"), ("user", "住址", "杭州")}),
        ("搬到苏州第三年了", {("user", "住址", "苏州")}),
        ("我姐姐住在杭州", {("姐姐", "住址", "杭州")}),
        ("干了二十年焊工", {("user", "职业", "焊工")}),
        ("left Hartley for good, i work at Corvane since monday", {("user", "employer", "Corvane")}),
        ("从恒远物流出来了，现在在速达快运", {("user", "工作单位", "速达快运")}),
        ("gave up fencing, i'm learning the oboe now", {("user", "learning", "the oboe")}),
    ],
)  # fmt: skip
def test_a_fact_is_heard_however_it_is_typed(text: str, stated: set[tuple[str, str, str]]) -> None:
    assert stated <= facts(text)


@pytest.mark.parametrize(
    "text",
    [
        "65 quid for a haircut", "there were two, 31", "einstein's birthday is march 14", "i'm a mess today",
        "if i lived in leeds i'd cycle", "do you live in leeds?", "call me later", "i'm 90% sure",
        "the lad next door is a welder", "my phone is 7", "stuck in frankfurt, send snacks",
        "爱因斯坦的生日是3月14", "我是夜猫子", "要是我住杭州就好了", "气温34", "我被公司裁员了", "叫我起床", "我该当护士还是老师",
        "I left Penlan Road on Tuesday, can't find the kettle", "yeah keto is finished, had a bagel and saw god",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_fact_state_none(text: str) -> None:
    assert facts(text) == set()


def test_what_another_has_is_not_the_users() -> None:
    told = "my brother is allergic to nuts", "我弟对花生过敏", "my mum speaks welsh", "我妈会说粤语"
    assert {entity for text in told for entity, _, _ in facts(text)} == {"brother", "弟", "mum", "妈"}


def test_a_passage_is_read_as_gated_recurrent_units_read_it() -> None:
    text, of = "i'm mara and 我养了两只猫", frames.Frames.load(frames.FITTED).arrays

    def read(states: list[np.ndarray], at: int, way: int) -> list[np.ndarray]:
        entering, staying = (of[name][at, way] for name in ("entering", "staying"))
        entering_bias, staying_bias = (of[f"{name}_bias"][at, way] for name in ("entering", "staying"))
        state, seen = np.zeros(len(staying)), []
        for one in states:
            enter = np.split(one @ entering + entering_bias, 3)
            stay = np.split(state @ staying + staying_bias, 3)
            reset, update = (1 / (1 + np.exp(-(enter[gate] + stay[gate]))) for gate in (0, 1))
            state = (1 - update) * np.tanh(enter[2] + reset * stay[2]) + update * state
            seen.append(state)
        return seen

    every = []
    for at, forms in enumerate(of["forms"]):
        inner = np.tanh(network.in_context(text) @ of["projection"][at] + of["projection_bias"][at])
        states = [
            np.append(one, sum(forms[slot] for slot in slots))
            for one, slots in zip(inner, network.forms(text), strict=True)
        ]
        both = zip(read(states, at, 0), read(states[::-1], at, 1)[::-1], strict=True)
        scores = [np.append(*pair) @ of["kinds"][at] + of["kinds_bias"][at] for pair in both]
        every.append([np.exp(one[:-1]) / np.exp(one[:-1]).sum() for one in scores])
    chances, _ = frames.Frames.load(frames.FITTED).chances(text)
    assert np.allclose(chances, np.mean(every, axis=0), atol=1e-4)


def test_each_mark_of_the_examples_is_of_a_kind_that_is_weighed_and_kept_as_something() -> None:
    kinds = {value.kind for one in frames.examples() for value in one.values}
    assert kinds == set(frames.Frames.load(frames.FITTED).kinds) - {frames.NONE}


def test_the_stored_weights_are_those_of_the_frames() -> None:
    assert frames.Frames.load(frames.FITTED).examples == frames.digest(frames.examples()), "make sayings"


@pytest.mark.parametrize("text", ["I'm learning Spanish", "我最近在学日语"])
def test_who_learns_a_language_answers_what_he_speaks_and_what_he_studies(text: str) -> None:
    assert all(examples.stated(text, kind)[0] > frames.LIKELY for kind in ("language", "major"))
    assert examples.stated(text, "home")[0] < frames.LIKELY


ANSWERS = {
    "name": ["我叫林晓", "my name is Kit Howell"], "named": ["我的猫叫年糕", "my brother is called Tom"],
    "who": ["我有个妹妹", "my sister Amy lives next door"], "have": ["我离婚了", "I have a cat", "I'm divorced"],
    "age": ["我今年28岁", "I'm 31 years old"], "birthday": ["我的生日是5月20日", "my birthday is on May 20"],
    "home": ["我住在杭州", "I live in Leeds"], "hometown": ["我来自成都", "I'm originally from Cork"],
    "job": ["我是护士", "I work as a plumber"], "employer": ["我在阿里巴巴上班", "I work at Boeing"],
    "school": ["我在浙江大学读书", "I go to Leeds University"], "major": ["我学的是法律", "I study chemistry"],
    "language": ["我会说法语", "I speak Spanish"], "allergy": ["我对花生过敏", "I'm allergic to peanuts"],
    "health": ["我有糖尿病", "I have diabetes"], "like": ["我喜欢猫", "I love hiking"],
    "dislike": ["我讨厌香菜", "I hate coriander"],
}  # fmt: skip


def test_what_states_the_answer_to_each_kind_of_question_is_found_and_small_talk_states_none() -> None:
    assert set(ANSWERS) == set(examples.STATED)
    missed = {
        text for kind, texts in ANSWERS.items() for text in texts if examples.stated(text, kind)[0] < frames.LIKELY
    }
    wrong = {
        kind for kind in ANSWERS for text in ("今天天气真好", "see you later") if examples.stated(text, kind)[0] > 0.1
    }
    assert (missed, wrong) == (set(), set())
    assert examples.stated("我住在杭州", "") == (0.0, 0.0)
    assert examples.stated("我住在杭州", "home")[1] > 0.9 > 0.5 > examples.stated("我朋友住在杭州", "home")[1]
