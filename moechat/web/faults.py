"""What is wrong, in the page's language. Errors are written in English; ``IN_CHINESE`` has them by their words, as a catalogue of
messages does. Knows no Gradio."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from moechat.errors import DataError, DiskError, FieldError, MoeChatError, NameTaken, NotFound, PathError
from moechat.web import author_room
from moechat.web.words import TEXTS, Words

IN_CHINESE: Mapping[str, str] = {  # {what the English says: the Chinese, with its groups}
    r"expects `key: value` lines such as .*": "应当是「键: 值」这样的行，例如 name: 和 persona:",
    r"expects `keyword: description` lines": "应当是「关键词: 说明」这样的行",
    r"unknown key (.+?); did you mean (.+)\?": "没有「{0}」这个键；是不是 {1}？",
    r"unknown key (.+?); known.*?: (.+)": "没有「{0}」这个键；可以用：{1}",
    r"(.+): unknown key (.+?); did you mean (.+)\?": "「{0}」里没有「{1}」这个键；是不是 {2}？",
    r"(.+): unknown key (.+?); known.*?: (.+)": "「{0}」里没有「{1}」这个键；可以用：{2}",
    r"(\w+) expects text; write it after .*": "{0} 应当是文字：写在「{0}: |-」的下一行，缩进两格",
    r"language = (.+): expects zh or en": "language = {0}：应当是 zh 或 en",
    r"picture = (.+): expects the name of a file beside it": "picture = {0}：应当是旁边一个文件的名字",
    r"overrides expects sections .*": "overrides 下面应当是 config.yaml 里的段落，例如 recall:",
    r"(\w+) expects a list of texts: .*": "{0} 应当是几段文字，每段一行「- …」",
    r"examples expects a list .*": "examples 应当是「- user: …」，下一行「char: …」",
    r"(.+): expects a keyword and a description in words": "「{0}」要有关键词，也要有文字说明",
    r"(.+): (\w+) expects a list of names, .*": "「{0}」的 {1} 应当是几个词，例如 [一, 二]",
    r"(.+): (\w+) expects true or false": "「{0}」的 {1} 应当是 true 或 false",
    r"(.+): (\w+) expects (.+)": "「{0}」的 {1} 应当是：{2}",
    r"not valid YAML: (.+)": "YAML 写得不对：{0}",
    r"a character that YAML does not allow: (.+)": "有 YAML 不允许的字符：{0}",
    r"values are nested more than (\d+) deep; .*": "嵌套超过 {0} 层；请写得平一些",
    r"(?:this is|it is) not UTF-8.*": "不是 UTF-8 文字；请存成 UTF-8",
    r"is no JSON that can be read: (.+)": "不是能读的 JSON：{0}",
    r"is neither a character card nor a lorebook": "既不是角色卡，也不是世界书",
    r"is no character card.*|holds something that is no character card.*": "不是角色卡",
    r"is no lorebook.*": "不是世界书：应当有 entries",
    r"was changed elsewhere meanwhile.*": "刚才在别处改过了；重新打开，再改一次",
    r"has more than ([\d,]+) characters; .*": "超过 {0} 个字符；请用文本编辑器改",
    r"is none of what can be imported.*": (
        "认不出来。可以带进来的有：角色卡（PNG、JSON、CHARX）、世界书、聊天记录（JSONL、CSV、文本、SillyTavern 或 ChatGPT 的）、"
        "记忆（JSON、CSV）、存档"
    ),
    r"has (\d+) MB.*; at most (\d+) are read.*": "有 {0} MB，最多读 {1} MB",
    r"would unpack to (\d+) MB; at most (\d+) are read": "解开有 {0} MB，最多 {1} MB；已拒绝",
    r"holds more than ([\d,]+) values.*": "超过 {0} 个值，不会是角色卡",
    r"holds ([\d,]+) files; at most ([\d,]+) are read": "里面有 {0} 个文件，最多读 {1} 个",
    r"holds a file (.+), whose name leads out of it; refused": "里面的文件名 {0} 想逃出去；已拒绝",
    r"holds a file (.+), which no archive of ours has; refused": "里面有 {0}，我们的存档不会有它；已拒绝",
    r"is encrypted.*": "加了密；请不设密码再存一次",
    r"is damaged, or no zip.*": "坏了，或者不是 zip；请重新取一份",
    r"its card is compressed.*": "里面的卡片是压缩过的；请从原处重新导出",
    r"its card is damaged.*": "里面的卡片坏了；请重新取一份",
    r"is no PNG picture": "不是 PNG 图片",
    r"the picture is cut off.*": "图片不完整；请重新取一份",
    r"a newer MoeChat made this archive.*": "这是更新的萌聊做的存档；请先更新",
    r"it is no JSON(?: object)?; .*": "不是一行 JSON",
    r"(\w+) is missing, or is no text; .*": "缺 {0}，或者不是文字",
    r"(?:text|mes) is empty.*": "没有内容",
    r"who = (.+): expects .*": "不知道 {0} 是谁：先选哪个是你",
    r"(?:time|send_date) = (.+): expects .*": "时间 {0} 认不出来：写成 2021-03-04T20:15:00",
    r"all of it is there already; nothing was imported": "这些都已经有了，什么也没有加",
    r"this was imported already, as (.+); take that back first": "这些以前带进来过（{0}）；要重来，先把它收回",
    r"nothing was imported; (\d+) of its lines cannot be read": "有 {0} 行读不出来，什么也没有带进来",
    r"cannot be (?:read|written): (.+)": "读写不了：{0}",
}
_PATTERNS = [(re.compile(pattern, re.DOTALL), text) for pattern, text in IN_CHINESE.items()]


def in_words(error: MoeChatError | OSError, words: Words) -> str:
    """An error as the page says it: the file by its short name, then what is wrong and what to do."""
    if isinstance(error, DiskError):
        return error.words(words.language)
    if isinstance(error, DataError):
        line = f" {words('in_line', n=error.line)}" if error.line else ""
        return words("at", place=PurePath(error.file).name + line, what=_reason(error.reason, words))
    if isinstance(error, NameTaken):
        known = f"{error.field}_taken" in TEXTS and error.kind is None
        return words(f"{error.field}_taken", name=error.value) if known else author_room.wrong(error, words)
    if isinstance(error, FieldError):
        return author_room.wrong(error, words)
    if isinstance(error, PathError):
        return words("name_bad")
    if isinstance(error, NotFound):
        return words("gone")
    place, _, reason = str(error).rpartition(": ")
    said = _reason(reason, words)
    return words("at", place=PurePath(place).name, what=said) if place else words("went_wrong", error=said)


def _reason(reason: str, words: Words) -> str:
    if words.language == "zh":
        for pattern, text in _PATTERNS:
            if match := pattern.fullmatch(reason):
                return text.format(*(one or "" for one in match.groups()))
    return reason
