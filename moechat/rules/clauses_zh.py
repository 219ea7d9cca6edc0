"""Chinese messages read clause by clause: whose a clause is, and whether it is said in earnest.

Word lists are our own. A clause in doubt does not count as said in earnest: the user will repeat a fact that was missed,
while a wrong one would be believed.
"""

from __future__ import annotations

import re

from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause, Mood, jokes_taken_back, meant, readable, without_speech
from moechat.when.names import HAN

FAMILY = (
    "老妈|妈妈|母亲|妈|老爸|爸爸|父亲|爸|爸妈|父母|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥|姐姐|弟弟|妹妹|哥|姐|弟|妹|"
    "表哥|表姐|表弟|表妹|堂哥|堂姐|堂弟|"
    "堂妹|双胞胎哥哥|双胞胎姐姐|双胞胎弟弟|双胞胎妹妹|儿子|女儿|孩子|宝宝|叔叔|阿姨|姑姑|舅舅|姨妈|伯伯|侄子|侄女|"
    "外甥女|外甥|孙子|孙女|婆婆|公公|岳父|岳母|家人"
)
PARTNER = "女朋友|男朋友|女友|男友|对象|老婆|老公|妻子|丈夫|未婚妻|未婚夫|爱人|媳妇"
FRIEND = (
    "最好的朋友|好朋友|好友|朋友|闺蜜|闺密|死党|兄弟|发小|室友|舍友|同桌|同学|同事|老板|领导|上司|老师|导师|邻居|"
    "房东|前男友|前女友|前任|网友|搭档|队友"
)
PET = (
    "猫咪|小猫|猫|小狗|狗狗|狗|兔子|仓鼠|鹦鹉|乌龟|金鱼|柯基|金毛|布偶|橘猫|英短|美短|柴犬|泰迪|哈士奇|龙猫|荷兰猪|"
    "鸟|猪|马|蜥蜴|宠物"
)
PERSON = rf"{FAMILY}|{PARTNER}|{FRIEND}"

_PARTICLES = r"[了啊呀哦呢啦嘛哈哟噢喔诶耶哇呐\s~～!！。.…]*"
_LEAD = re.compile(
    r"^(?:嗯+|啊+|哦+|唉+|哎呀?|诶|嘿+|哈+|哇|喂|那个|那|其实|对了|话说|说起来|说实话|说真的|实话说|老实说|讲真|真的|"
    r"没错|是的|好的|好吧|"
    r"(?:我)?(?:偷偷|悄悄)?(?:跟|和|告|对)(?:诉)?你(?:说|讲)?(?:一?[个件]?(?:事|秘密))?(?:哦|啊|吧|哈)?|告诉你|"
    r"你知道吗|顺便(?:说|提)一?[下句]|补充一下|另外|而且|"
    r"然后|"
    r"所以|因为|由于|虽然|尽管|但是|但|可是|可|不过|却|因此|毕竟|只是|反正|总之|首先|其次|再说|并且|同时|至于|大家好|"
    r"你们好|你好|您好|哈喽|请?你?(?:帮我)?(?:要)?记住|记一下|记得|"
    r"我?(?:得|必须|要)?(?:承认|坦白)|我(?:发现|觉得|感觉)(?=我)|自我介绍一下|介绍一下)[,，:： ]*"
)  # fmt: skip
_TIME = (
    r"(?:(?:以前|从前|小时候|曾经|之前|当年|大?前天|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|今晨|刚刚|刚才|刚|"
    r"上上?个?(?:星期|周|礼拜|月)[一二三四五六日天末]?|这个?(?:星期|周|礼拜|"
    r"月)[一二三四五六日天末]?|"
    r"去年|前年|今年|本周|本月|最近|近来|现在|目前|如今|周[一二三四五六日末]|星期[一二三四五六日天]|"
    r"[\d一二两三四五六七八九十半几]+(?:个?(?:月|小时|星期|礼拜)|天|周|年|分钟)(?:以?前|之前)|"
    r"(?:\d{2,4}年)?(?:\d{1,2}|[一二三四五六七八九十]+)月(?:(?:\d{1,2}|[一二三四五六七八九十]+)[号日])?|早上|上午|"
    r"中午|下午|晚上|傍晚|凌晨|半夜|夜里)的?)"
)  # fmt: skip
_LEAD_TIME = re.compile(rf"^(?:{_TIME})+[,， ]?")
_ADVERB = re.compile(
    r"^(?:开始(?=喜欢|讨厌|爱|不|吃素)|也|还(?!有)|就(?!读|职)|都|其实|一直|真的|真心|确实|现在|目前|如今|今年|最近|"
    r"近来|已经|已|从小就?|从小到大|"
    r"平时|平常|一般|特别|非常|超级|超(?!市)|很|"
    r"好(?=喜欢|爱|讨厌|怕)|挺|蛮|比较|更|太|可(?=喜欢|爱|讨厌|是)|又|却|本人|个人|自己|有点儿?|有些|稍微|始终|永远|"
    r"至今|仍然|依然|向来|尤其|格外|十分|相当|巨|贼|只|才|是真的|"
    r"刚刚?|后来|终于|到现在|还是|打小|天生|本来就|说实话|老实说|即便如此|当然|绝对(?!不))[,， ]?"
)  # fmt: skip

