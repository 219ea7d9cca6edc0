"""The model that serves when none is connected: it answers from what memory recalled and pretends nothing.

It understands no language. It hears what hurts, small talk and questions by their words; for a question it finds the clause of
memory, world book or persona that shares most with it, and says it back. Equal requests get equal replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from moechat.ai.chat_model import ChatRequest
from moechat.ai.cleaner import in_whole
from moechat.ai.offline import lines
from moechat.ai.offline.memories import EARNEST, AnswerClause, Memories, content_words, own_times
from moechat.ai.offline.retelling import ENDS, of_oneself, retold, second_person
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.window import Window
from moechat.errors import ModelError
from moechat.model import LONG_AGO, Exchange, Message
from moechat.reading.saying import DANGER, DANGER_OTHER, earnest, mark, saying
from moechat.rules import message
from moechat.rules.reading import understand
from moechat.settings.character import USER_NAMES
from moechat.when import Span
from moechat.when.names import has_han

MOST_PARTS = 5  # So many questions of a message are answered.
LISTED = 4  # An enumeration of what was said has this many clauses.
SHORT = {"zh": 12, "en": 6}  # A message of more pieces is more than a greeting.
NOTED_IN = 9  # A receipt is given where none was in so many replies.
ALIKE = 0.5  # An example of the persona answers a message that shares so much of its words.
DAYS = {
    "zh": ("昨天", "{at.month}月{at.day}日", "{at.year}年{at.month}月{at.day}日"),
    "en": ("yesterday", "on {at:%B} {at.day}", "on {at:%B} {at.day}, {at.year}"),
}
ACUTE = ("threat", "emergency", "emergency_other")  # Here the emergency number alone helps.
KEPT = frozenset({"self", "plan"})  # A receipt is for these kinds of saying, and for what rules read facts from;
HARM = frozenset({"hurt", "quarrel", "danger", "danger_other"})
LIGHT = frozenset(
    {"glad", "figure", "role", "takeback", "limit", "greeting", "goodnight"}
)  # never for these, nor harm.
_PIECES = re.compile(r"[\x21-\x7e]+\s*|[\s\S]")
_VALUE = re.compile(r"(?:(^|(?<=[.!?] )))?\{(\w+)\}")  # The first group is there where a sentence begins.


class OfflineModel:
    """A chat model without a language model. ``folders`` hold the prompts, the user's first; none means ours alone."""

    name = "offline"
    understands = False
    has_one_slot = False
    window = Window()

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = folders

    def stream(self, request: ChatRequest) -> Iterator[str]:
        """The reply in small pieces. Raises DataError where a file of sentences cannot be read."""
        yield from _PIECES.findall(_OfflineReply(request, self._folders).reply())

    def notice(self, language: str) -> str:
        """How to connect a model. Raises DataError."""
        return lines.says(self._folders, language)["notice"][0]

    def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, silence_s: float
    ) -> ReplyStream:
        """Always raises ModelError: it understands nothing."""
        raise ModelError("other", "No language model is connected: set chat.base_url and chat.model in config.yaml.")

    def complete(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, timeout_s: float) -> str:
        """As ``ask``."""
        return in_whole(self.ask(messages, schema=schema, silence_s=timeout_s))


