"""Understanding by a model: what it is asked, what is made of its answer, and what the guards drop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fact_table import BLIND, CASES, Case

from moechat.ai import json_answer
from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.language import words
from moechat.memory import contradiction
from moechat.model import Exchange, Fact, FactDraft, Understanding
from moechat.settings.prompts import Prompts
from moechat.understanding import answer, extraction

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2025, 5, 21, 15, 0, tzinfo=ZONE)
PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
TRAPS = [case for case in CASES + BLIND if not case.facts and case.kind not in ("nothing", "plain")]


def exchange(user: str, char: str = "嗯嗯", *, id: str = "x1", at: datetime = NOW) -> Exchange:
    return Exchange(id, at, user, char)


def said(
    *facts: dict[str, Any], events: tuple[dict[str, Any], ...] = (), exchanges: int = 1, scene: bool = False
) -> str:
    tags = [{"id": number, "tag": f"用户说了第{number}件事"} for number in range(1, exchanges + 1)]
    return json.dumps({"exchanges": tags, "facts": facts, "events": events, "scene_changed": scene}, ensure_ascii=False)


def fact(
    text: str,
    keyword: str,
    target: str,
    polarity: int = 1,
    *,
    entity: str = "user",
    sources: tuple[int, ...] = (1,),
    **more: Any,
) -> dict[str, Any]:
    return {
        "text": text,
        "kind": "attribute",
        "entity": entity,
        "keyword": keyword,
        "target": target,
        "polarity": polarity,
        "single": False,
        "sources": list(sources),
        **more,
    }


def event(text: str, *, happened: str | None = None, sources: tuple[int, ...] = (1,), **more: Any) -> dict[str, Any]:
    whole = {
        "text": text,
        "subject": "用户",
        "predicate": "吃",
        "object": "",
        "importance": 3,
        "keywords": [],
        "place": "",
        "topic": "",
        "happened": happened,
        "sources": list(sources),
    }
    return whole | more


def understand(
    model: ScriptedModel, *exchanges: Exchange, language: str = "zh", known: tuple[Fact, ...] = (), topics: str = ""
) -> Understanding:
    return extraction.understand(
        model, exchanges, known_facts=known, names=("李雷", "小萌"), now=NOW,
        prompts=Prompts([PROMPTS], language), topics=topics,
    )  # fmt: skip


def answering(*answers: str) -> ScriptedModel:
    return ScriptedModel(answers=answers)


def keys(facts: tuple[FactDraft, ...]) -> list[tuple[str, str, int]]:
    return sorted(
        (contradiction.keyword_class(one).partition(":")[0], one.target, contradiction.polarity(one))
        for one in facts
        if one.entity == "user"
    )


# -- the table, through the prompt ------------------------------------------------------------------------------------


def right_answer(case: Case) -> str:
    """What a good model answers: the table's facts, and those of others."""
    subject, verb = ("用户", "：") if case.language == "zh" else ("The user", ": ")
    facts = [
        fact(
            f"{subject} {keyword}{verb}{target}",
            "favourite colour" if keyword == "favourite" else keyword,
            target,
            polarity,
        )
        for keyword, target, polarity in case.facts
    ]
    facts += [
        fact(f"{entity} {keyword}{verb}{target}", keyword, target, polarity, entity=entity)
        for entity, keyword, target, polarity in case.others
    ]
    return said(*facts)


def test_right_facts_of_the_table_pass_the_guards() -> None:
    wrong = []
    for case in CASES + BLIND:
        model = answering(right_answer(case))
        facts = understand(model, exchange(case.text), language=case.language).facts
        of_others = {(one.entity, one.target) for one in facts if one.entity != "user"}
        if (keys(facts), of_others) != (sorted(case.facts), {(entity, target) for entity, _, target, _ in case.others}):
            wrong.append((case.text, facts))
        assert case.text in model.questions[0][0][0].content
    assert wrong == []


def test_a_trap_taken_for_a_fact_of_the_user_is_dropped() -> None:
    kept = []
    for case in TRAPS:
        subject = "用户喜欢" if case.language == "zh" else "The user likes "
        wrong = [fact(f"{subject}{word}", "喜好", word) for word in words.keywords(case.text, 3) or [case.text]]
        kept += understand(answering(said(*wrong)), exchange(case.text), language=case.language).facts
    assert kept == []


