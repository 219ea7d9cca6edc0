"""What is wrong with a file, as the page says it: the place short, the remedy in the page's language."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from moechat.errors import DataError, DiskError, FieldError, MoeChatError, NameTaken, NotFound, PathError
from moechat.web import author_room
from moechat.web.words import TEXTS, Words

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
        (r"unknown key (\S+); known(?: here)?: (.+)", r"没有 \1 这一项；这里有：\2"),
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
        (r"values are nested more than (\d+) deep; .*", r"嵌套超过 \1 层；请写得平一些"),
        (r"a character that YAML does not allow: .*", "有 YAML 不允许的字符"),
        # world books, and files as text
        (r"expects a keyword and a description in words", "要有关键词，也要有文字说明"),
        (r"(\w+) expects a list of names, .*", r"\1 应是几个词，例如 [一, 二]"),
        (r"(\w+) expects true or false", r"\1 应是 true 或 false"),
        (r"(\w+) expects a (?:whole )?number(.*)", r"\1 应是一个数\2"),
        (r"overrides expects sections .*", "overrides 下面应是 config.yaml 里的段落，例如 recall:"),
        (r"is no JSON that can be read: (.+)", r"不是能读的 JSON：\1"),
        (r"is neither a character card nor a lorebook", "既不是角色卡，也不是世界书"),
        (r"is no character card.*|holds something that is no character card.*", "不是角色卡"),
        (r"is no lorebook.*", "不是世界书：应当有 entries"),
        (r"was changed elsewhere meanwhile.*", "刚才在别处改过了；重新打开，再改一次"),
        (r"has more than ([\d,]+) characters; .*", r"超过 \1 个字符；请用文本编辑器改"),
        # what is brought
        (r"is none of what can be imported.*",
         "认不出来。可以带进来的有：角色卡（PNG、JSON、CHARX）、世界书、聊天记录（JSONL、CSV、文本、SillyTavern 或 ChatGPT 的）、"
         "记忆（JSON、CSV）、存档"),
        (r"has (\d+) MB.*; at most (\d+) are read.*", r"有 \1 MB，最多读 \2 MB"),
        (r"would unpack to (\d+) MB; at most (\d+) are read", r"解开有 \1 MB，最多 \2 MB；已拒绝"),
        (r"holds more than ([\d,]+) values.*", r"超过 \1 个值，不会是角色卡"),
        (r"holds ([\d,]+) files; at most ([\d,]+) are read", r"里面有 \1 个文件，最多读 \2 个"),
        (r"holds a file (.+), whose name leads out of it; refused", r"里面的文件名 \1 想逃出去；已拒绝"),
        (r"holds a file (.+), which no archive of ours has; refused", r"里面有 \1，我们的存档不会有它；已拒绝"),
        (r"is encrypted.*", "加了密；请不设密码再存一次"),
        (r"is damaged, or no zip.*", "坏了，或者不是 zip；请重新取一份"),
        (r"its card is compressed.*", "里面的卡片是压缩过的；请从原处重新导出"),
        (r"its card is damaged.*", "里面的卡片坏了；请重新取一份"),
        (r"is no PNG picture", "不是 PNG 图片"),
        (r"the picture is cut off.*", "图片不完整；请重新取一份"),
        (r"a newer MoeChat made this archive.*", "这是更新的萌聊做的存档；请先更新"),
        (r"more than ([\d,]+) files(?: or \d+ GB)? lie here; take some in first|more than (\d+) GB lie here.*",
         "这里放不下了：先带进来一些，或拿走一些"),
        (r"it is no JSON(?: object)?; .*", "不是一行 JSON"),
        (r"(\w+) is missing, or is no text; .*", r"缺 \1，或者不是文字"),
        (r"(?:text|mes) is empty.*", "没有内容"),
        (r"who = (.+): expects .*", r"不知道 \1 是谁：先选哪个是你"),
        (r"(?:time|send_date) = (.+): expects .*", r"时间 \1 认不出来：写成 2021-03-04T20:15:00"),
        (r"all of (?:it|this) is there already; nothing was imported", "这些都已经有了，什么也没有加"),
        (r"this was imported already, as (.+); take that back first", r"这些以前带进来过（\1）；要重来，先把它收回"),
        (r"nothing was imported; (\d+) of its lines cannot be read", r"有 \1 行读不出来，什么也没有带进来"),
        (r"unknown placeholder (\{\{.*?\}\}); known here: (.+)", r"没有 \1 这个占位；这里有：\2"),
    )
)  # fmt: skip


def said(error: MoeChatError | OSError, words: Words) -> str:
    """An error of a click in words, all faults of a file at once; a file by its name alone."""
    parts = error.parts if isinstance(error, MoeChatError) else (error,)
    return " ".join(_said(part, words) for part in parts)


def _said(error: MoeChatError | OSError, words: Words) -> str:
    match error:
        case NameTaken(kind=None) if f"{error.field}_taken" in TEXTS:
            return words(f"{error.field}_taken", name=error.value)
        case FieldError():
            return author_room.wrong(error, words)
        case PathError():
            return words("name_bad")
        case NotFound():
            return words("gone")
        case DiskError():
            return error.words(words.language)
    text = str(error)
    place = error.file if isinstance(error, DataError) else text.partition(": ")[0]
    return _translated(text.replace(place, Path(place).name, 1) if os.sep in place else text, words)


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
