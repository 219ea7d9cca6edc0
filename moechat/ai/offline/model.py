"""The model that serves when none is connected: it answers from what memory recalled and pretends nothing.

It understands no language. It finds, in what the user said before, in facts and in the world book, the clause that
shares most with a question, and says it back; its lines are in ``lines``. Equal requests get equal replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zlib import crc32

from moechat.ai.chat_model import ChatRequest
from moechat.ai.offline.lines import EARS, LINES, Ears
from moechat.ai.offline.retelling import ENDS, fact_to_user, retold, said_by_user, second_person
from moechat.errors import ModelError
from moechat.model import Hit, Layer, Message
from moechat.rules.clause import Clause
from moechat.when import Span
from moechat.when.names import has_han

ENOUGH = 2.0  # A memory that shares less than this with a question is no answer to it.
LISTED = 3  # An enumeration has this many memories.
REMARK_WORDS = 6  # A message with more words is more than a greeting.

_NEGATIVE = re.compile(r"不|没|讨厌|受不了|\bnot\b|n't\b|no longer|\bhates?\b|dislikes?|never")
_PIECES = re.compile(r"[\x21-\x7e]+\s*|[\s\S]")
_EARNEST = ("said", "past", "plan", "wish", "uncertain")


@dataclass(frozen=True)
class AnswerClause:
    """One clause that may answer: who keeps it and when it was told. ``dated`` says how it belongs to the time that was
    asked for: 2 it happened then, 1 it was told then, 0 neither."""

    layer: Layer
    text: str
    at: datetime | None = None
    dated: int = 0
    source: str = ""
    place: int = 0  # of the clause in its source
    named: bool = False  # the question names an entry of the world book


class OfflineModel:
    """A chat model without a language model. ``NOTICES`` say, by language, how to connect one."""

    name = "offline"
    understands = False

    def stream(self, request: ChatRequest) -> Iterator[str]:
        """The reply in small pieces; never raises."""
        yield from _PIECES.findall(_OfflineReply(request).reply())

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """Always raises ModelError: it understands nothing."""
        raise ModelError("other", "No language model is connected: set chat.base_url and chat.model in config.yaml.")


class _OfflineReply:
    """One request that is being answered.

    It has more than twenty methods because each kind of question and remark is answered by one of its own.
    """

    def __init__(self, request: ChatRequest) -> None:
        self.request, self.text = request, request.text.strip()
        character = request.character
        self.language = character.language if character else "zh" if has_han(self.text) else "en"
        self.name = character.name if character else "MoeChat"
        self.user_name = character.user_name if character else ""
        self.ears: Ears = EARS[self.language]
        self.clauses = _read(self.text)
        self.context = [e for e in request.context if e.char or e.user.strip() != self.text]

    def reply(self) -> str:
        if not self.text.strip(ENDS + "?？"):
            return self._line("empty")
        statements = self._statements()
        question = self._question()
        if question and not (statements and not self._content(question) and not self.request.spans):
            return self._answer(question)
        return self._remark(statements)

    def _statements(self) -> list[str]:
        """The clauses that tell something of the user: those that say so or name a time, and what goes on from them."""
        statements: list[str] = []
        for clause in self.clauses:
            certain = self.ears.tells.search(clause.text) or clause.lead or clause.mood == "plan" or statements
            if clause.mood in _EARNEST and (clause.whose or clause.mood == "plan") and certain:
                statements.append(clause.text)
        return statements

    def _question(self) -> str:
        """The part of the message that asks, "" where nothing does."""
        questions = [c.text for c in self.clauses if c.mood == "question"]
        if questions and len(questions) < len(self.clauses):
            return " ".join(questions)
        if self.ears.asks_nothing.search(self.text) and not self.text.endswith(("?", "？")):
            return ""
        return self.text if questions or self.ears.asks.search(self.text) else ""

    # ---- answers

    def _answer(self, question: str) -> str:
        ears, request = self.ears, self.request
        if ears.who.search(question):
            return self._line("who")
        if ears.clock.search(question) and request.now:
            return self._line("clock", clock=f"{request.now:%H:%M}", date=self._day(request.now, full=True))
        memories = self._memories()
        if ears.about_me.search(question) and not request.spans:
            return self._about_user(memories)
        if ears.advice.search(question):
            return self._line("advice")
        question = ears.address.sub(" ", question)
        if ears.yours.search(question) and not ears.mine.search(question):
            memories = [m for m in memories if m.layer == "lore"]
            if not self._ranked(question, memories):
                return self._line("not_mine")
        ranked = self._ranked(question, memories)
        if request.spans:
            return self._answer_about_time(ranked, memories)
        if ranked and (ears.likes.search(question) or ears.dislikes.search(question)):
            return self._tell_tastes(question, ranked)
        if ranked:
            return self._tell(ranked[0])
        if request.unread_until is not None:
            return self._line("unread")
        if not ears.mine.search(question):
            return self._line("not_known")
        vague = next((m for m in memories if m.layer in ("core", "diary")), None)
        return self._line("unsure", said=self._quoted(vague)) if vague else self._line("not_told")

    def _answer_about_time(self, ranked: Sequence[AnswerClause], memories: Sequence[AnswerClause]) -> str:
        """The answer about an asked time: the best memory, else everything that was said then, else that there is no
        record.
        """
        fitting = [m for m in ranked if m.dated]
        if fitting:
            return self._tell(fitting[0])
        of_that_time = [m for m in memories if m.dated and m.layer != "lore"]
        if of_that_time and not self._content(self.text):
            return self._enumerate(of_that_time)
        spans = self.request.empty_spans or self.request.spans
        unread = self.request.unread_until
        is_read = unread is None or spans[0].start > unread
        gap = self._line("no_record", phrase=spans[0].phrase) if is_read else self._line("unread")
        if of_that_time:
            return self._enumerate(of_that_time)
        return f"{gap}{self.ears.glue}{self._line('but_then', said=self._tell(ranked[0]))}" if ranked else gap

    def _about_user(self, memories: Sequence[AnswerClause]) -> str:
        facts = [m for m in memories if m.layer == "core"] or [m for m in memories if m.layer == "context"]
        if not facts:
            return self._line("not_told" if self.request.unread_until is None else "unread")
        return self._line("about_you", said=self._joined(facts))

    def _tell(self, memory: AnswerClause) -> str:
        if memory.layer == "lore":
            return self._line("lore", said=self._retold(memory.text))
        you = self._second_person(memory)
        if memory.layer == "core" or (you and not (memory.at and _own_times(memory.text, memory.at))):
            return self._line("known", said=_capitalised(you or memory.text))
        day = self._day(memory.at)
        if not day:
            return self._line("told_now", said=you or memory.text)
        that_day = any(span.covers(memory.at) for span in self.request.spans) if memory.at else False
        return self._line(
            "told_that_day" if that_day else "told_then", said=memory.text, day=self._day(memory.at, full=that_day)
        )

    def _tell_tastes(self, question: str, ranked: Sequence[AnswerClause]) -> str:
        """There may be several answers to what somebody likes: all that fit as well as the best."""
        best, _ = self._match(question, ranked[0])
        alike = [m for m in ranked if self._match(question, m)[0] == best and self._second_person(m)]
        return self._line("known", said=_capitalised(self._joined(alike))) if alike else self._tell(ranked[0])

    def _enumerate(self, memories: Sequence[AnswerClause]) -> str:
        day = self._day(memories[0].at)
        same_day = [m for m in memories if self._day(m.at) == day]
        text = self._joined(same_day)
        return self._line("told_list_then", said=text, day=day) if day else self._line("told_list", said=text)

    # ---- remarks

    def _remark(self, statements: Sequence[str]) -> str:
        short = len(_PIECES.findall(self.text)) <= (2 * REMARK_WORDS if self.language == "zh" else REMARK_WORDS)
        for key, pattern in self.ears.remarks:
            if short and pattern.search(self.text):
                return self._line(key)
        for key, pattern in self.ears.feelings:
            if pattern.search(self.text):
                return self._line(key)
        echoes = [you for text in statements if (you := second_person(text, self.language))]
        if echoes:
            return self._line("noted", said=self.ears.separator.join(echoes[: LISTED + 1]))
        lore = next((hit for hit in self.request.hits if hit.layer == "lore" and hit.words), None)
        return self._line("lore", said=self._retold(lore.text)) if lore else self._line("heard")

    # ---- memories

    def _memories(self) -> list[AnswerClause]:
        """The memories that may answer: first those of the talk, newest first, then the recalled ones, best first."""
        memories = [
            AnswerClause(
                "context",
                clause.text,
                exchange.at,
                _belongs(clause.text, exchange.at, self.request.spans),
                exchange.id,
                place,
            )
            for exchange in reversed(self.context)
            for place, clause in enumerate(_read(exchange.user))
            if self._tells(clause)
        ]
        for hit in self.request.hits:
            memories += self._of_hit(hit)
        facts = [memory for memory in memories if memory.layer == "core" and memory.at]
        return [memory for memory in memories if not any(self._overtaken(memory, fact) for fact in facts)]

    def _overtaken(self, memory: AnswerClause, fact: AnswerClause) -> bool:
        """Whether a later fact says the opposite of the same thing (我喜欢喝咖啡, then 用户不喝咖啡)."""
        if memory.layer in ("core", "lore") or not memory.at or not fact.at or memory.at >= fact.at:
            return False
        if bool(_NEGATIVE.search(memory.text)) == bool(_NEGATIVE.search(fact.text)):
            return False
        shared = self._content(memory.text).keys() & self._content(fact.text).keys()
        return any(len(word) > 1 for word in shared)

    def _of_hit(self, hit: Hit) -> list[AnswerClause]:
        if hit.layer in ("core", "lore"):
            return [AnswerClause(hit.layer, hit.text, hit.time, named=hit.layer == "lore" and bool(hit.words))]
        found_by_time = hit.span is not None or hit.recipe == "by_time"
        text = said_by_user(hit.text, self.user_name, self.name)
        return [
            AnswerClause("diary", self._spoken(clause.text), hit.time, dated or int(found_by_time), hit.id, place)
            for place, clause in enumerate(_read(text))
            if self._tells(clause)
            for dated in [_belongs(clause.text, hit.time, self.request.spans)]
        ]

    def _tells(self, clause: Clause) -> bool:
        """Whether a clause of the user's can be an answer. A question or a request cannot."""
        ears = self.ears
        asks = ears.asks.search(clause.text) and not ears.asks_nothing.search(clause.text)
        return clause.mood in _EARNEST and not asks and not dict(ears.remarks)["request"].search(clause.text)

    def _spoken(self, text: str) -> str:
        """An understood event speaks of the user in the third person: it is told to the user."""
        return text if re.match(r"我|I\b|My\b", text) else fact_to_user(text, self.user_name, self.language) or text

    def _ranked(self, question: str, memories: Sequence[AnswerClause]) -> list[AnswerClause]:
        """Memories that share enough with the question, best first; the first of equals wins.

        The best one takes its neighbours along where they answer another part (a cat, and in the next clause its age).
        """
        matches = [self._match(question, memory) for memory in memories]
        order = sorted(range(len(memories)), key=lambda i: -matches[i][0])
        order = [i for i in order if matches[i][0] >= ENOUGH]
        if not order:
            return []
        best, (_, shared) = memories[order[0]], matches[order[0]]
        where = (best.layer, best.source or None, 1)
        beside = [
            memory
            for memory, (score, also) in zip(memories, matches, strict=True)
            if (memory.layer, memory.source, abs(memory.place - best.place)) == where and score > 0 and also - shared
        ]
        neighbours = sorted([best, *beside], key=lambda memory: memory.place)
        joined = replace(best, text=self.ears.separator.join(m.text for m in neighbours))
        return [joined, *(memories[i] for i in order[1:] if memories[i] not in beside)]

    def _match(self, question: str, memory: AnswerClause) -> tuple[float, frozenset[str]]:
        """How much a memory shares with the question, and what."""
        from moechat.language.words import tokens

        ears, text = self.ears, memory.text
        there = set(tokens(text))
        weights = {
            w: weight for w, weight in self._content(question).items() if w in there or (has_han(w[0]) and w in text)
        }
        weights |= {s.pattern: 3.0 for s in ears.subjects if s.search(question) and s.search(text)}
        score = sum(weights.values())
        for this, other in ((ears.likes, ears.dislikes), (ears.dislikes, ears.likes)):
            if this.search(question) and not other.search(question):
                named = any(len(word) > 2 or (len(word) > 1 and has_han(word[0])) for word in weights)
                yes_or_no = named and memory.layer == "core"  # 我喜欢香菜吗: whichever is known of it
                score += 3.0 if this.search(text) else 0.0 if yes_or_no else -6.0 if other.search(text) else -4.0
        if score and memory.dated == 2:
            score += 1.0
        if score > 0 and memory.layer == "core" and not self.request.spans:
            score += 2.5  # what is known now comes before what was once said
        if memory.layer == "lore":
            score += 2.0 * memory.named - 1.0 * bool(ears.mine.search(question))
        return score, frozenset(weights)

    def _content(self, text: str) -> dict[str, float]:
        """The words of a question that say what it is about, with their weight; times are matched as times."""
        from moechat.language.words import is_stop_word, tokens

        for span in self.request.spans:
            text = text.replace(span.phrase, " ")
        kept = [
            w for w in tokens(text, bigrams=False) if not is_stop_word(w) and not self.ears.empty_words.fullmatch(w)
        ]
        return {word: 1.0 if len(word) == 1 else 2.0 for word in kept}

    # ---- wording

    def _line(self, key: str, **values: str) -> str:
        lines = LINES[self.language][key]
        line = lines[crc32(self.text.encode()) % len(lines)]
        is_named = self.user_name and self.user_name not in ("用户", "User", "user", "你")
        user = f"{self.ears.separator}{self.user_name}" if is_named else ""
        return line.format_map({"name": self.name, "user": user, **values})

    def _joined(self, memories: Sequence[AnswerClause]) -> str:
        return self.ears.separator.join(dict.fromkeys(self._quoted(m) for m in memories[:LISTED]))

    def _quoted(self, memory: AnswerClause) -> str:
        """A memory inside a sentence: to "you" where that is safe, else in quotation marks."""
        you = self._second_person(memory)
        if you or memory.layer in ("core", "lore"):
            return you or memory.text.strip(ENDS)
        return f"「{memory.text}」" if self.language == "zh" else f"“{memory.text}”"

    def _second_person(self, memory: AnswerClause) -> str:
        if memory.layer == "core":
            return fact_to_user(memory.text.strip(ENDS), self.user_name, self.language)
        return second_person(memory.text, self.language)

    def _day(self, at: datetime | None, *, full: bool = False) -> str:
        """The day when something was told, "" for today: 昨天, 5月20日, with the year where it is another."""
        now = self.request.now
        if at is None or now is None:
            return ""
        days = (now.date() - at.date()).days
        if not full and days <= 0:
            return ""
        if not full and days == 1:
            return self.ears.yesterday
        return (self.ears.day if at.year == now.year else self.ears.day_of_year).format(at=at)

    def _retold(self, lore: str) -> str:
        return retold(lore, set(self._content(self.text)), self.name, self.user_name, self.language)


def _read(text: str) -> list[Clause]:
    """The clauses of a message of the user's, read in the language that it is written in."""
    from moechat.rules import clauses_en, clauses_zh

    return clauses_zh.read(text) if has_han(text) else clauses_en.read(text)


def _own_times(text: str, at: datetime) -> list[Span]:
    """The times that a remembered text names, as it meant them."""
    from moechat.when import resolve

    return resolve(text, at, use="writing")


def _belongs(text: str, at: datetime | None, spans: Sequence[Span]) -> int:
    """How a memory that was told at ``at`` belongs to the times that were asked for (see AnswerClause)."""
    if not spans or at is None:
        return 0
    own = _own_times(text, at)
    if any(one.start <= span.end and span.start <= one.end for one in own for span in spans):
        return 2
    told_then = any(span.covers(at) for span in spans)
    return told_then * (1 if own else 2)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
