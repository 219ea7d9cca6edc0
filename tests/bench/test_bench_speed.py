"""The made-up life that ``moechat bench speed`` measures, and the figures that it gives."""

from __future__ import annotations

import itertools

from moechat.bench import corpus, speed
from moechat.memory.contradiction import relation
from moechat.model import Exchange
from moechat.rules import reading


def test_the_talk_tells_known_facts_again_and_new_ones():
    known = [fact.draft for fact in corpus.facts(corpus.exchanges(60))]
    assert len({fact.text for fact in known}) == corpus.FACTS
    messages = list(itertools.islice(corpus.talk(), 40))
    for kind, text in messages:
        exchange = Exchange("e", corpus.NOW, text, "")
        relations = {
            relation(draft, old, None) for draft in reading.understand(exchange).facts for old in known
        }  # fmt: skip
        assert ("same" in relations) == (kind == "known fact"), text
        assert ("other" in relations) or kind != "new fact", text
    assert {kind for kind, _ in messages} >= {"event", "question", "dated", "lore", "chat", "fact", "story"}


def test_a_small_memory_is_measured(tmp_path):
    speed.write(tmp_path, 60, facts=30)
    figures = speed.measure(tmp_path, 60, turns=10)
    assert set(figures["turn_ms"]) == {"prompt", "ended", "behind", "embedding"}
    for step in ("prompt", "ended"):
        p50, p95, p99 = figures["turn_ms"][step]["cpu"]
        assert 0 < p50 <= p95 <= p99
    assert set(figures["turn_by_kind_ms"]) == {kind for kind, _ in itertools.islice(corpus.talk(), 10)}
    assert figures["floors"]["turn_ms"] > 0
