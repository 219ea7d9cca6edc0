"""How readily a slice comes to mind (seed 002): profiles, and the score of a slice in a topic.

    score = source + recency + .50·activation + .30·independence + .20·relation·diffusion

This module knows no tree and no memory; it works on numbers and strings alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moechat.model import ActivationProfile


@dataclass(frozen=True, slots=True)
class SliceSource:
    """How a candidate relates to the topic: ``base`` is its base score, ``relation`` the share of its diffusion that counts."""

    name: str
    base: float
    relation: float


PRIMARY = SliceSource("PRIMARY", 1.00, 0.30)
RELATED = SliceSource("RELATED", 0.65, 1.00)
PARENT = SliceSource("PARENT", 0.45, 0.20)
SOURCES = {source.name: source for source in (PRIMARY, RELATED, PARENT)}

RECENCY_DAYS = np.array([1, 3, 7, 30])
RECENCY = np.array([0.30, 0.22, 0.15, 0.08, 0.0])
ACTIVATION, INDEPENDENCE, DIFFUSION = 0.50, 0.30, 0.20

DEFAULT = ActivationProfile()
USUAL = astuple(DEFAULT)
UNRELATED_DIFFUSION = 0.45
SHORT_ACTIVATION = 0.05


def profile_of(values: ActivationProfile | Sequence[float | None] | None) -> ActivationProfile:
    """The profile with defaults in place of None and NaN, and every value held to 0..1."""
    if values is None:
        return DEFAULT
    if isinstance(values, ActivationProfile):  # dataclasses.astuple takes twenty times as long.
        values = (values.activation, values.diffusion, values.context_independence)
    return ActivationProfile(
        *(
            usual if share is None or math.isnan(share) else min(1.0, max(0.0, float(share)))
            for share, usual in zip(values, USUAL, strict=True)
        )
    )


def corrected(
    values: ActivationProfile | Sequence[float | None] | None, related: Sequence[str], messages: int
) -> ActivationProfile:
    """The profile of a new slice (contract D).

    Without related paths its diffusion is .45 at most. If it rests on one message or fewer, its activation is .05 less, but
    not below 0.
    """
    profile = profile_of(values)
    return ActivationProfile(
        max(0.0, round(profile.activation - SHORT_ACTIVATION, 9)) if messages <= 1 else profile.activation,
        profile.diffusion if related else min(profile.diffusion, UNRELATED_DIFFUSION),
        profile.context_independence,
    )


def recency(age_hours: ArrayLike) -> NDArray[np.float64]:
    """What newness adds to the score, by whole days: .30 lasts just under 48 hours. A slice from the future counts as new."""
    days = np.floor(np.asarray(age_hours, np.float64) / 24)
    return RECENCY[np.searchsorted(RECENCY_DAYS, days, side="left")]


def parts(source: SliceSource, age_hours: float, profile: ActivationProfile | None) -> dict[str, float]:
    """The five summands of the score."""
    p = profile_of(profile)
    return {
        "source": source.base,
        "recency": float(recency(age_hours)),
        "activation": ACTIVATION * p.activation,
        "independence": INDEPENDENCE * p.context_independence,
        "relation": DIFFUSION * source.relation * p.diffusion,
    }


def score(source: SliceSource | str, age_hours: float, profile: ActivationProfile | None) -> float:
    """The score of one slice that is PRIMARY, RELATED or PARENT to the topic (golden ``partner.json``)."""
    return sum(parts(SOURCES[source] if isinstance(source, str) else source, age_hours, profile).values())
