"""Questions about the record, answered from facts and plans alone: of whom something is asked, and what.

Nothing here looks for the nearest sentence: where no fact says it, nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline import lines
from moechat.ai.offline.retelling import ENDS, fact_to_user
from moechat.language.words import is_stop_word, tokens
from moechat.model import Episode, FactDraft
from moechat.reading.examples import FOOD, MAY, NAMED, STATE, WILL, eating, stated, wanted
from moechat.reading.frames import LIKELY
from moechat.reading.saying import EVERYDAY
from moechat.rules import foods
from moechat.rules.reading import understand
from moechat.when import Span, resolve
from moechat.when.names import MONTHS, has_han, tongue_of
from moechat.worker import lazy

MAX_PLANS = 5
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATED = re.compile(r"\s*[（(]\d{4}-\d\d-\d\d[^()（）]*[)）]")
FOR_THE_RECORD = 0.55  # A question as near as this to those for what somebody cannot eat asks no leave.
_CARE = ("allergy", "health")
_ALSO = {
    "job": ("job", "employer"),
    "employer": ("employer", "job"),
    "school": ("school", "grade"),
    "major": ("major", "learning"),
    "language": ("language", "learning"),
    "like": ("taste",),
    "dislike": ("taste",),
}
USER = "user"
_LEAD_EN = re.compile(r"\s*\b(?:on|in|at|for|by|until|this|next)\s*$")


@dataclass(frozen=True)
class Asked:
    """``whose``: "user", or names and relations (``kin`` of the patterns). ``what``: the class of a keyword, or who, have,
    name."""

    whose: frozenset[str]
    what: str


class Knowledge:
    """What is known at one request, with the keyword of each fact as its class."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._user_name = request.character.user_name if request.character else ""

    @lazy
    def facts(self) -> list[FactDraft]:
        """The facts of memory, else those that the talk states."""
        if self._request.facts:
            return list(self._request.facts)
        talk = [e for e in self._request.context if e.user.strip() != self._request.text.strip()]
        stated = [draft for exchange in talk for draft in understand(exchange).facts]
        newest = {(d.entity, d.keyword) if d.single else (d.entity, d.keyword, d.target): d for d in stated}
        return [replace(draft, keyword=_class_of(draft)) for draft in newest.values()]

    def asked(self, question: str) -> Asked | None:
        """What a question asks of the record; None where it asks nothing of it."""
        (what, _), whose = wanted(question), frozenset(self._named(question)) or lines.kin(question)
        of_user = bool(lines.ears(tongue_of(question))["words"]["mine"].search(question))
        whose = whose or (frozenset({USER}) if of_user else whose)
        return Asked(whose, NAMED if what == "name" and USER not in whose else what) if whose and what else None

    def known(self, question: Asked) -> list[FactDraft]:
        """The facts that answer, what was told last behind the rest."""
        classes = _ALSO.get(question.what, (question.what,))
        if question.whose == {USER}:
            own = [fact for fact in self.facts if fact.entity == USER]
            fitting = [
                fact for fact in own
                if fact.keyword in classes and (fact.polarity < 0) == (question.what == "dislike")
            ]  # fmt: skip
            return fitting or [fact for fact in own if fact.mark == "care" and question.what in _CARE]
        groups, names = question.whose, {name for name in question.whose if name not in _groups()}
        relations = [
            fact
            for fact in self.facts
            if fact.kind == "relation"
            and (question.what != NAMED or (not names and stated(fact.text, NAMED)[0] >= LIKELY))
            and (fact.target.casefold() in names or not groups.isdisjoint(lines.kin(fact.text)))
        ]
        if question.what in (NAMED, "who", "have"):
            return relations
        people = {*names, *(fact.target.casefold() for fact in relations)}
        theirs = [
            fact
            for fact in self.facts
            if fact.entity != USER
            and (fact.entity.casefold() in people or not groups.isdisjoint(lines.kin(fact.entity)))
        ]
        return [fact for fact in theirs if fact.keyword in classes]

    def to_user(self, fact: FactDraft) -> str:
        return self._told_to_user(fact.text)

    def _told_to_user(self, text: str) -> str:
        return fact_to_user(text, self._user_name, tongue_of(text)) or text.strip(ENDS)

    @property
    def day(self) -> str:
        """A birthday of today, told to the user."""
        return self._told_to_user(next((one.shorter[0] for one in self._request.days if one.shorter), ""))

    def on_its_day(self, line: str) -> str:
        """The name of a line, or of that which greets with the day."""
        return "greet_day" if line == "greet" and self.day else line

    def cannot_take(self, *, of_others: bool = False) -> list[FactDraft]:
        """What the user's own body does not take, or that of others."""
        of_body = (
            fact for fact in self.facts if fact.keyword == "diet" or (fact.polarity > 0 and fact.keyword in _CARE)
        )
        return [
            fact
            for fact in of_body
            if (fact.entity != "user") == of_others and (fact.keyword == "allergy" or foods.named(fact.target))
        ]

    def touched(self, text: str) -> list[FactDraft]:
        """What the user's own body does not take of what a text names."""
        return [fact for fact in self.cannot_take() if touches(text, fact)]

    def asks_to_eat(self, text: str) -> bool:
        """Whether a text asks for leave to eat; what the body does not take is not asked for alone, and one may be about to."""
        if not (foods.words(text) or lines.ears(tongue_of(text))["words"]["food"].search(text)):
            return False
        if wanted(text)[0] == "allergy" and wanted(text)[1] >= FOR_THE_RECORD:
            return False
        kind = eating(foods.besides(text, FOOD, STATE))
        if kind == WILL:
            return bool(self.touched(text))
        if kind == MAY or kind not in ("", EVERYDAY) or not text.rstrip().endswith(("?", "？")):
            return kind == MAY
        recalls = lines.ears(tongue_of(text))["words"]["recalls"]
        return not (recalls.search(text) or self._named(text) or lines.kin(text)) and bool(self.touched(text))

    # ---- plans

    def coming(self, spans: Sequence[Span] = ()) -> list[tuple[str, str]]:
        """(day, what) of the plans ahead, by date; of those ``spans`` alone where there are any."""
        ahead = [
            (day[0], plan)
            for plan in self._request.plans
            if (day := plan.event.happened) and plan.event.mark != "delicate"
            and (not spans or any(span.start <= day[1] and day[0] <= span.end for span in spans))
        ]  # fmt: skip
        return list(dict.fromkeys(self._told(plan) for _, plan in sorted(ahead, key=lambda one: one[0])))[:MAX_PLANS]

    def meant(self, question: str) -> list[tuple[str, str]]:
        """(day, what) of the plans that a question names."""
        words = {word for word in tokens(question) if not is_stop_word(word)}
        fitting = [one for one in self._request.plans if words & set(tokens(_bare(one)))]
        return [self._told(one) for one in fitting if one.event.happened]

    def _told(self, plan: Episode) -> tuple[str, str]:
        text = _bare(plan)
        start = plan.event.happened[0] if plan.event.happened else plan.since
        zh = has_han(text)
        return day_name(start, "zh" if zh else "en"), fact_to_user(text, self._user_name, "zh" if zh else "en") or text

    def _named(self, question: str) -> set[str]:
        """The names of people and animals of the record that a question has."""
        low = question.casefold()
        names = {f.entity.casefold() for f in self.facts if f.entity not in ("user", "character")}
        names |= {f.target.casefold() for f in self.facts if f.kind == "relation"}
        named = {name for name in names if len(name) > 1 and not lines.kin(name) and not is_stop_word(name)}
        return {name for name in named if re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z])", low)}


