"""The conversation as a tree, against a slow and plain oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from moechat.store.json_lines import encode
from moechat.store.short_log import written
from moechat.store.tree import Tree
from tests.trees import LIMIT, NOW, Entry, begin, chain, grown, reply

# ---- the oracle: everything worked out anew from the whole list


ADDED_TO = {
    "settle": ["settled"], "filed": ["filed"], "understood": ["understood"], "retract": ["retracted"], "cut": ["cuts"],
}  # fmt: skip
TAKEN_FROM = {"edit": ["understood", "filed"], "requeue": ["understood"], "restore": ["retracted", "understood"]}


@dataclass
class Plain:
    order: list[str] = field(default_factory=list)
    parent: dict[str, str | None] = field(default_factory=dict)
    leaf: str | None = None
    cuts: set[str] = field(default_factory=set)
    retracted: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    understood: set[str] = field(default_factory=set)
    filed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, entries: list[Entry]) -> Plain:
        it = cls()
        for e in entries:
            if e["op"] == "exchange":
                it.order.append(e["id"])
                it.parent[e["id"]], it.leaf = e["parent"], e["id"]
            if e["op"] == "select":
                it.leaf = e["id"]
            for name in ADDED_TO.get(e["op"], ()):
                getattr(it, name).update(e.get("ids") or [e["id"]])
            for name in TAKEN_FROM.get(e["op"], ()):
                getattr(it, name).difference_update(e.get("ids") or [e["id"]])
        return it

    def path(self) -> list[str]:
        path, at = [], self.leaf
        while at is not None:
            path.insert(0, at)
            at = self.parent[at]
        return path

    def context(self) -> list[str]:
        path = self.path()
        last = max((i for i, id_ in enumerate(path) if id_ in self.cuts), default=-1)
        return [id_ for id_ in path[last + 1 :] if id_ not in self.retracted]

    def off_path(self) -> set[str]:
        return set(self.order) - set(self.path())

    def pending(self) -> list[str]:
        return [i for i in self.order if i in self.settled and i not in self.understood and i not in self.retracted]

    def unfiled(self) -> set[str]:
        return {i for i in self.settled if i not in self.filed and i not in self.retracted}


def told(tree: Tree) -> dict[str, Any]:
    return {
        "leaf": tree.leaf(), "context": tree.context(), "off": tree.off_path(), "hidden": tree.hidden(),
        "pending": sorted(tree.pending()), "open": [n.id for n in tree.open()],
        "unfiled": {n.id for n in tree.unfiled()}, "cuts": tree.cuts, "retracted": tree.retracted,
        "ids": set(tree.parents),
    }  # fmt: skip


steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["begin", "begin", "begin", "reply", "settle", "file", "understand", "select", "edit", "retract", "restore",
             "requeue", "cut"]
        ),
        st.integers(0, 999),
    ),
    max_size=25,
)  # fmt: skip


def walk(start: list[Entry], chosen: list[tuple[str, int]], *, name: str = "n") -> list[Entry]:
    """Entries that a store could have written: every step is about an exchange that is there."""
    entries = list(start)
    for n, (step, number) in enumerate(chosen):
        plain = Plain.of(entries)
        if step == "begin" or not plain.order:
            id_ = f"{name}{n}"
            entries += [begin(id_, plain.leaf), reply(id_)]
            continue
        id_ = plain.order[number % len(plain.order)]
        at = {"at": NOW.isoformat()}
        match step:
            case "reply" if id_ not in plain.settled:
                entries.append(reply(id_, f"另一个{n}", ("done", "stopped", "failed")[number % 3]))
            case "settle" | "select" | "retract" | "restore":
                entries.append({"op": step, "id": id_})
            case "file" if id_ in plain.settled:
                entries.append({"op": "filed", "id": id_, "sha": f"#{n}"})
            case "understand":
                entries.append({"op": "understood", "ids": [id_], "by": "model"})
            case "edit":
                entries.append({"op": "edit", "id": id_, **at, "user": "改", "char": "改"})
            case "requeue":
                entries.append({"op": "requeue", "ids": [id_]})
            case "cut":
                entries.append({"op": "cut", "id": id_, **at})
    return entries


@given(steps)
@settings(max_examples=200)
def test_context_branches_and_queue_equal_a_naive_recomputation(chosen: list[tuple[str, int]]) -> None:
    entries = walk([], chosen)
    tree = Tree()
    for i, entry in enumerate(entries):
        tree.apply([entry])
        plain = Plain.of(entries[: i + 1])
        assert tree.context() == plain.context()
        assert tree.off_path() == plain.off_path()
        assert tree.hidden() == plain.off_path() | plain.retracted
        assert tree.pending() == plain.pending()
        assert {n.id for n in tree.unfiled()} == plain.unfiled()


@given(steps)
@settings(max_examples=50)
def test_entry_by_entry_equals_all_at_once(chosen: list[tuple[str, int]]) -> None:
    entries = walk([], chosen)
    slow = Tree()
    for entry in entries:
        slow.apply([entry])
    assert told(grown(*entries)) == told(slow)


LONG = chain(*(f"p{i}" for i in range(520)))


@given(steps, steps)
@example(  # a reply below is corrected before the one above it
    before=[("begin", 809), ("begin", 266), ("edit", 266), ("edit", 6)], after=[("edit", 265)]
)
@settings(max_examples=40)
def test_a_folded_log_says_what_the_long_one_said_now_and_later(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    entries = walk(LONG, before)
    tree = grown(*entries)
    short = written(tree, LIMIT)
    again = grown(*short)
    assert told(again) == told(tree)
    later = walk(entries, after, name="m")[len(entries) :]
    later += chain(*(f"q{i}" for i in range(500)), after=Plain.of(entries + later).leaf)
    tree.apply(later)
    again.apply(later)
    assert told(again) == told(tree)
    twice = written(again, LIMIT)
    assert told(grown(*twice)) == told(tree)


def test_folding_leaves_out_old_words_and_keeps_recent_ones() -> None:
    entries = [*LONG, begin("new", "p519"), reply("new", "刚说的话"), {"op": "settle", "id": "new"}]
    short = written(grown(*entries), LIMIT)
    text = encode(short).decode()
    assert "刚说的话" in text
    assert "说p0" not in text
    assert len(text) < len(encode(entries)) / 3


def test_what_was_folded_taken_back_and_restored_is_understood_again() -> None:
    short = written(grown(*LONG), LIMIT)
    tree = grown(*short, {"op": "retract", "id": "p3"}, {"op": "restore", "id": "p3"})
    assert tree.pending() == ["p3"]


# ---- single sentences


def test_a_branch_that_forks_before_a_cut_lacks_it() -> None:
    tree = grown(*chain("a", "b", "c"), {"op": "cut", "id": "b", "at": NOW.isoformat()})
    assert tree.context() == ["c"]
    tree.apply([{"op": "select", "id": "a"}, begin("d", "a")])
    assert tree.context() == ["a", "d"]
    tree.apply([{"op": "select", "id": "c"}])
    assert tree.context() == ["c"]


def test_the_last_reply_stands_unless_another_is_chosen() -> None:
    tree = grown(begin("a", None), reply("a", "一"), reply("a", "二"), reply("a", "三"))
    assert tree.nodes["a"].exchange().char == "三"
    tree.apply([{"op": "select", "id": "a", "variant": 0}])
    assert tree.nodes["a"].exchange().char == "一"
    assert tree.off_path() == set()


def test_a_reply_that_never_came_does_not_take_the_place_of_one_that_did() -> None:
    tree = grown(begin("a", None), reply("a", "一"), reply("a", "", "failed"))
    assert (tree.nodes["a"].exchange().char, tree.nodes["a"].status) == ("一", "done")
    assert grown(begin("b", None), reply("b", "", "failed")).nodes["b"].status == "failed"


def test_a_correction_keeps_the_place_and_what_follows() -> None:
    tree = grown(*chain("a", "b"), {"op": "edit", "id": "a", "at": NOW.isoformat(), "user": "新", "char": "的"})
    assert tree.context() == ["a", "b"]
    assert tree.pending() == ["a"]
    assert (tree.nodes["a"].user, tree.nodes["a"].exchange().char) == ("新", "的")


def test_exchanges_after_one_whose_line_was_lost_stay_on_one_path_with_what_came_before() -> None:
    tree = grown(*chain("a"), begin("c", "lost"), reply("c"))
    assert tree.context() == ["a", "c"]
    assert tree.hidden() == set()


# ---- what is placed together


_PAST = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([None, *"abcdefgh"]), st.sampled_from(["", "出游"]))
)


@given(_PAST)
@example([("a", None, ""), ("b", "a", ""), ("c", "b", ""), ("d", "b", ""), ("e", "d", "")])
@example([("a", None, ""), ("b", "a", ""), ("a", "b", ""), ("c", "a", "")])
def test_rows_placed_together_stand_where_each_by_itself_would(drawn: list[tuple[str, str | None, str]]) -> None:
    rows = [[id_, parent, f"#{id_}", *filter(None, [talk])] for id_, parent, talk in drawn]
    together, one_by_one = grown({"op": "past", "rows": rows}), grown(*({"op": "past", "rows": [row]} for row in rows))
    assert together.numbered() == one_by_one.numbered()
    assert list(together.parents.items()) == list(one_by_one.parents.items())
    assert together.talks == one_by_one.talks
    assert together.hidden() == one_by_one.hidden()
    for id_ in together.parents:
        assert (together.talk_of(id_), together.filed_hash(id_)) == (
            one_by_one.talk_of(id_),
            one_by_one.filed_hash(id_),
        )
