"""The world book: what the author of a character wrote about its world, found by meaning and by name.

The files are those of ``author.world_files``. What is embedded is the whole entry, names and description as one passage: a short
keyword alone lies near to any short sentence. Of 44 questions about our two samples the built-in embedding has the right
entry among the first four for .89 by the whole entry, for .64 by the keyword.

Conversation never writes these files; people do. A changed file is read again at ``refresh``, a deleted one is
forgotten, and one that does not parse keeps the entries it last had until it parses again. A faulty entry costs itself.
By name, an entry fires as its author's rules say (``firing``), which ask what a message is said in, and what fired in the talk
before it (``scene``).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moechat.author import world_files
from moechat.author.world_files import LoreFile
from moechat.cue import Scene, SoFar
from moechat.errors import DataError, EmbeddingError, MoeChatError, shown
from moechat.index.dense import embed_kept
from moechat.index.vector_rows import Ints, Keys, text_key
from moechat.index.vectors import VectorTable, meets
from moechat.memory import firing
from moechat.memory.firing import Judgement, Patterns
from moechat.model import Candidates, Embedder, Exchange, Hit, Lore
from moechat.settings.character import Character
from moechat.store.kinds import Store
from moechat.store.tree import Tree
from moechat.when.names import has_han


@dataclass(frozen=True)
class _BookState:
    """One state of the book, never changed after it is made: a search sees all of it or none.

    ``vectors`` are where those of the entries stand in the table, (n,), or none of them.
    """

    entries: tuple[Lore, ...] = ()
    vectors: Ints | None = None


class WorldBook:
    """The entries of one ``data_base`` folder. ``embedder`` None: found literally only.

    ``table`` keeps what it embeds, each passage once; without one, memory does. ``problems`` are the files and entries that
    are left out, and why.
    """

    def __init__(self, folder: Path, embedder: Embedder | None = None, table: VectorTable | None = None) -> None:
        self.folder, self._embedder = folder, embedder
        self.table = table or (VectorTable(None, embedder.dim) if embedder else None)
        self.problems: tuple[MoeChatError, ...] = ()
        self.faulty_patterns: dict[str, str] = {}
        self._files: dict[str, LoreFile] = {}
        self._now = _BookState()
        self._complete = False
        self._writing = threading.Lock()
        self.refresh()

    @property
    def entries(self) -> tuple[Lore, ...]:
        return self._now.entries

    def keys(self) -> Keys:
        """Those of the vectors of all entries."""
        return [text_key(_passage(entry)) for entry in self.entries]

    def refresh(self) -> bool:
        """Look at the files again; True if entries changed. Cheap where nothing did: one stat a file."""
        with self._writing:
            files = world_files.followed(self.folder, self._files)
            if files == self._files and self._complete:
                return False
            changed = _all_entries(files) != self.entries
            self._files, self.faulty_patterns = files, {}
            self._rebuild()
            return changed

    def judged(self, text: str, scene: Scene | None = None) -> list[Judgement]:
        """Whether each entry fires by its rules."""
        patterns = Patterns()
        judgements = firing.judged(self.entries, text, scene, patterns)
        self.faulty_patterns = {**self.faulty_patterns, **patterns.problems}
        return judgements

    def fired(self, judgements: Sequence[Judgement]) -> Candidates:
        """Those that fire and have words, the highest priority first, and those for which their book has no room."""
        fires = firing.by_priority(
            one for one in judgements if one.entry.text and (one.fires or one.why == firing.BUDGET)
        )
        hits = (
            _hit(one.entry, 1.0, {"literal" if one.words else "constant": 1.0}, one.words, one.why) for one in fires
        )
        return [(hit, "" if one.fires else firing.BUDGET) for hit, one in zip(hits, fires, strict=True)]

    def pattern_problems(self) -> list[str]:
        """Patterns that are none or take too long, in words."""
        return [f"{self.folder}: the key {shown(key)} {why}" for key, why in self.faulty_patterns.items()]

    def near(
        self,
        judgements: Sequence[Judgement],
        clause_vectors: np.ndarray | None,
        *,
        scan_depth: int,
        threshold: float,
    ) -> list[Hit]:
        """Those that are near in meaning to a clause and need no key, best first."""
        book, best = self._now, dict[int, float]()  # row → best score
        may = {one.entry.id for one in judgements if one.may_be_near}
        if self.table is None or book.vectors is None or clause_vectors is None:
            return []
        for spoken in clause_vectors[np.any(clause_vectors != 0, axis=1)]:  # the vector of no text is near to nothing
            rows, scores = self.table.nearest(spoken, book.vectors, scan_depth)
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                if meets(score, threshold):
                    best[row] = max(score, best.get(row, -1.0))
        entries = ((book.entries[row], score) for row, score in best.items())
        hits = [_hit(entry, score, {"relevance": score}) for entry, score in entries if entry.id in may]
        return sorted(hits, key=lambda hit: -hit.score)

    def _rebuild(self) -> None:
        entries = _all_entries(self._files)
        self.problems = tuple(problem for file in self._files.values() for problem in file.problems)
        self.problems += tuple(_repeats(self.folder, self._files, entries))
        self._complete = True
        self._now = _BookState(entries, self._embedded([_passage(entry) for entry in entries]))

    def _embedded(self, passages: Sequence[str]) -> Ints | None:
        if self._embedder is None or self.table is None:
            return None
        try:
            return embed_kept(self._embedder, self.table, passages)
        except EmbeddingError as error:  # names and what is embedded already still serve; the next refresh tries again
            self.problems += (error,)
            self._complete = False
            return self.table.lookup([text_key(passage) for passage in passages])


def _passage(entry: Lore) -> str:
    names = entry.keys if entry.is_bare and entry.keys else (entry.keyword, *entry.keys)
    return f"{'、'.join(names)}：{entry.text}"


def _all_entries(files: dict[str, LoreFile]) -> tuple[Lore, ...]:
    """Those that say the same under the same keys count once, in the file that comes first: a card often embeds the book that
    lies beside it."""
    first: dict[object, str] = {}
    entries = []
    for name, entry in ((name, entry) for name, file in files.items() for entry in file.kept if entry.enabled):
        says = frozenset(entry.keys), entry.text.strip(), not entry.keys and entry.keyword
        if first.setdefault(says, name) == name:
            entries.append(entry)
    return tuple(entries)


def _repeats(folder: Path, files: dict[str, LoreFile], entries: Collection[Lore]) -> Iterator[DataError]:
    """The files of which entries are left out because another has the same."""
    taken = {entry.id for entry in entries}
    for name, file in files.items():
        if repeated := sum(entry.enabled and entry.id not in taken for entry in file.kept):
            yield DataError(
                folder / name, f"{repeated} of its entries stand in another file of this character too; once is enough"
            )


# --- searching -------------------------------------------------------------------------------------------------------


def entry_text(entry: Lore) -> str:
    """The words of an entry. A description seldom repeats its keyword; then the keyword is put before it, but in a book of
    another program, whose titles are for its author's eyes."""
    if entry.is_bare:
        return entry.text
    named = entry.keyword.casefold() in entry.text.casefold()
    colon = "：" if has_han(entry.text) else ": "
    return entry.text if named else f"{entry.keyword}{colon}{entry.text}"


