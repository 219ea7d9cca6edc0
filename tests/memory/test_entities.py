"""Entity search: whose fact it is, what each version of seed 004 finds and calls it, against a plain nested loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moechat.cue import Cue
from moechat.index.lexical import Substrings
from moechat.language.association import Association, shipped
from moechat.memory.contradiction import FactView, FiledFacts, group
from moechat.memory.entities import Asked, Entities, EntityIndex, FactMatch, Version
from moechat.model import Fact, FactDraft
from moechat.settings.schema import AssociationSettings

NOW = datetime(2025, 5, 20, 15, tzinfo=ZoneInfo("Asia/Shanghai"))
VERSIONS: tuple[Version, ...] = ("v18", "v22", "v23", "v23_es")


def fact(id_: str, text: str, *, days: float = 1, **draft: object) -> Fact:
    return Fact(id_, NOW - timedelta(days=days), FactDraft(text, (f"x{id_}",), **draft))  # type: ignore[arg-type]


FACTS = [
    fact("taste", "用户喜欢莫兰迪色系", keyword="审美", target="莫兰迪色系"),
    fact("food", "用户不吃香菜", keyword="喜好", target="香菜", polarity=-1, days=2),
    fact("name", "朵朵是南京人", keyword="家乡", target="南京", entity="朵朵", days=3),
    fact("roommate", "小林是朵朵的室友", keyword="室友", target="小林", kind="relation", days=4),
    fact("friend", "小林最喜欢香菜", keyword="喜好", target="香菜", entity="小林", days=5),
    fact("boss", "小林和老周一起开店", keyword="合伙人", target="老周", entity="小林", kind="relation", days=6),
    fact("guest", "小林常请用户吃火锅", keyword="饭友", target="用户", entity="小林", kind="relation", days=7),
    fact("sea", "沈砚答应在5月20日朵朵生日那天陪她看海", keyword="约定", target="user", entity="character", kind="relation",
         days=400),
    fact("glass", "沈砚的眼睛是蓝紫色", keyword="眼睛", target="蓝紫色", entity="沈砚", days=9),
    fact("cats", "猫怕黄瓜", keyword="习性", target="黄瓜", entity="猫", generic=True, days=10),
    fact("dusk", "黄昏的画廊里，朵朵的裙子被染成红色", keyword="画廊", kind="picture", days=11),
]  # fmt: skip


def indexed(facts: Sequence[Fact], files: FiledFacts | None = None) -> EntityIndex:
    files = files or FiledFacts("朵朵", "沈砚")
    return EntityIndex(FactView(files, files.filed(facts)))


INDEX = indexed(FACTS)


def search(*words: str, version: Version = "v23_es", facts: Sequence[Fact] = (), **more: object) -> list[FactMatch]:
    index = indexed(facts) if facts else INDEX
    return index.search([(word, None) for word in words], now=NOW, version=version, **more)  # type: ignore[arg-type]


def ids(found: Sequence[FactMatch]) -> list[str]:
    return [one.fact.id for one in found]


def labels(found: Sequence[FactMatch]) -> dict[str, str]:
    return {one.fact.id: one.label for one in found}


# ---- whose fact it is


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("entity", ["小林", "朋友", "我朋友", "朵朵的妹妹", "friend", "user's friend", "沈砚的姐姐"])
def test_a_friends_taste_is_never_the_users(entity: str, version: Version) -> None:
    told = fact("f", f"{entity}喜欢香菜", keyword="喜好", target="香菜", entity=entity)
    mine = fact("u", "用户讨厌香菜", keyword="喜好", target="香菜")
    found = labels(search("香菜", "喜好", entity, version=version, facts=[told, mine]))
    assert found["u"] == "用户属性"
    assert found["f"] == {"v18": "其他属性", "v22": "属性", "v23": "特殊实体属性", "v23_es": "特殊实体属性"}[version]


@pytest.mark.parametrize("entity", ["user", "用户", "我", "User", "朵朵", ""])
def test_the_user_is_known_by_every_name(entity: str) -> None:
    assert group(FactDraft("住在杭州", (), entity=entity), "朵朵", "沈砚") == "user.attribute"


def test_a_relation_of_someone_else_with_the_user_is_told_from_one_among_others() -> None:
    assert labels(search("饭友", "合伙人", version="v23")) == {
        "guest": "与主体和客体的关系",
        "boss": "与其它实体的关系",
    }


# ---- the versions


def test_v18_takes_the_users_facts_before_others_and_the_newest_first() -> None:
    found = search("喜好", "香菜", "室友", "小林", version="v18")
    assert [(one.fact.id, one.label, one.stage) for one in found] == [
        ("food", "用户属性", 1), ("roommate", "用户关系", 1), ("friend", "其他属性", 2), ("boss", "其他关系", 2),
        ("guest", "其他关系", 2),
    ]  # fmt: skip
    assert found[0].matched == ("喜好", "香菜") and found[3].matched == ("小林",)
    assert found[0].score == 0.0


def test_v22_adds_the_name_to_what_is_told_of_others_and_v23_takes_relations_first() -> None:
    lily = fact("lily", "开在画廊窗边", keyword="样子", entity="蓝玫瑰")
    found = search("蓝玫瑰", "画廊", "约定", version="v22", facts=[*FACTS, lily])
    rows = [("sea", "与主体和客体的关系"), ("lily", "属性"), ("dusk", "记忆画面")]
    assert [*labels(found).items()] == rows and found[1].text == "蓝玫瑰开在画廊窗边"
    rows = [("sea", "与主体和客体的关系"), ("food", "用户属性"), ("friend", "特殊实体属性")]
    assert [*labels(search("约定", "喜好", version="v23")).items()] == rows


def test_a_birthday_told_only_in_a_relation_is_missed_by_v23_and_found_by_v23_es() -> None:
    assert search("生日", version="v23") == []
    (found,) = search("生日")
    assert (found.fact.id, found.label, found.matched) == ("sea", "与主体和客体的关系", ("生日",))


@pytest.mark.parametrize("version", VERSIONS)
def test_names_of_user_and_character_find_nothing(version: Version) -> None:
    assert search("朵朵", "沈砚", "用户", version=version) == []


def test_a_part_of_a_name_does_not_find_every_fact_of_its_bearer() -> None:
    index = indexed([fact("a", "林小雨住在杭州", keyword="住址")], FiledFacts("林小雨", "沈砚"))
    assert index.search([("小雨", None)], now=NOW) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_limits_and_empty_searches(version: Version) -> None:
    assert len(search("喜好", "小林", "约定", version=version, limit=1)) == 1
    assert search("喜好", version=version, limit=0) == []
    assert search(version=version) == search("", " ", "!!", "没有的词", version=version) == []
    empty = indexed([])
    assert empty.search([("喜好", None)], now=NOW, version=version) == []


def test_an_unknown_version_is_named() -> None:
    with pytest.raises(ValueError, match="v24"):
        search("喜好", version="v24")  # type: ignore[arg-type]


# ---- v23_es


def test_a_fact_of_the_future_counts_as_of_today() -> None:
    (found,) = search("海边", facts=[fact("a", "下周去海边", days=-7)])
    assert found.score == pytest.approx(0.8 / 2 + 0.2)


def test_the_threshold_holds_for_v23_es_alone_and_includes_its_bound() -> None:
    told = [fact("a", "在海边", days=36500)]
    assert ids(search("海边", facts=told, threshold=0.4)) == ["a"]
    assert search("海边", facts=told, threshold=0.41) == []
    assert ids(search("喜好", version="v18", threshold=0.9)) == ["food", "friend"]


# ---- English


def test_english_is_searched_by_whole_words_and_their_forms() -> None:
    facts = [
        fact("a", "The user has two cats", keyword="pets", days=1),
        fact("b", "The user values education", keyword="belief", days=2),
        fact("c", "The user hates ice cream", keyword="taste", days=3),
        fact("d", "The cream is on the ice", keyword="note", days=4),
    ]
    assert ids(search("cat", facts=facts)) == ["a"]
    assert ids(search("pet", facts=facts)) == ["a"]
    assert ids(search("ice cream", facts=facts)) == ["c"]
    assert search("user", "the user", facts=facts) == []


# ---- against plain loops

_TEXT = st.text(alphabet="猫狗海边生日x Tt恤", max_size=8)
_WORD = st.text(alphabet="猫狗海边生日t恤", max_size=4)


@given(st.lists(_TEXT, max_size=8), st.lists(_WORD, max_size=8))
def test_the_index_finds_chinese_words_where_plain_search_does(texts: list[str], asked: list[str]) -> None:
    index = Substrings()
    for number, text in enumerate(texts):
        index.add(number, text)
    for word in asked:
        if any(char >= "\u3040" for char in word):
            assert list(index.numbers(word)) == [i for i, text in enumerate(texts) if word in text.lower()]


_FACT = st.builds(
    lambda number, text, keyword, entity, target, kind, generic: fact(
        str(number), text, keyword=keyword, entity=entity, target=target, kind=kind, generic=generic, days=number % 5
    ),
    st.integers(0, 10**6), _TEXT, _WORD, st.sampled_from(["user", "character", "朵朵", "小林", "猫"]),
    st.sampled_from(["", "user", "沈砚", "老周"]), st.sampled_from(["attribute", "relation", "picture"]), st.booleans(),
)  # fmt: skip
_ASKED = st.lists(st.tuples(_WORD.filter(lambda word: word.strip("t")), st.none() | st.integers(1, 14)), max_size=6)

# The contract's table once more, in the plainest form: (stage's facts, fields), by version.
PLAIN = {
    "v18": [(("user.a", "user.r"), "kd"), (("character.a", "character.r", "other.a", "other.b", "other.r"), "ke")],
    "v22": [
        (("user.a",), "kd"),
        (("user.r", "character.r", "other.b"), "k"),
        (("particular.a",), "e"),
        (("picture",), "k"),
    ],
    "v23": [(("user.r", "character.r", "other.b"), "k"), (("user.a",), "kd"), (("particular.a", "particular.r"), "k")],
    "v23_es": [(("user.a", "user.r", "character.a", "character.r", "other.a", "other.b", "other.r", "picture"), "ked")],
}


def kinds(draft: FactDraft) -> set[str]:
    if draft.kind == "picture":
        return {"picture"}
    whose = {"user": "user", "朵朵": "user", "character": "character"}.get(draft.entity, "other")
    with_the_two = draft.kind == "relation" and whose == "other" and draft.target in ("user", "沈砚")
    kind = "b" if with_the_two else draft.kind[0]
    return {f"{whose}.{kind}"} | ({f"particular.{kind}"} if whose == "other" and not draft.generic else set())


def plain(facts: Sequence[Fact], asked: Sequence[Asked], version: Version) -> list[tuple[str, tuple[str, ...], float]]:
    taken: set[int] = set()
    found = []
    weights: dict[str, float] = {}
    for word, level in asked:
        weights[word] = max(weights.get(word, 0.0), 1.0 if level is None else min(level, 12) / 12)
    order = sorted(range(len(facts)), key=lambda i: (facts[i].at, facts[i].id), reverse=True)
    for members, fields in PLAIN[version]:
        for i in order:
            draft = facts[i].draft
            if i in taken or not kinds(draft) & set(members):
                continue
            entity = "" if draft.entity in ("user", "character", "朵朵") else draft.entity
            texts = {"k": draft.keyword, "e": entity, "d": draft.text}
            hits, total = [], 0.0
            for word, weight in weights.items():
                for name in fields:
                    short = name == "d" and len(word) < 2 and version in ("v23", "v23_es")
                    if word in texts[name].lower() and not short:
                        hits.append(word)
                        total += weight * {"k": 3, "e": 2, "d": 1}[name]
            if hits:
                days = (NOW - facts[i].at).total_seconds() / 86400
                score = 0.8 * total / (total + 1) + 0.2 * math.exp(-days / 30) if version == "v23_es" else 0.0
                taken.add(i)
                found.append((facts[i].id, tuple(dict.fromkeys(hits)), round(score, 9)))
    return sorted(found, key=lambda one: -one[2])


@pytest.mark.parametrize("version", VERSIONS)
@given(facts=st.lists(_FACT, max_size=12, unique_by=lambda one: one.id), asked=_ASKED)
def test_every_version_finds_what_a_plain_nested_loop_finds(
    version: Version, facts: list[Fact], asked: list[Asked]
) -> None:
    found = indexed(facts).search(asked, now=NOW, version=version)
    assert [(one.fact.id, one.matched, round(one.score, 9)) for one in found] == plain(facts, asked, version)


_STEP = st.lists(st.tuples(_FACT, st.integers(0, 3), st.sampled_from(["join", "leave", "change"])), max_size=4)


@given(st.lists(_FACT, max_size=8, unique_by=lambda one: one.id), st.lists(_STEP, min_size=1, max_size=4))
def test_an_index_that_follows_changes_is_the_same_as_a_new_one(
    facts: list[Fact], steps: list[list[tuple[Fact, int, str]]]
) -> None:
    files, current = FiledFacts("朵朵", "沈砚"), {one.id: one for one in facts}
    files.filed(facts)
    asked: list[Asked] = [("猫", None), ("生日", 7), ("海边", 3), ("恤", 9), ("猫狗海", 2)]
    for step in steps:
        for new, at, change in step:
            if change == "join" or at >= len(current):
                current[new.id] = new
            else:
                old = current.pop(list(current)[at])
                if change == "change":
                    current[old.id] = replace(old, draft=new.draft)
        index, fresh = indexed(list(current.values()), files), indexed(list(current.values()))
        for version in VERSIONS:
            assert index.search(asked, now=NOW, version=version) == fresh.search(asked, now=NOW, version=version)
        for word in ("猫", "生日", "小林", "老周", "user"):
            for kept, anew in ((files.words, fresh.view.files.words), (files.names, fresh.view.files.names)):
                assert (word in kept) == (word in anew)


def test_nothing_stays_in_the_index_of_a_fact_that_left() -> None:
    files = FiledFacts("朵朵", "沈砚")
    files.filed([fact("a", "小林在灯塔 Lighthouse 下养猫", keyword="宠物", entity="小林")])
    files.filed([])
    assert not any(map(len, (files.words, files.names, files.keywords, files.classes, files.matters)))
    assert not any(texts._texts or len(texts._parts) for texts in files.fields.values())


# ---- the recipe


USUAL = AssociationSettings()


class Told:
    def associations(self, word: str) -> Sequence[Association]:
        return {"失恋": [("火锅", 9)]}.get(word, [])


def recipe(facts: list[Fact]) -> Entities:
    return Entities(lambda: indexed(facts).view, [Told()])


def test_the_recipe_recalls_a_fact_by_what_the_message_brings_to_mind() -> None:
    entities = recipe(FACTS)
    (hit,) = entities.search(Cue("室友今天失恋了", NOW), USUAL, threshold=0.45, limit=1)
    assert (hit.layer, hit.recipe, hit.id, hit.words) == ("core", "entities", "roommate", ("室友", "小林"))
    guest = next(hit for hit in entities.search(Cue("室友今天失恋了", NOW), USUAL) if hit.id == "guest")
    assert (guest.words, guest.sources, guest.time) == (("小林", "火锅"), ("xguest",), FACTS[6].at)


def test_the_characters_last_reply_is_heard_but_never_before_the_users_words() -> None:
    reply = "沈砚：约定了去看海，画廊、灯塔、潮水、贝壳、海鸥、渔火、礁石、帆船、珊瑚、水母，你都喜欢吗？"
    expansion = recipe(FACTS).expansion("香菜呢", reply)
    assert expansion.base[0] == "香菜" and len(expansion.base) == 10 and "沈砚" not in expansion.base


def test_facts_are_found_by_whom_the_reply_names_and_not_by_its_other_words() -> None:
    taste = fact("taste", "用户喜欢吃饭时看书", keyword="喜好", target="吃饭")
    friend = fact("friend", "小林怕黑", keyword="害怕", target="黑", entity="小林")
    entities = recipe([taste, friend])
    assert {
        hit.id for hit in entities.search(Cue("他又睡不着了", NOW, "小林呢？忙归忙，吃饭要紧"), USUAL, limit=None)
    } == {"friend"}


def test_a_friend_is_found_by_a_name_that_no_dictionary_has() -> None:
    told = fact("z", "朱砉喜欢下棋", keyword="喜好", target="下棋", entity="朱砉")
    other = fact("o", "朱老师姓朱", keyword="姓", entity="朱老师")
    assert [hit.id for hit in recipe([told, other]).search(Cue("朱砉最近好吗", NOW), USUAL)] == ["z"]


@pytest.mark.parametrize(
    ("bond", "name", "text"),
    [
        ("弟弟", "林柯", "我弟最近在忙啥"),
        ("弟弟", "林柯", "我家弟弟呢"),
        ("女朋友", "小雨", "女朋友喜欢什么"),
        ("sister", "Ada", "how are my sisters"),
        ("best_friend", "Ada", "my best friend"),
    ],
)
def test_whom_a_message_names_by_what_they_are_to_the_user_brings_their_facts(bond: str, name: str, text: str) -> None:
    bound = fact("bond", f"{bond} {name}", kind="relation", keyword=bond, target=name)
    plays = fact("plays", f"{name} ♟", keyword="♟", entity=name)
    entities = recipe([bound, plays])
    assert "plays" in ids_of(entities, text)
    assert "plays" not in ids_of(entities, "弟子规是谁写的 sisal"), "a word that only begins alike names nobody"
    assert "plays" not in ids_of(recipe([replace(bound, draft=replace(bound.draft, polarity=-1)), plays]), text)


def test_the_recipe_sees_a_new_fact_at_once_and_a_superseded_one_no_longer() -> None:
    facts = [FACTS[1]]
    entities = recipe(facts)
    assert ids_of(entities, "香菜") == ["food"]
    facts[:] = [fact("new", "用户现在爱吃香菜", keyword="喜好")]
    assert ids_of(entities, "香菜") == ["new"]


def ids_of(entities: Entities, text: str) -> list[str]:
    return [hit.id for hit in entities.search(Cue(text, NOW), USUAL)]


def test_the_shipped_table_leads_from_a_word_to_a_fact_that_lacks_it() -> None:
    facts = [fact("a", "用户花生过敏", keyword="过敏", target="花生")]
    entities = Entities(lambda: indexed(facts).view, [shipped()])
    assert ids_of(entities, "晚上去吃海鲜怎么样") == ["a"]
