"""The made-up life that ``moechat bench speed`` measures, and the figures that it gives."""

from __future__ import annotations

import itertools

from moechat.bench import corpus, speed
from moechat.house import House
from moechat.memory.contradiction import relation
from moechat.model import Exchange
from moechat.rules import reading


def stated(text):
    return reading.understand(Exchange("e", corpus.NOW, text, "")).facts


def test_the_talk_tells_known_facts_again_and_new_ones():
    liked, messages = corpus.likings(), list(itertools.islice(corpus.talk(), 40))
    assert len(set(liked)) == corpus.FACTS
    told = [text for kind, text in messages if kind == "known fact"]
    assert set(told) < set(liked)
    known = [draft for text in [*told, *liked[::25]] for draft in stated(text)]
    for kind, text in messages:
        relations = {relation(draft, old) for draft in stated(text) for old in known}
        assert ("same" in relations) == (kind == "known fact"), text
        assert ("other" in relations) or kind != "new fact", text
    assert {kind for kind, _ in messages} >= {"event", "question", "dated", "lore", "chat", "fact", "story"}


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
