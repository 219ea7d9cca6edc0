"""Whatever a model answers, it is read or refused in words: no text raises anything but ValueError."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.understanding import answer

KEYS = st.sampled_from(
    "exchanges facts events verbs verdicts scene_changed id tag keywords text kind entity keyword target polarity single generic "
    "sources refines importance emotion mark happened precision status finding verdict words "
    "number verb until start to quote replaces related".split()
)
NUMBERS = st.one_of(
    st.integers(), st.integers(min_value=10**300, max_value=10**420), st.floats(), st.just(float("nan"))
)
LEAVES = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.text(max_size=20), st.sampled_from(["7/10", "是", "\ud800", "9" * 400])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)
ITEM = st.dictionaries(KEYS, VALUES, max_size=8)
ANSWERS = st.fixed_dictionaries(
    {"exchanges": st.lists(ITEM, max_size=3) | VALUES},
    optional={
        key: st.lists(ITEM, max_size=3) | VALUES for key in ("facts", "events", "verbs", "verdicts", "scene_changed")
    },
)


def read(text: str) -> answer.Answer | None:
    """The answer, None where it was refused in words; what is read can be written and lies within bounds."""
    for leaving_out in (None, list[answer.Unreadable]()):
        try:
            last = answer.read(text, leaving_out=leaving_out)
        except ValueError:
            last = None
    if last is not None:
        last.model_dump_json().encode()
        assert all(1 <= event.importance <= 10 for event in last.events)
    return last


@settings(max_examples=300, deadline=None)
@given(ANSWERS)
def test_any_json_of_a_model_is_read_or_refused(value: Any) -> None:
    read(json.dumps(value))


@settings(max_examples=150, deadline=None)
@given(
    ANSWERS,
    st.integers(0, 400),
    st.sampled_from(["", "}", "```", "<think>", "null", "\\u", "[[[["]),
    st.integers(0, 400),
)
def test_any_broken_json_of_a_model_is_read_or_refused(value: Any, start: int, put_in: str, end: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    read(text[:start] + put_in + text[end:])


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='{}[]",:\\0159.eE+-ntf ', max_size=60))
def test_any_text_of_json_s_letters_is_read_or_refused(text: str) -> None:
    read("{" + text)


@pytest.mark.parametrize("depth", [100, 3000, 100_000])
@pytest.mark.parametrize("brackets", ["[]", "{}", '{"a":'])
def test_brackets_in_brackets_are_refused(brackets: str, depth: int) -> None:
    for closed in (brackets[-1] * depth if brackets != '{"a":' else "}" * depth, ""):
        read('{"exchanges": [{"id": 1, "tag": "好"}], "facts": ' + (brackets[:-1] or "{") * depth + closed + "}")


@pytest.mark.parametrize("importance", ["9" * 400, '"' + "9" * 400 + '"', "1e999", "-" + "9" * 400, "NaN", "9" * 5000])
def test_an_importance_of_any_length_is_held_to_its_bounds(importance: str) -> None:
    text = '{"exchanges": [{"id": 1, "tag": "好"}], "events": [{"text": "搬家", "sources": [1], "importance": %s}]}'
    extracted = read(text % importance)
    assert extracted is None or [event.importance for event in extracted.events] in ([10.0], [1.0], [])


def test_a_verb_is_read_however_it_is_written_and_before_a_verdict_of_earlier_prompts() -> None:
    written = {"Never true": "never_true", "given-up": "given_up", " GIVEN  UP ": "given_up", "refine": "replaced"}
    verbs = [{"finding": number, "verdict": word} for number, word in enumerate(written)]
    assert [one.verb for one in answer.read(json.dumps({"verdicts": verbs})).verbs] == list(written.values())
    both = {"verbs": [{"number": 1, "verb": "ended"}], "verdicts": [{"finding": 2, "verdict": "keep"}]}
    assert [one.number for one in answer.read(json.dumps(both)).verbs] == [1]


@pytest.mark.parametrize("junk", ["{0} and ", "{null} and ", "{,1} ", "{(1)} ", "{[1]} "])
@pytest.mark.parametrize("before", ["", '{"exchanges": 3} '])
def test_braces_without_keys_are_no_objects_to_repair(before: str, junk: str) -> None:
    """Each such brace took the repair a look at all before it: 20,000 characters of them 18 seconds."""
    read(before + junk * 20_000)


def test_braces_in_texts_stay_where_the_answer_is_whole() -> None:
    text = '{"exchanges": [{"id": 1, "tag": "用 {0} 和 {x} 占位"}]}'
    assert answer.read(text).exchanges[0].tag == "用 {0} 和 {x} 占位"
