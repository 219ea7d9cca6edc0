"""The settings as they are read, checked and saved.

Three sources, the later wins: ``config.yaml``, a character's ``overrides``, the environment
(``MOECHAT_<SECTION>__<KEY>``). Keys are never in the file (``service_keys``); ``key_env`` names a variable for one. A character's
folder may come from a stranger, so it cannot say where messages or keys are sent (CHARACTER_MAY_SET).
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError
from ruamel.yaml import YAML

from moechat.errors import ConfigError, DataError, MoeChatError, together
from moechat.model import Layer
from moechat.settings import schema
from moechat.settings.faults import ENVIRONMENT, PREFIX, explained, near, unknown
from moechat.store import plain, records

# Names under which people write a key into a file; refused without showing the value.
SECRETS = frozenset({"key", "api_key", "apikey", "token", "secret", "password"})
KEYS_ELSEWHERE = "keys are not kept here: enter it in the settings of the page, or in the variable that key_env names"
# What a character.yaml may override: nothing that says where messages and keys go. None: the whole section.
CHARACTER_MAY_SET: Mapping[str, frozenset[str] | None] = {
    "Agent": None,
    "chat": frozenset({"model", "temperature", "single_system", "recalled_position", "context_tokens"}),
    "understanding": frozenset({"silence_s", "batch_size"}),
    "recall": None,
    "greeting": None,
    "daybook": None,
    "association": None,
    "reflection": None,
    "forgetting": None,
    "roll": None,
    "time": None,
}
# Settings that MoeChat no longer has: a file that still names one is read without it.
REMOVED: Mapping[str, frozenset[str]] = {
    "association": frozenset({"wordnet"}),
    "understanding": frozenset({"llm_timeout_s"}),
}
# What each recipe searches, and the threshold under Agent that its `auto` stands for.
LAYERS: Mapping[str, Layer] = {
    "by_time": "diary",
    "events": "diary",
    "stream": "diary",
    "association": "diary",
    "by_topic": "diary",
    "profile": "core",
    "entities": "core",
    "lore": "lore",
}
# How readily the past is brought up: where the floors lie that nobody set, as a share of the way from the model's own to a cosine
# of 1, and the share of the tokens. Models differ in how near to 1 their cosines lie.
DIAL: Mapping[str, tuple[float, float]] = {"rarely": (0.147, 0.5), "sometimes": (0.0, 1.0), "often": (-0.118, 1.7)}
ORIGINAL_THRESHOLD = 0.38  # The floor of the diary in MoeChat's own config.yaml, for the embedding model it came with.
LAYER_THRESHOLD = {"diary": "mem_thresholds", "core": "core_threshold", "lore": "books_thresholds"}


class Config(BaseSettings):
    """All settings, validated and frozen. ``notices`` say which parts of the file are not used."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, validate_default=True
    )

    Agent: schema.AgentSettings = schema.AgentSettings()
    chat: schema.ChatSettings = schema.ChatSettings()
    understanding: schema.UnderstandingSettings = schema.UnderstandingSettings()
    embedding: schema.EmbeddingSettings = schema.EmbeddingSettings()
    recall: schema.RecallSettings = schema.RecallSettings()
    greeting: schema.GreetingSettings = schema.GreetingSettings()
    daybook: schema.DaybookSettings = schema.DaybookSettings()
    association: schema.AssociationSettings = schema.AssociationSettings()
    reflection: schema.ReflectionSettings = schema.ReflectionSettings()
    forgetting: schema.ForgettingSettings = schema.ForgettingSettings()
    roll: schema.RollSettings = schema.RollSettings()
    time: schema.TimeSettings = schema.TimeSettings()
    web: schema.WebSettings = schema.WebSettings()
    serve: schema.ServeSettings = schema.ServeSettings()
    backups: schema.BackupSettings = schema.BackupSettings()
    owners: schema.OwnersSettings = schema.OwnersSettings()
    store: schema.StoreSettings = schema.StoreSettings()

    _values: dict[str, Any] = PrivateAttr(default_factory=dict)
    _notices: tuple[str, ...] = PrivateAttr(())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings

    @property
    def notices(self) -> tuple[str, ...]:
        return self._notices

    def threshold(self, recipe: str) -> float | None:
        """The floor of a recipe: its own, else its layer's under Agent, else None (the embedding model's own)."""
        own: float | None = getattr(self.recall.recipes, recipe).threshold
        layer: float | None = getattr(self.Agent, LAYER_THRESHOLD[LAYERS[recipe]])
        return layer if own is None else own

    def for_character(self, overrides: Mapping[str, Any], file: Path | str = "character.yaml") -> Config:
        """A copy with a character's ``overrides`` in place; errors name ``file``."""
        if not overrides:
            return self
        _check_overrides(overrides, file)
        values = merged(self._values, overrides)
        return _validated(values, file, self._notices, under="overrides.")


def load(path: Path) -> Config:
    """The settings in ``path`` under those of the environment. Raises ConfigError; DataError where it is not YAML."""
    data = plain.read_yaml(path, may_lead_out=True)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise DataError(path, "expects sections such as `chat:` with settings below them")
    return _read(data, path)


def _read(data: dict[Any, Any], path: Path) -> Config:
    """The settings in a document. Raises ConfigError, with all faults."""
    sections, notices, faults = _known_sections(data, path)
    return _validated(sections, path, tuple(notices), faults)


