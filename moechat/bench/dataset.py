"""Files of memories and questions: one JSON object a line, by ``type`` (meta, memory, question).

A memory has haystack, id, timestamp, speaker, text (and image_caption); a question has haystack, id, question, asked_at,
evidence_ids, category (and names_date, unanswerable). Times without an offset are taken as UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from moechat.errors import DataError

PAUSE = timedelta(hours=1)  # who answers later than this begins an exchange of their own
HALVES = (".u", ".a")  # ids of the two halves of one recorded exchange: found by either, counted once


@dataclass(frozen=True, slots=True)
class Said:
    """One message as the file has it; a picture's caption stands behind its words in brackets."""

    id: str
    at: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """``evidence`` are the units to be found: each is found by any of its message ids."""

    id: str
    text: str
    asked_at: datetime
    category: str
    names_date: bool
    answerable: bool
    evidence: tuple[frozenset[str], ...]

    @property
    def counts(self) -> bool:
        """Whether recall is measured on it."""
        return self.answerable and bool(self.evidence)


@dataclass(frozen=True, slots=True)
class Pair:
    """An exchange to be: what the first speaker said, and the reply; either may be lacking."""

    user: Said | None
    char: Said | None

    @property
    def at(self) -> datetime:
        first = self.user or self.char
        assert first is not None
        return first.at


@dataclass
class Haystack:
    """Everything that one user and one partner said, and what is asked about it."""

    name: str
    said: list[Said] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    @property
    def speakers(self) -> list[str]:
        """Everybody who speaks, the first speaker first."""
        return list(dict.fromkeys(one.speaker for one in self.said))

    def pairs(self) -> list[Pair]:
        """Consecutive messages as exchanges, in order, none lost: the first speaker has the user's side."""
        user = self.speakers[0] if self.said else ""
        pairs: list[Pair] = []
        for one in self.said:
            last = pairs[-1] if pairs else None
            if one.speaker == user:
                pairs.append(Pair(one, None))
            elif last and last.user and not last.char and one.at - last.user.at <= PAUSE:
                pairs[-1] = Pair(last.user, one)
            else:
                pairs.append(Pair(None, one))
        return pairs


def read(path: Path) -> list[Haystack]:
    """The haystacks of a file, each with its memories in order of time. Raises DataError with the line."""
    haystacks: dict[str, Haystack] = {}
    asked: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in _rows(path):
        try:
            if row["type"] == "memory":
                haystack = haystacks.setdefault(row["haystack"], Haystack(row["haystack"]))
                haystack.said.append(_said(row))
            elif row["type"] == "question":
                asked.append((number, row))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(path, f"not a memory of the format: {error!r}", line=number) from error
    for haystack in haystacks.values():
        haystack.said.sort(key=lambda one: one.at)
    ids = {name: {one.id for one in haystack.said} for name, haystack in haystacks.items()}
    for number, row in asked:
        try:
            haystacks[row["haystack"]].questions.append(_question(row, ids[row["haystack"]]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(path, f"not a question of the format: {error!r}", line=number) from error
    return list(haystacks.values())


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise DataError(path, f"not a JSON object: {error}", line=number) from error
                if isinstance(row, dict):
                    yield number, row


def _said(row: Mapping[str, Any]) -> Said:
    caption = row.get("image_caption")
    text = f"{row['text']} [{caption}]" if caption else str(row["text"])
    return Said(str(row["id"]), _moment(row["timestamp"]), str(row["speaker"]), text)


def _question(row: Mapping[str, Any], known: set[str]) -> Question:
    return Question(
        id=str(row["id"]),
        text=str(row["question"]),
        asked_at=_moment(row["asked_at"]),
        category=str(row.get("category") or ""),
        names_date=bool(row.get("names_date")),
        answerable=not row.get("unanswerable"),
        evidence=units(row.get("evidence_ids") or (), known),
    )


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def units(evidence: Iterable[str], known: set[str]) -> tuple[frozenset[str], ...]:
    """Evidence ids as units: two halves of an exchange are one, whichever of them is named."""
    found: dict[frozenset[str], None] = {}
    for id_ in map(str, evidence):
        both = [id_[:-2] + half for half in HALVES] if id_.endswith(HALVES) else []
        found[frozenset(both) if both and known.issuperset(both) else frozenset([id_])] = None
    return tuple(found)


def share_found(evidence: Sequence[frozenset[str]], ids: Iterable[str]) -> float:
    """Which share of the evidence is among ``ids``."""
    there = set(ids)
    return sum(not unit.isdisjoint(there) for unit in evidence) / len(evidence)


def reciprocal_rank(evidence: Sequence[frozenset[str]], ranked: Sequence[str]) -> float:
    """1 / the place of the first evidence, 0 where there is none."""
    wanted = frozenset().union(*evidence)
    return next((1 / place for place, id_ in enumerate(ranked, 1) if id_ in wanted), 0.0)