_ROLE = re.compile(
    r"[(（【\[*][^)）】\]*]{0,200}(?:假装|扮演|假扮|角色|扮成|入戏|台词|模仿)[^)）】\]*]{0,200}[)）】\]*]|"
    r"^(?:假装|扮演|角色扮演|我来扮演|现在你是)"
)
_MAKE_BELIEVE = re.compile(
    r"^我?(?:假装|装作|装成|扮成)|(?:小说|故事|游戏|梦|电影|剧本|漫画)(?:里|中)(?!我(?:喜欢|讨厌))"
)
_ASIDE = re.compile(r"\*[^*\n]{1,60}\*|[(（][^)）\n]{1,60}[)）]")
_QUOTE = re.compile(r"“([^”\n]*)”|‘([^’\n]*)’|「([^」\n]*)」|『([^』\n]*)』|\"([^\"\n]*)\"")
_SENTENCE = re.compile(r"[^。！？!?；;\n…]+[。！？!?；;\n…]*")
_CUT = re.compile(
    rf"[,，]+|[—－-]{{2,}}|(?<=[{HAN}])\s+(?=[{HAN}])|(?<=.)(?=但是|可是|不过(?!来|去|敏)|然而|而且|并且|所以|因为|虽然|如果)|"
    rf"(?<=[{HAN}]{{2}})(?=但(?!愿|凡))|"
    r"(?<=.)(?=却(?=不|讨厌|喜欢))"
)
_ASKS = re.compile(
    r"[吗嘛][啊呀]?$|什么(?!都)|啥(?!都)|哪(?:里|儿|个|些|位|家|天|年|种|座|怕)?(?!怕|吒)|谁(?!都)|(?<![不没])怎么(?!都|也)|"
    r"为何|为什么|几(?:岁|号|点|月|个人)|"
    r"多[少大高重久长]$|难道|何时|何处|"
    r"([喜是有能会要爱好对吃喝养住记行想])[没不]\1|是否|记不记得|你猜|何必|何苦|干嘛|咋"
)
_TAG_QUESTION = re.compile(
    r"^(?:你?还?记得吗?|对吗|对吧|对不对|是吗|是吧|是不是|没错吧|吗|真的吗|真的假的|你说呢|你觉得呢|可能吗|怎么可能)$"
)
_IF = re.compile(
    r"如果|要是|假如|假设|假使|倘若|若是|万一|就算|即使|即便|哪怕|除非|的话(?!题|剧|费|筒)|一旦|"
    r"想象一下|比方说|换作|换成我|设想|要不是"
)
_UNSURE = re.compile(
    r"可能(?!性)|也许|或许|大概|好像|似乎|说不定|恐怕|差点|不一定|估计|应该是|不确定|不觉得|不认为|不知道|忘了|不记得|没说过|"
    r"差不多|听说|据说|是不是"
)
_JOKE = re.compile(
    r"骗你|逗你|开(?:个|了个)?玩笑|说笑|闹着玩|假的[啦哈呀]|瞎说|胡说|反话|我编的|才怪|呵呵|愚人节|(?:是|都是)假的$|"
    r"不是真的|(?:喊|说|问|答|唱|写)道$|别当真|吹牛|讽刺|\[doge\]|🙄|狗头|才不是呢|说反了|"
    r"可真.+呢$|乱说的"
)
_ANNOUNCED = re.compile(r"(?:我|来|跟你|给你)*(?:开|讲|说)(?:一?个)(?:玩笑|笑话)$|反话|呵呵|愚人节")
_EARNEST = re.compile(r"(?:没|不|别|不是|没在|不是在)(?:跟你|和你)?(?:开(?:个)?玩笑|骗你|逗你|说笑|吹牛)|(?:谁)骗你")
_PAST = re.compile(
    r"以前|从前|曾经?|小时候|(?:^|我)原[来先](?!是)|过去(?!了)|当年|当初|那时候?|当时|那会儿|那年|那阵|时候|时期|"
    r"年轻时|上学时|(?:喜欢|讨厌|养|住|学|当|做|有|爱|谈|工作|上班|信|"
    r"交)过(?!敏|年|生日|得|日子|节|去)|一度|之前(?!说)|本来(?!就)|早年|前世|上辈子"
)
_BROUGHT_IN = re.compile(
    rf"(?:有|养了?)(?:[一二两三四五六七八九十几\d]*[只条个匹位名])(?:[{HAN}]{{0,4}}的)?[{HAN}]{{0,3}}?({PERSON}|"
    rf"{PET})"
)
_GREETING = re.compile(r"(?:大家|你们?|您)?好[呀啊]?|嗨|嘿|哈喽|早上好|晚上好|hi|hello|初次见面|很高兴认识你", re.I)
_NOW = re.compile(r"现在|如今|目前|今年|后来|已经|终于|最近")
_WISH = re.compile(
    r"^(?:(?:真|好|很|也|还|一直|特别|都|就|只|最|更|多|蛮|挺|不|今天)*(?:想(?!起|到|念|法|必|不通|着|了|你|家|他|"
    r"她)|希望|盼|愿意|愿|但愿|恨不得|巴不得|梦想|憧憬|向往|期待|"
    r"渴望|羡慕|考虑|想要|需要|要是|梦[到见]|做梦)|宁愿|宁可)"
)
_PLAN_WORD = re.compile(
    r"^(?:(?:也|还|都|就|正|一直|大概)*(?:要(?!是|么|好|求|命)|打算|准备|计划|决定|将|即将|将要|"
    r"快要|快|马上|正要|正准备|争取|努力|尽量|约好|"
    r"约了|答应|会去|会在|得去))"
)
_FUTURE = re.compile(
    r"明天|明早|明晚|后天|下下?个?(?:周|星期|礼拜|月|学期|季度)|下半年|明年|后年|以后|将来|未来|将(?:要|会)|总有一天|"
    r"迟早|毕业后|退休后|过[几两三]天|过阵子|月底(?:要|去)|"
    r"快.{1,6}了$|待会|等会|一会儿要"
)
_REPORT = re.compile(
    r"梦|看|想|发现|愿|盼|怪|怕|等|说|讲|觉得|认为|以为|问|听|唱|写|告诉|觉着|喊|提到|猜|怀疑|夸|骂|"
    r"嘲笑|说成|当成|让我|叫我|逼我|劝我|要我|请我|希望我|知道|"
    r"记得|建议|骗"
)
_MINE = re.compile(rf"^我(?:家)?的?({PERSON}|{PET})(?:们|也|的(?=生日|名字|老家|工作|职业))?")
_USER = re.compile(r"^(?:我们俩?|咱们?|俺|本人|我家(?=住|在|搬)|我(?:自己|这个?人|呢|啊)?)(?!们)")
_OTHER = re.compile(
    rf"^(?:你们?|您|他们?|她们?|它们?|大家|别人|人家|没有?人|有人|有些人|谁|这|那|小[{HAN}](?=说|也|很|在|住|喜|讨|不|叫)|"
    rf"(?:{PERSON})|{PET}的?|老板|天气|今天天气|外面|"
    rf"主角|歌里|书里|电影里|老师)"
)
_BARE = re.compile(
    r"^(?:才|真|就|可|一直|从小|非常)?(?:不|没|从不|从来|再也|最?(?:不|超|很|好|特别|真)?(?:喜欢|讨厌|爱[吃喝看听]|"
    r"热爱|受不了|害怕)|住[在]|"
    rf"住(?=[{HAN}]{{2}})|养|在.{{1,12}}(?:上班|工作|读|上学|实习|当|做)|叫|今年|来自|老家|"
    r"有[一两个只条]|单身|是(?:一[名个位]|个)|对.{1,12}(?:过敏|感兴趣|没兴趣)|\d+岁|[一二三四五六七八九十]+岁|"
    r"每[天晚周年个]|经常|和|跟|"
    r"去|吃|喝|看|买|搬|换|跳槽|辞|入职|考|毕业|学|戒|生日|身高|体重|"
    r"结婚|分手|离婚|"
    r"打算|准备|想|要|决定|刚|丢|收到|参加|见|加班|会(?=弹|说|游|开|做)|做|玩|打|写|做|从事|专业|读|爸|带|陪|帮|终于|"
    r"被|把|还|也|都|昨|前|上|今|现|目|最|正|又|改名)"
)
_OF_OTHERS = re.compile(
    r"^我.{0,3}(?:觉得|知道|认为|以为|记得|发现|猜|感觉|相信|看得出|看出)(?:你|他|她|它|大家|别人|人)"
)
_DENIED = re.compile(r"^(?:又|也|并|才)*(?:不是|没有|并非|不能|没说)(?:不|讨厌|喜欢|爱|说|没)")
_ABOUT_TOPIC = re.compile(
    r"最|真|超|特别|很|挺|也|太|都|从来|一直|就|不|没|喜欢|爱|讨厌|受不了|吃不|喝不|接受|害怕|怕|恨"
)
_NAMED = re.compile(
    rf"^(?:[{HAN}]{{1,6}}?|[A-Za-z]+)(?:也|就|都|最|很|超|特别|真的|从小|一直)*(?:说|觉得|认为|以为|告诉|唱|喜欢|"
    rf"讨厌|不喜欢|住在|爱吃|不吃|不爱|害怕|怕|今年|"
    rf"对.{{1,8}}过敏|在.{{1,10}}(?:上班|工作|读书|上学)|养了?|叫|"
    r"是.{1,6}人$|会(?:弹|说|唱|跳)|搬|写的)|^[^，我]{1,8}[:：]"
)


