"""The public names: complete, typed, light to import, and at work in docs/python.md."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import moechat
from moechat import errors
from moechat.errors import MoeChatError

HEAVY = ("numpy", "pydantic", "faiss", "gradio", "openai", "jieba", "pandas", "fastapi")


def test_every_public_name_is_there_and_in_order() -> None:
    assert moechat.__all__ == sorted(moechat.__all__, key=lambda name: (name.islower(), name))
    for name in moechat.__all__:
        assert getattr(moechat, name).__name__ if name != "TurnEvent" else moechat.TurnEvent
    assert set(moechat.__all__) <= set(dir(moechat))


def test_types_are_told_of_the_same_names() -> None:
    tree = ast.parse(Path(moechat.__file__).read_text(encoding="utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    names = [
        alias.name for imports in ast.walk(typed) if isinstance(imports, ast.ImportFrom) for alias in imports.names
    ]
    assert sorted(names) == sorted(moechat.__all__)
    assert (Path(moechat.__file__).parent / "py.typed").is_file()


def test_every_error_is_public() -> None:
    kinds = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, MoeChatError)
    }
    assert kinds <= set(moechat.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        moechat.Nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, moechat; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_the_examples_of_the_document_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (root / "docs/python.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        line = text[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match[1], "docs/python.md", "exec"), space)
    out = capsys.readouterr().out
    assert "coriander" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "data", "elsewhere"]
