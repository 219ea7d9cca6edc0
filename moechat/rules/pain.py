"""What hurts in a message, and whether a life is in danger: what a finding's mark follows from where no model gives it.

Words decide. Talk that only sounds like it (笑死, "killing me") is taken out first. A reader in doubt takes it for pain: a
memory that is kept for the right moment costs less than one that is brought up at the wrong one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from moechat.model import Mark
from moechat.rules.clause import LONGEST

_FIGURE = re.compile(
    r"(?:笑|热|冷|累|困|饿|渴|美|爱|想|气|烦|忙|急|无聊|尴尬|社|羡慕|可爱|好吃|开心|高兴|吓|甜|香|酸|辣|臭|堵|"
    r"电|卡)死[你他她它了我人啦]*|"
    r"百年孤独|压得.{0,4}喘不过气|(?:死|要)了?我的?命|杀了我吧|原地去世|做得我想死|死机|死党|死心|死板|往死里|"
    r"\b(?:dying|dead) (?:of|to|from|with) (?:laugh\w*|curiosity|boredom|embarrass\w*)|\bdead (?:tired|serious|"
    r"line|end|weight|on)|"
    r"\bdie for (?:th|a|an|my|some)|\bto die for|\bcould murder\b|\bkill(?:ing|ed|s) (?:it|me\b(?! if)|time|"
    r"my (?:feet|back|vibe))|"
    r"\bsuicide (?:pace|squad)|\b(?:phone|battery|laptop|car|wifi|tablet) (?:just )?(?:died|is dead)|"
    r"\bI'?m dead\b|\bslay\w*|\bhow (?:did|had|has) [^.!?]{1,40}\bhurt (?:my|him|her|them)sel\w+",
    re.I,
)
_LAUGHS = re.compile(r"哈哈|嘿嘿|hh+|\blol\b|\blmao\b|\bhaha|😂|🤣", re.I)
_DANGER = re.compile(
    r"不想(?:再)?活|(?:想|要|去|准备|打算)(?:自杀|自尽|寻死|轻生|死了算了|了结)|自杀|轻生|寻死|想死|活够了|"
    r"一了百了|结束(?:自己的)?生命|"
    r"遗书|永别|(?:没有?了?我|我不在了?).{0,10}(?:更好|轻松|解脱)|(?:攒|吞|吃).{0,4}(?:安眠药|够药|[一整]瓶药)|"
    r"割腕|(?:划|割|烧|伤害)自己|自残|"
    r"(?:(?:我|站|坐)(?:就|正|现在|一个人)*|(?<![^，。！？\s]))在(?:天台|楼顶|桥边|窗台|铁轨)上?|跳(?:楼|河|桥|下去)|"
    r"叫不醒|没有?呼吸|没(?:有)?心跳|喘不[上过]气|呼吸不[了上]|喉咙.{0,6}肿|昏(?:迷|倒)|倒在?地|抽搐|大出血|"
    r"吐血|中风|心梗|中毒|煤气泄漏|"
    r"(?:拿着?|举着?).{0,3}(?:刀|枪).{0,8}(?:砸|追|要|威胁|冲|在)|要(?:杀|打死|弄死)(?:了?我|他|她|人)|"
    r"有人(?:要|想)(?:杀|害)我|着火了|被绑|"
    r"\b(?:do not|don'?t|never) (?:want|wanna) to (?:live|be here any ?more|be alive|wake up|exist)|\b(?:kill|"
    r"killing|hurt|harm)(?:ing)? (?:my|him|her|them)sel\w+|"
    r"\bkill me\b|\bsuicid\w+|\bend (?:it all|my life|things for good)|\bgoodbye for ?ever|"
    r"\bbetter off (?:without me|dead|if i)|\bwant to die\b|"
    r"\bwrote (?:the|my|a) (?:goodbye |suicide )?(?:letters|note)\b|\bsuicide note|\bpills (?:lined|ready|"
    r"saved)|\boverdos\w+|\bcut(?:ting)? (?:my|him|her)sel\w+|"
    r"\b(?:i'?m|i am|standing|sitting|up)(?: \w+){0,2} on the (?:bridge|roof|ledge|tracks)\b|"
    r"\b(?:is not|isn'?t|not|stopped|can'?t|cannot) breath\w*|"
    r"\bthroat is (?:closing|swelling)|\bunconscious\b|\bwon'?t wake up|"
    r"\bheart attack\b|\bstroke\b(?! of)|\bseizure\b|\bbleeding (?:out|badly|a lot)|\bhe'?ll kill (?:me|us)|"
    r"\bhas a (?:gun|knife)\b|\bbreaking (?:in|down the door)",
    re.I,
)
_PAIN = re.compile(
    r"去世|过世|离世|病逝|逝世|牺牲|遗体|骨灰|葬礼|追悼|下葬|送.{0,4}最后一程|没抢救|(?:爸|妈|爷|奶|公|婆|哥|"
    r"姐|弟|妹|他|她|它|[老亲]人)(?:昨天|今早|刚刚?)?"
    r"(?:走了(?!以后|之后)|不在了|没了)|(?:里|时|年|月|天|已经|都)就?(?:不在了|没了)|死了(?!心)|"
    r"出事.{0,6}(?:年|月|天)|孩子没保住|流产|小产|死胎|"
    r"(?:撑|活|熬|坚持)不下去|绝望|崩溃|抑郁|焦虑症|双相|惊恐发作|心慌得|想哭|哭了[一整好]|难过|伤心|心碎|心痛|"
    r"痛苦|孤独|没有?人(?:在乎|爱我|理我)|一个人都没来|"
    r"废物|没用的人|有什么意义|不会好起来|白费|受够了|没有?意义|"
    r"强[奸暴]|性侵|猥亵|性骚扰|家暴|虐待|打我(?!电话)|霸凌|校园暴力|被(?:欺负|跟踪|威胁|骗婚|劈腿|绿)|出轨|"
    r"分手|离婚|失恋|(?:怀孕|阳痿|性病|艾滋|堕胎|打胎|性生活|出柜|同性恋)|"
    r"(?:怕|害怕|不敢)(?:得|回家|出门|睡)|发毛|哆嗦|手一?直?抖|癌|绝症|晚期|化疗|活检|病危|重症|瘫痪|"
    r"\b(?:died|passed away|funeral|buried|cremat\w+|ashes|put \w+ (?:down|to sleep)|miscarr\w+|stillborn|"
    r"lost (?:the|our|my) (?:baby|child|son|daughter|mum|mom|mother|father|dad|"
    r"husband|wife|brother|sister)|took my (?:brother|sister|mother|father|son|daughter))\b|\b(?:'s|has|is|"
    r"been) gone since\b|\bdepress\w+|\bpanic attack|\bhopeless\w*|"
    r"\bworthless\b|\bself[- ]harm|\bcan'?t (?:go on|do this any ?more|take (?:it|this) any ?more|"
    r"stop (?:crying|shaking|trembling))|\b(?:no|what'?s the) point\b|"
    r"\bnever (?:ever )?going to get better|\bheart ?broken|\bso alone\b|\bfeel(?:ing)? (?:low|empty|numb|"
    r"alone|lonely)\b|\bfeels like i'?m at the bottom|\bnobody (?:came|cares|loves me)|"
    r"\bshe left\b|\bhe left me|\bbroke up\b|\bdivorc\w+|\bcheated on\b|\brap(?:ed|ist|e)\b|\bassault\w*|"
    r"\bmolest\w*|\babus(?:ed?|ive|ing)\b|\bharass\w*|\bbull(?:ied|ying)\b|"
    r"\bstalk(?:ed|ing|er)\b|\b(?:hits|hit|beats|beat) me\b|\bscared of (?:going home|him|her)|\bterrified\b|"
    r"\btrembling\b|\bshaking with|\bcancer\b|\bchemo\w*|\bbiops\w+|\bterminal\b|"
    r"\babortion\b|\bimpoten\w+|\bstd\b|\bhiv\b|\bcame out (?:as|to)\b|\bno strength left|\bcould scream\b|"
    r"\bso done with\b",
    re.I,
)
_CARE = re.compile(
    r"过敏|不耐受|哮喘|糖尿病|高血压|低血糖|癫痫|心脏病|贫血|确诊|手术|住院|怀孕|忌口|吃药|服药|"
    r"\ballerg\w+|\bintoleran\w+|\basthma\w*|\bdiabet\w+|\bepilep\w+|\bceliac\b|\bdiagnos\w+|\bsurgery\b|"
    r"\bhospital\w*|\bpregnan\w+|\bmedication\b|\bblood pressure\b",
    re.I,
)
_CARE_KEYWORDS = frozenset("过敏 健康 疾病 allergy health".split())


def earnest(text: str) -> str:
    """The message without what only sounds like pain; nothing of one that laughs."""
    text = text[:LONGEST]
    return "" if _LAUGHS.search(text) else _FIGURE.sub("", text)


def in_danger(text: str) -> bool:
    """Whether a message says that somebody's life is in danger, now or by their own hand."""
    return bool(_DANGER.search(earnest(text)))


@lru_cache(maxsize=2048)
def mark(text: str, keyword: str = "") -> Mark:
    """The mark of what was said: ``delicate`` for pain and intimate matters, ``care`` for health and safety. ``keyword`` is
    that of a fact."""
    meant = earnest(text)
    if _DANGER.search(meant) or _PAIN.search(meant):
        return "delicate"
    return "care" if keyword in _CARE_KEYWORDS or _CARE.search(text) else ""
