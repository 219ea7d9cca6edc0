"""What several tests share: an empty data folder, the golden numbers, and where public data lies."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as properties

if TYPE_CHECKING:
    from moechat.agent import Agent
    from moechat.house import House
    from moechat.store.files import FileStore
    from tests.houses import Home
    from tests.shell import Shell

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads BLAS: one thread is fastest on busy machines
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"  # the developer's own is not the tests'
if os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 4e9:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")  # Each write that is flushed waits for a disk otherwise.
for variable in [name for name in os.environ if name.upper().startswith("MOECHAT_") and "__" in name]:
    del os.environ[variable]  # the developer's own settings are not the tests'

ROOT = Path(__file__).resolve().parents[1]

# A busy machine is no fault: an example may take as long as it takes.
properties.register_profile(
    "moechat", derandomize="SEED" not in os.environ, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
properties.load_profile("moechat")
_numbers = itertools.count()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded before the first test stays: no house that closes has it looked through again. The page's libraries are half
    of it; with them loaded later, a third of a whole run was spent on that."""
    if any(item.path.is_relative_to(ROOT / "tests" / "web") for item in session.items):
        importlib.import_module("gradio")
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file of tests leaves behind is not looked through again either."""
    if nextitem is not None and nextitem.path != item.path:
        gc.freeze()


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own data folder, which is not there yet: no test writes into the developer's, nor into their caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "caches"))
    folder = tmp_path_factory.getbasetemp() / f"own{next(_numbers)}"
    monkeypatch.setenv("MOECHAT_DATA", str(folder))
    monkeypatch.setenv("MOECHAT_ACCOUNT", f"{folder}.account")
    return folder


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    (folder / "agents").mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A data folder with one character, as ``tests.houses`` builds it."""
    from tests.houses import Home  # here: it loads BLAS, which is to find the setting above

    home = Home.build(tmp_path)
    yield home
    for store in home.stores:
        store.close()


@pytest.fixture
def house(home: Home) -> Iterator[House]:
    """That folder, opened."""
    with home.open() as opened:
        yield opened


@pytest.fixture
def agent(house: House) -> Agent:
    """Its default user's."""
    return house.agent()


@pytest.fixture
def moechat(home: Home, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command line over that folder."""
    from tests.shell import Shell

    home.configure(embedding={"provider": "hash"})
    return Shell(home, capsys)


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(home: Home) -> FileStore:
    """The memory of its default user, without an agent."""
    return home.store()


@pytest.fixture(scope="session")
def goldens() -> Path:
    """The folder of the golden numbers: what the documents and the published code come to, worked out once."""
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with public data, which lies beside the repository; tests that need it skip without it."""
    folder = Path(os.environ.get("MOECHAT_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared folder at {folder}; set MOECHAT_SHARED")
    return folder


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a database with our tables, as a role that does not own them. In memory where the machine has such a place."""
    from tests.pg_server import served

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path_factory.getbasetemp().parent
    with served(base / f"moechat-pg-{run}") as (where, _):
        yield where
