"""Understanding without a model: facts, events, a tag, keywords and a change of scene, all by rules.

``clause`` cuts a message into clauses and says whose each one is and how it is meant. ``facts`` makes facts of those in
earnest, ``events`` reads from them what happened. Only the user's own words count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from moechat.language import words
from moechat.model import Event, Exchange, FactDraft, Understanding
from moechat.reading.patterns import patterns
from moechat.reading.saying import asks_by_form
from moechat.rules import boundaries, facts
from moechat.rules import events as happening
from moechat.rules.clause import Clause
from moechat.rules.message import Reading, goes_on, read
from moechat.rules.table import Language
from moechat.when import LONGEST_READ, both_ends
from moechat.when.names import has_han

KEYWORDS = 8
TAG_CHARS = {"zh": 60, "en": 160}
SMALL_TALK = {"zh": "日常闲聊", "en": "small talk"}

_SCENE = re.compile(
    r"晚安|拜拜|再见|回头见|明天见|先这样吧|下次(?:再)?聊|改天(?:再)?聊|(?:我)?(?:要|先|去)(?:去)?睡(?:觉)?(?:了|啦)|"
    r"先(?:下|撤|走)了|换个?场景|"
    r"\bgood ?night\b|\bbye(?:[- ]?bye)?\b|\bgoodbye\b|\bsee you (?:later|tomorrow|soon)\b|\btalk (?:to you "
    r")?(?:later|tomorrow|soon)\b|\b(?:gotta|have to|got to) (?:go|run|sleep)\b|\bgoing to (?:bed|sleep)\b|"
    r"\bttyl\b|\boff to bed\b",
    re.I,
)
CHIT_CHAT_CHARS = 500  # Longer texts are never chit-chat. The pattern takes ten seconds for 啊 sixty thousand times.
_CHIT_CHAT = re.compile(
    r"(?:(?:你好|您好|哈喽|嗨|嘿|早安|早上好|中午好|下午好|晚上好|早|晚安|在吗|在不在|在干嘛|干嘛呢|谢谢(?:你)?|多谢|"
    r"辛苦了|不客气|没事|没关系|好的?|好吧|行|嗯+|哦+|噢|哈+|嘿+|呵呵|"
    r"对(?:的|啊|呀)?|是(?:的|啊|呀)?|真的吗?|真的假的|原来如此|这样啊|拜拜|再见|回头见|"
    r"明天见|我(?:回)?来了|想你了?|爱你|我也是|我爱你|么么哒|知道了|明白了?|了解|可以|当然|没错|不是|不要|不|厉害|"
    r"太好了|好棒|加油|我会加油的|吃了吗|吃饭了吗|你呢|然后呢|继续|随便(?:聊聊|说说)?|"
    r"无聊|你?说得?(?:很|太|也|挺|真)?对|有道理|(?:让|容)?我想想|"
    r"hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night)|morning|how are you(?: doing)?(?: today)?|"
    r"what'?s up|sup|thanks?(?: you)?(?: so much| a lot)?|thx|ok(?:ay)?|sure|yes|yeah|yep|no|nope|haha+|lol|bye(?: "
    r"bye)?|goodbye|see you(?: later| tomorrow| soon)?|"
    r"nice|great|cool|wow|really|i see|got it|alright|i'?m (?:fine|good|ok|okay|great|back|here)|and you|me too|same|"
    r"love you|i love you|i miss you|you too|never ?mind|no problem|np|talk later|nothing much|not much|"
    r"you(?:'re| are) right|fair enough|good point|makes sense|let me think|what are you (?:doing|up to))[了啊呀哦呢吧啦嘛哈]*)",
    re.I,
)  # fmt: skip
_OF_USER = re.compile(r"我|\b(?:i|me|my|mine|we|us|our)\b", re.I)
_PIECES = re.compile(r"[，,。.！!？?；;~～…\s、]+")


def understand(
    exchange: Exchange,
    *,
    language: Language | None = None,
    user_name: str = "",
    character_name: str = "",
    before: Sequence[str] = (),
    after: str = "",
) -> Understanding:
    """What one exchange's user message says: facts, events, one tag, keywords, and whether the scene changes.

    ``language``, ``before`` and ``after`` are as in ``message.read``. ``by`` is "rules"; every source is ``exchange.id``.
    """
    text = both_ends(exchange.user).strip()
    if character_name:  # what is put into the character's mouth, no words of the user's
        text = re.sub(rf"(?m)^\s*{re.escape(character_name)}\s*[:：].*", "", text).strip()
    reading = read(text, before, after, language)
    tongue, parts = reading.language, list(reading.clauses)
    spoken = "" if reading.play else reading.text
    drafts = facts.stated(spoken, reading.clauses, exchange.id, exchange.at, tongue)
    stated = dict.fromkeys(draft for _, draft in drafts)
    stating = [part for part, _ in drafts]
    events: tuple[Event, ...] = happening.events(parts, stating, exchange, tongue)
    asks_for, in_doubt = boundaries.stated(reading, exchange.id, before), frozenset[Event]()
    if not (asks_for or goes_on(before)):
        events, in_doubt = happening.weighty(events, reading, stating, exchange)
    named = {event: replace(event, keywords=_keywords(event.text, user_name, character_name)) for event in events}
    small = not stated and not events and is_chit_chat(text)
    tag = SMALL_TALK[tongue] if small else _tag(text, parts, stating, tongue, character_name)
    return Understanding(
        tags={exchange.id: tag},
        keywords={exchange.id: () if small else _keywords(text, user_name, character_name)},
        facts=(*stated, *asks_for, *shared_words(reading, exchange.id)),
        events=tuple(named.values()),
        scene_changed=changes_scene(text),
        by="rules",
        doubtful=frozenset(named[event] for event in in_doubt),
    )


def changes_scene(text: str) -> bool:
    """Whether a message ends a scene: a goodbye, or going to sleep, which stands at its end. Another topic alone does not."""
    return bool(_SCENE.search(text[-LONGEST_READ:].strip()))


def is_small_talk(text: str, names: Sequence[str] = ()) -> bool:
    """Whether a message asks for nothing of the past: a greeting and the like, or no word of a matter in it. A question that has
    the user in it asks ("where am I from?"); ``names`` of those who talk are no matter."""
    if len(text) > LONGEST_READ:
        return False
    for name in names:
        text = text.replace(name, " ") if name else text
    if is_chit_chat(_SCENE.sub(" ", text)):
        return True
    return not words.keywords(text, 1) and not asks_of_user(text)


def asks_of_user(text: str) -> bool:
    """Whether a message is a question that has the user in it."""
    return _OF_USER.search(text) is not None and asks_by_form(text)


def is_chit_chat(text: str) -> bool:
    """Whether nothing but greetings, thanks, laughter and the like are in a message."""
    if len(text) > CHIT_CHAT_CHARS:
        return False
    rest = _PIECES.sub(" ", text).strip()
    pieces = rest.split(" ") if has_han(rest) else [rest]
    return not re.search(r"\w", rest) or all(map(_CHIT_CHAT.fullmatch, pieces))


def _keywords(text: str, *names: str) -> tuple[str, ...]:
    skip = {name.casefold() for name in names if name}
    return tuple(word for word in words.keywords(text, KEYWORDS) if word not in skip)


def _tag(text: str, parts: list[Clause], stating: list[Clause], language: Language, character_name: str) -> str:
    """One sentence in the third person: 用户说…, 用户问…, "The user says …"."""
    asking = all(part.mood == "question" for part in parts) if parts else text.endswith(("?", "？"))
    texts = _fitting(parts, stating, TAG_CHARS[language]) or [text[: TAG_CHARS[language]]]
    if language == "zh":
        tag = re.sub(r"我们", "自己和对方" if "你" in text else "他们", "，".join(texts))
        tag = re.sub(r"我(?=的|家)", "自己", tag)
        tag = re.sub(r"^我|(?<=，)我", "", tag).replace("我", "自己")
        tag = re.sub(r"(?:你们?|您)(?!好(?:$|，))", character_name or "对方", tag)
        return f"用户{'问' if asking else '说'}{tag}"
    tag = ", ".join(texts)
    for pattern, instead in _THIRD_PERSON:
        tag = re.sub(pattern, instead, tag)
    tag = re.sub(r"\byour\b", f"{character_name}'s" if character_name else "the other's", tag, flags=re.I)
    tag = re.sub(r"\byou (are|were)\b", lambda verb: f"you {'is' if verb[1] == 'are' else 'was'}", tag, flags=re.I)
    tag = re.sub(r"\byou\b", character_name or "the other", tag, flags=re.I)
    return f"The user {'asks' if asking else 'says'}: {tag}"


_THIRD_PERSON = (
    (r"\bI am\b", "they are"), (r"\bI was\b", "they were"), (r"\b(?:am|Am) I\b", "are they"), (r"\bI\b", "they"),
    (r"\b[Mm]y\b", "their"), (r"\bme\b", "them"), (r"\bmine\b", "theirs"), (r"\bmyself\b", "themselves"),
)  # fmt: skip


def _fitting(parts: list[Clause], stating: list[Clause], chars: int) -> list[str]:
    """As many clauses as fit, in their order; those that state facts are chosen first."""
    left = chars
    chosen: set[int] = set()
    for place in sorted(range(len(parts)), key=lambda place: (parts[place] not in stating, place)):
        text = parts[place].text
        if text and (len(text) <= left or not chosen):
            chosen.add(place)
            left -= len(text)
    return [parts[place].text[:chars] for place in sorted(chosen)]


# ---- what only the two of them call so


OUR_WORD = {"zh": "我们的叫法", "en": "our word"}
_SHARED = patterns(Path(__file__).with_name("shared_words.ini"))


def shared_words(reading: Reading, source: str) -> list[FactDraft]:
    """The words that a message agrees on, in plain forms: 以后我们管加班叫打怪, let's call Mondays "swamp days"."""
    forms, drafts = _SHARED[reading.language], list[FactDraft]()
    for match in forms["called"].finditer(reading.text) if not reading.play else ():
        of = match.groupdict("")
        what, name = of["what"].strip(), (of["name"] or of.get("quoted", "")).strip('“”"「」 ')
        if reading.language == "zh":
            is_hers = what in ("你", "妳")
            is_agreed = forms["agreed"].search(match[0]) and not (
                forms["asks"].search(name) or forms["points"].search(what)
            )
            fits = bool(is_agreed) and (is_hers or (of["own"] or of["who"]) != "我")
            text = f"用户管角色叫{name}" if is_hers else f"用户和角色管{what}叫{name}"
        else:
            fits = bool(of["quoted"]) or what.casefold() not in ("it", "this", "that")
            what = re.sub(r"\bmy\b", "the user's", what, flags=re.I)
            text = f'The user and the character call {what} "{name}"'
        if fits and name:
            drafts.append(FactDraft(text, (source,), "relation", "user", OUR_WORD[reading.language], name))
    return drafts
