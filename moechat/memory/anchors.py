"""Times that only memory knows: 我生日那天, 我们第一次聊天, 上次吵架那天 (see ``when.resolve``, anchors)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from moechat import when
from moechat.clock import Clock, local
from moechat.containment import NamedText
from moechat.memory.core import CoreMemory
from moechat.model import Fact
from moechat.store.kinds import Store
from moechat.when import Span

Moments = tuple[datetime, datetime]

_SELF = ("我", "me", "my", "i")
_BIRTHDAY = ("生日", "birthday", "born")
_ANNIVERSARY = ("纪念日", "anniversary")
_TALKING = ("聊天", "聊", "说话", "见面", "认识", "相遇", "chat", "talk", "met", "meet", "spoke")
_SAME_TALK = timedelta(hours=1)  # 上次聊天 does not mean the talk that is going on.


class Anchors:
    """What core memory and the diary know of times; None where they do not."""

    def __init__(self, core: CoreMemory, store: Store, clock: Clock) -> None:
        self._core, self._store, self._clock = core, store, clock

    def resolve(self, anchor: str) -> Moments | None:
        """``kind:what`` → first and last moment, in the configured zone."""
        kind, _, what = anchor.partition(":")
        match kind:
            case "birthday":
                return self._day_in_fact(_BIRTHDAY, what)
            case "anniversary":
                return self._day_in_fact(_ANNIVERSARY, what)
            case "first" | "last":
                return self._day_said(what, last=kind == "last")
            case "event":
                return self._day_happened(what) or self._day_said(what, last=True)
        return None

    def _day_in_fact(self, words: tuple[str, ...], whose: str) -> Moments | None:
        for fact in reversed(self._core.current()):
            text = f"{fact.draft.keyword} {fact.text}".casefold()
            if any(word in text for word in words) and _is_about(fact, whose):
                for dated in (fact.draft.target, fact.text):
                    if spans := self._spans(fact, dated):
                        return spans[0].start, spans[0].end
        return None

    def _spans(self, fact: Fact, text: str) -> list[Span]:
        now = self._clock.now()
        return self._store.contained.run("times", NamedText(fact.id, text), lambda: when.resolve(text, now), [])

    def _day_said(self, what: str, *, last: bool) -> Moments | None:
        before = (self._clock.now() - _SAME_TALK).timestamp()
        word = "" if what.casefold() in _TALKING else what
        moment = self._store.exchanges.time_said(word, before, last=last, hidden=self._store.hidden())
        return self._day(moment)

    def _day_happened(self, what: str) -> Moments | None:
        now = self._clock.now().timestamp()
        hidden = self._store.hidden()
        unseen = hidden | self._store.findings.superseded(hidden)
        return self._day(self._store.findings.time_happened(what, now, hidden=unseen))

    def _day(self, moment: float | None) -> Moments | None:
        if moment is None:
            return None
        start = local(datetime.fromtimestamp(moment, UTC), self._store.zone).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        return start, start + timedelta(days=1, seconds=-1)


def _is_about(fact: Fact, whose: str) -> bool:
    if whose.casefold() in _SELF or not whose:
        return fact.draft.entity == "user"
    return whose.casefold() in f"{fact.draft.entity} {fact.text}".casefold()
