"""A message read clause by clause: whose a clause is, and how it is meant. The words for it stand in ``zh.txt`` and ``en.txt``.

The rules take facts from clauses that are said in earnest (``mood`` "said"). They take events also from plans and from
the past.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal, cast

from moechat.rules.table import Language, PatternTable, table
from moechat.when import LONGEST_READ

Mood = Literal["said", "question", "hypothetical", "joke", "uncertain", "role", "wish", "plan", "past", "hearsay"]

SENTENCE = re.compile(r"[^.!?。！？\n…;；]+")
MAX_SENTENCES, LONGEST_SENTENCE = 200, 400  # What is beyond is not read: a pattern may take the square of a length.
_RUN = re.compile(r"([^\w\n])\1{3,}")
USER, OTHER, UNKNOWN = "user", "", "?"
_CARRIED = frozenset({"hypothetical", "role"})  # A condition covers the clauses behind it, whoever they are about.
_STAYING = frozenset({"wish", "plan", "past"})  # These cover a clause without a subject.
IN_DOUBT = frozenset({"question", "hypothetical", "joke", "role", "hearsay", "uncertain"})
_DENIAL = re.compile(
    r"不(?!但|仅|只|光|过|管|论|错)|没(?!错|事|关系)|别(?!人|的)|无|未(?!来)|戒|放弃[了啦吧]*$|\b(?:no|not|never|nobody|none|cannot|quit)\b|n't",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause.

    ``body`` is what follows the subject and the adverbs that do not change a fact. ``whose`` is USER, the noun of a person or
    an animal of the user's (妈妈, cat), OTHER for anyone else or UNKNOWN where the rules cannot tell. ``name`` is what that
    person is called, where the clause says so. ``lead`` is what stands before its subject. ``goes_on`` is whose a Chinese
    clause is that names nobody, if it goes on with what was told before.
    """

    text: str
    body: str
    whose: str
    mood: Mood
    lead: str = ""
    name: str = ""
    goes_on: str = UNKNOWN

    @property
    def owner(self) -> str:
        """``whose``, and where the clause names nobody, whose it is if it goes on with what was told before."""
        return self.goes_on if self.whose == UNKNOWN else self.whose

    @property
    def denies(self) -> bool:
        """Whether it has a word of denial: 不, 没有, "no longer"."""
        return _DENIAL.search(self.text) is not None


def read_clauses(message: str, language: Language) -> list[Clause]:
    """The clauses of ``message``, in order. Whoever needs more asks ``message.read``."""
    return _ClauseReader(table(language)).clauses(message)


def readable(message: str) -> str:
    """The part of a message that is read, without its outer blanks. Of a mark or a blank that stands more than three times in a
    row three stay: patterns that look ahead from each take the square of their number in time."""
    return _RUN.sub(r"\1\1\1", message[:LONGEST_READ]).strip()


def meant(clause: Clause, mood: Mood) -> Clause:
    """The same words, meant in another way."""
    return replace(clause, mood=mood)


