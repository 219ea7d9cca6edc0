"""What happened to the user, by their own account: events with their day, read by rules. ``importance`` rates them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moechat import when
from moechat.language import words
from moechat.model import Event, Exchange
from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause, Language
from moechat.rules.importance import rate
from moechat.when import Span
from moechat.when.names import HAN

_DONE_ZH = re.compile(
    rf"[{HAN}](?:了|完|到了?|过)(?!敏|年$|得)|去世|收到|遇到|碰到|见到|丢|买|吃了|看了|参加|"
    r"考|刚(?:从|到|回)|结婚|分手|吵架|毕业|"
    r"加班|感冒|生病|住院|失眠|发烧|迟到|做了|梦见|梦到"
)
_NOT_ZH = re.compile(
    r"^(?:好|对|行|可以|知道|明白|算|太|真|好久|辛苦|来|是)+(?:了|啦)|(?:喜欢|讨厌|爱|是|叫|岁|知道|"
    r"习惯|忘|烦|累|困|饿|渴|无聊|够|行|好)了$|了解|"
    r"为了|除了|受不了|了吗"
)
_NO_EVENT_ZH = re.compile(
    r"^(?:感到|觉得|感觉|认为|希望|谢谢|感谢|多谢|会(?!议)|能|可以|有时|听说|明白|知道|想起|做不|让|给了?我|帮助?我|是|喜欢|应该|"
    r"需要|看起来|在(?:思考|考虑|想)|思考|考虑)|没(?:有)?.*过|还没|不[想敢用]|下雨|下雪|天气|放晴|和你聊|跟你聊|聊天结束"
)
_VERBS_ZH = re.compile(
    r"^(去世|结婚|分手|离婚|吵架|毕业|加班|感冒|生病|住院|失眠|发烧|迟到|面试|考试|出差|搬家|搬到|搬去|旅游|旅行|约会|"
    r"聚餐|跑步|爬山|游泳|答应|收到|遇到|碰到|见到|参加|拿到|通过|完成|开始|"
    r"吃|喝|看|听|买|卖|丢|找|见|学|写|画|做|玩|打|拍|读|送|借|还|修|养|换|考|拿|跑|爬|洗|煮|逛|坐|飞|聊|陪|带|接|搬|"
    r"去|来|回|到|给|被)(?:了|过|完|到)?$"
)
_DONE_EN = re.compile(
    r"^(?:have |had |just |finally |already |really )*(?:went|had|ate|drank|saw|met|bought|got|lost|found|made|took|"
    r"gave|came|left|watched|visited|finished|started|played|cooked|called|talked|broke|failed|passed|won|quit|moved|"
    r"adopted|"
    r"spent|slept|read|wrote|ran|drove|flew|cried|fought|argued|married|graduated|promised|received|sold|built|fell|"
    r"felt|caught|forgot|heard|learned|learnt|missed|ordered|stayed|walked|worked|cleaned|tried|hurt|told|sent|"
    r"been to|gone|seen|eaten|done|bought|was (?:fired|promoted|hired|invited|late|sick|ill|robbed|in)|"
    r"\w{3,}ed)\b(.*)",
    re.I,
)
_NO_EVENT_EN = re.compile(
    r"(?:have |just )*(?:saw|got|had|won|found|made|took|told|tried|joined|felt|heard|needed|wanted|loved|liked|"
    r"hated|enjoyed|was)"
    r"(?: (?:it|that|this|you|the win|them|so|to))?[.!]*$|(?:needed|wanted|loved|liked|hated|was (?!fired|promoted|"
    r"hired|invited|late|robbed))\b|"
    r"(?:have )?(?:heard|noticed|agreed|supposed|guessed|got it|got you)\b|found .* (?:hard|helpful)",
    re.I,
)
_SUBJECT_EN = re.compile(
    r"^my [a-z-]+(?: [a-z]+)? (?:died|passed away|got|had|was|lost|moved|left|came|visited|gave|broke|won|graduated|"
    r"married)\b",
    re.I,
)


def events(
    clauses: Sequence[Clause], stating: Sequence[Clause], exchange: Exchange, language: Language
) -> tuple[Event, ...]:
    """The events that the user's clauses tell of, each with the absolute days that its words meant.

    ``stating`` are the clauses that state facts. Such a clause is an event too if it names a day or tells of something done
    (搬到北京了).
    """
    spans: list[Span] = when.resolve(exchange.user, exchange.at, use="writing") if clauses else []
    events: list[Event] = []
    for clause in clauses:
        if clause.mood not in ("said", "plan", "past"):
            continue
        span = next((span for span in spans if span.phrase and span.phrase in clause.text), None)
        if not _happens(clause, span, clause in stating, language):
            continue
        subject, predicate, thing = _triple(clause, language)
        text = dated(_sentence(clause, language), span, language)
        events.append(
            Event(
                text=text,
                sources=(exchange.id,),
                subject=subject,
                predicate=predicate,
                object=thing,
                importance=rate(clause.text, planned=clause.mood == "plan" and span is not None),
                happened=(span.start, span.end) if span else None,
                status="planned" if clause.mood == "plan" else "done",
                precision=span.precision if span else "unknown",
            )
        )
    return tuple(events)


def days(start: str, end: str, language: Language) -> str:
    """A span of ISO days for people: one day, or both ends."""
    return start if start == end else f"{start}至{end}" if language == "zh" else f"{start} to {end}"


def _happens(clause: Clause, span: Span | None, states_fact: bool, language: Language) -> bool:
    """Whether the clause tells of something that happened to the user, or that is planned for a day."""
    return (_happens_zh if language == "zh" else _happens_en)(clause, span, states_fact)


def _happens_zh(clause: Clause, span: Span | None, states_fact: bool) -> bool:
    text = clause.text
    mine = clause.whose not in (OTHER, UNKNOWN) or (
        clause.whose == UNKNOWN and re.match(r"我|昨|今|明|前天|上|下|刚|周|早上|晚上|和|跟|去", text) is not None
    )
    if not mine or len(text) < 4 or _NO_EVENT_ZH.search(clause.body) or "＠" in clause.body:
        return False
    done = bool(_DONE_ZH.search(text)) and not _NOT_ZH.search(text)
    if states_fact:
        return (span is not None and done) or bool(re.search(r"搬|入职|跳槽|结婚|离婚|分手|戒|辞职|考上|去世", text))
    return done or (span is not None and clause.mood in ("said", "plan") and bool(_verb_zh(clause.body)))


def _happens_en(clause: Clause, span: Span | None, states_fact: bool) -> bool:
    has_subject = bool(_SUBJECT_EN.match(clause.text))
    if clause.whose in (OTHER, UNKNOWN) and not has_subject:
        return False
    if clause.mood == "plan":
        return span is not None and len(clause.body.split()) > 2
    if _NO_EVENT_EN.match(clause.body):
        return False
    if not has_subject and not _DONE_EN.match(clause.body):
        return False
    changes = re.match(r"(?:have )?(?:just )?(?:moved|got|adopted|quit|started)", clause.body)
    return not states_fact or span is not None or bool(changes)


_OPENINGS_ZH = re.compile(r"^(?:对了|其实|话说|另外|然后|而且|所以|因为|但是?|嗯+|啊+|哎呀?|唉)[，, ]*")
_OF_MINE_ZH = re.compile(r"我(?=的|家|妈|爸|们)")
_THIRD_PERSON_EN = (
    (r"^We\b", "the user and others"), (r"^I\b", "the user"), (r"\bI am\b", "the user is"), (r"\bI\b", "the user"),
    (r"^[Mm]y\b", "the user's"), (r"\bmy\b", "their"), (r"\bme\b", "them"), (r"\bmyself\b", "themselves"),
    (r"\bthe user (?:am|have)\b", "the user has"),
)  # fmt: skip


def _sentence(clause: Clause, language: Language) -> str:
    """The clause as a sentence in the third person."""
    if language == "zh":
        return _sentence_zh(clause)
    text = clause.text
    for pattern, instead in _THIRD_PERSON_EN:
        text = re.sub(pattern, instead, text)
    text = text if re.search(r"\bthe user\b", text) else f"the user {text}"
    return text[0].upper() + text[1:]


def _sentence_zh(clause: Clause) -> str:
    text = _OPENINGS_ZH.sub("", clause.text)
    if re.match(rf".{{0,6}}?{_OF_MINE_ZH.pattern}", text):
        text = _OF_MINE_ZH.sub("用户", text, count=1)
    else:
        text = text.replace("我", "", 1)
    text = text.replace("用户们", "和别人一起").replace("我", "自己")
    if text.startswith("用户"):
        return text
    return f"用户{text}" if clause.whose in (USER, OTHER, UNKNOWN) else f"用户的{text}"


def dated(text: str, span: Span | None, language: Language) -> str:
    """``text`` with the day added after the time words that meant it: 昨天（2025-05-20）."""
    if span is None or span.is_vague or span.phrase not in text:
        return text
    day = days(span.start.date().isoformat(), span.end.date().isoformat(), language)
    open_, close = ("（", "）") if language == "zh" else (" (", ")")
    return text.replace(span.phrase, f"{span.phrase}{open_}{day}{close}", 1)


def _verb_zh(body: str) -> str:
    """The first word of ``body`` that is a verb of doing, without what clings to it: 吃 for 吃了; "" where there is none."""
    matches = map(_VERBS_ZH.match, words.words(body))
    return next((match[1] for match in matches if match), "")


_COMPANY_ZH = re.compile(
    rf"(?:和|跟|与|同)(?:我)?[{HAN}]{{1,5}}?(?:一起|一块儿?)?(?=吃|喝|去|看|打|玩|逛|聊|吵|见|"
    r"分手|结婚|约|搬|做|买|学)"
)
_VERB_EN = re.compile(
    r"(?:am going to |will |have (?!an? |the |some |to )|just |finally |already |am )*([A-Za-z']+)\s*(?:to |with |at |"
    r"in |on )?(.*)"
)


def _triple(clause: Clause, language: Language) -> tuple[str, str, str]:
    """Subject, predicate and object, simple: who, the verb, the rest."""
    user = "用户" if language == "zh" else "user"
    subject = user if clause.whose in (USER, OTHER, UNKNOWN) else clause.whose
    if language == "zh":
        body = _COMPANY_ZH.sub("", clause.body)
        verb = _verb_zh(body)
        thing = body.partition(verb)[2] if verb else ""
        return subject, verb or body, re.sub(r"^[了过完到]+|[了过的]+$", "", thing).strip()
    match = _VERB_EN.match(clause.body)
    if not match:
        return subject, clause.body, ""
    rest = re.split(r"\s+(?:with|yesterday|last|this|today|tomorrow|next|on|at|in|for)\b", match[2])[0]
    return subject, match[1].lower(), re.sub(r"^(?:a|an|the|my|some)\s+", "", rest.strip())
