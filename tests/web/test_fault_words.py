"""What is wrong with a file, as the page says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from moechat.errors import MoeChatError
from moechat.settings.character import read_keys
from moechat.settings.config import load
from moechat.web.fault_words import told
from moechat.web.words import Words

SETTINGS = (
    "web: {prot: 1, port: x, language: fr}", "chat: {temperature: 9, timeout_s: 0}", "Agent: {user: no}", "chat: 5",
    "caht: 3", "port: 80", "chat: {key: s}", "chat: {extra: 3}", "web: {port: yes}", "Agent: {long_memory: perhaps}",
    "recall: {brings_up: always}", "recall: {min_share: {diary: 0.9}}",
    "chat:\n  model: a: b", "chat:\n\tmodel: a", "chat: [1\nweb: {}", "chat:\n  model: a\n web: 1",
)  # fmt: skip
CHARACTERS = (
    "perona: x", "frobnicate: x", "name: [a]", "greetings: {a: b}", "language: fr", "picture: ../x", "- a", "examples: [a]",
)  # fmt: skip


def wrong(path: Path, text: str) -> list[str]:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MoeChatError) as caught:
        (load if path.name == "config.yaml" else read_keys)(path)
    return [str(fault) for fault in caught.value.parts]


@pytest.mark.parametrize("text", [*SETTINGS, *CHARACTERS])
def test_a_fault_is_told_in_short_and_in_the_language_of_the_page(tmp_path: Path, text: str) -> None:
    name = "config.yaml" if text in SETTINGS else "character.yaml"
    problems = wrong(tmp_path / "x" / name, text)
    for zh, en in zip(*(told(problems, [tmp_path], Words(one)) for one in ("zh", "en")), strict=True):  # type: ignore[arg-type]
        assert zh.startswith(f"x/{name}") and en.startswith(f"x/{name}")
        assert not {"expects", "unknown", "valid", "keys", "shares"} & set(zh.split()), zh
        assert any("\u4e00" <= sign <= "\u9fff" for sign in zh), zh
        assert "expects" in en or "unknown" in en or "valid" in en or "keys" in en or "shares" in en
