"""The routes of seed 004: ``/query``, ``/query_simple``, ``/expand_words``. They touch nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from moechat.serve.agents import Agents

MAX_TEXT = 4000
MAX_NAME = 200


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write what is to be looked for")
    return text


Text = Annotated[str, Field(strict=True, max_length=MAX_TEXT)]
NonEmptyText = Annotated[Text, AfterValidator(_not_empty)]
Name = Annotated[str, Field(strict=True, max_length=MAX_NAME)]


class Whose(BaseModel):
    """Whose memory is asked: without a character the configured one, without a user the owner of its folder."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    character: Name | None = None
    user: Name | None = None


class Query(Whose):
    """``previous_reply`` is what the character said last (default: as the talk in memory has it; "" for none).

    ``score_threshold`` holds for events; without it the embedding model's own floor does.
    """

    query: NonEmptyText
    limit: Annotated[int, Field(strict=True, ge=1, le=100)] = 5
    score_threshold: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    version: Literal["v18", "v22", "v23", "v23_es"] = "v23_es"
    previous_reply: Text | None = None


class Expand(Whose):
    """``logic_type`` is the strategy; ``filter_values`` are levels to leave out, [0] for none."""

    sentence: NonEmptyText
    chinese_rd_count: Annotated[int, Field(strict=True, ge=1, le=500)] = 100
    logic_type: Literal["first", "second"] = "first"
    filter_values: Annotated[list[Annotated[int, Field(strict=True, ge=0, le=12)]], Field(max_length=13)] = [0]


def router(agents: Agents) -> APIRouter:
    """The routes over the agents."""
    routes = APIRouter()

    @routes.post("/query")
    def query(question: Query) -> dict[str, Any]:
        return _answer(agents, question)

    @routes.post("/query_simple")
    def query_simple(question: Query) -> dict[str, Any]:
        return contents(_answer(agents, question))

    @routes.post("/expand_words")
    def expand_words(question: Expand) -> dict[str, Any]:
        with agents.lent(question.character, question.user) as agent:
            return agent.expand_words(
                question.sentence, count=question.chinese_rd_count, strategy=question.logic_type,
                filter_values=question.filter_values,
            )  # fmt: skip

    return routes


def _answer(agents: Agents, question: Query) -> dict[str, Any]:
    with agents.lent(question.character, question.user) as agent:
        previous = agent.last_reply() if question.previous_reply is None else question.previous_reply
        return agent.query(
            question.query, limit=question.limit, score_threshold=question.score_threshold, version=question.version,
            previous_reply=previous,
        )  # fmt: skip


def contents(answer: dict[str, Any]) -> dict[str, list[str]]:
    """The answer of ``/query_simple``: what is remembered, without scores and words."""
    return {name: [row["description"] for row in answer[name]] for name in ("memory_events", "memory_entities")}
