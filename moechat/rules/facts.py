"""The plain facts that a message states: the values that ``reading/frames`` hears in it, whose each is that is not the user's by
its clause, and the sentence that it is kept as. The tables have the sentences under [frames].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from moechat.model import FactDraft
from moechat.reading import frames
from moechat.reading.examples import is_over
from moechat.reading.frames import Value
from moechat.reading.matter import matter
from moechat.reading.saying import mark
from moechat.rules import body, foods
from moechat.rules.clause import OTHER, SENTENCE, UNKNOWN, USER, Clause, letters_of
from moechat.rules.table import Language, PatternTable, table
from moechat.rules.values import OWN, Speech, age_of, day_of
from moechat.when.names import has_han

# A value that is less likely is not kept; where its clause asks, wishes or looks back, none that is not so sure.
LIKELY, DOUBTED = 0.55, 0.97
# So sure is a name that no word like "called" leads to, and that of an animal by no word for one.
NAMED, SURE_NAME = 0.85, 0.95
SURELY_OVER = 0.9  # So surely told as over, a value is not so.
SURELY_OWN = 0.97  # So sure, what a body has is the user's though the clause tells of a thing (it's the thyroid).
_BODY, _FAMILY = ("allergy", "过敏"), ("family", "家人")
_CARE = (*_BODY, "health", "健康")
_NAMES, _PROPER = ("kname", "pname"), ("name", "kname", "pname", "home", "origin", "employer", "school")
_WORK = ("job", "employer", "school")
_LISTED = ("like", "dislike", "cannot", "language")
_OF_BODY = ("cannot", "ill", "illadj")
_COUNTED = ("kin", "pet")
_ENDING = frames.CHANGES | {"diet"}
_EATING = {"dislike": "avoids", "diet": "rules_out"}  # what these are where somebody does not eat or drink it
_JOINT = re.compile(r"(?<=\w), (?:and )?|(?<=\w) and (?=\w)|、|(?<=[一-龥]{2})[和跟与](?=[一-龥]{2})")
_BREAK = re.compile(r"[.!?,;。！？，；\n]")
_ARTICLE = re.compile(r"^(?:an?|the) ", re.I)
_GOES_ON = re.compile(r"[,.]\d")  # 18 is no value of 18,400.
_COUNT = re.compile(r"^一[家个名位间所](?=[一-龥]{2})")
_SMALL = re.compile(r"(?<![\w'’])(?!(?:an?|the|of|in|on|at|upon|near|outside|and|for)\b)[a-z]")


def stated(
    text: str, clauses: Sequence[Clause], source: str, at: datetime, language: Language
) -> list[tuple[Clause, FactDraft]]:
    """Each fact with the clause that states it. ``at`` is when it was said, ``source`` the exchange's id."""
    message = Speech(table(language), at)
    drafts: list[tuple[Clause, FactDraft]] = []
    for clause, draft in [
        *body.not_taken(text, clauses, message),
        *_heard(text, clauses, message),
        *_mentioned(clauses, message),
    ]:
        vaguer = next((at for at, (_, one) in enumerate(drafts) if _is_vaguer(one, draft)), None)
        if vaguer is not None:
            drafts[vaguer] = clause, draft
        elif not any(_says(one, draft, where is clause, message) for where, one in drafts):
            drafts.append((clause, draft))
    every = [draft for _, draft in drafts]
    return [  # Who is named in a later clause is no nameless one, and what belongs to another thing is told by that.
        (clause, replace(one, sources=(source,), mark=mark(one.text, one.keyword) if one.polarity > 0 else ""))
        for clause, one in drafts
        if message.nameless(one.target)
        and not any(_covers(other, one) for other in every)
        and not (one.keyword in _CARE and one.entity == "user" and body.refuted(one, text))
        and (one.keyword not in _FAMILY or all(one.target != other.entity for other in every))
    ]


def _is_vaguer(other: FactDraft, draft: FactDraft) -> bool:
    """Whether a draft says the same more closely: 我姓罗，罗秀兰; in Leeds, in Leeds Road."""
    of = draft.entity, draft.keyword
    return draft.single and of == (other.entity, other.keyword) and other.target in draft.target != other.target


