"""Cards, lorebooks and archives by command: they come, are seen before, work, and go out as they came."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from moechat.ai.scripted import ScriptedModel
from moechat.cards import container, png
from tests.cards.cards import CARDS, V2, V3, WORLD, world
from tests.houses import CHARACTER, Home, edit, recalled, say
from tests.shell import Shell

PICTURE = png.plain("test", 4, 4)


def saved(moechat: Shell, name: str, data: bytes | Any) -> str:
    path = moechat.home.data.parent / name
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode())
    return str(path)


def folder(moechat: Shell, name: str = "Tide") -> Path:
    return moechat.home.data / "agents" / name


def card_of(path: Path) -> Any:
    read = container.read(path.read_bytes(), path)
    assert read is not None
    return read.card


@pytest.mark.parametrize("kind", container.KINDS)
@pytest.mark.parametrize("version", CARDS)
def test_a_card_goes_out_equal_to_what_came(moechat: Shell, kind: container.Kind, version: str) -> None:
    came = saved(moechat, f"tide.{kind}", container.written(kind, CARDS[version], picture=PICTURE))
    assert moechat.json("import", came)["character"] == "Tide"
    for ending in container.KINDS:
        out = moechat.home.data.parent / f"out.{ending}"
        moechat.json("export", "card", str(out), "-c", "Tide")
        assert card_of(out) == CARDS[version]
    if kind == "charx":
        assert out.read_bytes() == Path(came).read_bytes()


def test_a_preview_writes_nothing_and_names_what_is_not_obeyed(moechat: Shell) -> None:
    text = V3 | {"data": V3["data"] | {"description": "{{char}} {{getvar::x}} {{getvar::y}}"}}
    path = saved(moechat, "tide.png", container.written("png", text, picture=PICTURE))
    shown = moechat.json("import", path, "--dry-run")
    assert (shown["kind"], shown["name"], shown["form"], shown["has_picture"]) == ("card", "Tide", "v3", True)
    assert (shown["greetings"], shown["entries"], shown["greeting"]) == (2, 2, "You came, {{user}}.")
    assert shown["unheeded"]["{{getvar}}"] == 1 and shown["unheeded"]["@@scan_depth"] == 1
    assert not folder(moechat).exists()
    _, lines, _ = moechat("import", path, "--dry-run")
    assert any("kept, not obeyed" in line and "extensions.x_own" in line for line in lines)


def test_what_was_changed_here_differs_and_all_else_is_equal(moechat: Shell) -> None:
    moechat.json("import", saved(moechat, "tide.json", V3))
    moechat.json("character", "set", "Tide", "--set", "persona=Other words.")
    moechat.json(
        "official", "edit", "card.json#11", "-c", "Tide", "--set", "text=New lamp.", "keys=lamp,beam", now=None
    )
    out = moechat.home.data.parent / "out.json"
    moechat.json("export", "card", str(out), "-c", "Tide")
    changed = json.loads(json.dumps(V3))
    changed["data"]["description"] = "Other words."
    changed["data"]["character_book"]["entries"][0] |= {"content": "New lamp.", "keys": ["lamp", "beam"]}
    changed["data"]["modification_date"] = int(moechat.home.clock.now().timestamp())
    assert card_of(out) == changed


def test_a_lorebook_goes_out_as_it_came_and_with_one_change(moechat: Shell) -> None:
    moechat.json("import", saved(moechat, "sea.json", WORLD))
    out = moechat.home.data.parent / "out.json"
    moechat.json("export", "lorebook", str(out))
    assert json.loads(out.read_text(encoding="utf-8")) == WORLD
    moechat.json("official", "edit", "sea.json#0", "--set", "text=Sand now.", now=None)
    moechat.json("export", "lorebook", str(out), "--force")
    changed = json.loads(json.dumps(WORLD))
    changed["entries"]["0"]["content"] = "Sand now."
    assert json.loads(out.read_text(encoding="utf-8")) == changed


def test_a_character_without_a_card_becomes_one_and_its_world_book_goes_along(moechat: Shell) -> None:
    (folder(moechat, CHARACTER) / "data_base").mkdir()
    (folder(moechat, CHARACTER) / "data_base" / "a.yaml").write_text(
        "渡口: {text: 在东岸, keys: [码头], order: 5}\n", encoding="utf-8"
    )
    out = moechat.home.data.parent / "out.png"
    moechat.json("export", "card", str(out))
    moechat.json("import", str(out), "-c", "again")
    data = card_of(out)["data"]
    assert (data["name"], data["description"]) == (CHARACTER, "你是小满，爱听人说话。")
    [entry] = data["character_book"]["entries"]
    assert (entry["keys"], entry["content"], entry["insertion_order"]) == (["渡口", "码头"], "在东岸", 5)
    assert moechat.json("character", "show", "again")["persona"] == "你是小满，爱听人说话。"


def test_a_name_that_would_lead_elsewhere_or_is_a_script_is_a_name(moechat: Shell) -> None:
    evil = V2 | {"data": V2["data"] | {"name": "../../<script>alert(1)</script>"}}
    name = moechat.json("import", saved(moechat, "evil.json", evil))["character"]
    assert "/" not in name and "<" not in name and folder(moechat, name).parent == moechat.home.data / "agents"
    status, _, errors = moechat("import", saved(moechat, "evil.json", evil), "-c", "../x")
    assert status == 1 and "cannot be a character's folder" in errors[0]
    status, _, errors = moechat("import", saved(moechat, "evil.json", evil))
    assert status == 1 and "choose another" in errors[0]


def test_template_syntax_stays_text(moechat: Shell) -> None:
    words = "{{7*7}} {% for x in y %} ${{x}} {{config.items()}} <%= 1 %>"
    moechat.json("import", saved(moechat, "a.json", V2 | {"data": V2["data"] | {"description": words}}))
    prompt = moechat.json("character", "test", "Tide", "hello")["prompt"]
    assert any(
        words.replace("{{x}}", "") in one["content"] for one in prompt
    )  # a macro that nobody knows gives nothing


# ---- in the talk


def test_entries_stand_where_they_say_and_the_turn_tells_why(home: Home) -> None:
    card = json.loads(json.dumps(V2))
    card["data"]["system_prompt"] = "FIRST {{original}} {{char}}"
    card["data"]["post_history_instructions"] = "LAST {{user}}"
    entries = [
        {"key": ["lamp"], "content": "BEFORE {{user}}", "position": 0, "order": 2},
        {"key": ["lamp"], "content": "AFTER", "position": 1},
        {"key": ["lamp"], "content": "EARLIER", "position": 0, "order": 1},
        {"key": ["lamp"], "content": "DEEP", "position": 4, "depth": 1, "role": 1},
        {"key": ["lamp"], "content": "BLOCK", "position": None},
        {"key": ["nothing"], "content": "NEVER"},
    ]
    del card["data"]["character_book"]
    (home.folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "w.json").write_text(json.dumps(world(*entries)), encoding="utf-8")
    edit(home.folder / "character.yaml", "persona", "nickname: Ti\npersona")
    model = ScriptedModel(["Hm."], understands=False)
    with home.open(model) as house:
        agent = house.agent()
        say(agent, "turn the lamp on")
        messages = [(m.role, m.content) for m in agent.conversation.trace(agent.log()[-1]["id"]).messages]  # type: ignore[arg-type,union-attr]
        fires = agent.fired()
    texts = [text for _, text in messages]
    assert texts[0] == "EARLIER\n\nBEFORE 阿明" and texts[2] == "AFTER"
    assert (
        texts[1].startswith("FIRST ") and texts[1].count("FIRST") == 1 and "你是小满" in texts[1] and " Ti" in texts[1]
    )
    assert messages[-3:] == [("user", "DEEP"), ("user", "turn the lamp on"), ("system", "LAST 阿明")]
    assert "BLOCK" in texts[-4] and messages[-6:-4] == [("system", "p"), ("assistant", "You came, 阿明.")]
    assert not any("NEVER" in text for text in texts)
    assert {row["why"] for row in fires} == {"key: lamp"} and {row["id"] for row in fires} >= {"w.json#0", "w.json#4"}


def test_a_talk_counts_its_greeting_and_knows_why_a_reply_is_made(home: Home) -> None:
    card = json.loads(json.dumps(V2))
    card["data"] |= {"description": "A keeper. {{outlet::box}}", "mes_example": ""}
    card["data"]["extensions"]["depth_prompt"] = {
        "prompt": "NOTE {{char}} {{getvar::x}} {entries}",
        "depth": 1,
        "role": "assistant",
    }
    entries = [
        {"key": ["YOU CAME"], "content": "GREETED", "matchWholeWords": False},
        {"key": [], "constant": True, "content": "SECOND", "delay": 3},
        {"key": ["keeper"], "content": "KEPT", "matchCharacterDescription": True},
        {"key": ["/\\x01阿明: hello/"], "content": "AGAIN", "triggers": ["swipe"]},
        {"key": ["hello"], "content": "BOXED", "position": 7, "outletName": "box"},
        {"key": ["hello"], "content": "STAYS", "sticky": 3},
        {"key": ["hello"], "content": "HERS", "characterFilter": {"names": ["Tide"]}},
        {"key": ["hello"], "content": "OTHERS", "characterFilter": {"names": ["小满", "Tide"], "isExclude": True}},
    ]
    del card["data"]["character_book"]
    (home.folder / "card.json").write_text(json.dumps(card), encoding="utf-8")
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "w.json").write_text(json.dumps(world(*entries)), encoding="utf-8")
    (home.folder / "character.yaml").write_text("name: Tide\nuser_name: 阿明\n", encoding="utf-8")
    with home.open(ScriptedModel(["Hm."] * 4, understands=False)) as house:
        agent = house.agent()

        def fired() -> set[str]:
            request = agent.conversation.trace(agent.log()[-1]["id"]).messages  # type: ignore[arg-type,union-attr]
            prompts.append(request)
            told = "\n".join(one.content for one in request)
            return {word for word in re.findall("[A-Z]{4,}", told) if word != "NOTE"}

        prompts: list[Any] = []
        say(agent, "hello")
        first = {"GREETED", "KEPT", "BOXED", "STAYS", "HERS"}
        assert fired() == first
        list(agent.conversation.regenerate())
        assert fired() == {*first, "AGAIN"}
        say(agent, "well")
        assert fired() == {"SECOND", "KEPT", "STAYS"}
        say(agent, "well, well")
        assert fired() == {"SECOND", "KEPT"}
    assert ("assistant", "NOTE Tide  {entries}") in [(one.role, one.content) for one in prompts[0]]


def test_an_entry_stays_for_some_messages_then_rests(home: Home) -> None:
    (home.folder / "data_base").mkdir()
    entry = {"key": ["lamp"], "content": "The lamp turns.", "sticky": 3, "cooldown": 2, "scanDepth": 1}
    (home.folder / "data_base" / "w.json").write_text(json.dumps(world(entry)), encoding="utf-8")
    whys = []
    with home.open(ScriptedModel(["ok"] * 9, understands=False)) as house:
        for text in ("lamp", "and?", "lamp", "lamp", "so?"):
            hits = recalled(house.agent(), text).hits
            whys.append(next((hit.why for hit in hits if hit.layer == "lore" and hit.why), ""))
            home.clock.advance(minutes=1)
    assert whys == ["key: lamp", "sticky", "", "key: lamp", "sticky"]


def test_a_folder_that_holds_only_a_card_opens_as_that_card(home: Home) -> None:
    other = home.data / "agents" / "other"
    other.mkdir()
    (other / "card.json").write_text(json.dumps(V3), encoding="utf-8")
    with home.open() as house:
        who = house.agent("other").character
        assert (who.name, who.persona, who.greeting) == ("Ti", "Ti keeps the light.", "You came, User.")
        assert (list(who.greetings), list(who.tags), who.language) == (["Again you.", "Hm."], ["sea", "Slow"], "en")
        shutil.copy(other / "card.json", other / "x.json")
        (other / "card.json").write_text("{", encoding="utf-8")
        house.agent("other").conversation.follow()
        assert any("card.json" in problem for problem in house.agent("other").problems())


# ---- lore test


def test_lore_test_says_what_fires_and_why(moechat: Shell) -> None:
    keys = {"lamp": "x", "/(a+)+$/": "y", "z": "z"}
    path = saved(moechat, "w.json", world(*({"key": [key], "content": text} for key, text in keys.items())))
    status, lines, errors = moechat("lore", "test", path, "the lamp", "now " + "a" * 4000 + "!", now=None)
    assert status == 0 and lines[0].startswith("fires w.json#0") and "key: lamp" in lines[0]
    assert lines[2].startswith("-") and "no key stands there" in lines[2]
    assert len(errors) == 1 and "too long" in errors[0]


def test_lore_fired_says_when_an_entry_came_and_why(moechat: Shell) -> None:
    book = moechat.home.folder / "data_base"
    book.mkdir()
    (book / "places.yaml").write_text("渡口: 渡船每天六点到七点来回\n", encoding="utf-8")
    id_ = moechat.json("say", "我们去渡口吧")["exchange_id"]
    assert moechat("lore", "fired")[:2] == (0, ["2025-05-20 15:00 places.yaml#渡口: key: 渡口"])
    row = moechat.json("lore", "fired")
    assert (row["exchange"], row["id"]) == (id_, "places.yaml#渡口")
    lines = moechat("character", "test", CHARACTER, "去渡口")[1]
    assert lines[-1].startswith("=== ") and lines[-2].startswith("+++ places.yaml#渡口: key: 渡口 (")
    assert lines[0].startswith("--- system")
    trial = moechat.json("character", "test", CHARACTER, "去渡口")
    assert (
        [one["why"] for one in trial["fired"]] == ["key: 渡口"] and trial["fired"][0]["tokens"] > 3 and trial["reply"]
    )


# ---- archives


def contents(place: Path) -> dict[str, bytes]:
    skipped = (".index", "backups")
    files = [
        path
        for path in place.rglob("*")
        if path.is_file() and not any(part in skipped for part in path.relative_to(place).parts)
    ]
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in files
        if not path.name.endswith((".lock", "exports.json"))
    }


def test_an_archive_reads_back_in_equal_after_the_character_was_deleted(moechat: Shell) -> None:
    moechat.json("import", saved(moechat, "tide.png", container.written("png", V3, picture=PICTURE)))
    moechat.json("say", "I live in Bergen and my cat is called Nori.", "-c", "Tide")
    moechat.json("say", "Hello.", "-c", "Tide", "--user", "Bo")
    before = contents(folder(moechat))
    out = moechat.home.data.parent / "tide.zip"
    moechat.json("export", "archive", str(out), "-c", "Tide")
    kept = moechat.json("character", "delete", "Tide")["character"]
    moechat.json("character", "empty-bin", kept, "--yes")
    assert moechat.json("import", str(out), "--dry-run")["of"] == "character"
    moechat.json("import", str(out))
    after = contents(folder(moechat))
    assert {name: data for name, data in after.items() if name in before} == before and "log.jsonl" in before
    assert "Nori" in json.dumps(moechat.json("recall", "what is my cat called?", "-c", "Tide"))


def test_an_archive_without_memory_holds_only_what_the_author_wrote(moechat: Shell) -> None:
    moechat.json("say", "我住在杭州")
    out = moechat.home.data.parent / "a.zip"
    moechat.json("export", "archive", str(out), "--without-memory")
    assert sorted(zipfile.ZipFile(out).namelist()) == ["character.yaml", "moechat.json"]


def test_a_memory_alone_goes_to_a_character_that_has_none(moechat: Shell) -> None:
    moechat.json("say", "我住在杭州")
    out = moechat.home.data.parent / "m.zip"
    moechat.json("export", "memory", str(out))
    moechat.json("character", "create", "other", "--set", "persona=另一个")
    assert moechat("import", str(out))[0] == 1  # this one has a memory
    moechat.json("import", str(out), "-c", "other")
    assert "杭州" in json.dumps(moechat.json("recall", "我住在哪里", "-c", "other"), ensure_ascii=False)


@pytest.mark.parametrize("name", ["../evil.yaml", "/evil", "data_base/..\\x", "a:b", "a/ b", "a/b."])
def test_an_archive_with_a_path_in_a_name_is_refused(moechat: Shell, name: str) -> None:
    path = moechat.home.data.parent / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "moechat.json", json.dumps({"moechat": "archive", "format": 1, "kind": "character", "name": "evil"})
        )
        archive.writestr(name, "x")
    status, _, errors = moechat("import", str(path))
    assert (status, len(errors)) == (1, 1) and "refused" in errors[0]
    assert not folder(moechat, "evil").exists() and list(moechat.home.data.rglob("*evil*")) == []


# ---- the studio by command, and you


def test_characters_are_made_copied_renamed_and_come_back_from_the_bin(moechat: Shell) -> None:
    moechat.json("character", "create", "Ann", "--set", "persona=A friend", "greetings=Hi|Ho", "greeting=Hello")
    moechat.json("say", "I like tea.", "-c", "Ann")
    moechat.json("character", "duplicate", "Ann", "Bea")
    assert not (folder(moechat, "Bea") / "log.jsonl").exists()
    moechat.json("character", "rename", "Ann", "Cara")
    assert moechat.json("recall", "tea", "-c", "Cara")["hits"]
    moechat.json("character", "greeting", "Cara", "2")
    shown = moechat.json("character", "show", "Cara")
    assert (shown["greeting"], shown["greetings"]) == ("Ho", ["Hi", "Hello"])
    kept = moechat.json("character", "delete", "Cara")["character"]
    assert moechat.json("character", "list")["bin"] == [kept]
    moechat.json("character", "restore", kept)
    assert {"Bea", "Cara"} <= set(moechat.json("character", "list")["characters"])


def test_you_are_known_to_all_characters_or_to_one(moechat: Shell) -> None:
    moechat.json("you", "--set", "name=林小雨", "address=小雨", "about=怕黑。")
    path = folder(moechat, CHARACTER) / "character.yaml"
    edit(path, "user_name: 阿明\n", "")
    with moechat.home.open() as house:
        who = house.agent().character
        assert who.user_name == "小雨" and "小雨的名字是林小雨" in who.user_persona and "怕黑" in who.user_persona
    moechat.json("you", "-c", CHARACTER, "--set", "address=雨")
    with moechat.home.open() as house:
        assert house.agent().character.user_name == "雨"
    status, _, errors = moechat("you", "--set", "age=3")
    assert status == 1 and "age" in errors[0]
