"""What the program says of itself, in two languages: the sentences of ``both.yaml``, by group and name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
"""A sentence by language."""
LANGUAGES = ("zh", "en")


@cache
def groups() -> Mapping[str, Mapping[str, Row]]:
    """All sentences, by group and name. They are read when one is first asked for: most commands say none of them."""
    import yaml

    text = Path(__file__).with_name("both.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Both build plain data only.
    rows: Mapping[str, Mapping[str, Row]] = yaml.load(text, loader)  # noqa: S506
    return rows


def sentence(group: str, name: str, language: str, **values: object) -> str:
    """A sentence with its values, in Chinese where it is asked for in neither language."""
    template: str = groups()[group][name]["en" if language == "en" else "zh"]
    return template.format(**values)
