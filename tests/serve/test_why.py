"""The memories behind a reply, for the front end that asks for them, and for no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import patient
import pytest
from served import Served

from tests.houses import CHARACTER

TOLD, ASKED = "我养了一只叫<豆豆>的猫", "你还记得我的猫叫什么名字吗"
WHY = f"{CHARACTER}:why"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as one:
        one.say(TOLD)
        yield one


def answer(served: Served, **more: Any) -> Any:
    body = {"model": CHARACTER, "messages": [{"role": "user", "content": ASKED}], **more}
    return patient.post(served.url + "/v1/chat/completions", json=body)


def test_a_model_name_gives_them_as_the_last_fold_of_the_reply_which_is_kept_nowhere(served: Served) -> None:
    reply = served.say(ASKED, model=WHY)
    said, _, fold = reply.partition("\n\n<details><summary>【MoeChat】")
    assert "&lt;豆豆&gt;" in fold and fold.endswith("</details>")
    assert served.kept()[-1] == (ASKED, said)
    more = served.say(ASKED, reply, "那它几岁了", model=WHY)
    assert "details" not in "".join(message.content for message in served.model.requests[-1].messages)
    assert served.kept()[-2:] == [(ASKED, said), ("那它几岁了", more.partition("\n\n<details>")[0])]


@pytest.mark.parametrize("streams", [False, True])
def test_a_field_gives_them_as_metadata(served: Served, streams: bool) -> None:
    told = answer(served, moechat_why="metadata", stream=streams)
    if streams:
        *_, last, end = [line.removeprefix("data: ") for line in told.text.split("\n\n") if line]
        assert end == "[DONE]"
        (memory, *_) = json.loads(last)["metadata"]["memories"]
    else:
        assert "details" not in told.json()["choices"][0]["message"]["content"]
        (memory, *_) = told.json()["metadata"]["memories"]
    assert "豆豆" in memory["text"] and memory["id"] and memory["layer"]


def test_nobody_who_does_not_ask_gets_any(served: Served) -> None:
    told = answer(served).json()
    assert "metadata" not in told and "details" not in told["choices"][0]["message"]["content"]
    assert WHY not in [model.id for model in served.client.models.list()]
    assert answer(served, moechat_why="everything").status_code == 422


def test_a_reply_that_rests_on_nothing_has_no_fold_and_empty_metadata(served: Served) -> None:
    assert "details" not in served.say("早上好", model=WHY, user="ben")
    assert answer(served, moechat_why="metadata", user="ben").json()["metadata"] == {"memories": []}
