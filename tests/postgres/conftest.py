"""One server for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pg_server import served


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a database, as a role that does not own the tables. In memory where the machine has such a place."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path_factory.getbasetemp().parent
    with served(base / f"moechat-pg-{run}") as (where, _):
        yield where
