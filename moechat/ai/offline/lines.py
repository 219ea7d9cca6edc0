"""The lines of the offline model and the patterns that it listens for, one table per language. Data only: change a line
freely.

A line may use {name}, {user} (", " and the name, or nothing), {day}, {said}, {phrase}, {clock} and {date}. Where a key
has several lines, the user's text decides which one is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

ZH: Mapping[str, tuple[str, ...]] = {
    # answers from memory
    "told_now": ("你跟我说过：{said}。", "我记得你说的：{said}。"),
    "told_then": ("{day}你跟我说过：「{said}」。", "我记得{day}你说：「{said}」。"),
    "told_that_day": ("那天（{day}）你说：「{said}」。",),
    "told_list": ("我记得你说的是：{said}。",),
    "told_list_then": ("{day}你跟我说过：{said}。",),
    "known": ("我记得，{said}。", "{said}，我记着呢。"),
    "lore": ("{said}", "这个我知道。{said}"),
    "unsure": ("这个我没有把握。我能想起来的是：{said}。", "我不确定你问的是不是这件事：{said}。"),
    "about_you": ("我记得这些：{said}。",),
    "no_record": (
        "{phrase}……我翻了翻记忆，没有那段时间的记录。",
        "{phrase}的事我没有记录，不敢乱说。",
    ),
    "unread": ("以前的事我还在一点点想起来，等一会儿再问我吧。",),
    "but_then": ("不过，{said}",),
    "not_told": (
        "这个你好像还没跟我说过。告诉我，我会记住。",
        "我没有这方面的记忆。你愿意说说吗？",
        "我想了想，记忆里没有这件事。",
    ),
    "not_known": (
        "这个我现在答不上来。",
        "这个问题超出我记得的事了。",
        "我只记得我们聊过的和这里的事，这个我不知道。",
    ),
    "not_mine": (
        "我自己的这些事没有写在记忆里，我不想编给你听。",
        "这个我说不上来。我记得的都是你说过的话，和这里的事。",
    ),
    "request": (
        "这个要等接上语言模型才行，现在我只会从记忆里回答。",
        "我也想，可是现在还没有连接语言模型，做不了这个。",
    ),
    "advice": (
        "这个我现在拿不了主意，不过你想到什么都可以说给我听。",
        "我现在只会翻记忆，出不了好主意。你自己更想怎样？",
    ),
    "who": ("我是{name}。",),
    "clock": ("现在是{date} {clock}。",),
    # remarks
    "greet": ("你好{user}。今天过得怎么样？", "嗯，我在{user}。", "你来了{user}。想聊点什么？"),
    "thanks": ("不客气。", "不用谢，应该的。", "能帮上忙就好。"),
    "night": ("晚安{user}，好好睡。", "晚安。明天见。", "去睡吧，今天的话我都记着。"),
    "bye": ("再见{user}，路上小心。", "好，回头再聊。", "嗯，我在这里等你。"),
    "cheer": ("谢谢你{user}，也祝你快乐。",),
    "fond": ("听你这么说，我很高兴。", "嗯，我也很高兴能和你说话。"),
    "yes": ("嗯。", "好。还有什么想说的吗？", "嗯，我在。"),
    "sad": ("听起来你很难受。想说的话，我在听。", "我在。慢慢说，不着急。"),
    "tired": ("辛苦了，先歇一歇吧。", "累了就休息一会儿，别硬撑。"),
    "worried": ("别急，一件一件来。我陪着你。", "紧张是难免的。说给我听听？"),
    "angry": ("难怪你会生气。", "换谁都会烦的。说出来会好一点。"),
    "unwell": ("要多喝水，多休息。难受得厉害就去看医生。", "身体要紧，今天早点休息。"),
    "happy": ("真好，我也替你高兴。", "听你这么说，我也开心。"),
    "noted": ("记住了：{said}。", "好，我记下了：{said}。"),
    "heard": ("嗯，我听着呢。", "我在听，你接着说。", "这样啊，我记下了。"),
    "empty": ("嗯？", "我在听。"),
}

EN: Mapping[str, tuple[str, ...]] = {
    "told_now": ("You told me: {said}.", "I remember that you said: {said}."),
    "told_then": ("You told me {day}: “{said}”.", "I remember what you said {day}: “{said}”."),
    "told_that_day": ("That day ({day}) you said: “{said}”.",),
    "told_list": ("I remember that you said: {said}.",),
    "told_list_then": ("You told me {day}: {said}.",),
    "known": ("I remember: {said}.", "I do remember. {said}."),
    "lore": ("{said}", "I know about that. {said}"),
    "unsure": ("I'm not sure. What comes to mind is this: {said}.", "I don't know if this is what you mean: {said}."),
    "about_you": ("This is what I remember: {said}.",),
    "no_record": (
        "I looked, but I have no record of that time ({phrase}).",
        "I have no record for “{phrase}”, so I would rather not guess.",
    ),
    "unread": ("Older memories are still coming back to me. Ask me again in a little while.",),
    "but_then": ("But this I have: {said}",),
    "not_told": (
        "I don't think you have told me that yet. Tell me and I'll remember.",
        "I have no memory of that. Would you like to tell me?",
        "I thought about it, and there is nothing about that in my memory.",
    ),
    "not_known": (
        "I can't answer that one right now.",
        "That is beyond what I remember.",
        "I only know what we talked about and what belongs to this place, not that.",
    ),
    "not_mine": (
        "There is nothing about that side of me in my memory, and I would rather not invent it.",
        "I can't tell. What I remember is what you said, and this place.",
    ),
    "request": (
        "For that a language model has to be connected; for now I can only answer from memory.",
        "I would like to, but without a language model I can't do that yet.",
    ),
    "advice": (
        "I can't decide that for you right now, but tell me what you are thinking.",
        "All I can do at the moment is look things up in memory. What would you prefer?",
    ),
    "who": ("I'm {name}.",),
    "clock": ("It is {clock} {date}.",),
    "greet": (
        "Hello{user}. How has your day been?",
        "Hi{user}. I'm here.",
        "There you are{user}. What's on your mind?",
    ),
    "thanks": ("You're welcome.", "Any time.", "Glad I could help."),
    "night": (
        "Good night{user}. Sleep well.",
        "Good night. See you tomorrow.",
        "Sleep well. I'll keep what you told me.",
    ),
    "bye": ("Goodbye{user}. Take care.", "See you later.", "Until next time."),
    "cheer": ("Thank you{user}, and the same to you.",),
    "fond": ("I'm happy to hear that.", "I'm glad to be talking with you, too."),
    "yes": ("All right.", "Good. Is there anything else?", "I'm here."),
    "sad": ("That sounds hard. I'm listening.", "I'm here. Take your time."),
    "tired": ("You've done enough for now. Have a rest.", "Take it easy for a while."),
    "worried": ("One thing at a time. I'm with you.", "It's natural to be nervous. Tell me about it?"),
    "angry": ("No wonder you're upset.", "Anyone would be annoyed. Let it out."),
    "unwell": (
        "Drink some water and rest. If it gets bad, see a doctor.",
        "Your health comes first. Rest early today.",
    ),
    "happy": ("That's lovely, I'm happy for you.", "I'm glad to hear that."),
    "noted": ("I'll remember: {said}.", "Noted: {said}."),
    "heard": ("I'm listening.", "Go on, I'm listening.", "I see. I'll keep that in mind."),
    "empty": ("Hm?", "I'm listening."),
}

LINES: Mapping[str, Mapping[str, tuple[str, ...]]] = {"zh": ZH, "en": EN}
NOTICES: Mapping[str, str] = {
    "zh": (
        "（现在没有连接语言模型，我只能从记忆里找话回答。要连接：在网页的「连接模型」里填写，"
        "或在 config.yaml 写 chat.base_url 和 chat.model，密钥放在环境变量 MOECHAT_API_KEY。）"
    ),
    "en": (
        "(No language model is connected: I can only answer from memory. To connect one, use “Connect a model” "
        "on the page, or set chat.base_url and chat.model in config.yaml, with the key in MOECHAT_API_KEY.)"
    ),
}


@dataclass(frozen=True)
class Ears:
    """Patterns of one language. ``remarks`` are tried in order; ``subjects`` tell what a question and a memory have in
    common when they use different words; ``likes`` and ``dislikes`` must not be taken for each other."""

    asks: re.Pattern[str]
    asks_nothing: re.Pattern[str]  # looks like a question and is none
    address: re.Pattern[str]  # how a question turns to the character, no part of what it asks
    yours: re.Pattern[str]
    tells: re.Pattern[str]  # a clause that certainly speaks of the user
    advice: re.Pattern[str]
    who: re.Pattern[str]
    clock: re.Pattern[str]
    about_me: re.Pattern[str]
    mine: re.Pattern[str]
    empty_words: re.Pattern[str]
    likes: re.Pattern[str]
    dislikes: re.Pattern[str]
    subjects: tuple[re.Pattern[str], ...]
    remarks: tuple[tuple[str, re.Pattern[str]], ...]
    feelings: tuple[tuple[str, re.Pattern[str]], ...]
    yesterday: str
    day: str
    day_of_year: str
    separator: str
    glue: str


def _any(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _en(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


EARS: Mapping[str, Ears] = {
    "zh": Ears(
        asks=_any(
            r"[?？]\s*$|[吗呢嘛]\s*[。~～]?$|什么|哪[里儿个些天位种]?|谁|多少|怎么|为什么|是不是|有没有|"
            "还?记不?记得|讲讲|说说|介绍一?下|几[点号岁个次月]|多[大久长远高重]"
        ),
        asks_nothing=_any("没什么|没怎么|不怎么|什么都|什么也|谁都|谁也|怎么都|无论|不管"),
        address=_any("你?(?:还)?(?:记不记得|记得|知不知道|知道|猜猜?|能告诉我|告诉我|说说)"),
        yours=_any("你|您"),
        tells=_any("我|俺"),
        advice=_any("怎么办|推荐|建议|应该|要不要|该不该|[吃做去买看玩穿]什么好|你觉得"),
        who=_any("你是谁|你叫什么|你的名字"),
        clock=_any("现在几点|今天(?:是)?(?:几号|几月几[号日]|星期几|周几|礼拜几)|几点了"),
        about_me=_any(
            "(?:记得|了解|知道)我(?:的)?(?:什么|哪些|多少|吗|么|[?？]|$)|关于我|"
            "我(?:都)?[跟和对给]你(?:都)?[说讲聊]过?(?:些)?(?:什么|哪些)|"
            "我们(?:都)?聊过(?:些)?(?:什么|哪些)"
        ),
        mine=_any("我"),
        empty_words=_any(
            "记得|聊|谈|说|讲|提|告诉|发生|事情?|东西|时候|那天|食物|话题?|干|干嘛|以前|之前|上次|刚才|刚刚|知道"
        ),
        likes=_any("(?<![不没])(?:喜欢|爱(?![好人情])|最爱|偏爱|热爱)"),
        dislikes=_any("讨厌|不喜欢|不爱|不吃|不喝|受不了|反感|恨|厌恶|忌口"),
        subjects=(
            _any("吃|喝|饭|餐|菜|火锅|夜宵|奶茶"),
            _any("住|家在|搬到|搬去|城市|地址"),
            _any("我叫|名字|叫我|姓名|我是谁"),
            _any("工作|上班|职业|公司|同事|医生|老师|护士|[做当]一?[名个位]?[^，]{0,4}[师士员工]"),
            _any("生日|出生"),
            _any("养|宠物|猫|狗"),
            _any(r"几岁|多大|[\d一二两三四五六七八九十百]岁|年龄"),
            _any("学校|专业|上学|读书|大学|考试"),
            _any("爸|妈|父|母|姐|妹|哥|弟|家人|家里人"),
            _any("男朋友|女朋友|对象|恋爱|结婚|老公|老婆"),
            _any("过敏|忌口|不能吃"),
            _any("爱好|兴趣|平时.*做"),
            _any("去了|去过|去哪|旅行|旅游|出差"),
        ),
        remarks=(
            ("night", _any("晚安|去睡|睡了|睡觉了|先睡")),
            ("cheer", _any("(?:生日|新年|节日|圣诞|中秋|国庆|春节|元旦)快乐")),
            ("thanks", _any("谢谢|感谢|多谢|谢啦")),
            ("bye", _any("再见|拜拜|回头聊|先走|先下|下次聊")),
            (
                "greet",
                _any(r"你好|您好|^嗨|哈喽|在吗|^早$|早安|[早晚]上好|[中下上]午好|我回来了|好久不见|^hi\b|^hello\b"),
            ),
            ("fond", _any("想你|喜欢你|爱你|你(?:真|好|太|最)(?:可爱|好|棒|贴心|温柔)|抱抱")),
            ("yes", _any(r"^(?:好+的?|嗯+|哦+|行|可以|是的?|对|ok|okay)[啊呀吧呢哦嘛。~～!！.]*$")),
            (
                "request",
                _any("^(?:请|麻烦你?|可以|能不能)?(?:你)?(?:给我|帮我|陪我|教我)[^了]*$|(?:讲|唱|写)[个首篇一]"),
            ),
        ),
        feelings=(
            ("unwell", _any("生病|感冒|发烧|头[疼痛]|肚子[疼痛]|胃[疼痛]|身体不舒服")),
            ("sad", _any("难过|伤心|想哭|哭了|委屈|崩溃|失恋|孤独|心情不好|心情很差|郁闷|不开心|难受")),
            ("tired", _any("好累|很累|太累|累死|累坏|好困|疲惫|撑不住|累了|困了")),
            ("worried", _any("焦虑|紧张|担心|压力|好怕|不安")),
            ("angry", _any("生气|气死|烦死|好烦|火大")),
            ("happy", _any("开心|高兴|太好了|激动|好棒|好耶|幸福")),
        ),
        yesterday="昨天",
        day="{at.month}月{at.day}日",
        day_of_year="{at.year}年{at.month}月{at.day}日",
        separator="，",
        glue="",
    ),
    "en": Ears(
        asks=_any(
            r"\?\s*$|"
            r"^(?:and |so |but |hey,? )?(?:what|where|who|whom|whose|when|why|how|which|do|does|did|is|are|was|were)\b|"
            r"^(?:can|could|have|has|will|would)\b|"
            "do you remember|^(?:please )?(?:tell me (?:what|where|who|when|how|about)|describe)"
        ),
        asks_nothing=_any(
            r"^(?:what a|how (?:nice|lovely|cute|sweet|sad|funny))\b[^?]*$|^(?:do|have|will) (?:not|n't)\b"
        ),
        address=_en(
            "(?:do|can|could|would|will) you (?:still |please )?(?:remember|know|recall|tell me)|tell me|remember"
        ),
        yours=_en("you|your|yours|yourself"),
        tells=_en("i|my|me|we|our"),
        advice=_en("should i|recommend|suggest|advice|what do you think"),
        who=_en("who are you|what(?:'s| is) your name"),
        clock=_en("what time is it|what(?:'s| is) (?:the time|the date|today'?s date)|what day is (?:it|today)"),
        about_me=_en(
            "(?:remember|know) (?:anything )?about me|remember me|"
            "what (?:did|have) (?:i|we) (?:tell|told|say|said|talk|talked)"
        ),
        mine=_en("i|my|me|mine|we|our"),
        empty_words=_any(
            "^(?:remember|tell|told|talk|talked|discuss|discussed|say|said|mention|mentioned|happen|happened|thing|things|stuff|food|name|called|know|time|day|last|ever|whole)$"
        ),
        likes=_en("(?<!not )(?<!n't )(?:likes?|loves?|enjoys?|favou?rite|fond of|prefers?)"),
        dislikes=_en(
            "hates?|dislikes?|(?:do|does|did)(?: not|n't) (?:like|love|enjoy|eat|drink)|can't stand|"
            "cannot stand|detests?"
        ),
        subjects=(
            _en("eat|eats|ate|eaten|had|have for|dinner|lunch|breakfast|food|meal|drink|drank|hotpot|hot pot"),
            _en("live|lives|lived|living in|home|moved to|city|address"),
            _en("my name|i am called|call me|called"),
            _en("work|works|worked|job|profession|company|boss"),
            _en("birthday|born"),
            _en("pet|pets|cat|cats|dog|dogs"),
            _en("years old|how old|age"),
            _en("school|study|studies|major|university|college|exam"),
            _en("mother|father|mom|mum|dad|sister|brother|family|parents"),
            _en("boyfriend|girlfriend|husband|wife|partner|married|dating"),
            _en("allergic|allergy|allergies"),
            _en("hobby|hobbies|interests|free time"),
            _en("went|travel|travelled|traveled|trip|visited|visit"),
        ),
        remarks=(
            ("night", _en("good ?night|night night|going to bed|off to bed")),
            ("cheer", _en("(?:happy|merry) (?:birthday|new year|christmas|holidays)")),
            ("thanks", _en("thanks|thank you|thx")),
            ("bye", _en("bye|goodbye|see you|see ya|talk later|gotta go")),
            ("greet", _en("^hello|^hi|^hey|good (?:morning|afternoon|evening)|i'm back|long time no see")),
            ("fond", _en("miss you|love you|like you|you(?:'re| are) (?:so |very )?(?:cute|sweet|kind|nice|the best)")),
            ("yes", _any(r"^(?:ok|okay|yes|yeah|yep|sure|right|all right|i see|mhm)[.!~]*$")),
            (
                "request",
                _any(r"^(?:please |can you |could you )?(?:tell me a|write|sing|help me|give me|explain|translate)\b"),
            ),
        ),
        feelings=(
            ("unwell", _en("sick|a cold|fever|headache|stomach ?ache|feel ill|feeling ill")),
            ("sad", _en("sad|cry|crying|cried|lonely|depressed|heartbroken|miserable|feel down|unhappy")),
            ("tired", _en("tired|exhausted|worn out|sleepy|burnt out")),
            ("worried", _en("anxious|nervous|worried|stressed|scared|afraid")),
            ("angry", _en("angry|furious|annoyed|pissed|fed up")),
            ("happy", _en("happy|glad|excited|great news|wonderful|so good")),
        ),
        yesterday="yesterday",
        day="on {at:%B} {at.day}",
        day_of_year="on {at:%B} {at.day}, {at.year}",
        separator=", ",
        glue=" ",
    ),
}
