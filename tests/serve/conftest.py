"""What tests of the server share: one that serves a house, over HTTP or in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, client_of
from starlette.testclient import TestClient

from moechat.house import House


@pytest.fixture
def client(house: House) -> TestClient:
    return client_of(house)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as one:
        yield one
