"""The tail of a prompt: what stands behind the history and changes from turn to turn (plans, recalled memories, the time);
and where in the prompt an author's words stand."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from moechat.ai.offline.lines import numbers
from moechat.ai.wire import marked
from moechat.errors import DataError
from moechat.language import words
from moechat.lore import LoreRole
from moechat.memory.core import Former
from moechat.model import LONG_AGO, Episode, Fact, Hit, Lore, Message, Recollection
from moechat.reading.saying import saying
from moechat.recall import fragments, plans, touch
from moechat.recall.fragments import Names
from moechat.recall.profile import Stable
from moechat.settings.character import USER_NAMES, Character
from moechat.settings.prompts import Prompts
from moechat.when.names import WEEKDAYS, tongue_of
from moechat.when.span import away, in_zone

log = logging.getLogger(__name__)
BLOCKS = ("lore", "core", "reflected", "remembered", "diary")
OF_NOW = ("days", "ours", "mood", "daybook")  # Blocks of the recipes that no ranking chooses.
MOST_DAYS = 3
MOMENT_AGO = timedelta(hours=1)  # Until then the prompt says that something was said a moment ago in another talk.
AGO = timedelta(hours=20)  # After this pause the prompt says how long ago the last talk was.
_MEANT = {"zh": "（说的是：{matter}）", "en": " (about {matter})"}

NOTHING_STABLE = Stable(LONG_AGO)


@dataclass(frozen=True)
class Background:
    """The memories behind the hits, by id; the stable part; ``news`` are facts that belong there and came later, and
    states that ended since (``over``).

    ``boundaries`` are those that came later, ``lore`` the entries of the world book, ``talk`` is the name of the talk.
    ``afterwards`` says of an exchange what became of the plan in it, ``ended`` what it states that is over by now; ``last`` is
    when the talk before ended. ``elsewhere`` are exchanges of other talks.
    """

    facts: Mapping[str, Fact] = field(default_factory=dict)
    episodes: Mapping[str, Episode] = field(default_factory=dict)
    stable: Stable = NOTHING_STABLE
    boundaries: Sequence[Fact] = ()
    news: Sequence[Fact] = ()
    over: Sequence[Former] = ()
    plans: Sequence[Episode] = ()
    afterwards: Mapping[str, Sequence[Episode]] = field(default_factory=dict)
    ended: Mapping[str, Sequence[Former]] = field(default_factory=dict)
    lore: Mapping[str, Lore] = field(default_factory=dict)
    talk: str = ""
    last: datetime | None = None
    elsewhere: Set[str] = frozenset()


NOTHING = Background()


def names_of(character: Character) -> Names:
    return Names(character.user_name, character.name, character.language)


def boundaries_block(prompts: Prompts, names: Mapping[str, str], boundaries: Sequence[Fact]) -> str:
    """What the user asks to be kept to, word for word, and whom or what that means where the words do not say it."""
    entries = []
    for fact in boundaries:
        text, matter = " ".join(fact.text.split()), fact.draft.target.split()
        is_named = not matter or any(word in words.fold(text) for word in map(words.fold, matter))
        meant = "" if is_named else _MEANT[tongue_of(text)].format(matter=" ".join(matter))
        entries.append(f"- {text}{meant}")
    return prompts.fill("boundaries", **names, entries="\n".join(entries))


class PromptTail:
    """What stands behind the history and changes from turn to turn."""

    def __init__(
        self,
        character: Character,
        prompts: Prompts,
        recollection: Recollection,
        background: Background,
        text: str,
        now: datetime,
    ) -> None:
        self._prompts, self._language = prompts, character.language
        self._names, self._called = character.names, names_of(character)
        self._recollection, self._background, self._text, self._now = recollection, background, text, now

    def blocks(self) -> list[str]:
        background, recollection, fill = self._background, self._recollection, self._prompts.fill
        blocks = [boundaries_block(self._prompts, self._names, background.boundaries)] if background.boundaries else []
        if background.news or background.over:
            over = [f"- {self._called.line(touch.formerly(one, at_length=False))}" for one in background.over]
            news = "\n".join(filter(None, [self._facts(background.news), *over]))
            blocks.append(fill("news", **self._names, entries=news))
        of_blocks: dict[str, list[Hit]] = {block: [] for block in BLOCKS}
        for hit in recollection.hits:
            block = {None: hit.layer, "event": "remembered", "reflection": "reflected"}[hit.episode]
            of_blocks[block].append(hit)
        for block, hits in of_blocks.items():
            if entries := self._entries(block, hits):
                blocks.append(fill(block, **self._names, entries=entries))
        if background.plans:
            entries = "\n".join(f"- {self._plan(episode)}" for episode in background.plans)
            blocks.append(fill("plans", **self._names, entries=entries))
        for name in OF_NOW:
            if lines := [f"- {self._called.line(hit.text)}" for hit in recollection.plans if hit.recipe == name]:
                blocks.append(fill(name, **self._names, entries="\n".join(lines)))
        elsewhere = recollection.elsewhere_spans
        for span in elsewhere or recollection.empty_spans:
            ends = {"from": f"{span.start:%Y-%m-%d %H:%M}", "to": f"{span.end:%Y-%m-%d %H:%M}"}
            blocks.append(fill("elsewhere" if elsewhere else "empty", phrase=span.phrase, **ends))
        if recollection.unread_until is not None:
            blocks.append(fill("unread", until=f"{recollection.unread_until:%Y-%m-%d %H:%M}"))
        if saying(self._text).is_danger:
            blocks.append(fill("danger", **self._names, help=self._help()))
        return [*blocks, self._time()]

    def _help(self) -> str:
        """A line for each region whose numbers are known, where the offline companion has them from. A broken file keeps nobody
        from an answer now."""
        comma, colon = (", ", ": ") if self._language == "en" else ("，", "：")
        try:
            regions = numbers(self._prompts.folders, self._language, ("crisis", "emergency"))
        except DataError as problem:
            log.warning("%s", problem)
            return ""
        return "\n".join(f"- {region}{colon}{comma.join(calls)}" for region, calls in regions)

    def _time(self) -> str:
        last = self._background.last
        ago = away(last, self._now, self._language) if last and self._now - last >= AGO else ""
        weekday = WEEKDAYS[self._language][self._now.weekday()]
        since = "" if not ago else f"；上次和{self._names['user']}说话是{ago}"
        if self._language == "en":
            since = "" if not ago else f"; you last talked with {self._names['user']} {ago}"
        return self._prompts.fill("time", now=f"{self._now:%Y-%m-%d %H:%M}", weekday=weekday, last=since)

    def _entries(self, block: str, hits: Sequence[Hit]) -> str:
        """The lines of a block. What the stable part tells, or another block, is not told again."""
        background = self._background
        if block == "core":
            above = (*background.stable.boundaries, *background.boundaries)
            shown_already = {fact.id for fact in (*above, *background.stable.facts, *background.news)}
            facts = [background.facts[hit.id] for hit in hits if hit.id in background.facts]
            grouped = self._facts([fact for fact in facts if fact.id not in shown_already])
            others = [f"- {self._called.line(hit.text)}" for hit in hits if hit.id not in background.facts]
            return "\n".join(filter(None, [grouped, *others]))
        if block == "diary":
            return self._diary(hits)
        if block == "remembered":
            elsewhere = {e.id for e in (*background.stable.overview, *background.stable.promises, *background.plans)}
            return "\n".join(self._event(hit) for hit in hits if hit.id not in elsewhere)
        draw = self._called.line if block == "reflected" else marked
        return "\n".join(f"- {draw(hit.text)}" for hit in hits)

    def _facts(self, facts: Sequence[Fact]) -> str:
        return fragments.fragments((fact for fact in facts if not self._called.is_name(fact)), self._called)

    def _diary(self, hits: Sequence[Hit]) -> str:
        """What was said, in order of time, each day named once."""
        lines: list[str] = []
        day = ""
        for hit in sorted(hits, key=lambda hit: hit.time.timestamp() if hit.time else 0.0):
            if hit.time is not None:
                moment = in_zone(hit.time, self._now.tzinfo)
                weekday, ago = WEEKDAYS[self._language][moment.weekday()], away(moment, self._now, self._language)
                if hit.id in self._background.elsewhere and self._now - moment < MOMENT_AGO:
                    ago = "刚才，在另一段对话里" if self._language == "zh" else "a moment ago, in another talk"
                heading = f"[{moment:%Y-%m-%d} {weekday}，{ago}]"
                if self._language == "en":
                    heading = f"[{weekday} {moment:%Y-%m-%d}, {ago}]"
                lines += [heading] if heading != day else []
                day = heading
            lines.append(self._spoken(hit.text))
            lines += self._again(hit) if hit.again else []
            later = self._background.afterwards.get(hit.id, ())
            lines += [self._became(episode) for episode in later if episode not in self._background.stable.overview]
            over = (touch.formerly(one, at_length=False) for one in self._background.ended.get(hit.id, ()))
            lines += [f"（{line}）" if self._language == "zh" else f"({line})" for line in map(self._called.line, over)]
        return "\n".join(lines)

    def _again(self, hit: Hit) -> list[str]:
        """The other days on which the same was told, the newest ``MOST_DAYS`` by name."""
        own, *others = (f"{in_zone(at, self._now.tzinfo):%Y-%m-%d}" for at in (hit.time, *hit.again) if at)
        if not (days := sorted({*others} - {own})):
            return []
        named, more = days[-MOST_DAYS:], len(days) - MOST_DAYS
        if self._language == "zh":
            return [f"（{'、'.join(named)}{f' 等 {len(days)} 天' if more > 0 else ''}也这样说过）"]
        return [f"(said the same on {', '.join(named)}{f' and on {more} more days' if more > 0 else ''})"]

    def _spoken(self, text: str) -> str:
        """What was said, with who spoke before each line; before the name was known, its lines are the user's."""
        nameless = USER_NAMES[self._language]
        label = re.compile(rf"^{nameless}(?=：|: )", re.MULTILINE)
        return label.sub(lambda _: self._called.user, text)

    def _became(self, later: Episode) -> str:
        line = fragments.event_line(later, self._now, self._called)
        if later.event.happened and later.event.status == "planned" and later.event.happened[0] > self._now:
            return f"（{line}）" if self._language == "zh" else f"({line})"
        return f"（后来：{line}）" if self._language == "zh" else f"(Later: {line})"

    def _event(self, hit: Hit) -> str:
        """The event as seed 004 has it; what was said of it stands below where the budget had room for it."""
        episode = self._background.episodes.get(hit.id)
        line = fragments.event_line(episode, self._now, self._called) if episode else marked(hit.text.split("\n")[0])
        return "\n".join([line, *map(self._spoken, hit.text.splitlines()[1:])])

    def _plan(self, episode: Episode) -> str:
        """A plan with how far it is; one whose time is over has not been heard of since."""
        line, happened = fragments.event_line(episode, self._now, self._called), episode.event.happened
        if happened is None or happened[1] >= self._now:
            return line
        is_plan, user = episode.event.status == "planned", self._names["user"]
        if plans.is_promise(episode.event, self._names["char"]):  # Nobody else could say how it went.
            outcome = ("做没做没有记下", "nothing says whether it was done")
        else:
            outcome = (f"还没听{user}说起后来怎样", f"{user} has not said how it went")
        if self._language == "zh":
            return f"{line}——{'时间已经过了，' if is_plan else ''}{outcome[0]}"
        return f"{line} - {'the time has passed, and ' if is_plan else ''}{outcome[1]}"


