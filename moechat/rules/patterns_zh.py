"""Chinese patterns: what a clause says of its subject. The first pattern that fits its body and states a fact counts.

A pattern must fit the whole body, so that nothing is made of words that it does not know.
"""

from __future__ import annotations

import re
from datetime import datetime

from moechat.rules import facts_zh as state
from moechat.rules.clause import Clause
from moechat.rules.clauses_zh import PERSON, PET
from moechat.rules.fact import BareFact, Patterns, first_stated, stating
from moechat.when.names import HAN

_TAIL = r"[了啊呀哦呢啦嘛哈哟呐喔噢耶哇的吧得很死]*[~～\s]*"
_NUMBER = r"\d{1,3}|[一二两三四五六七八九十百]{1,4}"
_NEGATION = (
    r"(?:一点[儿]?(?:都|也)?|根本|完全|从来|从|再也?|绝对|并|都|也|就|真的|已经|压根[儿]?(?:就)?|可)*(?:不(?:是很|"
    r"是特别|太|怎么|大|那么|再那么|再|会再|算|是那么)?|没那么|"
    r"没有那么|没有?多)"
)
_LIKE = (
    r"喜欢上(?!班|学|课|网|海|街|山|厕)了?|喜欢|喜爱|热爱|钟爱|偏爱|迷恋上?|爱好|中意|沉迷于?|痴迷于?|迷上|爱上|"
    r"着迷于|享受|崇拜|最爱|爱"
)
_DISLIKE = (
    r"讨厌|厌恶|厌烦|恨|嫌弃|反感|害怕|恐惧|怕|受不了|忍不了|忍受不了|无法忍受|接受不了|无法接受|看不惯|听不得|"
    r"闻不了|闻不得|腻了|吃腻了|烦(?!恼|死|躁|心)"
)
_CONSUME = r"吃|喝|抽|碰|沾"
_JOBS = (
    rf"[{HAN}A-Za-z]{{0,8}}(?:师|程序员|员|医生|护士|警察|律师|工|学者|作家|画家|歌手|演员|导演|编剧|编辑|记者|司机|"
    rf"厨子|农民|军人|公务员|会计|出纳|翻译|店长|经理|主管|总监|"
    rf"博主|主播|"
    r"作者|老板|销售|运营|产品经理|设计|助理|秘书|顾问|教练|模特|保安|保姆|学生|大学生|研究生|高中生|初中生|小学生|"
    r"博士生|博士|自由职业者?|全职妈妈|家庭主妇|法官|检察官|飞行员|空姐|店员|码农|牙医|"
    r"兽医|教授)"
)
_TRAIT = re.compile(
    r"素食主义者|素食者|左撇子|独生子女?|独生女|夜猫子|路痴|吃货|社恐|社牛|脸盲|色盲|处女座|"
    r"[IE][NS][TF][JP](?:-[AT])?|[男女](?:生|孩子?|的|人|"
    r"性)|[ABO]型血|AB型血|早产儿|双胞胎|基督徒|佛教徒|穆斯林|单亲"
)
_ATTRIBUTES = (
    r"星座|血型|身高|体重|电话|手机号|邮箱|偶像|网名|昵称|英文名|小名|外号|笔名|母语|梦想|座右铭|口头禅|幸运数字|"
    r"学号|MBTI|微信号?|QQ号?|籍贯|性别|爱豆|本命|车牌号?|鞋码|民族|国籍"
)
_SURNAMES = (
    "王李张刘陈杨赵吴徐孙胡朱何郭罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛阎余潘杜戴夏钟汪田任姜范谭廖"
    "邹陆郝孔崔康邱秦顾侯邵孟龙段雷钱汤尹黎易武乔贺赖龚林周黄"
)
_AILMENT = (
    rf"[{HAN}]{{0,6}}(?:炎|病|症|哮喘|高血压|低血压|低血糖|高血糖|近视|散光|贫血|痛风|湿疹|结石|偏头痛|心脏病|"
    r"糖尿病|癌)"
)
_SKILL = (
    rf"(?:弹|拉|吹|打|说|讲|写|游|开|做|画|唱|跳|滑|骑|编|修|织|剪|拍|下|踢|烤|包|变)[{HAN}A-Za-z]{{1,8}}|游泳|编程|"
    rf"开车|日语|英语|法语|德语|韩语|粤语|钢琴|书法|魔术|"
    rf"手语|[{HAN}]{{1,3}}(?:语|话|文)"
)
_HABIT_LEAD = (
    r"每(?:天|晚|周|个?周末|个?月|年|个?星期.?|周.)|天天|经常|常常|习惯|平时都?|通常|一般都?|总是|周末(?:都|总|一般|"
    r"经常)|睡前(?:都|总|会|习惯)"
)
_HABITS = r"抽烟|吸烟|熬夜|赖床|吃夜宵|吃早[饭餐]|睡懒觉|午睡|咬指甲|打呼噜?|失眠|健身|跑步|锻炼|运动|化妆"
_BARE_FOODS = "辣|素|香菜|葱|姜|蒜|榴莲|内脏|海鲜|牛肉|羊肉|猪肉|鱼|甜|折耳根|肥肉|生冷"
_DATE = rf"(?P<lunar>农历|阴历)?(?:\d{{4}}年)?(?P<month>{_NUMBER})月(?:初)?(?P<day>{_NUMBER})[号日]?"
_COUNT = r"(?P<count>[一二两三四五六七八九十几\d]*[只条个匹头位群对])"
_PETS = rf"(?P<kind>(?:(?![和跟与])[{HAN}]){{0,4}}?(?:色的?|花|黑|白|橘|短|长毛|小)?)(?P<pet>{PET})"
PATTERNS: Patterns = tuple(
    (re.compile(pattern), handler)
    for pattern, handler in (
        (rf"(?P<habit>(?:{_HABIT_LEAD}).+)", state.habit),
        (rf"(?:我的?|的)?(?:名字|大名|全名)(?:是|叫)?(?P<name>[{HAN}A-Za-z·]{{1,10}}){_TAIL}", state.name),
        (rf"(?:改名)?(?:叫做|叫作|叫|名叫)(?:我)?(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", state.name),
        (rf"(?:(?:大家|朋友们?|别人|同学们?)(?:都)?叫我)(?P<name>[{HAN}A-Za-z·]{{1,6}}){_TAIL}", state.name),
        (rf"是(?P<name>[小阿][{HAN}](?<![小学高孩偷白红]))[呀啊哦呢]*", state.name),
        (rf"是(?P<name>[{_SURNAMES}][{HAN}]{{1,2}}(?<![生员人座师的控迷粉党家长工手者族性])){_TAIL}", state.full_name),
        (rf"改名(?:为|成)(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", state.name),
        (rf"(?:满|刚满|刚?过完|刚?过了)?(?P<age>{_NUMBER})周?岁(?:生日)?{_TAIL}", state.age),
        (r"(?P<age>\d{2}|[二三四五六七八九]?十[一二三四五六七八九]?)了", state.age),
        (rf"年龄是?(?P<age>{_NUMBER})岁?{_TAIL}", state.age),
        (rf"(?:我的?|的)?生日(?:是|在|就是)?{_DATE}{_TAIL}", state.birthday),
        (rf"{_DATE}(?:的?生日|过生日|出生的?|生的){_TAIL}", state.birthday),
        (rf"(?:是|就是|过)?(?:我的?)?生日{_TAIL}", state.birthday_today),
        (rf"(?:(?:和|跟|与)[{HAN}]{{1,6}}?(?:一起)?)?(?P<no>不|没)?(?:再)?(?:住在?|定居在?|家住在?)(?P<place>.+?){_TAIL}",
        state.home),
        (rf"(?:坐标|人在|常住|现居)(?P<place>[{HAN}]{{2,8}})", state.home),
        (r"(?:我)?(?:的)?(?:家|住址|地址|住处)(?:就)?(?:在|是)(?P<place>.+)", state.home),
        (rf"(?:从.{{1,8}}?)?(?:搬家|搬|移居|迁居|定居)(?:到|去|来|回)(?:了)?(?P<place>.+?)(?:住|生活|定居)?{_TAIL}", state.home),
        (rf"在(?P<place>[{HAN}]{{2,10}})(?:定居|安家|生活){_TAIL}", state.home),
        (rf"(?:我的?|的)?(?:老家|家乡|故乡)(?:就)?(?:是|在)(?P<place>.+?){_TAIL}", state.hometown),
        (rf"(?:来自|出生在|出生于|生在)(?P<place>.+?){_TAIL}", state.hometown),
        (rf"(?:是)?(?:在)(?P<place>[{HAN}]{{2,8}})(?:长大|出生){_TAIL}", state.hometown),
        (rf"(?:是)?从(?P<place>[{HAN}]{{2,8}})来的?", state.hometown),
        (rf"(?:是)(?:土生土长的|地道的|地地道道的|正宗的?|一个)?(?P<place>[{HAN}]{{2,8}}?)(?P<ren>人){_TAIL}", state.hometown),
        (rf"(?:是)?在(?P<school>[{HAN}A-Za-z]{{2,16}}?)(?:上学|读书|念书|上大学|读大学|就读|读研究生|读研|读博|"
         rf"读高中|读本科|念大学|"
         rf"学(?P<major>[{HAN}]{{2,8}})专业){_TAIL}", state.school),
        (rf"(?:就读于|考上了?|考进了?|就读|毕业于)(?P<school>[{HAN}A-Za-z]{{2,16}}){_TAIL}", state.school),
        (rf"是(?P<school>[{HAN}A-Za-z]{{2,14}}(?:大学|学院|中学|一中|二中|高中|北大|清华))的?(?:学生|"
         rf"大?[一二三四]?学生|研究生|博士生?|本科生){_TAIL}",
        state.school),
        (rf"(?P<no>不|没)?(?:再)?(?:是)?在(?P<place>[^,，]{{1,16}}?)(?:上班|工作|任职|实习|打工|干活|(?:当|做)(?:一名|"
         rf"一个)?(?P<job>{_JOBS})){_TAIL}", state.employer),
        (rf"(?:跳槽|入职|加入|换工作|调|调动)(?:到|去|了|进)*(?P<place>[^,，]{{1,16}}?)(?:上班|工作)?{_TAIL}", state.employer),
        (rf"(?P<no>不)?(?:再)?(?:是|当|做|成为|当上)了?(?:一名|一个|一位|个|名)?(?P<job>(?!做|搞|"
         rf"从事){_JOBS})(?:(?:已经)?(?:快|有)?(?:{_NUMBER})年)?{_TAIL}", state.job),
        (rf"(?:的)?(?:我的)?(?:工作|职业|本职|本行)(?:是)(?:一名|一个|当|做)?(?P<job>[{HAN}A-Za-z]{{2,12}}){_TAIL}", state.job),
        (rf"(?:是)?(?P<verb>做|搞|干|从事)(?P<job>[{HAN}A-Za-z]{{2,8}}?)(?:的|工作|行业|这一?行){_TAIL}", state.job),
        (rf"(?:读|上|念|是)(?P<grade>大[一二三四]|高[一二三]|初[一二三]|研[一二三]|博[一二三四]|"
         rf"小学[一二三四五六]年级|[一二三四五六七八九]年级)(?:的?学生|学生)?{_TAIL}",
        state.grade),
        (rf"(?P<grade>大[一二三四]|高[一二三]|初[一二三]|研[一二三]|博[一二三四])(?:学生)?{_TAIL}", state.grade),
        (rf"(?:我的?|的)?专业(?:是|学)?(?P<major>[{HAN}A-Za-z]{{2,12}}){_TAIL}", state.major),
        (rf"(?:是)?学(?P<major>[{HAN}]{{2,8}}?)(?:专业)?的", state.major),
        (rf"学的(?:专业)?是(?P<major>[{HAN}]{{2,8}}){_TAIL}", state.major),
        (rf"(?:我的?|我家的?|我家里的?|家里的?)(?P<pet>{PET})(?:的)?(?:名字)?(?:叫|是|名叫)(?P<name>[{HAN}A-Za-z]{{1,6}}){_TAIL}",
        state.pet),
        (rf"(?:家里?)?(?:又|还)?(?:有|养了?|领养了?|收养了?|买了?)(?:了)?{_COUNT}(?:叫|"
         rf"名叫)(?P<name>[{HAN}A-Za-z]{{1,6}}?)的(?P<pet>{PET}){_TAIL}", state.pet),
        (rf"(?:家里?)?(?:又|还)?(?:有|养了?|领养了?|收养了?){_COUNT}?{_PETS}(?:[，,]?(?:名字|"
         rf"它)?叫(?P<name>[{HAN}A-Za-z]{{1,6}}))?{_TAIL}", state.pet),
        (rf"我(?:家)?(?:的)?(?P<who>{PERSON})的?(?:名字)?(?:叫|名叫|是叫)(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", state.person),
        (rf"我(?:家)?(?:的)?(?P<who>{PERSON})的?名字是(?P<name>[{HAN}A-Za-z·]{{1,8}}){_TAIL}", state.person),
        (rf"(?P<have>有)(?P<count>[一二两三四五六七八九十几\d]*[个位名对])?(?:亲)?(?P<who>{PERSON})(?:叫(?P<name>["
         rf"{HAN}A-Za-z·]{{1,8}}))"
         rf"?{_TAIL}", state.person),
        (rf"(?P<have>(?P<no>没有?))(?P<who>兄弟姐妹|{PERSON}){_TAIL}", state.person),
        (rf"有[一]?个叫(?P<name>[{HAN}A-Za-z]{{1,6}}?)的(?P<who>{PERSON}){_TAIL}", state.named_person),
        (rf"(?P<who>最)(?P<bad>讨厌|不喜欢)的(?P<thing>[{HAN}]{{1,8}})(?:就)?是(?P<target>.+)", state.favourite),
        (rf"(?:我的?|我)?(?P<most>最)(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?P<thing>[{HAN}]{{1,8}}?)(?:变成了?|改成了?|"
         rf"换成了?|就是|是|还是|"
         rf"叫)(?P<target>.+)", state.favourite),
        (rf"(?:我)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?P<thing>[{HAN}]{{1,8}}?)(?:就)?是(?P<target>.+)", state.favourite),
        (rf"最(?:喜欢|爱)(?P<target>[{HAN}]{{1,3}}色){_TAIL}", state.favourite),
        (r"(?:我的?|的)?(?:兴趣爱好|爱好|兴趣)(?:是|有)(?P<target>.+)", state.hobby),
        (rf"(?P<topic>.*?)对(?P<target>[^不没]+?)(?P<no>不|没有?)?(?:严重|有点儿?|会|很|特别)?过敏(?:体质)?{_TAIL}",
        state.allergy),
        (rf"(?P<no>不)对(?P<target>.+?)过敏{_TAIL}", state.allergy),
        (rf"(?P<target>[{HAN}]{{1,6}}?)(?P<no>不)?过敏{_TAIL}", state.allergy),
        (rf"对(?P<target>.+?)(?:(?P<no>没(?:什么|啥|有|太大)*|不(?:太|怎么|是很)?感|提不起)兴趣|(?:很|特别|非常|挺|"
         rf"蛮|比较|超)?(?:感|有|"
         rf"着迷的?)(?:很大的?)?(?:兴趣)?){_TAIL}", state.interest),
        (rf"(?P<no>没)?有(?P<ill>{_AILMENT}){_TAIL}", state.health),
        (rf"(?:得了|患有|患了|查出|确诊了?)(?P<ill>{_AILMENT}){_TAIL}", state.health),
        (rf"把(?P<what>[{HAN}]{{1,6}}?)(?:给)?戒(?:掉)?{_TAIL}", state.given_up),
        (rf"戒(?:掉)?(?:了)?(?P<what>[{HAN}]{{1,6}}?){_TAIL}", state.given_up),
        (rf"{_NEGATION}(?P<verb>{_HABITS}){_TAIL}", state.no_habit),
        (rf"(?P<no>不)?会(?P<what>{_SKILL})了?", state.skill),
        (rf"(?:在|正在|开始|自学|刚开始|有在)(?:学习|学|自学)(?P<what>[{HAN}A-Za-z]{{2,10}}){_TAIL}", state.learning),
        (r"(?:有|买了|新买了|换了|入手了)(?P<count>[一二两三\d]+[辆台部架把套间栋双条个只块副]?)(?P<thing>.+)", state.possession),
        (rf"(?:和|跟)?(?:(?:女|男)朋友|老公|老婆|对象|女友|男友|前任)?(?P<no>没|还没)?(?:单身|已婚|结婚|脱单|离婚|"
         rf"分手|订婚|领证|谈恋爱|成家)(?:狗|贵族|汉|"
         rf"人士)?{_TAIL}", state.status),
        (rf"(?:是)(?:一个|单身)?(?:单身狗|单身){_TAIL}", state.status),
        (rf"是(?:一个|个)?(?P<sign>[白金双巨狮处天水摩射牡][{HAN}]{{0,2}}座)(?:的)?{_TAIL}", state.sign),
        (rf"是(?:一个|个|一名)?(?:典型的|标准的|资深)?(?P<what>{_TRAIT.pattern}){_TAIL}", state.trait),
        (r"(?:的)?(?P<what>身高|体重)(?:是|有)?(?P<value>[\d.]+\s*(?:cm|厘米|公分|kg|公斤|斤|米\d*)?)", state.measure),
        (rf"(?:我的?|的)(?P<what>{_ATTRIBUTES})(?:是|叫)(?P<value>.+)", state.attribute),
        (rf"是(?P<target>[^的]{{1,12}})的?(?:粉丝|铁粉|死忠粉|歌迷|影迷|球迷){_TAIL}", state.fan),
        (rf"(?:(?:很|特别)(?=能))?(?P<how>能|爱)(?:吃|喝)(?P<target>{_BARE_FOODS}){_TAIL}",
        stating("{how}吃{target}", "喜好", "{target}")),
        (rf"(?:改|一直)?(?P<how>吃)(?P<target>{_BARE_FOODS}){_TAIL}", state.eat),
        (rf"(?P<no>{_NEGATION})?(?:最|真|超|特别|很|挺|也|太)*(?P<like>{_LIKE})(?P<consume>吃|喝)?(?P<target>.+)", state.taste),
        (rf"(?P<no>{_NEGATION})?(?:最|真|超|特别|很|挺|也|太)*(?P<dislike>{_DISLIKE})(?P<consume>吃|喝)?(?P<target>.+)",
        state.taste),
        (rf"(?P<how>{_NEGATION}(?:能|敢|可以)?|不能|没法|戒掉)(?P<consume>{_CONSUME})(?P<cannot>)(?P<target>.+)", state.no_eat),
        (rf"(?P<how>)(?P<consume>{_CONSUME})(?P<cannot>不了|不惯|不来|不得|不下)(?P<target>.+)", state.no_eat),
    )
)  # fmt: skip
_TOPIC = re.compile(
    rf"(?:最|真的?|超|特别|很|挺|也|太|都|从来|一直|就|是|可)*(?P<no>{_NEGATION})?(?:最|真|超|特别|很)*(?:(?P<like>{_LIKE})|"
    rf"(?P<dislike>{_DISLIKE}|吃不了|吃不惯|喝不惯|喝不了))(?:吃|喝|看|听|玩)?{_TAIL}"
)
_TOPIC_NO_EAT = re.compile(rf"{_NEGATION}(?:能|敢)?(?P<consume>{_CONSUME}){_TAIL}")
_IN_FULL = re.compile(rf"我的?(?:家|{PERSON}|{PET})|.*?(?:{_HABIT_LEAD})")


