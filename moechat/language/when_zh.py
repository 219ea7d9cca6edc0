"""Chinese time words, as tables and patterns, read into pieces. Traditional forms are read through a table of characters."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from moechat.language import distances as d
from moechat.language import periods as p
from moechat.language.calendar import SOLAR_TERMS, holiday, lunar_day, lunar_month
from moechat.language.expression import Grammar
from moechat.language.periods import Context, Period, Piece

_TRADITIONAL = "週個這禮幾剛時間點鐘國慶節陣兩後號從歲麼們說裡裏農曆歷陽陰臘閏聖誕勞動開內過來還記會將準備計劃學當現於給談講問嗎誰為纔經離連長閒親婦兒愛雙億萬滿穀種處霜驚蟄頭齡聯歡話餅樓線員階層課難總習慣買賣寫讀見與"
_SIMPLIFIED = "周个这礼几刚时间点钟国庆节阵两后号从岁么们说里里农历历阳阴腊闰圣诞劳动开内过来还记会将准备计划学当现于给谈讲问吗谁为才经离连长闲亲妇儿爱双亿万满谷种处霜惊蛰头龄联欢话饼楼线员阶层课难总习惯买卖写读见与"
_PLAIN = str.maketrans(_TRADITIONAL + "０１２３４５６７８９：－～／．　", _SIMPLIFIED + "0123456789:-~/. ")

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2, "正": 1, "元": 1}
_UNITS = {"十": 10, "百": 100, "千": 1000}

REL_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
REL_YEARS = {"大前": -3, "前": -2, "去": -1, "旧": -1, "头": -1, "上": -1, "今": 0, "本": 0, "明": 1, "来": 1, "下": 1, "后": 2, "大后": 3}
WEEKDAYS = {c: i for i, c in enumerate("一二三四五六日")} | {"天": 6} | {str(i + 1): i for i in range(7)}

# Hours of the parts of the day, from and to; past 24 is the next morning.
PARTS = {
    "凌晨": (0, 5), "拂晓": (4, 6), "清晨": (5, 8), "清早": (5, 8), "大清早": (5, 8), "一大早": (5, 8), "早晨": (6, 10), "早上": (6, 10),
    "大早上": (6, 10), "晨": (6, 10), "早": (6, 10), "上午": (7, 12), "中午": (12, 14), "正午": (12, 14), "大中午": (12, 14),
    "午后": (13, 18), "下午": (13, 18), "傍晚": (17, 19), "黄昏": (17, 19), "晚上": (18, 24), "晚间": (18, 24), "大晚上": (18, 24),
    "晚": (18, 24), "夜晚": (18, 24), "夜里": (20, 24), "夜间": (20, 24), "夜": (20, 24), "深夜": (23, 29), "午夜": (23, 29),
    "半夜": (23, 29), "大半夜": (23, 29), "晚凌晨": (24, 29), "晚上凌晨": (24, 29), "晚半夜": (23, 29), "晚上半夜": (23, 29), "晚深夜": (23, 29),
}  # fmt: skip

# First month and length in months; the winter of a year is the one that begins in its December.
SEASONS = {"春": (3, 3), "夏": (6, 3), "秋": (9, 3), "冬": (12, 3), "暑假": (7, 2)}
YEAR_PARTS = {"初": (1, 3), "中": (6, 2), "底": (11, 2), "末": (11, 2), "尾": (11, 2), "上半": (1, 6), "下半": (7, 6), "前半": (1, 6), "后半": (7, 6)}
MONTH_PARTS = {"初": (1, 10), "中": (11, 20), "底": (21, 31), "末": (21, 31), "尾": (21, 31), "上旬": (1, 10), "中旬": (11, 20), "下旬": (21, 31)}

# Names of the festivals of ``calendar.FESTIVALS``, by how people call them.
FESTIVAL_NAMES = {
    "元旦": "元旦", "新年": "元旦", "阳历年": "元旦", "情人节": "情人节", "三八妇女": "妇女节", "妇女节": "妇女节", "三八节": "妇女节", "女神节": "妇女节",
    "植树节": "植树节", "白色情人节": "白色情人节", "愚人节": "愚人节", "五一": "劳动节", "51劳动": "劳动节", "劳动节": "劳动节", "五四青年": "青年节",
    "五四": "青年节", "青年节": "青年节", "六一儿童": "儿童节", "六一": "儿童节", "儿童节": "儿童节", "618": "618", "520": "520", "六一八": "618", "建党节": "建党节",
    "八一建军": "建军节", "建军节": "建军节", "教师节": "教师节", "十一国庆": "国庆", "国庆": "国庆", "万圣夜": "万圣夜", "万圣节前夜": "万圣夜",
    "万圣节": "万圣节", "双十一": "双十一", "双11": "双十一", "光棍节": "双十一", "双十二": "双十二", "双12": "双十二", "平安夜": "平安夜",
    "圣诞前夜": "平安夜", "圣诞": "圣诞", "跨年": "跨年", "母亲节": "母亲节", "父亲节": "父亲节", "感恩节": "感恩节", "复活节": "复活节", "除夕": "除夕",
    "大年夜": "除夕", "年三十": "除夕", "大年三十": "除夕", "春节": "春节", "过年": "春节", "元宵": "元宵", "上元节": "元宵", "龙抬头": "龙抬头", "端午": "端午",
    "七夕": "七夕", "乞巧节": "七夕", "中元": "中元", "中秋": "中秋", "八月十五": "中秋", "八月半": "中秋", "重阳": "重阳", "腊八": "腊八", "小年": "小年",
    **{term: term for term in SOLAR_TERMS if term not in ("小雪", "大雪", "雨水", "小满", "白露", "大寒", "谷雨")},
}  # fmt: skip

# Vague words: (key in WIDTHS, days that the word leaves out before now: 0 reaches to the present, 1 ends with yesterday).
VAGUE = {
    "刚才": ("刚才", 0), "刚刚": ("刚才", 0), "方才": ("刚才", 0), "不久前": ("最近", 0), "前不久": ("最近", 0), "不久之前": ("最近", 0),
    "最近": ("最近", 0), "近来": ("最近", 0), "近期": ("最近", 0), "近日": ("最近", 0), "前两天": ("前两天", 1), "前天和昨天": ("前两天", 1),
    "前几天": ("前几天", 1), "前些天": ("前几天", 1), "前几日": ("前几天", 1), "头几天": ("前几天", 1), "前些日子": ("前阵子", 1), "那阵子": ("前阵子", 1),
    "这两天": ("这两天", 0), "这几天": ("这几天", 0), "这些天": ("这几天", 0), "近几天": ("这几天", 0), "这几日": ("这几天", 0), "这一阵": ("这阵子", 0),
    "这阵子": ("这阵子", 0), "这一阵子": ("这阵子", 0), "这阵": ("这阵子", 0), "这段时间": ("这阵子", 0), "这段日子": ("这阵子", 0), "这些日子": ("这阵子", 0),
    "前阵子": ("前阵子", 1), "前一阵子": ("前阵子", 1), "前一阵": ("前阵子", 1), "前段时间": ("前阵子", 1), "前一段时间": ("前阵子", 1),
    "前段日子": ("前阵子", 1), "上次": ("上次", 0), "上一次": ("上次", 0), "上回": ("上次", 0), "前几周": ("前几周", 1), "前几个星期": ("前几周", 1),
    "这几周": ("前几周", 0), "前几个月": ("前几个月", 1), "这几个月": ("前几个月", 0), "前几年": ("前几年", 1), "这几年": ("前几年", 0), "近几年": ("前几年", 0),
    "前两年": ("前两年", 1), "这两年": ("前两年", 0), "近两年": ("前两年", 0), "前两个月": ("前两个月", 1), "前两周": ("前两周", 1),
}  # fmt: skip

_UNIT_NAMES = {
    "秒钟": "second", "秒": "second", "分钟": "minute", "刻钟": "quarter", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周末": "weekend", "周": "week",
    "星期": "week", "礼拜": "week", "月": "month", "季度": "season", "年": "year", "世纪": "century",
}  # fmt: skip
_SCALE = {"quarter": ("minute", 15), "season": ("month", 3), "century": ("year", 100)}

# Words that look like times. What they cover is read no further.
NOT_TIMES = "|".join((
    r"《[^》]{1,30}》", r"每(?:一)?(?:逢|到|当|隔)?[^，。！？,.!?\s]{0,2}?(?:周|星期|礼拜)(?:[一二三四五六日天末][早晚上下中午]*)?", r"每个?(?:月|年|季度)(?:初|底|\d{1,2}[日号])?",
    r"(?:每[一]?天|天天|平时|通常|一般|经常|常常|总是|往往|有时候?)(?:都在|都|是|在)?(?:大?早[上晨]?|晚上|上午|中午|下午|夜里|半夜|深夜|凌晨|傍晚)?",
    r"每[早晚](?:上)?", r"[早晚中][上午](?:好|安)", r"[上下]午好", r"一天到晚", r"从早到晚", r"一早一晚", r"三天打鱼", r"两天晒网", r"五月天", r"二月红", r"八月长安", r"日复一日|年复一年",
    r"(?<![周期拜])[一二三四五六七八九十百两几半整\d]{1,4}个?(?:早上|晚上|上午|下午|中午|夜晚|春秋|寒暑)", r"整个?(?:晚上|上午|下午|夜)", r"[一二两三\d]点(?:点|都|也|儿|没|不|就|建议|意见|要求|原因|看法|想法|问题|内容|理由|启发|感想|体会|用|希望|办法|线索|信心|区别|变化|好处|坏处|优势)",
    r"(?:有|差|快|早|晚|慢|多|少|大|小|高|低|好|轻)一?点", r"[四五六七八九十](?:点(?:建议|意见|要求|原因|看法|想法|问题|内容|理由|用|不))",
    r"先天后天|后天(?:努力|培养|形成|养成|习得|性)", r"第[一二三四五六七八九十\d]+(?:次|个|名|章|集|季|届|回|遍)(?!度|星期|礼拜|周|月|天)", r"(?:春节|元旦|跨年|元宵|中秋|国庆)(?:联欢)?(?:晚会|快乐|档|红包)|春晚",
    r"(?:\d+|[一二三四五六七八九十]+)号(?:线|楼|房|店|馆|院|桌|车|位|码|公寓|球|机|门|厅|台|选手|员|床|教学|食堂|公路|仓|柜|窗|井|坑|种子)", r"[A-Za-z]\d+号|\d+号[A-Za-z]",
    r"一年四季|四季(?!度)|春夏秋冬|春秋", r"(?:喜欢|最爱|爱|讨厌|怕|叫|名叫|像|一到|每到|到了)(?:春|夏|秋|冬)(?:天|季)?", r"(?:春|夏|秋|冬)(?:天|季)?(?:真|好|很|太|最|总是?|一般|就是|的(?:味道|感觉|衣服|风|海|夜晚|雨|阳光))",
    r"(?:冬|夏|春|秋)(?:瓜|令营|装|衣|菜|游|卷|笋|枣|葵|眠)", r"中秋月饼|元宵(?:馅|汤圆)|(?:吃|煮|做|包|买)元宵|清明上河图|端午粽", r"月(?:饼|亮|光|球|薪|经|嫂|子|台|票|卡)", r"上(?:年纪|月球)",
    r"(?:属|过|庆祝|祝你?)(?:节日|生日)快乐|生日快乐|新年(?:好|快乐)|圣诞(?:快乐|老人|树|歌|帽|袜)|(?:中秋|国庆|端午|七夕|元宵|情人)节?快乐", r"新年(?:愿望|礼物|计划)",
    r"[今明]年?(?:都|已经|刚|刚满|才|快|就|满|是|正好)?(?:\d{1,3}|[一二三四五六七八九十百]{1,4}|几|多少)(?:周?岁|多岁|了(?!解))", r"今年多大", r"(?:周|星期|礼拜)几", r"[一二三四五六日]?周(?:年|岁|边|围|长|刊|报|转|到|杰|迅|星|华|润|深|游|折|遭|末愉快|末快乐)",
    r"\d+(?:\.\d+)?(?:元|块|斤|米|公里|分(?!钟|之|前)|个(?!半|小时|月|星期|礼拜|季|钟)|次|岁|人|本|条|页|度|%|％|kg|km|cm)",
    r"(?:目|从|以|之|日|空|史)前天天|目前天气|之后天|以后天|然后天|最后天|午后天|雨后天",
    r"(?<=[是有在爱恨等盼])那?一天(?!前|后)|有朝一日|某[天日]|哪[天日年]", r"一时|十三点|百日|千年|万年|百年",
))  # fmt: skip

_N = r"(?:\d{1,5}(?:\.\d)?|[零一二两俩三四五六七八九十百千]{1,6})"
_UNIT = r"(?:秒钟?|分钟|刻钟|个?半?小时|个?半?钟头|天|日|个?周末|个?半?(?:星期|礼拜)|周|个?半?(?<=[个半两俩几多])月|个?季度|年|个?世纪)"
_WEEK = r"(?:周|星期|礼拜)"
_MONTH = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九元])"
_DAYNUM = r"(?:3[01]|[12]\d|0?[1-9]|三十一?|二十[一二三四五六七八九]?|廿[一二三四五六七八九]?|十[一二三四五六七八九]?|[一二三四五六七八九])"
_LUNAR_DAY = r"(?:初[一二三四五六七八九十]|十[一二三四五六七八九]|二十[一二三四五六七八九]?|廿[一二三四五六七八九]?|三十|十)"
_NOT_ONE = r"(?![起直些样共定次个天下度年月般切边半向]|点(?!半|多|钟|\d))"
_FOLLOWS_YEAR = r"(?=的?(?:\d{1,2}月|[一二三四五六七八九十]{1,2}月|[春夏秋冬][天季]?|暑假|寒假|年?[初底中末]|[上下]半年|国庆|五一|春节|中秋|元旦|端午|除夕|七夕|圣诞|第[一二三四]季度))"
_HOLIDAY = r"(?:的?(?:假期|长假|小长假|黄金周|期间|那几天|那些天|这几天|那段时间|放假|假))"


def number(text: str) -> float:
    """Value of Arabic or Chinese digits (二十一, 两百, 二〇二三); no digits are 0."""
    if text.replace(".", "", 1).isdigit() and text.isascii():
        return float(text)
    if len(text) > 1 and not any(c in _UNITS for c in text):
        return float("".join(str(_DIGITS.get(c, 0)) for c in text))
    total, current = 0, 0
    for c in text.replace("廿", "二十"):
        if c in _UNITS:
            total += (current or 1) * _UNITS[c]
            current = 0
        else:
            current = _DIGITS.get(c, 0)
    return float(total + current)


def _ups(text: str, *, base: int = 0) -> int:
    """上 -1, 上上 -2, 这 0, 下 1."""
    return text.count("下") - text.count("上") - text.count("前") + base


Match = re.Match[str]
Maker = Callable[[Match, Context], list[Piece]]


def _piece(found: Match, rank: float, **what: object) -> Piece:
    return Piece(found.span(), rank, **what)  # type: ignore[arg-type]


def _relative_day(found: Match, ctx: Context) -> list[Piece]:
    word = found["rday"]
    ahead = REL_DAYS[word]
    today = ctx.today
    if word == "今" and found["rpart"] in ("晚", "夜") and ctx.now.hour < 5 and ctx.use == "recall":
        ahead = -1  # 今晚, said after midnight, is the evening that is not over
    fixed = p.day(today + ahead * p.DAY)
    same = p.same_day(today) if ahead == 0 else None
    return [_piece(found, 4, fixed=fixed, within=same, forward=ahead > 0)]


def _relative_week(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 5, fixed=p.week(ctx.now, _ups(found["rweek"])))]


def _weekday(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 3.9, within=p.in_weeks(WEEKDAYS[found.group()[-1]]), cycle="week")]


def _weekend(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4.5, within=p.in_weeks(5, 2, "weekend"), cycle="week")]


def _relative_weekend(found: Match, ctx: Context) -> list[Piece]:
    week = p.week(ctx.now, _ups(found["rwend"]))
    return [_piece(found, 4.5, fixed=p.day(week.start + 5 * p.DAY, 2, "weekend"))]


def _relative_month(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 6, fixed=p.month(ctx.now, _ups(found["rmonth"])))]


def _relative_year(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 8, fixed=p.year(ctx.now.year + REL_YEARS[found["ryear"]]))]


def _year(found: Match, ctx: Context) -> list[Piece]:
    value = int(number(re.sub(r"[年\s]", "", found.group())))
    if value < 100:
        value += 2000 if value <= ctx.now.year % 100 + 10 else 1900
    return [_piece(found, 8, fixed=p.year(value))]


def _decade(found: Match, ctx: Context) -> list[Piece]:
    tens = int(number(found["decade"]))
    start = 2000 + tens if tens in (0, 10, 20) and not found.group().startswith(("上", "二十世", "20世")) else 1900 + tens
    return [_piece(found, 9, fixed=p.year(start, 10))]


def _year_part(found: Match, ctx: Context) -> list[Piece]:
    first, count = YEAR_PARTS[found.group().strip("年")]
    unit = "season" if count < 6 else "range"
    return [_piece(found, 7, within=p.in_years(lambda y: p.months(y, first, count, unit)), cycle="year")]


def _quarter(found: Match, ctx: Context) -> list[Piece]:
    first = int(number(found["quarter"] or found["q"])) * 3 - 2
    return [_piece(found, 7, within=p.in_years(lambda y: p.months(y, first, 3, "season")), cycle="year")]


def _relative_quarter(found: Match, ctx: Context) -> list[Piece]:
    y, m = p.month_after(ctx.now.year, (ctx.now.month - 1) // 3 * 3 + 1, 3 * _ups(found["rquarter"]))
    return [_piece(found, 7, fixed=p.months(y, m, 3, "season"))]


def _season(found: Match, ctx: Context) -> list[Piece]:
    first, count = SEASONS[found.group() if found.group() == "暑假" else found.group()[0]]
    return [_piece(found, 7, within=p.in_years(lambda y: p.months(y, first, count, "season")), cycle="year")]


def _winter_break(found: Match, ctx: Context) -> list[Piece]:
    """寒假: from two weeks and a half before 春节 to two weeks and a half after it."""

    def make(y: int) -> Period | None:
        new_year = lunar_day(y, 1, 1)
        start = p.on(new_year).start if new_year else None
        return Period(start - 18 * p.DAY, start + 18 * p.DAY, "season") if start else None

    return [_piece(found, 7, within=p.in_years(make), cycle="year")]


def _month(found: Match, ctx: Context) -> list[Piece]:
    value = int(number(found["month"]))
    return [_piece(found, 6, within=p.in_years(lambda y: p.months(y, value)), cycle="year")]


def _month_part(found: Match, ctx: Context) -> list[Piece]:
    first, last = MONTH_PARTS[found.group().strip("月")]
    return [_piece(found, 5.5, within=p.part_of_month(first, last), cycle="month")]


def _month_day(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4, within=p.day_of_month(int(number(found["dom"]))), cycle="month")]


def _month_date(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4, within=p.day_of_month(int(number(found["mdom"] or found["mbare"]))), cycle="month")]


def _before_dash(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4, within=p.day_of_month(int(number(found["dash"]))), cycle="month")]


def _date(found: Match, ctx: Context) -> list[Piece]:
    y, m, d = (int(found[name] or 0) for name in ("iy", "im", "id"))
    if not 1 <= m <= 12 or d > 31:
        return []
    if not d:
        return [_piece(found, 6, fixed=p.months(y, m))]
    first = p.months(y, m)
    fixed = p.day(first.start + (d - 1) * p.DAY)
    return [_piece(found, 4, fixed=fixed)] if fixed.stop <= first.stop else []


def _short_date(found: Match, ctx: Context) -> list[Piece]:
    m, d = int(found["sm"]), int(found["sd"])
    if not 1 <= m <= 12 or not 1 <= d <= 31:
        return []

    def make(y: int) -> Period | None:
        whole = p.months(y, m)
        day = p.day(whole.start + (d - 1) * p.DAY)
        return day if day.stop <= whole.stop else None

    return [_piece(found, 4, within=p.in_years(make), cycle="year")]


def _lunar(found: Match, month: int, word: str | None, leap: bool = False) -> list[Piece]:
    day = int(number(word.lstrip("初"))) if word else 0

    def make(y: int) -> Period | None:
        if day:
            at = lunar_day(y, month, day, leap=leap)
            return p.on(at) if at else None
        whole = lunar_month(y, month, leap=leap)
        return p.day(p.on(whole[0]).start, whole[1], "month") if whole else None

    return [_piece(found, 4 if day else 6, within=p.in_lunar_years(make), cycle="year")]


_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}


def _lunar_date(found: Match, ctx: Context) -> list[Piece]:
    word = found["lmonth"]
    return _lunar(found, _LUNAR_MONTHS.get(word) or int(number(word)), found["lday"], bool(found["leap"]))


def _lunar_short(found: Match, ctx: Context) -> list[Piece]:
    if found["newday"] or found["newday2"]:
        return _lunar(found, 1, found["newday"] or found["newday2"])
    if found["nmonth"]:
        return _lunar(found, int(number(found["nmonth"])), found["nday"])
    return _lunar(found, _LUNAR_MONTHS[found["smonth"]], found["sday"])


def _festival(found: Match, ctx: Context) -> list[Piece]:
    name = FESTIVAL_NAMES[found["fname"]]
    days = p.festival(name)
    whole = bool(found["fwhole"]) or found["fname"] == "过年"
    if not whole:
        return [_piece(found, 4, within=days, cycle="year", holiday=name)]

    def within(period: Period):  # type: ignore[no-untyped-def]
        for day in days(period):
            first, last = holiday(name, day.start.date())
            yield Period(p.on(first).start, p.on(last).stop, "range")

    return [_piece(found, 4, within=within, cycle="year", holiday=name)]


def _part(found: Match, ctx: Context) -> list[Piece]:
    festive = found["part"] == "夜" and found.string[found.start() - 1] in "夕秋节宵"
    first, last = PARTS["晚" if festive else found["part"]]
    return [_piece(found, 3, within=p.in_days(first, last), cycle="day")]


def _clock(found: Match, ctx: Context) -> list[Piece]:
    text = found.group()
    prefix = "b" if found["bhour"] else "c"
    hour = int(number(found[prefix + "hour"]))
    minute: int | None = None
    if found[prefix + "half"]:
        minute = 30
    elif found[prefix + "quarter"]:
        minute = 15 * int(number(found[prefix + "quarter"]))
    elif found[prefix + "minute"]:
        minute = int(number(found[prefix + "minute"]))
    if hour > 24 or (minute or 0) > 59:
        return []
    return [_piece(found, 2, within=p.clock(hour, minute, exact=hour > 12 or text[0] == "0"), cycle="day")]


def _digital(found: Match, ctx: Context) -> list[Piece]:
    hour, minute = int(found["dhour"]), int(found["dminute"])
    if hour > 23 or minute > 59:
        return []
    return [_piece(found, 2, within=p.clock(hour, minute, exact=hour > 12 or hour < 7), cycle="day")]


def _vague(found: Match, ctx: Context) -> list[Piece]:
    key, left_out = VAGUE[found.group()]
    return [_piece(found, 4, fixed=d.vague(ctx, key, left_out, found.group()))]


def _quantity(text: str) -> tuple[float, float, str] | None:
    """A counted distance as (least, most, unit): 两个半小时, 两三天, 十几天, 一个多月, 半年."""
    unit = next((name for name in _UNIT_NAMES if text.rstrip("多半").endswith(name)), None)
    if not unit:
        return None
    head, tail = text[: text.rindex(unit)], text[text.rindex(unit) + len(unit) :]
    kind, scale = _SCALE.get(_UNIT_NAMES[unit], (_UNIT_NAMES[unit], 1))
    half = 0.5 if head.rstrip("个").endswith("半") or tail.startswith("半") else 0
    more = "多" in head or "多" in tail or head.startswith("大半")
    count = head.strip("个大半多好上来")
    if "几" in count:
        tens = number(count.replace("几", "")) if count != "几" else 0
        low, high = (tens + 1, tens + 9) if count.startswith("十") else (tens * 10 + 1, tens * 10 + 9) if count.endswith("十") else (2, 6)
        if count == "几十":
            low, high = 20, 90
        elif count == "几":
            low, high = (2, 7) if kind == "day" else (2, 6)
        return low * scale, high * scale, kind
    pair = len(count) == 2 and all(c in "一二两三四五六七八九" for c in count)
    if pair:
        return number(count[0]) * scale, number(count[1]) * scale, kind
    value = (number(count) if count else 0) + half
    if value == 0.5 and more:
        return 0.5 * scale, scale, kind
    if not value:
        return None
    return value * scale, (value + (10 if value >= 20 and value % 10 == 0 else 1) if more else value) * scale, kind


def _distance(found: Match, ctx: Context) -> list[Piece]:
    amount = _quantity(found["dist"])
    if not amount:
        return []
    low, high, unit = amount
    ahead = found["side"] in ("后", "之后", "以后")
    if unit == "week" and low == high and re.match(rf"的?那?个?{_WEEK}[一二三四五六日天末]", found.string[found.end() :]):
        # 三周前的周二: the weekday is looked for in that week
        return [_piece(found, 5, fixed=p.week(ctx.now + (1 if ahead else -1) * low * 7 * p.DAY), forward=ahead)]
    if unit == "weekend":
        week = p.week(ctx.now, round(low) if ahead else -round(low))
        return [_piece(found, 4.5, fixed=p.day(week.start + 5 * p.DAY, 2, "weekend"), forward=ahead)]
    rank = {"year": 8, "month": 6, "week": 4, "day": 4}.get(unit, 2)
    return [_piece(found, rank, fixed=d.away(ctx, unit, low, high, 1 if ahead else -1), forward=ahead)]


def _trailing(found: Match, ctx: Context) -> list[Piece]:
    amount = _quantity(found["span"] or found["span2"])
    if not amount:
        return []
    _, high, unit = amount
    fixed = d.trailing(ctx, unit, high)
    if found.group()[0] == "前" and fixed.days > 1:
        fixed = Period(fixed.start, ctx.today, fixed.unit)  # 前三天, as 前几天, ends before today
    return [_piece(found, 4, fixed=fixed)]


def _nth(found: Match, ctx: Context) -> list[Piece]:
    value = -1 if found["nth"].startswith("最后") else int(number(found["nth"].strip("第")))
    what = found["what"]
    if what in ("天", "日"):
        return [_piece(found, 4, within=p.nth(p.blocks(1, "day"), value))]
    if what == "周末":
        return [_piece(found, 4.5, within=p.nth(p.in_weeks(5, 2, "weekend"), value))]
    if what in ("周", "星期", "礼拜"):
        return [_piece(found, 5, within=p.nth(p.blocks(7, "week"), value))]
    if what == "月":
        return [_piece(found, 6, within=p.nth(p.in_months(p.months), value))]
    return [_piece(found, 4, within=p.nth(p.in_weeks(WEEKDAYS[what[-1]]), value))]


def _this_time(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 4, within=p.same_day(ctx.today, 0 if "天" in found.group() else 3))]


def _near(found: Match, ctx: Context) -> list[Piece]:
    """A change to what stands before: 前后, 以来, 之前, 之后, 前一天, 那几天."""
    word = found.group()
    return [_piece(found, 0, shift=d.SHIFTS[_SHIFT_NAMES[word]])]


def _beside(found: Match, ctx: Context) -> list[Piece]:
    """国庆前三天, 生日前一晚, 春节后一周: counted days, weeks or months on one side of a date."""
    if found["bnth"]:
        return [_piece(found, 0, shift=d.nth_day(int(number(found["bnth"]))))]
    ahead = found["bside"] == "后"
    if found["bunit"] == "晚":
        return [_piece(found, 0, shift=d.SHIFTS["evening after" if ahead else "evening before"])]
    count = 7 if found["bcount"] == "几" else int(number(found["bcount"]))
    days = count * {"天": 1, "月": 30}.get(found["bunit"], 7)
    return [_piece(found, 0, shift=d.beside(1 if ahead else -days, days, "day" if days == 1 else "range"))]


def _beside_week(found: Match, ctx: Context) -> list[Piece]:
    """8月14日前的那个星期五, 国庆后的周末: the nearest one on that side; 两个周末 are both."""
    sign = -1 if "前" in found["wside"] else 1
    what = found["wwhat"]
    if what.endswith("末"):
        count = int(number(found["wcount"])) if found["wcount"] else 1
        return [_piece(found, 0, shift=d.weekends_beside(sign, count))]
    if what[-1] in WEEKDAYS:
        return [_piece(found, 0, shift=d.weekday_beside(WEEKDAYS[what[-1]], sign))]
    side = "before" if sign < 0 else "after"
    return [_piece(found, 0, shift=d.SHIFTS[f"{'month' if what == '月' else 'week'} {side}"])]


def _lead(found: Match, ctx: Context) -> list[Piece]:
    return [_piece(found, 0, shift=d.SHIFTS["since"], leads=True)]


def _soon(found: Match, ctx: Context) -> list[Piece]:
    """过几天, and 待会儿 where plans are remembered."""
    if found.group()[0] == "过":
        return [_piece(found, 4, fixed=p.day(ctx.today + p.DAY, 7, "range"), forward=True)]
    fixed = Period(ctx.now, ctx.now + p.SECOND * 10800, "hour")
    return [_piece(found, 4, fixed=fixed, forward=True)] if ctx.use == "writing" else []


_SHIFT_NAMES = {
    "前后": "around", "左右": "around", "那几天": "around", "那段时间": "around", "以来": "since", "至今": "since", "到现在": "since", "到今天为止": "since",
    "开始": "since", "之前": "before", "以前": "before", "前": "before", "前夕": "before", "之后": "after", "以后": "after", "过后": "after", "后": "after",
    "前一天": "day before", "前一晚": "evening before", "后一天": "day after", "第二天": "day after", "的后一天": "day after",
    "的第二天": "day after", "那一周": "its week", "那周": "its week", "那个星期": "its week", "那个周末": "its weekend", "那个月": "its month",
    "前一周": "week before",
}  # fmt: skip


def _words(table: object) -> str:
    return "|".join(sorted(table, key=len, reverse=True))  # type: ignore[call-overload]


def _oclock(prefix: str) -> str:
    hour = r"(?:2[0-4]|1\d|0?\d|十[一二]?|二十[一二三四]?|[零一二两三四五六七八九])"
    minute = r"(?:[0-5]?\d|[二三四五]?十[一二三四五六七八九]?|零?[一二三四五六七八九])"
    return (
        rf"(?P<{prefix}hour>{hour})\s*[点时](?!间|候|代|光|期|刻|差|不时|而)"
        rf"(?:(?P<{prefix}half>半)|(?P<{prefix}quarter>[一三1-3])刻|(?P<{prefix}minute>{minute})分?(?!\d)|钟|整|多|左右)?"
    )


RULES: tuple[tuple[str, str, Maker | None], ...] = (
    ("bound_clock", rf"(?<=[上午晚晨天夜里日号早间昏])\s*{_oclock('b')}(?![都也儿没不])", _clock),
    ("beside_week", rf"(?<=[节庆夕秋午旦诞日号天])(?P<wside>之?前|之?后|以前|以后)的?(?:那|上|下|这)?(?P<wcount>[一二两三四五])?个?(?P<wwhat>{_WEEK}(?:末|[一二三四五六日天](?!个))?|月)", _beside_week),
    ("beside", r"(?<=[节庆夕秋午旦诞日号年一末阳至明宵])的?(?P<bside>前|后)(?P<bcount>\d{1,2}|[一二两三四五六七八九十几])个?(?P<bunit>天|晚|周|星期|礼拜|月)(?!前|后)"
     r"|(?<=[节庆夕秋午旦诞一期])的?第(?P<bnth>[一二三四五六七八])天", _beside),
    ("vague", rf"(?:{_words(VAGUE)})(?!的?(?:半|两|几|{_N})(?:个|天|周|年|月|星期|礼拜|小时|分钟))", _vague),
    ("trailing", rf"(?:过去|最近|近|刚过去|这(?!一(?:周|个)[^来]|一(?:周|个星期|个月|年)$)|前)的?(?P<span>(?:半|(?:{_N}|[两三四五六七八九]{{2}}|十?几)个?半?){_UNIT}半?)(?:里|之内|以内|内|以来|来|中|间)?(?!前|后|岁|次)"
     rf"|(?P<span2>(?:半|(?:{_N}|十?几)个?半?)(?:天|周|个?(?:星期|礼拜)|个月|年))(?:以来|之内|以内|内|来(?![一了过的电]))(?!一次)", _trailing),
    ("distance", rf"(?<![第\d月])(?P<dist>(?:大?半|(?:好几|几十|[一二三四五六七八九]?十几|几|[一二两三四五六七八九]{{2}}(?!十|百)|{_N})(?:多|来)?个?多?半?){_UNIT}(?:半|多)?)"
     r"(?P<side>之前|以前|前(?!面|端|任|途|台|后|天|几|两|一)|之后|以后|后(?!面|来|悔|天|期))", _distance),
    ("lead", r"自从|自打", _lead),
    ("nots", NOT_TIMES, None),
    ("soon", r"过(?:几|两|些)天|过(?:一)?阵子|待会儿?|等会儿?|一会儿?后|过一会儿?", _soon),
    ("relative_weekend", rf"(?P<rwend>上{{1,4}}|这|本|下{{1,4}}|前)一?个?(?:{_WEEK}末|双休日)", _relative_weekend),
    ("relative_week", rf"(?P<rweek>上{{1,4}}|这|本|下{{1,4}})一?个?{_WEEK}(?!年|岁|围|边|刊|报|几|期)(?=[一二三四五六日天末1-7]?)", _relative_week),
    ("weekday", rf"(?:{_WEEK}|(?<=[周期拜]))(?:[二四五六天日](?!本|语|常|报|游|个|种|次|点(?!半|多|钟|\d))|三(?![个次种天]|点(?!半|多|钟))|一{_NOT_ONE}|[1-7](?!\d|[天个点:]))", _weekday),
    ("weekend", rf"(?:{_WEEK}|(?<=[周期拜]))末|双休日", _weekend),
    ("relative_day", r"(?P<rday>大前|(?<![以之从目日周月年个空史])前(?=[天日晚儿])|昨|今|明|大后|(?<![之以今然最午雨背身先])后(?=天))"
     r"(?:[天日](?!真)|儿个?|(?=(?P<rpart>晚|夜|早|晨)))", _relative_day),
    ("relative_month", r"(?P<rmonth>上{1,4}|这|本|下{1,4})(?:一?个)?月(?!球|亮|饼|光|台|嫂|经|考|薪|卡|票)", _relative_month),
    ("decade", r"(?:上世纪|二十世纪|20世纪)?(?P<decade>[1-9]0|[一二三四五六七八九]十|零零)年代", _decade),
    ("relative_year", r"(?P<ryear>大前|(?<![以之从目])前|去|旧|头|上一?(?=年)|今|本|明|来|大?后|下一?(?=年))年(?!纪|龄|级|轻|后|以前|之后)", _relative_year),
    ("date", r"(?<![\d.])(?P<iy>(?:19|20)\d\d)(?:[-/.](?P<im>1[0-2]|0?[1-9])(?:[-/.](?P<id>3[01]|[12]\d|0?[1-9]))?)(?![\d.]*\d)", _date),
    ("year", rf"(?<!\d)(?:19|20)\d\d\s*年(?!代|级)|[一二][零〇九][零〇一二三四五六七八九]{{2}}年|(?<![\d第])\d\d年{_FOLLOWS_YEAR}|(?<![第十])[零〇一二三四五六七八九]{{2}}年{_FOLLOWS_YEAR}"
     rf"|(?<!\d)(?:19|20)\d\d{_FOLLOWS_YEAR}", _year),
    ("year_part", r"[上下]半年|(?<=年)前半年|(?<=年)后半年|年(?:初|底|末|尾)|(?<![少青成老童幼千去今前明每一两几半])年中(?![心间国学级])|(?<=年)年中|(?<=[去今前明])年中(?![心间国学级])|(?<=年)[初底末](?!步|始|期|恋)", _year_part),
    ("relative_quarter", r"(?P<rquarter>上|这|本|下)一?个?季度", _relative_quarter),
    ("quarter", r"第?(?P<quarter>[一二三四1-4])季度|[qQ](?P<q>[1-4])(?!\d)", _quarter),
    ("winter_break", r"寒假", _winter_break),
    ("festival", rf"(?<![\d\.])(?P<fname>{_words(FESTIVAL_NAMES)})(?!\d|\.\d)(?:节|佳节)?(?:节日)?(?:那会儿)?(?P<fwhole>{_HOLIDAY})?", _festival),
    ("season", r"暑假|[春夏秋冬](?:天|季|日里)|(?<=年)[春夏秋冬](?!令)", _season),
    ("lunar_date", rf"(?:农历|阴历|旧历)的?(?P<leap>闰)?(?P<lmonth>正|冬|腊|{_MONTH})月(?P<lday>{_LUNAR_DAY}|\d{{1,2}})?[日号]?", _lunar_date),
    ("lunar_short", rf"(?P<smonth>正|冬|腊)月(?P<sday>{_LUNAR_DAY})?|(?P<nmonth>[二三四五六七八九十])月(?P<nday>初[一二三四五六七八九十])(?![起直些样共定次个])|大?年(?P<newday>初[一二三四五六七八九十])|(?P<newday2>初[一二三四五六七八九十])(?=那天|当天|那晚|早上|晚上)", _lunar_short),
    ("month", rf"(?<![\d个几第.多半])(?P<month>{_MONTH})\s*月份?(?!饼|亮|球|经|子|嫂|光|一次|薪)", _month),
    ("month_part", r"(?:(?<=月)|(?<=月份))的?(?:上旬|中旬|下旬|初|中(?!间|旬)|底|末|尾)|月(?:初|中|底|末|尾)|[上中下]旬", _month_part),
    ("before_dash", r"(?<![\d.])(?P<dash>3[01]|[12]\d|[1-9])(?=\s*[-~到至—–]\s*\d{1,2}\s*[日号])", _before_dash),
    ("month_day", rf"(?<![\d第.])(?P<dom>{_DAYNUM})\s*号(?!码|称|召)", _month_day),
    ("month_date", rf"(?<=[到至~—–月份 -])(?P<mdom>{_DAYNUM})\s*日(?!本|语|常|元|游)|(?:(?<=月)|(?<=月份)|(?<=月 ))(?P<mbare>[1-3]?\d|{_DAYNUM}(?<!\d))(?![\d日号.:点个天时分年月次种%半份起直些样])", _month_date),
    ("short_date", r"(?<![\d./])(?P<sm>1[0-2]|0?[1-9])[./](?P<sd>3[01]|[12]\d|0?[1-9])(?=那天|当天|那晚|的时候|那日)", _short_date),
    ("nth", rf"(?P<nth>第(?:{_N})|最后)(?:一)?个?(?P<what>天|周末|(?:星期|周|礼拜)[一二三四五六日天]|周|星期|礼拜|月)(?!年|期)", _nth),
    ("this_time", r"(?:的)?(?:这个?时候|这时|此时|这会儿|这一天)", _this_time),
    ("digital", r"(?<![\d:.])(?P<dhour>[01]?\d|2[0-3]):(?P<dminute>[0-5]\d)(?![\d:])", _digital),
    ("part", rf"(?P<part>{_words(key for key in PARTS if len(key) > 1)}|(?<=[昨今明前])晚(?:凌晨|半夜|深夜)|(?<=[昨今明前天])[晚早晨](?!点|饭|餐|一点)|(?<=[昨今明天夕秋节宵])夜)(?:上(?!课|班|学|网|去|来|个|周|街|火|山))?", _part),
    ("clock", rf"(?<![\d.第有这那几])(?:{_oclock('c')})(?![都也儿没不建意要原看想问内理伤经积])", _clock),
    ("near", _words(_SHIFT_NAMES), _near),
)  # fmt: skip

_MAKERS = {f"r_{name}": make for name, _, make in RULES}


@lru_cache(maxsize=1)
def _master() -> re.Pattern[str]:
    """All rules as one pattern, the first that fits wins; compiled at first use, since it takes longer than an import may."""
    return re.compile("|".join(f"(?P<r_{name}>{pattern})" for name, pattern, _ in RULES))

_FUTURE = re.compile(
    r"打算|准备|计划|想(?:去|要|在)|将|要(?!求|是|不是|命|紧|素|点)|会(?!议|员|儿|话|面|计|场)|快(?:要|到)了|即将|预约|约好|安排|截止|到期|得(?:去|交|要)|应该(?:去|能)"
)
_PLANS = re.compile(r"有(?:个|一个|一场|场)?(?:考试|面试|会议?|约会?|课|比赛|演出|演唱会|聚会|手术|体检|答辩)|出差|提醒我|别忘|记得(?:提醒|叫|去|要)|去(?!了|过|年)|deadline", re.I)
_PAST = re.compile(r"来着|[说聊提做去吃看玩买写学讲谈见到来问过给送告诉推荐]+[过了]|记得|那天|那次|当时|没有?[去来说做吃看]|以前|曾经|了什么|了哪|了谁")


def _forward(clause: str, use: str) -> bool:
    """Does a clause speak of what is to come? What was said or done (说过, 来着) outweighs a plan in it."""
    clause = clause.translate(_PLAIN)
    if _PAST.search(clause):
        return False
    return bool(_FUTURE.search(clause) or use == "writing" and _PLANS.search(clause))


GRAMMAR = Grammar(
    gap=re.compile(r"\s*(?:的|之)?(?:那天|那一天|当天|这天|那晚的?|那年|那个|这个|那|的时候)?(?:的|，)?\s*"),
    to=re.compile(r"\s*(?:的)?(?:一直)?(?:到了?|至|~+|-+|—+|–)\s*"),
    also=re.compile(r"\s*(?:和|跟|与|及|以及|、|，|还有|或者?|还是)\s*"),
    between=None,
    coarse_first=True,
    forward=_forward,
)


def pieces(text: str, ctx: Context) -> list[Piece]:
    """The time words of a text in order; offsets are those of the text as given."""
    plain = text.translate(_PLAIN)
    found: list[Piece] = []
    at = 0
    master = _master()
    while match := master.search(plain, at):
        make = _MAKERS[match.lastgroup or ""]
        at = max(match.end(), match.start() + 1)
        if make:
            try:
                found += make(match, ctx)
            except (ValueError, OverflowError):
                continue  # a date beyond the calendar
    return found
