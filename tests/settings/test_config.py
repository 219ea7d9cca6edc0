"""Settings: three sources, errors that say what to do, and documents that agree with the schema."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from docs import reference
from moechat.errors import ConfigError, DataError
from moechat.settings.config import Config, load, save_setting
from moechat.settings.home import defaults_folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def test_an_empty_file_means_the_defaults(file: Path) -> None:
    assert load(written(file, "")).model_dump() == Config().model_dump()


def test_moechats_keys_keep_their_names_and_meaning(file: Path) -> None:
    agent = load(written(file, "Agent: {mem_thresholds: 0.38, books_thresholds: auto, scan_depth: 7}")).Agent
    assert (agent.mem_thresholds, agent.books_thresholds, agent.scan_depth) == (0.38, None, 7)
    assert (agent.is_check_memorys, agent.core_top_k, agent.core_dedupe_window, agent.context_length) == (
        False,
        5,
        100,
        0,
    )


def test_a_recipe_given_in_part_keeps_the_rest_of_its_own_defaults(file: Path) -> None:
    recipes = load(written(file, "recall: {recipes: {by_time: {weight: 2}}}")).recall.recipes
    assert (recipes.by_time.weight, recipes.by_time.limit, recipes.events.limit) == (2, 40, 12)
    assert [name for name, _ in recipes.items()] == [
        "by_time", "events", "stream", "association", "by_topic", "profile", "entities", "lore",
    ]  # fmt: skip


def test_a_recipes_threshold_is_its_own_or_its_layers(file: Path) -> None:
    config = load(written(file, "Agent: {core_threshold: 0.5}\nrecall: {recipes: {lore: {threshold: 0.4}}}"))
    assert (config.threshold("profile"), config.threshold("lore"), config.threshold("events")) == (0.5, 0.4, None)


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        ("web: {prot: 1}", "web.prot", "did you mean port?"),
        ("recall: {recipes: {evnts: {limit: 1}}}", "recall.recipes.evnts", "did you mean events?"),
        (
            "recall: {recipes: {names: {limit: 1}}}",
            "recall.recipes.names",
            "known here: by_time, events, stream, association, by_topic, profile, entities, lore",
        ),
        ("caht: {model: x}", "caht", "did you mean chat?"),
        ("port: 80", "port", "known here: Agent"),
        ("web: {port: 70000}", "web.port", "less than or equal to 65535"),
        ("web: {port: yes}", "web.port", "expects a number"),
        ("web: {1: 2}", "web", ""),
        ("Agent: {user: no}", "Agent.user", "put it in quotes"),
        ("Agent: {mem_thresholds: 3}", "Agent.mem_thresholds", "less than or equal to 1"),
        ("Agent: {mem_thresholds: often}", "Agent.mem_thresholds", "expects a valid number"),
        ("time: {zone: Mars/Olympus}", "time.zone", "Asia/Shanghai"),
        ("roll: {oldest: 50}", "roll", "oldest ≤ understand_at_rounds"),
        ("recall: {min_share: {diary: 0.9}}", "recall.min_share", "more than 1"),
        ("embedding: {provider: openai}", "embedding.provider", "'endpoint'"),
        ("chat: 5", "chat", "settings below it"),
    ],
)
def test_a_bad_setting_names_file_key_and_remedy(file: Path, text: str, key: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(file, text))
    assert caught.value.file == str(file)
    assert caught.value.key.startswith(key)
    assert remedy in caught.value.remedy
    assert str(file) in str(caught.value)


def test_all_faults_of_a_file_are_named_at_once(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(file, "web: {prot: 1, port: x}\ncaht: 3\nchat: {temperature: 9, key: sk-secret}"))
    faults = caught.value.parts
    keys = [fault.key for fault in faults if isinstance(fault, ConfigError)]
    assert sorted(keys) == ["caht", "chat.key", "chat.temperature", "web.port", "web.prot"]
    assert "sk-secret" not in " ".join(map(str, faults))


@pytest.mark.parametrize(
    "text", ["chat: {key: sk-secret}", "embedding: {api_key: sk-secret}", "caht: {key: sk-secret}"]
)
def test_a_key_in_the_file_is_refused_without_being_shown(file: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(file, text))
    assert "sk-secret" not in str(caught.value)


def test_broken_yaml_names_file_and_line(file: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(written(file, "chat:\n  model: x\n web: [1\n"))
    assert (caught.value.file, caught.value.line) == (str(file), 3)


def test_a_file_that_is_not_utf8_names_the_line(file: Path) -> None:
    file.write_bytes("chat:\n  model: 模型\n".encode("gb18030"))
    with pytest.raises(DataError, match="UTF-8") as caught:
        load(file)
    assert caught.value.line == 2


def test_an_old_moechat_configuration_is_accepted_with_notices(file: Path) -> None:
    old = "LLM: {api: 'http://x', key: sk-1, model: m}\nLLM2: {api: y}\nGSV: {port: 9}\nport: 8001\n"
    config = load(written(file, old + "Agent: {char: 小夏, is_up: true, char_settings: 学生, long_memory: true}"))
    assert (config.Agent.char, config.Agent.char_settings) == ("小夏", "学生")
    said = " ".join(config.notices)
    assert all(name in said for name in ("LLM", "LLM2", "GSV", "port", "Agent.is_up", "chat.base_url"))
    assert "sk-1" not in said


def test_an_unknown_section_of_its_own_is_a_notice(file: Path) -> None:
    assert "voices" in load(written(file, "voices: {speed: 1}")).notices[0]


def test_the_environment_comes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOECHAT_CHAT__MODEL", "from-env")
    monkeypatch.setenv("MOECHAT_AGENT__SCAN_DEPTH", "9")
    monkeypatch.setenv("MOECHAT_RECALL__RECIPES__BY_TIME__WEIGHT", "3")
    config = load(written(file, "chat: {model: from-file, base_url: 'http://x/v1'}\nAgent: {scan_depth: 2}"))
    assert (config.chat.model, config.chat.base_url, config.Agent.scan_depth) == ("from-env", "http://x/v1", 9)
    assert (config.recall.recipes.by_time.weight, config.recall.recipes.by_time.limit) == (3, 40)


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("MOECHAT_WEB__PORT", "http", "expects a valid integer"),
        ("MOECHAT_WEB__PROT", "1", "did you mean port?"),
        ("MOECHAT_WBE__PORT", "1", "did you mean MOECHAT_WEB?"),
        ("MOECHAT_WEB", "{port", "set single keys instead"),
    ],
)
def test_a_bad_variable_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, remedy: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        load(written(file, "web: {port: 7000}"))
    assert variable in caught.value.key
    assert remedy in caught.value.remedy


def test_the_variable_with_the_key_is_no_setting(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOECHAT_API_KEY", "sk-1")
    assert "sk-1" not in repr(load(written(file, "")))


def test_a_characters_overrides_make_a_copy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOECHAT_ROLL__OLDEST", "4")
    config = load(written(file, "recall: {threads: 2}\nchat: {model: a}"))
    own = config.for_character({"recall": {"token_budget": 500}, "chat": {"model": "b"}, "roll": {"oldest": 6}})
    assert (own.recall.token_budget, own.recall.threads, own.chat.model, own.roll.oldest) == (500, 2, "b", 4)
    assert (config.recall.token_budget, config.chat.model) == (1500, "a")
    assert config.for_character({}) is config


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"recall": {"token_budgt": 1}}, "overrides.recall.token_budgt"),
        ({"recall": {"token_budget": -1}}, "overrides.recall.token_budget"),
        ({"recal": {}}, "overrides.recal"),
        ({"recall": 5}, "overrides.recall"),
        ({"chat": {"base_url": "http://elsewhere"}}, "overrides.chat.base_url"),
        ({"chat": {"key_env": "HOME"}}, "overrides.chat.key_env"),
        ({"chat": {"extra": {"a": 1}}}, "overrides.chat.extra"),
        ({"understanding": {"base_url": "http://elsewhere"}}, "overrides.understanding.base_url"),
        ({"embedding": {"model": "x"}}, "overrides.embedding"),
        ({"web": {"host": "0.0.0.0"}}, "overrides.web"),
    ],
)
def test_a_characters_bad_override_names_its_file_and_cannot_redirect(overrides: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config().for_character(overrides, "小夏/character.yaml")
    assert (caught.value.file, caught.value.key) == ("小夏/character.yaml", key)


def test_saving_a_setting_keeps_comments_and_all_else(file: Path) -> None:
    text = packaged()
    written(file, text)
    assert save_setting(file, "chat", "base_url", "http://127.0.0.1:1/v1").chat.base_url == "http://127.0.0.1:1/v1"
    save_setting(file, "recall", "recipes.events.limit", 5)
    save_setting(file, "Agent", "mem_thresholds", None)
    config = load(file)
    assert (config.chat.base_url, config.recall.recipes.events.limit) == ("http://127.0.0.1:1/v1", 5)
    before, after = text.splitlines(), file.read_text(encoding="utf-8").splitlines()
    assert [line for line in after if line.strip().startswith("#")] == [
        line for line in before if line.strip().startswith("#")
    ]
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 4  # the two, and both nulls written as nothing
    assert [one.name for one in file.parent.iterdir()] == ["config.yaml"]


def test_saving_creates_a_section_that_is_not_there(file: Path) -> None:
    written(file, "# mine\nchat:\n  model: a  # kept\n")
    save_setting(file, "web", "port", 7000)
    assert load(file).web.port == 7000
    assert "a  # kept" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("broken", ["web: {port: 7000}\n", "web: [1\n"])
def test_what_cannot_be_saved_leaves_the_file_alone(file: Path, broken: str) -> None:
    written(file, broken)
    with pytest.raises((ConfigError, DataError)):
        save_setting(file, "web", "port", -1)
    assert file.read_text(encoding="utf-8") == broken
    assert len(list(file.parent.iterdir())) == 1


# --- the documents ---------------------------------------------------------------------------------------------------


def keys_of(tree: dict[str, object], prefix: str = "") -> list[str]:
    keys = []
    for name, value in tree.items():
        deeper = isinstance(value, dict) and value
        keys += [f"{prefix}{name}", *(keys_of(value, f"{prefix}{name}.") if deeper else [])]  # type: ignore[arg-type]
    return keys


def packaged() -> str:
    """config.yaml as it ships."""
    return (defaults_folder() / "config.yaml").read_text(encoding="utf-8")


def offered(section: BaseModel) -> dict[str, Any]:
    """The defaults of the schema as config.yaml writes them, without the keys of an old configuration."""
    values: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            values[name] = offered(value)
        elif not field.description:
            values[name] = "auto" if value is None and "threshold" in name else value
    return values


def test_config_yaml_has_every_key_and_no_other() -> None:
    assert keys_of(yaml.safe_load(packaged())) == keys_of(offered(Config()))


def test_config_yaml_has_the_defaults() -> None:
    values, ours = yaml.safe_load(packaged()), offered(Config())
    changed = [name for name in ours if values.get(name) != ours[name]]
    if changed and not os.environ.get("CI"):
        pytest.skip(f"config.yaml has been changed here, in {', '.join(changed)}")
    assert values == ours


def test_config_yaml_says_of_every_key_what_it_means_in_two_languages() -> None:
    by_key = reference.meanings(packaged())
    for key in keys_of(offered(Config())):
        if not re.match(r"recall\.recipes\.\w+\.", key):  # in the legend above them
            zh, en = by_key[key]
            assert re.search("[\u4e00-\u9fff]", zh), key
            assert re.match("[a-zA-Z0-9`]", en), key


def test_the_reference_is_up_to_date(root: Path) -> None:
    assert (root / "docs" / "configuration.md").read_text(encoding="utf-8") == reference.configuration(), (
        "run make docs"
    )


def test_every_meaning_is_told_in_both_languages() -> None:
    lines = [line for line in reference.configuration().splitlines() if line.startswith("| `")]
    assert len(lines) > 50
    for line in lines:
        *_, zh, en, _ = (part.strip() for part in line.replace("\\|", "/").split("|"))
        assert zh, line
        assert en.isascii() or "最近" in en, line


def test_a_setting_that_is_gone_is_read_over_and_told_where_it_had_a_value(file: Path) -> None:
    assert load(written(file, 'association: {wordnet: "", count: 7}')).notices == ()
    config = load(written(file, "association: {wordnet: 'oewn:2025', count: 7}"))
    assert config.association.count == 7
    assert config.notices == (f"{file}: association.wordnet is no longer a setting and is not used",)
    (_, notice) = config.for_character({"association": {"wordnet": "omw-cmn:1.4"}}, "character.yaml").notices
    assert notice == "character.yaml: overrides.association.wordnet is no longer a setting and is not used"