def _hit(entry: Lore, score: float, features: dict[str, float], words: tuple[str, ...] = (), why: str = "") -> Hit:
    return Hit("lore", "lore", entry.id, entry_text(entry), score, features=features, words=words, why=why)


# --- the talk ----------------------------------------------------------------------------------------------------------

ABOUT = ("user_persona", "persona", "personality", "note", "scenario", "creator_notes")
AGAIN = ("swipe", "regenerate")  # Another reply is either in the program that books name these for.
MAX_EXCHANGES = 1000  # Exchanges of a talk that are searched for what fired.


def scene(
    store: Store, character: Character, own: str, talk: str, context: Sequence[Exchange], *, greeting: str = "",
    greets: bool = False, goes_on: bool = False,
) -> Scene:  # fmt: skip
    """What the message of an exchange ("": the next one) of a talk is said in. ``context`` are those before it; where they reach
    to the beginning of the talk, and it ``greets``, they begin with ``greeting``."""
    node, exchange = store.tree.nodes.get(own), store.exchanges.of([own]).get(own) if own else None
    again = bool(node and node.variants)
    before = [
        side for one in reversed(context)
        for side in ((character.name, one.heard), (one.speaker or character.user_name, one.sent)) if side[1]
    ]  # fmt: skip
    return Scene(
        before, (exchange and exchange.speaker) or character.user_name, greeting,
        lambda: so_far(store.tree, own, talk, greets=greets), {key: getattr(character, key) for key in ABOUT},
        character.names, {character.folder.name, character.name},
        ("continue",) if goes_on else AGAIN if again else ("normal",),
    )  # fmt: skip


def so_far(tree: Tree, own: str, talk: str, *, greets: bool = False) -> SoFar:
    """What a talk was before an exchange ("": before its next one)."""
    ids = list(tree.ancestors(tree.parents.get(own) if own else tree.leaf(talk)))
    fired_at: dict[str, int] = {}
    for place, id_ in enumerate(ids[:MAX_EXCHANGES]):
        node = tree.nodes.get(id_)
        for row in node.hits if node else ():
            if row.get("why", firing.STICKY) != firing.STICKY:
                fired_at.setdefault(str(row.get("id", "")), 2 * (len(ids) - place) - 1 + greets)
    return SoFar(2 * len(ids) + 1 + greets, fired_at)


def fires(store: Store) -> list[dict[str, str]]:
    """When entries fired in the talks of a memory, and why, the oldest first; as far back as the log keeps it."""
    rows = []
    for id_ in store.tree.numbered():
        node = store.tree.nodes.get(id_)
        for row in node.hits if node else ():
            if "why" in row:
                rows.append(
                    {"time": node.at if node else "", "exchange": id_, "id": str(row["id"]), "why": str(row["why"])}
                )
    return rows
