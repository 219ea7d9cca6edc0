"""The map in ``docs/architecture.md``, from the docstrings: ``python docs/map.py`` writes it, ``make docs`` calls it.

The rooms stand in the order of their floors, which ``pyproject.toml`` has for the contract of imports.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "moechat"
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- map: written by docs/map.py -->", "<!-- end of the map -->"


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    line = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
    return re.split(r"(?<=[.。])\s", line)[0].rstrip(".").replace("|", "\\|")


def floors() -> list[list[str]]:
    """The names of each floor, from the top to the ground."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [re.findall(r"\w+", layer) for layer in layers]


def overview() -> list[str]:
    """A table of the floors: the rooms and the loose modules of each, and what they hold."""
    lines = ["| room | what it holds |", "|---|---|"]
    for floor in floors():
        for name in floor:
            room = PACKAGE / name
            if room.is_dir():
                title = f"[`{name}/`](#{name})" if modules(room) else f"`{name}/`"
                lines.append(f"| {title} | {first_sentence(room / '__init__.py')} |")
            elif room.with_suffix(".py").exists():
                lines.append(f"| `{name}.py` | {first_sentence(room.with_suffix('.py'))} |")
    return lines


def modules(folder: Path) -> list[str]:
    paths = [path for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]
    return [f"- `{path.stem}`: {first_sentence(path)}" for path in paths]


def rooms() -> list[str]:
    """Each room with its modules, floor by floor."""
    lines: list[str] = []
    for name in [name for floor in floors() for name in floor]:
        for init in sorted((PACKAGE / name).rglob("__init__.py")):
            room = init.parent
            if items := modules(room):
                lines += ["", f"### `{room.relative_to(PACKAGE).as_posix()}/`", "", *items]
    return lines


def written() -> str:
    """The map: the floors from the top to the ground, then each room with its modules."""
    return "\n".join([*overview(), *rooms()])


def page() -> str:
    """``docs/architecture.md`` with the map as it is now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}\n\n{written()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
