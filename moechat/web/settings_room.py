"""The settings in the page: the model that answers, and how it is tried. Knows no Gradio."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from moechat.agent import Agent
from moechat.house import House
from moechat.web import draw, memory_page, prompt_panel, recall_panel
from moechat.web.draw import button, escape
from moechat.web.notes import Action, Note
from moechat.web.words import Words

USAGE_ROWS = 14  # A week of replies and of understanding.
PASSED_ON = ("top_p", "max_tokens")
Standing = Literal["untried", "works", "fails"]


@dataclass(frozen=True)
class SettingsLook:
    """What a tab shows of the settings. ``standing`` is that of the connection, ``outcome`` says more; ``typed`` is what stands
    in its form and is not saved. The dial is tried on ``sentence``; ``is_plotted``: with the scores of the last recalls.
    ``prompt`` is the one that is looked at."""

    standing: Standing = "untried"
    outcome: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""
    is_plotted: bool = False
    prompt: str = ""


SettingsOutcome = tuple[SettingsLook, Note]


def act(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """The look after an action. Raises MoeChatError where the action fails."""
    deed = DEEDS.get(action.get("do", ""))
    return deed(house, agent, look, action, words) if deed else (look, Note())


# ---- the connection


def _connected(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """Try what was typed; ``saves`` keeps it, whatever came of the trial."""
    typed = {name: action.get(name, "").strip() for name in ("base_url", "model")}
    key, saves = action.get("key", "").strip(), action.get("act") != "test"
    url = typed["base_url"]
    if url and not key and house.keeps_key_from(url):
        return SettingsLook("fails", words("key_stays"), typed), Note()
    if not url and not saves:
        return SettingsLook("fails", words("needs_url"), typed), Note()
    if saves:
        house.connect(url, typed["model"], key or None)
    if not url:
        return SettingsLook(), Note(words("saved_offline"))
    diagnosis = house.try_connection(url, typed["model"], key)
    outcome = diagnosis.message_zh if words.language == "zh" else diagnosis.message_en
    note = Note(words("saved_settings")) if saves else Note()
    return SettingsLook("works" if diagnosis.ok else "fails", outcome, {} if saves else typed), note


# ---- how it speaks, and how much it brings up


def _tuned(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    """Keep what was typed, setting by setting; what the model's service knows by another name is passed on as it is."""
    chat, extra = house.config.chat, dict(house.config.chat.extra)
    for name in PASSED_ON:
        if (number := _number(action.get(name, ""))) is None:
            extra.pop(name, None)
        else:
            extra[name] = number
    after = {
        "temperature": _number(action.get("temperature", "")),
        "context_tokens": _number(action.get("context_tokens", "")),
    }
    for key, value in {**after, "extra": extra}.items():
        if value != getattr(chat, key) and not (key == "context_tokens" and value is None):
            house.settings.save("chat", key, value)
    return look, Note(words("saved_settings"))


def _number(text: str) -> float | int | str | None:
    """The number that was typed; what is none stays as it is, so that the settings say what they expect."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _dialled(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    recall_panel.turn(house, action.get("value", ""))
    return look, Note(words("saved_settings"))


def _tried(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    return replace(look, sentence=action.get("sentence", "").strip()), Note()


def _plotted(house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words) -> SettingsOutcome:
    return replace(look, is_plotted=True), Note()


def _prompt_chosen(
    house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words
) -> SettingsOutcome:
    return replace(look, prompt=action.get("q", "")), Note()


def _prompt_changed(
    house: House, agent: Agent | None, look: SettingsLook, action: Action, words: Words
) -> SettingsOutcome:
    name = action.get("id", "")
    if agent is not None and action["do"] == "prompt-save":
        house.prompts.save(agent.character.language, name, action.get("text", ""))
    elif agent is not None:
        house.prompts.restore(agent.character.language, name)
    return replace(look, prompt=name), Note(words("saved_settings"))


Deed = Callable[[House, Agent | None, SettingsLook, Action, Words], SettingsOutcome]
DEEDS: Mapping[str, Deed] = {
    "connect": _connected,
    "tune": _tuned,
    "dial": _dialled,
    "try": _tried,
    "plot": _plotted,
    "prompt": _prompt_chosen,
    "prompt-save": _prompt_changed,
    "prompt-restore": _prompt_changed,
}


# ---- drawing


def drawn(house: House, agent: Agent | None, look: SettingsLook, words: Words) -> str:
    recall = recall_panel.drawn(house, agent, look.sentence, is_plotted=look.is_plotted, words=words)
    for_tinkerers = prompt_panel.drawn(house, agent, look.prompt, words) if agent else ""
    return (
        connection(house, look, words)
        + recall
        + _speaking(house, words)
        + _page(words)
        + for_tinkerers
        + _usage(agent, words)
    )


def _page(words: Words) -> str:
    switches = "".join(
        button(name, words(text), local="")
        for name, text in (("language", "other_language"), ("theme", "theme"), ("tinkers", "tinkerers"))
    )
    return f'<section class="card"><h2>{escape(words("this_page"))}</h2><div class="actions">{switches}</div></section>'


def connection(house: House, look: SettingsLook, words: Words) -> str:
    """Where the model is, and how it was when it was last tried."""
    chat = house.config.chat
    values = {"base_url": chat.base_url, "model": chat.model} | dict(look.typed)
    standing = look.standing if house.connected or look.typed else "untried"
    outcome = look.outcome or words("untried_model" if house.connected else "offline_why")
    fields = memory_page.field(
        "base_url", words("base_url"), values["base_url"], hint="http://127.0.0.1:11434/v1", note=words("base_url_hint")
    )
    fields += memory_page.field("model", words("model"), values["model"], hint="qwen3:8b")
    fields += memory_page.field("key", words("key"), secret=True, note=words("key_hint", key_env=chat.key_env))
    acts = "".join(
        f'<button type="submit" class="act {kind}" name="act" value="{name}">{escape(words(name))}</button>'
        for name, kind in (("save", "primary"), ("test", ""))
    )
    return (
        f'<section class="card" id="connection"><h2>{escape(words("connection"))}</h2>'
        f'<p class="standing {standing}" role="status"><b>{escape(words(f"standing_{standing}"))}</b> {escape(outcome)}</p>'
        f'<form class="form" data-do="connect" data-form="connect">{fields}<div class="actions">{acts}</div></form></section>'
    )


def _speaking(house: House, words: Words) -> str:
    chat = house.config.chat
    values = {"temperature": chat.temperature, "context_tokens": chat.context_tokens} | {
        name: chat.extra.get(name) for name in PASSED_ON
    }
    fields = "".join(
        memory_page.field(
            name, words(f"tune_{name}"), "" if value is None else f"{value:g}" if isinstance(value, float) else str(value),
            note=words(f"tune_{name}_hint"),
        )
        for name, value in values.items()
    )  # fmt: skip
    save = f'<div class="actions"><button type="submit" class="act primary">{escape(words("save"))}</button></div>'
    return (
        f'<section class="card" id="speaking"><h2>{escape(words("speaking"))}</h2>'
        f'<form class="form" data-do="tune" data-form="tune">{fields}{save}</form></section>'
    )


def _usage(agent: Agent | None, words: Words) -> str:
    rows = [asdict(one) for one in agent.store.usage.days()[-USAGE_ROWS:]] if agent else []
    return f'<section class="card tinker">{draw.usage(rows, words)}</section>' if rows else ""
