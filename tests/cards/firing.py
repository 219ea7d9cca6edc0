"""What becomes of a world book in a talk, by the cases of firing_cases.yaml, in the form of SillyTavern's answers."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from moechat.cards import book
from moechat.cards.macros import Macros
from moechat.cue import Scene, SoFar
from moechat.lore import Lore
from moechat.memory.firing import STICKY, Judgement, by_priority, judged
from moechat.model import Hit, Message, Recollection
from moechat.recall.assembly import assemble
from moechat.recall.tail import Background, placed
from moechat.settings.character import Character
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from tests.cards.cards import world

HERE = Path(__file__).parent
ANSWERS = HERE / "firing_answers.json"
MARKS = r"NOTE[^\n]*|AFTER[^\n]*|\b[TW]\d\b"
USER, CHARACTER, FILE = "User", "Seraphina", "default_Seraphina"
_NOW = datetime(2025, 5, 20, tzinfo=UTC)
_BOOK_SETTINGS = {"depth": "scan_depth", "recursive": "recursive_scanning", "budget": "token_budget"}
_SCENE = {"persona": "user_persona", "description": "persona"}


def cases() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = yaml.safe_load((HERE / "firing_cases.yaml").read_text(encoding="utf-8"))
    return made


def answered(case: dict[str, Any]) -> Any:
    """What we answer; a setting of the program that a book has a field for stands there."""
    settings: dict[str, Any] = case.get("settings", {})
    own = {_BOOK_SETTINGS[name]: value for name, value in settings.items() if name in _BOOK_SETTINGS}
    entries = book.entries_of(
        world(*({"content": f"words {n}"} | one for n, one in enumerate(case["entries"])), **own), "w"
    )
    total = len(case["talk"])
    talk = [(USER if (total - 1 - at) % 2 == 0 else CHARACTER, words) for at, words in enumerate(case["talk"])]
    if case.get("prompt"):
        return _prompt(case, entries, talk)
    answers, fired_at = [], dict[str, int]()
    for count in case.get("scans", [total]):
        said = [(who if settings.get("names", True) else "", words) for who, words in talk[:count]][::-1]
        scene = Scene(
            said[1:], said[0][0], so_far=partial(SoFar, count, {id_: at for id_, at in fired_at.items() if at < count}),
            about={_SCENE.get(name, name): words for name, words in case.get("scene", {}).items()},
            names={"user": USER, "char": CHARACTER}, aliases={FILE, CHARACTER}, reasons=[case.get("trigger", "normal")],
            chance=lambda _: case.get("roll", 0.0),
        )  # fmt: skip
        fires = by_priority(one for one in judged(entries, said[0][1], scene) if one.fires)
        fired_at |= {one.entry.id: count for one in fires if one.why != STICKY}
        answers.append({"fires": sorted(_number(one.entry) for one in fires), "places": _places(fires)})
    return answers


def _number(entry: Lore) -> int:
    return int(entry.id.partition("#")[2])


def _hits(fires: list[Judgement]) -> list[Hit]:
    return [Hit("lore", "book", one.entry.id, one.entry.text, 1.0, why=one.why) for one in fires if one.entry.text]


def _places(fires: list[Judgement]) -> dict[str, list[int]]:
    there = placed(_hits(fires), {one.entry.id: one.entry for one in fires})
    number = {one.entry.text: _number(one.entry) for one in fires}
    places = {place: [number[words] for words in texts] for place, texts in there.around.items()}
    places |= {
        f"depth {depth} {one.role}": [number[words] for words in one.content.split("\n")] for depth, one in there.deep
    }
    return places | {
        f"outlet {name}": [number[words] for words in text.split("\n")] for name, text in there.outlets.items() if name
    }


def _prompt(case: dict[str, Any], entries: list[Lore], talk: list[tuple[str, str]]) -> list[list[Any]]:
    character = Character(Path(FILE), CHARACTER, USER, "en", **_filled(case.get("card", {})))
    *before, (_, text) = talk
    history = [Message("user" if who == USER else "assistant", words) for who, words in before]
    fires = by_priority(one for one in judged(entries, text, Scene(before[::-1], USER)) if one.fires)
    macros = Macros({"user": USER, "char": CHARACTER}, _NOW)
    recollection = Recollection(hits=[replace(hit, text=macros.fill(hit.text)) for hit in _hits(fires)])
    background = Background(lore={one.id: one for one in entries})
    messages = assemble(
        character,
        Prompts([defaults_folder() / "prompts"], "en"),
        history,
        recollection,
        text,
        _NOW,
        background=background,
    )
    rows = [[one.role, re.findall(MARKS, one.content)] for one in messages]
    return [row for row in rows if row[1]]


def _filled(card: dict[str, Any]) -> dict[str, Any]:
    fill = Macros({"user": USER, "char": CHARACTER}).fill
    return {key: fill(value) if isinstance(value, str) else value for key, value in card.items()}
