"""Any model that sentence-transformers loads, from a folder or the Hugging Face hub (extra ``transformers``)."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

from moechat.ai.failure import EmbeddingFailure, FetchingModel
from moechat.encoder.base import LazyModel, Vectors, digest, embed_filled, in_turns, slug
from moechat.encoder.known import Prefixes, prefixes_for, thresholds_for
from moechat.errors import EmbeddingError
from moechat.model import Kind

log = logging.getLogger(__name__)

PATIENCE_S = 2.0  # How long a question waits for a model that comes from the hub, once.
HUB_TIMEOUT_S = 1.5  # The hub has to answer in this time, so that the reason is known while a question still waits.

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_LOAD_ERRORS = (OSError, ValueError, RuntimeError, LookupError, ImportError)


class SentenceTransformerEmbedder:
    """A model by hub name or folder. The library is imported at the first use only.

    A model that is on this machine is loaded when it is needed. One that is not is fetched from the hub by a thread of
    its own: ``dim`` and a query wait ``PATIENCE_S`` for it, then raise StillLoading; a passage waits until it is there.
    ``prefixes`` None takes the known ones of the model, else what the model's own configuration says. Texts count with
    their first 2,000 characters, then with what the model reads of them. One thread at a time embeds: the tokenizers
    behind it refuse two.
    """

    max_chars, batch = 2000, 32

    def __init__(self, model_name_or_path: str, *, prefixes: Prefixes | None = None, device: str | None = None) -> None:
        self.name = str(model_name_or_path)
        self._device = device
        self._prefixes = prefixes or prefixes_for(self.name)
        self._dim = 0
        marks = [self._prefixes.query, self._prefixes.passage] if self._prefixes else []
        self.fingerprint = f"st-{slug(self.name)}-{digest(*marks, *_weights_of(self.name))}"
        self.thresholds = thresholds_for(self.fingerprint)
        self._model = LazyModel(self._load)
        self._entry = threading.Lock()
        self._here: bool | None = None
        self._fetch_lock = threading.Lock()
        self._fetch: threading.Thread | None = None
        self._patience_ends = 0.0

    def _load(self) -> Any:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise EmbeddingFailure("no_transformers", model=self.name)
        if _is_here(self.name):
            try:
                return self._opened(local_files_only=True)
            except _LOAD_ERRORS as error:
                if Path(self.name).exists() or not _HUB_NAME.fullmatch(self.name):
                    raise self._unusable(error) from error
        _reach_hub(self.name)
        try:
            return self._opened(local_files_only=False)
        except Exception as error:  # the border of the thread: three libraries and a network have a part in it
            log.exception("%s could not be fetched", self.name)
            raise self._unusable(error) from error

    def _opened(self, *, local_files_only: bool) -> Any:
        library = importlib.import_module("sentence_transformers")
        _silence()
        model = library.SentenceTransformer(
            self.name, device=self._device, trust_remote_code=False, local_files_only=local_files_only
        )
        if self._prefixes is None:
            own = getattr(model, "prompts", None) or {}
            self._prefixes = Prefixes(own.get("query") or "", own.get("passage") or own.get("document") or "")
        self._dim = len(self._encode(model, ["dim"], "")[0])
        return model

    def _unusable(self, error: Exception) -> EmbeddingFailure:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        return EmbeddingFailure("no_embedding_model", model=self.name, detail=reason[0][:200])

    def _ready(self, *, patient: bool = False) -> Any:
        """The model. Raises StillLoading where it is being fetched and ``patient`` is False."""
        with self._fetch_lock:
            if self._here is None:
                self._here = _is_here(self.name)
            if not self._here and self._fetch is None:
                self._fetch = threading.Thread(target=self._fetched, name="moechat-embedding", daemon=True)
                self._patience_ends = time.monotonic() + PATIENCE_S
                self._fetch.start()
        if self._fetch is not None:
            self._fetch.join(None if patient else max(0.0, self._patience_ends - time.monotonic()))
            if self._fetch.is_alive():
                raise FetchingModel("hub_loading", model=self.name, base_url=_hub())
        return self._model()

    def _fetched(self) -> None:
        with suppress(EmbeddingError):  # raised again to whoever needs the model
            self._model()

    @staticmethod
    def _encode(model: Any, texts: list[str], prefix: str) -> Vectors:
        vectors: Vectors = model.encode(texts, prompt=prefix, convert_to_numpy=True, show_progress_bar=False)
        return vectors

    @property
    def dim(self) -> int:
        self._ready()
        return self._dim

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Vectors:
        model = self._ready(patient=kind == "passage")
        prefix = getattr(self._prefixes or Prefixes(), kind)

        def encode(filled: list[str]) -> Vectors:
            return in_turns(self._entry, filled, self.batch, lambda part: self._encode(model, part, prefix))

        return embed_filled(texts, self._dim, self.max_chars, encode)


def _weights_of(name: str) -> list[str]:
    """What tells one local model from another under the same path: names, sizes and times of its files."""
    folder = Path(name)
    if not folder.is_dir():
        return [name]
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin", ".onnx", ".json"})
    return [f"{path.relative_to(folder)}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files]


def _is_here(name: str) -> bool:
    """Whether no hub need be asked: a folder, what can only be one, or a model that was fetched before."""
    if (
        Path(name).exists()
        or not _HUB_NAME.fullmatch(name)
        or importlib.util.find_spec("sentence_transformers") is None
    ):
        return True
    hub = importlib.import_module("huggingface_hub")
    names = [name] if "/" in name else [name, f"sentence-transformers/{name}"]  # as the library completes it
    folder = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    return any(isinstance(hub.try_to_load_from_cache(one, "config.json", cache_dir=folder), str) for one in names)


def _hub() -> str:
    endpoint: str = importlib.import_module("huggingface_hub.constants").ENDPOINT
    return endpoint


def _reach_hub(name: str) -> None:
    """Raise EmbeddingFailure where the hub does not answer in time: the library would try for a minute and more."""
    request = urllib.request.Request(f"{_hub()}/api/models/{name}", method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=HUB_TIMEOUT_S).close()
    except urllib.error.HTTPError:
        pass  # an answer, whatever it says: the library finds better words for it
    except (OSError, ValueError, HTTPException) as error:
        raise EmbeddingFailure("hub_unreachable", model=name, base_url=_hub()) from error


def _silence() -> None:
    """No progress bars and no banners of the libraries in the terminal."""
    importlib.import_module("huggingface_hub.utils").disable_progress_bars()
    logging = importlib.import_module("transformers.utils.logging")
    logging.disable_progress_bar()
    logging.set_verbosity_error()
