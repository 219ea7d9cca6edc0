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


def test_an_edit_of_all_keys_empties_those_that_are_left_out(agent: Agent) -> None:
    fields = {"place": "灵隐寺", "keywords": ["寺"], "topic": "旅行", "happened": "2025-05-01"}
    [made] = perform(owner.VERBS["add"], agent, {"type": "event", "text": "去了灵隐寺", "fields": fields})
    [after] = perform(owner.VERBS["edit-all"], agent, {"id": made.id, "text": "去了寺里", "fields": {"topic": "旅行"}})
    event = agent.memories.events([after.id])[0].event
    assert (event.text, event.place, event.keywords, event.topic, event.happened) == ("去了寺里", "", (), "旅行", None)


def test_a_change_is_taken_back_and_memories_become_one(agent: Agent) -> None:
    made = [
        perform(owner.VERBS["add"], agent, {"type": "fact", "text": text})[0] for text in ("我喜欢猫", "我喜欢小猫")
    ]
    [one] = perform(owner.VERBS["merge"], agent, {"ids": [fact.id for fact in made], "text": "我最喜欢小猫"})
    assert [memory.text for memory in perform(owner.VERBS["list"], agent, {}).memories] == ["用户最喜欢小猫"]
    assert perform(owner.VERBS["undo"], agent, {})
    assert one.id not in [memory.id for memory in perform(owner.VERBS["list"], agent, {}).memories]
    assert perform(owner.VERBS["think"], agent, {}) is None  # No model understands.


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
