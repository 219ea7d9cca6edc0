"""Learns networks that moechat/reading/network.py reads, with torch: what fit_frames and fit_kinds share."""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from moechat.reading import network

STATE = 1280
RATE, DECAY, DROPPED, BATCH = 2e-3, 1e-2, 0.3, 64
UNSEEN = 0.4  # Of this share of words their own letters are left out, as if nobody had seen them.


class Read(Protocol):
    """An example as a network takes it: (tokens, STATE) and (tokens, 4)."""

    states: Tensor
    forms: Tensor


class Reader(nn.Module):
    """As ``Network`` reads; each further layer is one of its arrays, by its name."""

    def __init__(self, narrow: int, form: int, hidden: int) -> None:
        super().__init__()
        self.projection = nn.Linear(STATE, narrow)
        self.forms = nn.Embedding(network.SLOTS, form)
        nn.init.normal_(self.forms.weight, std=0.1)
        self.gates = nn.GRU(narrow + form, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(DROPPED)

    def around(self, read: Sequence[Read]) -> tuple[Tensor, Tensor]:
        """(texts, tokens, 2 h), and (texts, tokens): whether there is such a token."""
        lengths = torch.tensor([len(one.forms) for one in read])
        states, of_forms = padded([one.states for one in read]).float(), self.forms(padded([one.forms for one in read]))
        if self.training:
            seen = (torch.rand(*of_forms.shape[:2], 1, 1) >= UNSEEN).expand(-1, -1, 2, 1)
            of_forms = of_forms * torch.cat([seen, torch.ones_like(seen)], dim=2)
        kept = self.drop(torch.ones(len(read), 1, STATE))  # the same for all words of a text
        row = torch.cat([torch.tanh(self.projection(states * kept)), of_forms.sum(dim=2)], dim=-1)
        packed = nn.utils.rnn.pack_padded_sequence(row, lengths, batch_first=True, enforce_sorted=False)
        around, _ = nn.utils.rnn.pad_packed_sequence(self.gates(packed)[0], batch_first=True)
        return around, torch.arange(around.shape[1])[None] < lengths[:, None]

    def loss(self, batch: list[Any]) -> Tensor:
        """How wrong it is of the examples in ``batch``."""
        raise NotImplementedError

    def arrays(self) -> dict[str, np.ndarray]:
        of = {name: value.detach().numpy() for name, value in self.state_dict().items()}

        def both(name: str) -> np.ndarray:
            return np.stack([of[f"gates.{name}_l0{way}"].T for way in ("", "_reverse")])

        found = {
            "forms": of["forms.weight"], "entering": both("weight_ih"), "entering_bias": both("bias_ih"),
            "staying": both("weight_hh"), "staying_bias": both("bias_hh"),
        }  # fmt: skip
        for name in (name for name, layer in self.named_children() if isinstance(layer, nn.Linear)):
            found |= {name: of[f"{name}.weight"].T, f"{name}_bias": of[f"{name}.bias"]}
        return found


def padded(parts: Sequence[Tensor]) -> Tensor:
    whole: Tensor = nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    return whole


def batches(read: Sequence[Any], chance: np.random.Generator) -> Iterator[list[Any]]:
    """All of them in random order, those of like length together."""
    order = chance.permutation(len(read))
    pools = [order[at : at + 20 * BATCH] for at in range(0, len(order), 20 * BATCH)]
    groups = [
        pool[at : at + BATCH]
        for pool in (sorted(pool, key=lambda row: len(read[row].forms)) for pool in pools)
        for at in range(0, len(pool), BATCH)
    ]
    for group in chance.permutation(len(groups)):
        yield [read[row] for row in groups[group]]


def learned(read: Sequence[Any], new: Callable[[], Reader], epochs: int, seeds: Sequence[int]) -> dict[str, np.ndarray]:
    """The arrays of a network for each seed, as ``Network`` has them; ``new`` makes one that has learned nothing."""
    torch.set_num_threads(1)
    every = [_one(read, new, epochs, seed) for seed in seeds]
    return {name: np.stack([one[name] for one in every]) for name in every[0]}


def _one(read: Sequence[Any], new: Callable[[], Reader], epochs: int, seed: int) -> dict[str, np.ndarray]:
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    learner = new()
    moves = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=DECAY)
    steps = epochs * (len(read) // BATCH + 1)
    slower = torch.optim.lr_scheduler.OneCycleLR(moves, RATE, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        lost = 0.0
        for batch in batches(read, chance):
            loss = learner.loss(batch)
            moves.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            moves.step()
            slower.step()
            lost += loss.item()
        print(f"  {epoch + 1} of {epochs}: {lost:.2f}", flush=True)
    return learner.arrays()
