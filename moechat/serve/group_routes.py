"""The routes of talks of several: ``POST /groups/begin`` and the other verbs over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi import Query as Parameters

from moechat.access.keys import PASS
from moechat.serve.agents import Agents
from moechat.serve.questions import Whose
from moechat.verbs import groups, perform

JsonObject = dict[str, Any]


def router(agents: Agents) -> APIRouter:
    """The routes over the agents."""
    routes = APIRouter(prefix="/groups", tags=["groups"])
    for name, verb in groups.VERBS.items():
        routes.add_api_route(
            f"/{name}", _endpoint(agents, name), methods=["POST"], name=f"groups_{name}", description=verb.about
        )
    return routes


def _endpoint(agents: Agents, name: str) -> Callable[..., JsonObject]:
    """The route of a verb. Of replies it gives ``replies``, when the last has ended."""
    verb = groups.VERBS[name]

    def endpoint(values: Annotated[JsonObject, Body()], whose: Annotated[Whose, Parameters()]) -> JsonObject:
        with agents.company(whose.character, whose.user, str(values.get("talk", ""))) as company:
            done = perform(verb, company, values, PASS.get())
            return {"replies": list(done)} if verb.replies else done

    return endpoint
