"""The facts that the match of a Chinese pattern states, or none where its parts are not what they seem.

A target is refused if it is a pronoun, a question or a particle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from moechat.rules.clauses_zh import PARTNER
from moechat.rules.fact import BareFact, group, negated, polarity, stating
from moechat.when.names import chinese_number, has_han

_BAD_TARGET = re.compile(
    r"^(?:你|您|他|她|它|这|那|哪|啥|什么|谁|自己$|的|就|了|过|着|得|上(?!班|学|海|网|课)|到|啊|呀|是|也|都|我|不|极|"
    r"死|要死|一下|一点|一些|一个人|人家|来|完|不下|饱|饭|"
    r"来不及|惯|"
    r"聊|说|想|要|因为|和你|跟你|出现|○|意思|问题|事|大家$|别人$|多|少|那么|这么|时|呢)|[?？○]|[我你它]|能让|让人|"
    r"的时候|的话"
)
_ONE_CHAR = frozenset(
    "酒茶猫狗鱼烟辣酸甜苦雨雪冬夏秋春葱姜蒜糖肉奶书歌蛇虫鬼热冷冰海山花素蛋虾蟹藕醋猪羊牛鸡鸭鹅面饭粥钱药汤梨桃橙枣"
)
_WHOLE = re.compile(
    r"温和|平和|和平|和服|和牛(?!奶|肉)|暖和|随和|柔和|共和|和谐|和声|一起|聊天|相处|在一起|玩$|^和|^跟|^与|"
    r"之间|跟踪|跟风|还有我|与众"
)
_NOT_A_PLACE = re.compile(
    r"院|酒店|宾馆|民宿|旅馆|旅店|几天|一晚|那里|这里|那边|这边|哪|时候|隔壁|对面|一起|朋友家|他家|她家|同学家|"
    r"亲戚家|○|时$|过$|你|心里|^老家$|^学校$|^公司$"
)
_CITIES = frozenset(
    "北京 上海 广州 深圳 杭州 南京 成都 重庆 武汉 西安 苏州 天津 长沙 郑州 青岛 大连 厦门 宁波 无锡 合肥 福州 济南 "
    "昆明 沈阳 哈尔滨 长春 南昌 南宁 贵阳 "
    "太原 石家庄 兰州 海口 三亚 珠海 佛山 东莞 温州 嘉兴 绍兴 扬州 常州 徐州 香港 澳门 台北 东京 大阪 京都 首尔 "
    "新加坡 纽约 伦敦 巴黎 柏林 悉尼 多伦多 温哥华 洛杉矶 旧金山".split()
)
_NOT_A_JOB = re.compile(
    r"的(?:学生|老师)|^(?:好|坏|新|老(?!师|板)|小(?!学|说家)|复|一员|人员|独生)|[老新]员工|"
    r"你的|他的|她的|[成会党团队]员$"
)
_NO_FULL_NAME = re.compile(
    r"苏州|武汉|唐山|夏天|夏季|龙虾|雷锋|程序|任何|任意|余下|易怒|易胖|武术|秦岭|汤圆|孔雀|周[一二三四五六日末边]|"
    r"林业|黄种|黄金|何时|许多|钱|宋朝|唐朝|田径|康复|孙子|孙女"
)
_POSSESSION = re.compile(
    r"自行车|电动车|摩托车|单车|车|房子?|公寓|钢琴|吉他|小提琴|相机|电脑|笔记本|手机|平板|游戏机|滑板|无人机|耳机|"
    r"手表|项链|戒指|尤克里里|键盘|显卡|帐篷|冲浪板|球拍|琴|鼓|机|表|鞋|包|店|书架|"
    r"收藏"
)


def name(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    name = re.sub(r"(?:就好|就行|就可以|即可|好了|吧|了|啦|哦|呀|啊|呢|哈)+$", "", match["name"]).strip(' “”"')
    if name and not re.match(
        r"外卖|车|滴滴|救护|代驾|快递|闪送|服务|老板|妈|爸|你|他|她|它|大家|人|不|醒|好$|一|两|几|个|什么|啥|闹钟|"
        r"朋友|同|上|过|了|着|出|得|起|做|我|苦|嚷|这|那|去|来|○",
        name,
    ):
        yield BareFact(f"叫{name}", "名字", name, single=True)


def full_name(match: re.Match[str], now: datetime) -> Iterator[BareFact]:
    if not _NO_FULL_NAME.match(match["name"]):
        yield from name(match, now)


def age(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    age = int(chinese_number(match["age"]) or 0)
    if 2 < age < 130:
        yield BareFact(f"{age}岁", "年龄", str(age), single=True)


def birthday(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    lunar = "农历" if group(match, "lunar") else ""
    month, day = (int(chinese_number(match[part]) or 0) for part in ("month", "day"))
    if month and day and month <= 12 and day <= 31:
        yield BareFact(f"生日是{lunar}{month}月{day}日", "生日", f"{lunar}{month}月{day}日", single=True)


def birthday_today(_: re.Match[str], now: datetime) -> Iterator[BareFact]:
    yield BareFact(f"生日是{now.month}月{now.day}日", "生日", f"{now.month}月{now.day}日", single=True)


def home(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    place = _trimmed(re.sub(r"(?:生活|定居|住|安家|这边|那边|这里|工作)$", "", _trimmed(match["place"])))
    if 1 < len(place) <= 16 and not _NOT_A_PLACE.search(place):
        yield BareFact(f"{_not(match)}住在{place}", "住址", place, polarity(match), single=True)


_NOT_A_HOMETOWN = re.compile(
    r"好|坏|大|男|女|普通|本地|老|病|客|主|成年|现代|年轻|机器|两|一个?|几个|外|个|聪明|懒|善良|内向|外向|穷|"
    r"有钱|诗|猎|情|爱|家|路|盲|外星|地球|单身|工|军|早起|什么|不|没|哪|"
    r"中间|当事|负责|上班|打工|第|那|这|过来|念旧|你|素食|新|自己"
)


def hometown(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    place = _trimmed(match["place"])
    if 1 < len(place) <= 10 and not _NOT_A_HOMETOWN.match(place) and "的" not in place:
        text = f"是{place}人" if group(match, "ren") else f"老家在{place}"
        yield BareFact(text, "家乡", place, single=True)


_NOT_AN_EMPLOYER = re.compile(r"努力|认真|家里?$|加班|忙|考虑|了解|一起|方面|哪|一直|外面|线上|晚上|白天|周末|想")


def employer(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    place = _trimmed(match["place"])
    if not 1 <= len(place) <= 16 or _BAD_TARGET.search(place) or _NOT_AN_EMPLOYER.search(place):
        return
    keyword = "工作地点" if place in _CITIES else "工作单位"
    yield BareFact(f"{_not(match)}在{place}工作", keyword, place, polarity(match), single=True)
    if job := group(match, "job"):
        yield BareFact(f"{_not(match)}在{place}做{job}", "职业", job, polarity(match), single=True)


def job(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    job = _trimmed(match["job"])
    if job and not _NOT_A_JOB.search(job):
        verb = group(match, "verb") or "是"  # 做插画的: the user does it, and is no 插画
        text = f"{'不再' if negated(match) else ''}{verb}{job}"
        yield BareFact(text, "职业", job, polarity(match), single=True)


def school(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    school = _trimmed(match["school"])
    if 1 < len(school) <= 20 and not re.search(r"家$|那里|这里|图书馆|哪", school):
        yield BareFact(f"在{school}上学", "学校", school, single=True)
    if major := _trimmed(group(match, "major")):
        yield from _one("学{}", "专业", major, single=True)


def pet(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    pet = match["pet"]
    if name := _trimmed(group(match, "name")):
        yield BareFact(f"的{pet}叫{name}", "宠物", name, relation=True)
    else:
        count = group(match, "count") or "一只"
        yield BareFact(f"养了{count}{group(match, 'kind')}{pet}", "宠物", pet, relation=True)


_NOT_A_PERSONS_NAME = re.compile(r"我|你|他|她|不|什么|啥|大家|○|一个|个|医生|老师|程序员|做|在")


def person(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    who, name = match["who"], _trimmed(group(match, "name"))
    partner = bool(re.fullmatch(PARTNER, who))
    if name:
        if len(name) <= 8 and not _NOT_A_PERSONS_NAME.match(name):
            yield BareFact(f"的{who}叫{name}", who, name, single=partner, relation=True)
    elif group(match, "have"):
        text = f"没有{who}" if negated(match) else f"有{group(match, 'count')}{who}"
        yield BareFact(text, "感情状况" if partner else "家人", who, polarity(match), relation=True)


def named_person(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    who, name = match["who"], match["name"]
    if not re.match(r"我|你|他|她|这|那|谁|不|今天|昨天", name):
        yield BareFact(f"的{who}叫{name}", who, name, single=bool(re.fullmatch(PARTNER, who)), relation=True)


_PLAIN_VERBS = {
    "爱上": "喜欢", "喜欢上": "喜欢", "喜欢上了": "喜欢", "迷上": "喜欢", "爱好": "喜欢", "烦": "讨厌",
}  # fmt: skip


def taste(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = group(match, "like") or group(match, "dislike")
    verb = _PLAIN_VERBS.get(verb, verb)
    sense = -polarity(match) if group(match, "dislike") else polarity(match)
    for target in targets(match["target"]):
        if verb in ("怕", "害怕", "恐惧") and (len(target) > 4 or re.search(r"[不会没被来去]", target)):
            continue
        yield BareFact(f"{_not(match)}{verb}{group(match, 'consume')}{target}", "喜好", target, sense)


def no_eat(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    how, consume, cannot = match["how"] or "不", match["consume"], match["cannot"]
    for target in targets(match["target"]):
        yield BareFact(f"{consume}{cannot}{target}" if cannot else f"{how}{consume}{target}", "喜好", target, -1)


eat = stating("{how}{target}", "喜好", "{target}")


def interest(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for target in targets(match["target"]):
        yield BareFact(f"对{target}{'没' if negated(match) else '感'}兴趣", "喜好", target, polarity(match))


def hobby(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for target in targets(match["target"]):
        yield BareFact(f"的爱好是{target}", "喜好", target)


def favourite(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    thing = _trimmed(group(match, "thing"))
    for target in targets(match["target"])[:1]:
        if group(match, "bad"):
            yield BareFact(f"最讨厌的{thing}是{target}", "喜好", target, -1)
        elif not group(match, "thing"):
            yield BareFact(f"最喜欢的颜色是{target}", "最喜欢的颜色", target, single=True)
        elif group(match, "most"):
            yield BareFact(f"最喜欢的{thing}是{target}", f"最喜欢的{thing}", target, single=True)
        else:
            yield BareFact(f"喜欢的{thing}是{target}", "喜好", target)


def fan(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield from _one("是{}的粉丝", "喜好", _trimmed(match["target"]))


def allergy(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    for target in targets(match["target"]):
        yield BareFact(f"对{target}{_not(match)}过敏", "过敏", target, polarity(match))


def health(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield BareFact(f"{'没有' if negated(match) else '有'}{match['ill']}", "健康", match["ill"], polarity(match))


def habit(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    habit = _trimmed(match["habit"])
    if 3 < len(habit) <= 24 and not re.search(r"喜欢|讨厌|觉得|感到|感觉|期待|担心|[吗○]|想你|想起|了$", habit):
        yield BareFact(habit, "习惯", habit)


def no_habit(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    verb = match["verb"].replace("吸烟", "抽烟")
    yield BareFact(f"不{verb}", "习惯", verb, -1)


def given_up(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    what = _trimmed(match["what"])
    if verb := {"烟": "抽烟", "酒": "喝酒"}.get(what):
        yield BareFact(f"戒{what}了，不再{verb}", "习惯", verb, -1)
    elif _is_thing(what) and len(what) <= 8:
        yield BareFact(f"戒了{what}", "喜好", what, -1)


def skill(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield BareFact(f"{_not(match)}会{match['what']}", "技能", match["what"], polarity(match))


def learning(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    what = re.sub(r"^(?:如何|怎么|怎样)", "", _trimmed(match["what"]))
    if 1 < len(what) <= 10 and not re.match(r"校|习|会|着|一[门种个项]|新", what):
        yield BareFact(f"在学{what}", "在学", what)


def possession(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    thing = _trimmed(match["thing"])
    if _POSSESSION.search(thing) and len(thing) <= 12:
        yield BareFact(f"有{match['count']}{thing}", "拥有", thing)


_STATUS = {
    "结婚": "结婚", "已婚": "结婚", "领证": "结婚", "成家": "结婚", "脱单": "恋爱", "谈恋爱": "恋爱", "订婚": "订婚",
    "离婚": "离婚", "分手": "分手",
}  # fmt: skip


def status(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    change = next((status for word, status in _STATUS.items() if word in match.group()), "单身")
    status = "单身" if negated(match) else change
    text = {"恋爱": "在谈恋爱", "单身": "单身"}.get(status, f"{status}了")
    yield BareFact(text, "感情状况", status, single=True)


def measure(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    value = re.sub(r"\s*(?:cm|厘米|公分|kg|公斤|斤)$", "", match["value"])
    yield BareFact(f"{match['what']}{match['value']}", match["what"], value, single=True)


def attribute(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield from _one(f"的{match['what']}是{{}}", match["what"], _trimmed(match["value"]), single=True)


def major(match: re.Match[str], _: datetime) -> Iterator[BareFact]:
    yield from _one("的专业是{}", "专业", _trimmed(match["major"]), single=True)


sign = stating("是{sign}", "星座", "{sign}", single=True)
trait = stating("是{what}", "身份", "{what}")
grade = stating("读{grade}", "年级", "{grade}", single=True)


def _not(match: re.Match[str]) -> str:
    return "不" if negated(match) else ""


def _one(text: str, keyword: str, target: str, *, single: bool = False) -> Iterator[BareFact]:
    if _is_thing(target) and len(target) <= 20:
        yield BareFact(text.format(target), keyword, target, single=single)


def _trimmed(text: str) -> str:
    return re.sub(
        r"(?:得不得了|得要命|得很|死了|极了|得不行|到不行|了|啊|呀|哦|呢|啦|嘛|哈|哟|喔|噢|耶|哇|呐|的|~|～|\s|。)+$",
        "",
        text.strip(" 《》“”\"'：:，,"),
    )


def targets(text: str) -> list[str]:
    """The things of a list (咖啡、茶和可乐), each without particles; pronouns and the like are left out."""
    text = _trimmed(text)
    parts = re.split(r"[、/]|还有|以及", text)
    if re.match(r"在|用|为|把|给|对|从", text):
        parts = [text]
    elif not _WHOLE.search(text):
        parts = [piece for part in parts for piece in re.split(r"和|跟|与|或者", part)]
    if any(not _trimmed(part) or _trimmed(part).startswith("的") for part in parts):
        parts = [text]
    if _BAD_TARGET.search(_trimmed(parts[0])):  # 它的团结和力量: the rest hangs on what is not known
        return []
    targets = [re.sub(r"^(?:一切|所有|各种|那种|这种)?(?:吃|喝)(?=.)", "", _trimmed(part)) for part in parts]
    return [target for target in targets if _is_thing(target) and len(target) <= 16]


def _is_thing(text: str) -> bool:
    return bool(text) and not _BAD_TARGET.search(text) and (len(text) > 1 or not has_han(text) or text in _ONE_CHAR)