class _OfflineReply:
    """One request that is being answered.

    It has more than twenty methods because each kind of question and remark is answered by one of its own.
    """

    def __init__(self, request: ChatRequest, folders: Sequence[Path]) -> None:
        self.request, self.text, self.folders, self.character = (
            request,
            request.text.strip(),
            folders,
            request.character,
        )
        self.saying = saying(self.text)
        who = request.character
        self.language = who.language if who else "zh" if has_han(self.text) else "en"
        self.name, self.user_name = (who.name, who.user_name) if who else ("MoeChat", "")
        self.comma, self.glue = ("，", "") if self.language == "zh" else (", ", " ")
        self.ears, self.says = (
            lines.ears(self.language),
            lines.says(folders, self.language, who.folder if who else None),
        )
        lately = request.lately or [exchange.char for exchange in request.context[-NOTED_IN:]]
        self.replies = [*lately, *request.earlier]  # oldest first
        names = [word for hit in request.hits if hit.layer == "lore" for word in hit.words]
        # A name of the world book is no time (三十三号茶).
        self.spans = [s for s in request.spans if not any(s.phrase in name or name in s.phrase for name in names)]
        self._recalled = partial(Memories, request, self.ears, (self.user_name, self.name), self.language)
        self.memories = self._recalled(self.spans)

    def _hears(self, name: str, text: str) -> bool:
        return bool(self.ears["words"][name].search(text))

    def _heard(self, group: str, text: str) -> str:
        """The first of a group that is heard, or ""."""
        return next((name for name, pattern in self.ears[group].items() if pattern.search(text)), "")

    def reply(self) -> str:
        if not self.text.strip(ENDS + "?？"):
            return self._line("empty")
        clauses = message.read(self.text).clauses
        asks = self._asks(self.text) and all(clause.mood == "question" for clause in clauses)
        if (hurt := self._hurt()) and not (asks and hurt in self.ears["pain"] and self._hears("recalls", self.text)):
            return self._line(hurt, help=self._help(hurt))
        if first := self._heard("first", self.text):
            now = self.request.now
            return self._line(first, clock=f"{now:%H:%M}", date=self._day(now, full=True)) if now else self._line(first)
        statements = self._statements(clauses)
        questions = [c.text for c in clauses if c.mood == "question"]
        question = " ".join(questions) if statements and questions else self.text if self._asks(self.text) else ""
        if question and not (statements and not self.memories.content(question) and not self.spans):
            parts = [part for part in self.ears["words"]["and_then"].split(question) if part and self._asks(part)]
            return self.glue.join(
                dict.fromkeys(map(self._answer, parts[:MOST_PARTS] if len(parts) > 1 else [question]))
            )
        return self._remark(statements)

    def _asks(self, text: str) -> bool:
        if text.rstrip().endswith(("?", "？")) or self._hears("may_eat", text):
            return True
        return self._hears("asks", text.strip()) and not self._hears("asks_nothing", text)

    def _statements(self, clauses: Sequence[Any]) -> list[str]:
        """The clauses that tell something of the user: those that say so or name a time, and what goes on from them."""
        statements: list[str] = []
        for clause in clauses:
            certain = self._hears("tells", clause.text) or clause.lead or clause.mood == "plan" or statements
            if clause.mood in EARNEST and (clause.whose or clause.mood == "plan") and certain:
                statements.append(clause.text)
        return statements

    # ---- what hurts

    def _hurt(self) -> str:
        """What is in danger or hurts in the message, as its line is called; "" where nothing does."""
        kind = self.saying.kind
        if kind == DANGER:
            return next((name for name in ACUTE[:2] if self._hears(name, self.text)), DANGER)
        if kind == DANGER_OTHER:
            return "emergency_other" if self._hears("emergency", self.text) else DANGER_OTHER
        is_delicate = mark(self.text) == "delicate"
        if kind not in HARM and (kind in LIGHT or not is_delicate):
            return ""
        feeling, pain = self._heard("feelings", self.text), self._heard("pain", earnest(self.text))
        first, then = (pain, feeling) if is_delicate else (feeling, pain)
        return first or then or ("anger" if kind == "quarrel" else "sadness")

    def _help(self, hurt: str) -> str:
        if not self.saying.is_danger:
            return ""
        kinds = ("emergency",) if hurt in ACUTE else ("crisis", "emergency")
        places = lines.numbers(self.folders, self.language, kinds)
        help_ = [_filled(self.says["help"][0], {"region": place, "numbers": self.comma.join(n)}) for place, n in places]
        return self.glue.join([*help_, self.says["help_elsewhere"][0]])

    # ---- answers

    def _answer(self, question: str) -> str:
        spans = [span for span in self.spans if span.phrase in question]
        memories = self.memories if spans == self.spans else self._recalled(spans)
        if self._hears("about_me", question) and not spans:
            return self._about_user(memories)
        if self._hears("may_eat", question):
            return self._may_eat(question, memories)
        if self._hears("advice", question) and not spans:
            return self._line("advice")
        bare = self.ears["words"]["address"].sub(" ", question)
        if self._hears("yours", bare) and not self._hears("mine", bare):
            return self._of_me(bare, memories)
        if not self._hears("mine", bare) and (example := self._example()):
            return example
        ranked = memories.ranked(bare)
        of_world = bool(ranked) and ranked[0].layer == "lore"
        if of_world and not self._hears("of_lore", question):  # the user's own watch comes before anybody's
            ranked.sort(key=lambda m: m.layer == "lore")
        asks_when = self._hears("recalls", question) and bool(ranked) and ranked[0].layer == "core"
        if spans and not asks_when:  # my birthday is a time, and what is asked for
            return self._about_time(ranked, memories, bare, spans)
        if ranked:
            return self._alike(bare, ranked, memories)
        if feeling := self._heard("feelings", question):
            return self._line(feeling)
        if self.request.unread_until is not None:
            return self._line("unread")
        if not self._hears("mine", bare):
            return self._line("not_known")
        diary = [m for m in memories.all if m.layer == "diary" and memories.content(bare) and not mark(m.text)]
        vague = next((m for m in diary if not memories.is_of_another(bare, m.text, or_of_user=True)), None)
        return self._line("unsure", said=self._quoted(vague, memories)) if vague else self._line("not_told")

    def _about_time(
        self, ranked: Sequence[AnswerClause], memories: Memories, question: str, spans: Sequence[Span]
    ) -> str:
        """The best memory of that time, else everything that was said then, else that there is no record."""
        if fitting := [m for m in ranked if m.dated]:
            return self._tell(fitting[0], memories, spans)
        if of_that_time := [m for m in memories.all if m.dated and m.layer != "lore"]:
            return self._listed([m for m in of_that_time if m.dated == 3] or of_that_time, memories)
        empty = [span for span in self.request.empty_spans if span in spans] or spans
        unread = self.request.unread_until
        is_read = unread is None or empty[0].start > unread
        gap = self._line("no_record", phrase=empty[0].phrase) if is_read else self._line("unread")
        return f"{gap}{self.glue}{self._line('but_then', said=self._tell(ranked[0], memories))}" if ranked else gap

    def _listed(self, of_that_time: Sequence[AnswerClause], memories: Memories) -> str:
        """What was told, day by day."""
        days: dict[str, list[str]] = {}
        for memory in sorted(of_that_time[:LISTED], key=lambda m: (str(m.at), m.place)):
            days.setdefault(self._day(memory.at), []).append(self._quoted(memory, memories))
        texts = {day: self.comma.join(dict.fromkeys(quoted)) for day, quoted in days.items()}
        return self.glue.join(
            self._line("told_list_then" if d else "told_list", said=t, day=d) for d, t in texts.items()
        )

    def _about_user(self, memories: Memories) -> str:
        """All that is known of the user, grouped."""
        of_talk = [m for m in memories.all if m.layer == "context" and self._hears("tells", m.text)]
        of_talk = [m for m in of_talk if not mark(m.text) and earnest(m.text) == m.text]
        facts = [m for m in memories.all if m.layer == "core"] or of_talk
        groups: dict[str, list[str]] = {name: [] for name in ("you", "people", "health", "likes")}
        for fact in facts:
            tastes = "likes" if self._hears("likes", fact.text) or self._hears("dislikes", fact.text) else "you"
            group = next((name for name in ("health", "people") if self._hears(name, fact.text)), tastes)
            groups[group if memories.to_user(fact) else "people"].append(self._quoted(fact, memories))
        listed = [
            self._line(f"group_{name}", said=self.comma.join(dict.fromkeys(g))) for name, g in groups.items() if g
        ]
        nothing = "not_told" if self.request.unread_until is None else "unread"
        return self._line("about_you", said=self.glue.join(listed)) if listed else self._line(nothing)

    def _may_eat(self, question: str, memories: Memories) -> str:
        """What may be eaten is the user's to say; an allergy is never left out, and a taste says nothing about it."""
        if memories.people(question):
            return self._tell(ranked[0], memories) if (ranked := memories.ranked(question)) else self._line("not_known")
        warnings = self._warnings(memories)
        touched = [warning for warning in warnings if self._names(question, warning)]
        if touched or warnings:
            return self._line("eat_not" if touched else "eat_care", said=self.comma.join(touched or warnings))
        return self._line("eat_unknown")

    def _names(self, text: str, warning: str) -> bool:
        """Whether a text names what a warning is about (花生酱, 花生)."""
        low, stems = text.casefold(), self.memories.content(text)
        return any(word in stems or (len(word) > 1 and word in low) for word in self.memories.content(warning))

    def _warnings(self, memories: Memories) -> list[str]:
        """What the user's own body does not take, told to the user."""
        held = [m for m in memories.all if m.layer != "lore" and self._hears("allergy", m.text)]
        texts = [text for text in map(memories.to_user, held) if self._hears("own_allergy", text)]
        return list({frozenset(memories.content(text)): text for text in texts[::-1]}.values())[::-1]

    def _of_me(self, question: str, memories: Memories) -> str:
        """A question about the character, answered by its examples, its persona and the world book."""
        if example := self._example():
            return example
        who = self.character
        persona = f"{who.persona}\n{who.personality}" if who else ""
        sentences = of_oneself(persona, self.name, self.user_name, self.language)
        for name, row in self.ears["portrait"].items():
            stands = self.ears["stands"][name]
            if row.search(question) and stands.groups and (place := stands.search(persona)):
                return self._line(name, it=place[1])
            if row.search(question) and (fitting := next(filter(stands.search, sentences), "")):
                return self._line("of_me", it=fitting)
        own = [AnswerClause("lore", text) for text in sentences]
        lore = [m for m in memories.all if m.layer == "lore"]
        ranked = memories.ranked(question, [*lore, *own])
        if not ranked:
            return self._line("not_mine")
        return self._tell(ranked[0], memories) if ranked[0] in lore else self._line("of_me", it=ranked[0].text)

    def _example(self) -> str:
        """The reply of the persona's own example that is most like the message, unless it was just given; or ""."""
        examples = self.character.examples if self.character else ""
        pairs = list(zip(examples[::2], examples[1::2], strict=False)) if isinstance(examples, list) else []
        words, best, share = content_words(self.text), "", 0.0
        for user, char in pairs:
            theirs = content_words(user.content)
            alike = len(words.keys() & theirs.keys()) / max(1, len(words | theirs))
            if alike > share and not self._last_use(char.content) and not self._hears("refers", char.content):
                best, share = char.content, alike
        return best if share >= ALIKE else ""

    def _tell(self, memory: AnswerClause, memories: Memories, spans: Sequence[Span] = ()) -> str:
        if memory.layer == "lore":
            words = set(memories.content(self.text))
            return self._line("lore", said=retold(memory.text, words, self.name, self.user_name, self.language))
        you = memories.to_user(memory)
        if memory.layer == "core" or (you and not (memory.at and own_times(memory.text, memory.at))):
            return self._line("known", said=you or memory.text)
        if not (day := self._day(memory.at)):
            return self._line("told_now", said=you or memory.text)
        that_day = memory.at is not None and any(span.covers(memory.at) for span in spans)
        day = self._day(memory.at, full=that_day)
        return self._line("told_that_day" if that_day else "told_then", said=memory.said, day=day)

    def _alike(self, question: str, ranked: Sequence[AnswerClause], memories: Memories) -> str:
        """There may be several facts, or several answers to what somebody likes: all that fit as well as the best."""
        best = memories.match(question, ranked[0])
        tastes = self._hears("likes", question) or self._hears("dislikes", question)
        alike = [m for m in ranked if memories.match(question, m) == best and (tastes or m.layer == "core")]
        texts = list(dict.fromkeys(filter(None, map(memories.to_user, alike))))
        return self._line("known", said=self.comma.join(texts)) if texts else self._tell(ranked[0], memories)

    # ---- remarks

    def _remark(self, statements: Sequence[str]) -> str:
        short = len(_PIECES.findall(self.text)) <= SHORT[self.language]
        if name := self.ears["stands"]["named"].search(self.text):
            return self._line("named", it=name[1])
        if short and (kind := self._heard("short", self.text)):
            return self._line(kind)
        if example := self._example():
            return example
        if self.saying.kind == "glad":
            return self._line("joy")
        if (feeling := self._heard("feelings", self.text)) and not self._hears("allergy", self.text):
            return self._line(feeling)
        if short and self._hears("request", self.text):
            return self._line("request")
        warnings = [] if self._hears("allergy", self.text) else self._warnings(self.memories)
        if touched := [warning for warning in warnings if self._names(self.text, warning)]:
            return self._line("eat_not", said=self.comma.join(touched))
        echoes = [you for text in statements if (you := second_person(text, self.language))]
        is_kept = self._is_kept()
        noted = [_head(line) for line in self.says["noted"]]
        if echoes and is_kept and not any(head in reply for head in noted for reply in self.replies):
            return self._line("noted", said=self.comma.join(echoes[:LISTED]))
        lore = next((m for m in self.memories.all if m.named and not (statements and is_kept)), None)
        if lore:
            return self._tell(lore, self.memories)
        tastes = self._hears("likes", self.text) or self._hears("dislikes", self.text)
        topic = f"on_{'likes' if tastes else self._heard('subjects', self.text)}"
        if topic == "on_allergy" and not any(self._hears("own_allergy", text) for text in echoes):
            topic = "heard"
        return self._line(topic if topic in self.says else "heard")

    def _is_kept(self) -> bool:
        """Whether the message is a plain fact or a plan: these alone are worth a receipt."""
        if not (HARM | LIGHT).isdisjoint({self.saying.kind, *self.saying.kinds}):
            return False
        return self.saying.kind in KEPT or bool(understand(Exchange("", LONG_AGO, self.text, "")).facts)

    # ---- wording

    def _line(self, name: str, **values: str) -> str:
        """A sentence of that name; one that was just said is left for another."""
        is_named = self.user_name and self.user_name not in (*USER_NAMES.values(), "user", "你")
        values |= {"name": self.name, "user": f"{self.comma}{self.user_name}" if is_named else ""}
        sentences = self.says[name]
        first = (crc32(self.text.encode()) + len(self.request.earlier)) % len(sentences)
        turned = [*sentences[first:], *sentences[:first]]
        return _filled(min(turned, key=lambda line: self._last_use(_filled(line, values), line)), values)

    def _last_use(self, text: str, line: str = "") -> int:
        """The place of the newest reply that has this text, 0 where none has; what tells something may be told again."""
        fixed = "{said}" not in line
        return max((place for place, reply in enumerate(self.replies, 1) if fixed and text in reply), default=0)

    def _quoted(self, memory: AnswerClause, memories: Memories) -> str:
        """A memory inside a sentence: to "you" where that is safe, else in quotation marks."""
        is_dated = memory.layer == "diary" and memory.at and self._day(memory.at) and own_times(memory.text, memory.at)
        if (you := "" if is_dated else memories.to_user(memory)) or memory.layer in ("core", "lore"):
            return you or memory.text.strip(ENDS)
        return f"「{memory.said}」" if self.language == "zh" else f"“{memory.said}”"

    def _day(self, at: datetime | None, *, full: bool = False) -> str:
        """The day when something was told, "" for today: 昨天, 5月20日, with the year where it is another."""
        now = self.request.now
        if at is None or now is None or (at.date() >= now.date() and not full):
            return ""
        yesterday, day, with_year = DAYS[self.language]
        if (now.date() - at.date()).days == 1 and not full:
            return yesterday
        return (day if at.year == now.year else with_year).format(at=at)


def _filled(line: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        text = values.get(match[2], "")
        return text if match[1] is None else text[:1].upper() + text[1:]

    return _VALUE.sub(value, line)


def _head(line: str) -> str:
    return line.partition("{")[0]
