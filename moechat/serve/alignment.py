"""How the history that a front end sends lies beside ours, and what follows of it. Pure functions over plain values.

A front end knows no exchange of ours: it sends its whole talk each time, edited, shortened and branched as its user likes.
``align`` says what that means for ours. It never takes anything back, and where it is not sure it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from moechat.serve.additions import LEAST_WEIGHT, folded, rare, telling_lines, weight, without_frame

MIN_PART_CHARS = 8  # Of a reply; a shorter part is not recognised.
LEAST_TELLING = 4  # A shorter text says little about which turn it belongs to.
MAX_TURNS_COMPARED, MAX_BRANCHES_COMPARED = 200, 12  # Of the newest turns and of branches.
# How much a pair says: by both sides, by the message, by the reply (which stays where a message before it is deleted), by a
# short word.
BOTH, ONE, REPLY, LITTLE = 40, 20, 19, 10
MOST_CHANGES = 2  # A front end that changes more turns than this at once, the newest too, rewrites text by itself.


@dataclass(frozen=True, slots=True)
class SentTurn:
    """A message and the reply to it as the front end has them; "" where there is no reply. ``kin`` is the exchange of ours that
    alone has a long line of it. ``speaker`` is who said it in a group, "" the user, who may be another ``is_character``."""

    user: str
    reply: str = ""
    kin: str = ""
    speaker: str = ""
    is_character: bool = False


@dataclass(frozen=True, slots=True)
class TalkLine:
    """An exchange of ours with all its replies; ``chosen`` is the one that stands, and ``is_over`` whether it is too late for
    the same words to mean it again. ``speaker`` is who said the message, "" the user, who may be another ``is_character``. Not
    all of it ``stands``."""

    id: str
    parent: str | None
    user: str
    replies: tuple[str, ...] = ()
    chosen: int = -1
    is_over: bool = True
    speaker: str = ""
    stands: bool = True
    is_character: bool = False


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is to happen in our talk, in this order.

    ``choices`` are (exchange, reply) that stand in the front end, ``corrections`` are messages that have other words there.
    So are ``replies``. ``gone`` are exchanges between two that follow each other in the front end, ``beside`` others with
    the turns that stand in their place. ``before`` are those before its first turn, where that is one of ours.
    ``leaf`` becomes the leaf, "" where that stays. ``again`` is the exchange that gets another reply; "": the message is new.
    ``ids`` are our exchanges that the history holds, by the ``places`` of its turns. ``begins``: the message is another first
    one, for a front end that sends its history. ``is_whole``: the last turn is the last of ``ids`` on both sides.
    """

    choices: tuple[tuple[str, int], ...] = ()
    corrections: Mapping[str, str] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict, compare=False)
    gone: tuple[str, ...] = field(default=(), compare=False)
    beside: tuple[tuple[str, SentTurn], ...] = field(default=(), compare=False)
    before: tuple[str, ...] = field(default=(), compare=False)
    leaf: str = ""
    again: str = ""
    ids: tuple[str, ...] = ()
    begins: bool = False
    is_whole: bool = field(default=False, compare=False)
    places: Mapping[int, str] = field(default_factory=dict, compare=False)