def read(message: str) -> list[Clause]:
    """The clauses of ``message``, in order."""
    text = readable(message)
    role = bool(_ROLE.search(text))
    text = _QUOTE.sub(without_speech(_is_speech), text)
    joked_aside = bool(re.search(r"[(（][^)）]{0,60}(?:反话|玩笑|骗你|逗你|不是真的|讽刺)[^)）]{0,60}[)）]", text))
    text = _ASIDE.sub("，", text)
    clauses: list[Clause] = []
    for sentence in _SENTENCE.finditer(text):
        clauses.extend(_sentence(sentence.group(), sentence.start(), clauses))
    if role or joked_aside:
        mood: Mood = "role" if role else "joke"
        return [meant(clause, mood) for clause in clauses]
    return jokes_taken_back(clauses, _ANNOUNCED)


def _is_speech(quoted: str) -> bool:
    return "我" in quoted or len(quoted) > 12


def _sentence(sentence: str, start: int, before: list[Clause]) -> list[Clause]:
    is_question = bool(re.search(r"[?？]", sentence))
    clauses: list[Clause] = []
    whose = before[-1].whose if before else USER
    mood: Mood = "said"
    parts = [part for part in _parts(sentence.rstrip("。！？!?；;\n…")) if part[1]]
    for number, (at, part) in enumerate(parts):
        last = number == len(parts) - 1
        clause, explicit = _clause(part, whose)
        own = _mood(part, clause, is_question and last)
        if own == "said" and mood in ("hypothetical", "role", "wish", "plan", "past") and not _NOW.search(part):
            if mood in ("hypothetical", "role") or not explicit:
                own = mood
        if own == "said" and last and is_question:
            own = "question"
        if not explicit and re.match(r"名?叫", clause.body) and not _only_greetings([*before, *clauses]):
            clause = Clause(part, clause.body, UNKNOWN, own, lead=clause.lead)  # 学了一道菜，叫做清蒸鲈鱼
        mood = own
        whose = OTHER if own == "hearsay" else _introduced(part, clause) or clause.whose
        if _TAG_QUESTION.match(part) and clauses and (is_question or part.endswith(("吗", "吧"))):
            clauses[-1] = meant(clauses[-1], "question")
        clauses.append(Clause(part, clause.body, clause.whose, own, start + at, clause.lead))
    return clauses


