"""Understanding without a model: facts, events, a tag, keywords and a change of scene, all by rules.

A message goes through three steps. ``clauses_zh`` and ``clauses_en`` cut it into clauses and say whose each one is and
how it is meant. ``patterns_zh`` and ``patterns_en`` recognise what a clause in earnest says. ``facts_zh`` and ``facts_en``
make facts of what was recognised. ``events`` reads what happened from the same clauses. Only the user's own words count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from moechat.language import words
from moechat.model import Event, Exchange, FactDraft, Understanding
from moechat.rules import clauses_en, clauses_zh, patterns_en, patterns_zh
from moechat.rules import events as happening
from moechat.rules.clause import OTHER, USER, Clause, Language
from moechat.rules.fact import BareFact
from moechat.when.names import HAN, HAN_CHARACTER, has_han

KEYWORDS = 8
TAG_CHARS = {"zh": 60, "en": 160}
SMALL_TALK = {"zh": "日常闲聊", "en": "small talk"}

_LETTERS = re.compile(r"[A-Za-z]+")
_SCENE = re.compile(
    r"晚安|拜拜|再见|回头见|明天见|先这样吧|下次(?:再)?聊|改天(?:再)?聊|(?:我)?(?:要|先|去)(?:去)?睡(?:觉)?(?:了|啦)|"
    r"先(?:下|撤|走)了|换个?(?:话题|场景)|不(?:聊|说|"
    r"谈)(?:这个|这些|它)了|(?:我们)?(?:聊|说|谈)点别的|"
    r"\bgood ?night\b|\bbye(?:[- ]?bye)?\b|\bgoodbye\b|\bsee you (?:later|tomorrow|soon)\b|\btalk (?:to you "
    r")?(?:later|tomorrow|soon)\b|\b(?:gotta|have to|got to) (?:go|run|sleep)\b|\bgoing to (?:bed|sleep)\b|"
    r"\bchang(?:e|ing) the (?:subject|topic)\b|\btalk about something else\b|\bon another note\b|\bttyl\b|\boff to "
    r"bed\b",
    re.I,
)
CHIT_CHAT_CHARS = 500  # Longer texts are never chit-chat. The pattern takes ten seconds for 啊 sixty thousand times.
_CHIT_CHAT = re.compile(
    r"(?:你好|您好|哈喽|嗨|嘿|早安|早上好|中午好|下午好|晚上好|早|晚安|在吗|在不在|在干嘛|干嘛呢|谢谢(?:你)?|多谢|"
    r"辛苦了|不客气|没事|没关系|好的?|好吧|行|嗯+|哦+|噢|哈+|嘿+|呵呵|"
    r"对(?:的|啊|呀)?|是(?:的|啊|呀)?|真的吗?|真的假的|原来如此|这样啊|拜拜|再见|回头见|"
    r"明天见|我(?:回)?来了|想你了?|爱你|我也是|我爱你|么么哒|知道了|明白了?|了解|可以|当然|没错|不是|不要|不|厉害|"
    r"太好了|好棒|加油|我会加油的|吃了吗|吃饭了吗|你呢|然后呢|继续|随便|无聊|"
    r"hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|night)|morning|how are you(?: doing)?(?: today)?|"
    r"what'?s up|sup|thanks?(?: you)?(?: so much| a lot)?|thx|ok(?:ay)?|sure|yes|yeah|yep|no|nope|haha+|lol|bye(?: "
    r"bye)?|goodbye|see you(?: later| tomorrow| soon)?|"
    r"nice|great|cool|wow|really|i see|got it|alright|i'?m (?:fine|good|ok|okay|great|back|here)|and you|me too|same|"
    r"love you|i love you|i miss you|you too|never ?mind|no problem|np|talk later|nothing much|not much)",
    re.I,
)  # fmt: skip
_PIECES = re.compile(r"[，,。.！!？?；;~～…\s、]+")


def understand(
    exchange: Exchange, *, language: Language | None = None, user_name: str = "", character_name: str = ""
) -> Understanding:
    """What one exchange's user message says: facts, events, one tag, keywords, and whether the scene changes.

    ``language`` None: by the message's own letters. ``by`` is "rules"; every source is ``exchange.id``.
    """
    text = exchange.user.strip()
    tongue = language_of(text, language)
    parts = clauses(text, tongue)
    facts: list[FactDraft] = []
    stating: list[Clause] = []
    for clause, drafts in stated_facts(parts, exchange, tongue):
        facts.extend(draft for draft in drafts if draft not in facts)
        if drafts:
            stating.append(clause)
    events: tuple[Event, ...] = happening.events(parts, stating, exchange, tongue)
    events = tuple(replace(event, keywords=_keywords(event.text, user_name, character_name)) for event in events)
    small = not facts and not events and _is_chit_chat(text)
    tag = SMALL_TALK[tongue] if small else _tag(text, parts, stating, tongue, character_name)
    return Understanding(
        tags={exchange.id: tag},
        keywords={exchange.id: () if small else _keywords(text, user_name, character_name)},
        facts=tuple(facts),
        events=events,
        scene_changed=changes_scene(text),
        by="rules",
    )


def changes_scene(text: str) -> bool:
    """Whether a message ends a scene (a good night, another topic)."""
    return bool(_SCENE.search(text.strip()))


def language_of(text: str, language: Language | None = None) -> Language:
    """The language of a message by its letters (a Chinese character counts as half a word).

    ``language`` is returned for a text without letters, "zh" where that is None.
    """
    chinese, latin = len(HAN_CHARACTER.findall(text)), len(_LETTERS.findall(text))
    if not chinese and not latin:
        return language or "zh"
    return "zh" if chinese >= latin else "en"


def clauses(text: str, language: Language) -> list[Clause]:
    """The clauses of a message, with whose they are and how they are meant."""
    return clauses_zh.read(text) if language == "zh" else clauses_en.read(text)


def stated_facts(
    parts: Sequence[Clause], exchange: Exchange, language: Language
) -> list[tuple[Clause, list[FactDraft]]]:
    """Each clause with the facts that it states, in order."""
    result: list[tuple[Clause, list[FactDraft]]] = []
    pet: str = ""
    tastes: list[BareFact] = []
    for clause in parts:
        facts, whose = _facts(clause, exchange, language), clause.whose
        if pet and (name := _pet_name(clause)):
            whose = USER
            facts = [_named_pet(pet, name, language)]
            previous, drafts = result[-1]
            result[-1] = (previous, [draft for draft in drafts if draft.target != pet])
        if not facts and tastes and (sense := _sense_of_taste(clause)):
            facts = [
                BareFact(f"{'不' if sense < 0 else ''}喜欢{taste.target}", "喜好", taste.target, sense)
                for taste in tastes
            ]
        pet = next((fact.target for fact in facts if _is_nameless_pet(fact)), "")
        if language == "zh" and (clause.mood == "past" or clause.whose == OTHER):
            tastes = [fact for fact in _facts(_as_said(clause), exchange, language) if fact.keyword == "喜好"]
        result.append((clause, [draft(fact, whose, exchange.id, language) for fact in facts]))
    return result


def _facts(clause: Clause, exchange: Exchange, language: Language) -> list[BareFact]:
    return patterns_zh.facts(clause, exchange.at) if language == "zh" else patterns_en.facts(clause, exchange.at)


def draft(fact: BareFact, whose: str, source: str, language: Language) -> FactDraft:
    """A fact with its owner: the user, or a person of the user's (用户的妈妈, the user's mother)."""
    mine = whose == USER
    if language == "zh":
        subject = "用户" if mine else f"用户的{whose}"
    else:
        subject = "The user " if mine else f"The user's {whose} " if whose.islower() else f"{whose} "
    return FactDraft(
        text=subject + fact.text,
        sources=(source,),
        kind="relation" if fact.relation else "attribute",
        entity="user" if mine else whose,
        keyword=fact.keyword,
        target=fact.target,
        polarity=fact.polarity,
        single=fact.single,
    )


def _as_said(clause: Clause) -> Clause:
    """The clause as if the user said it of now (以前喜欢香菜 → 喜欢香菜)."""
    body = re.sub(
        r"^(?:以前|从前|曾经?|小时候|原[来先]|过去|当年|之前|很|最|特别|都|是|也|他们?|她们?|你们?|大家)+",
        "",
        clause.body,
    )
    return Clause(clause.text, body, USER, "said", clause.at)


_DISLIKES = re.compile(
    r"(?:不(?:再|太|怎么)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?|不[吃喝碰]|讨厌|不感兴趣|没兴趣|腻)(?:它|它们)?[了啊呀]*"
)
_LIKES = re.compile(r"(?:很|超|特别|挺|蛮|爱上|又|开始)*(?:喜欢|爱)(?:上)?(?:吃|喝|看|听|玩)?(?:它|它们)?[了啊呀]*")


def _sense_of_taste(clause: Clause) -> int:
    """−1 or +1 for a taste of the user's that names no target, else 0.

    The target was named before: 以前喜欢香菜，现在不喜欢了; 她喜欢香菜，我不喜欢.
    """
    if clause.mood != "said" or clause.whose != USER:
        return 0
    return -1 if _DISLIKES.fullmatch(clause.body) else 1 if _LIKES.fullmatch(clause.body) else 0


_PET_NAMES = (
    re.compile(rf"(?:它|她|他)?的?(?:名字)?(?:是|叫)([{HAN}A-Za-z]{{1,6}}?)[了啊呀哦]*"),
    re.compile(r"(?:(?:its|his|her) name is|(?:he|she|it) is (?:called|named)|called|named) ([A-Z]\w+)"),
)


def _pet_name(clause: Clause) -> str:
    """The name in 养了一只猫，叫咪咪 or "I have a cat, her name is Mochi"."""
    names = (match[1] for pattern in _PET_NAMES if (match := pattern.fullmatch(clause.text)))
    return next(names, "") if clause.mood == "said" else ""


def _is_nameless_pet(fact: BareFact) -> bool:
    named = "叫" in fact.text or "called" in fact.text
    return fact.keyword in ("宠物", "pet") and fact.target in fact.text and not named


def _named_pet(pet: str, name: str, language: Language) -> BareFact:
    if language == "zh":
        return BareFact(f"的{pet}叫{name}", "宠物", name, relation=True)
    return BareFact(f"has a {pet} called {name}", "pet", name, relation=True)


def _is_chit_chat(text: str) -> bool:
    if len(text) > CHIT_CHAT_CHARS:
        return False
    rest = _PIECES.sub(" ", text).strip()
    pieces = rest.split(" ") if has_han(rest) else [rest]
    return not re.search(r"\w", rest) or all(
        _CHIT_CHAT.fullmatch(piece) or _CHIT_CHAT.fullmatch(re.sub(r"[了啊呀哦呢吧啦嘛哈]+$", "", piece))
        for piece in pieces
    )


def _keywords(text: str, *names: str) -> tuple[str, ...]:
    skip = {name.casefold() for name in names if name}
    return tuple(word for word in words.keywords(text, KEYWORDS) if word not in skip)


def _tag(text: str, parts: list[Clause], stating: list[Clause], language: Language, character_name: str) -> str:
    """One sentence in the third person: 用户说…, 用户问…, "The user says …"."""
    asking = all(clause.mood == "question" for clause in parts) if parts else text.endswith(("?", "？"))
    texts = _fitting(parts, stating, TAG_CHARS[language]) or [text[: TAG_CHARS[language]]]
    if language == "zh":
        tag = re.sub(r"我们", "自己和对方" if "你" in text else "他们", "，".join(texts))
        tag = re.sub(r"我(?=的|家)", "自己", tag)
        tag = re.sub(r"^我|(?<=，)我", "", tag).replace("我", "自己")
        tag = re.sub(r"你们?|您", character_name or "对方", tag)
        return f"用户{'问' if asking else '说'}{tag}"
    tag = ", ".join(texts)
    for pattern, instead in _THIRD_PERSON:
        tag = re.sub(pattern, instead, tag)
    tag = re.sub(r"\byour\b", f"{character_name}'s" if character_name else "the other's", tag, flags=re.I)
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
