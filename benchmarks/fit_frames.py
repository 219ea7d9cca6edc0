"""Learns the network of moechat/reading/frames from its examples, with torch; what came out runs on numpy alone.

    python -m benchmarks.fit_frames         (or make sayings, which calls it)

What is printed was measured on messages of which one in ten is left out: found and right by kind, and whose.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.fit_network import Reader, learned, padded
from moechat.reading import frames, network
from moechat.reading.frames import Frame, Frames, Value
from moechat.reading.nearness import examples
from moechat.reading.saying import SAYINGS
from moechat.when.names import has_han

NARROW, FORM, HIDDEN = 160, 24, 96
SEEDS = (3, 4)  # of the networks whose chances are averaged
EPOCHS = 9
MESSAGE_WEIGHT = 2.0  # A message counts as so many sentences of one kind.
OWN_WEIGHT = 0.5
# Chances that a message is told with other values, in small letters, without marks.
OTHER_VALUE, SMALL, BARE = 0.6, 0.5, 0.25
# A message of so few words that states something is told with other values so many times.
TOKENS_PLAIN, TIMES_PLAIN = 14, 3
# To this share of messages up to three others are put, as if all were told in one breath; to plain ones oftener, and plain ones.
AT_ONCE, PLAIN_AT_ONCE, MOST_AT_ONCE = 0.2, 0.5, 4
CALLED = 0.1  # So many messages begin with the name of whom they are said to.
SENTENCES_STEP = 2  # Of sentences of one kind one in so many is taken.
LEFT_OUT = 10
# Sayings of these kinds tell of nothing that moves a life, and those of these and six more state no fact.
NO_MATTER = frozenset(
    "everyday day joke figure quote suppose question greeting goodnight other record role advice".split()
)
NO_FACT = NO_MATTER | frozenset("plan quarrel hurt glad takeback limit".split())


class FrameReader(Reader):
    """As ``Frames`` reads it."""

    def __init__(self, kinds: int) -> None:
        super().__init__(NARROW, FORM, HIDDEN)
        self.kinds = nn.Linear(2 * HIDDEN, kinds + 1)

    def loss(self, batch: list[FrameRead]) -> Tensor:
        around, is_there = self.around(batch)
        scores = self.kinds(self.drop(around))[is_there]
        own = padded([one.own for one in batch])[is_there]
        weights = torch.tensor([one.weight for one in batch])[:, None].expand_as(is_there)[is_there]
        chances = torch.log_softmax(scores[:, :-1], dim=1)
        may = padded([one.may for one in batch])[is_there]
        wrong: Tensor = (-torch.logsumexp(chances.masked_fill(~may, -torch.inf), dim=1) * weights).sum() / weights.sum()
        if (own >= 0).any():
            whose = nn.functional.binary_cross_entropy_with_logits(scores[own >= 0, -1], own[own >= 0])
            wrong = wrong + OWN_WEIGHT * whose
        return wrong


class FrameRead:
    """An example as the network takes it; ``may``: the kinds that each token may be of."""

    def __init__(self, of: Frame, kinds: Sequence[str]) -> None:
        row = network.tokens(of.text)
        self.states = torch.from_numpy(network.in_context(of.text).astype(np.float16))
        self.forms = torch.from_numpy(network.forms(of.text))
        spans = [next((one for one in of.values if one.start <= at.start < one.end), None) for at in row]
        unmarked = [kind == frames.NONE or (of.is_in_part and kind not in frames.CHANGES) for kind in kinds]
        self.may = torch.tensor([[one.kind == kind for kind in kinds] if one else unmarked for one in spans])
        self.own = torch.tensor([one.own if one and of.is_message else -1.0 for one in spans])  # -1 where nobody says
        self.weight = MESSAGE_WEIGHT if of.is_message else 1.0


def of_taste(value: Value) -> str:
    """Its kind; what one likes another dislikes."""
    return "like" if value.kind == "dislike" else value.kind


def is_plain(one: Frame) -> bool:
    return bool(one.values) and len(network.tokens(one.text)) <= TOKENS_PLAIN


def varied(of: Sequence[Frame], seed: int = 1) -> Iterator[Frame]:
    """Each message once more, a plain one oftener, as another would tell it: with other values of the same kinds, in small
    letters, without marks, now and then to somebody called by name."""
    chance = np.random.default_rng(seed)
    pool: dict[tuple[str, bool], list[str]] = {}
    for one in of:
        for value in one.values:
            pool.setdefault((of_taste(value), has_han(one.text)), []).append(one.text[value.start : value.end])
    names = {is_han: [*pool["name", is_han], *pool["kname", is_han]] for is_han in (False, True)}
    for one in (*of, *[one for one in of if is_plain(one)] * (TIMES_PLAIN - 1)):
        is_small, is_bare, is_called = chance.random() < SMALL, chance.random() < BARE, chance.random() < CALLED
        text, values, last = "", list[Value](), 0
        if is_called:
            is_han = has_han(one.text)
            text = str(chance.choice(names[is_han])) + ("，" if is_han else ", ")

        def retold(part: str, is_small: bool = is_small, is_bare: bool = is_bare) -> str:
            part = part.lower() if is_small else part
            return re.sub(r"[,.!，。！、]", " ", part) if is_bare else part

        for value in one.values:
            text += retold(one.text[last : value.start])
            other = chance.choice(pool[of_taste(value), has_han(one.text)]) if chance.random() < OTHER_VALUE else None
            word = str(other or one.text[value.start : value.end])
            word = word.lower() if is_small else word
            values.append(replace(value, start=len(text), end=len(text) + len(word)))
            text, last = text + word, value.end
        yield replace(one, text=text + retold(one.text[last:]), values=tuple(values))


def at_once(of: Sequence[Frame], seed: int = 2) -> Iterator[Frame]:
    """Some messages with others of their language behind them, as one that tells much at once, no longer than is read at a
    time."""
    chance = np.random.default_rng(seed)
    others: dict[tuple[bool, bool, bool], list[Frame]] = {}
    for one in of:
        others.setdefault((has_han(one.text), is_plain(one), one.is_in_part), []).append(one)
    for first in of:
        if chance.random() >= (PLAIN_AT_ONCE if is_plain(first) else AT_ONCE):
            continue
        like = others[is_han := has_han(first.text), is_plain(first), first.is_in_part]
        text, values = first.text, list(first.values)
        for at in chance.integers(len(like), size=chance.integers(1, MOST_AT_ONCE)):
            between = str(chance.choice(["，", "。", "，", " "] if is_han else [". ", ", ", " and ", " "]))
            start, more = len(text) + len(between), like[at]
            if start + len(more.text) > frames.LONGEST:
                break
            text += between + more.text
            values += [replace(value, start=value.start + start, end=value.end + start) for value in more.values]
        yield replace(first, text=text, values=tuple(values))


def measured(near: Frames, of: Sequence[Frame]) -> None:
    """Print what is found of the values in ``of``, and what is right of those that are heard, by kind."""
    wanted, found, heard, right, whose = Counter[str](), Counter[str](), Counter[str](), Counter[str](), Counter[bool]()
    for one in of:
        values = list(frames.runs(network.tokens(one.text), near.kinds, *near.chances(one.text)))
        for value in one.values:
            wanted[value.kind] += 1
            found[value.kind] += any(meets(value, other) for other in values)
        for value in values:
            heard[value.kind] += 1
            if truth := next((other for other in one.values if meets(value, other)), None):
                right[value.kind] += 1
                whose[(value.own >= 0.5) == (truth.own >= 0.5)] += 1
    for kind in sorted(wanted):
        shares = found[kind] / wanted[kind], right[kind] / max(heard[kind], 1)
        print("  {:9}{:5}  found {:.2f}  right {:.2f}".format(kind, wanted[kind], *shares))
    shares = found.total() / wanted.total(), right.total() / max(heard.total(), 1), whose[True] / max(whose.total(), 1)
    print("frames: {:.3f} found, {:.3f} right, {:.3f} of these under whom they are".format(*shares))


def meets(one: Value, other: Value) -> bool:
    return one.kind == other.kind and one.start < other.end and other.start < one.end


def all_examples() -> list[Frame]:
    """The examples, and what else states no fact."""
    of = frames.examples()
    sayings = [one for one in examples(SAYINGS) if one.kind in NO_FACT]
    sentences = [one for one in of if not one.is_message] + [Frame(one.text, ()) for one in sayings]
    return [one for one in of if one.is_message] + sentences[::SENTENCES_STEP]


def taught(of: Sequence[Frame], kinds: Sequence[str], seeds: Sequence[int] = SEEDS) -> Frames:
    """What is learned of examples, of each message as another would tell it, and of several at once."""
    messages = [one for one in of if one.is_message]
    others = list(varied(messages))
    read = [FrameRead(one, kinds) for one in (*of, *others, *at_once(messages + others))]
    arrays = learned(read, lambda: FrameReader(len(kinds)), EPOCHS, seeds)
    return Frames(tuple(kinds), arrays, frames.digest(frames.examples()))


def fit_frames() -> None:
    """Learn the frames, once with a tenth of the messages left out to tell what is found in them."""
    of = all_examples()
    kinds = [frames.NONE, *sorted({value.kind for one in of for value in one.values})]
    is_out = [one.is_message and at % LEFT_OUT == 0 for at, one in enumerate(of)]
    near = taught([one for one, out in zip(of, is_out, strict=True) if not out], kinds)
    measured(near, [one for one, out in zip(of, is_out, strict=True) if out])
    taught(of, kinds).save(frames.FITTED)


if __name__ == "__main__":
    fit_frames()
