"""history.yaml: the talk of the context as people read it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from moechat.errors import DataError
from moechat.model import Message
from moechat.store.days import HistoryFile

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), text), max_size=5))
def test_history_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, said: list[Message]) -> None:
    folder = tmp_path_factory.mktemp("owner")
    HistoryFile(folder).write(said)
    assert HistoryFile(folder).read() == said
    plain = yaml.safe_load((folder / "history.yaml").read_bytes())
    assert [row["role"] for row in plain] == [m.role for m in said]


def test_no_history_is_none(tmp_path: Path) -> None:
    assert HistoryFile(tmp_path).read() == []


@pytest.mark.parametrize("broken", ["- role: [", "just words", "- role: user", "role: user", "- a\n- b"])
def test_a_broken_history_is_named_and_not_written_over(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "history.yaml"
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(DataError, match=r"history\.yaml"):
        HistoryFile(tmp_path).write([Message("user", "新")])
    assert path.read_text(encoding="utf-8") == broken


def test_a_history_that_is_broken_between_two_writings_is_named(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path)
    file.write([Message("user", "一")])
    (tmp_path / "history.yaml").write_text("- role: [", encoding="utf-8")
    with pytest.raises(DataError, match=r"history\.yaml"):
        file.write([Message("user", "一"), Message("assistant", "二")])