def align(turns: Sequence[SentTurn], message: str, lines: Sequence[TalkLine], leaf: str | None) -> Alignment:
    """What a request means for a talk of ours.

    ``turns`` come before the ``message``, oldest first. ``lines`` are the exchanges of the talk, parents first, and ``leaf`` is
    the one that its next message follows.
    """
    older = max(len(turns) - MAX_TURNS_COMPARED, 0)
    turns = turns[older:]
    tree = {line.id: replace(line, user=folded(line.user), replies=tuple(map(folded, line.replies))) for line in lines}
    sent = _with_kin(turns, lines)
    theirs, path, pairs = _closest(sent, tree, leaf)
    matched = [(theirs[i], path[j]) for i, j in pairs]
    changed = {path[j].id: turns[i].user for i, j in pairs if theirs[i].user != path[j].user and turns[i].user}
    retold = {path[j].id: turns[i].reply for i, j in pairs if _is_retold(theirs[i].reply, path[j])}
    is_framed = any(theirs[i].user != sent[i].user for i, _ in pairs)
    # Turns between those that match, or after them, that match nothing; older ones may be from before us.
    strange = len(turns) - pairs[0][0] - len(pairs) if pairs else 0
    # What rewrites text does so with what was said last, which nobody has seen before; an edit is of what was read.
    is_newest_ours = any(i == len(turns) - 1 and _is_same(theirs[i], path[j]) for i, j in pairs[-1:])
    rewrites = len(changed) + strange > MOST_CHANGES and not is_newest_ours
    most = len(matched) if is_newest_ours else min(MOST_CHANGES, len(matched) - 1)
    choices = ((line.id, _reply_place(turn.reply, line)) for turn, line in matched)
    parent = _before(theirs, folded(message), path, pairs, tree.get(leaf or ""), rewrites=rewrites)
    twins = [line.id for line in tree.values() if line.parent == parent and line.user == folded(message)]
    again = leaf if leaf in twins else twins[-1] if twins else ""
    next_leaf = again or parent or leaf or ""
    is_group = any(turn.is_character for turn in turns)
    is_edited, are_bare = not (rewrites or is_framed), all(theirs[i].reply == sent[i].reply for i, _ in pairs)
    sure = [(i, j) for i, j in pairs if is_edited and _likeness(theirs[i], path[j]) > LITTLE]
    between = pairwise([(-1, -1), *sure])
    gaps = [(turns[i + 1 : k], [line for line in path[j + 1 : m] if line.stands]) for (i, j), (k, m) in between]
    return Alignment(
        choices=tuple((id_, at) for id_, at in choices if at >= 0),
        corrections=changed if is_edited and len(changed) < len(matched) else {},
        replies=retold if is_edited and are_bare and len(retold) <= most else {},
        gone=tuple(line.id for there, ours in gaps[1:] if not there for line in ours),
        beside=tuple(
            (line.id, turn)
            for there, ours in gaps
            if len(there) == len(ours)
            for line, turn in zip(ours, there, strict=True)
            if not is_group or line.speaker == turn.speaker
        ),
        before=tuple(line.id for line in path[: sure[0][1]]) if sure and sure[0] == pairs[0] and not sure[0][0] else (),
        leaf=next_leaf if next_leaf != leaf else "",
        again=again or "",
        ids=tuple(line.id for _, line in matched),
        begins=not turns and leaf is not None and parent is None and not again,
        is_whole=any(i == len(turns) - 1 and _likeness(theirs[i], path[j]) == BOTH for i, j in pairs[-1:]),
        places={older + i: path[j].id for i, j in pairs},
    )


@dataclass(frozen=True, slots=True)
class TalkLines:
    """A talk of ours, as far as a front end may have it: its newest exchanges, parents first, and its leaf."""

    name: str
    lines: Sequence[TalkLine]
    leaf: str | None


def choose(turns: Sequence[SentTurn], message: str, talks: Sequence[TalkLines]) -> tuple[str, Alignment] | None:
    """Which talk a request belongs to that does not name one, and what it means for it; None: it begins another, or it might
    be of several. ``talks`` are those of this owner, the newest first."""
    talks_of = rare([text for line in talk.lines for text in (line.user, *line.replies)] for talk in talks)
    theirs = frozenset[str]().union(*(telling_lines(text) for turn in turns for text in (turn.user, turn.reply)))
    alone = {talks[at].name for line, at in talks_of.items() if line in theirs}
    plans = [(talk, align(turns, message, talk.lines, talk.leaf)) for talk in talks]
    meant = [(talk, plan) for talk, plan in plans if _is_meant(turns, talk, plan, is_alone=talk.name in alone)]
    most = max(((len(plan.ids), -len(plan.choices)) for _, plan in meant), default=())
    best = [(talk, plan) for talk, plan in meant if (len(plan.ids), -len(plan.choices)) == most]
    # Of several the one that stands at the last turn, or right before what is said again.
    at_end = [(talk, plan) for talk, plan in meant if plan.is_whole and (plan.ids[-1] == talk.leaf or plan.again)]
    for sure in (best, [pair for pair in at_end if pair in best] or at_end):
        if len(sure) == 1:
            return sure[0][0].name, sure[0][1]
    for talk in talks[:1]:
        last = next((line for line in talk.lines if line.id == talk.leaf), None)
        if last and not last.is_over and folded(last.user) == folded(message) and (turns or last.parent is None):
            return talk.name, Alignment(again=last.id)
    return None


