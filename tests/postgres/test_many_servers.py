"""The load over several servers behind poolers, small: one server is killed and comes back."""

from __future__ import annotations

import argparse

import pytest

from benchmarks import many_servers


@pytest.mark.slow
def test_a_server_that_is_killed_under_load_loses_nothing_and_hurts_its_own_owners_alone() -> None:
    sizes = argparse.Namespace(users=12, turns=6, workers=2, clients=6, minutes=5.0)
    report = many_servers.measured(sizes)
    assert report["turns"] == sizes.users * sizes.turns
    wrong = ("lost", "doubled", "unanswered_and_twice", "foreign", "problems")
    assert {name: report[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert {about for about, _ in report["errors"]} <= {
        (503, "hers"),
        (409, "hers"),
    }  # 409: its first reply still waits
    assert all("does not answer" in words or "is being answered" in words for words, _ in report["words"])
    assert report["others_while_away"] > 0
    assert report["fsync"] == "on"