class _ClauseReader:
    """One message as it is read; ``_introduced`` is the person or animal that it named last."""

    def __init__(self, patterns: PatternTable) -> None:
        self._table = patterns
        self._introduced = ""
        self._greets = False

    def clauses(self, message: str) -> list[Clause]:
        text, words = readable(message), self._table
        whole = self._mood_of("message", text)
        text = words["quote"].sub(self._unquoted, text.replace("’", "'") if words.language == "en" else text)
        joke = next(row.pattern for row in words.rows["moods"] if row.what == "joke text")
        if any(joke.search(aside) for aside in words["aside"].findall(text)):
            whole = whole or "joke"
        text = words["aside"].sub("，" if words.language == "zh" else " ", text)
        for pattern, instead in words.rewrites:
            text = pattern.sub(instead, text)
        self._greets = words["hello"].search(text) is not None
        clauses: list[Clause] = []
        for sentence in islice(words["sentence"].finditer(text), MAX_SENTENCES):
            clauses.extend(self._sentence(sentence.group().strip()[:LONGEST_SENTENCE], clauses))
        return [meant(clause, whole) for clause in clauses] if whole else self._jokes_taken_back(clauses)

    def _unquoted(self, match: re.Match[str]) -> str:
        """Quoted speech is somebody's words and becomes ○, a quoted name is only a name."""
        text = next(group for group in match.groups() if group is not None)
        return " ○ " if self._table["speech"].search(text) else text

    def _jokes_taken_back(self, clauses: Sequence[Clause]) -> list[Clause]:
        """A joke takes back what was said before it. One that is announced (开个玩笑, yeah right) covers what follows, too."""
        result: list[Clause] = []
        opening = False
        for number, clause in enumerate(clauses):
            if clause.mood == "joke":
                opening = opening or (number == 0 and bool(self._table["announced"].match(clause.text)))
                result = [meant(earlier, "joke") for earlier in result]
            elif opening:
                clause = meant(clause, "joke")
            result.append(clause)
        return result

    def _sentence(self, sentence: str, before: Sequence[Clause]) -> list[Clause]:
        words = self._table
        asks = re.search(r"[?？]", sentence) is not None
        whole = self._mood_of("sentence", sentence)
        drops = words.language == "zh"  # A Chinese sentence may leave out the subject of the one before it.
        whose = USER if drops else UNKNOWN
        last = before[-1] if before else None
        if last and drops:
            whose = last.goes_on if last.whose == UNKNOWN and last.goes_on != OTHER else last.whose
        elif last and last.whose not in (USER, UNKNOWN) and words["another"].search(last.text):
            whose = OTHER  # "She is ten. Turned ten in May."
        if drops and any(words["another"].search(clause.text) for clause in before if clause.whose == OTHER):
            whose = UNKNOWN  # She and I are both meant by now.
        mood: Mood = "said"
        clauses: list[Clause] = []
        parts = self._parts(sentence)
        for number, part in enumerate(parts):
            clause, explicit = self._clause(part, whose, (number == 0 and not before) or self._greets)
            own = whole or self._mood(clause, asks and number == len(parts) - 1)
            covered = not explicit and mood in _STAYING and not words["now"].search(part)
            if own == "said" and (mood in _CARRIED or covered):
                own = mood
            if clauses and words["tag"].fullmatch(part) and (asks or part.endswith(("吗", "吧"))):
                clauses[-1] = meant(clauses[-1], "question")
            mood, whose = (
                own,
                OTHER if own == "hearsay" else whose if clause.whose == UNKNOWN and drops else clause.whose,
            )
            clauses.append(meant(clause, own))
            introduced = words["introduces"].match(part[len(clause.lead) :]) if own == "said" else None
            if introduced and clause.whose in (USER, UNKNOWN):
                groups = introduced.groupdict("")
                self._introduced = groups["who"] or groups.get("other", "") or "宠物"
                whose = self._introduced if drops else whose
            elif clause.whose not in (USER, OTHER, UNKNOWN):
                self._introduced = clause.whose if own == "said" else ""
            elif named := words.rows["subjects"][0].pattern.match(part[len(clause.lead) :]):
                self._introduced = whose = named["who"]
        return clauses

    def _parts(self, sentence: str) -> list[str]:
        """Clauses of a sentence. A list (tea, coffee and cake) stays in one, and so does what leads into a clause."""
        words, parts, glue = self._table, list[str](), ""
        text = sentence.rstrip("。！？!?.；;…\n ")
        kept = [match.span() for match in words["whole"].finditer(text)]
        cuts = [cut.span() for cut in words["cut"].finditer(text)]
        cuts = [(start, end) for start, end in cuts if not any(a < start < b for a, b in kept)]
        start = 0
        for cut_at, cut_end in [*cuts, (len(text), len(text))]:
            part = text[start:cut_at].strip(" \t.:：,，~～")
            mark = text[cut_at:cut_end]
            if not part:
                start = cut_end
                continue
            if glue:
                part, glue = f"{glue}{part}", ""
            elif (
                parts
                and words.language == "en"
                and text[:start].rstrip().endswith((",", ", and"))
                and self._is_item(part)
            ):
                parts[-1] = f"{parts[-1]}, {part}"
                start = cut_end
                continue
            if mark and words["lead"].fullmatch(part):
                glue = part + mark
            else:
                parts.append(part)
            start = cut_end
        return parts if not glue else [*parts, glue.strip(" ,，")]

    def _is_item(self, part: str) -> bool:
        telling = ("same", "listed") if self._greets else ("same",)
        subjects = (row for row in self._table.rows["subjects"] if row.what in telling)
        return bool(self._table["item"].match(part)) and not any(row.pattern.match(part) for row in subjects)

    def _clause(self, part: str, inherited: str, opens: bool) -> tuple[Clause, bool]:
        """Subject and body of a clause, and whether its subject is spoken. A clause that ``opens`` a sentence may lack one."""
        words = self._table
        text = part
        while shorter := self._without("lead", self._without("time", text)):
            if shorter == text:
                break
            text = shorter
        lead = part[: len(part) - len(text)]
        if self._introduced and (pronoun := words["pronoun"].match(text)):
            return Clause(part, self._bare(text[pronoun.end() :]), self._introduced, "said", lead), True
        if (self._introduced or inherited not in (USER, UNKNOWN)) and words["naming"].fullmatch(text):
            return Clause(part, text, self._introduced, "said", lead), True
        for row in words.rows["subjects"]:
            owner, *whole = row.what.split()
            if (owner == "start" and (inherited != UNKNOWN or not opens)) or (owner == "listed" and not self._greets):
                continue
            if match := row.pattern.match(self._bare(text) if owner == "same" else text):
                groups = match.groupdict("")
                whose = {"user": USER, "start": USER, "listed": USER, "other": OTHER, "same": inherited}.get(
                    owner
                ) or groups.get("who", "").lower()
                body = text if whole else self._bare(text[match.end() :])
                return Clause(part, body, whose, "said", lead, groups.get("name", "")), owner != "same"
        goes_on = inherited if words.language == "zh" else UNKNOWN
        return Clause(part, self._bare(text), UNKNOWN, "said", lead, goes_on=goes_on), False

    def _without(self, name: str, text: str) -> str:
        if name == "time" and self._table.language == "en":
            return text
        match = self._table[name].match(text)
        return text[match.end() :] if match and match.end() < len(text) else text

    def _bare(self, body: str) -> str:
        while (shorter := self._without("time", self._without("adverb", body.strip(" ，,:：")))) != body and shorter:
            body = shorter
        return body

    def _mood(self, clause: Clause, is_question: bool) -> Mood:
        for row in self._table.rows["moods"]:
            mood, where = row.what.split()
            if where in ("body", "theirs"):
                fits = clause.whose and (where == "body" or clause.whose != USER) and row.pattern.match(clause.body)
            else:
                fits = where == "text" and row.pattern.search(clause.text)
            if mood == "question" and (is_question or row.pattern.search(clause.text[len(clause.lead) :])):
                return "question"
            if fits and not (mood == "joke" and self._table["earnest"].search(clause.text)):
                return cast(Mood, mood)
        return "said"

    def _mood_of(self, where: str, text: str) -> Mood | None:
        rows = (row for row in self._table.rows["moods"] if row.what.endswith(where) and row.pattern.search(text))
        row = next(rows, None)
        return cast(Mood, row.what.split()[0]) if row else None


@lru_cache(maxsize=1024)
def letters_of(text: str) -> str:
    """The letters and digits of a text, in small letters."""
    return "".join(char for char in text.casefold() if char.isalnum())
