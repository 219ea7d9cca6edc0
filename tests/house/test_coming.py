"""What comes into a house, and where it goes; a message that is tried; the model as it is set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moechat.errors import NameTaken
from moechat.house import House, source_files
from moechat.house.arrivals import Coming, Wishes
from moechat.house.studio import look, tried
from tests.cards.cards import V3, WORLD
from tests.houses import CHARACTER, Home, say

TALK = '{"time": "2021-03-04T20:15:00", "who": "user", "text": "我养了一只叫年糕的猫"}\n'


def saved(home: Home, name: str, text: str) -> Path:
    path = home.data.parent / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_lorebook_never_takes_the_place_of_another(home: Home, house: House) -> None:
    path = saved(home, "city.json", json.dumps(WORLD))
    assert Coming(house, look(path), Wishes(CHARACTER)).take()["file"] == "city.json"
    before = (home.folder / "data_base" / "city.json").read_bytes()
    with pytest.raises(NameTaken, match=r"delete .*city\.json first") as refused:
        Coming(house, look(path), Wishes(CHARACTER)).take()
    assert (refused.value.field, refused.value.value) == ("file", "city.json")
    assert (home.folder / "data_base" / "city.json").read_bytes() == before


def test_talk_goes_to_the_user_and_the_world_that_are_meant(home: Home, house: House) -> None:
    path = saved(home, "old.jsonl", TALK)
    assert house.worlds(CHARACTER) == []
    Coming(house, look(path), Wishes(CHARACTER, world="古代", talk="旧")).take()
    Coming(house, look(path), Wishes(CHARACTER, user="anne")).take()
    assert house.worlds(CHARACTER) == ["古代"] and house.worlds(CHARACTER, "anne") == []
    talks = [
        house.agent(CHARACTER, user, world).store.tree.talks for user, world in (("", "古代"), ("anne", ""), ("", ""))
    ]
    assert ["旧" in talks[0], "old" in talks[1], "old" in talks[2]] == [True, True, False]


def test_a_card_is_known_by_what_it_holds_and_shown_before_it_is_taken(home: Home, house: House) -> None:
    arrival = look(saved(home, "tide.txt", json.dumps(V3)))
    assert (arrival.kind, arrival.preview and arrival.preview.name) == ("card", "Tide")
    assert Coming(house, arrival, Wishes("Ebb")).preview()["name"] == "Tide" and "Ebb" not in house.characters()
    assert Coming(house, arrival, Wishes("Ebb")).take()["character"] == "Ebb" and "Ebb" in house.characters()


def test_a_message_that_is_tried_names_the_entries_that_fired_and_no_memory(home: Home, house: House) -> None:
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "a.yaml").write_text("渡口: 在东岸\n", encoding="utf-8")
    agent = house.agent()
    say(agent, "我在渡口等船，喜欢那里的风")
    trial = tried(agent, "渡口怎么样")
    assert [hit.id for hit in trial.fired] == ["a.yaml#渡口"]
    assert trial.reply == "嗯，我记住了。" and not trial.error and trial.prompt[-1].content.endswith("渡口怎么样")


def test_a_file_of_the_world_book_may_be_called_as_that_of_a_character(home: Home) -> None:
    entry = home.folder / "data_base" / "character.yaml"
    assert source_files.checked(entry, "渡口: 在东岸\n") == []
    assert source_files.checked(home.folder / "character.yaml", "渡口: 在东岸\n") != []
    assert source_files.checked(home.folder / "character.yaml", "name: 小满\n") == []


def test_json_that_is_no_card_and_no_book_is_refused_in_words(home: Home) -> None:
    for name, text, words in (
        ("a.json", '{"name": "小满"}', "neither a character card nor a lorebook"),
        ("card.json", '{"entries": []}', "neither a character card nor a lorebook"),
        ("a.json", "{", "a.json"),
    ):
        (fault,) = source_files.checked(home.folder / name, text)
        assert words in str(fault) and name in str(fault)
    assert source_files.checked(home.folder / "a.json", '{"entries": [{"keys": ["渡口"], "content": "在东岸"}]}') == []


def test_the_model_of_a_house_is_made_as_it_is_set(home: Home) -> None:
    home.configure(chat={"base_url": "http://127.0.0.1:9/v1", "model": "tiny", "context_window": 700})
    with home.connected() as house:
        model = house.model_for("chat")
        assert (model.name, model.window.tokens, house.model_for("chat") is model) == ("tiny", 700, True)