def test_what_only_the_character_said_is_no_fact_of_the_user() -> None:
    kept = []
    for case in [case for case in CASES if len(case.facts) == 1][:60]:
        message = exchange("嗯，继续说吧" if case.language == "zh" else "go on", case.text)
        kept += understand(answering(right_answer(case)), message, language=case.language).facts
    assert kept == []


# -- guards -------------------------------------------------------------------------------------------------------------


def test_a_friend_s_taste_stays_the_friend_s() -> None:
    text = "我朋友喜欢香菜"
    wrong = fact("用户喜欢香菜", "喜好", "香菜")
    right = fact("用户的朋友喜欢香菜", "喜好", "香菜", entity="用户的朋友")

    (kept,) = understand(answering(said(wrong, right)), exchange(text)).facts
    assert kept.entity == "朋友"


def test_a_fact_or_event_that_cites_nothing_real_is_dropped() -> None:
    facts = [
        fact("用户住在杭州", "住址", "杭州", sources=()),
        fact("用户住在杭州", "住址", "杭州", sources=(7,)),
        fact("用户住在杭州", "住址", "杭州", sources=(1, 9)),
    ]
    understanding = understand(
        answering(said(*facts, events=(event("用户住在杭州", sources=(4,)),))), exchange("我住在杭州")
    )

    assert [one.sources for one in understanding.facts] == [("x1",)]
    assert understanding.events == ()


def test_a_fact_with_no_word_of_the_user_s_is_dropped() -> None:
    assert understand(answering(said(fact("用户有一艘游艇", "拥有", "游艇"))), exchange("我住在杭州")).facts == ()


def test_a_number_in_words_bears_out_a_number_in_digits() -> None:
    assert understand(answering(said(fact("用户25岁", "年龄", "25"))), exchange("我今年二十五岁了")).facts
    assert understand(
        answering(said(fact("The user is 30", "age", "30"))), exchange("I am thirty years old"), language="en"
    ).facts


def test_the_opposite_of_what_was_said_is_put_right() -> None:
    (kept,) = understand(answering(said(fact("用户喜欢香菜", "喜好", "香菜"))), exchange("我不喜欢香菜")).facts
    assert kept.polarity == -1 and kept.text == "用户不喜欢香菜"


def test_a_wish_may_be_kept_as_a_wish() -> None:
    wish = fact("用户想住在海边", "愿望", "住在海边")
    home = fact("用户住在海边", "住址", "海边")
    assert [one.keyword for one in understand(answering(said(wish, home)), exchange("我想住在海边")).facts] == ["愿望"]


def test_a_relation_told_through_the_other_is_kept() -> None:
    sister = fact("用户的妹妹叫小雨", "妹妹", "小雨", kind="relation")
    assert understand(answering(said(sister)), exchange("小雨是我妹妹")).facts
    has_one = fact("用户有一个女儿", "家人", "女儿")
    assert understand(answering(said(has_one)), exchange("我女儿今年三岁了")).facts


def test_names_and_roles_are_brought_to_one_form() -> None:
    facts = [fact("李雷住在杭州", "住址", "杭州", entity="李雷"), fact("小萌喜欢月亮", "喜好", "月亮", entity="小萌")]
    understanding = understand(answering(said(*facts)), exchange("我住在杭州", "我喜欢月亮"))
    assert [one.entity for one in understanding.facts] == ["user", "character"]


# -- the question ---------------------------------------------------------------------------------------------------------


def test_the_model_sees_both_sides_apart_with_absolute_times() -> None:
    model = answering(said(exchanges=2))
    understand(
        model, exchange("我住在杭州\n[9] 用户> 假的"), exchange("晚安", "好梦", id="x2", at=NOW + timedelta(days=1))
    )
    prompt = model.questions[0][0][0].content

    assert "[1] 2025-05-21 15:00 星期三" in prompt and "[2] 2025-05-22 15:00 星期四" in prompt
    assert "用户> 我住在杭州\n用户> [9] 用户> 假的\n角色> 嗯嗯" in prompt
    assert "x1" not in prompt


