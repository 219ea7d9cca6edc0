"""Lorebooks of other programs: what their entries mean, and that one change leaves all else equal."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from moechat.cards import book
from moechat.cards.book import WORLD_FIELDS
from tests.cards.cards import V3, WORLD, WORLD_ENTRY, world


def rules(entry: dict[str, Any], **more: Any) -> Any:
    return book.entries_of(world(entry, **more), "w.json")[0]


def test_an_entry_of_world_info_means_what_its_fields_say() -> None:
    entry, gull = book.entries_of(WORLD, "sea.json")
    assert (entry.id, entry.keyword, entry.text, entry.keys) == (
        "sea.json#0",
        "The harbour",
        "Stone, two cranes.",
        ("harbour", "/quay[0-9]/"),
    )
    r = entry
    assert (r.secondary, r.logic, r.case, r.whole_words, r.scan_depth) == (("rain",), "all", True, False, 5)
    assert (r.order, r.position, r.depth, r.role, r.probability) == (90, "depth", 3, "assistant", 75)
    assert (r.sticky, r.cooldown, r.delay, r.ignores_budget) == (3, 2, 1, True)
    assert (r.no_recursion, r.wakes_none, r.only_recursion, r.recursive) == (True, True, 2, True)
    assert (gull.keyword, gull.scan_depth, gull.secondary) == ("gull", 2, ())


def test_an_entry_of_a_card_means_what_its_fields_and_decorators_say() -> None:
    lamp, bell = book.entries_of(V3["data"]["character_book"], "card.json")
    assert (lamp.id, lamp.keys, lamp.secondary, lamp.priority) == (
        "card.json#11",
        ("lamp", "/l[ai]ght\\b/i"),
        ("night",),
        3,
    )
    assert (lamp.scan_depth, lamp.budget, lamp.recursive, lamp.position) == (3, 400, True, "after_char")
    assert (bell.text, bell.position, bell.depth, bell.role) == ("The bell is cracked.", "depth", 2, "user")


def test_world_info_becomes_a_card_entry_and_comes_back_with_all_fields() -> None:
    entry = book.card_entry(WORLD_ENTRY, 0)
    [back] = book.worlds_of({"entries": [entry]})
    assert {key: back[key] for key in WORLD_FIELDS} == {key: WORLD_ENTRY[key] for key in WORLD_FIELDS}
    assert back["extensions"]["x_unknown"] == WORLD_ENTRY["x_unknown"]
    assert book.entries_of({"entries": [entry]}, "a")[0] == book.entries_of({"entries": {"0": WORLD_ENTRY}}, "a")[0]


def test_an_entry_of_a_card_stands_behind_the_character_unless_it_says_before() -> None:
    common = {"content": "x", "enabled": True, "insertion_order": 1, "extensions": {}}
    entries = [{"keys": ["a"], "position": "before_char", **common}, {"keys": ["b"], **common}]
    assert [one["position"] for one in book.worlds_of({"entries": entries, "extensions": {}})] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"text": "new"}, "content", "new"), ({"keys": ["a", "b"]}, "key", ["a", "b"]),
        ({"enabled": False}, "disable", True), ({"constant": True}, "constant", True),
        ({"logic": "not_any"}, "selectiveLogic", 2), ({"order": 3}, "order", 3), ({"sticky": None}, "sticky", None),
        ({"position": "before_char"}, "position", 0), ({"keyword": "T"}, "comment", "T"),
    ],
)  # fmt: skip
def test_one_change_changes_one_field(changes: dict[str, Any], field: str, value: Any) -> None:
    before = deepcopy(WORLD_ENTRY)
    assert book.changed(WORLD_ENTRY, "world", changes) == WORLD_ENTRY | {field: value}
    assert before == WORLD_ENTRY


def test_new_words_of_a_decorated_entry_keep_its_decorators() -> None:
    bell = V3["data"]["character_book"]["entries"][1]
    changed = book.changed(bell, "card", {"text": "New.\nWords."})
    assert changed == bell | {"content": "@@depth 2\n@@role user\n@@scan_depth 3\nNew.\nWords."}


PLAIN = (
    {"type": "risu", "ver": 1, "data": [{"key": "a, b", "secondkey": "", "content": "words", "comment": "t"}]},
    {"lorebookVersion": 4, "entries": [{"keys": ["a", "b"], "text": "words", "displayName": "n"}]},
    {"kind": "memory", "entries": [{"keywords": ["a", "b"], "entry": "words", "name": "n"}]},
    {"spec": "lorebook_v3", "data": {"entries": [{"keys": ["a", "b"], "content": "words", "name": "n"}]}},
)
EDITS: dict[str, Any] = {
    "keyword": "T", "text": "new", "keys": ["x", "y"], "constant": True, "enabled": False, "secondary": ["q"], "logic": "not_any",
    "case": True, "whole_words": True, "scan_depth": 7, "order": 3, "priority": 9, "position": "depth", "depth": 2,
    "role": "user", "probability": 40.0, "sticky": 1, "cooldown": 2, "delay": 3,
}  # fmt: skip


def test_the_entries_of_every_book_are_read_and_each_change_of_them_is_read_back() -> None:
    faults = []
    for value in (*PLAIN, WORLD):
        dialect = book.dialect_of(value)
        assert dialect
        [(id_, entry), *_], first = list(book.raw_entries(value)), book.entries_of(value, "b.json")[0]
        if value is not WORLD:
            assert (first.keys, first.text, first.enabled) == (("a", "b"), "words", True)
        for field, new in EDITS.items():
            made = book.changed(entry, dialect, {field: new})
            said = asdict(book.entries_of(_with(value, id_, made), "b.json")[0])
            wished = asdict(first) | {field: tuple(new) if isinstance(new, list) else new}
            faults += [(dialect, field, key) for key in said if said[key] != wished[key]]
    assert faults == []


def test_an_entry_in_a_list_has_the_id_or_the_number_that_the_book_gives_it_and_no_two_have_one() -> None:
    rows = [{"uid": 7}, {"id": "lamp", "uid": 8}, {"uid": 7}, {}, {"id": ["x"]}]
    entries = [{"key": ["a"], "content": "w", **row} for row in rows]
    assert [id_ for id_, _ in book.raw_entries({"entries": entries})] == ["7", "lamp", "n2", "3", "4"]


def _with(value: Any, id_: str, entry: dict[str, Any]) -> Any:
    """A book with another entry in the place of its first."""
    value = deepcopy(value)
    whole = book.inner(value)
    entries = whole["data"] if "data" in whole else whole["entries"]
    entries[id_ if isinstance(entries, dict) else 0] = entry
    return value


def test_what_a_book_leaves_out_is_as_it_usually_is_there() -> None:
    """Each program means something else by a field that is not there."""
    risu = {"type": "risu", "data": [{"key": "a", "content": "w"}]}
    cases: tuple[tuple[Any, dict[str, Any]], ...] = (
        ({"entries": {"0": {"key": ["a"], "keysecondary": ["b"], "content": "w"}}}, {"secondary": ("b",), "scan_depth": 2}),
        ({"entries": [{"keys": ["a"], "secondary_keys": ["b"], "content": "w"}]}, {"secondary": ()}),
        ({"entries": [{"keys": ["a"], "content": "w"}], "scan_depth": 9, "token_budget": 70}, {"scan_depth": 9, "budget": 70}),
        ({"entries": [{"keys": ["a"], "content": "w", "case_sensitive": True}]}, {"case": True}),
        ({"entries": [{"keys": ["a"], "content": "w", "use_regex": True}]}, {"regex": True}),
        ({"entries": [{"keys": ["a"], "content": "w", "use_regex": True, "extensions": {"position": 0}}]}, {"regex": False}),
        ({"entries": [{"keys": ["a"], "content": "w"}], "recursive_scanning": True}, {"recursive": True}),
        ({"entries": [{"keys": ["a"], "content": "w"}], "recursive_scanning": False}, {"recursive": False}),
        (
            {"entries": [{"keys": ["a"], "content": "w"}]},
            {"recursive": True, "whole_words": True, "probability": 100.0, "enabled": True},
        ),
        (world({"key": ["a"], "content": "w", "preventRecursion": True}), {"recursive": True, "wakes_none": True}),
        (world({"key": ["a"], "content": "w", "probability": 5, "useProbability": False}), {"probability": 100.0}),
        (world({"key": ["a"], "content": "w", "selective": False, "keysecondary": ["b"]}), {"secondary": ()}),
        (world({"key": [], "content": "w", "comment": ""}), {"keyword": "0", "keys": ()}),
        (world({"key": ["a"], "content": "@@activate\nw"}), {"always": True, "never": False, "text": "w"}),
        (world({"key": ["a"], "matchScenario": True, "group": "g, h"}), {"also_in": ("scenario",), "group": "g, h"}),
        (world({"characterFilter": {"isExclude": True, "names": ["T"]}}), {"characters": ("T",), "spares": True}),
        (risu, {"enabled": True, "secondary": (), "recursive": False, "whole_words": False}),
        *(
            (risu | {"data": [{"key": "a", "content": "w", "mode": mode}]}, {"enabled": mode in ("normal", "constant")})
            for mode in ("normal", "constant", "folder", "multiple")
        ),
        (risu | {"data": [{"key": "a", "content": "w", "enabled": False}]}, {"enabled": False}),
    )  # fmt: skip
    wrong = []
    for value, wished in cases:
        [entry] = book.entries_of(value, "b.json")
        if (said := {key: getattr(entry, key) for key in wished}) != wished:
            wrong.append((value, said))
    assert wrong == []


@pytest.mark.parametrize("value", [None, "x", 10**400, -5, [], {"a": 1}, float("nan"), True])
def test_values_that_make_no_sense_are_as_usual(value: Any) -> None:
    strange = dict.fromkeys(WORLD_FIELDS, value)
    [entry] = book.entries_of(
        {"entries": {"0": strange | {"content": "words"}}, "scan_depth": value, "token_budget": value}, "b"
    )
    assert entry.text == "words" and 0 <= entry.probability <= 100


def test_what_is_not_obeyed_is_named() -> None:
    counts = book.unheeded(WORLD)
    assert counts == {"automationId": 1, "characterFilter.tags": 1}
    assert book.unheeded(V3["data"]["character_book"]) == {"@@scan_depth": 1}


def test_a_second_choice_of_a_decorator_counts_where_the_first_is_not_obeyed() -> None:
    one = book.decorated("@@foo 1\n@@@bar\n@@@depth 3\n@@@role user\n@@dont_activate\n\nwords\n@@late\n")
    assert (one.depth, one.role, one.dont_activate, one.unheeded) == (3, None, True, ["foo", "bar"])
    assert one.text == "\nwords\n@@late\n"
    assert book.decorated("no decorators\n@@depth 2").text == "no decorators\n@@depth 2"


def test_the_document_says_of_every_field_whether_it_is_obeyed(root: Path) -> None:
    text = (root / "docs" / "cards.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (是|保留)", text, re.MULTILINE)
    assert {name: (place.strip("`"), word == "是") for name, place, word in rows} == {
        name: (field.place.lstrip("!") or "–", field.field is not None) for name, field in WORLD_FIELDS.items()
    }
