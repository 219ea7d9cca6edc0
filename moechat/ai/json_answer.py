"""The JSON object in a model's text, repaired where it can be."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import json_repair

from moechat.ai.cleaner import without_thoughts

DEEPEST = 50  # An answer has four levels.
REPAIRED = 8_000  # Characters of an answer that is no JSON; what is beyond them counts as cut off.
# A brace that no key follows opens no object. The repair takes the square of their number in time.
_NO_OBJECT = re.compile(r"\{(?!\s*(?:[\"'“‘}]|[A-Za-z_]\w*\s*[\"']?\s*:|$))")


def json_object(text: str) -> dict[str, Any]:
    """Raises ValueError where there is none, or where brackets stand in brackets more than ``DEEPEST`` deep."""
    bare = without_thoughts(text)
    start, end = bare.find("{"), bare.rfind("}")
    if start < 0:
        raise ValueError("no JSON object was found in the answer")
    if _depth(bare) > DEEPEST:
        raise ValueError("the answer is nested too deeply")
    # An answer that was cut off has no closing brace; the repair adds it.
    whole = bare[start : end + 1] if bare[start:].rstrip(" \n`").endswith("}") else bare[start:]
    try:
        value = json.loads(whole)
    except ValueError:
        value = json_repair.loads(_NO_OBJECT.sub("(", whole[:REPAIRED]), skip_json_loads=True)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise ValueError("the answer is not one JSON object")
    return value


def _depth(text: str) -> int:
    """How deep brackets stand in brackets, those in texts included: the repair recurses."""
    steps = (1 if char in "[{" else -1 for char in text if char in "[]{}")
    return max(itertools.accumulate(steps, lambda depth, step: max(0, depth + step)), default=0)