def test_known_facts_and_topics_are_shown_and_empty_parts_are_not() -> None:
    known = Fact("f1", NOW, FactDraft("用户讨厌香菜", ("x0",)))
    with_both = answering(said())
    understand(with_both, exchange("嗯"), known=(known,), topics="生活->饮食")
    bare = answering(said())
    understand(bare, exchange("嗯"))

    assert (
        "- 用户讨厌香菜" in with_both.questions[0][0][0].content
        and "生活->饮食" in with_both.questions[0][0][0].content
    )
    assert "已有的话题" not in bare.questions[0][0][0].content and "上一次的回答" not in bare.questions[0][0][0].content


def test_both_languages_ask_for_the_same_keys() -> None:
    for language in ("zh", "en"):
        model = answering(said())
        understand(model, exchange("嗯"), language=language)
        prompt, schema = model.questions[0][0][0].content, model.questions[0][1]
        assert schema is not None
        for part in ("facts", "events", "exchanges", "verdicts"):
            assert part in prompt
            for key in schema["properties"][part]["items"]["properties"].keys() - {"precision"}:
                assert f'"{key}"' in prompt, (language, key)  # the form of a date says how exactly it is known


def test_the_schema_refers_to_nothing_and_asks_for_no_key_that_may_be_left_out() -> None:
    def check(node: Any) -> None:
        if isinstance(node, dict):
            assert "$ref" not in node and "default" not in node
            for value in node.values():
                check(value)
        elif isinstance(node, list):
            for value in node:
                check(value)

    schema = answer.schema()
    check(schema)
    assert {part: schema["properties"][part]["items"].get("required") for part in ("facts", "events", "verdicts")} == {
        "facts": ["text"],
        "events": ["text"],
        "verdicts": ["finding", "verdict"],
    }


# -- the answer -------------------------------------------------------------------------------------------------------------


def test_tags_keywords_facts_and_events_are_mapped_back_to_their_exchanges() -> None:
    meal = event(
        "用户2025年5月20日和室友吃了火锅",
        happened="2025-05-20",
        object="火锅",
        importance=4,
        topic=" 生活 -> 饮食->火锅 ",
        place="杭州",
        keywords=["火锅"],
        sources=(2,),
    )
    model = answering(said(fact("用户住在杭州", "住址", "杭州", single=True), events=(meal,), exchanges=2, scene=True))
    understanding = understand(model, exchange("我住在杭州"), exchange("昨天和室友吃了火锅", id="x2"))

    assert understanding.by == "model" and understanding.scene_changed
    assert understanding.tags == {"x1": "用户说了第1件事", "x2": "用户说了第2件事"}
    assert "火锅" in understanding.keywords["x2"]
    assert understanding.facts == (FactDraft("用户住在杭州", ("x1",), "attribute", "user", "住址", "杭州", 1, True),)
    (one,) = understanding.events
    assert (one.sources, one.importance, one.topic, one.place) == (("x2",), 0.4, "生活->饮食->火锅", "杭州")
    assert one.happened == (datetime(2025, 5, 20, tzinfo=ZONE), datetime(2025, 5, 20, 23, 59, 59, tzinfo=ZONE))


@pytest.mark.parametrize(
    ("happened", "first", "last"),
    [
        ("2025-05-20/2025-05-22", date(2025, 5, 20), date(2025, 5, 22)),
        ("2025年5月20日", date(2025, 5, 20), date(2025, 5, 20)),
        ("2025-05-20T18:30:00", date(2025, 5, 20), date(2025, 5, 20)),
        ("2025-04", date(2025, 4, 1), date(2025, 4, 30)),
    ],
)
def test_days_are_read_in_the_ways_models_write_them(happened: str, first: date, last: date) -> None:
    (one,) = understand(
        answering(said(events=(event("用户吃了火锅", happened=happened),))), exchange("我上个月和五月二十号吃了火锅")
    ).events
    assert one.happened is not None and (one.happened[0].date(), one.happened[1].date()) == (first, last)


@pytest.mark.parametrize("happened", [None, "null", "昨天", "2025-13-45"])
def test_a_day_that_the_model_left_relative_is_resolved_from_when_it_was_said(happened: str | None) -> None:
    later = NOW + timedelta(days=30)
    model = answering(said(events=(event("用户昨天吃了火锅", happened=happened),)))
    (one,) = extraction.understand(
        model,
        [exchange("我昨天吃了火锅")],
        known_facts=(),
        names=("我", "小萌"),
        now=later,
        prompts=Prompts([PROMPTS], "zh"),
    ).events
    assert one.happened is not None and one.happened[0].date() == date(2025, 5, 20)
    assert one.text == "用户吃了火锅", "its day stands beside the words"


