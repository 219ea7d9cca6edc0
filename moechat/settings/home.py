"""Where memory and settings are: beside the current folder, else in the user's own data folder.

A folder that has ``data/`` or ``config.yaml`` is a home: a checkout is one. Elsewhere the user's own folder is used:
the one that ``MOECHAT_DATA`` names, else the system's place for application data. Characters lie in its ``agents/``,
settings in its ``config.yaml``. What ships with MoeChat (config.yaml, prompts/, the sample characters) is copied there: in a
checkout it is the repository's own, in an installed wheel it lies in ``moechat/defaults/``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_data_path

from moechat.errors import NotFound

VARIABLE = "MOECHAT_DATA"
CONFIG = "config.yaml"


@dataclass(frozen=True)
class Home:
    """A data folder and its settings; ``notice`` tells a user who named neither where their memory is."""

    data: Path
    config: Path
    notice: str = ""


def find_home(data: Path | None = None, config: Path | None = None) -> Home:
    """The home of this run: what was named, else the current folder's, else the user's own. Creates nothing."""
    if Path("data").is_dir() or Path(CONFIG).is_file():
        return Home(data or Path("data"), config or Path(CONFIG))
    own = own_folder()
    named = data is not None and config is not None
    notice = "" if named else f"this folder has neither data/ nor {CONFIG}: using {own}"
    return Home(data or own, config or own / CONFIG, notice)


def own_folder() -> Path:
    """The user's own data folder, whether it exists or not."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else user_data_path("moechat", appauthor=False)


@contextmanager
def read_only(data: Path, config: Path) -> Iterator[tuple[Path, Path]]:
    """The two to read from. What is missing is lent from the packaged defaults, so that nothing is created."""
    settings = config if config.exists() else defaults_folder() / CONFIG
    if (data / "agents").exists():
        yield data, settings
        return
    with TemporaryDirectory(prefix="moechat-", ignore_cleanup_errors=True) as lent:
        copy_samples(Path(lent))
        yield Path(lent), settings


SAMPLES = ("青禾", "Wren", "江砚")


def grown(folder: str, names: Collection[str]) -> set[str]:
    """What a copy of a character leaves out (``shutil.copytree``): all but its author's files."""
    from moechat.store.unknown import WORLD_BOOK, is_authors  # The table of commands is drawn without it.

    place = f"{WORLD_BOOK}/" if Path(folder).name == WORLD_BOOK else ""
    return {name for name in names if name != WORLD_BOOK and not is_authors(f"{place}{name}")}


def defaults_folder() -> Path:
    """The folder that holds the defaults. Raises NotFound where an installation is incomplete."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "defaults", package.parent):
        if (folder / "config.yaml").is_file() and (folder / "prompts").is_dir():
            return folder
    raise NotFound(f"{package / 'defaults'}: the packaged defaults are missing; install moechat again")


def ensure(data: Path, config: Path) -> list[Path]:
    """Copy the defaults where there are none and return what was made: ``config``, ``data``/agents with the samples.

    Nothing that exists is touched: a user who deleted a sample does not get it back.
    """
    made = []
    if not config.exists():
        config.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(defaults_folder() / "config.yaml", config)
        made.append(config)
    if not (data / "agents").exists():
        copy_samples(data)
        made.append(data / "agents")
    return made


def copy_samples(data: Path) -> None:
    """The sample characters as they ship, into ``data``/agents."""
    for name in SAMPLES:
        source = defaults_folder() / "data" / "agents" / name
        shutil.copytree(source, data / "agents" / name, ignore=grown)
