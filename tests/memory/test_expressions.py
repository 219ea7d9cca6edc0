"""Expressions of JavaScript mean the same here."""

from __future__ import annotations

import pytest

from moechat.memory.firing import Patterns, slashed


@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("/a/", ("a", "")), ("/a/gi", ("a", "gi")), ("/a\\/b/", ("a\\/b", "")), ("/a/b/", None), ("/a/x", None),
        ("/a/gg", None), ("//", None), ("a/b", None), ("/a", None),
    ],
)  # fmt: skip
def test_what_is_between_slashes(key: str, read: tuple[str, str] | None) -> None:
    assert slashed(key) == read


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "stands"),
    [
        (r"\bcat\b", "", "我的cat是", True), (r"\Bat\b", "", "cat", True), (r"\w", "", "猫", False),
        (r"[\w]", "", "猫", False), (r"[\W]", "", "猫", True), (r"[^\W\d]", "", "7", False), (r"[\D]", "", "٣", True),
        (r"\d", "", "٣", False), (r"end$", "", "end\n", False), (r"end$", "m", "end\nmore", True),
        (r"[$]", "", "$", True), (r"[]", "", "a", False), (r"a[^]b", "", "a\nb", True), (r"[[]", "", "[", True),
        (r"[a[^]+x", "", "[a^x", True), (r"(?<n>o)\k<n>", "", "oo", True), (r"\u{706f}", "u", "灯", True),
        (r"^b", "", "a\nb", False), (r"^b", "m", "a\nb", True), (r"b", "y", "ab", False), (r"(", "", "(", None),
        (r"\k<n>", "", "n", None), (r"a" * 3000, "", "a", None),
    ],
)  # fmt: skip
def test_an_expression_is_found_as_there(pattern: str, flags: str, text: str, stands: bool | None) -> None:
    assert Patterns().stands(pattern, flags, text) is stands