# ---- where the author's words stand. An entry of a book of another program may name a place: around the persona, around the
# examples, around what is recalled, or a number of messages before the end. All others stand in the block of the world.

ROLES = ("assistant", "user", "system")  # In this order at one depth.


@dataclass(frozen=True)
class Placed:
    """The words of entries that have a place of their own (``around``, by place; ``deep``, by messages before the end;
    ``outlets``, by name), and the ids of those entries."""

    around: Mapping[str, Sequence[str]] = field(default_factory=dict)
    deep: Sequence[tuple[int, Message]] = ()
    outlets: Mapping[str, str] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()

    def system(self, place: str) -> list[Message]:
        """The words at a place, as a message."""
        words = self.around.get(place)
        return [Message("system", "\n\n".join(words))] if words else []

    def at(self, depth: int) -> list[Message]:
        """What stands this number of messages before the end."""
        return [message for one, message in self.deep if one == depth]

    def within(self, history: Sequence[Message]) -> list[Message]:
        """The talk up to the message, with what stands in it; deeper entries go at the start."""
        messages: list[Message] = [one for far, one in self.deep if far > max(1, len(history) + 1)]
        for place, message in enumerate(history):
            messages += [*self.at(len(history) - place + 1), message]
        return messages


def placed(hits: Iterable[Hit], entries: Mapping[str, Lore], character: Character | None = None) -> Placed:
    """The hits that fired by their rules and have a place: lower ``order`` comes first, and of equals what fired last. At one
    depth and in one role stands one message, which begins with the note of the ``character``."""
    there = [(entries[hit.id], hit) for hit in hits if hit.id in entries and hit.why and entries[hit.id].position]
    there.reverse()
    around: dict[str, list[str]] = {}
    deep: dict[tuple[int, LoreRole], list[str]] = {}
    outlets: dict[str, list[str]] = {}
    if character and character.note:
        deep[character.note_depth, character.note_role] = [character.note]
    for entry, hit in sorted(there, key=lambda one: one[0].order):
        if entry.position == "depth":
            deep.setdefault((entry.depth, entry.role), []).append(hit.text)
        elif entry.position == "outlet":
            outlets.setdefault(entry.outlet, []).insert(0, hit.text)
        else:
            around.setdefault(entry.position, []).append(hit.text)
    order = sorted(deep, key=lambda one: (-one[0], ROLES.index(one[1])))
    return Placed(
        around, [(depth, Message(role, "\n".join(deep[depth, role]))) for depth, role in order],
        {name: "\n".join(words) for name, words in outlets.items()}, frozenset(hit.id for _, hit in there),
    )  # fmt: skip
