"""What may answer a question without a model: the messages of the talk and what was recalled, and how well each fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline.lines import ANYONE, Ears, kin
from moechat.ai.offline.retelling import fact_to_user, said_by_user, second_person
from moechat.language.words import is_stop_word, tokens
from moechat.model import FactDraft, Hit, Layer
from moechat.reading.examples import Asking, nearness_of, stated, wanted
from moechat.reading.frames import LIKELY
from moechat.reading.saying import asks, asks_by_form, first_and_last, saying
from moechat.rules import message
from moechat.rules.clause import MAX_SENTENCES, Clause
from moechat.when import LONGEST_READ, Span, both_ends, resolve
from moechat.when.names import has_han, tongue_of
from moechat.worker import lazy

_CLAUSE = re.compile(r"[^,，.。!！?？;；\n]+?(?= (?=[一-龥])|[,，.。!！?？;；\n]|$)")
_SENTENCE = re.compile(r"[^.。!！?？;；\n]+")
LONGEST_TOLD = 200  # Of a message of more characters the sentence that answers is told.
LONGEST_WEIGHED = 600  # Of a longer message the beginning and the end are weighed as an answer.
ENOUGH = 0.5  # A memory that answers a question with less than these log odds is no answer to it.
NEAREST = -1.5  # With these it is told as the nearest there is.
SHARED = 2.0  # An entry of the world book shares as much with a question that it answers.
SHORTLIST = 12  # So many are looked at closely.
MOST_CLAUSES = 24  # These of a memory are weighed one by one, the first and the last.
# What that adds to the log odds (see ``Asking``), or takes from them, by the same regression; but what facts and what is no
# longer so take was set by hand: beside each fact stood the words that it rests on, and what was once was asked for too seldom.
OF_ANOTHER, A_FACT, A_FACT_STATES, TELLS_NOTHING, OF_THAT_TIME, FORMERLY = -1.35, -3.0, 4.0, -2.9, 2.1, -2.0
NOTHING_TOLD = frozenset("question record greeting goodnight".split())
LESS = 1.5  # A fact answers though a message lies nearer to a question by this.
OF_ONESELF = frozenset({"name", "age", "birthday", "home", "hometown", "job", "employer", "allergy", "health"})
_WHO = re.compile(r"\b(?:who|which|or)\b|谁|还是", re.IGNORECASE)  # It may be anybody's.
_THIRD = re.compile(r"^(?:用户|(?:The )?User\b)", re.IGNORECASE)
MEANING, UNLIKE = 8.0, 0.2  # An entry of the world book whose cosine to the question is .45 shares enough by itself.
LEAST_TOLD = 2  # A message that asks also tells something where so many words beside the question say something.
EARNEST = ("said", "past", "plan", "wish", "uncertain")


@dataclass(frozen=True)
class Told:
    """What may answer: a message of the user's, a fact or an entry of the world book, and when it was told. ``dated`` says how
    it belongs to the time that was asked for: 3 it happened then, 2 it was told then of no other time, 1 of another, 0
    neither."""

    layer: Layer
    text: str
    at: datetime | None = None
    dated: int = 0
    named: bool = False  # the question names an entry of the world book
    sources: tuple[str, ...] = ()  # the exchanges that it rests on


@dataclass(frozen=True)
class _Spoken:
    """A message of the user's as it was sent, with those ``before`` it; ``by_time``: it was found by its time."""

    layer: Layer
    text: str
    at: datetime | None
    before: Sequence[str] = ()
    by_time: bool = False
    sources: tuple[str, ...] = ()


