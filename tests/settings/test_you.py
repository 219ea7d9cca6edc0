"""Who the user is, as a file says it: what may stand there, and what an error says."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import FieldError
from moechat.settings import you


def test_a_name_is_one_line_and_what_one_says_of_oneself_may_be_many(tmp_path: Path) -> None:
    file = tmp_path / "you.yaml"
    assert you.write(file, {"name": " 阿明 ", "about": "I paint.\nI swim."}) == {
        "name": "阿明",
        "about": "I paint.\nI swim.",
    }
    assert you.write(file, {"name": "", "address": "Ming"}) == {"address": "Ming", "about": "I paint.\nI swim."}
    cases = {
        ("name", "a\nb"): "expects at most 200 characters in one line",
        ("address", "x" * 201): "expects at most 200 characters in one line",
        ("about", "x" * 20_001): "expects at most 20000 characters",
        ("age", "30"): "unknown key; known: name, address, about",
    }
    for (key, text), words in cases.items():
        with pytest.raises(FieldError) as refusal:
            you.write(file, {key: text})
        assert refusal.value.remedy == words
    assert you.values(file) == {"address": "Ming", "about": "I paint.\nI swim."}
