"""The talks of front ends in our memory: which one a request belongs to, what it changes there, and the reply to it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import secrets
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar
from weakref import WeakKeyDictionary

from moechat.agent import Agent
from moechat.conversation import Conversation
from moechat.house.group import GroupTalk, introduce
from moechat.serve.additions import Additions, folded, telling_lines, weight, without_frame
from moechat.serve.agents import MAX_HEARD
from moechat.serve.alignment import Alignment, SentTurn, TalkLine, TalkLines, align, choose, first_of_two
from moechat.serve.group_lines import new_id, told
from moechat.serve.history import History, TalkRequest, quotes
from moechat.turn import Ended, Recalled, TurnEvent

NAMED, NAMELESS = "chat:", "chat "  # How the talks of front ends are called, with a name of theirs and without.
MAX_PATH_COMPARED, MAX_BRANCHED_COMPARED = 400, 1000  # Exchanges of a talk, beside what a front end sends.
MAX_NAMELESS_TALKS = 40  # The newest, of which one may be meant.
EXCHANGES_JUDGED_BY = 40  # The newest of such a talk.
LEAST_ALONE = 3  # Messages of a chat without history, after which it sends none.
MOST_NAME, MOST_SEEN = 60, 1000
SURELY = 1.5  # Letters are not tokens: a request this much heavier has more of them for certain.
SOON_AGAIN = timedelta(hours=1)  # An answer that broke off is asked for again this soon, or not at all.
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class LastShown:
    """What a front end showed of a talk that it names, when it last sent its history: the exchange of ours with which that began,
    what ``opened`` the whole of it, how many turns it had, and its messages. Where it began later than ours, a request of the
    weight ``room`` would have had room for what is missing."""

    first: str
    opened: str
    count: int
    messages: frozenset[str]
    room: float = math.inf


class NoTalk(Exception):
    """A request that turns out to be about a talk, not part of one."""


class Reply:
    """The replies to one request, as events with their number. ``stop`` ends the one that is under way, from any thread.
    ``is_lost``: whoever asked has not got it, or not the whole of it. ``grounds`` are the memories behind each of them (as in
    ``turn.Shown``), by number, where it ``tells_why``."""

    def __init__(self, *, tells_why: bool = False) -> None:
        self._conversation: Conversation | None = None
        self._tells_why, self.grounds = tells_why, dict[int, list[dict[str, object]]]()
        self.texts = list[str]()  # All that came, folded.
        self.is_lost, self._is_stopped = True, False

    def of(
        self, conversation: Conversation, events: Generator[TurnEvent, None, None], number: int, *begun: TurnEvent
    ) -> Iterator[tuple[int, TurnEvent]]:
        """The events of a turn with the number of its reply, after those that were read already. A turn that is not read to its
        end is ended here, whoever holds on to it."""
        self._conversation = conversation
        if self._is_stopped:
            conversation.stop()
        try:
            with contextlib.closing(events):
                for event in itertools.chain(begun, events):
                    self.texts += [folded(event.exchange.char)] if isinstance(event, Ended) else []
                    if self._tells_why and isinstance(event, Ended):
                        (row,) = conversation.path.shown([event.exchange.id])
                        self.grounds[number] = [one for one in row.grounds if one.get("text")]
                    yield number, event
        finally:
            self._conversation = None

    def stop(self) -> None:
        self._is_stopped = True
        if (conversation := self._conversation) is not None:
            conversation.stop()


@dataclass
class FrontEndNotes:
    """What the front ends of one agent did since it was opened, the newest of each. ``aside`` are messages off the record,
    ``seen`` other words that were seen once in a talk without a name, by talk and exchange. ``shown`` is by talk: a request
    without a history is at its first message there, where one was sent before. ``begun`` has (talk, exchange) of the requests
    that had a key, ``replies`` are by exchange; ``additions`` are what the programs put around its user's words."""

    aside: dict[str, None] = field(default_factory=dict)
    seen: dict[tuple[str, str], str] = field(default_factory=dict)
    shown: dict[str, LastShown] = field(default_factory=dict)
    begun: dict[str, tuple[str, str]] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    additions: Additions = field(default_factory=Additions)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    def lock(self, talk: str) -> threading.Lock:
        """What is held while a request finds its place in a talk, or ("") its talk."""
        return self._locks.setdefault(talk, threading.Lock())


