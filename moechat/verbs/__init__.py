"""What can be done with memories: each verb once, with its values, the function of an agent that does it, and what it needs.

Commands, HTTP, MCP and the page are loops over ``owner.VERBS`` and ``author.VERBS``. What is slow to import is imported
where it is needed, for the command line is drawn from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moechat.errors import FieldError

if TYPE_CHECKING:
    from moechat.access.keys import Pass

Fields = dict[str, Any]
MANY = "how many (default: 50; 0: all)"


class Values(BaseModel):
    model_config = ConfigDict(extra="forbid")


def value(about: str, metavar: str = "", default: Any = ..., *, is_option: bool | None = None) -> Any:
    """A value with its words for the command line: what has to be given is an argument there, all else an option."""
    is_option = default is not ... if is_option is None else is_option
    return Field(default, description=about, json_schema_extra={"metavar": metavar, "is_option": is_option})


@dataclass(frozen=True)
class Verb:
    """``does`` takes an agent (for a talk of several: a company) and the values. ``about`` is for the command line; on the page a
    verb has its words by its name.

    ``reads``: it changes nothing. ``is_shared``: what all users share is changed, which needs a pass for all of them.
    ``waits``: the page does not do it while a reply is on its way. ``has_command``: there is a command of its own for it.
    ``replies``: the character speaks, which the page shows as it comes, in a turn of its own.
    """

    about: str
    values: type[Values]
    does: Callable[[Any, Any], Any]
    reads: bool = False
    is_shared: bool = False
    waits: bool = False
    has_command: bool = True
    replies: bool = False


def perform(verb: Verb, agent: Any, values: Mapping[str, Any], passed: Pass | None = None) -> Any:
    """What a verb gives, to whom ``passed`` lets in (None: whoever uses this machine). Raises Denied, FieldError for a value that
    it cannot have, and what the verb itself raises."""
    if verb.is_shared and passed is not None:
        passed.require_all_users()
    try:
        checked = verb.values.model_validate(dict(values))
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise FieldError(".".join(map(str, first["loc"])), first.get("input"), first["msg"]) from None
    return verb.does(agent, checked)
