"""Learns the networks of moechat/reading/saying and matter from their examples, with torch; what came out runs on numpy alone.

python -m benchmarks.fit_kinds          (or make sayings, which calls it)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.fit_frames import NO_MATTER
from benchmarks.fit_network import Reader, learned
from moechat.reading import frames, matter, network
from moechat.reading.examples import ASKED, ENDED, LOW, MASK, OVER
from moechat.reading.frames import Frame
from moechat.reading.nearness import Example, digest, examples
from moechat.reading.saying import DANGER, DANGER_OTHER, EVERYDAY, FITTED, LIMITS, MATTERS, SAYINGS, Kinds
from moechat.when.names import has_han

NARROW, FORM, HIDDEN, LOOKS = 128, 24, 96, 4
SEEDS = (3, 5)  # of the networks whose chances are averaged
EPOCHS = 6
SMALL, BARE = 0.7, 0.5  # Chances that a message is told in small letters, without marks.
USUAL, FEWEST = 300, 50  # A kind counts by the square root of how many fewer examples it has than the usual.
CALM = "calm"  # No life is in danger, whatever kind it is.
CALM_STEP = 4  # Of these one in so many is taken.
IN_DANGER = frozenset({DANGER, DANGER_OTHER})
TONES = IN_DANGER | frozenset("hurt glad quarrel limit".split())  # An everyday message is none of these.
NOT_OF = {EVERYDAY: TONES, CALM: IN_DANGER}
MASKED_STEP = 4  # Of what frames tell as so, one in so many is an example of what is not over.
# So many of the examples of what is over, or not, stand beside a saying of these kinds, of so many characters at most; before it,
# most of them.
IN_COMPANY, BEHIND = 0.5, 0.7
COMPANY, SHORT = frozenset("everyday hurt quarrel glad day".split()), {True: 12, False: 40}
MATTERLESS_STEP = 4  # Of sayings that tell of nothing that moves a life one in so many is an example of that.
# Where somebody lives, works and the like moves no life as long as it stands; one in so many of them is an example of that.
STANDING, STANDING_STEP = frozenset("age employer home job kin language name origin pet study trade".split()), 8


class KindsReader(Reader):
    """As ``Kinds`` reads it."""

    def __init__(self, count: int) -> None:
        super().__init__(NARROW, FORM, HIDDEN)
        self.looks = nn.Linear(2 * HIDDEN, LOOKS)
        self.kinds = nn.Linear((LOOKS + 1) * 2 * HIDDEN, count)

    def loss(self, batch: list[KindsRead]) -> Tensor:
        around, is_there = self.around(batch)
        is_none = ~is_there[..., None]
        looks = torch.softmax(self.looks(around).masked_fill(is_none, -torch.inf), dim=1).transpose(1, 2) @ around
        most = around.masked_fill(is_none, -torch.inf).amax(dim=1)
        chances = torch.log_softmax(self.kinds(self.drop(torch.cat([most, looks.flatten(1)], dim=1))), dim=1)
        wrong = -torch.logsumexp(chances.masked_fill(~torch.stack([one.may for one in batch]), -torch.inf), dim=1)
        weights = torch.tensor([one.weight for one in batch])
        return (wrong * weights).sum() / weights.sum()


class KindsRead:
    """An example as the network takes it; ``may``: the kinds that it may be of."""

    def __init__(self, of: Example, names: Sequence[str], weight: float) -> None:
        self.states = torch.from_numpy(network.in_context(of.text).astype(np.float16))
        self.forms = torch.from_numpy(network.forms(of.text))
        self.may = torch.tensor(
            [name == of.kind if of.kind in names else name not in NOT_OF[of.kind] for name in names]
        )
        self.weight = weight


def varied(of: Sequence[Example], seed: int = 1) -> Iterator[Example]:
    """Each once more, as another would type it: in small letters, without marks."""
    chance = np.random.default_rng(seed)
    for one in of:
        text = one.text.lower() if chance.random() < SMALL else one.text
        if chance.random() < BARE:
            text = re.sub(r"[,.!，。！、']", str(chance.choice(["", " "])), text)
        yield Example(text.strip() or one.text, one.kind)


def beside() -> list[Example]:
    """What sets or lifts a limit, and what asks for something or nothing, where no life is in danger."""
    limits = [Example(one.text, "limit" if one.kind == "sets" else CALM) for one in examples(LIMITS)]
    asked = [Example(one.text, CALM) for one in examples(ASKED) if one.kind != LOW]
    calm = [one for one in (*limits, *asked) if one.kind == CALM]
    return [one for one in limits if one.kind != CALM] + calm[::CALM_STEP]


def taught(folder: Path, names: Sequence[str], beside: Sequence[Example], weights: Mapping[str, float]) -> Kinds:
    """What is learned of the examples of a folder, of each as another would type it, and of what stands ``beside`` them.
    ``weights`` is how much a kind counts, 1 where it has none."""
    of = examples(folder)
    every = [*of, *varied(of), *beside]
    read = [KindsRead(one, names, weights.get(one.kind, 1.0)) for one in every]
    arrays = learned(read, lambda: KindsReader(len(names)), EPOCHS, SEEDS)
    return Kinds(tuple(names), arrays, digest(of))


def fit_kinds() -> None:
    others = beside()
    counts = Counter(one.kind for one in (*examples(SAYINGS), *others))
    names = sorted(counts.keys() - {EVERYDAY, CALM})
    weights = {kind: (USUAL / max(counts[kind], FEWEST)) ** 0.5 for kind in names}
    taught(SAYINGS, names, others, weights).save(FITTED)


def no_matter(step: int) -> list[Example]:
    """What moves no life: of the sayings of such kinds one in ``step``, and plain facts that merely stand."""
    nothing = [one.text for one in examples(SAYINGS) if one.kind in NO_MATTER][::step]
    plain = [one for one in frames.examples() if not one.is_message]
    standing = [one.text for one in plain if {value.kind for value in one.values} & STANDING]
    return [Example(text, EVERYDAY) for text in (*nothing, *standing[::STANDING_STEP])]


def fit_matters() -> None:
    names = sorted(matter.KINDS.keys() | {EVERYDAY})
    taught(MATTERS, names, no_matter(MATTERLESS_STEP), {}).save(matter.FITTED)


def with_masks(of: Sequence[Frame]) -> list[Example]:
    """What frames state, each value masked in turn: as it is told that something is so."""
    return [
        Example(f"{one.text[: value.start]}{MASK}{one.text[value.end :]}".lower(), EVERYDAY)
        for one in of
        for value in one.values
    ]


def in_company(of: Sequence[Example], seed: int = 4) -> Iterator[Example]:
    """Some of them with a short saying of their language before or behind, which says why, or tells of something else."""
    chance = np.random.default_rng(seed)
    short: dict[bool, list[str]] = {False: [], True: []}
    for one in examples(SAYINGS):
        is_han = has_han(one.text)
        if one.kind in COMPANY and len(one.text) <= SHORT[is_han]:
            short[is_han].append(one.text.lower())
    for one in of:
        if chance.random() < IN_COMPANY:
            is_han = has_han(one.text)
            other = str(chance.choice(short[is_han]))
            between = str(chance.choice(["，", "。", " "] if is_han else [", ", ". ", " "]))
            parts = (one.text, other) if chance.random() < BEHIND else (other, one.text)
            yield Example(between.join(parts), one.kind)


def fit_ended() -> None:
    so = with_masks(frames.examples())[::MASKED_STEP]
    taught(ENDED, [EVERYDAY, OVER], [*so, *in_company(examples(ENDED))], {}).save(ENDED.with_suffix(".npz"))


if __name__ == "__main__":
    fit_kinds()
    fit_matters()
    fit_ended()
