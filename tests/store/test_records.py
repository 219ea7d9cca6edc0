"""Files of records: what is written is what is read, and one damaged record costs itself alone."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.store import records

AWKWARD = [
    "", " ", "\n", "a\n", "\n\na", "a\n\n\nb", " indented first\nthen not", "first\n  indented second", "trailing   ",
    "trailing   \nlines  ", "a\n   \nb", "a\n   ", "\ttab", "a\n\ttab", "CR\rLF\r\nend", "NEL\x85here",
    "line\u2028and\u2029paragraph", "\ufeffbom", "nul\x00bell\x07del\x7fc1\x9f", "emoji 👩‍👩‍👧 𝄞",
    "non-character \ufffe\uffff", "# no comment", "a\n# no comment\n", "key: value", "- item", "--- ", "---\na: b",
    "...", "a\n...\nb", "%YAML 1.1", "&anchor *alias !tag", "'single' \"double\" \\back",
    "{{user}}：你好\n{{char}}：好", "|-", ">", "? complex", "no", "yes", "null", "~", "12:30", "1_000", "0o17", "1e3",
    "2025-05-20", "=", "<<", "@at `tick", "colon at end:", "a :b", "a  b", "你好：世界", "x" * 5000,
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    st.text(alphabet=" \n\t\r:#-'\"|>a\x85\u2028\ufeff", max_size=12),
)


def read_one(data: bytes) -> records.Record:
    parsed = records.parse(data, "day.yaml")
    assert not parsed.problems
    (record,) = parsed.records
    return record


def test_awkward_text_comes_back_as_it_went_in_block_or_plain() -> None:
    for text in AWKWARD:
        block = records.Block(text)
        value = {"plain": text, "msg": {"user": block, "char": block}, "words": [text, text]}
        record = read_one(records.entry("20250520-150000", value))
        assert record.value == {"plain": text, "msg": {"user": text, "char": text}, "words": [text, text]}


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
@settings(max_examples=300)
def test_any_text_round_trips_in_a_file_of_several_records(pairs: list[tuple[str, str]]) -> None:
    blocks = [
        records.entry(f"k{i}", {"text": a, "msg": {"user": records.Block(a), "char": records.Block(b)}})
        for i, (a, b) in enumerate(pairs)
    ]
    parsed = records.parse(b"".join(blocks), "day.yaml")
    assert not parsed.problems
    assert [r.value for r in parsed.records] == [{"text": a, "msg": {"user": a, "char": b}} for a, b in pairs]
    data = b"".join(blocks)
    assert [data[r.start : r.end] for r in parsed.records] == blocks


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
@settings(max_examples=150)
def test_any_key_round_trips(key: str) -> None:
    assert read_one(records.entry(key, {"a": "b"})).key == key


@given(texts)
@settings(max_examples=150)
def test_other_programs_read_the_same_text(text: str) -> None:
    """The files are plain YAML: PyYAML's own safe loader finds the words where ours does."""
    assert yaml.safe_load(records.entry("k", {"msg": {"user": records.Block(text)}}))["k"]["msg"]["user"] == (
        text or ""
    )


@pytest.mark.parametrize(
    "value", ["no", "on", "12:30:45", "0x1F", "1_000", "2025-05-20", "null", "~", "1e3", ".5", "=", ""]
)
def test_scalars_stay_text_where_yaml_1_1_would_make_something_else_of_them(value: str) -> None:
    record = read_one(f"k: {value}\n".encode())
    assert record.value == value


def test_lists_of_mappings_round_trip() -> None:
    events = [{"id": "e1", "text": "吃了火锅", "sources": ["a", "b"]}, {"id": "e2", "text": "a\nb", "sources": []}]
    assert read_one(records.entry("k", {"text_tag": "用户说", "events": events})).value == {
        "text_tag": "用户说",
        "events": events,
    }


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_crlf_files_and_byte_order_marks_are_read(mark: bytes, end: bytes) -> None:
    parsed = records.parse(mark + b"a:\n  text: one\nb:\n  text: two\n".replace(b"\n", end), "f")
    assert not parsed.problems
    assert [(r.key, r.value) for r in parsed.records] == [("a", {"text": "one"}), ("b", {"text": "two"})]


BROKEN = 'a:\n  text: "never closed\nb:\n  text: two\nc: [1, 2\nd:\n  text: four\n'


def test_a_broken_record_costs_itself_alone_and_is_named_by_line() -> None:
    parsed = records.parse(BROKEN.encode(), "day.yaml")
    assert [r.key for r in parsed.records] == ["b", "d"]
    assert [p.line in (1, 2, 3) for p in parsed.problems[:1]] == [True]
    assert parsed.problems[1].line in (5, 6)
    assert all(p.file == "day.yaml" and str(p).startswith("day.yaml, line ") for p in parsed.problems)


