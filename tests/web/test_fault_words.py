"""What is wrong with a file, as the page says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import moechat
from moechat.ai import failure
from moechat.errors import MoeChatError
from moechat.house.bundle import WHY
from moechat.settings.character import read_keys
from moechat.settings.config import load
from moechat.web.fault_words import told
from moechat.web.words import Words

PACKAGE = Path(moechat.__file__).parent
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


# ---- every message of the rooms that a page shows

ROOMS = (
    "agent.py", "author", "cards", "compat", "conversation.py", "curation", "house", "index", "memory", "settings", "store",
    "understanding", "verbs", "web",
)  # fmt: skip
NEVER_MET = {  # Programs and commands alone meet these, or they are caught and told in other words.
    "compat/comparison.py", "compat/concept_nodes.py", "compat/generative_agents.py", "compat/insights.py", "compat/partner.py",
    "compat/persona.py", "house/migration.py", "index/hybrid.py", "index/lexical.py", "index/segment.py", "index/vectors.py",
    "memory/entities.py", "settings/home.py", "store/database.py", "store/json_lines.py", "store/postgres/connections.py",
    "store/postgres/tables.py", "store/records.py", "store/entries.py", "understanding/answer.py",
}  # fmt: skip
ERRORS = {
    "MoeChatError", "DataError", "ConfigError", "FieldError", "NameTaken", "PathError", "Locked", "EmbeddingError", "ModelError",
}  # fmt: skip


def text_of(node: ast.expr) -> str:
    """The words of a message, "7" where a value stands in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(part.value if isinstance(part, ast.Constant) else "7" for part in parts)  # type: ignore[misc]
        case ast.BinOp(left=left, right=right):
            return (text_of(left) or "7") + text_of(right)
    return ""


def messages() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.split("/")[0] not in ROOMS or place in NEVER_MET:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                for text in map(text_of, node.args):
                    if len(text.split()) > 2:
                        yield f"{place}:{node.lineno}", text


def test_whatever_a_room_raises_is_told_in_chinese() -> None:
    zh = Words("zh")
    left = [f"{place} {text}" for place, text in messages() for one in told([f"x.yaml: {text}"], [], zh) if text in one]
    assert left == []
    assert len(list(messages())) > 100
    for text in WHY.values():
        assert any("\u4e00" <= sign <= "\u9fff" for sign in told([f"x.zip: {text}"], [], zh)[0]), text


def test_a_sentence_in_the_other_language_is_told_in_that_of_the_page() -> None:
    known: dict[str, Any] = {
        "base_url": "http://x/v1",
        "names": ["a", "b"],
        "model": "m",
        "detail": "boom",
        "timeout_s": 3.0,
    }
    for kind in ("no_route", "bad_key", "timeout", "rate_limit", "broken_off", "context_full", "other"):
        zh, en = (failure.sentence(kind, one, **known) for one in ("zh", "en"))  # type: ignore[arg-type]
        assert told([f"agents/x: {en}"], [], Words("zh")) == [f"agents/x: {zh}"]
        assert told([f"agents/x: {zh}"], [], Words("en")) == [f"agents/x: {en}"]
