"""Vectors of one layer in one folder: disposable, rebuildable, and the embedding cache.

``VectorTable`` is positioned: position i, a number that the caller owns (of a document, say), holds the vector of
document i and the key of the text that was embedded. What is missing is what has another key, so a fill interrupted
anywhere goes on from there, and two processes that write one position write the same. Searches are exact up to
``FLAT_FLOATS``; beyond, inverted lists that a thread of the table trains in the background find candidates, and these
are scored exactly.

On disk, in ``<owner>/.index/vectors-<fingerprint>/<layer>/`` (little endian; no pickle, nothing for FAISS to parse):

    vectors.f32      rows of ``dim`` float32, position i at byte i * dim * 4
    keys.bin         16 bytes of header (b"MOEVEC1\\0", dim as uint32, 0 as uint32), then position i at byte
                     16 + i * 16: blake2b-128 of the text, all zero where nothing is stored
    centroids.npy    (lists, dim) float32: the trained centres, where there are inverted lists
    lists.npy        (1 + n, 2) uint32: a check of the centres, then of each position its list + 1 (0: none) and the
                     first 4 bytes of the key that it was put there for
    lock             taken while the files grow, append.lock while ``embed_cached`` appends

The first two grow in chunks of zeros and are mapped into memory. A vector is written before its key, and a key is
zeroed before its vector changes, so a process killed at any moment leaves rows that are right or missing. After a power
failure only what was flushed is certain (``flush``, ``close``): nothing is synced per row. ``unsound`` finds garbage.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import faiss
import numpy as np
from filelock import FileLock

from moechat.index.inverted import BLOCK_ROWS, InvertedLists, filled_rows
from moechat.model import Embedder, Kind

TOLERANCE = 1e-6  # a float32 .38 is not >= .38 otherwise (golden of seed 003)
MISSING = -1.0  # the score of a position that holds no vector
FLAT_FLOATS = 16 << 20  # rows * dim up to which a flat scan is quick enough: 2 ms
PENDING_ROWS = 2048  # rows beside the lists that are scanned before they are put in

_HEADER = struct.Struct("<8sII")
_MAGIC = b"MOEVEC1\0"
_KEY_BYTES = 16

Keys = Sequence[bytes] | np.ndarray

log = logging.getLogger(__name__)


def text_key(text: str, kind: Kind = "passage") -> bytes:
    """16 bytes that stand for this text embedded as this kind (some models read a query differently)."""
    person = b"" if kind == "passage" else kind.encode()
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES, person=person).digest()


def pack_keys(keys: Keys) -> np.ndarray:
    """``(n, 2)`` uint64 from keys as bytes; what is packed already is passed through."""
    if isinstance(keys, np.ndarray):
        return keys
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)


def meets(score: float | np.ndarray, threshold: float) -> bool | np.ndarray:
    """``score >= threshold`` with a tolerance of 1e-6 for scores that were float32."""
    return score >= threshold - TOLERANCE


def inner_products(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``(n,)`` float32 of contiguous ``rows`` (n, dim) with ``query`` (dim,), in the calling thread alone.

    Not ``rows @ query``: a second BLAS thread costs up to 8 ms on a busy machine, and here equal rows get equal scores
    wherever they stand.
    """
    scores = np.empty(len(rows), dtype=np.float32)
    if len(rows):
        faiss.fvec_inner_products_ny(
            faiss.swig_ptr(scores), faiss.swig_ptr(query), faiss.swig_ptr(rows), rows.shape[1], len(rows)
        )
    return scores