def day_name(at: datetime, language: str) -> str:
    """A day for people: Thursday 7 May, 5月7日周四."""
    if language == "zh":
        return f"{at.month}月{at.day}日周{'一二三四五六日'[at.weekday()]}"
    return f"{WEEKDAYS[at.weekday()]} {at.day} {MONTHS[at.month - 1]}"


def _bare(plan: Episode) -> str:
    """A plan without the time that its words name: its date stands before it."""
    text = _DATED.sub("", plan.event.text)
    for span in resolve(text, plan.since, use="writing"):
        before, phrase, after = text.partition(span.phrase)
        text = f"{_LEAD_EN.sub('', before)}{after}" if phrase else text
    return re.sub(r"\s+", " ", text).strip(f"{ENDS}、 ")


def _groups() -> frozenset[str]:
    return frozenset(lines.ears("en")["kin"])


def _class_of(draft: FactDraft) -> str:
    names = (name for name, one in lines.ears("zh")["keywords"].items() if one.fullmatch(draft.keyword))
    return next(names, draft.keyword)


def touches(text: str, fact: FactDraft) -> bool:
    """Whether a text names what the body does not take, or what belongs to that (cheese to dairy)."""
    thing = fact.target.casefold()
    return foods.touches(text, thing) or (len(thing) > 1 and not foods.named(thing) and thing in text.casefold())
