"""Files of memories and questions: one JSON object a line, by ``type`` (meta, memory, question).

A memory has haystack, id, timestamp, speaker, text (and image_caption); a question has haystack, id, question, asked_at,
evidence_ids, category (and evidence_sessions, names_date, unanswerable). Times without an offset are taken as UTC.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from moechat.errors import DataError
from moechat.when.names import has_han

PAUSE = timedelta(hours=1)  # Whoever answers later than this begins an exchange of their own.
HALVES = (".u", ".a")  # So end the ids of the two halves of one exchange, which count once and are found by either.


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message as the file has it. The caption of a picture follows the words in brackets."""

    id: str
    at: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its ``evidence``: units, each of which is found by any of its message ids.

    A unit is a session where the file names sessions, else a message."""

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
class Sides:
    """The two sides of an exchange to be: what the first speaker said, and the reply. Either may be lacking."""

    user: Utterance | None
    char: Utterance | None

    @property
    def at(self) -> datetime:
        first = self.user or self.char
        assert first is not None
        return first.at


@dataclass
class Haystack:
    """The messages of one user and one partner, and the questions about them."""

    name: str
    kind: str = ""
    """What kind of talk it is: the data set and its language, as the file's meta row has them."""
    utterances: list[Utterance] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    @property
    def language(self) -> Literal["zh", "en"]:
        return "zh" if any(has_han(utterance.text) for utterance in self.utterances) else "en"

    @property
    def opening(self) -> str:
        """What was said first: the same where two haystacks are one life up to different days."""
        return self.utterances[0].text if self.utterances else ""

    @property
    def speakers(self) -> list[str]:
        """Everybody who speaks, the first speaker first."""
        return list(dict.fromkeys(utterance.speaker for utterance in self.utterances))

    def exchanges(self) -> list[Sides]:
        """Consecutive messages as exchanges, in order, none lost: the first speaker has the user's side."""
        user = self.speakers[0] if self.utterances else ""
        exchanges: list[Sides] = []
        for utterance in self.utterances:
            last = exchanges[-1] if exchanges else None
            if utterance.speaker == user:
                exchanges.append(Sides(utterance, None))
            elif last and last.user and not last.char and utterance.at - last.user.at <= PAUSE:
                exchanges[-1] = Sides(last.user, utterance)
            else:
                exchanges.append(Sides(None, utterance))
        return exchanges


def read(path: Path) -> list[Haystack]:
    """The haystacks of a file, each with its memories in order of time. Raises DataError with the line."""
    haystacks: dict[str, Haystack] = {}
    questions: list[tuple[int, Mapping[str, Any]]] = []
    kind = path.stem
    for number, row in rows_of(path):
        try:
            if row["type"] == "meta":
                kind = " ".join(str(row[key]) for key in ("dataset", "language") if row.get(key))
            elif row["type"] == "memory":
                haystack = haystacks.setdefault(row["haystack"], Haystack(row["haystack"], kind))
                haystack.utterances.append(_utterance(row))
            elif row["type"] == "question":
                questions.append((number, row))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(path, f"not a memory of the format: {error!r}", line=number) from error
    for haystack in haystacks.values():
        haystack.utterances.sort(key=lambda utterance: utterance.at)
    sessions = {name: _sessions(haystack.utterances) for name, haystack in haystacks.items()}
    for number, row in questions:
        try:
            haystacks[row["haystack"]].questions.append(_question(row, sessions[row["haystack"]]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(path, f"not a question of the format: {error!r}", line=number) from error
    return list(haystacks.values())


def rows_of(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number of its line, JSON object) of a file with one a line. Raises DataError with the line."""
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("it is another value")
                except ValueError as error:
                    raise DataError(path, f"not a JSON object: {error}", line=number) from error
                yield number, row


def _utterance(row: Mapping[str, Any]) -> Utterance:
    caption = row.get("image_caption")
    text = f"{row['text']} [{caption}]" if caption else str(row["text"])
    return Utterance(str(row["id"]), _moment(row["timestamp"]), str(row["speaker"]), text)


def _sessions(utterances: Iterable[Utterance]) -> dict[str, frozenset[str]]:
    """The message ids of each session: an id begins with its session's, up to a point."""
    ids: dict[str, set[str]] = {}
    for utterance in utterances:
        ids.setdefault(utterance.id.partition(".")[0], set()).add(utterance.id)
    return {session: frozenset(members) for session, members in ids.items()}


def _question(row: Mapping[str, Any], sessions: Mapping[str, frozenset[str]]) -> Question:
    named = [sessions[session] for session in map(str, row.get("evidence_sessions") or ()) if session in sessions]
    known_ids = frozenset().union(*sessions.values())
    return Question(
        id=str(row["id"]),
        text=str(row["question"]),
        asked_at=_moment(row["asked_at"]),
        category=str(row.get("category") or ""),
        names_date=bool(row.get("names_date")),
        answerable=not row.get("unanswerable"),
        evidence=tuple(named) or evidence_units(row.get("evidence_ids") or (), known_ids),
    )


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def evidence_units(evidence: Iterable[str], known_ids: Collection[str]) -> tuple[frozenset[str], ...]:
    """Evidence ids as units: two halves of an exchange are one, whichever of them is named."""
    units: dict[frozenset[str], None] = {}
    for id_ in map(str, evidence):
        both = [id_[:-2] + half for half in HALVES] if id_.endswith(HALVES) else []
        units[frozenset(both) if both and all(one in known_ids for one in both) else frozenset([id_])] = None
    return tuple(units)


def share_found(evidence: Sequence[frozenset[str]], ids: Iterable[str]) -> float:
    """Which share of the evidence is among ``ids``."""
    found_ids = set(ids)
    return sum(not unit.isdisjoint(found_ids) for unit in evidence) / len(evidence)


def reciprocal_rank(evidence: Sequence[frozenset[str]], ranked: Sequence[str]) -> float:
    """1 / the place of the first evidence, 0 where there is none."""
    relevant = frozenset().union(*evidence)
    return next((1 / place for place, id_ in enumerate(ranked, 1) if id_ in relevant), 0.0)