def facts(clause: Clause, now: datetime) -> list[BareFact]:
    """The facts that ``clause`` states of its subject (none of a clause that is not said in earnest)."""
    if not clause.states_facts:
        return []
    body, _, topic = clause.body.partition("＠")
    if topic:
        return _of_topic(body, topic)
    if re.search(r"今[天日晚早晨]|昨|前天|刚才", clause.text[:8]) and re.search(r"不[吃喝抽]|住|没", body):
        return []
    # The adverbs of a habit and the subject of a relation are not in the body.
    whole = [_after_subject(clause.text)] if _IN_FULL.match(clause.text) else []
    return first_stated(PATTERNS, [*whole, body], now)


def _after_subject(text: str) -> str:
    return re.sub(rf"^我(?={_HABIT_LEAD})|^我(?:自己)?(?=平时|一般|周末|睡前)", "", text)


def _of_topic(body: str, topic: str) -> list[BareFact]:
    """香菜我受不了: the object comes first."""
    targets = state.targets(topic)
    if match := _TOPIC.fullmatch(body):
        polarity = -1 if bool(match["dislike"]) != bool(match["no"]) else 1
        verb = f"{'不' if match['no'] else ''}{match['like'] or match['dislike']}"
        return [BareFact(f"{verb}{target}", "喜好", target, polarity) for target in targets]
    if match := _TOPIC_NO_EAT.fullmatch(body):
        return [BareFact(f"不{match['consume']}{target}", "喜好", target, -1) for target in targets]
    return []
