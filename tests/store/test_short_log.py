"""A log in short says what the long one said, without the words that it need not keep; and what single entries mean."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest

from moechat.model import Attachment
from moechat.store.short_log import shortened, written
from moechat.store.tree import Tree
from tests.trees import LIMIT, NOW, OLD, Entry, begin, chain, grown, reply


def again(tree: Tree, without: Collection[str] = ()) -> Tree:
    return grown(*written(tree, LIMIT, without))


def entries(tree: Tree, op: str, without: Collection[str] = ()) -> list[Entry]:
    return [entry for entry in written(tree, LIMIT, without) if entry["op"] == op]


def recent(id_: str, parent: str | None, **more: Any) -> list[Entry]:
    """A settled exchange of today."""
    return [begin(id_, parent) | more, reply(id_), {"op": "settle", "id": id_}]


# ---- what is kept


def test_only_what_is_old_settled_filed_and_understood_loses_its_words() -> None:
    whole = chain("a")
    assert shortened(grown(*whole), LIMIT) == {"a"}
    for left_out in ("settle", "filed", "understood"):
        part = [entry for entry in whole if entry["op"] != left_out]
        assert shortened(grown(*part), LIMIT) == set(), left_out
    assert shortened(grown(*whole), OLD) == set(), "as old as the limit is not older"
    assert shortened(grown(*whole, reply("a", "另一个")), LIMIT) == set(), "every reply stays"
    assert shortened(grown(*whole, {"op": "retract", "id": "a"}), LIMIT) == set(), "it may be restored"


def test_what_is_not_shortened_keeps_all_that_happened_to_it() -> None:
    hits = [{"id": "m", "layer": "diary", "score": 1.0, "text": "引文"}]
    log = [
        begin("a", None) | {"talk": "旅行", "speaker": "阿明", "attachments": [{"kind": "image", "name": "a.png"}]},
        reply("a", "一") | {"hits": hits, "spans": [["昨天", "x", "y"]], "error": "断了", "notice": "慢", "key": "k1"},
        reply("a", "二"), {"op": "choose", "id": "a", "variant": 0}, {"op": "settle", "id": "a"},
        {"op": "filed", "id": "a", "sha": "#a"}, {"op": "understood", "ids": ["a"], "by": "model"},
    ]  # fmt: skip
    before, after = grown(*log).nodes["a"], again(grown(*log)).nodes["a"]
    assert (after.parent, after.at, after.user, after.talk, after.speaker) == (None, before.at, "说a", "旅行", "阿明")
    assert after.attachments == (Attachment("image", "a.png", "", ""),)
    assert (after.chosen, after.settled, after.filed, after.understood) == (0, True, "#a", "model")
    first, second = after.variants
    assert (first.char, first.error, first.notice, first.key, second.char) == ("一", "断了", "慢", "k1", "二")
    assert list(first.spans) == [["昨天", "x", "y"]]
    assert list(first.hits) == [{"id": "m", "layer": "diary", "score": 1.0}], "it quotes nothing"


def test_of_an_old_reply_it_is_not_kept_what_it_rested_on() -> None:
    old = [begin("a", None, OLD), reply("a") | {"hits": [{"id": "m"}], "spans": [["昨天", "x", "y"]]}]
    [variant] = entries(grown(*old), "variant")
    assert variant == {"op": "variant", "id": "a", "char": "答", "status": "done"}


def test_what_is_forgotten_is_in_no_reply_and_what_followed_it_follows_what_was_before() -> None:
    log = [*recent("a", None), *recent("b", "a"), begin("c", "b"), reply("c") | {"hits": [{"id": "b"}, {"id": "a"}]}]
    tree = grown(*log, {"op": "cut", "id": "b"}, {"op": "retract", "id": "b"}, {"op": "dropped", "ids": ["b"]})
    short = again(tree, {"b"})
    assert short.parents == {"a": None, "c": "a"}
    assert short.nodes["c"].variant and [hit["id"] for hit in short.nodes["c"].variant.hits] == ["a"]
    assert (short.cuts, short.retracted) == ({"a"}, set())
    assert again(tree, {"a", "b"}).parents == {"c": None}


def test_what_was_taken_back_stays_so_and_what_was_dropped_of_it_is_not_dropped_again() -> None:
    log = [*recent("a", None), *recent("b", "a"), {"op": "retract", "id": "a"}, {"op": "retract", "id": "b"}]
    short = again(grown(*log, {"op": "dropped", "ids": ["a"]}))
    assert (short.retracted, short.undropped) == ({"a", "b"}, {"b"})


def test_what_is_folded_and_queued_again_stays_queued() -> None:
    folded = again(grown(*chain("a", "b")))
    folded.apply([{"op": "requeue", "ids": ["a", "nobody"]}])
    assert again(folded).pending() == folded.pending() == ["a"]
    assert again(folded, {"a"}).pending() == []
    folded = again(folded)
    folded.apply([{"op": "understood", "ids": ["a"], "by": "model"}])
    assert again(folded).pending() == folded.pending() == []


@pytest.mark.parametrize("spoken", ["", "旅行"])
def test_every_talk_goes_on_where_it_was_and_the_last_one_spoken_in_is_known(spoken: str) -> None:
    log = [*chain("a", "b"), begin("x", None) | {"talk": "旅行"}, reply("x")]
    last = {"op": "select", "id": "a" if spoken == "" else "x"}
    tree = grown(*log, {"op": "select", "id": "a"}, last)
    short = again(tree)
    assert (short.leaf(), short.leaf("旅行"), short.spoken) == ("a", "x", spoken)
    assert short.off_path() == tree.off_path() == {"b"}
    assert short.talk_of("x") == "旅行" and short.talk_of("a") == ""


def test_links_are_written_a_thousand_at_a_time() -> None:
    tree = grown(*chain(*(f"p{n}" for n in range(1001))))
    assert [len(entry["rows"]) for entry in entries(tree, "past")] == [1000, 1]
    assert again(tree).parents == tree.parents


# ---- forgetting


def test_a_forgetting_that_is_not_worked_off_stays_and_its_number_is_never_used_again() -> None:
    tree = grown(*recent("a", None), *recent("b", "a"), {"op": "forget", "n": 3, "ids": ["a", "f1"]})
    assert (tree.hidden(), tree.forgettings) == ({"a", "f1"}, 3)
    assert [node.id for node in tree.unfiled()] == ["b"]
    short = again(tree)
    assert (short.forgets, short.forgettings) == ({3: frozenset({"a", "f1"})}, 3)
    done = again(tree, {"a", "f1"})
    assert (done.forgets, done.forgettings) == ({}, 3)
    done.apply([{"op": "forget", "n": 2, "ids": []}, {"op": "forgotten", "n": 1}])
    assert done.forgettings == 3


# ---- imports


def imported(done: bool = True, by: str = "") -> list[Entry]:
    rows = [["i1", "#1"], ["i2", "#2"]]
    log = [{"op": "import", "batch": "b", "talk": "从前", "at": OLD.isoformat(), "by": by, "rows": rows}]
    return [*log, {"op": "imported", "batch": "b"}] if done else log


def test_an_import_is_hidden_until_all_of_it_is_there_and_is_no_part_of_a_context() -> None:
    tree = grown(*imported(done=False))
    assert (tree.hidden(), tree.unread(), tree.context("从前")) == ({"i1", "i2"}, [], [])
    tree.apply([{"op": "imported", "batch": "b"}])
    assert (tree.hidden(), tree.unread(), tree.context("从前")) == (set(), ["i1", "i2"], [])
    assert list(tree.path("从前")) == ["i2", "i1"] and tree.filed_hash("i2") == "#2"
    assert grown(*imported(by="model")).unread() == []


def test_a_short_log_tells_what_of_an_import_is_still_to_be_read() -> None:
    for log in (imported(), imported(done=False), imported(by="model")):
        tree = grown(*log)
        short = again(tree)
        assert short.batches.keys() == {"b"}
        assert (short.batches["b"].done, short.batches["b"].talk) == (tree.batches["b"].done, "从前")
        assert (short.unread(), short.hidden(), short.cuts) == (tree.unread(), tree.hidden(), tree.cuts)
    half = grown(*imported(), {"op": "understood", "ids": ["i1"], "by": "rules"})
    assert again(half).unread() == ["i2"]
    whole = grown(*imported(), {"op": "understood", "ids": ["i1", "i2"], "by": "rules"})
    assert again(whole).unread() == []


def test_taking_an_import_back_hides_all_of_it() -> None:
    tree = grown(*imported(), {"op": "forget", "n": 1, "batch": "b", "ids": ["f1"]})
    assert tree.is_forgotten("b") and {"i1", "i2"} <= tree.hidden() and tree.unread() == []
    assert not grown(*imported()).is_forgotten("b")


def test_an_imported_exchange_that_is_changed_is_understood_like_any_other() -> None:
    edit = {"op": "edit", "id": "i1", "at": OLD.isoformat(), "user": "新", "char": "的"}
    tree = grown(*imported(), edit)
    assert (tree.unread(), tree.pending(), [node.id for node in tree.unfiled()]) == (["i2"], ["i1"], ["i1"])


# ---- single entries


def test_what_makes_no_sense_is_passed_over() -> None:
    odd = [{"op": "of a newer version"}, {"op": "settle", "id": "nobody"}, {"op": "variant", "id": "a"}, {"op": "cut"}]
    tree = grown(begin("a", None), *odd, reply("a"))
    assert tree.nodes["a"].exchange().char == "答"


def test_a_reply_that_was_written_twice_counts_once() -> None:
    keyed = reply("a", "一") | {"key": "k1"}
    tree = grown(begin("a", None), keyed, keyed, reply("a", "二") | {"key": "k2"})
    assert [variant.char for variant in tree.nodes["a"].variants] == ["一", "二"]
    assert len(grown(begin("a", None), reply("a"), reply("a")).nodes["a"].variants) == 2


def test_another_reply_of_a_filed_exchange_is_filed_and_understood_anew_unless_it_is_the_same() -> None:
    tree = grown(*chain("a"), reply("a", "答"))
    assert (tree.pending(), tree.unfiled()) == ([], [])
    tree.apply([reply("a", "别的")])
    assert (tree.pending(), [node.id for node in tree.unfiled()]) == (["a"], ["a"])
    status = grown(*chain("a"), reply("a", "答", "stopped"))
    assert [node.id for node in status.unfiled()] == ["a"]


def test_taking_back_and_restoring_changes_what_is_hidden_and_waits() -> None:
    log = [begin("a", None), reply("a"), {"op": "settle", "id": "a"}]
    tree = grown(*log, {"op": "retract", "id": "a"})
    assert (tree.hidden(), tree.unfiled(), tree.pending(), tree.undropped) == ({"a"}, [], [], {"a"})
    tree.apply([{"op": "restore", "id": "a"}])
    assert (tree.hidden(), tree.pending(), tree.undropped) == (set(), ["a"], set())
    assert [node.id for node in tree.unfiled()] == ["a"]


def test_what_is_open_and_queued_is_told_by_talk() -> None:
    log = [*recent("a", None), begin("b", "a"), *recent("x", None, talk="旅行"), begin("y", "x") | {"talk": "旅行"}]
    tree = grown(*log)
    assert ([n.id for n in tree.open()], [n.id for n in tree.open("旅行")], [n.id for n in tree.open("")]) == (
        ["b", "y"], ["y"], ["b"],
    )  # fmt: skip
    assert (tree.pending(), tree.pending("旅行"), tree.pending("")) == (["a", "x"], ["x"], ["a"])
    assert tree.spoken == "旅行"


def test_a_correction_of_a_folded_exchange_brings_its_words_back() -> None:
    tree = again(grown(*chain("a", "b")))
    assert "a" not in tree.nodes and tree.filed_hash("a") == "#a"
    tree.apply([{"op": "edit", "id": "a", "at": OLD.isoformat(), "user": "新", "char": "的", "speaker": "阿明"}])
    node = tree.nodes["a"]
    assert (node.exchange().user, node.exchange().char, node.status, node.speaker) == ("新", "的", "done", "阿明")
    assert (node.folded, node.settled, tree.pending()) == (False, True, ["a"])


def test_what_is_younger_than_the_limit_is_written_whole() -> None:
    young = NOW - timedelta(days=6)
    assert [entry["id"] for entry in entries(grown(begin("a", None, young), reply("a")), "exchange")] == ["a"]


# ---- the stable part of a prompt


def test_the_stable_part_of_a_context_that_goes_on_stays_without_what_was_forgotten() -> None:
    log = [*chain("a", "b"), {"op": "freeze", "id": "a", "ids": ["f", "g"]}]
    assert again(grown(*log)).frozen == {"a": ["f", "g"]}
    assert again(grown(*log), without={"f"}).frozen == {"a": ["g"]}
    assert again(grown(*log), without={"a"}).frozen == {}, "its context begins with another exchange now"


def test_the_stable_part_of_a_context_that_is_over_goes() -> None:
    log = [
        *chain("a"), {"op": "freeze", "id": "a", "ids": ["f"]}, {"op": "cut", "id": "a"},
        *recent("b", "a"), {"op": "freeze", "id": "b", "ids": ["g"]},
    ]  # fmt: skip
    assert again(grown(*log)).frozen == {"b": ["g"]}