def best(positions: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` best of ascending ``positions``, best first, ties by position."""
    if 0 < k < len(scores):
        keep = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        positions, scores = positions[keep], scores[keep]
    order = np.argsort(-scores, kind="stable")[: max(k, 0)]
    return positions[order], scores[order]


class VectorTable:
    """The vectors of one layer; see the module for the format. ``folder`` None keeps all in memory.

    Positions, keys and vectors are parallel arrays. Vectors are expected at unit length, so that an inner product is a
    cosine. Safe to use from several threads and processes. Raises OSError where the disk is full or not writable.
    """

    def __init__(self, folder: Path | None, dim: int, *, flat_floats: int = FLAT_FLOATS) -> None:
        self.folder, self.dim, self.flat_floats = folder, dim, flat_floats
        self._lock = threading.RLock()
        self._identity: tuple[tuple[int, int], ...] = ()
        self._maps: tuple[mmap.mmap, ...] = ()
        self._by_key: _KeyOrder | None = None
        self._lists: InvertedLists | None = None
        self._pending: set[int] = set()
        self._worker: threading.Thread | None = None
        self._stop = threading.Event()
        self._filled, self._count = np.zeros(0, dtype=bool), 0
        self._unmap()
        self.refresh()

    def _unmap(self) -> None:
        self._vectors = np.zeros((0, self.dim), dtype=np.float32)
        self._keys, self._maps = np.zeros((0, 2), dtype=np.uint64), ()

    def __len__(self) -> int:
        """One more than the last position that holds a vector."""
        return self._count

    # ---- files

    @property
    def _paths(self) -> tuple[Path, Path]:
        assert self.folder is not None
        return self.folder / "vectors.f32", self.folder / "keys.bin"

    def refresh(self) -> None:
        """Notice what another process wrote, or that somebody deleted or cut the files. Cheap when nothing happened."""
        with self._lock:
            if self.folder is not None and self._look() != self._identity:
                self._open()
            self._recount()
            if self._lists is not None:  # texts may have changed in place
                self._pending = set(self._lists.absent(self._keys[: self._count]).tolist())

    def _look(self) -> tuple[tuple[int, int], ...]:
        try:
            return tuple((stat.st_ino, stat.st_size) for stat in map(os.stat, self._paths))
        except OSError:
            return ()

    def _open(self) -> None:
        """Map the rows that both files hold; a wrong header or size makes rows missing, never an error."""
        before, self._identity = self._identity, self._look()
        self._unmap()
        grown = [now[0] == then[0] and now[1] >= then[1] for now, then in zip(self._identity, before, strict=False)]
        if len(grown) < 2 or not all(grown):
            self._by_key, self._lists, self._pending = None, None, set()
        if not self._identity or not self._is_ours():
            return
        (_, vector_bytes), (_, key_bytes) = self._identity
        key_rows = (key_bytes - _HEADER.size) // _KEY_BYTES
        rows = min(vector_bytes // (self.dim * 4), key_rows)
        if rows <= 0:
            return
        sizes = (rows * self.dim * 4, _HEADER.size + key_rows * _KEY_BYTES)
        self._maps = tuple(_mapped(path, size) for path, size in zip(self._paths, sizes, strict=True))
        self._vectors = np.frombuffer(self._maps[0], dtype="<f4").reshape(rows, self.dim)
        keys = np.frombuffer(self._maps[1], dtype="<u8").reshape(-1, 2)[1:]
        if key_rows > rows:
            keys[rows:] = 0  # their vectors were cut off: they would come back as zeros with the next growth
        self._keys = keys[:rows]

    def _is_ours(self) -> bool:
        try:
            with self._paths[1].open("rb") as file:
                return file.read(_HEADER.size) == _HEADER.pack(_MAGIC, self.dim, 0)
        except OSError:
            return False

    def _recount(self) -> None:
        """Bring what is derived from the keys up to date with them."""
        known, self._filled = self._filled, filled_rows(self._keys)
        last = np.flatnonzero(self._filled)[-1:]
        self._count = int(last[0]) + 1 if len(last) else 0
        if self._count > len(known) or not np.array_equal(self._filled[: len(known)], known):
            self._by_key = None
            if self._lists is not None:
                self._pending = set(self._lists.absent(self._keys[: self._count]).tolist())

    def _grow(self, rows: int) -> None:
        """Room for ``rows`` positions and a quarter more, in chunks of 256 rows."""
        room = -(-max(rows, len(self._keys) * 5 // 4) // 256) * 256
        if self.folder is None:
            more = room - len(self._keys)
            self._vectors = np.concatenate([self._vectors, np.zeros((more, self.dim), np.float32)])
            self._keys = np.concatenate([self._keys, np.zeros((more, 2), np.uint64)])
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / "lock"):
                if not self._look() or not self._is_ours():
                    for path in self._paths:  # another process may have them mapped: new files, not cut ones
                        path.unlink(missing_ok=True)
                _extend(self._paths[0], b"", room * self.dim * 4, self.dim * 4)
                header = _HEADER.pack(_MAGIC, self.dim, 0)
                _extend(self._paths[1], header, len(header) + room * _KEY_BYTES, _KEY_BYTES)
            self._open()
        self._recount()

    def flush(self) -> None:
        """Wait until all is on the disk, vectors before keys."""
        for mapped in self._maps:
            mapped.flush()

    def close(self) -> None:
        """Stop the background thread, wait for it, and let go of the files."""
        self._stop.set()
        worker = self._worker
        if worker is not None:
            worker.join()
        self.flush()
        with self._lock:
            self._unmap()
            self._identity, self._lists = (), None
            self._recount()

    # ---- rows

    def put(self, positions: np.ndarray, keys: Keys, vectors: np.ndarray) -> None:
        """Store ``vectors`` (n, dim) of the texts with these ``keys`` at ``positions``, replacing what was there."""
        positions, packed = np.asarray(positions, dtype=np.int64), pack_keys(keys)
        if not len(positions):
            return
        if vectors.shape != (len(positions), self.dim) or len(packed) != len(positions) or positions.min() < 0:
            raise ValueError(f"{len(positions)} positions, {len(packed)} keys, vectors of shape {vectors.shape}")
        with self._lock:
            if positions.max() >= len(self._keys):
                self._grow(int(positions.max()) + 1)
            if self._filled[positions].any():
                self._keys[positions] = 0
            self._vectors[positions] = vectors
            self._keys[positions] = packed
            self._filled[positions] = True
            self._count = max(self._count, int(positions.max()) + 1)
            if self._by_key is not None:
                self._by_key.add(packed, positions)
            if self._lists is not None:
                self._pending.update(positions.tolist())

    def erase(self, positions: np.ndarray) -> None:
        """Remove the bytes at ``positions``; what does not exist is passed over."""
        with self._lock:
            positions = np.asarray(positions, dtype=np.int64)
            positions = positions[(positions >= 0) & (positions < len(self._keys))]
            self._keys[positions] = 0
            self._vectors[positions] = 0
            self._recount()

    def missing(self, positions: np.ndarray, keys: Keys) -> np.ndarray:
        """Those of ``positions`` that do not hold the vector of the text with this key, in the order given."""
        positions, packed = np.asarray(positions, dtype=np.int64), pack_keys(keys)
        with self._lock:
            inside = (positions >= 0) & (positions < len(self._keys))
            same = np.zeros(len(positions), dtype=bool)
            same[inside] = (self._keys[positions[inside]] == packed[inside]).all(axis=1)
        return positions[~same]

    def lookup(self, keys: Keys) -> np.ndarray:
        """``(n,)`` int64: a position that holds the vector of this key, -1 where there is none."""
        with self._lock:
            if self._by_key is None:
                self._by_key = _KeyOrder(self._keys[: self._count])
            return self._by_key.find(pack_keys(keys), self._keys)

    def having(self, keys: Keys) -> np.ndarray:
        """Every position that holds the vector of one of these keys, ascending."""
        wanted = pack_keys(keys)
        with self._lock:
            mine = self._keys[: self._count]
            return np.flatnonzero(np.isin(mine[:, 0], wanted[:, 0]) & np.isin(mine[:, 1], wanted[:, 1]))

    def get(self, positions: np.ndarray) -> np.ndarray:
        """``(n, dim)`` float32, a copy; rows of zeros where there is nothing."""
        positions = np.asarray(positions, dtype=np.int64)
        rows = np.zeros((len(positions), self.dim), dtype=np.float32)
        with self._lock:
            held = self.held(positions)
            rows[held] = self._vectors[positions[held]]
        return rows

    def held(self, positions: np.ndarray) -> np.ndarray:
        """``(n,)`` bool: which positions hold a vector, of whatever text."""
        positions = np.asarray(positions, dtype=np.int64)
        held = (positions >= 0) & (positions < len(self._filled))
        held[held] = self._filled[positions[held]]
        return held

    def unsound(self) -> np.ndarray:
        """Positions whose vector is neither of unit length nor zero: damage that no key shows. Reads all."""
        found = []
        for start in range(0, self._count, BLOCK_ROWS):
            lengths = np.linalg.norm(self._vectors[start : start + BLOCK_ROWS], axis=1)
            odd = ~((np.abs(lengths - 1) < 1e-3) | (lengths == 0))
            found.append(start + np.flatnonzero(odd & self._filled[start : start + len(odd)]))
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    # ---- search

    def dot(self, positions: np.ndarray, query: np.ndarray) -> np.ndarray:
        """``(n,)`` float32: the exact cosine of each position with ``query`` (dim,), MISSING where there is no vector.

        One pass over the mapped rows where ``positions`` are mostly a run (a year of talk), in whatever order.
        """
        positions = np.asarray(positions, dtype=np.int64)
        scores = np.full(len(positions), MISSING, dtype=np.float32)
        with self._lock:
            vectors, held = self._vectors, self.held(positions)
        if held.any():
            wanted = positions if held.all() else positions[held]
            scores[held] = _scores(vectors, wanted, _as_query(query, self.dim))
        return scores

    def top(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` positions nearest to ``query`` (dim,) and their cosines, best first, ties by position.

        ``allowed`` is a mask by position; positions beyond its end are not allowed. Exact while the allowed rows are
        few; beyond ``flat_floats`` candidates come from the inverted lists as soon as these are trained.
        """
        query = _as_query(query, self.dim)
        with self._lock:
            vectors, mask, count, lists = self._vectors, self._filled[: self._count], self._count, self._lists
            pending = np.fromiter(self._pending, dtype=np.int64) if lists is not None else np.zeros(0, np.int64)
        if allowed is not None:
            mask = mask[: len(allowed)] & np.asarray(allowed[:count], dtype=bool)
        number = int(np.count_nonzero(mask))
        if number * self.dim > self.flat_floats:
            self._tend()
            if lists is not None:
                found = np.union1d(lists.candidates(query, 2 * k, None if number == count else mask), pending)
                found = found[(found < len(mask)) & (found >= 0)]
                found = found[mask[found]]
                if len(found) >= min(k, number):
                    return best(found, _scores(vectors, found, query), k)
        if number == len(mask):
            return best(np.arange(number), _finite(inner_products(query, vectors[:number])), k)
        found = np.flatnonzero(mask)
        return best(found, _scores(vectors, found, query), k)

    # ---- the thread that keeps the inverted lists

    def _tend(self) -> None:
        """Start the thread where there is something to train or to put in, one at a time."""
        with self._lock:
            lists = self._lists
            due = lists is None or len(self._pending) >= PENDING_ROWS or self._count > 4 * lists.trained_on
            if due and self._worker is None and not self._stop.is_set():
                self._worker = threading.Thread(target=self._work, name="moechat-vectors", daemon=True)
                self._worker.start()

    def settle(self) -> None:
        """Wait for the inverted lists, where there are enough rows to want them (``rebuild``, benchmarks, tests)."""
        if np.count_nonzero(self._filled) * self.dim > self.flat_floats:
            self._tend()
            worker = self._worker
            if worker is not None:
                worker.join()

    def _work(self) -> None:
        faiss.omp_set_num_threads(1)
        try:
            self._tend_lists()
        except Exception:  # the border of the thread: recall goes on without lists, and does not try for ever
            log.exception("vectors in %s: no index beyond the flat one", self.folder or "memory")
            self._stop.set()
        finally:
            with self._lock:
                self._worker = None

    def _tend_lists(self) -> None:
        with self._lock:
            vectors, lists, keys = self._vectors, self._lists, self._keys[: self._count].copy()
        if lists is None:
            lists = InvertedLists.load(self.folder, keys, vectors, self._stop)
        if lists is None or len(keys) > 4 * lists.trained_on:
            lists = InvertedLists.train(vectors, np.flatnonzero(filled_rows(keys)), self._stop)
        if lists is None:
            return
        lists.absorb(vectors, keys, self._stop)
        with self._lock:
            if self._stop.is_set():
                return
            self._lists = lists
            self._pending = set(lists.absent(self._keys[: self._count]).tolist())
            if self._maps and hasattr(mmap, "MADV_DONTNEED"):
                self._maps[0].madvise(mmap.MADV_DONTNEED)  # all rows were walked over; they need not stay resident
        lists.save(self.folder)


def _as_query(query: np.ndarray, dim: int) -> np.ndarray:
    query = np.ascontiguousarray(query, dtype=np.float32)
    if query.shape != (dim,):
        raise ValueError(f"a query of shape {query.shape}, not ({dim},)")
    return query


def _finite(scores: np.ndarray) -> np.ndarray:
    """Scores of damaged rows as MISSING."""
    bad = ~np.isfinite(scores)
    if bad.any():
        scores[bad] = MISSING
    return scores


def _scores(vectors: np.ndarray, positions: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Cosines at existing ``positions``: over the whole stretch where they fill half of it, else block by block."""
    if not len(positions):
        return np.zeros(0, dtype=np.float32)
    first, last = int(positions.min()), int(positions.max())
    if last - first < 2 * len(positions):
        stretch = inner_products(query, vectors[first : last + 1])
        whole = len(stretch) == len(positions) and bool((positions[1:] > positions[:-1]).all())
        return _finite(stretch if whole else stretch[positions - first])
    blocks = range(0, len(positions), BLOCK_ROWS)
    return _finite(np.concatenate([inner_products(query, vectors[positions[b : b + BLOCK_ROWS]]) for b in blocks]))


def _mapped(path: Path, size: int) -> mmap.mmap:
    with path.open("rb+") as file:
        return mmap.mmap(file.fileno(), size)


def _extend(path: Path, header: bytes, size: int, row: int) -> None:
    """Fill the file with zeros from its last whole row to ``size``.

    Written, not skipped over: a hole that a full disk cannot fill kills the process that maps it.
    """
    path.touch()
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        if end < len(header):
            file.seek(0)
            file.write(header)
            end = len(header)
        end = file.seek(len(header) + (end - len(header)) // row * row)
        while end < size:
            end += file.write(bytes(min(size - end, 1 << 20)))


class _KeyOrder:
    """Positions by key: a sorted array of first halves, and a dict of what came since."""

    def __init__(self, keys: np.ndarray) -> None:
        self._order = np.argsort(keys[:, 0], kind="stable")
        self._sorted = keys[self._order, 0]
        self._since: dict[bytes, int] = {}

    def add(self, keys: np.ndarray, positions: np.ndarray) -> None:
        self._since.update((key.tobytes(), int(position)) for key, position in zip(keys, positions, strict=True))

    def find(self, wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """A hit counts only if the row still has the key now."""
        found = np.full(len(wanted), -1, dtype=np.int64)
        starts = np.searchsorted(self._sorted, wanted[:, 0])
        rows = np.flatnonzero((starts < len(self._sorted)) & (len(keys) > 0))
        rows = rows[self._sorted[starts[rows]] == wanted[rows, 0]]
        while len(rows):  # as a rule once: two keys seldom share their first half, nor does one stand in many rows
            positions = self._order[starts[rows]]
            inside = positions < len(keys)
            same = inside & (keys[np.where(inside, positions, 0)] == wanted[rows]).all(axis=1)
            found[rows[same]] = positions[same]
            rows = rows[~same]
            starts[rows] += 1
            rows = rows[starts[rows] < len(self._sorted)]
            rows = rows[self._sorted[starts[rows]] == wanted[rows, 0]]
        if self._since:
            for row, key in enumerate(_each(wanted)):
                recent = self._since.get(key, -1)
                if 0 <= recent < len(keys) and (keys[recent] == wanted[row]).all():
                    found[row] = recent
        return found


def _each(keys: np.ndarray) -> Iterator[bytes]:
    """Packed keys as they were."""
    packed = np.ascontiguousarray(keys).tobytes()
    return (packed[start : start + _KEY_BYTES] for start in range(0, len(packed), _KEY_BYTES))


def tables_under(folder: Path) -> list[VectorTable]:
    """Every table in ``folder`` and below it, of whatever model and layer, opened."""
    tables = []
    for path in sorted(folder.rglob("keys.bin")):
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
        if len(head) == _HEADER.size and head.startswith(_MAGIC):
            tables.append(VectorTable(path.parent, _HEADER.unpack(head)[1]))
    return tables


class FlatIndex:
    """A small set of vectors (facts, keywords), searched exactly with FAISS."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        if len(vectors):
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))

    def __len__(self) -> int:
        return self._index.ntotal

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """``(ids, scores)`` of the at most ``k`` rows nearest to ``query`` (dim,), best first, ties by id."""
        return self.search_many(np.asarray(query)[None], k)[0]

    def search_many(self, queries: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """``search`` for each row of ``queries`` (m, dim)."""
        size = min(max(k, 0) + 16, len(self))  # more than asked for, so that equal scores at the end keep their order
        if not size or not len(queries) or k <= 0:
            return [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in queries]
        faiss.omp_set_num_threads(1)
        scores, ids = self._index.search(np.ascontiguousarray(queries, dtype=np.float32), size)
        orders = [np.lexsort((row_ids, -row)) for row_ids, row in zip(ids, scores, strict=True)]
        return [(ids[row][order[:k]], scores[row][order[:k]]) for row, order in enumerate(orders)]


def flat_index(vectors: np.ndarray) -> FlatIndex:
    """An exact index over ``vectors`` (n, dim), unit length; ids are the row numbers."""
    return FlatIndex(vectors)


def embed_cached(embedder: Embedder, table: VectorTable, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray:
    """``(n, dim)`` vectors of ``texts``; only those that ``table`` does not hold are embedded, and appended to it."""
    keys = pack_keys([text_key(text, kind) for text in texts])
    places = table.lookup(keys)
    vectors, fresh = table.get(places), np.flatnonzero(places < 0).tolist()
    first = {texts[row]: row for row in reversed(fresh)}
    if first:
        made = dict(zip(first, embedder.embed(list(first), kind), strict=True))
        for row in fresh:
            vectors[row] = made[texts[row]]
        rows = list(first.values())
        with _appending(table) as end:
            table.put(end + np.arange(len(rows)), keys[rows], vectors[rows])
    return vectors


@contextmanager
def _appending(table: VectorTable) -> Iterator[int]:
    """The end of the table, kept from other processes that append."""
    if table.folder is None:
        yield len(table)
        return
    table.folder.mkdir(parents=True, exist_ok=True)
    with FileLock(table.folder / "append.lock"):
        table.refresh()
        yield len(table)
