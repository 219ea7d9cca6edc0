"""Every statement names its owner: on Citus none goes to more than one shard, and none sees another owner's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from moechat.store import exchanges, finding_records, table_lines, table_store
from moechat.store.database import BEAT, SqliteSession, Values
from moechat.store.postgres import moving, servers, session, table_vectors, tables
from moechat.store.table_store import TableStore
from tests.houses import ZONE
from tests.twins import Twins

pglast = pytest.importorskip("pglast")
NAMES = re.compile(r"%\((\w+)\)s")
VERBS = re.compile(r"\b(FROM|INTO|UPDATE)\s+\w")
OWNER = "owner"
SHARED = (exchanges, finding_records, table_lines, table_store)
SEEDS = 12


class Recording(SqliteSession):
    """It notes every statement that is run."""

    def __init__(self) -> None:
        self.statements: set[str] = set()
        super().__init__(None)

    def all(self, statement: str, values: Values = {}) -> list[tuple[Any, ...]]:  # noqa: B006
        self.statements.add(statement)
        return super().all(statement, values)

    def do(self, statement: str, values: Values, *, durably: bool = True) -> int:
        self.statements.add(statement)
        return super().do(statement, values, durably=durably)

    def many(self, statement: str, values: Sequence[Values]) -> None:
        self.statements.add(statement)
        super().many(statement, values)


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What walks run over shared tables, and what is run over those of PostgreSQL alone."""
    seen = {BEAT, session.KNOW, session.LOCK, table_vectors.nearest(512), *constants(table_vectors)}
    seen |= {
        table_vectors.PUT,
        *constants(session),
        *constants(servers),
        *constants(moving),
        *moving.DIGESTS,
        *moving.ERASE,
    }
    for seed in range(SEEDS):
        twins = Twins(tmp_path_factory.mktemp("walk"), seed)
        recording = Recording()
        twins.rows = TableStore(recording, clock=twins.clock, zone=ZONE)  # type: ignore[assignment]
        twins.walk(30)
        twins.rows.replies.end("a reply that waits", {})
        twins.close()
        seen |= recording.statements
    return {statement for statement in seen if VERBS.search(statement)}


def constants(module: object) -> Iterator[str]:
    for name, value in vars(module).items():
        if name.isupper() and not name.startswith("_") and isinstance(value, str) and VERBS.search(value):
            yield value


def parsed(statement: str) -> tuple[object, int]:
    """The tree, and the number of the parameter that is the owner."""
    names = list(dict.fromkeys(NAMES.findall(statement)))
    numbered = NAMES.sub(lambda name: f"${names.index(name[1]) + 1}", statement)
    (raw,) = pglast.parse_sql(numbered)
    return raw.stmt, names.index(OWNER) + 1 if OWNER in names else 0


def inside(node: object) -> Iterator[object]:
    """A node and all below it."""
    if isinstance(node, tuple):
        for one in node:
            yield from inside(one)
    elif isinstance(node, pglast.ast.Node):
        yield node
        for attribute in node:
            yield from inside(getattr(node, attribute))


def of_kind(node: object, *kinds: str) -> list[object]:
    return [one for one in inside(node) if type(one).__name__ in kinds]


def is_owner(node: object, number: int) -> bool:
    return type(node).__name__ == "ParamRef" and node.number == number  # type: ignore[attr-defined]


def owned(where: object, number: int) -> set[str]:
    """The aliases ("" where none is named) whose owner_id must be the parameter: conditions that are joined by AND alone."""
    parts = [where]
    if type(where).__name__ == "BoolExpr" and where.boolop == pglast.enums.BoolExprType.AND_EXPR:  # type: ignore[attr-defined]
        parts = list(where.args)  # type: ignore[attr-defined]
    aliases = set()
    for part in parts:
        if type(part).__name__ == "A_Expr" and [name.sval for name in part.name] == ["="]:  # type: ignore[attr-defined]
            if type(part.lexpr).__name__ == "ColumnRef" and is_owner(part.rexpr, number):  # type: ignore[attr-defined]
                *alias, column = [field.sval for field in part.lexpr.fields]  # type: ignore[attr-defined]
                if column == "owner_id":
                    aliases.add(alias[0] if alias else "")
    return aliases


def without_owner(statement: str) -> list[str]:
    """The tables of a statement that it does not tie to its owner."""
    tree, number = parsed(statement)
    lacking = []
    for select in of_kind(tree, "SelectStmt", "UpdateStmt", "DeleteStmt"):
        sources = getattr(select, "fromClause", None) or ()
        relation = getattr(select, "relation", None)
        tables = of_kind((*sources, relation), "RangeVar")
        conditions = [getattr(select, "whereClause", None), *(join.quals for join in of_kind(sources, "JoinExpr"))]
        tied = set().union(*(owned(condition, number) for condition in conditions))
        for table in tables:
            alias = table.alias.aliasname if table.alias else ""
            if alias not in tied or (not alias and len(tables) > 1):
                lacking.append(table.relname)
    for insert in of_kind(tree, "InsertStmt"):
        place = [column.name for column in insert.cols].index("owner_id")
        source = insert.selectStmt
        for row in source.valuesLists or ():
            if not is_owner(row[place], number):
                lacking.append(insert.relation.relname)
    return lacking


def test_a_statement_is_about_the_rows_of_its_owner(statements: set[str]) -> None:
    lacking = {statement: without_owner(statement) for statement in statements}
    assert len(lacking) > 60
    assert {statement: tables for statement, tables in lacking.items() if tables} == {}


def test_every_statement_of_the_room_was_looked_at(statements: set[str]) -> None:
    """``EXCHANGE`` is written out with what stands in its place."""
    whole = "\n".join(statements)
    written = {text for module in SHARED for text in constants(module) if "{" not in text}
    assert [text for text in sorted(written) if text not in whole] == []


def test_one_that_is_not_is_seen() -> None:
    cases = [
        "SELECT t FROM exchanges", "SELECT t FROM exchanges WHERE owner_id = %(owner)s OR alive",
        "SELECT e.t FROM exchanges e JOIN notes n ON n.id = e.id WHERE e.owner_id = %(owner)s",
        "SELECT t FROM exchanges WHERE owner_id = %(owner)s AND id IN (SELECT id FROM notes)",
        "DELETE FROM facts WHERE id = %(id)s", "INSERT INTO facts (owner_id, id) VALUES (%(id)s, %(owner)s)",
    ]  # fmt: skip
    assert [statement for statement in cases if not without_owner(statement)] == []


def test_each_table_is_led_by_its_owner() -> None:
    """Keys and indexes begin with owner_id."""
    written = "".join(path.read_text(encoding="utf-8") for path in sorted(tables.MIGRATIONS.glob("*.sql")))
    tree = [raw.stmt for raw in pglast.parse_sql(written)]
    made = {one.relation.relname: one for one in of_kind(tuple(tree), "CreateStmt")}
    assert set(made) == set(tables.TABLES)
    for table in made.values():
        (key,) = [c for c in of_kind(table, "Constraint") if c.contype == pglast.enums.ConstrType.CONSTR_PRIMARY]
        columns = [one.colname for one in table.tableElts if hasattr(one, "colname") and key in (one.constraints or ())]
        assert (columns or [name.sval for name in key.keys])[0] == "owner_id", table.relation.relname
    for index in of_kind(tuple(tree), "IndexStmt"):
        assert index.indexParams[0].name == "owner_id", index.idxname
