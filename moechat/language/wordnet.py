"""An installed lexicon as a source of associations: any wordnet that the ``wn`` package reads (``pip install wn``).

We ship no data. ``python -m wn download oewn:2025`` (English) or ``python -m wn download omw-cmn:1.4`` (Chinese) fetches a
lexicon once, ``wn.add("file.xml")`` takes one from a file; from then on it works without a network. Each lexicon has a
licence of its own.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

from moechat.errors import ConfigError
from moechat.language import words
from moechat.language.association import Association

SYNONYM, SIMILAR, BROADER, NARROWER = 10, 8, 5, 4  # levels
MOST = 24  # associations of a word: broad words have hundreds of narrower ones
RELATIONS = {"similar": SIMILAR, "also": SIMILAR, "hypernym": BROADER, "hyponym": NARROWER}


class WordNet:
    """``lexicons`` as wn names them, separated by spaces (``oewn:2025 omw-cmn:1.4``). Raises ConfigError where the package
    or a lexicon is missing, with the command that gets it."""

    generation = 0

    def __init__(self, lexicons: str) -> None:
        try:
            wn: Any = importlib.import_module("wn")
        except ModuleNotFoundError:
            raise ConfigError("association", "wordnet", lexicons, "run: pip install wn") from None
        wn.config.allow_multithreading = True  # under our own lock
        self._lock = threading.Lock()
        try:
            self._wordnet = wn.Wordnet(lexicons, expand="")
        except wn.Error:
            missing = f"not installed; run: python -m wn download {lexicons}"
            raise ConfigError("association", "wordnet", lexicons, missing) from None

    def associations(self, word: str) -> Sequence[Association]:
        with self._lock:
            found = self._related(word) or self._related(words.stem(word))
        for itself in (words.fold(word), words.stem(word)):
            found.pop(itself, None)
        return sorted(found.items(), key=lambda one: -one[1])[:MOST]

    def _related(self, word: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for synset in self._wordnet.synsets(word):
            self._take(found, synset, SYNONYM)
            for name, level in RELATIONS.items():
                for other in synset.get_related(name):
                    self._take(found, other, level)
        return found

    @staticmethod
    def _take(found: dict[str, int], synset: Any, level: int) -> None:
        for lemma in synset.lemmas():
            near = words.fold(str(lemma))
            found[near] = max(found.get(near, 0), level)
