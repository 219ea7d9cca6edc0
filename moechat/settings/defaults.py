"""What ships with MoeChat: config.yaml, prompts/ and the sample characters, copied to where the user keeps theirs.

In a checkout they are the repository's own files; in an installed wheel they lie in ``moechat/defaults/``.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from moechat.errors import NotFound

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
