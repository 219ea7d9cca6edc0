"""The word index: BM25 against a slow oracle, however it was filled, and what happens to its files."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.index.lexical import K1, B, LexicalIndex

TEXTS = {1: "a b c", 2: "a a b", 3: "c d", 5: "a d e e", 8: "f"}


def filled(texts: dict[int, str] = TEXTS, folder: Path | None = None) -> LexicalIndex:
    index = LexicalIndex(folder)
    for doc, text in texts.items():
        index.add(doc, text.split())
    return index


def slow(texts: dict[int, str], query: str) -> dict[int, float]:
    """BM25 as the book has it."""
    counts = {doc: Counter(text.split()) for doc, text in texts.items()}
    average = sum(sum(count.values()) for count in counts.values()) / max(len(counts), 1)
    scores: dict[int, float] = {}
    for doc, count in counts.items():
        for word, times in Counter(query.split()).items():
            if count[word]:
                df = sum(1 for other in counts.values() if other[word])
                idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
                norm = K1 * (1 - B + B * sum(count.values()) / average)
                scores[doc] = scores.get(doc, 0) + times * idf * count[word] * (K1 + 1) / (count[word] + norm)
    return scores


def found(index: LexicalIndex, query: str, limit: int = 100) -> dict[int, float]:
    docs, scores = index.candidates(query.split(), limit)
    assert list(scores) == sorted(scores, reverse=True)
    return dict(zip(docs.tolist(), scores.tolist(), strict=True))


def test_scores_are_bm25():
    assert found(filled(), "a e x a") == pytest.approx(slow(TEXTS, "a e x a"), rel=1e-5)


def test_a_removed_document_leaves_no_trace_in_the_statistics():
    index = filled()
    index.remove([2, 99])
    rest = {doc: text for doc, text in TEXTS.items() if doc != 2}
    assert found(index, "a b d") == pytest.approx(slow(rest, "a b d"), rel=1e-5)
    assert index.count == 4
    assert 2 not in index


def test_adding_what_is_there_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="document 1 "):
        filled().add(1, ["a"])


def test_only_allowed_documents_are_found():
    allowed = np.array([False, False, True])
    docs, _ = filled().candidates(["a"], 10, allowed)
    assert docs.tolist() == [2]


def test_common_words_still_count_in_a_query_that_reads_only_its_rare_ones():
    texts = {doc: "common" + " rare" * (doc % 10 == 0) + f" w{doc}" for doc in range(200)}
    index, oracle = LexicalIndex(postings_read=50), slow(texts, "common rare")
    for doc, text in texts.items():
        index.add(doc, text.split())
    answer = found(index, "common rare")
    assert answer == pytest.approx({doc: score for doc, score in oracle.items() if doc % 10 == 0}, rel=1e-5)


words_of_a_document = st.lists(st.sampled_from("abcdefg"), max_size=8)
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "remove", "flush", "open", "compact"]), st.integers(0, 12), words_of_a_document
    ),
    max_size=30,
)


@settings(max_examples=60)
@given(steps)
def test_however_it_was_filled_it_equals_one_built_at_once(tmp_path_factory: pytest.TempPathFactory, steps: list):
    folder = tmp_path_factory.mktemp("words")
    index, texts = LexicalIndex(folder), {}
    for step, doc, tokens in steps:
        if step == "add" and doc not in texts:
            index.add(doc, tokens)
            texts[doc] = " ".join(tokens)
        elif step == "remove":
            index.remove([doc])
            texts.pop(doc, None)
        elif step in ("flush", "open", "compact"):
            if step == "compact":
                index.compact()
            index.flush()
            index = LexicalIndex(folder) if step == "open" else index
    assert index.documents().tolist() == sorted(texts)
    assert index.count == len(texts)
    for query in ("a", "b c", "a b c d e f g"):
        assert found(index, query) == pytest.approx(slow(texts, query), rel=1e-4)
        assert found(index, query) == pytest.approx(found(filled(texts), query), rel=1e-5)
        alike = {doc for doc, text in texts.items() if text and set(text.split()) <= set(query.split())}
        assert set(index.made_of(query.split()).tolist()) == alike


def test_what_was_flushed_is_there_again(tmp_path: Path):
    filled(folder=tmp_path).flush()
    again = LexicalIndex(tmp_path)
    assert not again.stale
    assert again.count == 5
    assert found(again, "a d") == pytest.approx(slow(TEXTS, "a d"), rel=1e-5)


def test_a_folder_without_an_index_is_stale_and_empty(tmp_path: Path):
    index = LexicalIndex(tmp_path / "nothing")
    assert index.stale
    assert index.count == 0


@pytest.mark.parametrize("damage", ["cut", "delete", "garbage"])
def test_damaged_files_open_empty_and_can_be_written_again(tmp_path: Path, damage: str):
    filled(folder=tmp_path).flush()
    for path in [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]:
        kept = path.read_bytes()
        if damage == "cut":
            path.write_bytes(kept[: len(kept) // 2])
        elif damage == "delete":
            path.unlink()
        else:
            path.write_bytes(b"\x93garbage" * 9)
        index = LexicalIndex(tmp_path)
        assert index.count in (0, 5)
        assert index.stale == (index.count == 0)
        path.write_bytes(kept)
    (tmp_path / "manifest.json").unlink()
    index = LexicalIndex(tmp_path)
    for doc, text in TEXTS.items():
        index.add(doc, text.split())
    index.flush()
    assert LexicalIndex(tmp_path).count == 5


def test_an_index_that_does_not_say_of_each_part_what_was_removed_is_made_anew(tmp_path: Path) -> None:
    index = filled(folder=tmp_path)
    index.flush()
    index.add(9, ["new"])
    index.flush()
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | {"dead": manifest["dead"][:-1]}), encoding="utf-8")
    index = LexicalIndex(tmp_path)
    assert (index.stale, index.count) == (True, 0)


def test_an_empty_index_and_an_empty_query_find_nothing():
    assert found(LexicalIndex(), "a") == {}
    assert found(filled(), "") == {}


@given(st.lists(st.tuples(st.integers(0, 12), st.text("abcdefg ", min_size=1, max_size=8)), max_size=20), st.data())
@settings(max_examples=60)
def test_a_compacted_index_answers_as_before_and_has_nothing_of_what_was_removed(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, str]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("words")
    texts = dict(told)
    index = filled(texts, folder)
    if data.draw(st.booleans()):
        index.flush()
    gone = data.draw(st.sets(st.sampled_from(sorted(texts)))) if texts else set()
    index.remove(gone)
    left = {doc: text for doc, text in texts.items() if doc not in gone}
    before = index.candidates(list("abcdefg"), 20)
    index.compact()
    index.flush()
    fresh = LexicalIndex(folder)
    for one in (index, fresh):
        docs, scores = one.candidates(list("abcdefg"), 20)
        assert docs.tolist() == before[0].tolist()
        assert scores == pytest.approx(before[1])
        assert one.documents().tolist() == sorted(left)
    (vocabulary,) = folder.glob("terms-*.txt")
    assert set(vocabulary.read_text(encoding="utf-8").split()) == {
        word for text in left.values() for word in text.split()
    }
    index.add(99, ["new", "a"])
    assert index.candidates(["new"], 3)[0].tolist() == [99]


def test_compacting_writes_over_no_file_of_another_process(tmp_path: Path) -> None:
    index = filled(folder=tmp_path)
    index.flush()
    other = LexicalIndex(tmp_path)
    for doc in (20, 21):
        other.add(doc, ["x"])
        other.flush()
    held = {path.name for path in tmp_path.iterdir()}
    index.remove([8])
    index.compact()
    index.flush()
    shared = {"manifest.json", "segment-1-1"}  # The one is replaced; in the other, what was removed is zero.
    assert held.isdisjoint(path.name for path in tmp_path.iterdir() if path.name not in shared)
    assert found(other, "x").keys() == {20, 21}


def test_compacting_overwrites_what_was_removed_and_nothing_else(tmp_path: Path) -> None:
    index = filled({doc: f"a b{doc}" for doc in range(8)}, tmp_path)
    index.flush()
    index.add(20, ["a", "c"])
    index.flush()
    large, small = sorted(path for path in tmp_path.glob("segment-*") if path.is_dir())
    before = {file: file.read_bytes() for file in (*large.iterdir(), *small.iterdir())}
    index.remove([3])
    index.compact()
    index.flush()
    changed = {file.name for file, data in before.items() if file.read_bytes() != data}
    assert changed == {"places.npy", "place_counts.npy", "doc_terms.npy", "doc_counts.npy", "lengths.npy"}
    assert all(file.read_bytes() == before[file] for file in small.iterdir())
    starts, terms = np.load(large / "doc_starts.npy"), np.load(large / "doc_terms.npy")
    assert not terms[starts[3] : starts[4]].any()
    assert 3 not in np.load(large / "places.npy")[np.load(large / "place_counts.npy") > 0]
    assert found(index, "a").keys() == {0, 1, 2, 4, 5, 6, 7, 20}
