"""Failures between us and a model, and the words for them.

One table of sentences for people; one function that tells the kind of failure from an endpoint's answer. No sentence
ever holds a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from moechat.errors import DiskError, EmbeddingError, ModelError, MoeChatError, StillLoading, Withheld

Language = Literal["zh", "en"]

NAMES_SHOWN = 5
DETAIL_CHARS = 200

SAYINGS: Mapping[str, Mapping[Language, str]] = {
    "ok": {
        "zh": "连接正常：{model} 在 {latency_ms} 毫秒后开始回答。",
        "en": "Connected: {model} began to answer after {latency_ms} ms.",
    },
    "offered": {"zh": "选一个模型：", "en": "Choose a model:"},
    "offers_none": {
        "zh": "连上了，但 {base_url} 没有列出模型：请写上模型的名字。",
        "en": "Connected, but {base_url} lists no models: write the name of one.",
    },
    "no_route": {
        "zh": "连不上 {base_url}：请检查地址（通常以 /v1 结尾）和网络，并确认模型服务已经启动。",
        "en": "No chat service answers at {base_url}: check the address (it usually ends in /v1) and the network, and "
        "that the service is running.",
    },
    "bad_key": {
        "zh": "{base_url} 不接受这个密钥：请在「设置」的「连接模型」里重新填写，或检查环境变量 MOECHAT_API_KEY。",
        "en": "{base_url} does not accept the key: enter it again under “Connect a model” in the settings, or check the "
        "environment variable MOECHAT_API_KEY.",
    },
    "unknown_model": {
        "zh": "{base_url} 没有名为「{model}」的模型：请检查 chat.model。{known}",
        "en": "{base_url} has no model named “{model}”: check chat.model.{known}",
    },
    "no_streaming": {
        "zh": "{base_url} 可以用，但不支持流式输出：回复会在写完之后一次显示。",
        "en": "{base_url} works but does not stream: a reply appears all at once when it is finished.",
    },
    "timeout": {
        "zh": "{model} 等了 {timeout_s:.3g} 秒没有任何输出：请稍后再试，或换一个更快的模型。",
        "en": "{model} sent nothing for {timeout_s:.3g} seconds: try again later or choose a faster model.",
    },
    "rate_limit": {
        "zh": "{base_url} 暂时拒绝了请求（太频繁或额度用完）：请稍等再试，或检查账户余额。",
        "en": "{base_url} turned the request down for now (too many requests, or no credit left): wait a little, or "
        "check the account.",
    },
    "broken_off": {
        "zh": "与 {model} 的连接中途断开，回复没有说完：可以重新生成。",
        "en": "The connection to {model} broke off before the reply was complete: regenerate it.",
    },
    "nonsense": {
        "zh": "{base_url} 的回答不是聊天接口的格式：请检查地址（通常以 /v1 结尾）。",
        "en": "{base_url} answered with something that is not a chat reply: check the address, which usually ends in "
        "/v1.",
    },
    "empty": {
        "zh": "{model} 结束了，却没有写出任何回复：请再试一次，或换一个模型。",
        "en": "{model} finished without writing a reply: try again or choose another model.",
    },
    "no_reply": {
        "zh": "{model} 写来的不是回复，而是{detail}，再问一次也是：请换个说法，或换一个模型。",
        "en": "{model} wrote no reply but {detail}, and the same when asked again: put it another way, or choose another "
        "model.",
    },
    "refused": {
        "zh": "{model} 的服务方拦下了这条回复（内容审查）：换个说法，或换一个模型。它没有被记住。",
        "en": "The provider of {model} held this reply back (its content filter): put it another way, or choose another "
        "model. It is not remembered.",
    },
    "cut": {
        "zh": "{model} 的回复写到长度上限就停了，没有说完：提高 chat.extra 里的 max_tokens，或让它说短些。",
        "en": "{model} stopped at its limit of tokens before the reply was complete: raise max_tokens in chat.extra, or "
        "ask for less.",
    },
    "cut_thinking": {
        "zh": "{model} 还在思考就用完了长度上限，没有写出回复：提高 chat.extra 里的 max_tokens。",
        "en": "{model} reached its limit of tokens while it was still thinking: raise max_tokens in chat.extra.",
    },
    "context_full": {
        "zh": "这段对话超出了 {model} 的上下文长度：调低 chat.context_tokens，或把 chat.context_window 设为它的真实长度。"
        "{detail}",
        "en": "The talk is longer than what {model} can read at once: lower chat.context_tokens, or set "
        "chat.context_window to its real length. {detail}",
    },
    "too_long": {
        "zh": "回复超过了 {chars} 字，在这里停下（config.yaml 的 chat.reply_chars）。",
        "en": "The reply ran past {chars} characters and was cut here (chat.reply_chars in config.yaml).",
    },
    "too_much": {
        "zh": "{model} 发来的内容大得不像一条回复，已经中断：请再试一次，或换一个模型。",
        "en": "{model} sent more than any reply holds, and was cut off: try again or choose another model.",
    },
    "redirected": {
        "zh": "{base_url} 要把请求转到另一个地址（{detail}），没有照做：如果那才是对的，请填写那个地址。",
        "en": "{base_url} leads to another address ({detail}), which was not followed: if it is the right one, enter it.",
    },
    "no_package": {
        "zh": "在本机运行 GGUF 文件需要另外安装一个包：pip install xllamacpp",
        "en": "Running a GGUF file needs one more package: pip install xllamacpp",
    },
    "no_file": {
        "zh": "没有找到可用的模型文件 {detail}：请检查路径，它应当是一个 GGUF 文件。",
        "en": "There is no usable model file at {detail}: check the path, it should be a GGUF file.",
    },
    "system_order": {
        "zh": "{model} 只接受一条开头的 system 消息：请在 config.yaml 设置 chat.single_system: true。",
        "en": "{model} takes one leading system message only: set chat.single_system: true in config.yaml.",
    },
    "no_transformers": {
        "zh": '嵌入模型 {model} 需要另外安装一个包：pip install "moechat[transformers]"（源码目录里是 pip install -e '
        '".[transformers]"）。config.yaml 的 embedding: 下是两行：provider: sentence_transformers 和 model: {model}。'
        "在此之前，靠字词和时间回忆。",
        "en": 'The embedding model {model} needs one more package: pip install "moechat[transformers]" (in a checkout: '
        'pip install -e ".[transformers]"). config.yaml has two lines under embedding: provider: sentence_transformers '
        "and model: {model}. Until then, words and time serve.",
    },
    "hub_unreachable": {
        "zh": "嵌入模型 {model} 不在本机，{base_url} 也连不上：请检查网络，或把 embedding.model 设为已下载的模型文件夹。"
        "在此之前，靠字词和时间回忆。",
        "en": "The embedding model {model} is not on this machine and {base_url} does not answer: check the network, or "
        "give embedding.model the folder of a downloaded model. Until then, words and time serve.",
    },
    "hub_loading": {
        "zh": "正在从 {base_url} 下载嵌入模型 {model}；下载完之前，靠字词和时间回忆。",
        "en": "The embedding model {model} is being fetched from {base_url}; until it is there, words and time serve.",
    },
    "no_embedding_model": {
        "zh": "{model}：这个文件夹里和 Hub 上都没有这样的嵌入模型；请给出已下载模型的路径（{detail}）",
        "en": "{model}: no such embedding model in this folder or on the hub; give the path of a downloaded model "
        "({detail})",
    },
    "withheld": {
        "zh": "这条回复依据的内容刚刚被遗忘了，所以没有保存：请再问一次。",
        "en": "Something that this reply rests on was forgotten meanwhile, so it is not stored: ask again.",
    },
    "unformed": {
        "zh": "{model} 没有按要求的格式回答",
        "en": "{model} did not answer in the form that was asked for: {detail}",
    },
    "no_insight": {
        "zh": "{model} 的回答里没有一条感悟写明依据",
        "en": "nothing in the answers of {model} is an insight that cites what it rests on",
    },
    "unread": {
        "zh": "说过的话还没有读懂，稍后再试：{detail}",
        "en": "what was said waits to be understood: {detail}",
    },
    "unreflected": {
        "zh": "反思推迟到 {until}：{detail}",
        "en": "reflection waits until {until}: {detail}",
    },
    "vectors": {
        "zh": "正在生成向量：还有 {left} 轮对话，约 {minutes} 分钟",
        "en": "vectors are being made: {left} exchanges to go, about {minutes} min",
    },
    "other": {
        "zh": "{model} 报告了错误：{detail}",
        "en": "{model} reported an error: {detail}",
    },
}
KINDS: Mapping[str, str] = {
    "empty": "nonsense",
    "no_reply": "nonsense",
    "refused": "other",
    "cut": "cut",
    "cut_thinking": "cut",
    "context_full": "context_full",
    "too_long": "other",
    "too_much": "nonsense",
    "unformed": "nonsense",
    "no_insight": "nonsense",
    "redirected": "no_route",
    "no_package": "other",
    "no_file": "unknown_model",
    "system_order": "other",
}
KNOWN: Mapping[Language, str] = {"zh": "可用的有：{names}。", "en": " It has: {names}."}

BY_STATUS: Mapping[int, str] = {401: "bad_key", 402: "rate_limit", 403: "bad_key", 408: "timeout", 429: "rate_limit"}
NO_SUCH_MODEL = re.compile(
    r"model_not_found|model.{0,80}?(?:not[ _]exist|not[ _]found|unknown|does not exist|not available)"
    r"|(?:unknown|invalid|no such).{0,20}model|模型.{0,40}(?:不存在|未找到)",
    re.IGNORECASE | re.DOTALL,
)
SYSTEM_ORDER = re.compile(
    r"system\W.{0,40}(?:beginning|first|only|multiple)|(?:only|multiple).{0,20}system\W", re.I | re.S
)
CONTEXT_FULL = re.compile(
    r"context_length_exceeded|exceed_context_size|exceeds? the (?:available )?context|maximum context length"
    r"|(?:prompt|input|request).{0,40}too (?:long|large)|too many (?:input )?tokens|context (?:window|length|size).{0,40}exceed"
    r"|exceed.{0,40}(?:context|max_?model_?len|token limit)|larger than the context"
    r"|context (?:length|window|size) is only|上下文.{0,10}(?:超|过长)",
    re.IGNORECASE | re.DOTALL,
)
KEY_LIKE = re.compile(r"\b(?:sk|pk|key|gsk|xai)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


def kind_of(status: int, detail: str) -> str:
    """The row of SAYINGS that an HTTP status and the endpoint's words stand for."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status in (400, 413, 422, 500) and CONTEXT_FULL.search(detail):
        return "context_full"
    if status < 500 and NO_SUCH_MODEL.search(detail):
        return "unknown_model"
    if status in (400, 422) and SYSTEM_ORDER.search(detail):
        return "system_order"
    return "no_route" if status in (404, 405) else "other"


