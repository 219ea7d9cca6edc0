"""The words of the login page and of refusals, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping

from moechat.settings.character import Language

LANGUAGES: tuple[Language, ...] = ("zh", "en")

LOGIN: Mapping[str, tuple[str, str]] = {
    "title": ("萌聊 MoeChat", "MoeChat"),
    "tagline": ("会记得你的聊天伙伴", "a companion that remembers"),
    "code": ("一次性代码", "One-time code"),
    "password": ("密码或一次性代码", "Password or one-time code"),
    "key": ("密钥、密码或一次性代码", "Key, password or one-time code"),
    "enter": ("进入", "Enter"),
    "hint": (
        "代码显示在运行 MoeChat 的电脑上；要一个新的：moechat access code",
        "The code is shown on the computer where MoeChat runs; for a new one: moechat access code",
    ),
    "wrong": ("不对：请再看一遍。代码十分钟内有效，只能用一次。", "Not right. A code holds for ten minutes, and once."),
    "several": (
        "这个密钥替很多人说话，不知道该打开谁的记忆；请为一个人做一个：moechat keys add 名字 --user 谁",
        "This key speaks for several people; make one for a single person: moechat keys add NAME --user WHO",
    ),
    "wait": ("试错太多次了：请在 {minutes} 分钟后再试。", "Too many wrong tries: try again in {minutes} min."),
    "large": ("请求超过 {most} 字节；请分几次发送", "the body is larger than {most} bytes; send less at once"),
    "often": (
        "每分钟最多 {rate} 个请求、{mb} MB、{cpu} 秒计算；请在 {wait} 秒后再来",
        "{rate} requests a minute are answered, of {mb} MB and {cpu} s of work in all; come again in {wait} s",
    ),
}


def word(name: str, language: Language, **values: object) -> str:
    """A word of the login page, or a refusal."""
    return LOGIN[name][LANGUAGES.index(language)].format(**values)


def language_of(accepted: str | None) -> Language:
    """A page's language from a browser's Accept-Language header; Chinese comes first here."""
    for part in (accepted or "").lower().split(","):
        tag = part.split(";")[0].strip()
        if tag.startswith("zh"):
            return "zh"
        if tag.startswith("en"):
            return "en"
    return "en" if accepted else "zh"
