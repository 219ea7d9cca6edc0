"""How readily the past is brought up: the dial, tried on a sentence before it is saved, and, for tinkerers, the scores behind it
and what any message would recall. Knows no Gradio."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moechat.agent import Agent
from moechat.house import House
from moechat.model import Hit, Recollection
from moechat.settings.config import DIAL
from moechat.web import memory_page, why
from moechat.web.draw import button, escape, to_person
from moechat.web.words import Words

THRESHOLDS = {"mem_thresholds": "events", "core_threshold": "profile", "books_thresholds": "lore"}
LAYER_NAMES = {"diary": "events", "core": "profile", "lore": "lore"}
LAST = 50  # The plot shows the recalls of so many messages.
SHOWN = 5  # Each word of the dial shows so many memories.
LABEL = 60  # A memory is named by this many of its first characters.
_SPEAKER = re.compile(r"[^：:]{1,40}(?:：|: )")
LEFT, WIDTH, ROW = 70, 640, 44  # Pixels of the plot.


def turn(house: House, word: str) -> None:
    """Save a word of the dial; floors that somebody set would stand in its way. Raises ConfigError."""
    house.settings.save("recall", "brings_up", word)
    for key in THRESHOLDS:
        if getattr(house.config.Agent, key) is not None:
            house.settings.save("Agent", key, None)


def drawn(house: House, agent: Agent | None, sentence: str, *, is_plotted: bool, words: Words) -> str:
    tries = {word: agent.recall(sentence, word) for word in DIAL} if agent and sentence else {}
    chosen = house.config.recall.brings_up
    options = "".join(_option(word, word == chosen, tries.get(word), words) for word in DIAL)
    field = memory_page.field("sentence", words("try_sentence"), sentence, hint=words("try_example"))
    bench = _bench(tries[chosen], words) if tries else ""
    plot = _plot(agent, words) if agent and is_plotted else button("plot", words("plot_scores"))
    return (
        f'<section class="card" id="recall"><h2>{escape(words("dial"))}</h2>'
        f'<form class="form one-line" data-do="try" data-form="try">{field}'
        f'<button type="submit" class="act">{escape(words("try_it"))}</button></form>'
        f'<div class="dial" role="group" aria-label="{escape(words("dial"))}">{options}</div>'
        f'<div class="tinker">{bench}{plot}</div></section>'
    )


def _option(word: str, is_chosen: bool, recollection: Recollection | None, words: Words) -> str:
    """A word of the dial, with what it would bring up."""
    name = escape(words(f"dial_{word}"))
    brought = ""
    if recollection is not None:
        hits = recollection.hits
        items = "".join(f"<li>{escape(_brief(hit))}</li>" for hit in hits[:SHOWN])
        items += f"<li>… +{len(hits) - SHOWN}</li>" if len(hits) > SHOWN else ""
        brought = (
            f'<ul class="brought">{items}</ul>' if hits else f'<p class="hint">{escape(words("brings_nothing"))}</p>'
        )
    return (
        f'<div class="option"><button type="button" class="chip" data-do="dial" data-value="{word}" '
        f'aria-pressed="{str(is_chosen).lower()}">{name}</button>'
        f'<p class="hint">{escape(words(f"dial_{word}_means"))}</p>{brought}</div>'
    )


def _brief(hit: Hit) -> str:
    """A memory in a few words; of an exchange the first line, without who said it."""
    text = _SPEAKER.sub("", hit.text.partition("\n")[0]) if hit.is_exchange else hit.text
    return (text if hit.layer == "lore" else to_person(text))[:LABEL]


def _bench(recollection: Recollection, words: Words) -> str:
    """What a message recalls, with the scores, and what was left out and why."""
    hits = "".join(f"<li>{why.scored(hit)}</li>" for hit in recollection.hits)
    tokens = words(
        "bench_tokens", n=sum(hit.tokens for hit in recollection.hits), ms=recollection.timing_ms.get("total", 0)
    )
    return (
        f'<details class="trace"><summary>{escape(words("how_it_went"))}</summary><p>{escape(tokens)}</p>'
        f"<ul>{hits or '–'}</ul>{why.left_out(recollection, words)}</details>"
    )


def _cosine(hit: Hit) -> float:
    return hit.features.get("cosine", hit.score)


def _plot(agent: Agent, words: Words) -> str:
    """The scores of the last messages' recalls by layer, what came filled, and the floor of each word of the dial."""
    rows = {layer: list[tuple[float, bool]]() for layer in LAYER_NAMES}
    for shown in agent.recent(LAST):
        recollection = agent.recall(shown.exchange.user)
        came = {hit.key for hit in recollection.hits}
        for hit in (*recollection.hits, *(one.hit for one in recollection.dropped)):
            if hit.recipe in LAYER_NAMES.values() and hit.id != shown.exchange.id:
                rows[hit.layer].append((min(max(_cosine(hit), 0.0), 1.0), hit.key in came))
    height = ROW * len(rows) + 24
    parts = "".join(_strip(agent, layer, points, n, words) for n, (layer, points) in enumerate(rows.items()))
    ticks = "".join(
        f'<text x="{_x(tenth / 10):.0f}" y="{height - 6}" class="axis middle">{tenth / 10:g}</text>'
        for tenth in range(0, 11, 2)
    )
    label = escape(words("plot_told"))
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">{parts}{ticks}</svg>'
        f'<p class="hint">{label}</p>'
    )


def _x(score: float) -> float:
    return LEFT + score * (WIDTH - LEFT - 10)


def _strip(agent: Agent, layer: str, points: Sequence[tuple[float, bool]], row: int, words: Words) -> str:
    top = row * ROW
    chosen = agent.config.recall.brings_up
    floors = [(agent.layers.recipes.threshold(LAYER_NAMES[layer], word), word == chosen) for word in DIAL]
    floors = (
        [floor for floor in floors if floor[1]] if agent.config.threshold(LAYER_NAMES[layer]) is not None else floors
    )
    lines = "".join(
        f'<line x1="{_x(at):.1f}" x2="{_x(at):.1f}" y1="{top + 4}" y2="{top + ROW - 6}" class="{"now" if on else ""}"/>'
        for at, on in floors
    )
    dots = "".join(
        f'<circle cx="{_x(score):.1f}" cy="{top + 12 + n * 7 % 20}" r="3" class="{"came" if came else ""}"/>'
        for n, (score, came) in enumerate(points)
    )
    return f'<text x="0" y="{top + ROW / 2 + 4:.0f}" class="axis">{escape(words(layer))}</text>{dots}{lines}'
