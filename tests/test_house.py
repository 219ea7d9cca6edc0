"""The house rules of CONTRIBUTING.md that a test can hold: sizes, names, and what is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "moechat").rglob("*.py"))
MOST_LINES, MOST_METHODS, METHODS_WITHOUT_A_REASON, P90_LINES, LOOSE_MODULES = 450, 25, 20, 20, 14
# Past participles that were once names of variables, and say nothing of what they hold.
NO_NOUNS = {"told", "found", "said", "known", "wanted", "met", "given", "asked"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes(kind: type | tuple[type, ...]) -> Iterator[tuple[str, ast.AST]]:
    """(module, node) of every node of a kind in the package."""
    for path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        yield from ((name, node) for node in ast.walk(parsed(path)) if isinstance(node, kind))


def test_no_module_is_too_long() -> None:
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_few_modules_lie_loose() -> None:
    loose = [path for path in (ROOT / "moechat").glob("*.py") if len(parsed(path).body) > 3]
    assert len(loose) <= LOOSE_MODULES


def test_no_class_has_too_many_methods_or_many_without_a_reason() -> None:
    faults = {}
    for module, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        methods = sum(isinstance(item, FUNCTIONS) for item in node.body)
        reason = "methods" in (ast.get_docstring(node) or "")
        if methods > MOST_METHODS or (methods > METHODS_WITHOUT_A_REASON and not reason):
            faults[f"{module}: {node.name}"] = methods
    assert faults == {}


def test_nine_functions_of_ten_are_short() -> None:
    lengths = sorted(node.end_lineno - node.lineno + 1 for _, node in nodes(FUNCTIONS))  # type: ignore[attr-defined]
    assert lengths[int(len(lengths) * 0.9)] <= P90_LINES


def test_no_variable_is_a_past_participle() -> None:
    places = []
    for module, node in nodes((ast.Name, ast.arg)):
        name = node.arg if isinstance(node, ast.arg) else node.id  # type: ignore[attr-defined]
        is_read = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
        if name in NO_NOUNS and not is_read:
            places.append(f"{module}:{node.lineno}: {name}")  # type: ignore[attr-defined]
    assert places == []


def test_a_class_has_a_name_of_its_own() -> None:
    places: dict[str, set[str]] = {}
    for module, node in nodes(ast.ClassDef):
        if not module.startswith("moechat/compat/"):  # the names of other designs
            places.setdefault(node.name.lstrip("_"), set()).add(module)  # type: ignore[attr-defined]
    assert {name: sorted(modules) for name, modules in places.items() if len(modules) > 1} == {}


def test_what_is_computed_lazily_locks_no_class() -> None:
    """``functools.cached_property`` does, before Python 3.12; ``when`` imports nothing of the rest."""
    modules = {module for module, node in nodes(ast.alias) if node.name == "cached_property"}  # type: ignore[attr-defined]
    assert modules == {"moechat/when/expression.py"}


def imported() -> dict[str, str]:
    """Every package that is imported, with a module that does."""
    names: dict[str, str] = {}
    for module, node in nodes((ast.Import, ast.ImportFrom)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0]: module for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names[node.module.partition(".")[0]] = module
    return {name: module for name, module in names.items() if name not in {*sys.stdlib_module_names, "moechat"}}


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = {
        re.split(r"[>=<;\[ ]", line)[0].lower().replace("_", "-") for line in [*project["dependencies"], *extras]
    }
    distributions = metadata.packages_distributions()
    for name, module in imported().items():
        if name not in distributions:  # an extra that is not installed here
            continue
        packages = {package.lower().replace("_", "-") for package in distributions[name]}
        assert packages & declared, f"{module} imports {name}, which pyproject.toml does not declare"


def test_the_rules_that_are_held_are_those_that_are_written() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"at most {MOST_LINES} lines, a class at most {MOST_METHODS} methods" in text
    assert f"over {METHODS_WITHOUT_A_REASON} only" in text
