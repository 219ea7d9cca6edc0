"""``docs/commands.md``, written from the table of the commands: ``python -m moechat.cli.reference``."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from moechat.cli.main import Arg, commands

HEAD = """\
# 命令 · Commands

Written by `make docs` from `moechat/cli/main.py`; do not edit.

`moechat` 与 `python -m moechat` 相同；`python app.py` 就是 `moechat web`。
当前文件夹里有 `data` 或 `config.yaml` 时使用当前文件夹，否则使用你自己的数据文件夹（`MOECHAT_DATA` 可另指一个），
并说明用的是哪个。
写入的命令会把自带的默认内容复制到缺少的地方；只读的命令什么也不创建。

`moechat` is the same as `python -m moechat`, and `python app.py` is `moechat web`. Where the current folder has
`data` or `config.yaml`, it is used; elsewhere your own data folder is (`MOECHAT_DATA` names another), and the command says
which. A command that writes copies the defaults that ship with MoeChat where there are none; one that reads creates nothing.

Exit status 0: done; 1: what was asked for failed; 2: wrong use. Problems are told on standard error, one line each.
"""

# Most commands take these; the document describes them once.
SHARED = ("--data", "--config", "--character", "--user", "--world", "--now", "--json")


def reference() -> str:
    """The document, as it is committed."""
    rows = {option: one for row in commands() for one in row.arguments for option in one.names.split()}
    parts = [HEAD, "Options of most commands:\n\n" + _table(_row(rows[option]) for option in SHARED)]
    for row in commands():
        own = [one for one in row.arguments if not {*one.names.split()} & {*SHARED}]
        shapes = sorted(map(_shape, own), key=lambda shape: shape[0] == "[")
        names = {name for one in row.arguments for name in one.names.split()}
        also = " ".join(f"`{option}`" for option in SHARED if option in names)
        parts += [f"## `moechat {row.name}`\n", f"{_sentence(row.about)}\n"]
        parts += [f"```\n{' '.join(['moechat', row.name, *shapes])}\n```\n\nAlso: {also}\n"]
        parts += [_table(map(_row, own))] if own else []
    return "\n".join(parts)


def _shape(one: Arg) -> str:
    """An argument as it stands in a usage line, in brackets where it may be left out."""
    name, nargs = one.names.split()[-1], one.shape.get("nargs")
    is_option = name.startswith("-")
    shape = f"{name}{_value(one)}" if is_option else _value(one).strip()
    shape += " …" if nargs in ("*", "+") else ""
    return shape if one.shape.get("required", not is_option) and nargs not in ("?", "*") else f"[{shape}]"


def _value(one: Arg) -> str:
    if "action" in one.shape and one.shape["action"] == "store_true":
        return ""
    if choices := one.shape.get("choices"):
        return f" {{{','.join(choices)}}}"
    return f" {one.shape.get('metavar') or one.shape.get('dest') or one.names.split()[-1].strip('-').upper()}"


def _row(one: Arg) -> tuple[str, str]:
    options = ", ".join(name for name in one.names.split() if name.startswith("-"))
    return f"`{f'{options}{_value(one)}'.strip()}`", one.about


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = ["| | |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in rows)]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


if __name__ == "__main__":
    sys.stdout.write(reference())
