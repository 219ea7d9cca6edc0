"""What a Chinese clause says of its subject: patterns over the clause's body, first come first served.

A pattern must fit the whole body, so that whatever it does not know stays untold. Targets that are pronouns, questions or
particles are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from moechat.ai.clause import OTHER, UNKNOWN, Clause, Found
from moechat.ai.clauses_zh import FAMILY, FRIEND, HAN, PARTNER, PERSON, PET

_TAIL = r"[了啊呀哦呢啦嘛哈哟呐喔噢耶哇的吧得很死]*[~～\s]*"
_DIGITS = "零一二三四五六七八九"
_NUMBER = r"\d{1,3}|[一二两三四五六七八九十百]{1,4}"
_NEGATION = (
    r"(?:一点[儿]?(?:都|也)?|根本|完全|从来|从|再也?|绝对|并|都|也|就|真的|已经|压根[儿]?(?:就)?|可)*(?:不(?:是很|是特别|太|怎么|大|那么|再那么|再|会再|算|是那么)?|没那么|没有那么|没有?多)"
)
_LIKE = r"喜欢上(?!班|学|课|网|海|街|山|厕)了?|喜欢|喜爱|热爱|钟爱|偏爱|迷恋上?|爱好|中意|沉迷于?|痴迷于?|迷上|爱上|着迷于|享受|崇拜|最爱|爱"
_DISLIKE = (
    r"讨厌|厌恶|厌烦|恨|嫌弃|反感|害怕|恐惧|怕|受不了|忍不了|忍受不了|无法忍受|接受不了|无法接受|看不惯|听不得|闻不了|闻不得|腻了|吃腻了|烦(?!恼|死|躁|心)"
)
_CONSUME = r"吃|喝|抽|碰|沾"
_BAD_TARGET = re.compile(
    r"^(?:你|您|他|她|它|这|那|哪|啥|什么|谁|自己$|的|就|了|过|着|得|上|到|啊|呀|是|也|都|我|不|极|死|要死|一下|一点|一些|一个人|人家|来|完|不下|饱|饭|来不及|惯|"
    r"聊|说|想|要|因为|和你|跟你|○|意思|问题|事|大家$|别人$|多|少|那么|这么|时|呢)|[?？○]|^.$(?<![酒茶猫狗鱼烟辣酸甜苦雨雪冬夏秋春葱姜蒜糖肉奶书歌蛇虫鬼热冷冰海山花素蛋虾蟹藕醋猪羊牛鸡鸭鹅面饭粥钱药汤梨桃橙枣])|的时候|的话"
)
_WHOLE = re.compile(r"温和|平和|和平|和服|和牛|暖和|随和|柔和|共和|和谐|和声|一起|聊天|相处|在一起|玩$|^和|^跟|^与|之间|跟踪|跟风|还有我|与众")
_NOT_A_PLACE = re.compile(r"院|酒店|宾馆|民宿|旅馆|旅店|几天|一晚|那里|这里|那边|这边|哪|时候|隔壁|对面|一起|朋友家|他家|她家|同学家|亲戚家|○|时$|过$|你|心里")
_CITIES = frozenset(
    "北京 上海 广州 深圳 杭州 南京 成都 重庆 武汉 西安 苏州 天津 长沙 郑州 青岛 大连 厦门 宁波 无锡 合肥 福州 济南 昆明 沈阳 哈尔滨 长春 南昌 南宁 贵阳 "
    "太原 石家庄 兰州 海口 三亚 珠海 佛山 东莞 温州 嘉兴 绍兴 扬州 常州 徐州 香港 澳门 台北 东京 大阪 京都 首尔 新加坡 纽约 伦敦 巴黎 柏林 悉尼 多伦多 温哥华 洛杉矶 旧金山".split()
)
_JOBS = (
    rf"[{HAN}A-Za-z]{{0,8}}(?:师|程序员|员|医生|护士|警察|律师|工|学者|作家|画家|歌手|演员|导演|编剧|编辑|记者|司机|厨子|农民|军人|公务员|会计|出纳|翻译|店长|经理|主管|总监|博主|主播|"
    r"作者|老板|销售|运营|产品经理|设计|助理|秘书|顾问|教练|模特|保安|保姆|学生|大学生|研究生|高中生|初中生|小学生|博士生|博士|自由职业者?|全职妈妈|家庭主妇|法官|检察官|飞行员|空姐|店员|码农|牙医|兽医|教授)"
)
_NOT_A_JOB = re.compile(r"的(?:学生|老师)|^(?:好|坏|新|老|小|复|一员|成员|会员|党员|人员|球员|团员|独生)|[老新]员工|你的|他的|她的|成员$|会员$|党员$|团员$|员$(?<!程序员)(?<![服业售公飞演教研职驶递卖检技管操船]..)(?<=^.员)")
_TRAIT = re.compile(r"素食主义者|素食者|左撇子|独生子女?|独生女|夜猫子|路痴|吃货|社恐|社牛|脸盲|色盲|处女座|[IE][NS][TF][JP](?:-[AT])?|[男女](?:生|孩子?|的|人|性)|[ABO]型血|AB型血|早产儿|双胞胎|基督徒|佛教徒|穆斯林|单亲")
_ATTRIBUTES = r"星座|血型|身高|体重|电话|手机号|邮箱|偶像|网名|昵称|英文名|小名|外号|笔名|母语|梦想|座右铭|口头禅|幸运数字|学号|MBTI|微信号?|QQ号?|籍贯|性别|爱豆|本命|车牌号?|鞋码|民族|国籍"
_SURNAMES = "王李张刘陈杨赵吴徐孙胡朱何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛阎余潘杜戴夏钟汪田任姜范谭廖邹陆郝孔崔康邱秦顾侯邵孟龙段雷钱汤尹黎易武乔贺赖龚林周黄"
_NO_FULL_NAME = re.compile(r"苏州|武汉|唐山|夏天|夏季|龙虾|雷锋|程序|任何|任意|余下|易怒|易胖|武术|秦岭|汤圆|孔雀|周[一二三四五六日末边]|林业|黄种|黄金|何时|许多|钱|宋朝|唐朝|田径|康复|孙子|孙女")
_POSSESSION = re.compile(r"自行车|电动车|摩托车|单车|车|房子?|公寓|钢琴|吉他|小提琴|相机|电脑|笔记本|手机|平板|游戏机|滑板|无人机|耳机|手表|项链|戒指|尤克里里|键盘|显卡|帐篷|冲浪板|球拍|琴|鼓|机|表|鞋|包|店|书架|收藏")
_AILMENT = r"[\u4e00-\u9fff]{0,6}(?:炎|病|症|哮喘|高血压|低血压|低血糖|高血糖|近视|散光|贫血|痛风|湿疹|结石|偏头痛|心脏病|糖尿病|癌)"
_SKILL = rf"(?:弹|拉|吹|打|说|讲|写|游|开|做|画|唱|跳|滑|骑|编|修|织|剪|拍|下|踢|烤|包|变)[{HAN}A-Za-z]{{1,8}}|游泳|编程|开车|日语|英语|法语|德语|韩语|粤语|钢琴|书法|魔术|手语|[{HAN}]{{1,3}}(?:语|话|文)"
_HABIT_LEAD = r"每(?:天|晚|周|个?周末|个?月|年|个?星期.?|周.)|天天|经常|常常|习惯|平时都?|通常|一般都?|总是|周末(?:都|总|一般|经常)|睡前(?:都|总|会|习惯)"
_HABITS = r"抽烟|吸烟|熬夜|赖床|吃夜宵|吃早[饭餐]|睡懒觉|午睡|咬指甲|打呼噜?|失眠|健身|跑步|锻炼|运动|化妆"
_BARE_FOODS = "辣|素|香菜|葱|姜|蒜|榴莲|内脏|海鲜|牛肉|羊肉|猪肉|鱼|甜|折耳根|肥肉|生冷"

Handler = Callable[[re.Match[str], datetime], Iterator[Found]]


def number(text: str) -> int | None:
    """A whole number below 1000 in digits or Chinese numerals."""
    if text.isdigit():
        return int(text)
    total, digit = 0, 0
    for char in text.replace("两", "二"):
        if char in _DIGITS:
            digit = _DIGITS.index(char)
        elif char in "十百":
            total += (digit or 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            return None
    return total + digit


def _name(match: re.Match[str], _: datetime) -> Iterator[Found]:
    name = re.sub(r"(?:就好|就行|就可以|即可|好了|吧|了|啦|哦|呀|啊|呢|哈)+$", "", match["name"]).strip(" “”\"")
    if name and not re.match(
        r"外卖|车|滴滴|救护|代驾|快递|闪送|服务|老板|妈|爸|你|他|她|它|大家|人|不|醒|好$|一|两|几|个|什么|啥|闹钟|朋友|同|上|过|了|着|出|得|起|做|我|苦|嚷|这|那|去|来|○", name
    ):
        yield Found(f"叫{name}", "名字", name, single=True)


def _full_name(match: re.Match[str], now: datetime) -> Iterator[Found]:
    if not _NO_FULL_NAME.match(match["name"]):
        yield from _name(match, now)


def _age(match: re.Match[str], _: datetime) -> Iterator[Found]:
    age = number(match["age"])
    if age and 2 < age < 130:
        yield Found(f"{age}岁", "年龄", str(age), single=True)


def _birthday(match: re.Match[str], now: datetime) -> Iterator[Found]:
    day = match.groupdict()
    lunar = "农历" if day.get("lunar") else ""
    month, date = number(day["month"]), number(day["day"])
    if month and date and month <= 12 and date <= 31:
        yield Found(f"生日是{lunar}{month}月{date}日", "生日", f"{lunar}{month}月{date}日", single=True)


def _birthday_today(match: re.Match[str], now: datetime) -> Iterator[Found]:
    yield Found(f"生日是{now.month}月{now.day}日", "生日", f"{now.month}月{now.day}日", single=True)


def _home(match: re.Match[str], _: datetime) -> Iterator[Found]:
    place = _trimmed(re.sub(r"(?:生活|定居|住|安家|这边|那边|这里|工作)$", "", _trimmed(match["place"])))
    if 1 < len(place) <= 16 and not _NOT_A_PLACE.search(place):
        no = "不" if match.groupdict().get("no") else ""
        yield Found(f"{no}住在{place}", "住址", place, -1 if no else 1, single=True)


def _hometown(match: re.Match[str], _: datetime) -> Iterator[Found]:
    place = _trimmed(match["place"])
    odd = r"好|坏|大|男|女|普通|本地|老|病|客|主|成年|现代|年轻|机器|两|一个?|几个|外|个|聪明|懒|善良|内向|外向|穷|有钱|诗|猎|情|爱|家|路|盲|外星|地球|单身|工|军|早起|什么|不|没|哪|中间|当事|负责|上班|打工|第|那|这|过来|念旧|你|素食|新|自己"
    if 1 < len(place) <= 10 and not re.match(rf"(?:{odd})", place) and "的" not in place:
        yield Found(f"是{place}人" if match.groupdict().get("ren") else f"老家在{place}", "家乡", place, single=True)


def _employer(match: re.Match[str], _: datetime) -> Iterator[Found]:
    place = _trimmed(match["place"])
    if not 1 <= len(place) <= 16 or _BAD_TARGET.search(place) or re.search(r"努力|认真|家$|加班|忙", place):
        return
    no = "不" if match.groupdict().get("no") else ""
    keyword = "工作地点" if place in _CITIES else "工作单位"
    yield Found(f"{no}在{place}工作", keyword, place, -1 if no else 1, single=True)
    if job := (match.groupdict().get("job") or ""):
        yield Found(f"{no}在{place}做{job}", "职业", job, -1 if no else 1, single=True)


def _job(match: re.Match[str], _: datetime) -> Iterator[Found]:
    job = _trimmed(match["job"])
    no = bool(match.groupdict().get("no"))
    if job and not _NOT_A_JOB.search(job):
        yield Found(f"{'不再' if no else ''}是{job}", "职业", job, -1 if no else 1, single=True)


def _school(match: re.Match[str], _: datetime) -> Iterator[Found]:
    school = _trimmed(match["school"])
    if 1 < len(school) <= 20 and not re.search(r"家$|那里|这里|图书馆|哪", school):
        yield Found(f"在{school}上学", "学校", school, single=True)
    if major := _trimmed(match.groupdict().get("major") or ""):
        yield from _one("学{}", "专业", major, single=True)


def _pet(match: re.Match[str], _: datetime) -> Iterator[Found]:
    pet, name = match["pet"], _trimmed(match.groupdict().get("name") or "")
    count = match.groupdict().get("count") or "一只"
    if name:
        yield Found(f"的{pet}叫{name}", "宠物", name, relation=True)
    else:
        yield Found(f"养了{count}{match.groupdict().get('kind') or ''}{pet}", "宠物", pet, relation=True)


def _person(match: re.Match[str], _: datetime) -> Iterator[Found]:
    who, name = match["who"], _trimmed(match.groupdict().get("name") or "")
    single = bool(re.fullmatch(PARTNER, who))
    if name and not re.match(r"我|你|他|她|不|什么|啥|大家|○|一个|个|医生|老师|程序员|做|在", name) and len(name) <= 8:
        yield Found(f"的{who}叫{name}", who, name, single=single, relation=True)
    elif not name and match.groupdict().get("have"):
        no = bool(match.groupdict().get("no"))
        count = match.groupdict().get("count") or ""
        yield Found(f"{'没有' if no else '有'}{'' if no else count}{who}", "家人" if not single else "感情状况", who, -1 if no else 1, relation=True)


def _named_person(match: re.Match[str], _: datetime) -> Iterator[Found]:
    who, name = match["who"], match["name"]
    if not re.match(r"我|你|他|她|这|那|谁|不|今天|昨天", name):
        yield Found(f"的{who}叫{name}", who, name, single=bool(re.fullmatch(PARTNER, who)), relation=True)


def _taste(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    disliked, negated = bool(groups.get("dislike")), bool(groups.get("no"))
    verb = groups.get("like") or groups.get("dislike") or ""
    verb = {"爱上": "喜欢", "喜欢上": "喜欢", "喜欢上了": "喜欢", "迷上": "喜欢", "爱好": "喜欢", "烦": "讨厌"}.get(verb, verb)
    consume = groups.get("consume") or ""
    polarity = -1 if disliked != negated else 1
    for target in _targets(groups.get("target") or groups.get("topic") or ""):
        if verb in ("怕", "害怕", "恐惧") and (len(target) > 4 or re.search(r"[不会没被来去]", target)):
            continue
        text = f"{'不' if negated else ''}{verb}{consume}{target}"
        yield Found(text, "喜好", target, polarity)


def _no_eat(match: re.Match[str], _: datetime) -> Iterator[Found]:
    for target in _targets(match["target"]):
        yield Found(f"{match['how'] or '不'}{match['consume']}{target}" if not match["cannot"] else f"{match['consume']}{match['cannot']}{target}", "喜好", target, -1)


def _eat(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"{match['how']}{match['target']}", "喜好", match["target"])


def _interest(match: re.Match[str], _: datetime) -> Iterator[Found]:
    negated = bool(match["no"])
    for target in _targets(match["target"]):
        yield Found(f"对{target}{'没' if negated else '感'}兴趣", "喜好", target, -1 if negated else 1)


def _hobby(match: re.Match[str], _: datetime) -> Iterator[Found]:
    for target in _targets(match["target"]):
        yield Found(f"的爱好是{target}", "喜好", target)


def _favourite(match: re.Match[str], _: datetime) -> Iterator[Found]:
    groups = match.groupdict()
    thing = _trimmed(groups.get("thing") or "")
    for target in _targets(groups["target"])[:1]:
        if groups.get("bad"):
            yield Found(f"最讨厌的{thing}是{target}", "喜好", target, -1)
        elif not groups.get("thing"):
            yield Found(f"最喜欢的颜色是{target}", "最喜欢的颜色", target, single=True)
        elif groups.get("most"):
            yield Found(f"最喜欢的{thing}是{target}", f"最喜欢的{thing}", target, single=True)
        else:
            yield Found(f"喜欢的{thing}是{target}", "喜好", target)


def _fan(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield from _one("是{}的粉丝", "喜好", _trimmed(match["target"]))


def _allergy(match: re.Match[str], _: datetime) -> Iterator[Found]:
    negated = bool(match["no"])
    for target in _targets(match["target"]):
        yield Found(f"对{target}{'不' if negated else ''}过敏", "过敏", target, -1 if negated else 1)


def _health(match: re.Match[str], _: datetime) -> Iterator[Found]:
    negated = bool(match.groupdict().get("no"))
    yield Found(f"{'没有' if negated else '有'}{match['ill']}", "健康", match["ill"], -1 if negated else 1)


def _habit(match: re.Match[str], _: datetime) -> Iterator[Found]:
    habit = _trimmed(match["habit"])
    if 3 < len(habit) <= 24 and not re.search(r"喜欢|讨厌|[吗○]|想你|想起|了$", habit):
        yield Found(habit, "习惯", habit)


def _habit_verb(match: re.Match[str], _: datetime) -> Iterator[Found]:
    verb = match["verb"].replace("吸烟", "抽烟")
    yield Found(f"不{verb}", "习惯", verb, -1)


def _given_up(match: re.Match[str], _: datetime) -> Iterator[Found]:
    what = _trimmed(match["what"])
    verb = {"烟": "抽烟", "酒": "喝酒"}.get(what)
    if verb:
        yield Found(f"戒{what}了，不再{verb}", "习惯", verb, -1)
    elif not _BAD_TARGET.search(what) and 1 <= len(what) <= 8:
        yield Found(f"戒了{what}", "喜好", what, -1)


def _skill(match: re.Match[str], _: datetime) -> Iterator[Found]:
    negated = bool(match["no"])
    yield Found(f"{'不' if negated else ''}会{match['what']}", "技能", match["what"], -1 if negated else 1)


def _learning(match: re.Match[str], _: datetime) -> Iterator[Found]:
    what = _trimmed(match["what"])
    if 1 < len(what) <= 10 and not re.match(r"校|习|会|着", what):
        yield Found(f"在学{what}", "在学", what)


def _possession(match: re.Match[str], _: datetime) -> Iterator[Found]:
    thing = _trimmed(match["thing"])
    if _POSSESSION.search(thing) and len(thing) <= 12:
        yield Found(f"有{match['count']}{thing}", "拥有", thing)


def _status(match: re.Match[str], _: datetime) -> Iterator[Found]:
    status = {"结婚": "结婚", "已婚": "结婚", "领证": "结婚", "成家": "结婚", "脱单": "恋爱", "谈恋爱": "恋爱", "订婚": "订婚", "离婚": "离婚", "分手": "分手"}
    word = next((key for key in status if key in match.group()), "单身")
    negated = bool(match.groupdict().get("no")) and word != "单身"
    target = "单身" if negated else status.get(word, "单身")
    yield Found({"恋爱": "在谈恋爱", "单身": "单身"}.get(target, f"{target}了"), "感情状况", target, single=True)


def _sign(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"是{match['sign']}", "星座", match["sign"], single=True)


def _trait(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"是{match['what']}", "身份", match["what"])


def _measure(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"{match['what']}{match['value']}", match["what"], re.sub(r"\s*(?:cm|厘米|公分|kg|公斤|斤)$", "", match["value"]), single=True)


def _attribute(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield from _one(f"的{match['what']}是{{}}", match["what"], _trimmed(match["value"]), single=True)


def _grade(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield Found(f"读{match['grade']}", "年级", match["grade"], single=True)


def _major(match: re.Match[str], _: datetime) -> Iterator[Found]:
    yield from _one("的专业是{}", "专业", _trimmed(match["major"]), single=True)


def _one(text: str, keyword: str, target: str, *, single: bool = False) -> Iterator[Found]:
    if target and len(target) <= 20 and not _BAD_TARGET.search(target):
        yield Found(text.format(target), keyword, target, single=single)


def _trimmed(text: str) -> str:
    return re.sub(r"(?:得不得了|得要命|得很|死了|极了|得不行|到不行|了|啊|呀|哦|呢|啦|嘛|哈|哟|喔|噢|耶|哇|呐|的|~|～|\s|。)+$", "", text.strip(" 《》“”\"'：:，,"))


def _targets(text: str) -> list[str]:
    """The things of a list (咖啡、茶和可乐), each without particles; pronouns and the like are left out."""
    text = _trimmed(text)
    parts = re.split(r"[、/]|还有|以及", text)
    if not _WHOLE.search(text):
        parts = [piece for part in parts for piece in re.split(r"和|跟|与|或者", part)]
    if any(not _trimmed(part) or _trimmed(part).startswith("的") for part in parts):
        parts = [text]
    targets = [re.sub(r"^(?:一切|所有|各种|那种|这种)?(?:吃|喝)(?=.)", "", _trimmed(part)) for part in parts]
    return [target for target in targets if target and len(target) <= 16 and not _BAD_TARGET.search(target)]


_DATE = rf"(?P<lunar>农历|阴历)?(?:\d{{4}}年)?(?P<month>{_NUMBER})月(?:初)?(?P<day>{_NUMBER})[号日]?"
_COUNT = r"(?P<count>[一二两三四五六七八九十几\d]*[只条个匹头位群对])"
_PETS = rf"(?P<kind>[{HAN}]{{0,4}}?(?:色的?|花|黑|白|橘|短|长毛|小)?)(?P<pet>{PET})"

PATTERNS: tuple[tuple[re.Pattern[str], Handler], ...] = tuple(
    (re.compile(pattern), handler)
    for pattern, handler in (
        (rf"(?:{_HABIT_LEAD}).+", lambda match, now: _habit(re.compile(r"(?P<habit>.+)").fullmatch(match.group()), now)),
        (rf"(?:我的?|的)?(?:名字|大名|全名)(?:是|叫)?(?P<name>[{HAN}A-Za-z·]{{1,10}}){_TAIL}", _name),
        (rf"(?:改名)?(?:叫做|叫作|叫|名叫)(?:我)?(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", _name),
        (rf"(?:(?:大家|朋友们?|别人|同学们?)(?:都)?叫我)(?P<name>[{HAN}A-Za-z·]{{1,6}}){_TAIL}", _name),
        (rf"是(?P<name>[小阿][{HAN}](?<![小学高孩偷白红]))[呀啊哦呢]*", _name),
        (rf"是(?P<name>[{_SURNAMES}][{HAN}]{{1,2}}(?<![生员人座师的控迷粉党家长工手者族性])){_TAIL}", _full_name),
        (rf"改名(?:为|成)(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", _name),
        (rf"(?:满|刚满|刚?过完|刚?过了)?(?P<age>{_NUMBER})周?岁(?:生日)?{_TAIL}", _age),
        (r"(?P<age>\d{2})了", _age),
        (rf"年龄是?(?P<age>{_NUMBER})岁?{_TAIL}", _age),
        (rf"(?:我的?|的)?生日(?:是|在|就是)?{_DATE}{_TAIL}", _birthday),
        (rf"{_DATE}(?:的?生日|过生日|出生的?|生的){_TAIL}", _birthday),
        (rf"(?:是|就是|过)?(?:我的?)?生日{_TAIL}", _birthday_today),
        (rf"(?:(?:和|跟|与)[\u4e00-\u9fff]{1,6}?(?:一起)?)?(?P<no>不|没)?(?:再)?(?:住在?|定居在?|家住在?)(?P<place>.+?){_TAIL}", _home),
        (r"(?:坐标|人在|常住)(?P<place>[\u4e00-\u9fff]{2,8})", _home),
        (r"(?:我)?(?:的)?(?:家|住址|地址|住处)(?:就)?(?:在|是)(?P<place>.+)", _home),
        (rf"(?:搬家|搬|移居|迁居|定居)(?:到|去|来|回)(?:了)?(?P<place>.+?)(?:住|生活|定居)?{_TAIL}", _home),
        (rf"在(?P<place>[{HAN}]{{2,10}})(?:定居|安家|生活){_TAIL}", _home),
        (rf"(?:我的?|的)?(?:老家|家乡|故乡)(?:就)?(?:是|在)(?P<place>.+?){_TAIL}", _hometown),
        (rf"(?:来自|出生在|出生于|生在)(?P<place>.+?){_TAIL}", _hometown),
        (rf"(?:是)?(?:在)(?P<place>[{HAN}]{{2,8}})(?:长大|出生){_TAIL}", _hometown),
        (r"(?:是)?从(?P<place>[\u4e00-\u9fff]{2,8})来的?", _hometown),
        (rf"(?:是)(?:土生土长的|地道的|地地道道的|正宗的?|一个)?(?P<place>[{HAN}]{{2,8}}?)(?P<ren>人){_TAIL}", _hometown),
        (rf"(?:是)?在(?P<school>[{HAN}A-Za-z]{{2,16}}?)(?:上学|读书|念书|上大学|读大学|就读|读研究生|读研|读博|读高中|读本科|念大学|学(?P<major>[{HAN}]{{2,8}})专业){_TAIL}", _school),
        (rf"(?:就读于|考上了?|考进了?|就读|毕业于)(?P<school>[{HAN}A-Za-z]{{2,16}}){_TAIL}", _school),
        (rf"是(?P<school>[{HAN}A-Za-z]{{2,14}}(?:大学|学院|中学|一中|二中|高中|北大|清华))的?(?:学生|大?[一二三四]?学生|研究生|博士生?|本科生){_TAIL}", _school),
        (rf"(?P<no>不|没)?(?:再)?(?:是)?在(?P<place>[^,，]{{1,16}}?)(?:上班|工作|任职|实习|打工|干活|(?:当|做)(?:一名|一个)?(?P<job>{_JOBS})){_TAIL}", _employer),
        (rf"(?:跳槽|入职|加入|换工作|调|调动)(?:到|去|了|进)*(?P<place>[^,，]{{1,16}}?)(?:上班|工作)?{_TAIL}", _employer),
        (rf"(?P<no>不)?(?:再)?(?:是|当|做|成为|当上)了?(?:一名|一个|一位|个|名)?(?P<job>{_JOBS}){_TAIL}", _job),
        (rf"(?:的)?(?:我的)?(?:工作|职业|本职|本行)(?:是)(?:一名|一个|当|做)?(?P<job>[{HAN}A-Za-z]{{2,12}}){_TAIL}", _job),
        (rf"(?:是)?(?:做|搞|干|从事)(?P<job>[{HAN}A-Za-z]{{2,8}}?)(?:的|工作|行业|这一?行){_TAIL}", _job),
        (rf"(?:读|上|念|是)(?P<grade>大[一二三四]|高[一二三]|初[一二三]|研[一二三]|博[一二三四]|小学[一二三四五六]年级|[一二三四五六七八九]年级)(?:的?学生|学生)?{_TAIL}", _grade),
        (rf"(?P<grade>大[一二三四]|高[一二三]|初[一二三]|研[一二三]|博[一二三四])(?:学生)?{_TAIL}", _grade),
        (rf"(?:我的?|的)?专业(?:是|学)?(?P<major>[{HAN}A-Za-z]{{2,12}}){_TAIL}", _major),
        (rf"(?:是)?学(?P<major>[{HAN}]{{2,8}}?)(?:专业)?的", _major),
        (rf"学的(?:专业)?是(?P<major>[{HAN}]{{2,8}}){_TAIL}", _major),
        (rf"(?:我的?|我家的?|我家里的?|家里的?)(?P<pet>{PET})(?:的)?(?:名字)?(?:叫|是|名叫)(?P<name>[{HAN}A-Za-z]{{1,6}}){_TAIL}", _pet),
        (rf"(?:家里?)?(?:又|还)?(?:有|养了?|领养了?|收养了?|买了?)(?:了)?{_COUNT}(?:叫|名叫)(?P<name>[{HAN}A-Za-z]{{1,6}}?)的(?P<pet>{PET}){_TAIL}", _pet),
        (rf"(?:家里?)?(?:又|还)?(?:有|养了?|领养了?|收养了?){_COUNT}?{_PETS}(?:[，,]?(?:名字|它)?叫(?P<name>[{HAN}A-Za-z]{{1,6}}))?{_TAIL}", _pet),
        (rf"我(?:家)?(?:的)?(?P<who>{PERSON})的?(?:名字)?(?:叫|名叫|是叫)(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", _person),
        (rf"我(?:家)?(?:的)?(?P<who>{PERSON})的?名字是(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", _person),
        (rf"(?P<have>有)(?P<count>[一二两三四五六七八九十几\d]*[个位名对])?(?:亲)?(?P<who>{PERSON})(?:叫(?P<name>[{HAN}A-Za-z·]{{1,8}}))?{_TAIL}", _person),
        (rf"(?P<have>(?P<no>没有?))(?P<who>兄弟姐妹|{PERSON}){_TAIL}", _person),
        (rf"有[一]?个叫(?P<name>[{HAN}A-Za-z]{{1,6}}?)的(?P<who>{PERSON}){_TAIL}", _named_person),
        (rf"(?P<who>最)(?P<bad>讨厌|不喜欢)的(?P<thing>[{HAN}]{{1,8}})(?:就)?是(?P<target>.+)", _favourite),
        (rf"(?:我的?|我)?(?P<most>最)(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?P<thing>[{HAN}]{{1,8}}?)(?:变成了?|改成了?|换成了?|就是|是|还是|叫)(?P<target>.+)", _favourite),
        (rf"(?:我)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?P<thing>[{HAN}]{{1,8}}?)(?:就)?是(?P<target>.+)", _favourite),
        (rf"最(?:喜欢|爱)(?P<target>[{HAN}]{{1,3}}色){_TAIL}", _favourite),
        (rf"(?:我的?|的)?(?:兴趣爱好|爱好|兴趣)(?:是|有)(?P<target>.+)", _hobby),
        (rf"(?P<topic>.*?)对(?P<target>[^不没]+?)(?P<no>不|没有?)?(?:严重|有点儿?|会|很|特别)?过敏(?:体质)?{_TAIL}", _allergy),
        (rf"(?P<no>不)对(?P<target>.+?)过敏{_TAIL}", _allergy),
        (rf"(?P<target>[{HAN}]{{1,6}}?)(?P<no>不)?过敏{_TAIL}", _allergy),
        (rf"对(?P<target>.+?)(?:(?P<no>没(?:什么|啥|有|太大)*|不(?:太|怎么|是很)?感|提不起)兴趣|(?:很|特别|非常|挺|蛮|比较|超)?(?:感|有|着迷的?)(?:很大的?)?(?:兴趣)?){_TAIL}", _interest),
        (rf"(?P<no>没)?有(?P<ill>{_AILMENT}){_TAIL}", _health),
        (rf"(?:得了|患有|患了|查出|确诊了?)(?P<ill>{_AILMENT}){_TAIL}", _health),
        (rf"戒(?:掉)?(?:了)?(?P<what>[{HAN}]{{1,6}}?){_TAIL}", _given_up),
        (rf"{_NEGATION}(?P<verb>{_HABITS}){_TAIL}", _habit_verb),
        (rf"(?P<no>不)?会(?P<what>{_SKILL})了?", _skill),
        (rf"(?:在|正在|开始|自学|刚开始|有在)(?:学习|学|自学)(?P<what>[{HAN}A-Za-z]{{2,10}}){_TAIL}", _learning),
        (rf"(?:有|买了|新买了|换了|入手了)(?P<count>[一二两三\d]+[辆台部架把套间栋双条个只块副]?)(?P<thing>.+)", _possession),
        (rf"(?:和|跟)?(?:(?:女|男)朋友|老公|老婆|对象|女友|男友|前任)?(?P<no>没|还没)?(?:单身|已婚|结婚|脱单|离婚|分手|订婚|领证|谈恋爱|成家)(?:狗|贵族|汉|人士)?{_TAIL}", _status),
        (rf"(?:是)(?:一个|单身)?(?:单身狗|单身){_TAIL}", _status),
        (rf"是(?:一个|个)?(?P<sign>[白金双巨狮处天水摩射牡][{HAN}]{{0,2}}座)(?:的)?{_TAIL}", _sign),
        (rf"是(?:一个|个|一名)?(?:典型的|标准的|资深)?(?P<what>{_TRAIT.pattern}){_TAIL}", _trait),
        (r"(?:的)?(?P<what>身高|体重)(?:是|有)?(?P<value>[\d.]+\s*(?:cm|厘米|公分|kg|公斤|斤|米\d*)?)", _measure),
        (rf"(?:我的?|的)(?P<what>{_ATTRIBUTES})(?:是|叫)(?P<value>.+)", _attribute),
        (rf"是(?P<target>[^的]{{1,12}})的?(?:粉丝|铁粉|死忠粉|歌迷|影迷|球迷){_TAIL}", _fan),
        (rf"(?P<how>能|爱|很能|特别能)(?:吃|喝)(?P<target>{_BARE_FOODS}){_TAIL}", lambda match, now: iter([Found(f"{match['how'][-1]}吃{match['target']}", "喜好", match["target"])])),
        (rf"(?P<how>吃)(?P<target>{_BARE_FOODS}){_TAIL}", _eat),
        (rf"(?P<no>{_NEGATION})?(?:最|真|超|特别|很|挺|也|太)*(?P<like>{_LIKE})(?P<consume>吃|喝)?(?P<target>.+)", _taste),
        (rf"(?P<no>{_NEGATION})?(?:最|真|超|特别|很|挺|也|太)*(?P<dislike>{_DISLIKE})(?P<consume>吃|喝)?(?P<target>.+)", _taste),
        (rf"(?P<how>{_NEGATION}(?:能|敢|可以)?|不能|没法|戒掉)(?P<consume>{_CONSUME})(?P<cannot>)(?P<target>.+)", _no_eat),
        (rf"(?P<how>)(?P<consume>{_CONSUME})(?P<cannot>不了|不惯|不来|不得|不下)(?P<target>.+)", _no_eat),
    )
)  # fmt: skip
_TOPIC = re.compile(
    rf"(?:最|真的?|超|特别|很|挺|也|太|都|从来|一直|就|是|可)*(?P<no>{_NEGATION})?(?:最|真|超|特别|很)*(?:(?P<like>{_LIKE})|(?P<dislike>{_DISLIKE}|吃不了|吃不惯|喝不惯|喝不了))(?:吃|喝|看|听|玩)?{_TAIL}"
)
_TOPIC_NO_EAT = re.compile(rf"{_NEGATION}(?:能|敢)?(?P<consume>{_CONSUME}){_TAIL}")


def facts(clause: Clause, now: datetime) -> list[Found]:
    """The facts that ``clause`` states of its subject (none of a clause that is not said in earnest)."""
    if clause.mood != "said" or clause.whose in (OTHER, UNKNOWN):
        return []
    body, _, topic = clause.body.partition("＠")
    if topic:
        return _of_topic(body, topic, now)
    if re.search(r"今[天日晚早晨]|昨|前天|刚才", clause.text[:8]) and re.search(r"不[吃喝抽]|住|没", body):
        return []
    for candidate in dict.fromkeys((clause.text, body) if re.match(rf"我的?(?:家|{PERSON}|{PET})|.*?(?:{_HABIT_LEAD})", clause.text) else (body,)):
        for pattern, handler in PATTERNS:
            if (match := pattern.fullmatch(_after_subject(candidate))) and (found := list(handler(match, now))):
                return found
    return []


def _after_subject(text: str) -> str:
    return re.sub(rf"^我(?={_HABIT_LEAD})|^我(?:自己)?(?=平时|一般|周末|睡前)", "", text)


def _of_topic(body: str, topic: str, now: datetime) -> list[Found]:
    """香菜我受不了: the object comes first."""
    targets = _targets(topic)
    if match := _TOPIC.fullmatch(body):
        polarity = -1 if bool(match["dislike"]) != bool(match["no"]) else 1
        verb = f"{'不' if match['no'] else ''}{match['like'] or match['dislike']}"
        return [Found(f"{verb}{target}", "喜好", target, polarity) for target in targets]
    if match := _TOPIC_NO_EAT.fullmatch(body):
        return [Found(f"不{match['consume']}{target}", "喜好", target, -1) for target in targets]
    return []
