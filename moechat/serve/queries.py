"""The routes of seed 004: ``/query``, ``/query_simple``, ``/expand_words``. They touch nothing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from moechat.compat import query as answers
from moechat.serve.agents import Agents, last_reply

MAX_TEXT = 4000
MAX_NAME = 200


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; write what is to be looked for")
    return text


Text = Annotated[str, Field(strict=True, max_length=MAX_TEXT)]
Said = Annotated[Text, AfterValidator(_said)]
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

    query: Said
    limit: Annotated[int, Field(strict=True, ge=1, le=100)] = 5
    score_threshold: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    version: Literal["v18", "v22", "v23", "v23_es"] = "v23_es"
    previous_reply: Text | None = None


class Expand(Whose):
    """``logic_type`` is the strategy; ``filter_values`` are levels to leave out, [0] for none."""

    sentence: Said
    chinese_rd_count: Annotated[int, Field(strict=True, ge=1, le=500)] = 100
    logic_type: Literal["first", "second"] = "first"
    filter_values: Annotated[list[Annotated[int, Field(strict=True, ge=0, le=12)]], Field(max_length=13)] = [0]


def router(agents: Agents) -> APIRouter:
    """The routes over the agents."""
    routes = APIRouter()

    @routes.post("/query")
    def query(asked: Query) -> dict[str, Any]:
        return _answer(agents, asked)

    @routes.post("/query_simple")
    def query_simple(asked: Query) -> dict[str, Any]:
        return answers.contents(_answer(agents, asked))

    @routes.post("/expand_words")
    def expand_words(asked: Expand) -> dict[str, Any]:
        with agents.lent(asked.character, asked.user) as agent:
            return answers.expand_words(
                agent.layers.entities, asked.sentence, count=asked.chinese_rd_count, strategy=asked.logic_type,
                filter_values=asked.filter_values,
            )  # fmt: skip

    return routes


def _answer(agents: Agents, asked: Query) -> dict[str, Any]:
    with agents.lent(asked.character, asked.user) as agent:
        previous = last_reply(agent) if asked.previous_reply is None else asked.previous_reply
        return answers.query(
            agent.layers, asked.query, limit=asked.limit, score_threshold=asked.score_threshold, version=asked.version,
            previous_reply=previous,
        )  # fmt: skip
