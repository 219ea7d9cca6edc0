"""What is answered without a language model to pain, fear, joy and danger, to what only sounds like it, and where help is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline import lines
from moechat.ai.offline.model import OfflineModel
from moechat.settings.character import Character
from moechat.settings.home import defaults_folder

BLIND = Path(__file__).parents[1] / "rules" / "blind"
CHARACTERS = {"zh": Character(Path("青禾"), "青禾", "用户", "zh"), "en": Character(Path("Wren"), "Wren", "User", "en")}
SENTENCES: list[tuple[str, dict[str, Any]]] = [
    (language, one)
    for language in CHARACTERS
    for one in yaml.safe_load((BLIND / f"pain.{language}.yaml").read_text("utf-8"))
]
DANGER = ("danger", "danger_other", "emergency", "emergency_other", "threat")
LINES_OF = {"danger": DANGER, "fear": ("fear", "worried"), "joy": ("joy", "laugh")}
HURTING = (*DANGER, "grief", "despair", "fear", "sadness", "anger")


def kind_of(answer: str, language: str) -> str:
    """The name of the line that a reply is."""
    every = [(text, name) for name, texts in lines.says([], language).items() for text in texts]
    fitting = [
        (text, name) for text, name in every if re.fullmatch(re.sub(r"\\{\w+\\}", ".*", re.escape(text)), answer)
    ]
    return max(fitting, key=lambda one: len(one[0]), default=("", ""))[1]


def test_pain_gets_a_human_line_and_what_only_sounds_like_it_does_not() -> None:
    wrong = []
    for language, one in SENTENCES:
        answer = "".join(OfflineModel().stream(ChatRequest([], CHARACTERS[language], one["say"])))
        kinds, kind = {one["kind"], one.get("or", one["kind"])}, kind_of(answer, language)
        if "none" in kinds:
            fits = kinds != {"none"} or kind not in HURTING
        else:
            fits = kind in {name for each in kinds for name in LINES_OF.get(each, (each,))}
        fits = fits and not any(words.casefold() in answer.casefold() for words in one["never"])
        wrong += [] if fits else [(one["say"], kind, answer)]
    assert wrong == []


def test_where_help_is_stands_in_a_file_that_an_operator_may_change(tmp_path: Path) -> None:
    say = "I don't want to live anymore"
    ours = "".join(OfflineModel().stream(ChatRequest([], CHARACTERS["en"], say)))
    assert "988" in ours
    assert "116 123" in ours
    assert "?" in ours
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "help.yaml").write_text(
        "- {region: Norway, crisis: '116 123', emergency: '113', source: x, date: 2024-01-01}\n", "utf-8"
    )
    theirs = "".join(
        OfflineModel([tmp_path, defaults_folder() / "prompts"]).stream(ChatRequest([], CHARACTERS["en"], say))
    )
    assert "In Norway: 116 123, 113." in theirs
    assert "988" not in theirs


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_number_has_its_source_and_date(language: str) -> None:
    rows = yaml.safe_load((defaults_folder() / "prompts" / language / "help.yaml").read_text("utf-8"))
    assert all(row["source"] and row["date"] for row in rows)