def first_of_two(plan: Alignment, talk: TalkLines) -> TalkLine | None:
    """The first exchange of another chat that began with the same words, with its reply: the two are one until both go on,
    each after a reply of its own. None where it is the same chat."""
    followed, places = {line.parent for line in talk.lines}, dict(plan.choices)
    firsts = [line for line in talk.lines if line.parent is None and line.id in followed and line.id in places]
    return replace(firsts[0], replies=(firsts[0].replies[places[firsts[0].id]],)) if firsts else None


def _is_meant(turns: Sequence[SentTurn], talk: TalkLines, plan: Alignment, *, is_alone: bool) -> bool:
    """Whether a request may be of a talk: two turns are, or one that says much where the talk stands, or its whole first."""
    is_much = is_alone or (plan.ids[-1:] == (talk.leaf,) and weight(turns[-1].user + turns[-1].reply) >= LEAST_WEIGHT)
    is_first = len(turns) == 1 and plan.ids in [(line.id,) for line in talk.lines if line.parent is None]
    return len(plan.ids) > 1 or (bool(plan.ids) and is_alone) or (plan.is_whole and (is_much or is_first))


def _before(
    turns: Sequence[SentTurn],
    message: str,
    path: Sequence[TalkLine],
    pairs: Sequence[tuple[int, int]],
    leaf: TalkLine | None,
    *,
    rewrites: bool,
) -> str | None:
    """The exchange that the message follows, None at the beginning.

    Turns that we do not know lie beside those of ours that the front end does not have: it may have changed both sides of
    them. Where it changes all of them, the message follows our leaf, or is it.
    """
    if leaf is None:
        return None
    if not turns:
        is_later = leaf.user == message and not any(one.parent is None and one.user == message for one in path)
        return leaf.parent if is_later else None
    beyond = len(turns) - 1 - pairs[-1][0] if pairs else len(turns)
    if pairs and (not beyond or not rewrites):
        return path[min(pairs[-1][1] + beyond, len(path) - 1)].id
    is_leaf = message == leaf.user and not _likeness(turns[-1], leaf)
    return leaf.parent if is_leaf else leaf.id


# ---- which turn is which exchange


def _with_kin(turns: Sequence[SentTurn], lines: Sequence[TalkLine]) -> list[SentTurn]:
    """The turns, folded, each with the exchange that shares the longest line with it, of those that stand once on either side."""
    ours, theirs = rare((line.user, *line.replies) for line in lines), rare((turn.user, turn.reply) for turn in turns)
    kin: dict[int, str] = {}
    for line in sorted(ours.keys() & theirs.keys(), key=weight):
        kin[theirs[line]] = lines[ours[line]].id
    return [replace(turn, user=folded(turn.user), reply=folded(turn.reply), kin=kin.get(at, ""))
            for at, turn in enumerate(turns)]  # fmt: skip


