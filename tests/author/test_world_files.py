"""The files of the world book: written one entry at a time, every other byte as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moechat.author.official import Official
from moechat.author.world_files import LoreFiles
from moechat.errors import DataError, FieldError, NameTaken, NotFound
from moechat.memory.world_book import WorldBook
from moechat.model import NEW_LORE_FILE, Lore
from moechat.store import records
from tests.houses import Home, silent

PLACES = """\
# 我们的地方
渡口: 渡船每天六点到七点来回。   # 单程八分钟

Grey Lady lighthouse:
  text: The light turns once every twelve seconds.
  keys: [Grey Lady, lighthouse]     # 别名
# 下面是山
"no": 'a name: not false'
山: |
  很高。

  常有雪。
"""


def build(folder: Path, text: str = PLACES, name: str = "places.yaml") -> LoreFiles:
    book = folder / "data_base"
    book.mkdir(exist_ok=True)
    (book / name).write_bytes(text.encode())
    return LoreFiles(book, folder / ".lock")


def text_of(files: LoreFiles, name: str = "places.yaml") -> str:
    return (files.folder / name).read_bytes().decode()


def test_entries_are_listed_with_those_that_are_switched_off(tmp_path: Path) -> None:
    files = build(tmp_path, PLACES + "井: {text: 干了, enabled: false}\n")
    assert [one.keyword for one in files.listed()] == ["渡口", "Grey Lady lighthouse", "no", "山", "井"]
    assert files.get("places.yaml#井") == Lore("places.yaml#井", "井", "干了", "places.yaml", enabled=False)
    assert [one.keyword for one in WorldBook(files.folder).entries][-1] == "山"


@pytest.mark.parametrize(
    ("name", "text"), [("places.yaml", PLACES), ("city.json", '{"entries": {"0": {"key": ["渡口"], "content": "船"}}}')]
)
def test_a_folder_of_the_book_that_leads_elsewhere_is_not_read_in_either_form(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "character").mkdir()
    there = build(tmp_path / "elsewhere", text, name)
    assert "渡口" in [one.keyword for one in there.listed()]
    (tmp_path / "character" / "data_base").symlink_to(there.folder)
    here = LoreFiles(tmp_path / "character" / "data_base", tmp_path / ".lock")
    assert here.listed() == [] and "leads out" in str(here.problems[0])


FULL = """\
灯:
  text: 亮
  keys: 灯塔、lamp
  constant: yes
  enabled: off
  secondary: [night]
  logic: not_any
  regex: 1
  case: On
  whole_words: no
  scan_depth: 3
  order: -4
  priority: 7
  position: depth
  depth: 2
  role: user
  probability: 55.5
  sticky: 2
  cooldown: 3
  delay: 1
