"""What only the two of them call so, in the plain forms in which people agree on it: 以后我们管加班叫打怪, let's call Mondays
"swamp days".
"""

from __future__ import annotations

import re

from moechat.model import FactDraft
from moechat.rules.message import Reading

KEYWORD = {"zh": "我们的叫法", "en": "our word"}
_ZH = re.compile(
    r"(?P<who>我们|咱们?|我)?(?:以后|今后|从今天起|从今往后)?(?P<own>我们|咱们?|我)?(?:以后|就|都)*[管把](?P<what>[^，。！？!?\s]{1,12}?)"
    r"叫(?:做|作)?(?P<name>[“\"「]?[^，。！？!?\s]{1,12}?[”\"」]?)(?:吧|好不好|好吗|好了|呗|怎么样|啦)?(?=[，。！？!?\s]|$)"
)
_EN = re.compile(
    r"\blet['’]?s (?:just )?call (?P<what>[\w' ]{1,30}?) (?:[\"“](?P<quoted>[^\"”]{1,30})[\"”]"
    r"|(?P<name>[\w-]+(?: [\w-]+)?) from now on)",
    re.I,
)
_MINE = re.compile(r"\bmy\b", re.I)
_AGREED = re.compile(r"以后|今后|从今天起|从今往后|吧(?=[，。！？!?\s]|$)|好不好|呗")
_NO_NAME = re.compile(r"[我它他她这那]")
_ASKS = re.compile(r"什么|啥|谁|哪")


def stated(reading: Reading, source: str) -> list[FactDraft]:
    """The words that a message agrees on."""
    if reading.play:
        return []
    zh, drafts = reading.language == "zh", list[FactDraft]()
    for match in (_ZH if zh else _EN).finditer(reading.text):
        what = match["what"].strip()
        name = (match["name"] or (match["quoted"] if not zh else "")).strip('“”"「」 ')
        if zh:
            is_hers = what in ("你", "妳")
            both = (match["own"] or match["who"] or "我们") != "我"
            agreed = _AGREED.search(match[0]) and not _ASKS.search(name) and not _NO_NAME.search(what)
            text = f"用户管角色叫{name}" if is_hers else f"用户和角色管{what}叫{name}"
            fits = bool(agreed) and (both or is_hers)
        else:
            fits = bool(match["quoted"]) or what.casefold() not in ("it", "this", "that")
            what = _MINE.sub("the user's", what)
            text = f'The user and the character call {what} "{name}"'
        if fits and name:
            drafts.append(FactDraft(text, (source,), "relation", "user", KEYWORD[reading.language], name))
    return drafts
