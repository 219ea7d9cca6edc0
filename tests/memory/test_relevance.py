"""The floor under what the diary tells unasked."""

from __future__ import annotations

import numpy as np
import pytest

from moechat.index.hybrid import WEIGHTS, Doc, HybridIndex
from moechat.memory.relevance import ENOUGH, ENOUGH_WORDS, LATIN, TELLS, UNHEARD_NAME, Floor


def index(*texts: str) -> HybridIndex:
    made = HybridIndex(None, None)
    made.add([Doc(i, 60.0 * i, ("Ada", "Ben")[i % 2], text) for i, text in enumerate(texts)])
    return made


def diary(size: int) -> HybridIndex:
    """A parrot once, and many other things."""
    return index("I adopted a parrot", *(f"thing{i} stands on shelf{i}" for i in range(size)))


def test_words_that_were_never_heard_count_against_a_question() -> None:
    made = diary(400)
    known = Floor.of("parrot on shelf7", made, 0.9).share
    half = Floor.of("parrot on submarine", made, 0.9).share
    none = Floor.of("quantum submarine", made, 0.9).share
    assert 1.0 == known > half > none == 0.0


def test_in_the_first_days_they_hardly_count() -> None:
    assert Floor.of("parrot or submarine", diary(2), 0.9).share > Floor.of("parrot or submarine", diary(400), 0.9).share


def test_a_question_that_says_little_counts_little() -> None:
    made = index(*["thank you so much"] * 60, *(f"thing{i} stands here" for i in range(200)))
    assert Floor.of("thank", made, 0.9).share < 0.3


def test_the_names_of_those_who_talk_are_neither_heard_nor_unheard() -> None:
    made = diary(400)
    assert Floor.of("Ada parrot shelf7", made, 0.9).share == Floor.of("parrot shelf7", made, 0.9).share


def test_features_that_add_up_pass_and_those_of_unheard_words_do_not() -> None:
    features = {"dense": 0.5, "window": ENOUGH, "cosine": 0.1}
    assert Floor(0.9, share=1.0).passes(features)
    assert not Floor(0.9, share=0.2).passes(features)


def test_what_is_near_in_meaning_passes_by_itself() -> None:
    assert Floor(0.4, share=0.0).passes({"cosine": 0.4})
    assert not Floor(0.4, share=0.0).passes({"cosine": 0.39})


def test_without_a_vector_words_need_less() -> None:
    features = {"window": (ENOUGH + ENOUGH_WORDS) / 2}
    assert Floor(0.9, share=1.0).passes(features)
    assert not Floor(0.9, share=1.0).passes(features | {"cosine": 0.1})


def test_a_pronoun_is_no_sign_but_a_name_is() -> None:
    features = {"window": ENOUGH - 1.0, "cosine": 0.1}
    assert not Floor(0.9, share=1.0).passes(features | {"speaker": 0.8 * WEIGHTS["speaker"]})
    assert Floor(0.9, share=1.0).passes(features | {"speaker": WEIGHTS["speaker"]})


@pytest.mark.parametrize("text", ["", "?!", "the"])
def test_a_text_without_words_is_no_error(text: str) -> None:
    assert 0.0 <= Floor.of(text, diary(5), 0.9).share <= 1.0
    assert Floor.of(text, HybridIndex(None, None), 0.9).share == 0.0


def hits(best: float, cosine: float) -> dict[str, np.ndarray]:
    """Ten hits of which the first is the best, all of a meaning so near."""
    return {"window": np.linspace(best, 0.0, 10), "cosine": np.full(10, cosine)}


def test_a_question_of_words_and_meanings_that_the_diary_never_heard_belongs_elsewhere() -> None:
    assert not Floor(0.3, share=0.1).belongs(hits(4.0, 0.15))
    assert Floor(0.3, share=0.9).belongs(hits(4.0, 0.3))


def test_one_near_meaning_among_strangers_is_chance_and_several_are_not() -> None:
    chance = hits(0.5, 0.1)
    chance["cosine"][4] = 0.45
    assert not Floor(0.3, share=0.2).belongs(chance)
    assert Floor(0.3, share=0.2).belongs(hits(0.5, 0.5))


def test_a_young_diary_and_one_without_vectors_shut_nobody_out() -> None:
    assert Floor.of("quantum submarine", diary(5), 0.3).belongs(hits(0.0, 0.1))
    assert Floor(0.3, share=0.0).belongs({"window": np.zeros(3), "cosine": np.full(3, np.nan)})


def test_an_empty_diary_is_asked_without_an_error() -> None:
    assert Floor.of("parrot", HybridIndex(None, None), 0.3).belongs({"inside": np.zeros(0)})


@pytest.mark.parametrize(
    ("text", "bar"),
    [
        ("我们什么时候去的敦煌", 1.0),
        ("给我讲讲上次的敦煌", 1.0),
        ("今天天气真不错", 1.0 + TELLS),
        ("Where did Ada find the parrot?", 1.0 + LATIN),
        ("Tell me about the parrot", 1.0 + LATIN),
        ("Where did Caroline find the parrot?", 1.0 + LATIN + UNHEARD_NAME),
        ("Wish me luck", 1.0 + LATIN + TELLS),
    ],
)
def test_what_asks_nothing_or_names_a_stranger_must_belong_by_more(text: str, bar: float) -> None:
    assert Floor.of(text, diary(60), 0.3).bar == pytest.approx(bar)
