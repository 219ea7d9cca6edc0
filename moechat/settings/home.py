"""Where memory and settings are: beside the current folder, else in the user's own data folder.

A folder that has ``data/`` or ``config.yaml`` is a home: a checkout is one. Elsewhere the user's own folder is used:
the one that ``MOECHAT_DATA`` names, else the system's place for application data. Characters lie in its ``agents/``,
settings in its ``config.yaml``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_data_path

from moechat.settings.defaults import copy_samples, defaults_folder

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
