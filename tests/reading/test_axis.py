"""A question is looked for where what answers it lies, and what tells something stays where it is."""

from __future__ import annotations

import numpy as np

from moechat.encoder.builtin import builtin
from moechat.reading import answers
from moechat.reading.answers import AskingAxis

TOLD = (
    "my sister bisi is in abuja",
    "the cat swallowed a button on saturday",
    "我弟在深圳送外卖",
    "昨天电瓶车的坐垫被偷了",
)
ASKED = ("who lives in the capital", "what did my pet eat", "谁在送外卖", "我为什么没地方坐")


def test_what_is_stored_was_learned_from_the_examples_that_stand_in_the_files() -> None:
    assert answers.load().examples == answers.digest(answers.examples()), "make sayings"


def test_a_question_is_moved_to_where_messages_lie_and_a_message_hardly() -> None:
    questions, messages = builtin().embed(ASKED), builtin().embed(TOLD)
    moved, stayed = answers.load().as_told(questions), answers.load().as_told(messages)
    assert ((moved @ messages.T).diagonal() > (questions @ messages.T).diagonal()).all()
    assert ((stayed * messages).sum(axis=1) > (moved * questions).sum(axis=1).max()).all()
    assert np.allclose(np.linalg.norm(moved, axis=1), 1, atol=1e-5)


def test_an_axis_goes_from_questions_to_messages_and_nothing_stays_nothing() -> None:
    messages, questions = (
        np.array([[0.6, 0.8], [0.8, 0.6]], np.float32),
        np.array([[0.6, -0.8], [0.8, -0.6]], np.float32),
    )
    near = AskingAxis.between(messages, questions, "")
    assert np.allclose(near.axis, [0, 1], atol=1e-6) and np.isclose(near.place, 0.7)
    moved = near.as_told(np.array([[0.6, -0.8], [0, 0]], np.float32))
    far = np.array([0.6, 0.7 + answers.BEYOND]) / np.hypot(0.6, 0.7 + answers.BEYOND)
    assert np.allclose(moved, [far, [0, 0]], atol=1e-6)
