"""The vectors of an owner: the embedding model that serves, and the next one while its vectors are being made.

``manifest.json`` in the index folder names the model whose vectors serve. A changed model gets a folder of its own; until it
is complete the old model, if it still loads, embeds the questions and new memories go into both; else dense recall is off,
which is announced, and words and time serve. Thresholds are always those of the model that serves.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from moechat.errors import EmbeddingError
from moechat.index.vector import VectorTable, embed_cached
from moechat.model import Embedder, Thresholds
from moechat.store.records import replace

log = logging.getLogger(__name__)


@dataclass
class Space:
    """One embedding model and its tables, by layer."""

    folder: Path
    embedder: Embedder
    dim: int
    tables: dict[str, VectorTable] = field(default_factory=dict)

    def table(self, layer: str) -> VectorTable:
        if layer not in self.tables:
            self.tables[layer] = VectorTable(self.folder / layer, self.dim)
        return self.tables[layer]

    def close(self) -> None:
        for table in self.tables.values():
            table.close()


class Dense:
    """``settings`` is what ``load`` needs to make the configured embedder again in a year; it stands in the manifest."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder | None,
        *,
        settings: Mapping[str, str] | None = None,
        load: Callable[[Mapping[str, str]], Embedder | None] = lambda _: None,
    ) -> None:
        self._folder, self._settings = folder, dict(settings or {})
        self._lock = threading.RLock()
        self._warned = ""
        self.notice = ""
        configured = self._space(embedder) if embedder else None
        old = self._old(embedder, load)
        self.spaces: list[Space] = [space for space in (old, configured) if space]
        self._serves = self.spaces[0] if self.spaces and not self.notice else None
        if configured and self._serves is configured:
            self._write_manifest(configured)

    def _space(self, embedder: Embedder) -> Space | None:
        """None, and a notice, where the model cannot be loaded. Its dimension is kept: a slow model need not load for it."""
        dims = self._manifest().get("dims", {})
        try:
            dim = int(dims.get(embedder.fingerprint) or embedder.dim)
        except EmbeddingError as error:
            self.notice = str(error)
            return None
        return Space(self._folder / f"vectors-{embedder.fingerprint}", embedder, dim)

    def _old(self, embedder: Embedder | None, load: Callable[[Mapping[str, str]], Embedder | None]) -> Space | None:
        manifest = self._manifest()
        served = manifest.get("fingerprint")
        if embedder is None or not served or served == embedder.fingerprint:
            return None
        if not (self._folder / f"vectors-{served}").is_dir():
            return None
        try:
            old = load(manifest.get("settings", {}))
        except EmbeddingError as error:
            log.warning("the embedding model %s no longer loads: %s", served, error)
            old = None
        if old is not None and old.fingerprint == served:
            return self._space(old)
        changed = f"the embedding model changed from {served} to {embedder.fingerprint}"
        self.notice = f"{changed}; until its vectors are made, words and time serve"
        return None

    def _manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads((self._folder / "manifest.json").read_text(encoding="utf-8"))
            return manifest if isinstance(manifest, dict) else {}
        except (FileNotFoundError, ValueError):
            return {}

    def _write_manifest(self, space: Space) -> None:
        name = space.embedder.fingerprint
        manifest = {"fingerprint": name, "settings": self._settings, "dims": {name: space.dim}}
        if self._manifest() != manifest:
            replace(self._folder / "manifest.json", json.dumps(manifest, ensure_ascii=False).encode())

    @property
    def serving(self) -> Embedder | None:
        """The model whose vectors answer, None while none does."""
        return self._serves.embedder if self._serves else None

    @property
    def thresholds(self) -> Thresholds | None:
        return self._serves.embedder.thresholds if self._serves else None

    def table(self, layer: str) -> VectorTable | None:
        """The serving model's table of a layer."""
        return self._serves.table(layer) if self._serves else None

    def changing(self) -> Space | None:
        """The space that is being filled to serve next."""
        last = self.spaces[-1] if self.spaces else None
        return last if last is not self._serves else None

    def switch(self) -> None:
        """The next model's vectors are complete: it serves from now on, and the old ones may go."""
        with self._lock:
            if (space := self.changing()) is None:
                return
            for other in self.spaces[:-1]:
                other.close()
            self.spaces, self._serves, self.notice = [space], space, ""
            self._write_manifest(space)

    def query(self, texts: Sequence[str]) -> np.ndarray | None:
        """(n, dim) float32 of questions; None where no model serves or it fails (said once in the log)."""
        return self._embedded(lambda space: space.embedder.embed(texts, "query"))

    def cached(self, layer: str, texts: Sequence[str]) -> np.ndarray | None:
        """(n, dim) float32 of short texts of a layer, each embedded once and kept by its hash."""
        return self._embedded(lambda space: embed_cached(space.embedder, space.table(layer), texts))

    def _embedded(self, make: Callable[[Space], np.ndarray]) -> np.ndarray | None:
        space = self._serves
        if space is None:
            return None
        try:
            vectors = make(space)
        except EmbeddingError as error:
            if self._warned != str(error):
                self._warned = str(error)
                log.warning("embedding failed, words and time serve: %s", error)
            self.notice = str(error)
            return None
        if self.changing() is None:  # else the notice may tell of the model that is to serve next
            self._warned = self.notice = ""
        return vectors

    def close(self) -> None:
        for space in self.spaces:
            space.close()
