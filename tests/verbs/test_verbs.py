"""The table of verbs: what each needs, what it may not have, and what it does that no command shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moechat.access.keys import Denied, Pass
from moechat.agent import Agent
from moechat.errors import FieldError, MoeChatError, NotFound
from moechat.verbs import Verb, author, groups, owner, perform, whole_talks
from tests.groups import NAMES, build, nth
from tests.houses import Home, say, silent

EVERY = {"memories": owner.VERBS, "official": author.VERBS, "talks": whole_talks.VERBS, "group": groups.VERBS}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with Home.build(tmp_path).open() as house:
        yield house.agent()


def those(holds: Callable[[Verb], bool]) -> dict[str, set[str]]:
    return {table: {name for name, verb in verbs.items() if holds(verb)} for table, verbs in EVERY.items()}


def test_verbs_say_what_they_need() -> None:
    assert those(lambda verb: verb.reads) == {
        "memories": {"list", "show"}, "official": {"list", "show"}, "talks": {"list", "find", "export"}, "group": {"show"},
    }  # fmt: skip
    assert those(lambda verb: verb.is_shared) == {
        "memories": set(),
        "official": {"add", "edit", "delete"},
        "talks": set(),
        "group": set(),
    }
    assert those(lambda verb: verb.waits) == {
        "memories": {"add", "confirm", "edit", "edit-all", "end", "erase-again", "forget", "let-in", "merge", "undo"},
        "official": set(), "talks": {"delete"}, "group": set(),
    }  # fmt: skip
    assert those(lambda verb: not verb.has_command)["memories"] == {
        "edit-all", "greet", "merge", "undo", "think", "past", "past-stop", "take-back",
    }  # fmt: skip


def test_a_value_that_a_verb_cannot_have_is_told_by_its_field(agent: Agent) -> None:
    cases: list[tuple[Verb, dict[str, Any], str]] = [
        (owner.VERBS["list"], {"limit": -1}, "limit"),
        (owner.VERBS["list"], {"kind": "lore"}, "kind"),
        (owner.VERBS["show"], {"ids": ["a", 5]}, "ids.1"),
        (owner.VERBS["pin"], {}, "ids"),
        (author.VERBS["add"], {"type": "reflection"}, "type"),
        (author.VERBS["list"], {"nonsense": 1}, "nonsense"),
        (whole_talks.VERBS["title"], {"talk": ""}, "title"),
        (whole_talks.VERBS["title"], {"talk": "", "title": "长" * 81}, "title"),
        (whole_talks.VERBS["delete"], {"talk": ""}, "talk"),
    ]
    wrong = []
    for verb, values, field in cases:
        with pytest.raises(FieldError) as refused:
            perform(verb, agent, values)
        wrong += [(verb.about, values, refused.value.field)] if refused.value.field != field else []
    assert wrong == []


def test_what_all_users_share_is_changed_by_who_reaches_them_all(agent: Agent) -> None:
    new = {"type": "fact", "text": "海边有座灯塔"}
    with pytest.raises(Denied):
        perform(author.VERBS["add"], agent, new, Pass(users=frozenset({"anne"})))
    [made] = perform(author.VERBS["add"], agent, new, Pass())
    for verb, values in (("edit", {"id": made.id, "fields": {"text": "没有灯塔"}}), ("delete", {"ids": [made.id]})):
        with pytest.raises(Denied):
            perform(author.VERBS[verb], agent, values, Pass(many=True))
    assert perform(author.VERBS["show"], agent, {"ids": [made.id]}, Pass(many=True))[0].text == "海边有座灯塔"
    with pytest.raises(MoeChatError, match="--set"):
        perform(author.VERBS["edit"], agent, {"id": made.id})


def test_lists_are_searched_cut_and_begun_further_on(agent: Agent) -> None:
    for text in ("我喜欢猫", "我喜欢狗", "我住在杭州"):
        perform(owner.VERBS["add"], agent, {"type": "fact", "text": text})
        perform(author.VERBS["add"], agent, {"type": "fact", "text": text})
    page = perform(owner.VERBS["list"], agent, {})
    assert (page.total, len(page.memories)) == (3, 3)
    page = perform(owner.VERBS["list"], agent, {"search": "喜欢", "limit": 2, "offset": 1})
    assert (page.total, len(page.memories)) == (2, 1)
    assert [one.text for one in perform(author.VERBS["list"], agent, {"search": "猫"})] == ["我喜欢猫"]
    assert len(perform(author.VERBS["list"], agent, {"limit": 2})) == 2
    assert perform(author.VERBS["list"], agent, {"type": "lore"}) == []


def test_an_edit_of_all_keys_empties_those_that_are_left_out(agent: Agent) -> None:
    fields = {"place": "灵隐寺", "keywords": ["寺"], "topic": "旅行", "happened": "2025-05-01"}
    [made] = perform(owner.VERBS["add"], agent, {"type": "event", "text": "去了灵隐寺", "fields": fields})
    [after] = perform(owner.VERBS["edit-all"], agent, {"id": made.id, "text": "去了寺里", "fields": {"topic": "旅行"}})
    event = agent.memories.events([after.id])[0].event
    assert (event.text, event.place, event.keywords, event.topic, event.happened) == ("去了寺里", "", (), "旅行", None)


def test_what_is_in_doubt_stands_in_the_profile_once_it_is_confirmed(agent: Agent) -> None:
    [made] = perform(owner.VERBS["add"], agent, {"type": "fact", "text": "我喜欢猫"})
    [fact] = agent.store.findings.facts()
    agent.store.findings.put([replace(fact, confirmed=False)])
    assert perform(owner.VERBS["show"], agent, {"ids": [made.id]})[0].fields["doubtful"]
    assert [one.id for one in perform(owner.VERBS["confirm"], agent, {"ids": [made.id]})] == [made.id]
    assert "doubtful" not in perform(owner.VERBS["show"], agent, {"ids": [made.id]})[0].fields
    assert perform(owner.VERBS["confirm"], agent, {"ids": [made.id]}) == []
    assert perform(owner.VERBS["undo"], agent, {}) == [made.id]
    assert not agent.store.findings.facts()[0].confirmed
    with pytest.raises(NotFound):
        perform(owner.VERBS["confirm"], agent, {"ids": ["nothing"]})


def test_a_change_is_taken_back_and_memories_become_one(agent: Agent) -> None:
    made = [
        perform(owner.VERBS["add"], agent, {"type": "fact", "text": text})[0] for text in ("我喜欢猫", "我喜欢小猫")
    ]
    [one] = perform(owner.VERBS["merge"], agent, {"ids": [fact.id for fact in made], "text": "我最喜欢小猫"})
    assert [memory.text for memory in perform(owner.VERBS["list"], agent, {}).memories] == ["用户最喜欢小猫"]
    assert perform(owner.VERBS["undo"], agent, {})
    assert one.id not in [memory.id for memory in perform(owner.VERBS["list"], agent, {}).memories]
    assert perform(owner.VERBS["think"], agent, {}) is None  # No model understands.


def test_a_talk_has_a_title_a_place_and_an_end(agent: Agent) -> None:
    say(agent, "我在杭州")
    [*_, _] = agent.in_talk("旅行").talk("我们去西湖吧")
    assert perform(whole_talks.VERBS["title"], agent, {"talk": "旅行", "title": " 去  西湖 "}) == "去 西湖"
    for verb, pinned in (("pin", True), ("unpin", False)):
        perform(whole_talks.VERBS[verb], agent, {"talk": "旅行"})
        assert agent.store.tree.talks["旅行"].pinned is pinned
    text = perform(whole_talks.VERBS["export"], agent, {"talk": "旅行", "form": "text"})
    assert "我们去西湖吧" in text and "去 西湖" in text and "我在杭州" not in text
    assert perform(whole_talks.VERBS["delete"], agent, {"talk": "旅行"}) == 1
    assert agent.store.tree.talks["旅行"].away
    with pytest.raises(NotFound):
        perform(whole_talks.VERBS["export"], agent, {"talk": "没有"})


def test_what_is_ended_is_told_as_what_was_and_comes_back_with_undo(agent: Agent) -> None:
    [home] = perform(owner.VERBS["add"], agent, {"type": "fact", "text": "我住在杭州"})
    perform(owner.VERBS["end"], agent, {"ids": [home.id]})
    [former] = agent.layers.core.former()
    assert (former.fact.id, former.until, former.is_over) == (home.id, f"{agent.now():%Y-%m-%d}", True)
    letter = agent.memories.letter()
    assert [one.id for one in letter.ended] == [home.id] and home.id not in [one.id for one in letter.of_you]
    assert former.fact.text not in former.by.text  # What is forgotten later leaves no word in it.
    assert home.id in perform(owner.VERBS["undo"], agent, {})
    assert [one.id for one in agent.memories.letter().of_you] == [home.id] and agent.layers.core.former() == []


def test_what_the_author_wrote_is_listed_searched_changed_and_taken_out(agent: Agent) -> None:
    def listed(**wish: Any) -> list[str]:
        return [one.text for one in perform(author.VERBS["list"], agent, wish)]

    [light] = perform(author.VERBS["add"], agent, {"type": "fact", "text": "海边有座灯塔", "id": "light"})
    assert light.id == "light"
    [kites] = perform(
        author.VERBS["add"], agent,
        {"type": "event", "text": "风筝节", "fields": {"happened": "2019-07-15", "text": "放了风筝", "place": "海边"}},
    )  # fmt: skip
    entry = {"keyword": "渡口", "text": "渡船每天来回"}
    perform(author.VERBS["add"], agent, {"type": "lore", "fields": entry})
    assert sorted(listed()) == sorted(["海边有座灯塔", "放了风筝", "渡船每天来回"])
    assert [listed(type=kind) for kind in ("event", "fact", "lore")] == [
        ["放了风筝"],
        ["海边有座灯塔"],
        ["渡船每天来回"],
    ]
    assert len(listed(limit=2)) == 2 and len(listed(limit=0)) == 3
    assert listed(search="灯塔")[:1] == ["海边有座灯塔"] and listed(search="灯塔", type="event") == listed(
        type="event", search="灯塔"
    )
    [changed] = perform(author.VERBS["edit"], agent, {"id": kites.id, "fields": {"text": "风筝断了线"}})
    assert changed.text == "风筝断了线" and perform(author.VERBS["show"], agent, {"ids": [kites.id]})[0] == changed
    assert [one.text for one in perform(author.VERBS["delete"], agent, {"ids": ["light", kites.id]})] == [
        light.text,
        "风筝断了线",
    ]
    assert listed() == ["渡船每天来回"]
    with pytest.raises(NotFound):
        perform(author.VERBS["delete"], agent, {"ids": ["light"]})


def test_a_talk_of_several_is_begun_spoken_in_changed_and_shown(tmp_path: Path) -> None:
    with build(tmp_path).open(silent(nth)) as house:
        company = groups.Company(house.groups, lambda name: name, NAMES[0])

        def done(verb: str, **values: Any) -> Any:
            return perform(groups.VERBS[verb], company, values)

        begun = done("begin", characters=[NAMES[1]])
        talk = begun["talk"]
        assert [one["character"] for one in begun["members"]] == [*NAMES[:2]]
        done("change", talk=talk, act="list")
        done("change", talk=talk, act="person", name="安妮")
        replies = [*done("say", talk=talk, text="大家好", by="安妮")]
        assert [(row["speaker"], row["text"], row["error"]) for row in replies] == [
            (name, f"{name}第{n}句", "") for n, name in enumerate(NAMES[:2], 1)
        ]
        with pytest.raises(MoeChatError, match="last word"):
            [*done("speak", talk=talk, name=NAMES[1])]
        [spoken] = done("speak", talk=talk, name=NAMES[0])
        assert spoken["speaker"] == NAMES[0] and spoken["id"] not in {row["id"] for row in replies}
        row = done("show", talk=talk, limit=2)
        assert [(line["speaker"], line["id"]) for line in row["lines"]] == [
            (NAMES[1], replies[1]["id"]), (NAMES[0], spoken["id"]),
        ]  # fmt: skip
        first = done("show", talk=talk)["lines"][0]
        assert (first["speaker"], first["text"]) == ("安妮", "大家好") and first["at"].startswith("2025-05-20T15:00")


def test_whom_one_brings_into_a_talk_is_limited_by_ones_pass(tmp_path: Path) -> None:
    with build(tmp_path).open(silent(nth)) as house:
        owners = groups.Company(house.groups, lambda name: name, NAMES[0])
        begun = perform(groups.VERBS["begin"], owners, {"characters": [NAMES[1]]})
        held = Pass(users=frozenset({"anne"}), characters=frozenset(NAMES[:2]))
        company = replace(owners, passed=held)
        for act, name in (("add", NAMES[2]), ("user", "bob")):
            with pytest.raises(Denied):
                perform(groups.VERBS["change"], company, {"talk": begun["talk"], "act": act, "name": name})
        muted = perform(groups.VERBS["change"], company, {"talk": begun["talk"], "act": "mute", "name": NAMES[1]})
        assert [one["character"] for one in muted["members"] if one["muted"]] == [NAMES[1]]


def test_another_reply_and_the_rest_of_one_are_given_as_words(agent: Agent) -> None:
    say(agent, "我在杭州")
    id_ = agent.recent(1)[0].exchange.id
    again = perform(whole_talks.VERBS["again"], agent, {"talk": ""})
    assert again == agent.recent(1)[0].exchange.char
    assert perform(whole_talks.VERBS["again"], agent, {"talk": "", "id": id_}) == again
    assert perform(whole_talks.VERBS["go-on"], agent, {"talk": ""}).startswith(again)
    for values in ({"talk": "没有"}, {"talk": "", "id": "20000101-000000"}):
        with pytest.raises(NotFound):
            perform(whole_talks.VERBS["again"], agent, values)