"""


def test_the_fuller_form_says_every_field_of_an_entry(tmp_path: Path) -> None:
    assert build(tmp_path, FULL).listed() == [
        Lore(
            "places.yaml#灯", "灯", "亮", "places.yaml", ("灯塔", "lamp"), True, False, ("night",), "not_any", True, True, False,
            scan_depth=3, order=-4, priority=7, position="depth", depth=2, role="user", probability=55.5, sticky=2, cooldown=3,
            delay=1,
        )
    ]  # fmt: skip


def test_what_cannot_be_read_of_an_entry_is_named_with_key_and_remedy(tmp_path: Path) -> None:
    faults = {
        "txt: x": "unknown key txt; did you mean text?",
        "keys: [a]": "expects a keyword and a description in words",
        "text: x, keys: {a: b}": "keys expects a list of names, such as [one, two]",
        "text: x, secondary: [a, [b]]": "secondary expects a list of names, such as [one, two]",
        "text: x, constant: maybe": "constant expects true or false",
        "text: x, order: 1.5": "order expects a whole number",
        "text: x, sticky: -1": "sticky expects a whole number, 0 or more",
        "text: x, probability: 101": "probability expects a number from 0 to 100",
        "text: x, logic: some": "logic expects any, not_all, not_any, all",
        "text: x, role: tool": "role expects system, user, assistant",
    }
    files = build(tmp_path, "".join(f"k{n}: {{{fault}}}\n" for n, fault in enumerate(faults)) + "山: 高\n")
    told = [(problem.line, str(problem).partition(f"k{n}: ")[2]) for n, problem in enumerate(files.problems)]
    assert told == [(n, sentence) for n, sentence in enumerate(faults.values(), 1)]
    assert [one.keyword for one in files.listed()] == ["山"]


def test_words_that_yaml_would_read_as_something_else_are_quoted_and_read_as_words(tmp_path: Path) -> None:
    strange = [*"y n yes No on OFF true false null ~ 1.5 2025-05-20 12:30".split(), "a: b", "- a", "#a"]
    words = [*strange, "plain words", "渡口"]
    files = LoreFiles(tmp_path / "data_base", tmp_path / ".lock")
    for word in words:
        files.add({"keyword": word, "text": f"{word}?", "keys": [word]})
    assert [(one.keyword, one.text, one.keys) for one in files.listed()] == [(one, f"{one}?", (one,)) for one in words]
    lines = [line for line in text_of(files, NEW_LORE_FILE).splitlines() if not line.startswith(" ")]
    assert lines == [*(f'"{word}":' for word in strange), "plain words:", "渡口:"]


def test_an_entry_of_a_json_book_changes_alone_and_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "data_base"
    folder.mkdir()
    value = {"entries": {"0": {"key": ["a"], "content": "w", "x": 1}, "1": {"key": ["b"], "content": "v"}}, "y": [0]}
    (folder / "b.json").write_text(json.dumps(value), encoding="utf-8")
    (folder / "c.json").write_text('{"some": "thing"}', encoding="utf-8")
    files = LoreFiles(folder, tmp_path / ".lock")
    assert [one.id for one in files.listed()] == ["b.json#0", "b.json#1"] and "is no lorebook" in str(files.problems[0])
    assert files.update("b.json#0", {"keys": "x、y", "sticky": 2, "text": " new "}).keys == ("x", "y")
    files.delete("b.json#1")
    changed = {"key": ["x", "y"], "content": " new ", "x": 1, "sticky": 2}
    assert json.loads((folder / "b.json").read_text(encoding="utf-8")) == {"entries": {"0": changed}, "y": [0]}
    with pytest.raises(FieldError, match="whole number"):
        files.update("b.json#0", {"order": "first"})


@pytest.mark.parametrize(("name", "text"), [("b.yaml", PLACES), ("b.json", '{"entries": {"山": {"key": ["a"]}}}')])
def test_what_a_hand_has_just_taken_out_cannot_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    def after_a_hand(path: Path, lock: Path, change: Any) -> None:
        change(b'{"entries": {}}' if name == "b.json" else "渡口: 船\n".encode())

    files = build(tmp_path, text, name)
    monkeypatch.setattr(records, "rewrite", after_a_hand)
    with pytest.raises(NotFound, match="no longer holds"):
        files.update(f"{name}#山", {"text": "new"})


def test_the_first_entry_makes_the_file(tmp_path: Path) -> None:
    files = LoreFiles(tmp_path / "data_base", tmp_path / ".lock")
    assert files.listed() == [] and files.problems == []
    made = files.add({"keyword": "茶馆", "text": "半舟是河边的茶馆"})
    assert made.id == f"{NEW_LORE_FILE}#茶馆"
    assert text_of(files, NEW_LORE_FILE) == "茶馆: 半舟是河边的茶馆\n"
    files.add({"keyword": "河", "text": "水清", "file": "水.yaml", "keys": "河流，水", "constant": True})
    assert text_of(files, "水.yaml") == '河:\n  text: 水清\n  keys: ["河流", "水"]\n  constant: true\n'
    assert files.get("水.yaml#河").keys == ("河流", "水")


def test_adding_leaves_every_byte_that_was_there(tmp_path: Path) -> None:
    files = build(tmp_path)
    files.add({"keyword": "桥", "text": "两座", "file": "places.yaml"})
    assert text_of(files) == PLACES + "桥: 两座\n"


def test_a_plain_line_stays_one_as_long_as_it_can(tmp_path: Path) -> None:
    files = build(tmp_path)
    line = "渡口: 渡船每天六点到七点来回。   # 单程八分钟\n"
    files.update("places.yaml#渡口", {"text": "渡船停了。", "enabled": True, "constant": False, "keys": []})
    assert text_of(files) == PLACES.replace(line, "渡口: 渡船停了。\n")
    files.update("places.yaml#渡口", {"keys": ["码头"]})
    assert text_of(files) == PLACES.replace(line, '渡口:\n  text: 渡船停了。\n  keys: ["码头"]\n')
    files.update("places.yaml#渡口", {"keys": None})
    assert text_of(files) == PLACES.replace(line, "渡口:\n  text: 渡船停了。\n")


def test_a_key_stays_as_its_author_wrote_it(tmp_path: Path) -> None:
    files = build(tmp_path)
    files.update("places.yaml#no", {"text": "a name"})
    assert text_of(files) == PLACES.replace("'a name: not false'", "a name")


def test_a_new_keyword_gives_a_new_id_in_the_same_place(tmp_path: Path) -> None:
    files = build(tmp_path)
    changed = files.update("places.yaml#渡口", {"keyword": "yes", "text": "新的"})
    assert changed.id == "places.yaml#yes"
    assert text_of(files).startswith('# 我们的地方\n"yes": 新的\n\nGrey Lady')
    with pytest.raises(NotFound):
        files.get("places.yaml#渡口")
    with pytest.raises(NameTaken, match="already"):
        files.update("places.yaml#yes", {"keyword": "山"})


def test_an_entry_is_switched_off_and_on_again(tmp_path: Path) -> None:
    files = build(tmp_path)
    book = WorldBook(files.folder)
    files.update("places.yaml#Grey Lady lighthouse", {"enabled": False})
    assert book.refresh() and "Grey Lady lighthouse" not in [one.keyword for one in book.entries]
    assert not files.get("places.yaml#Grey Lady lighthouse").enabled
    files.update("places.yaml#Grey Lady lighthouse", {"enabled": True})
    assert book.refresh() and "Grey Lady lighthouse" in [one.keyword for one in book.entries]


@pytest.mark.parametrize("keyword", ["渡口", "Grey Lady lighthouse", "no", "山"])
def test_taking_an_entry_out_leaves_the_others_and_every_comment(tmp_path: Path, keyword: str) -> None:
    files = build(tmp_path)
    others = [one for one in files.listed() if one.keyword != keyword]
    files.delete(f"places.yaml#{keyword}")
    assert files.listed() == others
    left = text_of(files)
    assert all(comment in left for comment in ("# 我们的地方\n", "# 下面是山\n"))
    for line in left.splitlines(keepends=True):
        assert line in PLACES


@pytest.mark.parametrize("end", ["", "\r\n"])
def test_line_ends_and_a_byte_order_mark_are_kept(tmp_path: Path, end: str) -> None:
    files = build(tmp_path, "\ufeff" + PLACES.rstrip("\n").replace("\n", "\r\n") + end)
    files.update("places.yaml#渡口", {"text": "停了\n很久"})
    files.add({"keyword": "桥", "text": "两座", "file": "places.yaml"})
    text = text_of(files)
    assert text.startswith("\ufeff# 我们的地方\r\n渡口: ") and text.count("\n") == text.count("\r\n")
    assert [one.text for one in files.listed()][0::4] == ["停了\n很久", "两座"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("渡口: 'oh\n", "not valid YAML"),
        ("- 渡口\n", "keyword: description"),
        ("渡口: [一\n山: 高\n", "not valid YAML"),
    ],
)
def test_a_broken_file_is_named_and_never_written(tmp_path: Path, text: str, why: str) -> None:
    files = build(tmp_path, text)
    (problem,) = files.problems
    assert "places.yaml" in str(problem) and why in str(problem)
    with pytest.raises(DataError, match=r"places\.yaml"):
        files.add({"keyword": "桥", "text": "两座", "file": "places.yaml"})
    assert text_of(files) == text


def test_a_file_in_another_encoding_is_named_and_never_written(tmp_path: Path) -> None:
    files = build(tmp_path)
    data = "桥: 两座\n".encode("gbk")
    (files.folder / "old.yaml").write_bytes(data)
    assert "UTF-8" in str(files.problems[0]) and len(files.listed()) == 4
    with pytest.raises(DataError, match="UTF-8"):
        files.add({"keyword": "河", "text": "水清", "file": "old.yaml"})
    assert (files.folder / "old.yaml").read_bytes() == data


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("{渡口: 船, 山: 高}\n", "山"),
        ("  渡口: 船\n  山: 高\n", "山"),
        ("渡口: &a 船\n山: *a\n", "渡口"),
        ("山: 高\n渡口: 船\n山: 更高\n", "山"),
        ("? 山\n: 高\n渡口: 船\n", "山"),
    ],
)
def test_an_entry_that_cannot_be_told_from_its_neighbours_is_refused_with_the_remedy(
    tmp_path: Path, text: str, keyword: str
) -> None:
    files = build(tmp_path, text)
    with pytest.raises(DataError, match="a line `keyword: …`"):
        files.update(f"places.yaml#{keyword}", {"text": "新的"})
    with pytest.raises(DataError, match="a line `keyword: …`"):
        files.delete(f"places.yaml#{keyword}")
    assert text_of(files) == text


def test_a_faulty_entry_survives_a_write_beside_it(tmp_path: Path) -> None:
    faulty = "井: {txt: 干了}\n"
    files = build(tmp_path, faulty + PLACES)
    files.update("places.yaml#山", {"text": "不高"})
    assert text_of(files).startswith(faulty) and "did you mean text" in str(files.problems[0])


@pytest.mark.parametrize(
    ("values", "field", "remedy"),
    [
        ({"text": "x"}, "keyword", "is missing"),
        ({"keyword": "桥"}, "text", "is missing"),
        ({"keyword": "桥", "text": " "}, "text", "in words"),
        ({"keyword": "桥\n梁", "text": "x"}, "keyword", "one line"),
        ({"keyword": "长" * 201, "text": "x"}, "keyword", "200"),
        ({"keyword": "桥", "text": "x", "key": "y"}, "key", "did you mean"),
        ({"keyword": "桥", "text": "x", "keys": [1]}, "keys", "list of words"),
        ({"keyword": "桥", "text": "x", "constant": "maybe"}, "constant", "true or false"),
        ({"keyword": "山", "text": "x", "file": "places.yaml"}, "keyword", "already"),
        *(
            ({"keyword": "桥", "text": "x", "file": file}, "file", "places.yaml")
            for file in ("../x.yaml", "a/b.yaml", "a\\b.yaml", ".hidden.yaml", "x.txt", "", "c:x.yaml", 3)
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_field_and_nothing_is_written(
    tmp_path: Path, values: dict[str, object], field: str, remedy: str
) -> None:
    files = build(tmp_path)
    with pytest.raises(FieldError, match=remedy) as error:
        files.add(values)
    assert error.value.field == field
    assert text_of(files) == PLACES and [path.name for path in files.folder.iterdir()] == ["places.yaml"]


def test_a_switch_is_read_in_whatever_words_a_hand_wrote_it(tmp_path: Path) -> None:
    words = {True: ("true", "yes", "on", "1", "YES", "True"), False: ("false", "no", "off", "0", "Off")}
    for meaning, each in words.items():
        files = build(tmp_path, "".join(f"桥{n}: {{text: 两座, constant: {word}}}\n" for n, word in enumerate(each)))
        assert [(one.constant, files.problems) for one in files.listed()] == [(meaning, [])] * len(each)
    files = build(tmp_path, "桥: {text: 两座, constant: ''}\n")
    assert files.listed() == [] and "constant" in str(files.problems[0])


def test_an_entry_stays_in_its_file(tmp_path: Path) -> None:
    files = build(tmp_path)
    with pytest.raises(FieldError, match="delete this one"):
        files.update("places.yaml#山", {"file": "other.yaml"})
    assert files.update("places.yaml#山", {"file": "places.yaml", "text": "高"}).text == "高"


def test_what_a_hand_has_just_saved_is_kept(tmp_path: Path) -> None:
    files = build(tmp_path)
    files.listed()
    path = files.folder / "places.yaml"
    path.write_bytes(PLACES.replace("keys: [Grey Lady, lighthouse]", "keys: [old tower]").encode())
    changed = files.update("places.yaml#Grey Lady lighthouse", {"text": "It is dark."})
    assert (changed.text, changed.keys) == ("It is dark.", ("old tower",))


def test_the_authors_store_holds_events_facts_and_the_world_book(tmp_path: Path) -> None:
    build(tmp_path)
    store = Official(tmp_path)
    fact = store.add("fact", {"text": "山上有雪"})
    assert [one.id for one in store.search("雪")] == [fact.id, "places.yaml#山"]
    assert [one.id for one in store.search("雪", "lore")] == ["places.yaml#山"]
    assert [one.id for one in store.search("lighthouse")] == ["places.yaml#Grey Lady lighthouse"]
    assert store.get("places.yaml#山") in store.listed() and store.get("places.yaml#山") not in store.listed("fact")
    with pytest.raises(FieldError, match="file and keyword"):
        store.add("lore", {"keyword": "桥", "text": "两座"}, "bridge")
    store.delete("places.yaml#山")
    assert [one.id for one in store.search("雪")] == [fact.id]


def test_an_agent_that_runs_knows_an_entry_from_the_next_message(tmp_path: Path) -> None:
    with Home.build(tmp_path).open(silent()) as house:
        agent = house.agent()
        assert agent.layers.book.entries == ()
        Official(agent.character.folder).add("lore", {"keyword": "半舟", "text": "河边的茶馆"})
        hits = agent.recall("半舟在哪里？").hits
        assert [one.keyword for one in agent.layers.book.entries] == ["半舟"]
        assert [hit.id for hit in hits if hit.layer == "lore"] == [f"{NEW_LORE_FILE}#半舟"]


WORDS = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and "\r" not in text)
KEYWORDS = WORDS.filter(lambda text: len(text.splitlines()) == 1)


@settings(max_examples=60)
@given(keyword=KEYWORDS, text=WORDS, keys=st.lists(KEYWORDS, max_size=3), constant=st.booleans())
def test_any_entry_comes_back_as_it_was_written_and_goes_without_a_trace(
    tmp_path_factory: pytest.TempPathFactory, keyword: str, text: str, keys: list[str], constant: bool
) -> None:
    files = build(tmp_path_factory.mktemp("lore"))
    if keyword.strip() in {one.keyword for one in files.listed()}:
        return
    made = files.add({"keyword": keyword, "text": text, "file": "places.yaml", "keys": keys, "constant": constant})
    names = tuple(key.strip() for key in keys)
    assert (made.keyword, made.text, made.keys, made.constant) == (keyword.strip(), text.strip(), names, constant)
    assert files.update("places.yaml#渡口", {"text": text}).text == text.strip()
    files.update("places.yaml#渡口", {"text": "船"})
    files.delete(made.id)
    assert text_of(files) == PLACES.replace("渡船每天六点到七点来回。   # 单程八分钟", "船")


PIECES = (
    "# 一句注释\n", "\n", "  \n", "渡口: 船\n", "山 : 高\n", '"桥": "两\n  座"\n', "'井': '干了'\n", "河: |\n  清\n\n  深\n",
    "路: >+\n  长\n\n", "林: {text: 密, keys: [树, 木]}\n", "田:\n  text: 绿\n  constant: yes\n  # 里面的\n", "城: 大 # 尾\n",
    "湖:\n    text: |-\n      静\n    enabled: off\n", "雪: [坏]\n", "云: {txt: 坏}\n", "风: &a 大\n", "雨: *a\n", "? 石\n: 硬\n",
    "沙: 一\n 二\n 三\n", "---\n", "...\n", "草: 'x\n", "{花: 红}\n", "\t叶: 绿\n", "雾: 浓",
)  # fmt: skip


@settings(max_examples=100)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=7), crlf=st.booleans(), which=st.integers(0, 6), text=WORDS)
def test_whatever_a_hand_wrote_a_write_changes_its_entry_alone_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], crlf: bool, which: int, text: str
) -> None:
    lines = [piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces[:-1]]  # only the last may lack its end
    source = "".join([*lines, *pieces[-1:]]).replace("\n", "\r\n" if crlf else "\n")
    files = build(tmp_path_factory.mktemp("lore"), source)
    before = files.listed()
    ids = [one.id for one in before]
    for change in (
        lambda: files.add({"keyword": "新", "text": text, "file": "places.yaml"}),
        lambda: files.update(ids[which], {"text": text}),
        lambda: files.update(ids[which], {"keyword": "改", "keys": ["别名"]}),
        lambda: files.delete(ids[which]),
    ):
        (files.folder / "places.yaml").write_bytes(source.encode())
        try:
            change()
        except DataError:
            assert text_of(files) == source
        except IndexError:
            continue
        else:
            gone = {"places.yaml#新", "places.yaml#改", *ids[which : which + 1]}
            assert [one for one in files.listed() if one.id not in gone] == [
                one for one in before if one.id not in gone
            ]
            assert text_of(files).count("#") >= source.count("# 一句注释")
