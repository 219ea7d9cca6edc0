"""Topics without a model: the nearest existing one, else a shallow path."""

from __future__ import annotations

import time

import pytest

from moechat.index.topic import TopicTable
from moechat.model import Event
from moechat.rules.topics import path_for, paths_in
from moechat.topic_path import EVERYDAY, topic_path


def event(text: str, object_: str = "", *keywords: str) -> Event:
    return Event(text, ("e1",), object=object_, keywords=keywords)


def tree(*paths: str) -> TopicTable:
    index = TopicTable()
    for key, path in enumerate(paths):
        index.record(key, path, 0.0)
    return index


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("用户昨天（2025-05-20）和室友吃了火锅", "饮食->火锅"), ("用户加班到十点", "工作->加班"),
        ("用户通过了英语六级考试", "学习->考试"), ("用户的妈妈来看他们", "家人->妈妈"), ("用户失眠了", "健康->睡眠"),
        ("用户养了一只小猫", "宠物->猫"), ("用户去海边度假了", "旅行->海边"), ("用户看了一场电影", "娱乐->电影"),
        ("用户跑步五公里", "运动->跑步"), ("用户和男朋友分手了", "感情->恋爱"), ("今天下雨用户没带雨伞", "天气->雨"),
        ("用户买了一条裙子", "购物->衣服"), ("用户搬到北京了", "居住->搬家"),
        ("The user had hotpot with a roommate", "food->hotpot"), ("The user got fired", "work->job hunting"),
        ("The user's dog died", "pets->dog"), ("The user went hiking in the mountains", "sports->hiking"),
        ("The user's boyfriend proposed", "love->dating"), ("The user lost the keys", "everyday"),
        ("用户丢了钥匙", "日常"),
    ],
)  # fmt: skip
def test_an_everyday_event_gets_a_shallow_path(text: str, path: str) -> None:
    assert path_for(event(text), TopicTable()) == path
    assert path_for(event(text)) == path
    assert topic_path(path) == path


def test_what_only_looks_like_a_cue_is_none() -> None:
    assert path_for(event("用户吃惊地发现了一只猫头鹰")) == EVERYDAY["zh"]
    assert path_for(event("the user is a concatenation of bussing")) == EVERYDAY["en"]


def test_an_existing_topic_is_reused() -> None:
    topics = tree("爱好->观鸟", "项目->MoeChat", "美食->火锅")
    assert path_for(event("用户去观鸟了", "观鸟"), topics) == "爱好->观鸟"
    assert path_for(event("The user finished the MoeChat release", "moechat release"), topics) == "项目->MoeChat"
    assert path_for(event("用户吃了火锅", "火锅"), topics) == "美食->火锅"


def test_the_tables_own_place_is_kept_where_it_is_there_already() -> None:
    friends, meals = "朋友->火锅", "饮食->火锅"
    topics = tree(meals, friends, friends, friends, meals, meals)
    assert path_for(event("用户吃了火锅", "火锅"), topics) == "饮食->火锅"


def test_a_broader_topic_does_not_swallow_a_narrower_one() -> None:
    topics = tree("饮食", "日常", "家人->妈妈")
    assert path_for(event("用户吃了火锅", "火锅"), topics) == "饮食->火锅"
    quarrel = Event("用户和妈妈吵架了", ("e1",), predicate="吵架")
    assert path_for(quarrel, topics) == "感情->争吵"


def test_a_message_speaks_of_the_topics_of_its_words() -> None:
    assert paths_in("我上次去吃火锅是和室友一起吗")[0] == "饮食->火锅"
    assert paths_in("How is my dog?") == ["pets->dog"]
    assert paths_in("嗯嗯") == []
    assert paths_in("") == []


def test_naming_is_quick_however_long_the_text() -> None:
    topics = tree(*(f"类{i}->题{i}" for i in range(500)))
    long = event("用户和室友去海边看了日出然后吃了火锅，" * 200, "火锅")
    path_for(long, topics)
    begun = time.process_time()
    for _ in range(20):
        path_for(event("用户昨天和室友在海边吃了火锅还看了电影", "火锅", "海边"), topics)
    assert (time.process_time() - begun) / 20 < 0.005  # a fifth of a millisecond on a free machine
    path_for(long, topics)
