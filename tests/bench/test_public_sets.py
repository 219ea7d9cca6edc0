"""The scripts that measure on public sets, over small invented ones of the same form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks import longmemeval, precision
from moechat.errors import DataError


def history(id_: str, question: str, answer: str, **sessions: str) -> dict[str, Any]:
    talks = [
        [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}] for text in sessions.values()
    ]
    return {
        "question_id": id_,
        "question_type": "single-session-user",
        "question": question,
        "answer_session_ids": [answer],
        "question_date": "2023/06/30 (Fri) 23:40",
        "haystack_dates": [f"2023/05/{day:02} (Mon) 10:30" for day in range(1, 1 + len(sessions))],
        "haystack_session_ids": list(sessions),
        "haystack_sessions": talks,
    }


def test_sessions_are_ranked_by_their_best_message(tmp_path: Path) -> None:
    run, kettle = "I ran ten miles.", "I bought the green kettle in Leith."
    rows = [
        history("q1", "Where did I buy the green kettle?", "b", a=run, b=kettle, c="It rained."),
        history("q2_abs", "Where did I buy the red kettle?", "a", a=run),
    ]
    (tmp_path / "longmemeval_s.json").write_text(json.dumps(rows), encoding="utf-8")
    figures = longmemeval.measure(tmp_path, None, "hash")
    assert figures["ours"] == {"single-session-user": [longmemeval.scores(["b#0"], {"b"})]}
    assert {"BM25", "dense"} <= figures.keys()


def test_the_figures_of_sessions_are_those_of_the_formula() -> None:
    ids = ["x#0", "a#3", "x#1", "y#0", "b#2"]
    figures = longmemeval.scores(ids, {"a", "b"})
    assert (figures["recall_any@5"], figures["recall_all@5"]) == (1, 1)
    assert figures["ndcg@5"] == pytest.approx((1 / math.log2(2) + 1 / math.log2(4)) / 2)
    assert longmemeval.scores(ids, {"c"})["ndcg@10"] == 0


def belief(id_: str, user: str, name: str, content: str, *, pinned: bool = False) -> dict[str, Any]:
    at = f"2025-01-0{id_[1]}T00:00:00Z"
    names = {"canonical_name": name, "aliases": []}
    return {"_id": id_, "user_id": user, "content": content, "pinned": pinned, "created_at": at, **names}


BELIEFS = [
    belief("b1", "test-user", "coffee", "Brews coffee in a moka pot."),
    belief("b2", "test-user", "bicycle", "Rides a folding bicycle to the office.", pinned=True),
    belief("b3", "other", "coffee", "Drinks coffee with salt."),
]


def case(id_: str, query: str, **relevant: list[str]) -> dict[str, Any]:
    return {"caseId": id_, "category": "c", "scope": [], "query": query, "expect": {"relevantBeliefs": relevant}}


def test_what_comes_of_another_user_or_is_pinned_does_not_count(tmp_path: Path) -> None:
    cases = [
        case("coffee", "Which moka pot coffee do I brew?", shouldOnlyInclude=["b1"], mustExclude=["b3"]),
        case("nothing", "ok", shouldOnlyInclude=[]),
        {**case("budget", "coffee", shouldOnlyInclude=[]), "budget": {"maxBeliefs": 0}},
    ]
    (tmp_path / "beliefs.seed.json").write_text(json.dumps(BELIEFS), encoding="utf-8")
    (tmp_path / "retrieval.cases.json").write_text(json.dumps(cases), encoding="utf-8")
    rows = precision.measure(tmp_path, "hash")
    assert [(row["case"], row["is_right"]) for row in rows] == [("coffee", True), ("nothing", True)]
    assert precision.summary(rows)["precision"] == 1


def test_precision_and_recall_are_those_of_the_set() -> None:
    asks = case("x", "", shouldOnlyInclude=["b1", "b9"])
    row = precision.judged(asks, {"b1", "b2", "b7"}, {"b2"})
    assert (row["precision"], row["recall"], row["is_right"]) == (0.5, 0.5, False)
    nothing = precision.judged(case("y", "", shouldOnlyInclude=[]), set(), set())
    assert (nothing["precision"], nothing["recall"], nothing["is_right"]) == (None, None, True)


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"longmemeval_s\.json"):
        longmemeval.measure(tmp_path, None, "hash")
    with pytest.raises(DataError, match=r"beliefs\.seed\.json"):
        precision.measure(tmp_path, "hash")
