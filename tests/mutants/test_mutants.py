"""The tool that asks whether tests bite: which faults it makes, and that a fault is all that it makes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.operators import mutants

SOURCE = '''
LIMIT = 3

def chosen(names, limit=LIMIT, *, reverse=False):
    """The first few."""
    kept = []
    for name in sorted(names, reverse=reverse):
        if not name or len(kept) >= limit:
            break
        kept.append(name + "é")
    return kept
'''
UNSEEN = '''
"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING, Literal
if TYPE_CHECKING:
    import collections
Form = Literal["a", "b"]

@dataclass(frozen=True)
class Shown:
    """A class."""
    form: Form

    def read(self, path: Annotated[str, "a path"]) -> Form:
        assert path != "", "a path"
        log.warning("%s is read", path)
        yield from zip(self.form, strict=True)
        ...
'''


def test_each_mutant_is_another_module_with_one_change() -> None:
    changed = {one.source: one.operator for one in mutants("m.py", SOURCE)}
    assert set(changed.values()) == {
        "and/or", "argument left out", "compare", "constant", "dropped", "loop", "not", "order", "return", "text",
    }  # fmt: skip
    for source in changed:
        compile(source, "m.py", "exec")
        assert len(set(source.splitlines()) - set(SOURCE.splitlines())) == 1
    assert len(changed) == len(list(mutants("m.py", SOURCE)))


def test_what_no_caller_can_see_is_left_alone() -> None:
    assert [one.operator for one in mutants("m.py", UNSEEN)] == []


def test_every_room_has_tests() -> None:
    from tests.mutants.__main__ import rooms, tests_of

    assert [room for room in rooms() if not tests_of(room)] == []


def test_a_mutant_keeps_its_key_when_the_module_changes_elsewhere() -> None:
    keys = {one.key for one in mutants("m.py", SOURCE)}
    assert keys < {one.key for one in mutants("m.py", "OTHER = 1\n" + SOURCE)}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_an_unchanged_module_survives_its_tests_and_a_broken_one_does_not(tmp_path: Path) -> None:
    from tests.mutants.__main__ import ROOT, tried

    module, tests = "moechat/memory/contradiction.py", "tests/memory/test_contradiction.py"
    source = (ROOT / module).read_text(encoding="utf-8")
    every = list(mutants(module, source))
    inside, outside = (next(one for one in every if one.place.scope == scope) for scope in ("relation", ""))
    unchanged = [replace(one, source=source, key=f"as it was {n}") for n, one in enumerate((inside, outside))]
    broken = [replace(one, source=source.replace('"supersedes"', '"replaces"'), key=f"broken {n}")
              for n, one in enumerate((inside, outside))]  # fmt: skip
    rows = {row["key"]: row["outcome"] for row in tried([*unchanged, *broken], [tests], tmp_path)}
    assert rows == {"as it was 0": "survived", "as it was 1": "survived", "broken 0": "killed", "broken 1": "killed"}
