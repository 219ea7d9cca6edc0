"""The model that serves when none is connected: it answers from what memory recalled and pretends nothing.

It understands no language. It hears what hurts, small talk and questions by their kind and their words; for a question it finds
the message, fact, entry of the world book or sentence of the persona that comes nearest to it, and says it back. Equal requests
get equal replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from moechat.ai.chat_model import ChatRequest
from moechat.ai.cleaner import in_whole
from moechat.ai.offline import lines
from moechat.ai.offline.memories import EARNEST, ENOUGH, NEAREST, Memories, Told, borne_out, content_words
from moechat.ai.offline.record import Knowledge, day_name
from moechat.ai.offline.retelling import ENDS, of_oneself, retold
from moechat.ai.reply_stream import ReplyStream
from moechat.ai.window import Window
from moechat.errors import ModelError
from moechat.model import LONG_AGO, Exchange, Message, Understanding
from moechat.reading.examples import LOW, TASTES, about, asked, stated, wanted
from moechat.reading.frames import LIKELY
from moechat.reading.saying import DANGER, DANGER_OTHER, HARM, UNKNOWN, asks, asks_by_form, earnest, mark
from moechat.rules import foods, message
from moechat.rules.reading import understand
from moechat.settings.character import USER_NAMES
from moechat.when import Span, both_ends
from moechat.when.names import tongue_of
from moechat.worker import lazy

MOST_PARTS, LISTED = 5, 4  # So many questions of a message are answered, and so many clauses of what was said told.
SHORT = {"zh": 12, "en": 6}  # A message of more pieces is more than a greeting.
NOTED_IN = 9  # A receipt is given where none was in so many replies.
ALIKE = 0.5  # An example of the persona answers a message that shares so much of its words.
BODILY, ALLERGY = ("tired", "unwell", "hospital"), ("过敏", "allergy")
DAYS = {
    "zh": ("昨天", "{at.month}月{at.day}日", "{at.year}年{at.month}月{at.day}日"),
    "en": ("yesterday", "on {at:%B} {at.day}", "on {at:%B} {at.day}, {at.year}"),
}
ACUTE = ("threat", "emergency", "emergency_other")  # Here the emergency number alone helps.
# A receipt is for none of these kinds of saying.
LIGHT = frozenset({"glad", "role", "takeback", "limit", "goodnight"})
NO_NEWS = HARM | LIGHT | {"figure", "joke", "other", "quote", "suppose"}
_PIECES = re.compile(r"[\x21-\x7e]+\s*|[\s\S]")


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
        self.request, self.folders, self.character = request, folders, request.character
        whole = request.text.strip()
        self.text = both_ends(whole)
        self.own_language = self.character.language if self.character else tongue_of(self.text)
        self.language = lines.reply_language(self.text, self.request.context, self.own_language)
        self.reading = message.read(self.text, [one.user for one in request.context if one.user.strip() != whole])
        self.kinds = frozenset({self.reading.kind, *self.reading.saying.kinds})
        self.name = self.character.name if self.character else "MoeChat"
        self.user_name = self.character.user_name if self.character else ""
        self.comma, self.listing, self.glue = ("，", "；", "") if self.language == "zh" else (", ", "; ", " ")
        own = self.character.folder if self.character and self.language == self.own_language else None
        self.is_short = len(_PIECES.findall(self.text)) <= SHORT[self.language]
        self.ears, self.says = lines.ears(self.language), lines.says(folders, self.language, own)
        self.record = Knowledge(request)
        lately = request.lately or [exchange.char for exchange in request.context[-NOTED_IN:]]
        self.replies = [*lately, *request.earlier]  # oldest first
        names = [word for hit in request.hits if hit.layer == "lore" for word in hit.words]
        # A name of the world book is no time (三十三号茶).
        self.spans = [s for s in request.spans if not any(s.phrase in name or name in s.phrase for name in names)]
        self._recalled = partial(Memories, request, self.ears, (self.user_name, self.name))
        self.memories = self._recalled(self.spans)

    def _hears(self, name: str, text: str) -> bool:
        return bool(self.ears["words"][name].search(text))

    def _heard(self, group: str, text: str) -> str:
        """The first of a group that is heard, or ""."""
        return next((name for name, pattern in self.ears[group].items() if pattern.search(text)), "")

    def reply(self) -> str:
        if not self.text.strip(ENDS + "?？"):
            return self._line("empty")
        clauses = self.reading.clauses
        only_asks = self._asks(self.text) and all(clause.mood == "question" for clause in clauses)
        if self.reading.saying.kind != DANGER and self.record.asks_to_eat(self.text) and self.record.touched(self.text):
            return self._may_eat(self.text)
        of_record = only_asks and not self.reading.saying.is_danger and self._hears("mine", self.text)
        if not of_record and (hurt := self._hurt()):
            return self._line(hurt, help=self._help(hurt))
        if name := self._of_kind():
            return self._line(name)
        if first := self._heard("first", self.text):
            now = self.request.now
            return self._line(first, clock=f"{now:%H:%M}", date=self._day(now, full=True)) if now else self._line(first)
        statements = self._statements(clauses)
        questions = [c.text for c in clauses if c.mood == "question"]
        question = " ".join(questions) if statements and questions else self.text if self._asks(self.text) else ""
        if not foods.words(question) and self.record.asks_to_eat(self.text):  # It's laksa tonight, can I have it?
            question = self.text
        if question and self.reading.kind == "greeting" and self.is_short and not self.reading.saying.is_faint:
            return self._line("there")
        if question and not (statements and not self.memories.content(question) and not self.spans):
            parts = [part for part in self.ears["words"]["and_then"].split(question) if part and self._asks(part)]
            return self.glue.join(
                dict.fromkeys(map(self._answer, parts[:MOST_PARTS] if len(parts) > 1 else [question]))
            )
        return self._remark(statements)

    def _of_kind(self) -> str:
        """The line of a message that is neither question nor news, by what kind of saying it is; "" for others."""
        if self.reading.takes_back:
            return "taken_back"
        if self.reading.play == "role" and not self._hears("request", self.text):
            return "play"
        if self._hears("code", self.text):
            return "puzzled"
        if self.is_short and self._hears("request", self.text):
            return "request"
        return "limit" if self.reading.kind == "limit" and not self._asks(self.text) else ""

    def _asks(self, text: str) -> bool:
        return self.record.asks_to_eat(text) or (asks(text) if text == self.text else asks_by_form(text))

    def _statements(self, clauses: Sequence[Any]) -> list[str]:
        """The clauses that tell something of the user: those that say so or name a time, and what goes on from them."""
        statements: list[str] = []
        for clause in clauses:
            certain = self._hears("tells", clause.text) or clause.lead or clause.mood == "plan" or statements
            tells = clause.mood in EARNEST and not asks_by_form(clause.text)
            if tells and (clause.whose or clause.mood == "plan") and certain:
                statements.append(clause.text)
        return statements

    # ---- what hurts

    def _hurt(self) -> str:
        """What is in danger or hurts in the message, as its line is called; "" where nothing does."""
        kind = self.reading.saying.kind
        if kind == DANGER:
            return next((name for name in ACUTE[:2] if self._hears(name, self.text)), DANGER)
        if kind == DANGER_OTHER:
            return "emergency_other" if self._hears("emergency", self.text) else DANGER_OTHER
        is_delicate = mark(self.text) == "delicate"
        if (kind not in HARM or self.reading.saying.is_faint) and (kind in LIGHT or not is_delicate):
            return ""
        feeling, pain = self._heard("feelings", self.text), self._heard("pain", earnest(self.text))
        first, then = (pain, feeling) if is_delicate else (feeling, pain)
        return first or then or ("quarrel" if kind == "quarrel" else "sadness")

    def _help(self, hurt: str) -> str:
        if not self.reading.saying.is_danger:
            return ""
        kinds = ("emergency",) if hurt in ACUTE else ("crisis", "emergency")
        places = lines.numbers(self.folders, self.language, kinds)
        help_ = [
            lines.filled(self.says["help"][0], {"region": place, "numbers": self.comma.join(n)}) for place, n in places
        ]
        return self.glue.join([*help_, self.says["help_elsewhere"][0]])

    # ---- answers

    def _answer(self, question: str) -> str:
        spans = [span for span in self.spans if span.phrase in question]
        memories = self.memories if spans == self.spans else self._recalled(spans)
        if self._hears("about_me", question) and not spans:
            return self._about_user(memories)
        if self.record.asks_to_eat(question):
            return self._may_eat(question)
        bare = self.ears["words"]["address"].sub(" ", question)
        weighed = memories.weighed(bare)
        if (answer := self._from_record(question, bare, spans, weighed)) is not None:
            return answer
        if self._hears("advice", question) and not spans:
            return self._line("advice")
        if self._hears("yours", bare) and not self._hears("mine", bare):
            return self._of_me(bare, memories)
        if not self._hears("mine", bare) and (example := self._example()):
            return example
        ranked = [memory for score, memory in weighed if score >= ENOUGH]
        of_world = bool(ranked) and ranked[0].layer == "lore"
        if of_world and not self._hears("of_lore", question):  # the user's own watch comes before anybody's
            ranked.sort(key=lambda m: m.layer == "lore")
        of_life = any(self._hears(name, bare) for name in ("mine", "recalls", "happened")) or wanted(bare)[0]
        asks_of_life = of_life or memories.people(bare) or self.reading.kind == "record"
        if not (asks_of_life or spans):
            ranked = [memory for memory in ranked if memory.layer == "lore"]  # a riddle asks nothing of a life
        asks_when = self._hears("recalls", question) and bool(ranked) and ranked[0].layer == "core"
        if spans and not asks_when:  # my birthday is a time, and what is asked for
            return self._about_time(ranked, memories, bare, spans)
        if ranked:
            return self._alike(bare, ranked, memories)
        nearest = next((m for score, m in weighed if score >= NEAREST and m.layer in ("context", "diary")), None)
        if asks_of_life and nearest and not wanted(bare)[0]:
            return self._line("nearest", said=self._quoted(nearest, memories))
        if feeling := self._heard("feelings", question):
            return self._line(feeling)
        if self.request.unread_until is not None:
            return self._line("unread")
        return self._line("not_told" if self._hears("mine", bare) else "not_known")

    def _from_record(
        self, question: str, bare: str, spans: Sequence[Span], weighed: Sequence[tuple[float, Told]]
    ) -> str | None:
        """What facts and plans answer; None where they are not asked, or where older words may say it."""
        coming = [f"{day}{self.comma}{text}" for day, text in self.record.coming(spans)]
        if self._hears("coming", question) or (spans and coming):
            return self._line("coming" if coming else "nothing_coming", said=self.listing.join(coming))
        if self._hears("when_is", bare) and (meant := self.record.meant(bare)):
            return self._line("known", said=f"{meant[0][0]}{self.comma}{meant[0][1]}")
        if spans or self._hears("formerly", question) or not (question_kind := self.record.asked(bare)):
            return None
        if facts := borne_out(self.record.known(question_kind), weighed):
            sentences = dict.fromkeys(map(self.record.to_user, facts))
            return self._line("known", said=self.comma.join(list(sentences)[-LISTED:]))
        return None

    def _about_time(self, ranked: Sequence[Told], memories: Memories, question: str, spans: Sequence[Span]) -> str:
        """The best memory of that time, else everything that was said then, else that there is no record."""
        if fitting := [m for m in ranked if m.dated]:
            return self._tell(fitting[0], memories, spans)
        empty = [span for span in self.request.empty_spans if span in spans] or spans
        is_ahead = self.request.now is not None and all(span.start > self.request.now for span in empty)
        of_that_time = [] if is_ahead else [m for m in memories.all if m.dated and m.layer != "lore"]
        if of_that_time:
            return self._listed([m for m in of_that_time if m.dated == 3] or of_that_time, memories)
        unread = self.request.unread_until
        is_read = unread is None or empty[0].start > unread
        gap = self._line("nothing_coming" if is_ahead else "no_record" if is_read else "unread", phrase=empty[0].phrase)
        timeless = ranked or self._recalled([]).ranked(question)
        return f"{gap}{self.glue}{self._line('but_then', said=self._tell(timeless[0], memories))}" if timeless else gap

    def _listed(self, of_that_time: Sequence[Told], memories: Memories) -> str:
        """What was told, day by day."""
        days: dict[str, list[str]] = {}
        for memory in sorted(of_that_time[:LISTED], key=lambda m: str(m.at)):
            days.setdefault(self._day(memory.at), []).append(self._quoted(memory, memories))
        texts = {day: self.comma.join(dict.fromkeys(quoted)) for day, quoted in days.items()}
        return self.glue.join(
            self._line("told_list_then" if d else "told_list", said=t, day=d) for d, t in texts.items()
        )

    def _about_user(self, memories: Memories) -> str:
        """All that is known of the user, grouped."""
        of_talk = [m for m in memories.all if m.layer == "context" and self._hears("tells", m.text)]
        of_talk = [m for m in of_talk if not mark(m.text) and earnest(m.text) == m.text]
        boundaries = {fact.text for fact in self.record.facts if fact.kind == "boundary"}
        facts = [m for m in memories.all if m.layer == "core" and m.text not in boundaries] or of_talk
        groups: dict[str, list[str]] = {name: [] for name in ("you", "people", "health", "likes")}
        for fact in facts:
            tastes = "likes" if self._hears("likes", fact.text) or self._hears("dislikes", fact.text) else "you"
            group = "health" if self._hears("health", fact.text) else "people" if lines.kin(fact.text) else tastes
            groups[group if memories.to_user(fact) else "people"].append(self._quoted(fact, memories))
        texts = {name: self.comma.join(dict.fromkeys(group)) for name, group in groups.items() if group}
        listed = [self._line(f"group_{name}", said=text) for name, text in texts.items()]
        nothing = "not_told" if self.request.unread_until is None else "unread"
        return self._line("about_you", said=self.glue.join(listed)) if listed else self._line(nothing)

    def _may_eat(self, question: str) -> str:
        """What may be eaten is answered from what the body does not take alone, and from what belongs to that."""
        cannot, touched = self.record.cannot_take(), self.record.touched(question)
        if not cannot:
            return self._line("eat_unknown")
        sentences = dict.fromkeys(map(self.record.to_user, touched or cannot))
        return self._line("eat_not" if touched else "eat_care", said=self.comma.join(sentences))

    def _of_me(self, question: str, memories: Memories) -> str:
        """A question about the character, answered by its examples, its persona and the world book."""
        if example := self._example():
            return example
        who = self.character
        persona = f"{who.persona}\n{who.personality}" if who else ""
        sentences = of_oneself(persona, self.name, self.user_name, self.own_language)
        for name, row in self.ears["portrait"].items():
            stands = lines.ears(self.own_language)["stands"].get(name)
            if stands is None:
                continue
            if row.search(question) and stands.groups and (place := stands.search(persona)):
                return self._line(name, it=place[1])
            if row.search(question) and (fitting := next(filter(stands.search, sentences), "")):
                return self._line("of_me", it=fitting)
        own = [Told("lore", text) for text in sentences]
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
            if (
                alike > share
                and not any(char.content in reply for reply in self.replies)
                and not self._hears("refers", char.content)
            ):
                best, share = char.content, alike
        return best if share >= ALIKE else ""

    def _tell(self, memory: Told, memories: Memories, spans: Sequence[Span] = ()) -> str:
        if memory.layer == "lore":
            words = set(memories.content(self.text))
            return self._line("lore", said=retold(memory.text, words, self.name, self.user_name, self.language))
        you = memories.to_user(memory)
        if memory.layer == "core":
            return self._line("known", said=you or memory.text)
        that_day = memory.at is not None and any(span.covers(memory.at) for span in spans)
        day = self._day(memory.at, full=that_day)
        if not day:
            return self._line("told_now", said=self._quoted(memory, memories))
        return self._line("told_that_day" if that_day else "told_then", said=memory.text, day=day)

    def _alike(self, question: str, ranked: Sequence[Told], memories: Memories) -> str:
        """There may be several facts, or several answers to what somebody likes: all that state what is asked for."""
        kind, _ = wanted(question)
        tastes, core = kind in TASTES, ranked[0].layer == "core"
        alike = [m for m in ranked if (tastes or m.layer == "core") and stated(m.text, kind)[0] >= LIKELY]
        texts = list(dict.fromkeys(filter(None, map(memories.to_user, alike or ranked[:1])))) if core or tastes else []
        return self._line("known", said=self.comma.join(texts[:LISTED])) if texts else self._tell(ranked[0], memories)

    # ---- remarks

    def _remark(self, statements: Sequence[str]) -> str:
        if name := self.ears["stands"]["named"].search(self.text):
            return self._line("named", it=name[1])
        if self.is_short and (kind := self._heard("short", self.text)):
            return self._line(self.record.on_its_day(kind), said=self.record.day)
        if example := self._example():
            return example
        topic, feeling = about(self.text), self._heard("feelings", self.text)
        if self.reading.kind == "glad" and not self.reading.saying.is_faint and feeling not in BODILY:
            return self._line("joy")  # Tears may be of joy.
        # Words of feeling are felt where it hurts, the mood is low or the body is the topic; where nothing is weighed, anywhere.
        is_low = self.reading.saying.kind == UNKNOWN or "hurt" in self.kinds or LOW in asked(self.text)
        if feeling and (feeling == "laugh" or topic == "health" or (is_low and topic != "likes")):
            return self._line(feeling)
        if self.reading.kind == "greeting":
            return self._line(self.record.on_its_day("greet"), said=self.record.day)
        if self.reading.kind == "goodnight":
            return self._line("night")
        noted = [lines.head(line) for line in self.says["noted"]]
        if (news := self._news()) and not any(head and head in reply for head in noted for reply in self.replies):
            return self._line("noted", said=self.comma.join(news))
        lore = next((m for m in self.memories.all if m.named and not news), None)
        if lore:
            return self._tell(lore, self.memories)
        if self.kinds & {"figure", "none", "question", "role"}:
            return self._line("laugh" if self._hears("laughs", self.text) else "heard")
        if any(fact.mark == "care" and fact.keyword in ALLERGY for fact in self._understood.facts):
            topic = "allergy"
        return self._line(f"on_{topic}" if topic else "heard")

    @lazy
    def _understood(self) -> Understanding:
        before = [one.user for one in self.request.context]
        return understand(Exchange("", self.request.now or LONG_AGO, self.text, ""), before=before)

    def _news(self) -> list[str]:
        """The facts and plans of the message, told to the user: what a receipt is for, never beside joy or pain."""
        if self.reading.saying.is_near_danger or not NO_NEWS.isdisjoint(self.kinds):
            return []
        plans = [one for one in self._understood.events if one.status == "planned" and one.happened]
        sentences = [
            self.record.to_user(fact)
            for fact in self._understood.facts
            if fact.entity == "user" and fact.kind != "boundary"
        ]
        days = [day_name(plan.happened[0], self.language) for plan in plans if plan.happened]
        return list(dict.fromkeys(sentences))[:LISTED] or list(dict.fromkeys(days))

    # ---- wording

    def _line(self, name: str, **values: str) -> str:
        """A sentence of that name; one that was just said is left for another."""
        is_named = self.user_name and self.user_name not in (*USER_NAMES.values(), "user", "你")
        values |= {"name": self.name, "user": f"{self.comma}{self.user_name}" if is_named else ""}
        sentences = self.says[name]
        first = (crc32(self.text.encode()) + len(self.request.earlier)) % len(sentences)
        turned = [*sentences[first:], *sentences[:first]]

        def last_use(line: str) -> int:
            """The place of the newest reply that has it, 0 where none has; what tells something may be told again."""
            text, is_fixed = lines.filled(line, values), "{said}" not in line
            return max((place for place, reply in enumerate(self.replies, 1) if is_fixed and text in reply), default=0)

        return lines.filled(min(turned, key=last_use), values)

    def _quoted(self, memory: Told, memories: Memories) -> str:
        """A memory inside a sentence: a fact told to "you" where that is safe, what was said in quotation marks."""
        if memory.layer in ("core", "lore"):
            return memories.to_user(memory) or memory.text.strip(ENDS)
        return f"「{memory.text}」" if self.language == "zh" else f"“{memory.text}”"

    def _day(self, at: datetime | None, *, full: bool = False) -> str:
        """The day when something was told, "" for today: 昨天, 5月20日, with the year where it is another."""
        now = self.request.now
        if at is None or now is None or (at.date() >= now.date() and not full):
            return ""
        yesterday, day, with_year = DAYS[self.language]
        if (now.date() - at.date()).days == 1 and not full:
            return yesterday
        return (day if at.year == now.year else with_year).format(at=at)
