"""A question is looked for where what answers it lies, and what tells something stays where it is."""

from __future__ import annotations

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.reading import answers
from moechat.reading.answers import AskingMap

TOLD = (
    "my sister bisi is in abuja",
    "the cat swallowed a button on saturday",
    "我弟在深圳送外卖",
    "昨天电瓶车的坐垫被偷了",
)
ASKED = ("who lives in the capital", "what did my pet eat", "谁在送外卖", "我为什么没地方坐")


def test_what_is_stored_was_learned_from_the_examples_that_stand_in_the_files() -> None:
    assert answers.load().examples == answers.digest(answers.examples()), "make sayings"


def test_examples_of_one_person_stand_together() -> None:
    pairs = answers.examples()
    people = [one.person for one in pairs]
    assert people == sorted(people)
    assert len(people) / len(set(people)) > 3
    assert all(one.message and one.question for one in pairs)


def test_a_question_is_moved_nearer_to_what_answers_it_than_to_others() -> None:
    questions, messages = builtin().embed(ASKED), builtin().embed(TOLD)
    moved = answers.load().as_told(questions)

    def ahead(vectors: np.ndarray) -> np.ndarray:
        """How much nearer each lies to what answers it than to the rest of the messages."""
        cosines = vectors @ messages.T
        return cosines.diagonal() - (cosines.sum(axis=1) - cosines.diagonal()) / (len(messages) - 1)

    assert ((moved @ messages.T).argmax(axis=1) == np.arange(len(TOLD))).all()
    assert ahead(moved).mean() > ahead(questions).mean()
    assert np.allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-5)


def test_what_the_map_makes_of_a_vector_is_added_to_it_and_nothing_stays_nothing() -> None:
    near = AskingMap(np.array([[1.0, 0.0]], np.float32), np.array([[0.0, 0.5]], np.float32), "")
    moved = near.as_told(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], np.float32))
    assert np.allclose(moved, [np.array([2.0, 1.0]) / np.sqrt(5), [0.0, 1.0], [0.0, 0.0]], atol=1e-6)
