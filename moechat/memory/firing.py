"""Which entries of a world book fire in a talk, by the rules that their author gave them, and why.

The rules are those of SillyTavern, which most books are written for (tests/cards/firing_cases.yaml). Keys are looked for in the
last messages. What fires may wake others by its words, round after round; of a group one fires, and what its book has no room
for does not. Chance is the same for the same entry, message and talk, so that a turn can be looked at again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import regex

from moechat.cards.macros import Macros
from moechat.cue import Scene, SoFar
from moechat.language.words import count_tokens
from moechat.model import Lore

MAX_ROUNDS = 20  # Rounds in which entries wake each other.
MARK = "\x01"  # Stands before each message in a book of another program, so that a pattern can begin there.
BUDGET = "budget"
STICKY = "sticky"
_LETTER = re.compile(r"[a-z0-9_]", re.IGNORECASE)
_HOLDS: Mapping[str, Callable[[Iterable[bool]], bool]] = {
    "any": any, "all": all, "not_any": lambda stand: not any(stand), "not_all": lambda stand: not all(stand),
}  # fmt: skip


class Judgement(NamedTuple):
    """Whether an entry ``fires``, and why, or why not. ``words`` are its keys that stand in the talk. ``may_be_near``: that it is
    near in meaning is enough, too. ``turn`` says how many fired before it."""

    entry: Lore
    fires: bool
    why: str
    words: tuple[str, ...] = ()
    may_be_near: bool = False
    turn: int = 0


def judged(
    entries: Sequence[Lore], text: str, scene: Scene | None = None, patterns: Patterns | None = None
) -> list[Judgement]:
    """A judgement for each entry, in their order, for a message."""
    judgements = _Judging(entries, text, scene or Scene(), patterns or Patterns()).all()
    return [judgements[one.id] for one in entries]


class _Searched(NamedTuple):
    """What keys are looked for in; ``folded``: without case."""

    plain: str
    folded: str


class _Judging:
    def __init__(self, entries: Sequence[Lore], text: str, scene: Scene, patterns: Patterns) -> None:
        self._entries = sorted(entries, key=lambda one: -one.order)  # the order in which they have their turn
        self._scene, self._patterns, self._text = scene, patterns, text
        messages = [(scene.speaker, text), *scene.before]
        messages += [(scene.names.get("char", ""), scene.greeting)] if scene.greeting else []
        self._said = [(f"{speaker}: " * bool(speaker) + words.strip(), words) for speaker, words in messages]
        asks_before = any(one.sticky or one.cooldown or one.delay for one in entries)
        self._so_far = scene.so_far() if asks_before else SoFar()
        self._names = Macros(scene.names)
        self._keys: dict[str, tuple[_Searched, tuple[str, str] | None]] = {}
        self._searched: dict[tuple[object, ...], _Searched] = {}
        self._woken: list[str] = []
        self._judgements: dict[str, Judgement] = {}
        self._fired: list[Judgement] = []
        self._over: set[str] = set()  # what fired, or had its chance
        self._used: dict[str, int] = {}
        self._full: set[str] = set()

    def all(self) -> dict[str, Judgement]:
        """Round by round: what the talk wakes, what that wakes, and so on; where nothing new wakes any, the next level opens."""
        levels = sorted({one.only_recursion for one in self._entries if one.only_recursion})
        level, is_woken = levels.pop(0) if levels else 0, False
        asleep: Sequence[Lore] = self._entries
        for _ in range(MAX_ROUNDS):
            round_ = [self._judge(one, level if is_woken else -1) for one in asleep]
            self._judgements |= {one.entry.id: one for one in round_ if one.fires or not is_woken}
            fresh = self._admitted([one for one in round_ if one.fires])
            self._fired += fresh
            wake = [one.entry for one in fresh if one.entry.recursive and not one.entry.wakes_none]
            wake = [one for one in wake if one.text and one.file not in self._full]
            if not wake and not levels:
                break
            if wake:
                self._woken.append("\n".join(self._names.fill(one.text) for one in wake))
            else:
                level = levels.pop(0)
            is_woken = True
            asleep = [one for one in asleep if one.id not in self._over]
        return self._judgements

    def _judge(self, entry: Lore, level: int) -> Judgement:
        """``level``: of those that wait for others, which may be woken; -1 where nobody was woken yet."""
        if (why := self._before_keys(entry, level)) is not None:
            return Judgement(entry, why in (STICKY, "constant", "activate"), why)
        if not entry.scan_depth:
            return Judgement(entry, False, "no message is searched", may_be_near=self._may_be_near(entry))
        text = self._searched_for(entry)
        keys = entry.keys if entry.is_bare else (entry.keyword, *entry.keys)
        words = self._standing(keys, text, entry)
        if not words:
            return Judgement(entry, False, "no key stands there", may_be_near=self._may_be_near(entry))
        if entry.secondary:
            if not _HOLDS[entry.logic](self._stands(key, text, entry) for key in entry.secondary):
                return Judgement(entry, False, f"key: {words[0]}; secondary keys: {entry.logic} does not hold", words)
        return Judgement(entry, True, f"{'key' if level < 0 else 'recursion'}: {words[0]}", words)

    def _may_be_near(self, entry: Lore) -> bool:
        return not entry.secondary and not entry.regex and self._is_drawn(entry)

    def _before_keys(self, entry: Lore, level: int) -> str | None:
        """What decides before any key: it is off or for others, its turn has not come, or it stays from before."""
        scene = self._scene
        if not entry.enabled:
            return "off"
        if entry.triggers and not set(entry.triggers).intersection(scene.reasons):
            return f"only for: {', '.join(entry.triggers)}"
        if entry.characters and entry.spares is not set(entry.characters).isdisjoint(scene.aliases):
            return "for other characters"
        if (when := self._in_time(entry)) not in ("", STICKY):
            return when
        if when != STICKY:
            if entry.only_recursion and not 0 < entry.only_recursion <= level:
                return "waits for other entries"
            if entry.no_recursion and level >= 0:
                return "no other entry wakes it"
        if entry.always:
            return "activate"
        if entry.never:
            return "dont_activate"
        return "constant" if entry.constant else when or None

    def _in_time(self, entry: Lore) -> str:
        """What the number of messages says: "" where it says nothing. Whoever answers asks at every second message, so what
        stayed until a message between two of those rests from the later one on."""
        now = self._so_far.messages
        if now < entry.delay:
            return f"delay: {entry.delay} messages"
        fired = self._so_far.fired_at.get(entry.id, now)  # now where it has not fired yet
        if 0 < now - fired < entry.sticky:
            return STICKY
        rests = fired + entry.sticky + entry.sticky % 2
        return "cooldown" if fired < now and rests <= now < rests + entry.cooldown else ""

    # ---- groups, chance and room

    def _admitted(self, round_: Sequence[Judgement]) -> list[Judgement]:
        """Those of a round that fire in the end, in their turn; of the others it is kept why not."""
        round_ = sorted(round_, key=lambda one: (one.why != STICKY, -_priority(one.entry)))
        losers = self._outdone(round_)
        winners: list[Judgement] = []
        for one in round_:
            if one.entry.id in losers:
                continue
            self._over.add(one.entry.id)
            if one.why != STICKY and not self._is_drawn(one.entry):
                losers[one.entry.id] = f"{one.why}; probability {one.entry.probability:g} %"
            elif not self._has_room(one.entry):
                losers[one.entry.id] = BUDGET
            else:
                winners.append(one._replace(turn=len(self._fired) + len(winners)))
        self._judgements |= {one.entry.id: one for one in winners}
        self._judgements |= {id_: self._judgements[id_]._replace(fires=False, why=why) for id_, why in losers.items()}
        return winners

    def _outdone(self, round_: Sequence[Judgement]) -> dict[str, str]:
        """Those that give way to another of their group, and why."""
        losers: dict[str, str] = {}
        have_fired = {name for one in self._fired for name in _groups(one.entry)}
        for name in dict.fromkeys(name for one in round_ for name in _groups(one.entry)):
            group = [one for one in round_ if name in _groups(one.entry) and one.entry.id not in losers]
            stay = [one for one in group if one.why == STICKY]
            if stay or name in have_fired:
                losers |= {one.entry.id: f"group: {name} has fired" for one in group if one not in stay}
                continue
            if any(one.entry.by_score for one in group):
                scores = [self._score(one.entry) for one in group]
                worse = [
                    one for one, score in zip(group, scores, strict=True) if one.entry.by_score and score < max(scores)
                ]
                losers |= {one.entry.id: f"group: {name} has a better match" for one in worse}
                group = [one for one in group if one not in worse]
            if group:
                winner = self._winner(name, [one.entry for one in group])
                losers |= {
                    one.entry.id: f"group: {name} is {winner.keyword}" for one in group if one.entry is not winner
                }
        return losers

    def _winner(self, name: str, group: Sequence[Lore]) -> Lore:
        first = next((one for one in group if one.goes_first), None)
        if first or len(group) == 1:
            return first or group[0]
        left = self._chance(name) * sum(one.weight for one in group)
        for one in group:
            left -= one.weight
            if left <= 0:
                return one
        return group[-1]

    def _score(self, entry: Lore) -> int:
        """How many keys stand there; secondary ones count where they are asked for."""
        text = self._searched_for(entry)
        keys = len(self._standing(entry.keys, text, entry))
        second = len(self._standing(entry.secondary, text, entry))
        return keys + second * (entry.logic == "any" or (entry.logic == "all" and second == len(entry.secondary)))

    def _chance(self, name: str) -> float:
        return self._scene.chance(f"{name}\0{len(self._scene.before) + 1}\0{self._text}")

    def _is_drawn(self, entry: Lore) -> bool:
        """Whether chance lets an entry fire."""
        return entry.probability >= 100 or self._chance(entry.id) * 100 < entry.probability

    def _has_room(self, entry: Lore) -> bool:
        """Whether its book has; once it has none, nothing else of it fires but what does not count."""
        if not entry.budget or entry.ignores_budget:
            return True
        used = self._used.get(entry.file, 0) + count_tokens(entry.text)
        if used > entry.budget:
            self._full.add(entry.file)
        else:
            self._used[entry.file] = used
        return entry.file not in self._full

    # ---- keys

    def _searched_for(self, entry: Lore) -> _Searched:
        kind = entry.scan_depth, entry.is_bare, entry.also_in, len(self._woken)
        if kind not in self._searched:
            messages = self._said[: entry.scan_depth]
            about = list(filter(None, map(self._scene.about.get, entry.also_in)))
            if entry.is_bare:
                text = MARK + f"\n{MARK}".join([*(named for named, _ in messages), *about, *self._woken])
            else:
                text = "\n".join([*(words for _, words in messages), *about, *self._woken])
            self._searched[kind] = _Searched(text, text.casefold())
        return self._searched[kind]

    def _standing(self, keys: Iterable[str], text: _Searched, entry: Lore) -> tuple[str, ...]:
        return tuple(key for key in keys if self._stands(key, text, entry))

    def _stands(self, key: str, text: _Searched, entry: Lore) -> bool:
        if key not in self._keys:
            filled = self._names.fill(key).strip()
            self._keys[key] = _Searched(filled, filled.casefold()), slashed(filled)
        word, pattern = self._keys[key]
        if entry.regex and not pattern:
            pattern = word.plain, "" if entry.case else "i"
        if pattern and (stands := self._patterns.stands(*pattern, text.plain)) is not None:
            return stands
        key, words = (word.plain, text.plain) if entry.case else (word.folded, text.folded)
        return bool(key) and key in words and (not entry.whole_words or _stands_alone(key, words))


def _groups(entry: Lore) -> list[str]:
    return [name.strip() for name in entry.group.split(",") if name.strip()]


def _stands_alone(key: str, text: str) -> bool:
    """Whether letters do not go on beside a word (no in know). Several words may stand within others."""
    left = r"(?<![A-Za-z0-9_])" if _LETTER.match(key[0]) else ""
    right = r"(?![A-Za-z0-9_])" if _LETTER.match(key[-1]) else ""
    return len(key.split()) > 1 or not (left or right) or re.search(left + re.escape(key) + right, text) is not None


def by_priority(fires: Iterable[Judgement]) -> list[Judgement]:
    """The one of the highest priority first; equals in their turn."""
    return sorted(fires, key=lambda one: (-_priority(one.entry), one.turn))


def _priority(entry: Lore) -> int:
    return entry.order if entry.priority is None else entry.priority


# ---- patterns: the regular expressions of JavaScript, in the notation of `regex` and under a time limit


PATTERN_S = 0.05  # Time limit of one pattern over the talk.
ALL_PATTERNS_S = 0.3  # Time limit of all of them together.
MAX_PATTERN = 2000  # Characters of a pattern.
_FLAGS: Mapping[str, int] = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
_SLASHED = re.compile(r"/([\w\W]+?)/([gimsuy]*)")
_BARE_SLASH = re.compile(r"(?:^|[^\\])/")
_TOKEN = re.compile(r"\\u\{[0-9a-fA-F]{1,6}\}|\\k<\w+>|\\.|\[\^?\]?|[\]$]", re.DOTALL)
_LATIN, _OTHERS = "A-Za-z0-9_", r"\x00-/:-@\[-\^`{-\U0010ffff"
_EDGE = f"(?:(?<=[{_LATIN}])(?![{_LATIN}])|(?<![{_LATIN}])(?=[{_LATIN}]))"
_ALONE: Mapping[str, str] = {
    r"\w": f"[{_LATIN}]", r"\W": f"[^{_LATIN}]", r"\d": "[0-9]", r"\D": "[^0-9]", r"\b": _EDGE, r"\B": f"(?!{_EDGE})",
    "[]": "(?!)", "[^]": "(?s:.)",
}  # fmt: skip
_IN_SET: Mapping[str, str] = {
    r"\w": _LATIN, r"\W": _OTHERS, r"\d": "0-9", r"\D": r"\x00-/:-\U0010ffff", r"\b": r"\x08", "[": r"\[",
    "[^": r"\[\^", "[^]": r"\[\^]", "[]": r"\[]", "$": "$",
}  # fmt: skip


def slashed(key: str) -> tuple[str, str] | None:
    """(the pattern, its flags) of a key that is written ``/…/flags``; None for one that only has slashes in it."""
    match = _SLASHED.fullmatch(key) if key.startswith("/") else None
    if match is None or _BARE_SLASH.search(match[1]) or len(set(match[2])) < len(match[2]):
        return None
    return match[1], match[2]


@dataclass
class Patterns:
    """Compiles and runs patterns, until their time is up. ``problems`` has those that are wrong or took too long; one that finds
    no time left has its turn with a later message, when those before it are compiled."""

    problems: dict[str, str] = field(default_factory=dict)
    left_s: float = ALL_PATTERNS_S

    def stands(self, pattern: str, flags: str, text: str) -> bool | None:
        """Whether it is found in the text; None where it is no pattern."""
        if self.left_s <= 0:
            return False
        begun = time.monotonic()
        try:
            compiled = _compiled(pattern, flags)
            if isinstance(compiled, str):
                self.problems[pattern] = compiled
                return None
            find = compiled.match if "y" in flags else compiled.search
            return find(text, timeout=PATTERN_S) is not None
        except TimeoutError:
            self.problems[pattern] = "takes too long; write it more simply"
            return False
        finally:
            self.left_s -= time.monotonic() - begun


@lru_cache(maxsize=4096)
def _compiled(pattern: str, flags: str) -> regex.Pattern[str] | str:
    """The pattern, or what is wrong with it."""
    if len(pattern) > MAX_PATTERN:
        return f"has more than {MAX_PATTERN} characters; write it more simply"
    try:
        return regex.compile(_in_python(pattern, flags), sum(_FLAGS.get(flag, 0) for flag in flags))
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        return f"is no pattern: {error}"


def _in_python(pattern: str, flags: str) -> str:
    """A pattern of JavaScript in Python's notation: letters and digits are Latin there, and ``$`` is the very end."""
    in_set = False

    def piece(match: re.Match[str]) -> str:
        nonlocal in_set
        token = match[0]
        if token.startswith(r"\u{"):
            return f"\\U{int(token[3:-1], 16):08x}" if "u" in flags else token
        if token.startswith(r"\k<"):
            return f"(?P={token[3:-1]})"
        if token == "$" and not in_set:
            return r"(?=\n|\Z)" if "m" in flags else r"\Z"
        notation = (_IN_SET if in_set else _ALONE).get(token, token)
        in_set = token not in ("]", "[]", "[^]") and (in_set or token in ("[", "[^"))
        return notation

    return _TOKEN.sub(piece, pattern)
