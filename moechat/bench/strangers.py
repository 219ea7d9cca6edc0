"""Messages that are made up to be asked: two of a haystack's own questions at once, and those that nothing in it belongs to,
questions of other lives, the same with its own names put in, and small talk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from moechat import when
from moechat.bench.dataset import Haystack, Question

MAX_FOREIGN_QUESTIONS = 40  # Per haystack: questions of others in the same language.
MOST_PAIRS = 30
_SINGLE = re.compile(r"[^.!?。！？\n]{1,200}[?？]")


def small_talk(haystack: Haystack) -> list[Question]:
    """Thirty lines that ask for nothing of the past, in the haystack's language."""
    lines = Path(__file__).with_name(f"small_talk.{haystack.language}.txt").read_text(encoding="utf-8").splitlines()
    return [_asked(haystack, f"small talk {number}", line) for number, line in enumerate(lines, 1)]


def of_others(haystack: Haystack, everybody: Iterable[Haystack]) -> list[tuple[Haystack, Question]]:
    """(whose, question) of other lives that have their answer there, evenly chosen whatever the order of the files. A question
    that names a day has an answer in every life."""
    theirs = {
        question.text: (other, question)
        for other in everybody
        if other.language == haystack.language and other.opening != haystack.opening
        for question in other.questions
        if question.counts and not when.resolve(question.text, question.asked_at)
    }
    texts = sorted(theirs)
    return [theirs[text] for text in texts[:: max(1, -(-len(texts) // MAX_FOREIGN_QUESTIONS))]]


def strangers(haystack: Haystack, theirs: Sequence[tuple[Haystack, Question]]) -> list[Question]:
    """Questions of others as they are, asked when the haystack's own are."""
    return [_asked(haystack, f"{other.name} {question.id}", question.text) for other, question in theirs]


def renamed(haystack: Haystack, theirs: Sequence[tuple[Haystack, Question]]) -> list[Question]:
    """The same with the names of this haystack's speakers in the place of theirs."""
    return [
        _asked(haystack, f"{other.name} {question.id}", _with_names(question.text, other.speakers, haystack.speakers))
        for other, question in theirs
    ]


def _with_names(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    instead = dict(zip(theirs, ours, strict=False))
    pattern = "|".join(rf"(?<![a-zA-Z]){re.escape(name)}(?![a-zA-Z])" for name in instead if name)
    return re.sub(pattern, lambda match: instead[match[0]], text) if pattern else text


def pairs(haystack: Haystack) -> list[Question]:
    """Two of its own questions in one message, neither of which names a day."""
    single = [q for q in haystack.questions if q.counts and not q.names_date and _SINGLE.fullmatch(q.text)]
    joint = "另外，" if haystack.language == "zh" else " And also, "
    return [
        replace(
            one,
            id=f"{one.id} {other.id}",
            text=one.text + joint + other.text[0].lower() + other.text[1:],
            category="",
            evidence=(*one.evidence, *other.evidence),
        )
        for one, other in list(zip(single[::2], single[1::2], strict=False))[:MOST_PAIRS]
    ]


def _asked(haystack: Haystack, id_: str, text: str) -> Question:
    question = haystack.questions[0]
    return replace(question, id=id_, text=text, category="", names_date=False, answerable=False, evidence=())
