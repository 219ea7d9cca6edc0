"""``docs/commands.md``, written from the parser of the commands: ``python -m moechat.cli.reference``.

It reads the parser's own description of itself, not its help text, which differs between versions of Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from moechat.cli.main import parser

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
    all_commands = commands()
    parts = [HEAD, _shared(all_commands.values())]
    for name, command in all_commands.items():
        parts += [f"## `moechat {name}`\n", f"{_sentence(command.description or '')}\n", _usage(name, command)]
        if rows := [_row(action) for action in _own(command)]:
            parts.append(_table(rows))
    return "\n".join(parts)


def commands(below: argparse.ArgumentParser | None = None, name: str = "") -> dict[str, argparse.ArgumentParser]:
    """Every command that runs, by its full name (``say``, ``bench speed``)."""
    parser_ = below or parser()
    for action in parser_._actions:
        if isinstance(action, argparse._SubParsersAction):
            deeper = (commands(chosen, f"{name} {word}".strip()) for word, chosen in action.choices.items())
            return {full: command for group in deeper for full, command in group.items()}
    return {name: parser_}


def _own(command: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in command._actions:
        if "--help" not in action.option_strings and not _is_shared(action):
            yield action


def _is_shared(action: argparse.Action) -> bool:
    return any(option in SHARED for option in action.option_strings)


def _shared(commands: Iterable[argparse.ArgumentParser]) -> str:
    """The options that most commands take, in the order of SHARED."""
    actions = {option: action for c in commands for action in c._actions for option in action.option_strings}
    return "Options of most commands:\n\n" + _table(_row(actions[option]) for option in SHARED if option in actions)


def _usage(name: str, command: argparse.ArgumentParser) -> str:
    words = ["moechat", name, *sorted((_shape(action) for action in _own(command)), key=lambda shape: shape[0] == "[")]
    shared = [option for option in SHARED if option in command._option_string_actions]
    return f"```\n{' '.join(words)}\n```\n\nAlso: {' '.join(f'`{option}`' for option in shared)}\n"


def _shape(action: argparse.Action) -> str:
    """An argument as it stands in a usage line, in brackets where it may be left out."""
    shape = " ".join([*action.option_strings[-1:], *([_value(action)] if action.nargs != 0 else [])])
    if action.nargs in ("*", "+"):
        shape += " …"
    return shape if action.required and action.nargs != "*" else f"[{shape}]"


def _value(action: argparse.Action) -> str:
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def _row(action: argparse.Action) -> tuple[str, str]:
    if not action.option_strings:
        return f"`{_value(action)}`", action.help or ""
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return f"`{', '.join(action.option_strings)}{value}`", action.help or ""


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = ["| | |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in rows)]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


if __name__ == "__main__":
    sys.stdout.write(reference())
