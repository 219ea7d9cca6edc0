"""The map in ``docs/architecture.md``, from the docstrings: ``python docs/map.py`` writes it, ``make docs`` calls it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- map: written by docs/map.py -->", "<!-- end of the map -->"


def first_line(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def modules(folder: Path) -> list[str]:
    return [f"- `{path.stem}`: {first_line(path)}" for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]


def written() -> str:
    """The map: the loose modules, then each room with its modules."""
    package = ROOT / "moechat"
    lines = ["### `moechat/`", "", *modules(package)]
    for room in sorted(path.parent for path in package.rglob("*/__init__.py")):
        name = room.relative_to(package).as_posix()
        lines += ["", f"### `{name}/`", "", first_line(room / "__init__.py"), "", *modules(room)]
    return "\n".join(line.rstrip() for line in lines)


def page() -> str:
    """``docs/architecture.md`` with the map as it is now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}\n\n{written()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
