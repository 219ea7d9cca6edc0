"""Whether words affirm or deny something: 我喜欢茶 and "likes tea" against 讨厌茶, 不喝茶, "cannot stand tea".

Read from the words alone, from left to right. A verb of liking or disliking counts with the denials right before it; two denials
side by side affirm; a list (coffee and tea) shares what was said of its first. Where words tell of a change, an exception or a
comparison, nobody can say so simply: None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from moechat.language import words
from moechat.when.names import has_han

_LIKE = frozenset(
    "喜欢 爱 热爱 喜爱 享受 最爱 爱好 爱吃 爱喝 爱看 like likes liked love loves loved enjoy enjoys enjoyed adore adores "
    "prefer prefers fond keen".split()
)
_DISLIKE = frozenset(
    "讨厌 厌恶 恨 反感 受不了 忍不了 害怕 怕 恐惧 过敏 嫌 嫌弃 看不惯 腻 厌倦 hate hates hated dislike dislikes disliked "
    "detest detests despise despises loathe loathes allergic afraid scared fear fears avoid avoids tired cannot_stand".split()
)
_DENIAL = frozenset(
    "别 无 未 无法 从不 从未 从没 绝不 决不 并不 并非 毫不 并没有 从来不 从来没 从来没有 not no never none nobody nothing "
    "neither nor cannot without hardly rarely unable".split()
)
# These begin like a denial and are none; every other word in 不 or 没 (不吃, 没有) is one.
_NO_DENIAL = frozenset(
    "不但 不仅 不仅仅 不只 不光 不过 不管 不论 不同 不少 不久 不断 不错 不得不 不能不 不可不 不由得 不由 不料 不禁 "
    "不觉 不知不觉 不一会 不一会儿 不好意思 不然 不如 不妨 不愧 不可思议 不大 不小 不高 "
    "没想到 没关系 没事 没事儿 没错 没准 没准儿".split()
)
_OUTER = frozenset("不 没 没有 不是 不能 不会 不可能 并不是 并非 not no never none nobody nothing cannot".split())
"""Beside one of these another denial affirms; 不吃肉不喝酒 denies twice."""
# A change, an exception or a comparison: what holds now does not follow from the words one by one.
_EITHER = re.compile(
    r"打错|说错|记错|弄错|搞错|除了|除非|以前|曾|过去|从前|原来|戒|死|去世|过世|丢|卖|分手|离婚|离开|辞|退|停|取消|而不是|与其|不如|比起|"
    r"\b(?:except|besides|apart|used to|former\w*|previous\w*|once|quit|stopped|gave up|died|dead|lost|sold|left|"
    r"broke up|divorced|cancel\w*|skip\w*|instead|rather|than|only|just|until|unless|anymore|any more|bad|wrong|wait|help|"
    r"resist|doubt|mind|problem|miss\w*)\b",
    re.I,
)
_NO_LONGER = re.compile(r"\bno longer\b|\bnot any ?more\b|不再|已经不|戒", re.I)
_UNITS = (
    (
        re.compile(r"\b(?:can ?not|can['’]?t|could ?n['’]?t|could not) (?:really )?(?:stand|bear|tolerate|abide)\b", re.I),
        "cannot_stand",
    ),
    (re.compile(r"n['’]t\b", re.I), " not"),
    (re.compile(r"无(.{1,3})不欢"), r"爱\1"),
    (re.compile(r"\bwould like\b", re.I), "wants"),
    (re.compile(r"得(?:好?像|跟).*"), ""),  # what something is likened to
    (re.compile(r"\bnot a (?:day|week|night) (?:goes by|passes) without\b", re.I), "always"),
)  # fmt: skip
_HARD = re.compile(r"[,，。.;；!！?？:：\n]+")
_SOFT = frozenset("and or but 和 与 跟 或 及 以及 还有 但 但是 而 、 &".split())
_TOKEN = re.compile(r"[a-z_]+|\d+|[、&]|[^\W\da-z_]+", re.I)
BESIDE = 2  # Denials so near to each other make one: 没有人不, "not that I don't".


def of(text: str, target: str) -> int | None:
    """+1 where ``text`` affirms what it says of ``target`` (of all, where it does not name it), −1 where it denies it,
    None where it says both."""
    parts = [_tokens(part) for part in _HARD.split(text) if part.strip()]
    named = set(_tokens(target))
    senses = {
        _at(part, place)
        for part in parts
        for place in [i for i, token in enumerate(part) if token in named][:1] or ([] if named else [len(part)])
    }
    if not senses:  # it is named in other words
        senses = {_at(part, len(part)) for part in parts}
    return senses.pop() if len(senses) == 1 else None


def opposed(one: str, other: str, target: str) -> bool:
    """Whether one of two texts denies what the other affirms of ``target``."""
    if _is_open(one) or _is_open(other):
        return _opposed_in_time(one, other)
    first, second = of(one, target), of(other, target)
    return first is not None and second is not None and first != second


def likes(text: str) -> bool:
    """Whether a text has a word of liking."""
    return not _LIKE.isdisjoint(_tokens(text))


def dislikes(text: str) -> bool:
    """Whether a text has a word of disliking, and denies nothing."""
    tokens = _tokens(text)
    return not _DISLIKE.isdisjoint(tokens) and not any(map(_denies, tokens))


def is_plain(text: str) -> bool:
    """Whether a text has no word of liking, disliking or denial."""
    return not any(token in _LIKE or token in _DISLIKE or _denies(token) for token in _tokens(text))


def _is_open(text: str) -> bool:
    return _EITHER.search(text) is not None or _NO_LONGER.search(text) is not None


def _opposed_in_time(one: str, other: str) -> bool:
    """Whether one says that it is over, and the other, in no word of change or denial, that it goes on."""
    over, plain = (one, other) if _NO_LONGER.search(one) else (other, one)
    return bool(_NO_LONGER.search(over)) and not _is_open(plain) and of(plain, "") == 1


def _tokens(text: str) -> list[str]:
    for unit, instead in _UNITS:
        text = unit.sub(instead, text)
    folded = words.fold(text)
    return [
        piece
        for token in _TOKEN.findall(folded)
        for piece in (words.words(token) if has_han(token) else [token])
    ]  # fmt: skip


def _at(tokens: Sequence[str], place: int) -> int:
    """The sense at one token: from what stands before it, else from what follows."""
    before = _sense(tokens[:place])
    return before or _sense(tokens[place + 1 :]) or 1


def _denies(token: str) -> bool:
    return token in _DENIAL or (token[0] in "不没" and token not in _NO_DENIAL)


def _sense(tokens: Sequence[str]) -> int:
    """+1 or −1, 0 where no word says either."""
    verb, denial, last = 0, 0, -BESIDE
    for i, token in enumerate(tokens):
        if token in _SOFT:
            verb, denial = (denial * verb if denial and verb else denial or verb), 0
        elif _denies(token):
            denial = -denial if denial and i - last <= BESIDE and tokens[last] in _OUTER else -1
            last = i
        elif token in _LIKE or token in _DISLIKE:
            verb, denial = (1 if token in _LIKE else -1) * (denial or 1), 0
    return verb * denial if verb and denial else verb or denial
