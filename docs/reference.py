"""Documents that are written from the code: ``python docs/reference.py`` writes ``docs/configuration.md``, from the schema of the
settings and what config.yaml says of each key, and ``docs/commands.md``, from the table of the commands. ``make docs`` calls it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from moechat.cli.main import Arg, commands
from moechat.settings.config import CHARACTER_MAY_SET, Config

ROOT = Path(__file__).resolve().parents[1]

# ---- docs/configuration.md

_LEGEND = re.compile(r" *#   (\w+): (.*) · (.*)")
_COMMENT = re.compile(r" *# (.*)")
_KEY = re.compile(r"( *)(\w+):")


def meanings(text: str) -> dict[str, tuple[str, ...]]:
    """What config.yaml says of each dotted key: the comment lines above it, Chinese and English.

    A key of a recipe stands in the legend above all recipes, and here by its last name alone.
    """
    by_key: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    comments: list[str] = []
    for line in text.splitlines():
        if legend := _LEGEND.fullmatch(line):
            name, zh, en = legend.groups()
            by_key[name] = (zh, en)
        elif comment := _COMMENT.fullmatch(line):
            comments.append(comment[1])
        elif key := _KEY.match(line):
            path[len(key[1]) // 2 :] = [key[2]]
            by_key[".".join(path)] = tuple(comments)
            comments = []
        else:
            comments = []
    return by_key


_BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def configuration() -> str:
    """docs/configuration.md: every section as a table of keys, defaults and meanings."""
    by_key = meanings((ROOT / "config.yaml").read_text(encoding="utf-8"))
    parts = [
        "# 配置 · Configuration\n\n"
        "Written by `make docs` from `config.yaml` and `moechat/settings/schema.py`; do not edit.\n\n"
        "设置在 `config.yaml`；角色的 `character.yaml` 可在 `overrides:` 下覆盖一部分；环境变量 "
        "`MOECHAT_<SECTION>__<KEY>` 最优先。\n\n"
        "Settings are in `config.yaml`; a character's `character.yaml` may override some under `overrides:`; the "
        "environment (`MOECHAT_<SECTION>__<KEY>`, e.g. `MOECHAT_RECALL__RECIPES__EVENTS__LIMIT`) comes first. A "
        "character's folder may come from a stranger: it cannot set where messages and keys go. Keys are never in this "
        "file: one that is entered on the page goes into the system's keyring, or where there is none into "
        "`service_keys.json` in the data folder, for its owner's eyes alone; `key_env` names an environment variable.\n"
    ]
    for name, field in Config.model_fields.items():
        allowed = CHARACTER_MAY_SET.get(name, frozenset())
        may = "all keys" if allowed is None else ", ".join(f"`{key}`" for key in sorted(allowed)) or "none"
        rows = "".join(_settings(field.default, name, by_key))
        parts.append(
            f"\n## `{name}`\n\n{' · '.join(by_key[name])}\n\nA character may override: {may}.\n\n"
            f"| key | default, range | 含义 | meaning |\n|---|---|---|---|\n{rows}"
        )
    return "".join(parts)


def _settings(section: BaseModel, path: str, by_key: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        default, key = getattr(section, name), f"{path}.{name}"
        if field.description:  # of an old configuration, and not in config.yaml
            zh, en = field.description.split("\n")
        else:
            zh, en = (text.replace("|", "\\|") for text in by_key.get(key) or by_key[name])
        bounds = (
            f" {sign} {getattr(one, of)}" for of, sign in _BOUNDS.items() for one in field.metadata if hasattr(one, of)
        )
        is_shown = not (field.description or isinstance(default, BaseModel))
        shown = f"`{_written(name, default)}`{','.join(bounds)}" if is_shown else ""
        yield f"| `{key.partition('.')[2]}` | {shown} | {zh} | {en} |\n"
        if isinstance(default, BaseModel):
            yield from _settings(default, key, by_key)


def _written(name: str, value: object) -> str:
    """A default as it stands in YAML."""
    if value is None and "threshold" in name:
        return "auto"
    return json.dumps(value, ensure_ascii=False)


# ---- docs/commands.md

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


def command_line() -> str:
    """docs/commands.md, as it is committed."""
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
    (ROOT / "docs" / "configuration.md").write_text(configuration(), encoding="utf-8")
    (ROOT / "docs" / "commands.md").write_text(command_line(), encoding="utf-8")