def _says(other: FactDraft, draft: FactDraft, is_beside: bool, message: Speech) -> bool:
    """Whether another fact says a fact already, or as much: who is a nurse works somewhere, who has a cat has one."""
    first, second = draft.target.casefold(), other.target.casefold()
    both = {draft.keyword, other.keyword}
    if (
        first in second
        or second in first
        or (draft.single and (draft.entity, draft.keyword) == (other.entity, other.keyword))
    ):
        return True
    if message.is_name(draft.target):
        return False
    return is_beside and both in ({"job", "employer"}, {"职业", "工作单位"}, {"pet"}, {"宠物"})


def _covers(wider: FactDraft, draft: FactDraft) -> bool:
    """Whether what a body does not take is part of another thing of that kind (海鲜过敏，不能吃虾), or a dish with it in."""
    if (
        draft.keyword not in _BODY
        or wider.keyword not in _BODY
        or wider.entity != draft.entity
        or "allerg" in draft.text
        or "过敏" in draft.text
    ):
        return False
    things, wide = foods.named(draft.target), foods.named(wider.target)
    part = bool(wide) and wide <= foods.held(draft.target)
    return (
        part
        and wider.text != draft.text
        and (wide != things or ("cannot" not in wider.text and "不能" not in wider.text))
    )


def _mentioned(clauses: Sequence[Clause], message: Speech) -> Iterator[tuple[Clause, FactDraft]]:
    """Those of the user's whom a clause in earnest only mentions: my wife is late."""
    for clause in clauses:
        if (
            clause.mood == "said"
            and clause.whose not in message.names
            and message.patterns["OWN"].fullmatch(clause.whose)
        ):
            yield clause, message.fact("mentioned", clause.whose)


def _heard(text: str, clauses: Sequence[Clause], message: Speech) -> Iterator[tuple[Clause, FactDraft]]:
    """Each fact that a value of the frames states."""
    folded = [letters_of(clause.text) for clause in clauses]
    at = 0
    for words in frames.passages(text) if clauses else ():
        for value in _whole(frames.values(words), words, message):
            own = letters_of(words[value.start : value.end])
            place = next((i for i in range(at, len(clauses)) if own and own in folded[i]), None)
            if place is None or words.rfind("《", 0, value.start) > words.rfind("》", 0, value.start):  # within a title
                continue
            at = place
            for one in _each(value, words):
                if draft := _draft(one, words, clauses[place], message):
                    yield clauses[place], draft


def _whole(values: Sequence[Value], words: str, message: Speech) -> list[Value]:
    """The values, those of a count of animals or of kin as one (a cat and a dog), and what is not eaten without these words."""
    every: list[Value] = []
    for value in values:
        joint = _JOINT.match(words, every[-1].end) if every and every[-1].kind == value.kind in _COUNTED else None
        if joint and joint.end() == value.start:
            every[-1] = replace(every[-1], end=value.end)
        else:
            not_eaten = _not_eaten(value, words, message)
            if not_eaten:  # Whether it is a diet or a taste is a guess between two that are told alike.
                value = replace(value, start=max(value.start, not_eaten.end()), score=max(value.score, LIKELY))
            every.append(value)
    return every


def _each(value: Value, words: str) -> Iterator[Value]:
    """A value, or each of a list (tea and cake, 咖啡、奶茶和可乐)."""
    start = value.start
    for joint in _JOINT.finditer(words, value.start, value.end) if value.kind in _LISTED else ():
        yield replace(value, start=start, end=joint.start())
        start = joint.end()
    yield replace(value, start=start)


def _draft(value: Value, words: str, clause: Clause, message: Speech) -> FactDraft | None:
    kind, patterns = value.kind, message.patterns
    if value.score < (LIKELY if clause.mood == "said" else DOUBTED) or clause.mood in ("joke", "role"):
        return None
    if kind in _NAMES and (clause.denies or _is_of_dead(clause)):
        return None
    # What a body has is told of a thing, too (it's the thyroid).
    of_body = kind in _OF_BODY and clause.whose == OTHER and value.own < SURELY_OWN
    is_users = value.own >= OWN and clause.whose in (USER, OTHER, UNKNOWN) and kind not in _NAMES and not of_body
    whose = USER if is_users else clause.owner
    if kind in _ENDING and _is_told_over(value, words):
        return None
    text = _form(value, words, message, whose)
    if kind in _NAMES or (kind == "name" and whose not in (USER, OTHER, UNKNOWN)):
        who = whose if kind == "name" else _who(value, words, clause, message, whose)
        return message.named(who, text) if who and text and who != text.lower() else None
    is_somebodys = whose not in (OTHER, UNKNOWN) and (whose != USER or value.own >= OWN)
    if kind == "birthday" and whose != USER and _is_of_dead(clause):
        kind = "deathday"
    row = patterns.frames.get(kind)
    if not row or not text or not is_somebodys or ("own" in row.marks and whose != USER):
        return None
    if kind == "like" and (favourite := patterns["favourite"].search(clause.text)):
        return message.fact("favourite", text, whose, favourite["what"])
    if not_eaten := _not_eaten(value, words, message):
        return message.fact(_EATING[kind], text, whose, not_eaten["what"])
    return message.fact(
        "allergic" if kind == "cannot" and patterns["allergic"].search(clause.text) else kind, text, whose
    )


