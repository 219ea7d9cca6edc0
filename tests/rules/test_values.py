"""The forms that values are kept in, and the sentences and owners of what a message tells."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from moechat.model import Exchange
from moechat.rules import foods, reading
from moechat.rules.clause import read_clauses
from moechat.rules.table import table
from moechat.rules.values import Speech, age_of, article, day_of

NEW_YEARS_EVE = datetime(2025, 12, 31, 15, tzinfo=ZoneInfo("Asia/Shanghai"))


@pytest.fixture
def zh() -> Speech:
    return Speech(table("zh"), NEW_YEARS_EVE)


@pytest.fixture
def en() -> Speech:
    return Speech(table("en"), NEW_YEARS_EVE)


def test_a_day_is_kept_as_month_and_day_or_as_it_is_called(zh: Speech, en: Speech) -> None:
    chinese = {
        "今天": "12月31日", "昨天": "12月30日", "前天": "12月29日", "明天": "1月1日", "后天": "1月2日", "今儿": "12月31日",
        "明儿": "1月1日", "5月20日": "5月20日", "五月二十": "5月20日", "农历八月十五": "农历8月15日",
        "腊月初八": "农历腊月初八", "正月初一": "农历正月初一", "冬月初二": "农历冬月初二", "13月1日": "", "5月32日": "",
        "腊八": "腊八",
    }  # fmt: skip
    assert {text: day_of(text, zh) for text in chinese} == chinese
    english = {
        "today": "December 31", "Yesterday": "December 30", "tomorrow": "January 1", "day after tomorrow": "January 2",
        "the day after tomorrow": "January 2", "May 20th": "May 20", "20 May": "May 20", "Feb 1st": "February 1",
        "the twenty-first of June": "June 21", "June third": "June 3", "March 32": "", "Boxing Day": "Boxing Day",
    }  # fmt: skip
    assert {text: day_of(text, en) for text in english} == english


def test_an_age_is_kept_in_digits_where_somebody_can_be_that_old() -> None:
    users = {
        "28岁": "28", "二十八周岁": "28", "三十多": "30", "满60": "60", "thirty-two years old": "32", "30 yo": "30", "5": "5",
        "4": "", "两岁": "", "120": "120", "121": "", "x": "",
    }  # fmt: skip
    assert {text: age_of(text, is_user=True) for text in users} == users
    others = {"两岁": "2", "1": "1", "0": "", "ninety": "90", "一百二十一": ""}
    assert {text: age_of(text, is_user=False) for text in others} == others


def test_who_has_a_name_is_told_of_by_it(zh: Speech, en: Speech) -> None:
    assert zh.nameless("一只猫") and en.nameless("a dog") and en.name_of("dog") == ""
    names = (("dog", "Rex"), ("dog", "Bo"), ("son", "Al"), ("fiancé", "Kit"))
    drafts = [zh.named("妹妹", "小雨"), *(en.named(who, name) for who, name in names)]
    assert [(one.text, one.keyword, one.target, one.single) for one in drafts] == [
        ("用户的妹妹叫小雨", "妹妹", "小雨", False), ("The user has a dog called Rex", "pet", "Rex", False),
        ("The user has a dog called Bo", "pet", "Bo", False), ("The user has a son called Al", "son", "Al", False),
        ("The user has a fiancé called Kit", "fiance", "Kit", True),
    ]  # fmt: skip
    assert {(one.kind, one.entity, one.polarity) for one in drafts} == {("relation", "user", 1)}
    assert (en.name_of("dog"), en.is_name("Rex"), en.is_name("rex")) == ("Bo", True, False)
    assert not en.nameless("a dog") and not en.nameless("dogs") and en.nameless("one cat")
    assert (zh.subject("妹妹"), zh.subject("user"), zh.subject("弟弟")) == ("用户的妹妹小雨", "用户", "用户的弟弟")
    subjects = {"dog": "The user's dog Bo", "cat": "The user's cat", "user": "The user"}
    assert {who: en.subject(who) for who in subjects} == subjects


def test_kin_is_called_by_its_word_and_an_animal_a_pet(zh: Speech, en: Speech) -> None:
    words = {"kid": "kid", "child": "children", "son": "son", "dog": "pet", "fiancé": "fiance", "mum": "mum"}
    assert {word: en.relation(word) for word in words} == words
    kin = {"孩子": "孩子", "宝宝": "孩子", "儿子": "儿子", "妈妈": "妈妈", "猫": "宠物"}
    assert {word: zh.relation(word) for word in kin} == kin


def test_a_fact_is_a_sentence_about_its_owner(zh: Speech, en: Speech) -> None:
    home, job = zh.fact("home", "杭州"), en.fact("job", "actor", "sister")
    assert (home.text, home.entity, home.single) == ("用户住在杭州", "user", True)
    assert (home.keyword, home.target) == ("住址", "杭州")
    assert (job.text, job.entity, job.keyword, job.single) == ("The user's sister is an actor", "sister", "job", True)
    en.named("sister", "Amy")
    assert en.fact("home", "York", "sister").entity == "Amy" and en.fact("home", "York", "friend").single is False
    assert (en.fact("dislike", "tea").polarity, en.fact("like", "tea").polarity) == (-1, 1)


def test_a_noun_has_the_article_that_it_is_said_with() -> None:
    cases = {"apple": "an", "Unicorn": "an", "dog": "a", "bus": "a", "glass": "a", "cats": "", "keys": "", "": ""}
    assert {noun: article(noun) for noun in cases} == cases


# ---- whose a clause is


OWNERS = [
    ("My sister lives in Leeds, also works at the docks", ["sister", "sister"]),
    ("My boss quit, still works from home", ["boss"] * 2),
    ("I live in Leeds, also work at the docks", ["user", "user"]), ("Just here in Lisbon for the weekend", ["user"]),
    ("我妹妹住在杭州，现在也在银行上班", ["妹妹", "妹妹"]), ("我住杭州，平时喜欢跑步", ["user", "user"]),
    ("我妈妈在医院上班，平时喜欢跑步", ["妈妈", "妈妈"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "owners"), OWNERS)
def test_a_clause_without_a_subject_goes_on_with_the_one_before(text: str, owners: list[str]) -> None:
    language = "en" if text.isascii() else "zh"
    assert [clause.whose for clause in read_clauses(text, language)] == owners


@pytest.mark.parametrize(
    ("text", "read"),
    [("mums a dinner lady", "mum is a dinner lady"), ("kids at school today", "kids at school today"),
     ("parents in town this week", "parents in town this week")],
)  # fmt: skip
def test_a_relative_and_a_missing_apostrophe_are_no_plural(text: str, read: str) -> None:
    assert [clause.text for clause in read_clauses(text, "en")] == [read]


# ---- what moves a life


WEIGHTY = [
    ("爷爷走了", "用户爷爷走了", "爷爷", 0.9, False), ("他昨天提了离婚", "用户说：他提了离婚", "", 0.8, False),
    ("确诊了乳腺癌", "用户确诊了乳腺癌", "用户", 0.8, False), ("没考上", "用户没考上", "用户", 0.8, False),
    ("落榜了", "用户落榜了", "用户", 0.8, False), ("she left me", "The user says: she left me", "", 0.8, False),
    ("I'm pregnant!", "The user is pregnant", "user", 0.9, False),
    ("they say my grandpa may have cancer", "The user says: they say my grandpa may have cancer", "", 0.8, False),
]  # fmt: skip


@pytest.mark.parametrize(("said", "text", "subject", "importance", "is_doubtful"), WEIGHTY)
def test_what_moves_a_life_is_an_event_of_who_it_is_about(
    said: str, text: str, subject: str, importance: float, is_doubtful: bool
) -> None:
    understood = reading.understand(Exchange("e", NEW_YEARS_EVE, said, ""))
    (event,) = understood.events
    assert (event.text, event.subject, event.importance, event.sources) == (text, subject, importance, ("e",))
    assert (event in understood.doubtful) is is_doubtful


def test_the_day_of_what_moves_a_life_stands_beside_it() -> None:
    (event,) = reading.understand(Exchange("e", NEW_YEARS_EVE, "nan died on Monday", "")).events
    assert event.happened is not None and event.happened[0].strftime("%m-%d") == "12-29" and event.precision == "day"


# ---- foods


def test_foods_and_states_of_a_text_give_way_to_what_stands_for_them() -> None:
    cases = {
        "some za’atar bread": "some ○ ○", "I'm celiac and on statins, love cheese": "i'm ● and on ●, love ○",
        "my lips look like a sausage": "my lips look like a sausage", "肿成香肠": "肿成香肠",
        "as red as a tomato": "as red as a ○", "it's peanut or nothing": "it's peanut or nothing", "": "",
    }  # fmt: skip
    assert {text: foods.besides(text, "○", "●") for text in cases} == cases
    assert foods.words("za’atar") == ["za'atar"]
    assert foods.states("I'm celiac and on statins") == {"coeliac": "is", "statins": "takes"}
    assert "cheese" not in foods.held("toast without cheese") and "bread" in foods.held("toast without cheese")
    assert "dairy" not in foods.held("dairy-free milk") and "milk" in foods.held("dairy-free milk")
