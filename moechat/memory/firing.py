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

MAX_ROUNDS = 10  # Rounds in which entries wake each other.
PATTERN_S = 0.05  # Time limit of one pattern over the talk.
ALL_PATTERNS_S = 0.3  # Time limit of all of them together.
MAX_PATTERN = 2000  # Characters of a pattern.
_FLAGS: Mapping[str, int] = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
_SLASHED = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)
_LETTER = re.compile(r"[a-z0-9_]", re.IGNORECASE)
_HOLDS: Mapping[str, Callable[[Iterable[bool]], bool]] = {
    "any": any, "all": all, "not_any": lambda stand: not any(stand), "not_all": lambda stand: not all(stand),
}  # fmt: skip


class Judgement(NamedTuple):
    """Whether an entry ``fires``, and why, or why not. ``words`` are its keys that stand in the talk. ``may_be_near``: that it is
    near in meaning is enough, too."""

    entry: Lore
    fires: bool
    why: str
    words: tuple[str, ...] = ()
    may_be_near: bool = False


@dataclass
class Patterns:
    """Compiles and runs patterns, until their time is up. ``problems`` has those that are wrong or took too long; one that finds
    no time left has its turn with a later message, when those before it are compiled."""

    problems: dict[str, str] = field(default_factory=dict)
    left_s: float = ALL_PATTERNS_S

    def stands(self, pattern: str, flags: int, text: str) -> bool:
        if self.left_s <= 0:
            return False
        begun = time.monotonic()
        try:
            compiled = _compiled(pattern, flags)
            if isinstance(compiled, str):
                self.problems[pattern] = compiled
                return False
            return compiled.search(text, timeout=PATTERN_S) is not None
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
        judgements = {one.id: self._judge(one, 0) for one in self._entries}
        fresh = [one.entry for one in judgements.values() if one.fires]
        for round_ in range(1, MAX_ROUNDS + 1):
            speaking = [one.text for one in fresh if one.recursive and not one.wakes_none]
            if not speaking:
                break
            self._woken = "\n".join([self._woken, *speaking])
            asleep = [one for one in self._entries if not judgements[one.id].fires and not one.no_recursion]
            woken = [again for one in asleep if (again := self._judge(one, round_)).fires]
            judgements |= {one.entry.id: one for one in woken}
            fresh = [one.entry for one in woken]
        return [judgements[one.id] for one in self._entries]

    def _judge(self, entry: Lore, round_: int) -> Judgement:
        if (why := self._before_keys(entry, round_)) is not None:
            return Judgement(entry, why == "sticky", why)
        words: tuple[str, ...] = ()
        if entry.constant or entry.always:
            why = "constant" if entry.constant else "activate"
        else:
            text = self._text(entry.scan_depth, round_)
            keys = entry.keys if entry.is_bare else (entry.keyword, *entry.keys)
            words = tuple(key for key in keys if self._stands(key, text, entry))
            is_plain = not entry.secondary and not entry.regex
            if not words:
                return Judgement(entry, False, "no key stands there", may_be_near=is_plain and self._is_drawn(entry))
            if entry.secondary and not _HOLDS[entry.logic](self._stands(key, text, entry) for key in entry.secondary):
                return Judgement(entry, False, f"key: {words[0]}; secondary keys: {entry.logic} does not hold", words)
            why = f"{'recursion' if round_ else 'key'}: {words[0]}"
        if self._is_drawn(entry):
            return Judgement(entry, True, why, words)
        return Judgement(entry, False, f"{why}; probability {entry.probability:g} %", words)

    def _before_keys(self, entry: Lore, round_: int) -> str | None:
        """What decides before any key: it is off, or its turn has not come; or it stays from before."""
        if not entry.enabled:
            return "off"
        if entry.never:
            return "dont_activate"
        if entry.position == "outlet":
            return "outlet: only a macro that is not obeyed would place it"
        if not entry.text:
            return "it has no words"
        now = self._so_far.messages
        ago = now - self._so_far.fired_at.get(entry.id, now)  # 0 where it has not fired yet
        if 0 < ago <= entry.sticky:
            return "sticky"
        if entry.cooldown and 0 < ago <= entry.sticky + entry.cooldown:
            return "cooldown"
        if now < entry.delay:
            return f"delay: {entry.delay} messages"
        return "waits for other entries" if entry.only_recursion > round_ else None

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
    if len(pattern) > MAX_PATTERN:
        return f"has more than {MAX_PATTERN} characters; write it more simply"
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
    return sorted(fires, key=lambda one: -(one.entry.order if one.entry.priority is None else one.entry.priority))
