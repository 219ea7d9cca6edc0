"""What tests of the server share: one that serves a house."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as one:
        yield one
