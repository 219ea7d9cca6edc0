"""The studio and what is dropped on the page, as clicks report them: characters made and mended, files looked at and taken in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moechat.cards import container, png
from moechat.house import House, source_files
from moechat.house.studio import Arrival
from moechat.house.studio import look as looked_at
from moechat.store import zips
from moechat.web import author_room, fault_words, memory_room, rooms, studio_page, studio_room
from moechat.web.clicks import Note, Visit
from moechat.web.memory_room import MemoryLook
from moechat.web.rooms import STUDIO, Look
from moechat.web.studio_room import StudioLook
from moechat.web.tray import Trays
from moechat.web.words import Words
from tests.cards.cards import V3, WORLD
from tests.houses import CHARACTER, Home, say, silent

ZH, EN = Words("zh"), Words("en")
CARD = container.written("png", V3, picture=png.plain("Tide"))
TAVERN = "\n".join(
    json.dumps(line)
    for line in (
        {"user_name": "Ann", "character_name": "Tide"},
        {"name": "Ann", "is_user": True, "send_date": "March 4, 2021 8:15pm", "mes": "My cat is called Nori."},
        {"name": "Tide", "is_user": False, "send_date": "March 4, 2021 8:16pm", "mes": "Like seaweed."},
    )
).encode()
NAMED = b"time,who,text\n2021-03-04T20:15:00,Bob,hi there\n2021-03-04T20:16:00,Mia,hello Bob\n"


class Tab:
    """A tab in the studio: it clicks, follows where that leads, and sees what is drawn."""

    def __init__(self, house: House, trays: Trays, words: Words = ZH) -> None:
        self.house, self.words, self.tray = house, words, trays.of("tab")
        self.name, self.look, self.note = CHARACTER, StudioLook(), Note()

    @property
    def here(self) -> Visit:
        agent = self.house.agent(self.name)
        agent.conversation.follow()  # as the page does before it draws
        return Visit(self.house, agent, self.words, self.name, self.tray)

    def click(self, do: str, **values: str) -> str:
        """What is drawn after a click."""
        look = rooms.act(self.here, Look(STUDIO, studio=self.look), {"do": do, **values})
        self.look, self.note = look.studio, look.note
        if self.look.go is not None:
            self.name, self.look = self.look.go or CHARACTER, replace(self.look.elsewhere(), go=None)
        return self.drawn()

    def drawn(self) -> str:
        return studio_page.drawn(self.here, self.look)

    def drop(self, name: str, data: bytes) -> int:
        return self.tray.put(name, data).number


@pytest.fixture
def tab(home: Home) -> Iterator[Tab]:
    trays = Trays()
    with home.open(silent()) as house:
        yield Tab(house, trays)
    trays.close()


# ---- characters


def test_a_character_is_made_copied_renamed_binned_brought_back_and_erased(tab: Tab) -> None:
    tab.click("create", name="")
    assert tab.note == Note("先给它起个名字。", bad=True)
    assert "她爱吃橘子" in tab.click("create", name="阿橘", persona="她爱吃橘子")
    say(tab.house.agent("阿橘"), "我住在杭州")
    tab.click("duplicate", name="阿橘")
    assert tab.note == Note("已经有叫「阿橘」的了，换个名字。", bad=True)
    tab.click("duplicate", name="../阿橘")
    assert tab.note.bad and "不能用" in tab.note.text
    tab.click("duplicate", name="阿柚")
    assert (tab.name, tab.house.agent("阿柚").character.name) == ("阿柚", "阿柚")
    assert not tab.house.agent("阿柚").recent(1)
    tab.click("rename", name="阿桃")
    assert sorted(tab.house.characters()) == sorted([CHARACTER, "阿橘", "阿桃"])
    tab.name = "阿橘"
    assert "放进回收站，可以找回来" in tab.click("delete-now"), "it is asked first"
    tab.click("delete-now")
    assert "阿橘" not in tab.house.characters() and tab.name == CHARACTER
    [kept] = tab.house.studio.binned()
    tab.click("bring-back", id=kept)
    assert tab.house.agent("阿橘").recent(1)[0].exchange.user == "我住在杭州"
    tab.click("delete")
    tab.click("delete-now")
    [kept] = tab.house.studio.binned()
    assert "找不回来" in tab.click("erase-now", id=kept)
    tab.click("erase-now", id=kept)
    assert tab.house.studio.binned() == []


def test_only_what_a_form_changes_is_written_and_what_is_emptied_is_gone_from_a_card_too(tab: Tab) -> None:
    tab.drop("tide.json", json.dumps(V3).encode())
    tab.click("take", chosen="1", act="take")
    texts = studio_room.texts_of(tab.house, "Tide", ZH)
    tab.click("save-persona", **texts)
    assert tab.note.text == "没有改动。"
    assert not (tab.house.studio.folder("Tide") / "character.yaml").exists()
    tab.click("save-persona", **texts | {"persona": "新的人设", "scenario": "", "tags": "", "greeting-3": "又见面了。"})
    values = tab.house.studio.values("Tide")
    assert (values["persona"], values["scenario"], values["tags"]) == ("新的人设", "", [])
    assert values["greetings"] == [*V3["data"]["alternate_greetings"], "又见面了。"]
    tab.click("greet-first", id="3")
    assert tab.house.studio.values("Tide")["greeting"] == "又见面了。"
    whole = json.loads(tab.house.studio.export_card("Tide", "json"))
    assert whole["data"] == V3["data"] | {
        "description": "新的人设", "scenario": "", "tags": [], "first_mes": "又见面了。",
        "alternate_greetings": [*V3["data"]["alternate_greetings"], V3["data"]["first_mes"]],
        "modification_date": int(tab.house.clock.now().timestamp()),
    }  # fmt: skip


def test_a_file_is_checked_before_it_is_saved_and_never_over_a_change_from_elsewhere(tab: Tab, home: Home) -> None:
    path = home.folder / "character.yaml"
    before = path.read_text(encoding="utf-8")
    edition = source_files.edition(before)
    tab.look = StudioLook("files", file="character.yaml")
    for text, said in (
        ("name: [", "character.yaml 第 2 行"),
        ("nam: 小满\n", "没有 nam 这一项；是不是 name"),
        ("language: fr\n", "只能是 zh 或 en"),
    ):
        tab.click("save-file", text=text, edition=edition)
        assert tab.note.bad and said in tab.note.text, tab.note
        assert path.read_text(encoding="utf-8") == before
    tab.click("save-file", text=f"{before}nickname: 满满\n", edition=edition)
    assert not tab.note.bad and tab.here.agent.character.name == "满满"  # type: ignore[union-attr]
    tab.click("save-file", text=before, edition=edition)
    assert tab.note.bad and "在别处改过了" in tab.note.text
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "a.yaml").write_text("渡口: 在东岸\n", encoding="utf-8")
    tab.click("file", id="data_base/a.yaml")
    tab.click("save-file", text="渡口: {txt: 在东岸}\n", edition=source_files.edition("渡口: 在东岸\n"))
    assert "a.yaml 第 1 行" in tab.note.text and "没有 txt 这一项" in tab.note.text
    tab.click("file", id="../../config.yaml")
    assert "config" not in tab.drawn()


def test_a_broken_character_can_be_mended_where_it_cannot_be_opened(tab: Tab, home: Home) -> None:
    broken = home.data / "agents" / "坏了"
    broken.mkdir()
    (broken / "character.yaml").write_text("name: [", encoding="utf-8")
    here = replace(tab.here, name="坏了", agent=None)
    drawn = studio_page.drawn(here, StudioLook("files"))
    assert "它现在打不开：character.yaml 第 2 行" in drawn
    edition = source_files.edition("name: [")
    studio_room.act(
        here, StudioLook("files", file="character.yaml"), {"do": "save-file", "text": "name: 好了", "edition": edition}
    )
    assert tab.house.agent("坏了").character.name == "好了"


def test_a_message_is_tried_off_the_record_and_says_what_fired_and_why(tab: Tab, home: Home) -> None:
    (home.folder / "data_base").mkdir()
    (home.folder / "data_base" / "a.yaml").write_text(
        "渡口: 在东岸，夜里有灯\n海: {text: 很大, constant: true}\n", encoding="utf-8"
    )
    drawn = tab.click("try", sentence="去渡口看看")
    assert "<b>渡口</b> · 出现了「渡口」" in drawn and "<b>海</b> · 常驻" in drawn
    assert tab.look.trial is not None and any("夜里有灯" in one.content for one in tab.look.trial.prompt)
    assert not tab.house.agent().recent(1)
    say(tab.house.agent(), "去渡口看看")
    tab.click("part", value="book")
    assert 'data-do="add"' in tab.click("new", value="new_lore") and 'data-do="add"' not in tab.click("cancel")
    assert "上次触发 2025-05-20 15:00 · 出现了「渡口」" in tab.click("open", id="a.yaml#渡口")


# ---- what is dropped


def test_a_whole_tavern_folder_is_seen_first_then_taken_in_each_to_its_own(tab: Tab) -> None:
    card = V3 | {"data": V3["data"] | {"extensions": {"world": "sea"}}}
    tab.drop("default-user/chats/Tide/2021.jsonl", TAVERN)
    tab.drop("default-user/worlds/sea.json", json.dumps(WORLD).encode())
    tab.drop("default-user/characters/Tide.png", container.written("png", card, picture=png.plain("Tide")))
    tab.drop("default-user/characters/evil.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffIDAT")
    drawn = tab.drawn()
    for part in ("You came, {{user}}.", "2 条世界书", "2021-03-04 到 2021-03-04", "Ann（1 句）、Tide（1 句）", "没有重复的",
                 "evil.png: 图片不完整", "<code>automationId</code>"):  # fmt: skip
        assert part in drawn, part
    assert tab.house.characters() == [CHARACTER], "nothing is written yet"
    tab.click("take", chosen="1 2 3", act="talk")
    assert tab.note.text == "带进来了：Tide、2021。"
    assert tab.name == "Tide" and list(tab.tray.files) == [4]
    agent = tab.house.agent("Tide")
    assert {one.file for one in agent.official.listed("lore")} == {"card.json", "sea.json"}  # type: ignore[union-attr]
    agent.jobs.read_imports(lambda done, of: None)
    assert any("Nori" in fact.text for fact in agent.store.findings.facts())
    assert "没有重复的" not in tab.drawn()
    again = tab.drop("chats/Tide/2021.jsonl", TAVERN)
    assert "1 段已经有了" in tab.drawn()
    tab.click("take", chosen=str(again), act="take")
    assert tab.note.bad and "这些以前带进来过" in tab.drawn()
    tab.click("away")
    [batch] = agent.store.tree.batches
    tab.click("part", value="along")
    assert "找不回来" in tab.click("take-back-now", id=batch)
    tab.click("take-back-now", id=batch)
    assert not agent.store.findings.facts() and batch not in tab.drawn()


def test_whoever_is_meant_by_a_name_in_a_file_of_talk_can_be_chosen(tab: Tab) -> None:
    number = tab.drop("mia.csv", NAMED)
    drawn = tab.drawn()
    assert "看起来你是「Bob」" in drawn and "哪个是你" in drawn and '<option value="Bob" selected' in drawn
    tab.click("take", **{"chosen": str(number), "act": "take"})
    assert "say which is you" in tab.drawn() and not tab.house.agent().store.tree.batches
    drawn = tab.click("aim", **{f"to-{number}": CHARACTER, f"me-{number}": "Bob", "chosen": str(number)})
    assert "看起来" not in drawn and "1 段对话" in drawn
    tab.click("take", **{f"to-{number}": CHARACTER, f"me-{number}": "Bob", "chosen": str(number), "act": "take"})
    assert tab.house.agent().store.tree.batches


def test_a_name_that_is_taken_is_made_free_and_an_archive_brings_a_character_back(tab: Tab, home: Home) -> None:
    say(tab.house.agent(), "我住在杭州")
    packed = io.BytesIO()
    tab.house.studio.export_archive(CHARACTER, packed, memory=True)
    number = tab.drop("a.zip", packed.getvalue())
    assert f'value="{CHARACTER} 2"' in tab.drawn() and "带着记忆" in tab.drawn()
    tab.click("take", **{"chosen": str(number), f"name-{number}": "回来了", "act": "take"})
    assert tab.house.agent("回来了").recent(1)[0].exchange.user == "我住在杭州"


def test_what_is_ticked_alone_is_taken_and_the_rest_can_be_put_away(tab: Tab) -> None:
    tab.click("take", act="take")
    assert tab.note.text == "先勾选要带进来的。"
    first, second = tab.drop("a.png", CARD), tab.drop("b.png", CARD)
    tab.click("take", **{f"file-{first}": "", f"file-{second}": "", "chosen": str(second), "act": "take"})
    assert list(tab.tray.files) == [first] and tab.house.characters() == ["Tide", CHARACTER]
    path = tab.tray.files[first].path
    tab.click("away", id=str(first))
    assert not tab.tray.files and not path.exists()


def test_exports_that_may_hold_what_was_forgotten_are_named(tab: Tab) -> None:
    agent = tab.house.agent()
    fact = agent.memories.add_fact("我养了一只橘猫")
    agent.memories.exports.note("小满.zip（从页面带走）")
    look = MemoryLook(opened=fact.id, doing="surely")
    note = memory_room.act(tab.here, look, {"do": "forget-now", "id": fact.id})[1]
    assert "小满.zip（从页面带走）" in note.text


# ---- errors in the page's language


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", b"{"), ("b.bin", b"\0\1"), ("c.png", CARD[:200]), ("d.json", b'{"data": {}}'),
        ("e.zip", zips.zipped({"card.json": b"[]"})), ("f.charx", zips.zipped({"card.json": b"[" * 100_000})),
        ("g.json", b"[" * 100_000), ("h.zip", zips.zipped({"card.json": b"{" + b'"a":[],' * 1_000_001})),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_in_is_told_in_both_languages(tab: Tab, name: str, data: bytes) -> None:
    fault = tab.tray.put(name, data).fault
    assert fault is not None
    chinese, english = fault_words.said(fault, ZH), fault_words.said(fault, EN)
    assert chinese != english and chinese.startswith(name) and english.startswith(name)
    assert any("\u4e00" <= sign <= "\u9fff" for sign in chinese) and not any(
        "\u4e00" <= sign <= "\u9fff" for sign in english
    )


def test_a_file_with_a_path_in_its_name_lies_in_the_tray_alone(tab: Tab, tmp_path: Path) -> None:
    brought = tab.tray.put("../../../etc/<script>.json", json.dumps(V3).encode())
    assert brought.path.parent.parent == brought.path.parents[1] and ".." not in brought.path.name
    assert "<script>" not in tab.drawn()
    assert isinstance(looked_at(brought.path), Arrival)


def test_a_form_changes_what_was_changed_in_it() -> None:
    before = {"text": "灯塔", "keywords": "灯塔、楼梯", "place": "海边", "importance": ""}
    form = {"text": "灯塔", "keywords": "灯塔, 大海", "place": "", "importance": ".8", "unknown": "x"}
    changes = {"keywords": ["灯塔", "大海"], "place": None, "importance": ".8"}
    assert author_room.changed("event", form, before) == changes