def test_good_records_know_their_line_whether_or_not_another_is_broken() -> None:
    good = records.parse(b"# head\na:\n  x: y\n\nb:\n  x: z\n", "f")
    assert [r.line for r in good.records] == [2, 5]
    beside = records.parse(b"# head\na:\n  x: y\n\nb:\n  x: z\nc: [\n", "f")
    assert [r.line for r in beside.records] == [2, 5]


def test_the_first_of_two_equal_keys_is_used_and_the_second_named() -> None:
    parsed = records.parse(b"a: one\nb: two\na: three\n", "f")
    assert [(r.key, r.value) for r in parsed.records] == [("a", "one"), ("b", "two")]
    assert [(p.line, "twice" in p.reason) for p in parsed.problems] == [(3, True)]


def test_what_is_no_record_is_named() -> None:
    for text in ("just words\n", "- a\n- b\n", "\x00\x01\n"):
        parsed = records.parse(text.encode(), "f")
        assert not parsed.records
        assert parsed.problems


def test_behind_thousands_of_damaged_lines_a_record_is_read() -> None:
    parsed = records.parse(b"1\n" * 3000 + b"a: one\n", "f")
    assert [(one.key, one.line) for one in parsed.records] == [("a", 3001)]
    assert [problem.line for problem in parsed.problems] == [*range(1, records.MOST_TOLD + 1)]


def test_bytes_that_are_not_utf8_are_named_by_line_and_never_raise() -> None:
    parsed = records.parse("a: b\nc: 你\n".encode("gbk"), "f")
    assert [p.line for p in parsed.problems] == [2]


@given(st.binary(max_size=80))
@settings(max_examples=300)
def test_parsing_never_raises_and_every_record_names_its_own_bytes(data: bytes) -> None:
    parsed = records.parse(data, "f")
    for record in parsed.records:
        assert 0 <= record.start < record.end <= len(data)


def test_an_empty_file_and_one_of_comments_hold_nothing_and_are_not_broken() -> None:
    for data in (b"", b"\n\n", b"# only a comment\n", b"---\n", b"\r{}\n", b"\xef\xbb\xbf"):
        parsed = records.parse(data, "f")
        assert (list(parsed.records), list(parsed.problems)) == ([], [])


def test_splicing_leaves_every_other_byte_as_it_was() -> None:
    data = "\ufeff# 手写的话\r\na:   {text: 'one'}  # why\nb:\n   text: two\n\n# between\nc: |\n  three\n".encode()
    parsed = records.parse(data, "f")
    new = records.entry("b", {"text": "zwei"})
    spliced = records.spliced(data, parsed.bounds, {"b": new})
    before, _, after = data.partition(b"b:\n   text: two\n\n# between\n")
    assert spliced == before + new + after
    assert records.spliced(data, parsed.bounds, {"b": None}) == before + after
    assert records.spliced(data, parsed.bounds, {"nobody": new}) == data


@given(
    st.lists(st.sampled_from(["a: 1\n", "b:\n  x: |-\n    l\n\n    m\n", "# c\n", "\n", "'q k': z\r\n"]), unique=True),
    st.data(),
)
@settings(max_examples=100)
def test_replacing_any_record_changes_only_it(pieces: list[str], draw: st.DataObject) -> None:
    data = "".join(pieces).encode()
    parsed = records.parse(data, "f")
    assert not parsed.problems
    if not parsed.records:
        return
    chosen = draw.draw(st.sampled_from(list(parsed.records)))
    after = records.parse(records.spliced(data, parsed.bounds, {chosen.key: b"new: record\n"}), "f")
    expected = [("new", "record") if r.key == chosen.key else (r.key, r.value) for r in parsed.records]
    assert [(r.key, r.value) for r in after.records] == expected


def test_appending_ends_a_line_that_has_no_end(tmp_path) -> None:
    path = tmp_path / "new" / "day.yaml"
    records.append(path, b"a: 1\n")
    path.write_bytes(path.read_bytes()[:-1])
    records.append(path, b"b: 2\n")
    assert path.read_bytes() == b"a: 1\nb: 2\n"


def test_replacing_a_file_leaves_no_temporary_behind_and_keeps_its_rights(tmp_path) -> None:
    path = tmp_path / "core_mem.yml"
    path.write_bytes(b"a: 1\n")
    path.chmod(0o644)
    records.replace(path, b"b: 2\n")
    assert path.read_bytes() == b"b: 2\n"
    assert [p.name for p in tmp_path.iterdir()] == ["core_mem.yml"]
    assert path.stat().st_mode & 0o777 == 0o644
