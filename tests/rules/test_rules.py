"""What the rules take for facts, and what they leave alone: the table in ``fact_table``, and the shape of what comes out."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta, timezone

import pytest

from moechat.memory import contradiction
from moechat.memory.contradiction import keyword_class
from moechat.model import Exchange, FactDraft, Understanding
from moechat.rules import message
from moechat.rules import reading as rules
from moechat.rules.importance import rate
from tests.fact_table import BLIND, CASES

NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))


def understood(text: str, **options: object) -> Understanding:
    return rules.understand(Exchange("x1", NOW, text, "角色说：我住在月亮上，我讨厌苦瓜"), **options)  # type: ignore[arg-type]


def key(fact: FactDraft) -> tuple[str, str, int]:
    return contradiction.keyword_class(fact).partition(":")[0], fact.target, contradiction.polarity(fact)


LATER = ("hometown", "language", "learning")  # The table was made before such facts were read.
# What is not told apart: a favourite whose kind is not named is a taste, a year at school is told as the school.
SAME = {"favourite": "taste", "grade": "school"}
Key = tuple[str, str, int]


def meets(one: Key, other: Key) -> bool:
    """Whether two facts are of one kind and sign, and what one is about holds what the other is about."""
    first, second = (target.casefold() for _, target, _ in (one, other))
    kinds = [SAME.get(kind, kind) for kind, _, _ in (one, other)]
    return kinds[0] == kinds[1] and one[2] == other[2] and (first in second or second in first)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_most_facts_of_the_table_are_found_and_no_others(language: str) -> None:
    """What is denied is no fact: it ends one, which the closing of facts sees to."""
    cases = [case for case in CASES + BLIND if case.language == language]
    wrong, missed, wanted = list[str](), list[str](), 0
    for case in cases:
        stated = [one for one in case.facts if one[2] > 0 or one[0] == "taste"]
        facts = [fact for fact in understood(case.text).facts if fact.kind != "boundary" and fact.entity == "user"]
        heard = [key(fact) for fact in facts if keyword_class(fact) not in LATER]
        wrong += [f"{case.text} → {one}" for one in heard if not any(meets(one, other) for other in case.facts)]
        missed += [f"{case.text} → {one}" for one in stated if not any(meets(one, other) for other in heard)]
        wanted += len(stated)
    assert len(cases) > 200
    assert len(wrong) <= 0.015 * wanted, wrong
    assert len(missed) <= 0.15 * wanted, missed


def test_one_message_with_two_facts_and_what_happened_yesterday() -> None:
    understanding = understood("我住在杭州，昨天和室友吃了火锅，我讨厌香菜")

    assert [fact.text for fact in understanding.facts] == ["用户住在杭州", "用户不喜欢香菜"]
    (event,) = understanding.events
    assert event.text == "用户和室友吃了火锅", "its day stands beside the words, not within"
    assert event.happened is not None
    assert event.happened[0].date() == event.happened[1].date() == date(2025, 5, 20)
    assert (event.subject, event.predicate, event.object) == ("用户", "吃", "火锅")
    assert event.sources == ("x1",)


@pytest.mark.parametrize(
    "text", ["记住这个：\n小萌：好的，我昨天都记下了，我住在月亮上", "look:\nWren: I love olives, I moved to York"]
)
def test_a_line_that_the_user_puts_into_the_characters_mouth_is_none_of_theirs(text: str) -> None:
    understanding = understood(text, character_name=text.split("\n")[1][: 2 if text.isascii() is False else 4])
    assert understanding.facts == () and understanding.events == ()


def test_texts_are_in_the_third_person_and_keep_their_spaces() -> None:
    assert [fact.text for fact in understood("I live in New York and I really love black coffee").facts] == [
        "The user lives in New York",
        "The user likes black coffee",
    ]
    assert understood("我妈妈对花粉过敏").facts[0].text == "用户的妈妈对花粉过敏"


def test_a_fact_carries_what_core_memory_needs() -> None:
    (home,) = understood("我搬到北京了").facts
    assert (home.kind, home.entity, home.keyword, home.target, home.polarity, home.single) == (
        "attribute", "user", "住址", "北京", 1, True,
    )  # fmt: skip
    (sister,) = understood("我妹妹叫小雨").facts
    assert (sister.kind, sister.keyword, sister.target) == ("relation", "妹妹", "小雨")


def test_a_name_that_is_mentioned_is_kept_and_one_that_is_denied_is_not() -> None:
    mentioned = {"我老公阿强做饭": "阿强", "给我家猫取名咪咪": "咪咪", "my wife's name, Ana, is Spanish": "Ana"}
    denied = ("我妹妹不叫小雨", "我的猫不叫咪咪", "my sister is not called Ada", "My dog isn't called Rex")
    assert {text: [fact.target for fact in understood(text).facts] for text in mentioned} == {
        text: [name] for text, name in mentioned.items()
    }
    assert [text for text in denied if understood(text).facts] == []


def test_what_the_character_says_is_nobody_s_fact() -> None:
    assert understood("嗯").facts == ()


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("你好", "日常闲聊"), ("哈哈哈", "日常闲聊"), ("晚安", "日常闲聊"), ("吃了火锅", "用户说吃了火锅"),
        ("我昨天看了电影", "用户说昨天看了电影"), ("hello", "small talk"), ("How are you?", "small talk"),
        ("I adopted a cat yesterday", "The user says: they adopted a cat yesterday"),
    ],
)  # fmt: skip
def test_an_exchange_is_tagged_in_one_sentence(text: str, tag: str) -> None:
    assert understood(text).tags == {"x1": tag}


def test_a_question_is_tagged_as_one() -> None:
    assert understood("你喜欢吃什么？", character_name="小萌").tags["x1"] == "用户问小萌喜欢吃什么"


def test_a_long_message_keeps_its_facts_in_the_tag() -> None:
    tag = understood("今天天气真的特别好呀，" * 12 + "我住在杭州").tags["x1"]
    assert "住在杭州" in tag and len(tag) <= 70


def test_keywords_leave_names_out() -> None:
    keywords = understood("小萌，我在学吉他", character_name="小萌").keywords["x1"]
    assert "吉他" in keywords and "小萌" not in keywords


@pytest.mark.parametrize("text", ["晚安啦", "拜拜", "good night", "I gotta go"])
def test_a_farewell_changes_the_scene(text: str) -> None:
    assert understood(text).scene_changed


@pytest.mark.parametrize(
    "text",
    ["我昨晚睡得很好", "我住在杭州", "I slept well last night", "我们换个话题吧", "Let's talk about something else"],
)
def test_plain_talk_does_not_change_the_scene(text: str) -> None:
    assert not understood(text).scene_changed


def test_a_plan_is_an_event_on_its_day_and_no_fact() -> None:
    understanding = understood("我明天要去医院复查")
    assert understanding.facts == ()
    (event,) = understanding.events
    assert event.happened is not None and event.happened[0].date() == date(2025, 5, 22)


def test_what_did_not_happen_is_no_event() -> None:
    for text in (
        "如果我昨天吃了火锅就好了",
        "你昨天吃了什么？",
        "我喜欢火锅",
        "好了好了",
        "What did you eat yesterday?",
        "If I had eaten yesterday",
    ):
        assert understood(text).events == (), text


@pytest.mark.parametrize(
    ("text", "subject", "predicate", "thing"),
    [
        ("我今天去公园跑步了", "用户", "去", "公园跑步"),
        ("上周末我和爸妈看了一场电影", "用户", "看", "一场电影"),
        ("我昨天收到了录取通知书", "用户", "收到", "录取通知书"),
        ("I bought a red bicycle yesterday", "user", "bought", "red bicycle"),
        ("We had a picnic last Sunday", "user", "had", "picnic"),
    ],
)
def test_an_event_has_who_did_what(text: str, subject: str, predicate: str, thing: str) -> None:
    (event,) = understood(text).events
    assert (event.subject, event.predicate, event.object) == (subject, predicate, thing)


def test_an_english_event_is_a_sentence_about_the_user() -> None:
    texts = [event.text for event in understood("I live in Leeds, had hotpot with my roommate yesterday").events]
    assert texts == ["The user had hotpot with their roommate"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Yesterday I went to the cinema", "The user went to the cinema"),
        ("Last week we visited Rome", "The user and others visited Rome"),
        ("On 3 May I handed in my thesis", "The user handed in their thesis"),
        ("Two days ago we had a baby girl", "The user and others had a baby girl"),
        ("Yesterday she went home", None),
        ("On the bus she said I won", None),
        ("Yesterday I wanted to cry", None),
    ],
)
def test_an_english_event_may_begin_with_its_day(text: str, told: str | None) -> None:
    found = understood(text)
    assert [event.text for event in found.events if event not in found.doubtful] == ([told] if told else [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The doctor says I'm allergic to peanuts now", ["The user is allergic to peanuts"]),
        ("I'm also allergic to soy", ["The user is allergic to soy"]),
        ("I've been allergic to eggs since I was a kid", ["The user is allergic to eggs"]),
        ("I have allergies to dust and pollen", ["The user is allergic to dust", "The user is allergic to pollen"]),
        ("I'm kinda allergic to early meetings", []),
        ("The nurse says she is allergic to nuts", []),
        ("我吃花生会过敏", ["用户对花生过敏"]),
        ("我闻到花粉就过敏", ["用户对花粉过敏"]),
        ("查出来对鸡蛋和牛奶都过敏", ["用户对鸡蛋过敏", "用户对牛奶过敏"]),
        ("我猫毛过敏，但是又好想养猫", ["用户对猫毛过敏"]),
        ("我吃什么都过敏", []),
    ],
)
def test_an_allergy_is_heard_however_it_is_said(text: str, told: list[str]) -> None:
    assert [fact.text for fact in understood(text).facts] == told


def test_a_birthday_is_a_day_that_there_is() -> None:
    days = {
        "我的生日是十二月五号": ["用户的生日是12月5日"], "我的生日是1月31号": ["用户的生日是1月31日"], "我的生日是十三月五号": [],
        "我的生日是五月三十二号": [], "我的生日是0月3号": [],
    }  # fmt: skip
    assert {text: [fact.text for fact in understood(text).facts] for text in days} == days


def test_feelings_and_thanks_are_no_events() -> None:
    for text in ("我感到很焦虑", "谢谢你陪了我这么久", "我还没去过北京", "今天下雨了", "I loved that", "I was tired"):
        assert understood(text).events == (), text


def test_a_death_matters_more_than_a_meal() -> None:
    assert rate("我奶奶昨天去世了") > rate("我第一次跳伞") > rate("我昨天看了电影") > rate("我昨天吃了面")
    assert rate("my grandmother died yesterday") > rate("I ate noodles yesterday")
    assert 0.1 <= rate("我终于考上了，太激动了，答应妈妈的事做到了") <= 1.0


def test_a_later_message_is_not_needed_for_the_language() -> None:
    assert message.language_of("我喜欢 Radiohead 和 Blur") == "zh"
    assert message.language_of("I like 火锅 very much") == "en"
    assert message.language_of("123", "en") == "en"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("I fly to Berlin tomorrow", "The user flies to Berlin"),
        ("Tomorrow I teach a class", "The user teaches a class"),
        ("I don't go to work tomorrow", "The user does not go to work"),
        ("We're going to see a film tonight", "The user and others are going to see a film"),
        ("I start my new job on Monday", "The user starts their new job"),
        ("I have a dentist appointment on Friday", "The user has a dentist appointment"),
        ("My exam is on Thursday", "The user's exam is on Thursday"),
        ("My flight leaves on Sunday at 7", "The user's flight leaves"),
        ("My flight leaves today", ""),  # Of a whole day that is today nobody can tell.
        ("I have an exam today", ""),
        ("I have football on Mondays", ""),
        ("I work on Sunday mornings", ""),
        ("My mother's birthday is on May 30", ""),
    ],
)
def test_plans_in_the_present_tense_are_told_of_the_user_on_their_day(text: str, event: str) -> None:
    found = understood(text)
    sure = [(one.text, one.status) for one in found.events if one not in found.doubtful]
    assert sure == ([(event, "planned")] if event else [])


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "？", "。。。", "😀", "我", "I", "*", "“", "(((", "a" * 20000, "我" * 5000, "我喜欢" * 2000,
        "I like " * 2000, "，" * 3000,
    ],
)  # fmt: skip
def test_odd_messages_do_no_harm(text: str) -> None:
    start = time.process_time()
    assert understood(text).tags["x1"]
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    [
        "别给老周吃带虾的，会起疹子，过敏", "千万别让楠楠碰花生，一碰就肿", "不能给我弟吃芒果，会过敏",
        "tomasz has a penicillin allergy, only just found out", "mo can't have milk, it makes him ill",
        "made jollof myself, never again", "周一综合症犯了", "葡萄牙语放弃了",
    ],
)  # fmt: skip
def test_what_another_cannot_have_and_what_is_only_said_so_is_no_fact_of_the_user(text: str) -> None:
    assert not [fact for fact in understood(text).facts if fact.entity == "user" and fact.kind == "attribute"]


@pytest.mark.parametrize(
    ("text", "employers"), [("我在医院上班", ["医院"]), ("我在杭州上班", []), ("我在那里上班", [])]
)
def test_a_city_and_a_pronoun_are_no_employer(text: str, employers: list[str]) -> None:
    assert [fact.target for fact in understood(text).facts if fact.keyword == "工作单位"] == employers


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("我住在上海，我的猫叫豆豆，我妹妹叫小红", ["用户住在上海", "用户的猫叫豆豆", "用户的妹妹叫小红"]),
        ("小满，我住在上海", ["用户住在上海"]), ("Wren, I live in Leeds", ["The user lives in Leeds"]),
        ("我养了一只叫R2D2的猫", ["用户的猫叫R2D2"]), ("我家有一只猫和一只狗", ["用户养了一只猫和一只狗"]),
        ("I have a cat and a dog", ["The user has a cat and a dog"]), ("我姓罗，罗秀兰", ["用户叫罗秀兰"]),
        ("我在一家书店上班", ["用户在书店工作"]), ("我不吃葱和蒜", ["用户不吃葱", "用户不吃蒜"]),
        ("I don't eat meat", ["The user does not eat meat"]), ("第3件事，我去了北山", []),
        ("表姐养了只狗，取名芝卷儿", []), ("我朋友养了一条狗叫旺财", []), ("my brother's cat is called Gusby", []),
        ("my sister's son is called Leo", []), ("老周对猫毛过敏，上次差点进医院", []),
        ("the cat's name is Tom", ["The user has a cat called Tom"]), ("猫叫咪咪", ["用户的猫叫咪咪"]),
    ],
)  # fmt: skip
def test_plain_sentences_are_kept_as_they_are_told(text: str, facts: list[str]) -> None:
    assert [fact.text for fact in understood(text).facts if fact.kind != "boundary"] == facts


@pytest.mark.parametrize(
    "text",
    [
        "跟小邱去灵山湖边走了一圈，一只鸟也没拍到", "阿宽把碗打了，我妈骂了他一晚上",
        "头回上课，教练姓佟，嗓门大得吓人", "下班咯", "同小凡吃了碗面，原来人家有女朋友", "外面那家卖豆浆的又涨价了",
        "45 quid for parking on harrow road, i was gone ten minutes",
        "lost my phone. think i left it at the bus station", "got the new hearing aid fitted, everything rustles",
        "stopping at hers so i'm seeing to her parrot, Clyde",
    ],
)  # fmt: skip
def test_what_a_story_names_is_no_fact_of_the_user(text: str) -> None:
    assert [fact.text for fact in understood(text).facts] == []