def sentence(kind: str, language: Language, *, names: Sequence[str] = (), base_url: str = "", **values: Any) -> str:
    """One plain sentence: what is wrong and what to do. ``names`` are models that exist; ``values`` are the other fields
    of the row of SAYINGS (``model``, ``detail``, ``timeout_s``, ``latency_ms``, ``chars``)."""
    models = KNOWN[language].format(names=", ".join(names[:NAMES_SHOWN])) if names else ""
    fields = {"timeout_s": 0.0, "latency_ms": 0, "chars": 0} | values
    for name in ("model", "detail"):
        fields[name] = fields.get(name) or "?"
    return SAYINGS[kind][language].format(base_url=shown_url(base_url), known=models, **fields)


class Failure(ModelError):
    """A ModelError that can be told in either language; its text is in the language it was made with.

    ``saying`` is the row of SAYINGS: a kind of ModelError, or one of KINDS, which has finer words for a kind.
    """

    def __init__(self, saying: str, language: Language, **values: Any) -> None:
        self.saying, self.values = saying, values
        super().__init__(KINDS.get(saying, saying), sentence(saying, language, **values))


class EmbeddingFailure(EmbeddingError):
    """An EmbeddingError that can be told in either language; its text is English."""

    def __init__(self, saying: str, **values: Any) -> None:
        self.saying, self.values = saying, values
        super().__init__(sentence(saying, "en", **values))


class FetchingModel(EmbeddingFailure, StillLoading):
    """An embedding model is being fetched."""


def in_words(error: MoeChatError, language: Language) -> str:
    """What an error says, in this language if it knows both."""
    if isinstance(error, (Failure, EmbeddingFailure)):
        return sentence(error.saying, language, **error.values)
    if isinstance(error, DiskError):
        return error.words(language)
    return sentence("withheld", language) if isinstance(error, Withheld) else str(error)


def shown_url(base_url: str) -> str:
    """The address without a name, a password or a query, which may hold a secret."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if host else base_url.partition("?")[0] or "?"


def cleaned(detail: str, key: str | None) -> str:
    """An endpoint's own words on one line, short, without the key or anything that looks like one."""
    detail = " ".join(detail.split())
    if key:
        detail = detail.replace(key, "***")
    return KEY_LIKE.sub("***", detail)[:DETAIL_CHARS]
