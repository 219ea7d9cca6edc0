"""What the program says of itself, in two languages: the sentences of ``both.yaml``, by group and name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Row = Mapping[str, Any]
"""A sentence by language."""
LANGUAGES = ("zh", "en")

_TEXT = Path(__file__).with_name("both.yaml").read_text(encoding="utf-8")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Both build plain data only.
SENTENCES: Mapping[str, Mapping[str, Row]] = yaml.load(_TEXT, _LOADER)  # noqa: S506


def sentence(group: str, name: str, language: str, **values: object) -> str:
    """A sentence with its values, in Chinese where it is asked for in neither language."""
    template: str = SENTENCES[group][name]["en" if language == "en" else "zh"]
    return template.format(**values)
