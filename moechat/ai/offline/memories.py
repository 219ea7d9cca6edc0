"""What may answer a question without a model: the messages of the talk and what was recalled, and how well each fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline.lines import ANYONE, Ears, kin
from moechat.ai.offline.retelling import fact_to_user, said_by_user, second_person
from moechat.encoder.builtin import builtin
from moechat.errors import EmbeddingError
from moechat.language.words import is_stop_word, tokens
from moechat.model import Hit, Layer
from moechat.reading.asking import asks, asks_by_form
from moechat.reading.saying import saying
from moechat.rules import message
from moechat.rules.clause import MAX_SENTENCES, Clause
from moechat.when import LONGEST_READ, Span, resolve
from moechat.when.names import has_han, tongue_of

_SENTENCE = re.compile(r"[^.。!！?？;；\n]+")
LONGEST_TOLD = 200  # Of a message of more characters the sentence that answers is told.
ENOUGH = 2.0  # A memory that shares less than this with a question is no answer to it.
MEANING, UNLIKE = 8.0, 0.2  # A cosine of .45 to the question is enough by itself.
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


class Memories:
    """The memories behind one request, for the times ``spans``: those of the talk, newest first, then the recalled ones."""

    def __init__(self, request: ChatRequest, ears: Ears, names: tuple[str, str], spans: Sequence[Span]):
        self._ears, self._names, self._spans = ears["words"], names, spans
        # One question is held against every memory: what it says and whom it names is read once.
        self.people, self.content = cache(kin), cache(self._content)
        self._subjects, self._small_talk = ears["subjects"], ears["short"].values()
        talk = [e for e in request.context if e.char or e.user.strip() != request.text.strip()]
        words = [e.user for e in talk]
        every = [
            one for at in reversed(range(len(talk))) for one in self._of("context", words[at], talk[at].at, words[:at])
        ]
        self.all = every + [one for hit in request.hits for one in self._of_hit(hit)]

    def _of_hit(self, hit: Hit) -> list[Told]:
        if hit.layer in ("core", "lore"):
            return [Told(hit.layer, hit.text, hit.time, named=hit.layer == "lore" and bool(hit.words))]
        by_time = hit.episode is not None and (hit.span is not None or hit.recipe == "by_time")
        messages = self._of("diary", said_by_user(hit.text, *self._names), hit.time, ())
        return [replace(one, text=self._spoken(one.text), dated=one.dated or int(by_time)) for one in messages]

    def _of(self, layer: Layer, text: str, at: datetime | None, before: Sequence[str]) -> list[Told]:
        """What of a message can answer: all of it, or each sentence of a long one. Questions, requests and play cannot."""
        text = text[:LONGEST_READ]
        clauses = [clause.text for clause in message.read(text, before).clauses if self._tells(clause)]
        words = {word for clause in clauses for word in content_words(clause)}
        if not clauses or saying(text).kind == "record" or (len(words) < LEAST_TOLD and asks(text)):
            return []
        belongs = {clause: self._belongs(clause, at) for clause in clauses}
        sentences = [text] if len(text) <= LONGEST_TOLD else _SENTENCE.findall(text)
        parts = list(dict.fromkeys(map(str.strip, sentences)))[:MAX_SENTENCES]
        telling = [(part, [own for one, own in belongs.items() if one in part or len(parts) == 1]) for part in parts]
        return [Told(layer, part, at, max(own)) for part, own in telling if own]

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
        """Memories that share enough with the question, best first."""
        return [memory for score, memory in self.weighed(question, memories) if score >= ENOUGH]

    def weighed(self, question: str, memories: Sequence[Told] | None = None) -> list[tuple[float, Told]]:
        """How well each memory fits the question, best first; the first of equals wins."""
        whole = self.all if memories is None else memories
        near = self._near(question, whole)
        scores = [(self.match(question, memory, near[at]), memory) for at, memory in enumerate(whole)]
        return sorted(scores, key=lambda one: -one[0])

    def _near(self, question: str, memories: Sequence[Told]) -> list[float]:
        """How near each memory lies to the question in meaning, in the measure of ``match``; 0 without the embedding."""
        try:
            vectors = builtin().embed([question, *(one.text for one in memories)])
        except EmbeddingError:
            return [0.0] * len(memories)
        return [MEANING * max(0.0, near - UNLIKE) for near in (vectors[1:] @ vectors[0]).tolist()]

    def match(self, question: str, memory: Told, near: float = 0.0) -> float:
        """How much a memory shares with the question, beside how ``near`` it is in meaning."""
        ears, text, there = self._ears, memory.text, set(tokens(memory.text))
        content = self.content(question).items()
        weights = {w: weight for w, weight in content if w in there or (has_han(w[0]) and w in text)}
        subjects = [s for s in self._subjects.items() if s[1].search(question)]
        is_of_user = near < ENOUGH and bool(ears["tells"].search(text))
        if self.is_of_another(question, text, or_of_user=not weights and (memory.layer == "core" or is_of_user)):
            return 0.0
        if not weights:  # 闺女 is 女儿.
            weights = dict.fromkeys((self.people(question) & self.people(text)) - ANYONE, 2.0)
        weights |= {name: 3.0 for name, subject in subjects if subject.search(text)}
        of_the_past = bool(ears["formerly"].search(question))
        is_now = memory.layer == "core" and not self._spans and all(subject.search(text) for _, subject in subjects)
        is_aside = memory.layer == "core" and not self.people(question) and bool(self.people(text) - ANYONE)
        score = near + sum(weights.values()) - 1.0 * is_aside  # where I live, not where my mother does
        words = {word for word, _ in content if len(word) > (1 if has_han(word[0]) else 2)}
        words = {word for word in words if not self.people(word)}
        is_named, is_else = bool(words & weights.keys()), bool(words) and words.isdisjoint(weights)
        for this, other in ((ears["likes"], ears["dislikes"]), (ears["dislikes"], ears["likes"])):
            if this.search(question) and not other.search(question):
                yes_or_no = is_named and memory.layer == "core"  # 我喜欢香菜吗: whichever is known of it
                fits = 3.0 * (not is_else) if this.search(text) else -4.0
                score += 0.0 if yes_or_no and fits < 0 else fits - 2.0 * bool(fits < 0 and other.search(text))
        if score >= ENOUGH:
            fits_then = 3.0 * bool(ears["formerly"].search(text))  # where I lived, not where I live
            score += (memory.dated > 1) + (fits_then if of_the_past else 2.5 * is_now)
        if memory.layer == "lore":
            asks_mine = bool(ears["mine"].search(question))
            if asks_mine and self.people(question) - ANYONE:  # my grandmother is none of the world book's
                return 0.0
            score += 3.0 * memory.named - 1.0 * asks_mine
        return score

    def is_of_another(self, question: str, text: str, *, or_of_user: bool = False) -> bool:
        """Whether a question names somebody (my sister) and the text somebody else, or ``or_of_user`` nobody."""
        asked_of, named = self.people(question), self.people(text)
        is_somebody = bool(named - ANYONE) or or_of_user
        return bool(asked_of) and is_somebody and (asked_of - ANYONE or asked_of).isdisjoint(named)

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


def content_words(text: str) -> dict[str, None]:
    """The words that say something, in the order of the text."""
    return dict.fromkeys(word for word in tokens(text, bigrams=False) if not is_stop_word(word))