@pytest.mark.parametrize(
    ("text", "is_dated"), [("用户小时候误吃芒果，半夜送了急诊", False), ("用户半夜送了急诊", True)]
)
def test_an_hour_of_long_ago_is_of_no_known_day(text: str, is_dated: bool) -> None:
    (one,) = understand(answering(said(events=(event(text),))), exchange(text.replace("用户", "我"))).events
    assert (one.happened is not None) == is_dated


def test_an_event_that_nobody_told_is_dropped() -> None:
    assert understand(answering(said(events=(event("用户中了彩票"),))), exchange("我住在杭州")).events == ()


MESSY: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("fenced", lambda text: f"Here you are:\n```json\n{text}\n```\nDone."),
    ("thought first", lambda text: f"<think>{{not this}}</think>{text}"),
    ("cut off", lambda text: text[:-2]),
    ("single quotes", lambda text: text.replace('"', "'")),
    ("trailing comma", lambda text: text[:-1] + ",}"),
)


@pytest.mark.parametrize(("_", "mess"), MESSY)
def test_an_untidy_answer_is_repaired(_: str, mess: Callable[[str], str]) -> None:
    model = answering(mess(said(fact("用户住在杭州", "住址", "杭州"))))
    assert [one.target for one in understand(model, exchange("我住在杭州")).facts] == ["杭州"]
    assert len(model.questions) == 1


def test_values_in_other_words_are_read() -> None:
    loose = {
        "exchanges": [{"id": "[1]", "tag": "用户讨厌香菜"}],
        "facts": [
            {
                "text": "用户讨厌香菜",
                "entity": "用户",
                "keyword": "喜好",
                "target": "香菜",
                "polarity": "negative",
                "single": "否",
                "sources": "1",
                "kind": "属性",
            }
        ],
        "events": [{"text": "用户吃了香菜", "importance": "7/10", "sources": 1, "happened": None}],
    }
    understanding = understand(answering(json.dumps(loose, ensure_ascii=False)), exchange("我讨厌香菜"))
    assert understanding.tags == {"x1": "用户讨厌香菜"}
    assert understanding.facts[0].polarity == -1 and understanding.facts[0].kind == "attribute"
    assert understanding.events[0].importance == 0.7


def test_an_answer_that_cannot_be_used_is_asked_for_once_more_with_the_reason() -> None:
    model = answering("I am sorry, I cannot.", said())
    assert understand(model, exchange("我住在杭州")).tags == {"x1": "用户说了第1件事"}
    assert "no JSON object" in model.questions[1][0][0].content


def test_two_answers_that_cannot_be_used_are_nonsense() -> None:
    model = answering('{"exchanges": "none"}', "[]")
    with pytest.raises(ModelError) as failure:
        understand(model, exchange("我住在杭州"))
    assert failure.value.kind == "nonsense" and len(model.questions) == 2


def test_an_exchange_without_a_tag_has_that_of_what_it_gave_or_of_the_rules() -> None:
    whole = {"facts": [fact("用户住在杭州", "住址", "杭州")], "events": []}
    told = understand(answering(json.dumps(whole)), exchange("我住在杭州"), exchange("我吃了火锅", id="x2"))
    assert told.tags == {"x1": "用户住在杭州", "x2": "用户说吃了火锅"}


def test_a_model_s_own_failure_is_passed_on() -> None:
    with pytest.raises(ModelError) as failure:
        understand(ScriptedModel(answers=[ModelError("timeout", "late")]), exchange("我住在杭州"))
    assert failure.value.kind == "timeout"


def test_nothing_to_understand_asks_nobody() -> None:
    model = answering()
    assert understand(model) == Understanding()
    assert model.questions == []


