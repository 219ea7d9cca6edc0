"""A new fact beside an old one: the same, a replacement, or neither."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import example, given, settings
from hypothesis import strategies as st

from moechat.memory import contradiction
from moechat.memory.contradiction import CLASSES, matters, relation, rivals
from moechat.model import Exchange, FactDraft
from moechat.rules import reading as rules
from tests.fact_table import SEQUENCES

NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))


def fact(
    keyword: str, target: str, polarity: int = 1, *, entity: str = "user", text: str = "", **more: bool
) -> FactDraft:
    text = text or f"{entity} {keyword} {target}"
    return FactDraft(text, ("x",), entity=entity, keyword=keyword, target=target, polarity=polarity, **more)


TABLE = (
    # new, old, relation
    (fact("喜好", "香菜", -1), fact("喜好", "香菜"), "supersedes"),
    (fact("喜好", "香菜"), fact("喜好", "香菜"), "same"),
    (fact("喜好", "香菜"), fact("爱好", "香菜"), "same"),
    (fact("讨厌", "香菜"), fact("喜好", "香菜", -1), "same"),
    (fact("讨厌", "香菜"), fact("喜欢", "香菜"), "supersedes"),
    (fact("喜好", "吃香菜"), fact("喜好", "香菜"), "same"),
    (fact("喜好", "喝茶"), fact("喜好", "茶"), "same"),
    (fact("afraid_of", "dogs"), fact("likes", "dogs"), "supersedes"),
    (fact("饮食", "香菜", -1), fact("爱吃", "香菜"), "supersedes"),
    (fact("讨厌", "香菜", text="用户不讨厌香菜"), fact("讨厌", "香菜", -1, text="用户讨厌香菜"), "supersedes"),
    (fact("喜好", "咖啡"), fact("喜好", "茶"), "other"),
    (fact("喜好", "冰咖啡"), fact("喜好", "咖啡"), "other"),
    (fact("喜好", "冰咖啡", -1), fact("喜好", "咖啡"), "other"),
    (fact("住址", "北京"), fact("居住地", "杭州"), "supersedes"),
    (fact("住址", "北京"), fact("lives in", "杭州"), "supersedes"),
    (fact("lives_in", "in Beijing"), fact("home", "Beijing"), "same"),
    (fact("住址", "杭州", -1), fact("住址", "杭州"), "supersedes"),
    (fact("住址", "上海", -1), fact("住址", "杭州"), "other"),
    (fact("年龄", "26岁"), fact("年龄", "25"), "supersedes"),
    (fact("age", "25"), fact("年龄", "25岁"), "same"),
    (fact("宠物", "豆豆"), fact("宠物", "咪咪"), "other"),
    (fact("宠物", "咪咪", -1), fact("宠物", "咪咪"), "supersedes"),
    (fact("最喜欢的颜色", "绿色"), fact("最喜欢的颜色", "蓝色"), "supersedes"),
    (fact("最喜欢", "绿色"), fact("favourite color", "blue"), "supersedes"),
    (fact("最喜欢的水果", "芒果"), fact("最喜欢的颜色", "蓝色"), "other"),
    (fact("喜好", "芒果", -1), fact("最喜欢的水果", "芒果"), "supersedes"),
    (fact("喜好", "芒果"), fact("最喜欢的水果", "芒果"), "other"),
    (fact("喜好", "香菜", entity="朋友"), fact("喜好", "香菜"), "other"),
    (fact("住址", "北京", entity="妈妈"), fact("住址", "杭州"), "other"),
    (fact("喜好", "香菜", -1, entity="用户"), fact("喜好", "香菜"), "supersedes"),
    (fact("喜好", "香菜", entity="character"), fact("喜好", "香菜", -1), "other"),
    (fact("工作单位", "字节"), fact("公司", "阿里"), "supersedes"),
    (fact("职业", "程序员"), fact("公司", "阿里"), "other"),
    (fact("感情状况", "结婚"), fact("婚姻状况", "单身"), "supersedes"),
    (fact("感情状况", "分手"), fact("女朋友", "林夏"), "supersedes"),
    (fact("女朋友", "林夏"), fact("女朋友", "小雨"), "supersedes"),
    (fact("妹妹", "小雨"), fact("妹妹", "小雪"), "other"),
    (fact("likes", "cats"), fact("likes", "cat"), "same"),
    (fact("dislikes", "cilantro"), fact("likes", "cilantro"), "supersedes"),
    (fact("likes", "cilantro", -1), fact("dislikes", "cilantro"), "same"),
    (fact("过敏", "花生"), fact("喜好", "花生"), "other"),
    (fact("鞋码", "42", single=True), fact("鞋码", "41", single=True), "supersedes"),
    (fact("收藏", "邮票"), fact("收藏", "硬币"), "other"),
)


def test_the_table_of_relations() -> None:
    assert [row for row in TABLE if relation(*row[:2]) != row[2]] == []


# What it is: two keywords for it, and whether it has one value at a time.
MEANINGS = """
name: 名字 real_name one; age: 岁数 years_old one; birthday: 生日 date_of_birth one; home: 居住地 place_of_residence one;
hometown: 老家 comes_from one; job: 职业 works_as one; employer: 公司 employer one; school: 大学 university one;
major: 专业 field_of_study one; grade: 年级 school_year one; status: 婚姻状况 marital_status one; sign: 星座 zodiac_sign one;
height: 身高 height one; weight: 体重 weight one; blood: 血型 blood_type one; phone: 手机号 phone_number one;
email: 邮箱 e-mail one; nickname: 外号 nickname one; gender: 性别 sex one; dream: 梦想 dream one;
nationality: 国籍 citizenship many; language: 母语 native_language many; taste: 兴趣爱好 hobbies many;
habit: 作息 daily_routine many;
allergy: 过敏原 allergic_to many; health: 病史 diagnosis many; family: 家庭成员 relatives many; partner: 女朋友 girlfriend one;
friend: 同事 colleague many; pet: 宠物 pets many; possession: 物品 belongings many; skill: 特长 talent many;
learning: 在学 studying many; trait: 性格 personality many
"""


def test_keywords_of_both_languages_mean_one_thing_which_has_one_value_or_many() -> None:
    wrong = []
    for row in MEANINGS.split(";"):
        name, chinese, english, values = row.split()
        classes = {contradiction.keyword_class(fact(one, "")) for one in (chinese, english)}
        found = [relation(fact(chinese, "甲"), fact(english, other)) for other in "甲乙"]
        if classes != {name.rstrip(":")} or found != ["same", "supersedes" if values == "one" else "other"]:
            wrong.append((row, classes, found))
    assert wrong == []


def test_whose_or_when_in_a_keyword_changes_nothing() -> None:
    keywords = [
        "用户的住址", "用户住址", "目前的住址", "现在住址", "the user's home", "user home", "Current_City",
        "  ADDRESS ", "ｈｏｍｅ",
    ]  # fmt: skip
    assert [one for one in keywords if relation(fact(one, "北京"), fact("住址", "杭州")) != "supersedes"] == []


def test_a_favourite_is_told_by_its_keyword_or_by_its_text() -> None:
    old = fact("最喜欢的颜色", "蓝色")
    greens = [
        ("最爱的颜色", ""), ("最喜欢", ""), ("favorite colour", ""), ("喜好", "用户最喜欢的颜色变成绿色了"),
        ("likes", "The user's favourite color is 绿色"), ("likes", "The user names 绿色 as her favorite color"),
    ]  # fmt: skip
    assert [one for one in greens if relation(fact(one[0], "绿色", text=one[1]), old) != "supersedes"] == []
    assert relation(fact("最喜欢的电影", "绿色"), old) == "other"
    cats = [fact("宠物", name, text=f"用户最喜欢的猫是{name}") for name in ("豆豆", "咪咪")]
    assert relation(*cats) == "other", "the text makes a favourite of a taste alone"
    in_two_languages = [
        ("favourite film", "最喜欢的电影"),
        ("最喜欢的食物", "favourite dish"),
        ("最爱的歌", "favorite song"),
    ]
    assert {relation(fact(new, "甲"), fact(old, "乙")) for new, old in in_two_languages} == {"supersedes"}


def test_one_who_is_alone_again_has_no_partner_any_more_and_one_who_married_keeps_the_partner() -> None:
    partner = fact("女朋友", "林夏")
    for target in ("分手", "离婚", "单身", "single", "Divorced"):
        alone = fact("感情状况", target)
        assert (relation(alone, partner), relation(partner, alone)) == ("supersedes", "other"), target
    assert relation(fact("感情状况", "已婚"), partner) == "other"


def test_a_dislike_that_is_denied_is_none() -> None:
    texts = [
        "用户不怕香菜", "用户不反感香菜", "The user does not mind 香菜", "The user doesn't really dislike 香菜", "不是不喜欢香菜",
    ]  # fmt: skip
    found = [relation(fact("dislikes", "香菜", -1, text=text), fact("喜好", "香菜")) for text in texts]
    assert found == ["same"] * len(texts)
    moved = fact("住址", "杭州", -1, text="用户不怕离开杭州")
    assert relation(moved, fact("住址", "杭州")) == "supersedes", "only a taste is turned round by that"


def test_a_target_is_the_same_in_other_forms_but_an_ending_that_is_no_plural_stays() -> None:
    same = "cat/the cats, berry/Berries, 香菜/吃香菜了, 杭州/住在杭州市, tea/drinking tea., glass/the glass, bus/a bus"
    other = "glass/glas, tennis/tenni, bus/bu, gas/ga, 吃/喝"
    for pairs, expected in ((same, "same"), (other, "other")):
        forms = [pair.split("/") for pair in pairs.split(", ")]
        found = [(a, b) for a, b in forms if relation(fact("likes", a), fact("likes", b)) != expected]
        assert found == []


def test_user_and_character_have_many_names() -> None:
    home = fact("住址", "杭州")
    for entity in ("用户", "我", "主人", "The User", "{{user}}", " ME ", ""):
        assert contradiction.entity(fact("x", "", entity=entity)) == "user", entity
        assert relation(fact("住址", "北京", entity=entity), home) == "supersedes"
    for entity in ("角色", "char", "The Character", "{{char}}", "assistant", "你"):
        assert contradiction.entity(fact("x", "", entity=entity)) == "character", entity
        moved = fact("住址", "北京", entity=entity)
        assert relation(moved, fact("住址", "杭州", entity="character")) == "supersedes"
        assert relation(moved, home) == "other"


def test_a_keyword_of_ones_own_has_one_value_if_both_facts_say_so() -> None:
    both = [(new, old) for new in (True, False) for old in (True, False)]
    sizes = [(fact("鞋码", "42", single=new), fact("鞋码", "41", single=old)) for new, old in both]
    assert [relation(new, old) for new, old in sizes] == ["supersedes", "other", "other", "other"]
    assert relation(fact("宠物", "豆豆", single=True), fact("宠物", "咪咪", single=True)) == "other"


def test_a_fact_without_a_target_is_compared_by_its_text() -> None:
    first, second = (fact("喜好", "", text=text) for text in ("用户喜欢下雨天", "用户喜欢晴天"))
    assert relation(first, first) == "same"
    assert relation(first, second) == "other"


Key = tuple[str, str, int]


def key(draft: FactDraft) -> Key:
    return contradiction.keyword_class(draft).partition(":")[0], draft.target, contradiction.polarity(draft)


def remember(texts: tuple[str, ...]) -> tuple[list[Key], list[Key]]:
    """What is current and what is superseded after the messages, kept as core memory keeps facts."""
    current: list[FactDraft] = []
    superseded: list[FactDraft] = []
    for number, text in enumerate(texts):
        for new in rules.understand(Exchange(str(number), NOW, text, "")).facts:
            if new.entity != "user" or any(relation(new, old) == "same" for old in current):
                continue
            replaced = [old for old in current if relation(new, old) == "supersedes"]
            superseded += replaced
            current = [old for old in current if old not in replaced] + [new]
    return [key(one) for one in current], [key(one) for one in superseded]


def test_a_change_of_mind_leaves_one_current_fact() -> None:
    left = [tuple(map(sorted, remember(one.texts))) for one in SEQUENCES]
    expected = [(sorted(one.current), sorted(one.superseded)) for one in SEQUENCES]
    assert [
        (one.texts, *found) for one, found, right in zip(SEQUENCES, left, expected, strict=True) if found != right
    ] == []


drafts = st.builds(
    fact,
    st.sampled_from(["喜好", "讨厌", "住址", "年龄", "宠物", "最喜欢的颜色", "likes", "hobby", "妹妹", "x"]),
    st.sampled_from(["香菜", "杭州", "北京", "25", "蓝色", "tea", ""]),
    st.sampled_from([1, -1]),
    entity=st.sampled_from(["user", "用户", "朋友"]),
)


@given(drafts)
def test_a_fact_is_the_same_as_itself(one: FactDraft) -> None:
    assert relation(one, one) == "same"


@given(drafts, drafts)
def test_opposites_are_never_the_same(new: FactDraft, old: FactDraft) -> None:
    if relation(new, old) == "same":
        assert contradiction.polarity(new) == contradiction.polarity(old)
        assert contradiction.entity(new) == contradiction.entity(old)
        assert relation(old, new) == "same"


KEYWORDS = [word for entry in CLASSES for word in entry.words.split()[:3]] + [
    "最喜欢的颜色", "最爱", "favourite fruit", "车牌", "",
]  # fmt: skip
TARGETS = ["", "香菜", "吃香菜", "绿色", "杭州", "杭州西湖区", "30", "30岁", "分手", "咪咪", "the cats", "cat"]
drafts = st.builds(
    FactDraft, st.sampled_from(["用户喜欢香菜", "用户最喜欢的颜色是绿色", "用户不讨厌香菜", "用户30岁", ""]), st.just(("1",)),
    entity=st.sampled_from(["user", "用户", "小林"]), keyword=st.sampled_from(KEYWORDS), target=st.sampled_from(TARGETS),
    polarity=st.sampled_from([1, -1]), single=st.booleans(),
)  # fmt: skip


@settings(max_examples=1000)
@given(drafts, drafts)
@example(fact("感情状况", "分手"), fact("女朋友", "小丽"))
@example(fact("favourite fruit", "mango"), fact("喜好", "mango", -1))
def test_what_a_fact_may_contradict_is_filed_where_it_is_looked_for(new: FactDraft, old: FactDraft) -> None:
    if relation(new, old) != "other":
        assert not rivals(new).isdisjoint(matters(old))
