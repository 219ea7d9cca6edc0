"""How a clause speaks of its time: of what was, of what is to come, and whether it asks.

Rules by words, in Chinese and English. 昨天我们聊了什么 searches yesterday; 我昨天没睡好 does not.
A wrong no costs little, since the span still ranks what is recalled. The patterns are compiled at first use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from moechat.when.names import HAN, has_han
from moechat.when.periods import compiled
from moechat.when.span import Span
from moechat.when.words import patterns
from moechat.when.zh_times import PLAIN

_ZH = patterns("zh", "tense")
PAST_ZH = _ZH["past"]
_SAID_ZH = r"[我你他她们]说(?!不定)|答应|为什么|为啥"


def forward_zh(clause: str, use: str, at: tuple[int, int] | None = None) -> bool | None:
    """Does a clause speak of what is to come, at the time that stands ``at`` this place in it?

    Chinese has its past in what marks a thing as done (了, 过, 是…的, 来着); that outweighs a plan in the clause. Without such a
    mark, what is proposed or planned lies ahead, and a bare act (周四考试, 平安夜吃什么) does where it is written down. None
    where a bare act is searched for: the nearer time is meant. Where a word once given is asked for (我说要去哪里), only a
    proposal looks ahead.
    """
    clause = clause.translate(PLAIN)
    if at and compiled(_ZH["arranged"]).search(clause[: at[0]]):
        return True
    nearly = compiled(_ZH["nearly"]).search(clause)
    if not nearly and compiled(PAST_ZH).search(clause):
        return False
    if nearly or compiled(_ZH["proposed"]).search(clause):
        return True
    if use == "recall" and compiled(_SAID_ZH).search(clause):
        return False
    if compiled(_ZH["ahead"]).search(clause):
        return True
    if not compiled(_ZH["acts"]).search(clause) or compiled(_ZH["states"]).search(clause):
        return False
    return True if use == "writing" else False if compiled(_ZH["lasting"]).search(clause) else None


_EN = patterns("en", "tense")
_ANY_PAST = f"(?:{'|'.join(_EN['past'].replace('|', ' ').split())})"
_WHO = r"(?:i|you|we|they|he|she|it|who|that|everyone|(?:the|my|your|our|his|her|their|a|an) \w+)"
_ADVERB = r"(?:not|also|still|just|always|never|only|really|probably|all|both|so|\w{3,}ly)"
_TO_BE = (
    r"(?:am|is|are|aren't|isn't|isnt|arent|be|being|get|gets|getting|im|hes|shes|theyre|youre|whats|"
    r"['’]m|['’]re|(?:it|that|what|who|where|when|there|he|she)['’]s)"
)
_NO_VERB = (
    r"(?:the|an?|and|or|o[nf]|in|at|to|about|for|with|last|this|next|that|my|your|me|both|guys|who|when|what|if|as|so|but|"
    r"because)"
)
_HELPERS = (
    r"(?:\b(?:will|won['’]?t|shall|gonna|wanna|can|can['’]?t|cannot|could|should|shouldn['’]?t|must|may|might|would|do|does|"
    r"don['’]?t|doesn['’]?t|dont|doesnt|let['’]?s)|['’]ll)\b(?! have|['’]ve|n['’]t have)"
)
_LED_BY = (
    r"^\W*(?:and |so |but )?(?:were \w+ing|got (?:an?|my|the|to|some)|off to|back to|due|\w+ing|remind me|remember to|"
    r"don['’]?t forget)\b"
)
_FEELING = f"(?:{_EN['about_ahead'].replace(' ', '|')})"
_ILL = r"ill (?=be|see|have|go|get|come|call|do|take|bring|need|let|try|make|tell)[a-z]+"  # I'll, typed in haste
# The verbs of a clause, each with its helpers: those that look ahead, those of the past, and what tells neither (to see).
_VERBS = (
    rf"(?i)\b(?P<neither>to (?:be \w+|(?!\w+ing)[a-z]+))|"
    rf"(?P<went>\b(?:was|(?<=\w )were|wasn['’]?t|weren['’]?t|felt)(?: {_ADVERB}| {_WHO})* (?:\w+ing|{_FEELING})\b)|"
    rf"(?P<looks>\b(?:(?:do|does|can|could|will)(?:n['’]?t)? {_WHO} (?:{_ADVERB} )*)?(?:{_EN['looks_back']})\b(?! to\b))|"
    rf"(?P<ahead>\b(?:{_FEELING} (?:for|about|of|to)|can['’]?t wait|looking forward|"
    rf"(?:have|has|['’]ve) (?:{_WHO} )?got|(?:would|['’]d) (?:like|love|rather)|{_ILL})\b|{_LED_BY}|"
    rf"{_HELPERS}(?: (?:{_ADVERB}|{_WHO})(?= [a-z]))*(?: (?!{_ANY_PAST}\b)[a-z]+)?\b|"
    rf"(?:\b|(?=['’])){_TO_BE}\b(?: {_ADVERB}| {_WHO}(?= \w+ing))*(?: (?:\w+ing|\w+ed|gone|off|out|back|done)\b){{0,2}}|"
    rf"\b(?:i|you|we|they|ive|who)(?:['’]ve)?(?: {_ADVERB})* (?!{_ANY_PAST}\b|{_NO_VERB}\b|\w{{3,}}ed\b|\w+ly\b)[a-z]+|"
    rf"\b(?:has|have|{_EN['timetable'].replace(' ', '|')}|hope|wish|upcoming|plans? for)\b)|"
    rf"(?P<past>\b(?:(?:would|could|should|might|must)(?:n['’]t)?(?:['’]ve| have| of) \w+|"
    rf"did(?:n['’]?t)? (?:{_ADVERB} )*{_WHO} (?:{_ADVERB} )*[a-z]+(?: to [a-z]+)?|"
    rf"{_ANY_PAST}|\w{{3,}}ed(?<!hundred)(?<!indeed)(?<!speed))\b)|"
    r"(?P<weak>(?<=[a-z])['’]s\b)"
)
_ARRANGED = rf"(?i)\b(?:{_EN['arranged'].replace(' ', '|')})\b.*\b(?:for|from|to|until|till)\s*$"
PAST_EN = rf"(?i)\b(?:{_ANY_PAST}|\w{{3,}}ed)\b(?<!need)"


def forward_en(clause: str, use: str, at: tuple[int, int] | None = None) -> bool:
    """Does a clause speak of what is to come, at the time that stands ``at`` this place in it?

    The nearest verb before the time decides, or else the first behind it: English has its past in the verb. Where there is no
    verb, what is written down looks ahead (dentist Friday) unless it praises or blames (lovely walk on Sunday), and a search
    looks back.
    """
    before, after = (clause[: at[0]], clause[at[1] :]) if at else (clause, "")
    if compiled(_ARRANGED).search(before):
        return True
    if compiled(r"(?i)\bsince\s*$").search(before):
        return False
    verbs = [list(compiled(_VERBS).finditer(part)) for part in (before, after)]
    strong = [[verb.lastgroup for verb in part if verb.lastgroup not in ("neither", "weak")] for part in verbs]
    if any(strong):
        return (strong[0][-1] if strong[0] else strong[1][0]) == "ahead"
    if any(verb.lastgroup == "weak" for verb in verbs[0]):
        return True  # the exam's on Friday
    if compiled(r"(?i)\b(?:by|until|till?)\s*$").search(before):
        return True
    return use == "writing" and not compiled(rf"(?i)\b(?:{_EN['praise'].replace(' ', '|')})\b").search(clause)


_HABIT_ZH = r"一般(?!般)|平时|通常|往往|每[年次逢到天日周月晚早]"
# 我周末都在家; 周末都做了什么 asks of one.
_ALWAYS_ZH = r"(?:周末|双休日|[周期拜][一二三四五六日天]|[早晚]上|[上下]午)[我你他她]?们?都(?!.*[了过])"
HABITS = {
    "zh": rf"{_HABIT_ZH}|{_ALWAYS_ZH}",
    "en": r"(?i)\b(?:usually|always|normally|generally)\b",
}
"""Of what is done again and again, a floating time (周末, on Friday) is no stretch of it."""


# Whether a message asks about the time it names.

_TRADITIONAL = str.maketrans(
    "麼誰幾嗎還記說聊們過來講問總結憶麽哪裡裏樣時候嘛為個這沒樣辦該應談憶寫買",
    "么谁几吗还记说聊们过来讲问总结忆么哪里里样时候嘛为个这没样办该应谈忆写买",
)

# Said anywhere, these turn to memory, whatever the clause.
_MEMORY = (
    r"(?i)来着|(?:还|你|您|都)记得|记不记得|记得.{0,12}[吗么？?]|记得我们|想不起|想起来|忘了.{0,8}(?:什么|谁|哪|几|怎么|啥)|回忆|回顾|总结|梳理|"
    r"^(?:翻|查|找|回想|想想)(?:一?下|查|翻|找)?(?=.*[的了])|(?:帮我|给我|替我).{0,4}(?:找|查|翻|想|回想|看看|数)|[说讲聊谈]{1,2}(?:一[说讲聊谈])?(?=你?我?们?(?:上|昨|前|去|那|今))|我说过(?:什么|没|吗)|告诉过你|跟你说过|"
    r"\b(?:remember|recall|remind me|tell me (?:about|what|who|where|when|how)|look up|search|"
    r"summari[sz]e|recap|go back to|i forg[eo]t|do you know what i)\b"
)
# 记得明天叫我, remember to: an errand, not a memory.
_ERRAND = (
    r"(?i)记得(?:要|在)?(?:提醒|叫|去(?!年)|带|给|帮)|(?:帮我)?记(?:一下|住|下来)|提醒我|别忘|"
    r"\bremember to\b|\bremind me (?:to|tomorrow|next|on|in)\b"
)

# 这个夏天有什么计划: what was to happen then was told before.
_PLANNED = r"(?i)(?:什么|啥|哪些|的)(?:计划|打算|安排)|\bplans? (?:for|this|next|on|in)\b|\bplan(?:ning)? to do\b"

_QUESTION = (
    r"什么|谁|哪|干[嘛吗]|几(?=点|号|月|次|天|个|岁|[？?。]?$)|多少|多久|多长|多大|怎么|咋|啥|为什么|为何|何时|如何|几时|[吗么]\s*[？?。！!~～]*$|有没有|是不是|是否|"
    r"([聊说吃去做看有来买玩写提到见过])没\1|[过了]没有?\s*[？?。]*$|[？?]\s*$"
)
# Question words that ask nothing: 什么都没做, 没吃什么, 不知道怎么了, 没什么.
_INDEFINITE = (
    rf"(?:什么|谁|哪里?儿?|哪都?|怎么|啥|几个?|多少)(?:人|事|话|东西|地方)?[都也]|[没不](?:有|是|怎么|太|想|敢|能|会)?(?:[{HAN}])?(?:什么|几|多少|谁|哪|怎么|啥)|不知道?(?:为什么|怎么|为啥|咋)|"
    r"什么的|怎么了?也|莫名|说不出|随便.{0,3}(?:什么|啥)|[买去试看吃喝来写画拍做跑走等聊玩]了(?:好)?几(?!点|号|月)|好几|(?:不|没)怎么"
)
# Asked for now, not about then: advice, favours, opinions.
_NOW = (
    r"怎么办|咋办|该(?:怎么|咋|如何|不该|说|做|去|吃|穿)|应该|要不要|好不好|行不行|可不可以|能不能|可以[吗么]|行[吗么]|好[吗么]|对吧|是吧|你觉得|你看呢|你说呢|正常吗|"
    r"怎么(?:才|能|可以)|怎样才|会不会|"
    r"天气|(?:吃|做|去|穿|看|玩|喝|聊|买|干)(?:点)?(?:什么|啥|哪)(?:儿|里)?(?:玩|吃|逛)?(?:好|呢|比较好)|猜"
)
# How are you, in so many words; a question about oneself (我) is none.
_GREETING = (
    r"(?:你)?(?:最近|今天|今早|今晚|这几天|这两天|这阵子|近来)?(?:过得|心情|身体|感觉|状态|睡得)?"
    r"(?:还|都)?(?:怎么样|怎样|好吗|还好吗|忙吗|忙不忙|如何|咋样|好么|累吗|开心吗)[？?啊呀呢]*$"
)
# 昨晚的梦, 上周五那家餐厅: a bare noun, with nothing said of it.
_NOUN = r"^[我你的]{0,2}(?:的|那[个本家部次件首条位场顿])[^了很真太好没不是有吗，。！？]{1,8}[。？?！!~]*$"
_SPOKEN = (
    r"(?:[我你您他她]|我们|咱们?|俩)?(?:和|跟|对|给|向)?[我你您他她]?们?"
    r"(?:说|聊|提|讲|谈|推荐|告诉|问|答应|约|发|教|送|看|吃|去|买|写|听)(?:起|到|给)?(?:[我你您]|我们)?(?:过)?的"
)
_FILLER = (
    r"(?i)[\s，。！？!?,.~～、：:的在呢吧啊呀嘛哦这那件天些个事情儿时候里和跟有过发生了聊天记录内容对话日记]+|"
    r"\b(?:and|what|how|about|of|the|on|in|from|our|my|chat|talk|conversation|conversations|things|stuff)\b"
)

# The time itself is read as ``zz``: last Tuesday what did I say asks, yesterday was awful does not.
_EN_QUESTION = (
    r"(?i)^\W*(?:(?:and|so|but|hey|ok|okay|well|oh|hi|also|then)\W+)*(?:(?:zz|(?:in|on|at|during|over|before|after|around|from|"
    r"to|for|with|about)\s+(?:zz\W+)?)\W*)?(?:what|when|where|who|whom|whose|which|why|how)\b|"
    r"^\W*(?:(?:and|so|but|hey|ok|okay|well|oh|hi|also|then|zz\s*,)\W+)*(?:did|do|does|was|were|is|are|have|has|had|am|will)\b|"
    r"\?\s*$|\bwhat(?:'s| is| was) the name\b"
)
_EN_NOW = (
    r"(?i)\b(?:should|can|could|would|may|shall) (?:i|you|we)\b|\bhow are you\b|\bhow(?:'s| is) (?:it|your|everything)\b|"
    r"\bhow have you been\b|\bwhat(?:'s| is) (?:up|new|the weather)\b|"
    r"\bweather\b|\bcan you believe\b|\bguess what\b|\bwhat do you think\b|"
    r"\bdo you (?:want|think|like)\b|\bare you (?:ok|okay|free|busy)\b|\b(?:right|okay|ok)\?\s*$"
)
# What a later question says of the remark before it: 它的名字是, 当时看了什么, what were they about.
_BACK = (
    r"(?i)它|他们?是|她们?是|当时|那时|那(?:个|本|家|部|次|天|里|首|条|件)|其中|叫什么|名字|关于|[你我]们?(?:当时|都)?(?:说|聊|推荐|回答|建议|提)|"
    r"\b(?:it|its|they|them|there|then|that|did you|did we|did i|was i|were we)\b"
)
_BREAK = r"[，。！？；,!?;\n]+|\.(?=\s|$)"


def _clauses(text: str, spans: Sequence[Span]) -> list[tuple[int, str]]:
    """The clauses with their sign and the place where each begins; a comma inside a date parts nothing."""
    clauses: list[tuple[int, str]] = []
    start = 0
    for sign in compiled(_BREAK).finditer(text):
        if any(span.at[0] < sign.start() < span.at[1] for span in spans):
            continue
        clauses.append((start, text[start : sign.end()]))
        start = sign.end()
    if text[start:].strip():
        clauses.append((start, text[start:]))
    return clauses


def _without(text: str, start: int, spans: Sequence[Span]) -> str:
    """A clause with its time expressions taken out; in English ``zz`` keeps their place."""
    fill = "" if has_han(text) else "zz"
    for span in sorted(spans, key=lambda span: -span.at[0]):
        left, right = span.at[0] - start, span.at[1] - start
        if 0 <= left < len(text):
            text = text[:left] + fill + text[max(right, left) :]
    return text


def _is_bare(rest: str) -> bool:
    """Is there nothing beside the time: 昨天呢, 三天前的事?"""
    return not compiled(_FILLER).sub("", rest.replace("zz", ""))


def _interrogative(clause: str) -> bool:
    if not has_han(clause):
        return bool(compiled(_EN_QUESTION).search(clause)) and not compiled(_EN_NOW).search(clause)
    if not compiled(_QUESTION).search(compiled(_INDEFINITE).sub("", clause)):
        return False
    if "我" not in clause and compiled(_GREETING).search(clause):
        return False
    return not compiled(_NOW).search(clause)


def _refers(question: str, remark: str) -> bool:
    """Is a question about the remark before it: by a pronoun, or by a word of two characters or four letters that both have?"""
    if compiled(_BACK).search(question):
        return True
    words = {remark[i : i + 2] for i in range(len(remark) - 1) if compiled(rf"[{HAN}]{{2}}").match(remark, i)}
    words |= set(compiled(r"[a-z]{4,}").findall(remark.lower()))
    return any(
        word in question.lower()
        for word in words - {"今天", "昨天", "我们", "你们", "什么", "一个", "with", "have", "that"}
    )


_WHICH_DAY = r"^(?:是|在)?(?:哪一?天|几号|几月几[号日]|什么时候|何时|星期几|周几|多少号)(?:来着)?[\s?？呀啊呢吗]*$"
_WHEN_IS = r"(?i)^\W*(?:when(?:'s| is| was)|(?:what|which) (?:day|date) (?:is|was))\s*$"


def _asks_which(text: str, spans: Sequence[Span]) -> bool:
    """我的生日是哪天, when is my birthday: the time is what is asked for, not what happened then.

    Of 我们第一次聊天是哪天 the diary knows the answer, so that one asks.
    """
    if compiled(r"(?i)第一次|上次|first|last").search(spans[0].phrase):
        return False
    before, after = text[: spans[0].at[0]], text[spans[-1].at[1] :]
    return bool(compiled(_WHICH_DAY).search(after) or (not after.strip(" ?？") and compiled(_WHEN_IS).search(before)))


def asks(text: str, spans: Sequence[Span]) -> bool:
    """True where the message asks about or looks for the time that its ``spans`` name; ``spans`` are those of this text."""
    if not spans:
        return False
    plain = text.translate(_TRADITIONAL)
    if compiled(_ERRAND).search(plain) or compiled(_PLANNED).search(plain) or _asks_which(plain, spans):
        return False
    if compiled(_MEMORY).search(plain) or _is_bare(_without(plain, 0, spans)):
        return True
    clauses = _clauses(plain, spans)
    questions = [(index, clause) for index, (_, clause) in enumerate(clauses) if _interrogative(clause)]
    for index, (start, clause) in enumerate(clauses):
        if not any(start <= span.at[0] < start + len(clause) for span in spans):
            continue
        rest = _without(clause, start, spans)
        if _interrogative(rest):
            return True
        if len(clauses) == 1 and compiled(_NOUN).search(rest.strip()):
            return True
        noun = bool(compiled(_SPOKEN).search(rest)) and not re.search(r"[了]", rest)
        following = clauses[index + 1][1] if index + 1 < len(clauses) else ""
        # 去年夏天，我们去了哪里 and 上周你说的那家店，叫什么: the question follows what it is about.
        if (_is_bare(rest) or noun) and (_interrogative(following) or (noun and not following)):
            return True
        if any(later > index and _refers(question, rest) for later, question in questions):
            return True
    return False
