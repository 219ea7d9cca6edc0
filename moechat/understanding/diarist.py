"""Her daybook: after a day with talk one call writes of it in her voice, behind the turn. Off by default; it needs a model.

A sentence stands where it cites exchanges of that day, all of which it was shown, or where it is of herself and names nobody
else. What somebody said in pain is not shown.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time

from moechat.ai.chat_model import ChatModel
from moechat.ai.precedence import GaveWay, Retry
from moechat.clock import local
from moechat.errors import ModelError
from moechat.language.words import count_tokens
from moechat.memory.unranked import DAYBOOK
from moechat.model import Exchange, Fact, FactDraft, Message
from moechat.reading.saying import mark, saying
from moechat.recall.layers import Layers
from moechat.recall.profile import known
from moechat.store.formats import derived_id, text_hash
from moechat.understanding.consultation import cited
from moechat.when.names import HAN

log = logging.getLogger(__name__)
MOST_WORDS = 120
MOST_SHOWN, TOKENS = 60, 4000  # Exchanges of a day that the model is shown, the last of them.
_SENTENCE = re.compile(
    r"[^\[\]【】［］。！？!?\n]*?(?:[。！？!?]+|\.(?=\s|\[|$)|(?=[\[【［])|\n|$)[”\"’」)）]*\s*(?:[\[【［][^\[\]【】［］\n]*[\]】］][。.!！]*\s*)*"
)
_GROUP = re.compile(r"\s*[\[【［]([^\[\]【】［］\n]*)[\]】］]")
_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+(?:['’]\w+)*")
_OF_OTHERS = re.compile(r"[你您他她]|\bTA\b|\b(?:you|your|yours|he|him|his|she|hers?|they|them|their|theirs)\b", re.I)


@dataclass
class Diarist:
    """Writes for one owner. ``model`` is called anew each time."""

    layers: Layers
    model: Callable[[], ChatModel]
    retry: Retry = field(default_factory=Retry)

    def run(self, now: datetime) -> Fact | None:
        """Write of the last day of talk, once it is over; None where nothing is written. Each day is thought of once."""
        settings, store = self.layers.config(), self.layers.store
        if not settings.daybook.enabled or self.retry.waits(now) or not (model := self.model()).understands:
            return None
        shown, before = self._last_day(now), store.state.daybook
        day = local(shown[-1].at, store.zone).date().isoformat() if shown else ""
        if not shown or (before and day <= local(before, store.zone).date().isoformat()):
            return None
        try:
            answer = model.complete(self._asked(shown, day), timeout_s=settings.understanding.silence_s)
        except GaveWay:
            return None
        except ModelError as error:
            log.warning("nothing is written of %s yet: %s", day, error)
            self.retry.failed(now, settings.reflection.retry_s)
            return None
        self.retry.succeeded()
        return self._keep(shown, day, *self._checked(answer, shown))

    def _last_day(self, now: datetime) -> list[Exchange]:
        """What the user and she said on the last day before today on which they talked, the oldest first."""
        store, own, hidden = self.layers.store, self.layers.character().user_name, self.layers.store.hidden()
        midnight = datetime.combine(local(now, store.zone).date(), time(), local(now, store.zone).tzinfo)
        if any(datetime.fromisoformat(node.at) < midnight for node in store.tree.open()):
            return []  # It has not settled yet.
        rows = [row.exchange for row in store.exchanges.before(midnight.timestamp(), MOST_SHOWN)]
        spoken = [
            one for one in rows
            if local(one.at, store.zone).date() == local(rows[-1].at, store.zone).date() and one.id not in hidden and one.heard
            and not one.another(own) and mark(one.user) != "delicate" and not saying(one.user).is_danger
        ]  # fmt: skip
        while sum(count_tokens(f"{one.sent}{one.char}") for one in spoken) > TOKENS:
            spoken.pop(0)
        return spoken

    def _asked(self, shown: Sequence[Exchange], day: str) -> list[Message]:
        who = self.layers.character()
        labels = ("user", "character") if who.language == "en" else ("用户", "角色")
        lines = "\n".join(
            f"[{number}] {local(one.at, self.layers.store.zone):%H:%M}\n{labels[0]}> {one.sent}\n{labels[1]}> {one.heard}"
            for number, one in enumerate(shown, 1)
        )
        values = {**who.names, "persona": who.persona, "day": day, "exchanges": lines}
        return [Message("user", self.layers.prompts.fill("daybook_write", **values))]

    def _checked(self, answer: str, shown: Sequence[Exchange]) -> tuple[str, tuple[str, ...]]:
        """The sentences that stand, ``MOST_WORDS`` at most, and the exchanges that they cite."""
        text, left, sources = "", MOST_WORDS, dict[str, None]()
        names = [fact.draft.target for fact in known(self.layers.core) if fact.draft.keyword]
        names.append(self.layers.character().user_name)
        for sentence in filter(str.strip, _SENTENCE.findall(answer)):
            numbers = [number for group in _GROUP.findall(sentence) for number in cited(group)]
            words = " ".join(_GROUP.sub("", sentence).split())
            is_bare = not numbers and not _OF_OTHERS.search(words) and not any(name and name in words for name in names)
            if not _WORD.search(words) or not (is_bare or (numbers and all(1 <= one <= len(shown) for one in numbers))):
                continue
            if (left := left - len(_WORD.findall(words))) < 0:
                break
            text += f" {words}" if text and not re.match(rf"[{HAN}]", words) else words
            sources |= {shown[number - 1].id: None for number in numbers}
        return text, tuple(sources)

    def _keep(self, shown: Sequence[Exchange], day: str, text: str, sources: tuple[str, ...]) -> Fact | None:
        """Keep the page, unless anything that was shown has changed meanwhile; a page that cites nothing rests on all of it."""
        store, ids = self.layers.store, [one.id for one in shown]
        sources = sources or tuple(ids)
        with store.writing("daybook"):
            there, hidden = store.exchanges.of(ids), store.hidden()
            if any(one.id in hidden or text_hash(there.get(one.id, one)) != text_hash(one) for one in shown):
                return None
            store.state.write([{"op": "daybook", "at": shown[-1].at.isoformat()}])
            if not text:
                return None
            draft = FactDraft(text, sources, DAYBOOK, "character", DAYBOOK, day)
            page = Fact(derived_id(text, sources), shown[-1].at, draft)
            store.note_calls([(sources, ids)])
            store.findings.put([page])
        return page
