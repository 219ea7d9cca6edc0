"""The floor under what the diary tells unasked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from moechat.index import traits
from moechat.index.hybrid import Doc, HybridIndex
from moechat.index.ranking import BY_CHANCE, ENOUGH, ENOUGH_WORDS, LATIN, TELLS, UNHEARD_NAME, WEIGHTS, Floor, search


def index(*texts: str) -> HybridIndex:
    made = HybridIndex(None, None)
    made.add([Doc(i, 60.0 * i, ("Ada", "Ben")[i % 2], text) for i, text in enumerate(texts)])
    return made


def diary(size: int) -> HybridIndex:
    """A parrot once, and many other things."""
    return index("I adopted a parrot", *(f"thing{i} stands on shelf{i}" for i in range(size)))


def share(text: str, made: HybridIndex) -> float:
    return Floor.of(text, made, 0.9).share


def test_words_that_were_never_heard_count_against_a_question() -> None:
    made = diary(400)
    assert (
        1.0
        == share("parrot on shelf7", made)
        > share("parrot on submarine", made)
        > share("quantum submarine", made)
        == 0
    )
    assert share("parrot or submarine", diary(2)) > share("parrot or submarine", made), (
        "in the first days they hardly do"
    )
    thanks = index(*["thank you so much"] * 60, *(f"thing{i} stands here" for i in range(200)))
    assert share("thank", thanks) < 0.3, "a question that says little counts little"
    assert share("Ada parrot shelf7", made) == share("parrot shelf7", made), "who talks is neither heard nor unheard"
    for text in ("", "?!", "the"):
        assert 0.0 <= share(text, diary(5)) <= 1.0
        assert share(text, HybridIndex(None, None)) == 0.0


def test_what_passes() -> None:
    cases = [  # floor, share of known words, features, whether it passes
        (0.9, 1.0, {"dense": 0.5, "window": ENOUGH, "cosine": 0.1}, True),
        (0.9, 1.0, {"dense": 0.5, "window": ENOUGH / 5, "cosine": 0.1}, False),
        (0.4, 0.0, {"cosine": 0.4}, True),
        (0.4, 0.0, {"cosine": 0.39}, False),
        (0.9, 1.0, {"window": (ENOUGH + ENOUGH_WORDS) / 2}, True),  # without a vector words need less
        (0.9, 1.0, {"window": (ENOUGH + ENOUGH_WORDS) / 2, "cosine": 0.1}, False),
        (0.9, 1.0, {"window": ENOUGH - 1.0, "cosine": 0.1, "speaker": 0.8 * WEIGHTS["speaker"]}, False),  # a pronoun
        (0.9, 1.0, {"window": ENOUGH - 1.0, "cosine": 0.1, "speaker": WEIGHTS["speaker"]}, True),  # a name
    ]
    assert [
        case for case in cases if bool(Floor(case[0], share=case[1], young=True).passes(case[2])) is not case[3]
    ] == []


def test_what_is_half_as_relevant_as_the_best_passes_but_in_a_young_diary() -> None:
    faint = {"window": np.array([2.0, 1.2, 0.9, -1.0]), "cosine": np.full(4, 0.1)}
    assert Floor(0.9, share=1.0).passes(faint).tolist() == [True, True, False, False]
    assert not Floor(0.9, share=1.0, young=True).passes(faint).any()


def hits(best: float, cosine: float) -> dict[str, np.ndarray]:
    """Ten hits of which the first is the best, all of a meaning so near."""
    return {"window": np.linspace(best, 0.0, 10), "cosine": np.full(10, cosine)}


def test_what_the_diary_never_heard_of_belongs_elsewhere() -> None:
    assert not Floor(0.3, share=0.1).belongs(hits(4.0, 0.15))
    assert Floor(0.3, share=0.9).belongs(hits(4.0, 0.3))
    chance = hits(0.5, 0.1)
    chance["cosine"][4] = 0.45
    assert not Floor(0.3, share=0.2).belongs(chance), "one near meaning among strangers is chance"
    assert Floor(0.3, share=0.2).belongs(hits(0.5, 0.5)), "several are not"


def test_to_what_wants_no_memory_little_belongs() -> None:
    near = hits(4.0, 0.35)
    assert Floor(0.3, share=0.5).belongs(near)
    assert not Floor(0.3, share=0.5, no_memory=1.0).belongs(near)
    assert Floor.of("where did i leave my parrot", diary(60), 0.3).no_memory < 0.1
    assert Floor.of("How far away is the moon?", diary(60), 0.3).no_memory > 0.9
    assert Floor.of("What are you afraid of?", diary(60), 0.3).no_memory < 0.1, "who asks about her asks what she said"
    assert Floor.of("你最怕什么？", diary(60), 0.3).no_memory < 0.1


def test_words_count_in_the_order_as_far_as_those_of_the_question_were_ever_heard() -> None:
    made = diary(60)
    plain, strange = (search(made, text, None, k=1) for text in ("parrot shelf7", "parrot shelf7 submarine quantum"))
    assert plain.docs.tolist() == strange.docs.tolist()
    assert plain.features["literal"] == strange.features["literal"]
    assert 0 < strange.features["lexical"][0] < plain.features["lexical"][0]


def test_a_young_or_empty_diary_and_one_without_vectors_shut_nobody_out() -> None:
    assert Floor.of("quantum submarine", diary(5), 0.3).belongs(hits(0.0, 0.1))
    assert Floor(0.3, share=0.0).belongs({"window": np.zeros(3), "cosine": np.full(3, np.nan)})
    assert Floor.of("parrot", HybridIndex(None, None), 0.3).belongs({"inside": np.zeros(0)})


def test_what_asks_nothing_or_names_a_stranger_must_belong_by_more() -> None:
    bar = BY_CHANCE * (1 + math.sqrt(2 * math.log(diary(60).lexical.count)))
    bars = {
        "我们什么时候去的敦煌": bar, "给我讲讲上次的敦煌": bar, "今天天气真不错": bar + TELLS,
        "Where did Ada find the parrot?": bar - LATIN, "Tell me about the parrot": bar - LATIN,
        "Where did Caroline find the parrot?": bar - LATIN + UNHEARD_NAME, "Wish me luck": bar - LATIN + TELLS,
    }  # fmt: skip
    assert {text: Floor.of(text, diary(60), 0.3).bar for text in bars} == pytest.approx(bars)
    question = "我们什么时候去的敦煌"
    assert Floor.of(question, diary(6000), 0.3).bar > bar, "in a larger diary something lies near to anything"


def test_the_same_page_is_one_telling_and_another_end_of_it_is_none() -> None:
    page = "，去公园跑了一圈" * 1000
    assert traits.telling_of(f"今天{page}") == traits.telling_of(f"昨天{page}")
    assert traits.telling_of(page) != traits.telling_of(f"{page}，下雨了")


def test_a_message_tells_as_far_as_it_asks_nothing() -> None:
    assert traits.telling("我养了一只猫") == traits.telling("我养了一只猫。它叫汤圆。") == 1.0
    assert traits.telling("我的猫叫什么来着") == 0.0
    assert 0.5 < traits.telling("我养了一只猫，昨天刚从救助站接回家。叫什么好？") < 0.6
    assert 0.6 < traits.telling("我养了一只猫，它叫什么好呢。昨天刚从救助站接回家的。") < 0.7


def test_of_a_short_telling_only_what_it_names_is_meant() -> None:
    little, more = Floor.of("下雨了", diary(60), 0.3), Floor.of("下雨了吗", diary(60), 0.3)
    by_meaning = hits(0.5, 0.9) | {"literal": np.zeros(10)}
    assert not np.any(little.passes(by_meaning))
    assert not little.belongs(by_meaning)
    assert np.all(more.passes(by_meaning))
    assert np.any(little.passes(by_meaning | {"literal": np.ones(10)}))