def _closest(
    turns: Sequence[SentTurn], tree: Mapping[str, TalkLine], leaf: str | None
) -> tuple[Sequence[SentTurn], Sequence[TalkLine], list[tuple[int, int]]]:
    """The turns as they lie closest to ours, with or without what stands around each of them; the branch that lies closest to
    them, oldest first; and the pairs of (turn, exchange) by their places."""
    parents = {line.parent for line in tree.values()}
    tips = [id_ for id_ in tree if id_ not in parents][-MAX_BRANCHES_COMPARED:]
    best: tuple[int, Sequence[SentTurn], Sequence[TalkLine], list[tuple[int, int]]] = (-1, turns, (), [])
    users, replies = without_frame([turn.user for turn in turns]), without_frame([turn.reply for turn in turns])
    bare = [replace(turn, user=user, reply=reply) for user, reply, turn in zip(users, replies, turns, strict=True)]
    for theirs in (turns, bare):
        if theirs != turns and len(best[3]) == len(turns):
            break
        for tip in dict.fromkeys([*([leaf] if leaf in tree else []), *reversed(tips)]):
            path = [tree[id_] for id_ in _ancestors(tip, tree)][::-1][-2 * MAX_TURNS_COMPARED :]
            score, pairs = _paired(theirs, path)
            if score > best[0]:
                best = score, theirs, path, pairs
    return best[1:]


def _ancestors(id_: str | None, tree: Mapping[str, TalkLine]) -> Iterator[str]:
    while id_ is not None and id_ in tree:
        yield id_
        id_ = tree[id_].parent


def _paired(turns: Sequence[SentTurn], path: Sequence[TalkLine]) -> tuple[int, list[tuple[int, int]]]:
    """(how well they fit, the pairs): the best common sequence; of equals the newest exchanges."""
    ends = _run(turns, path)
    head, tail = len(turns) - ends, len(path) - ends
    if not head or not tail:
        pairs = [(head + at, tail + at) for at in range(ends)]
        return sum(_likeness(turns[i], path[j]) for i, j in pairs), pairs
    best = [[0] * (len(path) + 1) for _ in range(len(turns) + 1)]
    like = [[_likeness(turn, line) for line in path] for turn in turns]
    for i, row in enumerate(like):
        for j, likeness in enumerate(row):
            with_pair = best[i][j] + likeness if likeness else 0
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], with_pair)
    pairs, i, j = [], len(turns), len(path)
    while i and j:
        weight = like[i - 1][j - 1]
        if weight and best[i][j] == best[i - 1][j - 1] + weight:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif best[i][j] == best[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return best[-1][-1], pairs[::-1]


def _run(turns: Sequence[SentTurn], path: Sequence[TalkLine]) -> int:
    """How many of the last turns are the last exchanges, on both sides."""
    run = 0
    for turn, line in zip(reversed(turns), reversed(path), strict=False):
        if _likeness(turn, line) < BOTH:
            break
        run += 1
    return run


def _likeness(turn: SentTurn, line: TalkLine) -> int:
    """What a turn and an exchange have in common, 0 for nothing. A short text alone says little."""
    if turn.is_character != line.is_character or (turn.is_character and turn.speaker != line.speaker):
        return 0
    user = turn.user == line.user
    reply = bool(turn.reply) and any(_same_reply(turn.reply, one) for one in line.replies)
    if user and (reply or not turn.reply):
        return BOTH
    if user:
        return ONE if len(turn.user) >= LEAST_TELLING or turn.kin == line.id else LITTLE
    goes_on = turn.is_character and _same_reply(turn.user, line.user)  # Two lines of one in a row come as one.
    is_like = goes_on or turn.kin == line.id or (reply and len(turn.reply) >= LEAST_TELLING)
    return REPLY - (not line.stands) if is_like else 0


def _reply_place(reply: str, line: TalkLine) -> int:
    """Which of the replies stands in the front end, -1 where it is the chosen one or none of ours."""
    if not reply or (line.replies and reply == line.replies[line.chosen]):
        return -1
    return line.replies.index(reply) if reply in line.replies else -1


def _is_same(turn: SentTurn, line: TalkLine) -> bool:
    """Whether both sides of a turn are as we have them."""
    return turn.user == line.user and turn.reply in line.replies


def _is_retold(reply: str, line: TalkLine) -> bool:
    """Whether a reply has other words than any of ours, or none where ours has."""
    return reply not in line.replies and bool(reply or any(line.replies))


def _same_reply(theirs: str, ours: str) -> bool:
    """Whether it is the same reply, though one side may have less of it, or another's beside it."""
    a, b = sorted((theirs, ours), key=len)
    return a == b or (len(a) >= MIN_PART_CHARS and a in b)
