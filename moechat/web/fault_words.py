"""What is wrong with a file, as the page says it: the place short, the remedy in the page's language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from moechat.web.words import Words

_LINE = re.compile(r", line (\d+):")
_REMEDIES = tuple(
    (re.compile(pattern), zh)
    for pattern, zh in (
        # settings
        (r"expects a valid (integer|number).*", "应是一个数"),
        (r"expects a number$", "应是一个数"),
        (r"expects a finite number$", "应是一个数"),
        (r"expects a valid boolean.*", "应是 true 或 false"),
        (r"expects a valid list$", "应是一个列表：每行一个「- …」"),
        (r"expects a valid dictionary.*", "下面应写设置，每行一个「键: 值」"),
        (r"expects less than or equal to (.+)", r"最大是 \1"),
        (r"expects greater than or equal to (.+)", r"最小是 \1"),
        (r"expects less than (.+)", r"应小于 \1"),
        (r"expects greater than (.+)", r"应大于 \1"),
        (r"expects (('[^']*'(, | or )?)+)$", r"只能是 \1"),
        (r"expects text; put it in quotes", "应是文字，请加上引号"),
        (r"expects settings below it, as `key: value` lines", "下面应写设置，每行一个「键: 值」"),
        (r"unknown; did you mean (.+)\?", r"没有这一项；是不是 \1？"),
        (r"unknown; known here: (.+)", r"没有这一项；这里有：\1"),
        (r"unknown key (\S+); did you mean (.+)\?", r"没有 \1 这一项；是不是 \2？"),
        (r"unknown key (\S+); known here: (.+)", r"没有 \1 这一项；这里有：\2"),
        (r"keys are not kept in files: put it in the environment variable that key_env names",
         "密钥不写进文件：请放进 key_env 指定的环境变量"),
        (r"a character cannot set this; it may set (.+)", r"角色不能改这一项；可以改：\1"),
        (r"a character cannot set this$", "角色不能改这一项"),
        (r"expects at least one weight above 0", "至少要有一个权重大于 0"),
        (r"the shares of diary, core, lore and reflections add up to more than 1", "四份加起来超过了 1"),
        # characters
        (r"(\w+) expects text; write it after `\w+: \|-`, indented", r"\1 应是文字：写在「\1: |-」下面，缩进两格"),
        (r"(\w+) expects a list of texts: `- …`", r"\1 应是几段文字，每段一个「- …」"),
        (r"expects zh or en", "只能是 zh 或 en"),
        (r"expects the name of a file beside it", "应是旁边一个文件的名字"),
        (r"expects `(?:key|keyword): (?:value|description)` lines.*", "每行应是「名字: 内容」"),
        (r"examples expects a list of `- user: …` with `char: …` below it", "examples 应是几组「- user: …」和下面的「char: …」"),
        # YAML
        (r"not valid YAML: mapping values are not allowed.*", "这一行多了冒号，或缩进没有对齐；内容里有冒号时请给它加上引号"),
        (r"not valid YAML: could not find expected ':'", "这一行或上一行少了冒号"),
        (r"not valid YAML: found character '\\t'.*", "缩进请用空格，不要用 Tab"),
        (r"not valid YAML: did not find expected key", "缩进没有对齐，或上面的引号没有成对"),
        (r"not valid YAML: did not find expected ('.+')(?: or .*)?", r"上面的括号没有成对：少了 \1"),
        (r"not valid YAML: .*", "这一行不合 YAML 的写法，请看看冒号、缩进和引号"),
        (r"(?:this is )?not UTF-8 text; save the file .*", "不是 UTF-8 文字：请另存为 UTF-8"),
        (r"cannot be read: (.+)", r"读不了：\1"),
        (r"unknown placeholder (\{\{.*?\}\}); known here: (.+)", r"没有 \1 这个占位；这里有：\2"),
    )
)  # fmt: skip


def told(problems: Iterable[str], folders: Iterable[Path], words: Words) -> list[str]:
    """Problems in words, without the ``folders`` that their files lie in."""
    return [_translated(_short(problem, folders), words) for problem in problems]


def _short(problem: str, folders: Iterable[Path]) -> str:
    for folder in folders:
        problem = problem.replace(f"{folder}{os.sep}", "")
    return problem


def _translated(problem: str, words: Words) -> str:
    if words.language != "zh":
        return problem
    problem = _LINE.sub(r" 第 \1 行：", problem)
    for pattern, zh in _REMEDIES:
        if match := pattern.search(problem):
            return problem[: match.start()] + match.expand(zh) + problem[match.end() :]
    return problem
