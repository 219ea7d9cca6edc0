"""Which entries of a world book fire in a talk, by the rules that their author gave them, and why.

Keys are looked for in the last messages. What fires may wake others by its words, a few rounds deep. Patterns of strangers run
under a bound of time: one that does not end counts as not there. Chance is the same for the same entry, message and talk, so
that a turn can be looked at again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import regex

from moechat.cue import SoFar
from moechat.language.words import count_tokens
from moechat.model import Lore

MOST_ROUNDS = 10
PATTERN_S = 0.05  # One pattern may take so long over the talk,
ALL_PATTERNS_S = 0.3  # and all of them together.
LONGEST_PATTERN = 2000
_FLAGS: Mapping[str, int] = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
_SLASHED = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)
_LETTER = re.compile(r"[a-z0-9_]", re.IGNORECASE)


@dataclass(frozen=True)
class Judgement:
    """Whether an entry ``fires``, and why, or why not. ``words`` are its keys that stand in the talk. ``may_be_near``: that it is
    near in meaning is enough, too."""

    entry: Lore
    fires: bool
    why: str
    words: tuple[str, ...] = ()
    may_be_near: bool = False


@dataclass
class Patterns:
    """Runs patterns, until their time is up. ``problems`` has those that are wrong or took too long."""

    problems: dict[str, str] = field(default_factory=dict)
    left_s: float = ALL_PATTERNS_S

    def stands(self, pattern: str, flags: int, text: str) -> bool:
        compiled = _compiled(pattern, flags)
        if isinstance(compiled, str):
            self.problems[pattern] = compiled
            return False
        begun = time.monotonic()
        try:
            if self.left_s <= 0:
                raise TimeoutError
            return compiled.search(text, timeout=min(PATTERN_S, self.left_s)) is not None
        except TimeoutError:
            self.problems[pattern] = "takes too long; write it more simply"
            return False
        finally:
            self.left_s -= time.monotonic() - begun


def judged(
    entries: Sequence[Lore], messages: Sequence[str], so_far: Callable[[], SoFar], patterns: Patterns | None = None
) -> list[Judgement]:
    """A judgement for each entry, in their order. ``messages`` are the newest first, the message itself before all."""
    return _Judging(entries, messages, so_far, patterns or Patterns()).all()


class _Searched(NamedTuple):
    """What keys are looked for in; ``folded``: without case."""

    plain: str
    folded: str


class _Judging:
    def __init__(
        self, entries: Sequence[Lore], messages: Sequence[str], so_far: Callable[[], SoFar], patterns: Patterns
    ) -> None:
        self._entries, self._messages, self._patterns = entries, messages, patterns
        asks_before = any(one.sticky or one.cooldown or one.delay for one in entries)
        self._so_far = so_far() if asks_before else SoFar()
        self._texts: dict[tuple[int, int], _Searched] = {}
        self._woken = ""

    def all(self) -> list[Judgement]:
        judgements = {one.id: self._first(one) for one in self._entries}
        fresh = [one.entry for one in judgements.values() if one.fires]
        for round_ in range(1, MOST_ROUNDS + 1):
            speaking = [one.text for one in fresh if one.recursive and not one.wakes_none]
            if not speaking:
                break
            self._woken = "\n".join([self._woken, *speaking])
            fresh = []
            for one in self._entries:
                if judgements[one.id].fires or one.no_recursion or one.only_recursion > round_:
                    continue
                again = self._judge(one, round_)
                if again.fires:
                    judgements[one.id] = again
                    fresh.append(one)
        return [judgements[one.id] for one in self._entries]

    def _first(self, entry: Lore) -> Judgement:
        if entry.only_recursion:
            return self._held_back(entry) or Judgement(entry, False, "waits for other entries")
        return self._judge(entry, 0)

    def _held_back(self, entry: Lore) -> Judgement | None:
        """What decides before any key: it is off, or its turn has not come; or it stays from before."""
        if not entry.enabled:
            return Judgement(entry, False, "off")
        if entry.never:
            return Judgement(entry, False, "dont_activate")
        if entry.position == "outlet":
            return Judgement(entry, False, "outlet: only a macro that is not obeyed would place it")
        if not entry.text:
            return Judgement(entry, False, "it has no words")
        fired_at = self._so_far.fired_at.get(entry.id)
        ago = None if fired_at is None else self._so_far.messages - fired_at
        if ago is not None and 0 < ago <= entry.sticky:
            return Judgement(entry, True, "sticky")
        if ago is not None and 0 < ago <= entry.sticky + entry.cooldown and entry.cooldown:
            return Judgement(entry, False, "cooldown")
        if self._so_far.messages < entry.delay:
            return Judgement(entry, False, f"delay: {entry.delay} messages")
        return None

    def _judge(self, entry: Lore, round_: int) -> Judgement:
        if (before := self._held_back(entry)) is not None:
            return before
        if entry.constant or entry.always:
            why = "constant" if entry.constant else "activate"
            return self._by_chance(Judgement(entry, True, why))
        text = self._text(entry.scan_depth, round_)
        keys = entry.keys if entry.is_bare else (entry.keyword, *entry.keys)
        words = tuple(key for key in keys if self._stands(key, text, entry))
        is_plain = not entry.secondary and not entry.regex
        if not words:
            return Judgement(entry, False, "no key stands there", may_be_near=is_plain and self._is_drawn(entry))
        if not self._second(entry, text):
            return Judgement(entry, False, f"key: {words[0]}; secondary keys: {entry.logic} does not hold", words)
        why = "recursion" if round_ else "key"
        return self._by_chance(Judgement(entry, True, f"{why}: {words[0]}", words))

    def _second(self, entry: Lore, text: _Searched) -> bool:
        """Whether the secondary keys allow it."""
        if not entry.secondary:
            return True
        stand = [self._stands(key, text, entry) for key in entry.secondary]
        match entry.logic:
            case "any":
                return any(stand)
            case "all":
                return all(stand)
            case "not_any":
                return not any(stand)
        return not all(stand)

    def _by_chance(self, judgement: Judgement) -> Judgement:
        entry = judgement.entry
        if self._is_drawn(entry):
            return judgement
        return Judgement(entry, False, f"{judgement.why}; probability {entry.probability:g} %", judgement.words)

    def _is_drawn(self, entry: Lore) -> bool:
        """Whether chance lets an entry fire."""
        if entry.probability >= 100:
            return True
        seed = f"{entry.id}\0{len(self._messages)}\0{self._messages[0] if self._messages else ''}"
        return int.from_bytes(blake2b(seed.encode(), digest_size=4).digest()) / 2**32 * 100 < entry.probability

    def _text(self, depth: int, round_: int) -> _Searched:
        if (depth, round_) not in self._texts:
            text = "\n".join([*self._messages[:depth], *([self._woken] if round_ else [])])
            self._texts[depth, round_] = _Searched(text, text.casefold())
        return self._texts[depth, round_]

    def _stands(self, key: str, text: _Searched, entry: Lore) -> bool:
        if key.startswith("/") and (slashed := _SLASHED.fullmatch(key)):
            flags = sum(_FLAGS.get(flag, 0) for flag in set(slashed[2]))
            return self._patterns.stands(slashed[1], flags, text.plain)
        if entry.regex:
            return self._patterns.stands(key, 0 if entry.case else regex.IGNORECASE, text.plain)
        key, words = (key, text.plain) if entry.case else (key.casefold(), text.folded)
        return bool(key) and key in words and (not entry.whole_words or _stands_alone(key, words))


@lru_cache(maxsize=4096)
def _compiled(pattern: str, flags: int) -> regex.Pattern[str] | str:
    """The pattern, or what is wrong with it."""
    if len(pattern) > LONGEST_PATTERN:
        return f"has more than {LONGEST_PATTERN} characters; write it more simply"
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"is no pattern: {error}"


def _stands_alone(name: str, text: str) -> bool:
    """Whether letters do not go on beside a name (no in know)."""
    left = r"(?<![A-Za-z0-9_])" if _LETTER.match(name[0]) else ""
    right = r"(?![A-Za-z0-9_])" if _LETTER.match(name[-1]) else ""
    return not (left or right) or re.search(left + re.escape(name) + right, text) is not None


def over_budget(fires: Iterable[Judgement]) -> set[str]:
    """The ids of those for which their book has no room: the ones of the lowest priority."""
    used: dict[str, int] = {}
    over: set[str] = set()
    for one in by_priority(fires):
        entry = one.entry
        if not entry.budget or entry.ignores_budget:
            continue
        tokens = count_tokens(entry.text)
        if used.get(entry.file, 0) + tokens > entry.budget:
            over.add(entry.id)
        else:
            used[entry.file] = used.get(entry.file, 0) + tokens
    return over


def by_priority(fires: Iterable[Judgement]) -> list[Judgement]:
    """The one of the highest priority first; equals stay in their order."""
    return sorted(fires, key=lambda one: -priority(one.entry))


def priority(entry: Lore) -> int:
    return entry.order if entry.priority is None else entry.priority