class Chats:
    """The talks of all front ends with one house. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: WeakKeyDictionary[Agent, FrontEndNotes] = WeakKeyDictionary()

    def _of(self, agent: Agent) -> FrontEndNotes:
        with self._lock:
            return self._notes.setdefault(agent, FrontEndNotes())

    def replies(
        self, agent: Agent, request: TalkRequest, reply: Reply, group: GroupTalk | None = None
    ) -> Generator[tuple[int, TurnEvent], None, None]:
        """The events of each reply in turn; ``group`` is the talk of several that the agent is asked in. Raises NoTalk."""
        notes = self._of(agent)
        if not request.stores:
            _keep(notes.aside, folded(request.history.words or ""), None)
            aside = agent.aside()
            yield from reply.of(aside, aside.talk(request.history.words or "", request.sent(())), 0)
            return
        if group:
            group.pass_on()
        request, talks = self._read(agent, request)
        words = request.history.words or ""
        name, same = notes.begun.get(request.key, ("", ""))
        if not same and request.key:  # Perhaps it came before this process did.
            newest = ((talk.name, talk.leaf) for talk in talks if talk.leaf)
            name, same = next((at for at in newest if agent.conversation.path.is_of(at[1], request.key)), ("", ""))
        if not same:
            name = self._talk_of(agent, request, talks)
        conversation = agent.in_talk(name)
        with notes.lock(name):
            talk = self._without_additions(agent, conversation, _talk(agent, name))
            shown = notes.shown.get(name)
            is_aside = shown and shown.opened and not request.history.before and not request.history.after
            if not same and not request.history.turns and (is_aside or quotes(words, talk.lines)):
                raise NoTalk
            lines = self._lines(agent, conversation, request.history.lines, 1, group)
            talk = _talk(agent, name) if group else talk
            unheard = self._unheard(agent, request, talk, shown, lines[:-1])
            turns = request.history.turns[: len(request.history.turns) - len(unheard)]
            before_them = replace(request, history=replace(request.history, turns=turns))
            plan = (
                Alignment(again=same)
                if same
                else self._plan(agent, before_them, talk, sends_history=bool(shown or group))
            )
            if plan.again in agent.store.tree.retracted - agent.store.tree.unshown:
                plan = replace(plan, again="")  # It was taken back here, and is said once more.
            self._apply(agent, conversation, plan, request, group)
            if group:
                self._show_all(agent, request, group, len(unheard) + (not plan.again))
            if not plan.again:
                is_line = group and request.history.is_by_character and lines[-1][1] not in agent.store.tree
                for turn, id_ in (*unheard[-MAX_HEARD:], *(lines[-1:] if is_line else ())):
                    conversation.hear(id_ or new_id(agent), turn.user, turn.speaker, passes=bool(group))
                plan = replace(plan, again=lines[-1][1] if is_line else "")
            sent = replace(request.sent(plan.ids), begins=plan.begins and not group)
            events = conversation.regenerate(plan.again, sent) if plan.again else conversation.talk(words, sent)
            first = next(events)
            if isinstance(first, Recalled):
                _keep(notes.replies, first.exchange_id, reply)
                if request.key:
                    _keep(notes.begun, request.key, (name, first.exchange_id))
        yield from reply.of(conversation, events, 0, first)
        for number in range(1, request.count):
            yield from reply.of(conversation, conversation.regenerate("", sent), number)

    # ---- which talk, and where

    def _read(self, agent: Agent, request: TalkRequest) -> tuple[TalkRequest, Sequence[TalkLines]]:
        """A request with what its user says alone, without what the program puts around it; and the talks that may be meant."""
        history = request.history
        words = history.words or ""
        newest = _newest(agent, named(request.chat)) if request.chat else _newest(agent, NAMELESS)
        if history.cue:  # In a group the words of several stand beside each other, and none is an addition.
            return request, newest if request.chat else _alike(agent, history, newest)
        ours = [line.user for talk in newest for line in talk.lines]
        sent = [(turn.user, turn.reply) for turn in history.turns]
        notes = self._of(agent)
        notes.additions = notes.additions.learnt(words, sent, ours)
        additions = replace(notes.additions, labels=notes.additions.labels | {request.user, agent.character.user_name})
        turns = [replace(turn, user=additions.without(turn.user)) for turn in history.turns]
        history = replace(history, words=additions.without(words), turns=turns)
        return replace(request, history=history), newest if request.chat else _alike(agent, history, newest)

    def _without_additions(self, agent: Agent, conversation: Conversation, talk: TalkLines) -> TalkLines:
        """A talk of ours without what was kept as its user's before it was known to be the program's."""
        additions = self._of(agent).additions
        lines = [replace(line, user=additions.without(line.user)) for line in talk.lines]
        for line, kept in zip(lines, talk.lines, strict=True):
            if line != kept:
                conversation.correct(line.id, user=line.user)
        return replace(talk, lines=lines)

    def _talk_of(self, agent: Agent, request: TalkRequest, talks: Sequence[TalkLines]) -> str:
        """The name of the talk that a request belongs to. Raises NoTalk."""
        if request.chat:
            return named(request.chat)
        history = request.history
        with self._of(agent).lock(""):
            if not history.turns and any(quotes(history.words or "", talk.lines) for talk in talks):
                raise NoTalk
            chosen = choose(history.turns, history.words or "", talks)
            if chosen is None and history.cue:  # what others said meanwhile is in no talk yet
                answered = itertools.dropwhile(lambda turn: not turn.reply, reversed(history.turns))
                chosen = choose(list(answered)[::-1], history.words or "", talks)
            if chosen and not history.turns and self._is_new(agent, request, talks, *chosen):
                chosen = None
            twin = chosen and first_of_two(chosen[1], next(talk for talk in talks if talk.name == chosen[0]))
            if chosen is not None and not twin:
                return chosen[0]
            name = f"{NAMELESS}{agent.now():%Y-%m-%d %H:%M} {secrets.token_hex(3)}"
            if twin:
                id_ = agent.store.log.begin(twin.user, agent.store.exchanges.get(twin.id).at, talk=name)
                agent.store.log.finish(id_, twin.replies[0], "done")
            return name

    def _is_new(
        self, agent: Agent, request: TalkRequest, talks: Sequence[TalkLines], talk: str, plan: Alignment
    ) -> bool:
        """Whether the words of a message without history are said once more, though they are those of the last one: that had a
        key, or a whole answer, and no reply beside them and no talk of several turns says that front ends send a history."""
        begun = list(self._of(agent).begun.values())
        beside = (*request.history.before, *request.history.after)
        has_history = any(one.role == "assistant" for one in beside) or any(len(one.lines) > 1 for one in talks)
        is_again = has_history or not self._is_answered(agent, plan.again)
        return bool(request.key and (talk, plan.again) in begun) or not is_again

    def _is_answered(self, agent: Agent, id_: str) -> bool:
        reply = self._of(agent).replies.get(id_)
        return agent.store.exchanges.get(id_).status == "done" and not (reply and reply.is_lost)

    def _plan(self, agent: Agent, request: TalkRequest, talk: TalkLines, *, sends_history: bool) -> Alignment:
        history = request.history
        words = history.words or ""
        if request.chat and not history.turns and not sends_history:
            for line in talk.lines:
                same = (folded(line.user), line.speaker) == (folded(words), history.speaker)
                if line.id == talk.leaf and same and (line.parent is None or not line.is_over):
                    is_short = len(talk.lines) < LEAST_ALONE  # Too short to say that it never sends a history.
                    is_sent_again = is_short or not self._is_answered(agent, line.id)
                    return Alignment(again=line.id if is_sent_again else "")
            return Alignment()
        if request.chat:
            return align(history.turns, words, talk.lines, talk.leaf)
        chosen = choose(history.turns, words, [talk]) if talk.lines else None
        return chosen[1] if chosen is not None else Alignment()

    def _lines(
        self, agent: Agent, conversation: Conversation, turns: Sequence[SentTurn], asks: int, group: GroupTalk | None
    ) -> list[tuple[SentTurn, str]]:
        """The turns of a request, each with the id of that line in a talk of several; as many as it ``asks`` last may be new."""
        introduce(agent, conversation.name, [turn.speaker for turn in turns if turn.is_character], group)
        if not group:
            return [(turn, "") for turn in turns]
        talk = _talk(agent, conversation.name)
        places = align(turns[: len(turns) - asks], "", talk.lines, talk.leaf).places
        return list(zip(turns, told(agent, conversation, group, turns, places), strict=True))

    def _unheard(
        self,
        agent: Agent,
        request: TalkRequest,
        talk: TalkLines,
        last: LastShown | None,
        lines: Sequence[tuple[SentTurn, str]],
    ) -> list[tuple[SentTurn, str]]:
        """What was said since the last reply in a group, or in a talk that the front end names, and is not in ours yet, oldest
        first: others were asked for an answer, or nobody. Of a talk that was not followed since then by this program, nobody
        knows what was off the record."""
        heard, notes = {folded(line.user) for line in talk.lines} | (last.messages if last else set()), self._of(agent)
        is_followed = request.chat and (last or talk.leaf in notes.replies)

        def is_new(line: tuple[SentTurn, str]) -> bool:
            turn, id_ = line
            words = folded(turn.user)
            is_known = id_ in agent.store.tree if id_ else words in heard
            return bool(words) and not (turn.reply or is_known) and words not in notes.aside

        newest = reversed(lines if request.history.cue or is_followed else ())
        return list(itertools.takewhile(is_new, newest))[::-1]

    def _apply(
        self, agent: Agent, conversation: Conversation, plan: Alignment, request: TalkRequest, group: GroupTalk | None
    ) -> None:
        """What the front end has otherwise than we do. Of a talk that it names all that it shows stands, and what it shows no
        more is taken back."""
        for id_, at in plan.choices:
            conversation.select(id_, at)
        for id_, words in plan.corrections.items():
            if request.chat or self._is_seen_again(agent, conversation.name, id_, words):
                conversation.correct(id_, user=words)
        if request.chat and (back := [id_ for id_ in (*plan.ids, plan.again) if id_ in agent.store.tree.unshown]):
            conversation.restore(*back)
        if request.chat and request.history.turns:
            self._show(agent, conversation, plan, request.history)
        if group and (plan.leaf or plan.begins):
            after = itertools.takewhile(lambda id_: id_ != plan.leaf, agent.store.tree.path(conversation.name))
            gone = [id_ for id_ in after if id_ not in agent.store.tree.retracted]  # A talk of several has no branches.
            conversation.retract(*gone, unshown=True)
        elif plan.leaf:
            conversation.select(plan.leaf)

    def _show(self, agent: Agent, conversation: Conversation, plan: Alignment, history: History) -> None:
        """Let a talk of ours have what the front end shows of it, and nothing between that it does not."""
        tree, talks = agent.store.tree, self._of(agent).shown
        last, messages = talks.get(conversation.name), frozenset(folded(turn.user) for turn in history.turns)
        opening = next((one for one in history.before if one.role != "system"), None)
        opened = folded(opening.content) if opening and opening.role == "assistant" else ""
        first = plan.ids[0] if plan.ids else ""
        gone = plan.gone
        if opened and last and (last.opened, last.first) == (opened, first):
            # Its beginning is there, and this exchange follows it again, though the talk has gone on: nothing was cut.
            gone += plan.before if len(history.turns) > last.count else ()
        room = math.inf
        if plan.before and not opened and not (last and last.opened):
            missing = agent.store.exchanges.of([id_ for id_ in plan.before if id_ not in tree.retracted]).values()
            whole_size = history.weight + sum(weight(one.user + one.char) for one in missing)
            room = min(last.room if last and last.first == first else math.inf, SURELY * whole_size)
            gone += plan.before if history.weight >= room else ()
        if standing := [id_ for id_ in gone if id_ not in tree.retracted]:
            conversation.retract(*standing, unshown=True)
        with self._lock:
            elsewhere = [
                one for other, its in self._notes.items() if other is not agent for one in list(its.replies.values())
            ]
        others = {text for one in elsewhere for text in one.texts}
        for id_, reply in plan.replies.items():
            if folded(reply) not in others:  # What another character said does not become hers.
                conversation.correct(id_, char=reply)
        for id_, turn in plan.beside:
            if last and folded(turn.user) not in last.messages:
                hers = {} if folded(turn.reply) in others else {"char": turn.reply}
                conversation.correct(id_, user=turn.user, **hers)
        whole = opened if not plan.before else last.opened if last else ""
        talks[conversation.name] = LastShown(first, whole, len(history.turns), messages, room)

    def _show_all(self, agent: Agent, request: TalkRequest, group: GroupTalk, new: int) -> None:
        """Let the others in a group remember all it shows but ``new`` lines at its end. That is not passed on: all have it."""
        agents = [one for one in group.path.agents().values() if group.name in one.store.tree.talks]
        for other in {*agents} - {agent}:
            history = request.history.heard_by(other.character.name).to(request.user)
            turns = [*history.turns, replace(history.lines[-1], reply=history.begun.rstrip())]
            for _ in range(new):
                last = turns.pop()
                turns += [replace(last, reply="")] if last.reply else []
            self._lines(other, other.in_talk(group.name), turns, 0, group)
            talk = _talk(other, group.name)
            plan, shown = align(turns, "", talk.lines, talk.leaf), replace(history, turns=turns)
            self._apply(other, other.in_talk(group.name), plan, replace(request, history=shown), group)
        for one in agents:
            if waiting := list(one.store.tree.talks[group.name].waiting):
                one.store.log.tell_talk(group.name, passed=waiting)

    def _is_seen_again(self, agent: Agent, talk: str, id_: str, words: str) -> bool:
        seen = self._of(agent).seen
        with self._lock:
            is_again = seen.get((talk, id_)) == words
            _keep(seen, (talk, id_), words)
        return is_again


def _keep(newest: dict[K, V], key: K, value: V) -> None:
    """Keep it as the newest of ``MOST_SEEN``."""
    newest[key] = value
    while len(newest) > MOST_SEEN:
        del newest[next(iter(newest))]


def named(chat: str) -> str:
    """What a chat's talk is called: short enough, and otherwise than another's."""
    is_short = len(chat) <= MOST_NAME
    return NAMED + (chat if is_short else f"{chat[:20]}…{hashlib.sha256(chat.encode()).hexdigest()[:16]}")


def _newest(agent: Agent, begins: str) -> list[TalkLines]:
    """The newest exchanges of the newest talks whose name begins so, the one last spoken in first."""
    talks = [talk for talk in list(agent.store.tree.talks.values()) if talk.name.startswith(begins)]
    newest = sorted(talks, key=lambda talk: talk.newest or "", reverse=True)[:MAX_NAMELESS_TALKS]
    return [_talk(agent, talk.name, EXCHANGES_JUDGED_BY) for talk in newest]


def _alike(agent: Agent, history: History, newest: Sequence[TalkLines]) -> list[TalkLines]:
    """Those of them that a request may mean."""
    users = [turn.user for turn in history.turns]
    texts = [history.words or "", *users, *(turn.reply for turn in history.turns)]
    words = {folded(text) for text in (*texts, *without_frame(users))}.union(*map(telling_lines, texts))

    def shares(line: TalkLine) -> bool:
        return not words.isdisjoint({folded(line.user)}.union(*map(telling_lines, (line.user, *line.replies))))

    alike = [talk for talk in newest if talk is newest[0] or any(map(shares, talk.lines))]
    whole = [_talk(agent, talk.name) for talk in alike]
    return whole if history.turns else (whole + [talk for talk in newest if talk not in alike])


def _talk(agent: Agent, name: str, most: int = 0) -> TalkLines:
    """A talk as it may be compared; ``most``: only this many of the newest exchanges of its path."""
    tree, pause = agent.store.tree, timedelta(seconds=agent.config.roll.pause_s)
    leaf = tree.leaf(name)
    ids = list(itertools.islice(tree.ancestors(leaf), most or MAX_PATH_COMPARED))[::-1]
    if not most and name in tree.talks and tree.talks[name].forked:
        branches = [id_ for id_ in list(tree.parents) if tree.talk_of(id_) == name][-MAX_BRANCHED_COMPARED:]
        ids = list(dict.fromkeys([*ids, *branches]))
    texts = agent.store.exchanges.of(ids)
    lines = []
    for id_ in ids:
        node, exchange = tree.nodes.get(id_), texts.get(id_)
        user, at = (exchange.user, 0) if exchange else ("", -1)
        replies: tuple[str, ...] = (exchange.char,) if exchange else ()
        if exchange and node and node.variants and not node.folded:
            replies, at = tuple(variant.char for variant in node.variants), node.chosen
        speaker = exchange.speaker if exchange else ""
        patience = pause if exchange is None or exchange.status == "done" else SOON_AGAIN
        is_over = exchange is None or agent.now() - exchange.at >= patience
        how = id_ not in tree.retracted, tree.is_character(name, speaker)
        lines.append(TalkLine(id_, tree.parents.get(id_), user, replies, at, is_over, speaker, *how))
    return TalkLines(name, lines, leaf)