def _validated(
    values: dict[str, Any],
    file: Path | str,
    notices: tuple[str, ...],
    faults: Sequence[ConfigError] = (),
    under: str = "",
) -> Config:
    _check_environment()
    values, more_notices = _without_removed(values, file, under)
    notices += more_notices
    try:
        config = Config(**values)
    except SettingsError as error:
        whole = [
            variable for variable in os.environ if variable.upper() in {PREFIX + name.upper() for name in _sections()}
        ]
        raise ConfigError(ENVIRONMENT, ", ".join(whole), None, "expects JSON; set single keys instead") from error
    except ValidationError as error:
        raise together([*faults, *explained(error, Config, file, under)]) from error
    if faults:
        raise together(faults)
    config._values = values
    config._notices = notices
    return config


def _without_removed(values: dict[str, Any], file: Path | str, under: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Settings without those that are gone, and a notice for each that had a value."""
    rest: dict[str, Any] = {}
    notices: list[str] = []
    for name, section in values.items():
        gone = REMOVED.get(name, frozenset())
        rest[name] = {key: value for key, value in section.items() if key not in gone}
        notices += [
            f"{file}: {under}{name}.{key} is no longer a setting and is not used"
            for key in sorted(gone)
            if section.get(key)
        ]
    return rest, tuple(notices)


def _sections() -> list[str]:
    return list(Config.model_fields)


def _known_sections(data: dict[Any, Any], path: Path) -> tuple[dict[str, Any], list[str], list[ConfigError]]:
    """(our sections of a file, notices about those of an old MoeChat configuration, what is neither)."""
    sections: dict[str, Any] = {}
    notices: list[str] = []
    faults: list[ConfigError] = []
    old_file = "LLM" in data or "LLM2" in data
    for name, value in data.items():
        name = str(name)
        if name in Config.model_fields:
            if value is not None and not isinstance(value, dict):
                faults.append(ConfigError(path, name, value, "expects settings below it, as `key: value` lines"))
            else:
                sections[name] = value or {}
        elif old_file or (isinstance(value, dict | list) and not near(name, _sections())):
            hint = "; set chat.base_url and chat.model instead" if name in ("LLM", "LLM2") else ""
            notices.append(f"{path}: section {name} belongs to an old MoeChat configuration and is not used{hint}")
        else:
            shown = None if isinstance(value, dict | list) else value
            faults.append(ConfigError(path, name, shown, unknown(name, _sections())))
    for name, values in sections.items():
        for secret in [key for key in values if str(key).lower() in SECRETS]:
            faults.append(ConfigError(path, f"{name}.{secret}", None, KEYS_ELSEWHERE))
            del values[secret]
    if old_file and "Agent" in sections:
        for key in [key for key in sections["Agent"] if key not in schema.AgentSettings.model_fields]:
            notices.append(f"{path}: Agent.{key} belongs to an old MoeChat configuration and is not used")
            del sections["Agent"][key]
        if sections["Agent"].get("mem_thresholds") == ORIGINAL_THRESHOLD:
            notices.append(
                f"{path}: Agent.mem_thresholds {ORIGINAL_THRESHOLD} was fitted to another embedding model; auto is used"
            )
            del sections["Agent"]["mem_thresholds"]
    return sections, notices, faults


def _check_environment() -> None:
    for variable, value in os.environ.items():
        section, nested, _ = variable.upper().removeprefix(PREFIX).partition("__")
        if variable.upper().startswith(PREFIX) and nested and section not in {name.upper() for name in _sections()}:
            variables = [f"{PREFIX}{name.upper()}" for name in _sections()]
            raise ConfigError(ENVIRONMENT, variable, value, unknown(f"{PREFIX}{section}", variables))


def _check_overrides(overrides: Mapping[str, Any], file: Path | str) -> None:
    for section, values in overrides.items():
        if section not in CHARACTER_MAY_SET:
            why = (
                unknown(section, list(CHARACTER_MAY_SET))
                if section not in _sections()
                else "a character cannot set this"
            )
            raise ConfigError(file, f"overrides.{section}", values, why)
        if not isinstance(values, Mapping):
            raise ConfigError(file, f"overrides.{section}", values, "expects settings below it, as `key: value` lines")
        allowed = CHARACTER_MAY_SET[section]
        for key, value in values.items():
            if allowed is not None and key not in allowed:
                raise ConfigError(
                    file,
                    f"overrides.{section}.{key}",
                    value,
                    "a character cannot set this; it may set " + ", ".join(sorted(allowed)),
                )


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others on top, section by section."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


# --- following the file ----------------------------------------------------------------------------------------------


class ConfigFile:
    """The settings that follow their file: ``current`` reads it again when a hand has changed it.

    While the file is broken, the last good settings stay in use and ``problem`` says what is wrong. Raises ConfigError,
    DataError where there are none yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: MoeChatError | None = None
        self._lock = threading.Lock()
        self._stamp = plain.stamp(path)
        self._config = load(path)

    def current(self) -> Config:
        with self._lock:
            stamp = plain.stamp(self.path)
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._config = load(self.path)
                    self.problem = None
                except MoeChatError as error:
                    self.problem = error
            return self._config


# --- saving one setting ----------------------------------------------------------------------------------------------

_saving = threading.Lock()


def save_setting(path: Path, section: str, key: str, value: object) -> Config:
    """Write one setting into ``path``, comments and all else kept, and return the settings as they are now.

    ``key`` may be dotted (``recipes.events.limit``). A value that the schema refuses raises ConfigError
    and leaves the file as it was.
    """
    path = path.resolve()
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    with _saving:
        load(path)  # a broken file is reported, not overwritten
        document = yaml.load(plain.text(path, may_lead_out=True)) or {}
        *parents, last = [section, *key.split(".")]
        place = document
        for name in parents:
            if not isinstance(place.get(name), dict):
                place[name] = {}
            place = place[name]
        place[last] = "auto" if value is None and "threshold" in last else value
        text = io.StringIO()
        yaml.dump(document, text)
        config = _read(plain.parse_yaml(text.getvalue(), path), path)
        records.replace(path, text.getvalue().encode())
    return config
