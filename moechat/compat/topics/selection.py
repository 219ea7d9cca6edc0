"""Selecting (seed 002): cues from a message, slices by topic and by date, an evaluator, and the block for the prompt."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from moechat.ai import topic_model
from moechat.ai.chat_model import ChatModel
from moechat.compat.topics.runtime import ActivatedMemorySlice, MemoryRuntime, SliceRef
from moechat.cue import Cue
from moechat.errors import DataError, ModelError
from moechat.language.words import count_tokens
from moechat.memory.topic_cues import TopicNames, by_table, surest
from moechat.model import Message
from moechat.settings.prompts import Prompts

log = logging.getLogger(__name__)
BLOCK = "activated_memory_slices"
TIMEOUT_S = 15.0
SHORT_CHARS = 60
MOST_DAYS = 7
BUDGET = 1500  # The block has at most this many tokens.


@dataclass(frozen=True, slots=True)
class Match:
    """A cue: a topic path, or a day as text."""

    type: Literal["TOPIC", "DATE"]
    text: str


@dataclass(frozen=True, slots=True)
class ExtractorResult:
    matches: tuple[Match, ...] = ()


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
            if (span.end.date() - span.start.date()).days < MOST_DAYS
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

    def block(self, text: str, budget: int = BUDGET) -> str:
        return activated_memory_slices(self.select(text), budget)


def lengths(slice_: ActivatedMemorySlice) -> tuple[str, str, str]:
    """A slice for a prompt in three lengths: with its messages, with shortened messages, with date and summary alone."""
    head = f"[{slice_.date.isoformat()}] {slice_.summary}"
    full = "\n".join([head, *(_line(message, message.content) for message in slice_.messages)])
    short = "\n".join([head, *(_line(message, _shortened(message.content)) for message in slice_.messages)])
    return full, short, head


def activated_memory_slices(slices: Sequence[ActivatedMemorySlice], budget: int = BUDGET) -> str:
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
    return text if len(text) <= SHORT_CHARS else f"{text[:SHORT_CHARS]}…"
