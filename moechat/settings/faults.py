"""What is wrong with settings, in words."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from moechat.errors import ConfigError
from moechat.settings.schema import HiddenValue

PREFIX = "MOECHAT_"
ENVIRONMENT = "environment"


def near(name: str, known_keys: list[str]) -> str | None:
    by_lower_case = {key.lower(): key for key in known_keys}
    matches = difflib.get_close_matches(name.lower(), list(by_lower_case), n=1, cutoff=0.7)
    return by_lower_case[matches[0]] if matches else None


def unknown(name: str, known_keys: list[str]) -> str:
    meant = near(name, known_keys)
    return f"unknown; did you mean {meant}?" if meant else f"unknown; known here: {', '.join(known_keys)}"


def explained(error: ValidationError, schema: type[BaseModel], file: Path | str, under: str) -> list[ConfigError]:
    """Each fault as a ConfigError; a variable of the environment is named where the value came from one."""
    return [_explained(fault, schema, file, under) for fault in error.errors()]


def _explained(fault: Any, schema: type[BaseModel], file: Path | str, under: str) -> ConfigError:
    path = [str(part) for part in fault["loc"]]
    is_hidden = isinstance(fault.get("ctx", {}).get("error"), HiddenValue)
    is_shown = not isinstance(fault.get("input"), dict) and not is_hidden
    value = fault.get("input") if is_shown else None
    keys = _keys_at(schema, path[:-1])
    remedy = unknown(path[-1], keys) if fault["type"] == "extra_forbidden" else _in_words(fault)
    for end in range(len(path), 0, -1):
        variable = PREFIX + "__".join(path[:end]).upper()
        for name in os.environ:
            if name.upper() == variable:
                return ConfigError(ENVIRONMENT, name, os.environ[name] if is_shown else None, remedy)
    return ConfigError(file, under + ".".join(path), value, remedy)


def _in_words(fault: Any) -> str:
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if fault["type"] == "string_type":
        return "expects text; put it in quotes"
    message = str(fault["msg"])
    return message.replace("Input should be", "expects", 1)


def _keys_at(model: type[BaseModel], path: list[str]) -> list[str]:
    """The keys that a schema knows below ``path``."""
    for name in path:
        field = model.model_fields.get(name)
        if field is None or not isinstance(field.default, BaseModel):
            return []
        model = type(field.default)
    return list(model.model_fields)
