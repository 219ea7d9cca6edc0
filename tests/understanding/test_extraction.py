"""Understanding by a model: what it is asked, what is made of its answer, and what the guards drop."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.errors import ModelError
from moechat.memory import contradiction
from moechat.model import Episode, Event, Exchange, Fact, FactDraft, Understanding
from moechat.settings.prompts import Prompts
from moechat.understanding import answer, extraction
from tests.fact_table import BLIND, CASES, Case
from tests.houses import quoted

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2025, 5, 21, 15, 0, tzinfo=ZONE)
PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


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
        "text": text, "kind": "attribute", "entity": entity, "keyword": keyword, "target": target, "polarity": polarity,
        "single": False, "sources": list(sources), **more,
    }  # fmt: skip


def event(text: str, *, happened: str | None = None, sources: tuple[int, ...] = (1,), **more: Any) -> dict[str, Any]:
    whole = {
        "text": text, "subject": "用户", "predicate": "吃", "object": "", "importance": 3, "keywords": [], "place": "",
        "topic": "", "happened": happened, "sources": list(sources),
    }  # fmt: skip
    return whole | more


def understand(model: ScriptedModel, *exchanges: Exchange, language: str = "zh", **more: Any) -> Understanding:
    """What a model that was right until now makes of the exchanges."""
    usual = {"names": ("李雷", "小萌"), "now": NOW, "prompts": Prompts([PROMPTS], language), "record": (9, 9)}
    return extraction.understand(model, exchanges, **usual | more)


def answering(*answers: str) -> ScriptedModel:
    """Each finding quotes the message that it cites, unless it has a quote."""
    return ScriptedModel(answers=quoted(answers))


def sure(told: Understanding) -> tuple[FactDraft, ...]:
    return tuple(draft for draft in told.facts if draft not in told.doubtful)


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


def test_right_facts_of_the_table_pass_the_gate() -> None:
    wrong = []
    for case in CASES + BLIND:
        model = answering(right_answer(case))
        facts = sure(understand(model, exchange(case.text), language=case.language))
        of_others = {(one.entity, one.target) for one in facts if one.entity != "user"}
        if (keys(facts), of_others) != (sorted(case.facts), {(entity, target) for entity, _, target, _ in case.others}):
            wrong.append((case.text, facts))
        assert case.text in model.questions[0][0][0].content
    assert [text for text, _ in wrong] == [
        "Where do you live? I live in Oslo.",
        "我住在火星，骗你的，其实我住在苏州",
        "Haha, just kidding, I don't live in Paris",
    ], "what is said beside a question or in jest is in doubt"


def test_what_only_the_character_said_is_no_fact_of_the_user() -> None:
    kept = []
    for case in [case for case in CASES if len(case.facts) == 1][:60]:
        message = exchange("嗯，继续说吧" if case.language == "zh" else "go on", case.text)
        facts = json.loads(right_answer(case))["facts"]
        quoting = said(*(one | {"quote": case.text} for one in facts))
        kept += sure(understand(answering(quoting), message, language=case.language))
    assert kept == []


# -- the gate -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "quote", "is_sure"),
    [
        ("我住在杭州", "我住在杭州", True), ("我住在杭州，租的房子", "住在杭州", True),
        ("Ｉ live in Hangzhou!", "i live in hangzhou", True), ("我住在杭州", "", False),
        ("我住在杭州", "我住在西湖边", False), ("我要是住在杭州就好了", "我要是住在杭州", False),
        ("我住在杭州吗？", "我住在杭州", False), ("小林说“我住在杭州”", "我住在杭州", False),
        ("大家都以为我住在杭州", "我住在杭州", False),
    ],
)  # fmt: skip
def test_a_fact_is_told_as_what_is_so_only_with_words_of_the_users_that_were_said_in_earnest(
    message: str, quote: str, is_sure: bool
) -> None:
    told = understand(answering(said(fact("用户住在杭州", "住址", "杭州", quote=quote))), exchange(message))
    assert (len(told.facts), bool(sure(told))) == (1, is_sure)


def test_words_of_another_exchange_than_the_one_that_is_cited_count_more_than_its_number() -> None:
    lives = fact("用户住在杭州", "住址", "杭州", sources=(2,), quote="我住在杭州")
    told = understand(answering(said(lives)), exchange("我住在杭州"), exchange("下雨了", id="x2"))
    assert [one.sources for one in sure(told)] == [("x1",)]


def test_a_model_whose_quotes_are_seldom_true_is_not_trusted() -> None:
    home = fact("用户住在杭州", "住址", "杭州", quote="我住在杭州", mark="delicate")
    trusted, not_trusted = (
        understand(answering(said(home)), exchange("我住在杭州"), record=record) for record in ((0, 0), (3, 20))
    )
    assert (trusted.trusted, [one.mark for one in sure(trusted)], trusted.quotes) == (True, ["delicate"], (1, 1))
    assert (not_trusted.trusted, sure(not_trusted), not_trusted.facts[0].mark) == (False, (), "")


@pytest.mark.parametrize(("manner", "is_sure"), [("earnest", True), (None, True), ("irony", False), ("a joke", False)])
def test_what_a_model_itself_does_not_take_in_earnest_is_in_doubt(manner: str | None, is_sure: bool) -> None:
    home = fact("用户住在杭州", "住址", "杭州", quote="我住在杭州", manner=manner)
    told = understand(answering(said(home)), exchange("我住在杭州"))
    assert [len(told.facts), len(sure(told))] == [1, int(is_sure)]


def test_a_day_that_follows_from_nothing_that_was_said_is_left_open_and_the_event_in_doubt() -> None:
    false = event("用户去看了牙", happened="2025-03-02", quote="上周四去看了牙")
    true = event("用户看了牙医", happened="2025-05-15", quote="上周四去看了牙")
    told = understand(answering(said(events=(false, true))), exchange("上周四去看了牙"))
    assert [(one.happened is None, one in told.doubtful) for one in told.events] == [(True, True), (False, False)]


def test_nothing_is_copied_from_the_prompt_as_it_was_filled_in() -> None:
    copied = fact("合适就沿用，不合适就新建。", "名字", "李雷")
    told = understand(answering(said(copied)), exchange("我住在杭州"), topics="生活->饮食")
    assert (told.facts, [one.why for one in told.refused]) == ((), ["example"])


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


def test_a_relation_told_through_the_other_is_kept() -> None:
    sister = fact("用户的妹妹叫小雨", "妹妹", "小雨", kind="relation")
    assert understand(answering(said(sister)), exchange("小雨是我妹妹")).facts
    (told,) = understand(answering(said(sister | {"entity": "小雨"})), exchange("小雨是我妹妹")).facts
    assert told.entity == "user", "nobody is related to themselves"
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


def test_what_stands_is_shown_by_number_with_topics_and_empty_parts_are_not() -> None:
    known = Fact("f1", NOW, FactDraft("用户讨厌香菜", ("x0",)))
    with_both = answering(said())
    understand(with_both, exchange("嗯"), standing=(known, plan()), topics="生活->饮食")
    bare = answering(said())
    understand(bare, exchange("嗯"))

    prompt = with_both.questions[0][0][0].content
    assert "(1) 用户讨厌香菜\n(2) 用户打算去云南 [计划 2025-06-01]" in prompt and "生活->饮食" in prompt
    assert all(
        part not in bare.questions[0][0][0].content for part in ("已有的话题", "上一次的回答", "\n【已经记下的】")
    )


def test_both_languages_ask_for_the_same_keys() -> None:
    for language in ("zh", "en"):
        model = answering(said())
        understand(model, exchange("嗯"), language=language)
        prompt, schema = model.questions[0][0][0].content, model.questions[0][1]
        assert schema is not None
        for part in ("facts", "events", "exchanges", "verbs"):
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
    assert {part: schema["properties"][part]["items"].get("required") for part in ("facts", "events", "verbs")} == {
        "facts": ["text"],
        "events": ["text"],
        "verbs": ["number", "verb"],
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
    home = FactDraft("用户住在杭州", ("x1",), "attribute", "user", "住址", "杭州", 1, True, quote="我住在杭州")
    assert understanding.facts == (home,)
    (one,) = understanding.events
    assert (one.sources, one.importance, one.topic, one.place) == (("x2",), 0.4, "生活->饮食->火锅", "杭州")
    assert one.happened == (datetime(2025, 5, 20, tzinfo=ZONE), datetime(2025, 5, 20, 23, 59, 59, tzinfo=ZONE))


@pytest.mark.parametrize("happened", [None, "null", "昨天", "2025-13-45"])
def test_a_day_that_the_model_left_relative_is_resolved_from_when_it_was_said(happened: str | None) -> None:
    later = NOW + timedelta(days=30)
    model = answering(said(events=(event("用户昨天吃了火锅", happened=happened),)))
    (one,) = understand(model, exchange("我昨天吃了火锅"), names=("我", "小萌"), now=later, record=(0, 0)).events
    assert one.happened is not None and one.happened[0].date() == date(2025, 5, 20)
    assert one.text == "用户吃了火锅", "its day stands beside the words"


@pytest.mark.parametrize(
    ("text", "is_dated"), [("用户小时候误吃芒果，半夜送了急诊", False), ("用户半夜送了急诊", True)]
)
def test_an_hour_of_long_ago_is_of_no_known_day(text: str, is_dated: bool) -> None:
    (one,) = understand(answering(said(events=(event(text),))), exchange(text.replace("用户", "我"))).events
    assert (one.happened is not None) == is_dated


MESSY: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("fenced", lambda text: f"Here you are:\n```json\n{text}\n```\nDone."),
    ("thought first", lambda text: f"<think>{{not this}}</think>{text}"),
    ("cut off", lambda text: text[:-2]),
    ("single quotes", lambda text: text.replace('"', "'")),
    ("trailing comma", lambda text: text[:-1] + ",}"),
)


@pytest.mark.parametrize(("_", "mess"), MESSY)
def test_an_untidy_answer_is_repaired(_: str, mess: Callable[[str], str]) -> None:
    model = ScriptedModel(answers=[mess(said(fact("用户住在杭州", "住址", "杭州", quote="我住在杭州")))] * 2)
    assert [one.target for one in understand(model, exchange("我住在杭州")).facts] == ["杭州"]
    assert len(model.questions) == 1


def test_values_in_other_words_are_read() -> None:
    loose = {
        "exchanges": [{"id": "[1]", "tag": "用户讨厌香菜"}],
        "facts": [
            {
                "text": "用户讨厌香菜", "entity": "用户", "keyword": "喜好", "target": "香菜", "polarity": "negative",
                "single": "否", "sources": "1", "kind": "属性",
            }
        ],
        "events": [{"text": "用户吃了香菜", "importance": "7/10", "sources": 1, "happened": None}],
    }  # fmt: skip
    understanding = understand(answering(json.dumps(loose, ensure_ascii=False)), exchange("我讨厌香菜"))
    assert understanding.tags == {"x1": "用户讨厌香菜"}
    assert understanding.facts[0].polarity == -1 and understanding.facts[0].kind == "attribute"
    assert understanding.events[0].importance == 0.7


@pytest.mark.parametrize(
    ("polarity", "senses"),
    [
        (1, ["positive", "Positive ", "+", "+1", "1", "肯定", True, None, 1, 2.0]),
        (-1, ["negative", "-", "-1", "−1", "否定", False, -1, -0.5]),
    ],
)
def test_a_sense_is_read_however_a_model_writes_it(polarity: int, senses: list[object]) -> None:
    for sense in senses:
        fact = {"text": "用户喜欢香菜", "keyword": "喜好", "target": "香菜", "polarity": sense, "sources": "1"}
        answer = {"exchanges": [{"id": "[1]", "tag": "用户说到香菜"}], "facts": [fact]}
        understanding = understand(answering(json.dumps(answer, ensure_ascii=False)), exchange("香菜"))
        assert [one.polarity for one in understanding.facts] == [polarity], sense


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
        ("2025-05-20/2025-05-22", {}, date(2025, 5, 20), date(2025, 5, 22), "day"),
        ("2025年5月20日", {}, date(2025, 5, 20), date(2025, 5, 20), "day"),
        ("2025-05-20T18:30:00", {}, date(2025, 5, 20), date(2025, 5, 20), "day"),
    ],
)
def test_days_are_read_in_the_ways_models_write_them_with_how_exactly_they_are_known(
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


# ---- what stands, and the verbs over it


def plan() -> Episode:
    first = datetime(2025, 6, 1, tzinfo=ZONE)
    event = Event("用户打算去云南", ("x0",), "user", "去", "云南", happened=(first, first), status="planned")
    return Episode("p1", NOW, event)


def home_fact() -> Fact:
    draft = FactDraft("用户住在杭州", ("x0",), keyword="住址", target="杭州", single=True)
    return Fact("f1", NOW, draft)


def ruled(words: str, *verbs: dict[str, Any], facts: Sequence[dict[str, Any]] = (), events: Any = ()) -> Understanding:
    """What is made of verbs over (1) the home and (2) the plan."""
    whole = json.loads(said(*facts, events=tuple(events))) | {"verbs": verbs}
    model = answering(json.dumps(whole, ensure_ascii=False))
    return understand(model, exchange(words), standing=(home_fact(), plan()))


def stands_for(told: Understanding) -> list[tuple[str, tuple[str, ...]]]:
    return [(draft.text, ids) for draft, ids in told.replaces.items()]


def test_what_ended_is_ruled_over_with_its_words_and_its_day() -> None:
    told = ruled("上周搬走了，不住那儿了", {"number": 1, "verb": "ended", "until": "2025-05-15", "quote": "上周搬走了"})
    assert stands_for(told) == [("不再如此（2025-05-15）：“上周搬走了”", ("f1",))]
    (ruling,) = told.facts
    assert (ruling.kind, ruling.keyword, ruling.until, ruling.sources) == ("ruling", "ended", "2025-05-15", ("x1",))


def test_a_day_of_the_end_that_nobody_named_is_left_open() -> None:
    told = ruled("搬走了", {"number": 1, "verb": "ended", "until": "2024-01-02", "quote": "搬走了"})
    assert [one.until for one in told.facts] == [""]


def test_what_was_never_true_says_why() -> None:
    told = ruled("骗你的，哪有", {"number": 1, "verb": "never_true", "reason": "玩笑", "quote": "骗你的"})
    assert stands_for(told) == [("并非真事（玩笑）：“骗你的”", ("f1",))]


def test_a_new_value_stands_in_the_place_of_the_old_one() -> None:
    verb = {"number": 1, "verb": "replaced", "to": "苏州", "quote": "搬到苏州了"}
    assert stands_for(ruled("搬到苏州了", verb)) == [("用户住在苏州", ("f1",))]
    new = fact("用户如今住在苏州", "住址", "苏州")
    assert stands_for(ruled("搬到苏州了", verb, facts=[new])) == [("用户如今住在苏州", ("f1",))]
    assert stands_for(ruled("搬到苏州了", facts=[new | {"replaces": 1}])) == [("用户如今住在苏州", ("f1",))]


@pytest.mark.parametrize(
    ("verb", "text", "status", "happened"),
    [
        ({"verb": "moved", "to": "2025-06-08"}, "用户打算去云南", "planned", date(2025, 6, 8)),
        ({"verb": "given_up"}, "用户打算去云南", "cancelled", date(2025, 6, 1)),
        ({"verb": "done"}, "用户说“云南改到八号、去成了、不去了”", "done", None),
    ],
)
def test_a_plan_is_moved_given_up_or_done(verb: dict[str, Any], text: str, status: str, happened: date | None) -> None:
    words = "云南改到八号、去成了、不去了"
    told = ruled(f"{words}，六月八号", {"number": 2, "quote": words} | verb)
    ((draft, ids),) = told.replaces.items()
    assert isinstance(draft, Event) and ids == ("p1",)
    assert (draft.text, draft.status, draft.happened and draft.happened[0].date()) == (text, status, happened)


def test_an_event_of_the_answer_that_tells_of_the_plan_stands_for_it() -> None:
    went = event("用户去了云南", object="云南", quote="云南去成了")
    told = ruled("云南去成了", {"number": 2, "verb": "done", "quote": "云南去成了"}, events=[went])
    assert stands_for(told) == [("用户去了云南", ("p1",))] and len(told.events) == 1


def test_a_verb_without_words_of_the_users_or_in_play_is_refused_with_its_reason() -> None:
    for words, verb in (
        ("下雨了", {"number": 1, "verb": "ended", "quote": "搬走了"}),
        ("下雨了", {"number": 1, "verb": "ended"}),
        ("开个玩笑，我搬走了", {"number": 1, "verb": "ended", "quote": "我搬走了"}),
    ):
        told = ruled(words, verb)
        assert (stands_for(told), [(one.kind, one.why) for one in told.refused]) == ([], [("verdict", "verdict")])
    assert [one.why for one in ruled("下雨了", {"number": 7, "verb": "ended", "quote": "下雨了"}).refused] == [
        "sources"
    ]


def test_the_verdicts_of_earlier_prompts_are_read() -> None:
    whole = json.loads(said()) | {"verdicts": [
        {"finding": 2, "verdict": "keep"}, {"finding": 1, "verdict": "wrong", "words": "骗你的"}
    ]}  # fmt: skip
    told = understand(answering(json.dumps(whole)), exchange("骗你的"), standing=(home_fact(), plan()))
    assert (told.kept, stands_for(told)) == (frozenset({"p1"}), [("并非真事：“骗你的”", ("f1",))])


def test_an_answer_that_says_nothing_of_talk_in_which_something_was_found_is_none_but_a_trusted_models() -> None:
    before = Fact("f0", NOW, FactDraft("用户喜欢喝茶", ("x1",)), by="rules")
    with pytest.raises(extraction.NoAnswer):
        understand(answering(said(), said()), exchange("我喜欢喝茶"), standing=(before,), record=(0, 0))
    assert understand(answering(said()), exchange("我喜欢喝茶"), standing=(before,)).trusted


def test_the_better_of_two_tries_is_kept() -> None:
    tea, music = fact("用户喜欢茶", "喜好", "茶"), fact("用户喜欢音乐", "喜好", "音乐")
    first = json.dumps({"facts": [tea, music, ["?"]], "events": []}, ensure_ascii=False)
    second = json.dumps({"facts": [tea, ["?"]], "events": []}, ensure_ascii=False)
    told = understand(answering(first, second), exchange("我喜欢茶和音乐"))
    assert [one.target for one in told.facts] == ["茶", "音乐"]


def test_an_item_that_cannot_be_read_costs_itself_alone_at_the_last_try() -> None:
    whole = json.loads(said(fact("用户喜欢茶", "喜好", "茶"))) | {"events": ["去喝茶"], "verbs": [{"verb": "?"}]}
    text = json.dumps(whole, ensure_ascii=False)
    told = understand(answering(text, text), exchange("我喜欢茶"))
    assert [one.text for one in told.facts] == ["用户喜欢茶"]
    assert [(one.kind, one.why) for one in told.refused] == [("event", "unreadable"), ("verdict", "unreadable")]
