"""The answers of ``/query`` and ``/expand_words``, in the shape of seed 004 (section 十二). They touch nothing.

An event scores w · cosine + (1 − w) · keywords, both 0..1: the cosine of its text with the recall text, and what its keywords
share with the recall text's base words. There a word counts its idf against that of a word which one event has, and the sum
x is saturated to x / (x + 1): one word of its own is worth .5, whatever else was said.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from moechat.index.dense import Dense
from moechat.index.lexical import rarity
from moechat.index.vectors import meets
from moechat.language import association
from moechat.language.association import Association, Strategy
from moechat.memory.entities import Entities, FactMatch, Version
from moechat.memory.episodes import EpisodeView
from moechat.model import Episode
from moechat.recall.layers import Layers

DENSE_WEIGHT = 0.5  # This is w above.
SPARSE_THRESHOLD = 0.4  # The usual one, where keywords serve alone.
STAGES = ("向量+embedding检索", "mysql检索", "扩词算法", "重排算法")


@contextmanager
def _stage(spent_ms: dict[str, float], name: str) -> Iterator[None]:
    """Milliseconds are added to those of the stage."""
    begun = time.perf_counter()
    yield
    spent_ms[name] += (time.perf_counter() - begun) * 1000


def query(
    memory: Layers,
    text: str,
    *,
    limit: int = 5,
    score_threshold: float | None = None,
    version: Version = "v23_es",
    previous_reply: str = "",
) -> dict[str, Any]:
    """``memory_events``, ``memory_entities`` and ``additional_info``, best first, ``limit`` of each at most.

    The recall text is ``previous_reply`` and ``text``. ``score_threshold`` None: as far as the embedding model's own floor.
    """
    now, spent_ms = memory.now(), dict.fromkeys(STAGES, 0.0)
    with _stage(spent_ms, "扩词算法"):
        expansion = memory.entities.expansion(text, previous_reply)
    view = memory.episodes.view(now)
    recall_text = "\n".join(part for part in (previous_reply, text) if part)
    with _stage(spent_ms, "向量+embedding检索"):
        vectors = memory.dense.query([recall_text])
        dense = view.relevance(None if vectors is None else vectors[0])
        sparse = keyword_scores(view, expansion.base)
    with _stage(spent_ms, "mysql检索"):
        matches = memory.entities.index().search(expansion.search_words, now=now, version=version, limit=limit)
    share = DENSE_WEIGHT if vectors is not None else 0.0
    floor = usual_threshold(memory.dense) if score_threshold is None else score_threshold
    with _stage(spent_ms, "重排算法"):
        best = _best(view, share * dense + (1 - share) * sparse, floor, limit)
    zone = now.tzinfo
    return {
        "memory_events": [_event(i, score, episode, zone) for i, (score, episode) in enumerate(best)],
        "memory_entities": [_entity(i, match, zone) for i, match in enumerate(matches)],
        "additional_info": {
            "检索耗时": {stage: f"{spent:.2f} 毫秒" for stage, spent in spent_ms.items()},
            "query": text,
            "分词": list(expansion.segments),
            "给联想的基词": list(expansion.base),
            "扩展后联想词": _levels(expansion.expanded),
        },
    }


def expand_words(
    entities: Entities,
    sentence: str,
    *,
    count: int = association.COUNT,
    strategy: Strategy = "first",
    filter_values: Sequence[int] = (),
) -> dict[str, list[Any]]:
    """The answer of ``/expand_words``: the words of the sentence, its base words, and what they bring to mind."""
    expansion = entities.expansion(sentence, count=count, strategy=strategy, filter_values=filter_values)
    return {
        "原始关键词列表": list(expansion.segments),
        "输入的单词列表": list(expansion.base),
        "扩展的联想词列表": _levels(expansion.expanded),
    }


def usual_threshold(dense: Dense) -> float:
    """The score of an event that is just near enough by the floor of the embedding model, without a shared keyword."""
    return DENSE_WEIGHT * dense.thresholds.diary if dense.thresholds else SPARSE_THRESHOLD


def keyword_scores(view: EpisodeView, base: Sequence[str]) -> np.ndarray:
    """(n,) float64, 0..1: how much of the base words stands among the keywords of each."""
    scores = np.zeros(len(view))
    meeting = view.by_keyword(base)
    having = Counter(chain.from_iterable(meeting.values()))
    for place, words in meeting.items():
        x = sum(rarity(having[word], len(view)) for word in words) / rarity(1, len(view))
        scores[place] = x / (x + 1)
    return scores


def _best(view: EpisodeView, scores: np.ndarray, floor: float, limit: int) -> list[tuple[float, Episode]]:
    """Events (no reflections) with a score of at least ``floor``, best first, then the newest."""
    places = np.flatnonzero(meets(scores, floor) & (scores > 0) & ~view.reflection)
    order = places[np.lexsort((-view.since[places], -scores[places]))][:limit].tolist()
    return [(float(scores[i]), episode) for i in order for episode in view.episodes([i])]  # one may be gone by now


# ---- shapes


def _event(place: int, score: float, episode: Episode, zone: Any) -> dict[str, Any]:
    event = episode.event
    happened = event.happened[0] if event.happened else episode.at
    moment = f"{happened.astimezone(zone):%Y-%m-%d %H:%M:%S}" if happened else ""
    return {
        "id": place,
        "score": round(score, 4),
        "index": episode.id,
        "description": event.text,
        "deepinsight": event.insight,
        "updatetime": moment,
        "keyword": list(event.keywords),
        "log": event_log(episode, score, episode.id, moment),
    }


def _entity(place: int, match: FactMatch, zone: Any) -> dict[str, Any]:
    fact, index, matched = match.fact, {"index": _number(match.fact.id)}, list(match.matched)
    updated = fact.at.astimezone(zone).replace(tzinfo=None, microsecond=0).isoformat() if fact.at else ""
    return {
        "id": place,
        "kind": match.label,
        "score": round(match.score, 4),
        "index": index,
        "description": match.text,
        "updatetime": updated,
        "matched_keywords": matched,
        "keyword": fact.draft.keyword,
        "log": fact_log(match.label, match.score, index, match.text, matched, fact.draft.keyword),
    }


def _number(id_: str) -> int | str:
    """An id as the seed has it, a number, where it is one."""
    return int(id_) if id_.isdecimal() and id_.isascii() and str(int(id_)) == id_ else id_


def _levels(expanded: Sequence[Association]) -> list[dict[str, int]]:
    return [{word: level} for word, level in expanded]


def event_log(episode: Episode, score: float, index: object, moment: str) -> str:
    """One recalled event in a line, as the seed's samples have it. ``moment`` is its time, written out."""
    event = episode.event
    place = f", 地点：{event.place}" if event.place else ""
    insight = f"这表明了{_sentence(event.insight)}" if event.insight else ""
    when = f"在{moment}左右{place}。" if moment else f"{place.removeprefix(', ')}。" if place else ""
    return f"[记忆事件]--score={score:.4f},index={index}.{when}详细记忆事件为{_sentence(event.text)}{insight}"


def fact_log(
    kind: str, score: float, index: Mapping[str, object], text: str, matched: Sequence[str], keyword: str
) -> str:
    """One recalled fact in a line, as the seed's samples have it."""
    return f"{kind}--score={score:.4f},index={dict(index)}, {text}---命中{list(matched)}，数据库关键词: {keyword}"


def _sentence(text: str) -> str:
    return text if text.endswith(tuple("。！？.!?…”")) else f"{text}。"