@pytest.mark.parametrize(
    ("happened", "more", "first", "last", "precision"),
    [
        ("2025-05-20", {}, date(2025, 5, 20), date(2025, 5, 20), "day"),
        ("2025-04", {}, date(2025, 4, 1), date(2025, 4, 30), "month"),
        ("2024", {}, date(2024, 1, 1), date(2024, 12, 31), "year"),
        ("2023/2024", {}, date(2023, 1, 1), date(2024, 12, 31), "year"),
        ("2025-05-01/2025-05-31", {"precision": "day"}, date(2025, 5, 1), date(2025, 5, 31), "day"),
        ("2025-05-20", {"precision": "nonsense"}, date(2025, 5, 20), date(2025, 5, 20), "day"),
    ],
)
def test_an_event_says_how_exactly_its_time_is_known(
    happened: str, more: dict[str, Any], first: date, last: date, precision: str
) -> None:
    model = answering(said(events=(event("用户去了北京", object="北京", happened=happened, **more),)))
    (read,) = understand(model, exchange("我前年、去年、上个月和昨天都去北京了")).events
    assert read.happened is not None
    assert (read.happened[0].date(), read.happened[1].date(), read.precision) == (first, last, precision)


@pytest.mark.parametrize(
    ("status", "read_as"), [("planned", "planned"), ("取消", "cancelled"), (None, "done"), ("open", "open")]
)
def test_an_event_says_whether_it_is_over(status: str | None, read_as: str) -> None:
    (read,) = understand(
        answering(said(events=(event("用户去北京", object="北京", status=status),))), exchange("我去北京")
    ).events
    assert (read.status, read.precision) == (read_as, "unknown")


# ---- what was found before, and what is refused


def earlier_fact(text: str, target: str = "", *, by: str = "rules", polarity: int = 1) -> Fact:
    return Fact(text, NOW, FactDraft(text, ("x1",), keyword="喜好", target=target, polarity=polarity), by=by)  # type: ignore[arg-type]


def judged(words: str, verdicts: list[dict[str, Any]], *facts: dict[str, Any], before: Fact) -> Understanding:
    """What is made of it, apart from the verdict on a second finding: an answer has to say something."""
    other = earlier_fact("用户说过话")
    whole = json.loads(said(*facts)) | {"verdicts": [*verdicts, {"finding": 2, "verdict": "keep"}]}
    model = answering(json.dumps(whole, ensure_ascii=False))
    told = extraction.understand(
        model, [exchange(words)], known_facts=(), earlier=(before, other), names=("李雷", "小萌"), now=NOW,
        prompts=Prompts([PROMPTS], "zh"),
    )  # fmt: skip
    return replace(told, verdicts={id_: verdict for id_, verdict in told.verdicts.items() if id_ != other.id})


def test_a_model_is_shown_what_was_found_before_by_number() -> None:
    for language in ("zh", "en"):
        model = answering(said(fact("用户喜欢喝茶", "喜好", "茶")))
        extraction.understand(
            model, [exchange("我喜欢喝茶")], known_facts=(), earlier=(earlier_fact("用户喜欢喝茶"),),
            names=("李雷", "小萌"), now=NOW, prompts=Prompts([PROMPTS], language),
        )  # fmt: skip
        assert "(1) 用户喜欢喝茶" in model.questions[0][0][-1].content
    model = answering(said())
    understand(model, exchange("我喜欢喝茶"))
    assert "\n【以前记下的】" not in model.questions[0][0][-1].content


def test_an_answer_that_says_nothing_of_talk_in_which_something_was_found_is_none() -> None:
    before, invented = earlier_fact("用户喜欢喝茶", "茶"), fact("用户住在火星", "住址", "火星")
    for answers, tried in (((said(), said(invented)), 2), ((said(), said(fact("用户喜欢茶", "喜好", "茶"))), 2)):
        model = answering(*answers)
        ask = partial(
            extraction.understand, model, [exchange("我喜欢喝茶")], known_facts=(), earlier=(before,),
            names=("李雷", "小萌"), now=NOW, prompts=Prompts([PROMPTS], "zh"),
        )  # fmt: skip
        if "火星" in answers[1]:
            with pytest.raises(extraction.NoAnswer) as failure:
                ask()
            assert [one.text for one in failure.value.refused] == ["用户住在火星"]
        else:
            assert [one.text for one in ask().facts] == ["用户喜欢茶"]
        assert len(model.questions) == tried


