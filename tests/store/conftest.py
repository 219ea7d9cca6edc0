"""What tests of the store share: an owner's memory, in files and in memory alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from moechat.store.kinds import Store
from moechat.store.table_store import MemoryStore
from tests.houses import ZONE, Home


@pytest.fixture(params=["files", "memory"])
def any_store(request: pytest.FixtureRequest, home: Home) -> Iterator[Store]:
    store = home.store() if request.param == "files" else MemoryStore(clock=home.clock, zone=ZONE)
    yield store
    store.close()