def _only_greetings(clauses: list[Clause]) -> bool:
    return all(_GREETING.fullmatch(clause.text) for clause in clauses)


def _introduced(part: str, clause: Clause) -> str:
    """The person that a clause introduces (我有个弟弟, 我女儿叫朵朵); the next clause without a subject is about them."""
    if named := _MINE.match(part):
        return named[1]
    brought = _BROUGHT_IN.match(clause.body) if clause.whose == USER else None
    return brought[1] if brought else ""


def _parts(sentence: str) -> list[tuple[int, str]]:
    parts: list[tuple[int, str]] = []
    start = 0
    for cut in _CUT.finditer(sentence):
        parts.append((start, sentence[start : cut.start()]))
        start = cut.end()
    parts.append((start, sentence[start:]))
    return [(at + len(part) - len(part.lstrip()), part.strip(" \t:：~～")) for at, part in parts]


def _clause(part: str, inherited: str) -> tuple[Clause, bool]:
    """Subject and body of a clause, and whether its subject is spoken."""
    text = part
    while (shorter := _LEAD_TIME.sub("", _LEAD.sub("", text, count=1), count=1)) != text and shorter:
        text = shorter
    lead = part[: len(part) - len(text)]
    if mine := _MINE.match(text):
        rest = text[mine.end() :]
        named = re.match(r"的?(?:名字)?(?:叫|是)", rest)
        if not named and not rest.startswith("的"):
            return Clause(part, _bare(rest), mine[1], "said", lead=lead), True
        return Clause(part, text, USER if named else OTHER, "said", lead=lead), True
    if user := _USER.match(text):
        return Clause(part, _bare(text[user.end() :]), "user", "said", lead=lead), True
    if topic := re.match(rf"^([{HAN}A-Za-z《》]{{1,8}}?)(?<!自)我(?!们|的|妈|爸|朋友)", text):
        rest = _bare(text[topic.end() :])
        if not _REPORT.search(topic[1]) and not _OTHER.match(text) and _ABOUT_TOPIC.match(rest):
            return Clause(part, f"{rest}＠{topic[1]}", USER, "said", lead=lead), True
        if re.match(r"在|从|到|早|上|下|当时|那天", topic[1]) and not _REPORT.search(topic[1]):
            return Clause(part, rest, USER, "said", lead=lead), True
    if text.startswith(("我的", "我家")):
        return Clause(part, text, "user", "said", lead=lead), True
    if _OTHER.match(text):
        return Clause(part, text, OTHER, "said", lead=lead), True
    whose = inherited if _BARE.match(_bare(text)) else OTHER if _NAMED.match(text) else UNKNOWN
    return Clause(part, _bare(text), whose, "said", lead=lead), False


def _bare(body: str) -> str:
    while True:
        shorter = _LEAD_TIME.sub("", _ADVERB.sub("", body, count=1), count=1).lstrip(" ，,:：")
        if shorter == body or not shorter:
            return body
        body = shorter


def _mood(part: str, clause: Clause, is_question: bool) -> Mood:
    if _JOKE.search(part) and not _EARNEST.search(part):
        return "joke"
    if _MAKE_BELIEVE.search(part):
        return "role"
    if _IF.search(part):
        return "hypothetical"
    if is_question or _ASKS.search(part):
        return "question"
    if _UNSURE.search(part) or _DENIED.match(clause.body) or (part.endswith("吧") and "叫我" not in part):
        return "uncertain"
    if _OF_OTHERS.match(part) or ("○" in part and _REPORT.search(part)):
        return "hearsay"
    if _WISH.match(clause.body) or _WISH.match(part):
        return "wish"
    if _PLAN_WORD.match(clause.body) or _FUTURE.search(part):
        return "plan"
    if _PAST.search(part):
        return "past"
    return "said"
