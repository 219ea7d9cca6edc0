"""What tests over PostgreSQL share: a clock that stands, an owner whom no other test has, and a door before the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moechat.clock import SetClock
from moechat.store.postgres.connections import OwnerName
from tests.houses import START, moment
from tests.pg_server import Door, fresh_name


@pytest.fixture
def clock() -> SetClock:
    return SetClock(moment(START))


@pytest.fixture
def name() -> OwnerName:
    return OwnerName("tables", fresh_name())


@pytest.fixture
def door(address: str, tmp_path: Path) -> Iterator[Door]:
    with Door(address, tmp_path) as door:
        yield door
