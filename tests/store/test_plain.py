"""What strangers share is read so that no file can do more than be wrong."""

from __future__ import annotations

import os
import tracemalloc
from datetime import UTC
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from moechat.author.world_files import LoreFiles
from moechat.clock import moment_of
from moechat.errors import MESSAGE_CHARS, ConfigError, DataError, FieldError, MoeChatError, shown
from moechat.house import House
from moechat.settings.character import load_character
from moechat.settings.config import Config, load
from moechat.store import plain
from tests.houses import Home, day_files, edit, say

FILE = Path("character.yaml")
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


def refusal(text: str) -> DataError:
    with pytest.raises(DataError) as refused:
        plain.yaml_value(text.encode(), FILE)
    return refused.value


def test_what_is_nested_too_deep_is_refused_in_words() -> None:
    cases = [
        "persona: " + "[" * 80_000 + "]" * 80_000, "persona: " + "{a: " * 30_000 + "}" * 30_000,
        "persona:\n  " + "- " * 40_000 + "x", "persona:\n  " + "? " * 40_000 + "x",
        "".join(" " * depth + "a:\n" for depth in range(400)),
        "persona: " + "[" * 101 + "]" * 101 + "\nothers: [" + "[]," * 200 + "]",
    ]  # fmt: skip
    assert [text for text in cases if "nested more than 100 deep" not in refusal(text).reason] == []


def test_80_kb_of_nested_brackets_in_a_characters_yaml_are_told_and_nothing_dies(home: Home) -> None:
    (home.folder / "character.yaml").write_text("name: x\npersona: " + "[" * 80_000 + "]" * 80_000)
    with pytest.raises(DataError, match=r"character\.yaml, line 2: values are nested more than 100 deep"):
        load_character(home.folder, Config())


def test_319_bytes_of_aliases_make_no_long_error(tmp_path: Path) -> None:
    assert len(BOMB) < 400
    assert "aliases" in refusal(BOMB).reason
    assert refusal(BOMB).line == 5
    (tmp_path / "config.yaml").write_text("chat:\n  temperature: &a [x]\nroll: *a\n")
    with pytest.raises(ConfigError) as error:
        load(tmp_path / "config.yaml")
    assert len(str(error.value)) < 500


def test_aliases_that_repeat_little_are_read() -> None:
    assert plain.yaml_value(b"a: &a [x, y]\nb: *a", FILE) == {"a": ["x", "y"], "b": ["x", "y"]}


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: *b\nb: &b x"])
def test_an_alias_of_what_has_not_ended_is_refused(text: str) -> None:
    assert "refers to nothing" in refusal(text).reason


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MAX_VALUES", 500)
    monkeypatch.setattr(plain, "_MAX_BYTES_UNCOUNTED", 1000)
    assert "more than 500 values" in refusal("a: [" + "x," * 1500 + "]").reason


# What decides about depth: indentation, indicators, brackets, quotes, block texts and comments, in any order.
_PIECES = st.sampled_from(
    [*"[]{}-?:,'\"#|>&*!%\n ", "- ", "? ", ": ", "a", "\n  ", "\n" + " " * 12, "- " * 12, "[" * 12]
)


@given(st.lists(_PIECES, max_size=60).map("".join))
def test_what_is_not_looked_at_is_flat_and_has_no_alias(text: str) -> None:
    data = text.encode()
    depth = deepest = 0
    alias = False
    try:
        for event in yaml.parse(data, plain.TEXT):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            deepest = max(deepest, depth)
            alias = alias or isinstance(event, yaml.AliasEvent)
    except yaml.YAMLError:
        pass
    opening = text.count("[") + text.count("{")
    run = max((len(part) for part in plain.re.findall(rb"[ \t?:-]+", data)), default=0)
    assert deepest <= opening + 2 * run + 2
    if not plain._may_be_hostile(data):
        assert deepest <= plain.SAFE_DEPTH
        assert not (alias and set(plain._ANCHOR.findall(data)) & set(plain._ALIAS.findall(data)))


# ---- errors


@pytest.mark.parametrize(
    "value",
    ["x" * 10_000_000, 10**5000, [["x" * 1000] * 1000] * 1000, {"a" * 1000: ["b" * 1000] * 9}, -(10**400), "\ud800"],
    ids=["text", "5000 digits", "lists", "mapping", "negative", "surrogate"],
)
def test_values_in_errors_are_cut(value: object) -> None:
    tracemalloc.start()
    messages = [shown(value), str(ConfigError("config.yaml", "a.b", value, "no")), str(FieldError("text", value, "no"))]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(map(len, messages)) < 1000
    assert peak < 200_000


