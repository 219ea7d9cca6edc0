"""A new fact beside an old one: the same, a replacement, or neither."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from fact_table import SEQUENCES, Sequence
from hypothesis import given
from hypothesis import strategies as st

from moechat.memory import contradiction
from moechat.memory.contradiction import relation
from moechat.model import Exchange, FactDraft
from moechat.rules import reading as rules

NOW = datetime(2025, 5, 21, 15, 0, tzinfo=timezone(timedelta(hours=8)))


def fact(
    keyword: str, target: str, polarity: int = 1, *, entity: str = "user", text: str = "", single: bool = False
) -> FactDraft:
    return FactDraft(
        text or f"{entity} {keyword} {target}",
        ("x",),
        entity=entity,
        keyword=keyword,
        target=target,
        polarity=polarity,
        single=single,
    )


TABLE = (
    # new, old, similarity, relation
    (fact("喜好", "香菜", -1), fact("喜好", "香菜"), 0.971, "supersedes"),
    (fact("喜好", "香菜"), fact("喜好", "香菜"), 1.0, "same"),
    (fact("喜好", "香菜"), fact("爱好", "香菜"), None, "same"),
    (fact("讨厌", "香菜"), fact("喜好", "香菜", -1), 0.5, "same"),
    (fact("讨厌", "香菜"), fact("喜欢", "香菜"), 0.99, "supersedes"),
    (fact("喜好", "吃香菜"), fact("喜好", "香菜"), None, "same"),
    (fact("饮食", "香菜", -1), fact("爱吃", "香菜"), None, "supersedes"),
    (fact("讨厌", "香菜", text="用户不讨厌香菜"), fact("讨厌", "香菜", -1, text="用户讨厌香菜"), 0.98, "supersedes"),
    (fact("喜好", "咖啡"), fact("喜好", "茶"), 0.95, "other"),
    (fact("喜好", "冰咖啡"), fact("喜好", "咖啡"), 0.95, "same"),
    (fact("喜好", "冰咖啡"), fact("喜好", "咖啡"), 0.7, "other"),
    (fact("喜好", "冰咖啡", -1), fact("喜好", "咖啡"), 0.99, "other"),
    (fact("住址", "北京"), fact("居住地", "杭州"), 0.9, "supersedes"),
    (fact("住址", "北京"), fact("lives in", "杭州"), 0.2, "supersedes"),
    (fact("lives_in", "in Beijing"), fact("home", "Beijing"), None, "same"),
    (fact("住址", "杭州", -1), fact("住址", "杭州"), 0.97, "supersedes"),
    (fact("住址", "上海", -1), fact("住址", "杭州"), 0.97, "other"),
    (fact("年龄", "26岁"), fact("年龄", "25"), None, "supersedes"),
    (fact("age", "25"), fact("年龄", "25岁"), None, "same"),
    (fact("宠物", "豆豆"), fact("宠物", "咪咪"), 0.96, "other"),
    (fact("宠物", "咪咪", -1), fact("宠物", "咪咪"), 0.96, "supersedes"),
    (fact("最喜欢的颜色", "绿色"), fact("最喜欢的颜色", "蓝色"), 0.97, "supersedes"),
    (fact("最喜欢", "绿色"), fact("favourite color", "blue"), 0.5, "supersedes"),
    (fact("最喜欢的水果", "芒果"), fact("最喜欢的颜色", "蓝色"), 0.9, "other"),
    (fact("喜好", "芒果", -1), fact("最喜欢的水果", "芒果"), 0.9, "supersedes"),
    (fact("喜好", "芒果"), fact("最喜欢的水果", "芒果"), 0.9, "other"),
    (fact("喜好", "香菜", entity="朋友"), fact("喜好", "香菜"), 1.0, "other"),
    (fact("住址", "北京", entity="妈妈"), fact("住址", "杭州"), 1.0, "other"),
    (fact("喜好", "香菜", -1, entity="用户"), fact("喜好", "香菜"), 1.0, "supersedes"),
    (fact("喜好", "香菜", entity="character"), fact("喜好", "香菜", -1), 1.0, "other"),
    (fact("工作单位", "字节"), fact("公司", "阿里"), None, "supersedes"),
    (fact("职业", "程序员"), fact("公司", "阿里"), None, "other"),
    (fact("感情状况", "结婚"), fact("婚姻状况", "单身"), None, "supersedes"),
    (fact("感情状况", "分手"), fact("女朋友", "林夏"), None, "supersedes"),
    (fact("女朋友", "林夏"), fact("女朋友", "小雨"), None, "supersedes"),
    (fact("妹妹", "小雨"), fact("妹妹", "小雪"), None, "other"),
    (fact("likes", "cats"), fact("likes", "cat"), None, "same"),
    (fact("dislikes", "cilantro"), fact("likes", "cilantro"), 0.98, "supersedes"),
    (fact("likes", "cilantro", -1), fact("dislikes", "cilantro"), 0.98, "same"),
    (fact("过敏", "花生"), fact("喜好", "花生"), 0.9, "other"),
    (fact("鞋码", "42", single=True), fact("鞋码", "41", single=True), None, "supersedes"),
    (fact("收藏", "邮票"), fact("收藏", "硬币"), 0.9, "other"),
)


@pytest.mark.parametrize(("new", "old", "similarity", "expected"), TABLE)
def test_the_table_of_relations(new: FactDraft, old: FactDraft, similarity: float | None, expected: str) -> None:
    assert relation(new, old, similarity) == expected


Key = tuple[str, str, int]


def key(draft: FactDraft) -> Key:
    return contradiction.keyword_class(draft).partition(":")[0], draft.target, contradiction.polarity(draft)


def remember(texts: tuple[str, ...]) -> tuple[list[Key], list[Key]]:
    """What is current and what is superseded after the messages, kept as core memory keeps facts."""
    current: list[FactDraft] = []
    superseded: list[FactDraft] = []
    for number, text in enumerate(texts):
        for new in rules.understand(Exchange(str(number), NOW, text, "")).facts:
            if new.entity != "user" or any(relation(new, old, None) == "same" for old in current):
                continue
            replaced = [old for old in current if relation(new, old, None) == "supersedes"]
            superseded += replaced
            current = [old for old in current if old not in replaced] + [new]
    return [key(one) for one in current], [key(one) for one in superseded]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: " / ".join(sequence.texts)[:40])
def test_a_change_of_mind_leaves_one_current_fact(sequence: Sequence) -> None:
    current, superseded = remember(sequence.texts)
    assert sorted(current) == sorted(sequence.current)
    assert sorted(superseded) == sorted(sequence.superseded)


drafts = st.builds(
    fact,
    st.sampled_from(["喜好", "讨厌", "住址", "年龄", "宠物", "最喜欢的颜色", "likes", "hobby", "妹妹", "x"]),
    st.sampled_from(["香菜", "杭州", "北京", "25", "蓝色", "tea", ""]),
    st.sampled_from([1, -1]),
    entity=st.sampled_from(["user", "用户", "朋友"]),
)


@given(drafts)
def test_a_fact_is_the_same_as_itself(one: FactDraft) -> None:
    assert relation(one, one, 1.0) == "same"


@given(drafts, drafts, st.none() | st.floats(-1, 1))
def test_a_similarity_never_makes_opposites_the_same(new: FactDraft, old: FactDraft, similarity: float | None) -> None:
    if relation(new, old, similarity) == "same":
        assert contradiction.polarity(new) == contradiction.polarity(old)
        assert contradiction.entity(new) == contradiction.entity(old)
        assert relation(old, new, similarity) == "same"
