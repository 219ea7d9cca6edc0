"""An entry of a world book: its words, its keys, when it fires, and where its words stand in the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Logic = Literal["any", "not_all", "not_any", "all"]
Position = Literal[
    "", "before_char", "after_char", "before_note", "after_note", "depth", "before_examples", "after_examples", "outlet"
]
LoreRole = Literal["system", "user", "assistant"]

LOGICS: tuple[Logic, ...] = ("any", "not_all", "not_any", "all")
"""In the order of their numbers in world-info files: a secondary key stands there; one is missing; none stands there; all do."""
POSITIONS: tuple[Position, ...] = (
    "before_char", "after_char", "before_note", "after_note", "depth", "before_examples", "after_examples", "outlet",
)  # fmt: skip
"""In the order of their numbers in world-info files."""
LORE_ROLES: tuple[LoreRole, ...] = ("system", "user", "assistant")
CHOICES: Mapping[str, Sequence[str]] = {"logic": LOGICS, "position": POSITIONS, "role": LORE_ROLES}


@dataclass(frozen=True, slots=True)
class Lore:
    """An entry as it is read, whoever's file it stands in. What is usual is so in a line of ``data_base``.

    ``keys`` are matched literally, ``keyword`` by meaning too; one that is not ``enabled`` is never recalled. One that
    ``is_bare`` comes from a book of another program: its ``keyword`` is its title, which neither wakes it nor enters a prompt.

    ``secondary`` keys are asked by ``logic`` once a key stands in the talk; ``regex``: all keys are patterns (a key written
    ``/…/flags`` is one anyway). ``whole_words``: letters must not go on beside a key. ``scan_depth`` is how many of the last
    messages are searched, this one included. ``always`` and ``never`` come before all keys (decorators).

    ``order`` says where it stands among others (lower comes first), ``priority`` which stays where there is no room (lower goes
    first; None: ``order``), ``budget`` is what all entries of its book may take in tokens (0: no limit of their own),
    ``ignores_budget`` that it does not count. ``position`` "" is the block of the world behind the talk; at "depth" it stands
    ``depth`` messages before the end, as ``role``.

    ``recursive``: its words wake other entries. ``no_recursion``: none wakes it. ``wakes_none``: it wakes no other.
    ``only_recursion`` is the round from which on it may be woken, and by other entries alone (0: also by the talk). ``sticky``,
    ``cooldown`` and ``delay`` count messages of the talk: how long it stays, how long it then rests, and how many must come
    before it. ``probability`` is in percent.

    Of those that share a ``group`` (names with commas between them) one fires: one that ``goes_first``, else by ``weight``;
    ``by_score``: only if no other has more of its keys in the talk. ``outlet`` names where a text asks for its words
    (``{{outlet::…}}``). ``also_in``: what else is searched for its keys. ``triggers``: why a reply is made, where that matters.
    It is for the ``characters`` of these names alone, or (``spares``) for all others.
    """

    id: str
    keyword: str
    text: str
    file: str
    keys: tuple[str, ...] = ()
    constant: bool = False
    enabled: bool = True
    secondary: tuple[str, ...] = ()
    logic: Logic = "any"
    regex: bool = False
    case: bool = False
    whole_words: bool = True
    scan_depth: int = 1
    always: bool = False
    never: bool = False
    order: int = 100
    priority: int | None = None
    budget: int = 0
    ignores_budget: bool = False
    position: Position = ""
    depth: int = 4
    role: LoreRole = "system"
    recursive: bool = False
    no_recursion: bool = False
    wakes_none: bool = False
    only_recursion: int = 0
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    probability: float = 100.0
    is_bare: bool = False
    group: str = ""
    goes_first: bool = False
    weight: int = 100
    by_score: bool = False
    outlet: str = ""
    also_in: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()
    spares: bool = False


USUAL = Lore("", "", "", "")

FIELDS: Mapping[str, str] = {
    "keyword": "name", "text": "words", "keys": "list", "constant": "switch", "enabled": "switch",
    "secondary": "list", "logic": "logic", "regex": "switch", "case": "switch", "whole_words": "switch",
    "scan_depth": "count", "order": "number", "priority": "number", "position": "position", "depth": "count",
    "role": "role", "probability": "percent", "sticky": "count", "cooldown": "count", "delay": "count", "file": "file",
}  # fmt: skip
"""What ``data_base`` may say of an entry, and the form of each value (``author.fields``)."""
