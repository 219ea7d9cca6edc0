"""Characters: from their file or an old configuration, read again when edited, in folders that stay inside."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moechat.errors import ConfigError, DataError, MoeChatError, NotFound, PathError
from moechat.model import Message
from moechat.settings.character import (
    KEYS,
    CharacterFile,
    alike,
    begin_character,
    default_character,
    encode_user,
    folder_for,
    list_characters,
    list_worlds,
    load_character,
    owner_folder,
    safe_folder,
)  # fmt: skip
from moechat.settings.config import Config
from moechat.settings.schema import AgentSettings


@pytest.fixture
def folder(data: Path) -> Path:
    made = data / "agents" / "小夏"
    made.mkdir()
    return made


def write(folder: Path, text: str) -> Path:
    path = folder / "character.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def agent(**values: object) -> Config:
    return Config(Agent=AgentSettings(**values))  # type: ignore[arg-type]


def test_a_folder_without_a_file_is_just_a_name(folder: Path) -> None:
    character = load_character(folder, Config())
    assert (character.name, character.user_name, character.language, character.persona) == ("小夏", "用户", "zh", "")


def test_a_file_tells_who_it_is(folder: Path) -> None:
    write(
        folder,
        "name: no\nlanguage: en\nuser_name: Ann\npersona: |-\n  {{char}} knows {{ User }}.\n  12:30\n"
        "greeting: Hi {{user}}\nexamples:\n- user: Hey {{char}}\n  char: Oh, {{user}}!\n- char: alone\n",
    )
    character = load_character(folder, Config())
    assert (character.name, character.persona, character.greeting) == ("no", "no knows Ann.\n12:30", "Hi Ann")
    assert character.examples == [
        Message("user", "Hey no"),
        Message("assistant", "Oh, Ann!"),
        Message("assistant", "alone"),
    ]


def test_names_are_filled_in_once(folder: Path) -> None:
    write(folder, "name: '{{user}}'\nuser_name: '{{char}}'\npersona: '{{char}}/{{user}}/{{else}}'")
    assert load_character(folder, Config()).persona == "{{user}}/{{char}}/"


def test_the_user_is_called_as_the_settings_say(folder: Path) -> None:
    write(folder, "persona: 朋友")
    assert load_character(folder, agent(user="小林")).user_name == "小林"
    write(folder, "persona: A friend")
    assert load_character(folder, Config()).user_name == "User"
    number = "7c9e6679-7425-40de-944b-e07fc1f90ae7"  # Open WebUI has no other name for a person.
    assert load_character(folder, agent(user="小林"), number).user_name == "User"
    assert load_character(folder, Config(), "小林").user_name == "小林"


def test_another_user_of_the_folder_is_called_by_their_own_name(folder: Path) -> None:
    write(folder, "user_name: 主人\npersona: '{{user}}的朋友'")
    assert load_character(folder, agent(user="小林")).persona == "主人的朋友"
    assert CharacterFile(folder, lambda: agent(user="小林"), "阿宁").refresh().persona == "阿宁的朋友"


def test_overrides_are_settings_and_not_text(folder: Path) -> None:
    write(
        folder, "name: no\noverrides:\n  recall: {token_budget: 700}\n  chat: {single_system: yes, temperature: null}\n"
    )
    followed = CharacterFile(folder, Config)
    assert (followed.character.name, followed.config.recall.token_budget) == ("no", 700)
    assert (followed.config.chat.single_system, followed.config.chat.temperature) == (True, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("persone: x", "did you mean persona?"), ("colour: x", "known here: name, user_name"),
        ("language: fr", "zh or en"), ("persona: [a, b]", "persona expects text"),
        ("examples: [{me: x}]", "examples expects"), ("examples: 3\noverrides: 5", "overrides expects"),
        ("just words", "key: value"), ("note_role: boss", "note_role = 'boss': expects system, user, assistant"),
        ("note_depth: -1", "note_depth = '-1': expects a whole number, 0 or more"),
        ("picture: ../a.png", "expects the name of a file beside it"),
        ("picture: .hidden", "expects the name of a file beside it"), ("tags: {a: b}", "tags expects a list of texts"),
        ("greetings: [[a]]", "greetings expects a list of texts"), ("examples: [{user: [a]}]", "examples expects"),
        ("overrides: [a]", "overrides expects"),
    ],
)  # fmt: skip
def test_a_fault_names_file_and_remedy(folder: Path, text: str, said: str) -> None:
    path = write(folder, text)
    with pytest.raises(DataError) as caught:
        load_character(folder, Config())
    assert caught.value.file == str(path)
    assert said in str(caught.value)


def test_all_faults_of_a_file_are_told_at_once(folder: Path) -> None:
    path = write(folder, "persone: x\nlanguage: fr\npersona: good")
    with pytest.raises(MoeChatError) as caught:
        load_character(folder, Config())
    told = [str(fault) for fault in caught.value.parts]
    assert len(told) == 2 and "did you mean persona?" in told[0] and "zh or en" in told[1]
    assert all(str(path) in fault for fault in told)


def test_a_user_whom_nobody_would_call_so_has_a_plain_name(folder: Path) -> None:
    write(folder, "language: en")
    for user in ("123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"):
        assert load_character(folder, Config(), user).user_name == "User"
    assert load_character(folder, Config(), "123e4567").user_name == "123e4567"


def test_worlds_are_listed_by_their_own_names(data: Path, folder: Path) -> None:
    assert list_worlds(data, "小夏") == []
    for user, world in (("", "b/1"), ("", "a"), ("Ann", "c")):
        owner_folder(folder, user, world).mkdir(parents=True)
    (owner_folder(folder, "", "a").parent / "note.txt").write_text("", encoding="utf-8")
    assert list_worlds(data, "小夏") == ["a", "b/1"] and list_worlds(data, "小夏", "Ann") == ["c"]
    assert owner_folder(folder, "Ann").parent.name == "users"


def test_a_program_finds_each_character_by_its_name_and_no_two_share_a_folder(data: Path) -> None:
    there = ["小夏", "Ann", "50%"]
    assert [folder_for(there, name) for name in ("小夏", "Ann", "Bea", "new one")] == ["小夏", "Ann", "Bea", "new one"]
    for strange in ("ann", "a/b", "50%", ".hidden", "_bin", "con", "ＡＮＮ"):
        encoded = folder_for(there, strange)
        assert encoded != strange and encoded not in there and alike(encoded) not in map(alike, there)
        safe_folder(data, encoded)
    with pytest.raises(PathError, match="too long"):
        folder_for(there, "x" * 300)
    assert folder_for(["a%2fb"], "a/b") == "a%2fb", "the one that was made of this name"


def test_a_folder_that_is_begun_holds_a_name_alone(data: Path) -> None:
    begin_character(data / "agents" / "x", "小: 夏")
    assert load_character(data / "agents" / "x", Config()).name == "小: 夏"
    with pytest.raises(FileExistsError):
        begin_character(data / "agents" / "x", "other")


def test_broken_yaml_names_the_line(folder: Path) -> None:
    write(folder, "name: a\npersona: |-\n  b\nscenario: [\n")
    with pytest.raises(DataError) as caught:
        load_character(folder, Config())
    assert caught.value.line == 5


def test_an_override_that_cannot_be_is_an_error_of_this_file(folder: Path) -> None:
    path = write(folder, "overrides: {chat: {base_url: 'http://elsewhere'}}")
    with pytest.raises(ConfigError, match=r"chat\.base_url") as caught:
        CharacterFile(folder, Config)
    assert caught.value.file == str(path)


def test_an_edit_shows_and_a_broken_one_leaves_the_last_good_version(folder: Path) -> None:
    path = write(folder, "persona: 一")
    followed = CharacterFile(folder, Config)
    write(folder, "persona: 二二")
    assert followed.refresh().persona == "二二"
    write(folder, "persona: [\n")
    assert followed.refresh().persona == "二二"
    assert isinstance(followed.problem, DataError)
    assert followed.problem.line == 2
    write(folder, "overrides: {web: {}}")
    assert followed.refresh().persona == "二二"
    assert isinstance(followed.problem, ConfigError)
    write(folder, "persona: 三三三")
    assert (followed.refresh().persona, followed.problem) == ("三三三", None)
    path.unlink()
    assert followed.refresh().persona == ""


def test_an_unchanged_file_is_not_read_again(folder: Path) -> None:
    write(folder, "persona: 一")
    base = Config()
    followed = CharacterFile(folder, lambda: base)
    assert followed.refresh() is followed.refresh()


def test_an_old_configuration_speaks_for_the_character_that_it_names(folder: Path) -> None:
    config = agent(
        char="小夏", user="小林", char_settings="{{char}}是学生", char_personalities=["活泼", "直率"],
        mask="{{user}}是邻居", message_example="{{user}}：在吗\n{{char}}：在！", prompt="说短句",
        start_with=["你来啦", "另一句"],
    )  # fmt: skip
    character = load_character(folder, config)
    assert (character.persona, character.personality, character.user_persona) == (
        "小夏是学生",
        "活泼\n直率",
        "小林是邻居",
    )
    assert (character.examples, character.prompt, character.greeting) == ("小林：在吗\n小夏：在！", "说短句", "你来啦")
    other = folder.with_name("别人")
    other.mkdir()
    assert load_character(other, config).persona == ""
    write(folder, "persona: 自己的")
    assert load_character(folder, config).persona == "自己的"


def test_an_old_persona_may_be_a_table_with_lists_in_it(folder: Path) -> None:
    config = agent(char="小夏", char_settings={"年龄": 17, "爱好": ["画画", "跑步"], "学校": None})
    assert load_character(folder, config).persona == "年龄：17\n爱好：画画\n跑步\n学校："


def test_an_old_greeting_may_be_a_message(folder: Path) -> None:
    assert (
        load_character(folder, agent(char="小夏", start_with=[{"role": "assistant", "content": "嗨"}])).greeting == "嗨"
    )


# --- folders ---------------------------------------------------------------------------------------------------------


def test_characters_are_the_folders_of_agents(data: Path) -> None:
    for name in ("乙", "甲", "Zoe", ".hidden", "_build"):
        (data / "agents" / name).mkdir()
    (data / "agents" / "notes.txt").touch()
    assert list_characters(data) == ["Zoe", "乙", "甲"]
    assert list_characters(data / "nowhere") == []


def test_the_configured_character_opens_else_the_first(data: Path, folder: Path) -> None:
    (data / "agents" / "Ada").mkdir()
    assert default_character(data, Config()) == "Ada"
    assert default_character(data, agent(char="小夏")) == "小夏"
    with pytest.raises(NotFound, match="Ada, 小夏"):
        default_character(data, agent(char="没有"))


@pytest.mark.parametrize("name", ["青禾", "Wren", "小 夏", "O'Neil", "a..b", "café", "console", "💡"])
def test_ordinary_names_are_folders(data: Path, name: str) -> None:
    assert safe_folder(data, name) == data / "agents" / name


LEADS_OUT = ("", ".", "..", "../x", "a/b", "a\\b", "/etc", "C:x", "a\0b", "a\nb", ".index")
SOME_SYSTEM_CANNOT_HOLD = ("NUL", "com1.txt", "con", "a.", "a ", " a", "名" * 90, "\ud800")


@pytest.mark.parametrize("name", [*LEADS_OUT, *SOME_SYSTEM_CANNOT_HOLD])
def test_a_name_that_could_lead_out_or_that_some_system_cannot_hold_is_refused(data: Path, name: str) -> None:
    with pytest.raises(PathError):
        safe_folder(data, name)


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=12))
@example("con")
@example("..")
@example("a/../b")
@example("%41")
@example("Ab\ud800")
def test_a_users_folder_leads_back_to_the_user_and_stays_inside(user: str) -> None:
    name = encode_user(user)
    assert unquote_to_bytes(name).decode("utf-8", "surrogatepass") == user
    assert name == name.lower()
    assert safe_folder(Path("data"), name) == Path("data") / "agents" / name


def test_users_who_differ_in_case_have_different_folders() -> None:
    assert encode_user("Bob") != encode_user("bob") == "bob"
    assert encode_user("小林") == "小林"


@pytest.mark.parametrize("user", ["", "x" * 201])
def test_no_user_and_a_boundless_one_are_refused(user: str) -> None:
    with pytest.raises(PathError):
        encode_user(user)


def test_the_document_has_every_key(root: Path) -> None:
    document = (root / "docs" / "characters.md").read_text(encoding="utf-8")
    lines = document.split("## `character.yaml`")[1].split("\n## ")[0].splitlines()
    assert {line.split("`")[1] for line in lines if line.startswith("| `")} == set(KEYS)