def _is_told_over(value: Value, words: str) -> bool:
    """Whether the sentence of a value surely tells it as over."""
    sentence = next(one for one in SENTENCE.finditer(words) if one.end() > value.start)
    return is_over(sentence[0], value.start - sentence.start(), value.end - sentence.start(), SURELY_OVER)


def _is_of_dead(clause: Clause) -> bool:
    of_life = matter(clause.text)
    return of_life.kind == "death" and of_life.is_heard


def _form(value: Value, words: str, message: Speech, whose: str) -> str:
    """A value as it is kept; empty where its form is that of something else."""
    text = words[value.start : value.end]
    if value.kind in _WORK:
        text = _COUNT.sub("", text)
    if value.kind == "age":
        return "" if _GOES_ON.match(words, value.end) else age_of(text, is_user=whose == USER)
    if value.kind == "birthday":
        return day_of(text, message)
    if value.kind == "job":
        return _ARTICLE.sub("", text)
    if value.kind == "origin":
        text = text.removesuffix("人")
    if value.kind in _COUNTED:
        return "" if message.names else text.lstrip("只条头匹个")
    if value.kind in _PROPER and not has_han(text):
        text = re.sub(r"['’]s$", "", text)
        is_name = text.islower() and not _ARTICLE.match(text)
        return _SMALL.sub(lambda letter: letter[0].upper(), text) if is_name else text
    return text


def _not_eaten(value: Value, words: str, message: Speech) -> re.Match[str] | None:
    """The words that say, before a value or at its beginning, that somebody does not eat or drink it."""
    every = message.patterns["not_eaten"].finditer(words, 0, value.end) if value.kind in _EATING else ()
    return next((one for one in every if not _BREAK.search(words, one.end(), max(value.start, one.end()))), None)


def _who(value: Value, words: str, clause: Clause, message: Speech, whose: str) -> str:
    """Whom a name is of: the word for kin or for an animal that stands nearest to it, rather before it than behind."""
    patterns, name = message.patterns, "PET" if value.kind == "pname" else "KIN"
    # The cat is the user's own.
    is_at_home = whose == OTHER and patterns["one_pet"].match(_ARTICLE.sub("", clause.text))
    is_anothers = (whose == OTHER and not is_at_home) or (name == "PET" and patterns["PERSON"].fullmatch(whose))
    if is_anothers or (whose == UNKNOWN and not patterns["of_mine"].search(words)):
        return ""
    places = [
        (value.start - match.end() if match.end() <= value.start else 2 * (match.start() - value.end), match[0].lower())
        for match in patterns[f"one_{name.lower()}"].finditer(words)
        if _is_beside(match, value, words, patterns)
    ]
    if who := min(places, default=(0, ""))[1]:
        return who
    return ("宠物" if patterns.language == "zh" else "pet") if name == "PET" and value.score >= SURE_NAME else ""


def _is_beside(who: re.Match[str], value: Value, words: str, patterns: PatternTable) -> bool:
    """Whether a word for kin or an animal and a name are of one: they stand beside each other, or the name is told as one."""
    if who.end() <= value.start and patterns["leads_to_name"].fullmatch(words, who.end(), value.start):
        return True
    is_within = who.start() < value.end and who.end() > value.start
    if is_within or patterns["anothers"].search(words, 0, who.start()):  # 娇姐 is no sister; her parrot, Clyde
        return False
    called = patterns["called"].search(words, 0, value.start)
    if who.start() >= value.end and called:  # 一只叫R2D2的猫
        return patterns["behind_called"].fullmatch(words, value.end, who.start()) is not None
    before = who.end() <= value.start
    place = patterns["before_name" if before else "behind_name"].fullmatch(
        words, who.end() if before else value.end, value.start if before else who.start()
    )
    return place is not None and (value.score >= NAMED or value.kind == "pname" or not has_han(words))
