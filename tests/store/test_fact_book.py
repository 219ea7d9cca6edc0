"""Facts in memory: a book that changes says what one says that is made anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from moechat.model import Fact, FactDraft
from moechat.store.finding_records import FactBook

NOW = datetime(2025, 5, 20, tzinfo=UTC)
IDS = st.sampled_from("abcd")
EXCHANGES = ("1", "2", "3")
facts = st.builds(
    lambda id_, day, sources: Fact(id_, NOW + timedelta(days=day), FactDraft(id_, tuple(sources))),
    IDS, st.integers(0, 2), st.lists(st.sampled_from(EXCHANGES), max_size=3),
)  # fmt: skip


@given(st.lists(st.tuples(st.lists(IDS, max_size=2), st.lists(facts, max_size=3))))
def test_a_book_that_changes_equals_one_made_anew(changes: list[tuple[list[str], list[Fact]]]) -> None:
    book, there = FactBook(), dict[str, Fact]()
    for gone, new in changes:
        book.change(gone, new)
        for id_ in gone:
            there.pop(id_, None)
        there |= {fact.id: fact for fact in new}
    ordered = sorted(there.values(), key=lambda fact: (fact.since, fact.id))
    assert book.all() == ordered
    assert book.of("abcd") == there
    for exchange in EXCHANGES:
        assert book.citing([exchange]) == [fact for fact in ordered if exchange in fact.draft.sources]


def test_what_was_given_out_does_not_change() -> None:
    fact = Fact("a", NOW, FactDraft("a", ("1",)))
    book = FactBook([fact])
    before = book.all()
    book.change((), [replace(fact, by="owner")])
    assert before == [fact]
