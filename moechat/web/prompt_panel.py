"""For tinkerers: the prompts, each with its default to go back to, and what was not believed of a model's answers."""

from __future__ import annotations

from moechat.agent import Agent
from moechat.house import House
from moechat.settings.prompts import TEMPLATES
from moechat.web.draw import button, dated, escape
from moechat.web.memory_page import choice, field
from moechat.web.words import Words

REFUSED = 30  # So many of the newest are shown.


def drawn(house: House, agent: Agent, name: str, words: Words) -> str:
    """``name``: the prompt that is chosen, "" for the first."""
    name, language = name if name in TEMPLATES else next(iter(TEMPLATES)), agent.character.language
    is_changed = house.prompts.is_changed(language, name)
    names = [(one, one) for one in TEMPLATES]
    chosen = choice("prompt", words("prompt"), names, name, live="prompt")
    placeholders = " ".join(f"{{{{{key}}}}}" for key in TEMPLATES[name])
    text = field("text", name, house.prompts.text(language, name).strip(), rows=12)
    acts = f'<button type="submit" class="act primary">{escape(words("save"))}</button>'
    acts += button("prompt-restore", words("prompt_restore"), id=name) if is_changed else ""
    return (
        f'<section class="card tinker" id="prompts"><h2>{escape(words("prompts"))}</h2>{chosen}'
        f'<form class="form" data-do="prompt-save" data-form="prompt {name}" data-id="{name}">{text}'
        f'<p class="hint">{escape(placeholders)}</p><div class="actions">{acts}</div></form></section>{_refused(agent, words)}'
    )


def _refused(agent: Agent, words: Words) -> str:
    rows = agent.memories.refused()[:REFUSED]
    items = "".join(f"<li>{escape(one.text)} · {escape(one.why)} · {dated(one.at, words)}</li>" for one in rows)
    listed = f"<ul>{items}</ul>" if items else f'<p class="hint">{escape(words("refused_none"))}</p>'
    return f'<section class="card tinker" id="refused"><h2>{escape(words("refused"))}</h2>{listed}</section>'
