"""What tests of recall share: a mind of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.houses import Home
from tests.minds import EMBEDDER, Mind


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    mind = Mind(Home.build(tmp_path), EMBEDDER)
    yield mind
    mind.close()
