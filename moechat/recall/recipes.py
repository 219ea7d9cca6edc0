"""The recipes of an agent as they are configured now: which ones run, over which layer, with which weight, limit and
threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from moechat.ai.chat_model import ChatModel
from moechat.cue import Cue
from moechat.encoder.known import DEFAULT_THRESHOLDS
from moechat.index.dense import Dense
from moechat.memory.core import CoreMemory
from moechat.memory.diary import Diary, asked_spans
from moechat.memory.entities import Entities
from moechat.memory.firing import Judgement
from moechat.memory.world_book import WorldBook
from moechat.model import Candidates, Hit
from moechat.recall import touch
from moechat.recall.episodic import Episodic, TopicHelper
from moechat.recall.pipeline import Recipe
from moechat.settings.config import DIAL, LAYERS, Config
from moechat.settings.prompts import Prompts
from moechat.when import Span

MOST_UNDERSTOOD = 3  # Exchanges that are found by what a model wrote of them.
MORE = 8  # Messages of the diary beyond its limit, for a question that asks for several things.
ASSOCIATED = 0.5  # The least score of a fact that is found by words: no cosine, so that it is the same for every embedding model.


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

    def whatever_ranks(self, *, low: bool = False) -> list[Recipe]:
        """Those that come whatever the ranking says. What moves the user's life comes first where the mood is ``low``; a
        question about that life is answered by what it names first."""
        agent = self.config().Agent
        by_rules = (
            [Recipe("book", "lore", lambda cue: self.book().fired(self._judged(cue)))] if agent.lore_books else []
        )
        if agent.long_memory and self.config().recall.what_matters:
            by_rules.append(Recipe(touch.MATTERS, "diary", self.episodic.matters, touch.FIRST if low else touch.BEHIND))
        if not agent.is_core_mem:
            return by_rules
        return [
            *by_rules,
            Recipe("care", "core", lambda cue: touch.care(cue, self.core.current), touch.FIRST),
            Recipe("about_user", "core", lambda cue: touch.about_user(cue, self.core.current), touch.FIRST),
        ]

    def active(self, *, several: bool = False, low: bool = False) -> list[Recipe]:
        """Those that are switched on. The diary hands over more where ``several`` things are asked for."""
        config, floor = self.config(), self.threshold
        agent, recipes = config.Agent, config.recall.recipes
        on = {"diary": agent.long_memory, "core": agent.is_core_mem, "lore": agent.lore_books}

        def near(cue: Cue) -> list[Hit]:
            search = partial(self.core.search, cue, top_k=agent.core_top_k, threshold=floor("profile"))
            return cue.once("facts near", search)

        def associated(cue: Cue) -> list[Hit]:
            limit = min(recipes.entities.limit or agent.core_top_k, agent.core_top_k)
            search = partial(self.entities.search, cue, config.association, limit=limit, threshold=floor("entities"))
            return cue.once("facts associated", search)

        def over(cue: Cue) -> list[Hit]:
            hits = self.core.search(cue, top_k=agent.core_top_k, threshold=floor("profile"), former=True)
            return hits if touch.touches_facts(cue, hits, (), floor("profile")) else []

        def stream(cue: Cue) -> Candidates:
            """Where something of the past belongs to the cue: the diary has it, or facts name it."""
            hits = self.episodic.stream(cue, config.recall.stream, threshold=floor("stream"), spans=within(cue))
            if self.diary.judged(cue, floor("events")).belongs or associated(cue):
                return hits
            return [(hit, why or "below_threshold") for hit, why in hits]

        def profile(cue: Cue) -> Candidates:
            belong = touch.touches_facts(cue, near(cue), associated(cue), floor("profile"))
            return [(hit, "" if belong else "below_threshold") for hit in near(cue)]

        def within(cue: Cue) -> list[Span]:
            return self.diary.required_spans(cue, floor("events")) if agent.long_memory else []

        runs: dict[str, Callable[[Cue], Candidates]] = {
            "by_time": lambda cue: self.diary.by_time(cue, threshold=floor("by_time"), check=agent.is_check_memorys),
            "events": lambda cue: self.diary.events(cue, threshold=floor("events")),
            "stream": stream,
            "association": lambda cue: self.episodic.association(
                cue, within(cue), all_events=recipes.association.all_events
            ),
            "by_topic": lambda cue: self.episodic.by_topic(
                cue, recipes.by_topic.limit, self._helper(), threshold=floor("by_topic"), spans=within(cue)
            ),
            "profile": profile,
            "entities": lambda cue: [(hit, "") for hit in associated(cue)],
            "lore": lambda cue: [(hit, "") for hit in self.book().near(
                self._judged(cue), cue.clause_vectors, scan_depth=agent.scan_depth, threshold=floor("lore"),
            )],
        }  # fmt: skip
        former = Recipe(
            touch.FORMER, "core",
            lambda cue: touch.former(cue, self.core.former, lambda: over(cue)), touch.FIRST,
            limit=min(touch.MOST_FORMER, agent.core_top_k),
        )  # fmt: skip
        surely = floor("stream") + touch.SURELY * (1 - floor("stream"))
        understood = Recipe(
            "understood", "diary", lambda cue: self.episodic.understood(cue, threshold=surely, spans=within(cue)),
            limit=MOST_UNDERSTOOD,
        )  # fmt: skip
        fixed = [former] * agent.is_core_mem + [understood] * (agent.long_memory and recipes.events.enabled)
        return [*self.whatever_ranks(low=low), *fixed] + [
            Recipe(
                name, LAYERS[name], runs[name], settings.weight, settings.limit + MORE * (several and name == "events")
            )
            for name, settings in recipes.items()
            if settings.enabled and on[LAYERS[name]]
        ]

    def _judged(self, cue: Cue) -> list[Judgement]:
        return cue.once("book", lambda: self.book().judged(cue.text, cue.scene))

    def threshold(self, recipe: str, brings_up: str = "") -> float:
        """The least score of a recipe: the configured one, else the one that was fitted to the serving embedding model,
        else the model's own, moved by ``recall.brings_up`` (or, to try it, by another).
        """
        config = self.config()
        if (configured := config.threshold(recipe)) is not None:
            return configured
        if recipe == "entities":
            return ASSOCIATED
        serving = self.dense.serving
        own = config.embedding.fitted.get(serving.fingerprint, serving.thresholds) if serving else DEFAULT_THRESHOLDS
        floor: float = getattr(own, LAYERS[recipe])
        return floor + DIAL[brings_up or config.recall.brings_up][0] * (1 - floor)

    def _helper(self) -> TopicHelper | None:
        """A model that is asked about topics before the reply: an option, off by default."""
        options = self.config().recall.topics
        model = self.model()
        if not (options.cues_by_model or options.evaluator) or not model.understands:
            return None
        return TopicHelper(model, self.prompts, options)

    def unanswered(self, cue: Cue) -> list[Span]:
        """The spans that are asked for and hold nothing about the matter, where other days do."""
        spans = asked_spans(cue) if self.config().Agent.long_memory else []
        return [] if spans and self.diary.required_spans(cue, self.threshold("events")) else spans

    @property
    def patience_s(self) -> float:
        """How much time a model that is asked before the reply may take beside the recipes' own deadline."""
        helper = self._helper() if self.config().recall.recipes.by_topic.enabled else None
        if helper is None:
            return 0.0
        questions = helper.options.cues_by_model + helper.options.evaluator
        return helper.options.timeout_s * questions
