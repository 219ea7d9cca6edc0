"""The commands as tests give them: in this process, with their exit status and what they print."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moechat.cli.main import main
from tests.houses import START, Home


class Shell:
    """``moechat`` in this process: (exit status, printed lines, lines on stderr)."""

    def __init__(self, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._capsys = home, capsys

    def __call__(self, *args: str, now: str | None = START) -> tuple[int, list[str], list[str]]:
        given = [*args, "--data", str(self.home.data), "--config", str(self.home.config)]
        given += ["--now", now] if now else []
        try:
            status = main(given)
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = self._capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    def rows(self, *args: str, now: str | None = START) -> list[Any]:
        """What a command gives that ends well, an object a line."""
        status, lines, errors = self(*args, "--json", now=now)
        assert (status, errors) == (0, []), errors
        return [json.loads(line) for line in lines]

    def json(self, *args: str, now: str | None = START) -> Any:
        (row,) = self.rows(*args, now=now)
        return row