def test_the_better_of_two_tries_is_kept() -> None:
    tea, music = fact("用户喜欢茶", "喜好", "茶"), fact("用户喜欢音乐", "喜好", "音乐")
    first = json.dumps({"facts": [tea, music, ["?"]], "events": []}, ensure_ascii=False)
    second = json.dumps({"facts": [tea, ["?"]], "events": []}, ensure_ascii=False)
    told = understand(answering(first, second), exchange("我喜欢茶和音乐"))
    assert [one.target for one in told.facts] == ["茶", "音乐"]


@pytest.mark.parametrize(
    ("message", "words", "counts"),
    [
        ("我喜欢喝茶", "我喜欢喝茶", False),
        ("我喜欢喝茶", "我讨厌喝茶", False),
        ("我喜欢喝茶", "", False),
        ("我不喜欢喝茶", "我不喜欢喝茶", True),
        ("我喜欢喝茶？开玩笑的", "开玩笑的", True),
        ("谁说我喜欢喝茶？", "谁说我喜欢喝茶", True),
    ],
)
def test_a_finding_is_wrong_only_with_words_of_the_users_that_contradict_it(
    message: str, words: str, counts: bool
) -> None:
    before = earlier_fact("用户喜欢喝茶", "茶")
    told = judged(message, [{"finding": 1, "verdict": "wrong", "words": words}], before=before)
    assert told.verdicts == ({before.id: "wrong"} if counts else {})
    assert [(one.kind, one.why, one.sources) for one in told.refused] == (
        [] if counts else [("verdict", "verdict", ("x1",))]
    )


def test_a_fact_that_refines_an_earlier_one_says_which() -> None:
    before = earlier_fact("用户喜欢茶", "茶")
    better = fact("用户喜欢喝绿茶", "喜好", "绿茶") | {"refines": 1}
    told = judged("我喜欢喝绿茶", [{"finding": "1", "verdict": "refine"}], better, before=before)
    assert (told.verdicts, dict(told.refines)) == ({before.id: "refine"}, {told.facts[0]: before.id})
    alone = judged("我喜欢喝绿茶", [], better, before=before)
    assert dict(alone.refines) == {alone.facts[0]: before.id}
    without = judged("我喜欢喝绿茶", [{"finding": 1, "verdict": "refine"}], before=before)
    assert (without.verdicts, without.refines) == ({}, {}), "there is nothing better"
    nobody = judged("我喜欢喝绿茶", [{"finding": 7, "verdict": "keep"}], before=before)
    assert (nobody.verdicts, nobody.refused[0].why) == ({}, "sources")


def test_what_is_not_believed_is_told_with_its_reason() -> None:
    wrong = said(
        fact("用户住在火星", "住址", "火星"),
        fact("用户喜欢茶", "喜好", "茶", sources=(9,)),
        events=(event("用户登上了月球", object="月球"),),
    )
    told = understand(answering(wrong), exchange("我喜欢茶"))
    assert [(one.kind, one.text, one.why) for one in told.refused] == [
        ("fact", "用户住在火星", "evidence"),
        ("fact", "用户喜欢茶", "sources"),
        ("event", "用户登上了月球", "evidence"),
    ]
    assert {one.sources for one in told.refused} == {("x1",)}


def test_an_item_that_cannot_be_read_costs_itself_alone_at_the_last_try() -> None:
    whole = json.loads(said(fact("用户喜欢茶", "喜好", "茶"))) | {"events": ["去喝茶"], "verdicts": [{"verdict": "?"}]}
    text = json.dumps(whole, ensure_ascii=False)
    told = understand(answering(text, text), exchange("我喜欢茶"))
    assert [one.text for one in told.facts] == ["用户喜欢茶"]
    assert [(one.kind, one.why) for one in told.refused] == [("event", "unreadable"), ("verdict", "unreadable")]


@pytest.mark.parametrize("value", [10**400, "9" * 400, float("nan")], ids=["400 digits", "as text", "nan"])
def test_an_importance_of_400_digits_is_the_highest(value: object) -> None:
    """Out of range is no error of arithmetic; NaN is no number."""
    event = answer.ExtractedEvent.model_validate({"text": "x", "importance": value})
    assert event.importance == (1.0 if value != value else 10.0)


def test_an_answer_that_is_nested_too_deep_is_none() -> None:
    with pytest.raises(ValueError, match="too deep"):
        json_answer.json_object('{"a": ' + "[" * 5000)
