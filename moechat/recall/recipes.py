"""The recipes of an agent as they are configured now: which ones run, over which layer, with which weight, limit and
threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from moechat.ai.chat_model import ChatModel
from moechat.cue import Cue
from moechat.index.dense import Dense
from moechat.memory.core import CoreMemory
from moechat.memory.diary import Diary
from moechat.memory.entities import Entities
from moechat.memory.world_book import WorldBook
from moechat.model import Candidates
from moechat.recall.episodic import Episodic, TopicHelper
from moechat.recall.pipeline import Recipe
from moechat.settings.config import LAYERS, Config
from moechat.settings.prompts import Prompts

# The floors of seed 003 hold where no embedding model brings its own.
DEFAULT_THRESHOLDS = {"diary": 0.38, "core": 0.5, "lore": 0.5}


@dataclass(frozen=True)
class ConfiguredRecipes:
    """``config`` and ``book`` are asked anew each time: a character's overrides and an embedding model may change."""

    config: Callable[[], Config]
    dense: Dense
    diary: Diary
    episodic: Episodic
    core: CoreMemory
    entities: Entities
    book: Callable[[], WorldBook]
    model: Callable[[], ChatModel]
    prompts: Prompts

    def active(self) -> list[Recipe]:
        config = self.config()
        on = {"diary": config.Agent.long_memory, "core": config.Agent.is_core_mem, "lore": config.Agent.lore_books}
        runs: dict[str, Callable[[Cue], Candidates]] = {
            "by_time": self._by_time, "events": self._events, "stream": self._stream,
            "association": self.episodic.association, "by_topic": self._by_topic, "profile": self._profile,
            "entities": self._entities, "lore": self._lore,
        }  # fmt: skip
        return [
            Recipe(name, LAYERS[name], runs[name], settings.weight, settings.limit)
            for name, settings in config.recall.recipes.items()
            if settings.enabled and on[LAYERS[name]]
        ]

    def threshold(self, recipe: str) -> float:
        """The least score of a recipe: the configured one, else the one that was fitted to the serving embedding model,
        else the model's own.
        """
        config = self.config()
        if (configured := config.threshold(recipe)) is not None:
            return configured
        serving = self.dense.serving
        own = config.embedding.fitted.get(serving.fingerprint, serving.thresholds) if serving else None
        floor: float = getattr(own, LAYERS[recipe]) if own else DEFAULT_THRESHOLDS[LAYERS[recipe]]
        return floor

    def _by_time(self, cue: Cue) -> Candidates:
        check = self.config().Agent.is_check_memorys
        return self.diary.by_time(cue, threshold=self.threshold("by_time"), check=check)

    def _events(self, cue: Cue) -> Candidates:
        return self.diary.events(cue, threshold=self.threshold("events"))

    def _stream(self, cue: Cue) -> Candidates:
        return self.episodic.stream(cue, self.config().recall.stream, threshold=self.threshold("stream"))

    def _by_topic(self, cue: Cue) -> Candidates:
        limit = self.config().recall.recipes.by_topic.limit
        return self.episodic.by_topic(cue, limit, self._helper(), threshold=self.threshold("by_topic"))

    def _helper(self) -> TopicHelper | None:
        """A model that is asked about topics before the reply: an option, off by default."""
        options = self.config().recall.topics
        model = self.model()
        if not (options.cues_by_model or options.evaluator) or not model.understands:
            return None
        return TopicHelper(model, self.prompts, options)

    @property
    def patience_s(self) -> float:
        """How much time a model that is asked before the reply may take beside the recipes' own deadline."""
        helper = self._helper() if self.config().recall.recipes.by_topic.enabled else None
        if helper is None:
            return 0.0
        questions = helper.options.cues_by_model + helper.options.evaluator
        return helper.options.timeout_s * questions

    def _entities(self, cue: Cue) -> Candidates:
        config = self.config()
        how = config.association
        limit = config.recall.recipes.entities.limit
        hits = self.entities.search(
            cue, version=how.version, limit=limit or None, threshold=self.threshold("entities"), count=how.count,
            strategy=how.strategy, filter_values=how.filter_values,
        )  # fmt: skip
        return [(hit, "") for hit in hits]

    def _profile(self, cue: Cue) -> Candidates:
        top_k = self.config().Agent.core_top_k
        return [(hit, "") for hit in self.core.search(cue, top_k=top_k, threshold=self.threshold("profile"))]

    def _lore(self, cue: Cue) -> Candidates:
        hits = self.book().search(
            cue.clauses, cue.clause_vectors, scan_depth=self.config().Agent.scan_depth,
            threshold=self.threshold("lore"), text=cue.text,
        )  # fmt: skip
        return [(hit, "") for hit in hits]
