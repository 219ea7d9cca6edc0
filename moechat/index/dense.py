"""The vectors of an owner: the embedding model that serves, and the next one while its vectors are being made.

``manifest.json`` in the index folder names the model whose vectors serve. A changed model gets a folder of its own. Until
that is complete the old model, if it still loads, embeds the questions, and new memories go into both. If it does not
load, or no model is there yet, words and time serve, and a notice says so. Thresholds are those of the model that serves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moechat.containment import Containment, NamedText
from moechat.errors import EmbeddingError, StillLoading, TextRefused
from moechat.index.shelf import Shelf, shelf_at
from moechat.index.vector_rows import Ints, PackedKeys, Vectors, pack_keys, text_key
from moechat.index.vectors import Lives, VectorTable
from moechat.model import Embedder, Thresholds
from moechat.reading import answers
from moechat.store import protocols

log = logging.getLogger(__name__)
BATCH = 64  # texts that are embedded at once
PLAIN_WORD = "我们 we"  # Every embedding model has a vector of it.


@dataclass
class Space:
    """One embedding model and its tables, by layer."""

    shelf: Shelf
    embedder: Embedder
    dim: int
    tables: dict[str, VectorTable] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)

    @property
    def folder(self) -> Path | None:
        return self.shelf.folder(self.embedder.fingerprint)

    def table(self, layer: str) -> VectorTable:
        with self._opening:
            if layer not in self.tables:
                self.tables[layer] = self.shelf.table(self.embedder.fingerprint, layer, self.dim)
            return self.tables[layer]

    def close(self) -> None:
        for table in list(self.tables.values()):
            table.close()


@dataclass(frozen=True)
class TextVectors:
    """The vectors of one layer that are kept by text and made in the background.

    ``lacking`` gives the records whose text a table does not hold, those that come first first, as the store has them now;
    ``texts`` gives their texts, "" for one that is gone by now. What a model raises over is not asked of it again.
    """

    dense: Dense
    layer: str
    lacking: Callable[[VectorTable], Sequence[Any]]
    texts: Callable[[Sequence[Any]], Sequence[str]]
    contained: Containment = field(default_factory=Containment)
    _left_out: dict[str, set[Any]] = field(default_factory=dict)

    def embed_missing(self, stop: threading.Event, limit: int = 0) -> int:
        """Embed texts that have no vector yet, in every space that needs it. ``limit`` bounds them (0: all).

        Returns how many were embedded. Raises EmbeddingError.
        """
        done = 0
        for space in list(self.dense.spaces):
            still = self.dense.unswept()
            lacking = self._lacking(space)[: limit or None]
            for start in range(0, len(lacking), BATCH):
                if stop.is_set() or not still():
                    break
                done += self._embed(space, lacking[start : start + BATCH], still)
        return done

    def _embed(self, space: Space, records: Sequence[Any], still: Callable[[], bool]) -> int:
        there = [(one, text) for one, text in zip(records, self.texts(records), strict=True) if text]

        def embedded(part: Sequence[tuple[Any, str]]) -> set[Any]:
            embed_kept(space.embedder, space.table(self.layer), [text for _, text in part], may_keep=still)
            return {one for one, _ in part}

        done = self.contained.each("vectors", there, lambda one: NamedText(f"{self.layer} {one[0]}", one[1]), embedded)
        made: set[Any] = set().union(*done)
        self._left_out.setdefault(space.embedder.fingerprint, set()).update({one for one, _ in there} - made)
        return len(made)

    def _lacking(self, space: Space) -> Sequence[Any]:
        lacking, left_out = self.lacking(space.table(self.layer)), self._left_out.get(space.embedder.fingerprint)
        return [one for one in lacking if one not in left_out] if left_out else lacking

    def missing(self, space: Space) -> int:
        """How many texts have no vector in this space and may get one."""
        return len(self._lacking(space))


class Dense:
    """The spaces of an owner. ``settings`` is what ``load`` needs to make the configured embedder again in a year.

    ``where`` None keeps all in memory.
    """

    def __init__(
        self,
        where: Path | protocols.Vectors | None,
        embedder: Embedder | None,
        *,
        settings: Mapping[str, str] | None = None,
        load: Callable[[Mapping[str, str]], Embedder | None] = lambda _: None,
    ) -> None:
        self._shelf, self._settings = shelf_at(where), dict(settings or {})
        self._lock = threading.RLock()
        self._unready: EmbeddingError | None = None  # why the configured model does not serve
        self.failure: EmbeddingError | None = None  # why the last embedding failed, until one succeeds
        self.spaces: list[Space] = []
        self._serves: Space | None = None
        self._awaited = embedder  # None once it has a space, or cannot have one
        self._lost = ""  # the model that made the vectors there are, where it no longer loads
        if embedder is not None:
            self._open_old(embedder, load)
        self.admit()

    def admit(self, *, patient: bool = False) -> bool:
        """Take in the configured model if that is still to be done and it has loaded (``patient``: waits until it has).

        True where it was taken in.
        """
        with self._lock:
            embedder = self._awaited
            if embedder is None:
                return False
            try:
                if patient:
                    embedder.embed(["dim"])
                space = self._space(embedder)
            except EmbeddingError as error:
                self._unready = error
                if not isinstance(error, StillLoading):
                    self._awaited = None
                return False
            self._awaited = self._unready = None
            self.spaces = [*self.spaces, space]
            if self._lost:
                changed = f"the embedding model changed from {self._lost} to {embedder.fingerprint}"
                self._unready = EmbeddingError(f"{changed}; until its vectors are made, words and time serve")
            elif self._serves is None:
                self._serves = space
                self._write_manifest(space)
            return True

    def _space(self, embedder: Embedder) -> Space:
        """Raises EmbeddingError. The dimension is kept, so that a slow model need not load for it."""
        dims = self._shelf.manifest().get("dims", {})
        dim = int(dims.get(embedder.fingerprint) or embedder.dim)
        return Space(self._shelf, embedder, dim)

    def _open_old(self, embedder: Embedder, load: Callable[[Mapping[str, str]], Embedder | None]) -> None:
        """Let the model of the manifest serve where it is not the configured one and has vectors."""
        manifest = self._shelf.manifest()
        served = manifest.get("fingerprint")
        if not served or served == embedder.fingerprint or not self._shelf.has(served):
            return
        try:
            old = load(manifest.get("settings", {}))
            if old is not None and old.fingerprint == served:
                self._serves = self._space(old)
                self.spaces = [self._serves]
                return
        except EmbeddingError as error:
            log.warning("the embedding model %s no longer loads: %s", served, error)
        self._lost = served

    def _write_manifest(self, space: Space) -> None:
        name = space.embedder.fingerprint
        manifest = {"fingerprint": name, "settings": self._settings, "dims": {name: space.dim}}
        if self._shelf.manifest() != manifest:
            self._shelf.write_manifest(manifest)

    @property
    def problem(self) -> EmbeddingError | None:
        """Why vectors do not serve, or not those of the configured model; None where all is well."""
        return self.failure or self._unready

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
        """Let the next model serve, since its vectors are complete. The old ones may be deleted."""
        with self._lock:
            if (space := self.changing()) is None:
                return
            for other in self.spaces[:-1]:
                other.close()
            self.spaces = [space]
            self._serves = space
            self._lost = ""
            self._unready = self.failure = None
            self._write_manifest(space)

    def query(self, texts: Sequence[str]) -> np.ndarray | None:
        """(n, dim) float32 of questions. None if no model serves or it fails; the log says so once."""
        return self._embedded(lambda space: space.embedder.embed(texts, "query"))

    def as_told(self, vectors: Vectors) -> Vectors:
        """(n, dim) vectors of questions where what answers them would lie, if that was learned for the model that serves."""
        return answers.as_told(vectors, self._serves.embedder.fingerprint) if self._serves else vectors

    def kept(self, layer: str, texts: Sequence[str], *, may_keep: Callable[[], bool] = lambda: True) -> Ints | None:
        """(n,) where the vectors of short texts stand in the serving table of a layer, see ``embed_kept``.

        None if no model serves or it fails; raises TextRefused.
        """
        return self._embedded(lambda space: embed_kept(space.embedder, space.table(layer), texts, may_keep=may_keep))

    # ---- sweeping

    def sweep(self, lives: Mapping[str, Lives]) -> int:
        """Overwrite every vector of what is no longer there; ``lives`` says by layer what is. Returns how many were.

        That concerns every model that ever served here, and tables of earlier caches (``.old``). A process that is embedding
        meanwhile is not waited for: what it read before the sweep it does not keep (``unswept``). May be repeated, and cut
        short, at any time.
        """
        return self._shelf.sweep({space.embedder.fingerprint: space.tables for space in self.spaces}, lives)

    def unswept(self) -> Callable[[], bool]:
        """Gives whether there was no sweep since this call: only then may vectors be kept of texts that were read after it."""
        then = self._shelf.last_sweep()
        return lambda: self._shelf.last_sweep() == then

    def _embedded(self, make: Callable[[Space], NDArray[Any]]) -> NDArray[Any] | None:
        space = self._serves
        if space is None:
            return None
        try:
            vectors = make(space)
        except TextRefused:
            raise
        except EmbeddingError as error:
            if str(self.failure) != str(error):
                log.warning("embedding failed, words and time serve: %s", error)
            self.failure = error
            return None
        self.failure = None
        return vectors

    def close(self) -> None:
        for space in self.spaces:
            space.close()


# ---- texts


def embed_kept(
    embedder: Embedder, table: VectorTable, texts: Sequence[str], *, may_keep: Callable[[], bool] = lambda: True
) -> Ints:
    """``(n,)`` the positions of the vectors of ``texts``; those that ``table`` does not hold are embedded, and appended to it.

    ``may_keep`` is asked when they are made: whether the texts may still be kept; where they may not, their position is -1.
    Raises as ``vectors_of``.
    """
    keys, vectors, rows = vectors_of(embedder, [table], texts)
    if rows:
        with table.alone():
            if may_keep():
                table.put(len(table) + np.arange(len(rows)), keys[rows], vectors[rows])
    return table.lookup(keys)


def vectors_of(
    embedder: Embedder, tables: Sequence[VectorTable], texts: Sequence[str]
) -> tuple[PackedKeys, Vectors, list[int]]:
    """``(n, 2)`` keys and ``(n, dim)`` vectors of ``texts``, and the rows of those that none of the tables held.

    These are embedded. A text that comes up twice (好的 is said often) is embedded once and has one such row.
    Raises EmbeddingError, and TextRefused where it is the fault of a text.
    """
    keys = pack_keys([text_key(text) for text in texts])
    vectors = np.zeros((len(texts), tables[0].dim), dtype=np.float32)
    unknown = np.ones(len(texts), dtype=bool)
    for table in tables:
        places = table.lookup(keys)
        held = unknown & (places >= 0)
        vectors[held] = table.get(places[held])
        unknown &= ~held
    fresh = np.flatnonzero(unknown).tolist()
    first = dict[str, int]()
    for row in fresh:
        first.setdefault(texts[row], row)
    if first:
        made = dict(zip(first, _embedded(embedder, list(first)), strict=True))
        for row in fresh:
            vectors[row] = made[texts[row]]
    return keys, vectors, list(first.values())


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of ``texts``. A model that fails over them is asked for a plain word: if it has that, it is a text's fault."""
    try:
        return embedder.embed(texts, "passage")
    except StillLoading:
        raise
    except EmbeddingError as error:
        embedder.embed([PLAIN_WORD])
        raise TextRefused(str(error)) from error
