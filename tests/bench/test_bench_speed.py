"""The made-up life that ``moechat bench speed`` measures, and the figures that it gives."""

from __future__ import annotations

import itertools

from moechat.bench import corpus, speed
from moechat.house import House


def test_a_small_memory_is_measured_once_the_house_is_ready(tmp_path, monkeypatch):
    speed.write(tmp_path, 60, facts=30)
    steps = []
    for name in ("ready", "agent"):
        step = getattr(House, name)
        monkeypatch.setattr(House, name, lambda *args, name=name, step=step: [steps.append(name), step(*args)][1])
    figures = speed.measure(tmp_path, 60, turns=10)
    assert steps[:2] == ["ready", "agent"], "what the house reads for itself is no cost of a memory"
    assert set(figures["turn_ms"]) == {"prompt", "ended", "behind", "embedding"}
    for step in ("prompt", "ended"):
        p50, p95, p99 = figures["turn_ms"][step]["cpu"]
        assert 0 < p50 <= p95 <= p99
    assert set(figures["turn_by_kind_ms"]) == {kind for kind, _ in itertools.islice(corpus.talk(), 10)}
    assert figures["floors"]["turn_ms"] > 0
