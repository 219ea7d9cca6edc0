"""bench recall: files become talks, talks are asked about, and the figures say what was found."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import ablate
from moechat.bench import dataset, figures, recall, strangers
from moechat.errors import DataError

SAID = [
    ("m1", "2025-03-01T20:00:00", "Ada", "I adopted a parrot called Rio last week."),
    ("m2", "2025-03-01T20:00:30", "Ben", "A parrot! Does it talk?"),
    ("m3", "2025-03-01T20:01:00", "Ada", "Only when the kettle whistles."),
    ("m4", "2025-03-08T09:00:00", "Ben", "Good morning, I baked a rhubarb cake."),
    ("m5", "2025-03-08T09:00:30", "Ada", "Save me a slice, please."),
    ("m6", "2025-03-08T09:01:00", "Ada", "My train to Lisbon leaves at noon."),
    ("m7", "2025-03-08T09:01:30", "Ben", "Then pack the umbrella."),
    ("m8", "2025-03-08T09:02:00", "Ben", "And call me from the station."),
]


def memory(id_: str, at: str, speaker: str, text: str, haystack: str = "one", **more: Any) -> dict[str, Any]:
    row = {"type": "memory", "haystack": haystack, "id": id_, "timestamp": at, "speaker": speaker, "text": text}
    return row | more


def question(id_: str, text: str, *evidence: str, haystack: str = "one", **more: Any) -> dict[str, Any]:
    told = {"asked_at": "2025-03-20T12:00:00", "category": "single-hop", "evidence_ids": list(evidence)}
    return {"type": "question", "haystack": haystack, "id": id_, "question": text} | told | more


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(
        tmp_path / "talk.jsonl",
        {"type": "meta", "dataset": "made up"},
        *(memory(*row) for row in SAID),
        question("q1", "What is the parrot called?", "m1"),
        question("q2", "What did Ben bake?", "m4", names_date=False),
        question("q3", "What did we say on 8 March 2025 about the train?", "m6", category="temporal", names_date=True),
        question("q4", "What is the name of the submarine?", unanswerable=True, category="adversarial"),
    )


def test_where_a_question_names_sessions_any_message_of_each_is_its_evidence(tmp_path: Path) -> None:
    said = [memory(f"s{i}.{i}.u", at, speaker, text) for i, (_, at, speaker, text) in enumerate(SAID)]
    asked = question("q", "What of the train?", "s6.6.u", evidence_sessions=["s4", "s6", "s99"])
    (haystack,) = dataset.read(written(tmp_path / "talk.jsonl", *said, memory("s6.9.a", *SAID[7][1:]), asked))
    assert haystack.questions[0].evidence == (frozenset({"s4.4.u"}), frozenset({"s6.6.u", "s6.9.a"}))


def measured(*files: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    summaries = recall.measure(files, config=None, provider="hash", each=rows.append)
    return [row for row in rows if row.get("sort") == "own"], [row for row in summaries if "file" in row]


def test_consecutive_messages_are_paired_in_order_and_none_is_lost(file: Path) -> None:
    [haystack] = dataset.read(file)
    pairs = [(p.user.id if p.user else "", p.char.id if p.char else "") for p in haystack.exchanges()]
    assert pairs == [("m1", "m2"), ("m3", ""), ("", "m4"), ("m5", ""), ("m6", "m7"), ("", "m8")]


def test_every_message_is_ranked_by_its_own_id_and_the_right_one_first(file: Path) -> None:
    questions, _ = measured(file)
    assert [row["id"] for row in questions] == ["q1", "q2", "q3", "q4"]
    assert questions[0]["values"]["mrr"] == 1.0
    assert sorted(questions[0]["ranked"]) == sorted(id_ for id_, *_ in SAID)
    assert questions[0]["ranked"][0] == "m1"
    assert questions[1]["ranked"][0] == "m4"
    assert set(questions[2]["ranked"][:5]) == {"m4", "m5", "m6", "m7", "m8"}  # the day that is asked for comes first


def test_the_figures_of_a_file(file: Path) -> None:
    _, [row] = measured(file)
    assert row["questions"] == 3
    assert row["recall@5"] == row["recall@10"] == 1.0
    assert set(row["by"]) == {"single-hop", "temporal", "names_date"}
    assert row["unanswerable"] == 1
    assert row["evidence_injected"] == 1.0
    assert row["false_recall"] in (0.0, 1.0)
    assert row["by"]["temporal"]["evidence_injected"] == 1.0
    assert row["tokens"][0] > 0
    assert row["small_talk"]["questions"] == 30
    assert {"by_time", "events", "fuse", "merge", "embedding"} <= row["stages_ms"].keys()
    assert 0 < row["p50_ms"] <= row["p95_ms"]
    assert str(file) in figures.report(row)


def test_a_hundred_messages_and_more_are_ranked_where_there_are_so_many(tmp_path: Path) -> None:
    times = [f"2025-03-01T{10 + i // 60}:{i % 60:02}:00" for i in range(240)]
    said = [memory(f"m{i}", at, "AB"[i % 2], f"thing {i} on the shelf") for i, at in enumerate(times)]
    [row], _ = measured(written(tmp_path / "long.jsonl", *said, question("q", "which thing is number 77", "m77")))
    assert len(row["ranked"]) >= 100
    assert row["ranked"][0] == "m77"


def test_haystacks_of_a_file_know_nothing_of_each_other(tmp_path: Path) -> None:
    path = written(
        tmp_path / "two.jsonl",
        memory("a1", "2025-03-01T20:00:00", "Ada", "The key is under the flower pot."),
        memory("b1", "2025-03-01T20:00:00", "Eve", "The key hangs behind the clock.", "two"),
        question("qa", "Where is the key?", "a1"),
        question("qb", "Where is the key?", "b1", haystack="two"),
    )
    questions, [row] = measured(path)
    assert [one["ranked"] for one in questions] == [["a1"], ["b1"]]
    assert (row["mrr"], row["strangers"]["questions"]) == (1.0, 2)


def test_two_questions_at_once_have_the_evidence_of_both(file: Path) -> None:
    [haystack] = dataset.read(file)
    [pair] = strangers.pairs(haystack)
    assert pair.text == "What is the parrot called? And also, what did Ben bake?"
    assert pair.evidence == (frozenset({"m1"}), frozenset({"m4"}))


def a_run(*values: float) -> list[dict[str, Any]]:
    row = {"kind": "made up en", "haystack": "one", "sort": "own"}
    return [row | {"id": str(i), "values": {"recall@10": value}} for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("before", "now", "better"),
    [([0, 1] * 20, [0, 1] * 20, None), ([0] * 40, [1] * 20 + [0] * 20, True), ([1] * 40, [1] * 20 + [0] * 20, False),
     ([0, 1] * 20, [0, 1] * 19 + [0, 0], None)],
)  # fmt: skip
def test_only_a_difference_beyond_chance_is_called_one(before: list[int], now: list[int], better: bool | None) -> None:
    [row] = figures.compared(a_run(*before), a_run(*now))
    assert row["better"] is better
    assert row["low"] <= row["difference"] <= row["high"]


def test_two_halves_of_an_exchange_count_once_and_either_finds_it() -> None:
    units = dataset.evidence_units(["d1.1.u", "d1.1.a", "d2.3.a"], {"d1.1.u", "d1.1.a", "d2.3.a"})
    assert units == (frozenset({"d1.1.u", "d1.1.a"}), frozenset({"d2.3.a"}))
    assert dataset.share_found(units, ["d1.1.a"]) == 0.5
    assert dataset.reciprocal_rank(units, ["x", "d1.1.u", "d2.3.a"]) == 0.5


def test_a_caption_is_part_of_what_was_said(tmp_path: Path) -> None:
    path = written(tmp_path / "c.jsonl", memory("m1", "2025-03-01T20:00:00", "A", "Look!", image_caption="a red kite"))
    assert dataset.read(path)[0].utterances[0].text == "Look! [a red kite]"


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "not a JSON object"), ('{"type": "memory", "id": 1}', "haystack"),
     ('{"type": "question", "id": "q", "haystack": "none"}', "none")],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(DataError, match=said) as error:
        dataset.read(path)
    assert (error.value.file, error.value.line) == (str(path), 2)


def test_side_by_side_has_plain_search_and_one_part_off_at_a_time(file: Path) -> None:
    rows = list(ablate.ablate([file], config=None, provider="hash"))
    names = [row["name"] for row in rows if row["name"] != "chromadb"]
    assert names[:4] == ["BM25", "dense", "BM25 + dense, RRF", "ours"]
    assert {"without by_time", "without events", "without vectors"} <= set(names)
    by = {row["name"]: row for row in rows}
    assert by["without events"]["recall@10"] < by["ours"]["recall@10"] == 1.0
    assert all(ablate.line(row).startswith(row["name"]) for row in rows)


def shared_data() -> Path:
    root = os.environ.get("MOECHAT_SHARED")
    return (Path(root) if root else Path(__file__).resolve().parents[3] / "shared") / "data"


@pytest.mark.slow
def test_what_is_shared_is_found_at_least_as_well_as_before() -> None:
    """Floors of what was measured with the built-in embedding, a little below docs/recall.md."""
    path = shared_data() / "memorybank_cn.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    row = recall.measure([path], config=None, provider="builtin", each=lambda _: None)[0]
    assert row["recall@5"] >= 0.97
    assert row["mrr"] >= 0.86
    assert row["evidence_injected"] >= 0.9
