"""The memory stream of seed 001 under its own names, over MoeChat's scores, reflection and embedding.

    from moechat import memory_stream
    memory_stream.configure(embedder=…, chat_model=…, clock=…)   # once; each may be left out

Without an embedder the built-in one is used, without a chat model importance is rated by rules and reflection raises
ModelError, without a clock the system's. Timestamps may be naive (they are local then) or aware. Importance and vectors
are computed when they are first needed; a query never costs a rating. Not safe for several threads at once.

A score is alpha_recency · recency + alpha_importance · importance + alpha_relevance · relevance, with
recency = decay_factor ^ seconds since the last access and relevance = cosine, both min-max to [0, 1].
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from types import EllipsisType

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from moechat.ai.chat_model import ChatModel
from moechat.ai.embedding import BuiltinEmbedder
from moechat.clock import Clock
from moechat.compat import comparison
from moechat.errors import EmbeddingError, ModelError
from moechat.memory import stream
from moechat.model import Embedder
from moechat.rules import importance as rating
from moechat.settings.home import defaults_folder
from moechat.settings.prompts import Prompts
from moechat.understanding import consultation as asking
from moechat.understanding.consultation import Consultation, Insight, Statement
from moechat.worker import lazy

__all__ = [
    "Memory", "MemoryStream", "Reflection", "condense_insights", "configure", "generate_insight", "generate_reflection",
    "parse_insights",
]  # fmt: skip

log = logging.getLogger(__name__)

UNRATED = 0.5  # A memory has this importance where the model's rating holds no number.
RELEVANT = "relevance > 0.5"
RETRIEVED = ("description", "importance", "recency", "relevance", "pointer", "score")
COMPARABLE = RETRIEVED[1:]
KEPT = (
    "description", "importance", "creation_timestamp", "most_recent_access_timestamp", "memory_type", "embedding_vector",
)  # fmt: skip
KINDS: Mapping[str, str] = {
    "o": "observation", "observation": "observation", "r": "reflection", "reflection": "reflection",
    "p": "plan", "plan": "plan",
}  # fmt: skip


@dataclass
class Configuration:
    """What every stream uses; ``configure`` sets it."""

    embedder: Embedder | None = None
    chat_model: ChatModel | None = None
    clock: Clock | None = None
    language: str = "en"
    timeout_s: float = 60.0


_configuration = Configuration()


def configure(
    *,
    embedder: Embedder | EllipsisType | None = ...,
    chat_model: ChatModel | EllipsisType | None = ...,
    clock: Clock | EllipsisType | None = ...,
    language: str | EllipsisType = ...,
    timeout_s: float | EllipsisType = ...,
) -> None:
    """Set what every stream uses from now on. What is left out stays; None restores the default (see the module).

    ``language`` chooses the prompts (``en``, the default: the seed's own; ``zh``), ``timeout_s`` (60) is per call.
    """
    values = {
        "embedder": embedder, "chat_model": chat_model, "clock": clock, "language": language, "timeout_s": timeout_s,
    }  # fmt: skip
    for name, value in values.items():
        if value is not ...:
            setattr(_configuration, name, value)


@dataclass(eq=False, repr=False)
class Memory:
    """One observation, reflection or plan; ``memory_type`` is kept as it was written, ``kind`` is what it means."""

    description: str
    creation_timestamp: datetime
    most_recent_access_timestamp: datetime
    memory_type: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description!r}, {self.creation_timestamp!r}, {self.memory_type!r})"

    @property
    def kind(self) -> str:
        """``observation``, ``reflection`` or ``plan``, whether the type was written out or as one letter."""
        return KINDS.get(self.memory_type.casefold(), self.memory_type)

    @lazy
    def importance(self) -> float:
        """0.1 … 1, rated once, at its first use; may be set."""
        return self.generate_importance_score(self.description)

    @lazy
    def embedding_vector(self) -> np.ndarray:
        """(dim,), embedded once, at its first use; may be set."""
        return self.generate_embedding_vector(self.description)

    def generate_embedding_vector(self, input_text: str) -> np.ndarray:
        """(dim,) float32, unit length. Raises EmbeddingError."""
        vector: np.ndarray = embedder().embed([input_text])[0]
        return vector

    def generate_importance_score(self, input_text: str) -> float:
        """0.1 … 1 by the chat model, or by rules without one. Raises ModelError as the model does."""
        if _configuration.chat_model is None:
            return rating.rate(input_text)
        score = consultation().rating(input_text)
        if score is None:
            log.warning("the model's rating holds no number; %r is taken as %s", input_text[:80], UNRATED)
        return UNRATED if score is None else score


class Reflection(Memory):
    """An insight; ``pointers`` are the places in ``memories`` of what it rests on."""

    def __init__(
        self,
        description: str,
        creation_timestamp: datetime,
        most_recent_access_timestamp: datetime,
        pointers: list[int],
    ) -> None:
        super().__init__(description, creation_timestamp, most_recent_access_timestamp, "reflection")
        self.pointers = pointers


@dataclass(eq=False, repr=False)
class MemoryStream:
    """All memories in the order in which they were added; ``context_window_size`` is the k of top k."""

    memories: list[Memory]
    alpha_recency: float
    alpha_importance: float
    alpha_relevance: float
    decay_factor: float
    context_window_size: int

    def add_memory(self, memory: Memory) -> None:
        self.memories.append(memory)

    def retrieve_memories(self, query_memory: Memory, filter_statement: str | None = None) -> pd.DataFrame:
        """The best memories for a query, best first, ``context_window_size`` at most; those returned count as accessed now.

        Recency and relevance are shown normalised, and ``filter_statement`` compares what is shown; ``pointer`` is the
        place in ``memories``. Raises FilterError for a statement that ``compat.comparison`` cannot read.
        """
        condition = comparison.parse(filter_statement, COMPARABLE) if filter_statement is not None else None
        now = _now()
        columns = self._scored(query_memory, now)
        places = np.arange(len(self.memories))
        if condition is not None:
            places = places[condition(columns)]
        best = places[stream.order(columns["score"][places], self.context_window_size)]
        memories = [self.memories[place] for place in best.tolist()]
        for memory in memories:
            memory.most_recent_access_timestamp = _like(memory.most_recent_access_timestamp, now)
        described = pd.Series([memory.description for memory in memories], dtype=object)
        numbers = {name: values[best] for name, values in columns.items()}
        return pd.DataFrame({"description": described, **numbers}, columns=list(RETRIEVED))

    def get_memory_df(self) -> pd.DataFrame:
        """Every memory, in order; those that have no importance or vector yet get theirs."""
        self._embed_missing()
        rows = [[getattr(memory, name) for name in KEPT] for memory in self.memories]
        return pd.DataFrame(rows, columns=list(KEPT))

    def _scored(self, query: Memory, now: datetime) -> dict[str, np.ndarray]:
        """The numbers of every memory, (n,) each."""
        self._embed_missing()
        vectors = [memory.embedding_vector for memory in self.memories]
        accessed = [memory.most_recent_access_timestamp.timestamp() for memory in self.memories]
        scored = stream.scores(
            stream.recency_by_age(accessed, now.timestamp(), self.decay_factor, 1.0),
            stream.cosine(np.array(vectors, dtype=np.float64), query.embedding_vector) if vectors else [],
            [memory.importance for memory in self.memories],
            stream.ScoreWeights(self.alpha_recency, self.alpha_relevance, self.alpha_importance),
            normalise_importance=False,
        )
        return {
            "importance": scored.importance,
            "recency": scored.recency,
            "relevance": scored.relevance,
            "pointer": np.arange(len(self.memories)),
            "score": scored.score,
        }

    def _embed_missing(self) -> None:
        """Many texts by one call: an endpoint that is asked for each alone takes minutes."""
        usual = Memory.generate_embedding_vector
        missing = [
            m for m in self.memories if "embedding_vector" not in vars(m) and type(m).generate_embedding_vector is usual
        ]
        if len(missing) > 1:
            for memory, vector in zip(missing, embedder().embed([m.description for m in missing]), strict=True):
                memory.embedding_vector = vector


def parse_insights(insight_responses: str) -> list[Insight]:
    """(insight, numbers it cites) from a model's list: see :func:`moechat.understanding.consultation.parse_insights`."""
    return asking.parse_insights(insight_responses)


def condense_insights(insight_list: str) -> str:
    """Insights as text, brought down to five at most by the model. Raises ModelError."""
    return consultation().condensed(insight_list)


def generate_insight(
    memory_stream: MemoryStream, context_window: int, threshold: float
) -> tuple[list[str], list[list[Insight]]]:
    """Three questions about the last ``context_window`` memories, and for each the insights that the stream holds.

    ``([], [])`` where the importance of those memories sums to less than ``threshold``. An insight is (text, places in
    ``memories`` that it cites); a question without relevant memories has none. Raises ModelError.
    """
    first = max(len(memory_stream.memories) - max(context_window, 0), 0)
    recent = [(place, memory_stream.memories[place]) for place in range(first, len(memory_stream.memories))]
    if not recent or sum(memory.importance for _, memory in recent) < threshold - comparison.TOLERANCE:
        return [], []
    adviser = consultation()
    questions = adviser.questions([(place, memory.description) for place, memory in recent])
    return questions, [_insights(adviser, memory_stream, question) for question in questions]


def generate_reflection(memory_stream: MemoryStream, insights_list: Iterable[Iterable[Insight]]) -> MemoryStream:
    """The same stream with a Reflection for every insight. Evidence that is not in the stream is dropped; an insight that
    has no other evidence is left out."""
    existing = range(len(memory_stream.memories))
    for text, evidence in chain.from_iterable(insights_list):
        pointers = [place for place in dict.fromkeys(evidence) if place in existing]
        if not pointers:
            log.warning("an insight was left out: none of its evidence %s is there: %r", list(evidence), text[:80])
            continue
        now = _like(memory_stream.memories[pointers[0]].creation_timestamp, _now())
        memory_stream.add_memory(Reflection(text, now, now, pointers))
    return memory_stream


def _insights(adviser: Consultation, memories: MemoryStream, question: str) -> list[Insight]:
    """The insights of the memories that are relevant to a question, condensed unless the condensation cannot be read."""
    now = _now()
    relevant = memories.retrieve_memories(Memory(question, now, now, "observation"), RELEVANT)
    statements: list[Statement] = list(zip(relevant["pointer"].tolist(), relevant["description"].tolist(), strict=True))
    if not statements:
        return []
    answer = adviser.insights(statements, question)
    condensed = parse_insights(adviser.condensed(answer)) if answer.strip() else []
    return (condensed or parse_insights(answer))[: asking.INSIGHTS]


def embedder() -> Embedder:
    """The configured one, or the built-in. Raises EmbeddingError."""
    if _configuration.embedder is None:
        try:
            _configuration.embedder = BuiltinEmbedder()
        except EmbeddingError as error:
            raise EmbeddingError(f"{error}, or give another with moechat.memory_stream.configure(embedder=…)") from None
    return _configuration.embedder


def consultation() -> Consultation:
    """Asks the configured chat model. Raises ModelError where there is none."""
    if _configuration.chat_model is None:
        raise ModelError("other", "reflection needs a chat model: moechat.memory_stream.configure(chat_model=…)")
    prompts = Prompts([defaults_folder() / "prompts"], _configuration.language)
    return Consultation(_configuration.chat_model, prompts, _configuration.timeout_s)


def _now() -> datetime:
    """The present, aware."""
    return _configuration.clock.now() if _configuration.clock is not None else datetime.now().astimezone()


def _like(moment: datetime, now: datetime) -> datetime:
    """``now``, written as ``moment`` is: naive local, or aware."""
    return now.astimezone().replace(tzinfo=None) if moment.tzinfo is None else now.astimezone(moment.tzinfo)
