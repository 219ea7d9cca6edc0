"""Rolling and selecting of seed 002 (Partner): rounds that leave a dialogue become units with slices, and cues bring them back.

    registry, runtime = AfterRollingRegistry(), MemoryRuntime(clock=…)
    registry.register("recall", MemoryRecallProfileExtractor(runtime))
    DialogRolling(registry).add("昨天和阿杰去吃了火锅", "听起来不错", at)      # rolls at twenty rounds
    MemorySelector(runtime).block("说说那次火锅")                          # <activated_memory_slices> …

Rolling is ``understanding.roll.due``, topics without a model ``rules.topics``, questions to a model ``ai.topic_model``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Literal

from moechat.ai import topic_model
from moechat.ai.chat_model import ChatModel
from moechat.compat.partner import (
    ActivatedMemorySlice,
    DateMemoryIndex,
    MemoryRuntime,
    MemoryRuntimeStateCodec,
    MemorySlice,
    MemoryUnit,
    SliceRef,
    TopicBinding,
    TopicMemoryIndex,
    TopicRecallCollector,
    TopicRecallScorer,
)
from moechat.cue import Cue
from moechat.errors import DataError, ModelError
from moechat.language.words import count_tokens
from moechat.memory.topic_cues import TopicNames, by_table, surest
from moechat.model import ActivationProfile, Event, Exchange, Message
from moechat.rules import activation
from moechat.rules import reading as rules
from moechat.rules import topics as topic_rules
from moechat.settings.prompts import Prompts
from moechat.settings.schema import RollSettings
from moechat.topic_path import topic_path as normalised
from moechat.understanding import extraction
from moechat.understanding.roll import due

__all__ = [
    "ActivatedMemorySlice", "ActivationProfile", "AfterRollingRegistry", "DateMemoryIndex", "DialogRolling",
    "ExtractorResult", "Match", "MemoryRecallCueExtractor", "MemoryRecallEvaluator", "MemoryRecallProfileExtractor",
    "MemoryRuntime", "MemoryRuntimeStateCodec", "MemorySelector", "MemorySlice", "MemoryUnit", "RecallProfile",
    "RollingResult", "SliceRef", "TopicBinding", "TopicMemoryIndex", "TopicRecallCollector", "TopicRecallScorer",
    "activated_memory_slices",
]  # fmt: skip

log = logging.getLogger(__name__)

BLOCK = "activated_memory_slices"
BLOCK_TOKENS = 1500
SUMMARY_CHARS = 200
SHORT_MESSAGE_CHARS = 60
MAX_RELATED_BY_RULES = 2
MAX_CUE_DAYS = 7  # A time expression that spans more days is no cue.
TIMEOUT_S = 15.0
NAMES = ("用户", "角色")  # Who talks, for a model that finds topics.


@dataclass(frozen=True, slots=True)
class RollingResult:
    """The result of one roll: a unit, and the numbers of its first and last round, counted from 1."""

    unit: MemoryUnit
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RecallProfile:
    """Where a slice belongs and how readily it comes to mind."""

    topic_path: str
    related_topic_paths: tuple[str, ...]
    profile: ActivationProfile


@dataclass(frozen=True, slots=True)
class Match:
    """A cue: a topic path, or a day as text."""

    type: Literal["TOPIC", "DATE"]
    text: str


@dataclass(frozen=True, slots=True)
class ExtractorResult:
    matches: tuple[Match, ...] = ()


# ---- rolling

Consumer = Callable[[RollingResult], object]


class AfterRollingRegistry:
    """Consumers of rolled units. One that fails does not keep the others from running."""

    def __init__(self) -> None:
        self._consumers: dict[str, Consumer] = {}

    def register(self, name: str, consumer: Consumer) -> None:
        """A consumer of this name that is there already is replaced, and keeps its place in the order."""
        self._consumers[name] = consumer

    def run(self, result: RollingResult) -> dict[str, Exception]:
        """Run all in the order of registration. Returns the errors of those that failed; their tracebacks are logged."""
        failed: dict[str, Exception] = {}
        for name, consumer in list(self._consumers.items()):
            try:
                consumer(result)
            except Exception as error:
                log.exception("the consumer %s failed on unit %s", name, result.unit.id)
                failed[name] = error
        return failed


class DialogRolling:
    """The rounds in the context. At twenty rounds the oldest ten leave it, at a change of scene or after an idle hour all
    (``understanding.roll.due``, as for seed 004). Rounds are counted; their text is never compared.
    """

    def __init__(self, registry: AfterRollingRegistry, settings: RollSettings | None = None) -> None:
        self._registry, self._settings = registry, settings or RollSettings()
        self._rounds: list[Exchange] = []
        self._first = 1  # This is the number of the first round that is still held.

    @property
    def rounds(self) -> list[int]:
        """The numbers of the rounds that are still held."""
        return list(range(self._first, self._first + len(self._rounds)))

    def add(self, user: str, char: str, at: datetime, *, scene_changed: bool = False) -> RollingResult | None:
        """Take in one round. Returns what leaves because of it, if anything."""
        number = self._first + len(self._rounds)
        self._rounds.append(Exchange(f"unit-{number}", at, user, char))
        return self._roll(scene_changed=scene_changed)

    def tick(self, now: datetime) -> RollingResult | None:
        """After ``idle_understand_h`` hours of silence everything leaves."""
        if not self._rounds:
            return None
        idle_h = (now - self._rounds[-1].at) / timedelta(hours=1)
        return self._roll(scene_changed=idle_h >= self._settings.idle_understand_h)

    def _roll(self, *, scene_changed: bool) -> RollingResult | None:
        held = [exchange.id for exchange in self._rounds]
        work = due(held, held, self._settings, scene_changed=scene_changed)
        if not work.cut_after:
            return None
        cut = held.index(work.cut_after) + 1
        leaving, self._rounds = self._rounds[:cut], self._rounds[cut:]
        first, last = self._first, self._first + cut - 1
        self._first += cut
        result = RollingResult(_unit_of(f"unit-{first}-{last}", leaving), first, last)
        self._registry.run(result)
        return result


def _unit_of(id_: str, exchanges: Sequence[Exchange]) -> MemoryUnit:
    """A unit of rounds, cut into slices where the topic turns (by rules; a round without a topic stays with those before)."""
    messages = [message for e in exchanges for message in (Message("user", e.user), Message("assistant", e.char))]
    topics: list[str] = []
    for exchange in exchanges:
        path = next(iter(topic_rules.paths_in(exchange.user)), topics[-1] if topics else "")
        topics.append(path.partition("->")[0])
    slices: list[MemorySlice] = []
    for _, group in groupby(range(len(exchanges)), key=topics.__getitem__):
        places = list(group)
        summary = "；".join(rules.understand(exchanges[i]).tags[exchanges[i].id] for i in places)[:SUMMARY_CHARS]
        at, start, end = exchanges[places[0]].at, 2 * places[0], 2 * places[-1] + 2
        slices.append(MemorySlice(f"{id_}.{len(slices) + 1}", summary, at, start, end))
    return MemoryUnit(id_, tuple(messages), tuple(slices))


class MemoryRecallProfileExtractor:
    """Finds the topic of a slice: by one call of a model that understands, else by rules.

    The profile is corrected as seed 002 has it. None where the model failed: such a slice is found by its date only.
    """

    def __init__(self, runtime: MemoryRuntime, model: ChatModel | None = None, prompts: Prompts | None = None) -> None:
        self._runtime, self._model, self._prompts = runtime, model, prompts

    def extract(self, unit: MemoryUnit, slice_: MemorySlice) -> RecallProfile | None:
        messages = unit.of(slice_)
        if self._model is not None and self._prompts is not None and self._model.understands:
            event = self._asked(self._model, self._prompts, slice_, messages)
        else:
            event = self._by_rules(slice_, messages)
        if event is None:
            return None
        path = normalised(event.topic)
        related = tuple(one for one in dict.fromkeys(map(normalised, event.related)) if one and one != path)
        return RecallProfile(path, related, activation.corrected(event.profile, related, len(messages)))

    def __call__(self, result: RollingResult) -> None:
        """As a consumer of rolling: every slice enters the runtime, by its date at least."""
        for slice_ in result.unit.slices:
            recall = self.extract(result.unit, slice_) or RecallProfile("", (), activation.DEFAULT)
            topic = (recall.topic_path, recall.related_topic_paths, recall.profile)
            self._runtime.record_memory(result.unit, slice_, *topic)

    def _by_rules(self, slice_: MemorySlice, messages: Sequence[Message]) -> Event:
        text = " ".join(message.content for message in messages if message.role == "user") or slice_.summary
        path = topic_rules.path_for(Event(text, (slice_.id,)), self._runtime.topics.tree)
        others = [other for other in topic_rules.paths_in(text) if other.partition("->")[0] != path.partition("->")[0]]
        return Event(text, (slice_.id,), topic=path, related=tuple(others[:MAX_RELATED_BY_RULES]))

    def _asked(
        self, model: ChatModel, prompts: Prompts, slice_: MemorySlice, messages: Sequence[Message]
    ) -> Event | None:
        exchanges: list[Exchange] = []
        for is_reply, run in groupby(messages, key=lambda message: message.role == "assistant"):
            text = "\n".join(message.content for message in run)
            if is_reply and exchanges:
                exchanges[-1] = Exchange(exchanges[-1].id, slice_.timestamp, exchanges[-1].user, text)
            else:
                sides = ("", text) if is_reply else (text, "")
                exchanges.append(Exchange(f"{slice_.id}.{len(exchanges)}", slice_.timestamp, *sides))
        try:
            understood = extraction.understand(
                model, exchanges, names=NAMES, now=slice_.timestamp, prompts=prompts,
                topics=self._runtime.get_topic_tree(), timeout_s=TIMEOUT_S,
            )  # fmt: skip
        except (ModelError, DataError) as error:
            log.warning("the topic of slice %s was not found: %s", slice_.id, error)
            return None
        return max((e for e in understood.events if e.topic), key=lambda e: e.importance, default=None)


# ---- selecting


class MemoryRecallCueExtractor:
    """Cues by words and time expressions, or by one call of a model. Where the model fails, words serve."""

    def __init__(self, runtime: MemoryRuntime, model: ChatModel | None = None, prompts: Prompts | None = None) -> None:
        self._runtime, self._model, self._prompts = runtime, model, prompts
        self._names = TopicNames()

    def extract(self, text: str, now: datetime) -> ExtractorResult:
        if self._model is not None and self._prompts is not None:
            try:
                tree = self._runtime.get_topic_tree()
                cues = topic_model.cues(self._model, self._prompts, tree=tree, text=text, now=now, timeout_s=TIMEOUT_S)
                return _matches(cues.topics, cues.dates)
            except (ModelError, DataError) as error:
                log.warning("no cues from the model, words serve: %s", error)
        return self._by_words(Cue(text, now))

    def _by_words(self, cue: Cue) -> ExtractorResult:
        tree = self._runtime.topics.tree
        led = surest([*self._names.led(tree, cue), *by_table(tree, cue)])
        days = [
            span.start.date() + timedelta(days=i)
            for span in cue.spans
            if (span.end.date() - span.start.date()).days < MAX_CUE_DAYS
            for i in range((span.end.date() - span.start.date()).days + 1)
        ]
        return _matches([one.path for one in led], days)


def _matches(topics: Sequence[str], days: Sequence[date]) -> ExtractorResult:
    dates = [Match("DATE", day.isoformat()) for day in dict.fromkeys(days)]
    return ExtractorResult((*(Match("TOPIC", path) for path in topics), *dates))


class MemoryRecallEvaluator:
    """Drops slices that do not help, by one call for all. Keeps their order; without a model, or where it fails, keeps all."""

    def __init__(self, model: ChatModel | None = None, prompts: Prompts | None = None) -> None:
        self._model, self._prompts = model, prompts

    def evaluate(self, text: str, slices: Sequence[ActivatedMemorySlice]) -> list[ActivatedMemorySlice]:
        if self._model is None or self._prompts is None or not slices:
            return list(slices)
        shown = [lengths(one)[1] for one in slices]
        try:
            kept = topic_model.helpful(self._model, self._prompts, text=text, slices=shown, timeout_s=TIMEOUT_S)
        except (ModelError, DataError) as error:
            log.warning("the slices were not evaluated, all are kept: %s", error)
            return list(slices)
        return [slices[i] for i in kept]


class MemorySelector:
    """Input → cues → both indexes → evaluator → the slices for the prompt."""

    def __init__(
        self, runtime: MemoryRuntime, cues: MemoryRecallCueExtractor | None = None,
        evaluator: MemoryRecallEvaluator | None = None,
    ) -> None:  # fmt: skip
        self._runtime = runtime
        self._cues, self._evaluator = cues or MemoryRecallCueExtractor(runtime), evaluator or MemoryRecallEvaluator()

    def select(self, text: str) -> list[ActivatedMemorySlice]:
        """The slices that a message brings to mind, those of the first cue first, each once."""
        slices = self.recall(self._cues.extract(text, self._runtime.clock.now()))
        return self._evaluator.evaluate(text, slices)

    def recall(self, cues: ExtractorResult) -> list[ActivatedMemorySlice]:
        """The slices that the cues lead to. A cue with a malformed date is skipped."""
        recalled: dict[SliceRef, ActivatedMemorySlice] = {}
        for match in cues.matches:
            try:
                slices = (
                    self._runtime.query_by_topic_path(match.text)
                    if match.type == "TOPIC"
                    else self._runtime.query_by_date(match.text)
                )
            except ValueError as error:
                log.warning("a cue was passed over: %s", error)
                continue
            for slice_ in slices:
                recalled.setdefault(slice_.ref, slice_)
        return list(recalled.values())

    def block(self, text: str, budget: int = BLOCK_TOKENS) -> str:
        return activated_memory_slices(self.select(text), budget)


def lengths(slice_: ActivatedMemorySlice) -> tuple[str, str, str]:
    """A slice for a prompt in three lengths: with its messages, with shortened messages, with date and summary alone."""
    head = f"[{slice_.date.isoformat()}] {slice_.summary}"
    full = "\n".join([head, *(_line(message, message.content) for message in slice_.messages)])
    short = "\n".join([head, *(_line(message, _shortened(message.content)) for message in slice_.messages)])
    return full, short, head


def activated_memory_slices(slices: Sequence[ActivatedMemorySlice], budget: int = BLOCK_TOKENS) -> str:
    """The prompt block, within ``budget`` tokens; "" without slices.

    Each slice has the longest of its three lengths that still leaves the later ones their shortest.
    """
    forms = [lengths(slice_) for slice_ in slices]
    least = [count_tokens(short) for *_, short in forms]
    left = budget
    chosen: list[str] = []
    for i, form in enumerate(forms):
        reserved = sum(least[i + 1 :])
        fits = next((text for text in form if count_tokens(text) <= left - reserved), None)
        fits = fits or (form[-1] if least[i] <= left else None)
        if fits is not None:
            chosen.append(fits)
            left -= count_tokens(fits)
    return f"<{BLOCK}>\n" + "\n\n".join(chosen) + f"\n</{BLOCK}>" if chosen else ""


def _line(message: Message, text: str) -> str:
    return f"{message.role}: {' '.join(text.split())}"


def _shortened(text: str) -> str:
    return text if len(text) <= SHORT_MESSAGE_CHARS else f"{text[:SHORT_MESSAGE_CHARS]}…"
