"""Macros are replaced once, and nothing else in a card's text is."""

from __future__ import annotations

import random
import time

from moechat.cards.macros import Macros, unknown
from tests.houses import moment

WHO = {"char": "{{user}}", "user": "Ann"}


def at_noon(seed: int = 0) -> Macros:
    return Macros(WHO, moment("2025-05-20T15:03:00"), "en", "talk", random.Random(seed))


def test_what_is_known_is_replaced_and_no_other_macro_is_left() -> None:
    cases = [
        ("{{Char}} and {{ USER }}, <BOT> <user> <b>", "{{user}} and Ann, {{user}} Ann <b>"),
        ("{{time}} {{date}} {{weekday}}", "15:03 2025-05-20 Tuesday"),
        ("a{{// for me}}b{{comment: too}}c{{hidden_key:d}}", "abc"),
        ("{{7*7}} {% x %} ${x} {x} {{}}", "{{7*7}} {% x %} ${x} {x} {{}}"),
        ("a{{getvar::x}}{{original}}{{outlet::y}}{{trim}}{{setvar::a::{{user}}}}{{.hp}}{{/if}}b{{newline}}c", "ab\nc"),
        ("{{random:{{user}}}} {{roll:1}} {{roll:d}}", "Ann 1 "), ("{{ open {{user}} }} {{user", " {{user"),
        ("}} {{user}}} {{", "}} Ann} {{"), ("{{random::a\\,b}}", "a,b"),
    ]  # fmt: skip
    assert [(text, filled) for text, filled in cases if at_noon().fill(text) != filled] == []


def test_chance_changes_and_a_pick_stays() -> None:
    rolls = {at_noon(seed).fill("{{roll:2d6}} {{random:a,b,c}}") for seed in range(30)}
    assert len(rolls) > 10 and all(2 <= int(roll.split()[0]) <= 12 for roll in rolls)
    assert len({at_noon(seed).fill("{{pick:a,b,c,d}}") for seed in range(30)}) == 1


def test_without_a_moment_time_and_chance_wait() -> None:
    assert Macros(WHO).fill("{{user}} {{time}} {{random:a,b}}{{trim}}") == "Ann {{time}} {{random:a,b}}"


def test_those_that_are_not_known_are_named_once() -> None:
    assert unknown("{{getvar::a}} {{getvar::b}} {{user}} {{if x}} {{}}") == ["getvar", "if x"]


def test_many_brackets_cost_little() -> None:
    text = "{{" * 100_000 + "user" + "}}" * 100_000
    begun = time.process_time()
    assert at_noon().fill(text) == text
    assert time.process_time() - begun < 2