def test_no_error_is_longer_than_a_page() -> None:
    assert len(str(MoeChatError("x" * 100_000))) == MESSAGE_CHARS


# ---- files that are none


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes here")
    os.mkfifo(tmp_path / "character.yaml")
    with pytest.raises(DataError, match="not a file"):
        plain.data_of(tmp_path / "character.yaml")


def test_a_folder_in_place_of_a_day_file_is_told_and_the_others_serve(home: Home) -> None:
    (home.folder / "memorys" / "2025-05-18.yaml").mkdir(parents=True)
    with home.open() as house:
        agent = house.agent()
        say(agent, "我住在杭州")
        assert any("2025-05-18.yaml" in problem for problem in agent.problems())


def test_a_file_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MAX_FILE_BYTES", 10)
    (tmp_path / "a.yaml").write_bytes(b"x" * 11)
    with pytest.raises(DataError, match="split it"):
        plain.data_of(tmp_path / "a.yaml")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "private.yaml").write_text("secret: my diary\n")
    return folder


def linked(path: Path, target: Path) -> None:
    try:
        path.symlink_to(target)
    except (OSError, NotImplementedError):
        pytest.skip("there are no links here")


def test_a_link_out_of_the_world_book_is_not_read(tmp_path: Path, outside: Path) -> None:
    book = tmp_path / "character" / "data_base"
    book.mkdir(parents=True)
    linked(book / "places.yaml", outside / "private.yaml")
    files = LoreFiles(book, tmp_path / "lock")
    assert files.listed() == []
    assert "leads out" in str(files.problems[0])


def test_a_world_book_that_is_a_link_is_not_read(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "character").mkdir()
    linked(tmp_path / "character" / "data_base", outside)
    files = LoreFiles(tmp_path / "character" / "data_base", tmp_path / "lock")
    assert files.listed() == []
    assert "leads out" in str(files.problems[0])


@pytest.mark.parametrize("name", ["log.jsonl", "memorys", ".lock", "core_mem.yml"])
def test_a_memory_with_a_link_to_elsewhere_is_not_opened(home: Home, outside: Path, name: str) -> None:
    linked(home.folder / name, outside if name == "memorys" else outside / "private.yaml")
    with pytest.raises(DataError, match="leads out"):
        home.store()
    assert (outside / "private.yaml").read_text() == "secret: my diary\n"


def test_a_whole_character_may_lie_elsewhere(tmp_path: Path) -> None:
    home = Home.build(tmp_path)
    home.folder.rename(tmp_path / "elsewhere")
    linked(home.folder, tmp_path / "elsewhere")
    with home.open() as house:
        say(house.agent(), "我住在杭州")
    assert day_files(tmp_path / "elsewhere")


# ---- text and numbers


def test_a_time_at_the_end_of_the_calendar_is_told_and_its_day_serves(home: Home) -> None:
    folder = home.folder / "memorys"
    folder.mkdir()
    record = "'{}':\n  time: {}\n  msg: {{user: hi, char: ho}}\n"
    times = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "99999-01-01T00:00:00", "2025-05-18T10:00:00"]
    text = "".join(record.format(number, time) for number, time in enumerate(times)) + record.format("1e400", "x")
    (folder / "2025-05-18.yaml").write_text(text + record.format("253402300799", "9999-12-31T23:59:59"))
    with home.open() as house:
        store = house.agent().store
        assert [row.exchange.id for row in store.exchanges.filed()] == ["3"]
        assert [problem.line for problem in store.problems] == [1, 4, 7, 13, 16]


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31T23:59:59-12:00", "nonsense", "", "10000-01-01"])
def test_a_time_that_no_zone_can_tell_is_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any is right
        moment_of(text, None)


def test_the_first_and_the_last_year_of_the_calendar_are_none_and_their_neighbours_are() -> None:
    def stands(year: int) -> bool:
        try:
            return moment_of(f"{year:04}-06-15T12:00", UTC).year == year
        except ValueError:
            return False

    assert [year for year in (1, 2, 9998, 9999) if stands(year)] == [2, 9998]


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '{"a":', "\x00", '"\\ud800'])
def test_json_of_any_kind_raises_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any is right
        plain.json_value(text)


def test_json_half_characters_are_replaced_and_nan_is_nothing() -> None:
    assert plain.json_value(b'["\\ud800a", "\\ud83d\\ude00", NaN, -Infinity]') == ["\ufffda", "\U0001f600", None, None]


def test_a_broken_character_leaves_the_house_open(home: Home) -> None:
    with home.open() as house:
        assert isinstance(house, House)
        agent = house.agent()
        edit(home.folder / "character.yaml", "persona:", "persona: " + "[" * 300 + "\nscenario:")
        say(agent, "你好")
