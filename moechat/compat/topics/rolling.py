"""Rolling (seed 002): rounds that leave the dialogue become a unit with slices, which consumers are handed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from moechat.ai.chat_model import ChatModel
from moechat.compat.topics.runtime import MemoryRuntime, MemorySlice, MemoryUnit
from moechat.errors import DataError, ModelError
from moechat.model import ActivationProfile, Event, Exchange, Message
from moechat.rules import reading as rules
from moechat.rules import topics as topic_rules
from moechat.rules.activation import corrected
from moechat.settings.prompts import Prompts
from moechat.settings.schema import RollSettings
from moechat.topic_path import topic_path
from moechat.understanding import extraction
from moechat.understanding.roll import due

log = logging.getLogger(__name__)
SUMMARY_CHARS = 200
MOST_RELATED = 2
TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class RollingResult:
    """The result of one roll: a unit, and the numbers of its first and last round, counted from 1."""

    unit: MemoryUnit
    first: int
    last: int


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

    def __init__(
        self, registry: AfterRollingRegistry, settings: RollSettings | None = None, *, name: str = "unit"
    ) -> None:
        self._registry, self._settings, self._name = registry, settings or RollSettings(), name
        self._rounds: list[Exchange] = []
        self._first = 1  # This is the number of the first round that is still held.

    @property
    def rounds(self) -> list[int]:
        """The numbers of the rounds that are still held."""
        return list(range(self._first, self._first + len(self._rounds)))

    def add(self, user: str, char: str, at: datetime, *, scene_changed: bool = False) -> RollingResult | None:
        """Take in one round. Returns what leaves because of it, if anything."""
        number = self._first + len(self._rounds)
        self._rounds.append(Exchange(f"{self._name}-{number}", at, user, char))
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
        result = RollingResult(unit_of(f"{self._name}-{first}-{last}", leaving), first, last)
        self._registry.run(result)
        return result


def unit_of(id_: str, exchanges: Sequence[Exchange]) -> MemoryUnit:
    """A unit of rounds, cut into slices where the topic turns (by rules; a round without a topic stays with those before)."""
    messages = [Message(role, text) for e in exchanges for role, text in (("user", e.user), ("assistant", e.char))]  # type: ignore[arg-type]
    topics: list[str] = []
    topic = ""
    for exchange in exchanges:
        topic = next(iter(topic_rules.paths_in(exchange.user)), topic)
        topics.append(topic)
    slices: list[MemorySlice] = []
    for _, group in groupby(range(len(exchanges)), key=lambda i: topics[i].partition("->")[0]):
        places = list(group)
        summary = "；".join(rules.understand(e).tags[e.id] for e in exchanges[places[0] : places[-1] + 1])[
            :SUMMARY_CHARS
        ]
        at, start, end = exchanges[places[0]].at, 2 * places[0], 2 * places[-1] + 2
        slices.append(MemorySlice(f"{id_}.{len(slices) + 1}", summary, at, start, end))
    return MemoryUnit(id_, tuple(messages), tuple(slices))


@dataclass(frozen=True, slots=True)
class RecallProfile:
    """Where a slice belongs and how readily it comes to mind."""

    topic_path: str
    related_topic_paths: tuple[str, ...]
    profile: ActivationProfile


class MemoryRecallProfileExtractor:
    """Finds the topic of a slice: by one call of a model that understands, else by rules.

    The profile is corrected as seed 002 has it. None where the model failed: such a slice is found by its date only.
    """

    def __init__(
        self, runtime: MemoryRuntime, model: ChatModel | None = None, prompts: Prompts | None = None, *, user: str = "用户",
        character: str = "角色",
    ) -> None:  # fmt: skip
        self._runtime, self._model, self._prompts = runtime, model, prompts
        self._user, self._character = user, character

    def extract(self, unit: MemoryUnit, slice_: MemorySlice) -> RecallProfile | None:
        messages = unit.of(slice_)
        if self._model is not None and self._prompts is not None and self._model.understands:
            event = self._asked(self._model, self._prompts, slice_, messages)
            if event is None:
                return None
        else:
            event = self._by_rules(slice_, messages)
        path = topic_path(event.topic)
        related = tuple(one for one in dict.fromkeys(map(topic_path, event.related)) if one and one != path)
        return RecallProfile(path, related, corrected(event.profile, related, len(messages)))

    def __call__(self, result: RollingResult) -> None:
        """As a consumer of rolling: every slice enters the runtime, by its date at least."""
        for slice_ in result.unit.slices:
            recall = self.extract(result.unit, slice_)
            if recall is None:
                self._runtime.record_memory(result.unit, slice_)
            else:
                self._runtime.record_memory(
                    result.unit, slice_, recall.topic_path, recall.related_topic_paths, recall.profile
                )

    def _by_rules(self, slice_: MemorySlice, messages: Sequence[Message]) -> Event:
        text = " ".join(message.content for message in messages if message.role == "user") or slice_.summary
        event = Event(text, (slice_.id,))
        path = topic_rules.path_for(event, self._runtime.topics.tree.topics)
        others = [other for other in topic_rules.paths_in(text) if other.partition("->")[0] != path.partition("->")[0]]
        return Event(text, (slice_.id,), topic=path, related=tuple(others[:MOST_RELATED]))

    def _asked(
        self, model: ChatModel, prompts: Prompts, slice_: MemorySlice, messages: Sequence[Message]
    ) -> Event | None:
        try:
            understood = extraction.understand(
                model, _exchanges(slice_, messages), known_facts=(), names=(self._user, self._character),
                now=slice_.timestamp, prompts=prompts, topics=self._runtime.get_topic_tree(), timeout_s=TIMEOUT_S,
            )  # fmt: skip
        except (ModelError, DataError) as error:
            log.warning("the topic of slice %s was not found: %s", slice_.id, error)
            return None
        return max((e for e in understood.events if e.topic), key=lambda e: e.importance, default=None)


def _exchanges(slice_: MemorySlice, messages: Sequence[Message]) -> list[Exchange]:
    """Messages as exchanges: a user's message and the answer to it."""
    exchanges: list[Exchange] = []
    for message in messages:
        if message.role == "assistant" and exchanges and not exchanges[-1].char:
            exchanges[-1] = replace(exchanges[-1], char=message.content)
        else:
            user, char = ("", message.content) if message.role == "assistant" else (message.content, "")
            exchanges.append(Exchange(f"{slice_.id}.{len(exchanges)}", slice_.timestamp, user, char))
    return exchanges