class Memories:
    """The memories behind one request, for the times ``spans``: those of the talk, newest first, then the recalled ones."""

    def __init__(self, request: ChatRequest, ears: Ears, names: tuple[str, str], spans: Sequence[Span]):
        self._ears, self._names, self._spans = ears["words"], names, spans
        # One question is held against every memory: what it says and whom it names is read once.
        self.people, self.content = cache(kin), cache(self._content)
        self._first = "我" if request.character and request.character.language == "zh" else "I"
        self._small_talk = ears["short"].values()
        talk = [e for e in request.context if e.char or e.user.strip() != request.text.strip()]
        words = [e.user for e in talk]
        self._talk = [
            _Spoken("context", words[at], talk[at].at, words[:at], sources=(talk[at].id,))
            for at in reversed(range(len(talk)))
        ]
        self._hits, self._further = request.hits, request.further

    @lazy
    def all(self) -> list[Told]:
        recalled = (self._of_hit(hit) for hit in self._hits)
        return [one for row in (*map(self._of, self._talk), *recalled) for one in row]

    def _of_hit(self, hit: Hit) -> list[Told]:
        if hit.layer in ("core", "lore"):
            return [Told(hit.layer, hit.text, hit.time, 0, hit.layer == "lore" and bool(hit.words), hit.sources)]
        return self._of(self._message(hit))

    def _message(self, hit: Hit) -> _Spoken:
        by_time = hit.episode is not None and (hit.span is not None or hit.recipe == "by_time")
        return _Spoken("diary", said_by_user(hit.text, *self._names), hit.time, (), by_time, hit.sources or (hit.id,))

    def _of(self, sent: _Spoken) -> list[Told]:
        """What of a message can answer: all of it, or each sentence of a long one. Questions, requests and play cannot."""
        text = sent.text[:LONGEST_READ]
        clauses = [clause.text for clause in message.read(text, sent.before).clauses if self._tells(clause)]
        words = {word for clause in clauses for word in content_words(clause)}
        if not clauses or saying(sent.text).kind == "record" or (len(words) < LEAST_TOLD and asks(text)):
            return []
        belongs = {clause: self._belongs(clause, sent.at) for clause in clauses}
        sentences = [text] if len(text) <= LONGEST_TOLD else _SENTENCE.findall(text)
        parts = list(dict.fromkeys(map(str.strip, sentences)))[:MAX_SENTENCES]
        telling = [(part, [own for one, own in belongs.items() if one in part or len(parts) == 1]) for part in parts]
        spoken = self._spoken if sent.layer == "diary" else str
        return [
            Told(sent.layer, spoken(part), sent.at, max(*own, int(sent.by_time)), sources=sent.sources)
            for part, own in telling
            if own
        ]

    def _tells(self, clause: Clause) -> bool:
        ears = self._ears
        small = (
            len(clause.text.split()) <= 2
            and len(clause.text) <= 12
            and any(s.search(clause.text) for s in self._small_talk)
        )
        return (
            clause.mood in EARNEST
            and not asks_by_form(clause.text)
            and not small
            and not ears["request"].search(clause.text)
        )

    def _spoken(self, text: str) -> str:
        """An understood event speaks of the user in the third person: it is told to the user."""
        own = re.match(r"我|I\b|My\b", text)
        return text if own else fact_to_user(text, self._names[0], tongue_of(text)) or text

    def _belongs(self, text: str, at: datetime | None) -> int:
        """How a memory that was told at ``at`` belongs to the times that were asked for (see Told)."""
        if not self._spans or at is None:
            return 0
        own = resolve(text, at, use="writing")
        if any(one.start <= span.end and span.start <= one.end for one in own for span in self._spans):
            return 3
        return any(span.covers(at) for span in self._spans) * (1 if own else 2)

    def ranked(self, question: str, memories: Sequence[Told] | None = None) -> list[Told]:
        """Memories that answer a question, best first."""
        return [memory for score, memory in self.weighed(question, memories) if score >= ENOUGH]

    def weighed(self, question: str, memories: Sequence[Told] | None = None) -> list[tuple[float, Told]]:
        """How well each memory answers a question, best first, in log odds; the first of equals wins."""
        cards = [one for hit in self._hits if hit.layer in ("core", "lore") for one in self._of_hit(hit)]
        lore = [one for one in cards if one.layer == "lore"] if memories is None else memories
        world = [(self._shared(question, one) - SHARED + ENOUGH, one) for one in lore]
        own = self._of_life(question, [one for one in cards if one.layer == "core"]) if memories is None else []
        return sorted([*own, *world], key=lambda one: -one[0])

    def _of_life(self, question: str, facts: Sequence[Told]) -> list[tuple[float, Told]]:
        """How likely each of what the user told, and of these facts, answers a question, in log odds."""
        recalled = [self._message(hit) for hit in (*self._hits, *self._further) if hit.layer == "diary"]
        every: dict[str, _Spoken | Told] = {}
        for spoken in (*self._talk, *recalled):
            every.setdefault(spoken.text, spoken)
        for fact in facts:
            every.setdefault(fact.text, fact)
        return self._likely(question, list(every.values()))

    def _likely(self, question: str, memories: Sequence[_Spoken | Told]) -> list[tuple[float, Told]]:
        """How likely each of the nearest memories answers a question, in log odds."""
        # A fact is read as the user would tell it.
        texts = [
            both_ends(one.text if isinstance(one, _Spoken) else _THIRD.sub(self._first, one.text), LONGEST_WEIGHED)
            for one in memories
        ]
        asking, (kind, _) = Asking(question, texts), wanted(question)
        people = self.people(question) - ANYONE
        is_own, is_past = not people and self._hears("mine", question), self._hears("formerly", question)
        rows: list[tuple[float, Told]] = []
        for at in asking.nearest(SHORTLIST):
            one, text = memories[at], texts[at]
            parts, named = [one] if isinstance(one, Told) else self._of(one), self.people(text) - ANYONE
            likely, own = stated(text, kind)
            own = own if is_own else 1 - own
            if isinstance(one, Told):
                own = float(not named or kind == "have" if is_own else not named.isdisjoint(people))
            if kind in OF_ONESELF and is_own and likely >= LIKELY and own < LIKELY and not _WHO.search(question):
                continue  # It is somebody else's.
            pieces = first_and_last(_CLAUSE.findall(text) or [text], MOST_CLAUSES)
            score = asking.log_odds(at, pieces, likely * own) + OF_ANOTHER * self.is_of_another(question, text)
            score += (A_FACT + A_FACT_STATES * likely * own) * isinstance(one, Told)
            score += TELLS_NOTHING * (saying(text).kind in NOTHING_TOLD)
            score += FORMERLY * (not is_past and self._hears("formerly", text))
            rows += [(score + OF_THAT_TIME * (part.dated > 1), part) for part in parts]
        return rows

    def _hears(self, name: str, text: str) -> bool:
        return bool(self._ears[name].search(text))

    def _shared(self, question: str, memory: Told) -> float:
        """How much an entry of the world book, or a sentence of the persona, shares with a question."""
        ears, text, there = self._ears, memory.text, set(tokens(memory.text))
        if self.is_of_another(question, text):
            return 0.0
        weights = {w: n for w, n in self.content(question).items() if w in there or (has_han(w[0]) and w in text)}
        asks_mine = bool(ears["mine"].search(question))
        if asks_mine and self.people(question) - ANYONE:  # my grandmother is none of the world book's
            return 0.0
        (near,) = nearness_of(question, [text])
        return MEANING * max(0.0, near - UNLIKE) + sum(weights.values()) + 3.0 * memory.named - 1.0 * asks_mine

    def is_of_another(self, question: str, text: str) -> bool:
        """Whether a question names somebody (my sister) and the text somebody else."""
        asked_of, named = self.people(question), self.people(text)
        return bool(asked_of) and bool(named - ANYONE) and (asked_of - ANYONE or asked_of).isdisjoint(named)

    def _content(self, text: str) -> dict[str, float]:
        """The words of a question that say what it is about, with their weight; times are matched as times."""
        for span in self._spans:
            text = text.replace(span.phrase, " ")
        empty = self._ears["empty_words"]
        return {word: 1.0 if len(word) == 1 else 2.0 for word in content_words(text) if not empty.fullmatch(word)}

    def to_user(self, memory: Told) -> str:
        """A memory told to the user as "you", "" where that is not safe."""
        if memory.layer == "core":
            return fact_to_user(memory.text, self._names[0], tongue_of(memory.text))
        return second_person(memory.text, tongue_of(memory.text))


def borne_out(facts: Sequence[FactDraft], weighed: Sequence[tuple[float, Told]]) -> list[FactDraft]:
    """The facts that rest on what answers a question about as well as anything does; all where nothing answers it."""
    answers = [(score, one) for score, one in weighed if one.layer != "lore" and score >= ENOUGH]
    best = max((score for score, _ in answers), default=ENOUGH)
    sources = {id_ for score, one in answers if score >= best - LESS for id_ in one.sources}
    return [fact for fact in facts if not answers or not fact.sources or not sources.isdisjoint(fact.sources)]


def content_words(text: str) -> dict[str, None]:
    """The words that say something, in the order of the text."""
    return dict.fromkeys(word for word in tokens(text, bigrams=False) if not is_stop_word(word))
