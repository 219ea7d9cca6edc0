"""Talk of another program as its file has it: lines with names and times, in conversations that may branch; and the exchanges
that become of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Literal, NamedTuple

from moechat.errors import DataError
from moechat.model import Exchange
from moechat.store.plain import storable

Who = Literal["user", "char"]
MAX_TITLE_CHARS = 60
MAX_NAMED = 8  # Speakers that a refusal names.
ME = ("user", "me", "you", "我", "自己", "本人")


class Line(NamedTuple):
    """One message. ``at`` is aware, None where the file does not say; so is ``who`` where it says names alone. ``key`` is what
    other lines follow it by; ``after`` is the key of the line that this one follows, None for the line before it."""

    at: datetime | None
    name: str
    text: str
    who: Who | None = None
    key: str = ""
    after: str | None = None


@dataclass(frozen=True)
class Names:
    """Who is who: ``me`` names the user where the file calls them otherwise; then everybody else is the character."""

    user: str
    character: str
    me: str = ""

    def who(self, name: str) -> Who | None:
        folded = name.strip().casefold()
        if self.me:
            return "user" if folded == self.me.strip().casefold() else "char"
        if folded in (*ME, self.user.casefold()):
            return "user"
        return "char" if folded in ("char", "assistant", self.character.casefold()) else None


@dataclass
class Talk:
    """A conversation of a file. Of several lines that follow the same one, the last leads to where the talk goes on."""

    title: str
    lines: list[Line]
    at: datetime | None = None


@dataclass
class TalkExchanges:
    """A conversation as exchanges, those of the chosen branch last. ``follows`` has the place of the exchange that each one
    follows, None for the first."""

    title: str
    exchanges: list[Exchange] = field(default_factory=list)
    follows: list[int | None] = field(default_factory=list)


@dataclass
class Past:
    """What a file of talk holds. ``problems`` are lines that cannot be read, ``left_out`` those that are no talk, by reason.
    ``partner`` is who the file was talked with, where it says so. Where names alone tell who is who, ``named`` has them, and
    ``me`` is who the user is; where that is a guess, ``unclear`` asks for it."""

    kind: str
    path: Path
    zone: tzinfo | None
    names: Names
    talks: list[TalkExchanges] = field(default_factory=list)
    speakers: Counter[str] = field(default_factory=Counter)
    problems: list[DataError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    partner: str = ""
    named: Sequence[str] = ()
    me: str = ""
    unclear: DataError | None = None

    @property
    def exchanges(self) -> list[Exchange]:
        """Those of all talks, in order of time."""
        return sorted((one for talk in self.talks for one in talk.exchanges), key=lambda one: one.at)

    def add(self, talks: Sequence[Talk]) -> None:
        """Take in the conversations of the file."""
        for talk in talks:
            self.speakers.update(line.name or line.who or "" for line in talk.lines)
        named = Counter(line.name for talk in talks for line in talk.lines if line.who is None)
        sides = self._sides(named)
        self.named = [name for name, _ in named.most_common()]
        sides |= {line.name: line.who for talk in talks for line in talk.lines if line.who}
        others = Counter({name: n for name, n in self.speakers.items() if name and sides.get(name) == "char"})
        by_name = replace(self.names, me="")
        main = {n for n in others if by_name.who(n) == "char" or n.casefold() == self.partner.casefold()}
        main = main or {name for name, _ in others.most_common(1)}
        for talk in talks:
            grown = _Grown(talk, sides, {*others} - main)
            self.left_out["in a circle"] += grown.unreached
            self.talks += [grown.made] if grown.made.exchanges else []

    def _sides(self, named: Counter[str]) -> dict[str, Who]:
        """Who is who of those that are names alone: by their names, and by whom the file says that it was talked with; where one
        of two is known, the other is the other side. Else the user is, perhaps, who says less and is not in the file's name."""
        sides = {name: self.names.who(name) for name in named}
        if not self.names.me and set(sides.values()) <= {None}:
            sides |= {name: "char" for name in named if name.casefold() == self.partner.casefold()}
        clear = {side for side in sides.values() if side}
        stem = self.path.stem.casefold()  # many are named after whom it was
        unknown = [name for name, _ in reversed(named.most_common()) if not sides[name]]
        unknown.sort(key=lambda name: name.casefold() in stem)
        if unknown and (len(clear) != 1 or (clear == {"char"} and len(unknown) > 1)) and len(named) > 1:
            guess = next((name for name, side in sides.items() if side == "user"), unknown[0])
            names = ", ".join(self.named[:MAX_NAMED])
            why = f"it does not say who is who of {names}; say which is you (--me NAME, perhaps {guess})"
            self.unclear = DataError(self.path, why)
        if unknown and "user" not in clear:
            sides[unknown[0]] = "user"
        self.me = next((name for name, side in sides.items() if side == "user"), "")
        return {name: side or "char" for name, side in sides.items()}


class _Cell(NamedTuple):
    """An exchange that grows line by line: a path may part within it, so that the lines are chained and not copied."""

    number: int
    line: Line
    side: Who
    before: _Cell | None
    at: datetime
    follows: int | None


class _Grown:
    """The exchanges of a talk. Lines of one side in a row are one message; a reply before any message answers nothing."""

    def __init__(self, talk: Talk, sides: Mapping[str, Who], prefixed: set[str]) -> None:
        self._talk, self._sides, self._prefixed = talk, sides, prefixed
        self.made = TalkExchanges(talk.title)
        self.unreached = len(talk.lines)
        self._places: dict[int, int] = {}
        self._grow(talk.lines)

    def _grow(self, lines: Sequence[Line]) -> None:
        after = self._after(lines)
        start = self._talk.at or next((line.at for line in lines if line.at), datetime.fromtimestamp(0, UTC))
        waiting: list[tuple[int, _Cell | None]] = [(n, None) for n in reversed(after.get(-1, ()))]
        while waiting:
            number, before = waiting.pop()
            self.unreached -= 1
            line = lines[number]
            side = line.who or self._sides[line.name]
            at = max(line.at or start, before.at, key=datetime.timestamp) if before else line.at or start
            if before and (side == "char" or before.side == "user"):
                cell = _Cell(number, line, side, before, at, before.follows)
            else:
                cell = _Cell(number, line, side, None, at, self._place(before) if before else None)
            if number in after:
                waiting += [(n, cell) for n in reversed(after[number])]
            else:
                self._place(cell)

    @staticmethod
    def _after(lines: Sequence[Line]) -> dict[int, list[int]]:
        """The numbers of the lines that follow each, -1 for those that follow nothing."""
        numbers = {line.key: n for n, line in enumerate(lines) if line.key}
        after: dict[int, list[int]] = {}
        for n, line in enumerate(lines):
            after.setdefault(n - 1 if line.after is None else numbers.get(line.after, -1), []).append(n)
        return after

    def _place(self, end: _Cell) -> int:
        """The place of the exchange that ends so; it is made once."""
        if end.number not in self._places:
            cells = [end]
            while before := cells[-1].before:
                cells.append(before)
            cells.reverse()
            words = {
                who: "\n".join(self._text(one.line) for one in cells if one.side == who) for who in ("user", "char")
            }
            self._places[end.number] = len(self.made.exchanges)
            self.made.exchanges.append(Exchange("", cells[0].at, words["user"], words["char"]))
            self.made.follows.append(end.follows)
        return self._places[end.number]

    def _text(self, line: Line) -> str:
        return storable(f"{line.name}: {line.text}" if line.name in self._prefixed else line.text)
