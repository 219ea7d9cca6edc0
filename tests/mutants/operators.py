"""Small faults that a module could have: which places of its syntax may be changed, and into what.

Left alone by rule is what no caller can see: docstrings, annotations, decorators, assertions (a strict ``zip`` is one), what is
logged, and how only another system would read a file.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
REACHED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Names of functions whose arguments no caller sees, and of those that may take their arguments in any order.
UNSEEN = {"debug", "info", "warning", "error", "exception", "TypeVar", "NewType", "cast", "getLogger"}
COMMUTES = {"min", "max", "isinstance"}
OTHER_SYSTEMS = {"encoding", "newline"}


@dataclass(frozen=True)
class Place:
    """A node that may be changed: ``lines`` are those of its statement, ``scope`` the functions and classes around it,
    ``function`` the outermost function with its first line. Without one it is the import of the module that runs it."""

    node: ast.AST
    lines: range
    scope: str = ""
    function: tuple[str, int] | None = None


@dataclass(frozen=True)
class Mutant:
    """One fault: ``source`` is the whole module with it, ``original`` the one without. The ``key`` does not change with what
    stands elsewhere."""

    module: str
    place: Place
    operator: str
    original: str
    source: str
    key: str

    @property
    def stem(self) -> str:
        """The module's name without what it lies in."""
        return self.module.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]


def called(node: ast.AST) -> str:
    """The last name of what is called, "" for all else."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", ""))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def unseen(node: ast.AST) -> bool:
    """Nothing within the node is to be changed."""
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.arg():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring, or the dots of a protocol
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True  # what runs a module as a command
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.keyword():
            return node.arg in OTHER_SYSTEMS
        case _:
            return called(node.value if isinstance(node, ast.Expr) else node) in UNSEEN


def places(node: ast.AST, around: Place) -> Iterator[Place]:
    """Every node that may be changed, from the outside in."""
    if unseen(node):
        return
    scope, lines = around.scope, around.lines
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        scope = ".".join(filter(None, (scope, getattr(node, "name", "<lambda>"))))
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        lines = range(node.lineno, max(node.lineno, body[0].lineno - 1 if body else node.end_lineno or 0) + 1)
    yield Place(node, lines, scope, around.function)
    if isinstance(node, ast.JoinedStr):
        return  # Python 3.11 does not say where its parts stand.
    for field, value in ast.iter_fields(node):
        function = around.function
        if function is None and field == "body" and isinstance(node, FUNCTIONS):
            function = (scope, min(one.lineno for one in (node, *getattr(node, "decorator_list", ()))))
        if field in ("annotation", "returns", "decorator_list") or (field == "keywords" and called(node) == "zip"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child, Place(child, lines, scope, function))


def opposite(test: ast.expr) -> str:
    return ast.unparse(test.operand if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test))


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """(operator, the node to replace, its new text)."""
    match node:
        case ast.Compare(ops=[operator]):
            other = COMPARED[type(operator)]()
            yield "compare", node, ast.unparse(ast.Compare(node.left, [other], node.comparators))
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and/or", node, ast.unparse(ast.BoolOp(other_op, node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield "not", node, ast.unparse(node.operand)
        case ast.BinOp() if type(node.op) in REACHED and not (is_text(node.left) or is_text(node.right)):
            yield "arithmetic", node, ast.unparse(ast.BinOp(node.left, REACHED[type(node.op)](), node.right))
        case ast.Constant(value=bool() as flag):
            yield "constant", node, str(not flag)
        case ast.Constant(value=int() | float() as number):
            yield "constant", node, str(number + 1)
        case ast.Constant(value=str() as text):
            yield "text", node, repr("" if text else "x")
        case ast.JoinedStr():
            yield "text", node, '""'
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and not value.value):
            yield "return", value, "None"
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.Await()) | ast.AugAssign() | ast.Delete() | ast.Raise():
            yield "dropped", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped", node, "pass"
        case ast.Continue() | ast.Break():
            yield "loop", node, "break" if isinstance(node, ast.Continue) else "continue"
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(
        node.test, ast.Compare | ast.UnaryOp | ast.BoolOp
    ):
        yield "condition", node.test, opposite(node.test)
    if isinstance(node, ast.Call):
        if called(node) == "sorted":
            yield "order", node, f"list({ast.unparse(node.args[0])})"
        if (
            len(node.args) > 1
            and called(node) not in COMMUTES
            and not any(isinstance(one, ast.Starred) for one in node.args)
        ):
            swapped = [node.args[1], node.args[0], *node.args[2:]]
            yield "swapped", node, ast.unparse(ast.Call(node.func, swapped, node.keywords))
        for keyword in node.keywords if called(node) != "zip" else ():
            if keyword.arg and keyword.arg not in OTHER_SYSTEMS:
                rest = [one for one in node.keywords if one is not keyword]
                yield "argument left out", node, ast.unparse(ast.Call(node.func, node.args, rest))


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    encoded = source.encode()
    starts = [0]
    for line in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    occurrences: Counter[str] = Counter()
    for place in places(tree, Place(tree, range(0))):
        for operator, node, text in changes(place.node):
            start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            name = "\n".join((module, place.scope, operator, encoded[start:end].decode(), text))
            occurrences[name] += 1
            is_whole = text in ("None", "pass") or isinstance(node, (ast.Constant, ast.JoinedStr, ast.stmt))
            inserted = text if is_whole else f"({text})"
            changed = (encoded[:start] + inserted.encode() + encoded[end:]).decode()
            key = hashlib.sha256(f"{name}\n{occurrences[name]}".encode()).hexdigest()[:12]
            yield Mutant(module, place, operator, source, changed, key)
