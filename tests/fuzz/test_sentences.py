"""A short part of the fuzzer of readers, over sentences of our own; ``make fuzz`` has the long one."""

from __future__ import annotations

from tests.fuzz.sentences import READERS, Sentence, Sentences, fault, run, smallest


def test_no_reader_raises_over_a_sentence_or_a_mutation_of_one() -> None:
    outcome = run(iter(Sentences(seed=7, shared=False)), 150)
    assert outcome.count == 150 and outcome.slowest.keys() == READERS.keys()
    assert outcome.faults == {}


def test_the_same_seed_gives_the_same_sentences() -> None:
    one, other = (iter(Sentences(seed=3, shared=False)) for _ in range(2))
    assert [next(one) for _ in range(50)] == [next(other) for _ in range(50)]


def test_a_reader_that_raises_is_shown_with_the_smallest_sentence() -> None:
    def raising(one: Sentence) -> None:
        if "months before" in one.text:
            raise KeyError("months before")

    sentence = next(iter(Sentences(seed=1, shared=False)))
    longer = Sentence(f"{sentence.text} I waited for months before the exam.", "", sentence.now)
    kind = fault(raising, longer)
    assert kind.startswith("KeyError at test_sentences.py")
    assert smallest(raising, longer, kind).text == "months before"
