"""Facts by frames: the values that ``reading/frames`` hears in a message, whose each is by its clause, and the sentence it is
kept as; the table has that under [frames].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moechat.language.words import words as words_in
from moechat.model import FactDraft
from moechat.reading import frames
from moechat.reading.frames import Value
from moechat.reading.matter import matter
from moechat.reading.saying import saying
from moechat.rules.clause import OTHER, SENTENCE, UNKNOWN, USER, Clause, Mood, letters_of
from moechat.rules.table import PatternTable
from moechat.rules.values import Speech, age_of, article, day_of
from moechat.when.names import has_han

LIKE_ITS_SORT = 0.3  # A value that lies less near to its sort is none.
LIKE_A_NAME = 0.4  # A word that lies so near to names is one.
LIKE_BOTH = 1.4  # So likely and near to its sort a value has to be, both together.
LIKE_ITS_KIND = {"job": 0.4, "trade": 0.4, "home": 0.4, "origin": 0.4}
DOUBTFUL, SURE = frozenset("quote suppose role question record advice".split()), 0.65
"""Sayings of these kinds tell nothing, as a rule; only values that are this likely count in them."""
_NAMES, _PROPER = ("kname", "pname"), ("name", "kname", "pname", "home", "origin", "employer", "school")
_DENIABLE = ("like", "dislike", "cannot", "diet", "learns", "status")
_MOODS: dict[str, tuple[Mood, ...]] = {
    **dict.fromkeys(_NAMES, ("said", "plan", "past")),
    "birthday": ("said", "plan"),
}
_SMALL = re.compile(r"(?<![\w'’])(?!(?:an?|the|of|in|on|at|upon|near|outside|and|for)\b)[a-z]")
_SELF = re.compile(r"我|俺|咱|本人|\b(?:i|i['’]?(?:m|ve|d|ll)|my|me|mine|we|us|our)\b", re.IGNORECASE)
_ANOTHER = re.compile(
    r"他|她|那[个位]|有[个位]|(?:^|[,，、])一个(?!人)|\b(?:he|she|they|his|her|their|of mine|one of)\b", re.IGNORECASE
)


def heard(text: str, parts: Sequence[Clause], message: Speech) -> Iterator[tuple[Clause, FactDraft]]:
    """Each fact, with the clause that states it."""
    folded = [letters_of(part.text) for part in parts]
    at = 0
    for sentence in SENTENCE.finditer(text):
        words = sentence[0][: frames.LONGEST]
        values = frames.values(words) if parts else ()
        tells_own_name = any(value.kind == "name" for value in values)
        for value in values:
            own = letters_of(words[value.start : value.end])
            place = next((i for i in range(at, len(parts)) if own and own in folded[i]), None)
            if place is None or words.rfind("《", 0, value.start) > words.rfind("》", 0, value.start):  # within a title
                continue
            at = place
            before = words[: value.start] if not _SELF.search(parts[place].text) else ""
            is_own = tells_own_name or _SELF.search(before)
            is_others = _ANOTHER.search(before) or (not is_own and names_somebody(before))
            draft = None if is_others else _draft(value, words, parts[place], message)
            if draft and _is_meant(value, words[value.start : value.end], text):
                yield parts[place], draft


def names_somebody(text: str) -> bool:
    return any(frames.likeness(word, "name") >= LIKE_A_NAME for word in words_in(text))


def _is_meant(value: Value, own: str, text: str) -> bool:
    if value.score < SURE and saying(text).kind in DOUBTFUL:
        return False
    near = frames.likeness(own, value.kind)
    return near >= LIKE_ITS_KIND.get(value.kind, LIKE_ITS_SORT) and value.score + min(near, 1.0) >= LIKE_BOTH


def _draft(value: Value, words: str, clause: Clause, message: Speech) -> FactDraft | None:
    kind, patterns, row = value.kind, message.patterns, message.patterns.frames.get(value.kind)
    if clause.mood not in _MOODS.get(kind, ("said",)) or (clause.denies and kind not in _DENIABLE):
        return None
    whose = clause.owner
    if kind == "cannot" and whose in (USER, UNKNOWN) and patterns["given"].search(clause.text):
        return None
    if whose == UNKNOWN and patterns.language == "en" and not patterns["person"].search(clause.text):
        whose = USER
    if patterns["OTHERS"].fullmatch(whose):
        return None
    if (kind in _NAMES and matter(clause.text).kind == "death") or (
        kind == "home" and patterns["before_no_home"].search(words[: value.start])
    ):
        return None
    text = _form(value, words, message, whose)
    if kind in _NAMES or (kind == "name" and whose not in (USER, OTHER, UNKNOWN)):
        who = whose if kind == "name" else _who(value, words, patterns, whose)
        return message.named(who, text) if who and text else None
    if not row or not text or whose in (OTHER, UNKNOWN) or ("own" in row.marks and whose != USER):
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
    text, patterns = words[value.start : value.end], message.patterns
    if value.kind == "age":
        before = words[: value.start]
        is_other = patterns["no_age"].match(words, value.end) or patterns["before_no_age"].search(before)
        is_thing = whose == USER and patterns["my_thing"].search(before)
        return "" if is_other or is_thing else age_of(text, is_user=whose == USER)
    if value.kind == "birthday":
        return day_of(text, message)
    if value.kind in ("kin", "pet"):
        is_half = re.search(r"(?:[和跟与、]|\band )$", words[: value.start])  # Of a list the half is not kept.
        is_one = patterns[f"one_{value.kind}"].search(text) and not is_half and not message.names
        return text if is_one else ""
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
