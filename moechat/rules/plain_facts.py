"""Facts by frames: the values that ``reading/frames`` hears in a message, whose each is that is not the user's by its clause, and
the sentence it is kept as; the table has that under [frames].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moechat.model import FactDraft
from moechat.reading import frames
from moechat.reading.frames import Value
from moechat.reading.matter import matter
from moechat.rules.clause import OTHER, UNKNOWN, USER, Clause, letters_of
from moechat.rules.table import PatternTable
from moechat.rules.values import Speech, age_of, article, day_of
from moechat.when.names import has_han

# A value that is less likely is not kept, and of the kinds that are mistaken oftener none that is not sure.
LIKELY, SURE = 0.7, 0.85
MIXED = frozenset(("employer", "language", "like", "trade"))
OWN = 0.7  # What is so likely the user's own is.
_NAMES, _PROPER = ("kname", "pname"), ("name", "kname", "pname", "home", "origin", "employer", "school")
_SMALL = re.compile(r"(?<![\w'’])(?!(?:an?|the|of|in|on|at|upon|near|outside|and|for)\b)[a-z]")


def heard(text: str, parts: Sequence[Clause], message: Speech) -> Iterator[tuple[Clause, FactDraft]]:
    """Each fact, with the clause that states it."""
    folded = [letters_of(part.text) for part in parts]
    at = 0
    for words in frames.passages(text) if parts else ():
        for value in frames.values(words):
            own = letters_of(words[value.start : value.end])
            place = next((i for i in range(at, len(parts)) if own and own in folded[i]), None)
            if place is None or words.rfind("《", 0, value.start) > words.rfind("》", 0, value.start):  # within a title
                continue
            at = place
            if draft := _draft(value, words, parts[place], message):
                yield parts[place], draft


def _draft(value: Value, words: str, clause: Clause, message: Speech) -> FactDraft | None:
    kind, patterns, row = value.kind, message.patterns, message.patterns.frames.get(value.kind)
    if value.score < (SURE if kind in MIXED else LIKELY) or clause.mood in ("joke", "role"):
        return None
    whose = clause.owner
    if value.own >= OWN and kind not in _NAMES:
        whose = USER
    if patterns["OTHERS"].fullmatch(whose):
        return None
    if kind in _NAMES and (clause.denies or matter(clause.text).kind == "death"):
        return None
    text = _form(value, words, message, whose)
    if kind in _NAMES or (kind == "name" and whose not in (USER, OTHER, UNKNOWN)):
        who = whose if kind == "name" else _who(value, words, patterns, whose)
        return message.named(who, text) if who and text and who != text.lower() else None
    is_somebodys = whose not in (OTHER, UNKNOWN) and (whose != USER or value.own >= OWN)
    if not row or not text or not is_somebodys or ("own" in row.marks and whose != USER):
        return None
    name = message.names.get(whose, "")
    sentence = re.sub(" +", " ", row.text.format(value=text, a=article(text) if kind == "job" else ""))
    return FactDraft(
        text=f"{message.subject(whose)}{'' if patterns.language == 'zh' else ' '}{sentence}",
        sources=(),
        kind="relation" if "named" in row.marks else "attribute",
        entity="user" if whose == USER else name or whose,
        keyword=row.what,
        target=text,
        polarity=-1 if "minus" in row.marks else 1,
        single="one" in row.marks,
    )


def _form(value: Value, words: str, message: Speech, whose: str) -> str:
    """A value as it is kept; empty where its form is that of something else."""
    text = words[value.start : value.end]
    if value.kind == "age":
        return age_of(text, is_user=whose == USER)
    if value.kind == "birthday":
        return day_of(text, message)
    if value.kind == "job":
        return re.sub(r"^(?:an?|the) ", "", text, flags=re.IGNORECASE)
    if value.kind == "origin":
        text = text.removesuffix("人")
    if value.kind in ("kin", "pet"):
        is_half = re.search(r"(?:[和跟与、]|\band )$", words[: value.start])  # Of a list the half is not kept.
        return "" if is_half or message.names else text
    if value.kind in _PROPER and not has_han(text):
        text = re.sub(r"['’]s$", "", text)
        return _SMALL.sub(lambda letter: letter[0].upper(), text) if text.islower() else text
    return text


def _who(value: Value, words: str, patterns: PatternTable, whose: str) -> str:
    """Whom a name is of: the word for kin or for an animal that stands nearest to it, rather before it than behind."""
    name = "PET" if value.kind == "pname" else "KIN"
    if whose in (OTHER, UNKNOWN) and not patterns["of_mine"].search(words):
        return ""
    places = [
        (value.start - match.end() if match.end() <= value.start else 2 * (match.start() - value.end), match[0].lower())
        for match in patterns[f"one_{name.lower()}"].finditer(words)
    ]
    who = min(places, default=(0, ""))[1]
    return who or (("宠物" if patterns.language == "zh" else "pet") if name == "PET" else "")
